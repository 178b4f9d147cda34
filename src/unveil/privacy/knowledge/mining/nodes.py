"""The sets of values that a rule's predicate may name: single values and the nodes of a hierarchy, each set once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute

__all__ = ["Nodes"]


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Of one attribute. Node 0 is the whole domain: no predicate."""

    labels: tuple[str, ...]  # (nodes,)
    codes: tuple[NDArray[np.int64], ...]  # per node: the values it holds
    of_code: NDArray[np.int64]  # (levels, codes) the node of each value, level by level, the whole domain left out
    level: NDArray[np.int64]  # (nodes,) the lowest level that has the node; -1 for the whole domain

    @classmethod
    def of(cls, attribute: Attribute) -> "Nodes":
        """The values themselves, then what the hierarchy adds."""
        hierarchy = attribute.hierarchy
        number: dict[tuple[int, ...], int] = {tuple(range(attribute.codes)): 0}
        labels, level, of_code = ["*"], [-1], []
        for height in range(1 if hierarchy is None else hierarchy.height):
            node = np.arange(attribute.codes) if hierarchy is None else hierarchy.node[height]
            row = np.zeros(attribute.codes, dtype=np.int64)
            for one in range(int(node.max()) + 1):
                members = tuple(np.flatnonzero(node == one).tolist())
                if members not in number:
                    number[members] = len(number)
                    labels.append(attribute.values[one] if hierarchy is None else hierarchy.labels[height][one])
                    level.append(height)
                row[list(members)] = number[members]
            of_code.append(row)
        sets = tuple(np.array(members, dtype=np.int64) for members in number)
        return cls(tuple(labels), sets, np.stack(of_code), np.array(level))

    @property
    def levels(self) -> int:
        """How many levels there are, the whole domain left out."""
        return len(self.of_code)

    def fresh(self, level: int) -> NDArray[np.bool_]:
        """(nodes,) the nodes that this level is the first to have."""
        return np.asarray(self.level == level)

    def wider(self) -> NDArray[np.int64]:
        """(levels + 1, nodes) the nodes above each: one for each level, the last is the whole domain."""
        first = np.array([codes[0] for codes in self.codes])
        above = np.zeros((self.levels + 1, len(self.labels)), dtype=np.int64)
        for level in range(self.levels):
            here = self.of_code[level, first]
            higher = (level > self.level) & (self.level >= 0)
            above[level] = np.where(higher, here, 0)  # below its own level: the whole domain, which is wider anyway
        return above

    def membership(self, attribute: Attribute, fuzzy: float) -> NDArray[np.float64]:
        """(nodes, codes) how much a value belongs to a node: 1 inside, falling to 0 at `fuzzy` of the range from it."""
        inside = np.zeros((len(self.labels), attribute.codes))
        for node, codes in enumerate(self.codes):
            inside[node, codes] = 1.0
        if not fuzzy or not attribute.kind.measured or attribute.real < 2:
            return inside
        place = attribute.positions()[: attribute.real]
        scale = np.ptp(place)
        apart = np.abs(place[:, None] - place) / (scale if scale > 0 else 1.0)
        for node, codes in enumerate(self.codes):
            known = codes[codes < attribute.real]
            if len(known):  # missing is near nothing
                near = 1 - apart[:, known].min(axis=1) / fuzzy
                inside[node, : attribute.real] = np.maximum(near, 0.0)
        return inside

"""What a lattice node loses by a utility measure, and the least that any node above it can lose.

Without suppression no measure here falls on the way up: cells grow wider, classes larger, fewer and more mixed. A
suppressed row has the widest cells and lies in the most mixed company. So the loss of a node *before* suppression
bounds from below the loss, suppression included, of the node itself and of every node above it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.roll_up import EquivalenceClasses, Node, height_of, nodes_of
from unveil.data.attribute import Attribute
from unveil.data.regions import Regions, hierarchy_width, node_height, set_width

__all__ = ["NEEDS_VALUES", "Measure", "NodeLoss"]

Width = Callable[[Regions, Attribute], NDArray[np.float64]]

_CELL_COSTS: dict[str, Width] = {
    "certainty_penalty": set_width,
    "certainty_penalty_hierarchy": hierarchy_width,
    "generalisation_height": node_height,
}
NEEDS_VALUES = frozenset({"information_loss", "classification_metric"})
Measure = Literal[
    "certainty_penalty",
    "certainty_penalty_hierarchy",
    "generalisation_height",
    "discernibility",
    "average_group_size",
    "classification_metric",
    "information_loss",
]


@dataclass(frozen=True)
class NodeLoss:
    """One measure over the lattice of some attributes; each is the function of unveil.utility with its name."""

    measure: Measure
    attributes: tuple[Attribute, ...]
    counts: tuple[NDArray[np.int64], ...]  # per attribute: (codes,) rows of the table
    rows: int

    @property
    def by_cells(self) -> bool:
        """Whether the bound of a node is a sum over its attributes, known before anything is counted."""
        return self.measure in _CELL_COSTS

    @cached_property
    def costs(self) -> tuple[tuple[NDArray[np.float64], ...], ...]:
        """Per attribute and level: (nodes,) cost of a cell that is this node."""
        return tuple(tuple(self._cost(a, level) for level in range(height_of(a) + 1)) for a in self.attributes)

    def bounds(self, lowest: Node) -> NDArray[np.float64]:
        """The bound of every node from `lowest` up, one axis an attribute; 0 where it is not known beforehand."""
        shape = [height_of(a) + 1 - low for a, low in zip(self.attributes, lowest, strict=True)]
        total = np.zeros(shape)
        if self.by_cells:
            for axis, (attribute, count, low) in enumerate(zip(self.attributes, self.counts, lowest, strict=True)):
                means = []
                for level in range(low, height_of(attribute) + 1):
                    means.append(float((self.costs[axis][level][nodes_of(attribute, level)] * count).sum()))
                total += np.array(means).reshape([-1 if axis == a else 1 for a in range(len(shape))])
        return total / self._scale

    def loss(self, node: Node, classes: EquivalenceClasses, hidden: NDArray[np.bool_], values: int) -> float:
        """The measure on the release of this node with these classes suppressed; `values`: which histogram it needs."""
        if self.by_cells:
            return self._cell_loss(node, classes, hidden)
        kept, lost = classes.size[~hidden], int(classes.size[hidden].sum())
        if self.measure == "discernibility":
            return float((kept**2).sum() + lost * self.rows)
        if self.measure == "average_group_size":
            return self.rows / (len(kept) + (lost > 0))
        histograms = classes.histograms[values]
        if self.measure == "classification_metric":
            if self._says_nothing(node):
                return 1.0  # a class of `*` alone is suppressed
            return 1.0 - float(histograms[~hidden].max(axis=1).sum()) / self.rows
        united = np.vstack([histograms[~hidden], histograms[hidden].sum(axis=0, keepdims=True)])
        return _entropy(united, self.rows)

    def bound(self, node: Node, classes: EquivalenceClasses, values: int) -> float:
        """The least that this node and every node above it can lose."""
        if self.measure == "classification_metric":
            return 1.0 - float(classes.histograms[values].max(axis=1).sum()) / self.rows
        return self.loss(node, classes, np.zeros(len(classes.size), dtype=np.bool_), values)

    @property
    def _scale(self) -> float:
        return float(self.rows * (1 if self.measure == "generalisation_height" else len(self.attributes)))

    def _cell_loss(self, node: Node, classes: EquivalenceClasses, hidden: NDArray[np.bool_]) -> float:
        kept, lost = classes.size[~hidden], float(classes.size[hidden].sum())
        total = 0.0
        for place, level in enumerate(node):
            cost, top = self.costs[place][level], self.costs[place][-1]
            rows = np.bincount(classes.node[~hidden, place], weights=kept, minlength=len(cost))
            total += float((rows * cost).sum()) + lost * float(top[0])
        return total / self._scale

    def _cost(self, attribute: Attribute, level: int) -> NDArray[np.float64]:
        nodes = nodes_of(attribute, level)
        regions = Regions.pairs(attribute.codes, nodes, np.arange(attribute.codes), int(nodes.max()) + 1)
        return _CELL_COSTS[self.measure](regions, attribute)

    def _says_nothing(self, node: Node) -> bool:
        """Whether every cell of the node is the whole domain."""
        pairs = zip(self.attributes, node, strict=True)
        return all(int(nodes_of(a, level).max()) == 0 for a, level in pairs if a.codes > 1) and any(
            a.codes > 1 for a in self.attributes
        )


def _entropy(histograms: NDArray[np.int64], rows: int) -> float:
    """Mean entropy, summed in order of size: the same to the last digit whatever the order of the classes is."""

    def total(counts: NDArray[np.int64]) -> float:
        held = np.sort(counts.astype(np.float64).ravel())
        held = held[held > 0]
        return float((held * np.log(held)).sum())

    return max(total(histograms.sum(axis=1)) - total(histograms), 0.0) / rows

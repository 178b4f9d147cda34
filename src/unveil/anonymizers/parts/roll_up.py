"""The classes of lattice nodes: rows with equal generalised cells, counted by rolling up those of a finer node."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.release import distinct_rows, example_rows, row_numbers
from unveil.data.table import Table
from unveil.kernels.rollup import number_keys, sum_rows

__all__ = ["EquivalenceClasses", "Node", "RollUp", "height_of", "nodes_of"]

Node = tuple[int, ...]

MOST_CELLS = 4_000_000  # kept of nodes that were looked at
WIDEST_KEY = 2**62  # combinations that one whole number can tell apart


@dataclass(frozen=True, slots=True)
class EquivalenceClasses:
    """The equivalence classes of one node."""

    node: NDArray[np.int32]  # (classes, quasi-identifiers) hierarchy node of each cell
    size: NDArray[np.int64]  # (classes,)
    histograms: tuple[NDArray[np.int64], ...]  # per attribute that is counted: (classes, values)


def height_of(attribute: Attribute) -> int:
    """The highest level of an attribute; without a hierarchy there are its values and `*`."""
    return attribute.hierarchy.height if attribute.hierarchy is not None else 1


def nodes_of(attribute: Attribute, level: int) -> NDArray[np.int64]:
    """(codes,) the node each code is widened to."""
    if attribute.hierarchy is not None:
        return np.asarray(attribute.hierarchy.node[level], dtype=np.int64)
    return np.arange(attribute.codes, dtype=np.int64) * (level == 0)


@dataclass(slots=True)
class RollUp:
    """EquivalenceClasses of any node of a table's lattice. Those that were made are kept, to make coarser ones from."""

    attributes: tuple[Attribute, ...]
    base: EquivalenceClasses
    kept: OrderedDict[Node, EquivalenceClasses] = field(default_factory=OrderedDict)  # oldest first
    levels: list[NDArray[np.int16]] = field(default_factory=list)  # of every node made, in that order
    sizes: list[int] = field(default_factory=list)  # and how many classes it has
    gone: int = 0  # how many of them were given up, oldest first
    cells: int = 0

    @classmethod
    def of(
        cls, table: Table, known: Sequence[int], counted: Sequence[NDArray[np.integer]], codes: Sequence[int]
    ) -> "RollUp":
        """Equal rows as one; `counted`: columns whose values are counted, and how many codes each has."""
        columns = [table.columns[i] for i in known]
        row, size = distinct_rows(columns)
        number = np.empty(0, dtype=np.int64)
        if counted or table.count is not None:
            number = row_numbers(columns)
            row = example_rows(number)
            size = table.tally(number, len(row))
        histograms = []
        for column, values in zip(counted, codes, strict=True):
            flat = table.tally(number * values + column, len(row) * values)
            histograms.append(flat.reshape(len(row), values))
        node = np.stack([column[row] for column in columns], axis=1).astype(np.int32)
        return cls(tuple(table.attributes[i] for i in known), EquivalenceClasses(node, size, tuple(histograms)))

    def at(self, node: Node) -> EquivalenceClasses:
        """The classes of a node, from the fewest classes known of a node below it."""
        if node in self.kept:
            return self.kept[node]
        below, source = (0,) * len(node), self.base
        if len(self.levels) > self.gone:
            known = np.stack(self.levels[self.gone :])
            size = np.where((known <= np.array(node)).all(axis=1), self.sizes[self.gone :], len(source.size))
            fewest = int(size.argmin())
            if size[fewest] < len(source.size):
                below = tuple(int(level) for level in known[fewest])
                source = self.kept[below]
        made = self._united(source, below, node)
        self.kept[node] = made
        self.levels.append(np.array(node, dtype=np.int16))
        self.sizes.append(len(made.size))
        self.cells += len(made.size)
        while self.cells > MOST_CELLS and len(self.kept) > 1:
            _, old = self.kept.popitem(last=False)
            self.gone += 1
            self.cells -= len(old.size)
        return made

    def _united(self, source: EquivalenceClasses, below: Node, node: Node) -> EquivalenceClasses:
        columns, widths = [], []
        for place, (attribute, low, high) in enumerate(zip(self.attributes, below, node, strict=True)):
            upper = nodes_of(attribute, high)
            parent = np.zeros(int(nodes_of(attribute, low).max()) + 1, dtype=np.int64)
            parent[nodes_of(attribute, low)] = upper
            columns.append(parent[source.node[:, place]])
            widths.append(int(upper.max()) + 1)
        number, first = _numbered(columns, widths)
        size = np.bincount(number, weights=source.size).astype(np.int64)
        histograms = []
        for rows in source.histograms:
            total = np.zeros((len(first), rows.shape[1]), dtype=np.int64)
            sum_rows(rows, number, total)
            histograms.append(total)
        united = np.stack([column[first] for column in columns], axis=1).astype(np.int32)
        return EquivalenceClasses(united, size, tuple(histograms))


def _numbered(columns: list[NDArray[np.int64]], widths: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of each row's combination, and one row of each combination."""
    cells = len(columns[0])
    if prod(widths) >= WIDEST_KEY:
        number = row_numbers(columns)
        return number, example_rows(number)
    key = np.zeros(cells, dtype=np.int64)
    for column, width in zip(columns, widths, strict=True):
        key *= width
        key += column
    number, first = np.empty(cells, dtype=np.int64), np.empty(cells, dtype=np.int64)
    slot = np.full(1 << (2 * cells).bit_length(), -1, dtype=np.int64)
    found = number_keys(key, slot, number, first)
    return number, first[:found].copy()

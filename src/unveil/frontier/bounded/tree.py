"""The tree of cuts: every release that can be made by undoing some of Mondrian's cuts is one antichain of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.mondrian import Mondrian, partition_table
from unveil.anonymizers.parts.assemble import GroupRegions, generalised
from unveil.attackers.posterior.linked import region_tree
from unveil.data.attribute import Role
from unveil.data.regions import Regions, set_width
from unveil.data.release import Anonymized, distinct_rows
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.kernels.partition import Partition
from unveil.privacy.models import KAnonymity, PrivacyModel
from unveil.privacy.requirement import Requirement

__all__ = ["Antichain", "CutTree", "NestedCells"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Antichain:
    """Nodes of which every row has one: those that are published, and those whose rows are suppressed."""

    kept: Ints
    gone: Ints

    @classmethod
    def of(cls, kept: Sequence[int] | Ints, gone: Sequence[int] | Ints = ()) -> "Antichain":
        """In the tree's order."""
        return cls(np.sort(np.asarray(kept, dtype=np.int64)), np.sort(np.asarray(gone, dtype=np.int64)))


@dataclass(frozen=True, slots=True, eq=False)
class NestedCells:
    """The regions of an attribute that hold each one, itself among them; the whole domain is the last."""

    regions: Regions
    start: Ints  # (regions + 1,)
    above: Ints

    @classmethod
    def of(cls, regions: Regions) -> "NestedCells | None":
        """None if some overlap unnested."""
        regions = _with_whole(regions)
        if region_tree(regions, np.arange(len(regions))) is None:
            return None
        same, code = np.flatnonzero(regions.whole), regions.low[regions.start[:-1]]
        holds = np.stack([regions.holds(np.full(len(code), r), code) for r in range(len(regions))], axis=1)
        holds &= regions.sizes[:, None] <= regions.sizes[None, :]  # nested: whichever is larger holds the other
        holds[:, same[:-1]] = False  # the whole domain, if it is published, is the last one
        holds[same[:-1], :] = False
        start = np.concatenate([[0], np.cumsum(holds.sum(axis=1))])
        return cls(regions, start.astype(np.int64), np.nonzero(holds)[1])

    @property
    def root(self) -> int:
        """The whole domain."""
        return len(self.regions) - 1

    def number(self, region: NDArray[np.integer]) -> Ints:
        """Regions by the number they have here."""
        return np.where(self.regions.whole[region], self.root, region).astype(np.int64)


@dataclass(frozen=True, eq=False)
class CutTree:
    """Mondrian's cuts, made on and on; `own` is what it would have published itself."""

    table: Table
    known: tuple[int, ...]
    partition: Partition
    cells: tuple[GroupRegions, ...]  # by quasi-identifier: the region of each node
    own: Ints  # nodes
    fit: NDArray[np.bool_]  # (nodes,) the models that are required hold

    @classmethod
    def grow(
        cls, mondrian: Mondrian, table: Table, engine: Engine, *, smallest: int, first: Sequence[PrivacyModel] = ()
    ) -> "CutTree":
        """Cut down to `smallest` rows. `first`: models that the upper cuts keep, as another Mondrian's would."""
        size = KAnonymity(k=smallest)
        known = table.with_role(Role.QUASI_IDENTIFIER)
        required = Requirement.of((size, *mondrian.require), table, "mondrian")
        upper = Requirement.of((size, *first), table, "mondrian")
        found = partition_table(mondrian, table, upper, engine)
        own = found.node.astype(np.int64)
        if first:
            found = _cut_on(mondrian, table, found, Requirement.of((size,), table, "mondrian"), engine)
        runs = found.runs()
        cells = tuple(
            mondrian.cells_of(found, axis, table.attributes[i], table.columns[i], runs) for axis, i in enumerate(known)
        )
        tree = cls(table, known, found, cells, own, np.ones(len(found.parent), dtype=bool))
        fit = required.holds(tree.size, [tree.histogram(i) for i in required.sensitive], None, None)
        return replace(tree, fit=fit)

    @cached_property
    def runs(self) -> tuple[Ints, Ints]:
        """(nodes,) twice: the leaves below each node."""
        return self.partition.runs()

    @cached_property
    def parent(self) -> Ints:
        """(nodes,)"""
        return self.partition.parent.astype(np.int64)

    @cached_property
    def depth(self) -> Ints:
        """(nodes,) cuts above a node."""
        depth = np.zeros(len(self.parent), dtype=np.int64)
        for node in range(1, len(depth)):  # parents come first
            depth[node] = depth[self.parent[node]] + 1
        return depth

    @cached_property
    def levels(self) -> list[Ints]:
        """The nodes by depth."""
        return [np.flatnonzero(self.depth == d) for d in range(int(self.depth.max()) + 1)]

    @cached_property
    def inner(self) -> NDArray[np.bool_]:
        """(nodes,) which nodes were cut."""
        inner = np.zeros(len(self.parent), dtype=bool)
        inner[self.parent[1:]] = True
        return inner

    @cached_property
    def size(self) -> Ints:
        """(nodes,) rows."""
        return self._of_nodes(self.partition.size)

    @cached_property
    def width(self) -> Floats:
        """(nodes,) mean width of the cells, as the certainty penalty has it."""
        width = np.zeros(len(self.parent))
        for cells, i in zip(self.cells, self.known, strict=True):
            width += set_width(cells.regions, self.table.attributes[i])[cells.of_group]
        return width / len(self.known)

    @cached_property
    def nested(self) -> tuple["NestedCells | None", ...]:
        """By quasi-identifier: which cells hold which; None where cells overlap."""
        return tuple(NestedCells.of(cells.regions) for cells in self.cells)

    def histogram(self, attribute: int) -> Ints:
        """(nodes, values) rows by value."""
        codes = self.table.attributes[attribute].codes
        key = self.partition.group.astype(np.int64) * codes + self.table.columns[attribute]
        leaves = np.bincount(key, minlength=self.partition.groups * codes).reshape(-1, codes)
        return self._of_nodes(leaves)

    def classes(self, attribute: int) -> tuple[Ints, Ints]:
        """Rows, one of each kind of people with equal cells and value, and how many there are of each."""
        return distinct_rows([*(self.table.columns[i] for i in self.known), self.table.columns[attribute]])

    def at_least(self, k: int) -> Antichain:
        """Mondrian's own release for k: cut while every part keeps k rows."""
        least = np.full(len(self.parent), np.iinfo(np.int64).max)
        np.minimum.at(least, self.parent[1:], self.size[1:])
        cut = self.inner & (least >= k)
        return self._cut_at(cut)

    def root(self) -> Antichain:
        """Everything in one group."""
        return Antichain.of([0])

    def _cut_at(self, cut: NDArray[np.bool_]) -> Antichain:
        """Where every node above is cut, and this one is not."""
        open_ = np.zeros(len(cut), dtype=bool)
        open_[0] = True
        for level in self.levels[1:]:
            open_[level] = open_[self.parent[level]] & cut[self.parent[level]]
        return Antichain.of(np.flatnonzero(open_ & ~cut))

    def node_of_leaf(self, state: Antichain) -> Ints:
        """(leaves,) the node that is published, -1 if suppressed."""
        found = np.full(self.partition.groups, -1, dtype=np.int64)
        first, last = self.runs
        for node in state.kept.tolist():
            found[first[node] : last[node]] = node
        return found

    def owners(self, state: Antichain) -> Ints:
        """(nodes,) the node of the antichain at or above each node, -1 if there is none."""
        found = np.full(len(self.parent), -1, dtype=np.int64)
        mine = np.concatenate([state.kept, state.gone])
        found[mine] = mine
        for level in self.levels[1:]:
            above = found[self.parent[level]]
            found[level] = np.where(above >= 0, above, found[level])
        return found

    def release(self, state: Antichain) -> Anonymized:
        """Published; the rows of suppressed nodes as `*`."""
        number = np.full(len(self.parent), len(state.kept), dtype=np.int64)
        number[state.kept] = np.arange(len(state.kept))
        node = self.node_of_leaf(state)
        group = np.where(node >= 0, number[node], len(state.kept))[self.partition.group]
        cells = {}
        for one, i in zip(self.cells, self.known, strict=True):
            regions, of = one.regions, one.of_group[state.kept]
            if len(state.gone):
                regions, of = _with_whole(regions), np.append(of, len(regions))
            cells[i] = GroupRegions(regions, of)
        return generalised(self.table, group, cells)

    def _of_nodes(self, leaves: NDArray[np.integer]) -> Ints:
        """Sums over the leaves below each node."""
        until = np.concatenate([np.zeros((1, *leaves.shape[1:]), np.int64), np.cumsum(leaves, axis=0, dtype=np.int64)])
        first, last = self.runs
        return np.asarray(until[last] - until[first])


def _with_whole(regions: Regions) -> Regions:
    """The same, and the whole domain at the end."""
    return Regions(
        codes=regions.codes,
        start=np.append(regions.start, regions.start[-1] + 1),
        low=np.append(regions.low, np.int32(0)),
        high=np.append(regions.high, np.int32(regions.codes - 1)),
    )


def _cut_on(mondrian: Mondrian, table: Table, upper: Partition, requirement: Requirement, engine: Engine) -> Partition:
    """Cut every group of a partition on and on; its groups stay nodes of the tree."""
    rows = np.argsort(upper.group, kind="stable")
    ends = np.concatenate([[0], np.cumsum(upper.size)]).astype(np.int32)
    below = partition_table(mondrian, table, requirement, engine, (rows, ends))
    # The forest's roots are the groups of the upper partition, in their order.
    roots = upper.groups
    number = np.concatenate([upper.node, len(upper.parent) + np.arange(len(below.parent) - roots)]).astype(np.int32)
    parent = np.concatenate([upper.parent, number[below.parent[roots:]]]).astype(np.int32)
    return replace(below, parent=parent, node=number[below.node])

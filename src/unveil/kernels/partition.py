"""Mondrian multidimensional partitioning (LeFevre et al. 2006) on integer codes, for any privacy model.

All nodes that wait for a cut are worked on together. Each round proposes one cut for every waiting node, asks
``allowed`` about the children of all of them at once, and splits the nodes whose children are all allowed; the others
wait with their next cut. The loop is over rounds, never over nodes. A node's fate depends on its own rows (and
ancestors) alone, so neither the rounds nor the chunks in which ``allowed`` is asked change the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.kernels import cells, mondrian, splits
from unveil.kernels.ancestors import AncestorPairs, Ancestors
from unveil.kernels.axes import MISSING, POSITION, Counts, CutAxis, Ints, Space, lay_out_space
from unveil.kernels.cells import Codes

__all__ = ["Candidates", "Partition", "partition", "warm"]

_ROWS_WORTH_COLLAPSING = 200_000
_RECORDS = 1 << 17  # records of the nodes that are worked on together, once these are small enough
_ENTRIES = 1 << 20  # histogram entries handed to ``allowed`` at a time


@dataclass(frozen=True, slots=True)
class Candidates:
    """Children that would come about: what a privacy model judges."""

    size: Counts  # (children,)
    histograms: tuple[Counts, ...]  # per sensitive attribute: (children, values)
    supersets: AncestorPairs | None = None
    rows: Counts | None = None  # (rows of all children,) child by child, where they were asked for


@dataclass(frozen=True, slots=True)
class Partition:
    """Groups in the order of the cuts that made them, with two boxes each, in codes.

    The tight box spans the known codes that the group's rows have. The cut-based box is open where no cut was made:
    these boxes cover all known codes, but for classes of a hierarchy that no row of the class above has, and overlap
    only at the medians of relaxed cuts. A group with ``missing`` has missing values beside its boxes, or only such:
    then its bounds are the missing code.
    """

    group: Ints  # (rows,)
    size: Counts  # (groups,)
    low: Ints  # (groups, d)
    high: Ints  # (groups, d)
    cut_low: Ints  # (groups, d)
    cut_high: Ints  # (groups, d)
    missing: NDArray[np.bool_]  # (groups, d)
    parent: Ints  # (nodes,) of the tree of cuts, -1 of a whole table; parents come first
    node: Ints  # (groups,) the leaf of each group; those below a node are neighbours

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.size)

    def runs(self) -> tuple[Counts, Counts]:
        """(nodes,) twice: the first group below each node of the tree, and the one after the last."""
        first = np.full(len(self.parent), self.groups, np.int64)
        last = np.zeros(len(self.parent), np.int64)
        first[self.node], last[self.node] = np.arange(self.groups), np.arange(1, self.groups + 1)
        for child in range(len(self.parent) - 1, 0, -1):
            up = self.parent[child]
            first[up], last[up] = min(first[up], first[child]), max(last[up], last[child])
        return first, last

    def bounds(self, first: Counts, last: Counts) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """(runs, d) tight bounds, and where there are missing values, of runs of neighbouring groups."""
        ends = np.stack([first, last], axis=1).ravel()

        def over(of: np.ufunc, each: NDArray[Any]) -> NDArray[Any]:
            return np.asarray(of.reduceat(np.concatenate([each, each[-1:]]), ends)[::2])

        return over(np.minimum, self.low), over(np.maximum, self.high), over(np.logical_or, self.missing)


def partition(
    columns: Sequence[Codes],
    axes: Sequence[CutAxis],
    sensitive: Sequence[Codes] = (),
    sensitive_sizes: Sequence[int] = (),
    *,
    allowed: Callable[[Candidates], NDArray[np.bool_]] | None = None,
    smallest: int = 1,
    relaxed: bool = False,
    lower: bool = False,
    superset_size: int | None = None,
    list_rows: bool = False,
    collapse: bool | None = None,
    entries: int = _ENTRIES,
    table_from: Ints | None = None,
    extent: NDArray[np.float64] | None = None,
    weight: Counts | None = None,
) -> Partition:
    """Cut a table into groups until no allowed cut is left.

    ``columns`` are the quasi-identifiers' codes, ``sensitive`` the codes that ``allowed`` needs histograms of, if any.
    A cut is made if every child has ``smallest`` rows and ``allowed`` says yes to every child; None leaves it at the
    size. The whole table is not asked about. Axes are tried from the widest in the node to the narrowest, relative to
    the data's range (a hierarchy: the share of its leaves under the lowest common ancestor).

    A strict cut puts the codes up to the median, or those below it, to the left: the better balanced first; with
    ``lower`` only the codes up to the one that reaches floor(n/2) rows. A ``relaxed`` cut puts floor(n/2) rows to the
    left; of the rows at the median the first in the table go left.
    ``superset_size`` asks for the supersets of at least that many rows; the histograms of all such nodes are kept.
    ``list_rows`` hands ``allowed`` the rows of every child, too; then equal rows are not worked on as one.
    ``collapse`` says whether equal rows are worked on as one (None: where it pays), which a relaxed cut rules out; it
    does not change the result.
    ``entries`` bounds the histogram entries handed to ``allowed`` at a time, one node's children excepted.
    ``table_from`` (tables + 1,): the rows are several tables end to end, each cut by itself. ``extent`` (d,): the range
    of positions that widths are relative to, if not that of the rows. ``weight``: each row stands for so many; a
    relaxed cut and ``list_rows`` ask for rows one by one.
    """
    if len(columns) != len(axes) or len(sensitive) != len(sensitive_sizes):
        raise ValueError("there is one axis a column, and one size a sensitive column")
    domains = [axis.codes for axis in axes] + list(sensitive_sizes)
    fields = [cells.column_codes(column, size) for column, size in zip([*columns, *sensitive], domains, strict=True)]
    if not fields:
        raise ValueError("without a column the number of rows is unknown")
    rows = len(fields[0])
    if any(len(column) != rows for column in fields) or rows >= 1 << 31:
        raise ValueError("columns have the same number of rows, fewer than 2**31")
    if not rows:
        none = np.empty((0, len(axes)), np.int32)
        nothing = np.empty(0, np.int32), np.empty(0, np.int64)
        return Partition(*nothing, none, none, none, none, none.astype(np.bool_), nothing[0], nothing[0])
    if table_from is None:
        table_from = np.array([0, rows], np.int32)
    if collapse is None:
        collapse = rows > _ROWS_WORTH_COLLAPSING and len(table_from) == 2 and weight is None
    distinct = cells.collapse(fields, domains) if collapse and not relaxed and not list_rows else None
    if weight is not None:
        if relaxed or list_rows or len(table_from) != 2 or int(weight.max()) >= 1 << 31:
            raise ValueError("weighted rows are those of one table, and are not asked for one by one")
        distinct = cells.DistinctCells(fields, weight.astype(np.int32), *(np.empty(0, np.int32),) * 2)
    space = lay_out_space(axes, fields, domains, distinct)
    if distinct is not None:
        table_from = np.array([0, space.packed.shape[1]], np.int32)
    rule = _Rule(allowed, tuple(sensitive_sizes), max(smallest, 1), relaxed, lower, superset_size, list_rows, entries)
    found = _collect(space, _grow(space, rule, table_from, _extent(space) if extent is None else extent))
    if distinct is None or weight is not None:
        return found
    return replace(found, group=cells.unite(distinct, found.group))


def warm() -> None:
    """Compile every kernel of Mondrian, or load it from the cache."""
    cells.warm()
    codes = np.array([0, 0, 1, 1, 2, 2, 3, 3], np.uint8)
    axes = [CutAxis(5, missing=True), CutAxis(4, hierarchy=np.array([[0, 0, 1, 1]]))]
    for relaxed in (False, True):
        partition(
            [codes, codes[::-1]],
            axes,
            [codes],
            [4],
            allowed=lambda candidates: candidates.size > 0,
            relaxed=relaxed,
            superset_size=4,
            list_rows=True,
        )


@dataclass(frozen=True, slots=True)
class _Rule:
    """Which cuts may be made."""

    allowed: Callable[[Candidates], NDArray[np.bool_]] | None
    sensitive_sizes: tuple[int, ...]
    smallest: int
    relaxed: bool
    lower: bool
    superset_size: int | None
    list_rows: bool
    entries: int


@dataclass(frozen=True, slots=True)
class _Front:
    """Nodes that wait for a cut; those that wait for their first come last.

    The last three fields are of the cut that was last proposed, as in kernels.mondrian.propose.
    """

    node: Ints  # (nodes,) number in the tree
    start: Ints  # (nodes,) slice of the records
    stop: Ints
    size: Counts  # (nodes,) rows
    nearest: Ints  # (nodes,) nearest superset, -1 if there is none
    low: Ints  # (nodes, d) tight bounds, or those of the parent if never measured
    high: Ints
    axis: Ints  # (nodes,) -1 if none was proposed
    kind: NDArray[np.int8]
    second: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.node)

    def followed_by(self, other: _Front, which: NDArray[np.intp]) -> _Front:
        """The nodes ``which`` of this front, and all of another."""
        return _Front(*(np.concatenate([getattr(self, f)[which], getattr(other, f)]) for f in self.__slots__))

    def in_parts(self) -> list[_Front]:
        """Fronts of no more records than fit the cache, one node's excepted; none if no node waits."""
        until = np.cumsum(self.stop - self.start, dtype=np.int64)
        if not len(until) or until[-1] <= _RECORDS:
            return [self] if len(until) else []
        edges = np.flatnonzero(np.diff(until // _RECORDS, prepend=-1, append=-1))
        return [_Front(*(getattr(self, f)[a:b] for f in self.__slots__)) for a, b in itertools.pairwise(edges)]


@dataclass(frozen=True, slots=True)
class _Cuts:
    """One proposed cut for each node of the front, as in kernels.mondrian.propose."""

    at: Ints  # (nodes,) last code on the left, median, or level of the hierarchy
    ties: Ints  # (nodes,) records at the median that go left
    child_from: Counts  # (nodes,) first child
    children: Counts  # (nodes,) 0: no cut is left
    child_size: Counts  # (children of all nodes,) rows


@dataclass(slots=True)
class _Tree:
    """What the rounds leave behind, as lists of arrays: every node's cut, and the leaves."""

    nodes: int = 0
    cuts: list[tuple[Ints, ...]] = field(default_factory=list)  # parent, axis, bound below, bound above
    leaves: list[tuple[NDArray[np.integer], ...]] = field(default_factory=list)  # node, start, stop, size

    def add_nodes(self, *cut: Ints) -> Ints:
        """Enter nodes by the cuts they come from; returns their numbers."""
        self.cuts.append(cut)
        self.nodes += len(cut[0])
        return np.arange(self.nodes - len(cut[0]), self.nodes, dtype=np.int32)

    def add_leaves(self, node: Ints, start: Ints, stop: Ints, size: Counts, which: NDArray[np.bool_]) -> None:
        """Enter nodes that stay as they are."""
        self.leaves.append((node[which], start[which], stop[which], size[which]))


def _grow(space: Space, rule: _Rule, table_from: Ints, extent: NDArray[np.float64]) -> _Tree:
    tree = _Tree()
    ancestors = None
    if rule.superset_size is not None:
        ancestors = Ancestors(space, rule.superset_size, [np.zeros((0, n), np.int64) for n in rule.sensitive_sizes])
    scratch = space.scratch()
    fronts = _roots(space, tree, table_from).in_parts()
    while fronts:
        front = fronts.pop()
        fresh = int(np.searchsorted(front.axis < 0, True))
        mondrian.measure(
            space.packed, space.axes, front.start[fresh:], front.stop[fresh:], front.low[fresh:], front.high[fresh:]
        )
        if ancestors is not None:
            ancestors.enter(front.start[fresh:], front.stop[fresh:], front.size[fresh:], front.nearest[fresh:])
        cuts = _propose(space, rule, front, extent, scratch)
        if not cuts.children.all():
            tree.add_leaves(front.node, front.start, front.stop, front.size, cuts.children == 0)
        asked = np.flatnonzero(cuts.children)
        agreed = _ask(space, rule, front, cuts, asked, ancestors, scratch)
        children = _split(space, rule, front, cuts, asked[agreed], tree, scratch)
        if not agreed.all():
            children = front.followed_by(children, asked[~agreed])
        fronts += children.in_parts()
    return tree


def _roots(space: Space, tree: _Tree, table_from: Ints) -> _Front:
    """The tables as they are, each a node of its own."""
    zero = np.zeros(len(table_from) - 1, np.int32)
    none = zero - np.int32(1)
    low = np.zeros((len(zero), len(space.axes)), np.int32)
    size = np.diff(table_from).astype(np.int64) if len(zero) > 1 else np.array([space.rows], np.int64)
    return _Front(
        node=tree.add_nodes(none, none, none, none),
        start=table_from[:-1].astype(np.int32),
        stop=table_from[1:].astype(np.int32),
        size=size,
        nearest=none.copy(),
        low=low,
        high=low + np.int32(1),  # not equal, so that it is measured
        axis=none.copy(),
        kind=np.zeros(len(zero), np.int8),
        second=np.zeros(len(zero), np.bool_),
    )


def _extent(space: Space) -> NDArray[np.float64]:
    """(d,) The range of the data's known positions on each axis."""
    low = np.zeros((1, len(space.axes)), np.int32)
    high = low + np.int32(1)
    start, stop = np.zeros(1, np.int32), np.full(1, space.packed.shape[1], np.int32)
    mondrian.measure(space.packed, space.axes, start, stop, low, high)
    mondrian.highest_known(space.packed, space.axes, start, stop, low, high)
    at = space.axes[:, POSITION]
    return np.asarray(space.position[at + high[0]] - space.position[at + low[0]])


def _propose(
    space: Space, rule: _Rule, front: _Front, extent: NDArray[np.float64], scratch: NDArray[np.int64]
) -> _Cuts:
    room = int(np.minimum(front.stop - front.start, space.most_children).sum(dtype=np.int64))
    cuts = _Cuts(
        np.empty(len(front), np.int32),
        np.zeros(len(front), np.int32),
        np.empty(len(front), np.int64),
        np.empty(len(front), np.int64),
        np.empty(room, np.int64),
    )
    mondrian.propose(
        space.packed, space.axes, space.position, space.tables, extent, space.weight, rule.smallest, rule.relaxed,
        rule.lower, front.start, front.stop, front.size, front.low, front.high, scratch,
        front.axis, front.kind, front.second, cuts.at, cuts.ties, cuts.child_from, cuts.children, cuts.child_size,
    )  # fmt: skip
    return cuts


def _ask(
    space: Space,
    rule: _Rule,
    front: _Front,
    cuts: _Cuts,
    asked: NDArray[np.intp],
    ancestors: Ancestors | None,
    scratch: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Which of the proposed cuts have only allowed children."""
    agreed = np.ones(len(asked), np.bool_)
    if rule.allowed is None or not len(asked):
        return agreed
    cost = cuts.children[asked] * max(sum(rule.sensitive_sizes), 1)
    if ancestors is not None:
        cost *= 1 + ancestors.chain(front.nearest[asked])
    until = np.cumsum(cost)
    child = np.empty(int((front.stop - front.start).max()), np.int32)
    begin = 0
    while begin < len(asked):
        paid = int(until[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(until, paid + rule.entries, "right")), begin + 1)
        nodes = asked[begin:end]
        first = cuts.child_from[nodes]
        row_from = first - first[0]
        size = cuts.child_size[first[0] : first[-1] + cuts.children[nodes[-1]]]
        histograms = []
        for values, place in zip(rule.sensitive_sizes, space.sensitive, strict=True):
            counted = np.zeros((len(size), values), np.int64)
            splits.count_children(
                space.packed, space.axes, space.tables, space.weight, place, nodes, front.start, front.stop,
                front.low, front.high, front.axis, front.kind, cuts.at, cuts.ties, row_from, scratch, child, counted,
            )  # fmt: skip
            histograms.append(counted)
        supersets = None
        if ancestors is not None:
            supersets = ancestors.of(np.repeat(nodes, cuts.children[nodes]), front.nearest)
        rows = None
        if rule.list_rows:
            rows = np.empty(int(size.sum()), np.int64)
            splits.list_children(
                space.packed, space.axes, space.tables, space.index, nodes, front.start, front.stop, front.low,
                front.high, front.axis, front.kind, cuts.at, cuts.ties, row_from, scratch, child,
                np.cumsum(size) - size, rows,
            )  # fmt: skip
        verdict = np.asarray(rule.allowed(Candidates(size, tuple(histograms), supersets, rows)))
        if verdict.shape != size.shape or verdict.dtype != np.bool_:
            raise ValueError(f"allowed gave {verdict.dtype} {verdict.shape} for {len(size)} children")
        agreed[begin:end] = np.logical_and.reduceat(verdict, row_from)
        begin = end
    return agreed


def _split(
    space: Space,
    rule: _Rule,
    front: _Front,
    cuts: _Cuts,
    nodes: NDArray[np.intp],
    tree: _Tree,
    scratch: NDArray[np.int64],
) -> _Front:
    """Cut ``nodes``; their children that can be cut again are the new front, the others leaves."""
    children = cuts.children[nodes]
    until = np.cumsum(children)
    row_from = until - children
    total = int(until[-1]) if len(nodes) else 0
    start, stop, bound_low, bound_high = (np.empty(total, np.int32) for _ in range(4))
    largest = int((front.stop - front.start)[nodes].max(initial=0))
    splits.split(
        space.packed, space.axes, space.tables, nodes, front.start, front.stop, front.low, front.high, front.axis,
        front.kind, cuts.at, cuts.ties, row_from, scratch, np.empty(largest, np.int32), np.empty(largest, np.uint64),
        start, stop, bound_low, bound_high,
    )  # fmt: skip
    parent = np.repeat(nodes, children)
    size = cuts.child_size[np.repeat(cuts.child_from[nodes] - row_from, children) + np.arange(total)]
    node = tree.add_nodes(front.node[parent], front.axis[parent], bound_low, bound_high)
    large = size >= 2 * rule.smallest
    tree.add_leaves(node, start, stop, size, ~large)
    parent = parent[large]
    return _Front(
        node=node[large],
        start=start[large],
        stop=stop[large],
        size=size[large],
        nearest=front.nearest[parent],
        low=front.low[parent],
        high=front.high[parent],
        axis=np.full(len(parent), -1, np.int32),
        kind=np.zeros(len(parent), np.int8),
        second=np.zeros(len(parent), np.bool_),
    )


def _collect(space: Space, tree: _Tree) -> Partition:
    """Number the leaves in the order of their records, which is that of the tree, and bound them."""
    node, start, stop, size = (np.concatenate(parts) for parts in zip(*tree.leaves, strict=True))
    order = np.argsort(start)
    node, start, stop, size = node[order], start[order], stop[order], size[order]
    group = np.empty(space.packed.shape[1], np.int32)
    splits.assign(space.packed, space.index, start, stop, group)
    low = np.zeros((len(node), len(space.axes)), np.int32)
    high = np.ones_like(low)
    mondrian.measure(space.packed, space.axes, start, stop, low, high)
    missing = high == space.axes[:, MISSING]
    mondrian.highest_known(space.packed, space.axes, start, stop, low, high)
    cut_low, cut_high = np.empty_like(low), np.empty_like(low)
    parent, axis, bound_low, bound_high = (np.concatenate(parts) for parts in zip(*tree.cuts, strict=True))
    splits.cut_bounds(space.axes, node, low, parent, axis, bound_low, bound_high, cut_low, cut_high)
    return Partition(group, size, low, high, cut_low, cut_high, missing, parent, node)

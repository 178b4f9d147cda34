"""Mondrian's release without each record in turn, by replaying the record's way down the tree: exact, in one pass.

Only what a record's leaving changes is partitioned again; the answer is the change in the counts that a count-based
model needs. Equal, to the last count, to anonymizing the table without the record.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.mondrian import Mondrian, cut_axis
from unveil.data.attribute import Role
from unveil.data.release import row_numbers
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.kernels import leave_one_out as kernels
from unveil.kernels import partition as partitions
from unveil.kernels.axes import LEVELS, POSITION, CutAxis, Space, lay_out_space
from unveil.privacy.models import DistinctL, KAnonymity, PrivacyModel, ProbabilisticL
from unveil.privacy.models.contract import TOLERANCE
from unveil.privacy.requirement import Requirement
from unveil.risk.differential.evidence import Counts, counts_of

__all__ = ["WithoutEach", "replayable", "without_each"]

ROWS_AT_ONCE = 1 << 20  # rows of the nodes that are cut again together

MODES = {  # what is published, by regions, whether along the hierarchy, and whether the values have an order
    ("tight", False, True): kernels.TIGHT_SPAN,
    ("tight", False, False): kernels.PRESENT,
    ("cut", False, True): kernels.CUT_SPAN,
    ("cut", False, False): kernels.CUT_SPAN,
    ("tight", True, True): kernels.TIGHT_NODE,
    ("tight", True, False): kernels.TIGHT_NODE,
    ("cut", True, True): kernels.CUT_NODE,
    ("cut", True, False): kernels.CUT_NODE,
}


@dataclass(frozen=True, slots=True)
class WithoutEach:
    """Counts for each record as a target, with it and without it; `open` are those it does not answer."""

    within: Counts
    without: Counts
    open: NDArray[np.int64]  # records without which the requirement cannot be met


def replayable(sanitizer: Any) -> bool:
    """Whether a sanitizer is a Mondrian whose cuts depend on a node's own rows alone, and are not drawn."""
    return (
        isinstance(sanitizer, Mondrian)
        and not sanitizer.relaxed
        and bool(sanitizer.require)
        and all(isinstance(m, KAnonymity | DistinctL | ProbabilisticL) for m in sanitizer.require)
    )


def without_each(mondrian: Mondrian, table: Table, asked: int, engine: Engine, *, joint: bool = True) -> WithoutEach:
    """Follow every record down the tree. Cost: records · depth · codes, and the rows of the nodes that change.

    Without `joint` the counts of rows all of whose cells fit are not to be used.
    """
    requirement = Requirement.of(mondrian.require, table, "mondrian")
    release = mondrian.anonymize(table, engine).release
    known = table.with_role(Role.QUASI_IDENTIFIER)
    orders = [mondrian.split_order(table.attributes[i], table.columns[i]) for i in known]
    laid = _lay_out(mondrian, table, requirement, asked, orders, None)
    codes = np.stack([np.asarray(table.columns[i], np.int64) for i in known], axis=1)
    within = counts_of(release, asked, codes, joint=joint)
    number = row_numbers([*laid.codes.T, *laid.values.T, laid.asked])
    first = np.zeros(int(number.max()) + 1, dtype=np.int64)
    first[number[::-1]] = np.arange(table.rows)[::-1]
    leader = np.zeros(table.rows, dtype=bool)
    leader[first] = True
    change = _Change.none(table.rows, len(known), table.attributes[asked].codes)
    uncut = np.zeros(table.rows, dtype=bool)
    special = leader & (_ranges_change(laid) | _order_changes(mondrian, table, known))
    _replay(laid, leader & ~special, change, uncut, engine)
    each, joined = within.each + change.each, within.joint + change.joined
    for laid_again, chosen in _laid_again(laid, mondrian, table, requirement, asked, np.flatnonzero(special)):
        alone = np.zeros(table.rows, dtype=bool)
        alone[chosen] = True
        second = _Change.none(table.rows, len(known), table.attributes[asked].codes)
        found = _replay(laid_again, alone, second, uncut, engine)
        everyone = np.tile(np.arange(table.rows, dtype=np.int32), len(chosen))
        of_all = replace(found, group=found.group[everyone])
        _count(laid_again, second, chosen, everyone, np.arange(len(chosen) + 1) * table.rows, of_all, 1)
        each[chosen], joined[chosen] = second.each[chosen], second.joined[chosen]
    opened = (uncut & ~_whole_holds(requirement, table))[first][number]
    left = np.zeros(within.overall.shape)
    left[np.arange(table.rows), laid.asked] = 1.0
    of = first[number]
    return WithoutEach(within, Counts(each[of], joined[of], within.overall - left), np.flatnonzero(opened))


@dataclass(frozen=True, slots=True)
class _Laid:
    """A table as the kernels want it, codes in split order."""

    known: list[int]
    codes: NDArray[np.int32]  # (rows, d)
    values: NDArray[np.int32]  # (rows, v) sensitive codes of the requirement, numbered through
    value_from: NDArray[np.int64]  # (v + 1,)
    asked: NDArray[np.int32]  # (rows,)
    axes: list[CutAxis]
    space: Space
    extent: NDArray[np.float64]  # (d,)
    start: NDArray[np.int64]  # (d + 1,)
    rule: NDArray[np.float64]  # (3,)
    mode: NDArray[np.int8]  # (d,)
    lower: bool
    secret: list[NDArray[np.unsignedinteger]]  # per sensitive attribute of the requirement: (rows,)
    secret_sizes: list[int]
    allowed: Callable[[partitions.Candidates], NDArray[np.bool_]] | None


@dataclass(frozen=True, slots=True)
class _Change:
    """What the kernels write for each record, as in kernels.leave_one_out.replay."""

    each: NDArray[np.int64]
    joined: NDArray[np.int64]
    again: NDArray[np.int64]

    @classmethod
    def none(cls, rows: int, known: int, values: int) -> "_Change":
        """No change yet."""
        return cls(
            np.zeros((rows, known, values), np.int64),
            np.zeros((rows, values), np.int64),
            np.zeros((rows, 2), np.int64),
        )


def _lay_out(
    mondrian: Mondrian,
    table: Table,
    requirement: Requirement,
    asked: int,
    orders: Sequence[NDArray[np.int64]],
    extent: NDArray[np.float64] | None,
) -> _Laid:
    known = list(table.with_role(Role.QUASI_IDENTIFIER))
    columns, axes, mode = [], [], []
    for index, order in zip(known, orders, strict=True):
        attribute = table.attributes[index]
        place = np.empty(attribute.codes, dtype=np.int32)
        place[order] = np.arange(attribute.codes)
        columns.append(place[table.columns[index]])
        along = mondrian.by_hierarchy(attribute)
        axes.append(cut_axis(attribute, order, along))
        mode.append(MODES[mondrian.regions, along, attribute.kind.ordered])
    domains = [table.attributes[i].codes for i in known]
    space = lay_out_space(axes, [c.astype(np.uint32) for c in columns], domains, None)
    sizes = [table.attributes[i].codes for i in requirement.sensitive]
    value_from = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = np.zeros((table.rows, len(sizes)), np.int32)
    for place_of, index in enumerate(requirement.sensitive):
        values[:, place_of] = table.columns[index] + value_from[place_of]
    codes = np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.int32)

    def allowed(children: partitions.Candidates) -> NDArray[np.bool_]:
        return requirement.holds(children.size, children.histograms)

    return _Laid(
        known=known,
        codes=codes,
        values=values,
        value_from=value_from,
        asked=np.asarray(table.columns[asked], dtype=np.int32),
        axes=axes,
        space=space,
        extent=_extent(space, axes, codes) if extent is None else extent,
        start=np.concatenate([[0], np.cumsum(domains)]).astype(np.int64),
        rule=_rule(requirement.models, min(requirement.smallest, table.rows + 1)),
        mode=np.array(mode, np.int8),
        lower=mondrian.median == "lower",
        secret=[table.columns[i] for i in requirement.sensitive],
        secret_sizes=sizes,
        allowed=allowed if requirement.sensitive else None,
    )


def _extent(space: Space, axes: Sequence[CutAxis], codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """(d,) the range of known positions on each axis."""
    extent = np.zeros(len(axes))
    for j, axis in enumerate(axes):
        known = codes[:, j][codes[:, j] < axis.codes - axis.missing]
        at = space.axes[j, POSITION]
        if len(known):
            extent[j] = space.position[at + known.max()] - space.position[at + known.min()]
    return extent


def _laid_again(
    laid: _Laid,
    mondrian: Mondrian,
    table: Table,
    requirement: Requirement,
    asked: int,
    special: NDArray[np.int64],
) -> Iterator[tuple[_Laid, NDArray[np.int64]]]:
    """The table laid out with the ranges and orders it has without a record; records that agree on them together."""
    same: dict[tuple[bytes, ...], list[int]] = {}
    settings = {}
    for row in special.tolist():
        orders = [mondrian.split_order(table.attributes[i], np.delete(table.columns[i], row)) for i in laid.known]
        extent = _extent(laid.space, laid.axes, np.delete(laid.codes, row, axis=0))
        key = (*(order.tobytes() for order in orders), extent.tobytes())
        same.setdefault(key, []).append(row)
        settings[key] = orders, extent
    for key, rows in same.items():
        yield _lay_out(mondrian, table, requirement, asked, *settings[key]), np.array(rows, dtype=np.int64)


def _rule(models: tuple[PrivacyModel, ...], smallest: int) -> NDArray[np.float64]:
    """Rows, distinct values, and rows for each of the commonest value that a child needs; as the models say it."""
    distinct = max((float(m.l or 0) for m in models if isinstance(m, DistinctL)), default=0.0)
    times = max((float(m.l or 0) for m in models if isinstance(m, ProbabilisticL)), default=0.0)
    return np.array([max(smallest, 1), distinct, times - TOLERANCE * max(1.0, times)])


def _ranges_change(laid: _Laid) -> NDArray[np.bool_]:
    """(rows,) the only record at an end of an axis: without it widths are relative to another range."""
    found = np.zeros(len(laid.codes), dtype=bool)
    for j, axis in enumerate(laid.axes):
        column = laid.codes[:, j]
        known = np.flatnonzero(column < axis.codes - axis.missing)
        if laid.space.axes[j, LEVELS] > 0 or not len(known):
            continue
        for end in (column[known].min(), column[known].max()):
            holders = np.flatnonzero(column == end)
            found[holders] |= len(holders) == 1
    return found


def _order_changes(mondrian: Mondrian, table: Table, known: Sequence[int]) -> NDArray[np.bool_]:
    """(rows,) without the record, values that have no order of their own would be cut in another one."""
    found = np.zeros(table.rows, dtype=bool)
    for index in known:
        attribute, column = table.attributes[index], table.columns[index]
        if mondrian.regions == "cut" or attribute.kind.ordered or attribute.hierarchy is not None:
            continue
        count = np.bincount(column, minlength=attribute.codes)[: attribute.real]
        first = np.full(count.max(initial=0) + 1, attribute.real)
        last = np.full(count.max(initial=0) + 1, -1)
        np.minimum.at(first, count, np.arange(attribute.real))
        np.maximum.at(last, count, np.arange(attribute.real))
        code = np.flatnonzero(count)
        moves = np.zeros(attribute.codes, dtype=bool)
        # It falls behind one as frequent that is listed later, or one that it now ties with and is listed earlier.
        moves[code] = (last[count[code]] > code) | (first[count[code] - 1] < code)
        found |= moves[column]
    return found


def _whole_holds(requirement: Requirement, table: Table) -> NDArray[np.bool_]:
    """(rows,) whether the table without the record, in one group, keeps the requirement."""
    sizes = np.full(table.rows, table.rows - 1)
    histograms = []
    for index in requirement.sensitive:
        column, codes = table.columns[index], table.attributes[index].codes
        counts = np.repeat(np.bincount(column, minlength=codes)[None], table.rows, axis=0)
        counts[np.arange(table.rows), column] -= 1
        histograms.append(counts)
    return requirement.holds(sizes, histograms) & (table.rows > 1)


def _replay(
    laid: _Laid, leader: NDArray[np.bool_], change: _Change, uncut: NDArray[np.bool_], engine: Engine
) -> partitions.Partition:
    """Write down what the leaving of each leader changes; `uncut` tells whose leaving keeps the table in one group."""
    rows = len(laid.codes)
    found = _partitioned(laid, np.arange(rows), None)
    uncut[leader] = found.groups == 1
    order = np.arange(rows, dtype=np.int32)
    kernels.replay(
        laid.codes, laid.values, laid.value_from, laid.asked, change.joined.shape[1], leader, laid.space.axes,
        laid.space.position, laid.space.tables, laid.extent, laid.start, laid.rule, laid.lower, laid.mode, order,
        change.each, change.joined, change.again,
    )  # fmt: skip
    again = np.flatnonzero(change.again[:, 1] > 0)
    until = np.cumsum(change.again[again, 1] - change.again[again, 0])
    done = 0
    for part in np.split(again, np.flatnonzero(np.diff(until // ROWS_AT_ONCE)) + 1):
        if len(part):
            _cut_again(laid, change, part, order, found, uncut)
        done += len(part)
        engine.report("nodes cut again", done, len(again))
    return found


def _partitioned(laid: _Laid, rows: NDArray[np.integer], table_from: NDArray[np.int64] | None) -> partitions.Partition:
    return partitions.partition(
        [laid.codes[rows, j].astype(np.uint32) for j in range(len(laid.known))],
        laid.axes,
        [column[rows] for column in laid.secret],
        laid.secret_sizes,
        allowed=laid.allowed,
        smallest=int(laid.rule[0]),
        lower=laid.lower,
        table_from=None if table_from is None else table_from.astype(np.int32),
        extent=laid.extent,
    )


def _count(
    laid: _Laid,
    change: _Change,
    targets: NDArray[np.int64],
    rows: NDArray[np.int32],
    table_from: NDArray[np.int64],
    found: partitions.Partition,
    sign: int,
) -> None:
    """Count, for each target, the rows of its table whose cells hold its values."""
    seen = np.zeros((found.groups, len(laid.known)), dtype=bool)
    kernels.count_holding(
        laid.codes, laid.asked, rows, table_from, found.group, found.low, found.high, found.cut_low, found.cut_high,
        found.missing, laid.space.axes, laid.space.tables, laid.mode, targets, sign, seen, change.each, change.joined,
    )  # fmt: skip


def _cut_again(
    laid: _Laid,
    change: _Change,
    targets: NDArray[np.int64],
    order: NDArray[np.int32],
    found: partitions.Partition,
    uncut: NDArray[np.bool_],
) -> None:
    """Take the old groups of each target's node out of its counts, and put the new ones in."""
    slices = change.again[targets]
    rows = np.concatenate([order[a:b] for a, b in slices])
    sizes = slices[:, 1] - slices[:, 0]
    table_from = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    group = replace(found, group=found.group[rows])
    _count(laid, change, targets, rows, table_from, group, -1)
    rows = rows[rows != np.repeat(targets, sizes)]
    table_from = np.concatenate([[0], np.cumsum(sizes - 1)]).astype(np.int64)
    cut = _partitioned(laid, rows, table_from)
    owner = np.zeros(cut.groups, dtype=np.int64)
    owner[cut.group] = np.repeat(targets, sizes - 1)
    # A cut above the node bounds its groups too, but the target lies on their side of it.
    _count(laid, change, targets, rows, table_from, cut, 1)
    groups = np.bincount(owner, minlength=len(uncut))
    uncut[targets] = (sizes == len(uncut)) & (groups[targets] == 1)

"""Mondrian: the table is cut again and again at a median, as long as both sides keep the requirement."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.assemble import GroupRegions, generalised
from unveil.data.attribute import Attribute, Role
from unveil.data.regions import Regions
from unveil.data.release import Anonymized, example_rows, row_numbers
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.kernels import partition as kernels
from unveil.kernels.axes import CutAxis
from unveil.privacy.models import PrivacyModel, Supersets
from unveil.privacy.requirement import Requirement

__all__ = ["Mondrian", "cut_axes", "cut_axis", "partition_table"]

ROWS_AT_ONCE = 1 << 16  # pieces that stay in the cache
MOST_SEEN = 1 << 28  # bytes of a groups × codes table; above it, sort


@dataclass(frozen=True, slots=True, kw_only=True)
class Mondrian:
    """Multidimensional recoding (LeFevre et al. 2006) under any conjunction of privacy models.

    `recoding=hierarchy` cuts a node of an attribute's hierarchy into its children and publishes the hierarchy's labels;
    attributes without a hierarchy, and all of them under `recoding=order`, are cut along their values' order
    (categorical values as their hierarchy lists them, or by frequency) and published as intervals and sets. `relaxed`
    lets rows at the median go to either side, drawn. `regions=tight` publishes what the group's rows span,
    `regions=cut` where the cuts run. `median=lower` cuts only where floor(n/2) rows are reached, as the usual basic
    Mondrian does; `balanced` tries both sides of the median, the better balanced first.
    """

    reads_counts: ClassVar[bool] = True  # a table whose equal rows are counted is as good to it as the rows

    require: tuple[PrivacyModel, ...] = ()
    recoding: Literal["hierarchy", "order"] = "hierarchy"
    regions: Literal["tight", "cut"] = "tight"
    relaxed: bool = False
    median: Literal["balanced", "lower"] = "balanced"

    def anonymize(self, table: Table, engine: Engine) -> Anonymized:
        """Cost: rows · depth of the tree; equal rows are worked on as one in large tables."""
        table.check_texts(counted=True)
        requirement = Requirement.of(self.require, table, "mondrian")
        known = table.with_role(Role.QUASI_IDENTIFIER)
        if not known:
            requirement.check_whole(table, "mondrian")
            return generalised(table, np.zeros(table.rows, dtype=np.int64), {})
        engine.report("mondrian", 0, 1)
        found = partition_table(self, table, requirement, engine)
        if found.groups == 1:  # both sides of every cut hold; only a table that was never cut was not asked about
            requirement.check_whole(table, "mondrian")
        cells = {}
        for axis, index in enumerate(known):
            cells[index] = self.cells_of(found, axis, table.attributes[index], table.columns[index], rows=table.count)
        anonymized = generalised(table, found.group, cells)
        groups = anonymized.release.groups
        if (
            table.outside is None and groups < found.groups
        ):  # relaxed cuts can leave groups with equal cells, which are one
            requirement.check_joined(table, anonymized.group_of_row, groups, "mondrian")
        engine.report("mondrian", 1, 1)
        return anonymized

    def by_hierarchy(self, attribute: Attribute) -> bool:
        """Whether this attribute is cut along its hierarchy."""
        return self.recoding == "hierarchy" and attribute.hierarchy is not None

    def split_order(
        self, attribute: Attribute, column: NDArray[np.unsignedinteger], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """(codes,) the codes in the order in which cuts divide them; `rows`: how many people each is, if not one."""
        if attribute.hierarchy is not None and (self.by_hierarchy(attribute) or not attribute.kind.ordered):
            return attribute.hierarchy.order()
        if attribute.kind.ordered or self.regions == "cut":  # cuts must not depend on how often values occur
            return np.arange(attribute.codes)
        # Without an order of its own, frequent values first: a cut then parts the common from the rare.
        count = np.zeros(attribute.codes, dtype=np.int64)
        for start in range(0, len(column), ROWS_AT_ONCE):
            piece = slice(start, start + ROWS_AT_ONCE)
            weights = None if rows is None else rows[piece]
            count += np.bincount(column[piece], weights, attribute.codes).astype(np.int64)
        frequent = np.argsort(-count[: attribute.real], kind="stable")
        return np.append(frequent, np.arange(attribute.real, attribute.codes))

    def cells_of(
        self,
        found: kernels.Partition,
        axis: int,
        attribute: Attribute,
        column: NDArray[np.unsignedinteger],
        runs: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> GroupRegions:
        """The region of each group on one axis; or of each of these `runs` of groups, from one to before another.

        `rows`: how many people each of the column's is, if not one.
        """
        order = self.split_order(attribute, column, rows)
        tight_low, tight_high, some_missing = found.low, found.high, found.missing
        if runs is not None:
            tight_low, tight_high, some_missing = found.bounds(*runs)
        low, high = (tight_low, tight_high) if self.regions == "tight" else (found.cut_low, found.cut_high)
        first, last = low[:, axis].astype(np.int64), high[:, axis].astype(np.int64)
        if attribute.missing:
            missing = attribute.codes - 1
            # Known and missing values: only * holds both.
            beside = some_missing[:, axis] & (tight_low[:, axis] < missing)
            alone = some_missing[:, axis] & ~beside
            last = np.where((first > 0) | (last < missing), np.minimum(last, missing - 1), last)
            first, last = np.where(beside, 0, np.where(alone, missing, first)), np.where(beside | alone, missing, last)
        if self.by_hierarchy(attribute):
            return _hierarchy_cells(attribute, order, first, last)
        if self.regions == "tight" and not attribute.kind.ordered:
            return _present_cells(attribute, found, column, runs)
        return _span_cells(attribute, order, first, last)


def partition_table(
    mondrian: Mondrian,
    table: Table,
    requirement: Requirement,
    engine: Engine,
    parts: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None,
) -> kernels.Partition:
    """The groups Mondrian makes of a table, with their bounds in split order: coded columns in, arrays out.

    `parts`: the rows, part by part, and where each part begins (parts + 1,): each is cut by itself.
    """
    axes, columns = cut_axes(mondrian, table, table.with_role(Role.QUASI_IDENTIFIER))
    of_sizes = all(model.name == "k_anonymity" for model in requirement.models)
    only_sizes = not requirement.sensitive and requirement.outside is None and of_sizes
    at_once = [model.name for model in requirement.models if "whole" in model.needs]
    if at_once or (requirement.outside is not None and mondrian.relaxed):
        what = "relaxed cuts beside a population" if not at_once else f"{at_once[0]}, which is about all rows at once"
        raise UsageError(f"mondrian cannot keep {what}; require k_map:k=2, or use full_domain")

    if table.count is not None and mondrian.relaxed:
        raise UsageError("mondrian: relaxed cuts are drawn row by row; use relaxed=false on a cluster")

    def allowed(children: kernels.Candidates) -> NDArray[np.bool_]:
        rows = children.rows if children.rows is None or shuffled is None else shuffled[children.rows]
        return requirement.holds(children.size, children.histograms, _supersets(children), rows)

    shuffled = None if parts is None else parts[0]
    secret, codes = requirement.secrets(table)
    if mondrian.relaxed:  # who goes left at a median is drawn: it must not follow the order of the original's rows
        shuffled = np.lexsort(table.columns)[engine.named("mondrian").generator().permutation(table.rows)]
    if shuffled is not None:
        columns, secret = [c[shuffled] for c in columns], [c[shuffled] for c in secret]
    found = kernels.partition(
        columns,
        axes,
        secret,
        codes,
        allowed=None if only_sizes else allowed,  # `smallest` is k then: every cut that is proposed holds
        smallest=min(requirement.smallest, table.people + 1),
        relaxed=mondrian.relaxed,
        lower=mondrian.median == "lower",
        superset_size=requirement.superset_size,
        list_rows=requirement.cell_of_row is not None,
        table_from=None if parts is None else parts[1],
        weight=table.count,
    )
    if shuffled is None:
        return found
    group = np.empty(table.rows, dtype=np.int32)
    group[shuffled] = found.group
    return replace(found, group=group)


def cut_axes(
    mondrian: Mondrian, table: Table, which: Sequence[int]
) -> tuple[list[CutAxis], list[NDArray[np.unsignedinteger]]]:
    """The axes along which some attributes are cut, and their columns with codes in split order."""
    axes, columns = [], []
    for index in which:
        attribute = table.attributes[index]
        order = mondrian.split_order(attribute, table.columns[index], table.count)
        place = np.empty(attribute.codes, dtype=attribute.dtype)
        place[order] = np.arange(attribute.codes, dtype=attribute.dtype)
        same = bool((order == np.arange(attribute.codes)).all())
        columns.append(table.columns[index] if same else place[table.columns[index]])
        axes.append(cut_axis(attribute, order, mondrian.by_hierarchy(attribute)))
    return axes, columns


def cut_axis(attribute: Attribute, order: NDArray[np.int64], by_hierarchy: bool) -> CutAxis:
    position = attribute.positions() if attribute.kind.measured and not by_hierarchy else None
    levels = None
    if by_hierarchy and attribute.hierarchy is not None:
        levels = attribute.hierarchy.node[-2:0:-1, order[: attribute.real]]
    return CutAxis(codes=attribute.codes, position=position, missing=attribute.missing, hierarchy=levels)


def _supersets(children: kernels.Candidates) -> list[Supersets] | None:
    found = children.supersets
    if found is None:
        return None
    return [Supersets(found.child, histogram[found.ancestor]) for histogram in found.histograms]


def _span_cells(
    attribute: Attribute, order: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> GroupRegions:
    """Everything between two codes of the split order."""
    number = row_numbers([first, last])
    example = example_rows(number)
    lows, highs = first[example], last[example]
    if (order == np.arange(attribute.codes)).all():
        return GroupRegions(Regions.intervals(attribute.codes, lows, highs), number)
    return GroupRegions(
        Regions.sets(attribute.codes, [order[a : b + 1] for a, b in zip(lows, highs, strict=True)]), number
    )


def _hierarchy_cells(
    attribute: Attribute, order: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> GroupRegions:
    """The lowest node that holds everything between two codes of the split order."""
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    level = np.full(len(first), hierarchy.height)
    for height in range(hierarchy.height - 1, -1, -1):
        node = hierarchy.node[height][order]
        level = np.where(node[first] == node[last], height, level)
    node_of = hierarchy.node[level, order[first]].astype(np.int64)
    number = row_numbers([level, node_of])
    example = example_rows(number)
    pairs = zip(level[example], node_of[example], strict=True)
    return GroupRegions(
        Regions.sets(attribute.codes, [np.flatnonzero(hierarchy.node[h] == n) for h, n in pairs]), number
    )


def _present_cells(
    attribute: Attribute,
    found: kernels.Partition,
    column: NDArray[np.unsignedinteger],
    runs: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
) -> GroupRegions:
    """The set of values that the group's rows have."""
    groups, codes = found.groups, attribute.codes
    if groups * codes > MOST_SEEN and runs is None:
        pair = np.unique(found.group.astype(np.int64) * codes + column)
        return GroupRegions(Regions.pairs(codes, pair // codes, pair % codes, groups), np.arange(groups))
    flat = np.zeros(groups * codes, dtype=bool)
    for start in range(0, len(column), ROWS_AT_ONCE):
        piece = slice(start, start + ROWS_AT_ONCE)
        flat[found.group[piece].astype(np.int64) * codes + column[piece]] = True
    seen = flat.reshape(groups, codes)
    if runs is not None:
        until = np.concatenate([np.zeros((1, codes), dtype=np.int32), np.cumsum(seen, axis=0, dtype=np.int32)])
        seen = until[runs[1]] > until[runs[0]]
    packed = np.packbits(seen, axis=1)
    number = row_numbers(list(packed.T))
    distinct = example_rows(number)
    owner, code = np.nonzero(seen[distinct])
    return GroupRegions(Regions.pairs(codes, owner, code, len(distinct)), number)

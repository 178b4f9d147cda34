"""Release: what is published. Rows cut into groups, attributes into blocks, cells widened to regions, or perturbed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.data.attribute import Attribute, AttributeList, Role
from unveil.data.display import Summary
from unveil.data.regions import Regions, rank_sequences
from unveil.errors import NotApplicable, ReleaseError

__all__ = [
    "Anonymized",
    "Block",
    "BlockRows",
    "Perturbation",
    "Release",
    "build_release",
    "distinct_rows",
    "example_rows",
    "merged_rows",
    "row_numbers",
    "single_rows",
    "truthful",
]

ROWS_AT_ONCE = 1 << 16  # pieces that stay in the cache
MANY_ROWS = 1 << 16  # fewer are sorted at once by NumPy
SYNTHETIC = ("dp_histogram", "synthetic")  # methods whose rows are nobody's


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Attributes published together. Inside a group its cells are a multiset."""

    attributes: tuple[int, ...]
    cells: NDArray[np.int32]  # (distinct cells, attributes) region numbers, ordered
    start: NDArray[np.int64]  # (groups + 1,) where each group's entries begin
    cell: NDArray[np.int32]  # (entries,) a distinct cell of the group, growing inside it
    count: NDArray[np.int64]  # (entries,) how many rows of the group show it

    @property
    def group(self) -> NDArray[np.int64]:
        """(entries,) the group of each entry."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int64), np.diff(self.start))

    def region(self, attribute: int) -> NDArray[np.int32]:
        """(entries,) the region number of one attribute."""
        return np.asarray(self.cells[self.cell, self.attributes.index(attribute)])


@dataclass(frozen=True, slots=True)
class BlockRows:
    """Raw material of one block: rows, or distinct rows with counts, in any order."""

    attributes: tuple[int, ...]
    group: NDArray[np.integer]  # (rows,)
    region: tuple[NDArray[np.integer], ...]  # per attribute: (rows,) region numbers
    count: NDArray[np.integer] | None = None  # (rows,); None = one each


@dataclass(frozen=True, slots=True, eq=False)
class Perturbation:
    """A column that need not show true values: the release's own attribute holds what is shown."""

    true: Attribute  # whose values were perturbed; of categories that is what is shown, too
    channel: NDArray[np.float64] | None = None  # (codes, codes) of categories: P(published | true), where it is stated
    said: bool = True  # by the publisher; else it was noticed
    behind: NDArray[np.float64] | None = None  # (shown codes, true codes) P(true | shown), as a reader has it
    source: str = ""  # where that comes from

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Perturbation)
            and (self.true, self.said) == (other.true, other.said)
            and all(
                (mine is None) == (theirs is None) and (mine is None or np.array_equal(mine, np.asarray(theirs)))
                for mine, theirs in ((self.channel, other.channel), (self.behind, other.behind))
            )
        )

    __hash__ = None  # type: ignore[assignment]  # arrays


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release(AttributeList):
    """A published table, canonical: groups are ordered by their cells, so that order can leak nothing.

    A file with perturbed columns and no hidden links is held row by row, each row a group, in the order of the file.
    """

    attributes: tuple[Attribute, ...]
    regions: tuple[Regions, ...]  # per attribute: the regions its cells name
    blocks: tuple[Block, ...]
    sizes: NDArray[np.int64]  # (groups,) rows in each group
    labels: tuple[str, ...] = ()  # (groups,) what the file that was read calls each group; none in memory
    perturbed: Mapping[int, Perturbation] = field(default_factory=dict)  # by attribute
    method: str = ""  # the anonymizer with its options, where that is published

    def __post_init__(self) -> None:
        _check(self)
        for block in self.blocks:
            for array in (block.cells, block.start, block.cell, block.count):
                array.flags.writeable = False
        self.sizes.flags.writeable = False

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Release)
            and self.attributes == other.attributes
            and self.regions == other.regions
            and (self.perturbed, self.method) == (other.perturbed, other.method)
            and len(self.blocks) == len(other.blocks)
            and all(
                a.attributes == b.attributes
                and np.array_equal(a.cells, b.cells)
                and np.array_equal(a.start, b.start)
                and np.array_equal(a.cell, b.cell)
                and np.array_equal(a.count, b.count)
                for a, b in zip(self.blocks, other.blocks, strict=True)
            )
        )

    __hash__ = None  # type: ignore[assignment]  # arrays

    @property
    def true_attributes(self) -> tuple[Attribute, ...]:
        """The attributes with the domains of people's own values, not of what perturbed columns show."""
        return tuple(self.perturbed[i].true if i in self.perturbed else a for i, a in enumerate(self.attributes))

    @property
    def row_by_row(self) -> bool:
        """Whether columns were perturbed and each published row is a group of its own."""
        return bool(self.perturbed) and len(self.blocks) == 1 and self.groups == self.rows

    @property
    def synthetic(self) -> bool:
        """Whether it is said to be made by a method whose rows are nobody's."""
        return self.method.startswith(SYNTHETIC)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    @property
    def rows(self) -> int:
        """How many rows are published."""
        return int(self.sizes.sum())

    def summary(self) -> Summary:
        """Its size and, of each attribute, how many different cells are published and in which block."""
        if self.perturbed:
            title = f"Release: {self.rows:,} rows, {len(self.perturbed)} of {len(self.attributes)} attributes perturbed"
            lines = self.described([i in self.perturbed for i in range(len(self.attributes))])
            return title, ("attribute", "role", "kind", "perturbed"), lines
        blocks = f"{len(self.blocks)} block{'s' * (len(self.blocks) > 1)}"
        title = f"Release: {self.rows:,} rows in {self.groups:,} groups of {int(self.sizes.min()):,} or more, {blocks}"
        block = {i: number for number, block in enumerate(self.blocks, start=1) for i in block.attributes}
        lines = self.described([len(r) for r in self.regions], [block[i] for i in range(len(self.attributes))])
        return title, ("attribute", "role", "kind", "cells", "block"), lines

    def block_of(self, attribute: int) -> Block:
        """The block that holds an attribute."""
        return next(b for b in self.blocks if attribute in b.attributes)

    def suppressed(self) -> NDArray[np.bool_]:
        """(groups,) groups in which every quasi-identifier cell is `*`; one with a single value has nothing to hide."""
        known = [i for i in self.with_role(Role.QUASI_IDENTIFIER) if self.attributes[i].codes > 1]
        hidden = np.full(self.groups, bool(known))
        for attribute in known:
            block = self.block_of(attribute)
            whole = self.regions[attribute].whole[block.region(attribute)]
            hidden &= np.logical_and.reduceat(whole, block.start[:-1])
        return hidden

    def histograms(self, attribute: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sensitive values among the rows a reader cannot tell apart, and the group of each such set of rows.

        Rows are told apart by group and by the quasi-identifier cells published beside the value in its block:
        in a generalised table a set is an equivalence class, in Anatomy a bucket. Withheld values (a region of
        several) are not counted.
        """
        told_apart, value, count, group = self.counted(attribute)
        codes = self.attributes[attribute].codes
        histogram = np.bincount(told_apart * codes + value, weights=count, minlength=len(group) * codes)
        return histogram.astype(np.int64).reshape(len(group), codes), group

    def counted(self, attribute: int) -> tuple[NDArray[np.int64], ...]:
        """The same without the zeros: (entries,) set, value and rows; and (sets,) the group of each set."""
        block = self.block_of(attribute)
        beside = [i for i in block.attributes if self.attributes[i].role is Role.QUASI_IDENTIFIER and i != attribute]
        told_apart = row_numbers([block.group, *(block.region(i) for i in beside)])
        sets = int(told_apart.max(initial=-1)) + 1
        group = np.zeros(sets, dtype=np.int64)
        group[told_apart] = block.group
        value = self.regions[attribute].single()[block.region(attribute)]
        known = value >= 0
        return told_apart[known], value[known].astype(np.int64), block.count[known], group

    def class_sizes(self) -> NDArray[np.int64]:
        """Rows that share their quasi-identifier cells, release-wide.

        Where quasi-identifiers lie in several blocks it is a lower bound: rows of one group that share a block's cells.

        Suppressed rows are left out. With every row suppressed, or no quasi-identifier, all rows are one class.
        """
        hidden = self.suppressed()
        holds_known = [any(self.attributes[i].role is Role.QUASI_IDENTIFIER for i in b.attributes) for b in self.blocks]
        several = sum(holds_known) > 1
        sizes = []
        for block in self.blocks:
            known = [i for i in block.attributes if self.attributes[i].role is Role.QUASI_IDENTIFIER]
            if known:
                keep = ~hidden[block.group]
                columns = [block.region(i)[keep] for i in known]
                number = row_numbers([block.group[keep], *columns] if several else columns)
                sizes.append(np.bincount(number, weights=block.count[keep]).astype(np.int64))
        found = np.concatenate(sizes) if sizes else np.empty(0, dtype=np.int64)
        return found if len(found) else np.array([self.rows], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Anonymized:
    """A release, and the anonymizer's private knowledge of which original row went to which of its groups."""

    release: Release
    group_of_row: NDArray[np.int32] = field(repr=False)  # (rows,) -1 = it is not published
    note: str = ""  # what the anonymizer found out, for whoever ran it; never published

    def __post_init__(self) -> None:
        self.group_of_row.flags.writeable = False


def build_release(
    attributes: Sequence[Attribute],
    regions: Sequence[Regions],
    parts: Sequence[BlockRows],
    perturbed: Mapping[int, Perturbation] | None = None,
    method: str = "",
) -> tuple[Release, NDArray[np.int64]]:
    """The canonical release of this material, and the new number of each group given.

    Groups are ordered by their cells, blocks by their first attribute.
    Cost: sorting the distinct cells and the groups; rows only pass through one counting step.
    """
    if not parts or not len(parts[0].group):
        raise ReleaseError("the release has no rows")
    parts = sorted(map(_ordered, parts), key=lambda part: part.attributes)
    groups = max(int(part.group.max(initial=-1)) for part in parts) + 1
    canonical = list(regions)
    renumbered: dict[int, NDArray[np.int64]] = {}
    for part in parts:
        for attribute, numbers in zip(part.attributes, part.region, strict=True):
            canonical[attribute], renumbered[attribute] = regions[attribute].canonical(numbers)
    counted = [_count_cells(part, renumbered, groups) for part in parts]
    keys = []
    for _, start, cell, count in counted:
        keys.append(rank_sequences(start, cell.astype(np.int64) * (int(count.max(initial=0)) + 1) + count))
    order = np.lexsort(keys[::-1])
    number = np.empty(groups, dtype=np.int64)
    number[order] = np.arange(groups)
    blocks = []
    for part, (cells, start, cell, count) in zip(parts, counted, strict=True):
        lengths = np.diff(start)[order]
        new_start = np.zeros(groups + 1, dtype=np.int64)
        np.cumsum(lengths, out=new_start[1:])
        source = np.repeat(start[:-1][order] - new_start[:-1], lengths) + np.arange(new_start[-1])
        blocks.append(Block(part.attributes, cells, new_start, cell[source], count[source]))
    sizes = np.add.reduceat(blocks[0].count, blocks[0].start[:-1])
    made = Release(
        tuple(attributes), tuple(canonical), tuple(blocks), sizes, perturbed=dict(perturbed or {}), method=method
    )
    return made, number


def truthful(release: Release) -> Release:
    """The same, for whoever takes cells for true; an error where some are not."""
    if release.perturbed:
        names = ", ".join(release.attributes[i].name for i in release.perturbed)
        how = "the rows are made up" if release.synthetic else "the values were perturbed, not widened"
        raise NotApplicable(f"{names}: {how}; there are no groups")
    return release


def single_rows(
    attributes: Sequence[Attribute],
    regions: Sequence[Regions],
    columns: Sequence[NDArray[np.integer]],
    perturbed: Mapping[int, Perturbation],
    method: str = "",
) -> Release:
    """A release of rows that are told apart, in this order; `columns`: by attribute (rows,) region numbers."""
    rows, everything = len(columns[0]), tuple(range(len(attributes)))
    canonical = [held.canonical(column) for held, column in zip(regions, columns, strict=True)]
    part = BlockRows(everything, np.arange(rows), tuple(columns))
    block = Block(everything, *_count_cells(part, {i: number for i, (_, number) in enumerate(canonical)}, rows))
    kept = tuple(one for one, _ in canonical)
    return Release(
        tuple(attributes), kept, (block,), np.ones(rows, dtype=np.int64), perturbed=dict(perturbed), method=method
    )


def merged_rows(release: Release) -> tuple[Release, NDArray[np.int64]]:
    """A release whose groups are single rows as a reader sees it: rows with equal quasi-identifiers are one group.

    Nothing tells such groups apart; and the new number of each group. Any other release stays as it is.
    """
    same = np.arange(release.groups)
    if len(release.blocks) > 1 or release.groups < release.rows:
        return release, same
    block = release.blocks[0]
    known = [i for i in block.attributes if release.attributes[i].role is Role.QUASI_IDENTIFIER]
    of_group = row_numbers([block.region(i) for i in known]) if known else np.zeros(release.rows, dtype=np.int64)
    if len(np.unique(of_group)) == release.rows:
        return release, same
    columns = tuple(block.region(i).astype(np.int64) for i in block.attributes)
    made, number = build_release(
        release.attributes, release.regions, [BlockRows(block.attributes, of_group, columns, block.count)]
    )
    return made, number[of_group]


def _ordered(part: BlockRows) -> BlockRows:
    """The same block with its attributes in the release's order."""
    order = sorted(range(len(part.attributes)), key=part.attributes.__getitem__)
    return replace(
        part,
        attributes=tuple(part.attributes[i] for i in order),
        region=tuple(part.region[i] for i in order),
    )


def _count_cells(
    part: BlockRows, renumbered: dict[int, NDArray[np.int64]], groups: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Distinct cells of a block, and per group the cells it shows with their counts."""
    columns = [renumbered[a][numbers] for a, numbers in zip(part.attributes, part.region, strict=True)]
    cell = row_numbers(columns, len(part.group))
    distinct = int(cell.max(initial=-1)) + 1
    cells = np.zeros((distinct, len(columns)), dtype=np.int32)
    for index, column in enumerate(columns):
        cells[cell, index] = column
    pair = np.asarray(part.group, dtype=np.int64) * distinct + cell
    weight = np.ones(len(pair), dtype=np.int64) if part.count is None else np.asarray(part.count, dtype=np.int64)
    if (weight < 1).any():
        raise ReleaseError("a cell is shown by no row")
    if groups * distinct <= max(4 * len(pair), 1 << 16):
        table = np.bincount(pair, weights=weight, minlength=groups * distinct).astype(np.int64)
        key = np.flatnonzero(table)
        count = table[key]
    else:
        key, inverse = np.unique(pair, return_inverse=True)
        count = np.bincount(inverse, weights=weight).astype(np.int64)
    start = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(key // distinct, minlength=groups), out=start[1:])
    return cells, start, (key % distinct).astype(np.int32), count


def row_numbers(columns: Sequence[NDArray[np.integer]], rows: int = 0) -> NDArray[np.int64]:
    """Number the distinct rows of some columns in dictionary order, first column first; without columns all are 0."""
    if not columns:
        return np.zeros(rows, dtype=np.int64)
    number, top = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        # Gaps are closed by counting while that is cheap, then only where numbers would grow too large, by sorting.
        if top > 1 and (top <= _few(len(number)) < top * width or top * width >= 1 << 62):
            number = _dense(number)
            top = int(number.max(initial=0)) + 1
        number, top = number * width + np.asarray(column, dtype=np.int64), top * width
    return _dense(number)


def example_rows(number: NDArray[np.integer]) -> NDArray[np.int64]:
    """One row, the last, of each number from 0 on."""
    row = np.zeros(int(number.max(initial=-1)) + 1, dtype=np.int64)
    row[number] = np.arange(len(number))
    return row


def distinct_rows(columns: Sequence[NDArray[np.integer]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One row of each distinct combination, and how many rows share it. By counting in pieces where that is small."""
    widths = [int(column.max(initial=0)) + 1 for column in columns]
    entries = math.prod(widths)
    if columns and entries <= min(max(4 * len(columns[0]), 1 << 16), 1 << 24):
        return _count_rows(columns, widths, entries)
    number = row_numbers(columns)
    return example_rows(number), np.bincount(number)


def _count_rows(
    columns: Sequence[NDArray[np.integer]], widths: list[int], entries: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """distinct_rows by a table of all combinations, over pieces of the rows: little memory, no sorting."""
    count, row = np.zeros(entries, dtype=np.int64), np.empty(entries, dtype=np.int64)
    for start in range(0, len(columns[0]), ROWS_AT_ONCE):
        piece = slice(start, start + ROWS_AT_ONCE)
        key = columns[0][piece].astype(np.int64)
        for column, width in zip(columns[1:], widths[1:], strict=True):
            key *= width
            key += column[piece]
        count += np.bincount(key, minlength=entries)
        row[key] = np.arange(start, start + len(key))
    used = np.flatnonzero(count)
    return row[used], count[used]


def _dense(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same order without gaps; by counting where the numbers are small, else by sorting, digit by digit if many."""
    top = int(number.max(initial=0)) + 1
    if top <= _few(len(number)):
        seen = np.zeros(top, dtype=np.int64)
        seen[number] = 1
        return (np.cumsum(seen) - 1)[number]
    if len(number) >= MANY_ROWS and number.min() >= 0:
        from unveil.kernels.numbering import ranks

        return np.asarray(ranks(np.ascontiguousarray(number)))
    return np.unique(number, return_inverse=True)[1].astype(np.int64)


def _few(rows: int) -> int:
    """How many numbers of rows are counted rather than sorted."""
    return 4 * rows + 1024


def _check(release: Release) -> None:
    """A release that cannot be is never born."""
    published = sorted(i for block in release.blocks for i in block.attributes)
    if published != list(range(len(release.attributes))):
        raise ReleaseError("every attribute must be published in exactly one block")
    if len({a.name for a in release.attributes}) != len(release.attributes):
        raise ReleaseError("two attributes of the release have the same name")
    if any(a.role is Role.IDENTIFIER for a in release.attributes):
        raise ReleaseError("identifiers are never released; remove that column")
    if len(release.regions) != len(release.attributes) or any(
        r.codes != a.codes for r, a in zip(release.regions, release.attributes, strict=True)
    ):
        raise ReleaseError("regions and attributes do not fit each other")
    if not release.groups:
        raise ReleaseError("the release has no rows")
    if release.labels and len(set(release.labels)) != release.groups:
        raise ReleaseError("each group needs one label")
    for index, one in release.perturbed.items():
        if not 0 <= index < len(release.attributes):
            raise ReleaseError("a perturbed attribute is not one of the release's")
        if one.channel is not None:
            attribute, matrix = one.true, one.channel
            if attribute.kind.measured:
                raise ReleaseError("a matrix of changes belongs to a perturbed attribute of codes")
            sums = matrix.sum(axis=1) if matrix.ndim == 2 else np.zeros(1)
            if matrix.shape != (attribute.codes,) * 2 or not (matrix >= 0).all() or (np.abs(sums - 1) > 1e-9).any():
                what = f"its matrix needs {attribute.codes} rows of {attribute.codes} chances that add up to 1"
                raise ReleaseError(f"{attribute.name}: {what}")
    for block in release.blocks:
        start, entries = block.start, len(block.cell)
        if len(start) != release.groups + 1 or (np.diff(start) < 1).any() or start[0] != 0 or start[-1] != entries:
            raise ReleaseError("a group has no rows")
        if len(block.count) != entries or (block.count < 1).any():
            raise ReleaseError("a cell is shown by no row")
        if not np.array_equal(np.add.reduceat(block.count, start[:-1]), release.sizes):
            raise ReleaseError("the blocks of a group differ in size; each must hold the same number of rows")
        known = [len(release.regions[i]) for i in block.attributes]
        if not known or block.cells.shape[1] != len(known) or not _within(block.cells, known):
            raise ReleaseError("the cells of a block name unknown regions")
        if not _within(block.cell, len(block.cells)):
            raise ReleaseError("a group shows a cell outside its block")


def _within(number: NDArray[np.integer], count: ArrayLike) -> bool:
    return bool(((number >= 0) & (number < np.asarray(count))).all())

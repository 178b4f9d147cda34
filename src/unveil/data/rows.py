"""PublishedRows: a release row by row, as linkage, models and an analyst read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, AttributeList, Role, canonical
from unveil.data.display import Summary
from unveil.data.regions import Regions
from unveil.data.release import Anonymized, Perturbation, Release, single_rows
from unveil.errors import NotApplicable, ReleaseError, UsageError

__all__ = [
    "SUPPRESSED",
    "PublishedRows",
    "as_published",
    "groups_of_origin",
    "numbers_of",
    "origin_of",
    "paired_rows",
    "release_of_rows",
    "rows_of",
    "shown_numbers",
    "shown_region",
    "single_values",
    "stand_ins",
]

SUPPRESSED = -1  # a cell of codes that is not published
OUTSIDE = -2  # a number that is not in the domain


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublishedRows(AttributeList):
    """Published cells, some of them perturbed. Row i is somebody, but not the original's row i.

    Numbers and dates are positions on their line (a date's is its day's ordinal), NaN = missing or suppressed; other
    attributes are codes of their domain, -1 = suppressed, the last code = missing where that is a category. Of a column
    with widened cells `wide` holds what each cell may be; a widened number stands in `columns` as its middle, another
    widened cell as suppressed.
    """

    attributes: tuple[Attribute, ...]
    columns: tuple[NDArray[Any], ...]  # per attribute: (rows,) float64 if measured, else int64 codes
    masked: tuple[int, ...]  # positions of the attributes that were perturbed, growing
    channel: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)  # (codes, codes): P(published | true)
    method: str = ""  # the anonymizer with its options, where that is published
    wide: Mapping[int, tuple[Regions, NDArray[np.int64]]] = field(default_factory=dict)  # regions, (rows,) each cell's
    noticed: frozenset[int] = frozenset()  # those of the masked of which nobody says that they were perturbed

    def __post_init__(self) -> None:
        _check(self)
        for array in (*self.columns, *self.channel.values()):
            array.flags.writeable = False

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PublishedRows)
            and self.attributes == other.attributes
            and (self.masked, self.noticed) == (other.masked, other.noticed)
            and self.method == other.method
            and all(np.array_equal(a, b, equal_nan=True) for a, b in zip(self.columns, other.columns, strict=True))
            and self.channel.keys() == other.channel.keys()
            and all(np.array_equal(matrix, other.channel[i]) for i, matrix in self.channel.items())
            and self.wide.keys() == other.wide.keys()
            and all(r == other.wide[i][0] and np.array_equal(c, other.wide[i][1]) for i, (r, c) in self.wide.items())
        )

    __hash__ = None  # type: ignore[assignment]  # arrays

    @property
    def rows(self) -> int:
        """How many rows are published."""
        return len(self.columns[0])

    def summary(self) -> Summary:
        """That of the release."""
        return release_of_rows(self).summary()

    @property
    def known_channel(self) -> bool:
        """Whether of every perturbed column the chances of each change are published."""
        return all(i in self.channel for i in self.masked)


def rows_of(release: Release) -> PublishedRows:
    """A release row by row. Whoever needs rows is told where they are not told apart."""
    if len(release.blocks) > 1 or release.groups < release.rows:
        raise NotApplicable("rows cannot be told apart: links are hidden in groups of several")
    block = release.blocks[0]
    columns, wide = [], {}
    for index, (attribute, regions) in enumerate(zip(release.attributes, release.regions, strict=True)):
        cell = block.region(index).astype(np.int64)
        if index not in release.perturbed and ((regions.sizes > 1) & ~regions.whole).any():
            wide[index] = regions, cell
        columns.append(single_values(attribute, regions, cell))
    return PublishedRows(
        release.true_attributes,
        tuple(columns),
        tuple(sorted(release.perturbed)),
        {i: one.channel for i, one in sorted(release.perturbed.items()) if one.channel is not None},
        release.method,
        wide,
        frozenset(i for i, one in release.perturbed.items() if not one.said),
    )


def release_of_rows(rows: PublishedRows) -> Release:
    """The release that these rows are. Perturbed numbers, and others outside their domain, have one of their own."""
    attributes, regions, cells, perturbed = [], [], [], {}
    for index, (attribute, column) in enumerate(zip(rows.attributes, rows.columns, strict=True)):
        shown = attribute
        if index in rows.wide:
            held, cell = rows.wide[index]
        else:
            code = _codes(attribute, column)
            masked = index in rows.masked
            if attribute.kind.measured and (masked or (code == OUTSIDE).any()):
                shown, code = shown_numbers(attribute, column)
            if masked or shown is not attribute:
                said = masked and index not in rows.noticed
                perturbed[index] = Perturbation(attribute, rows.channel.get(index), said)
            each = np.arange(shown.codes)  # the last region: a cell that is not published
            held = Regions.intervals(shown.codes, np.append(each, 0), np.append(each, shown.codes - 1))
            cell = np.where(code < 0, shown.codes, code)
        attributes.append(shown)
        regions.append(held)
        cells.append(cell)
    return single_rows(attributes, regions, cells, perturbed, rows.method)


def paired_rows(made: Anonymized) -> tuple[PublishedRows, NDArray[np.int64]]:
    """The rows of a release, and (rows,) the original row of each."""
    return rows_of(made.release), origin_of(made.release, made.group_of_row)


def origin_of(release: Release, group_of_row: NDArray[np.integer]) -> NDArray[np.int64]:
    """(rows,) the original row of each published one, where each row is a group of its own."""
    group = np.asarray(group_of_row, dtype=np.int64)
    row = np.flatnonzero(group >= 0)
    if len(row) != release.rows or release.groups != release.rows or len(np.unique(group[row])) != len(row):
        raise UsageError(f"whose row is whose must be said of all {release.rows:,} published rows, each once")
    origin = np.empty(release.rows, dtype=np.int64)
    origin[group[row]] = row
    return origin


def groups_of_origin(origin: NDArray[np.integer], rows: int) -> NDArray[np.int32]:
    """(original rows,) the group of each, -1 = not published: from the original row of each published one."""
    group = np.full(rows, -1, dtype=np.int32)
    group[origin] = np.arange(len(origin))
    return group


def shown_numbers(attribute: Attribute, column: NDArray[np.float64]) -> tuple[Attribute, NDArray[np.int64]]:
    """The attribute with the numbers that a column shows as its domain, and (rows,) their codes; -1 = none."""
    absent = np.isnan(column)
    numbers, number = np.unique(column[~absent], return_inverse=True)
    numbers = numbers if len(numbers) else np.ones(1)
    texts = [canonical(float(one), attribute.kind) for one in numbers]
    if len(set(texts)) < len(texts):  # days that are not whole
        texts = [repr(float(one)) for one in numbers]
    missing = attribute.missing or len(numbers) == 1  # a single value could not be told from a suppressed cell
    texts += [attribute.values[-1] if attribute.missing else "NA"] * missing
    made = Attribute(
        attribute.name, attribute.role, attribute.kind, tuple(texts), missing, attribute.missing_tokens,
        numbers, numbers, source="release",
    )  # fmt: skip
    code = np.full(len(column), len(numbers) if attribute.missing else SUPPRESSED, dtype=np.int64)
    code[~absent] = number
    return made, code


def shown_region(
    attribute: Attribute, regions: Regions, cell: NDArray[np.int64]
) -> tuple[Attribute, Regions, NDArray[np.int64]]:
    """A column of cells that need not hold the truth: attribute, regions and cells of one value each, or `*`.

    What a false cell says of true values is not what it holds: only which cell it is counts. A band of numbers or
    dates is told by its middle, a set by one of its values.
    """
    code = stand_ins(regions, cell)
    if attribute.kind.measured:
        attribute, code = shown_numbers(attribute, single_values(attribute, regions, cell))
    each = np.arange(attribute.codes)  # the last region: a cell that is not published
    made = Regions.intervals(attribute.codes, np.append(each, 0), np.append(each, attribute.codes - 1))
    return attribute, made, np.where(code < 0, attribute.codes, code)


def stand_ins(regions: Regions, cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """(rows,) a value for each cell: its own, or one of its set that stands for no other, if there is one; -1 = `*`."""
    value = np.where(regions.whole, -1, regions.single())
    taken = set(value[value >= 0].tolist())
    for region in np.argsort(regions.sizes, kind="stable").tolist():
        if value[region] < 0 and not regions.whole[region]:
            members = regions.members(region).tolist()
            value[region] = next((code for code in members if code not in taken), members[0])
            taken.add(int(value[region]))
    return np.asarray(value[cell])


def _codes(attribute: Attribute, column: NDArray[Any]) -> NDArray[np.int64]:
    """(rows,) codes of the domain; SUPPRESSED, or OUTSIDE of it."""
    if not attribute.kind.measured:
        return np.asarray(column, dtype=np.int64)
    absent = np.isnan(column)
    known = np.where(absent, 0.0, column)
    if attribute.binned and attribute.low is not None and attribute.high is not None:  # any number of a bin is in it
        at = np.maximum(np.searchsorted(attribute.low, known, side="right") - 1, 0)
        fits = (attribute.low[at] <= known) & (known <= attribute.high[at])
    else:
        place = attribute.positions()[: attribute.real]
        order = np.argsort(place, kind="stable")
        at = order[np.minimum(np.searchsorted(place[order], known), max(len(order) - 1, 0))]
        fits = place[at] == known
    code = np.where(fits, at, OUTSIDE)
    return np.where(absent, attribute.codes - 1 if attribute.missing else SUPPRESSED, code)


def numbers_of(attribute: Attribute, codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """(rows,) the positions of a number's or a date's codes; NaN = missing. A bin stands for its middle."""
    places = attribute.positions()
    places[attribute.real :] = np.nan
    return np.asarray(places[codes])


def as_published(attributes: Sequence[Attribute], columns: Sequence[NDArray[np.integer]]) -> tuple[NDArray[Any], ...]:
    """Original columns of codes as rows hold them: nothing perturbed yet."""
    return tuple(
        numbers_of(a, c) if a.kind.measured else np.asarray(c, dtype=np.int64)
        for a, c in zip(attributes, columns, strict=True)
    )


def single_values(attribute: Attribute, regions: Regions, cell: NDArray[np.int64]) -> NDArray[Any]:
    """(rows,) a column of widened cells as rows hold it: numbers by their middle, others if they are one value."""
    if not attribute.kind.measured:
        return regions.single()[cell]
    place = attribute.positions()
    first, last = regions.low[regions.start[:-1]], np.minimum(regions.high[regions.start[1:] - 1], attribute.real - 1)
    absent = (regions.whole & (regions.sizes > 1)) | (first >= attribute.real)
    middle = (place[np.minimum(first, attribute.real - 1)] + place[last]) / 2
    return np.where(absent, np.nan, middle)[cell]


def _check(masked: PublishedRows) -> None:
    """A table that cannot be is never born."""
    if not masked.attributes or len(masked.columns) != len(masked.attributes):
        raise ReleaseError("a masked table needs one column an attribute, and at least one")
    if len({a.name for a in masked.attributes}) != len(masked.attributes):
        raise ReleaseError("two attributes of the release have the same name")
    if any(a.role is Role.IDENTIFIER for a in masked.attributes):
        raise ReleaseError("identifiers are never released; remove that column")
    if not masked.rows:
        raise ReleaseError("the release has no rows")
    for attribute, column in zip(masked.attributes, masked.columns, strict=True):
        if column.shape != (masked.rows,):
            raise ReleaseError(f"{attribute.name}: not the same number of cells as the other columns")
        if column.dtype != (np.float64 if attribute.kind.measured else np.int64):
            raise ReleaseError(f"{attribute.name}: numbers and dates are float64, other values int64 codes")
        if attribute.kind.measured and np.isinf(column).any():
            raise ReleaseError(f"{attribute.name}: an infinite number")
        if not attribute.kind.measured and not SUPPRESSED <= column.min() <= column.max() < attribute.codes:
            raise ReleaseError(f"{attribute.name}: codes outside the domain")
    if list(masked.masked) != sorted({i for i in masked.masked if 0 <= i < len(masked.attributes)}):
        raise ReleaseError("perturbed attributes are named once each, in the order of the columns")
    for index, (regions, cell) in masked.wide.items():
        if index in masked.masked or cell.shape != (masked.rows,) or regions.codes != masked.attributes[index].codes:
            raise ReleaseError("widened cells belong to a column that was not perturbed, one a row")
        if not 0 <= cell.min() <= cell.max() < len(regions):
            raise ReleaseError(f"{masked.attributes[index].name}: a cell is not one of the regions")
    for index, matrix in masked.channel.items():
        if index not in masked.masked or masked.attributes[index].kind.measured:
            raise ReleaseError("a matrix of changes belongs to a perturbed attribute of codes")
        codes, name = masked.attributes[index].codes, masked.attributes[index].name
        if matrix.shape != (codes, codes) or not (matrix >= 0).all() or (np.abs(matrix.sum(axis=1) - 1) > 1e-9).any():
            raise ReleaseError(f"{name}: its matrix needs {codes} rows of {codes} chances that add up to 1")

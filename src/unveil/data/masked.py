"""Masked: a published table of which some columns were perturbed; one row a person, in no telling order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, AttributeList, Role
from unveil.data.display import Summary
from unveil.data.regions import Regions
from unveil.errors import NotApplicable, ReleaseError

__all__ = ["SUPPRESSED", "Masked", "MaskedTable", "SyntheticTable", "as_published", "numbers_of", "single_values"]

SUPPRESSED = -1  # a cell of codes that is not published


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Masked(AttributeList):
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

    def __post_init__(self) -> None:
        _check(self)
        for array in (*self.columns, *self.channel.values()):
            array.flags.writeable = False

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Masked)
            and self.attributes == other.attributes
            and self.masked == other.masked
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
        """Its size, and which attributes were perturbed."""
        title = f"Masked: {self.rows:,} rows, {len(self.masked)} of {len(self.attributes)} attributes perturbed"
        lines = self.described([i in self.masked for i in range(len(self.attributes))])
        return title, ("attribute", "role", "kind", "perturbed"), lines

    @property
    def known_channel(self) -> bool:
        """Whether of every perturbed column the chances of each change are published."""
        return all(i in self.channel for i in self.masked)


@dataclass(frozen=True, slots=True, eq=False)
class MaskedTable:
    """A masked release, and the anonymizer's private knowledge of whose row each published row is."""

    masked: Masked
    origin: NDArray[np.int64]  # (published rows,) the original row of each; never published
    note: str = ""  # what the anonymizer found out, for whoever ran it; never published

    def __post_init__(self) -> None:
        if len(self.origin) != self.masked.rows or len(np.unique(self.origin)) != len(self.origin):
            raise ReleaseError("every published row needs an original row of its own")
        if len(self.origin) and self.origin.min() < 0:
            raise ReleaseError("an original row is counted from 0")
        self.origin.flags.writeable = False

    @property
    def release(self) -> NoReturn:
        """There are no groups; whoever works with groups is told so."""
        raise NotApplicable(f"{_names(self.masked)}: the values were perturbed, not widened; there are no groups")


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticTable:
    """A masked release whose rows were made from something else than people: none of them is anybody's."""

    masked: Masked
    note: str = ""  # what the anonymizer found out, for whoever ran it; never published

    @property
    def release(self) -> NoReturn:
        """There are no groups; whoever works with groups is told so."""
        raise NotApplicable(f"{_names(self.masked)}: the rows are made up from noisy counts; there are no groups")


def numbers_of(attribute: Attribute, codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """(rows,) the positions of a number's or a date's codes; NaN = missing. A bin stands for its middle."""
    places = attribute.positions()
    places[attribute.real :] = np.nan
    return np.asarray(places[codes])


def as_published(attributes: Sequence[Attribute], columns: Sequence[NDArray[np.integer]]) -> tuple[NDArray[Any], ...]:
    """Original columns of codes in the form a Masked holds them: nothing perturbed yet."""
    return tuple(
        numbers_of(a, c) if a.kind.measured else np.asarray(c, dtype=np.int64)
        for a, c in zip(attributes, columns, strict=True)
    )


def single_values(attribute: Attribute, regions: Regions, cell: NDArray[np.int64]) -> NDArray[Any]:
    """(rows,) a column of widened cells as a Masked holds it: numbers by their middle, others if they are one value."""
    if not attribute.kind.measured:
        return regions.single()[cell]
    place = attribute.positions()
    first, last = regions.low[regions.start[:-1]], np.minimum(regions.high[regions.start[1:] - 1], attribute.real - 1)
    absent = regions.whole | (first >= attribute.real)
    middle = (place[np.minimum(first, attribute.real - 1)] + place[last]) / 2
    return np.where(absent, np.nan, middle)[cell]


def _names(masked: Masked) -> str:
    return ", ".join(masked.attributes[i].name for i in masked.masked) or "no column"


def _check(masked: Masked) -> None:
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

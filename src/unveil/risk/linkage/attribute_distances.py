"""Axes: how people and published rows are compared, an attribute at a time.

Contributions are squared and of one size: two random people are about 1 apart on every axis.

| attribute | contribution |
|---|---|
| number, date | half the squared difference of standardised values; 0 inside a published interval |
| ordinal | squared difference of positions, the whole scale being 1 |
| categorical | 0 equal or inside the published set, else 1 |
| categorical with a hierarchy | squared height of the lowest common label, the whole hierarchy being 1 |

Perturbed numbers may be on another scale than the people's. Four ways to compare them, see `SCALES`: both on the
people's own (`common`: equal values are equal), each file by its own mean and deviation (`moments`: other units), each
by its own ranks (`ranks`: any monotone change), or equal or not (`equal`: swapped or untouched cells).

A missing value is 1 from any other and 0 from a missing one; a cell that is not published, or not known, is 0 from all.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind
from unveil.data.regions import Regions
from unveil.errors import NotApplicable

__all__ = ["SCALES", "AttributeDistance", "Scale", "distance_of_numbers", "distance_of_regions"]

MOST_ENTRIES = 20_000_000  # of a table of distances
Floats = NDArray[np.float64]
Codes = NDArray[np.integer]
Scale = Literal["common", "moments", "ranks", "equal"]
SCALES: tuple[Scale, ...] = ("common", "moments", "ranks", "equal")


@dataclass(frozen=True, slots=True, eq=False)
class AttributeDistance:
    """One attribute: numbered values of people and of rows, and how far they are from each other."""

    name: str
    person: NDArray[np.int64]  # (people,) number of the known value
    row: NDArray[np.int64]  # (rows,) number of the published value
    known: tuple[Floats, Floats] | None  # ends of the known values on a line; nan = missing
    published: tuple[Floats, Floats] | None  # ends of the published values; (-inf, inf) = not published
    table: Floats | None = None  # (known values, published values), where there is no line
    equal: bool = False  # neither: 0 where the numbers of both values are equal, else 1

    @property
    def points(self) -> bool:
        """Single numbers on both sides, nothing missing."""
        return (
            self.known is not None
            and self.published is not None
            and all(np.isfinite(low).all() and np.array_equal(low, high) for low, high in (self.known, self.published))
        )

    def take(self, people: Codes) -> "AttributeDistance":
        """The same for some people."""
        return AttributeDistance(
            self.name, self.person[people], self.row, self.known, self.published, self.table, self.equal
        )

    def backwards(self) -> "AttributeDistance":
        """The same with people and rows changing places."""
        table = None if self.table is None else np.ascontiguousarray(self.table.T)
        return AttributeDistance(self.name, self.row, self.person, self.published, self.known, table, self.equal)


def distance_of_numbers(
    attribute: Attribute,
    known: Regions,
    person: Codes,
    numbers: Floats,
    *,
    scale: Scale = "common",
    reverse: bool = False,
) -> AttributeDistance:
    """Published numbers, nan = not published, on a scale of SCALES; `reverse`: large published numbers mean small ones.

    On every scale but `equal` two random people are 1 apart on average.
    """
    low, high = _ends(known, attribute)
    theirs = _middles(low, high)[person]
    values, row = np.unique(numbers, return_inverse=True, equal_nan=True)
    people, rows = np.asarray(person, dtype=np.int64), row.ravel().astype(np.int64)
    if scale == "equal":
        exact = np.where(low == high, low, np.nan)
        shared = np.unique(np.concatenate([exact[np.isfinite(exact)], values[np.isfinite(values)]]))
        # What is unknown is equal to nothing, not even to what is not published.
        mine, shown = (
            np.where(np.isfinite(x), np.searchsorted(shared, x), -other) for x, other in ((exact, 1), (values, 2))
        )
        return AttributeDistance(attribute.name, mine[people], shown[rows], None, None, equal=True)
    to_line = _ranked(theirs) if scale == "ranks" else _standardised(theirs)
    own = {"common": to_line, "moments": _standardised(numbers), "ranks": _ranked(numbers)}[scale]
    shown = -own(values) if reverse else own(values)
    ends = np.where(np.isnan(shown), -np.inf, shown), np.where(np.isnan(shown), np.inf, shown)
    return AttributeDistance(attribute.name, people, rows, (to_line(low), to_line(high)), ends)


def distance_of_regions(
    attribute: Attribute, known: Regions, person: Codes, published: Regions, row: Codes
) -> AttributeDistance:
    """Published sets of codes: values, intervals, sets, `*`; numbers standardised by the people's mean and deviation.

    Regions are truthful, so both sides have one scale: whoever lies in a region is at distance 0.
    """
    numbers = np.asarray(person, dtype=np.int64), np.asarray(row, dtype=np.int64)
    one_run = bool((known.runs == 1).all() and (published.runs == 1).all())
    entries = len(known) * len(published)
    small = attribute.codes**2 <= MOST_ENTRIES and entries <= MOST_ENTRIES
    if attribute.kind.ordered and (one_run or not small):
        # Too many codes for a table: a set of numbers then counts as the interval that holds it.
        to_line: Callable[[Floats], Floats] = _standardised(_middles(*_ends(known, attribute))[person])
        if attribute.kind is Kind.ORDINAL:
            whole = max(attribute.real - 1, 1)
            to_line = lambda places: places / whole  # noqa: E731 - as the one it stands for
        lines = [(to_line(low), to_line(high)) for low, high in (_ends(r, attribute) for r in (known, published))]
        return AttributeDistance(attribute.name, *numbers, lines[0], lines[1])
    singles = known.single(), published.single()
    if attribute.hierarchy is None and not attribute.kind.ordered and all((s >= 0).all() for s in singles):
        return AttributeDistance(attribute.name, singles[0][numbers[0]], singles[1][numbers[1]], None, None, equal=True)
    if not small:
        raise NotApplicable(
            f"{attribute.name}: {attribute.codes:,} values are too many to compare; leave it out of --known"
        )
    scale = _standard(_middles(*_ends(known, attribute))[person]) if attribute.kind.measured else (0.0, 1.0)
    return AttributeDistance(
        attribute.name, *numbers, None, None, _region_table(_code_table(attribute, scale), known, published)
    )


def _ends(regions: Regions, attribute: Attribute) -> tuple[Floats, Floats]:
    """The first and last position of each region; nan = only missing, infinite = the whole domain."""
    places = attribute.positions() if attribute.kind.measured else np.arange(attribute.codes, dtype=np.float64)
    first = regions.low[regions.start[:-1]].astype(np.int64)
    last = regions.high[regions.start[1:] - 1].astype(np.int64)
    lost = (first >= attribute.real) if attribute.missing else np.zeros(len(first), dtype=bool)
    low, high = places[first], places[np.minimum(last, max(attribute.real - 1, 0))]
    low, high = np.where(lost, np.nan, low), np.where(lost, np.nan, high)
    whole = regions.whole & (attribute.codes > 1)
    return np.where(whole, -np.inf, low), np.where(whole, np.inf, high)


def _middles(low: Floats, high: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return (low + high) / 2


def _standardised(sample: Floats) -> Callable[[Floats], Floats]:
    """Onto the line on which two of the sample are 1 apart on average."""
    middle, spread = _standard(sample)
    return lambda values: (values - middle) / spread / math.sqrt(2)


def _ranked(sample: Floats) -> Callable[[Floats], Floats]:
    """The same by ranks in the sample, which no monotone change of its numbers touches; ends without end stay."""
    order = np.sort(sample[np.isfinite(sample)])

    def rank(values: Floats) -> Floats:
        place = (np.searchsorted(order, values) + np.searchsorted(order, values, side="right")) / 2
        # Ranks are spread evenly: their variance is 1/12.
        return np.where(np.isfinite(values), (place / max(len(order), 1) - 0.5) * math.sqrt(6), values)

    return rank


def _standard(values: Floats) -> tuple[float, float]:
    """Mean and deviation of the finite values; a constant has deviation 1."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    spread = float(finite.std())
    return float(finite.mean()), spread if spread > 0 else 1.0


def _code_table(attribute: Attribute, scale: tuple[float, float]) -> Floats:
    """(codes, codes) contributions between single values; missing is 1 from all others."""
    codes, real = attribute.codes, attribute.real
    if attribute.kind.ordered:
        places = attribute.positions()[:real]
        places = (places - scale[0]) / scale[1] / math.sqrt(2) if attribute.kind.measured else places / max(real - 1, 1)
        inner = (places[:, None] - places[None, :]) ** 2
    elif attribute.hierarchy is not None:
        tree = attribute.hierarchy
        inner = np.ones((real, real))
        for level in range(tree.height - 1, -1, -1):
            node = np.asarray(tree.node[level])[:real]
            inner[node[:, None] == node[None, :]] = (level / tree.height) ** 2
    else:
        inner = 1.0 - np.eye(real)
    table = np.ones((codes, codes))
    table[:real, :real] = inner
    table[range(real, codes), range(real, codes)] = 0.0
    return table


def _region_table(table: Floats, known: Regions, published: Regions) -> Floats:
    """(known, published) the least contribution of any two members."""
    wide = np.stack([table[:, _members(published, r)].min(axis=1) for r in range(len(published))], axis=1)
    return np.stack([wide[_members(known, r)].min(axis=0) for r in range(len(known))])


def _members(regions: Regions, region: int) -> NDArray[np.int64]:
    return regions.members(region)

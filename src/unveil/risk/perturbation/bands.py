"""What was done to a column: which values of the original stand behind each value that it shows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, canonical
from unveil.data.regions import Regions

__all__ = ["Explanation", "Persons", "Shown", "class_bands", "code_bands", "nearest_values"]

EXPLAINED = 0.9  # of the rows in classes of several: those in a class of exactly the size that the bands give
TELLING = 0.1  # of the rows must lie in classes of several people: one person may be in any band
COLLAPSED = 0.7  # of the kinds of people are left as classes, at most, where averages were taken of several
SPARE = 0.1  # of the rows may be withheld or absent where bands are told by their counts alone
FEWEST_IN_BAND = 3  # rows a band on average: fewer follow any order of the values, true or not
WIDTHS = (2, 3, 4, 5, 6, 7, 10, 12, 15, 20, 25, 30, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000)

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Persons:
    """Who fits each cell, by cell and then by value."""

    cell: Ints  # (kinds,) growing
    code: Ints  # (kinds,) growing within a cell
    count: Ints  # (kinds,)

    @classmethod
    def of(cls, cell: Ints, code: Ints, count: Ints, codes: int) -> "Persons":
        """The same cell and code may occur several times."""
        key, number = np.unique(cell * codes + code, return_inverse=True)
        total = np.bincount(number.ravel(), weights=count, minlength=len(key)).astype(np.int64)
        return cls(key // codes, key % codes, total)

    def of_cell(self, cell: int) -> Ints:
        """(people,) their values, growing."""
        start, end = np.searchsorted(self.cell, (cell, cell + 1))
        return np.repeat(self.code[start:end], self.count[start:end])

    def by_band(self, node: Ints, cell: Ints, band: Ints) -> Ints:
        """(pairs,) people of each pair of a cell and a band."""
        bands = int(node.max()) + 1
        key, number = np.unique(self.cell * bands + node[self.code], return_inverse=True)
        wanted = cell * bands + band
        at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        return np.where(key[at] == wanted, np.bincount(number.ravel(), self.count)[at], 0).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """Classes of a release: rows that share the other columns' cells and one value of the doubtful column."""

    attribute: Attribute
    other: Ints  # (classes,) number of the other columns' cells
    value: Ints  # (classes,) the code that is shown
    rows: Ints  # (classes,)
    people: Persons  # who fits the other cells, by their true value
    everybody: Ints  # (codes,) all people by their true value
    absent: int = 0  # cells of the column that are withheld, and people who are not published


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The values that may stand behind the value that each class shows."""

    band: Ints  # (classes,) number in `regions`
    regions: Regions
    words: str


def class_bands(shown: Shown) -> Iterator[Explanation]:
    """Readings of a column whose values are means, medians or modes of classes, the likeliest first.

    A class's value lies in the band that it was taken in, and the class holds everybody in that band: so bands are
    right where the sizes of classes are those that the original gives, whatever the average was.
    """
    best, words, most = None, "", EXPLAINED
    for node, said in _partitions(shown.attribute):
        size = shown.people.by_band(node, shown.other, node[shown.value])
        told = (size > 1) | (shown.rows > 1)
        rows = int(shown.rows[told].sum())
        share = shown.rows[told & (size == shown.rows)].sum() / max(rows, 1)
        if rows >= TELLING * shown.rows.sum() and (share > most or (best is None and share == most)):
            best, words, most = node, said, share
    if best is not None:
        yield Explanation(best[shown.value], _nodes(best), f"an average of {words}")
    if not shown.attribute.kind.measured:
        return
    if len(shown.rows) <= COLLAPSED * len(shown.people.code):
        found = _runs(shown, shown.other)
        if found is not None:
            yield Explanation(*found, "an average of its class, in the order of the values")
    if len(np.unique(shown.value)) <= COLLAPSED * np.count_nonzero(shown.everybody):
        found = _runs(shown, None)
        if found is not None:
            yield Explanation(*found, "an average of neighbouring values")


def nearest_values(shown: Shown) -> Iterator[Explanation]:
    """Readings of numbers as the values nearest to them, but for the ends, which may stand for all that is beyond."""
    value, place = np.unique(shown.value, return_inverse=True)
    rows = np.bincount(place, weights=shown.rows).astype(np.int64)
    people = shown.everybody.copy()
    people[shown.attribute.real :] = 0
    held = np.flatnonzero(people)
    first, last = value[:1], value[-1:]
    low, high = value.copy(), value.copy()
    if len(value) < 3 or not np.array_equal(held[(held > first) & (held < last)], value[1:-1]):
        return
    low[0], high[-1] = min(held[0], value[0]), max(held[-1], value[-1])
    below = np.append(0, np.cumsum(people))
    spare = below[high + 1] - below[low] - rows
    if (spare >= 0).all() and spare.sum() <= min(shown.absent, SPARE * rows.sum()):
        ends = (low < value).any() or (high > value).any()
        words = "the value nearest to it" + (", the first and the last with all beyond" if ends else "")
        yield Explanation(place, Regions.intervals(len(people), low, high), words)


def code_bands(shown: Shown) -> Iterator[Explanation]:
    """Readings of a column whose values are numbers of bands (1, 2, 3, …) instead of values."""
    values, place = np.unique(shown.value, return_inverse=True)
    rows = np.bincount(place, weights=shown.rows).astype(np.int64)
    people = shown.everybody
    for node, said in _partitions(shown.attribute):
        size = np.bincount(node, weights=people).astype(np.int64)
        used = np.flatnonzero(size)
        if len(used) > len(values) > 2 and shown.attribute.kind.measured:  # the last band holds what is above it
            node = np.minimum(node, used[len(values) - 1])
            size, used = np.bincount(node, weights=people).astype(np.int64), used[: len(values)]
        orders = [(used, ""), (used[::-1], ", the last first")]
        if len(used) == len(values) and len(np.unique(rows)) == len(rows):  # each number by how often it occurs
            by_size = np.empty(len(values), dtype=np.int64)
            by_size[np.argsort(rows)] = used[np.argsort(size[used])]
            orders.append((by_size, ", in another order"))
        for order, turned in orders:
            if len(order) != len(values) or (rows > size[order]).any():
                continue
            if int((size[order] - rows).sum()) <= shown.absent:
                yield Explanation(order[place], _nodes(node), f"the number of {said}{turned}")
    fewer = 1 < len(values) < np.count_nonzero(people)
    if fewer and shown.attribute.kind.ordered and rows.sum() >= FEWEST_IN_BAND * len(values):
        edges = np.cumsum(rows)
        spare = int(people.sum() - edges[-1])
        ends = np.cumsum(people)  # a band holds whole values: it ends where one of them does
        next_end = ends[np.minimum(np.searchsorted(ends, edges), len(ends) - 1)]
        if 0 <= spare <= min(shown.absent, SPARE * edges[-1]) and (next_end - edges <= spare).all():
            low, high = _between(people, np.append(0, edges[:-1]), edges - 1 + spare)
            yield Explanation(place, Regions.intervals(len(people), low, high), "the number of its band")
    elif np.array_equal(rows, people[people > 0]):
        same = Regions.singles(len(people)).take(np.flatnonzero(people))
        yield Explanation(place, same, "another number for each value, in their order")
    elif np.array_equal(np.sort(rows), np.sort(people[people > 0])) and len(np.unique(rows)) == len(rows):
        meant = np.empty(len(values), dtype=np.int64)  # each value by how often it occurs
        meant[np.argsort(rows)] = np.flatnonzero(people)[np.argsort(people[people > 0])]
        yield Explanation(place, Regions.singles(len(people)).take(meant), "another number for each value")


def _partitions(attribute: Attribute) -> Iterator[tuple[Ints, str]]:
    """Bands of the domain, as (codes,) band numbers in the order of the values: the hierarchy's, then round ones."""
    if attribute.hierarchy is not None:
        for level in range(1, attribute.hierarchy.height):
            node = attribute.hierarchy.node[level].astype(np.int64)
            yield _ordered(node), f"its band at level {level} of the hierarchy"
    if not attribute.kind.measured or attribute.real < 3:
        return
    place = attribute.positions()[: attribute.real]
    for width in WIDTHS:
        if width >= np.ptp(place) + 1:
            break
        for offset in (0, 1):
            band = np.floor((place - offset) / width).astype(np.int64)
            for first in (band[0], band[0] + 1):  # a lowest band that the next may hold as well, as R's cut() does
                node = np.maximum(band, first)
                said = f"its band of {width}, {_example(attribute, place, node)}"
                yield _ordered(np.append(node, [node.max() + 1] * (attribute.codes - attribute.real))), said
                if place[0] == first * width + offset:
                    break


def _example(attribute: Attribute, place: NDArray[np.float64], band: Ints) -> str:
    middle = np.flatnonzero(band == band[len(band) // 2])
    return f"such as {canonical(place[middle[0]], attribute.kind)} to {canonical(place[middle[-1]], attribute.kind)}"


def _ordered(node: Ints) -> Ints:
    """The same bands, numbered in the order of the values."""
    _, first, number = np.unique(node, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[number.ravel()])


def _nodes(node: Ints) -> Regions:
    return Regions.pairs(len(node), node, np.arange(len(node)), int(node.max()) + 1)


def _between(people: Ints, first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """The codes of the people who stand first and last, all sorted by value."""
    upto = np.cumsum(people)
    return np.searchsorted(upto, first, side="right"), np.searchsorted(upto, last, side="right")


def _runs(shown: Shown, other: Ints | None) -> tuple[Ints, Regions] | None:
    """Each class as a run of people in the order of the values; None if its value cannot be an average of them.

    Where people are suppressed a class may be one of several runs: those whose mean is the value, rounded, or else all.
    """
    place = shown.attribute.positions()
    group = np.zeros(len(shown.value), dtype=np.int64) if other is None else other
    value, number = np.unique(np.stack([group, shown.value]), axis=1, return_inverse=True)
    number = number.ravel()
    rows = np.bincount(number, weights=shown.rows).astype(np.int64)
    low, high = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    for one in np.unique(value[0]).tolist():
        here = np.flatnonzero(value[0] == one)
        codes = np.arange(len(shown.everybody))
        people = np.repeat(codes, shown.everybody) if other is None else shown.people.of_cell(one)
        end = np.cumsum(rows[here])
        spare = len(people) - int(end[-1])
        if spare < 0 or not np.isfinite(place[value[1, here]]).all():
            return None
        sums = np.append(0.0, np.cumsum(np.nan_to_num(place[people])))
        for index, stop in zip(here.tolist(), end.tolist(), strict=True):
            size, shows = int(rows[index]), place[value[1, index]]
            start = np.arange(stop - size, stop - size + spare + 1)
            mean = (sums[start + size] - sums[start]) / size
            fits = start[np.abs(mean - shows) <= 0.5 + 1e-9]
            if not len(fits):
                return None
            low[index], high[index] = people[fits[0]], people[fits[-1] + size - 1]
    return number, Regions.intervals(len(shown.everybody), low, high)

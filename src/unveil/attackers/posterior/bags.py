"""A release as boosting sees it: the cells of each block as points, and groups whose values are shared out among them.

A *column* is a sensitive value or, beyond the values, a kind of withheld one (a region of several).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.regions import Regions
from unveil.data.release import Block, Release, example_rows, row_numbers
from unveil.kernels import boosting, matching

__all__ = ["Bag", "Bins", "Floats", "Ints", "Matched", "ValueColumns", "bags_of", "drawn_codes", "margins_of"]

MOST_BINS = 255
MOST_NUMBERS = 1 << 25  # of the histograms of one tree: attributes of large domains get fewer bins
IMPUTED = 2  # points for each row of a widened cell
MOST_IMPUTED = 16  # points of one entry
MARGIN_STEPS = 20
SMALL_GROUP = 4  # rows of a group whose equal cells are matched one by one: those have closed forms
SCALINGS = 200  # rounds of Sinkhorn's

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ValueColumns:
    """The sensitive values of a release by group, withheld ones as columns of their own."""

    values: int
    allowed: NDArray[np.bool_]  # (kinds, values)
    of_entry: Ints  # (entries of the sensitive block,) column
    start: Ints  # (groups + 1,)
    column: Ints  # (columns of groups,)
    count: Ints  # (columns of groups,)

    @classmethod
    def of(cls, release: Release, asked: int) -> "ValueColumns":
        """Of the attribute asked about."""
        own, regions, values = release.block_of(asked), release.regions[asked], release.attributes[asked].codes
        region = own.region(asked).astype(np.int64)
        wide = np.unique(region[regions.sizes[region] > 1])
        allowed = np.zeros((len(wide), values), dtype=bool)
        for kind, number in enumerate(wide.tolist()):
            allowed[kind, regions.members(number)] = True
        place = np.searchsorted(wide, region)
        column = np.where(regions.sizes[region] > 1, values + place, regions.single()[region]).astype(np.int64)
        width = values + len(wide)
        key, inverse = np.unique(own.group * width + column, return_inverse=True)
        count = np.bincount(inverse, weights=own.count).astype(np.int64)
        start = np.searchsorted(key // width, np.arange(release.groups + 1)).astype(np.int64)
        return cls(values, allowed, column, start, key % width, count)

    def of_groups(self, which: Ints) -> "ValueColumns":
        """Those of some groups, renumbered."""
        item, start = _gathered(self.start, which)
        return replace(self, start=start, column=self.column[item], count=self.count[item])

    @property
    def share(self) -> Floats:
        """(values,) in the release."""
        return self.shares(np.ones(len(self.start) - 1))

    def shares(self, times: Floats) -> Floats:
        """(values,) with each group counted this many times, and half a row more for each value."""
        width = self.values + len(self.allowed)
        rows = self.count * np.repeat(times, np.diff(self.start))
        total = np.bincount(self.column, weights=rows, minlength=width)
        even = self.allowed / np.maximum(self.allowed.sum(axis=1, keepdims=True), 1)
        share = total[: self.values] + total[self.values :] @ even + 0.5
        return np.asarray(share / share.sum())

    def weights(self, p: Floats) -> Floats:
        """(rows, columns) from (rows, values): a withheld value stands for any of its region."""
        return np.concatenate([p, p @ self.allowed.T], axis=1) if len(self.allowed) else p

    def in_values(self, count: Floats, p: Floats) -> Floats:
        """(rows, values) from (rows, columns): withheld ones by what is believed of the row."""
        found = count[:, : self.values]
        for kind, allowed in enumerate(self.allowed):
            some = p * allowed
            found = found + count[:, self.values + kind, None] * some / np.maximum(some.sum(axis=1), 1e-300)[:, None]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Codes of some attributes put into at most 255 bins each."""

    of_code: tuple[NDArray[np.uint8], ...]  # by attribute: (codes,)
    place: Ints  # (attributes + 1,) where each one's bins begin
    ordered: NDArray[np.bool_]  # (attributes,)

    @classmethod
    def of(cls, release: Release, attributes: tuple[int, ...], margins: dict[int, Floats], width: int) -> "Bins":
        """Codes that no cell tells apart share a bin: what trees made of them would be noise. Of too many, neighbours
        do in an order, and elsewhere rare ones. `width`: numbers kept of a bin.
        """
        most = int(np.clip(MOST_NUMBERS // max(64 * width * len(attributes), 1), 8, MOST_BINS))
        of_code, sizes, ordered = [], [], []
        for index in attributes:
            attribute = release.attributes[index]
            apart = _told_apart(release.regions[index])
            share = np.bincount(apart, weights=margins[index])
            codes = len(share)
            if codes <= most:
                number = np.arange(codes)
            elif attribute.kind.ordered:
                number = np.minimum((np.cumsum(share) - share / 2) * most, most - 1).astype(np.int64)
            else:
                rank = np.argsort(np.argsort(-share, kind="stable"), kind="stable")
                number = np.minimum(rank, most - 1)
            of_code.append(np.unique(number, return_inverse=True)[1][apart].astype(np.uint8))
            sizes.append(int(of_code[-1].max()) + 1)
            ordered.append(attribute.kind.ordered)
        place = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(tuple(of_code), place, np.array(ordered, dtype=np.bool_))

    def points(self, codes: Sequence[NDArray[np.integer]], rows: int) -> NDArray[np.uint8]:
        """(rows, attributes) the bins of some codes."""
        columns = [of_code[code] for of_code, code in zip(self.of_code, codes, strict=True)]
        return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), dtype=np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """Some groups of a bag, ready to be matched: exactly, or by scaling where there are too many states."""

    exact: matching.Groups | None
    exact_number: Ints  # (exact groups,)
    large: matching.Groups | None  # laid out alike; their own method is not used
    large_number: Ints

    @classmethod
    def of(cls, columns: ValueColumns, first: Ints, count: Ints, which: Ints, row: Ints, states: int) -> "Matched":
        """Some groups. `first` (groups + 1,), `count` (entries,): the cells of all; `row`: where their weights are."""
        parts: list[matching.Groups | None] = [None, None]
        numbers = [which[:0], which[:0]]
        todo = which
        if len(which):
            parts[0], numbers[0] = _laid_out(columns, first, count, which, row, states), which
            large = parts[0].row_start[1:] > parts[0].row_start[:-1]  # type: ignore[union-attr]
            if large.any():
                todo = which[~large]
                parts[1], numbers[1] = _laid_out(columns, first, count, which[large], row, 0), which[large]
                parts[0] = _laid_out(columns, first, count, todo, row, states) if len(todo) else None
                numbers[0] = todo
        return cls(parts[0], numbers[0], parts[1], numbers[1])

    def expected(self, weight: Floats, times: Floats) -> Floats:
        """(rows, columns) expected numbers, each group this many `times` (groups of the release,)."""
        found = np.zeros(weight.shape)
        if self.exact is not None:
            marginal = matching.marginals(self.exact, _lazy(self.exact, weight), np.uint64(0), np.empty(0, np.int32))
            _add(self.exact, marginal, times[self.exact_number], found)
        if self.large is not None:
            _add(self.large, self._scaled(weight)[0], times[self.large_number], found)
        return found

    def log_means(self, weight: Floats) -> Floats:
        """(groups that are matched,) the log of the mean over matchings; exact groups first."""
        found = [np.empty(len(self.exact_number)), np.empty(len(self.large_number))]
        if self.exact is not None:
            matching.log_permanent(self.exact, 0, len(found[0]), np.log(np.maximum(weight, 1e-300)), found[0])
            found[0] -= _log_ways(self.exact)
        if self.large is not None:
            found[1] = self._scaled(weight)[1] - _log_ways(self.large)
        return np.concatenate(found)

    def _scaled(self, weight: Floats) -> tuple[Floats, Floats]:
        groups = self.large
        assert groups is not None
        marginal, log_sum = np.empty(groups.pair_start[-1]), np.empty(len(self.large_number))
        boosting.scaled(*groups[:7], weight, SCALINGS, marginal, log_sum)
        return marginal, log_sum


def _log_ways(groups: matching.Groups) -> Floats:
    from scipy.special import gammaln

    return np.asarray(gammaln(np.add.reduceat(groups.cell_count, groups.start[:-1]) + 1.0))


def _add(groups: matching.Groups, marginal: Floats, times: Floats, out: Floats) -> None:
    shape = groups.start, groups.cell, groups.value_start, groups.value, groups.pair_start
    boosting.matched_counts(*shape, marginal, np.ascontiguousarray(times), out)


def _lazy(groups: matching.Groups, weight: Floats) -> matching.Weights:
    """Weights whose logarithms are taken of the cells that need them."""
    top = np.asfortranarray(weight).max(axis=1, keepdims=True)  # a few values a row: along columns is quicker
    scaled = np.ascontiguousarray(weight / np.maximum(top, 1e-300))
    np.maximum(scaled, 1e-30, out=scaled)  # nothing is impossible to a model

    def some(cells: NDArray[np.int32]) -> tuple[Floats, Floats]:
        mine = scaled[cells]
        return mine, np.log(mine)

    of_cell = np.arange(len(weight), dtype=np.int32)[:, None]
    return matching.Weights(of_cell, groups.cell[:, None], scaled, some)


def _laid_out(columns: ValueColumns, first: Ints, count: Ints, which: Ints, row: Ints, states: int) -> matching.Groups:
    entry, begin = _gathered(first, which)
    place, value_start = _gathered(columns.start, which)
    length = np.diff(begin)
    small = np.repeat(np.add.reduceat(count[entry], begin[:-1]) <= SMALL_GROUP, length)
    times = np.where(small, count[entry], 1)
    start = np.concatenate([[0], np.cumsum(times)])[begin]
    cells = np.repeat(row[entry], times), np.repeat(np.where(small, 1, count[entry]), times)
    return matching.lay_out(start, *cells, value_start, columns.column[place], columns.count[place], states=states)


def _told_apart(regions: Regions) -> Ints:
    """(codes,) a number, growing along the codes, that neighbours share who are in the same regions."""
    edge = np.zeros(regions.codes + 1, dtype=np.bool_)
    edge[regions.low], edge[regions.high + 1] = True, True
    edge[0] = False
    return np.cumsum(edge[:-1]).astype(np.int64)


def _gathered(start: Ints, which: Ints) -> tuple[Ints, Ints]:
    """The items of some groups, and where each group's start among them."""
    length = start[which + 1] - start[which]
    stop = np.cumsum(length)
    item = np.repeat(start[which] - stop + length, length) + np.arange(int(stop[-1]) if len(stop) else 0)
    return item, np.concatenate([[0], stop]).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Bag:
    """One block: entries (a cell of a group, without the attribute asked about) and the points they may stand for."""

    number: int  # of the block
    attributes: tuple[int, ...]
    linked: bool  # whether the sensitive value stands beside the cell
    first: Ints  # (groups + 1,) entries of each group
    group: Ints  # (entries,)
    count: Ints  # (entries,) rows
    sizes: Ints  # (groups,)
    of_entry: Ints  # (entries of the block,) which entry of the bag
    cells: NDArray[np.int32]  # (entries, attributes) regions
    held: Any  # (entries, columns) sparse: rows of each entry by column, where linked; else None
    bins: Bins
    points: NDArray[np.uint8]  # (points, attributes)
    point_start: Ints  # (entries + 1,)
    point: Ints  # of each entry in turn
    exact: bool  # every entry is one point

    def mean(self, p: Floats) -> Floats:
        """(entries, ...) from (points, ...)."""
        if self.exact:
            return p[self.point]
        length = np.diff(self.point_start)
        return np.asarray(np.add.reduceat(p[self.point], self.point_start[:-1], axis=0) / length[:, None])

    def of_groups(self, which: Ints) -> "Bag":
        """Some groups with their entries and points, all renumbered; to be learned from, not to be looked up in."""
        entry, first = _gathered(self.first, which)
        item, point_start = _gathered(self.point_start, entry)
        points, point = np.unique(self.point[item], return_inverse=True)
        return replace(
            self,
            first=first,
            group=np.repeat(np.arange(len(which)), np.diff(first)),
            count=self.count[entry],
            sizes=self.sizes[which],
            of_entry=self.of_entry[:0],
            cells=self.cells[entry],
            held=None if self.held is None else self.held[entry],
            points=np.ascontiguousarray(self.points[points]),
            point_start=point_start,
            point=point,
        )

    def spread(self) -> Any:
        """(points, entries) sparse: each entry's rows shared out evenly among its points."""
        from scipy.sparse import csr_array

        length = np.diff(self.point_start)
        entry = np.repeat(np.arange(len(length)), length)
        return csr_array((1 / length[entry], (self.point, entry)), shape=(len(self.points), len(length)))


def bags_of(release: Release, asked: int, columns: ValueColumns, random: np.random.Generator) -> list[Bag]:
    """Every block that says something of a person: those without the attribute asked about, and what is beside it."""
    margins = margins_of(release, asked)
    found = []
    for number, block in enumerate(release.blocks):
        attributes = tuple(i for i in block.attributes if i != asked)
        if attributes:
            found.append(_bag(release, number, block, attributes, asked, columns, margins, random))
    return found


def _bag(
    release: Release,
    number: int,
    block: Block,
    attributes: tuple[int, ...],
    asked: int,
    columns: ValueColumns,
    margins: dict[int, Floats],
    random: np.random.Generator,
) -> Bag:
    linked = asked in block.attributes
    regions = [block.region(i).astype(np.int64) for i in attributes]
    of_entry = row_numbers([block.group, *regions])
    example = example_rows(of_entry)
    group = block.group[example]
    count = np.bincount(of_entry, weights=block.count).astype(np.int64)
    cells = np.stack([region[example] for region in regions], axis=1).astype(np.int32)
    held = None
    if linked:
        from scipy.sparse import csr_array

        shape = len(count), columns.values + len(columns.allowed)
        held = csr_array((block.count.astype(np.float64), (of_entry, columns.of_entry)), shape=shape)
    wide = np.zeros(len(count), dtype=bool)
    for place, i in enumerate(attributes):
        wide |= release.regions[i].sizes[cells[:, place]] > 1
    times = np.where(wide, np.minimum(IMPUTED * count, MOST_IMPUTED), 1)
    entry = np.repeat(np.arange(len(count)), times)
    codes = [
        drawn_codes(release.regions[i], cells[entry, place], random.random(len(entry)), margins[i])
        for place, i in enumerate(attributes)
    ]
    bins = Bins.of(release, attributes, margins, 2 * columns.values)
    points = bins.points(codes, len(entry))
    distinct = row_numbers(list(points.T), len(entry))
    first = np.searchsorted(group, np.arange(release.groups + 1)).astype(np.int64)
    return Bag(
        number,
        attributes,
        linked,
        first,
        group,
        count,
        release.sizes,
        of_entry,
        cells,
        held,
        bins,
        np.ascontiguousarray(points[example_rows(distinct)]),
        np.concatenate([[0], np.cumsum(times)]).astype(np.int64),
        distinct,
        not wide.any(),
    )


def margins_of(release: Release, asked: int) -> dict[int, Floats]:
    """By attribute: (codes,) shares of the codes, those of widened cells by expectation and maximisation."""
    found = {}
    for block in release.blocks:
        for i in (i for i in block.attributes if i != asked):
            regions = release.regions[i]
            rows = np.bincount(block.region(i), weights=block.count, minlength=len(regions))
            share = np.full(regions.codes, 1 / regions.codes)
            owner = np.repeat(np.arange(len(regions)), regions.runs)
            for _ in range(MARGIN_STEPS if (regions.sizes > 1).any() else 1):
                times = (rows / np.maximum(regions.totals(share), 1e-300))[owner]
                change = np.zeros(regions.codes + 1)
                np.add.at(change, regions.low, times)
                np.add.at(change, regions.high + 1, -times)
                share = np.maximum(share * np.cumsum(change)[:-1], 1e-9)
                share /= share.sum()
            found[i] = share
    return found


def drawn_codes(regions: Regions, which: NDArray[np.integer], u: Floats, share: Floats) -> Ints:
    """A code of each region, by the shares of codes: the u-th part of the way through the region."""
    below = np.concatenate([[0.0], np.cumsum(share)])
    run = below[regions.high + 1] - below[regions.low]
    total = np.add.reduceat(run, regions.start[:-1])
    left = u * total[which]
    place = regions.start[which]
    last = regions.start[which + 1] - 1
    for _ in range(int(regions.runs.max(initial=1)) - 1):
        beyond = (place < last) & (left >= run[place])
        left = np.where(beyond, left - run[place], left)
        place = place + beyond
    low, high = regions.low[place].astype(np.int64), regions.high[place].astype(np.int64)
    code = np.searchsorted(below, below[low] + left, side="right") - 1
    return np.asarray(np.clip(code, low, high))

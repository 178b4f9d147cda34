"""Regions: the sets of codes that published cells may stand for, stored as runs of neighbouring codes; their widths."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.data.attribute import Attribute
from unveil.errors import ReleaseError

__all__ = ["Regions", "hierarchy_width", "node_height", "rank_sequences", "set_width"]

Number = TypeVar("Number", bound=np.number[Any])


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Distinct sets of codes of one attribute. A value is one run, an interval is one run, a set a few."""

    codes: int
    start: NDArray[np.int64]  # (regions + 1,) where each region's runs begin
    low: NDArray[np.int32]  # (runs,) first code of a run
    high: NDArray[np.int32]  # (runs,) last code of a run, included

    def __post_init__(self) -> None:
        start, low, high = self.start, self.low, self.high
        if not len(start) or start[0] != 0 or not start[-1] == len(low) == len(high) or (np.diff(start) < 1).any():
            raise ReleaseError("a region has no codes")
        inner = np.ones(len(low), dtype=bool)
        inner[start[:-1]] = False  # a run that continues a region lies beyond the run before, with a gap
        gap = low[1:] > high[:-1] + 1
        if (low > high).any() or (low < 0).any() or (high >= self.codes).any() or not gap[inner[1:]].all():
            raise ReleaseError("the runs of a region are not ordered codes of the domain")
        for array in (start, low, high):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.start) - 1

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Regions)
            and self.codes == other.codes
            and np.array_equal(self.start, other.start)
            and np.array_equal(self.low, other.low)
            and np.array_equal(self.high, other.high)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays

    @classmethod
    def singles(cls, codes: int) -> "Regions":
        """Region i is the value i."""
        each = np.arange(codes, dtype=np.int32)
        return cls(codes=codes, start=np.arange(codes + 1, dtype=np.int64), low=each, high=each.copy())

    @classmethod
    def intervals(cls, codes: int, low: ArrayLike, high: ArrayLike) -> "Regions":
        """One run each."""
        lows = np.array(low, dtype=np.int32)
        return cls(
            codes=codes, start=np.arange(len(lows) + 1, dtype=np.int64), low=lows, high=np.array(high, dtype=np.int32)
        )

    @classmethod
    def sets(cls, codes: int, members: Sequence[ArrayLike]) -> "Regions":
        """Any sets of codes."""
        sizes = [np.asarray(m).size for m in members]
        owner = np.repeat(np.arange(len(members), dtype=np.int64), sizes)
        code = (
            np.concatenate([np.asarray(m, dtype=np.int64).ravel() for m in members])
            if members
            else np.empty(0, np.int64)
        )
        return cls.pairs(codes, owner, code, len(members))

    @classmethod
    def pairs(cls, codes: int, owner: NDArray[np.integer], code: NDArray[np.integer], count: int) -> "Regions":
        """Sets given as (region, code) pairs in any order, repetition allowed."""
        if len(code) and not 0 <= code.min() <= code.max() < codes:
            raise ReleaseError("a region has codes outside the domain")
        key = np.asarray(owner, dtype=np.int64) * codes + np.asarray(code, dtype=np.int64)
        if not (key[1:] > key[:-1]).all():  # mostly they come in order
            key = np.unique(key)
        owner, code = key // max(codes, 1), key % max(codes, 1)
        begins = np.ones(len(key), dtype=bool)
        begins[1:] = (owner[1:] != owner[:-1]) | (code[1:] != code[:-1] + 1)
        first = np.flatnonzero(begins)
        last = np.append(first[1:], len(key))[: len(first)] - 1
        start = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(owner[first], minlength=count), out=start[1:])
        return cls(codes=codes, start=start, low=code[first].astype(np.int32), high=code[last].astype(np.int32))

    @property
    def runs(self) -> NDArray[np.int64]:
        """How many runs each region has."""
        return np.diff(self.start)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many codes each region holds."""
        widths = (self.high - self.low + 1).astype(np.int64)
        return np.add.reduceat(widths, self.start[:-1]) if len(self) else widths

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Which regions are the whole domain, `*`."""
        return np.asarray(self.sizes == self.codes)

    def single(self) -> NDArray[np.int64]:
        """The value of each one-value region, -1 for wider ones."""
        first = self.low[self.start[:-1]].astype(np.int64)
        return np.where(self.sizes == 1, first, -1)

    def totals(self, weight: NDArray[Number]) -> NDArray[Number]:
        """Sum of a per-code weight (codes, ...) over each region: cost is the number of runs, not of codes."""
        sums = np.zeros((self.codes + 1, *weight.shape[1:]), dtype=weight.dtype)
        np.cumsum(weight, axis=0, out=sums[1:])
        if not len(self):
            return sums[:0]
        return np.asarray(np.add.reduceat(sums[self.high + 1] - sums[self.low], self.start[:-1], axis=0))

    def holds(self, region: NDArray[np.integer], code: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each code lies in the region beside it."""
        inside = np.zeros(len(region), dtype=bool)
        first, runs = self.start[region], self.runs[region]
        for step in range(int(runs.max(initial=0))):
            alive = np.flatnonzero(runs > step)
            run = first[alive] + step
            inside[alive] |= (self.low[run] <= code[alive]) & (code[alive] <= self.high[run])
        return inside

    def members(self, region: int) -> NDArray[np.int64]:
        """The codes of one region."""
        runs = range(int(self.start[region]), int(self.start[region + 1]))
        return np.concatenate([np.arange(self.low[r], self.high[r] + 1, dtype=np.int64) for r in runs])

    def listed(self, region: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every code of these regions: which of them it is in, and the code; in this order."""
        kept = self.take(region)
        length = kept.high.astype(np.int64) - kept.low + 1
        owner = np.repeat(np.repeat(np.arange(len(region)), kept.runs), length)
        first = np.concatenate([[0], np.cumsum(length)])
        return owner, np.repeat(kept.low - first[:-1], length) + np.arange(first[-1])

    def with_whole(self) -> "Regions":
        """The same, and `*` as the last."""
        start, low, high = np.append(self.start, self.start[-1] + 1), np.append(self.low, 0), np.append(self.high, 0)
        high[-1] = self.codes - 1
        return Regions(self.codes, start, low, high)

    def take(self, region: NDArray[np.integer]) -> "Regions":
        """These regions in this order."""
        runs = self.runs[region]
        start = np.zeros(len(region) + 1, dtype=np.int64)
        np.cumsum(runs, out=start[1:])
        run = np.repeat(self.start[region] - start[:-1], runs) + np.arange(start[-1])
        return Regions(codes=self.codes, start=start, low=self.low[run], high=self.high[run])

    def canonical(self, used: NDArray[np.integer]) -> tuple["Regions", NDArray[np.int64]]:
        """The distinct used regions in the order of their runs, and the new number of each old region (-1 = unused)."""
        keep = np.zeros(len(self), dtype=bool)
        keep[used] = True
        old = np.flatnonzero(keep)
        kept = self.take(old)
        rank = rank_sequences(kept.start, kept.low.astype(np.int64) * self.codes + kept.high)
        _, first = np.unique(rank, return_index=True)
        number = np.full(len(self), -1, dtype=np.int64)
        number[old] = rank
        return kept.take(first), number


def rank_sequences(start: NDArray[np.int64], item: NDArray[np.int64]) -> NDArray[np.int64]:
    """Dense rank of ragged sequences of non-negative integers, in dictionary order; equal sequences share a rank.

    Cost: only sequences still tied are looked at again, one item further.
    """
    length = np.diff(start)
    rank = np.zeros(len(length), dtype=np.int64)  # position of the first of the tied ones
    tied = np.arange(len(length))
    step = 0
    while len(tied):
        more = length[tied] > step
        key = np.full(len(tied), -1, dtype=np.int64)
        key[more] = item[start[:-1][tied[more]] + step]
        order = np.lexsort((key, rank[tied]))
        tied, key, more = tied[order], key[order], more[order]
        old = rank[tied]
        fresh = np.ones(len(tied), dtype=bool)
        fresh[1:] = (old[1:] != old[:-1]) | (key[1:] != key[:-1])
        class_first = np.maximum.accumulate(np.where(fresh, np.arange(len(tied)), 0))
        block_first = np.maximum.accumulate(np.where(np.append(True, old[1:] != old[:-1]), np.arange(len(tied)), 0))
        rank[tied] = old + class_first - block_first
        alone = fresh & np.append(fresh[1:], True)
        tied = tied[more & ~alone]
        step += 1
    return np.unique(rank, return_inverse=True)[1].astype(np.int64)


def set_width(regions: Regions, attribute: Attribute) -> NDArray[np.float64]:
    """(regions,) share of the domain a region covers."""
    sizes = regions.sizes
    if not attribute.kind.measured:
        return np.where(sizes > 1, sizes / attribute.codes, 0.0)
    place = attribute.positions()
    first, last = regions.low[regions.start[:-1]], regions.high[regions.start[1:] - 1]
    span = float(np.ptp(place[: attribute.real])) if attribute.real else 0.0
    width = (place[last] - place[first]) / span if span > 0 else np.zeros(len(regions))
    holds_missing = (last == attribute.codes - 1) & attribute.missing
    return np.where(sizes <= 1, 0.0, np.where(holds_missing, 1.0, width))


def hierarchy_width(regions: Regions, attribute: Attribute) -> NDArray[np.float64]:
    """(regions,) leaves under the lowest node that holds the region, over all leaves."""
    if attribute.hierarchy is None or attribute.kind.measured:
        return set_width(regions, attribute)
    return _lowest_node(regions, attribute)[1]


def node_height(regions: Regions, attribute: Attribute) -> NDArray[np.float64]:
    """(regions,) the lowest level at which one node holds the region; 0 for a value, 1 if there is no hierarchy."""
    if attribute.hierarchy is None:
        return (regions.sizes > 1).astype(np.float64)
    return _lowest_node(regions, attribute)[0]


def _lowest_node(regions: Regions, attribute: Attribute) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(regions,) level of the lowest node that holds each region, and its share of the leaves."""
    assert attribute.hierarchy is not None
    first = regions.low[regions.start[:-1]]
    sizes = regions.sizes
    level_of, width = np.full(len(regions), float(attribute.hierarchy.height)), np.ones(len(regions))
    for level in range(attribute.hierarchy.height - 1, -1, -1):
        node = attribute.hierarchy.node[level]
        leaves = np.bincount(node)
        inside = np.zeros(len(regions), dtype=np.int64)
        for number in np.unique(node[first]):
            these = np.flatnonzero(node[first] == number)
            inside[these] = regions.take(these).totals((node == number).astype(np.int64))
        level_of = np.where(inside == sizes, float(level), level_of)
        width = np.where(inside == sizes, leaves[node[first]] / attribute.codes, width)
    return np.where(sizes <= 1, 0.0, level_of), np.where(sizes <= 1, 0.0, width)

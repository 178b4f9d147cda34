"""Tuples that a release could have been made of, counted without listing them: fake tuples, matching groups.

A tuple matches a group if every block of the group holds a cell that fits it; one that matches a group and is not in
the original is fake (Li 2010, section 4.4). A group stands for the cross product of what its blocks hold; a choice is
one factor of all these products, the atoms that each group offers, an atom being a set of values that no group tells
apart. Counting goes choice by choice over the *sets of groups* that are left, equal sets taken as one with the number
of tuples that lead to them: the layers of a decision diagram. Numbers are kept as remainders, so that billions are
exact.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Targets
from unveil.data.release import Block, Release, row_numbers
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.kernels.matching_groups import narrow, tally
from unveil.risk.membership.drawing import drawn_tuples
from unveil.risk.membership.matching import matching_groups

__all__ = [
    "BANDS",
    "FakeTuples",
    "GroupChoice",
    "Remainders",
    "TupleCount",
    "band_of",
    "choices_of",
    "count_tuples",
    "fake_tuples",
]

BANDS = ("at most 10", "11 to 20", "over 20")  # of matching groups, as in Li 2010, figure 4.7
MOST_PAIRS = 300_000_000  # pairs of a group and an atom that are counted: a few seconds
DRAWS = 20_000
MOST_LISTED = 4_000_000  # pairs of a group and an atom that are listed
PRIMES = (2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543, 2147483497)


@dataclass(frozen=True, slots=True, eq=False)
class GroupChoice:
    """One factor: the atoms of each group, each once."""

    start: NDArray[np.int64]  # (groups + 1,)
    atom: NDArray[np.int32]  # (entries,) growing inside a group
    weight: NDArray[np.int64] | NDArray[np.object_]  # (atoms,) how many values an atom stands for; as large as need be

    @property
    def totals(self) -> NDArray[np.object_]:
        """(groups,) how many values each group offers, in whole numbers of any size."""
        return np.asarray(np.add.reduceat(self.weight.astype(object)[self.atom], self.start[:-1]), dtype=object)

    @property
    def spread(self) -> float:
        """How many groups offer what a group offers, on average: small leaves few groups."""
        return float((np.bincount(self.atom).astype(float)[self.atom]).mean())

    @classmethod
    def of_pairs(
        cls,
        owner: NDArray[np.integer],
        atom: NDArray[np.integer],
        owners: int,
        weight: NDArray[np.int64] | NDArray[np.object_],
    ) -> "GroupChoice":
        """From (group, atom) pairs in any order, repetition allowed."""
        key = np.unique(np.asarray(owner, dtype=np.int64) * len(weight) + atom)
        start = np.zeros(owners + 1, dtype=np.int64)
        np.cumsum(np.bincount(key // len(weight), minlength=owners), out=start[1:])
        return cls(start, (key % len(weight)).astype(np.int32), weight)


@dataclass(frozen=True, slots=True)
class Remainders:
    """Whole numbers of any size by their remainders: sums and products stay small, and all is exact below a bound."""

    primes: tuple[int, ...]

    @classmethod
    def up_to(cls, bound: int) -> "Remainders":
        """Enough primes for numbers up to a bound."""
        for count in range(1, len(PRIMES) + 1):
            if prod(PRIMES[:count]) > bound:
                return cls(PRIMES[:count])
        raise NotApplicable(f"over 10^{len(str(bound)) - 1} tuples can be made of the release: too many to count")

    @property
    def prime(self) -> NDArray[np.int64]:
        """The primes as a kernel takes them."""
        return np.array(self.primes, dtype=np.int64)

    def of(self, numbers: NDArray[np.int64] | NDArray[np.object_]) -> NDArray[np.int64]:
        """(numbers, primes)"""
        return np.stack([(numbers % p).astype(np.int64) for p in self.primes], axis=1)

    def whole(self, remainders: NDArray[np.int64]) -> list[int]:
        """The numbers themselves, by the Chinese remainder theorem."""
        found = [0] * len(remainders)
        modulus = 1
        for place, p in enumerate(self.primes):
            inverse = pow(modulus, -1, p)
            column = remainders[:, place].tolist()
            found = [n + modulus * ((r - n) * inverse % p) for n, r in zip(found, column, strict=True)]
            modulus *= p
        return found


def choices_of(release: Release, attributes: Collection[int]) -> list[GroupChoice]:
    """The factors of every group, for tuples of these attributes; the most telling first.

    Cost: the published cells, and for wide ones the pairs of a group and a piece of the domain; NotApplicable beyond.
    """
    found = []
    for block in release.blocks:
        mine = [i for i in block.attributes if i in attributes]
        wide = [i for i in mine if (release.regions[i].sizes > 1).any()]
        # One cell for the whole group multiplies with whatever else the group holds: a factor of its own.
        apart = [i for i in wide if len(mine) > 1 and _equal_in_groups(block, i)]
        rest = [i for i in mine if i not in apart]
        found += [_of_values(release, block, i) for i in apart]
        if not any(i in wide for i in rest):
            found += [_of_cells(block, rest, release.groups)] if rest else []
        elif len(rest) == 1:
            found.append(_of_values(release, block, rest[0]))
        else:
            found.append(_of_boxes(release, block, rest))
    return sorted(found, key=lambda choice: choice.spread)


def _equal_in_groups(block: Block, attribute: int) -> bool:
    region = block.region(attribute)
    return bool((region == np.repeat(region[block.start[:-1]], np.diff(block.start))).all())


def _of_cells(block: Block, attributes: Sequence[int], groups: int) -> GroupChoice:
    """Single values: an atom is a cell."""
    number = row_numbers([block.region(i) for i in attributes])
    return GroupChoice.of_pairs(block.group, number, groups, np.ones(int(number.max()) + 1, dtype=np.int64))


def _of_values(release: Release, block: Block, attribute: int) -> GroupChoice:
    """One widened attribute: an atom is a run of codes between two neighbouring ends of regions."""
    return _runs(release, attribute, block.group, block.region(attribute), release.groups)


def _runs(
    release: Release, attribute: int, owner: NDArray[np.int64], region: NDArray[np.integer], owners: int
) -> GroupChoice:
    regions = release.regions[attribute]
    ends = np.unique(np.concatenate([regions.low, regions.high + 1]))
    key = np.unique(owner * len(regions) + region)
    owner, region = key // len(regions), key % len(regions)
    first, last = np.searchsorted(ends, regions.low), np.searchsorted(ends, regions.high + 1)
    runs = regions.runs[region]
    step = np.arange(runs.sum()) - np.repeat(np.cumsum(runs) - runs, runs)
    run, owner = np.repeat(regions.start[region], runs) + step, np.repeat(owner, runs)
    length = (last - first)[run]
    _check_pairs(int(length.sum()))
    atom = np.repeat(first[run], length) + np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return GroupChoice.of_pairs(np.repeat(owner, length), atom, owners, np.diff(ends).astype(np.int64))


def _of_boxes(release: Release, block: Block, attributes: Sequence[int]) -> GroupChoice:
    """Several attributes, some widened: an atom is all tuples of the block that lie in the same of its boxes."""
    number = row_numbers([block.region(i) for i in attributes])
    first = np.unique(number, return_index=True)[1]
    boxes = len(first)
    box = np.arange(boxes, dtype=np.int64)
    sides = [_runs(release, i, box, block.region(i)[first], boxes) for i in attributes]
    sides.sort(key=lambda side: side.spread)
    bound = int(np.multiply.reduce([side.totals for side in sides]).sum())
    remainders = Remainders.up_to(bound)
    start, held = np.array([0, boxes], dtype=np.int64), box.astype(np.int32)
    times = np.ones((1, len(remainders.primes)), dtype=np.int64)
    none = np.empty((0, len(remainders.primes)), dtype=np.int64)
    left = MOST_LISTED
    for side in sides:
        weight = remainders.of(side.weight)
        start, held, times, met = narrow(
            start, held, times, side.start, side.atom, len(weight), weight, remainders.prime, none, left
        )
        left -= met
        _check_pairs(MOST_LISTED - left)
    atom_of_pair = np.repeat(np.arange(len(start) - 1), np.diff(start))
    in_box = GroupChoice.of_pairs(held, atom_of_pair, boxes, np.ones(len(start) - 1, dtype=np.int64))
    key = np.unique(block.group * boxes + number)
    group, of_box = key // boxes, key % boxes
    length = np.diff(in_box.start)[of_box]
    _check_pairs(int(length.sum()))
    place = np.repeat(in_box.start[of_box] - np.cumsum(length) + length, length) + np.arange(length.sum())
    weights = np.array([*remainders.whole(times), 0], dtype=object)[:-1]
    return GroupChoice.of_pairs(np.repeat(group, length), in_box.atom[place], release.groups, weights)


def _check_pairs(pairs: int) -> None:
    if pairs > MOST_LISTED:
        raise NotApplicable("the release's regions overlap in too many ways to count its tuples one set at a time")


@dataclass(frozen=True, slots=True)
class TupleCount:
    """A whole number of any size; low = value = high if it is exact, else a 95% interval."""

    value: int
    low: int
    high: int

    @classmethod
    def sure(cls, value: int) -> "TupleCount":
        """A number without error."""
        return cls(value, value, value)


@dataclass(frozen=True, slots=True)
class FakeTuples:
    """Tuples that match a group and are not in the original, beside those that are."""

    fake: TupleCount
    bands: tuple[TupleCount, ...]  # fake tuples by how many groups they match
    original: int  # distinct tuples of the original that match a group
    original_bands: tuple[int, ...]
    rows: int  # rows of the original
    row_bands: tuple[int, ...]  # rows by how many groups they match
    unmatched: int  # rows that match none: the release is not of this table, or not true to it
    exact: bool  # counted, not drawn


def band_of(degree: NDArray[np.integer]) -> NDArray[np.int64]:
    """The band of each number of matching groups."""
    return np.asarray(np.digitize(degree, [10, 20], right=True))


def count_tuples(release: Release, attributes: Collection[int], *, most: int = MOST_PAIRS) -> dict[int, int]:
    """By number of matching groups: how many distinct tuples of these attributes match that many. Exact.

    Cost: the pairs of a group in a set and an atom it offers, over all sets met; NotApplicable beyond `most`.
    """
    choices = choices_of(release, attributes)
    if not choices:
        raise UsageError("a tuple needs at least one attribute")
    totals = [choice.totals for choice in choices]
    remainders = Remainders.up_to(int(np.multiply.reduce(totals).sum()))
    prime, primes = remainders.prime, len(remainders.primes)
    start, held = np.array([0, release.groups], dtype=np.int64), np.arange(release.groups, dtype=np.int32)
    times = np.ones((1, primes), dtype=np.int64)
    alone = 0
    for place, choice in enumerate(choices):
        weight = remainders.of(choice.weight)
        if place == len(choices) - 1:
            _check_work(int(np.diff(choice.start)[held].sum()), most)
            found = tally(start, held, times, choice.start, choice.atom, len(weight), weight, prime, release.groups)
            break
        singles = np.zeros((release.groups, primes), dtype=np.int64)
        start, held, times, met = narrow(
            start, held, times, choice.start, choice.atom, len(weight), weight, prime, singles, most
        )
        _check_work(met, most)
        most -= met
        # One group left: whatever is chosen later matches that group and no other.
        used = np.flatnonzero(singles.any(axis=1))
        ways = np.multiply.reduce([total[used] for total in totals[place + 1 :]])
        alone += sum(n * w for n, w in zip(remainders.whole(singles[used]), ways, strict=True))
    tuples = dict(enumerate(remainders.whole(found)))
    tuples[1] = tuples.get(1, 0) + alone
    return {degree: count for degree, count in tuples.items() if count}


def _check_work(pairs: int, most: int) -> None:
    if pairs > most:
        raise NotApplicable("the groups of the release overlap in too many ways to count its tuples exactly")


def fake_tuples(
    release: Release,
    original: Targets,
    *,
    engine: Engine | None = None,
    most: int = MOST_PAIRS,
    draws: int = DRAWS,
) -> FakeTuples:
    """Fake tuples of the attributes that `original` knows, of which every row of the original must be known exactly.

    Exact where `count_tuples` is; beyond that estimated from drawn tuples, with a 95% interval.
    """
    if any((known.regions.sizes > 1).any() for known in original.known.values()):
        raise UsageError("fake tuples need the original's own values, not coarser ones")
    distinct, number = original.distinct()
    degree = matching_groups(release, distinct).degree
    there = degree > 0
    own = np.bincount(band_of(degree[there]), minlength=len(BANDS)).tolist()
    of_row = degree[number]
    rows = np.bincount(band_of(of_row[of_row > 0]), minlength=len(BANDS)).tolist()
    try:
        bands = _exact_bands(count_tuples(release, original.known, most=most), own)
        fake, exact = TupleCount.sure(sum(band.value for band in bands)), True
    except NotApplicable:
        fake, bands = _drawn_bands(release, original, own, Engine(seed=0) if engine is None else engine, draws)
        exact = False
    return FakeTuples(
        fake, bands, int(there.sum()), tuple(own), original.count, tuple(rows), int((of_row == 0).sum()), exact
    )


def _exact_bands(tuples: Mapping[int, int], own: list[int]) -> tuple[TupleCount, ...]:
    found = [0] * len(BANDS)
    for degree, count in tuples.items():
        found[int(band_of(np.array([degree]))[0])] += count
    return tuple(TupleCount.sure(count - mine) for count, mine in zip(found, own, strict=True))


def _drawn_bands(
    release: Release, original: Targets, own: list[int], engine: Engine, draws: int
) -> tuple[TupleCount, tuple[TupleCount, ...]]:
    """Karp and Luby 1983: a tuple drawn with the cells it is made of counts one over the ways to make it."""
    tuples, volume = drawn_tuples(release, tuple(original.known), draws, engine.named("fake_tuples").generator())
    found = matching_groups(release, tuples)
    share = 1 / found.ways
    band = band_of(found.degree)
    parts = [np.where(band == b, share, 0.0) for b in range(len(BANDS))]
    return _scaled(share, volume, sum(own)), tuple(_scaled(p, volume, n) for p, n in zip(parts, own, strict=True))


def _scaled(share: NDArray[np.float64], volume: int, own: int) -> TupleCount:
    """The drawn share of a volume that no float need hold, less the original's own tuples."""
    mean, half = float(share.mean()), 1.96 * float(share.std(ddof=1)) / np.sqrt(len(share))
    if not half:  # all alike, or none drawn: the rule of three
        half = 3.0 / len(share)
    ends = [max(int(volume * int(max(part, 0.0) * 2**60) >> 60) - own, 0) for part in (mean, mean - half, mean + half)]
    return TupleCount(*ends)

"""Tuples that a release could have been made of, counted without listing them: fake tuples, matching groups.

A tuple matches a group if every block of the group holds a cell that fits it; one that matches a group and is not in
the original is fake (Li 2010, section 4.4). Counting goes choice by choice over the *sets of groups* that are left,
equal sets taken as one with the number of tuples that lead to them: the layers of a decision diagram. Numbers are held
by their remainders, so that billions are exact.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Targets
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.kernels.matching_groups import narrow, tally
from unveil.risk.membership.choices import Remainders, choices_of
from unveil.risk.membership.drawing import drawn_tuples
from unveil.risk.membership.matching import matching_groups

__all__ = ["BANDS", "Counted", "FakeTuples", "band_of", "count_tuples", "fake_tuples"]

BANDS = ("at most 10", "11 to 20", "over 20")  # of matching groups, as in Li 2010, figure 4.7
MOST_PAIRS = 300_000_000  # pairs of a group and an atom: a few seconds
DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class Counted:
    """A whole number of any size; low = value = high if it is exact, else a 95% interval."""

    value: int
    low: int
    high: int

    @classmethod
    def sure(cls, value: int) -> "Counted":
        """A number without error."""
        return cls(value, value, value)


@dataclass(frozen=True, slots=True)
class FakeTuples:
    """Tuples that match a group and are not in the original, beside those that are."""

    fake: Counted
    bands: tuple[Counted, ...]  # fake tuples by how many groups they match
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
    """By number of matching groups: how many distinct tuples of these attributes match so many. Exact.

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
        fake, exact = Counted.sure(sum(band.value for band in bands)), True
    except NotApplicable:
        fake, bands = _drawn_bands(release, original, own, Engine(seed=0) if engine is None else engine, draws)
        exact = False
    return FakeTuples(
        fake, bands, int(there.sum()), tuple(own), original.count, tuple(rows), int((of_row == 0).sum()), exact
    )


def _exact_bands(tuples: Mapping[int, int], own: list[int]) -> tuple[Counted, ...]:
    found = [0] * len(BANDS)
    for degree, count in tuples.items():
        found[int(band_of(np.array([degree]))[0])] += count
    return tuple(Counted.sure(count - mine) for count, mine in zip(found, own, strict=True))


def _drawn_bands(
    release: Release, original: Targets, own: list[int], engine: Engine, draws: int
) -> tuple[Counted, tuple[Counted, ...]]:
    """Karp and Luby 1983: a tuple drawn with the cells it is made of counts one over the ways to make it."""
    tuples, volume = drawn_tuples(release, tuple(original.known), draws, engine.named("fake_tuples").generator())
    found = matching_groups(release, tuples)
    share = 1 / found.ways
    band = band_of(found.degree)
    parts = [np.where(band == b, share, 0.0) for b in range(len(BANDS))]
    return _scaled(share, volume, sum(own)), tuple(_scaled(p, volume, n) for p, n in zip(parts, own, strict=True))


def _scaled(share: NDArray[np.float64], volume: int, own: int) -> Counted:
    """The drawn share of a volume that no float need hold, less the original's own tuples."""
    mean, half = float(share.mean()), 1.96 * float(share.std(ddof=1)) / np.sqrt(len(share))
    if not half:  # all alike, or none drawn: the rule of three
        half = 3.0 / len(share)
    ends = [max(int(volume * int(max(part, 0.0) * 2**60) >> 60) - own, 0) for part in (mean, mean - half, mean + half)]
    return Counted(*ends)

"""People drawn from what a release shows: tuples it allows, members by random linking, and people who are not in it."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Known, Targets
from unveil.data.regions import Regions
from unveil.data.release import Release, row_numbers

__all__ = ["drawn_members", "drawn_outsiders", "drawn_tuples", "published_shares"]


def drawn_tuples(
    release: Release, attributes: Sequence[int], draws: int, random: np.random.Generator
) -> tuple[Targets, int]:
    """Tuples drawn with the cells they are made of, all ways alike; and how many ways there are."""
    ways: list[int] = [1] * release.groups
    parts = []
    for block in release.blocks:
        mine = [i for i in block.attributes if i in attributes]
        if not mine:
            continue
        number = row_numbers([block.group, *(block.region(i) for i in mine)])
        first = np.unique(number, return_index=True)[1]  # cells that differ only in what is not asked are one
        group = block.group[first]
        sizes = [release.regions[i].sizes[block.region(i)[first]].astype(object) for i in mine]
        volume = np.multiply.reduce(sizes)
        start = np.searchsorted(group, np.arange(release.groups + 1))
        total = np.add.reduceat(volume, start[:-1])
        ways = [a * b for a, b in zip(ways, total, strict=True)]
        share = np.array([v / total[g] for v, g in zip(volume, group, strict=True)])
        parts.append((block, mine, first, start, share))
    every = sum(ways)
    chosen = random.choice(release.groups, draws, p=_normal([w / every for w in ways]))
    known = {}
    for block, mine, first, start, share in parts:
        entry = first[_within(start, share, chosen, random)]
        for i in mine:
            flat = np.ones(release.attributes[i].codes)
            code = _values(release.regions[i], block.region(i)[entry], flat, random)
            known[i] = Known.exactly(release.attributes[i], code)
    return Targets(-1, {i: known[i] for i in attributes}, draws), every


def drawn_members(
    release: Release,
    shares: Mapping[int, NDArray[np.float64]],
    draws: int,
    random: np.random.Generator,
) -> Targets:
    """Rows of the release, blocks linked at random inside a group; a wide cell's value drawn by the `shares`."""
    row = random.integers(release.rows, size=draws)
    group = np.searchsorted(np.cumsum(release.sizes), row, side="right")
    known = {}
    for block in release.blocks:
        mine = [i for i in block.attributes if i in shares]
        if mine:
            entry = _within(block.start, block.count.astype(np.float64), group, random)
            for i in mine:
                code = _values(release.regions[i], block.region(i)[entry], shares[i], random)
                known[i] = Known.exactly(release.attributes[i], code)
    return Targets(-1, {i: known[i] for i in shares}, draws)


def published_shares(
    release: Release, attributes: Collection[int], *, beta: float = 1.0
) -> dict[int, NDArray[np.float64]]:
    """By attribute: the share of each code in the population, as far as one column of the release tells.

    A row with a wide cell counts in equal parts for its codes; `beta` rows are added for every code.
    """
    found = {}
    for i in attributes:
        block, regions = release.block_of(i), release.regions[i]
        rows = np.bincount(block.region(i), weights=block.count, minlength=len(regions))
        steps = np.zeros(regions.codes + 1)
        owner = np.repeat(np.arange(len(regions)), regions.runs)
        each = (rows / regions.sizes)[owner]
        np.add.at(steps, regions.low, each)
        np.add.at(steps, regions.high + 1, -each)
        weight = np.maximum(np.cumsum(steps[:-1]), 0.0) + beta
        found[i] = weight / weight.sum()
    return found


def drawn_outsiders(
    release: Release, shares: Mapping[int, NDArray[np.float64]], draws: int, random: np.random.Generator
) -> Targets:
    """People of the population: attributes drawn by their shares, independently of each other."""
    known = {}
    for i, share in shares.items():
        code = random.choice(len(share), draws, p=_normal(share))
        known[i] = Known.exactly(release.attributes[i], code)
    return Targets(-1, known, draws)


def _normal(share: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(share) / np.sum(share)


def _within(
    start: NDArray[np.int64], weight: NDArray[np.float64], owner: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """An item of each owner's span, by weight."""
    sums = np.concatenate([[0.0], np.cumsum(weight)])
    low, high = sums[start[owner]], sums[start[owner + 1]]
    place = np.searchsorted(sums, low + random.random(len(owner)) * (high - low), side="right") - 1
    return np.asarray(np.clip(place, start[owner], start[owner + 1] - 1))


def _values(
    regions: Regions, region: NDArray[np.integer], weight: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.int64]:
    """A code of each region, by weight."""
    sums = np.concatenate([[0.0], np.cumsum(weight)])
    of_run = sums[regions.high + 1] - sums[regions.low]
    run = _within(regions.start, of_run, region.astype(np.int64), random)
    low, high = regions.low[run].astype(np.int64), regions.high[run].astype(np.int64)
    place = np.searchsorted(sums, sums[low] + random.random(len(run)) * of_run[run], side="right") - 1
    return np.asarray(np.clip(place, low, high))

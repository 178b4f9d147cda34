"""What a release lets a tuple be made of: choices, one after the other, that each group leaves open.

A group of a release stands for the cross product of what its blocks hold (Li 2010, section 4.4). A choice is one factor
of all these products: the atoms that each group offers. An atom is a set of values that no group tells apart.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import Block, Release, row_numbers
from unveil.errors import NotApplicable
from unveil.kernels.matching_groups import narrow

__all__ = ["Choice", "Remainders", "choices_of"]

MOST_PAIRS = 4_000_000  # pairs of a group and an atom that are listed
PRIMES = (2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543, 2147483497)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
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
    ) -> "Choice":
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


def choices_of(release: Release, attributes: Collection[int]) -> list[Choice]:
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


def _of_cells(block: Block, attributes: Sequence[int], groups: int) -> Choice:
    """Single values: an atom is a cell."""
    number = row_numbers([block.region(i) for i in attributes])
    return Choice.of_pairs(block.group, number, groups, np.ones(int(number.max()) + 1, dtype=np.int64))


def _of_values(release: Release, block: Block, attribute: int) -> Choice:
    """One widened attribute: an atom is a run of codes between two neighbouring ends of regions."""
    return _runs(release, attribute, block.group, block.region(attribute), release.groups)


def _runs(
    release: Release, attribute: int, owner: NDArray[np.int64], region: NDArray[np.integer], owners: int
) -> Choice:
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
    return Choice.of_pairs(np.repeat(owner, length), atom, owners, np.diff(ends).astype(np.int64))


def _of_boxes(release: Release, block: Block, attributes: Sequence[int]) -> Choice:
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
    left = MOST_PAIRS
    for side in sides:
        weight = remainders.of(side.weight)
        start, held, times, met = narrow(
            start, held, times, side.start, side.atom, len(weight), weight, remainders.prime, none, left
        )
        left -= met
        _check_pairs(MOST_PAIRS - left)
    atom_of_pair = np.repeat(np.arange(len(start) - 1), np.diff(start))
    in_box = Choice.of_pairs(held, atom_of_pair, boxes, np.ones(len(start) - 1, dtype=np.int64))
    key = np.unique(block.group * boxes + number)
    group, of_box = key // boxes, key % boxes
    length = np.diff(in_box.start)[of_box]
    _check_pairs(int(length.sum()))
    place = np.repeat(in_box.start[of_box] - np.cumsum(length) + length, length) + np.arange(length.sum())
    weights = np.array([*remainders.whole(times), 0], dtype=object)[:-1]
    return Choice.of_pairs(np.repeat(group, length), in_box.atom[place], release.groups, weights)


def _check_pairs(pairs: int) -> None:
    if pairs > MOST_PAIRS:
        raise NotApplicable("the release's regions overlap in too many ways to count its tuples one set at a time")

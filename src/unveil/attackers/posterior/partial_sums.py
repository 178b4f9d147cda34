"""How to add up many overlapping sets of atoms in few steps: by sums that several of them share.

A sum is an earlier one and one more atom, so that all are made in one pass, and only numbers above 0 are ever added:
differences of running totals would lose the small ones. Two ways to cut sets into such sums, and the sets as they are;
what takes the fewest steps is taken.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["PartialSums"]

WIDTHS = (6, 9)  # atoms in a piece whose subsets are sums: wider ones are fewer to a set, but less alike
NODE = 1.5  # what a sum costs, in pieces

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PartialSums:
    """Sets as pieces: atoms, and after these in number the sums."""

    start: Longs  # (sets + 1,)
    piece: Longs  # (pieces,) an atom, or atoms + a sum's place
    leaf: Longs  # (sums,) an atom
    parent: Longs  # (sums,) what it is added to: an atom, or an earlier sum

    @classmethod
    def of(cls, start: Longs, atom: Longs, atoms: int) -> "PartialSums":
        """The sets `atom[start[i]:start[i + 1]]`, growing, cut in the cheapest way."""
        plain = cls.plain(start, atom)
        if not len(atom):
            return plain
        ways = [plain, _by_runs(start, atom, atoms), *(_by_subsets(start, atom, atoms, width) for width in WIDTHS)]
        return min(ways, key=lambda way: way.cost)

    @classmethod
    def plain(cls, start: Longs, atom: Longs) -> "PartialSums":
        """Every atom a piece of its own."""
        return cls(start, atom, np.zeros(0, np.int64), np.zeros(0, np.int64))

    @property
    def cost(self) -> float:
        """Steps of a pass."""
        return len(self.piece) + NODE * len(self.leaf)

    def take(self, sets: Longs) -> "PartialSums":
        """These sets in this order, and all the sums."""
        length = self.start[sets + 1] - self.start[sets]
        start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        piece = self.piece[np.repeat(self.start[sets] - start[:-1], length) + np.arange(start[-1])]
        return PartialSums(start, piece, self.leaf, self.parent)

    def arrays(self) -> tuple[Longs, Longs, Longs, Longs]:
        """As the kernels take them."""
        return self.start, self.piece, self.leaf, self.parent


def _by_runs(start: Longs, atom: Longs, atoms: int) -> PartialSums:
    """Each run of neighbours as at most two sums that meet in the middle of a block of 2, 4, 8, … atoms.

    Of every block there are the sums from any place up to its middle and from its middle on: a sparse table.
    """
    owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
    begins = np.ones(len(atom), dtype=bool)
    begins[1:] = (atom[1:] != atom[:-1] + 1) | (owner[1:] != owner[:-1])
    first = np.flatnonzero(begins)
    low, high = atom[first], atom[np.append(first[1:], len(atom)) - 1]
    level = np.maximum(_highest(low ^ high), 0)
    levels, width = int(level.max()) + 1, 1 << int(_highest(np.array([atoms]))[0] + 1)
    number = np.full((levels, width), -1, dtype=np.int64)
    wide = low < high
    needed = np.zeros((levels, width), dtype=bool)
    needed[level[wide], low[wide]] = needed[level[wide], high[wide]] = True
    leaf, parent, made = [], [], atoms
    for k in range(levels):
        half = 1 << k
        halves = needed[k].reshape(-1, 2, half)
        np.logical_or.accumulate(halves[:, 0], axis=1, out=halves[:, 0])  # from a place to the middle needs the next
        halves[:, 1] = np.logical_or.accumulate(halves[:, 1, ::-1], axis=1)[:, ::-1]
        place = np.arange(width)
        beside_middle = (place % half) == np.where(place & half, 0, half - 1)
        number[k, beside_middle] = place[beside_middle]  # an atom is its own sum
        for step in (-1, 1):
            side = (place & half) > 0 if step > 0 else (place & half) == 0
            these = np.flatnonzero(needed[k] & side & ~beside_middle)[::step]
            number[k, these] = made + np.arange(len(these))
            leaf.append(these)
            parent.append(number[k, these - step])
            made += len(these)
    pieces = np.where(wide, 2, 1)
    begin = np.concatenate([[0], np.cumsum(pieces)])
    piece = np.empty(begin[-1], dtype=np.int64)
    piece[begin[:-1]] = np.where(wide, number[level, low], low)
    piece[begin[:-1][wide] + 1] = number[level, high][wide]
    of_set = np.bincount(owner[first], weights=pieces, minlength=len(start) - 1).astype(np.int64)
    return PartialSums(
        np.concatenate([[0], np.cumsum(of_set)]).astype(np.int64), piece, np.concatenate(leaf), np.concatenate(parent)
    )


def _by_subsets(start: Longs, atom: Longs, atoms: int, width: int) -> PartialSums:
    """Atoms in pieces of `width`; of each piece the subset that a set holds, made from it without its last atom."""
    owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
    chunk = atom // width
    begins = np.ones(len(atom), dtype=bool)
    begins[1:] = (chunk[1:] != chunk[:-1]) | (owner[1:] != owner[:-1])
    first = np.flatnonzero(begins)
    bits = np.bitwise_or.reduceat(np.int64(1) << (atom % width), first)
    subset = (chunk[first] << width) | bits
    mask = (1 << width) - 1
    found = needed = np.unique(subset)
    while len(found):
        shorter = found ^ (np.int64(1) << _highest(found & mask))
        found = np.setdiff1d(shorter[(shorter & mask) > 0], needed)
        needed = np.union1d(needed, found)
    last = _highest(needed & mask)
    own_atom = (needed >> width) * width + last
    alone = (needed & mask) == np.int64(1) << last
    number = np.where(alone, own_atom, atoms + np.cumsum(~alone) - 1)
    shorter = (needed ^ (np.int64(1) << last))[~alone]  # smaller than what it is a part of: it comes before
    piece = number[np.searchsorted(needed, subset)]
    of_set = np.bincount(owner[first], minlength=len(start) - 1)
    return PartialSums(
        np.concatenate([[0], np.cumsum(of_set)]).astype(np.int64),
        piece,
        own_atom[~alone],
        number[np.searchsorted(needed, shorter)],
    )


def _highest(number: Longs) -> Longs:
    """The place of the highest bit; -1 of 0."""
    return np.frexp(number.astype(np.float64))[1].astype(np.int64) - 1

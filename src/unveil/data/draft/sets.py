"""Which few attributes together tell rows apart: sets of up to three, by the rows that they single out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["JointRows", "SetEvidence", "search_sets", "spread"]

UNIQUE_ENOUGH = 0.9  # sets this unique are not widened: more attributes can only be worse
SET_ROWS = 60_000_000  # rows looked at for sets of attributes, at most
SET_ATTRIBUTES = 60
SETS_SHOWN = 20

Codes = NDArray[np.unsignedinteger]
JointRows = tuple[list[Codes], NDArray[np.int64] | None]  # (rows,) codes of each column; and what they count


@dataclass(frozen=True, slots=True)
class SetEvidence:
    """How far a few attributes together tell rows apart."""

    names: tuple[str, ...]
    distinctness: float
    separation: float
    uniqueness: float


def search_sets(
    alone: Sequence[SetEvidence], rows: int, sizes: Sequence[int], joint: Callable[[list[int]], JointRows | None]
) -> tuple[tuple[SetEvidence, ...], str]:
    """Sets of up to three attributes by sample uniqueness; all of them, or the most promising within SET_ROWS.

    `alone` is the evidence of each attribute by itself, `sizes` its number of values; `joint` gives the rows of
    several, None if too many differ.
    Returns the sets worth listing, worst first, and which were looked at.
    """
    if not alone:
        return (), "no quasi-identifiers to combine"
    order = sorted(range(len(alone)), key=lambda i: (-alone[i].separation, i))[:SET_ATTRIBUTES]
    found: dict[tuple[int, ...], SetEvidence] = {(i,): single for i, single in enumerate(alone)}
    budget = max(6, SET_ROWS // rows)
    possible = tried = 0
    read = joint(order) if len(order) > 1 else ([], None)
    if read is None:
        return tuple(found.values()), "single attributes only: too many rows differ to combine them"
    codes, count = dict(zip(order, read[0], strict=False)), read[1]
    for size, share in ((2, budget // 2), (3, budget)):
        done = {key for key in found if len(key) == size - 1 and set(key) <= set(order)}
        larger = {tuple(sorted((*key, i))) for key in done for i in order if i not in key}
        open_sets = [key for key in larger if not any(_unique(found, part) for part in combinations(key, size - 1))]
        open_sets.sort(key=lambda key: (_guess(found, key), key))
        possible += len(open_sets)
        for key in open_sets[: max(0, share - tried)]:
            counts = _joint_counts([codes[i] for i in key], [sizes[i] for i in key], count)
            _, *shares = spread(counts, rows)
            found[key] = SetEvidence(tuple(name for i in key for name in alone[i].names), *shares)
            tried += 1
    listed = [key for key in found if _adds(found, key)]
    listed.sort(key=lambda key: (-found[key].uniqueness, -found[key].separation, len(key), key))
    whole = tried == possible and len(order) == len(alone)
    every = f"all sets of up to 3 of {len(alone)} attributes"
    search = every if whole else f"{tried} sets of 2 or 3, the most separating first"
    return tuple(found[key] for key in listed[:SETS_SHOWN]), search


def _unique(found: Mapping[tuple[int, ...], SetEvidence], key: tuple[int, ...]) -> bool:
    return key in found and found[key].uniqueness >= UNIQUE_ENOUGH


def _guess(found: Mapping[tuple[int, ...], SetEvidence], key: tuple[int, ...]) -> float:
    """The share of pairs a set would leave alike, were its attributes independent."""
    return float(np.prod([1 - found[(i,)].separation for i in key]))


def _adds(found: Mapping[tuple[int, ...], SetEvidence], key: tuple[int, ...]) -> bool:
    """Whether a set is worse, by a hundredth of the rows, than every smaller set within it."""
    smaller = [p for size in range(1, len(key)) for p in combinations(key, size) if p in found]
    return not smaller or found[key].uniqueness >= max(found[p].uniqueness for p in smaller) + 0.01


def _joint_counts(codes: list[Codes], sizes: list[int], count: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """How many rows each combination that occurs has."""
    key, space = codes[0].astype(np.int64), sizes[0]
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        if space * size >= 2**62:
            key = np.unique(key, return_inverse=True)[1]
            space = len(key)
        key, space = key * size + column, space * size
    if space <= 2 * len(key) + 1_000:
        return np.bincount(key, weights=count).astype(np.int64)
    if count is not None:
        order = np.argsort(key)
        edge = np.flatnonzero(np.diff(key[order], prepend=-1))
        return np.add.reduceat(count[order], edge)
    key = np.sort(key)
    ends = np.flatnonzero(np.concatenate((key[1:] != key[:-1], [True])))
    return np.diff(ends, prepend=-1)


def spread(counts: NDArray[np.int64], rows: int, times: float = 1.0) -> tuple[int, float, float, float]:
    """Distinct values, distinctness, separation (Motwani and Xu 2007) and sample uniqueness.

    `times`: how many values there are for each that was counted.
    """
    distinct, alone = (int(np.count_nonzero(which)) for which in (counts, counts == 1))
    same = int((counts * (counts - 1)).sum())
    if times > 1:
        distinct, alone, same = (
            min(round(number * times), most) for number, most in ((distinct, rows), (alone, rows), (same, rows**2))
        )
    pairs = rows * (rows - 1)
    return distinct, distinct / rows, max(1 - same / pairs, 0.0) if pairs else 0.0, alone / rows

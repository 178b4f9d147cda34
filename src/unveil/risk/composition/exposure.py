"""Counts across releases: who is alone in the crossing, who has one value left, and which releases it takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from unveil.risk.composition.inference import ReleaseView, Web, weave

__all__ = ["SURE", "Exposure", "exposure_of", "minimal_sets"]

SURE = 0.95
MOST_RUNS = 16  # subsets of earlier releases that are tried, the smallest first; and as many to narrow others down


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """By person: what can be counted without any belief."""

    alone: NDArray[np.bool_]  # nobody else stands in the same rows of every release
    alone_before: NDArray[np.bool_]  # ... of the new release
    one_left: NDArray[np.bool_]  # every release together leave one value
    one_left_before: NDArray[np.bool_]  # the new release does
    differenced: NDArray[np.bool_]  # taking a group off a larger one leaves one person, or one value

    def joined(self, other: "Exposure") -> "Exposure":
        """Whoever is counted by either."""
        return Exposure(*(getattr(self, f.name) | getattr(other, f.name) for f in fields(self)))


def exposure_of(web: Web, *, harmless: Sequence[int] = (), new: int = 0) -> Exposure:
    """Count. `new`: which of the releases is the new one; whom one harmless value is left is not counted."""

    def one_left(which: Sequence[int] | None) -> NDArray[np.bool_]:
        left = web.left(which)
        hurts = ~np.isin(np.arange(left.shape[1]), harmless)
        return np.asarray((left.sum(axis=1) == 1) & left[:, hurts].any(axis=1))

    differenced = np.zeros(len(web.size), dtype=bool)
    before = web.left([new]).sum(axis=1) == 1
    for found in web.differences:
        differenced[found.people[(found.values == 1) | (found.rows == 1)]] = True
    return Exposure(
        web.crossing() == 1,
        web.crossing([new]) == 1,
        one_left(None),
        one_left([new]),
        differenced[web.number] & ~before,
    )


def minimal_sets(
    views: Sequence[ReleaseView], values: int, exposed: NDArray[np.bool_], of: NDArray[np.int64] | None = None
) -> tuple[dict[tuple[str, ...], int], bool]:
    """People by the smallest sets of earlier releases that, with the new one, make a reader sure of them.

    The first is the new one. `exposed` (people,): of whom a reader of all releases is sure. A person may be exposed by
    several sets; the empty one is the new release alone. Of many releases not every subset can be tried: small ones
    are, and if somebody needs more, one set is narrowed down until none of it can be left out. Second: whether every
    subset was tried. `of`: as `weave` has it.
    """
    names = list(dict.fromkeys(one.name for one in views))
    others = tuple(range(1, len(names)))
    subsets = [chosen for size in range(len(others)) for chosen in combinations(others, size)]
    by = {others: exposed}

    def sure_with(chosen: tuple[int, ...]) -> NDArray[np.bool_]:
        if chosen not in by:
            some = weave([one for one in views if names.index(one.name) in (0, *chosen)], values, of)
            by[chosen] = np.asarray((some.beliefs().probability.max(axis=1) >= SURE) & exposed)
        return by[chosen]

    for chosen in subsets[:MOST_RUNS]:
        sure_with(chosen)
    complete = len(subsets) <= MOST_RUNS
    if not complete:
        open_still = exposed & ~np.any([mine for chosen, mine in by.items() if chosen != others], axis=0)
        _narrow(others, open_still, sure_with, MOST_RUNS)
    found = {}
    for chosen, mine in by.items():
        least = mine.copy()
        for smaller, theirs in by.items():
            if len(smaller) < len(chosen) and set(smaller) <= set(chosen):
                least &= ~theirs
        if least.any():
            found[tuple(names[i] for i in chosen)] = int(least.sum())
    return found, complete


def _narrow(
    chosen: tuple[int, ...],
    people: NDArray[np.bool_],
    sure_with: Callable[[tuple[int, ...]], NDArray[np.bool_]],
    runs: int,
) -> None:
    """Leave out releases, many at a time and then fewer, as long as some of the people stay exposed."""
    parts = 2
    while people.any() and len(chosen) > 1:
        size = -(-len(chosen) // parts)
        for begin in range(0, len(chosen), size):
            rest = chosen[:begin] + chosen[begin + size :]
            if not runs:
                return
            runs -= 1
            if rest and (still := people & sure_with(rest)).any():
                chosen, people, parts = rest, still, max(parts - 1, 2)
                break
        else:
            if size == 1:
                return
            parts = min(2 * parts, len(chosen))

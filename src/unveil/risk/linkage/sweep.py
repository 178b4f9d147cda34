"""Linkage by the number of attributes known: every subset of them, or a random choice where there are too many."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.links import claimed, reid
from unveil.risk.linkage.published import published_of
from unveil.risk.linkage.register import Register

__all__ = ["SubsetLinks", "known_points", "link_by_subsets"]

PEOPLE = 2000  # of whom the subsets are asked


@dataclass(frozen=True, slots=True)
class SubsetLinks:
    """What is linked by one set of attributes."""

    names: tuple[str, ...]
    reid: float | None  # None: the truth is not known
    claimed: float


def link_by_subsets(
    release: Release, held: Register, *, group: NDArray[np.integer] | None, most: int, engine: Engine
) -> tuple[list[SubsetLinks], int]:
    """Distance linkage by subsets of what is held, at most about `most` of them; and of how many people.

    Of more than 2,000 people a random sample is asked. Sets that no row has together are left out.
    """
    random = engine.named("subsets").generator()
    people = held
    if held.people > PEOPLE:
        people = held.some(np.sort(random.choice(held.people, PEOPLE, replace=False)))
    chosen = _subsets(tuple(held.known), most, random)
    found = []
    for done, names in enumerate(chosen):
        engine.report("linkage by what is known", done, len(chosen))
        try:
            links = link_by_distance(published_of(release, names, group), people.only(names))
        except NotApplicable:
            continue
        right = None if links.chance is None else reid(links).value
        found.append(SubsetLinks(names, right, claimed(links).value))
    return found, people.people


def known_points(sets: Sequence[SubsetLinks], people: int) -> dict[str, Any]:
    """By number of attributes: the mean and the largest share, and which attributes reach it."""
    points = []
    for size in sorted({len(s.names) for s in sets}):
        mine = [s for s in sets if len(s.names) == size]
        right = [s.reid for s in mine if s.reid is not None]
        best = max(mine, key=lambda s: (s.reid or 0.0, s.claimed))
        points.append(
            {
                "known": size,
                "sets": len(mine),
                "mean": float(np.mean(right)) if right else None,
                "most": float(max(right)) if right else None,
                "claimed": float(np.mean([s.claimed for s in mine])),
                "most_by": list(best.names),
            }
        )
    return {"people": people, "points": points}


def _subsets(names: Sequence[str], most: int, random: np.random.Generator) -> list[tuple[str, ...]]:
    """All subsets if there are few enough, else as many of each size, drawn."""
    if 2 ** len(names) - 1 <= most:
        return [c for size in range(1, len(names) + 1) for c in combinations(names, size)]
    each = max(1, most // len(names))
    found: list[tuple[str, ...]] = []
    for size in range(1, len(names) + 1):
        if comb(len(names), size) <= each:
            found += combinations(names, size)
            continue
        seen: dict[tuple[str, ...], None] = {}
        while len(seen) < each:
            drawn = np.sort(random.choice(len(names), size, replace=False))
            seen[tuple(names[i] for i in drawn)] = None
        found += seen
    return found

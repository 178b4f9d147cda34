"""Links: whom a reader takes for whom, and how often that is right (Torra 2024, equations 1 and 2).

r(b) is a distribution over published rows, c(r(b), true(b)) = r(b)[true(b)], and Reid its mean over the people held.
A single link is the distribution of one row (Reid_d), an anonymity set the uniform one over its rows (Reid_k).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate
from unveil.errors import UsageError

__all__ = [
    "CLOSE",
    "Links",
    "anonymity_sets",
    "claim_precision",
    "claimed",
    "joined_links",
    "mean_chance",
    "nearest_links",
    "reid",
    "reid_of",
    "single_links",
]

CLOSE = 1e-9  # squared distances that differ by less are equal


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """One reader's links: r(b) is uniform over the rows that fit best, unless `chance` was given otherwise."""

    row: NDArray[np.int64]  # (people,) the first of the best rows; -1 = cannot be named
    size: NDArray[np.int64]  # (people,) rows that fit as well: the anonymity set
    score: NDArray[np.float64]  # (people,) distance or weight of the best
    claim: NDArray[np.bool_]  # (people,) links the reader would claim: one row is best, and good enough
    chance: NDArray[np.float64] | None = None  # (people,) r(b)[true(b)]; None = the truth is not known
    margin: NDArray[np.float64] | None = None  # (people,) how much worse the next row fits
    scale: str = "common"  # on which perturbed numbers were compared

    @property
    def people(self) -> int:
        """How many people are held."""
        return len(self.row)


def nearest_links(distance: NDArray[np.float64], own: NDArray[np.integer], scale: str = "common") -> Links:
    """Links of squared distances (people, rows); `own` (people,): each one's own row, -1 = not published."""
    least = distance.min(axis=1)
    near = distance <= least[:, None] + CLOSE
    size = near.sum(axis=1)
    right = (own >= 0) & near[np.arange(len(own)), own]
    score = np.sqrt(np.maximum(least, 0.0))
    return Links(near.argmax(axis=1), size, score, size == 1, np.where(right, 1 / size, 0.0), scale=scale)


def joined_links(parts: Sequence[Links]) -> Links:
    """Links of several sets of people, one after the other; without margins."""
    row, size, score, claim, chance = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("row", "size", "score", "claim", "chance")
    )
    return Links(row, size, score, claim, chance, scale=parts[0].scale)


def reid(links: Links) -> Estimate:
    """Reid(B, A): the share of people linked rightly, where a tie counts as one over its rows."""
    return Estimate.exact(mean_chance(_chance(links)))


def claimed(links: Links) -> Estimate:
    """K.Reid: the share of people for whom one row alone is best, so that a link can be claimed."""
    return Estimate.exact(float(links.claim.mean()))


def claim_precision(links: Links) -> Estimate | None:
    """The share of claimed links that are right; None if none is claimed."""
    chance = _chance(links)[links.claim]
    return Estimate.exact(mean_chance(chance)) if len(chance) else None


def mean_chance(chance: NDArray[np.float64]) -> float:
    """The mean, in fractions: of a hundred fifths it is one fifth to the last digit, so that a limit of 0.2 is kept."""
    value, times = np.unique(chance, return_counts=True)
    size = np.rint(1 / np.where(value > 0, value, 1.0))
    whole = 1 / np.maximum(size, 1) == value
    total = sum(
        (Fraction(int(n), int(s)) for n, s in zip(times[whole], size[whole], strict=True)),
        Fraction(math.fsum(value[~whole] * times[~whole])),
    )
    return float(total / len(chance))


def reid_of(distribution: NDArray[np.floating], true_row: NDArray[np.integer]) -> Estimate:
    """Reid of any r: `distribution` (people, rows), `true_row` (people,) with -1 for people who are not published."""
    spread = np.asarray(distribution, dtype=np.float64)
    if spread.ndim != 2 or (spread < 0).any() or (spread.sum(axis=1) > 1 + 1e-9).any():
        raise UsageError("r(b) must be a distribution over the published rows for every person")
    there = np.flatnonzero(true_row >= 0)
    return Estimate.exact(float(spread[there, true_row[there]].sum() / len(spread)))


def single_links(row: NDArray[np.integer], rows: int) -> NDArray[np.float64]:
    """r(b) of a reader who names one row for each person: Reid_d."""
    found = np.zeros((len(row), rows))
    found[np.arange(len(row)), row] = 1.0
    return found


def anonymity_sets(sets: Sequence[Sequence[int]], rows: int) -> NDArray[np.float64]:
    """r(b) of a reader who names a set of rows for each person: Reid_k."""
    found = np.zeros((len(sets), rows))
    for person, members in enumerate(sets):
        found[person, list(members)] = 1 / len(members)
    return found


def _chance(links: Links) -> NDArray[np.float64]:
    if links.chance is None:
        raise UsageError("whether links are right is unknown: nothing says whose row is whose")
    return links.chance

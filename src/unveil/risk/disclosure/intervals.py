"""Values near the truth: interval disclosure by rank and by standard deviation, and equal categories."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate
from unveil.data.release import Anonymized
from unveil.data.rows import as_published, paired_rows
from unveil.data.table import Table
from unveil.errors import UsageError

__all__ = [
    "deviation_interval",
    "deviation_interval_baseline",
    "deviation_interval_disclosure",
    "distance_risk",
    "paired",
    "rank_interval",
    "rank_interval_baseline",
    "rank_interval_disclosure",
    "simple_baseline",
    "simple_disclosure",
]

Numbers = NDArray[np.float64]


def paired(table: Table, made: Anonymized, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """An attribute's true and published values of the same people, in the order of the published rows."""
    index = table.index(name)
    truth = as_published([table.attributes[index]], [table.columns[index]])[0]
    rows, origin = paired_rows(made)
    if len(origin) and origin.max() >= table.rows:
        raise UsageError(f"the assignment names row {int(origin.max()) + 1}; the original has {table.rows}")
    return truth[origin], rows.columns[rows.index(name)]


def rank_interval(truth: Numbers, published: Numbers, p: float) -> Numbers:
    """(people,) whether the true value lies in an interval of p % of the ranks around the published one.

    Algorithm rid of Torra 2024, read as: the published values are ranked, the interval goes from the value w ranks
    below to the one w ranks above, w = p · n / 200 rounded down, cut at both ends. Among equal published values a rank
    is drawn, and the chance is given. NaN where the true value is missing; a suppressed value discloses nothing.
    """
    w, ranked = _window(published, p)
    if not len(ranked):
        return np.where(np.isnan(truth), np.nan, 0.0)
    first = np.searchsorted(ranked, published, side="left")
    last = np.searchsorted(ranked, published, side="right") - 1
    at_most = np.searchsorted(ranked, truth, side="right") - 1  # the last rank whose value is not above the truth
    at_least = np.searchsorted(ranked, truth, side="left")  # the first rank whose value is not below it
    fits = np.minimum(last, at_most + w) - np.maximum(first, at_least - w) + 1
    inside = (at_most >= 0) & (at_least < len(ranked)) & ~np.isnan(published)
    chance = np.where(inside, np.clip(fits, 0, None) / np.maximum(last - first + 1, 1), 0.0)
    return np.where(np.isnan(truth), np.nan, chance)


def rank_interval_disclosure(truth: Numbers, published: Numbers, p: float) -> Estimate:
    """Share of people whose true value lies in the rank interval of p % around the published one (Torra 2024)."""
    return _share(rank_interval(truth, published, p))


def rank_interval_baseline(truth: Numbers, published: Numbers, p: float) -> Estimate:
    """The same without looking at a person's own row: the largest share of true values in one such interval."""
    w, ranked = _window(published, p)
    known = np.sort(truth[~np.isnan(truth)])
    if not len(ranked) or not len(known):
        return Estimate.exact(0.0)
    rank = np.arange(len(ranked))
    low, high = ranked[np.maximum(rank - w, 0)], ranked[np.minimum(rank + w, len(ranked) - 1)]
    held = np.searchsorted(known, high, side="right") - np.searchsorted(known, low, side="left")
    return Estimate.exact(float(held.max() / len(known)))


def deviation_interval(truth: Numbers, published: Numbers, p: float) -> Numbers:
    """(people,) whether the published value lies within p % of the true values' standard deviation (Torra 2024, sdid).

    NaN for people whose true value is missing; a suppressed value discloses nothing.
    """
    width = _width(truth, p)
    with np.errstate(invalid="ignore"):
        near = np.abs(truth - published) <= width
    return np.where(np.isnan(truth), np.nan, near.astype(np.float64))


def deviation_interval_disclosure(truth: Numbers, published: Numbers, p: float) -> Estimate:
    """Share of people whose published value lies within p % of a standard deviation of the true one (Torra 2024)."""
    return _share(deviation_interval(truth, published, p))


def deviation_interval_baseline(truth: Numbers, p: float) -> Estimate:
    """The same for the one number that is near to most people: what may be guessed without their rows."""
    known = np.sort(truth[~np.isnan(truth)])
    if not len(known):
        return Estimate.exact(0.0)
    # An interval that holds most people may begin at one of them.
    held = np.searchsorted(known, known + 2 * _width(truth, p), side="right") - np.arange(len(known))
    return Estimate.exact(float(held.max() / len(known)))


def distance_risk(truth: Sequence[Numbers], published: Sequence[Numbers], p: float = 5) -> Estimate:
    """Share of people all of whose true numbers lie within p % of a deviation of the published ones (sdcMicro's dRisk).

    The deviation is that of the published numbers; a number that is missing on a side does not count against it.
    """
    if not truth or len(truth) != len(published):
        raise UsageError("distance_risk needs the same numbers, true and published")
    near = np.ones(len(truth[0]), dtype=np.bool_)
    for own, shown in zip(truth, published, strict=True):
        known = shown[~np.isnan(shown)]
        width = p / 100 * float(known.std(ddof=1)) if len(known) > 1 else 0.0
        with np.errstate(invalid="ignore"):
            near &= ~((own < shown - width) | (own > shown + width))
    return Estimate.exact(float(near.mean()) if len(near) else 0.0)


def simple_disclosure(truth: NDArray[np.int64], published: NDArray[np.int64]) -> Estimate:
    """Share of people whose category is published as it is (SADR, Torra 2024)."""
    return _share((truth == published).astype(np.float64))


def simple_baseline(truth: NDArray[np.int64]) -> Estimate:
    """The same for the most frequent category, guessed of everybody."""
    return Estimate.exact(float(np.bincount(truth).max() / len(truth)) if len(truth) else 0.0)


def _window(published: Numbers, p: float) -> tuple[int, Numbers]:
    if not 0 <= p <= 100:
        raise UsageError(f"p={p:g} is not a percentage; choose a number from 0 to 100")
    ranked = np.sort(published[~np.isnan(published)])
    return int(p * len(ranked) / 200 + 1e-9), ranked


def _width(truth: Numbers, p: float) -> float:
    if not 0 <= p < np.inf:
        raise UsageError(f"p={p:g} must be a percentage of a standard deviation of at least 0")
    known = truth[~np.isnan(truth)]
    return float(p * known.std() / 100) if len(known) else 0.0


def _share(right: Numbers) -> Estimate:
    """Of the people of whom a truth is known."""
    known = right[~np.isnan(right)]
    return Estimate.exact(float(known.mean()) if len(known) else 0.0)

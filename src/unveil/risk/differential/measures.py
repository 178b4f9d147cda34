"""How far two predictions are apart, and what a test says in numbers: worst case, average case, membership."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate, t_quantile
from unveil.errors import UsageError, shown
from unveil.privacy.distances import (
    Geometry,
    earth_mover_equal,
    earth_mover_hierarchical,
    earth_mover_ordered,
    jensen_shannon,
    total_variation,
)
from unveil.risk.differential.procedure import Outcome

__all__ = [
    "DISTANCES",
    "READINGS",
    "Reading",
    "cumulative",
    "delta",
    "distance_of",
    "largest_ratio",
    "mean_distance",
    "membership_auc",
    "paired_membership",
    "quantile_distance",
]

Reading = Literal["coordinates", "vectors"]
READINGS: tuple[Reading, ...] = ("coordinates", "vectors")
DISTANCES = ("emd", "tv", "js", "max_ratio")
SAME = 1e-12  # predictions that differ by less are the same value: it is the rounding of logarithms

Samples = NDArray[np.float64]  # (records, samples, values)


def distance_of(name: str, reading: str, ground: Geometry, *, ordered: bool) -> Callable[[Samples, Samples], Samples]:
    """The distance (records,) of two sets of predictions, each (records, samples, values)."""
    if name not in DISTANCES:
        raise UsageError(f"unknown distance {shown(name)}; choose from {', '.join(DISTANCES)}")
    if reading not in READINGS:
        raise UsageError(f"unknown reading {shown(reading)}; choose from {', '.join(READINGS)}")
    if reading == "vectors":
        return lambda one, other: _vectors(name, one.mean(axis=1), other.mean(axis=1), ground, ordered)
    if name == "emd":
        return _sorted_distance
    return lambda one, other: _coordinates(name, one, other)


def largest_ratio(share: NDArray[np.float64], reference: NDArray[np.float64], ground: Geometry) -> NDArray[np.float64]:
    """Largest |ln(p/q)| over the values; infinite where one alone is 0 (the distance of differential privacy)."""
    positive = (share > 0) & (reference > 0)
    logs = np.log(np.where(positive, share, 1.0)) - np.log(np.where(positive, reference, 1.0))
    alone = ((share > 0) != (reference > 0)).any(axis=1)
    return np.where(alone, np.inf, np.abs(logs).max(axis=1))


def _sorted_distance(one: Samples, other: Samples) -> NDArray[np.float64]:
    """Eq. 1: the mean difference of order statistics, summed over the sensitive values."""
    return np.asarray(np.abs(np.sort(one, axis=1) - np.sort(other, axis=1)).mean(axis=1).sum(axis=1))


def _coordinates(name: str, one: Samples, other: Samples) -> NDArray[np.float64]:
    if one.shape[1] == other.shape[1] == 1:  # single values: two distributions are the same, or share nothing
        different = (np.abs(one - other)[:, 0] > SAME).sum(axis=1).astype(np.float64)
        apart = {"tv": 1.0, "js": float(np.log(2.0)), "max_ratio": np.inf}[name]
        return np.where(different > 0, np.maximum(different, 1.0) * apart, 0.0)
    return np.array([_summed(name, a, b) for a, b in zip(one, other, strict=True)])


def _vectors(
    name: str, share: NDArray[np.float64], reference: NDArray[np.float64], ground: Geometry, ordered: bool
) -> NDArray[np.float64]:
    if name == "emd":
        if ground.level is not None:
            return earth_mover_hierarchical(share, reference, ground)
        return earth_mover_ordered(share, reference, ground) if ordered else earth_mover_equal(share, reference, ground)
    between = {"tv": total_variation, "js": jensen_shannon, "max_ratio": largest_ratio}
    return between[name](share, reference, ground)


def _summed(name: str, one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Of one record (samples, values): the distance of each coordinate's empirical distribution, summed."""
    between = {"tv": total_variation, "js": jensen_shannon, "max_ratio": largest_ratio}[name]
    total = 0.0
    for a, b in zip(one.T, other.T, strict=True):
        both = np.sort(np.concatenate([a, b]))
        value = both[np.concatenate([[True], np.diff(both) > SAME])]
        share = [np.bincount(np.searchsorted(value, x, "right") - 1, minlength=len(value)) / len(x) for x in (a, b)]
        total += float(between(share[0][None], share[1][None], Geometry())[0])
    return total


EDGES = np.concatenate([[0.0], 10.0 ** np.linspace(-5, np.log10(2.0), 54)])  # of d, as figure 2 draws it


def delta(tested: Outcome) -> Estimate:
    """The largest distance: the least delta for which the release is delta-indifferentiable (definition 1).

    Records that failed or were not asked about may lie higher. Sampled distances come out too large on average, by no
    more than twice the noise floor.
    """
    d = tested.distance
    value = float(d.max(initial=0.0))
    low, high = value, value
    if tested.floor is not None:
        low = float(_lowered(tested).max(initial=0.0))
        high = float((d + tested.floor).max(initial=0.0))
    return Estimate(value, low, high if tested.complete and not tested.sampled_records else np.inf)


def mean_distance(tested: Outcome) -> Estimate:
    """The mean distance: the average case."""
    return _averaged(tested, lambda d: float(d.mean()) if len(d) else 0.0)


def quantile_distance(tested: Outcome, share: float) -> Estimate:
    """The distance that this share of the records does not exceed."""
    return _averaged(tested, lambda d: float(np.quantile(d, share, method="inverted_cdf")) if len(d) else 0.0)


def membership_auc(tested: Outcome) -> Estimate:
    """How often a record in the table scores higher than one left out: the score is the prediction of the true value.

    One threshold for everybody (section 2.1): 0.5 is a coin, 1 tells all members.
    """
    return _over_draws([_ranked(inside, outside) for inside, outside in zip(*_by_draw(tested), strict=True)])


def paired_membership(tested: Outcome) -> Estimate:
    """The same for an attacker who knows both models: how often a record's own score falls when it leaves."""
    return _over_draws(
        [
            float(((a - b > SAME) + 0.5 * (np.abs(a - b) <= SAME)).mean()) if len(a) else 0.5
            for a, b in zip(*_by_draw(tested), strict=True)
        ]
    )


def _by_draw(tested: Outcome) -> NDArray[np.float64]:
    """(2, draws, records)"""
    return np.swapaxes(tested.scores, 1, 2)


def _ranked(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """The share of pairs in which the first is larger, ties by half."""
    order = np.sort(outside)
    below = np.searchsorted(order, inside, "left") + np.searchsorted(order, inside, "right")
    return float(below.sum() / (2 * len(inside) * len(outside))) if len(inside) else 0.5


def _over_draws(each: list[float]) -> Estimate:
    """Their mean, with the error of drawing where there are several."""
    value = float(np.mean(each))
    if len(each) == 1:
        return Estimate.exact(value)
    error = t_quantile(len(each)) * float(np.std(each, ddof=1)) / len(each) ** 0.5
    return Estimate(value, max(value - error, 0.0), min(value + error, 1.0))


def cumulative(distance: NDArray[np.float64]) -> NDArray[np.int64]:
    """(edges,) how many records have a distance of at most each edge."""
    return np.searchsorted(np.sort(distance), EDGES, "right").astype(np.int64)


def _averaged(tested: Outcome, statistic: Callable[[NDArray[np.float64]], float]) -> Estimate:
    value = statistic(tested.distance)
    if tested.floor is None:
        return Estimate.exact(value)
    low = statistic(_lowered(tested))
    return Estimate(value, low, statistic(tested.distance + tested.floor))


def _lowered(tested: Outcome) -> NDArray[np.float64]:
    """The distances less all that sampling may have added; an infinite floor leaves nothing."""
    floor = np.zeros(len(tested.distance)) if tested.floor is None else tested.floor
    known = np.isfinite(floor)
    return np.where(known, np.maximum(tested.distance - 2 * np.where(known, floor, 0.0), 0.0), 0.0)

"""What a test says in numbers: the worst case, the average case, and how well membership can be told."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate, t_quantile
from unveil.risk.differential.procedure import Tested

__all__ = ["cumulative", "delta", "mean_distance", "membership_auc", "paired_membership", "quantile_distance"]

SAME = 1e-12  # scores that differ by less are equal
EDGES = np.concatenate([[0.0], 10.0 ** np.linspace(-5, np.log10(2.0), 54)])  # of d, as figure 2 draws it


def delta(tested: Tested) -> Estimate:
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


def mean_distance(tested: Tested) -> Estimate:
    """The mean distance: the average case."""
    return _averaged(tested, lambda d: float(d.mean()) if len(d) else 0.0)


def quantile_distance(tested: Tested, share: float) -> Estimate:
    """The distance that this share of the records does not exceed."""
    return _averaged(tested, lambda d: float(np.quantile(d, share, method="inverted_cdf")) if len(d) else 0.0)


def membership_auc(tested: Tested) -> Estimate:
    """How often a record in the table scores higher than one left out: the score is the prediction of the true value.

    One threshold for everybody (section 2.1): 0.5 is a coin, 1 tells all members.
    """
    return _over_draws([_ranked(inside, outside) for inside, outside in zip(*_by_draw(tested), strict=True)])


def paired_membership(tested: Tested) -> Estimate:
    """The same for an attacker who knows both models: how often a record's own score falls when it leaves."""
    return _over_draws(
        [
            float(((a - b > SAME) + 0.5 * (np.abs(a - b) <= SAME)).mean()) if len(a) else 0.5
            for a, b in zip(*_by_draw(tested), strict=True)
        ]
    )


def _by_draw(tested: Tested) -> NDArray[np.float64]:
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


def _averaged(tested: Tested, statistic: Callable[[NDArray[np.float64]], float]) -> Estimate:
    value = statistic(tested.distance)
    if tested.floor is None:
        return Estimate.exact(value)
    low = statistic(_lowered(tested))
    return Estimate(value, low, statistic(tested.distance + tested.floor))


def _lowered(tested: Tested) -> NDArray[np.float64]:
    """The distances less all that sampling may have added; an infinite floor leaves nothing."""
    floor = np.zeros(len(tested.distance)) if tested.floor is None else tested.floor
    known = np.isfinite(floor)
    return np.where(known, np.maximum(tested.distance - 2 * np.where(known, floor, 0.0), 0.0), 0.0)

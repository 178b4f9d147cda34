"""How far two predictions are apart: earth mover's distance, total variation, Jensen-Shannon, largest ratio.

Two readings. `coordinates` (section 3.2): the predicted probability of each sensitive value is a random variable; the
distance is that of its two distributions, summed over the values. `vectors`: the distance of the two prediction vectors
as distributions over the sensitive values, of their means where the sanitizer draws.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.errors import UsageError, shown
from unveil.privacy.distances import (
    Geometry,
    earth_mover_equal,
    earth_mover_hierarchical,
    earth_mover_ordered,
    jensen_shannon,
    total_variation,
)

__all__ = ["DISTANCES", "READINGS", "Reading", "distance_of", "largest_ratio"]

Reading = Literal["coordinates", "vectors"]
READINGS: tuple[Reading, ...] = ("coordinates", "vectors")
DISTANCES = ("emd", "tv", "js", "max_ratio")
SAME = 1e-12  # predictions that differ by less are the same value: it is the rounding of logarithms

Samples = NDArray[np.float64]  # (records, samples, values)


def distance_of(name: str, reading: str, ground: Geometry, *, ordered: bool) -> Callable[[Samples, Samples], Samples]:
    """The distance (records,) of two sets of predictions, each (records, samples, values)."""
    if name not in DISTANCES:
        raise UsageError(f"{shown(name)} is no distance; choose one of {', '.join(DISTANCES)}")
    if reading not in READINGS:
        raise UsageError(f"{shown(reading)} is no reading; choose one of {', '.join(READINGS)}")
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

"""What a masked table is still worth: how far values moved, and what became of moments, correlations and shares.

Numbers are compared in units of the original's standard deviation. Whatever needs no pairs of a person's two values can
be measured without an assignment, and of rows that are nobody's.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate
from unveil.errors import UsageError

__all__ = ["correlation_error", "deviation_error", "il1s", "mean_error", "share_error"]

Numbers = NDArray[np.float64]


def il1s(truth: Numbers, published: Numbers) -> Estimate:
    """Mean distance of a published number from its true one, over sqrt(2) standard deviations (Yancey et al. 2002).

    Two random people are sqrt(2) deviations apart, root mean square; normal numbers dealt out at random give .8.
    What is missing on a side is left out.
    """
    both = ~np.isnan(truth) & ~np.isnan(published)
    if not both.any():
        raise UsageError("no numeric column is there both before and after masking")
    return Estimate.exact(float(np.abs(published[both] - truth[both]).mean() / (np.sqrt(2) * _deviation(truth))))


def mean_error(truth: Numbers, published: Numbers) -> Estimate:
    """How far the mean moved, in standard deviations (Domingo-Ferrer and Torra 2001)."""
    return Estimate.exact(float(abs(_known(published).mean() - _known(truth).mean()) / _deviation(truth)))


def deviation_error(truth: Numbers, published: Numbers) -> Estimate:
    """By what share the standard deviation changed (Domingo-Ferrer and Torra 2001)."""
    return Estimate.exact(float(abs(_known(published).std() - _known(truth).std()) / _deviation(truth)))


def correlation_error(truth: Sequence[Numbers], published: Sequence[Numbers]) -> Estimate:
    """Mean absolute change of the correlation of two numbers, over all pairs (Domingo-Ferrer and Torra 2001)."""
    if len(truth) < 2 or len(truth) != len(published):
        raise UsageError("a correlation needs two numbers")
    changes = [
        abs(_correlation(truth[i], truth[j]) - _correlation(published[i], published[j]))
        for i, j in combinations(range(len(truth)), 2)
    ]
    return Estimate.exact(float(np.mean(changes)))


def share_error(truth: NDArray[Any], published: NDArray[Any]) -> Estimate:
    """Total variation distance of the shares of categories: how many people's categories are in the wrong place."""
    shown = published[published >= 0]
    if not len(truth) or not len(shown):
        raise UsageError("no categorical column is there both before and after masking")
    size = int(max(truth.max(), shown.max())) + 1
    before, after = (np.bincount(column, minlength=size) / len(column) for column in (truth, shown))
    return Estimate.exact(float(np.abs(before - after).sum() / 2))


def _known(values: Numbers) -> Numbers:
    known = values[~np.isnan(values)]
    if not len(known):
        raise UsageError("no numeric column is there both before and after masking")
    return known


def _deviation(values: Numbers) -> float:
    spread = float(_known(values).std())
    return spread if spread > 0 else 1.0  # a constant: in its own unit


def _correlation(a: Numbers, b: Numbers) -> float:
    """0 where a number is constant."""
    both = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[both], b[both]
    if len(a) < 2 or a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])

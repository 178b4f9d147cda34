"""What every measure shares: checks of its inputs, ratios, quantiles, and what counts as equal."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Belief
from unveil.errors import UsageError

__all__ = ["TIE", "at_least", "check_belief", "check_same", "checked_truth", "harmful", "quantile", "ratio"]

Floats = NDArray[np.float64]

TIE = 1e-12  # beliefs this close, relative to the larger, are equal: sums in another order differ in the last digits


def check_belief(belief: Belief) -> None:
    """At least one person, and chains, where there are any, of the same shape."""
    people, values = belief.probability.shape
    if not people or not values:
        raise UsageError("a measure of beliefs needs at least one person and one value")
    if belief.chains is not None and (len(belief.chains) < 2 or belief.chains.shape[1:] != (people, values)):
        raise UsageError(
            f"the chains of a belief must be two or more of shape {people} × {values}, not {belief.chains.shape}"
        )


def check_same(one: Belief, other: Belief) -> None:
    """Both about the same people and values."""
    check_belief(one)
    check_belief(other)
    if one.probability.shape != other.probability.shape:
        raise UsageError(
            f"beliefs of {one.probability.shape} and {other.probability.shape} people and values cannot be compared; "
            "ask both readers about the same people"
        )


def checked_truth(belief: Belief, truth: NDArray[np.integer]) -> NDArray[np.int64]:
    """The true codes (people,), after a check against the belief."""
    check_belief(belief)
    people, values = belief.probability.shape
    codes = np.asarray(truth)
    if codes.shape != (people,) or not np.issubdtype(codes.dtype, np.integer):
        raise UsageError(f"the truth must be one whole-number code a person, {people} in all, not {codes.shape}")
    if int(codes.min()) < 0 or int(codes.max()) >= values:
        raise UsageError(f"a true code lies outside 0 … {values - 1}, the values of the belief")
    return codes.astype(np.int64)


def harmful(values: int, harmless: Sequence[int]) -> NDArray[np.bool_]:
    """(values,) True but for the harmless codes."""
    counts = np.ones(values, dtype=np.bool_)
    for code in harmless:
        if not 0 <= code < values:
            raise UsageError(f"the harmless code {code} lies outside 0 … {values - 1}, the values of the belief")
        counts[code] = False
    if not counts.any():
        raise UsageError("every value is harmless: there is nothing to measure")
    return counts


def ratio(top: Floats, bottom: Floats) -> Floats:
    """top / bottom: infinite where only the bottom is 0, and 0 where both are."""
    found = np.where(top > 0, np.inf, 0.0)
    with np.errstate(over="ignore"):  # over a denormal number: infinite, as meant
        np.divide(top, bottom, out=found, where=np.broadcast_to(bottom > 0, found.shape))
    return found


def quantile(values: Floats, q: float) -> float:
    """The smallest value that at least a share q does not exceed; 0 of nothing. Not interpolated: ∞ may occur."""
    if not 0 <= q <= 1:
        raise UsageError(f"q = {q}: a quantile lies in [0, 1]; for the 95th percentile write 0.95")
    if not len(values):
        return 0.0
    # A share such as .95 of 20 people is 19.000000000000004 of them.
    place = max(int(np.ceil(q * len(values) * (1 - TIE))) - 1, 0)
    return float(np.partition(values, place)[place])


def at_least(values: Floats, limit: float) -> NDArray[np.bool_]:
    """Where a value reaches the limit, up to the last digits; never where it is nan."""
    return np.asarray(values >= limit - TIE * abs(limit))

"""What every measure shares: checks of its inputs, intervals over the chains of one or more beliefs, ratios."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Belief, Estimate, t_quantile
from unveil.errors import UsageError

__all__ = [
    "TIE",
    "at_least",
    "check_belief",
    "check_same",
    "checked_truth",
    "estimated",
    "estimated_share",
    "harmful",
    "quantile",
    "ratio",
]

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


def estimated(
    measure: Callable[..., float], *beliefs: Belief, least: float = -np.inf, most: float = np.inf
) -> Estimate:
    """A measure of one or more arrays of beliefs, with a 95% interval from the chains, inside [least, most].

    Equally many chains are taken in pairs: of readers of one run they share their draws, of separate runs they are
    independent, and the spread of the pairs is right for both.
    """
    value = float(measure(*(b.probability for b in beliefs)))
    counts = {len(b.chains) for b in beliefs if b.chains is not None}
    if not counts:
        return Estimate.exact(value)
    if len(counts) == 1:
        each = [_nth(measure, beliefs, range(len(beliefs)), i) for i in range(counts.pop())]
        low, high = _interval(each, apart=any(b.diagnostics.modes for b in beliefs))
    else:
        low, high = _separate(measure, beliefs, value)
    if any("repeats" in b.diagnostics.facts for b in beliefs if b.chains is not None) and np.isfinite(high - low):
        # Fits with groups weighed at random guess worse than what is believed: their spread counts, not their mean.
        low, high = value - (high - low) / 2, value + (high - low) / 2
    low, high = min(low, value), max(high, value)
    if np.isfinite(value):  # a mode that no chain met may have this weight: nothing sampled is surer than that
        unseen = max(float(b.diagnostics.facts.get("unseen_mode", 0.0)) for b in beliefs if b.chains is not None)
        scale = max(abs(value), most - least) if np.isfinite(most - least) else abs(value)
        low, high = min(low, value - unseen * scale), max(high, value + unseen * scale)
    return Estimate(value, min(max(low, least), value), max(min(high, most), value))


def estimated_share(measure: Callable[..., Any], *beliefs: Belief) -> Estimate:
    """The share of people of whom something holds."""
    return estimated(lambda *p: float(measure(*p).mean()), *beliefs, least=0.0, most=1.0)


def _nth(measure: Callable[..., float], beliefs: Sequence[Belief], moving: Sequence[int], chain: int) -> float:
    """The measure with this chain of the moving beliefs and the pooled others."""
    arrays = [
        b.chains[chain] if b.chains is not None and place in moving else b.probability
        for place, b in enumerate(beliefs)
    ]
    return float(measure(*arrays))


def _interval(each: Sequence[float], *, apart: bool) -> tuple[float, float]:
    """Of chains that lie apart whatever any of them says is possible."""
    values = np.array(each)
    if apart or not np.isfinite(values).all():  # a mean and a spread would say nothing
        return float(values.min()), float(values.max())
    half = t_quantile(len(values)) * float(values.std(ddof=1)) / len(values) ** 0.5
    return float(values.mean()) - half, float(values.mean()) + half


def _separate(measure: Callable[..., float], beliefs: Sequence[Belief], value: float) -> tuple[float, float]:
    """Unequal numbers of chains: each belief moves alone, the squared half-widths add."""
    below = above = 0.0
    for place, belief in enumerate(beliefs):
        if belief.chains is not None:
            each = [_nth(measure, beliefs, (place,), i) for i in range(len(belief.chains))]
            low, high = _interval(each, apart=bool(belief.diagnostics.modes))
            if not np.isfinite([low, high, value]).all():
                return min(low, value), max(high, value)
            below, above = below + min(low - value, 0.0) ** 2, above + max(high - value, 0.0) ** 2
    return value - float(np.sqrt(below)), value + float(np.sqrt(above))


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

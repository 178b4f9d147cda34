"""What every measure shares: checks of its inputs, intervals over the chains of one or more beliefs, ratios."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Belief, Estimate
from unveil.data.contrasts import contrast_weights, shift_size
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
    "shifted",
    "stepped",
]

Floats = NDArray[np.float64]

LEVEL = 0.05  # outside an interval
MOST_APART = 10  # kinds of people near a threshold: with more of them their number is nearly normal
MOST_COMPARED = 5000  # people, to see how many kinds they are
SMALL = 1 << 23  # numbers: beliefs shifted for one measure are kept for the next, up to this size
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
    """A smooth measure of one or more arrays of beliefs, with a 95% interval from the chains, inside [least, most].

    The interval holds what the measure would be had all beliefs erred as much as their chains differ (`shifted`), as
    far down as up. Equally many chains are taken together: of readers of one run they share their draws, of separate
    runs they are independent, and the spread is right for both.
    """
    value = float(measure(*(b.probability for b in beliefs)))
    if not any(b.chains is not None for b in beliefs):
        return Estimate.exact(value)
    low = high = value
    below = above = 0.0
    for moving in _together(beliefs):
        each = [float(measure(*arrays)) for arrays in _shifts(beliefs, moving, LEVEL)]
        down, up = min(*each, value), max(*each, value)
        low, high = min(low, down), max(high, up)
        if np.isfinite([value, down, up]).all():
            below, above = below + (value - down) ** 2, above + (up - value) ** 2
    if np.isfinite([value, low, high]).all():
        half = float(np.sqrt(max(below, above)))
        low, high = value - half, value + half
    return _no_surer(value, low, high, beliefs, least, most)


def stepped(
    each: Callable[..., Floats],
    *beliefs: Belief,
    over: Callable[[Floats], float] = np.mean,
    ordered: bool = False,
    least: float = -np.inf,
    most: float = np.inf,
) -> Estimate:
    """A mean, quantile or maximum (`ordered`) `over` a number of each person that jumps: a count, a guess, a place in an order.

    Everyone's number may be the least or the largest that it is while beliefs err as much as their chains differ: who
    is so near a threshold, or a tie, that the chains do not tell on which side, counts on both. If these are people of
    several kinds, beliefs err further, so that all of them together are right with 95%. Who counts in some places only
    (nan in others) is counted where that moves the result. Nor is the interval narrower than if all erred alike.
    """
    at = np.asarray(each(*(b.probability for b in beliefs)), dtype=np.float64)
    value = float(over(at[~np.isnan(at)]))
    if not any(b.chains is not None for b in beliefs):
        return Estimate.exact(value)
    around = value if ordered else None
    kinds, ends = 1, _ends(each, at, beliefs, over, around, LEVEL)
    while min(ends.kinds, MOST_APART) > kinds:
        kinds = min(ends.kinds, MOST_APART)
        ends = _ends(each, at, beliefs, over, around, LEVEL / kinds)
    least_each, most_each = ends.low, ends.high
    if ordered:  # two values may take turns to be a person's largest: then the number is least in between
        longer = np.where(np.isnan(at), 0.0, np.fmax(at - least_each, most_each - at))
        least_each, most_each = np.fmin(least_each, at - longer), np.fmax(most_each, at + longer)
    low = float(over(least_each[ends.counts | (least_each < value)]))
    high = float(over(most_each[ends.counts | (most_each > value)]))
    down, up = _mirrored(value, min(ends.together), max(ends.together), by_ratio=least == 0 and most == np.inf)
    return _no_surer(value, min(low, down, value), max(high, up, value), beliefs, least, most)


def _mirrored(value: float, low: float, high: float, *, by_ratio: bool) -> tuple[float, float]:
    """The interval with its longer side on both sides: the largest of many noisy numbers lies above that of the exact
    ones. Of what is never negative and has no upper bound, as ratios."""
    low, high = min(low, value), max(high, value)
    if not np.isfinite([value, low, high]).all():
        return low, high
    if by_ratio and low > 0:
        return min(low, value * value / high), max(high, value * value / low)
    return min(low, 2 * value - high), max(high, 2 * value - low)


def estimated_share(measure: Callable[..., Any], *beliefs: Belief) -> Estimate:
    """The share of people of whom something holds."""
    return stepped(measure, *beliefs, least=0.0, most=1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The least and the largest number of each person while beliefs err as much as their chains differ."""

    low: Floats  # (people,) nan: never counted
    high: Floats
    counts: NDArray[np.bool_]  # (people,) whether the person counts whatever the error
    kinds: int  # of people whose number is not known, or not on which side of the quantile or maximum it lies
    together: list[float]  # the measure where all err alike


def _ends(
    each: Callable[..., Floats],
    at: Floats,
    beliefs: Sequence[Belief],
    over: Callable[[Floats], float],
    around: float | None,
    level: float,
) -> Ends:
    low, high, counts, together = at.copy(), at.copy(), ~np.isnan(at), []
    for moving in _together(beliefs):
        for arrays in _shifts(beliefs, moving, level):
            now = np.asarray(each(*arrays), dtype=np.float64)
            there = ~np.isnan(now)
            low, high, counts = np.fmin(low, now), np.fmax(high, now), counts & there
            together.append(float(over(now[there])))
    unknown = low < high if around is None else (low < around) & (high > around)
    apart = np.flatnonzero(unknown | (~counts & ~np.isnan(low)))
    kinds = min(len(apart), MOST_APART)
    if kinds > 1 and len(apart) < MOST_COMPARED:
        rows = [b.probability[apart] for b in beliefs if len(b.probability) == len(at)]
        kinds = len(np.unique(np.round(np.concatenate(rows, axis=1), 12), axis=0))
    return Ends(low, high, counts, kinds, together)


def _no_surer(value: float, low: float, high: float, beliefs: Sequence[Belief], least: float, most: float) -> Estimate:
    """Within the bounds, and never narrower than what a mode that no chain met could change: it may have the weight
    of one independent state."""
    unseen = max(float(b.diagnostics.facts.get("unseen_mode", 0.0)) for b in beliefs if b.chains is not None)
    if np.isfinite(value):
        scale = max(abs(value), most - least) if np.isfinite(most - least) else abs(value)
        low, high = min(low, value - unseen * scale), max(high, value + unseen * scale)
    return Estimate(value, min(max(low, least), value), max(min(high, most), value))


def _together(beliefs: Sequence[Belief]) -> list[tuple[int, ...]]:
    """Which beliefs are moved at a time: all of them if they have equally many chains, else each alone."""
    sampled = [(place, len(b.chains)) for place, b in enumerate(beliefs) if b.chains is not None]
    if len({chains for _, chains in sampled}) == 1:
        return [tuple(place for place, _ in sampled)]
    return [(place,) for place, _ in sampled]


def _shifts(beliefs: Sequence[Belief], moving: Sequence[int], level: float) -> Iterator[tuple[Floats, ...]]:
    """Arrays of beliefs as they might have come out; of chains that lie apart also what each chain says."""
    several = [shifted(b, level) if place in moving else repeat(b.probability) for place, b in enumerate(beliefs)]
    yield from zip(*several, strict=False)
    if any(beliefs[place].diagnostics.modes for place in moving):
        chains = [b.chains if place in moving else None for place, b in enumerate(beliefs)]
        for number in range(max(len(c) for c in chains if c is not None)):
            yield tuple(b.probability if c is None else c[number] for b, c in zip(beliefs, chains, strict=True))


def shifted(belief: Belief, level: float = LEVEL) -> Iterable[Floats]:
    """The belief as it might have come out: shifted along each contrast of its chains, up and down.

    As long as it takes for the error of any one number, or of anything that rises with it, to lie within with 95%.
    Beliefs move as their logarithms do, which keeps them above 0, and 0 what no chain believes.
    """
    assert belief.chains is not None
    return _kept(belief, level) if 2 * belief.chains.size <= SMALL else _shift(belief, level)


@lru_cache(maxsize=4)
def _kept(belief: Belief, level: float) -> tuple[Floats, ...]:
    return tuple(_shift(belief, level))


def _shift(belief: Belief, level: float) -> Iterator[Floats]:
    chains, pooled = belief.chains, belief.probability
    assert chains is not None
    mean = np.maximum(chains.mean(axis=0), 1e-300)
    for row in contrast_weights(len(chains)) * shift_size(len(chains) - 1, level):
        power = np.clip(np.tensordot(row, chains, axes=1) / mean, -20.0, 20.0)
        for sign in (1.0, -1.0):
            found = pooled * np.exp(sign * power)
            yield found / found.sum(axis=1, keepdims=True)


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

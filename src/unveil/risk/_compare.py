"""What every measure shares: intervals over the chains of one or more beliefs."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Belief, Estimate, t_quantile
from unveil.data.contrasts import contrast_weights, shift_size
from unveil.kernels.shifts import shift_beliefs

__all__ = [
    "LEVEL",
    "estimated",
    "estimated_share",
    "shifted",
    "stepped",
]

Floats = NDArray[np.float64]

LEVEL = 0.05  # outside an interval
RARE = 0.01  # who is nearer than errors this rare reach may be on either side of a threshold, and is counted as a kind
MOST_APART = 10  # kinds of people near a threshold: with more of them their number is nearly normal
REPLICATES = 200  # of numbers that move with the contrasts of the chains
ERRORS = 39  # drawn for a mean of guesses: all but two of 40 lie within the second largest, 95%
MOST_COMPARED = 1000  # people, to see whether they are of one kind
SMALL = 20_000_000  # numbers: beliefs shifted for one measure are kept for the next, up to this size


def estimated(
    measure: Callable[..., float], *beliefs: Belief, least: float = -np.inf, most: float = np.inf
) -> Estimate:
    """A smooth measure of one or more arrays of beliefs, with a 95% interval from the chains, inside [least, most].

    Equally many chains are taken in pairs: of readers of one run they share their draws, of separate runs they are
    independent, and the spread of the pairs is right for both.
    """
    if refits := _refitted(beliefs):
        rest = partial(estimated, measure, least=least, most=most)
        return _over_refits(measure, rest, beliefs, refits, least, most)
    value = float(measure(*(b.probability for b in beliefs)))
    counts = {len(b.chains) for b in beliefs if b.chains is not None}
    if not counts:
        return Estimate.exact(value)
    if len(counts) == 1:
        each = [_nth(measure, beliefs, range(len(beliefs)), i) for i in range(counts.pop())]
        low, high = _interval(each, apart=any(b.diagnostics.modes for b in beliefs))
        if np.isfinite([value, *each]).all() and not any(b.diagnostics.modes for b in beliefs):
            # What bends (a square) is too large by its variance, in one chain more than in all: the jackknife.
            bias = (float(np.mean(each)) - value) * len(each) / (len(each) - 1)
            low, high = min(low, low - bias), max(high, high - bias)
    else:
        low, high = _separate(measure, beliefs, value)
    return _no_surer(value, min(low, value), max(high, value), beliefs, least, most)


def _refitted(beliefs: Sequence[Belief]) -> list[int]:
    """Which beliefs were fitted again."""
    return [place for place, b in enumerate(beliefs) if b.chains is not None and b.diagnostics.refits]


def _over_refits(
    measure: Callable[..., float],
    rest: Callable[..., Estimate],
    beliefs: Sequence[Belief],
    refits: Sequence[int],
    least: float,
    most: float,
) -> Estimate:
    """Beliefs that were fitted again differ from what is believed as that does from what it might have been, so that
    the measure of each says how far the measure may lie off. The error of chains (`rest`) adds in squares.
    """
    found = rest(*(replace(b, chains=None) if place in refits else b for place, b in enumerate(beliefs)))
    count = min(len(b.chains) for b in (beliefs[place] for place in refits) if b.chains is not None)
    each = [_nth(measure, beliefs, refits, i) for i in range(count)]
    if not np.isfinite([found.value, *each]).all():
        return Estimate(found.value, min(found.low, *each), max(found.high, *each))
    half = t_quantile(count) * float(np.std(each, ddof=1))
    low = found.value - math.hypot(found.value - found.low, half)
    high = found.value + math.hypot(found.high - found.value, half)
    return Estimate(found.value, max(low, min(least, found.value)), min(high, max(most, found.value)))


def _of_columns(each: Callable[..., Floats], columns: NDArray[np.integer] | None, *arrays: Floats) -> Floats:
    return each(*(arrays if columns is None else (array[:, columns] for array in arrays)))


def _over(each: Callable[..., Floats], over: Callable[[Floats], float], arrays: Sequence[Floats]) -> float:
    """Over the people who count."""
    now = _rows(each(*arrays)).min(axis=0)
    return float(over(now[~np.isnan(now)]))


def _rows(numbers: Floats) -> Floats:
    """(conditions, people) of one condition or of several, all of which must hold."""
    return np.atleast_2d(np.asarray(numbers, dtype=np.float64))


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


def stepped(
    each: Callable[..., Floats],
    *beliefs: Belief,
    over: Callable[[Floats], float] = np.mean,
    ordered: bool = False,
    ranked: bool = False,
    drawn: bool = False,
    least: float = -np.inf,
    most: float = np.inf,
    columns: NDArray[np.integer] | None = None,
) -> Estimate:
    """A mean, quantile or maximum `over` a number of each person that jumps: a count, a guess, a rank.

    Contrasts of chains err as the pooled belief does, and people err in them as they do together: the measure at each
    contrast, there and back, differs from the value as the value does from the truth. Steps make that spread wide
    where many are near one, and the largest of these may be a single step, so the interval holds both. People on a
    threshold exactly count in the truth and, in half of all runs, not in what chains say: that does not average out,
    so whoever is too near to tell counts on both sides, further out if these are people of several kinds, so that all
    are right with 95%. Of a share that alone is the interval, as long as these kinds are few: each person is in truth
    on one side of the threshold, and can be taken for the other by errors of one sign only, half of all. A guess
    between equals is `drawn` by lot, and does average out. Numbers are `ranked` that change little by little, but for
    people who may not count at all, and `ordered` if each is the largest of several: of some values, if `columns` says
    which, and `each` gets those alone. It may give several conditions of each person, (conditions, people), all of
    which must hold: whoever is on the threshold of two may be moved over each by another error.
    """
    assert columns is None or ordered
    if refits := _refitted(beliefs):
        rest = partial(stepped, each, over=over, ordered=ordered, drawn=drawn, least=least, most=most, columns=columns)
        some = partial(_of_columns, each, columns)
        return _over_refits(lambda *arrays: _over(some, over, arrays), rest, beliefs, refits, least, most)
    now = _rows(_of_columns(each, columns, *(b.probability for b in beliefs)))
    at = now.min(axis=0)
    value = float(over(at[~np.isnan(at)]))
    if not any(b.chains is not None for b in beliefs):
        return Estimate.exact(value)
    share = over is np.mean and not (drawn or ordered) and bool(((at == 0) | (at == 1)).all())
    ends = _ends(each, now, beliefs, over, RARE if share else LEVEL, columns)
    few, beyond = share and ends.kinds < MOST_APART, 0.0
    if few or (ends.kinds > 1 and not (drawn or ordered)):
        level = 1 - (1 - (2 * LEVEL if few else LEVEL)) ** (1 / min(ends.kinds, MOST_APART))
        beyond = _beyond(ends, level) / len(at) if share and not few else 0.0
        ends = _ends(each, now, beliefs, over, level)
    by_ratio = least == 0 and most == np.inf
    if ranked and not any(_apart(b) for b in beliefs):
        low, high = _ranked(each, at, ends, beliefs, over, by_ratio=by_ratio)
        return _no_surer(value, min(low, value), max(high, value), beliefs, least, most)
    low, high = _mirrored(value, min(ends.together), max(ends.together), by_ratio=by_ratio)
    if ordered:  # two values may take turns to be a person's largest: then the number is least in between
        finite = np.isfinite(at) & np.isfinite(ends.low) & np.isfinite(ends.high)
        middle, down, up = at[finite], ends.low[finite], ends.high[finite]
        longer = np.maximum(middle - down, up - middle)
        ends.low[finite], ends.high[finite] = middle - longer, middle + longer
    elif few:
        low = high = value
    else:
        spread = (_drawn if drawn else _spread)(each, value, beliefs, over)
        low, high = min(low, value - spread), max(high, value + spread)
    if not drawn:
        low = min(low, float(over(ends.low[ends.counts | (ends.low < value)])) - beyond)
        high = max(high, float(over(ends.high[ends.counts | (ends.high > value)])) + beyond)
    return _no_surer(value, min(low, value), max(high, value), beliefs, least, most)


def _ranked(
    each: Callable[..., Floats],
    at: Floats,
    ends: "Ends",
    beliefs: Sequence[Belief],
    over: Callable[[Floats], float],
    *,
    by_ratio: bool,
) -> tuple[float, float]:
    """A quantile of numbers that change little by little, of people some of whom may not count at all.

    Whoever may or may not count does so at either end. To this is added how far the statistic moves while all numbers
    move with the contrasts of the chains, as often and as far as Student's t says; there, and back: the largest of
    many noisy numbers lies above the largest of the exact ones.
    """
    there = ~np.isnan(at)
    value = float(over(at[there]))
    number = np.where(there, at, (ends.low + ends.high) / 2)
    maybe = ~ends.counts & ~np.isnan(number)
    tie_low, tie_high = (float(over(number[ends.counts | (maybe & side)])) for side in (number < value, number > value))
    moved = [float(over(one)) for one in _replicates(each, at, beliefs, by_ratio=by_ratio)]
    least, most = (float(end) for end in np.quantile(moved, [LEVEL / 2, 1 - LEVEL / 2], method="nearest"))
    if not np.isfinite([value, tie_low, tie_high, least, most]).all():
        return min(tie_low, least), max(tie_high, most)
    least, most = _mirrored(value, least, most, by_ratio=by_ratio)
    return min(tie_low, value) - (value - least), max(tie_high, value) + (most - value)


def _replicates(
    each: Callable[..., Floats], at: Floats, beliefs: Sequence[Belief], *, by_ratio: bool
) -> Iterator[Floats]:
    """The numbers of those who count, as they might have come out: along all contrasts at once."""
    there = ~np.isnan(at)
    random = np.random.default_rng(REPLICATES)
    slopes, sizes = [], []
    for moving in _together(beliefs):
        shifts = [np.asarray(each(*arrays), dtype=np.float64)[there] for arrays in _shifts(beliefs, moving, None)]
        contrasts = len(shifts) // 2
        with np.errstate(invalid="ignore", divide="ignore"):
            both = zip(shifts[::2], shifts[1::2], strict=True)
            pairs = [(np.log(up / down) if by_ratio else up - down) / 2 for up, down in both]
        slopes += [np.where(np.isfinite(one), one, 0.0) for one in pairs]
        drawn = random.normal(size=(REPLICATES, contrasts))
        sizes.append(drawn / np.sqrt(random.chisquare(contrasts, size=(REPLICATES, 1))))
    for row in np.hstack(sizes):
        step = np.tensordot(row, slopes, axes=1)
        yield at[there] * np.exp(step) if by_ratio else at[there] + step


def _spread(
    each: Callable[..., Floats], value: float, beliefs: Sequence[Belief], over: Callable[[Floats], float]
) -> float:
    """How far the measure lies from its value at the contrasts of the chains, as far as 95% of such errors reach."""
    total = 0.0
    for moving in _together(beliefs):
        chains = min(len(b.chains) for b in (beliefs[place] for place in moving) if b.chains is not None)
        found = []
        for arrays in _shifts(beliefs, moving, None):
            found.append(_over(each, over, arrays))
        if np.isfinite([value, *found]).all():
            total += t_quantile(chains) ** 2 * float(np.mean((np.array(found) - value) ** 2))
    return math.sqrt(total)


def _drawn(
    each: Callable[..., Floats], value: float, beliefs: Sequence[Belief], over: Callable[[Floats], float]
) -> float:
    """How far the measure lies from its value at errors drawn along all contrasts at once, as far as Student's t says:
    people who err alone change sides one by one, those who err together at once."""
    total = 0.0
    for moving in _together(beliefs):
        several = [_errors(b) if place in moving else repeat(b.probability) for place, b in enumerate(beliefs)]
        off = sorted(abs(_over(each, over, arrays) - value) for arrays in zip(*several, strict=False))
        total += off[-2] ** 2
    return math.sqrt(total)


def _errors(belief: Belief) -> Iterable[Floats]:
    assert belief.chains is not None
    return _kept_errors(belief) if ERRORS * belief.probability.size <= SMALL else _err(belief)


@lru_cache(maxsize=4)
def _kept_errors(belief: Belief) -> tuple[Floats, ...]:
    return tuple(_err(belief))


def _err(belief: Belief) -> Iterator[Floats]:
    """Errors of one seed, so that readers of one run move together."""
    assert belief.chains is not None
    contrasts, random = len(belief.chains) - 1, np.random.default_rng(ERRORS)
    normal, spread = random.normal(size=(ERRORS, contrasts)), random.chisquare(contrasts, size=(ERRORS, 1))
    yield from _moved(belief, normal / np.sqrt(spread) @ contrast_weights(contrasts + 1), slice(None), whole=True)


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
    """The share of people of whom something holds, or all of several conditions (conditions, people)."""
    return stepped(measure, *beliefs, least=0.0, most=1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The least and the largest number of each person while beliefs err as much as their chains differ."""

    low: Floats  # (people,) nan: never counted
    high: Floats
    counts: NDArray[np.bool_]  # (people,) whether the person counts whatever the error
    kinds: int  # of people of whom it is not known on which side they are, by every condition
    of_kind: float  # people of a kind
    together: list[float]  # the measure where all err alike


def _ends(
    each: Callable[..., Floats],
    at: Floats,  # (conditions, people)
    beliefs: Sequence[Belief],
    over: Callable[[Floats], float],
    level: float,
    columns: NDArray[np.integer] | None = None,
) -> Ends:
    lows, highs, counts, together = at.copy(), at.copy(), ~np.isnan(at).any(axis=0), []
    for moving in _together(beliefs):
        for arrays in _shifts(beliefs, moving, level, columns):
            now = _rows(each(*arrays))
            there = ~np.isnan(now).any(axis=0)
            lows, highs, counts = np.fmin(lows, now), np.fmax(highs, now), counts & there
            together.append(float(over(now.min(axis=0)[there])))
    low, high = lows.min(axis=0), highs.min(axis=0)
    apart = (low < high) | (~counts & ~np.isnan(low))
    by_condition = [apart & (down < up) for down, up in zip(lows, highs, strict=True)] if len(lows) > 1 else [apart]
    comparable = [b for b in beliefs if len(b.probability) == len(low)]
    kinds = [_kinds(comparable, np.flatnonzero(some)) for some in by_condition]
    of_kind = float(apart.sum()) / max(*kinds, 1)
    return Ends(low, high, np.asarray(counts), max(sum(kinds), 1), of_kind, together)


def _kinds(beliefs: Sequence[Belief], people: NDArray[np.integer]) -> int:
    """Of how many kinds they are: of whom different things are believed."""
    rows = [b.probability[people[:MOST_COMPARED]] for b in beliefs]
    found = len(np.unique(np.hstack(rows), axis=0)) if len(people) and rows else 0
    return found * max(len(people) // MOST_COMPARED, 1)


def _beyond(ends: Ends, level: float) -> float:
    """People who err further than an error of this level reaches, to one side: of many kinds some may. People who share
    a code err in pairs or fours, and four chains do not tell: but however kinds depend on each other, n times as many
    as expected come with a chance of at most 1 / n (Markov)."""
    return (math.ceil(ends.kinds * level / 2 / LEVEL) - 1) * ends.of_kind


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


def _shifts(
    beliefs: Sequence[Belief], moving: Sequence[int], level: float | None, columns: NDArray[np.integer] | None = None
) -> Iterator[tuple[Floats, ...]]:
    """Arrays of beliefs as they might have come out; of chains that lie apart also what each chain says, and where one
    believes nothing of what others do. Without a level they err as much as the pooled belief does.
    """
    some: Any = slice(None) if columns is None else columns
    several = [
        shifted(b, level, columns) if place in moving else repeat(b.probability[:, some])
        for place, b in enumerate(beliefs)
    ]
    yield from zip(*several, strict=False)
    if any(beliefs[place].diagnostics.modes or (level and _apart(beliefs[place])) for place in moving):
        chains = [b.chains if place in moving else None for place, b in enumerate(beliefs)]
        for number in range(max(len(c) for c in chains if c is not None)):
            arrays = (b.probability if c is None else c[number] for b, c in zip(beliefs, chains, strict=True))
            yield tuple(array[:, some] for array in arrays)


@lru_cache(maxsize=6)
def _apart(belief: Belief) -> bool:
    """Whether chains lie in several places, or some chain believes nothing of what another does."""
    if belief.chains is None or belief.diagnostics.modes:
        return belief.chains is not None
    least = belief.chains.min(axis=0)
    return bool(((least <= 0) & (belief.probability > 0)).any())


def shifted(
    belief: Belief, level: float | None = LEVEL, columns: NDArray[np.integer] | None = None
) -> Iterable[Floats]:
    """The belief, or some of its values, as it might have come out: shifted along each contrast of its chains.

    As long as it takes for the error of any one number, or of anything that rises with it, to lie within with 95%.
    Beliefs move as their logarithms do, which keeps them above 0, and 0 what no chain believes.
    """
    assert belief.chains is not None
    if 2 * belief.chains.size <= SMALL:
        return _kept(belief, level) if columns is None else (one[:, columns] for one in _kept(belief, level))
    return _shift(belief, level) if columns is None else _shift_columns(belief, level, columns)


@lru_cache(maxsize=8)
def _kept(belief: Belief, level: float | None) -> tuple[Floats, ...]:
    return tuple(_shift(belief, level))


def _shift(belief: Belief, level: float | None) -> Iterator[Floats]:
    yield from _moved(belief, _contrasts(belief, level), slice(None), whole=True)


def _shift_columns(belief: Belief, level: float | None, columns: NDArray[np.integer]) -> Iterator[Floats]:
    """Some columns of what `_shift` gives: all values are gone through once, for what rows sum up to."""
    moved = _moved(belief, _contrasts(belief, level), columns)
    for found, total in zip(moved, _totals(belief, level), strict=True):
        yield found / total


@lru_cache(maxsize=16)
def _totals(belief: Belief, level: float | None) -> tuple[Floats, ...]:
    moved = _moved(belief, _contrasts(belief, level), slice(None))
    return tuple(found.sum(axis=1, keepdims=True) for found in moved)


def _contrasts(belief: Belief, level: float | None) -> Floats:
    """(shifts, chains) weights of each contrast, up and down."""
    assert belief.chains is not None
    count = len(belief.chains)
    size = 1.0 if level is None else shift_size(count - 1, level)
    return np.asarray(contrast_weights(count)[:, None] * np.array([[size], [-size]])).reshape(-1, count)


def _moved(belief: Belief, weights: Floats, columns: Any, *, whole: bool = False) -> Iterator[Floats]:
    """Along each of `weights` (shifts, chains); rows sum up to 1 if they are to be `whole`."""
    assert belief.chains is not None
    chains, pooled = _writable(belief.chains[:, :, columns]), _writable(belief.probability[:, columns])
    for row in weights:
        found = np.empty_like(pooled)
        shift_beliefs(chains, pooled, row, whole, found)
        yield found


def _writable(array: Floats) -> Floats:
    """The same, as the kernel was compiled for: read-only arrays would have it compiled again."""
    return array if array.flags.writeable and array.flags.c_contiguous else np.array(array, order="C")

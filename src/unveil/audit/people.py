"""One reader beside the learner, about some people: a number about them, and what a sample says of everybody."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import hypot, inf, isfinite

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Belief, Estimate
from unveil.risk.sampling import sampled_quantile, sampled_share

__all__ = ["Measure", "People", "Sample"]

TOP = 0.5  # quantiles above it are about the most exposed

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """One reader beside the learner, about the same people; the truth where it is known."""

    reader: Belief
    learner: Belief
    truth: NDArray[np.integer] | None

    def take(self, which: NDArray[np.integer]) -> "People":
        """These people, pooled beliefs only."""
        reader, learner = self.reader.pooled(which), self.learner.pooled(which)
        return People(reader, learner, None if self.truth is None else self.truth[which])

    def holding(self, code: int) -> "People":
        """The people whose true value this is, chains and all."""
        assert self.truth is not None
        which = np.flatnonzero(self.truth == code)
        return People(self.reader.of(which), self.learner.of(which), self.truth[which])


@dataclass(frozen=True, slots=True)
class Measure:
    """One number about a reader's beliefs: id `[reader.]name`."""

    name: str
    of: Callable[[People], Estimate]
    needs_truth: bool = False
    of_learner: bool = False  # reported for the learner as well, whose value is the baseline
    has_baseline: bool = False  # the learner's value is the baseline, without a finding of its own
    most: float | None = None  # a maximum over people, and what it can be at most: a sample's may lie below it
    code: int | None = None  # the sensitive value it is about
    each: Callable[[People], Floats] | None = None  # one number a person, nan: not counted; `of` is their mean
    q: float | None = None  # ... or this quantile of them
    span: tuple[float, float] = (0.0, 1.0)  # what the number of one person can be
    least: float = -inf  # what that of everybody can be, where it is more


@dataclass(frozen=True, slots=True)
class Sample:
    """A simple random sample of people without replacement: what it says of all of them (see `risk.sampling`)."""

    people: int  # in all

    def widened(self, measure: Measure, people: People, estimate: Estimate) -> Estimate:
        """Add the sample's error to the Monte-Carlo error, in squares; beyond the sample a maximum and the upper
        quantiles are unknown."""
        if measure.most is not None:
            return replace(estimate, high=max(measure.most, estimate.value))
        if measure.each is None:  # a moment: those who were not asked may change it at will
            return Estimate(estimate.value, -inf, inf)
        found = self._of_all(measure, measure.each(people))
        low, high = min(found.low, estimate.value), max(found.high, estimate.value)
        if not isfinite(estimate.value):
            return Estimate(estimate.value, min(low, estimate.low), high)
        least = max(measure.span[0], measure.least)
        if measure.q is not None and measure.q > TOP:  # the few who lie there are whom a sample misses
            high = inf
        below = estimate.value - hypot(estimate.value - estimate.low, estimate.value - low)
        above = estimate.value + hypot(estimate.high - estimate.value, high - estimate.value)
        return Estimate(estimate.value, max(below, least), min(above, measure.span[1]))

    def _of_all(self, measure: Measure, each: Floats) -> Estimate:
        """The mean or quantile over everybody who counts, by the sample alone."""
        counts = ~np.isnan(each)
        everyone = self.people
        if not counts.all():  # how many count is itself known from the sample: at most these, which is the widest
            everyone = round(sampled_share(counts.astype(np.float64), self.people).high * self.people)
        each = each[counts]
        least, most = measure.span
        if not len(each):
            return Estimate(max(least, 0.0), least, most)
        if measure.q is not None:
            return sampled_quantile(each, measure.q, everyone)
        if least < 0:  # gains and losses, each with what the sample may have missed of them
            gain, loss = (sampled_share(np.maximum(one, 0.0), everyone) for one in (each, -each))
            return Estimate(gain.value - loss.value, gain.low - loss.high, gain.high - loss.low)
        share = sampled_share(np.clip(each / most, 0.0, 1.0), everyone)
        return Estimate(share.value * most, share.low * most, share.high * most)

"""Findings of one release and one sensitive attribute, from what every reader believes."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from threading import Event
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.audit.asking import Answers
from unveil.audit.belief_measures import measures_of
from unveil.audit.document import Finding
from unveil.audit.people import Measure, People, Sample
from unveil.data.belief import Belief, Estimate
from unveil.errors import UsageError

__all__ = ["belief_findings", "largest", "measure_of", "published_counts"]

GRACE = 4.0  # seconds that measuring goes on after a stop: what was learned is worth a few figures


def belief_findings(
    found: Answers,
    release: str,
    *,
    wanted: Sequence[str] = (),
    sample: Sample | None = None,
    least: int = 0,
    stop: Event | None = None,
) -> Iterator[Finding]:
    """Every measure of every attacker, those of the learner, and what both are compared with.

    `wanted`: ids that limits name. `least`: values held by fewer people get no finding of their own. `stop`: once it is
    set, what single values would tell is unknown at once, and the rest after a few seconds.
    """
    over = _Over(stop)
    name = found.attribute.name
    counts = published_counts(found) if found.held is None else found.held
    measures = [m for m in measures_of(found.attribute, wanted, counts) if m.code is None or counts[m.code] >= least]
    learner = People(found.learner, found.learner, found.truth)
    base: dict[str, Estimate] = {}
    for measure in measures:
        if measure.of_learner or measure.has_baseline:
            estimate = None if over(measure) else measure_of(measure, learner, sample)
            if estimate is not None:
                base[measure.name] = estimate
            if measure.of_learner:
                yield Finding.of(measure.name, release, name, estimate, reader="learner")
    if (fair := found.without.get("")) is not None and found.truth is not None:
        guessed = next(m for m in measures if m.name == "global_threat")
        estimate = measure_of(guessed, People(fair, fair, found.truth), sample)
        yield Finding.of("global_threat", release, name, estimate, reader="learner_without")
    for attacker, belief in found.attackers.items():
        learners = {"learner": found.learner}
        if (left_out := found.without.get(attacker, fair)) is not None and len(left_out.probability) == len(
            belief.probability
        ):
            learners["learner_without"] = left_out
        for measure in measures:
            estimate, against = (
                (None, None) if over(measure) else largest(measure, belief, learners, found.truth, sample)
            )
            under = None if estimate is None else base.get(measure.name)
            yield Finding.of(
                measure.name,
                release,
                name,
                estimate,
                None if under is None else under.value,
                reader=attacker,
                against=against,
            )
        if found.controls is not None and found.truth is not None and attacker in found.controls.attackers:
            gap = risk.member_advantage(belief, found.truth, found.controls.attackers[attacker], found.controls.truth)
            yield Finding.of("member_advantage", release, name, gap, 0.0, reader=attacker)
    published = published_counts(found)
    if published.sum() and len(published) == found.attribute.codes:  # of a perturbed number it is of what is shown
        yield Finding.of("baseline_accuracy", release, name, risk.baseline_accuracy(published))
    ideal = None
    if found.ideal is not None and found.truth is not None:
        guessed = next(m for m in measures if m.name == "global_threat")
        ideal = measure_of(guessed, People(found.ideal, found.ideal, found.truth), sample)
    if ideal is not None or found.ideal is None or found.truth is None:
        yield Finding.of("global_threat", release, name, ideal, reader="ideal")
    yield Finding.of("faithfulness", release, name, found.faithful)


class _Over:
    """Whether there is no time left for a measure: people by values are gone through several times for each."""

    def __init__(self, stop: Event | None) -> None:
        self._stop, self._since = stop, inf

    def __call__(self, measure: Measure) -> bool:
        if self._stop is None or not self._stop.is_set():
            return False
        self._since = min(self._since, monotonic())
        return measure.code is not None or monotonic() - self._since > GRACE


def largest(
    measure: Measure,
    belief: Belief,
    learners: Mapping[str, Belief],
    truth: NDArray[np.integer] | None,
    sample: Sample | None,
) -> tuple[Estimate | None, str | None]:
    """The estimate; of a threat beyond a learner's the largest, and beyond whose it is."""
    beside = measure.name.startswith("relative_") and not measure.name.endswith("skewness")
    found = {}
    for name, learner in learners.items() if beside else [("learner", learners["learner"])]:
        if (estimate := measure_of(measure, People(belief, learner, truth), sample)) is not None:
            found[name] = estimate
    if not found:
        return None, None
    worst = max(found, key=lambda name: (found[name].value, found[name].high, name))
    return found[worst], worst if beside else None


def measure_of(measure: Measure, people: People, sample: Sample | None) -> Estimate | None:
    """The estimate, widened by the sample; None where it needs a truth that is not known."""
    if measure.needs_truth and people.truth is None:
        return None
    try:
        estimate = measure.of(people)
        return estimate if sample is None else sample.widened(measure, people, estimate)
    except UsageError:  # a numeric truth that is missing for everyone
        return None


def published_counts(found: Answers) -> NDArray[np.int64]:
    """(values,) how many published rows show each value outright; none of a release whose values were perturbed."""
    if not hasattr(found.release, "blocks"):
        return np.zeros(found.attribute.codes, dtype=np.int64)
    histograms, _ = found.release.histograms(found.targets.asked)
    return np.asarray(histograms.sum(axis=0))

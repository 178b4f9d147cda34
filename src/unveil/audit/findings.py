"""Findings of one release and one sensitive attribute, from what every reader believes."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.audit.asking import Answers
from unveil.audit.belief_measures import Measure, People, Sample, measures_of
from unveil.audit.document import Finding
from unveil.data.belief import Belief, Estimate
from unveil.errors import UsageError
from unveil.risk.sampling import stepped

__all__ = ["belief_findings", "measure_of", "published_counts"]


def belief_findings(
    found: Answers, release: str, *, wanted: Sequence[str] = (), sample: Sample | None = None, least: int = 0
) -> Iterator[Finding]:
    """Every measure of every attacker, those of the learner, and what both are held against.

    `wanted`: ids that limits name. `least`: values held by fewer people get no finding of their own.
    """
    name = found.attribute.name
    counts = published_counts(found)
    if found.truth is not None:
        counts = np.bincount(found.truth, minlength=found.attribute.codes)
    measures = [m for m in measures_of(found.attribute, wanted, counts) if m.code is None or counts[m.code] >= least]
    learner = People(found.learner, found.learner, found.truth)
    base: dict[str, Estimate] = {}
    for measure in measures:
        if measure.of_learner or measure.has_baseline:
            estimate = measure_of(measure, learner, sample)
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
            estimate, against = _largest(measure, belief, learners, found.truth, sample)
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
            gap = member_advantage(belief, found.truth, found.controls.attackers[attacker], found.controls.truth)
            yield Finding.of("member_advantage", release, name, gap, 0.0, reader=attacker)
    published = published_counts(found)
    if published.sum():
        yield Finding.of("baseline_accuracy", release, name, risk.baseline_accuracy(published))
    ideal = None
    if found.ideal is not None and found.truth is not None:
        guessed = next(m for m in measures if m.name == "global_threat")
        ideal = measure_of(guessed, People(found.ideal, found.ideal, found.truth), sample)
    if ideal is not None or found.ideal is None or found.truth is None:
        yield Finding.of("global_threat", release, name, ideal, reader="ideal")
    yield Finding.of("faithfulness", release, name, found.faithful)


def _largest(
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


def member_advantage(
    members: Belief, truth: NDArray[np.integer], controls: Belief, control_truth: NDArray[np.integer]
) -> Estimate:
    """Success on members minus success on people who are not in the table (Clifton and Tassa 2013).

    Both groups count as samples of the people one might ask about: 95% by Newcombe's square-and-add of Wilson's
    intervals (1998, method 10), which have a width where everyone is guessed right; the chains' error is added likewise.
    """
    inside, outside = _hits(members.probability, truth), _hits(controls.probability, control_truth)
    gap = float(inside.mean() - outside.mean())
    (low_in, high_in), (low_out, high_out) = (_wilson(float(hits.mean()), len(hits)) for hits in (inside, outside))
    scale = (len(inside) + len(outside)) / np.array([len(inside), -len(outside)])
    each = lambda a, b: np.concatenate([_hits(a, truth) * scale[0], _hits(b, control_truth) * scale[1]])  # noqa: E731
    chains = stepped(each, members, controls, drawn=True, least=-1.0, most=1.0)
    below = math.hypot(inside.mean() - low_in, high_out - outside.mean(), gap - chains.low)
    above = math.hypot(high_in - inside.mean(), outside.mean() - low_out, chains.high - gap)
    return Estimate(gap, max(gap - below, -1.0), min(gap + above, 1.0))


def _wilson(share: float, people: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share among so many sampled people (1927)."""
    square = 1.96**2 / people
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(share * (1 - share) * square + square**2 / 4) / (1 + square)
    return min(middle - half, share), max(middle + half, share)


def _hits(p: NDArray[np.float64], truth: NDArray[np.integer]) -> NDArray[np.float64]:
    """(people,) the chance of a right guess, one of several modes at random."""
    modes = p >= p.max(axis=1, keepdims=True) * (1 - 1e-12)
    return np.asarray(modes[np.arange(len(p)), truth] / modes.sum(axis=1))

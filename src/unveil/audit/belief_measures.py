"""The measures of beliefs that an audit reports: their ids, what they need, and how a sample of people widens them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import hypot, inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.data.attribute import Attribute, Kind
from unveil.data.belief import Belief, Estimate
from unveil.engine import Engine
from unveil.risk import news

__all__ = ["CUT", "MOST_VALUES", "Measure", "People", "Sample", "cut", "labels_of", "measures_of"]

CUT = 80  # characters of a value or label that stay in a document
MOST_VALUES = 100  # sensitive values that get findings of their own
TIMES = 200  # bootstrap draws
SHARES = (
    "global_threat",
    "relative_global_threat",
    "accuracy",
    "confident",
    "confident_right",
    "similar",
    "near_truth",
    "belief_gain",
)


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
    each: Callable[[People], NDArray[np.float64]] | None = (
        None  # one number a person, nan: not counted; `of`: their mean
    )


@dataclass(frozen=True, slots=True)
class Sample:
    """A simple random sample of people without replacement: intervals by bootstrap, finite population corrected."""

    people: int  # in all
    engine: Engine = field(default_factory=lambda: Engine(seed=0))

    def widened(self, measure: Measure, people: People, estimate: Estimate) -> Estimate:
        """Add the sample's error to the Monte-Carlo error, in squares; a maximum has no upper end but its bound."""
        if measure.most is not None:
            return replace(estimate, high=max(measure.most, estimate.value))
        count = len(people.reader.probability)
        if count < 2 or not isfinite(estimate.value):
            return Estimate(estimate.value, -inf, inf)
        random = self.engine.named(f"sample/{measure.name}").generator()
        drawn = (random.integers(0, count, count) for _ in range(TIMES))
        if measure.each is None:
            values = np.array([measure.of(people.take(again)).value for again in drawn])
        else:
            values = _means(measure.each(people), drawn)
        left = max(1 - count / self.people, 0.0) ** 0.5
        low, high = (abs(float(np.quantile(values, q)) - estimate.value) * left for q in (0.025, 0.975))
        least, most = _bounds(measure.name)
        below = estimate.value - hypot(estimate.value - estimate.low, low)
        above = estimate.value + hypot(estimate.high - estimate.value, high)
        return Estimate(estimate.value, max(below, least), min(above, most))


def _means(each: NDArray[np.float64], drawn: Iterable[NDArray[np.integer]]) -> NDArray[np.float64]:
    """(draws,) mean over the people drawn who count; 0 of nobody, which a bootstrap may draw."""
    counts = ~np.isnan(each)
    each = np.where(counts, each, 0.0)
    return np.array([each[again].sum() / max(int(counts[again].sum()), 1) for again in drawn])


def _bounds(name: str) -> tuple[float, float]:
    """What a measure can be: a share, an error or a ratio of at least 0, a gain or a skewness of either sign."""
    measure, _, statistic = name.partition(".")
    share = measure in SHARES or statistic.startswith("share_")
    return (-inf if statistic == "skewness" or measure == "belief_gain" else 0.0), 1.0 if share else inf


def cut(text: str) -> str:
    """A value or label as a document holds it."""
    return text if len(text) <= CUT else text[: CUT - 1] + "…"


def labels_of(attribute: Attribute) -> tuple[str, ...]:
    """Each value's label in finding ids: cut, and still told apart."""
    labels = [cut(value) for value in attribute.values]
    seen: set[str] = set()
    for code, label in enumerate(labels):
        if label in seen:
            mark = f"…#{code}"
            labels[code] = f"{label[: CUT - len(mark)]}{mark}"
        seen.add(labels[code])
    return tuple(labels)


def measures_of(
    attribute: Attribute, wanted: Iterable[str] = (), counts: NDArray[np.integer] | None = None
) -> list[Measure]:
    """Every measure that makes sense for an attribute, and those that limits ask for by another number.

    `counts` (values,): how many people hold or show each value; the most frequent get findings of their own, as do
    those that are asked for.
    """
    harmless = attribute.harmless if len(attribute.harmless) < attribute.codes else None
    found = [
        Measure("global_threat", _of_truth(risk.global_threat), needs_truth=True, of_learner=True, each=_guessed),
        Measure("relative_global_threat", _beside(risk.relative_global_threat), needs_truth=True),
        Measure("accuracy", _of_truth(risk.accuracy), needs_truth=True, of_learner=True, each=_guessed),
        Measure("relative_threat.max", _beside(risk.relative_threat_max), needs_truth=True, most=inf),
        Measure("relative_threat.skewness", _beside(risk.relative_threat_skewness), needs_truth=True),
        Measure("absolute_error", _of_truth(risk.absolute_error), needs_truth=True, of_learner=True),
        Measure("squared_error", _of_truth(risk.squared_error), needs_truth=True, of_learner=True),
    ]
    numbered = ["relative_threat.q95", "relative_threat.share_2x"]
    if counts is not None and counts.sum():
        found += _news(attribute, np.asarray(counts / counts.sum()), attribute.harmless)
    if harmless is not None:
        gain = partial(_gain, risk.belief_difference_max, harmless=harmless)
        found += [
            Measure("belief_gain", gain, most=1.0),
            Measure("belief_ratio.max", partial(_gain, risk.belief_ratio_max, harmless=harmless), most=inf),
        ]
        numbered += ["belief_gain.q95", "confident.80", "confident_right.80"]
        level = _level_of_kinds(attribute)
        if level != -1:
            found.append(Measure("similar", partial(_similar, attribute, level, harmless)))
    if attribute.kind.measured and attribute.real:
        found.append(
            Measure("expected_absolute_error", partial(_error, attribute), needs_truth=True, has_baseline=True)
        )
        widths = partial(_widths, attribute)
        found.append(Measure("interval_width", partial(_width, attribute), has_baseline=True, each=widths))
        if attribute.kind is Kind.NUMERIC:
            numbered.append("near_truth.10")
    for name in dict.fromkeys([*numbered, *wanted]):
        measure = _numbered(name, attribute, harmless)
        if measure is not None:
            found.append(measure)
    return [*found, *_of_values(attribute, set(wanted), counts)]


def _news(attribute: Attribute, share: NDArray[np.float64], harmless: Sequence[int]) -> Iterator[Measure]:
    """What readers are sure of, and could not have said of anybody."""
    own: dict[str, Any] = {"needs_truth": True, "of_learner": True}
    for level in (80, 95):
        told = partial(_disclosed, share=share, at_least=level / 100, harmless=tuple(harmless))
        yield Measure(f"disclosed.{level}", told, **own)
    yield Measure("misled.80", lambda p: news.misled(p.reader, _truth(p), share, harmless=harmless), **own)
    raised = lambda p: news.raised(p.reader, p.learner, _truth(p), share, harmless=harmless)  # noqa: E731
    yield Measure("raised.10x", raised, needs_truth=True)
    if attribute.kind.measured and attribute.real > 1:
        yield Measure("narrowed.80", lambda p: news.narrowed(p.reader, _truth(p), share, attribute), **own)
    found = news.kinds_of(attribute)
    if found is None:
        return
    node, labels = found
    weight = np.bincount(node, weights=share, minlength=len(labels)).astype(np.float64)
    fine = [k for k in range(len(labels)) if set(np.flatnonzero(node == k).tolist()) <= set(harmless)]
    for level in (80, 95):
        told = partial(_disclosed, share=weight, at_least=level / 100, harmless=tuple(fine), node=node)
        yield Measure(f"disclosed_kind.{level}", told, **own)


def _disclosed(
    people: People,
    *,
    share: NDArray[np.float64],
    at_least: float,
    harmless: tuple[int, ...],
    node: NDArray[np.int64] | None = None,
) -> Estimate:
    reader, truth = people.reader, _truth(people)
    if node is not None:
        reader, truth = news.in_kinds(reader, node, len(share)), node[truth]
    return news.disclosed(reader, truth, share, at_least=at_least, harmless=harmless)


def _of_truth(function: Callable[..., Estimate], **options: float) -> Callable[[People], Estimate]:
    return lambda p: function(p.reader, p.truth, **options)


def _beside(function: Callable[..., Estimate], **options: float) -> Callable[[People], Estimate]:
    return lambda p: function(p.reader, p.learner, p.truth, **options)


def _gain(function: Callable[..., Estimate], p: People, **options: object) -> Estimate:
    return function(p.reader, p.learner, **options)


def _similar(attribute: Attribute, level: int | None, harmless: tuple[int, ...], p: People) -> Estimate:
    return risk.similar_share(p.reader, attribute, level=level, harmless=harmless)


def _error(attribute: Attribute, p: People) -> Estimate:
    assert p.truth is not None
    return risk.expected_absolute_error(p.reader, p.truth, attribute)


def _width(attribute: Attribute, p: People) -> Estimate:
    return risk.interval_width_mean(p.reader, attribute)


def _widths(attribute: Attribute, p: People) -> NDArray[np.float64]:
    return risk.interval_width(p.reader, attribute)


def _level_of_kinds(attribute: Attribute) -> int | None:
    """None: the schema's classes; a level of the hierarchy; -1: values are of no kinds."""
    if any(members for _, members in attribute.classes):
        return None
    hierarchy = attribute.hierarchy
    if hierarchy is not None and hierarchy.height > 1 and len(hierarchy.labels[1]) > 1:
        return 1
    return -1


_NUMBER = r"(\d+(?:\.\d+)?)"


def _numbered(name: str, attribute: Attribute, harmless: tuple[int, ...] | None) -> Measure | None:
    """A measure whose statistic holds a number: a quantile, a share, a level of belief."""
    measure, _, statistic = name.partition(".")
    quantile = re.fullmatch(f"q{_NUMBER}", statistic)
    share = re.fullmatch(f"share_{_NUMBER}x", statistic)
    plain = re.fullmatch(_NUMBER, statistic)
    if quantile and float(quantile[1]) <= 100:
        q = float(quantile[1]) / 100
        if measure == "relative_threat":
            return Measure(name, _beside(risk.relative_threat_quantile, q=q), needs_truth=True)
        function = {"belief_gain": risk.belief_difference_quantile, "belief_ratio": risk.belief_ratio_quantile}
        if measure in function and harmless is not None:
            return Measure(name, partial(_gain, function[measure], q=q, harmless=harmless))
    if share and measure == "relative_threat":
        return Measure(name, _beside(risk.relative_threat_share, at_least=float(share[1])), needs_truth=True)
    if plain and float(plain[1]) <= 100:
        level = float(plain[1]) / 100
        if measure == "near_truth" and attribute.kind is Kind.NUMERIC and attribute.real:
            return Measure(
                name,
                lambda p: risk.near_truth(p.reader, _truth(p), attribute, within=level),
                needs_truth=True,
                has_baseline=True,
            )
        if harmless is None or level == 0:
            return None
        if measure == "confident":
            return Measure(name, lambda p: risk.confident(p.reader, at_least=level, harmless=harmless), of_learner=True)
        if measure == "confident_right":
            return Measure(
                name,
                lambda p: risk.confident_right(p.reader, _truth(p), at_least=level, harmless=harmless),
                needs_truth=True,
                of_learner=True,
            )
    return None


def _truth(people: People) -> NDArray[np.integer]:
    assert people.truth is not None
    return people.truth


def _of_values(attribute: Attribute, wanted: set[str], counts: NDArray[np.integer] | None) -> Iterator[Measure]:
    """Findings of single values, harmless ones left out."""
    labels = labels_of(attribute)
    asked = {code for code, label in enumerate(labels) if any(w.endswith(f".value:{label}") for w in wanted)}
    frequent = range(attribute.codes)
    if counts is not None and attribute.codes > MOST_VALUES:
        frequent = np.argsort(-counts, kind="stable")[:MOST_VALUES].tolist()
    for code in sorted({*frequent, *asked} - set(attribute.harmless)):
        others = tuple(c for c in range(attribute.codes) if c != code)
        if counts is None or counts[code] > 0:
            yield Measure(
                f"global_threat.value:{labels[code]}",
                partial(_threat_of_value, code),
                needs_truth=True,
                has_baseline=True,
                code=code,
                each=partial(_guessed, code=code),
            )
        gain = partial(_gain, risk.belief_difference_max, harmless=others)
        yield Measure(f"belief_gain.value:{labels[code]}", gain, most=1.0, code=code)


def _guessed(people: People, code: int | None = None) -> NDArray[np.float64]:
    """(people,) the chance of a right guess, of those with this value if one is given."""
    truth = _truth(people)
    guessed = risk.right_guess(people.reader, truth)
    return guessed if code is None else np.where(truth == code, guessed, np.nan)


def _threat_of_value(code: int, people: People) -> Estimate:
    """Of the people with this value, the share who are guessed right; 0 of nobody."""
    those = people.holding(code)
    if not len(those.reader.probability):
        return Estimate.exact(0.0)
    return risk.global_threat(those.reader, _truth(those))

"""The measures of beliefs that an audit reports: their ids, and what they need."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.audit.people import Measure, People
from unveil.data.attribute import Attribute, Kind
from unveil.data.belief import Belief, Estimate
from unveil.errors import UsageError
from unveil.risk import news

__all__ = ["CUT", "MOST_VALUES", "cut", "labels_of", "measures_of"]

CUT = 80  # characters of a value or label that stay in a document
MOST_VALUES = 100  # sensitive values that get findings of their own
TIE = 1e-12  # numbers this close, relative to the larger, are equal

Floats = NDArray[np.float64]


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
        Measure(
            "relative_global_threat",
            _beside(risk.relative_global_threat),
            needs_truth=True,
            each=_guessed_more,
            span=(-1.0, 1.0),
            least=0.0,
        ),
        Measure("accuracy", _of_truth(risk.accuracy), needs_truth=True, of_learner=True, each=_guessed),
        Measure("calibration_error", _of_truth(risk.calibration_error), needs_truth=True, of_learner=True),
        Measure("relative_threat.max", _beside(risk.relative_threat_max), needs_truth=True, most=inf),
        Measure("relative_threat.skewness", _beside(risk.relative_threat_skewness), needs_truth=True),
        *(
            Measure(name, _of_truth(function), needs_truth=True, of_learner=True, each=each, span=(0.0, 2.0))
            for name, function, each in (
                ("absolute_error", risk.absolute_error, _absolute_errors),
                ("squared_error", risk.squared_error, _squared_errors),
            )
        ),
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
        numbered += ["belief_gain.q95", "confident.80", "confident_right.80", "confident_wrong.80", "overconfidence.80"]
        level = _level_of_kinds(attribute)
        if level != -1:
            alike = {"attribute": attribute, "level": level, "harmless": harmless}
            found.append(
                Measure(
                    "similar",
                    lambda p: risk.similar_share(p.reader, **alike),  # type: ignore[arg-type]
                    each=lambda p: risk.similar(p.reader, **alike).astype(np.float64),  # type: ignore[arg-type]
                )
            )
    if attribute.kind.measured and attribute.real:
        error, widths = partial(_error, attribute), partial(_widths, attribute)
        place = attribute.positions()[: attribute.real]
        found.append(
            Measure(
                "expected_absolute_error",
                error,
                needs_truth=True,
                has_baseline=True,
                each=partial(_one_by_one, error),
                span=(0.0, float(np.ptp(place))),
            )
        )
        found.append(
            Measure(
                "interval_width",
                partial(_width, attribute),
                has_baseline=True,
                each=widths,
                span=(0.0, _whole_range(attribute)),
            )
        )
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
    spare: dict[str, Any] = {"share": share, "harmless": tuple(harmless)}
    for level in (80, 90, 95):
        yield _disclosed_measure(f"disclosed.{level}", level / 100, [spare], own)
    yield Measure(
        "misled.80",
        lambda p: news.misled(p.reader, _truth(p), **spare),
        **own,
        each=lambda p: _numbers(news.misled_people(p.reader.probability, _truth(p), **spare)),
    )
    yield Measure("mode_gain", partial(_mode_gain, **spare), **own, each=partial(_beyond_mode, **spare), span=(-1, 1))
    yield Measure(
        "raised.10x",
        lambda p: news.raised(p.reader, p.learner, _truth(p), **spare),
        needs_truth=True,
        each=lambda p: _numbers(
            news.raised_people(p.reader.probability, p.learner.probability, _truth(p), **spare),
        ),
    )
    worst = lambda p: news.raised_of_value(p.reader, _truth(p), **spare)  # noqa: E731
    yield Measure("raised.of_a_value", worst, **own, most=1.0)
    if attribute.kind.measured and attribute.real > 1:
        yield _narrowed_measure("narrowed.80", share, attribute, own, mass=0.8, width=0.1)
    if attribute.kind.ordered and attribute.real > 3:
        yield _narrowed_measure("narrowed.95", share, attribute, own, mass=0.95, width=0.2)
        half = news.halves(attribute, share)
        yield _disclosed_measure(
            "disclosed_half.95", 0.95, [_in_kinds(half, int(half.max()) + 1, share, harmless)], own
        )
    kinds = [_in_kinds(node, len(labels), share, harmless) for node, labels in news.kinds_of(attribute)]
    for level in (80, 95) if kinds else ():
        yield _disclosed_measure(f"disclosed_kind.{level}", level / 100, kinds, own)


def _in_kinds(
    node: NDArray[np.int64], kinds: int, share: NDArray[np.float64], harmless: Sequence[int]
) -> dict[str, Any]:
    """How common kinds of values are, and which hold harmless values only."""
    weight = np.bincount(node, weights=share, minlength=kinds).astype(np.float64)
    fine = tuple(k for k in range(kinds) if set(np.flatnonzero(node == k).tolist()) <= set(harmless))
    return {"share": weight, "harmless": fine, "node": node}


def _disclosed_measure(
    name: str, at_least: float, kinds: Sequence[Mapping[str, Any]], own: Mapping[str, Any]
) -> Measure:
    """By the way of taking values as kinds that tells most."""

    def each(people: People) -> Floats:
        told = [_numbers(news.disclosed_people(b.probability, t, at_least=at_least, **o)) for b, t, o in seen(people)]
        return max(told, key=np.sum)

    def of(people: People) -> Estimate:
        found = [news.disclosed(belief, truth, at_least=at_least, **options) for belief, truth, options in seen(people)]
        return max(found, key=lambda e: (e.value, e.high))

    def seen(people: People) -> Iterator[tuple[Belief, NDArray[np.integer], dict[str, Any]]]:
        for options in ({**kind} for kind in kinds):
            node = options.pop("node", None)
            if node is None:
                yield people.reader, _truth(people), options
            else:
                belief = news.in_kinds(people.reader, node, len(options["share"]))
                yield belief, node[_truth(people)], options

    return Measure(name, of, **own, each=each)


def _narrowed_measure(
    name: str, share: NDArray[np.float64], attribute: Attribute, own: Mapping[str, Any], **told: float
) -> Measure:
    return Measure(
        name,
        lambda p: news.narrowed(p.reader, _truth(p), share, attribute, **told),
        **own,
        each=lambda p: _numbers(news.narrowed_people(p.reader.probability, _truth(p), share, attribute, **told)),
    )


def _numbers(holds: NDArray[np.bool_]) -> Floats:
    return np.asarray(holds, dtype=np.float64)


def _beyond_mode(people: People, *, share: NDArray[np.float64], harmless: tuple[int, ...]) -> Floats:
    """(people,) the chance of a right guess of a value somebody minds, minus the share of the most frequent one."""
    often = float(np.delete(share, list(harmless)).max(initial=0.0))
    return np.where(np.isin(_truth(people), harmless), 0.0, _guessed(people)) - often


def _mode_gain(people: People, **options: Any) -> Estimate:
    threat = risk.global_threat(people.reader, _truth(people))
    value = float(_beyond_mode(people, **options).mean())
    return Estimate(value, value - (threat.value - threat.low), value + (threat.high - threat.value))


def _of_truth(function: Callable[..., Estimate], **options: float) -> Callable[[People], Estimate]:
    return lambda p: function(p.reader, p.truth, **options)


def _beside(function: Callable[..., Estimate], **options: float) -> Callable[[People], Estimate]:
    return lambda p: function(p.reader, p.learner, p.truth, **options)


def _gain(function: Callable[..., Estimate], p: People, **options: object) -> Estimate:
    return function(p.reader, p.learner, **options)


def _error(attribute: Attribute, p: People) -> Estimate:
    assert p.truth is not None
    return risk.expected_absolute_error(p.reader, p.truth, attribute)


def _width(attribute: Attribute, p: People) -> Estimate:
    return risk.interval_width_mean(p.reader, attribute)


def _widths(attribute: Attribute, p: People) -> Floats:
    return risk.interval_width(p.reader, attribute)


def _whole_range(attribute: Attribute) -> float:
    """The width of an interval that holds every value."""
    even = np.zeros((1, attribute.codes))
    even[0, : attribute.real] = 1 / attribute.real
    return float(risk.interval_width(Belief(even), attribute, mass=1.0)[0])


def _one_by_one(of: Callable[[People], Estimate], people: People) -> Floats:
    """(people,) a mean of one person each; nan where a person does not count."""
    found = np.full(len(people.reader.probability), np.nan)
    for person in range(len(found)):
        try:
            found[person] = of(people.take(np.array([person]))).value
        except UsageError:  # a truth that is missing
            continue
    return found


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
            beside = _beside(risk.relative_threat_quantile, q=q)
            return Measure(name, beside, needs_truth=True, each=_relative_threats, q=q, span=(0.0, inf))
        function = {"belief_gain": risk.belief_difference_quantile, "belief_ratio": risk.belief_ratio_quantile}
        if measure in function and harmless is not None:
            gained = measure == "belief_gain"
            return Measure(
                name,
                partial(_gain, function[measure], q=q, harmless=harmless),
                each=lambda p: np.asarray(risk.belief_gain(p.reader, p.learner, harmless=harmless)[gained]),
                q=q,
                span=(-1.0, 1.0) if gained else (0.0, inf),
            )
    if share and measure == "relative_threat":
        times = float(share[1])
        return Measure(
            name,
            _beside(risk.relative_threat_share, at_least=times),
            needs_truth=True,
            each=lambda p: np.asarray(_relative_threats(p) >= times * (1 - TIE), dtype=np.float64),
        )
    if plain and float(plain[1]) <= 100:
        level = float(plain[1]) / 100
        if measure == "near_truth" and attribute.kind is Kind.NUMERIC and attribute.real:

            def near(p: People) -> Estimate:
                return risk.near_truth(p.reader, _truth(p), attribute, within=level)

            each = partial(_one_by_one, near)
            return Measure(name, near, needs_truth=True, has_baseline=True, each=each)
        if harmless is None or level == 0:
            return None
        sure = partial(_sure, level, harmless)
        if measure == "confident":
            return Measure(
                name,
                lambda p: risk.confident(p.reader, at_least=level, harmless=harmless),
                of_learner=True,
                each=lambda p: np.asarray(sure(p).any(axis=1), dtype=np.float64),
            )
        of_truth: dict[str, tuple[Callable[..., Estimate], Callable[[People], Floats]]] = {
            "confident_wrong": (
                risk.confident_wrong,
                lambda p: np.asarray(_elsewhere(sure(p), p).any(axis=1), dtype=np.float64),
            ),
            "confident_right": (
                risk.confident_right,
                lambda p: np.where(sure(p).any(axis=1), _at_truth(sure(p), p), np.nan),
            ),
            "overconfidence": (risk.overconfidence, lambda p: _excess(sure(p), p)),
        }
        if measure in of_truth:
            compared, single = of_truth[measure]
            return Measure(
                name,
                lambda p: compared(p.reader, _truth(p), at_least=level, harmless=harmless),
                needs_truth=True,
                of_learner=True,
                each=single,
                span=(-1.0 if measure == "overconfidence" else 0.0, 1.0),
                least=0.0,
            )
    return None


def _sure(level: float, harmless: tuple[int, ...], people: People) -> NDArray[np.bool_]:
    """(people, values) which values that are not harmless are believed at least this much."""
    sure = people.reader.probability >= level * (1 - TIE)
    sure[:, list(harmless)] = False
    return np.asarray(sure)


def _elsewhere(of_values: NDArray[np.bool_], people: People) -> NDArray[np.bool_]:
    """(people, values) the same, but never the truth."""
    found = of_values.copy()
    found[np.arange(len(found)), _truth(people)] = False
    return found


def _excess(sure: NDArray[np.bool_], people: People) -> Floats:
    """(people,) by how much a confident belief exceeds whether it is true; nan without one."""
    most = np.where(sure, people.reader.probability, 0.0)
    found = most.max(axis=1) - _at_truth(sure, people)
    return np.where(sure.any(axis=1), found, np.nan)


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


def _guessed(people: People, code: int | None = None) -> Floats:
    """(people,) the chance of a right guess, of those with this value if one is given."""
    truth = _truth(people)
    guessed = risk.right_guess(people.reader, truth)
    return guessed if code is None else np.where(truth == code, guessed, np.nan)


def _guessed_more(people: People) -> Floats:
    return _guessed(people) - risk.right_guess(people.learner, _truth(people))


def _relative_threats(people: People) -> Floats:
    return risk.relative_threat(people.reader, people.learner, _truth(people))


def _at_truth(of_values: NDArray[np.generic], people: People) -> Floats:
    return np.asarray(of_values[np.arange(len(of_values)), _truth(people)], dtype=np.float64)


def _absolute_errors(people: People) -> Floats:
    return 2 * (1 - _at_truth(people.reader.probability, people))


def _squared_errors(people: People) -> Floats:
    p = people.reader.probability
    return np.asarray(np.einsum("ij,ij->i", p, p)) - 2 * _at_truth(p, people) + 1


def _threat_of_value(code: int, people: People) -> Estimate:
    """Of the people with this value, the share who are guessed right; 0 of nobody."""
    those = people.holding(code)
    if not len(those.reader.probability):
        return Estimate.exact(0.0)
    return risk.global_threat(those.reader, _truth(those))

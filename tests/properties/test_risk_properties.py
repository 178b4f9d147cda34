"""Risk measures against plain loops, under renaming of people and values, and with chains that agree or not."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unveil import risk
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Belief, Estimate

Rows = list[list[float]]


@st.composite
def rows(draw: st.DrawFn, shape: tuple[int, ...]) -> np.ndarray:
    """Distributions with many ties and zeros."""
    weights = draw(arrays(np.int64, shape, elements=st.integers(0, 4)))
    weights[..., 0] += weights.sum(axis=-1) == 0
    found: np.ndarray = weights / weights.sum(axis=-1, keepdims=True)
    return found


@st.composite
def questions(draw: st.DrawFn, *, chains: bool = False) -> tuple[Belief, Belief, np.ndarray]:
    """An attacker's and a learner's belief about the same people, and the truth."""
    people, values = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    truth = draw(arrays(np.int64, people, elements=st.integers(0, values - 1)))
    beliefs = []
    for _ in range(2):
        each = draw(rows((draw(st.integers(2, 4)), people, values))) if chains and draw(st.booleans()) else None
        beliefs.append(Belief(draw(rows((people, values)))) if each is None else Belief(each.mean(axis=0), each))
    return beliefs[0], beliefs[1], truth


Measure = Callable[[Belief, Belief, Any], Estimate]

MEASURES: dict[str, Measure] = {
    "global_threat": lambda a, l, t: risk.global_threat(a, t),
    "relative_global_threat": risk.relative_global_threat,
    "relative_threat_max": risk.relative_threat_max,
    "relative_threat_quantile": lambda a, l, t: risk.relative_threat_quantile(a, l, t, q=0.6),
    "relative_threat_share": risk.relative_threat_share,
    "relative_threat_skewness": risk.relative_threat_skewness,
    "absolute_error": lambda a, l, t: risk.absolute_error(a, t),
    "squared_error": lambda a, l, t: risk.squared_error(a, t),
    "belief_ratio_max": lambda a, l, t: risk.belief_ratio_max(a, l),
    "belief_ratio_quantile": lambda a, l, t: risk.belief_ratio_quantile(a, l, q=0.3),
    "belief_ratio_share": lambda a, l, t: risk.belief_ratio_share(a, l),
    "belief_difference_max": lambda a, l, t: risk.belief_difference_max(a, l),
    "belief_difference_quantile": lambda a, l, t: risk.belief_difference_quantile(a, l),
    "belief_difference_share": lambda a, l, t: risk.belief_difference_share(a, l),
    "confident": lambda a, l, t: risk.confident(a, at_least=0.5),
    "confident_right": lambda a, l, t: risk.confident_right(a, t, at_least=0.5),
    "privacy_loss_max": lambda a, l, t: risk.privacy_loss_max(a, l),
    "privacy_loss_share": lambda a, l, t: risk.privacy_loss_share(a, l, distance="equal", at_least=0.25),
    "value_bound_share": lambda a, l, t: risk.value_bound_share(a, 0.4),
}


def modes(row: Sequence[float]) -> list[int]:
    return [s for s, p in enumerate(row) if p >= max(row) * (1 - 1e-12)]


def over(top: float, bottom: float) -> float:
    return top / bottom if bottom else math.inf if top else 0.0


def hits(p: Rows, truth: Sequence[int]) -> float:
    return sum((t in modes(row)) / len(modes(row)) for row, t in zip(p, truth, strict=True)) / len(p)


def times(a: Rows, l: Rows, truth: Sequence[int]) -> list[float]:
    return [over(a[i][t], l[i][t]) for i, t in enumerate(truth) if t in modes(a[i])]


def ranked(values: list[float], q: float) -> float:
    """The smallest value that a share q of the values does not exceed."""
    return min((x for x in values if sum(y <= x for y in values) >= q * len(values) - 1e-9), default=0.0)


def share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags)


def ratios(a: Rows, l: Rows) -> list[float]:
    return [max(map(over, x, y)) for x, y in zip(a, l, strict=True)]


def differences(a: Rows, l: Rows) -> list[float]:
    return [max(x - y for x, y in zip(r, s, strict=True)) for r, s in zip(a, l, strict=True)]


def errors(p: Rows, truth: Sequence[int], power: int) -> float:
    return sum(abs((s == t) - x) ** power for row, t in zip(p, truth, strict=True) for s, x in enumerate(row)) / len(p)


def third_moment(logs: list[float]) -> float:
    if len(logs) < 3:
        return 0.0
    mean = sum(logs) / len(logs)
    second = sum((x - mean) ** 2 for x in logs) / len(logs)
    return sum((x - mean) ** 3 for x in logs) / len(logs) / second**1.5 if second > 1e-18 else 0.0


def jensen_shannon(x: Sequence[float], y: Sequence[float]) -> float:
    total = 0.0
    for p, q in zip(x, y, strict=True):
        total += sum(r * math.log(2 * r / (p + q)) / 2 for r in (p, q) if r > 0)
    return total


def right_among_sure(a: Rows, truth: Sequence[int]) -> float:
    sure = [i for i, row in enumerate(a) if max(row) >= 0.5]
    return sum(a[i][truth[i]] >= 0.5 for i in sure) / len(sure) if sure else 0.0


E = 1e-12
LOOPS: dict[str, Callable[[Rows, Rows, list[int]], float]] = {
    "global_threat": lambda a, l, t: hits(a, t),
    "relative_global_threat": lambda a, l, t: max(0.0, hits(a, t) - hits(l, t)),
    "relative_threat_max": lambda a, l, t: max(times(a, l, t), default=0.0),
    "relative_threat_quantile": lambda a, l, t: ranked(times(a, l, t), 0.6),
    "relative_threat_share": lambda a, l, t: sum(x >= 2 - E for x in times(a, l, t)) / len(a),
    "relative_threat_skewness": lambda a, l, t: third_moment([math.log2(x) for x in times(a, l, t) if x < math.inf]),
    "absolute_error": lambda a, l, t: errors(a, t, 1),
    "squared_error": lambda a, l, t: errors(a, t, 2),
    "belief_ratio_max": lambda a, l, t: max(ratios(a, l)),
    "belief_ratio_quantile": lambda a, l, t: ranked(ratios(a, l), 0.3),
    "belief_ratio_share": lambda a, l, t: share([x >= 2 - E for x in ratios(a, l)]),
    "belief_difference_max": lambda a, l, t: max(differences(a, l)),
    "belief_difference_quantile": lambda a, l, t: ranked(differences(a, l), 0.95),
    "belief_difference_share": lambda a, l, t: share([x >= 0.2 - E for x in differences(a, l)]),
    "confident": lambda a, l, t: share([max(row) >= 0.5 for row in a]),
    "confident_right": lambda a, l, t: right_among_sure(a, t),
    "privacy_loss_max": lambda a, l, t: max(map(jensen_shannon, a, l)),
    "privacy_loss_share": lambda a, l, t: share(
        [sum(abs(p - q) for p, q in zip(x, y, strict=True)) / 2 >= 0.25 - E for x, y in zip(a, l, strict=True)]
    ),
    "value_bound_share": lambda a, l, t: share([any(p > 0.4 + E for p in row) for row in a]),
}


def same(one: Estimate, other: Estimate, name: str) -> None:
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-9), name


# Every measure on every example: to draw one costs far more than to measure it.


def test_every_measure_has_its_loop() -> None:
    assert list(MEASURES) == list(LOOPS)


@given(asked=questions())
def test_a_measure_equals_its_plain_loop(asked: tuple[Belief, Belief, np.ndarray]) -> None:
    attacker, learner, truth = asked
    for name, measure in MEASURES.items():
        found = measure(attacker, learner, truth)
        expected = LOOPS[name](attacker.probability.tolist(), learner.probability.tolist(), truth.tolist())
        assert found.value == pytest.approx(expected, abs=1e-9), name
        assert found.low == found.value == found.high, name


@given(asked=questions(chains=True), data=st.data())
def test_names_of_people_and_values_do_not_matter(
    asked: tuple[Belief, Belief, np.ndarray], data: st.DataObject
) -> None:
    attacker, learner, truth = asked
    people, values = attacker.probability.shape
    order = np.array(data.draw(st.permutations(range(people))))
    column = np.array(data.draw(st.permutations(range(values))))  # column[new] = old

    def renamed(belief: Belief) -> Belief:
        chains = None if belief.chains is None else belief.chains[:, order][..., column]
        return Belief(belief.probability[order][:, column], chains)

    for name, measure in MEASURES.items():
        found = measure(renamed(attacker), renamed(learner), np.argsort(column)[truth[order]])
        same(found, measure(attacker, learner, truth), name)


@given(asked=questions(chains=True))
def test_an_interval_holds_its_value(asked: tuple[Belief, Belief, np.ndarray]) -> None:
    attacker, learner, truth = asked
    for name, measure in MEASURES.items():
        found = measure(*asked)  # Estimate refuses a value outside; nan would be refused too
        pooled = measure(Belief(attacker.probability), Belief(learner.probability), truth)
        assert found.value == pooled.value, name
        if attacker.exact and learner.exact:
            assert found.low == found.high, name


@given(asked=questions(), chains=st.tuples(st.integers(2, 4), st.integers(2, 4)))
def test_chains_that_agree_leave_no_interval(asked: tuple[Belief, Belief, np.ndarray], chains: tuple[int, int]) -> None:
    attacker, learner, truth = asked
    agreed = [
        Belief(b.probability, np.repeat(b.probability[None], count, axis=0))
        for b, count in zip((attacker, learner), chains, strict=True)
    ]
    for name, measure in MEASURES.items():
        same(measure(*agreed, truth), measure(attacker, learner, truth), name)


@given(asked=questions())
def test_one_number_a_person(asked: tuple[Belief, Belief, np.ndarray]) -> None:
    attacker, learner, truth = asked
    a, l = attacker.probability.tolist(), learner.probability.tolist()
    hit = risk.threatened(attacker, truth)
    assert hit.tolist() == [t in modes(row) for row, t in zip(a, truth, strict=True)]
    relative = risk.relative_threat(attacker, learner, truth)
    assert relative[hit].tolist() == pytest.approx(times(a, l, truth.tolist()))
    assert np.isnan(relative[~hit]).all()
    assert risk.global_threat(attacker, truth).value <= hit.mean() + 1e-12
    ratio, difference = risk.belief_gain(attacker, learner)
    assert ratio.tolist() == pytest.approx(ratios(a, l))
    assert difference.tolist() == pytest.approx(differences(a, l))


@given(values=st.integers(1, 14), people=st.integers(1, 5), data=st.data())
def test_uniform_beliefs_give_the_random_worlds_baseline(values: int, people: int, data: st.DataObject) -> None:
    truth = data.draw(arrays(np.int64, people, elements=st.integers(0, values - 1)))
    belief = Belief(np.full((people, values), 1 / values))
    assert risk.absolute_error(belief, truth).value == pytest.approx(2 * (1 - 1 / values))
    assert risk.squared_error(belief, truth).value == pytest.approx(1 - 1 / values)
    assert risk.accuracy(belief, truth).value == pytest.approx(1 / values)


@given(data=st.data())
def test_classes_and_skewness_against_loops(data: st.DataObject) -> None:
    people, values = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    p = data.draw(rows((people, values)))
    kind = data.draw(st.lists(st.integers(0, 3), min_size=values, max_size=values))  # 3: in no class
    members = [(f"c{k}", tuple(s for s in range(values) if kind[s] == k)) for k in range(3)]
    names = tuple(f"v{s}" for s in range(values))
    attribute = Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, names, classes=tuple(members))
    overall = data.draw(arrays(np.int64, values, elements=st.integers(0, 5)))
    overall[0] += not overall.any()

    skewed = risk.skewness(Belief(p), overall)
    expected = [max(over(x, n / overall.sum()) for x, n in zip(row, overall, strict=True)) for row in p]
    assert skewed.tolist() == pytest.approx(expected)

    if set(kind) == {3}:
        return
    node, labels = risk.coarse_codes(attribute)
    assert sorted(set(node.tolist())) == list(range(len(labels)))
    for one in range(values):
        for other in range(values):
            together = one == other or (kind[one] == kind[other] != 3)
            assert (node[one] == node[other]) == together
    coarse = risk.by_classes(Belief(p), attribute)
    for n in range(len(labels)):
        assert coarse.probability[:, n] == pytest.approx(p[:, node == n].sum(axis=1))
    alike = [len({node[s] for s in range(values) if row[s] > 0}) == 1 for row in p]
    assert risk.similar(Belief(p), attribute).tolist() == alike
    assert risk.similar_share(Belief(p), attribute).value == pytest.approx(share(alike))


@given(data=st.data())
def test_numbers_against_loops(data: st.DataObject) -> None:
    people, real, missing = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6)), data.draw(st.booleans())
    values = real + missing
    low = np.cumsum(data.draw(arrays(np.int64, real, elements=st.integers(1, 9)))).astype(float) - 20
    width = data.draw(st.sampled_from([0.0, 0.5]))
    names = tuple(f"{v}" for v in low) + ("?",) * missing
    attribute = Attribute(
        "x", Role.SENSITIVE, Kind.NUMERIC, names, missing, low=low, high=low + width, binned=width > 0
    )
    place, span = low + width / 2, low[-1] - low[0]
    p, other = data.draw(rows((people, values))), data.draw(rows((people, values)))
    truth = data.draw(arrays(np.int64, people, elements=st.integers(0, real - 1)))
    mass, within = data.draw(st.sampled_from([0.3, 0.5, 0.9, 1.0])), data.draw(st.sampled_from([0, 0.1, 0.5, 1, 2]))
    belief = Belief(p)

    def near(reach: Callable[[int], float]) -> float:
        return sum(
            p[i, s] for i, t in enumerate(truth) for s in range(real) if abs(place[s] - place[t]) <= reach(t) + 1e-9
        )

    assert risk.near_truth(belief, truth, attribute, within=within).value == pytest.approx(
        near(lambda t: within * abs(place[t])) / people
    )
    assert risk.near_truth_of_range(belief, truth, attribute, within=within).value == pytest.approx(
        near(lambda t: within * span) / people
    )
    off = [
        sum(p[i, s] * (abs(place[s] - place[t]) if s < real else span) for s in range(values))
        for i, t in enumerate(truth)
    ]
    assert risk.expected_absolute_error(belief, truth, attribute).value == pytest.approx(sum(off) / people, abs=1e-9)

    def shortest(row: np.ndarray) -> float:
        spans = [
            low[j] + width - low[i] for i in range(real) for j in range(i, real) if row[i : j + 1].sum() >= mass - 1e-9
        ]
        return float(min(spans, default=span + width))

    mine, learners = [shortest(row) for row in p], [shortest(row) for row in other]
    assert risk.interval_width(belief, attribute, mass=mass).tolist() == pytest.approx(mine)
    assert risk.interval_width_mean(belief, attribute, mass=mass).value == pytest.approx(sum(mine) / people)
    relative = [1.0 if x == y == 0 else over(x, y) for x, y in zip(mine, learners, strict=True)]
    assert risk.relative_interval_width(belief, Belief(other), attribute, mass=mass).tolist() == pytest.approx(relative)
    assert risk.relative_interval_width_share(belief, Belief(other), attribute, mass=mass).value == pytest.approx(
        share([x <= 0.5 + E for x in relative])
    )

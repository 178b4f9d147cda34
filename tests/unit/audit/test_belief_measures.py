"""What a sample of people says of all of them: every measure by its own number a person, and what a sample may miss."""

import math

import numpy as np
import pytest

from one_round import run_audit
from small import QI, SENSITIVE, made_schema, made_table
from unveil.attackers.posterior.contract import Chains
from unveil.audit.belief_measures import measures_of
from unveil.audit.people import Measure, People, Sample
from unveil.data.attribute import Attribute
from unveil.data.belief import Belief, Estimate
from unveil.data.table import Table
from unveil.engine import Engine

LIMITS = [
    "relative_threat.share_2x <= 0.004",
    "confident.80 <= 0.004",
    "belief_gain <= 0.3",
    "relative_threat.max <= 2",
]
SHORT = Chains(chains=2, sweeps=60, burn_in=30, most_sweeps=0, every=10)


def age() -> Attribute:
    schema = {"role": SENSITIVE, "kind": "numeric", "domain": [1, 2, 3, 4], "harmless": [1]}
    return made_table(made_schema({"age": schema}), (1,)).attributes[0]


def people(count: int, seed: int = 0) -> People:
    random = np.random.default_rng(seed)
    reader, learner = (Belief(p / p.sum(axis=1, keepdims=True)) for p in random.random((2, count, 4)) ** 4)
    return People(reader, learner, random.choice(4, count, p=[0.5, 0.3, 0.2, 0.0]))  # nobody has the last value


def test_the_numbers_of_single_people_make_the_measure() -> None:
    asked, by_person = people(60), []
    for measure in measures_of(age(), ["belief_ratio.q90", "relative_threat.q50"]):
        if measure.each is None:
            continue
        by_person.append(measure.name)
        each = measure.each(asked)
        each = np.sort(each[~np.isnan(each)])
        least, most = measure.span
        assert ((each >= least - 1e-12) & (each <= most + 1e-12)).all(), measure.name
        if measure.q is not None:
            expected = each[math.ceil(round(measure.q * len(each), 9)) - 1]
        else:
            expected = max(each.mean(), 0.0) if len(each) else 0.0
        assert measure.of(asked).value == pytest.approx(expected), measure.name
    maxima = {m.name for m in measures_of(age()) if m.most is not None}
    others = {m.name for m in measures_of(age())} - maxima - set(by_person)
    assert others == {"relative_threat.skewness", "calibration_error"}
    assert len(by_person) == 20


@pytest.mark.parametrize("name", ["global_threat", "relative_threat.share_2x", "relative_threat.q95", "squared_error"])
def test_intervals_hold_the_number_of_all_people(name: str) -> None:
    """In at least 93 of 100 samples of 100 of 1,000 people."""
    everyone = people(1000, seed=4)
    (measure,) = (m for m in measures_of(age()) if m.name == name)
    value = measure.of(everyone).value
    random = np.random.default_rng(1)
    held = 0
    for _ in range(100):
        some = everyone.take(random.choice(1000, 100, replace=False))
        found = Sample(1000).widened(measure, some, measure.of(some))
        held += found.low <= value <= found.high
    assert held >= 93


def test_what_a_sample_cannot_say() -> None:
    """Nobody with the last value, maxima, moments; an infinite quantile; the chains' error beside the sample's."""
    measures = {m.name: m for m in measures_of(age(), ["global_threat.value:4"])}
    some = people(50)

    def widened(measure: Measure) -> Estimate:
        return Sample(500).widened(measure, some, measure.of(some))

    nobody = Measure("global_threat.value:4", lambda p: Estimate.exact(0.0), each=lambda p: np.full(50, np.nan))
    assert widened(nobody) == Estimate(0.0, 0.0, 1.0)
    assert widened(measures["belief_gain"]).high == 1
    assert widened(measures["relative_threat.max"]).high == math.inf
    assert widened(measures["relative_threat.skewness"]).high == math.inf
    top = widened(measures["relative_threat.q95"])  # the few who are most exposed may not be in it
    assert 0 < top.low < top.value < top.high == math.inf
    assert widened(measures["belief_gain.q95"]).high == 1
    assert (
        Sample(10**6).widened(measures["relative_threat.q95"], people(5000), Estimate(2.0, 2.0, 2.0)).high == math.inf
    )
    endless = Measure("x.q50", lambda p: Estimate.exact(math.inf), each=lambda p: np.full(50, math.inf), q=0.5)
    assert widened(endless) == Estimate(math.inf, math.inf, math.inf)
    threat = measures["global_threat"]
    value = threat.of(some).value
    alone = widened(threat)
    both = Sample(500).widened(threat, some, Estimate(value, value - 0.1, value + 0.1))
    assert value - both.low == pytest.approx(math.hypot(0.1, value - alone.low))


def few_exposed() -> Table:
    """Of 1,005 people five stand alone, each with a disease that nobody else has."""
    rows = [("0", "ab"[i % 2]) for i in range(1000)] + [(str(i), "c") for i in range(1, 6)]
    schema = {"job": {"role": QI, "domain": list("012345")}, "disease": {"role": SENSITIVE, "domain": list("abc")}}
    return made_table(made_schema(schema), *rows)


def test_five_exposed_people_whom_a_sample_missed_are_not_within() -> None:
    table = few_exposed()
    release = table.as_release()
    missed = 0
    for seed, sample in [(0, None), *((seed, 100) for seed in range(6))]:
        engine = Engine(seed=seed, workers=1)
        found = run_audit(
            {"r": release}, original=table, limits=LIMITS, sample=sample, chains=SHORT, engine=engine
        ).document
        limited = {f.id: f for f in found.findings if f.limit in LIMITS and f.reader == "bayesian"}
        verdicts = {f.verdict for f in limited.values()}
        assert len(limited) == 4
        assert verdicts == {"exceeded"} if sample is None else "within" not in verdicts
        assert found.diagnostics["exit_code"] != 0
        missed += limited["bayesian.relative_threat.share_2x"].value == 0
    assert missed

"""delta as a measure of a frontier: the same as differential testing finds, point by point."""

import pytest
from test_frontier import TABLE

from documents import check_document
from small import QI, SENSITIVE, made_schema, made_table
from unveil.audit.differential import run_differential
from unveil.catalog import anonymizer
from unveil.engine import Engine
from unveil.frontier import parse_scheme, run_frontier, sources


def test_delta_is_that_of_differential_testing() -> None:
    schemes = [parse_scheme("mondrian:k=4+12"), parse_scheme("anatomy:l=2")]
    found = run_frontier(
        TABLE,
        schemes,
        risks=["delta", "distance.mean"],
        utilities=["certainty_penalty"],
        engine=Engine(seed=0, workers=1),
    )
    check_document(found.document.model_dump(mode="json"))
    points = {p.name: p for p in found.points}
    for k in (4, 12):
        tested = run_differential(TABLE, anonymizer(f"mondrian:k={k}"))
        point = points[f"mondrian:k={k}"]
        values = {f.id: f for f in point.findings}
        assert values["delta"].value == pytest.approx(tested.delta, abs=1e-12)
        assert values["delta"].low == values["delta"].high
        mean = next(f.value for f in tested.document.findings if f.id == "distance.mean")
        assert values["distance.mean"].value == pytest.approx(mean, abs=1e-12)
    assert points["anatomy:l=2"].status == "not applicable"
    assert "draws" in points["anatomy:l=2"].reason
    definitions = found.document.diagnostics["definitions"]
    assert definitions["delta"]["source"].startswith("Kassem")


def test_the_trivial_points_are_tested_record_by_record() -> None:
    """Against the release made anew without each record."""
    schema = made_schema({"x": {"role": QI, "domain": ["p", "q"]}, "s": {"role": SENSITIVE, "domain": ["a", "b"]}})
    table = made_table(schema, ("p", "a"), ("q", "a"), ("p", "a"), ("q", "b"), ("p", "b"), ("q", "a"))
    found = run_frontier(
        table,
        [parse_scheme("mondrian:k=2")],
        risks=["delta"],
        utilities=["certainty_penalty"],
        engine=Engine(seed=0, workers=1),
    )
    for name, release in (("original", lambda t: t.as_release()), ("all suppressed", _suppressed)):
        point = next(p for p in found.points if p.name == name)
        plain = run_differential(table, release, fast=False)
        (mine,) = [f for f in point.findings if f.id == "delta"]
        assert mine.value == pytest.approx(plain.delta, abs=1e-12)
        assert mine.value > 0.01


def _suppressed(table: object) -> object:
    return anonymizer("full_domain:levels=1").anonymize(table, Engine(seed=0)).release


def test_what_must_run_anew_is_a_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_RERUNS", 10)
    scheme = parse_scheme("full_domain:levels=2+1,k=5")
    found = run_frontier(
        TABLE, [scheme], risks=["delta"], utilities=["certainty_penalty"], engine=Engine(seed=0, workers=1)
    )
    (mine,) = [f for p in found.points if p.name.startswith("full_domain") for f in p.findings if f.id == "delta"]
    assert (mine.low, mine.high) == (mine.value, "inf")
    every = run_differential(TABLE, anonymizer("full_domain:levels=2+1,k=5"))
    assert mine.value <= every.delta

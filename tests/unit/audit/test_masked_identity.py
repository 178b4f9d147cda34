"""Being found in a masked release, and what it is worth: by hand, and as an audit shows it."""

from typing import Any

import numpy as np
import pytest

from documents import check_document
from one_round import run_audit
from small import QI, made_schema, made_table, masked_release
from unveil.data.rows import as_published
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.report.blocks import Chart, Grid
from unveil.report.reading import names_of
from unveil.report.sections.disclosure import masked as masked_section
from unveil.report.sections.linkage import linkage
from unveil.risk.linkage.attribute_distances import AttributeDistance
from unveil.risk.linkage.distance import rows_found
from unveil.risk.linkage.published import published_of
from unveil.utility.masked import correlation_error, deviation_error, il1s, mean_error, share_error

SCHEMA = made_schema({"a": {"role": QI, "domain": ["x", "y", "z"]}})
PEOPLE = made_table(SCHEMA, ("x",), ("x",), ("y",))
# The second person's x is published as y.
MASKED = masked_release(PEOPLE.attributes, (np.array([0, 1, 1]),), (0,))
ORIGIN = np.arange(3)


def test_rows_are_looked_for_among_people() -> None:
    published = published_of(MASKED, ["a"], ORIGIN)
    # x fits two people, one of them right; y fits the third person, who is not the second.
    assert rows_found(published, PEOPLE).tolist() == [0.5, 0, 1]
    among = made_table(SCHEMA, ("x",), ("x",), ("x",), ("y",), ("z",))
    assert rows_found(published, PEOPLE, among) == pytest.approx([1 / 3, 0, 1])
    # Whoever is in the table is in the population, on file or not.
    assert rows_found(published, PEOPLE, made_table(SCHEMA, ("x",), ("x",), ("x",))) == pytest.approx([1 / 3, 0, 1])
    with pytest.raises(UsageError, match="nothing says whose row"):
        rows_found(published_of(MASKED, ["a"]), PEOPLE)
    back = AttributeDistance("a", np.array([0]), np.array([1, 0]), None, None, np.array([[0.0, 1.0, 0.5]])).backwards()
    assert back.person.tolist() == [1, 0]
    assert back.table is not None
    assert back.table.tolist() == [[0.0], [1.0], [0.5]]


def audited(**more: Any) -> Any:
    return run_audit({"m.csv": MASKED}, original=PEOPLE, engine=Engine(seed=0, workers=1), **more)


def test_three_risks_and_claims_by_hand() -> None:
    found = audited(assignments={"m.csv": ORIGIN}, limits=["claim_precision <= 0.4", "share_error <= 0.4"])
    values = {f.id: (f.value, f.low, f.high) for f in found.document.findings}
    # Forwards: the first finds the only x; the second takes it for theirs; the third ties with the second.
    assert values["prosecutor_risk.max"][0] == 1
    assert values["prosecutor_risk.mean"][0] == pytest.approx(1.5 / 3)
    assert values["claimed"][0] == pytest.approx(2 / 3)
    assert values["claim_precision"][0] == pytest.approx(1 / 2)
    assert values["marketer_risk"][0] == pytest.approx(1.5 / 3)
    assert values["journalist_risk.max"] == (1, 0, 1)  # no population: at most
    assert values["share_error"][0] == pytest.approx(1 / 3)
    verdicts = {f.id: f.verdict for f in found.document.findings if f.limit}
    # One to one: of the two x one gets the row x, the other one of the two y; the third gets the other y.
    assert values["reid.one_to_one"][0] == pytest.approx((1 / 2 + 1 / 4 + 1 / 2) / 3)
    exceeded = {"claim_precision": "exceeded", "reid": "exceeded", "reid.one_to_one": "exceeded"}
    assert verdicts == {**exceeded, "share_error": "within"}
    limits = {f.id: f.limit for f in found.document.findings if f.limit}
    assert limits["claim_precision"] == "claim_precision <= 0.4; claim_precision <= 0.5"
    assert limits["reid"] == "reid <= 0.2"
    alone = found.document.diagnostics["wp29"]["m.csv"]["singling_out"]
    assert (alone["finding"], alone["value"]) == ("claimed", pytest.approx(2 / 3))
    assert "rightly for 50% of them" in alone["words"]
    frame = found.links("m.csv")
    assert frame["distance:row"].to_list() == [1, 1, 2]
    assert frame["distance:right"].to_list() == [1, 0, 0.5]
    assert frame["distance:claimed"].to_list() == [True, True, False]
    population = made_table(SCHEMA, ("x",), ("x",), ("x",), ("y",), ("y",), ("z",))
    around = {f.id: f.value for f in audited(assignments={"m.csv": ORIGIN}, population=population).document.findings}
    assert around["journalist_risk.max"] == pytest.approx(1 / 2)
    assert around["journalist_risk.mean"] == around["marketer_risk"] == pytest.approx((1 / 3 + 0 + 1 / 2) / 3)


def test_without_an_assignment_risks_are_unknown_and_worth_is_not() -> None:
    found = audited(limits=["prosecutor_risk.max <= 0.5"])
    values = {f.id: f.value for f in found.document.findings}
    assert [values[id] for id in ("prosecutor_risk.max", "marketer_risk", "claim_precision", "reid")] == [None] * 4
    assert values["share_error"] == pytest.approx(1 / 3)
    assert found.exit_code == 3
    assert "unknown" in found.document.diagnostics["wp29"]["m.csv"]["singling_out"]["words"]
    nothing = run_audit({"m.csv": MASKED}, engine=Engine(seed=0, workers=1)).document
    assert {f.value for f in nothing.findings if f.id in ("share_error", "claimed")} == {None}
    assert nothing.diagnostics["wp29"]["m.csv"]["singling_out"]["status"] == "not tested"


def test_a_limit_on_utility_counts() -> None:
    waive = dict.fromkeys(["file", "singling out", "linking", "inference", "background"], "three people")
    for limit, code, word in (("share_error <= 0.4", 0, "within"), ("share_error <= 0.3", 1, "exceeded")):
        found = audited(assignments={"m.csv": ORIGIN}, limits=[limit], waive=waive)
        words = found.document.diagnostics["judgement"]["m.csv"]["words"]
        assert (found.exit_code, words.split("; ")[0], "utility exceeded" in words) == (code, word, bool(code))
    del waive["inference"]  # the schema names nothing sensitive, so nobody judged it
    assert audited(assignments={"m.csv": ORIGIN}, waive=waive).exit_code == 3


def test_differential_privacy_is_spoken_of_as_a_promise() -> None:
    made = masked_release(PEOPLE.attributes, (np.array([0, 1, 1]),), (0,), {}, "dp_histogram:epsilon=0.5,least=1")
    document = run_audit({"m.csv": made}, original=PEOPLE, engine=Engine(seed=0, workers=1)).document
    remarks = document.diagnostics["remarks"]
    assert any("a factor of 1.65 at most" in text for text in remarks)
    assert not any("--assignment" in text for text in remarks)


def test_worth_by_hand() -> None:
    nan = float("nan")
    truth, shown = np.array([1.0, 3.0, 5.0, 7.0, nan]), np.array([2.0, 2.0, 6.0, nan, 4.0])
    spread = np.sqrt(5)  # of 1 3 5 7
    assert il1s(truth, shown).value == pytest.approx((1 + 1 + 1) / 3 / (np.sqrt(2) * spread))
    assert mean_error(truth, shown).value == pytest.approx((4 - 14 / 4) / spread)
    assert deviation_error(truth, shown).value == pytest.approx(abs(np.sqrt(2.75) - spread) / spread)
    assert il1s(np.array([2.0, 2.0]), np.array([2.0, 5.0])).value == pytest.approx(1.5 / np.sqrt(2))  # a constant
    up, down, flat = np.array([1.0, 2, 3]), np.array([3.0, 2, 1]), np.array([1.0, 1, 1])
    assert correlation_error([up, up], [up, down]).value == pytest.approx(2)
    assert correlation_error([up, up, up], [up, up, flat]).value == pytest.approx((0 + 1 + 1) / 3)
    assert share_error(np.array([0, 0, 1, 2]), np.array([0, 1, 1, -1])).value == pytest.approx(
        (abs(1 / 2 - 1 / 3) + abs(1 / 4 - 2 / 3) + 1 / 4) / 2
    )
    for call in (
        lambda: il1s(np.array([nan]), np.array([1.0])),
        lambda: mean_error(truth, np.array([nan])),
        lambda: correlation_error([up], [up]),
        lambda: share_error(np.array([0]), np.array([-1])),
    ):
        with pytest.raises(UsageError):
            call()


def test_charts_of_what_is_known_and_of_uniqueness_stand_in_the_document() -> None:
    random = np.random.default_rng(2)
    schema = made_schema({n: {"role": QI, "kind": "numeric"} for n in ("age", "pay", "size")})
    table = Table.from_columns(schema, {n: random.integers(0, 30, 60).tolist() for n in ("age", "pay", "size")})
    columns = tuple(c + random.normal(size=60) for c in as_published(table.attributes, table.columns))
    masked = masked_release(table.attributes, columns, (0, 1, 2))
    found = run_audit(
        {"m.csv": masked}, original=table, assignments={"m.csv": np.arange(60)}, engine=Engine(seed=0, workers=1)
    ).document
    check_document(found.model_dump(mode="json"))
    charts = found.charts["m.csv"][""]
    assert [p["known"] for p in charts["known"]["points"]] == [1, 2, 3]
    whole = next(f.value for f in found.findings if f.id == "reid")
    assert charts["known"]["points"][-1]["most"] == pytest.approx(whole)
    assert [p["fraction"] for p in charts["uniqueness"]] == [0.01, 0.05, 0.1, 0.25, 0.5, 0.75][
        -len(charts["uniqueness"]) :
    ]
    figures = [block for block in linkage(found, names_of(found)) if isinstance(block, Chart)]
    assert [f.title for f in figures] == ["Linkage by what is known", "Uniqueness by sampling fraction"]
    (*_, grid) = masked_section(found, names_of(found))
    assert isinstance(grid, Grid)
    assert {row[0].text for row in grid.rows if row[0].text} == {
        "Numbers moved (IL1s)",
        "Mean moved",
        "Standard deviation changed",
        "Correlations changed",
    }


NUMBERS = made_schema({"x": {"role": QI, "kind": "numeric"}})


def found_by(truth: Any, shown: Any) -> dict[str, Any]:
    table = made_table(NUMBERS, *[(str(v),) for v in truth])
    masked = masked_release(table.attributes, (np.asarray(shown, dtype=np.float64),), (0,))
    found = run_audit(
        {"m": masked}, original=table, assignments={"m": np.arange(len(truth))}, engine=Engine(seed=0, workers=1)
    )
    return {f.id: f for f in found.document.findings}


def test_whatever_scale_was_published_people_are_found() -> None:
    """Values kept for half of the people, a reversed scale, a monotone one: each by the comparison that fits it."""
    random = np.random.default_rng(1)
    truth = random.permutation(300) * 7
    kept = np.where(np.arange(300) % 2 == 0, truth, 1e6 + random.normal(0, 1e5, 300))
    for shown, least in ((kept, 0.5), (50.5 - 3 * truth, 1.0), (np.exp(truth / 300), 1.0), (truth, 1.0)):
        found = found_by(truth, shown)
        assert found["reid"].value >= least - 0.01
        assert found["reid"].verdict == "exceeded"
        assert found["reid.one_to_one"].verdict == "exceeded"


def test_a_fifth_is_a_fifth_to_the_last_digit() -> None:
    truth = np.repeat(np.arange(123), 5)
    found = found_by(truth, truth)
    for id in ("reid", "prosecutor_risk.mean", "marketer_risk"):
        assert found[id].value == 0.2
    assert found["reid"].verdict == "within"

"""The frontier: schemes, points, dominance, knee, limits, refinement, checkpoints; by hand or against brute force."""

import itertools
import json
import re
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from documents import check_document
from one_round import run_audit
from small import QI, SENSITIVE, made_finding, made_schema, made_table
from unveil import frontier as frontier_module
from unveil import risk, utility
from unveil.anonymizers.mondrian import Mondrian
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.document import Finding
from unveil.catalog import anonymizer
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.frontier import Questions, ReaderSettings, parse_scheme
from unveil.frontier import measure as measure_module
from unveil.frontier.choose import choose, judge, knee, undominated
from unveil.frontier.points import Axes, Point, bounded_by, value_of
from unveil.frontier.run import gaps
from unveil.frontier.schemes import Candidate, between
from unveil.privacy.models import KAnonymity, NTCloseness, TCloseness

LADDER = [[str(a), f"{a // 5 * 5}s", "*"] for a in range(20, 40)]
SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 39}},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "s": {"role": SENSITIVE, "domain": ["a", "b", "c"]},
    },
    {"age": LADDER},
)


def people(rows: int = 120, seed: int = 5) -> Table:
    random = np.random.default_rng(seed)
    ages = random.integers(20, 40, rows)
    values = ["abc"[int(v)] for v in np.where(random.random(rows) < 0.6, ages // 5 % 3, random.integers(0, 3, rows))]
    return made_table(SCHEMA, *zip(ages.tolist(), random.choice(["f", "m"], rows), values, strict=True))


TABLE = people()
QUICK = Engine(seed=0, workers=1)
READERS = ("bayesian", "random_worlds")


def run_frontier(*given: Any, **options: Any) -> Any:
    """By counting, unless the test is about readers: chains take time."""
    counted = ("privacy_loss.max", "privacy_loss.mean")
    return frontier_module.run_frontier(*given, **{"release_seed": 0, "risks": counted, **options})


def place(name: str, x: float, y: float, *, status: Any = "measured", half: float = 0.0, k: int | None = None) -> Point:
    """A made-up point: risk `x`, utility loss `y`."""
    found = (
        made_finding("bayesian.belief_gain", name, "s", x, x - half, x + half),
        Finding.exact("certainty_penalty", name, None, y),
    )
    candidate = None
    if k is not None:
        candidate = parse_scheme("mondrian:k=2+3").at((str(k),))
    elif name not in ("original", "all suppressed"):
        candidate = Candidate(name, name, (), (), None)
    return Point(name if k is None else f"mondrian:k={k}", candidate, status, "", found)


AXES = Axes("belief_gain", "certainty_penalty", ("bayesian",))
ENDS = [place("original", 1.0, 0.0), place("all suppressed", 0.0, 1.0)]


# --- schemes ----------------------------------------------------------------------------------------------------------


def test_a_scheme_stands_for_every_combination_of_its_values() -> None:
    scheme = parse_scheme("mondrian:k=2+5,relaxed=true t_closeness:t=0.1+0.2,distance=js")
    found = list(scheme.candidates())
    assert [c.name for c in found] == [
        f"mondrian:k={k},relaxed=true t_closeness:t={t},distance=js" for k in (2, 5) for t in ("0.1", "0.2")
    ]
    assert found[1].method.require == (KAnonymity(k=2), TCloseness(t=0.2, distance="js"))
    assert found[3].parameters == {"k": "5", "t_closeness.t": "0.2"}
    assert found[0].method.relaxed


def test_a_list_that_is_one_value_is_not_swept() -> None:
    (one,) = parse_scheme("full_domain:levels=1+0").candidates()
    assert one.method.levels == (1, 0)
    assert not one.axes


def test_requirements_for_all_are_given_or_checked() -> None:
    (first, second) = parse_scheme("mondrian:k=2", ["distinct_l:l=2+3"]).candidates()
    assert [m.threshold for m in second.method.require] == [2, 3]
    assert first.name == "mondrian:k=2 distinct_l:l=2"
    (only,) = parse_scheme("anatomy:l=2", ["k_anonymity:k=3"]).candidates()
    assert only.checked == (KAnonymity(k=3),)


def test_an_options_file_may_hold_lists(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("k = [2, 5]\nrelaxed = true\n")
    names = [c.name for c in parse_scheme(f"mondrian:@{tmp_path / 'm.toml'}").candidates()]
    assert names == ["mondrian:k=2,relaxed=true", "mondrian:k=5,relaxed=true"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty scheme"),
        ("mondriaan:k=2", "unknown anonymizer"),
        ("anatomy:l=2 k_anonymity:k=2", "takes no requirements of its own"),
        ("mondrian:k=2 closeness:t=1", "not a privacy model"),
    ],
)
def test_a_wrong_scheme_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_scheme(text)


def test_too_many_candidates_are_refused() -> None:
    many = "+".join(map(str, range(2, 300)))
    with pytest.raises(UsageError, match="over 10,000"):
        list(parse_scheme(f"mondrian:k={many} t_closeness:t={many}").candidates())


@pytest.mark.parametrize(
    ("low", "high", "middle"),
    [
        ("2", "8", "4"),
        ("4", "5", None),
        ("10", "1000", "100"),
        ("0.1", "0.4", "0.2"),
        ("0", "8", "4"),
        ("a", "b", None),
    ],
)
def test_the_value_between_two(low: str, high: str, middle: str | None) -> None:
    assert between(low, high) == middle


# --- points -----------------------------------------------------------------------------------------------------------


def test_points_are_what_the_measures_say() -> None:
    found = run_frontier(
        TABLE, ["mondrian:k=5", "anatomy:l=2"], utilities=["utility_loss", "query_error", "kl_divergence"], engine=QUICK
    )
    populations = utility.large_populations(TABLE)
    for point in found.points[2:]:
        release = found.anonymized(point).release
        belief, many = risk.group_belief(release, 2)
        before = risk.overall_belief(release, 2)
        values = {f.id: f.value for f in point.findings}
        assert values == {
            "privacy_loss.max": pytest.approx(risk.privacy_loss_max(belief, before).value),
            "privacy_loss.mean": pytest.approx(risk.privacy_loss_mean(belief, before, people=many).value),
            "utility_loss": pytest.approx(utility.utility_loss(release, TABLE, populations=populations).value),
            "query_error": pytest.approx(utility.query_error(release, TABLE).value),
            "kl_divergence": pytest.approx(utility.kl_divergence(release, TABLE).value),
        }
    mondrian = anonymizer("mondrian:k=5").anonymize(TABLE, Engine(seed=0)).release
    assert found.anonymized(found.points[2]).release == mondrian


def test_the_two_trivial_points_are_the_ends() -> None:
    original, suppressed = run_frontier(TABLE, ["mondrian:k=5"], engine=QUICK).points[:2]
    values = [{f.id: f.value for f in p.findings} for p in (original, suppressed)]
    counts = np.bincount(TABLE.columns[2])
    share = counts / counts.sum()
    revealed = max((np.log(2 / (1 + q)) + q * np.log(2 * q / (1 + q)) + (1 - q) * np.log(2)) / 2 for q in share)
    assert values[0]["privacy_loss.max"] == pytest.approx(revealed)
    assert values[0]["utility_loss"] == pytest.approx(0, abs=1e-12)
    assert values[1]["privacy_loss.max"] == pytest.approx(0, abs=1e-12)
    assert (values[0]["certainty_penalty"], values[1]["certainty_penalty"]) == (0, 1)
    assert (original.groups, suppressed.groups) == (120, 1)


def test_what_cannot_be_met_is_a_point_with_its_reason() -> None:
    found = run_frontier(TABLE, ["mondrian:k=5+500", "anatomy:l=2+3"], require=["k_anonymity:k=4"], engine=QUICK)
    by_name = {p.name: p for p in found.points}
    assert by_name["mondrian:k=500 k_anonymity:k=4"].status == "infeasible"
    assert "cannot be met" in by_name["mondrian:k=500 k_anonymity:k=4"].reason
    # anatomy publishes exact cells: it keeps no k-anonymity, and could not be told to
    assert by_name["anatomy:l=2 k_anonymity:k=4"].reason.startswith("anatomy:l=2 misses k_anonymity")
    assert found.choice.point is by_name["mondrian:k=5 k_anonymity:k=4"]


def test_equal_releases_are_measured_once() -> None:
    found = run_frontier(TABLE, ["mondrian:k=5", "mondrian:k=5 distinct_l:l=1"], engine=Engine(seed=0, workers=2))
    assert [p.groups for p in found.points[2:]] == [found.points[2].groups] * 2
    assert "1 of the releases are the same as another one." in found.document.diagnostics["remarks"]


def test_any_number_of_workers_finds_the_same() -> None:
    schemes = ["mondrian:k=2+5+20", "anatomy:l=2", "full_domain:k=5,suppress=0.1"]
    one, three = (run_frontier(TABLE, schemes, budget=9, engine=Engine(seed=0, workers=n)).to_dict() for n in (1, 3))
    assert {**one, "run": None} == {**three, "run": None}
    check_document(one)


def test_attackers_say_what_an_audit_says() -> None:
    risks = ["relative_threat.max", "global_threat - learner.global_threat", "random_worlds.belief_gain.q90"]
    found = run_frontier(TABLE, ["full_domain:levels=1+0"], risks=risks, utilities=["certainty_penalty"], engine=QUICK)
    point = found.points[2]
    audit = run_audit(
        {"r": found.anonymized(point).release}, original=TABLE, engine=QUICK, limits=["belief_gain.q90 <= 1"]
    )
    said = {f.id: f.value for f in audit.document.findings}
    readers = ("bayesian", "random_worlds")
    values = {id: value_of(point.findings, id, readers) for id in risks}
    assert values[risks[0]].value == max(said[f"{r}.relative_threat.max"] for r in readers)
    gap = max(said[f"{r}.global_threat"] for r in readers) - said["learner.global_threat"]
    assert values[risks[1]].value == pytest.approx(gap)
    assert values[risks[2]].value == said["random_worlds.belief_gain.q90"]
    assert point.status == "measured"  # nested regions: exact


def test_the_default_risks_are_an_audits_without_the_rest_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unveil.frontier.sources._audited", lambda *_, **__: pytest.fail("a whole audit was run"))
    found = frontier_module.run_frontier(
        TABLE, ["full_domain:levels=1+0"], utilities=["certainty_penalty"], release_seed=0, engine=QUICK
    )
    point = found.points[2]
    readers = {"bayesian": Bayesian(), "random_worlds": RandomWorlds()}
    audit = run_audit({"r": found.anonymized(point).release}, original=TABLE, attackers=readers, engine=QUICK)
    said = {f.id: f.value for f in audit.document.findings}
    for id in ("global_threat", "relative_threat.max"):
        assert value_of(point.findings, id, READERS).value == max(said[f"{r}.{id}"] for r in READERS)


def test_chains_that_did_not_converge_are_hollow_and_never_recommended() -> None:
    reading = ReaderSettings(chains=Chains(chains=2, sweeps=50, burn_in=0, most_sweeps=0, every=10))
    found = run_frontier(
        TABLE, ["anatomy:l=2"], risks=["relative_threat.max"], utilities=["query_error"], reading=reading, engine=QUICK
    )
    assert found.points[2].status == "unsure"
    assert found.choice.point is None
    assert found.exit_code == 3
    assert all(p.trivial for p in found.line)


def test_several_sensitive_attributes_count_by_the_worst() -> None:
    schema = made_schema(
        {"q": {"role": QI, "domain": ["x", "y"]}, "s": {"role": SENSITIVE}, "t": {"role": SENSITIVE}},
    )
    table = made_table(schema, *[("xy"[i % 2], "ab"[i % 2], "ab"[i // 2 % 2]) for i in range(8)])
    found = run_frontier(table, ["full_domain:levels=0"], engine=QUICK)
    each = {f.attribute: f.value for f in found.points[2].findings if f.id == "privacy_loss.max"}
    assert each["t"] == pytest.approx(0, abs=1e-12)
    assert value_of(found.points[2].findings, "privacy_loss.max", ()).value == each["s"] > 0.2


def test_the_worst_is_the_smallest_where_more_is_better() -> None:
    found = [Finding.exact("rule_recall", "r", name, value) for name, value in (("s", 0.5), ("t", 0.2))]
    assert value_of(found, "rule_recall", ()).value == 0.2
    found = [Finding.exact("belief_gain", "r", "s", value, reader=name) for name, value in (("a", 0.5), ("b", 0.2))]
    assert value_of(found, "belief_gain", ("a", "b")).value == 0.5
    unknown = Finding.of("belief_gain", "r", "t", None, reader="a")
    assert value_of([*found, unknown], "belief_gain", ("a", "b")) is None


def test_without_a_sensitive_attribute_it_is_about_being_found() -> None:
    schema = made_schema({"q": {"role": QI, "kind": "numeric", "domain": {"from": 1, "to": 9}}})
    table = made_table(schema, *[(i % 9 + 1,) for i in range(27)])
    found = run_frontier(table, ["mondrian:k=3+9"], risks=(), engine=QUICK)
    assert found.document.settings["risks"] == ["prosecutor_risk.max"]
    assert value_of(found.points[2].findings, "prosecutor_risk.max", ()).value == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"risks": ["privacy_lost.max"]}, "unknown measure"),
        ({"risks": ["relative_threat.maximum"]}, "^'relative_threat.maximum': .* choose from .*relative_threat.max"),
        ({"risks": ["privacy_loss.max - privacy_loss.mean"]}, "a difference is of two things that readers believe"),
        ({"limits": ["nonsense <= 1"]}, "unknown measure"),
        ({"limits": ["utility_loss"]}, "is not a limit"),
        ({"budget": 0}, "more than the budget"),
        ({"minutes": 0}, "leave no time"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run_frontier(TABLE, ["mondrian:k=5"], engine=QUICK, **options)


def test_questions_that_nothing_answers_are_refused() -> None:
    with pytest.raises(UsageError, match="far"):
        Questions(distance="far")
    schema = made_schema({"q": {"role": QI, "domain": ["x", "y"]}, "s": {"role": SENSITIVE}})
    table = made_table(schema, *[("xy"[i % 2], "ab"[i // 2 % 2]) for i in range(8)])
    with pytest.raises(NotApplicable, match="no population holds 100%"):
        run_frontier(table, ["mondrian:k=2"], utilities=["rule_recall"], questions=Questions(minimum_support=1.0))


# --- the undominated, the knee, limits --------------------------------------------------------------------------------


def test_the_undominated_are_those_of_brute_force() -> None:
    random = np.random.default_rng(1)
    points = [place(f"p{i}", *random.integers(0, 12, 2).tolist()) for i in range(40)]
    xy = {p.name: tuple(v.value for v in AXES.place(p)) for p in points}
    efficient = {a for a in xy if not any(xy[b][0] <= xy[a][0] and xy[b][1] <= xy[a][1] and xy[b] != xy[a] for b in xy)}
    line = undominated(points, AXES)
    assert {p.name for p in line} == efficient
    risks = [xy[p.name][0] for p in line]
    assert risks == sorted(risks)


def test_a_difference_within_the_intervals_dominates_nothing() -> None:
    near = [place("a", 0.30, 0.5, half=0.05), place("b", 0.35, 0.5, half=0.05)]
    assert {p.name for p in undominated(near, AXES)} == {"a", "b"}
    apart = [place("a", 0.30, 0.5, half=0.02), place("b", 0.35, 0.5, half=0.02)]
    assert {p.name for p in undominated(apart, AXES)} == {"a"}


def test_points_that_did_not_converge_dominate_nothing() -> None:
    points = [*ENDS, place("good", 0.1, 0.1, status="unsure"), place("poor", 0.5, 0.5)]
    assert [p.name for p in undominated(points, AXES)] == ["all suppressed", "poor", "original"]


def test_more_may_be_better_on_either_scale() -> None:
    axes = Axes("k_anonymity", "rule_recall", ())
    found = [
        Point(
            n, None, "measured", "", (Finding.exact("k_anonymity", n, None, k), Finding.exact("rule_recall", n, "s", r))
        )
        for n, k, r in (("safe", 9.0, 0.5), ("worse", 5.0, 0.4), ("useful", 2.0, 0.9))
    ]
    assert [p.name for p in undominated(found, axes)] == ["safe", "useful"]


def test_the_knee_lies_furthest_below_the_line() -> None:
    inner = [place("a", 0.1, 0.8), place("b", 0.2, 0.3), place("c", 0.6, 0.2)]
    line = undominated([*ENDS, *inner], AXES)
    assert knee(line, AXES).name == "b"
    # both scales are brought to 0-1: a thousandfold risk changes nothing
    big = [place(p.name, 1000 * AXES.place(p)[0].value, AXES.place(p)[1].value) for p in [*ENDS, *inner]]
    assert knee(undominated(big, AXES), AXES).name == "b"


def judged_choice(points: list[Point], *limits: str, complete: bool = True) -> Any:
    verdicts = {p.name: judge(p, limits, AXES.attackers) for p in points}
    return choose(points, undominated(points, AXES), AXES, verdicts, limits=limits, complete=complete)


def test_within_limits_the_most_useful_is_chosen_with_its_neighbours() -> None:
    points = [*ENDS, place("a", 0.1, 0.8), place("b", 0.2, 0.3), place("c", 0.6, 0.2)]
    found = judged_choice(points, "belief_gain <= 0.5")
    assert (found.point.name, found.safer.name, found.more_useful.name) == ("b", "a", "c")
    assert found.exit_code == 0
    assert judged_choice(points, "belief_gain <= 0.5", "certainty_penalty >= 0.7").point.name == "a"
    found = judged_choice(points, "belief_gain <= 0.05")
    assert (found.point, found.exit_code) == (None, 1)
    assert "all suppressed" in found.remarks[0]
    assert judged_choice(points, "belief_gain <= 0.05", complete=False).exit_code == 3


def test_what_is_not_decided_is_not_recommended_and_said() -> None:
    points = [*ENDS, place("wide", 0.48, 0.1, half=0.05), place("b", 0.2, 0.3), place("x", 0.1, 0.05, status="unsure")]
    found = judged_choice(points, "belief_gain <= 0.5")
    assert found.point.name == "b"
    assert found.remarks[0].startswith("Not decided, and perhaps more useful: wide, x.")
    found = judged_choice([*ENDS, points[2]], "belief_gain <= 0.5")
    assert (found.point, found.exit_code) == (None, 3)


def test_a_limit_of_the_command_line_is_held() -> None:
    found = run_frontier(TABLE, ["mondrian:k=2+5+10+20+40"], limits=["privacy_loss.max <= 0.1"], engine=QUICK)
    values = {p.name: {f.id: f.value for f in p.findings} for p in found.points[2:]}
    kept = {n: v["utility_loss"] for n, v in values.items() if v["privacy_loss.max"] <= 0.1}
    assert kept
    assert found.choice.point.name == min(kept, key=kept.get)
    marks = {f.release: f.verdict for f in found.document.findings if f.id == "privacy_loss.max"}
    assert {n for n, v in marks.items() if v == "within"} == {*kept, "all suppressed"}


def test_a_requirement_that_bounds_the_risk_says_so() -> None:
    js, t = TCloseness(t=0.2, distance="js"), TCloseness(t=0.2)
    assert bounded_by([KAnonymity(k=2), js], "privacy_loss.max", "js") == "t_closeness ≤ 0.2"
    assert bounded_by([t], "privacy_loss.max", "js") is None  # another distance
    assert bounded_by([NTCloseness(n=10, t=0.2, distance="js")], "privacy_loss.max", "js") is None
    assert bounded_by([KAnonymity(k=4)], "prosecutor_risk.max", "js") == "k_anonymity ≥ 4"
    found = run_frontier(TABLE, ["mondrian t_closeness:t=0.1,distance=js", "anatomy:l=2"], engine=QUICK)
    rows = {row["name"]: row["bounded_by"] for row in found.document.diagnostics["points"]}
    assert rows["mondrian t_closeness:t=0.1,distance=js"]["privacy_loss.max"] == "t_closeness ≤ 0.1"
    assert rows["anatomy:l=2"] == rows["original"] == {}
    assert any("is what the requirement itself bounds" in r for r in found.document.diagnostics["remarks"])


def test_definitions_lead_to_a_heading() -> None:
    root = Path(__file__).parents[3]
    utilities = ["utility_loss", "query_error", "rule_recall", "classification_metric", "generalisation_height"]
    found = run_frontier(TABLE, ["mondrian:k=5"], utilities=utilities, engine=QUICK)
    assert found.document.settings["attackers"] == []
    for name, definition in found.document.diagnostics["definitions"].items():
        file, _, anchor = definition["page"].partition("#")
        heads = [line.lstrip("# ") for line in (root / file).read_text().splitlines() if line.startswith("#")]
        assert anchor in [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads], name
        assert definition["words"] != name


# --- refinement -------------------------------------------------------------------------------------------------------


def test_gaps_lie_between_dominated_and_undominated_points() -> None:
    scheme = parse_scheme("mondrian:k=2+3")
    row = [place("", 0.9, 0.1, k=2), place("", 0.5, 0.2, k=8), place("", 0.45, 0.6, k=32), place("", 0.44, 0.7, k=128)]
    other = place("better", 0.3, 0.3)
    points = [*ENDS, *row, other]
    line = undominated(points, AXES)
    found = gaps(points, line, AXES, {}, {scheme.text: scheme})
    # 32 and 128 are both dominated: nothing is looked for between them
    assert [(g.low, g.high, g.middle.name) for g in found] == [
        ("mondrian:k=2", "mondrian:k=8", "mondrian:k=4"),
        ("mondrian:k=8", "mondrian:k=32", "mondrian:k=16"),
    ]
    assert found[0].size == pytest.approx(np.hypot(0.4, 0.1))
    sizes = [g.size for g in found]
    assert sizes == sorted(sizes, reverse=True)
    crossing = gaps(points, line, AXES, {row[3].name: "within", row[2].name: "exceeded"}, {scheme.text: scheme})
    assert crossing[0].middle.name == "mondrian:k=64"


def test_refinement_finds_what_trying_everything_finds() -> None:
    limits = ["prosecutor_risk.max <= 0.1"]
    options: dict[str, Any] = {"risks": ["prosecutor_risk.max"], "utilities": ["certainty_penalty"], "limits": limits}
    found = run_frontier(TABLE, ["mondrian:k=2+64"], budget=14, engine=QUICK, **options)
    every = run_frontier(TABLE, [f"mondrian:k={'+'.join(map(str, range(2, 65)))}"], engine=QUICK, **options)
    assert len(found.points) - 2 <= 14
    assert any(p.refined for p in found.points)
    loss = [value_of(f.choice.point.findings, "certainty_penalty", ()).value for f in (found, every)]
    assert loss[0] == loss[1]


def test_refinement_ends_at_the_budget_or_when_nothing_is_left() -> None:
    options: dict[str, Any] = {"risks": ["prosecutor_risk.max"], "utilities": ["certainty_penalty"], "engine": QUICK}
    assert len(run_frontier(TABLE, ["mondrian:k=2+60"], budget=5, **options).points) == 2 + 5
    few = run_frontier(TABLE, ["mondrian:k=2+5"], minutes=10, **options)
    assert {p.name for p in few.points[2:]} <= {f"mondrian:k={k}" for k in range(2, 6)}
    assert len(few.points) > 4


# --- stopping and going on --------------------------------------------------------------------------------------------


def test_a_stopped_sweep_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemes = ["mondrian:k=2+5+10+20"]
    whole = run_frontier(TABLE, schemes, engine=QUICK)
    stop, begun_with = threading.Event(), []
    make = measure_module.make

    def make_until_the_third(candidate: Any, table: Table, seed: int) -> Any:
        """Stopped from within: from outside it would depend on who is faster."""
        begun_with.append(candidate.name)
        if len(begun_with) == 3:
            stop.set()
        return make(candidate, table, seed)

    monkeypatch.setattr(measure_module, "make", make_until_the_third)
    engine = Engine(seed=0, workers=1, checkpoints=tmp_path / "saved", stop=stop)
    begun = run_frontier(TABLE, schemes, engine=engine)
    assert begun.exit_code == 3
    assert begun_with == ["mondrian:k=2", "mondrian:k=5", "mondrian:k=10"]
    assert len(begun.points) < 6
    files = sorted((tmp_path / "saved").iterdir())
    assert len(files) >= 3
    assert {stat.S_IMODE(f.stat().st_mode) for f in files} == {0o600}
    made = []
    monkeypatch.setattr(
        measure_module, "make", lambda c, t, seed: made.append(c.name) or c.method.anonymize(t, Engine(seed=seed))
    )
    again = run_frontier(TABLE, schemes, engine=Engine(seed=0, workers=1, checkpoints=tmp_path / "saved"))
    assert {**again.to_dict(), "run": 0} == {**whole.to_dict(), "run": 0}
    assert "mondrian:k=2" not in made
    assert list((tmp_path / "saved").iterdir()) == []


def test_what_was_measured_while_stopping_is_not_saved(tmp_path: Path) -> None:
    stop = threading.Event()

    class Stops:
        def anonymize(self, table: Table, engine: Engine) -> Any:
            stop.set()
            return Mondrian(require=(KAnonymity(k=5),)).anonymize(table, engine)

    engine = Engine(seed=0, workers=1, checkpoints=tmp_path, stop=stop)
    found = run_frontier(TABLE, [Candidate("stops", "stops", (), (), Stops())], engine=engine)
    assert [p.name for p in found.points] == ["original", "all suppressed", "stops"]
    assert found.exit_code == 3
    assert len(list(tmp_path.iterdir())) == 2  # the trivial ones, measured before


def test_a_checkpoint_of_another_question_is_not_used(tmp_path: Path) -> None:
    saved = measure_module.SavedCandidates.of(Engine(seed=0, checkpoints=tmp_path), TABLE, ("a",))
    saved.save("p", {"status": "measured"})
    assert saved.load("p") == {"status": "measured"}
    assert measure_module.SavedCandidates.of(Engine(seed=0, checkpoints=tmp_path), TABLE, ("b",)).load("p") is None
    assert (
        measure_module.SavedCandidates.of(Engine(seed=0, checkpoints=tmp_path), people(seed=6), ("a",)).load("p")
        is None
    )


def test_the_releases_seed_is_in_no_document() -> None:
    found = run_frontier(TABLE, ["anatomy:l=2"], release_seed=987654321, engine=QUICK)
    assert "987654321" not in json.dumps(found.to_dict())
    mine = anonymizer("anatomy:l=2").anonymize(TABLE, Engine(seed=987654321)).release
    assert found.anonymized(found.points[2]).release == mine


def test_an_anonymizer_of_ones_own_can_be_tried() -> None:
    own = [Candidate(f"mine {k}", "mine", (), (), Mondrian(require=(KAnonymity(k=k),))) for k in (3, 9)]
    found = run_frontier(TABLE, own, engine=QUICK)
    assert [p.name for p in found.points[2:]] == ["mine 3", "mine 9"]
    for a, b in itertools.pairwise(found.points[2:]):
        assert a.groups > b.groups


def test_the_default_risk_is_that_of_attackers_who_learn() -> None:
    found = frontier_module.run_frontier(TABLE, ["mondrian:k=5+40"], release_seed=0, engine=QUICK)
    assert found.document.settings["risks"][0] == "global_threat"
    original, suppressed, fine, coarse = (
        value_of(p.findings, "global_threat", ("bayesian", "random_worlds")).value for p in found.points
    )
    assert original > fine > coarse >= suppressed
    audit = run_audit({"r": found.anonymized(found.points[2]).release}, original=TABLE, engine=QUICK, panel=False)
    right = [
        f.value for f in audit.document.findings if f.id in ("bayesian.global_threat", "random_worlds.global_threat")
    ]
    assert max(right) == pytest.approx(fine)


def test_masked_schemes_are_points_on_the_same_scales() -> None:
    """Perturbed columns are read with whose row is whose, and worth what they say as they stand."""
    schemes = ["mondrian:k=5", "noise:amount=0.05+2", "microaggregation:k=10"]
    options = {"utilities": ["query_error", "propensity_mse", "certainty_penalty"], "engine": QUICK}
    found = frontier_module.run_frontier(TABLE, schemes, release_seed=0, **options)
    points = {p.name: p for p in found.points}
    by = {n: {id: value_of(p.findings, id, ("bayesian", "random_worlds")) for id in ("global_threat", "query_error")}
          for n, p in points.items()}  # fmt: skip
    little, much = by["noise:amount=0.05"], by["noise:amount=2"]
    assert little["global_threat"].value > much["global_threat"].value
    assert little["query_error"].value < much["query_error"].value
    assert by["microaggregation:k=10"]["query_error"].value > 0
    assert points["noise:amount=2"].status == "measured"
    assert value_of(points["noise:amount=2"].findings, "certainty_penalty", ()) is None  # its cells are not wide
    made = found.anonymized(points["noise:amount=2"])
    whole = run_audit({"r": made.release}, original=TABLE, assignments={"r": made.group_of_row}, engine=QUICK)
    right = [f.value for f in whole.document.findings if f.id == "bayesian.global_threat"]
    assert right[0] <= much["global_threat"].value + 1e-9
    counted = frontier_module.run_frontier(
        TABLE, ["noise:amount=2"], risks=["privacy_loss.max"], release_seed=0, engine=QUICK
    )
    assert (counted.points[2].status, counted.points[2].reason[:4]) == ("not applicable", "age:")
    linked = frontier_module.run_frontier(
        TABLE, ["noise:amount=0.05+2"], risks=["prosecutor_risk.mean"], release_seed=0, **options
    )
    low, high = (value_of(p.findings, "prosecutor_risk.mean", ()).value for p in linked.points[2:])
    assert low > high

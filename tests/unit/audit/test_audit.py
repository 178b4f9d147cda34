"""run_audit: numbers worked out by hand, what happens at the edges, and what is said where nothing is known."""

import io
import json
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from documents import check_document
from one_round import run_attack, run_audit
from small import IDENTIFIER, INSENSITIVE, QI, SENSITIVE, WAIVED, made_finding, made_release, made_schema, made_table
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import Audit
from unveil.audit.asking import code_people
from unveil.audit.compare import dominance
from unveil.audit.document import Finding
from unveil.catalog import anonymizer
from unveil.data.belief import Belief, Prior
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.data.table import CodedColumn, Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.formats.tables import Columns
from unveil.report import print_document

SHORT = Chains(chains=2, sweeps=60, burn_in=30, most_sweeps=0, every=10)
SEX = {"role": QI, "domain": ["f", "m"]}
AB = {"role": SENSITIVE, "domain": ["a", "b"]}
FOUR = (("f", "a"), ("f", "a"), ("m", "b"), ("m", "a"))


def small(disease: dict[str, Any] | None = None) -> Table:
    return made_table(made_schema({"sex": SEX, "disease": disease or AB}), *FOUR)


def suppressed(table: Table) -> Release:
    """Every quasi-identifier `*`, values as they are."""
    regions, columns = [], []
    for attribute, column in zip(table.attributes, table.columns, strict=True):
        wide = attribute.role == QI
        regions.append(
            Regions.intervals(attribute.codes, [0], [attribute.codes - 1]) if wide else Regions.singles(attribute.codes)
        )
        columns.append(np.zeros(table.rows, dtype=np.int64) if wide else column)
    part = BlockRows(tuple(range(len(columns))), np.zeros(table.rows, dtype=np.int64), tuple(columns))
    return build_release(table.attributes, regions, [part])[0]


def audited(release: Release, table: Table | None, **options: Any) -> Audit:
    options = {"waive": WAIVED, **options}
    found = run_audit(
        {"r.csv": release}, original=table, **{"chains": SHORT, "engine": Engine(seed=1, workers=1), **options}
    )
    document = found.to_dict()
    check_document(document)
    json.dumps(document, allow_nan=False)
    out = io.StringIO()
    print_document(found.document, Console(file=out, width=150))
    assert "anonymous" not in out.getvalue().lower()
    return found


def remarks(found: Audit) -> list[str]:
    return list(found.document.diagnostics["remarks"])


def values(found: Audit, attribute: str | None = "disease") -> dict[str, Any]:
    return {f.id: f.value for f in found.document.findings if f.attribute == attribute}


def test_the_original_as_its_own_release_by_hand() -> None:
    """pi = 4/6, 2/6; theta_f = 3/5, 1/3: the learner believes a of a woman 18/23, of a man 6/11.

    Without one of the women pi = 3/5, 2/5 and theta_f = 2/4, 1/3: 9/13 of the other.
    """
    table = small()
    found = audited(table.as_release(), table)
    got = values(found)
    assert got["bayesian.global_threat"] == pytest.approx(3 / 4)
    assert got["learner.global_threat"] == pytest.approx(3 / 4)
    assert got["bayesian.relative_global_threat"] == 0
    assert got["bayesian.relative_threat.max"] == pytest.approx(13 / 9)
    (threat,) = [f for f in found.document.findings if f.id == "bayesian.relative_threat.max"]
    assert threat.against == "learner_without"
    assert any("if the person's own group were not in it. For bayesian" in r for r in remarks(found))
    assert got["bayesian.relative_threat.share_2x"] == 0
    assert got["bayesian.absolute_error"] == pytest.approx(2 * (0 + 0 + 0.5 + 0.5) / 4)
    assert got["bayesian.belief_gain"] == pytest.approx(5 / 23)
    assert got["bayesian.belief_gain.value:b"] == pytest.approx(1 / 2 - 5 / 11)
    assert got["bayesian.global_threat.value:a"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert got["bayesian.global_threat.value:b"] == pytest.approx(0.5)
    assert got["bayesian.confident.80"] == 0.5
    assert got["bayesian.confident_right.80"] == 1
    assert got["baseline_accuracy"] == 3 / 4
    assert got["ideal.global_threat"] == pytest.approx(3 / 4)
    assert got["faithfulness"] == pytest.approx(1)
    same = {f.id: f.baseline for f in found.document.findings}
    assert same["bayesian.global_threat"] == pytest.approx(3 / 4)
    assert same["bayesian.global_threat.value:b"] == 0  # the learner guesses a of everyone
    identity = values(found, None)
    assert identity["prosecutor_risk.max"] == 0.5
    assert identity["marketer_risk"] == identity["prosecutor_risk.mean"] == 0.5
    assert identity["singled_out"] == 0
    assert identity["k_anonymity"] == 2
    sentence = found.document.diagnostics["sentence"]["r.csv"]["disease"]
    assert sentence == (
        "Naming the most frequent disease is right for 75%. What this file teaches about people in general lets "
        "somebody who is not told who is in it guess 75% right. Knowing that a person is in it makes that 75%; for no "
        "people the true value becomes at least twice as likely."
    )
    assert (found.verdict, found.exit_code) == ("within", 0)  # every kind is waived


def test_charts_count_everyone_once() -> None:
    table = small()
    charts = audited(table.as_release(), table).document.charts["r.csv"]
    one = charts["disease"]
    assert np.sum(one["beliefs"]["bayesian"]["counts"]) == 4
    counts = np.array(one["beliefs"]["bayesian"]["counts"])
    assert counts[15, 19] == 2  # women: learner .78, attacker 1
    assert sum(one["relative_threat"]["bayesian"]["counts"]) == 4
    assert sum(one["calibration"]["bayesian"]["people"]) == 4
    assert one["calibration"]["bayesian"]["right"][-1] == 1
    assert one["subgroups"]["bayesian"]["sex"] == [
        {"label": "f", "people": 2, "threatened": 2, "twice": 0},
        {"label": "m", "people": 2, "threatened": 2, "twice": 0},
    ]
    assert charts[""]["group_sizes"]["rows"][0] == 4


def big(rows: int = 400, columns: int = 2, *, codes: int = 4, values_of: int = 3, seed: int = 0) -> Table:
    random = np.random.default_rng(seed)
    schema = made_schema(
        {
            **{f"q{i}": {"role": QI, "domain": [str(c) for c in range(codes)]} for i in range(columns)},
            "disease": {"role": SENSITIVE, "domain": [chr(97 + s) for s in range(values_of)]},
        }
    )
    cells = [[str(c) for c in random.integers(codes, size=rows)] for _ in range(columns)]
    return made_table(schema, *zip(*cells, [chr(97 + s) for s in random.integers(values_of, size=rows)], strict=True))


def test_everything_suppressed_tells_nothing_beyond_the_population() -> None:
    table = big(4000)
    found = audited(suppressed(table), table)
    got = values(found)
    assert got["bayesian.relative_threat.max"] == pytest.approx(1, abs=0.01)
    assert got["bayesian.belief_gain"] == pytest.approx(0, abs=0.001)
    shares = np.bincount(table.columns[2]) / table.rows
    assert got["bayesian.global_threat"] == pytest.approx(shares.max())
    belief = found.answers["r.csv", "disease"].attackers["bayesian"].probability
    assert belief == pytest.approx(np.tile(shares, (table.rows, 1)))
    assert values(found, None)["suppressed_share"] == 1
    assert found.document.diagnostics["releases"]["r.csv"]["suppressed_rows"] == 4000


def test_every_person_unique_is_found_and_read() -> None:
    schema = made_schema({"zip": {"role": QI, "domain": [str(i) for i in range(60)]}, "disease": AB})
    table = made_table(schema, *[(str(i), "ab"[i % 2]) for i in range(60)])
    found = audited(table.as_release(), table)
    got = values(found)
    assert got["bayesian.global_threat"] == 1
    assert got["bayesian.absolute_error"] == pytest.approx(0, abs=1e-9)
    assert values(found, None)["singled_out"] == 1
    assert values(found, None)["prosecutor_risk.max"] == 1
    assert found.document.diagnostics["wp29"]["r.csv"]["singling_out"]["value"] == 1
    assert found.document.diagnostics["wp29"]["r.csv"]["inference"]["finding"] == "bayesian.global_threat"


def test_one_sensitive_value() -> None:
    table = made_table(
        made_schema({"sex": SEX, "disease": {"role": SENSITIVE, "domain": ["a"]}}), ("f", "a"), ("m", "a")
    )
    got = values(audited(table.as_release(), table))
    assert got["bayesian.global_threat"] == got["learner.global_threat"] == 1
    assert got["bayesian.relative_threat.max"] == pytest.approx(1)
    assert got["bayesian.belief_gain"] == pytest.approx(0)


def test_no_quasi_identifier() -> None:
    table = made_table(made_schema({"disease": AB}), ("a",), ("a",), ("b",))
    release = made_release(table.attributes, [([0], [(0, "a"), (0, "a"), (0, "b")])])
    found = audited(release, table)
    assert values(found)["bayesian.global_threat"] == pytest.approx(2 / 3)
    assert any("no quasi-identifier" in text for text in found.document.diagnostics["remarks"])
    assert values(audited(release, None))["bayesian.belief_gain"] == pytest.approx(2 / 3 - 3 / 5)


def test_one_group_of_everyone() -> None:
    table = small()
    rows = [(0, sex, disease) for sex, disease in FOUR]
    anatomy = made_release(table.attributes, [([0], [(g, s) for g, s, _ in rows]), ([1], [(g, d) for g, _, d in rows])])
    found = audited(anatomy, table)
    assert values(found)["random_worlds.global_threat"] == pytest.approx(3 / 4)
    assert found.exit_code in (0, 3)


def test_two_hundred_columns() -> None:
    table = big(60, 200, codes=2, values_of=2)
    found = audited(table.as_release(), table)
    assert values(found)["bayesian.global_threat"] == 1


def test_no_sensitive_attribute_at_all() -> None:
    """Nor one that may be known of people; test_asked_in_turn.py has what is done where there are some."""
    schema = made_schema({"sex": {"role": INSENSITIVE, "domain": ["f", "m"]}})
    table = made_table(schema, ("f",), ("m",))
    found = audited(table.as_release(), table, limits=["k_anonymity >= 3"])
    assert found.exit_code == 1
    assert found.document.diagnostics["not_tested"][0].startswith("The schema names no sensitive attribute")
    assert found.document.diagnostics["wp29"]["r.csv"]["inference"]["status"] == "not tested"
    of_columns = {f.measure for f in found.document.findings if f.attribute is not None}
    assert of_columns == {"interval_overlap", "share_error"}  # what is left of the column; nobody is asked about it


TRUTH = (
    "global_threat",
    "accuracy",
    "absolute_error",
    "relative_threat.max",
    "relative_global_threat",
    "global_threat.value:a",
)


def test_without_the_original_success_is_unknown_and_never_0() -> None:
    table = small()
    found = audited(table.as_release(), None)
    got = values(found)
    for name in TRUTH:
        assert got[f"bayesian.{name}"] is None
    assert got["learner.global_threat"] is None
    assert got["ideal.global_threat"] is None
    assert got["faithfulness"] is None
    assert got["bayesian.belief_gain"] == pytest.approx(5 / 23)  # the cells are exact here
    assert got["bayesian.confident.80"] == 0.5
    assert got["baseline_accuracy"] == 3 / 4
    facts = found.document.diagnostics
    assert "unknown" in facts["sentence"]["r.csv"]["disease"]
    assert "coarsely" in facts["readers"][0]["threat"]["target"]
    assert facts["not_tested"][0].startswith("There was no original")
    assert facts["wp29"]["r.csv"]["inference"]["value"] is None
    assert audited(table.as_release(), None, limits=["global_threat <= 1"]).exit_code == 3
    assert audited(table.as_release(), None, limits=["belief_gain <= .5"]).exit_code == 0


def test_without_the_original_people_are_known_as_coarsely_as_published() -> None:
    found = audited(suppressed(small()), None)
    assert values(found)["bayesian.belief_gain"] == pytest.approx(3 / 4 - 2 / 3)  # of anybody: 3 of 4, learner 4 of 6
    assert found.document.diagnostics["people"] == 4


def test_people_who_fit_no_row_are_the_learners() -> None:
    table = small()
    women = made_release(table.attributes, [([0, 1], [(0, "f", "a"), (0, "f", "a")])])
    found = audited(women, table)
    answers = found.answers["r.csv", "disease"]
    assert answers.unplaced == 2
    assert answers.attackers["bayesian"].probability[2:] == pytest.approx(answers.learner.probability[2:])
    assert answers.attackers["random_worlds"].probability[:2] == pytest.approx(np.array([[1.0, 0.0]] * 2))
    assert any("2 of 4 people fit no row" in text for text in found.document.diagnostics["remarks"])


def test_where_nobody_fits_no_attacker_is_asked() -> None:
    table = small()
    men = made_release(table.attributes, [([0, 1], [(0, "m", "a")])])
    women = made_table(made_schema({"sex": SEX, "disease": AB}), ("f", "a"), ("f", "b"))
    found = audited(men, women, limits=["k_anonymity >= 1"])
    reasons = {r["reader"]: r["reason"] for r in found.document.diagnostics["readers"] if not r["applicable"]}
    assert reasons == dict.fromkeys(
        ("bayesian", "boosted", "random_worlds"), "nobody asked about fits a row of the release"
    )
    assert found.document.diagnostics["sentence"]["r.csv"]["disease"] == "No attacker could be asked about disease."
    assert found.exit_code == 0
    assert audited(men, women, limits=["global_threat <= 1"]).exit_code == 3


class Silent:
    """An attacker that never applies."""

    def asks(self) -> tuple[str, ...]:
        return ()

    def believe(self, *_: object) -> Belief:
        raise NotApplicable("it has nothing to say")


def test_an_attacker_that_does_not_apply_is_a_line_with_the_reason() -> None:
    table = small()
    found = audited(table.as_release(), table, attackers={"silent": Silent(), "bayesian": Bayesian()})
    (line,) = [r for r in found.document.diagnostics["readers"] if not r["applicable"]]
    assert (line["reader"], line["reason"]) == ("silent", "it has nothing to say")
    assert not any(f.id.startswith("silent.") for f in found.document.findings)
    both = {"silent": Silent(), "bayesian": Bayesian()}
    limited = audited(table.as_release(), table, attackers=both, limits=["accuracy <= 1"], panel=False)
    assert {f.id: f.verdict for f in limited.document.findings if f.limit == "accuracy <= 1"} == {
        "bayesian.accuracy": "within",
        "silent.accuracy": "inconclusive",
    }
    assert limited.exit_code == 3
    assert any("silent was not run" in text for text in found.document.diagnostics["not_tested"])


def test_numbers_and_kinds_get_their_own_measures() -> None:
    income = {"role": SENSITIVE, "kind": "numeric", "domain": {"from": 0, "to": 4}}
    classes = {"role": SENSITIVE, "domain": ["a", "b", "c"], "classes": {"x": ["a", "b"]}, "harmless": ["c"]}
    schema = made_schema({"sex": SEX, "income": income, "disease": classes})
    table = made_table(schema, ("f", 0, "a"), ("f", 2, "b"), ("m", 4, "c"), ("m", 4, "c"))
    found = audited(table.as_release(), table, limits=["near_truth.50 <= 1", "relative_threat.q50 <= 9"])
    got = values(found, "income")
    assert got["bayesian.expected_absolute_error"] == pytest.approx((1 + 1 + 0 + 0) / 4)
    assert got["bayesian.interval_width"] == pytest.approx((2 + 2 + 0 + 0) / 4)
    assert got["bayesian.near_truth.50"] == pytest.approx((0.5 + 0.5 + 1 + 1) / 4)
    disease = values(found)
    assert disease["bayesian.similar"] == 0.5  # the women: a or b, of one class; the men's c is harmless
    assert "bayesian.global_threat.value:c" not in disease
    assert "bayesian.relative_threat.q50" in disease
    assert sum(found.document.diagnostics["worst_attribute"]["r.csv"].values()) == 4


def test_two_sensitive_attributes_jointly() -> None:
    schema = made_schema(
        {
            "sex": SEX,
            "x": {**AB, "harmless": ["a"]},
            "y": {"role": SENSITIVE, "domain": ["1", "2", "3"], "harmless": ["1"]},
        }
    )
    table = made_table(schema, ("f", "a", "1"), ("f", "a", "1"), ("f", "b", "2"), ("m", "a", "3"))
    found = audited(table.as_release(), table, joint=True)
    got = values(found, "x × y")
    assert got["bayesian.global_threat"] == pytest.approx((1 + 1 + 0 + 1) / 4)
    assert "bayesian.belief_gain.value:a × 1" not in got  # harmless and harmless
    assert "bayesian.belief_gain.value:a × 3" in got
    assert got["baseline_accuracy"] == 0.5
    assert any("3 of 6 combinations are seen, 2 of them once" in t for t in found.document.diagnostics["remarks"])
    apart = made_release(
        table.attributes,
        [([0, 1], [(0, "f", "a"), (0, "m", "b")]), ([2], [(0, "1"), (0, "2")])],
    )
    lines = audited(apart, None, joint=True).document.diagnostics["readers"]
    assert [r["reason"] for r in lines if not r["applicable"]] == [
        "x × y: y is published in another block, so the combinations are not published"
    ]


def test_jointly_a_set_of_values_is_a_set_of_combinations() -> None:
    schema = made_schema({"sex": SEX, "x": AB, "y": {"role": SENSITIVE, "domain": ["1", "2"]}})
    table = made_table(schema, ("f", "a", "1"), ("f", "b", "2"))
    release = made_release(table.attributes, [([0, 1, 2], [(0, "f", "a", "1"), (0, "f", ["a", "b"], "2")])])
    belief = audited(release, table, joint=True).answers["r.csv", "x × y"].attackers["random_worlds"].probability
    assert belief == pytest.approx(np.array([[0.5, 0.5], [0.5, 0.5]]))  # {a,b} × 2 is b × 2: a × 2 is seen nowhere


def linked(rows: int, seed: int) -> Table:
    """People with a unique number; their value follows it by chance only."""
    random = np.random.default_rng(seed)
    schema = made_schema(
        {
            "zip": {"role": QI, "domain": [str(i) for i in range(200)]},
            "disease": {"role": SENSITIVE, "domain": list("abcd")},
        }
    )
    zips = random.permutation(200)[:rows]
    return made_table(schema, *[(str(z), "abcd"[s]) for z, s in zip(zips, random.integers(4, size=rows), strict=True)])


def test_members_against_controls() -> None:
    """Each in a cell of their own: the table gives members away. All in one cell: nobody."""
    members, controls = linked(120, 1), linked(120, 2)
    leaky = audited(members.as_release(), members, control=controls)
    found = next(f for f in leaky.document.findings if f.id == "bayesian.member_advantage")
    assert found.value is not None
    assert found.low is not None
    assert float(found.low) > 0.3
    assert leaky.document.diagnostics["controls"] == 120
    outside = [z for z in controls.columns[0] if z not in set(members.columns[0].tolist())]
    assert any(f"{len(outside)} of 120 control people fit no row" in t for t in leaky.document.diagnostics["remarks"])
    closed = audited(suppressed(members), members, control=controls)
    found = next(f for f in closed.document.findings if f.id == "bayesian.member_advantage")
    assert found.low is not None
    assert found.high is not None
    assert float(found.low) < 0 < float(found.high)


def test_controls_are_coded_by_the_originals_domains() -> None:
    table = small()

    def columns(**texts: list[str]) -> Columns:
        coded = {
            n: CodedColumn(tuple(dict.fromkeys(t)), np.array([list(dict.fromkeys(t)).index(v) for v in t]))
            for n, t in texts.items()
        }
        return Columns(coded, 2, lambda row: f"line {row}", ".", "")

    coded = code_people(columns(disease=["b", "a"], sex=["m", "m"], name=["x", "y"]), table.attributes, "c.csv")
    assert [c.tolist() for c in coded.columns] == [[1, 1], [1, 0]]
    with pytest.raises(UsageError, match=r"c\.csv: no column 'disease'"):
        code_people(columns(sex=["m", "m"]), table.attributes, "c.csv")
    with pytest.raises(UsageError, match="'z' is not a value of the declared domain"):
        code_people(columns(disease=["z", "a"], sex=["m", "m"]), table.attributes, "c.csv")


def test_five_exposed_people_who_were_not_sampled_are_not_nobody() -> None:
    """5 of 1,005: a sample of 100 that met none of them allows for 34, and how common values are is not sampled."""
    schema = made_schema(
        {"zip": {"role": QI, "domain": list("xyz")}, "disease": {"role": SENSITIVE, "domain": list("abcd")}}
    )
    crowd = [("xy"[n % 2], "abcd"[n // 2 % 4]) for n in range(1000)]
    table = made_table(schema, *crowd, *[("z", "a")] * 5)
    told = ["disclosed.80 <= 0.02", "misled.80 <= 0.04", "raised.of_a_value <= 0.9", "mode_gain <= 0.2"]
    found = audited(
        table.as_release(), table, sample=100, limits=told, attackers={"random_worlds": RandomWorlds()}, panel=False
    )
    of = {f.id: f for f in found.document.findings if f.attribute == "disease"}
    some, more, worst, gain = (of[f"random_worlds.{text.split()[0]}"] for text in told)
    assert (some.value, some.low) == (0, 0)
    assert float(some.high or 0) == pytest.approx(34 / 1005, abs=2e-3)
    assert [f.verdict for f in (some, more, worst, gain)] == ["inconclusive", "within", "inconclusive", "within"]
    assert (worst.value, worst.high) == (0, 1)
    assert float(gain.value or 0) == pytest.approx(0.25 - 255 / 1005, abs=0.01)
    whole = audited(table.as_release(), table, limits=told, attackers={"random_worlds": RandomWorlds()}, panel=False)
    assert values(whole)["random_worlds.disclosed.80"] == pytest.approx(5 / 1005)


def test_a_sample_of_people_widens_intervals_and_says_so() -> None:
    table = big(2000, seed=3)
    whole = audited(table.as_release(), table)
    part = audited(table.as_release(), table, sample=100)
    every = {f.id: f for f in whole.document.findings if f.attribute == "disease"}
    some = {f.id: f for f in part.document.findings if f.attribute == "disease"}
    for name in ("global_threat", "absolute_error", "squared_error", "confident.80"):
        one, other = every[f"bayesian.{name}"], some[f"bayesian.{name}"]
        assert one.low == one.value == one.high
        assert other.low is not None
        assert other.high is not None
        assert float(other.low) <= float(one.value or 0) <= float(other.high), name
    threat = some["bayesian.global_threat"]
    half = (float(threat.high or 0) - float(threat.low or 0)) / 2
    assert half == pytest.approx(1.96 * np.sqrt(0.5 * 0.5 / 100 * 0.95), rel=0.35)
    assert some["bayesian.relative_threat.max"].high == "inf"
    assert some["bayesian.belief_gain"].high == 1
    facts = part.document.diagnostics
    assert facts["sampled_people"] == 100
    assert "random sample of 100 people" in facts["remarks"][0]
    assert "of the 100 sampled" in facts["sentence"]["r.csv"]["disease"]
    assert len(part.people("r.csv", "disease")) == 100
    rows = part.people("r.csv", "disease")["row"].to_numpy() - 1
    truth = np.array(table.attributes[2].values)[table.columns[2][rows]]
    assert part.people("r.csv", "disease")["truth"].to_list() == truth.tolist()
    assert audited(table.as_release(), table, sample=5000).document.diagnostics["sampled_people"] is None


def test_who_knows_the_group_reads_a_group_of_one_value() -> None:
    """Two groups with one value each, cells all alike: only the group tells."""
    table = made_table(made_schema({"sex": SEX, "disease": AB}), ("f", "a"), ("f", "a"), ("f", "b"), ("f", "b"))
    release = made_release(
        table.attributes,
        [([0], [(0, "f"), (0, "f"), (1, "f"), (1, "f")]), ([1], [(0, "a"), (0, "a"), (1, "b"), (1, "b")])],
    )
    found = audited(release, table, assignments={"r.csv": np.array([0, 0, 1, 1])})
    got = values(found)
    assert got["bayesian_in_group.global_threat"] == 1
    assert got["bayesian.global_threat"] == 0.5
    groups = {r["reader"]: r["threat"]["group"] for r in found.document.diagnostics["readers"]}
    assert groups == {
        "learner": "not known",
        "bayesian": "not known",
        "boosted": "not known",
        "random_worlds": "not known",
        "bayesian_in_group": "known",
        "boosted_in_group": "known",
    }
    ran = ["bayesian", "boosted", "random_worlds", "bayesian_in_group", "boosted_in_group"]
    assert found.document.settings["attackers"] == ran


def test_a_prior_brings_the_attacker_who_learns_nothing() -> None:
    table = small()
    release = table.as_release()
    prior = Prior(np.array([3.0, 1.0]), {0: np.ones((2, 2))})
    got = values(audited(release, table, prior=lambda release, asked: prior))
    assert "fixed_prior.global_threat" in got
    assert "fixed_prior.global_threat" not in values(audited(release, table))


def small_counts(part: Any, least: int, key: str = "") -> list[Any]:
    counted = ("counts", "people", "groups", "rows", "threatened", "twice", "below", "infinite")
    if isinstance(part, dict):
        return [bad for k, v in part.items() for bad in small_counts(v, least, k)]
    if isinstance(part, list):
        return [bad for v in part for bad in small_counts(v, least, key)]
    return [part] if key in counted and part is not None and part < least else []


def test_an_external_document_shows_no_small_count() -> None:
    table = big(90, seed=5, values_of=4)
    rare = made_table(
        made_schema({"q0": {"role": QI, "domain": ["0", "1"]}, "disease": {"role": SENSITIVE, "domain": list("abc")}}),
        *[("0", "a")] * 40, *[("1", "b")] * 40, *[("0", "c")] * 3,
    )  # fmt: skip
    inside = audited(table.as_release(), table)
    assert small_counts(inside.document.charts, 10)
    for made in (table, rare):
        found = audited(made.as_release(), made, variant="external")
        assert not small_counts(found.document.charts, 10)
        for counts in found.document.diagnostics["worst_attribute"]["r.csv"].values():
            assert counts is None or counts >= 10
    assert "bayesian.global_threat.value:a" in values(found)
    assert "bayesian.global_threat.value:c" not in values(found)  # three people
    sizes = found.document.charts["r.csv"]["disease"]["subgroups"]["bayesian"]["q0"]
    assert [row["people"] for row in sizes] == [43, 40]
    words = audited(rare.as_release(), rare, variant="external", least_count=50).document.diagnostics["sentence"]
    assert "fewer than 50 people" in words["r.csv"]["disease"]


def test_one_hidden_count_hides_a_second() -> None:
    from unveil.audit.charts import hidden

    assert hidden({"counts": [20, 3, 40]}, 10) == {"counts": [None, None, 40]}
    assert hidden({"counts": [20, 3, 4]}, 10) == {"counts": [20, None, None]}
    assert hidden({"people": [20, 30], "right": [0.1, 0.2]}, 10) == {"people": [20, 30], "right": [0.1, 0.2]}
    assert hidden({"people": [20, 3, 0], "right": [0.1, 0.2, None]}, 10)["right"] == [0.1, None, None]


HOSTILE = [
    "<script>alert(1)</script>",
    "=cmd()",
    "x" * 1_000_000,
    "x" * 999_999 + "y",
    "\u202eevil\u2066",
    "a\nb",
    "[red]x[/red]",
]


def test_hostile_values_are_cut_told_apart_and_kept_from_the_terminal() -> None:
    schema = made_schema({"sex": {"role": QI, "domain": HOSTILE}, "disease": {"role": SENSITIVE, "domain": HOSTILE}})
    table = made_table(schema, *[(v, v) for v in HOSTILE], *[(v, v) for v in HOSTILE])
    found = audited(table.as_release(), table, limits=["global_threat.value:a\nb <= 1"])
    ids = [f.id for f in found.document.findings if f.id.startswith("bayesian.global_threat.value:")]
    assert len(set(ids)) == len(HOSTILE)
    assert max(map(len, ids)) <= len("bayesian.global_threat.value:") + 80
    assert len(found.document.model_dump_json()) < 300_000
    out = io.StringIO()
    print_document(found.document, Console(file=out, width=200))
    assert "\u202e" not in out.getvalue()
    assert "\x1b" not in out.getvalue()
    assert "<script>" not in found._repr_html_()


def test_verdicts_and_the_order_of_exit_codes() -> None:
    table = small()
    release = table.as_release()
    within, exceeded, unsure = "k_anonymity >= 2", "k_anonymity >= 3", "journalist_risk.max <= .2"
    assert audited(release, table).exit_code == 0
    assert audited(release, table, limits=[within]).verdict == "within"
    assert audited(release, table, limits=[within, unsure]).exit_code == 3
    assert audited(release, table, limits=[within, unsure, exceeded]).exit_code == 1
    both = run_audit({"a": release, "b": suppressed(table)}, original=table, limits=[exceeded], waive=WAIVED)
    assert both.document.diagnostics["verdicts"] == {"a": "exceeded", "b": "within"}
    assert audited(release, table, preset="k_3").exit_code == 1
    assert audited(release, table, preset="k_3").document.settings["limits"] == ["k_anonymity >= 3"]
    with pytest.raises(UsageError, match="unknown preset 'k_33'; choose from"):
        audited(release, table, preset="k_33")


def test_chains_that_disagree_are_inconclusive_whatever_the_limits() -> None:
    table = big(80, values_of=4)
    anatomy = anonymizer("anatomy:l=2").anonymize(table, Engine(seed=2)).release
    found = audited(anatomy, table, limits=["k_anonymity >= 1"])
    states = [(r["converged"], r["precise"]) for r in found.document.diagnostics["readers"]]
    assert (True, False) in states or (False, False) in states  # 60 sweeps are not enough
    assert (found.verdict, found.exit_code) == ("inconclusive", 3)
    assert audited(anatomy, table, limits=["k_anonymity >= 99"]).exit_code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attackers": {}}, "at least one attacker"),
        ({"known": ["disease", "shoe"]}, "unknown attribute 'shoe' in known"),
        ({"wrong": 1.5}, "must lie in"),
        ({"sample": 0}, "a sample of 0 people"),
        ({"least_count": 0}, "the least count shown must be 1"),
        ({"assignments": {"x": np.zeros(4)}}, "but no such release"),
        ({"assignments": {"r.csv": np.zeros(3)}}, "has 3 rows"),
        ({"limits": ["shoe.size <= 3"]}, "unknown measure"),
        ({"limits": ["global_threat.value:z <= 3"]}, "is not a sensitive value"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    table = small()
    with pytest.raises(UsageError, match=message):
        audited(table.as_release(), table, **options)


def test_without_the_original_no_control_and_no_assignment() -> None:
    table = small()
    for options in ({"control": table}, {"assignments": {"r.csv": np.zeros(4)}}):
        with pytest.raises(UsageError, match="only with the original"):
            audited(table.as_release(), None, **options)


def finding(release: str, id: str, value: float, spread: float = 0.0) -> Finding:
    return made_finding(id, release, None, value, value - spread, value + spread)


def test_dominance_respects_intervals_and_both_sides() -> None:
    def compared(*rows: tuple[str, str, float, float]) -> list[tuple[str, str]]:
        pairs, _ = dominance([finding(*row) for row in rows], ["a", "b"])
        return [(p["better"], p["worse"]) for p in pairs]

    risk_a, risk_b = ("a", "bayesian.global_threat", 0.3, 0.0), ("b", "bayesian.global_threat", 0.4, 0.0)
    assert compared(risk_a, risk_b) == [("a", "b")]
    assert compared(risk_a, risk_b, ("a", "faithfulness", 0.5, 0.0), ("b", "faithfulness", 0.6, 0.0)) == []
    assert compared(risk_a, risk_b, ("a", "faithfulness", 0.5, 0.1), ("b", "faithfulness", 0.6, 0.1)) == [("a", "b")]
    assert compared(("a", "bayesian.global_threat", 0.3, 0.06), ("b", "bayesian.global_threat", 0.4, 0.06)) == []
    assert compared(("a", "bayesian.absolute_error", 1.5, 0.0), ("b", "bayesian.absolute_error", 1.0, 0.0)) == [
        ("a", "b")
    ]
    assert compared(("a", "certainty_penalty", 0.5, 0.0), ("b", "certainty_penalty", 0.2, 0.0)) == [("b", "a")]
    assert compared(("a", "learner.global_threat", 0.3, 0.0), ("b", "learner.global_threat", 0.4, 0.0)) == []
    words = dominance([finding(*risk_a), finding(*risk_b)], ["a", "b"])[1]
    assert words.startswith("a dominates b")


def test_releases_side_by_side() -> None:
    table = big(60)
    found = run_audit(
        {"open.csv": table.as_release(), "closed.csv": suppressed(table)},
        original=table,
        chains=SHORT,
        engine=Engine(seed=0, workers=1),
    )
    assert found.document.diagnostics["dominance"] == []
    assert "No release dominates" in found.document.diagnostics["dominance_text"]
    out = io.StringIO()
    print_document(found.document, Console(file=out, width=150))
    assert "open.csv" in out.getvalue()
    assert "closed.csv" in out.getvalue()
    assert "A LIMIT IS EXCEEDED" in out.getvalue()  # of the open one: everybody stands alone


def test_every_measure_has_its_definition_with_a_source() -> None:
    table = small()
    found = audited(table.as_release(), table, limits=["global_threat - learner.global_threat <= 1"])
    definitions = found.document.diagnostics["definitions"]
    assert {"global_threat", "k_anonymity", "faithfulness", "marketer_risk"} <= set(definitions)
    assert all(d["words"] and d["source"] and d["page"] for d in definitions.values()), definitions


def test_repeated_identifiers_and_unpublished_columns_are_said() -> None:
    schema = made_schema(
        {"name": {"role": IDENTIFIER}, "sex": SEX, "zip": {"role": QI, "domain": ["1"]}, "disease": AB}
    )
    table = made_table(schema, ("x", "f", "1", "a"), ("x", "m", "1", "b"))
    release = made_release([table.attributes[0], table.attributes[2]], [([0, 1], [(0, "f", "a"), (1, "m", "b")])])
    facts = audited(release, table, known=["sex", "disease"]).document.diagnostics
    assert facts["releases"]["r.csv"]["repeated_identifiers"] == 2
    assert any("does not publish zip" in text for text in facts["remarks"])
    assert any("2 rows share an identifier" in text for text in facts["remarks"])
    assert facts["readers"][0]["threat"]["target"] == "sex"


def test_more_missing_values_than_the_original_has_are_said() -> None:
    """sdcMicro withholds with the same NA that says missing in the original."""
    schema = made_schema({"sex": {**SEX, "missing": "category"}, "disease": AB}, missing=["NA"])
    table = made_table(schema, ("f", "a"), ("m", "b"), ("NA", "a"))
    for cells, said in ((("f", "NA", "NA"), True), (("f", "m", "NA"), False)):
        rows = [(g, cell, d) for g, (cell, d) in enumerate(zip(cells, "aba", strict=True))]
        remarks = audited(made_release(table.attributes, [([0, 1], rows)]), table).document.diagnostics["remarks"]
        found = [r for r in remarks if "say that it is missing" in r]
        assert ["r.csv, sex: 2 rows say that it is missing, of the original 1; if" in r for r in found] == [True] * said


def test_the_same_seed_gives_the_same_document() -> None:
    table = big(80)
    anatomy = anonymizer("anatomy:l=2").anonymize(table, Engine(seed=2)).release
    one, two = (audited(anatomy, table, engine=Engine(seed=4, workers=w), sample=50).to_dict() for w in (1, 2))
    one.pop("run"), two.pop("run")
    assert one == two


def test_the_audit_believes_what_an_attack_with_the_same_seed_does() -> None:
    table = big(80)
    anatomy = anonymizer("anatomy:l=2").anonymize(table, Engine(seed=2)).release
    found = audited(anatomy, table, engine=Engine(seed=4, workers=1)).answers["r.csv", "disease"]
    attack = run_attack(
        anatomy, targets_of_table(table, anatomy, 2), {"bayesian": Bayesian()}, engine=Engine(seed=4), chains=SHORT
    )
    assert np.array_equal(found.attackers["bayesian"].probability, attack.attackers["bayesian"].probability)
    assert np.array_equal(found.learner.probability, attack.learner.probability)


def test_random_worlds_alone() -> None:
    table = small()
    found = audited(table.as_release(), table, attackers={"random_worlds": RandomWorlds()})
    assert values(found)["random_worlds.global_threat"] == 3 / 4
    assert "75%" in found.document.diagnostics["sentence"]["r.csv"]["disease"]


def aged(ages: list[str], sexes: str = "") -> Table:
    schema = made_schema({"age": {"role": QI, "domain": ["20", "21", "22", "23"]}, "sex": SEX, "disease": AB})
    return made_table(schema, *((age, sex, "a") for age, sex in zip(ages, sexes or "f" * len(ages), strict=True)))


def of_bands(table: Table, bands: list[tuple[int, int]]) -> Release:
    """Rows with their sex and one of these bands of age, class by class in their order."""
    sex, disease = (Regions.singles(2), Regions.singles(2))
    regions = Regions.intervals(4, [low for low, _ in bands], [high for _, high in bands])
    group = np.arange(table.rows) // 2
    columns = (group.astype(np.int64), table.columns[1], table.columns[2])
    part = BlockRows((0, 1, 2), group, columns)
    return build_release(table.attributes, (regions, sex, disease), [part])[0]


def test_a_population_makes_the_journalists_risk_a_number() -> None:
    """Two classes of women, 20-21 and 21-23: of the five women on file two are 21 and fit both; the men fit none."""
    table = aged(["20", "21", "22", "23"])
    release = of_bands(table, [(0, 1), (1, 3)])
    population = aged(["20", "21", "21", "22", "23", "20", "22"], "fffffmm")
    got = values(audited(release, table, population=population), None)
    assert got["prosecutor_risk.max"] == 1 / 2
    assert got["journalist_risk.max"] == 1 / 3  # 20, 21, 21
    assert got["marketer_risk"] == got["journalist_risk.mean"] == pytest.approx((2 / 3 + 2 / 4) / 4)
    limit = "journalist_risk.max <= 0.4"

    def verdict(found: Audit) -> str:
        return next(f.verdict for f in found.document.findings if f.id == "journalist_risk.max")

    found = audited(release, table, population=population, limits=[limit])
    assert verdict(found) == "within"
    assert not [r for r in found.document.diagnostics["remarks"] if "population" in r]
    assert found.document.settings["population"] == population.name
    bare = audited(release, table, limits=[limit])
    assert verdict(bare) == "inconclusive"
    assert "journalist_risk.mean" not in values(bare, None)


def test_a_population_that_does_not_hold_everyone() -> None:
    table = aged(["20", "21", "22", "23"])
    release = of_bands(table, [(0, 1), (1, 3)])
    found = audited(release, table, population=aged(["20", "22", "22", "22"]))
    assert values(found, None)["journalist_risk.max"] == 1 / 2  # the two rows themselves
    assert [r for r in found.document.diagnostics["remarks"] if "1 classes have more rows than people" in r]
    every = audited(suppressed(table), table, population=aged(["20"] * 9))
    assert values(every, None)["journalist_risk.max"] == 1 / 9
    with pytest.raises(UsageError, match=r"has no 'age'"):
        audited(release, table, population=small())


def test_who_knows_the_group_is_asked_about_members_alone() -> None:
    table = small()
    release = table.as_release()
    alone = audited(release, table, assignments={"r.csv": np.arange(4)})
    both = audited(release, table, assignments={"r.csv": np.arange(4)}, control=small())
    id = "bayesian_in_group.global_threat"
    assert values(both)[id] == values(alone)[id]
    assert "bayesian.member_advantage" in values(both)
    assert "bayesian_in_group.member_advantage" not in values(both)
    assert not [r for r in both.document.diagnostics["readers"] if not r["applicable"]]


def test_r_hat_is_drawn_for_the_people_who_are_watched() -> None:
    ill = {"role": SENSITIVE, "domain": ["a", "b", "c"]}  # of two values: integrated, no chains
    table = made_table(made_schema({"sex": SEX, "disease": ill}), *([("f", "a"), ("m", "b"), ("f", "c")] * 10))
    release = anonymizer("anatomy:l=2").anonymize(table, Engine(seed=1)).release
    found = audited(release, table, chains=Chains(sweeps=100, burn_in=20, most_sweeps=0, every=10))
    charts = found.document.charts["r.csv"]["disease"]["convergence"]
    assert charts["random_worlds"]["r_hat"] is None
    drawn = charts["bayesian"]["r_hat"]
    assert len(drawn["counts"]) == len(drawn["edges"]) - 1
    assert sum(drawn["counts"]) == found.answers["r.csv", "disease"].attackers["bayesian"].diagnostics.facts["watched"]

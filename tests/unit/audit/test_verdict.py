"""The verdict: every kind judged or said not to be; what was not judged is never fine."""

from collections import Counter

import numpy as np
import pytest

from one_round import run_audit
from small import IDENTIFIER, INSENSITIVE, QI, SENSITIVE, WAIVED, made_schema, made_table, masked_release
from unveil.audit.limits import limits_that_say_nothing
from unveil.audit.membership import MembershipQuestion
from unveil.audit.verdict import DEFAULT_LIMITS, KINDS, judgement_of, kind_of_finding
from unveil.catalog import anonymizer
from unveil.data.belief import Belief
from unveil.data.release import Anonymized, Release
from unveil.data.rows import as_published
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.report import render_page
from unveil.risk import news
from unveil.risk.published_file import Leak

SCHEMA = made_schema(
    {
        "age": {"role": QI, "domain": ["young", "old"]},
        "ill": {"role": SENSITIVE, "domain": ["flu", "hiv", "cold", "none"]},
    }
)
QUICK = {"engine": Engine(seed=0, workers=1)}


def people(counts: dict[tuple[str, str], int]) -> Table:
    return made_table(SCHEMA, *[row for row, count in counts.items() for _ in range(count)])


ILLNESSES = ("flu", "hiv", "cold", "none")
EVEN = {(age, ill): 25 for age in ("young", "old") for ill in ILLNESSES}
ONE_FOR_ALL = EVEN | {("young", ill): 100 * (ill == "hiv") for ill in ILLNESSES}
FINE = [Leak("row_order", "linking", "fine", "The order tells nothing.")]


def published(table: Table) -> Release:
    """The table as it is, its classes the groups."""
    made: Anonymized = anonymizer("full_domain:levels=0").anonymize(table, Engine(seed=0))
    return made.release


def kinds_of(table: Table, **options: object) -> dict[str, str]:
    found = run_audit({"r": published(table)}, original=table, **QUICK, **options)
    rows = found.document.diagnostics["judgement"]["r"]["kinds"]
    return {row["kind"]: row["verdict"] for row in rows} | {"": found.verdict, "exit": str(found.exit_code)}


def test_an_even_table_is_within_once_the_file_itself_is_waived() -> None:
    plain = kinds_of(people(EVEN))
    assert (plain["singling out"], plain["linking"], plain["inference"]) == ("within",) * 3
    assert plain["file"] == "not judged"
    assert (plain[""], plain["exit"]) == ("inconclusive", "3")  # not judged is not fine
    waived = kinds_of(people(EVEN), waive={"file": "written by our own program"})
    assert (waived[""], waived["exit"]) == ("within", "0")


def test_a_class_of_one_value_is_exceeded_whatever_preset_is_kept() -> None:
    for options in ({}, {"preset": "k_5"}, {"preset": "ema_0070"}, {"limits": ["k_anonymity >= 2"]}):
        found = kinds_of(people(ONE_FOR_ALL), waive={"file": "why"}, **options)
        assert (found["inference"], found[""], found["exit"]) == ("exceeded", "exceeded", "1")
        assert found["singling out"] == "within"


def test_a_waiver_needs_a_kind_and_a_reason_and_excuses_no_stated_limit() -> None:
    table = people(ONE_FOR_ALL)
    assert kinds_of(table, waive=WAIVED)["exit"] == "0"
    assert kinds_of(table, waive=WAIVED, limits=["disclosed.80 <= 0.1"])["exit"] == "1"
    assert kinds_of(table, waive={**WAIVED, "inference:ill": "x"})["exit"] == "0"
    for waive, message in (({"luck": "x"}, "unknown kind"), ({"linking": " "}, "say why")):
        with pytest.raises(UsageError, match=message):
            kinds_of(table, waive=waive)


def test_narrowing_the_question_narrows_the_verdict() -> None:
    for options in ({"known": ["age"]}, {"wrong": 0.1}):
        found = kinds_of(people(EVEN), waive={"file": "why"}, **options)
        assert found["inference"] == "not judged"
        assert found["exit"] == "3"
    alone = run_audit({"r": published(people(EVEN))}, waive={"file": "why"}, **QUICK)
    assert alone.exit_code == 3
    rows = {row["kind"]: row for row in alone.document.diagnostics["judgement"]["r"]["kinds"]}
    assert "Without the original" in rows["inference"]["sentence"]


def test_leaks_of_the_file_decide_and_stand_in_their_kind() -> None:
    bad = [Leak("row_order", "linking", "exceeded", "The rows stand in the original's order.", "shuffle the rows")]
    for leaks, verdict, exit_code in ((FINE, "inconclusive", 3), (bad, "exceeded", 1)):
        found = judgement_of("r", [], sensitive=["ill"], leaks=leaks, reasons={}, waivers={})
        assert (found.verdict, found.exit_code) == (verdict, exit_code)
    rows = {row.kind: row for row in found.kinds}
    assert rows["linking"].verdict == rows["file"].verdict == "exceeded"
    assert rows["linking"].fix == "Shuffle the rows."
    assert set(rows) == set(KINDS)


def test_every_default_limit_is_of_its_kind() -> None:
    table = people(EVEN)
    found = run_audit({"r": published(table)}, original=table, **QUICK).document.findings
    for finding in found:
        for text in (finding.limit or "").split("; "):
            if text:
                assert text in DEFAULT_LIMITS[kind_of_finding(finding)], (finding.id, text)


def test_what_is_news_by_hand() -> None:
    share = np.array([0.9, 0.1])
    truth = np.array([0, 0, 1, 1])
    p = np.array([[0.95, 0.05], [0.99, 0.01], [0.2, 0.8], [0.75, 0.25]])
    # odds of .95 are 19, of the share 9: no news; of .99 they are 99; .8 of a rare value is, .25 is not sure.
    assert news.disclosed_people(p, truth, share).tolist() == [False, True, True, False]
    assert news.disclosed(Belief(p), truth, share).value == 0.5
    assert news.disclosed(Belief(p), truth, share, harmless=(0,)).value == 0.25
    wrong = np.array([1, 1, 0, 0])
    assert news.misled(Belief(p), wrong, share).value == 0.5
    learner = Belief(np.tile(share, (4, 1)))
    # .8 has 36 times the odds of .1; .25 has 3 times.
    assert news.raised(Belief(p), learner, truth, share).value == 0.5  # .99 has 11 times the odds of .9
    assert news.raised(Belief(p), Belief(p), truth, share).value == 0


def test_codes_have_kinds_by_their_letter() -> None:
    schema = made_schema({"d": {"role": SENSITIVE, "domain": ["F32.1", "F20", "J45", "J10.0"]}})
    [(node, labels)] = news.kinds_of(schema.attribute("d"))
    assert (labels, node.tolist()) == (("F", "J"), [0, 0, 1, 1])
    assert news.kinds_of(SCHEMA.attribute("ill")) == []


def test_values_of_several_words_have_kinds_by_their_words() -> None:
    names = ["cancer of the lung", "cancer of the skin", "injury of the lung", "injury of the skin", "none"]
    schema = made_schema(
        {"d": {"role": SENSITIVE, "domain": [*names, "infection of the lung", "infection of the skin"]}}
    )
    first, last = news.kinds_of(schema.attribute("d"))
    assert first[1] == ("cancer", "infection", "injury", "none")
    assert last[1] == ("lung", "none", "skin")
    assert [last[1][k] for k in last[0]][:5] == ["lung", "skin", "lung", "skin", "none"]


def test_limits_that_point_the_wrong_way_are_refused() -> None:
    table = people(EVEN)
    for text, instead in (
        ("k_anonymity <= 5", "write k_anonymity >= 5"),
        ("reid >= 0.1", "write reid <= 0.1"),
        ("bayesian.global_threat > 0.1", "write bayesian.global_threat <= 0.1"),
        ("learner.global_threat - bayesian.global_threat <= 0.2", "write bayesian.global_threat - learner"),
    ):
        with pytest.raises(UsageError, match=instead):
            run_audit({"r": published(table)}, original=table, limits=[text])


def test_limits_that_cannot_fail_or_are_about_nobody_are_named() -> None:
    for text, words in (
        ("prosecutor_risk.max <= 9", "never above 1"),
        ("prosecutor_risk.max <= 1", "never above 1"),
        ("t_closeness <= 1", "never above 1"),
        ("disclosed.80 < 1.5", "never above 1"),
        ("k_anonymity >= 1", "never below 1"),
        ("distinct_l > 0.5", "never below 1"),
        ("learner.global_threat <= 0.5", "anybody learns in general"),
    ):
        (said,) = limits_that_say_nothing([text])
        assert words in said
    able = [
        "k_anonymity >= 1.5",
        "k_anonymity > 1",
        "relative_threat.max <= 10",
        "confident.80 < 1",
        "query_error <= 2",
    ]
    assert limits_that_say_nothing(able) == []
    found = run_audit({"r": published(people(EVEN))}, limits=["prosecutor_risk.max <= 9"], **QUICK)
    assert "never above 1" in found.document.diagnostics["remarks"][0]


def test_a_limit_that_touches_no_release_is_named_there_as_not_judged() -> None:
    table = people(EVEN)
    numbers = made_schema(
        {"age": {"role": QI, "kind": "numeric"}, "ill": {"role": SENSITIVE, "domain": list(ILLNESSES)}}
    )
    raw = made_table(numbers, *[(str(20 + i % 40), ILLNESSES[i % 4]) for i in range(80)])
    masked = masked_release(raw.attributes, as_published(raw.attributes, raw.columns), masked=(0,))
    for releases, original in (({"raw": masked}, raw), ({"raw": masked, "safe": published(raw)}, raw)):
        found = run_audit(releases, original=original, preset="k_5", waive={"file": "x", "linking": "x"}, **QUICK)
        rows = {row["kind"]: row for row in found.document.diagnostics["judgement"]["raw"]["kinds"]}
        assert rows["singling out"]["verdict"] == "not judged"
        assert "k_anonymity >= 5 was not judged" in rows["singling out"]["sentence"]
        assert found.document.diagnostics["verdicts"]["raw"] != "within"
        assert found.exit_code in (1, 3)
    useful = run_audit({"raw": masked}, original=raw, limits=["certainty_penalty <= 0.5"], waive=WAIVED, **QUICK)
    assert useful.exit_code == 3
    assert "certainty_penalty <= 0.5 not judged" in useful.document.diagnostics["judgement"]["raw"]["words"]
    with pytest.raises(UsageError, match="nothing here measures"):  # a slip of the pen stays an error
        run_audit({"r": published(table)}, original=table, limits=["prosecutor_risk.maximum <= 0.5"], **QUICK)


def test_background_knowledge_that_was_not_tried_is_not_judged() -> None:
    found = kinds_of(people(EVEN), waive={"file": "why"}, background=None)
    assert (found["background"], found["exit"]) == ("not judged", "3")
    assert kinds_of(people(EVEN), waive={"file": "why", "background": "no register"}, background=None)["exit"] == "0"


def words_of(table: Table, **options: object) -> tuple[str, dict[str, str], int]:
    """The words beside the verdict, the sentence of each kind, and the exit code."""
    found = run_audit({"r": published(table)}, original=table, **QUICK, waive={"file": "why"}, **options)
    judged = found.document.diagnostics["judgement"]["r"]
    return judged["words"], {row["kind"]: row["sentence"] for row in judged["kinds"]}, found.exit_code


def test_what_only_the_steward_knows_stands_beside_the_word_until_it_is_answered() -> None:
    words, _, code = words_of(people(EVEN))
    assert words.startswith("within; ")
    assert code == 0
    for note in ("membership", "earlier releases", "a population register"):
        assert f"{note} not considered" in words
    answered = {"membership": MembershipQuestion(False), "earlier_releases": (), "population_register": "none"}
    words, told, code = words_of(people(EVEN), panel=True, **answered)
    assert (words, code) == ("within; file waived", 0)
    assert "harmless" in told["membership"]
    assert "nothing was published" in told["composition"]


def test_what_is_answered_sensitively_is_judged() -> None:
    _, told, code = words_of(people(EVEN), earlier_releases=["2023.csv"])
    assert code == 3
    assert "2023.csv" in told["composition"]
    _, told, code = words_of(people(EVEN), membership=MembershipQuestion(True))
    assert code == 3
    assert "--control" in told["membership"]
    # Control people do not stand for a register that a recipient may hold.
    control = {"control": people(EVEN), "membership": MembershipQuestion(True)}
    assert "Not known well enough" in words_of(people(EVEN), **control)[1]["membership"]
    _, told, code = words_of(people(EVEN), **control, population_register="available")
    assert code == 3
    assert "--population" in told["membership"]


def test_a_value_that_all_share_is_not_settled_by_calling_membership_harmless() -> None:
    all_ill = people({(age, ill): 98 * (ill == "hiv") + (ill in ("flu", "cold")) for age, ill in EVEN})
    for sensitive, said in ((None, "Say in the schema"), (False, "correct one of them")):
        _, told, code = words_of(all_ill, membership=MembershipQuestion(sensitive))
        assert code == 3
        assert said in told["inference"]


def test_the_role_of_every_column_stands_in_the_document_and_on_page_one() -> None:
    schema = made_schema(
        {
            "name": {"role": IDENTIFIER},
            "age": {"role": QI, "domain": ["young", "old"]},
            "ward": {"role": INSENSITIVE, "domain": ["a", "b"]},
            "ill": {"role": SENSITIVE, "domain": ["flu", "hiv"]},
        },
    )
    rows = [(str(i), "young" if i % 2 else "old", "ab"[i // 2 % 2], "flu" if i % 3 else "hiv") for i in range(48)]
    table = made_table(schema, *rows)
    found = run_audit({"r": published(table)}, original=table, **QUICK).document
    assert found.diagnostics["roles"] == {
        "identifier": ["name"],
        "quasi-identifier": ["age"],
        "sensitive": ["ill"],
        "insensitive": ["ward"],
        "not published": ["name"],
    }
    page = render_page(found)
    first = page[: page.index("<h2", page.index("What was judged") + 20)]
    for words in ("quasi-identifier", "ward", "not published"):
        assert words in first


def test_what_any_reader_knows_has_a_limit_of_its_own() -> None:
    """Eleven values, each group shows one of them for most: nobody is sure, yet nearly everybody is guessed right."""
    values = [f"v{i}" for i in range(11)]
    group = {"role": QI, "domain": [str(i) for i in range(11)]}
    schema = made_schema({"ward": group, "ill": {"role": SENSITIVE, "domain": values}})
    rows = [(str(ward), values[ward] if i < 14 else values[(ward + i) % 11]) for ward in range(11) for i in range(20)]
    table = made_table(schema, *rows)
    found = run_audit({"r": published(table)}, original=table, **QUICK, waive={"file": "x"})
    got = {f.id: f for f in found.document.findings if f.attribute == "ill"}
    assert got["bayesian.disclosed.80"].value == got["learner.disclosed.80"].value == 0
    most = max(Counter(ill for _, ill in rows).values()) / len(rows)
    right = sum(ill == values[int(ward)] for ward, ill in rows) / len(rows)
    assert got["learner.mode_gain"].value == pytest.approx(right - most)
    assert got["learner.mode_gain"].verdict == "exceeded"
    row = next(r for r in found.document.diagnostics["judgement"]["r"]["kinds"] if r["kind"] == "inference")
    assert row["verdict"] == "exceeded"
    assert "unveil anonymize" in row["fix"]


def test_an_untouched_table_is_its_own_release() -> None:
    """Rows that look alike are not told apart, though in memory each is a group of its own."""
    even, one = people(EVEN), people(ONE_FOR_ALL)
    for table, verdict, words in ((even, "within", "Kept"), (one, "exceeded", "ill")):
        found = run_audit({"r": table.as_release()}, original=table, **QUICK, waive={"file": "x"})
        row = next(r for r in found.document.diagnostics["judgement"]["r"]["kinds"] if r["kind"] == "inference")
        assert row["verdict"] == verdict
        assert words in row["sentence"]
    grouped = run_audit({"r": even.as_release()}, original=even, assignments={"r": np.arange(200)}, **QUICK)
    assert len(grouped.document.findings) > len(found.document.findings)

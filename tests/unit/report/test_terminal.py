"""Documents on a terminal: one screen whatever was found, every section on demand, nothing cut, nothing hostile."""

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from differential_documents import differential_document, hostile_differential
from one_round import run_audit
from report_documents import document, external, hostile, many_subgroups, without_original
from small import QI, SENSITIVE, made_schema, made_table
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior.contract import Chains
from unveil.audit.document import Document
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.report import print_blocks, print_document, render_page
from unveil.report.blocks import Cell, Grid
from unveil.report.sections.summary import worst_findings

MANY = tuple(f"release-{i}.csv" for i in range(9))
DOCUMENTS = {
    "two releases": document(),
    "one release": document(releases=("a.csv",), disagree=False),
    "nine releases of four attributes": document(releases=MANY, attributes=("disease", "income", "job", "faith")),
    "200 columns": many_subgroups(),
    "external": external(document()),
    "without an original": without_original(document(verdict="no limit")),
    "hostile": hostile(),
    "differential": differential_document(),
    "hostile differential": hostile_differential(),
}


def printed(found: Any, *, width: int = 100, **options: Any) -> str:
    out = io.StringIO()
    print_document(found, Console(file=out, width=width), **options)
    return out.getvalue()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_answer_is_one_screen(name: str) -> None:
    lines = printed(DOCUMENTS[name], report=Path("report.html")).splitlines()
    assert 8 <= len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert lines[-1] == "Report: report.html"
    untested = [line for line in lines if line.startswith("Not tested: ")]
    assert len(untested) == (DOCUMENTS[name]["document"] == "audit")
    assert not any(", ," in line for line in untested)


def test_three_worst_findings_are_shown_however_much_stands_above_them() -> None:
    text = printed(DOCUMENTS["nine releases of four attributes"])
    below = text[text.index("Worst findings") :].splitlines()
    assert sum("release-" in line for line in below) == 3
    assert "and 5 more releases" in text
    assert re.search(r"prosecutor_risk.max <= 0.09 .* and 8 more", text)


def test_the_answer_says_verdicts_sentences_limits_and_the_worst() -> None:
    text = printed(document())
    assert text.startswith("mondrian-k5.csv: A LIMIT IS EXCEEDED\nanatomy-l4.csv: INCONCLUSIVE: NOT A PASS\n")
    assert text.count("41% right") == 2
    assert len(re.findall(r"prosecutor_risk.max <= 0.09 .*exceeded", text)) == 2
    assert "Worst findings" in text
    assert "--verbose" in text.splitlines()[-1]
    assert 24 <= len(text.splitlines()) <= 40


def test_whose_beliefs_come_true_least_is_said_in_one_line() -> None:
    def finding(measure: str, value: float | None, reader: str, statistic: str | None = None) -> dict[str, Any]:
        place = {"release": "a.csv", "attribute": "disease", "reader": reader, "statistic": statistic}
        return {**place, "measure": measure, "value": value, "low": value, "high": value, "baseline": None}

    def said(*more: dict[str, Any]) -> str:
        found = DOCUMENTS["one release"]
        lines = printed({**found, "findings": [*found["findings"], *more]}, width=160).splitlines()
        return "".join(line for line in lines if line.startswith("Least calibrated"))

    worst = [
        finding("calibration_error", 0.147, "bayesian"),
        finding("calibration_error", 0.006, "random_worlds"),
        finding("calibration_error", 0.3, "learner"),  # no attacker
        finding("confident_right", 0.73, "bayesian", "80"),
    ]
    assert said(*worst) == (
        "Least calibrated: bayesian: beliefs lie 14.7 points from how often they come true; of those of 80% "
        "or more 73.0% are right."
    )
    assert said(*worst[:3], finding("confident_right", None, "bayesian", "80")).endswith("it is 80% sure of nobody.")
    assert said() == ""


def test_that_several_readings_fit_is_said_first() -> None:
    """However many chains stopped short: it says what each reading would mean for the people."""
    found = json.loads(json.dumps(document()))  # disagree and imprecise, which are two warnings already
    said = "two readings of the release fit it, with 50.1% and 49.9% of the posterior: one is right about 88%"
    for reader in found["diagnostics"]["readers"]:
        if reader["release"] == "anatomy-l4.csv":
            reader["facts"]["readings"] = said
    lines = printed(found, width=160).splitlines()
    (first, *_) = (line for line in lines if line.startswith("! "))
    assert first == f"! anatomy-l4.csv (disease): {said}."
    assert said in render_page(found)


def test_the_worst_are_over_their_limit_first_then_furthest_from_the_baseline() -> None:
    def finding(measure: str, value: float, baseline: float | None = None, **more: Any) -> dict[str, Any]:
        place = {"release": "r", "attribute": None, "reader": None, "statistic": None}
        ends = {"value": value, "low": value, "high": value, "baseline": baseline}
        return {**place, **ends, "measure": measure, **more}

    found = {
        **document(),
        "findings": [
            finding("global_threat", 0.5, 0.4, reader="bayesian"),
            finding("reid", 0.6, 0.1),
            finding("confident", 0.3, 0.2, reader="bayesian", statistic="80"),
            finding("confident", 0.35, 0.2, reader="bayesian:membership=0.5", statistic="80"),
            finding("absolute_error", 0.9, 0.1, reader="bayesian"),  # more is better: not a fault
            finding("global_threat", 0.9, 0.1, reader="learner"),  # what anybody learns in general
            finding("singled_out", 0.06, limit="singled_out <= 0.05", verdict="exceeded"),
            finding("certainty_penalty", 0.9, 0.0),  # utility
        ],
    }
    worst = worst_findings(Document.model_validate(found))
    assert [f.id for f in worst] == ["singled_out", "reid", "bayesian:membership=0.5.confident.80"]


@pytest.mark.parametrize("name", ["two releases", "hostile", "differential"])
def test_verbose_prints_every_section_of_the_page(name: str) -> None:
    text = printed(DOCUMENTS[name], verbose=True, width=160)
    headings = re.findall(r'<h2 id="[^"]+"><bdi>([^<&]{4,60})</bdi>', render_page(DOCUMENTS[name]))
    assert len(headings) > 5
    assert [h for h in headings if h not in text] == []
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_table_that_is_too_wide_is_stacked_and_never_cut() -> None:
    """The last column of the widest rows was cropped where the columns before it took all the room."""
    names = ("mondrian:k=2," + "x" * 40, "mondrian:k=4," + "y" * 40, "mondrian:k=8," + "z" * 40)
    found = differential_document(names)
    found["diagnostics"]["tests"][2]["worst_row"] = 1_234_567
    text = printed(found, width=60, verbose=True)
    assert "Row of the worst record: 1,234,567" in text
    assert max(map(len, text.splitlines())) <= 60
    for name in names:
        assert name in text
    out = io.StringIO()
    grid = Grid("", (Cell("a"), Cell("b", kind="num")), ((Cell("w" * 30), Cell("v" * 30, "x" * 30)),))
    print_blocks([grid], Console(file=out, width=70))
    assert [out.getvalue().count(c) for c in "wvx"] == [30, 30, 30]


@pytest.mark.parametrize("width", [40, 60, 75, 90, 100, 120])
def test_every_word_of_a_table_is_there_at_any_width(width: int) -> None:
    cells = [
        ("Limit", "Of", "Found", "Verdict"),
        ("bayesian.relative_global_threat <= 0.15", "a.csv · diagnosis · bayesian"),
    ]
    head = tuple(Cell(text, kind="num" if text == "Found" else "") for text in cells[0])
    rows = tuple(
        (*map(Cell, cells[1]), Cell(f"{i}.4 points", "8.9 – 9.4 points", "num"), Cell("✓ within")) for i in range(9)
    )
    out = io.StringIO()
    print_blocks([Grid("", head, rows)], Console(file=out, width=width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    said = " ".join(lines).split()
    for row in rows:
        for word in " ".join(f"{cell.text} {cell.small}" for cell in row).split():
            assert any(word in one for one in said), word
    assert said.count("within") == 9


def test_markup_in_a_document_is_text() -> None:
    found = document(releases=("[bold]x[/].csv",))
    found["diagnostics"]["sentence"] = {"[bold]x[/].csv": {"disease": "[red]y[/red]\x1b[31m"}}
    for verbose in (False, True):
        text = printed(found, verbose=verbose)
        assert "[bold]x[/].csv" in text
        assert "[red]y[/red]\\x1b[31m" in text


def test_what_is_not_a_document_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"not a document of unveil: document: .*--json") as caught:
        printed({"document": "x" * 1000})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_readers_of_one_kind_have_their_own_names_everywhere() -> None:
    """`bayesian` beside `bayesian:membership=0.5`: findings, limits, terminal and page."""
    schema = made_schema({"age": {"role": QI, "kind": "numeric"}, "s": {"role": SENSITIVE, "domain": ["a", "b", "c"]}})
    random = np.random.default_rng(3)
    ages = random.integers(20, 26, 40)
    table = made_table(schema, *[(int(age), "abc"[int(age) % 3 if random.random() < 0.8 else 1]) for age in ages])
    names = ["bayesian", "bayesian:membership=0.5"]
    found = run_audit(
        {"r.csv": table.as_release()},
        original=table,
        attackers={names[0]: Bayesian(), names[1]: Bayesian(membership=0.5)},
        limits=["global_threat <= 0.1", "bayesian:membership=0.5.confident.80 <= 1"],
        chains=Chains(chains=2, sweeps=60, burn_in=20, most_sweeps=60),
        engine=Engine(workers=1),
        background=None,
        panel=False,
    ).document
    error = {f.reader: f.value for f in found.findings if f.name == "absolute_error"}
    assert error[names[0]] != error[names[1]]
    right = {f.reader: f for f in found.findings if f.name == "global_threat"}
    assert set(names) < set(right)
    assert {r: f.limit for r, f in right.items() if f.limit} == dict.fromkeys(names, "global_threat <= 0.1")
    short, full, page = printed(found), printed(found, verbose=True, width=200), render_page(found)
    limits = [line for line in short.splitlines() if "<=" in line or "bayesian" in line]
    for name in names:
        assert any(re.search(rf"{re.escape(name)}(?![:\w])", line) for line in limits), name
        assert f"Learner against {name}" in full
        assert f"<bdi>{name}</bdi>" in page
        assert f"<bdi>{name}.global_threat</bdi>" in page


def test_the_demo_is_answered_in_one_screen() -> None:
    golden = Path(__file__).parents[2] / "golden" / "audit-demo.json"
    found = json.loads(golden.read_text(encoding="utf-8"))
    found["run"] = {"date": "2026-11-18", "python": "3.11", "versions": {}}
    for finding in found["findings"]:  # golden documents leave out what depends on the draws
        finding |= {end: finding["value"] for end in ("low", "high") if end not in finding}
    found["diagnostics"]["verdicts"] = {"mondrian.csv": "within", "anatomy.csv": "exceeded"}
    text = printed(found, report=Path("report.html"))
    assert 20 <= len(text.splitlines()) <= 40
    for part in (
        "mondrian.csv: within the stated limits",
        "anatomy.csv: A LIMIT IS EXCEEDED",
        "Worst findings",
        "Not tested",
    ):
        assert part in text

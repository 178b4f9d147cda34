"""unveil attack disclosure: the measures of the library on a hand-made masked release, facts, charts and mistakes."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_cli import run

from documents import check_document
from unveil.report import page

SCHEMA = """version = 1
confirmed = true
[attributes.x]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 0, to = 20, step = 1 }
[attributes.s]
role = "sensitive"
domain = ["a", "b"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """x is 0, 1, 10, 11, published as 0, 1, 10, 3 in the order 4 3 2 1."""
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text("x,s\n0,a\n1,a\n10,b\n11,b\n")
    (tmp_path / "m.csv").write_text("x,s\n3,b\n10,b\n1,a\n0,a\n")
    (tmp_path / "m.toml").write_text('masked = ["x"]\n')
    (tmp_path / "o.csv").write_text("row,group\n1,4\n2,3\n3,2\n4,1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(page, "chart_library", lambda: "")  # making it takes seconds
    return tmp_path


BASE = ("attack", "disclosure", "m.csv", "-s", "schema.toml", "--original", "data.csv")


def found(out: str) -> dict[tuple[str, str | None], Any]:
    document = json.loads(out)
    check_document(document)
    return {(f["id"], f["attribute"]): f for f in document["findings"]}


def test_measures_and_an_absent_fact_by_hand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "fact.csv").write_text("row,fact\n2,no\n3,yes\n1,\n")
    options = (
        "--assignment",
        "o.csv",
        "--p",
        "0,2.5,50",
        "--model",
        "nearest",
        "--fact",
        "fact.csv",
        "--most-inputs",
        "1",
    )
    code, out, _ = run(*BASE, *options, "--json", "-", capsys=capsys)
    assert code == 0
    got = found(out)
    # Ranks of 0 1 3 10, one to each side at 50%: [0,1] holds 0, [0,3] 1, [3,10] 10, [1,10] not 11.
    assert got["rank_interval_disclosure.50", "x"]["value"] == 0.75
    assert got["deviation_interval_disclosure.2.5", "x"]["value"] == 0.75
    # Nearest neighbours: 1 and 10 are labelled; of x 0, 1 | 10, 11, of x' 0, 1, 3 | 10.
    assert got["absent_disclosure", None]["value"] == 0.75
    # The own fact is learned with the own x; 11 is nearest to 10, which has the same.
    assert got["model_disclosure", "s"]["value"] == got["model_disclosure.inputs:1", "s"]["value"] == 1
    charts = json.loads(out)["charts"]
    assert [p["p"] for p in charts["by_percentage"]["x"]["rank_interval_disclosure"]] == [0, 2.5, 50]
    assert [p["inputs"] for p in charts["by_inputs"]["s"]] == [["x"]]


def test_a_fact_of_other_people_and_a_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "fact.csv").write_text("x,fact\n0,no\n10,yes\n")
    (folder / "back.csv").write_text("x,s\n0,a\n1,a\n10,b\n3,b\n")
    (folder / "back.toml").write_text('masked = ["x"]\n')
    base = ("attack", "disclosure", "back.csv", *BASE[3:], "--aligned", "--model", "nearest", "--fact", "fact.csv")
    limit = ("--limit", "absent_disclosure <= 0.7")
    code, out, err = run(*base, *limit, "--report", "d.html", "--json", "d.json", capsys=capsys)
    assert (code, "A LIMIT IS EXCEEDED" in out) == (1, True)
    assert "rows exchanged at random" in " ".join(out.split())
    assert err == "wrote d.json\n"
    got = found((folder / "d.json").read_text())
    # 0 and 1 are told no by 0, 10 and 11 yes; masked 3 is nearer to 0. Exchanged: ½ · ¾ + ½ · ¼.
    value = got["absent_disclosure", None]
    assert (value["value"], value["baseline"]) == (0.75, 0.5)
    page_ = (folder / "d.html").read_text()
    assert "<h1>What do perturbed values give away?" in page_
    assert "Guesses by what is known: s" in page_


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "say whose row is whose"),
        (("--aligned", "--assignment", "o.csv"), "in one way"),
        (("--aligned", "--p", "many"), "write percentages"),
        (("--aligned", "--p", "101"), "is not a percentage"),
        (("--aligned", "--model", "oracle"), "is not a model"),
        (("--aligned", "--limit", "reid <= 1"), "is not measured here"),
        (("--aligned", "--fact", "data.csv"), "has no column fact"),
        (("--aligned", "--fact", "same.csv"), "a fact that varies"),
        (("--aligned", "--fact", "far.csv"), "is not a row of the original"),
        (("--aligned", "--fact", "twice.csv"), "appears there twice"),
        (("--aligned", "--fact", "empty.csv"), "say it of everybody"),
    ],
)
def test_a_mistake_is_one_line(
    folder: Path, options: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "same.csv").write_text("row,fact\n1,no\n2,no\n")
    (folder / "far.csv").write_text("row,fact\n1,no\n9,yes\n")
    (folder / "twice.csv").write_text("row,fact\n1,no\n1,yes\n")
    (folder / "empty.csv").write_text("x,fact\n1,no\n2,yes\n3,\n")
    code, out, err = run(*BASE, *options, capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert text in err


def test_a_release_that_holds_the_truth_is_sent_elsewhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "m.toml").unlink()
    code, _, err = run(*BASE, "--aligned", capsys=capsys)
    assert (code, "use unveil audit" in err) == (2, True)

"""`unveil attack differential` as a user meets it: outputs, exit codes, every mistake as one clear line."""

import csv
import json
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from test_cli import run

from documents import check_document

SCHEMA = """version = 1
confirmed = true
[attributes.name]
role = "identifier"
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 0, to = 120 }
[attributes.gender]
role = "quasi-identifier"
domain = ["M", "F"]
[attributes.disease]
role = "sensitive"
domain = ["Flu", "Cancer"]
"""
DATA = "name,age,gender,disease\nAnn,28,M,Flu\nBen,36,M,Flu\nCy,47,F,Cancer\nDee,53,M,Flu\nEve,72,F,Flu\n"
TWO = "mondrian:k=2,regions=cut,median=lower"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text(DATA)
    return tmp_path


def asked(folder: Path, *rest: str | Path) -> tuple[str | Path, ...]:
    return ("attack", "differential", folder / "data.csv", "-s", folder / "schema.toml", "--workers", "1", *rest)


def test_table_1b_on_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*asked(folder, "--with", TWO, "--model", "conditional", "--json", "-"), capsys=capsys)
    assert (code, err) == (0, "")
    document = json.loads(out)
    check_document(document)
    values = {f["id"]: f["value"] for f in document["findings"]}
    assert values["delta"] == 1
    assert document["diagnostics"]["tests"][0]["worst_row"] == 1
    assert [i["name"] for i in document["inputs"]] == ["data.csv", "schema.toml"]
    assert not {"Ann", "Ben", "Cy", "Dee", "Eve"} & set(out.replace('"', " ").split())


def test_report_document_and_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--report", folder / "r.html", "--json", folder / "d.json", "--people", folder / "p.csv"]
    code, out, err = run(
        *asked(folder, "--with", TWO, "--model", "conditional", "--limit", "delta <= 0.5", *files), capsys=capsys
    )
    assert code == 1
    assert "A LIMIT IS EXCEEDED" in out
    assert "it names people: keep it secret" in err
    assert stat.S_IMODE((folder / "p.csv").stat().st_mode) == 0o600
    rows = list(csv.DictReader((folder / "p.csv").read_text().splitlines()))
    np.testing.assert_allclose([float(r["distance"]) for r in rows], [1, 1, 2 / 3, 1 / 3, 1 / 3])
    assert [r["row"] for r in rows] == list("12345")
    assert rows[2]["known:age"] == "47"
    assert (rows[2]["truth"], rows[2]["within_guess"]) == ("Cancer", "Flu")
    assert float(rows[2]["within_belief"]) == pytest.approx(1 / 3)
    assert "<h1>How much does one record" in (folder / "r.html").read_text()


def test_a_sweep_with_its_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        *asked(folder, "--with", "mondrian", "--sweep", "k=2+3", "--remove-until", "2", "--people", folder / "p.csv"),
        capsys=capsys,
    )
    assert code == 0
    assert "mondrian:k=3" in out
    assert sorted(p.name for p in folder.glob("p-*")) == ["p-mondrian_k_2.csv", "p-mondrian_k_3.csv"]


def test_an_oracle_and_its_failures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tool.py").write_text(
        "import sys\n"
        "lines = open(sys.argv[1]).read().splitlines()[1:]\n"
        "if not any(l.startswith('Dee') for l in lines): sys.exit('needs Dee')\n"
        "rows = ''.join('*,*,' + l.split(',')[3] + chr(10) for l in lines)\n"
        "open(sys.argv[2], 'w').write('age,gender,disease' + chr(10) + rows)\n"
    )
    command = f"{sys.executable} {folder}/tool.py {{input}} {{output}}"
    code, out, _ = run(*asked(folder, "--oracle", command, "--model", "conditional"), capsys=capsys)
    assert code == 3
    assert "without row 4: the command ended with exit code 1: 'needs Dee'" in " ".join(out.split())
    assert "INCONCLUSIVE" in out


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "say what is tested"),
        (("--with", TWO, "--oracle", "x {input} {output}"), "say what is tested"),
        (("--with", "nonsense"), "unknown anonymizer"),
        (("--with", "mondrian:k=6"), "cannot be met"),
        (("--with", TWO, "--distance", "far"), "unknown distance"),
        (("--with", TWO, "--model", "nonsense"), "unknown inference model"),
        (("--with", TWO, "--sweep", "k"), "is not a valid sweep"),
        (("--with", TWO, "--limit", "delta = 3"), "is not a limit"),
        (("--with", TWO, "--limit", "alpha <= 3"), "unknown measure"),
        (("--with", TWO, "--weight", "Flu"), "write VALUE=WEIGHT"),
        (("--with", TWO, "--weight", "Cold=1"), "not a sensitive value"),
        (("--with", TWO, "--workers", "0"), "at least one"),
        (("--with", TWO, "--asked", "disease,age"), "about one attribute"),
        (("--with", TWO, "--people", "p.txt"), "a people file is"),
        (("--with", TWO, "--report", "nowhere/r.html"), "there is no folder"),
        (("--with", "laplace_counts:epsilon=0"), "positive number"),
        (("--with", "laplace_counts"), "needs epsilon"),
        (("--with", "laplace_counts:epsilon=1", "--require", "k_anonymity:k=2"), "takes no requirements"),
        (("--oracle", "no-such-tool {input} {output}"), "was not found"),
        (("--oracle", "cat {input}"), "must contain {output}"),
        (("--oracle", "cat {input} {output}", "--require", "k_anonymity:k=2"), "--require is for --with"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    folder: Path, options: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*asked(folder, *options), capsys=capsys)
    assert (code, out) == (2, "")
    assert text in err
    assert err.count("\n") == 1


def test_priors_and_other_distances(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rest in (
        ("--weight", "Flu=1", "--weight", "Cancer=1"),
        ("--distance", "max_ratio"),
        ("--distance", "js", "--reading", "vectors"),
    ):
        assert run(*asked(folder, "--with", TWO, "--model", "conditional", *rest), capsys=capsys)[0] == 0

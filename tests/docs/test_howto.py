"""The how-to pages: every command on them runs as it is written."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyreadstat
import pytest
import xlsxwriter

from arx_projects import OUTPUT, made_project
from unveil import cli
from unveil.formats.tables import read_columns

DOCS = Path(__file__).parents[2] / "docs"
ROWS = [(21 + i % 9, "fm"[i % 2], ("flu", "hiv", "none")[i % 3]) for i in range(24)]


def commands(page: str) -> list[list[str]]:
    found = re.findall(r"```sh\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    return [shlex.split(line, comments=True) for block in found for line in block.splitlines() if line]


@pytest.mark.parametrize(
    ("page", "exit_code", "exceeded"),
    [
        ("from-arx.md", 1, {"singling out", "linking", "inference", "background"}),  # classes of two
        ("from-sdcmicro.md", 1, {"singling out", "linking"}),  # rows with a withheld age
        ("only-the-release.md", 1, {"singling out"}),
    ],
)
def test_every_command_of_a_how_to_page_works(
    page: str,
    exit_code: int,
    exceeded: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "clinic.deid").write_bytes(made_project())
    (tmp_path / "export.csv").write_text(OUTPUT)
    (tmp_path / "patients.csv").write_text(
        "age,sex,disease\nNA,f,flu\n" + "".join(f"{a},{s},{d}\n" for a, s, d in ROWS)
    )
    safe = [("NA" if i % 5 == 0 else "(20,25]" if a <= 25 else "(25,30]", s, d) for i, (a, s, d) in enumerate(ROWS)]
    text = "".join(f'"{a}",{s},{d}\n' for a, s, d in safe)
    (tmp_path / "safe.csv").write_text(f"age,sex,disease\n{text}")
    (tmp_path / "public.csv").write_text(f"age,sex,disease\n{text}")
    monkeypatch.chdir(tmp_path)
    found = commands(page)
    assert len(found) >= 3
    for arguments in found:
        short = (
            ["--sweeps", "60", "--most-sweeps", "60", "--attacker", "random_worlds", "--json", "a.json"]
            if arguments[1] == "audit"
            else []
        )
        monkeypatch.setattr(sys, "argv", [*arguments, *short])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert stopped.value.code == (exit_code if short else 0), (arguments, capsys.readouterr().err)
        if short:
            (judgement,) = json.loads(Path("a.json").read_text())["diagnostics"]["judgement"].values()
            assert {k["kind"] for k in judgement["kinds"] if k["verdict"] == "exceeded"} == exceeded
        if arguments[1] == "schema":  # the reader confirms it
            drafted = Path("schema.toml").read_text()
            Path("schema.toml").write_text(drafted.replace("confirmed = false", "confirmed = true"))


def test_the_page_about_files_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pl.DataFrame(ROWS, schema=["age", "sex", "disease"], orient="row")
    sexes = frame["sex"].replace_strict({"f": 1.0, "m": 2.0})
    labels: dict[str, dict[int | float, str]] = {"sex": {1.0: "f", 2.0: "m"}, "age": {-9.0: "refused"}}
    coded = frame.with_columns(sex=sexes, age=pl.Series([-9.0, *frame["age"][1:].to_list()]))
    monkeypatch.chdir(tmp_path)
    pyreadstat.write_sav(coded, "survey.sav", variable_value_labels=labels, missing_ranges={"age": [-9.0]})
    for arguments in commands("files.md"):
        if arguments[0] == "pip":
            continue
        if arguments[1] == "check":  # a workbook of two sheets with the same release
            release = read_columns("release.sav")
            cells = {name: [c.texts[i] for i in c.text_of_row] for name, c in release.columns.items()}
            with xlsxwriter.Workbook("release.xlsx") as book:
                for sheet in (book.add_worksheet("Sheet 1"), book.add_worksheet("Sheet 2")):
                    for place, (name, texts) in enumerate(cells.items()):
                        sheet.write_column(0, place, [name, *texts])
        short = (
            ["--sweeps", "60", "--most-sweeps", "60", "--attacker", "random_worlds"] if arguments[1] == "audit" else []
        )
        monkeypatch.setattr(sys, "argv", [*arguments, *short])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert stopped.value.code in ((0, 3) if short else (0,)), (arguments, capsys.readouterr().err)
        if arguments[1] == "schema":
            drafted = Path("schema.toml").read_text()
            assert 'missing = ["", "refused"]' in drafted
            assert 'domain = ["f", "m"]' in drafted
            Path("schema.toml").write_text(drafted.replace("confirmed = false", "confirmed = true"))
    values, said = pyreadstat.read_sav("release.sav", user_missing=True, output_format="dict")
    assert said.variable_value_labels["sex"] == labels["sex"] or "sex" not in said.variable_value_labels
    assert len(values["disease"]) == len(ROWS)
    frame.with_columns(pl.col("age").replace(21, None)).write_csv("patients.csv")
    (python,) = re.findall(r"```python\n(.*?)```", (DOCS / "files.md").read_text(), re.DOTALL)
    done: dict[str, Any] = {}
    exec(compile(python, "files.md", "exec"), done)
    assert done["again"] == done["made"].release

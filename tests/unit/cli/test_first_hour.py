"""The whole hour on small exports, in German, French and Italian; `make first-hour` walks the full one."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from test_cli import run as run_cli

from assisted_people import HEADER, care_register
from exports import FRENCH, GERMAN, SURNAMES, Export, hospital_export
from first_hour import commands, confirm, names_in, walk
from messy_exports import EXPORTS
from thorough import chosen
from unveil import cli
from unveil.catalog import anonymizer
from unveil.data.schema import Schema, read_schema
from unveil.engine import Engine
from unveil.formats.releases import read_release, write_release
from unveil.formats.tables import read_columns, read_table


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[[Sequence[str]], tuple[int, str]]:
    def run(command: Sequence[str]) -> tuple[int, str]:
        short = ["--sweeps", "400", "--most-sweeps", "0", "--no-panel"] if command[0] == "audit" else []
        argv, sys.argv = sys.argv, ["unveil", *command, *short]
        try:
            with pytest.raises(SystemExit) as stopped:
                cli.main()
        finally:
            sys.argv = argv
        out, err = capfd.readouterr()
        return int(str(stopped.value.code or 0)), out + err

    return run


@pytest.mark.parametrize("words", chosen([GERMAN, FRENCH], [FRENCH]))
def test_five_commands_without_an_error_or_a_name(
    tmp_path: Path, words: Export, run: Callable[[Sequence[str]], tuple[int, str]]
) -> None:
    (tmp_path / "export.csv").write_bytes(hospital_export(300, words, 25))
    printed = walk(tmp_path, run)
    assert not names_in(tmp_path, printed)
    assert any(name in hospital_export(300, words, 25).decode(words.encoding) for name in SURNAMES)
    release = (tmp_path / "release.csv").read_bytes()
    assert release.count(b"\r\n") == 301
    header, *rows = release.decode(words.encoding).split("\r\n")
    assert header.split(";")[0] == words.header[3]
    assert not {*words.header[:3], *words.header[5:8], words.header[10], words.header[15]} & {*header.split(";")}
    assert any("-Q" in row or ";2019;" in row or ";2020;" in row for row in rows)
    schema = (tmp_path / "schema.toml").read_text(encoding="utf-8")
    assert len(schema.splitlines()) < 200


def test_a_spreadsheet_that_somebody_keeps_by_hand(
    tmp_path: Path, run: Callable[[Sequence[str]], tuple[int, str]]
) -> None:
    """Titles, totals, typed dates beside real ones, doctors' names, amounts with and without a sign, F and Femmina."""
    care_register(tmp_path / "export.xlsx", 250)
    printed = walk(tmp_path, run, "export.xlsx#Assistiti")
    assert (
        "250 rows, spreadsheet, sheet 'Assistiti', names in row 4, 1 short row below the table left out" in printed[0]
    )
    assert not names_in(tmp_path, printed)
    found = read_columns(tmp_path / "release.xlsx")
    assert found.rows == 250
    kept = ["Sesso", "Comune di residenza", "CAP", *HEADER[9:15], "Diagnosi ICD-9", "Dipendenza", "Età"]
    assert list(found.columns) == kept
    schema = read_schema(tmp_path / "schema.toml")
    assert {n for n in kept if schema.declaration(n).role == "sensitive"} == {"Diagnosi ICD-9", "Dipendenza"}
    assert not {"f", "m", "Femmina", "Maschio"} & {*found.columns["Sesso"].texts}


ROLES = {
    "insurer": ({"Né(e) le", "Prénom", "Observations"}, {"Revenu annuel", "Prestation", "Motif de l'arrêt"}),
    "school": ({"Roepnaam", "Opmerkingen mentor", "Observaciones"}, {"Zorgindicatie", "Verzuim (uren)"}),
    "payroll": ({"Forename(s)", "Line manager", "Comments"}, {"Basic salary", "Bonus", "Reason for absence"}),
    "emergency": ({"F. Nac.", "DNI/NIE", "Episodio", "Médico resp.", "Anotaciones"}, {"Dx principal (CIE-10)"}),
    "practice": ({"Geb.dat.", "BSN", "Polisnummer", "Huisarts", "Opmerkingen"}, {"Diagnose (ICD-10)", "Rookt"}),
}


def _domain(schema: Schema, name: str) -> tuple[str, ...]:
    attribute = schema.attribute(name) if schema.declaration(name).domain is not None else None
    return () if attribute is None else tuple(attribute.values[: attribute.real])


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_for_people_to_read(tmp_path: Path, name: str, run: Callable[[Sequence[str]], tuple[int, str]]) -> None:
    """Titles, units, two rows of names, totals, £, months by name: no error, no name, nobody lost."""
    ending, made = EXPORTS[name]
    (tmp_path / f"export{ending}").write_bytes(made(300))
    printed = []
    for number, command in enumerate(commands(tmp_path, f"export{ending}", "mondrian:k=4")[:3]):
        code, text = run(command)
        assert code == 0, text
        printed.append(text)
        if not number:
            confirm(tmp_path)
    assert not names_in(tmp_path, printed)
    schema = read_schema(tmp_path / "schema.toml")
    named, kept = ROLES[name]
    assert all(schema.declaration(column).role == "identifier" for column in named)
    assert all(schema.declaration(column).role == "sensitive" for column in kept)
    assert not {"N/C", "onb.", "s/d"} & {value for name in schema.names for value in _domain(schema, name)}
    found = read_columns(tmp_path / f"release{ending}", published=True)
    assert found.rows == 300
    assert not named & {*found.columns}


@pytest.mark.parametrize("scheme", ["mondrian:k=5", "mondrian:k=5,recoding=order", "anatomy:l=2", "full_domain:k=3"])
def test_a_release_in_the_notation_of_its_input_reads_back_as_it_was(tmp_path: Path, scheme: str) -> None:
    """Semicolons, decimal commas, dd.mm.yyyy, cp1252: the file holds what the anonymizer made."""
    run = ["schema", str(tmp_path / "export.csv"), "-o", str(tmp_path / "schema.toml")]
    (tmp_path / "export.csv").write_bytes(hospital_export(300, GERMAN, 12))
    argv, sys.argv = sys.argv, ["unveil", *run]
    try:
        with pytest.raises(SystemExit):
            cli.main()
    finally:
        sys.argv = argv
    schema = read_schema(tmp_path / "schema.toml")
    table = read_table(tmp_path / "export.csv", schema)
    made = anonymizer(scheme).anonymize(table, Engine(seed=1)).release
    write_release(made, tmp_path / "release.csv", like=table)
    assert read_release(tmp_path / "release.csv", schema, attributes=table.attributes) == made
    assert read_release(tmp_path / "release.csv", schema).rows == made.rows  # without the original, too


def test_a_column_is_left_out_of_a_release_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text(
        "age,sex,ill\n" + "".join(f"{20 + i % 4},{'fm'[i % 2]},{'ab'[i // 2 % 2]}\n" for i in range(40))
    )
    roles = "".join(
        f'[attributes.{n}]\nrole = "{r}"\n'
        for n, r in (("age", "quasi-identifier"), ("sex", "quasi-identifier"), ("ill", "sensitive"))
    )
    (tmp_path / "s.toml").write_text(f"version = 1\nconfirmed = true\n{roles}")
    command = [
        "anonymize",
        tmp_path / "t.csv",
        "-s",
        tmp_path / "s.toml",
        "--with",
        "mondrian:k=4",
        "-o",
        tmp_path / "r.csv",
    ]
    assert run_cli(*command, "--leave-out", "age", capsys=capsys)[0] == 0
    assert (tmp_path / "r.csv").read_text().startswith("sex,ill\n")
    assert run_cli("check", tmp_path / "r.csv", "-s", tmp_path / "s.toml", capsys=capsys)[0] == 0
    code, _, err = run_cli(*command, "--leave-out", "agee", capsys=capsys)
    assert (code, "--leave-out 'agee': not a column that is published; choose from age, sex, ill" in err) == (2, True)

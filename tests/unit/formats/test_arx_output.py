"""Outputs that newer versions of ARX keep in their projects: serialised Java objects, read as data."""

import contextlib
import json
import random
import struct
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from arx_projects import CONFIG, DEFINITION, OUTPUT, ROLES, config, made_newer_project, made_project
from java_objects import arx_output
from unveil import cli
from unveil.data.rows import rows_of
from unveil.data.schema import read_schema
from unveil.errors import ReleaseError, SchemaError
from unveil.formats.arx import output as stored
from unveil.formats.arx import read_project
from unveil.formats.arx.output import JavaObject, output_tables, read_objects
from unveil.formats.arx.schema import project_schema
from unveil.formats.columns import Refusal
from unveil.formats.releases import read_release
from unveil.formats.tables import read_columns, read_table

ROWS = [("[30, 40[", "8154*"), ("[30, 40[", "8154*"), ("[40, 50[", "8166*"), ("[40, 50[", "8166*"), ("70", "80331")]
BINARY = arx_output(("age", "zip"), ROWS, suppressed=(4,))
MEAN = DEFINITION.replace(
    "<name>age</name>",
    "<name>age</name><microAggregationFunction>Arithmetic mean</microAggregationFunction>",
)


def saved(folder: Path, content: bytes) -> Path:
    path = folder / "clinic.deid"
    path.write_bytes(content)
    return path


def cells(path: Path) -> dict[str, list[str]]:
    """The output as ARX shows it."""
    found = read_columns(path, published=True, error=ReleaseError)
    return {name: [column.texts[i] for i in column.text_of_row] for name, column in found.columns.items()}


def test_the_output_is_what_arx_shows(tmp_path: Path) -> None:
    path = saved(tmp_path, made_newer_project(BINARY))
    assert cells(path) == {
        "name": ["*"] * 5,
        "age": ["[30, 40[", "[30, 40[", "[40, 50[", "[40, 50[", "*"],
        "zip": ["8154*", "8154*", "8166*", "8166*", "*"],
        "disease": ["flu", "flu", "hiv", "flu", "hiv"],
    }
    assert list(read_columns(path).columns["age"].texts) == ["34", "35", "45", "47", "70"]  # the input is as it was
    found = read_columns(path, published=True).columns["age"]
    assert list(found.texts) == ["*", "[30, 40[", "[40, 50["]  # not the label that no cell shows


def test_both_forms_of_the_output_are_one_release(tmp_path: Path) -> None:
    newer, older = saved(tmp_path, made_newer_project(BINARY)), tmp_path / "older.deid"
    older.write_bytes(made_project())
    schema = project_schema(newer)
    attributes = read_table(newer, schema).attributes
    one, other = (read_release(path, schema, attributes=attributes) for path in (newer, older))
    assert one.class_sizes().tolist() == other.class_sizes().tolist() == [2, 2]
    assert one.sizes.tolist() == other.sizes.tolist()


@pytest.mark.parametrize(
    ("types", "age", "disease"),
    [((), "70", "hiv"), ((ROLES["disease"],), "70", "*"), ((ROLES["age"], ROLES["disease"]), "*", "*")],
)
def test_what_a_suppressed_row_withholds_is_configured(
    tmp_path: Path, types: tuple[str, ...], age: str, disease: str
) -> None:
    found = cells(saved(tmp_path, made_newer_project(BINARY, input__config_dot_xml=config(*types))))
    assert (found["age"][-1], found["disease"][-1]) == (age, disease)
    assert found["disease"][:4] == ["flu", "flu", "hiv", "flu"]


def test_without_a_configuration_quasi_identifiers_are_withheld(tmp_path: Path) -> None:
    found = cells(saved(tmp_path, made_newer_project(BINARY, input__config_dot_xml=None)))
    assert (found["age"][-1], found["disease"][-1]) == ("*", "hiv")


def test_another_text_may_stand_for_what_is_suppressed(tmp_path: Path) -> None:
    """Of older versions. As a value it stays where the row is not suppressed whole."""
    output = (
        OUTPUT.replace("*;*;*;hiv", "gone;gone;gone;hiv").replace("*;[", "gone;[").replace("8166*;hiv", "gone;gone")
    )
    told = CONFIG.replace("\t<practical", "\t<suppressionString>gone</suppressionString>\n\t<practical")
    found = cells(saved(tmp_path, made_project(data__output_dot_csv=output, input__config_dot_xml=told)))
    assert found["name"] == ["*"] * 5
    assert found["age"][-2:] == ["[40, 50[", "*"]
    assert found["zip"] == ["8154*", "8154*", "gone", "8166*", "*"]
    assert found["disease"] == ["flu", "flu", "gone", "flu", "hiv"]


def test_one_command_audits_it(tmp_path: Path) -> None:
    path, document = saved(tmp_path, made_newer_project(BINARY)), tmp_path / "audit.json"
    given = ["audit", str(path), "--json", str(document), "--attacker", "random_worlds", "--sweeps", "100"]
    given += ["--most-sweeps", "100"]
    assert CliRunner().invoke(cli.app, given).exit_code == 1  # classes of two
    found = json.loads(document.read_text())
    assert next(f for f in found["findings"] if f["id"] == "k_anonymity")["value"] == 2.0
    with pytest.raises(SchemaError, match=r"an ARX project; make a schema with: unveil schema clinic\.deid -o"):
        read_schema(path)


def test_microaggregation_is_known_as_arx_3_7_spells_it(tmp_path: Path) -> None:
    spelt = MEAN.replace("microAggregationFunction", "microaggregationFunction")
    path = saved(tmp_path, made_newer_project(BINARY, input__definition_dot_xml=spelt))
    assert [*read_project(path).masked] == ["age"]


def test_microaggregated_columns_are_masked(tmp_path: Path) -> None:
    """In the project, and in the CSV that ARX exports, where identifiers are columns of `*`."""
    rows = [("34.5", "81541"), ("34.5", "81549"), ("46", "81667"), ("46", "81667"), ("70", "80331")]
    output = arx_output(("age", "zip"), rows, suppressed=(4,), means=("age",))
    path = saved(tmp_path, made_newer_project(output, input__definition_dot_xml=MEAN))
    schema = project_schema(path)
    masked = read_release(path, schema)
    assert ([a.name for a in masked.attributes], [*masked.perturbed]) == (["age", "zip", "disease"], [0])
    assert rows_of(masked).columns[0][:4].tolist() == [34.5, 34.5, 46, 46]
    lines = [f"*;{age};{zip_};flu" for age, zip_ in rows]
    (tmp_path / "out.csv").write_text("\n".join(["name;age;zip;disease", *lines]) + "\n")
    (tmp_path / "out.toml").write_text('masked = ["age"]\n')
    assert read_release(tmp_path / "out.csv", schema).rows == 5
    widened = saved(tmp_path, made_newer_project(BINARY, input__definition_dot_xml=MEAN))
    assert [*read_release(widened, schema).perturbed] == [0]  # ages in bands: which it is counts


def test_codes_may_be_an_array_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """int[][] instead of a matrix, the mark of a suppressed row in its first code."""
    mapping = JavaObject("Dictionary", {"mapping": [["x"], ["y", "z"]]})
    table = JavaObject("Data", {"header": ["a", "b"], "dictionary": mapping})
    empty = JavaObject("Data", {"header": [], "dictionary": mapping})
    monkeypatch.setattr("unveil.formats.arx.output.read_objects", lambda raw, count: [table, empty])
    table.fields["data"] = [np.array([0, 1], dtype=">i4"), np.array([-(2**31), 0], dtype=">i4")]
    found = output_tables(b"")[0]
    assert found.codes.tolist() == [[0, 1], [2**31, 0]]
    assert [found.column("b").texts[i] for i in found.column("b").text_of_row] == ["z", "y"]
    for rows, message in ([], "no rows"), ([np.zeros(2), np.zeros(1)], "differ in length"), (None, "no rows"):
        table.fields["data"] = rows
        with pytest.raises(Refusal, match=message):
            output_tables(b"")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (arx_output(("age",), [(r[0],) for r in ROWS]), "lacks the quasi-identifier 'zip'"),
        (arx_output(("age", "zip"), ROWS[:3]), "has 3 rows and the input 5"),
        (arx_output((), ROWS), "holds no generalised attribute"),
        (BINARY[:400], "ends too early, or is damaged"),
        (BINARY[: BINARY.index(b"mapping")] + b"nothing" + BINARY[BINARY.index(b"mapping") + 7 :], "has no dictionary"),
        (BINARY.replace(struct.pack(">ii", 2, 2), struct.pack(">ii", 2, 77)), "a code is in no dictionary"),
        (b"\xac\xed\x00\x05\x7d", "something of kind 0x7d"),
        (b"\xac\xed\x00\x05q\x00\x7e\x00\x00", "points at an object that is not there"),
        (b"\xac\xed\x00\x05sp", "an object has no class"),
        (b"\xac\xed\x00\x05t\x00\x01apt", "it holds no table"),
    ],
)
def test_an_output_that_cannot_be_right_is_one_line(tmp_path: Path, raw: bytes, message: str) -> None:
    with pytest.raises(ReleaseError) as refused:
        cells(saved(tmp_path, made_newer_project(raw)))
    assert message in str(refused.value)
    assert "export the output in ARX as CSV, then: unveil audit EXPORT.csv --original clinic.deid" in str(refused.value)


def test_nothing_is_believed_of_sizes_and_depths() -> None:
    """A length of two thousand million, and arrays within arrays without end."""
    described = b"ur\x00\x02[I" + b"\0" * 8 + b"\x02\x00\x00xp"
    with pytest.raises(Refusal, match="ends too early"):
        read_objects(b"\xac\xed\x00\x05" + described + b"\x7f\xff\xff\xff", 1)
    objects = b"ur\x00\x02[L" + b"\0" * 8 + b"\x02\x00\x00xp"
    with pytest.raises(Refusal, match="ends too early"):
        read_objects(b"\xac\xed\x00\x05" + objects + b"\x7f\xff\xff\xff", 1)
    nested = objects + b"\x00\x00\x00\x01" + b"uq\x00\x7e\x00\x00\x00\x00\x00\x01" * 100
    with pytest.raises(Refusal, match=f"over {stored.MOST_DEPTH} deep"):
        read_objects(b"\xac\xed\x00\x05" + nested, 1)


def test_texts_as_java_writes_them() -> None:
    """Zero in two bytes, a character beyond the first plane as two surrogates."""
    texts = ("ü €", "a\0b", "\U0001f600", "")
    table = output_tables(arx_output(("t",), [(text,) for text in texts]))[0]
    assert table.texts == (("shown nowhere", *texts),)


def test_spoilt_streams_are_refused_and_nothing_else() -> None:
    draw = random.Random(7)
    for _ in range(400):
        spoilt = bytearray(BINARY)
        for _ in range(draw.randint(1, 4)):
            spoilt[draw.randrange(4, len(spoilt))] = draw.randrange(256)
        with contextlib.suppress(Refusal):
            output_tables(bytes(spoilt[: draw.randrange(50, len(spoilt) + 1)]))

"""ARX projects: what is read from them, and everything in a zip or an XML file that is refused."""

import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

from arx_projects import AGES, DEFINITION, INPUT, OUTPUT, ROLES, definition, made_project, zipped
from unveil import cli
from unveil.data.attribute import Role
from unveil.data.schema import read_schema
from unveil.errors import ReleaseError, SchemaError, TableError, UnveilError
from unveil.formats.arx import archive, read_data, read_project, repaired_ladder
from unveil.formats.arx.schema import draft_project, file_names, project_schema
from unveil.formats.releases import read_release
from unveil.formats.tables import read_columns, read_table


def saved(folder: Path, content: bytes | None = None) -> Path:
    path = folder / "clinic.deid"
    path.write_bytes(made_project() if content is None else content)
    return path


def run(*args: str | Path, capsys: pytest.CaptureFixture[str], code: int = 0) -> tuple[str, str]:
    argv, sys.argv = sys.argv, ["unveil", *map(str, args)]
    try:
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    finally:
        sys.argv = argv
    out, err = capsys.readouterr()
    assert stopped.value.code == code, err
    return out, err


def test_roles_and_hierarchies_are_read(tmp_path: Path) -> None:
    project = read_project(saved(tmp_path))
    assert project.roles == {
        "name": Role.IDENTIFIER,
        "age": Role.QUASI_IDENTIFIER,
        "zip": Role.QUASI_IDENTIFIER,
        "disease": Role.SENSITIVE,
    }
    assert project.delimiter == ";"
    assert project.folder == "output/"
    assert project.ladders["age"].rows[4] == ("70", "≥ 60", "≥ 60", "*")
    assert project.ladders["zip"].rows[0] == ("81541", "8154*", "81***", "*****", "*")  # ***** stays a label
    assert not project.unusable


def test_the_output_is_a_release_of_the_input(tmp_path: Path) -> None:
    """Labels are resolved through the hierarchies: `[20, 60[` holds what its rows say."""
    path = saved(tmp_path)
    schema = project_schema(path)
    table = read_table(path, schema)
    assert table.rows == 5
    assert table.repeated == {"name": 0}
    release = read_release(path, schema, attributes=table.attributes)
    assert [a.name for a in release.attributes] == ["age", "zip", "disease"]  # the blanked identifier is gone
    assert sorted(release.sizes.tolist()) == [1, 2, 2]
    assert release.class_sizes().tolist() == [2, 2]  # the suppressed row is in no class
    age = release.attributes[0]
    regions = {tuple(age.values[c] for c in release.regions[0].members(r)) for r in range(len(release.regions[0]))}
    assert regions == {("34", "35"), ("45", "47"), ("34", "35", "45", "47", "70")}


def test_a_schema_and_its_hierarchies_are_drafted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path)
    out, err = run("schema", path, "-o", tmp_path / "schema.toml", capsys=capsys)
    assert "5 rows, 2 hierarchies" in err
    assert "The roles are those set in ARX" in err
    schema = read_schema(tmp_path / "schema.toml")
    assert not schema.document.confirmed
    assert schema.declaration("zip").role is Role.QUASI_IDENTIFIER
    assert schema.declaration("zip").hierarchy == "hierarchies/zip.csv"
    assert schema.hierarchies["age"].rows == project_schema(path).hierarchies["age"].rows
    assert read_table(path, schema).rows == 5
    out, err = run("schema", path, capsys=capsys)
    assert "[attributes.disease]" in out
    assert "written with -o" in err
    _, err = run("schema", path, "-o", tmp_path / "none" / "schema.toml", capsys=capsys, code=2)
    assert f"{tmp_path / 'none' / 'hierarchies'}: cannot be made (no such file or directory)" in err
    release = tmp_path / "release.csv"
    release.write_text("age;zip;disease\n[30, 40[;8154*;flu\n")
    (tmp_path / "schema.toml").write_text(
        (tmp_path / "schema.toml").read_text().replace("confirmed = false", "confirmed = true")
    )
    out, err = run("check", release, "--schema", tmp_path / "schema.toml", "--original", path, capsys=capsys)
    assert "k_anonymity" in out


def test_one_command_audits_a_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path)
    document = tmp_path / "audit.json"
    given = ("--json", document, "--attacker", "random_worlds", "--sweeps", "100")
    run("audit", path, *given, capsys=capsys, code=1)  # classes of two
    found = json.loads(document.read_text())
    kinds = {k["kind"]: k["verdict"] for k in found["diagnostics"]["judgement"]["clinic.deid"]["kinds"]}
    assert (kinds["singling out"], kinds["file"]) == ("exceeded", "not judged")  # no file was published yet
    assert [i["name"] for i in found["inputs"]] == ["clinic.deid"]
    k = next(f for f in found["findings"] if f["id"] == "k_anonymity")
    assert (k["release"], k["value"]) == ("clinic.deid", 2.0)


def test_an_exported_output_beside_its_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the kept output cannot be read, the exported CSV and the project are all it needs."""
    path = saved(tmp_path, made_project(data__output_dot_csv=None, data__output_dot_dat=b"\xac\xed\x00\x05"))
    (tmp_path / "export.csv").write_text(OUTPUT)
    document = tmp_path / "audit.json"
    given = ("--original", path, "--json", document, "--attacker", "random_worlds", "--sweeps", "100")
    run("audit", tmp_path / "export.csv", *given, capsys=capsys, code=1)
    found = json.loads(document.read_text())
    kinds = {k["kind"]: k["verdict"] for k in found["diagnostics"]["judgement"]["export.csv"]["kinds"]}
    assert (kinds["singling out"], kinds["file"]) == ("exceeded", "within")
    assert next(f for f in found["findings"] if f["id"] == "k_anonymity")["value"] == 2.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"data__output_dot_csv": None}, "the project holds no output; anonymize it in ARX and save it, or export the"),
        ({"data__output_dot_csv": None, "data__output_dot_dat": b"\xac\xed"}, "a stream of Java objects); export the"),
        ({"input__definition_dot_xml": None}, "holds no definition.xml; is it an ARX project?"),
        ({"data__input_dot_csv": None}, "holds no 'data/input.csv'"),
        ({"input__definition_dot_xml": "<definition>"}, "not XML (no element found"),
        ({"input__definition_dot_xml": "<definition></definition>"}, "names no attribute"),
        ({"input__definition_dot_xml": definition({"age": "KEY"})}, "'age' has the type 'KEY'"),
        ({"input__definition_dot_xml": definition({"age": "KEY"}).replace("<name>age</name>", "")}, "'' has the type"),
        ({"input__definition_dot_xml": DEFINITION.replace("<name>zip<", "<name>age<")}, "'age' has two roles"),
        ({"input__definition_dot_xml": DEFINITION.replace("<name>zip<", "<name>gone<")}, "names 'gone', which its"),
        ({"input__definition_dot_xml": "<a>" * 60}, "over 50 deep"),
        ({"project_dot_xml": "<project><separator>ab</separator></project>"}, "'ab' is not a separator"),
        ({"input__definition_dot_xml": '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/x">]><d>&x;</d>'}, "an entity"),
        ({"input__definition_dot_xml": '<!DOCTYPE d [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><d>&b;</d>'}, "an entity"),
        ({"input__definition_dot_xml": '<!DOCTYPE d SYSTEM "http://localhost/d.dtd"><d/>'}, "a document type"),
        ({"project_dot_xml": "<!DOCTYPE d><project/>"}, "a document type"),
        ({"input__definition_dot_xml": "<d>&x;</d>"}, "not XML (undefined entity"),
        ({"..__evil_dot_csv": "x"}, "'../evil.csv' leads out of the archive"),
        ({"__etc__evil": "x"}, "leads out of the archive"),
        ({"input__..__..__x": "x"}, "leads out of the archive"),
        ({"..\\evil": "x"}, "leads out of the archive"),
        ({"C:\\evil": "x"}, "leads out of the archive"),
    ],
)  # fmt: skip
def test_a_project_that_cannot_be_right_is_one_line(
    tmp_path: Path, changed: dict[str, str | None], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, made_project(**changed))
    out, err = run("audit", path, capsys=capsys, code=2)
    assert message in err
    assert err.count("\n") == 1
    assert not out


def test_zip_bombs_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "SMALL", 10_000)
    path = saved(tmp_path, made_project(data__input_dot_csv="a\n" + "1\n" * 1_000_000))
    with pytest.raises(TableError, match=r"'data/input\.csv' unpacks to over 250 times its size: a zip bomb, not read"):
        read_data(path, published=False)  # in this process, which has the bounds
    monkeypatch.setattr(archive, "MOST_BYTES", 100)
    with pytest.raises(TableError, match="more than is read from a zip"):
        read_data(saved(tmp_path), published=False)
    monkeypatch.setattr(archive, "MOST_MEMBERS", 5)
    with pytest.raises(TableError, match="holds over 5 files"):
        read_data(path, published=False)


def test_a_member_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    """Both size fields say 10 bytes of a text that has more."""
    content = made_project()
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        size = packed.getinfo("data/input.csv").file_size.to_bytes(4, "little")
    path = saved(tmp_path, content.replace(size, (10).to_bytes(4, "little")))
    with pytest.raises(UnveilError, match="is damaged"):
        read_columns(path)


def test_other_strange_archives(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as one:
        one.writestr("data/input.csv", INPUT)
    with pytest.raises(TableError, match="packed in a way that is not read"):
        read_columns(saved(tmp_path, packed.getvalue()))
    with pytest.raises(TableError, match="cannot be opened as a zip file"):
        read_columns(saved(tmp_path, b"PK\x03\x04 no zip"))
    with pytest.raises(TableError, match="no such file"):
        read_columns(tmp_path / "gone.deid")
    with pytest.raises(TableError, match="cannot be opened as a zip file"):
        read_columns(tmp_path.rename(tmp_path.with_suffix(".deid")))


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    content = zipped({"data/input.csv": INPUT, "data/inpux.csv": INPUT}).replace(b"inpux", b"input")
    with pytest.raises(TableError, match="two files of one name"):
        read_columns(saved(tmp_path, content))


def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    content = bytearray(zipped({"data/input.csv": INPUT}))
    content[content.rfind(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(TableError, match="is encrypted"):
        read_columns(saved(tmp_path, bytes(content)))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a;x;*\nb;x;*\n", [("a", "x", "*"), ("b", "x", "*")]),
        ("a;x;*;*\nb;x;*;*\n", [("a", "x", "*"), ("b", "x", "*")]),  # two tops are one
        ("a;x;any\nb;x;any\n", [("a", "x", "any", "*"), ("b", "x", "any", "*")]),  # a top of another name stays a label
        ("a;x;y;*\nb;*;*;*\n", [("a", "x", "y", "*"), ("b", "b", "b", "*")]),  # withheld early
        ("a;*\nb;*\n", None),
        ("a\nb\n", None),
    ],
)
def test_hierarchies_as_arx_allows_them(text: str, rows: list[tuple[str, ...]] | None) -> None:
    ladder = repaired_ladder(text.encode(), "h.csv")
    assert (None if ladder is None else list(ladder.rows)) == rows


def test_a_hierarchy_that_cannot_be_used_is_left_out_and_named(tmp_path: Path) -> None:
    draft = draft_project(saved(tmp_path, made_project(input__hierarchies__age_dot_csv="34;a;*\n35;a\n")))
    assert list(draft.ladders) == ["zip"]
    assert "hierarchies/age.csv: has rows of different lengths" in draft.notes[0]
    draft = draft_project(saved(tmp_path, made_project(input__hierarchies__age_dot_csv=AGES.replace("70;", "71;"))))
    assert draft.notes == ("left out the hierarchy of age: it has no row for '70'",)
    assert "domain = " in draft.toml.split("[attributes.age]")[1].split("[attributes")[0]


def test_what_arx_wrote_with_another_separator_and_encoding(tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        made_project(
            project_dot_xml="<project><separator>,</separator></project>",
            data__input_dot_csv="Größe,disease\n1,flu\n2,hiv\n".encode("cp1252"),
            data__output_dot_csv=None,
            input__definition_dot_xml=definition(
                {"Größe": "QUASI_IDENTIFYING_ATTRIBUTE", "disease": "SENSITIVE_ATTRIBUTE"}, ()
            ).encode("cp1252"),
        ),
    )
    project = read_project(path)
    assert (project.delimiter, list(project.roles), project.folder) == (",", ["Größe", "disease"], "input/")
    assert read_table(path, project_schema(path)).rows == 2


def test_the_output_has_its_own_definition(tmp_path: Path) -> None:
    """Roles may have changed since ARX made the output: those of the output count."""
    other = DEFINITION.replace(ROLES["disease"], "INSENSITIVE_ATTRIBUTE")
    path = saved(tmp_path, made_project(output__definition_dot_xml=other))
    assert read_project(path).roles["disease"] is Role.INSENSITIVE
    assert "age" in read_project(path).ladders  # found with the input, where the output keeps none


def test_attribute_names_are_no_paths() -> None:
    names = {"../x": 0, "a/b": 0, "a_b": 0, "": 0, "é": 0, "A_B": 0}
    assert file_names(names, "h") == {
        "../x": "h/_x.csv",
        "a/b": "h/a_b.csv",
        "a_b": "h/a_b-2.csv",
        "": "h/_.csv",
        "é": "h/é.csv",
        "A_B": "h/A_B-3.csv",
    }


def test_a_project_is_no_csv(tmp_path: Path) -> None:
    path = tmp_path / "clinic.csv"
    path.write_bytes(made_project())
    with pytest.raises(ReleaseError, match="looks like a zip archive"):
        read_release(path, project_schema(saved(tmp_path)))
    with pytest.raises(SchemaError, match=r"holds no definition\.xml"):
        read_project(saved(tmp_path, zipped({"a": "b"})))

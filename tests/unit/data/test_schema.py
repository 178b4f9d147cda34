"""schema.toml: what it may say, and for every mistake the key and the fix."""

import os
import re
from datetime import date
from pathlib import Path

import pytest

from unveil.data.attribute import Kind, Role
from unveil.data.schema import Declaration, Schema, SchemaDocument, read_schema
from unveil.errors import SchemaError

WHOLE = """\
version = 1
confirmed = true
missing = ["?", ""]
weight = "w"
frequency = "n"
joined = [["age", "sex"]]
membership = "sensitive"

[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 17, to = 90, step = 1 }
bins = [20, 30, 40]

[attributes.sex]
role = "quasi-identifier"

[attributes.zip]
role = "quasi-identifier"
kind = "categorical"
domain = ["45501", "45502"]
hierarchy = "h/zip.csv"
missing = "category"

[attributes.grade]
role = "insensitive"
kind = "ordinal"
domain = ["low", "high"]

[attributes.disease]
role = "sensitive"
domain = ["flu", "gastritis", "ulcer"]
harmless = ["flu"]
classes = { stomach = ["gastritis", "ulcer"] }
"""


@pytest.fixture
def write(tmp_path):
    def written(text, **files):
        (tmp_path / "h").mkdir(exist_ok=True)
        (tmp_path / "h" / "zip.csv").write_text(files.get("zip", "45501;455**;*\n45502;455**;*\n"))
        path = tmp_path / "schema.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def body(text, head="version = 1\n"):
    """A schema of one attribute with these lines."""
    return f"{head}[attributes.x]\n{text}\n"


def head(text):
    """A schema with these lines before its attribute."""
    return f'version = 1\n{text}\n[attributes.x]\nrole = "sensitive"\n'


def test_the_whole_contract(write):
    schema = read_schema(write(WHOLE))
    assert schema.confirmed() is schema
    assert schema.names == ("age", "sex", "zip", "grade", "disease")
    assert schema.extra_columns == ("w", "n")
    assert schema.document.joined == (("age", "sex"),)
    assert schema.document.membership == "sensitive"
    assert schema.attribute("age").values == ("[17,19]", "[20,29]", "[30,39]", "[40,90]")
    zips = schema.attribute("zip")
    assert zips.values == ("45501", "45502", "?")
    assert zips.hierarchy is not None
    assert zips.hierarchy.labels[1] == ("455**", "?")
    disease = schema.attribute("disease")
    assert disease.role is Role.SENSITIVE
    assert disease.harmless == (0,)
    assert disease.classes == (("stomach", (1, 2)),)
    assert schema.attribute("sex", ["m", "f", "?"]).values == ("f", "m")


def test_defaults(write):
    schema = read_schema(write(body('role = "insensitive"')))
    assert schema.document.confirmed is False
    assert schema.extra_columns == ()
    assert schema.document.membership is None
    assert schema.declaration("x").kind is Kind.CATEGORICAL
    assert schema.declaration("x").missing == "refuse"


def test_unconfirmed_is_refused(write):
    schema = read_schema(write(body('role = "insensitive"')))
    with pytest.raises(SchemaError, match=r"schema\.toml: the roles are not confirmed; .* set confirmed = true"):
        schema.confirmed()


QI = 'role = "quasi-identifier"\n'
NUMERIC = QI + 'kind = "numeric"\n'
DATE = QI + 'kind = "date"\n'


@pytest.mark.parametrize(
    ("text", "key", "fix"),
    [
        # the document
        ('version = 2\n[attributes.x]\nrole = "sensitive"', "version", "Input should be 1"),
        ('[attributes.x]\nrole = "sensitive"', "version", "this key is required"),
        (head('confirmed = "yes"'), "confirmed", "true or false"),
        (head("missing = [99]"), "missing", "put it in quotes"),
        (head('missing = ["*"]'), "missing", "choose another token"),
        (head('wieght = "w"'), "wieght", "this key is unknown; see docs/schema.md"),
        (head('weight = "x"'), "weight", r"'x' has no role then; remove \[attributes.x\]"),
        (head('frequency = "x"'), "frequency", r"'x' has no role then; remove \[attributes.x\]"),
        (head('weight="w"\nfrequency = "w"'), "frequency", "is the weight already"),
        (head('joined = [["x", "y"]]'), "joined", "unknown attribute 'y'"),
        (head('joined = [["x"], ["x"]]'), "joined", "'x' is listed twice"),
        (head('membership = "?"'), "membership", "'sensitive' or 'harmless'"),
        ("version = 1\n[attributes]", "attributes", "at least 1 item"),
        ("version = 1\nattributes = 3", "attributes", "valid dictionary"),
        # an attribute
        (body('kind = "numeric"'), "attributes.x.role", "this key is required"),
        (body('role = "quasi"'), "attributes.x.role", "'identifier', 'quasi-identifier', 'sensitive' or 'insens"),
        (body(QI + 'kind = "number"'), "attributes.x.kind", "'categorical', 'ordinal', 'numeric' or 'date'"),
        (body(QI + "domian = []"), "attributes.x.domian", "this key is unknown"),
        (body(QI + 'missing = "drop"'), "attributes.x.missing", "'category' or 'refuse'"),
        (body(QI + 'harmless = ["a"]'), "attributes.x.harmless", "belongs to sensitive attributes; remove it"),
        (body(QI + 'classes = { a = ["b"] }'), "attributes.x.classes", "belongs to sensitive attributes; remove it"),
        (body(QI + "bins = [1]"), "attributes.x.bins", 'they need kind = "numeric" or "date"'),
        (body(QI + "domain = { from = 1, to = 2 }"), "attributes.x.domain", "list the values instead"),
        (body(QI + "domain = []"), "attributes.x.domain", "it is empty; list"),
        (body(QI + "domain = 5"), "attributes.x.domain", "a list of values, or { from"),
        (body(QI + "domain = [[1]]"), "attributes.x.domain", "a list of values, or { from"),
        (body(NUMERIC + "domain = { from = 1 }"), "attributes.x.domain.to", "this key is required"),
        (body(NUMERIC + "domain = { from = 1, to = 2, by = 3 }"), "attributes.x.domain.by", "this key is unknown"),
        (body(NUMERIC + 'domain = { from = "1", to = 2 }'), "attributes.x.domain.from", "without quotes"),
        (body(NUMERIC + "bins = [2, 1]"), "attributes.x.bins", "growing cuts"),
        (body(NUMERIC + "bins = [2, 2]"), "attributes.x.bins", "growing cuts"),
        (body(NUMERIC + "bins = []"), "attributes.x.bins", "growing cuts"),
        (body(NUMERIC + "bins = [nan]"), "attributes.x.bins", "growing cuts"),
        (body(NUMERIC + "bins = [1, inf]"), "attributes.x.bins", "growing cuts"),
        (body(NUMERIC + "bins = [1, 2024-01-01]"), "attributes.x.bins", "growing cuts"),
        (body(NUMERIC + 'bins = ["1"]'), "attributes.x.bins", "without quotes"),
        (body(NUMERIC + "bins = [1" + "0" * 400 + "]"), "attributes.x.bins", "growing cuts"),
        (body(NUMERIC + "bins = [1]\ndomain = [1, 2]"), "attributes.x.bins", "they go with a domain from"),
        # a domain that cannot stand
        (body(NUMERIC + "domain = { from = 5, to = 2 }"), "x", "the domain from 5 to 2 step 1 is empty"),
        (body(NUMERIC + "domain = { from = 1, to = 2, step = 0 }"), "x", "is empty"),
        (body(NUMERIC + "domain = { from = 1, to = 2, step = nan }"), "x", "finite numbers"),
        (body(NUMERIC + "domain = { from = -inf, to = 2 }"), "x", "finite numbers"),
        (body(NUMERIC + "domain = { from = 0, to = 1, step = 1e-9 }"), "x", "the domain has over 10,000,000 values"),
        (body(NUMERIC + "domain = { from = 2024-01-01, to = 2024-01-02 }"), "x", 'set kind = "date"'),
        (body(DATE + "domain = { from = 1, to = 2 }"), "x", "write it as 2024-01-31 without quotes"),
        (body(DATE + "domain = { from = 2024-01-01, to = 2024-02-01, step = 0.5 }"), "x", "whole days"),
        (body(DATE + "bins = [1]"), "x", "1 is not a date"),
        (body(NUMERIC + "bins = [2024-01-01]"), "x", "is a date"),
        (body(NUMERIC + 'domain = ["1", "two"]'), "x", "'two' is not a number; change the kind"),
        (body(DATE + 'domain = ["31.12.2024"]'), "x", "'31.12.2024' is not a date such as 2024-01-31"),
        (body(QI + 'domain = ["a", "a"]'), "x", "'a' appears twice in the domain"),
        (body(QI + 'domain = ["a", "*"]'), "x", "cannot be a value"),
        (body(QI + 'domain = ["a"]\nmissing = "category"'), "x", "needs tokens; add missing ="),
        (
            body('role = "sensitive"\ndomain = ["a"]\nharmless = ["b"]'),
            "x",
            "harmless: 'b' is not in the domain",
        ),
        (
            body('role = "sensitive"\ndomain = ["a"]\nclasses = { k = ["b"] }'),
            "x",
            "classes.k: 'b' is not in",
        ),
        (body(QI + 'domain = ["1"]\nhierarchy = "h/zip.csv"'), "x", "the value '1' of x has no row"),
    ],
)
def test_mistakes(write, text, key, fix):
    path = write(text)
    with pytest.raises(SchemaError) as refused:
        read_schema(path)
    message = str(refused.value)
    assert message.startswith((f"{path}, {key}", f"{path}, attributes.{key}")), message
    assert re.search(fix, message), message
    assert "\n" not in message


def test_files_that_are_no_schema(write, tmp_path):
    with pytest.raises(SchemaError, match=r"draft one with: unveil schema DATA -o absent\.toml"):
        read_schema(tmp_path / "absent.toml")
    with pytest.raises(SchemaError, match="directory"):
        read_schema(tmp_path)
    with pytest.raises(SchemaError, match=r"not TOML: .*line 2"):
        read_schema(write("version = 1\nx = 1 2"))
    with pytest.raises(SchemaError, match="not a schema"):
        read_schema(write('group = "g"'))
    path = write("")
    path.write_bytes(b'version = 1\n[attributes."K\xf6ln"]\nrole = "sensitive"\n')
    with pytest.raises(SchemaError, match="save it as UTF-8"):
        read_schema(path)
    path.write_bytes(b'\xef\xbb\xbfversion = 1\n[attributes.x]\nrole = "sensitive"\n')
    assert read_schema(str(path)).names == ("x",)
    with pytest.raises(
        SchemaError,
        match=r"schema\.toml, attributes\.x\.hierarchy: .*absent\.csv: cannot be read .*name an existing hierarchy",
    ):
        read_schema(write(body(QI + 'hierarchy = "absent.csv"')))


# --- domains


def schema_of(missing=(), ladders=None, **declared):
    document = {"version": 1, "missing": list(missing), "attributes": {"x": {"role": "quasi-identifier", **declared}}}
    return Schema(SchemaDocument.model_validate(document), ladders or {})


def test_where_a_domain_comes_from(write):
    declared = read_schema(write(body(QI + 'domain = ["45502"]\nhierarchy = "h/zip.csv"'))).attribute("x", ["1"])
    assert (declared.values, declared.source) == (("45502",), "declared")
    leaves = read_schema(write(body(QI + 'hierarchy = "h/zip.csv"'))).attribute("x", ["1"])
    assert (leaves.values, leaves.source) == (("45501", "45502"), "hierarchy")
    observed = schema_of(missing=["?"]).attribute("x", ["b", "?", "a"])
    assert (observed.values, observed.source) == (("a", "b"), "original")
    assert schema_of().attribute("x", ["b"], source="release").source == "release"
    with pytest.raises(SchemaError, match=r"no domain is declared .* add domain"):
        schema_of().attribute("x")
    with pytest.raises(SchemaError, match="needs its order"):
        schema_of(kind="ordinal").attribute("x", ["b", "a"])


def test_observed_numbers_are_sorted_as_numbers():
    assert schema_of(kind="numeric").attribute("x", ["10", "9", "9.0"]).values == ("9", "10")
    assert schema_of(kind="numeric").attribute("x", ["1,5", "0,5"], decimal=",").values == ("0.5", "1.5")
    with pytest.raises(SchemaError, match="'x' is not a number"):
        schema_of(kind="numeric").attribute("x", ["x"])


def test_grids():
    assert schema_of(kind="numeric", domain={"from": 0, "to": 0.3, "step": 0.1}).attribute("x").values == (
        "0",
        "0.1",
        "0.2",
        "0.3",
    )
    assert schema_of(kind="numeric", domain={"from": 1, "to": 6, "step": 2}).attribute("x").values == ("1", "3", "5")
    assert schema_of(kind="numeric", domain={"from": 4, "to": 4}).attribute("x").values == ("4",)
    days = schema_of(kind="date", domain={"from": date(2024, 2, 28), "to": date(2024, 3, 1)}).attribute("x")
    assert days.values == ("2024-02-28", "2024-02-29", "2024-03-01")


def test_an_observed_domain_may_lack_a_harmless_value():
    found = schema_of(role="sensitive", harmless=["flu"], classes={"k": ["a", "z"]}).attribute("x", ["a", "b"])
    assert found.harmless == ()
    assert found.classes == (("k", (0,)),)


def test_all_values_missing():
    found = schema_of(missing=["?"], domain=["?"]).attribute("x")
    assert found.values == ("?",)  # declared and refusing missing: a value like any other
    document = {"version": 1, "missing": ["?"], "attributes": {"x": {"role": "insensitive", "missing": "category"}}}
    found = Schema(SchemaDocument.model_validate(document)).attribute("x", ["?"])
    assert (found.values, found.real) == (("?",), 0)


# --- hierarchies in a schema


def test_a_hierarchy_of_numbers_is_read_however_it_is_written(write):
    schema = read_schema(write(body(NUMERIC + 'hierarchy = "h/zip.csv"'), zip="17.0;[17,18];*\n018;[17,18];*\n"))
    assert schema.attribute("x").values == ("17", "18")
    with pytest.raises(SchemaError, match="'17' is already on line 1"):
        read_schema(write(body(NUMERIC + 'hierarchy = "h/zip.csv"'), zip="17;a;*\n17.0;a;*\n"))


def test_a_hierarchy_over_bins_has_the_bins_as_leaves(write):
    text = NUMERIC + 'domain = { from = 0, to = 9 }\nbins = [5]\nhierarchy = "h/zip.csv"'
    schema = read_schema(write(body(text), zip="[0,4];any;*\n[5,9];any;*\n"))
    hierarchy = schema.attribute("x").hierarchy
    assert hierarchy is not None
    assert hierarchy.labels[1] == ("any",)


def test_a_missing_token_among_the_leaves_of_numbers(write):
    text = NUMERIC + 'missing = "category"\nhierarchy = "h/zip.csv"'
    schema = read_schema(write(body(text, 'version=1\nmissing=["?"]\n'), zip="1;low;*\n2;low;*\n?;none;*\n"))
    assert schema.attribute("x").values == ("1", "2", "?")


@pytest.mark.parametrize(
    ("kind", "rows", "message"),
    [
        ("numeric", "20;20.0;*\n21;20.0;*\n", "label '20.0' is also a value"),
        ("categorical", "a;?;*\nb;?;*\n", r"label '\?' is also a missing token"),
    ],
)
def test_a_label_that_would_be_read_as_a_value(write, kind, rows, message):
    text = body(f'{QI}kind = "{kind}"\nhierarchy = "h/zip.csv"', 'version=1\nmissing=["?"]\n')
    with pytest.raises(SchemaError, match=message):
        read_schema(write(text, zip=rows))


def test_a_label_may_stand_for_its_one_value(write):
    schema = read_schema(write(body(NUMERIC + 'hierarchy = "h/zip.csv"'), zip="1;1;*\n2;2;*\n"))
    assert schema.attribute("x").values == ("1", "2")


# --- JSON Schema


def test_the_json_schema_has_the_same_keys():
    exported = Schema.json_schema()
    assert set(exported["properties"]) == set(SchemaDocument.model_fields)
    assert exported["required"] == ["version", "attributes"]
    assert exported["additionalProperties"] is False
    declaration = exported["$defs"]["Declaration"]
    assert set(declaration["properties"]) == set(Declaration.model_fields)
    assert declaration["required"] == ["role"]
    assert declaration["additionalProperties"] is False
    assert exported["$defs"]["Role"]["enum"] == [str(r) for r in Role]
    assert exported["$defs"]["Kind"]["enum"] == [str(k) for k in Kind]
    domain = exported["$defs"]["DomainRange"]
    assert set(domain["properties"]) == {"from", "to", "step"}
    assert domain["required"] == ["from", "to"]
    assert domain["additionalProperties"] is False


def hierarchical(folder: Path, line: str) -> Path:
    path = folder / "schema.toml"
    path.write_text(f'version = 1\n[attributes.a]\nrole = "quasi-identifier"\n{line}\n')
    return path


@pytest.mark.parametrize("named", ["/dev/zero", "/etc/passwd", "../secret.csv", "link.csv", "loop.csv", "a\\u0000b"])
def test_only_hierarchies_in_the_schemas_folder_are_read(named: str, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("one of the secrets\n")
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    with pytest.raises(SchemaError) as error:
        read_schema(hierarchical(folder, f'hierarchy = "{named}"'))
    assert re.search("attributes.a.hierarchy: .*(lies outside the schema's folder|cannot be read)", str(error.value))
    assert "secrets" not in str(error.value)
    assert "root:" not in str(error.value)


def test_a_folder_of_hierarchies_outside_the_schemas_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text('version = 1\nhierarchies = "/etc"\n[attributes.passwd]\nrole = "quasi-identifier"\n')
    with pytest.raises(SchemaError, match="hierarchies: '/etc' lies outside the schema's folder; copy it"):
        read_schema(path)


def test_a_hierarchy_that_is_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(SchemaError, match=r"pipe\.csv: not a regular file; name a hierarchy file"):
        read_schema(hierarchical(tmp_path, 'hierarchy = "pipe.csv"'))


def test_a_hierarchy_of_too_many_levels_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.csv").write_text("\n".join(";".join([f"v{i}", *["x"] * 40_000, "*"]) for i in range(50)))
    with pytest.raises(SchemaError, match=r"deep\.csv: 40,002 levels, over 200; leave levels out"):
        read_schema(hierarchical(tmp_path, 'hierarchy = "deep.csv"'))


def test_a_hierarchy_file_of_too_many_bytes_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(1 << 33)
    with pytest.raises(SchemaError, match=r"large\.csv: over 256 MB; too large for a hierarchy"):
        read_schema(hierarchical(tmp_path, 'hierarchy = "large.csv"'))

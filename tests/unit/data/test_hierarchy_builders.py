"""Hierarchies that are built from the data: hand-worked, and whole folders on the command line."""

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arx_projects import made_project
from small import QI, SENSITIVE, made_release, made_schema
from unveil import cli
from unveil.data.hierarchy import read_hierarchy
from unveil.data.hierarchy_auto import hierarchy_of
from unveil.data.hierarchy_builders import (
    auto_hierarchy,
    equal_count_hierarchy,
    frequency_hierarchy,
    round_hierarchy,
    taxonomy_hierarchy,
)
from unveil.data.schema import read_schema
from unveil.data.table import Table
from unveil.errors import SchemaError
from unveil.formats.cells import mapping_bytes


def test_round_intervals() -> None:
    """17 to 90: 15 intervals of 5, then 9 of 10, then two of 50 would be left: `*` comes next."""
    ladder = round_hierarchy([*range(17, 91)])
    assert ladder.rows[0] == ("17", "15-19", "10-19", "*")
    assert ladder.rows[-1] == ("90", "90-94", "90-99", "*")
    assert round_hierarchy([0.1, 0.15, 0.9], first=10).rows[0] == ("0.1", "[0.1,0.2)", "*")
    assert round_hierarchy([-3, 4, 12]).rows == (
        ("-3", "[-10,-1]", "*"),  # intervals of 5 would hold one number each
        ("4", "0-9", "*"),
        ("12", "10-19", "*"),
    )
    assert round_hierarchy([0, 1]).rows == (("0", "*"), ("1", "*"))
    assert round_hierarchy([0.0, 1e-300, 1.0]).rows[0] == ("0", "[0,0.1)", "[0,0.5)", "*")
    with pytest.raises(SchemaError, match="too far apart"):
        round_hierarchy([-1.7e308, 1.7e308])
    assert len(round_hierarchy([*range(0, 9_000, 7)]).rows[0]) < 8
    with pytest.raises(SchemaError, match="two different numbers"):
        round_hierarchy([3, 3])
    with pytest.raises(SchemaError, match="at least 2"):
        round_hierarchy([1, 2, 3], first=1)


def test_intervals_with_equally_many_rows() -> None:
    """Ten rows of 1 and one each of 2 to 7: half of 16 rows end within the value 1."""
    ladder = equal_count_hierarchy([1, 2, 3, 4, 5, 6, 7], [10, 1, 1, 1, 1, 1, 1], groups=4)
    # Middles of the rows, in quarters of 16: 1 → 1.25, 2 → 2.6, 3 → 2.9, 4 → 3.1, … 7 → 3.9.
    assert [row[1] for row in ladder.rows] == ["1", "2-3", "2-3", "4-7", "4-7", "4-7", "4-7"]
    assert [row[2] for row in ladder.rows] == ["1", *["2-7"] * 6]
    even = equal_count_hierarchy([4, 3, 2, 1], [5, 5, 5, 5], groups=2)
    assert even.rows == (("1", "1-2", "*"), ("2", "1-2", "*"), ("3", "3-4", "*"), ("4", "3-4", "*"))
    for values, counts, groups in (([1], [1], 4), ([1, 1], [1, 1], 4), ([1, 2], [1, 0], 4), ([1, 2], [1, 1], 1)):
        with pytest.raises(SchemaError):
            equal_count_hierarchy(values, counts, groups)


def test_frequencies_put_rare_names_together_first() -> None:
    ladder = frequency_hierarchy(["a", "b", "c", "d", "e"], [5, 50, 7, 1, 7])
    assert ladder.rows == (
        ("a", "rarest 3", "rarest 4", "*"),
        ("b", "b", "b", "*"),
        ("c", "c", "rarest 4", "*"),
        ("d", "rarest 3", "rarest 4", "*"),
        ("e", "rarest 3", "rarest 4", "*"),
    )
    assert frequency_hierarchy(["x", "rarest 1"], [2, 1]).rows == (("x", "*"), ("rarest 1", "*"))
    assert frequency_hierarchy(["rarest 2", "y", "z"], [3, 2, 1]).rows[1] == ("y", "rarest 2'", "*")
    with pytest.raises(SchemaError, match="one value or more"):
        frequency_hierarchy([], [])


def test_a_taxonomy() -> None:
    tree = {"flu": "lung", "cold": "lung", "lung": "body", "fear": "mind", "body": "", "mind": ""}
    assert taxonomy_hierarchy(tree).rows == (
        ("flu", "lung", "body", "*"),
        ("cold", "lung", "body", "*"),
        ("fear", "fear", "mind", "*"),
    )
    assert taxonomy_hierarchy({"a": "x", "b": "x", "x": "*"}).rows == (("a", "x", "*"), ("b", "x", "*"))
    assert taxonomy_hierarchy({"a": "x", "b": "x"}).rows == (("a", "x", "*"), ("b", "x", "*"))  # x stands above all


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({}, "holds no rows"),
        ({"a": "b", "b": "a"}, "has no leaf"),
        ({"x": "a", "a": "b", "b": "a"}, "lies within itself"),
        ({"a": "", "b": "*"}, "nothing between"),
        ({f"n{i}": f"n{i + 1}" for i in range(200)}, "over 100 deep"),
    ],
)
def test_what_is_no_taxonomy(tree: dict[str, str], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        taxonomy_hierarchy(tree)


def test_what_fits() -> None:
    assert auto_hierarchy(["1", "7", "30"], [1, 1, 1], float).source == "intervals"
    assert auto_hierarchy(["2024-01-31", "2024-02-01"], [1, 1]).source == "date parts"
    assert auto_hierarchy(["81541", "80331"], [1, 1]).source == "prefixes"
    assert auto_hierarchy(["red", "tan", "lime"], [1, 1, 1]).source == "frequency"


@settings(max_examples=25)
@given(st.dictionaries(st.integers(-(10**6), 10**6), st.integers(1, 50), min_size=2, max_size=30), st.integers(2, 9))
def test_built_hierarchies_cover_every_value(rows: dict[int, int], groups: int) -> None:
    """Ladder itself checks nesting; every number lies between the ends of each of its intervals."""
    values, counts = [float(v) for v in rows], list(rows.values())
    for ladder in (equal_count_hierarchy(values, counts, groups), round_hierarchy(values)):
        assert sorted(float(row[0]) for row in ladder.rows) == sorted(values)
        for row in ladder.rows:
            for label in row[1:-1]:
                ends = re.split(r",|(?<=\d)-", label.strip("[])"))
                assert float(ends[0]) <= float(row[0]) <= float(ends[-1])
    names = [str(v) for v in rows]
    assert [row[0] for row in frequency_hierarchy(names, counts).rows] == names


def test_the_mapping_of_a_release() -> None:
    schema = made_schema({"x": {"role": QI, "domain": ["a", "b", "c"]}, "s": {"role": SENSITIVE, "domain": ["u", "v"]}})
    release = made_release(
        [schema.attribute("x"), schema.attribute("s")],
        [[(0, 1), [(0, ["a", "b"], "u"), (0, ["a", "b"], "v"), (1, "c", "u"), (2, "*", "u")]]],
    )
    assert mapping_bytes(release).decode().splitlines() == [
        "attribute,value,cell,rows",
        'x,a,"{a,b}",2',
        "x,a,*,1",
        'x,b,"{a,b}",2',
        "x,b,*,1",
        "x,c,*,1",
        "x,c,c,1",
    ]


# --- the command line -------------------------------------------------------------------------------------------------

SCHEMA = """version = 1
confirmed = true
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
[attributes.zip]
role = "quasi-identifier"
[attributes.job]
role = "quasi-identifier"
[attributes.born]
role = "quasi-identifier"
kind = "date"
[attributes.disease]
role = "sensitive"
"""
ROWS = [
    (20 + i % 31, f"8154{i % 7}", "abcd"[i % 4], f"19{50 + i % 40}-0{1 + i % 9}-1{i % 9}", "uv"[i % 2])
    for i in range(60)
]


def run(*args: str | Path, capsys: pytest.CaptureFixture[str], code: int = 0) -> tuple[str, str]:
    argv, sys.argv = sys.argv, ["unveil", "hierarchy", *map(str, args)]
    try:
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    finally:
        sys.argv = argv
    out, err = capsys.readouterr()
    assert stopped.value.code == code, err
    return out, err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text(
        "age,zip,job,born,disease\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
    )
    return tmp_path


def test_all_quasi_identifiers_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--schema", folder / "schema.toml")
    _, err = run("auto", *given, "--data", folder / "data.csv", "-o", folder / "trees", capsys=capsys)
    for text in ("age: intervals", "zip: prefixes", "job: frequency", "born: date parts", "wrote 4 hierarchies"):
        assert text in err
    (folder / "schema.toml").write_text(SCHEMA.replace("[attributes.age]", 'hierarchies = "trees"\n[attributes.age]'))
    schema = read_schema(folder / "schema.toml")
    assert sorted(schema.hierarchies) == ["age", "born", "job", "zip"]
    assert schema.attribute("zip").source == "hierarchy"
    run("export", *given, "-o", folder / "out", capsys=capsys)
    for name in schema.hierarchies:
        assert (folder / "out" / f"{name}.csv").read_bytes() == (folder / "trees" / f"{name}.csv").read_bytes()
    (folder / "trees" / "clinic_hierarchy_age.csv").write_text("20;a;*\n")
    _, err = run("export", *given, "-o", folder / "out", capsys=capsys, code=2)
    assert "age.csv and clinic_hierarchy_age.csv both fit 'age'; keep one" in err
    (folder / "schema.toml").write_text(SCHEMA.replace("[attributes.age]", 'hierarchies = "gone"\n[attributes.age]'))
    _, err = run("export", *given, "-o", folder / "out", capsys=capsys, code=2)
    assert "schema.toml, hierarchies:" in err
    assert "is not a folder that can be read" in err


def test_a_folder_or_a_project_is_imported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arx = folder / "arx"
    arx.mkdir()
    (arx / "clinic_hierarchy_zip.csv").write_text("".join(f"8154{i};8154*;*****\n" for i in range(9)))
    (arx / "job.csv").write_text("a;x;*;*\nb;x;*;*\nc;y;*;*\nd;*;*;*\n")
    (arx / "other.csv").write_text("a;*\n")
    _, err = run("import", arx, "--schema", folder / "schema.toml", "-o", folder / "in", capsys=capsys)
    assert "wrote 2 hierarchies" in err
    (arx / "age.csv").write_text("20;*\n21;*\n")
    _, err = run("import", arx, "--schema", folder / "schema.toml", "-o", folder / "in", capsys=capsys)
    assert f"left out: {arx / 'age.csv'}: has no level between its values and *" in err
    assert "wrote 2 hierarchies" in err
    assert read_hierarchy(folder / "in" / "zip.csv").rows[0] == ("81540", "8154*", "*****", "*")
    assert read_hierarchy(folder / "in" / "job.csv").rows[3] == ("d", "d", "*")
    (folder / "p.deid").write_bytes(made_project())
    _, err = run("import", folder / "p.deid", "-o", folder / "in", capsys=capsys)
    assert "age, zip" in err
    _, err = run("import", folder / "data.csv", "-o", folder / "in", capsys=capsys, code=2)
    assert "is not a folder that can be read" in err
    (arx / "job.csv").write_text("a;x\nb\n")
    _, err = run("import", arx, "-o", folder / "in", capsys=capsys, code=2)
    assert "rows of different lengths" in err


def test_single_builders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ("--data", folder / "data.csv")
    assert run("round", "age", *data, capsys=capsys)[0].splitlines()[0] == "20;20-24;20-29;*"
    assert run("equal-count", "age", *data, "--groups", "2", capsys=capsys)[0].splitlines()[0] == "20;20-34;*"
    assert run("frequency", "job", *data, capsys=capsys)[0].splitlines()[0] == "a;a;a;*"
    (folder / "tree.csv").write_text("child,parent\na,x\nb,x\nc,y\nd,y\nx,\ny,\n")
    out, _ = run("taxonomy", folder / "tree.csv", "-o", folder / "job.csv", capsys=capsys)
    assert (folder / "job.csv").read_text().splitlines()[0] == "a;x;*"
    out, _ = run("show", folder / "job.csv", capsys=capsys)
    assert "x" in out
    run("check", folder / "job.csv", "job", *data, capsys=capsys)
    (folder / "german.csv").write_text("bmi;x\n18,0;a\n18,5;a\n23,0;b\n")
    run("round", "bmi", "--data", folder / "german.csv", "-o", folder / "bmi.csv", capsys=capsys)
    _, err = run("check", folder / "bmi.csv", "bmi", "--data", folder / "german.csv", capsys=capsys)
    assert "covers all 3 values of bmi" in err  # 18 is the row of 18,0
    (folder / "zip.csv").write_text("zip\n01067\n1067.0\n")
    (folder / "code.csv").write_text("1067;10*;*\n")
    _, err = run("check", folder / "code.csv", "zip", "--data", folder / "zip.csv", capsys=capsys, code=2)
    assert "the value '01067' of zip has no row; add" in err  # a code, not a number
    (folder / "points.csv").write_text("20.0;all;*\n21;all;*\n")
    ages = SCHEMA.replace('kind = "numeric"', 'kind = "numeric"\ndomain = [20, 21]')
    (folder / "ages.toml").write_text(ages)
    _, err = run("check", folder / "points.csv", "age", "--schema", folder / "ages.toml", capsys=capsys)
    assert "nested, and covers all" in err  # as the schema itself reads it
    _, err = run("check", folder / "job.csv", "job", *data, "--schema", folder / "schema.toml", capsys=capsys, code=2)
    assert "by one of --data TABLE and --schema FILE" in err
    (folder / "tree.csv").write_text("child,parent\na,x\na,y\n")
    _, err = run("taxonomy", folder / "tree.csv", capsys=capsys, code=2)
    assert "line 3: 'a' has two parents" in err
    _, err = run("round", "job", *data, capsys=capsys, code=2)
    assert "job is not numeric" in err
    (folder / "r.csv").write_text('age,zip,job,disease\n20~29,81541,"a,b",u\n')
    out, _ = run(
        "mapping",
        folder / "r.csv",
        "--schema",
        folder / "schema.toml",
        "--original",
        folder / "data.csv",
        capsys=capsys,
    )
    assert 'age,20,"[20,29]",1' in out
    assert 'job,b,"{a,b}",1' in out
    (folder / "r.csv").write_text("age job disease\n20~29 a u\n")
    named = ("mapping", folder / "r.csv", "--schema", folder / "schema.toml", "--original", folder / "data.csv")
    out, _ = run(*named, "--release-delimiter", " ", capsys=capsys)
    assert 'age,20,"[20,29]",1' in out


# --- what a steward would draw


@pytest.mark.parametrize(
    ("values", "name", "row"),
    [
        ([f"{i:05d}" for i in range(1, 60)] + ["k.A."], "PLZ", ("00001", "0000*", "000**", "00***", "0****", "*")),
        ([f"{i:05d}" for i in range(1, 60)] + ["k.A."], "PLZ", ("k.A.", *["k.A."] * 4, "*")),
        (
            ["I20.0", "I20.1", "I21.1", "I50.0", "E10.0"],
            "ICD",
            ("I20.0", "I20.-", "I20-I25", "IX Circulatory system", "*")
        ),
        (["2019-Q1", "2019-Q2", "2020-Q1"], "Quartal", ("2019-Q2", "2019", "*")),
        (["GKV", "PKV", "Selbst"], "Kasse", ("PKV", "PKV or Selbst", "*")),
    ],
)  # fmt: skip
def test_auto_draws_what_a_steward_would(values, name, row):
    counts = [100 - i for i in range(len(values))]
    ladder = auto_hierarchy(values, counts, codes="ICD" in name or name == "PLZ")
    assert row in ladder.rows


def test_ages_are_in_five_ten_and_twenty_years():
    ladder = auto_hierarchy([str(i) for i in range(100)], [1] * 100, float, ages=True)
    assert ladder.rows[37] == ("37", "35-39", "30-39", "20-39", "0-39", "*")


def test_bins_and_orders_are_put_together_with_their_neighbours(tmp_path):
    schema = made_schema(
        {
            "x": {"role": "quasi-identifier", "kind": "numeric", "bins": [10, 20, 30, 40]},
            "y": {"role": "quasi-identifier", "kind": "ordinal", "domain": ["a", "b", "c"]},
        }
    )
    table = Table.from_columns(schema, {"x": ["5", "15", "25", "35", "45"], "y": ["a", "b", "c", "a", "b"]})
    x, y = (
        hierarchy_of(a, c, schema.declaration(a.name)) for a, c in zip(table.attributes, table.columns, strict=True)
    )
    assert x.rows[1] == ("[10,20)", "<20", "<40", "*")
    assert x.rows[4] == (">=40", ">=40", ">=40", "*")
    assert y.rows[1] == ("b", "a to b", "*")
    x.over(table.attributes[0].values, missing=None, attribute="x")


def test_auto_names_them_in_the_schema_and_leaves_every_other_line(tmp_path, capsys):
    text = (
        '# mine\nversion = 1\nconfirmed = true # yes\n\n[attributes."ward / unit"] # odd\nrole = "quasi-identifier"\n'
    )
    (tmp_path / "schema.toml").write_text(text + '[attributes.d]\nrole = "sensitive"', encoding="utf-8")
    (tmp_path / "data.csv").write_text("ward / unit,d\na,x\nb,y\nc,x\n", encoding="utf-8")
    assert run("auto", "-s", tmp_path / "schema.toml", "--data", tmp_path / "data.csv", capsys=capsys)
    made = (tmp_path / "schema.toml").read_text(encoding="utf-8")
    assert (
        made.replace('hierarchy = "hierarchies/ward _ unit.csv"\n', "") == text + '[attributes.d]\nrole = "sensitive"'
    )
    assert "ward / unit" in read_schema(tmp_path / "schema.toml").hierarchies


def test_a_hierarchy_that_is_not_used_is_an_error(tmp_path):
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "ward _ unit.csv").write_text("a;*\nb;*\n", encoding="utf-8")
    head = 'version = 1\nhierarchies = "h"\n'
    (tmp_path / "s.toml").write_text(head + '[attributes."ward / unit"]\nrole = "quasi-identifier"\n', encoding="utf-8")
    assert "ward / unit" in read_schema(tmp_path / "s.toml").hierarchies
    (tmp_path / "h" / "wrad.csv").write_text("a;*\nb;*\n", encoding="utf-8")
    with pytest.raises(SchemaError, match=r"wrad.csv is not used"):
        read_schema(tmp_path / "s.toml")

"""Original tables from CSV and Parquet: both give the same codes."""

import contextlib
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from small import IDENTIFIER, QI, SENSITIVE, made_schema
from unveil.data.table import Table
from unveil.errors import ReleaseError, TableError
from unveil.formats.tables import read_columns, read_table

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "missing": "category"},
        "born": {"role": QI, "kind": "date", "missing": "category"},
        "smokes": {"role": QI, "missing": "category"},
        "job": {"role": SENSITIVE, "missing": "category"},
    },
    missing=["?", ""],
)
FRAME = pl.DataFrame(
    {
        "age": [17.0, 17.5, None, 17.0],
        "born": [date(2000, 2, 29), None, date(1999, 12, 31), date(2000, 2, 29)],
        "smokes": [True, False, None, True],
        "job": pl.Series(["cook", None, "nurse, chief", "=cmd()"], dtype=pl.Categorical),
    }
)


def values(table: Table) -> list[tuple[str, ...]]:
    """The rows as texts."""
    columns = [[a.values[c] for c in column] for a, column in zip(table.attributes, table.columns, strict=True)]
    return list(zip(*columns, strict=True))


def test_csv_and_parquet_are_the_same_table(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    FRAME.write_csv(tmp_path / "t.csv")
    found = read_table(tmp_path / "t.parquet", SCHEMA)
    assert values(found) == values(read_table(tmp_path / "t.csv", SCHEMA))
    assert values(found) == [
        ("17", "2000-02-29", "true", "cook"),
        ("17.5", "?", "false", "?"),
        ("?", "1999-12-31", "?", "nurse, chief"),
        ("17", "2000-02-29", "true", "=cmd()"),
    ]


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ([1, None, -3], ["1", "", "-3"]),
        ([1.0, None, 2.5, 1e20, -0.0], ["1", "", "2.5", "1e+20", "0"]),
        (pl.Series([0.1, 0.25], dtype=pl.Float32), ["0.1", "0.25"]),
        ([float("nan"), float("inf"), None], ["NaN", "inf", ""]),
        ([True, None, False], ["true", "", "false"]),
        ([date(2024, 2, 29), None], ["2024-02-29", ""]),
        ([datetime(2024, 2, 29), None], ["2024-02-29", ""]),
        (pl.Series([datetime(2024, 2, 29)], dtype=pl.Datetime("ns")), ["2024-02-29"]),
        (pl.Series([datetime(2024, 2, 29), None]).dt.replace_time_zone("Europe/Rome"), ["2024-02-29", ""]),
        (pl.Series(["b", None, "a"], dtype=pl.Categorical), ["b", "", "a"]),
        (pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a"])), ["b", "", "a"]),
        (pl.Series(["1.50"]).cast(pl.Decimal(10, 2)), ["1.50"]),
        (pl.Series([2**63], dtype=pl.UInt64), [str(2**63)]),
        (pl.Series([None, None], dtype=pl.Null), ["", ""]),
    ],
)
def test_types_of_parquet(column: Any, texts: list[str], tmp_path: Path) -> None:
    pl.DataFrame({"x": column}).write_parquet(tmp_path / "t.pq")
    found = read_columns(tmp_path / "t.pq")
    coded = found.columns["x"]
    assert [coded.texts[i] for i in coded.text_of_row] == texts
    assert found.rows == len(texts)
    assert found.place(0) == "row 1"


def test_null_is_the_first_missing_token(tmp_path: Path) -> None:
    pl.DataFrame({"x": ["a", None]}).write_parquet(tmp_path / "t.parquet")
    schema = made_schema({"x": {"role": QI}}, missing=["n/a"])
    with pytest.raises(TableError, match=r't\.parquet, row 2, x: a missing value; set missing = "category"'):
        read_table(tmp_path / "t.parquet", schema)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([[1], [2]], "x: a column of type List(Int64) cannot be read; save it as text, number or date"),
        ([{"a": 1}], "a column of type Struct"),
        ([b"x"], "a column of type Binary"),
        ([timedelta(1)], "a column of type Duration"),
        ([time(1)], "a column of type Time"),
        ([datetime(2024, 2, 29, 5)], "x: holds times of day; keep dates only, or make it text"),
        ([], "holds no rows"),
    ],
)
def test_columns_that_cannot_be_read(column: Any, message: str, tmp_path: Path) -> None:
    pl.DataFrame({"x": column}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError) as error:
        read_columns(tmp_path / "t.parquet")
    assert message in str(error.value)


def test_files_that_are_no_parquet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.parquet"
    with pytest.raises(TableError, match="does not exist; name a Parquet file"):
        read_columns(path)
    (tmp_path / "d.parquet").mkdir()
    with pytest.raises(ReleaseError, match="holds no files; name a folder with the parts of a table"):
        read_columns(tmp_path / "d.parquet", error=ReleaseError)
    pl.DataFrame({"x": list(range(1000))}).write_parquet(path)
    whole = path.read_bytes()
    for content in (b"", b"x,y\n1,2\n", whole[: len(whole) // 2], whole[:-1]):
        path.write_bytes(content)
        with pytest.raises(TableError, match=r"t\.parquet: cannot be read as Parquet") as error:
            read_columns(path)
        assert "\n" not in str(error.value)
    for place in range(4, len(whole) - 8, 97):  # a byte that changed: an error of ours, or other values
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with contextlib.suppress(TableError):
            read_columns(path)
    capfd.readouterr()  # the engine's own panic messages


def test_csv_says_where_and_how(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('x;y\n0,5;"two\nlines"\n1,5;b\nabc;c\n')
    found = read_columns(path)
    assert found.decimal == ","
    assert found.place(2) == "line 5"
    assert "decimal comma" in found.described
    schema = made_schema({"x": {"role": QI, "kind": "numeric", "domain": [0.5, 1.5]}, "y": {"role": QI}})
    with pytest.raises(TableError, match=r"t\.csv, line 5, x: 'abc' is not a number of the declared domain"):
        read_table(path, schema)


def test_identifiers_are_counted_and_dropped(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("name,x\nAda,1\nBob,2\nAda,3\n")
    table = read_table(path, made_schema({"name": {"role": IDENTIFIER}, "x": {"role": QI}}))
    assert [a.name for a in table.attributes] == ["x"]
    assert table.repeated == {"name": 2}


def test_an_identifier_may_keep_what_prepares_it(tmp_path: Path) -> None:
    """A drafted quasi-identifier that a steward calls an identifier instead: its prepare table stays, and counts."""
    prepare = {"trim": True, "recode": {"gkv": "GKV"}}
    schema = made_schema({"id": {"role": IDENTIFIER, "shared": True, "prepare": prepare}, "age": {"role": QI}})
    (tmp_path / "t.csv").write_text("id,age\nGKV ,1\ngkv,2\n")
    table = read_table(tmp_path / "t.csv", schema)
    assert [a.name for a in table.attributes] == ["age"]


def test_a_cell_of_a_million_members_is_refused_with_its_place(tmp_path: Path) -> None:
    cell = "{" + ",".join(map(str, range(1_000_000))) + "}"
    frame = pl.DataFrame({"age": ["1", cell], "job": ["cook", "nurse"]})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    said = "age': a cell of 6,888,891 characters, over 1,000,000; shorten it"
    for source, place in ((tmp_path / "t.csv", "line 3"), (tmp_path / "t.parquet", "row 2"), (frame, "row 2")):
        with pytest.raises(ReleaseError, match=said) as error:
            read_columns(source, error=ReleaseError)
        assert place in str(error.value)
        assert len(str(error.value)) < 300

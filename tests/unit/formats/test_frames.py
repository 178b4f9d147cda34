"""Tables of pandas, polars and pyarrow where a path may stand, and results as such tables."""

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import unveil
from small import INSENSITIVE, QI, SENSITIVE, made_release, made_schema, masked_release
from unveil.errors import TableError, UnveilError
from unveil.formats.columns import Columns
from unveil.formats.tables import read_columns, read_table

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "missing": "category"},
        "born": {"role": INSENSITIVE, "kind": "date", "missing": "category"},
        "ill": {"role": QI, "missing": "category"},
        "job": {"role": SENSITIVE, "missing": "category"},
    },
    missing=["?", ""],
)
ROWS = [
    ("17", "2000-02-29", "true", "cook"),
    ("17.5", "?", "false", "?"),
    ("?", "1999-12-31", "?", "nurse"),
    ("17", "2000-02-29", "true", "cook"),
]
POLARS = pl.DataFrame(
    {
        "age": [17.0, 17.5, None, 17.0],
        "born": [date(2000, 2, 29), None, date(1999, 12, 31), date(2000, 2, 29)],
        "ill": [True, False, None, True],
        "job": ["cook", None, "nurse", "cook"],
    }
)
PANDAS = pd.DataFrame(
    {
        "age": [17.0, 17.5, np.nan, 17.0],
        "born": pd.to_datetime(["2000-02-29", None, "1999-12-31", "2000-02-29"]),
        "ill": pd.array([True, False, None, True], dtype="boolean"),
        "job": pd.Categorical(["cook", None, "nurse", "cook"], categories=["nurse", "cook", "unused"]),
    },
    index=["r", "s", "t", "u"],
)
FRAMES = {
    "polars": POLARS,
    "lazy": POLARS.lazy(),
    "pandas": PANDAS,
    "pyarrow": POLARS.to_arrow(),
    "batch": POLARS.to_arrow().to_batches()[0],
}


def cells(found: Columns, name: str) -> list[str]:
    """The texts of a column, row by row."""
    column = found.columns[name]
    return [column.texts[i] for i in column.text_of_row]


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_the_table(kind: str) -> None:
    table = unveil.read_table(FRAMES[kind], SCHEMA)
    columns = [[a.values[c] for c in column] for a, column in zip(table.attributes, table.columns, strict=True)]
    assert list(zip(*columns, strict=True)) == ROWS
    assert table.name == "frame"


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (pd.array([1, None, 3], dtype="Int64"), ["1", "", "3"]),
        (pd.Series([1, 2, 3], dtype="int8"), ["1", "2", "3"]),
        (pd.Series([0.1, None, 2], dtype="float32"), ["0.1", "", "2"]),
        (pd.array(["a", None, ""], dtype="string"), ["a", "", ""]),
        (pd.Series(["a", None, np.nan], dtype=object), ["a", "", ""]),
        (pd.Categorical([2, 1, None]), ["2", "1", ""]),
        (pd.to_datetime(["2024-01-31", None, "1677-09-22"]), ["2024-01-31", "", "1677-09-22"]),
        (pd.Series([date(2024, 1, 31), None, None], dtype=object), ["2024-01-31", "", ""]),
        (pd.Series([True, False, True]), ["true", "false", "true"]),
        # texts among the numbers, as scripts leave them that suppress or widen some cells
        ([20, "*", None], ["20", "*", ""]),
        ([20.0, "20-29", np.float32(0.1)], ["20", "20-29", "0.1"]),
        ([True, "*", np.bool_(False)], ["true", "*", "false"]),
        ([pd.Timestamp("2024-01-31"), "*", date(2024, 2, 1)], ["2024-01-31", "*", "2024-02-01"]),
        (pd.Categorical([20, "*", None]), ["20", "*", ""]),
    ],
)
def test_columns_of_pandas(column: Any, texts: list[str]) -> None:
    assert cells(read_columns(pd.DataFrame({"x": column})), "x") == texts


def test_nan_is_missing_in_every_frame() -> None:
    values = {"x": [1.0, float("nan"), None]}
    for frame in (pl.DataFrame(values), pa.table(values), pd.DataFrame(values)):
        assert cells(read_columns(frame, missing="?"), "x") == ["1", "?", "?"]


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "frame: two columns are named 'x'"),
        (pd.DataFrame({0: [1]}), "frame: column 1 is named 0, which is not a text"),
        (pd.DataFrame({("a", "b"): [1]}), r"frame: column 1 is named \('a', 'b'\), which is not a text"),
        (pd.DataFrame({" ": [1]}), "frame: column 1 has no name"),
        (pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]), "frame: two columns are named 'x'"),
        (pd.DataFrame({"x": []}), "frame: holds no rows"),
        (pl.DataFrame(), "frame: holds no rows"),
        (pl.DataFrame({"x": [[1]]}), r"frame, x: a column of type List\(Int64\) cannot be read"),
        (pd.DataFrame({"x": [timedelta(1)]}), "frame, x: a column of type Duration"),
        (pd.DataFrame({"x": [1j, 2]}), "frame: cannot be read as a table .*; make its columns texts, numbers or"),
        (pd.DataFrame({"x": [b"x", "a"]}), "frame, x: a column of type Binary cannot be read"),
        (pd.DataFrame({"x": [{1: 2}]}), "frame: cannot be read as a table"),
        ({"x": [1]}, "frame: a dict is not a table; give a path, or a pandas, polars or pyarrow table"),
        (None, "frame: a NoneType is not a table"),
        (pd.DataFrame({"x": [datetime(2024, 1, 31, 1)]}), "frame, x: holds times of day"),
    ],
)
def test_what_is_no_table(frame: Any, what: str) -> None:
    with pytest.raises(TableError, match=what):
        read_columns(frame)


# --- and back ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_a_table_comes_back(kind: str) -> None:
    table = read_table(POLARS, SCHEMA)
    frame = unveil.to_frame(table, kind)
    assert type(frame).__module__.split(".")[0] == kind
    again = read_table(frame, SCHEMA)
    assert again.attributes == table.attributes
    assert all((a == b).all() for a, b in zip(again.columns, table.columns, strict=True))


def test_a_frame_is_typed_where_every_cell_is_one_value() -> None:
    frame = unveil.to_frame(read_table(POLARS, SCHEMA))
    assert frame.schema == {"age": pl.Float64, "born": pl.Date, "ill": pl.String, "job": pl.String}
    assert frame["age"].to_list() == [17.0, 17.5, None, 17.0]
    whole = unveil.to_frame(read_table(POLARS.with_columns(age=pl.Series([1, 2, 3, None])), SCHEMA))
    assert whole["age"].dtype == pl.Int64


WIDE = [(0, ["20", "21"], "a"), (0, ["20", "21"], "b"), (1, ["30"], "a"), (1, ["30"], "a")]
CUT = [((0,), [row[:2] for row in WIDE]), ((1,), [(row[0], row[2]) for row in WIDE])]


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize(("blocks", "grouped"), [([((0, 1), WIDE)], False), (CUT, True)])
def test_a_release_comes_back(kind: str, blocks: Any, grouped: bool) -> None:
    """With hidden links the sidecar must be handed over too: the rows alone would say that they belong together."""
    schema = made_schema({"age": {"role": QI, "kind": "numeric"}, "job": {"role": SENSITIVE}})
    table = read_table(pl.DataFrame({"age": [20, 21, 30, 30], "job": ["a", "b", "a", "a"]}), schema)
    release = made_release(table.attributes, blocks)
    published, sidecar = unveil.to_frame(release, kind), unveil.sidecar_of(release)
    assert unveil.read_release(published, schema, attributes=table.attributes, sidecar=sidecar) == release
    assert (sidecar.group is not None) == grouped
    if grouped:
        assert sidecar.blocks == (("age",), ("job",))
        assert unveil.to_frame(release)["group"].to_list() == [1, 1, 2, 2]


def test_a_masked_release_comes_back() -> None:
    schema = made_schema({"age": {"role": QI, "kind": "numeric"}, "job": {"role": SENSITIVE}})
    table = read_table(pl.DataFrame({"age": [20, 21, 30], "job": ["a", "b", "c"]}), schema)
    masked = masked_release(table.attributes, (np.array([20.5, 22.0, 29.0]), np.array([0, 1, 2])), (0,), {}, "noise")
    sidecar = unveil.sidecar_of(masked)
    again = unveil.read_release(unveil.to_frame(masked, "pandas"), schema, attributes=table.attributes, sidecar=sidecar)
    assert again == masked
    assert (tuple(again.perturbed), again.method) == ((0,), "noise")
    assert not unveil.read_release(unveil.to_frame(masked), schema).perturbed  # nothing says so


def test_a_frame_has_no_sidecar_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "frame.toml").write_text('masked = ["age"]\n')
    schema = made_schema({"age": {"role": QI, "kind": "numeric"}})
    assert unveil.read_release(pl.DataFrame({"age": [1, 2]}), schema).rows == 2


def test_kinds_of_frames_that_are_none() -> None:
    with pytest.raises(UnveilError, match="'csv' is not a kind of frame; choose polars, pandas or pyarrow"):
        unveil.to_frame(read_table(POLARS, SCHEMA), "csv")
    with pytest.raises(UnveilError, match="a DataFrame is neither a table nor a release"):
        unveil.to_frame(POLARS)


def test_what_pandas_tools_make_is_what_their_csv_shows(tmp_path: Path) -> None:
    """pd.cut's intervals, periods, lists and sets in cells, as scripts and anonypy leave them in a frame."""
    ages = pd.Series([17, 25, 44, None])
    frame = pd.DataFrame(
        {
            "age": pd.cut(ages, [16, 30, 50]),
            "left": pd.arrays.IntervalArray.from_tuples([(1, 2), (2, 3), (3, 4), None], closed="left"),
            "month": pd.PeriodIndex(["2024-01", "2024-02", "2024-02", None], freq="M"),
            "job": [["a,b"], ["a"], ["b"], None],
            "pair": [("a", "b"), {"a"}, "c", float("nan")],
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    found, written = read_columns(frame), read_columns(tmp_path / "t.csv")
    for name in frame.columns:
        texts = [[c.columns[name].texts[i] for i in c.columns[name].text_of_row] for c in (found, written)]
        assert texts[0] == texts[1]
    assert list(found.columns["age"].texts) == ["", "(16, 30]", "(30, 50]"]
    assert "['a,b']" in found.columns["job"].texts
    with pytest.raises(TableError, match="cannot be read; save it as text"):
        read_columns(pl.DataFrame({"x": [[1], [2]]}))

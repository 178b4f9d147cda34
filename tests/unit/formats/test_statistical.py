"""SPSS, Stata and SAS files: cells show labels, and the file read and written back is the same file.

What a file holds is looked at with pyreadstat itself, and files that unveil reads are written with it or with pandas.
"""

import math
import re
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyreadstat
import pytest

from small import QI, SENSITIVE, made_schema
from unveil.data.dictionary import Variable, made_distinct
from unveil.errors import OutputError, TableError, UnveilError
from unveil.formats.columns import Columns
from unveil.formats.output.tables import write_columns
from unveil.formats.releases import read_release, write_release
from unveil.formats.statistical import _calendar
from unveil.formats.tables import read_columns, read_table

SPSS_FRAME = pl.DataFrame(
    {
        "sex": [1.0, 2.0, None, -9.0, 3.5, 1.0],
        "income": [1200.0, -8.0, 99.0, -9.0, 0.1 + 0.2, 1e15],
        "city": ["R", "", "ZZ", "x" * 300, "é€", "R"],
        "born": [13797216000.0, None, 0.0, 86400.0, 13797216000.0, 1e300],
        "seen": [13797216000.0, 13797216000.5, None, 0.0, 1.0, 1.0],
    }
)
SPSS_OPTIONS: dict[str, Any] = {
    "variable_value_labels": {
        "sex": {1.0: "male", 2.0: "female", -9.0: "refused"},
        "income": {-9.0: "refused", -8.0: "don't know"},
        "city": {"R": "Rome", "ZZ": "none of these"},
    },
    "missing_ranges": {
        "sex": [{"lo": -9, "hi": -7}, 99.0],
        "income": [{"lo": float("-inf"), "hi": -1}, 99.0],
        "city": ["ZZ"],
    },
    "column_labels": {"sex": "Sex of the person", "city": "Città"},
    "variable_measure": {"sex": "nominal", "income": "scale"},
    "variable_format": {"born": "DATE11", "seen": "DATETIME22.1", "sex": "F3.0"},
    "note": ["a note"],
    "file_label": "a survey",
}


def cells(found: Columns, name: str) -> list[str]:
    """The texts of a column, row by row."""
    column = found.columns[name]
    return [column.texts[i] for i in column.text_of_row]


def in_file(path: Path, reader: Any) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """What the file holds, as pyreadstat tells it."""
    options = {} if reader is pyreadstat.read_xport else {"user_missing": True}
    values, meta = reader(path, output_format="dict", disable_datetime_conversion=True, **options)
    said = (
        "variable_value_labels",
        "missing_ranges",
        "missing_user_values",
        "column_names_to_labels",
        "original_variable_types",
        "variable_measure",
        "notes",
        "file_label",
    )
    return dict(values), {key: getattr(meta, key) for key in said}


@pytest.mark.parametrize("ending", [".sav", ".zsav"])
def test_spss_shows_labels_and_comes_back(ending: str, tmp_path: Path) -> None:
    path, again = tmp_path / f"t{ending}", tmp_path / f"again{ending}"
    pyreadstat.write_sav(SPSS_FRAME, path, compress=ending == ".zsav", **SPSS_OPTIONS)
    found = read_columns(path)
    assert cells(found, "sex") == ["male", "female", "", "refused", "3.5", "male"]
    assert cells(found, "income") == [
        "1200",
        "don't know",
        "99 (missing)",
        "refused",
        "0.30000000000000004",
        "1000000000000000",
    ]
    assert cells(found, "city") == ["Rome", "", "none of these", "x" * 300, "é€", "Rome"]
    assert cells(found, "born") == ["2020-01-01", "", "1582-10-14", "1582-10-15", "2020-01-01", "1e+300"]
    assert cells(found, "seen")[:4] == [
        "2020-01-01 00:00:00",
        "2020-01-01 00:00:00.500000",
        "",
        "1582-10-14 00:00:00",
    ]
    assert found.missing == ("99 (missing)", "don't know", "none of these", "refused")
    assert found.described == "SPSS"
    write_columns(found, again)
    assert in_file(again, pyreadstat.read_sav) == in_file(path, pyreadstat.read_sav)
    assert in_file(again, pyreadstat.read_sav)[0] == SPSS_FRAME.to_dict(as_series=False)


def test_stata_shows_labels_and_comes_back(tmp_path: Path) -> None:
    path, again = tmp_path / "t.dta", tmp_path / "again.dta"
    frame = pl.DataFrame(
        {
            "job": pl.Series([1.0, "a", None, "b", 2.0, 7.0], dtype=pl.Object),
            "day": [21915.0, None, 0.0, -1.0, 0.5, 21915.0],
            "at": [1893456000000.0, 1893456000001.0, None, 0.0, 0.0, 0.0],
            "note": ["a ", "", "a", "x" * 3000, "é", "a"],
        }
    )
    pyreadstat.write_dta(
        frame,
        path,
        variable_value_labels={"job": {1: "cook", 2: "nurse", "a": "refused"}},
        missing_user_values={"job": ["a", "b"]},
        variable_format={"day": "%td", "at": "%tc"},
        column_labels={"job": "Occupation"},
    )
    found = read_columns(path)
    assert cells(found, "job") == ["cook", "refused", "", ".b", "nurse", "7"]
    assert cells(found, "day") == ["2020-01-01", "", "1960-01-01", "1959-12-31", "1960-01-01 12:00:00", "2020-01-01"]
    assert cells(found, "at")[:3] == ["2020-01-01 00:00:00", "2020-01-01 00:00:00.001000", ""]
    assert cells(found, "note") == ["a ", "", "a", "x" * 3000, "é", "a"]
    assert found.missing == (".b", "refused")
    write_columns(found, again)
    assert in_file(again, pyreadstat.read_dta) == in_file(path, pyreadstat.read_dta)


def test_numbers_of_four_bytes_show_their_own_digits(tmp_path: Path) -> None:
    path, again = tmp_path / "t.dta", tmp_path / "again.dta"
    frame = pd.DataFrame(
        {"x": pd.Series([0.1, 2.5, 16777216.0], dtype="float32"), "i": pd.Series([1, 2, 3], dtype="int8")}
    )
    frame.to_stata(path, write_index=False, version=117)
    found = read_columns(path)
    assert cells(found, "x") == ["0.1", "2.5", "16777216"]
    assert cells(found, "i") == ["1", "2", "3"]
    write_columns(found, again)
    assert in_file(again, pyreadstat.read_dta)[0] == in_file(path, pyreadstat.read_dta)[0]
    assert in_file(again, pyreadstat.read_dta)[0]["x"][0] != 0.1


def test_sas_transport_comes_back(tmp_path: Path) -> None:
    path, again = tmp_path / "t.xpt", tmp_path / "again.xpt"
    frame = pl.DataFrame(
        {"x": [1.0, None, 0.1], "day": [21915.0, None, -1.0], "at": [1893456000.0, 0.0, 60.0], "s": ["a", "", "é"]}
    )
    formats = {"day": "DATE9.", "at": "DATETIME20."}
    pyreadstat.write_xport(frame, path, variable_format=formats, column_labels={"x": "An x"})
    found = read_columns(path)
    assert cells(found, "x") == ["1", "", "0.1"]
    assert cells(found, "day") == ["2020-01-01", "", "1959-12-31"]
    assert cells(found, "at") == ["2020-01-01 00:00:00", "1960-01-01 00:00:00", "1960-01-01 00:01:00"]
    write_columns(found, again)
    assert in_file(again, pyreadstat.read_xport) == in_file(path, pyreadstat.read_xport)


@pytest.mark.parametrize(
    ("written", "family", "kind"),
    [
        ("DATE9", "SAS", "day"),
        ("MMDDYY10", "SAS", "day"),
        ("DATETIME", "SAS", "moment"),
        ("TIME8", "SAS", "number"),
        ("BEST12", "SAS", "number"),
        ("%tdD_m_Y", "Stata", "day"),
        ("%-td", "Stata", "day"),
        ("%tc", "Stata", "moment"),
        ("%tm", "Stata", "number"),
        ("%9.0g", "Stata", "number"),
        ("SDATE10", "SPSS", "moment"),
        ("TIME8", "SPSS", "number"),
        ("F8.2", "SPSS", "number"),
    ],
)
def test_formats_that_are_dates(written: str, family: str, kind: str) -> None:
    assert _calendar(written, family)[0] == kind


# --- labels that could be taken for something else --------------------------------------------------------------------

TWO = Variable("other", labels={9.0: "unknown"}, missing=((9.0, 9.0),))


@pytest.mark.parametrize(
    ("variable", "shows"),
    [
        (Variable("v", labels={1.0: "a", 2.0: "a", 3.0: "b"}), {1.0: "a (1)", 2.0: "a (2)", 3.0: "b"}),
        (Variable("v", labels={1.0: "2", 2.0: "two"}), {1.0: "2 (1)", 2.0: "two"}),
        (Variable("v", labels={1.0: "1", 2.0: "two"}), {2.0: "two"}),
        (Variable("v", labels={9.0: "9"}, missing=((9.0, 9.0),)), {9.0: "9 (9)"}),
        (Variable("v", labels={1.0: "*", 2.0: " ", 3.0: "nan"}), {1.0: "* (1)", 3.0: "nan (3)"}),
        (Variable("v", labels={1.0: "unknown"}), {1.0: "unknown (1)"}),  # the missing token of another column
        (Variable("v", labels={1.0: "8 (missing)"}), {1.0: "8 (missing) (1)"}),
        (Variable("v", labels={"a": ".b", "b": "x"}, tagged=True), {"a": ".b (.a)", "b": "x"}),
        (Variable("v", kind="day", labels={1.0: "2020-01-01"}), {1.0: "2020-01-01 (1960-01-02)"}),
        (Variable("v", labels={1.0: " padded "}), {1.0: "padded"}),
    ],
)
def test_labels_are_told_apart(variable: Variable, shows: dict[Any, str]) -> None:
    found, fault = made_distinct([variable, TWO])
    assert fault is None
    assert found["v"].shows == shows
    for code in variable.labels:
        assert found["v"].value(found["v"].text(code)) == code


@pytest.mark.parametrize("value", [0.1, -0.25, 1e300, 5e-324, 123456789012345680.0, 3.0, math.pi])
@pytest.mark.parametrize("kind", ["number", "day", "moment"])
def test_what_a_cell_shows_can_be_turned_back(kind: str, value: float) -> None:
    for unit in (1.0, 86400.0, 0.001):
        variable = Variable("v", kind=kind, unit=unit)
        assert variable.value(variable.text(value)) == value
    assert Variable("v").value("017") is None
    assert Variable("v").values(["1", "x"]) is None


def test_labels_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    labels = {"x": {1.0: "a", 2.0: "a", 3.0: "a (1)"}}
    pyreadstat.write_sav(pl.DataFrame({"x": [1.0, 2.0]}), path, variable_value_labels=labels)
    with pytest.raises(TableError, match=r"t\.sav, x: two codes have the label 'a \(1\)'"):
        read_columns(path)
    pyreadstat.write_sav(pl.DataFrame({"x": ["m", "f"]}), path, variable_value_labels={"x": {"m": "f"}})
    with pytest.raises(TableError, match=r"t\.sav, x: 'f' is a value, and the label of another"):
        read_columns(path)


# --- releases ---------------------------------------------------------------------------------------------------------

SCHEMA = made_schema(
    {
        "sex": {"role": QI, "missing": "category"},
        "income": {"role": SENSITIVE, "kind": "numeric", "missing": "category"},
    },
    missing=["", "don't know", "refused", "99 (missing)"],
)


def _survey(folder: Path, income: list[float | None]) -> Path:
    frame = SPSS_FRAME.select("sex").with_columns(income=pl.Series(income, dtype=pl.Float64))
    options = {key: value for key, value in SPSS_OPTIONS.items() if isinstance(value, dict)}
    options = {key: {n: v for n, v in value.items() if n in frame.columns} for key, value in options.items()}
    pyreadstat.write_sav(frame, folder / "survey.sav", **options)
    return folder / "survey.sav"


def test_a_release_keeps_codes_labels_and_one_kind_of_missing(tmp_path: Path) -> None:
    table = read_table(_survey(tmp_path, [1200.0, -8.0, -8.0, 1300.0, 1.5, -8.0]), SCHEMA)
    write_release(table.as_release(), tmp_path / "r.sav", like=table)
    values, said = in_file(tmp_path / "r.sav", pyreadstat.read_sav)
    assert sorted(values["income"]) == [-8.0, -8.0, -8.0, 1.5, 1200.0, 1300.0]  # all missing ones were "don't know"
    assert sorted(values["sex"], key=str) == sorted([1.0, 2.0, None, None, 3.5, 1.0], key=str)  # of two kinds
    assert (
        said["variable_value_labels"]
        == in_file(tmp_path / "survey.sav", pyreadstat.read_sav)[1]["variable_value_labels"]
    )
    assert said["column_names_to_labels"]["sex"] == "Sex of the person"
    assert read_release(tmp_path / "r.sav", SCHEMA, attributes=table.attributes) == table.as_release()
    table = read_table(_survey(tmp_path, [-8.0, -9.0, None, -8.0, 1.5, 2.5]), SCHEMA)
    write_release(table.as_release(), tmp_path / "s.sav", like=table)
    values, _ = in_file(tmp_path / "s.sav", pyreadstat.read_sav)
    assert sorted(values["income"], key=str) == [1.5, 2.5, None, None, None, None]  # which kind is not published


@pytest.mark.parametrize("ending", [".dta", ".xpt", ".zsav", ".parquet", ".arrow", ".feather", ".xlsx", ".csv"])
def test_a_release_is_the_same_in_every_kind_of_file(ending: str, tmp_path: Path) -> None:
    table = read_table(_survey(tmp_path, [1200.0, -8.0, None, -9.0, 1.5, 1300.0]), SCHEMA)
    path = tmp_path / f"r{ending}"
    assert write_release(table.as_release(), path, like=table)[-1] == path
    assert read_release(path, SCHEMA, attributes=table.attributes) == table.as_release()
    assert {p.name for p in tmp_path.iterdir()} == {"survey.sav", "r.toml", path.name}
    if ending == ".dta":  # another family: codes and labels of what is not missing
        values, said = in_file(path, pyreadstat.read_dta)
        assert sorted(values["sex"], key=str) == sorted([1, 2, None, None, 3.5, 1], key=str)
        assert said["variable_value_labels"] == {"sex": {1: "male", 2: "female"}}


@pytest.mark.parametrize(
    ("name", "column", "what"),
    [
        ("r.dta", {"marital-status": ["a"]}, "'marital-status' cannot have this name in Stata"),
        ("r.dta", {"x" * 33: ["a"]}, "cannot have this name in Stata"),
        ("r.dta", {"if": ["a"]}, "'if' cannot have this name in Stata"),
        ("r.xpt", {"1st": ["a"]}, "'1st' cannot have this name in SAS"),
        ("r.xpt", {"Age": ["a"], "age": ["b"]}, "'Age' and 'age' are one name in SAS"),
        ("r.sav", {"known:age": ["a"]}, "'known:age' cannot have this name in SPSS"),
        ("r.sav", {"with": ["a"]}, "'with' cannot have this name in SPSS"),
        ("r.sav", {"x": ["a "]}, "x holds texts that end in a blank"),
        ("r.sav", {"x": ["y" * 32768]}, "x holds a text of 32,768 bytes, over the 32,767 of SPSS"),
        ("r.xlsx", {"x": ["y" * 32768]}, "a text of 32,768 characters"),
        ("r.xlsx", {"x": ["", "?"]}, "an empty text cannot be told from a missing one"),
        ("r.ods", {"x": ["a"]}, r"name it r\.xlsx"),
    ],
)
def test_what_a_format_cannot_hold_is_said(name: str, column: dict[str, list[str]], what: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("unused")
    found = read_columns(pl.DataFrame(column))
    with pytest.raises(OutputError, match=what):
        write_columns(found, tmp_path / name, missing="?")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_dates_of_a_csv_become_dates(tmp_path: Path) -> None:
    schema = made_schema({"born": {"role": QI, "kind": "date"}, "n": {"role": QI, "kind": "numeric"}})
    table = read_table(pl.DataFrame({"born": [date(2020, 1, 1), date(1950, 5, 5)], "n": [1, 2]}), schema)
    for ending, reader in (
        (".sav", pyreadstat.read_sav),
        (".dta", pyreadstat.read_dta),
        (".xpt", pyreadstat.read_xport),
    ):
        path = tmp_path / f"r{ending}"
        write_release(table.as_release(), path)
        values, _ = reader(path, output_format="dict")
        assert sorted(values["born"]) == [date(1950, 5, 5), date(2020, 1, 1)]
        assert read_release(path, schema, attributes=table.attributes) == table.as_release()


# --- damaged files ----------------------------------------------------------------------------------------------------


def test_an_encoding_that_is_not_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(pl.DataFrame({"x": ["éa", "b"]}), path)
    path.write_bytes(path.read_bytes().replace("éa".encode(), b"\xe9a "))
    with pytest.raises(TableError, match=r"another encoding than it says; name it, e\.g\. --encoding cp1252"):
        read_columns(path)
    assert cells(read_columns(path, encoding="cp1252"), "x") == ["éa", "b"]
    with pytest.raises(TableError, match="cannot be read in the encoding 'nonsense'"):
        read_columns(path, encoding="nonsense")


def test_dictionaries_that_end_the_process(tmp_path: Path) -> None:
    """Each of these made the library behind pyreadstat end the process."""
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(SPSS_FRAME.select("sex"), path, variable_value_labels={"sex": {1.0: "male"}})
    whole = path.read_bytes()
    labelled = whole.index(b"\4\0\0\0\1\0\0\0\1\0\0\0") + 8
    for at, byte in ((labelled, 255), (181, 127), (194, 1)):
        path.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
        with suppress(TableError):  # in one line that names the file, whether or not the library crashes on it
            assert read_columns(path).rows == len(SPSS_FRAME)
    for cut in (0, 3, 100, 200, labelled):
        path.write_bytes(whole[:cut])
        with pytest.raises(TableError, match=re.escape(str(path))):
            read_columns(path)


def test_files_that_are_none(tmp_path: Path) -> None:
    for ending in (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"):
        path = tmp_path / f"t{ending}"
        with pytest.raises(TableError, match="does not exist"):
            read_columns(path)
        for content in (b"", b"x,y\n1,2\n", b"\0" * 400, b"$FL2" + b"\0" * 400):
            path.write_bytes(content)
            with pytest.raises(UnveilError) as error:
                read_columns(path)
            assert "\n" not in str(error.value)
        path.unlink()
        path.mkdir()
        with pytest.raises(TableError, match="is a directory"):
            read_columns(path)
    for ending, write in (
        (".sav", pyreadstat.write_sav),
        (".dta", pyreadstat.write_dta),
        (".xpt", pyreadstat.write_xport),
    ):
        write(pl.DataFrame({"x": pl.Series([], dtype=pl.Float64)}), tmp_path / f"none{ending}")
        with pytest.raises(TableError, match="holds no rows"):
            read_columns(tmp_path / f"none{ending}")


def test_a_file_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"x": [float(i % 300) for i in range(2500)], "s": [f"v{i % 7}" for i in range(2500)]})
    for ending, write in (
        (".sav", pyreadstat.write_sav),
        (".dta", pyreadstat.write_dta),
        (".xpt", pyreadstat.write_xport),
    ):
        path = tmp_path / f"t{ending}"
        write(frame, path)
        whole = read_columns(path)
        with monkeypatch.context() as patched:
            patched.setattr("unveil.formats.statistical.PIECE", 1)  # 1,000 rows at a time
            pieces = read_columns(path)
        for name in ("x", "s"):
            assert cells(pieces, name) == cells(whole, name) == [str(v).removesuffix(".0") for v in frame[name]]
            assert list(pieces.columns[name].texts) == sorted(set(cells(whole, name)))
        assert pieces.columns["x"].text_of_row.dtype == "uint16"


@pytest.mark.parametrize("version", [5, 8])
def test_special_missing_values_of_sas(version: int, tmp_path: Path) -> None:
    """Written into the file by hand, as SAS does: the letter, then zeros. 0x41 leads numbers from 1 to 16 as well."""
    path, again = tmp_path / "t.xpt", tmp_path / "again.xpt"
    frame = pl.DataFrame({"s": ["A", "", "B"], "x": [1.0, None, None], "y": [None, 5.0, None]})
    pyreadstat.write_xport(frame, path, file_format_version=version)
    content = bytearray(path.read_bytes())
    rows = content.index(b"HEADER RECORD*******OBS") + 80
    assert bytes(content[rows : rows + 9]) == b"A" + bytes.fromhex("4110000000000000")
    content[rows + 17 + 1] = ord("A")  # row 2, x
    content[rows + 2 * 17 + 1 + 8] = ord("_")  # row 3, y
    path.write_bytes(content)
    found = read_columns(path)
    assert (cells(found, "x"), cells(found, "y")) == (["1", ".A", ""], ["", "5", "._"])
    assert found.missing == (".A", "._")
    write_columns(found, again)
    read = read_columns(again)
    assert [cells(read, name) for name in "sxy"] == [cells(found, name) for name in "sxy"]
    assert read.dictionary == found.dictionary

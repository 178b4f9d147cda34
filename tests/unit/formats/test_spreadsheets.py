"""Spreadsheets and Arrow files: what is read from them, and what is refused before it does harm."""

import io
import zipfile
import zlib
from datetime import date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
import python_calamine
import xlsxwriter

from tests.sheets import ods_row, open_document, workbook
from unveil.data.attribute import Kind
from unveil.errors import ReleaseError, TableError, UnveilError
from unveil.formats import columns
from unveil.formats.columns import Columns
from unveil.formats.output import write_whole
from unveil.formats.output.tables import OutputColumn, table_content, write_columns
from unveil.formats.paths import sheet_file
from unveil.formats.sheets import parts as sheet_parts
from unveil.formats.sheets import read_sheet
from unveil.formats.tables import read_columns


def cells(found: Columns, name: str) -> list[str]:
    """The texts of a column, row by row."""
    column = found.columns[name]
    return [column.texts[i] for i in column.text_of_row]


def test_a_sheet_is_what_it_shows(tmp_path: Path) -> None:
    rows = [
        ["age", " zip ", "born", "seen", "ill", "mixed", None],
        [17, "007", date(2024, 1, 31), datetime(2024, 1, 31, 10, 30), True, "a", None],
        [17.5, "=1+1", None, datetime(2024, 2, 1), False, 3, None],
        [None, " y ", date(1990, 12, 31), None, None, 2.5, None],
        [0.1, "x", date(1990, 12, 31), None, None, date(2000, 1, 1), None],
    ]
    found = read_columns(workbook(tmp_path / "t.xlsx", people=rows, empty=[]))
    assert list(found.columns) == ["age", "zip", "born", "seen", "ill", "mixed"]
    assert found.rows == 4
    assert cells(found, "age") == ["17", "17.5", "", "0.1"]
    assert cells(found, "zip") == ["007", "0", " y ", "x"]  # xlsxwriter's own write() made a formula of =1+1
    assert cells(found, "born") == ["2024-01-31", "", "1990-12-31", "1990-12-31"]
    assert cells(found, "seen") == ["2024-01-31 10:30:00", "2024-02-01 00:00:00", "", ""]
    assert cells(found, "ill") == ["true", "false", "", ""]
    assert cells(found, "mixed") == ["a", "3", "2.5", "2000-01-01"]


def test_a_type_is_not_guessed_from_the_first_rows(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["x"], *([i] for i in range(1500)), ["late"]]
    assert cells(read_columns(workbook(tmp_path / "t.xlsx", one=rows)), "x")[-2:] == ["1499", "late"]


def test_names_that_polars_takes_for_patterns(tmp_path: Path) -> None:
    names = ["*", "^.*$", "a", "0"]
    found = read_columns(workbook(tmp_path / "t.xlsx", one=[names, [1, 2, 3, 4], [1, 5, 6, 7]]))
    assert {name: cells(found, name)[1] for name in found.columns} == dict(zip(names, "1567", strict=True))
    (tmp_path / "t.csv").write_text("*,^.*$,a,0\n1,2,3,4\n1,5,6,7\n")
    again = read_columns(tmp_path / "t.csv")
    assert {name: cells(again, name)[1] for name in again.columns} == dict(zip(names, "1567", strict=True))


def test_a_sheet_is_chosen_by_its_name(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", one=[["x"], [1]], none=[], two_of_them=[["x"], [2]])
    with pytest.raises(
        TableError, match=r"several sheets hold data; name one, t\.xlsx#SHEET, of 'one', 'two of them'$"
    ):
        read_columns(path)
    assert cells(read_columns(f"{path}#two of them"), "x") == ["2"]
    with pytest.raises(ReleaseError, match="no sheet 'three'; there are 'one', 'none', 'two of them'"):
        read_columns(f"{path}#three", error=ReleaseError)
    with pytest.raises(TableError, match="holds no rows"):
        read_columns(f"{path}#none")
    assert sheet_file(Path("a/b.XLSX#x.y")) == (Path("a/b.XLSX"), "x.y")
    assert sheet_file(Path("a#b.csv")) == (Path("a#b.csv"), None)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([["x", "x"], [1, 2]], "two columns are named 'x'"),
        ([["x", None, "y"], [1, 2, 3]], "column B has no name; name every column in row 1, the first row$"),
        ([["x", None], [1, 2]], "column B has no name.*; if 'x' is a title, remove the rows above the names$"),
        ([["Patients"], ["x", "y"], ["a", "b"]], "column B has no name.*; if 'Patients' is a title"),  # x, or a name?
        ([["Patients"], [], ["x", "x"], [1, 2]], "row 1 below the names is blank.*; if 'Patients' is a title"),
        ([["Patients", "2023"], [], ["x", "y", "z"], [1, 2, 3]], "row 1 below the names is blank"),
        ([[None, "x"], [0, 1]], r"column A has no name.*\(pandas leaves its index unnamed"),
        ([["x", "y"]], "holds no rows, only names"),
        ([["x", "y"], [1, 2], [], [3, 4]], "row 2 below the names is blank"),
        ([["x", "y"], [1, 2], [], *[[3]] * 21], "row 2 below the names is blank"),  # more than a few notes
        ([["w", "x", "y", "z"], [1, 2, 3, 4], [], [3, 4, 5]], "row 2 below the names is blank"),
    ],
)
def test_sheets_that_are_no_table(rows: list[list[Any]], what: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=what):
        read_columns(workbook(tmp_path / "t.xlsx", one=rows))


@pytest.mark.parametrize(
    ("above", "below", "said"),
    [
        ([["Patients"], []], [], ", names in row 3"),
        ([["Patients"], [None, "2023"], []], [], ", names in row 4"),
        ([["Patients", "2023"]], [[], ["total", 2], [], ["checked"]], ", names in row 2, 2 short rows below the table"),
        ([[], []], [[], ["total", 2]], ", 1 short row below the table left out"),
    ],
)
def test_titles_above_and_totals_below_a_table(
    above: list[list[Any]], below: list[list[Any]], said: str, tmp_path: Path
) -> None:
    rows = [["w", "x", "y", "z"], [1, "a", 2, "b"], [3, "c", None, "d"]]
    found = read_columns(workbook(tmp_path / "t.xlsx", one=[*above, *rows, *below]))
    assert said in found.described
    assert [cells(found, name) for name in found.columns] == [["1", "3"], ["a", "c"], ["2", ""], ["b", "d"]]


def test_open_document(tmp_path: Path) -> None:
    rows = ods_row("x", "y") + ods_row("1", "a") + ods_row("2", "b", row=' table:number-rows-repeated="2"')
    blank = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row>'
    found = read_columns(open_document(tmp_path / "t.ods", rows + blank))
    assert (cells(found, "x"), cells(found, "y")) == (["1", "2", "2"], ["a", "b", "b"])


# --- what would do harm -----------------------------------------------------------------------------------------------


def _spoilt(path: Path, part: str, content: bytes) -> None:
    """The workbook with one of its parts replaced."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, old in parts.items():
            archive.writestr(name, content if name == part else old)


SHEET = "xl/worksheets/sheet1.xml"


def _sheet(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(SHEET)


@pytest.mark.parametrize(
    ("far", "what"),
    [
        (b'<row r="1048576"><c r="XFD1048576"><v>1</v></c>', "its cells span 1,048,576 rows and 16,384 columns"),
        (b"<row r='1048576'><c r='XFD1048576'><v>1</v></c>", "its cells span 1,048,576 rows and 16,384 columns"),
        (b'<row r="3"><c\nr =\t"XFD1048576"><v>1</v></c>', "its cells span 1,048,576 rows and 16,384 columns"),
        (b'<row r="3"><c r="&#88;FD1048576"><v>1</v></c>', "written with character references"),
        (b'<row r="1048576">' + b"<c><v>1</v></c>" * 200, "its cells span 1,048,576 rows and 200 columns"),
        (b'<row r="1048576"><c><v>1</v></c>', "row 2 below the names is blank"),
        (b'<row r="3"><c r="XFD3"><v>1</v></c>', "column XFD has no name"),
        (b'<row r="3"><c r="XFE3"><v>1</v></c>', "its cells reach to row 3, column 16,385"),
        (b'<row r="9999999"><c r="A9999999"><v>1</v></c>', "its cells reach to row 9,999,999"),
        (b'<row r="1048576"><c r="A1048576"><v>1</v></c>', "row 2 below the names is blank"),
        (b'<row r="3"><c r="3"><v>1</v></c>', "it is damaged"),
        (b'<row r="3"><c r="A3" t="s"><v>9</v></c>', "it is damaged"),
        (b'<row r="x"><c r="A3"><v>9</v></c>', "it is damaged"),
    ],
)
def test_cells_that_cannot_be(far: bytes, what: str, tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", one=[["x"], [1]])
    _spoilt(path, SHEET, _sheet(path).replace(b"</sheetData>", far + b"</row></sheetData>"))
    with pytest.raises(TableError, match=what):
        read_columns(path)


def test_far_cells_cost_nothing(tmp_path: Path) -> None:
    """A row that repeats is not laid out where it holds nothing, and refused where it would hold too much."""
    path = tmp_path / "t.ods"
    blank = '<table:table-row table:number-rows-repeated="999999999999"><table:table-cell/></table:table-row>'
    wide = '<table:table-cell table:number-columns-repeated="999999999"/>'
    row = f'<table:table-row><table:table-cell office:value-type="string"><text:p>1</text:p></table:table-cell>{wide}'
    found = read_columns(open_document(path, ods_row("x") + f"{row}</table:table-row>" + blank))
    assert cells(found, "x") == ["1"]
    for rows, what in (
        (ods_row("x") + ods_row("1", more=' table:number-columns-repeated="999999999"'), "column 999,999,999"),
        (ods_row("x") + ods_row("1", row=' table:number-rows-repeated="999999999"'), "reach to row 1,000,000,000"),
        (ods_row("x") + ods_row("1", row=' table:number-rows-repeated="9e9"'), "not a number of repetitions"),
        (ods_row("x") + blank + ods_row("1"), "reach to row 1,000,000,000,001"),
        (ods_row("x") + ods_row(*"a" * 200, row=' table:number-rows-repeated="1000000"'), "1,000,001 rows and"),
        (ods_row("x") + blank.replace("9" * 12, "5") + ods_row("1"), "row 1 below the names is blank"),
    ):
        with pytest.raises(TableError, match=what):
            read_columns(open_document(path, rows))


def test_a_sheet_that_never_ends(tmp_path: Path) -> None:
    """The library would wait for its end."""
    table = f'<table:table table:name="one">{ods_row("x")}{ods_row("1")}'
    with pytest.raises(TableError, match="its content is not XML"):
        read_columns(open_document(tmp_path / "t.ods", "", table))


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_parts, "SMALL", 2**19)  # a bomb costs time here too
    path = workbook(tmp_path / "t.xlsx", one=[["x"], [1]])
    _spoilt(path, SHEET, _sheet(path).replace(b"</worksheet>", b" " * 2**20 + b"</worksheet>"))
    with pytest.raises(TableError, match="a zip bomb"):
        read_sheet(path, error=TableError)  # in this process, which has the bound
    # One that says it is small is found out by its checksum before anything reads on.
    content = path.read_bytes()
    size = len(_sheet(path)).to_bytes(4, "little")
    assert content.count(size) == 2  # beside the part, and in the directory at the end
    path.write_bytes(content.replace(size, (1000).to_bytes(4, "little")))
    with pytest.raises(TableError, match="it is damaged"):
        read_columns(path)


def test_files_that_are_no_spreadsheets(tmp_path: Path) -> None:
    whole = workbook(tmp_path / "whole.xlsx", one=[["x"], [1]]).read_bytes()
    locked = io.BytesIO()
    with zipfile.ZipFile(locked, "w") as archive:
        archive.writestr(zipfile.ZipInfo("xl/workbook.xml"), b"x")
    secret = locked.getvalue().replace(b"PK\x03\x04\x14\x00\x00\x00", b"PK\x03\x04\x14\x00\x01\x00")
    secret = secret.replace(b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00")
    contents = (b"", b"x,y\n1,2\n", whole[: len(whole) // 2], whole[:-30], secret, b"PK\x03\x04" + b"\0" * 50)
    for ending in (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"):
        path = tmp_path / f"t{ending}"
        with pytest.raises(TableError, match="does not exist"):
            read_columns(path)
        for content in (*contents, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600):
            path.write_bytes(content)
            with pytest.raises(UnveilError) as error:
                read_columns(path)
            assert "\n" not in str(error.value)
    (tmp_path / "d.xlsx").mkdir()
    with pytest.raises(TableError, match="is a directory"):
        read_columns(tmp_path / "d.xlsx")


def test_no_text_becomes_a_formula(tmp_path: Path) -> None:
    texts = ["=1+1", "+1", "-1+2", "@SUM(A1)", "=HYPERLINK(1)", "https://example.org", "12", "{=1}", "\t=1", "*"]
    path = tmp_path / "t.xlsx"
    write_columns(read_columns(pl.DataFrame({"=x": texts})), path)
    assert cells(read_columns(path), "=x") == texts
    sheet = _sheet(path)
    assert b"<f>" not in sheet
    assert b"<v>12</v>" not in sheet
    assert b"hyperlink" not in sheet


def test_packages_that_are_not_installed_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "t.xlsx", one=[["x"], [1]])

    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(columns, "importlib", SimpleNamespace(import_module=absent))
    with pytest.raises(
        TableError, match=r"to read spreadsheets, install python-calamine: pip install 'unveil\[files\]'"
    ):
        read_sheet(path, error=TableError)
    with pytest.raises(UnveilError, match=r"to write spreadsheets, install xlsxwriter"):
        table_content(path, [OutputColumn("x", pl.Series(["a"]))])
    (tmp_path / "t.sav").write_bytes(b"$FL2")
    with pytest.raises(TableError, match=r"cannot be read as SPSS"):
        read_columns(tmp_path / "t.sav")
    with pytest.raises(TableError, match=r"install narwhals: pip install 'unveil\[frames\]'"):
        read_columns(pa.table({"x": [1]}))


# --- Arrow ------------------------------------------------------------------------------------------------------------

FRAME = pl.DataFrame(
    {
        "age": [17, None, 90],
        "pay": [17.0, 0.1, None],
        "born": [date(2000, 2, 29), None, date(1999, 12, 31)],
        "job": pl.Series(["cook", None, "nurse"], dtype=pl.Categorical),
    }
)


@pytest.mark.parametrize("ending", [".arrow", ".feather", ".ipc"])
@pytest.mark.parametrize("how", ["polars", "pyarrow", "stream", "zstd"])
def test_arrow_is_the_same_table(ending: str, how: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    if how == "stream":
        FRAME.write_ipc_stream(path)
    elif how == "pyarrow":
        table = FRAME.to_arrow()
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    else:
        FRAME.write_ipc(path, compression="zstd" if how == "zstd" else "uncompressed")
    found = read_columns(path)
    assert found.described == "Arrow"
    assert cells(found, "age") == ["17", "", "90"]
    assert cells(found, "pay") == ["17", "0.1", ""]
    assert cells(found, "born") == ["2000-02-29", "", "1999-12-31"]
    assert cells(found, "job") == ["cook", "", "nurse"]


def test_arrow_in_batches_and_without_rows(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2]})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
        writer.write_table(table)
    assert cells(read_columns(tmp_path / "t.arrow"), "x") == ["1", "2", "1", "2"]
    with pa.ipc.new_file(tmp_path / "none.arrow", table.schema):
        pass
    with pytest.raises(TableError, match="holds no rows"):
        read_columns(tmp_path / "none.arrow")
    with pa.ipc.new_file(tmp_path / "twice.arrow", pa.schema([("x", pa.int8()), ("x", pa.int8())])):
        pass
    with pytest.raises(TableError, match="two columns are named 'x'"):
        read_columns(tmp_path / "twice.arrow")
    for content in (b"", b"x,y\n", b"ARROW1\0\0", b"FEA1" + b"\0" * 20, zlib.compress(b"x")):
        (tmp_path / "bad.arrow").write_bytes(content)
        with pytest.raises(TableError) as error:
            read_columns(tmp_path / "bad.arrow")
        assert "\n" not in str(error.value)


def test_what_is_written_has_numbers_and_dates(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    frame = {"n": ["1", "2.5"], "d": ["2024-01-31", ""], "t": ["[1,2]", "*"]}
    kinds = {"n": Kind.NUMERIC, "d": Kind.DATE, "t": Kind.NUMERIC}
    columns = [OutputColumn(name, pl.Series(texts), kinds[name], "") for name, texts in frame.items()]
    write_whole({path: table_content(path, columns)})
    found = python_calamine.load_workbook(path).get_sheet_by_index(0).to_python()
    assert found == [["n", "d", "t"], [1.0, date(2024, 1, 31), "[1,2]"], [2.5, "", "*"]]


def test_numbers_keep_all_their_digits(tmp_path: Path) -> None:
    """As a spreadsheet's texts they would have nine decimals; texts that look like numbers stay as they are."""
    numbers = [1 / 3, 1e-12, -1e-12, 123456789.123456, 0.0, 0.5, 12.0, 2 / 3e7]
    texts = ["0.333333333", "00123", "1.50", "0", "-0", "x", "1e5", "0.100000000"]
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for column, (name, cells) in enumerate({"number": numbers, "text": texts}.items()):
            sheet.write_string(0, column, name)
            for row, cell in enumerate(cells, start=1):
                (sheet.write_number if column == 0 else sheet.write_string)(row, column, cell)
    found = read_columns(path)
    shown = {name: [column.texts[code] for code in column.text_of_row] for name, column in found.columns.items()}
    assert [float(text) for text in shown["number"]] == [float(f"{n:.16G}") for n in numbers]
    assert shown["number"][4:7] == ["0", "0.5", "12"]
    assert shown["text"] == texts

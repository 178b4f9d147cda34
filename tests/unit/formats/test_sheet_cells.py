"""What the cells of spreadsheets are read as, of each kind of file; the fast way reads what the parser does."""

import re
import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path

import fastexcel
import numpy as np
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st
from test_spreadsheets import cells

from tests.binary_sheets import write_xlsb
from tests.sheets import (
    WANTED,
    ods_row,
    open_document,
    workbook,
    write_wanted_ods,
    write_wanted_xls,
    write_wanted_xlsb,
    write_wanted_xlsx,
)
from unveil.errors import TableError
from unveil.formats import sheet_rows, sheet_values
from unveil.formats.sheet_values import Shown
from unveil.formats.tables import read_columns

SHEET = "xl/worksheets/sheet1.xml"


def everything(path: Path | str) -> dict[str, list[str]]:
    found = read_columns(path)
    return {name: cells(found, name) for name in found.columns}


def changed(path: Path, part: str, change: object) -> Path:
    """The file with a part made anew."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert callable(change)
    parts[part] = change(parts[part])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def timed(value: float, shown: Shown, from_1904: bool = False) -> str:
    """A number as the text it shows, in a column of times of day."""
    other = sheet_values.day("2000-01-01", "00:00:01")
    return sheet_values.without_marks([sheet_values.number(value, shown, from_1904), other])[0]


# --- the meaning of numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown", "text"),
    [
        (17.0, Shown.NUMBER, "17"),
        (-0.0, Shown.NUMBER, "0"),
        (1.23456789012345, Shown.NUMBER, "1.23456789012345"),
        (0.1 + 0.2, Shown.NUMBER, "0.30000000000000004"),
        (1.0, Shown.DATE, "1900-01-01 00:00:00"),
        (59.0, Shown.DATE, "1900-02-28 00:00:00"),
        (61.0, Shown.DATE, "1900-03-01 00:00:00"),  # 60 is a day that never was
        (45351.4375, Shown.DATE, "2024-02-29 10:30:00"),
        (45292.99998842592, Shown.DATE, "2024-01-01 23:59:59"),
        (2958465.0, Shown.DATE, "9999-12-31 00:00:00"),
        (2958466.0, Shown.DATE, "2958466"),
        (-1.0, Shown.DATE, "-1"),
        (0.4375, Shown.TIME, "10:30:00"),
        (45351.4375, Shown.TIME, "2024-02-29 10:30:00"),
        (1.260416666666667, Shown.HOURS, "30:15:00"),
    ],
)
def test_numbers(value: float, shown: Shown, text: str) -> None:
    assert timed(value, shown) == text


def test_days_against_the_calendar() -> None:
    for day in (61, 1000, 36526, 45351, 2958465):
        said = datetime(1899, 12, 30) + timedelta(days=day)
        assert timed(float(day), Shown.DATE) == f"{said:%Y-%m-%d} 00:00:00"
        assert timed(float(day - 1462), Shown.DATE, from_1904=True) == (
            f"{said:%Y-%m-%d} 00:00:00" if day >= 1462 else str(day - 1462)
        )
    assert timed(2958465.0 - 1461, Shown.DATE, from_1904=True) == "2957004"


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        (0, None, "NUMBER"),
        (14, None, "DATE"),
        (20, None, "TIME"),
        (22, None, "DATE"),
        (46, None, "HOURS"),
        (49, None, "NUMBER"),
        (164, "General", "NUMBER"),
        (164, "0.00E+00", "NUMBER"),
        (164, '#,##0.00 "days"', "NUMBER"),
        (164, r"0\d", "NUMBER"),
        (164, "[$-407]dddd, d. mmmm yyyy", "DATE"),
        (164, "mmm-yy;@", "DATE"),
        (164, "h:mm AM/PM", "TIME"),
        (164, "mm:ss.0", "TIME"),
        (164, "[mm]:ss", "HOURS"),
        (164, "[Red]-0;[Blue]d", "NUMBER"),
        (14, "0", "NUMBER"),  # a file may say otherwise
    ],
)
def test_formats(number: int, code: str | None, shown: str) -> None:
    assert sheet_values.format_of(number, {} if code is None else {number: code}).name == shown


# --- one table in every kind of file ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["xlsx", "constant", "1904", "xlsb", "short", "xls", "ods"])
def test_the_same_table_in_every_kind_of_file(kind: str, tmp_path: Path) -> None:
    made = {
        "xlsx": lambda: write_wanted_xlsx(tmp_path / "t.xlsx"),
        "constant": lambda: write_wanted_xlsx(tmp_path / "t.xlsx", constant=True),
        "1904": lambda: write_wanted_xlsx(tmp_path / "t.xlsx", from_1904=True),
        "xlsb": lambda: write_wanted_xlsb(tmp_path / "t.xlsb"),
        "short": lambda: write_wanted_xlsb(tmp_path / "t.xlsb", short=True),
        "xls": lambda: write_wanted_xls(tmp_path / "t.xls"),
        "ods": lambda: write_wanted_ods(tmp_path / "t.ods"),
    }[kind]()
    wanted = dict(WANTED)
    if kind == "1904":  # which has no day before 1904
        wanted["born"] = ["1990-01-31", "", "-1401", "2024-02-29", "2024-02-29"]
    assert everything(made) == wanted
    if kind == "ods":  # every row by the parser
        noted = changed(
            made, "content.xml", lambda raw: raw.replace(b"<table:table-cell", b"\n<!-- --><table:table-cell")
        )
        assert everything(noted) == wanted


def test_binary_sheets_from_1904_and_hidden_ones(tmp_path: Path) -> None:
    rows: list[tuple[int, list[object]]] = [(3, [None, "x"]), (4, [None, (1.0, 14)]), (5, [None, (-7, 0)])]
    path = write_xlsb(tmp_path / "t.xlsb", rows, {14: "d.m.yyyy"}, from_1904=True, hidden=True)
    assert everything(path) == {"x": ["1904-01-02", "-7"]}  # the only sheet, though hidden


def test_damaged_binary_sheets(tmp_path: Path) -> None:
    path = write_xlsb(tmp_path / "t.xlsb", [(1, ["x"]), (2, [1])])
    for change, what in (
        (lambda raw: raw[:-7], "its last record is cut off"),
        (lambda raw: raw[:-6], "it breaks off"),
        (lambda raw: raw.replace(b"\x02\x0c\0\0\0\0", b"\x02\x0c\0\0\1\0"), "in column 65,537"),
        (
            lambda raw: raw.replace(b"\x07\x0c\0\0\0\0\0\0\0\0\0", b"\x07\x0c\0\0\0\0\0\0\0\0\7"),
            "has the shared text 7",
        ),
        (lambda raw: raw.replace(b"\x02\x0c", b"\x05\x0c"), "a record of it is too short"),
        (lambda raw: b"\x00\xff\xff\xff\x7f" + raw, "a record of it is too long"),
    ):
        write_xlsb(path, [(1, ["x"]), (2, [1])])
        with pytest.raises(TableError, match=what):
            read_columns(changed(path, "xl/worksheets/sheet1.bin", change))


# --- what sheets look like --------------------------------------------------------------------------------------------


def test_a_table_may_stand_anywhere(tmp_path: Path) -> None:
    rows = [[], [" "], [None, "x", None, "y"], [None, 1, None, "a"], [None, None, None, "b"], [], []]
    path = workbook(tmp_path / "t.xlsx", one=rows)
    assert everything(path) == {"x": ["1", ""], "y": ["a", "b"]}


def test_hidden_sheets_are_read_when_they_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name in ("shown", "hidden"):
            sheet = book.add_worksheet(name)
            sheet.write_column(0, 0, ["x", name])
        sheet.hide()
    assert everything(path) == {"x": ["shown"]}
    assert everything(f"{path}#hidden") == {"x": ["hidden"]}


def test_formulas_without_values_are_refused(tmp_path: Path) -> None:
    """A program that writes formulas and does not reckon leaves their values to Excel: they would all be missing."""
    path = workbook(tmp_path / "t.xlsx", one=[["x", "y"], [1, 2]])

    def formula(cell: bytes) -> Path:
        return changed(path, SHEET, lambda raw: re.sub(rb'<c r="B2".*?</c>', cell, raw))

    for value in (b"", b"<v></v>", b"<v/>"):
        with pytest.raises(TableError, match="cell B2 holds a formula without its value; open it in Excel"):
            read_columns(formula(b'<c r="B2"><f>A2*2</f>' + value + b"</c>"))
    assert everything(formula(b'<c r="B2" t="str"><f>""</f><v></v></c>')) == {"x": ["1"], "y": [""]}
    assert everything(formula(b'<c r="B2"><f>A2*2</f><v>2</v></c>')) == {"x": ["1"], "y": ["2"]}


def test_texts_within_texts(tmp_path: Path) -> None:
    """Runs are one text, readings beside it none; a shared formula is one; blanks and line ends stay."""
    path = workbook(tmp_path / "t.xlsx", one=[["x"], [1]])
    rich = b"<is><r><t>a </t></r><r><t>b</t></r><rPh sb='0' eb='1'><t>no</t></rPh></is>"
    changed(path, SHEET, lambda raw: re.sub(rb'<c r="A2".*?</c>', b'<c r="A2" t="inlineStr">' + rich + b"</c>", raw))
    assert everything(path) == {"x": ["a b"]}
    texts = b"<sst><si><r><t>x</t></r><rPh><t>no</t></rPh></si></sst>"
    assert everything(changed(path, "xl/sharedStrings.xml", lambda _: texts)) == {"x": ["a b"]}
    note = "<office:annotation><text:p>no</text:p></office:annotation>"
    note += "<text:p>a<text:s text:c='2'/>b</text:p><text:p>c</text:p>"
    rows = ods_row("x") + f'<table:table-row><table:table-cell office:value-type="string">{note}</table:table-cell>'
    assert everything(open_document(tmp_path / "t.ods", rows + "</table:table-row>")) == {"x": ["a  b\nc"]}


def test_no_entity_is_followed(tmp_path: Path) -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa">]>'
    path = workbook(tmp_path / "t.xlsx", one=[["x"], ["a"]])
    for part in (SHEET, "xl/workbook.xml", "xl/sharedStrings.xml", "xl/styles.xml"):
        path = workbook(tmp_path / "t.xlsx", one=[["x"], ["a"]])
        with pytest.raises(TableError, match="declares a document type or an entity"):
            read_columns(changed(path, part, lambda raw: raw.replace(b"?>", b"?>" + bomb, 1)))


# --- fast and slow ----------------------------------------------------------------------------------------------------

CELL = st.one_of(
    st.none(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.booleans(),
    st.dates(date(1904, 1, 2), date(2999, 1, 1)),
    st.text(
        st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), include_characters="\t\n"), min_size=1, max_size=5
    ),
)


def _another_way(raw: bytes) -> bytes:
    """The same sheet in a form that is not plain: names with a prefix, blanks between, places after the rest."""
    raw = re.sub(rb'<c (r="[A-Z]+[0-9]+")([^>]*?)(/?)>', rb"\n<c\2 \1\3>", raw)
    raw = re.sub(rb"<(/?)([a-zA-Z])", rb"<\1q:\2", raw)
    return raw.replace(b"<q:worksheet ", b"<q:worksheet xmlns:q='x' ", 1).replace(b"<q:row", b"<!-- </q:row> --><q:row")


@settings(max_examples=30)
@given(rows=st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=6))
def test_plain_rows_are_read_as_the_parser_does(
    rows: list[list[object]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("sheets") / "t.xlsx"
    rows = [["a", "b", "c"], *([1, *row] for row in rows)]
    rows[0].append("d")
    workbook(path, one=rows)
    plain = everything(path)
    assert everything(changed(path, SHEET, _another_way)) == plain
    frame = fastexcel.read_excel(path).load_sheet(0, header_row=None, dtypes="string").to_polars()
    for place, name in enumerate(plain):
        for row, (ours, theirs) in enumerate(zip(plain[name], frame.to_series(place)[1:], strict=False), start=1):
            value = rows[row][place]
            if isinstance(value, float | int) and not isinstance(value, bool):
                assert float(ours) == float(f"{value:.16G}")
            elif isinstance(value, date):
                assert ours in (value.isoformat(), f"{value} 00:00:00")
            elif isinstance(value, str):
                assert ours == (theirs or "")


def test_rows_in_batches_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And blocks of any size: rows, tags and signs of several bytes are cut through."""
    random = np.random.default_rng(0)
    rows = [[f"{'äöü€'[i % 4]}{random.integers(9)}", None if i % 3 else i, "same"] for i in range(40)]
    path = workbook(tmp_path / "t.xlsx", one=[["a", "b", "c"], *rows])
    sheet = open_document(
        tmp_path / "t.ods", ods_row("a", "b") + "".join(ods_row(str(row[0]), "x", row="") for row in rows)
    )
    binary = write_xlsb(tmp_path / "t.xlsb", enumerate([["a", "b", "c"], *rows], start=1))
    files = path, sheet, binary
    whole = [everything(file) for file in files]
    assert whole[0] == whole[2]
    for batch, block in ((1, 1000), (7, 37), (50, 1)):
        monkeypatch.setattr(sheet_rows, "BATCH", batch)
        monkeypatch.setattr(sheet_rows, "FEWEST", 1)
        monkeypatch.setattr("unveil.formats.spreadsheet_size._PIECE", block)
        assert [everything(file) for file in files] == whole


def test_times_of_day_by_another_writer(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path, {"default_date_format": "hh:mm:ss"}) as book:
        sheet = book.add_worksheet()
        sheet.write_string(0, 0, "at")
        sheet.write_datetime(1, 0, time(10, 30))
        sheet.write_datetime(2, 0, time(0, 0, 1))
    assert everything(path) == {"at": ["10:30:00", "00:00:01"]}

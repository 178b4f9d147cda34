"""What the cells of spreadsheets are read as, of each kind of file; each oddity here was once read wrongly."""

import re
import zipfile
from collections.abc import Callable
from datetime import time
from pathlib import Path

import pytest
import xlsxwriter
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
    xml_workbook,
)
from unveil.errors import TableError
from unveil.formats.tables import read_columns

SHEET = "xl/worksheets/sheet1.xml"
NAME = '<row r="1"><c r="A1" t="inlineStr"><is><t>x</t></is></c></row>'
DATES = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
DAY = '<row r="2"><c r="A2" s="1"><v>43889</v></c></row>'


def everything(path: Path | str) -> dict[str, list[str]]:
    found = read_columns(path)
    return {name: cells(found, name) for name in found.columns}


def changed(path: Path, part: str, change: Callable[[bytes], bytes]) -> Path:
    """The file with a part changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts[part])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def column(path: Path) -> list[str]:
    [(_, texts)] = everything(path).items()
    return texts


def xlsx(folder: Path, rows: str, **more: str) -> list[str]:
    return column(xml_workbook(folder / "t.xlsx", NAME + rows, **more))


def sheet(folder: Path, *cells: str) -> list[str]:
    """The texts of cells, each of which is a row of a sheet of OpenDocument."""
    rows = "".join(f"<table:table-row>{cell}</table:table-row>" for cell in cells)
    return column(open_document(folder / "t.ods", ods_row("x") + rows))


def paragraphs(*texts: str, more: str = 'office:value-type="string"') -> str:
    return f"<table:table-cell {more}>{''.join(f'<text:p>{t}</text:p>' for t in texts)}</table:table-cell>"


# --- the meaning of numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (17.0, "General", "17"),
        (-0.0, "General", "0"),
        (1.23456789012345, "0.0", "1.23456789012345"),
        (1.0, "yyyy-mm-dd", "1900-01-01 00:00:00"),
        (59.5, "yyyy-mm-dd", "1900-02-28 12:00:00"),
        (61.0, "yyyy-mm-dd", "1900-03-01 00:00:00"),  # 60 is a day that never was
        (45351.4375, "yyyy-mm-dd", "2024-02-29 10:30:00"),
        (45292.99998842592, "d.m.yyyy hh:mm", "2024-01-01 23:59:59"),
        (2958465.0, "yyyy-mm-dd", "9999-12-31 00:00:00"),
        (2958466.0, "yyyy-mm-dd", "2958466"),
        (-1.0, "yyyy-mm-dd", "-1"),
        (-0.5, "hh:mm", "-0.5"),
        (0.4375, "hh:mm", "10:30:00"),
        (45351.4375, "hh:mm", "2024-02-29 10:30:00"),
        (1.260416666666667, "[h]:mm:ss", "30:15:00"),
        (5.0, "0.00E+00", "5"),
        (5.0, '#,##0.00 "days"', "5"),
        (5.0, r"0\d", "5"),
        (45351.0, "[$-407]dddd, d. mmmm yyyy", "2024-02-29 00:00:00"),
        (45351.0, "mmm-yy;@", "2024-02-29 00:00:00"),
        (0.4375, "h:mm AM/PM", "10:30:00"),
        (0.5, "[mm]:ss", "12:00:00"),
        (5.0, "[Red]-0;[Blue]d", "5"),
    ],
)
def test_numbers(value: float, code: str, text: str, tmp_path: Path) -> None:
    """By their format; the column has a time of day, so that its dates show theirs."""
    for ending in ("xlsx", "xlsb"):
        path = tmp_path / f"t.{ending}"
        if ending == "xlsx":
            with xlsxwriter.Workbook(path) as book:
                sheet = book.add_worksheet()
                sheet.write(0, 0, "x")
                sheet.write_number(1, 0, value, book.add_format({"num_format": code}))
                sheet.write_number(2, 0, 36526.5, book.add_format({"num_format": "yyyy-mm-dd"}))
        else:
            rows: list[list[object]] = [["x"], [(value, 164)], [(36526.5, 165)]]
            write_xlsb(path, enumerate(rows, start=1), {164: code, 165: "yyyy-mm-dd"})
        assert column(path) == [text, "2000-01-01 12:00:00"]


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


def test_errors_of_old_files_are_refused(tmp_path: Path) -> None:
    """The library has no value for them: they would be read as missing."""
    with pytest.raises(
        TableError, match=r"holds an error such as #N/A, which is not read from \.xls; save it as \.xlsx"
    ):
        read_columns(write_wanted_xls(tmp_path / "t.xls", errors=True))


def test_binary_sheets_from_1904_and_hidden_ones(tmp_path: Path) -> None:
    rows: list[tuple[int, list[object]]] = [(3, [None, "x"]), (4, [None, (1.0, 14)]), (5, [None, (-7, 0)])]
    path = write_xlsb(tmp_path / "t.xlsb", rows, {14: "d.m.yyyy"}, from_1904=True, hidden=True)
    assert everything(path) == {"x": ["1904-01-02", "-7"]}  # the only sheet, though hidden


def test_damaged_binary_sheets(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsb"
    for change, what in (
        (lambda raw: raw.replace(b"\x02\x0c\0\0\0\0", b"\x02\x0c\0\0\1\0"), "column 65,537"),
        (lambda raw: raw.replace(b"\x07\x0c\0\0\0\0\0\0\0\0\0", b"\x07\x0c\0\0\0\0\0\0\0\0\7"), "it is damaged"),
        (lambda raw: b"\x00\xff\xff\xff\x7f" + raw, "it is damaged"),
    ):
        write_xlsb(path, [(1, ["x"]), (2, [1])])
        with pytest.raises(TableError, match=what):
            read_columns(changed(path, "xl/worksheets/sheet1.bin", change))


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
    rich = b"<is><r><t xml:space='preserve'>a </t></r><r><t>b</t></r><rPh sb='0' eb='1'><t>no</t></rPh></is>"
    changed(path, SHEET, lambda raw: re.sub(rb'<c r="A2".*?</c>', b'<c r="A2" t="inlineStr">' + rich + b"</c>", raw))
    assert everything(path) == {"x": ["a b"]}
    texts = b"<sst><si><r><t>x</t></r><rPh><t>no</t></rPh></si></sst>"
    assert everything(changed(path, "xl/sharedStrings.xml", lambda _: texts)) == {"x": ["a b"]}
    note = "<office:annotation><text:p>no</text:p></office:annotation>"
    note += "<text:p>a<text:s text:c='2'/>b</text:p><text:p>c</text:p>"
    rows = ods_row("x") + f'<table:table-row><table:table-cell office:value-type="string">{note}</table:table-cell>'
    assert everything(open_document(tmp_path / "t.ods", rows + "</table:table-row>")) == {"x": ["a  b\nc"]}


def test_1904_is_said_once(tmp_path: Path) -> None:
    """An extension has an element of the same name that does not say it."""
    assert xlsx(tmp_path, DAY, styles=DATES, book='<workbookPr date1904="1"/>') == ["2024-02-29"]
    assert xlsx(tmp_path, DAY, styles=DATES, book="<workbookPr/>") == ["2020-02-28"]


def test_texts_are_no_dates(tmp_path: Path) -> None:
    """A text stays as it is, also beside dates, and does not say that these have times of day."""
    texts = ["2020-02-28 00:00:00", "2020-02-28 10:30:00"]
    cells = [f'<c r="A{n}" t="inlineStr"><is><t>{text}</t></is></c>' for n, text in enumerate(texts, start=3)]
    rows = "".join(f'<row r="{n}">{cell}</row>' for n, cell in enumerate(cells, start=3))
    assert xlsx(tmp_path, DAY + rows, styles=DATES) == ["2020-02-28", *texts]
    timed = rows + DAY.replace('"2"', '"5"').replace("A2", "A5").replace("43889", "43889.5")
    assert xlsx(tmp_path, DAY + timed, styles=DATES) == ["2020-02-28 00:00:00", *texts, "2020-02-28 12:00:00"]
    said = 'office:value-type="date" office:date-value="2020-02-28"'
    assert sheet(tmp_path, f"<table:table-cell {said}/>", paragraphs(texts[0])) == ["2020-02-28", texts[0]]


def test_conditional_formats_have_numbers_of_their_own(tmp_path: Path) -> None:
    percent = '<numFmt numFmtId="14" formatCode="0.00%"/>'
    assert xlsx(tmp_path, DAY, styles=f"{DATES}<dxfs><dxf>{percent}</dxf></dxfs>") == ["2020-02-28"]
    assert xlsx(tmp_path, DAY, styles=f"<numFmts>{percent}</numFmts>{DATES}") == ["43889"]


def test_what_is_noted_or_quoted_is_no_row(tmp_path: Path) -> None:
    first, second = (f'<row r="{n}"><c r="A{n}"><v>{n}</v></c></row>' for n in (2, 3))
    false = '<row r="3"><c r="A3"><v>666</v></c></row>'
    for between in (f"<!--{false}{false}-->", "<!-- </sheetData> -->", "<?x </sheetData>?>"):
        assert xlsx(tmp_path, first + between + second) == ["2", "3"]
    quoted = '<row r="2"><c r="A2" t="inlineStr"><is><t><![CDATA[</c></row></sheetData>]]></t></is></c></row>'
    assert xlsx(tmp_path, quoted + second) == ["</c></row></sheetData>", "3"]
    rows = ods_row("x") + ods_row("1")
    for between in (f"<!--{ods_row('2')}{ods_row('666')}-->", "<!--</table:table>-->"):
        assert column(open_document(tmp_path / "t.ods", rows + between + ods_row("2"))) == ["1", "2"]


def test_numbers_of_many_digits(tmp_path: Path) -> None:
    assert xlsx(tmp_path, '<row r="2"><c r="A2"><v>4111111111111111</v></c></row>') == ["4111111111111111"]


def test_sheets_are_told_apart(tmp_path: Path) -> None:
    twice = '<sheet name="one" sheetId="1" r:id="r1"/><sheet name="one" sheetId="2" r:id="r1"/>'
    with pytest.raises(TableError, match="two of its sheets have the same name"):
        xlsx(tmp_path, DAY, sheets=twice)
    hidden = "".join(f'<sheet name="{n}" sheetId="{n}" r:id="r1" state="hidden"/>' for n in (1, 2))
    with pytest.raises(TableError, match=r"several sheets hold data; name one, t\.xlsx#SHEET, of '1', '2'"):
        xlsx(tmp_path, DAY, sheets=hidden)
    many = "".join(f'<sheet name="{n}" sheetId="{n}" r:id="r1"/>' for n in range(300))
    with pytest.raises(TableError, match="holds 300 sheets; name one"):
        xlsx(tmp_path, DAY, sheets=many)
    with zipfile.ZipFile(tmp_path / "t.xlsx", "a") as archive:
        archive.writestr("/XL/Styles.xml", "")
    with pytest.raises(TableError, match="two parts of one name"):
        read_columns(tmp_path / "t.xlsx")


@pytest.mark.parametrize("number", [27, 31, 36, 50, 58, 71])
def test_dates_of_east_asia(number: int, tmp_path: Path) -> None:
    """Formats that files need not declare."""
    assert xlsx(tmp_path, DAY, styles=DATES.replace("14", str(number))) == ["2020-02-28"]


def test_texts_of_open_document(tmp_path: Path) -> None:
    """As LibreOffice shows them: blanks stay, also those that are not elements, and empty paragraphs count."""
    cells = (
        *(paragraphs("a  b"), paragraphs("  b  "), paragraphs("", "b")),
        *(paragraphs('<text:s text:c="2"/> b'), paragraphs("a\r\nb"), paragraphs("a<text:tab/>b")),
    )
    assert sheet(tmp_path, *cells) == ["a  b", "  b  ", "\nb", "   b", "a\nb", "a\tb"]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ('office:value-type="time" office:time-value="PT36H"', "36:00:00"),
        ('office:value-type="time" office:time-value="P1DT2H0M0S"', "26:00:00"),
        ('office:value-type="time" office:time-value="-PT1H0M0S"', "-01:00:00"),
        ('office:value-type="date" office:date-value="2024-02-29T10:30:00Z"', "2024-02-29 10:30:00"),
        ('office:value-type="date" office:date-value="2024-02-29T10:30:00.500"', "2024-02-29 10:30:00.5"),
    ],
)
def test_values_without_texts(said: str, text: str, tmp_path: Path) -> None:
    assert sheet(tmp_path, f"<table:table-cell {said}/>") == [text]


def test_several_sheets_of_open_document(tmp_path: Path) -> None:
    path = tmp_path / "t.ods"
    tables = ['<table:table table:name="E"/>', f'<table:table table:name="a&amp;>b">{ods_row("x")}{ods_row("1")}']
    assert column(open_document(path, "", f"{tables[0]}{tables[1]}</table:table>{tables[0].replace('E', 'F')}")) == [
        "1"
    ]
    assert everything(f"{path}#a&>b") == {"x": ["1"]}
    with pytest.raises(TableError, match="holds no rows"):
        read_columns(f"{path}#F")
    with pytest.raises(TableError, match="two of its sheets have the same name"):
        read_columns(open_document(path, "", tables[0] * 2))
    inner = f'<table:table-cell><table:table table:name="i">{ods_row("9")}</table:table></table:table-cell>'
    with pytest.raises(TableError, match="row 2 below the names is blank"):
        sheet(tmp_path, paragraphs("1"), inner, paragraphs("2"))


def test_names_that_say_another_kind(tmp_path: Path) -> None:
    made = workbook(tmp_path / "t.xlsx", one=[["x"], [1]])
    with pytest.raises(TableError, match=r"is not an \.xls but a newer spreadsheet; name it \.xlsx"):
        read_columns(made.rename(tmp_path / "t.xls"))
    (tmp_path / "u.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(TableError, match=r"is protected by a password, or an old \.xls"):
        read_columns(tmp_path / "u.xlsx")


def test_times_of_day_by_another_writer(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path, {"default_date_format": "hh:mm:ss"}) as book:
        sheet = book.add_worksheet()
        sheet.write_string(0, 0, "at")
        sheet.write_datetime(1, 0, time(10, 30))
        sheet.write_datetime(2, 0, time(0, 0, 1))
    assert everything(path) == {"at": ["10:30:00", "00:00:01"]}

"""What spreadsheets may hold and seldom do: each of these was once read wrongly, silently or for ever."""

import zipfile
from collections import deque
from pathlib import Path

import pytest
import xlwt
from test_sheet_cells import everything, timed

from tests.sheets import ods_row, open_document, workbook, xml_workbook
from unveil.errors import TableError
from unveil.formats import ods, sheet_values, spreadsheet_size
from unveil.formats.sheet_values import Shown
from unveil.formats.spreadsheet_size import check_size
from unveil.formats.survey import Refusal
from unveil.formats.tables import read_columns

NAME = '<row r="1"><c r="A1" t="inlineStr"><is><t>x</t></is></c></row>'
DATES = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
DAY = '<row r="2"><c r="A2" s="1"><v>43889</v></c></row>'


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


# --- Excel ------------------------------------------------------------------------------------------------------------


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


def test_rows_that_never_end(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="it is not XML"):
        xlsx(tmp_path, '<row r="2"><c r="A2"><v>1</v></c></row><row r="3"><c r="A3"><v>1</v></c>')
    with pytest.raises(TableError, match="it is not XML"):
        column(open_document(tmp_path / "t.ods", ods_row("x") + ods_row("1") + ods_row("2")[:-10]))
    cut = f"<worksheet><sheetData>{NAME}{DAY}".encode()
    for rows in (cut, cut[:-5], b"<worksheet/>", b"", b"<worksheet><sheetData/>"):
        with pytest.raises(TableError, match=r"it breaks off|it is not XML|holds no rows"):
            column(xml_workbook(tmp_path / "t.xlsx", rows))


def test_line_ends_are_as_xml_has_them(tmp_path: Path) -> None:
    plain, parsed = (
        f'<row r="{n}"><c {place}><is><t>a\r\nb\tc</t></is></c></row>'
        for n, place in ((2, 'r="A2" t="inlineStr"'), (3, 't="inlineStr" r="A3"'))
    )
    assert xlsx(tmp_path, plain + parsed) == ["a\nb\tc"] * 2


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ('<c r="A2" t="str"><f>1+1</f></c>', "cell A2 holds a formula without its value"),
        ('<c r="A2"><v>1_000</v></c>', "'1_000' is no number"),
        ('<c r="A2"><v>٣</v></c>', "'٣' is no number"),
        ('<c r="A2" s="x"><v>5</v></c>', "'x' is no whole number"),
        ('<c r="A2" t="s"><v>٣</v></c>', "has the shared text ٣"),
        ('<c r="A"><v>5</v></c>', "cell A stands in row 2"),
        ("<a>" * 300 + "</a>" * 300, "elements within elements over 256 deep"),
    ],
)
def test_cells_of_no_meaning(cell: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=what):
        xlsx(tmp_path, f'<row r="2">{cell}</row>')


def test_numbers_of_many_digits(tmp_path: Path) -> None:
    assert xlsx(tmp_path, '<row r="2"><c r="A2"><v>4111111111111111</v></c></row>') == ["4111111111111111"]


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_other_encodings(mark: bytes, tmp_path: Path) -> None:
    text = f"<worksheet><sheetData>{NAME}{DAY}</sheetData></worksheet>"
    raw = mark + text.encode("utf-16-le" if mark == b"\xff\xfe" else "utf-16-be")
    assert column(xml_workbook(tmp_path / "t.xlsx", raw, styles=DATES)) == ["2020-02-28"]
    latin = '<?xml version="1.0" encoding="ISO-8859-1"?>' + text.replace("43889", "1").replace(">x<", ">ä<")
    assert everything(xml_workbook(tmp_path / "t.xlsx", latin.encode("latin-1"))) == {"ä": ["1"]}


def test_sheets_are_told_apart(tmp_path: Path) -> None:
    twice = '<sheet name="one" sheetId="1" r:id="r1"/><sheet name="one" sheetId="2" r:id="r1"/>'
    with pytest.raises(TableError, match="two sheets are named 'one'"):
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


@pytest.mark.parametrize(
    ("value", "shown", "text"),
    [
        (59.5, Shown.DATE, "1900-02-28 12:00:00"),
        (60.5, Shown.DATE, "1900-02-29 12:00:00"),
        (0.99999999999, Shown.TIME, "00:00:00"),
        (0.99999999999, Shown.HOURS, "24:00:00"),
    ],
)
def test_odd_times(value: float, shown: Shown, text: str) -> None:
    assert timed(value, shown) == text


def test_odd_formats() -> None:
    codes = {1: "0;[h]:mm", 2: '"[h]"0', 3: "yyyy;[h]"}
    assert [sheet_values.format_of(n, codes).name for n in (1, 2, 3, 31, 71, 75)] == [
        *("NUMBER", "NUMBER", "DATE"),
        *("DATE", "DATE", "TIME"),
    ]


def test_old_files_with_formats_of_asia(tmp_path: Path) -> None:
    """xlrd knows their numbers and not what they show."""
    book = xlwt.Workbook()
    one = book.add_sheet("one")
    one.write(0, 0, "x")
    one.write(1, 0, 43889, xlwt.easyxf(num_format_str="YYYY-MM-DD"))
    book.save(str(tmp_path / "t.xls"))
    raw = (tmp_path / "t.xls").read_bytes()
    style = raw.rindex(b"\xe0\x00\x14\x00")  # the last XF record; its third and fourth byte are the format's number
    (tmp_path / "t.xls").write_bytes(raw[: style + 6] + (31).to_bytes(2, "little") + raw[style + 8 :])
    assert column(tmp_path / "t.xls") == ["2020-02-28"]


# --- OpenDocument -----------------------------------------------------------------------------------------------------


def test_texts_of_open_document(tmp_path: Path) -> None:
    """As LibreOffice shows them: blanks stay, also those that are not elements, and empty paragraphs count."""
    cells = (
        *(paragraphs("a  b"), paragraphs("  b  "), paragraphs("", "b")),
        *(paragraphs('<text:s text:c="2"/> b'), paragraphs("a\r\nb"), paragraphs("a<text:tab/>b")),
    )
    assert sheet(tmp_path, *cells) == ["a  b", "  b  ", "\nb", "   b", "a\nb", "a\tb"]
    stated = 'office:value-type="string" office:string-value="a\tb"'
    assert sheet(tmp_path, paragraphs("a", more=stated), paragraphs("&amp;", more=stated)) == ["a b"] * 2


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


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ('office:value-type="date" office:date-value="soon"', "a cell of the type 'date' says no value"),
        ('office:value-type="boolean"', "a cell of the type 'boolean' says no value"),
        ('office:value-type="float" office:value="1_0"', "'1_0' is no number"),
        ('table:formula="of:=1+1"', "cell A2 holds a formula without its value"),
    ],
)
def test_values_that_are_none(said: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=what):
        sheet(tmp_path, f"<table:table-cell {said}/>")


def test_several_sheets_of_open_document(tmp_path: Path) -> None:
    path = tmp_path / "t.ods"
    tables = ['<table:table table:name="E"/>', f'<table:table table:name="a&amp;>b">{ods_row("x")}{ods_row("1")}']
    assert column(open_document(path, "", f"{tables[0]}{tables[1]}</table:table>{tables[0].replace('E', 'F')}")) == [
        "1"
    ]
    assert everything(f"{path}#a&>b") == {"x": ["1"]}
    with pytest.raises(TableError, match="holds no rows"):
        read_columns(f"{path}#F")
    with pytest.raises(TableError, match="two of its sheets have one name"):
        read_columns(open_document(path, "", tables[0] * 2))
    inner = f'<table:table-cell><table:table table:name="i">{ods_row("9")}</table:table></table:table-cell>'
    with pytest.raises(TableError, match="a cell holds a table"):
        sheet(tmp_path, paragraphs("1"), inner, paragraphs("2"))


def test_repeated_cells_are_laid_out_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows for the parser, each of which says of a cell that it fills the sheet."""
    wide = paragraphs("a", more='office:value-type="string" table:number-columns-repeated="16384"')
    monkeypatch.setattr(ods, "MOST_REPEATED", 10**6)
    path = open_document(tmp_path / "t.ods", f"<table:table-row>{wide}</table:table-row >" * 2000)
    with pytest.raises(Refusal, match="over 1,000,000 times"):
        deque(ods.Ods(path).rows("one"), maxlen=0)


# --- unpacking --------------------------------------------------------------------------------------------------------


def test_all_bytes_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece that is full may have a rest that no packed byte stands for."""
    monkeypatch.setattr(spreadsheet_size, "_PIECE", 1024)
    path = tmp_path / "t.xlsx"
    for size in range(1000, 1300):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a", b"a" * size)
        check_size(path, TableError)


def test_names_that_say_another_kind(tmp_path: Path) -> None:
    made = workbook(tmp_path / "t.xlsx", one=[["x"], [1]])
    with pytest.raises(TableError, match=r"is no \.xls but a newer spreadsheet; name it \.xlsx"):
        read_columns(made.rename(tmp_path / "t.xls"))
    (tmp_path / "u.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(TableError, match=r"is protected by a password, or an old \.xls"):
        read_columns(tmp_path / "u.xlsx")

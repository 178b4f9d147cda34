"""Spreadsheets for tests: of rows, of XML, and one table in every kind of file."""

import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import xlsxwriter
import xlwt

from tests.binary_sheets import write_xlsb


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    """A workbook with these rows in each sheet."""
    book = xlsxwriter.Workbook(path)
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name.replace("_", " "))
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                if isinstance(value, date):
                    sheet.write_datetime(i, j, value, day)
                elif value is not None:
                    sheet.write(i, j, value)
    book.close()
    return path


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def xml_workbook(path: Path, rows: str | bytes, *, styles: str = "", book: str = "", sheets: str = "") -> Path:
    """A workbook of Excel, its rows as XML."""
    sheets = sheets or '<sheet name="one" sheetId="1" r:id="r1"/>'
    related = "".join(
        f'<Relationship Id="r{number}" Type="{RELATION}/{kind}" Target="{part}"/>'
        for number, (kind, part) in enumerate({"worksheet": "worksheets/sheet1.xml", "styles": "styles.xml"}.items(), 1)
    )
    sheet = rows if isinstance(rows, bytes) else f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{RELATION}">{book}<sheets>{sheets}</sheets>'
            '<extLst><ext><x15:workbookPr chartTrackingRefBase="1"/></ext></extLst></workbook>',
        )
        archive.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE}">{related}</Relationships>')
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" Type="{RELATION}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
        archive.writestr("xl/styles.xml", f'<styleSheet xmlns="{MAIN}">{styles}</styleSheet>')
    return path


def open_document(path: Path, rows: str, tables: str = "") -> Path:
    """A sheet of OpenDocument, its rows as XML, or all of its sheets."""
    tables = tables or f'<table:table table:name="one">{rows}</table:table>'
    office, table, text = (f"urn:oasis:names:tc:opendocument:xmlns:{n}:1.0" for n in ("office", "table", "text"))
    content = (
        f'<?xml version="1.0"?><office:document-content xmlns:office="{office}" xmlns:table="{table}" '
        f'xmlns:text="{text}"><office:body><office:spreadsheet>{tables}'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", kind, zipfile.ZIP_STORED)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", content)
    return path


def ods_row(*texts: str, more: str = "", row: str = "") -> str:
    one = "".join(
        f'<table:table-cell office:value-type="string"{more}><text:p>{t}</text:p></table:table-cell>' for t in texts
    )
    return f"<table:table-row{row}>{one}</table:table-row>"


WANTED = {
    "name": ["ü <&> ]]>", "=1+1", "_x000D_", " edge ", "#N/A"],
    "n": ["17", "-2.5", "0.1", "123456789.123456", "1e-12"],
    "born": ["1990-01-31", "", "1900-03-01", "2024-02-29", "2024-02-29"],
    "seen": ["2024-02-29 10:30:00", "2024-01-01 00:00:00", "", "1999-12-31 23:59:59", ""],
    "at": ["10:30:00", "23:59:59", "", "00:00:01", ""],
    "stay": ["30:15:00", "00:05:00", "", "100:00:00", ""],
    "ill": ["true", "false", "", "true", ""],
}
DAYS = {"1990-01-31": 32904, "1900-03-01": 61, "2024-02-29": 45351}
MOMENTS = {"2024-02-29 10:30:00": 45351.4375, "2024-01-01 00:00:00": 45292.0, "1999-12-31 23:59:59": 36525.99998842593}
FORMATS = {"born": "yyyy-mm-dd", "seen": "d.m.yyyy hh:mm", "at": "hh:mm", "stay": "[h]:mm:ss"}


def _value(name: str, text: str) -> object:
    """What a file holds for it."""
    if not text:
        return None
    if name == "n":
        return float(text)
    if name == "ill":
        return text == "true"
    if name == "born":
        return float(DAYS[text])
    if name == "seen":
        return MOMENTS[text]
    if name in ("at", "stay"):
        hours, minutes, seconds = map(int, text.split(":"))
        return (hours + minutes / 60 + seconds / 3600) / 24
    return text


def _rows() -> list[list[object]]:
    names = list(WANTED)
    return [[_value(name, WANTED[name][row]) for name in names] for row in range(5)]


def write_wanted_xlsx(path: Path, *, constant: bool = False, from_1904: bool = False) -> Path:
    options = {"constant_memory": constant, "date_1904": from_1904, "strings_to_formulas": False}
    with xlsxwriter.Workbook(path, options) as book:
        sheet = book.add_worksheet("one")
        formats = {name: book.add_format({"num_format": code}) for name, code in FORMATS.items()}
        sheet.write_row(0, 0, list(WANTED))
        for number, row in enumerate(_rows(), start=1):
            for column, (name, value) in enumerate(zip(WANTED, row, strict=True)):
                if value == "#N/A":
                    sheet.write_formula(number, column, "=NA()", None, "#N/A")
                elif isinstance(value, float) and from_1904 and name in ("born", "seen"):
                    sheet.write_number(number, column, value - 1462, formats[name])
                elif value is not None:
                    sheet.write(number, column, value, formats.get(name))
    return path


def write_wanted_xls(path: Path, *, errors: bool = False) -> Path:
    """Without its error unless asked for: that is not read from these files."""
    book = xlwt.Workbook()
    sheet = book.add_sheet("one")
    formats = {name: xlwt.easyxf(num_format_str=code) for name, code in FORMATS.items()}
    for column, name in enumerate(WANTED):
        sheet.write(0, column, name)
    for number, row in enumerate(_rows(), start=1):
        for column, (name, value) in enumerate(zip(WANTED, row, strict=True)):
            if value == "#N/A" and errors:
                sheet.row(number).set_cell_error(column, "#N/A!")  # its own name of it
            elif isinstance(value, bool):
                sheet.row(number).set_cell_boolean(column, value)
            elif value is not None:
                sheet.write(number, column, value, *([formats[name]] if name in formats else []))
    book.save(str(path))
    return path


def write_wanted_xlsb(path: Path, *, short: bool = False) -> Path:
    numbers = {name: 164 + place for place, name in enumerate(FORMATS)}
    rows = [
        [
            (value, numbers[name]) if name in numbers and value is not None else value
            for name, value in zip(WANTED, r, strict=True)
        ]
        for r in _rows()
    ]
    codes = {numbers[name]: code for name, code in FORMATS.items()}
    return write_xlsb(path, enumerate([list(WANTED), *rows], start=1), codes, short=short)


def write_wanted_ods(path: Path) -> Path:
    kinds = {"n": ("float", "value"), "born": ("date", "date-value"), "seen": ("date", "date-value")}
    kinds |= {"at": ("time", "time-value"), "stay": ("time", "time-value"), "ill": ("boolean", "boolean-value")}
    rows = [ods_row(*WANTED)]
    for row in range(5):
        made = ""
        for name in WANTED:
            text = WANTED[name][row]
            shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            if text.startswith(" "):
                shown = "<text:s/>edge "
            said = text.replace(" ", "T").removesuffix("T00:00:00") if kinds.get(name, ("",))[0] == "date" else text
            if name in ("at", "stay") and text:
                said = "PT{}H{}M{}S".format(*text.split(":"))
            attributes = 'office:value-type="string"'
            if name in kinds:
                attributes = f'office:value-type="{kinds[name][0]}" office:{kinds[name][1]}="{said}"'
            elif text == "#N/A":
                attributes = 'office:value-type="string" office:string-value="" calcext:value-type="error"'
            made += (
                f"<table:table-cell {attributes}><text:p>{shown}</text:p></table:table-cell>"
                if text
                else ("<table:table-cell/>")
            )
        rows.append(f'<table:table-row table:style-name="ro1">{made}</table:table-row>')
    return open_document(path, "".join(rows))

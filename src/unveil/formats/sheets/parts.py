"""The parts of a spreadsheet file, looked through before a library lays its sheets out.

Refused are files that unpack or spread beyond measure, and formulas whose values were never saved. Where a sheet has
cells that the library would lose (errors, negative numbers with the format of a date), it is handed a copy in which
they are texts and plain numbers.
"""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from unveil.formats.columns import Refusal
from unveil.formats.sheets.binary import MOST_ROWS, check_area, check_old, plain_records

__all__ = ["Parts", "checked_parts"]

MOST_BYTES = 2**32  # unpacked, of all parts
MOST_RATIO = 250  # unpacked to packed, beyond SMALL
SMALL = 2**24
MOST_ROW = 2**26  # bytes that are held of a row
MOST_SPREAD = 2**26  # characters of texts that stand for several: repeated cells and rows, runs of blanks
_PIECE = 2**20
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FAULTS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError, LookupError)

# Of a sheet of Excel. Columns before EA, the 131st, and rows before 1,000,000 need not be looked at.
_FAR = re.compile(rb' r="(?:[E-Ze-z][A-Za-z]\d|[A-Za-z]{3}|[A-Za-z]*\d{7})')
_PLACE = re.compile(rb"""\br\s*=\s*["']\s*([A-Za-z]*)(\d*)\s*["']""")
_PLACELESS = re.compile(rb"<(?:\w+:)?c(?![^<>]*\sr\s*=)[\s/>]")
_PLACELESS_ROW = re.compile(rb"<(?:\w+:)?row(?![^<>]*\sr\s*=)[\s/>]")
_SHEET_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
_SHEET_ROW_END = re.compile(rb"</(?:\w+:)?row\s*>")
_HIDDEN_PLACE = re.compile(rb"""\sr\s*=\s*(?:"[^"<>]*&|'[^'<>]*&)""")
_UNCALCULATED = re.compile(
    rb"<(?:\w+:)?c\b([^<>]*)>\s*<(?:\w+:)?f\b(?:[^<>]*/>|[^<>]*>[^<]*</(?:\w+:)?f\s*>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v\s*>\s*</(?:\w+:)?v\s*>|(?=</(?:\w+:)?c\s*>))"
)
_ERROR = re.compile(rb"""(<(?:\w+:)?c\b[^<>]*?\st\s*=\s*)(?:"e"|'e')""")
_NEGATIVE = re.compile(
    rb"""(<(?:\w+:)?c\b[^<>]*?)\ss\s*=\s*(?:"[^"]*"|'[^']*')([^<>]*>(?:\s*<(?:\w+:)?f\b[^<>]*>(?:[^<]*</(?:\w+:)?f\s*>)?)?"""
    rb"""\s*<(?:\w+:)?v\s*>\s*-)"""
)
# Of a sheet of OpenDocument.
_REPEATED = re.compile(rb"""(columns|rows)-repeated\s*=\s*["']\s*([^"']*?)\s*["']""")
_CELL = re.compile(rb"<(?:[\w-]+:)?(?:covered-)?table-cell\b([^<>]*)>")
_BLANKS = re.compile(rb"""<(?:[\w-]+:)?s\s[^<>]*?\bc\s*=\s*["']\s*([^"']*?)\s*["']""")
_ROW = re.compile(rb"<(?:[\w-]+:)?table-row\b([^<>]*)>")
_ROW_END = re.compile(rb"</(?:[\w-]+:)?table-row\s*>")
_TABLE_END = re.compile(rb"</(?:[\w-]+:)?table\s*>")
_LAST_BLANK = re.compile(rb"<(?:[\w-]+:)?(?:covered-)?table-cell\b(?![^<>]*value)[^<>]*/>\s*$")
_TIMES = re.compile(rb"""time-value\s*=\s*["']([^"']*)["']""")
_NO_VALUE = re.compile(rb"<(?:[\w-]+:)?table-cell\b(?=[^<>]*formula)(?![^<>]*value-type)[^<>]*>")
_ODS_ERROR = re.compile(
    rb"""(<[^<>]*?)\s(?:[\w-]+:)?string-value\s*=\s*(?:""|'')(?=[^<>]*value-type\s*=\s*["']error)"""
)
# An extension has an element of the same name as the one that says that days count from 1904, and the last one counts.
_NO_1904 = re.compile(rb"<(?:[\w-]+:)?workbookPr\b(?![^<>]*date1904)[^<>]*/>")
# The built-in formats of dates in East Asia, which the library takes for numbers.
_ASIAN_DATE = re.compile(rb"""(<(?:\w+:)?xf\b[^<>]*?\snumFmtId\s*=\s*["'])(?:2[7-9]|3[0-6]|5[0-8]|7[1-8])(?=["'])""")
_PLAIN = ((_ERROR, rb'\1"str"'), (_NEGATIVE, rb"\1\2"), (_NO_1904, b""), (_ASIAN_DATE, rb"\g<1>14"))
_ODS_PLAIN = (
    (_ODS_ERROR, rb"\1"),
    (re.compile(rb"<(?:[\w-]+:)?tab\s*/>"), b"\t"),
    (re.compile(rb"<(?:[\w-]+:)?line-break\s*/>"), b"\n"),
    (re.compile(rb"""(date-value\s*=\s*["'][^"']*)Z(?=["'])"""), rb"\1"),
)


@dataclass
class Parts:
    """What was found in a file."""

    file: Path
    changed: set[str] = field(default_factory=set)  # parts of which the library gets a copy
    durations: set[str] = field(default_factory=set)  # of OpenDocument, as written

    def content(self) -> io.BytesIO | None:
        """A copy of the file in which no cell is lost; None if the file itself is fine."""
        if not self.changed:
            return None
        copy = io.BytesIO()
        with (
            zipfile.ZipFile(self.file) as old,
            zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
        ):
            for info in old.infolist():
                if info.filename not in self.changed:
                    new.writestr(info.filename, old.read(info))
                    continue
                if info.filename.endswith(".bin"):
                    new.writestr(info.filename, plain_records(old.read(info))[0])
                    continue
                end = b"table-row" if info.filename == "content.xml" else b"row"
                with new.open(info.filename, "w", force_zip64=True) as part:
                    for piece in _pieces(old, info, end):
                        for pattern, instead in _ODS_PLAIN if end == b"table-row" else _PLAIN:
                            piece = pattern.sub(instead, piece)
                        part.write(piece)
        copy.seek(0)
        return copy


def checked_parts(file: Path) -> Parts:
    """Look a spreadsheet through; one that is none, or that is too large or damaged, is refused."""
    found, ending = Parts(file), file.suffix.lower()
    try:
        with file.open("rb") as stream:
            start = stream.read(8)
        if ending == ".xls" and start == _OLE:
            check_old(file.read_bytes())
            return found
        if start == _OLE:
            raise Refusal("it is protected by a password, or an old .xls; save it without one, or name it .xls")
        if ending == ".xls" and start.startswith(b"PK"):
            raise Refusal("it is not an .xls but a newer spreadsheet; name it .xlsx, .xlsb or .ods")
        if not start.startswith(b"PK\x03\x04"):
            raise Refusal(f"it is not a spreadsheet although its name ends in {ending}; name it by what it is")
        with zipfile.ZipFile(file) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
            if len({m.filename.lower().lstrip("/") for m in members}) != len(members):
                raise Refusal("it holds two parts of one name")
            left = MOST_BYTES
            for member in members:
                left -= _check_member(member, left)
            for member in members:
                name = member.filename.lower()
                if name == "content.xml":
                    _check_open_document(archive, member, found)
                elif name.endswith(".bin") and "sheet" in name:
                    if plain_records(b"".join(_pieces(archive, member)))[1]:
                        found.changed.add(member.filename)
                elif name.endswith((".xml", ".bin", ".rels")):
                    _check_sheet(archive, member, found)
    except _FAULTS:
        raise Refusal("it is damaged; is it whole?") from None
    return found


def _check_member(member: zipfile.ZipInfo, left: int) -> int:
    """The bytes that it unpacks to, which are those that it says: else its checksum is wrong."""
    if member.flag_bits & 1:
        raise Refusal("it is encrypted; save it without a password")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Refusal("it is packed in a way that is not read; pack it with deflate")
    if member.file_size > min(left, max(SMALL, MOST_RATIO * member.compress_size)):
        raise Refusal("it unpacks to a multiple of its size, as a zip bomb does")
    return member.file_size


def _pieces(archive: zipfile.ZipFile, member: zipfile.ZipInfo, end: bytes = b"") -> Iterator[bytes]:
    """The bytes of a part; with the name of an element, in pieces that hold whole ones."""
    held, plain, ends = b"", b"</" + end + b">", re.compile(rb"</(?:[\w-]+:)?" + end + rb"\s*>")
    with archive.open(member) as stream:
        while raw := stream.read(_PIECE):
            if not end:
                yield raw
                continue
            held += raw
            cut = held.rfind(plain) + len(plain) if plain in held else 0
            cut = cut or max((found.end() for found in ends.finditer(held)), default=0)
            if cut or len(held) > MOST_ROW:
                yield held[: cut or None]
                held = held[cut:] if cut else b""
    yield held


def _check_sheet(archive: zipfile.ZipFile, member: zipfile.ZipInfo, found: Parts) -> None:
    """A part of Excel's XML: its cells' places, formulas without values, cells that the library would lose."""
    far, rows = False, 0
    for piece in _pieces(archive, member, b"row"):
        rows += piece.count(b"<row") + piece.count(b":row")
        if rows > 2 * MOST_ROWS:  # a closing tag may look like an opening one
            raise Refusal(f"it has over {MOST_ROWS:,} rows")
        if b"&#" in piece and _HIDDEN_PLACE.search(piece):
            raise Refusal("a place in a sheet is written with character references")
        far = far or _FAR.search(piece) is not None or _is_odd(piece)
        if b"<f" in piece or b":f" in piece:
            for cell in _UNCALCULATED.finditer(piece):
                attributes = cell[1].replace(b"'", b'"')
                if not (b't="str"' in attributes and cell[0].endswith((b"/>", b"v>"))):
                    _refuse_formula(attributes)
        lost = (b'"e"' in piece or b"'e'" in piece) and _ERROR.search(piece)
        lost = lost or (b">-" in piece and _NEGATIVE.search(piece))
        lost = lost or (b"date1904" in piece and _NO_1904.search(piece))
        if lost or (b"numFmtId" in piece and _ASIAN_DATE.search(piece)):
            found.changed.add(member.filename)
    if far:
        _check_reach(archive, member)


def _is_odd(piece: bytes) -> bool:
    """Whether a row or cell may have a place that is written in another way, or none, and is far."""
    tags = sum(piece.count(sign) for sign in (b"<c", b":c", b"<row", b":row"))
    if piece.count(b' r="') >= tags:
        return False
    rows, columns = _reach(piece)
    return rows >= 1_000_000 or columns > 130


def _reach(piece: bytes) -> tuple[int, int]:
    """The last row and column that may be meant: a row or cell without a place stands behind the one before it."""
    rows = columns = 0
    for row in _SHEET_ROW_END.split(piece):
        places = _PLACE.findall(row)
        columns = max([columns, *(_number(name) for name, _ in places)])
        rows = max([rows, *(int(digits[:9] or 0) for _, digits in places)])
        if _PLACELESS.search(row):
            columns = max(columns, len(_SHEET_CELL.findall(row)) + max([0, *(_number(name) for name, _ in places)]))
    return rows, columns


def _check_reach(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse a sheet whose cells go too far."""
    rows = columns = placeless = 0
    for piece in _pieces(archive, member, b"row"):
        down, right = _reach(piece)
        rows, columns = max(rows, down), max(columns, right)
        placeless += len(_PLACELESS_ROW.findall(piece))
    check_area(rows + placeless, columns)


def _number(name: bytes) -> int:
    """A column's number from 1, by its letters."""
    number = 0
    for letter in name.upper():
        number = number * 26 + letter - 64
    return number


def _refuse_formula(attributes: bytes) -> None:
    place = re.search(rb'\br\s*=\s*"([A-Z]+\d+)"', attributes)
    at = f"cell {place[1].decode()}" if place else "a cell"
    raise Refusal(f"{at} holds a formula without its value; open it in Excel or LibreOffice and save it again")


def _check_open_document(archive: zipfile.ZipFile, member: zipfile.ZipInfo, found: Parts) -> None:
    """How far the rows and cells of OpenDocument go that stand for several."""
    rows = columns = blank = spread = 0
    xml = expat.ParserCreate()  # the library would wait for ever for a tag that is never closed
    for piece in _pieces(archive, member, b"table-row"):
        try:
            xml.Parse(piece)
        except (expat.ExpatError, LookupError, ValueError):
            raise Refusal("its content is not XML; is it whole?") from None
        found.durations.update(text.decode("utf-8", "replace") for text in _TIMES.findall(piece))
        if _NO_VALUE.search(piece):
            raise Refusal("it holds a formula without its value; open it in LibreOffice and save it again")
        if any(pattern.search(piece) for pattern, _ in _ODS_PLAIN):
            found.changed.add(member.filename)
        for row in _ROW_END.split(piece):
            if _TABLE_END.search(row):
                rows = blank = 0
            head = _ROW.search(row)
            if head is None:
                continue
            times = sum(_times(text) for kind, text in _REPEATED.findall(head[1]) if kind == b"rows") or 1
            width = _width(row[head.end() :])
            if not width:
                blank += times
                continue
            rows, columns, blank = rows + blank + times, max(columns, width), 0
            check_area(rows, columns)
            spread += _spread(row[head.end() :], times)
            if spread > MOST_SPREAD:
                raise Refusal("it repeats texts or blanks beyond measure; save it as CSV")
    try:
        xml.Parse(b"", True)
    except expat.ExpatError:
        raise Refusal("its content is not XML; is it whole?") from None


def _spread(row: bytes, times: int) -> int:
    """The characters of a row's cells that are laid out more often than they are written."""
    if times == 1 and b"columns-repeated" not in row and not _BLANKS.search(row):
        return 0
    found, cells = 0, list(_CELL.finditer(row))
    for cell, after in zip(cells, [*(c.start() for c in cells[1:]), len(row)], strict=True):
        inside = row[cell.end() : after]
        again = times * (sum(_times(text) for kind, text in _REPEATED.findall(cell[1]) if kind == b"columns") or 1)
        blanks = sum(_times(text) for text in _BLANKS.findall(inside))
        size = blanks + (len(inside) + len(cell[1]) if b"value" in cell[1] or b"<" in inside.lstrip()[1:] else 0)
        found += size * again if again > 1 else blanks
    return found


def _width(row: bytes) -> int:
    """The columns of a row up to the last cell that may hold something."""
    row = row.rstrip()
    while (last := _LAST_BLANK.search(row[-1000:])) is not None:
        row = row[: len(row) - len(row[-1000:]) + last.start()].rstrip()
    if b"columns-repeated" not in row:
        return row.count(b"table-cell")
    return sum(
        sum(_times(text) for kind, text in _REPEATED.findall(cell) if kind == b"columns") or 1
        for cell in _CELL.findall(row)
    )


def _times(text: bytes) -> int:
    if not (text.isdigit() and len(text) < 19):
        raise Refusal(f"{text[:20].decode('ascii', 'replace')!r} is not a number of repetitions")
    return int(text)

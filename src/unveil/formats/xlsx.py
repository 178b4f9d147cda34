"""Excel's workbooks (.xlsx, .xlsm), read as they are unpacked (ECMA-376, part 1, clause 18).

A cell is the text it shows, but for numbers, which keep all their digits. Cost: linear; memory holds the texts that
cells share, and the rows of one block.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from unveil.formats import sheet_values
from unveil.formats.office import OfficeBook
from unveil.formats.sheet_values import BOOLEANS, Shown, day, format_of, uncalculated
from unveil.formats.survey import Refusal
from unveil.formats.workbook import (
    Cells,
    Ended,
    Handlers,
    Kept,
    Row,
    SheetXml,
    as_number,
    check_column,
    check_row,
    elements,
    local,
    parsed,
)

__all__ = ["Xlsx"]

_SECTIONS = (
    *("numFmts", "fonts", "fills", "borders", "cellStyleXfs", "cellXfs", "cellStyles", "dxfs", "tableStyles"),
    *("colors", "extLst"),
)
# A cell behind its place: attributes; then nothing, a value with or without its formula, or a text within the cell.
_PLAIN = (
    rb'((?: [a-z]+="[^"<>&\t\r\n]*")*) ?(?:/>|>(?:(<@f[^>]*>[^<]*</@f>|<@f[^>]*/>)?<@v>([^<&\r]*)</@v>'
    rb"|<@is><@t[^>]*>([^<&\r]*)</@t></@is>)?</@c>)\s*"
)
_ATTRIBUTE = re.compile(rb' ([a-z]+)="([^"]*)"')
_ESCAPED = re.compile("_x((?![dD][89a-fA-F])[0-9A-Fa-f]{4})_")  # not halves of a sign
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.0+|(\.\d*?[1-9])0*)?Z?)?", re.ASCII)


class Xlsx(OfficeBook):
    """A workbook in XML."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "xl/workbook.xml")
        for tag, a in elements(self._parts.blocks(self._related.main)):
            if tag == "sheet":
                self._add_sheet(a.get("name", ""), a.get("id", ""), a.get("state", "visible") != "visible")
            elif tag == "workbookPr" and "date1904" in a:  # an extension of the same name does not say it
                self._from_1904 = a["date1904"] in ("1", "true")

    def rows(self, sheet: str) -> Iterator[Row]:
        """The rows of a sheet, by their numbers."""
        return _Rows(self._texts, self._shown, self._from_1904).read(lambda: self._parts.blocks(self._sheets[sheet]))

    def _shared_texts(self, part: str) -> list[str]:
        texts: list[str] = []
        held: list[str] = []
        reading = phonetic = False

        def start(tag: str, _: dict[str, str]) -> None:
            nonlocal reading, phonetic
            tag = local(tag)
            if tag == "t":
                reading = not phonetic
            elif tag == "rPh":
                phonetic = True

        def end(tag: str) -> None:
            nonlocal reading, phonetic
            tag = local(tag)
            if tag == "t":
                reading = False
            elif tag == "si":
                texts.append(_unescaped("".join(held)))
                held.clear()
            elif tag == "rPh":
                phonetic = False

        def text(data: str) -> None:
            if reading:
                held.append(data)

        for _ in parsed(self._parts.blocks(part), Handlers(start, end, text)):
            pass
        return texts

    def _formats(self, part: str) -> list[Shown]:
        codes: dict[int, str] = {}
        used: list[int] = []
        section = ""  # conditional formats, below dxfs, have numbers of their own
        for tag, a in elements(self._parts.blocks(part)):
            if tag in _SECTIONS:
                section = tag
            elif tag == "numFmt" and section == "numFmts":
                codes[_whole(a.get("numFmtId"))] = a.get("formatCode", "")
            elif tag == "xf" and section == "cellXfs":
                used.append(_whole(a.get("numFmtId", "0")))
        kinds = {number: format_of(number, codes) for number in set(used)}
        return [kinds[number] for number in used]


class _Rows(SheetXml[Row]):
    """Plain cells name their places first and hold a value without signs that are written otherwise."""

    def __init__(self, texts: list[str], shown: list[Shown], from_1904: bool) -> None:
        super().__init__()
        self._texts, self._shown, self._from_1904 = texts, shown, from_1904
        self._number = 0  # of the last row
        self._columns: dict[bytes, int] = {}  # by their letters
        self._kept = Kept[bytes, str]()  # texts by the bytes of their cells, without their places

    def _begins(self, tag: str, attributes: dict[str, str]) -> bool:
        return local(tag) == "sheetData"

    def _cut(self, tag: str) -> tuple[bytes, bytes, bytes]:
        prefix = tag.removesuffix("sheetData").encode()
        self._cell = b'<%bc r="' % prefix
        self._row = re.compile(rb'\s*<%brow r="([0-9]{1,9})"[^>/]*>' % prefix)
        self._behind = re.compile(_PLAIN.replace(b"@", prefix))
        return b"<%bsheetData>" % prefix, b"</%brow>" % prefix, b"</%bsheetData" % prefix

    def _plain(self, row: bytes) -> bool:
        parts = row.split(self._cell)
        begin = self._row.fullmatch(parts[0])
        if begin is None:
            return False
        digits = begin[1]
        cells: Cells = []
        kept, columns = self._kept.get, self._columns.get
        for part in parts[1:]:
            place, _, rest = part.partition(b'"')
            letters = place.removesuffix(digits)
            text, column = kept(rest), columns(letters)
            if text is None or column is None or len(letters) == len(place):
                found = self._behind.fullmatch(rest)
                if found is None or not letters.isalpha() or len(letters) == len(place):
                    return False
                column = self._column(letters)
                text = self._kept.keep(rest, self._said(found, column, int(digits)))
            if text:
                cells.append((column, text))
        self._number = int(digits)
        if cells:
            self._rows.append((self._number, cells))
        return True

    def _said(self, found: re.Match[bytes], column: int, number: int) -> str:
        said = {name: value.decode() for name, value in _ATTRIBUTE.findall(found[1])}
        raw = (found[3] or found[4] or b"").decode()
        bare = found[2] is not None and said.get(b"t") != "str"
        return self._text(raw, said.get(b"t"), said.get(b"s"), bare, (column, number))

    def _handlers(self) -> Handlers:
        cells: Cells = []
        held: list[str] = []
        digits = ""  # the number of the row, as it is written
        column, long = -1, 0
        kind: str | None = None
        style: str | None = None
        reading = formula = valued = within = phonetic = False

        def start(tag: str, attributes: dict[str, str]) -> None:
            nonlocal cells, digits, column, long, kind, style, reading, formula, valued, within, phonetic
            tag = local(tag)
            if tag == "c":
                place = attributes.get("r")
                if place is None:
                    column += 1
                else:
                    letters = place.rstrip("0123456789")
                    if place[len(letters) :] != digits:
                        raise Refusal(f"cell {place[:20]} stands in row {self._number}")
                    column = self._column(letters.encode())
                kind, style = attributes.get("t"), attributes.get("s")
                formula = valued = False
            elif tag in ("v", "t"):
                reading, valued = within and not phonetic, True
            elif tag == "f":
                formula = True
            elif tag == "row" and within:
                said = attributes.get("r")
                self._number = self._number + 1 if said is None else _whole(said)
                digits = str(self._number) if said is None else said.strip()
                cells, column, long = [], -1, 0
            elif tag == "sheetData":
                within = True
            elif tag == "rPh":
                phonetic = True

        def end(tag: str) -> None:
            nonlocal reading, phonetic, long
            tag = local(tag)
            if tag in ("v", "t"):
                reading = False
            elif tag == "c" and within:
                bare = formula and not (kind == "str" and valued)
                text = self._text("".join(held), kind, style, bare, (column, self._number))
                held.clear()
                if text:
                    cells.append((column, text))
                    long += len(text)
                    check_row(len(cells), long)
            elif tag == "row" and within:
                if cells:
                    self._rows.append((self._number, cells))
            elif tag == "sheetData":
                raise Ended
            elif tag == "rPh":
                phonetic = False

        def text(data: str) -> None:
            if reading:
                held.append(data)

        return Handlers(start, end, text)

    def _column(self, letters: bytes) -> int:
        known = self._columns.get(letters)
        if known is not None:
            return known
        column = 0
        for letter in letters[:8].upper():
            if not 65 <= letter <= 90:
                raise Refusal(f"{letters[:20].decode(errors='replace')!r} names no column")
            column = 26 * column + letter - 64
        check_column(column - 1)
        if not letters:
            raise Refusal("a cell names a row and no column")
        self._columns[letters] = column - 1
        return column - 1

    def _text(self, raw: str, kind: str | None, style: str | None, bare: bool, place: tuple[int, int]) -> str:
        """What a cell shows; empty if it holds nothing. bare: a formula that must have a value."""
        if not raw:
            if bare:
                raise Refusal(uncalculated(*place))
            return ""
        if kind == "s":
            return _at(self._texts, raw.strip())
        if kind in ("str", "inlineStr"):
            return _unescaped(raw)
        if kind == "b":
            return BOOLEANS[raw.strip() in ("1", "true")]
        if kind == "e":
            return raw.strip()
        if kind == "d":
            return _iso(raw)
        value, used = as_number(raw), _whole(style or "0")
        shown = self._shown[used] if 0 <= used < len(self._shown) else Shown.NUMBER
        return sheet_values.number(value, shown, self._from_1904)


def _at(texts: list[str], raw: str) -> str:
    place = int(raw) if raw.isdecimal() and raw.isascii() and len(raw) < 12 else -1
    if not 0 <= place < len(texts):
        raise Refusal(f"a cell has the shared text {raw[:20]}, of which there are {len(texts):,}")
    return texts[place]


def _whole(text: str | None) -> int:
    text = (text or "").strip()
    if not (text.isdecimal() and text.isascii()) or len(text) > 12:
        raise Refusal(f"{text[:20]!r} is no whole number")
    return int(text)


def _iso(text: str) -> str:
    """A date that is written as one.

    >>> sheet_values.without_marks([_iso("2024-02-29"), _iso("2024-02-29T10:30:00.000Z"), _iso("10:30:00")])
    ['2024-02-29 00:00:00', '2024-02-29 10:30:00', '10:30:00']
    """
    found = _ISO.fullmatch(text.strip())
    return day(found[1], found[2] and found[2] + (found[3] or "")) if found else text


def _unescaped(text: str) -> str:
    """Signs that XML has no room for: _x000D_ is a line's end.

    >>> _unescaped("a_x000D_b"), _unescaped("_x005F_x000D_"), _unescaped("_x12_")
    ('a\\rb', '_x000D_', '_x12_')
    """
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text

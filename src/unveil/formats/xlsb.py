"""Excel's binary workbooks (.xlsb), read as they are unpacked ([MS-XLSB], Excel Binary File Format).

A part is a list of records: a kind, a size and as many bytes. Cost: linear; memory holds the texts that cells share,
and the rows of one block.
"""

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unveil.formats import sheet_values
from unveil.formats.office import OfficeBook
from unveil.formats.sheet_values import BOOLEANS, ERRORS, Shown, format_of
from unveil.formats.survey import Refusal
from unveil.formats.workbook import Cells, Kept, Row, check_column

__all__ = ["Xlsb"]

MOST_RECORD = 2**23  # bytes
_ROW, _TEXT_ITEM, _FORMAT, _STYLE, _RICH = 0, 19, 44, 47, 62
_ROWS_END, _BOOK_SAYS, _SHEET, _STYLES, _STYLES_END = 146, 153, 156, 617, 618
# Cells by what they hold; formulas by what they come to; the short ones, which stand next to the cell before.
_WHAT = {1: "blank", 2: "packed", 3: "error", 4: "bool", 5: "number", 6: "text", 7: "shared"}
_KINDS = {**_WHAT, 8: "text", 9: "number", 10: "bool", 11: "error", _RICH: "rich"}
_SHORT = {kind + 11: what for kind, what in _WHAT.items()}


class Xlsb(OfficeBook):
    """A workbook in records."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "xl/workbook.bin")
        for kind, data in _records(self._parts.blocks(self._related.main)):
            if kind == _BOOK_SAYS:
                self._from_1904 = bool(_unpacked("<I", data) & 1)
            elif kind == _SHEET:
                identity, at = _string(data, 8)
                self._add_sheet(_string(data, at)[0], identity, bool(_unpacked("<I", data)))

    def rows(self, sheet: str) -> Iterator[Row]:
        """The rows of a sheet, by their numbers."""
        number, column = 0, -1
        cells: Cells = []
        kept = Kept[tuple[int, bytes], tuple[int, str]]()  # what cells hold, by their bytes
        for kind, data in _records(self._parts.blocks(self._sheets[sheet])):
            if kind in _KINDS:
                known = kept.get((kind, data))
                if known is None:
                    column = _unpacked("<I", data)
                    check_column(column)
                    known = kept.keep((kind, data), (column, self._text(_KINDS[kind], data, 4)))
                column, text = known
            elif kind in _SHORT:
                column += 1
                check_column(column)
                text = self._text(_SHORT[kind], data, 0)
            elif kind in (_ROW, _ROWS_END):
                if cells:
                    yield number, cells
                cells, column = [], -1
                if kind == _ROWS_END:
                    return
                number = _unpacked("<I", data) + 1
                continue
            else:
                continue
            if text:
                cells.append((column, text))
                check_column(len(cells) - 1)
        raise Refusal("it breaks off")

    def _text(self, what: str, data: bytes, at: int) -> str:
        """What a cell holds; `at` is where its style stands."""
        if what == "blank":
            return ""
        value = at + 4
        if what == "shared":
            place = _unpacked("<I", data, value)
            if place >= len(self._texts):
                raise Refusal(f"a cell has the shared text {place:,}, of which there are {len(self._texts):,}")
            return str(self._texts[place])
        if what in ("text", "rich"):
            return _string(data, value + (what == "rich"))[0]
        if what == "bool":
            return BOOLEANS[bool(_unpacked("<B", data, value))]
        if what == "error":
            return ERRORS.get(_unpacked("<B", data, value), "#ERROR")
        number = _unpacked("<d", data, value) if what == "number" else _packed(_unpacked("<I", data, value))
        if not math.isfinite(number):
            raise Refusal("a cell holds what is no number")
        style = _unpacked("<I", data, at) & 0xFFFFFF
        shown = self._shown[style] if style < len(self._shown) else Shown.NUMBER
        return sheet_values.number(number, shown, self._from_1904)

    def _shared_texts(self, part: str) -> list[str]:
        return [_string(data, 1)[0] for kind, data in _records(self._parts.blocks(part)) if kind == _TEXT_ITEM]

    def _formats(self, part: str) -> list[Shown]:
        codes: dict[int, str] = {}
        used: list[int] = []
        within = False
        for kind, data in _records(self._parts.blocks(part)):
            if kind == _FORMAT:
                codes[_unpacked("<H", data)] = _string(data, 2)[0]
            elif kind in (_STYLES, _STYLES_END):
                within = kind == _STYLES
            elif kind == _STYLE and within:
                used.append(_unpacked("<H", data, 2))
        return [format_of(number, codes) for number in used]


def _records(blocks: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Kind and bytes of each record."""
    held = b""
    for block in blocks:
        held += block
        at, end = 0, len(held)
        while True:
            start = at
            if start + 2 > end:
                break
            kind = held[start]
            if kind < 128 and held[start + 1] < 128:  # nearly all are of this form
                stop = start + 2 + held[start + 1]
                if stop > end:
                    break
                yield kind, held[start + 2 : stop]
                at = stop
                continue
            start += 1
            if kind >= 128:
                kind = kind & 127 | (held[start] & 127) << 7
                start += 1
            size = shift = 0
            whole = False
            while start < end and shift < 28:
                byte = held[start]
                start += 1
                size |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    whole = True
                    break
            if size > MOST_RECORD or (shift == 28 and not whole):
                raise Refusal("a record of it is too long")
            if not whole or start + size > end:
                break
            yield kind, held[start : start + size]
            at = start + size
        held = held[at:]
    if held:
        raise Refusal("its last record is cut off")


def _unpacked(form: str, data: bytes, at: int = 0) -> Any:
    """A number, whole unless its form is a double's."""
    try:
        return struct.unpack_from(form, data, at)[0]
    except struct.error:
        raise Refusal("a record of it is too short") from None


def _string(data: bytes, at: int) -> tuple[str, int]:
    """A text and where it ends: its length in units of two bytes, and these."""
    length = _unpacked("<I", data, at)
    if length == 0xFFFFFFFF:
        return "", at + 4
    stop = at + 4 + 2 * length
    if stop > len(data):
        raise Refusal("a text of it is cut off")
    return data[at + 4 : stop].decode("utf-16-le", errors="replace"), stop


def _packed(number: int) -> float:
    """A number in four bytes: a whole one or the upper half of a double, perhaps in hundredths."""
    if number & 2:
        value = float((number ^ 0x80000000) - 0x80000000 >> 2)
    else:
        [value] = struct.unpack("<d", struct.pack("<Q", (number & 0xFFFFFFFC) << 32))
    return value / 100 if number & 1 else value

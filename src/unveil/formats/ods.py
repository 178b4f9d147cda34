"""OpenDocument's sheets (.ods), read as they are unpacked (OpenDocument 1.3, part 3, clauses 9 and 19).

All sheets stand in one part. A cell says its value beside the text it shows; rows and cells may stand for many.
Cost: linear; memory holds the rows of one block.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

from unveil.formats import sheet_values
from unveil.formats.sheet_values import Shown, clock
from unveil.formats.survey import Refusal
from unveil.formats.workbook import (
    Cells,
    Handlers,
    Row,
    Sheet,
    Xml,
    Zipped,
    check_column,
    elements,
    inside,
    local,
    parsed,
    split_rows,
)

__all__ = ["Ods"]

MOST_ROWS = 2**24
MOST_KEPT = 2**16
MOST_TAG = 2**24  # bytes
_CONTENT = "content.xml"
_NUMBERS = ("float", "percentage", "currency")
_CELLS = ("table:table-cell", "table:covered-table-cell")
_END = b"</table:table>"
_TABLE = re.compile(rb"""<table:table(?:\s+[^\s=<>]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(/?)>""")
_PLAIN_ROW = re.compile(rb'\s*<table:table-row(?: table:style-name="[^"<>&]*")?>\s*')
_PLAIN_CELL = re.compile(
    rb"""((?: [a-z]+:[a-z-]+="[^"<>&]*")*) ?(?:/>|>(?:<text:p>([^<&]*)</text:p>)?</table:table-cell>)\s*"""
)
_ATTRIBUTE = re.compile(rb' ([a-z]+:[a-z-]+)="([^"]*)"')
_BLANKS = re.compile("[ \t\r\n]+")
_DATE = re.compile(r"(-?\d{4,}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.0+|(\.\d*?)0*)?)?", re.ASCII)
_TIME = re.compile(r"PT(\d{1,9})H(\d\d?)M(\d\d?(?:[.,]\d+)?)S", re.ASCII)


class Ods:
    """A workbook of OpenDocument."""

    def __init__(self, path: Path) -> None:
        self._parts = Zipped(path)
        if _CONTENT not in self._parts:
            raise Refusal(f"it holds no {_CONTENT}")

    def sheets(self) -> list[Sheet]:
        """In the file's order."""
        styles = _Styles()
        found = inside(self._parts.blocks(_CONTENT), styles.begins)
        if found is not None:
            return styles.sheets(_tables(found[1]))
        for _ in parsed(self._parts.blocks(_CONTENT), Handlers(styles.begins)):
            pass
        return styles.sheets(())

    def rows(self, sheet: str) -> Iterator[Row]:
        """The rows of a sheet, by their numbers."""
        for number, times, cells in _Rows(sheet).read(lambda: self._parts.blocks(_CONTENT)):
            if number + times > MOST_ROWS:
                raise Refusal(f"its rows go on to {number + times:,}; a sheet has {MOST_ROWS:,} at most")
            for more in range(times):
                yield number + more, cells


class _Styles:
    """The sheets whose tags were met, and the styles before them that hide one."""

    def __init__(self) -> None:
        self._style = ""
        self._hiding: set[str] = set()
        self._tables: list[dict[str, str]] = []

    def begins(self, tag: str, attributes: dict[str, str]) -> bool:
        """Whether it is a sheet."""
        if tag == "table:table":
            self._tables.append({local(name): value for name, value in attributes.items()})
            return True
        if tag == "style:style":
            self._style = attributes.get("style:name", "")
        elif tag == "style:table-properties" and attributes.get("table:display") == "false":
            self._hiding.add(self._style)
        return False

    def sheets(self, more: Iterable[dict[str, str]]) -> list[Sheet]:
        """What was met, and more of it."""
        tables = [*self._tables, *more]
        return [Sheet(table.get("name", ""), table.get("style-name") in self._hiding) for table in tables]


def _tables(blocks: Iterable[bytes]) -> Iterator[dict[str, str]]:
    """What the tags of further sheets say; the bytes begin within a sheet."""
    held, within = b"", True
    for block in blocks:
        held += block
        while True:
            if within:
                stop = held.find(_END)
                held = held[stop + len(_END) :] if stop >= 0 else held[-len(_END) :]
                within = stop < 0
                if within:
                    break
            found = _TABLE.search(held)
            if found is None:
                held = held[max(held.rfind(b"<"), 0) :]
                if len(held) > MOST_TAG:
                    raise Refusal("a tag of it is too long")
                break
            held, within = held[found.end() :], not found[1]
            [(_, said)] = elements([found[0] + (b"" if found[1] else _END)])
            yield said


class _Rows:
    """The rows of one sheet as the XML comes: number, how many times, and what it holds.

    As with Excel's sheets, plain cells are cut apart and known by their bytes; the parser gets the other rows.
    """

    def __init__(self, sheet: str) -> None:
        self._sheet = sheet
        self._rows: list[tuple[int, int, Cells]] = []
        self._next = 1  # the number of the next row
        self._ended = False
        self._kept: dict[bytes, tuple[str, int]] = {}  # text and number of cells by their bytes

    def read(self, blocks: Callable[[], Iterator[bytes]]) -> Iterator[tuple[int, int, Cells]]:
        """Each row once its block is read."""
        handlers = self._handlers()
        found = inside(blocks(), lambda tag, said: tag == "table:table" and said.get("table:name", "") == self._sheet)
        if found is None:
            for _ in parsed(blocks(), handlers):
                yield from self._taken()
                if self._ended:
                    return
            return
        xml = Xml(handlers)
        xml.feed(b"<table:table table:name=%b>" % quoteattr(self._sheet).encode())
        for row, ended in split_rows(found[1], b"</table:table-row>", _END):
            cells = self._cells(row.split(b"<table:table-cell")) if ended else None
            if cells is None:
                xml.feed(row + b"</table:table-row>" if ended else row)
                yield from self._taken()
                continue
            if cells:
                yield self._next, 1, cells
            self._next += 1

    def _taken(self) -> list[tuple[int, int, Cells]]:
        rows = self._rows[:]
        self._rows.clear()
        return rows

    def _cells(self, parts: list[bytes]) -> Cells | None:
        """The cells of a plain row, which was cut where they begin; None if it is not plain."""
        if _PLAIN_ROW.fullmatch(parts[0]) is None:
            return None
        cells: Cells = []
        column = 0
        for part in parts[1:]:
            known = self._kept.get(part)
            if known is None:
                found = _PLAIN_CELL.fullmatch(part)
                if found is None:
                    return None
                known = self._known(part, found)
            text, count = known
            if text:
                if count == 1:
                    cells.append((column, text))
                else:
                    check_column(column + count - 1)
                    cells.extend((column + more, text) for more in range(count))
            column += count
        check_column(column - 1 if cells and cells[-1][0] == column - 1 else 0)
        return cells

    def _known(self, part: bytes, found: re.Match[bytes]) -> tuple[str, int]:
        said = {name.decode(): value.decode() for name, value in _ATTRIBUTE.findall(found[1])}
        shown = _BLANKS.sub(" ", (found[2] or b"").decode()).removeprefix(" ")
        known = _text(said, [shown]), _times(said.get("table:number-columns-repeated"))
        if len(self._kept) > MOST_KEPT:
            self._kept.clear()
        self._kept[part] = known
        return known

    def _handlers(self) -> Handlers:
        cells: Cells = []
        shown: list[str] = []  # the text, piece by piece
        cell: dict[str, str] = {}
        times, column = 1, 0
        depth, aside = 0, 0  # of tables; of notes and pictures, whose text is no cell's
        within = reading = False

        def start(tag: str, attributes: dict[str, str]) -> None:
            nonlocal cells, cell, times, column, depth, aside, within, reading
            if tag == "table:table":
                depth += 1
                if depth == 1 and attributes.get("table:name", "") == self._sheet and not self._ended:
                    within = True
                elif depth > 1 and within:
                    raise Refusal("a cell holds a table")
            elif not within:
                return
            elif aside or tag == "office:annotation" or tag.startswith("draw:"):
                aside += 1
            elif tag in _CELLS:
                cell = attributes
                shown.clear()
            elif tag == "text:p":
                if shown:
                    shown.append("\n")
                reading = True
            elif tag == "table:table-row":
                times = _times(attributes.get("table:number-rows-repeated"))
                cells, column = [], 0
            elif tag == "text:s":
                shown.append(" " * min(_times(attributes.get("text:c")), 10_000))
            elif tag in ("text:tab", "text:line-break"):
                shown.append("\t" if tag == "text:tab" else "\n")

        def end(tag: str) -> None:
            nonlocal column, depth, aside, within, reading
            if not within:
                depth -= tag == "table:table"
            elif aside:
                aside -= 1
            elif tag == "text:p":
                reading = False
            elif tag in _CELLS:
                repeated = cell.get("table:number-columns-repeated")
                count = 1 if repeated is None else _times(repeated)
                text = _text(cell, shown) if cell or shown else ""
                if text:
                    check_column(column + count - 1)
                    cells.extend((column + more, text) for more in range(count))
                column += count
            elif tag == "table:table-row":
                if cells:
                    self._rows.append((self._next, times, cells))
                self._next += times
            elif tag == "table:table":
                depth -= 1
                within, self._ended = False, True

        def text(data: str) -> None:
            if reading and not aside:
                # Blanks at the beginning and more than one are layout; those that count are elements.
                data = _BLANKS.sub(" ", data)
                shown.append(data[1:] if data[0] == " " and (not shown or shown[-1].endswith((" ", "\n"))) else data)

        return Handlers(start, end, text)


def _text(cell: dict[str, str], shown: list[str]) -> str:
    kind = cell.get("office:value-type") or cell.get("calcext:value-type")
    if kind in _NUMBERS and cell.get("calcext:value-type") != "error":
        raw = cell.get("office:value", "")
        try:
            value = float(raw)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise Refusal(f"{raw[:20]!r} is no number")
        return sheet_values.number(value, Shown.NUMBER)
    if kind == "boolean":
        return cell.get("office:boolean-value", "")
    if kind == "date":
        found = _DATE.fullmatch(cell.get("office:date-value", ""))
        return f"{found[1]} {found[2] or '00:00:00'}{found[3] or ''}" if found else "".join(shown)
    if kind == "time":
        found = _TIME.fullmatch(cell.get("office:time-value", ""))
        if found is None:
            return "".join(shown)
        hours, minutes, seconds = int(found[1]), int(found[2]), float(found[3].replace(",", "."))
        return clock(round(1000 * (3600 * hours + 60 * minutes + seconds)))
    if kind == "string" and cell.get("office:string-value") and cell.get("calcext:value-type") != "error":
        return cell["office:string-value"]
    return "".join(shown)


def _times(text: str | None) -> int:
    if text is None:
        return 1
    if not text.strip().isdecimal() or len(text) > 12:
        raise Refusal(f"{text[:20]!r} is no number of repetitions")
    return max(int(text), 1)

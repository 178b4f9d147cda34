"""OpenDocument's sheets (.ods), read as they are unpacked (OpenDocument 1.3, part 3, clauses 9 and 19).

All sheets stand in one part. A cell says its value beside the text it shows; rows and cells may stand for many.
Cost: linear; memory holds the rows of one block.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

from unveil.formats import sheet_values
from unveil.formats.sheet_values import Shown, clock, day, uncalculated
from unveil.formats.survey import Refusal
from unveil.formats.workbook import (
    MOST_TAG,
    Ended,
    Handlers,
    Kept,
    Row,
    Sheet,
    SheetXml,
    Zipped,
    as_number,
    check_column,
    check_row,
    elements,
    end_of,
    inside,
    is_odd,
    local,
    parsed,
)

__all__ = ["Ods"]

MOST_ROWS = 2**20
MOST_REPEATED = 2**24  # cells
_CONTENT = "content.xml"
_NUMBERS = ("float", "percentage", "currency")
_CELLS = ("table:table-cell", "table:covered-table-cell")
_END = b"</table:table"
_SPACES = {  # what elements and attributes are called here, by the name that a file may give another prefix
    "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0": "calcext",
    **{
        f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0": prefix
        for name, prefix in {"drawing": "draw", **{n: n for n in ("office", "style", "table", "text")}}.items()
    },
}
_TABLE = re.compile(rb"""<table:table(?:\s+[^\s=<>]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(/?)>""")
_PLAIN_ROW = re.compile(rb'\s*<table:table-row(?: table:style-name="[^"<>&]*")?>\s*')
_PLAIN_CELL = re.compile(
    rb"""((?: [a-z]+:[a-z-]+="[^"<>&\t\r\n]*")*) ?(?:/>|>(?:<text:p>([^<&\r]*)</text:p>)?</table:table-cell>)\s*"""
)
_ATTRIBUTE = re.compile(rb' ([a-z]+:[a-z-]+)="([^"]*)"')
_DATE = re.compile(r"(-?\d{4,}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.0+|(\.\d*?[1-9])0*)?Z?)?", re.ASCII)
_TIME = re.compile(r"(-)?P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:[.,]\d{1,9})?)S)?)?", re.ASCII)

Spans = list[tuple[int, int, str]]  # column, how many cells, and their text


class Ods:
    """A workbook of OpenDocument."""

    def __init__(self, path: Path) -> None:
        self._parts = Zipped(path)
        if _CONTENT not in self._parts:
            raise Refusal(f"it holds no {_CONTENT}")

        self._names = _Names()
        inside(self._parts.blocks(_CONTENT), self._names.declared)

    def sheets(self) -> list[Sheet]:
        """In the file's order."""
        styles = _Styles()
        found = None if self._names.differ else inside(self._parts.blocks(_CONTENT), styles.begins)
        further = None if found is None else _tables(found[1])
        if further is None:  # by the parser alone
            styles, further = _Styles(), []
            for _ in parsed(self._parts.blocks(_CONTENT), self._names.usual(Handlers(styles.begins))):
                pass
        return styles.sheets(further)

    def rows(self, sheet: str) -> Iterator[Row]:
        """The rows of a sheet, by their numbers."""
        repeated = 0
        for number, times, spans in _Rows(sheet, self._names).read(lambda: self._parts.blocks(_CONTENT)):
            if number + times - 1 > MOST_ROWS:
                raise Refusal(f"its rows go on to {number + times - 1:,}; a sheet has {MOST_ROWS:,} at most")
            wide = sum(count for _, count, _ in spans)
            repeated += wide * times - len(spans)
            if repeated > MOST_REPEATED:
                raise Refusal(f"it says over {MOST_REPEATED:,} times that a cell is as the one before")
            cells = [(column + more, text) for column, count, text in spans for more in range(count)]
            for more in range(times):
                yield number + more, cells


class _Names:
    """Elements and attributes as they are usually called, whatever prefixes the file's first element declares."""

    def __init__(self) -> None:
        self._usual: dict[str, str] = {}  # usual prefixes by the file's, where they differ

    @property
    def differ(self) -> bool:
        """Whether any does."""
        return bool(self._usual)

    def declared(self, tag: str, attributes: dict[str, str]) -> bool:
        """The first element: what it declares."""
        for name, space in attributes.items():
            prefix = name.removeprefix("xmlns").removeprefix(":")
            if name.startswith("xmlns") and _SPACES.get(space, prefix) != prefix:
                self._usual[prefix] = _SPACES[space]
        return True

    def usual(self, handlers: Handlers) -> Handlers:
        """These, for an element by its usual name."""
        if not self._usual:
            return handlers
        then = handlers.end

        def start(tag: str, attributes: dict[str, str]) -> None:
            handlers.start(self._name(tag), {self._name(n) if ":" in n else n: v for n, v in attributes.items()})

        def end(tag: str) -> None:
            if then is not None:
                then(self._name(tag))

        return Handlers(start, end, handlers.text)

    def _name(self, name: str) -> str:
        prefix, _, rest = name.rpartition(":")
        usual = self._usual.get(prefix, prefix)
        return f"{usual}:{rest}" if usual else rest


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
        names = [table.get("name", "") for table in tables]
        if len(set(names)) != len(names):
            raise Refusal("two of its sheets have one name")
        return [Sheet(table.get("name", ""), table.get("style-name") in self._hiding) for table in tables]


def _tables(blocks: Iterable[bytes]) -> list[dict[str, str]] | None:
    """What the tags of further sheets say, None if only a parser can tell; the bytes begin within a sheet."""
    found: list[dict[str, str]] = []
    held, within = b"", True
    for block in blocks:
        held += block
        if is_odd(held):
            return None
        while True:
            if within:
                stop = end_of(held, _END)
                held = held[stop + len(_END) :] if stop >= 0 else held[-len(_END) :]
                within = stop < 0
                if within:
                    break
            tag = _TABLE.search(held)
            if tag is None:
                held = held[max(held.rfind(b"<"), 0) :]
                if len(held) > MOST_TAG:
                    raise Refusal("a tag of it is too long")
                break
            held, within = held[tag.end() :], not tag[1]
            [(_, said)] = elements([tag[0] + (b"" if tag[1] else _END + b">")])
            found.append(said)
    return found


class _Rows(SheetXml[tuple[int, int, Spans]]):
    """The rows of one sheet: number, how many times, and what it holds."""

    def __init__(self, sheet: str, names: "_Names") -> None:
        super().__init__()
        self._sheet, self._names = sheet, names
        self._next = 1  # the number of the next row
        self._kept = Kept[bytes, tuple[str, int]]()  # text and number of cells by their bytes

    def _begins(self, tag: str, attributes: dict[str, str]) -> bool:
        named = tag == "table:table" and attributes.get("table:name", "") == self._sheet
        return named and not self._names.differ  # plain rows have usual names

    def _cut(self, tag: str) -> tuple[bytes, bytes, bytes]:
        begin = f"<table:table table:name={quoteattr(self._sheet)}>"
        return begin.encode(), b"</table:table-row>", _END

    def _plain(self, row: bytes) -> bool:
        parts = row.split(b"<table:table-cell")
        if _PLAIN_ROW.fullmatch(parts[0]) is None:
            return False
        cells: Spans = []
        column = 0
        for part in parts[1:]:
            known = self._kept.get(part)
            if known is None:
                found = _PLAIN_CELL.fullmatch(part)
                said = _said(found) if found is not None else None
                if said is None:
                    return False
                known = self._kept.keep(part, said)
            text, count = known
            if text:
                cells.append((column, count, text))
            column += count
        if cells:
            check_column(cells[-1][0] + cells[-1][1] - 1)
            self._rows.append((self._next, 1, cells))
        self._next += 1
        return True

    def _handlers(self) -> Handlers:
        cells: Spans = []
        shown: list[str] = []  # the text, piece by piece
        cell: dict[str, str] = {}
        times, column, paragraphs, long = 1, 0, 0, 0
        depth, aside = 0, 0  # of tables; of notes and pictures, whose text is no cell's
        within = reading = False

        def start(tag: str, attributes: dict[str, str]) -> None:
            nonlocal cells, cell, times, column, paragraphs, long, depth, aside, within, reading
            if aside:
                aside += 1
            elif tag == "table:table":
                depth += 1
                if within:
                    raise Refusal("a cell holds a table")
                within = depth == 1 and attributes.get("table:name", "") == self._sheet
            elif not within:
                return
            elif tag == "office:annotation" or tag.startswith("draw:"):
                aside = 1
            elif tag in _CELLS:
                cell, paragraphs = attributes, 0
                shown.clear()
            elif tag == "text:p":
                if paragraphs:
                    shown.append("\n")
                paragraphs += 1
                reading = True
            elif tag == "table:table-row":
                times = _times(attributes.get("table:number-rows-repeated"))
                cells, column, long = [], 0, 0
            elif tag == "text:s":
                shown.append(" " * min(_times(attributes.get("text:c")), 10_000))
            elif tag in ("text:tab", "text:line-break"):
                shown.append("\t" if tag == "text:tab" else "\n")

        def end(tag: str) -> None:
            nonlocal column, long, depth, aside, reading
            if aside:
                aside -= 1
            elif not within:
                depth -= tag == "table:table"
            elif tag == "text:p":
                reading = False
            elif tag in _CELLS:
                count = _times(cell.get("table:number-columns-repeated"))
                text = _text(cell, "".join(shown))
                if text:
                    check_column(column + count - 1)
                    cells.append((column, count, text))
                    long += len(text)
                    check_row(len(cells), long)
                elif "table:formula" in cell and "office:value-type" not in cell:
                    raise Refusal(uncalculated(column, self._next))
                column += count
            elif tag == "table:table-row":
                if cells:
                    self._rows.append((self._next, times, cells))
                self._next += times
            elif tag == "table:table":
                raise Ended

        def text(data: str) -> None:
            if reading and not aside:
                shown.append(data)

        return self._names.usual(Handlers(start, end, text))


def _said(found: re.Match[bytes]) -> tuple[str, int] | None:
    """What a plain cell holds and how many it stands for; None if it is a formula without its value."""
    said = {name.decode(): value.decode() for name, value in _ATTRIBUTE.findall(found[1])}
    text = _text(said, (found[2] or b"").decode())
    if not text and "table:formula" in said:
        return None
    return text, _times(said.get("table:number-columns-repeated"))


def _text(cell: dict[str, str], shown: str) -> str:
    """What a cell holds, by its type; a type that says no value it must show."""
    kind = cell.get("office:value-type") or cell.get("calcext:value-type")
    if kind is None or cell.get("calcext:value-type") == "error":
        return shown
    if kind == "string":
        return cell.get("office:string-value") or shown
    text = ""
    if kind in _NUMBERS:
        text = sheet_values.number(as_number(cell.get("office:value", "")), Shown.NUMBER)
    elif kind == "boolean":
        text = cell.get("office:boolean-value", "")
    elif kind == "date":
        found = _DATE.fullmatch(cell.get("office:date-value", ""))
        text = day(found[1], found[2] and found[2] + (found[3] or "")) if found else ""
    elif kind == "time":
        text = _duration(cell.get("office:time-value", ""))
    if not (text or shown):
        raise Refusal(f"a cell of the type {kind[:20]!r} says no value that is one")
    return text or shown


def _duration(text: str) -> str:
    """Hours, minutes and seconds.

    >>> _duration("PT10H30M00S"), _duration("P1DT2H"), _duration("-PT0.5S"), _duration("P1M")
    ('10:30:00', '26:00:00', '-00:00:00.5', '')
    """
    found = _TIME.fullmatch(text)
    if found is None or not any(found.groups()[1:]):
        return ""
    days, hours, minutes = (int(part or 0) for part in found.groups()[1:4])
    seconds = float((found[5] or "0").replace(",", "."))
    whole = clock(round(1000 * (86400 * days + 3600 * hours + 60 * minutes + seconds)))
    return f"-{whole}" if found[1] else whole


def _times(text: str | None) -> int:
    if text is None:
        return 1
    if not text.strip().isdecimal() or len(text) > 12:
        raise Refusal(f"{text[:20]!r} is no number of repetitions")
    return max(int(text), 1)

"""What the readers of spreadsheets have in common: parts of a zip file as they are unpacked, and XML as it comes."""

import math
import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Generic, Protocol, TypeVar
from xml.parsers import expat

from unveil.formats.spreadsheet_size import unpacked
from unveil.formats.survey import Refusal

__all__ = [
    *("MOST_TAG", "Book", "Cells", "Ended", "Handlers", "Kept", "Row", "Sheet", "SheetXml", "Zipped", "as_number"),
    *("check_column", "check_row", "elements", "end_of", "inside", "is_odd", "local", "parsed"),
]

Taken = TypeVar("Taken")
Key = TypeVar("Key")
Value = TypeVar("Value")

MOST_COLUMNS = 2**14  # Excel's and LibreOffice's own
MOST_ELEMENTS = 10**6
MOST_ROW = 2**26  # characters
MOST_HELD = 2**23  # bytes
MOST_TOKEN = 2**24  # bytes
MOST_TAG = 2**16  # bytes
MOST_DEPTH = 256
MOST_KEPT = 2**16
_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(/?)>""")
Cells = list[tuple[int, str]]  # columns from 0, and texts that are not empty
Row = tuple[int, Cells]  # its number in the sheet, from 1; rows that hold nothing are left out


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of a workbook."""

    name: str
    hidden: bool


class Book(Protocol):
    """A workbook. What is wrong with it is a Refusal."""

    def sheets(self) -> list[Sheet]:
        """In the file's order."""
        ...

    def rows(self, sheet: str) -> Iterator[Row]:
        """The rows of a sheet, by their numbers."""
        ...


class Zipped:
    """The parts of a workbook by their names, of which case does not count."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with zipfile.ZipFile(path) as archive:
            self._parts = {info.filename.lower().lstrip("/"): info for info in archive.infolist()}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._parts

    def blocks(self, name: str) -> Iterator[bytes]:
        """The bytes of a part, in pieces."""
        if name not in self:
            raise Refusal(f"it holds no {name}")
        return unpacked(self._path, self._parts[name.lower()])


@dataclass(frozen=True, slots=True)
class Handlers:
    """What is done where an element begins and ends, and with the text between."""

    start: Callable[[str, dict[str, str]], object]
    end: Callable[[str], object] | None = None
    text: Callable[[str], object] | None = None


class Ended(Exception):  # noqa: N818  no error: how handlers leave a parser
    """What was looked for is found, or at its end."""


class Xml:
    """A reader of XML as it comes, in which nothing may be declared, be nested deeply or be of boundless length."""

    def __init__(self, handlers: Handlers) -> None:
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._handlers = handlers
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = handlers.text
        self._parser.XmlDeclHandler = self._declared
        self._parser.StartDoctypeDeclHandler = self._parser.EntityDeclHandler = _refuse_declared
        self._depth = self._fed = self._tags = self._text = 0
        self.encoding = "utf-8"

    @property
    def at(self) -> int:
        """Where the element begins that is being handled, in bytes."""
        return self._parser.CurrentByteIndex

    def feed(self, block: bytes, last: bool = False) -> None:
        """The next bytes."""
        if not self._fed and block.startswith((b"\xff\xfe", b"\xfe\xff")):
            self.encoding = "utf-16"
        self._fed += len(block)
        tags = self._tags
        try:
            self._parser.Parse(block, last)
        except expat.ExpatError as reason:
            raise Refusal(f"it is not XML ({expat.ErrorString(reason.code)})") from None
        except (LookupError, ValueError):
            raise Refusal("its XML is in an encoding that is not known") from None
        self._text = self._text + len(block) if self._tags == tags else 0
        if max(self._fed - self.at, self._text) > MOST_TOKEN:  # the parser begins anew with each block
            raise Refusal(f"a tag, a text or a comment of it is over {MOST_TOKEN >> 20} MB long")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._tags += 1
        if self._depth > MOST_DEPTH:
            raise Refusal(f"elements within elements over {MOST_DEPTH} deep")
        self._handlers.start(tag, attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        self._tags += 1
        if self._handlers.end is not None:
            self._handlers.end(tag)

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        self.encoding = (encoding or self.encoding).lower()


def _refuse_declared(*_: object) -> None:
    raise Refusal("it declares a document type or an entity, which no spreadsheet does")


def parsed(blocks: Iterable[bytes], handlers: Handlers) -> Iterator[None]:
    """Parse XML; after each block, what the handlers have gathered may be taken."""
    xml = Xml(handlers)
    for block in blocks:
        xml.feed(block)
        yield
    xml.feed(b"", last=True)
    yield


def inside(
    blocks: Iterator[bytes], begins: Callable[[str, dict[str, str]], bool]
) -> tuple[str, Iterator[bytes]] | None:
    """The name of the first element for which `begins` holds, and the bytes from behind its tag on.

    None if there is none, or if the bytes are not plain: then they are to be parsed whole.
    """
    found, at = "", 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal found, at
        if begins(tag, attributes):
            found, at = tag, xml.at
            raise Ended

    xml = Xml(Handlers(start))
    before, passed = b"", 0  # what may hold the beginning of a tag, and how many bytes came before
    for block in blocks:
        held = before + block
        try:
            xml.feed(block)
        except Ended:
            tag = _TAG.match(held, at - passed)
            if tag is None or xml.encoding not in ("utf-8", "us-ascii"):
                return None
            end = [b"</%b>" % found.encode()] if tag[1] else []
            return found, chain(end, [held[tag.end() :]], blocks)
        kept = held[-MOST_TAG:]
        before, passed = kept, passed + len(held) - len(kept)
    return None


def is_odd(held: bytes) -> bool:
    """Whether something is noted or quoted: what looks like a tag may be none."""
    return any(sign in held and b"<" + sign in held for sign in (b"!", b"?"))  # one byte is found at once


def end_of(held: bytes, end: bytes) -> int:
    """Where the end tag of this name begins, -1 if it does not; blanks may stand behind the name.

    >>> end_of(b"a</b-c></b >", b"</b"), end_of(b"</b", b"</b")
    (7, -1)
    """
    found = (held.find(end + sign) for sign in (b">", b" ", b"\n", b"\r", b"\t") if sign in held)
    return min((at for at in found if at >= 0), default=-1)


def split_rows(blocks: Iterator[bytes], row_end: bytes, end: bytes) -> Iterator[tuple[bytes, bool]]:
    """The bytes before each end of a row, and whether they are such: all others are for the parser, as they are.

    From an odd place on, or where rows end otherwise or are very long, all is the parser's.
    """
    held, odd = b"", False
    for block in blocks:
        if odd:
            yield block, False
            continue
        held += block
        if is_odd(held):
            odd = True
            yield held, False
            continue
        stop = end_of(held, end)
        rows = (held if stop < 0 else held[:stop]).split(row_end)
        held = rows.pop()
        for row in rows:
            yield row, True
        if stop >= 0:
            yield held + end + b">", False
            return
        if len(held) > MOST_HELD:
            odd = True
            yield held, False


class SheetXml(ABC, Generic[Taken]):
    """The rows of a sheet as its XML comes.

    Nearly all rows of nearly all files are plain: their cells are cut apart and known by their bytes. The parser gets
    the other rows.
    """

    def __init__(self) -> None:
        self._rows: list[Taken] = []  # read and not yet taken

    def read(self, blocks: Callable[[], Iterator[bytes]]) -> Iterator[Taken]:
        """Each row once its block is read."""
        handlers = self._handlers()
        found = inside(blocks(), self._begins)
        try:
            if found is None:
                for _ in parsed(blocks(), handlers):
                    yield from self._taken()
                return
            begin, row_end, end = self._cut(found[0])
            xml = Xml(handlers)
            xml.feed(begin)
            for row, is_row in split_rows(found[1], row_end, end):
                if not (is_row and self._plain(row)):
                    xml.feed(row + row_end if is_row else row)
                yield from self._taken()
        except Ended:
            yield from self._taken()
            return
        raise Refusal("it breaks off")

    def _taken(self) -> list[Taken]:
        rows, self._rows = self._rows, []
        return rows

    @abstractmethod
    def _begins(self, tag: str, attributes: dict[str, str]) -> bool:
        """Whether the rows stand in this element."""

    @abstractmethod
    def _cut(self, tag: str) -> tuple[bytes, bytes, bytes]:
        """How the element begins for the parser, a row's end, and how that of all rows begins, if it has this name."""

    @abstractmethod
    def _plain(self, row: bytes) -> bool:
        """Whether the row, without its end, is plain; then it is read."""

    @abstractmethod
    def _handlers(self) -> Handlers:
        """For the parser: rows are read, and Ended is raised where they end."""


class Kept(dict[Key, Value]):
    """Values by their keys, of which those of late are kept."""

    def keep(self, key: Key, value: Value) -> Value:
        """One more."""
        if len(self) > MOST_KEPT:
            self.clear()
        self[key] = value
        return value


def elements(blocks: Iterable[bytes]) -> list[tuple[str, dict[str, str]]]:
    """Every element's name and attributes, without their prefixes, of a part that is small."""
    found: list[tuple[str, dict[str, str]]] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        found.append((local(tag), {local(name): value for name, value in attributes.items()}))

    for _ in parsed(blocks, Handlers(start)):
        if len(found) > MOST_ELEMENTS:
            raise Refusal(f"a part of it that describes the workbook has over {MOST_ELEMENTS:,} elements")
    return found


def local(tag: str) -> str:
    """A name without its prefix."""
    return tag.rpartition(":")[2]


def check_column(column: int) -> None:
    """Refuse one that no sheet has."""
    if column >= MOST_COLUMNS:
        raise Refusal(f"a cell stands in column {column + 1:,}; a sheet has {MOST_COLUMNS:,}")


def check_row(cells: int, characters: int) -> None:
    """Refuse one of more cells than a row has, or of boundless length."""
    check_column(cells - 1)
    if characters > MOST_ROW:
        raise Refusal(f"a row of it is over {MOST_ROW >> 20} MB long")


def as_number(text: str) -> float:
    """A number as files write it, which is less than Python takes for one.

    >>> as_number(" -1.5e3")
    -1500.0
    """
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise Refusal(f"{text[:20]!r} is no number")
    return value

"""What the readers of spreadsheets have in common: parts of a zip file as they are unpacked, and XML as it comes."""

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol
from xml.parsers import expat

from unveil.formats.spreadsheet_size import unpacked
from unveil.formats.survey import Refusal

__all__ = [
    *("Book", "Cells", "Handlers", "Row", "Sheet", "Xml", "Zipped", "check_column", "elements", "inside", "local"),
    *("parsed", "split_rows"),
]

MOST_COLUMNS = 2**14  # Excel's and LibreOffice's own
MOST_ELEMENTS = 10**6
MOST_ROW = 2**26  # bytes
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


class Xml:
    """A reader of XML as it comes, in which nothing may be declared."""

    def __init__(self, handlers: Handlers) -> None:
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = handlers.start
        self._parser.EndElementHandler = handlers.end
        self._parser.CharacterDataHandler = handlers.text
        self._parser.XmlDeclHandler = self._declared
        self._parser.StartDoctypeDeclHandler = self._parser.EntityDeclHandler = _refuse_declared
        self.encoding = "utf-8"

    @property
    def at(self) -> int:
        """Where the element begins that is being handled, in bytes."""
        return self._parser.CurrentByteIndex

    def feed(self, block: bytes, last: bool = False) -> None:
        """The next bytes."""
        try:
            self._parser.Parse(block, last)
        except expat.ExpatError as reason:
            raise Refusal(f"it is not XML ({expat.ErrorString(reason.code)})") from None
        except (LookupError, ValueError):
            raise Refusal("its XML is in an encoding that is not known") from None

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        self.encoding = (encoding or "utf-8").lower()


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


class _Begun(Exception):  # noqa: N818  no error: how a parser is left
    pass


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
            raise _Begun

    xml = Xml(Handlers(start))
    before, passed = b"", 0
    for block in blocks:
        try:
            xml.feed(block)
        except _Begun:
            held = before + block
            tag = _TAG.match(held, at - passed + len(before))
            if tag is None or xml.encoding not in ("utf-8", "us-ascii"):
                return None
            return found, iter((b"</" + found.encode(),)) if tag[1] else chain([held[tag.end() :]], blocks)
        before, passed = block, passed + len(block)
    return None


def split_rows(blocks: Iterator[bytes], row_end: bytes, end: bytes) -> Iterator[tuple[bytes, bool]]:
    """The bytes before each end of a row; and those before the end of all, which no row's end follows."""
    held = b""
    for block in blocks:
        held += block
        stop = held.find(end)
        rows = (held if stop < 0 else held[:stop]).split(row_end)
        held = rows.pop()
        for row in rows:
            yield row, True
        if stop >= 0:
            yield held, False
            return
        if len(held) > MOST_ROW:
            raise Refusal(f"a row of it is over {MOST_ROW >> 20} MB long")
    raise Refusal("it breaks off")


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

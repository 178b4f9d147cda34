"""Delimited text of any usual dialect as columns of strings; what is ambiguous is refused, not guessed.

Nothing is interpreted here: a cell is the text between its delimiters, and an empty cell is the empty text. A file is
read piece by piece: whole records behind the header, as if each piece were a file of its own.
"""

import codecs
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unveil.data.table import CodedColumn
from unveil.errors import TableError, UnveilError, shown
from unveil.formats import encodings as bytes_of
from unveil.formats.columns import ROW_NAMES, Coder, Refusal
from unveil.formats.dialect import (
    DECIMAL_SAMPLE,
    SAMPLE,
    Dialect,
    check_options,
    find_decimal,
    sniff_delimiter,
    survey_piece,
)
from unveil.formats.encodings import find_encoding, utf8_blocks

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CodedText", "distinct_codes", "read_coded"]


@dataclass(frozen=True, slots=True, eq=False)
class CodedText:
    """A table as its distinct texts, column by column, and how its text is written."""

    source: str  # the path as given, printable
    names: tuple[str, ...]
    rows: int  # data rows
    dialect: Dialect
    jumps: NDArray[np.int64]  # (records with line ends in quotes, 2): record (0 = header), line ends held so far
    columns: dict[str, CodedColumn]

    def line_of(self, row: int) -> int:
        """The physical line, from 1, on which data row `row`, from 0, starts."""
        if not 0 <= row < self.rows:
            raise IndexError(f"row {row} of {self.rows}")
        before = int(np.searchsorted(self.jumps[:, 0], row + 1))
        return row + 2 + (int(self.jumps[before - 1, 1]) if before else 0)


def read_coded(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    error: type[UnveilError] = TableError,
    content: bytes | None = None,
    counted: Collection[str] = (),
) -> CodedText:
    """Read a CSV file with a header line; what is not given is found out, what is not clear is an error.

    `content`: its bytes, if they come from elsewhere; `path` then only names it. Never more of the file is held than a
    block and what its cells are coded to; of the columns `counted` only is kept which rows are equal.

    Names lose the blanks around them. A blank line at the end is ignored; inside a table with one column it is an
    empty cell.
    """
    delimiter, encoding = check_options(delimiter, decimal, encoding)
    source = shown(os.fspath(path), 500)[1:-1]
    coder = Coder(counted)
    try:
        file = bytes_of.open_source(path, content)
        encoding = find_encoding(file, encoding)
        pieces = _Pieces(utf8_blocks(file, encoding))
        delimiter, trim = pieces.sniff(delimiter)
        sample: list[pl.DataFrame] = []
        for frame in pieces.frames(delimiter, trim):
            if sum(part.height for part in sample) < DECIMAL_SAMPLE:
                sample.append(frame.head(DECIMAL_SAMPLE))
            coder.add(frame)
        if not pieces.rows:
            raise Refusal("holds no rows, only a header")
        decimal = decimal or find_decimal(sample, delimiter)
    except Refusal as refusal:
        at = "" if refusal.line is None else f", line {refusal.line}"
        raise error(f"{source}{at}: {refusal}") from None
    dialect = Dialect(delimiter, encoding, decimal, trim, _newline(pieces.header))
    jumps = np.concatenate([np.zeros((0, 2), int), *pieces.jumps])
    return CodedText(source, pieces.names, pieces.rows, dialect, jumps, coder.coded())


def distinct_codes(column: "pl.Series") -> tuple[list[str], NDArray[np.unsignedinteger]]:
    """The distinct texts of a String column, sorted by code point, and each row's position among them.

    Codes are uint8, uint16 or uint32, the smallest that fits.
    """
    import polars as pl

    if column.null_count():
        raise ValueError(f"column {shown(column.name)} has nulls")
    texts = column.unique().sort()
    codes = column.cast(pl.Enum(texts)).to_physical().to_numpy()
    return texts.to_list(), codes


# ------------------------------------------------------------------------------------------------------------- pieces


@dataclass(slots=True)
class _Pieces:
    """A text as it comes: the header, then whole records."""

    blocks: Iterator[bytes]
    text: bytearray = field(default_factory=bytearray)  # the header, if it was read, and what was not yet parsed
    done: bool = False  # nothing follows `text`
    header: bytes = b""
    names: tuple[str, ...] = ()
    rows: int = 0
    held: int = 0  # line ends in quotes of the rows so far
    jumps: list[NDArray[np.int64]] = field(default_factory=list)

    def fill(self, size: int) -> None:
        while len(self.text) < size and not self.done:
            block = next(self.blocks, None)
            self.done = block is None
            self.text += block or b""

    def sniff(self, delimiter: str | None) -> tuple[str, bool]:
        """The delimiter, and whether blanks around fields are to be dropped."""
        size = max(bytes_of.BLOCK, SAMPLE)
        while True:
            self.fill(size)
            found = sniff_delimiter(np.frombuffer(self.text, np.uint8), delimiter, complete=self.done)
            if found is not None:
                return found
            size *= 4

    def frames(self, delimiter: str, trim: bool) -> "Iterator[pl.DataFrame]":
        """The cells of the next whole records."""
        from unveil.kernels import scan

        size = bytes_of.BLOCK
        while True:
            room = len(self.header) + size
            self.fill(room)
            last = self.done and len(self.text) <= room
            stop = len(self.text) if last else _line_end(self.text, room)
            if stop <= len(self.header) and not last:
                size *= 4
                continue
            data = np.frombuffer(self.text, np.uint8)[:stop]
            found, jumps = survey_piece(data, delimiter, trim, last=last, before=self.rows + self.held)
            end = int(found[scan.END])
            if end and not self.header:
                head = data[: found[scan.HEADER_END]]
                self.names = _names(head, int(found[scan.FIELDS]), delimiter, trim)
                self.header = head.tobytes()
                self.jumps.append(jumps[jumps[:, 0] == 0])
                del head
            rows = int(found[scan.RECORDS]) - 1
            if rows > 0:
                frame = _parsed(_body(data, found, delimiter, trim), self.names, delimiter)
                if frame.height != rows:
                    raise Refusal(
                        f"the CSV engine reads {frame.height} rows where there are {rows}; please report this"
                    )
                self._count(rows, jumps)
                yield frame
            del data  # a buffer that is looked at cannot be cut
            if last:
                return
            # What is left may be the start of a long record: then look at ever more of it at once.
            size = max(bytes_of.BLOCK, 4 * (stop - end)) if rows > 0 else 4 * size
            self.text[:end] = self.header

    def _count(self, rows: int, jumps: NDArray[np.int64]) -> None:
        own = jumps[jumps[:, 0] > 0] + (self.rows, self.held)
        if len(own):
            self.jumps.append(own)
            of_header = self.jumps[0]
            self.held = int(own[-1, 1]) - (int(of_header[0, 1]) if len(of_header) else 0)
        self.rows += rows


def _line_end(text: bytearray, room: int) -> int:
    """Behind the last line end within the first bytes; a CR at their very end may be half of one."""
    return max(text.rfind(b"\n", 0, room), text.rfind(b"\r", 0, room - 1)) + 1


# ------------------------------------------------------------------------------------------------------------- header


def _newline(header: bytes) -> str:
    return next((end for end in ("\r\n", "\n", "\r") if header.endswith(end.encode())), "\n")


def _names(header: NDArray[np.uint8], columns: int, delimiter: str, trim: bool) -> tuple[str, ...]:
    from unveil.kernels import scan

    out = np.zeros(3 * header.size + 8, np.uint8)
    record = out[: scan.canonical(header, ord(delimiter), trim, out)].tobytes()
    names = tuple(str(name).strip() for name in _parsed(record, range(columns), delimiter).row(0))
    for place, name in enumerate(names, start=1):
        if not name:
            instead = ROW_NAMES if place == 1 else ""
            raise Refusal(f"column {place} has no name; the first line must name every column{instead}", 1)
        if name in names[: place - 1]:
            first = names.index(name) + 1
            raise Refusal(
                f"columns {first} and {place} are both named {shown(name)}; the first line must name every column, "
                "each name once",
                1,
            )
    return names


# ----------------------------------------------------------------------------------------------------------- columns


def _body(data: NDArray[np.uint8], found: NDArray[np.int64], delimiter: str, trim: bool) -> bytes:
    """The data records, without the header, in the shape that the CSV engine cannot misread.

    Done in `data` itself where possible: fresh memory costs more than the work.
    """
    from unveil.kernels import scan

    body = data[found[scan.HEADER_END] : found[scan.END]]
    quotes = int(found[scan.QUOTES_IN_TEXT])
    grows = quotes > 0 or found[scan.FIELDS] == 1 or body[:3].tobytes() == codecs.BOM_UTF8
    code = ord(delimiter)
    if grows or found[scan.LONE_CR]:
        records = int(found[scan.RECORDS]) if found[scan.FIELDS] == 1 else 0
        out = np.empty(body.size + 3 * quotes + 2 * records + 8, np.uint8)
        return out[: scan.canonical(body, code, trim, out)].tobytes()
    if not trim:
        return body.tobytes()
    if not (found[scan.QUOTED] or found[scan.TRAILING]):
        return data[: scan.squeeze(body, code, data)].tobytes()
    return data[: scan.canonical(body, code, trim, data)].tobytes()


def _parsed(body: bytes, names: "tuple[str, ...] | range", delimiter: str) -> "pl.DataFrame":
    import polars as pl

    try:
        frame = pl.read_csv(
            body,
            has_header=False,
            separator=delimiter,
            schema={str(name): pl.String for name in names},
            empty_string_is_null=False,
            glob=False,
            raise_if_empty=False,
        )
    except pl.exceptions.PolarsError:
        raise Refusal("the CSV engine cannot read it although its lines are whole; please report this") from None
    if any(series.null_count() for series in frame):
        raise Refusal("the CSV engine lost cells; please report this")
    return frame

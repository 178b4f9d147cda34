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

from unveil.data.notation import FileNotation
from unveil.errors import TableError, UnveilError, shown
from unveil.formats.columns import NO_ROWS, ROW_NAME, ROW_NAMES, Coder, Columns, Place, Refusal, checked_names
from unveil.formats.text import encodings as bytes_of
from unveil.formats.text.dialect import (
    DECIMAL_SAMPLE,
    FIELD_LIMIT,
    SAMPLE,
    Records,
    Unclosed,
    check_options,
    described,
    find_decimal,
    sniff_delimiter,
)
from unveil.formats.text.encodings import find_encoding, utf8_blocks
from unveil.formats.text.heading import find_heading, is_total

if TYPE_CHECKING:
    import polars as pl

__all__ = ["distinct_codes", "read_text"]


def read_text(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    error: type[UnveilError] = TableError,
    content: bytes | None = None,
    counted: Collection[str] = (),
    empty: bool = False,
    headed: bool = False,
) -> Columns:
    """Read a CSV file with a header line; what is not given is found out, what is not clear is an error.

    `headed`: titles above the names, units below them and totals at the end are passed over, and said.

    `content`: its bytes, if they come from elsewhere; `path` then only names it. Never more of the file is held than a
    block and what its cells are coded to; of the columns `counted` only is kept which rows are equal. `empty`: it may
    hold no rows.

    Names lose the blanks around them. A blank line at the end is ignored; inside a table with one column it is an
    empty cell.
    """
    delimiter, encoding = check_options(delimiter, decimal, encoding)
    source = shown(os.fspath(path), 500)[1:-1]
    coder = Coder(counted)
    try:
        file = bytes_of.open_source(path, content)
        encoding = find_encoding(file, encoding)
        pieces = _Pieces(utf8_blocks(file, encoding), headed=headed)
        pieces.start(delimiter)
        sample: list[pl.DataFrame] = []
        for frame in pieces.frames():
            if sum(part.height for part in sample) < DECIMAL_SAMPLE:
                sample.append(frame.head(DECIMAL_SAMPLE))
            coder.add(frame)
        if not pieces.rows and not empty:
            raise Refusal("holds no rows, only a header")
        decimal = decimal or (find_decimal(sample, pieces.delimiter) if sample else ".")
    except Refusal as refusal:
        at = "" if refusal.line is None else f", line {refusal.line}"
        raise error(f"{source}{at}: {refusal}") from None
    notation = FileNotation(pieces.delimiter, encoding, decimal, pieces.newline)
    place = Place("line", 2, np.concatenate([np.zeros((0, 2), int), *pieces.jumps]))  # type: ignore[arg-type]  # pairs
    how = ", ".join([described(notation, pieces.trim), *pieces.said])
    columns = coder.coded() if pieces.rows else dict.fromkeys(pieces.names, NO_ROWS)
    return Columns(columns, pieces.rows, place, decimal, how, notation=notation)


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
    headed: bool = False
    text: bytearray = field(default_factory=bytearray)  # what was not yet parsed
    done: bool = False  # nothing follows `text`
    delimiter: str = ","
    trim: bool = False
    newline: str = "\n"
    names: tuple[str, ...] = ()
    rows: int = 0
    held: int = 0  # line ends in quotes so far, the header's among them
    jumps: list[NDArray[np.int64]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  # what was passed over

    def fill(self, size: int) -> None:
        while len(self.text) < size and not self.done:
            block = next(self.blocks, None)
            self.done = block is None
            self.text += block or b""

    def start(self, delimiter: str | None) -> None:
        """Find out the dialect and read the header."""
        size, found = max(bytes_of.BLOCK, SAMPLE), None
        self.fill(size)
        heading = find_heading(bytes(self.text[:SAMPLE]), delimiter) if self.headed else None
        if heading is not None:
            self.names, delimiter, self.said = heading.names, heading.delimiter, list(heading.described)
            self._begin(self.text, heading.end, heading.line - 1)
        while found is None:
            self.fill(size)
            found = sniff_delimiter(bytes(self.text), delimiter, complete=self.done)
            size *= 4
        self.delimiter, self.trim = found
        if heading is not None:
            return
        for text, last in self.pieces():
            head = Records(text, self.delimiter, self.trim)
            try:
                names = next(iter(head), [])
            except Unclosed:
                if last:
                    raise
                continue
            if names:
                self.names = _with_row_names(tuple(name.decode().strip() for name in names))
                self._begin(text, head.end, head.line - 2)
                return
        raise Refusal("is empty; a header line and rows are needed")

    def _begin(self, text: bytes | bytearray, end: int, held: int) -> None:
        """Behind the names, which reach up to there and take so many lines more than one."""
        self.held = held
        self.jumps.append(np.array([(0, held)] * (held > 0), int).reshape(-1, 2))
        self.newline = next((mark for mark in ("\r\n", "\n", "\r") if text.endswith(mark.encode(), 0, end)), "\n")
        del self.text[:end]

    def pieces(self) -> Iterator[tuple[bytes, bool]]:
        """The text up to a line end, and whether nothing follows; the caller removes what it has read."""
        size = bytes_of.BLOCK
        while True:
            self.fill(size)
            held = len(self.text)
            last = self.done and held <= size
            # A CR at the very end may be half of a line end.
            stop = held if last else max(self.text.rfind(b"\n", 0, size), self.text.rfind(b"\r", 0, size - 1)) + 1
            if stop or last:
                yield bytes(memoryview(self.text)[:stop]), last
            if last:
                return
            # What is left may be the start of a long record: then look at ever more of it at once.
            taken = held - len(self.text)
            size = max(bytes_of.BLOCK, 4 * (stop - taken)) if taken else 4 * size

    def frames(self) -> "Iterator[pl.DataFrame]":
        """The cells of the next whole records."""
        for text, last in self.pieces():
            frame, end = self.parsed(text, last) or self.walked(text, last)
            totals = _totals(frame) if last and self.headed else 0
            if totals:
                frame = frame.head(frame.height - totals)
                self.said.append(f"{totals} {'row' if totals == 1 else 'rows'} of totals at the end left out")
            if fault := checked_names(self.names, "the first line must name every column"):
                raise Refusal(fault + ROW_NAMES * fault.startswith("column 1 "), 1)
            if frame.height:
                if b'"' in text and _lines(text[:end]) != frame.height:
                    held = _line_ends(frame)
                    rows = np.flatnonzero(held)
                    self.jumps.append(np.stack([self.rows + rows + 1, self.held + np.cumsum(held[rows])], axis=1))
                    self.held += int(held.sum())
                self.rows += frame.height
                frame.columns = list(self.names)
                yield frame
            del self.text[:end]

    def parsed(self, text: bytes, last: bool) -> "tuple[pl.DataFrame, int] | None":
        """What polars reads, and where it ends; None where it might not agree with `Records`, or did not."""
        import polars as pl

        columns, quotes, end = len(self.names), b'"' in text, len(text)
        if b"\r" in text and b"\n" not in text and not quotes:
            text = text.replace(b"\r", b"\n")
        if text.startswith(codecs.BOM_UTF8) or (self.trim and quotes) or len(text) > FIELD_LIMIT:
            return None
        if quotes and text.count(b'"') % 2:
            end = 0 if last else text.rfind(b"\n", 0, text.rfind(b'"')) + 1
        end = _before_blank_lines(text, end, b"\r\n" if columns == 1 else b" \t\r\n", self.delimiter)
        shape = _shape(np.frombuffer(text, np.uint8, end), ord(self.delimiter), quotes)
        if shape is None or (quotes and not end):
            return None
        lines, splits, quoted = shape
        body = text[:end] if text.endswith(b"\n", 0, end) else text[:end] + b"\n" * (end > 0)
        try:
            frame = pl.read_csv(
                body,
                has_header=False,
                separator=self.delimiter,
                quote_char='"' if quoted else None,
                schema={str(place): pl.String for place in range(columns)},
                empty_string_is_null=False,
                glob=False,
                raise_if_empty=False,
            )
        except pl.exceptions.PolarsError:
            return None
        # polars refuses a line with too many fields and fills up one with too few: then delimiters are missing.
        if (frame.height, frame.height * (columns - 1)) != (lines + len(body) - end, splits):
            return None
        if any(series.null_count() for series in frame):
            return None
        return (frame.select(pl.all().str.strip_chars(" \t")) if self.trim else frame), end

    def walked(self, text: bytes, last: bool) -> "tuple[pl.DataFrame, int]":
        """What `Records` reads, or the refusal of a fault; a piece that is not the last may end within quotes."""
        import polars as pl

        records = Records(text, self.delimiter, self.trim, columns=len(self.names), line=2 + self.rows + self.held)
        schema = {str(place): pl.String for place in range(len(self.names))}
        frames, rows = [], list[list[bytes]]()

        def flush() -> None:
            columns = (list(map(bytes.decode, column)) for column in zip(*rows, strict=True))
            frames.append(pl.DataFrame(dict(zip(schema, columns, strict=True)) if rows else None, schema))
            rows.clear()

        try:
            for record in records:
                rows.append(record)
                if len(rows) == _WALKED:
                    flush()
        except Unclosed:
            if last:
                raise
        flush()
        return pl.concat(frames), records.end


def _totals(frame: "pl.DataFrame") -> int:
    """Rows of totals at the end, with empty ones above them."""
    count, found = 0, 0
    while count < min(MOST_TOTALS, frame.height - 1):
        cells = frame.row(frame.height - count - 1)
        if not is_total(cells) and any(cells):
            break
        count += 1
        found = count if any(cells) else found
    if not found:
        return 0
    return count


MOST_TOTALS = 5
_WALKED = 10_000  # rows held as Python's objects
_AT_ONCE = 1 << 18  # bytes: fresh memory for more costs more than the work


def _shape(data: NDArray[np.uint8], delimiter: int, quotes: bool) -> tuple[int, int, bool] | None:
    """Line ends and delimiters outside quotes, and whether fields are quoted; None if there is a CR alone, or if some
    quotes are text and others are not."""
    whole, unquoted = np.zeros(2, int), np.zeros(2, int)
    starts, mixed, within = ord('"') in data[:1], False, np.uint8(0)
    for start in range(0, len(data), _AT_ONCE):
        part = data[start : start + _AT_ONCE + 1]  # and what follows
        ends, marks, returns = part == 10, part == delimiter, part == 13
        if (returns[:-1] > ends[1:]).any() or (len(part) <= _AT_ONCE and returns[-1]):
            return None
        whole += [np.count_nonzero(found[:_AT_ONCE]) for found in (ends, marks)]
        if quotes:
            quote, edge = part == ord('"'), ends | marks | returns
            outside = (np.bitwise_xor.accumulate(quote.view(np.uint8)) ^ within) == 0
            unquoted += [np.count_nonzero((found & outside)[:_AT_ONCE]) for found in (ends, marks)]
            starts |= bool((quote[1:] & edge[:-1]).any())
            edge |= quote  # a quote beside a quote is doubled
            mixed |= bool(((quote & ~outside)[1:] > edge[:-1]).any() or ((quote & outside)[:-1] > edge[1:]).any())
            within = np.uint8(not outside[:_AT_ONCE][-1])
    if starts and mixed:
        return None
    lines, splits = (unquoted if starts else whole).tolist()
    return lines, splits, starts


def _before_blank_lines(text: bytes, end: int, blanks: bytes, delimiter: str) -> int:
    """Where the last line starts behind which only blank ones follow."""
    blanks = blanks.replace(delimiter.encode(), b"")
    while end:
        start = text.rfind(b"\n", 0, end - 1) + 1
        if text[start:end].strip(blanks):
            return end
        end = start
    return 0


def _lines(text: bytes) -> int:
    """Physical lines; the last may lack its end."""
    pairs = text.count(b"\r\n") if b"\r" in text else 0
    return text.count(b"\n") + text.count(b"\r") - pairs + (not text.endswith((b"\n", b"\r")))


def _line_ends(frame: "pl.DataFrame") -> NDArray[np.int64]:
    """Line ends within the cells of each row."""
    import polars as pl

    counts = pl.sum_horizontal(pl.all().str.count_matches(r"\r\n?|\n"))
    return frame.select(counts).to_series().to_numpy().astype(int)


def _with_row_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """pandas' index and R's row names stand in a first column without a name: it is called ROW_NAME."""
    if len(names) > 1 and not names[0] and all(names[1:]) and ROW_NAME not in names:
        return (ROW_NAME, *names[1:])
    return names

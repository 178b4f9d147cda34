"""Delimited text of any usual dialect as columns of strings; what is ambiguous is refused, not guessed.

Nothing is interpreted here: a cell is the text between its delimiters, and an empty cell is the empty text.
"""

import codecs
import io
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unveil.errors import TableError, UnveilError, shown
from unveil.formats.dialect import Dialect, check_options, decode, find_decimal, sniff_delimiter
from unveil.formats.survey import Refusal, survey_whole

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TextTable", "distinct_codes", "read_text"]


@dataclass(frozen=True, slots=True, eq=False)
class TextTable:
    """A table as text: every cell a string, none missing."""

    source: str  # the path as given, printable
    names: tuple[str, ...]
    columns: "pl.DataFrame"  # (rows, names), all String without nulls
    dialect: Dialect
    jumps: NDArray[np.int64]  # (records with line ends in quotes, 2): record (0 = header), line ends held so far

    @property
    def rows(self) -> int:
        """Number of data rows."""
        return int(self.columns.height)

    def line_of(self, row: int) -> int:
        """The physical line, from 1, on which data row `row`, from 0, starts."""
        if not 0 <= row < self.rows:
            raise IndexError(f"row {row} of {self.rows}")
        before = int(np.searchsorted(self.jumps[:, 0], row + 1))
        return row + 2 + (int(self.jumps[before - 1, 1]) if before else 0)


def read_text(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    error: type[UnveilError] = TableError,
    content: bytes | None = None,
) -> TextTable:
    """Read a CSV file with a header line; what is not given is found out, what is not clear is an error.

    `content`: its bytes, if they come from elsewhere; `path` then only names it.

    Names lose the blanks around them. A blank line at the end is ignored; inside a table with one column it is an
    empty cell.
    """
    from unveil.kernels import scan

    delimiter, encoding = check_options(delimiter, decimal, encoding)
    source = shown(os.fspath(path), 500)[1:-1]
    try:
        raw, encoding = decode(_loaded(path) if content is None else content, encoding)
        start = 3 if encoding == "utf-8-sig" else 0
        # With `raw` gone the buffer is the only owner of the bytes, and they can be changed where they lie.
        text = io.BytesIO(raw)
        del raw
        data = np.frombuffer(text.getbuffer(), np.uint8)[start:]
        delimiter, trim = sniff_delimiter(data, delimiter)
        found, jumps = survey_whole(data, delimiter, trim)
        header = data[: found[scan.HEADER_END]]
        newline = _newline(header.tobytes())
        names = _names(header, int(found[scan.FIELDS]), delimiter, trim)
        del data, header
        rows = int(found[scan.RECORDS]) - 1
        if rows < 1:
            raise Refusal("holds no rows, only a header")
        columns = _parsed(_body(text, start, found, delimiter, trim), names, delimiter)
        if columns.height != rows:
            raise Refusal(f"the CSV engine reads {columns.height} rows where there are {rows}; please report this")
        decimal = decimal or find_decimal(columns, delimiter)
    except Refusal as refusal:
        at = "" if refusal.line is None else f", line {refusal.line}"
        raise error(f"{source}{at}: {refusal}") from None
    return TextTable(source, names, columns, Dialect(delimiter, encoding, decimal, trim, newline), jumps)


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


# -------------------------------------------------------------------------------------------------------------- bytes

_MAGIC = (
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive; unpack it first"),
    (b"\xfd7zXZ\x00", "an xz archive; unpack it first"),
    (b"BZh91AY&SY", "a bzip2 archive; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel file; save it as CSV"),
    (b"ARROW1\x00\x00", "an Arrow file; save it as CSV"),
    (b"SQLite format 3\x00", "an SQLite database; export the table as CSV"),
    (b"%PDF-", "a PDF file; a CSV file is needed"),
)


def _loaded(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file that may be text."""
    try:
        kind = os.stat(path).st_mode
        if stat.S_ISDIR(kind):
            raise Refusal("is a folder; name a CSV file in it")
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
            raise Refusal("is no file but a device; name a CSV file")
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise Refusal("no such file; check the path") from None
    except PermissionError:
        raise Refusal("no permission to read it; ask its owner") from None
    except OSError as reason:
        raise Refusal(f"cannot be read: {(reason.strerror or 'unknown reason').lower()}") from None
    except ValueError:
        raise Refusal("is no file name; check the path") from None
    for magic, what in _MAGIC:
        if raw.startswith(magic):
            raise Refusal(f"looks like {what}")
    if raw.startswith(b"PAR1") and raw.endswith(b"PAR1"):
        raise Refusal("looks like a Parquet file; save it as CSV")
    if raw.startswith(b"PK\x03\x04"):
        if b"xl/" in raw[-65536:]:
            raise Refusal("looks like an Excel file; save it as CSV")
        if b"opendocument.spreadsheet" in raw[:200]:
            raise Refusal("looks like an OpenDocument spreadsheet; save it as CSV")
        raise Refusal("looks like a zip archive; unpack it first")
    return raw


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
            raise Refusal(f"column {place} has no name; the first line must name every column", 1)
        if name in names[: place - 1]:
            first = names.index(name) + 1
            raise Refusal(
                f"columns {first} and {place} are both named {shown(name)}; the first line must name every column, "
                "each name once",
                1,
            )
    return names


# ----------------------------------------------------------------------------------------------------------- columns


def _body(text: io.BytesIO, start: int, found: NDArray[np.int64], delimiter: str, trim: bool) -> bytes:
    """The data records, without the header, in the shape that the CSV engine cannot misread.

    Done in the file's own bytes where possible: fresh memory costs more than the work.
    """
    from unveil.kernels import scan

    view = text.getbuffer()
    first, last = start + int(found[scan.HEADER_END]), start + int(found[scan.END])
    whole = np.frombuffer(view, np.uint8)
    data = whole[first:last]
    quotes = int(found[scan.QUOTES_IN_TEXT])
    grows = quotes > 0 or found[scan.FIELDS] == 1 or data[:3].tobytes() == codecs.BOM_UTF8
    code = ord(delimiter)
    if grows or found[scan.LONE_CR]:
        records = int(found[scan.RECORDS]) if found[scan.FIELDS] == 1 else 0
        out = np.empty(data.size + 3 * quotes + 2 * records + 8, np.uint8)
        return out[: scan.canonical(data, code, trim, out)].tobytes()
    if not trim:
        size = data.size
        view[:size] = view[first:last]
    elif not (found[scan.QUOTED] or found[scan.TRAILING]):
        size = scan.squeeze(data, code, whole)
    else:
        size = scan.canonical(data, code, trim, whole)
    del data, whole, view  # a buffer that is looked at cannot be cut
    text.truncate(size)
    return text.getvalue()


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

"""Delimited text of any usual dialect as columns of strings; what is ambiguous is refused, not guessed.

Nothing is interpreted here: a cell is the text between its delimiters, and an empty cell is the empty text.
"""

import codecs
import io
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from unveil.errors import TableError, UnveilError, UsageError, shown

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Dialect", "TextTable", "distinct_codes", "read_text"]

DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252")
SAMPLE = 256 * 1024  # bytes looked at to find the delimiter
DECIMAL_SAMPLE = 5_000  # rows looked at to find the decimal mark
FIELD_LIMIT = 2**30  # bytes of one field


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file writes a table."""

    delimiter: str = ","
    encoding: str = "utf-8"  # one of ENCODINGS
    decimal: str = "."  # or ","
    skip_initial_space: bool = False  # blanks around unquoted fields are no part of them
    newline: str = "\n"  # of the header: LF, CRLF or CR

    def describe(self) -> str:
        """The dialect in one line, for people."""
        parts = [f"{_word(self.delimiter)} separated", self.encoding]
        if self.decimal == ",":
            parts.append("decimal comma")
        if self.skip_initial_space:
            parts.append("blanks around fields dropped")
        return ", ".join(parts)


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
) -> TextTable:
    """Read a CSV file with a header line; what is not given is found out, what is not clear is an error.

    Names lose the blanks around them. A blank line at the end is ignored; inside a table with one column it is an
    empty cell.
    """
    from unveil.kernels import scan

    delimiter, encoding = _checked_options(delimiter, decimal, encoding)
    source = shown(os.fspath(path), 500)[1:-1]
    try:
        raw, encoding = _decoded(_loaded(path), encoding)
        start = 3 if encoding == "utf-8-sig" else 0
        # With `raw` gone the buffer is the only owner of the bytes, and they can be changed where they lie.
        text = io.BytesIO(raw)
        del raw
        data = np.frombuffer(text.getbuffer(), np.uint8)[start:]
        delimiter, trim = _sniffed(data, delimiter)
        found, jumps = _surveyed(data, delimiter, trim)
        header = data[: found[scan.HEADER_END]]
        newline = _newline(header.tobytes())
        names = _names(header, int(found[scan.FIELDS]), delimiter, trim)
        del data, header
        rows = int(found[scan.RECORDS]) - 1
        if rows < 1:
            raise _Refusal("holds no rows, only a header")
        columns = _parsed(_body(text, start, found, delimiter, trim), names, delimiter)
        if columns.height != rows:
            raise _Refusal(f"the CSV engine reads {columns.height} rows where there are {rows}; please report this")
        decimal = decimal or _decimal(columns, delimiter)
    except _Refusal as refusal:
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


class _Refusal(Exception):  # noqa: N818  no error of its own: read_text names the file and picks the class
    """What is wrong with the file, and on which physical line."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def _word(delimiter: str) -> str:
    return {"\t": "tab", " ": "blank"}.get(delimiter, f"'{delimiter}'")


def _checked_options(delimiter: str | None, decimal: str | None, encoding: str | None) -> tuple[str | None, str | None]:
    if delimiter in ("tab", "\\t"):
        delimiter = "\t"
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'):
        raise UsageError(f"delimiter {shown(delimiter)}: one ASCII character is needed, such as , ; | or tab")
    if decimal not in (None, ".", ","):
        raise UsageError(f"decimal {shown(decimal)}: . or , is needed")
    if encoding is not None:
        try:
            name = codecs.lookup(encoding).name
        except (LookupError, ValueError):
            name = ""
        if name not in ENCODINGS:
            raise UsageError(f"encoding {shown(encoding)}: one of {', '.join(ENCODINGS)} is needed")
        encoding = name
    return delimiter, encoding


# ------------------------------------------------------------------------------------------------ bytes and encoding

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
            raise _Refusal("is a folder; name a CSV file in it")
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
            raise _Refusal("is no file but a device; name a CSV file")
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise _Refusal("no such file; check the path") from None
    except PermissionError:
        raise _Refusal("no permission to read it; ask its owner") from None
    except OSError as reason:
        raise _Refusal(f"cannot be read: {(reason.strerror or 'unknown reason').lower()}") from None
    except ValueError:
        raise _Refusal("is no file name; check the path") from None
    for magic, what in _MAGIC:
        if raw.startswith(magic):
            raise _Refusal(f"looks like {what}")
    if raw.startswith(b"PAR1") and raw.endswith(b"PAR1"):
        raise _Refusal("looks like a Parquet file; save it as CSV")
    if raw.startswith(b"PK\x03\x04"):
        if b"xl/" in raw[-65536:]:
            raise _Refusal("looks like an Excel file; save it as CSV")
        if b"opendocument.spreadsheet" in raw[:200]:
            raise _Refusal("looks like an OpenDocument spreadsheet; save it as CSV")
        raise _Refusal("looks like a zip archive; unpack it first")
    return raw


def _decoded(raw: bytes, encoding: str | None) -> tuple[bytes, str]:
    """The file as UTF-8 (with its byte order mark, if that is what the encoding says) and its encoding."""
    if encoding in (None, "utf-16") and raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    if encoding == "utf-16":
        try:
            raw = raw.decode("utf-16").encode("utf-8")
        except UnicodeDecodeError:
            raise _Refusal("is not valid UTF-16 although it starts so; save it as UTF-8") from None
    nul = raw.find(b"\0")
    if nul >= 0:
        hint = ""
        if encoding != "utf-16" and raw[:1000].count(b"\0") * 3 > len(raw[:1000]):
            hint = ", or say encoding utf-16 if it is that"
        raise _Refusal(f"not a text file: it holds a NUL byte; save it as CSV{hint}", _line_at(raw, nul))
    if encoding == "utf-16":
        return raw, "utf-16"

    marked = raw.startswith(codecs.BOM_UTF8)
    if encoding == "cp1252":
        if marked:
            raise _Refusal("starts with the mark of UTF-8; read it without encoding cp1252", 1)
        return _from_cp1252(raw), "cp1252"
    fault = _first_invalid_utf8(raw)
    if fault is None:
        return raw, "utf-8-sig" if marked else "utf-8"
    if encoding is not None or marked:
        raise _Refusal(
            f"byte 0x{raw[fault]:02x} is not UTF-8; save the file as UTF-8 or say encoding cp1252", _line_at(raw, fault)
        )
    if _mostly_utf8(raw):
        raise _Refusal(
            f"byte 0x{raw[fault]:02x} is not UTF-8 in a file that mostly is; repair it or say encoding cp1252",
            _line_at(raw, fault),
        )
    return _from_cp1252(raw), "cp1252"


def _line_at(raw: bytes, offset: int) -> int:
    """The physical line, from 1, of a byte."""
    return raw.count(b"\n", 0, offset) + raw.count(b"\r", 0, offset) - raw.count(b"\r\n", 0, offset) + 1


def _first_invalid_utf8(raw: bytes) -> int | None:
    """Offset of the first byte that cannot be UTF-8."""
    if raw.isascii():
        return None
    view = memoryview(raw)
    at = 0
    while at < len(raw):
        last = at + 2**20 >= len(raw)
        try:
            at += codecs.utf_8_decode(view[at : at + 2**20], "strict", last)[1]
        except UnicodeDecodeError as reason:
            return at + reason.start
    return None


def _mostly_utf8(raw: bytes) -> bool:
    """Whether more characters beyond ASCII are valid UTF-8 than bytes are not: then it is no cp1252 file."""
    valid = invalid = 0
    for at in range(0, len(raw), 2**20):
        part = raw[at : at + 2**20]
        text = part.decode("utf-8", "ignore")
        valid += len(text) - int((np.frombuffer(part, np.uint8) < 128).sum())
        invalid += len(part) - len(text.encode("utf-8"))
    return valid > invalid


def _from_cp1252(raw: bytes) -> bytes:
    try:
        return raw.decode("cp1252").encode("utf-8")
    except UnicodeDecodeError as reason:
        raise _Refusal(
            f"not a text file: byte 0x{raw[reason.start]:02x} is neither UTF-8 nor cp1252; save it as UTF-8",
            _line_at(raw, reason.start),
        ) from None


# -------------------------------------------------------------------------------------------------------- structure


def _survey(
    data: NDArray[np.uint8], delimiter: str, trim: bool, even: bool, widths: int = 0, jumps: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    from unveil.kernels import scan

    found = np.zeros(scan.SURVEY_SIZE, np.int64)
    width = np.zeros(widths, np.int32)
    jump = np.zeros((jumps, 2), np.int64)
    scan.survey(data, ord(delimiter), trim, even, FIELD_LIMIT, found, width, jump)
    return found, width[: found[scan.RECORDS]], jump


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What the sample looks like, cut at one delimiter."""

    delimiter: str
    trim: bool
    widths: NDArray[np.int32]  # fields of each record
    fault: bool
    fault_fields: int
    quotes_in_text: int

    @property
    def header(self) -> int:
        return int(self.widths[0]) if self.widths.size else 0

    @property
    def agreeing(self) -> int:
        """Rows as wide as the header."""
        return int((self.widths[1:] == self.header).sum())

    @property
    def even(self) -> bool:
        return not self.fault and self.header > 1 and self.agreeing == self.widths.size - 1


def _sniffed(data: NDArray[np.uint8], delimiter: str | None) -> tuple[str, bool]:
    """The delimiter, and whether blanks around fields are to be dropped."""
    size = SAMPLE
    while True:
        whole = data.size <= size
        sample = data if whole else data[:size]
        if not whole:
            ends = np.flatnonzero((sample == 10) | (sample == 13))
            sample = sample[: ends[-1] + 1] if ends.size else sample[:0]
        candidates = [_candidate(sample, each, whole) for each in ([delimiter] if delimiter else DELIMITERS)]
        if whole or all(each.widths.size > 1 or each.fault for each in candidates):
            break
        size *= 16
    if delimiter is not None:
        return delimiter, candidates[0].trim

    even = [each for each in candidates if each.even]
    if len(even) > 1:
        # Quotes in the middle of fields mean that the quoting belongs to another delimiter.
        even = [each for each in even if not each.quotes_in_text] or even
    if len(even) > 1 and any(each.widths.size > 1 for each in even):
        words = " and ".join(f"{_word(each.delimiter)} ({each.header} columns)" for each in even)
        raise _Refusal(f"the delimiter is not clear, {words} both split every line evenly; say which delimiter it is")
    if even:
        best = max(even, key=lambda each: each.header)
        return best.delimiter, best.trim

    # No delimiter fits all lines. The likeliest is returned, and the survey of the whole file says what is wrong.
    best = max(candidates, key=lambda each: (each.agreeing if each.header > 1 else 0, each.header))
    if best.header > 1:
        return best.delimiter, best.trim
    if any(each.fault for each in candidates):
        best = max(candidates, key=lambda each: (each.fault, each.fault_fields))
        return best.delimiter, best.trim
    splitting = [each for each in candidates if (each.widths > 1).any()]
    if not splitting:
        return ",", False
    if splitting == [candidates[0]] and _only_decimal_commas(sample):
        return ";", False
    first = splitting[0]
    row = int(np.flatnonzero(first.widths > 1)[0])
    raise _Refusal(
        f"the header is one field, but row {row} has {first.widths[row]} ({_word(first.delimiter)} separated); "
        "name every column in the first line, or say which delimiter it is"
    )


def _candidate(sample: NDArray[np.uint8], delimiter: str, whole: bool) -> _Candidate:
    from unveil.kernels import scan

    records = min(sample.size + 1, 100_000)
    trim = delimiter != " "
    found, widths, _ = _survey(sample, delimiter, trim, False, records)
    if trim and not 0 < found[scan.SPLITS] == found[scan.SPACED]:
        trim = False
        found, widths, _ = _survey(sample, delimiter, trim, False, records)
    # A sample may end within quotes.
    fault = bool(found[scan.FAULT]) and (whole or found[scan.FAULT] != scan.UNCLOSED)
    quotes = int(found[scan.QUOTES_IN_TEXT])
    return _Candidate(delimiter, trim, widths, fault, int(found[scan.FAULT_FIELDS]), quotes)


def _only_decimal_commas(sample: NDArray[np.uint8]) -> bool:
    import re

    lines = sample.tobytes().splitlines()[1:]
    return all(re.fullmatch(rb"\s*[-+]?\d+,\d+\s*", line) for line in lines if b"," in line)


def _surveyed(data: NDArray[np.uint8], delimiter: str, trim: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The structure of the whole text and its records with line ends; a fault is refused."""
    from unveil.kernels import scan

    found, _, jumps = _survey(data, delimiter, trim, True)
    if found[scan.FAULT]:
        _refuse(found, delimiter)
    if found[scan.RECORDS] == 0:
        raise _Refusal("is empty; a header line and rows are needed")
    if found[scan.MULTILINE]:
        jumps = _survey(data, delimiter, trim, True, 0, int(found[scan.MULTILINE]))[2]
    return found, jumps


def _refuse(found: NDArray[np.int64], delimiter: str) -> NoReturn:
    from unveil.kernels import scan

    line, opened = int(found[scan.FAULT_LINE]), int(found[scan.OPENED_LINE])
    kind = found[scan.FAULT]
    if kind == scan.RAGGED:
        fields, columns = int(found[scan.FAULT_FIELDS]), int(found[scan.FIELDS])
        word = _word(delimiter)
        raise _Refusal(
            f"{fields} field{'s' * (fields != 1)} where the header has {columns} ({word} separated); "
            f"every line needs as many, and a field that holds {word} needs quotes",
            line,
        )
    if kind == scan.UNCLOSED:
        raise _Refusal("the quote that opens here is never closed; close it, or double a quote that is text", opened)
    if kind == scan.AFTER_QUOTE:
        where = f" (it opened on line {opened})" if opened != line else ""
        raise _Refusal(f"text after the quote that closes a field{where}; double a quote that is text", line)
    if kind == scan.BLANK_LINE:
        if found[scan.RECORDS] == 0:
            raise _Refusal("blank; the first line must name the columns", line)
        raise _Refusal("a blank line between the rows; remove it", line)
    raise _Refusal(f"a field of over {FIELD_LIMIT >> 20} MB; is a closing quote missing?", opened)


def _newline(header: bytes) -> str:
    return next((end for end in ("\r\n", "\n", "\r") if header.endswith(end.encode())), "\n")


def _names(header: NDArray[np.uint8], columns: int, delimiter: str, trim: bool) -> tuple[str, ...]:
    from unveil.kernels import scan

    out = np.zeros(3 * header.size + 8, np.uint8)
    record = out[: scan.canonical(header, ord(delimiter), trim, out)].tobytes()
    names = tuple(str(name).strip() for name in _parsed(record, range(columns), delimiter).row(0))
    for place, name in enumerate(names, start=1):
        if not name:
            raise _Refusal(f"column {place} has no name; the first line must name every column", 1)
        if name in names[: place - 1]:
            first = names.index(name) + 1
            raise _Refusal(
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
        raise _Refusal("the CSV engine cannot read it although its lines are whole; please report this") from None
    if any(series.null_count() for series in frame):
        raise _Refusal("the CSV engine lost cells; please report this")
    return frame


_COMMA = r"^\s*[-+]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][-+]?\d+)?\s*$"
_POINT = r"^\s*[-+]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?([eE][-+]?\d+)?\s*$"
# A thousands mark looks like this, and shows nothing about the decimal mark.
_COMMA_THOUSANDS = r"^\s*[-+]?[1-9]\d{0,2}(,\d{3})+\s*$"
_POINT_THOUSANDS = r"^\s*[-+]?[1-9]\d{0,2}(\.\d{3})+\s*$"


def _decimal(columns: "pl.DataFrame", delimiter: str) -> str:
    """The decimal mark: a comma if some column's numbers are all written so, and none with a point."""
    if delimiter == ",":
        return "."
    comma: str | None = None
    point: str | None = None
    for column in columns.head(DECIMAL_SAMPLE):
        numbers = column.filter(column.str.contains(r"\d"))
        if numbers.is_empty():
            continue
        if _written(numbers, ",", _COMMA, _COMMA_THOUSANDS):
            comma = comma or column.name
        if _written(numbers, ".", _POINT, _POINT_THOUSANDS):
            point = point or column.name
    if comma is not None and point is not None:
        raise _Refusal(
            f"the decimal mark is not clear, {shown(comma)} is written with a comma and {shown(point)} with a point; "
            "say which decimal it is"
        )
    return "," if comma is not None else "."


def _written(numbers: "pl.Series", mark: str, shape: str, thousands: str) -> bool:
    """Whether all have the shape of numbers with this decimal mark, and one holds it as no thousands mark."""
    if not numbers.str.contains(shape).all():
        return False
    return bool((numbers.str.contains(mark, literal=True) & ~numbers.str.contains(thousands)).any())

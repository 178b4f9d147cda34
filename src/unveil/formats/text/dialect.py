"""How a text file writes a table: records and fields, its delimiter and decimal mark; what is wrong with them."""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unveil.data.notation import FileNotation
from unveil.errors import UsageError, shown
from unveil.formats.columns import Refusal
from unveil.formats.text.encodings import ENCODINGS

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "DECIMAL_SAMPLE",
    "SAMPLE",
    "Records",
    "Unclosed",
    "check_options",
    "delimiter_word",
    "described",
    "find_decimal",
    "sniff_delimiter",
]

# ------------------------------------------------------------------------------------------------------------- records

FIELD_LIMIT = 2**30  # bytes of one field
_LINE_END = re.compile(rb"\r\n?|\n")


def delimiter_word(delimiter: str) -> str:
    """A delimiter as it is called in messages."""
    return {"\t": "tab", " ": "blank"}.get(delimiter, f"'{delimiter}'")


class Unclosed(Refusal):
    """The text ends within quotes."""


@dataclass(slots=True)
class Records:
    """The records of a text one by one: what delimited text means here, and what polars is held to.

    Quoting is RFC 4180's: a field that starts with a quote ends at the next quote that is not doubled; a quote anywhere
    else is text. CR, LF and CRLF end a record outside quotes, and a physical line everywhere. With trim, blanks around
    a field are not part of it. With even, all records have equally many fields, and none is blank; in a text of one
    column a blank line is an empty field. Blank lines at the end are ignored.
    """

    text: bytes
    delimiter: str
    trim: bool
    even: bool = True
    columns: int = 0  # fields a record must have; 0: as many as the first has
    line: int = 1  # on which the next record starts
    count: int = 0  # records so far
    end: int = 0  # behind the last record: blank lines follow, or nothing
    fields: int = 0  # of the record at hand
    quotes_in_text: bool = False
    splits: int = 0  # of an uneven text: fields behind a delimiter, the first record's left out
    spaced: int = 0  # those of them that start with a space

    def __iter__(self) -> Iterator[list[bytes]]:
        text, mark = self.text, self.delimiter.encode()
        at = blank_lines = 0
        while at < len(text):
            found = _LINE_END.search(text, at)
            stop, after = found.span() if found else (len(text), len(text))
            line = self.line
            if text.find(b'"', at, stop) < 0:
                record = text[at:stop].split(mark)
                self._count(record, first=True)
                if self.trim:
                    record = [field.strip(b" \t") for field in record]
                if stop - at > FIELD_LIMIT and max(map(len, record)) > FIELD_LIMIT:
                    raise _too_long(line)
            else:
                record, stop = self._quoted(at)
                found = _LINE_END.match(text, stop)
                after = found.end() if found else stop
            self.line += 1
            blank = at == stop if self.columns == 1 else len(record) == 1 and not text[at:stop].strip(b" \t")
            if blank:
                blank_lines += 1
                at = after
                continue
            if blank_lines and self.columns == 1:
                for _ in range(blank_lines):
                    self.count += 1
                    yield [b""]
            elif blank_lines and self.even:
                between = "a blank line between the rows; remove it"
                message = between if self.columns else "blank; the first line must name the columns"
                raise Refusal(message, line - blank_lines)
            blank_lines = 0
            self.columns = self.columns or len(record)
            if self.even and len(record) != self.columns:
                raise self._ragged(len(record), line)
            self.count += 1
            self.end = at = after
            yield record

    def _quoted(self, at: int) -> tuple[list[bytes], int]:
        """The fields of a record that holds a quote, and where it ends."""
        text, mark = self.text, self.delimiter.encode()
        quoted, plain, unquoted = _fields(self.delimiter, self.trim)
        record: list[bytes] = []
        while True:
            simple = unquoted.match(text, at)  # the fields before the next that holds a quote
            if simple:
                fields = simple[0].split(mark)[:-1]
                self._count(fields, first=not record)
                record += (field.strip(b" \t") for field in fields) if self.trim else fields
                at = simple.end()
            opened, self.fields = self.line, len(record)
            field = quoted.match(text, at)
            if field is None:
                field = plain.match(text, at)
                assert field is not None  # it may be empty
                self.quotes_in_text |= b'"' in field[1]
                cell = field[1].rstrip(b" \t") if self.trim else field[1]
            else:
                self.line += len(_LINE_END.findall(field[1]))
                cell = field[1].replace(b'""', b'"')
            stop = field.end()
            following = text[stop : stop + 1]
            if field.re is quoted and field[2] is None:
                message = "the quote that opens here is never closed; close it, or double a quote that is text"
                raise Unclosed(message, opened)
            if following not in (mark, b"\r", b"\n", b""):
                where = f" (it opened on line {opened})" if opened != self.line else ""
                # In the first line it is most often R's write.table, which parts fields by blanks.
                instead = (
                    ", or say what parts the fields, e.g. --delimiter ' ' (of a release --release-delimiter ' ')"
                    if self.line == 1
                    else ""
                )
                message = f"text after the quote that closes a field{where}; double a quote that is text{instead}"
                raise Refusal(message, self.line)
            if stop - at > FIELD_LIMIT:
                raise _too_long(opened)
            self._count([text[at : at + 1]], first=not record)
            record.append(cell)
            if following != mark:
                return record, stop
            at = stop + 1

    def _count(self, fields: list[bytes], first: bool) -> None:
        if self.count and not self.even:
            self.splits += len(fields) - first
            self.spaced += sum(field.startswith(b" ") for field in fields[first:])

    def _ragged(self, fields: int, line: int) -> Refusal:
        word = delimiter_word(self.delimiter)
        # R's write.table, and sdcMicro's export with it, name the rows without naming their column.
        names = (
            "; if the first is R's row name, write it with row.names = FALSE"
            if (line, fields) == (2, self.columns + 1)
            else ""
        )
        return Refusal(
            f"{fields} field{'s' * (fields != 1)} where the header has {self.columns} ({word} separated); "
            f"every line needs as many, and a field that holds {word} needs quotes{names}",
            line,
        )


def _too_long(line: int) -> Refusal:
    return Refusal(f"a field of over {FIELD_LIMIT >> 20} MB; is a closing quote missing?", line)


@cache
def _fields(delimiter: str, trim: bool) -> tuple[re.Pattern[bytes], re.Pattern[bytes], re.Pattern[bytes]]:
    """A quoted field, whose second part is missing if it is never closed; any other; several without a quote."""
    mark = re.escape(delimiter.encode())
    blanks = b"[%s]*+" % b" \t".replace(delimiter.encode(), b"") if trim else b""
    quoted = b'%s"((?:[^"]++|"")*+)(?:(")%s)?' % (blanks, blanks)
    return re.compile(quoted), re.compile(b"%s([^%s\r\n]*+)" % (blanks, mark)), re.compile(b'[^"\r\n]*%s' % mark)


# ------------------------------------------------------------------------------------------------------------- dialect

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 256 * 1024  # bytes looked at to find the delimiter
MOST_RECORDS = 100_000  # of a larger sample, where a field holds many lines
DECIMAL_SAMPLE = 5_000  # rows looked at to find the decimal mark


def described(notation: FileNotation, trimmed: bool) -> str:
    """How a text file writes a table, in one line for people."""
    parts = [f"{delimiter_word(notation.delimiter)} separated", notation.encoding]
    parts += ["decimal comma"] * (notation.decimal == ",") + ["blanks around fields dropped"] * trimmed
    return ", ".join(parts)


def check_options(delimiter: str | None, decimal: str | None, encoding: str | None) -> tuple[str | None, str | None]:
    """The delimiter and the encoding by their usual names; an option that makes no sense is refused."""
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


# ------------------------------------------------------------------------------------------------------------ delimiter


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What the sample looks like, cut at one delimiter."""

    delimiter: str
    trim: bool
    widths: NDArray[np.int64]  # fields of each record
    fault: bool
    fault_fields: int
    quotes_in_text: bool

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


def sniff_delimiter(text: bytes, delimiter: str | None, *, complete: bool = True) -> tuple[str, bool] | None:
    """The delimiter, and whether blanks around fields are to be dropped; None if more of the text is needed."""
    size = SAMPLE
    while True:
        whole = complete and len(text) <= size
        sample = text if whole else text[:size]
        if not whole:
            sample = sample[: max(sample.rfind(b"\n"), sample.rfind(b"\r")) + 1]
        candidates = [_candidate(sample, each, whole) for each in ([delimiter] if delimiter else DELIMITERS)]
        if whole or all(each.widths.size > 1 or each.fault for each in candidates):
            break
        if not complete and len(text) <= size:
            return None
        size *= 16
    if delimiter is not None:
        return delimiter, candidates[0].trim

    even = [each for each in candidates if each.even]
    if len(even) > 1:
        # Quotes in the middle of fields mean that the quoting belongs to another delimiter.
        even = [each for each in even if not each.quotes_in_text] or even
    if len(even) > 1 and any(each.widths.size > 1 for each in even):
        words = " and ".join(f"{delimiter_word(each.delimiter)} ({each.header} columns)" for each in even)
        raise Refusal(f"the delimiter is not clear, {words} both split every line evenly; say which delimiter it is")
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
    mark = delimiter_word(first.delimiter)
    raise Refusal(
        f"the header is one field, but row {row} has {first.widths[row]} ({mark} separated); "
        "name every column in the first line, or say which delimiter it is"
    )


def _candidate(sample: bytes, delimiter: str, whole: bool) -> _Candidate:
    may_trim = delimiter != " " and f"{delimiter} ".encode() in sample
    return _counted(sample, delimiter, may_trim) or _parsed(sample, delimiter, may_trim, whole)


def _counted(sample: bytes, delimiter: str, may_trim: bool) -> _Candidate | None:
    """The same by counting delimiters, which is fast; None where quotes take a parser."""
    mark, escaped, quotes_in_text = delimiter.encode(), re.escape(delimiter.encode()), False
    if b'"' in sample:
        opens = rb'(?<![^%s\r\n])"' % escaped
        quotes_in_text = not re.search(opens, sample)
        if not quotes_in_text:  # a letter for each quoted field
            sample = re.sub(rb'%s(?:[^"]|"")*+"(?=[%s\r\n]|\Z)' % (opens, escaped), b"q", sample)
        if may_trim or (b'"' in sample and not quotes_in_text):
            return None
    if len(sample) > FIELD_LIMIT:
        return None
    lines = sample.splitlines()
    held = [mark in line or bool(line.strip(b" \t")) for line in lines]
    first = held.index(True) if True in held else len(held)
    if mark not in b"".join(lines[first : first + 1]):  # of one column: a blank line is a row, unless nothing follows
        last = max((i for i, line in enumerate(lines) if line), default=-1)
        records = lines[first : last + 1]
    else:
        records = [line for line, is_held in zip(lines, held, strict=True) if is_held]
    records = records[:MOST_RECORDS]
    widths = np.array([line.count(mark) + 1 for line in records], dtype=int)
    spaced = sum(line.count(mark + b" ") for line in records[1:]) if may_trim else 0
    trim = 0 < spaced == int((widths[1:] - 1).sum())
    return _Candidate(delimiter, trim, widths, False, 0, quotes_in_text)


def _parsed(sample: bytes, delimiter: str, may_trim: bool, whole: bool) -> _Candidate:
    for trim in (True, False) if may_trim else (False,):
        records, widths, fault = Records(sample, delimiter, trim, even=False), [], False
        try:
            for record in islice(records, MOST_RECORDS):
                widths.append(len(record))
        except Unclosed:
            fault = whole  # a sample may end within quotes
        except Refusal:
            fault = True
        if 0 < records.splits == records.spaced:
            break
    fields = records.fields if fault else 0
    return _Candidate(delimiter, trim, np.array(widths, dtype=int), fault, fields, records.quotes_in_text)


def _only_decimal_commas(sample: bytes) -> bool:
    lines = sample.splitlines()[1:]
    return all(re.fullmatch(rb"\s*[-+]?\d+,\d+\s*", line) for line in lines if b"," in line)


# --------------------------------------------------------------------------------------------------------- decimal mark

_COMMA = r"^\s*[-+]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][-+]?\d+)?\s*$"
_POINT = r"^\s*[-+]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?([eE][-+]?\d+)?\s*$"
# A thousands mark looks like this, and shows nothing about the decimal mark.
_COMMA_THOUSANDS = r"^\s*[-+]?[1-9]\d{0,2}(,\d{3})+\s*$"
_POINT_THOUSANDS = r"^\s*[-+]?[1-9]\d{0,2}(\.\d{3})+\s*$"


def find_decimal(parts: "Sequence[pl.DataFrame]", delimiter: str) -> str:
    """The decimal mark: a comma if some column's numbers are all written so, and none with a point."""
    import polars as pl

    if delimiter == ",":
        return "."
    comma: str | None = None
    point: str | None = None
    for column in pl.concat(parts).head(DECIMAL_SAMPLE):
        numbers = column.filter(column.str.contains(r"\d"))
        if numbers.is_empty():
            continue
        if _written(numbers, ",", _COMMA, _COMMA_THOUSANDS):
            comma = comma or column.name
        if _written(numbers, ".", _POINT, _POINT_THOUSANDS):
            point = point or column.name
    if comma is not None and point is not None:
        raise Refusal(
            f"the decimal mark is not clear, {shown(comma)} is written with a comma and {shown(point)} with a point; "
            "say which decimal it is"
        )
    return "," if comma is not None else "."


def _written(numbers: "pl.Series", mark: str, shape: str, thousands: str) -> bool:
    """Whether all have the shape of numbers with this decimal mark, and one holds it as no thousands mark."""
    if not numbers.str.contains(shape).all():
        return False
    return bool((numbers.str.contains(mark, literal=True) & ~numbers.str.contains(thousands)).any())

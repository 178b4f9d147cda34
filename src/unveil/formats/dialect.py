"""How a text file writes a table: records and fields, its delimiter and decimal mark; what is wrong with them."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from unveil.errors import UsageError, shown
from unveil.formats.columns import Refusal
from unveil.formats.encodings import ENCODINGS

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "DECIMAL_SAMPLE",
    "SAMPLE",
    "Dialect",
    "check_options",
    "delimiter_word",
    "find_decimal",
    "sniff_delimiter",
    "survey",
    "survey_piece",
]

# -------------------------------------------------------------------------------------------------------------- survey

FIELD_LIMIT = 2**30  # bytes of one field


def delimiter_word(delimiter: str) -> str:
    """A delimiter as it is called in messages."""
    return {"\t": "tab", " ": "blank"}.get(delimiter, f"'{delimiter}'")


def survey(
    data: NDArray[np.uint8], delimiter: str, trim: bool, even: bool, widths: int = 0, jumps: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """What kernels.scan.survey finds, the fields of the first records, and where records with line ends jump."""
    from unveil.kernels import scan

    found = np.zeros(scan.SURVEY_SIZE, np.int64)
    width = np.zeros(widths, np.int32)
    jump = np.zeros((jumps, 2), np.int64)
    scan.survey(data, ord(delimiter), trim, even, FIELD_LIMIT, found, width, jump)
    return found, width[: found[scan.RECORDS]], jump


def survey_piece(
    data: NDArray[np.uint8], delimiter: str, trim: bool, *, last: bool = True, before: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The structure of a header and the records behind it, and those with line ends; a fault is refused.

    A piece that is not the last may end within quotes. before: lines of the text that stood between the two.
    """
    from unveil.kernels import scan

    found, _, jumps = survey(data, delimiter, trim, True)
    if found[scan.FAULT] and (last or found[scan.FAULT] != scan.UNCLOSED):
        _refuse(found, delimiter, before)
    if found[scan.RECORDS] == 0 and last:
        raise Refusal("is empty; a header line and rows are needed")
    if found[scan.MULTILINE]:
        jumps = survey(data, delimiter, trim, True, 0, int(found[scan.MULTILINE]))[2]
    return found, jumps


def _refuse(found: NDArray[np.int64], delimiter: str, before: int) -> NoReturn:
    from unveil.kernels import scan

    line, opened = int(found[scan.FAULT_LINE]) + before, int(found[scan.OPENED_LINE]) + before
    kind = found[scan.FAULT]
    if kind == scan.RAGGED:
        fields, columns = int(found[scan.FAULT_FIELDS]), int(found[scan.FIELDS])
        word = delimiter_word(delimiter)
        # R's write.table, and sdcMicro's export with it, name the rows without naming their column.
        names = (
            "; if the first is R's row name, write it with row.names = FALSE"
            if (line, fields) == (2, columns + 1)
            else ""
        )
        raise Refusal(
            f"{fields} field{'s' * (fields != 1)} where the header has {columns} ({word} separated); "
            f"every line needs as many, and a field that holds {word} needs quotes{names}",
            line,
        )
    if kind == scan.UNCLOSED:
        raise Refusal("the quote that opens here is never closed; close it, or double a quote that is text", opened)
    if kind == scan.AFTER_QUOTE:
        where = f" (it opened on line {opened})" if opened != line else ""
        # In the first line it is most often R's write.table, which parts fields by blanks.
        instead = (
            ", or say what parts the fields, e.g. --delimiter ' ' (of a release --release-delimiter ' ')"
            if line == 1
            else ""
        )
        raise Refusal(f"text after the quote that closes a field{where}; double a quote that is text{instead}", line)
    if kind == scan.BLANK_LINE:
        if found[scan.RECORDS] == 0:
            raise Refusal("blank; the first line must name the columns", line)
        raise Refusal("a blank line between the rows; remove it", line)
    raise Refusal(f"a field of over {FIELD_LIMIT >> 20} MB; is a closing quote missing?", opened)


# ------------------------------------------------------------------------------------------------------------- dialect

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 256 * 1024  # bytes looked at to find the delimiter
DECIMAL_SAMPLE = 5_000  # rows looked at to find the decimal mark


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
        parts = [f"{delimiter_word(self.delimiter)} separated", self.encoding]
        if self.decimal == ",":
            parts.append("decimal comma")
        if self.skip_initial_space:
            parts.append("blanks around fields dropped")
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


def sniff_delimiter(
    data: NDArray[np.uint8], delimiter: str | None, *, complete: bool = True
) -> tuple[str, bool] | None:
    """The delimiter, and whether blanks around fields are to be dropped; None if more of the text is needed."""
    size = SAMPLE
    while True:
        whole = complete and data.size <= size
        sample = data if whole else data[:size]
        if not whole:
            ends = np.flatnonzero((sample == 10) | (sample == 13))
            sample = sample[: ends[-1] + 1] if ends.size else sample[:0]
        candidates = [_candidate(sample, each, whole) for each in ([delimiter] if delimiter else DELIMITERS)]
        if whole or all(each.widths.size > 1 or each.fault for each in candidates):
            break
        if not complete and data.size <= size:
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


def _candidate(sample: NDArray[np.uint8], delimiter: str, whole: bool) -> _Candidate:
    from unveil.kernels import scan

    records = min(sample.size + 1, 100_000)
    trim = delimiter != " "
    found, widths, _ = survey(sample, delimiter, trim, False, records)
    if trim and not 0 < found[scan.SPLITS] == found[scan.SPACED]:
        trim = False
        found, widths, _ = survey(sample, delimiter, trim, False, records)
    # A sample may end within quotes.
    fault = bool(found[scan.FAULT]) and (whole or found[scan.FAULT] != scan.UNCLOSED)
    quotes = int(found[scan.QUOTES_IN_TEXT])
    return _Candidate(delimiter, trim, widths, fault, int(found[scan.FAULT_FIELDS]), quotes)


def _only_decimal_commas(sample: NDArray[np.uint8]) -> bool:
    lines = sample.tobytes().splitlines()[1:]
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

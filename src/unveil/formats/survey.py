"""The records and fields of delimited text, and what is wrong with them."""

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

__all__ = ["Refusal", "delimiter_word", "survey", "survey_piece"]

FIELD_LIMIT = 2**30  # bytes of one field


class Refusal(Exception):  # noqa: N818  no error of its own: read_text names the file and picks the class
    """What is wrong with the file, and on which physical line."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


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

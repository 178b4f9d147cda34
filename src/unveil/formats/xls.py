"""Excel's workbooks until 2003 (.xls), read by xlrd. They have 65,536 rows at most and are read whole."""

import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unveil.formats import sheet_values
from unveil.formats.sheet_values import BOOLEANS, ERRORS, Shown, format_of
from unveil.formats.survey import Refusal
from unveil.formats.workbook import Row, Sheet

__all__ = ["Xls"]

_TEXT, _NUMBER, _DATE, _BOOLEAN, _ERROR = 1, 2, 3, 4, 5  # xlrd's kinds of cells


class Xls:
    """A workbook in records, within a file of files."""

    def __init__(self, path: Path, xlrd: Any) -> None:
        # With formats: a duration is told from a date by nothing else.
        self._book = xlrd.open_workbook(str(path), formatting_info=True, logfile=io.StringIO())
        codes = {key: form.format_str for key, form in self._book.format_map.items() if form.format_str}
        self._shown = [format_of(style.format_key, codes) for style in self._book.xf_list]

    def sheets(self) -> list[Sheet]:
        """In the file's order."""
        return [Sheet(sheet.name, sheet.visibility != 0) for sheet in self._book.sheets()]

    def rows(self, sheet: str) -> Iterator[Row]:
        """The rows of a sheet, by their numbers."""
        found = self._book.sheet_by_name(sheet)
        for number in range(found.nrows):
            texts = (self._text(cell) for cell in found.row(number))
            cells = [(column, text) for column, text in enumerate(texts) if text]
            if cells:
                yield number + 1, cells

    def _text(self, cell: Any) -> str:
        kind, value = cell.ctype, cell.value
        if kind == _TEXT:
            return str(value)
        if kind in (_NUMBER, _DATE):
            known = cell.xf_index is not None and 0 <= cell.xf_index < len(self._shown)
            shown = self._shown[cell.xf_index] if known else Shown.NUMBER
            if not math.isfinite(value):
                raise Refusal("a cell holds what is no number")
            return sheet_values.number(value, shown, self._book.datemode == 1)
        if kind == _BOOLEAN:
            return BOOLEANS[bool(value)]
        return ERRORS.get(value, "#ERROR") if kind == _ERROR else ""

"""The rows of a sheet as a table: the first that holds anything are the names, those below are coded as they come."""

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from unveil.data.table import CodedColumn
from unveil.errors import UnveilError, shown
from unveil.formats.coding import Coder
from unveil.formats.columns import Columns, checked_names, smallest_codes
from unveil.formats.sheet_values import letters, without_marks

__all__ = ["SheetRows"]

BATCH = 2**19  # cells that are held as texts
FEWEST = 2**10  # rows, however wide: each batch has a cost for each column


class SheetRows:
    """A table as its rows come, each with its number in the sheet and the columns that hold something.

    Blank rows above and blank columns beside the table are passed over, and blank rows below it.
    """

    def __init__(self, where: str, missing: str, error: type[UnveilError]) -> None:
        self._where, self._missing, self._error = where, missing, error
        self._names: dict[int, str] = {}  # by their columns
        self._held: dict[int, list[str]] = {}  # by their columns, the texts of the rows that are not coded yet
        self._top = 0  # the number of the row that holds the names
        self._rows = self._coded = 0
        self._most = 1  # rows that are held
        self._coder = Coder()

    def add(self, number: int, cells: Sequence[tuple[int, str]]) -> None:
        """The next row that holds anything: columns and texts, none of them empty."""
        if not self._top:
            self._name(number, cells)
            return
        if number != self._top + self._rows + 1:
            self._refuse_gap(number)
        row = self._rows - self._coded
        for column, text in cells:
            texts = self._held.get(column)
            if texts is None:
                self._refuse_unnamed(column)
            if len(texts) != row:
                if len(texts) > row:
                    raise self._error(f"{self._where}: two cells in one place in row {number}; save it anew")
                texts.extend([self._missing] * (row - len(texts)))
            texts.append(text)
        self._rows += 1
        if row + 1 == self._most:
            self._code()

    def columns(self, described: str) -> Columns:
        """All that was added."""
        if not self._rows:
            raise self._error(f"{self._where}: holds no rows" + (", only names" if self._top else ""))
        self._code()
        coded = {name: _days(column) for name, column in self._coder.coded().items()}
        return Columns(coded, self._rows, lambda row: f"row {row + 1}", ".", described)

    def _name(self, number: int, cells: Sequence[tuple[int, str]]) -> None:
        named = sorted((column, text.strip()) for column, text in cells if text.strip())
        if not named:
            return
        self._top = number
        self._names = {column: without_marks([name])[0] for column, name in named}
        twice = "two cells in one place; save it anew" if len(self._names) != len(named) else None
        fault = twice or checked_names(self._names.values())
        if fault:
            raise self._error(f"{self._where}: {fault}")
        self._held = {column: [] for column in self._names}
        self._most = max(BATCH // len(self._names), FEWEST)

    def _code(self) -> None:
        import polars as pl

        count = self._rows - self._coded
        columns = []
        for column, name in self._names.items():
            texts = self._held[column]
            texts.extend([self._missing] * (count - len(texts)))
            columns.append(pl.Series(name, texts, dtype=pl.String))
            texts.clear()
        self._coder.add(pl.DataFrame(columns))
        self._coded = self._rows

    def _refuse_gap(self, number: int) -> NoReturn:
        if number <= self._top + self._rows:
            raise self._error(f"{self._where}: row {number} comes twice or too late; save it anew")
        raise self._error(
            f"{self._where}: row {self._rows + 1} below the names is blank; remove it{self._title_hint()}"
        )

    def _refuse_unnamed(self, column: int) -> NoReturn:
        at = letters(column)
        beside = column < min(self._names, default=0)
        hint = " (pandas leaves its index unnamed: to_excel(index=False))" if beside else self._title_hint()
        raise self._error(
            f"{self._where}: column {at} has no name; name every column in row {self._top}, the first row{hint}"
        )

    def _title_hint(self) -> str:
        if len(self._names) != 1 or self._rows:
            return ""
        [title] = self._names.values()
        return f"; if {shown(title)} is a title, remove the rows above the names"


def _days(column: CodedColumn) -> CodedColumn:
    """The column with its dates as they are shown."""
    days = without_marks(list(column.texts))
    if days == list(column.texts):
        return column
    distinct = sorted(set(days))
    rank_of = {text: rank for rank, text in enumerate(distinct)}
    rank = smallest_codes(np.array([rank_of[text] for text in days], dtype=np.uint32), len(distinct))
    return CodedColumn(distinct, rank[column.text_of_row])

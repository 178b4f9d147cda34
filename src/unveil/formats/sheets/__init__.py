"""Tables from spreadsheets: one sheet, its names in the first row below any title, every cell the text it shows.

calamine reads the files. It lays a sheet out as a rectangle, has no value for error cells and takes negative dates for
times of day; so a file is looked through once before (sheets.parts), for its size and for these cells.
"""

import re
from collections.abc import Iterator, Sequence, Set
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from unveil.data.hierarchy import number_text
from unveil.data.table import CodedColumn
from unveil.errors import UnveilError, shown
from unveil.formats.columns import Coder, Columns, Place, Refusal, check_file, checked_names, needed, recoded, said
from unveil.formats.paths import sheet_file
from unveil.formats.sheets.parts import checked_parts

if TYPE_CHECKING:
    import polars as pl

__all__ = ["other_sheets", "read_sheet"]

MOST_SHEETS = 250
BATCH = 2**19  # cells that are held as texts
FEWEST = 2**10  # rows, however wide: each batch has a cost for each column
MOST_AROUND = 20  # rows of a title above a table, or of totals and notes below it
_MARK = "\uffff"  # stands between a date's day and its time, so that it is not taken for a text; no text holds it
_MARKED = re.compile(rf"(-?\d{{4,}}-\d\d-\d\d){_MARK}([\d:.]+)", re.ASCII)
_MIDNIGHT = "00:00:00"
_DURATION = re.compile(
    r"(-?)P(?:(\d{1,9})D)?T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:[.,](\d{1,9}))?S)?", re.ASCII
)


def read_sheet(path: Path, *, missing: str = "", error: type[UnveilError], **_: object) -> Columns:
    """Read the named sheet, or the only visible one that holds anything."""
    file, wanted = sheet_file(path)
    check_file(file, "a spreadsheet", error)
    calamine = needed("python_calamine", "files", f"{file}: to read spreadsheets", error)
    try:
        parts = checked_parts(file)
        book = _safely(lambda: calamine.load_workbook(parts.content() or str(file)))
        name, sheet = _chosen(calamine, book, file, wanted, error)
        table = _SheetTable(f"{file}, sheet {shown(name)}", sheet.start[1] if sheet.start else 0, missing, error)
        rows = _rows(sheet)
        first = list(islice(rows, MOST_AROUND + FEWEST))
        top = _names_row(first)
        if top is not None:
            table.name(top + 1, first[top])
            rows = chain(first[top + 1 :], rows)
        while batch := list(islice(rows, table.batch)):
            table.add([_texts(values, parts.durations) for values in zip(*batch, strict=True)])
    except Refusal as reason:
        raise error(f"{file}: cannot be read as a spreadsheet: {reason}") from None
    return table.columns(f"spreadsheet, sheet {shown(name)}", titled=top is not None and any(map(_held, first[:top])))


def other_sheets(path: Path) -> Iterator[tuple[str, bool, list[str]]]:
    """Every sheet that holds anything beside the one that is read: its name, whether it is hidden, its texts."""
    file, wanted = sheet_file(path)
    try:
        calamine = needed("python_calamine", "files", f"{file}: to read spreadsheets", UnveilError)
        book = _safely(lambda: calamine.load_workbook(checked_parts(file).content() or str(file)))
        chosen, _ = _chosen(calamine, book, file, wanted, UnveilError)
        for each in book.sheets_metadata[:MOST_SHEETS]:
            if each.name != chosen and each.typ == calamine.SheetTypeEnum.WorkSheet:
                sheet = _safely(lambda name=each.name: book.get_sheet_by_name(name))
                cells = (value for row in _rows(sheet) for value in row if value != "")
                texts = [number_text(v) if isinstance(v, float) else str(v) for v in cells]
                if texts:
                    yield each.name, each.visible != calamine.SheetVisibleEnum.Visible, texts
    except Refusal:
        return


def _safely(step: Any) -> Any:
    """What the library returns; whatever it stumbles over is a refusal, also a panic, which is not an Exception."""
    try:
        return step()
    except (KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration):
        raise
    except BaseException as reason:
        raise Refusal(f"it is damaged ({said(reason)}); open it and save it again") from None


def _rows(sheet: Any) -> Iterator[list[Any]]:
    """All rows from the first; their cells from the first column that holds anything."""
    rows = _safely(sheet.iter_rows)
    while sheet.start is not None:
        try:
            yield _safely(lambda: next(rows))
        except StopIteration:
            return


def _held(row: list[Any]) -> list[Any]:
    """The cells that hold something."""
    return [value for value in row if not (value.__class__ is str and not value.strip())]


def _names_row(rows: list[list[Any]]) -> int | None:
    """The row that names the columns: the first one that holds anything, unless that is a title.

    A title is one or two cells, at most half as many as there are names; the names are different texts, with a blank
    row above them or a number or a date in a row below. Without that a row of data might be taken for the names.
    """
    held = [_held(row) for row in rows]
    first = next((place for place, row in enumerate(held) if row), None)
    if first is None or len(held[first]) > 2:
        return first
    place = next((p for p, row in enumerate(held[: first + MOST_AROUND]) if p > first and len(row) > 2), None)
    place = place or next((p for p, row in enumerate(held[: first + MOST_AROUND]) if p > first and len(row) > 1), None)
    if place is None or 2 * max(map(len, held[first:place])) > len(held[place]):
        return first
    names = held[place]
    apart = not held[place - 1] or any(v.__class__ is not str for row in held[place + 1 :] for v in row)
    named = all(v.__class__ is str for v in names) and len(set(names)) == len(names)
    return place if named and apart else first


def _chosen(calamine: Any, book: Any, file: Path, wanted: str | None, error: type[UnveilError]) -> tuple[str, Any]:
    """The sheet to be read, by its name."""
    sheets = [each for each in book.sheets_metadata if each.typ == calamine.SheetTypeEnum.WorkSheet]
    names = [sheet.name for sheet in sheets]
    if len(set(names)) < len(names):
        raise Refusal("two of its sheets have the same name")
    if wanted is not None:
        if wanted not in names:
            raise error(f"{file}: no sheet {shown(wanted)}; there are {', '.join(map(shown, names[:20]))}")
        return wanted, _safely(lambda: book.get_sheet_by_name(wanted))
    if len(sheets) > MOST_SHEETS:
        raise error(f"{file}: holds {len(sheets):,} sheets; name one, {file.name}#SHEET")
    holding: dict[str, Any] = {}
    for hidden in (False, True):  # hidden sheets count only if no visible one holds anything
        for each in sheets if not holding else ():
            if (each.visible != calamine.SheetVisibleEnum.Visible) == hidden:
                sheet = _safely(lambda name=each.name: book.get_sheet_by_name(name))
                if any(any(value != "" for value in row) for row in _rows(sheet)):
                    holding[each.name] = sheet
    if len(holding) > 1:
        named = ", ".join(map(shown, list(holding)[:20]))
        raise error(f"{file}: several sheets hold data; name one, {file.name}#SHEET, of {named}")
    if not holding:
        raise error(f"{file}: holds no rows")
    return next(iter(holding.items()))


# --------------------------------------------------------------------------------------------------------------- cells


def _texts(values: tuple[Any, ...], durations: Set[str]) -> "pl.Series":
    """Cells as texts. Durations of OpenDocument come as ISO 8601 writes them, which a text may look like."""
    import polars as pl

    kinds = set(map(type, values))
    if kinds == {float}:
        numbers = pl.Series(values)
        distinct = numbers.unique()
        return numbers.replace_strict(distinct, [_text(value) for value in distinct], return_dtype=pl.String)
    if durations and str in kinds:
        values = tuple(_duration(value) if value.__class__ is str and value in durations else value for value in values)
    if kinds != {str}:
        values = tuple(value if value.__class__ is str else _text(value) for value in values)
    return pl.Series(values, dtype=pl.String)


@lru_cache(maxsize=2**16, typed=True)
def _text(value: Any) -> str:
    """A number, date, time, duration or boolean as the text it shows; dates with a mark, which `_days` takes away."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value + 0.0)  # no -0
    if isinstance(value, datetime):
        return f"{value.date().isoformat()}{_MARK}{_clock(value.time())}"
    if isinstance(value, date):
        return f"{value.isoformat()}{_MARK}{_MIDNIGHT}"
    if isinstance(value, time):
        return _clock(value)
    if isinstance(value, timedelta):
        return _hours(round(value / timedelta(milliseconds=1)))
    raise Refusal(f"a cell holds a {type(value).__name__}")


def _clock(value: time) -> str:
    since = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    return _hours(round(since / timedelta(milliseconds=1)))


def _hours(milliseconds: int) -> str:
    """A time of day or a duration.

    >>> _hours(37_800_000), _hours(108_900_250), _hours(-3_600_000)
    ('10:30:00', '30:15:00.25', '-01:00:00')
    """
    sign, milliseconds = "-" * (milliseconds < 0), abs(milliseconds)
    seconds, rest = divmod(milliseconds, 1000)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{rest:03}".rstrip("0") if rest else text


def _duration(text: str) -> str:
    """An ISO 8601 duration as hours.

    >>> _duration("PT36H"), _duration("-P1DT2H0M0.5S"), _duration("P1Y")
    ('36:00:00', '-26:00:00.5', 'P1Y')
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        return text
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:5])
    fraction = round(float(f"0.{found[6] or 0}") * 1000)
    total = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + fraction
    return _hours(-total if found[1] else total)


def _days(texts: Sequence[str]) -> list[str]:
    """Dates as they are shown: with their times of day, unless all of these are midnight.

    >>> _days(["2024-02-29\\uffff00:00:00", "2024-02-29 10:30:00", "a"])
    ['2024-02-29', '2024-02-29 10:30:00', 'a']
    >>> _days(["2024-02-29\\uffff00:00:00", "2024-02-29\\uffff10:30:00"])
    ['2024-02-29 00:00:00', '2024-02-29 10:30:00']
    """
    dates = {text: found for text in texts if _MARK in text and (found := _MARKED.fullmatch(text))}
    timed = any(found[2] != _MIDNIGHT for found in dates.values())
    shows = {text: f"{found[1]} {found[2]}" if timed else found[1] for text, found in dates.items()}
    return [shows.get(text, text) for text in texts]


def letters(column: int) -> str:
    """A column as sheets call it.

    >>> letters(0), letters(25), letters(26), letters(16383)
    ('A', 'Z', 'AA', 'XFD')
    """
    text = ""
    while column >= 0:
        column, letter = divmod(column, 26)
        text = chr(65 + letter) + text
        column -= 1
    return text


# --------------------------------------------------------------------------------------------------------------- table


class _SheetTable:
    """A table as the rows of its sheet come.

    Blank columns beside the table are passed over, and blank rows below it, with a few short ones: totals and notes.
    """

    def __init__(self, where: str, left: int, missing: str, error: type[UnveilError]) -> None:
        self._where, self._left, self._missing, self._error = where, left, missing, error
        self._names: dict[int, str] = {}  # by their columns
        self._top = 0  # the number of the row that holds the names
        self._rows = self._blank = 0  # rows below the names, and blank ones since
        self._below = 0  # short rows below these
        self._coder = Coder()
        self.batch = 1  # rows to be added at a time

    def name(self, number: int, row: list[Any]) -> None:
        """The row that names the columns."""
        texts = ((column, v if v.__class__ is str else _text(v)) for column, v in enumerate(row, start=self._left))
        self._names = {column: _days([text.strip()])[0] for column, text in texts if text.strip()}
        self._top = number
        fault = checked_names(self._names.values())
        if fault:
            raise self._error(f"{self._where}: {fault}")
        self.batch = max(BATCH // len(row), FEWEST)

    def add(self, columns: "list[pl.Series]") -> None:
        """The next rows, column by column."""
        import polars as pl

        held = [(column, texts) for column, texts in enumerate(columns, start=self._left) if (texts != "").any()]
        count = len(columns[0])
        full = pl.DataFrame([(texts != "").alias(str(column)) for column, texts in held])
        where = full.select(pl.any_horizontal(pl.all())).to_series().arg_true() if held else pl.Series(dtype=pl.UInt32)
        before = 0 if self._blank else next((place for place, row in enumerate(where) if place != row), len(where))
        if before < len(where) and self._is_note(full.select(pl.sum_horizontal(pl.all())).to_series()[before:]):
            self._below += len(where) - before
            columns, count, where = [texts.head(before) for texts in columns], before + 1, where.head(before)
            held = [(column, texts) for column, texts in enumerate(columns, start=self._left) if (texts != "").any()]
        if before < len(where):
            self._rows += before
            hint = self._title_hint(wide=len(held) > 1)
            raise self._error(f"{self._where}: row {self._rows + 1} below the names is blank; remove it{hint}")
        for column, _ in held:
            if column not in self._names:
                self._refuse_unnamed(column)
        self._blank += count - len(where)
        self._rows += len(where)
        if len(where):
            filled = {
                name: columns[column - self._left].head(len(where)).replace("", self._missing)
                for column, name in self._names.items()
            }
            self._coder.add(pl.DataFrame(filled))

    def _is_note(self, filled: "pl.Series") -> bool:
        """Whether rows below a blank one are totals or notes: few, of one or two cells, at most half of a row."""
        few = self._below + int((filled > 0).sum()) <= MOST_AROUND
        return few and 2 * int(filled.to_numpy().max(initial=0)) <= min(len(self._names), 4)

    def columns(self, described: str, *, titled: bool) -> Columns:
        """All that was added."""
        if not self._rows:
            raise self._error(f"{self._where}: holds no rows" + (", only names" if self._top else ""))
        coded = {name: _shown(column) for name, column in self._coder.coded().items()}
        described += f", names in row {self._top}" if titled else ""
        if self._below:
            described += f", {self._below} short {'row' if self._below == 1 else 'rows'} below the table left out"
        return Columns(coded, self._rows, Place(), ".", described)

    def _refuse_unnamed(self, column: int) -> NoReturn:
        beside = column < min(self._names, default=0)
        hint = " (pandas leaves its index unnamed: to_excel(index=False))" if beside else self._title_hint()
        raise self._error(
            f"{self._where}: column {letters(column)} has no name; name every column in row {self._top}, "
            f"the first row{hint}"
        )

    def _title_hint(self, *, wide: bool = False) -> str:
        """`wide`: more columns hold something than the one that has a name."""
        if len(self._names) != 1 or (self._rows and not wide):
            return ""
        [title] = self._names.values()
        return f"; if {shown(title)} is a title, remove the rows above the names"


def _shown(column: CodedColumn) -> CodedColumn:
    """The column with its dates as they are shown."""
    days = _days(column.texts)
    return column if days == list(column.texts) else recoded(days, [column.text_of_row])

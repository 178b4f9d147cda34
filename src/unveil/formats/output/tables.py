"""Tables as files of every kind that can be written, by their ending."""

import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from unveil.data.attribute import Kind, position
from unveil.data.dictionary import Dictionary
from unveil.data.hierarchy import iso_date, number_text
from unveil.data.notation import FileNotation
from unveil.engine import Engine
from unveil.errors import OutputError, UnveilError
from unveil.formats.columns import Columns, needed
from unveil.formats.output import CodedTexts, FileContent, NewFolder, csv_bytes, write_whole
from unveil.formats.statistical.output import ColumnPlan, check_names, planned, write_statistical
from unveil.temporary import own_folder

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "ENDINGS",
    "OutputColumn",
    "check_ending",
    "check_packages",
    "frame_content",
    "table_content",
    "typed",
    "write_columns",
    "written_folder",
]

_TEXT = (".csv", ".tsv", ".txt")
_MOST_CHARACTERS = 32_767  # of a cell of Excel
_MOST_ROWS, _MOST_COLUMNS = 1_048_575, 16_384


@dataclass(frozen=True, slots=True, eq=False)
class OutputColumn:
    """A column on its way to a file: its texts, and what is known of them."""

    name: str
    texts: "pl.Series"  # String without nulls: (rows,), or those that rows hold
    kind: Kind | None = None  # numbers and dates are written as such if every cell is one
    missing: str | None = None  # the text of a missing value
    merged: bool = False  # that text stands for every kind of missing value
    of_row: "NDArray[np.integer] | None" = None  # (rows,) which text each holds; None: one text a row
    count: "NDArray[np.int64] | None" = None  # (rows,) how many rows of the file each stands for; None: one each

    @property
    def cells(self) -> "pl.Series":
        """(rows of the file,)"""
        return self.laid_out(self.texts)

    def laid_out(self, texts: "pl.Series") -> "pl.Series":
        """(rows of the file,) these instead of its texts."""
        held = self.coded(texts)
        return held[:] if isinstance(held, CodedTexts) else held

    def coded(self, texts: "pl.Series") -> "CodedTexts | pl.Series":
        """The column with these texts instead, each held once."""
        import numpy as np

        if self.of_row is None:
            return texts
        return CodedTexts(texts, self.of_row if self.count is None else np.repeat(self.of_row, self.count))

    def part(self, start: int, stop: int) -> "OutputColumn":
        """The rows of the file from one to before another, of a column whose rows are counted."""
        import numpy as np

        assert self.of_row is not None
        assert self.count is not None
        until = np.cumsum(self.count)
        first, last = np.searchsorted(until, [start, stop - 1], side="right")
        count = self.count[first : last + 1].copy()
        count[-1] -= until[last] - stop
        count[0] -= start - (until[first] - self.count[first])
        return replace(self, of_row=self.of_row[first : last + 1], count=count)


def written_folder(
    path: Path,
    names: Sequence[str],
    columns: Sequence[OutputColumn],
    rows: int,
    notation: FileNotation | None = None,
    engine: Engine | None = None,
) -> NewFolder:
    """A table of counted rows as a folder of files of these names, each with about as many of its rows.

    On the cluster of an `engine` they are written by its workers.
    """
    for name in names:
        check_ending(path / name, "a part of a table")

    def fill(folder: Path) -> None:
        edges = [rows * edge // len(names) for edge in range(len(names) + 1)]
        pieces = [
            (folder / name, [column.part(start, stop) for column in columns], notation)
            for name, (start, stop) in zip(names, pairwise(edges), strict=True)
        ]
        (engine or Engine(seed=0)).each("writing", _write_part, pieces)
        if missing := [name for name in names if not (folder / name).is_file()]:
            raise OutputError(f"{path}: {missing[0]} was written elsewhere; workers must share the disk of this folder")

    return NewFolder(fill)


def _write_part(piece: tuple[Path, Sequence[OutputColumn], FileNotation | None]) -> None:
    """A file of a folder that is not yet in place; one that a lost worker has begun is begun again."""
    path, columns, notation = piece
    content = table_content(path, columns, None, notation)
    with path.open("wb") as file:
        content(file) if callable(content) else file.write(content)
        file.flush()
        os.fsync(file.fileno())


def check_ending(path: Path, what: str, error: type[UnveilError] = OutputError, *, names: Sequence[str] = ()) -> None:
    """Refuse an ending that no writer has, and names that the format cannot hold."""
    if path.suffix.lower() not in _WRITERS:
        better = f"name it {path.with_suffix(_INSTEAD.get(path.suffix.lower(), '.csv')).name}"
        raise error(f"{path}: {what} is written as {', '.join(ENDINGS)}; {better}")
    check_packages(path)
    if _WRITERS[path.suffix.lower()] is _write_statistical:
        check_names(path, names)


def check_packages(path: Path) -> None:
    """Say that the package which writes such files is absent: before the work, not after it."""
    writer = _WRITERS.get(path.suffix.lower())
    if writer is _write_excel:
        needed("xlsxwriter", "files", f"{path}: to write spreadsheets", OutputError)
    elif writer is _write_statistical:
        needed("pyreadstat", "files", f"{path}: to write files of SPSS, Stata and SAS", OutputError)


def table_content(
    path: Path, columns: Sequence[OutputColumn], like: Dictionary | None = None, notation: FileNotation | None = None
) -> FileContent:
    """What the file holds; `like`: codes and labels that are kept where every cell is one of them.

    `notation`: how a text file writes it.
    """
    check_ending(path, "a table")
    if notation is not None and path.suffix.lower() in _TEXT:
        return csv_bytes(
            [c.name for c in columns],
            [_noted(c, notation) for c in columns],
            delimiter=_delimiter(path, notation.delimiter),
            newline=notation.newline,
            encoding=notation.encoding,
        )
    return _WRITERS[path.suffix.lower()](path, columns, like)


def frame_content(path: Path, frame: "pl.DataFrame") -> FileContent:
    """The same for a frame that is typed already; Parquet, Arrow and Excel."""
    return {".parquet": _parquet, ".arrow": _arrow, ".feather": _arrow, ".xlsx": _excel}[path.suffix.lower()](
        path, frame
    )


def write_columns(columns: Columns, path: str | Path, *, missing: str = "") -> None:
    """Write a table as it was read, with codes and labels if it has them; `missing`: the text of a null."""
    import polars as pl

    path = Path(path)
    written = [
        OutputColumn(name, pl.Series(column.texts, dtype=pl.String), missing=missing, of_row=column.text_of_row)
        for name, column in columns.columns.items()
    ]
    write_whole({path: table_content(path, written, columns.dictionary)})


def typed(column: OutputColumn) -> "pl.Series":
    """The column as numbers or dates if every cell is one, else as texts. Read back, it has the same texts.

    A part of a column is typed as the whole is, by the texts that rows of the whole hold.
    """
    import polars as pl

    if column.kind is None or not column.kind.measured:
        return column.cells.alias(column.name)
    texts = column.texts.unique().to_list()
    values: dict[str, object] = {}
    for text in texts:
        if text == column.missing:
            continue
        value = iso_date(text) if column.kind is Kind.DATE else position(text, Kind.NUMERIC)
        if value is None or (isinstance(value, float) and number_text(value) != text):
            return column.cells.alias(column.name)
        values[text] = value
    if column.kind is Kind.DATE:
        dtype: Any = pl.Date
    else:
        dtype = pl.Int64 if all(float(v).is_integer() and abs(v) < 2**53 for v in values.values()) else pl.Float64  # type: ignore[arg-type]
        values = {text: int(v) if dtype is pl.Int64 else v for text, v in values.items()}  # type: ignore[call-overload]
    found = column.texts.replace_strict(
        list(values), pl.Series(list(values.values()), dtype=dtype), default=None, return_dtype=dtype
    )
    return column.laid_out(found).alias(column.name)


def _noted(column: OutputColumn, notation: FileNotation) -> "CodedTexts | pl.Series":
    """The cells as this notation writes them, each different text once."""
    import polars as pl

    texts = column.texts.unique().to_list()
    said = [t if t == column.missing else notation.cell(t, column.name, column.kind) for t in texts]
    if said == texts:
        return column.coded(column.texts)
    new = column.texts.replace_strict(texts, pl.Series(said, dtype=pl.String), return_dtype=pl.String)
    return column.coded(new)


# --- one function an ending -------------------------------------------------------------------------------------------


def _write_csv(path: Path, columns: Sequence[OutputColumn], like: Dictionary | None) -> FileContent:
    return csv_bytes([c.name for c in columns], [c.coded(c.texts) for c in columns], delimiter=_delimiter(path, ","))


def _delimiter(path: Path, otherwise: str) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else otherwise


def _typed(
    write: "Callable[[Path, pl.DataFrame], FileContent]",
) -> Callable[[Path, Sequence[OutputColumn], Dictionary | None], FileContent]:
    def content(path: Path, columns: Sequence[OutputColumn], like: Dictionary | None) -> FileContent:
        import polars as pl

        return write(path, pl.DataFrame([typed(c) for c in columns]))

    return content


def _parquet(path: Path, frame: "pl.DataFrame") -> FileContent:
    return lambda file: frame.write_parquet(file)


def _arrow(path: Path, frame: "pl.DataFrame") -> FileContent:
    import polars as pl

    # Old types: not every reader knows the newer layout of texts.
    return lambda file: frame.write_ipc(file, compression="zstd", compat_level=pl.CompatLevel.oldest())


def _write_excel(path: Path, columns: Sequence[OutputColumn], like: Dictionary | None) -> FileContent:
    import polars as pl

    for column in columns:
        if column.missing != "" and (column.cells == "").any():
            raise OutputError(
                f"{path}: {column.name}: an empty text cannot be told from a missing one in a spreadsheet; write .csv"
            )
    return _excel(path, pl.DataFrame([typed(c) for c in columns]))


def _excel(path: Path, frame: "pl.DataFrame") -> FileContent:
    import polars as pl

    xlsxwriter = needed("xlsxwriter", "files", f"{path}: to write spreadsheets", OutputError)
    if frame.height > _MOST_ROWS or frame.width > _MOST_COLUMNS:
        raise OutputError(
            f"{path}: {frame.height:,} rows and {frame.width:,} columns do not fit a sheet ({_MOST_ROWS:,} and "
            f"{_MOST_COLUMNS:,}); write .parquet or .csv"
        )
    for column in frame:
        longest = int(column.str.len_chars().fill_null(0).to_numpy().max(initial=0)) if column.dtype == pl.String else 0
        if longest > _MOST_CHARACTERS:
            raise OutputError(f"{path}: {column.name} holds a text of {longest:,} characters; a sheet holds 32,767")

    def fill(file: BinaryIO) -> None:
        with own_folder() as folder:  # of the rows on their way
            settings = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
            write(xlsxwriter.Workbook(file, {**settings, "tmpdir": str(folder)}))

    def write(book: Any) -> None:
        book.set_properties({"created": datetime(2000, 1, 1)})  # when it was made is nobody's business
        sheet, day = book.add_worksheet("table"), book.add_format({"num_format": "yyyy-mm-dd"})
        for place, name in enumerate(frame.columns):
            sheet.write_string(0, place, name)

        def number(row: int, place: int, value: float) -> None:
            sheet.write_number(row, place, value) if math.isfinite(value) else sheet.write_string(
                row, place, str(value)
            )

        # Each cell by the method of its type: no text can become a formula, a link or a number.
        writers: list[Callable[[int, int, Any], Any]] = [
            sheet.write_string
            if column.dtype == pl.String
            else (lambda row, place, value: sheet.write_datetime(row, place, value, day))
            if column.dtype == pl.Date
            else sheet.write_boolean
            if column.dtype == pl.Boolean
            else number
            for column in frame
        ]
        for row, values in enumerate(frame.iter_rows(), start=1):
            for place, value in enumerate(values):
                if value is not None and value != "":
                    writers[place](row, place, value)
        book.close()

    return fill


def _write_statistical(path: Path, columns: Sequence[OutputColumn], like: Dictionary | None) -> FileContent:
    check_names(path, [c.name for c in columns])
    plans: list[ColumnPlan] = [planned(path, c.name, c.cells, c.missing, c.merged, like, typed(c)) for c in columns]

    def fill(file: BinaryIO) -> None:
        # The library writes to a path of its own; what is written there is the whole file.
        with own_folder() as folder:
            made = folder / f"table{path.suffix.lower()}"
            write_statistical(path, made, plans, like)
            with made.open("rb") as source:
                shutil.copyfileobj(source, file, 2**20)

    return fill


_WRITERS: Mapping[str, Callable[[Path, Sequence[OutputColumn], Dictionary | None], FileContent]] = {
    **dict.fromkeys(_TEXT, _write_csv),
    ".parquet": _typed(_parquet),
    ".arrow": _typed(_arrow),
    ".feather": _typed(_arrow),
    ".xlsx": _write_excel,
    ".sav": _write_statistical,
    ".zsav": _write_statistical,
    ".dta": _write_statistical,
    ".xpt": _write_statistical,
}
ENDINGS = tuple(_WRITERS)
_INSTEAD = {
    ".xls": ".xlsx",
    ".xlsm": ".xlsx",
    ".xlsb": ".xlsx",
    ".ods": ".xlsx",
    ".por": ".sav",
    ".sas7bdat": ".xpt",
} | {
    ".ipc": ".arrow",
    ".pq": ".parquet",
}

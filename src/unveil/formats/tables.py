"""Original tables from CSV, Parquet, ARX projects and databases."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unveil.attribute import Role
from unveil.errors import TableError, UnveilError, shown
from unveil.formats.arx import read_data
from unveil.formats.databases import Database, located, read_database
from unveil.formats.text import distinct_codes, read_coded
from unveil.hierarchy import number_text
from unveil.schema import Schema
from unveil.table import CodedColumn, Table, code_table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Columns", "read_columns", "read_table"]


@dataclass(frozen=True, slots=True)
class Columns:
    """A file's columns as texts, with what is needed to say where a row stands."""

    columns: dict[str, CodedColumn]
    rows: int
    place: Callable[[int], str]
    decimal: str
    described: str  # the dialect, for the user


def read_columns(
    path: str | Path | Database,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: str = "",
    error: type[UnveilError] = TableError,
    published: bool = False,
    counted: Collection[str] = (),
) -> Columns:
    """Read a CSV or, by its ending, a Parquet file or an ARX project, or a table in a database by its address.

    `missing` is the text a null becomes. Of a project it is the input, or the output if `published`. Columns `counted`
    are only asked which rows are equal: they may come without texts.
    """
    path = located(path) if isinstance(path, str) else path
    if isinstance(path, Database):
        coded, rows = read_database(path, missing=missing, counted=counted, error=error)
        return Columns(coded, rows, lambda row: f"row {row + 1}", ".", "database")
    content = None
    if path.suffix.lower() == ".deid":
        content, found = read_data(path, published=published, error=error)
        delimiter = delimiter or found
    if path.suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path, missing, error)
    text = read_coded(
        path,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        error=error,
        content=content,
        counted=counted,
    )
    return Columns(
        text.columns, text.rows, lambda row: f"line {text.line_of(row)}", text.dialect.decimal, text.dialect.describe()
    )


def read_table(
    path: str | Path | Database,
    schema: Schema,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Read and code an original table.

    Cost: parsing, one hash a cell, one gather a cell: about a second for a million rows of nine columns.
    """
    path = located(path) if isinstance(path, str) else path
    token = schema.document.missing[0] if schema.document.missing else ""
    counted = [name for name in schema.names if schema.declaration(name).role is Role.IDENTIFIER]
    found = read_columns(path, delimiter=delimiter, decimal=decimal, encoding=encoding, missing=token, counted=counted)
    return code_table(schema, found.columns, name=str(path), place=found.place, decimal=found.decimal)


def _read_parquet(path: Path, missing: str, error: type[UnveilError]) -> Columns:
    import polars as pl

    if not path.is_file():
        raise error(
            f"{path}: {'is a directory, not a file' if path.is_dir() else 'does not exist'}; name a Parquet file"
        )
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as fault:
        reason = str(fault).splitlines()[0] if str(fault) else type(fault).__name__
        raise error(f"{path}: cannot be read as Parquet ({shown(reason, 80)})") from None
    if not frame.height or not frame.width:
        raise error(f"{path}: holds no rows")
    columns = {name: _coded(frame[name], missing, f"{path}, {name}", error) for name in frame.columns}
    return Columns(columns, frame.height, lambda row: f"row {row + 1}", ".", "Parquet")


def _coded(column: "pl.Series", missing: str, where: str, error: type[UnveilError]) -> CodedColumn:
    """A typed column as the texts a CSV file would hold."""
    import polars as pl

    kind = column.dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration, pl.Time):
        raise error(f"{where}: a column of type {kind} cannot be read; save it as text, number or date")
    if kind == pl.Datetime:
        clock = column.dt.replace_time_zone(None)  # as the file's own zone shows it
        day = clock.cast(pl.Date)
        if not (day.cast(clock.dtype) == clock).fill_null(True).all():
            raise error(f"{where}: holds times of day; keep dates only, or make it text")
        column = day
    texts, codes = distinct_codes(column.cast(pl.String).fill_null(missing))
    if kind.is_float():
        texts = [t if t == missing or not _is_number(t) else number_text(float(t)) for t in texts]
    return CodedColumn(texts, codes)


def _is_number(text: str) -> bool:
    return text not in ("NaN", "inf", "-inf")

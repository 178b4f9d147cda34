"""Tables from files of every kind, by their ending, from databases and from memory; what has no ending is CSV."""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from unveil.data.attribute import Role
from unveil.data.preparation import prepare_columns
from unveil.data.schema import Schema
from unveil.data.table import Table, code_table
from unveil.errors import TableError, UnveilError
from unveil.formats.arx import read_data, shown_output
from unveil.formats.columns import Columns
from unveil.formats.databases import Database, located, read_database
from unveil.formats.frames import IntoFrame, is_frame, named_source, read_arrow, read_frame, read_parquet
from unveil.formats.paths import SPREADSHEETS, sheet_file
from unveil.formats.sheets import read_sheet
from unveil.formats.statistical import FAMILY, read_statistical
from unveil.formats.text import read_coded

__all__ = ["READERS", "Columns", "read_columns", "read_prepared", "read_table"]

# The reader of each ending: (path, missing=, encoding=, error=) -> Columns.
READERS: dict[str, Callable[..., Columns]] = {
    **dict.fromkeys((".parquet", ".pq"), read_parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), read_arrow),
    **dict.fromkeys(SPREADSHEETS, read_sheet),
    **dict.fromkeys(FAMILY, read_statistical),
}


def read_columns(
    path: str | Path | Database | IntoFrame,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: str = "",
    error: type[UnveilError] = TableError,
    published: bool = False,
    counted: Collection[str] = (),
) -> Columns:
    """Read a CSV or, by its ending, another kind of file; a table in a database by its address, or one in memory.

    `missing` is the text a null becomes. Of an ARX project it is the input, or the output if `published`.
    `book.xlsx#Sheet` names a sheet. Columns `counted` are only asked which rows are equal: they may come without texts.
    """
    path = located(path) if isinstance(path, str) else path
    if isinstance(path, Database):
        coded, rows = read_database(path, missing=missing, counted=counted, error=error)
        return Columns(coded, rows, lambda row: f"row {row + 1}", ".", "database")
    if is_frame(path):
        return read_frame(path, missing=missing, name="frame", error=error)
    path = Path(path)
    content = binary = None
    if path.suffix.lower() == ".deid":
        content, found, binary = read_data(path, published=published, error=error)
        delimiter = delimiter or found
    reader = READERS.get(sheet_file(path)[0].suffix.lower())
    if reader is not None:
        return reader(path, missing=missing, encoding=encoding, error=error)
    text = read_coded(
        path, delimiter=delimiter, decimal=decimal, encoding=encoding, error=error, content=content, counted=counted
    )
    columns = Columns(
        text.columns, text.rows, lambda row: f"line {text.line_of(row)}", text.dialect.decimal, text.dialect.describe()
    )
    return shown_output(path, columns, binary, error) if content is not None and published else columns


def read_prepared(
    path: str | Path | Database | IntoFrame,
    schema: Schema,
    *,
    published: bool = False,
    error: type[UnveilError] = TableError,
    **dialect: Any,
) -> Columns:
    """The columns of a file as the schema prepares them; of a release (`published`) its cells are read alike."""
    found = read_columns(path, missing=schema.missing_token, error=error, published=published, **dialect)
    name = str(path if isinstance(path, Database) else named_source(path))
    columns = prepare_columns(
        schema,
        found.columns,
        decimal=found.decimal,
        name=name,
        place=found.place,
        published=published,
        error=error,
    )
    return replace(found, columns=columns)


def read_table(
    path: str | Path | Database | IntoFrame,
    schema: Schema,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Read and code an original table: a file, or a table of pandas, polars or pyarrow.

    Cost: parsing, one hash a cell, one gather a cell: about a second for a million rows of nine columns.
    """
    path = located(path) if isinstance(path, str) else path
    token = schema.missing_token
    sources = schema.document.sources()  # of an identifier that others are made of, the texts are needed
    counted = [n for n in schema.names if schema.declaration(n).role is Role.IDENTIFIER and n not in sources]
    found = read_columns(path, delimiter=delimiter, decimal=decimal, encoding=encoding, missing=token, counted=counted)
    return code_table(
        schema,
        found.columns,
        name=str(path if isinstance(path, Database) else named_source(path)),
        place=found.place,
        decimal=found.decimal,
        dictionary=found.dictionary,
    )

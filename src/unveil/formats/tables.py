"""Tables from files of every kind, by their ending; whatever has no ending of its own is CSV."""

from collections.abc import Callable
from pathlib import Path

from unveil.errors import TableError, UnveilError
from unveil.formats.arx import read_data
from unveil.formats.columns import Columns
from unveil.formats.excel import read_sheet
from unveil.formats.frames import IntoFrame, is_frame, named_source, read_arrow, read_frame, read_parquet
from unveil.formats.statistical import FAMILY, read_statistical
from unveil.formats.text import distinct_codes, read_text
from unveil.paths import SPREADSHEETS, sheet_file
from unveil.schema import Schema
from unveil.table import CodedColumn, Table, code_table

__all__ = ["READERS", "Columns", "read_columns", "read_table"]

# The reader of each ending: (path, missing=, encoding=, error=) -> Columns.
READERS: dict[str, Callable[..., Columns]] = {
    **dict.fromkeys((".parquet", ".pq"), read_parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), read_arrow),
    **dict.fromkeys(SPREADSHEETS, read_sheet),
    **dict.fromkeys(FAMILY, read_statistical),
}


def read_columns(
    path: str | Path | IntoFrame,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: str = "",
    error: type[UnveilError] = TableError,
    published: bool = False,
) -> Columns:
    """Read a CSV or, by its ending, another kind of file, or a table in memory. `missing`: the text a null becomes.

    Of an ARX project it is the input, or the output if `published`. `book.xlsx#Sheet` names a sheet.
    """
    if is_frame(path):
        return read_frame(path, missing=missing, name="frame", error=error)
    path = Path(path)
    content = None
    if path.suffix.lower() == ".deid":
        content, found = read_data(path, published=published, error=error)
        delimiter = delimiter or found
    reader = READERS.get(sheet_file(path)[0].suffix.lower())
    if reader is not None:
        return reader(path, missing=missing, encoding=encoding, error=error)
    text = read_text(path, delimiter=delimiter, decimal=decimal, encoding=encoding, error=error, content=content)
    columns = {name: CodedColumn(*distinct_codes(text.columns[name])) for name in text.names}
    return Columns(
        columns, text.rows, lambda row: f"line {text.line_of(row)}", text.dialect.decimal, text.dialect.describe()
    )


def read_table(
    path: str | Path | IntoFrame,
    schema: Schema,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Read and code an original table: a file, or a table of pandas, polars or pyarrow.

    Cost: parsing, one hash a cell, one gather a cell: about a second for a million rows of nine columns.
    """
    token = schema.document.missing[0] if schema.document.missing else ""
    found = read_columns(path, delimiter=delimiter, decimal=decimal, encoding=encoding, missing=token)
    return code_table(
        schema,
        found.columns,
        name=str(named_source(path)),
        place=found.place,
        decimal=found.decimal,
        dictionary=found.dictionary,
    )

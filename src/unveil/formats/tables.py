"""Tables from files of every kind, by their ending, or from many; from databases and memory. No ending is CSV."""

import contextlib
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unveil.data.attribute import Role
from unveil.data.notation import FileNotation
from unveil.data.preparation import prepare_columns
from unveil.data.schema import Schema
from unveil.data.table import Table, code_table
from unveil.engine import Engine
from unveil.errors import TableError, UnveilError, shown
from unveil.formats.arx import read_data, shown_output
from unveil.formats.columns import MOST_COLUMNS, TOO_WIDE, Columns
from unveil.formats.databases import Database, located, read_database
from unveil.formats.frames import IntoFrame, is_frame, named_source, read_arrow, read_frame, read_parquet
from unveil.formats.glass import behind_glass
from unveil.formats.parts import TablePart, joined_parts, part_files, with_labels
from unveil.formats.paths import SPREADSHEETS, is_many, is_project, sheet_file
from unveil.formats.sheets import read_sheet
from unveil.formats.statistical import FAMILY, read_statistical
from unveil.formats.text import read_text

__all__ = ["READERS", "Columns", "read_columns", "read_prepared", "read_project_table", "read_table"]

MOST_CHARACTERS = 1_000_000  # of a cell

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
    `book.xlsx#Sheet` names a sheet; a folder or a pattern, `census/*.parquet`, a table of many files. Columns
    `counted` are only asked which rows are equal: they may come without texts.
    A cell of a million characters is refused: working on many of them would take all memory, or hours.
    """
    path = located(path) if isinstance(path, str) else path
    found = _read(path, delimiter, decimal, encoding, missing, error, published, counted)
    return _checked(found, str(path if isinstance(path, Database) else named_source(path)), error)


def _checked(found: Columns, source: str, error: type[UnveilError]) -> Columns:
    """Refuse a cell that is far too long."""
    for name, column in found.columns.items():
        if max(map(len, column.texts), default=0) > MOST_CHARACTERS:
            text = next(i for i, text in enumerate(column.texts) if len(text) > MOST_CHARACTERS)
            place = found.place(int(np.argmax(column.text_of_row == text)))
            of = f"a cell of {len(column.texts[text]):,} characters, over {MOST_CHARACTERS:,}; shorten it"
            raise error(f"{source}, {place}, {shown(name)}: {of}")
    return found


def _read(
    path: str | Path | Database | IntoFrame,
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None,
    missing: str,
    error: type[UnveilError],
    published: bool,
    counted: Collection[str],
) -> Columns:
    if isinstance(path, Database):
        found = behind_glass(read_database, path, error=error, timed=False, missing=missing, counted=tuple(counted))
        path.note(found.columns)
        return found
    if is_frame(path):
        return read_frame(path, missing=missing, name="frame", error=error)
    path = Path(path)
    if is_many(path):
        parts = part_files(path, error)
        how: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding, "missing": missing}
        return joined_parts(path, parts, [read_part(part, error=error, **how) for part in parts], counted, error)
    reader = READERS.get(sheet_file(path)[0].suffix.lower())
    if reader is not None:
        return behind_glass(reader, path, error=error, missing=missing, encoding=encoding)
    dialect: dict[str, Any] = {
        "delimiter": delimiter,
        "decimal": decimal,
        "encoding": encoding,
        "counted": tuple(counted),
    }
    if is_project(path):
        return behind_glass(read_project_table, path, error=error, published=published, **dialect)
    return _read_text(path, error=error, headed=not published, **dialect)


def read_part(
    part: TablePart, *, missing: str, error: type[UnveilError], encoding: str | None = None, **dialect: Any
) -> Columns:
    """One file of a table of many; it may hold no rows."""
    reader = READERS.get(part.path.suffix.lower())
    if reader is None:
        found = _read_text(part.path, encoding=encoding, error=error, empty=True, **dialect)
    else:
        found = behind_glass(reader, part.path, error=error, missing=missing, encoding=encoding, empty=True)
    return with_labels(found, part, missing, error)


def read_project_table(
    path: Path, *, published: bool, delimiter: str | None, error: type[UnveilError], **how: Any
) -> Columns:
    """The input or the output of an ARX project."""
    content, mark = read_data(path, published=published, error=error)
    columns = _read_text(path, content=content, delimiter=delimiter or mark, error=error, **how)
    return shown_output(path, columns, error) if published else columns


def _read_text(path: Path, *, content: bytes | None = None, error: type[UnveilError], **how: Any) -> Columns:
    _check_width(path, content, error)
    return read_text(path, content=content, error=error, **how)


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


def prepared_part(
    part: TablePart, schema: Schema | None, name: str, error: type[UnveilError], *, published: bool, **dialect: Any
) -> Columns:
    """A file of a table of many, as a schema prepares it; `name`: the table's. It may hold no rows."""
    found = read_part(part, missing="" if schema is None else schema.missing_token, error=error, **dialect)
    found = _checked(found, f"{name}, {part.name}", error)
    if schema is None:
        return found
    columns = prepare_columns(
        schema,
        found.columns,
        decimal=found.decimal,
        name=f"{name}, {part.name}",
        place=found.place,
        published=published,
        error=error,
    )
    return replace(found, columns=columns)


def _check_width(path: Path, content: bytes | None, error: type[UnveilError]) -> None:
    """Refuse a text file with too many columns by its first lines: laying them out is what takes long."""
    if content is None and path.is_file():
        with contextlib.suppress(OSError), path.open("rb") as file:  # whoever reads it says what is wrong
            content = file.read(2**20)
    plain = re.sub(rb'"[^"]*(?:"|$)', b"", (content or b"")[: 2**20].replace(b"\0", b""))  # names in quotes, UTF-16
    for line in re.split(rb"[\r\n]+", plain.lstrip(b"\r\n"), maxsplit=3)[:3]:
        if max(line.count(sign) for sign in (b",", b";", b"|", b"\t")) >= MOST_COLUMNS:
            raise error(f"{path}: {TOO_WIDE}")


def read_table(
    path: str | Path | Database | IntoFrame,
    schema: Schema,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    engine: Engine | None = None,
    counted: bool = True,
) -> Table:
    """Read and code an original table: a file, or a table of pandas, polars or pyarrow.

    On the cluster of an `engine` it is read part by part, and equal rows are counted, or kept as codes if not
    `counted`. Weights, frequencies and households are read here.

    Cost: parsing, one hash a cell, one gather a cell: about a second for a million rows of nine columns.
    """
    path = located(path) if isinstance(path, str) else path
    if engine is not None and engine.cluster is not None:
        from unveil.formats.counted import coded_table, counted_table

        if counted or not schema.extra_columns:
            how: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
            return (counted_table if counted else coded_table)(path, schema, engine, **how)
    token = schema.missing_token
    needed = {n for n, declared in schema.document.attributes.items() if declared.prepare is not None}
    needed |= schema.document.sources().keys()  # of an identifier that others are made of, the texts are needed, too
    asked = [n for n in schema.names if schema.declaration(n).role is Role.IDENTIFIER and n not in needed]
    found = read_columns(path, delimiter=delimiter, decimal=decimal, encoding=encoding, missing=token, counted=asked)
    table = code_table(
        schema,
        found.columns,
        name=str(path if isinstance(path, Database) else named_source(path)),
        place=found.place,
        decimal=found.decimal,
        dictionary=found.dictionary,
    )
    return replace(table, notation=notation_of(schema, found))


def notation_of(schema: Schema, found: Columns) -> FileNotation:
    """How a text file is written, with the formats of dates and the decimal marks of columns that the schema reads."""
    declared = {n: d.prepare for n, d in schema.document.attributes.items()}
    prepared = {n: p for n, p in declared.items() if p is not None and p.derivation is None}
    dates = {n: p.date for n, p in prepared.items() if p.date is not None}
    decimals = {n: p.decimal for n, p in prepared.items() if p.decimal is not None}
    return replace(found.notation, dates=dates, decimals=decimals)

"""Tables read part by part, equal rows counted as one: what a cluster merges, where no process holds all rows.

A part is read as a file of its own. Counts are whole numbers, and what is merged is ordered by its values, so that
neither parts nor their order change a result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role
from unveil.data.release import row_numbers
from unveil.data.schema import Schema
from unveil.data.table import CodedColumn, Table, check_table_columns, code_table
from unveil.errors import ReleaseError, TableError, UnveilError, UsageError
from unveil.formats.columns import Columns, recoded
from unveil.formats.glass import BINARY
from unveil.formats.parts import TYPED, TablePart, is_many, part_files
from unveil.formats.tables import prepared_part

if TYPE_CHECKING:
    from unveil.engine import Engine

__all__ = ["counted_release", "counted_table"]


def counted_table(path: Any, schema: Schema, engine: "Engine", **dialect: Any) -> Table:
    """The people of a table, counted on the engine's cluster. Identifiers, weights and households are not read.

    Domains that the schema does not fix take a pass of their own over the parts.
    """
    parts = _parts(path, TableError)
    names = [n for n in schema.names if schema.declaration(n).role is not Role.IDENTIFIER]
    declared = [n for n in names if _is_declared(schema, n)]
    how = _HowRead(str(path), schema, dialect)
    texts: dict[str, list[str]] = {}
    if len(declared) < len(names):
        found = engine.merged("reading", partial(_part_texts, how), parts, _united_texts)
        texts, decimal = ({}, ".") if found is None else (found.texts, found.decimal)
        known = {n: schema.attribute(n, texts.get(n, []), decimal=decimal) for n in names}
    else:
        known = {n: schema.attribute(n) for n in names}
    table = engine.merged("counting", partial(_part_table, how, known), parts, _united_tables)
    if table is None:
        raise TableError(f"{path}: holds no rows")
    return replace(table, name=str(path))


def counted_release(path: Any, schema: Schema, engine: "Engine", **dialect: Any) -> Columns:
    """The rows of a published table, prepared and counted on the engine's cluster, in the order they first appear."""
    how = _HowRead(str(path), schema, dialect)
    parts = _parts(path, ReleaseError)
    found = engine.merged("counting", partial(_part_rows, how), list(enumerate(parts)), _united_rows)
    if found is None:
        raise ReleaseError(f"{path}: holds no rows")
    order = np.lexsort(found.first.T[::-1])
    columns = {n: CodedColumn(c.texts, c.text_of_row[order]) for n, c in found.columns.columns.items()}
    assert found.columns.count is not None
    place = _FirstPlace(tuple(part.name for part in parts), found.first[order])
    return replace(found.columns, columns=columns, count=found.columns.count[order], place=place)


@dataclass(frozen=True, slots=True)
class _HowRead:
    """How every part is read."""

    name: str
    schema: Schema
    dialect: dict[str, Any]

    def read(self, part: TablePart, error: type[UnveilError], *, published: bool) -> Columns:
        return prepared_part(part, self.schema, self.name, error, published=published, **self.dialect)


def _parts(path: Any, error: type[UnveilError]) -> Sequence[TablePart]:
    if isinstance(path, str):
        path = Path(path)
    if not isinstance(path, Path):
        raise UsageError("on a cluster a table is files that every worker can read; give a path")
    if is_many(path):  # workers have another working folder
        return [replace(part, path=part.path.absolute()) for part in part_files(path, error)]
    if path.suffix.lower() in BINARY and path.suffix.lower() not in TYPED:
        raise UsageError(f"{path}: on a cluster a table is CSV, Parquet or Arrow; leave --cluster out, or save it so")
    return [TablePart(path.absolute(), path.name)]


def _is_declared(schema: Schema, name: str) -> bool:
    declared = schema.declaration(name)
    return declared.domain is not None or declared.bins is not None or name in schema.hierarchies


@dataclass(frozen=True, slots=True)
class _Texts:
    """What the cells of some columns are."""

    texts: dict[str, list[str]]
    decimal: str


def _part_texts(how: _HowRead, part: TablePart) -> _Texts | None:
    found = how.read(part, TableError, published=False)
    check_table_columns(how.schema, found.columns, f"{how.name}, {part.name}")
    names = [n for n in how.schema.names if not _is_declared(how.schema, n)]
    names = [n for n in names if how.schema.declaration(n).role is not Role.IDENTIFIER]
    return _Texts({n: list(found.columns[n].texts) for n in names}, found.decimal) if found.rows else None


def _united_texts(found: Sequence[_Texts | None]) -> _Texts:
    held = [one for one in found if one is not None]
    _one_decimal([one.decimal for one in held])
    names = dict.fromkeys(name for one in held for name in one.texts)
    texts = {name: sorted({t for one in held for t in one.texts.get(name, ())}) for name in names}
    return _Texts(texts, held[0].decimal if held else ".")


def _part_table(how: _HowRead, known: Mapping[str, Attribute], part: TablePart) -> Table | None:
    found = how.read(part, TableError, published=False)
    if not found.rows:
        return None
    table = code_table(
        how.schema,
        found.columns,
        name=f"{how.name}, {part.name}",
        place=found.place,
        decimal=found.decimal,
        known=known,
        prepared=True,
    )
    return replace(table, notation=found.notation, repeated={}).counted()


def _united_tables(found: Sequence[Table | None]) -> Table | None:
    held = [one for one in found if one is not None]
    _one_decimal([one.notation.decimal for one in held])
    return Table.united(held) if held else None


def _one_decimal(marks: Sequence[str]) -> None:
    if len(set(marks)) > 1:
        raise TableError("numbers are written with a decimal comma in some files, and in others none is; say --decimal")


@dataclass(frozen=True, slots=True, eq=False)
class _CountedRows:
    """Counted rows of a published table, and where each appears first."""

    columns: Columns
    first: NDArray[np.int64]  # (rows, 2) part, row


def _part_rows(how: _HowRead, numbered: tuple[int, TablePart]) -> _CountedRows | None:
    number, part = numbered
    found = how.read(part, ReleaseError, published=True)
    if not found.rows:
        return None
    first = np.stack([np.full(found.rows, number), np.arange(found.rows)], axis=1)
    return _counted(found, np.ones(found.rows, dtype=np.int64), first)


def _united_rows(found: Sequence[_CountedRows | None]) -> _CountedRows | None:
    held = [one for one in found if one is not None]
    if len(held) < 2:
        return held[0] if held else None
    _one_decimal([one.columns.decimal for one in held])
    names = list(held[0].columns.columns)
    for one in held[1:]:
        if set(one.columns.columns) != set(names):
            other = sorted(set(one.columns.columns) ^ set(names))[0]
            raise ReleaseError(f"the column {other!r} is in some of its files only")
    columns = {}
    for name in names:
        texts: list[str] = []
        codes = []
        for one in held:
            column = one.columns.columns[name]
            codes.append(column.text_of_row.astype(np.int64) + len(texts))
            texts += column.texts
        columns[name] = recoded(texts, codes)
    count = np.concatenate([one.columns.count for one in held if one.columns.count is not None])
    whole = replace(held[0].columns, columns=columns, rows=len(count))
    return _counted(whole, count, np.concatenate([one.first for one in held]))


def _counted(found: Columns, count: NDArray[np.int64], first: NDArray[np.int64]) -> _CountedRows:
    number = row_numbers([column.text_of_row for column in found.columns.values()])
    order = np.lexsort((first[:, 1], first[:, 0], number))
    edge = np.flatnonzero(np.diff(number[order], prepend=-1))
    row = order[edge]
    columns = {n: CodedColumn(c.texts, c.text_of_row[row]) for n, c in found.columns.items()}
    total = np.add.reduceat(count[order], edge)
    return _CountedRows(replace(found, columns=columns, rows=len(row), count=total, place=str), first[row])


@dataclass(frozen=True, slots=True)
class _FirstPlace:
    """Where a counted row first appears."""

    name: tuple[str, ...]
    first: NDArray[np.int64]

    def __call__(self, row: int) -> str:
        part, line = self.first[row].tolist()
        return f"{self.name[part]}, row {line + 1}"

"""Tables read part by part, where workers are: equal rows counted as one, so that no process holds all, or as codes.

A part is read as a file of its own. Counts are whole numbers, and what is merged is ordered by its values, so that
neither parts nor their order change a result.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role
from unveil.data.draft.summary import MOST_TEXTS, ColumnTexts, Make, RowValues
from unveil.data.release import example_rows, row_numbers
from unveil.data.schema import Schema
from unveil.data.table import CodedColumn, Table, check_table_columns, code_table
from unveil.errors import ReleaseError, TableError, UnveilError, UsageError, shown
from unveil.formats.columns import Columns, recoded
from unveil.formats.glass import BINARY
from unveil.formats.parts import TablePart, hashed, joined_hashes, part_files
from unveil.formats.paths import TYPED, is_many
from unveil.formats.tables import notation_of, prepared_part

if TYPE_CHECKING:
    from unveil.engine import Engine

__all__ = ["PartRows", "SummarizedTable", "coded_table", "counted_release", "counted_table", "summarized_table"]

MOST_JOINED = 4_000_000  # different rows that a draft combines attributes of


def counted_table(path: Any, schema: Schema, engine: "Engine", **dialect: Any) -> Table:
    """The people of a table, counted on the engine's cluster. Identifiers, weights and households are not read.

    Domains that the schema does not fix take a pass of their own over the parts.
    """
    parts, how = _parts(path, TableError), _HowRead(str(path), schema, dialect)
    known = _known_attributes(how, schema, parts, engine)
    table = engine.merged("counting", partial(_part_table, how, known), parts, _united_tables)
    if table is None:
        raise TableError(f"{path}: holds no rows")
    return replace(table, name=str(path))


def coded_table(path: Any, schema: Schema, engine: "Engine", **dialect: Any) -> Table:
    """The people of a table row by row, in codes that the engine's cluster made of its cells."""
    parts, how = _parts(path, TableError), _HowRead(str(path), schema, dialect)
    known = _known_attributes(how, schema, parts, engine)
    found = [one for one in engine.each("reading", partial(_part_codes, how, known), parts) if one is not None]
    if not found:
        raise TableError(f"{path}: holds no rows")
    _one_decimal([one.table.notation.decimal for one in found])
    repeated = {}
    for name in found[0].hashes:
        number = joined_hashes([one.hashes[name] for one in found]).text_of_row
        times = np.bincount(number)
        repeated[name] = int(times[times > 1].sum())
    columns = tuple(np.concatenate(each) for each in zip(*(one.table.columns for one in found), strict=True))
    first = found[0].table
    return Table(first.attributes, columns, repeated=repeated, name=str(path), notation=first.notation)


def summarized_table(
    path: Any, engine: "Engine", *, most: int = MOST_TEXTS, **dialect: Any
) -> "tuple[SummarizedTable, PartRows]":
    """What a draft asks of a table that is read on the engine's cluster: each column's texts, and rows part by part.

    Texts are exact up to `most` different ones a column; of more a sample is kept (draft.summary).
    """
    parts = _parts(path, TableError)
    how = _HowRead(str(path), None, dialect)
    found = _summarized(how, parts, engine, "reading", None, most)
    said = f"{len(parts)} files, {found.described}" if len(parts) > 1 else found.described
    return replace(found, described=said), PartRows(how, parts, engine, most)


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
    schema: Schema | None  # None: columns are read as they are
    dialect: dict[str, Any]

    def read(self, part: TablePart, error: type[UnveilError] = TableError, *, published: bool = False) -> Columns:
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


def _known_attributes(
    how: _HowRead, schema: Schema, parts: Sequence[TablePart], engine: "Engine"
) -> Mapping[str, Attribute]:
    """The attributes; a pass over the parts finds the domains that the schema leaves open."""
    names = [n for n in schema.names if schema.declaration(n).role is not Role.IDENTIFIER]
    texts, decimal = {}, "."
    if open_names := [n for n in names if not _is_declared(schema, n)]:
        found = _summarized(how, parts, engine, "reading", tuple(open_names), None)
        texts, decimal = {n: sorted(found.columns[n].texts) for n in open_names}, found.decimal
    return {n: schema.attribute(n, texts.get(n, ()), decimal=decimal) for n in names}


def _is_declared(schema: Schema, name: str) -> bool:
    declared = schema.declaration(name)
    return declared.domain is not None or declared.bins is not None or name in schema.hierarchies


@dataclass(frozen=True, slots=True)
class SummarizedTable:
    """What the cells of a table's columns are."""

    columns: dict[str, ColumnTexts]
    rows: int
    decimal: str
    described: str  # the dialect, for the user


def _summarized(
    how: _HowRead,
    parts: Sequence[TablePart],
    engine: "Engine",
    task: str,
    names: tuple[str, ...] | None,
    most: int | None,
) -> SummarizedTable:
    each, united = partial(_part_summary, how, names, most), partial(_united_summaries, how, most)
    found: SummarizedTable = engine.merged(task, each, parts, united)
    if not found.rows:
        raise TableError(f"{how.name}: holds no rows")
    return found


def _part_summary(how: _HowRead, names: tuple[str, ...] | None, most: int | None, part: TablePart) -> SummarizedTable:
    found = how.read(part)
    if how.schema is not None:
        check_table_columns(how.schema, found.columns, f"{how.name}, {part.name}")
    columns = {n: ColumnTexts.of(c) for n, c in found.columns.items() if names is None or n in names}
    columns = columns if most is None else {n: ColumnTexts.united([c], most) for n, c in columns.items()}
    return SummarizedTable(columns, found.rows, found.decimal, found.described)


def _united_summaries(how: _HowRead, most: int | None, found: Sequence[SummarizedTable]) -> SummarizedTable:
    first = next((one for one in found if one.rows), found[0])
    for one in found:
        if lacking := sorted(set(one.columns) ^ set(first.columns)):
            raise TableError(f"{how.name}: the column {shown(lacking[0])} is in some of its files only")
    _one_decimal([one.decimal for one in found if one.rows])
    if len(found) == 1:
        return first
    limit = sys.maxsize if most is None else most
    columns = {n: ColumnTexts.united([one.columns[n] for one in found], limit) for n in first.columns}
    return replace(first, columns=columns, rows=sum(one.rows for one in found))


@dataclass(frozen=True, slots=True)
class PartRows:
    """Rows of a table for a draft, read part by part on a cluster."""

    how: _HowRead
    parts: Sequence[TablePart]
    engine: "Engine"
    most: int

    def made(self, make: Make) -> ColumnTexts:
        """The texts of a column that is made of several."""
        united = partial(ColumnTexts.united, most=self.most)
        found: ColumnTexts = self.engine.merged("reading", partial(_part_made, self.how, make), self.parts, united)
        return found

    def joint(self, values: Sequence[RowValues]) -> tuple[list[NDArray[np.unsignedinteger]], NDArray[np.int64]] | None:
        """Each different row of some columns, and its count; None if over MOST_JOINED differ."""
        found = self.engine.merged("counting", partial(_part_joint, self.how, tuple(values)), self.parts, _united_joint)
        return None if found.count is None else (found.codes, found.count)


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """Different rows of some columns, and how often each occurs; no count: too many."""

    codes: list[NDArray[np.unsignedinteger]]
    count: NDArray[np.int64] | None


def _part_made(how: _HowRead, make: Make, part: TablePart) -> ColumnTexts:
    return ColumnTexts.of(make(how.read(part).columns))


def _part_joint(how: _HowRead, values: tuple[RowValues, ...], part: TablePart) -> _Joint:
    found = how.read(part)
    codes = [of_rows(found.columns) for of_rows in values]
    return _united_joint([_Joint(codes, np.ones(found.rows, dtype=np.int64))])


def _united_joint(found: Sequence[_Joint]) -> _Joint:
    held = [one.count for one in found if one.count is not None]
    if len(held) < len(found):
        return _Joint([], None)
    codes, count = (
        [np.concatenate(each) for each in zip(*(one.codes for one in found), strict=True)],
        np.concatenate(held),
    )
    number = row_numbers(codes)
    row = example_rows(number)
    if len(row) > MOST_JOINED:
        return _Joint([], None)
    return _Joint([each[row] for each in codes], np.bincount(number, weights=count).astype(np.int64))


@dataclass(frozen=True, slots=True)
class _PartCodes:
    """A part, row by row, and 128 bits of each cell of its identifiers."""

    table: Table
    hashes: dict[str, tuple[NDArray[np.uint64], NDArray[np.uint64]]]


def _part_codes(how: _HowRead, known: Mapping[str, Attribute], part: TablePart) -> _PartCodes | None:
    found = how.read(part)
    if not found.rows:
        return None
    table = _coded(how, known, part, found)
    return _PartCodes(table, {name: hashed(found.columns[name]) for name in table.repeated})


def _part_table(how: _HowRead, known: Mapping[str, Attribute], part: TablePart) -> Table | None:
    found = how.read(part)
    return _coded(how, known, part, found).counted() if found.rows else None


def _coded(how: _HowRead, known: Mapping[str, Attribute], part: TablePart, found: Columns) -> Table:
    assert how.schema is not None
    table = code_table(
        how.schema,
        found.columns,
        name=f"{how.name}, {part.name}",
        place=found.place,
        decimal=found.decimal,
        known=known,
        prepared=True,
    )
    return replace(table, notation=notation_of(how.schema, found))


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

"""Register: the people an attacker tries to find in a release, by the attributes known of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role
from unveil.data.belief import Known
from unveil.data.table import Table
from unveil.data.toml import read_toml
from unveil.errors import UsageError, shown
from unveil.formats.cells import CellError, read_cells
from unveil.formats.columns import no_number
from unveil.formats.tables import Columns

__all__ = [
    "ColumnMapping",
    "Register",
    "known_attributes",
    "read_mapping",
    "register_of_file",
    "register_of_table",
    "register_of_tables",
]

ROW = "row"  # the column that says whose line it is, unless a mapping names another


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """What is known of each person, by attribute: a set of values where it is coarse, all values where unknown."""

    known: Mapping[str, Known]
    people: int
    row: NDArray[np.int64] | None = None  # (people,) their row of the original, from 0; None = nobody says

    def only(self, names: Sequence[str]) -> "Register":
        """The same people by fewer attributes."""
        return Register({name: self.known[name] for name in names}, self.people, self.row)

    def some(self, people: NDArray[np.integer]) -> "Register":
        """Some of the people."""
        known = {name: Known(k.regions, k.of_target[people], k.wrong) for name, k in self.known.items()}
        return Register(known, len(people), None if self.row is None else self.row[people])


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """How the columns and values of an attacker's file are called in the release."""

    row: str | None = None  # the column with the row number in the original, 1 = first
    columns: Mapping[str, str] = field(default_factory=dict)  # attribute of the release -> column of the file
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # attribute -> text there -> text here


def read_mapping(path: str | Path) -> ColumnMapping:
    """Read a mapping file: `row = "COLUMN"`, a table [attributes], and [values.ATTRIBUTE] where values differ."""
    content = read_toml(Path(path), UsageError)
    unknown = [key for key in content if key not in ("row", "attributes", "values")]
    if unknown:
        raise UsageError(f"{path}: unknown key {shown(unknown[0])}; a mapping has row, attributes and values")
    row, columns, values = content.get("row"), content.get("attributes", {}), content.get("values", {})
    if row is not None and not isinstance(row, str):
        raise UsageError(f"{path}, row: this must be the name of a column, in quotes")
    if not _texts(columns):
        raise UsageError(f'{path}, attributes: write ATTRIBUTE = "COLUMN" for each')
    if not isinstance(values, dict) or not all(map(_texts, values.values())):
        raise UsageError(f'{path}, values: write [values.ATTRIBUTE] with "THEIR VALUE" = "OUR VALUE" for each')
    return ColumnMapping(row, columns, values)


def register_of_tables(tables: Sequence[Table], attributes: Sequence[Attribute]) -> Register:
    """Everybody in several tables, one after the other, by these attributes."""
    known = {}
    for attribute in attributes:
        codes = [table.column_of(attribute).astype(np.int64) for table in tables]
        known[attribute.name] = Known.exactly(attribute, np.concatenate(codes))
    return Register(known, sum(table.rows for table in tables))


def register_of_table(table: Table, attributes: Sequence[Attribute], known: Sequence[str] | None = None) -> Register:
    """Everybody in the original, by the named attributes (all quasi-identifiers that are published)."""
    people = register_of_tables([table], known_attributes(attributes, known))
    return replace(people, row=np.arange(table.rows, dtype=np.int64))


def register_of_file(
    columns: Columns,
    attributes: Sequence[Attribute],
    *,
    name: str,
    naming: ColumnMapping | None = None,
    known: Sequence[str] | None = None,
    rows: int | None = None,
) -> Register:
    """People as a file gives them: values or coarser cells, empty = unknown. `rows`: of the original, if there is one.

    A column `row`, or the one the mapping names, says whose line it is; without it success is unknown.
    """
    naming = ColumnMapping() if naming is None else naming
    column_of = {a.name: naming.columns.get(a.name, a.name) for a in attributes}
    for asked in (*naming.columns, *naming.values):
        if asked not in column_of:
            raise UsageError(f"the mapping names {shown(asked)}, which is not published; leave it out")
    for theirs in naming.columns.values():
        if theirs not in columns.columns:
            raise UsageError(f"{name}: no column {shown(theirs)}; choose from {', '.join(map(shown, columns.columns))}")
    own = naming.row if naming.row is not None else ROW if ROW in columns.columns and ROW not in column_of else None
    row = None if own is None else _row_numbers(columns, own, name, rows)
    chosen = (
        [a for a in attributes if column_of[a.name] in columns.columns]
        if known is None
        else known_attributes(attributes, known)
    )
    held = {}
    for attribute in chosen:
        column = columns.columns.get(column_of[attribute.name])
        if column is None:
            raise UsageError(
                f"{name}: no column {shown(column_of[attribute.name])}; choose from "
                f"{', '.join(map(shown, columns.columns))}"
            )
        renamed = naming.values.get(attribute.name, {})
        texts = [renamed.get(text, text) if text else "*" for text in column.texts]
        try:
            regions = read_cells(texts, attribute, columns.decimal)
        except CellError as error:
            line = int(np.flatnonzero(np.asarray(column.text_of_row) == error.args[1])[0])
            raise UsageError(f"{name}, {columns.place(line)}, {attribute.name}: {error.args[0]}") from None
        held[attribute.name] = Known(regions, np.asarray(column.text_of_row, dtype=np.int64))
    if not held:
        raise UsageError(
            f"{name}: no column has the name of a published attribute; rename the columns, or give --mapping"
        )
    return Register(held, columns.rows, row)


def known_attributes(attributes: Sequence[Attribute], known: Sequence[str] | None) -> list[Attribute]:
    """The attributes that are known of people: the quasi-identifiers if nobody says."""
    of = {a.name: a for a in attributes}
    names = [a.name for a in attributes if a.role is Role.QUASI_IDENTIFIER] if known is None else list(known)
    for name in names:
        if name not in of:
            raise UsageError(f"unknown attribute {shown(name)}; the release has {', '.join(of)}")
    if not names:
        raise UsageError(
            "the schema has no quasi-identifier, so nothing is known of anybody; name attributes with --known"
        )
    return [of[name] for name in dict.fromkeys(names)]


def _row_numbers(columns: Columns, key: str, name: str, rows: int | None) -> NDArray[np.int64]:
    if key not in columns.columns:
        raise UsageError(f"{name}: no column {shown(key)}; choose from {', '.join(map(shown, columns.columns))}")
    column = columns.columns[key]
    most = 2**31 if rows is None else rows
    wrong = no_number(column.texts, most)
    if wrong is not None:
        raise UsageError(f"{name}, {key}: {shown(wrong)} is not a row number of the original; give 1 to {most:,}")
    return np.asarray(np.array([int(t) for t in column.texts], dtype=np.int64)[column.text_of_row] - 1)


def _texts(table: object) -> bool:
    return isinstance(table, dict) and all(isinstance(text, str) for text in table.values())

"""Whose row is whose, by a column that the original and a release share: a case number, a pseudonym.

The column is the auditor's, no reader's: it is left out of the release, and must not be published.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.masked import Masked
from unveil.data.release import Release
from unveil.data.schema import Schema
from unveil.data.table import Table
from unveil.errors import UsageError, shown
from unveil.formats.databases import Database
from unveil.formats.frames import is_frame, named_source
from unveil.formats.masked import read_masked
from unveil.formats.published import published_columns
from unveil.formats.releases import read_release_rows
from unveil.formats.sidecar import Sidecar, read_sidecar
from unveil.formats.tables import Columns, read_columns

if TYPE_CHECKING:
    from unveil.formats.frames import IntoFrame

__all__ = ["read_paired"]


def read_paired(
    path: "str | Path | IntoFrame",
    schema: Schema,
    key: str,
    *,
    original: "str | Path | Database | IntoFrame",
    table: Table,
    dialect: Mapping[str, Any] | None = None,
    cells: Sequence[str] = (),
    sidecar: Sidecar | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> tuple[Release | Masked, NDArray[np.int64]]:
    """A release without its column `key`, and whose row is whose, as `assignments` of an audit want it.

    Of a grouped release that is the group of each original row, of a masked one the original row of each published row.
    `table` was read from `original` in its `dialect`. Cost: both files are read once more, for the keys.
    """
    if sidecar is None:
        sidecar = Sidecar() if is_frame(path) else read_sidecar(named_source(path))
    told: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    here, there = published_columns(path, schema, **told), read_columns(original, **(dialect or {}))
    name, whole = str(named_source(path)), "the original"
    if there.rows != table.rows:
        raise UsageError(f"--key {key}: rows of the original stand for several people; there is no key to each")
    origin = _origin(_keys(here, key, name), _keys(there, key, whole), here, key, name)
    reading: dict[str, Any] = {"attributes": table.attributes, "cells": cells, "sidecar": sidecar, "key": key, **told}
    if sidecar.masked:
        return read_masked(path, schema, **reading), origin
    release, group = read_release_rows(path, schema, **reading)
    if release.rows != len(group):
        raise UsageError(f"{name}: rows stand for several people; --key {key} tells only one of them")
    if len(origin) < table.rows:
        raise UsageError(
            f"--key {key}: {table.rows - len(origin):,} of {table.rows:,} rows of the original are not in {name}, so "
            "their group is not known; leave --key out, or take them out of the original"
        )
    of_row = np.empty(table.rows, dtype=np.int64)
    of_row[origin] = group
    return release, of_row


def _keys(columns: Columns, key: str, name: str) -> list[str]:
    """The key of each row; each stands once. Errors name rows, not keys: those identify people."""
    column = columns.columns.get(key)
    if column is None:
        raise UsageError(
            f"--key {shown(key)}: {name} has no such column; it has {', '.join(map(shown, columns.columns))}"
        )
    texts = [text.strip() for text in column.texts]
    found = [texts[number] for number in column.text_of_row.tolist()]
    row_of: dict[str, int] = {}
    for row, text in enumerate(found):
        if not text:
            raise UsageError(f"--key {key}: {name}, {columns.place(row)}: is empty; every row needs a key")
        other = row_of.setdefault(text, row)
        if other != row:
            raise UsageError(
                f"--key {key}: {name}, {columns.place(row)}: has the key of {columns.place(other)}; "
                "a key belongs to one row"
            )
    return found


def _origin(here: list[str], there: list[str], columns: Columns, key: str, name: str) -> NDArray[np.int64]:
    """(published rows,) the original row with the same key."""
    row_of = {text: row for row, text in enumerate(there)}
    origin = np.array([row_of.get(text, -1) for text in here], dtype=np.int64)
    if (origin < 0).any():
        row = int(np.argmax(origin < 0))
        more = int((origin < 0).sum()) - 1
        raise UsageError(
            f"--key {key}: {name}, {columns.place(row)}: no row of the original has this key"
            + (f", nor those of {more:,} other rows" if more else "")
            + "; is it the release of another table, or was the key changed?"
        )
    return origin

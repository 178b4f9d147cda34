"""Whose row is whose: assignment files, and a column that both files have (a case number, a pseudonym).

That is the auditor's knowledge, no reader's: a shared column is left out of the release, and must not be published.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import Block, Release, row_numbers
from unveil.data.schema import Schema
from unveil.data.table import CodedColumn, Table
from unveil.errors import UsageError, shown
from unveil.formats.columns import no_number
from unveil.formats.databases import Database
from unveil.formats.frames import is_frame, named_source
from unveil.formats.output import csv_bytes
from unveil.formats.releases import read_release_rows
from unveil.formats.releases.published import Sidecar, published_columns, read_sidecar
from unveil.formats.tables import Columns, read_columns

if TYPE_CHECKING:
    from unveil.formats.frames import IntoFrame

__all__ = ["assignment_bytes", "read_assignment", "read_paired"]

PAIRS = 1 << 22  # rows compared with cells at a time


def assignment_bytes(group_of_row: NDArray[np.int32]) -> bytes:
    """Which original row went to which group, as a file; both counted from 1, people who are not published left out."""
    row = np.flatnonzero(group_of_row >= 0)
    return csv_bytes(["row", "group"], [(row + 1).astype(str).tolist(), (group_of_row[row] + 1).astype(str).tolist()])


def read_assignment(path: str | Path, table: Table | None, release: Release) -> NDArray[np.int64]:
    """(rows,) the group of each original row, counted from 0, from a file with the columns row and group.

    With perturbed columns each published row is a group, and who is not published has none (-1).

    A group goes by the name that the release has for it: the text in its group column, else its number in the order in
    which groups appear in the file, from 1. Each row must fit its group: what is published there must allow its values.
    """
    found = read_columns(path, error=UsageError)
    if table is None and not release.perturbed:
        raise UsageError("--assignment names rows of the original: give --original DATA")
    rows = release.rows if table is None else table.rows
    lines, of = (release.rows, "the published") if release.perturbed else (rows, "the original's")
    if set(found.columns) != {"row", "group"} or found.rows != lines:
        raise UsageError(
            f"{path}: an assignment has the columns row and group, and one line for each of {of} {lines:,} rows"
        )
    row = _numbers(found.columns["row"], "row", rows, path)
    column = found.columns["group"]
    labels = release.labels or tuple(str(number) for number in range(1, release.groups + 1))
    number_of = {label.strip(): number for number, label in enumerate(labels)}
    for text in column.texts:
        if text.strip() not in number_of:
            some = ", ".join(map(shown, labels[:5])) + (" …" if len(labels) > 5 else "")
            raise UsageError(f"{path}: {shown(text)} is not a group of the release; its groups are {some}")
    group = np.full(rows, -1, dtype=np.int64)
    group[row] = np.array([number_of[text.strip()] for text in column.texts])[column.text_of_row]
    if release.perturbed:
        if len(np.unique(group[row])) < len(row):
            raise UsageError(f"{path}: a group number appears there twice; each published row is one person's")
    elif table is not None:
        _check_fit(group, table, release, labels, path)
    return group


def _numbers(column: CodedColumn, name: str, most: int, path: str | Path) -> NDArray[np.int64]:
    """(rows,) numbers counted from 0, each once."""
    wrong = no_number(column.texts, most)
    if wrong is not None:
        raise UsageError(f"{path}: {shown(wrong)} is not a {name} number from 1 to {most:,}")
    numbers = np.array([int(text) for text in column.texts], dtype=np.int64)[column.text_of_row] - 1
    if len(np.unique(numbers)) != len(numbers):
        raise UsageError(f"{path}: a {name} number appears there twice")
    return np.asarray(numbers)


def _check_fit(
    group: NDArray[np.int64], table: Table, release: Release, labels: Sequence[str], path: str | Path
) -> None:
    """Refuse an assignment under which somebody's own values would be impossible."""
    excess = np.flatnonzero(np.bincount(group, minlength=release.groups) > release.sizes)
    if len(excess):
        g = int(excess[0])
        raise UsageError(
            f"{path}: {int((group == g).sum()):,} rows are assigned to group {shown(labels[g])}, which has "
            f"{int(release.sizes[g]):,}; is it the assignment of another release?"
        )
    position_of = {attribute.name: place for place, attribute in enumerate(table.attributes)}
    for block in release.blocks:
        held = [
            (index, table.columns[position_of[release.attributes[index].name]])
            for index in block.attributes
            if release.attributes[index].name in position_of
            and release.attributes[index].values == table.attributes[position_of[release.attributes[index].name]].values
        ]
        misfit = _misfit(group, held, block, release) if held else -1
        if misfit >= 0:
            values = ", ".join(
                f"{release.attributes[index].name} {shown(release.attributes[index].values[int(codes[misfit])], 30)}"
                for index, codes in held[:4]
            ) + (", …" if len(held) > 4 else "")
            raise UsageError(
                f"{path}: row {misfit + 1:,} does not fit group {shown(labels[group[misfit]])}: no row published there "
                f"allows {values}; is it the assignment of another release, or are its groups named otherwise?"
            )


def _misfit(
    group: NDArray[np.int64], held: Sequence[tuple[int, NDArray[np.unsignedinteger]]], block: Block, release: Release
) -> int:
    """The first row that no cell of its group allows; -1 if there is none."""
    alike = row_numbers([group, *(codes for _, codes in held)])
    rows = np.sort(np.unique(alike, return_index=True)[1])  # the first of those that are alike
    cells = np.diff(block.start)[group[rows]]  # (distinct rows,) entries to be tried
    done = 0
    while done < len(rows):
        stop = max(done + 1, int(np.searchsorted(np.cumsum(cells[done:]), PAIRS)) + done)
        some, many = rows[done:stop], cells[done:stop]
        who = np.repeat(np.arange(len(some)), many)
        begin = np.cumsum(many) - many
        entry = block.start[group[some]][who] + np.arange(len(who)) - begin[who]
        for index, codes in held:
            region = block.region(index)[entry]
            fits = release.regions[index].holds(region, codes[some][who])
            who, entry = who[fits], entry[fits]
        lost = np.flatnonzero(np.bincount(who, minlength=len(some)) == 0)
        if len(lost):
            return int(some[lost[0]])
        done = stop
    return -1


# ---------------------------------------------------------------------------------------------------------------- keys


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
) -> tuple[Release, NDArray[np.int64]]:
    """A release without its column `key`, and whose row is whose, as `assignments` of an audit want it.

    That is the group of each original row; with perturbed columns each row is a group, and -1 = not published.
    `table` was read from `original` in its `dialect`. Cost: both files are read once more, for the keys.
    """
    if sidecar is None:
        sidecar = Sidecar() if is_frame(path) else read_sidecar(named_source(path))
    told: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    here, there = published_columns(path, schema, **told), read_columns(original, **(dialect or {}))
    name, whole = str(named_source(path)), "the original"
    if there.rows != table.rows:
        raise UsageError(f"--key {key}: rows of the original stand for several people; there is no key for each")
    origin = _origin(_keys(here, key, name), _keys(there, key, whole), here, key, name)
    reading: dict[str, Any] = {"attributes": table.attributes, "cells": cells, "sidecar": sidecar, "key": key, **told}
    release, group = read_release_rows(path, schema, **reading)
    if release.rows != len(group):
        raise UsageError(f"{name}: rows stand for several people; --key {key} tells only one of them")
    if len(origin) < table.rows and not release.perturbed:
        raise UsageError(
            f"--key {key}: {table.rows - len(origin):,} of {table.rows:,} rows of the original are not in {name}, so "
            "their group is not known; leave --key out, or take them out of the original"
        )
    of_row = np.full(table.rows, -1, dtype=np.int64)
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

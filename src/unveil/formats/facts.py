"""Facts that no column holds: a file that says them of some people."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.errors import UsageError, shown
from unveil.formats.columns import no_number
from unveil.formats.tables import Columns, read_columns

__all__ = ["read_fact"]

FACT, ROW = "fact", "row"


def read_fact(path: str | Path, rows: int, **dialect: Any) -> tuple[tuple[str, ...], NDArray[np.int64], Columns | None]:
    """The values of the column `fact`, a place among them for each person, and the people themselves.

    With a column `row` (1 = the original's first) they are the original's: (rows,), -1 = not said, and no people. Else
    each line is somebody else, whose attributes are the other columns. An empty fact is not known; a line of somebody
    else must have one.
    """
    columns = read_columns(path, **dialect, error=UsageError)
    if FACT not in columns.columns:
        raise UsageError(f"{path}: has no column {FACT}; it has {', '.join(map(shown, columns.columns))}")
    column = columns.columns[FACT]
    values = tuple(sorted(text for text in column.texts if text))
    if len(values) < 2:
        raise UsageError(f"{path}, {FACT}: {len(values)} value is told of anybody; a fact that varies is needed")
    place = {value: number for number, value in enumerate(values)}
    labels = np.array([place.get(text, -1) for text in column.texts], dtype=np.int64)[column.text_of_row]
    if ROW not in columns.columns:
        if (labels < 0).any():
            raise UsageError(f"{path}, {FACT}: empty; say it of everybody in a sample of other people")
        return values, np.asarray(labels), columns
    said = columns.columns[ROW]
    wrong = no_number(said.texts, rows)
    if wrong is not None:
        raise UsageError(f"{path}, {ROW}: {shown(wrong)} is not a row of the original, 1 to {rows:,}")
    number = np.array([int(t) for t in said.texts])[said.text_of_row] - 1
    if len(np.unique(number)) < len(number):
        raise UsageError(f"{path}, {ROW}: a row stands there twice")
    found = np.full(rows, -1, dtype=np.int64)
    found[number] = labels
    return values, found, None

"""Which original row went to which group, as anonymize --assignment writes it."""

from pathlib import Path
from typing import Any

from unveil.errors import UsageError, shown

__all__ = ["read_assignment"]


def read_assignment(path: Path, rows: int, groups: int) -> Any:
    """(rows,) the group of each original row, counted from 0, from the file that anonymize --assignment writes."""
    import numpy as np

    from unveil.formats.columns import no_number
    from unveil.formats.tables import read_columns

    found = read_columns(path)
    if set(found.columns) != {"row", "group"} or found.rows != rows:
        raise UsageError(f"{path}: an assignment has the columns row and group, and one line for each of {rows} rows")
    numbers = {}
    for name, top in (("row", rows), ("group", groups)):
        column = found.columns[name]
        wrong = no_number(column.texts, top)
        if wrong is not None:
            raise UsageError(f"{path}: {shown(wrong)} is no {name} number from 1 to {top}")
        numbers[name] = np.array([int(t) for t in column.texts])[column.text_of_row] - 1
    if len(np.unique(numbers["row"])) != rows:
        raise UsageError(f"{path}: a row stands there twice")
    group = np.empty(rows, dtype=np.int64)
    group[numbers["row"]] = numbers["group"]
    return group

"""Cells spread over several columns: `age_min` and `age_max`, or a column of True and False for each value.

anonypyx writes releases so ("machine-readable", its default). They are gathered into the cells they stand for.
"""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from unveil.data.table import CodedColumn
from unveil.formats.columns import Columns, smallest_codes

__all__ = ["gathered"]

_ANSWERS = {
    **dict.fromkeys(("True", "true", "TRUE", "1", "1.0"), True),
    **dict.fromkeys(("False", "false", "FALSE", "0", "0.0"), False),
}


def gathered(found: Columns, names: Collection[str]) -> Columns:
    """The columns with those attributes of `names` made whole that are spread over others."""
    columns = dict(found.columns)
    for name in sorted(names, key=len, reverse=True):  # of a_b_c, what belongs to a_b does not belong to a
        if name in columns:
            continue
        parts = {
            other: column for other, column in columns.items() if other.startswith(f"{name}_") and other not in names
        }
        ends = [f"{name}_min", f"{name}_max"]
        if set(parts) == set(ends) and found.decimal == ".":
            cell = _joined([parts[end] for end in ends], _interval)
        elif len(parts) > 1 and all(set(column.texts) <= set(_ANSWERS) for column in parts.values()):
            values = [other.removeprefix(f"{name}_") for other in parts]
            cell = _joined(list(parts.values()), partial(_members, values))
        else:
            continue
        first = next(iter(parts))
        columns = {
            (name if other == first else other): (cell if other == first else column)
            for other, column in columns.items()
            if other == first or other not in parts
        }
    return found if len(columns) == len(found.columns) else replace(found, columns=columns)


def _joined(parts: Sequence[CodedColumn], cell: Callable[[list[str]], str]) -> CodedColumn:
    """One column; `cell` makes a text of the texts that stand side by side."""
    codes = np.stack([column.text_of_row.astype(np.int64) for column in parts], axis=1)
    distinct, place = np.unique(codes, axis=0, return_inverse=True)
    texts = [cell([column.texts[code] for column, code in zip(parts, row, strict=True)]) for row in distinct.tolist()]
    named = sorted(set(texts))
    rank = {text: number for number, text in enumerate(named)}
    return CodedColumn(
        named, smallest_codes(np.array([rank[t] for t in texts], dtype=np.uint32)[place.ravel()], len(named))
    )


def _interval(ends: list[str]) -> str:
    low, high = (end.strip() for end in ends)
    return low if low == high else f"[{low},{high}]"


def _members(values: list[str], told: list[str]) -> str:
    """The values that are told to be possible; a row that tells none has none to show, and is refused as a cell."""
    chosen = [value for value, text in zip(values, told, strict=True) if _ANSWERS[text]]
    return chosen[0] if len(chosen) == 1 else "{" + ",".join(json.dumps(v, ensure_ascii=False) for v in chosen) + "}"

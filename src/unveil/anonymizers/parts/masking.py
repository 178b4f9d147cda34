"""What every masking member does: choose the columns, and publish them in an order that says nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.hierarchy import number_text
from unveil.data.masked import Masked, MaskedTable, as_published
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError, shown

__all__ = ["chosen", "described", "on_line", "published"]

CODES = (Kind.CATEGORICAL, Kind.ORDINAL)
NUMBERS = (Kind.NUMERIC, Kind.DATE)


def chosen(table: Table, names: Sequence[str], kinds: Sequence[Kind], who: str) -> tuple[int, ...]:
    """Positions of the attributes to mask: those named, else every quasi-identifier of a kind that fits."""
    if len(set(names)) != len(names):
        raise UsageError(f"{who}: attributes names one twice; keep one")
    positions = [table.index(name) for name in names]
    for index in positions:
        attribute = table.attributes[index]
        if attribute.kind not in kinds:
            fitting = " or ".join(kinds)
            raise UsageError(f"{who}: {shown(attribute.name)} is {attribute.kind}; it masks {fitting} attributes only")
    if not names:
        positions = [i for i in table.with_role(Role.QUASI_IDENTIFIER) if table.attributes[i].kind in kinds]
    if not positions:
        raise UsageError(
            f"{who}: the table has no {' or '.join(kinds)} quasi-identifier; name the columns to mask: attributes=A+B"
        )
    return tuple(sorted(positions))


def on_line(attribute: Attribute, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers as they are; a perturbed date is a whole day."""
    if attribute.kind is not Kind.DATE:
        return values
    return np.clip(np.round(values), 1, 3652059)  # the first and the last day that can be written


def published(
    table: Table,
    changed: Mapping[int, NDArray[Any]],
    engine: Engine,
    method: Any,
    name: str,
    *,
    channel: Mapping[int, NDArray[np.float64]] | None = None,
    note: str = "",
) -> MaskedTable:
    """The masked table: the changed columns among the others, rows in an order drawn for itself.

    With `method.publish` it says how it was made.
    """
    origin = engine.named("order").generator().permutation(table.rows).astype(np.int64)
    columns = list(as_published(table.attributes, table.columns))
    for index, column in changed.items():
        columns[index] = column
    masked = Masked(
        table.attributes,
        tuple(column[origin] for column in columns),
        tuple(sorted(changed)),
        dict(channel or {}) if method.publish else {},
        described(method, name) if method.publish else "",
    )
    return MaskedTable(masked, origin, note)


def described(method: Any, name: str) -> str:
    """The member as it is written on the command line, with every option."""
    options = []
    for field in fields(method):
        value = getattr(method, field.name)
        if field.name in ("publish", "matrix") or value == ():
            continue
        text = "+".join(value) if isinstance(value, tuple) else str(value)
        options.append(f"{field.name}={number_text(value) if isinstance(value, float) else text}")
    return f"{name}:{','.join(options)}"

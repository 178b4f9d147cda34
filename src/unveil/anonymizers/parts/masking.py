"""Masking: choose the columns, perturb them, and publish the rows in an order that says nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.hierarchy import number_text
from unveil.data.options import Options, name_of
from unveil.data.release import Anonymized
from unveil.data.rows import PublishedRows, as_published, groups_of_origin, release_of_rows
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError, shown

__all__ = ["CODES", "NUMBERS", "Masking", "described"]

CODES = (Kind.CATEGORICAL, Kind.ORDINAL)
NUMBERS = (Kind.NUMERIC, Kind.DATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Masking(Options):
    """A member that perturbs columns one by one, and leaves the others as they are."""

    kinds: ClassVar[tuple[Kind, ...]] = NUMBERS  # that it can mask

    attributes: tuple[str, ...] = ()  # quasi-identifiers of these kinds, if none is named
    publish: bool = False  # say in the sidecar how it was made

    def named(self) -> tuple[str, ...]:
        """The attributes to mask, if they are named."""
        return self.attributes

    def changed(self, table: Table, which: tuple[int, ...], random: np.random.Generator) -> dict[int, NDArray[Any]]:
        """By position: the perturbed columns; dates need not be whole days yet."""
        raise NotImplementedError

    def perturbed(self, table: Table, which: tuple[int, ...], engine: Engine) -> dict[int, NDArray[Any]]:
        """The same, by a member whose work is long and says how far it is."""
        return self.changed(table, which, engine.generator())

    def channel(self, table: Table, which: tuple[int, ...]) -> dict[int, NDArray[np.float64]]:
        """By position: P(published | true), where that is all a change depends on."""
        return {}

    def anonymize(self, table: Table, engine: Engine) -> Anonymized:
        """The perturbed columns among the others, rows in an order drawn for itself."""
        table.check_texts()
        which = _chosen(table, self.named(), self.kinds, name_of(self))
        engine = engine.named(name_of(self))
        columns = list(as_published(table.attributes, table.columns))
        for index, column in self.perturbed(table, which, engine).items():
            columns[index] = _whole_days(table.attributes[index], column)
        origin = engine.named("order").generator().permutation(table.rows).astype(np.int64)
        rows = PublishedRows(
            table.attributes,
            tuple(column[origin] for column in columns),
            which,
            self.channel(table, which) if self.publish else {},
            described(self) if self.publish else "",
        )
        return Anonymized(release_of_rows(rows), groups_of_origin(origin, table.rows))


def _chosen(table: Table, names: Sequence[str], kinds: Sequence[Kind], who: str) -> tuple[int, ...]:
    """Positions of the attributes to mask: those named, else every quasi-identifier of a kind that fits."""
    if len(set(names)) != len(names):
        raise UsageError(f"{who}: attributes lists a name twice; keep one")
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


def _whole_days(attribute: Attribute, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers as they are; a perturbed date is a whole day."""
    if attribute.kind is not Kind.DATE:
        return values
    return np.clip(np.round(values), 1, 3652059)  # the first and the last day that can be written


def described(method: Any) -> str:
    """The member as it is written on the command line, with every option."""
    options = []
    for field in sorted(fields(method), key=lambda f: f.name == "attributes"):
        value = getattr(method, field.name)
        if field.name in ("publish", "matrix") or value == ():
            continue
        text = "+".join(value) if isinstance(value, tuple) else str(value)
        options.append(f"{field.name}={number_text(value) if isinstance(value, float) else text}")
    return f"{name_of(method)}:{','.join(options)}"

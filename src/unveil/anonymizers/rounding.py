"""Rounding: numbers become multiples of a base."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unveil.anonymizers.parts.masking import NUMBERS, chosen, on_line, published
from unveil.data.masked import MaskedTable, numbers_of
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError

__all__ = ["Rounding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """Each number becomes a multiple of `base` (of a date: days, counted from 0001-01-01).

    `nearest`: the nearer multiple, halves go up. `random`: one of the two around it, the nearer with the higher
    chance, so that means stay as they are. What is missing stays missing.
    """

    base: float
    kind: Literal["nearest", "random"] = "nearest"
    attributes: tuple[str, ...] = ()  # numeric and date quasi-identifiers, if none is named
    publish: bool = False  # say in the sidecar how it was made

    def __post_init__(self) -> None:
        if not 0 < self.base < np.inf:
            raise UsageError(f"rounding: base={self.base:g} makes no sense; choose a number above 0, such as 5")

    def anonymize(self, table: Table, engine: Engine) -> MaskedTable:
        """Cost: rows · attributes."""
        which = chosen(table, self.attributes, NUMBERS, "rounding")
        random = engine.named("rounding").generator()
        changed = {}
        for index in which:
            attribute = table.attributes[index]
            steps = numbers_of(attribute, table.columns[index]) / self.base
            up = random.random(len(steps)) if self.kind == "random" else 0.5
            whole = np.round(steps)
            # What is a multiple but for its last bits is one, whatever was drawn.
            steps = np.where(np.abs(steps - whole) < 1e-9 * np.maximum(1, np.abs(whole)), whole, np.floor(steps + up))
            changed[index] = on_line(attribute, np.asarray(steps * self.base) + 0.0)
        return published(table, changed, engine.named("rounding"), self, "rounding")

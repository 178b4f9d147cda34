"""Rounding: numbers become multiples of a base."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.masking import Masking
from unveil.data.options import number
from unveil.data.rows import numbers_of
from unveil.data.table import Table

__all__ = ["Rounding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding(Masking):
    """Each number becomes a multiple of `base` (of a date: days, counted from 0001-01-01).

    `nearest`: the nearer multiple, halves go up. `random`: one of the two around it, the nearer with the higher
    chance, so that means stay as they are. What is missing stays missing.
    """

    base: float = number(0, above=True)
    kind: Literal["nearest", "random"] = "nearest"

    def changed(self, table: Table, which: tuple[int, ...], random: np.random.Generator) -> dict[int, NDArray[Any]]:
        """Cost: rows · attributes."""
        changed = {}
        for index in which:
            steps = numbers_of(table.attributes[index], table.columns[index]) / self.base
            up = random.random(len(steps)) if self.kind == "random" else 0.5
            whole = np.round(steps)
            # What is a multiple but for its last bits is one, whatever was drawn.
            steps = np.where(np.abs(steps - whole) < 1e-9 * np.maximum(1, np.abs(whole)), whole, np.floor(steps + up))
            changed[index] = np.asarray(steps * self.base) + 0.0
        return changed

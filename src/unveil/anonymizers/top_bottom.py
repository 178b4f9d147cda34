"""Top and bottom coding: the largest and smallest numbers are published as less extreme ones."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.masking import Masking
from unveil.data.rows import numbers_of
from unveil.data.table import Table
from unveil.errors import UsageError

__all__ = ["TopBottom"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopBottom(Masking):
    """At most a share `top` of the numbers lies above a limit and at most a share `bottom` below another.

    Those become the limit, or with `by=mean` the mean of all that lie beyond it (the total stays). The limits are
    values of the table. Numbers between the limits stay exact; what is missing stays missing.
    """

    top: float = 0.05
    bottom: float = 0.0
    by: Literal["limit", "mean"] = "limit"

    def __post_init__(self) -> None:
        if not (self.top >= 0 and self.bottom >= 0 and 0 < self.top + self.bottom < 1):
            raise UsageError(
                f"top_bottom: top={self.top:g} and bottom={self.bottom:g} must be shares that add up to less than 1"
            )

    def changed(self, table: Table, which: tuple[int, ...], random: np.random.Generator) -> dict[int, NDArray[Any]]:
        """Cost: sorting each attribute."""
        return {i: self._coded(numbers_of(table.attributes[i], table.columns[i])) for i in which}

    def _coded(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        known = np.sort(values[~np.isnan(values)])
        if not len(known):
            return values
        high = known[len(known) - 1 - int(self.top * len(known))]
        low = known[int(self.bottom * len(known))]
        above, below = values > high, values < low
        coded = values.copy()
        coded[above] = values[above].mean() if self.by == "mean" and above.any() else high
        coded[below] = values[below].mean() if self.by == "mean" and below.any() else low
        return coded

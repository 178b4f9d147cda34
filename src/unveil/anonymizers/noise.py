"""Noise: normal noise added to numbers and dates."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.masking import Masking
from unveil.data.options import number
from unveil.data.rows import numbers_of
from unveil.data.table import Table
from unveil.errors import RequirementError

__all__ = ["Noise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise(Masking):
    """Adds noise whose standard deviation is `amount` times the attribute's.

    `independent`: each attribute by itself. `correlated`: with the covariance of the attributes, times amount² (Kim
    1986), so that correlations stay as they are. What is missing stays missing.
    """

    amount: float = number(0, above=True)
    kind: Literal["independent", "correlated"] = "independent"

    def changed(self, table: Table, which: tuple[int, ...], random: np.random.Generator) -> dict[int, NDArray[Any]]:
        """Cost: rows · attributes."""
        values = np.stack([numbers_of(table.attributes[i], table.columns[i]) for i in which], axis=1)
        if self.kind == "correlated":
            whole = values[~np.isnan(values).any(axis=1)]
            if len(whole) < 2:
                raise RequirementError("noise: fewer than two rows are complete; a covariance needs more")
            covariance = np.atleast_2d(np.cov(whole, rowvar=False, ddof=0)) * self.amount**2
            drawn = random.multivariate_normal(np.zeros(len(which)), covariance, len(values), method="eigh")
        else:
            known = [column[~np.isnan(column)] for column in values.T]
            spread = np.array([column.std() if len(column) else 0.0 for column in known])
            drawn = random.normal(size=values.shape) * spread * self.amount
        return dict(zip(which, (values + drawn).T, strict=True))

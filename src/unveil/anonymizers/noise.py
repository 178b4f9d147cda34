"""Noise: normal noise added to numbers and dates."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unveil.anonymizers.parts.masking import NUMBERS, chosen, on_line, published
from unveil.data.masked import MaskedTable, numbers_of
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError

__all__ = ["Noise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Adds noise whose standard deviation is `amount` times the attribute's.

    `independent`: each attribute by itself. `correlated`: with the covariance of the attributes, times amount² (Kim
    1986), so that correlations stay as they are. What is missing stays missing.
    """

    amount: float
    kind: Literal["independent", "correlated"] = "independent"
    attributes: tuple[str, ...] = ()  # numeric and date quasi-identifiers, if none is named
    publish: bool = False  # say in the sidecar how it was made

    def __post_init__(self) -> None:
        if not 0 < self.amount < np.inf:
            raise UsageError(f"noise: amount={self.amount:g} makes no sense; choose a number above 0, such as 0.1")

    def anonymize(self, table: Table, engine: Engine) -> MaskedTable:
        """Cost: rows · attributes."""
        which = chosen(table, self.attributes, NUMBERS, "noise")
        values = np.stack([numbers_of(table.attributes[i], table.columns[i]) for i in which], axis=1)
        random = engine.named("noise").generator()
        if self.kind == "correlated":
            whole = values[~np.isnan(values).any(axis=1)]
            if len(whole) < 2:
                raise RequirementError("noise: fewer than two rows are complete; a covariance needs more")
            covariance = np.atleast_2d(np.cov(whole, rowvar=False, ddof=0)) * self.amount**2
            drawn = random.multivariate_normal(np.zeros(len(which)), covariance, len(values), method="eigh")
        else:
            spread = np.array(
                [column[~np.isnan(column)].std() if not np.isnan(column).all() else 0 for column in values.T]
            )
            drawn = random.normal(size=values.shape) * spread * self.amount
        noisy = values + drawn
        changed = {index: on_line(table.attributes[index], noisy[:, j].copy()) for j, index in enumerate(which)}
        return published(table, changed, engine.named("noise"), self, "noise")

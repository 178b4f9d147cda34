"""The quasi-identifier cells of a table and the sensitive values counted in each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role
from unveil.data.release import row_numbers
from unveil.data.table import Table
from unveil.errors import UsageError, shown

__all__ = ["CountedCells", "sensitive_of"]


@dataclass(frozen=True, slots=True, eq=False)
class CountedCells:
    """Distinct cells, and the distinct (cell, value) pairs with the number of people."""

    attributes: tuple[Attribute, ...]
    sensitive: Attribute
    cells: NDArray[np.int64]  # (cells, attributes) codes
    of_row: NDArray[np.int64]  # (rows,) the cell of each row
    cell: NDArray[np.int64]  # (pairs,) growing
    value: NDArray[np.int64]  # (pairs,)
    count: NDArray[np.int64]  # (pairs,) people

    @classmethod
    def of(cls, table: Table, asked: str | None = None) -> "CountedCells":
        """Count a table's rows."""
        known = table.with_role(Role.QUASI_IDENTIFIER)
        index = sensitive_of(table, asked)
        columns = [table.columns[i].astype(np.int64) for i in known]
        number = row_numbers(columns) if columns else np.zeros(table.rows, dtype=np.int64)
        first = np.zeros(int(number.max()) + 1, dtype=np.int64)
        first[number] = np.arange(table.rows)
        cells = np.stack([c[first] for c in columns], axis=1) if columns else np.zeros((1, 0), dtype=np.int64)
        values = table.attributes[index].codes
        pair, count = np.unique(number * values + table.columns[index], return_counts=True)
        attributes = tuple(table.attributes[i] for i in known)
        return cls(attributes, table.attributes[index], cells, number, pair // values, pair % values, count)

    @property
    def rows(self) -> int:
        """How many people there are."""
        return len(self.of_row)

    def overall(self) -> NDArray[np.float64]:
        """(values,) the shares of the whole table."""
        total = np.bincount(self.value, weights=self.count, minlength=self.sensitive.codes)
        return np.asarray(total / total.sum())


def sensitive_of(table: Table, asked: str | None) -> int:
    """The position of the sensitive attribute that knowledge is about."""
    sensitive = table.with_role(Role.SENSITIVE)
    names = [table.attributes[i].name for i in sensitive]
    if asked is not None:
        if asked not in names:
            raise UsageError(f"{shown(asked)} is no sensitive attribute; there are {', '.join(names) or 'none'}")
        return sensitive[names.index(asked)]
    if len(sensitive) != 1:
        raise UsageError(f"say which sensitive attribute is meant: {', '.join(names) or 'the schema has none'}")
    return sensitive[0]

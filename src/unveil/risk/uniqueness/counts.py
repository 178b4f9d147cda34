"""KeyCounts: the cells of a sample, how many people share each, and how many the sample stands for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.release import example_rows, row_numbers
from unveil.data.table import Table
from unveil.errors import UsageError

__all__ = ["KeyCounts", "count_keys", "key_counts"]


@dataclass(frozen=True, slots=True, eq=False)
class KeyCounts:
    """A sample's cells. Only cells that occur are kept."""

    names: tuple[str, ...]
    codes: tuple[int, ...]  # per key: size of its domain
    values: tuple[NDArray[np.int64], ...]  # per key: (cells,) the cell's code
    of_row: NDArray[np.int64]  # (rows,) the cell of each person
    count: NDArray[np.int64]  # (cells,) f
    weight: NDArray[np.float64]  # (cells,) people of the population that the cell's weights add up to
    fraction: float  # of the population that is in the sample

    def __post_init__(self) -> None:
        if len(self.count) != len(self.weight) or (self.count < 1).any() or (self.weight <= 0).any():
            raise UsageError("every cell of a sample holds at least one person and a positive weight")

    @property
    def rows(self) -> int:
        """People in the sample."""
        return len(self.of_row)

    @property
    def alone(self) -> NDArray[np.bool_]:
        """(cells,) sample uniques: f = 1."""
        return np.asarray(self.count == 1)

    def sample(self, rows: NDArray[np.integer], fraction: float) -> tuple["KeyCounts", NDArray[np.int64]]:
        """Some of these people as a sample of them all, and how many of all share each of its cells."""
        columns = [value[self.of_row[rows]] for value in self.values]
        found = count_keys(self.names, self.codes, columns, fraction=fraction)
        first = np.empty(len(found.count), dtype=np.int64)
        first[found.of_row] = rows
        return found, self.count[self.of_row[first]]


def count_keys(
    names: Sequence[str],
    codes: Sequence[int],
    columns: Sequence[NDArray[np.integer]],
    *,
    fraction: float | None = None,
    weight: NDArray[np.float64] | None = None,
) -> KeyCounts:
    """The cells of some columns of codes, each below its number of `codes`.

    The fraction is as given, else people over the sum of their weights, else 1: the sample is the population. Without
    weights everyone stands for 1 / fraction people.
    """
    if not columns:
        raise UsageError(
            "uniqueness needs at least one quasi-identifier; mark one in the schema, or name attributes with --known"
        )
    people = len(columns[0])
    if weight is not None and fraction is None:
        fraction = people / float(weight.sum())
        if fraction > 1:
            raise UsageError(
                "the weights add up to fewer people than the table holds; a weight is 1 or more on average"
            )
    share = 1.0 if fraction is None else fraction
    if not 0 < share <= 1:
        raise UsageError(f"the sampling fraction must be above 0 and at most 1, not {share:g}")
    of_row = row_numbers(columns)
    count = np.bincount(of_row)
    first = example_rows(of_row)
    # A weight below 1 would let a cell hold fewer people in the population than in the sample.
    total = count / share if weight is None else np.maximum(np.bincount(of_row, weights=weight), count)
    values = tuple(np.asarray(column[first], dtype=np.int64) for column in columns)
    return KeyCounts(tuple(names), tuple(codes), values, of_row, count, total, share)


def key_counts(table: Table, known: Sequence[str] | None = None, *, fraction: float | None = None) -> KeyCounts:
    """The cells of a table by the named attributes (all quasi-identifiers), with the table's weights."""
    keys = list(table.with_role(Role.QUASI_IDENTIFIER)) if known is None else [table.index(n) for n in known]
    attributes = [table.attributes[i] for i in keys]
    return count_keys(
        [a.name for a in attributes],
        [a.codes for a in attributes],
        [table.columns[i] for i in keys],
        fraction=fraction,
        weight=table.weight,
    )

"""Microaggregation: rows in groups of k near ones, each published with its group's mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.masking import Masking
from unveil.data.options import whole
from unveil.data.rows import numbers_of
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, Stopped
from unveil.kernels import masking, near_groups

__all__ = ["Microaggregation"]

PARTS = 50  # after each of which progress is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Microaggregation(Masking):
    """Groups of k to 2k - 1 near rows; numbers become the mean of their group.

    `mdav`: all attributes together, each in units of its standard deviation (Domingo-Ferrer and Torra 2005).
    `univariate`: each attribute by itself, with the least loss possible (Hansen and Mukherjee 2003); then k rows share
    each number, but not the numbers of several attributes. A missing number counts as the mean when rows are grouped,
    and is published as its group's mean, so that it tells nobody apart.
    """

    k: int = whole(2)
    method: Literal["mdav", "univariate"] = "mdav"

    def perturbed(self, table: Table, which: tuple[int, ...], engine: Engine) -> dict[int, NDArray[Any]]:
        """Cost: rows · log² rows for mdav and what its searches visit, rows · k an attribute for univariate."""
        if table.rows < self.k:
            raise RequirementError(
                f"microaggregation: {table.rows} rows are too few for a group of k={self.k}; choose k ≤ {table.rows}"
            )
        means = self.means([numbers_of(table.attributes[i], table.columns[i]) for i in which], engine)
        return dict(zip(which, means, strict=True))

    def means(self, values: Sequence[NDArray[np.float64]], engine: Engine | None = None) -> list[NDArray[np.float64]]:
        """Of each column of numbers the means that take their place; nothing is drawn."""
        if self.method == "mdav":
            group = _near(np.stack([_standard(v) for v in values], axis=1), self.k, engine or Engine())
            return [_means(v, group) for v in values]
        return [_means(v, _along(_standard(v), self.k)) for v in values]


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """In units of the standard deviation from the mean; missing = the mean, a column of one value = 0."""
    known = values[~np.isnan(values)]
    if not len(known) or known.min() == known.max():
        return np.zeros(len(values))
    return np.asarray(np.nan_to_num((values - known.mean()) / known.std(), nan=0.0))


def _near(point: NDArray[np.float64], k: int, engine: Engine) -> NDArray[np.int64]:
    """(rows,) groups by MDAV. Rows are sorted first, so that their order decides nothing."""
    order = np.lexsort(point.T[::-1])
    rows, point = len(point), np.ascontiguousarray(point[order])
    group = np.full(rows, -1, dtype=np.int64)
    most = max(4 * rows // near_groups.LEAF, 1)
    spans = [np.empty(n, dtype=np.int64) for n in (rows, most, most, most, most, rows)]
    boxes = near_groups.grow_boxes(point, *spans)
    tree = [spans[0], *(part[:boxes].copy() for part in spans[1:5]), spans[5]]
    sides = [np.empty((boxes, point.shape[1])) for _ in range(2)]
    room = (*sides, np.empty(boxes, dtype=np.int64), np.zeros(point.shape[1]))
    work: list[Any] = [point, k, group, *tree, *room]
    left, number = near_groups.mdav_groups(*[*work, rows, 0, 0])
    while left >= 3 * k:
        if engine.stop.is_set():
            raise Stopped("stopped before all rows were grouped; there is no release")
        left, number = near_groups.mdav_groups(*[*work, left, number, max(rows // (PARTS * k), 100)])
        engine.report("groups of near rows", rows - left, rows)
    near_groups.mdav_rest(*[*work, left, number])
    found = np.empty_like(group)
    found[order] = group
    return found


def _along(value: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    order = np.argsort(value, kind="stable")
    group = np.full(len(value), -1, dtype=np.int64)
    masking.optimal_line(value[order], k, group)
    found = np.empty_like(group)
    found[order] = group
    return found


def _means(values: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """(rows,) the mean of the known values in each row's group, NaN where none is known."""
    known = ~np.isnan(values)
    count = np.bincount(group[known], minlength=int(group.max()) + 1)
    total = np.bincount(group[known], weights=values[known], minlength=len(count))
    mean = np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
    return np.asarray(mean[group])

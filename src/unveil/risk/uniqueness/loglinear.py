"""Fitted means of log-linear models of a sample's cells: independence, and all two-way terms."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.errors import NotApplicable
from unveil.risk.uniqueness.counts import KeyCounts

__all__ = ["Margin", "TwoWay", "independence_means", "parameter_variance", "two_way_means"]

MOST_CELLS = 2_000_000
MOST_SWEEPS = 100
MOST_STEPS = 200
STEADY = 1e-4  # a step that adds less to a variance is the last
CLOSE = 1e-4  # people who stand in the wrong place of a margin, as a share of all; the risks move far less


def independence_means(counts: KeyCounts) -> NDArray[np.float64]:
    """(cells,) n times the product of the shares of the cell's values."""
    mean = np.full(len(counts.count), float(counts.rows))
    for value, codes in zip(counts.values, counts.codes, strict=True):
        mean *= np.bincount(value, weights=counts.count, minlength=codes)[value] / counts.rows
    return mean


@dataclass(frozen=True, slots=True, eq=False)
class TwoWay:
    """A fit with all two-way margins."""

    mean: NDArray[np.float64]  # (cells,) expected f of the sample's cells
    cells: int  # of the crossing that the margins leave possible
    sweeps: int
    miss: float  # share of people whom a margin of the last sweep puts in the wrong place, at most
    margins: tuple["Margin", ...] = ()
    everywhere: NDArray[np.float64] | None = None  # (possible cells,) the fitted means
    of_cell: NDArray[np.int64] | None = None  # (cells,) the sample's cells among the possible ones


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """One pair of keys: the place of every possible cell in its margin."""

    key: NDArray[np.int64]  # (possible cells,)
    places: int


def two_way_means(counts: KeyCounts) -> TwoWay:
    """Iterative proportional fitting of every pair of keys, over the cells that no empty margin rules out.

    A cell with an empty pair of values has mean 0 for ever, so it is never made. Cost: cells times pairs a sweep.
    """
    used = [np.unique(value, return_inverse=True)[1].astype(np.int64) for value in counts.values]
    sizes = [int(value.max()) + 1 for value in used]
    if len(used) == 1:
        return TwoWay(counts.count.astype(np.float64), len(counts.count), 1, 0.0)
    weight = counts.count.astype(np.float64)
    margins = {
        (i, j): np.bincount(used[i] * sizes[j] + used[j], weights=weight, minlength=sizes[i] * sizes[j])
        for i, j in combinations(range(len(used)), 2)
    }
    columns = _possible(sizes, margins)
    keys = {(i, j): columns[i] * sizes[j] + columns[j] for i, j in margins}
    mean = np.ones(len(columns[0]))
    miss, sweep = np.inf, 0
    while miss > CLOSE and sweep < MOST_SWEEPS:
        sweep, miss = sweep + 1, 0.0
        for pair, wanted in margins.items():
            have = np.bincount(keys[pair], weights=mean, minlength=len(wanted))
            factor = np.divide(wanted, have, out=np.zeros_like(wanted), where=have > 0)
            mean *= factor[keys[pair]]
            miss = max(miss, float(np.abs(have - wanted).sum()) / counts.rows)
    where, own = _packed(columns, sizes), _packed(used, sizes)
    order = np.argsort(where)
    here = order[np.searchsorted(where[order], own)]
    held = tuple(Margin(key, len(margins[pair])) for pair, key in keys.items())
    return TwoWay(mean[here], len(mean), sweep, miss, held, mean, here)


def parameter_variance(fit: TwoWay, slope: NDArray[np.float64]) -> float:
    """Delta method: the variance of a figure whose slope by the log mean of each of the sample's cells is given.

    Slope' I^-1 slope in the model's parameters, I = X' diag(mean) X the information of independent Poisson counts.
    It is solved by conjugate gradients through the margins, so that I, which is singular, is never made.
    """
    if fit.everywhere is None or fit.of_cell is None:  # one key: each cell is a parameter of its own
        return float(slope**2 @ (1 / fit.mean))
    mean = fit.everywhere

    def margins(cells: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([np.bincount(m.key, weights=cells, minlength=m.places) for m in fit.margins])

    starts = np.cumsum([0, *(m.places for m in fit.margins)])

    def information(x: NDArray[np.float64]) -> NDArray[np.float64]:
        cells = np.zeros(len(mean))
        for m, begin in zip(fit.margins, starts, strict=False):
            cells += x[begin + m.key]
        return margins(cells * mean)

    at_cells = np.zeros(len(mean))
    at_cells[fit.of_cell] = slope
    wanted = margins(at_cells)
    scale = margins(mean)
    scale = np.where(scale > 0, scale, 1.0)
    x = np.zeros(len(wanted))
    rest = wanted.copy()
    near = rest / scale
    way, size = near.copy(), float(rest @ near)
    found = 0.0
    for _ in range(MOST_STEPS):
        if size <= 0:
            break
        ahead = information(way)
        step = size / float(way @ ahead)
        x += step * way
        rest -= step * ahead
        near = rest / scale
        added, found = step * size, found + step * size  # wanted' x grows by exactly this
        size, before = float(rest @ near), size
        way = near + (size / before) * way
        if added < STEADY * found:
            break
    return found


def _possible(sizes: list[int], margins: dict[tuple[int, int], NDArray[Any]]) -> list[NDArray[np.int64]]:
    """Per key (possible cells,): all combinations of which no pair of values is absent."""
    columns = [np.arange(sizes[0], dtype=np.int64)]
    for j in range(1, len(sizes)):
        if len(columns[0]) > MOST_CELLS or len(columns[0]) * sizes[j] > 10 * MOST_CELLS:
            break
        rows = np.repeat(np.arange(len(columns[0])), sizes[j])
        value = np.tile(np.arange(sizes[j], dtype=np.int64), len(columns[0]))
        keep = np.ones(len(rows), dtype=bool)
        for i in range(j):
            keep &= margins[i, j][columns[i][rows] * sizes[j] + value] > 0
        columns = [column[rows[keep]] for column in columns] + [value[keep]]
    if len(columns) < len(sizes) or len(columns[0]) > MOST_CELLS:
        raise NotApplicable(
            f"the two-way margins leave over {MOST_CELLS:,} combinations possible; name fewer attributes with --known"
        )
    return columns


def _packed(columns: list[NDArray[np.int64]], sizes: list[int]) -> NDArray[np.int64]:
    """One number a combination; sizes that would overflow have been refused as too many cells or fit in 63 bits."""
    if np.prod([float(s) for s in sizes]) >= 2.0**62:
        raise NotApplicable("the keys have over 2^62 combinations; name fewer attributes with --known")
    key = np.zeros(len(columns[0]), dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        key = key * size + column
    return key

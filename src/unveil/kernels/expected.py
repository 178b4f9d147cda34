"""How many rows a release leads one to expect for a predicate: fits of cells, summed by group or by region."""

import numpy as np
from numba import njit

__all__ = ["fit_groups", "fit_regions", "match_points", "warm"]


@njit(cache=True, nogil=True)
def fit_groups(share, used, column, cell, entry_cell, entry_group, entry_count, fit, found):
    """Add count × fit of every entry to `found` (predicates, groups) float64.

    The fit of a cell is the product of `share[q, column[a] + cell[c, a]]` over the attributes a with `used[q, a]`.
    `share` (predicates, regions of all attributes) float64; `used` (predicates, attributes) bool; `cell` (cells,
    attributes) int32; entries: cell, group (int64) and count (float64); `fit` (cells,) float64 is room to work in.
    """
    for q in range(share.shape[0]):
        _fits(share, used, column, cell, q, fit)
        for e in range(entry_cell.shape[0]):
            found[q, entry_group[e]] += entry_count[e] * fit[entry_cell[e]]


@njit(cache=True, nogil=True)
def fit_regions(share, used, column, cell, entry_cell, entry_group, entry_count, entry_region, weight, fit, found):
    """Add count × fit × `weight[q, group]` of every entry to `found` (predicates, regions of one attribute)."""
    for q in range(share.shape[0]):
        _fits(share, used, column, cell, q, fit)
        for e in range(entry_cell.shape[0]):
            found[q, entry_region[e]] += entry_count[e] * fit[entry_cell[e]] * weight[q, entry_group[e]]


@njit(cache=True, nogil=True)
def _fits(share, used, column, cell, q, fit):
    fit[:] = 1.0
    for a in range(cell.shape[1]):
        if used[q, a]:
            for c in range(cell.shape[0]):
                fit[c] *= share[q, column[a] + cell[c, a]]


@njit(cache=True, nogil=True)
def match_points(point, cell, begin, region_start, low, high, lead, listed_start, listed, target, place):
    """Pairs of points and cells that hold them: how many there are; written where `target` and `place` have room.

    `point` (points, attributes) int64 codes; `cell` (cells, attributes) int64 region numbers. Region r of attribute a
    has the runs `low[i]` … `high[i]` for i from `region_start[begin[a] + r]` to before the next. The cells that hold
    code v of the attribute `lead` are `listed[listed_start[v]:listed_start[v + 1]]`.
    """
    found = 0
    for p in range(point.shape[0]):
        v = point[p, lead]
        for i in range(listed_start[v], listed_start[v + 1]):
            c = listed[i]
            fits = True
            for a in range(point.shape[1]):
                if a == lead:
                    continue
                r = begin[a] + cell[c, a]
                inside = False
                for run in range(region_start[r], region_start[r + 1]):
                    if low[run] <= point[p, a] <= high[run]:
                        inside = True
                        break
                if not inside:
                    fits = False
                    break
            if fits:
                if found < target.shape[0]:
                    target[found] = p
                    place[found] = c
                found += 1
    return found


def warm():
    """Compile every kernel here."""
    share, used, one = np.ones((1, 1)), np.ones((1, 1), np.bool_), np.zeros(1, np.int64)
    cell = np.zeros((1, 1), np.int32)
    fit_groups(share, used, one, cell, one, one, np.ones(1), np.ones(1), np.zeros((1, 1)))
    fit_regions(share, used, one, cell, one, one, np.ones(1), one, share, np.ones(1), np.zeros((1, 1)))
    runs = np.array([0, 1], np.int64)
    match_points(one[:, None], one[:, None], one, runs, one, one, 0, runs, one, one, one)

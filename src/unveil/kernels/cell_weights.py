"""Kernel regression cell by cell, where the whole domain is too large to be held."""

import numpy as np
from numba import njit

__all__ = ["smooth_cells", "warm"]


@njit(cache=True, nogil=True)
def smooth_cells(asked, held, weight, offset, sizes, start, value, count, out):
    """Add to ``out`` (asked, values) the counts of all held cells, each by the product of its axes' weights.

    ``asked`` (asked, d) and ``held`` (cells, d) codes; ``weight`` the axes' (codes, codes) tables end to end, from
    ``offset`` on; a held cell has the pairs ``start[c]`` to ``start[c + 1]`` of ``value`` and ``count``.
    """
    d = asked.shape[1]
    for i in range(asked.shape[0]):
        for c in range(held.shape[0]):
            product = 1.0
            for j in range(d):
                product *= weight[offset[j] + asked[i, j] * sizes[j] + held[c, j]]
                if product == 0.0:
                    break
            if product > 0.0:
                for p in range(start[c], start[c + 1]):
                    out[i, value[p]] += product * count[p]


def warm():
    """Compile every kernel here."""
    cells = np.zeros((1, 1), np.int64)
    start = np.array([0, 1], np.int64)
    one, none = np.ones(1), np.zeros(1, np.int64)
    smooth_cells(cells, cells, one, none, np.ones(1, np.int64), start, none, one, np.zeros((1, 1)))

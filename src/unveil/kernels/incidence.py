"""Which targets fit which cells: every attribute that is known must overlap."""

import numpy as np
from numba import njit

__all__ = ["count_fits", "list_fits", "warm"]


@njit(cache=True, nogil=True)
def count_fits(known, cell, fits, offset, width, by_region_start, by_region, lead):
    """(targets,) int64: how many cells each target fits.

    `known` (targets, attributes) int64 knowledge numbers, `cell` (cells, attributes) int64 region numbers. Whether
    knowledge k of attribute a overlaps region r is `fits[offset[a] + k * width[a] + r]` (uint8). The cells that show
    region r of the attribute `lead` are `by_region[by_region_start[r]:by_region_start[r + 1]]`.
    Cost: for each target the cells that its `lead` attribute leaves.
    """
    found = np.zeros(known.shape[0], np.int64)
    for t in range(known.shape[0]):
        row = offset[lead] + known[t, lead] * width[lead]
        for r in range(width[lead]):
            if fits[row + r]:
                for i in range(by_region_start[r], by_region_start[r + 1]):
                    if _fits(known[t], cell[by_region[i]], fits, offset, width):
                        found[t] += 1
    return found


@njit(cache=True, nogil=True)
def list_fits(known, cell, fits, offset, width, by_region_start, by_region, lead, start, target, place):
    """Write the pairs that `count_fits` counted: `start` (targets + 1,), `target` and `place` (pairs,) int64."""
    for t in range(known.shape[0]):
        at = start[t]
        row = offset[lead] + known[t, lead] * width[lead]
        for r in range(width[lead]):
            if fits[row + r]:
                for i in range(by_region_start[r], by_region_start[r + 1]):
                    if _fits(known[t], cell[by_region[i]], fits, offset, width):
                        target[at] = t
                        place[at] = by_region[i]
                        at += 1


@njit(cache=True, nogil=True)
def _fits(known, cell, fits, offset, width):
    for a in range(known.shape[0]):
        if not fits[offset[a] + known[a] * width[a] + cell[a]]:
            return False
    return True


def warm():
    """Compile every kernel here."""
    known, cell = np.zeros((1, 1), np.int64), np.zeros((1, 1), np.int64)
    one = np.array([0], np.int64)
    arguments = (known, cell, np.ones(1, np.uint8), one, one + 1, np.array([0, 1], np.int64), one, 0)
    count_fits(*arguments)
    list_fits(*arguments, np.array([0, 1], np.int64), np.empty(1, np.int64), np.empty(1, np.int64))

"""Masking: optimal groups along a line, and swaps of near ranks."""

import numpy as np
from numba import njit

from unveil.kernels.random import draw

__all__ = ["optimal_line", "swap_ranks", "warm"]


@njit(cache=True, nogil=True)
def optimal_line(value, k, group):
    """Groups of k to 2k - 1 neighbours with the least sum of squares (Hansen and Mukherjee 2003).

    `value` (rows,) float64, sorted, at least k of them; `group` (rows,) int64 is written. Returns the number of groups.
    Cost: rows · k.
    """
    rows = value.shape[0]
    mean = value.mean()
    total, square = np.zeros(rows + 1), np.zeros(rows + 1)
    for i in range(rows):
        gap = value[i] - mean
        total[i + 1] = total[i] + gap
        square[i + 1] = square[i] + gap * gap
    best = np.full(rows + 1, np.inf)
    size = np.zeros(rows + 1, np.int64)
    best[0] = 0.0
    for end in range(k, rows + 1):
        for n in range(k, min(2 * k - 1, end) + 1):
            part = total[end] - total[end - n]
            cost = best[end - n] + square[end] - square[end - n] - part * part / n
            if cost < best[end]:
                best[end] = cost
                size[end] = n
    groups, end = 0, rows
    while end > 0:
        end -= size[end]
        groups += 1
    end, number = rows, groups
    while end > 0:
        number -= 1
        group[end - size[end] : end] = number
        end -= size[end]
    return groups


@njit(cache=True, nogil=True)
def swap_ranks(rows, window, key, partner):
    """Pair ranks no farther apart than `window` at random: from the lowest up, with one of those still alone.

    `partner` (rows,) int64, -1 everywhere, is written; a rank that finds nobody is its own. Cost: rows · window.
    """
    for i in range(rows):
        if partner[i] >= 0:
            continue
        last = min(rows - 1, i + window)
        free = 0
        for j in range(i + 1, last + 1):
            free += partner[j] < 0
        partner[i] = i
        if free == 0:
            continue
        chosen = np.int64(draw(key, np.uint64(i)) % np.uint64(free))
        for j in range(i + 1, last + 1):
            if partner[j] < 0:
                if chosen == 0:
                    partner[i], partner[j] = j, i
                    break
                chosen -= 1


def warm():
    """Compile every kernel here."""
    group = np.full(1, -1, np.int64)
    optimal_line(np.zeros(1), 1, group)
    swap_ranks(1, 1, np.uint64(1), np.full(1, -1, np.int64))

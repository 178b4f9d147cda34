"""Masking: groups of near neighbours (MDAV), optimal groups along a line, and swaps of near ranks."""

import numpy as np
from numba import njit

from unveil.kernels.random import draw

__all__ = ["mdav", "optimal_line", "swap_ranks", "warm"]


@njit(cache=True, nogil=True)
def _farthest(point, left, count, place):
    """Which of the `count` rows listed in `left` lies farthest from `place`; the first of equals."""
    best, most = 0, -1.0
    for i in range(count):
        row = left[i]
        far = 0.0
        for a in range(point.shape[1]):
            gap = point[row, a] - place[a]
            far += gap * gap
        if far > most:
            most, best = far, i
    return left[best]


@njit(cache=True, nogil=True)
def _take_nearest(point, left, count, seed, k, group, number, total, near, apart):
    """Give `seed` and its k - 1 nearest rows this group number, and take them out of `left`; returns who is left.

    `total` (attributes,): the sum of the rows left, brought up to date. `near`, `apart`: room for k rows.
    """
    held = 0
    for i in range(count):
        row = left[i]
        far = 0.0
        for a in range(point.shape[1]):
            gap = point[row, a] - point[seed, a]
            far += gap * gap
        if row == seed:
            far = -1.0
        if held == k and far >= apart[k - 1]:
            continue
        at = held if held < k else k - 1
        while at > 0 and apart[at - 1] > far:
            apart[at], near[at] = apart[at - 1], near[at - 1]
            at -= 1
        apart[at], near[at] = far, row
        held = min(held + 1, k)
    for j in range(held):
        group[near[j]] = number
        for a in range(point.shape[1]):
            total[a] -= point[near[j], a]
    kept = 0
    for i in range(count):
        if group[left[i]] < 0:
            left[kept] = left[i]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def mdav(point, k, group):
    """Maximum distance to average vector (Domingo-Ferrer and Torra 2005): groups of k to 2k - 1 near rows.

    `point` (rows, attributes) float64; `group` (rows,) int64, -1 everywhere, is written. Returns the number of groups.
    Equals are taken in the order of the rows. Cost: rows² / k steps.
    """
    rows, width = point.shape
    left = np.arange(rows)
    total = np.zeros(width)
    for row in range(rows):
        for a in range(width):
            total[a] += point[row, a]
    near, apart = np.empty(k, np.int64), np.empty(k, np.float64)
    count, number = rows, 0
    while count >= 3 * k:
        first = _farthest(point, left, count, total / count)
        second = _farthest(point, left, count, point[first])
        count = _take_nearest(point, left, count, first, k, group, number, total, near, apart)
        number += 1
        # Where the far row went with the first, as equal rows may, the farthest of those left takes its place.
        if group[second] >= 0:
            second = _farthest(point, left, count, point[first])
        count = _take_nearest(point, left, count, second, k, group, number, total, near, apart)
        number += 1
    if count >= 2 * k:
        first = _farthest(point, left, count, total / count)
        count = _take_nearest(point, left, count, first, k, group, number, total, near, apart)
        number += 1
    for i in range(count):
        group[left[i]] = number
    return number + 1 if count else number


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
    mdav(np.zeros((1, 1)), 1, group)
    optimal_line(np.zeros(1), 1, group)
    swap_ranks(1, 1, np.uint64(1), np.full(1, -1, np.int64))

"""Anatomy's rounds: each takes one row of each of the l most frequent remaining values."""

import numpy as np
from numba import njit

from unveil.kernels.random import draw

__all__ = ["place_residue", "rounds", "warm"]


@njit(cache=True, nogil=True)
def rounds(count, l, key):
    """Group of the i-th row of each value: (rows,) int32 in the order of values, -1 = residue; and the groups made.

    `count` (values,) int64. Values stand in descending order of remaining rows. A round takes the first l; among
    those tied at the l-th place it draws, and puts the drawn ones last of the tied, so that the order stands.
    Cost: rows + groups · log(values).
    """
    start = np.zeros(count.shape[0] + 1, np.int64)
    start[1:] = np.cumsum(count)
    group = np.full(start[-1], -1, np.int32)
    left = count.copy()
    order = np.argsort(-count)
    size = np.count_nonzero(count)
    drawn = np.uint64(0)
    groups = 0
    while size >= l:
        tied = left[order[l - 1]]
        first = _behind(order, left, tied + 1, l)
        last = _behind(order, left, tied, size)
        for i in range(last - 1, last - 1 - (l - first), -1):
            j = first + np.int64(draw(key, drawn) % np.uint64(i - first + 1))
            drawn += np.uint64(1)
            order[i], order[j] = order[j], order[i]
        for i in range(last - l + first, last):
            _take(order[i], group, groups, start, count, left)
        for i in range(first):
            _take(order[i], group, groups, start, count, left)
        while size > 0 and left[order[size - 1]] == 0:
            size -= 1
        groups += 1
    return group, groups


@njit(cache=True, nogil=True)
def place_residue(group, value, groups, values, key):
    """Give each row left over a group that lacks its value, drawn among all such; returns how many found none.

    `group` (rows,) int32 changes in place, `value` (rows,) int64. Cost: (residue + 1) passes over rows and groups.
    """
    lost = 0
    holds = np.zeros(groups, np.bool_)
    for row in range(group.shape[0]):
        if group[row] >= 0:
            continue
        holds[:] = False
        for other in range(group.shape[0]):
            if group[other] >= 0 and value[other] == value[row]:
                holds[group[other]] = True
        free = 0
        for g in range(groups):
            if not holds[g]:
                free += 1
        if free == 0:
            lost += 1
            continue
        pick = np.int64(draw(key, np.uint64(row)) % np.uint64(free))
        for g in range(groups):
            if not holds[g]:
                if pick == 0:
                    group[row] = g
                    break
                pick -= 1
    return lost


@njit(cache=True, nogil=True)
def _take(value, group, number, start, count, left):
    group[start[value] + count[value] - left[value]] = number
    left[value] -= 1


@njit(cache=True, nogil=True)
def _behind(order, left, least, stop):
    """How many of the first `stop` values have at least `least` rows left; they come first."""
    low = 0
    high = stop
    while low < high:
        middle = (low + high) // 2
        if left[order[middle]] >= least:
            low = middle + 1
        else:
            high = middle
    return low


def warm():
    """Compile every kernel here."""
    key = np.uint64(7)
    group, groups = rounds(np.array([3, 2, 2], np.int64), 2, key)
    place_residue(group, np.array([0, 0, 0, 1, 1, 2, 2], np.int64), groups, 3, key)

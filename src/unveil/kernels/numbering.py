"""Rows put in order without comparing them: ranks of numbers of any size, and rows by the group they are in."""

import numpy as np
from numba import njit

__all__ = ["grouped", "ranks", "warm"]

BITS = 11  # of a number that are looked at at once: their counts stay in the cache


@njit(cache=True, nogil=True)
def ranks(number):
    """(rows,) int64: the dense rank of each of some numbers from 0 on. Cost: rows, once for every 11 bits."""
    rows, most = number.shape[0], np.int64(0)
    for i in range(rows):
        most = max(most, number[i])
    passes = 1
    while passes * BITS < 63 and most >> (passes * BITS):
        passes += 1
    last = np.int64((1 << BITS) - 1)
    count = np.zeros((passes, 1 << BITS), np.int64)
    key, row = np.empty(rows, np.int64), np.empty(rows, np.int64)
    for i in range(rows):
        key[i], row[i] = number[i], i
        for p in range(passes):
            count[p, (number[i] >> (p * BITS)) & last] += 1
    next_key, next_row = np.empty(rows, np.int64), np.empty(rows, np.int64)
    for p in range(passes):
        if count[p].max() == rows:  # all alike in these
            continue
        total = 0
        for digit in range(1 << BITS):
            total, count[p, digit] = total + count[p, digit], total
        for i in range(rows):
            digit = (key[i] >> (p * BITS)) & last
            at = count[p, digit]
            count[p, digit] = at + 1
            next_key[at], next_row[at] = key[i], row[i]
        key, next_key = next_key, key
        row, next_row = next_row, row
    found, rank = next_row, -1
    for i in range(rows):
        rank += i == 0 or key[i] != key[i - 1]
        next_key[i] = rank
    for i in range(rows):
        found[row[i]] = next_key[i]
    return found


@njit(cache=True, nogil=True)
def grouped(group, groups):
    """(rows,) rows group by group, in their order within each, and (groups + 1,) where each group starts; int64."""
    start = np.zeros(groups + 1, np.int64)
    for i in range(group.shape[0]):
        start[group[i] + 1] += 1
    for g in range(groups):
        start[g + 1] += start[g]
    order, free = np.empty(group.shape[0], np.int64), start[:-1].copy()
    for i in range(group.shape[0]):
        order[free[group[i]]] = i
        free[group[i]] += 1
    return order, start


def warm():
    """Compile every kernel here."""
    ranks(np.array([3, 1], np.int64))
    for kind in (np.int64, np.int32):
        grouped(np.array([1, 0], kind), 2)

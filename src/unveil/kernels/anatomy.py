"""Anatomy's rounds: each takes one row of each of the l most frequent remaining values."""

import numpy as np
from numba import njit

from unveil.kernels.random import draw, uniform

__all__ = ["place_residue", "rounds", "warm"]


@njit(cache=True, nogil=True)
def rounds(count, l, key):
    """Group of the i-th row of each value: (rows,) int32 in the order of values, -1 = residue; and the groups made.

    `count` (values,) int64. A heap holds the values by remaining rows, ties by a number drawn when a value enters:
    a loser of a tie is ahead of the winners next time, so a fresh draw each round would change nothing.
    Cost: rows · log(values).
    """
    values = count.shape[0]
    start = np.zeros(values + 1, np.int64)
    for v in range(values):
        start[v + 1] = start[v] + count[v]
    group = np.full(start[values], -1, np.int32)
    left = count.copy()
    tie = np.empty(values, np.float64)
    heap = np.empty(values, np.int64)
    taken = np.empty(l, np.int64)
    size = 0
    drawn = np.uint64(0)
    for v in range(values):
        if left[v] > 0:
            tie[v] = uniform(key, drawn)
            drawn += np.uint64(1)
            size = _push(heap, size, v, left, tie)
    groups = 0
    while size >= l:
        for i in range(l):
            taken[i] = heap[0]
            size = _pop(heap, size, left, tie)
        for i in range(l):
            v = taken[i]
            group[start[v] + count[v] - left[v]] = groups
            left[v] -= 1
            if left[v] > 0:
                tie[v] = uniform(key, drawn)
                drawn += np.uint64(1)
                size = _push(heap, size, v, left, tie)
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
def _ahead(a, b, left, tie):
    return left[a] > left[b] or (left[a] == left[b] and tie[a] > tie[b])


@njit(cache=True, nogil=True)
def _push(heap, size, v, left, tie):
    i = size
    heap[i] = v
    while i > 0:
        parent = (i - 1) // 2
        if not _ahead(heap[i], heap[parent], left, tie):
            break
        heap[i], heap[parent] = heap[parent], heap[i]
        i = parent
    return size + 1


@njit(cache=True, nogil=True)
def _pop(heap, size, left, tie):
    size -= 1
    heap[0] = heap[size]
    i = 0
    while True:
        best = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < size and _ahead(heap[child], heap[best], left, tie):
                best = child
        if best == i:
            return size
        heap[i], heap[best] = heap[best], heap[i]
        i = best


def warm():
    """Compile every kernel here."""
    key = np.uint64(7)
    group, groups = rounds(np.array([3, 2, 2], np.int64), 2, key)
    place_residue(group, np.array([0, 0, 0, 1, 1, 2, 2], np.int64), groups, 3, key)

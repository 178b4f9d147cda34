"""Equal keys united: the classes of a coarser node from those of a finer one."""

import numpy as np
from numba import njit

__all__ = ["number_keys", "sum_rows", "warm"]


@njit(cache=True, nogil=True)
def number_keys(key, slot, number, first):
    """Number equal keys from 0 in the order in which they are first met; returns how many there are.

    `key` (cells,) int64; `slot` int64, -1 everywhere, a power of two long and longer than the cells; `number` and
    `first` (cells,) int64 are written: the number of each key, and where each number was first met.
    """
    mask = slot.shape[0] - 1
    found = 0
    for i in range(key.shape[0]):
        h = np.uint64(key[i]) * np.uint64(0x9E3779B97F4A7C15)
        at = np.int64(h >> np.uint64(20)) & mask
        while slot[at] >= 0 and key[first[slot[at]]] != key[i]:
            at = (at + 1) & mask
        if slot[at] < 0:
            slot[at] = found
            first[found] = i
            found += 1
        number[i] = slot[at]
    return found


@njit(cache=True, nogil=True)
def sum_rows(rows, number, total):
    """Add each row of `rows` (cells, values) int64 to the row of `total` that `number` names."""
    for i in range(rows.shape[0]):
        for v in range(rows.shape[1]):
            total[number[i], v] += rows[i, v]


def warm():
    """Compile every kernel here."""
    key = np.zeros(1, np.int64)
    number_keys(key, np.full(2, -1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
    sum_rows(np.zeros((1, 1), np.int64), key, np.zeros((1, 1), np.int64))

"""Matchings of many groups of one kind at once: every way to give out the values, and how often each is drawn."""

import numpy as np
from numba import njit

from unveil.kernels.distributions import multinomial
from unveil.kernels.random import draw

__all__ = ["MOST_WAYS", "match_repeated", "warm", "ways_of"]

MOST_WAYS = 64


@njit(cache=True, nogil=True)
def ways_of(value_count):
    """In how many different ways the rows of a group can hold its values; over MOST_WAYS if there are more."""
    ways, rows = 1.0, 0
    for v in range(value_count.shape[0]):
        for i in range(value_count[v]):
            rows += 1
            ways *= rows / (i + 1)
        if ways > MOST_WAYS:
            break
    return ways


@njit(cache=True, nogil=True)
def match_repeated(start, part, count, value_start, value, value_count, times, table, key, tally):
    """Draw a matching of each of `times[g]` groups of kind g; `tally` (rows of the table, values) is added to.

    Laid out as matching.Groups; `part` (entries, parts) int32: an entry's weights are the product of these rows of
    `table` (rows, values). Kinds must have at most MOST_WAYS ways. Cost: ways · rows of each kind.
    """
    weight = np.empty(MOST_WAYS + 1)
    drawn = np.empty(MOST_WAYS + 1, np.int64)
    for g in range(times.shape[0]):
        v, values = value_start[g], value_start[g + 1] - value_start[g]
        rows = 0
        for e in range(start[g], start[g + 1]):
            rows += count[e]
        unit, held = np.empty(rows, np.int64), np.empty(rows, np.int64)
        i = 0
        for e in range(start[g], start[g + 1]):
            for _ in range(count[e]):
                unit[i] = e
                i += 1
        i = 0
        for j in range(values):
            for _ in range(value_count[v + j]):
                held[i] = value[v + j]
                i += 1
        # Way by way in dictionary order: `held` is its own counter. Logarithms are not needed for so few rows.
        ways, first = 0, held.copy()
        more = True
        while more:
            product = 1.0
            for i in range(rows):
                for p in range(part.shape[1]):
                    product *= table[part[unit[i], p], held[i]]
            weight[ways] = product
            drawn[ways] = 0
            ways += 1
            more = _next_way(held)
        top = weight[:ways].max()
        if top <= 0.0:  # underflow: any way is as good as another
            weight[:ways] = 1.0
        multinomial(times[g], weight[:ways], draw(key, np.uint64(g)), np.uint64(0), drawn[:ways])
        held[:] = first
        for w in range(ways):
            if drawn[w] > 0:
                for i in range(rows):
                    for p in range(part.shape[1]):
                        tally[part[unit[i], p], held[i]] += drawn[w]
            _next_way(held)


@njit(cache=True, nogil=True)
def _next_way(held):
    """The next permutation of a sequence in dictionary order; False after the last."""
    i = held.shape[0] - 2
    while i >= 0 and held[i] >= held[i + 1]:
        i -= 1
    if i < 0:
        return False
    j = held.shape[0] - 1
    while held[j] <= held[i]:
        j -= 1
    held[i], held[j] = held[j], held[i]
    i, j = i + 1, held.shape[0] - 1
    while i < j:
        held[i], held[j] = held[j], held[i]
        i, j = i + 1, j - 1
    return True


def warm():
    """Compile every kernel here."""
    start, two = np.array([0, 2]), np.arange(2, dtype=np.int32)
    ones = np.ones(2, np.int32)
    ways_of(ones)
    table, tally = np.ones((2, 2)), np.zeros((2, 2), np.int64)
    match_repeated(start, two[:, None], ones, start, two, ones, np.ones(1, np.int64), table, np.uint64(1), tally)

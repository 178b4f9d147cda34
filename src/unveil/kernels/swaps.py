"""Swap Metropolis for groups too large to match exactly: a round pairs the rows at random and offers each pair a swap.

Pairs of a round are disjoint, so given the pairing every pair's two states are independent: the mean of the matching
over all 2^pairs outcomes is known, has the right row and column sums, and is what a round adds to the marginals (waste
recycling, Frenkel 2004; here in the lower-variance form that weighs the two states by their own probabilities). Each
round leaves the law of the matching unchanged whatever the pairing, so the mean is unbiased once the chain is
stationary. It is an estimate, never called exact.
"""

import math

import numpy as np
from numba import njit

from unveil.kernels.random import draw, uniform

__all__ = ["SWAPS", "log_ratio", "match_swaps", "shuffle", "swap_rounds"]

SWAPS = 9  # the method
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def match_swaps(
    start, cell, count, value_start, value, value_count, pair_start, method, first,
    left, room, row_start, log_weight, key, rounds, partner, marginal, drawn, tally,
):  # fmt: skip
    """Move the groups in `left` on by `rounds`."""
    unit, order = np.empty(room[4], np.int32), np.empty(room[4], np.int32)
    wanted = marginal.shape[0] > 0
    counted, tallied = drawn.shape[0] > 0, tally.shape[0] > 0
    for g in left:
        c, v, o = start[g], value_start[g], pair_start[g]
        values = value_start[g + 1] - v
        own = partner[row_start[g] : row_start[g + 1]]
        rows = own.shape[0]
        i = 0
        for e in range(c, start[g + 1]):
            for _ in range(count[e]):
                unit[i] = e - c
                i += 1
        mean = marginal[o : pair_start[g + 1]] if wanted else marginal
        group_key = draw(key, np.uint64(first + g))
        cells, these = cell[c : start[g + 1]], value[v : value_start[g + 1]]
        swap_rounds(log_weight, cells, unit[:rows], these, rounds, group_key, order, own, wanted, mean)
        if counted:
            drawn[o : pair_start[g + 1]] = 0
        for i in range(rows):
            if counted:
                drawn[o + unit[i] * values + own[i]] += 1
            if tallied:
                tally[cells[unit[i]], these[own[i]]] += 1


@njit(cache=True, nogil=True)
def _below(bits, n):
    """A number below `n` from 32 bits."""
    return np.int64((bits * np.uint64(n)) >> _HALF)


@njit(cache=True, nogil=True)
def log_ratio(log_weight, cell_i, cell_j, value_i, value_j):
    """Log of how much likelier the matching is after cells i and j swap their values."""
    gain_i = log_weight[cell_i, value_j] - log_weight[cell_i, value_i]
    return gain_i + (log_weight[cell_j, value_i] - log_weight[cell_j, value_j])


@njit(cache=True, nogil=True)
def shuffle(n, key, partner):
    """Put `partner` (n,) in random order."""
    for i in range(n - 1, 0, -1):
        j = np.int64(draw(key, np.uint64(i)) % np.uint64(i + 1))
        partner[i], partner[j] = partner[j], partner[i]


@njit(cache=True, nogil=True)
def swap_rounds(log_weight, cell, unit, value, rounds, key, order, partner, wanted, marginal):
    """Run `rounds` rounds on one group: `partner` (rows,) int32, the value position of each row, changes in place.

    `cell` (entries,) and `value` (values,) int32 name the rows and columns of `log_weight`; `unit` (rows,) int32 is
    each row's entry; `order` (rows,) int32 is work space. If `wanted`, `marginal` (entries · values,) gets the mean
    over the rounds. 10 rounds are 5 proposals a row.
    """
    n = unit.shape[0]
    k = value.shape[0]
    for i in range(n):
        order[i] = i
    if wanted:
        marginal[:] = 0.0
    drawn = np.uint64(0)
    for _ in range(rounds):
        for p in range(0, n - 1, 2):
            # The pairing may be slightly uneven: every pairing leaves the law unchanged.
            bits = draw(key, drawn)
            a = p + _below(bits >> _HALF, n - p)
            order[p], order[a] = order[a], order[p]
            b = p + 1 + _below(bits & _LOW, n - p - 1)
            order[p + 1], order[b] = order[b], order[p + 1]
            i, j = order[p], order[p + 1]
            e, f = unit[i], unit[j]
            v, w = partner[i], partner[j]
            chance = 0.0
            if e != f and v != w:
                d = log_ratio(log_weight, cell[e], cell[f], value[v], value[w])
                ratio = math.exp(-abs(d))
                if d >= 0.0:
                    chance = 1.0 / (1.0 + ratio)
                else:
                    chance = ratio / (1.0 + ratio)
                if d >= 0.0 or uniform(key, drawn + np.uint64(1)) < ratio:
                    partner[i], partner[j] = w, v
            drawn += np.uint64(2)
            if wanted:
                marginal[e * k + v] += 1.0 - chance
                marginal[f * k + w] += 1.0 - chance
                marginal[e * k + w] += chance
                marginal[f * k + v] += chance
        if wanted and n % 2 == 1:
            i = order[n - 1]
            marginal[unit[i] * k + partner[i]] += 1.0
    if wanted:
        for m in range(marginal.shape[0]):
            marginal[m] /= rounds

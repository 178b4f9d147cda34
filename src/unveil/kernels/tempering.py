"""Tempered sweeps of a table with one block to match, and its likelihood with matchings summed out: one call each."""

import math

import numpy as np
from numba import njit

from unveil.kernels.gibbs import add_runs, collect, draw_all, weigh_cells
from unveil.kernels.matching import lay_out, log_permanent
from unveil.kernels.random import draw
from unveil.kernels.repeated_groups import match_repeated

__all__ = ["log_likelihood", "log_likelihoods", "sweep", "trade", "warm"]


@njit(cache=True, nogil=True)
def _log_weights(drawn, power, place, row, start, low, high, cells, offset, out):
    """Fill `out` (cells, values) with the log weights of cells, shares raised to the `power` (attributes,)."""
    hot = np.empty_like(drawn)
    for a in range(power.shape[0]):
        for i in range(place[a], place[a + 1]):
            hot[i] = drawn[i] if power[a] == 1.0 else math.exp(power[a] * math.log(drawn[i]))
    share = np.empty((row[-1], out.shape[1]))
    add_runs(hot, place, row, start, low, high, share)
    weigh_cells(cells, offset, np.log(share), out)


@njit(cache=True, nogil=True)
def log_likelihood(drawn, power, place, row, start, low, high, cells, offset, values, groups, times):
    """log of the sum over all matchings of `times[g]` groups of each kind g, at shares raised to a power."""
    log_weight = np.empty((cells.shape[0], values))
    _log_weights(drawn, power, place, row, start, low, high, cells, offset, log_weight)
    each = np.empty(times.shape[0])
    log_permanent(groups, 0, times.shape[0], log_weight, each)
    total = 0.0
    for g in range(times.shape[0]):
        total += times[g] * each[g]
    return total


@njit(cache=True, nogil=True)
def log_likelihoods(drawn, power, total, place, row, start, low, high, cells, offset, values, groups, times):
    """Add to `total` (places,) the log likelihood at each of many places `drawn` (places, parameters)."""
    for k in range(drawn.shape[0]):
        total[k] += log_likelihood(drawn[k], power, place, row, start, low, high, cells, offset, values, groups, times)


@njit(cache=True, nogil=True)
def sweep(
    drawn, power, mirror, key, number, counter, own_counts, place, row, start, low, high, smoothed, near, centre,
    weight, beta, cells, offset, group_start, cell, cell_count, value_start, value, value_count, times,
):  # fmt: skip
    """Matchings, then parameters: `drawn` changes in place. Laid out as gibbs.draw_all and repeated_groups.

    `number` of the sweep; returns the counter after the last draw of parameters.
    """
    values = own_counts.shape[1]
    log_weight = np.empty((cells.shape[0], values))
    _log_weights(drawn, power, place, row, start, low, high, cells, offset, log_weight)
    for c in range(cells.shape[0]):
        top = log_weight[c].max()
        for s in range(values):
            log_weight[c, s] = math.exp(log_weight[c, s] - top)
    tally = np.zeros((cells.shape[0], values), np.int64)
    part = cell.reshape(cell.shape[0], 1)
    this = draw(key, np.uint64(number))
    match_repeated(group_start, part, cell_count, value_start, value, value_count, times, log_weight, this, tally)
    counts = own_counts.copy()
    collect(cells, offset, tally, counts)
    mean, new = np.empty_like(drawn), np.empty_like(drawn)
    reached = draw_all(
        counts, place, row, start, low, high, smoothed, near, centre, weight, beta, drawn, power, mirror, ~key, counter,
        mean, new,
    )  # fmt: skip
    drawn[:] = new
    return reached


@njit(cache=True, nogil=True, error_model="numpy")
def trade(drawn, beta, codes, first, other):
    """How two rows of shares, which start at `first` and `other`, part what they give to `codes` is traded in place.

    Returns the logarithm of the prior density after it over that of before.
    """
    mine, theirs = 0.0, 0.0
    for code in codes:
        mine += drawn[first + code]
        theirs += drawn[other + code]
    prior = 0.0
    for code in codes:
        a, b = drawn[first + code] / mine, drawn[other + code] / theirs
        prior += (beta[first + code] - beta[other + code]) * (math.log(b) - math.log(a))
        drawn[first + code], drawn[other + code] = b * mine, a * theirs
    return prior


def warm():
    """Compile every kernel here."""
    drawn, power, place = np.full(4, 0.5), np.ones(1), np.array([0, 4])
    row, start = np.array([0, 2]), np.array([0, 1, 2])
    runs = row, start, np.arange(2, dtype=np.int32), np.arange(2, dtype=np.int32)
    cells, offset = np.arange(2, dtype=np.int32)[:, None], np.zeros(1, np.int64)
    ones, two = np.ones(2, np.int32), np.arange(2, dtype=np.int32)
    groups = lay_out(np.array([0, 2]), two, ones, np.array([0, 2]), two, ones)
    log_likelihood(drawn, power, place, *runs, cells, offset, 2, groups, np.ones(1))
    log_likelihoods(drawn[None], power, np.zeros(1), place, *runs, cells, offset, 2, groups, np.ones(1))
    near = np.zeros(1, np.bool_), np.array([0, 0, 0]), np.empty(0, np.int64), np.empty(0)
    kinds = groups.start, groups.cell, groups.cell_count, groups.value_start, groups.value, groups.value_count
    key, counter = np.uint64(1), np.uint64(0)
    state = drawn, power, True, key, 0, counter, np.zeros((2, 2), np.int64)
    sweep(*state, place, *runs, *near, np.ones(4), cells, offset, *kinds, np.ones(1, np.int64))
    trade(drawn, np.ones(4), np.arange(2), 0, 2)

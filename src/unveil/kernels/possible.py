"""A Gibbs sweep over the codes that some row of a value may have: shares of regions, weights of cells, draws.

Of hundreds of sensitive values each lies in few groups, and beside few of an attribute's codes. `start` (regions + 1,)
and `value` list the values that some row of a region may have, `slot_start` and `slot` the codes of each such pair as
numbers of *slots*; a slot is a code that is possible for a value, `place` says where it stands among the flat shares of
all attributes, and `first` (attributes · values + 1,) where the slots of an attribute and a value start.
"""

import math

import numpy as np
from numba import njit

from unveil.kernels.distributions import gamma, multinomial
from unveil.kernels.gibbs import FRESH_BELOW, mirrored
from unveil.kernels.random import uniform

__all__ = ["draw_possible", "shares_of_pairs", "warm", "weigh_pairs"]

FEW = 4  # a Gamma variable of so small a whole shape is a sum of waiting times

_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def shares_of_pairs(share, start, value, slot_start, at, out):
    """Fill the pairs of `out` (regions, values) with the region's share given the value, over the region's largest.

    `at`: where the codes of each pair stand in `share`, `place[slot]`.
    """
    for r in range(start.shape[0] - 1):
        top = 0.0
        for p in range(start[r], start[r + 1]):
            total = 0.0
            for i in range(slot_start[p], slot_start[p + 1]):
                total += share[at[i]]
            total = max(total, 1e-300)
            out[r, value[p]] = total
            top = max(top, total)
        for p in range(start[r], start[r + 1]):
            out[r, value[p]] /= top


@njit(cache=True, nogil=True)
def weigh_pairs(cells, part, table, start, value, weight, log_weight):
    """Fill the pairs of some `cells` with products of the table's rows, over the cell's largest, and their logarithms.

    `part` (cells, parts) and `start`, `value` are of all cells; `weight` and `log_weight` (some cells, values).
    """
    for i in range(cells.shape[0]):
        c = cells[i]
        top = -np.inf
        for p in range(start[c], start[c + 1]):
            s = value[p]
            total = 0.0
            for a in range(part.shape[1]):
                total += math.log(table[part[c, a], s])
            log_weight[i, s] = total
            top = max(top, total)
        for p in range(start[c], start[c + 1]):
            log_weight[i, value[p]] -= top
            weight[i, value[p]] = math.exp(log_weight[i, value[p]])


@njit(cache=True, nogil=True)
def draw_possible(
    count, attribute, start, value, slot_start, slot, place, first, rest, beta, before, power, mirror, wanted, key,
    counter, mean, share,
):  # fmt: skip
    """`gibbs.draw_all` where codes that are not possible are drawn as one and keep their proportions.

    Nothing that is matched depends on these. `attribute` (attributes + 1,): where each one's shares start; `rest`
    (attributes · values,): pseudo-counts of what is not possible, 0 if all is. The `mean` is filled if `wanted`.
    Returns the counter after the last draw.
    """
    values = count.shape[1]
    tally, counter = _spread(count, start, value, slot_start, slot, place, first, before, power, key, counter)
    longest = 1
    for i in range(first.shape[0] - 1):
        longest = max(longest, first[i + 1] - first[i] + 1)
    shape, was, drawn = np.empty(longest), np.empty(longest), np.empty(longest)
    for a in range(attribute.shape[0] - 1):
        codes = (attribute[a + 1] - attribute[a]) // values
        for s in range(values):
            lo, hi = attribute[a] + s * codes, attribute[a] + (s + 1) * codes
            begin, kept = first[a * values + s], first[a * values + s + 1] - first[a * values + s]
            other = rest[a * values + s]
            total, left, some = other, 1.0, kept
            for i in range(kept):
                at = place[begin + i]
                shape[i] = beta[at] + tally[begin + i] * power[a]
                total += shape[i]
                was[i] = before[at]
                left -= before[at]
            if other > 0.0:
                shape[kept], was[kept] = other, max(left, 1e-300)
                some += 1
            counter = _draw(shape[:some], total, was, mirror, key, counter, drawn)
            times = drawn[kept] / was[kept] if other > 0.0 else 1.0
            for v in range(lo, hi):
                each = before[v] * times
                share[v] = each if each > 1e-300 else 1e-300
            for i in range(kept):
                share[place[begin + i]] = max(drawn[i], 1e-300)
            if wanted:
                times = 1.0 / total
                for v in range(lo, hi):
                    mean[v] = beta[v] * times
                for i in range(kept):
                    mean[place[begin + i]] = shape[i] / total
    return counter


@njit(cache=True, nogil=True)
def _spread(count, start, value, slot_start, slot, place, first, share, power, key, counter):
    """Draw which codes the rows of each region take; the rows of each slot, and the counter reached."""
    values = count.shape[1]
    tally = np.zeros(place.shape[0], np.int64)
    widest = 1
    for p in range(value.shape[0]):
        widest = max(widest, slot_start[p + 1] - slot_start[p])
    weight, part = np.empty(widest), np.empty(widest, np.int64)
    for r in range(start.shape[0] - 1):
        for p in range(start[r], start[r + 1]):
            n = count[r, value[p]]
            if n == 0:
                continue
            lo, size = slot_start[p], slot_start[p + 1] - slot_start[p]
            if size == 1:
                tally[slot[lo]] += n
                continue
            a = np.searchsorted(first, slot[lo], side="right") - 1
            x = power[a // values]
            for i in range(size):
                weight[i] = share[place[slot[lo + i]]] ** x
                part[i] = 0
            counter = multinomial(n, weight[:size], key, counter, part[:size])
            for i in range(size):
                tally[slot[lo + i]] += part[i]
    return tally, counter


@njit(cache=True, nogil=True)
def _draw(shape, total, before, mirror, key, counter, out):
    """Dirichlet shares into `out`; mirrored as in `gibbs._reflected`, or without a look at those before."""
    size, counter = gamma(total, key, counter) if mirror else (1.0, counter)
    added = 0.0
    for v in range(shape.shape[0]):
        whole = np.int64(shape[v])
        if whole == shape[v] and 0 < whole < FEW:
            product = 1.0
            for _ in range(whole):
                product *= 1.0 - uniform(key, counter)
                counter += _ONE
            drawn = -math.log(product)
        elif not mirror or shape[v] < FRESH_BELOW:
            drawn, counter = gamma(shape[v], key, counter)
        else:
            drawn, counter = mirrored(max(before[v] * size, 1e-300), shape[v], key, counter)
        out[v] = max(drawn, 1e-300)
        added += out[v]
    for v in range(shape.shape[0]):
        out[v] /= added
    return counter


def warm():
    """Compile every kernel here."""
    start, value = np.array([0, 1, 3]), np.array([0, 0, 1], np.int32)
    slot_start, slot, place = np.array([0, 1, 2, 3]), np.array([0, 1, 2], np.int32), np.array([0, 1, 3])
    share, out, key = np.full(4, 0.5), np.zeros((2, 2)), np.uint64(1)
    shares_of_pairs(share, start, value, slot_start, place, out)
    cells, part = np.zeros(1, np.int32), np.zeros((1, 1), np.int32)
    weigh_pairs(cells, part, out, np.array([0, 1]), value, np.zeros((1, 2)), np.zeros((1, 2)))
    shape = np.array([0, 4]), start, value, slot_start, slot, place, np.array([0, 2, 3]), np.zeros(2)
    state = np.ones(4), share, np.ones(1), True, True, key, np.uint64(0)
    draw_possible(np.ones((2, 2), np.int64), *shape, *state, np.empty(4), np.empty(4))

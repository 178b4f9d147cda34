"""How far a group's values move what was held of its members."""

from math import log

import numpy as np
from numba import njit

from unveil.kernels.assignment import exact_marginals

__all__ = ["largest_changes", "warm"]


@njit(cache=True, nogil=True)
def change(belief, total, prior):
    """Jensen-Shannon distance, natural logarithm, of a belief (to be scaled by its total) from the prior."""
    apart = 0.0
    for v in range(prior.shape[0]):
        p = belief[v] / total
        q = prior[v]
        if p > 0.0:
            apart += p * log(2.0 * p / (p + q))
        if q > 0.0:
            apart += q * log(2.0 * q / (p + q))
    return max(apart / 2, 0.0)


@njit(cache=True, nogil=True)
def largest_changes(start, cell, prior, count, most, out):
    """Write to ``out`` (groups,) the largest distance of a member's belief from its prior.

    Members ``start[g]`` to ``start[g + 1]`` of ``cell`` are rows of ``prior`` (cells, values); ``count`` (groups,
    values) the group's values. Exact where people · prod(count + 1) · values is at most ``most`` and no value is
    withheld, else by the Omega-estimate. Members without counts (all withheld) learn nothing.
    """
    values = prior.shape[1]
    share = np.empty(values)
    belief = np.empty(values)
    place = np.empty(values, np.int64)
    for g in range(start.shape[0] - 1):
        out[g] = 0.0
        people = start[g + 1] - start[g]
        items = 0
        counted = 0.0
        cost = float(people)
        for v in range(values):
            if count[g, v] > 0:
                place[items] = v
                items += 1
                counted += count[g, v]
                cost *= count[g, v] + 1
        if items == 0:
            continue
        if cost * items <= most and counted == people:
            weight = np.empty((people, items))
            wanted = np.empty(items, np.int64)
            for c in range(items):
                wanted[c] = np.int64(count[g, place[c]])
                for i in range(people):
                    weight[i, c] = prior[cell[start[g] + i], place[c]]
            found = np.empty((people, items))
            if not exact_marginals(weight, wanted, found):
                out[g] = np.inf
                continue
            for i in range(people):
                for v in range(values):
                    belief[v] = 0.0
                for c in range(items):
                    belief[place[c]] = found[i, c]
                out[g] = max(out[g], change(belief, 1.0, prior[cell[start[g] + i]]))
            continue
        for v in range(values):
            share[v] = 0.0
        for i in range(start[g], start[g + 1]):
            for v in range(values):
                share[v] += prior[cell[i], v]
        for v in range(values):
            share[v] = count[g, v] / share[v] if share[v] > 0.0 else 0.0
        last = -1
        for i in range(start[g], start[g + 1]):
            if cell[i] == last:  # the same belief again
                continue
            last = cell[i]
            total = 0.0
            for v in range(values):
                belief[v] = prior[last, v] * share[v]
                total += belief[v]
            if total <= 0.0:
                out[g] = np.inf
                break
            out[g] = max(out[g], change(belief, total, prior[last]))


def warm():
    """Compile every kernel here."""
    ends = np.array([0, 1], np.int64)
    largest_changes(ends, np.zeros(1, np.int64), np.ones((1, 1)), np.ones((1, 1)), 1.0, np.zeros(1))

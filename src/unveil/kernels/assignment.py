"""Who of a group has which of its values: marginals of the matchings, weighted by what is held of each person.

A group is ``weight`` (people, items) and ``count`` (items,): people are matched with the items of a multiset, and a
matching counts by the product of its weights.
"""

import numpy as np
from numba import njit

__all__ = ["exact_marginals", "omega_marginals", "solve_groups", "warm"]

EXACT = 0
OMEGA = 1
IMPOSSIBLE = 2


@njit(cache=True, nogil=True)
def _to_one(row):
    """Scale a row to sum to 1; false if nothing is in it."""
    whole = 0.0
    for c in range(row.shape[0]):
        whole += row[c]
    if whole <= 0.0:
        return False
    for c in range(row.shape[0]):
        row[c] /= whole
    return True


@njit(cache=True, nogil=True)
def exact_marginals(weight, count, out):
    """Write to ``out`` (people, items) the probability that a person has an item; false if no matching has weight.

    Forward and backward over how many of each item are taken: prod(count + 1) states, all people in turn.
    """
    people, items = weight.shape
    stride = np.empty(items, np.int64)
    states = np.int64(1)
    for c in range(items):
        stride[c] = states
        states *= count[c] + 1
    ahead = np.zeros((people + 1, states))
    ahead[0, 0] = 1.0
    for i in range(people):
        total = 0.0
        for state in range(states):
            mass = ahead[i, state]
            if mass > 0.0:
                for c in range(items):
                    if (state // stride[c]) % (count[c] + 1) < count[c]:
                        ahead[i + 1, state + stride[c]] += mass * weight[i, c]
                        total += mass * weight[i, c]
        if total <= 0.0:
            return False
        for state in range(states):
            ahead[i + 1, state] /= total
    if ahead[people, states - 1] <= 0.0:
        return False
    behind = np.zeros(states)
    behind[states - 1] = 1.0
    for i in range(people - 1, -1, -1):
        before = np.zeros(states)
        total = 0.0
        for c in range(items):
            out[i, c] = 0.0
        for state in range(states):
            mass = behind[state]
            if mass > 0.0:
                for c in range(items):
                    if (state // stride[c]) % (count[c] + 1) > 0:
                        step = mass * weight[i, c]
                        before[state - stride[c]] += step
                        out[i, c] += ahead[i, state - stride[c]] * step
                        total += step
        if not (_to_one(out[i]) and total > 0.0):
            return False
        for state in range(states):
            behind[state] = before[state] / total
    return True


@njit(cache=True, nogil=True)
def omega_marginals(weight, count, out):
    """The same by the Omega-estimate: an item is shared out by the people's weights, and each person scaled to 1."""
    people, items = weight.shape
    for c in range(items):
        total = 0.0
        for i in range(people):
            total += weight[i, c]
        if total <= 0.0:
            return False
        for i in range(people):
            out[i, c] = weight[i, c] * count[c] / total
    for i in range(people):
        if not _to_one(out[i]):
            return False
    return True


@njit(cache=True, nogil=True)
def alike(weight):
    """Whether everybody has the same weights: then the Omega-estimate is exact."""
    for i in range(1, weight.shape[0]):
        for c in range(weight.shape[1]):
            if weight[i, c] != weight[0, c]:
                return False
    return True


@njit(cache=True, nogil=True)
def solve_groups(start, count, item_start, item, item_count, held, most, out, method):
    """Marginals of every group: ``out`` (entries, kinds of items), ``method`` (groups,) how each was reached.

    Entries ``start[g]`` to ``start[g + 1]`` are the group's people, ``count`` of each; items likewise. ``held``
    (entries, kinds). Exact where people · states · items is at most ``most``.
    """
    for g in range(start.shape[0] - 1):
        people = np.int64(0)
        for e in range(start[g], start[g + 1]):
            people += count[e]
        items = np.int64(0)
        cost = float(people)
        for c in range(item_start[g], item_start[g + 1]):
            if item_count[c] > 0:
                items += 1
                cost *= item_count[c] + 1
        if people == 0:
            method[g] = EXACT
            continue
        cost *= items
        weight = np.empty((people, items))
        wanted = np.empty(items, np.int64)
        place = np.empty(items, np.int64)
        at = 0
        for c in range(item_start[g], item_start[g + 1]):
            if item_count[c] > 0:
                wanted[at] = item_count[c]
                place[at] = item[c]
                at += 1
        i = 0
        for e in range(start[g], start[g + 1]):
            for _ in range(count[e]):
                for c in range(items):
                    weight[i, c] = held[e, place[c]]
                i += 1
        found = np.zeros((people, items))
        same = alike(weight)
        if cost <= most and not same:
            good = exact_marginals(weight, wanted, found)
            method[g] = EXACT
        else:
            good = omega_marginals(weight, wanted, found)
            method[g] = EXACT if same else OMEGA
        if not good:
            method[g] = IMPOSSIBLE
            continue
        i = 0
        for e in range(start[g], start[g + 1]):
            if count[e] > 0:
                for c in range(items):
                    out[e, place[c]] = found[i, c]
                i += count[e]


def warm():
    """Compile every kernel here."""
    held = np.array([[0.5, 0.5], [0.2, 0.8]])
    ends, kinds, ones = np.array([0, 2], np.int64), np.array([0, 1], np.int64), np.ones(2, np.int64)
    start, count = ends.copy(), ones.copy()
    start.flags.writeable = count.flags.writeable = False  # as a release's are
    solve_groups(start, count, ends, kinds, ones, held, 1e6, np.zeros((2, 2)), np.zeros(1, np.int64))

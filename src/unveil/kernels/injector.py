"""Injector's grouping phase: groups of l people, each of whom could have every value of the group."""

import numpy as np
from numba import njit

__all__ = ["form_groups", "warm"]


@njit(cache=True, nogil=True)
def form_groups(value, never, left, l):
    """Groups of ``l`` kinds of people, and the kinds that no group would have (Li 2010, figure 3.2, lines 2 to 17).

    A kind has a ``value`` (kinds,), values it ``never`` has (kinds, values), and so many people ``left`` (kinds,),
    which changes in place. A group starts with the kind that fewest people go with, and takes of those that go with it
    the kind that leaves most people to go with the group. Returns (groups, l) kinds, and the kinds of people set aside.
    """
    kinds = value.shape[0]
    values = never.shape[1]
    people = left.sum()
    group = np.empty((people // l + 1, l), np.int64)
    aside = np.empty(people, np.int64)
    groups = 0
    lost = 0
    of_value = np.zeros(values, np.int64)
    for k in range(kinds):
        of_value[value[k]] += left[k]
    shy = np.empty((values, values), np.int64)
    held = np.zeros(values, np.bool_)
    barred = np.zeros(values, np.bool_)
    while people >= l:
        shy[:] = 0  # people with the first value who never have the second
        for k in range(kinds):
            if left[k] > 0:
                for v in range(values):
                    if never[k, v]:
                        shy[value[k], v] += left[k]
        most = np.int64(-1)
        first = -1
        for k in range(kinds):
            if left[k] > 0:
                apart = np.int64(0)
                for v in range(values):
                    if never[k, v] or v == value[k]:
                        apart += of_value[v]
                    else:
                        apart += shy[v, value[k]]
                if apart > most:
                    most = apart
                    first = k
        size = 1
        group[groups, 0] = first
        left[first] -= 1
        of_value[value[first]] -= 1
        people -= 1
        for v in range(values):
            held[v] = v == value[first]
            barred[v] = never[first, v]
        while size < l:
            best = next_kind(value, never, left, of_value, held, barred, shy)
            if best < 0:
                break
            group[groups, size] = best
            size += 1
            left[best] -= 1
            of_value[value[best]] -= 1
            people -= 1
            held[value[best]] = True
            for v in range(values):
                barred[v] |= never[best, v]
        if size == l:
            groups += 1
        else:
            for i in range(1, size):
                left[group[groups, i]] += 1
                of_value[value[group[groups, i]]] += 1
                people += 1
            aside[lost] = first
            lost += 1
    for k in range(kinds):
        for _ in range(left[k]):
            aside[lost] = k
            lost += 1
        left[k] = 0
    return group[:groups], aside[:lost]


@njit(cache=True, nogil=True)
def next_kind(value, never, left, of_value, held, barred, shy):
    """The kind that goes with a group and, in it, leaves the fewest people who do not; -1 if none goes with it."""
    kinds = value.shape[0]
    values = never.shape[1]
    shy[:] = 0  # [y, v]: people with the value v who never have y or a value of the group
    for k in range(kinds):
        if left[k] > 0:
            clash = False
            for v in range(values):
                clash |= never[k, v] and held[v]
            for v in range(values):
                if clash or never[k, v]:
                    shy[v, value[k]] += left[k]
    best = -1
    fewest = np.int64(-1)
    for k in range(kinds):
        if left[k] == 0 or held[value[k]] or barred[value[k]]:
            continue
        clash = False
        for v in range(values):
            clash |= never[k, v] and held[v]
        if clash:
            continue
        apart = np.int64(0)
        for v in range(values):
            if held[v] or barred[v] or never[k, v] or v == value[k]:
                apart += of_value[v]
            else:
                apart += shy[value[k], v]
        if best < 0 or apart < fewest:
            fewest = apart
            best = k
    return best


def warm():
    """Compile every kernel here."""
    form_groups(np.array([0, 1], np.int64), np.zeros((2, 2), np.bool_), np.ones(2, np.int64), 2)

"""Slices: which people match a bucket in every column, and how much weight it gives to their sensitive values."""

import numpy as np
from numba import njit

__all__ = ["matching", "warm", "weights"]


@njit(cache=True, nogil=True)
def matching(rows, cell, person_cell, start, member, count):
    """People who match a bucket: those whose cell occurs in it, in every column; int32, ascending.

    `rows` of the bucket; `cell` (rows, columns), `person_cell` (people, columns): cells numbered across columns;
    `member` from `start[x]` to `start[x + 1]`: the people with cell x; `count` (cells,): scratch, zero before and
    after. Looks only at people who share the bucket's cells in the column where these are fewest.
    """
    columns = cell.shape[1]
    best, fewest = 0, np.int64(-1)
    for j in range(columns):
        reach = np.int64(0)
        for r in rows:
            x = cell[r, j]
            if count[x] == 0:
                reach += start[x + 1] - start[x]
            count[x] += 1
        if fewest < 0 or reach < fewest:
            best, fewest = j, reach
    found = np.empty(fewest, np.int32)
    size = 0
    for r in rows:
        x = cell[r, best]
        if count[x] < 0:
            continue
        count[x] = -count[x]  # looked at
        for i in range(start[x], start[x + 1]):
            fits = True
            for j in range(columns):
                if count[person_cell[member[i], j]] == 0:
                    fits = False
                    break
            if fits:
                found[size] = member[i]
                size += 1
    for j in range(columns):
        for r in rows:
            count[cell[r, j]] = 0
    return np.sort(found[:size])


@njit(cache=True, nogil=True)
def weights(rows, people, cell, person_cell, total, column, value, values, count, place):
    """f(t, B) · D(t, B)[s] of one bucket B for some people t: (people, values), relative to f(t, the whole table).

    `total` (cells,): rows of the whole table with a cell; `column` holds the sensitive attribute, whose codes are
    `value` (rows,) below `values`. `count` and `place` (cells,): scratch, zero before and after.
    """
    size, whole, columns = rows.shape[0], cell.shape[0], cell.shape[1]
    found = np.zeros((people.shape[0], values))
    for j in range(columns):
        for r in rows:
            count[cell[r, j]] += 1
    cells = 0
    for r in rows:
        if place[cell[r, column]] == 0:
            cells += 1
            place[cell[r, column]] = cells
    beside = np.zeros((cells + 1, values), np.int64)
    for r in rows:
        beside[place[cell[r, column]], value[r]] += 1
    for k in range(people.shape[0]):
        t = people[k]
        degree = 1.0
        for j in range(columns):
            x = person_cell[t, j]
            degree *= (count[x] * whole) / (size * total[x])
        if degree > 0:
            x = person_cell[t, column]
            for s in range(values):
                found[k, s] = degree * beside[place[x], s] / count[x]
    for j in range(columns):
        for r in rows:
            count[cell[r, j]] = 0
            place[cell[r, j]] = 0
    return found


def warm() -> None:
    """Compile, or load from the cache, for the types that are used."""
    rows, cell = np.zeros(1, np.int64), np.zeros((1, 1), np.int32)
    start, member, count = np.array([0, 1]), np.zeros(1, np.int32), np.zeros(1, np.int64)
    people = matching(rows, cell, cell, start, member, count)
    weights(rows, people, cell, cell, np.ones(1, np.int64), 0, np.zeros(1, np.int64), 1, count, count.copy())

"""Assignment by auction: people bid for rows until everybody has one or would rather go without (Bertsekas 1988)."""

import numpy as np
from numba import njit

__all__ = ["auction"]


@njit(cache=True, nogil=True)
def auction(start, row, cost, rows, without, step, most):
    """(people,) the edge that each gets, -1 = none; (rows,) prices; and whether it ended within `most` bids.

    Person i may have the rows of edges start[i] to start[i + 1]. Prices begin at 0 and only grow, by `step` or more a
    bid, so that the sum of costs is at most people × step above the smallest.
    """
    people = len(start) - 1
    price = np.zeros(rows)
    owner = np.full(rows, -1, dtype=np.int64)
    got = np.full(people, -1, dtype=np.int64)
    waiting = np.arange(people)[::-1].copy()
    left, bids = people, 0
    while left and bids < most:
        left -= 1
        bids += 1
        person = waiting[left]
        best, second, edge = np.inf, without, -1
        for one in range(start[person], start[person + 1]):
            asked = cost[one] + price[row[one]]
            if asked < best:
                second = min(second, best)
                best, edge = asked, one
            elif asked < second:
                second = asked
        if edge < 0 or best >= without:
            continue
        taken = row[edge]
        price[taken] += second - best + step
        if owner[taken] >= 0:
            got[owner[taken]] = -1
            waiting[left] = owner[taken]
            left += 1
        owner[taken] = person
        got[person] = edge
    return got, price, left == 0

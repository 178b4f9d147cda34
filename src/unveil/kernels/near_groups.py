"""Groups of near neighbours (MDAV): the rows stand in a tree of boxes from which they are taken as they are grouped.

The boxes close in on the rows that are left. Bounds and distances are sums in the same order, so that no rounding lets
a bound hide a row: the groups are those that comparing all rows gives.
"""

import numpy as np
from numba import njit

__all__ = ["grow_boxes", "mdav_groups", "mdav_rest", "warm"]

LEAF = 16  # rows


@njit(cache=True, nogil=True)
def grow_boxes(point, order, start, stop, left, parent, leaf):
    """Put the rows into boxes; returns how many there are.

    `point` (rows, attributes) float64. Written are `order` (rows,), and of each box `start` and `stop`, its span of it,
    `left`, the first of its two halves, which stand side by side (-1: none), and `parent`; `leaf` (rows,): each row's
    box. Cost: rows · log² rows.
    """
    rows, width = point.shape
    for i in range(rows):
        order[i] = i
    start[0], stop[0], parent[0] = 0, rows, -1
    boxes, at = 1, 0
    while at < boxes:
        low, high, left[at] = start[at], stop[at], -1
        widest, most = -1, 0.0
        if high - low > LEAF:
            for a in range(width):
                least, largest = np.inf, -np.inf
                for i in range(low, high):
                    x = point[order[i], a]
                    least, largest = min(least, x), max(largest, x)
                if largest - least > most:
                    widest, most = a, largest - least
        if widest < 0:
            for i in range(low, high):
                leaf[order[i]] = at
        else:
            value = np.empty(high - low)
            for i in range(low, high):
                value[i - low] = point[order[i], widest]
            moved = order[low:high][np.argsort(value, kind="mergesort")]
            order[low:high] = moved
            left[at] = boxes
            for half in range(2):
                start[boxes] = low if half == 0 else (low + high) // 2
                stop[boxes] = (low + high) // 2 if half == 0 else high
                parent[boxes] = at
                boxes += 1
        at += 1
    for at in range(boxes):
        if left[at] < 0:
            order[start[at] : stop[at]] = np.sort(order[start[at] : stop[at]])
    return boxes


@njit(cache=True, nogil=True)
def _close_in(at, point, group, order, start, stop, left, low, high, first):
    """Fit a box to the rows that are left in it; `first`: the first of them, -1 if there are none."""
    width = point.shape[1]
    first[at] = -1
    for a in range(width):
        low[at, a], high[at, a] = np.inf, -np.inf
    if left[at] < 0:
        for i in range(start[at], stop[at]):
            row = order[i]
            if group[row] < 0:
                if first[at] < 0:
                    first[at] = row
                for a in range(width):
                    low[at, a] = min(low[at, a], point[row, a])
                    high[at, a] = max(high[at, a], point[row, a])
        return
    for half in range(left[at], left[at] + 2):
        if first[half] >= 0:
            if first[at] < 0 or first[half] < first[at]:
                first[at] = first[half]
            for a in range(width):
                low[at, a] = min(low[at, a], low[half, a])
                high[at, a] = max(high[at, a], high[half, a])


@njit(cache=True, nogil=True)
def _distance(point, row, place):
    far = 0.0
    for a in range(point.shape[1]):
        gap = point[row, a] - place[a]
        far += gap * gap
    return far


@njit(cache=True, nogil=True)
def _at_most(at, place, low, high):
    far = 0.0
    for a in range(low.shape[1]):
        below, above = low[at, a] - place[a], high[at, a] - place[a]
        far += max(below * below, above * above)
    return far


@njit(cache=True, nogil=True)
def _at_least(at, place, low, high):
    far = 0.0
    for a in range(low.shape[1]):
        gap = low[at, a] - place[a]
        if gap < 0:
            gap = min(high[at, a] - place[a], 0.0)
        far += gap * gap
    return far


@njit(cache=True, nogil=True, inline="always")
def _push(stack, waiting, one, other, first):
    """Put both on the stack, `one` on top if it is taken `first`; returns how many wait."""
    stack[waiting], stack[waiting + 1] = (other, one) if first else (one, other)
    return waiting + 2


@njit(cache=True, nogil=True)
def _farthest(place, point, group, order, start, stop, left, low, high, first, stack):
    """Which of the rows left lies farthest from `place`; the first of equals."""
    best, most, waiting = -1, -1.0, 1
    stack[0] = 0
    while waiting:
        waiting -= 1
        at = stack[waiting]
        if first[at] < 0:
            continue
        bound = _at_most(at, place, low, high)
        if bound < most or (bound == most and first[at] > best):
            continue
        if left[at] < 0:
            for i in range(start[at], stop[at]):
                row = order[i]
                if group[row] < 0:
                    far = _distance(point, row, place)
                    if far > most or (far == most and row < best):
                        best, most = row, far
            continue
        one, other = left[at], left[at] + 1
        nearer = first[one] >= 0 and _at_most(one, place, low, high) > _at_most(other, place, low, high)
        waiting = _push(stack, waiting, one, other, nearer)  # taken first: the farther half
    return best


@njit(cache=True, nogil=True)
def _by_distance(place, point, group, ranked, away):
    """Sort the rows left by their distance from `place`, the farthest first; returns how many there are."""
    count = 0
    for row in range(len(group)):
        if group[row] < 0:
            ranked[count], away[count] = row, -np.sqrt(_distance(point, row, place))
            count += 1
    order = np.argsort(away[:count], kind="mergesort")
    ranked[:count] = ranked[:count][order]
    away[:count] = -away[:count][order]
    return count


@njit(cache=True, nogil=True)
def _farthest_by_rank(place, base, point, group, ranked, away, count):
    """The same as `_farthest` for a place near `base`, from which `away` are the distances; and the rows looked at.

    No row is farther from a place than from the base and the base from it. What is left of a round cloud lies
    almost equally far from its middle: there boxes tell nothing apart.
    """
    moved = 0.0
    for a in range(len(place)):
        moved += (place[a] - base[a]) ** 2
    moved = np.sqrt(moved)
    best, most, looked = -1, -1.0, 0
    for i in range(count):
        reach = away[i] + moved
        if reach * reach * (1 + 1e-12) < most:
            break
        looked += 1
        row = ranked[i]
        if group[row] < 0:
            far = _distance(point, row, place)
            if far > most or (far == most and row < best):
                best, most = row, far
    return best, looked


@njit(cache=True, nogil=True)
def _take_nearest(
    seed, k, number, total, near, apart, point, group, order, start, stop, left, parent, leaf, low, high, first, stack
):
    """Give `seed` and its k - 1 nearest rows this group number; `total` is brought up to date.

    The first of equals are taken. `near`, `apart`: room for k rows.
    """
    near[0], apart[0], held, waiting = seed, -1.0, 1, 1
    stack[0] = 0
    place = point[seed]
    while waiting:
        waiting -= 1
        at = stack[waiting]
        if first[at] < 0:
            continue
        bound = _at_least(at, place, low, high)
        if held == k and (bound > apart[k - 1] or (bound == apart[k - 1] and first[at] > near[k - 1])):
            continue
        if left[at] < 0:
            for i in range(start[at], stop[at]):
                row = order[i]
                if group[row] >= 0 or row == seed:
                    continue
                far = _distance(point, row, place)
                if held == k and (far > apart[k - 1] or (far == apart[k - 1] and row > near[k - 1])):
                    continue
                spot = held if held < k else k - 1
                while spot > 0 and (apart[spot - 1] > far or (apart[spot - 1] == far and near[spot - 1] > row)):
                    apart[spot], near[spot] = apart[spot - 1], near[spot - 1]
                    spot -= 1
                apart[spot], near[spot] = far, row
                held = min(held + 1, k)
            continue
        one, other = left[at], left[at] + 1
        nearer = first[one] >= 0 and _at_least(one, place, low, high) < _at_least(other, place, low, high)
        waiting = _push(stack, waiting, one, other, nearer)
    for j in range(held):
        group[near[j]] = number
        for a in range(point.shape[1]):
            total[a] -= point[near[j], a]
    for j in range(held):
        at = leaf[near[j]]
        while at >= 0:
            _close_in(at, point, group, order, start, stop, left, low, high, first)
            at = parent[at]


@njit(cache=True, nogil=True)
def mdav_groups(point, k, group, order, start, stop, left, parent, leaf, low, high, first, total, count, number, most):
    """Two groups at a time until fewer than 3k rows are left or `most` groups more are made; returns how many rows are
    left, and the number of groups.

    `group` (rows,) int64, -1 where a row has none; `total` (attributes,) the sum of the rows left; `count` of them.
    With `most` 0 the boxes `low`, `high`, `first` are fitted, and the rows added up.
    """
    if most == 0:
        for at in range(len(left) - 1, -1, -1):
            _close_in(at, point, group, order, start, stop, left, low, high, first)
        for row in range(point.shape[0]):
            for a in range(point.shape[1]):
                total[a] += point[row, a]
    near, apart, stack = np.empty(k, np.int64), np.empty(k, np.float64), np.empty(len(left) + 2, np.int64)
    ranked, away, base = np.empty(count, np.int64), np.empty(count), total / count
    until, sorted_rows, looked = number + most, 0, 0
    while count >= 3 * k and number < until:
        middle = total / count
        if sorted_rows == 0 or looked > 8 * sorted_rows:
            base, looked = middle, 0
            sorted_rows = _by_distance(base, point, group, ranked, away)
        one, seen = _farthest_by_rank(middle, base, point, group, ranked, away, sorted_rows)
        looked += seen
        other = _farthest(point[one], point, group, order, start, stop, left, low, high, first, stack)
        for step in range(2):
            # Where the far row went with the first, as equal rows may, the farthest of those left takes its place.
            if step == 1 and group[other] >= 0:
                other = _farthest(point[one], point, group, order, start, stop, left, low, high, first, stack)
            seed = one if step == 0 else other
            _take_nearest(
                seed, k, number, total, near, apart, point, group, order, start, stop, left, parent, leaf, low, high,
                first, stack,
            )  # fmt: skip
            number += 1
            count -= k
    return count, number


@njit(cache=True, nogil=True)
def mdav_rest(point, k, group, order, start, stop, left, parent, leaf, low, high, first, total, count, number):
    """The last groups, of k to 2k - 1 rows; returns the number of all."""
    if count >= 2 * k:
        near, apart, stack = np.empty(k, np.int64), np.empty(k, np.float64), np.empty(len(left) + 2, np.int64)
        middle = total / count
        seed = _farthest(middle, point, group, order, start, stop, left, low, high, first, stack)
        _take_nearest(
            seed, k, number, total, near, apart, point, group, order, start, stop, left, parent, leaf, low, high, first,
            stack,
        )  # fmt: skip
        number += 1
        count -= k
    for row in range(len(group)):
        if group[row] < 0:
            group[row] = number
    return number + 1 if count else number


def warm():
    """Compile every kernel here."""
    point, group = np.zeros((1, 1)), np.full(1, -1, np.int64)
    order, start, stop, left, parent, leaf = (np.zeros(1, np.int64) for _ in range(6))
    boxes = grow_boxes(point, order, start, stop, left, parent, leaf)
    tree = (order, *(part[:boxes] for part in (start, stop, left, parent)), leaf)
    room = (np.empty((1, 1)), np.empty((1, 1)), np.empty(1, np.int64), np.zeros(1))
    mdav_groups(point, 1, group, *tree, *room, 1, 0, 0)
    mdav_rest(point, 1, group, *tree, *room, 1, 0)

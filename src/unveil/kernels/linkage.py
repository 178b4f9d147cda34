"""Nearest cells by branch and bound over a tree of boxes: exact, whatever the distances of the single axes are.

An axis is a line (`width` 0: every value an interval, nan = missing, infinite = anything), a table of distances
(`width` = its columns), or equality (`width` -1: 0 if the values' numbers are equal, else 1). The arrays of all axes
lie one behind the other, each from its offset.
"""

import numpy as np
from numba import njit

__all__ = ["grow_tree", "nearest_cells", "pair_distances", "warm"]

CLOSE = 1e-9  # sums of squares that differ by less are one distance
LEAF = 8  # cells that are compared one by one
SCAN = 16  # values of a table's axis among which a box looks for the nearest
MISSING = 1.0  # what a missing value costs


@njit(cache=True, nogil=True)
def _gap(low, high, first, last):
    """Squared gap of two intervals; a missing value is apart unless the other is missing or says nothing."""
    if np.isnan(low) or np.isnan(first):
        if np.isnan(low) and np.isnan(first):
            return 0.0
        if (low == -np.inf and high == np.inf) or (first == -np.inf and last == np.inf):
            return 0.0
        return MISSING
    gap = max(first - high, low - last, 0.0)
    return gap * gap


@njit(cache=True, nogil=True)
def grow_tree(cells, width, at_a, low_a, high_a, perm, begin, end, left, right, box_low, box_high):
    """Cut the cells (cells, axes) in two along the widest axis until few are left; returns the number of nodes.

    Written: `perm` (cells,) the cells in tree order; per node its part `begin` … `end` of it, its children (-1 = none),
    and its box, ends on a line, else the least and largest value number. A box with a missing value holds all.
    """
    axes = cells.shape[1]
    perm[:] = np.arange(cells.shape[0])
    begin[0], end[0], nodes, node = 0, cells.shape[0], 1, 0
    key = np.empty(cells.shape[0], np.float64)
    while node < nodes:
        first, last = begin[node], end[node]
        best, widest = -1, 0.0
        for axis in range(axes):
            low, high, least, most, odd = np.inf, -np.inf, np.inf, -np.inf, False
            for at in range(first, last):
                v = cells[perm[at], axis]
                if width[axis] != 0:
                    a, b = float(v), float(v)
                else:
                    a, b = low_a[at_a[axis] + v], high_a[at_a[axis] + v]
                if np.isnan(a):
                    a, b = -np.inf, np.inf
                low, high = min(low, a), max(high, b)
                if a > -np.inf and b < np.inf:
                    least, most = min(least, (a + b) / 2), max(most, (a + b) / 2)
                else:
                    odd = True
            box_low[node, axis], box_high[node, axis] = low, high
            spread = 0.0
            if most > least:
                spread = 1.0 if width[axis] != 0 else (most - least) ** 2
            if odd and most > -np.inf:
                spread = max(spread, MISSING)
            if spread > widest:
                best, widest = axis, spread
        left[node], right[node] = -1, -1
        if last - first > LEAF and best >= 0:
            part = key[: last - first]
            for at in range(first, last):
                v = cells[perm[at], best]
                if width[best] != 0:
                    part[at - first] = float(v)
                else:
                    a, b = low_a[at_a[best] + v], high_a[at_a[best] + v]
                    part[at - first] = (a + b) / 2 if np.isfinite(a) and np.isfinite(b) else 1e300
            order = np.argsort(part)
            # Equal keys stay together: the cut is where the key changes, as near the middle as there is one.
            half, cut = (last - first) // 2, -1
            for step in range(half + 1):
                for at in (half - step, half + step):
                    if 0 < at < last - first and part[order[at - 1]] < part[order[at]]:
                        cut = at
                        break
                if cut > 0:
                    break
            if cut > 0:
                perm[first:last] = perm[first:last][order]
                left[node], right[node] = nodes, nodes + 1
                begin[nodes], end[nodes] = first, first + cut
                begin[nodes + 1], end[nodes + 1] = first + cut, last
                nodes += 2
        node += 1
    return nodes


@njit(cache=True, nogil=True)
def _bound(person, node, width, at_b, at_t, low_b, high_b, table, box_low, box_high):
    """What a person (axes,) is at least from every cell of a box."""
    total = 0.0
    for axis in range(person.shape[0]):
        if width[axis] < 0:
            if person[axis] < box_low[node, axis] or person[axis] > box_high[node, axis]:
                total += 1.0
        elif width[axis] > 0:
            first, last = int(box_low[node, axis]), int(box_high[node, axis])
            if last - first < SCAN:
                line = at_t[axis] + person[axis] * width[axis]
                least = table[line + first]
                for value in range(first + 1, last + 1):
                    least = min(least, table[line + value])
                total += least
        else:
            b = at_b[axis] + person[axis]
            if not np.isnan(low_b[b]):
                gap = max(box_low[node, axis] - high_b[b], low_b[b] - box_high[node, axis], 0.0)
                # A box of a line may hold missing values only if it is infinite: then there is no gap.
                total += gap * gap
    return total


@njit(cache=True, nogil=True)
def nearest_cells(
    people, skip, width, at_b, at_a, at_t, low_b, high_b, low_a, high_a, table,
    cells, count, perm, begin, end, left, right, box_low, box_high, best, size, cell,
):  # fmt: skip
    """For each person (people, axes) the least distance, the rows at it, and the first such cell.

    `skip` (people,): a cell not to look at, or -1. `count` (cells,) rows. `best`, `size`, `cell` are written.
    """
    axes = people.shape[1]
    node_of, bound_of = np.empty(256, np.int64), np.empty(256, np.float64)
    for p in range(people.shape[0]):
        person = people[p]
        least, rows, where = np.inf, 0, -1
        node_of[0], bound_of[0], top = 0, 0.0, 1
        while top > 0:
            top -= 1
            node = node_of[top]
            if bound_of[top] > least + CLOSE:
                continue
            if left[node] >= 0:
                if top + 2 > node_of.shape[0]:
                    node_of, bound_of = _grown(node_of), _grown(bound_of)
                near, far = left[node], right[node]
                a = _bound(person, near, width, at_b, at_t, low_b, high_b, table, box_low, box_high)
                b = _bound(person, far, width, at_b, at_t, low_b, high_b, table, box_low, box_high)
                if b < a:
                    near, far, a, b = far, near, b, a
                if b <= least + CLOSE:
                    node_of[top], bound_of[top] = far, b
                    top += 1
                if a <= least + CLOSE:
                    node_of[top], bound_of[top] = near, a
                    top += 1
                continue
            for at in range(begin[node], end[node]):
                c = perm[at]
                total = 0.0
                for axis in range(axes):
                    if width[axis] < 0:
                        total += 0.0 if person[axis] == cells[c, axis] else 1.0
                    elif width[axis] > 0:
                        total += table[at_t[axis] + person[axis] * width[axis] + cells[c, axis]]
                    else:
                        b, a = at_b[axis] + person[axis], at_a[axis] + cells[c, axis]
                        total += _gap(low_b[b], high_b[b], low_a[a], high_a[a])
                    if total > least + CLOSE:
                        break
                if total > least + CLOSE or c == skip[p]:
                    continue
                if total < least - CLOSE:
                    least, rows, where = total, count[c], c
                else:
                    rows += count[c]
                    where = min(where, c)
                    least = min(least, total)
        best[p], size[p], cell[p] = least, rows, where


@njit(cache=True, nogil=True)
def _grown(array):
    longer = np.empty(2 * array.shape[0], array.dtype)
    longer[: array.shape[0]] = array
    return longer


@njit(cache=True, nogil=True)
def pair_distances(people, rows, width, at_b, at_a, at_t, low_b, high_b, low_a, high_a, table, distance):
    """The distance of each person (people, axes) to the row beside it, summed in the order of the search."""
    for p in range(people.shape[0]):
        total = 0.0
        for axis in range(people.shape[1]):
            if width[axis] < 0:
                total += 0.0 if people[p, axis] == rows[p, axis] else 1.0
            elif width[axis] > 0:
                total += table[at_t[axis] + people[p, axis] * width[axis] + rows[p, axis]]
            else:
                b, a = at_b[axis] + people[p, axis], at_a[axis] + rows[p, axis]
                total += _gap(low_b[b], high_b[b], low_a[a], high_a[a])
        distance[p] = total


def warm():
    """Compile every kernel here."""
    one, number, line, box = np.zeros((1, 1), np.int64), np.zeros(1, np.int64), np.zeros(1), np.zeros((1, 1))
    axes = (number, number, number, number, line, line, line, line, line)
    tree = tuple(number.copy() for _ in range(5))
    grow_tree(one, number, number, line, line, *tree, box, box.copy())
    nearest_cells(one, number - 1, *axes, one, number + 1, *tree, box, box.copy(), line.copy(), tree[0], tree[1])
    pair_distances(one, one, *axes, line.copy())

"""Which targets fit which cells: every attribute that is known must overlap.

The cells stand in a tree. A node says of each attribute which pieces of knowledge fit any of its cells, in one bit
each; a target passes by all nodes that cannot hold it. Disjoint cells cost a target a path, not a pass over all.
"""

import numpy as np
from numba import njit

__all__ = ["count_fits", "grow_cells", "list_fits", "warm"]

LEAF = 8  # cells


@njit(cache=True, nogil=True)
def grow_cells(cell, center, center_start, mask, mask_start, word_start, order, low, high, skip, node):
    """Put the cells into a tree; returns the number of its nodes, which stand in the order of a walk through it.

    `cell` (cells, attributes) int64: region numbers. `center[center_start[a] + r]` float64: where region r lies among
    what may be known of attribute a. `mask[mask_start[a] + r]`, and as many words behind it as the attribute has
    (`word_start[a]` to `word_start[a + 1]`): one bit for each thing that fits it. Written are `order` (cells,) int64,
    and of each node `low` and `high`, its span of it, `skip`, the node behind all that is in it, and `node`
    (nodes, words) uint64. Cost: cells · log² cells.
    """
    cells, attributes = cell.shape
    for i in range(cells):
        order[i] = i
    stack = np.empty((2 * cells + 2, 2), np.int64)
    owner = np.empty(2 * cells + 2, np.int64)
    stack[0, 0], stack[0, 1], owner[0] = 0, cells, -1
    waiting, nodes = 1, 0
    while waiting:
        waiting -= 1
        start, stop = stack[waiting]
        low[nodes], high[nodes], skip[nodes] = start, stop, -1
        node[nodes] = 0
        for i in range(start, stop):
            for a in range(attributes):
                at = mask_start[a] + cell[order[i], a] * (word_start[a + 1] - word_start[a])
                for w in range(word_start[a + 1] - word_start[a]):
                    node[nodes, word_start[a] + w] |= mask[at + w]
        cut = start
        if stop - start > LEAF:
            widest, most = -1, 0.0
            for a in range(attributes):
                total = square = 0.0
                for i in range(start, stop):
                    x = center[center_start[a] + cell[order[i], a]]
                    total += x
                    square += x * x
                spread = square / (stop - start) - (total / (stop - start)) ** 2
                if spread > most:
                    widest, most = a, spread
            if widest >= 0:
                value = np.empty(stop - start)
                for i in range(start, stop):
                    value[i - start] = center[center_start[widest] + cell[order[i], widest]]
                sorted_by = np.argsort(value, kind="mergesort")
                moved = np.empty(stop - start, np.int64)
                for i in range(stop - start):
                    moved[i] = order[start + sorted_by[i]]
                order[start:stop] = moved
                cut = _cut(value, sorted_by, (stop - start) // 2) + start
        if start < cut < stop:
            stack[waiting, 0], stack[waiting, 1] = cut, stop
            stack[waiting + 1, 0], stack[waiting + 1, 1] = start, cut
            waiting += 2
        nodes += 1
    # The node behind a span is the next one that does not lie in it.
    for i in range(nodes - 1, -1, -1):
        j = i + 1
        while j < nodes and low[j] >= low[i] and high[j] <= high[i]:
            j = skip[j]
        skip[i] = j
    return nodes


@njit(cache=True, nogil=True)
def _cut(value, sorted_by, middle):
    """The place nearest the middle at which the value changes; 0 if it never does."""
    count = len(value)
    for step in range(count):
        for at in (middle - step, middle + step):
            if 0 < at < count and value[sorted_by[at - 1]] < value[sorted_by[at]]:
                return at
    return 0


@njit(cache=True, nogil=True)
def count_fits(known, cell, fits, offset, width, bit, bit_start, order, low, high, skip, node):
    """(targets,) int64: how many cells each target fits.

    `known` (targets, attributes) int64 knowledge numbers. Whether knowledge k of attribute a overlaps region r is
    `fits[offset[a] + k * width[a] + r]` (uint8); its bit in the nodes is `bit[bit_start[a] + k]`.
    Cost: for each target the nodes that may hold it.
    """
    found = np.zeros(known.shape[0], np.int64)
    for t in range(known.shape[0]):
        n = 0
        while n < len(skip):
            if not _may_hold(known[t], bit, bit_start, node[n]):
                n = skip[n]
                continue
            if skip[n] == n + 1:
                for i in range(low[n], high[n]):
                    found[t] += _fits(known[t], cell[order[i]], fits, offset, width)
            n += 1
    return found


@njit(cache=True, nogil=True)
def list_fits(known, cell, fits, offset, width, bit, bit_start, order, low, high, skip, node, start, target, place):
    """Write the pairs that `count_fits` counted: `start` (targets + 1,), `target` and `place` (pairs,) int64."""
    for t in range(known.shape[0]):
        at, n = start[t], 0
        while n < len(skip) and at < start[t + 1]:
            if not _may_hold(known[t], bit, bit_start, node[n]):
                n = skip[n]
                continue
            if skip[n] == n + 1:
                for i in range(low[n], high[n]):
                    if _fits(known[t], cell[order[i]], fits, offset, width):
                        target[at] = t
                        place[at] = order[i]
                        at += 1
            n += 1


@njit(cache=True, nogil=True)
def _may_hold(known, bit, bit_start, node):
    for a in range(known.shape[0]):
        b = bit[bit_start[a] + known[a]]
        if not node[b >> 6] >> np.uint64(b & 63) & np.uint64(1):
            return False
    return True


@njit(cache=True, nogil=True)
def _fits(known, cell, fits, offset, width):
    for a in range(known.shape[0]):
        if not fits[offset[a] + known[a] * width[a] + cell[a]]:
            return False
    return True


def warm():
    """Compile every kernel here."""
    one, cell = np.array([0], np.int64), np.zeros((1, 1), np.int64)
    order, low, high, skip = (np.zeros(n, np.int64) for n in (1, 2, 2, 2))
    node = np.zeros((2, 1), np.uint64)
    words, full = np.array([0, 1], np.int64), np.ones(1, np.uint64)
    nodes = grow_cells(cell, np.zeros(1), one, full, one, words, order, low, high, skip, node)
    tree = (order, low[:nodes], high[:nodes], skip[:nodes], node[:nodes])
    arguments = (cell, cell, np.ones(1, np.uint8), one, one + 1, one, one, *tree)
    count_fits(*arguments)
    list_fits(*arguments, np.array([0, 1], np.int64), np.empty(1, np.int64), np.empty(1, np.int64))

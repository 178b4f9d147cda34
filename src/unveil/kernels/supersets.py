"""Natural supersets of groups over a lattice of cell widths, for (n,t)-closeness."""

import numpy as np
from numba import njit

from unveil.kernels.random import draw

__all__ = ["large_supersets", "warm"]


@njit(cache=True, nogil=True)
def large_supersets(ladder, node, chosen, size, histogram, n, pair_group, pair_histogram):
    """The supersets of at least `n` people of the chosen groups; returns how many (group, superset) pairs were found.

    `ladder` (cells, groups) int64: what a group shows, by attribute and width. `node` (nodes, attributes) int64: for
    each choice of widths the rows of `ladder`. A superset is all groups that show the same in these rows. `chosen`
    (c,) int64, `size` (groups,) and `histogram` (groups, values) int64. The pairs go to `pair_group` (c·nodes,) as
    positions in `chosen` and `pair_histogram` (c·nodes, values).
    Cost: nodes · groups · attributes in which a node differs from the one before (few where the last vary first); a
    hash finds the superset, every match is compared in full.
    """
    groups, attributes, values = size.shape[0], node.shape[1], histogram.shape[1]
    slots = 4
    while slots < 8 * chosen.shape[0]:
        slots *= 2
    slot = np.empty(slots, np.int64)  # the superset in this slot, -1 = free
    first = np.empty(chosen.shape[0], np.int64)  # a group of each superset
    total = np.empty(chosen.shape[0], np.int64)
    counts = np.empty((chosen.shape[0], values), np.int64)
    superset_of = np.empty(chosen.shape[0], np.int64)
    hashed = np.empty(ladder.shape, np.uint64)
    for row in range(ladder.shape[0]):
        for g in range(groups):
            hashed[row, g] = draw(np.uint64(row), np.uint64(ladder[row, g]))
    partial = np.zeros((attributes + 1, groups), np.uint64)  # the key so far, by attributes gone through
    key = partial[attributes]
    pairs = 0
    for k in range(node.shape[0]):
        begin = 0
        while k > 0 and begin < attributes and node[k, begin] == node[k - 1, begin]:
            begin += 1
        for a in range(begin, attributes):
            for g in range(groups):
                partial[a + 1, g] = partial[a, g] + hashed[node[k, a], g]
        slot[:] = -1
        found = 0
        for c in range(chosen.shape[0]):
            place = _find(ladder, node[k], chosen[c], key[chosen[c]], slot, first)
            if slot[place] < 0:
                slot[place] = found
                first[found] = chosen[c]
                total[found] = 0
                for v in range(values):
                    counts[found, v] = 0
                found += 1
            superset_of[c] = slot[place]
        for g in range(groups):
            superset = slot[_find(ladder, node[k], g, key[g], slot, first)]
            if superset >= 0:
                total[superset] += size[g]
                for v in range(values):
                    counts[superset, v] += histogram[g, v]
        for c in range(chosen.shape[0]):
            if total[superset_of[c]] >= n:
                pair_group[pairs] = c
                for v in range(values):
                    pair_histogram[pairs, v] = counts[superset_of[c], v]
                pairs += 1
    return pairs


@njit(cache=True, nogil=True)
def _find(ladder, rows, g, key, slot, first):
    """The slot of the superset that group `g` belongs to, or the free slot where it would go."""
    place = np.int64(key & np.uint64(slot.shape[0] - 1))
    while slot[place] >= 0:
        other = first[slot[place]]
        same = True
        for a in range(rows.shape[0]):
            if ladder[rows[a], g] != ladder[rows[a], other]:
                same = False
                break
        if same:
            return place
        place = (place + 1) & (slot.shape[0] - 1)
    return place


def warm():
    """Compile every kernel here."""
    ladder = np.array([[0, 1, 1], [0, 0, 0]], np.int64)
    node = np.array([[0], [1]], np.int64)
    counts = np.ones((3, 2), np.int64)
    chosen = np.array([0, 1], np.int64)
    large_supersets(
        ladder, node, chosen, counts.sum(axis=1), counts, 3, np.empty(4, np.int64), np.empty((4, 2), np.int64)
    )

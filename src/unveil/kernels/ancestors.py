"""Natural supersets in Mondrian's tree, for (n, t)-closeness: a node's ancestors that have enough rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unveil.kernels.axes import Counts, Ints, Space
from unveil.kernels.cells import MASK, SHIFT, WORD

__all__ = ["AncestorPairs", "Ancestors", "count_nodes", "pair_supersets"]


@dataclass(frozen=True, slots=True)
class AncestorPairs:
    """Natural supersets of candidates, for (n, t)-closeness: all tree ancestors that have enough rows."""

    child: NDArray[np.int32]  # (pairs,) row of the candidates, ascending
    ancestor: NDArray[np.intp]  # (pairs,) row of the arrays below
    size: Counts  # (ancestors,)
    histograms: tuple[Counts, ...]  # per sensitive attribute: (ancestors, values)


@dataclass(slots=True)
class Ancestors:
    """Histograms of all nodes large enough to be a superset."""

    space: Space
    enough: int
    histograms: list[Counts]  # per sensitive attribute: (capacity, values)
    size: Counts = field(default_factory=lambda: np.empty(0, np.int64))
    parent: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    depth: Ints = field(default_factory=lambda: np.empty(0, np.int32))  # ancestors in the chain, itself included

    def enter(self, start: Ints, stop: Ints, size: Counts, nearest: Ints) -> None:
        """Keep the histograms of those nodes that are large enough; ``nearest`` of these becomes the node itself."""
        new = np.flatnonzero(size >= self.enough)
        if not len(new):
            return
        known, count = len(self.size), len(self.size) + len(new)
        for s, (kept, place) in enumerate(zip(self.histograms, self.space.sensitive, strict=True)):
            if count > len(kept):
                room = np.zeros((max(count, 2 * len(kept)), kept.shape[1]), np.int64)
                room[:known] = kept[:known]
                self.histograms[s] = room
            out = self.histograms[s][known:count]
            count_nodes(self.space.packed, self.space.weight, place, start[new], stop[new], out)
        above = nearest[new]
        deeper = np.where(above >= 0, self.depth[above], 0) if known else np.zeros(len(new), np.int32)
        self.size = np.concatenate([self.size, size[new]])
        self.parent = np.concatenate([self.parent, above])
        self.depth = np.concatenate([self.depth, (deeper + 1).astype(np.int32)])
        nearest[new] = np.arange(known, count, dtype=np.int32)

    def chain(self, nearest: Ints) -> NDArray[np.int64]:
        """How many supersets a child of each node has."""
        if not len(self.size):
            return np.zeros(len(nearest), np.int64)
        return np.where(nearest >= 0, self.depth[nearest], 0).astype(np.int64)

    def of(self, node: NDArray[np.intp], nearest: Ints) -> AncestorPairs:
        """The supersets of children whose parents are the nodes ``node`` of the front."""
        pair_child = np.empty(int(self.chain(nearest[node]).sum()), np.int32)
        pair_ancestor = np.empty(len(pair_child), np.int32)
        pairs = pair_supersets(node, nearest, self.parent, pair_child, pair_ancestor)
        used, ancestor = np.unique(pair_ancestor[:pairs], return_inverse=True)
        histograms = tuple(kept[used] for kept in self.histograms)
        return AncestorPairs(pair_child[:pairs], ancestor, self.size[used], histograms)


@njit(cache=True, nogil=True)
def count_nodes(packed, weight, field, start, stop, out):
    """Add the histogram of the field's values in each node to its row of ``out``."""
    value_shift = np.uint64(field[SHIFT])
    value_mask = np.uint64(field[MASK])
    heavy_shift = np.uint64(weight[SHIFT])
    heavy_mask = np.uint64(weight[MASK])
    for i in range(start.shape[0]):
        values = packed[field[WORD], start[i] : stop[i]]
        heavy = packed[weight[WORD], start[i] : stop[i]]
        for r in range(values.shape[0]):
            value = np.int64((values[r] >> value_shift) & value_mask)
            out[i, value] += np.int64((heavy[r] >> heavy_shift) & heavy_mask) + 1


@njit(cache=True, nogil=True)
def pair_supersets(node, nearest, parent, pair_child, pair_ancestor):
    """Pair each child with its node's chain of ancestors; returns the pairs. What a large child needs, models say.

    ``nearest`` (nodes,) is the first ancestor of the chain, ``parent`` (ancestors,) the next one, -1 the end.
    """
    pairs = 0
    for c in range(node.shape[0]):
        ancestor = nearest[node[c]]
        while ancestor >= 0:
            pair_child[pairs] = c
            pair_ancestor[pairs] = ancestor
            pairs += 1
            ancestor = parent[ancestor]
    return pairs

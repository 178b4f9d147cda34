"""Posterior of one distribution seen through sets of values, its shares summed out: which value each row has, in turn.

Where rows are fewer than pseudo-counts this is far quicker than drawing the shares: a row's chances given where the
others are hardly move, and they alone are averaged.
"""

import numpy as np
from numba import njit

from unveil.kernels.random import uniform

__all__ = ["allot_chain", "warm"]

_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def allot_chain(prior, start, atom, count, held, draws, key, counter, total_share, total_ratio):
    """Batches of Gibbs sweeps; returns the counter reached.

    `prior` (atoms,), the atoms of set i are `atom[start[i]:start[i + 1]]` (int64), `count[i]` (int64) rows show it.
    `held` (rows,) int64 says where in `atom` the atom of each row stands, set by set; it changes in place. Given the
    others, a row has an atom of its set in proportion to prior + rows that have it (a Dirichlet's shares summed out).
    Each of the `draws` of a batch adds to its row of `total_share` (batches, atoms) the shares expected given these
    chances, and to its row of `total_ratio` (batches, atom) the chances themselves, which are each atom's part of its
    set (Rao-Blackwell: Gelfand and Smith 1990). Cost of a draw: the sizes of the rows' sets.
    """
    atoms, widest, rows = prior.shape[0], 1, 0
    for i in range(count.shape[0]):
        widest = max(widest, start[i + 1] - start[i])
        rows += count[i]
    noted, expected, below = np.zeros(atoms, np.int64), np.empty(atoms), np.empty(widest)
    whole = np.float64(rows)
    for a in range(atoms):
        whole += prior[a]
    for row in range(rows):
        noted[atom[held[row]]] += 1
    for draw in range(draws * total_share.shape[0]):
        batch = draw // draws
        ratio = total_ratio[batch]
        for a in range(atoms):
            expected[a] = prior[a]
        row = 0
        for i in range(count.shape[0]):
            first, size = start[i], start[i + 1] - start[i]
            for _ in range(count[i]):
                noted[atom[held[row]]] -= 1
                total = 0.0
                for j in range(size):
                    a = atom[first + j]
                    total += prior[a] + noted[a]
                    below[j] = total
                wanted = uniform(key, counter) * total
                counter += _ONE
                chosen, last = 0, 0.0
                part, each = 1.0 / total, 1.0 / (total * count[i])
                for j in range(size):
                    chosen += np.int64(below[j] <= wanted)
                    expected[atom[first + j]] += (below[j] - last) * part
                    ratio[first + j] += (below[j] - last) * each
                    last = below[j]
                held[row] = first + min(chosen, size - 1)
                noted[atom[held[row]]] += 1
                row += 1
        for a in range(atoms):
            total_share[batch, a] += expected[a] / whole
    return counter


def warm():
    """Compile every kernel here."""
    sets = np.array([0, 2, 4], np.int64), np.array([0, 1, 1, 2], np.int64), np.array([2, 1], np.int64)
    held, numbers = np.array([0, 1, 2], np.int64), (np.uint64(1), np.uint64(0))
    allot_chain(np.ones(3), *sets, held, 1, *numbers, np.zeros((1, 3)), np.zeros((1, 4)))

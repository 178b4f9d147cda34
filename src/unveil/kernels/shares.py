"""Posterior of one distribution seen only through plain or weighted sets of values: Dirichlet prior, counts of sets."""

import numpy as np
from numba import njit

from unveil.kernels.distributions import binomial
from unveil.kernels.random import uniform

__all__ = ["expected_counts", "share_chain", "warm"]

_ONE = np.uint64(1)
_FEW = 12  # rows that are dearer to draw at once than one by one
_REACH = 3.5  # how far a path goes, in standard deviations: half a turn is the furthest from where it began
_ROWS_OF_ATOM = 8  # with more rows an atom, a draw of all their atoms costs more noise and time than it saves


@njit(cache=True, nogil=True)
def _weight(weight, j):
    # Plain sets have no weights: with None this is compiled away.
    if weight is None:
        return 1.0
    return weight[j]


@njit(cache=True, nogil=True)
def _add_up(size, atoms, leaf, parent):
    # Sums that several sets share: each is an earlier one and one more atom.
    for e in range(leaf.shape[0]):
        size[atoms + e] = size[parent[e]] + size[leaf[e]]


@njit(cache=True, nogil=True)
def _hand_down(slope, atoms, leaf, parent):
    # The other way round: what was noted of a sum holds for everything in it.
    for e in range(leaf.shape[0] - 1, -1, -1):
        slope[parent[e]] += slope[atoms + e]
        slope[leaf[e]] += slope[atoms + e]


@njit(cache=True, nogil=True, inline="always")
def _inside(i, start, piece, weight, size):
    # The share of the i-th set.
    whole = 0.0
    for j in range(start[i], start[i + 1]):
        whole += _weight(weight, j) * size[piece[j]]
    return whole


@njit(cache=True, nogil=True, inline="always")
def _note(i, each, start, piece, weight, slope):
    for j in range(start[i], start[i + 1]):
        slope[piece[j]] += _weight(weight, j) * each


@njit(cache=True, nogil=True)
def expected_counts(prior, weight, count, sums, rounds):
    """(atoms,) how the counts of the sets spread over their atoms at the mode, by `rounds` of EM; see share_chain."""
    start, piece, leaf, parent = sums
    atoms = prior.shape[0]
    size, slope, spread = np.empty(atoms + leaf.shape[0]), np.empty(atoms + leaf.shape[0]), np.zeros(atoms)
    total = 0.0
    for a in range(atoms):
        total += prior[a]
    for a in range(atoms):
        size[a] = prior[a] / total
    for _ in range(rounds):
        for e in range(slope.shape[0]):
            slope[e] = 0.0
        _add_up(size, atoms, leaf, parent)
        for i in range(count.shape[0]):
            _note(i, count[i] / _inside(i, start, piece, weight, size), start, piece, weight, slope)
        _hand_down(slope, atoms, leaf, parent)
        total = 0.0
        for a in range(atoms):
            spread[a] = size[a] * slope[a]
            size[a] = prior[a] + spread[a]
            total += size[a]
        for a in range(atoms):
            size[a] /= total
    return spread


@njit(cache=True, nogil=True)
def _slope(x, prior, weight, count, sums, size, slope, levelled):
    """Log density at x and its slope. x is the logarithm of independent gamma variables whose shares are asked for.

    Only `levelled` is the density itself worked out, whose logarithms cost most; else 0 stands for any that is not 0.
    """
    start, piece, leaf, parent = sums
    atoms = prior.shape[0]
    whole, n, level = 0.0, 0.0, 0.0
    for a in range(atoms):
        size[a] = np.exp(x[a])
        whole += size[a]
    for e in range(slope.shape[0]):
        slope[e] = 0.0
    _add_up(size, atoms, leaf, parent)
    for i in range(count.shape[0]):
        inside = _inside(i, start, piece, weight, size)
        if not inside > 0.0:
            return -np.inf
        n += count[i]
        if levelled:
            level += count[i] * np.log(inside)
        _note(i, count[i] / inside, start, piece, weight, slope)
    if not whole < np.inf:
        return -np.inf
    _hand_down(slope, atoms, leaf, parent)
    for a in range(atoms):
        slope[a] = prior[a] + size[a] * (slope[a] - n / whole - 1.0)
    if levelled:
        level -= n * np.log(whole) + whole
        for a in range(atoms):
            level += prior[a] * x[a]
    return level


@njit(cache=True, nogil=True)
def _some_of(n, part, whole, key, counter):
    """How many of n rows fall into a part of the whole."""
    if n > _FEW:
        return binomial(n, part / whole if part < whole else 1.0, key, counter)
    drawn = 0
    for _ in range(n):
        drawn += uniform(key, counter) * whole < part
        counter += _ONE
    return drawn, counter


@njit(cache=True, nogil=True)
def _allot(size, count, sums, key, counter, prior, noted, out):
    """Fill `out` (atoms,) with the prior and one draw of how many rows of all sets have each atom.

    First by piece, then from each sum to its atom and the rest of it, for the rows of all sets together.
    """
    start, piece, leaf, parent = sums
    atoms = prior.shape[0]
    for e in range(noted.shape[0]):
        noted[e] = 0
    for i in range(count.shape[0]):
        last = start[i + 1] - 1
        n, left = count[i], 0.0
        for j in range(start[i], last + 1):
            left += size[piece[j]]
        for j in range(start[i], last):
            if n == 0:
                break
            drawn, counter = _some_of(n, size[piece[j]], left, key, counter)
            noted[piece[j]] += drawn
            n -= drawn
            left -= size[piece[j]]
        noted[piece[last]] += n
    for e in range(leaf.shape[0] - 1, -1, -1):
        n = noted[atoms + e]
        drawn, counter = _some_of(n, size[leaf[e]], size[atoms + e], key, counter)
        noted[leaf[e]] += drawn
        noted[parent[e]] += n - drawn
    for a in range(atoms):
        out[a] = prior[a] + noted[a]
    return counter


@njit(cache=True, nogil=True)
def _across(root, vector, out):
    # root · vector; a root of one column stands for a diagonal. Row by row, so that the compiler can add side by side.
    atoms = vector.shape[0]
    if root.shape[1] < atoms:
        for a in range(atoms):
            out[a] = root[a, 0] * vector[a]
        return
    for a in range(atoms):
        out[a] = 0.0
    for b in range(atoms):
        row, each = root[b], vector[b]
        for a in range(atoms):
            out[a] += row[a] * each


@njit(cache=True, nogil=True)
def share_chain(
    prior, start, atom, weight, count, sums, root, x, step, steps, adapt, draws, key, counter, total_share, total_ratio,
    control,
):  # fmt: skip
    """Batches of draws by Hamiltonian Monte Carlo (Neal 2011); returns step length, accepted share and counter reached.

    The density of the shares is prod share^(prior - 1) · prod over sets of share(set)^count, where share(set) is the
    sum over its atoms of weight · share. `prior` (atoms,); the atoms of set i are `atom[start[i]:start[i + 1]]`
    (int64) with the `weight` beside them (None: all 1), its count `count[i]` (int64). `sums`, for plain sets, says how
    to add them up in fewer steps: (start, piece, leaf, parent), where the pieces of a set are atoms or, numbered after
    these, sums of an earlier piece (its parent) and an atom (its leaf); with weights the pieces are the atoms.
    `root` is a square root of about the covariance of x: symmetric (atoms, atoms), or (atoms, 1) of a diagonal.
    `x` (atoms,) is the state and changes in place. With `adapt` the step length moves towards 80% acceptance (for
    burn-in only). Each of the `draws` of a batch adds to its row of `total_share` (batches, atoms) the shares expected
    given how the rows divide among the atoms of their sets in expectation (Rao-Blackwell), and to its row of
    `total_ratio` (batches, atom) each atom's part of its set, weight · share / share(set); with few rows and without
    weights its mean given one draw of the rows' atoms.
    `control` (centre, total, gram, cross): where `total` (batches, 2 · atoms) has columns, functions whose means are
    known to be 0 are added to it, the slope in steps of the root and of each atom (x - centre) · slope + 1; to `gram`
    and `cross` their products with each other (below the diagonal) and with the shares.
    Cost of a draw: up to `steps` passes over the sets' pieces and the root, and one over their atoms.
    """
    atoms, nodes = prior.shape[0], sums[2].shape[0]
    size, slope, kept = np.empty(atoms + nodes), np.empty(atoms + nodes), np.empty(atoms + nodes)
    moved, push, shift, force, other = (
        np.empty(atoms),
        np.empty(atoms),
        np.empty(atoms),
        np.empty(atoms),
        np.empty(atoms),
    )
    allotted, noted, expected = np.empty(atoms), np.empty(atoms + nodes, np.int64), np.empty(atoms)
    centre, total_zero, gram, cross = control
    zero = np.zeros(total_zero.shape[1])
    rows = 0
    for i in range(count.shape[0]):
        rows += count[i]
    few = weight is None and rows <= _ROWS_OF_ATOM * atoms
    level = _slope(x, prior, weight, count, sums, size, slope, atoms > 0)  # True would be a type of its own
    _across(root, slope[:atoms], force)
    _expect(size, slope, rows, expected)
    _vanish(x, centre, slope, force, zero)
    kept[:] = size
    accepted = 0
    for draw in range(draws * total_share.shape[0]):
        batch = draw // draws
        energy = level
        for a in range(atoms):
            u = 1.0 - uniform(key, counter)
            v = uniform(key, counter + _ONE)
            counter += _ONE + _ONE
            push[a] = np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * np.pi * v)
            energy -= 0.5 * push[a] * push[a]
            moved[a] = x[a]
            other[a] = force[a]
        # Jittered lengths: a path that closes on itself would not explore.
        most = min(steps, max(3, np.int64(np.ceil(_REACH / step))))
        length = most // 4 + 1 + np.int64(uniform(key, counter) * (most - most // 4))
        stride = step * (0.8 + 0.4 * uniform(key, counter + _ONE))
        counter += _ONE + _ONE
        reached = level
        for at in range(length):
            for a in range(atoms):
                push[a] += 0.5 * stride * other[a]
            _across(root, push, shift)
            for a in range(atoms):
                moved[a] += stride * shift[a]
            reached = _slope(moved, prior, weight, count, sums, size, slope, at == length - 1)
            if not reached > -np.inf:
                break
            _across(root, slope[:atoms], other)
            for a in range(atoms):
                push[a] += 0.5 * stride * other[a]
        gain = -np.inf
        if reached > -np.inf:
            gain = reached - energy
            for a in range(atoms):
                gain -= 0.5 * push[a] * push[a]
        take = np.log(1.0 - uniform(key, counter)) < gain
        counter += _ONE
        if take:
            accepted += 1
            level = reached
            for a in range(atoms):
                x[a] = moved[a]
                force[a] = other[a]
            _expect(size, slope, rows, expected)
            _vanish(x, centre, slope, force, zero)
            kept[:] = size
        if adapt:
            chance = np.exp(min(gain, 0.0)) if gain > -np.inf else 0.0
            step *= np.exp((chance - 0.8) / np.sqrt(1.0 + draw / 4.0) * 0.5)
            step = min(max(step, 1e-4), 2.0)
        for a in range(atoms):
            total_share[batch, a] += expected[a]
        for i in range(zero.shape[0]):
            each, beside, shares = zero[i], gram[i], cross[i]
            total_zero[batch, i] += each
            for j in range(i + 1):
                beside[j] += each * zero[j]
            for a in range(atoms):
                shares[a] += each * expected[a]
        if few:
            # Given which atom each row has, the shares are Dirichlet and their means are known: less noise than x.
            counter = _allot(kept, count, sums, key, counter, prior, noted, allotted)
            size[:atoms] = allotted
            _add_up(size, atoms, sums[2], sums[3])
        else:
            size[:] = kept
        for i in range(count.shape[0]):
            inside = 0.0
            for j in range(sums[0][i], sums[0][i + 1]):
                inside += _weight(weight, j) * size[sums[1][j]]
            _add_parts(size, atom, weight, start[i], start[i + 1], 1.0 / inside, total_ratio[batch])
    return step, accepted / max(draws * total_share.shape[0], 1), counter


@njit(cache=True, nogil=True)
def _expect(size, slope, rows, out):
    """Fill `out` (atoms,) with shares given the expected number of rows of each atom, which the slope holds."""
    atoms = out.shape[0]
    whole, total = 0.0, 0.0
    for a in range(atoms):
        whole += size[a]
    for a in range(atoms):
        out[a] = slope[a] + size[a] * (rows / whole + 1.0)
        total += out[a]
    for a in range(atoms):
        out[a] /= total


@njit(cache=True, nogil=True)
def _vanish(x, centre, slope, force, out):
    """Fill `out` (2 · atoms, or nothing) with functions of the state whose means over the density are 0."""
    atoms = x.shape[0]
    for i in range(out.shape[0]):
        if i < atoms:
            out[i] = force[i]
        else:
            a = i - atoms
            out[i] = (x[a] - centre[a]) * slope[a] + 1.0


@njit(cache=True, nogil=True)
def _add_parts(size, atom, weight, begin, end, each, total_ratio):
    """Add to the parts of one set's atoms."""
    if weight is None and end - begin > 8 and atom[end - 1] - atom[begin] == end - begin - 1:  # neighbours
        ratio, near = total_ratio[begin:end], size[atom[begin] : atom[end - 1] + 1]
        for j in range(end - begin):
            ratio[j] += near[j] * each
        return
    for j in range(begin, end):
        total_ratio[j] += _weight(weight, j) * size[atom[j]] * each


def warm():
    """Compile every kernel here."""
    members, count = (np.array([0, 2, 4], np.int64), np.array([0, 1, 1, 2], np.int64)), np.array([3, 2], np.int64)
    sums = *members, np.zeros(0, np.int64), np.zeros(0, np.int64)
    control = np.zeros(3), np.zeros((1, 6)), np.zeros((6, 6)), np.zeros((6, 3))
    rest = 0.1, 2, True, 1, np.uint64(1), np.uint64(0), np.zeros((1, 3)), np.zeros((1, 4)), control
    for weight in (None, np.ones(4)):
        expected_counts(np.ones(3), weight, count, sums, 1)
        share_chain(np.ones(3), *members, weight, count, sums, np.ones((3, 1)), np.zeros(3), *rest)

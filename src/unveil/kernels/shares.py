"""Posterior of one distribution seen only through plain or weighted sets of values: Dirichlet prior, counts of sets."""

import numpy as np
from numba import njit

from unveil.kernels.distributions import binomial
from unveil.kernels.random import uniform

__all__ = ["expected_counts", "share_chain", "warm"]

_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _weight(weight, j):
    # Plain sets have no weights: with None this is compiled away.
    if weight is None:
        return 1.0
    return weight[j]


@njit(cache=True, nogil=True)
def expected_counts(prior, start, atom, weight, count, rounds):
    """(atoms,) how the counts of the sets spread over their atoms at the mode, by `rounds` of EM."""
    atoms = prior.shape[0]
    share = prior / prior.sum()
    spread = np.zeros(atoms)
    for _ in range(rounds):
        spread[:] = 0.0
        for i in range(count.shape[0]):
            whole = 0.0
            for j in range(start[i], start[i + 1]):
                whole += _weight(weight, j) * share[atom[j]]
            for j in range(start[i], start[i + 1]):
                spread[atom[j]] += count[i] * _weight(weight, j) * share[atom[j]] / whole
        total = 0.0
        for a in range(atoms):
            share[a] = prior[a] + spread[a]
            total += share[a]
        for a in range(atoms):
            share[a] /= total
    return spread


@njit(cache=True, nogil=True)
def _slope(x, prior, start, atom, weight, count, size, slope):
    """Log density at x and its slope. x is the logarithm of independent gamma variables whose shares are asked for."""
    atoms = prior.shape[0]
    whole, n, level = 0.0, 0.0, 0.0
    for a in range(atoms):
        size[a] = np.exp(x[a])
        whole += size[a]
        slope[a] = 0.0
    for i in range(count.shape[0]):
        inside = 0.0
        for j in range(start[i], start[i + 1]):
            inside += _weight(weight, j) * size[atom[j]]
        if not inside > 0.0:
            return -np.inf
        each = count[i] / inside
        n += count[i]
        level += count[i] * np.log(inside)
        for j in range(start[i], start[i + 1]):
            slope[atom[j]] += _weight(weight, j) * each
    if not whole < np.inf:
        return -np.inf
    level -= n * np.log(whole) + whole
    for a in range(atoms):
        slope[a] = prior[a] + size[a] * (slope[a] - n / whole - 1.0)
        level += prior[a] * x[a]
    return level


@njit(cache=True, nogil=True)
def _allot(size, start, atom, count, key, counter, prior, out):
    """Fill `out` (atoms,) with the prior and one draw of how many rows of all sets have each atom."""
    for a in range(prior.shape[0]):
        out[a] = prior[a]
    for i in range(count.shape[0]):
        begin, end = start[i], start[i + 1]
        left = 0.0
        for j in range(begin, end):
            left += size[atom[j]]
        n = count[i]
        if n <= end - begin and end - begin > 1:  # few rows: one by one
            for _ in range(n):
                at = uniform(key, counter) * left
                counter += _ONE
                j = begin
                while j < end - 1 and at >= size[atom[j]]:
                    at -= size[atom[j]]
                    j += 1
                out[atom[j]] += 1.0
            continue
        for j in range(begin, end - 1):
            if n == 0:
                break
            share = size[atom[j]] / left if left > 0.0 else 1.0
            drawn, counter = binomial(n, min(share, 1.0), key, counter)
            out[atom[j]] += drawn
            n -= drawn
            left -= size[atom[j]]
        out[atom[end - 1]] += n
    return counter


@njit(cache=True, nogil=True)
def share_chain(
    prior, start, atom, weight, count, mass, x, step, steps, adapt, draws, key, counter, total_share, total_ratio
):
    """Hamiltonian Monte Carlo (Neal 2011); returns the step length, the accepted share and the counter reached.

    The density of the shares is prod share^(prior - 1) · prod over sets of share(set)^count, where share(set) is the
    sum over its atoms of weight · share. `prior`, `mass` (atoms,); the atoms of set i are `atom[start[i]:start[i + 1]]`
    (int64) with the `weight` beside them (None: all 1), its count `count[i]` (int64). `x` (atoms,) is the state
    and changes in place. With `adapt` the step length moves towards 80% acceptance (for burn-in only). Each draw adds
    to `total_share` (atoms,) the shares and to `total_ratio` (atom,) each atom's part of its set, weight · share /
    share(set); without weights their means given one draw of the rows' atoms (Rao-Blackwell).
    Cost of a draw: up to `steps` passes over the sets' atoms.
    """
    atoms = prior.shape[0]
    size, slope, other = np.empty(atoms), np.empty(atoms), np.empty(atoms)
    moved, push, allotted = np.empty(atoms), np.empty(atoms), np.empty(atoms)
    level = _slope(x, prior, start, atom, weight, count, size, slope)
    accepted = 0
    for draw in range(draws):
        energy = level
        for a in range(atoms):
            u = 1.0 - uniform(key, counter)
            v = uniform(key, counter + _ONE)
            counter += _ONE + _ONE
            push[a] = np.sqrt(-2.0 * np.log(u) * mass[a]) * np.cos(2.0 * np.pi * v)
            energy -= 0.5 * push[a] * push[a] / mass[a]
            moved[a] = x[a]
            other[a] = slope[a]
        # Jittered lengths: a path that closes on itself would not explore.
        length = 1 + np.int64(uniform(key, counter) * steps)
        stride = step * (0.8 + 0.4 * uniform(key, counter + _ONE))
        counter += _ONE + _ONE
        reached = level
        for _ in range(length):
            for a in range(atoms):
                push[a] += 0.5 * stride * other[a]
                moved[a] += stride * push[a] / mass[a]
            reached = _slope(moved, prior, start, atom, weight, count, size, other)
            if not reached > -np.inf:
                break
            for a in range(atoms):
                push[a] += 0.5 * stride * other[a]
        gain = -np.inf
        if reached > -np.inf:
            gain = reached - energy
            for a in range(atoms):
                gain -= 0.5 * push[a] * push[a] / mass[a]
        take = np.log(1.0 - uniform(key, counter)) < gain
        counter += _ONE
        if take:
            accepted += 1
            level = reached
            for a in range(atoms):
                x[a] = moved[a]
                slope[a] = other[a]
        if adapt:
            chance = np.exp(min(gain, 0.0)) if gain > -np.inf else 0.0
            step *= np.exp((chance - 0.8) / np.sqrt(1.0 + draw / 4.0) * 0.5)
            step = min(max(step, 1e-4), 2.0)
        whole = 0.0
        for a in range(atoms):
            size[a] = np.exp(x[a])
            whole += size[a]
        if weight is None:
            # Given which atom each row has, the shares are Dirichlet and their means are known: less noise than x.
            counter = _allot(size, start, atom, count, key, counter, prior, allotted)
            whole = 0.0
            for a in range(atoms):
                size[a] = allotted[a]
                whole += size[a]
        for a in range(atoms):
            total_share[a] += size[a] / whole
        for i in range(count.shape[0]):
            inside = 0.0
            for j in range(start[i], start[i + 1]):
                inside += _weight(weight, j) * size[atom[j]]
            for j in range(start[i], start[i + 1]):
                total_ratio[j] += _weight(weight, j) * size[atom[j]] / inside
    return step, accepted / max(draws, 1), counter


def warm():
    """Compile every kernel here."""
    members, count = (np.array([0, 2, 4], np.int64), np.array([0, 1, 1, 2], np.int64)), np.array([3, 2], np.int64)
    rest = 0.1, 2, True, 1, np.uint64(1), np.uint64(0), np.zeros(3), np.zeros(4)
    for weight in (None, np.ones(4)):
        expected_counts(np.ones(3), *members, weight, count, 1)
        share_chain(np.ones(3), *members, weight, count, np.ones(3), np.zeros(3), *rest)

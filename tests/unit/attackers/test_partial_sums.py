"""Sets of atoms as sums that several of them share, against the sets themselves and against enumeration."""

from collections.abc import Callable
from functools import cache
from itertools import product
from math import lgamma

import numpy as np
import pytest

from unveil.attackers.posterior.partial_sums import PartialSums, _by_runs, _by_subsets
from unveil.kernels import shares

Sets = list[list[int]]
WAYS: dict[str, Callable[[np.ndarray, np.ndarray, int], PartialSums]] = {
    "plain": lambda start, atom, atoms: PartialSums.plain(start, atom),
    "runs": _by_runs,
    "subsets of 2": lambda start, atom, atoms: _by_subsets(start, atom, atoms, 2),
    "subsets of 9": lambda start, atom, atoms: _by_subsets(start, atom, atoms, 9),
}


def arrays(sets: Sets) -> tuple[np.ndarray, np.ndarray]:
    start = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64)
    return start, np.array([a for s in sets for a in s], dtype=np.int64)


def written_out(sums: PartialSums, atoms: int) -> Sets:
    """Every set's atoms, with repetition if there is any, each sum made of what comes before it."""
    held = [[a] for a in range(atoms)]
    for leaf, parent in zip(sums.leaf.tolist(), sums.parent.tolist(), strict=True):
        held.append([*held[parent], leaf])
    pieces = np.split(sums.piece, sums.start[1:-1])
    return [sorted(a for p in piece.tolist() for a in held[p]) for piece in pieces]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("atoms", [1, 2, 5, 8, 9, 33])
def test_every_way_gives_the_sets_back(way: str, atoms: int) -> None:
    random = np.random.default_rng(atoms)
    intervals = [list(range(low, high + 1)) for low in range(atoms) for high in range(low, atoms)]
    anything = [np.flatnonzero(random.random(atoms) < share).tolist() for share in (0.1, 0.5, 0.9) for _ in range(20)]
    for sets in (intervals, anything, [[], *intervals[:3], [], []]):
        made = WAYS[way](*arrays(sets), atoms)
        assert written_out(made, atoms) == sets
        some = np.arange(len(sets))[::-2].copy()
        assert written_out(made.take(some), atoms) == [sets[i] for i in some]
    assert np.diff(_by_runs(*arrays(intervals), atoms).start).max() <= 2


def test_the_way_with_the_fewest_steps_is_taken() -> None:
    intervals = [list(range(low, high + 1)) for low in range(60) for high in range(low, 60)]
    several = PartialSums.of(*arrays(intervals), 60)
    assert several.cost < 0.2 * len(arrays(intervals)[1])
    assert np.array_equal(several.piece, _by_runs(*arrays(intervals), 60).piece)
    random = np.random.default_rng(0)
    categories = [np.flatnonzero(random.random(16) < 0.5).tolist() for _ in range(500)]
    assert PartialSums.of(*arrays(categories), 16).cost < 0.7 * len(arrays(categories)[1])
    assert not len(PartialSums.of(*arrays([[0, 3], [5]]), 9).leaf)
    assert not len(PartialSums.of(*arrays([[], []]), 9).piece)


# Given which atom each row has, shares are Dirichlet, and an atom's part of a set has the mean of its pseudo-counts'
# share: the posterior is a mixture of these over all ways to give rows their atoms.
SETS, COUNT, PRIOR = [[0, 1, 2], [1, 2, 3], [0, 3], [2]], [3, 2, 2, 1], [0.5, 1.0, 2.0, 0.7]


@cache
def enumerated() -> np.ndarray:
    """The means of all shares, then of all parts."""
    rows = [s for s, n in zip(SETS, COUNT, strict=True) for _ in range(n)]
    total, means = 0.0, 0.0
    for atoms in product(*rows):
        pseudo = np.bincount(atoms, minlength=4) + np.array(PRIOR)
        weight = np.exp(sum(map(lgamma, pseudo)))
        parts = [pseudo[a] / pseudo[s].sum() for s in SETS for a in s]
        total, means = total + weight, means + weight * np.concatenate([pseudo / pseudo.sum(), parts])
    return np.asarray(means / total)


@pytest.mark.parametrize("way", ["runs", "subsets of 2", "subsets of 9"])
def test_chains_over_shared_sums_agree_with_enumeration(way: str) -> None:
    start, atom = arrays(SETS)
    sums = WAYS[way](start, atom, 4).arrays()
    assert len(sums[2])
    prior, count, found = np.array(PRIOR), np.array(COUNT), []
    for key in range(6):
        mass = prior + shares.expected_counts(prior, None, count, sums, 50)
        assert mass.sum() == pytest.approx(prior.sum() + sum(COUNT))
        at, step, counter = np.log(mass), 0.3, 0
        for adapt, draws in ((True, 100), (False, 2000)):
            share, ratio = np.zeros((2, 4)), np.zeros((2, len(atom)))
            step, _, counter = shares.share_chain(
                prior, start, atom, None, count, sums, 1 / np.sqrt(mass)[:, None], at, step, 8, adapt, draws, np.uint64(key),
                np.uint64(counter), share, ratio, (prior, np.zeros((2, 0)), np.zeros((0, 0)), np.zeros((0, 4))),
            )  # fmt: skip
        found.append(np.concatenate([share.mean(axis=0), ratio.mean(axis=0)]) / 2000)
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    error = np.maximum(error, np.median(error[error > 0]) / 3)
    exact = enumerated()
    assert (np.abs(mean - exact) <= 5 * error).all(), (mean - exact) / error
    assert (np.abs(mean + 0.02 - exact) > 5 * error).any(), "a planted bias would not be caught"


@pytest.mark.parametrize("way", WAYS)
def test_rows_are_allotted_by_size(way: str) -> None:
    """Each set's rows are multinomial: means and covariances of 4,000 draws, few rows of a set and many."""
    sets, count = [[0, 1, 2, 3], [1, 2], [2, 3, 4], [0, 4], [3]], np.array([40, 3, 12, 13, 2])
    start, atom = arrays(sets)
    sums = WAYS[way](start, atom, 5).arrays()
    weight, prior = np.array([0.5, 2.0, 0.1, 1.0, 0.7]), np.full(5, 0.25)
    size = np.concatenate([weight, np.zeros(len(sums[2]))])
    shares._add_up(size, 5, *sums[2:])
    counter, draws, noted = 0, np.empty((4000, 5)), np.empty(len(size), np.int64)
    for out in draws:
        counter = shares._allot(size, count, sums, np.uint64(9), np.uint64(counter), prior, noted, out)
    draws -= prior
    assert (draws.sum(axis=1) == count.sum()).all()
    mean, covariance = np.zeros(5), np.zeros((5, 5))
    for members, n in zip(sets, count, strict=True):
        chance = np.zeros(5)
        chance[members] = weight[members] / weight[members].sum()
        mean += n * chance
        covariance += n * (np.diag(chance) - np.outer(chance, chance))
    off = draws - mean
    assert (np.abs(off.mean(axis=0)) <= 5 * np.sqrt(np.diag(covariance) / 4000)).all()
    found = off.T @ off / 4000
    spread = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / 4000)
    assert (np.abs(found - covariance) <= 5 * spread + 1e-12).all()

"""Boosting's kernels: against brute force, and against every matching of a group."""

from itertools import permutations
from math import lgamma, log, prod

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.kernels import boosting

Floats = NDArray[np.float64]


def grown(
    depth: int, ordered: bool, seed: int = 1, ridge: float = 1.0, compiled: bool = True
) -> tuple[NDArray[np.uint8], Floats, NDArray[np.int16], NDArray[np.bool_], Floats]:
    random = np.random.default_rng(seed)
    bins = random.integers(0, 4, size=(60, 2)).astype(np.uint8)
    slope = np.concatenate([random.normal(size=(60, 3)), random.uniform(0.1, 1, size=(60, 3))], axis=1)
    slope = slope.astype(np.float32)
    nodes = (2 << depth) - 1
    attribute, left, leaf = np.empty(nodes, np.int16), np.zeros((nodes, 4), np.bool_), np.zeros((nodes, 3))
    place, used = np.array([0, 4, 8]), np.array([0, 1])
    kernel = boosting.grow if compiled else boosting.grow.py_func
    order = np.arange(60)
    shape = place, np.array([ordered] * 2), used, slope, order, depth, ridge, 0.5, 0.3
    kernel(bins, *shape, attribute, left, leaf)
    return bins, slope.astype(np.float64), attribute, left, leaf


def gain(slope: Floats, left: NDArray[np.bool_], ridge: float) -> float:
    def of(rows: NDArray[np.bool_]) -> float:
        total = slope[rows].sum(axis=0)
        return float((total[:3] ** 2 / (total[3:] + ridge)).sum())

    return of(left) + of(~left) - of(np.ones(len(slope), dtype=bool))


@pytest.mark.parametrize("seed", range(5))
def test_the_first_cut_gains_most(seed: int) -> None:
    bins, slope, attribute, left, _ = grown(1, True, seed)
    cuts = {(a, b): gain(slope, bins[:, a] <= b, 1.0) for a in range(2) for b in range(3)}
    mine = gain(slope, left[0][bins[:, attribute[0]]], 1.0)
    assert mine == pytest.approx(max(cuts.values()), rel=1e-5)


def test_a_set_of_categories_may_go_left() -> None:
    """Without an order categories 0 and 2 go one way and 1 and 3 the other, which no threshold can say."""
    bins = np.repeat(np.arange(4, dtype=np.uint8), 20)[:, None]
    slope = np.ones((80, 4), np.float32)
    slope[:, 0] = np.where(bins[:, 0] % 2, 1.0, -1.0)
    slope[:, 1] = -slope[:, 0]
    attribute, left, leaf = np.empty(3, np.int16), np.zeros((3, 4), np.bool_), np.zeros((3, 2))
    shape = np.array([0, 4]), np.array([False]), np.array([0]), slope, np.arange(80), 1, 1.0, 0.5, 1.0
    boosting.grow(bins, *shape, attribute, left, leaf)
    assert left[0].tolist() in ([True, False, True, False], [False, True, False, True])
    one = 1 if left[0, 0] else 2
    assert leaf[one] == pytest.approx([40 / 41, -40 / 41], rel=1e-6)


def test_leaves_hold_newton_steps_and_sisters_by_subtraction_are_right() -> None:
    for ordered in (True, False):
        bins, slope, attribute, left, leaf = grown(3, ordered)
        node = np.zeros(len(bins), dtype=np.int64)
        for _ in range(3):
            inner = attribute[node] >= 0
            side = left[node, bins[np.arange(len(bins)), np.maximum(attribute[node], 0)]]
            node = np.where(inner, np.where(side, 2 * node + 1, 2 * node + 2), node)
        assert len(np.unique(node)) >= 4
        for n in np.unique(node):
            total = slope[node == n].sum(axis=0)
            assert leaf[n] == pytest.approx(-0.3 * total[:3] / (total[3:] + 1.0), rel=1e-5)
        score = np.zeros((len(bins), 3))
        boosting.add_tree(bins, attribute, left, leaf, score)
        assert np.array_equal(score, leaf[node])


def test_compiled_or_not() -> None:
    for one, other in zip(grown(2, False), grown(2, False, compiled=False), strict=True):
        assert np.allclose(one, other, rtol=1e-6)


def everything(weight: Floats) -> tuple[Floats, float]:
    """Expected pairs and the log of the sum over all matchings of rows with values, one of each."""
    rows = len(weight)
    total, pairs = 0.0, np.zeros(weight.shape)
    for one in permutations(range(rows)):
        w = prod(weight[i, j] for i, j in enumerate(one))
        total += w
        pairs[np.arange(rows), list(one)] += w
    return pairs / total, log(total)


def by_scaling(weight: Floats, rows: int) -> tuple[Floats, float]:
    each, start = np.arange(rows, dtype=np.int32), np.array([0, rows])
    ones, marginal, log_sum = np.ones(rows, np.int32), np.empty(rows * rows), np.empty(1)
    pairs = np.array([0, rows * rows])
    boosting.scaled(start, each, ones, start, each, ones, pairs, weight, 500, marginal, log_sum)
    return marginal.reshape(rows, rows), float(log_sum[0])


def test_scaling_is_exact_for_two_rows() -> None:
    weight = np.random.default_rng(2).uniform(0.05, 1, size=(2, 2))
    assert by_scaling(weight, 2)[0] == pytest.approx(everything(weight)[0], abs=1e-4)


def test_scaling_comes_close_and_closer_with_more_rows() -> None:
    random = np.random.default_rng(3)
    error = {}
    for rows in (3, 7):
        found = []
        for _ in range(20):
            weight = random.dirichlet(np.ones(rows), size=rows) + 0.02
            exact, log_sum = everything(weight)
            near, near_sum = by_scaling(weight, rows)
            assert near.sum(axis=0) == pytest.approx(1, abs=1e-3)
            assert near.sum(axis=1) == pytest.approx(1)
            found.append(np.abs(near - exact).mean())
            assert near_sum == pytest.approx(log_sum, abs=0.25 * rows)
        error[rows] = float(np.mean(found))
    assert error[3] < 0.05
    assert error[7] < error[3]


def test_alike_weights_have_all_matchings() -> None:
    marginal, log_sum = by_scaling(np.full((5, 5), 0.2), 5)
    assert marginal == pytest.approx(0.2)
    assert log_sum == pytest.approx(5 * log(0.2) + lgamma(6))

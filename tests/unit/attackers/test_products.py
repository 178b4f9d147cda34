"""Products and counts by way of joint tables are those of the attributes one by one; mirrored draws keep their law."""

import numpy as np
import pytest
from scipy import stats

from unveil.attackers.posterior.products import LARGEST, CellProducts
from unveil.kernels import gibbs

SIZES = [7, 2, 16, 5, 30]
OFFSET = np.concatenate([[0], np.cumsum(SIZES)])[:-1].astype(np.int64) + 3  # three rows of something else before


def cells_of(count: int) -> np.ndarray:
    random = np.random.default_rng(1)
    return np.stack([random.integers(0, size, count) for size in SIZES], axis=1).astype(np.int32)


@pytest.mark.parametrize("count", [1, 50, 2000, 60_000])
def test_products_and_counts(count: int) -> None:
    cells = cells_of(count)
    products = CellProducts.of(cells, OFFSET, SIZES)
    assert products.columns.shape[1] == {1: 5, 50: 5, 2000: 3, 60_000: 2}[count]
    assert np.diff(products.first).max(initial=0) <= max(count // LARGEST, max(SIZES))
    random = np.random.default_rng(2)
    share = random.random((3 + sum(SIZES), 4))
    rows = [share[OFFSET[a] + cells[:, a]] for a in range(len(SIZES))]
    expected = np.prod(rows, axis=0)
    first, out = random.random(4), np.ones((count, 4))
    products.add_to(out, share, first)
    np.testing.assert_allclose(out, 1 + first * expected, rtol=1e-12)
    table = products.tables(share)
    np.testing.assert_allclose(np.prod(table[products.rows()], axis=1), expected, rtol=1e-12)
    least = products.scale(table, out)
    assert least == pytest.approx(expected.max(axis=1).min(), rel=1e-12)
    assert least > gibbs.SMALL
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    tally = random.integers(0, 3, (count, 4))
    counts, by_hand = np.ones((3 + sum(SIZES), 4), np.int64), np.ones((3 + sum(SIZES), 4), np.int64)
    products.collect(tally, counts)
    in_rows, by_rows = np.zeros(table.shape, np.int64), np.ones_like(counts)
    for part in products.rows().T:
        np.add.at(in_rows, part, tally)
    products.collect_rows(in_rows, by_rows)
    for a in range(len(SIZES)):
        np.add.at(by_hand, OFFSET[a] + cells[:, a], tally)
    assert np.array_equal(counts, by_hand)
    assert np.array_equal(by_rows, by_hand)


def test_small_products_are_scaled_and_lost_ones_are_noticed() -> None:
    cells = np.array([[0, 0], [1, 1]], np.int32)
    products = CellProducts.of(cells, np.array([0, 2]), [2, 2])
    share = np.array([[1e-9, 2e-9], [1.0, 0.5], [1e-9, 1e-9], [0.5, 1.0]])
    out = np.empty((2, 2))
    assert products.scale(share, out) == pytest.approx(2e-18, rel=1e-12)
    assert out == pytest.approx(np.array([[0.5, 1.0], [0.5, 0.5]]), rel=1e-12)
    share[0] = 0
    assert products.scale(share, out) == 0


def test_no_attributes() -> None:
    products = CellProducts.of(np.zeros((3, 0), np.int32), np.zeros(0, np.int64), [])
    out = np.zeros((3, 2))
    products.add_to(out, np.ones((1, 2)), np.array([0.2, 0.8]))
    assert np.array_equal(out, [[0.2, 0.8]] * 3)


PRIOR, COUNT = np.array([[1.0, 0.5, 2.0, 1.0]]), np.array([[40, 3, 0, 200]])
SHAPE = (PRIOR + COUNT)[0]


def chain_of(draws: int, mirrored: int) -> np.ndarray:
    """Shares of a chain at fixed counts, of which so many in eight are mirrored."""
    share, mean, found = np.full((1, 4), 0.25), np.empty((1, 4)), []
    counter = np.uint64(0)
    for number in range(draws):
        before = share.copy() if number % 8 < mirrored else share[:0]
        counter = np.uint64(gibbs.draw_parameters(PRIOR, COUNT, before, np.uint64(9), counter, mean, share))
        found.append(share[0].copy())
    assert mean[0] == pytest.approx(SHAPE / SHAPE.sum())
    return np.array(found)


@pytest.mark.parametrize("mirrored", [0, 7, 8])
def test_mirrored_draws_keep_the_dirichlet_law(mirrored: int) -> None:
    """Each share is a Beta variable: by means, by spread, and by its whole distribution on draws far apart."""
    found = chain_of(40_000, mirrored)[100:]
    total = SHAPE.sum()
    for v, shape in enumerate(SHAPE):
        law = stats.beta(shape, total - shape)
        batches = found[:39_900, v].reshape(50, -1)
        for power in (1, 2):
            means = (batches**power).mean(axis=1)
            assert abs(means.mean() - law.moment(power)) <= 5 * means.std(ddof=1) / np.sqrt(50)
        apart = found[::57, v]
        assert stats.kstest(apart, law.cdf).pvalue > 1e-4


def test_a_mirrored_draw_lies_on_the_other_side() -> None:
    plain, mirrored = chain_of(4000, 0), chain_of(4000, 8)
    for v in (0, 3):
        assert abs(np.corrcoef(plain[:-1, v], plain[1:, v])[0, 1]) < 0.1
        assert np.corrcoef(mirrored[:-1, v], mirrored[1:, v])[0, 1] < -0.5


def test_a_start_far_away_is_left() -> None:
    share, mean = np.array([[1e-12, 0.5, 0.4, 0.1]]), np.empty((1, 4))
    counter = np.uint64(0)
    for number in range(16):
        before = share.copy() if number % 8 else share[:0]
        counter = np.uint64(gibbs.draw_parameters(PRIOR, COUNT, before, np.uint64(1), counter, mean, share))
    assert 0.05 < share[0, 0] < 0.4


def test_compiled_equals_python() -> None:
    arguments = PRIOR, COUNT, np.array([[0.2, 0.01, 0.01, 0.78]]), np.uint64(5), np.uint64(3)
    compiled, plain = (np.empty((1, 4)), np.empty((1, 4))), (np.empty((1, 4)), np.empty((1, 4)))
    with np.errstate(over="ignore"):
        same = gibbs.draw_parameters(*arguments, *compiled) == gibbs.draw_parameters.py_func(*arguments, *plain)
    assert same
    assert compiled[1] == pytest.approx(plain[1], rel=1e-12)


@pytest.mark.parametrize("mirror", [False, True])
def test_codes_that_no_row_can_have_are_drawn_as_one(mirror: bool) -> None:
    """The possible ones keep the Dirichlet's law, the others their proportions; means are those of all codes."""
    count, beta = np.array([[9], [2], [0], [0]]), np.array([1.0, 0.5, 2.0, 1.5])  # regions are codes; one value
    each = np.arange(4, dtype=np.int32)
    runs = np.array([0, 4]), np.array([0, 4]), np.arange(5), each, each
    near = np.zeros(1, np.bool_), np.zeros(5, np.int64), np.zeros(0, np.int64), np.zeros(0)
    possible, counter = np.array([True, True, False, False]), np.uint64(0)
    drawn, mean, new, found = np.array([0.4, 0.3, 0.1, 0.2]), np.empty(4), np.empty(4), []
    for _ in range(8000):
        state = beta, drawn.copy(), np.ones(1), mirror, possible
        counter = np.uint64(gibbs.draw_all(count, *runs, *near, *state, np.uint64(3), counter, mean, new))
        found.append(new.copy())
        drawn = new.copy()
    shape = beta + count[:, 0]
    assert mean == pytest.approx(shape / shape.sum())
    share = np.array(found)
    assert share[:, 3] / share[:, 2] == pytest.approx(2.0)
    assert share.sum(axis=1) == pytest.approx(1.0)
    for part, own in ((share[:, 0], shape[0]), (share[:, 1], shape[1]), (share[:, 2:].sum(axis=1), shape[2:].sum())):
        law = stats.beta(own, shape.sum() - own)
        for power in (1, 2):
            means = (part.reshape(50, -1) ** power).mean(axis=1)
            assert abs(means.mean() - law.moment(power)) <= 5 * means.std(ddof=1) / np.sqrt(50)

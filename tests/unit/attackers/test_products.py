"""Products and counts by way of joint tables are those of the attributes one by one; mirrored draws keep their law."""

import numpy as np
import pytest
from scipy import stats

from enumeration import small_releases
from unveil.attackers.posterior import hidden
from unveil.attackers.posterior.chain import Chain
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.linked import linked_counts
from unveil.attackers.posterior.products import LARGEST, CellProducts
from unveil.data.belief import Prior
from unveil.engine import Engine
from unveil.kernels import gibbs, matching, possible

SMALL = {small.name: small for small in small_releases()}
HIDDEN = [name for name, small in SMALL.items() if linked_counts(small.release, small.asked) is None]
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
    pairs = np.array([0, 1, 2, 2, 2]), np.zeros(2, np.int32), np.arange(3), np.arange(2, dtype=np.int32)
    shape = np.array([0, 4]), *pairs, np.arange(2), np.array([0, 2]), np.array([3.5])
    drawn, mean, new, found = np.array([0.4, 0.3, 0.1, 0.2]), np.empty(4), np.empty(4), []
    counter = np.uint64(0)
    for _ in range(8000):
        state = beta, drawn.copy(), np.ones(1), mirror, True, np.uint64(3), counter, mean, new
        counter = np.uint64(possible.draw_possible(count, *shape, *state))
        found.append(new.copy())
        drawn = new.copy()
    law_of = beta + count[:, 0]
    assert mean == pytest.approx(law_of / law_of.sum())
    share = np.array(found)
    assert share[:, 3] / share[:, 2] == pytest.approx(2.0)
    assert share.sum(axis=1) == pytest.approx(1.0)
    for part, own in ((share[:, 0], law_of[0]), (share[:, 1], law_of[1]), (share[:, 2:].sum(axis=1), law_of[2:].sum())):
        law = stats.beta(own, law_of.sum() - own)
        for power in (1, 2):
            means = (part.reshape(50, -1) ** power).mean(axis=1)
            assert abs(means.mean() - law.moment(power)) <= 5 * means.std(ddof=1) / np.sqrt(50)


@pytest.mark.parametrize("name", HIDDEN)
def test_weights_of_values_that_a_group_can_have_are_those_of_all(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tempered or not, in slices and widened cells, as products and as logarithms."""
    small = SMALL[name]
    prior = Prior.uninformative(small.release, small.asked)
    whole = HiddenModel.of(small.release, small.asked, prior)
    monkeypatch.setattr(hidden, "WORTH_LEAVING", 0)
    monkeypatch.setattr(hidden, "FEW_POSSIBLE", 2.0)
    some = HiddenModel.of(small.release, small.asked, prior)
    if len(whole.withheld.rows):
        assert some.layout.possible is None
        return
    assert some.layout.possible is not None
    chain = Chain.start(whole, Engine(seed=1))
    heated = [model.layout.heated(chain.drawn, model.power(0.4)) for model in (whole, some)]
    for theta in ([chain.theta] * 2, heated):
        for block, other in zip(whole.hidden, some.hidden, strict=True):
            cells = np.arange(len(block.cells), dtype=np.int32)
            (dense, log_dense), (found, log_found) = (
                model.weights(b, t, chain.pi, chain.current).some(cells)
                for model, b, t in zip((whole, some), (block, other), theta, strict=True)
            )
            cell, value = block.groups.cell[_entry_of_pair(block.groups)], block.column
            for mine, theirs in ((found, dense), (np.exp(log_found), np.exp(log_dense))):
                ratio = mine[cell, value] / theirs[cell, value]
                for c in np.unique(cell):
                    assert ratio[cell == c] == pytest.approx(ratio[cell == c][0])  # up to a factor for each cell


def _entry_of_pair(groups: matching.Groups) -> np.ndarray:
    return np.repeat(np.arange(len(groups.cell)), np.repeat(np.diff(groups.value_start), np.diff(groups.start)))

"""Control variates and the whole curvature: chains over wide cells against counting every way to divide the rows."""

from math import comb

import numpy as np
import pytest

from unveil.attackers.posterior import share_chains
from unveil.attackers.posterior.control import ControlVariates, coefficients
from unveil.attackers.posterior.share_chains import ShareChains
from unveil.data.belief import t_quantile
from unveil.data.regions import Regions
from unveil.engine import Engine
from unveil.kernels.allotments import allot_chain

SETS = [(0, 1), (1, 2), (2, 3), (0, 3)]  # first and last code
COUNT = (14, 10, 12, 8)  # more than eight rows a code: parts of sets are not averaged over drawn rows
PRIOR = np.array([1.0, 1.0, 0.5, 2.0])
BATCHES, SIZE = 20, 25
FEW, HEAVY = (3, 2, 1, 4), np.array([3.0, 2.0, 2.5, 4.0])  # fewer rows than pseudo-counts: they are allotted


def divided(codes: int, rows: int) -> list[tuple[tuple[int, ...], int]]:
    """Every way to divide rows among codes, and in how many orders."""
    if codes == 1:
        return [((rows,), 1)]
    return [
        ((first, *rest), comb(rows, first) * orders)
        for first in range(rows + 1)
        for rest, orders in divided(codes - 1, rows - first)
    ]


def enumerated(count: tuple[int, ...] = COUNT, prior: np.ndarray = PRIOR) -> tuple[np.ndarray, np.ndarray]:
    """The exact means of the shares, and of each code's part of each set, in the order of the chains' atoms."""
    from scipy.special import gammaln

    counts, weight = np.zeros((1, 4)), np.zeros(1)
    for (low, high), rows in zip(SETS, count, strict=True):
        ways = divided(high - low + 1, rows)
        more = np.zeros((len(ways), 4))
        more[:, low : high + 1] = [way for way, _ in ways]
        counts = (counts[:, None] + more).reshape(-1, 4)
        weight = (weight[:, None] + np.log([float(orders) for _, orders in ways])).ravel()
    shape = counts + prior
    weight = weight + gammaln(shape).sum(axis=1)
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    order = np.argsort(chains_of(0).atom)
    inside = [[a for a in order if low <= a <= high] for low, high in SETS]
    parts = [shape[:, a] / shape[:, codes].sum(axis=1) for codes in inside for a in codes]
    return weight @ (shape / shape.sum(axis=1, keepdims=True)), np.array([weight @ part for part in parts])


def chains_of(seed: int, size: int = SIZE, prior: np.ndarray = PRIOR, count: tuple[int, ...] = COUNT) -> ShareChains:
    """Four chains of one value."""
    low, high = np.array(SETS, dtype=np.int32).T
    regions = Regions(4, np.arange(len(SETS) + 1), low.copy(), high.copy())
    found = ShareChains.start(
        regions, np.array([count]), prior[None], np.zeros(1, dtype=bool), Engine(seed=seed), chains=4
    )
    found.size = size
    for task in found.tasks():
        found.burn_in(task, 100)
        while len(found.running[task].share) < BATCHES:
            found.draw_batches(task, BATCHES - len(found.running[task].share))
    return found


@pytest.fixture(scope="module")
def runs() -> list[ShareChains]:
    return [chains_of(seed) for seed in range(24)]


@pytest.mark.parametrize("few", [False, True])
def test_chains_agree_with_counting_every_way(runs: list[ShareChains], few: bool) -> None:
    exact, parts = enumerated(FEW, HEAVY) if few else enumerated()
    if few:
        runs = [chains_of(seed, prior=HEAVY, count=FEW) for seed in range(24)]
    assert runs[0]._sets(0).allotted == few
    assert few or runs[0].root[0].shape == (4, 4), "the curvature of each code alone was taken"
    for what, found in (
        (exact, np.stack([one.code_shares()[0, :, 0] for one in runs])),
        (parts, np.stack([[one.running[chain, 0].ratio.mean() for chain in range(4)] for one in runs])),
    ):
        each = found.reshape(-1, len(what))
        error = each.std(axis=0, ddof=1) / np.sqrt(len(each))
        assert (np.abs(each.mean(axis=0) - what) <= 5 * error).all(), (each.mean(axis=0) - what) / error
        assert (np.abs(each.mean(axis=0) + 0.01 - what) > 5 * error).any(), "a planted bias would not be caught"


def test_allotted_rows_are_the_same_compiled_and_not_and_go_on_where_they_stood() -> None:
    start, atom = np.array([0, 2, 5]), np.array([0, 1, 1, 2, 3])
    found = []
    for kernel, cuts in ((allot_chain, (6,)), (allot_chain.py_func, (6,)), (allot_chain, (2, 4))):
        held, counter, totals = np.array([0, 1, 3, 4]), np.uint64(0), (np.zeros((1, 4)), np.zeros((1, 5)))
        for draws in cuts:
            with np.errstate(over="ignore"):
                rows = HEAVY, start, atom, np.array([2, 2]), held
                counter = np.uint64(kernel(*rows, draws, np.uint64(7), counter, *totals))
        found.append(np.concatenate([held, *totals[0], *totals[1], [float(counter)]]))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12)
    assert found[0][-1] == 24, "four rows, six sweeps"


def test_subtracting_noise_leaves_a_fraction_of_it(runs: list[ShareChains]) -> None:
    """The same chains with and without: less of an error, and one that they state themselves."""
    exact, _ = enumerated()
    plain = np.concatenate([[one.running[chain, 0].share.mean()[one.atom] for chain in range(4)] for one in runs])
    less = np.concatenate([one.code_shares()[0, :, 0] for one in runs])
    before, after = (np.sqrt(((found - exact) ** 2).mean(axis=0)) for found in (plain, less))
    assert (after < 0.8 * before).all(), after / before
    # What batches say of a chain's error is what it is over many chains: the interval is narrower and still right.
    batches = np.concatenate([one.code_shares(range(BATCHES))[:, :, 0].std(axis=0, ddof=1) for one in runs])
    stated = np.sqrt((batches**2).mean(axis=0) / BATCHES)
    assert (after < 1.5 * stated).all(), after / stated


@pytest.mark.parametrize(("size", "controlled"), [(5, False), (15, True)])
def test_intervals_hold_the_truth_as_often_as_they_say(size: int, controlled: bool) -> None:
    """Over 250 seeds: four chains' t interval misses about 5%, whether or not noise is subtracted."""
    exact, _ = enumerated()
    beyond = []
    for seed in range(250):
        one = chains_of(1000 + seed, size)
        assert (one._coefficients(0) is not None) == controlled
        each = one.code_shares()[0, :, 0]
        beyond.append(np.abs(each.mean(axis=0) - exact) / (each.std(axis=0, ddof=1) / 2))
    missed = np.array(beyond)
    assert 0.02 <= (missed > t_quantile(4)).mean() <= 0.08, (missed > t_quantile(4)).mean(axis=0)
    assert (missed > 3 * t_quantile(4)).mean() < 0.01  # of Student's t with 3 degrees of freedom: .0024


@pytest.mark.parametrize("seed", range(3))
def test_no_share_falls_below_zero(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is subtracted from a small share may be larger than it: a learner then told of "vanishing" probabilities."""
    one = chains_of(seed, prior=np.array([1.0, 1.0, 1.0, 0.05]))
    share, batches = one.code_shares()[0, :, 0], one.code_shares(range(BATCHES))[:, :, 0]
    assert share.min() > 0
    assert batches.min() > 0
    np.testing.assert_allclose(batches.sum(axis=2), 1)
    plain = np.stack([one.running[chain, 0].share.mean()[one.atom] for chain in range(4)])
    assert not np.array_equal(share, plain), "nothing was subtracted at all"
    monkeypatch.setattr(ShareChains, "_above_zero", lambda self, value, fitted: fitted)
    one.fitted.clear()
    assert one.code_shares(range(BATCHES)).min() < 0, "the case does not show it"


def test_nothing_is_fitted_to_few_draws_or_to_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert coefficients([]) is None
    assert coefficients([ControlVariates.of(np.zeros(4))]) is None
    monkeypatch.setattr(share_chains, "MOST_CONTROLLED", 3)
    found = chains_of(0)
    assert found.running[0, 0].control is None
    np.testing.assert_array_equal(found.code_shares()[0, 0, 0], found.running[0, 0].share.mean()[found.atom])

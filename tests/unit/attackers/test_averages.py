"""Whether beliefs are precise enough, by hand: the spread between four chains, halved."""

import numpy as np
import pytest

from unveil.attackers.posterior.averages import Averages, Running, belief_of, diagnostics
from unveil.attackers.posterior.convergence import effective_size, split_r_hat
from unveil.data.belief import Threat


def chains(people: int, errors: dict[int, float]) -> np.ndarray:
    """Four chains that believe .5 in the first of two values, but for some people apart by 2 standard errors."""
    first = np.full((4, people), 0.5)
    for person, error in errors.items():
        first[:, person] += np.array([1, -1, 1, -1]) * error * np.sqrt(3)  # standard deviation 2 · error
    return np.stack([first, 1 - first], axis=2)


@pytest.mark.parametrize(
    ("people", "errors", "precise"),
    [
        (10, {}, True),
        (10, {0: 0.0029}, True),
        (10, {0: 0.0031}, False),  # few people: all must be sure
        (2000, {0: 0.019}, True),
        (2000, {0: 0.021}, False),
        (2000, dict.fromkeys(range(19), 0.004), True),  # 1% of 2000 may be less sure
        (2000, dict.fromkeys(range(30), 0.004), False),
    ],
)
def test_the_stated_precision(people: int, errors: dict[int, float], precise: bool) -> None:
    found = chains(people, errors)
    assert diagnostics("sampled", found[None], found).precise is precise
    assert diagnostics("sampled", np.repeat(found[None], 8, axis=0), found).precise is precise


def test_an_exact_belief_is_precise() -> None:
    belief = belief_of(Averages(np.ones((1, 3, 2)), np.ones((1, 1, 3, 2))), "exact", Threat())
    assert belief.exact
    assert belief.diagnostics.precise
    assert belief.diagnostics.converged


@pytest.mark.parametrize("watched", [0, 2])
def test_exact_averages_are_mixed_and_weighted_whoever_is_watched(watched: int) -> None:
    """Where nothing is sampled nobody need be watched: an integrated posterior ended an audit with a crash."""
    mine, theirs = np.array([[[1.0, 3.0], [2.0, 2.0]]]), np.array([[[1.0, 0.0], [0.0, 1.0]]])
    found = Averages(mine, mine[None, :, :watched]).mixed(
        Averages(theirs, theirs[None, :, :watched]), np.array([0.5, 0.0])
    )
    assert found.mean.tolist() == [[[0.625, 0.375], [0.0, 1.0]]]
    assert found.batches.tolist() == [found.mean[:, :watched].tolist()]
    times = found.times(np.array([[2.0, 0.0], [1.0, 3.0]]))
    assert times.mean.tolist() == [[[1.25, 0.0], [0.0, 3.0]]]
    assert times.batches.tolist() == [times.mean[:, :watched].tolist()]


@pytest.mark.parametrize(("chains", "length"), [(2, 4), (2, 5), (3, 7), (4, 50), (4, 51), (8, 99)])
@pytest.mark.parametrize("memory", [-0.7, 0.0, 0.6, 0.97])
def test_r_hat_and_effective_size_are_those_of_arviz(chains: int, length: int, memory: float) -> None:
    array_stats = pytest.importorskip("arviz_stats.base").array_stats
    random = np.random.default_rng(length)
    draws = random.normal(size=(chains, length, 40))
    for step in range(1, length):
        draws[:, step] += memory * draws[:, step - 1]
    draws[:, :, :10] += random.normal(size=(chains, 1, 10))  # chains that lie apart
    axes = {"chain_axis": 0, "draw_axis": 1}
    np.testing.assert_allclose(split_r_hat(draws), array_stats.rhat(draws, method="split", **axes), rtol=1e-12)
    np.testing.assert_allclose(effective_size(draws), array_stats.ess(draws, method="mean", **axes), rtol=1e-9)


def test_running_means_by_hand() -> None:
    """Terms 1, 2, 3, …: the mean of all, and means of batches that are merged two by two."""
    running = Running()
    for number in range(1, 351):
        full = running.add(np.array([float(number)]))
        if full is not None:
            running.close(full)
    mean = running.mean()
    assert mean is not None
    assert mean[0] == 175.5
    assert running.states == 350
    assert running.size == 4
    assert [batch[0] for batch in running.batches[:2]] == [2.5, 6.5]
    assert len(running.batches) == 87
    assert Running().mean() is None

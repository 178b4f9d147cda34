"""Batch means in little space, how many there are where memory ends, and what is said where none can be had."""

import numpy as np
import pytest
from test_linked_support import AGE, DISEASE, people
from test_linked_support import learned as learned  # a fixture

from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior import linked_posterior as module
from unveil.attackers.posterior.averages import BatchMeans
from unveil.attackers.posterior.contract import Chains, Posterior, posterior
from unveil.attackers.posterior.convergence import BATCHES
from unveil.attackers.posterior.linked_posterior import LinkedPosterior
from unveil.data.belief import Belief
from unveil.engine import Engine


def drawn(learned: LinkedPosterior, sweeps: int) -> LinkedPosterior:
    found = posterior(
        learned.release, DISEASE, learned.prior, Engine(seed=1), Chains(sweeps=sweeps, most_sweeps=200, every=10)
    )
    assert isinstance(found, LinkedPosterior)
    return found


def believed(found: Posterior) -> Belief:
    targets = people()
    return Bayesian().believe(found, targets)


def test_means_by_hand() -> None:
    found = BatchMeans()
    found.extend(np.array([[0.25, 0.5], [0.5, 0.5]]))
    found.extend([np.array([0.75, 0.25]), np.array([1.0, 0.25])])
    assert len(found) == 4
    assert found[2].tolist() == [0.75, 0.25]
    assert found.mean().tolist() == [0.625, 0.375]
    found.halve()
    assert found.stacked(2).tolist() == [[0.375, 0.5], [0.875, 0.25]]
    assert found.mean().tolist() == [0.625, 0.375]
    found.extend([np.array([2.5, 0.0])])
    assert found.mean().tolist() == [1.25, 0.25]


def test_what_differs_by_little_still_differs() -> None:
    """A third as seven digits would stand still under such steps."""
    found = BatchMeans()
    steps = 1 / 3 + 1e-12 * np.arange(4.0)
    found.extend(steps[:, None])
    assert np.diff(found.stacked(4)[:, 0]) == pytest.approx([1e-12] * 3, rel=1e-3, abs=0)


def test_going_on_is_drawing_more_at_once(learned: LinkedPosterior) -> None:
    """Batches are merged before there are more: never more than there were, and the same as of one longer round."""
    longer, two = drawn(learned, 200), drawn(learned, 100)
    assert two.run_on(agree=True)
    assert two.drawn == longer.drawn == 200
    for found in (two, longer):
        assert found.batches() == BATCHES
    targets = people()
    assert two.joint(targets).batches == pytest.approx(longer.joint(targets).batches, rel=1e-6)
    assert two.support(targets).mean == pytest.approx(longer.support(targets).mean, rel=1e-6)


def test_fewer_batches_where_memory_ends(learned: LinkedPosterior, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same draws in 16 batches as in 50, whose R-hat is arviz' of these 16."""
    whole = drawn(learned, 800)
    numbers = sum(s.numbers for s in whole.samplers().values())
    monkeypatch.setattr(module, "MOST_NUMBERS", 17 * numbers)
    few = drawn(learned, 800)
    assert (few.goal, few.drawn, whole.goal) == (16, 800, BATCHES)
    assert believed(few).chains == pytest.approx(believed(whole).chains, rel=1e-6)
    diagnostics = believed(few).diagnostics
    assert diagnostics.facts["batches"] == 16
    rhat = pytest.importorskip("arviz_stats.base").array_stats.rhat
    support = few.support(people()).batches
    belief = support / support.sum(axis=3, keepdims=True)
    most = belief.var(axis=(0, 1)).argmax(axis=1)
    for target in (0, 1, 4):
        series = belief[:, :, target, most[target]].T
        assert diagnostics.r_hat is not None
        assert diagnostics.r_hat[target] == pytest.approx(rhat(series, method="split"), rel=1e-9)


@pytest.mark.parametrize(
    ("room", "sweeps", "batches"),
    [(50, 1000, 50), (49, 1000, 48), (35, 1000, 34), (34, 100, 32), (17, 1000, 16), (15, 1000, 2), (0, 1000, 2)],
)
def test_how_many_batches(
    learned: LinkedPosterior, room: int, sweeps: int, batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """48 batches of 20 sweeps leave 40 over, 34 of 29 leave 14; 34 of 100 would leave 32."""
    samplers = list(learned.samplers().values())
    assert list(learned.samplers()) == [AGE]
    monkeypatch.setattr(module, "MOST_NUMBERS", room * samplers[0].numbers)
    assert module._batches(samplers, sweeps) == batches

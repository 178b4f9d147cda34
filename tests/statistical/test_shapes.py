"""Posteriors of releases of other shapes than Anatomy's pairs: no run is called converged while it is wrong."""

import numpy as np
import pytest

from tests.shapes import Shape, exact, shapes
from thorough import THOROUGH, chosen
from unveil.attackers import Chains, learn
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.learner import Learner
from unveil.attackers.posterior.tempering import Tempering
from unveil.data.belief import Belief
from unveil.engine import Engine

SHAPES = {shape.name: shape for shape in shapes()}
FEW = ["two readings of a rare code", "sliced beside the value, groups known"]
QUICK = Chains(burn_in=600, sweeps=600, most_sweeps=600)


def run(shape: Shape, seed: int, chains: Chains) -> dict[str, Belief]:
    release, example = shape.release()
    targets = shape.targets(example)
    both = {"learner": (Learner(), targets), "bayesian": (Bayesian(), targets)}
    ask = release, shape.asked, shape.prior(), Engine(seed=seed), chains, both
    return learn(*ask, None, None, shape.starts())[0]


def fooled(belief: Belief, right: np.ndarray) -> bool:
    """Called converged while it is wrong by more than five of the standard errors that it states."""
    error, facts = float(np.abs(belief.probability - right).max()), belief.diagnostics.facts
    stated = float(facts.get("error_max", 1e-9))
    if belief.chains is not None:
        between = float(belief.chains.std(axis=0, ddof=1).max()) / len(belief.chains) ** 0.5
        stated = max(stated, between, float(facts["unseen_mode"]))
    return belief.diagnostics.converged and error > 5 * stated


@pytest.mark.parametrize("name", chosen(list(SHAPES), FEW))
def test_no_run_is_fooled(name: str) -> None:
    shape = SHAPES[name]
    right = exact(shape)
    for seed in range(3 if THOROUGH else 1):
        found = run(shape, seed, Chains() if THOROUGH else QUICK)
        assert not any(fooled(belief, one) for belief, one in zip(found.values(), right, strict=True)), seed


def test_the_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a ladder chains stay where they first were."""
    monkeypatch.setattr(Tempering, "suits", staticmethod(lambda model: False))
    shape = SHAPES["two halves, each with two readings"]
    found, right = run(shape, 0, QUICK), exact(shape)
    wrong = [np.abs(belief.probability - one).max() for belief, one in zip(found.values(), right, strict=True)]
    assert max(wrong) > 0.2

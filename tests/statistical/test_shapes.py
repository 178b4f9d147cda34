"""Posteriors of releases of other shapes than Anatomy's pairs: no run is called converged while it is wrong."""

import numpy as np
import pytest

from tests.acceptance.modes import RIGHT, other_shapes, run, stated
from tests.shapes import exact
from thorough import THOROUGH, chosen
from unveil.attackers import Chains
from unveil.attackers.posterior.tempering import Tempering
from unveil.data.belief import Belief

SHAPES = other_shapes()
FEW = ["one attribute known, a0", "two readings of a rare code", "sliced beside the value, groups known"]
QUICK = Chains(burn_in=600, sweeps=600, most_sweeps=600)


def fooled(belief: Belief, right: np.ndarray) -> bool:
    """Called converged while it is wrong by more than five of the standard errors that it states."""
    error, says = stated(belief, right)
    return belief.diagnostics.converged and error > RIGHT * says


@pytest.mark.parametrize("name", chosen(list(SHAPES), FEW))
def test_no_run_is_fooled(name: str) -> None:
    shape = SHAPES[name]
    right = exact(shape)
    for seed in range(3 if THOROUGH else 1):
        found = run(shape, seed, Chains() if THOROUGH else QUICK, probed=True)
        assert not any(fooled(belief, one) for belief, one in zip(found.values(), right, strict=True)), seed


def test_the_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a ladder chains stay where they first were."""
    monkeypatch.setattr(Tempering, "suits", staticmethod(lambda model: False))
    shape = SHAPES["two halves, each with two readings"]
    found, right = run(shape, 0, QUICK, probed=True), exact(shape)
    wrong = [np.abs(belief.probability - one).max() for belief, one in zip(found.values(), right, strict=True)]
    assert max(wrong) > 0.2

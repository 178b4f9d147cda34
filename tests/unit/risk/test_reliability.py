"""Calibration: by hand, on beliefs that are right by construction, and on those that are too sure."""

import numpy as np
import pytest

from unveil import risk
from unveil.data.belief import Belief
from unveil.errors import UsageError

BELIEF = Belief(np.array([[0.5, 0.25, 0.25], [0.4, 0.4, 0.2], [0.2, 0.2, 0.6], [0, 1, 0]]))
TRUTH = np.array([0, 1, 1, 1])


def test_by_hand() -> None:
    """Guesses at .5 (right), .4 (one of two), .6 (wrong) and 1 (right): gaps .5, .1, .6 and 0."""
    assert risk.calibration_error(BELIEF, TRUTH).value == pytest.approx(0.3)
    assert risk.confident_wrong(BELIEF, TRUTH, at_least=0.6).value == 0.25
    assert risk.confident_wrong(BELIEF, TRUTH, at_least=0.6, harmless=[2]).value == 0
    assert risk.overconfidence(BELIEF, TRUTH, at_least=0.6).value == pytest.approx(0.8 - 0.5)
    one = risk.overconfidence(BELIEF, TRUTH, at_least=0.6, harmless=[2])
    assert one.value == 0
    assert one.low < 0 < one.high  # one belief that came true says little
    assert risk.overconfidence(BELIEF, TRUTH, at_least=1.0, harmless=[1]).value == 0


def drawn(power: float, rows: int = 20_000) -> tuple[Belief, np.ndarray]:
    """Values drawn by shares; what is believed are the shares to a power, too sure above 1."""
    random = np.random.default_rng(3)
    share = random.dirichlet(np.full(4, 0.4), size=rows)
    truth = (random.random(rows)[:, None] > np.cumsum(share, axis=1)).sum(axis=1)
    believed = share**power
    return Belief(believed / believed.sum(axis=1, keepdims=True)), np.minimum(truth, 3)


def test_beliefs_that_are_right_and_beliefs_that_are_too_sure() -> None:
    right, sure, unsure = drawn(1.0), drawn(2.0), drawn(0.6)
    assert risk.calibration_error(*right).value < 0.015
    assert risk.calibration_error(*sure).value > 0.05
    assert abs(risk.overconfidence(*right).value) < 0.01
    assert risk.overconfidence(*sure).low > 0.02
    assert risk.overconfidence(*unsure).high < 0
    of_all = risk.confident(sure[0]).value
    wrong = risk.confident_wrong(*sure).value
    assert of_all - wrong == pytest.approx(of_all * risk.confident_right(*sure).value)


def test_chains_and_refusals() -> None:
    belief, truth = drawn(1.0, 500)
    chains = np.stack([belief.probability, drawn(1.3, 500)[0].probability])
    two = Belief(np.array(chains.mean(axis=0)), chains=chains)
    found = risk.calibration_error(two, truth)
    assert found.low < found.value < found.high
    with pytest.raises(UsageError, match="lies in"):
        risk.confident_wrong(belief, truth, at_least=0)
    with pytest.raises(UsageError, match="choose 1 or more"):
        risk.calibration_error(belief, truth, bins=0)

"""Beliefs moved along their chains: the same numbers compiled and not, and as the formula has them."""

import numpy as np
import pytest

from unveil.kernels.shifts import FARTHEST, shift_beliefs


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_beliefs_move_as_the_formula_says(compiled: bool, whole: bool) -> None:
    random = np.random.default_rng(5)
    chains = random.gamma(0.3, size=(4, 30, 7))
    chains[:, :, 2] = 0.0  # nobody believes it
    chains[1:, :10, 3] = 0.0  # one chain alone does, and moves as far as anything may
    chains /= chains.sum(axis=2, keepdims=True)
    pooled, weight = chains.mean(axis=0), random.normal(size=4) * 3
    out = np.empty_like(pooled)
    with np.errstate(over="raise"):
        (shift_beliefs if compiled else shift_beliefs.py_func)(chains, pooled, weight, whole, out)
    step = np.tensordot(weight, chains, axes=1) / np.maximum(pooled, 1e-300)
    expected = pooled * np.exp(np.clip(step, -FARTHEST, FARTHEST))
    np.testing.assert_allclose(out, expected / expected.sum(axis=1, keepdims=True) if whole else expected, rtol=1e-12)
    assert (out[:, 2] == 0).all()

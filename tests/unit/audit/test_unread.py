"""Columns that only an earlier release has: whether they go with the asked attribute."""

import numpy as np
import pytest

from unveil.audit.unread import _goes_with


@pytest.mark.parametrize("seed", range(5))
def test_what_goes_with_the_answer_and_what_does_not(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 400)
    for codes in (2, 10, 300):
        assert not _goes_with(rng.integers(0, codes, 400), truth, codes, truth, 3), codes
    assert not _goes_with(np.zeros(400, dtype=int), truth, 1, truth, 3)
    assert _goes_with(truth, truth, 3, truth, 3)
    assert _goes_with(np.where(rng.random(400) < 0.6, truth, rng.integers(0, 3, 400)), truth, 3, truth, 3)
    assert _goes_with((truth == 0).astype(int), truth, 2, truth, 3)  # one answer is ruled out
    rare = np.where(np.arange(400) < 8, 0, 1 + truth % 2)  # eight people have a rare answer and one drug
    assert _goes_with((rare > 0).astype(int), rare, 2, rare, 3)

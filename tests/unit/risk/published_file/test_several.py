"""Two files whose rows a number of each puts in the same order."""

from itertools import combinations

import numpy as np

from unveil.risk.published_file.several import _step, aligned


def test_the_longest_common_subsequence_by_trying_all():
    rng = np.random.default_rng(0)
    for _ in range(30):
        one, other = rng.integers(0, 3, rng.integers(1, 7)), rng.integers(0, 3, rng.integers(1, 7))
        mine, theirs = (
            {tuple(x[list(at)]) for n in range(len(x) + 1) for at in combinations(range(len(x)), n)}
            for x in (one, other)
        )
        assert aligned(one, other) == max(map(len, mine & theirs)) / min(len(one), len(other))


def test_the_step_of_rounded_numbers():
    assert _step(np.array([71.25, 70.0])) == 0.01
    assert _step(np.array([71.0, 70.0])) == 1
    assert _step(np.array([500.0, 1200.0])) == 100
    assert _step(np.array([np.nan, 70.0])) is None

"""Whether beliefs are precise enough, by hand: the spread between four chains, halved."""

import numpy as np
import pytest

from unveil.attackers._averages import Averages, belief_of, diagnostics
from unveil.belief import Threat


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

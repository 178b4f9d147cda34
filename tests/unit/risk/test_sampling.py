"""A sample of people: bounds that cover what they say, with ties and rare events; and what lies beyond is unknown."""

import math

import numpy as np
import pytest
from scipy.stats import hypergeom

from unveil.data.belief import Estimate
from unveil.errors import UsageError
from unveil.risk.sampling import below_baseline, sampled_quantile, sampled_share


def test_five_exposed_people_of_a_thousand_do_not_vanish() -> None:
    """A sample of 100 that met none of them: up to 3.5% may be exposed, and the largest threat is unknown."""
    found = sampled_share(np.zeros(100), 1005)
    assert (found.value, found.low) == (0, 0)
    most = round(found.high * 1005)
    assert most > 5
    assert hypergeom.cdf(0, 1005, most, 100) > 0.025 >= hypergeom.cdf(0, 1005, most + 1, 100)
    assert sampled_quantile(np.ones(20), 0.95, 1005).high == math.inf


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize(("count", "people"), [(30, 1000), (100, 400), (250, 400)])
def test_bounds_of_a_share_cover(share: float, count: int, people: int) -> None:
    """Exactly: the chance of every sample whose bounds hold the truth, added up."""
    exposed = round(share * people)
    covered = 0.0
    for hits in range(max(0, count - people + exposed), min(count, exposed) + 1):
        each = np.zeros(count)
        each[:hits] = 1
        found = sampled_share(each, people)
        if found.low <= exposed / people <= found.high:
            covered += float(hypergeom.pmf(hits, people, exposed, count))
    assert covered >= 0.95 - 1e-9


@pytest.mark.parametrize("ties", [True, False])
def test_bounds_of_a_quantile_cover_with_ties(ties: bool) -> None:
    random = np.random.default_rng(4)
    everyone = random.choice([1.0, 1.5, 2.0, 4.0], 800, p=[0.6, 0.33, 0.05, 0.02]) if ties else random.gamma(2, 1, 800)
    rank = math.ceil(0.95 * 800)
    truth, held = float(np.sort(everyone)[rank - 1]), 0
    for _ in range(1000):
        found = sampled_quantile(random.choice(everyone, 120, replace=False), 0.95, 800)
        held += found.low <= truth <= found.high
    assert held >= 940
    if not ties:
        assert held <= 990  # not by being endless


def test_guesses_among_ties_cover() -> None:
    """A guess is right with 1, 1/2, 1/3 or not at all."""
    random = np.random.default_rng(6)
    everyone = random.choice([0, 1 / 3, 0.5, 1.0], 900, p=[0.5, 0.2, 0.2, 0.1])
    held = 0
    for _ in range(1000):
        found = sampled_share(random.choice(everyone, 150, replace=False), 900)
        held += found.low <= everyone.mean() <= found.high
    assert 920 <= held <= 985


def test_everybody_is_no_sample() -> None:
    each = np.array([0.0, 1.0, 1.0])
    assert sampled_share(each, 3) == Estimate.exact(2 / 3)
    assert sampled_quantile(each, 0.5, 3) == Estimate.exact(1.0)
    with pytest.raises(UsageError, match="sample of 4 of 3 people"):
        sampled_share(np.zeros(4), 3)
    with pytest.raises(UsageError, match="q=2 is not a quantile"):
        sampled_quantile(each, 2.0, 5)


def test_who_knows_more_does_not_guess_worse() -> None:
    attacker, learner = Estimate(0.119, 0.116, 0.122), Estimate(0.5, 0.49, 0.51)
    assert "12" not in below_baseline(Estimate(0.52, 0.5, 0.54), learner=learner)
    said = below_baseline(attacker, learner=learner, random_worlds=Estimate.exact(0.4))
    assert said.startswith("guesses right for 11.9%, learner for 50.0%")
    assert below_baseline(Estimate(0.48, 0.45, 0.51), learner=learner) == ""

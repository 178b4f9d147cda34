"""Likelihoods of perturbed columns beside widened and withheld ones: every reader equals enumeration."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from enumeration import enumerate_attacker, enumerate_learner, enumerate_random_worlds, pseudo_counts
from small import made_release
from thorough import chosen
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.learner import Learner
from unveil.attackers.posterior.contract import Chains, attack
from unveil.attackers.random_worlds import RandomWorlds
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known, Prior, Targets
from unveil.data.release import Release
from unveil.engine import Engine

AGE = Attribute("age", Role.QUASI_IDENTIFIER, Kind.ORDINAL, ("31.5", "44", "58"))  # as published: means
TOWN = Attribute("town", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, ("a", "b", "c"))
ILL = Attribute("ill", Role.SENSITIVE, Kind.CATEGORICAL, ("flu", "hiv"))
# How probable each piece of knowledge (a true age) is given the published mean; in sixteenths, exact in floats.
CHANCE = np.array([[12, 2, 0], [3, 8, 1], [0, 1, 15]]) / 16


def mixed(*rows: Any) -> Release:
    """Rows of group, shown age, town, illness."""
    return made_release((AGE, TOWN, ILL), [((0, 1, 2), rows)])


RELEASES = {
    "nested": mixed(
        (0, "31.5", ("a", "b"), "flu"),
        (0, "31.5", ("a", "b"), "hiv"),
        (1, "44", "c", "flu"),
        (2, "58", ("a", "b"), "hiv"),
    ),
    "withheld": mixed(
        (0, "*", ("a", "b"), "flu"),
        (1, "44", "*", "flu"),
        (2, "58", "c", "hiv"),
        (2, "58", "c", "flu"),
        (3, "31.5", "a", "hiv"),
    ),
    "overlapping": mixed((0, "31.5", ("a", "b"), "flu"), (1, "44", ("b", "c"), "hiv"), (1, "44", ("b", "c"), "flu")),
}


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("kind", chosen([0, 1, 2], [1]))
def test_every_reader_equals_enumeration(name: str, kind: int) -> None:
    release = RELEASES[name]
    town = 1  # b
    known = {0: Known.softly(CHANCE, np.array([kind])), 1: Known.exactly(TOWN, np.array([town]))}
    targets = Targets(2, known, 1)
    knowledge = {
        0: tuple(Fraction(float(x)) for x in CHANCE[kind]),
        1: tuple(Fraction(int(code == town)) for code in range(3)),
    }
    prior, held = Prior.uninformative(release, 2), pseudo_counts(release, 2)
    expected = {
        "learner": enumerate_learner(release, 2, held, knowledge),
        "bayesian": enumerate_attacker(release, 2, held, knowledge),
        "random_worlds": enumerate_random_worlds(release, 2, knowledge),
    }
    chains = Chains(chains=4, sweeps=4000, burn_in=200, most_sweeps=16000)
    for reader, one in {"learner": Learner(), "bayesian": Bayesian(), "random_worlds": RandomWorlds()}.items():
        belief = attack(one, release, targets, prior, Engine(seed=3), chains)
        found = belief.probability[0]
        error = 1e-12 if belief.exact else 0.02
        assert found == pytest.approx([float(x) for x in expected[reader]], abs=error), reader


def test_a_likelihood_of_zeros_and_ones_is_a_set() -> None:
    release = RELEASES["withheld"]
    prior = Prior.uninformative(release, 2)
    soft = Known.softly(np.array([[1.0, 1.0, 0.0]]), np.array([0]))
    hard = Known(soft.regions, soft.of_target)
    one, other = (
        attack(Bayesian(), release, Targets(2, {0: k}, 1), prior, Engine(seed=1)).probability for k in (soft, hard)
    )
    assert one == pytest.approx(other, abs=1e-12)

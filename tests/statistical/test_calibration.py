"""Calibration: among those of whom a value is believed at p, a share p has it, if the attacker's world is the true one.

Tables are drawn from the attacker's own prior, rows are grouped without a look at their values, and uniformly drawn
targets are attacked. Nothing else tests the whole path from release to belief without a second implementation.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from enumeration import AGE, ILL, SEX
from thorough import chosen
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.learner import Learner
from unveil.attackers.posterior.contract import Chains, posterior
from unveil.data.belief import Prior, known_exactly
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.engine import Engine

TABLES, ROWS, GROUP = 120, 24, 3
CHAINS = Chains(chains=2, sweeps=50, burn_in=30, keep=50, most_sweeps=0, every=10)
ATTRIBUTES = (AGE, SEX, ILL)
ASKED = 2
Codes = NDArray[np.int64]


def drawn_people(random: np.random.Generator, count: int) -> tuple[list[Codes], list[Codes]]:
    """People in a table, and as many others from the same population, which is drawn from the uniform prior."""
    share = random.dirichlet(np.ones(ILL.codes))
    given = [random.dirichlet(np.ones(a.codes), size=ILL.codes) for a in (AGE, SEX)]

    def some() -> list[Codes]:
        value = random.choice(ILL.codes, size=count, p=share)
        return [np.array([random.choice(len(g[s]), p=g[s]) for s in value]) for g in given] + [value]

    return some(), some()


def anatomy(columns: list[Codes], group: Codes) -> Release:
    singles = [Regions.singles(a.codes) for a in ATTRIBUTES]
    parts = [BlockRows((0, 1), group, (columns[0], columns[1])), BlockRows((ASKED,), group, (columns[ASKED],))]
    return build_release(ATTRIBUTES, singles, parts)[0]


def recoded(columns: list[Codes], group: Codes) -> Release:
    """Ages in overlapping pairs, drawn without a look at anything but the age; the value stands beside."""
    pairs = Regions.sets(AGE.codes, [[0, 1], [1, 2], [2, 3], [0, 3]])
    side = (group % 2).astype(np.int64)
    region = (columns[0] - side) % 4  # of the two pairs that hold an age, the one that a coin says
    regions = [pairs, Regions.singles(2), Regions.singles(ILL.codes)]
    return build_release(ATTRIBUTES, regions, [BlockRows((0, 1, 2), np.arange(len(group)), (region, *columns[1:]))])[0]


Beliefs = tuple[NDArray[np.float64], Codes]


def beliefs(make: Callable[[list[Codes], Codes], Release]) -> tuple[Beliefs, Beliefs]:
    """The attacker's about people in the tables and the learner's about people outside, each with the truth."""
    random = np.random.default_rng(20)
    found: tuple[list[NDArray[np.float64]], ...] = [], []
    truth: tuple[list[Codes], ...] = [], []
    for number in range(TABLES):
        mine, others = drawn_people(random, ROWS)
        release = make(mine, random.permutation(ROWS) // GROUP)
        learned = posterior(release, ASKED, Prior.uninformative(release, ASKED), Engine(seed=number), CHAINS)
        for place, people in enumerate((mine, others)):
            which = random.choice(ROWS, size=8, replace=False)
            targets = known_exactly(release, {0: people[0][which], 1: people[1][which]}, ASKED)
            if place:
                belief = Learner().believe(learned, targets)
            else:
                belief = Bayesian().believe(learned, targets)
            found[place].append(belief.probability)
            truth[place].append(people[ASKED][which])
    attacker, learner = ((np.concatenate(f), np.concatenate(t)) for f, t in zip(found, truth, strict=True))
    return attacker, learner


def largest_gap(belief: NDArray[np.float64], truth: Codes) -> float:
    """Over five ranges of belief: how far the share that is true is from the mean belief, in standard errors.

    People of one table are not independent, so that tables are what is counted.
    """
    hit = np.eye(ILL.codes)[truth]
    worst = 0.0
    for low in np.arange(0, 1, 0.2):
        inside = (belief >= low) & (belief < low + 0.2 + 1e-12 * (low > 0.7))
        off = np.where(inside, hit - belief, 0.0).sum(axis=1).reshape(TABLES, -1).sum(axis=1)
        if inside.sum() >= 50:
            worst = max(worst, abs(float(off.sum())) / float(np.sqrt((off**2).sum())))
    return worst


@pytest.mark.parametrize("make", chosen([anatomy, recoded], [anatomy]))
def test_beliefs_come_true_as_often_as_they_say(make: Callable[[list[Codes], Codes], Release]) -> None:
    for belief, truth in beliefs(make):
        assert largest_gap(belief, truth) < 3.5
        bold = belief**2 / (belief**2).sum(axis=1, keepdims=True)
        assert largest_gap(bold, truth) > 4, "a reader too sure of itself would not be caught"

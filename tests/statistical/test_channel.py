"""The Bayesian attacker on published PRAM chances, against every true table that could have become the release."""

from itertools import product
from math import lgamma

import numpy as np
import pytest
from numpy.typing import NDArray

from small import QI, SENSITIVE, made_schema, made_table
from thorough import chosen
from unveil.attackers.posterior.channel import channel_beliefs, codes_of
from unveil.attackers.posterior.convergence import Chains
from unveil.data.rows import SUPPRESSED, PublishedRows
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError

SCHEMA = made_schema(
    {
        "a": {"role": QI, "domain": ["0", "1", "2"]},
        "b": {"role": QI, "kind": "numeric", "domain": {"from": 5, "to": 6}},
        "s": {"role": SENSITIVE, "domain": ["x", "y"]},
    }
)
TABLE = made_table(SCHEMA, (0, 5, "x"), (1, 6, "y"), (2, 5, "y"), (0, 6, "x"))
P_A = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.0, 0.3, 0.7]])
P_S = np.array([[0.9, 0.1], [0.3, 0.7]])
# Fewer sweeps and the check below no longer tells the planted beliefs from the right ones: .10 apart.
CHAINS = Chains(chains=8, sweeps=600, burn_in=50, every=3, most_sweeps=0)


def release(*, s_too: bool, suppressed: bool = False) -> PublishedRows:
    columns = (np.array([1, 1, SUPPRESSED if suppressed else 2, 0]), np.array([5.0, 6, 5, 6]), np.array([0, 1, 1, 0]))
    channel = {0: P_A, **({2: P_S} if s_too else {})}
    return PublishedRows(TABLE.attributes, columns, tuple(channel), channel)


def exact(masked: PublishedRows, person: tuple[int, int], alpha: float, beta: float) -> tuple[NDArray, NDArray]:
    """Learner and attacker by listing the true a and s of every row; b is published as it is."""
    b = codes_of(masked, 1)
    chance_s = masked.channel.get(2, np.eye(2))
    learner, attacker = np.zeros(2), np.zeros(2)
    for a in product(range(3), repeat=4):
        for s in product(range(2), repeat=4):
            weight = float(
                np.prod(
                    [
                        (1.0 if masked.columns[0][j] < 0 else masked.channel[0][a[j], masked.columns[0][j]])
                        * chance_s[s[j], masked.columns[2][j]]
                        for j in range(4)
                    ]
                )
            )
            if not weight:
                continue
            held = np.bincount(s, minlength=2)
            tables = [np.zeros((2, 3)), np.zeros((2, 2))]
            for j in range(4):
                tables[0][s[j], a[j]] += 1
                tables[1][s[j], b[j]] += 1
            weight *= np.exp(sum(map(lgamma, alpha + held)))
            for table in tables:
                for v in range(2):
                    weight *= np.exp(sum(map(lgamma, beta + table[v])) - lgamma(table.shape[1] * beta + held[v]))
            for v in range(2):
                shares = [(beta + t[v, x]) / (t.shape[1] * beta + held[v]) for t, x in zip(tables, person, strict=True)]
                learner[v] += weight * (alpha + held[v]) * np.prod(shares)
                attacker[v] += weight * sum(s[j] == v and (a[j], b[j]) == person for j in range(4))
    return learner / learner.sum(), attacker / attacker.sum()


CASES = [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize(("s_too", "suppressed"), chosen(CASES, [(True, False), (False, True)]))
def test_beliefs_are_those_of_all_true_tables(s_too: bool, suppressed: bool) -> None:
    masked = release(s_too=s_too, suppressed=suppressed)
    persons = [(0, 0), (1, 1), (2, 0)]
    known = {0: np.array([p[0] for p in persons]), 1: np.array([p[1] for p in persons])}
    found = channel_beliefs(masked, 2, known, alpha=1.5, beta=0.8, engine=Engine(seed=3), chains=CHAINS)
    for t, person in enumerate(persons):
        for name, truth in zip(("learner", "bayesian"), exact(masked, person, 1.5, 0.8), strict=True):
            chains = found[name].chains
            assert chains is not None
            error = chains[:, t, 0].std(ddof=1) / np.sqrt(len(chains)) + 1e-3
            assert abs(found[name].probability[t, 0] - truth[0]) < 5 * error, (person, name)
    if suppressed:
        return
    # The check can fail: of other chances of a the beliefs are others.
    other = PublishedRows(
        TABLE.attributes, masked.columns, masked.masked, {**masked.channel, 0: np.full((3, 3), 1 / 3)}
    )
    planted = exact(other, persons[0], 1.5, 0.8)[1]
    error = chains[:, 0, 0].std(ddof=1) / np.sqrt(len(chains)) + 1e-3
    assert abs(found["bayesian"].probability[0, 0] - planted[0]) > 5 * error


def test_a_known_value_that_did_not_change_gives_certainty() -> None:
    masked = PublishedRows(TABLE.attributes, release(s_too=False).columns, (0,), {0: np.eye(3)})
    found = channel_beliefs(
        masked, 2, {0: np.array([2]), 1: np.array([0])}, chains=Chains(sweeps=60, burn_in=10, most_sweeps=0, every=10)
    )
    assert found["bayesian"].probability.tolist() == [[0, 1]]
    with pytest.raises(UsageError, match="target 1 fits no row"):
        channel_beliefs(
            masked, 2, {0: np.array([2]), 1: np.array([1])}, chains=Chains(sweeps=60, most_sweeps=0, every=10)
        )


def test_what_cannot_be_read() -> None:
    columns = release(s_too=False).columns
    with pytest.raises(NotApplicable, match="chances of that are not published"):
        channel_beliefs(PublishedRows(TABLE.attributes, columns, (0,)), 2, {0: np.array([0])})
    never = np.array([[1.0, 0, 0]] * 3)
    with pytest.raises(NotApplicable, match="rule out"):
        channel_beliefs(PublishedRows(TABLE.attributes, columns, (0,), {0: never}), 2, {0: np.array([0])})
    noisy = PublishedRows(TABLE.attributes, (columns[0], columns[1] + 0.1, columns[2]), (0,), {0: P_A})
    with pytest.raises(NotApplicable, match="not in its domain"):
        channel_beliefs(noisy, 2, {0: np.array([0])})
    with pytest.raises(UsageError, match="at least one known"):
        channel_beliefs(release(s_too=False), 2, {})

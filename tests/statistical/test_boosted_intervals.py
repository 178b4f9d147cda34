"""How often the intervals of `boosted` hold: the same people, asked after other groups were learned from.

What a measure would be on average over such releases is the truth; every release states an interval for it.
"""

from dataclasses import replace

import numpy as np
import pytest

from one_round import attack
from small import QI, SENSITIVE, made_schema, made_table
from unveil import risk
from unveil.attackers.boosted import Boosted
from unveil.data.belief import Belief, t_quantile
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, build_release
from unveil.data.targets import targets_of_table
from unveil.engine import Engine

SCHEMA = made_schema(
    {name: {"role": QI, "domain": list("01234")} for name in "abc"} | {"s": {"role": SENSITIVE, "domain": list("wxyz")}}
)
ASKED, LEARNED, RELEASES = 180, 720, 8


def drawn(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.integers(5, size=(rows, 3))
    told = [1.2 * (x[:, 0] > 2), 1.2 * ((x[:, 0] + x[:, 1]) % 2), 0.8 * (x[:, 2] < 2), 0.5 * (x[:, 1] == x[:, 2])]
    p = np.exp(2.2 * np.stack(told, axis=1))
    p /= p.sum(axis=1, keepdims=True)
    return x, (random.random((rows, 1)) > np.cumsum(p, axis=1)).sum(axis=1)


def belief_after(seed: int) -> tuple[Belief, np.ndarray]:
    """Of the same people in groups of three, beside other groups."""
    (x, s), (more_x, more_s) = drawn(1, ASKED), drawn(100 + seed, LEARNED)
    x, s = np.concatenate([x, more_x]), np.concatenate([s, more_s])
    table = made_table(SCHEMA, *[(*map(str, row), "wxyz"[v]) for row, v in zip(x.tolist(), s.tolist(), strict=True)])
    group = np.arange(len(s)) // 3
    parts = [BlockRows((0, 1, 2), group, table.columns[:3]), BlockRows((3,), group, table.columns[3:])]
    release, number = build_release(table.attributes, [Regions.singles(a.codes) for a in table.attributes], parts)
    targets = replace(targets_of_table(table, release, 3), group=number[group]).take(np.arange(ASKED))
    return attack(Boosted(folds=4, rounds=100), release, targets, engine=Engine(seed=seed, workers=1)), s[:ASKED]


@pytest.mark.thorough
def test_intervals_hold_what_other_groups_would_have_taught() -> None:
    found = [belief_after(seed) for seed in range(RELEASES)]
    truth = found[0][1]
    beliefs = [belief for belief, _ in found]
    assert all(b.chains is not None for b in beliefs)
    measures = (
        lambda b: risk.global_threat(b, truth),
        lambda b: risk.squared_error(b, truth),
        lambda b: risk.confident(b, at_least=0.8),
        lambda b: risk.confident_wrong(b, truth, at_least=0.8),
        lambda b: risk.absolute_error(b, truth),
    )
    held, width = [], []
    for measure in measures:
        estimates = [measure(b) for b in beliefs]
        mean = np.mean([e.value for e in estimates])
        held.append(np.mean([e.low <= mean <= e.high for e in estimates]))
        width.append(np.mean([e.high - e.low for e in estimates]))
    assert np.mean(held) >= 0.9
    assert min(held) >= 0.75  # of eight releases; 60 releases of 1,500 rows: .90 to 1.00
    assert max(width) < 0.35  # and they say something
    mean = np.mean([b.probability for b in beliefs], axis=0)
    single = []
    for b in beliefs:
        assert b.chains is not None
        half = t_quantile(len(b.chains)) * b.chains.std(axis=0, ddof=1)
        single.append(np.mean(np.abs(b.probability - mean) <= half))
    assert np.mean(single) >= 0.9

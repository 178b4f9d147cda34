"""Baručić and Kybic 2021, Fast learning from label proportions with small bags: the reader `boosted`, ours alone.

The paper's data are not tables; what must hold of the reader here is what its study found on Adult, and what no reader
may do: claim to know where there is nothing to know.
"""

import resource
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from papers import Figure
from realdata.adult import adult_schema
from realdata.hospital import hospital_table
from unveil import catalog, risk
from unveil.attackers import attack
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.boosted import Boosted
from unveil.attackers.posterior.averages import shares
from unveil.attackers.posterior.boosting import BagModel, Settings
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.posterior.cross_fitted import CrossFitted
from unveil.attackers.random_worlds import RandomWorlds
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Belief, Targets
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine

QUASI_IDENTIFIERS = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
WHERE = "our study; group known"
CHAINS = Chains(chains=2, sweeps=300, burn_in=300, most_sweeps=300)
TABLES = 20
Floats = NDArray[np.float64]


def reproduce() -> Iterator[Figure]:
    """Made-up tables: where the model is right for naive Bayes, where there is nothing to learn, and what is chosen."""
    yield from _drawn_from_naive_bayes()
    yield from _random_labels()


def reproduce_slowly(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Adult, the demo's hospital, and twenty random tables."""
    names = (*QUASI_IDENTIFIERS, "occupation")
    table = Table.from_columns(adult_schema(columns, QUASI_IDENTIFIERS, "occupation"), {n: columns[n] for n in names})
    for l, least in ((2, 0.84), (4, 0.61), (6, 0.47)):
        release, targets, truth = _attacked(table, f"anatomy:l={l}", "occupation")
        before = _cpu()
        belief = attack(Boosted(), release, targets, engine=Engine(seed=0))
        spent = _cpu() - before
        naive = attack(Bayesian(), release, targets, engine=Engine(seed=0), chains=CHAINS)
        yield _at_least(f"Adult, Anatomy l={l}: right", risk.global_threat(belief, truth).value, least)
        yield _at_most(f"Adult, l={l}: log-loss, at most bayesian's", _loss(belief, truth), _loss(naive, truth))
        if l == 4:
            yield _at_most("Adult, l=4: calibration error", risk.calibration_error(belief, truth).value, 0.02)
            yield _at_most("Adult, l=4: s CPU of the cross-fitted fit", spent, 15.0)
    release, targets, truth = _attacked(table, "mondrian:k=5,l=3", "occupation")
    both = [_loss(attack(one, release, targets, engine=Engine(seed=0)), truth) for one in (Boosted(), RandomWorlds())]
    yield _at_most("Adult, Mondrian k=5, l=3: log-loss, at most random worlds'", *both)
    release, targets, truth = _attacked(hospital_table(3000), "anatomy:l=3", "diagnosis")
    yield _at_most("hospital, 3,000 rows, l=3: log-loss", _loss(attack(Boosted(), release, targets), truth), 0.4)
    found = [_order(seed) for seed in range(TABLES)]
    yield _at_least(f"{TABLES} random tables: Spearman, held-out score and log-loss", float(np.mean(found)), 0.8)


def _at_least(name: str, ours: float, least: float) -> Figure:
    return Figure(f"{name}, at least {least:g}", WHERE, max(ours, least), ours, self_check=True)


def _at_most(name: str, ours: float, most: float) -> Figure:
    return Figure(f"{name}, at most {most:.3g}", WHERE, min(ours, most), ours, self_check=True)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _loss(belief: Belief, truth: NDArray[np.int64]) -> float:
    return float(-np.log(np.maximum(belief.probability[np.arange(len(truth)), truth], 1e-6)).mean())


def _attacked(table: Table, scheme: str, sensitive: str) -> tuple[Release, Targets, NDArray[np.int64]]:
    made = catalog.anonymizer(scheme).anonymize(table, Engine(seed=1))
    asked = made.release.index(sensitive)
    targets = replace(targets_of_table(table, made.release, asked), group=made.group_of_row.astype(np.int64))
    return made.release, targets, table.columns[table.index(sensitive)].astype(np.int64)


def _table(columns: Sequence[NDArray[np.int64]], codes: int) -> Table:
    """Columns of as many codes each; the last is sensitive."""
    roles = [Role.QUASI_IDENTIFIER] * (len(columns) - 1) + [Role.SENSITIVE]
    values = tuple(map(str, range(codes)))
    attributes = tuple(Attribute(f"a{i}", role, Kind.CATEGORICAL, values) for i, role in enumerate(roles))
    return Table(attributes, tuple(column.astype(np.uint8) for column in columns), name="made up")


def _drawn_from_naive_bayes() -> Iterator[Figure]:
    """Four values, four attributes that depend on the value alone: the sampler's own model."""
    random = np.random.default_rng(4)
    s = random.integers(4, size=4000)
    theta = random.dirichlet(np.full(5, 0.7), size=(4, 4))  # (attributes, values, codes)
    rows = [(random.random(len(s))[:, None] > np.cumsum(theta[a][s], axis=1)).sum(axis=1) for a in range(4)]
    table = _table([*(np.minimum(r, 4) for r in rows), s], 5)
    release, targets, truth = _attacked(table, "anatomy:l=3", "a4")
    boosted = attack(Boosted(), release, targets, engine=Engine(seed=0))
    naive = attack(Bayesian(), release, targets, engine=Engine(seed=0), chains=CHAINS)
    less = risk.global_threat(naive, truth).value - risk.global_threat(boosted, truth).value
    yield _at_most("drawn from naive Bayes: right, less than bayesian", less, 0.01)


def _random_labels() -> Iterator[Figure]:
    random = np.random.default_rng(7)
    table = _table([random.integers(5, size=4000) for _ in range(5)], 5)
    release, targets, truth = _attacked(table, "anatomy:l=3", "a4")
    belief = attack(Boosted(), release, targets, engine=Engine(seed=0))
    plain = risk.global_threat(attack(RandomWorlds(), release, targets), truth).value
    error = (plain * (1 - plain) / len(truth)) ** 0.5
    off = abs(risk.global_threat(belief, truth).value - plain) / error
    yield _at_most("random labels: standard errors from chance", off, 3.0)
    yield _at_most("random labels: people believed 80% or more", risk.confident(belief).value, 0.0)


def _order(seed: int) -> float:
    """Of one random table: how well the held-out score orders readers as their true log-loss does."""
    random = np.random.default_rng(100 + seed)
    rows = int(random.integers(600, 2500))
    columns = [random.integers(5, size=rows) for _ in range(4)]
    table = random.dirichlet(np.full(5, 0.3), size=(5, 5))  # by the first two: shares of the values
    s = np.minimum((random.random(rows)[:, None] > np.cumsum(table[columns[0], columns[1]], axis=1)).sum(axis=1), 4)
    release, targets, truth = _attacked(_table([*columns, s], 5), "anatomy:l=2", "a4")
    whole = CrossFitted.of(release, 4, Settings(rounds=200), Engine(seed=seed))
    (model,) = whole.models
    readers = [
        replace(model, rounds=rounds, mixed=mixed, temperature=temperature)
        for rounds, mixed, temperature in (
            (0, 0.0, 1.0), (5, 0.0, 1.0), (20, 0.0, 1.0), (model.rounds, 0.0, 1.0), (200, 0.0, 2.0), (0, 1.0, 1.0),
            (0, 1.0, 2.0), (model.rounds, 0.5, 1.0),
        )
    ]  # fmt: skip
    from scipy.stats import spearmanr

    score = [one.held_out() for one in readers]
    loss = [_true_loss(whole, one, targets, truth) for one in readers]
    return float(-spearmanr(score, loss).statistic)


def _true_loss(whole: CrossFitted, model: BagModel, targets: Targets, truth: NDArray[np.int64]) -> float:
    made = CrossFitted.matching(whole.release, whole.asked, whole.columns, whole.fold, (model,), (model.of_entries(),))
    return _loss(Belief(shares(made.members(targets))), truth)

"""The reader `boosted`: how well it guesses beside `bayesian`, what it costs, and what it must not claim."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks import Row
from benchmarks._timing import best_cpu
from realdata.adult import adult_schema, read_adult
from realdata.hospital import hospital_table
from unveil import catalog, risk
from unveil.attackers import Chains, attack
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.boosted import Boosted
from unveil.attackers.posterior.boosting import Settings
from unveil.attackers.posterior.cross_fitted import CrossFitted
from unveil.attackers.random_worlds import RandomWorlds
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Belief, Targets
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine

__all__ = ["adult_table", "asked_of", "log_loss", "measure", "published"]

QUASI_IDENTIFIERS = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
SECRET = "occupation"
COARSE = Chains(precision=0.02)  # of `bayesian`, from whom log-losses lie far
RIGHT = {2: 0.84, 4: 0.61, 6: 0.47}
FEW = 3_000  # people of the made-up hospital, and of made-up tables
TABLES = 20


def measure() -> Iterator[Row]:
    """Adult and the made-up hospital, groups known; then tables whose rule is known."""
    adult = adult_table()
    for l, least in RIGHT.items():
        release, targets, truth = published(adult, f"anatomy:l={l}", adult.rows)
        spent, belief = asked_of(release, targets)
        yield Row(f"Adult, Anatomy l={l}: right", risk.global_threat(belief, truth).value, floor=f">= {least}")
        naive = log_loss(attack(Bayesian(), release, targets, engine=Engine(seed=0), chains=COARSE), truth)
        yield Row("… log-loss less that of `bayesian`", log_loss(belief, truth) - naive, floor="<= 0")
        if l == 4:
            yield Row("… calibration error", risk.calibration_error(belief, truth).value, floor="<= 0.02")
            yield Row("… cross-fitted fit and beliefs", spent, unit="s CPU", floor="<= 15")
    release, targets, truth = published(adult, "mondrian:k=5,l=3", adult.rows)
    loss = log_loss(asked_of(release, targets)[1], truth)
    plain = log_loss(attack(RandomWorlds(), release, targets), truth)
    yield Row("Adult, Mondrian k=5, l=3: log-loss less that of random worlds", loss - plain, floor="<= 0")
    release, targets, truth = published(hospital_table(FEW), "anatomy:l=3", FEW, "diagnosis")
    loss = log_loss(asked_of(release, targets)[1], truth)
    yield Row(f"hospital, {FEW:,} rows, Anatomy l=3: log-loss", loss, floor="<= 0.4")
    yield from _made_up()


def adult_table() -> Table:
    """Seven quasi-identifiers and the occupation."""
    columns = read_adult()
    return Table.from_columns(
        adult_schema(columns, QUASI_IDENTIFIERS, SECRET), {n: columns[n] for n in (*QUASI_IDENTIFIERS, SECRET)}
    )


def _made_up() -> Iterator[Row]:
    """Whether the score of held-out groups says which reader is better; what is lost where naive Bayes is right, and
    what is claimed where there is nothing to learn."""
    from scipy.stats import spearmanr

    orders = [spearmanr(*_scored(*_drawn(seed, 1000))).statistic for seed in range(TABLES)]
    note = f"least {min(orders):.2f}; 8 readers each: naive Bayes, trees of several ages and temperatures, nothing"
    name = f"{TABLES} made-up tables: Spearman of held-out score and true log-loss, mean"
    yield Row(name, float(np.mean(orders)), floor=">= 0.8", note=note)
    lost = []
    for seed in range(3):
        release, targets, truth = _drawn(seed, FEW, pairs=0.0)
        both = asked_of(release, targets)[1], attack(Bayesian(), release, targets, engine=Engine(seed=0), chains=COARSE)
        lost.append(risk.global_threat(both[1], truth).value - risk.global_threat(both[0], truth).value)
    note = ", ".join(f"{one:+.4f}" for one in lost)
    yield Row("data of naive Bayes: fewer right than `bayesian`", float(np.mean(lost)), floor="<= 0.01", note=note)
    apart, sure = [], 0
    for seed in range(3):
        release, targets, truth = _drawn(seed, FEW, mains=0.0, pairs=0.0)
        belief, plain = asked_of(release, targets)[1], attack(RandomWorlds(), release, targets)
        right, by_chance = (risk.global_threat(one, truth).value for one in (belief, plain))
        apart.append(abs(right - by_chance) / (by_chance * (1 - by_chance) / FEW) ** 0.5)
        sure += int((belief.probability.max(axis=1) >= 0.8).sum())
    yield Row("random labels: right, standard errors from the matching's own", max(apart), floor="<= 3")
    yield Row("… people believed 80% or more", sure, floor="<= 0")


def _drawn(
    seed: int, rows: int, *, mains: float = 1.0, pairs: float = 1.0
) -> tuple[Release, Targets, NDArray[np.int64]]:
    """Five attributes, independent given the value up to effects of pairs, sizes of both at random; Anatomy l=3."""
    random = np.random.default_rng(seed)
    codes = random.integers(2, 7, size=5)
    s = random.choice(4, size=rows, p=random.dirichlet(400 * np.ones(4)))
    size, joint = mains * random.uniform(0.2, 1.2), pairs * random.uniform(0.0, 2.0)
    columns: list[NDArray[np.int64]] = []
    for a, n in enumerate(codes):
        score = size * random.normal(size=(4, n))[s]
        if a % 2:  # with the one before, too
            score = score + joint * random.normal(size=(4, codes[a - 1], n))[s, columns[-1]]
        columns.append((score + random.gumbel(size=score.shape)).argmax(axis=1))
    known = [
        Attribute(f"q{a}", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple("abcdef"[:n])) for a, n in enumerate(codes)
    ]
    secret = Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, tuple("wxyz"))
    every = [c.astype(a.dtype) for c, a in zip((*columns, s), (*known, secret), strict=True)]
    return published(Table((*known, secret), tuple(every)), "anatomy:l=3", rows, "s")


def _scored(release: Release, targets: Targets, truth: NDArray[np.int64]) -> tuple[list[float], list[float]]:
    """Of readers with one fit: the score of held-out groups, and the log-loss they have in truth, less is more."""
    fitted = CrossFitted.of(release, targets.asked, Settings(), Engine(seed=0))
    (model,) = fitted.models
    plain = replace(model, mixed=0.0, temperature=1.0)
    most = min(len(forest.attribute) for forest in model.forests)
    readers = [model, replace(plain, mixed=1.0), replace(plain, rounds=0)]
    readers += [replace(plain, rounds=r) for r in (10, 40, most)]
    readers += [replace(plain, rounds=most, temperature=t) for t in (0.5, 2.0)]
    scores, losses = [], []
    for one in readers:
        fit = fitted.release, fitted.asked, fitted.columns, fitted.fold, (one,), (one.of_entries(),)
        belief = CrossFitted.matching(*fit).members(targets)
        scores.append(one.held_out())
        losses.append(-log_loss(Belief(belief / belief.sum(axis=1, keepdims=True)), truth))
    return scores, losses


def published(
    table: Table, scheme: str, people: int, secret: str = SECRET
) -> tuple[Release, Targets, NDArray[np.int64]]:
    """The release, some of its people with their groups, and what they have."""
    made = catalog.anonymizer(scheme).anonymize(table, Engine(seed=1))
    targets = targets_of_table(table, made.release, made.release.index(secret))
    targets = replace(targets, group=made.group_of_row.astype(np.int64))
    some = np.sort(np.random.default_rng(0).permutation(table.rows)[:people])
    return made.release, targets.take(some), table.columns[table.index(secret)][some].astype(np.int64)


def asked_of(release: Release, targets: Targets, most_rows: int = 100_000) -> tuple[float, Belief]:
    """Learning and asking, in s CPU, and what is believed."""
    found: list[Belief] = []
    reader = Boosted(repeats=0, most_rows=most_rows)
    spent = best_cpu(lambda: found.append(attack(reader, release, targets, engine=Engine(seed=0))), 1)
    return spent, found[0]


def log_loss(belief: Belief, truth: NDArray[np.int64]) -> float:
    return float(-np.log(np.maximum(belief.probability[np.arange(len(truth)), truth], 1e-6)).mean())

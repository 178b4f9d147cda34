"""The reader `boosted`: what it costs, how that grows to three million rows, and how well it guesses."""

import gc
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks import Row
from benchmarks._growth import resampled
from benchmarks._timing import best_cpu
from realdata.adult import adult_schema, read_adult
from realdata.hospital import hospital_table
from unveil import catalog, risk
from unveil.attackers import attack
from unveil.attackers.boosted import Boosted
from unveil.attackers.random_worlds import RandomWorlds
from unveil.data.belief import Belief, Targets
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine

QUASI_IDENTIFIERS = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
SECRET = "occupation"
RIGHT = {2: 0.84, 4: 0.61, 6: 0.47}
ROWS = (30_162, 301_620, 3_016_200)
ASKED = 20_000  # people: enough for the loss, whatever the number of rows
MANY = 300_000  # people of the made-up hospital, of whom 100,000 are learned from unless all are


def measure() -> Iterator[Row]:
    """Adult, group known; then rows drawn from it, ages moved by up to two years, ten and a hundred times as many."""
    columns = read_adult()
    adult = Table.from_columns(
        adult_schema(columns, QUASI_IDENTIFIERS, SECRET), {n: columns[n] for n in (*QUASI_IDENTIFIERS, SECRET)}
    )
    for l, least in RIGHT.items():
        release, targets, truth = _published(adult, f"anatomy:l={l}", adult.rows)
        spent, belief = _asked(release, targets)
        yield Row(f"Adult, Anatomy l={l}: right", risk.global_threat(belief, truth).value, floor=f">= {least}")
        if l == 4:
            yield Row("… calibration error", risk.calibration_error(belief, truth).value, floor="<= 0.02")
            yield Row("… cross-fitted fit and beliefs", spent, unit="s CPU", floor="<= 15")
    release, targets, truth = _published(adult, "mondrian:k=5,l=3", adult.rows)
    loss = _loss(_asked(release, targets)[1], truth)
    plain = _loss(attack(RandomWorlds(), release, targets), truth)
    yield Row("Adult, Mondrian k=5, l=3: log-loss less that of random worlds", loss - plain, floor="<= 0")
    for scheme in ("anatomy:l=4", "mondrian:k=5,l=3", "mondrian:k=5,l=3,recoding=order"):
        each = []
        for rows in ROWS:
            release, targets, truth = _published(resampled(adult, rows, postcode=False), scheme, ASKED)
            spent, belief = _asked(release, targets)
            each.append(spent)
            learned = belief.diagnostics.facts.get("rows_learned_from", float(rows))
            note = f"learned from {learned:,.0f} rows; log-loss {_loss(belief, truth):.4f}"
            yield Row(f"{scheme}, {rows:,} rows", spent, unit="s CPU", note=note)
            del release, targets, belief
            gc.collect()
        grown = each[-1] / each[0] / (ROWS[-1] / ROWS[0])
        yield Row(f"{scheme}: growth over linear, a hundred times the rows", grown, unit="times", floor="<= 1")
    yield from _learned_from_all()


def _learned_from_all() -> Iterator[Row]:
    """What is lost by learning from 100,000 rows: people of whom nobody is in the table twice."""
    hospital = hospital_table(MANY)
    for scheme in ("anatomy:l=3", "mondrian:k=5,l=3"):
        release, targets, truth = _published(hospital, scheme, ASKED, "diagnosis")
        lost = []
        for most in (100_000, MANY):
            spent, belief = _asked(release, targets, most)
            lost.append(_loss(belief, truth))
            right = risk.global_threat(belief, truth).value
            name = f"hospital, {scheme}, {MANY:,} rows, learned from {most:,}: log-loss"
            yield Row(name, lost[-1], note=f"{right:.4f} right, {spent:.0f} s CPU")
        yield Row(f"hospital, {scheme}: log-loss that all rows would save", lost[0] - lost[1], floor="<= 0.02")


def _published(
    table: Table, scheme: str, people: int, secret: str = SECRET
) -> tuple[Release, Targets, NDArray[np.int64]]:
    """The release, some of its people with their groups, and what they have."""
    made = catalog.anonymizer(scheme).anonymize(table, Engine(seed=1))
    targets = targets_of_table(table, made.release, made.release.index(secret))
    targets = replace(targets, group=made.group_of_row.astype(np.int64))
    some = np.sort(np.random.default_rng(0).permutation(table.rows)[:people])
    return made.release, targets.take(some), table.columns[table.index(secret)][some].astype(np.int64)


def _asked(release: Release, targets: Targets, most_rows: int = 100_000) -> tuple[float, Belief]:
    """Learning and asking, in s CPU, and what is believed."""
    found: list[Belief] = []
    reader = Boosted(repeats=0, most_rows=most_rows)
    spent = best_cpu(lambda: found.append(attack(reader, release, targets, engine=Engine(seed=0))), 1)
    return spent, found[0]


def _loss(belief: Belief, truth: NDArray[np.int64]) -> float:
    return float(-np.log(np.maximum(belief.probability[np.arange(len(truth)), truth], 1e-6)).mean())

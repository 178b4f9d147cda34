"""The learner without a person's group, beside really leaving the group out."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from one_round import attack
from unveil import catalog
from unveil.attackers.learner import Learner
from unveil.attackers.learner_without import LearnerWithout
from unveil.attackers.posterior.contract import Chains
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known, Targets
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine

CHAINS = Chains(chains=2, sweeps=150, burn_in=100, keep=150, most_sweeps=0, every=1)
Floats = NDArray[np.float64]


@cache
def table() -> Table:
    random = np.random.default_rng(8)
    s = random.integers(3, size=120)
    age = np.where(random.random(120) < 0.6, 2 * s + random.integers(3, size=120), random.integers(8, size=120))
    sex = np.where(random.random(120) < 0.7, s == 2, random.integers(2, size=120))
    place = np.arange(8.0)
    attributes = (
        Attribute("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC, tuple("01234567"), low=place, high=place),
        Attribute("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, ("f", "m")),
        Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, ("a", "b", "c")),
    )
    return Table(attributes, tuple(c.astype(np.uint8) for c in (np.minimum(age, 7), sex, s)), name="made up")


def without(release: Release, group: int) -> Release:
    """The same release, the group's rows gone."""
    parts = []
    for block in release.blocks:
        kept = block.group != group
        number = block.group[kept] - (block.group[kept] > group)
        parts.append(
            BlockRows(
                block.attributes, number, tuple(block.region(i)[kept] for i in block.attributes), block.count[kept]
            )
        )
    return build_release(release.attributes, release.regions, parts)[0]


def blocks_of(*blocks: tuple[int, ...], size: int) -> tuple[Release, NDArray[np.int64]]:
    group = np.arange(table().rows) // size
    parts = [BlockRows(block, group, tuple(table().columns[i] for i in block)) for block in blocks]
    release, number = build_release(table().attributes, [Regions.singles(a.codes) for a in table().attributes], parts)
    return release, number[group]


def compared(release: Release, group: NDArray[np.int64], people: int = 6) -> tuple[Floats, Floats, Floats]:
    """Of some people: the learner, the learner without their group, and the learner of the release without it."""
    targets = targets_of_table(table(), release, release.index("s"))
    some = replace(targets.take(np.arange(people)), group=group[:people])
    engine = Engine(seed=2)
    mine = attack(LearnerWithout(), release, some, engine=engine, chains=CHAINS).probability
    plain = attack(Learner(), release, replace(some, group=None), engine=engine, chains=CHAINS).probability
    really = [
        attack(Learner(), without(release, int(group[n])), targets.take(np.array([n])), engine=engine, chains=CHAINS)
        for n in range(people)
    ]
    return plain, mine, np.concatenate([belief.probability for belief in really])


def test_exact_where_values_stand_beside_single_cells() -> None:
    plain, mine, really = compared(*blocks_of((0, 1, 2), size=4))
    assert mine == pytest.approx(really, abs=1e-9)
    assert np.abs(plain - really).max() > 0.005  # the group's own rows do teach


@pytest.mark.parametrize("k", [4, 6, 20])
def test_wide_cells(k: int) -> None:
    """Where a group's region is nobody else's the rest is read otherwise, too: exact where regions are nested."""
    made = catalog.anonymizer(f"mondrian:k={k}").anonymize(table(), Engine(seed=1))
    plain, mine, really = compared(made.release, made.group_of_row.astype(np.int64), people=12)
    assert mine == pytest.approx(really, abs=1e-6)
    assert np.abs(plain - really).mean() > 0.1  # the group's own rows do teach


def test_wide_cells_that_overlap() -> None:
    """Chains of the whole and of the rest; what is left is their error and that of a fixed point beside a mean."""
    low = np.sort(table().columns[0].astype(np.int64))
    order = np.argsort(table().columns[0], kind="stable")
    group = np.empty(table().rows, dtype=np.int64)
    group[order] = np.arange(table().rows) // 6
    first = np.minimum.reduceat(low, np.arange(0, table().rows, 6))
    last = np.maximum.reduceat(low, np.arange(0, table().rows, 6))
    reach = np.arange(len(first)) % 3
    regions = [Regions.intervals(8, np.maximum(first - reach, 0), np.minimum(last + 2 - reach, 7))]
    regions += [Regions.singles(a.codes) for a in table().attributes[1:]]
    cells = (group, table().columns[1], table().columns[2])
    release, number = build_release(table().attributes, regions, [BlockRows((0, 1, 2), group, cells)])
    plain, mine, really = compared(release, number[group], people=12)
    assert np.abs(mine - really).mean() < 0.2 * np.abs(plain - really).mean()
    assert np.abs(mine - really).max() < 0.05


def test_hidden_links() -> None:
    """Chains of the whole and of the rest: closer to the rest than the learner is, beyond their own error."""
    plain, mine, really = compared(*blocks_of((0, 1), (2,), size=3), people=4)
    assert np.abs(mine - really).mean() < 0.75 * np.abs(plain - really).mean()
    assert np.abs(mine - really).max() < 0.05


def test_several_groups_may_be_theirs() -> None:
    """Each of them is left out in turn, by how many of its rows fit."""
    release, group = blocks_of((0, 1, 2), size=4)
    targets = targets_of_table(table(), release, 2).take(np.array([0]))
    fits = [n for n in range(table().rows) if all(table().columns[i][n] == table().columns[i][0] for i in (0, 1))]
    expected = np.mean(
        [attack(LearnerWithout(), release, replace(targets, group=group[[n]])).probability[0] for n in fits], axis=0
    )
    assert attack(LearnerWithout(), release, targets).probability[0] == pytest.approx(expected, abs=1e-9)


def test_who_fits_no_row_and_who_may_be_mistaken() -> None:
    release, group = blocks_of((0, 1, 2), size=4)
    nobody = Targets(2, {}, 1)
    both = [attack(one, release, nobody).probability for one in (Learner(), LearnerWithout())]
    assert np.array_equal(*both)
    known = replace(targets_of_table(table(), release, 2).take(np.array([0])), group=group[:1])
    doubted = replace(known, known={i: replace(k, wrong=0.3) for i, k in known.known.items()})
    mine = attack(LearnerWithout(), release, doubted).probability
    really = attack(Learner(), without(release, int(group[0])), replace(doubted, group=None)).probability
    assert mine == pytest.approx(really, abs=1e-9)


def test_boosting_has_one_too() -> None:
    release, _ = blocks_of((0, 1), (2,), size=3)
    targets = targets_of_table(table(), release, 2)
    belief = attack(LearnerWithout(model="boosted"), release, targets)
    assert belief.threat.membership == "not known, and the group left out"
    assert belief.probability.shape == (120, 3)
    outside = Targets(2, {0: Known.exactly(release.attributes[0], np.array([7])),
                          1: Known.exactly(release.attributes[1], np.array([0]))}, 1)  # fmt: skip
    attack(LearnerWithout(model="boosted"), release, outside)

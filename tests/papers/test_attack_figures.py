"""What the papers say an attacker believes, to the digit where it is exact."""

import numpy as np
import pytest

from enumeration import enumerate_attacker, linked_attacker, linked_learner_joint, pseudo_counts
from one_round import attack
from papers import boreale_2020, kifer_2009
from papers._printed import printed_release, printed_schema
from small import QI, SENSITIVE, made_schema
from unveil.attackers import Attacker
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.fixed_prior import FixedPrior
from unveil.attackers.learner import Learner
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.catalog import anonymizer
from unveil.data.belief import Belief, Prior, Targets
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine

AGES = [
    [str(a), f"[{a // 5 * 5},{a // 5 * 5 + 4}]", f"[{a // 20 * 20},{a // 20 * 20 + 19}]", "*"] for a in range(20, 60)
]


def ask(attacker: Attacker, release: Release, targets: Targets, chains: Chains | None = None) -> Belief:
    return attack(attacker, release, targets, engine=Engine(seed=4), chains=chains)


def people(rows: int) -> Table:
    random = np.random.default_rng(7)
    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 59}},
            "zip": {"role": QI, "domain": ["45501", "45502", "45601", "46001"]},
            "disease": {"role": SENSITIVE, "domain": ["flu", "hiv", "none", "rare"]},
        },
        {"age": AGES, "zip": [[z, f"{z[:3]}**", "*"] for z in ("45501", "45502", "45601", "46001")]},
    )
    age = random.integers(20, 60, rows)
    area = random.integers(4, size=rows)
    disease = (random.random(rows) * 3 * (age < 40) + (area == 1)).astype(int)
    columns = {
        "age": [str(a) for a in age],
        "zip": [("45501", "45502", "45601", "46001")[z] for z in area],
        "disease": [("flu", "hiv", "none", "rare")[d] for d in disease],
    }
    return Table.from_columns(schema, columns)


@pytest.mark.parametrize("levels", ["0+0", "1+1", "2+0", "0+2", "2+1", "3+2"])
@pytest.mark.parametrize("group_known", [False, True])
def test_full_domain_recoding_without_suppression_is_random_worlds(levels: str, group_known: bool) -> None:
    """Every row's cell is as wide as its neighbours': what is learned inside a region cancels."""
    table = people(300)
    made = anonymizer(f"full_domain:levels={levels}").anonymize(table, Engine(seed=1))
    targets = targets_of_table(table, made.release, 2, group=made.group_of_row if group_known else None)
    attacker, worlds = ask(Bayesian(), made.release, targets), ask(RandomWorlds(), made.release, targets)
    assert attacker.exact
    assert attacker.probability == pytest.approx(worlds.probability, abs=1e-9)


def test_with_suppression_it_is_not_random_worlds() -> None:
    table = people(300)
    made = anonymizer("full_domain:levels=1+1,k=8,suppress=1").anonymize(table, Engine(seed=1))
    assert made.release.suppressed().any()
    targets = targets_of_table(table, made.release, 2)
    attacker, worlds = ask(Bayesian(), made.release, targets), ask(RandomWorlds(), made.release, targets)
    assert attacker.exact
    assert np.abs(attacker.probability - worlds.probability).max() > 0.01


def test_remark_5() -> None:
    release, target = boreale_2020.remark_5()
    assert release.rows == 10**6
    learner = ask(Learner(), release, target).probability[0, 0]
    attacker = ask(Bayesian(), release, target).probability[0, 0]
    expected = (4 / 1001) / (4 / 1001 + 10**6 / (1000 + 999_999))
    assert learner == pytest.approx(expected, abs=1e-9)
    assert learner == pytest.approx(0.003984, abs=5e-7)
    assert attacker == pytest.approx(1, abs=1e-12)
    assert attacker / learner == pytest.approx(251.0, abs=0.05)


@pytest.mark.parametrize("share", [0.5, 0.01, 1e-6])
@pytest.mark.parametrize(("people", "tested"), [(2, 0), (101, 0), (10**6, 0), (101, 1), (101, 40), (101, 100)])
def test_island_problem_and_database_search(people: int, tested: int, share: float) -> None:
    release, target = boreale_2020.island(people, tested)
    assert release.rows == people
    known = attack(FixedPrior(), release, target, boreale_2020.trait_known(share), Engine(seed=0))
    assert known.probability[0, 1] == pytest.approx(1 / (1 + (people - 1 - tested) * share), abs=1e-9)
    learned = ask(Bayesian(), release, target)
    assert learned.exact
    assert learned.probability[0, 1] == pytest.approx((tested + 2) / (people + 1), abs=1e-9)


def test_the_toy_table_by_enumeration() -> None:
    """Nationalities overlap ({Malaysia, Japan} and {India, Malaysia}), so that two diseases are sampled."""
    release = boreale_2020.table_i("b")
    target = boreale_2020.victim(release)
    prior = pseudo_counts(release, 2)
    knowledge = {a: [int(c == k.of_target[0]) for c in range(k.regions.codes)] for a, k in target.known.items()}
    heart, flu = boreale_2020.DISEASES.index("Heart"), boreale_2020.DISEASES.index("Flu")
    exact = [float(p) for p in linked_attacker(release, 2, prior, knowledge)]
    assert exact[heart] == pytest.approx(7 / 12, abs=1e-15)
    assert exact[flu] == pytest.approx(5 / 12, abs=1e-15)
    chains = Chains(sweeps=20_000, most_sweeps=0, every=10)
    attacker = ask(Bayesian(), release, target, chains).probability[0]
    assert attacker == pytest.approx(exact, abs=0.003)
    joint = np.array([float(p) for p in linked_learner_joint(release, 2, prior, knowledge)])
    learner = ask(Learner(), release, target, chains).probability[0]
    assert learner == pytest.approx(joint / joint.sum(), abs=0.003)
    worlds = ask(RandomWorlds(), release, target).probability[0]
    assert worlds[[heart, flu]] == pytest.approx([0.5, 0.5], abs=1e-12)


def test_tuple_12_of_table_6() -> None:
    release = kifer_2009.table_6()
    target = kifer_2009.tuple_12(release)
    assert target.group is not None
    no = release.attributes[0].values.index("n")
    knowledge = {0: [int(c == no) for c in range(2)]}
    exact = enumerate_attacker(release, 1, pseudo_counts(release, 1), knowledge, int(target.group[0]))
    cancer = release.attributes[1].values.index("Cancer")
    assert float(exact[cancer]) == 0.15625
    # A chain of 30,000 sweeps has a standard deviation of .003 over seeds; `make papers` holds far longer ones to .002.
    chains = Chains(chains=8, sweeps=3000, burn_in=200, every=5, most_sweeps=0)
    each = ask(Bayesian(), release, target, chains).chains[:, 0, cancer]
    error = each.std(ddof=1) / np.sqrt(len(each))
    assert error < 0.0057
    assert abs(each.mean() - 0.15625) <= 5 * error
    assert kifer_2009.believed(ask(RandomWorlds(), release, target), release, "Cancer") == pytest.approx(0.5)


def test_the_45_year_old_of_section_5_2() -> None:
    """One of three in [16-45] has heart disease; the older groups have more of it, so the 45-year-old is likelier."""
    release = kifer_2009.section_5_2()
    targets = kifer_2009.aged(release, 45, 30, 16)
    heart = release.attributes[1].values.index("heart disease")
    plain = ask(Bayesian(), release, targets)
    assert plain.exact
    assert plain.probability[:, heart] == pytest.approx([1 / 3] * 3, abs=1e-12)
    prior = Prior.uninformative(release, 1, smooth={0: 5.0})
    belief = attack(Bayesian(), release, targets, prior, Engine(seed=4), kifer_2009.LONG)
    assert belief.chains is not None
    error = belief.chains[:, :, heart].std(axis=0, ddof=1) / 2
    found = belief.probability[:, heart]
    assert found[0] - 5 * error[0] > 1 / 3
    assert found[0] - found[2] > 5 * np.hypot(error[0], error[2])  # and more than of the 16-year-old
    learner = attack(Learner(), release, targets, prior, Engine(seed=4), kifer_2009.LONG).probability[:, heart]
    assert learner[0] > learner[1] > learner[2]  # the learner, too, learns inside the region


def test_smoothing_alone_teaches_nothing_of_section_5_2() -> None:
    """Heart disease is as common in every range: the 45-year-old stays at the overall half."""
    even = {"[0,5]": 6, "[6,10]": 6, "[11,15]": 6, "[16,45]": 30, "[46,50]": 6, "[51,55]": 6}
    attributes = {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 55}},
        "disease": {"role": SENSITIVE, "domain": ["heart disease", "other"]},
    }
    rows = [f"{age};{d}" for age, n in even.items() for d in ["heart disease"] * (n // 2) + ["other"] * (n // 2)]
    release = printed_release("\n".join(["age;disease", *rows]), made_schema(attributes))
    prior = Prior.uninformative(release, 1, smooth={0: 5.0})
    belief = attack(Bayesian(), release, kifer_2009.aged(release, 45), prior, Engine(seed=4), kifer_2009.LONG)
    assert belief.chains is not None
    error = belief.chains[:, 0, 0].std(ddof=1) / 2
    assert abs(belief.probability[0, 0] - 1 / 2) <= 5 * error


@pytest.mark.parametrize(("alpha", "expected"), [(2.0, 100 / 101), (1.0, 0.990098)])
def test_tuple_200_of_table_1(alpha: float, expected: float) -> None:
    release = kifer_2009.table_1()
    assert release.rows == 200
    target = kifer_2009.tuple_200(release)
    prior = Prior.uninformative(release, 1, alpha=alpha)
    belief = attack(Bayesian(), release, target, prior, Engine(seed=4), kifer_2009.LONG)
    assert kifer_2009.believed(belief, release, "y") == pytest.approx(expected, abs=1e-3)
    assert belief.chains is not None
    error = belief.chains[:, 0].std(axis=0, ddof=1).max() / 2
    assert error < 5e-4


def test_ties_in_order_are_anatomy() -> None:
    """Every group holds each value once; equally frequent values are taken in their order, rows left over join."""
    values = ["a", "b", "c", "a", "b", "c", "a"]
    schema = printed_schema({"sex": {"role": "quasi-identifier"}, "occupation": {"role": "sensitive"}})
    table = Table.from_columns(schema, {"sex": ["f"] * 7, "occupation": values})
    made = kifer_2009.ties_in_order(table, 2)
    groups = [sorted(v for v, g in zip(values, made.group_of_row, strict=True) if g == h) for h in range(3)]
    assert groups == [["a", "b"], ["a", "c"], ["a", "b", "c"]]


def test_samples_of_a_thousand_reach_as_far_as_they_vary() -> None:
    """Against samples that are drawn."""
    random = np.random.default_rng(0)
    belief = Belief(random.dirichlet(np.ones(3) / 2, size=5000))
    truth = random.integers(3, size=5000)
    reach = kifer_2009.sampled_reach(belief, truth)
    drawn = np.array(
        [
            kifer_2009.errors_a_thousand(belief.of(some), truth[some])
            for some in (random.choice(5000, 1000, replace=False) for _ in range(300))
        ]
    )
    assert 1.96 * drawn.std(axis=0) == pytest.approx(reach, rel=0.2)

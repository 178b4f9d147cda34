"""Beliefs under knowledge beforehand: the thesis' examples, and every matching listed."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

from one_round import attack, run_attack
from small import made_release
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.mondrian import Mondrian
from unveil.attackers.background import BackgroundKnowledge, OthersValues
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior.coalition import believe_coalitions
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.posterior.roster import place_members, with_roster
from unveil.attackers.random_worlds import RandomWorlds
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Belief, Prior, Targets, known_exactly
from unveil.data.person_prior import PersonPrior
from unveil.data.release import Anonymized, Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.kernels.assignment import exact_marginals, omega_marginals
from unveil.privacy.models import KAnonymity

NAME = Attribute("name", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple("abcdefgh"))
ILL = Attribute("ill", Role.SENSITIVE, Kind.CATEGORICAL, ("hiv", "flu", "none", "cold"))


def bucket(people: str, values: list[str], more: list[tuple[str, list[str]]] | None = None) -> Release:
    """One bucket or several: a name each, and the values they share."""
    groups = [(people, values), *(more or [])]
    who = [(g, name) for g, (names, _) in enumerate(groups) for name in names]
    what = [(g, value) for g, (_, held) in enumerate(groups) for value in held]
    return made_release([NAME, ILL], [([0], who), ([1], what)])


def about(release: Release, people: str) -> Targets:
    return known_exactly(release, {0: np.array([NAME.values.index(p) for p in people])}, 1)


def held_of(rows: dict[str, tuple[float, ...]]) -> PersonPrior:
    table = np.full((NAME.codes, ILL.codes), 1 / ILL.codes)
    for name, row in rows.items():
        table[NAME.values.index(name)] = row
    return PersonPrior((NAME,), ILL, lambda cells: table[cells[:, 0]], "made up")


def believe(release: Release, people: str, knowledge: PersonPrior, **options: object) -> np.ndarray:
    attacker = BackgroundKnowledge(knowledge=knowledge, **options)  # type: ignore[arg-type]
    return attack(
        attacker, release, about(release, people), Prior.uninformative(release, 1), Engine(seed=0)
    ).probability


def test_table_3_2_of_the_thesis() -> None:
    """.3 · .95 · .95 against .7 · .05 · .95, twice."""
    knowledge = held_of({"a": (0.05, 0, 0.95, 0), "b": (0.05, 0, 0.95, 0), "c": (0.3, 0, 0.7, 0)})
    found = believe(bucket("abc", ["hiv", "none", "none"]), "c", knowledge)
    assert found[0, 0] == pytest.approx(0.27075 / (0.27075 + 2 * 0.03325), abs=1e-12)
    assert round(found[0, 0], 4) == 0.8028


def test_table_3_3_of_the_thesis() -> None:
    """Only the third person can have HIV; the Omega-estimate does not see it."""
    knowledge = held_of({"a": (0, 0, 1, 0), "b": (0, 0, 1, 0), "c": (0.3, 0, 0.7, 0)})
    release = bucket("abc", ["hiv", "none", "none"])
    assert believe(release, "c", knowledge)[0, 0] == 1
    omega = believe(release, "c", knowledge, cost=0)[0, 0]
    assert omega == pytest.approx(1 / (1 + 2 * 0.7 / 2.7))
    assert round(omega, 4) == 0.6585


@pytest.mark.parametrize("seed", range(20))
def test_exact_marginals_are_those_of_all_matchings(seed: int) -> None:
    random = np.random.default_rng(seed)
    people, kinds = int(random.integers(1, 7)), int(random.integers(1, 5))
    values = random.integers(0, kinds, people)
    items, count = np.unique(values, return_counts=True)
    weight = random.dirichlet(np.ones(len(items)), people)
    weight[random.random(weight.shape) < 0.15] = 0
    wanted = np.zeros(weight.shape)
    for order in set(permutations(np.repeat(np.arange(len(items)), count).tolist())):
        mass = np.prod(weight[np.arange(people), list(order)])
        wanted[np.arange(people), list(order)] += mass
    found = np.zeros(weight.shape)
    possible = exact_marginals(weight, count, found)
    assert possible == (wanted.sum() > 0)
    if possible:
        assert found == pytest.approx(wanted / wanted.sum(axis=1, keepdims=True), abs=1e-12)
        plain = np.zeros(weight.shape)
        assert exact_marginals.py_func(weight, count, plain)
        assert np.array_equal(plain, found)


def test_omega_shares_each_item_out() -> None:
    weight = np.array([[0.2, 0.8], [0.6, 0.4], [0.2, 0.8]])
    found = np.zeros(weight.shape)
    assert omega_marginals(weight, np.array([1, 2]), found)
    share = weight / weight.sum(axis=0) * [1, 2]
    assert found == pytest.approx(share / share.sum(axis=1, keepdims=True))
    assert not omega_marginals(np.array([[0.0, 1.0]]), np.array([1, 0]), found)


def test_a_withheld_value_is_one_of_its_region() -> None:
    """a and b share {hiv or flu} and none: listed, a has the first with weight .5 · .6, of it 3 : 2."""
    release = bucket("ab", [["hiv", "flu"], "none"])  # type: ignore[list-item]
    knowledge = held_of({"a": (0.3, 0.2, 0.5, 0), "b": (0.1, 0.3, 0.6, 0)})
    found = believe(release, "a", knowledge)
    first, second = 0.5 * 0.6, 0.5 * 0.4
    assert found[0] == pytest.approx(np.array([first * 0.6, first * 0.4, second, 0]) / (first + second))


def test_without_knowledge_the_population_says_what_is_held() -> None:
    """A prior in which everybody is alike is random worlds; otherwise naive Bayes for each person."""
    release = bucket("abc", ["hiv", "none", "none"], [("ad", ["flu", "none"])])
    targets = about(release, "abcd")
    plain = Prior.uninformative(release, 1)
    one = attack(BackgroundKnowledge(), release, targets, plain, Engine(seed=0)).probability
    assert one == pytest.approx(attack(RandomWorlds(), release, targets, plain, Engine(seed=0)).probability)
    random = np.random.default_rng(3)
    prior = Prior(random.random(4) + 0.1, {0: random.random((4, 8)) + 0.1})
    joint = (prior.alpha / prior.alpha.sum())[:, None] * prior.beta[0] / prior.beta[0].sum(axis=1, keepdims=True)
    held = held_of({n: tuple(joint[:, i] / joint[:, i].sum()) for i, n in enumerate(NAME.values)})
    two = attack(BackgroundKnowledge(), release, targets, prior, Engine(seed=0)).probability
    assert two == pytest.approx(believe(release, "abcd", held), abs=1e-12)


def test_knowledge_that_rules_a_group_out() -> None:
    release = bucket("ab", ["hiv", "none"])
    with pytest.raises(UsageError, match="rules out group 1"):
        believe(release, "a", held_of({"a": (0, 1, 0, 0)}))


def test_whose_value_is_known_leaves_with_it() -> None:
    release = bucket("abcd", ["hiv", "none", "none", "flu"], [("ef", ["flu", "none"])])
    knowledge = held_of({"a": (0.1, 0.2, 0.6, 0.1), "b": (0.4, 0.1, 0.3, 0.2), "c": (0.2, 0.2, 0.5, 0.1)})
    flu, none = 1, 2
    others = OthersValues(about(release, "d"), np.array([none]))
    alone = bucket("abc", ["hiv", "none", "flu"])
    assert believe(release, "abc", knowledge, others=others) == pytest.approx(believe(alone, "abc", knowledge))
    two = OthersValues(about(release, "de"), np.array([none, flu]))
    assert believe(release, "f", knowledge, others=two)[0, none] == 1
    with pytest.raises(UsageError, match="a value their group lacks"):
        believe(release, "a", knowledge, others=OthersValues(about(release, "e"), np.array([0])))
    with pytest.raises(UsageError, match="fits no group"):
        believe(release, "a", knowledge, others=OthersValues(about(release, "h"), np.array([none])))
    with pytest.raises(UsageError, match="target 1 does not fit"):  # of whom all is known already
        believe(release, "d", knowledge, others=others)


def test_knowledge_of_attributes_that_are_not_there() -> None:
    release = bucket("ab", ["hiv", "none"])
    other = replace(NAME, name="other")
    for prior, error, why in (
        (PersonPrior((other,), ILL, lambda cells: np.full((len(cells), 4), 0.25), "x"), NotApplicable, "about other"),
        (PersonPrior((NAME,), NAME, lambda cells: np.full((len(cells), 8), 0.125), "x"), UsageError, "not about ill"),
    ):
        with pytest.raises(error, match=why):
            believe(release, "a", prior)


def test_what_it_says_of_itself() -> None:
    release = bucket("ab", ["hiv", "none"])
    belief = attack(
        BackgroundKnowledge(knowledge=held_of({"a": (0.5, 0, 0.5, 0)})),
        release,
        about(release, "a"),
        Prior.uninformative(release, 1),
        Engine(seed=0),
    )
    assert belief.threat.population == "made up"
    assert "as published" in belief.threat.others
    assert belief.diagnostics.method == "exact"


def test_the_error_of_the_omega_estimate_is_shown() -> None:
    random = np.random.default_rng(1)
    release = bucket("abcd", ["hiv", "none", "none", "flu"], [("efgh", ["flu", "none", "hiv", "cold"])])
    knowledge = held_of({n: tuple(random.dirichlet(np.ones(4))) for n in NAME.values})
    # 4 people, 2·3·2 states, 3 values; 4 people, 2^4 states, 4 values: the second is too dear.
    attacker = BackgroundKnowledge(knowledge=knowledge, cost=4 * 12 * 3)
    targets = about(release, "abcdefgh")
    belief = attack(attacker, release, targets, Prior.uninformative(release, 1), Engine(seed=0))
    exact, rough = (believe(release, "abcdefgh", knowledge, cost=c) for c in (1e6, 0))
    assert belief.probability == pytest.approx(np.concatenate([exact[:4], rough[4:]]))
    facts = belief.diagnostics.facts
    assert (facts["omega_groups"], facts["omega_people"]) == (1, 4)
    assert facts["omega_largest_error"] == pytest.approx(np.abs(exact - rough)[:4].max())
    assert 0 < float(facts["omega_js_error"]) < 0.1
    assert "Omega" in belief.diagnostics.method


def test_the_error_is_not_measured_where_all_are_held_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one held alike the estimate is exact: the largest such group would say that there is no error."""
    import unveil.attackers.background as module

    monkeypatch.setattr(module, "COMPARED", 1)
    values = ["hiv", "none", "none", "flu"]
    release = bucket("aaaaaa", ["hiv", "none", "none", "none", "none", "flu"], [("bcd", values[1:]), ("efgh", values)])
    random = np.random.default_rng(1)
    knowledge = held_of({n: tuple(random.dirichlet(np.ones(4))) for n in "bcdefgh"})
    belief = attack(
        BackgroundKnowledge(knowledge=knowledge, cost=3 * 6 * 2),
        release,
        about(release, "bcd"),
        Prior.uninformative(release, 1),
        Engine(seed=0),
    )
    exact, rough = (believe(release, "bcd", knowledge, cost=c) for c in (1e6, 0))
    assert belief.diagnostics.facts["omega_largest_error"] == pytest.approx(np.abs(exact - rough).max())
    assert np.abs(exact - rough).max() > 0.01


# Rosters


def made(kind: str, rows: int = 40) -> tuple[Table, Anonymized]:
    from small import QI, SENSITIVE, made_schema, made_table

    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 29}},
            "sex": {"role": QI, "domain": ["f", "m"]},
            "ill": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
        }
    )
    random = np.random.default_rng(7)
    people = [
        (int(random.integers(20, 30)), "fm"[random.integers(2)], ["flu", "hiv", "none"][random.integers(3)])
        for _ in range(rows)
    ]
    table = made_table(schema, *people)
    method = Mondrian(require=(KAnonymity(k=4),)) if kind == "mondrian" else Anatomy(l=2)
    return table, method.anonymize(table, Engine(seed=2))


def kernel_of(table: Table) -> PersonPrior:
    from unveil.privacy.knowledge.kernel import Kernel

    return Kernel(bandwidth=(0.4, 1.5)).prior(table)


@pytest.mark.parametrize("kind", ["mondrian", "anatomy"])
def test_a_roster_makes_groups_of_people_whose_cells_are_known(kind: str) -> None:
    """Against all matchings, group by group, straight from the table."""
    table, anonymized = made(kind)
    release = anonymized.release
    group = anonymized.group_of_row.astype(np.int64)
    roster = targets_of_table(table, release, 2, group=group)
    prior = kernel_of(table)
    attacker = BackgroundKnowledge(knowledge=prior, roster=roster)
    belief = attack(attacker, release, roster, Prior.uninformative(release, 2), Engine(seed=0))
    held = prior.of(np.stack(table.columns[:2], axis=1))
    for g in range(release.groups):
        members = np.flatnonzero(group == g)
        if len(members) > 7:
            continue
        wanted = np.zeros((len(members), 3))
        for order in set(permutations(table.columns[2][members].tolist())):
            wanted[np.arange(len(members)), list(order)] += np.prod(held[members, list(order)])
        wanted /= wanted.sum(axis=1, keepdims=True)
        for i, person in enumerate(members):  # people of one cell in one group cannot be told apart
            same = [j for j, other in enumerate(members) if (held[other] == held[person]).all()]
            assert belief.probability[person] == pytest.approx(wanted[same].mean(axis=0), abs=1e-12)
            assert wanted[i] == pytest.approx(wanted[same].mean(axis=0), abs=1e-12)
    assert belief.threat.others == "the quasi-identifiers of everybody in the table"


def test_a_generalised_release_needs_a_roster() -> None:
    table, anonymized = made("mondrian")
    release = anonymized.release
    targets = targets_of_table(table, release, 2)
    with pytest.raises(NotApplicable, match="give a roster"):
        attack(BackgroundKnowledge(), release, targets, Prior.uninformative(release, 2), Engine(seed=0))
    assert (place_members(release, targets) == anonymized.group_of_row).all()  # each fits its own group alone


def test_a_roster_of_an_anatomy_changes_nothing() -> None:
    table, anonymized = made("anatomy")
    release = anonymized.release
    roster = targets_of_table(table, release, 2, group=anonymized.group_of_row.astype(np.int64))
    assert with_roster(release, roster).release == release
    with pytest.raises(NotApplicable, match="more than one group"):
        with_roster(release, replace(roster, group=None))


def test_a_roster_must_hold_everybody_and_nobody_else() -> None:
    table, anonymized = made("mondrian")
    release = anonymized.release
    everyone = targets_of_table(table, release, 2)
    with pytest.raises(UsageError, match="it must hold everybody"):
        with_roster(release, everyone.take(np.arange(table.rows - 1)))
    slices = made_release([NAME, ILL], [([0, 1], [(0, "a", "flu"), (0, "b", "none")])])
    with pytest.raises(NotApplicable, match="ties some of them"):
        with_roster(slices, replace(about(slices, "ab"), group=np.zeros(2, dtype=np.int64)))


def test_the_bayesian_attacker_learns_from_a_roster() -> None:
    """Groups of four become buckets of four with exact cells: the deFinetti attack."""
    table, anonymized = made("mondrian")
    roster = targets_of_table(table, anonymized.release, 2, group=anonymized.group_of_row.astype(np.int64))
    one = with_roster(anonymized.release, roster)
    assert len(one.release.blocks) == 2
    assert sorted(one.release.sizes) == sorted(anonymized.release.sizes)
    mine = one.targets(roster)
    assert mine.group is not None
    for row in range(table.rows):
        block = one.release.block_of(0)
        entries = slice(block.start[mine.group[row]], block.start[mine.group[row] + 1])
        ages = one.release.regions[0].single()[block.region(0)[entries]]
        assert table.columns[0][row] in ages
    few = Chains(chains=2, sweeps=50, burn_in=20, most_sweeps=0, every=10)
    belief = attack(Bayesian(), one.release, mine, Prior.uninformative(one.release, 2), Engine(seed=1), few)
    assert belief.probability.shape == (40, 3)


# Coalitions


def test_a_coalition_in_random_worlds_is_a_count() -> None:
    """Of n people n_s have s: the worst m are those who have something else, so that n_s / (n - m) is believed."""
    table, anonymized = made("mondrian")
    release, group = anonymized.release, anonymized.group_of_row
    everyone = targets_of_table(table, release, 2)
    values = table.columns[2].astype(np.int64)
    for m in (1, 2, 3):
        found = believe_coalitions(release, everyone, values, Prior.uninformative(release, 2), m=m)
        assert isinstance(found, Belief)
        for person in range(table.rows):
            fellows = Counter(values[(group == group[person])].tolist())
            n, same = sum(fellows.values()), fellows[values[person]]
            wanted = min(1, same / (n - m)) if n > m else 1
            assert found.probability[person, values[person]] == pytest.approx(wanted)
    assert "worst 3" in found.threat.others


def test_torras_internal_attack_by_hand() -> None:
    """All in the cell but one have the flu. Who has a cold knows then what all the others have; of himself others

    know little: one of them takes his own flu away, and a third of what is left is a cold (Torra 2024).
    """
    release = bucket("abcd", ["cold", "flu", "flu", "flu"])
    everyone = replace(about(release, "abcd"), group=np.zeros(4, dtype=np.int64))
    values = np.array([3, 1, 1, 1])
    alike = held_of(dict.fromkeys(NAME.values, (0.25,) * 4))
    found = believe_coalitions(release, everyone, values, alike, m=1).probability[np.arange(4), values]
    assert found == pytest.approx(np.array([1 / 3, 1, 1, 1]))


@pytest.mark.parametrize("m", [1, 2])
def test_the_worst_coalition_is_that_of_all_subsets(m: int) -> None:
    release = bucket("abcde", ["hiv", "none", "none", "flu", "cold"])
    random = np.random.default_rng(5)
    knowledge = held_of({n: tuple(random.dirichlet(np.ones(4))) for n in NAME.values})
    values = np.array([2, 0, 1, 2, 3])
    everyone = replace(about(release, "abcde"), group=np.zeros(5, dtype=np.int64))
    found = believe_coalitions(release, everyone, values, knowledge, m=m)
    for person in range(5):
        beliefs = []
        for gone in combinations([p for p in range(5) if p != person], m):
            others = OthersValues(everyone.take(np.array(gone)), values[list(gone)])
            beliefs.append(believe(release, "abcde"[person], knowledge, others=others)[0, values[person]])
        assert found.probability[person, values[person]] == pytest.approx(max(beliefs), abs=1e-12)


def test_all_fellows_together_know_everything() -> None:
    release = bucket("abc", ["hiv", "none", "none"])
    everyone = replace(about(release, "abc"), group=np.zeros(3, dtype=np.int64))
    found = believe_coalitions(release, everyone, np.array([2, 0, 2]), Prior.uninformative(release, 1), m=2)
    assert found.probability[[0, 1, 2], [2, 0, 2]].tolist() == [1, 1, 1]
    with pytest.raises(UsageError, match="at least one"):
        believe_coalitions(release, everyone, np.array([2, 0, 2]), Prior.uninformative(release, 1), m=0)


def test_many_coalitions_are_sought_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    from unveil.attackers.posterior import coalition as _coalition

    release = bucket("abcdefgh", ["hiv", "none", "none", "flu", "cold", "hiv", "flu", "none"])
    values = np.array([2, 0, 1, 2, 3, 0, 1, 2])
    everyone = replace(about(release, "abcdefgh"), group=np.zeros(8, dtype=np.int64))
    prior = Prior.uninformative(release, 1)
    exact = believe_coalitions(release, everyone, values, prior, m=3)
    monkeypatch.setattr(_coalition, "MOST_COALITIONS", 3)
    steps = believe_coalitions(release, everyone, values, prior, m=3)
    assert steps.probability == pytest.approx(exact.probability)  # in random worlds step by step finds the worst
    assert "step by step" in steps.diagnostics.method


# What is ruled out


def test_what_is_impossible_is_ruled_out_exactly() -> None:
    chains = np.array([[[0.5, 0.3, 0.2]], [[0.1, 0.3, 0.6]]])
    belief = Belief(chains.mean(axis=0), chains)
    found = belief.ruling_out(np.array([[False, True, False]]))
    assert found.probability == pytest.approx(np.array([[0.3, 0, 0.4]]) / 0.7)
    assert found.chains is not None
    assert found.chains[1] == pytest.approx(np.array([[1 / 7, 0, 6 / 7]]))
    with pytest.raises(UsageError, match="target 1 is believed to have only values"):
        Belief(np.array([[1.0, 0.0]])).ruling_out(np.array([[True, False]]))


def test_attackers_who_were_told_nothing_are_told_what_is_impossible() -> None:
    from unveil.audit.given import ReaderView

    few_sweeps = Chains(chains=2, sweeps=200, burn_in=100, most_sweeps=0)  # what is ruled out is so in every draw
    table, anonymized = made("anatomy")
    release = anonymized.release
    everyone = targets_of_table(table, release, 2)
    given = ReaderView.of(release, everyone, table, "facts:say=sex=f never ill=hiv")
    attackers = given.hand_to(
        {"random_worlds": RandomWorlds(), "background": BackgroundKnowledge(knowledge=held_of({}))}
    )
    assert attackers["background"].knowledge is given.held
    plain = run_attack(release, everyone, {"random_worlds": RandomWorlds()}, prior=given.prior, chains=few_sweeps)
    women = table.columns[1] == 0
    hiv = table.attributes[2].values.index("hiv")
    possible = plain.attackers["random_worlds"].probability[:, hiv] < 1
    who = np.flatnonzero(possible)
    few = ReaderView.of(release, everyone.take(who), table, "facts:say=sex=f never ill=hiv")
    some = run_attack(
        release, everyone.take(who), {"random_worlds": RandomWorlds()}, prior=few.prior, chains=few_sweeps
    )
    told = few.rule_out(some, ())
    after, before = told.attackers["random_worlds"].probability, some.attackers["random_worlds"].probability
    assert (after[women[who], hiv] == 0).all()
    assert (after[~women[who]] == before[~women[who]]).all()
    assert (told.learner.probability[women[who], hiv] == 0).all()
    assert few.rule_out(some, ["random_worlds"]).attackers["random_worlds"] is some.attackers["random_worlds"]

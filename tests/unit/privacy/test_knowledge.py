"""Knowledge beforehand: rules and priors worked out by hand, and against plain loops over people."""

from itertools import combinations, product

import numpy as np
import pytest

from small import QI, SENSITIVE, made_schema, made_table
from unveil import catalog
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import known_exactly
from unveil.data.person_prior import PersonPrior
from unveil.data.table import Table
from unveil.errors import UsageError
from unveil.privacy.knowledge import kernel as kernel_module
from unveil.privacy.knowledge.facts import Facts
from unveil.privacy.knowledge.kernel import Kernel
from unveil.privacy.knowledge.negative_rules import NegativeRules
from unveil.privacy.knowledge.overall import OverallShares
from unveil.privacy.knowledge.uniform import Uniform

AGES = [[str(a), f"[{a // 2 * 2},{a // 2 * 2 + 1}]", "*"] for a in range(20, 26)]
JOBS = [["nurse", "care", "*"], ["doctor", "care", "*"], ["smith", "craft", "*"]]
SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 25}},
        "job": {"role": QI, "domain": ["nurse", "doctor", "smith"]},
        "sex": {"role": QI, "domain": ["f", "m"], "missing": "category"},
        "ill": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
    },
    {"age": AGES, "job": JOBS},
    missing=["?"],
)


def random_table(seed: int, rows: int = 60) -> Table:
    random = np.random.default_rng(seed)
    people = []
    for _ in range(rows):
        age, job, sex = (
            random.integers(20, 26),
            random.choice(["nurse", "doctor", "smith"]),
            random.choice(["f", "m", "?"]),
        )
        ill = random.choice(["flu", "hiv", "none"], p=[0.6, 0.3, 0.1] if sex == "f" else [0.2, 0.05, 0.75])
        people.append((int(age), str(job), str(sex), str(ill)))
    return made_table(SCHEMA, *people)


def cells(table: Table) -> np.ndarray:
    return np.stack(table.columns[:3], axis=1).astype(np.int64)


# Rules


def test_rules_worked_out_by_hand() -> None:
    """Four of ten have hiv, none of the five men: expectation 1 - .6^5 = .92224."""
    rows = [(20, "nurse", "f", "hiv")] * 4 + [(21, "smith", "f", "flu")] + [(22, "smith", "m", "flu")] * 5
    rules = NegativeRules(min_expectation=0.9).rules(made_table(SCHEMA, *rows))
    found = dict(zip(rules.texts(), zip(rules.people, rules.expectation, rules.confidence, strict=True), strict=True))
    assert found["sex=m never ill=hiv"] == pytest.approx((5, 1 - 0.6**5, 1))
    assert found["job=smith never ill=hiv"] == pytest.approx((6, 1 - 0.6**6, 1))
    assert found["age=[22,23] never ill=hiv"] == pytest.approx((5, 1 - 0.6**5, 1))
    assert "job=craft never ill=hiv" not in found  # the same people as job=smith: one rule, not two
    assert found["age=20 never ill=flu"] == pytest.approx((4, 1 - 0.4**4, 1))
    assert not any("none" in text for text in found)  # nobody has it, so that nobody is surprised
    assert "sex=f never ill=hiv" not in found
    less = NegativeRules(min_expectation=0.95).rules(made_table(SCHEMA, *rows)).texts()
    assert set(less) == {text for text, (_, expectation, _) in found.items() if expectation >= 0.95}


@pytest.mark.parametrize(("fuzzy", "confidence", "predicates"), [(0, 1, 3), (0, 0.9, 2), (0.4, 0.95, 3), (0.3, 0.9, 1)])
@pytest.mark.parametrize("seed", [1, 2])
def test_rules_are_those_of_plain_loops(fuzzy: float, confidence: float, predicates: int, seed: int) -> None:
    table = random_table(seed)
    options = {"min_expectation": 0.8, "min_confidence": confidence, "predicates": predicates, "fuzzy": fuzzy}
    rules = NegativeRules(**options).rules(table)
    wanted = plain_rules(table, **options)
    got = {(tuple(map(tuple, sets_of(rules, r))), int(rules.value[r])): r for r in range(len(rules))}
    assert got.keys() == wanted.keys()
    assert len(got) == len(rules) > 3
    for key, r in got.items():
        assert (rules.people[r], rules.expectation[r], rules.confidence[r]) == pytest.approx(wanted[key], abs=1e-12)
    people = cells(table)
    ceiling = np.ones((len(people), 3))
    for (sets, value), (_, _, sure) in wanted.items():
        for i, person in enumerate(people):
            if all(code in members for code, members in zip(person, sets, strict=True)):
                ceiling[i, value] = min(ceiling[i, value], 1 - sure)
    assert rules.ceiling(people) == pytest.approx(ceiling, abs=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_minimal_rules_imply_all_others(seed: int) -> None:
    table = random_table(seed)
    rules = NegativeRules(min_expectation=0.7, predicates=3).rules(table)
    minimal = NegativeRules(min_expectation=0.7, predicates=3, minimal=True).rules(table)
    assert 0 < len(minimal) < len(rules)
    domain = np.array(list(product(range(6), range(3), range(3))))
    assert (minimal.ceiling(domain) == rules.ceiling(domain)).all()
    sets = [([set(s) for s in sets_of(minimal, r)], int(minimal.value[r])) for r in range(len(minimal))]
    for one, value in sets:
        for other, theirs in sets:
            wider = value == theirs and all(a <= b for a, b in zip(one, other, strict=True))
            assert not wider or one == other


def sets_of(rules, r: int) -> list[tuple[int, ...]]:
    return [tuple(n.codes[i].tolist()) for n, i in zip(rules.nodes, rules.node[r], strict=True)]


def plain_rules(table: Table, *, min_expectation: float, min_confidence: float, predicates: int, fuzzy: float) -> dict:
    """Every conjunction of every set that a hierarchy names, person by person."""
    ages = [*((a,) for a in range(6)), (0, 1), (2, 3), (4, 5)]
    jobs = [(0,), (1,), (2,), (0, 1)]
    sexes = [(0,), (1,), (2,)]
    whole = [tuple(range(6)), tuple(range(3)), tuple(range(3))]
    people, ill = cells(table), table.columns[3]
    share = np.bincount(ill, minlength=3) / len(ill)
    found = {}
    for used in (u for size in range(1, predicates + 1) for u in combinations(range(3), size)):
        for chosen in product(*([ages, jobs, sexes][a] for a in used)):
            sets = list(whole)
            for a, members in zip(used, chosen, strict=True):
                sets[a] = members
            counts = np.zeros(3)
            for person, value in zip(people, ill, strict=True):
                part = 1.0
                for a in used:
                    inside = float(person[a] in sets[a])
                    if a == 0 and fuzzy:
                        inside = max(0.0, 1 - min(abs(int(person[a]) - m) for m in sets[a]) / 5 / fuzzy)
                    part *= inside
                counts[value] += part
            total = counts.sum()
            for value in range(3):
                expectation = 1 - (1 - share[value]) ** total
                if total > 0 and expectation >= min_expectation and counts[value] / total <= 1 - min_confidence + 1e-12:
                    found[tuple(sets), value] = (total, expectation, 1 - counts[value] / total)
    return found


def test_the_prior_of_rules_is_the_overall_one_without_what_is_impossible() -> None:
    rows = [(20, "nurse", "f", "hiv")] * 4 + [(21, "smith", "f", "flu")] + [(22, "smith", "m", "none")] * 5
    table = made_table(SCHEMA, *rows)
    prior = NegativeRules(min_expectation=0.9).prior(table)
    assert "negative rules" in prior.source
    # Of a man hiv is impossible; of a nurse of 20, "none": 1 - .5^4 = .9375.
    assert prior.of(np.array([[2, 2, 1], [0, 0, 0]])) == pytest.approx(np.array([[1 / 6, 0, 5 / 6], [0.2, 0.8, 0]]))


def test_softer_rules_leave_a_small_share() -> None:
    rows = [(20, "nurse", "f", "hiv")] * 60 + [(20, "nurse", "m", "hiv")] * 2 + [(20, "nurse", "m", "flu")] * 38
    prior = NegativeRules(min_expectation=0.9, min_confidence=0.95).prior(made_table(SCHEMA, *rows))
    assert prior.of(np.array([[0, 0, 1]])) == pytest.approx(np.array([[0.38, 0.05, 0]]) / 0.43)


@pytest.mark.parametrize(
    "options", ["min_expectation=0", "min_expectation=1", "min_confidence=0", "predicates=0", "fuzzy=2", "x=1"]
)
def test_options_of_rules_are_checked(options: str) -> None:
    name, given = catalog.parse(f"negative_rules:{options}")
    with pytest.raises(UsageError):
        catalog.make(catalog.member("knowledge", name), given, name)


# Kernel


@pytest.mark.parametrize("bandwidth", [(0.3,), (0.25, 0.6, 1.5), (1.0, 1.0, 1.0)])
def test_kernel_regression_is_that_of_plain_loops(
    bandwidth: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = random_table(4, 25)
    people, ill = cells(table), table.columns[3]
    widths = bandwidth * 3 if len(bandwidth) == 1 else bandwidth
    job = np.array([[0, 0.5, 1], [0.5, 0, 1], [1, 1, 0]])
    domain = np.array(list(product(range(6), range(3), range(3))))
    wanted = []
    for cell in domain:
        total = np.zeros(3)
        for person, value in zip(people, ill, strict=True):
            apart = (abs(int(cell[0]) - int(person[0])) / 5, job[cell[1], person[1]], float(cell[2] != person[2]))
            ratios = [d / b for d, b in zip(apart, widths, strict=True)]
            total[value] += np.prod(
                [3 / (4 * b) * (1 - x * x) if x < 1 else 0 for x, b in zip(ratios, widths, strict=True)]
            )
        wanted.append(total / total.sum() if total.sum() else np.bincount(ill, minlength=3) / len(ill))
    monkeypatch.setattr(kernel_module, "PAIRS_AN_ENTRY", 0.0)
    prior = Kernel(bandwidth=bandwidth).prior(table)
    assert prior.of(domain) == pytest.approx(np.array(wanted), abs=1e-12)
    monkeypatch.setattr(kernel_module, "MOST_ENTRIES", 0)
    by_cells = Kernel(bandwidth=bandwidth).prior(table)
    assert by_cells.of(domain) == pytest.approx(prior.of(domain), abs=1e-12)


def test_the_kernel_is_strict() -> None:
    """At the distance of the bandwidth nobody counts: 20 and 25 lie 1 apart."""
    table = made_table(SCHEMA, (20, "nurse", "f", "flu"), (25, "nurse", "f", "hiv"))
    assert Kernel(bandwidth=(1.0,)).prior(table).of(np.array([[0, 0, 0]])).tolist() == [[1, 0, 0]]
    far = Kernel(bandwidth=(2.0,)).prior(table).of(np.array([[0, 0, 0]]))
    assert far == pytest.approx(np.array([[1, 0.75, 0]]) / 1.75)


@pytest.mark.parametrize("bandwidth", [(), (0.0,), (float("nan"),)])
def test_bandwidths_are_checked(bandwidth: tuple[float, ...]) -> None:
    with pytest.raises(UsageError, match="bandwidth"):
        Kernel(bandwidth=bandwidth)


def test_there_is_one_bandwidth_or_one_for_each() -> None:
    with pytest.raises(UsageError, match="2 bandwidths for 3"):
        Kernel(bandwidth=(0.1, 0.2)).prior(random_table(1))


# Facts


def test_facts_are_read_as_they_are_written() -> None:
    rows = [(20, "nurse", "f", "hiv")] * 5 + [(21, "smith", "f", "flu")] * 3 + [(22, "smith", "m", "none")] * 2
    table = made_table(SCHEMA, *rows)
    said = (
        "everybody has ill=flu 0.5",
        "sex=m never ill=hiv",
        "age=[24,] & job=care has ill=hiv 0.9",
        "age=20 & job={nurse,doctor} & sex=? has ill=none",
    )
    prior = Facts(say=said).prior(table)
    asked = np.array([[0, 0, 0], [0, 0, 1], [4, 1, 0], [4, 2, 0], [0, 1, 2]])
    # Half flu; the rest shared as 5 : 2, to hiv alone or none alone where only one is left.
    wanted = [[0.5, 5 / 14, 2 / 14], [0.5, 0, 0.5], None, [0.5, 5 / 14, 2 / 14], None]
    found = prior.of(asked[[0, 1, 3]])
    assert found == pytest.approx(np.array([w for w in wanted if w]))
    with pytest.raises(UsageError, match=r"age=24, job=doctor, sex=f adds up to 1\.4"):
        prior.of(asked[2:3])
    with pytest.raises(UsageError, match=r"adds up to 1\.5"):
        prior.of(asked[4:])
    certain = Facts(say=("age=20 & job=nurse & sex=f has ill=none",)).prior(table)
    assert certain.of(asked[:2]) == pytest.approx(np.array([[0, 0, 1], [0.3, 0.5, 0.2]]))
    plain = Facts(say=("sex=m never ill=hiv",), base="uniform").prior(table)
    assert plain.of(asked[:2]) == pytest.approx(np.array([[1 / 3] * 3, [0.5, 0, 0.5]]))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sex=m cannot ill=hiv", "is not a fact"),
        ("sex=m never job=nurse", "must speak of ill"),
        ("sex=m never ill=cold", "unknown value 'cold' of ill"),
        ("sex=m has ill=flu often", "is not a probability"),
        ("sex=m has ill=flu 1.5", "is not a probability"),
        ("zip=1 never ill=flu", "names none of age, job, sex"),
        ("sex=x never ill=flu", "not a value, label, interval or set of sex"),
        ("job=[nurse,doctor] never ill=flu", "not a value, label, interval or set of job"),
    ],
)
def test_a_fact_that_cannot_be_read_says_why(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Facts(say=(text,)).prior(random_table(1))


# Priors


def test_plain_priors_are_the_same_for_everybody() -> None:
    table = random_table(1)
    share = np.bincount(table.columns[3], minlength=3) / table.rows
    assert OverallShares().prior(table).of(cells(table)) == pytest.approx(np.tile(share, (table.rows, 1)))
    assert Uniform().prior(table).of(cells(table)[:2]) == pytest.approx(np.full((2, 3), 1 / 3))


def test_the_members_are_those_of_the_folder() -> None:
    assert catalog.members("knowledge") == ("facts", "kernel", "negative_rules", "overall", "uniform")


def test_pseudo_counts_are_those_of_the_joint_distribution() -> None:
    """Two women of whom flu is certain, one man who has flu or none."""
    table = made_table(SCHEMA, (20, "nurse", "f", "flu"), (20, "smith", "f", "flu"), (21, "smith", "m", "none"))
    prior = Facts(say=("sex=f has ill=flu", "sex=m has ill=flu 0.5", "sex=m has ill=none 0.5")).prior(table)
    release = table.as_release()
    made = prior.pseudo_counts(release, 3, cells(table), strength=2, least=0.01)
    assert made.alpha == pytest.approx([2 * 3 * 2.5 / 3, 0.01, 2 * 3 * 0.5 / 3])
    assert made.beta[2][0] == pytest.approx([2 * 3 * 2 / 2.5, 2 * 3 * 0.5 / 2.5, 0.01])
    assert made.beta[1][0] == pytest.approx([2 * 3 * 1 / 2.5, 0.01, 2 * 3 * 1.5 / 2.5])
    assert made.beta[1][1] == pytest.approx([2, 2, 2])  # nothing is held of the jobs of people with hiv
    even = Uniform().prior(table).pseudo_counts(release, 3, np.array(list(product(range(6), range(3), range(3)))))
    assert even.alpha == pytest.approx(np.ones(3))
    assert all(b == pytest.approx(np.ones(b.shape)) for b in even.beta.values())
    with pytest.raises(UsageError, match="strength"):
        prior.pseudo_counts(release, 3, cells(table), strength=0)


def test_targets_must_be_known_exactly() -> None:
    table = random_table(1)
    release = table.as_release()
    prior = Kernel().prior(table)
    everyone = known_exactly(release, {i: table.columns[i] for i in range(3)}, 3)
    assert (prior.of_targets(release, everyone) == prior.of(cells(table))).all()
    some = known_exactly(release, {i: table.columns[i] for i in range(2)}, 3)
    with pytest.raises(UsageError, match="sex must be known exactly"):
        prior.of_targets(release, some)


def test_cells_and_distributions_are_checked() -> None:
    a = Attribute("a", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, ("x", "y"))
    s = Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, ("0", "1"))
    wrong = PersonPrior((a,), s, lambda cells: np.full((len(cells), 2), 0.6), "made up")
    with pytest.raises(UsageError, match="distribution"):
        wrong.of(np.array([[0]]))
    with pytest.raises(UsageError, match="outside the domain of a"):
        wrong.of(np.array([[2]]))
    with pytest.raises(UsageError, match="codes of a"):
        wrong.of(np.array([0]))
    assert wrong.of(np.zeros((0, 1), dtype=np.int64)).shape == (0, 2)

"""The oracle of the attackers against closed forms, published figures, and Bayes' rule over every possible table."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import comb, prod

import pytest

from enumeration import (
    PseudoCounts,
    SmallRelease,
    enumerate_attacker,
    enumerate_fixed_attacker,
    enumerate_fixed_learner,
    enumerate_learner,
    enumerate_learner_joint,
    enumerate_random_worlds,
    exactly,
    group_worlds,
    linked_attacker,
    linked_learner_joint,
    one_of,
    pseudo_counts,
    published,
    small_releases,
    uneven_pseudo_counts,
    worlds,
    written_release,
)
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Prior
from unveil.data.release import Release

SMALL = small_releases()
by_name = pytest.mark.parametrize("small", SMALL, ids=[small.name for small in SMALL])


def quasi(name: str, *values: str) -> Attribute:
    return Attribute(name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, values)


def sensitive(name: str, *values: str) -> Attribute:
    return Attribute(name, Role.SENSITIVE, Kind.CATEGORICAL, values)


def group_of(release: Release, attribute: int, *codes: int) -> int:
    """The first group that shows this region."""
    block = next(b for b in range(len(release.blocks)) if attribute in release.blocks[b].attributes)
    return next(g for g in range(release.groups) if any(c[attribute] == codes for c in published(release, block, g)))


# Published figures


NATION, ILL = (
    quasi("nation", "China", "India", "Japan", "Malaysia"),
    sensitive("disease", "Heart", "Flu", "Stomach", "HIV", "Diabetes"),
)


def toy(zips: Sequence[str]) -> Release:
    """Boreale et al. 2020, Table I(b), over these ZIP codes."""
    first, second = (",".join(z for z in zips if z.startswith(start)) for start in ("4550", "5550"))
    rows = (
        f"Malaysia,Japan {first} Heart; Malaysia,Japan {first} Flu / Japan {second} Flu; Japan {second} Stomach / "
        "China,Japan 66601 HIV; China,Japan 66601 Diabetes / India,Malaysia 77701 Flu; India,Malaysia 77701 Heart"
    )
    return written_release([NATION, quasi("zip", *zips), ILL], {"nation zip disease": rows})


TWENTY_TWO = [f"4550{i}" for i in range(10)] + [f"5550{i}" for i in range(10)] + ["66601", "77701"]
FIVE = ["45501", "45502", "55503", "66601", "77701"]


@pytest.mark.parametrize("zips", [TWENTY_TWO, FIVE], ids=["22 codes", "5 codes"])
def test_toy_attacker_is_seven_twelfths_for_any_zip_domain(zips: list[str]) -> None:
    release = toy(zips)
    knowledge = {0: exactly(NATION, "Malaysia"), 1: exactly(release.attributes[1], "45501")}
    belief = linked_attacker(release, 2, pseudo_counts(release, 2), knowledge)
    assert belief == [Fraction(7, 12), Fraction(5, 12), 0, 0, 0]


def test_toy_by_listing_every_world() -> None:
    release = toy(FIVE)
    knowledge = {0: exactly(NATION, "Malaysia"), 1: exactly(release.attributes[1], "45501")}
    prior = pseudo_counts(release, 2)
    assert enumerate_attacker(release, 2, prior, knowledge) == [Fraction(7, 12), Fraction(5, 12), 0, 0, 0]
    assert enumerate_random_worlds(release, 2, knowledge) == [Fraction(1, 2), Fraction(1, 2), 0, 0, 0]
    assert enumerate_learner_joint(release, 2, prior, knowledge) == linked_learner_joint(release, 2, prior, knowledge)


def test_toy_has_as_many_worlds_as_printed() -> None:
    release = toy(TWENTY_TWO)
    sizes = [len(codes) for g in range(release.groups) for cell in published(release, 0, g) for codes in cell.values()]
    assert prod(sizes) == 640_000


def test_toy_learner_with_the_22_zip_codes() -> None:
    release = toy(TWENTY_TWO)
    knowledge = {0: exactly(NATION, "Malaysia"), 1: exactly(release.attributes[1], "45501")}
    joint = linked_learner_joint(release, 2, pseudo_counts(release, 2), knowledge)
    belief = [float(j / sum(joint)) for j in joint]
    assert belief == pytest.approx([0.330, 0.329, 0.114, 0.114, 0.114], abs=5e-4)


SMOKER = quasi("smoker", "n", "y")


@pytest.mark.parametrize(("alpha", "expected"), [(2, Fraction(100, 101)), (1, Fraction(1_020_000, 1_030_201))])
def test_kifer_table_1(alpha: int, expected: Fraction) -> None:
    """Tuple 200 is a suppressed S in a group of its own. With alpha = 1: 100·100/101 against 101/102."""
    rows = " / ".join(["; ".join(["n n"] * 100), "; ".join(["y y"] * 99), "y *"])
    release = written_release([SMOKER, sensitive("cancer", "n", "y")], {"smoker cancer": rows})
    group = group_of(release, 1, 0, 1)
    belief = enumerate_attacker(release, 1, pseudo_counts(release, 1, alpha), {0: exactly(SMOKER, "y")}, group)
    assert belief[1] == expected
    assert enumerate_random_worlds(release, 1, {0: exactly(SMOKER, "y")}, group) == [Fraction(1, 2), Fraction(1, 2)]
    pi, theta = (
        [Fraction(7, 10), Fraction(3, 10)],
        {0: [[Fraction(4, 5), Fraction(1, 5)], [Fraction(1, 4), Fraction(3, 4)]]},
    )
    fixed = enumerate_fixed_attacker(release, 1, pi, theta, {0: exactly(SMOKER, "y")}, group)
    assert fixed == [Fraction(14, 100) / Fraction(365, 1000), Fraction(225, 1000) / Fraction(365, 1000)]
    assert fixed == enumerate_fixed_learner(release, 1, pi, theta, {0: exactly(SMOKER, "y")})  # the i.i.d. model


KIFER_6 = {
    "smoker": "y; y / n; n / y; n / y; y / n; n / y; n",
    "disease": "Cancer; Flu / Flu; None / Cancer; None / Cancer; None / Flu; None / Cancer; None",
}


def test_kifer_table_6() -> None:
    """Groups 3 and 6 are alike, so their canonical numbers may be exchanged: the belief is the same."""
    release = written_release([SMOKER, sensitive("disease", "Cancer", "Flu", "None")], KIFER_6)
    knowledge = {0: exactly(SMOKER, "n")}
    mixed = [g for g in range(release.groups) if len({tuple(c[0]) for c in published(release, 0, g)}) == 2]
    assert len(mixed) == 2
    for group in mixed:
        belief = enumerate_attacker(release, 1, pseudo_counts(release, 1), knowledge, group)
        assert belief[0] == Fraction(5, 32)  # printed: about .16
        assert enumerate_random_worlds(release, 1, knowledge, group) == [Fraction(1, 2), 0, Fraction(1, 2)]


# Islands (Boreale et al. 2020, remark 2)

TRAIT, GUILTY = quasi("trait", "absent", "present"), sensitive("guilty", "no", "yes")


@pytest.mark.parametrize(("people", "tested"), [(2, 0), (5, 0), (5, 2), (8, 3), (9, 7)])
def test_island_and_database_search(people: int, tested: int) -> None:
    rows = ["present yes"] + ["absent no"] * tested + ["* no"] * (people - 1 - tested)
    release = written_release([TRAIT, GUILTY], {"trait guilty": " / ".join(rows)})
    knowledge = {0: exactly(TRAIT, "present")}
    learned = enumerate_attacker(release, 1, pseudo_counts(release, 1), knowledge)
    assert learned[1] == Fraction(tested + 2, people + 1)
    p = Fraction(3, 10)
    fixed = enumerate_fixed_attacker(release, 1, [1 - p, p], {0: [[1 - p, p]] * 2}, knowledge)
    assert fixed[1] == 1 / (1 + (people - 1 - tested) * p)


# Random worlds in closed form: the weights of FIGURES.md


def normalised(weights: Sequence[Fraction]) -> list[Fraction]:
    return [w / sum(weights) for w in weights]


def random_worlds_by_formula(
    release: Release, asked: int, knowledge: Mapping[int, Sequence[Fraction]]
) -> list[Fraction]:
    """Sum over groups of |B| · f(t, B) · D(t, B)[s], a cell counting with the mean likelihood over its region."""

    def fit(cell: Mapping[int, tuple[int, ...]]) -> Fraction:
        shares = (
            sum(Fraction(knowledge[a][c]) for c in codes) / len(codes) for a, codes in cell.items() if a in knowledge
        )
        return prod(shares, start=Fraction(1))

    weights = [Fraction(0)] * release.attributes[asked].codes
    for group in range(release.groups):
        others = Fraction(1)
        for number, block in enumerate(release.blocks):
            cells = published(release, number, group)
            if asked in block.attributes:
                anchor = cells
            else:
                others *= sum(map(fit, cells), start=Fraction(0)) / len(cells)
        for cell in anchor:
            for s in cell[asked]:
                weights[s] += fit(cell) * others / len(cell[asked])
    return normalised(weights)


@by_name
def test_random_worlds_in_closed_form(small: SmallRelease) -> None:
    for target in small.targets:
        expected = random_worlds_by_formula(small.release, small.asked, target.knowledge)
        assert enumerate_random_worlds(small.release, small.asked, target.knowledge) == expected


def test_horizontal_random_worlds_weigh_by_region() -> None:
    """n_{g,s} / |region_g|: 1/2 for flu and hiv of the group of two ages, 1/3 for hiv of the group of three."""
    age, ill = quasi("age", "1", "2", "3"), sensitive("disease", "flu", "hiv")
    release = written_release([age, ill], {"age disease": "1,2 flu; 1,2 hiv / * hiv"})
    belief = enumerate_random_worlds(release, 1, {0: exactly(age, "1")})
    assert belief == normalised([Fraction(1, 2), Fraction(1, 2) + Fraction(1, 3)])


def test_vertical_random_worlds_weigh_by_rows() -> None:
    """n_g(r) · n_{g,s} / n_g: 2·(1, 1)/2 + 1·(0, 3)/3."""
    age, ill = quasi("age", "1", "2"), sensitive("disease", "flu", "hiv")
    release = written_release([age, ill], {"age": "1; 1 / 1; 2; 2", "disease": "flu; hiv / hiv; hiv; hiv"})
    assert enumerate_random_worlds(release, 1, {0: exactly(age, "1")}) == [Fraction(1, 3), Fraction(2, 3)]


def test_slices_weigh_by_bucket_size_and_the_thesis_does_not() -> None:
    """One matching cell in a bucket of 2 with flu 1/2 and one in a bucket of 6 without: .25, unweighted .375."""
    age, ill = quasi("age", "1", "2"), sensitive("disease", "flu", "hiv")
    release = written_release(
        [age, ill], {"age": "1; 2 / 1; 2; 2; 2; 2; 2", "disease": "flu; hiv / hiv; hiv; hiv; hiv; hiv; hiv"}
    )
    assert enumerate_random_worlds(release, 1, {0: exactly(age, "1")})[0] == Fraction(1, 4)
    matching, flu = [Fraction(1, 2), Fraction(1, 6)], [Fraction(1, 2), 0]  # f(t, B), D(t, B)[flu]
    assert sum(f * d for f, d in zip(matching, flu, strict=True)) / sum(matching) == Fraction(3, 8)


# Learning in closed form


def test_the_original_teaches_its_counts() -> None:
    """Eq. 20, and certainty about a unique row."""
    small = next(s for s in SMALL if s.name == "the original")
    age, sex, _ = small.release.attributes
    knowledge = {0: exactly(age, "21"), 1: exactly(sex, "m")}
    joint = enumerate_learner_joint(small.release, 2, pseudo_counts(small.release, 2), knowledge)
    flu = Fraction(1 + 2, 3 + 4) * Fraction(1, 4 + 2) * Fraction(1 + 1, 2 + 2)
    hiv = Fraction(1 + 1, 3 + 4) * Fraction(1, 4 + 1) * Fraction(1, 2 + 1)
    none = Fraction(1 + 1, 3 + 4) * Fraction(1 + 1, 4 + 1) * Fraction(1 + 1, 2 + 1)
    assert joint == [flu, hiv, none]
    assert enumerate_attacker(small.release, 2, pseudo_counts(small.release, 2), knowledge) == [0, 0, 1]


def test_nested_regions_are_a_dirichlet_tree() -> None:
    """Rows {0,1} twice and {0} once beside one s: P(0 | {0,1}) = E[theta_0 / (theta_0 + theta_1)] = (1 + 1)/(2 + 1)."""
    age, ill = quasi("age", "0", "1", "2"), sensitive("disease", "flu", "hiv")
    release = written_release([age, ill], {"age disease": "0,1 flu; 0,1 flu / 0 flu / 0,1 hiv"})
    belief = enumerate_attacker(release, 1, pseudo_counts(release, 1), {0: exactly(age, "0")})
    assert belief == normalised([2 * Fraction(2, 3) + 1, Fraction(1, 2)])
    joint = enumerate_learner_joint(release, 1, pseudo_counts(release, 1), {0: exactly(age, "0")})
    assert joint == [Fraction(4, 6) * Fraction(5, 6) * Fraction(2, 3), Fraction(2, 6) * Fraction(3, 4) * Fraction(1, 2)]


def test_full_domain_recoding_leaves_the_attacker_with_random_worlds() -> None:
    """Rows of one region are told apart by nothing and the prior is the same for every s."""
    age, sex, ill = quasi("age", *"0123"), quasi("sex", "f", "m"), sensitive("disease", "flu", "hiv", "none")
    rows = "0,1 f flu; 0,1 f hiv; 0,1 f hiv / 2,3 f flu; 2,3 f flu / 2,3 m none; 2,3 m flu"
    release = written_release([age, sex, ill], {"age sex disease": rows})
    prior = pseudo_counts(release, 2, Fraction(1, 2), Fraction(3, 2))
    for person in (
        {0: exactly(age, "1"), 1: exactly(sex, "f")},
        {0: exactly(age, "2")},
        {1: exactly(sex, "f", Fraction(1, 9))},
    ):
        assert enumerate_attacker(release, 2, prior, person) == enumerate_random_worlds(release, 2, person)


# Every table there is: Bayes' rule with a publisher who widens at random

Region = tuple[int, ...]
VALUES, CODES = 2, 3
SPREAD: dict[int, list[Region]] = {0: [(0,), (0, 1)], 1: [(0, 1), (1, 2)], 2: [(1, 2), (2,)]}  # either, with 1/2
HIDE: dict[int, list[Region]] = {0: [(0,), (0, 1)], 1: [(1,), (0, 1)]}  # s as it is, or *


def probability(rows: Sequence[tuple[int, int]], prior: PseudoCounts) -> Fraction:
    """Of a sequence of rows (r, s): each row's predictive given those before it."""
    result, seen = Fraction(1), Counter[object]()
    for r, s in rows:
        result *= Fraction(prior.alpha[s] + seen[s]) / (sum(prior.alpha) + sum(seen[v] for v in range(VALUES)))
        result *= Fraction(prior.beta[0][s][r] + seen[s, r]) / (sum(prior.beta[0][s]) + seen[s])
        seen.update([s, (s, r)])
    return result


def every_outcome(rows: int, linked: bool) -> Iterator[tuple[object, tuple[tuple[int, int], ...]]]:
    """Each way to draw the rows, widen each cell and publish one group (all equally likely given the rows)."""
    for table in product(product(range(CODES), range(VALUES)), repeat=rows):
        cells = [list(product(SPREAD[r], HIDE[s])) for r, s in table]
        for shown in product(*cells):
            if linked:
                yield tuple(sorted(shown)), table
            else:
                yield (tuple(sorted(r for r, _ in shown)), tuple(sorted(s for _, s in shown))), table


@pytest.mark.parametrize(("rows", "linked"), [(2, True), (2, False), (3, False)])
def test_attacker_and_learner_are_bayes_rule_over_every_table(rows: int, linked: bool) -> None:
    """This is why equal cells are told apart, and overlapping cells counted once a matching."""
    age, ill = quasi("age", *"012"), sensitive("disease", *"01")
    prior = PseudoCounts((1, Fraction(3, 2)), {0: ((1, 2, Fraction(1, 2)), (1, 1, 1))})
    known = 1
    target = defaultdict(lambda: [Fraction(0)] * VALUES)  # release -> P(t*, S_V = s, R_V = known)
    one_more = defaultdict(lambda: [Fraction(0)] * VALUES)  # release -> P(t*, one more row is (known, s))
    total = defaultdict(Fraction)
    chances: dict[tuple[tuple[int, int], ...], list[Fraction]] = {}
    for shown, table in every_outcome(rows, linked):
        if table not in chances:
            chances[table] = [probability(table, prior)]
            chances[table] += [probability((*table, (known, s)), prior) for s in range(VALUES)]
        chance, *more = chances[table]
        total[shown] += chance
        for s in range(VALUES):
            target[shown][s] += chance * table.count((known, s))
            one_more[shown][s] += more[s]
    for shown in total:

        def text(cells: Sequence[Region]) -> str:
            return "; ".join(",".join(map(str, cell)) for cell in cells)

        if linked:
            blocks = {"age disease": "; ".join(" ".join(",".join(map(str, c)) for c in row) for row in shown)}
        else:
            blocks = {"age": text(shown[0]), "disease": text(shown[1])}
        release = written_release([age, ill], blocks)
        knowledge = {0: exactly(age, str(known))}
        joint = [j / total[shown] for j in one_more[shown]]
        assert enumerate_learner_joint(release, 1, prior, knowledge) == joint
        if any(target[shown]):
            assert enumerate_attacker(release, 1, prior, knowledge) == normalised(target[shown])
        else:
            with pytest.raises(ValueError, match="fits no row"):
                enumerate_attacker(release, 1, prior, knowledge)


# The enumerator against itself


@by_name
def test_worlds_taken_together_equal_worlds_one_by_one(small: SmallRelease) -> None:
    """No counts, no merging: each world's rows, weighed row by row."""
    release, asked, target = small.release, small.asked, small.targets[3]
    prior = uneven_pseudo_counts(release, asked)
    others = [a for a in range(len(release.attributes)) if a != asked]
    weights = [Fraction(0)] * release.attributes[asked].codes
    known_group = list(weights)
    many = 0
    for world in worlds(release, asked):
        many += 1
        chance, seen = Fraction(1), Counter[object]()
        for before, row in enumerate(row for group in world for row in group):
            s = row[asked]
            chance *= Fraction(prior.alpha[s] + seen[s]) / (sum(prior.alpha) + before)
            for a in others:
                chance *= Fraction(prior.beta[a][s][row[a]] + seen[a, s, row[a]]) / (sum(prior.beta[a][s]) + seen[s])
            seen.update([s, *((a, s, row[a]) for a in others)])
        for number, group in enumerate(world):
            for row in group:
                fit = chance * prod((e[row[a]] for a, e in target.knowledge.items()), start=Fraction(1))
                weights[row[asked]] += fit
                known_group[row[asked]] += fit * (number == target.group)
    assert many == prod(sum(1 for _ in group_worlds(release, asked, g)) for g in range(release.groups))
    assert enumerate_attacker(release, asked, prior, target.knowledge) == normalised(weights)
    assert enumerate_attacker(release, asked, prior, target.knowledge, target.group) == normalised(known_group)


@pytest.mark.parametrize("name", ["horizontal nested", "sets with gaps", "missing is a value", "the original"])
def test_linked_releases_piece_by_piece(name: str) -> None:
    small = next(s for s in SMALL if s.name == name)
    prior = uneven_pseudo_counts(small.release, small.asked)
    for target in small.targets:
        for group in (None, target.group):
            piecewise = linked_attacker(small.release, small.asked, prior, target.knowledge, group)
            assert piecewise == enumerate_attacker(small.release, small.asked, prior, target.knowledge, group)
        joint = linked_learner_joint(small.release, small.asked, prior, target.knowledge)
        assert joint == enumerate_learner_joint(small.release, small.asked, prior, target.knowledge)


@pytest.mark.parametrize("name", ["vertical", "disease suppressed in a bucket, widened in another"])
def test_partial_knowledge_is_the_sum_over_what_is_unknown(name: str) -> None:
    small = next(s for s in SMALL if s.name == name)
    release, asked, prior = small.release, small.asked, uneven_pseudo_counts(small.release, small.asked)
    age, sex, _ = release.attributes
    woman = {1: exactly(sex, "f")}
    parts = [enumerate_learner_joint(release, asked, prior, {0: exactly(age, v), **woman}) for v in age.values]
    assert [sum(column) for column in zip(*parts, strict=True)] == enumerate_learner_joint(release, asked, prior, woman)
    everyone = enumerate_learner_joint(release, asked, prior, {})
    assert sum(everyone) == 1
    assert everyone == enumerate_learner(release, asked, prior, {})
    expected = enumerate_attacker(release, asked, prior, {})  # nothing known: the expected share of each s
    assert [x * release.rows + a for x, a in zip(expected, prior.alpha, strict=True)] == [
        x * (release.rows + sum(prior.alpha)) for x in everyone
    ]


@by_name
def test_targets_fit_and_beliefs_are_distributions(small: SmallRelease) -> None:
    release, asked = small.release, small.asked
    prior = pseudo_counts(release, asked)
    layout = range(release.attributes[asked].codes)
    pi = [Fraction(s + 1, comb(len(layout) + 1, 2)) for s in layout]
    theta = {
        a: [[Fraction(1, attribute.codes)] * attribute.codes] * len(layout)
        for a, attribute in enumerate(release.attributes)
    }
    for target in small.targets[:2]:
        beliefs = [
            enumerate_random_worlds(release, asked, target.knowledge, target.group),
            enumerate_attacker(release, asked, prior, target.knowledge, target.group),
            enumerate_fixed_attacker(release, asked, pi, theta, target.knowledge, target.group),
            enumerate_learner(release, asked, prior, target.knowledge),
        ]
        assert all(sum(belief) == 1 and min(belief) >= 0 for belief in beliefs)


def test_names_of_small_releases_and_targets_differ() -> None:
    assert len({small.name for small in SMALL}) == len(SMALL)
    assert all(len({t.name for t in small.targets}) == len(small.targets) for small in SMALL)


def test_known_says_what_knowledge_says() -> None:
    for small in SMALL:
        for target in small.targets:
            for a, (codes, wrong) in target.known.items():
                attribute = small.release.attributes[a]
                assert target.knowledge[a] == one_of(attribute, [attribute.values[c] for c in codes], wrong)


def test_noise_is_spread_over_the_other_values() -> None:
    age = quasi("age", *"0123")
    assert exactly(age, "1", Fraction(3, 10)) == (Fraction(1, 10), Fraction(7, 10), Fraction(1, 10), Fraction(1, 10))
    assert one_of(age, ["0", "1"], Fraction(3, 10)) == (
        Fraction(7, 10),
        Fraction(7, 10),
        Fraction(3, 10),
        Fraction(3, 10),
    )
    assert one_of(age, ["0", "1"]) == (1, 1, 0, 0)


def test_unveils_prior_is_read_as_it_is() -> None:
    small = SMALL[0]
    known = small.targets[0].knowledge
    theirs = Prior.uninformative(small.release, small.asked, alpha=0.5, beta=2.0)
    ours = pseudo_counts(small.release, small.asked, Fraction(1, 2), 2)
    belief = enumerate_learner(small.release, small.asked, theirs, known)
    assert belief == enumerate_learner(small.release, small.asked, ours, known)


def test_the_attribute_asked_about_cannot_be_known() -> None:
    small = SMALL[0]
    with pytest.raises(ValueError, match="cannot be known"):
        enumerate_random_worlds(small.release, small.asked, {small.asked: (1, 0, 0)})

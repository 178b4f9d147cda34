"""Slicing: which attributes stand together, p(t, s) by hand and by counting anew, and what cuts may be made."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from small import INSENSITIVE, QI, SENSITIVE, made_schema, made_table
from unveil import catalog
from unveil.anonymizers.mondrian import Mondrian, cut_axes
from unveil.anonymizers.parts.attribute_partition import (
    clustered_columns,
    contingency,
    contingency_of,
    discretised,
    given_columns,
    medoids_of,
)
from unveil.anonymizers.parts.match_probabilities import AskedAttribute, MatchProbabilities, likely_values, make_slices
from unveil.anonymizers.parts.tuple_partition import local_buckets, shared_buckets
from unveil.anonymizers.slicing import Slicing, asked_of, sliced
from unveil.data.attribute import Role
from unveil.data.release import Anonymized, Release, row_numbers
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError
from unveil.privacy.models import AlphaK, DistinctL, KAnonymity, NTCloseness, PrivacyModel, ProbabilisticL, TCloseness
from unveil.privacy.requirement import Requirement

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 59}, "missing": "category"},
        "zip": {"role": QI, "domain": list("uvwxyz")},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "note": {"role": INSENSITIVE, "domain": ["p", "q"]},
        "disease": {"role": SENSITIVE, "domain": list("abcde")},
    },
    missing=["?"],
)


def people(rows: int, seed: int) -> Table:
    random = np.random.default_rng(seed)
    return made_table(
        SCHEMA,
        *(
            (
                "?" if random.random() < 0.05 else str(random.integers(12)),
                "uvwxyz"[random.integers(6)],
                "fm"[random.integers(2)],
                "pq"[random.integers(2)],
                "abcde"[random.integers(5)],
            )
            for _ in range(rows)
        ),
    )


def beliefs(release: Release, table: Table, asked: int) -> list[list[Fraction]]:
    """p(t, s) of every row by the definitions of section 4.2.2, from the published cells alone; rows match regions."""
    known = [i for i in table.with_role(Role.QUASI_IDENTIFIER) if i != asked]
    found = []
    for row in range(table.rows):
        total = [Fraction(0)] * table.attributes[asked].codes
        for group in range(release.groups):
            size, degree, candidates = int(release.sizes[group]), Fraction(1), Counter[int]()
            for block in release.blocks:
                entries = slice(block.start[group], block.start[group + 1])
                count = block.count[entries].copy()
                for i in block.attributes:
                    if i in known:
                        cells = block.region(i)[entries]
                        count *= release.regions[i].holds(cells, np.full(len(cells), table.columns[i][row]))
                fits = int(count.sum())
                if asked in block.attributes:
                    values = release.regions[asked].single()[block.region(asked)[entries]]
                    for value, times in zip(values.tolist(), count.tolist(), strict=True):
                        candidates[value] += times
                degree *= Fraction(fits, size)
                if not degree:
                    break
            else:
                for value, times in candidates.items():
                    total[value] += degree * Fraction(times, sum(candidates.values()))
        found.append([weight / sum(total) for weight in total])
    return found


def largest(made: Anonymized, table: Table) -> Fraction:
    return max(map(max, beliefs(made.release, table, table.index("disease"))))


# Table 4.1 as printed, and the eight rows that the text speaks of.
SIX = """22 M 47906 dyspepsia/22 F 47906 flu/52 F 47905 bronchitis/54 M 47302 flu/60 M 47302 dyspepsia
64 F 47304 gastritis"""
EIGHT = """22 M 47906 dyspepsia/22 F 47906 flu/33 F 47905 flu/52 F 47905 bronchitis/54 M 47302 flu/60 M 47302 dyspepsia
60 M 47304 dyspepsia/64 F 47304 gastritis"""
TABLE_4_1 = made_schema(
    {
        "age": {"role": QI, "kind": "numeric"},
        "sex": {"role": QI},
        "zip": {"role": QI},
        "disease": {"role": SENSITIVE},
    }
)


def printed(text: str) -> tuple[Table, NDArray[np.int64]]:
    """The table and its two buckets, halves of it."""
    rows = [line.split() for line in text.replace("\n", "/").split("/")]
    return made_table(TABLE_4_1, *rows), np.arange(len(rows)) * 2 // len(rows)


def shares_of(table: Table, columns: tuple[tuple[int, ...], ...], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """(rows, values) p(t, s) as the program keeps it."""
    known = table.with_role(Role.QUASI_IDENTIFIER)
    nothing = np.zeros(table.rows, np.int64)
    slices = make_slices([row_numbers([table.columns[i] for i in c if i in known] or [nothing]) for c in columns])
    requirement = Requirement.of([DistinctL(l=1)], table, "test")
    return likely_values(slices, asked_of(table, columns, requirement), group).shares(0)[slices.person]


def test_table_4_1_f_fails_with_six_rows_and_holds_with_eight() -> None:
    for text, worst in ((SIX, [0.5, 0.5, 1, 0.5, 0.5, 1]), (EIGHT, [0.5] * 8)):
        table, group = printed(text)
        columns = ((0, 1), (2, 3))
        p = shares_of(table, columns, group)
        assert p.max(axis=1).tolist() == worst
        assert p.sum(axis=1) == pytest.approx(1, abs=1e-15)
        assert np.array(beliefs(sliced(table, columns, group).release, table, 3), dtype=float) == pytest.approx(p)
    values = table.attributes[3].values
    assert [p[0][values.index(v)] for v in ("dyspepsia", "flu")] == [0.5, 0.5]  # D(t1, B1) in the text


def test_multisets_are_slices_of_one_attribute() -> None:
    """Table 4.1(d), typed as printed, says of each bucket just what (e) publishes."""
    table, group = printed(SIX)
    release = sliced(table, ((0,), (1,), (2,), (3,)), group).release
    said = [
        "22:2,52:1 M:1,F:2 47905:1,47906:2 dyspepsia:1,flu:1,bronchitis:1",
        "54:1,60:1,64:1 M:2,F:1 47302:2,47304:1 flu:1,dyspepsia:1,gastritis:1",
    ]
    for bucket, line in enumerate(said):
        for block, multiset in zip(release.blocks, line.split(), strict=True):
            (index,) = block.attributes
            entries = slice(block.start[bucket], block.start[bucket + 1])
            codes = release.regions[index].single()[block.region(index)[entries]]
            shown = {
                table.attributes[index].values[c]: int(n) for c, n in zip(codes, block.count[entries], strict=True)
            }
            assert shown == {part.split(":")[0]: int(part.split(":")[1]) for part in multiset.split(",")}


def test_contingency_is_chi_square_by_rows() -> None:
    random = np.random.default_rng(2)
    one, other = random.integers(4, size=300), random.integers(7, size=300)
    other = np.where(random.random(300) < 0.4, one, other)
    counts = np.histogram2d(one, other, bins=(range(5), range(8)))[0]
    assert contingency(one, other) == pytest.approx(chi2_contingency(counts, correction=False).statistic / 300 / 3)
    assert contingency(one, one * 5 + 3) == pytest.approx(1)
    assert contingency(one, np.zeros(300, int)) == 0
    assert contingency(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == 0
    assert contingency(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])) == pytest.approx(1 / 3)  # by hand


def test_numbers_are_compared_in_intervals_of_equal_width() -> None:
    schema = made_schema({"x": {"role": QI, "kind": "numeric", "missing": "category"}}, missing=["?"])
    table = made_table(schema, *([v] for v in ("0", "1", "2", "9", "10", "?")))
    assert discretised(table.attributes[0], table.columns[0], 2).tolist() == [0, 0, 0, 1, 1, 2]
    assert discretised(table.attributes[0], table.columns[0], 4).tolist() == [0, 0, 0, 3, 3, 4]
    assert len(set(discretised(table.attributes[0], table.columns[0], 5).tolist())) == 6  # five values: as they are


def related(rows: int = 400) -> Table:
    """a and b go together, c and d go together, s goes with d and less with c."""
    random = np.random.default_rng(8)
    a, c = random.integers(4, size=(2, rows))
    b, d = (np.where(random.random(rows) < 0.1, random.integers(4, size=rows), x) for x in (a, c))
    s = np.where(random.random(rows) < 0.5, random.integers(4, size=rows), d)
    schema = made_schema(
        {n: {"role": SENSITIVE if n == "s" else QI, "domain": list("0123")} for n in ("a", "c", "s", "b", "d")}
    )
    return made_table(schema, *np.stack([a, c, s, b, d], axis=1).astype(str).tolist())


def test_attributes_that_go_together_are_one_column() -> None:
    table = related()
    together = contingency_of(table, 10)
    assert together[2, 4] > together[2, 1] > together[2, 0]
    assert clustered_columns(table, 2, None, 10) == ((0, 3), (1, 2, 4))
    assert clustered_columns(table, 3, 1, 10) == ((0, 3), (1, 4), (2,))
    assert clustered_columns(table, 2, 2, 10) == ((0, 1, 3), (2, 4))
    assert clustered_columns(table, 3, 3, 10) == ((0,), (1, 2, 4), (3,))
    assert clustered_columns(table, 5, None, 10) == ((0,), (1,), (2,), (3,), (4,))
    assert clustered_columns(table, 1, None, 10) == ((0, 1, 2, 3, 4),)


def test_equal_attributes_still_make_c_columns() -> None:
    schema = made_schema({n: {"role": QI, "domain": ["x", "y"]} for n in "abcd"})
    for rows in (["xxxx", "yyyy"], ["xxxx", "xxxx"]):
        table = made_table(schema, *rows)
        for c in (1, 2, 3, 4):
            columns = clustered_columns(table, c, None, 10)
            assert sorted(i for column in columns for i in column) == [0, 1, 2, 3]
            assert len(columns) == c
            assert all(columns)


@pytest.mark.parametrize(("c", "alpha", "message"), [(6, None, "choose c ≤ 5"), (4, 3, "do not fit"), (2, 6, "fit")])
def test_columns_that_cannot_be(c: int, alpha: int | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        clustered_columns(related(), c, alpha, 10)


def test_columns_by_hand() -> None:
    table = related()
    assert given_columns(table, [["s", "a"]]) == ((0, 2), (1, 3, 4))
    assert given_columns(table, [["d"], ["s", "a"], ["b", "c"]]) == ((0, 2), (1, 3), (4,))
    for wrong, message in (([["a"], ["s", "a"]], "'a' twice"), ([["z"]], "'z' in columns; choose from a, c, s, b, d")):
        with pytest.raises(UsageError, match=message):
            given_columns(table, wrong)
    made = catalog.anonymizer("slicing:l=2,columns=s+a/d")
    assert made == Slicing(require=(DistinctL(l=2),), columns=(("s", "a"), ("d",)))


COLUMNS = ((0, 2), (1, 4), (3,))
GIVEN = "columns=age+sex/zip+disease/note"


@pytest.mark.parametrize("seed", range(3))
def test_p_is_that_of_the_definition(seed: int) -> None:
    """Random buckets, so that people match several: the sums kept are those counted anew from the release."""
    table = people(40, seed)
    group = np.random.default_rng(seed).integers(5, size=40)
    p = shares_of(table, COLUMNS, group)
    slow = np.array(beliefs(sliced(table, COLUMNS, group).release, table, 4), dtype=float)
    assert p == pytest.approx(slow, abs=1e-12)
    assert p.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert ((p == 0) == (slow == 0)).all()


SHARED = ["grouping=relaxed", "cut=age", "cut=zip+sex", "generalise=4", "generalise=3,grouping=relaxed"]


@pytest.mark.parametrize("options", ["grouping=strict", *SHARED])
@pytest.mark.parametrize(("model", "l"), [("probabilistic_l", 1.3), ("distinct_l", 2)])
def test_every_person_keeps_the_requirement(options: str, model: str, l: float) -> None:
    buckets = []
    for seed in range(2):
        table = people(60, seed)
        made = catalog.anonymizer(f"slicing:{GIVEN},{options},require={model}:l={l}").anonymize(table, Engine(seed=4))
        p = beliefs(made.release, table, 4)
        level = [1 / max(row) if model == "probabilistic_l" else sum(x > 0 for x in row) for row in p]
        assert min(level) >= l
        buckets.append(made.release.groups)
    assert max(buckets) > 1


def test_strict_cuts_leave_everybody_one_bucket() -> None:
    table = people(200, 5)
    made = catalog.anonymizer(f"slicing:{GIVEN},l=2").anonymize(table, Engine(seed=0))
    assert made.release.groups > 5
    for row in range(table.rows):
        matching = set(range(made.release.groups))
        for column in ((0, 2), (1,)):
            same = np.all([table.columns[i] == table.columns[i][row] for i in column], axis=0)
            matching &= set(made.group_of_row[same].tolist())
        assert matching == {int(made.group_of_row[row])}


@pytest.mark.parametrize("models", [(ProbabilisticL(l=1.7),), (DistinctL(l=3), KAnonymity(k=7)), (TCloseness(t=0.5),)])
def test_both_ways_to_cut_strictly_agree(models: tuple[PrivacyModel, ...]) -> None:
    """Judged by the children alone, or by following everybody's p: the same buckets."""
    for seed in range(3):
        table = people(300, seed)
        known = table.with_role(Role.QUASI_IDENTIFIER)
        requirement = Requirement.of(models, table, "test")
        slices = make_slices(
            [row_numbers([table.columns[i] for i in c if i in known] or [np.zeros(300, int)]) for c in COLUMNS]
        )
        asked = asked_of(table, COLUMNS, requirement)
        axes, codes = cut_axes(Mondrian(), table, known)
        one = local_buckets(axes, codes, slices, asked, requirement)
        other = shared_buckets(axes, codes, slices, asked, requirement, None, Engine(seed=0))
        assert one.max() > 5
        assert len(set(zip(one.tolist(), other.tolist(), strict=True))) == one.max() + 1 == other.max() + 1


@pytest.mark.parametrize(("columns", "within"), [(4, 1e-12), (6, 1e-4)])
def test_a_bucket_that_goes_leaves_no_trace(columns: int, within: float) -> None:
    """A rare person alone in a bucket, and in large ones: the first outweighs these by 10^15, or 10^23."""
    rows = 20_000
    cell = np.ones(rows, int)
    cell[[0, 6_000, 10_000, 17_000]] = 0
    slices = make_slices([cell] * columns)
    likely = MatchProbabilities(slices, [AskedAttribute(0, np.where(cell == 0, 0, np.arange(rows) % 3), 3)])
    person = slices.person[0]
    large, alone = np.split(np.arange(5_001, rows), [4_321, 9_876]), np.arange(1)
    for bucket in large:
        likely.add(bucket)
    before = likely._sum[0][person].copy()
    likely.add(alone)
    assert likely._sum[0][person].max() > 1e13 * before.max() > 0
    likely.change((), (alone,), None)
    assert likely._sum[0][person] == pytest.approx(before, rel=within)
    likely.add(alone)
    for bucket in (*large, alone):
        likely.change((), (bucket,), None)
    assert (likely._sum[0][person] == 0).all()  # not nearly: a value that is possible no more must not count as one


def test_random_buckets_have_their_size() -> None:
    table = people(107, 3)
    made = catalog.anonymizer(f"slicing:{GIVEN},grouping=random,size=10").anonymize(table, Engine(seed=1))
    assert Counter(made.release.sizes.tolist()) == Counter({10: 9, 17: 1})
    assert [b.attributes for b in made.release.blocks] == [(0, 2), (1, 4), (3,)]
    with pytest.raises(RequirementError, match="random buckets of 10 rows the largest p"):
        catalog.anonymizer(f"slicing:{GIVEN},grouping=random,size=10,l=3").anonymize(table, Engine(seed=1))
    with pytest.raises(RequirementError, match="have 10 rows or more; choose a larger size"):
        catalog.anonymizer(f"slicing:{GIVEN},grouping=random,size=10,k=11").anonymize(table, Engine(seed=1))


def test_generalised_columns_stand_for_k_rows() -> None:
    table = people(150, 6)
    made = catalog.anonymizer(f"slicing:{GIVEN},generalise=5,l=2").anonymize(table, Engine(seed=0))
    widened = False
    for block in made.release.blocks[:2]:
        known = [i for i in block.attributes if i < 3]
        number = row_numbers([block.region(i) for i in known])
        assert np.bincount(number, weights=block.count).min() >= 5
        widened |= any((made.release.regions[i].sizes > 1).any() for i in known)
    assert widened


def test_what_cannot_be_met_says_what_could() -> None:
    rows = [("1", "u", "f", "p", v) for v in "aaab"] + [("2", "u", "m", "p", v) for v in "abcd"]
    table = made_table(SCHEMA, *rows)
    for options, message in (
        (
            "columns=sex+disease,require=probabilistic_l:l=2",
            "in one bucket the largest p of a value of disease is 0.750; l=1.333 can be met, or",
        ),
        ("columns=disease,require=probabilistic_l:l=3", "is 0.500; l=2 can be met"),
        ("columns=sex+disease,l=3", "l=2 can be met, or more"),
        ("columns=disease,k=9,l=2", "the table has only 8 rows"),
    ):  # fmt: skip
        with pytest.raises(RequirementError) as error:
            catalog.anonymizer(f"slicing:{options}").anonymize(table, Engine(seed=0))
        assert message in str(error.value)
    assert catalog.anonymizer("slicing:columns=disease,l=4").anonymize(table, Engine(seed=0)).release.groups == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("c=0", "c = 0; choose a whole number of at least 1"),
        ("alpha=1,columns=disease", "keep one"),
        ("size=5", "size goes with grouping=random"),
        ("grouping=random", "size goes with grouping=random"),
        ("grouping=random,size=5,cut=age", "random buckets are not cut"),
        ("l=2,cut=disease", "'disease', which is not a quasi-identifier"),
        ("grouping=strict", "slicing needs a requirement"),
    ],
)
def test_options_that_make_no_sense(options: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        catalog.anonymizer(f"slicing:{options}").anonymize(people(20, 0), Engine(seed=0))


def test_models_of_sizes_and_values_at_once_are_refused() -> None:
    for model in (AlphaK(alpha=0.5, k=3), NTCloseness(n=10, t=0.1)):
        with pytest.raises(UsageError, match=f"cannot require {model.name}"):
            Slicing(require=(model,))
    table = people(50, 1)
    made = Slicing(require=(AlphaK(alpha=0.8),), columns=(("disease",),)).anonymize(table, Engine(seed=0))
    assert largest(made, table) <= Fraction(4, 5)


def test_several_sensitive_attributes_are_each_asked_in_their_column() -> None:
    random = np.random.default_rng(9)
    schema = made_schema(
        {n: {"role": SENSITIVE if n in "st" else QI, "domain": list("01234")} for n in ("a", "s", "b", "t")}
    )
    table = made_table(schema, *random.integers(5, size=(60, 4)).astype(str).tolist())
    for grouping in ("strict", "relaxed"):
        made = catalog.anonymizer(f"slicing:columns=a+s/b+t,l=2,grouping={grouping}").anonymize(table, Engine(seed=2))
        assert made.release.groups > 1
        for asked in (1, 3):
            assert min(sum(x > 0 for x in row) for row in beliefs(made.release, table, asked)) >= 2


def test_too_many_cells_and_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unveil.anonymizers.slicing.MOST_LIKELY", 5)
    with pytest.raises(UsageError, match="6 cells beside 5 values of disease are too many"):
        catalog.anonymizer(f"slicing:{GIVEN},l=1").anonymize(people(50, 1), Engine(seed=0))


def test_no_swap_improves_medoids_and_one_medoid_is_the_best() -> None:
    random = np.random.default_rng(3)
    best = 0
    for _ in range(200):
        points, c = int(random.integers(3, 9)), int(random.integers(1, 4))
        apart = random.random((points, points)).round(1)  # with ties
        apart = np.minimum(apart, apart.T)
        np.fill_diagonal(apart, 0)
        c = min(c, points - 1)
        found = medoids_of(apart, c)
        assert len(set(found)) == c
        cost = {s: apart[:, list(s)].min(axis=1).sum() for s in combinations(range(points), c)}
        total = cost[tuple(sorted(found))]
        swapped = [tuple(sorted({*found} - {out} | {into})) for out in found for into in {*range(points)} - {*found}]
        assert total <= min(cost[s] for s in swapped) + 1e-9
        best += total <= min(cost.values()) + 1e-9
        assert c > 1 or total <= min(cost.values()) + 1e-9
    assert best >= 180  # a swap at a time ends in the best of all nearly always

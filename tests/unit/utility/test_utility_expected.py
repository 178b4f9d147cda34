"""Expected rows, queries, divergence and large populations: by hand, and against every matching written out."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Published, releases, tables

from small import QI, SENSITIVE, made_release, made_schema, made_table
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.privacy.models import KAnonymity
from unveil.utility import (
    kl_divergence,
    large_populations,
    query_error,
    query_errors,
    random_queries,
    rule_recall,
    utility_loss,
    utility_losses,
)
from unveil.utility.predicates import Predicates, expected_counts, expected_values, true_counts, true_values

JOBS = [["cook", "food", "*"], ["waiter", "food", "*"], ["nurse", "care", "*"], ["doctor", "care", "*"]]
SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 23}},
        "job": {"role": QI, "domain": [row[0] for row in JOBS]},
        "s": {"role": SENSITIVE, "domain": ["a", "b"]},
    },
    {"job": JOBS},
)
AGE, JOB, S = (SCHEMA.attribute(name) for name in SCHEMA.names)
TABLE = made_table(
    SCHEMA, (20, "cook", "a"), (21, "waiter", "b"), (22, "nurse", "a"), (23, "nurse", "a"), (23, "doctor", "b")
)
YOUNG, OLD, FOOD = ("20", "21"), ("22", "23"), ("cook", "waiter")
WIDE = made_release(
    (AGE, JOB, S),
    [
        (
            (0, 1, 2),
            [
                (0, YOUNG, FOOD, "a"),
                (0, YOUNG, FOOD, "b"),
                (1, OLD, ("nurse", "doctor"), "a"),
                (1, OLD, ("nurse", "doctor"), "a"),
                (1, OLD, ("nurse", "doctor"), "b"),
            ],
        )
    ],
)
BUCKETS = made_release(
    (AGE, JOB, S),
    [
        ((0, 1), [(0, "20", "cook"), (0, "21", "waiter"), (1, "22", "nurse"), (1, "23", "nurse"), (1, "23", "doctor")]),
        ((2,), [(0, "a"), (0, "b"), (1, "a"), (1, "a"), (1, "b")]),
    ],
)


def accepting(**values: str) -> Predicates:
    """One predicate, its values parted by blanks."""
    accepts = []
    for attribute in (AGE, JOB, S):
        wanted = values.get(attribute.name, " ".join(attribute.values)).split()
        accepts.append(np.array([[value in wanted for value in attribute.values]]))
    return Predicates((AGE, JOB, S), tuple(accepts))


@pytest.mark.parametrize(
    ("values", "true", "wide", "buckets"),
    [
        ({"age": "20"}, 1, 1, 1),  # wide: 2 rows × 1/2
        ({"age": "20", "job": "cook"}, 1, 2 / 4, 1),
        ({"age": "20", "s": "a"}, 1, 1 / 2, 1 / 2),
        ({"age": "21 22", "s": "a"}, 1, 1 / 2 + 2 / 2, 1 / 2 + 2 / 3),
        ({"job": "nurse", "s": "a"}, 2, 2 / 2, 2 * 2 / 3),
        ({}, 5, 5, 5),
    ],
)
def test_expected_rows_by_hand(values: dict[str, str], true: float, wide: float, buckets: float) -> None:
    query = accepting(**values)
    assert true_counts(TABLE, query)[0] == true
    assert expected_counts(WIDE, query)[0] == pytest.approx(wide)
    assert expected_counts(BUCKETS, query)[0] == pytest.approx(buckets)
    assert expected_counts(TABLE.as_release(), query)[0] == true
    for release, total in ((WIDE, wide), (BUCKETS, buckets)):
        for name in ("age", "job", "s"):
            assert expected_values(release, query, name).sum() == pytest.approx(total)


def test_expected_rows_by_value() -> None:
    assert expected_values(BUCKETS, accepting(job="nurse"), "s").tolist() == [
        [pytest.approx(4 / 3), pytest.approx(2 / 3)]
    ]
    assert expected_values(WIDE, accepting(age="20 21 22", s="a"), "age").tolist() == [[0.5, 0.5, 1.0, 0.0]]
    assert true_values(TABLE, accepting(age="20 22 23", s="a"), "age").tolist() == [[1, 0, 1, 1]]


def test_an_attribute_that_is_not_published_is_the_whole_domain() -> None:
    without = made_release((S,), [((0,), [(0, "a")] * 3 + [(0, "b")] * 2)])
    assert expected_counts(without, accepting(age="20", s="a"))[0] == pytest.approx(3 / 4)
    assert expected_counts(without, Predicates((AGE,), (np.array([[True, True, False, False]]),)))[0] == 2.5


def by_matchings(release: Release, predicates: Predicates, asked: int | None = None) -> np.ndarray:
    """Every matching of every group, row by row: the mean number of rows that fit (by code of one attribute)."""
    codes = 1 if asked is None else release.attributes[asked].codes
    found = np.zeros((len(predicates), codes))
    place = {a.name: i for i, a in enumerate(predicates.attributes)}
    for group in range(release.groups):
        shown = []
        for block in release.blocks:
            entries = range(block.start[group], block.start[group + 1])
            shown.append([block.cells[block.cell[e]] for e in entries for _ in range(block.count[e])])
        matchings = list(product(*(permutations(cells) for cells in shown[1:]))) if shown[1:] else [()]
        for others, q in product(matchings, range(len(predicates))):
            for row in zip(shown[0], *others, strict=True):
                share, of_code = 1.0, np.ones(codes)
                for block, cell in zip(release.blocks, row, strict=True):
                    for index, region in zip(block.attributes, cell, strict=True):
                        members = release.regions[index].members(region)
                        name = release.attributes[index].name
                        accepted = predicates.accepts[place[name]][q] if name in place else np.ones(9999, dtype=bool)
                        if index == asked:
                            of_code = np.array([(c in members) * accepted[c] / len(members) for c in range(codes)])
                        else:
                            share *= np.mean([accepted[c] for c in members])
                found[q] += share * of_code / len(matchings)
    return found


@st.composite
def asked(draw: st.DrawFn) -> tuple[Published, Predicates]:
    """A release with at most 3 rows a group, and three predicates about some of its attributes."""
    published = draw(releases().filter(lambda p: p.release.sizes.max() <= 3))
    chosen = draw(st.lists(st.sampled_from(published.release.attributes), min_size=1, unique_by=lambda a: a.name))
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    return published, Predicates(tuple(chosen), tuple(random.random((3, a.codes)) < 0.6 for a in chosen))


@settings(max_examples=30)
@given(asked())
def test_expected_rows_are_the_mean_over_all_matchings(question: tuple[Published, Predicates]) -> None:
    published, predicates = question
    release = published.release
    assert expected_counts(release, predicates) == pytest.approx(by_matchings(release, predicates)[:, 0])
    last = len(release.attributes) - 1
    found = expected_values(release, predicates, release.attributes[last].name)
    assert found == pytest.approx(by_matchings(release, predicates, last))


def many_rows(rows: int, seed: int) -> Table:
    random = np.random.default_rng(seed)
    columns = [random.integers(0, a.codes, rows).astype(a.dtype) for a in (AGE, JOB, S)]
    columns[2] = ((columns[0] > 1) ^ (random.random(rows) < 0.2)).astype(S.dtype)
    return Table((AGE, JOB, S), tuple(columns))


def test_queries_are_drawn_as_defined_and_fit_somebody() -> None:
    table = many_rows(60, 1)
    for dimension, selectivity, wanted in ((1, 0.05, (1, 1, 1)), (2, 0.5, (4, 4, 2)), (2, 0.1, (2, 2, 1))):
        drawn = random_queries(table, dimension=dimension, selectivity=selectivity, queries=200, seed=4)
        assert len(drawn) == 200
        restricted = np.stack([~accepted.all(axis=1) for accepted in drawn.accepts], axis=1)
        for place, attribute in enumerate((AGE, JOB, S)):
            sizes = set(drawn.accepts[place].sum(axis=1))
            assert sizes <= {wanted[place], attribute.codes}
        if wanted != (4, 4, 2):
            assert (restricted[:, :2].sum(axis=1) == dimension).all()
            assert restricted[:, 2].all()
        assert (true_counts(table, drawn) >= 1).all()
    again = random_queries(table, queries=50, seed=9)
    assert all(
        (a == b).all() for a, b in zip(again.accepts, random_queries(table, queries=50, seed=9).accepts, strict=True)
    )


def test_query_errors_by_hand() -> None:
    query = accepting(age="21 22 23", s="a")  # truly the nurses of 22 and 23
    assert query_errors(WIDE, TABLE, query).tolist() == [pytest.approx(0.5 / 2)]  # 1/2 + 2 rows
    assert query_errors(BUCKETS, TABLE, query).tolist() == [pytest.approx(0.5 / 2)]  # 1/2 + 3 · 2/3
    measured = {"measured": "age"}
    # By age: 21 half a row, 22 and 23 one each.
    assert query_errors(WIDE, TABLE, query, aggregate="sum", **measured).tolist() == [pytest.approx(10.5 / 45)]
    average = (10.5 + 45) / 2.5
    assert query_errors(WIDE, TABLE, query, aggregate="average", **measured)[0] == pytest.approx(
        (22.5 - average) / 22.5
    )
    assert query_errors(WIDE, TABLE, query, aggregate="max", **measured).tolist() == [0]
    rare = accepting(age="20 21", job="cook", s="a")  # expected: a quarter row of 20 and one of 21; truly one of 20
    assert query_errors(WIDE, TABLE, rare, aggregate="max", **measured).tolist() == [pytest.approx(1 / 20)]
    quarter = accepting(age="20 21 22", job="cook waiter nurse", s="b")  # half a row of 20, of 21; a quarter of 22
    assert query_errors(WIDE, TABLE, quarter, aggregate="max", **measured).tolist() == [0]
    assert np.isnan(query_errors(WIDE, TABLE, accepting(age="20", s="b"))[0])  # nobody, truly


def test_the_original_answers_every_query_right() -> None:
    table = many_rows(80, 2)
    release = table.as_release()
    assert query_error(release, table, queries=100).value == 0
    for aggregate in ("sum", "average", "max"):
        assert query_error(release, table, queries=100, aggregate=aggregate, measured="age").value == pytest.approx(0)
    made = Mondrian(require=(KAnonymity(k=8),)).anonymize(table, Engine(seed=0)).release
    found = query_error(made, table, queries=100, seed=3)
    errors = query_errors(made, table, random_queries(table, queries=100, seed=3))
    assert found.value == pytest.approx(errors.mean())
    assert found.low < found.value < found.high
    assert found.high - found.value == pytest.approx(1.96 * errors.std(ddof=1) / 10, rel=1e-4)


def test_queries_that_make_no_sense() -> None:
    for options, message in (
        ({"dimension": 3}, "the table has 2 quasi-identifiers"),
        ({"selectivity": 0}, "a selectivity above 0"),
        ({"aggregate": "sum"}, "measured=NAME"),
    ):
        with pytest.raises(UsageError, match=message):
            query_error(WIDE, TABLE, queries=3, **options)
    with pytest.raises(NotApplicable, match="sum needs numbers, and job is categorical"):
        query_error(WIDE, TABLE, aggregate="sum", measured="job")
    other = made_schema({"s": {"role": SENSITIVE, "domain": ["a", "c"]}}).attribute("s")
    with pytest.raises(UsageError, match="domain of s is not the release's"):
        query_errors(made_release((other,), [((0,), [(0, "a")])]), TABLE, accepting())


def test_divergence_by_hand() -> None:
    # Five rows, all different: p = 1/5 each. WIDE: the young 1/4 of a row; nurses of 22 and 23 2/4; the doctor 1/4.
    wide = (3 * np.log(4) + 2 * np.log(2)) / 5
    assert kl_divergence(WIDE, TABLE).value == pytest.approx(wide)
    # BUCKETS: 1/2 of a row for the young; in the second bucket 2/3 for a, 1/3 for b.
    buckets = (2 * np.log(2) + 2 * np.log(3 / 2) + np.log(3)) / 5
    assert kl_divergence(BUCKETS, TABLE).value == pytest.approx(buckets)
    assert kl_divergence(BUCKETS, TABLE, attributes=["age", "job"]).value == 0
    assert kl_divergence(TABLE.as_release(), TABLE).value == 0
    wrong = made_release((AGE, S), [((0, 1), [(0, "20", "a")] * 5)])
    assert kl_divergence(wrong, TABLE).value == np.inf


@settings(max_examples=30)
@given(releases().filter(lambda p: p.release.sizes.max() <= 3), st.integers(0, 1000))
def test_divergence_is_that_of_expected_rows(published: Published, seed: int) -> None:
    """Any release beside any table of its schema, point by point as predicates of single values."""
    release = published.release
    random = np.random.default_rng(seed)
    columns = tuple(random.integers(0, a.codes, 6).astype(a.dtype) for a in release.attributes)
    table = Table(release.attributes, columns)
    names = [a.name for a in release.attributes]
    points, count = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    accepts = tuple(np.eye(a.codes, dtype=bool)[points[:, i]] for i, a in enumerate(release.attributes))
    expected = by_matchings(release, Predicates(release.attributes, accepts))[:, 0] / release.rows
    with np.errstate(divide="ignore"):
        kl = float((count / 6 * (np.log(count / 6) - np.log(expected))).sum())
    assert kl_divergence(release, table, attributes=names).value == pytest.approx(max(kl, 0.0), abs=1e-9)


def naive_populations(table: Table, support: float) -> set[tuple[frozenset[str] | None, ...]]:
    """Every combination of nodes of every level, by looping over rows."""
    known = [i for i, a in enumerate(table.attributes) if a.role == QI]
    choices = []
    for i in known:
        a = table.attributes[i]
        levels = [range(a.codes)] if a.hierarchy is None else a.hierarchy.node[:-1].tolist()
        nodes = [
            (number, frozenset(c for c in range(a.codes) if level[c] == node))
            for number, level in enumerate(levels)
            for node in sorted(set(level))
        ]
        choices.append([None, *nodes])
    found = set()
    for chosen in product(*choices):
        held = [
            all(n is None or r[i] in n[1] for i, n in zip(known, chosen, strict=True))
            for r in zip(*table.columns, strict=True)
        ]
        if any(n is not None for n in chosen) and sum(held) >= support * table.rows - 1e-9:
            found.add(chosen)
    return found


@given(tables(roles=[QI, QI, SENSITIVE], max_rows=12), st.sampled_from([0.1, 0.3, 0.5, 1.0]))
def test_large_populations_are_all_there_are(table: Table, support: float) -> None:
    wanted = naive_populations(table, support)
    if not wanted:
        with pytest.raises(NotApplicable, match="no population holds"):
            large_populations(table, minimum_support=support)
        return
    found = large_populations(table, minimum_support=support)
    assert len(found) == len(wanted)
    sets = [tuple(frozenset(np.flatnonzero(a[q]).tolist()) for a in found.accepts) for q in range(len(found))]
    codes = [a.codes for a in table.attributes]
    of_wanted = [tuple(frozenset(range(codes[i])) if n is None else n[1] for i, n in enumerate(w)) for w in wanted]
    assert sorted(map(repr, sets)) == sorted(map(repr, of_wanted))


def test_utility_loss_by_hand() -> None:
    """Only care has three of the five rows."""
    populations = large_populations(TABLE, minimum_support=0.6)
    assert len(populations) == 1
    assert utility_loss(WIDE, TABLE, minimum_support=0.6).value == 0  # the group is the population
    populations = large_populations(TABLE, minimum_support=0.4)  # 23; food, care, nurse; 23 and care
    assert len(populations) == 5

    def js(p: float, q: float) -> float:
        def h(x: float) -> float:
            return -sum(v * np.log(v) for v in (x, 1 - x) if v > 0)

        return h((p + q) / 2) - (h(p) + h(q)) / 2

    # Truly a: 23 1/2, food 1/2, care 2/3, nurse 1, 23 and care 1/2. The release says of food 1/2, of the others 2/3.
    wanted = [js(1 / 2, 2 / 3), 0, 0, js(1, 2 / 3), js(1 / 2, 2 / 3)]
    assert sorted(utility_losses(WIDE, TABLE, populations)) == pytest.approx(sorted(wanted))
    assert utility_loss(WIDE, TABLE, minimum_support=0.4).value == pytest.approx(sum(wanted) / 5)
    assert utility_loss(BUCKETS, TABLE, populations=populations).value == pytest.approx(sum(wanted) / 5)
    variational = utility_loss(WIDE, TABLE, populations=populations, distance="variational").value
    assert variational == pytest.approx((1 / 6 + 1 / 3 + 1 / 6) / 5)
    everything = made_release((S,), [((0,), [(0, "a")] * 3 + [(0, "b")] * 2)])
    assert utility_loss(everything, TABLE, populations=populations).value == pytest.approx(
        (3 * js(1 / 2, 3 / 5) + js(2 / 3, 3 / 5) + js(1, 3 / 5)) / 5
    )


def test_a_population_of_which_nobody_is_expected_is_like_everyone() -> None:
    wrong = made_release((AGE, S), [((0, 1), [(0, "20", "a")] * 4 + [(0, "20", "b")])])
    old = accepting(age="23")
    assert utility_losses(wrong, TABLE, old, distance="variational")[0] == pytest.approx(0.8 - 0.5)


def test_the_original_loses_nothing() -> None:
    table = many_rows(70, 5)
    assert utility_loss(table.as_release(), table).value == pytest.approx(0, abs=1e-12)
    assert rule_recall(table.as_release(), table).value == 1
    bucketized = Anatomy(l=2).anonymize(table, Engine(seed=1)).release
    assert 0 < utility_loss(bucketized, table).value < np.log(2)


def test_rule_recall_by_hand() -> None:
    # Rules of support 2/5 and confidence 1/2: care → a (2 of 3), nurse → a (2 of 2).
    assert rule_recall(WIDE, TABLE, minimum_support=0.4, minimum_confidence=0.5).value == 1 / 2  # nurse → a: 1 row
    assert rule_recall(BUCKETS, TABLE, minimum_support=0.4, minimum_confidence=0.5).value == 1 / 2  # 4/3 rows
    assert rule_recall(BUCKETS, TABLE, minimum_support=0.4, minimum_confidence=0.7).value == 0  # nurse → a alone
    with pytest.raises(NotApplicable, match="no rule of this support"):
        rule_recall(WIDE, TABLE, minimum_support=0.6, minimum_confidence=0.9)


def test_populations_that_make_no_sense() -> None:
    with pytest.raises(UsageError, match="choose a share above 0"):
        large_populations(TABLE, minimum_support=0)
    lone = made_schema({"s": {"role": SENSITIVE, "domain": ["a", "b"]}})
    with pytest.raises(NotApplicable, match="made of quasi-identifiers"):
        large_populations(made_table(lone, ["a"]))
    with pytest.raises(UsageError, match="without rows"):
        utility_losses(WIDE, TABLE, accepting(age="20", job="nurse"))
    with pytest.raises(UsageError, match="at least one attribute"):
        Predicates((), ())
    with pytest.raises(UsageError, match="1 predicates × 4 values"):
        Predicates((AGE,), (np.ones((1, 3), dtype=bool),))

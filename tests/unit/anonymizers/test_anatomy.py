"""Anatomy: eligibility, groups of l different values, rows left over, and what is left to chance."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small import INSENSITIVE, QI, SENSITIVE, made_schema, made_table
from unveil.anonymizers.anatomy import Anatomy
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError
from unveil.kernels.anatomy import rounds

SCHEMA = made_schema(
    {
        "disease": {"role": SENSITIVE, "domain": list("abcdefghijklmn")},
        "row": {"role": QI, "kind": "numeric"},
        "note": {"role": INSENSITIVE, "domain": ["x"]},
    }
)


def sick(*counts: int) -> Table:
    """A table with this many people of each disease, told apart by their row number."""
    values = [value for value, count in zip("abcdefghijklmn", counts, strict=False) for _ in range(count)]
    return made_table(SCHEMA, *((value, row, "x") for row, value in enumerate(values)))


def groups(made: Anonymized, table: Table) -> list[str]:
    """The diseases of each group, sorted."""
    values = table.attributes[0].values
    return sorted(
        "".join(sorted(values[c] for c in table.columns[0][made.group_of_row == g])) for g in range(made.release.groups)
    )


def run(table: Table, l: int, seed: int = 0) -> Anonymized:
    return Anatomy(l=l).anonymize(table, Engine(seed=seed))


def test_the_most_frequent_values_go_first() -> None:
    """3 a, 2 b, 1 c in pairs: a and b, then a with b or c, then a with the other."""
    table = sick(3, 2, 1)
    for seed in range(20):
        made = run(table, 2, seed)
        assert groups(made, table) == ["ab", "ab", "ac"]
        assert made.release.sizes.tolist() == [2, 2, 2]


def test_two_blocks_hide_the_link() -> None:
    table = sick(2, 2)
    release = run(table, 2).release
    assert [b.attributes for b in release.blocks] == [(0,), (1, 2)]
    assert release.histograms(0)[0].tolist() == [[1, 1] + [0] * 12] * 2
    assert (release.regions[1].sizes == 1).all()
    assert release.class_sizes().tolist() == [1, 1, 1, 1]  # k-anonymity is not what Anatomy gives


def test_a_row_left_over_joins_a_group_that_lacks_its_value() -> None:
    """2 a, 2 b, 1 c: whichever is left over, the other group has it."""
    table = sick(2, 2, 1)
    for seed in range(20):
        assert groups(run(table, 2, seed), table) == ["ab", "abc"]


@pytest.mark.parametrize("l", range(2, 8))
def test_remainders_of_a_real_table(l: int) -> None:
    """30,162 rows with the shares of Adult's 14 occupations: never an endless loop, every group l-diverse."""
    counts = [4038, 4030, 3992, 3721, 3584, 3212, 1966, 1572, 1350, 989, 912, 644, 143, 9]
    table = sick(*counts)
    made = run(table, l)
    histograms, _ = made.release.histograms(0)
    assert table.rows == 30162
    assert made.release.rows == 30162
    assert made.release.groups == 30162 // l
    assert histograms.max() == 1
    assert made.release.sizes.min() == l
    assert (made.release.sizes - l).sum() == 30162 % l
    assert Counter(made.group_of_row.tolist()) == Counter(dict(enumerate(made.release.sizes.tolist())))


@given(st.lists(st.integers(0, 12), min_size=1, max_size=8).filter(any), st.integers(2, 5), st.integers(0, 99))
def test_every_eligible_table_is_grouped_and_no_other(counts: list[int], l: int, seed: int) -> None:
    table = sick(*counts)
    if max(counts) * l > sum(counts):
        with pytest.raises(RequirementError, match="more than 1 in"):
            run(table, l, seed)
        return
    made = run(table, l, seed)
    histograms, _ = made.release.histograms(0)
    assert histograms.max() == 1
    assert (histograms.sum(axis=1) >= l).all()
    assert histograms.sum(axis=0).tolist()[: len(counts)] == counts


@pytest.mark.parametrize(
    ("counts", "l", "message"),
    [
        ((3, 1), 2, "anatomy: 'a' is the disease of 3 of 4 rows, more than 1 in 2; no l above 1 can be met"),
        ((2, 2, 2), 4, "'a' is the disease of 2 of 6 rows, more than 1 in 4; l=3 can be met"),
        ((1,), 2, "more than 1 in 2; no l above 1 can be met"),
        ((5, 5), 10**18, "l=2 can be met"),
    ],
)
def test_ineligible_tables_say_what_could_be_met(counts: tuple[int, ...], l: int, message: str) -> None:
    with pytest.raises(RequirementError) as error:
        run(sick(*counts), l)
    assert message in str(error.value)
    best = message.partition("l=")[2][:1]
    if best:
        assert run(sick(*counts), int(best)).release.rows == sum(counts)


def test_rows_left_over_can_be_refused() -> None:
    with pytest.raises(RequirementError, match="1 of 5 rows are left over for l=2; place them with residue=place"):
        Anatomy(l=2, residue="refuse").anonymize(sick(2, 2, 1), Engine(seed=0))
    assert Anatomy(l=2, residue="refuse").anonymize(sick(2, 2), Engine(seed=0)).release.groups == 2


def test_one_sensitive_attribute_is_needed() -> None:
    for roles, names in (([QI], r"0 \(none\)"), ([SENSITIVE, SENSITIVE], r"2 \(x0, x1\)")):
        schema = made_schema({f"x{i}": {"role": role, "domain": ["a", "b"]} for i, role in enumerate(roles)})
        with pytest.raises(UsageError, match=f"exactly one sensitive attribute; the schema has {names}"):
            run(made_table(schema, ["a"] * len(roles), ["b"] * len(roles)), 2)
    with pytest.raises(UsageError, match="choose a whole number of at least 2"):
        Anatomy(l=1)


def test_nothing_but_a_sensitive_attribute() -> None:
    schema = made_schema({"s": {"role": SENSITIVE, "domain": ["a", "b"]}})
    release = run(made_table(schema, ["a"], ["b"]), 2).release
    assert release.sizes.tolist() == [2]


def even(counter: Counter[int], ways: int, draws: int) -> bool:
    """Chi-square far inside what chance allows: below the mean by any amount, above it by 6 standard deviations."""
    expected = draws / ways
    square = sum((counter[way] - expected) ** 2 / expected for way in range(ways))
    return bool(square < (ways - 1) + 6 * np.sqrt(2 * (ways - 1)))


def test_rows_of_one_value_are_drawn_evenly() -> None:
    table = sick(3, 3)
    partner: Counter[int] = Counter()
    for seed in range(600):
        made = run(table, 2, seed)
        partner[int(np.flatnonzero(made.group_of_row == made.group_of_row[0])[1]) - 3] += 1
    assert even(partner, 3, 600)


def taken(counts: list[int], l: int, key: int, round_number: int) -> list[int]:
    """The values that one round takes."""
    group, _ = rounds(np.array(counts, np.int64), l, np.uint64(key))
    value = np.repeat(np.arange(len(counts)), counts)
    return sorted(value[group == round_number].tolist())


def test_ties_of_the_first_round_are_drawn_evenly() -> None:
    pairs = {pair: number for number, pair in enumerate([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])}
    found = Counter(pairs[tuple(taken([2, 2, 2, 2], 2, 7919 * key, 0))] for key in range(3000))
    assert even(found, 6, 3000)


def test_ties_with_values_that_lost_before_are_drawn_evenly() -> None:
    """4 4 3 3 3 in threes: of the four values at 3 in the second round two are new there, two lost a tie before."""
    passed_over: Counter[int] = Counter()
    for key in range(6000):
        first, second = (taken([4, 4, 3, 3, 3], 3, 7919 * key, number) for number in (0, 1))
        (late,) = {0, 1, *({2, 3, 4} - set(first))} - set(second)
        passed_over[int(late >= 2)] += 1
    assert even(passed_over, 2, 6000)

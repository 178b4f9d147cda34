"""Sets of codes as runs: made, measured, put in order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.data.regions import Regions, rank_sequences
from unveil.errors import ReleaseError

SETS = [[1], [0, 1, 2], [4, 0, 2], [0, 1, 2, 3, 4]]  # a value, an interval, a set of three runs, everything


@pytest.fixture
def regions() -> Regions:
    return Regions.sets(5, SETS)


def test_sets_are_stored_as_runs(regions: Regions) -> None:
    assert len(regions) == 4
    assert regions.start.tolist() == [0, 1, 2, 5, 6]
    assert regions.low.tolist() == [1, 0, 0, 2, 4, 0]
    assert regions.high.tolist() == [1, 2, 0, 2, 4, 4]
    assert regions.runs.tolist() == [1, 1, 3, 1]


def test_sizes_whole_and_single(regions: Regions) -> None:
    assert regions.sizes.tolist() == [1, 3, 3, 5]
    assert regions.whole.tolist() == [False, False, False, True]
    assert regions.single().tolist() == [1, -1, -1, -1]


def test_totals_of_a_weight(regions: Regions) -> None:
    assert regions.totals(np.array([1, 10, 100, 1000, 10000])).tolist() == [10, 111, 10101, 11111]
    assert regions.totals(np.eye(5, dtype=np.int64)).tolist()[2] == [1, 0, 1, 0, 1]
    assert Regions.sets(5, []).totals(np.ones(5)).shape == (0,)


def test_holds(regions: Regions) -> None:
    for region, members in enumerate(SETS):
        found = regions.holds(np.full(5, region), np.arange(5))
        assert np.flatnonzero(found).tolist() == sorted(members)
        assert regions.members(region).tolist() == sorted(members)


def test_take_repeats_and_leaves_out(regions: Regions) -> None:
    assert regions.take(np.array([2, 0, 2])) == Regions.sets(5, [SETS[2], SETS[0], SETS[2]])
    assert len(regions.take(np.array([], dtype=np.int64))) == 0


def test_canonical_drops_unused_and_joins_equal_regions() -> None:
    regions = Regions.sets(4, [[3], [0, 1], [2], [1, 0], [3]])
    found, number = regions.canonical(np.array([4, 3, 1, 0]))
    assert found == Regions.sets(4, [[0, 1], [3]])
    assert number.tolist() == [1, 0, -1, 0, 1]


def test_one_value_and_intervals() -> None:
    assert Regions.singles(3) == Regions.sets(3, [[0], [1], [2]])
    assert Regions.intervals(4, [0, 2], [1, 3]) == Regions.sets(4, [[0, 1], [2, 3]])
    assert Regions.sets(3, []) == Regions.pairs(3, np.array([], np.int64), np.array([], np.int64), 0)


def test_regions_cannot_be_changed(regions: Regions) -> None:
    for array in (regions.start, regions.low, regions.high):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(regions)


@pytest.mark.parametrize(
    ("start", "low", "high", "fault"),
    [
        ([], [], [], "has no codes"),
        ([0, 1, 1], [0], [0], "has no codes"),  # the second region is empty
        ([0, 0, 1], [0], [0], "has no codes"),
        ([1, 2], [0, 0], [0, 0], "has no codes"),
        ([0, 2], [0], [0], "has no codes"),
        ([0, 1], [0], [0, 1], "has no codes"),
        ([0, 1], [2], [1], "not ordered"),
        ([0, 1], [-1], [1], "not ordered"),
        ([0, 1], [0], [3], "not ordered"),
        ([0, 2], [0, 1], [0, 1], "not ordered"),  # two runs without a gap are one
        ([0, 2], [2, 0], [2, 0], "not ordered"),
    ],
)
def test_what_is_no_region_is_refused(start: list[int], low: list[int], high: list[int], fault: str) -> None:
    with pytest.raises(ReleaseError, match=fault):
        Regions(3, np.array(start, np.int64), np.array(low, np.int32), np.array(high, np.int32))


@pytest.mark.parametrize("members", [[[0], []], [[0, 3]], [[-1]], [[0, 4], [2]]])
def test_sets_outside_the_domain_or_empty_are_refused(members: list[list[int]]) -> None:
    with pytest.raises(ReleaseError):
        Regions.sets(3, members)


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=12))
def test_ragged_sequences_rank_in_dictionary_order(sequences: list[list[int]]) -> None:
    start = np.concatenate([[0], np.cumsum([len(s) for s in sequences])]).astype(np.int64)
    item = np.array([i for s in sequences for i in s], dtype=np.int64)
    distinct = sorted(map(list, {tuple(s) for s in sequences}))
    assert rank_sequences(start, item).tolist() == [distinct.index(s) for s in sequences]


@given(st.integers(1, 9), st.data())
def test_regions_are_sets(codes: int, data: st.DataObject) -> None:
    code = st.integers(0, codes - 1)
    sets = data.draw(st.lists(st.sets(code, min_size=1), min_size=1, max_size=8))
    regions = Regions.sets(codes, [list(s) for s in sets])
    weight = np.arange(codes) ** 2 + 1
    assert regions.sizes.tolist() == [len(s) for s in sets]
    assert regions.totals(weight).tolist() == [sum(c * c + 1 for c in s) for s in sets]
    assert [set(regions.members(i).tolist()) for i in range(len(sets))] == sets
    found, number = regions.canonical(np.arange(len(sets)))
    assert [set(found.members(n).tolist()) for n in number] == sets
    assert len(found) == len({frozenset(s) for s in sets})

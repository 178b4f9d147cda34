"""Replaying a record's way down Mondrian's tree gives the release without it, to the last count."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.small import QI, SENSITIVE, made_schema
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError
from unveil.kernels import leave_one_out as kernels
from unveil.privacy.models import DistinctL, EntropyL, KAnonymity, ProbabilisticL
from unveil.risk.differential.evidence import Counts, counts_of
from unveil.risk.differential.leave_one_out import _order_changes, replayable, without_each

TOWNS = [["a", "north", "*"], ["b", "north", "*"], ["c", "south", "*"], ["d", "south", "*"], ["e", "south", "*"]]
SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 30}},
        "town": {"role": QI, "domain": ["a", "b", "c", "d", "e"], "missing": "category"},
        "trade": {"role": QI, "domain": ["t0", "t1", "t2", "t3"]},
        "grade": {"role": QI, "kind": "ordinal", "domain": ["g0", "g1", "g2"], "missing": "category"},
        "disease": {"role": SENSITIVE, "domain": ["flu", "ulcer", "cough"]},
        "income": {"role": SENSITIVE, "domain": ["low", "high"]},
    },
    {"town": TOWNS},
    missing=["?"],
)
REQUIREMENTS = {
    "k": (KAnonymity(k=3),),
    "one": (KAnonymity(k=1),),
    "distinct": (KAnonymity(k=2), DistinctL(l=2)),
    "their l": (DistinctL(l=2), ProbabilisticL(l=1.5)),
}


def drawn(rows: int, seed: int) -> Table:
    random = np.random.default_rng(seed)
    town = random.choice(list("abcde?"), rows, p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.2])
    columns = {
        "age": np.minimum(random.geometric(0.12, rows), 30).tolist(),
        "town": town.tolist(),
        "trade": random.choice(["t0", "t1", "t2", "t3"], rows, p=[0.5, 0.2, 0.2, 0.1]).tolist(),
        "grade": random.choice(["g0", "g1", "g2", "?"], rows, p=[0.4, 0.2, 0.2, 0.2]).tolist(),
        "disease": random.choice(["flu", "ulcer", "cough"], rows, p=[0.5, 0.3, 0.2]).tolist(),
        "income": random.choice(["low", "high"], rows).tolist(),
    }
    return Table.from_columns(SCHEMA, columns)


def anew(mondrian: Mondrian, table: Table, row: int, codes: NDArray[np.int64]) -> Counts:
    """The slow way: anonymize the table without the record."""
    rest = Table(table.attributes, tuple(np.delete(column, row) for column in table.columns))
    return counts_of(mondrian.anonymize(rest, Engine(seed=0)).release, 4, codes[row : row + 1])


BALANCED = [(r, c, g, "balanced") for r, c, g in product(REQUIREMENTS, ["order", "hierarchy"], ["tight", "cut"])]
LOWER = [(r, c, "cut", "lower") for r, c in product(["k", "their l"], ["order", "hierarchy"])]


@pytest.mark.parametrize(("require", "recoding", "regions", "median"), BALANCED + LOWER)
def test_every_record_as_if_anonymized_anew(require: str, recoding: str, regions: str, median: str) -> None:
    replayed = 0
    for seed, rows in ((4, 8), (2, 26)):
        table = drawn(rows, seed)
        mondrian = Mondrian(require=REQUIREMENTS[require], recoding=recoding, regions=regions, median=median)  # type: ignore[arg-type]
        assert replayable(mondrian)
        found = without_each(mondrian, table, 4, Engine(seed=0))
        codes = np.stack([np.asarray(table.columns[i], dtype=np.int64) for i in range(4)], axis=1)
        whole = counts_of(mondrian.anonymize(table, Engine(seed=0)).release, 4, codes)
        assert (found.within.each == whole.each).all()
        for row in range(rows):
            if row in found.open:
                with pytest.raises(RequirementError):
                    anew(mondrian, table, row, codes)
                continue
            slow = anew(mondrian, table, row, codes)
            np.testing.assert_array_equal(found.without.each[row], slow.each[0])
            np.testing.assert_array_equal(found.without.joint[row], slow.joint[0])
            np.testing.assert_array_equal(found.without.overall[row], slow.overall[0])
            replayed += 1
    assert replayed >= 15


def differs(mondrian: Mondrian, table: Table, rows: range) -> list[int]:
    """Records whose counts are not those of the slow way."""
    found = without_each(mondrian, table, 4, Engine(seed=0))
    codes = np.stack([np.asarray(table.columns[i], dtype=np.int64) for i in range(4)], axis=1)
    slow = {row: anew(mondrian, table, row, codes) for row in rows}
    return [
        row
        for row in rows
        if (found.without.each[row] != slow[row].each[0]).any()
        or (found.without.joint[row] != slow[row].joint[0]).any()
    ]


@pytest.mark.parametrize("recoding", ["order", "hierarchy"])
def test_cuts_above_a_node_that_changes_still_bound_it(recoding: str) -> None:
    mondrian = Mondrian(require=(KAnonymity(k=4),), recoding=recoding, regions="cut")  # type: ignore[arg-type]
    assert differs(mondrian, drawn(150, 6), range(0, 150, 3)) == []


@pytest.mark.parametrize("seed", range(4))
def test_values_without_an_order_may_change_places_when_a_record_leaves(seed: int) -> None:
    table = drawn(24, 20 + seed)
    frequency = np.bincount(table.columns[2])
    trade = table.columns[2].copy()
    trade[: abs(int(frequency[1]) - int(frequency[2]))] = np.argmin(frequency[1:3]) + 1  # nearly tied
    table = Table(table.attributes, (*table.columns[:2], trade, *table.columns[3:]))
    assert differs(Mondrian(require=(KAnonymity(k=2),)), table, range(24)) == []


def test_compiled_and_not_the_kernels_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table, mondrian = drawn(40, 9), Mondrian(require=REQUIREMENTS["their l"], recoding="hierarchy")
    compiled = without_each(mondrian, table, 4, Engine(seed=0))
    for name in ("allows", "decide", "holds", "remove", "replay", "count_holding"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    plain = without_each(mondrian, table, 4, Engine(seed=0))
    for side in ("within", "without"):
        for name in ("each", "joint", "overall"):
            np.testing.assert_array_equal(getattr(getattr(compiled, side), name), getattr(getattr(plain, side), name))


def test_whose_leaving_changes_the_order_of_values() -> None:
    mondrian, random, moved = Mondrian(require=(KAnonymity(k=2),)), np.random.default_rng(0), 0
    for _ in range(30):
        column = random.integers(0, 4, 9).astype(np.uint8)
        table = drawn(9, 1)
        table = Table(table.attributes, (*table.columns[:2], column, *table.columns[3:]))
        order = mondrian.split_order(table.attributes[2], column)
        for row, found in enumerate(_order_changes(mondrian, table, [2])):
            changes = (mondrian.split_order(table.attributes[2], np.delete(column, row)) != order).any()
            assert found == changes
            moved += changes
    assert 30 < moved < 240


def test_a_record_without_which_the_requirement_cannot_be_met_stays_open() -> None:
    schema = made_schema({"age": {"role": QI, "domain": ["1", "2"]}, "s": {"role": SENSITIVE, "domain": ["x", "y"]}})
    table = Table.from_columns(schema, {"age": ["1", "1", "2"], "s": ["x", "x", "y"]})
    mondrian = Mondrian(require=(DistinctL(l=2),), regions="cut")
    found = without_each(mondrian, table, 1, Engine(seed=0))
    assert found.open.tolist() == [2]
    with pytest.raises(RequirementError, match="cannot be met"):
        mondrian.anonymize(Table(table.attributes, tuple(c[:2] for c in table.columns)), Engine(seed=0))


def test_what_can_be_replayed() -> None:
    assert not replayable(Mondrian(require=(KAnonymity(k=2),), relaxed=True))
    assert not replayable(Mondrian(require=(EntropyL(l=2),)))
    assert not replayable(Mondrian())
    assert not replayable(lambda table: table)

"""Local suppression: the least that can be withheld, against every way of withholding cells of small tables."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreign import SDCMICRO, needs_foreign_files
from small import QI, SENSITIVE, made_schema, made_table
from unveil import catalog, read_schema, read_table
from unveil.anonymizers.local_suppression import _Search
from unveil.data.attribute import Role
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError
from unveil.privacy.models import KAnonymity
from unveil.privacy.requirement import Requirement
from unveil.risk.uniqueness import wildcard_counts

SCHEMA = made_schema(
    {
        "sex": {"role": QI, "domain": ["f", "m"]},
        "region": {"role": QI, "domain": ["n", "s", "w"]},
        "disease": {"role": SENSITIVE, "domain": ["a", "b"]},
    }
)
Row = tuple[str, str, str]
ROWS = st.lists(st.tuples(st.sampled_from("fm"), st.sampled_from("nsw"), st.sampled_from("ab")), min_size=2, max_size=5)


def suppressed(spec: str, table: Table) -> Anonymized:
    made = catalog.anonymizer(spec).anonymize(table, Engine(seed=0))
    assert isinstance(made, Anonymized)
    return made


def withheld(made: Anonymized) -> list[int]:
    """Withheld cells of each quasi-identifier."""
    release = made.release
    block = release.blocks[0]
    return [
        int(block.count[release.regions[i].whole[block.region(i)]].sum())
        for i in release.with_role(Role.QUASI_IDENTIFIER)
    ]


def least_cost(rows: list[Row], k: int, l: int, cost: tuple[float, float]) -> float:
    """By trying every set of cells; rows that show nothing are suppressed, and need nothing unless all are."""
    best = np.inf
    for hidden in product((False, True), repeat=2 * len(rows)):
        masks = [hidden[2 * i : 2 * i + 2] for i in range(len(rows))]
        cells = [
            tuple("*" if h else v for h, v in zip(m, row, strict=False)) for m, row in zip(masks, rows, strict=True)
        ]
        held = {
            cell: Counter(row[2] for row, other in zip(rows, cells, strict=True) if other == cell) for cell in cells
        }
        must = [counts for cell, counts in held.items() if cell != ("*", "*")] or list(held.values())
        if all(sum(c.values()) >= k and len(c) >= l for c in must):
            best = min(best, sum(cost[a] for m in masks for a in range(2) if m[a]))
    return best


@given(ROWS, st.integers(1, 3), st.integers(1, 2), st.sampled_from([(1.0, 1.0), (3.0, 1.0), (0.5, 2.0)]))
def test_small_tables_lose_no_more_than_they_must(rows: list[Row], k: int, l: int, cost: tuple[float, float]) -> None:
    table = made_table(SCHEMA, *rows)
    spec = f"local_suppression:k={k},l={l},importance={cost[0]}+{cost[1]}"
    least = least_cost(rows, k, l, cost)
    try:
        made = suppressed(spec, table)
    except RequirementError:
        assert least == np.inf or least == sum(cost) * len(rows)
        return
    assert sum(n * c for n, c in zip(withheld(made), cost, strict=True)) == pytest.approx(least)


def crowd(rows: int, seed: int) -> Table:
    random = np.random.default_rng(seed)
    return made_table(
        SCHEMA,
        *[
            ("fm"[int(random.random() < 0.2)], "nsw"[min(int(random.exponential(0.7)), 2)], "ab"[random.integers(2)])
            for _ in range(rows)
        ],
    )


@pytest.mark.parametrize("seed", range(6))
def test_larger_tables_keep_the_requirement_and_say_how_near_the_least_they_are(seed: int) -> None:
    table = crowd(40, seed)
    made = suppressed("local_suppression:k=4,l=2", table)
    sizes = made.release.class_sizes()
    assert sizes.min() >= 4
    bound = float(made.note.rpartition("not below ")[2])
    assert 0 <= bound <= sum(withheld(made))
    assert made.release.rows == 40


def test_the_bound_is_one() -> None:
    """Ten rows at a time can be solved exactly: never below the bound that the greedy search states."""
    for seed in range(8):
        table = crowd(10, seed)
        exact = sum(withheld(suppressed("local_suppression:k=3", table)))
        keys = [table.columns[i].astype(np.int64) for i in (0, 1)]
        search = _Search(
            table,
            Requirement.of((KAnonymity(k=3),), table, "test"),
            keys,
            np.zeros(10, dtype=np.int64),
            np.ones(2),
            np.zeros(2, dtype=bool),
        )
        mask, bound, _ = search.greedy()
        assert bound <= exact <= mask.sum()


def test_importance_and_strata() -> None:
    rows = [("f", "n", "a")] * 5 + [("m", "n", "a")] + [("f", "s", "a")] * 5 + [("m", "w", "b")] + [("f", "w", "a")] * 5
    table = made_table(SCHEMA, *rows)
    sex, region = withheld(suppressed("local_suppression:k=2,importance=5+1", table))
    assert (sex, region) == (0, 2)  # the two men share what is left of them
    made = suppressed("local_suppression:k=2,strata=region", table)
    assert withheld(made)[1] <= 2  # only where a whole row is withheld
    with pytest.raises(UsageError, match="importance needs one number above 0 for each of sex, region"):
        suppressed("local_suppression:k=2,importance=1", table)
    with pytest.raises(UsageError, match="require k alone"):
        suppressed("local_suppression:k=2,l=2,count=wildcards", table)


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_wildcards_keep_k_as_sdcmicro_counts_it(seed: int, k: int) -> None:
    table = crowd(30, seed)
    made = suppressed(f"local_suppression:k={k},count=wildcards", table)
    block, release = made.release.blocks[0], made.release
    rows = [
        tuple("*" if release.regions[i].whole[block.region(i)[e]] else int(block.region(i)[e]) for i in (0, 1))
        for e, n in enumerate(block.count)
        for _ in range(n)
    ]
    for one in rows:
        assert sum(all(a == b or "*" in (a, b) for a, b in zip(one, other, strict=True)) for other in rows) >= k


def _sdcmicro(columns: list[np.ndarray], k: int) -> int:
    """Cells that sdcMicro's documented heuristic withholds: rows still below k lose the variable of most categories."""
    shown = [column.copy() for column in columns]
    for key in sorted(range(len(columns)), key=lambda i: -len(np.unique(columns[i]))):
        rows = list(zip(*shown, strict=True))
        kinds = Counter(rows)
        few = {
            one
            for one in kinds
            if sum(
                n for other, n in kinds.items() if all(a == b or -1 in (a, b) for a, b in zip(one, other, strict=True))
            )
            < k
        }
        shown[key] = np.where([row in few for row in rows], -1, shown[key])
    return int(sum((column < 0).sum() for column in shown))


def test_no_more_cells_than_sdcmicros_heuristic() -> None:
    random = np.random.default_rng(4)
    schema = made_schema({**{n: {"role": QI, "kind": "numeric"} for n in "abcd"}, "s": {"role": SENSITIVE}})
    values = [random.geometric(p, 300) for p in (0.3, 0.5, 0.6, 0.7)]
    table = made_table(schema, *[(*map(int, row), "x") for row in zip(*values, strict=True)])
    made = suppressed("local_suppression:k=3,count=wildcards", table)
    assert sum(withheld(made)) <= _sdcmicro(values, 3)


@needs_foreign_files
def test_fewer_cells_than_sdcmicro_itself() -> None:
    schema = read_schema(SDCMICRO / "td.toml").confirmed()
    made = suppressed("local_suppression:k=3,count=wildcards", read_table(SDCMICRO / "testdata.csv", schema))
    assert wildcard_counts(made.release).k == 3
    assert sum(withheld(made)) <= 293

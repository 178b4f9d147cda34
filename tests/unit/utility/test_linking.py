"""Hidden links drawn at random: every row is whole, every block keeps its cells, every matching is as likely."""

from collections import Counter

import numpy as np
import pytest

from papers.li_2010_workloads import Accuracies, right_rows
from small import QI, SENSITIVE, made_release, made_schema
from unveil.errors import UsageError
from unveil.utility import random_linkings

SCHEMA = made_schema(
    {
        "age": {"role": QI, "domain": ["1", "2", "3"]},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "s": {"role": SENSITIVE, "domain": ["x", "y", "z"]},
    }
)
ATTRIBUTES = tuple(SCHEMA.attribute(name) for name in SCHEMA.names)
SLICES = made_release(
    ATTRIBUTES,
    [
        ((0,), [(0, "1"), (0, "2"), (0, "3"), (1, "1"), (1, ("1", "2"))]),
        ((1, 2), [(0, "f", "x"), (0, "m", "y"), (0, "m", "z"), (1, "f", "x"), (1, "f", "x")]),
    ],
)


def rows_of(region: np.ndarray) -> list[tuple[tuple[int, ...], ...]]:
    return [tuple(tuple(SLICES.regions[i].members(int(n))) for i, n in enumerate(row)) for row in region]


def test_blocks_keep_their_cells_and_matchings_are_alike() -> None:
    first, drawn = SLICES.sizes[0], Counter()
    for region in random_linkings(SLICES, draws=600, seed=3):
        rows = rows_of(region)
        for group, part in ((0, rows[:first]), (1, rows[first:])):
            for block in SLICES.blocks:
                entries = slice(block.start[group], block.start[group + 1])
                cells = np.repeat(block.cells[block.cell[entries]], block.count[entries], axis=0)
                published = Counter(
                    tuple(tuple(SLICES.regions[i].members(int(n))) for i, n in zip(block.attributes, c, strict=True))
                    for c in cells
                )
                assert Counter(tuple(row[i] for i in block.attributes) for row in part) == published
        large = rows[:first] if first == 3 else rows[first:]
        drawn[tuple(row[2] for row in sorted(large))] += 1
    assert len(drawn) == 6  # each of the 3! matchings, 100 times but for chance: six standard errors are 55
    assert all(abs(times - 100) < 55 for times in drawn.values())


def test_nothing_hidden_is_given_once() -> None:
    linked = made_release(ATTRIBUTES, [((0, 1, 2), [(0, "1", "f", "x"), (1, "2", "m", "y")])])
    assert len(list(random_linkings(linked, draws=5))) == 1
    assert len(list(random_linkings(SLICES, draws=4))) == 4
    with pytest.raises(UsageError, match="at least once"):
        next(random_linkings(SLICES, draws=0))


def test_table_4_1_f_linked_at_random() -> None:
    """Expected by hand: 5/16 of the rows are right; in 300 draws of 8 rows the error is about .01."""
    assert right_rows(300) == pytest.approx(5 / 16, abs=0.04)


def test_shares_of_comparisons() -> None:
    found = Accuracies({("d", "s", "m", l, t): v for l, t, v in ((1, "a", 0.5), (1, "b", 0.4), (2, "a", 0.1))})
    assert found.share("s", "a", "b") == (1.0, 1)
    assert found.share("s", "b", "a") == (0.0, 1)
    both = Accuracies({("d", "s", m, l, "a"): v for m, l, v in ((1, 5, 0.5), (2, 5, 0.4), (1, 8, 0), (1, 10, 0.3))})
    assert both.lost("s", "a") == pytest.approx(0.15)

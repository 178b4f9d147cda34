"""Section 4.5.3 of the thesis on the rows at hand: its claim, and billions of fake tuples beside a drawn estimate."""

import numpy as np
import pytest

from papers import li_2010_membership as membership
from realdata.adult import NAMES, QUASI_IDENTIFIERS, AdultMissing, read_adult
from unveil.data.release import row_numbers
from unveil.engine import Engine
from unveil.risk.membership import fake_tuples


@pytest.fixture(scope="module")
def adult() -> dict[str, list[str]]:
    try:
        return read_adult(download=False)
    except AdultMissing as missing:
        pytest.skip(str(missing))


def test_quasi_identifiers_do_not_occur_once_each(adult: dict[str, list[str]]) -> None:
    table = membership.occupation_table(adult, membership.OCC_7)
    times = np.bincount(row_numbers([table.columns[table.index(name)] for name in QUASI_IDENTIFIERS]))
    assert times.max() > 100
    assert (times == 1).sum() < table.rows / 4


def test_billions_of_fake_tuples_are_counted_and_a_drawn_estimate_agrees(adult: dict[str, list[str]]) -> None:
    table = membership.occupation_table(adult, NAMES)
    cut = membership.named_columns(table, membership.FIVE_OF_15)
    release, rows = membership.random_buckets(table, cut, 100), membership.as_targets(table)
    counted = fake_tuples(release, rows)
    drawn = fake_tuples(release, rows, most=0, draws=20_000, engine=Engine(seed=5))
    assert counted.exact
    assert not drawn.exact
    assert counted.fake.value > 8e9
    assert counted.unmatched == 0
    assert drawn.fake.low <= counted.fake.value <= drawn.fake.high
    assert drawn.fake.high - drawn.fake.low < 0.02 * counted.fake.value

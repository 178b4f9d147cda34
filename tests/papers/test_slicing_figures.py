"""The exact figures of slicing: contingency, what l can be, Table 4.1 in both readings."""

import numpy as np
import pytest

from papers import li_2010_slicing as slicing
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, AdultMissing, adult_schema, read_adult
from unveil import catalog
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError


@pytest.fixture(scope="module")
def adult() -> dict[str, list[str]]:
    try:
        return read_adult(download=False)
    except AdultMissing as missing:
        pytest.skip(str(missing))


def test_table_4_1_in_both_readings() -> None:
    for rows, worst in ((slicing.SIX, [0.5, 0.5, 1, 0.5, 0.5, 1]), (slicing.EIGHT, [0.5] * 8)):
        p, matching = slicing.shares(slicing.table_4_1(rows)[0], slicing.F, slicing.table_4_1(rows)[1])
        assert p.max(axis=1).tolist() == worst
        assert matching.tolist() == [1] * len(rows)


def test_figures_on_adult(adult: dict[str, list[str]]) -> None:
    found = {f.name: f.ours for f in slicing.reproduce_on_adult(adult)}
    for name, value in (("sex", 0.1895), ("workclass", 0.0472), ("education", 0.0392)):
        assert found[f"contingency of occupation with {name}"] == pytest.approx(value, abs=5e-5)
    assert found["largest p of the whole table, alpha = 2"] == pytest.approx(0.257, abs=5e-4)
    assert found["largest p of the whole table, alpha = 1"] == pytest.approx(0.134, abs=5e-4)
    assert found["3-diverse slicing, largest p"] <= 1 / 3 + 1e-12
    assert found["3-diverse slicing, most buckets anybody matches"] == 1


def test_what_cannot_be_met_on_adult_says_what_could(adult: dict[str, list[str]]) -> None:
    names = (*QUASI_IDENTIFIERS, SENSITIVE)
    table = Table.from_columns(adult_schema(adult), {name: adult[name] for name in names})
    asked = "slicing:columns=sex+occupation,require=probabilistic_l:l="
    with pytest.raises(RequirementError, match=r"value of occupation is 0\.257; l=3\.894 can be met"):
        catalog.anonymizer(asked + "5").anonymize(table, Engine(seed=0))
    made = catalog.anonymizer(asked + "3.894").anonymize(table, Engine(seed=0))
    assert np.bincount(made.group_of_row).sum() == table.rows

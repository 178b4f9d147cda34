"""A withheld cell as any value, sampling weights and households: as sdcMicro counts, against counting by hand."""

import csv
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreign import SDCMICRO, needs_foreign_files
from small import IDENTIFIER, QI, SENSITIVE, made_release, made_schema, made_table
from unveil import read_release, read_schema, read_table
from unveil.audit.levels import run_check
from unveil.audit.linking import run_link
from unveil.errors import NotApplicable
from unveil.privacy.wildcards import wildcard_sums
from unveil.risk.uniqueness import benedetti_franconi, household_risk, key_counts, wildcard_counts

SCHEMA = made_schema(
    {
        "home": {"role": IDENTIFIER},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "region": {"role": QI, "domain": ["n", "s", "w"]},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv"]},
    },
    household="home",
    weight="w",
)
TABLE = made_table(
    SCHEMA,
    ("a", "f", "n", "flu", 10),
    ("a", "f", "n", "hiv", 20),
    ("b", "m", "n", "flu", 5),
    ("b", "m", "s", "flu", 40),
    ("c", "m", "s", "hiv", 40),
)
FN, MN, MS = ("f", "n"), ("m", "n"), ("m", "s")
WITHHELD = made_release(
    TABLE.attributes,
    [
        (
            (0, 1, 2),
            [(0, *FN, "flu"), (0, *FN, "hiv"), (1, "m", "*", "flu"), (2, *MS, "flu"), (2, *MS, "hiv")],
        )
    ],
)


@given(st.lists(st.tuples(*[st.integers(-1, 2)] * 3, st.integers(1, 4)), min_size=1, max_size=12))
def test_sums_are_those_of_every_pair(cells: list[tuple[int, int, int, int]]) -> None:
    array = np.array(cells)
    columns, weight = [array[:, k] for k in range(3)], array[:, 3].astype(np.float64)
    blank = [column < 0 for column in columns]
    (found,) = wildcard_sums([np.maximum(c, 0) for c in columns], blank, weight)
    for i, one in enumerate(cells):
        agree = [all(a == b or -1 in (a, b) for a, b in zip(one[:3], other[:3], strict=True)) for other in cells]
        assert found[i] == weight[agree].sum()


def test_both_counts_of_k_are_stated() -> None:
    """The row with a withheld region is alone by its cells, and one of three if it may be any."""
    levels = {f.id: f.value for f in run_check(WITHHELD).findings}
    assert levels["k_anonymity"] == 1
    assert levels["wildcard_k"] == 2
    assert wildcard_counts(WITHHELD).count.tolist() == [2, 3, 3]
    assert "wildcard_k" not in {f.id for f in run_check(TABLE.as_release()).findings}
    with pytest.raises(NotApplicable, match="no row shows some of its cells"):
        wildcard_counts(TABLE.as_release())


def test_weights_say_for_how_many_a_cell_stands() -> None:
    found = wildcard_counts(WITHHELD, TABLE)
    # (m, *) stands for the mean of the three men, 85 / 3, beside the two of (m, s) with 40 each.
    assert found.weight.tolist() == pytest.approx([30, 85 / 3 + 80, 85 / 3 + 80])
    link = {f.id: f.value for f in run_link(TABLE.as_release(), table=TABLE, subsets=0).document.findings}
    p = 1 / 5
    assert link["benedetti_franconi.record_risk.max"] == pytest.approx(p / (1 - p) * np.log(1 / p))


def test_a_household_is_found_if_one_of_it_is() -> None:
    risk = np.array([0.1, 0.5, 0.0, 1.0, 0.2])
    assert household_risk(risk, np.array([7, 7, 3, 3, 9])).tolist() == pytest.approx([0.55, 0.55, 1, 1, 0.2])
    found = {f.id: f.value for f in run_link(TABLE.as_release(), table=TABLE, subsets=0).document.findings}
    assert found["benedetti_franconi.household_risk.max"] >= found["benedetti_franconi.record_risk.max"]
    assert found["benedetti_franconi.household_risk.mean"] >= found["benedetti_franconi.record_risk.mean"]


def test_every_household_by_enumeration() -> None:
    risk = np.array([0.3, 0.2, 0.6])
    chance = 0.0
    for found in product((0, 1), repeat=3):
        chance += any(found) * np.prod([r if hit else 1 - r for r, hit in zip(risk, found, strict=True)])
    assert household_risk(risk, np.zeros(3, dtype=int))[0] == pytest.approx(chance)


@needs_foreign_files
def test_francdat_is_sdcmicros() -> None:
    schema = read_schema(SDCMICRO / "franc.toml").confirmed()
    table = read_table(SDCMICRO / "francdat.csv", schema)
    release = read_release(SDCMICRO / "francdat.csv", schema, attributes=table.attributes)
    found = {f.id: f.value for f in run_link(release, table=table, subsets=0).document.findings}
    with (SDCMICRO / "francdat_expected.csv").open() as file:
        rows = sorted((float(row["fk"]), float(row["Fk"]), float(row["rk"])) for row in csv.DictReader(file))
    counts = key_counts(table)
    each = [
        np.repeat(column, counts.count) for column in (counts.count, counts.weight, benedetti_franconi(counts).risk)
    ]
    assert np.array(rows) == pytest.approx(np.array(sorted(zip(*each, strict=True))), abs=1e-9)
    risk = [row[2] for row in rows]
    assert found["benedetti_franconi.record_risk.max"] == pytest.approx(max(risk), abs=1e-9)
    assert found["benedetti_franconi.record_risk.mean"] == pytest.approx(np.mean(risk), abs=1e-9)


@needs_foreign_files
def test_local_suppression_counts_as_sdcmicro_counts_it() -> None:
    schema = read_schema(SDCMICRO / "td.toml").confirmed()
    table = read_table(SDCMICRO / "testdata.csv", schema)
    release = read_release(SDCMICRO / "testdata_ls.csv", schema, attributes=table.attributes)
    found = wildcard_counts(release, table)
    with (SDCMICRO / "testdata_ls_individual_risk.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sorted(np.repeat(found.count, found.rows)) == sorted(float(row["fk"]) for row in rows)
    assert sorted(np.repeat(found.weight, found.rows)) == sorted(float(row["Fk"]) for row in rows)
    assert found.k == 3
    assert f"{found.mean_risk():.6f}" == "0.000463"


def test_rows_that_withhold_cells_hide_others_as_far_as_alpha_says() -> None:
    """f n twice, m * once, m s twice: with alpha 0 the row `m *` is among m s, but m s not among it."""

    def counts(alpha: float) -> list[float]:
        found = wildcard_counts(WITHHELD, fraction=1.0, alpha=alpha)
        return sorted(np.repeat(found.count, found.rows).tolist())

    assert counts(1) == [2, 2, 3, 3, 3]
    assert counts(0) == [2, 2, 2, 2, 3]
    assert counts(0.5) == [2, 2, 2.5, 2.5, 3]

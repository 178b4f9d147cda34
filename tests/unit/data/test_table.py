"""Original tables: coded, checked, frozen."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
import pytest

from small import IDENTIFIER, QI, SENSITIVE, made_schema, made_table
from unveil.data.attribute import Role
from unveil.data.table import Table
from unveil.errors import SchemaError, TableError

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 22}, "missing": "category"},
        "job": {"role": QI},
        "sick": {"role": SENSITIVE, "domain": ["no", "yes"]},
    },
    missing=["?", ""],
)


def test_values_become_codes() -> None:
    table = made_table(SCHEMA, (20, "cook", "no"), ("22.0", "actor", "yes"), (None, "cook", "no"))
    assert [a.values for a in table.attributes] == [("20", "21", "22", "?"), ("actor", "cook"), ("no", "yes")]
    assert [c.tolist() for c in table.columns] == [[0, 2, 3], [1, 0, 1], [0, 1, 0]]
    assert {c.dtype for c in table.columns} == {np.dtype(np.uint8)}
    assert table.rows == 3
    assert [a.source for a in table.attributes] == ["declared", "original", "declared"]
    assert table.with_role(Role.QUASI_IDENTIFIER) == (0, 1)
    assert table.index("sick") == 2
    with pytest.raises(TableError, match="table has no attribute 'x'; choose from age, job, sick"):
        table.index("x")


def test_python_values_are_written_as_a_file_would_hold_them() -> None:
    schema = made_schema({"x": {"role": QI, "missing": "category"}}, missing=["n/a"])
    table = Table.from_columns(schema, {"x": [True, 17.0, 0.5, date(2024, 2, 29), None, np.float64(3), 3, "3.0"]})
    shown = [table.attributes[0].values[c] for c in table.columns[0]]
    assert shown == ["true", "17", "0.5", "2024-02-29", "n/a", "3", "3", "3.0"]


def test_codes_grow_with_the_domain() -> None:
    schema = made_schema({"x": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 299}}})
    assert made_table(schema, (299,)).columns[0].dtype == np.uint16


def test_a_table_cannot_be_changed() -> None:
    table = made_table(SCHEMA, (20, "cook", "no"))
    with pytest.raises(ValueError, match="read-only"):
        table.columns[0][0] = 1


def test_frequencies_become_rows_and_weights_stay_beside() -> None:
    schema = made_schema({"id": {"role": IDENTIFIER}, "x": {"role": QI}}, weight="w", frequency="n")
    table = made_table(schema, ("p", "a", 0.5, 2), ("q", "b", 1.5, 1), ("r", "a", 2, 3))
    assert table.columns[0].tolist() == [0, 0, 1, 0, 0, 0]
    assert table.weight is not None
    assert table.weight.tolist() == [0.5, 0.5, 1.5, 2, 2, 2]
    assert table.repeated == {"id": 5}  # one row stands for several people under one identifier
    with pytest.raises(ValueError, match="read-only"):
        table.weight[0] = 1


def test_as_release_keeps_every_row_a_group_and_no_order() -> None:
    rows = [(20, "cook", "no"), (21, "cook", "yes"), (20, "cook", "no")]
    release = made_table(SCHEMA, *rows).as_release()
    assert release.sizes.tolist() == [1, 1, 1]
    assert release == made_table(SCHEMA, *rows[::-1]).as_release()
    assert [len(r) for r in release.regions] == [2, 1, 2]  # only what is used


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"age": [20], "job": ["a"]}, "no column 'sick', which schema names; the file has 'age', 'job'"),
        (
            {"age": [20], "job": ["a"], "sick": ["no"], "new\n": [1]},
            r"schema does not name the column 'new\n'; add [attributes.NAME] with its role",
        ),
        (
            {"age": [20, 30], "job": ["a", "a"], "sick": ["no", "no"]},
            "row 2, age: '30' is not a number of the",
        ),
        ({"age": ["x"], "job": ["a"], "sick": ["no"]}, "row 1, age: 'x' is not a number"),
        ({"age": [20], "job": ["a"], "sick": ["maybe"]}, "row 1, sick: 'maybe' is not a value"),
        ({"age": [20], "job": ["?"], "sick": ["no"]}, "job"),
        ({"age": [20], "job": ["a"], "sick": [None]}, 'row 1, sick: a missing value; set missing = "category"'),
        ({"age": [20, 21], "job": ["a"], "sick": ["no"]}, "columns of different lengths"),
    ],
)
def test_faults_of_a_table(columns: Mapping[str, Any], message: str) -> None:
    with pytest.raises((TableError, SchemaError)) as error:
        Table.from_columns(SCHEMA, columns)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("weight", "frequency", "message"),
    [
        ("0", "1", "row 1, w: '0' is not a positive number"),
        ("-1", "1", "w: '-1' is not a positive number"),
        ("", "1", "w: '' is not a positive number"),
        ("inf", "1", "w: 'inf' is not a positive number"),
        ("1", "0", "n: '0' is not a positive number"),
        ("1", "1.5", "n: a frequency must be a whole number; sampling weights go under weight"),
        ("1", "3000000000", "n adds up to 3,000,000,000 rows"),
    ],
)
def test_weights_and_frequencies_are_checked(weight: str, frequency: str, message: str) -> None:
    schema = made_schema({"x": {"role": QI}}, weight="w", frequency="n")
    with pytest.raises(TableError) as error:
        made_table(schema, ("a", weight, frequency))
    assert message in str(error.value)


def test_a_table_that_cannot_be_is_never_born() -> None:
    table = made_table(SCHEMA, (20, "cook", "no"))
    age, job, sick = table.attributes
    name = made_schema({"id": {"role": IDENTIFIER, "domain": ["a"]}}).attribute("id")
    zero = np.zeros(1, np.uint8)
    for attributes, columns, weight in (
        ((), (), None),
        ((age,), (zero, zero), None),
        ((age,), (zero[:0],), None),
        ((age, job), (zero, np.zeros(2, np.uint8)), None),
        ((age,), (zero.astype(np.uint16),), None),
        ((sick,), (zero + 2,), None),
        ((name,), (zero,), None),
        ((age,), (zero,), np.ones(2)),
        ((age,), (zero,), np.array([np.nan])),
    ):
        with pytest.raises(TableError):
            Table(attributes, columns, weight=weight)

"""A release with perturbed columns and its rows are the same thing, whatever the columns hold."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from small import QI, SENSITIVE, made_schema, made_table, masked_release
from unveil import catalog, utility
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.attack import run_attack
from unveil.audit.levels import run_check
from unveil.data.regions import Regions
from unveil.data.rows import PublishedRows, groups_of_origin, origin_of, release_of_rows, rows_of
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, ReleaseError, UsageError
from unveil.risk import group_belief

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 9}, "missing": "category"},
        "day": {"role": QI, "kind": "date", "domain": {"from": date(2020, 1, 1), "to": date(2020, 1, 9)}},
        "pay": {"role": QI, "kind": "numeric", "bins": [0, 5, 10]},
        "town": {"role": QI, "domain": ["a", "b", "c"]},
        "ill": {"role": SENSITIVE, "domain": ["no", "yes"]},
    },
    missing=["?"],
)
TABLE = made_table(SCHEMA, *((i % 10, date(2020, 1, 1 + i % 9), i % 10, "abc"[i % 3], "no") for i in range(4)))
FIRST = float(date(2020, 1, 1).toordinal())
NAN = float("nan")
TOWN, ILL = np.array([0, 1, 2, -1]), np.array([0, 0, 1, 1])
PAY = TABLE.attributes[2].positions()[[2, 1, 2, 1]]  # a bin stands for its middle
WIDE = Regions.sets(3, [[0, 1], [0, 1, 2], [2]]), np.array([0, 2, 1, 0])
CASES = {
    "numbers of its own": ((np.array([1.5, 1.5, NAN, 3.25]), np.full(4, FIRST), PAY, TOWN, ILL), (0,), {}),
    "one number only": ((np.array([1.5, 1.5, 1.5, NAN]), np.full(4, FIRST), PAY, TOWN, ILL), (0, 1), {}),
    "nothing published": ((np.full(4, NAN), np.full(4, NAN), PAY, TOWN, ILL), (0, 1), {}),
    "dates and categories": ((np.array([1.0, 2, 3, NAN]), FIRST + np.arange(4) * 40, PAY, TOWN, ILL), (1, 3, 4), {}),
    "not in the domain, and nobody says why": (
        (np.array([1.0, 2, 77, 4]), np.full(4, FIRST), PAY, TOWN, ILL),
        (3,),
        {},
    ),
    "widened beside": ((np.ones(4), np.full(4, FIRST), PAY + 0.1, WIDE[0].single()[WIDE[1]], ILL), (2,), {3: WIDE}),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_come_back(name: str) -> None:
    columns, masked, wide = CASES[name]
    rows = PublishedRows(TABLE.attributes, columns, masked, method="noise", wide=wide)
    release = release_of_rows(rows)
    noticed = frozenset(release.perturbed) - {*masked}  # of whom nobody says it
    assert rows_of(release) == replace(rows, masked=tuple(sorted(release.perturbed)), noticed=noticed)
    assert release_of_rows(rows_of(release)) == release
    assert release.true_attributes == TABLE.attributes
    assert release.groups == release.rows == 4
    assert 2 in masked or 2 not in release.perturbed
    assert tuple(i for i, one in release.perturbed.items() if one.said) == masked


def test_a_perturbed_number_is_of_another_domain_and_never_taken_for_a_true_one() -> None:
    release = masked_release(
        TABLE.attributes, (np.array([1.5, 1.5, 2.0, 3.25]), np.full(4, FIRST), PAY, TOWN, ILL), (0,)
    )
    assert release.attributes[0].values[:3] == ("1.5", "2", "3.25")
    for ask in (utility.certainty_penalty, utility.granularity, lambda r: group_belief(r, 4)):
        with pytest.raises(NotApplicable, match="age: the values were perturbed, not widened"):
            ask(release)
    with pytest.raises(NotApplicable, match="age was perturbed, and nothing says how"):
        run_attack(release, targets_of_table(TABLE, release, 4), {"counting": RandomWorlds()})
    assert next(f.value for f in run_check(release).findings if f.id == "k_anonymity") == 1  # by what is shown
    alike = masked_release(
        TABLE.attributes, (np.full(4, 1.5), np.full(4, FIRST), np.array([1.0, 2, 3, 4]), TOWN * 0, ILL), (0,)
    )
    assert next(f.value for f in run_check(alike).findings if f.id == "k_anonymity") == 4


def test_whose_row_is_whose_is_the_group_of_each() -> None:
    made = catalog.anonymizer("noise:amount=0.3").anonymize(TABLE, Engine(seed=1))
    origin = origin_of(made.release, made.group_of_row)
    assert np.array_equal(groups_of_origin(origin, TABLE.rows), made.group_of_row)
    assert origin_of(made.release, np.insert(made.group_of_row, 2, -1)).max() == 4  # somebody is not published
    for wrong in (made.group_of_row[:3], np.zeros(4, dtype=np.int64), np.full(4, -1)):
        with pytest.raises(UsageError, match="of all 4 published rows, each once"):
            origin_of(made.release, wrong)
    grouped = catalog.anonymizer("mondrian:k=2").anonymize(TABLE, Engine(seed=1)).release
    with pytest.raises(NotApplicable, match="rows cannot be told apart"):
        rows_of(grouped)
    with pytest.raises(ReleaseError, match="ill: its matrix needs 2 rows of 2 chances"):
        masked_release(TABLE.attributes, CASES["widened beside"][0], (4,), {4: np.ones((2, 2))})

"""What others of a group, and a register, tell: by hand, and counted in plain Python."""

from collections import Counter

import numpy as np
import pytest

from small import QI, SENSITIVE, made_release, made_schema, made_table
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.risk.background import raised_by_register, told_by_others, told_by_register

VALUES = ["a", "b", "c", "d"]
SCHEMA_AGE = {"role": QI, "kind": "numeric", "domain": {"from": 1, "to": 4, "step": 1}}
SCHEMA = made_schema(
    {
        "age": SCHEMA_AGE,
        "ill": {"role": SENSITIVE, "domain": VALUES},
    }
)


def made(rows: list[tuple[str, str]], cells: list[tuple[str, str]]) -> tuple[Release, Table]:
    """People by age and value; published by a cell ("12": one or two) and value, a group for each cell."""
    table = made_table(SCHEMA, *rows)
    names = list(dict.fromkeys(cell for cell, _ in cells))
    grouped = [(names.index(cell), list(cell), value) for cell, value in cells]
    return made_release(table.attributes, [([0, 1], grouped)]), table


def register(release: Release, table: Table, at_least: float) -> float:
    truth = table.columns[1].astype(np.int64)
    return told_by_register(release, 1, targets_of_table(table, release, 1), truth, at_least)


def test_in_a_group_of_three_two_know_the_third() -> None:
    rows = [("1", v) for v in "abc"] + [("2", v) for v in "aabbccdd"]
    release, _ = made(rows, rows)
    assert told_by_others(release, 1, 2) == pytest.approx(3 / 11)
    assert told_by_others(release, 1, 1) == 0


def test_who_has_another_value_than_the_rest_knows_that_of_the_rest() -> None:
    rows = [("1", v) for v in "aaab"] + [("2", v) for v in "bbbccccddddd"]
    release, _ = made(rows, rows)
    assert told_by_others(release, 1, 1) == pytest.approx(3 / 16)


def test_what_most_people_have_is_not_told() -> None:
    rows = [("1", v) for v in "aaab"] + [("2", v) for v in "aaaaaab"]
    release, _ = made(rows, rows)
    assert told_by_others(release, 1, 1) == 0


def test_a_register_tells_although_the_people_fit_a_larger_group_as_well() -> None:
    """Ten of age 1, nine with b, in rows of their own; the rows of the others are open to them as well."""
    few = [("1", "b")] * 9 + [("1", "a")]
    many = [(str(2 + i % 3), v) for i, v in enumerate("abcd" * 15)]
    release, table = made(few + many, few + [("1234", v) for _, v in many])
    assert register(release, table, 0.9) == pytest.approx(9 / 70)
    assert register(release, table, 0.91) == 0
    # One person more of that age, somewhere among the others: nine of eleven.
    more, table = made([*few, *many, ("1", "c")], few + [("1234", v) for _, v in many] + [("1234", "c")])
    assert register(more, table, 0.9) == 0
    assert register(more, table, 0.8) == pytest.approx(9 / 71)


@pytest.mark.parametrize("seed", range(5))
def test_both_as_counted_in_plain_python(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = [(str(draw.integers(1, 5)), str(draw.choice(VALUES, p=(0.4, 0.3, 0.2, 0.1)))) for _ in range(30)]
    shows = {"1": ("1", "12"), "2": ("12", "1234"), "3": ("34", "1234"), "4": ("4", "34")}
    cells = [(str(draw.choice(shows[age])), value) for age, value in rows]
    release, table = made(rows, cells)
    size, held, all_of = Counter(c for c, _ in cells), Counter(cells), Counter(v for _, v in rows)
    for known in (1, 2, 3):
        told = sum(size[c] - held[c, v] <= known and 2 * all_of[v] <= len(rows) for c, v in cells)
        assert told_by_others(release, 1, known) == pytest.approx(told / len(rows))
    fit = {c: sum(age in c for age, _ in rows) for c in size}

    def sure(value: str, cell: str, at_least: float) -> bool:
        p, f = held[cell, value] / fit[cell], all_of[value] / len(rows)
        return p >= at_least - 1e-9 and p * (1 - f) >= 4 * f * (1 - p) - 1e-9

    for at_least in (0.3, 0.5, 0.9):
        exposed = sum(any(age in c and sure(v, c, at_least) for c in size) for age, v in rows)
        assert register(release, table, at_least) == pytest.approx(exposed / len(rows))

    def likely(value: str, cell: str) -> bool:
        p, f = held[cell, value] / fit[cell], all_of[value] / len(rows)
        return p >= 0.25 - 1e-9 and p * (1 - f) >= 2 * f * (1 - p) - 1e-9

    raised = Counter(v for age, v in rows if any(age in c and likely(v, c) for c in size))
    worst = max((raised[v] / n for v, n in all_of.items() if n >= 3), default=0)
    truth = table.columns[1].astype(np.int64)
    found = raised_by_register(release, 1, targets_of_table(table, release, 1), truth, times=2, least=3)
    assert found == pytest.approx(worst)


def test_a_register_tells_the_kind_of_codes_and_the_half_of_numbers() -> None:
    """Twenty of age 1 have four codes of one chapter; the rows of the others are open to them as well."""
    codes = ["290", "300", "310", "319", "410", "480", "530", "820"]
    domain = {"codes": {"domain": codes}, "numbers": {"kind": "numeric", "domain": {"from": 1, "to": 40, "step": 1}}}
    for name, few, rest in (("codes", codes[:4], codes), ("numbers", range(1, 5), range(1, 41))):
        schema = made_schema({"age": SCHEMA_AGE, "ill": {"role": SENSITIVE, **domain[name]}})
        rows = [("1", str(few[i % 4])) for i in range(20)] + [(str(2 + i % 3), str(rest[i % 8])) for i in range(80)]
        if name == "numbers":
            rows[20:] = [(age, str(1 + 37 * i % 40)) for i, (age, _) in enumerate(rows[20:])]
        table = made_table(schema, *rows)
        grouped = [(int(age != "1"), ["1"] if age == "1" else list("1234"), value) for age, value in rows]
        release = made_release(table.attributes, [([0, 1], grouped)])
        assert register(release, table, 0.9) == pytest.approx(0.2), name

"""Discernibility and certainty penalty on tables worked by hand (Li 2010, section 1.2.3)."""

import pytest

from small import INSENSITIVE, QI, SENSITIVE, made_release, made_schema, made_table
from unveil.errors import UsageError
from unveil.utility import certainty_penalty, certainty_penalty_hierarchy, discernibility

JOBS = [["cook", "food", "*"], ["waiter", "food", "*"], ["nurse", "care", "*"], ["doctor", "care", "*"]]
SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 30}},
        "job": {"role": QI, "domain": [row[0] for row in JOBS], "missing": "category"},
        "note": {"role": INSENSITIVE, "domain": ["x", "y"]},
        "s": {"role": SENSITIVE, "domain": ["a", "b"]},
    },
    {"job": JOBS},
    missing=["?"],
)
AGE, JOB, NOTE, S = (SCHEMA.attribute(name) for name in SCHEMA.names)
ROWS = [
    (0, ("20", "21", "22"), ("cook", "waiter"), "a"),  # age 2/10; job 2 of 5 codes, food
    (0, ("20", "21", "22"), ("cook", "waiter"), "b"),
    (1, "30", ("cook", "nurse"), "a"),  # age 0; job 2 of 5, but only * holds both
    (1, "30", ("cook", "nurse"), "a"),
    (1, "30", ("cook", "nurse"), "b"),
    (2, "*", "*", "a"),  # suppressed
]
RELEASE = made_release((AGE, JOB, S), [((0, 1, 2), ROWS)])


def test_discernibility_is_the_sum_of_squared_sizes() -> None:
    found = discernibility(RELEASE)
    assert found.value == 2**2 + 3**2 + 1 * 6  # a suppressed row costs as much as the table
    assert found.low == found.value == found.high
    assert discernibility(made_table(SCHEMA, (20, "cook", "x", "a")).as_release()).value == 1
    everything = made_release((AGE, S), [((0, 1), [(0, "*", "a")] * 4)])
    assert discernibility(everything).value == 16


def test_certainty_penalty_of_sets() -> None:
    age = 2 * 0.2 + 3 * 0 + 1
    job = 2 * 0.4 + 3 * 0.4 + 1
    assert certainty_penalty(RELEASE).value == pytest.approx((age + job) / (6 * 2))


def test_certainty_penalty_of_hierarchies() -> None:
    age = 2 * 0.2 + 3 * 0 + 1
    job = 2 * (2 / 5) + 3 * 1 + 1
    assert certainty_penalty_hierarchy(RELEASE).value == pytest.approx((age + job) / (6 * 2))


def test_weights_of_attributes() -> None:
    age = 2 * 0.2 + 3 * 0 + 1
    job = 2 * 0.4 + 3 * 0.4 + 1
    assert certainty_penalty(RELEASE, weights={"age": 3}).value == pytest.approx((3 * age + job) / (6 * 4))
    assert certainty_penalty(RELEASE, weights={"age": 0}).value == pytest.approx(job / 6)
    for weights, message in (
        ({"zip": 1}, "'zip' is not a quasi-identifier"),
        ({"s": 1}, "'s' is not a quasi-identifier"),
        ({"age": -1}, "the weight of 'age' is -1; choose a number of at least 0"),
        ({"age": float("nan")}, "the weight of 'age' is nan"),
        ({"age": 0, "job": 0}, "add up to nothing"),
    ):
        with pytest.raises(UsageError, match=message):
            certainty_penalty(RELEASE, weights=weights)


@pytest.mark.parametrize(
    ("cell", "sets", "hierarchy"),
    [
        ("?", 0, 0),
        ("cook", 0, 0),
        (("cook", "?"), 2 / 5, 1),
        (("nurse", "doctor"), 2 / 5, 2 / 5),
        (("cook", "waiter", "nurse"), 3 / 5, 1),
        (("cook", "waiter", "nurse", "doctor"), 4 / 5, 1),
        ("*", 1, 1),
    ],
)
def test_one_cell_of_categories(cell: str | tuple[str, ...], sets: float, hierarchy: float) -> None:
    release = made_release((JOB,), [((0,), [(0, cell)])])
    assert certainty_penalty(release).value == pytest.approx(sets)
    assert certainty_penalty_hierarchy(release).value == pytest.approx(hierarchy)


@pytest.mark.parametrize(
    ("cell", "width"),
    [("1", 0), (("1", "2"), 0.1), (("1", "2", "11"), 1), ("?", 0), (("1", "?"), 1), ("*", 1)],
)
def test_one_cell_of_numbers_is_as_wide_as_its_span(cell: str | tuple[str, ...], width: float) -> None:
    """With a missing value beside a number nothing is known of the number's place."""
    schema = made_schema(
        {"x": {"role": QI, "kind": "numeric", "domain": [1, 2, 11], "missing": "category"}}, missing=["?"]
    )
    release = made_release((schema.attribute("x"),), [((0,), [(0, cell)])])
    assert certainty_penalty(release).value == pytest.approx(width)


def test_a_domain_of_one_value_and_of_none_but_missing() -> None:
    schema = made_schema(
        {
            "one": {"role": QI, "kind": "numeric", "domain": [5]},
            "none": {"role": QI, "kind": "numeric", "missing": "category"},
        },
        missing=["?"],
    )
    release = made_table(schema, (5, "?")).as_release()
    assert certainty_penalty(release).value == 0
    assert certainty_penalty_hierarchy(release).value == 0


def test_without_quasi_identifiers_nothing_is_lost() -> None:
    assert certainty_penalty(made_release((S,), [((0,), [(0, "a")])])).value == 0


def test_slices_are_measured_block_by_block() -> None:
    release = made_release(
        (AGE, JOB, S),
        [((0,), [(0, ("20", "21")), (0, "30")]), ((1, 2), [(0, "cook", "a"), (0, ("cook", "waiter"), "b")])],
    )
    assert certainty_penalty(release).value == pytest.approx((0.1 + 0 + 0 + 0.4) / 4)

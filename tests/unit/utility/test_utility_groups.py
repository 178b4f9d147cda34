"""Heights, group sizes, the classification metric and entropies on tables worked by hand."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from strategies import Published, releases

from small import INSENSITIVE, QI, SENSITIVE, made_release, made_schema
from unveil.data.release import Release
from unveil.errors import NotApplicable, UsageError
from unveil.utility import (
    average_group_size,
    classification_metric,
    entropy_utility,
    entropy_utility_split,
    generalisation_height,
    information_loss,
    large_groups,
)

JOBS = [["cook", "food", "*"], ["waiter", "food", "*"], ["nurse", "care", "*"], ["doctor", "care", "*"]]
SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 30}},
        "job": {"role": QI, "domain": [row[0] for row in JOBS]},
        "note": {"role": INSENSITIVE, "domain": ["x", "y"]},
        "s": {"role": SENSITIVE, "domain": ["a", "b", "c"]},
    },
    {"job": JOBS},
)
AGE, JOB, NOTE, S = (SCHEMA.attribute(name) for name in SCHEMA.names)
FOOD = ("cook", "waiter")
RELEASE = made_release(
    (AGE, JOB, S),
    [
        (
            (0, 1, 2),
            [
                (0, ("20", "21"), FOOD, "a"),
                (0, ("20", "21"), FOOD, "b"),
                (1, "30", ("cook", "nurse"), "a"),
                (1, "30", ("cook", "nurse"), "a"),
                (1, "30", ("cook", "nurse"), "b"),
                (2, "*", "*", "c"),
            ],
        )
    ],
)
BUCKETS = made_release(
    (AGE, JOB, NOTE, S),
    [
        ((0, 1, 2), [(0, "20", "cook", "x"), (0, "21", "cook", "x"), (1, "22", "nurse", "x"), (1, "22", "nurse", "y")]),
        ((3,), [(0, "a"), (0, "b"), (1, "a"), (1, "a")]),
    ],
)


def test_generalisation_height() -> None:
    # Ages have no hierarchy: 1 if wider than a value. Jobs: food is level 1, cook and nurse together only *.
    assert generalisation_height(RELEASE).value == pytest.approx((2 * (1 + 1) + 3 * (0 + 2) + (1 + 2)) / 6)
    assert generalisation_height(BUCKETS).value == 0
    lonely = made_release((S,), [((0,), [(0, "a")])])
    assert generalisation_height(lonely).value == 0


def test_average_group_size() -> None:
    assert average_group_size(RELEASE).value == 2
    assert average_group_size(BUCKETS, k=2).value == 1
    with pytest.raises(UsageError, match="k = 0"):
        average_group_size(RELEASE, k=0)


def test_classification_metric() -> None:
    assert classification_metric(RELEASE).value == pytest.approx((1 + 1 + 1) / 6)  # one of each group, the suppressed
    assert classification_metric(BUCKETS).value == pytest.approx(1 / 4)
    assert classification_metric(BUCKETS, label="note").value == pytest.approx(1 / 4)  # told apart by age and job
    assert classification_metric(BUCKETS, label="job").value == 0
    withheld = made_release((AGE, S), [((0, 1), [(0, "20", "a"), (0, "20", ("a", "b")), (0, "20", "a")])])
    assert classification_metric(withheld).value == pytest.approx(1 / 3)
    with pytest.raises(NotApplicable, match="no sensitive attribute"):
        classification_metric(made_release((AGE,), [((0,), [(0, "20")])]))
    two = made_schema({n: {"role": SENSITIVE, "domain": ["a"]} for n in ("p", "q")})
    both = made_release([two.attribute(n) for n in ("p", "q")], [((0, 1), [(0, "a", "a")])])
    with pytest.raises(UsageError, match=r"several sensitive attributes \(p, q\)"):
        classification_metric(both)
    assert classification_metric(both, label="q").value == 0


def test_entropies() -> None:
    third = -(1 / 3 * log(1 / 3) + 2 / 3 * log(2 / 3))
    loss = (2 * log(2) + 3 * third) / 6
    assert information_loss(RELEASE).value == pytest.approx(loss)
    whole = -(3 / 6 * log(3 / 6) + 2 / 6 * log(2 / 6) + 1 / 6 * log(1 / 6))
    assert entropy_utility(RELEASE).value == pytest.approx(whole - loss)
    assert information_loss(BUCKETS).value == pytest.approx(log(2) / 2)
    assert information_loss(BUCKETS, attribute="note").value == pytest.approx(log(2) / 2)


def test_utility_in_two_parts() -> None:
    sizes = RELEASE.sizes.tolist()
    large = np.array([0 if size != 1 else 1 for size in sizes])  # the groups of 2 and 3 are one large group
    about, rest = entropy_utility_split(RELEASE, large)
    united = (3 / 5 * log(5 / 3) + 2 / 5 * log(5 / 2)) * 5 / 6
    whole = 3 / 6 * log(6 / 3) + 2 / 6 * log(6 / 2) + 1 / 6 * log(6)
    assert about.value == pytest.approx(whole - united)
    assert about.value + rest.value == pytest.approx(entropy_utility(RELEASE).value)
    for wrong in (large[:2], large - 1, large * 1.0):
        with pytest.raises(UsageError, match="number of its large group"):
            entropy_utility_split(RELEASE, wrong)


def ages(*sizes: int) -> Release:
    rows = [(g, str(20 + g), "a") for g, size in enumerate(sizes) for _ in range(size)]
    return made_release((AGE, S), [((0, 1), rows)])


def test_large_groups_by_hand() -> None:
    assert large_groups(ages(2, 2, 2, 2), 4).tolist() == [1, 1, 0, 0]
    assert large_groups(ages(2, 2, 2, 2), 5).tolist() == [0] * 4
    assert len(set(large_groups(ages(2, 2, 2, 2), 2))) == 4
    for sizes in ((1, 9), (9, 1)):
        assert large_groups(ages(*sizes), 2).tolist() == [0, 0]  # one side would be too small
    with pytest.raises(UsageError, match="n = 0"):
        large_groups(RELEASE, 0)


@given(releases())
def test_large_groups_are_large_and_the_parts_add_up(published: Published) -> None:
    release = published.release
    for n in (1, 2, 4):
        large = large_groups(release, n)
        rows = np.bincount(large, weights=release.sizes)
        assert rows.min() >= min(n, release.rows)
        for attribute in release.attributes:
            about, rest = entropy_utility_split(release, large, attribute=attribute.name)
            total = entropy_utility(release, attribute=attribute.name)
            assert about.value + rest.value == pytest.approx(total.value, abs=1e-9)

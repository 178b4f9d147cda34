"""Releases after others: nobody is told more by all of them than by the worse one alone."""

import numpy as np
import pytest

import unveil
from unveil.anonymizers.parts.successive import anonymize_after, place_rows
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError
from unveil.risk.composition import EarlierRelease, kept_together


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    sizes = {"age": 40, "zip": 25, "sex": 2}
    attributes = [
        Attribute(n, Role.QUASI_IDENTIFIER, Kind.ORDINAL, tuple(f"{n}{i}" for i in range(c))) for n, c in sizes.items()
    ]
    attributes.append(Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, tuple(f"s{i}" for i in range(6))))
    columns = tuple(rng.integers(0, a.codes, 600).astype(a.dtype) for a in attributes)
    return Table(tuple(attributes), columns)


def made(text, table, seed):
    return unveil.anonymizer(text).anonymize(table, Engine(seed=seed))


def kept(table, new, old, placed):
    earlier = {"old": EarlierRelease(release=old.release, group=placed["old"])}
    (found,) = kept_together(table, new, earlier)
    return found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("anatomy:l=3", "anatomy:l=3"),  # the same values in everybody's bucket
        ("mondrian:k=20,l=4", "mondrian:k=5,l=3"),  # refined
        ("mondrian:k=5,l=3", "mondrian:k=15,l=4"),  # merged
        ("mondrian:k=60,l=4", "anatomy:l=2"),  # buckets inside groups
    ],
)
def test_together_they_keep_what_each_keeps(table, first, second):
    fewer = Table(table.attributes[1:], table.columns[1:])  # other columns: cut elsewhere
    old = made(first, table if first.startswith("anatomy") else fewer, 1)
    new, placed = anonymize_after(unveil.anonymizer(second), table, {"old": old.release}, Engine(seed=2))
    found = kept(table, new, old, placed)
    assert found.settled
    assert found.worse == 0
    assert found.together <= max(found.alone, found.before) + 0.01
    assert new.release.rows == table.rows
    level = int(second.rpartition("l=")[2])
    assert (new.release.histograms(3)[0] > 0).sum(axis=1).min() >= level
    free = kept(table, made(second, table, 3), old, placed)
    assert free.worse > 0  # the check can fail: made without looking, they tell more


def test_rows_are_placed_as_they_stood(table):
    for text in ("mondrian:k=5,l=3", "anatomy:l=3"):
        old = made(text, table, 1)
        placed = place_rows(table, old.release)
        assert (placed >= 0).all()
        histogram = old.release.histograms(3)[0]
        mine = np.zeros_like(histogram)
        np.add.at(mine, (placed, table.columns[3]), 1)
        assert np.array_equal(mine, histogram)


def test_newcomers_get_buckets_of_their_own_and_gaps_are_refused(table):
    some = Table(table.attributes, tuple(c[:480] for c in table.columns))
    old = made("anatomy:l=3", some, 1)
    new, placed = anonymize_after(unveil.anonymizer("anatomy:l=3"), table, {"old": old.release}, Engine(seed=2))
    assert (placed["old"] >= 0).sum() == 480
    early, late = set(new.group_of_row[placed["old"] >= 0]), set(new.group_of_row[placed["old"] < 0])
    assert not early & late
    whole = made("anatomy:l=3", table, 1)
    with pytest.raises(RequirementError, match=r"somebody who is gone.*can be kept for"):
        anonymize_after(unveil.anonymizer("anatomy:l=3"), some, {"old": whole.release}, Engine(seed=2))


def test_what_cannot_be_followed_is_refused_with_what_can_be_kept(table):
    buckets = made("anatomy:l=3", table, 1).release
    with pytest.raises(RequirementError, match="l=3 can be kept"):
        anonymize_after(unveil.anonymizer("anatomy:l=5"), table, {"old": buckets}, Engine(seed=2))
    with pytest.raises(UsageError, match="anatomy"):
        anonymize_after(unveil.anonymizer("mondrian:k=5"), table, {"old": buckets}, Engine(seed=2))
    wide = made("mondrian:k=5", table, 1).release
    with pytest.raises(UsageError, match="only recoding and anatomy"):
        anonymize_after(unveil.anonymizer("slicing:l=2"), table, {"old": wide}, Engine(seed=2))
    with pytest.raises(RequirementError):
        anonymize_after(unveil.anonymizer("mondrian:k=700"), table, {"old": wide}, Engine(seed=2))


def test_people_who_look_alike_are_placed_in_no_time():
    """3,000 people of 40 kinds in buckets of three: a search over all ways would not end."""
    rng = np.random.default_rng(0)
    x = Attribute("x", Role.QUASI_IDENTIFIER, Kind.ORDINAL, tuple(map(str, range(40))))
    s = Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, tuple(map(str, range(9))))
    alike = Table((x, s), (rng.integers(0, 40, 3000).astype(x.dtype), rng.integers(0, 9, 3000).astype(s.dtype)))
    old = made("anatomy:l=3", alike, 1)
    placed = place_rows(alike, old.release)
    for index in (0, 1):
        shown = old.release.block_of(index)
        codes = old.release.regions[index].single()[shown.region(index)]
        want = np.zeros((old.release.groups, alike.attributes[index].codes), dtype=int)
        np.add.at(want, (shown.group, codes), shown.count)
        mine = np.zeros_like(want)
        np.add.at(mine, (placed, alike.columns[index]), 1)
        assert np.array_equal(mine, want)
    new, where = anonymize_after(unveil.anonymizer("anatomy:l=3"), alike, {"old": old.release}, Engine(seed=2))
    assert kept(alike, new, old, where).worse == 0

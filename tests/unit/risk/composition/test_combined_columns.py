"""Columns in common that nobody knows of people, against the sum over all worlds."""

from itertools import permutations, product

import numpy as np
import pytest

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, build_release
from unveil.data.table import Table
from unveil.errors import NotApplicable
from unveil.risk.composition import (
    EarlierRelease,
    KnownPeople,
    columns_in_common,
    combinations_of,
    views_of,
    weave,
)

PEOPLE, SECRETS, DRUGS = 6, 2, 3


def column(name, role, codes):
    return Attribute(name, role, Kind.CATEGORICAL, tuple(f"{name}{i}" for i in range(codes)))


WHO = column("who", Role.QUASI_IDENTIFIER, PEOPLE)
SECRET, DRUG = column("s", Role.SENSITIVE, SECRETS), column("m", Role.INSENSITIVE, DRUGS)


def published(group, secret=None, drug=None, *, split=False):
    """A release of groups of known people, with one column or both; `split`: the drug in a block of its own."""
    members = [np.flatnonzero(group == g) for g in range(group.max() + 1)]
    attributes, regions, columns = [WHO], [Regions.sets(PEOPLE, members)], [group]
    for one, values in ((SECRET, secret), (DRUG, drug)):
        if values is not None:
            attributes.append(one)
            regions.append(Regions.singles(one.codes))
            columns.append(values)
    blocks = [tuple(range(len(columns)))] if not split else [(0, 2), (1,)]
    parts = [BlockRows(b, group, tuple(columns[i] for i in b)) for b in blocks]
    return EarlierRelease(release=build_release(attributes, regions, parts)[0])


def by_worlds(releases, groups):
    """(people, secrets) shares of all ways to give everybody secret and drug that fill each group of each release."""
    worlds = np.array(list(product(range(SECRETS * DRUGS), repeat=PEOPLE)))
    fits = np.ones(len(worlds), dtype=bool)
    for (secret, drug), group in zip(releases, groups, strict=True):
        own = group * 100 + (0 if secret is None else worlds // DRUGS * 10) + (0 if drug is None else worlds % DRUGS)
        shown = group * 100 + (0 if secret is None else secret * 10) + (0 if drug is None else drug)
        fits &= (np.sort(own, axis=1) == np.sort(shown)).all(axis=1)
    return np.stack([(worlds[fits] // DRUGS == s).mean(axis=0) for s in range(SECRETS)], axis=1)


@pytest.mark.parametrize("shows", [("sm", "sm"), ("sm", "m"), ("s", "m", "sm"), ("sm", "sm", "m")])
def test_beliefs_are_shares_of_worlds(shows):
    rng = np.random.default_rng(7)
    people = KnownPeople.of_table(Table((WHO,), (np.arange(PEOPLE, dtype=WHO.dtype),)), ["who"])
    for _ in range(10):
        secret, drug = rng.integers(0, SECRETS, PEOPLE), rng.integers(0, DRUGS, PEOPLE)
        groups = [rng.permutation(PEOPLE) // 2 for _ in shows]
        held = [(secret if "s" in one else None, drug if "m" in one else None) for one in shows]
        releases = [published(g, *c) for g, c in zip(groups, held, strict=True)]
        plain = [e.release for e in releases]
        common = columns_in_common(plain, ["who", "s"])
        assert [one.name for one in common] == ["m"]
        beside = combinations_of(plain, SECRET, common, PEOPLE)
        views = [v for i, e in enumerate(releases) for v in views_of(str(i), e, people, SECRET, beside)]
        belief = weave(views, len(beside), beside.asked).beliefs()
        assert belief.exact.all()
        want = by_worlds(held, groups)
        assert np.abs(belief.probability - want).max() < 1e-8


def test_a_column_in_another_block_is_told_of_people_directly():
    """Groups of two by who; the drug beside who, the secret apart; another file tells who has which with each drug."""
    group = np.array([0, 0, 1, 1, 1, 1])
    secret, drug = np.array([0, 1, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 2, 2])
    who = np.arange(PEOPLE)
    plain = published(who, None, drug)
    releases = [published(group, secret, None), plain, published(group * 0, secret, drug)]
    people = KnownPeople.of_table(Table((WHO,), (who.astype(WHO.dtype),)), ["who"])
    every = [e.release for e in releases]
    beside = combinations_of(every, SECRET, columns_in_common(every, ["who", "s"]), PEOPLE)
    views = [v for i, e in enumerate(releases) for v in views_of(str(i), e, people, SECRET, beside)]
    assert np.array_equal(weave(views, len(beside), beside.asked).beliefs().probability, np.eye(SECRETS)[secret])
    split = published(group, secret, drug, split=True)
    views = views_of("split", split, people, SECRET, beside) + views_of("last", releases[2], people, SECRET, beside)
    web = weave(views, len(beside), beside.asked)
    assert len(views) == 3
    assert not web.beliefs().exact.any()  # its blocks are read as if they were releases


def test_too_many_are_refused_by_name():
    many = [Attribute(n, Role.INSENSITIVE, Kind.CATEGORICAL, tuple(map(str, range(3000)))) for n in "xy"]
    rows = np.arange(3000)
    releases = []
    for one in (0, 1, 0, 1):
        part = BlockRows((0,), rows * 0, (rows,))
        releases.append(build_release([many[one]], [Regions.singles(3000)], [part])[0])
    with pytest.raises(NotApplicable, match="it shows x, y, as another release does"):
        combinations_of(releases, SECRET, columns_in_common(releases, ["s"]), 100)


def test_permutations_of_a_file_change_nothing():
    """The order in which releases are named does not matter."""
    rng = np.random.default_rng(3)
    secret, drug = rng.integers(0, SECRETS, PEOPLE), rng.integers(0, DRUGS, PEOPLE)
    groups = [np.array([0, 0, 1, 1, 1, 1]), np.array([0, 1, 0, 1, 1, 0]), np.array([0, 1, 1, 0, 0, 1])]
    people = KnownPeople.of_table(Table((WHO,), (np.arange(PEOPLE, dtype=WHO.dtype),)), ["who"])
    found = []
    for order in permutations(range(3)):
        releases = [published(groups[i], secret if i else None, drug) for i in order]
        every = [e.release for e in releases]
        beside = combinations_of(every, SECRET, columns_in_common(every, ["who", "s"]), PEOPLE)
        views = [v for i, e in enumerate(releases) for v in views_of(str(i), e, people, SECRET, beside)]
        found.append(weave(views, len(beside), beside.asked).beliefs().probability)
    assert np.ptp(found, axis=0).max() < 1e-9

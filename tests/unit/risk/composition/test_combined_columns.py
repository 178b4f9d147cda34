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


def bands(random, people, drugs):
    """People in bands of age and bands of zip, and a release by each with drug and secret."""
    age, zips = random.integers(0, 10, (2, people))
    values = random.integers(0, 3, people), random.integers(0, drugs, people)
    known = [Attribute(n, Role.QUASI_IDENTIFIER, Kind.ORDINAL, tuple(map(str, range(10)))) for n in ("age", "zip")]
    attributes = (*known, column("s", Role.SENSITIVE, 3), column("m", Role.INSENSITIVE, drugs))
    releases = []
    for shown in (age, zips):
        cells = tuple(np.where(shown is one, one, 10) for one in (age, zips))
        regions = [Regions.intervals(10, [*range(10), 0], [*range(10), 9])] * 2
        part = BlockRows((0, 1, 2, 3), shown, (*cells, *values))
        plain = [Regions.singles(a.codes) for a in attributes[2:]]
        releases.append(EarlierRelease(release=build_release(attributes, [*regions, *plain], [part])[0]))
    columns = (age, zips, *values)
    return Table(attributes, tuple(c.astype(a.dtype) for c, a in zip(columns, attributes, strict=True))), releases


def for_certain(table):
    """(people,) whom every way to put rows of equal drug and secret together leaves their secret: integer programs."""
    from scipy.optimize import LinearConstraint, milp
    from scipy.sparse import coo_array

    age, zips, secret, drug = (c.astype(np.int64) for c in table.columns)
    both, cell = secret * table.attributes[3].codes + drug, age * 10 + zips
    ways = sorted(
        {(c, a, z) for c in np.unique(both) for a in age[both == c] for z in zips[both == c] if (a * 10 + z) in cell}
    )
    rows, wanted = [], []
    for mine, keys in (
        (lambda c, a, _: (c, a), list(zip(both, age, strict=True))),
        (lambda c, _, z: (c, z), list(zip(both, zips, strict=True))),
        (lambda _, a, z: (a, z), list(zip(age, zips, strict=True))),
    ):
        for key in sorted(set(keys)):
            rows.append([j for j, way in enumerate(ways) if mine(*way) == key])
            wanted.append(keys.count(key))
    at = [(i, j) for i, some in enumerate(rows) for j in some]
    matrix = coo_array((np.ones(len(at)), np.array(at).T), shape=(len(rows), len(ways))).tocsc()
    told = np.zeros(len(age), dtype=bool)
    for one in np.unique(cell):
        mine = np.flatnonzero(cell == one)
        if len(np.unique(secret[mine])) > 1:
            continue
        own = [float((a * 10 + z, c // table.attributes[3].codes) == (one, secret[mine[0]])) for c, a, z in ways]
        least = milp(own, constraints=LinearConstraint(matrix, wanted, wanted), integrality=np.ones(len(ways)))
        assert least.status == 0
        told[mine] = round(least.fun) == len(mine)
    return told


@pytest.mark.parametrize(
    ("people", "drugs", "seed", "some"), [(300, 60, 0, True), (600, 200, 0, False), (600, 200, 5, True)]
)
def test_a_coarse_column_tells_whom_logic_tells_and_nobody_else(people, drugs, seed, some):
    """Whether a column of 200 values tells anybody of 600 people depends on who has what; propagation finds whom."""
    table, releases = bands(np.random.default_rng(seed), people, drugs)
    who = KnownPeople.of_table(table, ["age", "zip"])
    plain, secret = [one.release for one in releases], table.columns[2].astype(np.int64)
    beside = combinations_of(plain, table.attributes[2], columns_in_common(plain, ["age", "zip", "s"]), people)
    views = [v for i, e in enumerate(releases) for v in views_of(str(i), e, who, table.attributes[2], beside)]
    belief = weave(views, len(beside), beside.asked).beliefs().probability
    told, sure = for_certain(table), belief.max(axis=1) >= 0.95
    assert told.any() == sure.any() == some
    assert (belief[told, secret[told]] > 0.8).all()
    assert (belief.argmax(axis=1) == secret)[sure].all()
    assert (sure & ~told).sum() <= 0.02 * people  # in nearly every world
    error = (belief.max(axis=1) * (1 - belief.max(axis=1))).sum() ** 0.5
    assert abs(float((belief.max(axis=1) - (belief.argmax(axis=1) == secret)).sum())) < 4 * error

"""Releases that are harmless one by one and tell planted people's secrets together, of every kind; and safe ones."""

from dataclasses import replace

import numpy as np
import pytest

import unveil
from planted_pairs import planted_pair
from small import masked_release
from unveil.anonymizers.parts.successive import anonymize_after
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, build_release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.risk.composition import EarlierRelease, KnownPeople, Overlap, exposure_of, view_of, weave
from unveil.risk.news import disclosed_people

TABLE, OLD, NEW, PLANTED = planted_pair(160, 4)
AGE, ZIP, SECRET = (c.astype(np.int64) for c in TABLE.columns)
FIRST, SECOND = AGE // 4, ZIP // 4  # everybody's group in the two releases
CODES, VALUES = TABLE.attributes[0].codes, TABLE.attributes[2].codes
SINGLES = [Regions.singles(CODES), Regions.singles(CODES), Regions.singles(VALUES)]


def plain(release, **said):
    return EarlierRelease(release=release, **said)


def bucketized(group, *blocks):
    columns = (AGE, ZIP, SECRET)
    number = np.unique(group, return_inverse=True)[1]
    parts = [BlockRows(block, number, tuple(columns[i] for i in block)) for block in blocks]
    return plain(build_release(TABLE.attributes, SINGLES, parts)[0])


def recoded(key, group, rows=None, withheld=None, **said):
    """Intervals of one column, the other withheld; `withheld`: rows whose secret is."""
    rows = np.arange(len(SECRET)) if rows is None else rows
    number = np.unique(group[rows], return_inverse=True)[1]
    low = np.array([key[rows][number == g].min() for g in range(number.max() + 1)])
    high = np.array([key[rows][number == g].max() for g in range(number.max() + 1)])
    own, other = Regions.intervals(CODES, low, high), Regions.intervals(CODES, [0], [CODES - 1])
    secret = Regions.intervals(VALUES, [*range(VALUES), 0], [*range(VALUES), VALUES - 1])
    shown = SECRET[rows] if withheld is None else np.where(withheld[rows], VALUES, SECRET[rows])
    regions, cells = ([own, other], [number, 0 * number]) if key is AGE else ([other, own], [0 * number, number])
    part = BlockRows((0, 1, 2), number, (*cells, shown))
    return plain(build_release(TABLE.attributes, [*regions, secret], [part])[0], **said)


def masked(ages, secret=SECRET, within=None, zips=None, channel=None):
    columns = (ages.astype(float), np.full(len(SECRET), np.nan) if zips is None else zips.astype(float), secret)
    perturbed = (0, 1) if channel is None else (2,)
    return plain(masked_release(TABLE.attributes, columns, perturbed, channel or {}), within=within or {})


def centred():
    """Microaggregated: everybody shows the middle of their group."""
    return masked(FIRST * 4 + 1.5, within={"age": 1.5, "zip": 1e9})


def noisy(seed):
    moved = AGE + np.random.default_rng(seed).uniform(-5, 5, len(AGE))
    return masked(moved, within={"age": 5.0, "zip": 1e9})


def changed_at_random(seed):
    rng = np.random.default_rng(seed)
    matrix = np.full((VALUES, VALUES), 0.04) + (0.96 - 0.04 * (VALUES - 1)) * np.eye(VALUES)
    matrix /= matrix.sum(axis=1, keepdims=True)
    shown = np.array([rng.choice(VALUES, p=matrix[s]) for s in SECRET])
    return masked(AGE, shown, zips=ZIP, channel={2: matrix})


def widened(shift):
    """Exact people beside two possible secrets: their own and the next but `shift`."""
    other = (SECRET + shift) % VALUES
    pairs = sorted({(min(a, b), max(a, b)) for a, b in zip(SECRET.tolist(), other.tolist(), strict=True)})
    number = [pairs.index((min(a, b), max(a, b))) for a, b in zip(SECRET.tolist(), other.tolist(), strict=True)]
    regions = [*SINGLES[:2], Regions.sets(VALUES, [list(p) for p in pairs])]
    group = np.unique(AGE * CODES + ZIP, return_inverse=True)[1]
    part = BlockRows((0, 1, 2), group, (AGE, ZIP, np.array(number)))
    return plain(build_release(TABLE.attributes, regions, [part])[0])


def without(rows):
    return np.setdiff1d(np.arange(len(SECRET)), rows)


def with_and_without():
    """Last year's file lacks the oldest of a group, whom its interval leaves out; this year's has them."""
    oldest = [i for i in range(len(AGE)) if (AGE[FIRST[i] == FIRST] >= AGE[i]).sum() == 1]
    victim = np.array([next(i for i in oldest if np.sum(FIRST[i] == FIRST) >= 5)])
    return [recoded(AGE, FIRST), recoded(AGE, FIRST, without(victim), overlap=Overlap("subset"))]


def nested_cut():
    """One group of six, and the same people as a group of five and one who was merged into the next group."""
    group = np.unique(FIRST, return_inverse=True)[1]
    wide = int(np.flatnonzero(np.bincount(group) >= 6)[0])
    victim = int(np.flatnonzero(group == wide)[np.argmax(AGE[group == wide])])
    other = group.copy()
    other[group == (wide + 1) % (group.max() + 1)] = -1
    other[victim] = -1
    return [bucketized(group, (0, 1), (2,)), bucketized(other, (0, 1), (2,))]


def who_left():
    """Last year's groups with people who are gone by now: the others' groups still show them."""
    gone = np.flatnonzero((np.arange(len(SECRET)) % 9 == 0) & ~np.isin(np.arange(len(SECRET)), PLANTED))
    return without(gone)


PAIRS = {
    "recoded and recoded": lambda: [plain(NEW), plain(OLD)],
    "recoded and buckets": lambda: [plain(NEW), bucketized(FIRST, (0, 1), (2,))],
    "buckets and recoded": lambda: [bucketized(SECOND, (0, 1), (2,)), plain(OLD)],
    "buckets and buckets": lambda: [bucketized(SECOND, (0, 1), (2,)), bucketized(FIRST, (0, 1), (2,))],
    "recoded and slices": lambda: [plain(NEW), bucketized(FIRST, (0,), (1,), (2,))],
    "slices and buckets": lambda: [bucketized(SECOND, (0,), (1,), (2,)), bucketized(FIRST, (0, 1), (2,))],
    "slices and slices": lambda: [bucketized(SECOND, (0,), (1,), (2,)), bucketized(FIRST, (0,), (1,), (2,))],
    "recoded and microaggregated": lambda: [plain(NEW), centred()],
    "microaggregated and recoded": lambda: [centred(), plain(NEW)],
    "microaggregated and buckets": lambda: [centred(), bucketized(SECOND, (0, 1), (2,))],
    "noise and recoded": lambda: [noisy(9), plain(NEW)],
    "recoded and noise": lambda: [plain(NEW), noisy(9)],
    "withheld secrets and recoded": lambda: [
        recoded(ZIP, SECOND, withheld=(np.arange(len(SECRET)) % 7 == 0) & ~np.isin(SECOND, SECOND[PLANTED])),
        plain(OLD),
    ],
    "two random changes of the same secret": lambda: [changed_at_random(1), changed_at_random(2)],
    "two widenings of the same secret": lambda: [widened(1), widened(2)],
    "with and without one person": with_and_without,
    "a group less a group": nested_cut,
    "last year's larger population": lambda: [
        recoded(ZIP, SECOND, who_left()),
        replace(plain(OLD), overlap=Overlap("superset")),
    ],
    "values that seldom change": lambda: [plain(NEW), plain(OLD, changed=0.002)],
}


def told(releases, rows=None):
    """How many people are told: at 95% and right, by one value left, or by subtraction."""
    table = TABLE if rows is None else Table(TABLE.attributes, tuple(c[rows] for c in TABLE.columns))
    people, secret = KnownPeople.of_table(table, ["age", "zip"]), TABLE.attributes[2]
    truth = table.columns[2].astype(np.int64)
    web = weave([view_of(str(i), one, people, secret) for i, one in enumerate(releases)], VALUES)
    found, counted = web.beliefs(), exposure_of(web)
    assert found.converged
    share = np.bincount(truth, minlength=VALUES) / len(truth)
    sure = disclosed_people(found.probability, truth, share, at_least=0.95)
    return int((sure | counted.one_left | counted.differenced).sum())


@pytest.mark.parametrize("name", list(PAIRS))
def test_each_alone_tells_nobody_and_together_they_do(name):
    releases = PAIRS[name]()
    rows = who_left() if name == "last year's larger population" else None
    assert [told([one], rows) for one in releases] == [0] * len(releases)
    assert told(releases, rows) > 0


def test_three_releases_tell_what_no_two_of_them_do():
    """The groups of a person hold {a, b, c}, {a, b, d} and {a, c, d}: any two leave two values."""
    a, b, c, d = range(4)
    victim, mates = [a], [[b, c, b, c], [b, d, b, d], [c, d, c, d]]
    secret = np.array([*victim, *(s for some in mates for s in some), a, a, b, c, d])  # others hold a, too
    groups = []
    for own in range(3):
        group = np.full(len(secret), 1)
        group[[0, *range(1 + 4 * own, 5 + 4 * own)]] = 0
        groups.append(group)
    x = np.arange(len(secret))
    attributes = (
        Attribute("x", Role.QUASI_IDENTIFIER, Kind.ORDINAL, tuple(map(str, x))),
        Attribute("s", Role.SENSITIVE, Kind.ORDINAL, tuple("abcd")),
    )
    releases = [
        plain(
            build_release(
                attributes,
                [Regions.singles(len(x)), Regions.singles(4)],
                [BlockRows((0,), group, (x,)), BlockRows((1,), group, (secret,))],
            )[0]
        )
        for group in groups
    ]
    table = Table(attributes, (x.astype(np.uint8), secret.astype(np.uint8)))
    people = KnownPeople.of_table(table, ["x"])

    def belief(some):
        return weave([view_of(str(i), one, people, attributes[1]) for i, one in enumerate(some)], 4).beliefs()

    for one in range(3):
        assert belief(releases[:one] + releases[one + 1 :]).probability[0].max() < 0.95
    assert belief(releases).probability[0, a] == pytest.approx(1)


def coarser():
    """Whole groups of the first release, four at a time."""
    return [plain(OLD), recoded(AGE, FIRST // 4)]


def followed():
    new, _ = anonymize_after(unveil.anonymizer("mondrian:k=8,l=3"), TABLE, {"old": OLD}, Engine(seed=1))
    return [plain(new.release), plain(OLD)]


def same_values_again():
    buckets = unveil.anonymizer("anatomy:l=3").anonymize(TABLE, Engine(seed=1))
    groups = {"old": buckets.group_of_row}
    again, _ = anonymize_after(
        unveil.anonymizer("anatomy:l=3"), TABLE, {"old": buckets.release}, Engine(seed=2), groups
    )
    return [plain(again.release, group=again.group_of_row), plain(buckets.release, group=buckets.group_of_row)]


SAFE = {
    "the same release twice": lambda: [plain(OLD), plain(OLD)],
    "the same buckets twice": lambda: [bucketized(FIRST, (0, 1), (2,))] * 2,
    "the same slices twice": lambda: [bucketized(FIRST, (0,), (1,), (2,))] * 2,
    "a coarser release of the same": coarser,
    "groups that follow the earlier ones": followed,
    "buckets with the same values as before": same_values_again,
    "other people": lambda: [plain(NEW), recoded(AGE, FIRST, overlap=Overlap("overlapping", 1))],
}


@pytest.mark.parametrize("name", list(SAFE))
def test_safe_releases_stay_safe(name):
    assert told(SAFE[name]()) == 0

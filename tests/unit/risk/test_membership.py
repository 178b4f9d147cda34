"""Membership: tuples counted against listing them all, beliefs and presence worked out by hand."""

import doctest
import itertools
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small import QI, SENSITIVE, made_release, made_schema, made_table
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known, Targets
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.kernels.matching_groups import narrow
from unveil.risk.membership import (
    MembershipBelief,
    count_tuples,
    delta_presence,
    fake_tuples,
    learn_membership,
    matching_groups,
    roc,
)
from unveil.risk.membership.belief import bin_of, frequency_score
from unveil.risk.membership.drawing import drawn_members, drawn_outsiders, drawn_tuples, published_shares
from unveil.risk.membership.matching import expected_rows
from unveil.risk.membership.tuples import PRIMES, GroupChoice, Remainders


def any_release(seed: int) -> Release:
    """Two to four attributes, any blocks, any groups, cells that are single values, sets or `*`."""
    random = np.random.default_rng(seed)
    codes = random.integers(2, 5, size=random.integers(2, 5)).tolist()
    attributes = [
        Attribute(f"a{i}", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple("pqrs"[:n])) for i, n in enumerate(codes)
    ]
    rows = int(random.integers(1, 12))
    group = np.sort(random.integers(0, 4, size=rows))
    group = np.unique(group, return_inverse=True)[1]
    wide = random.random() < 0.6
    members = []
    for n in codes:
        sets = [[c] for c in range(n)]
        sets += [np.flatnonzero(random.random(n) < 0.6).tolist() or [0] for _ in range(4)] if wide else []
        members.append(sets)
    regions = [Regions.sets(n, sets) for n, sets in zip(codes, members, strict=True)]
    block_of = random.integers(0, len(codes), size=len(codes))
    parts = []
    for b in np.unique(block_of):
        mine = np.flatnonzero(block_of == b)
        shown = []
        for i in mine:
            column = random.integers(0, len(members[i]), size=rows)
            shown.append(column[np.searchsorted(group, group)] if random.random() < 0.4 else column)
        parts.append(BlockRows(tuple(mine.tolist()), group, tuple(shown)))
    return build_release(attributes, regions, parts)[0]


def matches(release: Release, row: dict[int, int]) -> int:
    """How many groups a tuple matches, group by group and cell by cell."""
    found = 0
    for g in range(release.groups):
        fits = True
        for block in release.blocks:
            entries = range(block.start[g], block.start[g + 1])
            asked = [i for i in block.attributes if i in row]
            fits &= any(all(row[i] in release.regions[i].members(block.region(i)[e]) for i in asked) for e in entries)
        found += fits
    return found


def listed(release: Release, attributes: list[int]) -> dict[tuple[int, ...], int]:
    """Every tuple there can be, with the groups it matches."""
    domains = [range(release.attributes[i].codes) for i in attributes]
    return {codes: matches(release, dict(zip(attributes, codes, strict=True))) for codes in itertools.product(*domains)}


def known(release: Release, rows: list[tuple[int, ...]], attributes: list[int]) -> Targets:
    columns = np.array(rows).reshape(len(rows), len(attributes)).T
    return Targets(
        -1, {i: Known.exactly(release.attributes[i], c) for i, c in zip(attributes, columns, strict=True)}, len(rows)
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.booleans())
def test_tuples_are_counted_as_if_they_were_listed(seed: int, some: bool) -> None:
    release = any_release(seed)
    attributes = list(range(len(release.attributes)))[some:]
    every = listed(release, attributes)
    expected = Counter(degree for degree in every.values() if degree)
    assert count_tuples(release, attributes) == expected
    targets = known(release, list(every), attributes)
    assert matching_groups(release, targets).degree.tolist() == list(every.values())


def test_fake_tuples_are_those_that_are_not_in_the_original() -> None:
    for seed in range(12):
        release = any_release(seed)
        attributes = list(range(len(release.attributes)))
        every = listed(release, attributes)
        random = np.random.default_rng(seed)
        rows = [list(every)[n] for n in random.integers(len(every), size=9)]
        found = fake_tuples(release, known(release, rows, attributes))
        assert found.exact
        assert found.fake.value == sum(1 for row, degree in every.items() if degree and row not in rows)
        assert found.original == len({row for row in rows if every[row]})
        assert found.unmatched == sum(not every[row] for row in rows)
        assert sum(found.row_bands) == len(rows) - found.unmatched


def buckets(groups: int, columns: int, values: int) -> Release:
    """Bucket g holds the values g, g + 1 of every column (one block each)."""
    attributes = [
        Attribute(f"a{i}", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple(map(str, range(values))))
        for i in range(columns)
    ]
    rows = [(str(g), str(g + d)) for g in range(groups) for d in (0, 1)]
    return made_release(attributes, [((i,), [(int(g), v) for g, v in rows]) for i in range(columns)])


def test_numbers_beyond_any_register_are_exact() -> None:
    """Neighbouring buckets share one tuple: 2^70 each, less the one that was counted twice."""
    assert count_tuples(buckets(5, 70, 6), range(70)) == {1: 5 * 2**70 - 2 * 4, 2: 4}
    small = [3, 5 * 2**70 - 8, PRIMES[0] * PRIMES[1] + 1]
    whole = Remainders(PRIMES[:3])
    assert whole.whole(whole.of(np.array(small, dtype=object))) == small
    with pytest.raises(NotApplicable, match="too many to count"):
        count_tuples(buckets(2, 300, 3), range(300))


def test_thousands_of_sets_of_groups_are_each_kept_once() -> None:
    """50 groups, three columns of 40 values: all 64,000 tuples listed as arrays; sets met are those that differ."""
    random = np.random.default_rng(9)
    held = random.random((3, 40, 50)) < 0.35  # column, value, group
    held[:, 0] = True
    attributes = [
        Attribute(f"a{i}", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple(map(str, range(40)))) for i in range(3)
    ]
    parts = []
    most = int(held.sum(axis=1).max())
    for i in range(3):
        group, value = np.nonzero(held[i].T)
        size = np.bincount(group)
        count = np.where(value == 0, most + 1 - size[group], 1)  # blocks of a group must be of one size
        parts.append(BlockRows((i,), group, (value,), count))
    release, _ = build_release(attributes, [Regions.singles(40)] * 3, parts)
    both = held[0][:, None] & held[1][None]
    degree = (both[:, :, None] & held[2]).sum(axis=3).ravel()
    expected = {d: int(n) for d, n in enumerate(np.bincount(degree)) if d and n}
    assert count_tuples(release, [0, 1, 2]) == expected
    ones, prime = np.ones((40, 1), dtype=np.int64), np.array([PRIMES[0]])
    first, second = (GroupChoice.of_pairs(p.group, p.region[0], 50, ones[:, 0]) for p in parts[:2])
    start, group, times = np.array([0, 50]), np.arange(50, dtype=np.int32), np.ones((1, 1), dtype=np.int64)
    alone = np.zeros((50, 1), dtype=np.int64)
    for choice in (first, second):
        start, group, times, _ = narrow(start, group, times, choice.start, choice.atom, 40, ones, prime, alone, 10**9)
    several = both.reshape(-1, 50)[both.reshape(-1, 50).sum(axis=1) > 1]
    assert len(start) - 1 == len(np.unique(several, axis=0)) > 1400
    assert times.sum() == len(several)


def test_matching_groups_fall_into_the_bands_of_the_thesis() -> None:
    """A value in 10, 11, 20 and 21 of 25 groups; the other value everywhere."""
    attribute = Attribute("a", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple("pqrsx"))
    rows = [(g, "x") for g in range(25)]
    rows += [(g, v) for v, n in zip("pqrs", (10, 11, 20, 21), strict=True) for g in range(n)]
    release = made_release([attribute, attribute_named("b")], [((0,), rows), ((1,), [(g, "y") for g, _ in rows])])
    assert count_tuples(release, [0]) == {10: 1, 11: 1, 20: 1, 21: 1, 25: 1}
    found = fake_tuples(release, known(release, [(4,), (4,), (1,)], [0]))
    assert [band.value for band in found.bands] == [1, 1, 1]
    assert found.row_bands == (0, 1, 2)
    assert found.original_bands == (0, 1, 1)


def attribute_named(name: str) -> Attribute:
    return Attribute(name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, ("y", "z"))


def test_too_costly_a_count_is_drawn_with_an_interval_that_holds_it() -> None:
    for seed in (3, 8, 21, 34):
        release = any_release(seed)
        attributes = list(range(len(release.attributes)))
        rows = known(release, [next(row for row, n in listed(release, attributes).items() if n)], attributes)
        exact = fake_tuples(release, rows)
        drawn = fake_tuples(release, rows, most=0, draws=4000, engine=Engine(seed=2))
        assert exact.exact
        assert not drawn.exact
        assert drawn.fake.low <= exact.fake.value <= drawn.fake.high + 1
        for part, whole in zip(drawn.bands, exact.bands, strict=True):
            assert part.low - 1 <= whole.value <= part.high + 1


def test_drawn_people_are_as_often_as_they_should_be() -> None:
    """Two groups; the second has {p,q} beside the row of its own. Chances by hand."""
    attributes = [attribute_named("a"), attribute_named("b")]
    release = made_release(
        attributes, [((0,), [(0, "y"), (0, "z"), (1, "*"), (1, "*")]), ((1,), [(0, "y"), (0, "y"), (1, "y"), (1, "z")])]
    )
    random = np.random.default_rng(1)
    shares = published_shares(release, [0, 1], beta=0.0)
    assert shares[0].tolist() == [0.5, 0.5]
    assert shares[1].tolist() == [0.75, 0.25]
    _, ways = drawn_tuples(release, [0, 1], 10, random)
    assert ways == 2 + 2 * 2
    members, outside = (draw(release, shares, 40_000, random) for draw in (drawn_members, drawn_outsiders))
    for targets, share in ((members, 0.25 * 0.5), (outside, 0.5 * 0.25)):
        both = (targets.known[0].of_target == 0) & (targets.known[1].of_target == 1)
        assert both.mean() == pytest.approx(share, abs=0.008)
    tuples, _ = drawn_tuples(release, [0, 1], 40_000, random)
    first = (tuples.known[0].of_target == 0) & (tuples.known[1].of_target == 0)
    assert first.mean() == pytest.approx(2 / 6, abs=0.01)  # one way in each group
    assert matching_groups(release, known(release, [(0, 0), (0, 1)], [0, 1])).ways.tolist() == [2.0, 1.0]


def test_the_belief_by_hand() -> None:
    """Members match one group in 3 of 4 cases and two in one; of others 3 of 8 match none, 4 one, 1 two."""
    shares = [np.tile(np.array([*counts, *[0.0] * 9]) / sum(counts), (3, 1)) for counts in ((0, 3, 1), (3, 4, 1))]
    reader = MembershipBelief(*shares, 0.2, "")
    belief = reader.believe(np.array([0, 1, 2]))
    assert belief[0] == 0
    assert belief[1] == pytest.approx(0.2 * 0.75 / (0.2 * 0.75 + 0.8 * 0.5), rel=1e-6)
    assert belief[2] == pytest.approx(0.2 * 0.25 / (0.2 * 0.25 + 0.8 * 0.125), rel=1e-6)
    assert reader.largest(np.array([0, 2, 1]), odds=True).value == pytest.approx(2.0, rel=1e-6)
    assert reader.largest(np.array([1, 1])).value == pytest.approx(belief[1])
    assert reader.mean(np.array([0, 1])).value == pytest.approx(belief[1] / 2)
    assert reader.exact
    nobody = reader.odds()[:, 5]
    assert nobody.tolist() == [1, 1, 1]
    with pytest.raises(UsageError, match="between 0 and 1"):
        MembershipBelief(*shares, 1.0, "")


def test_bins_hold_what_they_say() -> None:
    assert bin_of(np.array([0, 1, 2, 3, 4, 5, 6, 10, 11, 20, 21, 500, 501])).tolist() == [
        *(0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 10, 11)
    ]


def test_release_of_everything_but_its_links_teaches_nothing() -> None:
    """One group of all rows in which every value of each column occurs: everybody matches it, member or not."""
    attributes = [attribute_named("a"), attribute_named("b")]
    rows = [(0, "y"), (0, "z"), (0, "z")]
    release = made_release(attributes, [((0,), rows), ((1,), rows)])
    reader = learn_membership(release, [0, 1])
    assert reader.odds()[0, 1] == pytest.approx(1.0)
    assert reader.believe(np.array([1])).tolist() == pytest.approx([0.5])


def test_likelihoods_are_sums_over_all_tuples_and_draws_find_them() -> None:
    """Shares (with one row more of each code) and rows by hand: group 0 = {y,z} × {y}, group 1 = {z} × {z}."""
    attributes = [attribute_named("a"), attribute_named("b")]
    blocks = [((0,), [(0, "y"), (0, "z"), (1, "z")]), ((1,), [(0, "y"), (0, "y"), (1, "z")])]
    release = made_release(attributes, blocks)
    reader = learn_membership(release, [0, 1], prior=0.25)
    outside = {(0, 0): 2 / 5 * 3 / 5, (1, 0): 3 / 5 * 3 / 5, (1, 1): 3 / 5 * 2 / 5}  # each matches one group
    assert reader.others[0, 1] == pytest.approx(sum(outside.values()))
    assert reader.members[0, 1] == pytest.approx(1.0)
    odds = 1 / sum(outside.values()) / 3
    assert reader.believe(np.array([1, 0])).tolist() == pytest.approx([odds / (1 + odds), 0.0])
    drawn = learn_membership(release, [0, 1], prior=0.25, draws=3, engine=Engine(seed=4))
    assert not drawn.exact
    many = learn_membership(buckets(6, 5, 7), range(5), draws=16_000, engine=Engine(seed=4))
    exact = learn_membership(buckets(6, 5, 7), range(5))
    assert exact.exact
    assert not many.exact
    for a, b in ((many.members, exact.members), (many.others, exact.others)):
        inside = (a[1] <= b[0] + 1e-3) & (b[0] <= a[2] + 1e-3)
        assert inside.all()
    low, high = many.largest(np.array([1])).low, many.largest(np.array([1])).high
    assert low <= exact.largest(np.array([1])).value <= high


def test_scores_are_rows_over_what_the_population_would_show() -> None:
    attributes = [attribute_named("a"), attribute_named("b")]
    release = made_release(attributes, [((0,), [(0, "y"), (0, "z"), (1, "*")]), ((1,), [(0, "y"), (0, "y"), (1, "z")])])
    shares = {0: np.array([0.2, 0.8]), 1: np.array([0.5, 0.5])}
    people = known(release, [(0, 0), (1, 1), (0, 1)], [0, 1])
    assert expected_rows(release, people, shares).tolist() == pytest.approx([1.0, 0.8, 0.2])
    assert frequency_score(release, people, shares).tolist() == pytest.approx(
        [1 / 3 / 0.1, 0.8 / 3 / 0.4, 0.2 / 3 / 0.1]
    )


def test_the_population_says_how_rare_a_match_is() -> None:
    """2 rows with y in the table, 8 people with y and 12 with z around: 2 of the 8 are in."""
    release = made_release([attribute_named("a"), attribute_named("b")], [((0, 1), [(0, "y", "*"), (0, "y", "*")])])
    around = known(release, [(0,)] * 8 + [(1,)] * 12, [0])
    reader = learn_membership(release, [0], population=around)
    assert reader.prior == pytest.approx(2 / 20)
    assert reader.believe(np.array([1, 0])).tolist() == pytest.approx([2 / 8, 0])


def test_area_under_the_curve_by_all_pairs() -> None:
    random = np.random.default_rng(5)
    inside, outside = random.integers(0, 4, 30) / 4, random.integers(0, 3, 50) / 4
    found = roc(inside, outside)
    pairs = [Fraction(int(a > b) * 2 + int(a == b), 2) for a in inside for b in outside]
    assert found.auc.value == pytest.approx(float(sum(pairs) / len(pairs)))
    assert np.trapezoid(found.true_positive, found.false_positive) == pytest.approx(found.auc.value)
    assert found.false_positive[-1] == found.true_positive[-1] == 1
    again = [roc(random.choice(inside, 30), random.choice(outside, 50)).auc.value for _ in range(500)]
    width = found.auc.high - found.auc.low
    assert width == pytest.approx(2 * 1.96 * float(np.std(again)), rel=0.1)
    assert roc(np.ones(4), np.zeros(6)).auc.low == pytest.approx(1 - 3 / 4)
    with pytest.raises(UsageError, match="people who are not"):
        roc(np.ones(3), np.zeros(0))


def nine() -> tuple[Table, Release, Targets]:
    """Nine people; of six Americans three are in the table, of three Europeans two: (1/2, 2/3)-presence."""
    schema = made_schema(
        {"nation": {"role": QI, "domain": ["us", "ca", "fr", "it"]}, "d": {"role": SENSITIVE, "domain": ["x", "y"]}}
    )
    table = made_table(schema, ("us", "x"), ("us", "y"), ("ca", "x"), ("it", "y"), ("fr", "x"))
    rows = [(0, ["us", "ca"], v) for v in "xyx"] + [(1, ["fr", "it"], v) for v in "yx"]
    release = made_release(table.attributes, [((0, 1), rows)])
    around = known(release, [(0,), (0,), (0,), (1,), (1,), (1,), (2,), (3,), (3,)], [0])
    return table, release, around


def test_delta_presence_is_rows_over_people_where_cells_do_not_overlap() -> None:
    _, release, around = nine()
    found = delta_presence(release, around)
    assert found.value.tolist() == pytest.approx([1 / 2] * 6 + [2 / 3] * 3)
    assert (found.low == found.high).all()
    assert (found.smallest.value, found.largest.value) == pytest.approx((1 / 2, 2 / 3))
    assert found.short == 0
    fewer = delta_presence(release, known(release, [(0,), (3,), (3,), (3,)], [0]))
    assert fewer.value.tolist() == pytest.approx([1.0, 2 / 3, 2 / 3, 2 / 3])
    assert fewer.short == 2


def worlds(release: Release, people: list[tuple[int, ...]], attributes: list[int]) -> list[set[int]]:
    """Every set of people who can fill the release's rows, by trying all."""
    found = []
    for chosen in itertools.combinations(range(len(people)), release.rows):
        for order in itertools.permutations(chosen):
            start = 0
            fits = True
            for g, size in enumerate(release.sizes.tolist()):
                fits &= _fills(release, g, [people[i] for i in order[start : start + size]], attributes)
                start += size
            if fits:
                found.append(set(chosen))
                break
    return found


def _fills(release: Release, g: int, rows: list[tuple[int, ...]], attributes: list[int]) -> bool:
    for block in release.blocks:
        asked = [i for i in block.attributes if i in attributes]
        cells = [e for e in range(block.start[g], block.start[g + 1]) for _ in range(int(block.count[e]))]
        if not any(
            all(
                row[attributes.index(i)] in release.regions[i].members(block.region(i)[e])
                for row, e in zip(rows, order, strict=True)
                for i in asked
            )
            for order in itertools.permutations(cells)
        ):
            return False
    return True


def _signature(release: Release, person: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Every cell, block by block, that the person fits."""
    return tuple(
        (b, e)
        for b, block in enumerate(release.blocks)
        for e in range(len(block.cell))
        if all(person[i] in release.regions[i].members(block.region(i)[e]) for i in block.attributes)
    )


def test_bounds_of_presence_hold_in_every_world() -> None:
    """Of people who are alike, no world holds a smaller share than `low` or a larger than `high`."""
    tried = 0
    for seed in range(150):
        release = any_release(seed)
        if release.rows > 3:
            continue
        random = np.random.default_rng(seed)
        attributes = list(range(len(release.attributes)))
        people = [tuple(int(random.integers(a.codes)) for a in release.attributes) for _ in range(6)]
        possible = worlds(release, people, attributes)
        if not possible:
            continue
        tried += 1
        found = delta_presence(release, known(release, people, attributes))
        assert found.short == 0
        fits = [_signature(release, person) for person in people]
        alike = Counter(fits)
        for i, mine in enumerate(fits):
            inside = [sum(fits[j] == mine for j in world) / alike[mine] for world in possible]
            assert found.low[i] <= min(inside) + 1e-9
            assert found.high[i] >= max(inside) - 1e-9
            assert found.low[i] - 1e-12 <= found.value[i] <= found.high[i] + 1e-12
    assert tried >= 8


def test_presence_with_overlapping_cells_keeps_the_rows() -> None:
    """Cells {y}, {y,z}, one row each; 4 people y, 4 z: P(y) + P(z) must use up the two rows."""
    release = made_release([attribute_named("a"), attribute_named("b")], [((0, 1), [(0, "y", "y"), (1, "*", "y")])])
    found = delta_presence(release, known(release, [(0,)] * 4 + [(1,)] * 4, [0]))
    assert found.value.sum() == pytest.approx(2)
    assert found.low.tolist() == pytest.approx([1 / 4] * 4 + [0] * 4)
    assert found.value[0] > found.value[7]
    assert found.high.tolist() == pytest.approx([0.5] * 4 + [0.25] * 4)


def test_nothing_known_is_everything_alike() -> None:
    _, release, _ = nine()
    nobody = Targets(-1, {}, 20)
    assert matching_groups(release, nobody).degree.tolist() == [2] * 20
    assert delta_presence(release, nobody).value.tolist() == pytest.approx([5 / 20] * 20)
    with pytest.raises(UsageError, match="at least one attribute"):
        count_tuples(release, [])


def test_the_page_computes_what_it_says() -> None:
    failed, tried = doctest.testfile(str(Path(__file__).parents[3] / "docs" / "membership.md"), module_relative=False)
    assert tried > 20
    assert not failed


def test_who_is_certain_to_be_in_is_believed_to_be_however_many_groups_match() -> None:
    # Ten classes of five ages, with ten people each. Of nine the population has just those ten, of the last a hundred:
    # everybody matches one group, so that counting groups tells next to nothing, but nine in ten are certain.
    ages = [f"{a:02}" for a in range(50)]
    schema = made_schema({"age": {"role": QI, "domain": ages}, "d": {"role": SENSITIVE, "domain": ["x", "y"]}})
    table = made_table(schema, *((a, "x") for a in ages), *((a, "y") for a in ages))
    rows = [(int(a) // 5, ages[int(a) // 5 * 5 : int(a) // 5 * 5 + 5], v) for v in "xy" for a in ages]
    release = made_release(table.attributes, [((0, 1), rows)])
    population = known(release, [(a,) for a in range(50) for _ in range(2 if a < 45 else 20)], [0])
    members = known(release, [(a,) for a in range(50) for _ in range(2)], [0])
    reader = learn_membership(release, [0], population=population)
    degree = matching_groups(release, members).degree
    assert reader.largest(degree).value < 0.6  # what was said
    inside = delta_presence(release, population, members)
    assert inside.certain == 0.9
    assert reader.largest(degree, inside).value == 1
    assert np.isinf(reader.largest(degree, inside, odds=True).value)
    # One in ten of the rest are in: as delta presence says, 10 rows for 100 people.
    share = 100 / 190
    rest = inside.odds()[0][-1]
    assert rest * share / (1 - share) == pytest.approx((10 / 100) / (90 / 100))
    assert reader.mean(degree, inside).value >= 0.9
    # The members' own presence is that of the population's people like them.
    same = delta_presence(release, population)
    assert inside.value[-1] == same.value[-1] == pytest.approx(0.1)

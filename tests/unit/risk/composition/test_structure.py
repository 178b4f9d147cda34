"""Differencing, crossings and the sampled check, on tables worked by hand and against exact sums."""

from itertools import combinations

import numpy as np
import pytest
from small_releases import buckets, enumerated, intervals, known, random_plain

from thorough import THOROUGH
from unveil.engine import Engine
from unveil.kernels.boxes import points_in_boxes
from unveil.kernels.composition import alternate
from unveil.risk.composition import ReleaseView, exposure_of, minimal_sets, sampled_check, weave

CASES = 3000 if THOROUGH else 120


def woven(releases, x, codes, values):
    return weave([ReleaseView(f"r{i}", r.release, known(x, codes)) for i, r in enumerate(releases)], values)


def test_two_tables_with_and_without_one_person_tell_the_person():
    """Groups {0..4} and {0..3}: whoever is in the first only has the value that is in the first only."""
    x, s = np.arange(10), np.array([0, 1, 2, 0, 3, 1, 2, 0, 1, 2])
    wide = intervals(np.where(x < 5, 0, 5), np.where(x < 5, 4, 9), s, 10, 4)
    narrow = intervals(np.where(x < 4, 0, 4), np.where(x < 4, 3, 9), s, 10, 4)
    web = woven([wide, narrow], x, 10, 4)
    told = exposure_of(web)
    assert np.flatnonzero(told.differenced).tolist() == [4]
    assert not told.one_left.any()  # crossing the values does not show it
    found = web.beliefs()
    assert found.exact.all()
    assert found.probability[4] == pytest.approx([0, 0, 0, 1])


def test_a_finer_release_is_subtracted_and_leaves_no_loop():
    x, s = np.arange(12), np.arange(12) % 3
    coarse = intervals(x // 6 * 6, x // 6 * 6 + 5, s, 12, 3)
    fine = intervals(x // 3 * 3, x // 3 * 3 + 2, s, 12, 3)
    web = woven([coarse, fine], x, 12, 3)
    assert web.ties[0].groups == 0
    assert web.parts.tree[web.parts.part].all()
    assert web.beliefs().probability == pytest.approx(np.full((12, 3), 1 / 3))


def test_crossings_single_out_and_leave_one_value():
    x, s = np.arange(4), np.array([0, 1, 0, 2])
    first, second = buckets(x, s, np.array([0, 0, 1, 1]), 4, 3), buckets(x, s, np.array([0, 1, 0, 1]), 4, 3)
    told = exposure_of(woven([first, second], x, 4, 3))
    assert told.alone.all()  # exact cells: alone in each already
    assert told.alone_before.all()
    # {0,1}∩{0}, {0,1}∩{1,2}, {0,2}∩{0}, {0,2}∩{1,2}
    assert told.one_left.tolist() == [True, True, True, True]
    assert not told.one_left_before.any()
    harmless = exposure_of(woven([first, second], x, 4, 3), harmless=[0])
    assert harmless.one_left.tolist() == [False, True, False, True]


def test_the_fewest_releases_that_expose_somebody():
    x, s = np.arange(8), np.array([0, 1, 2, 3, 0, 1, 2, 3])
    new = intervals(x // 4 * 4, x // 4 * 4 + 3, s, 8, 4)
    first = buckets(x, s, np.array([0, 0, 1, 1, 2, 2, 3, 3]), 8, 4)
    second = buckets(x, s, np.array([0, 1, 0, 1, 2, 2, 3, 3]), 8, 4)
    views = [ReleaseView(n, r.release, known(x, 8)) for n, r in (("new", new), ("first", first), ("second", second))]
    sure = weave(views, 4).beliefs().probability.max(axis=1) >= 0.95
    assert sure.tolist() == [True] * 4 + [False] * 4
    assert minimal_sets(views, 4, sure) == ({("first", "second"): 4}, True)


def test_the_walk_over_matchings_has_the_right_shares():
    """Against the exact sum on a part of ten people with weights; four standard errors of autocorrelated draws."""
    rng = np.random.default_rng(0)
    people, values = 10, 3
    x, s = np.arange(people), rng.integers(0, values, people)
    homes = rng.permutation(people) // 5, rng.permutation(people) // 5
    web = woven([buckets(x, s, home, people, values) for home in homes], x, people, values)
    p = rng.dirichlet(np.ones(values) * 3, people)
    exact = web.beliefs(p)
    assert exact.exact.all()
    start = np.array([[0, 5, 10], [0, 5, 10]])
    member = np.stack([np.argsort(home, kind="stable") for home in homes])
    seen, moved = np.zeros((people, values), dtype=np.int64), np.zeros(people, dtype=np.int64)
    group = np.stack(homes).astype(np.int64)
    alternate(group, start, member, s.astype(np.int64).copy(), p, 40_000, 50, np.uint64(1), seen, moved)
    assert np.abs(seen / 40_000 - exact.probability).max() < 0.02
    flat = np.zeros_like(seen)
    alternate(group, start, member, s.astype(np.int64).copy(), np.ones_like(p), 40_000, 50, np.uint64(1), flat, moved)
    assert np.abs(flat / 40_000 - exact.probability).max() > 0.05  # a walk without the weights is caught


def test_the_sampled_check_passes_good_beliefs_and_fails_bad_ones():
    rng = np.random.default_rng(1)
    people, values = 600, 4
    x, s = np.arange(people), rng.integers(0, values, people)
    homes = rng.permutation(people) // 20, rng.permutation(people) // 20
    web = woven([buckets(x, s, home, people, values) for home in homes], x, people, values)
    found = web.beliefs()
    assert found.settled
    assert not found.exact.any()
    check = sampled_check(web, found, s, Engine(seed=0))
    assert check is not None
    assert check.people > 500
    assert check.passed
    sharper = found.probability**4
    object.__setattr__(found, "probability", sharper / sharper.sum(axis=1, keepdims=True))
    assert not sampled_check(web, found, s, Engine(seed=0)).passed
    assert sampled_check(web, found, np.roll(s, 1), Engine(seed=0)) is None  # values that do not fit


def test_points_in_boxes_are_found_once_each():
    rng = np.random.default_rng(2)
    for _ in range(60):
        axes, points, boxes = rng.integers(1, 5), rng.integers(1, 300), rng.integers(1, 200)
        point = rng.integers(0, 9, (points, axes)).astype(np.int32)
        ends = np.sort(rng.integers(0, 9, (2, boxes, axes)), axis=0).astype(np.int32)
        found = np.zeros((points, boxes), dtype=int)
        np.add.at(found, points_in_boxes(point, ends[0], ends[1]), 1)
        inside = ((point[:, None] >= ends[0]) & (point[:, None] <= ends[1])).all(axis=2)
        assert (found == inside).all()


def crossed(rng):
    """Two to three random tiny releases."""
    people, values = int(rng.integers(3, 7)), int(rng.integers(2, 4))
    codes = int(rng.integers(3, people + 3))
    x, s = rng.integers(0, codes, people), rng.integers(0, values, people)
    releases = [random_plain(rng, x, s, codes, values) for _ in range(int(rng.integers(2, 4)))]
    return x, s, codes, values, [one for i, one in enumerate(releases) if i == 0 or one.release != releases[0].release]


def test_counts_are_those_of_brute_force():
    rng, seen = np.random.default_rng(7), np.zeros(3, dtype=int)
    for _ in range(CASES):
        x, _, codes, values, releases = crossed(rng)
        told = exposure_of(woven(releases, x, codes, values))
        places, left = [], [set(range(values)) for _ in x]
        for one in releases:
            mine = [tuple(e for e, (fits, _, _) in enumerate(one.entries) if int(v) in fits) for v in x]
            places.append(mine)
            for i, entries in enumerate(mine):
                left[i] &= {v for e in entries for v in one.held[one.entries[e][1]]}
        rows = list(zip(*places, strict=True))
        assert told.alone.tolist() == [rows.count(row) == 1 for row in rows]
        assert told.one_left.tolist() == [len(some) == 1 for some in left]
        # Whoever is told apart by subtraction has one value in every world.
        flat = np.full((len(x), values), 1 / values)
        sure = enumerated(x, releases, flat).max(axis=1) > 1 - 1e-9
        assert sure[told.differenced].all()
        seen += told.alone.sum(), told.one_left.sum(), told.differenced.sum()
    assert (seen > 10).all()


def test_minimal_sets_are_those_of_brute_force():
    rng, found = np.random.default_rng(8), 0
    for _ in range(CASES):
        x, _, codes, values, releases = crossed(rng)
        if len({one.release.rows for one in releases}) != 1 or len(releases) < 3:
            continue
        if any(a.release == b.release for a, b in combinations(releases, 2)):
            continue
        names = [f"r{i}" for i in range(3)]
        views = [ReleaseView(n, r.release, known(x, codes)) for n, r in zip(names, releases, strict=True)]
        flat = np.full((len(x), values), 1 / values)
        by = {
            some: enumerated(x, [releases[0], *(releases[i] for i in some)], flat).max(axis=1) >= 0.95
            for some in ((), (1,), (2,), (1, 2))
        }
        exposed = by[1, 2]
        want = {}
        for some, mine in by.items():
            smaller = [by[less] & exposed for less in by if set(less) < set(some)]
            least = mine & exposed & ~np.any([np.zeros(len(x), dtype=bool), *smaller], axis=0)
            if least.any():
                want[tuple(names[i] for i in some)] = int(least.sum())
        assert minimal_sets(views, values, exposed) == (want, True)
        found += len(want)
    assert found > 10

"""Beliefs from several releases against enumeration of all worlds, written down without the product's code."""

import numpy as np
import pytest
from small_releases import Plain, buckets, enumerated, intervals, known, random_plain

from thorough import THOROUGH
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known, Targets
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, build_release
from unveil.errors import UsageError
from unveil.risk.composition import Overlap, ReleaseView, weave
from unveil.risk.composition.elimination import exact_beliefs
from unveil.risk.composition.propagation import propagate

CASES, MOST = (4000, 8) if THOROUGH else (150, 6)


def woven(releases, x, codes, values, overlap=None):
    views = [
        ReleaseView(str(i), r.release, known(x, codes), overlap or Overlap(), r.emission)
        for i, r in enumerate(releases)
    ]
    return weave(views, values)


def told_once(releases):
    """The same file published again is the same file: its rows are not drawn a second time."""
    return [one for i, one in enumerate(releases) if not any(one.release == other.release for other in releases[:i])]


def random_case(rng, most=8):
    people, values = int(rng.integers(2, most + 1)), int(rng.integers(2, 5))
    codes = int(rng.integers(2, people + 3))
    x, s = rng.integers(0, codes, people), rng.integers(0, values, people)
    p = rng.dirichlet(np.ones(values), codes)[x]  # the same of people who are alike
    return x, s, codes, values, p


def test_random_pairs_and_triples_are_exact_where_they_are_called_exact():
    rng = np.random.default_rng(1)
    exact = 0
    for case in range(CASES):
        x, s, codes, values, p = random_case(rng, MOST)
        releases = [random_plain(rng, x, s, codes, values) for _ in range(2 + (case % 5 == 0))]
        p = p if case % 2 else np.full_like(p, 1 / values)
        found = woven(releases, x, codes, values).beliefs(p if case % 2 else None)
        error = np.abs(found.probability - enumerated(x, told_once(releases), p)).max(axis=1)
        assert not found.impossible.any()
        assert error[found.exact].max(initial=0) < 1e-8
        exact += int(found.exact.sum())
        assert found.exact.all()  # parts of so few people always are
    assert exact > CASES


def test_trees_are_exact_by_propagation_alone():
    rng = np.random.default_rng(2)
    seen = 0
    for _ in range(CASES):
        x, s, codes, values, p = random_case(rng, MOST)
        releases = [random_plain(rng, x, s, codes, values) for _ in range(2)]
        web = woven(releases, x, codes, values)
        tree = web.parts.tree[web.parts.part]
        if not tree.any():
            continue
        prior = np.zeros((len(web.size), values))
        prior[web.number] = p
        found = propagate(web.ties, web.size, prior, tree=tree).belief[web.number]
        error = np.abs(found - enumerated(x, releases, p)).max(axis=1)
        assert error[tree[web.number]].max() < 1e-8
        seen += int(tree[web.number].sum())
    assert seen > CASES


def test_propagation_on_loops_stays_within_the_stated_error():
    """docs/composition.md: half of the errors on tiny, tight loops are below .01, nine in ten below .25."""
    rng = np.random.default_rng(3)
    errors = []
    for _ in range(100):
        x, s, codes, values, p = random_case(rng, 7)
        releases = [random_plain(rng, x, s, codes, values) for _ in range(2)]
        web = woven(releases, x, codes, values)
        loop = ~web.parts.tree[web.parts.part]
        prior = np.zeros((len(web.size), values))
        prior[web.number] = p
        found = propagate(web.ties, web.size, prior, tree=~loop).belief[web.number]
        errors += np.abs(found - enumerated(x, releases, p)).max(axis=1)[loop[web.number]].tolist()
    assert np.median(errors) < 0.01
    assert np.quantile(errors, 0.9) < 0.25


def test_a_fault_in_the_elimination_would_be_caught():
    x, s = np.array([0, 1, 2, 3]), np.array([0, 1, 1, 0])
    releases = [buckets(x, s, np.array([0, 0, 1, 1]), 4, 2), buckets(x, s, np.array([0, 1, 0, 1]), 4, 2)]
    web = woven(releases, x, 4, 2)
    flat = np.full((4, 2), 0.5)
    wrong = np.array([[0.9, 0.1], *[[0.5, 0.5]] * 3])
    good, done, _ = exact_beliefs(web.ties, web.size, flat[: len(web.size)], web.parts)
    bad, _, _ = exact_beliefs(web.ties, web.size, wrong[: len(web.size)], web.parts)
    assert done.all()
    assert np.abs(good[web.number] - enumerated(x, releases, flat)).max() < 1e-12
    assert np.abs(bad - good).max() > 0.3


def test_one_release_alone_is_random_worlds():
    x, s = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 2, 2])
    found = woven([intervals(np.array([0, 0, 0, 2, 2]), np.array([1, 1, 1, 2, 2]), s, 3, 3)], x, 3, 3).beliefs()
    assert found.exact.all()
    assert found.probability == pytest.approx(np.array([[1, 2, 0], [1, 2, 0], [1, 2, 0], [0, 0, 3], [0, 0, 3]]) / 3)


def test_the_same_release_twice_says_nothing_new():
    rng = np.random.default_rng(4)
    x, s = np.arange(40), rng.integers(0, 5, 40)
    one = buckets(x, s, np.arange(40) // 4, 40, 5)
    alone, twice = (woven([one] * n, x, 40, 5) for n in (1, 2))
    assert twice.beliefs().exact.all()
    assert twice.beliefs().probability == pytest.approx(alone.beliefs().probability, abs=1e-12)


def test_withheld_values_and_changed_ones():
    rng = np.random.default_rng(5)
    for case in range(60):
        x, s, codes, values, p = random_case(rng, most=6)
        cut = int(rng.integers(0, codes))
        low, high = np.where(x < cut, 0, cut), np.where(x < cut, cut - 1, codes - 1)
        hidden = intervals(low, high, s, codes, values, withheld=rng.random(len(x)) < 0.4)
        other = random_plain(rng, x, s, codes, values)
        if case % 2:  # values may have changed since: what the other shows is right with 0.7
            held = np.zeros(values)
            for group in other.held:
                for v, n in group.items():
                    held[v] += n / len(x)
            emission = 0.7 * np.eye(values) + 0.3 * held[:, None]
            shown = other.release.regions[1].single()
            other = Plain(other.entries, other.held, other.release, emission)
            view = emission[shown]
        else:
            view = None
        views = [
            ReleaseView("hidden", hidden.release, known(x, codes), Overlap(), hidden.emission),
            ReleaseView("other", other.release, known(x, codes), Overlap(), view),
        ]
        found = weave(views, values).beliefs(p)
        assert found.exact.all()
        assert np.abs(found.probability - enumerated(x, [hidden, other], p)).max() < 1e-8


def test_people_who_left_are_strangers_in_the_earlier_release():
    """Enumerated with the strangers as people of whom nothing is known but where they stand."""
    rng = np.random.default_rng(6)
    exact = 0
    for _ in range(60):
        x, s, codes, values, _ = random_case(rng, most=7)
        order = rng.permutation(codes)  # groups by x, so that everybody's place is certain
        group = np.unique(order[x] % 2, return_inverse=True)[1]
        earlier = buckets(x, s, group, codes, values)
        stay = np.flatnonzero(rng.random(len(x)) < 0.6)
        if not len(stay):
            continue
        xs, ss = x[stay], s[stay]
        new = random_plain(rng, xs, ss, codes, values)
        if len({int(v) for v in xs} & {int(v) for v in np.delete(x, stay)}):
            continue  # a stranger with the same cell could be either
        views = [
            ReleaseView("new", new.release, known(xs, codes), Overlap()),
            ReleaseView("earlier", earlier.release, known(xs, codes), Overlap("superset")),
        ]
        found = weave(views, values).beliefs()
        gone = np.delete(x, stay)
        everyone = np.concatenate([xs, gone])
        wide = Plain(
            [*new.entries, (frozenset(gone.tolist()), len(new.held), len(gone))],
            [*new.held, {values: len(gone)}],
            new.release,
            np.vstack([np.eye(values), np.ones(values)]),
        )
        flat = np.full((len(x), values), 1 / values)
        want = enumerated(everyone, [wide, earlier], flat)[: len(stay)]
        assert np.abs(found.probability - want)[found.exact].max(initial=0) < 1e-8
        exact += int(found.exact.sum())
    assert exact > 30


def test_who_joined_hears_nothing_from_the_earlier_release():
    x, s = np.array([0, 1, 2, 3]), np.array([0, 1, 2, 0])
    new = buckets(x, s, np.array([0, 0, 1, 1]), 4, 3)
    earlier = buckets(x[:2], s[:2], np.array([0, 1]), 4, 3)
    views = [
        ReleaseView("new", new.release, known(x, 4), Overlap()),
        ReleaseView("earlier", earlier.release, known(x, 4), Overlap("subset")),
    ]
    found = weave(views, 3).beliefs()
    assert found.probability[:2] == pytest.approx(np.eye(3)[[0, 1]])
    assert found.probability[2:] == pytest.approx(np.array([[0.5, 0, 0.5]] * 2))


def test_an_unknown_overlap_is_taken_to_be_all_who_fit():
    x, s = np.array([0, 1, 2, 3]), np.array([0, 1, 2, 0])
    new = buckets(x, s, np.array([0, 0, 1, 1]), 6, 3)
    earlier = buckets(np.array([0, 1, 4, 5]), np.array([0, 1, 2, 2]), np.array([0, 1, 0, 1]), 6, 3)
    views = [
        ReleaseView("new", new.release, known(x, 6), Overlap()),
        ReleaseView("earlier", earlier.release, known(x, 6), Overlap("overlapping")),
    ]
    web = weave(views, 3)
    assert web.links[1].present == pytest.approx([1, 1, 0, 0])
    assert web.beliefs().probability[:2] == pytest.approx(np.eye(3)[[0, 1]])
    known_overlap = weave(
        [views[0], ReleaseView("earlier", earlier.release, known(x, 6), Overlap("overlapping", 1))], 3
    )
    assert known_overlap.links[1].present[:2].sum() == pytest.approx(1)
    assert 0.5 < known_overlap.beliefs().probability[0, 0] < 1


def test_three_blocks_are_linked_by_every_block():
    """A slice whose sensitive block holds one attribute: the others only say how much of a group fits."""
    attributes = (
        Attribute("a", Role.QUASI_IDENTIFIER, Kind.ORDINAL, ("a0", "a1")),
        Attribute("b", Role.QUASI_IDENTIFIER, Kind.ORDINAL, ("b0", "b1")),
        Attribute("s", Role.SENSITIVE, Kind.ORDINAL, ("s0", "s1", "s2")),
    )
    a, b, s = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 1, 2, 0])
    group = np.array([0, 0, 1, 1])
    parts = [BlockRows((0,), group, (a,)), BlockRows((1, 2), group, (b, s))]
    release = build_release(attributes, [Regions.singles(2), Regions.singles(2), Regions.singles(3)], parts)[0]
    targets = Targets(2, {0: Known(Regions.singles(2), a), 1: Known(Regions.singles(2), b)}, 4)
    found = weave([ReleaseView("slice", release, targets)], 3).beliefs()
    assert found.probability == pytest.approx(np.eye(3)[s])


def test_releases_that_contradict_each_other_are_named():
    x = np.array([0, 1, 2, 3])
    first = buckets(x, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 4, 2)
    second = buckets(x, np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]), 4, 2)
    found = woven([first, second], x, 4, 2).beliefs()
    assert found.impossible.any()
    assert not found.converged


def test_bad_input_is_refused():
    with pytest.raises(UsageError, match="overlap"):
        Overlap("twins")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="shared"):
        Overlap("same", 3)
    with pytest.raises(UsageError, match="at least one release"):
        weave([], 2)

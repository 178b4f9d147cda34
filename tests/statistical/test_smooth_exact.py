"""Smoothed attributes against the enumeration of every world and every centre, on small releases of every shape."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from test_attackers_exact import (
    GROUP_KNOWN,
    HIDDEN,
    LINKED,
    SHORT,
    SMALL,
    _agrees,
    _walk,
    check_attacker,
    check_learner,
    prior_of,
    targets_of,
    together,
)

from enumeration import (
    PseudoCounts,
    SmallRelease,
    enumerate_fixed_attacker,
    enumerate_learner_joint,
    uneven_pseudo_counts,
    written_release,
)
from one_round import attack
from thorough import chosen
from unveil.attackers import fixed_prior
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.fixed_prior import FixedPrior
from unveil.attackers.posterior.chain import Chain
from unveil.attackers.posterior.contract import Chains, posterior
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Prior
from unveil.data.smoothing import Centres, gaussian
from unveil.engine import Engine
from unveil.kernels import distributions, gibbs, random, shares

AGE = 0  # of every small release, with four codes
# Exact as floats; not symmetric, one value out of reach of another, one row a single value.
KERNEL = tuple(tuple(Fraction(x, 8) for x in row) for row in ((5, 2, 1, 0), (1, 4, 2, 1), (0, 2, 3, 3), (0, 0, 0, 8)))
ONE = np.zeros(1, dtype=np.int64)
LONG = Chains(sweeps=1500, most_sweeps=0, every=10)
OVERLAPPING = ["horizontal overlapping, not nested", "missing is a value"]
TWICE = "disease suppressed twice beside sex, three blocks"


def smooth_prior(small: SmallRelease, kernel: object = KERNEL) -> Prior:
    plain = prior_of(small.release, small.asked)
    table = np.array([[float(x) for x in row] for row in kernel])  # type: ignore[attr-defined]
    return replace(plain, smooth={AGE: table})


def smooth_counts(small: SmallRelease) -> PseudoCounts:
    return replace(uneven_pseudo_counts(small.release, small.asked), smooth={AGE: KERNEL})


def test_the_oracle_by_hand() -> None:
    """Two values, one row that shows the first; beta = 1, so that the centre's share has mean 1/2 and E p² = 1/3."""
    ill = Attribute("ill", Role.SENSITIVE, Kind.CATEGORICAL, ("n", "y"))
    age = Attribute("age", Role.QUASI_IDENTIFIER, Kind.ORDINAL, ("1", "2"))
    release = written_release([age, ill], {"age ill": "1 n"})
    kernel = ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 2)))
    held = PseudoCounts((1, 1), {0: ((1, 1), (1, 1))}, {0: kernel})
    # theta_1 = p 3/4 + (1 - p) 1/2 = 1/2 + p/4: mean 5/8, mean of squares 1/4 + 1/8 + 1/48 = 19/48.
    joint = enumerate_learner_joint(release, 1, held, {0: (1, 0)})
    assert joint == [Fraction(2, 3) * Fraction(19, 48) / Fraction(5, 8), Fraction(1, 3) * Fraction(5, 8)]
    same = PseudoCounts(held.alpha, held.beta, {0: ((1, 0), (0, 1))})
    plain = PseudoCounts(held.alpha, held.beta)
    assert enumerate_learner_joint(release, 1, same, {0: (1, 0)}) == enumerate_learner_joint(
        release, 1, plain, {0: (1, 0)}
    )


FIXED = chosen(list(SMALL), [*OVERLAPPING, "vertical", "sliced with generalised cells", TWICE])


@pytest.mark.parametrize("name", FIXED)
def test_a_fixed_prior_is_smoothed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed_prior, "KEPT_BY_ROW", 400)
    small = SMALL[name]
    prior = smooth_prior(small)
    pi = [Fraction(a) / sum(map(Fraction, prior.alpha.tolist())) for a in prior.alpha.tolist()]
    theta = {
        i: [[Fraction(x) / sum(map(Fraction, row)) for x in row] for row in table.tolist()]
        for i, table in prior.beta.items()
    }
    theta[AGE] = [[sum(p * KERNEL[u][v] for u, p in enumerate(row)) for v in range(4)] for row in theta[AGE]]
    for known in GROUP_KNOWN:
        for asked, some in together(small, small.targets[::4], known):
            belief = attack(FixedPrior(), small.release, asked, prior, Engine(seed=0))
            for row, target in enumerate(some):
                group = target.group if known else None
                exact = enumerate_fixed_attacker(small.release, small.asked, pi, theta, target.knowledge, group)
                _agrees(belief, exact, target.name, row)  # to 1e-9, unless withheld values are drawn one by one


@pytest.mark.parametrize("name", chosen(LINKED, [*OVERLAPPING, "sets with gaps"]))
def test_linked_releases_equal_enumeration(name: str) -> None:
    """Nested or not, single values or wide ones: known in full, in part, coarser, with errors."""
    small = SMALL[name]
    held = smooth_counts(small)
    learned = posterior(small.release, small.asked, smooth_prior(small), Engine(seed=5), LONG)
    assert "age" in learned.method()
    for known in GROUP_KNOWN:
        check_attacker(learned, small, small.targets[int(known) :: 2], held, known)
    check_learner(learned, small, small.targets, held)


@pytest.mark.parametrize("name", chosen(HIDDEN, ["sliced with generalised cells"]))
def test_releases_that_hide_the_link_equal_enumeration(name: str) -> None:
    small = SMALL[name]
    held = smooth_counts(small)
    learned = posterior(small.release, small.asked, smooth_prior(small), Engine(seed=2), SHORT)
    check_attacker(learned, small, small.targets[::4], held, False)
    check_learner(learned, small, small.targets[::4], held)
    check_attacker(learned, small, small.targets[:1], held, True)


@pytest.mark.parametrize("name", ["horizontal nested", "vertical"])
def test_a_sampler_that_does_not_smooth_is_caught(name: str) -> None:
    small = SMALL[name]
    learned = posterior(small.release, small.asked, prior_of(small.release, small.asked), Engine(seed=2), SHORT)
    target = next(t for t in small.targets if t.name.endswith("full"))
    with pytest.raises(AssertionError, match="full"):
        check_learner(learned, small, [target], smooth_counts(small))


@pytest.mark.parametrize("name", ["horizontal nested", "horizontal overlapping, not nested", "vertical"])
def test_with_nothing_tied_it_is_the_unsmoothed_model(name: str) -> None:
    small = SMALL[name]
    held = uneven_pseudo_counts(small.release, small.asked)
    learned = posterior(small.release, small.asked, smooth_prior(small, np.eye(4)), Engine(seed=6), LONG)
    check_attacker(learned, small, small.targets[::2], held, False)
    check_learner(learned, small, small.targets[::2], held)


def test_a_narrow_kernel_ties_nothing() -> None:
    small = SMALL["horizontal nested"]
    narrow = gaussian(small.release.attributes[AGE], 0.01)
    assert np.array_equal(narrow, np.eye(4))
    tree = posterior(small.release, small.asked, prior_of(small.release, small.asked), Engine(seed=0), LONG)
    found = posterior(small.release, small.asked, smooth_prior(small, narrow), Engine(seed=3), LONG).shares(AGE)  # type: ignore[attr-defined]
    error = np.maximum(found.std(axis=0, ddof=1) / 2, 1e-3)
    assert (np.abs(found.mean(axis=0) - tree.shares(AGE)[0]) <= 6 * error).all()  # type: ignore[attr-defined]


def test_what_was_never_seen_keeps_its_prior() -> None:
    """No row shows the third disease: its shares are the prior's, smoothed, without error."""
    small = SMALL["horizontal overlapping, not nested"]
    prior = smooth_prior(small)
    learned = posterior(small.release, small.asked, prior, Engine(seed=3), LONG)
    found = learned.shares(AGE)  # type: ignore[attr-defined]
    assert (found[:, 2] == prior.shares(AGE)[2]).all()
    mean = prior.beta[AGE][2] / prior.beta[AGE][2].sum()
    assert prior.shares(AGE)[2] == pytest.approx(mean @ prior.smooth[AGE])


@pytest.mark.parametrize("name", ["horizontal nested", "vertical"])
def test_the_same_seed_gives_the_same_numbers_for_any_number_of_threads(name: str) -> None:
    small = SMALL[name]
    asked = targets_of(small, small.targets[0], False)
    chains = Chains(sweeps=100, burn_in=20, keep=50, most_sweeps=0, every=10)
    found = [
        attack(Bayesian(), small.release, asked, smooth_prior(small), Engine(seed=9, workers=workers), chains).chains
        for workers in (1, 2, 5)
    ]
    assert found[0] is not None
    assert np.array_equal(found[0], found[1])  # type: ignore[arg-type]
    assert np.array_equal(found[0], found[2])  # type: ignore[arg-type]


def test_a_saved_chain_goes_on_bit_for_bit() -> None:
    small = SMALL["vertical"]
    model = HiddenModel.of(small.release, small.asked, smooth_prior(small))
    last = _walk(Chain.start(model, Engine(seed=3)), model, 60)
    saved = Chain.start(model, Engine(seed=3))
    _walk(saved, model, 25)
    again = _walk(pickle.loads(pickle.dumps(saved)), model, 60)
    assert np.array_equal(last.pi, again.pi)
    assert all(np.array_equal(last.theta[i], again.theta[i]) for i in last.theta)


# The kernels, compiled and not

START, MEMBER = np.array([0, 2, 4, 7]), np.array([0, 1, 1, 2, 0, 2, 3])
PRIOR, COUNT, NONE = np.array([1.0, 0.5, 2.0, 1.5]), np.array([3, 5, 2]), np.zeros(0, np.int64)
SUMS = START, MEMBER, NONE, NONE
# The same sets, of pieces: 4 is atoms 0 and 2, 5 is 4 and atom 3.
SHARED = np.array([0, 2, 4, 5]), np.array([0, 1, 1, 2, 5]), np.array([2, 3]), np.array([0, 4])
ALONE = np.zeros(4), np.zeros((3, 0)), np.zeros((0, 0)), np.zeros((0, 4))  # no control variates
WEIGHT = np.array([0.7, 0.2, 0.5, 0.9, 0.1, 0.3, 1.0])


def _chain(weight: np.ndarray | None) -> list[np.ndarray]:
    sums = SHARED if weight is None else SUMS
    mass = PRIOR + shares.expected_counts(PRIOR, weight, COUNT, sums, 10)
    at, share, ratio = np.log(mass), np.zeros((3, 4)), np.zeros((3, 7))
    for adapt, draws, first in ((True, 10, 0), (False, 30, 1000)):
        step, accepted, counter = shares.share_chain(
            PRIOR,
            START,
            MEMBER,
            weight,
            COUNT,
            sums,
            1 / np.sqrt(mass)[:, None],
            at,
            0.3,
            6,
            adapt,
            draws,
            np.uint64(7),
            np.uint64(first),
            share,
            ratio,
            ALONE,
        )
    return [mass, at, share, ratio, np.array([step, accepted, float(counter)])]


def _interpret(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (shares, gibbs, distributions, random):
        for name, kernel in list(vars(module).items()):
            if hasattr(kernel, "py_func"):
                monkeypatch.setattr(module, name, kernel.py_func)


@pytest.mark.parametrize("weighted", [False, True])
def test_chains_of_shares_compiled_equal_python(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    weight = WEIGHT if weighted else None
    compiled = _chain(weight)
    assert not weighted or not np.allclose(compiled[2], _chain(None)[2])
    _interpret(monkeypatch)
    with np.errstate(over="ignore"):
        for a, b in zip(compiled, _chain(weight), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize(("weight", "sums"), [(None, SUMS), (None, SHARED), (WEIGHT, SUMS)])
def test_the_slope_is_that_of_the_log_density(weight: np.ndarray | None, sums: tuple[np.ndarray, ...]) -> None:
    """A wrong slope biases nothing, it only wastes moves: no other test would notice."""
    at, sets = np.array([0.3, -1.0, 0.5, 0.1]), (PRIOR, weight, COUNT, sums)
    slope, quick, other = np.empty((3, 4 + len(sums[2])))
    shares._slope(at, *sets, np.empty_like(other), slope, True)
    assert shares._slope(at, *sets, np.empty_like(other), quick, False) == 0
    assert (quick == slope).all()
    for i, step in enumerate(np.eye(4) * 1e-5):
        up, down = (shares._slope(at + way * step, *sets, np.empty_like(other), other, True) for way in (1, -1))
        assert (up - down) / 2e-5 == pytest.approx(slope[i], abs=1e-7)


def test_spreading_over_centres_compiled_equals_python(monkeypatch: pytest.MonkeyPatch) -> None:
    count = np.array([[3, 0], [5, 40], [0, 7]])
    share = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])

    def run() -> tuple[np.ndarray, int]:
        out = np.zeros((2, 4), dtype=np.int64)
        counter = gibbs.spread_over_centres(count, START, MEMBER, WEIGHT, share, np.uint64(3), np.uint64(5), out)
        return out, int(counter)

    compiled, counter = run()
    assert compiled.sum(axis=1).tolist() == [8, 47]
    assert compiled[0, 3] == 0  # only the last region reaches it, and no row of the first value shows that
    _interpret(monkeypatch)
    with np.errstate(over="ignore"):
        again, same = run()
    assert (compiled == again).all()
    assert counter == same


def test_rows_are_spread_by_share_and_weight() -> None:
    """4,000 rows of one region: within five standard errors of weight · share."""
    regions = SMALL["vertical"].release.regions[AGE]
    near = Centres.of(regions, np.array([[float(x) for x in row] for row in KERNEL]))
    count, out = np.zeros((len(regions), 1), dtype=np.int64), np.zeros((1, 4), dtype=np.int64)
    count[1] = 4000
    share = np.array([[0.1, 0.2, 0.3, 0.4]])
    gibbs.spread_over_centres(count, near.start, near.centre, near.weight, share, np.uint64(3), np.uint64(5), out)
    assert regions.members(1).tolist() == [1]
    chance = np.array([0.1 * 2, 0.2 * 4, 0.3 * 2, 0]) / (0.2 + 0.8 + 0.6)
    assert (np.abs(out[0] - 4000 * chance) <= 5 * np.sqrt(4000 * chance * (1 - chance))).all()


def test_a_plain_set_is_one_of_weight_1() -> None:
    """Plain sets are averaged over what lies inside them, weighted ones are not: the same means, not the same draws."""

    def means(weight: np.ndarray | None) -> np.ndarray:
        sets = PRIOR, START, MEMBER, weight, COUNT, SUMS
        found = []
        for key in range(8):
            mass = PRIOR + shares.expected_counts(PRIOR, weight, COUNT, SUMS, 10)
            at, share, ratio, step = np.log(mass), np.zeros((1, 4)), np.zeros((1, 7)), 0.3
            counter = 0
            for adapt, draws in ((True, 200), (False, 16_000)):
                share[:], ratio[:] = 0, 0
                step, _, counter = shares.share_chain(
                    *sets,
                    1 / np.sqrt(mass)[:, None],
                    at,
                    step,
                    6,
                    adapt,
                    draws,
                    np.uint64(key),
                    np.uint64(counter),
                    share,
                    ratio,
                    ALONE,
                )
            found.append(np.concatenate([share[0], ratio[0]]) / 16_000)
        return np.stack(found)

    plain, weighted = means(None), means(np.ones(7))
    error = np.sqrt((plain.var(axis=0, ddof=1) + weighted.var(axis=0, ddof=1)) / 8)
    assert error.max() < 0.005
    assert (np.abs(plain.mean(axis=0) - weighted.mean(axis=0)) <= 5 * error + 1e-12).all()
    assert not np.array_equal(plain, weighted)

"""Attackers against the enumeration of every world, on small releases of every shape."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from enumeration import (
    SmallRelease,
    SmallTarget,
    enumerate_attacker,
    enumerate_fixed_attacker,
    enumerate_learner,
    enumerate_random_worlds,
    small_releases,
    uneven_pseudo_counts,
)
from unveil.attackers import fixed_prior
from unveil.attackers._hidden import Chain, Draw, HiddenModel
from unveil.attackers._posterior import Chains, posterior
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.fixed_prior import FixedPrior
from unveil.attackers.learner import Learner
from unveil.attackers.random_worlds import RandomWorlds
from unveil.belief import Known, Prior, Targets
from unveil.engine import Engine
from unveil.kernels.random import draw
from unveil.regions import Regions
from unveil.release import Release

SMALL = {small.name: small for small in small_releases()}
GROUP_KNOWN = [False, True]


def targets_of(small: SmallRelease, target: SmallTarget, group_known: bool) -> Targets:
    known = {}
    for index, (codes, wrong) in target.known.items():
        regions = Regions.sets(small.release.attributes[index].codes, [sorted(codes)])
        known[index] = Known(regions, np.zeros(1, dtype=np.int64), wrong=float(wrong))
    group = np.array([target.group]) if group_known else None
    return Targets(small.asked, known, 1, group)


def prior_of(release: Release, asked: int) -> Prior:
    uneven = uneven_pseudo_counts(release, asked)
    beta = {i: np.array([[float(x) for x in row] for row in table]) for i, table in uneven.beta.items()}
    return Prior(np.array([float(a) for a in uneven.alpha]), beta)


@pytest.mark.parametrize("group_known", GROUP_KNOWN)
@pytest.mark.parametrize("name", SMALL)
def test_random_worlds_equal_enumeration(name: str, group_known: bool) -> None:
    small = SMALL[name]
    for target in small.targets:
        group = target.group if group_known else None
        exact = [float(p) for p in enumerate_random_worlds(small.release, small.asked, target.knowledge, group)]
        prior = Prior.uninformative(small.release, small.asked)
        belief = RandomWorlds().attack(small.release, targets_of(small, target, group_known), prior, Engine())
        assert belief.probability[0] == pytest.approx(exact, abs=1e-12), target.name


@pytest.mark.parametrize("name", SMALL)
def test_a_fixed_prior_equals_enumeration(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed_prior, "KEPT_BY_ROW", 200)
    small = SMALL[name]
    prior = prior_of(small.release, small.asked)
    pi = [Fraction(a) / sum(map(Fraction, prior.alpha.tolist())) for a in prior.alpha.tolist()]
    theta = {
        i: [[Fraction(x) / sum(map(Fraction, row)) for x in row] for row in table.tolist()]
        for i, table in prior.beta.items()
    }
    by_row = "suppressed" in name and "three blocks" in name  # withheld values are drawn one by one: slower
    for target in small.targets[:: 4 if by_row else 1]:
        for group_known in GROUP_KNOWN:
            group = target.group if group_known else None
            exact = enumerate_fixed_attacker(small.release, small.asked, pi, theta, target.knowledge, group)
            asked = targets_of(small, target, group_known)
            belief = FixedPrior().attack(small.release, asked, prior, Engine())
            assert belief.exact == (not by_row)
            _agrees(belief, exact, target.name)


def _linked(small: SmallRelease) -> bool:
    from unveil.attackers._linked import linked_counts

    return linked_counts(small.release, small.asked) is not None


LINKED = [name for name, small in SMALL.items() if _linked(small)]


@pytest.mark.parametrize("name", LINKED)
def test_linked_releases_equal_enumeration(name: str) -> None:
    """Exact where regions are nested; where they overlap, within five standard errors between chains."""
    small = SMALL[name]
    prior = prior_of(small.release, small.asked)
    uneven = uneven_pseudo_counts(small.release, small.asked)
    learned = posterior(small.release, small.asked, prior, Engine(seed=5), Chains(sweeps=1500))
    for target in small.targets:
        for group_known in GROUP_KNOWN:
            group = target.group if group_known else None
            asked = targets_of(small, target, group_known)
            exact = enumerate_attacker(small.release, small.asked, uneven, target.knowledge, group)
            _agrees(Bayesian().believe(learned, asked, np.zeros(1, dtype=np.int64)), exact, target.name)
        exact = enumerate_learner(small.release, small.asked, uneven, target.knowledge)
        _agrees(
            Learner().believe(learned, targets_of(small, target, False), np.zeros(1, dtype=np.int64)),
            exact,
            target.name,
        )


HIDDEN = [name for name in SMALL if name not in LINKED]
SHORT = Chains(chains=8, sweeps=500, burn_in=200, every=5, most_sweeps=0)


@pytest.mark.parametrize("name", HIDDEN)
def test_releases_that_hide_the_link_equal_enumeration(name: str) -> None:
    """Anatomy, slices, widened slices, withheld values: within five standard errors between eight chains."""
    small = SMALL[name]
    prior = prior_of(small.release, small.asked)
    uneven = uneven_pseudo_counts(small.release, small.asked)
    learned = posterior(small.release, small.asked, prior, Engine(seed=2), SHORT)
    one = np.zeros(1, dtype=np.int64)
    for number, target in enumerate(small.targets):
        if number % 3 == 0 or target.name == small.targets[-1].name:
            exact = enumerate_attacker(small.release, small.asked, uneven, target.knowledge, None)
            _agrees(Bayesian().believe(learned, targets_of(small, target, False), one), exact, target.name)
            exact = enumerate_learner(small.release, small.asked, uneven, target.knowledge)
            _agrees(
                Learner().believe(learned, targets_of(small, target, False), np.zeros(1, dtype=np.int64)),
                exact,
                target.name,
            )
    target = small.targets[0]
    exact = enumerate_attacker(small.release, small.asked, uneven, target.knowledge, target.group)
    _agrees(Bayesian().believe(learned, targets_of(small, target, True), one), exact, target.name)


def test_the_same_seed_gives_the_same_numbers_for_any_number_of_threads() -> None:
    small = SMALL[HIDDEN[0]]
    prior = prior_of(small.release, small.asked)
    asked = targets_of(small, small.targets[0], False)
    found = []
    for workers in (1, 2, 5):
        engine = Engine(seed=9, workers=workers)
        found.append(
            Bayesian(chains=Chains(sweeps=100, burn_in=20, keep=50, most_sweeps=0)).attack(
                small.release, asked, prior, engine
            )
        )
    assert np.array_equal(found[0].chains, found[1].chains)  # type: ignore[arg-type]
    assert np.array_equal(found[0].chains, found[2].chains)  # type: ignore[arg-type]


def test_a_saved_chain_goes_on_bit_for_bit() -> None:
    small = SMALL[HIDDEN[0]]
    model = HiddenModel.of(small.release, small.asked, prior_of(small.release, small.asked))
    whole = Chain.start(model, Engine(seed=3))
    last = _walk(whole, model, 60)
    saved = Chain.start(model, Engine(seed=3))
    _walk(saved, model, 25)
    again = _walk(pickle.loads(pickle.dumps(saved)), model, 60)
    assert np.array_equal(last.pi, again.pi)
    assert all(np.array_equal(last.theta[i], again.theta[i]) for i in last.theta)


def _walk(chain: Chain, model: HiddenModel, sweep: int) -> Draw:
    states = list(chain.run_to(model, sweep, burn_in=10, anneal=True, every=1))
    assert states[-1] is not None
    return states[-1]


def test_sweeps_and_groups_share_no_draws() -> None:
    """Keys a fixed step apart would give group g of one sweep the draws of group g + 1 of the sweep before."""
    keys = [np.uint64(draw(np.uint64(12345), np.uint64(sweep))) for sweep in range(50)]
    bits = [draw(key, np.uint64(group)) for key in keys for group in range(50)]
    assert len(set(bits)) == len(bits)


def _agrees(belief: object, exact: list[object], name: str) -> None:
    truth = np.array([float(p) for p in exact])  # type: ignore[arg-type]
    probability, chains = belief.probability[0], belief.chains  # type: ignore[attr-defined]
    if chains is None:
        assert probability == pytest.approx(truth, abs=1e-9), name
        return
    error = chains[:, 0].std(axis=0, ddof=1) / np.sqrt(len(chains))
    # Four chains give a rough error: never take it for smaller than the typical one.
    error = np.maximum(error, np.median(error[truth > 0]))
    assert (np.abs(probability - truth) <= 5 * error + 1e-9).all(), (name, probability, truth, error)
    assert (np.abs(probability + 0.1 - truth) > 5 * error).any(), "a planted bias would not be caught"


@pytest.mark.parametrize("name", LINKED)
def test_chains_agree_with_the_tree_where_both_apply(name: str) -> None:
    small = SMALL[name]
    prior = prior_of(small.release, small.asked)
    tree = posterior(small.release, small.asked, prior, Engine(seed=1), Chains(sweeps=500))
    sampled = posterior(small.release, small.asked, prior, Engine(seed=1), Chains(sweeps=1500), tree=False)
    for index, attribute in tree.attributes.items():
        if attribute.sampler is None:
            found = sampled.shares(index)
            error = np.maximum(found.std(axis=0, ddof=1) / 2, 1e-3)
            assert (np.abs(found.mean(axis=0) - attribute.tree) <= 6 * error).all()


def test_half_membership_lies_between_learner_and_attacker() -> None:
    small = SMALL[LINKED[0]]
    prior = Prior.uninformative(small.release, small.asked)
    asked = targets_of(small, small.targets[0], False)
    learner = Learner().attack(small.release, asked, prior, Engine()).probability
    attacker = Bayesian().attack(small.release, asked, prior, Engine()).probability
    half = Bayesian(membership=0.25).attack(small.release, asked, prior, Engine()).probability
    assert half == pytest.approx(0.25 * attacker + 0.75 * learner)

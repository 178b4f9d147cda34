"""Attackers against the enumeration of every world, on small releases of every shape."""

import pickle
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest

from enumeration import (
    PseudoCounts,
    SmallRelease,
    SmallTarget,
    enumerate_attacker,
    enumerate_fixed_attacker,
    enumerate_learner,
    enumerate_random_worlds,
    small_releases,
    uneven_pseudo_counts,
)
from one_round import attack
from thorough import chosen
from unveil.attackers import fixed_prior
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.fixed_prior import FixedPrior
from unveil.attackers.learner import Learner
from unveil.attackers.posterior import hidden
from unveil.attackers.posterior.chain import Chain, Draw
from unveil.attackers.posterior.contract import Chains, Posterior, posterior
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.random_worlds import RandomWorlds
from unveil.data.belief import Known, Prior, Targets, t_quantile
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.kernels.random import draw

SMALL = {small.name: small for small in small_releases()}
GROUP_KNOWN = [False, True]


def targets_of(small: SmallRelease, target: SmallTarget, group_known: bool) -> Targets:
    known = {}
    for index, (codes, wrong) in target.known.items():
        regions = Regions.sets(small.release.attributes[index].codes, [sorted(codes)])
        known[index] = Known(regions, np.zeros(1, dtype=np.int64), wrong=float(wrong))
    group = np.array([target.group]) if group_known else None
    return Targets(small.asked, known, 1, group)


def together(
    small: SmallRelease, targets: Sequence[SmallTarget], group_known: bool
) -> Iterator[tuple[Targets, list[SmallTarget]]]:
    """Targets of whom the same attributes are known, with the same chance of error: asked about at once."""
    alike: dict[object, list[SmallTarget]] = {}
    for target in targets:
        alike.setdefault(tuple((a, wrong) for a, (_, wrong) in target.known.items()), []).append(target)
    for some in alike.values():
        known = {}
        for index, (_, wrong) in some[0].known.items():
            sets = [sorted(target.known[index][0]) for target in some]
            regions = Regions.sets(small.release.attributes[index].codes, sets)
            known[index] = Known(regions, np.arange(len(some)), wrong=float(wrong))
        group = np.array([target.group for target in some]) if group_known else None
        yield Targets(small.asked, known, len(some), group), some


def prior_of(release: Release, asked: int) -> Prior:
    uneven = uneven_pseudo_counts(release, asked)
    beta = {i: np.array([[float(x) for x in row] for row in table]) for i, table in uneven.beta.items()}
    return Prior(np.array([float(a) for a in uneven.alpha]), beta)


@pytest.mark.parametrize("group_known", GROUP_KNOWN)
@pytest.mark.parametrize("name", SMALL)
def test_random_worlds_equal_enumeration(name: str, group_known: bool) -> None:
    small = SMALL[name]
    prior = Prior.uninformative(small.release, small.asked)
    for asked, some in together(small, small.targets, group_known):
        belief = attack(RandomWorlds(), small.release, asked, prior, Engine(seed=0))
        for row, target in enumerate(some):
            group = target.group if group_known else None
            exact = [float(p) for p in enumerate_random_worlds(small.release, small.asked, target.knowledge, group)]
            assert belief.probability[row] == pytest.approx(exact, abs=1e-12), target.name


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
    for group_known in GROUP_KNOWN:
        for asked, some in together(small, small.targets[:: 4 if by_row else 1], group_known):
            belief = attack(FixedPrior(), small.release, asked, prior, Engine(seed=0))
            assert belief.exact == (not by_row)
            for row, target in enumerate(some):
                group = target.group if group_known else None
                exact = enumerate_fixed_attacker(small.release, small.asked, pi, theta, target.knowledge, group)
                _agrees(belief, exact, target.name, row)


def _linked(small: SmallRelease) -> bool:
    from unveil.attackers.posterior.linked import linked_counts

    return linked_counts(small.release, small.asked) is not None


LINKED = [name for name, small in SMALL.items() if _linked(small)]


@pytest.mark.parametrize("name", LINKED)
def test_linked_releases_equal_enumeration(name: str) -> None:
    """Exact where regions are nested; where they overlap, within five standard errors between chains."""
    small = SMALL[name]
    prior = prior_of(small.release, small.asked)
    uneven = uneven_pseudo_counts(small.release, small.asked)
    learned = posterior(small.release, small.asked, prior, Engine(seed=6), Chains(sweeps=1500, most_sweeps=0, every=10))
    for group_known in GROUP_KNOWN:
        check_attacker(learned, small, small.targets, uneven, group_known)
    check_learner(learned, small, small.targets, uneven)


@pytest.mark.thorough
def test_intervals_over_overlapping_regions_hold_the_truth_as_often_as_they_say() -> None:
    """Over 150 seeds of short chains. One seed may well be off by five standard errors of four chains: 1.5% are."""
    small = SMALL["horizontal overlapping, not nested"]
    prior, held = prior_of(small.release, small.asked), uneven_pseudo_counts(small.release, small.asked)
    target = small.targets[0]
    truth = float(enumerate_attacker(small.release, small.asked, held, target.knowledge, None)[1])
    asked, beyond = targets_of(small, target, False), []
    for seed in range(150):
        engine = Engine(seed=1000 + seed, workers=1)
        learned = posterior(small.release, small.asked, prior, engine, Chains(sweeps=100, most_sweeps=0))
        belief = Bayesian().believe(learned, asked)
        assert belief.chains is not None
        error = belief.chains[:, 0, 1].std(ddof=1) / 2
        beyond.append(abs(belief.probability[0, 1] - truth) / error)
    assert 0.01 <= (np.array(beyond) > t_quantile(4)).mean() <= 0.1


HIDDEN = [name for name in SMALL if name not in LINKED]
SHORT = Chains(chains=8, sweeps=500, burn_in=200, every=5, most_sweeps=0)


CASES = [*((name, False) for name in HIDDEN), (HIDDEN[0], True), (HIDDEN[-1], True)]
FEW = [("sliced, unequal buckets, sex beside disease", False), ("vertical", True)]


@pytest.mark.parametrize(("name", "left"), chosen(CASES, FEW))
def test_releases_that_hide_the_link_equal_enumeration(name: str, left: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anatomy, slices, widened slices, withheld values: within five standard errors between eight chains.

    `left`: codes that no row of a value can have are left out of most draws.
    """
    if left:
        monkeypatch.setattr(hidden, "WORTH_LEAVING", 0)
        monkeypatch.setattr(hidden, "FEW_POSSIBLE", 2.0)
    small = SMALL[name]
    prior = prior_of(small.release, small.asked)
    uneven = uneven_pseudo_counts(small.release, small.asked)
    learned = posterior(small.release, small.asked, prior, Engine(seed=2), SHORT)
    some = [*small.targets[::3], *(small.targets[-1:] if (len(small.targets) - 1) % 3 else ())]
    check_attacker(learned, small, some, uneven, False)
    check_learner(learned, small, some, uneven)
    check_attacker(learned, small, some[:1], uneven, True)


def test_the_same_seed_gives_the_same_numbers_for_any_number_of_threads() -> None:
    small = SMALL[HIDDEN[0]]
    prior = prior_of(small.release, small.asked)
    asked = targets_of(small, small.targets[0], False)
    found, chains = [], Chains(sweeps=100, burn_in=20, keep=50, most_sweeps=0)
    for workers in (1, 2, 5):
        engine = Engine(seed=9, workers=workers)
        found.append(attack(Bayesian(), small.release, asked, prior, engine, chains))
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


def check_attacker(
    learned: Posterior, small: SmallRelease, targets: Sequence[SmallTarget], held: PseudoCounts, group_known: bool
) -> None:
    """The attacker's beliefs about each of the targets."""
    for asked, some in together(small, targets, group_known):
        belief = Bayesian().believe(learned, asked)
        for row, target in enumerate(some):
            group = target.group if group_known else None
            exact = enumerate_attacker(small.release, small.asked, held, target.knowledge, group)
            _agrees(belief, exact, target.name, row)


def check_learner(learned: Posterior, small: SmallRelease, targets: Sequence[SmallTarget], held: PseudoCounts) -> None:
    """The learner's."""
    for asked, some in together(small, targets, False):
        belief = Learner().believe(learned, asked)
        for row, target in enumerate(some):
            exact = enumerate_learner(small.release, small.asked, held, target.knowledge)
            _agrees(belief, exact, target.name, row)


def _agrees(belief: object, exact: Sequence[Fraction], name: str, row: int = 0) -> None:
    truth = np.array([float(p) for p in exact])
    probability, chains = belief.probability[row], belief.chains  # type: ignore[attr-defined]
    if chains is None:
        assert probability == pytest.approx(truth, abs=1e-9), name
        return
    error = chains[:, row].std(axis=0, ddof=1) / np.sqrt(len(chains))
    # Four chains give a rough error: never take it for smaller than the typical one.
    error = np.maximum(error, np.median(error[truth > 0]))
    assert (np.abs(probability - truth) <= 5 * error + 1e-9).all(), (name, probability, truth, error)
    assert (np.abs(probability + 0.1 - truth) > 5 * error).any(), "a planted bias would not be caught"


@pytest.mark.parametrize("name", LINKED)
def test_chains_agree_with_the_tree_where_both_apply(name: str) -> None:
    small = SMALL[name]
    prior = prior_of(small.release, small.asked)
    tree = posterior(small.release, small.asked, prior, Engine(seed=1), Chains(sweeps=500, most_sweeps=0, every=10))
    sampled = posterior(
        small.release, small.asked, prior, Engine(seed=1), Chains(sweeps=1500, most_sweeps=0, every=10), tree=False
    )
    for index, attribute in tree.attributes.items():
        if attribute.sampler is None:
            found = sampled.shares(index)
            error = np.maximum(found.std(axis=0, ddof=1) / 2, 1e-3)
            assert (np.abs(found.mean(axis=0) - attribute.tree) <= 6 * error).all()


def test_half_membership_lies_between_learner_and_attacker() -> None:
    small = SMALL[LINKED[0]]
    prior = Prior.uninformative(small.release, small.asked)
    asked = targets_of(small, small.targets[0], False)
    learner = attack(Learner(), small.release, asked, prior, Engine(seed=0)).probability
    attacker = attack(Bayesian(), small.release, asked, prior, Engine(seed=0)).probability
    half = attack(Bayesian(membership=0.25), small.release, asked, prior, Engine(seed=0)).probability
    assert half == pytest.approx(0.25 * attacker + 0.75 * learner)

"""Eq. 6 against numerical integration over every world, on small releases of every shape.

Given a world the parameters are independent Dirichlets. For a person of whom single attributes are known, p(s | r, pi)
is w_s / sum of w, where w_s = G_s · product of likelihoods of the knowledge, each a linear function of a Beta variable,
and G are independent Gamma variables (their scale cancels). Then E[w_s / sum of w] is an integral over u > 0 of
E[w_s exp(-u w_s)] · product over the others of E[exp(-u w)], each factor an integral over Betas. No draws anywhere.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.special import roots_jacobi, roots_legendre
from test_attackers_exact import LINKED, SMALL, prior_of, targets_of

from enumeration import (
    AGE,
    ILL,
    SEX,
    SmallTarget,
    _Layout,
    _marginal_likelihood,
    _tally,
    uneven_pseudo_counts,
    written_release,
)
from one_round import attack
from papers.boreale_2020 import DISEASES, table_i, victim
from thorough import chosen
from unveil.attackers.conditional_learner import ConditionalLearner
from unveil.attackers.learner import Learner
from unveil.attackers.posterior.contract import Chains, posterior
from unveil.data.belief import Known, Prior, Targets, known_exactly
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.engine import Engine

NODES = 24
Factor = tuple[float, float, float, float]  # Beta(a, b), likelihood outside the set, and how much more inside
X, W = roots_legendre(60)
X, W = (X + 1) / 2, W / 2
U = (X / (1 - X)) ** 2  # the integrands fall slowly: squares reach further
DU = W * 2 * X / (1 - X) ** 3


@cache
def beta_nodes(a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    x, w = roots_jacobi(NODES, b - 1, a - 1)
    return (x + 1) / 2, w / w.sum()


@cache
def transforms(shape: float, factors: tuple[Factor, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(u,) E[exp(-u w)] and E[w exp(-u w)] for w = Gamma(shape) · product of the factors."""
    values, weights = np.ones(1), np.ones(1)
    for a, b, outside, more in factors:
        x, w = beta_nodes(a, b)
        values = np.outer(values, outside + more * x).ravel()
        weights = np.outer(weights, w).ravel()
    base = 1 + np.outer(U, values)
    return base**-shape @ weights, (shape * values * base ** -(shape + 1)) @ weights


def conditional(shapes: list[float], factors: list[tuple[Factor, ...]]) -> np.ndarray:
    """(values,) E[w_s / sum of w]."""
    found = [transforms(shape, f) for shape, f in zip(shapes, factors, strict=True)]
    return np.array([
        (DU * one[1] * np.prod([other[0] for t, other in enumerate(found) if t != s], axis=0)).sum()
        for s, one in enumerate(found)
    ])  # fmt: skip


def integrated(release: Release, asked: int, known: Mapping[int, tuple[tuple[int, ...], Fraction]]) -> np.ndarray:
    """(values,) eq. 6 with uneven_pseudo_counts."""
    layout, prior = _Layout(release, asked), uneven_pseudo_counts(release, asked)
    weigh = _marginal_likelihood(layout, prior)
    total, found = 0.0, np.zeros(layout.values)
    for counts, tally in _tally(release, asked).items():
        weight = tally.worlds * float(weigh(counts))
        shapes, factors = [], []
        for s in range(layout.values):
            shapes.append(float(prior.alpha[s] + counts[s]))
            mine = []
            for a, (codes, wrong) in known.items():
                beside = [float(p + n) for p, n in zip(prior.beta[a][s], layout.of(counts, a, s), strict=True)]
                inside = sum(beside[c] for c in codes)
                outside = sum(beside) - inside
                if outside > 1e-9:
                    mistaken = float(wrong) * len(codes) / (len(beside) - len(codes))
                    mine.append((inside, outside, mistaken, 1 - float(wrong) - mistaken))
            factors.append(tuple(mine))
        found += weight * conditional(shapes, factors)
        total += weight
    return found / total


def test_the_oracle_by_hand() -> None:
    """One value with s, Beta(1, 1) for each of two: E[x / (x + y)] is 1/2; Gammas 2 and 1 without knowledge: 2/3."""
    assert conditional([1.0, 1.0], [((1.0, 1.0, 0.0, 1.0),)] * 2) == pytest.approx([0.5, 0.5], abs=1e-5)
    assert conditional([2.0, 1.0], [(), ()]) == pytest.approx([2 / 3, 1 / 3], abs=1e-9)
    # pi known to be even (huge shapes), x uniform, the other's likelihood 1: E[x / (x + 1)] = 1 - log 2.
    found = conditional([4000.0, 4000.0], [((1.0, 1.0, 0.0, 1.0),), ((1.0, 1.0, 1.0, 0.0),)])
    assert found[0] / found.sum() == pytest.approx(1 - np.log(2), abs=1e-3)


NAMES = [
    "horizontal nested",
    "horizontal overlapping, not nested",
    "local recoding with suppression",
    "vertical",
    "sliced with generalised cells",
    "disease suppressed in a bucket, widened in another",
    "the original",
]
FEW = ["local recoding with suppression", "sliced with generalised cells"]


@pytest.mark.parametrize("name", chosen(NAMES, FEW))
def test_eq_6_equals_integration_over_every_world(name: str) -> None:
    small = SMALL[name]
    prior = prior_of(small.release, small.asked)
    linked = name in LINKED  # four draws a sweep, and no chain to leave behind
    chains = Chains(chains=8, sweeps=700 if linked else 2400, burn_in=200, every=16, most_sweeps=0)
    learned = posterior(small.release, small.asked, prior, Engine(seed=3), chains)
    for target in small.targets[::2][:4]:
        exact = integrated(small.release, small.asked, target.known)
        assert exact.sum() == pytest.approx(1, abs=2e-4)
        asked = targets_of(small, target, False)
        belief = ConditionalLearner().believe(learned, asked)
        _agrees(belief.chains[:, 0], exact, target)
        assert not belief.exact
        # Eq. 5 is another number: the check tells the two apart.
        if target is small.targets[0]:
            other = Learner().believe(learned, asked).probability[0]
            assert np.abs(other - exact).max() > 0.01


def test_codes_that_no_region_separates() -> None:
    """20 and 21 always stand together in regions that overlap others: they share what is sampled for the two."""
    blocks = {"age sex disease": "20,21,22 f flu; 22,23 f flu / 20,21,22 m hiv; 22,23 m hiv; 20,21,22 m hiv"}
    release = written_release((AGE, SEX, ILL), blocks)
    chains = Chains(chains=8, sweeps=800, most_sweeps=0, every=10)
    for code in (0, 1):
        targets = known_exactly(release, {0: np.array([code])}, 2)
        belief = attack(ConditionalLearner(), release, targets, prior_of(release, 2), Engine(seed=1), chains)
        known = {0: ((code,), Fraction(0))}
        target = SmallTarget(f"age {AGE.values[code]}", known, {}, 0)
        _agrees(belief.chains[:, 0], integrated(release, 2, known), target)


def _agrees(chains: np.ndarray, exact: np.ndarray, target: SmallTarget) -> None:
    error = chains.std(axis=0, ddof=1) / np.sqrt(len(chains))
    error = np.maximum(error, np.median(error))
    assert error.max() < 0.01
    assert (np.abs(chains.mean(axis=0) - exact) <= 5 * error + 2e-4).all(), (target.name, chains.mean(axis=0), exact)


def test_table_iii_of_boreale() -> None:
    """FIGURES: .306 .304 .130 .130 .130, where eq. 5 gives .330 .329 .114."""
    release = table_i("b")
    prior = Prior.uninformative(release, release.index("dis"))
    chains = Chains(most_sweeps=0, every=10)
    belief = attack(ConditionalLearner(), release, victim(release), prior, Engine(seed=0), chains)
    found = dict(zip(DISEASES, belief.probability[0].tolist(), strict=True))
    assert found["Heart"] == pytest.approx(0.306, abs=0.008)
    assert found["Flu"] == pytest.approx(0.304, abs=0.008)
    for value in ("Diabetes", "HIV", "Stomach"):
        assert found[value] == pytest.approx(0.130, abs=0.005)
    assert belief.diagnostics.converged
    assert belief.threat.membership == "not known"


def test_with_many_rows_both_equations_agree() -> None:
    small = SMALL["the original"]
    counts = np.full(len(small.release.blocks[0].count), 500)
    block = small.release.blocks[0]
    rows = BlockRows(block.attributes, block.group, tuple(block.region(i) for i in block.attributes), counts)
    release, _ = build_release(small.release.attributes, small.release.regions, [rows])
    targets = known_exactly(release, {0: np.array([0, 3]), 1: np.array([0, 1])}, small.asked)
    prior = Prior.uninformative(release, small.asked)
    six = attack(ConditionalLearner(), release, targets, prior, Engine(seed=0))
    five = attack(Learner(), release, targets, prior, Engine(seed=0))
    assert six.probability == pytest.approx(five.probability, abs=2e-3)


def test_tiny_pseudo_counts_do_not_underflow() -> None:
    """With beta = .001 shares fall below the smallest number; whoever has the larger logarithm is believed."""
    small = SMALL["the original"]
    prior = Prior.uninformative(small.release, small.asked, alpha=0.001, beta=0.001)
    targets = known_exactly(small.release, {0: np.array([2]), 1: np.array([0])}, small.asked)
    chains = Chains(chains=2, sweeps=50, burn_in=0, most_sweeps=0, every=10)
    belief = attack(ConditionalLearner(), small.release, targets, prior, Engine(seed=0), chains)
    assert np.isfinite(belief.probability).all()
    assert belief.probability[0].max() < 0.9  # no value was seen with age 22: each is as likely as its counts allow


def test_nothing_known_gives_the_values_shares() -> None:
    small = SMALL["horizontal nested"]
    prior = prior_of(small.release, small.asked)
    whole = Known(Regions.intervals(4, [0], [3]), np.zeros(1, dtype=np.int64))
    expected = attack(Learner(), small.release, Targets(small.asked, {}, 1), prior, Engine(seed=0)).probability
    for targets in (Targets(small.asked, {}, 1), Targets(small.asked, {0: whole}, 1)):
        belief = attack(ConditionalLearner(), small.release, targets, prior, Engine(seed=0))
        assert belief.probability == pytest.approx(expected, abs=0.01)

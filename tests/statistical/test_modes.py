"""Posteriors with several modes: no run may be called converged while it is wrong by more than it says."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.special import gammaln

from tests.mode_oracles import by_counts, by_integration, by_kinds, integrated_over, listed
from tests.modes import WITHHELD, Hidden, blind_tables, misled, tables
from thorough import THOROUGH, chosen
from unveil.attackers import Chains, learn
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.learner import Learner
from unveil.attackers.posterior import chain_facts, tempering
from unveil.attackers.posterior.chain import Chain
from unveil.attackers.posterior.flips import Flip, linked_flips
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.hidden_posterior import HiddenPosterior
from unveil.attackers.posterior.integrated import integrated_posterior
from unveil.attackers.posterior.tempering import Likelihood, Tempering, repeated
from unveil.data.belief import Belief, Prior
from unveil.engine import Engine

TABLES = {table.name: table for table in tables()}
FEW = [
    "misled",
    "tilted of two, 60 rows",
    "three modes, 24 rows",
]
SEEDS = chosen(range(10), [0])
QUICK = Chains(burn_in=600, sweeps=600, most_sweeps=600)  # enough to see whether modes are found
CHEAP = {
    t.name: t for t in (*TABLES.values(), *blind_tables()) if t.rows < 300 and min(listed(t), integrated_over(t)) < 2e5
}
CHECKED = [
    "tilted of two, 60 rows",
    "beta 0.01, 40 rows",
    "three modes, 24 rows",
    "three codes, 60 rows",
    "four values, two alike, 104 rows",
    "two sets that flip alone, 120 rows",
]


def run(table: Hidden, seed: int, chains: Chains) -> dict[str, Belief]:
    release = table.release()
    targets = table.targets(release)
    both = {"": (Learner(), targets), "bayesian": (Bayesian(), targets)}
    return learn(release, len(table.codes), table.prior(release), Engine(seed=seed), chains, both)[0]


def errors(belief: Belief, exact: np.ndarray) -> tuple[float, float]:
    """The largest error, and what is stated: the chains' own, or what a mode that none of them met could change."""
    assert belief.chains is not None
    if belief.chains is None:
        return float(np.abs(belief.probability - exact).max()), 1e-9
    facts = belief.diagnostics.facts
    between = float(belief.chains.std(axis=0, ddof=1).max()) / len(belief.chains) ** 0.5
    stated = max(between, float(facts["error_max"]), float(facts["unseen_mode"]))
    return float(np.abs(belief.probability - exact).max()), stated


def test_there_are_forty_tables() -> None:
    assert len(TABLES) >= 40
    assert {40, 3000} <= {t.rows for t in TABLES.values()}


@pytest.mark.parametrize("name", chosen(list(CHEAP), CHECKED))
def test_three_algorithms_agree(name: str) -> None:
    """They share nothing but the table: an array of counts, every division of groups, Gauss's rule."""
    table, (learner, attacker) = CHEAP[name], by_counts(CHEAP[name])
    ways = [(by_kinds, listed(table)), (by_integration, integrated_over(table))]
    tried = [of(table) for of, size in ways if size < 2e5]
    assert tried
    for other, another in tried:
        assert learner == pytest.approx(other, abs=1e-12)
        assert attacker == pytest.approx(another, abs=1e-12)


def test_withheld_values_are_listed_as_worlds_are() -> None:
    """Against every world of three groups, one permutation after the other."""
    groups = ((((0,), (1,)), (0, WITHHELD)), (((0,), (0,), (1,)), (0, 1, WITHHELD)), (((1,), (0,)), (WITHHELD, 1)))
    table = Hidden("three groups", groups, (2,), beta=0.7)
    total, learner, attacker = 0.0, np.zeros((2, 2)), np.zeros((2, 2))
    every = [
        [list(zip(cells, [filled if v == WITHHELD else v for v in order], strict=True)) for filled in range(2)]
        for cells, values in groups
        for order in permutations(values)
    ]
    per_group = [every[:2], every[2:8], every[8:]]
    for world in product(*([one for both in some for one in both] for some in per_group)):
        rows = [row for group in world for row in group]
        held = np.array([sum(v == s for _, v in rows) for s in range(2)])
        coded = np.array([[sum(v == s and cell == (c,) for cell, v in rows) for c in range(2)] for s in range(2)])
        weight = np.exp(gammaln(1 + held).sum() + gammaln(0.7 + coded).sum() - gammaln(1.4 + held).sum())
        total += weight
        attacker += weight * coded.T
        learner += weight * ((1 + held)[:, None] * (0.7 + coded) / (1.4 + held)[:, None]).T
    for found, sums in zip(by_kinds(table), (learner, attacker), strict=True):
        assert found == pytest.approx(sums / sums.sum(axis=1, keepdims=True), abs=1e-12)


@pytest.mark.parametrize("name", chosen(list(TABLES), FEW))
@pytest.mark.parametrize("seed", SEEDS)
def test_no_run_is_called_converged_while_it_is_wrong(name: str, seed: int) -> None:
    table = TABLES[name]
    found = run(table, seed, Chains() if THOROUGH else QUICK)
    for belief, exact in zip(found.values(), by_counts(table), strict=True):
        error, stated = errors(belief, exact)
        assert not belief.diagnostics.converged or error <= 5 * stated, (error, stated)


def test_the_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a ladder chains cool into a mode of 0.24% of the posterior, and agree there, if they are not tried."""
    monkeypatch.setattr(Tempering, "suits", staticmethod(lambda model: False))
    monkeypatch.setattr(HiddenPosterior, "_other_sides", lambda self: [])
    exact = by_counts(misled())[1]
    belief = run(misled(), 0, QUICK)["bayesian"]
    assert belief.diagnostics.converged
    error, stated = errors(belief, exact)
    assert error > 5 * stated


def test_chains_that_nothing_moves_are_tried_from_the_other_side() -> None:
    """A bucket too large to be matched exactly, which says nothing of the others: no temperatures. All chains cool into
    the mode of 0.24%, and no truth is handed; three of three seeds were called converged."""
    table = misled()
    a, b, c, d = (((x, y),) * 35 for x, y in ((0, 0), (1, 1), (1, 0), (0, 1)))
    large = (*a, *b, *c, *d), (0,) * 70 + (1,) * 70
    beside = Hidden("misled beside a bucket of 140", (*table.groups, large), table.codes)
    for seed in chosen([0, 1], [0]):
        found = run(beside, seed, QUICK)["bayesian"]
        assert "by swaps" in found.diagnostics.method
        assert found.probability[0, 0] < 0.3  # of a kind that is a case for 88%
        assert not found.diagnostics.converged
        assert "a chain from another start fits as well" in str(found.diagnostics.facts["alarm"])


def test_the_other_side_of_a_single_mode_is_no_alarm() -> None:
    """Large buckets that leave no doubt which way round."""
    cells = ((0, 0),) * 50 + ((0, 1),) * 20 + ((1, 0),) * 40 + ((1, 1),) * 30
    groups = [(cells, (0,) * 70 + (1,) * 70)] * 2 + [(((0, 0), (0, 0), (1, 1)), (0, 0, 1))] * 40
    found = run(Hidden("large buckets, one mode", tuple(groups), (2, 2)), 0, QUICK)["bayesian"]
    assert "by swaps" in found.diagnostics.method
    assert found.diagnostics.converged


def test_chains_end_right_whatever_the_seed() -> None:
    exact = by_counts(misled())[1]
    assert exact[0, 0] == pytest.approx(0.8808, abs=0.06)
    for seed in chosen([1, 2], [1]):
        belief = run(misled(), seed, QUICK)["bayesian"]
        assert np.abs(belief.probability - exact).max() < 0.02


def test_a_start_at_the_truth_ends_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    """With neither a ladder nor values that trade places chains agree on a wrong mode, until one starts elsewhere."""
    monkeypatch.setattr(tempering, "MOST_NUMBERS", 0)
    monkeypatch.setattr(Tempering, "_trade", lambda self, chain, exponent, fit, turn: fit)
    monkeypatch.setattr(HiddenPosterior, "_other_sides", lambda self: [])
    table = misled()
    release = table.release()
    targets = table.targets(release)
    ask = release, len(table.codes), table.prior(release), Engine(seed=0), QUICK, {"": (Bayesian(), targets)}
    truth = {a: np.array([[0.9, 0.1], [0.1, 0.9]]) for a in range(2)}
    mirrored = {a: shares[::-1].copy() for a, shares in truth.items()}  # where the chains are: nothing new
    found = [learn(*ask, None, None, starts)[0][""] for starts in ((), (mirrored,), (mirrored, truth))]
    assert [belief.diagnostics.converged for belief in found] == [True, True, False]
    assert "a chain from another start fits as well" in str(found[2].diagnostics.facts["alarm"])
    assert all((belief.probability == found[0].probability).all() for belief in found)  # the start is never believed
    assert np.abs(found[0].probability - by_counts(table)[1]).max() > 0.5


@pytest.mark.parametrize("name", ["misled", "three modes, 24 rows", "tilted of two, 60 rows"])
def test_likelihoods_sum_over_every_matching(name: str) -> None:
    """Against the sum over permutations of one group after the other; tempered: of products raised to a power."""
    table = TABLES[name]
    release = table.release()
    model = HiddenModel.of(release, len(table.codes), table.prior(release))
    chain = Chain.start(model, Engine(seed=5))
    for exponent in (1.0, 0.4, 0.0):
        expected = 0.0
        for (cells, values), times in table.kinds().items():
            ways = [
                np.prod(
                    [chain.theta[a][s, c] for cell, s in zip(cells, order, strict=True) for a, c in enumerate(cell)]
                )
                for order in permutations(values)
            ]
            expected += times * np.log(np.sum(np.array(ways) ** exponent))
        assert Likelihood.of(model)(chain.drawn, chain.pi, exponent) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["misled", "three codes, 60 rows"])
def test_groups_of_one_kind_are_matched_as_if_each_were_alone(name: str) -> None:
    """Means of counts over many sweeps at the same parameters."""
    from unveil.attackers.posterior.chain import _match

    table = TABLES[name]
    release = table.release()
    model = HiddenModel.of(release, len(table.codes), table.prior(release))
    fast, chain = repeated(model), Chain.start(model, Engine(seed=5))
    means = []
    for one in (model, fast):
        (block,) = one.hidden
        tallies = [
            _match(block, one.weights(block, chain.theta, chain.pi, chain.current), np.uint64(k), chain.partners[0],
                   np.empty(0))
            for k in range(600)
        ]  # fmt: skip
        assert {int(t.sum()) for t in tallies} == {int(tallies[0].sum())}
        means.append((np.mean(tallies, axis=0), np.std(tallies, axis=0) / 600**0.5))
    (first, error), (second, _) = means
    assert np.abs(first - second).max() <= 5 * (1.42 * error.max() + 1e-9)


def test_readings_say_what_each_would_say() -> None:
    """Case and control can trade places: half of the posterior each, and each reading sure of the opposite."""
    table = TABLES["case-control of two, 344 rows, 0.9"]
    release = table.release()
    targets = table.targets(release)
    both = {"": (Bayesian(), targets)}
    found, learned = learn(release, len(table.codes), table.prior(release), Engine(seed=1), QUICK, both)
    first, second = learned.readings(targets)  # type: ignore[attr-defined]
    assert first.weight == pytest.approx(0.5, abs=0.1)
    assert first.probability == pytest.approx(second.probability[:, ::-1], abs=0.05)
    said = str(found[""].diagnostics.facts["readings"])
    assert said.startswith("two readings of the release fit, one with 5")
    assert "different values for 100%" in said


def test_three_readings_are_three() -> None:
    """Which of three values is the odd one: three modes, of which no single cut parts the narrow from the wide."""
    table = next(one for one in blind_tables() if one.name == "odd one of three, 180 rows")
    release = table.release()
    both = {"": (Bayesian(), table.targets(release))}
    found, learned = learn(release, len(table.codes), table.prior(release), Engine(seed=1), QUICK, both)
    readings = learned.readings(both[""][1])  # type: ignore[attr-defined]
    assert [one.weight for one in readings] == pytest.approx([1 / 3] * 3, abs=0.12)
    assert str(found[""].diagnostics.facts["readings"]).startswith("three readings of the release fit, one with 3")
    assert len({tuple(one.probability.argmax(axis=1)) for one in readings}) == 3


@pytest.mark.parametrize(("middles", "parts"), [((0,), 1), ((-4, 4), 2), ((-4, 0, 4), 3), ((-9, -3, 3, 9), 4)])
def test_points_part_where_none_lie(middles: tuple[int, ...], parts: int) -> None:
    """Modes in a row: neither gap alone leaves parts that are narrow beside it."""
    random, found = np.random.default_rng(2), 0
    for _ in range(20):
        points = np.concatenate([random.normal((at, 0, 0), 0.5, (100, 3)) for at in middles])
        found += len(chain_facts._parts(points, np.arange(len(points)), len(points) // 50)) == parts
    assert found == 20


def test_values_that_never_trade_places_are_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case and control can trade places at no cost: chains that all sit on one side are called out by themselves."""
    monkeypatch.setattr(tempering, "MOST_NUMBERS", 0)
    table = TABLES["case-control of two, 160 rows, 0.9"]
    calm = run(table, 1, QUICK)["bayesian"].diagnostics
    assert "alarm" not in calm.facts
    monkeypatch.setattr(Tempering, "_trade", lambda self, chain, exponent, fit, turn: fit)
    alarmed = run(table, 1, QUICK)["bayesian"].diagnostics
    assert not alarmed.converged
    assert "could trade places at no cost" in str(alarmed.facts["alarm"]) or alarmed.modes


def test_a_state_and_its_mirror_images_are_averaged_without_bias() -> None:
    """With tiny pseudo-counts a mean in place of a parameter would be seen: it was off by .027."""
    table = TABLES["beta 0.1, 40 rows"]
    for belief, exact in zip(run(table, 3, QUICK).values(), by_counts(table), strict=True):
        error, stated = errors(belief, exact)
        assert error <= 5 * stated


INTEGRATED = [
    "case-control, 40 rows, 0.8",
    "tilted by 0.3, 240 rows",
    "beta 0.5, 40 rows",
    "near-deterministic 1.0, 60 rows",
]


@pytest.mark.parametrize("name", chosen(INTEGRATED, INTEGRATED[1:3]))
def test_two_parameters_are_integrated(name: str) -> None:
    table = TABLES[name]
    for belief, exact in zip(run(table, 0, Chains()).values(), by_counts(table), strict=True):
        assert belief.exact
        assert belief.diagnostics.method == "integrated"
        assert belief.probability == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("name", ["beta 0.1, 40 rows", "three values, 60 rows", "three codes, 60 rows", "misled"])
def test_more_parameters_and_poles_are_sampled(name: str) -> None:
    table = TABLES[name]
    release = table.release()
    model = HiddenModel.of(release, len(table.codes), table.prior(release))
    assert integrated_posterior(model, Engine(seed=0), []) is None


def test_sets_of_buckets_that_flip_alone_are_found() -> None:
    """Codes 0 and 1 are never shown beside 2 and 3: two mirrors. Where every bucket shows both codes there is one."""
    found = {}
    for table in blind_tables():
        release = table.release()
        model = HiddenModel.of(release, len(table.codes), table.prior(release))
        flips = linked_flips(model, Likelihood.of(model).kinds)
        found[table.name] = [[codes.tolist() for _, codes in flip.codes] for flip in flips]
    assert sorted(found["two sets that flip alone, 120 rows"]) == [[[0, 1]], [[2, 3]]]
    assert sorted(found["three sets that flip alone, 36 rows"]) == [[[0, 1]], [[2, 3]], [[4, 5]]]
    assert found["groups of four, 2900 rows"] == []


def test_a_flip_keeps_totals_and_weighs_the_prior() -> None:
    """Twice is nothing; the prior's ratio is that of two Dirichlet densities of the shares within the codes."""
    from scipy.stats import dirichlet

    table = next(t for t in blind_tables() if t.name.startswith("two sets"))
    release = table.release()
    prior = Prior(np.ones(2), {0: np.array([[0.5, 2.0, 1.0, 3.0], [1.5, 0.7, 1.0, 1.0]])})
    model = HiddenModel.of(release, 1, prior)
    drawn = np.random.default_rng(2).dirichlet(np.ones(4), size=2).ravel()
    flip = Flip(((0, np.array([0, 1])),))
    after, ratio = flip.made(model.layout, drawn, 0, 1)
    old, new = drawn.reshape(2, 4), after.reshape(2, 4)
    assert new[:, 2:] == pytest.approx(old[:, 2:])
    assert new[:, :2].sum(axis=1) == pytest.approx(old[:, :2].sum(axis=1))
    within = old[:, :2] / old[:, :2].sum(axis=1, keepdims=True)
    beta = prior.beta[0][:, :2]
    density = [
        sum(dirichlet.logpdf(w, b) for w, b in zip(order, beta, strict=True)) for order in (within[::-1], within)
    ]
    assert ratio == pytest.approx(density[0] - density[1])
    again, back = flip.made(model.layout, after, 0, 1)
    assert again == pytest.approx(drawn)
    assert back == pytest.approx(-ratio)


def test_a_start_that_finds_nothing_new_raises_no_alarm() -> None:
    """Of chains that are right, from the truth and from its mirror image."""
    table = TABLES["three codes, 60 rows"]
    release = table.release()
    ask = release, len(table.codes), table.prior(release), Engine(seed=2), QUICK
    truth = {0: np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])}
    mirrored = {0: truth[0][::-1].copy()}
    found = learn(*ask, {"": (Bayesian(), table.targets(release))}, None, None, (truth, mirrored))[0][""]
    assert "alarm" not in found.diagnostics.facts

"""Chains that run on, stop, go on where they stopped, disagree; and the tests single chains are held to."""

import stat
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "statistical"))

from test_attackers_exact import SMALL, prior_of, targets_of

from thorough import chosen
from unveil import risk
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.learner import Learner
from unveil.attackers.posterior import hidden
from unveil.attackers.posterior.averages import Averages, belief_of
from unveil.attackers.posterior.chain import Chain, Draw
from unveil.attackers.posterior.chain_facts import log_fit
from unveil.attackers.posterior.contract import Chains, learn, posterior
from unveil.attackers.posterior.convergence import diagnostics, geweke, modes_of, weiss
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.hidden_posterior import HiddenPosterior
from unveil.data.belief import Belief, Known, Prior, Targets, Threat
from unveil.engine import Engine
from unveil.errors import OutputError, Stopped, UsageError
from unveil.kernels import matching

SAMPLED = ["vertical", "horizontal overlapping, not nested", "disease suppressed or widened, three blocks"]


def asked(name: str, engine: Engine, chains: Chains) -> dict[str, Belief]:
    small = SMALL[name]
    targets = targets_of(small, small.targets[0], False)
    readers = {"": (Learner(), targets), "bayesian": (Bayesian(), targets)}
    return learn(small.release, small.asked, prior_of(small.release, small.asked), engine, chains, readers)[0]


@pytest.mark.parametrize("name", SAMPLED)
def test_chains_run_on_until_they_are_precise(name: str) -> None:
    short = Chains(sweeps=50, burn_in=50, most_sweeps=0, every=10)
    first = asked(name, Engine(seed=1), short)["bayesian"].diagnostics
    error = float(first.facts["error_max"])
    found = asked(name, Engine(seed=1), replace(short, most_sweeps=50_000, precision=error / 3))["bayesian"].diagnostics
    assert not first.precise or error <= short.precision
    assert found.precise
    assert float(found.facts["error_max"]) <= error / 3
    assert float(found.facts["sweeps"]) > 50


def test_a_round_is_as_long_as_the_error_asks_for() -> None:
    """The error falls with the root of what is drawn: at three times the precision nine times as much is wanted."""
    random = np.random.default_rng(5)
    batches = random.dirichlet([200.0, 300.0], size=(50, 4, 30))
    found = diagnostics("sampled", batches, batches.mean(axis=0), 1.0)
    error = float(found.facts["error_max"])  # of few beliefs all must be precise
    assert diagnostics("sampled", batches, batches.mean(axis=0), error / 3).wanted == pytest.approx(9)
    small = SMALL["vertical"]
    settings = Chains(sweeps=60, burn_in=50, most_sweeps=100, every=10)
    learned = posterior(small.release, small.asked, prior_of(small.release, small.asked), Engine(seed=3), settings)
    assert isinstance(learned, HiddenPosterior)
    assert learned.run_on(agree=True, times=1.5)
    assert [chain.sweep for chain in learned.chains] == [140] * 4
    assert learned.run_on(agree=True, times=1.5)  # as far as the budget goes
    assert [chain.sweep for chain in learned.chains] == [150] * 4
    assert not learned.run_on(agree=True, times=1.5)


def test_trying_other_starts_ends_when_it_is_asked_to() -> None:
    """With many values it takes a minute: whoever presses Ctrl-C does not wait, and nobody says that all was tried."""
    small = SMALL["vertical"]
    told: list[str] = []
    engine = Engine(seed=3, progress=lambda task, done, total: told.append(task))
    settings = Chains(sweeps=60, burn_in=0, most_sweeps=0, every=10)
    learned = posterior(small.release, small.asked, prior_of(small.release, small.asked), engine, settings)
    assert isinstance(learned, HiddenPosterior)
    assert "stopped" not in learned.alarm(())
    assert told[-1] == "trying other starts"
    engine.stop.set()
    assert "stopped before chains were tried" in learned.alarm(())


@pytest.mark.parametrize("name", SAMPLED)
def test_a_budget_that_ends_is_said(name: str) -> None:
    found = asked(name, Engine(seed=1), Chains(sweeps=50, burn_in=50, most_sweeps=200, precision=1e-6, every=10))
    for belief in found.values():
        assert belief.diagnostics.converged
        assert not belief.diagnostics.precise
        assert belief.diagnostics.facts["sweeps"] == 200


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("stop", chosen(["3", "40", "130"], ["3", "130"]))
def test_a_run_that_was_stopped_goes_on_bit_for_bit(name: str, stop: str, tmp_path: Path) -> None:
    stop_at = int(stop)
    chains = Chains(sweeps=100, burn_in=50, most_sweeps=400, precision=1e-6, every=10)
    whole = asked(name, Engine(seed=4), chains)
    engine = Engine(seed=4, checkpoints=tmp_path / "saved", workers=2)
    reports = []

    def stop(task: str, done: int, total: int) -> None:
        reports.append(done)
        if len(reports) == stop_at:
            engine.stop.set()

    try:
        stopped = asked(name, replace(engine, progress=stop), chains)
        assert not stopped["bayesian"].diagnostics.precise
    except Stopped:
        pass  # before anything was reached
    (file,) = (tmp_path / "saved").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = asked(name, Engine(seed=4, checkpoints=tmp_path / "saved"), chains)
    for reader in whole:
        assert np.array_equal(whole[reader].chains, again[reader].chains)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["three blocks", "sliced with generalised cells", SAMPLED[2]])
def test_a_later_question_is_answered_as_one_that_was_asked_from_the_start(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of kept states nothing is lost that a question could be about, where only shares of possible codes are kept."""
    monkeypatch.setattr(hidden, "WORTH_LEAVING", 0)
    monkeypatch.setattr(hidden, "FEW_POSSIBLE", 2.0)
    small = SMALL[name]
    prior, settings = prior_of(small.release, small.asked), Chains(sweeps=60, burn_in=0, every=1, most_sweeps=0)
    others = [(i, a) for i, a in enumerate(small.release.attributes) if i != small.asked]
    each = [Targets(small.asked, {i: Known.exactly(a, np.arange(a.codes))}, a.codes) for i, a in others]
    questions = [("joint", targets) for targets in each]
    found = posterior(small.release, small.asked, prior, Engine(seed=3), settings, questions=questions)
    assert isinstance(found, HiddenPosterior)
    assert (found.model.layout.possible is None) == bool(len(found.model.withheld.rows))
    for targets in each:
        at_once = found.joint(targets)
        assert at_once.number is not None
        np.testing.assert_allclose(at_once.mean[:, at_once.number], found.joint_mean(replace(targets)), rtol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["vertical", "disease suppressed or widened, three blocks"])
def test_every_kept_state_is_saved(name: str, sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks later asks these: another run that goes on from what was saved has them all, in order."""
    small = SMALL[name]
    if sparse:
        monkeypatch.setattr(hidden, "WORTH_LEAVING", 0)
        monkeypatch.setattr(hidden, "FEW_POSSIBLE", 2.0)
    prior, settings = prior_of(small.release, small.asked), Chains(sweeps=50, burn_in=10, every=5, most_sweeps=0)
    one, other = (posterior(small.release, small.asked, prior, Engine(seed=seed), settings) for seed in (3, 4))
    assert isinstance(one, HiddenPosterior)
    assert isinstance(other, HiddenPosterior)
    other._restore(one._arrays())
    for mine, theirs in zip(one.kept, other.kept, strict=True):
        assert (len(mine.states), mine.seen, mine.every) == (len(theirs.states), theirs.seen, theirs.every)
        assert len(mine.states) > 1
        for before, after in zip(mine.states, theirs.states, strict=True):
            assert before.key == after.key
            for part in ("pi", "pi_mean", "current"):
                assert np.array_equal(getattr(before, part), getattr(after, part))
            assert all(np.array_equal(before.theta[i], after.theta[i]) for i in before.theta)
            assert all(np.array_equal(before.mean[i], after.mean[i]) for i in before.mean)
            assert all(map(np.array_equal, before.partner, after.partner))


def test_a_checkpoint_goes_when_all_is_done_and_stays_when_there_is_more(tmp_path: Path) -> None:
    engine = Engine(seed=4, checkpoints=tmp_path)
    asked("vertical", engine, Chains(sweeps=500, burn_in=100, most_sweeps=0, precision=1e-6, every=10))
    assert len(list(tmp_path.iterdir())) == 1
    asked("vertical", engine, Chains(sweeps=500, burn_in=100, most_sweeps=0, precision=0.9, every=10))  # the same file
    assert list(tmp_path.iterdir()) == []


def test_another_question_does_not_go_on_from_it(tmp_path: Path) -> None:
    engine = Engine(seed=4, checkpoints=tmp_path)
    chains = Chains(sweeps=60, burn_in=20, most_sweeps=0, precision=1e-6, every=10)
    asked("vertical", engine, chains)
    asked("vertical", replace(engine, seed=5), chains)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_is_no_checkpoint_is_an_error(tmp_path: Path) -> None:
    engine = Engine(seed=4, checkpoints=tmp_path)
    chains = Chains(sweeps=60, burn_in=20, most_sweeps=0, precision=1e-6, every=10)
    asked("vertical", engine, chains)
    (file,) = tmp_path.iterdir()
    file.write_text("not an archive")
    with pytest.raises(OutputError, match="not a checkpoint"):
        asked("vertical", engine, chains)


@pytest.mark.parametrize("options", [{"chains": 1}, {"sweeps": 10}, {"precision": 0.0}, {"burn_in": -1}])
def test_chains_that_make_no_sense(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Chains(**options)  # type: ignore[arg-type]


# Chains that disagree


def test_chains_that_disagree_go_on_and_it_is_counted(tmp_path: Path) -> None:
    """No chain starts again, nothing that was drawn is forgotten, and a saved run still knows."""
    small = SMALL["vertical"]
    prior = prior_of(small.release, small.asked)
    saved = Engine(seed=3, checkpoints=tmp_path)
    settings = Chains(sweeps=60, burn_in=50, most_sweeps=200)
    targets = targets_of(small, small.targets[0], False)
    ask = [("support", targets)]
    learned = posterior(small.release, small.asked, prior, saved, settings, questions=ask)
    assert isinstance(learned, HiddenPosterior)
    assert learned.run_on(agree=False)
    assert [chain.sweep for chain in learned.chains] == [170] * 4
    seen = {running.states for running in learned.questions[0].running}  # each state with what trades make of it
    assert len(seen) == 1
    assert seen.pop() % 120 == 0
    again = posterior(small.release, small.asked, prior, saved, settings, questions=ask)  # from where it was saved
    assert isinstance(again, HiddenPosterior)
    assert again.facts()["disagreed"] == learned.facts()["disagreed"] == 1
    assert np.array_equal(again.chains[1].theta[0], learned.chains[1].theta[0])
    assert again.run_on(agree=True)  # as far as the budget goes
    assert [chain.sweep for chain in again.chains] == [250] * 4
    assert not again.run_on(agree=False)
    assert again.facts()["disagreed"] == 2


def two_modes() -> Averages:
    """Two chains believe the first value of 20 people, one and a half of the second; batches that never move."""
    first = np.array([0.9, 0.9, 0.2, 0.2])
    belief = np.repeat(np.stack([first, 1 - first], axis=1)[:, None], 20, axis=1)  # (chains, people, values)
    return Averages(belief, np.repeat(belief[None], 50, axis=0))


def test_chains_that_disagree_are_not_pooled() -> None:
    found = belief_of(two_modes(), "sampled", Threat())
    assert not found.diagnostics.converged
    assert not found.diagnostics.precise
    assert found.diagnostics.modes == ((0, 1), (2, 3))
    assert found.probability[0] == pytest.approx([0.9, 0.1])  # a mode's, never .55
    measured = risk.absolute_error(found, np.zeros(20, dtype=np.int64))
    assert (measured.value, measured.low, measured.high) == pytest.approx((0.2, 0.2, 1.6))
    assert found.of_chains((2, 3)).probability[0] == pytest.approx([0.2, 0.8])


def test_modes_are_companies_of_chains_the_largest_first() -> None:
    at = np.array([0.1, 0.5, 0.12, 0.9, 0.14])
    chains = np.stack([at, 1 - at], axis=1)[:, None]
    assert modes_of(chains) == ((0, 2, 4), (1,), (3,))


# Single chains


def test_geweke_tells_a_drift_from_noise() -> None:
    random = np.random.default_rng(1)
    still = random.normal(size=(500, 2000))
    assert (np.abs(geweke(still)) > 2).mean() == pytest.approx(0.05, abs=0.02)
    assert (np.abs(geweke(still + np.linspace(0, 1, 500)[:, None])) > 2).mean() > 0.9
    assert geweke(np.ones((100, 1)))[0] == 0


def sticky(random: np.random.Generator, draws: int, rows: int, stay: float) -> np.ndarray:
    """(draws, rows) states 0, 1, 2 that stay with this probability and else are drawn evenly."""
    found = np.empty((draws, rows), dtype=np.int64)
    found[0] = random.integers(0, 3, rows)
    for draw in range(1, draws):
        fresh = random.integers(0, 3, rows)
        found[draw] = np.where(random.random(rows) < stay, found[draw - 1], fresh)
    return found


def test_weiss_allows_for_autocorrelation_and_sees_a_change() -> None:
    random = np.random.default_rng(2)
    for stay in (0.0, 0.6):
        p = weiss(sticky(random, 1000, 1500, stay), 3)
        assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.03)
    changed = sticky(random, 1000, 200, 0.0)
    changed[500:][changed[500:] == 2] = 0
    assert (weiss(changed, 3) < 0.05).mean() > 0.95
    assert weiss(np.zeros((100, 1), dtype=np.int64), 3)[0] == 1


def test_the_fit_of_a_large_group_is_right_within_its_error() -> None:
    """14 different rows in one bucket: by swaps along the path, and by dynamic programming over 2^14 states."""
    from unveil.data.attribute import Attribute, Kind, Role
    from unveil.data.regions import Regions
    from unveil.data.release import BlockRows, build_release

    n = 14
    names = tuple(f"v{i}" for i in range(n))
    attributes = (
        Attribute("kind", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, names),
        Attribute("ill", Role.SENSITIVE, Kind.CATEGORICAL, names),
    )
    codes, group = np.arange(n), np.zeros(n, dtype=np.int64)
    parts = [BlockRows((0,), group, (codes,)), BlockRows((1,), group, (codes,))]
    release = build_release(attributes, [Regions.singles(n)] * 2, parts)[0]
    model = HiddenModel.of(release, 1, Prior.uninformative(release, 1))
    (block,) = model.hidden
    assert not matching.exact(block.groups).any()
    theta = {0: np.random.default_rng(3).dirichlet(np.full(n, 0.5), size=n)}
    pi = np.full(n, 1 / n)
    shares = model.layout.split(model.layout.join(theta))
    draw = Draw(shares, shares, pi, pi, (), np.uint64(1), np.empty(0, np.int64))
    found, error = log_fit(model, draw, Engine(seed=6))
    log_weight = np.log(theta[0].T)
    start = np.array([0, n])
    ones = np.ones(n, np.int32)
    exact = np.empty(1)
    groups = matching.lay_out(start, np.arange(n), ones, start, np.arange(n), ones, states=1 << 15)
    matching.log_permanent(groups, 0, 1, log_weight, exact)
    expected = float(exact[0]) + n * np.log(1 / n)
    assert 0 < error < 0.5
    assert abs(found - expected) < 5 * error
    assert abs(found + 5 - expected) > 5 * error


def test_a_chain_says_where_it_is_at_every_sweep() -> None:
    small = SMALL["vertical"]
    model = HiddenModel.of(small.release, small.asked, prior_of(small.release, small.asked))
    seen = list(Chain.start(model, Engine(seed=0)).run_to(model, 30, burn_in=10, anneal=True, every=4))
    assert [i + 1 for i, draw in enumerate(seen) if draw is not None] == [14, 18, 22, 26, 30]

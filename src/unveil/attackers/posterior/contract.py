"""The contract of attackers, and the posterior they share: what a release teaches about the population."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import Averages
from unveil.attackers.posterior.checkpoint import Checkpoint
from unveil.attackers.posterior.convergence import Chains
from unveil.attackers.posterior.course import Course
from unveil.attackers.posterior.draws import LinkedDraws
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.hidden_posterior import HiddenPosterior
from unveil.attackers.posterior.integrated import integrated_posterior
from unveil.attackers.posterior.linked import attribute_posteriors, linked_counts
from unveil.attackers.posterior.linked_posterior import LinkedPosterior
from unveil.attackers.posterior.questions import NotDrawn
from unveil.data.belief import Belief, Prior, Targets
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import NotApplicable, Stopped, UsageError

MARGIN = 1.05  # more than the error of a round asks for: it is itself an estimate
LEAST_MORE, MOST_MORE = 1.2, 8.0  # times what was drawn, in one round
DEAR = 10_000_000  # rows by attributes by values: a reader with a model of its own costs minutes
LEFT_OUT = "a limit is surely exceeded without it, and it would take minutes; --precision 0.003 asks it"
ENDED = "ended"  # a fact of beliefs whose chains did not go on, as what was drawn decides

__all__ = ["ENDED", "Attacker", "Chains", "Posterior", "attack", "check_prior", "learn", "posterior"]


class Posterior(Protocol):
    """The posterior of the population's parameters given a release, for one sensitive attribute."""

    @property
    def release(self) -> Release:
        """The release it was learned from."""

    @property
    def prior(self) -> Prior:
        """What was held before."""

    @property
    def engine(self) -> Engine:
        """Seed, workers and stop flag, for whoever draws something of their own."""

    @property
    def reusable(self) -> bool:
        """Whether a later question is answered as well as one that was asked from the start."""

    def joint(self, targets: Targets) -> Averages:
        """p_L(s, what is known | t*)."""

    def joint_mean(self, targets: Targets) -> NDArray[np.float64]:
        """(chains, targets, values) the same, for whom only the means matter."""

    def support(self, targets: Targets) -> Averages:
        """Expected rows that hold s and fit what is known."""

    def conditional(self, targets: Targets) -> Averages:
        """p(s | what is known, the parameters), averaged last: eq. 6."""

    def method(self) -> str:
        """How it was reached."""

    def run_on(self, *, agree: bool, times: float = 2.0) -> bool:
        """Draw until there is about this many times as much; False if it is exact or the budget has ended.

        `agree`: whether the chains did so far; where they did not, that is counted. Nothing drawn is forgotten.
        """

    def facts(self) -> dict[str, float | str]:
        """What else there is to say of the chains."""

    def alarm(self, starts: Sequence[Mapping[int, NDArray[np.float64]]] | None = None) -> str:
        """Why chains that agree may still be wrong; empty if nothing speaks for it.

        `starts`: shares (values, codes) by attribute from which the sampler is tried; they are never believed. None:
        only what is known without trying.
        """

    def finish(self, *, done: bool) -> None:
        """All is said: a saved state is removed if it is `done`, and kept if there is more to draw."""


class Attacker(Protocol):
    """The one contract of the family: which averages over the posterior are needed, and what they make of them.

    Everyone who is asked about the same release in one run is handed the same posterior: chains run once, and go on
    until every belief is precise or the budget ends, so `believe` may be called several times.
    """

    def asks(self) -> tuple[str, ...]:
        """Which of "joint", "support" and "conditional" are averaged over every state; () learns nothing."""

    def believe(self, posterior: "Posterior", targets: Targets) -> Belief:
        """A distribution over the sensitive values for every target."""


@dataclass(frozen=True, slots=True)
class Unread(NotDrawn):
    """A posterior for attackers who ask for nothing: the release and the prior, and no chains."""

    release: Release
    prior: Prior
    engine: Engine
    reusable: bool = False

    def joint(self, targets: Targets) -> Averages:
        """See Posterior."""
        raise UsageError("an attacker must name in asks() what it takes from the posterior")

    support = conditional = joint

    def joint_mean(self, targets: Targets) -> NDArray[np.float64]:
        """See Posterior."""
        return self.joint(targets).mean

    def method(self) -> str:
        """See Posterior."""
        return "exact"


def check_prior(release: Release, asked: int, prior: Prior) -> None:
    """A prior must speak of this release's domains."""
    if not 0 <= asked < len(release.attributes):
        raise UsageError("the attribute asked about is not in the release")
    others = [i for i in range(len(release.attributes)) if i != asked]
    if len(prior.alpha) != release.attributes[asked].codes or any(
        i not in prior.beta or prior.beta[i].shape[1] != release.attributes[i].codes for i in others
    ):
        raise UsageError("the prior does not fit the release's domains")


def posterior(
    release: Release,
    asked: int,
    prior: Prior,
    engine: Engine,
    chains: Chains,
    *,
    questions: Sequence[tuple[str, Targets]] = (),
    tree: bool = True,
) -> Posterior:
    """Learn from a release: exactly where the Dirichlet tree applies, over a grid where there are two parameters, else
    by one round of chains.

    `questions` (joint or support, targets) are averaged over every state; others can be asked later, of those kept.
    """
    check_prior(release, asked, prior)
    engine = engine.named("posterior")
    counts = linked_counts(release, asked)
    if counts is not None:
        attributes = attribute_posteriors(release, counts, prior, engine, chains=chains.chains, tree=tree)
        block = release.block_of(asked)
        value = release.regions[asked].single()[block.region(asked)]
        held = np.bincount(value, weights=block.count, minlength=release.attributes[asked].codes).astype(np.int64)
        share = (prior.alpha + held) / (prior.alpha.sum() + held.sum())
        saved = Checkpoint.of(engine, release, asked, prior, chains, ())
        draws = LinkedDraws(release, asked, counts, held, prior, engine, chains.chains, chains.sweeps)
        linked = LinkedPosterior(release, asked, prior, share, attributes, engine, chains, saved, draws)
        linked.run()
        return linked
    saved = Checkpoint.of(engine, release, asked, prior, chains, questions)
    model = HiddenModel.of(release, asked, prior)
    integrated = integrated_posterior(model, engine, questions)
    if integrated is not None:
        return integrated
    hidden = HiddenPosterior.of(model, engine, chains, questions, saved)
    hidden.run()
    return hidden


def attack(
    attacker: Attacker,
    release: Release,
    targets: Targets,
    prior: Prior | None = None,
    engine: Engine | None = None,
    chains: Chains | None = None,
) -> Belief:
    """What one attacker believes of the targets. Several at once share what they learn: see `learn`."""
    held = Prior.uninformative(release, targets.asked) if prior is None else prior
    engine, chains = (Engine(seed=0) if engine is None else engine), (Chains() if chains is None else chains)
    return learn(release, targets.asked, held, engine, chains, {"": (attacker, targets)})[0][""]


def learn(
    release: Release,
    asked: int,
    prior: Prior,
    engine: Engine,
    chains: Chains,
    attackers: Mapping[str, tuple[Attacker, Targets]],
    refused: dict[str, str] | None = None,
    learned: Posterior | None = None,
    starts: Sequence[Mapping[int, NDArray[np.float64]]] = (),
    *,
    lenient: bool = True,
    enough: Callable[[Mapping[str, Belief]], bool] | None = None,
) -> tuple[dict[str, Belief], Posterior]:
    """What attackers of one release believe, by name: chains run on until all are precise or the budget ends.

    The next round is as long as the error of this one asks for: it falls with the root of what is drawn. Chains that
    disagree go on, too, and nothing of what they drew is forgotten.
    With `refused` an attacker that does not apply (if `lenient`) or was stopped before it had learned anything is named
    there with the reason; else that is an error. `learned`:
    what was learned from this release for this attribute before, which goes on from there if it is reusable. `starts`:
    shares by attribute from which the sampler is tried, such as an audit's original: if a chain from there fits as well
    and believes something else, nothing is called converged. `enough`: whether what is believed after a round decides,
    so that nobody needs it more precisely, and dear readers are not asked at all.
    """
    asking = dict(attackers)
    questions = list(
        {(kind, id(targets)): (kind, targets) for one, targets in asking.values() for kind in one.asks()}.values()
    )
    check_prior(release, asked, prior)
    course = Course(engine, [not one.asks() for one, _ in asking.values()], decides=enough is not None)
    unread = Unread(release, prior, course.engine)  # for whoever asks for nothing
    if not questions:
        learned = unread
    elif learned is None or not learned.reusable:
        learned = posterior(release, asked, prior, course.engine, chains, questions=questions)
    dear, idle = _dear(release, asked, asking), None
    found: dict[str, Belief] = {}
    while True:
        for name, (one, targets) in sorted(asking.items(), key=lambda item: item[0] in dear):
            if name in found and not one.asks():
                continue
            if name in dear and refused is not None and enough is not None:
                idle = enough(found) if idle is None else idle
                if idle:
                    refused[name] = LEFT_OUT
                    del asking[name]
                    continue
            course.turn(alone=not one.asks())
            try:
                found[name] = one.believe(learned if one.asks() else unread, targets)
            except (NotApplicable, Stopped) as reason:  # stopped: what the others said is kept
                if refused is None or name == "" or not (lenient or isinstance(reason, Stopped)):
                    raise
                refused[name] = str(reason)
                del asking[name]
        judged = [found[name].diagnostics for name, (one, _) in asking.items() if one.asks()]
        agree = all(one.converged for one in judged)
        done = agree and all(one.precise for one in judged) and not learned.alarm()
        wanted = max((one.wanted for one in judged), default=1.0)
        times = float(np.clip(MARGIN * wanted, LEAST_MORE, MOST_MORE))
        course.round(times / max(MARGIN * wanted, times))
        ended = not done and enough is not None and enough(found)
        if done or ended or not learned.run_on(agree=agree, times=times):
            break
    learned.finish(done=done or ended)
    course.end()
    facts, alarm = learned.facts(), learned.alarm(starts)
    for name, (one, _) in asking.items():
        belief = found[name]
        if one.asks() and facts:
            judgement = replace(belief.diagnostics, facts={**belief.diagnostics.facts, **facts})
            if ended and not judgement.precise:
                judgement = replace(judgement, facts={**judgement.facts, ENDED: "a limit is surely exceeded"})
            if alarm:
                more = {**judgement.facts, "alarm": alarm}
                judgement = replace(judgement, facts=more, converged=False, precise=False)
            found[name] = replace(belief, diagnostics=judgement)
    return {name: found[name] for name in attackers if name in found}, learned


def _dear(release: Release, asked: int, asking: Mapping[str, tuple[Attacker, Targets]]) -> set[str]:
    """Readers with a model of their own, where that is large."""
    if release.rows * len(release.attributes) * release.attributes[asked].codes < DEAR:
        return set()
    return {name for name, (one, _) in asking.items() if getattr(one, "own_model", False)}

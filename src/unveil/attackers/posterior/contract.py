"""What a release teaches about the population: the one object that learner and attacker share."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import Averages
from unveil.attackers.posterior.chains import Chains
from unveil.attackers.posterior.draws import LinkedDraws
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.hidden_posterior import HiddenPosterior
from unveil.attackers.posterior.linked import attribute_posteriors, linked_counts
from unveil.attackers.posterior.linked_posterior import LinkedPosterior
from unveil.attackers.posterior.saved import Checkpoint
from unveil.data.belief import Belief, Prior, Targets
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError

MARGIN = 1.05  # more than the error of a round asks for: it is itself an estimate
LEAST_MORE, MOST_MORE = 1.2, 8.0  # times what was drawn, in one round

__all__ = ["Chains", "Posterior", "Reader", "check_prior", "learn", "posterior"]


class Posterior(Protocol):
    """The posterior of the population's parameters given a release, for one sensitive attribute."""

    @property
    def release(self) -> Release:
        """The release it was learned from."""

    @property
    def prior(self) -> Prior:
        """What was held before."""

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

    def run_on(self, *, afresh: bool, times: float = 2.0) -> bool:
        """Draw until there is about so many times as much, or, `afresh`, forget what was drawn and draw as much again;
        False if it is exact or the budget has ended."""

    def facts(self) -> dict[str, float | str]:
        """What else there is to say of the chains."""

    def finish(self, *, done: bool) -> None:
        """All is said: a saved state is removed if it is `done`, and kept if there is more to draw."""


class Reader(Protocol):
    """Who turns a posterior into beliefs."""

    def asks(self) -> tuple[str, ...]:
        """Which of `joint`, `support`, `conditional` are asked for: they are averaged over every state."""

    def believe(self, learned: Posterior, targets: Targets, number: NDArray[np.integer]) -> Belief:
        """The belief about distinct targets; `number` says which of them each one is."""


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
    """Learn from a release: exactly where the Dirichlet tree applies, else by one round of chains.

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
    hidden = HiddenPosterior.of(HiddenModel.of(release, asked, prior), engine, chains, questions, saved)
    hidden.run()
    return hidden


def learn(
    release: Release,
    asked: int,
    prior: Prior,
    engine: Engine,
    chains: Chains,
    readers: Mapping[str, tuple[Reader, Targets]],
    refused: dict[str, str] | None = None,
    learned: Posterior | None = None,
) -> tuple[dict[str, Belief], Posterior]:
    """The beliefs of readers who learn from the same release: chains run on until all are precise or the budget ends.

    The next round is as long as the error of this one asks for: it falls with the root of what is drawn. While chains
    disagree what was drawn is taken for the way there, and forgotten.
    With `refused` a reader who does not apply is named there with the reason; else that is an error. `learned`: what
    was learned from this release for this attribute before, which goes on from there; not where the link is hidden,
    as questions that come late are answered there from few states.
    """
    made: dict[int, tuple[Targets, NDArray[np.int64]]] = {}  # readers of the same targets share their questions
    asking = {}
    for name, (reader, targets) in readers.items():
        distinct, number = made.setdefault(id(targets), targets.distinct())
        asking[name] = reader, distinct, number
    questions = list(
        {(kind, id(distinct)): (kind, distinct) for r, distinct, _ in asking.values() for kind in r.asks()}.values()
    )
    if not isinstance(learned, LinkedPosterior):
        learned = posterior(release, asked, prior, engine, chains, questions=questions)
    found: dict[str, Belief] = {}
    while True:
        for name, (reader, distinct, number) in list(asking.items()):
            try:
                found[name] = reader.believe(learned, distinct, number)
            except NotApplicable as reason:
                if refused is None or name == "":
                    raise
                refused[name] = str(reason)
                del asking[name]
        agree = all(found[name].diagnostics.converged for name in asking)
        done = agree and all(found[name].diagnostics.precise for name in asking)
        wanted = max((found[name].diagnostics.wanted for name in asking), default=1.0)
        if done or not learned.run_on(afresh=not agree, times=float(np.clip(MARGIN * wanted, LEAST_MORE, MOST_MORE))):
            break
    learned.finish(done=done)
    more = learned.facts()
    beliefs = {
        name: b if b.exact else replace(b, diagnostics=replace(b.diagnostics, facts={**b.diagnostics.facts, **more}))
        for name, b in found.items()
    }
    return beliefs, learned

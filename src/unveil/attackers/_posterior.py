"""What a release teaches about the population: the one object that learner and attacker share."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._averages import BATCHES, Averages, watched
from unveil.attackers._draws import LinkedDraws
from unveil.attackers._fits import check_targets, knowledge_likelihood
from unveil.attackers._hidden import Chain, Draw, HiddenModel
from unveil.attackers._hidden_posterior import HiddenPosterior
from unveil.attackers._linked import AttributePosterior, attribute_posteriors, linked_counts
from unveil.attackers._weigh import Fitted, held_values
from unveil.belief import Prior, Targets
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.release import Release

__all__ = ["Chains", "LinkedPosterior", "Posterior", "check_prior", "posterior"]

MOST_MEMORY = 2 << 30  # bytes for the kept states of all chains


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """How long to sample, where sampling is needed."""

    chains: int = 4
    sweeps: int = 2000
    burn_in: int = 1000
    keep: int = 400  # states kept of each chain
    anneal: bool = True

    def __post_init__(self) -> None:
        if self.chains < 2 or self.sweeps < 50 or self.burn_in < 0 or self.keep < BATCHES:
            raise UsageError(f"a sampler needs 2 chains or more, 50 sweeps or more, and {BATCHES} kept states")


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

    def support(self, fitted: Fitted) -> Averages:
        """Expected rows that hold s and fit what is known."""

    def method(self) -> str:
        """How it was reached."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkedPosterior:
    """Values stand beside their cells: each attribute on its own, exactly or by chains."""

    release: Release
    asked: int
    prior: Prior
    value_share: NDArray[np.float64]  # (values,)
    attributes: dict[int, AttributePosterior]
    draws: LinkedDraws | None  # for readers whom means do not serve; nothing is drawn before it is asked for

    @property
    def chains(self) -> int:
        """How many chains there are; 1 if all is exact."""
        return max((a.chains for a in self.attributes.values()), default=1)

    def shares(self, index: int) -> NDArray[np.float64]:
        """(chains, values, codes) mean shares of an attribute's codes given each value."""
        return np.broadcast_to(self.attributes[index].shares(), (self.chains, *self.attributes[index].tree.shape))

    def joint(self, targets: Targets) -> Averages:
        """See Posterior."""
        check_targets(self.release, targets)
        weights = np.broadcast_to(self.value_share, (self.chains, targets.count, len(self.value_share)))
        for index, known in targets.known.items():
            factor = np.stack([knowledge_likelihood(chain, known) for chain in self.shares(index)])
            weights = weights * factor[:, known.of_target]
        return Averages(np.asarray(weights), weights[None][:, :, watched(targets.count)])

    def support(self, fitted: Fitted) -> Averages:
        """See Posterior."""
        held = held_values(self.release, self.asked)
        matched = {}
        for place, _ in fitted.others:  # a group has one cell, or one value
            block = self.release.blocks[place]
            matched[place] = (block.count / self.release.sizes[block.group])[:, None]
        tables = {i: self.attributes[i].likelihood(o) for i, o in fitted.overlaps().items()}
        found = []
        for chain in range(self.chains):
            likelihood = {i: table[min(chain, len(table) - 1)] for i, table in tables.items()}
            found.append(fitted.weights(likelihood, matched, held))
        mean = np.stack(found)
        return Averages(mean, mean[None][:, :, watched(fitted.targets.count)])

    def method(self) -> str:
        """See Posterior."""
        sampled = [self.release.attributes[i].name for i, a in self.attributes.items() if a.sampled is not None]
        return f"sampled on counts: {', '.join(sampled)}" if sampled else "exact"


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
    release: Release, asked: int, prior: Prior, engine: Engine, chains: Chains, *, tree: bool = True
) -> Posterior:
    """Learn from a release: exactly where the Dirichlet tree applies, else by chains."""
    check_prior(release, asked, prior)
    values = release.attributes[asked].codes
    engine = engine.named("posterior")
    counts = linked_counts(release, asked)
    if counts is not None:
        found = attribute_posteriors(
            release, counts, prior, engine, chains=chains.chains, sweeps=chains.sweeps, tree=tree
        )
        block = release.block_of(asked)
        value = release.regions[asked].single()[block.region(asked)]
        held = np.bincount(value, weights=block.count, minlength=values).astype(np.int64)
        draws = LinkedDraws(release, asked, counts, held, prior, engine, chains.chains, chains.sweeps)
        share = (prior.alpha + held) / (prior.alpha.sum() + held.sum())
        return LinkedPosterior(release, asked, prior, share, found, draws)
    model = HiddenModel.of(release, asked, prior)
    started = [Chain.start(model, engine.named(f"chain {number}")) for number in range(chains.chains)]
    every = max(chains.sweeps // _states_kept(model, chains), 1)

    def run(chain: Chain) -> list[Draw]:
        chain.run(model, engine, chains.burn_in, anneal=chains.anneal)
        return chain.run(model, engine, chains.sweeps, every=every)

    with ThreadPoolExecutor(engine.workers) as pool:
        return HiddenPosterior(model, tuple(pool.map(run, started)), engine.workers)


def _states_kept(model: HiddenModel, chains: Chains) -> int:
    """How many states of each chain are kept: as asked, or fewer where domains are so large that memory ends."""
    size = sum(16 * model.values * model.release.attributes[i].codes for i in model.attributes)
    room = MOST_MEMORY // (max(size, 1) * chains.chains)
    if room < BATCHES:
        raise NotApplicable("the domains are too large to learn from hidden links; declare bins or a coarser domain")
    return min(chains.keep, room)

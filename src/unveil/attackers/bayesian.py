"""The Bayesian attacker: learns like the learner, and knows that the target is in the table."""

from dataclasses import dataclass

import numpy as np

from unveil.attackers._posterior import Posterior, posterior
from unveil.attackers._weigh import Fitted, held_values
from unveil.attackers.learner import Learner
from unveil.belief import Belief, Prior, Targets, Threat, stacked
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.release import Release

__all__ = ["Bayesian"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bayesian:
    """p_A(s | r, t*) by Lemma 1 of Boreale et al. 2020, for any blocks and regions.

    With the targets' groups it is Kifer's deFinetti attack. With `membership` below 1 the target is in the table only
    with that probability: the belief is that share of the attacker's and the rest of the learner's.
    """

    chains: int = 4
    sweeps: int = 2000
    membership: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.membership <= 1:
            raise UsageError(f"bayesian: membership={self.membership:g} is no probability")

    def attack(self, release: Release, targets: Targets, prior: Prior, engine: Engine) -> Belief:
        """Cost: the posterior's, and one pass over the pairs of a target and a fitting cell."""
        distinct, number = targets.distinct()
        learned = posterior(release, targets.asked, prior, engine, chains=self.chains, sweeps=self.sweeps)
        return self.believe(learned, distinct, number)

    def believe(self, learned: Posterior, targets: Targets, number: np.ndarray) -> Belief:
        """The belief from a posterior that is already there; `number` says which distinct target each one is."""
        release = learned.release
        fitted = Fitted.of(release, targets)
        held = held_values(release, targets.asked)
        matched = {}
        for place, _ in fitted.others:  # a linked release: a group has one cell, or one value
            block = release.blocks[place]
            matched[place] = (block.count / release.sizes[block.group])[:, None]
        likelihoods = {i: learned.attributes[i].likelihood(o) for i, o in fitted.overlaps().items()}
        weights = []
        for chain in range(learned.chains):
            likelihood = {i: table[min(chain, len(table) - 1)] for i, table in likelihoods.items()}
            weights.append(fitted.weights(likelihood, matched, held))
        total = np.sum(weights, axis=0)
        outside = np.zeros(targets.count)
        if self.membership < 1:
            outside = np.where(total.sum(axis=1) > 0, 1 - self.membership, 1.0)
        else:
            fitted.refuse_misfits(total, number)
        threat = Threat(
            membership="known" if self.membership == 1 else f"with probability {self.membership:g}",
            group="known" if targets.group is not None else "not known",
        )
        probability, chains = stacked([np.where(w.sum(axis=1, keepdims=True) > 0, w, 1.0) for w in weights])
        if outside.any():
            learner = Learner(chains=self.chains, sweeps=self.sweeps).believe(learned, targets)
            share = outside[:, None]
            probability = (1 - share) * probability + share * learner.probability
            if chains is not None and learner.chains is not None:
                chains = (1 - share) * chains + share * learner.chains
        return Belief(probability, chains=chains, diagnostics=learned.diagnostics(), threat=threat).of(number)

"""The Bayesian attacker: learns like the learner, and knows that the target is in the table."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import belief_of
from unveil.attackers.posterior.contract import Chains, Posterior, learn
from unveil.attackers.posterior.weigh import refuse_misfits
from unveil.data.belief import Belief, Prior, Targets, Threat, describe_targets
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import UsageError

__all__ = ["Bayesian"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bayesian:
    """p_A(s | r, t*) by Lemma 1 of Boreale et al. 2020, for any blocks and regions.

    With the targets' groups it is Kifer's deFinetti attack. With `membership` below 1 the target is in the table only
    with that probability: the belief is that share of the attacker's and the rest of the learner's.
    """

    membership: float = 1.0
    chains: Chains = field(default_factory=Chains)

    def __post_init__(self) -> None:
        if not 0 <= self.membership <= 1:
            raise UsageError(f"bayesian: membership={self.membership:g} is no probability")

    def attack(self, release: Release, targets: Targets, prior: Prior, engine: Engine) -> Belief:
        """Cost: the posterior's, and one pass over the pairs of a target and a fitting cell for each kept state."""
        return learn(release, targets.asked, prior, engine, self.chains, {"": (self, targets)})[0][""]

    def asks(self) -> tuple[str, ...]:
        """See Reader."""
        return ("support",) if self.membership == 1 else ("support", "joint")

    def believe(self, learned: Posterior, targets: Targets, number: NDArray[np.integer]) -> Belief:
        """See Reader."""
        found = learned.support(targets)
        fits = found.mean.sum(axis=(0, 2)) > 0
        if self.membership == 1:
            refuse_misfits(targets, found.mean.mean(axis=0), number)
        else:  # who does not fit is not in the table
            found = found.mixed(learned.joint(targets), np.where(fits, self.membership, 0.0))
        threat = Threat(
            target=describe_targets(learned.release, targets),
            membership="known" if self.membership == 1 else f"with probability {self.membership:g}",
            group="known" if targets.group is not None else "not known",
            population=learned.prior.population(learned.release),
        )
        return belief_of(found, learned.method(), threat).of(number)

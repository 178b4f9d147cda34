"""The Bayesian attacker: learns like the learner, and knows that the target is in the table."""

from dataclasses import dataclass

import numpy as np

from unveil.attackers.posterior.averages import belief_of
from unveil.attackers.posterior.contract import Posterior
from unveil.attackers.posterior.fits import refuse_misfits
from unveil.data.belief import Belief, Targets, Threat, describe_targets
from unveil.errors import UsageError

__all__ = ["Bayesian"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bayesian:
    """p_A(s | r, t*) by Lemma 1 of Boreale et al. 2020, for any blocks and regions.

    With the targets' groups it is Kifer's deFinetti attack. With `membership` below 1 the target is in the table only
    with that probability: the belief is that share of the attacker's and the rest of the learner's.
    """

    membership: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.membership <= 1:
            raise UsageError(f"bayesian: membership={self.membership:g} is not a probability; choose 0 to 1")

    def asks(self) -> tuple[str, ...]:
        """See Attacker."""
        return ("support",) if self.membership == 1 else ("support", "joint")

    def believe(self, posterior: Posterior, targets: Targets) -> Belief:
        """Cost: the posterior's, and one pass over the pairs of a target and a fitting cell for each kept state."""
        found = posterior.support(targets)
        if self.membership == 1:
            refuse_misfits(targets, found.mean.mean(axis=0), found.number)
        else:  # who does not fit is not in the table
            fits = found.mean.sum(axis=(0, 2)) > 0
            found = found.mixed(posterior.joint(targets), np.where(fits, self.membership, 0.0))
        threat = Threat(
            target=describe_targets(posterior.release, targets),
            membership="known" if self.membership == 1 else f"with probability {self.membership:g}",
            group="known" if targets.group is not None else "not known",
            population=posterior.prior.population(posterior.release),
        )
        return belief_of(found, posterior.method(), threat)

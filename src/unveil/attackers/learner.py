"""The learner: what the release teaches about anyone, whether or not they are in the table."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import belief_of
from unveil.attackers.posterior.contract import Chains, Posterior, learn
from unveil.data.belief import Belief, Prior, Targets, Threat, describe_targets
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import NotApplicable

__all__ = ["Learner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """p_L(s | r, t*) by eq. 5 of Boreale et al. 2020: the joint averaged over the posterior, then conditioned.

    Learns the population from the release and applies it to the target; does not know that the target is in it.
    """

    chains: Chains = field(default_factory=Chains)

    def attack(self, release: Release, targets: Targets, prior: Prior, engine: Engine) -> Belief:
        """Cost: closed form where regions are nested; else the sampler's, once a release."""
        return learn(release, targets.asked, prior, engine, self.chains, {"": (self, targets)})[0][""]

    def asks(self) -> tuple[str, ...]:
        """See Reader."""
        return ("joint",)

    def believe(self, learned: Posterior, targets: Targets, number: NDArray[np.integer]) -> Belief:
        """See Reader."""
        found = learned.joint(targets)
        if not (found.mean.sum(axis=2) > 0).all():
            raise NotApplicable("so many attributes are known that their probabilities vanish; know fewer")
        known = describe_targets(learned.release, targets)
        threat = Threat(target=known, membership="not known", population=learned.prior.population(learned.release))
        return belief_of(found, learned.method(), threat).of(number)

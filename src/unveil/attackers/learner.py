"""The learner: what the release teaches about anyone, whether or not they are in the table."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._averages import belief_of
from unveil.attackers._posterior import Chains, Posterior, posterior
from unveil.belief import Belief, Prior, Targets, Threat, describe_targets
from unveil.engine import Engine
from unveil.release import Release

__all__ = ["Learner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """p_L(s | r, t*) by eq. 5 of Boreale et al. 2020: the joint averaged over the posterior, then conditioned.

    Learns the population from the release and applies it to the target; does not know that the target is in it.
    """

    chains: Chains = field(default_factory=Chains)

    def attack(self, release: Release, targets: Targets, prior: Prior, engine: Engine) -> Belief:
        """Cost: closed form where regions are nested; else the sampler's, once a release."""
        distinct, number = targets.distinct()
        return self.believe(posterior(release, targets.asked, prior, engine, self.chains), distinct).of(number)

    def believe(self, learned: Posterior, targets: Targets) -> Belief:
        """The belief from a posterior that is already there."""
        found = learned.joint(targets)
        known = describe_targets(learned.release, targets)
        threat = Threat(target=known, membership="not known", population=learned.prior.source)
        return belief_of(found, learned.method(), threat)

    @staticmethod
    def joint(learned: Posterior, targets: Targets) -> NDArray[np.float64]:
        """(targets, values) p_L(s, what is known | t*)."""
        return np.asarray(learned.joint(targets).mean.mean(axis=0))

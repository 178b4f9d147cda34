"""The learner by eq. 6: what would be believed if the population were known, averaged over what it may be."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import belief_of
from unveil.attackers.posterior.contract import Chains, Posterior, learn
from unveil.data.belief import Belief, Prior, Targets, Threat, describe_targets
from unveil.data.release import Release
from unveil.engine import Engine

__all__ = ["ConditionalLearner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalLearner:
    """E[p(s | r, pi)] by eq. 6 of Boreale et al. 2020: conditioned first, then averaged over the posterior.

    The paper calls it equivalent to eq. 5 (`learner`); it is not. The two agree where the posterior is narrow.
    """

    chains: Chains = field(default_factory=Chains)

    def attack(self, release: Release, targets: Targets, prior: Prior, engine: Engine) -> Belief:
        """Cost: the posterior's, and one pass over the distinct targets for each draw of the parameters."""
        return learn(release, targets.asked, prior, engine, self.chains, {"": (self, targets)})[0][""]

    def asks(self) -> tuple[str, ...]:
        """See Reader."""
        return ("conditional",)

    def believe(self, learned: Posterior, targets: Targets, number: NDArray[np.integer]) -> Belief:
        """See Reader."""
        found, method = learned.conditional(targets), learned.method()
        threat = Threat(
            target=describe_targets(learned.release, targets),
            membership="not known",
            population=learned.prior.population(learned.release),
        )
        return belief_of(found, "drawn from the exact posterior" if method == "exact" else method, threat).of(number)

"""The learner by eq. 6: what would be believed if the population were known, averaged over what it may be."""

from dataclasses import dataclass

from unveil.attackers.posterior.averages import belief_of
from unveil.attackers.posterior.contract import Posterior
from unveil.data.belief import Belief, Targets, Threat, describe_targets

__all__ = ["ConditionalLearner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalLearner:
    """E[p(s | r, pi)] by eq. 6 of Boreale et al. 2020: conditioned first, then averaged over the posterior.

    The paper calls it equivalent to eq. 5 (`learner`); it is not. The two agree where the posterior is narrow.
    """

    def asks(self) -> tuple[str, ...]:
        """See Attacker."""
        return ("conditional",)

    def believe(self, posterior: Posterior, targets: Targets) -> Belief:
        """Cost: the posterior's, and one pass over the distinct targets for each draw of the parameters."""
        found, method = posterior.conditional(targets), posterior.method()
        threat = Threat(
            target=describe_targets(posterior.release, targets),
            membership="not known",
            population=posterior.prior.population(posterior.release),
        )
        return belief_of(found, "drawn from the exact posterior" if method == "exact" else method, threat)

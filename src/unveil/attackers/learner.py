"""The learner: what the release teaches about anyone, whether or not they are in the table."""

from dataclasses import dataclass

from unveil.attackers.posterior.averages import belief_of
from unveil.attackers.posterior.contract import Posterior
from unveil.data.belief import Belief, Targets, Threat, describe_targets
from unveil.errors import NotApplicable

__all__ = ["Learner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """p_L(s | r, t*) by eq. 5 of Boreale et al. 2020: the joint averaged over the posterior, then conditioned.

    Learns the population from the release and applies it to the target; does not know that the target is in it.
    """

    def asks(self) -> tuple[str, ...]:
        """See Attacker."""
        return ("joint",)

    def believe(self, posterior: Posterior, targets: Targets) -> Belief:
        """Cost: closed form where regions are nested; else the sampler's, once a release."""
        found = posterior.joint(targets)
        if not (found.mean.sum(axis=2) > 0).all():
            raise NotApplicable(
                "too many attributes are known: their joint probability vanishes; name fewer with --known"
            )
        known = describe_targets(posterior.release, targets)
        threat = Threat(target=known, membership="not known", population=posterior.prior.population(posterior.release))
        return belief_of(found, posterior.method(), threat)

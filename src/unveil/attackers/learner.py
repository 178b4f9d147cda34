"""The learner: what the release teaches about anyone, whether or not they are in the table."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._fits import check_targets
from unveil.attackers._posterior import Posterior, posterior
from unveil.belief import Belief, Known, Prior, Targets, Threat, stacked
from unveil.engine import Engine
from unveil.release import Release

__all__ = ["Learner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """p_L(s | r, t*) by eq. 5 of Boreale et al. 2020: the joint averaged over the posterior, then conditioned.

    Learns the population from the release and applies it to the target; does not know that the target is in it.
    """

    chains: int = 4
    sweeps: int = 2000

    def attack(self, release: Release, targets: Targets, prior: Prior, engine: Engine) -> Belief:
        """Cost: closed form where regions are nested; else the sampler's, once a release."""
        distinct, number = targets.distinct()
        learned = posterior(release, targets.asked, prior, engine, chains=self.chains, sweeps=self.sweeps)
        return self.believe(learned, distinct).of(number)

    def believe(self, learned: Posterior, targets: Targets) -> Belief:
        """The belief from a posterior that is already there."""
        check_targets(learned.release, targets)
        probability, chains = stacked(list(self.joint(learned, targets)))
        threat = Threat(membership="not known")
        return Belief(probability, chains=chains, diagnostics=learned.diagnostics(), threat=threat)

    def joint(self, learned: Posterior, targets: Targets) -> NDArray[np.float64]:
        """(chains, targets, values) p_L(s, what is known | t*)."""
        weights = np.repeat(learned.value_share[:, None], targets.count, axis=1)
        for index, known in targets.known.items():
            weights = weights * _likelihood(learned.shares(index), known)[:, known.of_target]
        return weights


def _likelihood(shares: NDArray[np.float64], known: Known) -> NDArray[np.float64]:
    """(chains, knowledge, values) mean likelihood of each piece of knowledge, from (chains, values, codes) shares."""
    inside = np.stack([known.regions.totals(np.ascontiguousarray(chain.T)) for chain in shares])
    mistaken = known.mistaken()[:, None]
    return np.asarray(mistaken + (1 - known.wrong - mistaken) * inside)

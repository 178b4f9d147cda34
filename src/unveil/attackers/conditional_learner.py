"""The learner by eq. 6: what would be believed if the population were known, averaged over what it may be."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._averages import belief_of
from unveil.attackers._draws import HiddenDraws, LinkedDraws, Logs, average_over, log_likelihood
from unveil.attackers._fits import check_targets
from unveil.attackers._hidden_posterior import HiddenPosterior
from unveil.attackers._posterior import Chains, LinkedPosterior, Posterior, posterior
from unveil.belief import Belief, Prior, Targets, Threat, describe_targets
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.release import Release

__all__ = ["ConditionalLearner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalLearner:
    """E[p(s | r, pi)] by eq. 6 of Boreale et al. 2020: conditioned first, then averaged over the posterior.

    The paper calls it equivalent to eq. 5 (`learner`); it is not. The two agree where the posterior is narrow.
    """

    chains: Chains = field(default_factory=Chains)

    def attack(self, release: Release, targets: Targets, prior: Prior, engine: Engine) -> Belief:
        """Cost: the posterior's, and one pass over the distinct targets for each draw of the parameters."""
        distinct, number = targets.distinct()
        check_targets(release, distinct)
        return self.believe(posterior(release, targets.asked, prior, engine, self.chains), distinct, number)

    def believe(self, learned: Posterior, targets: Targets, number: NDArray[np.integer]) -> Belief:
        """The belief from a posterior that is already there; `number` says which distinct target each one is."""
        check_targets(learned.release, targets)
        source: LinkedDraws | HiddenDraws | None = None
        method = learned.method()
        if isinstance(learned, HiddenPosterior):
            source = HiddenDraws(learned.model, learned.draws, learned.workers)
        elif isinstance(learned, LinkedPosterior):
            source = learned.draws
            method = "drawn from the exact posterior" if method == "exact" else method
        if source is None:
            raise UsageError("conditional_learner needs a posterior that can be drawn from, not a mode")
        averages = average_over(source, targets, lambda logs: _conditioned(logs, targets))
        known = describe_targets(learned.release, targets)
        threat = Threat(target=known, membership="not known", population=learned.prior.source)
        return belief_of(averages, method, threat).of(number)


def _conditioned(logs: Logs, targets: Targets) -> NDArray[np.float64]:
    """(draws, targets, values) p(s | what is known, these parameters)."""
    log_pi, log_theta = logs
    total = np.repeat(log_pi[:, None], targets.count, axis=1)
    for index, known in targets.known.items():
        total += log_likelihood(log_theta[index], known)[:, known.of_target]
    weight = np.exp(total - total.max(axis=2, keepdims=True))
    return np.asarray(weight / weight.sum(axis=2, keepdims=True))

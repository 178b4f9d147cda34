"""The learner who never read the person's group: what the rest of the release teaches about somebody like them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unveil.attackers.posterior.averages import Averages, belief_of, shares
from unveil.attackers.posterior.boosting import Settings
from unveil.attackers.posterior.contract import Posterior
from unveil.attackers.posterior.cross_fitted import CrossFitted
from unveil.attackers.posterior.fits import check_targets
from unveil.attackers.posterior.left_out import LeftOut
from unveil.attackers.posterior.repeats import Repeats
from unveil.data.belief import Belief, Diagnostics, Targets, Threat, describe_targets

__all__ = ["LearnerWithout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerWithout:
    """As `learner`, but as if the rows of the person's group had been left out of the release.

    The learner has read the person's own row: in a small table it knows part of their secret from it, and what an
    attacker adds looks smaller than it is. Where several groups may be the person's, each is left out in turn; a group
    of over half of the rows stays. `model`: the learner's naive Bayes, or boosting.
    """

    model: Literal["bayesian", "boosted"] = "bayesian"
    folds: int = 0
    rounds: int = 300
    repeats: int = 4
    most_rows: int = 100_000

    @property
    def own_model(self) -> bool:
        """Whether it learns for itself, which may take minutes."""
        return self.model == "boosted"

    def asks(self) -> tuple[str, ...]:
        """See Attacker."""
        return ("joint",) if self.model == "bayesian" else ()

    def believe(self, posterior: Posterior, targets: Targets) -> Belief:
        """Cost: the posterior's, one matching of every group, and the pairs of a target and a group of theirs."""
        release = posterior.release
        check_targets(release, targets)
        known = describe_targets(release, targets)
        if self.model == "boosted":
            settings = Settings(self.folds, self.rounds, self.repeats, self.most_rows)
            fitted = Repeats.of(release, targets.asked, settings, posterior.engine.named("boosted"))
            distinct, number = targets.distinct()
            threat = Threat(target=known, membership="not known, and the group left out", population=CrossFitted.WORDS)
            how = Diagnostics("cross-fitted boosting", facts=fitted.facts(), refits=True)
            belief, chains = fitted.anybody(distinct)
            return Belief(shares(belief), chains, how, threat).of(number)
        threat = Threat(
            target=known,
            membership="not known, and the group left out",
            population=posterior.prior.population(release),
        )
        return belief_of(_without(posterior, targets), posterior.method(), threat)


def _without(posterior: Posterior, targets: Targets) -> Averages:
    """The learner's averages, changed person by person as leaving out a group changes the mean shares."""
    found = posterior.joint(targets)
    distinct = targets.distinct()[0]
    left_out = LeftOut.of(posterior, targets.asked)
    learner = found.mean.mean(axis=0)
    total, changed = np.zeros(distinct.count), np.zeros_like(learner)
    for target, weight, factor in left_out.factors(distinct):
        np.add.at(changed, target, weight[:, None] * shares(learner[target] * factor))
        np.add.at(total, target, weight)
    away = total > 0  # who fits no row has no group to leave out
    after = np.where(away[:, None], changed / np.maximum(total, 1e-300)[:, None], shares(learner))
    return found.times(after / np.maximum(shares(learner), 1e-300))

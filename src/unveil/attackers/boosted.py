"""Boosted: learns p(s | x) by gradient boosting on the likelihood of groups, then shares each group's values out."""

from dataclasses import dataclass, replace

import numpy as np

from unveil.attackers.learner_without import LearnerWithout
from unveil.attackers.posterior.averages import shares
from unveil.attackers.posterior.boosting import Settings
from unveil.attackers.posterior.contract import Posterior
from unveil.attackers.posterior.cross_fitted import CrossFitted
from unveil.attackers.posterior.fits import check_targets, refuse_misfits
from unveil.attackers.posterior.repeats import Repeats
from unveil.data.belief import Belief, Diagnostics, Targets, Threat, describe_targets
from unveil.errors import UsageError

__all__ = ["Boosted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosted:
    """Any dependence between attributes and the sensitive value, learned from the groups other than a person's own.

    A group's rows are asked of models that have not seen the group (cross-fitting); depth, rounds, temperature and the
    weight of naive Bayes beside the trees are chosen by how well held-out groups are predicted. `folds`: 0 is 5, or 10
    below 5,000 rows. `repeats` with groups weighed at random give intervals; 0: none. Of a larger release groups with
    about `most_rows` rows are learned from. With `membership` below 1 the target is in the table only with that
    probability.
    """

    folds: int = 0
    rounds: int = 300
    repeats: int = 4
    most_rows: int = 100_000
    membership: float = 1.0

    def __post_init__(self) -> None:
        if self.folds == 1 or self.folds < 0:
            raise UsageError(f"boosted: folds={self.folds} holds nothing out; choose 2 or more, or 0 for the default")
        if self.rounds < 0:
            raise UsageError(f"boosted: rounds={self.rounds} is below 0")
        if self.repeats == 1 or self.repeats < 0:
            raise UsageError(
                f"boosted: repeats={self.repeats} says nothing of an error; choose 2 or more, or 0 for none"
            )
        if self.most_rows < 1:
            raise UsageError(f"boosted: most_rows={self.most_rows} leaves nothing to learn from; choose 1 or more")
        if not 0 <= self.membership <= 1:
            raise UsageError(f"boosted: membership={self.membership:g} is not a probability; choose 0 to 1")

    def left_out(self) -> LearnerWithout:
        """What the same models say of somebody whose group they have not seen."""
        same = {"folds": self.folds, "rounds": self.rounds, "repeats": self.repeats, "most_rows": self.most_rows}
        return LearnerWithout(model="boosted", **same)

    def plain(self) -> "Boosted":
        """The same without intervals, from the same fits."""
        return replace(self, repeats=0)

    @property
    def own_model(self) -> bool:
        """Whether it learns for itself, which may take minutes."""
        return True

    def asks(self) -> tuple[str, ...]:
        """See Attacker."""
        return ()

    def believe(self, posterior: Posterior, targets: Targets) -> Belief:
        """Cost: folds · rounds · (distinct cells · attributes · values · depth + rows), once a release."""
        release = posterior.release
        check_targets(release, targets)
        distinct, number = targets.distinct()
        settings = Settings(self.folds, self.rounds, self.repeats, self.most_rows)
        fitted = Repeats.of(release, targets.asked, settings, posterior.engine.named("boosted"))
        belief, chains = fitted.members(distinct)
        if self.membership == 1:
            refuse_misfits(targets, belief, number)
        else:  # who does not fit is not in the table
            share = np.where(belief.sum(axis=1, keepdims=True) > 0, self.membership, 0.0)
            others, other_chains = fitted.anybody(distinct)
            belief = share * belief + (1 - share) * others
            if chains is not None and other_chains is not None:
                chains = share * chains + (1 - share) * other_chains
        threat = Threat(
            target=describe_targets(release, targets),
            membership="known" if self.membership == 1 else f"with probability {self.membership:g}",
            group="known" if targets.group is not None else "not known",
            population=CrossFitted.WORDS,
        )
        how = Diagnostics("cross-fitted boosting", facts=fitted.facts(), refits=True)
        return Belief(shares(belief), chains, how, threat).of(number)

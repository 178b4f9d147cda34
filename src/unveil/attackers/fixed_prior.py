"""Fixed prior: a belief about the population given beforehand, and no learning from the release."""

from dataclasses import dataclass

import numpy as np

from unveil.attackers._hidden import Draw, HiddenModel
from unveil.attackers._posterior import HiddenPosterior, belief_of
from unveil.attackers._weigh import Fitted
from unveil.belief import Belief, Prior, Targets, Threat
from unveil.engine import Engine
from unveil.release import Release

__all__ = ["FixedPrior"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPrior:
    """Rows come independently from a known population, the prior's means (Kifer 2009, section 3: the i.i.d. model).

    Worlds that fit the release are weighted by that population; nothing is learned about it. With a uniform prior
    this is random worlds.
    """

    def attack(self, release: Release, targets: Targets, prior: Prior, engine: Engine) -> Belief:
        """Cost: one matching of every group, and one pass over the pairs of a target and a fitting cell."""
        distinct, number = targets.distinct()
        model = HiddenModel.of(release, targets.asked, prior)
        theta = {i: b / b.sum(axis=1, keepdims=True) for i, b in prior.beta.items()}
        pi = prior.alpha / prior.alpha.sum()
        partner = tuple(np.zeros(int(block.groups.row_start[-1]), dtype=np.int32) for block in model.hidden)
        draw = Draw(theta, theta, pi, pi, partner, np.uint64(engine.named("fixed prior").generator().integers(2**63)))
        known = HiddenPosterior(model, ([draw],), 1)
        fitted = Fitted.of(release, distinct)
        found = known.support(fitted)
        fitted.refuse_misfits(found.mean[0], number)
        threat = Threat(
            group="known" if targets.group is not None else "not known",
            population="known beforehand, nothing is learned",
        )
        return belief_of(found, "exact" if known.method() == "sampled" else known.method(), threat).of(number)

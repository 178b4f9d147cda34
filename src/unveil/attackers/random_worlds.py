"""Random worlds: every table that fits the release is equally likely."""

from dataclasses import dataclass

import numpy as np

from unveil.attackers.posterior.contract import Posterior
from unveil.attackers.posterior.fits import Fitted, held_values, refuse_misfits
from unveil.data.belief import Belief, Diagnostics, Targets, Threat, describe_targets
from unveil.data.release import Release

__all__ = ["RandomWorlds", "believe_by_counting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomWorlds:
    """No learning: the values of the rows that fit, each row by how much of its cell fits (Kifer 2009, section 3).

    Knows that the target is in the table, and its group where the targets say so. The prior is not used.
    """

    def asks(self) -> tuple[str, ...]:
        """See Attacker."""
        return ()

    def believe(self, posterior: Posterior, targets: Targets) -> Belief:
        """Cost: one pass over the pairs of a target and a fitting cell."""
        return believe_by_counting(posterior.release, targets)


def believe_by_counting(release: Release, targets: Targets) -> Belief:
    """What random worlds believe: of the release they need nothing that is learned."""
    distinct, number = targets.distinct()
    fitted = Fitted.of(release, distinct, merged=True)
    likelihood = {}
    for index, overlaps in fitted.overlaps().items():
        codes = np.ones(release.attributes[index].codes)
        share = overlaps.shared(codes) / release.regions[index].sizes[overlaps.region]
        likelihood[index] = overlaps.likelihood(share)[:, None]
    matched = {}
    for place, _ in fitted.others:
        block = release.blocks[place]
        matched[place] = (block.count / release.sizes[block.group])[:, None]
    weights = fitted.weights(likelihood, matched, held_values(release, targets.asked, fitted.block))
    refuse_misfits(distinct, weights, number)
    belief = weights / weights.sum(axis=1, keepdims=True)
    threat = Threat(
        target=describe_targets(release, targets),
        group="known" if targets.group is not None else "not known",
        population="none: all worlds alike",
    )
    return Belief(belief[number], diagnostics=Diagnostics("exact"), threat=threat)

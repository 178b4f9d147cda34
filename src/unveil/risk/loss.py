"""Privacy loss: how far what is believed of a person lies from what was believed anyway (Li 2010, section 5.2.1)."""

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.belief import Belief, Estimate
from unveil.data.release import Release, row_numbers
from unveil.errors import UsageError
from unveil.privacy.distances import Distance, Geometry
from unveil.privacy.distances import distance as distance_named
from unveil.risk._compare import Floats, check_belief, check_same, estimated

__all__ = ["group_belief", "overall_belief", "privacy_loss", "privacy_loss_max", "privacy_loss_mean"]


def group_belief(release: Release, asked: int) -> tuple[Belief, NDArray[np.int64]]:
    """P(t): the distribution of the sensitive values among rows that cannot be told apart, and how many rows they are.

    One entry for each set of rows as `Release.histograms` makes them. Of a set whose values are all withheld the
    overall distribution is believed.
    """
    block = release.block_of(asked)
    beside = [i for i in block.attributes if release.attributes[i].role is Role.QUASI_IDENTIFIER and i != asked]
    histograms, _ = release.histograms(asked)
    people = np.bincount(row_numbers([block.group, *(block.region(i) for i in beside)]), weights=block.count)
    known = histograms.sum(axis=1, keepdims=True)
    overall = overall_belief(release, asked).probability
    share = np.where(known > 0, histograms / np.maximum(known, 1), overall)
    return Belief(share), people.astype(np.int64)


def overall_belief(release: Release, asked: int) -> Belief:
    """Q: the published distribution of the sensitive values, as one belief; uniform if every value is withheld."""
    total = release.histograms(asked)[0].sum(axis=0).astype(np.float64)
    if not total.any():
        total = np.ones(len(total))
    return Belief((total / total.sum())[None, :])


def privacy_loss(
    belief: Belief, before: Belief, *, distance: Distance | str = "js", ground: Geometry | None = None
) -> Floats:
    """(people,) P_loss(t): distance of the belief from what was believed before (Li 2010, section 5.2.1).

    `before` is one belief for everyone (`overall_belief`) or one for each, as the learner's.
    """
    measure, around = _measured(belief, before, distance, ground)
    return measure(belief.probability, before.probability, around)


def privacy_loss_max(
    belief: Belief, before: Belief, *, distance: Distance | str = "js", ground: Geometry | None = None
) -> Estimate:
    """The worst case: P_loss = max over people of P_loss(t) (same section)."""
    measure, around = _measured(belief, before, distance, ground)
    return estimated(lambda a, b: float(measure(a, b, around).max()), belief, before, least=0.0)


def privacy_loss_mean(
    belief: Belief,
    before: Belief,
    *,
    distance: Distance | str = "js",
    ground: Geometry | None = None,
    people: NDArray[np.integer] | None = None,
) -> Estimate:
    """The average case, beside the worst; `people` says for how many each belief stands."""
    measure, around = _measured(belief, before, distance, ground)
    if people is not None and (people.shape != (len(belief.probability),) or (people < 0).any() or not people.any()):
        raise UsageError("people must say of each belief for how many it stands, for somebody in all")
    return estimated(lambda a, b: float(np.average(measure(a, b, around), weights=people)), belief, before, least=0.0)


def _measured(
    belief: Belief, before: Belief, distance: Distance | str, ground: Geometry | None
) -> tuple[Distance, Geometry]:
    if len(before.probability) == 1:
        check_belief(belief)
        check_belief(before)
    else:
        check_same(belief, before)
    values = belief.probability.shape[1]
    around = Geometry() if ground is None else ground
    if before.probability.shape[1] != values or around.values not in (None, values):
        raise UsageError(f"the belief is about {values} values, what it is compared with about another number")
    return distance_named(distance) if isinstance(distance, str) else distance, around

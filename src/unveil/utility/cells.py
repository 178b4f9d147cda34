"""How wide the published cells are: the certainty penalty, and the height in the hierarchy."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role
from unveil.data.belief import Estimate
from unveil.data.regions import Regions, hierarchy_width, node_height, set_width
from unveil.data.release import Release, truthful
from unveil.errors import UsageError, shown

__all__ = [
    "certainty_penalty",
    "certainty_penalty_hierarchy",
    "generalisation_height",
]

Width = Callable[[Regions, Attribute], NDArray[np.float64]]


def certainty_penalty(release: Release, *, weights: Mapping[str, float] | None = None) -> Estimate:
    """Mean width of the quasi-identifier cells, 0 = exact and 1 = `*` everywhere (GCP; Xu et al. 2006, sets).

    Numbers: the span of the cell over the span of the domain. Others: values in the cell over values in the domain,
    0 for a single value.
    """
    return Estimate.exact(_mean_width(release, weights, set_width))


def certainty_penalty_hierarchy(release: Release, *, weights: Mapping[str, float] | None = None) -> Estimate:
    """The same, with a cell as wide as the lowest hierarchy node that holds it (GCP; Li 2010, 1.2.3)."""
    return Estimate.exact(_mean_width(release, weights, hierarchy_width))


def generalisation_height(release: Release) -> Estimate:
    """Levels climbed by a row, summed over the quasi-identifiers, on average (Samarati 2001; Li 2010, 1.2.3).

    A cell has climbed to the lowest level at which one node holds it: 0 for a value. Without a hierarchy every wider
    cell counts 1.
    """
    total = 0.0
    for index in truthful(release).with_role(Role.QUASI_IDENTIFIER):
        block = release.block_of(index)
        height = node_height(release.regions[index], release.attributes[index])
        total += float((height[block.region(index)] * block.count).sum())
    return Estimate.exact(total / release.rows)


def _mean_width(release: Release, weights: Mapping[str, float] | None, width: Width) -> float:
    known = truthful(release).with_role(Role.QUASI_IDENTIFIER)
    unknown = set(weights or {}) - {release.attributes[i].name for i in known}
    if unknown:
        raise UsageError(f"weights: {shown(sorted(unknown)[0])} is not a quasi-identifier of the release")
    wrong = [name for name, weight in (weights or {}).items() if not 0 <= weight < np.inf]
    if wrong:
        raise UsageError(
            f"the weight of {shown(wrong[0])} is {(weights or {})[wrong[0]]}; choose a number of at least 0"
        )
    if not known:
        return 0.0
    total = weight_sum = 0.0
    for index in known:
        attribute, block = release.attributes[index], release.block_of(index)
        weight = (weights or {}).get(attribute.name, 1.0)
        per_region = width(release.regions[index], attribute)
        total += weight * float((per_region[block.region(index)] * block.count).sum())
        weight_sum += weight
    if weight_sum <= 0:
        raise UsageError("the weights of the quasi-identifiers add up to nothing")
    return total / (release.rows * weight_sum)

"""Utility: what a release still tells. Plain functions of a release, and of the table where the truth is needed."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from unveil.attribute import Attribute, Role
from unveil.belief import Estimate
from unveil.errors import UsageError, shown
from unveil.regions import Regions
from unveil.release import Release

__all__ = ["certainty_penalty", "certainty_penalty_hierarchy", "discernibility"]

Width = Callable[[Regions, Attribute], NDArray[np.float64]]


def discernibility(release: Release) -> Estimate:
    """Sum of squared group sizes; a suppressed row costs as much as the whole table (Bayardo and Agrawal 2005)."""
    hidden = release.suppressed()
    sizes = release.sizes.astype(np.float64)
    return Estimate.exact(float((sizes[~hidden] ** 2).sum() + sizes[hidden].sum() * release.rows))


def certainty_penalty(release: Release, *, weights: Mapping[str, float] | None = None) -> Estimate:
    """Mean width of the quasi-identifier cells, 0 = exact and 1 = `*` everywhere (GCP; Xu et al. 2006, sets).

    Numbers: the span of the cell over the span of the domain. Others: values in the cell over values in the domain,
    0 for a single value.
    """
    return Estimate.exact(_mean_width(release, weights, _set_width))


def certainty_penalty_hierarchy(release: Release, *, weights: Mapping[str, float] | None = None) -> Estimate:
    """The same, with a cell as wide as the lowest hierarchy node that holds it (GCP; Li 2010, 1.2.3)."""
    return Estimate.exact(_mean_width(release, weights, _hierarchy_width))


def _mean_width(release: Release, weights: Mapping[str, float] | None, width: Width) -> float:
    known = release.with_role(Role.QUASI_IDENTIFIER)
    unknown = set(weights or {}) - {release.attributes[i].name for i in known}
    if unknown:
        raise UsageError(f"a weight for {shown(sorted(unknown)[0])}, which is no quasi-identifier of the release")
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


def _set_width(regions: Regions, attribute: Attribute) -> NDArray[np.float64]:
    """(regions,) share of the domain a region covers."""
    sizes = regions.sizes
    if not attribute.kind.measured:
        return np.where(sizes > 1, sizes / attribute.codes, 0.0)
    place = attribute.positions()
    first, last = regions.low[regions.start[:-1]], regions.high[regions.start[1:] - 1]
    span = float(np.ptp(place[: attribute.real])) if attribute.real else 0.0
    width = (place[last] - place[first]) / span if span > 0 else np.zeros(len(regions))
    holds_missing = (last == attribute.codes - 1) & attribute.missing
    return np.where(sizes <= 1, 0.0, np.where(holds_missing, 1.0, width))


def _hierarchy_width(regions: Regions, attribute: Attribute) -> NDArray[np.float64]:
    """(regions,) leaves under the lowest node that holds the region, over all leaves."""
    if attribute.hierarchy is None or attribute.kind.measured:
        return _set_width(regions, attribute)
    first = regions.low[regions.start[:-1]]
    width = np.ones(len(regions))
    sizes = regions.sizes
    for level in range(attribute.hierarchy.height - 1, -1, -1):
        node = attribute.hierarchy.node[level]
        leaves = np.bincount(node)
        inside = np.zeros(len(regions), dtype=np.int64)
        for number in np.unique(node[first]):
            these = np.flatnonzero(node[first] == number)
            inside[these] = regions.take(these).totals((node == number).astype(np.int64))
        width = np.where(inside == sizes, leaves[node[first]] / attribute.codes, width)
    return np.where(sizes <= 1, 0.0, width)

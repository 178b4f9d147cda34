"""How wide the published cells are: the certainty penalty, and the height in the hierarchy."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from unveil.attribute import Attribute, Role
from unveil.belief import Estimate
from unveil.errors import UsageError, shown
from unveil.regions import Regions
from unveil.release import Release

__all__ = [
    "certainty_penalty",
    "certainty_penalty_hierarchy",
    "generalisation_height",
    "hierarchy_width",
    "node_height",
    "set_width",
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
    for index in release.with_role(Role.QUASI_IDENTIFIER):
        block = release.block_of(index)
        height = node_height(release.regions[index], release.attributes[index])
        total += float((height[block.region(index)] * block.count).sum())
    return Estimate.exact(total / release.rows)


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


def set_width(regions: Regions, attribute: Attribute) -> NDArray[np.float64]:
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


def hierarchy_width(regions: Regions, attribute: Attribute) -> NDArray[np.float64]:
    """(regions,) leaves under the lowest node that holds the region, over all leaves."""
    if attribute.hierarchy is None or attribute.kind.measured:
        return set_width(regions, attribute)
    return _lowest_node(regions, attribute)[1]


def node_height(regions: Regions, attribute: Attribute) -> NDArray[np.float64]:
    """(regions,) the lowest level at which one node holds the region; 0 for a value, 1 if there is no hierarchy."""
    if attribute.hierarchy is None:
        return (regions.sizes > 1).astype(np.float64)
    return _lowest_node(regions, attribute)[0]


def _lowest_node(regions: Regions, attribute: Attribute) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(regions,) level of the lowest node that holds each region, and its share of the leaves."""
    assert attribute.hierarchy is not None
    first = regions.low[regions.start[:-1]]
    sizes = regions.sizes
    level_of, width = np.full(len(regions), float(attribute.hierarchy.height)), np.ones(len(regions))
    for level in range(attribute.hierarchy.height - 1, -1, -1):
        node = attribute.hierarchy.node[level]
        leaves = np.bincount(node)
        inside = np.zeros(len(regions), dtype=np.int64)
        for number in np.unique(node[first]):
            these = np.flatnonzero(node[first] == number)
            inside[these] = regions.take(these).totals((node == number).astype(np.int64))
        level_of = np.where(inside == sizes, float(level), level_of)
        width = np.where(inside == sizes, leaves[node[first]] / attribute.codes, width)
    return np.where(sizes <= 1, 0.0, level_of), np.where(sizes <= 1, 0.0, width)

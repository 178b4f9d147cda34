"""How wide a region is: its share of the domain, and its height in the hierarchy."""

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.regions import Regions

__all__ = ["hierarchy_width", "node_height", "set_width"]


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

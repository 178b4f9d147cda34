"""Distances between distributions over one attribute's values; only NumPy here.

Every distance is `f(share, reference, geometry) -> (groups,) float64`. `share` is (groups, values), `reference`
(values,) or (groups, values), both with rows that sum to 1; `geometry` says how far apart two values are. Definitions
follow Li 2010, section 2.3.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

from unveil.errors import UsageError

__all__ = [
    "DISTANCES",
    "Distance",
    "Geometry",
    "distance",
    "earth_mover_equal",
    "earth_mover_hierarchical",
    "earth_mover_ordered",
    "jensen_shannon",
    "kullback_leibler",
    "log",
    "ratio",
    "shares",
    "smoothed_js",
    "total_variation",
]

Floats = NDArray[np.float64]
MANY_VALUES = 2_000  # beyond it no matrix of all pairs of values is made


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Geometry:
    """How the values of one attribute lie to each other: on a line, in a hierarchy, or all apart."""

    position: Floats | None = None  # (values,) never falling; None: the codes 0, 1, ...
    level: NDArray[np.integer] | None = None  # (levels, values) node of each value, leaves first, root last
    missing: bool = False  # the last value means missing: outside the order, and below the root alone

    def __post_init__(self) -> None:
        if self.position is not None:
            position = np.array(self.position, dtype=np.float64)
            _check_position(position[: len(position) - self.missing] if position.ndim == 1 else position)
            position.flags.writeable = False
            object.__setattr__(self, "position", position)
        if self.level is not None:
            _check_level(np.asarray(self.level), self.missing)
            object.__setattr__(self, "level", np.array(self.level, dtype=np.int64))
            self.level.flags.writeable = False
        if self.position is not None and self.level is not None and len(self.position) != self.level.shape[1]:
            raise UsageError(f"{len(self.position)} positions but a hierarchy of {self.level.shape[1]} values")

    @property
    def values(self) -> int | None:
        """Number of values it is about; None if it fits any."""
        if self.position is not None:
            return len(self.position)
        return None if self.level is None else self.level.shape[1]

    def between(self, values: int) -> Floats:
        """(values, values) distance of every pair of values, in [0, 1] (Li 2010, section 2.3.2)."""
        if self.position is None and self.level is not None:
            apart = np.zeros((values, values))
            for nodes in self.level[:-1]:
                apart += nodes[:, None] != nodes[None, :]
            apart /= max(len(self.level) - 1, 1)
        else:
            position = np.arange(values, dtype=np.float64) if self.position is None else self.position
            known = position[: values - self.missing]
            scale = np.ptp(known) if len(known) else 0.0
            apart = np.zeros((values, values))
            apart[: len(known), : len(known)] = np.abs(known[:, None] - known[None, :]) / (scale or 1.0)
        if self.missing:
            apart[-1, :-1] = apart[:-1, -1] = 1.0
        return apart


Distance = Callable[[Floats, Floats, Geometry], Floats]


def total_variation(share: Floats, reference: Floats, geometry: Geometry) -> Floats:
    """Half the sum of absolute differences: the variational distance, in [0, 1] (Li 2010, section 2.3)."""
    return np.asarray(np.abs(share - reference).sum(axis=1) / 2)


def kullback_leibler(share: Floats, reference: Floats, geometry: Geometry) -> Floats:
    """Sum of p ln(p/q); infinite where q = 0 < p (Kullback & Leibler 1951)."""
    terms = share * (log(share) - log(reference))
    terms[(share > 0) & (reference <= 0)] = np.inf
    return np.asarray(np.maximum(terms.sum(axis=1), 0.0))


def jensen_shannon(share: Floats, reference: Floats, geometry: Geometry) -> Floats:
    """Mean Kullback-Leibler distance of both to their average, in [0, ln 2] (Li 2010, eq. 2.1)."""
    log_mean = log(share + reference) - np.log(2.0)
    terms = share * (log(share) - log_mean) + reference * (log(reference) - log_mean)
    return np.asarray(np.maximum(terms.sum(axis=1) / 2, 0.0))


def earth_mover_equal(share: Floats, reference: Floats, geometry: Geometry) -> Floats:
    """Earth mover's distance with every two values at distance 1 (Li 2010, section 2.3.3)."""
    # With all values equally far apart, earth mover's distance is total variation.
    return total_variation(share, reference, geometry)


def earth_mover_ordered(share: Floats, reference: Floats, geometry: Geometry) -> Floats:
    """Earth mover's distance with values i and j at |i - j| / (m - 1) (Li 2010, section 2.3.3).

    A missing value lies at distance 1 from all others; then this is an upper bound, never an understatement: the
    difference in missing is moved first, the rest as if both had the same share of missing.
    """
    reference = np.atleast_2d(reference)
    if not geometry.missing:
        return _along_the_order(share - reference)
    known_share, known_reference = 1 - share[:, -1], 1 - reference[:, -1]
    apart = _along_the_order(shares(share[:, :-1]) - shares(reference[:, :-1]))
    return np.asarray(np.abs(known_share - known_reference) + np.minimum(known_share, known_reference) * apart)


def earth_mover_hierarchical(share: Floats, reference: Floats, geometry: Geometry) -> Floats:
    """Earth mover's distance with two values at (height of lowest common ancestor) / (height of the root).

    Closed form by the extras of the nodes, level by level (Li 2010, section 2.3.3).
    """
    if geometry.level is None:
        raise UsageError("the hierarchical distance needs a hierarchy: add one to the attribute, or use 'equal'")
    order = np.lexsort(geometry.level)  # the root is the primary key: every node is a run of neighbours
    extra = (share - reference)[:, order]
    node = geometry.level[:, order]
    cost = np.zeros(len(extra))
    for height in range(1, len(node)):
        first = np.flatnonzero(np.diff(node[height], prepend=-1))
        surplus = np.add.reduceat(np.maximum(extra, 0.0), first, axis=1)
        extra = np.add.reduceat(extra, first, axis=1)
        # What leaves a node is paid for higher up; here its children even each other out.
        cost += np.maximum(np.minimum(surplus, surplus - extra), 0.0).sum(axis=1) * height
        node = node[:, first]
    return cost / max(len(node) - 1, 1)


def smoothed_js(share: Floats, reference: Floats, geometry: Geometry, *, bandwidth: float = 0.6) -> Floats:
    """Jensen-Shannon after Nadaraya-Watson smoothing with an Epanechnikov kernel (Li 2010, section 2.3.2).

    Distances between values come from the positions, else the hierarchy, else the codes. The kernel is strict: two
    values at distance `bandwidth` do not blend; the default lets siblings blend in every hierarchy of height 2 or
    more. Smoothed rows do not sum to 1; they are scaled so that they do.
    """
    if not 0 < bandwidth <= 1:
        raise UsageError(f"bandwidth = {bandwidth}: choose one in (0, 1]; above 1 every value blends into every other")
    reference = np.atleast_2d(reference)
    if share.shape[1] > MANY_VALUES and (geometry.position is not None or geometry.level is None):
        smoothed = [_along_the_line(s, geometry, bandwidth) for s in (share, reference)]
    else:
        kernel = np.maximum(1 - (geometry.between(share.shape[1]) / bandwidth) ** 2, 0.0)  # 3/(4B) cancels
        kernel /= kernel.sum(axis=1, keepdims=True)
        smoothed = [s @ kernel.T for s in (share, reference)]
    return jensen_shannon(shares(smoothed[0]), shares(smoothed[1]), geometry)


def _along_the_line(share: Floats, geometry: Geometry, bandwidth: float) -> Floats:
    """The same smoothing without a matrix of all pairs: the kernel is a parabola, so three running sums do it."""
    values = share.shape[1]
    position = np.arange(values, dtype=np.float64) if geometry.position is None else geometry.position
    known = position[: values - geometry.missing]
    place = (known - known.mean()) / (np.ptp(known) or 1.0)
    first = np.searchsorted(place, place - bandwidth, side="right")
    last = np.searchsorted(place, place + bandwidth, side="left")

    def smooth(weight: Floats) -> Floats:
        sums = []
        for power in range(3):
            running = np.zeros((len(weight), len(place) + 1))
            np.cumsum(weight * place**power, axis=1, out=running[:, 1:])
            sums.append(running[:, last] - running[:, first])
        return np.asarray(sums[0] - (place**2 * sums[0] - 2 * place * sums[1] + sums[2]) / bandwidth**2)

    found = np.array(share, dtype=np.float64)  # a missing value blends with nothing
    found[:, : len(place)] = np.maximum(smooth(share[:, : len(place)]) / smooth(np.ones((1, len(place)))), 0.0)
    return found


DISTANCES: dict[str, Distance] = {
    "variational": total_variation,
    "kl": kullback_leibler,
    "js": jensen_shannon,
    "equal": earth_mover_equal,
    "ordered": earth_mover_ordered,
    "hierarchical": earth_mover_hierarchical,
    "smoothed_js": smoothed_js,
}


def distance(name: str) -> Distance:
    """The distance with this name, as in `t_closeness:distance=NAME`."""
    if name not in DISTANCES:
        raise UsageError(f"unknown distance {name!r}; choose from {', '.join(DISTANCES)}")
    return DISTANCES[name]


def log(share: Floats) -> Floats:
    """Natural logarithm, 0 at 0: what is absent is dealt with by its user."""
    return np.asarray(np.log(share, out=np.zeros(share.shape), where=share > 0))


def ratio(part: Floats, whole: Floats, *, empty: float = inf) -> Floats:
    """part / whole; x/0 is `empty`, 0/0 is 0."""
    out = np.where(part > 0, empty, np.zeros(np.broadcast_shapes(part.shape, whole.shape)))
    return np.asarray(np.divide(part, whole, out=out, where=whole > 0))


def shares(counts: Floats) -> Floats:
    """(groups, values) counts as shares of their group; all 0 in an empty group."""
    return ratio(counts, counts.sum(axis=1, keepdims=True), empty=0.0)


def _along_the_order(extra: Floats) -> Floats:
    steps = max(extra.shape[1] - 1, 1)
    return np.asarray(np.abs(np.cumsum(extra[:, :-1], axis=1)).sum(axis=1) / steps)


def _check_position(known: Floats) -> None:
    if known.ndim != 1 or not np.isfinite(known).all() or (np.diff(known) < 0).any():
        raise UsageError("positions must be a row of finite numbers in the order of the values, missing last")


def _check_level(level: NDArray[np.integer], missing: bool) -> None:
    if level.ndim != 2 or 0 in level.shape or not np.issubdtype(level.dtype, np.integer):
        raise UsageError("a hierarchy's levels must be whole numbers in rows (levels) and columns (values)")
    if (level[0] != np.arange(level.shape[1])).any() or level[-1].any():
        raise UsageError("a hierarchy's first level must be the values 0, 1, ... and its last level all 0, the root")
    if (level < 0).any():
        raise UsageError("a hierarchy's nodes are numbered from 0")
    for height, (below, above) in enumerate(pairwise(level), start=1):
        order = np.lexsort((above, below))
        same = np.diff(below[order]) == 0
        if (np.diff(above[order])[same] != 0).any():
            raise UsageError(f"level {height} of the hierarchy splits a node of level {height - 1}; levels must nest")
    if missing and (level[:-1, :-1] == level[:-1, -1:]).any():
        raise UsageError("the missing value (the last) must be alone in its node below the root of the hierarchy")

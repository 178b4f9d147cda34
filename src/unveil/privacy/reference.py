"""What a privacy model compares groups with: the whole table, supersets, the population."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.errors import UsageError
from unveil.privacy.distances import Geometry, shares

__all__ = ["GroupMembers", "Reference", "Supersets", "geometry_of", "reference_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Supersets:
    """Natural supersets of groups, as pairs: larger groups that hold all rows of a group (Li 2010, def. 2.2.2)."""

    group: NDArray[np.integer]  # (pairs,) the group
    histogram: NDArray[np.integer]  # (pairs, values) its superset's sensitive values

    def __post_init__(self) -> None:
        if self.group.ndim != 1 or self.histogram.ndim != 2 or len(self.group) != len(self.histogram):
            raise UsageError("supersets are pairs: a group number and a row of counts each")


@dataclass(frozen=True, slots=True, eq=False)
class GroupMembers:
    """The people of each group and what is held of them beforehand, for each bandwidth of a reader's knowledge."""

    start: NDArray[np.integer]  # (groups + 1,)
    cell: NDArray[np.integer]  # (people,) row of a prior
    priors: Mapping[tuple[float, ...], NDArray[np.float64]]  # by bandwidth: (cells, values)

    def __post_init__(self) -> None:
        if self.start.ndim != 1 or not len(self.start) or self.start[-1] != len(self.cell):
            raise UsageError("the members of groups are given by where each group begins, and where the last one ends")


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """What groups are compared with: the whole table, their supersets, the population."""

    histogram: NDArray[np.integer]  # (values,) the whole table's sensitive values
    geometry: Geometry = field(default_factory=Geometry)  # how these values lie to each other
    supersets: Supersets | None = None
    population: NDArray[np.integer] | None = None  # (groups,) people of the population in each group's region
    members: GroupMembers | None = None

    def __post_init__(self) -> None:
        values = len(self.histogram) if self.histogram.ndim == 1 else 0
        if values == 0 or not np.isfinite(self.histogram).all() or (self.histogram < 0).any():
            raise UsageError("the reference histogram must be one row of counts, at least one")
        if self.geometry.values not in (None, values):
            raise UsageError(f"the reference histogram has {values} values, its geometry {self.geometry.values}")
        if self.supersets is not None and self.supersets.histogram.shape[1] != values:
            raise UsageError(f"the reference histogram has {values} values, its supersets another number")

    @property
    def share(self) -> NDArray[np.float64]:
        """(values,) distribution of the whole table; all 0 if every value is withheld."""
        return np.asarray(shares(self.histogram[None, :].astype(np.float64))[0])


def geometry_of(attribute: Attribute) -> Geometry:
    """Positions of numbers and dates, the hierarchy's levels, and whether the last value is missing."""
    return Geometry(
        position=attribute.positions() if attribute.kind.measured else None,
        level=attribute.hierarchy.node if attribute.hierarchy is not None else None,
        missing=attribute.missing,
    )


def reference_of(
    attribute: Attribute,
    histogram: NDArray[np.integer],
    *,
    supersets: Supersets | None = None,
    population: NDArray[np.integer] | None = None,
) -> Reference:
    """What the groups of a release or a table are compared with, for one sensitive attribute."""
    return Reference(histogram, geometry_of(attribute), supersets, population)

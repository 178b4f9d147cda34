"""How the values of an attribute lie to each other: the bridge from a schema's attribute to distances and models."""

import numpy as np
from numpy.typing import NDArray

from unveil.attribute import Attribute
from unveil.distances import Ground
from unveil.privacy_models import Overall, Supersets

__all__ = ["ground_of", "overall_of"]


def ground_of(attribute: Attribute) -> Ground:
    """Positions of numbers and dates, the hierarchy's levels, and whether the last value is missing."""
    return Ground(
        position=attribute.positions() if attribute.kind.measured else None,
        level=attribute.hierarchy.node if attribute.hierarchy is not None else None,
        missing=attribute.missing,
    )


def overall_of(
    attribute: Attribute,
    histogram: NDArray[np.integer],
    *,
    supersets: Supersets | None = None,
    population: NDArray[np.integer] | None = None,
) -> Overall:
    """What the groups of a release or a table are compared with, for one sensitive attribute."""
    return Overall(histogram, ground_of(attribute), supersets, population)

"""Kernel: the sensitive values of people with like quasi-identifiers, the more alike the more they count."""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind
from unveil.data.person_prior import PersonPrior
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError
from unveil.kernels.cell_weights import smooth_cells
from unveil.privacy.knowledge.mining.cells import CountedCells
from unveil.privacy.reference import geometry_of

__all__ = ["Kernel", "distances_between"]

MOST_ENTRIES = 1 << 24  # of the whole domain, one number each; above it, cell by cell
MOST_CODES = 10_000  # of one attribute: all its pairs are kept, 800 MB
PAIRS_AN_ENTRY = 2.0  # of cells: about this many cost as much as one entry of the domain; fewer pairs, cell by cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """Nadaraya-Watson regression with Epanechnikov product kernels (Li 2010, eq. 3.2).

    `bandwidth`: one for all quasi-identifiers, or one for each in schema order, on distances that go from 0 to 1. The
    smaller, the more is known. The kernel is strict: people at the distance of the bandwidth do not count. Where nobody
    is near enough, the overall distribution is held.
    """

    bandwidth: tuple[float, ...] = (0.3,)

    def __post_init__(self) -> None:
        if not self.bandwidth or not all(np.isfinite(b) and b > 0 for b in self.bandwidth):
            raise UsageError("kernel: a bandwidth is a number above 0, on distances from 0 to 1")

    def prior(self, table: Table, asked: str | None = None) -> PersonPrior:
        """Cost: one product of the domain with a matrix an axis; or a pass over all pairs of cells, if that is less."""
        counted = CountedCells.of(table, asked)
        weights = self.weights(counted.attributes)
        entries = prod(a.codes for a in counted.attributes) * counted.sensitive.codes
        overall = counted.overall()
        few = len(counted.cells) ** 2 <= PAIRS_AN_ENTRY * entries
        dense = _smooth_domain(counted, weights) if entries <= MOST_ENTRIES and not few else None

        def look_up(cells: NDArray[np.int64]) -> NDArray[np.float64]:
            if dense is not None:
                found = dense[tuple(cells.T)].reshape(len(cells), -1)
            else:
                found = _smooth_at(counted, weights, cells)
            total = found.sum(axis=1, keepdims=True)
            return np.asarray(np.divide(found, total, out=np.tile(overall, (len(cells), 1)), where=total > 0))

        said = "+".join(f"{b:g}" for b in self.bandwidth)
        return PersonPrior(counted.attributes, counted.sensitive, look_up, f"kernel regression, bandwidth {said}")

    def weights(self, attributes: tuple[Attribute, ...]) -> list[NDArray[np.float64]]:
        """Per attribute: (codes, codes) what a person with one value counts for a person with another, 1 if equal."""
        if len(self.bandwidth) not in (1, len(attributes)):
            raise UsageError(
                f"kernel: {len(self.bandwidth)} bandwidths for {len(attributes)} quasi-identifiers; "
                "give one, or one for each, joined by +"
            )
        widths = self.bandwidth * (len(attributes) if len(self.bandwidth) == 1 else 1)
        # The factor 3/(4B) is the same for everybody and cancels.
        return [np.maximum(1 - (distances_between(a) / b) ** 2, 0.0) for a, b in zip(attributes, widths, strict=True)]


def distances_between(attribute: Attribute) -> NDArray[np.float64]:
    """(codes, codes) distance of every two values, in [0, 1]: on the line, in the hierarchy, or 1 (Li 2010, p. 68)."""
    if attribute.codes > MOST_CODES:
        raise NotApplicable(
            f"{attribute.name} has {attribute.codes:,} values, over {MOST_CODES:,}; declare bins for it"
        )
    if attribute.kind is Kind.CATEGORICAL and attribute.hierarchy is None:
        return 1.0 - np.eye(attribute.codes)
    return geometry_of(attribute).between(attribute.codes)


def _smooth_domain(counted: CountedCells, weights: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """(codes of each attribute…, values) weighted counts at every cell of the domain."""
    shape = (*(a.codes for a in counted.attributes), counted.sensitive.codes)
    table = np.zeros(shape)
    table[(*counted.cells[counted.cell].T, counted.value)] = counted.count
    for axis, weight in enumerate(weights):
        if not np.array_equal(weight, np.eye(len(weight))):
            before, after = prod(shape[:axis]), prod(shape[axis + 1 :])
            table = np.matmul(weight, table.reshape(before, shape[axis], after)).reshape(shape)
    return table


def _smooth_at(
    counted: CountedCells, weights: list[NDArray[np.float64]], cells: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(cells, values) weighted counts at these cells only."""
    sizes = np.array([len(w) for w in weights], dtype=np.int64)
    offset = np.concatenate([[0], np.cumsum(sizes**2)])[:-1].astype(np.int64)
    flat = np.concatenate([w.ravel() for w in weights]) if weights else np.zeros(0)
    start = np.searchsorted(counted.cell, np.arange(len(counted.cells) + 1))
    out = np.zeros((len(cells), counted.sensitive.codes))
    smooth_cells(
        np.ascontiguousarray(cells), counted.cells, flat, offset, sizes, start, counted.value,
        counted.count.astype(np.float64), out,
    )  # fmt: skip
    return out

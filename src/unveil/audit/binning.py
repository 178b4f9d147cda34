"""Attributes of more values than readers can be asked about, in bins of the audit's own: coarse ones and fine ones.

Bins hold equally many people. Coarse ones show that a class has similar values, fine ones how closely a value is told.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role, canonical
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.data.table import Table

__all__ = ["COARSE", "FINE", "AttributeBins", "bins_of", "too_many_values"]

COARSE, FINE = 10, 100
MOST_VALUES = 1_000  # that a reader is asked about one by one


def too_many_values(attribute: Attribute) -> bool:
    """Whether an attribute has to be asked about in bins."""
    return attribute.codes > MOST_VALUES and attribute.role in (Role.SENSITIVE, Role.QUASI_IDENTIFIER)


class AttributeBins:
    """One attribute with the bin of each of its codes: turns releases and tables into those of bins."""

    def __init__(self, attribute: Attribute, bin_of: NDArray[np.int64], labels: Sequence[str]) -> None:
        self.name, self.of = attribute.name, bin_of  # (codes,)
        real = len(labels) - attribute.missing
        harmless = set(attribute.harmless)
        spared = [n for n in range(len(labels)) if set(np.flatnonzero(bin_of == n).tolist()) <= harmless]
        measured = attribute.kind.measured and attribute.low is not None and attribute.high is not None
        low = high = None
        if attribute.low is not None and attribute.high is not None:
            first = np.searchsorted(bin_of[: attribute.real], np.arange(real))
            low, high = attribute.low[first], attribute.high[np.append(first[1:], attribute.real) - 1]
        self.attribute = Attribute(
            f"{attribute.name} in {len(labels)} bins",
            attribute.role,
            attribute.kind if measured else Kind.CATEGORICAL,
            tuple(labels),
            missing=attribute.missing,
            low=low if measured else None,
            high=high if measured else None,
            binned=measured,
            source=attribute.source,
            harmless=tuple(spared),
        )

    def release(self, release: Release) -> Release:
        """The release with bins in the attribute's place."""
        index = release.index(self.name)
        held = release.regions[index]
        members = [np.unique(self.of[held.members(region)]) for region in range(len(held))]
        regions = [*release.regions]
        regions[index] = Regions.sets(self.attribute.codes, members)
        parts = [
            BlockRows(
                block.attributes,
                block.group,
                tuple(block.region(i).astype(np.int64) for i in block.attributes),
                block.count,
            )
            for block in release.blocks
        ]
        others = {i: one for i, one in release.perturbed.items() if i != index}
        return build_release(self._attributes(release.attributes, index), regions, parts, others, release.method)[0]

    def table(self, table: Table) -> Table:
        """The table with bins in the attribute's place."""
        index = table.index(self.name)
        column = self.of[table.columns[index].astype(np.int64)].astype(self.attribute.dtype)
        columns = (*table.columns[:index], column, *table.columns[index + 1 :])
        return replace(table, attributes=self._attributes(table.attributes, index), columns=columns)

    def _attributes(self, attributes: Sequence[Attribute], index: int) -> tuple[Attribute, ...]:
        return (*attributes[:index], self.attribute, *attributes[index + 1 :])


def bins_of(attribute: Attribute, release: Release, table: Table | None, bins: int) -> AttributeBins:
    """At most this many bins of an attribute, with about as many people each; of categories, kinds by frequency."""
    if table is not None:
        counts = np.bincount(table.columns[table.index(attribute.name)], minlength=attribute.codes).astype(np.float64)
    else:
        index = release.index(attribute.name)
        block, held = release.block_of(index), release.regions[index]
        share = np.bincount(block.region(index), weights=block.count, minlength=len(held)) / held.sizes
        counts = np.zeros(attribute.codes)
        for region in np.flatnonzero(share).tolist():
            counts[held.members(region)] += share[region]
    real = attribute.real
    order = np.arange(real) if attribute.kind.ordered else np.argsort(-counts[:real], kind="stable")
    before = np.cumsum(counts[order]) - counts[order] / 2
    place = np.minimum(before * bins / max(counts[:real].sum(), 1), bins - 1).astype(np.int64)
    of_order = np.unique(place, return_inverse=True)[1]
    bin_of = np.empty(attribute.codes, dtype=np.int64)
    bin_of[order] = of_order
    made = int(of_order.max()) + 1
    labels = []
    for number in range(made):
        inside = order[of_order == number]
        if attribute.kind.measured and attribute.low is not None and attribute.high is not None:
            low, high = float(attribute.low[inside[0]]), float(attribute.high[inside[-1]])
            labels.append(f"[{canonical(low, attribute.kind)},{canonical(high, attribute.kind)}]")
        else:
            first, last = attribute.values[inside[0]], attribute.values[inside[-1]]
            labels.append(first if len(inside) == 1 else f"{first} … {last}")
    if attribute.missing:
        bin_of[real:] = made
        labels.append(attribute.values[-1])
    return AttributeBins(attribute, bin_of, labels)

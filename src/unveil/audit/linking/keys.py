"""Keys: the cells whose uniqueness is asked about, of a release or of the original."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.regions import Regions
from unveil.data.release import Release, row_numbers
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError
from unveil.risk.uniqueness import KeyCounts, count_keys, key_counts

__all__ = ["Keys", "keys_of_original", "keys_of_release"]


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """Cells, whose they are, and how a person's values are found in them."""

    of: str  # "release" or "original"
    counts: KeyCounts
    cell_value: tuple[NDArray[np.int64], ...]  # per key: (codes,) the key's value of each code; -1 = of no cell
    suppressed: int = 0  # rows that have no cell

    def in_population(self, population: Table) -> NDArray[np.int64]:
        """(cells,) people of the population in each cell."""
        cell = self.cells_of(population)
        return np.bincount(cell[cell >= 0], minlength=len(self.counts.count))

    def cells_of(self, people: Table) -> NDArray[np.int64]:
        """(people,) the cell of each, -1 for none."""
        counts = self.counts
        columns = []
        for name, value in zip(counts.names, self.cell_value, strict=True):
            place = people.index(name)
            if people.attributes[place].codes != len(value):
                raise UsageError(f"the population's domain of {name} is not the release's; declare it in the schema")
            columns.append(value[people.columns[place]])
        fits = np.logical_and.reduce([column >= 0 for column in columns])
        both = [np.concatenate([value, column[fits]]) for value, column in zip(counts.values, columns, strict=True)]
        number = row_numbers(both)
        here = np.full(int(number.max()) + 1, -1, dtype=np.int64)
        here[number[: len(counts.count)]] = np.arange(len(counts.count))
        found = np.full(len(fits), -1, dtype=np.int64)
        found[fits] = here[number[len(counts.count) :]]
        return found


def keys_of_release(
    release: Release, names: Sequence[str], *, fraction: float | None, table: Table | None = None
) -> Keys:
    """The published cells, where every value lies in one of them at most; suppressed rows have none.

    `table`: the original, whose weights say for how many of the population a cell's people stand, unless the fraction
    is given.
    """
    if release.perturbed:
        raise NotApplicable("the values of a masked table need not be those of anybody in the population")
    places = [release.index(name) for name in names]
    blocks = [b for b in release.blocks if any(i in b.attributes for i in places)]
    if len(blocks) > 1:
        raise NotApplicable("the attributes known stand in several blocks, so that no row has them all")
    block = blocks[0]
    cells = [block.region(i) for i in places]
    wide = [i for i in places if release.attributes[i].codes > 1]
    lost = [release.regions[i].whole[block.region(i)] for i in wide]
    shown = ~np.logical_and.reduce(lost) if lost else np.ones(len(block.cell), dtype=bool)
    if not shown.any():
        raise NotApplicable("every row is suppressed")
    values = [
        _value_of_code(release.regions[i], np.unique(cell[shown]), release.attributes[i].name)
        for i, cell in zip(places, cells, strict=True)
    ]
    times = block.count[shown]
    columns = [np.repeat(cell[shown], times) for cell in cells]
    codes = [len(release.regions[i]) for i in places]
    weighted = table if fraction is None else None
    if weighted is not None and weighted.weight is not None:
        fraction = min(weighted.rows / float(weighted.weight.sum()), 1.0)
    counts = count_keys([release.attributes[i].name for i in places], codes, columns, fraction=fraction)
    keys = Keys("release", counts, tuple(values), int(block.count[~shown].sum()))
    if weighted is None or weighted.weight is None:
        return keys
    cell = keys.cells_of(weighted)
    people = np.bincount(cell[cell >= 0], minlength=len(counts.count))
    total = np.bincount(cell[cell >= 0], weights=weighted.weight[cell >= 0], minlength=len(counts.count))
    mean = np.where(people > 0, total / np.maximum(people, 1), weighted.weight.mean())
    return replace(keys, counts=replace(counts, weight=np.maximum(mean * counts.count, counts.count)))


def keys_of_original(table: Table, names: Sequence[str], *, fraction: float | None) -> Keys:
    """The cells of the original's own values."""
    counts = key_counts(table, names, fraction=fraction)
    return Keys("original", counts, tuple(np.arange(codes, dtype=np.int64) for codes in counts.codes))


def _value_of_code(regions: Regions, used: NDArray[np.integer], name: str) -> NDArray[np.int64]:
    """(codes,) the region that holds each code; -1 = none."""
    times, value = np.zeros(regions.codes, dtype=np.int64), np.full(regions.codes, -1, dtype=np.int64)
    for region in used.tolist():
        members = regions.members(region)
        times[members] += 1
        value[members] = region
    if (times > 1).any():
        raise NotApplicable(f"the published cells of {name} overlap, so that a person of the population fits several")
    return value

"""How many rows fit a predicate: truly, and as a release leads one to expect.

Inside a region every value is equally likely; inside a group every matching of its blocks' cells is. Then the rows of
group g expected to fit are |g| × the product over blocks of the mean fit of the block's cells, where a cell fits by
the share of its region that the predicate accepts, attribute by attribute. An attribute that is not published is `*`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.regions import Regions
from unveil.data.release import Block, Release, distinct_rows, example_rows, row_numbers
from unveil.data.table import Table
from unveil.errors import UsageError
from unveil.kernels.expected import fit_groups, fit_regions

__all__ = ["Predicates", "expected_counts", "expected_values", "true_counts", "true_values"]

NUMBERS_AT_ONCE = 1 << 22  # of the largest array of one piece of predicates

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Predicates:
    """Conjunctions "A in V and B in W and …", many at once."""

    attributes: tuple[Attribute, ...]
    accepts: tuple[NDArray[np.bool_], ...]  # per attribute: (predicates, codes) which values are accepted

    def __post_init__(self) -> None:
        if not self.accepts or len(self.attributes) != len(self.accepts):
            raise UsageError("predicates need at least one attribute, each with the values that it accepts")
        for attribute, accepted in zip(self.attributes, self.accepts, strict=True):
            if accepted.shape != (len(self), attribute.codes):
                raise UsageError(
                    f"{attribute.name}: accepted values must be an array of {len(self)} predicates × "
                    f"{attribute.codes} values, not {accepted.shape}"
                )
            accepted.flags.writeable = False

    def __len__(self) -> int:
        return len(self.accepts[0])

    def take(self, which: NDArray[np.integer] | slice) -> "Predicates":
        """These predicates in this order."""
        return Predicates(self.attributes, tuple(accepted[which] for accepted in self.accepts))


@dataclass(frozen=True, slots=True)
class _BlockCells:
    """The cells of one block as far as the predicates and the attribute asked about see them."""

    places: tuple[int, ...]  # the attributes of the predicates that restrict it
    regions: tuple[Regions, ...]  # per attribute
    cell: NDArray[np.int32]  # (cells, attributes) region numbers
    entry_cell: NDArray[np.int64]  # (entries,)
    entry_group: NDArray[np.int64]  # (entries,)
    entry_region: NDArray[np.int64]  # (entries,) of the attribute asked about
    entry_count: Floats  # (entries,)


def true_counts(table: Table, predicates: Predicates) -> Floats:
    """(predicates,) rows of the table that fit."""
    return _summed(predicates, [_table_part(table, predicates, None)], np.ones(1), None, 1)[:, 0]


def true_values(table: Table, predicates: Predicates, attribute: str) -> Floats:
    """(predicates, codes) rows of the table that fit, by their value of one attribute."""
    index = table.index(attribute)
    part = _table_part(table, predicates, index)
    found = _summed(predicates, [part], np.ones(1), 0, table.attributes[index].codes)
    return found * _accepted(predicates, attribute)


def expected_counts(release: Release, predicates: Predicates) -> Floats:
    """(predicates,) rows that the release leads one to expect to fit."""
    blocks = _blocks(release, predicates, None)
    if not blocks:
        return release.rows * _unpublished(release, predicates)
    parts = [_release_part(release, block, predicates, None, alone=len(blocks) == 1) for block in blocks]
    found = _summed(predicates, parts, release.sizes.astype(np.float64), None, 1)
    return found[:, 0] * _unpublished(release, predicates)


def expected_values(release: Release, predicates: Predicates, attribute: str) -> Floats:
    """(predicates, codes) expected rows that fit, by their value of one attribute (any value of a wide region)."""
    index = release.index(attribute)
    blocks = _blocks(release, predicates, index)
    holder = next(place for place, block in enumerate(blocks) if index in block.attributes)
    parts = [_release_part(release, block, predicates, index, alone=len(blocks) == 1) for block in blocks]
    regions = release.regions[index]
    found = _summed(predicates, parts, release.sizes.astype(np.float64), holder, len(regions))
    by_value = (_uniform(regions).T @ found.T).T
    return np.asarray(by_value * _accepted(predicates, attribute) * _unpublished(release, predicates)[:, None])


def _blocks(release: Release, predicates: Predicates, asked: int | None) -> list[Block]:
    """The blocks that matter: those with an attribute of the predicates, or the one asked about."""
    names = {a.name for a in predicates.attributes}
    wanted = {i for i, a in enumerate(release.attributes) if a.name in names} | (
        {asked} if asked is not None else set()
    )
    return [block for block in release.blocks if wanted & set(block.attributes)]


def _unpublished(release: Release, predicates: Predicates) -> Floats:
    """(predicates,) the share accepted of attributes that the release does not hold: they are `*`."""
    names = {a.name for a in release.attributes}
    share = np.ones(len(predicates))
    for attribute, accepted in zip(predicates.attributes, predicates.accepts, strict=True):
        if attribute.name not in names:
            share *= accepted.mean(axis=1)
    return share


def _accepted(predicates: Predicates, attribute: str) -> Floats:
    """(predicates, codes) or (1, 1): what the predicates accept of the attribute asked about itself."""
    for other, accepted in zip(predicates.attributes, predicates.accepts, strict=True):
        if other.name == attribute:
            return accepted.astype(np.float64)
    return np.ones((1, 1))


def _table_part(table: Table, predicates: Predicates, asked: int | None) -> _BlockCells:
    """The table as one block of single values, equal rows as one."""
    places = [p for p, a in enumerate(predicates.attributes) if asked is None or a.name != table.attributes[asked].name]
    columns = [table.column_of(predicates.attributes[p]) for p in places]
    row, count = distinct_rows([*columns, *([table.columns[asked]] if asked is not None else [])])
    region = np.zeros(len(row), np.int64) if asked is None else table.columns[asked][row].astype(np.int64)
    regions = tuple(Regions.singles(predicates.attributes[p].codes) for p in places)
    cell = np.stack([c[row] for c in columns], axis=1) if columns else np.zeros((len(row), 0))
    nothing = np.zeros(len(row), np.int64)
    each = np.arange(len(row), dtype=np.int64)
    return _BlockCells(tuple(places), regions, cell.astype(np.int32), each, nothing, region, count.astype(np.float64))


def _release_part(
    release: Release, block: Block, predicates: Predicates, asked: int | None, *, alone: bool
) -> _BlockCells:
    """One block; groups matter only where several blocks meet (`alone`: they do not)."""
    places, indices = [], []
    for place, attribute in enumerate(predicates.attributes):
        index = next((i for i in block.attributes if release.attributes[i].name == attribute.name), None)
        if index is None or index == asked:
            continue
        if release.attributes[index].values != attribute.values:
            raise UsageError(f"the predicates know another domain of {attribute.name} than the release")
        places.append(place)
        indices.append(index)
    columns = [block.cells[:, block.attributes.index(i)] for i in indices]
    number = row_numbers(columns) if columns else np.zeros(len(block.cells), dtype=np.int64)
    cell = np.zeros((int(number.max()) + 1, len(columns)), dtype=np.int32)
    for place, column in enumerate(columns):
        cell[number, place] = column
    group = np.zeros(len(block.cell), dtype=np.int64) if alone else block.group
    holds = asked is not None and asked in block.attributes
    region = block.region(asked).astype(np.int64) if holds and asked is not None else np.zeros_like(group)
    entry = row_numbers([group, number[block.cell], region])
    first = example_rows(entry)
    count = np.bincount(entry, weights=block.count).astype(np.float64)
    regions = tuple(release.regions[i] for i in indices)
    return _BlockCells(tuple(places), regions, cell, number[block.cell][first], group[first], region[first], count)


def _summed(predicates: Predicates, parts: list[_BlockCells], sizes: Floats, holder: int | None, width: int) -> Floats:
    """(predicates, width) expected rows, in all (width 1) or by the region that the holding part is asked about."""
    groups = len(sizes) if len(parts) > 1 else 1
    found = np.zeros((len(predicates), width))
    widest = max(groups, width, *(sum(r.codes + len(r) for r in part.regions) for part in parts))
    step = max(NUMBERS_AT_ONCE // widest, 1)
    for start in range(0, len(predicates), step):
        piece = slice(start, start + step)
        here = len(range(*piece.indices(len(predicates))))
        weight = np.ones((here, groups)) / (sizes ** (len(parts) - 1) if len(parts) > 1 else 1.0)
        for place, part in enumerate(parts):
            if place != holder:
                fits = np.zeros((here, groups))
                _fit(part, predicates, piece, None, fits)
                weight *= fits
        if holder is None:
            found[piece, 0] = weight.sum(axis=1)
        else:
            _fit(parts[holder], predicates, piece, weight, found[piece])
    return found


def _fit(part: _BlockCells, predicates: Predicates, piece: slice, weight: Floats | None, found: Floats) -> None:
    """Add the part's fits to (predicates, groups) or, with a weight for each group, to (predicates, regions)."""
    rows = len(predicates.accepts[0][piece])
    start = np.cumsum([0, *(len(r) for r in part.regions)]).astype(np.int64)
    share = np.ones((rows, int(start[-1])))  # of each region, attribute by attribute, that a predicate accepts
    used = np.zeros((rows, len(part.places)), dtype=np.bool_)
    for column, (place, regions) in enumerate(zip(part.places, part.regions, strict=True)):
        accepted = predicates.accepts[place][piece]
        used[:, column] = ~accepted.all(axis=1)
        total = regions.totals(np.ascontiguousarray(accepted.T, dtype=np.float64))
        share[:, start[column] : start[column + 1]] = (total / regions.sizes[:, None]).T
    cell, of, group, count = part.cell, part.entry_cell, part.entry_group, part.entry_count
    room = np.empty(len(cell))
    if weight is None:
        fit_groups(share, used, start, cell, of, group, count, room, found)
    else:
        fit_regions(share, used, start, cell, of, group, count, part.entry_region, weight, room, found)


def _uniform(regions: Regions) -> Any:
    """(regions, codes) sparse: the share of a region that each of its codes is."""
    from scipy.sparse import csr_array

    sizes = regions.sizes
    start = np.concatenate([[0], np.cumsum(sizes)])
    code = np.concatenate([regions.members(number) for number in range(len(regions))])
    return csr_array((np.repeat(1.0 / sizes, sizes), code, start), shape=(len(regions), regions.codes))

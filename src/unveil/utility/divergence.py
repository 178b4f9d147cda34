"""How far the distribution that a release suggests lies from the original's, cell by cell of the domain."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.belief import Estimate
from unveil.data.regions import Regions
from unveil.data.release import Block, Release, distinct_rows, example_rows, row_numbers
from unveil.data.table import Table
from unveil.errors import NotApplicable
from unveil.kernels.expected import match_points
from unveil.utility._asked import check_pair

__all__ = ["kl_divergence"]


def kl_divergence(release: Release, table: Table, *, attributes: Sequence[str] | None = None) -> Estimate:
    """Kullback-Leibler divergence, in nats, of the suggested from the original distribution (Kifer and Gehrke 2006).

    Over the joint distribution of the quasi-identifiers and sensitive attributes, or of those named: the mean over
    the original's rows of ln(p / p'), with p' as in unveil.utility.predicates. Infinite if the release says of an
    original row that it cannot be there.
    """
    check_pair(release, table)
    chosen = _chosen(release, table, attributes)
    row, count = distinct_rows([table.column_of(release.attributes[i]) for i in chosen])
    points = [table.column_of(release.attributes[i])[row].astype(np.int64) for i in chosen]
    expected = _expected(release, chosen, points)
    p, suggested = count / table.rows, expected / release.rows
    if (suggested <= 0).any():
        return Estimate.exact(np.inf)
    return Estimate.exact(max(float((p * np.log(p / suggested)).sum()), 0.0))


def _chosen(release: Release, table: Table, attributes: Sequence[str] | None) -> list[int]:
    if attributes is None:
        roles = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)
        chosen = [i for i, a in enumerate(release.attributes) if a.role in roles]
    else:
        chosen = [release.index(name) for name in dict.fromkeys(attributes)]
    if not chosen:
        raise NotApplicable(
            "no quasi-identifier and no sensitive attribute is published; name the attributes to compare"
        )
    return chosen


def _expected(release: Release, chosen: list[int], points: list[NDArray[np.int64]]) -> NDArray[np.float64]:
    """(points,) expected rows equal to each point: sum over groups of |g| × the blocks' mean fits."""
    fits, numbers = [], []
    for block in release.blocks:
        places = [place for place, index in enumerate(chosen) if index in block.attributes]
        if places:
            own = [points[place] for place in places]
            number = row_numbers(own)
            first = example_rows(number)
            fits.append(_fits(release, block, [chosen[place] for place in places], [column[first] for column in own]))
            numbers.append(number)
    # Pairs of point and group from the block that leaves the fewest; the other blocks are looked up in these.
    pairs = [int(np.diff(fit.indptr)[number].sum()) for fit, number in zip(fits, numbers, strict=True)]
    lead = int(np.argmin(pairs))
    found = fits[lead][numbers[lead]].tocoo()
    point, group = found.coords
    value = found.data * release.sizes[group].astype(np.float64) ** (1 - len(fits))
    for place, (fit, number) in enumerate(zip(fits, numbers, strict=True)):
        if place != lead:
            value = value * _looked_up(fit, number[point], group)
    return np.bincount(point, weights=value, minlength=len(points[0])).astype(np.float64)


def _looked_up(fit: Any, row: NDArray[np.int64], column: NDArray[np.integer]) -> NDArray[np.float64]:
    """Entries of a sparse array; 0 where it has none."""
    fit.sort_indices()
    width = fit.shape[1]
    stored = np.repeat(np.arange(fit.shape[0], dtype=np.int64), np.diff(fit.indptr)) * width + fit.indices
    wanted = row * width + column
    place = np.minimum(np.searchsorted(stored, wanted), max(len(stored) - 1, 0))
    return np.where(stored[place] == wanted, fit.data[place], 0.0) if len(stored) else np.zeros(len(wanted))


def _fits(release: Release, block: Block, chosen: list[int], points: list[NDArray[np.int64]]) -> Any:
    """(points, groups) sparse: expected rows of a block in a group that are equal to each point."""
    from scipy.sparse import csr_array

    columns = [block.cells[:, block.attributes.index(i)].astype(np.int64) for i in chosen]
    number = row_numbers(columns)
    first = example_rows(number)
    cell = np.stack([column[first] for column in columns], axis=1)
    known = np.stack(points, axis=1)
    target, place = _matched([release.regions[i] for i in chosen], cell, known)
    chance = np.prod([1.0 / release.regions[i].sizes[c] for i, c in zip(chosen, cell.T, strict=True)], axis=0)
    fits = csr_array((chance[place], (target, place)), shape=(len(known), len(cell)))
    shown = csr_array(
        (block.count.astype(np.float64), (number[block.cell], block.group)), shape=(len(cell), release.groups)
    )
    return (fits @ shown).tocsr()


def _matched(
    regions: list[Regions], cell: NDArray[np.int64], point: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every point with every cell that holds it. Cost: the pairs that the most telling attribute leaves."""
    listings = [_listing(r, cell[:, a]) for a, r in enumerate(regions)]
    left = [int(np.diff(start)[point[:, a]].sum()) for a, start in enumerate(listings)]
    lead = int(np.argmin(left))
    start = listings[lead]
    members = [regions[lead].members(r) for r in range(len(regions[lead]))]
    sizes = regions[lead].sizes[cell[:, lead]]
    code = np.concatenate([members[r] for r in cell[:, lead]])
    listed = np.repeat(np.arange(len(cell)), sizes)[np.argsort(code, kind="stable")].astype(np.int64)
    begin = np.cumsum([0, *(len(r) for r in regions)])[:-1].astype(np.int64)
    run_start = np.concatenate([[0], *(np.diff(r.start) for r in regions)]).cumsum().astype(np.int64)
    low, high = (np.concatenate([getattr(r, end) for r in regions]).astype(np.int64) for end in ("low", "high"))
    nothing = np.empty(0, dtype=np.int64)
    pairs = match_points(point, cell, begin, run_start, low, high, lead, start, listed, nothing, nothing)
    target, place = np.empty(pairs, dtype=np.int64), np.empty(pairs, dtype=np.int64)
    match_points(point, cell, begin, run_start, low, high, lead, start, listed, target, place)
    return target, place


def _listing(regions: Regions, number: NDArray[np.int64]) -> NDArray[np.int64]:
    """(codes + 1,) where the list of each code's cells begins, from the region numbers of the cells."""
    cells = np.bincount(number, minlength=len(regions))
    change = np.zeros(regions.codes + 1, dtype=np.int64)
    weight = np.repeat(cells, regions.runs)
    np.add.at(change, regions.low, weight)
    np.add.at(change, regions.high + 1, -weight)
    return np.concatenate([[0], np.cumsum(np.cumsum(change)[:-1])]).astype(np.int64)

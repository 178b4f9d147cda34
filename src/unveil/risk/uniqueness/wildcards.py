"""Counts in which a withheld cell stands for every value, as sdcMicro counts; and the risk of households."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.fits import block_fits
from unveil.data.attribute import Role
from unveil.data.belief import Known, Targets
from unveil.data.release import BlockRows, Release, build_release, example_rows, row_numbers
from unveil.data.table import Table
from unveil.errors import NotApplicable
from unveil.privacy.wildcards import wildcard_sums
from unveil.risk.uniqueness.estimators import CellRisk, benedetti_franconi_of

__all__ = ["WildcardCounts", "household_risk", "wildcard_counts"]


@dataclass(frozen=True, slots=True, eq=False)
class WildcardCounts:
    """Published rows with equal cells, and how many rows and people each may be among."""

    rows: NDArray[np.int64]  # (cells,)
    count: NDArray[np.float64]  # (cells,) f: rows that agree where both show a cell
    weight: NDArray[np.float64]  # (cells,) F: people of the population whom these stand for

    @property
    def k(self) -> int:
        """The least f of a row that shows anything."""
        return int(self.count.min())

    def risk(self) -> CellRisk:
        """E[1/F] of each cell (Benedetti, Franconi 1998)."""
        return benedetti_franconi_of(self.count, self.weight)

    def mean_risk(self) -> float:
        """Over all rows: sdcMicro's global risk."""
        return float((self.risk().risk * self.rows).sum() / self.rows.sum())


def household_risk(risk: NDArray[np.floating], household: NDArray[np.integer]) -> NDArray[np.float64]:
    """(people,) the chance that somebody of their household is found: 1 less the product of 1 - risk (sdcMicro)."""
    number = np.unique(household, return_inverse=True)[1]
    with np.errstate(divide="ignore"):  # who is found for certain
        missed = np.bincount(number, weights=np.log1p(-np.minimum(risk, 1.0)))
    return np.asarray(-np.expm1(missed)[number])


def wildcard_counts(
    release: Release,
    table: Table | None = None,
    *,
    fraction: float | None = None,
    names: Sequence[str] | None = None,
    alpha: float = 1.0,
) -> WildcardCounts:
    """The cells of the quasi-identifiers with `*` as a wildcard; rows that show nothing at all are left out.

    People stand for as many of the population as the weights of those who fit a cell say, on average; without weights
    for 1 / fraction. `alpha` is sdcMicro's: how much a row that withholds cells counts for rows unlike it; with 0 such
    a row is still among the complete rows that it agrees with, but hides nobody else.
    """
    chosen = release.with_role(Role.QUASI_IDENTIFIER) if names is None else [release.index(n) for n in names]
    places = [i for i in chosen if release.attributes[i].codes > 1]
    blocks = [b for b in release.blocks if any(i in b.attributes for i in places)]
    if len(blocks) != 1:
        raise NotApplicable("no row shows all quasi-identifiers")
    block = blocks[0]
    number = row_numbers([block.region(i) for i in places])
    first = example_rows(number)
    regions = [block.region(i)[first] for i in places]
    blank = [release.regions[i].whole[r] for i, r in zip(places, regions, strict=True)]
    rows = np.bincount(number, weights=block.count).astype(np.int64)
    shown = ~np.logical_and.reduce(blank)
    if not shown.any() or not np.logical_or.reduce(blank)[shown].any():
        raise NotApplicable("no row shows some of its cells and withholds others")
    rows, first = rows[shown], first[shown]
    regions, blank = [r[shown] for r in regions], [b[shown] for b in blank]
    each = np.full(len(rows), 1.0 if fraction is None else 1 / fraction)
    if fraction is None and table is not None and table.weight is not None:
        each = _mean_weights(release, places, regions, table)
    own = [rows.astype(np.float64), rows * each]
    count, weight = wildcard_sums(regions, blank, *own)
    if alpha < 1:
        partial = np.logical_or.reduce(blank)
        complete = wildcard_sums(regions, blank, *(np.where(partial, 0.0, part) for part in own))
        count, weight = (
            alpha * every + (1 - alpha) * (shown_only + np.where(partial, part, 0.0))
            for every, shown_only, part in zip((count, weight), complete, own, strict=True)
        )
    return WildcardCounts(rows, count, np.maximum(weight, count))


def _mean_weights(
    release: Release, places: Sequence[int], regions: Sequence[NDArray[np.integer]], table: Table
) -> NDArray[np.float64]:
    """(cells,) the mean weight of the people of the original who fit each cell; of nobody: everybody's."""
    assert table.weight is not None
    overall = float(table.weight.mean())
    cells = len(regions[0])
    if np.ptp(table.weight) == 0:
        return np.full(cells, overall)
    attributes = [release.attributes[i] for i in places]
    part = BlockRows(tuple(range(len(places))), np.arange(cells), tuple(regions))
    made, new = build_release(attributes, [release.regions[i] for i in places], [part])
    known = {k: Known.exactly(a, table.columns[table.index(a.name)]) for k, a in enumerate(attributes)}
    distinct, kind = Targets(-1, known, table.rows).distinct()
    fits = block_fits(made, made.blocks[0], distinct)
    times = np.bincount(kind, minlength=distinct.count)
    total = np.bincount(kind, weights=table.weight, minlength=distinct.count)
    people = np.bincount(fits.group, weights=times[fits.target], minlength=cells)
    weight = np.bincount(fits.group, weights=total[fits.target], minlength=cells)
    mean = np.where(people > 0, weight / np.maximum(people, 1), overall)
    return np.asarray(mean[new])

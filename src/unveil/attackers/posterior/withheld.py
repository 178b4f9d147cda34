"""Rows whose sensitive value is withheld: suppressed, or widened to several."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import Release, row_numbers
from unveil.errors import NotApplicable

__all__ = ["Withheld", "find_withheld"]

MOST_WITHHELD = 1000  # rows that hold a value of their own, each one column of every matching


@dataclass(frozen=True, slots=True, eq=False)
class Withheld:
    """Rows whose sensitive value is widened: by own cell and region, the columns beyond the values."""

    column: NDArray[np.int64]  # (entries of the sensitive block,) which kind of withheld row, -1 = none
    entry: NDArray[np.int64]  # (kinds,) an entry of each kind
    allowed: NDArray[np.bool_]  # (kinds, values)
    rows: NDArray[np.int64]  # (kinds,) how many rows
    by_row: bool = False  # whether each row is a kind of its own and holds a current value; `column` is empty then


def find_withheld(release: Release, asked: int, value: NDArray[np.int64]) -> Withheld:
    """Of a release; `value` (entries of the sensitive block,) is the published one, -1 = withheld."""
    block, regions = release.block_of(asked), release.regions[asked]
    which = np.flatnonzero(value < 0)
    column = np.full(len(value), -1, dtype=np.int64)
    if not len(which):
        return Withheld(column, which, np.zeros((0, regions.codes), dtype=bool), np.zeros(0, dtype=np.int64))
    if len(release.blocks) > 2:
        return _withheld_by_row(release, asked, which)
    column[which] = row_numbers(
        [block.cell[which].astype(np.int64)]
    )  # a cell holds the region and what stands beside it
    kinds = int(column.max()) + 1
    entry = np.zeros(kinds, dtype=np.int64)
    entry[column[which]] = which
    allowed = np.zeros((kinds, regions.codes), dtype=bool)
    for kind in range(kinds):
        allowed[kind, regions.members(int(block.region(asked)[entry[kind]]))] = True
    rows = np.bincount(column[which], weights=block.count[which], minlength=kinds).astype(np.int64)
    return Withheld(column, entry, allowed, rows)


def _withheld_by_row(release: Release, asked: int, which: NDArray[np.int64]) -> Withheld:
    block, regions = release.block_of(asked), release.regions[asked]
    entry = np.repeat(which, block.count[which])
    if len(entry) > MOST_WITHHELD:
        raise NotApplicable(
            f"{len(entry):,} withheld sensitive values in a release of three blocks or more are over {MOST_WITHHELD:,}"
        )
    allowed = np.zeros((len(entry), regions.codes), dtype=bool)
    for row, region in enumerate(block.region(asked)[entry].tolist()):
        allowed[row, regions.members(region)] = True
    return Withheld(np.empty(0, dtype=np.int64), entry, allowed, np.ones(len(entry), dtype=np.int64), by_row=True)

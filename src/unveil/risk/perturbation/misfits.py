"""Rows that cannot be true of the people they are about: the pigeonhole principle, column by column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.fits import block_fits
from unveil.data.attribute import Role
from unveil.data.belief import Known, Targets
from unveil.data.release import Block, BlockRows, Release, build_release, example_rows, row_numbers
from unveil.errors import NotApplicable

__all__ = ["Cells", "blamed", "contradicted", "misfits", "outside", "shown_cells"]

FEW = 0.5  # of a column's cells are wide, at most, if it shows single values
MOST_PAIRS = 20_000_000  # of a cell of a group and a value that its people have
TOLERATED = 0.01  # of the rows: a few corrections of the data are not a perturbed column

Cells = tuple[Release, NDArray[np.int64], NDArray[np.int64]]


def tolerated(rows: int, people: int) -> float:
    """How many rows may misfit before a column is doubted; copies and made-up rows are another check's."""
    return max(3.0, TOLERATED * rows) + max(rows - people, 0)


def shown_cells(release: Release, block: Block, kept: Sequence[int]) -> Cells:
    """The distinct cells of these attributes as a release of one row each, (cells,) rows, (entries,) cell of each."""
    columns = [block.region(i) for i in kept]
    number = row_numbers(columns, len(block.cell))
    first = example_rows(number)
    part = BlockRows(tuple(range(len(kept))), np.arange(len(first)), tuple(c[first] for c in columns))
    made, new = build_release([release.attributes[i] for i in kept], [release.regions[i] for i in kept], [part])
    rows = np.zeros(len(first), dtype=np.int64)
    np.add.at(rows, new[number], block.count)
    return made, rows, new[number]


def placed(cells: Release, people: Sequence[NDArray[np.integer]]) -> tuple[NDArray[np.int64], ...]:
    """Which cells each kind of person fits: (fits,) kind, (fits,) cell, (kinds,) times, (people,) kind."""
    known = {i: Known.exactly(a, c) for i, (a, c) in enumerate(zip(cells.attributes, people, strict=True))}
    distinct, kind = Targets(-1, known, len(people[0])).distinct()
    fits = block_fits(cells, cells.blocks[0], distinct)
    return fits.target, fits.entry, np.bincount(kind, minlength=distinct.count), kind


def misfits(release: Release, block: Block, people: Mapping[int, NDArray[np.integer]], kept: Sequence[int]) -> int:
    """Rows that prove, by these attributes, that published cells do not hold the truth.

    Rows of a cell beyond the people who can have it; and people who can have suppressed rows alone, beyond those.
    Nobody need be told whose row is whose. 0 of every release whose cells hold the truth.
    """
    if not kept:
        return 0
    cells, rows, _ = shown_cells(release, block, kept)
    kind, cell, times, _ = placed(cells, [people[i] for i in kept])
    shown = cells.blocks[0]
    blank, missing = np.ones(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
    for i, attribute in enumerate(cells.attributes):
        region = shown.region(i)
        blank &= cells.regions[i].whole[region]
        if attribute.missing:  # another tool's NA may be a withheld value: it speaks against no column
            missing |= cells.regions[i].single()[region] == attribute.codes - 1
    blank |= missing
    fitting = np.bincount(cell, weights=times[kind], minlength=len(rows))
    lost = np.ones(len(times), dtype=bool)
    lost[kind[~blank[cell]]] = False
    total, everybody = int(rows.sum()), int(times.sum())
    unplaced = int(times[lost].sum()) - int(rows[blank].sum()) - max(everybody - total, 0)
    return max(unplaced, 0) + int(np.maximum(rows - fitting, 0)[~blank].sum())


def contradicted(
    release: Release, people: Mapping[int, NDArray[np.integer]], group: NDArray[np.integer]
) -> dict[int, int]:
    """Per attribute the rows that cannot be true of whoever is said to be in their group.

    Rows of a cell beyond the people of the group who fit it. Empty if whose row is whose is not to be believed: no
    quasi-identifier that tells something fits.
    """
    told = group >= 0
    at = np.asarray(group, dtype=np.int64)[told]
    absent = np.maximum(release.sizes - np.bincount(at, minlength=release.groups), 0)
    found, fits = {}, False
    for index, true in people.items():
        shown = _of_groups(release, index, true[told], at)
        whole = release.regions[index].whole[shown.region] & (release.regions[index].sizes[shown.region] > 1)
        fitting = np.bincount(shown.fit, shown.times[shown.fitting], len(shown.region))
        beyond = np.where(whole, 0, np.maximum(shown.rows - fitting, 0))
        beyond = np.bincount(shown.group, beyond, release.groups)
        found[index] = int(np.maximum(beyond - absent, 0).sum())
        tells = release.attributes[index].role is Role.QUASI_IDENTIFIER and not whole.all()
        fits |= tells and found[index] <= tolerated(release.rows, len(true))
    return found if fits else {}


def outside(release: Release, index: int, true: NDArray[np.integer], group: NDArray[np.integer]) -> int:
    """People of whom no cell of their group holds the value."""
    shown = _of_groups(release, index, true, np.asarray(group, dtype=np.int64))
    there = np.zeros(len(shown.times), dtype=bool)
    there[shown.fitting] = True
    return int(shown.times[~there].sum())


@dataclass(frozen=True, slots=True, eq=False)
class _InGroups:
    """What each group shows of one attribute, and who of its people fits which of these cells."""

    group: NDArray[np.int64]  # (cells,)
    region: NDArray[np.int64]  # (cells,)
    rows: NDArray[np.int64]  # (cells,)
    times: NDArray[np.int64]  # (kinds,) people of a group who have the same value
    fit: NDArray[np.int64]  # (fits,) a cell, and beside it
    fitting: NDArray[np.int64]  # (fits,) a kind whose value it holds


def _of_groups(release: Release, index: int, true: NDArray[np.integer], group: NDArray[np.int64]) -> _InGroups:
    block, regions, codes = release.block_of(index), release.regions[index], release.attributes[index].codes
    cell, number = np.unique(block.group * len(regions) + block.region(index), return_inverse=True)
    rows = np.bincount(number.ravel(), block.count).astype(np.int64)
    own, times = np.unique(group * codes + true.astype(np.int64), return_counts=True)
    of_cell, of_kind = cell // len(regions), own // codes
    first, last = (np.searchsorted(of_cell, of_kind, side=side) for side in ("left", "right"))
    pairs = last - first
    if pairs.sum() > MOST_PAIRS:
        raise NotApplicable("too many people fit too many cells")
    kind = np.repeat(np.arange(len(own)), pairs)
    at = np.repeat(first - (np.cumsum(pairs) - pairs), pairs) + np.arange(pairs.sum())
    held = regions.holds(cell[at] % len(regions), own[kind] % codes)
    return _InGroups(of_cell, cell % len(regions), rows, times, at[held], kind[held])


def blamed(
    release: Release, people: Mapping[int, NDArray[np.integer]], proved: Mapping[int, int] | None = None
) -> dict[int, int]:
    """The attributes that cannot show true values, each with the rows that prove it; none if all can.

    `proved`: rows that `contradicted` found, where whose row is whose is known: no other column is blamed. Otherwise
    the columns of each block are held against each other: those of different blocks stand in no row together.
    """
    allowed = tolerated(int(release.sizes.sum()), len(next(iter(people.values()), ())))
    found: dict[int, int] = {}
    for block in release.blocks:
        kept = [i for i in people if i in block.attributes and not release.regions[i].whole.all()]
        if proved:
            found |= {i: proved[i] for i in kept if proved[i] > allowed}
        elif kept:
            found |= _blamed_of(release, block, people, kept, allowed)
    return found


def _blamed_of(
    release: Release, block: Block, people: Mapping[int, NDArray[np.integer]], kept: list[int], allowed: float
) -> dict[int, int]:
    """Those of one block.

    A column whose own histogram cannot come from the original first; then, while cells and people still do not fit
    each other, the column without which they fit best. Of several without which they fit, one that shows single values:
    wide cells are seldom false; of these the one of fewest values, for what it then no longer tells is least.
    """
    together = misfits(release, block, people, kept)
    if together <= allowed:
        return {}
    alone = {i: misfits(release, block, people, [i]) for i in kept}
    found = {i: n for i, n in alone.items() if n > allowed}
    kept = [i for i in kept if i not in found]
    left = misfits(release, block, people, kept)
    while left > allowed and kept:
        without = {i: misfits(release, block, people, [j for j in kept if j != i]) for i in kept}
        enough = [i for i in kept if without[i] <= allowed]
        wide = {i: np.mean(release.regions[i].single()[block.region(i)] < 0) for i in enough}
        worst = min(enough, key=lambda i: (wide[i] > FEW, without[i], release.attributes[i].codes), default=None)
        worst = min(kept, key=lambda i: (without[i], -alone[i])) if worst is None else worst
        found[worst] = left - without[worst]
        kept, left = [i for i in kept if i != worst], without[worst]
    return found

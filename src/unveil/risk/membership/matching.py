"""How many groups of a release a person matches (Li 2010, section 4.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.fits import block_fits
from unveil.data.belief import Targets
from unveil.data.regions import rank_sequences
from unveil.data.release import Block, Release, example_rows, row_numbers
from unveil.errors import UsageError
from unveil.kernels.matching_groups import common_groups

__all__ = ["Matches", "MatchingProblem", "expected_rows", "fitting_cells", "fitting_groups", "matching_groups"]


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Of each target: groups in which every block holds a cell that fits, and the ways to pick such cells."""

    degree: NDArray[np.int64]  # (targets,)
    ways: NDArray[np.float64]  # (targets,) distinct cells of a group count once each


@dataclass(frozen=True, slots=True, eq=False)
class MatchingProblem:
    """What each target may fill, and how many rows there are to fill: groups, or the cells of a block."""

    start: NDArray[np.int64]  # (targets + 1,)
    unit: NDArray[np.int64]  # growing inside a target
    rows: NDArray[np.float64]  # (units,)

    def take(self, which: NDArray[np.int64]) -> "MatchingProblem":
        """These targets in this order."""
        length = np.diff(self.start)[which]
        start = np.concatenate([[0], np.cumsum(length)])
        place = np.repeat(self.start[which] - start[:-1], length) + np.arange(start[-1])
        return MatchingProblem(start, self.unit[place], self.rows)


def matching_groups(release: Release, targets: Targets) -> Matches:
    """A block of which nothing is known fits everybody. What is known is taken as right, whatever `wrong` says.

    Cost: block by block the distinct people and the cells they fit; then each person's rarest cell.
    """
    for index, known in targets.known.items():
        if not 0 <= index < len(release.attributes) or known.regions.codes != release.attributes[index].codes:
            raise UsageError("what is known of the targets does not fit the release's attributes")
    blocks = [b for b in release.blocks if any(i in targets.known for i in b.attributes)]
    if not blocks:
        every = np.full(targets.count, release.groups, dtype=np.int64)
        return Matches(every, every.astype(np.float64))
    return Matches(*common_groups(*_lists(release, blocks, targets)[:4], np.empty(0, dtype=np.int64)))


def expected_rows(release: Release, targets: Targets, shares: Mapping[int, NDArray[np.float64]]) -> NDArray[np.float64]:
    """(targets,) how many rows are expected to be each target's, blocks linked at random inside a group.

    What is known must be single values. A row with a wide cell is taken to hold the target's value in proportion to
    its `shares` among the cell's values.
    """
    blocks = [b for b in release.blocks if any(i in targets.known for i in b.attributes)]
    if not blocks:
        return np.full(targets.count, float(release.rows))
    which, start, group, copies, part = _lists(release, blocks, targets, shares)
    return np.asarray(common_groups(which, start, group, copies, np.empty(0, dtype=np.int64))[1] * part)


def fitting_groups(release: Release, targets: Targets) -> MatchingProblem:
    """The groups that each target matches; some block must tell of the targets."""
    blocks = [b for b in release.blocks if any(i in targets.known for i in b.attributes)]
    lists = _lists(release, blocks, targets)[:4]
    degree, _ = common_groups(*lists, np.empty(0, dtype=np.int64))
    found = np.empty(int(degree.sum()), dtype=np.int64)
    common_groups(*lists, found)
    return MatchingProblem(np.concatenate([[0], np.cumsum(degree)]), found, release.sizes.astype(np.float64))


def fitting_cells(release: Release, block: Block, targets: Targets) -> MatchingProblem:
    """The distinct cells of a block, in whatever groups, that each target fits."""
    cells, number = _cells_of(release, block, targets)
    return MatchingProblem(cells.fit_start, cells.fit, np.add.reduceat(cells.rows, cells.start[:-1])).take(number)


def _lists(
    release: Release,
    blocks: Sequence[Block],
    targets: Targets,
    shares: Mapping[int, NDArray[np.float64]] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """For each target its list in each block; the lists of groups, and how many cells of a group fit.

    With `shares`: in the first block how many rows, in the others the share of the group's rows; and last (targets,)
    what the numbers of rows are to be multiplied with.
    """
    which = np.empty((targets.count, len(blocks)), dtype=np.int64)
    starts, groups, copies = [np.zeros(1, dtype=np.int64)], [], []
    part = np.ones(targets.count)
    lists = entries = 0
    for place, block in enumerate(blocks):
        cells, number = _cells_of(release, block, targets)
        if shares is None:
            start, group, count, of_target = _by_cells(cells)
        else:
            start, group, count, of_target, share = _by_rows(release, cells, shares)
            part *= share[number]
            count = count / release.sizes[group] if place else count
        which[:, place] = of_target[number] + lists
        starts.append(start[1:] + entries)
        groups.append(group)
        copies.append(count)
        lists += len(start) - 1
        entries += len(group)
    return which, np.concatenate(starts), np.concatenate(groups), np.concatenate(copies), part


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The distinct cells of a block's known attributes: where they stand, and which of them distinct targets fit."""

    start: NDArray[np.int64]  # (cells + 1,)
    group: NDArray[np.int64]  # growing inside a cell
    rows: NDArray[np.float64]  # rows of the group that show the cell
    shown: Block  # every cell once
    targets: Targets
    fit_start: NDArray[np.int64]  # (targets + 1,)
    fit: NDArray[np.int64]  # cells, growing inside a target


def _cells_of(release: Release, block: Block, targets: Targets) -> tuple[_Cells, NDArray[np.int64]]:
    """The cells, and for each target which of the distinct ones it is."""
    known = {i: k for i, k in targets.known.items() if i in block.attributes}
    distinct, number_of_target = replace(targets, known=known).distinct()
    number = row_numbers([block.region(i) for i in known])
    count = int(number.max()) + 1
    first = example_rows(number)
    key, inverse = np.unique(number * release.groups + block.group, return_inverse=True)
    rows = np.bincount(inverse, weights=block.count).astype(np.float64)
    shown = Block(
        tuple(known),
        np.stack([block.region(i)[first] for i in known], axis=1),
        np.array([0, count], dtype=np.int64),
        np.arange(count, dtype=np.int32),
        np.ones(count, dtype=np.int64),
    )
    target, cell = _fits(release, shown, distinct)
    start, fit_start = _starts(key // release.groups, count), _starts(target, distinct.count)
    return _Cells(start, key % release.groups, rows, shown, distinct, fit_start, cell), number_of_target


def _starts(owner: NDArray[np.int64], owners: int) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=owners))])


def _by_cells(cells: _Cells) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Lists of groups, one for all targets who fit the same cells, with how many of them a group holds."""
    kind = rank_sequences(cells.fit_start, cells.fit)
    kinds = int(kind.max(initial=-1)) + 1
    first = example_rows(kind)
    owner, fit = _spans(np.arange(kinds), cells.fit_start[first], cells.fit_start[first + 1])
    owner, entry = _spans(owner, cells.start[cells.fit[fit]], cells.start[cells.fit[fit] + 1])
    groups = int(cells.group.max()) + 1
    key, count = np.unique(owner * groups + cells.group[entry], return_counts=True)
    return _starts(key // groups, kinds), key % groups, count.astype(np.float64), kind


def _by_rows(
    release: Release, cells: _Cells, shares: Mapping[int, NDArray[np.float64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Lists of groups with expected rows; where nobody fits two cells a list is a cell's, the target's share apart."""
    targets = cells.targets
    target = np.repeat(np.arange(targets.count), np.diff(cells.fit_start))
    part = np.ones(len(target))
    for i, known in targets.known.items():
        inside = release.regions[i].totals(shares[i])[cells.shown.region(i)[cells.fit]]
        part *= np.minimum(known.totals(shares[i])[known.of_target[target]] / inside, 1.0)
    if (np.diff(cells.fit_start) <= 1).all():
        which = np.full(targets.count, len(cells.start) - 1, dtype=np.int64)  # the empty list after all cells
        which[target] = cells.fit
        share = np.zeros(targets.count)
        share[target] = part
        return np.append(cells.start, cells.start[-1]), cells.group, cells.rows, which, share
    owner, entry = _spans(np.arange(len(target)), cells.start[cells.fit], cells.start[cells.fit + 1])
    groups = int(cells.group.max()) + 1
    key, inverse = np.unique(target[owner] * groups + cells.group[entry], return_inverse=True)
    rows = np.bincount(inverse, weights=part[owner] * cells.rows[entry]).astype(np.float64)
    return _starts(key // groups, targets.count), key % groups, rows, np.arange(targets.count), np.ones(targets.count)


def _spans(
    owner: NDArray[np.int64], start: NDArray[np.int64], stop: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every owner with every number of its span."""
    length = stop - start
    number = np.repeat(start - np.cumsum(length) + length, length) + np.arange(length.sum())
    return np.repeat(owner, length), number


def _fits(release: Release, block: Block, targets: Targets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Targets, each with the entries of the block that it fits; by looking values up where all are single."""
    columns = []
    for i, known in targets.known.items():
        theirs, mine = known.regions.single()[known.of_target], release.regions[i].single()[block.region(i)]
        if (theirs < 0).any() or (mine < 0).any():
            taken = {index: replace(k, wrong=0.0) for index, k in targets.known.items()}
            fits = block_fits(release, block, replace(targets, known=taken))
            return fits.target, fits.entry
        columns.append(np.concatenate([theirs, mine]))
    number = row_numbers(columns)
    wanted, shown = number[: targets.count], number[targets.count :]
    order = np.argsort(shown, kind="stable")
    first, last = (np.searchsorted(shown[order], wanted, side=side) for side in ("left", "right"))
    target, place = _spans(np.arange(targets.count), first, last)
    return target, order[place]

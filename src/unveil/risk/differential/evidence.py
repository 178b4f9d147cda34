"""What a release says about a target: how many rows have cells that hold the target's values (section 4.3's encoding).

Relative to a target every published cell becomes 1 (it holds the target's value) or 0. All that a count-based model
needs are counts of ones by sensitive value; a classifier gets the encoded rows themselves.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.release import Block, Release, example_rows, row_numbers

__all__ = ["Counts", "EncodedRows", "counts_of", "encoded_rows", "quasi_identifiers"]

ENTRIES_AT_ONCE = 1 << 24  # cells of a targets × rows table


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows by sensitive value, for each target: those whose cell holds its value, those all of whose cells do, all."""

    each: NDArray[np.float64]  # (targets, quasi-identifiers, values)
    joint: NDArray[np.float64]  # (targets, values)
    overall: NDArray[np.float64]  # (targets, values)


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """Distinct encoded rows, with how many rows each stands for: fractions where the link is hidden in a group."""

    ones: NDArray[np.bool_]  # (rows, quasi-identifiers)
    value: NDArray[np.int64]  # (rows,)
    weight: NDArray[np.float64]  # (rows,)


def quasi_identifiers(release: Release, asked: int) -> list[int]:
    """The attributes a target is known by."""
    return [i for i in release.with_role(Role.QUASI_IDENTIFIER) if i != asked]


def counts_of(release: Release, asked: int, codes: NDArray[np.integer], *, joint: bool = True) -> Counts:
    """The counts for targets with these codes (targets, quasi-identifiers).

    Where a group hides which sensitive value goes with which cell, every link in it is equally likely. Rows whose
    sensitive value is withheld teach nothing. Without `joint` those counts are left at 0.
    """
    known = quasi_identifiers(release, asked)
    values = release.attributes[asked].codes
    each = np.zeros((len(codes), len(known), values))
    for place, index in enumerate(known):
        each[:, place] = _by_code(release, asked, index)[codes[:, place]]
    total = _of_groups(release, asked).sum(axis=0)
    together = _joint(release, asked, known, codes) if joint else np.zeros((len(codes), values))
    return Counts(each, together, np.repeat(total[None], len(codes), axis=0))


def encoded_rows(release: Release, asked: int, target: NDArray[np.integer]) -> EncodedRows:
    """All rows, encoded relative to one target (quasi-identifiers,)."""
    known = quasi_identifiers(release, asked)
    home = release.block_of(asked)
    value = release.regions[asked].single()[home.region(asked)].astype(np.int64)
    keep = value >= 0
    ones = np.zeros((int(keep.sum()), len(known)), dtype=bool)
    _mark(release, home, known, target, ones, keep)
    group, value, weight = home.group[keep], value[keep], home.count[keep].astype(np.float64)
    for block in release.blocks:
        if block is home or not any(i in known for i in block.attributes):
            continue
        more = np.zeros((len(block.cell), len(known)), dtype=bool)
        _mark(release, block, known, target, more, np.ones(len(block.cell), dtype=bool))
        pattern = row_numbers([block.group, *more.T.astype(np.int64)])
        first = example_rows(pattern)
        share = np.bincount(pattern, weights=block.count) / release.sizes[block.group[first]]
        begin = np.searchsorted(block.group[first], np.arange(release.groups + 1))
        times = np.diff(begin)[group]
        row = np.repeat(np.arange(len(group)), times)
        other = np.repeat(begin[group] - np.cumsum(times) + times, times) + np.arange(times.sum())
        ones = ones[row] | more[first][other]
        group, value, weight = group[row], value[row], weight[row] * share[other]
    number = row_numbers([value, *ones.T.astype(np.int64)])
    chosen = example_rows(number)
    total = np.asarray(np.bincount(number, weights=weight, minlength=len(chosen)), dtype=np.float64)
    return EncodedRows(ones[chosen], value[chosen], total)


def _mark(
    release: Release,
    block: Block,
    known: list[int],
    target: NDArray[np.integer],
    ones: NDArray[np.bool_],
    keep: NDArray[np.bool_],
) -> None:
    """Write 1 where a cell of the block holds the target's value."""
    for place, index in enumerate(known):
        if index in block.attributes:
            regions = release.regions[index]
            inside = regions.holds(np.arange(len(regions)), np.full(len(regions), target[place]))
            ones[:, place] = inside[block.region(index)[keep]]


def _of_groups(release: Release, asked: int) -> NDArray[np.float64]:
    """(groups, values) rows of each group with each published sensitive value."""
    block = release.block_of(asked)
    value = release.regions[asked].single()[block.region(asked)]
    keep = value >= 0
    codes = release.attributes[asked].codes
    flat = np.bincount(
        block.group[keep] * codes + value[keep], weights=block.count[keep], minlength=release.groups * codes
    )
    return np.asarray(flat, dtype=np.float64).reshape(release.groups, codes)


def _by_code(release: Release, asked: int, index: int) -> NDArray[np.float64]:
    """(codes, values) of each code of an attribute: rows whose cell holds it, by sensitive value."""
    regions, values = release.regions[index], release.attributes[asked].codes
    block = release.block_of(index)
    of_region = np.zeros((len(regions), values))
    if asked in block.attributes:
        value = release.regions[asked].single()[block.region(asked)]
        keep = value >= 0
        np.add.at(of_region, (block.region(index)[keep], value[keep]), block.count[keep])
    else:
        share = _of_groups(release, asked) / release.sizes[:, None]
        np.add.at(of_region, block.region(index), block.count[:, None] * share[block.group])
    change = np.zeros((regions.codes + 1, values))
    owner = np.repeat(np.arange(len(regions)), regions.runs)
    np.add.at(change, regions.low, of_region[owner])
    np.subtract.at(change, regions.high + 1, of_region[owner])
    return np.asarray(np.cumsum(change, axis=0)[:-1])


def _joint(release: Release, asked: int, known: list[int], codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """(targets, values) rows all of whose cells hold the target's values."""
    values = release.attributes[asked].codes
    found = np.zeros((len(codes), values))
    target, number = np.unique(codes, axis=0, return_inverse=True)
    home = release.block_of(asked)
    if not set(known) <= set(home.attributes):
        for place, one in enumerate(target):
            rows = encoded_rows(release, asked, one)
            full = rows.ones.all(axis=1)
            found[number.ravel() == place] = np.bincount(rows.value[full], rows.weight[full], minlength=values)
        return found
    value = release.regions[asked].single()[home.region(asked)]
    keep = value >= 0
    entry = row_numbers([home.region(i)[keep] for i in known]) if known else np.zeros(int(keep.sum()), np.int64)
    kinds = int(entry.max(initial=-1)) + 1
    table = np.bincount(entry * values + value[keep], weights=home.count[keep], minlength=kinds * values)
    table = table.reshape(kinds, values)
    first = np.zeros(kinds, dtype=np.int64)
    first[entry] = np.arange(len(entry))
    step = max(ENTRIES_AT_ONCE // max(kinds, 1), 1)
    together = np.zeros((len(target), values))
    for begin in range(0, len(target), step):
        part = target[begin : begin + step]
        fits = np.ones((len(part), kinds), dtype=bool)
        for place, index in enumerate(known):
            regions = release.regions[index]
            region = home.region(index)[keep][first]
            code, back = np.unique(part[:, place], return_inverse=True)
            pairs = [regions.holds(np.arange(len(regions)), np.full(len(regions), c)) for c in code]
            fits &= np.array(pairs)[:, region][back.ravel()]
        together[begin : begin + step] = fits @ table
    found[:] = together[number.ravel()]
    return found

"""Channels of perturbed columns: stated beside the release, or estimated by whoever holds the original."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from unveil.data.attribute import Attribute
from unveil.data.mixture import Mixture, mixture_of
from unveil.data.regions import Regions
from unveil.data.release import Block, BlockRows, Release, build_release, row_numbers
from unveil.data.table import Table

__all__ = ["STATED", "with_channels"]

STATED, BY_PAIRS, BY_CLASSES = "stated", "estimated", "estimated from classes"
NEIGHBOURS = 200  # rows around a shown number whose changes are taken for its own
CLASSES = 300  # of people and rows that are matched with each other, beside those that leave no choice
SCALINGS = 10  # of a class's matching, rows and columns in turn

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def with_channels(
    given: Release, table: Table | None, group: NDArray[np.integer] | None
) -> tuple[Release, NDArray[np.int64]]:
    """The release in groups, with what each perturbed column's values say of true ones; and each group's new number.

    Stated chances come first, for they are the reader's too; else what pairs of a true and a shown value say, which
    `group`, that of each original row, tells. Where it does not, people and rows that agree in all other columns are
    matched as a class, by changing as little as possible. Without the original, a column of which nothing is
    stated is taken for withheld.
    """
    mixture = mixture_of(given)
    release = mixture.release
    held = {} if table is None else {a.name: i for i, a in enumerate(table.attributes)}
    perturbed, unknown = {}, []
    for index, one in given.perturbed.items():
        place = held.get(one.true.name)
        if table is None or place is None or table.attributes[place].values != one.true.values:
            unknown.append(index)
            perturbed[index] = one
            continue
        true, codes = table.attributes[place], table.columns[place].astype(np.int64)
        if one.channel is not None and one.channel.shape == (true.codes, true.codes):
            share = np.bincount(codes, minlength=true.codes) / max(len(codes), 1)
            perturbed[index] = replace(one, behind=_normed((one.channel * share[:, None]).T), source=STATED)
            continue
        counts, source = _estimated(given, mixture, table, index, codes, group)
        perturbed[index] = replace(one, true=true, behind=_normed(counts), source=source)
    if unknown:
        release = _withheld(release, unknown)
    return replace(release, perturbed=perturbed, method=given.method), mixture.group


def _withheld(release: Release, unknown: list[int]) -> Release:
    """The same with every quasi-identifier cell of these columns as `*`."""
    regions = [
        Regions.intervals(r.codes, np.zeros(len(r)), np.full(len(r), r.codes - 1)) if i in unknown else r
        for i, r in enumerate(release.regions)
    ]
    parts = []
    for block in release.blocks:
        cells = tuple(block.region(i).astype(np.int64) for i in block.attributes)
        parts.append(BlockRows(block.attributes, block.group, cells, block.count))
    return build_release(release.attributes, regions, parts)[0]


def _estimated(
    given: Release, mixture: Mixture, table: Table, index: int, codes: Ints, group: NDArray[np.integer] | None
) -> tuple[Floats, str]:
    """(shown codes, true codes) how often each true value is behind a shown one; and by what."""
    true, shown = table.attributes[table.index(given.perturbed[index].true.name)], mixture.release.attributes[index]
    block = given.block_of(index)
    code = given.regions[index].single()[block.region(index)].astype(np.int64)
    if index in mixture.binned:
        code = np.where(code >= 0, mixture.binned[index][np.maximum(code, 0)], -1)
    places = mixture.places.get(index)
    line = true.positions()[: true.real] if true.kind.measured else None
    source = BY_PAIRS
    if group is not None:
        told = np.asarray(group, dtype=np.int64)
        rows, people, mine = block.group, told[told >= 0], codes[told >= 0]
    else:
        rows, everyone = _classes(given, block, table, index)
        people, mine, source = everyone[everyone >= 0], codes[everyone >= 0], BY_CLASSES
    there = (rows >= 0) & (code >= 0)
    counts = _coupled(
        (rows[there], code[there], block.count[there]), (people, mine), shown.codes, true.codes, places, line
    )
    if places is None or line is None:
        return counts, source
    return counts + _moved(counts, places, line, true), source


def _classes(given: Release, block: Block, table: Table, index: int) -> tuple[Ints, Ints]:
    """(entries,) and (people,) a class each by all other columns whose cells never overlap; -1 = in none."""
    held = {a.name: i for i, a in enumerate(table.attributes)}
    mine, theirs = [], []
    rows, people = np.ones(len(block.cell), dtype=bool), np.ones(table.rows, dtype=bool)
    for i in block.attributes:
        place = held.get(given.attributes[i].name)
        if i in given.perturbed or place is None or table.attributes[place].values != given.attributes[i].values:
            continue
        regions = given.regions[i]
        whole = regions.whole & (regions.sizes > 1)
        wide = np.flatnonzero(~whole)
        members = [regions.members(int(one)) for one in wide]
        of_code = np.full(regions.codes, -1, dtype=np.int64)
        if not len(wide) or sum(map(len, members)) > len(np.unique(np.concatenate(members))):
            continue  # cells overlap
        for region, codes in zip(wide.tolist(), members, strict=True):
            of_code[codes] = region
        cell, person = block.region(i).astype(np.int64), of_code[table.columns[place].astype(np.int64)]
        rows &= ~whole[cell]
        people &= person >= 0
        mine.append(cell)
        theirs.append(np.maximum(person, 0))
    if not mine:
        return np.zeros(len(block.cell), dtype=np.int64), np.zeros(table.rows, dtype=np.int64)
    number = row_numbers([np.concatenate(pair) for pair in zip(mine, theirs, strict=True)])
    first, second = number[: len(rows)], number[len(rows) :]
    return np.where(rows, first, -1), np.where(people, second, -1)


def _coupled(
    rows: tuple[Ints, Ints, Ints],
    people: tuple[Ints, Ints],
    shown: int,
    codes: int,
    places: Floats | None,
    line: Floats | None,
) -> Floats:
    """(shown codes, true codes) rows and people of a class matched with each other; `rows`: class, shown code, count.

    Where a class has a single value on one side there is no choice. In the others values are matched as if they had
    hardly been changed more than they must have been: a channel that is too sharp rather than one too blurred, by
    which a reader would be taken for less than they are.
    """
    most = int(max(rows[0].max(initial=0), people[0].max(initial=0))) + 1
    size, persons = np.bincount(rows[0], rows[2], most), np.bincount(people[0], minlength=most).astype(np.float64)
    both = (size > 0) & (persons > 0)
    row_key, row_of = np.unique(rows[0] * shown + rows[1], return_inverse=True)
    row_count = np.bincount(row_of, rows[2])
    person_key, person_count = np.unique(people[0] * codes + people[1], return_counts=True)
    row_class, person_class = row_key // shown, person_key // codes
    alone = both & ((np.bincount(row_class, minlength=most) == 1) | (np.bincount(person_class, minlength=most) == 1))
    row_start = np.searchsorted(row_class, np.arange(most + 1))
    person_start = np.searchsorted(person_class, np.arange(most + 1))
    fixed = np.zeros((shown, codes))
    one = np.flatnonzero(alone)
    single = one[row_start[one + 1] - row_start[one] == 1]  # one shown value, and whoever it may be
    place = np.full(most, -1)
    place[single] = row_key[row_start[single]] % shown
    of = place[person_class]
    weight = person_count * np.divide(size, persons, out=np.zeros(most), where=both)[person_class]
    np.add.at(fixed, (of[of >= 0], person_key[of >= 0] % codes), weight[of >= 0])
    place[:] = -1
    other = np.setdiff1d(one, single)
    place[other] = person_key[person_start[other]] % codes
    of = place[row_class]
    np.add.at(fixed, (row_key[of >= 0] % shown, of[of >= 0]), row_count[of >= 0])
    several = np.flatnonzero(both & ~alone)
    if len(several) > CLASSES:
        several = np.sort(np.random.default_rng(0).choice(several, CLASSES, replace=False))
    classes = []
    for number in several.tolist():
        r, p = (slice(start[number], start[number + 1]) for start in (row_start, person_start))
        have, want = row_count[r].astype(np.float64), person_count[p] * (size[number] / persons[number])
        classes.append((row_key[r] % shown, person_key[p] % codes, have, want))
    if not classes:
        return fixed
    near = _near(shown, codes, places, line, classes)
    for mine, theirs, have, want in classes:
        match = near[np.ix_(mine, theirs)]
        for _ in range(SCALINGS):
            match = match * (have / match.sum(axis=1))[:, None]
            match = match * (want / match.sum(axis=0))
        fixed[np.ix_(mine, theirs)] += match
    return fixed


def _near(
    shown: int,
    codes: int,
    places: Floats | None,
    line: Floats | None,
    classes: Sequence[tuple[Ints, Ints, Floats, Floats]],
) -> Floats:
    """How likely each change is: numbers are moved hardly farther than they must be, categories mostly stay."""
    if places is None or line is None:
        return np.ones((shown, codes)) + 9.0 * np.eye(shown, codes)
    moved, rows = 0.0, 1e-9
    for mine, theirs, have, want in classes:
        (here, some), (there, others) = _within(mine, have, places), _within(theirs, want, line)
        if some.sum() and others.sum():
            moved += some.sum() * wasserstein_distance(here, there, some, others)
            rows += some.sum()
    scale = max(1.5 * moved / rows, float(np.ptp(line)) / 200, 1e-9)
    guess = np.full((shown, codes), 1e-4)
    guess[: len(places), : len(line)] += np.exp(-np.abs(places[:, None] - line) / scale)
    return guess


def _within(code: Ints, weight: Floats, places: Floats) -> tuple[Floats, Floats]:
    """Where they lie, those left out that lie nowhere: missing values."""
    there = code < len(places)
    return places[code[there]], weight[there]


def _moved(counts: Floats, places: Floats, line: Floats, attribute: Attribute) -> Floats:
    """(shown codes, true codes) true values that the changes of neighbouring rows would have led to what is shown.

    A number's changes are pooled over its neighbours: a reader knows how values are moved, not whose was.
    """
    found = np.zeros_like(counts)
    at, true = np.nonzero(counts[: len(places), : len(line)])
    weight = counts[at, true]
    if not len(at):
        return found
    change = line[true] - places[at]
    middle = (line[1:] + line[:-1]) / 2
    upto = np.append(0.0, np.cumsum(weight))
    most = min(NEIGHBOURS, max(upto[-1] / 4, 1.0))
    centre = upto[np.searchsorted(at, np.arange(len(places)))]
    for code in range(len(places)):
        low = float(np.clip(centre[code] - most / 2, 0, max(upto[-1] - most, 0)))
        first, last = np.searchsorted(upto, (low, low + most))
        near = np.searchsorted(middle, places[code] + change[first:last])
        found[code] += np.bincount(near, weight[first:last], attribute.codes)
    return found


def _normed(counts: Floats) -> Floats:
    """Rows that add up to 1; of one that never occurs all values are alike."""
    counts = np.where(counts.any(axis=1, keepdims=True), counts, 1.0)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))

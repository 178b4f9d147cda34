"""A release as it has to be read beside the original: columns that do not show true values are not believed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role, canonical
from unveil.data.mixture import mixture_of
from unveil.data.regions import Regions
from unveil.data.release import Block, BlockRows, Release, build_release
from unveil.data.rows import PublishedRows, numbers_of, release_of_rows, rows_of
from unveil.data.table import Table
from unveil.errors import NotApplicable
from unveil.risk.perturbation.bands import Explanation, Shown, class_bands, code_bands
from unveil.risk.perturbation.misfits import blamed, misfits, placed, shown_cells, tolerated

__all__ = ["PerturbedColumn", "ReleaseReading", "read_perturbed", "read_unpaired"]

MOST_COUNTS = 50_000_000  # other cells × values
MOST_VALUES = 1000  # of a sensitive attribute that is compared beside all others


@dataclass(frozen=True, slots=True)
class PerturbedColumn:
    """A column that cannot show true values, and what it was taken for."""

    attribute: str
    rows: int  # that prove it
    words: str = ""  # what its values are; empty: it could not be told

    def sentence(self, count: str) -> str:
        """For a report; `count`: how the rows are to be written."""
        proof = f"{self.attribute} does not show true values: {count} of its rows cannot be anybody's of the original"
        if self.words:
            return (
                f"{proof}. Each value is read as {self.words}, and so are the people behind it; it may tell a reader a "
                "little more than that."
            )
        return f"{proof}. What was done to it could not be told, so that what a reader finds may be understated."


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseReading:
    """The release as it has to be read, and why."""

    release: Release
    columns: tuple[PerturbedColumn, ...] = ()
    group: NDArray[np.int64] | None = None  # (groups,) the new number of each group of the release that was given
    bands: tuple[tuple[Attribute, NDArray[np.int64]], ...] = ()  # an attribute in bands, (codes,) the band of each

    def as_read(self, table: Table) -> Table:
        """People in the bands that a perturbed release numbers."""
        for attribute, band in self.bands:
            if attribute.name in {a.name for a in table.attributes}:
                place = table.index(attribute.name)
                column = band[table.columns[place]].astype(attribute.dtype)
                attributes, columns = list(table.attributes), list(table.columns)
                attributes[place], columns[place] = attribute, column
                table = replace(table, attributes=tuple(attributes), columns=tuple(columns))
        return table


def read_perturbed(release: Release, table: Table) -> ReleaseReading:
    """Notice columns that are not what they look like, and read them as what they are.

    By pigeonhole: rows of a value, or of a class, that more people would have to have than do. Such a column is an
    average of classes or of neighbours, or numbers of bands, where the sizes of classes say so: its cells become these
    bands. Otherwise it stays as it is, and nobody may rely on what is measured. Quasi-identifiers are tried, then
    sensitive values beside them, and in a masked release the columns that are said to be unchanged. Cost: who fits
    which cell; more only if something is wrong.
    """
    if release.perturbed:
        return _read_masked(rows_of(release), table)
    held = {a.name: i for i, a in enumerate(table.attributes)}
    known = [
        i
        for i in release.with_role(Role.QUASI_IDENTIFIER)
        if release.attributes[i].name in held
        and table.attributes[held[release.attributes[i].name]].values == release.attributes[i].values
    ]
    blocks = [b for b in release.blocks if any(i in known for i in b.attributes)]
    if len(blocks) != 1:
        return ReleaseReading(release)
    people = {i: table.columns[held[release.attributes[i].name]] for i in known}
    try:
        wrong = blamed(release, blocks[0], people)
        columns = []
        number = np.arange(release.groups)
        for index, rows in wrong.items():
            found, words = _read(release, index, people, set(wrong))
            if found is not None:
                release, new = found
                number = new[number]
            columns.append(PerturbedColumn(release.attributes[index].name, rows, words))
        columns += _unbelievable(release, table, people if all(c.words for c in columns) else {})
    except NotApplicable:  # too many cells to compare: an audit says so where it matters
        return ReleaseReading(release)
    return ReleaseReading(release, tuple(columns), number if columns else None)


def _unbelievable(
    release: Release, table: Table, people: dict[int, NDArray[np.unsignedinteger]]
) -> Iterator[PerturbedColumn]:
    """Sensitive values that cannot be those of the people beside whose cells they stand; `people`: who fit these.

    What was done to them is not sought.
    """
    held = {a.name: i for i, a in enumerate(table.attributes)}
    for index in release.with_role(Role.SENSITIVE):
        attribute, block = release.attributes[index], release.block_of(index)
        place = held.get(attribute.name)
        if place is None or table.attributes[place].values != attribute.values or release.regions[index].whole.all():
            continue
        beside = [i for i in people if i in block.attributes and not release.regions[i].whole.all()]
        all_of = {**{i: people[i] for i in beside}, index: table.columns[place]}
        kept = [index] if attribute.codes > MOST_VALUES else [*beside, index]
        rows = misfits(release, block, all_of, kept)
        if rows > tolerated(release.rows, table.rows):
            yield PerturbedColumn(attribute.name, rows)


def _read(
    release: Release,
    index: int,
    people: dict[int, NDArray[np.unsignedinteger]],
    wrong: set[int],
    *,
    averaged: bool = False,
) -> tuple[tuple[Release, NDArray[np.int64]] | None, str]:
    """The release with this column as bands, the new numbers of its groups, and what it is taken for.

    `averaged`: only as averages of classes, of which the sizes of classes are the proof.
    """
    block = release.block_of(index)
    rest = [i for i in people if i not in wrong]
    shown, single, entry = _shown(release, block, index, rest, people)
    if not len(shown.rows):
        return None, ""
    allowed = tolerated(release.rows, len(people[index]))
    explanations = [*class_bands(shown)] if release.attributes[index].kind.ordered else []
    for explanation in (*explanations, *(() if averaged else code_bands(shown))):
        made, number = _replaced(release, block, index, single, entry, explanation)
        if misfits(made, made.block_of(index), people, [*rest, index]) <= allowed:
            return (made, number), explanation.words
    return None, ""


def _shown(
    release: Release,
    block: Block,
    index: int,
    rest: Sequence[int],
    people: dict[int, NDArray[np.unsignedinteger]],
) -> tuple[Shown, NDArray[np.bool_], NDArray[np.int64]]:
    """Classes by the other columns' cells and the value shown; (entries,) which show one, and the class of each."""
    attribute = release.attributes[index]
    value = release.regions[index].single()[block.region(index)]
    single = value >= 0
    if rest:
        cells, rows, cell = shown_cells(release, block, rest)
        if len(rows) * attribute.codes > MOST_COUNTS:
            raise NotApplicable("too many cells")
        kind, fits, _, of_person = placed(cells, [people[i] for i in rest])
        by_value = np.zeros((int(of_person.max()) + 1, attribute.codes), dtype=np.int64)
        np.add.at(by_value, (of_person, people[index]), 1)
        held = np.zeros((len(rows), attribute.codes), dtype=np.int64)
        np.add.at(held, fits, by_value[kind])
    else:
        cell = np.zeros(len(block.cell), dtype=np.int64)
        held = np.bincount(people[index], minlength=attribute.codes)[None]
    key, number = np.unique(cell[single] * attribute.codes + value[single], return_inverse=True)
    rows = np.bincount(number, weights=block.count[single], minlength=len(key)).astype(np.int64)
    entry = np.full(len(block.cell), -1, dtype=np.int64)
    entry[single] = number
    withheld = int(block.count[~single].sum())
    absent = withheld + max(len(people[index]) - release.rows, 0)
    everybody = np.bincount(people[index], minlength=attribute.codes)
    shown = Shown(attribute, key // attribute.codes, key % attribute.codes, rows, held, everybody, absent)
    return shown, single, entry


def _replaced(
    release: Release,
    block: Block,
    index: int,
    single: NDArray[np.bool_],
    entry: NDArray[np.int64],
    explanation: Explanation,
) -> tuple[Release, NDArray[np.int64]]:
    old, new = release.regions[index], explanation.regions
    both = Regions(
        old.codes,
        np.concatenate([old.start, old.start[-1] + new.start[1:]]),
        np.concatenate([old.low, new.low]),
        np.concatenate([old.high, new.high]),
    )
    regions = [both if i == index else r for i, r in enumerate(release.regions)]
    parts = []
    for one in release.blocks:
        columns = [one.region(i).astype(np.int64) for i in one.attributes]
        if one is block:
            place = one.attributes.index(index)
            columns[place] = np.where(single, len(old) + explanation.band[entry], columns[place])
        parts.append(BlockRows(one.attributes, one.group, tuple(columns), one.count))
    return build_release(release.attributes, regions, parts)


# -------------------------------------------------------------------------------------------------------------- masked


def read_unpaired(given: Release, table: Table) -> ReleaseReading:
    """Perturbed quasi-identifiers as bands, if the sizes of classes tell them; whose row is whose need not be known.

    The release then has groups, and every reader applies; `group` is that of each published row. Perturbed columns
    that nobody is asked about, or known by, are left out. Otherwise it is read as any masked release is.
    """
    masked = rows_of(given)
    held = {a.name: i for i, a in enumerate(table.attributes)}
    roles = {masked.attributes[i].role for i in masked.masked}
    same = all(a.name in held and table.attributes[held[a.name]].values == a.values for a in masked.attributes)
    if not same or Role.SENSITIVE in roles or Role.QUASI_IDENTIFIER not in roles or masked.method.startswith("dp_"):
        return _read_masked(masked, table)
    kept = [i for i, a in enumerate(masked.attributes) if i not in masked.masked or a.role is Role.QUASI_IDENTIFIER]
    some = PublishedRows(
        tuple(masked.attributes[i] for i in kept),
        tuple(masked.columns[i] for i in kept),
        tuple(place for place, i in enumerate(kept) if i in masked.masked),
        method=masked.method,
        wide={place: masked.wide[i] for place, i in enumerate(kept) if i in masked.wide},
    )
    mixture = mixture_of(release_of_rows(some), as_true=True)
    release, number = mixture.release, mixture.group
    people = {i: table.columns[held[release.attributes[i].name]] for i in release.with_role(Role.QUASI_IDENTIFIER)}
    wrong, columns = set(some.masked), []
    try:
        told = set(blamed(release, release.blocks[0], people)) <= wrong
        allowed = tolerated(masked.rows, table.rows)
        for index in some.masked:
            rows = misfits(release, release.blocks[0], people, [index])
            found, words = _read(release, index, people, wrong, averaged=True)
            if found is None or not told or rows <= allowed:  # what may be true as it stands is no average
                return _read_masked(masked, table)
            release, number = found[0], found[1][number]
            columns.append(PerturbedColumn(release.attributes[index].name, rows, words))
    except NotApplicable:
        return _read_masked(masked, table)
    return ReleaseReading(release, tuple(columns), number)


def _read_masked(masked: PublishedRows, table: Table) -> ReleaseReading:
    """Columns of a masked release that are said to be unchanged, each by its own histogram."""
    columns, bands = [], []
    for index, name, rows in list(_doubtful(masked, table)):
        attribute, true = masked.attributes[index], table.columns[table.index(name)]
        found = _numbers(masked, index, true, table.rows) if attribute.kind.measured else None
        if found is not None:
            attribute, band, words = found
            bands.append((attribute, band))
            masked = replace(
                masked, attributes=(*masked.attributes[:index], attribute, *masked.attributes[index + 1 :])
            )
        else:
            words = "perturbed, like the columns of which that is said"
            masked = replace(masked, masked=tuple(sorted({*masked.masked, index})))
        columns.append(PerturbedColumn(name, rows, words))
    return ReleaseReading(release_of_rows(masked), tuple(columns), bands=tuple(bands))


def _doubtful(masked: PublishedRows, table: Table) -> Iterator[tuple[int, str, int]]:
    """Unmasked columns with more rows of a value than people who have it: (index, name, rows beyond)."""
    held = {a.name: i for i, a in enumerate(table.attributes)}
    for index, attribute in enumerate(masked.attributes):
        told = index in masked.masked or index in masked.wide
        if told or attribute.name not in held or masked.method.startswith("dp_"):
            continue
        true = table.attributes[held[attribute.name]]
        column = table.columns[held[attribute.name]]
        if true.values != attribute.values:
            continue
        if attribute.kind.measured:
            here, there = masked.columns[index], numbers_of(true, column)
            values = np.unique(np.concatenate([here, there])[np.isfinite(np.concatenate([here, there]))])
            shown, people = (
                np.bincount(np.searchsorted(values, x[np.isfinite(x)]), minlength=len(values)) for x in (here, there)
            )
        else:
            here = masked.columns[index]
            shown = np.bincount(here[here >= 0], minlength=attribute.codes)[: attribute.real]
            people = np.bincount(column, minlength=attribute.codes)[: attribute.real]
        beyond = int(np.maximum(shown - people, 0).sum())
        if beyond > tolerated(masked.rows, table.rows):
            yield index, attribute.name, beyond


def _numbers(
    masked: PublishedRows, index: int, true: NDArray[np.unsignedinteger], people: int
) -> tuple[Attribute, NDArray[np.int64], str] | None:
    """An attribute whose values are numbers of bands, (codes,) the band of each value, and in words; None if not so.

    Whoever holds the original can number its values in the same way.
    """
    attribute, published = masked.attributes[index], masked.columns[index]
    line = attribute.positions()[: attribute.real]
    at = np.clip(np.searchsorted(line, published), 0, max(len(line) - 1, 0))
    code = np.where(np.isfinite(published) & (line[at] == published), at, -1)
    if (np.isfinite(published) & (code < 0)).any() or not (code >= 0).any():
        return None
    values, times = np.unique(code[code >= 0], return_counts=True)
    everybody = np.bincount(true, minlength=attribute.codes)
    absent = int((code < 0).sum()) + max(people - masked.rows, 0)
    shown = Shown(attribute, np.zeros_like(values), values, times, everybody[None], everybody, absent)
    for found in code_bands(shown):
        if found.regions.runs.max() > 1 or (np.diff(found.regions.low[found.band]) <= 0).any():
            continue  # not in the order of the values
        numbers = line[values]
        texts = [canonical(float(number), Kind.NUMERIC) for number in numbers]
        texts += [attribute.values[-1]] if attribute.missing else []
        made = replace(
            attribute,
            kind=Kind.NUMERIC,
            values=tuple(texts),
            low=numbers,
            high=numbers,
            hierarchy=None,
            binned=False,
            open_bins=False,
            harmless=(),
            classes=(),
        )
        last = found.regions.high[found.band]
        band = np.minimum(np.searchsorted(last, np.arange(attribute.codes)), len(numbers) - 1)
        band[attribute.real :] = len(numbers)
        return made, band, found.words
    return None

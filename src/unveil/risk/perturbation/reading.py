"""A release as it has to be read beside the original: columns that do not show true values are not believed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role, canonical
from unveil.data.mixture import mixture_of
from unveil.data.regions import Regions
from unveil.data.release import Block, BlockRows, Perturbation, Release, build_release, single_rows
from unveil.data.rows import PublishedRows, numbers_of, release_of_rows, rows_of, shown_region, stand_ins
from unveil.data.table import Table
from unveil.errors import NotApplicable
from unveil.risk.perturbation.bands import Explanation, Persons, Shown, class_bands, code_bands, nearest_values
from unveil.risk.perturbation.misfits import blamed, contradicted, misfits, placed, shown_cells, tolerated

__all__ = ["PerturbedColumn", "ReleaseReading", "read_perturbed", "read_unpaired"]

MOST_COUNTS = 20_000_000  # pairs of a cell and a value of somebody who fits it
FEWEST = 3  # rows a number on average, to be told by how often it occurs
MOST_VALUES = 1000  # of a sensitive attribute that is compared beside all others


@dataclass(frozen=True, slots=True)
class PerturbedColumn:
    """A column that cannot show true values, and what it was taken for."""

    attribute: str
    rows: int  # that prove it
    words: str = ""  # what its values are; empty: it could not be told
    paired: bool = False  # it could not be told, but pairs of a true and a shown value say what it tells

    def sentence(self, count: str) -> str:
        """For a report; `count`: how the rows are to be written."""
        proof = f"{self.attribute} does not show true values: {count} of its rows cannot be anybody's of the original"
        if self.words:
            return (
                f"{proof}. Each value is read as {self.words}, and so are the people behind it; it may tell a reader a "
                "little more than that."
            )
        if self.paired:
            return f"{proof}. It is read as perturbed: what its values say of true ones is taken from known pairs."
        return f"{proof}. What was done to it could not be told, so that what a reader finds may be understated."


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseReading:
    """The release as it has to be read, and why."""

    release: Release
    columns: tuple[PerturbedColumn, ...] = ()
    group: NDArray[np.int64] | None = None  # (groups,) the new number of each group of the release that was given
    assignment: NDArray[np.int64] | None = None  # (original rows,) their rows, where groups were taken apart into rows
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


def read_perturbed(
    release: Release, table: Table, group: NDArray[np.integer] | None = None, *, bands: bool = True
) -> ReleaseReading:
    """Notice columns that are not what they look like, and read them as what they are.

    By pigeonhole: rows of a value, or of a class, that more people would have to have than do. Such a column is an
    average of classes or of neighbours, or numbers of bands, where the sizes of classes say so: its cells become these
    bands. Otherwise it is a perturbed one, of which nobody says how. Quasi-identifiers are tried, then sensitive values
    beside them, and in a masked release the columns that are said to be unchanged. `group`: that of each original row.
    `bands`: whether a column may be read as them.
    Cost: who fits which cell; more only if something is wrong.
    """
    if release.perturbed:
        masked = rows_of(release) if release.row_by_row else None
        return _read_hidden(release, table) if masked is None else _read_masked(masked, table, bands=bands)
    people = _comparable(release, table)
    if not people:
        return ReleaseReading(release)
    try:
        proved = {} if group is None else contradicted(release, {**people, **_secrets(release, table)}, group)
        wrong = blamed(release, people, proved)
        columns = []
        number = np.arange(release.groups)
        for index, rows in wrong.items():
            found, words = _read(release, index, people, set(wrong)) if bands else (None, "")
            if found is not None and group is not None:  # the pairs may say that these are not the bands
                now = np.where(group >= 0, found[1][number][np.maximum(group, 0)], -1)
                false = contradicted(found[0], {index: people[index]}, now).get(index, release.rows)
                found, words = (None, "") if false > tolerated(release.rows, table.rows) else (found, words)
            if found is not None:
                release, new = found
                number = new[number]
            columns.append(PerturbedColumn(release.attributes[index].name, rows, words))
        unread = {c.attribute for c in columns if not c.words}
        believed = {i: codes for i, codes in people.items() if release.attributes[i].name not in unread}
        columns += _unbelievable(release, table, believed, proved)
    except NotApplicable:  # too many cells to compare: an audit says so where it matters
        return ReleaseReading(release)
    unread = {c.attribute for c in columns if not c.words}
    if not unread:
        return ReleaseReading(release, tuple(columns), number if columns else None)
    changed = {i: Perturbation(a, said=False) for i, a in enumerate(release.attributes) if a.name in unread}
    if len(release.blocks) > 1:
        made, new = _hidden(release, changed)
        return ReleaseReading(made, tuple(columns), new[number])
    told = None if group is None or (group < 0).any() else number[np.asarray(group, dtype=np.int64)]
    made, assignment = _taken_apart(release, changed, table, told)
    return ReleaseReading(made, tuple(columns), None, assignment=assignment)


def _comparable(release: Release, table: Table) -> dict[int, NDArray[np.unsignedinteger]]:
    """(people,) the values of each quasi-identifier that is said to be true."""
    held = {a.name: i for i, a in enumerate(table.attributes)}
    known = [
        i
        for i in release.with_role(Role.QUASI_IDENTIFIER)
        if i not in release.perturbed
        and release.attributes[i].name in held
        and table.attributes[held[release.attributes[i].name]].values == release.attributes[i].values
    ]
    return {i: table.columns[held[release.attributes[i].name]] for i in known}


def _as_shown(
    release: Release, changed: Mapping[int, Perturbation]
) -> tuple[list[Attribute], list[Regions], dict[int, NDArray[np.int64]]]:
    """Attributes, their regions and (entries of its block,) cells where these columns show what only they say."""
    attributes, regions = list(release.attributes), list(release.regions)
    cells = {i: b.region(i).astype(np.int64) for b in release.blocks for i in b.attributes}
    for index in changed:
        attributes[index], regions[index], cells[index] = shown_region(attributes[index], regions[index], cells[index])
    return attributes, regions, cells


def _hidden(release: Release, changed: Mapping[int, Perturbation]) -> tuple[Release, NDArray[np.int64]]:
    """The same in its groups, with more perturbed columns, and the new number of each group."""
    attributes, regions, cells = _as_shown(release, changed)
    parts = [BlockRows(b.attributes, b.group, tuple(cells[i] for i in b.attributes), b.count) for b in release.blocks]
    made, number = build_release(attributes, regions, parts, {**release.perturbed, **changed}, release.method)
    labels = tuple(release.labels[i] for i in np.argsort(number).tolist()) if release.labels else ()
    return replace(made, labels=labels), number


def _taken_apart(
    release: Release, changed: dict[int, Perturbation], table: Table, group: NDArray[np.int64] | None
) -> tuple[Release, NDArray[np.int64] | None]:
    """The same row by row, with perturbed columns; and the row of each original row, if its group is known.

    Within a group rows differ in what is not known of people: who shares a group and such a value is exchangeable.
    """
    block = release.blocks[0]
    entry = np.repeat(np.arange(len(block.cell)), block.count)
    attributes, regions, cells = _as_shown(release, changed)
    columns = [cells[index][entry] for index in range(len(attributes))]
    made = single_rows(attributes, regions, columns, changed, release.method)
    sizes = np.bincount(block.group[entry], minlength=release.groups)
    if group is None or not np.array_equal(np.bincount(group, minlength=release.groups), sizes):
        return made, None
    held = {a.name: i for i, a in enumerate(table.attributes)}
    mine, theirs = [], []
    for index, attribute in enumerate(release.attributes):
        if index not in changed and attribute.name in held and attribute.role is not Role.QUASI_IDENTIFIER:
            mine.append(release.regions[index].single()[columns[index]])
            theirs.append(table.columns[held[attribute.name]].astype(np.int64))
    assignment = np.empty(table.rows, dtype=np.int64)
    assignment[np.lexsort([*theirs, group])] = np.lexsort([*mine, block.group[entry]])
    return made, assignment


def _secrets(release: Release, table: Table) -> dict[int, NDArray[np.unsignedinteger]]:
    """(people,) the values of each sensitive attribute that is said to be true."""
    held = {a.name: i for i, a in enumerate(table.attributes)}
    return {
        index: table.columns[held[attribute.name]]
        for index, attribute in enumerate(release.attributes)
        if attribute.role is Role.SENSITIVE
        and index not in release.perturbed
        and attribute.name in held
        and table.attributes[held[attribute.name]].values == attribute.values
        and not release.regions[index].whole.all()
    }


def _unbelievable(
    release: Release,
    table: Table,
    people: dict[int, NDArray[np.unsignedinteger]],
    proved: Mapping[int, int] = MappingProxyType({}),
) -> Iterator[PerturbedColumn]:
    """Sensitive values that cannot be those of the people beside whose cells they stand; `people`: who fit these.

    What was done to them is not sought. `proved`: rows by `contradicted`.
    """
    for index, codes in _secrets(release, table).items():
        attribute, block = release.attributes[index], release.block_of(index)
        beside = [i for i in people if i in block.attributes and not release.regions[i].whole.all()]
        all_of = {**{i: people[i] for i in beside}, index: codes}
        kept = [index] if attribute.codes > MOST_VALUES else [*beside, index]
        rows = max(misfits(release, block, all_of, kept), proved.get(index, 0))
        if rows > tolerated(release.rows, table.rows):
            yield PerturbedColumn(attribute.name, rows)


def _read(
    release: Release,
    index: int,
    people: dict[int, NDArray[np.unsignedinteger]],
    wrong: set[int],
    ways: Sequence[Callable[[Shown], Iterator[Explanation]]] = (class_bands, code_bands),
) -> tuple[tuple[Release, NDArray[np.int64]] | None, str]:
    """The release with this column as bands, the new numbers of its groups, and what it is taken for.

    `ways`: of reading it, the first that explains who has what.
    """
    block = release.block_of(index)
    rest = [i for i in people if i not in wrong and i in block.attributes]
    try:
        shown, single, entry = _shown(release, block, index, rest, people)
    except NotApplicable:  # too many cells to compare
        return None, ""
    if not len(shown.rows):
        return None, ""
    allowed = tolerated(release.rows, len(people[index]))
    for explanation in (found for way in ways for found in way(shown)):
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
    value, true = release.regions[index].single()[block.region(index)], people[index].astype(np.int64)
    single = value >= 0
    if rest:
        cells, rows, cell = shown_cells(release, block, rest)
        kind, fits, _, of_person = placed(cells, [people[i] for i in rest])
        alike = Persons.of(of_person, true, np.ones_like(true), attribute.codes)
        start = np.searchsorted(alike.cell, np.arange(int(of_person.max()) + 2))
        times = np.diff(start)[kind]
        if times.sum() > MOST_COUNTS:
            raise NotApplicable("too many people fit too many cells")
        at = np.repeat(start[kind] - (np.cumsum(times) - times), times) + np.arange(times.sum())
        held = Persons.of(np.repeat(fits, times), alike.code[at], alike.count[at], attribute.codes)
    else:
        cell = np.zeros(len(block.cell), dtype=np.int64)
        held = Persons.of(np.zeros_like(true), true, np.ones_like(true), attribute.codes)
    key, number = np.unique(cell[single] * attribute.codes + value[single], return_inverse=True)
    rows = np.bincount(number, weights=block.count[single], minlength=len(key)).astype(np.int64)
    entry = np.full(len(block.cell), -1, dtype=np.int64)
    entry[single] = number
    withheld = int(block.count[~single].sum())
    absent = withheld + max(len(true) - release.rows, 0)
    everybody = np.bincount(true, minlength=attribute.codes)
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
    that nobody is asked about, or known by, are left out. Otherwise it is read as any masked release is. A column of
    which nobody says that it was perturbed may also hold the numbers of bands.
    """
    if not given.row_by_row:
        return _read_hidden(given, table)
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
        noticed=frozenset(place for place, i in enumerate(kept) if i in masked.noticed),
    )
    named = frozenset(i for i in some.noticed if not some.attributes[i].kind.measured)  # numbers of names: no others
    for ranked in dict.fromkeys((some.noticed, named)):
        found = _as_bands(some, table, ranked)
        if found is not None:
            return found
    return _read_masked(masked, table)


def _as_bands(some: PublishedRows, table: Table, ranked: frozenset[int]) -> ReleaseReading | None:
    """Every perturbed column as bands; `ranked`: those whose numbers are taken for numbers of bands. None: not so."""
    given = release_of_rows(some)
    if any(given.attributes[i].real > some.attributes[i].real for i in ranked):
        return None
    held = {a.name: i for i, a in enumerate(table.attributes)}
    mixture = mixture_of(given, as_true=True, ranked=ranked)
    release, number = mixture.release, mixture.group
    people = {i: table.columns[held[release.attributes[i].name]] for i in release.with_role(Role.QUASI_IDENTIFIER)}
    wrong, columns = set(some.masked), []
    try:
        told = set(blamed(release, people)) <= wrong
        allowed = tolerated(some.rows, table.rows)
        strange = {column.attribute: column.rows for column in _noticed(given)}
        for index in some.masked:
            name = release.attributes[index].name
            rows = max(misfits(release, release.blocks[0], people, [index]), strange.get(name, 0))
            ways = (code_bands,) if index in ranked else (nearest_values, class_bands)
            inside = index in ranked or _within_domain(some, index)
            found, words = _read(release, index, people, wrong, ways) if inside else (None, "")
            if found is None or not told or rows <= allowed:  # what may be true as it stands is no average
                return None
            release, number = found[0], found[1][number]
            columns.append(PerturbedColumn(name, rows, words))
    except NotApplicable:
        return None
    return ReleaseReading(release, tuple(columns), number)


def _within_domain(rows: PublishedRows, index: int) -> bool:
    """Whether numbers lie where the original's do, give or take half a step of the ends: averages of them do."""
    line = rows.attributes[index].positions()[: rows.attributes[index].real]
    shown = rows.columns[index]
    beyond = (shown < line.min() - 0.5) | (shown > line.max() + 0.5)
    return int(beyond.sum()) <= tolerated(rows.rows, rows.rows)


def _noticed(release: Release) -> Iterator[PerturbedColumn]:
    """Columns of which nobody says that they were perturbed, with the rows that show what is not in the domain."""
    for index, one in sorted(release.perturbed.items()):
        if one.said:
            continue
        block, shown = release.block_of(index), release.attributes[index]
        single = release.regions[index].single()[block.region(index)]
        strange = np.ones(shown.codes, dtype=bool)  # codes in place of categories are nobody's value
        if shown.kind.measured:
            strange = ~np.isin(shown.positions(), one.true.positions()[: one.true.real])
            strange[shown.real :] = False
        rows = int(block.count[(single >= 0) & strange[np.maximum(single, 0)]].sum())
        yield PerturbedColumn(one.true.name, rows)


def _read_masked(masked: PublishedRows, table: Table, *, bands: bool = True) -> ReleaseReading:
    """Columns of a masked release that are said to be unchanged, each by its own histogram, then beside each other.

    `bands`: numbers may be those of bands, or stand for names, as their histograms say.
    """
    columns, read = [], []
    held = {a.name: i for i, a in enumerate(table.attributes)}
    for index, rows in {**dict(_strange(masked)), **dict(_doubtful(masked, table))}.items():
        name = masked.attributes[index].name
        found = _numbers(masked, index, table.columns[held[name]], table.rows) if bands and name in held else None
        if found is not None:
            masked, band, words = found
            read += [] if band is None else [(masked.attributes[index], band)]
        else:
            words, masked = "", _also(masked, {index})
        columns.append(PerturbedColumn(name, rows, words))
    reading = ReleaseReading(release_of_rows(masked), bands=tuple(read))
    if not masked.method.startswith("dp_"):
        beside = _beside_each_other(reading.release, reading.as_read(table))
        columns += beside.values()
        reading = replace(reading, release=release_of_rows(_also(masked, set(beside))))
    return replace(reading, columns=tuple(columns))


def _strange(masked: PublishedRows) -> Iterator[tuple[int, int]]:
    """Columns of which nobody says that they were perturbed, by position, with the rows that prove it."""
    place = {a.name: i for i, a in enumerate(masked.attributes)}
    yield from ((place[column.attribute], column.rows) for column in _noticed(release_of_rows(masked)))


def _also(masked: PublishedRows, more: set[int]) -> PublishedRows:
    """The same with more columns that are taken for perturbed."""
    columns = list(masked.columns)
    for i in more & set(masked.wide):
        if not masked.attributes[i].kind.measured:
            columns[i] = stand_ins(*masked.wide[i])
    wide = {i: cells for i, cells in masked.wide.items() if i not in more}
    seen = tuple(sorted({*masked.masked, *more}))
    return replace(masked, columns=tuple(columns), masked=seen, noticed=masked.noticed | more, wide=wide)


def _read_hidden(release: Release, table: Table) -> ReleaseReading:
    """The same where links are hidden beside perturbed columns."""
    beside = _beside_each_other(release, table)
    if not beside:
        return ReleaseReading(release, tuple(_noticed(release)))
    made, number = _hidden(release, {i: Perturbation(release.attributes[i], said=False) for i in beside})
    return ReleaseReading(made, (*_noticed(release), *beside.values()), number)


def _beside_each_other(release: Release, table: Table) -> dict[int, PerturbedColumn]:
    """Columns that are said to be unchanged, but stand beside cells that nobody has who has theirs."""
    people = _comparable(release, table)
    if not people:
        return {}
    try:
        wrong = blamed(release, people)
        name = {a.name: i for i, a in enumerate(release.attributes)}
        found = [PerturbedColumn(release.attributes[i].name, rows) for i, rows in wrong.items()]
        found += _unbelievable(release, table, {i: codes for i, codes in people.items() if i not in wrong})
    except NotApplicable:
        return {}
    return {name[column.attribute]: column for column in found}


def _doubtful(masked: PublishedRows, table: Table) -> Iterator[tuple[int, int]]:
    """Unmasked columns with more rows of a value than people who have it: (index, rows beyond)."""
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
            yield index, beyond


def _numbers(
    masked: PublishedRows, index: int, true: NDArray[np.unsignedinteger], people: int
) -> tuple[PublishedRows, NDArray[np.int64] | None, str] | None:
    """The rows with a column that shows numbers of bands, or for names, as what they stand for; None if not so.

    Beside them the words, and of numbers (codes,) the band of each true value: whoever holds the original can number
    its values in the same way.
    """
    attribute, published = masked.attributes[index], masked.columns[index]
    there = np.isfinite(published) if attribute.kind.measured else published >= 0
    values, place, times = np.unique(published[there], return_inverse=True, return_counts=True)
    strange = index in masked.noticed
    if not len(values) or len(values) > attribute.real or (strange and times.sum() < FEWEST * len(values)):
        return None
    if not strange and not np.isin(values, attribute.positions()[: attribute.real]).all():
        return None
    everybody = np.bincount(true, minlength=attribute.codes)
    absent = int((~there).sum()) + max(people - masked.rows, 0)
    persons = Persons(np.zeros_like(everybody), np.arange(len(everybody)), everybody)
    rank = np.arange(len(values))
    shown = Shown(attribute, np.zeros_like(rank), rank, times, persons, everybody, absent)
    others = tuple(i for i in masked.masked if i != index)
    rows = replace(masked, masked=others, noticed=masked.noticed - {index})
    for found in code_bands(shown):
        if not attribute.kind.measured:
            both = found.regions.with_whole()
            cell = np.full(masked.rows, len(both) - 1)
            cell[there] = found.band[place]
            columns = list(masked.columns)
            columns[index] = both.single()[cell]
            wide = {**masked.wide, index: (both, cell)}
            return replace(rows, columns=tuple(columns), wide=wide), None, found.words
        if found.regions.runs.max() > 1 or (np.diff(found.regions.low[found.band]) <= 0).any():
            continue  # not in the order of the values
        texts = [canonical(float(number), Kind.NUMERIC) for number in values]
        texts += [attribute.values[-1]] if attribute.missing else []
        made = replace(
            attribute,
            kind=Kind.NUMERIC,
            values=tuple(texts),
            low=values,
            high=values,
            hierarchy=None,
            binned=False,
            open_bins=False,
            harmless=(),
            classes=(),
        )
        last = found.regions.high[found.band]
        band = np.minimum(np.searchsorted(last, np.arange(attribute.codes)), len(values) - 1)
        band[attribute.real :] = len(values)
        attributes = (*masked.attributes[:index], made, *masked.attributes[index + 1 :])
        return replace(rows, attributes=attributes), band, found.words
    return None

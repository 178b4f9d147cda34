"""Earlier releases: what was published before about these people, translated into the domains of the new release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known, Targets
from unveil.data.regions import Regions
from unveil.data.release import Block, BlockRows, Release, build_release, example_rows, row_numbers
from unveil.data.rows import SUPPRESSED, PublishedRows, rows_of
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError
from unveil.risk.composition.combinations import Combinations, places
from unveil.risk.composition.inference import ReleaseView
from unveil.risk.composition.links import Overlap

__all__ = ["EarlierRelease", "KnownPeople", "presence_view", "view_of", "views_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EarlierRelease:
    """A release that is already out, and what is said of it."""

    release: Release
    overlap: Overlap = field(default_factory=Overlap)
    changed: float = 0.0  # probability that somebody's sensitive value is another one by now
    date: str | None = None
    group: NDArray[np.integer] | None = None  # (people,) their groups, where a reader knows them
    within: Mapping[str, float] = field(default_factory=dict)  # by perturbed number: how far it may have been moved
    then: Mapping[str, float] = field(default_factory=dict)  # by number known of people: what to add for its value then

    def __post_init__(self) -> None:
        if not 0 <= self.changed < 1:
            raise UsageError(f"the probability of a changed value must lie in [0, 1), not {self.changed:g}")
        if any(not width >= 0 for width in self.within.values()):
            raise UsageError("a perturbed number lies within a distance of 0 or more")


@dataclass(frozen=True, slots=True, eq=False)
class KnownPeople:
    """Whom readers ask about: rows of a table, or the rows of the new release as coarsely as published."""

    count: int
    known: Mapping[str, tuple[Attribute, Regions, NDArray[np.int64]]]  # by attribute: the set each person is known by

    @classmethod
    def of_table(cls, table: Table, names: Sequence[str]) -> "KnownPeople":
        """Every row, of whom these attributes are known."""
        found = {}
        for name in names:
            attribute = table.attributes[table.index(name)]
            found[name] = attribute, Regions.singles(attribute.codes), table.columns[table.index(name)].astype(np.int64)
        return cls(table.rows, found)

    @classmethod
    def of_targets(cls, release: Release, targets: Targets) -> "KnownPeople":
        """The targets of a release."""
        named = {i: release.attributes[i] for i in targets.known}
        known = {named[i].name: (named[i], k.regions, k.of_target) for i, k in targets.known.items()}
        return cls(targets.count, known)


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """A release in whose domains people are known."""

    release: Release  # what was perturbed as sets of what it may have been
    channels: Mapping[int, Floats]
    targets: Targets  # asked by the place of the attribute, -1 if it is not published
    likelihood: Mapping[int, Floats]
    nowhere: NDArray[np.bool_] | None
    unstated: tuple[str, ...]


def view_of(name: str, earlier: EarlierRelease, people: KnownPeople, asked: Attribute) -> ReleaseView:
    """One release as it speaks of these people; NotApplicable says why it cannot be combined."""
    if asked.name not in {a.name for a in earlier.release.attributes}:
        raise NotApplicable(f"it does not publish {asked.name}")
    found = _read(earlier, people, asked)
    index = found.targets.asked
    emission = _emission(found.release, index, asked, found.channels.get(index), earlier.changed)
    return _view(name, earlier, found, found.release, found.targets, emission)


def views_of(
    name: str, earlier: EarlierRelease, people: KnownPeople, asked: Attribute, beside: Combinations | None = None
) -> list[ReleaseView]:
    """The same, where people are asked about the attribute with columns in common: a view for each block with some."""
    if beside is None:
        return [view_of(name, earlier, people, asked)]
    found = _read(earlier, people, asked)
    views = []
    for block in found.release.blocks:
        place = {i: beside.column(found.release.attributes[i].name) for i in block.attributes}
        if columns := [i for i in block.attributes if place[i] >= 0]:
            number = row_numbers([block.region(i) for i in columns])
            first = example_rows(number)
            chance = np.ones((len(first), len(beside)))
            for i in columns:
                chance *= _chances(found, i, beside, place[i], earlier.changed)[block.region(i)[first]]
            at = found.targets.asked if found.targets.asked in columns else columns[0]
            release, emission = _with_cells(found.release, block, at, number, chance)
            views.append(_view(name, earlier, found, release, replace(found.targets, asked=at), emission))
    if not views:
        raise NotApplicable(f"it does not publish {asked.name}")
    return views


def presence_view(name: str, earlier: EarlierRelease, people: KnownPeople) -> ReleaseView:
    """One release as it speaks of who is in it: everybody there shows the same."""
    published = earlier.release
    known = [sum(published.attributes[i].name in people.known for i in block.attributes) for block in published.blocks]
    number, added = int(np.argmax(known)), len(published.attributes)
    parts = []
    for place, one in enumerate(published.blocks):
        cells = tuple(one.region(i).astype(np.int64) for i in one.attributes)
        there = ((added,), (np.zeros(len(one.cell), dtype=np.int64),)) if place == number else ((), ())
        parts.append(BlockRows(one.attributes + there[0], one.group, cells + there[1], one.count))
    inside = Attribute("in it", Role.SENSITIVE, Kind.CATEGORICAL, ("yes",))
    attributes, regions = [*published.attributes, inside], [*published.regions, Regions.singles(1)]
    made = build_release(attributes, regions, parts, published.perturbed)[0]
    return view_of(name, replace(earlier, release=made, changed=0.0), people, inside)


def _view(
    name: str, earlier: EarlierRelease, found: _Reading, release: Release, targets: Targets, emission: Floats | None
) -> ReleaseView:
    return ReleaseView(
        name, release, targets, earlier.overlap, emission, found.nowhere, found.likelihood, found.unstated
    )


def _read(earlier: EarlierRelease, people: KnownPeople, asked: Attribute) -> _Reading:
    """The people in a release's own domains."""
    published = earlier.release
    channels: Mapping[int, Floats] = {}
    unstated: list[str] = []
    if published.perturbed:
        rows = rows_of(published)
        release, channels = _unmasked(rows, asked, earlier.within), rows.channel
        perturbed = [rows.attributes[i].name for i in rows.masked if i not in channels]
        unstated = [n for n in perturbed if n in people.known and n not in earlier.within]
        if codes := [a.name for a in published.attributes if a.name in earlier.within and not a.kind.measured]:
            raise NotApplicable(f"{codes[0]} is not a number, so it cannot have been moved within a distance")
    else:
        release = published
    names = [a.name for a in release.attributes]
    index = names.index(asked.name) if asked.name in names else -1
    if index >= 0 and release.attributes[index].kind.measured and release.attributes[index].codes > 1000:
        raise NotApplicable(f"{asked.name} has over 1,000 values; declare bins for it")
    if unknown := [n for n in earlier.then if n not in people.known or n not in names]:
        raise NotApplicable(f"{unknown[0]} is not known of people in it, so nothing can be said of its value then")
    known, likelihood, nowhere = {}, {}, np.zeros(people.count, dtype=bool)
    for i, attribute in enumerate(release.attributes):
        if i == index or attribute.name not in people.known:  # known now, whatever it was then
            continue
        mine, regions, of_person = people.known[attribute.name]
        known[i], lost = _translated(mine, regions, of_person, attribute, earlier.then.get(attribute.name, 0.0))
        nowhere |= lost
        if i in channels:
            known[i], likelihood[i] = _through(known[i], channels[i])
    if not known and earlier.group is None and release.groups > 1 and len(release.blocks) > 1:
        raise NotApplicable("nothing that is known of a person is published in it")
    group = None if earlier.group is None else np.asarray(earlier.group, dtype=np.int64)
    targets = Targets(index, known, people.count, group)
    return _Reading(release, channels, targets, likelihood, nowhere if nowhere.any() else None, tuple(unstated))


def _chances(found: _Reading, index: int, beside: Combinations, column: int, changed: float) -> Floats:
    """(regions, combinations) the chance of what is published in one column."""
    release, ours, codes = found.release, beside.columns[column], beside.codes[:, column]
    regions, theirs = release.regions[index], release.attributes[index]
    if column == 0:
        table = _emission(release, index, ours, found.channels.get(index), changed)
        return (regions.totals(np.eye(ours.codes)) if table is None else table)[:, codes]
    listed = np.unique(codes[codes >= 0])
    fits = (places(theirs, ours)[:, None] == listed[None, :]).astype(np.float64)  # (their codes, listed codes)
    if index in found.channels:
        fits = found.channels[index].T @ fits
    else:
        _refuse_other_values(release, index, fits, 0.0)
    held = np.minimum(regions.totals(fits), 1.0)
    rest = regions.whole | (held <= 0).all(axis=1)
    return np.column_stack([held, rest])[:, np.where(codes >= 0, np.searchsorted(listed, codes), len(listed))]


def _with_cells(
    release: Release, block: Block, index: int, number: NDArray[np.int64], chance: Floats
) -> tuple[Release, Floats | None]:
    """The release with numbered cells of a block in an attribute's place, and (cells, combinations) their chances.

    None of these where each cell is one combination.
    """
    only = ((chance == 0) | (chance == 1)).all() and (chance.sum(axis=1) == 1).all()
    which = chance.argmax(axis=1)
    plain = only and len(np.unique(which)) == len(which)
    number, codes = (which[number], chance.shape[1]) if plain else (number, len(chance))
    attribute = Attribute("combination", Role.SENSITIVE, Kind.CATEGORICAL, tuple(map(str, range(codes))))
    parts = [
        BlockRows(
            one.attributes,
            one.group,
            tuple(number if one is block and i == index else one.region(i).astype(np.int64) for i in one.attributes),
            one.count,
        )
        for one in release.blocks
    ]
    attributes, regions = list(release.attributes), list(release.regions)
    attributes[index], regions[index] = attribute, Regions.singles(codes)
    made = build_release(attributes, regions, parts)[0]
    return made, None if plain else chance[made.regions[index].single()]


def _overlaps(a: Attribute, b: Attribute, add: float = 0.0) -> NDArray[np.bool_] | None:
    """(codes of a, codes of b) whether a value of a, with `add` added, can be one of b; None: codes are the same."""
    if a.values == b.values and not add:
        return None
    if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
        found = np.zeros((a.codes, b.codes), dtype=bool)
        open_ends = a.open_bins or b.open_bins
        below = np.less if open_ends and a.binned and b.binned else np.less_equal
        found[: a.real, : b.real] = below(a.low[:, None] + add, b.high[None, :]) & below(
            b.low[None, :], a.high[:, None] + add
        )
        if a.missing and b.missing:
            found[-1, -1] = True
        return found
    if add:
        raise NotApplicable(f"{a.name} is not a number in both, so nothing can be added to it")
    place = {value: code for code, value in enumerate(b.values)}
    found = np.zeros((a.codes, b.codes), dtype=bool)
    for code, value in enumerate(a.values):
        if value in place:
            found[code, place[value]] = True
    return found


def _translated(
    mine: Attribute, regions: Regions, of_person: NDArray[np.int64], theirs: Attribute, add: float = 0.0
) -> tuple[Known, NDArray[np.bool_]]:
    """What is known of people in another release's domain, and who has no value there."""
    same = _overlaps(mine, theirs, add)
    if same is None:
        return Known(regions, of_person), np.zeros(len(of_person), dtype=bool)
    allowed = np.asarray(regions.totals(same.astype(np.int64)) > 0)
    empty = np.asarray(~allowed.any(axis=1))
    allowed[empty] = True
    owner, code = np.nonzero(allowed)
    return Known(Regions.pairs(theirs.codes, owner, code, len(regions)), of_person), empty[of_person]


def _through(known: Known, channel: Floats) -> tuple[Known, Floats]:
    """Which published codes somebody may show, and (known sets, codes) the chance of each."""
    chance = known.regions.totals(channel) / known.regions.sizes[:, None]
    owner, code = np.nonzero(chance > 0)
    return Known(Regions.pairs(channel.shape[1], owner, code, len(chance)), known.of_target), np.asarray(chance)


def _emission(release: Release, index: int, asked: Attribute, channel: Floats | None, changed: float) -> Floats | None:
    """(regions, values) the chance of what is published given the value now; None if that is the value itself."""
    regions, theirs = release.regions[index], release.attributes[index]
    same = _overlaps(theirs, asked)
    if channel is None and same is None and changed == 0 and (regions.sizes == 1).all():
        return None
    table = np.eye(theirs.codes) if same is None else same.astype(np.float64)  # (their codes, our codes)
    _refuse_other_values(release, index, table, changed)
    if channel is not None:  # P(published | true), published in rows of `channel.T`
        table = channel.T @ table
    if channel is None:
        found = np.minimum(regions.totals(table), 1.0)
    else:  # what is suppressed may be anything
        found = np.where((regions.sizes == 1)[:, None], table[regions.single()], 1.0)
    if changed:
        block = release.block_of(index)
        share = np.bincount(block.region(index), weights=block.count, minlength=len(regions)) / release.rows
        found = (1 - changed) * found + changed * share[:, None]
    return np.asarray(found)


def _refuse_other_values(release: Release, index: int, table: Floats, changed: float) -> None:
    """Values that nobody has now must be few: else it is another list of values, and tells readers more than us."""
    block, theirs = release.block_of(index), release.attributes[index]
    lost = np.all(release.regions[index].totals(table) <= 0, axis=1)[block.region(index)]
    _refuse_share(float(block.count[lost].sum()) / max(release.rows, 1), theirs.name, changed)


def _refuse_share(share: float, name: str, changed: float = 0.0) -> None:
    """The same by the share of rows that show other values."""
    if share == 1 or 0 < changed < share / 2:
        raise NotApplicable(
            f"{share:.0%} of its rows show values of {name} that this release does not have; if they are other "
            "names of the same, its own schema must say so"
        )


def _unmasked(masked: PublishedRows, asked: Attribute, within: Mapping[str, float]) -> Release:
    """A perturbed table as rows whose cells are sets: what was perturbed lies within a stated distance, or anywhere.

    Codes that a published channel changed stand as they are published: the channel says what they may have been.
    """
    regions, numbers = [], []
    for index, (attribute, column) in enumerate(zip(masked.attributes, masked.columns, strict=True)):
        perturbed = index in masked.masked and index not in masked.channel
        if attribute.name == asked.name and perturbed and asked.name not in within:
            if index in masked.noticed and not attribute.kind.measured:  # other names for every value
                _refuse_share(1.0, asked.name)
            why = "how far it may have been moved" if attribute.kind.measured else "with what chances"
            raise NotApplicable(f"its {asked.name} was perturbed, and it is not stated {why}")
        low, high, whole = _span(attribute, column, within.get(attribute.name) if perturbed else 0.0)
        if whole.any():
            low, high = np.where(whole, 0, low), np.where(whole, attribute.codes - 1, high)
        pair = row_numbers([low, high])
        first = example_rows(pair)
        regions.append(Regions.intervals(attribute.codes, low[first], high[first]))
        numbers.append(pair)
    everything = tuple(range(len(masked.attributes)))
    others = [numbers[i] for i in everything if masked.attributes[i].name != asked.name]
    group = row_numbers(others, masked.rows)
    part = BlockRows(everything, group, tuple(numbers))
    return build_release(masked.attributes, regions, [part])[0]


def _span(
    attribute: Attribute, column: NDArray[np.generic], width: float | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """(rows,) first and last code that a cell may stand for, and where it may be any."""
    if not attribute.kind.measured:
        codes = column.astype(np.int64)
        anything = (codes == SUPPRESSED) | (width is None)
        return codes, codes, anything
    numbers = column.astype(np.float64)
    anything = np.isnan(numbers) | (width is None)
    place = np.where(np.isnan(numbers), 0.0, numbers)
    reach = 0.0 if width is None else width
    if attribute.low is None or attribute.high is None:
        raise NotApplicable(f"{attribute.name} has no places on a line")
    low = np.searchsorted(attribute.high, place - reach - 1e-9, side="left")
    high = np.searchsorted(attribute.low, place + reach + 1e-9, side="right") - 1
    nowhere = low > high  # between two values: the nearest, so that nothing is ruled out that may be
    low, high = np.where(nowhere, np.maximum(high, 0), low), np.where(nowhere, low, high)
    return low.clip(0, attribute.real - 1), high.clip(0, attribute.real - 1), anything

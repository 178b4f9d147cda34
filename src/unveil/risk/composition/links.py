"""Links: where in a release each person may stand, by what is published of them, and what the groups there hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.fits import block_fits
from unveil.data.belief import Targets
from unveil.data.release import Block, Release, example_rows, row_numbers
from unveil.errors import NotApplicable, UsageError
from unveil.kernels.composition import fill_possible
from unveil.kernels.numbering import grouped
from unveil.risk.composition.slices import BlockLinks, SliceLinks

__all__ = ["Floats", "GroupLinks", "Ints", "Overlap", "link_people"]

MOST_PAIRS = 60_000_000  # pairs of a person and a row that fit
MOST_SCALINGS = 200
PeopleRelation = Literal["same", "subset", "superset", "overlapping"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Which people two releases share.

    same: exactly these; subset: some of these and nobody else; superset: all of these and others; overlapping: some of
    these, and others.
    """

    people: PeopleRelation = "same"
    shared: int | None = None  # how many, of an overlapping population; None: unknown, and taken to be all who fit

    def __post_init__(self) -> None:
        if self.people not in get_args(PeopleRelation):
            raise UsageError(f"unknown overlap {self.people!r}; choose same, subset, superset or overlapping")
        if self.shared is not None and (self.people != "overlapping" or self.shared < 1):
            raise UsageError("a number of shared people belongs to an overlapping population, and is 1 or more")


@dataclass(frozen=True, slots=True, eq=False)
class GroupLinks:
    """Of one release: its groups, who may stand in each, and which values it holds. Groups are what hides a link."""

    start: Ints  # (groups + 1,) links of each group
    person: NDArray[np.int32]  # (links,) class of people; the number of classes: strangers
    count: Floats  # (links,) expected people
    entry: Ints  # (links,) rows that cannot be told apart
    weight: Floats  # (links,) how well they fit, up to a factor for each class and each entry; other blocks aside
    certain: NDArray[np.bool_]  # (links,) the count is a fact
    present: Floats  # (classes,) probability that somebody of the class is in the release at all
    value_start: Ints  # (groups + 1,)
    column: NDArray[np.int32]  # (group values,) what is published of the sensitive value
    held: Floats  # (group values,) rows
    emission: Floats | None  # (columns, values) probability of what is published given the value; None: the value
    slices: SliceLinks | None = None  # of a sliced release, where other blocks say more than who may stand where

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.start) - 1

    @property
    def group(self) -> Ints:
        """(links,) the group of each link."""
        return np.repeat(np.arange(self.groups), np.diff(self.start))

    def columns_of(self, weight: Floats) -> Floats:
        """(people, columns) from (people, values)."""
        return weight if self.emission is None else weight @ self.emission.T

    def values_of(self, told: Floats) -> Floats:
        """(people, values) from (people, columns)."""
        return told if self.emission is None else told @ self.emission

    def cut(self, keep: NDArray[np.bool_], held: Floats) -> "GroupLinks":
        """The links that are kept, and the groups that still have some, with what those hold now."""
        group, of_value = self.group[keep], np.repeat(np.arange(self.groups), np.diff(self.value_start))
        alive = np.bincount(group, minlength=self.groups) > 0
        number = np.cumsum(alive) - 1
        values = alive[of_value] & (held > 1e-9)
        count = int(alive.sum())
        start, value_start = np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(number[group], minlength=count), out=start[1:])
        np.cumsum(np.bincount(number[of_value[values]], minlength=count), out=value_start[1:])
        return replace(
            self,
            start=start,
            person=self.person[keep],
            count=self.count[keep],
            entry=self.entry[keep],
            weight=self.weight[keep],
            certain=self.certain[keep],
            value_start=value_start,
            column=self.column[values],
            held=held[values],
            slices=None if self.slices is None else self.slices.cut(alive),
        )

    def of_groups(self, which: NDArray[np.bool_]) -> "GroupLinks":
        """Some groups alone."""
        return self.cut(which[self.group], self.held)

    def possible(self, people: int, values: int, *, absent: bool = True) -> NDArray[np.bool_]:
        """(people + 1, values) which values some row holds where a person may stand; all for who may be `absent`."""
        columns = values if self.emission is None else len(self.emission)
        seen = np.zeros((people + 1, columns), dtype=np.bool_)
        fill_possible(self.start, self.person, self.value_start, self.column, seen)
        if self.emission is not None:
            seen = self.values_of(seen.astype(np.float64)) > 0
        seen[:people][absent & (self.present < 1 - 1e-9)] = True
        seen[people] = True
        return np.asarray(seen)


def link_people(
    release: Release,
    targets: Targets,
    size: Ints,
    *,
    overlap: Overlap,
    emission: Floats | None = None,
    nowhere: NDArray[np.bool_] | None = None,
    likelihood: Mapping[int, Floats] | None = None,
) -> GroupLinks:
    """The links of classes of people, `size` (classes,) each, to the rows of a release that fit them.

    `emission` (regions of the asked attribute, values); None: its regions are single values, the same codes.
    `nowhere`: classes that fit no row whatever is published. `likelihood`: by perturbed attribute, the chance of every
    published code given what is known.
    """
    entry, group, capacity, target, weight, share, blocks = _fits(release, targets, likelihood or {})
    if nowhere is not None and nowhere.any():
        keep = ~nowhere[target]
        entry, target, weight, share = entry[keep], target[keep], weight[keep], share[keep]
    people, rows = int(size.sum()), int(capacity.sum())
    reachable = min(
        int(size[np.bincount(target, minlength=len(size)) > 0].sum()),
        int(np.minimum(np.bincount(entry, weights=size[target], minlength=len(capacity)), capacity).sum()),
    )
    shared = {"same": people, "subset": rows, "superset": people, "overlapping": overlap.shared or reachable}
    inside = min(shared[overlap.people], people, rows, reachable)
    count, absent, strange = _expected(entry, target, weight * share, size, capacity, inside)
    alone = np.bincount(target, minlength=targets.count)[target] == 1
    only = np.bincount(entry, minlength=len(capacity))[entry] == 1
    certain = (alone & (absent[target] < 1e-9)) | (only & (strange[entry] < 1e-9))
    extra = np.flatnonzero(strange > 1e-9)
    settled = np.ones(len(capacity), dtype=bool)
    settled[entry[~certain]] = False
    keep = count > 1e-12
    person = np.concatenate([target[keep], np.full(len(extra), targets.count)])
    count = np.concatenate([count[keep], strange[extra]])
    place = np.concatenate([entry[keep], extra])
    weight = np.concatenate([weight[keep], np.ones(len(extra))])
    certain = np.concatenate([certain[keep], settled[extra]])
    where = group[place]
    groups = int(group.max(initial=-1)) + 1
    order, start = grouped(where, groups)
    value_start, column, held = _held(release, targets, emission is None, groups)
    slices = None
    if blocks:
        own = release.block_of(targets.asked)
        home = own.group[example_rows(_told_apart(release, targets))]
        slices = SliceLinks.where_open(home, where[~certain], blocks)
    return GroupLinks(
        start,
        person[order].astype(np.int32),
        count[order],
        place[order],
        weight[order],
        certain[order],
        np.clip(1 - absent, 0.0, 1.0),
        value_start,
        column,
        held,
        emission,
        slices,
    )


def _sets(release: Release, targets: Targets) -> tuple[Block | None, list[int]]:
    """The block whose entries people are linked with, if it is not the asked one's, and what is known of its cells."""
    own = release.block_of(targets.asked)
    known_own = [i for i in own.attributes if i in targets.known]
    others = [b for b in release.blocks if b is not own and any(i in targets.known for i in b.attributes)]
    if not known_own and len(others) == 1:
        return others[0], [i for i in others[0].attributes if i in targets.known]
    return None, known_own


def _told_apart(release: Release, targets: Targets) -> Ints:
    """(entries of the asked attribute's block,) the set of rows that are not told apart by what is known."""
    own = release.block_of(targets.asked)
    known = [i for i in own.attributes if i in targets.known]
    columns: list[NDArray[np.integer]] = [own.region(i) for i in known]
    if len(release.blocks) > 1 or targets.group is not None:  # one block: a row is its cells, whatever its group
        columns = [own.group, *columns]
    return row_numbers(columns, len(own.cell))


def _fits(
    release: Release, targets: Targets, likelihood: Mapping[int, Floats]
) -> tuple[Ints, Ints, Ints, Ints, Floats, Floats, list[BlockLinks]]:
    """(pairs,) entry; (entries,) group and rows; (pairs,) target, weight and share of the group whose other blocks fit.

    Last: those other blocks, entry by entry.
    """
    own = release.block_of(targets.asked)
    block, known = _sets(release, targets)
    if block is not None:
        number = row_numbers([block.group, *(block.region(i) for i in known)])
        first = example_rows(number)
        capacity = np.bincount(number, weights=block.count).astype(np.int64)
        entry, target, weight = _pairs(release, block, known, targets, number, likelihood)
        return entry, block.group[first], capacity, target, weight, np.ones(len(weight)), []
    number = _told_apart(release, targets)
    capacity = np.bincount(number, weights=own.count).astype(np.int64)
    first = example_rows(number)
    entry, target, weight = _pairs(release, own, known, targets, number, likelihood)
    share, blocks = np.ones(len(entry)), []
    others = [b for b in release.blocks if b is not own and any(i in targets.known for i in b.attributes)]
    for other in others:  # how much of the group shows cells that fit, block by block
        cells = [i for i in other.attributes if i in targets.known]
        theirs = row_numbers([other.group, *(other.region(i) for i in cells)])
        rows = np.bincount(theirs, weights=other.count).astype(np.float64)
        place, who, fit = _pairs(release, other, cells, targets, theirs, likelihood)
        home = other.group[example_rows(theirs)].astype(np.int64)
        blocks.append(BlockLinks.of(who, place, fit, rows, home, release.groups))
        found = blocks[-1].share(release.sizes)
        at = blocks[-1].find(target, own.group[first][entry])
        keep = at >= 0
        entry, target, weight, share = entry[keep], target[keep], weight[keep], share[keep] * found[at[keep]]
    return entry, np.arange(len(capacity)), capacity, target, weight, share, blocks


def _pairs(
    release: Release,
    block: Block,
    known: Sequence[int],
    targets: Targets,
    number: Ints,
    likelihood: Mapping[int, Floats],
) -> tuple[Ints, Ints, Floats]:
    """(pairs,) number of the set of entries, target, and weight, of every target that fits."""
    sets = int(number.max(initial=-1)) + 1
    if not known:
        if targets.group is not None:
            belongs = np.full(release.groups, -1, dtype=np.int64)
            belongs[block.group] = number
            return belongs[targets.group], np.arange(targets.count), np.ones(targets.count)
        if sets * targets.count > MOST_PAIRS:
            raise NotApplicable(f"nothing is known of a person in it, and it has {sets:,} groups")
        return (
            np.repeat(np.arange(sets), targets.count),
            np.tile(np.arange(targets.count), sets),
            np.ones(sets * targets.count),
        )
    exact = all((targets.known[i].regions.sizes == 1).all() for i in known)
    if not exact:
        found = block_fits(release, block, targets)
        weight = np.ones(len(found.target))
        for i in known:
            if i in likelihood:  # a code stands for itself, and what is suppressed for any
                shown = release.regions[i].single()[block.region(i)[found.entry]]
                chance = likelihood[i][targets.known[i].of_target[found.target], np.maximum(shown, 0)]
                weight = weight * np.where(shown >= 0, chance, 1.0)
            else:
                weight = weight * found.overlaps[i].shared(np.ones(release.attributes[i].codes))[found.pair[i]]
        pair, inverse = np.unique(found.target * sets + number[found.entry], return_inverse=True)
        total = np.bincount(inverse, weights=weight) / np.maximum(np.bincount(inverse), 1)
        return pair % sets, pair // sets, total
    from unveil.kernels.boxes import points_in_boxes

    first = example_rows(number)
    columns = [block.region(i)[first] for i in known]
    points = [targets.known[i].regions.low[targets.known[i].of_target] for i in known]
    boxes = row_numbers(columns)  # sets of several groups may show the same cells
    shown = example_rows(boxes)
    cells = [column[shown] for column in columns]
    single = [release.regions[i].single()[cell] for i, cell in zip(known, cells, strict=True)]
    if all((code >= 0).all() for code in single):
        target, box = _equal_rows(points, single)
    else:
        regions = [release.regions[i].take(cell) for i, cell in zip(known, cells, strict=True)]
        low = np.stack([r.low[r.start[:-1]] for r in regions], axis=1)
        high = np.stack([r.high[r.start[1:] - 1] for r in regions], axis=1)
        point = np.stack(points, axis=1).astype(np.int32)
        target, box = points_in_boxes(point, low.astype(np.int32), high.astype(np.int32))
        for axis, r in enumerate(regions):  # a set of codes has gaps that its box does not
            if (r.runs > 1).any():
                inside = r.holds(box, point[target, axis].astype(np.int64))
                target, box = target[inside], box[inside]
    order, begin = grouped(boxes, len(shown))
    length = (begin[1:] - begin[:-1])[box]
    if length.sum() > MOST_PAIRS:
        raise NotApplicable(f"{int(length.sum()):,} pairs of a person and a row that fits are too many")
    stop = np.cumsum(length)
    entry = order[np.repeat(begin[box] - stop + length, length) + np.arange(stop[-1] if len(stop) else 0)]
    target = np.repeat(target, length)
    if targets.group is not None:
        keep = block.group[first][entry] == targets.group[target]
        entry, target = entry[keep], target[keep]
    return entry, target, np.ones(len(entry))


def _equal_rows(a: Sequence[NDArray[np.integer]], b: Sequence[NDArray[np.integer]]) -> tuple[Ints, Ints]:
    """(pairs,) rows of some columns a and of b that are equal; those of b differ from each other."""
    rows = len(a[0])
    number = row_numbers([np.concatenate(both) for both in zip(a, b, strict=True)])
    of_b = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
    of_b[number[rows:]] = np.arange(len(number) - rows)
    found = of_b[number[:rows]]
    return np.flatnonzero(found >= 0), found[found >= 0]


def _expected(
    entry: Ints, target: Ints, weight: Floats, size: Ints, capacity: Ints, inside: int
) -> tuple[Floats, Floats, Floats]:
    """(pairs,) expected people of each link, (classes,) the probability of being absent, (entries,) strangers there.

    Weights are scaled until every class and every entry adds up; so are the chances of being absent, or a stranger.
    """
    people, rows = int(size.sum()), int(capacity.sum())
    out, others = float(people - inside), float(rows - inside)
    count = weight.astype(np.float64)
    fits = np.zeros(len(size), dtype=bool)
    fits[target] = True
    away = np.where(fits, 1.0 if out > 0 else 0.0, size.astype(np.float64))
    stranger = np.where(np.bincount(entry, minlength=len(capacity)) > 0, 1.0 if others > 0 else 0.0, capacity)
    stranger = stranger.astype(np.float64)
    for _ in range(MOST_SCALINGS):
        total = np.bincount(target, weights=count, minlength=len(size)) + away
        scale = size / np.maximum(total, 1e-300)
        count, away = count * scale[target], away * scale
        total = np.bincount(entry, weights=count, minlength=len(capacity)) + stranger
        scale = capacity / np.maximum(total, 1e-300)
        count, stranger = count * scale[entry], stranger * scale
        # Who fits nothing is away and a row that nobody fits a stranger's; the others share what is left.
        for vector, sure, amount in ((away, ~fits, out), (stranger, None, others)):
            fixed = sure if sure is not None else np.bincount(entry, minlength=len(capacity)) == 0
            left = amount - float(vector[fixed].sum())
            free = float(vector[~fixed].sum())
            if free > 0:
                vector[~fixed] *= max(left, 0.0) / free
        rows_now = np.bincount(entry, weights=count, minlength=len(capacity)) + stranger
        people_now = np.bincount(target, weights=count, minlength=len(size)) + away
        if max(np.abs(rows_now - capacity).max(initial=0), np.abs(people_now - size).max(initial=0)) < 1e-9:
            break
    return count, away / np.maximum(size, 1), stranger


def _held(release: Release, targets: Targets, single: bool, groups: int) -> tuple[Ints, NDArray[np.int32], Floats]:
    """What each group holds: (groups + 1,) starts, columns and rows."""
    own = release.block_of(targets.asked)
    block, _ = _sets(release, targets)
    number = own.group if block is not None else _told_apart(release, targets)
    region = own.region(targets.asked)
    column = release.regions[targets.asked].single()[region] if single else region.astype(np.int64)
    if single and (column < 0).any():
        raise UsageError("a release with withheld values needs its emission")
    width = int(column.max(initial=0)) + 1
    key, inverse = np.unique(number * width + column, return_inverse=True)
    held = np.bincount(inverse, weights=own.count).astype(np.float64)
    start = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(key // width, minlength=groups), out=start[1:])
    return start, (key % width).astype(np.int32), held

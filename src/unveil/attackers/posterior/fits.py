"""How targets and a release fit together: which cells a target may belong to, and how well, given the parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Known, Targets
from unveil.data.regions import Regions
from unveil.data.release import Block, Release, example_rows, row_numbers
from unveil.errors import NotApplicable, UsageError
from unveil.kernels.incidence import count_fits, grow_cells, list_fits

__all__ = [
    "BlockFits",
    "Fitted",
    "Overlaps",
    "block_fits",
    "check_targets",
    "held_values",
    "knowledge_likelihood",
    "merged_block",
    "refuse_misfits",
]


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """Pairs of a published region and a piece of knowledge of one attribute, and the codes that both allow."""

    region: NDArray[np.int64]  # (pairs,) region number
    inside: Regions | None  # (overlapping pairs,) the codes in both; None if no pair overlaps
    overlapping: NDArray[np.int64]  # (overlapping pairs,) which pairs these are
    right: NDArray[np.float64]  # (pairs,) likelihood of the knowledge for a code in both, less that of one outside
    mistaken: NDArray[np.float64]  # (pairs,) likelihood of the knowledge for a code outside
    chance: Any = None  # sparse (overlapping pairs, codes) likelihood of the knowledge; None: 1 for every code inside

    def shared(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """(pairs, ...) total weight (codes, ...) of the codes in both sets."""
        total = np.zeros((len(self.region), *weight.shape[1:]))
        if self.chance is not None:
            flat = self.chance @ weight.reshape(len(weight), -1)
            total[self.overlapping] = flat.reshape(-1, *weight.shape[1:])
        elif self.inside is not None:
            total[self.overlapping] = self.inside.totals(weight)
        return total

    def likelihood(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """(pairs, ...) the knowledge's likelihood, from the share of the region's weight that it allows."""
        shape = (-1,) + (1,) * (share.ndim - 1)
        return self.mistaken.reshape(shape) + self.right.reshape(shape) * share


@dataclass(frozen=True, slots=True, eq=False)
class BlockFits:
    """Of one block: the entries each target may belong to."""

    target: NDArray[np.int64]  # (fits,) growing
    entry: NDArray[np.int64]  # (fits,) entry of the block
    group: NDArray[np.int64]  # (fits,)
    overlaps: dict[int, Overlaps]  # by attribute
    pair: dict[int, NDArray[np.int64]]  # by attribute: (fits,) which overlap

    def product(self, likelihood: dict[int, NDArray[np.float64]], some: slice = slice(None)) -> NDArray[np.float64]:
        """(fits, ...) product over the known attributes of each pair's likelihood (pairs, ...); of some fits only."""
        result: NDArray[np.float64] | None = None
        for attribute, pair in self.pair.items():
            factor = likelihood[attribute][pair[some]]
            result = factor if result is None else result * factor
        if result is None:
            return np.ones((len(self.target[some]), 1))
        return result


def check_targets(release: Release, targets: Targets) -> None:
    """Targets must speak of this release."""
    if not 0 <= targets.asked < len(release.attributes):
        raise UsageError("the attribute asked about is not in the release")
    for index, known in targets.known.items():
        if not 0 <= index < len(release.attributes) or known.regions.codes != release.attributes[index].codes:
            raise UsageError("what is known of the targets does not fit the release's attributes")
    if (
        targets.group is not None
        and targets.count
        and not 0 <= targets.group.min() <= targets.group.max() < release.groups
    ):
        raise UsageError("a target's group is none of the release's groups")


def block_fits(
    release: Release,
    block: Block,
    targets: Targets,
    *,
    within: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> BlockFits:
    """Match targets with the entries of a block, attribute by attribute that is known of them.

    `within`: (target, group) pairs beyond which nobody need look, because the target is known not to be there.
    """
    known = [i for i in block.attributes if i in targets.known]
    if targets.group is not None:
        within = np.arange(targets.count), targets.group
    if within is not None:
        target, entry = _expand(within[0], block.start[within[1]], block.start[within[1] + 1])
        for i in known:
            fits = _fitting(release.regions[i], targets.known[i])
            keep = fits[targets.known[i].of_target[target], block.region(i)[entry]] > 0
            target, entry = target[keep], entry[keep]
    elif known:
        target, entry = _matching_entries(release, block, targets, known)
    else:
        target = np.repeat(np.arange(targets.count), len(block.cell))
        entry = np.tile(np.arange(len(block.cell)), targets.count)
    order = np.lexsort((entry, target))
    target, entry = target[order], entry[order]
    overlaps, pair = {}, {}
    for i in known:
        overlaps[i], pair[i] = _overlaps(release.regions[i], targets.known[i], block.region(i)[entry], target)
    return BlockFits(target, entry, block.group[entry], overlaps, pair)


def _matching_entries(
    release: Release, block: Block, targets: Targets, known: list[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Targets and entries whose known attributes all overlap, by way of the distinct cells of these attributes."""
    columns = [block.region(i).astype(np.int64) for i in known]
    number = row_numbers(columns)
    first = example_rows(number)
    cell = np.stack([column[first] for column in columns], axis=1)
    asked = np.stack([targets.known[i].of_target for i in known], axis=1)
    target, place = _match(release, known, targets, asked, cell)
    order = np.argsort(number, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(number))])
    target, entry = _expand(target, start[place], start[place + 1])
    return target, order[entry]


MOST_FITS = 400_000_000


def _match(
    release: Release, known: list[int], targets: Targets, asked: NDArray[np.int64], cell: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    tables = [_fitting(release.regions[i], targets.known[i]) for i in known]
    width = np.array([t.shape[1] for t in tables], dtype=np.int64)
    offset = np.concatenate([[0], np.cumsum([t.size for t in tables])])[:-1].astype(np.int64)
    fits = np.concatenate([t.ravel() for t in tables])
    bit, bit_start, tree = _cell_tree(tables, cell)
    arguments: list[Any] = [asked, cell, fits, offset, width, bit, bit_start, *tree]
    found = count_fits(*arguments)
    start = np.concatenate([[0], np.cumsum(found)]).astype(np.int64)
    if start[-1] > MOST_FITS:
        raise NotApplicable(
            f"{start[-1]:,} pairs of a target and a fitting cell are too many; "
            "name more known attributes, or ask about fewer targets"
        )
    target, place = np.empty(start[-1], np.int64), np.empty(start[-1], np.int64)
    list_fits(*[*arguments, start, target, place])
    return target, place


MOST_BITS = 256  # of an attribute in a node of the tree: beyond that several pieces of knowledge share one


def _cell_tree(
    tables: list[NDArray[np.uint8]], cell: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[NDArray[Any], ...]]:
    """The bit of each piece of knowledge, where each attribute's bits start, and the tree of the cells."""
    bits, masks, centers, words = [], [], [], [0]
    for table in tables:
        known = len(table)
        own = np.arange(known) * min(known, MOST_BITS) // known
        some = np.maximum.reduceat(table, np.flatnonzero(np.diff(own, prepend=-1)), axis=0)  # (bits, regions)
        padded = np.zeros((-(-len(some) // 64) * 64, table.shape[1]), dtype=np.uint8)
        padded[: len(some)] = some
        masks.append(np.packbits(np.ascontiguousarray(padded.T), axis=1, bitorder="little").view(np.uint64).ravel())
        share = some / np.maximum(some.sum(axis=0), 1)
        centers.append(np.arange(len(some)) / len(some) @ share)
        bits.append(own + 64 * words[-1])
        words.append(words[-1] + len(padded) // 64)
    starts = [np.cumsum([0, *map(len, parts[:-1])]).astype(np.int64) for parts in (bits, centers, masks)]
    cells, nodes = len(cell), 2 * len(cell) + 1
    parts = [np.empty(n, dtype=np.int64) for n in (cells, nodes, nodes, nodes)]
    node = np.empty((nodes, words[-1]), dtype=np.uint64)
    grown = grow_cells(
        *(cell, np.concatenate(centers), starts[1], np.concatenate(masks), starts[2], np.array(words), *parts, node)
    )
    order, *spans = parts
    return np.concatenate(bits), starts[0], (order, *(span[:grown].copy() for span in spans), node[:grown].copy())


def _fitting(regions: Regions, known: Known) -> NDArray[np.uint8]:
    """(knowledge, regions) whether the two can both be right."""
    if known.wrong > 0:
        return np.ones((len(known.regions), len(regions)), dtype=np.uint8)
    if (known.regions.sizes == 1).all():  # values: no sums over codes
        holds = np.zeros((regions.codes + 1, len(regions)), dtype=np.int8)
        owner = np.repeat(np.arange(len(regions)), regions.runs)
        np.add.at(holds, (regions.low, owner), 1)
        np.add.at(holds, (regions.high + 1, owner), -1)
        np.cumsum(holds, axis=0, out=holds)
        return holds[known.regions.low].view(np.uint8)
    mask = np.zeros((len(regions), regions.codes + 1), dtype=np.int32)
    np.add.at(mask, (np.repeat(np.arange(len(regions)), regions.runs), regions.low), 1)
    np.add.at(mask, (np.repeat(np.arange(len(regions)), regions.runs), regions.high + 1), -1)
    inside = np.cumsum(mask[:, :-1], axis=1)
    return (known.regions.totals(np.ascontiguousarray(inside.T)) > 0).astype(np.uint8)


def _expand(
    owner: NDArray[np.int64], start: NDArray[np.int64], stop: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every owner with every number of its span."""
    length = stop - start
    first = np.concatenate([[0], np.cumsum(length)])
    number = np.repeat(start - first[:-1], length) + np.arange(first[-1])
    return np.repeat(owner, length), number


def _overlaps(
    regions: Regions, known: Known, region: NDArray[np.integer], target: NDArray[np.int64]
) -> tuple[Overlaps, NDArray[np.int64]]:
    """The distinct (region, knowledge) pairs among the fits, and which of them each fit has."""
    knowledge = known.of_target[target]
    pair = row_numbers([np.asarray(region, dtype=np.int64), knowledge]) if len(target) else np.zeros(0, dtype=np.int64)
    count = int(pair.max(initial=-1)) + 1
    shown, meant = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    shown[pair], meant[pair] = region, knowledge
    owner, low, high = _common_runs(regions, shown, known.regions, meant)
    inside = None
    overlapping = np.unique(owner)
    if len(overlapping):
        start = np.concatenate([[0], np.cumsum(np.bincount(np.searchsorted(overlapping, owner)))])
        inside = Regions(regions.codes, start.astype(np.int64), low.astype(np.int32), high.astype(np.int32))
    mistaken = known.mistaken()[meant] if count else np.zeros(0)
    chance = (
        None if known.likelihood is None or inside is None else _chances(known.likelihood[meant[overlapping]], inside)
    )
    return Overlaps(shown, inside, overlapping, 1 - known.wrong - mistaken, mistaken, chance), pair


def _chances(likelihood: NDArray[np.float64], inside: Regions) -> Any:
    """Sparse (pairs, codes) likelihood of the codes inside."""
    from scipy.sparse import csr_array

    run, code = _expand(np.arange(len(inside.low)), inside.low.astype(np.int64), inside.high.astype(np.int64) + 1)
    owner = np.repeat(np.arange(len(inside)), inside.runs)[run]
    return csr_array((likelihood[owner, code], (owner, code)), shape=(len(inside), inside.codes))


def _common_runs(
    a: Regions, which_a: NDArray[np.int64], b: Regions, which_b: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Runs common to region a and region b of each pair: owner pair, low, high; ordered by owner, then low."""
    pair = np.arange(len(which_a))
    owner, run_a = _expand(pair, a.start[which_a], a.start[which_a + 1])
    owner_b, run_b = _expand(np.arange(len(owner)), b.start[which_b[owner]], b.start[which_b[owner] + 1])
    owner, run_a = owner[owner_b], run_a[owner_b]
    low = np.maximum(a.low[run_a], b.low[run_b]).astype(np.int64)
    high = np.minimum(a.high[run_a], b.high[run_b]).astype(np.int64)
    keep = low <= high
    owner, low, high = owner[keep], low[keep], high[keep]
    order = np.lexsort((low, owner))
    return owner[order], low[order], high[order]


def knowledge_likelihood(
    shares: NDArray[np.float64], known: Known, part: tuple[NDArray[np.integer], Regions] | None = None
) -> NDArray[np.float64]:
    """(..., knowledge, values) likelihood of each piece of knowledge, from (..., values, codes) shares.

    `part`: the codes that the shares are of, where these are some only, and what is known in terms of them.
    """
    codes, regions = (slice(None), known.regions) if part is None else part
    code = regions.single()
    if known.likelihood is not None:
        inside = np.swapaxes(shares @ known.likelihood[:, codes].T, -1, -2)
    elif (code >= 0).all():
        inside = np.swapaxes(shares[..., code], -1, -2)
    else:
        inside = np.moveaxis(regions.totals(np.ascontiguousarray(np.moveaxis(shares, -1, 0))), 0, -2)
    mistaken = known.mistaken()[:, None]
    if not (known.wrong or mistaken.any()):
        return inside
    return np.asarray(mistaken + (1 - known.wrong - mistaken) * inside)


AT_ONCE = 10_000_000  # numbers of pairs of a target and a fitting cell that are worked on together

Likelihood = Mapping[int, NDArray[np.float64]]  # by attribute: (overlaps, values or 1)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Targets matched with every block of a release."""

    release: Release
    targets: Targets
    block: Block  # that holds the sensitive attribute, perhaps merged
    own: BlockFits  # of this block
    others: tuple[tuple[int, BlockFits], ...]  # the other blocks of which something is known: number, fits

    @classmethod
    def of(cls, release: Release, targets: Targets, *, merged: bool = False) -> "Fitted":
        """Match them. Blocks of which nothing is known say nothing about who a row is.

        `merged`: where there is one block and no group is known, rows that differ in nothing that is known or asked
        are one entry: a wide table has as many entries as rows, and few attributes are known at a time.
        """
        check_targets(release, targets)
        own = release.block_of(targets.asked)
        if merged and len(release.blocks) == 1 and targets.group is None:
            own = merged_block(own, (*sorted(targets.known), targets.asked))
            return cls(release, targets, own, block_fits(release, own, targets), ())
        others = [
            (number, block_fits(release, block, targets))
            for number, block in enumerate(release.blocks)
            if block is not own and any(i in targets.known for i in block.attributes)
        ]
        within = None
        if others and not any(i in targets.known for i in own.attributes):  # the other blocks say where to look
            fits = min((f for _, f in others), key=lambda f: len(f.target))
            pair = np.unique(fits.target * release.groups + fits.group)
            within = pair // release.groups, pair % release.groups
        return cls(release, targets, own, block_fits(release, own, targets, within=within), tuple(others))

    def overlaps(self) -> dict[int, Overlaps]:
        """By attribute: the pairs of a published region and a piece of knowledge that occur."""
        return {i: o for fits in (self.own, *(f for _, f in self.others)) for i, o in fits.overlaps.items()}

    def weights(
        self, likelihood: Likelihood, matched: Mapping[int, NDArray[np.float64]], held: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(targets, values) support for each value: the expected number of rows that hold it and fit the target.

        `likelihood`: how likely the knowledge is given region and value. `matched`, by block: (entries, values or 1)
        the probability that a row with this value of the group shows this cell. `held` (entries of the sensitive
        block, values): how many rows of the entry hold each value.
        """
        groups = self.release.groups
        elsewhere = []
        for number, fits in self.others:
            term = fits.product(dict(likelihood)) * matched[number][fits.entry]
            theirs = fits.target * groups + fits.group  # growing: fits are ordered by target, entries by group
            starts = np.flatnonzero(np.concatenate([[True], theirs[1:] != theirs[:-1]])) if len(theirs) else theirs
            elsewhere.append((theirs[starts], np.add.reduceat(term, starts, axis=0) if len(starts) else term))
        weights = np.zeros((self.targets.count, held.shape[1]))
        step = max(AT_ONCE // max(held.shape[1], 1), 1)
        for start in range(0, len(self.own.target), step):
            some = slice(start, start + step)
            target = self.own.target[some]
            support = held[self.own.entry[some]] * self.own.product(dict(likelihood), some)  # never all at once
            key = target * groups + self.own.group[some]
            for theirs, total in elsewhere:
                if not len(theirs):
                    support = support * 0
                    continue
                place = np.minimum(np.searchsorted(theirs, key), len(theirs) - 1)
                support = support * np.where((theirs[place] == key)[:, None], total[place], 0.0)
            starts = np.flatnonzero(np.concatenate([[True], target[1:] != target[:-1]]))
            weights[target[starts]] += np.add.reduceat(support, starts, axis=0)
        return weights


def refuse_misfits(targets: Targets, weights: NDArray[np.float64], number: NDArray[np.integer] | None = None) -> None:
    """A target that fits no row cannot be in the table: say which. `number`: whose row of weights is whose."""
    number = np.arange(len(weights)) if number is None else number
    misfit = np.flatnonzero(weights.sum(axis=1) <= 0)
    if len(misfit):
        first = int(np.flatnonzero(np.isin(number, misfit))[0])
        many = int(np.isin(number, misfit).sum())
        where = "its group" if targets.group is not None else "any group"
        raise UsageError(
            f"target {first + 1} does not fit {where} of the release ({many} of {len(number)} targets do not); "
            "it cannot be in this table: ask the learner, or correct what is known"
        )


def merged_block(block: Block, attributes: tuple[int, ...]) -> Block:
    """The block with these attributes only, all rows in one group."""
    columns = [block.region(i) for i in attributes]
    number = row_numbers(columns)
    count = np.bincount(number, weights=block.count).astype(np.int64)
    first = example_rows(number)
    cells = np.stack([column[first] for column in columns], axis=1)
    return Block(attributes, cells, np.array([0, len(count)]), np.arange(len(count), dtype=np.int32), count)


def held_values(release: Release, asked: int, block: Block | None = None) -> NDArray[np.float64]:
    """(entries, values) rows of each entry by sensitive value, a withheld value spread evenly over its region."""
    block = release.block_of(asked) if block is None else block
    regions = release.regions[asked]
    region = block.region(asked)
    share = np.zeros((len(regions), release.attributes[asked].codes))
    for number in range(len(regions)):
        members = regions.members(number)
        share[number, members] = 1 / len(members)
    return share[region] * block.count[:, None]

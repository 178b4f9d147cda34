"""How strongly each sensitive value is supported for each target: rows that fit, weighted (Lemma 1, generalised)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.fits import BlockFits, Overlaps, block_fits, check_targets
from unveil.data.belief import Targets
from unveil.data.release import Block, Release, row_numbers
from unveil.errors import UsageError

__all__ = ["Fitted", "held_values", "merged_block", "refuse_misfits"]

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
        own = self.own.product(dict(likelihood))
        weights = np.zeros((self.targets.count, held.shape[1]))
        step = max(AT_ONCE // max(held.shape[1], 1), 1)
        for start in range(0, len(self.own.target), step):
            some = slice(start, start + step)
            target = self.own.target[some]
            support = held[self.own.entry[some]] * own[some]
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
    first = np.empty(len(count), dtype=np.int64)
    first[number] = np.arange(len(number))
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

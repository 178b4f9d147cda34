"""The learner as if the person's group had been left out: what its rows taught is taken off the posterior's counts.

E[theta | release] = (beta + E[N]) / (sum beta + n): the mean shares say how many rows are expected where. Of those the
group's own are taken off, which is exact where values stand beside single cells. Where links are hidden the rows of the
other groups stay matched as they were, with this group there: one group among many moves them little.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from unveil.attackers.posterior.bags import Floats, Ints, Matched, ValueColumns
from unveil.attackers.posterior.contract import Posterior
from unveil.attackers.posterior.fits import block_fits, knowledge_likelihood
from unveil.data.belief import Known, Targets
from unveil.data.regions import Regions
from unveil.data.release import Block, Release, row_numbers
from unveil.errors import NotApplicable

__all__ = ["LeftOut"]

STATES = 512  # of a group that is matched exactly
PAIRS_AT_ONCE = 20_000  # of a target and a group that may be theirs
LEAST = 1e-12
MOST_OF_ALL = 0.5  # of the rows: without a larger group hardly anything would be left to learn from


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """Mean shares, the rows behind them, and who of each group is expected to have which value."""

    release: Release
    asked: int
    theta: dict[int, Floats]  # by attribute: (values, codes) posterior mean shares
    rows: Floats  # (values,) rows and pseudo-counts behind a value's share
    pseudo: dict[int, Floats]  # by attribute: (values,) pseudo-counts of all codes together
    alpha: Floats  # (values,)
    held: Floats  # (groups, values) expected rows
    expected: dict[int, Floats]  # by block: (entries, values) expected rows of the entry by value

    @classmethod
    def of(cls, posterior: Posterior, asked: int) -> "LeftOut":
        """From what was learned of a release."""
        release, prior = posterior.release, posterior.prior
        if prior.smooth:
            raise NotApplicable("the learner without a group needs attributes that are not smoothed")
        pi = _means(posterior, Targets(asked, {}, 1))[0]
        theta = {}
        for i, attribute in enumerate(release.attributes):
            if i != asked:
                each = Known(Regions.singles(attribute.codes), np.arange(attribute.codes))
                joint = _means(posterior, Targets(asked, {i: each}, attribute.codes))
                theta[i] = np.ascontiguousarray((joint / np.maximum(joint.sum(axis=0), 1e-300)).T)
        columns = ValueColumns.of(release, asked)
        expected = {
            n: _expected(release, n, block, asked, columns, theta, pi) for n, block in enumerate(release.blocks)
        }
        own = release.blocks.index(release.block_of(asked))
        held = np.add.reduceat(expected[own], release.blocks[own].start[:-1], axis=0)
        pseudo = {i: prior.beta[i].sum(axis=1) for i in theta}
        return cls(release, asked, theta, held.sum(axis=0), pseudo, prior.alpha, held, expected)

    def factors(self, targets: Targets) -> Iterator[tuple[Ints, Floats, Floats]]:
        """For some targets at a time: (pairs,) target, (pairs,) weight and (pairs, values) by how much the belief in a
        value changes if a group that may be the target's is left out."""
        target, group, weight = self._pairs(targets)
        for start in range(0, len(target), PAIRS_AT_ONCE):
            some = slice(start, start + PAIRS_AT_ONCE)
            yield target[some], weight[some], self._changed(targets.take(target[some]), group[some])

    def _pairs(self, targets: Targets) -> tuple[Ints, Ints, Floats]:
        """Targets and the groups that may be theirs, with the rows that fit."""
        release = self.release
        blocks = [b for b in release.blocks if any(i in targets.known for i in b.attributes)]
        if targets.group is not None:
            return np.arange(targets.count), targets.group, np.ones(targets.count)
        if not blocks:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        block = max(blocks, key=lambda b: sum(i in targets.known for i in b.attributes))
        certain = {i: replace(known, wrong=0.0) for i, known in targets.known.items()}
        fits = block_fits(release, block, replace(targets, known=certain))
        share = np.ones(len(fits.target))
        for i, overlaps in fits.overlaps.items():
            margin = np.ascontiguousarray(self.theta[i].T @ (self.rows / self.rows.sum()))
            whole = release.regions[i].totals(margin)[overlaps.region]
            share *= overlaps.likelihood(np.minimum(overlaps.shared(margin) / np.maximum(whole, 1e-300), 1))[
                fits.pair[i]
            ]
        number = row_numbers([fits.target, fits.group])
        first = np.unique(number, return_index=True)[1]
        rows = np.bincount(number, weights=share * block.count[fits.entry]).astype(np.float64)
        return fits.target[first], fits.group[first], rows

    def _changed(self, pairs: Targets, group: Ints) -> Floats:
        release, gone = self.release, self.held[group]
        all_rows, rows = self.rows.sum(), self.rows
        kept = np.maximum(self.alpha + rows - gone, LEAST) / (self.alpha.sum() + all_rows - gone.sum(axis=1))[:, None]
        found = kept / ((self.alpha + rows) / (self.alpha.sum() + all_rows))
        for i, doubted in pairs.known.items():
            known = replace(doubted, wrong=0.0)
            number = next(n for n, b in enumerate(release.blocks) if i in b.attributes)
            alone = Targets(self.asked, {i: known}, pairs.count, group)
            fits = block_fits(release, release.blocks[number], alone)
            shares = np.ascontiguousarray(self.theta[i].T)
            overlaps = fits.overlaps[i]
            whole = np.maximum(release.regions[i].totals(shares)[overlaps.region], 1e-300)
            inside = np.minimum(overlaps.shared(shares) / whole, 1.0)[fits.pair[i]]
            mine = np.zeros_like(found)
            np.add.at(mine, fits.target, inside * self.expected[number][fits.entry])
            before = knowledge_likelihood(self.theta[i], known)[known.of_target]
            total = self.pseudo[i] + rows
            after = np.maximum(before * total - mine, LEAST) / np.maximum(total - gone, LEAST)
            mistaken = doubted.mistaken()[doubted.of_target][:, None]
            right = 1 - doubted.wrong - mistaken
            found *= (mistaken + right * after) / np.maximum(mistaken + right * before, 1e-300)
        found[gone.sum(axis=1) > MOST_OF_ALL * all_rows] = 1.0
        return np.asarray(found)


def _means(posterior: Posterior, targets: Targets) -> Floats:
    return np.asarray(posterior.joint_mean(targets).mean(axis=0))


def _expected(
    release: Release, number: int, block: Block, asked: int, columns: ValueColumns, theta: dict[int, Floats], pi: Floats
) -> Floats:
    """(entries, values) rows of each entry of a block by value, where they stand beside it or by one matching."""
    share = pi / pi.sum()
    log = np.zeros((len(block.cells), columns.values))
    for place, i in enumerate(block.attributes):
        if i != asked:
            shares = np.maximum(release.regions[i].totals(np.ascontiguousarray(theta[i].T)), 1e-300)
            log += np.log(shares)[block.cells[:, place]]
    p = np.exp(log - log.max(axis=1, keepdims=True)) * share
    p = (p / p.sum(axis=1, keepdims=True))[block.cell]
    if asked in block.attributes:
        count = np.zeros((len(block.cell), columns.values + len(columns.allowed)))
        count[np.arange(len(block.cell)), columns.of_entry] = block.count
        return columns.in_values(count, p)
    matched = Matched.of(columns, block.start, block.count, np.arange(release.groups), np.arange(len(p)), STATES)
    return columns.in_values(matched.expected(columns.weights(p), np.ones(release.groups)), p)

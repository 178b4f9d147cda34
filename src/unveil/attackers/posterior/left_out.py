"""The learner as if the person's group had been left out: what its rows taught is taken off the posterior's counts.

E[theta | release] = (beta + E[N]) / (sum beta + n): the mean shares say how many rows are expected where. Of those the
group's own are taken off, which is exact where values stand beside single cells. Rows in wider cells are read again
then: the mean shares are a fixed point of what they make of such rows (exactly so where cells are nested), and it is
sought again without the group. Where links are hidden the rows of the other groups stay matched as they were, with this
group there: one group among many moves them little.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from unveil.attackers.posterior.bags import Floats, Ints, Matched, ValueColumns
from unveil.attackers.posterior.contract import Posterior
from unveil.attackers.posterior.fits import block_fits, knowledge_likelihood
from unveil.data.belief import Known, Targets
from unveil.data.regions import Regions
from unveil.data.release import Block, Release, row_numbers
from unveil.errors import NotApplicable
from unveil.kernels.wide_cells import shares_without

__all__ = ["LeftOut"]

STATES = 512  # of a group that is matched exactly
PAIRS_AT_ONCE = 20_000  # of a target and a group that may be theirs
LEAST = 1e-12
MOST_CODES = 256  # of an attribute whose wide cells are read again
MOST_WORK = 6e10  # pairs of a group and a value, times runs of regions and pairs of codes
STEPS, STILL = 40, 1e-11
MOST_OF_ALL = 0.5  # of the rows: without a larger group hardly anything would be left to learn from


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """Mean shares, the rows behind them, and who of each group is expected to have which value."""

    release: Release
    asked: int
    theta: dict[int, Floats]  # by attribute: (values, codes) posterior mean shares
    rows: Floats  # (values,) rows and pseudo-counts behind a value's share
    beta: Mapping[int, Floats]  # by attribute: (values, codes) pseudo-counts
    alpha: Floats  # (values,)
    held: Floats  # (groups, values) expected rows
    expected: dict[int, Floats]  # by block: (entries, values) expected rows of the entry by value
    wide: dict[int, "_WideCells"]  # by attribute of the asked block

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
        wide: dict[int, _WideCells] = {}
        for i in set(theta) & set(release.blocks[own].attributes):
            block, regions = release.blocks[own], release.regions[i]
            if (regions.sizes > 1).any() and regions.codes <= MOST_CODES:
                region = block.region(i).astype(np.int64)
                read = _WideCells.of(block, regions, region, expected[own], theta[i], prior.beta[i])
                wide |= {} if read is None else {i: read}
        return cls(release, asked, theta, held.sum(axis=0), prior.beta, prior.alpha, held, expected, wide)

    def factors(self, targets: Targets) -> Iterator[tuple[Ints, Floats, Floats]]:
        """For some targets at a time: (pairs,) target, (pairs,) weight and (pairs, values) by how much the belief in a
        value changes if a group that may be the target's is left out."""
        target, group, weight = self._pairs(targets)
        order = np.argsort(group, kind="stable")  # a group is looked at once, whoever it may belong to
        target, group, weight = target[order], group[order], weight[order]
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
        gone, rows, all_rows = self.held[group], self.rows, self.rows.sum()
        kept = np.maximum(self.alpha + rows - gone, LEAST) / (self.alpha.sum() + all_rows - gone.sum(axis=1))[:, None]
        found = kept / ((self.alpha + rows) / (self.alpha.sum() + all_rows))
        for i, doubted in pairs.known.items():
            known = replace(doubted, wrong=0.0)
            before = knowledge_likelihood(self.theta[i], known)[known.of_target]
            if i in self.wide:
                after = self.wide[i].without(known, group)
            else:
                total = self.beta[i].sum(axis=1) + rows
                mine = self._own(i, known, pairs.count, group)
                after = np.maximum(before * total - mine, LEAST) / np.maximum(total - gone, LEAST)
            mistaken = doubted.mistaken()[doubted.of_target][:, None]
            right = 1 - doubted.wrong - mistaken
            found *= (mistaken + right * after) / np.maximum(mistaken + right * before, 1e-300)
        found[gone.sum(axis=1) > MOST_OF_ALL * all_rows] = 1.0
        return np.asarray(found)

    def _own(self, index: int, known: Known, count: int, group: Ints) -> Floats:
        """(pairs, values) rows of the group that are expected to have what is known."""
        number = next(n for n, b in enumerate(self.release.blocks) if index in b.attributes)
        alone = Targets(self.asked, {index: known}, count, group)
        fits = block_fits(self.release, self.release.blocks[number], alone)
        shares = np.ascontiguousarray(self.theta[index].T)
        overlaps = fits.overlaps[index]
        whole = np.maximum(self.release.regions[index].totals(shares)[overlaps.region], 1e-300)
        inside = np.minimum(overlaps.shared(shares) / whole, 1.0)[fits.pair[index]]
        mine = np.zeros((count, len(self.rows)))
        np.add.at(mine, fits.target, inside * self.expected[number][fits.entry])
        return mine


@dataclass(frozen=True, slots=True, eq=False)
class _WideCells:
    """One attribute, of which some rows show a region: its shares as a fixed point of what they make of these rows."""

    regions: Regions
    theta: Floats  # (values, codes) posterior means
    settled: Floats  # (values, codes) the fixed point, which is the same where regions are nested
    beta: Floats  # (values, codes)
    shown: Floats  # (values, regions) rows
    inverse: Floats  # (values, codes, codes) of I less the slope of what shares make of the rows
    pair: Ints  # (pairs,) group · values + value, growing: what a group shows of a value
    start: Ints  # (pairs + 1,)
    region: Ints  # (items,)
    rows: Floats  # (items,) of the pair that show the region

    @classmethod
    def of(
        cls, block: Block, regions: Regions, region: Ints, rows: Floats, theta: Floats, beta: Floats
    ) -> "_WideCells | None":  # fmt: skip
        """From (entries, values) rows of a block; None if there is too much to read again."""
        values = rows.shape[1]
        entry, value = np.nonzero(rows)
        pair = block.group[entry].astype(np.int64) * values + value
        item, inverse = np.unique(pair * len(regions) + region[entry], return_inverse=True)
        distinct, start = np.unique(item // len(regions), return_index=True)
        if STEPS * len(distinct) * (len(regions.low) + regions.codes**2) > MOST_WORK:
            return None
        shown = np.zeros((values, len(regions)))
        np.add.at(shown, (value, region[entry]), rows[entry, value])
        owner = np.repeat(np.arange(len(regions)), regions.runs)
        ends = np.zeros((regions.codes + 1, len(regions)))
        np.add.at(ends, (regions.low, owner), 1.0)
        np.add.at(ends, (regions.high + 1, owner), -1.0)
        member = np.cumsum(ends, axis=0)[:-1]  # (codes, regions)
        inverses = np.empty((values, regions.codes, regions.codes))
        total = beta.sum(axis=1) + shown.sum(axis=1)
        for v, share in enumerate(theta):
            used = np.flatnonzero(shown[v])  # a value is shown in few of the regions
            inverses[v] = _newton(share, member[:, used], shown[v, used], total[v])
        of_item = np.bincount(inverse, weights=rows[entry, value]).astype(np.float64)
        found = cls(
            regions,
            theta,
            theta,
            beta,
            shown,
            inverses,
            distinct,
            np.append(start, len(item)),
            item % len(regions),
            of_item,
        )
        return replace(found, settled=found._shares(np.zeros(values + 1, np.int64), np.arange(values)))

    def _shares(self, start: Ints, value: Ints) -> Floats:
        """(pairs, codes) shares without some rows of a value: those from start[p] to start[p + 1]."""
        found, regions = np.empty((len(value), self.regions.codes)), self.regions
        shares_without(
            self.settled, self.beta, self.shown, self.inverse, regions.start, regions.low, regions.high, start, value,
            self.region, self.rows, STEPS, STILL, found,
        )  # fmt: skip
        return found

    def without(self, known: Known, group: Ints) -> Floats:
        """(pairs, values) how likely what is known is, read without the pair's group; pairs ordered by group."""
        values = len(self.theta)
        found = known.regions.totals(np.ascontiguousarray(self.theta.T))[known.of_target]
        before = np.maximum(known.regions.totals(np.ascontiguousarray(self.settled.T)), 1e-300)
        first, last = (
            np.searchsorted(self.pair, [group[0] * values, (group[-1] + 1) * values]) if len(group) else (0, 0)
        )
        for begin in range(first, last, PAIRS_AT_ONCE):
            end = min(begin + PAIRS_AT_ONCE, last)
            share = self._shares(self.start[begin : end + 1], self.pair[begin:end] % values)
            inside = known.regions.totals(np.ascontiguousarray(share.T))  # (known sets, pairs of a group and a value)
            of_group = self.pair[begin:end] // values
            lo, hi = np.searchsorted(of_group, group), np.searchsorted(of_group, group, side="right")
            asked = np.repeat(np.arange(len(group)), hi - lo)
            mine = np.arange(len(asked)) - np.repeat(np.cumsum(hi - lo) - hi, hi - lo)
            value = self.pair[begin + mine] % values
            # A mean of draws is no fixed point where regions overlap: it changes as the fixed point does.
            found[asked, value] *= inside[known.of_target[asked], mine] / before[known.of_target[asked], value]
        return found


def _newton(share: Floats, member: Floats, rows: Floats, total: float) -> Floats:
    """(codes, codes) the inverse of I less the slope of what shares of codes make of rows that show some regions.

    That is a diagonal and, for each region, a product of two vectors (Woodbury's identity where there are few regions).
    """
    mass = np.maximum(share @ member, 1e-300)
    weight = rows / mass
    diagonal = 1 - (member @ weight) / total
    left = share[:, None] * member * (weight / mass / total)
    if 2 * len(rows) > len(share) or diagonal.min() < LEAST:
        return np.asarray(np.linalg.inv(np.diag(diagonal) + left @ member.T))
    across = left / diagonal[:, None]
    down = member.T / diagonal
    inner = np.linalg.solve(np.eye(len(rows)) + member.T @ across, down)
    return np.asarray(np.diag(1 / diagonal) - across @ inner)


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

"""What kept states of chains say of targets, where the release hides the link."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._averages import BATCHES, Averages, watched
from unveil.attackers._fits import Overlaps, check_targets, knowledge_likelihood
from unveil.attackers._hidden import Draw, HiddenBlock, HiddenModel, region_shares
from unveil.attackers._weigh import Fitted
from unveil.belief import Prior, Targets
from unveil.kernels import matching
from unveil.release import Release

__all__ = ["HiddenPosterior"]

COLUMNS_AT_ONCE = 64
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class HiddenPosterior:
    """The link is hidden: kept states of chains, each asked in turn."""

    model: HiddenModel
    draws: tuple[list[Draw], ...]  # per chain
    workers: int

    @property
    def release(self) -> Release:
        """The release it was learned from."""
        return self.model.release

    @property
    def prior(self) -> Prior:
        """What was held before."""
        return self.model.prior

    def joint(self, targets: Targets) -> Averages:
        """See Posterior: given the matched rows all parameters are independent, so their means multiply."""
        check_targets(self.release, targets)

        def one(draw: Draw) -> NDArray[np.float64]:
            weights = np.broadcast_to(draw.pi_mean, (targets.count, self.model.values))
            for index, known in targets.known.items():
                weights = weights * knowledge_likelihood(draw.mean[index], known)[known.of_target]
            return weights

        return self._batches(one, lambda terms: np.mean(terms, axis=0))

    def support(self, fitted: Fitted) -> Averages:
        """See Posterior."""
        overlaps = fitted.overlaps()
        certain = {i: table for i, o in overlaps.items() if (table := _certain(self.release, i, o)) is not None}
        by_row = self.model.withheld.by_row
        column_value, held = _columns(self.model)
        blocks = {b.number: b for b in self.model.hidden}
        asked = [blocks[place] for place, _ in fitted.others]

        def weigh(
            likelihood: dict[int, NDArray[np.float64]],
            matched: dict[int, NDArray[np.float64]],
            held: NDArray[np.float64],
        ) -> NDArray[np.float64]:
            full = {i: t if t.shape[1] == 1 else t[:, column_value] for i, t in likelihood.items()}
            return _fold(fitted.weights(full, matched, held), column_value, self.model.values)

        def weigh_rows(
            likelihood: dict[int, NDArray[np.float64]], matched: dict[int, NDArray[np.float64]], draw: Draw
        ) -> NDArray[np.float64]:
            """Each withheld row holds a value: its column counts for that value. A few columns at a time."""
            of_column = np.concatenate([column_value, draw.current])
            found = np.zeros((fitted.targets.count, self.model.values))
            for start in range(0, len(of_column), COLUMNS_AT_ONCE):
                some = slice(start, start + COLUMNS_AT_ONCE)
                full = {i: t if t.shape[1] == 1 else t[:, of_column[some]] for i, t in likelihood.items()}
                part = fitted.weights(full, {b: m[:, some] for b, m in matched.items()}, held[:, some])
                np.add.at(found.T, of_column[some], part.T)
            return found

        if len(certain) == len(overlaps) and len(asked) <= 1 and not len(self.model.withheld.rows):
            # What is known fits a cell or not, whatever the parameters: the support is linear in the matching.
            few = Fitted.of(self.release, fitted.targets.take(watched(fitted.targets.count)))
            return self._linear(fitted, few, asked, held, column_value)

        def one(draw: Draw) -> NDArray[np.float64]:
            likelihood = {
                i: certain.get(i, _likelihood(self.release, i, o, draw.theta[i])) for i, o in overlaps.items()
            }
            if by_row:
                tables = {b.number: _spread_out(self.model, b, _chances(self.model, b, draw), held[0]) for b in asked}
                return weigh_rows(likelihood, tables, draw)
            matched = {b.number: _matched(self.model, b, draw, column_value) for b in asked}
            now = held
            if len(self.model.withheld.rows) and not asked:
                now = held * _revealed(self.model, draw, column_value)
            return weigh(likelihood, matched, now)

        return self._batches(one, lambda terms: np.mean(terms, axis=0))

    def _linear(
        self,
        fitted: Fitted,
        few: Fitted,
        asked: list[HiddenBlock],
        held: NDArray[np.float64],
        column_value: NDArray[np.int64],
    ) -> Averages:
        """Support from averaged matchings: of all targets once a chain, of the watched ones once a batch."""

        def weigh(who: Fitted, chance: list[NDArray[np.float64]]) -> NDArray[np.float64]:
            likelihood = {i: _certain(self.release, i, o) for i, o in who.overlaps().items()}
            matched = {
                b.number: _spread_out(self.model, b, c, column_value) for b, c in zip(asked, chance, strict=True)
            }
            return who.weights({i: t for i, t in likelihood.items() if t is not None}, matched, held)

        def chain(draws: list[Draw]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            total = [np.zeros(len(b.entry)) for b in asked]
            batches = []
            for piece in np.array_split(np.arange(len(draws)), min(BATCHES, len(draws))):
                part = [np.zeros(len(b.entry)) for b in asked]
                for i in piece:
                    for place, block in enumerate(asked):
                        part[place] += _chances(self.model, block, draws[i])
                batches.append(weigh(few, [p / len(piece) for p in part]))
                total = [t + p for t, p in zip(total, part, strict=True)]
            return weigh(fitted, [t / len(draws) for t in total]), np.stack(batches)

        return self._side_by_side(chain)

    def _side_by_side(self, chain: Callable[[list[Draw]], tuple[NDArray[np.float64], NDArray[np.float64]]]) -> Averages:
        with ThreadPoolExecutor(self.workers) as pool:
            found = list(pool.map(chain, self.draws))
        return Averages(np.stack([f[0] for f in found]), np.stack([f[1] for f in found], axis=1))

    def _batches(self, one: Callable[[Draw], T], mean: Callable[[list[T]], NDArray[np.float64]]) -> Averages:
        """Means over all kept states of each chain, and over consecutive pieces of them; chains side by side."""

        def chain(draws: list[Draw]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            total: NDArray[np.float64] | None = None
            few = []
            for piece in np.array_split(np.arange(len(draws)), min(BATCHES, len(draws))):
                part = mean([one(draws[i]) for i in piece])
                few.append(part[watched(len(part))])
                total = part * len(piece) if total is None else total + part * len(piece)
            assert total is not None
            return total / len(draws), np.stack(few)

        return self._side_by_side(chain)

    def method(self) -> str:
        """See Posterior."""
        exact = all(matching.exact(block.groups).all() for block in self.model.hidden)
        return "sampled" if exact else "sampled; the largest groups by swaps"


def _certain(release: Release, index: int, overlaps: Overlaps) -> NDArray[np.float64] | None:
    """(overlaps, 1) the likelihood, if every region lies wholly inside or outside what is known; else None."""
    sizes = release.regions[index].sizes[overlaps.region]
    inside = overlaps.shared(np.ones(release.attributes[index].codes))
    if not ((inside == 0) | (inside == sizes)).all():
        return None
    return overlaps.likelihood((inside == sizes).astype(np.float64))[:, None]


def _likelihood(release: Release, index: int, overlaps: Overlaps, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """(overlaps, values) likelihood of what is known for a row that shows a region, given the parameters."""
    whole = region_shares(release.regions[index], theta)[overlaps.region]
    return overlaps.likelihood(np.minimum(overlaps.shared(np.ascontiguousarray(theta.T)) / whole, 1.0))


def _columns(model: HiddenModel) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The value of each column (values, then for each kind of withheld row all values), and (entries, columns) rows.

    Where each withheld row holds a value, a column for each of them follows instead; its value is the state's.
    """
    values, kinds = model.values, len(model.withheld.rows)
    if model.withheld.by_row:
        return _columns_by_row(model)
    column_value = np.concatenate([np.arange(values)] + [np.arange(values)] * kinds)
    block = model.release.block_of(model.asked)
    value = model.release.regions[model.asked].single()[block.region(model.asked)]
    held = np.zeros((len(block.cell), len(column_value)))
    plain = np.flatnonzero(value >= 0)
    held[plain, value[plain]] = block.count[plain]
    for kind in range(kinds):
        these = np.flatnonzero(model.withheld.column == kind)
        held[these, values * (kind + 1) : values * (kind + 2)] = block.count[these, None]
    return column_value, held


def _columns_by_row(model: HiddenModel) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    values, entry = model.values, model.withheld.entry
    block = model.release.block_of(model.asked)
    value = model.release.regions[model.asked].single()[block.region(model.asked)]
    held = np.zeros((len(block.cell), values + len(entry)))
    plain = np.flatnonzero(value >= 0)
    held[plain, value[plain]] = block.count[plain]
    held[entry, values + np.arange(len(entry))] = 1
    return np.arange(values), held


def _fold(weights: NDArray[np.float64], column_value: NDArray[np.int64], values: int) -> NDArray[np.float64]:
    """(targets, columns) to (targets, values)."""
    if weights.shape[1] == values:
        return weights
    return np.asarray(weights.reshape(len(weights), -1, values).sum(axis=1))


def _chances(model: HiddenModel, block: HiddenBlock, draw: Draw) -> NDArray[np.float64]:
    """(pairs,) the probability that a row of the pair's column shows the pair's cell, given the parameters."""
    log_weight, weight = model.weights(block, model.log_shares(draw.theta), draw.pi, draw.current)
    partner = draw.partner[[b.number for b in model.hidden].index(block.number)].copy()
    key = np.uint64(int(draw.key) ^ 0x5DEECE66D)
    return matching.marginals(block.groups, weight, log_weight, key, partner) / block.rows


def _spread_out(
    model: HiddenModel, block: HiddenBlock, chance: NDArray[np.float64], column_value: NDArray[np.generic]
) -> NDArray[np.float64]:
    """(entries, columns) the chances as a table; of the plain columns, where withheld rows share theirs."""
    entries, columns = int(model.release.blocks[block.number].start[-1]), len(column_value)
    plain = (block.column < model.values) | model.withheld.by_row
    place = block.entry[plain] * columns + block.column[plain]  # a cell shown twice was matched row by row: add up
    found = np.bincount(place, weights=chance[plain], minlength=entries * columns).astype(np.float64)
    return found.reshape(entries, columns)


def _matched(
    model: HiddenModel, block: HiddenBlock, draw: Draw, column_value: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(entries, columns) the probability that a row of the column shows the entry's cell, given the parameters.

    For a withheld row the column also holds the probability of its value given the cell.
    """
    chance, values = _chances(model, block, draw), model.values
    found = _spread_out(model, block, chance, column_value)
    published = model.release.blocks[block.number]
    if len(model.withheld.rows):
        log_share = model.log_shares(draw.theta)
        log_weight, _ = model.weights(block, log_share, draw.pi, draw.current)
    for kind in range(len(model.withheld.rows)):
        these = np.flatnonzero(block.column == values + kind)
        logs = model.log_own(kind, log_share, draw.pi) + log_weight[published.cell[block.entry[these]], :values]
        share = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf)) if len(these) else logs
        share = share / share.sum(axis=1, keepdims=True) if len(these) else share
        np.add.at(found[:, values * (kind + 1) : values * (kind + 2)], block.entry[these], chance[these, None] * share)
    return found


def _revealed(model: HiddenModel, draw: Draw, column_value: NDArray[np.int64]) -> NDArray[np.float64]:
    """(entries of the sensitive block, columns) probability of a withheld row's value; 1 for plain columns.

    For targets of whom nothing in a matched block is known: what its cells say of the value still counts.
    """
    values = model.values
    own = model.release.block_of(model.asked)
    shares = np.ones((len(own.cell), len(column_value)))
    if model.hidden:
        block = model.hidden[0]
        matched = _matched(model, block, draw, column_value)
        of_group = np.add.reduceat(matched, model.release.blocks[block.number].start[:-1], axis=0)
        shares[:, values:] = of_group[own.group][:, values:]
        return shares
    log_share = model.log_shares(draw.theta)
    for kind in range(len(model.withheld.rows)):
        logs = model.log_own(kind, log_share, draw.pi)
        share = np.exp(logs - logs.max())
        shares[:, values * (kind + 1) : values * (kind + 2)] = share / share.sum()
    return shares

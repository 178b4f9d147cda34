"""Releases that hide which cell belongs to which sensitive value: one blocked Gibbs sampler for all of them.

Given the parameters, groups and blocks are independent: each block's cells are matched with the group's sensitive
values, rows of widened cells are spread over codes, then the parameters are drawn. A withheld sensitive value is one
more column of the matching. With one block to match, rows of a kind share a column whose weight is summed over the
values they may stand for. With several, blocks are independent only given the values: then each withheld row has a
column and a current value, which is drawn anew from the cells that it was matched with in all blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.parameters import Layout, Shares
from unveil.attackers.posterior.products import CellProducts
from unveil.attackers.posterior.withheld import Withheld, find_withheld
from unveil.data.belief import Prior
from unveil.data.regions import Regions
from unveil.data.release import Block, Release
from unveil.engine import Engine
from unveil.kernels import gibbs, matching
from unveil.kernels.distributions import multinomial
from unveil.kernels.random import draw

__all__ = ["Chain", "Draw", "HiddenBlock", "HiddenModel", "region_shares", "start_values", "sweep_on"]

FRESH_EVERY = 8  # sweeps: parameters drawn without a look at where they were
ANNEAL_FROM = 0.1  # the exponent of the matching weights at the start of burn-in
ANNEAL_SHARE = 0.7  # of burn-in
LOST = 1e-200  # products smaller than this are taken by logarithms
MANY = 50  # factors
SMALL_GROUP = 4  # rows of a group that is matched in closed form


Ready = tuple[matching.Weights, NDArray[np.int64] | None]
"""Of a block: the weights at the parameters just reached, and what was matched by them, if that is done already."""
# For the function within `weights`: its annotations are evaluated at every sweep.
Cells = NDArray[np.int32]
Tables = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class HiddenBlock:
    """A block whose cells must be matched with the sensitive values of their group."""

    number: int
    cells: NDArray[np.int32]  # (cells, attributes)
    offset: NDArray[np.int64]  # (attributes,) the first row of each in the model's stacked tables
    groups: matching.Groups
    entry: NDArray[np.int64]  # (pairs of the matching,) entry of the block
    column: NDArray[np.int64]  # (pairs,) sensitive value, or kind of withheld row beyond the values
    rows: NDArray[np.float64]  # (pairs,) how many rows of the group hold it
    products: CellProducts
    parts: tuple[NDArray[np.int32], NDArray[np.int32]] | None  # of cells, of entries: see matching.Weights
    # None: the weights of all cells are made first, which is cheaper where many rows share few cells.


@dataclass(frozen=True, slots=True, eq=False)
class HiddenModel:
    """Everything of a release that the sampler needs and that never changes."""

    release: Release
    asked: int
    prior: Prior
    hidden: tuple[HiddenBlock, ...]
    withheld: Withheld
    first: dict[int, int]  # by attribute: the first row of its regions in stacked tables (all regions, values)
    own_counts: NDArray[np.int64]  # (all regions, values) rows that show a region beside their value
    value_counts: NDArray[np.int64]  # (values,) published ones
    layout: Layout  # of all attributes but the one asked

    @property
    def values(self) -> int:
        """Sensitive values."""
        return len(self.value_counts)

    @property
    def closed(self) -> bool:
        """Whether a state is its parameters and nothing else: no withheld values, no group that is swapped."""
        return not len(self.withheld.rows) and all(matching.exact(block.groups).all() for block in self.hidden)

    @classmethod
    def of(cls, release: Release, asked: int, prior: Prior) -> "HiddenModel":
        """Lay out a release for the sampler."""
        own = release.block_of(asked)
        values = release.attributes[asked].codes
        value = release.regions[asked].single()[own.region(asked)]
        withheld = find_withheld(release, asked, value)
        group, column, times = own.group, value, own.count
        if withheld.by_row:
            plain = np.flatnonzero(value >= 0)
            which = np.concatenate([plain, withheld.entry])
            group = own.group[which]
            column = np.concatenate([value[plain], values + np.arange(len(withheld.entry))])
            times = np.where(column < values, own.count[which], 1)
        elif len(withheld.rows):
            column = np.where(value >= 0, value, values + withheld.column)
        others = tuple(i for i in range(len(release.attributes)) if i != asked)
        layout = Layout.of(release, others, prior)
        first = layout.first()
        hidden = []
        for number, block in enumerate(release.blocks):
            if block is not own:
                held = _held_columns(group, column, times, release.groups)
                start, origin, count = _row_by_row(block)
                groups = matching.lay_out(start, block.cell[origin], count, *held)
                entry, column_of, rows = _pairs(groups)
                cells = np.ascontiguousarray(block.cells)
                offset = np.array([first[i] for i in block.attributes], dtype=np.int64)
                products = CellProducts.of(cells, offset, [len(release.regions[i]) for i in block.attributes])
                shape = number, cells, offset, groups, origin[entry], column_of, rows, products
                hidden.append(HiddenBlock(*shape, _parts(products, groups, values, withheld)))
        published = value >= 0
        own_counts = np.zeros((int(layout.row[-1]), values), dtype=np.int64)
        for index in own.attributes:
            if index != asked:
                row = first[index] + own.region(index)[published]
                np.add.at(own_counts, (row, value[published]), own.count[published])
        counts = np.bincount(value[published], weights=own.count[published], minlength=values).astype(np.int64)
        return cls(release, asked, prior, tuple(hidden), withheld, first, own_counts, counts, layout)

    def log_shares(self, theta: Shares) -> NDArray[np.float64]:
        """(all regions, values) log share of each region given each value."""
        shares = self.layout.of_regions(theta, self.values)
        return np.asarray(np.log(shares, out=shares))

    def weights(
        self,
        block: HiddenBlock,
        theta: Shares,
        pi: NDArray[np.float64],
        current: NDArray[np.int64],
        exponent: float = 1.0,
    ) -> matching.Weights:
        """Weights of the block's cells for each value and each kind of withheld row, scaled.

        `current`: the values that withheld rows hold, if each holds one.
        """
        if not len(self.withheld.rows):
            table = block.products.scaled_tables(self.layout, theta, self.values, exponent)

            def some(cells: Cells) -> Tables:
                found = np.empty((len(cells), self.values))
                log_found = np.empty_like(found)
                gibbs.weigh_cells(block.cells[cells], block.offset, self.log_shares(theta), exponent, log_found)
                # Products of very many attributes are lost more often than not: the logarithms are there anyway.
                if len(block.products.start) > MANY or block.products.scale(table, found, cells) <= LOST:
                    matching.scale(log_found, found)
                return found, log_found

            if block.parts is not None:
                return matching.Weights(*block.parts, table, some)
            weight = np.empty((len(block.cells), self.values))
            if block.products.scale(table, weight) > LOST:
                return replace(matching.Weights.of(block.groups, weight, weight), some=some)
        log_weight = self.log_weights(block, self.log_shares(theta), pi, current, exponent)
        weight = np.empty_like(log_weight)
        matching.scale(log_weight, weight)
        return matching.Weights.of(block.groups, weight, log_weight)

    def log_weights(
        self,
        block: HiddenBlock,
        log_share: NDArray[np.float64],
        pi: NDArray[np.float64],
        current: NDArray[np.int64],
        exponent: float = 1.0,
    ) -> NDArray[np.float64]:
        """(cells, columns) logarithms of weights; see `weights`."""
        kinds = 0 if self.withheld.by_row else len(self.withheld.rows)
        plain = np.empty((len(block.cells), self.values))
        gibbs.weigh_cells(block.cells, block.offset, log_share, exponent if not kinds else 1.0, plain)
        if self.withheld.by_row:
            return np.ascontiguousarray(np.concatenate([plain, plain[:, current]], axis=1))
        if not kinds:
            return plain
        summed = np.empty((len(block.cells), kinds))
        for kind in range(kinds):
            summed[:, kind] = _log_sum(plain + self.log_own(kind, log_share, pi))
        return np.ascontiguousarray(np.concatenate([plain, summed], axis=1) * exponent)

    def log_own(
        self, kind: int | slice, log_share: NDArray[np.float64], pi: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(values,) log of pi_s times the share of the row's own cell, -inf for values it cannot have."""
        own = self.release.block_of(self.asked)
        entry = self.withheld.entry[kind]
        total = np.where(self.withheld.allowed[kind], np.log(pi), -np.inf)
        for index in own.attributes:
            if index != self.asked:
                total = total + log_share[self.first[index] + own.region(index)[entry]]
        return np.asarray(total)


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One kept state of a chain."""

    theta: Shares
    mean: Shares  # the same averaged given the matched rows (Rao-Blackwell)
    pi: NDArray[np.float64]  # (values,)
    pi_mean: NDArray[np.float64]
    partner: tuple[NDArray[np.int32], ...]  # by hidden block: the state of groups too large to match exactly
    key: np.uint64
    current: NDArray[np.int64]  # (withheld rows,) the values they hold, if each holds one
    # By hidden block, at these parameters; only of the state just reached:
    weights: tuple[matching.Weights, ...] | None = None
    expected: tuple[NDArray[np.float64], ...] | None = None  # (pairs,) how many of each; written over by the next state
    reckoned: dict[int, NDArray[np.float64]] = field(default_factory=dict)  # the same, by block, once asked for


@dataclass(slots=True, eq=False)
class Chain:
    """A chain where it stands. It can be saved as it is and goes on with the same draws."""

    keys: NDArray[np.uint64]  # of the matchings, of the parameters
    drawn: NDArray[np.float64]  # of each attribute the shares of its codes, or of its centres if it is smoothed; flat
    theta: Shares  # of codes
    pi: NDArray[np.float64]
    partners: list[NDArray[np.int32]]
    counter: np.uint64  # draws of the parameters so far
    current: NDArray[np.int64]  # (withheld rows,) the values they hold, if each holds one
    sweep: int = 0

    @classmethod
    def start(cls, model: HiddenModel, engine: Engine) -> "Chain":
        """Anywhere: chains that start apart and end together agree."""
        random = engine.generator()
        keys = random.integers(0, 2**64, size=2, dtype=np.uint64)
        pieces = [random.dirichlet(np.ones(codes), size=values).ravel() for values, codes in model.layout.shape]
        drawn = np.maximum(np.concatenate([np.empty(0), *pieces]), 1e-12)
        theta = model.layout.shares(drawn)
        pi = np.maximum(random.dirichlet(model.prior.alpha + model.value_counts), 1e-300)
        partners = []
        for block in model.hidden:
            partner = np.zeros(int(block.groups.row_start[-1]), dtype=np.int32)
            key = keys[0] ^ np.uint64(block.number)
            matching.start_matching(block.groups, 0, len(block.groups.method), key, partner)
            partners.append(partner)
        return cls(keys, drawn, theta, pi, partners, np.uint64(0), start_values(model, random))

    def run_to(
        self, model: HiddenModel, sweep: int, *, burn_in: int, anneal: bool, every: int
    ) -> Iterator[Draw | None]:
        """Sweep on up to this sweep; after each the state, if it is one to look at (every so many after burn-in).

        With `anneal` the weights of the matching rise to their full force during burn-in.
        """
        ready: tuple[Ready, ...] | None = None
        expected = tuple(np.empty(len(block.entry) if model.closed else 0) for block in model.hidden)
        while self.sweep < sweep:
            exponent = 1.0
            if anneal and self.sweep < burn_in:
                exponent = min(1.0, ANNEAL_FROM + (1 - ANNEAL_FROM) * self.sweep / (ANNEAL_SHARE * burn_in))
            # A hash, not a sum: keys a fixed step apart would share draws between neighbouring groups and sweeps.
            key = np.uint64(draw(self.keys[0], np.uint64(self.sweep)))
            keys = key, self.keys[1]
            mirror = exponent == 1.0 and self.sweep % FRESH_EVERY > 0
            state = self.theta, self.drawn, self.pi, self.partners, self.current
            found = sweep_on(model, *state, keys, self.counter, exponent, mirror, ready)
            ready = None
            self.theta, self.drawn, mean, self.pi, pi_mean, self.current, self.counter = found
            self.sweep += 1
            after = self.sweep - burn_in
            if after > 0 and after % every == 0:
                partner = tuple(p.copy() for p in self.partners)
                # For whoever looks, and for the next sweep.
                weights = tuple(model.weights(b, self.theta, self.pi, self.current) for b in model.hidden)
                if model.closed:  # whoever looks asks for what the next sweep computes anyway
                    next_key = np.uint64(draw(self.keys[0], np.uint64(self.sweep)))
                    matched = zip(model.hidden, weights, self.partners, expected, strict=True)
                    ready = tuple((w, _match(b, w, next_key, p, out)) for b, w, p, out in matched)
                else:
                    ready = tuple((w, None) for w in weights)
                more = weights, expected if model.closed else None
                yield Draw(self.theta, mean, self.pi, pi_mean, partner, key, self.current, *more)
            else:
                yield None


State = tuple[
    Shares, NDArray[np.float64], Shares, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], np.uint64
]


def start_values(model: HiddenModel, random: np.random.Generator) -> NDArray[np.int64]:
    """Any values that the withheld rows may have, where each holds one."""
    if not model.withheld.by_row:
        return np.empty(0, dtype=np.int64)
    chance = model.withheld.allowed * (1 - random.random(model.withheld.allowed.shape))
    return np.asarray(chance.argmax(axis=1), dtype=np.int64)


def sweep_on(
    model: HiddenModel,
    theta: Shares,
    drawn: NDArray[np.float64],
    pi: NDArray[np.float64],
    partners: list[NDArray[np.int32]],
    current: NDArray[np.int64],
    keys: tuple[np.uint64, np.uint64],
    counter: np.uint64,
    exponent: float,
    mirror: bool,
    ready: tuple[Ready, ...] | None = None,
) -> State:
    """Matchings, withheld values and parameters drawn anew, in this order; `keys`: of the matchings, of the rest.

    `drawn` is what `theta` came from. `partners` change in place. `mirror`: parameters are drawn on the other side of
    where they were. `ready`: what of the hidden blocks is known at these parameters already.
    """
    key, parameter_key = keys
    values = model.values
    counts = model.own_counts.copy()
    value_counts = model.value_counts.copy()
    kinds = len(model.withheld.rows)
    log_share = model.log_shares(theta) if kinds else np.empty(0)
    tallies = []
    beside = model.log_own(slice(None), log_share, pi) if model.withheld.by_row else np.empty(0)
    for place, block in enumerate(model.hidden):
        if ready is None:
            weights, done = model.weights(block, theta, pi, current, exponent), None
        else:
            weights, done = ready[place]
        tally = _match(block, weights, key, partners[place], np.empty(0)) if done is None else done
        every = np.arange(len(block.cells), dtype=np.int32)
        if model.withheld.by_row:
            beside += weights.some(every)[1][tally[:, values:].argmax(axis=0), :values]
        elif kinds:
            log_weight = weights.some(every)[1]
            counter = _reveal(model, log_weight, log_share, pi, tally, counts, value_counts, parameter_key, counter)
        tallies.append(tally)
    if model.withheld.by_row:
        current, counter = _redraw(model, beside, tallies, counts, value_counts, parameter_key, counter)
    for block, tally in zip(model.hidden, tallies, strict=True):
        if block.parts is None:
            block.products.collect(np.ascontiguousarray(tally[:, :values]), counts)
        else:
            block.products.collect_rows(tally, counts)
    if kinds and not model.hidden:
        tally = np.zeros((1, values + kinds), dtype=np.int64)
        tally[0, values:] = model.withheld.rows
        counter = _reveal(
            model, np.zeros((1, values + kinds)), log_share, pi, tally, counts, value_counts, parameter_key, counter
        )
    new, mean, counter = model.layout.draw(counts, drawn, mirror, parameter_key, counter)
    pi_mean, new_pi = np.empty((1, values)), np.empty((1, values))
    counts_and_key = model.prior.alpha[None], value_counts[None], new_pi[:0], parameter_key, counter
    counter = np.uint64(gibbs.draw_parameters(*counts_and_key, pi_mean, new_pi))
    shares = model.layout.shares
    return shares(new), new, shares(mean), new_pi[0], pi_mean[0], current, counter


def _match(
    block: HiddenBlock,
    weights: matching.Weights,
    key: np.uint64,
    partner: NDArray[np.int32],
    expected: NDArray[np.float64],
) -> NDArray[np.int64]:
    """(rows of the table, columns) the cells that a sweep matched; `expected` (pairs,) is filled if not empty."""
    tally = np.zeros(weights.table.shape, dtype=np.int64)
    block_key = np.uint64(int(key) ^ (block.number + 1))
    groups, none = block.groups, np.empty(0, np.int32)
    matching.sweep(groups, 0, len(groups.method), weights, block_key, matching.ROUNDS, partner, expected, none, tally)
    return tally


def _redraw(
    model: HiddenModel,
    beside: NDArray[np.float64],
    tallies: list[NDArray[np.int64]],
    counts: NDArray[np.int64],
    value_counts: NDArray[np.int64],
    key: np.uint64,
    counter: np.uint64,
) -> tuple[NDArray[np.int64], np.uint64]:
    """Draw the value of every withheld row given its own and its matched cells, `beside` (rows, values) in logarithms;
    move its cells to that value's column."""
    values, own = model.values, model.release.block_of(model.asked)
    chance = np.exp(beside - beside.max(axis=1, keepdims=True))
    current = np.empty(len(beside), dtype=np.int64)
    for row in range(len(beside)):
        drawn = np.zeros(values, dtype=np.int64)
        counter = np.uint64(multinomial(1, chance[row], key, counter, drawn))
        current[row] = drawn.argmax()
    np.add.at(value_counts, current, 1)
    for index in own.attributes:
        if index != model.asked:
            np.add.at(counts, (model.first[index] + own.region(index)[model.withheld.entry], current), 1)
    for tally in tallies:
        np.add.at(tally, (tally[:, values:].argmax(axis=0), current), 1)
    return current, counter


def _reveal(
    model: HiddenModel,
    log_weight: NDArray[np.float64],
    log_share: NDArray[np.float64],
    pi: NDArray[np.float64],
    tally: NDArray[np.int64],
    counts: NDArray[np.int64],
    value_counts: NDArray[np.int64],
    key: np.uint64,
    counter: np.uint64,
) -> np.uint64:
    """Draw the value of every withheld row, given the cell it was matched with; move it to that value's column."""
    values = model.values
    own = model.release.block_of(model.asked)
    for kind in range(len(model.withheld.rows)):
        log_own = model.log_own(kind, log_share, pi)
        entry = model.withheld.entry[kind]
        for cell in np.flatnonzero(tally[:, values + kind]).tolist():
            chance = np.exp(log_own + log_weight[cell, :values] - (log_own + log_weight[cell, :values]).max())
            drawn = np.zeros(values, dtype=np.int64)
            counter = np.uint64(multinomial(int(tally[cell, values + kind]), chance, key, counter, drawn))
            tally[cell, :values] += drawn
            value_counts += drawn
            for index in own.attributes:
                if index != model.asked:
                    counts[model.first[index] + own.region(index)[entry]] += drawn
    return counter


def region_shares(regions: Regions, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """(regions, values) share of each region given each value."""
    if len(regions.low) == len(regions) and (regions.low == regions.high).all():
        return np.ascontiguousarray(theta.T[regions.low])
    return np.maximum(regions.totals(np.ascontiguousarray(theta.T)), 1e-300)


def _log_sum(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    top = logs.max(axis=1, keepdims=True)
    return np.asarray((top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True)))[:, 0])


def _row_by_row(block: Block) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The entries to match: start, entry of the block, count. In small groups equal cells one by one: it is faster."""
    sizes = np.add.reduceat(block.count, block.start[:-1])
    apart = (sizes <= SMALL_GROUP)[block.group]
    times = np.where(apart, block.count, 1)
    origin = np.repeat(np.arange(len(block.cell)), times)
    start = np.concatenate([[0], np.cumsum(times)])[block.start]
    return start, origin, np.where(apart, 1, block.count)[origin]


def _parts(
    products: CellProducts, groups: matching.Groups, values: int, withheld: Withheld
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """See HiddenBlock: numbers that are worked on in each way; those of all cells lie side by side."""
    of_cell = products.rows()
    cells, parts = of_cell.shape
    apart = int(groups.pair_start[-1]) * (parts - 1)
    if not parts or len(withheld.rows) or apart > cells * values * (parts + 2):
        return None
    return of_cell, np.ascontiguousarray(of_cell[groups.cell])


def _pairs(groups: matching.Groups) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Of each pair of the matching: the entry, the column, and how many rows of the group hold the column."""
    entries, held = np.diff(groups.start), np.diff(groups.value_start)
    group = np.repeat(np.arange(len(entries)), entries * held)
    within = np.arange(int(groups.pair_start[-1])) - groups.pair_start[:-1][group]
    entry = groups.start[:-1][group] + within // held[group]
    place = groups.value_start[:-1][group] + within % held[group]
    return entry, groups.value[place].astype(np.int64), groups.value_count[place].astype(np.float64)


def _held_columns(
    group: NDArray[np.int64], column: NDArray[np.int64], count: NDArray[np.int64], groups: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Per group the columns its rows hold, with multiplicities: start, column, count."""
    width = int(column.max()) + 1
    key, inverse = np.unique(group * width + column, return_inverse=True)
    total = np.bincount(inverse, weights=count).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(np.bincount(key // width, minlength=groups))]).astype(np.int64)
    return start, key % width, total

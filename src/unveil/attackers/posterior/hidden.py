"""Releases that hide which cell belongs to which sensitive value: one blocked Gibbs sampler for all of them.

Given the parameters, groups and blocks are independent: each block's cells are matched with the group's sensitive
values, rows of widened cells are spread over codes, then the parameters are drawn. A withheld sensitive value is one
more column of the matching. With one block to match, rows of a kind share a column whose weight is summed over the
values they may stand for. With several, blocks are independent only given the values: then each withheld row has a
column and a current value, which is drawn again from the cells that it was matched with in all blocks.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.parameters import Layout, Possible, Shares
from unveil.attackers.posterior.products import CellProducts
from unveil.data.belief import Prior
from unveil.data.regions import Regions
from unveil.data.release import Block, Release, row_numbers
from unveil.errors import NotApplicable
from unveil.kernels import gibbs, matching, possible

__all__ = ["HiddenBlock", "HiddenModel", "Repeated", "Withheld", "find_withheld", "region_shares"]

LOST = 1e-200  # products smaller than this are taken by logarithms
MANY = 50  # factors
SMALL_GROUP = 4  # rows of a group that is matched in closed form
WORTH_LEAVING, FEW_POSSIBLE = 100_000, 0.5  # parameters, and the share of them that rows may have


# For the function within `weights`: its annotations are evaluated at every sweep.
Cells = NDArray[np.int32]
Tables = tuple[NDArray[np.float64], NDArray[np.float64]]


MOST_WITHHELD = 1000  # rows that hold a value of their own, each one column of every matching


@dataclass(frozen=True, slots=True, eq=False)
class Withheld:
    """Rows whose sensitive value is widened: by own cell and region, the columns beyond the values."""

    column: NDArray[np.int64]  # (entries of the sensitive block,) which kind of withheld row, -1 = none
    entry: NDArray[np.int64]  # (kinds,) an entry of each kind
    allowed: NDArray[np.bool_]  # (kinds, values)
    rows: NDArray[np.int64]  # (kinds,) how many rows
    by_row: bool = False  # whether each row is a kind of its own and holds a current value; `column` is empty then


def find_withheld(release: Release, asked: int, value: NDArray[np.int64]) -> Withheld:
    """Of a release; `value` (entries of the sensitive block,) is the published one, -1 = withheld."""
    block, regions = release.block_of(asked), release.regions[asked]
    which = np.flatnonzero(value < 0)
    column = np.full(len(value), -1, dtype=np.int64)
    if not len(which):
        return Withheld(column, which, np.zeros((0, regions.codes), dtype=bool), np.zeros(0, dtype=np.int64))
    if len(release.blocks) > 2:
        return _withheld_by_row(release, asked, which)
    column[which] = row_numbers(
        [block.cell[which].astype(np.int64)]
    )  # a cell holds the region and what stands beside it
    kinds = int(column.max()) + 1
    entry = np.zeros(kinds, dtype=np.int64)
    entry[column[which]] = which
    allowed = np.zeros((kinds, regions.codes), dtype=bool)
    for kind in range(kinds):
        allowed[kind, regions.members(int(block.region(asked)[entry[kind]]))] = True
    rows = np.bincount(column[which], weights=block.count[which], minlength=kinds).astype(np.int64)
    return Withheld(column, entry, allowed, rows)


def _withheld_by_row(release: Release, asked: int, which: NDArray[np.int64]) -> Withheld:
    block, regions = release.block_of(asked), release.regions[asked]
    entry = np.repeat(which, block.count[which])
    if len(entry) > MOST_WITHHELD:
        raise NotApplicable(
            f"{len(entry):,} withheld sensitive values in a release of three blocks or more are over {MOST_WITHHELD:,}"
        )
    allowed = np.zeros((len(entry), regions.codes), dtype=bool)
    for row, region in enumerate(block.region(asked)[entry].tolist()):
        allowed[row, regions.members(region)] = True
    return Withheld(np.empty(0, dtype=np.int64), entry, allowed, np.ones(len(entry), dtype=np.int64), by_row=True)


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
    values: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None  # of cells that of others have no weight: where
    # those of each start, and which
    repeated: "Repeated | None" = None  # groups beside `groups`, for sweeps alone


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """Kinds of groups that are matched all at once."""

    groups: matching.Groups  # one of each kind
    times: NDArray[np.int64]  # (kinds,) how many there are
    part: NDArray[np.int32]  # (entries, parts) of the kinds: see matching.Weights
    rest_part: NDArray[np.int32]  # of the groups that are matched one by one


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
    matched: NDArray[np.bool_]  # (attributes of the layout,) which are of a hidden block

    @property
    def values(self) -> int:
        """Sensitive values."""
        return len(self.value_counts)

    def power(self, exponent: float) -> NDArray[np.float64]:
        """(attributes of the layout,) what each one's likelihood is raised to: only matched cells are tempered."""
        return np.where(self.matched, exponent, 1.0)

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
        matched = np.array([i not in own.attributes for i in others], dtype=bool)
        if not len(withheld.rows) and (some := _possible(layout, hidden, own_counts)) is not None:
            layout = replace(layout, possible=some)
            hidden = [_of_pairs(block, values) for block in hidden]
        return cls(release, asked, prior, tuple(hidden), withheld, first, own_counts, counts, layout, matched)

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
    ) -> matching.Weights:
        """Weights of the block's cells for each value and each kind of withheld row, scaled.

        `current`: the values that withheld rows hold, if each holds one.
        """
        if self.layout.possible is not None:
            return self._weights_of_pairs(block, theta)
        if not len(self.withheld.rows):
            table = block.products.scaled_tables(self.layout, theta, self.values)

            def some(cells: Cells) -> Tables:
                found = np.empty((len(cells), self.values))
                log_found = np.empty_like(found)
                gibbs.weigh_cells(block.cells[cells], block.offset, self.log_shares(theta), log_found)
                # Products of very many attributes are lost more often than not: the logarithms are there anyway.
                if len(block.products.start) > MANY or block.products.scale(table, found, cells) <= LOST:
                    matching.scale(log_found, found)
                return found, log_found

            if block.parts is not None:
                return matching.Weights(*block.parts, table, some)
            weight = np.empty((len(block.cells), self.values))
            if block.products.scale(table, weight) > LOST:
                return replace(matching.Weights.of(block.groups, weight, weight), some=some)
        log_weight = self.log_weights(block, self.log_shares(theta), pi, current)
        weight = np.empty_like(log_weight)
        matching.scale(log_weight, weight)
        return matching.Weights.of(block.groups, weight, log_weight)

    def _weights_of_pairs(self, block: HiddenBlock, theta: Shares) -> matching.Weights:
        """Of each cell with the values that its groups hold; the rest is 0 and never read."""
        parts, held = block.parts, block.values
        assert parts is not None
        assert held is not None
        table = self.layout.tables(theta, self.values)

        def some(cells: Cells) -> Tables:
            found, log_found = np.zeros((len(cells), self.values)), np.zeros((len(cells), self.values))
            possible.weigh_pairs(cells, parts[0], table, *held, found, log_found)
            return found, log_found

        return matching.Weights(*parts, table, some)

    def log_weights(
        self,
        block: HiddenBlock,
        log_share: NDArray[np.float64],
        pi: NDArray[np.float64],
        current: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """(cells, columns) logarithms of weights; see `weights`."""
        kinds = 0 if self.withheld.by_row else len(self.withheld.rows)
        plain = np.empty((len(block.cells), self.values))
        gibbs.weigh_cells(block.cells, block.offset, log_share, plain)
        if self.withheld.by_row:
            return np.ascontiguousarray(np.concatenate([plain, plain[:, current]], axis=1))
        if not kinds:
            return plain
        summed = np.empty((len(block.cells), kinds))
        for kind in range(kinds):
            summed[:, kind] = _log_sum(plain + self.log_own(kind, log_share, pi))
        return np.ascontiguousarray(np.concatenate([plain, summed], axis=1))

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


def _possible(layout: Layout, hidden: list[HiddenBlock], own_counts: NDArray[np.int64]) -> Possible | None:
    """Which values some row of each region may have; None where that would save little."""
    if len(layout.beta) < WORTH_LEAVING or layout.kernels or not all(block.cells.shape[1] for block in hidden):
        return None
    shown = own_counts > 0
    for block in hidden:
        cell = np.repeat(block.groups.cell, _values_beside(block))
        for place, first in enumerate(block.offset.tolist()):
            shown[first + block.cells[cell, place], block.column] = True
    return Possible.of(layout, shown, int(FEW_POSSIBLE * len(layout.beta)))


def _values_beside(block: HiddenBlock) -> NDArray[np.int64]:
    """(entries,) how many values the group of each holds."""
    return np.repeat(np.diff(block.groups.value_start), np.diff(block.groups.start))


def _of_pairs(block: HiddenBlock, values: int) -> HiddenBlock:
    """The block, each cell with the values that its groups hold."""
    products = CellProducts.plain(block.cells, block.offset)
    of_cell = products.rows()
    pair = np.unique(np.repeat(block.groups.cell.astype(np.int64), _values_beside(block)) * values + block.column)
    start = np.searchsorted(pair, np.arange(len(block.cells) + 1) * values).astype(np.int64)
    parts = of_cell, np.ascontiguousarray(of_cell[block.groups.cell])
    return replace(block, products=products, parts=parts, values=(start, (pair % values).astype(np.int32)))


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

"""Matching a block's cells with the sensitive cells of their group, given theta: marginals, draws, permanents.

P(matching) ∝ the product over cells of the weight of the cell and its partner's value. Groups of 2, 3 and 4 rows have
closed forms; others are exact by dynamic programming while their states fit the budget; the rest run swap Metropolis.
Every number is a function of (key, group, draw within the group), so any partition of the groups gives the same.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unveil.kernels.closed_forms import ONE, REPEATED, match_closed
from unveil.kernels.gibbs import collect
from unveil.kernels.random import draw as random_bits
from unveil.kernels.swaps import SWAPS, match_swaps, shuffle
from unveil.kernels.used_counts import (
    OVER_CELLS,
    OVER_VALUES,
    build_table,
    gather,
    gauged_sums,
    make_room,
    match_states,
)

__all__ = [
    "ROUNDS", "STATES", "Groups", "Weights", "draw", "exact", "lay_out", "log_permanent", "marginals", "part", "scale",
    "start_matching", "sweep", "warm",
]  # fmt: skip

STATES = 4096  # groups with more states than this on both sides are swapped
ROUNDS = 10  # rounds of swaps a sweep: 5 proposals a row

_NO_MARGINALS = np.empty(0)
_NO_COUNTS = np.empty(0, np.int32)

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Groups(NamedTuple):
    """A block's groups. An *entry* is a distinct cell of a group, a *pair* an entry with a value of its group."""

    start: NDArray[np.int64]  # (groups + 1,) entries of each group
    cell: NDArray[np.int32]  # (entries,) row of the weights
    cell_count: NDArray[np.int32]  # (entries,) rows of the group with this cell
    value_start: NDArray[np.int64]  # (groups + 1,)
    value: NDArray[np.int32]  # (group values,) column of the weights
    value_count: NDArray[np.int32]  # (group values,) rows of the group with this value
    pair_start: NDArray[np.int64]  # (groups + 1,) a group's pairs are a dense (its entries, its values)
    row_start: NDArray[np.int64]  # (groups + 1,) rows of the groups that are swapped; exact groups hold none
    method: NDArray[np.int8]  # (groups,)
    first: int  # number of the first group, by which its draws are keyed
    room: tuple[int, int, int, int, int]  # items, states, ways, units · items and units of the largest group
    rest: NDArray[np.int64]  # the groups that have no closed form
    rest_cells: NDArray[np.int32]  # their cells, growing
    rest_cell: NDArray[np.int32]  # (entries,) where an entry's cell stands among those; empty if there are none


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Weights of cells and values, at most 1 and up to a factor for each cell; they may underflow.

    Closed forms read a cell's weights as products of rows of a table; other groups ask for those of their cells.
    """

    of_cell: NDArray[np.int32]  # (cells, parts) rows of the table
    part: NDArray[np.int32]  # (entries, parts) the same of each entry
    table: Floats  # (rows, values)
    some: Callable[[Ints], tuple[Floats, Floats]]  # of some cells: (cells, values) weights, and logarithms of weights

    @classmethod
    def of(cls, groups: Groups, weight: Floats, log_weight: Floats) -> "Weights":
        """Those that are at hand, (cells, values): a cell is one row of the table. `scale` makes them of logarithms."""
        of_cell = np.arange(len(weight), dtype=np.int32)[:, None]

        def some(cells: Ints) -> tuple[Floats, Floats]:
            return (weight, log_weight) if len(cells) == len(weight) else (weight[cells], log_weight[cells])

        return cls(of_cell, groups.cell[:, None], weight, some)


def lay_out(start, cell, count, value_start, value, value_count, *, states=STATES) -> Groups:
    """Choose each group's method: exact if the states on one side are at most `states`."""
    # Copies, since read-only arrays would have every kernel compiled a second time.
    start, value_start = np.array(start, np.int64), np.array(value_start, np.int64)
    cell, count, value, value_count = (np.array(a, np.int32) for a in (cell, count, value, value_count))
    pair_start, row_start, method, room, bad = _plan(start, count, value_start, value_count, states)
    if bad >= 0:
        raise ValueError(f"group {bad} has no rows, a count below 1, or not as many cells as sensitive values")
    sizes = tuple(room.tolist())
    shape = start, cell, count, value_start, value, value_count, pair_start, row_start, method
    return Groups(*shape, 0, sizes, *_rest(start, cell, method))


def part(groups: Groups, lo: int, hi: int) -> Groups:
    """Groups [lo, hi) alone, for a worker that keeps only those: their draws stay the same."""
    entries = slice(groups.start[lo], groups.start[hi])
    values = slice(groups.value_start[lo], groups.value_start[hi])
    start, cell, method = groups.start[lo : hi + 1] - groups.start[lo], groups.cell[entries], groups.method[lo:hi]
    rest, rest_cells, rest_cell = _rest(start, cell, method)
    return groups._replace(
        start=start,
        cell=cell,
        cell_count=groups.cell_count[entries],
        value_start=groups.value_start[lo : hi + 1] - groups.value_start[lo],
        value=groups.value[values],
        value_count=groups.value_count[values],
        pair_start=groups.pair_start[lo : hi + 1] - groups.pair_start[lo],
        row_start=groups.row_start[lo : hi + 1] - groups.row_start[lo],
        method=method,
        first=groups.first + lo,
        rest=rest,
        rest_cells=rest_cells,
        rest_cell=rest_cell,
    )


def exact(groups: Groups) -> NDArray[np.bool_]:
    """Which groups (groups,) are matched exactly; the marginals of the others are estimates."""
    return np.not_equal(groups.method, SWAPS)


def marginals(groups: Groups, weights: Weights, key: np.uint64, partner: Ints, *, rounds: int = ROUNDS) -> Floats:
    """Expected number of each pair (pairs,) float64; see `sweep`."""
    marginal = np.empty(groups.pair_start[-1])
    tally = np.empty((0, weights.table.shape[1]), np.int64)
    sweep(groups, 0, len(groups.method), weights, key, rounds, partner, marginal, _NO_COUNTS, tally)
    return marginal


def draw(groups: Groups, weights: Weights, key: np.uint64, partner: Ints, *, rounds: int = ROUNDS) -> Ints:
    """A random matching as the number of each pair (pairs,) int32; see `sweep`."""
    drawn = np.empty(groups.pair_start[-1], np.int32)
    tally = np.empty((0, weights.table.shape[1]), np.int64)
    sweep(groups, 0, len(groups.method), weights, key, rounds, partner, _NO_MARGINALS, drawn, tally)
    return drawn


@njit(cache=True, nogil=True)
def scale(log_weight, weight):
    """Fill `weight` with exp(log_weight), each row divided by its maximum."""
    for c in range(log_weight.shape[0]):
        top = log_weight[c, 0]
        for s in range(1, log_weight.shape[1]):
            top = max(top, log_weight[c, s])
        for s in range(log_weight.shape[1]):
            weight[c, s] = math.exp(log_weight[c, s] - top)


def sweep(
    groups: Groups,
    lo: int,
    hi: int,
    weights: Weights,
    key: np.uint64,
    rounds: int,
    partner: Ints,
    marginal: Floats,
    drawn: Ints,
    tally: NDArray[np.int64],
) -> None:
    """Match every group in [lo, hi): expected pairs, and one matching drawn from the same law.

    `partner` (row_start[-1],) int32 holds the swapped groups' state and moves on. Filled where not empty: `marginal`
    (pairs,) float64 and `drawn` (pairs,) int32; `tally` (rows of the table, values) int64 is added to: a matched cell
    counts in each of its rows. Give each block and each sweep its own `key`.
    """
    # Kernels get arrays: a named tuple handed down inside one would count references to every array for each group.
    shape = (*groups[2:7], groups.method, groups.first)
    left = np.empty(hi - lo, np.int64)
    opened = match_closed(groups.start, weights.part, *shape, lo, hi, weights.table, key, left, marginal, drawn, tally)
    if not opened:
        return
    left = left[:opened]
    if opened == np.searchsorted(groups.rest, hi) - np.searchsorted(groups.rest, lo):
        cells, cell = groups.rest_cells, groups.rest_cell
    else:  # some with a closed form have underflown
        cells, cell = _renumbered(groups.start, groups.cell, left)
    weight, log_weight = weights.some(cells)
    own_tally = np.zeros((len(cells) if len(tally) else 0, tally.shape[1]), np.int64)
    swapped = groups.method[left] == SWAPS
    mine = (groups.start, cell, *shape)
    if not swapped.all():
        match_states(*mine, left[~swapped], groups.room, weight, log_weight, key, marginal, drawn, own_tally)
    if swapped.any():
        state = groups.row_start, log_weight, key, rounds, partner
        match_swaps(*mine, left[swapped], groups.room, *state, marginal, drawn, own_tally)
    if len(tally):
        collect(weights.of_cell[cells], np.zeros(weights.of_cell.shape[1], np.int64), own_tally, tally)


def _rest(start, cell, method) -> tuple[NDArray[np.int64], Ints, Ints]:
    rest = np.flatnonzero(method > REPEATED)
    return rest, *_renumbered(start, cell, rest)


def _renumbered(start, cell, groups) -> tuple[Ints, Ints]:
    """The cells of some groups, growing, and (entries,) where an entry's cell stands among them."""
    if not len(groups):
        return np.empty(0, np.int32), np.empty(0, np.int32)
    length = start[groups + 1] - start[groups]
    stop = np.cumsum(length)
    entry = np.repeat(start[groups] - stop + length, length) + np.arange(stop[-1])
    cells, place = np.unique(cell[entry], return_inverse=True)
    number = np.zeros(len(cell), np.int32)
    number[entry] = place
    return cells, number


@njit(cache=True, nogil=True)
def log_permanent(groups, lo, hi, log_weight, out):
    """Fill `out[lo:hi]` with the log of the sum over all n! matchings; nan for groups that are swapped."""
    start, cell, count, room = groups.start, groups.cell, groups.cell_count, groups.room
    value_start, value, value_count, method = groups.value_start, groups.value, groups.value_count, groups.method
    limit, digit, first, source, column, step, forward, backward, local, _, unit = make_room(room)
    for g in range(lo, hi):
        if method[g] == SWAPS:
            out[g] = np.nan
            continue
        c, v = start[g], value_start[g]
        entries, values = start[g + 1] - c, value_start[g + 1] - v
        if method[g] == ONE:
            sum_of_logs = 0.0
            rows = 0
            for i in range(entries):
                rows += count[c + i]
                for j in range(values):
                    sum_of_logs += min(count[c + i], value_count[v + j]) * log_weight[cell[c + i], value[v + j]]
            out[g] = sum_of_logs + math.lgamma(rows + 1.0)
            continue
        if method[g] == OVER_CELLS:
            items = entries
            shift = gather(log_weight, True, value, value_count, v, values, cell, c, items, False, local, unit)
            states = build_table(count, c, items, limit, digit, first, source, column)
        else:
            items = values
            shift = gather(log_weight, True, cell, count, c, entries, value, v, items, True, local, unit)
            states = build_table(value_count, v, items, limit, digit, first, source, column)
        total, log_scale = gauged_sums(local, states, first, source, column, step, forward, backward)
        for j in range(items):
            shift += math.lgamma(limit[j] + 1.0)  # a state does not tell equal items apart
        out[g] = math.log(total) + log_scale + shift


@njit(cache=True, nogil=True)
def start_matching(groups, lo, hi, key, partner):
    """Fill the swapped groups' rows of `partner` with uniformly random matchings."""
    for g in range(lo, hi):
        if groups.method[g] == SWAPS:
            row = groups.row_start[g]
            for v in range(groups.value_start[g], groups.value_start[g + 1]):
                for _ in range(groups.value_count[v]):
                    partner[row] = v - groups.value_start[g]
                    row += 1
            own = partner[groups.row_start[g] : groups.row_start[g + 1]]
            shuffle(own.shape[0], random_bits(key, np.uint64(groups.first + g)), own)


@njit(cache=True, nogil=True)
def _plan(start, count, value_start, value_count, budget):
    groups = start.shape[0] - 1
    pair_start = np.zeros(groups + 1, np.int64)
    row_start = np.zeros(groups + 1, np.int64)
    method = np.empty(groups, np.int8)
    room = np.array([4, 16, 32, 16, 4])  # what four rows take: items, states, ways, square, units
    for g in range(groups):
        entries, values = start[g + 1] - start[g], value_start[g + 1] - value_start[g]
        rows, cell_states, fit = _side(count, start[g], start[g + 1], budget)
        value_rows, value_states, value_fit = _side(value_count, value_start[g], value_start[g + 1], budget)
        if rows == 0 or rows != value_rows or not fit or not value_fit:
            return pair_start, row_start, method, room, g
        pair_start[g + 1] = pair_start[g] + entries * values
        row_start[g + 1] = row_start[g]
        if entries == 1 or values == 1:
            method[g] = ONE
        elif rows <= 4:
            method[g] = rows if entries == rows and values == rows else REPEATED
        elif min(cell_states, value_states) > budget:
            method[g] = SWAPS
            row_start[g + 1] += rows
            room[4] = max(room[4], rows)
        else:
            method[g] = OVER_VALUES if value_states <= cell_states else OVER_CELLS
            states, items = (value_states, values) if value_states <= cell_states else (cell_states, entries)
            room[0] = max(room[0], items)
            room[1] = max(room[1], states)
            room[2] = max(room[2], states * items)
            room[3] = max(room[3], rows * items)
            room[4] = max(room[4], rows)
    return pair_start, row_start, method, room, -1


@njit(cache=True, nogil=True)
def _side(count, begin, end, budget):
    """Rows and states of one side of a group, and whether all counts are positive."""
    rows = 0
    states = 1
    fit = True
    for i in range(begin, end):
        rows += count[i]
        fit = fit and count[i] > 0
        states = min(states * (count[i] + 1), budget + 1)
    return rows, states, fit


def warm():
    """Compile every kernel here, and those of closed_forms, used_counts and swaps."""
    ones = np.ones(12, np.int32)
    sizes = np.array([0, 2, 7, 12])
    weight, log_weight = np.ones((12, 12)), np.zeros((12, 12))
    scale(log_weight, weight)
    key = np.uint64(7)
    for states in (4, STATES):
        groups = lay_out(sizes, np.arange(12), ones, sizes, np.arange(12), ones, states=states)
        partner = np.zeros(groups.row_start[-1], np.int32)
        start_matching(groups, 0, 3, key, partner)
        marginals(groups, Weights.of(groups, weight, log_weight), key, partner)
        log_permanent(groups, 0, 3, log_weight, np.empty(3))

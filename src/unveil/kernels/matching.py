"""Matching a block's cells with the sensitive cells of their group, given theta: marginals, draws, permanents.

P(matching) ∝ the product over cells of the weight of the cell and its partner's value. Groups of 2, 3 and 4 rows have
closed forms; others are exact by dynamic programming while their states fit the budget; the rest run swap Metropolis.
Every number is a function of (key, group, draw within the group), so any partition of the groups gives the same.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unveil.kernels import swaps
from unveil.kernels.permanents import TINY, build_table, chances, four, gauge, make_room, pick, steps, three, two
from unveil.kernels.random import draw as random_bits
from unveil.kernels.random import uniform
from unveil.kernels.swaps import shuffle, swap_rounds

__all__ = [
    "ROUNDS", "STATES", "Groups", "draw", "exact", "lay_out", "log_permanent", "marginals", "part", "scale",
    "start_matching", "sweep", "warm",
]  # fmt: skip

STATES = 4096  # groups with more states than this on both sides are swapped
ROUNDS = 10  # rounds of swaps a sweep: 5 proposals a row

TRIVIAL, TWO, THREE, FOUR, OVER_CELLS, OVER_VALUES, SWAPS = 1, 2, 3, 4, 5, 6, 7

_NO_MARGINALS = np.empty(0)
_NO_COUNTS = np.empty(0, np.int32)


class Groups(NamedTuple):
    """A block's groups. An *entry* is a distinct cell of a group, a *pair* an entry with a value of its group."""

    start: NDArray[np.int64]  # (groups + 1,) entries of each group
    cell: NDArray[np.int32]  # (entries,) row of the weights
    count: NDArray[np.int32]  # (entries,) rows of the group with this cell
    value_start: NDArray[np.int64]  # (groups + 1,)
    value: NDArray[np.int32]  # (group values,) column of the weights
    value_count: NDArray[np.int32]  # (group values,) rows of the group with this value
    pair_start: NDArray[np.int64]  # (groups + 1,) a group's pairs are a dense (its entries, its values)
    row_start: NDArray[np.int64]  # (groups + 1,) rows of the groups that are swapped; exact groups hold none
    method: NDArray[np.int8]  # (groups,)
    first: int  # number of the first group, by which its draws are keyed
    items: int  # room that the largest group takes: see permanents.Room
    states: int
    ways: int
    square: int
    units: int


def lay_out(start, cell, count, value_start, value, value_count, *, states=STATES) -> Groups:
    """Choose each group's method: exact if the states on one side are at most `states`."""
    entries = [np.ascontiguousarray(a, np.int32) for a in (cell, count, value, value_count)]
    cell, count, value, value_count = entries
    start, value_start = np.ascontiguousarray(start, np.int64), np.ascontiguousarray(value_start, np.int64)
    pair_start, row_start, method, room, bad = _plan(start, count, value_start, value_count, states)
    if bad >= 0:
        raise ValueError(f"group {bad} has no rows, a count below 1, or not as many cells as sensitive values")
    sizes = tuple(int(x) for x in room)
    return Groups(start, cell, count, value_start, value, value_count, pair_start, row_start, method, 0, *sizes)


def part(groups: Groups, lo: int, hi: int) -> Groups:
    """Groups [lo, hi) alone, for a worker that keeps only those: their draws stay the same."""
    entries = slice(groups.start[lo], groups.start[hi])
    values = slice(groups.value_start[lo], groups.value_start[hi])
    return groups._replace(
        start=groups.start[lo : hi + 1] - groups.start[lo],
        cell=groups.cell[entries],
        count=groups.count[entries],
        value_start=groups.value_start[lo : hi + 1] - groups.value_start[lo],
        value=groups.value[values],
        value_count=groups.value_count[values],
        pair_start=groups.pair_start[lo : hi + 1] - groups.pair_start[lo],
        row_start=groups.row_start[lo : hi + 1] - groups.row_start[lo],
        method=groups.method[lo:hi],
        first=groups.first + lo,
    )


def exact(groups: Groups) -> NDArray[np.bool_]:
    """Which groups (groups,) are matched exactly; the marginals of the others are estimates."""
    return groups.method != SWAPS


def marginals(groups, weight, log_weight, key, partner, *, rounds=ROUNDS):
    """Expected number of each pair (pairs,) float64; see `sweep`."""
    marginal = np.empty(groups.pair_start[-1])
    tally = np.empty((0, weight.shape[1]), np.int64)
    sweep(groups, 0, len(groups.method), weight, log_weight, key, rounds, partner, marginal, _NO_COUNTS, tally)
    return marginal


def draw(groups, weight, log_weight, key, partner, *, rounds=ROUNDS):
    """A random matching as the number of each pair (pairs,) int32; see `sweep`."""
    drawn = np.empty(groups.pair_start[-1], np.int32)
    tally = np.empty((0, weight.shape[1]), np.int64)
    sweep(groups, 0, len(groups.method), weight, log_weight, key, rounds, partner, _NO_MARGINALS, drawn, tally)
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


@njit(cache=True, nogil=True)
def sweep(groups, lo, hi, weight, log_weight, key, rounds, partner, marginal, drawn, tally):
    """Match every group in [lo, hi): expected pairs, and one matching drawn from the same law.

    `weight` (cells, values) is exp(log_weight) with each row divided by any number that leaves it at most 1; it may
    underflow. `partner` (row_start[-1],) int32 holds the swapped groups' state and moves on. Filled where not empty:
    `marginal` (pairs,) float64 and `drawn` (pairs,) int32; `tally` (cells, values) int64 is added to. Give each block
    and each sweep its own `key`.
    """
    room = make_room(groups.items, groups.states, groups.ways, groups.square, groups.units)
    wanted = marginal.shape[0] > 0
    for g in range(lo, hi):
        method = groups.method[g]
        c, v, o = groups.start[g], groups.value_start[g], groups.pair_start[g]
        entries, values = groups.start[g + 1] - c, groups.value_start[g + 1] - v
        if drawn.shape[0] > 0:
            for p in range(o, groups.pair_start[g + 1]):
                drawn[p] = 0
        if method == TRIVIAL:
            _only_matching(groups, c, entries, v, values, o, marginal, drawn, tally)
            continue
        group_key = random_bits(key, np.uint64(groups.first + g))
        u = np.float64(group_key >> np.uint64(11)) * (1.0 / 9007199254740992.0)
        if method == SWAPS:
            _swap(groups, g, log_weight, rounds, group_key, room, partner, marginal, drawn, tally)
            continue
        total = 0.0
        if method == TWO:
            total, picks = two(weight, groups.cell, c, groups.value, v, u, wanted, marginal, o)
        elif method == THREE and entries == 3 and values == 3:
            total, picks = three(weight, groups.cell, c, groups.value, v, u, wanted, marginal, o)
        elif method == FOUR and entries == 4 and values == 4:
            u2 = uniform(group_key, np.uint64(1))
            total, picks = four(weight, groups.cell, c, groups.value, v, u, u2, wanted, marginal, o)
        elif method in (THREE, FOUR):
            total = _repeated(groups, g, method, weight, u, group_key, room, marginal, drawn, tally)
            if total >= TINY:
                continue
        if total >= TINY:
            for i in range(entries):
                _add(groups, c + i, v + (picks >> 2 * i & 3), o + i * values + (picks >> 2 * i & 3), 1, drawn, tally)
        else:
            _count_states(groups, g, weight, log_weight, group_key, room, marginal, drawn, tally)


@njit(cache=True, nogil=True)
def log_permanent(groups, lo, hi, log_weight, out):
    """Fill `out[lo:hi]` with the log of the sum over all n! matchings; nan for groups that are swapped."""
    room = make_room(groups.items, groups.states, groups.ways, groups.square, groups.units)
    for g in range(lo, hi):
        method = groups.method[g]
        if method == SWAPS:
            out[g] = np.nan
            continue
        c, v = groups.start[g], groups.value_start[g]
        entries, values = groups.start[g + 1] - c, groups.value_start[g + 1] - v
        if method == TRIVIAL:
            sum_of_logs = 0.0
            rows = 0
            for i in range(entries):
                rows += groups.count[c + i]
                for j in range(values):  # one side has one member, so a pair's number is the other's count
                    pairs = min(groups.count[c + i], groups.value_count[v + j])
                    sum_of_logs += pairs * log_weight[groups.cell[c + i], groups.value[v + j]]
            out[g] = sum_of_logs + math.lgamma(rows + 1.0)
            continue
        over_values = method != OVER_CELLS
        _, items, shift = _gather(groups, c, entries, v, values, over_values, log_weight, True, room)
        count, begin = (groups.value_count, v) if over_values else (groups.count, c)
        total, log_scale = gauge(build_table(count, begin, items, room), room)
        for j in range(items):
            shift += math.lgamma(count[begin + j] + 1.0)  # a state does not tell equal items apart
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
            method[g] = TRIVIAL
        elif rows <= 4:
            method[g] = rows
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


@njit(cache=True, nogil=True)
def _add(groups, entry, position, pair, number, drawn, tally):
    """Record `number` cells of `entry` matched with the value at `position`."""
    if drawn.shape[0] > 0:
        drawn[pair] += number
    if tally.shape[0] > 0:
        tally[groups.cell[entry], groups.value[position]] += number


@njit(cache=True, nogil=True)
def _only_matching(groups, c, entries, v, values, o, marginal, drawn, tally):
    for i in range(entries):
        for j in range(values):
            number = min(groups.count[c + i], groups.value_count[v + j])
            if marginal.shape[0] > 0:
                marginal[o + i * values + j] = number
            _add(groups, c + i, v + j, o + i * values + j, number, drawn, tally)


@njit(cache=True, nogil=True)
def _repeated(groups, g, rows, weight, u, group_key, room, marginal, drawn, tally):
    """The closed form for 3 or 4 rows when cells or values repeat: every row on its own, then equal rows together."""
    c, v, o = groups.start[g], groups.value_start[g], groups.pair_start[g]
    values = groups.value_start[g + 1] - v
    unit, cell, value, place = room.unit, room.order, room.other, room.digit
    i = 0
    for e in range(c, groups.start[g + 1]):
        for _ in range(groups.count[e]):
            unit[i] = e - c
            cell[i] = groups.cell[e]
            i += 1
    j = 0
    for s in range(v, groups.value_start[g + 1]):
        for _ in range(groups.value_count[s]):
            place[j] = s - v
            value[j] = groups.value[s]
            j += 1
    wanted = marginal.shape[0] > 0
    if rows == 3:
        total, picks = three(weight, cell, 0, value, 0, u, wanted, room.chance, 0)
    else:
        u2 = uniform(group_key, np.uint64(1))
        total, picks = four(weight, cell, 0, value, 0, u, u2, wanted, room.chance, 0)
    if total >= TINY:
        if wanted:
            for p in range(o, groups.pair_start[g + 1]):
                marginal[p] = 0.0
            for i in range(rows):
                for j in range(rows):
                    marginal[o + unit[i] * values + place[j]] += room.chance[i * rows + j]
        for i in range(rows):
            j = place[picks >> 2 * i & 3]
            _add(groups, c + unit[i], v + j, o + unit[i] * values + j, 1, drawn, tally)
    return total


@njit(cache=True, nogil=True)
def _gather(groups, c, entries, v, values, over_values, weight, logs, room):
    """Fill `room.local` (units, items), each row scaled to a maximum of 1 (0 in logs), and `room.unit`.

    Returns the units, the items, and the sum of the rows' maxima.
    """
    items, kinds = (values, entries) if over_values else (entries, values)
    count, begin = (groups.count, c) if over_values else (groups.value_count, v)
    local = room.local
    units = 0
    shift = 0.0
    for kind in range(kinds):
        row = units * items
        top = -np.inf
        for j in range(items):
            if over_values:
                local[row + j] = weight[groups.cell[c + kind], groups.value[v + j]]
            else:
                local[row + j] = weight[groups.cell[c + j], groups.value[v + kind]]
            top = max(top, local[row + j])
        for j in range(items):
            if logs:
                local[row + j] -= top
            elif top > 0.0:
                local[row + j] /= top
        for copy in range(count[begin + kind]):
            room.unit[units + copy] = kind
            for j in range(items):
                local[(units + copy) * items + j] = local[row + j]
        units += count[begin + kind]
        shift += top * count[begin + kind]
    return units, items, shift


@njit(cache=True, nogil=True)
def _count_states(groups, g, weight, log_weight, group_key, room, marginal, drawn, tally):
    """Match one group by dynamic programming."""
    c, v, o = groups.start[g], groups.value_start[g], groups.pair_start[g]
    entries, values = groups.start[g + 1] - c, groups.value_start[g + 1] - v
    over_values = groups.method[g] != OVER_CELLS
    units, items, _ = _gather(groups, c, entries, v, values, over_values, weight, False, room)
    count, begin = (groups.value_count, v) if over_values else (groups.count, c)
    states = build_table(count, begin, items, room)
    if steps(states, room) < TINY:
        _gather(groups, c, entries, v, values, over_values, log_weight, True, room)
        gauge(states, room)
    if marginal.shape[0] > 0:
        chances(states, room)
        for p in range(o, groups.pair_start[g + 1]):
            marginal[p] = 0.0
        for i in range(units):
            for j in range(items):
                pair = room.unit[i] * values + j if over_values else j * values + room.unit[i]
                marginal[o + pair] += room.chance[i * items + j]
    if drawn.shape[0] > 0 or tally.shape[0] > 0:
        pick(states, units, items, room, group_key, room.order)
        for i in range(units):
            e, s = (room.unit[i], room.order[i]) if over_values else (room.order[i], room.unit[i])
            _add(groups, c + e, v + s, o + e * values + s, 1, drawn, tally)


@njit(cache=True, nogil=True)
def _swap(groups, g, log_weight, rounds, group_key, room, partner, marginal, drawn, tally):
    """Match one group by swaps."""
    c, v, o = groups.start[g], groups.value_start[g], groups.pair_start[g]
    values = groups.value_start[g + 1] - v
    own = partner[groups.row_start[g] : groups.row_start[g + 1]]
    rows = own.shape[0]
    i = 0
    for e in range(c, groups.start[g + 1]):
        for _ in range(groups.count[e]):
            room.unit[i] = e - c
            i += 1
    wanted = marginal.shape[0] > 0
    mean = marginal[o : groups.pair_start[g + 1]] if wanted else marginal
    cell, value = groups.cell[c : groups.start[g + 1]], groups.value[v : groups.value_start[g + 1]]
    swap_rounds(log_weight, cell, room.unit[:rows], value, rounds, group_key, room.order, own, wanted, mean)
    for i in range(rows):
        pair = o + room.unit[i] * values + own[i]
        _add(groups, c + room.unit[i], v + own[i], pair, 1, drawn, tally)


def warm():
    """Compile every kernel here, in permanents and in swaps."""
    swaps.warm()
    ones = np.ones(7, np.int32)
    sizes = np.array([0, 1, 3, 7])
    groups = lay_out(sizes, np.arange(7), ones, sizes, np.arange(7), ones)
    weight = np.ones((7, 7))
    log_weight = np.zeros((7, 7))
    scale(log_weight, weight)
    key = np.uint64(7)
    partner = np.zeros(groups.row_start[-1], np.int32)
    start_matching(groups, 0, 3, key, partner)
    marginals(groups, weight, log_weight, key, partner)
    draw(groups, weight, log_weight, key, partner)
    log_permanent(groups, 0, 3, log_weight, np.empty(3))

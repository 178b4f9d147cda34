"""Exact matchings of one group by dynamic programming over how many of each item are used.

Distinct *items* of one side (cells or values), each with its count, are used up by the *units* of the other side, one
unit for each row. A state says how many of each item are used: prod(count + 1) states, so repeats make a group cheap.

Weights are at most one, so every partial product is at least the whole: nothing that counts can underflow while the
sum over all matchings stays above ``TINY``. Below it the same program runs on gauged weights, which take the best way
to each state out of every step; its sum is at least one whatever the weights are.
"""

import math

import numpy as np
from numba import njit

from unveil.kernels.random import draw, uniform

__all__ = ["OVER_CELLS", "OVER_VALUES", "TINY", "build_table", "gather", "gauged_sums", "make_room", "match_states"]

OVER_CELLS, OVER_VALUES = 7, 8  # methods: which side the items are
TINY = 1e-150  # a smaller sum is computed again on gauged weights; chances below 1e-150 may round to zero


@njit(cache=True, nogil=True)
def match_states(
    start, cell, count, value_start, value, value_count, pair_start, method, first_group,
    left, room, weight, log_weight, key, marginal, drawn, tally,
):  # fmt: skip
    """Match the groups in `left`."""
    limit, digit, first, source, column, step, forward, backward, local, chance, unit = make_room(room)
    taken = np.empty(room[4], np.int32)
    wanted = marginal.shape[0] > 0
    counted, tallied = drawn.shape[0] > 0, tally.shape[0] > 0
    for g in left:
        c, v, o, end = start[g], value_start[g], pair_start[g], pair_start[g + 1]
        entries, values = start[g + 1] - c, value_start[g + 1] - v
        over_cells = method[g] == OVER_CELLS
        if over_cells:
            items = entries
            gather(weight, False, value, value_count, v, values, cell, c, items, False, local, unit)
            states = build_table(count, c, items, limit, digit, first, source, column)
        else:
            items = values
            gather(weight, False, cell, count, c, entries, value, v, items, True, local, unit)
            states = build_table(value_count, v, items, limit, digit, first, source, column)
        units = 0
        for j in range(items):
            units += limit[j]
        if not forward_sums(local, states, first, source, column, step, forward) >= TINY:
            if over_cells:
                gather(log_weight, True, value, value_count, v, values, cell, c, items, False, local, unit)
            else:
                gather(log_weight, True, cell, count, c, entries, value, v, items, True, local, unit)
            gauged_sums(local, states, first, source, column, step, forward, backward)
        entry_stride, value_stride = (1, values) if over_cells else (values, 1)  # of units, of items
        if wanted:
            chances(states, first, source, column, step, forward, backward, chance)
            for p in range(o, end):
                marginal[p] = 0.0
            for i in range(units):
                for j in range(items):
                    marginal[o + unit[i] * entry_stride + j * value_stride] += chance[i * items + j]
        if counted:
            for p in range(o, end):
                drawn[p] = 0
        if counted or tallied:
            group_key = draw(key, np.uint64(first_group + g))
            pick(states, units, items, first, source, column, step, forward, group_key, taken)
            for i in range(units):
                pair = unit[i] * entry_stride + taken[i] * value_stride
                if counted:
                    drawn[o + pair] += 1
                if tallied:
                    tally[cell[c + pair // values], value[v + pair % values]] += 1


@njit(cache=True, nogil=True)
def make_room(room):
    """Work space for the largest group: the table of states serves group after group while it fits."""
    items, states, ways, square, units = room
    return (
        np.zeros(items + 1, np.int64),  # limit
        np.empty(items, np.int64),  # digit
        np.empty(states + 1, np.int64),  # first
        np.empty(ways, np.uint32),  # source; unsigned: no check for an index from the end
        np.empty(ways, np.uint32),  # column
        np.empty(ways),  # step
        np.empty(states),  # forward
        np.empty(states),  # backward
        np.empty(square),  # local: (units, items) weights
        np.empty(square),  # chance: (units, items)
        np.empty(units, np.int32),  # unit: the entry or value position of each unit
    )


@njit(cache=True, nogil=True)
def gather(weight, logs, name, count, begin, kinds, item, item_begin, items, by_cell, local, unit):
    """Fill `local` (units, items), each row scaled to a maximum of 1 (0 in logs); returns the sum of the maxima.

    The units are the copies of `kinds` names; `by_cell` if those are cells, and the items values.
    """
    units = 0
    shift = 0.0
    for kind in range(kinds):
        row = units * items
        top = -np.inf
        for j in range(items):
            if by_cell:
                local[row + j] = weight[name[begin + kind], item[item_begin + j]]
            else:
                local[row + j] = weight[item[item_begin + j], name[begin + kind]]
            top = max(top, local[row + j])
        if logs:
            for j in range(items):
                local[row + j] -= top
        elif top > 0.0:
            for j in range(items):
                local[row + j] /= top
        for copy in range(count[begin + kind]):
            unit[units + copy] = kind
            if copy > 0:
                for j in range(items):
                    local[row + copy * items + j] = local[row + j]
        units += count[begin + kind]
        shift += top * count[begin + kind]
    return shift


@njit(cache=True, nogil=True)
def build_table(count, begin, items, limit, digit, first, source, column):
    """List the ways into every state for items with `count[begin:]`, unless the table holds them; returns states.

    `limit` (items + 1,): the counts that the table was built for and, last, how many; `digit` (items,): work space;
    `first` (states + 1,): the ways into each state; `source` (ways,): the state they come from; `column` (ways,): the
    unit and the item matched, as a place in (units, items).
    """
    known = limit[-1] == items
    states = 1
    for j in range(items):
        known = known and limit[j] == count[begin + j]
        states *= count[begin + j] + 1
    if known:
        return states
    limit[-1] = items
    for j in range(items):
        limit[j] = count[begin + j]
        digit[j] = 0
    used = 0
    t = 0
    first[0] = 0
    for state in range(1, states):
        j = 0
        while digit[j] == limit[j]:
            used -= digit[j]
            digit[j] = 0
            j += 1
        digit[j] += 1
        used += 1
        first[state] = t
        stride = 1
        for j in range(items):
            if digit[j] > 0:
                source[t] = state - stride
                column[t] = (used - 1) * items + j
                t += 1
            stride *= limit[j] + 1
    first[states] = t
    return states


@njit(cache=True, nogil=True)
def forward_sums(local, states, first, source, column, step, forward):
    """Sum over all matchings of the products of `local` (units, items).

    Keeps the weight of each way in `step` (ways,), the sum over the ways to each state in `forward` (states,).
    """
    for t in range(first[states]):
        step[t] = local[column[t]]
    forward[0] = 1.0
    for state in range(1, states):
        total = 0.0
        for t in range(first[state], first[state + 1]):
            total += forward[source[t]] * step[t]
        forward[state] = total
    return forward[states - 1]


@njit(cache=True, nogil=True)
def gauged_sums(local, states, first, source, column, step, forward, best):
    """As `forward_sums` for `local` in logs: returns the sum, at least 1, and the logarithm to add to its own.

    `best` (states,) is work space: the log of the best way to each state.
    """
    best[0] = 0.0
    forward[0] = 1.0
    for state in range(1, states):
        top = -np.inf
        for t in range(first[state], first[state + 1]):
            step[t] = best[source[t]] + local[column[t]]
            top = max(top, step[t])
        best[state] = top
        total = 0.0
        for t in range(first[state], first[state + 1]):
            step[t] = math.exp(step[t] - top)
            total += forward[source[t]] * step[t]
        forward[state] = total
    return forward[states - 1], best[states - 1]


@njit(cache=True, nogil=True)
def chances(states, first, source, column, step, forward, backward, chance):
    """Fill `chance` (units, items) with P(unit takes item) after the sums; `backward` (states,) is work space."""
    for state in range(states):
        backward[state] = 0.0
    backward[states - 1] = 1.0 / forward[states - 1]
    for t in range(first[states]):
        chance[column[t]] = 0.0
    for state in range(states - 1, 0, -1):
        after = backward[state]
        for t in range(first[state], first[state + 1]):
            mass = step[t] * after
            backward[source[t]] += mass
            chance[column[t]] += forward[source[t]] * mass


@njit(cache=True, nogil=True)
def pick(states, units, items, first, source, column, step, forward, key, out):
    """Item of each unit, drawn after the sums, into `out` (units,)."""
    state = states - 1
    for unit in range(units - 1, -1, -1):
        begin, end = first[state], first[state + 1]
        way = begin
        if end > begin + 1:
            x = uniform(key, np.uint64(unit)) * forward[state]
            for t in range(begin, end):
                mass = forward[source[t]] * step[t]
                if mass > 0.0:  # so that rounding never ends on an impossible way
                    way = t
                    x -= mass
                    if x < 0.0:
                        break
        out[unit] = np.int64(column[way]) - unit * items
        state = np.int64(source[way])

"""One group's matchings, exactly: closed forms for 2, 3 and 4 rows, dynamic programming over used counts for more.

Weights are at most one, so every partial product is at least the whole: nothing that counts can underflow while the
sum over all matchings stays above ``TINY``. Below it the same dynamic program runs on gauged weights, which take the
logarithm of the best way into each state out of every step; its sum is at least one whatever the weights are.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unveil.kernels.random import uniform

__all__ = ["TINY", "Room", "build_table", "chances", "four", "gauge", "make_room", "pick", "steps", "three", "two"]

TINY = 1e-150  # a smaller sum is computed again on gauged weights; chances below 1e-150 may round to zero

# The i-th cell's partner is bits 2i and 2i+1 of a pick, in the order of the terms of `three` and `four`.
_PICK3 = np.array([j0 | j1 << 2 | (3 - j0 - j1) << 4 for j0, j1 in ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))])
_PICK4 = np.array(
    [
        j0 | j1 << 2 | j2 << 4 | (6 - j0 - j1 - j2) << 6
        for j0 in range(4)
        for j1 in range(4)
        if j1 != j0
        for j2 in [min({0, 1, 2, 3} - {j0, j1})]
    ]
)


@njit(cache=True, nogil=True)
def two(weight, cell, c, value, v, u, wanted, out, o):
    """Sum over the 2 matchings of cells `cell[c:]` and values `value[v:]`, and the pick at `u`; chances into `out`."""
    same = weight[cell[c], value[v]] * weight[cell[c + 1], value[v + 1]]
    crossed = weight[cell[c], value[v + 1]] * weight[cell[c + 1], value[v]]
    total = same + crossed
    if wanted and total >= TINY:
        p = same / total
        q = crossed / total
        out[o] = p
        out[o + 1] = q
        out[o + 2] = q
        out[o + 3] = p
    return total, (4 if u * total < same else 1)


@njit(cache=True, nogil=True)
def three(weight, cell, c, value, v, u, wanted, out, o):
    """As `two`, for 3 cells and 3 values."""
    i0, i1, i2 = cell[c], cell[c + 1], cell[c + 2]
    j0, j1, j2 = value[v], value[v + 1], value[v + 2]
    a0, a1, a2 = weight[i0, j0], weight[i0, j1], weight[i0, j2]
    b0, b1, b2 = weight[i1, j0], weight[i1, j1], weight[i1, j2]
    c0, c1, c2 = weight[i2, j0], weight[i2, j1], weight[i2, j2]
    x01, x02, x10 = a0 * b1 * c2, a0 * b2 * c1, a1 * b0 * c2
    x12, x20, x21 = a1 * b2 * c0, a2 * b0 * c1, a2 * b1 * c0
    s0 = x01
    s1 = s0 + x02
    s2 = s1 + x10
    s3 = s2 + x12
    s4 = s3 + x20
    total = s4 + x21
    if wanted and total >= TINY:
        r = 1.0 / total
        out[o] = (x01 + x02) * r
        out[o + 1] = (x10 + x12) * r
        out[o + 2] = (x20 + x21) * r
        out[o + 3] = (x10 + x20) * r
        out[o + 4] = (x01 + x21) * r
        out[o + 5] = (x02 + x12) * r
        out[o + 6] = (x12 + x21) * r
        out[o + 7] = (x02 + x20) * r
        out[o + 8] = (x01 + x10) * r
    x = u * total
    # Sums of comparisons, since a branch on a random number is mispredicted half the time.
    return total, _PICK3[(x >= s0) + (x >= s1) + (x >= s2) + (x >= s3) + (x >= s4)]


@njit(cache=True, nogil=True)
def four(weight, cell, c, value, v, u, u2, wanted, out, o):
    """As `two`, for 4 cells and 4 values: the first two cells' values, then a second number for the other two."""
    i0, i1, i2, i3 = cell[c], cell[c + 1], cell[c + 2], cell[c + 3]
    j0, j1, j2, j3 = value[v], value[v + 1], value[v + 2], value[v + 3]
    a0, a1, a2, a3 = weight[i0, j0], weight[i0, j1], weight[i0, j2], weight[i0, j3]
    b0, b1, b2, b3 = weight[i1, j0], weight[i1, j1], weight[i1, j2], weight[i1, j3]
    c0, c1, c2, c3 = weight[i2, j0], weight[i2, j1], weight[i2, j2], weight[i2, j3]
    d0, d1, d2, d3 = weight[i3, j0], weight[i3, j1], weight[i3, j2], weight[i3, j3]
    y01, y02, y03 = c0 * d1 + c1 * d0, c0 * d2 + c2 * d0, c0 * d3 + c3 * d0
    y12, y13, y23 = c1 * d2 + c2 * d1, c1 * d3 + c3 * d1, c2 * d3 + c3 * d2
    x01, x02, x03 = a0 * b1 * y23, a0 * b2 * y13, a0 * b3 * y12
    x10, x12, x13 = a1 * b0 * y23, a1 * b2 * y03, a1 * b3 * y02
    x20, x21, x23 = a2 * b0 * y13, a2 * b1 * y03, a2 * b3 * y01
    x30, x31, x32 = a3 * b0 * y12, a3 * b1 * y02, a3 * b2 * y01
    s0 = x01
    s1 = s0 + x02
    s2 = s1 + x03
    s3 = s2 + x10
    s4 = s3 + x12
    s5 = s4 + x13
    s6 = s5 + x20
    s7 = s6 + x21
    s8 = s7 + x23
    s9 = s8 + x30
    s10 = s9 + x31
    total = s10 + x32
    if wanted and total >= TINY:
        r = 1.0 / total
        out[o] = s2 * r
        out[o + 1] = (x10 + x12 + x13) * r
        out[o + 2] = (x20 + x21 + x23) * r
        out[o + 3] = (x30 + x31 + x32) * r
        out[o + 4] = (x10 + x20 + x30) * r
        out[o + 5] = (x01 + x21 + x31) * r
        out[o + 6] = (x02 + x12 + x32) * r
        out[o + 7] = (x03 + x13 + x23) * r
        t01, t02, t03 = (a0 * b1 + a1 * b0) * r, (a0 * b2 + a2 * b0) * r, (a0 * b3 + a3 * b0) * r
        t12, t13, t23 = (a1 * b2 + a2 * b1) * r, (a1 * b3 + a3 * b1) * r, (a2 * b3 + a3 * b2) * r
        out[o + 8] = c0 * (d1 * t23 + d2 * t13 + d3 * t12)
        out[o + 9] = c1 * (d0 * t23 + d2 * t03 + d3 * t02)
        out[o + 10] = c2 * (d0 * t13 + d1 * t03 + d3 * t01)
        out[o + 11] = c3 * (d0 * t12 + d1 * t02 + d2 * t01)
        out[o + 12] = d0 * (c1 * t23 + c2 * t13 + c3 * t12)
        out[o + 13] = d1 * (c0 * t23 + c2 * t03 + c3 * t02)
        out[o + 14] = d2 * (c0 * t13 + c1 * t03 + c3 * t01)
        out[o + 15] = d3 * (c0 * t12 + c1 * t02 + c2 * t01)
    x = u * total
    low = (x >= s0) + (x >= s1) + (x >= s2) + (x >= s3) + (x >= s4) + (x >= s5)
    high = (x >= s6) + (x >= s7) + (x >= s8) + (x >= s9) + (x >= s10)
    picks = _PICK4[low + high]
    p, q = picks >> 4 & 3, picks >> 6
    kept = weight[i2, value[v + p]] * weight[i3, value[v + q]]
    crossed = weight[i2, value[v + q]] * weight[i3, value[v + p]]
    return total, (picks if u2 * (kept + crossed) < kept else (picks & 15) | q << 4 | p << 6)


class Room(NamedTuple):
    """Work space for the groups of one call; the table of states is kept from group to group while it fits.

    Distinct *items* of one side, each with its count, are used up by the *units* of the other side one after another.
    A state says how many of each item are used, so there are prod(count + 1).
    """

    limit: NDArray[np.int64]  # (items + 1,) the items' counts for which the table was built; the last: how many items
    digit: NDArray[np.int64]  # (items,)
    first: NDArray[np.int32]  # (states + 1,) the ways into each state
    source: NDArray[np.int32]  # (ways,) the state they come from
    column: NDArray[np.int32]  # (ways,) place in (units, items) of the unit matched and the item used
    step: NDArray[np.float64]  # (ways,) weight of the way
    forward: NDArray[np.float64]  # (states,) sum over the ways from nothing used
    backward: NDArray[np.float64]  # (states,) sum over the ways to everything used
    local: NDArray[np.float64]  # (units · items,) the group's weights
    chance: NDArray[np.float64]  # (units · items,) P(unit takes item)
    unit: NDArray[np.int32]  # (units,) entry or value position of each unit
    order: NDArray[np.int32]  # (units,) for swaps, and the cells or values of units
    other: NDArray[np.int32]  # (units,) likewise


@njit(cache=True, nogil=True)
def make_room(items, states, ways, square, units):
    """Room for groups of at most these sizes."""
    return Room(
        np.zeros(items + 1, np.int64),
        np.empty(items, np.int64),
        np.empty(states + 1, np.int32),
        np.empty(ways, np.int32),
        np.empty(ways, np.int32),
        np.empty(ways),
        np.empty(states),
        np.empty(states),
        np.empty(square),
        np.empty(square),
        np.empty(units, np.int32),
        np.empty(units, np.int32),
        np.empty(units, np.int32),
    )


@njit(cache=True, nogil=True)
def build_table(count, start, items, room):
    """List the ways into every state for items with `count[start:]`, unless the table holds them; returns states."""
    limit, digit = room.limit, room.digit
    known = limit[-1] == items
    states = 1
    for j in range(items):
        known = known and limit[j] == count[start + j]
        states *= count[start + j] + 1
    if known:
        return states
    limit[-1] = items
    for j in range(items):
        limit[j] = count[start + j]
        digit[j] = 0
    first, source, column = room.first, room.source, room.column
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
def steps(states, room):
    """Sum over all matchings of the products of `room.local`."""
    first, source, column, step, forward = room.first, room.source, room.column, room.step, room.forward
    for t in range(first[states]):
        step[t] = room.local[column[t]]
    forward[0] = 1.0
    for state in range(1, states):
        total = 0.0
        for t in range(first[state], first[state + 1]):
            total += forward[source[t]] * step[t]
        forward[state] = total
    return forward[states - 1]


@njit(cache=True, nogil=True)
def gauge(states, room):
    """As `steps` for `room.local` in logs: returns the sum, at least 1, and the logarithm to add to its own."""
    first, source, column, step, forward = room.first, room.source, room.column, room.step, room.forward
    best = room.backward  # the best way into each state; done with before the backward sums begin
    best[0] = 0.0
    forward[0] = 1.0
    for state in range(1, states):
        top = -np.inf
        for t in range(first[state], first[state + 1]):
            step[t] = best[source[t]] + room.local[column[t]]
            top = max(top, step[t])
        best[state] = top
        total = 0.0
        for t in range(first[state], first[state + 1]):
            step[t] = math.exp(step[t] - top)
            total += forward[source[t]] * step[t]
        forward[state] = total
    return forward[states - 1], best[states - 1]


@njit(cache=True, nogil=True)
def chances(states, room):
    """Fill `room.chance` after `steps` or `gauge`."""
    first, source, column, step = room.first, room.source, room.column, room.step
    forward, backward, chance = room.forward, room.backward, room.chance
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
def pick(states, units, items, room, key, out):
    """Item of each unit, drawn after `steps` or `gauge`, into `out` (units,)."""
    first, source, step, forward = room.first, room.source, room.step, room.forward
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
        out[unit] = room.column[way] - unit * items
        state = source[way]

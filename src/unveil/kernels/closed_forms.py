"""Exact matchings of groups that have only one, and of groups of 2, 3 and 4 rows by expanding the permanent.

The weight of a cell and a value is the product of some rows of a table, one for each part of the cell: Adult's six
quasi-identifiers are three parts with 281 rows together. So the weights of 10,000 cells and all values are never made;
a matched cell is counted in the same rows. Where weights are at hand they are the table, and a cell is one part.
"""

import numpy as np
from numba import njit

from unveil.kernels.random import draw, uniform
from unveil.kernels.used_counts import TINY

__all__ = ["FOUR", "ONE", "REPEATED", "THREE", "TWO", "match_closed"]

# Methods: one matching; 2, 3, 4 rows with every cell and value once; 3 or 4 rows with repeats.
ONE, TWO, THREE, FOUR, REPEATED = 1, 2, 3, 4, 5

# A matching as bits: the i-th cell's value is bits 2i and 2i+1. Those of `_three`, in the order of its terms.
_PICK3 = np.array([j0 | j1 << 2 | (3 - j0 - j1) << 4 for j0, j1 in ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))])
_PAIRS4 = [(j0, j1, *sorted({0, 1, 2, 3} - {j0, j1})) for j0 in range(4) for j1 in range(4) if j0 != j1]
_PICK4 = np.array([j0 | j1 << 2 | j2 << 4 | j3 << 6 for j0, j1, j2, j3 in _PAIRS4])


@njit(cache=True, nogil=True)
def match_closed(
    start, part, count, value_start, value, value_count, pair_start, method, first,
    lo, hi, table, key, left, marginal, drawn, tally,
):  # fmt: skip
    """Match the groups that have a closed form; lists the others in `left` and returns how many.

    `part` (entries, parts) int32: the rows of `table` (rows, values) whose product is an entry's weights. `tally`
    (rows, values) int64 is added to.
    """
    wanted, counted, tallied = marginal.shape[0] > 0, drawn.shape[0] > 0, tally.shape[0] > 0
    parts = part.shape[1]
    unit_part, unit_value = np.empty((4, parts), np.int32), np.empty(4, np.int32)
    entry, position = np.empty(4, np.int64), np.empty(4, np.int64)
    local = np.empty(16)
    chance, picked, untallied = (
        np.empty(16 if wanted else 0),
        np.empty(16, np.int32),
        np.empty((0, tally.shape[1]), np.int64),
    )
    opened = 0
    run = lo
    while run < hi:
        g = run
        run += 1
        kind = np.int64(method[g])
        c, v, o = start[g], value_start[g], pair_start[g]
        values = value_start[g + 1] - v
        if kind == ONE:
            for i in range(c, start[g + 1]):
                for j in range(v, v + values):  # one side has one member, so a pair's number is the other's count
                    number = min(count[i], value_count[j])
                    pair = o + (i - c) * values + j - v
                    if wanted:
                        marginal[pair] = number
                    if counted:
                        drawn[pair] = number
                    if tallied:
                        for a in range(parts):
                            tally[part[i, a], value[j]] += number
            continue
        if kind > REPEATED:
            left[opened] = g
            opened += 1
            continue
        before = opened
        if kind == REPEATED:  # every row on its own, then equal rows together
            rows = _spread(count, c, start[g + 1], entry)
            _spread(value_count, v, value_start[g + 1], position)
            for i in range(rows):
                unit_part[i] = part[c + entry[i]]
                unit_value[i] = value[v + position[i]]
            names = unit_part, 0, unit_value, 0, 0
            out = chance, picked, untallied
        else:
            while run < hi and method[run] == kind:
                run += 1
            rows = kind
            names = part, c, value, v, o
            out = marginal, drawn, tally
        opened = _match_run(rows, (first + g, first + run), first, *names, table, local, key, left, opened, *out)
        if kind == REPEATED and opened == before:
            for pair in range(o, pair_start[g + 1]):
                if wanted:
                    marginal[pair] = 0.0
                if counted:
                    drawn[pair] = 0
            for i in range(rows):
                for j in range(rows):
                    pair = o + entry[i] * values + position[j]
                    if wanted:
                        marginal[pair] += chance[i * rows + j]
                    if counted:
                        drawn[pair] += picked[i * rows + j]
                    if tallied:
                        for a in range(parts):
                            tally[unit_part[i, a], unit_value[j]] += picked[i * rows + j]
    return opened


@njit(cache=True, nogil=True)
def _spread(count, begin, end, place):
    """One unit for each row: where its name stands among those from `begin` on, in `place`; returns rows."""
    i = 0
    for e in range(begin, end):
        for _ in range(count[e]):
            place[i] = e - begin
            i += 1
    return i


@njit(cache=True, nogil=True)
def _match_run(
    rows, numbers, first, part, c, value, v, o, table, local, key, left, opened, marginal, drawn, tally,
):  # fmt: skip
    """Match consecutive groups of `rows` different cells and values; those below `TINY` are added to `left`."""
    # A loop for each size, with the size known to the compiler.
    if rows == TWO:
        return _run(TWO, numbers, first, part, c, value, v, o, table, local, key, left, opened, marginal, drawn, tally)
    if rows == THREE:
        return _run(
            THREE, numbers, first, part, c, value, v, o, table, local, key, left, opened, marginal, drawn, tally
        )
    return _run(FOUR, numbers, first, part, c, value, v, o, table, local, key, left, opened, marginal, drawn, tally)


@njit(cache=True, nogil=True, inline="always")
def _run(rows, numbers, first, part, c, value, v, o, table, local, key, left, opened, marginal, drawn, tally):
    wanted, counted, tallied = marginal.shape[0] > 0, drawn.shape[0] > 0, tally.shape[0] > 0
    parts = part.shape[1]
    for number in range(*numbers):
        bits = draw(key, np.uint64(number))
        u = np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)
        _gather(rows, parts, part, c, value, v, table, local)
        if rows == TWO:
            total, picks = _two(local, u, wanted, marginal, o)
        elif rows == THREE:
            total, picks = _three(local, u, wanted, marginal, o)
        else:
            total, picks = _four(local, u, uniform(bits, np.uint64(1)), wanted, marginal, o)
        if total < TINY:
            left[opened] = number - first
            opened += 1
        else:
            if counted:
                for pair in range(o, o + rows * rows):
                    drawn[pair] = 0
                for i in range(rows):
                    drawn[o + i * rows + (picks >> 2 * i & 3)] = 1
            if tallied:
                for i in range(rows):
                    of = np.uint64(value[v + (picks >> 2 * i & 3)])  # unsigned: no check for an index from the end
                    for a in range(parts):
                        tally[np.uint64(part[c + i, a]), of] += 1
        c += rows
        v += rows
        o += rows * rows
    return opened


@njit(cache=True, nogil=True, inline="always")
def _gather(rows, parts, part, c, value, v, table, local):
    """Fill `local` (rows, rows) with the weights of the entries from `c` and the values from `v` on."""
    for i in range(rows):
        first = np.uint64(part[c + i, 0])
        if parts == 1:
            for j in range(rows):
                local[i * rows + j] = table[first, np.uint64(value[v + j])]
        elif parts == 2:
            second = np.uint64(part[c + i, 1])
            for j in range(rows):
                of = np.uint64(value[v + j])
                local[i * rows + j] = table[first, of] * table[second, of]
        else:
            second, third = np.uint64(part[c + i, 1]), np.uint64(part[c + i, 2])
            for j in range(rows):
                of = np.uint64(value[v + j])
                local[i * rows + j] = table[first, of] * table[second, of] * table[third, of]
            for a in range(3, parts):
                more = np.uint64(part[c + i, a])
                for j in range(rows):
                    local[i * rows + j] *= table[more, np.uint64(value[v + j])]


@njit(cache=True, nogil=True, inline="always")
def _two(weight, u, wanted, out, o):
    """Sum over the 2 matchings, given `weight` (cells · values,), and the pick at `u`; chances into `out` from `o`."""
    same, crossed = weight[0] * weight[3], weight[1] * weight[2]
    total = same + crossed
    if wanted and total >= TINY:
        p, q = same / total, crossed / total
        out[o] = p
        out[o + 1] = q
        out[o + 2] = q
        out[o + 3] = p
    return total, (4 if u * total < same else 1)


@njit(cache=True, nogil=True, inline="always")
def _three(weight, u, wanted, out, o):
    """As `_two`, for 3 cells and 3 values."""
    a0, a1, a2 = weight[0], weight[1], weight[2]
    b0, b1, b2 = weight[3], weight[4], weight[5]
    c0, c1, c2 = weight[6], weight[7], weight[8]
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
    passed = np.int64(x >= s0) + np.int64(x >= s1) + np.int64(x >= s2) + np.int64(x >= s3) + np.int64(x >= s4)
    return total, _PICK3[np.uint64(passed)]


@njit(cache=True, nogil=True, inline="always")
def _four(weight, u, u2, wanted, out, o):
    """As `_two`, for 4 cells and 4 values: the first two cells' values, then a second number for the other two."""
    a0, a1, a2, a3 = weight[0], weight[1], weight[2], weight[3]
    b0, b1, b2, b3 = weight[4], weight[5], weight[6], weight[7]
    c0, c1, c2, c3 = weight[8], weight[9], weight[10], weight[11]
    d0, d1, d2, d3 = weight[12], weight[13], weight[14], weight[15]
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
    # As in `_three`; then the product that keeps the other two in order against both orders.
    passed = np.int64(x >= s0) + np.int64(x >= s1) + np.int64(x >= s2) + np.int64(x >= s3) + np.int64(x >= s4)
    passed += np.int64(x >= s5) + np.int64(x >= s6) + np.int64(x >= s7) + np.int64(x >= s8) + np.int64(x >= s9)
    passed += np.int64(x >= s10)
    picks = _PICK4[np.uint64(passed)]
    j2, j3 = np.uint64(picks >> 4 & 3), np.uint64(picks >> 6)
    third, fourth, one = np.uint64(8), np.uint64(12), np.uint64(3)
    kept = weight[third + j2] * weight[fourth + j3]
    both = kept + weight[third + j3] * weight[fourth + j2]
    crossed = np.int64(u2 * both >= kept)
    swap = np.int64((j2 ^ j3) & one) * crossed
    return total, picks ^ (swap << 4 | swap << 6)

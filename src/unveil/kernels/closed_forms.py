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

LANES = 32  # groups whose sums are taken side by side: the compiler makes vectors of them

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
    lanes = np.empty((16, LANES)), np.empty((16, LANES)), np.empty((3, LANES)), np.empty((2, LANES), np.int64)
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
        opened = _match_run(rows, (first + g, first + run), first, *names, table, lanes, key, left, opened, *out)
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
    rows, numbers, first, part, c, value, v, o, table, lanes, key, left, opened, marginal, drawn, tally,
):  # fmt: skip
    """Match consecutive groups of `rows` different cells and values; those below `TINY` are added to `left`."""
    # A loop for each size, with the size known to the compiler.
    if rows == TWO:
        return _run(TWO, numbers, first, part, c, value, v, o, table, lanes, key, left, opened, marginal, drawn, tally)
    if rows == THREE:
        return _run(
            THREE, numbers, first, part, c, value, v, o, table, lanes, key, left, opened, marginal, drawn, tally
        )
    return _run(FOUR, numbers, first, part, c, value, v, o, table, lanes, key, left, opened, marginal, drawn, tally)


@njit(cache=True, nogil=True, inline="always")
def _run(rows, numbers, first, part, c, value, v, o, table, lanes, key, left, opened, marginal, drawn, tally):
    wanted, counted, tallied = marginal.shape[0] > 0, drawn.shape[0] > 0, tally.shape[0] > 0
    parts = part.shape[1]
    weight, chance, number, whole = lanes
    for begin in range(numbers[0], numbers[1], LANES):
        width = min(LANES, numbers[1] - begin)
        for k in range(width):
            bits = draw(key, np.uint64(begin + k))
            number[0, k] = np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)
            if rows == FOUR:
                number[1, k] = uniform(bits, np.uint64(1))
            _gather(rows, parts, part, c + k * rows, value, v + k * rows, table, weight, k)
        chances = width if wanted else 0  # of how many lanes
        if rows == TWO:
            _two(weight, number, whole, width)
            _chances_two(weight, number, chance, chances)
        elif rows == THREE:
            _three(weight, number, whole, width)
            _chances_three(weight, number, chance, chances)
        else:
            _four(weight, number, whole, width)
            _chances_four(weight, number, chance, chances)
        for k in range(width):
            if number[2, k] < TINY:
                left[opened] = begin + k - first
                opened += 1
            else:
                picks = whole[0, k]
                if wanted:
                    for pair in range(rows * rows):
                        marginal[o + pair] = chance[pair, k]
                if counted:
                    for pair in range(o, o + rows * rows):
                        drawn[pair] = 0
                    for i in range(rows):
                        drawn[o + i * rows + (picks >> 2 * i & 3)] = 1
                if tallied:
                    _count(rows, parts, part, c, value, v, picks, tally)
            c += rows
            v += rows
            o += rows * rows
    return opened


@njit(cache=True, nogil=True, inline="always")
def _count(rows, parts, part, c, value, v, picks, tally):
    """Count the matched entries from `c` on in the rows of the table."""
    if parts == 3:  # known to the compiler
        for i in range(rows):
            of = np.uint64(value[v + (picks >> 2 * i & 3)])  # unsigned: no check for an index from the end
            tally[np.uint64(part[c + i, 0]), of] += 1
            tally[np.uint64(part[c + i, 1]), of] += 1
            tally[np.uint64(part[c + i, 2]), of] += 1
    else:
        for i in range(rows):
            of = np.uint64(value[v + (picks >> 2 * i & 3)])
            for a in range(parts):
                tally[np.uint64(part[c + i, a]), of] += 1


@njit(cache=True, nogil=True, inline="always")
def _gather(rows, parts, part, c, value, v, table, weight, k):
    """Fill lane `k` of `weight` (rows · rows, lanes) for the entries from `c` and the values from `v` on."""
    for i in range(rows):
        first = np.uint64(part[c + i, 0])
        if parts == 1:
            for j in range(rows):
                weight[i * rows + j, k] = table[first, np.uint64(value[v + j])]
        elif parts == 2:
            second = np.uint64(part[c + i, 1])
            for j in range(rows):
                of = np.uint64(value[v + j])
                weight[i * rows + j, k] = table[first, of] * table[second, of]
        else:
            second, third = np.uint64(part[c + i, 1]), np.uint64(part[c + i, 2])
            for j in range(rows):
                of = np.uint64(value[v + j])
                weight[i * rows + j, k] = table[first, of] * table[second, of] * table[third, of]
            for a in range(3, parts):
                more = np.uint64(part[c + i, a])
                for j in range(rows):
                    weight[i * rows + j, k] *= table[more, np.uint64(value[v + j])]


@njit(cache=True, nogil=True, inline="always")
def _matchings(weight, k):
    """The weights of the six matchings of three cells and three values in lane ``k``."""
    a0, a1, a2 = weight[0, k], weight[1, k], weight[2, k]
    b0, b1, b2 = weight[3, k], weight[4, k], weight[5, k]
    c0, c1, c2 = weight[6, k], weight[7, k], weight[8, k]
    return a0 * b1 * c2, a0 * b2 * c1, a1 * b0 * c2, a1 * b2 * c0, a2 * b0 * c1, a2 * b1 * c0


@njit(cache=True, nogil=True, inline="always")
def _row_of_four(weight, at, k):
    """The weights of a cell and four values in lane ``k``, from row ``at`` on."""
    return weight[at, k], weight[at + 1, k], weight[at + 2, k], weight[at + 3, k]


@njit(cache=True, nogil=True)
def _two(weight, number, whole, width):
    """Of each lane of `weight` (cells · values, lanes) the sum over the 2 matchings, and the one at a random number.

    `number`: random numbers, second ones, and the sums that are filled in; `whole[0]` gets the matchings as bits.
    """
    for k in range(width):
        same = weight[0, k] * weight[3, k]
        total = same + weight[1, k] * weight[2, k]
        number[2, k] = total
        whole[0, k] = 4 - 3 * np.int64(number[0, k] * total >= same)


@njit(cache=True, nogil=True)
def _chances_two(weight, number, out, width):
    """Fill `out` (cells · values, lanes) with the chance of each pair."""
    for k in range(width):
        r = 1.0 / max(number[2, k], TINY)
        p, q = weight[0, k] * weight[3, k] * r, weight[1, k] * weight[2, k] * r
        out[0, k] = p
        out[1, k] = q
        out[2, k] = q
        out[3, k] = p


@njit(cache=True, nogil=True)
def _three(weight, number, whole, width):
    """As `_two`, for 3 cells and 3 values."""
    for k in range(width):
        s0, x02, x10, x12, x20, x21 = _matchings(weight, k)
        s1 = s0 + x02
        s2 = s1 + x10
        s3 = s2 + x12
        s4 = s3 + x20
        total = s4 + x21
        number[2, k] = total
        x = number[0, k] * total
        # Sums of comparisons, since a branch on a random number is mispredicted half the time.
        passed = np.int64(x >= s0) + np.int64(x >= s1) + np.int64(x >= s2) + np.int64(x >= s3) + np.int64(x >= s4)
        whole[1, k] = passed
    for k in range(width):
        whole[0, k] = _PICK3[np.uint64(whole[1, k])]


@njit(cache=True, nogil=True)
def _chances_three(weight, number, out, width):
    """As `_chances_two`."""
    for k in range(width):
        x01, x02, x10, x12, x20, x21 = _matchings(weight, k)
        r = 1.0 / max(number[2, k], TINY)
        out[0, k] = (x01 + x02) * r
        out[1, k] = (x10 + x12) * r
        out[2, k] = (x20 + x21) * r
        out[3, k] = (x10 + x20) * r
        out[4, k] = (x01 + x21) * r
        out[5, k] = (x02 + x12) * r
        out[6, k] = (x12 + x21) * r
        out[7, k] = (x02 + x20) * r
        out[8, k] = (x01 + x10) * r


@njit(cache=True, nogil=True)
def _four(weight, number, whole, width):
    """As `_two`, for 4 cells and 4 values: the first two cells' values, then a second number for the other two."""
    for k in range(width):
        a0, a1, a2, a3 = _row_of_four(weight, 0, k)
        b0, b1, b2, b3 = _row_of_four(weight, 4, k)
        c0, c1, c2, c3 = _row_of_four(weight, 8, k)
        d0, d1, d2, d3 = _row_of_four(weight, 12, k)
        y01, y02, y03 = c0 * d1 + c1 * d0, c0 * d2 + c2 * d0, c0 * d3 + c3 * d0
        y12, y13, y23 = c1 * d2 + c2 * d1, c1 * d3 + c3 * d1, c2 * d3 + c3 * d2
        s0 = a0 * b1 * y23
        s1 = s0 + a0 * b2 * y13
        s2 = s1 + a0 * b3 * y12
        s3 = s2 + a1 * b0 * y23
        s4 = s3 + a1 * b2 * y03
        s5 = s4 + a1 * b3 * y02
        s6 = s5 + a2 * b0 * y13
        s7 = s6 + a2 * b1 * y03
        s8 = s7 + a2 * b3 * y01
        s9 = s8 + a3 * b0 * y12
        s10 = s9 + a3 * b1 * y02
        total = s10 + a3 * b2 * y01
        number[2, k] = total
        x = number[0, k] * total
        passed = np.int64(x >= s0) + np.int64(x >= s1) + np.int64(x >= s2) + np.int64(x >= s3) + np.int64(x >= s4)
        passed += np.int64(x >= s5) + np.int64(x >= s6) + np.int64(x >= s7) + np.int64(x >= s8) + np.int64(x >= s9)
        whole[1, k] = passed + np.int64(x >= s10)
    third, fourth, both = np.uint64(8), np.uint64(12), np.uint64(3)
    for k in range(width):
        picks = _PICK4[np.uint64(whole[1, k])]
        j2, j3 = np.uint64(picks >> 4 & 3), np.uint64(picks >> 6)
        kept = weight[third + j2, k] * weight[fourth + j3, k]  # of the other two in order, against both orders
        crossed = np.int64(number[1, k] * (kept + weight[third + j3, k] * weight[fourth + j2, k]) >= kept)
        swap = np.int64((j2 ^ j3) & both) * crossed
        whole[0, k] = picks ^ (swap << 4 | swap << 6)


@njit(cache=True, nogil=True, inline="always")
def _orders(a, b, r):
    """Of two cells: r times the weight of each two values, in both orders."""
    (a0, a1, a2, a3), (b0, b1, b2, b3) = a, b
    first = (a0 * b1 + a1 * b0) * r, (a0 * b2 + a2 * b0) * r, (a0 * b3 + a3 * b0) * r
    return first, ((a1 * b2 + a2 * b1) * r, (a1 * b3 + a3 * b1) * r, (a2 * b3 + a3 * b2) * r)


@njit(cache=True, nogil=True, inline="always")
def _chances_pair(out, at, k, a, b, others):
    """The chances of two of four cells, from row ``at`` on; ``others``: what `_orders` says of the other two."""
    (a0, a1, a2, a3), (b0, b1, b2, b3) = a, b
    (y01, y02, y03), (y12, y13, y23) = others
    out[at, k] = a0 * (b1 * y23 + b2 * y13 + b3 * y12)
    out[at + 1, k] = a1 * (b0 * y23 + b2 * y03 + b3 * y02)
    out[at + 2, k] = a2 * (b0 * y13 + b1 * y03 + b3 * y01)
    out[at + 3, k] = a3 * (b0 * y12 + b1 * y02 + b2 * y01)
    out[at + 4, k] = b0 * (a1 * y23 + a2 * y13 + a3 * y12)
    out[at + 5, k] = b1 * (a0 * y23 + a2 * y03 + a3 * y02)
    out[at + 6, k] = b2 * (a0 * y13 + a1 * y03 + a3 * y01)
    out[at + 7, k] = b3 * (a0 * y12 + a1 * y02 + a2 * y01)


@njit(cache=True, nogil=True)
def _chances_four(weight, number, out, width):
    """As `_chances_two`."""
    for k in range(width):
        a, b = _row_of_four(weight, 0, k), _row_of_four(weight, 4, k)
        c, d = _row_of_four(weight, 8, k), _row_of_four(weight, 12, k)
        r = 1.0 / max(number[2, k], TINY)
        _chances_pair(out, 0, k, a, b, _orders(c, d, r))
        _chances_pair(out, 8, k, c, d, _orders(a, b, r))

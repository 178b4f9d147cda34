"""Mondrian without one record, for every record: replay the decisions on the record's way down the tree.

A node is a slice of `order`. Its histogram is counted once; every record in it is taken out of it in turn and the
node's cut is decided again. A record whose cut stays goes on to its child; where the cut changes, only that node has
to be partitioned again. Decisions are those of kernels.mondrian and kernels.partition. Shared arguments:

codes     (rows, d) int32, in split order; axes, position, tables, extent as in kernels.mondrian
start     (d + 1,) int64: where each axis begins in a histogram of all codes
values    (rows, v) int32: sensitive codes the requirement asks about, numbered through; value_from (v + 1,) int64
rule      (3,) float64: rows, distinct values, and rows for each of the commonest value a child needs
mode      (d,) int8: what a group publishes on an axis
"""

import numpy as np
from numba import njit

from unveil.kernels.axes import LEVELS, MISSING, STRIDE, TABLE
from unveil.kernels.mondrian import ABSENT, CLASSES, ORDERED, next_axis, relative_width, shared_level

__all__ = ["CUT_NODE", "CUT_SPAN", "PRESENT", "TIGHT_NODE", "TIGHT_SPAN", "count_holding", "replay", "warm"]

TIGHT_SPAN = 0  # what the rows span
CUT_SPAN = 1  # where the cuts run
PRESENT = 2  # the values that occur
TIGHT_NODE = 3  # the lowest node of the hierarchy over what the rows span
CUT_NODE = 4  # the same over where the cuts run

ROWS, DISTINCT, TIMES = 0, 1, 2


@njit(cache=True, nogil=True)
def allows(count, value_from, size, rule):
    """Whether a child with these counts of sensitive values may come about."""
    if size < rule[ROWS]:
        return False
    for a in range(value_from.shape[0] - 1):
        distinct = 0
        most = 0
        for v in range(value_from[a], value_from[a + 1]):
            if count[v] > 0:
                distinct += 1
                most = max(most, count[v])
        if distinct < rule[DISTINCT] or (most > 0 and size / most < rule[TIMES]):
            return False
    return True


@njit(cache=True, nogil=True)
def add_values(side, histogram, joint, first, stop):
    """Set ``side`` to how often each value is had by the rows whose codes stand at ``first`` up to ``stop``."""
    side[:] = 0
    for at in range(first, stop):
        if histogram[at] > 0:
            for v in range(side.shape[0]):
                side[v] += joint[at, v]


@njit(cache=True, nogil=True)
def decide(
    histogram,
    joint,
    total,
    size,
    start,
    low,
    high,
    axes,
    position,
    tables,
    extent,
    value_from,
    rule,
    lower,
    width,
    side,
):
    """Axis, kind and place of a node's cut, (-1, 0, 0) if it has none; `low`, `high` (d,) span its codes."""
    d = low.shape[0]
    least = rule[ROWS]
    if size < 2 * least:
        return -1, 0, 0
    for j in range(d):
        width[j] = relative_width(axes, position, tables, extent, j, low[j], high[j])
    judged = value_from.shape[0] > 1
    j = next_axis(width, -1)
    while j >= 0:
        at = start[j]
        a, b = low[j], high[j]
        if b == axes[j, MISSING]:
            rows = histogram[at + b]
            if rows >= least and size - rows >= least:
                good = True
                if judged:
                    for v in range(side.shape[0]):
                        side[v] = joint[at + b, v]
                    good = allows(side, value_from, rows, rule)
                    for v in range(side.shape[0]):
                        side[v] = total[v] - side[v]
                    good = good and allows(side, value_from, size - rows, rule)
                if good:
                    return j, ABSENT, b - 1
        elif axes[j, LEVELS] > 0:
            level = shared_level(axes, tables, j, a, b) + 1
            row = axes[j, TABLE] + level * axes[j, STRIDE]
            good = True
            code = a
            while code <= b and good:
                last = min(tables[2, row + code], b)
                rows = 0
                for c in range(code, last + 1):
                    rows += histogram[at + c]
                if rows > 0:
                    good = rows >= least
                    if good and judged:
                        add_values(side, histogram, joint, at + code, at + last + 1)
                        good = allows(side, value_from, rows, rule)
                code = last + 1
            if good:
                return j, CLASSES, level
        else:
            wanted = size // 2 if lower else (size + 1) // 2
            middle = a
            upto = histogram[at + a]
            while upto < wanted:
                middle += 1
                upto += histogram[at + middle]
            below = upto - histogram[at + middle]
            under_first = not lower and abs(2 * below - size) < abs(2 * upto - size)
            for choice in range(1 if lower else 2):
                under = under_first == (choice == 0)
                left = below if under else upto
                if left < least or size - left < least:
                    continue
                cut = middle - 1 if under else middle
                good = True
                if judged:
                    add_values(side, histogram, joint, at + a, at + cut + 1)
                    good = allows(side, value_from, left, rule)
                    if good:
                        for v in range(side.shape[0]):
                            side[v] = total[v] - side[v]
                        good = allows(side, value_from, size - left, rule)
                if good:
                    return j, ORDERED, cut
        j = next_axis(width, j)
    return -1, 0, 0


@njit(cache=True, nogil=True)
def holds(axes, tables, j, mode, code, low, high, cut_low, cut_high, missing):
    """Whether a group's cell on axis `j` holds a code; `low`, `high` span its known codes, or are the missing one."""
    if missing:
        return True if low != axes[j, MISSING] else code == axes[j, MISSING]
    first, last = low, high
    if mode in (CUT_SPAN, CUT_NODE):
        first, last = cut_low, cut_high
    if mode in (TIGHT_NODE, CUT_NODE):
        level = shared_level(axes, tables, j, first, last)
        if level == 0:  # the root, and it alone, holds the missing code too
            return True
        at = axes[j, TABLE] + level * axes[j, STRIDE] + first
        first, last = tables[1, at], tables[2, at]
    return first <= code <= last


@njit(cache=True, nogil=True)
def remove(histogram, joint, total, start, codes, values, i, sign):
    """Take record `i` out of a histogram (sign -1), or put it back (1)."""
    for j in range(codes.shape[1]):
        histogram[start[j] + codes[i, j]] += sign
        for a in range(values.shape[1]):
            joint[start[j] + codes[i, j], values[i, a]] += sign
    for a in range(values.shape[1]):
        total[values[i, a]] += sign


@njit(cache=True, nogil=True)
def replay(
    codes, values, value_from, asked, asked_codes, leader, axes, position, tables, extent, start, rule, lower, mode,
    order, each, joined, changed,
):  # fmt: skip
    """Follow every `leader` (rows,) bool down the tree.

    One whose cuts all stay: `each` (rows, d, asked codes) gets what its leaving changes in the counts of rows whose
    cell holds its code, and `joined` (rows, asked codes) of those all of whose cells do. Any other: `changed` (rows, 2)
    gets the slice of `order` to cut again. Where the cuts above bound a node is not asked: its records lie inside.
    """
    rows, d = codes.shape
    many = start[d]
    histogram = np.zeros(many, np.int64)
    joint = np.zeros((many, value_from[-1]), np.int64)
    total = np.zeros(value_from[-1], np.int64)
    side = np.zeros(value_from[-1], np.int64)
    width = np.empty(d, np.float64)
    asked_count = np.zeros(asked_codes, np.int64)
    low, high = np.empty(d, np.int64), np.empty(d, np.int64)
    less, more = np.empty(d, np.int64), np.empty(d, np.int64)
    moved = np.empty(rows, order.dtype)
    following = leader.copy()
    stack_from, stack_to = np.empty(rows + 1, np.int64), np.empty(rows + 1, np.int64)
    stack_from[0], stack_to[0] = 0, rows
    top = 1
    while top > 0:
        top -= 1
        begin, end = stack_from[top], stack_to[top]
        for j in range(d):
            low[j] = start[j + 1] - start[j]
            high[j] = -1
        asked_count[:] = 0
        for r in range(begin, end):
            i = order[r]
            remove(histogram, joint, total, start, codes, values, i, 1)
            asked_count[asked[i]] += 1
            for j in range(d):
                low[j] = min(low[j], codes[i, j])
                high[j] = max(high[j], codes[i, j])
        size = end - begin
        axis, kind, cut = decide(
            histogram, joint, total, size, start, low, high, axes, position, tables, extent, value_from, rule, lower,
            width, side,
        )  # fmt: skip
        for r in range(begin, end):
            i = order[r]
            if not following[i]:
                continue
            if size == 1:  # nobody is left: the group is gone
                for j in range(d):
                    each[i, j, asked[i]] -= 1
                joined[i, asked[i]] -= 1
                following[i] = False
                continue
            remove(histogram, joint, total, start, codes, values, i, -1)
            for j in range(d):
                less[j], more[j] = low[j], high[j]
                while histogram[start[j] + less[j]] == 0:
                    less[j] += 1
                while histogram[start[j] + more[j]] == 0:
                    more[j] -= 1
            other, other_kind, other_cut = decide(
                histogram, joint, total, size - 1, start, less, more, axes, position, tables, extent, value_from, rule,
                lower, width, side,
            )  # fmt: skip
            if other != axis or (axis >= 0 and (other_kind != kind or other_cut != cut)):
                following[i] = False
                changed[i, 0] = begin
                changed[i, 1] = end
            elif axis < 0:
                following[i] = False
                all_hold = True
                for j in range(d):
                    missing = more[j] == axes[j, MISSING]
                    if mode[j] == PRESENT:
                        kept = histogram[start[j] + codes[i, j]] > 0
                    else:  # of known and missing values together all of the domain is published
                        kept = holds(
                            axes, tables, j, mode[j], codes[i, j], less[j], more[j], 0, axes[j, STRIDE] - 1, missing
                        )
                    all_hold = all_hold and kept
                    if kept:
                        each[i, j, asked[i]] -= 1
                    else:
                        for v in range(asked_codes):
                            each[i, j, v] -= asked_count[v]
                if all_hold:
                    joined[i, asked[i]] -= 1
                else:
                    for v in range(asked_codes):
                        joined[i, v] -= asked_count[v]
            remove(histogram, joint, total, start, codes, values, i, 1)
        for r in range(begin, end):
            remove(histogram, joint, total, start, codes, values, order[r], -1)
        if axis < 0:
            continue
        alive = False
        for r in range(begin, end):
            alive = alive or following[order[r]]
        if not alive:
            continue
        at = begin
        first = low[axis]
        while at < end:  # the children, one after the other
            if kind == CLASSES:
                row = axes[axis, TABLE] + cut * axes[axis, STRIDE]
                last = tables[2, row + first]
            else:
                last = cut if first <= cut else high[axis]
            mine = at
            later = 0
            for r in range(at, end):
                i = order[r]
                if codes[i, axis] <= last:
                    order[mine] = i
                    mine += 1
                else:
                    moved[later] = i
                    later += 1
            for r in range(later):
                order[mine + r] = moved[r]
            if mine > at:
                stack_from[top], stack_to[top] = at, mine
                top += 1
            at = mine
            first = last + 1


@njit(cache=True, nogil=True)
def count_holding(
    codes, asked, rows, table_from, group, low, high, cut_low, cut_high, missing, axes, tables, mode, target, sign,
    seen, each, joined,
):  # fmt: skip
    """Add to each target's counts those of the rows of its table whose cells hold its codes.

    Table t is rows[table_from[t] : table_from[t + 1]], in groups `group` with their bounds as in kernels.partition;
    target (tables,) its record, which gets `sign` times the counts. `seen` (groups, d) bool is scratch, all False.
    """
    d = codes.shape[1]
    kept = np.empty(d, np.bool_)
    for t in range(target.shape[0]):
        i = target[t]
        for r in range(table_from[t], table_from[t + 1]):
            for j in range(d):
                if mode[j] == PRESENT and codes[rows[r], j] == codes[i, j]:
                    seen[group[r], j] = True
        for r in range(table_from[t], table_from[t + 1]):
            g = group[r]
            value = asked[rows[r]]
            all_hold = True
            for j in range(d):
                if mode[j] == PRESENT:
                    kept[j] = seen[g, j]
                else:
                    kept[j] = holds(
                        axes, tables, j, mode[j], codes[i, j], low[g, j], high[g, j], cut_low[g, j], cut_high[g, j],
                        missing[g, j],
                    )  # fmt: skip
                if kept[j]:
                    each[i, j, value] += sign
                all_hold = all_hold and kept[j]
            if all_hold:
                joined[i, value] += sign
        for r in range(table_from[t], table_from[t + 1]):
            for j in range(d):
                seen[group[r], j] = False


def warm() -> None:
    """Compile every kernel here, or load it from the cache."""
    codes = np.array([[0], [0], [1], [1]], np.int32)
    asked = np.array([0, 1, 0, 1], np.int32)
    axes = np.array([[0, 0, 1, -1, 0, 0, -1, 2]], np.int64)
    tables = np.zeros((3, 0), np.int32)
    mode, rows = np.zeros(1, np.int8), np.arange(4, dtype=np.int32)
    each, joined = np.zeros((4, 1, 2), np.int64), np.zeros((4, 2), np.int64)
    box = np.zeros((4, 1), np.int32)
    replay(
        codes, asked[:, None], np.array([0, 2]), asked, 2, np.ones(4, np.bool_), axes, np.arange(2.0), tables,
        np.ones(1), np.array([0, 2]), np.ones(3), False, mode, rows, each, joined, np.zeros((4, 2), np.int64),
    )  # fmt: skip
    count_holding(
        codes, asked, rows, np.array([0, 4]), np.zeros(4, np.int32), box, box, box, box, np.zeros((1, 1), np.bool_),
        axes, tables, mode, np.zeros(1, np.int64), 1, np.zeros((1, 1), np.bool_), each, joined,
    )  # fmt: skip

"""Kernels of Mondrian (LeFevre et al. 2006): the ranges and the next cuts of all pending nodes at once.

A node is a slice [start, stop) of the packed records (words, records) uint64. A record is a row, or a cell that stands
for several rows. Every kernel loops over nodes; none knows a privacy model. Shared arguments:

packed    (words, records) uint64
axes      (d, 8) int64, one row an axis: word, shift, mask of its field, then the columns named in kernels.axes
position  float64, all axes' positions end to end
tables    (3, entries) int32: of each hierarchy level and code, the code's class and the class's first and last code
weight    (3,) int64: the field of the rows a record stands for, less one (no bits: every record is one row)
"""

from __future__ import annotations

import numpy as np
from numba import njit

from unveil.kernels.axes import LEVELS, MISSING, POSITION, STRIDE, TABLE
from unveil.kernels.cells import MASK, SHIFT, WORD

__all__ = ["highest_known", "measure", "propose"]

# What a proposed cut is. In all but CLASSES the codes below ``cut`` and the first ``ties`` records at it go left.
ORDERED = 0  # codes up to ``cut`` | the others; has a second choice
ABSENT = 1  # known | missing
HALVES = 2  # relaxed, at the median
CLASSES = 3  # one child for each class of hierarchy level ``cut`` that has records

ALL_TIES = np.iinfo(np.int32).max

_BLOCK = 2048  # records whose ranges are taken axis by axis while they are in the cache
_BUCKETS = 256


@njit(cache=True, nogil=True)
def measure(packed, axes, start, stop, low, high):
    """Tighten ``low`` and ``high`` (nodes, d) int32 to each node's codes; an axis with low == high is left alone."""
    d = axes.shape[0]
    least = np.empty(d, np.int64)
    most = np.empty(d, np.int64)
    for i in range(start.shape[0]):
        for j in range(d):
            least[j] = axes[j, MASK]
            most[j] = 0
        for begin in range(start[i], stop[i], _BLOCK):
            end = min(begin + _BLOCK, stop[i])
            for j in range(d):
                if low[i, j] == high[i, j]:
                    continue
                words = packed[axes[j, WORD], begin:end]
                shift = np.uint64(axes[j, SHIFT])
                mask = np.uint64(axes[j, MASK])
                a = least[j]
                b = most[j]
                for r in range(words.shape[0]):
                    code = np.int64((words[r] >> shift) & mask)
                    a = min(a, code)
                    b = max(b, code)
                least[j] = a
                most[j] = b
        for j in range(d):
            if low[i, j] != high[i, j]:
                low[i, j] = least[j]
                high[i, j] = most[j]


@njit(cache=True, nogil=True)
def highest_known(packed, axes, start, stop, low, high):
    """Lower ``high`` (nodes, d) from the missing code to the highest known one, in nodes that have both."""
    for i in range(start.shape[0]):
        for j in range(axes.shape[0]):
            missing = axes[j, MISSING]
            if missing < 0 or high[i, j] != missing or low[i, j] == missing:
                continue
            words = packed[axes[j, WORD], start[i] : stop[i]]
            shift = np.uint64(axes[j, SHIFT])
            mask = np.uint64(axes[j, MASK])
            most = np.int64(0)
            for r in range(words.shape[0]):
                code = np.int64((words[r] >> shift) & mask)
                if code != missing:
                    most = max(most, code)
            high[i, j] = most


@njit(cache=True, nogil=True)
def shared_level(axes, tables, j, low, high):
    """The finest level of axis ``j``'s hierarchy at which two codes are in one class: their lowest common ancestor."""
    level = axes[j, LEVELS] - 1
    at = axes[j, TABLE] + level * axes[j, STRIDE]
    while tables[0, at + low] != tables[0, at + high]:
        level -= 1
        at -= axes[j, STRIDE]
    return level


@njit(cache=True, nogil=True)
def relative_width(axes, position, tables, extent, j, low, high):
    """Width of codes low to high on axis ``j``, 1 being the whole axis; -1 if there is nothing to cut."""
    if low == high:
        return -1.0
    if high == axes[j, MISSING]:
        return 1.0
    if axes[j, LEVELS] > 0:
        at = axes[j, TABLE] + shared_level(axes, tables, j, low, high) * axes[j, STRIDE] + low
        return (tables[2, at] - tables[1, at] + 1) / axes[j, STRIDE]
    if extent[j] <= 0.0:
        return 0.0
    return (position[axes[j, POSITION] + high] - position[axes[j, POSITION] + low]) / extent[j]


@njit(cache=True, nogil=True)
def next_axis(width, last):
    """The widest axis after ``last`` in descending width, of equal ones the earliest; -1 if there is none."""
    best = -1
    for j in range(width.shape[0]):
        if width[j] < 0.0 or (best >= 0 and width[j] <= width[best]):
            continue
        if last < 0 or width[j] < width[last] or (width[j] == width[last] and j > last):
            best = j
    return best


@njit(cache=True, nogil=True)
def median(words, shift, mask, heavy, heavy_shift, heavy_mask, low, high, half, count):
    """The least code that ``half`` rows do not exceed, the rows up to it, and the rows below it.

    One count a code where the codes are few beside the records; else the range is narrowed 256-fold a pass.
    """
    span = high - low + 1
    base = low
    step = np.int64(0)
    if span > count.shape[0] or span > 4 * words.shape[0] + _BUCKETS:
        while (span - 1) >> step >= _BUCKETS:
            step += 1
    below = np.int64(0)
    while True:
        used = ((span - 1) >> step) + 1
        for v in range(used):
            count[v] = 0
        for r in range(words.shape[0]):
            code = np.int64((words[r] >> shift) & mask) - base
            if 0 <= code < span:
                count[code >> step] += np.int64((heavy[r] >> heavy_shift) & heavy_mask) + 1
        at = 0
        upto = below + count[0]
        while upto < half:
            at += 1
            upto += count[at]
        below = upto - count[at]
        base += at << step
        if step == 0:
            return base, upto, below
        span = np.int64(1) << step
        step -= min(step, 8)


@njit(cache=True, nogil=True)
def propose(
    packed, axes, position, tables, extent, weight, smallest, relaxed, lower,
    start, stop, size, low, high, count, axis, kind, second, cut, ties, child_from, children, child_size,
):  # fmt: skip
    """For each node the next cut, after the one in ``axis``, whose children all have ``smallest`` rows.

    Axes come in descending width. ``axis`` (nodes,) is -1 at first, and again when no cut is left; ``kind``, ``second``
    (whether the cut was the last choice on its axis), ``cut`` and ``ties`` describe the cut; its children's rows are
    ``child_size[child_from : child_from + children]``. ``lower``: the codes that reach floor(n/2) rows go left, or
    the axis is not cut. ``count`` is scratch.
    """
    d = axes.shape[0]
    width = np.empty(d, np.float64)
    heavy_shift = np.uint64(weight[SHIFT])
    heavy_mask = np.uint64(weight[MASK])
    used = 0
    for i in range(start.shape[0]):
        for j in range(d):
            width[j] = relative_width(axes, position, tables, extent, j, low[i, j], high[i, j])
        total = size[i]
        heavy = packed[weight[WORD], start[i] : stop[i]]
        j = axis[i]
        again = j >= 0 and kind[i] == ORDERED and not second[i]
        found = 0
        while found == 0:
            if not again:
                j = next_axis(width, j)
            if j < 0:
                break
            words = packed[axes[j, WORD], start[i] : stop[i]]
            shift = np.uint64(axes[j, SHIFT])
            mask = np.uint64(axes[j, MASK])
            a = np.int64(low[i, j])
            b = np.int64(high[i, j])
            if b == axes[j, MISSING]:
                rows = np.int64(0)
                for r in range(words.shape[0]):
                    if np.int64((words[r] >> shift) & mask) == b:
                        rows += np.int64((heavy[r] >> heavy_shift) & heavy_mask) + 1
                if rows >= smallest and total - rows >= smallest:
                    kind[i] = ABSENT
                    cut[i] = b - 1
                    ties[i] = ALL_TIES
                    child_size[used] = total - rows
                    child_size[used + 1] = rows
                    found = 2
            elif axes[j, LEVELS] > 0:
                level = shared_level(axes, tables, j, a, b) + 1
                at = axes[j, TABLE] + level * axes[j, STRIDE]
                first = tables[0, at + a]
                span = tables[0, at + b] - first + 1
                for c in range(span):
                    count[c] = 0
                for r in range(words.shape[0]):
                    c = tables[0, at + np.int64((words[r] >> shift) & mask)] - first
                    count[c] += np.int64((heavy[r] >> heavy_shift) & heavy_mask) + 1
                least = total
                for c in range(span):
                    if count[c] > 0:
                        least = min(least, count[c])
                        found += 1
                if least >= smallest:
                    kind[i] = CLASSES
                    cut[i] = level
                    found = 0
                    for c in range(span):
                        if count[c] > 0:
                            child_size[used + found] = count[c]
                            found += 1
                else:
                    found = 0
            else:
                half = total // 2 if lower else (total + 1) // 2
                middle, upto, below = median(words, shift, mask, heavy, heavy_shift, heavy_mask, a, b, half, count)
                if relaxed:
                    if total // 2 >= smallest:
                        kind[i] = HALVES
                        cut[i] = middle
                        ties[i] = total // 2 - below
                        child_size[used] = total // 2
                        child_size[used + 1] = total - total // 2
                        found = 2
                else:
                    under_first = not lower and abs(2 * below - total) < abs(2 * upto - total)
                    for choice in range(1 if lower else 2):
                        if choice == 0 and again:
                            continue
                        under = under_first == (choice == 0)
                        left = below if under else upto
                        if left >= smallest and total - left >= smallest:
                            kind[i] = ORDERED
                            second[i] = lower or choice == 1
                            cut[i] = middle - 1 if under else middle
                            ties[i] = ALL_TIES
                            child_size[used] = left
                            child_size[used + 1] = total - left
                            found = 2
                            break
            again = False
        axis[i] = j
        child_from[i] = used
        children[i] = found
        used += found
    return used

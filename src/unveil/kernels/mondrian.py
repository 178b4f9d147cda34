"""Kernels of Mondrian (LeFevre et al. 2006): ranges, cuts, histograms and splits of all pending nodes at once.

A node is a slice [start, stop) of the packed records (words, records) uint64. A record is a row, or a cell that stands
for several rows. Every kernel loops over nodes; none knows a privacy model. Shared arguments:

packed    (words, records) uint64
axes      (d, 8) int64, one row an axis: word, shift, mask of its field, then the columns named below
position  float64, all axes' positions end to end
tables    (3, entries) int32: of each hierarchy level and code, the code's class and the class's first and last code
weight    (3,) int64: the field of the rows a record stands for, less one (no bits: every record is one row)
"""

from __future__ import annotations

import numpy as np
from numba import njit

from unveil.kernels.cells import MASK, SHIFT, WORD

__all__ = [
    "assign",
    "count_children",
    "count_nodes",
    "cut_bounds",
    "highest_known",
    "measure",
    "pair_supersets",
    "propose",
    "split",
]

MISSING = 3  # code of missing values, -1 if the axis has none
POSITION = 4  # where the axis begins in ``position``
LEVELS = 5  # levels of its hierarchy, the root and the single codes included; 0: ordered cuts
TABLE = 6  # where its hierarchy begins in ``tables``
STRIDE = 7  # known codes: those of a level in ``tables``
AXIS_COLUMNS = 8

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
def median(words, shift, mask, heavy, heavy_shift, heavy_mask, low, high, size, count):
    """The least code that half of the rows do not exceed, the rows up to it, and the rows below it.

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
        while 2 * upto < size:
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
    packed, axes, position, tables, extent, weight, smallest, relaxed,
    start, stop, size, low, high, count, axis, kind, second, cut, ties, child_from, children, child_size,
):  # fmt: skip
    """For each node the next cut, after the one in ``axis``, whose children all have ``smallest`` rows.

    Axes come in descending width. ``axis`` (nodes,) is -1 at first, and again when no cut is left; ``kind``, ``second``
    (whether the cut was the second choice on its axis), ``cut`` and ``ties`` describe the cut; its children's rows are
    ``child_size[child_from : child_from + children]``. ``count`` is scratch.
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
                middle, upto, below = median(words, shift, mask, heavy, heavy_shift, heavy_mask, a, b, total, count)
                if relaxed:
                    if total // 2 >= smallest:
                        kind[i] = HALVES
                        cut[i] = middle
                        ties[i] = total // 2 - below
                        child_size[used] = total // 2
                        child_size[used + 1] = total - total // 2
                        found = 2
                else:
                    under_first = abs(2 * below - total) < abs(2 * upto - total)
                    for choice in range(2):
                        if choice == 0 and again:
                            continue
                        under = under_first == (choice == 0)
                        left = below if under else upto
                        if left >= smallest and total - left >= smallest:
                            kind[i] = ORDERED
                            second[i] = choice == 1
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


@njit(cache=True, nogil=True)
def sort_classes(words, shift, mask, classes, low, high, slot, child):
    """Write to ``child`` which child each record of a node goes to, when each class of a level that has records is one.

    ``classes`` (codes,) is the level. Returns the number of children, with the records of each in ``slot``.
    """
    first = classes[low]
    span = classes[high] - first + 1
    for c in range(span):
        slot[c] = 0
    for r in range(words.shape[0]):
        c = classes[np.int64((words[r] >> shift) & mask)] - first
        child[r] = c
        slot[c] = 1
    found = 0
    for c in range(span):
        if slot[c] > 0:
            slot[c] = found
            found += 1
    for r in range(words.shape[0]):
        child[r] = slot[child[r]]
    for c in range(found):
        slot[c] = 0
    for r in range(words.shape[0]):
        slot[child[r]] += 1
    return found


@njit(cache=True, nogil=True)
def level_classes(axes, tables, j, level):
    """The class of each code of axis ``j`` at a level of its hierarchy."""
    at = axes[j, TABLE] + level * axes[j, STRIDE]
    return tables[0, at : at + axes[j, STRIDE]]


@njit(cache=True, nogil=True)
def count_children(
    packed, axes, tables, weight, field, nodes, start, stop, low, high, axis, kind, cut, ties, row_from, slot, child,
    out,
):  # fmt: skip
    """Histograms of the field's values in the proposed children of ``nodes``, from row ``row_from`` of ``out`` on."""
    value_shift = np.uint64(field[SHIFT])
    value_mask = np.uint64(field[MASK])
    heavy_shift = np.uint64(weight[SHIFT])
    heavy_mask = np.uint64(weight[MASK])
    for n in range(nodes.shape[0]):
        i = nodes[n]
        j = axis[i]
        first = row_from[n]
        words = packed[axes[j, WORD], start[i] : stop[i]]
        shift = np.uint64(axes[j, SHIFT])
        mask = np.uint64(axes[j, MASK])
        values = packed[field[WORD], start[i] : stop[i]]
        heavy = packed[weight[WORD], start[i] : stop[i]]
        if kind[i] == CLASSES:
            classes = level_classes(axes, tables, j, cut[i])
            sort_classes(words, shift, mask, classes, low[i, j], high[i, j], slot, child)
            for r in range(values.shape[0]):
                value = np.int64((values[r] >> value_shift) & value_mask)
                out[first + child[r], value] += np.int64((heavy[r] >> heavy_shift) & heavy_mask) + 1
            continue
        middle = cut[i]
        most = ties[i]
        seen = np.int64(0)
        for r in range(values.shape[0]):
            code = np.int64((words[r] >> shift) & mask)
            side = np.int64(code > middle) + np.int64(code == middle) * np.int64(seen >= most)
            seen += np.int64(code == middle)
            value = np.int64((values[r] >> value_shift) & value_mask)
            out[first + side, value] += np.int64((heavy[r] >> heavy_shift) & heavy_mask) + 1


@njit(cache=True, nogil=True)
def count_nodes(packed, weight, field, start, stop, out):
    """Add the histogram of the field's values in each node to its row of ``out``."""
    value_shift = np.uint64(field[SHIFT])
    value_mask = np.uint64(field[MASK])
    heavy_shift = np.uint64(weight[SHIFT])
    heavy_mask = np.uint64(weight[MASK])
    for i in range(start.shape[0]):
        values = packed[field[WORD], start[i] : stop[i]]
        heavy = packed[weight[WORD], start[i] : stop[i]]
        for r in range(values.shape[0]):
            value = np.int64((values[r] >> value_shift) & value_mask)
            out[i, value] += np.int64((heavy[r] >> heavy_shift) & heavy_mask) + 1


@njit(cache=True, nogil=True)
def part(words, codes, shift, mask, cut, ties, moved):
    """Bring the words of a node's left records to its front, in order; returns how many they are."""
    left = np.int64(0)
    right = np.int64(0)
    seen = np.int64(0)
    for r in range(words.shape[0]):
        code = np.int64((codes[r] >> shift) & mask)
        side = np.int64(code > cut) + np.int64(code == cut) * np.int64(seen >= ties)
        seen += np.int64(code == cut)
        # Both are written without a branch: what lies at ``left`` has been read before.
        word = words[r]
        words[left] = word
        moved[right] = word
        left += 1 - side
        right += side
    rest = words[left:]
    for r in range(rest.shape[0]):
        rest[r] = moved[r]
    return left


@njit(cache=True, nogil=True)
def split(
    packed, axes, tables, nodes, start, stop, low, high, axis, kind, cut, ties, row_from, slot, child, moved,
    child_start, child_stop, child_low, child_high,
):  # fmt: skip
    """Cut ``nodes``: order their records child by child, keeping the order within a child.

    From row ``row_from`` on the children's slices are written, and where the cut bounds them on its axis: the lowest
    and highest code that could lie there, -1 where the node's bound stands. ``slot``, ``child``, ``moved`` are scratch.
    """
    for n in range(nodes.shape[0]):
        i = nodes[n]
        j = axis[i]
        begin = start[i]
        first = row_from[n]
        codes = packed[axes[j, WORD], begin : stop[i]]
        shift = np.uint64(axes[j, SHIFT])
        mask = np.uint64(axes[j, MASK])
        if kind[i] == CLASSES:
            classes = level_classes(axes, tables, j, cut[i])
            found = sort_classes(codes, shift, mask, classes, low[i, j], high[i, j], slot, child)
            at = begin
            for c in range(found):
                child_start[first + c] = at
                at += slot[c]
                child_stop[first + c] = at
            for w in range(packed.shape[0]):
                words = packed[w, begin : stop[i]]
                for c in range(found):
                    slot[c] = child_start[first + c] - begin
                for r in range(words.shape[0]):
                    moved[slot[child[r]]] = words[r]
                    slot[child[r]] += 1
                for r in range(words.shape[0]):
                    words[r] = moved[r]
        else:
            found = 2
            for w in range(packed.shape[0]):
                if w != axes[j, WORD]:  # the word that decides comes last
                    part(packed[w, begin : stop[i]], codes, shift, mask, cut[i], ties[i], moved)
            left = part(codes, codes, shift, mask, cut[i], ties[i], moved)
            child_start[first] = begin
            child_stop[first] = begin + left
            child_start[first + 1] = begin + left
            child_stop[first + 1] = stop[i]
        bound_children(
            packed, axes, tables, j, kind[i], cut[i], ties[i], first, found, child_start, child_stop,
            child_low, child_high,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def bound_children(
    packed, axes, tables, j, kind, cut, ties, first, found, child_start, child_stop, child_low, child_high
):
    """Bounds that a cut on axis ``j`` gives the children in rows ``first`` to ``first + found``."""
    shift = np.uint64(axes[j, SHIFT])
    mask = np.uint64(axes[j, MASK])
    for c in range(first, first + found):
        child_low[c] = -1
        child_high[c] = -1
    if kind == CLASSES:
        at = axes[j, TABLE] + cut * axes[j, STRIDE]
        for c in range(first, first + found):
            code = np.int64((packed[axes[j, WORD], child_start[c]] >> shift) & mask)
            child_low[c] = tables[1, at + code]
            child_high[c] = tables[2, at + code]
    elif kind == ABSENT:
        child_low[first + 1] = axes[j, MISSING]
        child_high[first + 1] = axes[j, MISSING]
    elif kind == ORDERED:
        child_high[first] = cut
        child_low[first + 1] = cut + 1
    else:
        child_high[first] = cut if ties > 0 else cut - 1
        child_low[first + 1] = cut + 1
        words = packed[axes[j, WORD], child_start[first + 1] : child_stop[first + 1]]
        for r in range(words.shape[0]):
            if np.int64((words[r] >> shift) & mask) == cut:
                child_low[first + 1] = cut
                break


@njit(cache=True, nogil=True)
def pair_supersets(node, size, nearest, parent, enough, pair_child, pair_ancestor):
    """Pair each child that has fewer than ``enough`` rows with its node's chain of ancestors; returns the pairs.

    ``nearest`` (nodes,) is the first ancestor of the chain, ``parent`` (ancestors,) the next one, -1 the end.
    """
    pairs = 0
    for c in range(node.shape[0]):
        if size[c] >= enough:
            continue
        ancestor = nearest[node[c]]
        while ancestor >= 0:
            pair_child[pairs] = c
            pair_ancestor[pairs] = ancestor
            pairs += 1
            ancestor = parent[ancestor]
    return pairs


@njit(cache=True, nogil=True)
def cut_bounds(axes, leaf, tight_low, parent, axis, bound_low, bound_high, low, high):
    """Write the last bounds on each leaf's way from the root to ``low`` and ``high`` (leaves, d).

    An axis that was never cut keeps all known codes, or the missing one if no other is there (see ``tight_low``).
    """
    for i in range(leaf.shape[0]):
        for j in range(axes.shape[0]):
            low[i, j] = -1
            high[i, j] = -1
        node = leaf[i]
        while node > 0:
            j = axis[node]
            if low[i, j] < 0:
                low[i, j] = bound_low[node]
            if high[i, j] < 0:
                high[i, j] = bound_high[node]
            node = parent[node]
        for j in range(axes.shape[0]):
            if tight_low[i, j] == axes[j, MISSING]:
                low[i, j] = axes[j, MISSING]
                high[i, j] = axes[j, MISSING]
            if low[i, j] < 0:
                low[i, j] = 0
            if high[i, j] < 0:
                high[i, j] = axes[j, STRIDE] - 1


@njit(cache=True, nogil=True)
def assign(packed, index, start, stop, group):
    """Write each slice's number into ``group`` (rows,) at the rows its records came from (field ``index``)."""
    shift = np.uint64(index[SHIFT])
    mask = np.uint64(index[MASK])
    for g in range(start.shape[0]):
        words = packed[index[WORD], start[g] : stop[g]]
        for r in range(words.shape[0]):
            group[(words[r] >> shift) & mask] = g

"""Kernels of Mondrian that carry cuts out: histograms of the children, splits, and the groups' bounds at the end.

Nodes and shared arguments are those of kernels.mondrian.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from unveil.kernels.axes import MISSING, STRIDE, TABLE
from unveil.kernels.cells import MASK, SHIFT, WORD
from unveil.kernels.mondrian import ABSENT, CLASSES, ORDERED

__all__ = ["assign", "count_children", "cut_bounds", "list_children", "split"]


@njit(cache=True, nogil=True)
def sort_classes(axes, tables, j, level, words, shift, mask, low, high, slot, child):
    """Write to ``child`` which child each record of a node goes to, when each class of a level that has records is one.

    ``words`` hold the codes of axis ``j``. Returns the number of children, with the records of each in ``slot``.
    """
    at = axes[j, TABLE] + level * axes[j, STRIDE]
    classes = tables[0, at : at + axes[j, STRIDE]]
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
def node_words(packed, axes, field, i, j, start, stop):
    """The words, shift and mask of a node's codes on axis ``j``, and the words that hold a field."""
    words = packed[axes[j, WORD], start[i] : stop[i]]
    return words, np.uint64(axes[j, SHIFT]), np.uint64(axes[j, MASK]), packed[field[WORD], start[i] : stop[i]]


@njit(cache=True, nogil=True)
def count_children(
    packed, axes, tables, weight, field, nodes, start, stop, low, high, axis, kind, cut, ties, row_from, slot, child,
    out,
):  # fmt: skip
    """Histograms of the field's values in the proposed children of ``nodes``, from row ``row_from`` of ``out`` on."""
    value_shift, value_mask = np.uint64(field[SHIFT]), np.uint64(field[MASK])
    heavy_shift, heavy_mask = np.uint64(weight[SHIFT]), np.uint64(weight[MASK])
    for n in range(nodes.shape[0]):
        i, first = nodes[n], row_from[n]
        j = axis[i]
        words, shift, mask, values = node_words(packed, axes, field, i, j, start, stop)
        heavy = packed[weight[WORD], start[i] : stop[i]]
        if kind[i] == CLASSES:
            sort_classes(axes, tables, j, cut[i], words, shift, mask, low[i, j], high[i, j], slot, child)
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
def list_children(
    packed, axes, tables, index, nodes, start, stop, low, high, axis, kind, cut, ties, row_from, slot, child, begin,
    out,
):  # fmt: skip
    """Write the records (field ``index``) of the proposed children of ``nodes`` to ``out``, child by child.

    ``begin`` (children,) is where each child's records go; it ends as where they end.
    """
    index_shift, index_mask = np.uint64(index[SHIFT]), np.uint64(index[MASK])
    for n in range(nodes.shape[0]):
        i, first = nodes[n], row_from[n]
        j = axis[i]
        words, shift, mask, numbers = node_words(packed, axes, index, i, j, start, stop)
        if kind[i] == CLASSES:
            sort_classes(axes, tables, j, cut[i], words, shift, mask, low[i, j], high[i, j], slot, child)
            for r in range(numbers.shape[0]):
                at = first + child[r]
                out[begin[at]] = np.int64((numbers[r] >> index_shift) & index_mask)
                begin[at] += 1
            continue
        seen = np.int64(0)
        for r in range(numbers.shape[0]):
            code = np.int64((words[r] >> shift) & mask)
            at = first + np.int64(code > cut[i]) + np.int64(code == cut[i]) * np.int64(seen >= ties[i])
            seen += np.int64(code == cut[i])
            out[begin[at]] = np.int64((numbers[r] >> index_shift) & index_mask)
            begin[at] += 1


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
            found = sort_classes(axes, tables, j, cut[i], codes, shift, mask, low[i, j], high[i, j], slot, child)
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
def cut_bounds(axes, leaf, tight_low, parent, axis, bound_low, bound_high, low, high):
    """Write the last bounds on each leaf's way from the root to ``low`` and ``high`` (leaves, d).

    An axis that was never cut keeps all known codes, or the missing one if no other is there (see ``tight_low``).
    """
    for i in range(leaf.shape[0]):
        for j in range(axes.shape[0]):
            low[i, j] = -1
            high[i, j] = -1
        node = leaf[i]
        while parent[node] >= 0:
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

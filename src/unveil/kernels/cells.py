"""Rows packed into machine words, and equal rows collapsed to weighted cells.

A *field* is one attribute inside the words: (word, shift, mask). Fields never straddle words. A *cell* is a distinct
row with the number of rows that equal it; no rule of strict Mondrian can tell a cell from its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["DistinctCells", "PackedLayout", "collapse", "column_codes", "lay_out", "pack", "unite", "warm"]

WORD, SHIFT, MASK = 0, 1, 2  # columns of a table of fields

Codes = NDArray[np.integer]

_CODE_TYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
_BLOCK = 1 << 15  # rows worked on at a time, so that their words stay in the cache between columns
_DENSE_LIMIT = 1 << 27  # entries of a dense table: half a gigabyte
_SPARSE_SHARE = 0.6  # more distinct rows than this share of those seen, and collapsing costs more than it saves


@dataclass(frozen=True, slots=True)
class PackedLayout:
    """Where each field lies in the words of a record."""

    words: int
    fields: NDArray[np.int64]  # (fields, 3): word, shift, mask


@dataclass(frozen=True, slots=True)
class DistinctCells:
    """The distinct rows of a table; ``unite`` brings what was found for cells back to rows."""

    columns: list[Codes]  # per column: (cells,)
    weight: NDArray[np.int32]  # (cells,) rows that equal the cell
    key: NDArray[np.int32]  # (rows,) entry of the row in ``slot``
    slot: NDArray[np.int32]  # (entries,) cell of the entry, where the entry is used


def lay_out(domains: Sequence[int]) -> PackedLayout:
    """Give each field the bits its domain needs, in the first word that has room."""
    used: list[int] = []
    fields = np.zeros((len(domains), 3), np.int64)
    for i, size in enumerate(domains):
        bits = max(size - 1, 0).bit_length()
        word = next((w for w, taken in enumerate(used) if taken + bits <= 64), len(used))
        if word == len(used):
            used.append(0)
        fields[i] = word, used[word] if bits else 0, (1 << bits) - 1
        used[word] += bits
    return PackedLayout(max(len(used), 1), fields)


def column_codes(column: Codes, domain: int) -> Codes:
    """A column of codes in one of the three types the kernels are compiled for; every code is below ``domain``."""
    column = np.ascontiguousarray(column)
    if column.ndim != 1 or column.dtype.kind not in "ui":
        raise ValueError(f"a column holds codes in one dimension, not {column.dtype} {column.shape}")
    if not 0 < domain <= 1 << 32:
        raise ValueError(f"a domain has 1 to 2**32 codes, not {domain}")
    if len(column) and (int(column.min()) < 0 or int(column.max()) >= domain):
        raise ValueError(f"codes {column.min()} to {column.max()} in a domain of {domain}")
    return column if column.dtype in _CODE_TYPES else column.astype(np.uint32)


def pack(columns: Sequence[Codes], layout: PackedLayout, out: NDArray[np.uint64]) -> None:
    """Write columns into the first fields of ``layout``; ``out`` (words, rows) is zero where they go."""
    columns = [_read_only(column) for column in columns]
    for begin in range(0, out.shape[1], _BLOCK):
        for column, (word, shift, _) in zip(columns, layout.fields, strict=False):
            put_field(column[begin : begin + _BLOCK], np.uint64(shift), out[word, begin : begin + _BLOCK])


def collapse(columns: Sequence[Codes], domains: Sequence[int]) -> DistinctCells | None:
    """Cells of a table in time linear in the rows, or None where too few rows are equal for it to pay.

    A table of counters over the product of the domains, if that is small beside the rows; hashing otherwise.
    """
    columns = [_read_only(column) for column in columns]
    rows = len(columns[0])
    entries = 1
    for size in domains:
        entries *= size
    if entries <= min(max(16 * rows, 1 << 22), _DENSE_LIMIT):
        return _dense_cells(columns, domains, entries)
    return _hashed_cells(columns, domains)


def unite(cells: DistinctCells, of_cell: NDArray[np.int32]) -> NDArray[np.int32]:
    """What was found for each cell, as one number a row. Uses up ``cells``: the answer takes the place of its keys."""
    look_up(cells.slot, of_cell, cells.key)
    return cells.key


def _read_only(column: Codes) -> Codes:
    """Numba compiles a second version for read-only arrays: make all of them read-only, so that one version does."""
    column = column.view()
    column.flags.writeable = False
    return column


def _dense_cells(columns: Sequence[Codes], domains: Sequence[int], entries: int) -> DistinctCells:
    rows = len(columns[0])
    strides = np.ones(len(domains), np.int64)
    strides[:-1] = np.cumprod(np.array(domains[:0:-1], np.int64))[::-1]
    key = np.zeros(rows, np.int32)
    slot = np.zeros(entries, np.int32)
    for begin in range(0, rows, _BLOCK):
        block = key[begin : begin + _BLOCK]
        for column, stride in zip(columns, strides, strict=True):
            add_scaled(column[begin : begin + _BLOCK], np.int32(stride), block)
        count_keys(block, slot)
    cell_key, weight = number_cells(slot)
    codes = [
        (cell_key // stride % size).astype(column.dtype)
        for column, stride, size in zip(columns, strides, domains, strict=True)
    ]
    return DistinctCells(codes, weight, key, slot)


def _hashed_cells(columns: Sequence[Codes], domains: Sequence[int]) -> DistinctCells | None:
    rows = len(columns[0])
    layout = lay_out(domains)
    key = np.empty(rows, np.int32)
    words = np.empty((4 * _BLOCK, layout.words), np.uint64)  # (cells, words)
    weight = np.zeros(len(words), np.int32)
    table = np.full(2 * len(words), -1, np.int32)
    cells = 0
    for begin in range(0, rows, _BLOCK):
        stop = min(begin + _BLOCK, rows)
        if cells + _BLOCK > len(words):
            words = np.concatenate([words, np.empty_like(words)])
            weight = np.concatenate([weight, np.zeros_like(weight)])
            table = np.full(2 * len(words), -1, np.int32)
            rehash(words[:cells], table)
        here = np.zeros((layout.words, stop - begin), np.uint64)
        pack([column[begin:stop] for column in columns], layout, here)
        cells = int(add_cells(here, table, words, weight, cells, key[begin:stop]))
        if stop >= _BLOCK and cells > _SPARSE_SHARE * stop:
            return None
    codes = [
        (words[:cells, word] >> np.uint64(shift) & np.uint64(mask)).astype(column.dtype)
        for column, (word, shift, mask) in zip(columns, layout.fields, strict=True)
    ]
    return DistinctCells(codes, weight[:cells].copy(), key, np.arange(cells, dtype=np.int32))


@njit(cache=True, nogil=True)
def put_field(column, shift, word):
    """Put a column (rows,) into its bits of ``word`` (rows,) uint64."""
    for i in range(column.shape[0]):
        word[i] |= np.uint64(column[i]) << shift


@njit(cache=True, nogil=True)
def add_scaled(column, stride, key):
    """key += stride * column, in the int32 of ``key``."""
    for i in range(column.shape[0]):
        key[i] += np.int32(column[i]) * stride


@njit(cache=True, nogil=True)
def count_keys(key, slot):
    """Count each key in its entry of ``slot``."""
    for i in range(key.shape[0]):
        slot[key[i]] += 1


@njit(cache=True, nogil=True)
def number_cells(slot):
    """Keys and counts of the entries that are not zero; each such entry of ``slot`` becomes its number."""
    cells = 0
    for i in range(slot.shape[0]):
        if slot[i] > 0:
            cells += 1
    key = np.empty(cells, np.int32)
    weight = np.empty(cells, np.int32)
    cells = 0
    for i in range(slot.shape[0]):
        if slot[i] > 0:
            key[cells] = i
            weight[cells] = slot[i]
            slot[i] = cells
            cells += 1
    return key, weight


@njit(cache=True, nogil=True)
def look_up(slot, of_cell, key):
    """Replace each key by ``of_cell[slot[key]]``."""
    for i in range(key.shape[0]):
        key[i] = of_cell[slot[key[i]]]


@njit(cache=True, nogil=True)
def mix(value, word):
    """One step of a multiplicative hash."""
    value = (value ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return value ^ (value >> np.uint64(32))


@njit(cache=True, nogil=True)
def hashed(words):
    """The hash of one cell's words."""
    value = np.uint64(0)
    for w in range(words.shape[0]):
        value = mix(value, words[w])
    return value


@njit(cache=True, nogil=True)
def rehash(words, table):
    """Enter known cells (cells, words) into an empty ``table`` whose length is a power of two."""
    last = np.uint64(table.shape[0] - 1)
    for c in range(words.shape[0]):
        place = hashed(words[c]) & last
        while table[place] >= 0:
            place = (place + np.uint64(1)) & last
        table[place] = c


@njit(cache=True, nogil=True)
def add_cells(rows, table, words, weight, cells, key):
    """Enter packed rows (words, rows) into the hash ``table``; ``key`` gets their cells. Returns the cells so far."""
    last = np.uint64(table.shape[0] - 1)
    for i in range(rows.shape[1]):
        place = hashed(rows[:, i]) & last
        while True:
            c = table[place]
            if c < 0:
                c = cells
                table[place] = c
                for w in range(rows.shape[0]):
                    words[c, w] = rows[w, i]
                cells += 1
                break
            same = True
            for w in range(rows.shape[0]):
                same = same and words[c, w] == rows[w, i]
            if same:
                break
            place = (place + np.uint64(1)) & last
        weight[c] += 1
        key[i] = c
    return cells


def warm() -> None:
    """Compile every kernel here, or load it from the cache."""
    for code_type in _CODE_TYPES:
        column = _read_only(np.array([0, 1]).astype(code_type))
        _dense_cells([column], [2], 2)
        cells = _hashed_cells([column, column // 2], [4, 1])
        if cells is not None:
            unite(cells, np.arange(len(cells.weight), dtype=np.int32))
    words = np.array([[0], [1]], np.uint64)
    rehash(words, np.full(4, -1, np.int32))
    look_up(np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32))

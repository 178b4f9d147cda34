"""Which targets fit which cells: the tree finds what comparing all pairs finds."""

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.attackers.posterior.fits import _cell_tree
from unveil.kernels import incidence

SHAPES = {  # knowledge and regions of each attribute, targets, cells, share of pairs that fit
    "few": ([(3, 4), (2, 2)], 30, 20, 0.5),
    "more than a node has bits": ([(700, 40), (5, 3)], 200, 300, 0.05),
    "all fit": ([(3, 4), (2, 2)], 10, 50, 1.0),
    "none fits": ([(3, 4), (70, 2)], 10, 50, 0.0),
    "one attribute": ([(65, 64)], 100, 64, 0.02),
    "equal cells": ([(4, 1), (9, 1)], 25, 40, 0.5),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_tree_finds_all_pairs(name: str) -> None:
    shapes, targets, cells, share = SHAPES[name]
    random = np.random.default_rng(len(name))
    tables = [(random.random(shape) < share).astype(np.uint8) for shape in shapes]
    asked = np.stack([random.integers(0, known, targets) for known, _ in shapes], axis=1)
    cell = np.stack([random.integers(0, regions, cells) for _, regions in shapes], axis=1)
    meant = np.ones((targets, cells), dtype=bool)
    for place, table in enumerate(tables):
        meant &= table[asked[:, place]][:, cell[:, place]] > 0
    found = [pairs(tables, asked, cell, compiled=compiled) for compiled in (True, False)]
    assert np.array_equal(*found)
    assert np.array_equal(found[0], np.argwhere(meant))


def pairs(
    tables: list[NDArray[np.uint8]], asked: NDArray[np.int64], cell: NDArray[np.int64], *, compiled: bool
) -> NDArray[np.int64]:
    bit, bit_start, tree = _cell_tree(tables, cell)
    width = np.array([table.shape[1] for table in tables])
    offset = np.concatenate([[0], np.cumsum([table.size for table in tables])[:-1]])
    given = (asked, cell, np.concatenate([t.ravel() for t in tables]), offset, width, bit, bit_start, *tree)
    count, fill = incidence.count_fits, incidence.list_fits
    count, fill = (count, fill) if compiled else (count.py_func, fill.py_func)
    start = np.concatenate([[0], np.cumsum(count(*given))])
    target, place = np.empty(start[-1], np.int64), np.empty(start[-1], np.int64)
    fill(*given, start, target, place)
    order = np.lexsort((place, target))
    return np.stack([target[order], place[order]], axis=1)


def test_disjoint_cells_cost_a_path_and_not_a_pass() -> None:
    """A grid of 4,096 cells: a target meets a node a level and its sibling, not every cell."""
    side = 64
    tables = [np.eye(side, dtype=np.uint8)] * 2
    cell = np.stack(np.divmod(np.arange(side * side), side), axis=1)
    bit, bit_start, (_, low, _, skip, node) = _cell_tree(tables, cell)
    met, at, known = 0, 0, np.array([17, 42])
    while at < len(skip):
        met += 1
        holds = all(int(node[at, b >> 6]) >> (int(b) & 63) & 1 for b in bit[bit_start + known])
        at = at + 1 if holds else skip[at]
    assert len(low) > 1000
    assert met <= 40

"""The nearest published rows of each person: exact, with every tie counted, and without all pairs.

Equal people and equal rows are compared once. Single numbers go through a k-d tree; everything else through a tree of
boxes that is searched by branch and bound. Both find every nearest row; what grows with noise is the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import row_numbers
from unveil.engine import Engine
from unveil.errors import NotApplicable, Stopped
from unveil.risk.linkage.attribute_distances import AttributeDistance
from unveil.risk.linkage.links import CLOSE

__all__ = ["NearestRows", "between", "find_nearest", "pair_contributions"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PEOPLE_AT_ONCE = 2048


@dataclass(frozen=True, slots=True, eq=False)
class NearestRows:
    """Per person: the rows that are nearest."""

    distance: Floats  # (people,) squared
    rows: Ints  # (people,) how many rows are as near
    row: Ints  # (people,) the first of them
    margin: Floats | None  # (people,) how much farther the next row is; 0 where several are nearest
    true_distance: Floats | None  # (people,) to the person's own row; nan = has none


def find_nearest(
    axes: Sequence[AttributeDistance],
    *,
    true_row: NDArray[np.integer] | None = None,
    count: NDArray[np.integer] | None = None,
    margins: bool = False,
    engine: Engine | None = None,
    tree: bool = True,
) -> NearestRows:
    """Search all people. `true_row` (people,): their own row, -1 = none. `count` (rows,): rows that a row stands for.

    `tree`: use the k-d tree where it applies; else branch and bound throughout, which gives the same.
    """
    if not axes:
        raise NotApplicable("nothing is known of the people that the release publishes")
    engine = Engine(seed=0) if engine is None else engine
    # Most values first: a comparison that fails is seen early.
    order = sorted(axes, key=lambda a: -len(np.unique(a.row)))
    person = row_numbers([a.person for a in order])
    cell = row_numbers([a.row for a in order])
    one_person, one_row = _first(person), _first(cell)
    weight = np.bincount(cell, weights=count).astype(np.int64)
    if tree and all(a.points for a in order):
        found = _by_points(order, one_person, one_row, weight, margins)
    else:
        found = _by_cells(order, one_person, one_row, weight, margins, engine)
    distance, rows, where, margin = found
    own = None
    if true_row is not None:
        own = np.full(len(person), np.nan)
        there = np.flatnonzero(np.asarray(true_row) >= 0)
        own[there] = between(order, there, np.asarray(true_row)[there])
    farther = None if margin is None else margin[person]
    return NearestRows(distance[person], rows[person], one_row[where[person]], farther, own)


def _first(number: Ints) -> Ints:
    """The first place of each number."""
    return np.unique(number, return_index=True)[1]


Found = tuple[Floats, Ints, Ints, Floats | None]


def _by_points(axes: Sequence[AttributeDistance], people: Ints, rows: Ints, weight: Ints, margins: bool) -> Found:
    from scipy.spatial import KDTree

    held = np.stack([a.known[0][a.person[people]] for a in axes if a.known is not None], axis=1)
    shown = np.stack([a.published[0][a.row[rows]] for a in axes if a.published is not None], axis=1)
    tree = KDTree(shown)
    near, place = tree.query(held, k=2) if len(shown) > 1 else (tree.query(held, k=1)[0][:, None],) * 2
    if len(shown) == 1:
        near, place = np.concatenate([near, np.full_like(near, np.inf)], axis=1), np.zeros((len(held), 2), dtype=int)
    near = near**2
    size, cell = weight[place[:, 0]].copy(), place[:, 0].astype(np.int64)
    tied = np.flatnonzero(near[:, 1] <= near[:, 0] + CLOSE)
    if len(tied):
        around = tree.query_ball_point(held[tied], np.sqrt(near[tied, 0] + CLOSE) * (1 + 1e-12))
        for at, cells in zip(tied.tolist(), around, strict=True):
            size[at], cell[at] = weight[cells].sum(), min(cells)
    margin = None
    if margins:
        margin = np.where(size > 1, 0.0, np.sqrt(near[:, 1]) - np.sqrt(near[:, 0]))
    return near[:, 0], size, cell, margin


def _by_cells(
    axes: Sequence[AttributeDistance], people: Ints, rows: Ints, weight: Ints, margins: bool, engine: Engine
) -> Found:
    from unveil.kernels.linkage import nearest_cells

    packed = _packed(axes)
    columns = np.stack([a.row[rows] for a in axes], axis=1)
    tree = _tree(columns, packed)
    held = np.stack([a.person[people] for a in axes], axis=1)

    def search(which: Ints, skip: Ints, task: str) -> Found:
        best, size = np.empty(len(which)), np.empty(len(which), dtype=np.int64)
        cell = np.empty(len(which), dtype=np.int64)
        for begin in range(0, len(which), PEOPLE_AT_ONCE):
            if engine.stop.is_set():
                raise Stopped("stopped before the nearest rows were found; there is no result")
            part = slice(begin, begin + PEOPLE_AT_ONCE)
            chosen = np.ascontiguousarray(held[which[part]])
            given = (*packed, columns, weight, *tree, best[part], size[part], cell[part])
            nearest_cells(chosen, skip[part], *given)
            engine.report(task, min(begin + PEOPLE_AT_ONCE, len(which)), len(which))
        return best, size, cell, None

    every = np.arange(len(people))
    best, size, cell, _ = search(every, np.full(len(people), -1), "nearest rows")
    if not margins:
        return best, size, cell, None
    margin = np.zeros(len(people))
    alone = np.flatnonzero(size == 1)
    beyond = search(alone, cell[alone], "margins")[0]
    margin[alone] = np.sqrt(beyond) - np.sqrt(best[alone])
    return best, size, cell, margin


def _packed(axes: Sequence[AttributeDistance]) -> tuple[NDArray[Any], ...]:
    """All axes one behind the other, as the kernels read them."""
    none = np.empty(0)
    known, shown = (
        ([none, none] if a.known is None else a.known for a in axes),
        ([none, none] if a.published is None else a.published for a in axes),
    )
    low_b, high_b = zip(*known, strict=True)
    low_a, high_a = zip(*shown, strict=True)
    tables = [none if a.table is None else a.table.ravel() for a in axes]
    width = np.array([-1 if a.equal else 0 if a.table is None else a.table.shape[1] for a in axes], dtype=np.int64)
    starts = [np.cumsum([0, *map(len, parts[:-1])]).astype(np.int64) for parts in (low_b, low_a, tables)]
    lines = [np.concatenate([*parts, none]) for parts in (low_b, high_b, low_a, high_a, tables)]
    return (width, *starts, *lines)


def _tree(columns: Ints, packed: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """The cells in boxes within boxes, as the kernel reads them."""
    from unveil.kernels.linkage import grow_tree

    cells, axes = columns.shape
    parts = [np.empty(cells, dtype=np.int64), *(np.empty(2 * cells, dtype=np.int64) for _ in range(4))]
    boxes = [np.empty((2 * cells, axes)) for _ in range(2)]
    nodes = grow_tree(columns, packed[0], packed[2], packed[6], packed[7], *parts, *boxes)
    return (parts[0], *(part[:nodes].copy() for part in (*parts[1:], *boxes)))


def between(axes: Sequence[AttributeDistance], people: NDArray[np.integer], rows: NDArray[np.integer]) -> Floats:
    """(people,) each one's distance to the row beside it."""
    from unveil.kernels.linkage import pair_distances

    held = np.stack([a.person[people] for a in axes], axis=1)
    shown = np.stack([a.row[rows] for a in axes], axis=1)
    distance = np.empty(len(people))
    given = (*_packed(axes), distance)
    pair_distances(held, shown, *given)
    return distance


def pair_contributions(axis: AttributeDistance) -> Floats:
    """(people, rows) the contributions of one attribute, of all pairs."""
    people, rows = len(axis.person), len(axis.row)
    distance = between([axis], np.repeat(np.arange(people), rows), np.tile(np.arange(rows), people))
    return distance.reshape(people, rows)

"""The axes of a table and its packed records, as the kernels of Mondrian want them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.kernels import cells
from unveil.kernels.cells import Codes

__all__ = ["CutAxis", "Space", "lay_out_space"]

Counts = NDArray[np.int64]
Ints = NDArray[np.int32]

# Columns of Space.axes; the first three are the axis's field, as in kernels.cells.
MISSING = 3  # code of missing values, -1 if the axis has none
POSITION = 4  # where the axis begins in ``position``
LEVELS = 5  # levels of its hierarchy, the root and the single codes included; 0: ordered cuts
TABLE = 6  # where its hierarchy begins in ``tables``
STRIDE = 7  # known codes: those of a level in ``tables``
AXIS_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class CutAxis:
    """One quasi-identifier as Mondrian sees it, its codes in the order in which cuts may divide them.

    With a hierarchy a cut divides a class into its subclasses, all at once. Missing values are no part of the order:
    a node that has known and missing values can only be cut between these.
    """

    codes: int  # codes of the domain, the missing one included
    position: NDArray[np.float64] | None = None  # (codes,) where each code lies, ascending; None: at its number
    missing: bool = False  # the last code stands for missing values
    hierarchy: Codes | None = None  # (levels, known codes) coarse to fine: each code's class; classes are intervals


@dataclass(frozen=True, slots=True)
class Space:
    """The packed records and the axes; kernels.mondrian says what the arrays hold."""

    packed: NDArray[np.uint64]  # (words, records)
    axes: NDArray[np.int64]  # (d, AXIS_COLUMNS)
    position: NDArray[np.float64]
    tables: Ints  # (3, entries)
    weight: NDArray[np.int64]  # (3,) field
    index: NDArray[np.int64]  # (3,) field: the record's number before any was moved
    sensitive: NDArray[np.int64]  # (attributes, 3) fields
    most_children: int  # of one cut
    rows: int

    def scratch(self) -> NDArray[np.int64]:
        """Room for one count a code, or for one a child."""
        codes = int(self.axes[:, cells.MASK].max(initial=0)) + 1
        return np.empty(max(self.most_children, min(codes, 4 * self.packed.shape[1]) + 256), np.int64)


def lay_out_space(
    axes: Sequence[CutAxis], columns: Sequence[Codes], domains: Sequence[int], distinct: cells.DistinctCells | None
) -> Space:
    """Pack the columns, or the distinct cells in their place, and write the axes down for the kernels."""
    if distinct is not None:
        columns = distinct.columns
    records = len(columns[0])
    heaviest = 1 if distinct is None else int(distinct.weight.max(initial=1))
    layout = cells.lay_out([*domains, heaviest, max(records, 1)])
    packed = np.zeros((layout.words, records), np.uint64)
    weight = np.zeros(records, np.uint8) if distinct is None else (distinct.weight - 1).astype(np.uint32)
    cells.pack([*columns, weight, np.arange(records, dtype=np.uint32)], layout, packed)
    d = len(axes)
    table = np.full((d, AXIS_COLUMNS), -1, np.int64)
    table[:, :3] = layout.fields[:d]
    positions = [np.empty(0)]
    tables = [np.empty((3, 0), np.int32)]
    for j, axis in enumerate(axes):
        position = np.arange(axis.codes) if axis.position is None else np.asarray(axis.position)
        if position.shape != (axis.codes,):
            raise ValueError(f"axis {j} has {axis.codes} codes and {position.shape} positions")
        if not (np.diff(position[: axis.codes - axis.missing]) >= 0).all():
            raise ValueError(f"axis {j}: the positions do not ascend")
        table[j, MISSING] = axis.codes - 1 if axis.missing else -1
        table[j, POSITION] = sum(map(len, positions))
        table[j, LEVELS] = 0
        table[j, STRIDE] = axis.codes - axis.missing
        positions.append(position.astype(np.float64))
        if axis.hierarchy is not None and axis.codes > axis.missing:
            classes = _class_table(axis, j)
            table[j, LEVELS] = classes.shape[1]
            table[j, TABLE] = sum(t.shape[1] for t in tables)
            tables.append(classes.reshape(3, -1))
    return Space(
        packed,
        table,
        np.concatenate(positions),
        np.ascontiguousarray(np.concatenate(tables, axis=1)),
        layout.fields[-2],
        layout.fields[-1],
        layout.fields[d:-2],
        max([2] + [axis.codes for axis in axes if axis.hierarchy is not None]),
        records if distinct is None else int(distinct.weight.sum(dtype=np.int64)),
    )


def _class_table(axis: CutAxis, j: int) -> Ints:
    """(3, levels, codes): each code's class, root first and single codes last, and its class's first and last code."""
    known = axis.codes - axis.missing
    given = np.asarray(axis.hierarchy)
    if given.ndim != 2 or given.shape[1] != known:
        raise ValueError(f"axis {j} has {known} known codes and a hierarchy of shape {given.shape}")
    classes = np.zeros((len(given) + 2, known), np.int64)
    begins = np.diff(given, axis=1) != 0
    np.cumsum(begins, axis=1, out=classes[1:-1, 1:])
    classes[-1] = np.arange(known)
    if any(len(np.unique(level)) != last + 1 for level, last in zip(given, classes[1:-1, -1], strict=True)):
        raise ValueError(f"axis {j}: a class of the hierarchy is not an interval of codes")
    if np.any((np.diff(classes[:-1], axis=1) != 0) & (np.diff(classes[1:], axis=1) == 0)):
        raise ValueError(f"axis {j}: a class of the hierarchy lies across two wider ones")
    first = np.array([np.searchsorted(level, level, "left") for level in classes])
    last = np.array([np.searchsorted(level, level, "right") - 1 for level in classes])
    return np.stack([classes, first, last]).astype(np.int32)

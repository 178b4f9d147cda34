"""Tuple partitioning of a sliced table: buckets by Mondrian's cuts, under privacy models on p(t, s)."""

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.match_probabilities import AskedAttribute, MatchProbabilities, Rows, Slices
from unveil.engine import Engine
from unveil.kernels.axes import CutAxis
from unveil.kernels.partition import Candidates, partition
from unveil.privacy.requirement import Requirement

__all__ = ["local_buckets", "shared_buckets"]


def local_buckets(
    axes: Sequence[CutAxis],
    columns: Sequence[NDArray[np.unsignedinteger]],
    slices: Slices,
    asked: Sequence[AskedAttribute],
    requirement: Requirement,
) -> NDArray[np.int32]:
    """(rows,) buckets of strict cuts on everything that is known, cells being single values.

    Two buckets then differ in the values of some attribute, so everybody matches one bucket alone and p(t, ·) is the
    distribution of the values beside t's cell in it: a cut is judged by its own children.
    """
    pairs, sizes, shapes = [], [], []
    for one in asked:
        beside, cells = one.beside(slices)
        pairs.append((beside * one.values + one.value).astype(np.uint32))
        sizes.append(cells * one.values)
        shapes.append((cells, one.values))

    def allowed(children: Candidates) -> NDArray[np.bool_]:
        good = requirement.sizes_hold(children.size)
        for index, (histogram, (cells, values)) in enumerate(zip(children.histograms, shapes, strict=True)):
            each = histogram.reshape(-1, values)
            present = np.flatnonzero(each.any(axis=1))
            held = requirement.shares_hold(index, each[present].astype(np.float64))
            good[present[~held] // cells] = False
        return good

    found = partition(
        columns,
        axes,
        pairs,
        sizes,
        allowed=allowed,
        smallest=min(requirement.smallest, len(slices.person) + 1),
    )
    return found.group


def shared_buckets(
    axes: Sequence[CutAxis],
    columns: Sequence[NDArray[np.unsignedinteger]],
    slices: Slices,
    asked: Sequence[AskedAttribute],
    requirement: Requirement,
    shuffled: Rows | None,
    engine: Engine,
) -> NDArray[np.int32]:
    """(rows,) buckets where people match several: after each cut p(t, s) is brought up to date and judged.

    Buckets wait in a queue, as in figure 4.1 of Li 2010; here a bucket is kept whole only if no axis can be cut.
    `shuffled`: cuts are relaxed, rows at a median going left as far as needed, in this order.
    """
    rows = len(slices.person)
    place = np.stack([column.astype(np.int64) for column in columns], axis=1)
    position = [np.arange(a.codes, dtype=float) if a.position is None else np.asarray(a.position) for a in axes]
    likely = MatchProbabilities(slices, asked)
    everybody = np.arange(rows, dtype=np.int64) if shuffled is None else shuffled
    likely.add(everybody)
    extent = np.array([_extent(place[:, j], axes[j], position[j]) for j in range(len(axes))])
    waiting, done, kept = deque([everybody]), [], 0

    def good(index: int, shares: NDArray[np.float64]) -> bool:
        return bool(requirement.shares_hold(index, shares).all())

    while waiting:
        bucket = waiting.popleft()
        for left in _cuts(place[bucket], axes, position, extent, shuffled is not None):
            parts = bucket[left], bucket[~left]
            sizes = np.array([len(part) for part in parts])
            if requirement.sizes_hold(sizes).all() and likely.cut(bucket, parts, good):
                waiting.extend(parts)
                break
        else:
            done.append(bucket)
            kept += len(bucket)
            engine.report("slicing", kept, rows)
    group = np.empty(rows, dtype=np.int32)
    for number, bucket in enumerate(done):
        group[bucket] = number
    return group


def _extent(codes: NDArray[np.int64], axis: CutAxis, position: NDArray[np.float64]) -> float:
    """The range of the known values."""
    known = codes[codes < axis.codes - 1] if axis.missing else codes
    return float(position[known.max()] - position[known.min()]) if len(known) else 0.0


def _cuts(
    place: NDArray[np.int64],
    axes: Sequence[CutAxis],
    position: Sequence[NDArray[np.float64]],
    extent: NDArray[np.float64],
    relaxed: bool,
) -> Iterator[NDArray[np.bool_]]:
    """The rows on the left of each cut of a bucket, along the widest axis first; both sides of a median are tried."""
    low, high = place.min(axis=0), place.max(axis=0)
    width = np.empty(len(axes))
    for j, axis in enumerate(axes):
        if axis.missing and high[j] == axis.codes - 1:
            width[j] = float(low[j] < high[j])  # known and missing values: only they can be parted
        else:
            width[j] = (position[j][high[j]] - position[j][low[j]]) / extent[j] if extent[j] else 0.0
    for j in np.argsort(-width, kind="stable"):
        if low[j] == high[j]:
            continue
        column = place[:, j]
        if axes[j].missing and high[j] == axes[j].codes - 1:
            yield column < high[j]
            continue
        if relaxed:
            left = np.zeros(len(column), dtype=bool)
            left[np.argsort(column, kind="stable")[: len(column) // 2]] = True
            yield left
            continue
        median = np.partition(column, (len(column) - 1) // 2)[(len(column) - 1) // 2]
        tries = [left for left in (column <= median, column < median) if 0 < left.sum() < len(column)]
        yield from sorted(tries, key=lambda left: abs(2 * int(left.sum()) - len(left)))

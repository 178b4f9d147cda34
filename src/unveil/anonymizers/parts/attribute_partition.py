"""Which attributes stand together in a sliced table: by hand, or by how strongly they go together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role
from unveil.data.release import row_numbers
from unveil.data.table import Table
from unveil.errors import UsageError, shown

__all__ = ["clustered_columns", "contingency", "contingency_of", "discretised", "given_columns"]

Columns = tuple[tuple[int, ...], ...]  # a partition of the attributes' positions


def contingency(one: NDArray[np.integer], other: NDArray[np.integer]) -> float:
    """Mean-square contingency of two columns of codes, from 0 to 1 (Li 2010, section 4.3.1).

    Only values that occur count; a column with a single one goes together with nothing. With shares f the sum
    over all cells of (f_ij - f_i f_j)^2 / (f_i f_j) is that of f_ij^2 / (f_i f_j) over the cells that occur, less 1.
    Cost: sorting the rows.
    """
    first, second = row_numbers([one]), row_numbers([other])
    rows, of_first, of_second = len(first), np.bincount(first), np.bincount(second)
    smaller = min(len(of_first), len(of_second))
    if smaller < 2:
        return 0.0
    pair, count = np.unique(first * len(of_second) + second, return_counts=True)
    expected = of_first[pair // len(of_second)] * (of_second[pair % len(of_second)] / rows)
    return max(float((count * (count / expected)).sum() / rows - 1) / (smaller - 1), 0.0)


def discretised(attribute: Attribute, column: NDArray[np.unsignedinteger], bins: int) -> NDArray[np.int64]:
    """The codes themselves; numbers and dates with more than `bins` values in that many intervals of equal width."""
    codes = column.astype(np.int64)
    used = np.flatnonzero(np.bincount(codes, minlength=attribute.codes))
    known = used[used < attribute.real]
    if not attribute.kind.measured or len(known) <= bins:
        return codes
    place = attribute.positions()
    low, high = place[known].min(), place[known].max()
    interval = np.full(attribute.codes, bins, dtype=np.int64)  # missing stays a value of its own
    interval[known] = np.minimum((place[known] - low) / (high - low) * bins, bins - 1).astype(np.int64)
    return np.asarray(interval[codes])


def contingency_of(table: Table, bins: int) -> NDArray[np.float64]:
    """(attributes, attributes) the mean-square contingency of every pair; an attribute with itself: 1."""
    codes = [discretised(a, c, bins) for a, c in zip(table.attributes, table.columns, strict=True)]
    found = np.eye(len(codes))
    for i in range(len(codes)):
        for j in range(i):
            found[i, j] = found[j, i] = contingency(codes[i], codes[j])
    return found


def clustered_columns(table: Table, c: int, alpha: int | None, bins: int) -> Columns:
    """c columns by k-medoids (PAM) with distance 1 - contingency (Li 2010, section 4.3.1).

    With `alpha` the sensitive attribute and the alpha - 1 that go best with it are one column; the others make c - 1.
    """
    attributes = len(table.attributes)
    if c > attributes:
        raise UsageError(f"slicing: c={c} columns of {attributes} attributes; choose c ≤ {attributes}")
    together = contingency_of(table, bins)
    if alpha is None:
        return _medoids(together, tuple(range(attributes)), c)
    sensitive = table.with_role(Role.SENSITIVE)
    if len(sensitive) != 1:
        raise UsageError(
            f"slicing: alpha is the size of the column of one sensitive attribute; the schema has {len(sensitive)}; "
            "give the columns by hand: columns=A+B/C+D"
        )
    known = table.with_role(Role.QUASI_IDENTIFIER)
    if alpha - 1 > len(known) or attributes - alpha < c - 1 or (c == 1 and alpha < attributes):
        raise UsageError(
            f"slicing: alpha={alpha} and c={c} do not fit {attributes} attributes, {len(known)} quasi-identifiers "
            "among them; choose a smaller alpha or another c"
        )
    closest = sorted(known, key=lambda i: (-together[sensitive[0], i], i))[: alpha - 1]
    rest = tuple(i for i in range(attributes) if i not in (*closest, *sensitive))
    first = tuple(sorted((*closest, *sensitive)))
    return tuple(sorted((first, *(_medoids(together, rest, c - 1) if rest else ()))))


def given_columns(table: Table, columns: Sequence[Sequence[str]]) -> Columns:
    """Columns by the names of their attributes; attributes that are not named stand together in one more."""
    found: list[tuple[int, ...]] = []
    names = [a.name for a in table.attributes]
    seen: set[str] = set()
    for column in columns:
        for name in column:
            if name not in names:
                raise UsageError(f"slicing: unknown attribute {shown(name)} in columns; choose from {', '.join(names)}")
            if name in seen:
                raise UsageError(f"slicing: columns lists {shown(name)} twice; an attribute belongs to one column")
            seen.add(name)
        if column:
            found.append(tuple(sorted(names.index(name) for name in column)))
    rest = tuple(i for i, name in enumerate(names) if name not in seen)
    return tuple(sorted((*found, rest) if rest else found))


def _medoids(together: NDArray[np.float64], which: tuple[int, ...], c: int) -> Columns:
    if c == 1 or c >= len(which):
        return (which,) if c == 1 else tuple((i,) for i in which)
    apart = np.clip(1 - together[np.ix_(which, which)], 0.0, None)
    medoids = medoids_of(apart, c)
    labels = apart[:, medoids].argmin(axis=1)
    labels[medoids] = np.arange(c)
    return tuple(sorted(tuple(i for i, at in zip(which, labels, strict=True) if at == k) for k in range(c)))


def medoids_of(apart: NDArray[np.float64], c: int) -> list[int]:
    """PAM (Kaufman & Rousseeuw 1990): medoids one by one, each the best beside those before, then the best swap of one
    for another as long as one helps; the first of equals. Cost: c · points² a swap.
    """
    points = len(apart)
    medoids: list[int] = []
    nearest = np.full(points, np.inf)
    for _ in range(c):
        cost = np.minimum(nearest[:, None], apart).sum(axis=0)
        cost[medoids] = np.inf
        medoids.append(int(cost.argmin()))
        nearest = np.minimum(nearest, apart[:, medoids[-1]])
    total = float(nearest.sum())
    while True:
        best, swap = total * (1 - 1e-12), None
        for at in range(c):
            others = medoids[:at] + medoids[at + 1 :]
            without = apart[:, others].min(axis=1) if others else np.full(points, np.inf)
            cost = np.minimum(without[:, None], apart).sum(axis=0)
            cost[medoids] = np.inf
            if cost.min() < best:
                best, swap = float(cost.min()), (at, int(cost.argmin()))
        if swap is None:
            return medoids
        medoids[swap[0]], total = swap[1], best

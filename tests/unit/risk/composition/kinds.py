"""Tiny releases of every kind, each with its rows in plain lists, and the sum over all worlds that fit several of them.

Nothing here uses the product but to build the release that it is shown. A release in plain lists is a list of groups, a
group a list of blocks, a block a list of rows, and a row says of a, b and s how likely it shows what it does given each
code, or nothing (None).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np

from small import masked_release
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, build_release
from unveil.data.table import Table
from unveil.risk.composition import EarlierRelease

__all__ = [
    "KINDS",
    "Drawn",
    "Kinds",
    "attributes_of",
    "changed",
    "drawn_table",
    "other_columns",
    "pram_known",
    "summed",
]

Row = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Drawn:
    """A tiny table: numbers a, categories b, secrets s."""

    a: np.ndarray
    b: np.ndarray
    s: np.ndarray
    codes: tuple[int, int, int]

    def some(self, which: np.ndarray) -> "Drawn":
        return Drawn(self.a[which], self.b[which], self.s[which], self.codes)

    @property
    def table(self) -> Table:
        attributes = attributes_of(self.codes)
        columns = [c.astype(x.dtype) for x, c in zip(attributes, (self.a, self.b, self.s), strict=True)]
        return Table(attributes, tuple(columns))


@dataclass(frozen=True)
class Kinds:
    """A release for the product, and the same in plain lists."""

    earlier: EarlierRelease
    groups: list[list[list[Row]]]


def attributes_of(codes: tuple[int, int, int]) -> tuple[Attribute, ...]:
    places = np.arange(codes[0], dtype=np.float64)
    texts = tuple(str(i) for i in range(codes[0]))
    return (
        Attribute("a", Role.QUASI_IDENTIFIER, Kind.NUMERIC, texts, low=places, high=places.copy()),
        Attribute("b", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple(f"b{i}" for i in range(codes[1]))),
        Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, tuple(f"s{i}" for i in range(codes[2]))),
    )


def drawn_table(rng: np.random.Generator, most: int = 5) -> Drawn:
    people = int(rng.integers(2, most + 1))
    codes = int(rng.integers(2, 5)), int(rng.integers(2, 4)), int(rng.integers(2, 4))
    a, b, s = (rng.integers(0, n, people) for n in codes)
    return Drawn(a, b, s, codes)


def summed(drawn: Drawn, releases: Sequence[Kinds], p: np.ndarray) -> np.ndarray:
    """(people, values) shares of worlds: everybody has a value, and in every release a row of each block of a group.

    Of a subset some people have no row; of a superset some rows are those of strangers, who may be anybody.
    """
    people = len(drawn.a)
    total = np.zeros((people, drawn.codes[2]))
    for s in product(range(drawn.codes[2]), repeat=people):
        weight = float(np.prod([p[i, v] for i, v in enumerate(s)]))
        for one in releases:
            strangers = max(sum(len(g[0]) for g in one.groups) - people, 0)
            weight = weight and weight * sum(
                _ways(drawn, (*s, *t), one.groups) for t in product(range(drawn.codes[2]), repeat=strangers)
            )
        total[np.arange(people), s] += weight
    return total / total.sum(axis=1, keepdims=True)


def changed(one: Kinds, chance: float) -> Kinds:
    """The same release, somebody's secret being another one by now with this chance, drawn as the release has them."""
    shown = [tuple(row[2]) for g in one.groups for block in g for row in block if row[2] is not None]

    def now(row: Row) -> Row:
        if row[2] is None:
            return row
        return row[0], row[1], (1 - chance) * np.asarray(row[2]) + chance * shown.count(tuple(row[2])) / len(shown)

    groups = [[[now(row) for row in block] for block in g] for g in one.groups]
    return Kinds(replace(one.earlier, changed=chance), groups)


def _ways(drawn: Drawn, s: Sequence[int], groups: list[list[list[Row]]]) -> float:
    """Over all ways to put people into groups: the product of every block's permanent."""
    fits = [
        [np.array([[_fit(drawn, s, i, row) for row in block] for i in range(len(s))]) for block in g] for g in groups
    ]
    rows = sum(len(g[0]) for g in groups)

    def place(number: int, left: tuple[int, ...]) -> float:
        if number == len(groups):
            return float(len(left) == len(s) - rows)
        size, total = len(groups[number][0]), 0.0
        for some in _chosen(left, size):
            here = 1.0
            for block in fits[number]:
                here = here and here * _permanent(block[list(some)])
            if here:
                total += here * place(number + 1, tuple(i for i in left if i not in some))
        return total

    return place(0, tuple(range(len(s))))


def _chosen(left: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
    from itertools import combinations

    return list(combinations(left, size))


def _fit(drawn: Drawn, s: Sequence[int], i: int, row: Row) -> float:
    if i >= len(drawn.a):  # a stranger
        return 1.0 if row[2] is None else float(row[2][s[i]])
    return float(
        np.prod([1.0 if like is None else like[v] for like, v in zip(row, (drawn.a[i], drawn.b[i], s[i]), strict=True)])
    )


def _permanent(matrix: np.ndarray) -> float:
    n = len(matrix)
    if n > 4:  # over subsets of columns
        sums = {0: 1.0}
        for row in matrix:
            more: dict[int, float] = {}
            for used, w in sums.items():
                for j in range(n):
                    if row[j] and not used >> j & 1:
                        more[used | 1 << j] = more.get(used | 1 << j, 0.0) + w * row[j]
            sums = more
        return sums.get((1 << n) - 1, 0.0)
    return float(sum(np.prod([matrix[i, j] for i, j in enumerate(order)]) for order in permutations(range(n))))


def _only(codes: int, *allowed: int) -> np.ndarray:
    found = np.zeros(codes)
    found[list(allowed)] = 1.0
    return found


def _one_block(drawn: Drawn, cells: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]) -> Kinds:
    """Every row shows three sets of codes."""
    attributes, regions, numbers = attributes_of(drawn.codes), [], []
    for axis in range(3):
        different = sorted({row[axis] for row in cells})
        regions.append(Regions.sets(drawn.codes[axis], [list(one) for one in different]))
        numbers.append(np.array([different.index(row[axis]) for row in cells]))
    pairs = sorted({row[:2] for row in cells})
    group = np.array([pairs.index(row[:2]) for row in cells])
    release = build_release(attributes, regions, [BlockRows((0, 1, 2), group, tuple(numbers))])[0]
    rows = [tuple(_only(n, *one) for n, one in zip(drawn.codes, row, strict=True)) for row in cells]
    return Kinds(EarlierRelease(release=release), [[rows]])


def _cuts(rng: np.random.Generator, codes: int) -> list[tuple[int, ...]]:
    """A partition of a line into intervals, by code."""
    inner = sorted(rng.choice(np.arange(1, codes), size=int(rng.integers(0, codes)), replace=False).tolist())
    ends = [0, *inner, codes]
    return [tuple(range(lo, hi)) for lo, hi in pairwise(ends) for _ in range(hi - lo)]


def by_order(rng: np.random.Generator, d: Drawn) -> Kinds:
    """Generalised: everybody's own interval around a, and a set around b."""
    cells = []
    for a, b, s in zip(d.a, d.b, d.s, strict=True):
        lo, hi = rng.integers(0, a + 1), rng.integers(a, d.codes[0])
        more = tuple(np.flatnonzero((rng.random(d.codes[1]) < 0.4) | (np.arange(d.codes[1]) == b)).tolist())
        cells.append((tuple(range(lo, hi + 1)), more, (int(s),)))
    return _one_block(d, cells)


def by_hierarchy(rng: np.random.Generator, d: Drawn) -> Kinds:
    """Generalised: nodes of a hierarchy, which need not be neighbours."""
    order = rng.permutation(d.codes[0])
    node = {int(code): int(place) // 2 for place, code in enumerate(order)}
    wide = rng.random(len(d.a)) < 0.4
    cells = []
    for i, (a, b, s) in enumerate(zip(d.a, d.b, d.s, strict=True)):
        same = tuple(sorted(c for c, n in node.items() if n == node[int(a)]))
        cells.append((tuple(range(d.codes[0])) if wide[i] else same, (int(b),), (int(s),)))
    return _one_block(d, cells)


def full_domain(rng: np.random.Generator, d: Drawn) -> Kinds:
    """One recoding of each column for all."""
    on_a, on_b = _cuts(rng, d.codes[0]), _cuts(rng, d.codes[1])
    return _one_block(d, [(on_a[a], on_b[b], (int(s),)) for a, b, s in zip(d.a, d.b, d.s, strict=True)])


def suppressed(rng: np.random.Generator, d: Drawn) -> Kinds:
    """Single cells, also of s, withheld."""
    kept = rng.random((len(d.a), 3)) < 0.6
    whole = [tuple(range(n)) for n in d.codes]
    rows = zip(kept, d.a, d.b, d.s, strict=True)
    return _one_block(
        d,
        [
            tuple((int(v),) if k else w for k, v, w in zip(keep, (a, b, s), whole, strict=True))
            for keep, a, b, s in rows
        ],
    )


def other_columns(rng: np.random.Generator, d: Drawn) -> Kinds:
    """A table without b."""
    attributes = attributes_of(d.codes)
    on_a = _cuts(rng, d.codes[0])
    different = sorted({on_a[a] for a in d.a})
    number = np.array([different.index(on_a[a]) for a in d.a])
    regions = [Regions.sets(d.codes[0], [list(x) for x in different]), Regions.singles(d.codes[2])]
    release = build_release((attributes[0], attributes[2]), regions, [BlockRows((0, 1), number, (number, d.s))])[0]
    rows = [(_only(d.codes[0], *on_a[a]), None, _only(d.codes[2], s)) for a, s in zip(d.a, d.s, strict=True)]
    return Kinds(EarlierRelease(release=release), [[rows]])


def _sliced(rng: np.random.Generator, d: Drawn, blocks: list[tuple[int, ...]]) -> Kinds:
    group = np.unique(rng.integers(0, max(1, len(d.a) // 2), len(d.a)), return_inverse=True)[1]
    columns = (d.a, d.b, d.s)
    release = build_release(
        attributes_of(d.codes),
        [Regions.singles(n) for n in d.codes],
        [BlockRows(block, group, tuple(columns[i] for i in block)) for block in blocks],
    )[0]
    plain = [
        [
            [
                tuple(_only(d.codes[i], columns[i][row]) if i in block else None for i in range(3))
                for row in np.flatnonzero(group == g)
            ]
            for block in blocks
        ]
        for g in range(int(group.max()) + 1)
    ]
    return Kinds(EarlierRelease(release=release), plain)


def anatomy(rng: np.random.Generator, d: Drawn) -> Kinds:
    """Buckets: {a, b} {s}."""
    return _sliced(rng, d, [(0, 1), (2,)])


def two_blocks(rng: np.random.Generator, d: Drawn) -> Kinds:
    """Slices {a} {b, s}."""
    return _sliced(rng, d, [(0,), (1, 2)])


def three_blocks(rng: np.random.Generator, d: Drawn) -> Kinds:
    """Slices {a} {b} {s}."""
    return _sliced(rng, d, [(0,), (1,), (2,)])


def _moved(d: Drawn, published: np.ndarray, reach: float) -> Kinds:
    masked = masked_release(attributes_of(d.codes), (published, d.b.astype(np.int64), d.s.astype(np.int64)), (0,))
    near = [np.abs(np.arange(d.codes[0]) - v) <= reach + 1e-9 for v in published]
    rows = [
        (n.astype(float), _only(d.codes[1], b), _only(d.codes[2], s)) for n, b, s in zip(near, d.b, d.s, strict=True)
    ]
    return Kinds(EarlierRelease(release=masked, within={"a": reach}), [[rows]])


def noise(rng: np.random.Generator, d: Drawn) -> Kinds:
    """a moved by at most 1.2."""
    return _moved(d, d.a + rng.uniform(-1.2, 1.2, len(d.a)), 1.2)


def microaggregation(rng: np.random.Generator, d: Drawn) -> Kinds:
    """a replaced by the mean of neighbours."""
    order = np.argsort(d.a, kind="stable")
    published = np.zeros(len(d.a))
    for some in np.array_split(order, max(1, len(order) // 2)):
        published[some] = d.a[some].mean()
    return _moved(d, published, float(np.abs(published - d.a).max()))


def _channelled(rng: np.random.Generator, d: Drawn, axis: int) -> Kinds:
    n = d.codes[axis]
    matrix = np.eye(n) * 0.6 + rng.dirichlet(np.ones(n), n) * 0.4
    columns = [d.a.astype(np.float64), d.b.astype(np.int64), d.s.astype(np.int64)]
    shown = np.array([rng.choice(n, p=matrix[v]) for v in columns[axis]])
    columns[axis] = shown
    release = masked_release(attributes_of(d.codes), tuple(columns), (axis,), {axis: matrix})
    rows = []
    for i in range(len(d.a)):
        row = [_only(m, int(c[i])) for m, c in zip(d.codes, columns, strict=True)]
        row[axis] = matrix[:, shown[i]]
        rows.append(tuple(row))
    return Kinds(EarlierRelease(release=release), [[rows]])


def pram_secret(rng: np.random.Generator, d: Drawn) -> Kinds:
    """s changed by a published channel."""
    return _channelled(rng, d, 2)


def pram_known(rng: np.random.Generator, d: Drawn) -> Kinds:
    """b changed by a published channel."""
    return _channelled(rng, d, 1)


KINDS = (
    by_order, by_hierarchy, full_domain, suppressed, other_columns, anatomy, two_blocks, three_blocks, noise,
    microaggregation, pram_secret, pram_known,
)  # fmt: skip

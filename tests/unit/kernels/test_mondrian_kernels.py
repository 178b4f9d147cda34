"""Mondrian on codes against a plain recursive one, and kernels against their uncompiled selves."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from unveil.kernels import ancestors, cells, mondrian, splits
from unveil.kernels import partition as driver
from unveil.kernels.axes import CutAxis
from unveil.kernels.partition import partition, warm

TREE = np.array([[0, 0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 2, 3, 3, 3, 4, 5]])  # over nine codes


class PlainMondrian:
    """Depth first, one node at a time, on lists of row numbers."""

    def __init__(self, columns, axes, sensitive, allowed, smallest, relaxed):
        self.rows = list(zip(*[column.tolist() for column in columns], strict=True))
        self.axes, self.sensitive, self.allowed = axes, sensitive, allowed
        self.smallest, self.relaxed = smallest, relaxed
        self.groups, self.boxes = [], []
        everyone = list(range(len(columns[0])))
        self.range = [self.known_range(everyone, j) for j in range(len(axes))]
        self.cut(everyone, [(None, None)] * len(axes), [])

    def position(self, j, code):
        axis = self.axes[j]
        return float(code) if axis.position is None else float(axis.position[code])

    def known(self, members, j):
        missing = self.axes[j].codes - 1 if self.axes[j].missing else None
        return [self.rows[i][j] for i in members if self.rows[i][j] != missing]

    def known_range(self, members, j):
        known = self.known(members, j)
        return self.position(j, max(known)) - self.position(j, min(known)) if known else 0.0

    def subclasses(self, j, codes):
        """The leaves under the lowest common ancestor of some codes, and its subclasses."""
        axis = self.axes[j]
        leaves = range(axis.codes - axis.missing)
        names = [(0, *(level[c] for level in axis.hierarchy.tolist()), c) for c in leaves]
        depth = max(q for q in range(len(names[0]) + 1) if len({names[c][:q] for c in codes}) == 1)
        shared = names[min(codes)][:depth]
        under = [c for c in leaves if names[c][:depth] == shared]
        parts = {}
        for c in under:
            parts.setdefault(names[c][: depth + 1], []).append(c)
        return under, list(parts.values())

    def width(self, members, j):
        codes = {self.rows[i][j] for i in members}
        known = set(self.known(members, j))
        if len(codes) == 1:
            return -1.0
        if codes != known:
            return 1.0
        if self.axes[j].hierarchy is not None:
            return len(self.subclasses(j, codes)[0]) / (self.axes[j].codes - self.axes[j].missing)
        return self.known_range(members, j) / self.range[j] if self.range[j] else 0.0

    def cuts(self, members, j):
        """Candidate cuts on an axis, best first: lists of (members, bounds) a child."""
        code = {i: self.rows[i][j] for i in members}
        if set(code.values()) != set(self.known(members, j)):
            missing = self.axes[j].codes - 1
            rest = [i for i in members if code[i] != missing]
            return [[(rest, (None, None)), ([i for i in members if code[i] == missing], (missing, missing))]]
        if self.axes[j].hierarchy is not None:
            parts = self.subclasses(j, set(code.values()))[1]
            children = [([i for i in members if code[i] in part], (part[0], part[-1])) for part in parts]
            return [[child for child in children if child[0]]]
        median = sorted(code.values())[(len(members) + 1) // 2 - 1]
        if self.relaxed:
            half = len(members) // 2
            below = [i for i in members if code[i] < median]
            equal = [i for i in members if code[i] == median]
            ties = half - len(below)
            left = {*below, *equal[:ties]}
            bounds = (None, median if ties else median - 1), (median if equal[ties:] else median + 1, None)
            sides = [i for i in members if i in left], [i for i in members if i not in left]
            return [list(zip(sides, bounds, strict=True))]
        choices = []
        for last in (median, median - 1):
            left = [i for i in members if code[i] <= last]
            right = [i for i in members if code[i] > last]
            choices.append([(left, (None, last)), (right, (last + 1, None))])
        return sorted(choices, key=lambda cut: abs(len(cut[0][0]) - len(cut[1][0])))

    def values(self, members):
        return [self.sensitive[i] for i in members]

    def cut(self, members, box, above):
        path = [*above, members]
        ancestors = [self.values(ancestor) for ancestor in path]
        order = sorted(range(len(self.axes)), key=lambda j: -self.width(members, j))
        for j in order:
            if self.width(members, j) < 0:
                continue
            for children in self.cuts(members, j):
                if all(
                    len(child) >= self.smallest and self.allowed(self.values(child), ancestors) for child, _ in children
                ):
                    for child, (low, high) in children:
                        inner = list(box)
                        inner[j] = box[j][0] if low is None else low, box[j][1] if high is None else high
                        self.cut(child, inner, path)
                    return
        self.groups.append(members)
        self.boxes.append(box)

    def group(self):
        numbers = np.empty(len(self.rows), np.int32)
        for g, members in enumerate(self.groups):
            numbers[members] = g
        return numbers


def diverse(values, ancestors=()):
    return len(set(values)) >= 2 and 2 * max(Counter(values).values()) <= len(values)


def all_diverse(candidates):
    counts = candidates.histograms[0]
    return ((counts > 0).sum(axis=1) >= 2) & (2 * counts.max(axis=1) <= candidates.size)


def made_up(seed, rows, *, missing=False, hierarchy=False):
    rng = np.random.default_rng(seed)
    position = np.sort(rng.normal(size=12 + missing))
    axes = [
        CutAxis(12 + missing, position=position, missing=missing),
        CutAxis(9 + missing, missing=missing, hierarchy=TREE if hierarchy else None),
        CutAxis(2),
        CutAxis(300),
    ]
    columns = [
        np.minimum(rng.geometric(0.15, rows) - 1, 11).astype(np.uint8),
        rng.integers(0, 9, rows).astype(np.uint8),
        rng.integers(0, 2, rows).astype(np.uint8),
        (rng.integers(0, 20, rows) * 15).astype(np.uint16),
    ]
    if missing:
        for column, axis in zip(columns, axes, strict=True):
            if axis.missing:
                column[rng.random(rows) < 0.15] = axis.codes - 1
    sensitive = rng.choice(5, rows, p=[0.4, 0.3, 0.1, 0.1, 0.1]).astype(np.uint8)
    return columns, axes, sensitive


def check_against_plain(columns, axes, sensitive, *, smallest, by_diversity, relaxed=False, **options):
    found = partition(
        columns,
        axes,
        [sensitive] if by_diversity else [],
        [5] if by_diversity else [],
        allowed=all_diverse if by_diversity else None,
        smallest=smallest,
        relaxed=relaxed,
        **options,
    )
    plain = PlainMondrian(
        columns,
        axes,
        sensitive.tolist(),
        diverse if by_diversity else lambda values, ancestors: True,
        smallest,
        relaxed,
    )
    np.testing.assert_array_equal(found.group, plain.group())
    np.testing.assert_array_equal(found.size, [len(members) for members in plain.groups])
    for g, (members, box) in enumerate(zip(plain.groups, plain.boxes, strict=True)):
        for j, axis in enumerate(axes):
            known = plain.known(members, j)
            assert found.missing[g, j] == (len(known) < len(members))
            tight = (min(known), max(known)) if known else (axis.codes - 1,) * 2
            assert (found.low[g, j], found.high[g, j]) == tight
            low = box[j][0] if box[j][0] is not None else (0 if known else axis.codes - 1)
            high = box[j][1] if box[j][1] is not None else axis.codes - 1 - (axis.missing and bool(known))
            assert (found.cut_low[g, j], found.cut_high[g, j]) == (low, high)
            assert low <= tight[0] <= tight[1] <= high
    return found


@pytest.mark.parametrize("by_diversity", [False, True])
@pytest.mark.parametrize("hierarchy", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize(("seed", "rows", "smallest"), [(1, 60, 2), (2, 300, 5), (3, 400, 1)])
def test_partition_is_that_of_plain_mondrian(seed, rows, smallest, relaxed, missing, hierarchy, by_diversity):
    columns, axes, sensitive = made_up(seed, rows, missing=missing, hierarchy=hierarchy)
    found = check_against_plain(columns, axes, sensitive, smallest=smallest, by_diversity=by_diversity, relaxed=relaxed)
    assert found.groups > 1
    assert found.size.min() >= smallest


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("hierarchy", [False, True])
def test_neither_chunks_nor_collapsing_change_the_partition(missing, hierarchy, monkeypatch):
    columns, axes, sensitive = made_up(4, 3000, missing=missing, hierarchy=hierarchy)
    columns[3] %= 60

    def run(**options):
        return partition(columns, axes, [sensitive], [5], allowed=all_diverse, smallest=3, **options)

    found = run()
    assert found.groups > 20
    others = [run(entries=1), run(collapse=True), run(collapse=True, entries=100)]
    monkeypatch.setattr(driver, "_RECORDS", 50)
    others += [run(), run(entries=30)]
    nodes = sorted(zip(*(ends.tolist() for ends in found.runs()), strict=True))
    for other in others:
        for name in set(found.__slots__) - {"parent", "node"}:
            np.testing.assert_array_equal(getattr(other, name), getattr(found, name))
        # The same tree, whatever the order in which its nodes were numbered.
        assert sorted(zip(*(ends.tolist() for ends in other.runs()), strict=True)) == nodes


def test_many_words_and_many_codes():
    rng = np.random.default_rng(5)
    rows, d = 80, 40
    columns = [rng.integers(0, 100_000, rows).astype(np.uint32) for _ in range(d)]
    axes = [CutAxis(100_000) for _ in range(d)]
    sensitive = rng.integers(0, 5, rows).astype(np.uint8)
    assert cells.lay_out([100_000] * d).words == 14
    check_against_plain(columns, axes, sensitive, smallest=3, by_diversity=False)
    check_against_plain(columns, axes, sensitive, smallest=3, by_diversity=True)
    check_against_plain(columns, axes, sensitive, smallest=3, by_diversity=True, relaxed=True)
    twice = [np.tile(column, 2) for column in columns]
    check_against_plain(twice, axes, np.tile(sensitive, 2), smallest=3, by_diversity=True, collapse=True)


def test_several_sensitive_attributes():
    columns, axes, sensitive = made_up(6, 500)
    other = columns[1]

    def both(candidates):
        first, second = candidates.histograms
        assert (first.sum(axis=1) == candidates.size).all()
        assert (second.sum(axis=1) == candidates.size).all()
        return all_diverse(candidates) & ((second > 0).sum(axis=1) >= 3)

    found = partition(columns, axes, [sensitive, other], [5, 9], allowed=both)
    assert found.groups > 5
    for g in range(found.groups):
        assert diverse(sensitive[found.group == g].tolist())
        assert len(np.unique(other[found.group == g])) >= 3


def distance(counts, others):
    """Total variation between rows of histograms."""
    counts, others = np.atleast_2d(counts), np.atleast_2d(others)
    return np.abs(counts / counts.sum(1)[:, None] - others / others.sum(1)[:, None]).sum(axis=1) / 2


@pytest.mark.parametrize("hierarchy", [False, True])
def test_supersets_are_the_large_ancestors(hierarchy):
    columns, axes, sensitive = made_up(7, 600, hierarchy=hierarchy)
    n, t = 80, 0.2718

    def close(values, ancestors):
        counts = np.bincount(values, minlength=5)
        large = [np.bincount(ancestor, minlength=5) for ancestor in ancestors if len(ancestor) >= n]
        return len(values) >= n or any(distance(counts, other)[0] <= t for other in large)

    def all_close(candidates):
        supersets = candidates.supersets
        assert (np.diff(supersets.child) >= 0).all()
        np.testing.assert_array_equal(supersets.histograms[0].sum(axis=1), supersets.size)
        best = np.where(candidates.size >= n, 0.0, 1.0)
        far = distance(candidates.histograms[0][supersets.child], supersets.histograms[0][supersets.ancestor])
        np.minimum.at(best, supersets.child, far)
        return best <= t

    plain = PlainMondrian(columns, axes, sensitive.tolist(), close, 3, relaxed=False)
    assert len(plain.groups) > 10
    for options in ({}, {"entries": 1}, {"collapse": True}):
        found = partition(
            columns, axes, [sensitive], [5], allowed=all_close, smallest=3, superset_size=n, **options
        )  # fmt: skip
        np.testing.assert_array_equal(found.group, plain.group())


def test_the_smallest_tables():
    one = partition([np.array([3], np.uint8)], [CutAxis(7)])
    assert (one.groups, one.group.tolist(), one.low.tolist(), one.cut_high.tolist()) == (1, [0], [[3]], [[6]])
    equal = partition([np.full(50, 2, np.uint8)], [CutAxis(7)], relaxed=True)
    assert (equal.groups, equal.size.tolist()) == (1, [50])
    no_axes = partition([], [], [np.zeros(4, np.uint8)], [1])
    assert (no_axes.groups, no_axes.low.shape) == (1, (1, 0))
    nobody = partition([np.empty(0, np.uint8)], [CutAxis(7)])
    assert (nobody.groups, nobody.group.shape, nobody.low.shape) == (0, (0,), (0, 1))
    nothing_known = partition([np.zeros(4, np.uint8)], [CutAxis(1, missing=True, hierarchy=np.zeros((1, 0)))])
    assert (nothing_known.groups, nothing_known.missing.tolist()) == (1, [[True]])
    unknown = partition([np.full(4, 6, np.uint8)], [CutAxis(7, missing=True)])
    assert (unknown.low.tolist(), unknown.cut_low.tolist(), unknown.missing.tolist()) == ([[6]], [[6]], [[True]])


def test_wrong_input_is_refused():
    codes = np.array([0, 7], np.uint8)
    for wrong in (
        lambda: partition([codes], [CutAxis(7)]),
        lambda: partition([codes], []),
        lambda: partition([], []),
        lambda: partition([codes, codes[:1]], [CutAxis(8), CutAxis(8)]),
        lambda: partition([codes], [CutAxis(8, position=np.zeros(3))]),
        lambda: partition([codes], [CutAxis(8, position=-np.arange(8.0))]),
        lambda: partition([codes], [CutAxis(8, hierarchy=np.zeros((1, 3)))]),
        lambda: partition([codes], [CutAxis(8, hierarchy=np.array([[0, 1, 0, 1, 1, 1, 1, 1]]))]),
        lambda: partition(
            [codes], [CutAxis(8, hierarchy=np.array([[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 2, 2, 2]]))]
        ),
        lambda: partition([codes], [CutAxis(8)], allowed=lambda candidates: candidates.size),
        lambda: partition([codes], [CutAxis(8)], allowed=lambda candidates: np.ones(5, np.bool_)),
    ):
        with pytest.raises(ValueError):
            wrong()


@pytest.mark.parametrize("domains", [[3, 4, 2], [3, 40_000, 50_000], [100_000] * 9])
def test_cells_are_the_distinct_rows(domains):
    rng = np.random.default_rng(8)
    few = [cells.column_codes(rng.integers(0, size, 30).astype(np.uint32), size) for size in domains]
    rows = rng.integers(0, 30, 70_000)
    columns = [column[rows] for column in few]
    found = cells.collapse(columns, domains)
    table = np.stack(found.columns)
    distinct, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
    order = np.lexsort(table[::-1])
    np.testing.assert_array_equal(table[:, order], distinct)
    np.testing.assert_array_equal(found.weight[order], counts)
    cell = cells.unite(found, np.arange(len(counts), dtype=np.int32))
    np.testing.assert_array_equal(table[:, cell], np.stack(columns))


def test_rows_that_differ_are_not_collapsed_but_a_growing_table_is():
    rng = np.random.default_rng(9)
    different = np.arange(100_000, dtype=np.uint32)
    assert cells.collapse([different, different], [1 << 20, 1 << 20]) is None
    columns = [np.repeat(rng.integers(0, 1 << 20, 200_000), 2).astype(np.uint32) for _ in range(2)]
    found = cells.collapse(columns, [1 << 20, 1 << 20])
    assert len(found.weight) == 200_000
    assert (found.weight == 2).all()


@pytest.fixture
def uncompiled(monkeypatch):
    """Every kernel replaced by the plain function it was compiled from."""

    def replace():
        for module in (mondrian, splits, ancestors, cells):
            for name, kernel in list(vars(module).items()):
                if hasattr(kernel, "py_func"):
                    monkeypatch.setattr(module, name, kernel.py_func)

    return replace


@pytest.mark.parametrize("relaxed", [False, True])
def test_kernels_give_the_same_uncompiled(uncompiled, relaxed):
    columns, axes, sensitive = made_up(10, 150, missing=True, hierarchy=True)
    columns.append(np.random.default_rng(11).integers(0, 100_000, 150).astype(np.uint32))
    axes.append(CutAxis(100_000))

    def run():
        return partition(
            columns, axes, [sensitive], [5], allowed=all_diverse, smallest=2, relaxed=relaxed, superset_size=40,
            collapse=True,
        )  # fmt: skip

    def collapsed():
        few = [column % 2 for column in columns]
        return [cells.collapse(few, domains) for domains in ([2] * 5, [60_000] * 5)]

    compiled, compiled_cells = run(), collapsed()
    uncompiled()
    with np.errstate(over="ignore"):
        plain, plain_cells = run(), collapsed()
    for name in compiled.__slots__:
        np.testing.assert_array_equal(getattr(plain, name), getattr(compiled, name))
    for one, other in zip(plain_cells, compiled_cells, strict=True):
        np.testing.assert_array_equal(one.weight, other.weight)
        np.testing.assert_array_equal(one.slot[one.key], other.slot[other.key])


def test_warming_up_compiles_all_there_is():
    warm()
    columns, axes, sensitive = made_up(12, 200, missing=True, hierarchy=True)
    for column in columns:
        column.flags.writeable = False
    columns.append(np.arange(200))
    axes.append(CutAxis(200))
    partition(columns, axes, [sensitive], [5], allowed=all_diverse, collapse=True, superset_size=50)
    public = [getattr(module, name) for module in (mondrian, splits, ancestors) for name in module.__all__]
    kernels = [kernel for kernel in public if hasattr(kernel, "py_func")]
    kernels += [cells.count_keys, cells.number_cells, cells.look_up, cells.rehash, cells.add_cells]
    assert [len(kernel.signatures) for kernel in kernels] == [1] * 15
    assert [len(kernel.signatures) for kernel in (cells.put_field, cells.add_scaled)] == [3, 3]


def test_tables_end_to_end_are_cut_as_each_alone():
    random = np.random.default_rng(11)
    axes = [CutAxis(9, hierarchy=TREE), CutAxis(30), CutAxis(5, missing=True)]
    sizes = (40, 1, 7, 120)
    columns = [random.integers(0, axis.codes, sum(sizes)).astype(np.uint8) for axis in axes]
    table_from = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    extent = np.array([8.0, 29.0, 3.0])
    together = partition(columns, axes, smallest=3, table_from=table_from, extent=extent)
    seen = 0
    for begin, end in pairwise(table_from):
        alone = partition([c[begin:end] for c in columns], axes, smallest=3, extent=extent)
        np.testing.assert_array_equal(together.group[begin:end] - seen, alone.group)
        for name in ("size", "low", "high", "cut_low", "cut_high", "missing"):
            np.testing.assert_array_equal(getattr(together, name)[seen : seen + alone.groups], getattr(alone, name))
        seen += alone.groups
    assert seen == together.groups > len(sizes)


def test_the_lower_median_reaches_half_of_the_rows_rounded_down():
    ages = np.array([28, 36, 47, 53, 72], np.uint8)
    assert partition([ages], [CutAxis(100)], smallest=2, lower=True).group.tolist() == [0, 0, 1, 1, 1]
    assert partition([ages], [CutAxis(100)], smallest=2).group.tolist() == [0, 0, 0, 1, 1]
    tied = np.array([1, 1, 1, 1, 2, 3], np.uint8)  # only up to 1: four against two, and no second choice
    assert partition([tied], [CutAxis(5)], smallest=3, lower=True).groups == 1
    assert partition([tied], [CutAxis(5)], smallest=2, lower=True).size.tolist() == [4, 2]

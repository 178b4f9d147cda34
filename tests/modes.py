"""Tables that hide links and have an exactly known posterior, many of them with several modes.

Exact by counts: a matching matters only by how many rows of each value have each code, so that matchings are counted,
group by group, by these numbers. A second way integrates over the parameters instead, group by group, on a grid.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Prior, Targets, known_exactly
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release

Floats = NDArray[np.float64]
Cell = tuple[int, ...]
Group = tuple[tuple[Cell, ...], tuple[int, ...]]  # cells and values, each in any order


@dataclass(frozen=True)
class Hidden:
    """A table in buckets: cells and values of each, and what is held beforehand."""

    name: str
    groups: tuple[Group, ...]
    codes: tuple[int, ...]
    values: int = 2
    beta: float = 1.0

    @property
    def rows(self) -> int:
        return sum(len(cells) for cells, _ in self.groups)

    @property
    def cells(self) -> list[Cell]:
        return sorted({cell for cells, _ in self.groups for cell in cells})

    def release(self) -> Release:
        attributes = [
            Attribute(f"a{i}", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple(map(str, range(n))))
            for i, n in enumerate(self.codes)
        ]
        attributes.append(Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, tuple(map(str, range(self.values)))))
        group = np.repeat(np.arange(len(self.groups)), [len(cells) for cells, _ in self.groups])
        cell = np.array([cell for cells, _ in self.groups for cell in cells])
        value = np.array([value for _, values in self.groups for value in values])
        own = len(self.codes)
        parts = [BlockRows(tuple(range(own)), group, tuple(cell.T)), BlockRows((own,), group, (value,))]
        return build_release(attributes, [Regions.singles(a.codes) for a in attributes], parts)[0]

    def prior(self, release: Release) -> Prior:
        return Prior.uninformative(release, len(self.codes), beta=self.beta)

    def targets(self, release: Release) -> Targets:
        """Everybody who can be told apart."""
        columns = np.array(self.cells).T
        return known_exactly(release, dict(enumerate(columns)), len(self.codes))

    def kinds(self) -> dict[Group, int]:
        found: dict[Group, int] = {}
        for cells, values in self.groups:
            kind = tuple(sorted(cells)), tuple(sorted(values))
            found[kind] = found.get(kind, 0) + 1
        return found


def by_counts(table: Hidden) -> tuple[Floats, Floats]:
    """(cells, values) what learner and attacker believe, exactly.

    Counted in an array with an axis for each value but the first, attribute, and code but the first: how many rows of
    the value have the code.
    """
    axes = [(s, a, v) for s in range(1, table.values) for a, n in enumerate(table.codes) for v in range(1, n)]
    held = np.bincount([value for _, values in table.groups for value in values], minlength=table.values)
    shape = tuple(int(held[s]) + 1 for s, _, _ in axes)
    cells = table.cells
    pairs = [(c, s) for c in range(len(cells)) for s in range(1, table.values)]
    ways = np.full(shape, -np.inf)
    ways[(0,) * len(axes)] = 0.0
    moments = {pair: np.full(shape, -np.inf) for pair in pairs}  # log of ways times the rows of this cell and value
    reach = np.zeros(len(axes), dtype=int)
    for group_cells, group_values in table.groups:
        terms: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        for order in permutations(group_values):
            rows = list(zip(group_cells, order, strict=True))
            step = tuple(sum(cell[a] == v and w == s for cell, w in rows) for s, a, v in axes)
            own = tuple(sum(cell == cells[c] and w == s for cell, w in rows) for c, s in pairs)
            terms[step, own] = terms.get((step, own), 0) + 1
        new_ways = np.full(shape, -np.inf)
        new = {pair: np.full(shape, -np.inf) for pair in pairs}
        most = reach + np.max([step for step, _ in terms], axis=0)
        for (step, own), times in terms.items():
            from_ = tuple(slice(0, r + 1) for r in reach)
            to = tuple(slice(s, s + r + 1) for s, r in zip(step, reach, strict=True))
            log_times = np.log(times)
            new_ways[to] = np.logaddexp(new_ways[to], ways[from_] + log_times)
            for place, pair in enumerate(pairs):
                here = moments[pair][from_] + log_times
                if own[place]:
                    here = np.logaddexp(here, ways[from_] + log_times + np.log(own[place]))
                new[pair][to] = np.logaddexp(new[pair][to], here)
        ways, moments, reach = new_ways, new, np.minimum(most, np.array(shape) - 1)
    counts = _counts(table, axes, shape, held)
    weight = np.zeros(shape)
    for (s, a), table_of in counts.items():
        beta = table.beta
        weight = weight + sum(gammaln(beta + n) for n in table_of) - gammaln(beta * table.codes[a] + held[s])
    log_total = logsumexp(ways + weight)
    attacker = np.zeros((len(cells), table.values))
    for (c, s), moment in moments.items():
        attacker[c, s] = np.exp(logsumexp(moment + weight) - log_total)
    rows = np.array([sum(cell == other for group, _ in table.groups for other in group) for cell in cells])
    attacker[:, 0] = np.maximum(rows - attacker[:, 1:].sum(axis=1), 0.0)
    posterior = np.exp(ways + weight - log_total)
    learner = np.zeros((len(cells), table.values))
    for c, cell in enumerate(cells):
        for s in range(table.values):
            share = np.full(shape, 1.0 + held[s])
            for a, code in enumerate(cell):
                share = share * (table.beta + counts[s, a][code]) / (table.beta * table.codes[a] + held[s])
            learner[c, s] = (posterior * share).sum()
    return learner / learner.sum(axis=1, keepdims=True), attacker / attacker.sum(axis=1, keepdims=True)


def _counts(
    table: Hidden, axes: Sequence[tuple[int, int, int]], shape: tuple[int, ...], held: NDArray[np.int64]
) -> dict[tuple[int, int], list[Floats]]:
    """By value and attribute: how many rows of the value have each code, over the whole array (nan: impossible)."""
    grid = np.indices(shape).astype(float)
    total = {
        (a, v): sum(cell[a] == v for cells, _ in table.groups for cell in cells)
        for a, n in enumerate(table.codes)
        for v in range(n)
    }
    found = {}
    for s in range(table.values):
        for a, n in enumerate(table.codes):
            of = []
            for v in range(1, n):
                if s:
                    of.append(grid[axes.index((s, a, v))])
                else:
                    of.append(total[a, v] - sum(grid[axes.index((t, a, v))] for t in range(1, table.values)))
            first = held[s] - sum(of)
            found[s, a] = [np.where(x < 0, 0.0, x) for x in (first, *of)]  # what cannot be has no ways
    return found


def by_integration(table: Hidden, nodes: int = 96) -> tuple[Floats, Floats]:
    """(cells, values) the same by a grid over the parameters; for binary attributes, two values, beta = 1."""
    assert table.values == 2
    assert set(table.codes) == {2}
    at, width = np.polynomial.legendre.leggauss(nodes)
    at, width = (at + 1) / 2, width / 2
    dims = 2 * len(table.codes)
    axis = {
        (s, a): at.reshape([-1 if d == s * len(table.codes) + a else 1 for d in range(dims)])
        for s in range(2)
        for a in range(len(table.codes))
    }
    log_volume = sum(np.log(width).reshape([-1 if e == d else 1 for e in range(dims)]) for d in range(dims))

    def chance(cell: Cell, s: int) -> Floats:
        found = 1.0
        for a, code in enumerate(cell):
            found = found * (axis[s, a] if code else 1 - axis[s, a])
        return np.asarray(found)

    cells = table.cells
    log_weight = np.asarray(log_volume, dtype=float)
    expected = {}  # rows of each cell and value
    for (group_cells, group_values), times in table.kinds().items():
        total, own = 0.0, dict.fromkeys(product(range(len(cells)), range(2)), 0.0)
        for order in permutations(group_values):
            here = 1.0
            for cell, s in zip(group_cells, order, strict=True):
                here = here * chance(cell, s)
            total = total + here
            for cell, s in zip(group_cells, order, strict=True):
                own[cells.index(cell), s] = own[cells.index(cell), s] + here
        log_weight = log_weight + times * np.log(total)
        for pair, rows in own.items():
            expected[pair] = expected.get(pair, 0.0) + times * rows / total
    share = np.exp(log_weight - logsumexp(log_weight))
    attacker = np.array([[float((share * expected[c, s]).sum()) for s in range(2)] for c in range(len(cells))])
    held = np.bincount([value for _, values in table.groups for value in values], minlength=2)
    learner = np.array([[float((share * chance(c, s)).sum()) * (1 + held[s]) for s in range(2)] for c in cells])
    return learner / learner.sum(axis=1, keepdims=True), attacker / attacker.sum(axis=1, keepdims=True)


def drawn_table(
    name: str,
    seed: int,
    shapes: dict[tuple[int, ...], int],
    shares: Sequence[Sequence[Sequence[float]]],
    beta: float = 1.0,
) -> Hidden:
    """Groups that hold these values, as many as it says; cells drawn from `shares` (attributes, values, codes)."""
    random = np.random.default_rng(seed)
    groups = []
    for values, times in shapes.items():
        for _ in range(times):
            cells = tuple(tuple(int(random.choice(len(of[s]), p=of[s])) for of in shares) for s in values)
            groups.append((cells, values))
    codes = tuple(len(of[0]) for of in shares)
    return Hidden(name, tuple(groups), codes, len(shares[0]), beta)


def _binary(strength: float, other: float | None = None) -> list[list[float]]:
    other = 1 - strength if other is None else other
    return [[strength, 1 - strength], [other, 1 - other]]


def tables() -> Iterator[Hidden]:
    """At least 40 of them: symmetric, tilted, near-deterministic, tiny beta, case-control, two and three modes."""
    for rows in (40, 100, 344, 1000, 3000):
        for strength in (0.6, 0.8, 0.95):
            shapes = {(0, 1): rows // 2}
            yield drawn_table(f"case-control, {rows} rows, {strength}", rows, shapes, [_binary(strength)])
    for rows in (40, 160, 344):
        for strength in (0.7, 0.9):
            two = [_binary(strength), _binary(strength)]
            yield drawn_table(f"case-control of two, {rows} rows, {strength}", rows + 1, {(0, 1): rows // 2}, two)
    for rows in (60, 240, 600, 2000):
        for share in (0.05, 0.3):
            many = int(rows * share) // 3
            shapes = {(0, 1): (rows - 3 * many) // 2, (0, 0, 1): many}
            yield drawn_table(f"tilted by {share}, {rows} rows", rows + 7, shapes, [_binary(0.8, 0.3)])
    for rows in (60, 150, 300):
        shapes = {(0, 1): rows // 3, (0, 0, 1): rows // 18, (0, 1, 1): rows // 18}
        yield drawn_table(f"tilted of two, {rows} rows", rows + 3, shapes, [_binary(0.85, 0.2), _binary(0.75, 0.4)])
    for rows in (60, 400):
        for strength in (0.99, 1.0):
            shapes = {(0, 1): rows // 2 - 3, (0, 0, 1): 2}
            yield drawn_table(f"near-deterministic {strength}, {rows} rows", rows, shapes, [_binary(strength)])
    for beta in (0.01, 0.1, 0.5):
        for rows in (40, 200):
            shapes = {(0, 1): rows // 2 - 3, (0, 0, 1): 2}
            yield drawn_table(f"beta {beta}, {rows} rows", rows + 5, shapes, [_binary(0.8)], beta)
    of_three = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    for rows in (24, 33):
        yield drawn_table(f"three modes, {rows} rows", rows, {(0, 1, 2): rows // 3}, [of_three])
    for rows in (60, 180):
        ramp = [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]
        yield drawn_table(f"three values, {rows} rows", rows, {(0, 1, 2): rows // 3}, [ramp])
    wide = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    for rows in (60, 200):
        yield drawn_table(f"three codes, {rows} rows", rows + 2, {(0, 1): rows // 2 - 6, (0, 0, 1, 1): 3}, [wide])
    yield misled()


def misled() -> Hidden:
    """A first look, value by value, points away from where nearly all of the posterior is: 88% right, or 12%."""
    a, b, c, d = (0, 0), (1, 1), (1, 0), (0, 1)
    pairs = {(a, b): 87, (a, c): 6, (b, c): 3, (b, d): 2, (a, d): 1, (a, a): 1}
    groups = [group for cells, times in pairs.items() for group in [(cells, (0, 1))] * times]
    groups += [((a, a, b), (0, 0, 1))] * 30 + [((a, a, a), (0, 1, 1))] * 9 + [((b, b, b), (0, 0, 1))] * 9
    return Hidden("misled", tuple(groups), (2, 2))


def blind_tables() -> Iterator[Hidden]:
    """Tables invented before the sampler was tried on any of them: ten ways to be fooled."""
    odd = [[0.9, 0.1], [0.15, 0.85], [0.15, 0.85]]  # which of three values is the odd one: three modes
    yield drawn_table("odd one of three, 180 rows", 901, {(0, 1, 2): 60}, [odd])
    yield _two_sides("two attributes that mirror alone, 120 rows", 902, 28, 28, 4)
    yield _sets("two sets that flip alone, 120 rows", 903, 4, 60, 0.9)
    yield _sets("three sets that flip alone, 36 rows", 904, 6, 18, 0.9)
    sure = [[[1.0, 0.0], [0.02, 0.98]], [[0.8, 0.2], [0.2, 0.8]]]
    yield drawn_table("near-deterministic beside symmetric, 200 rows", 905, {(0, 1): 94, (0, 0, 1): 4}, sure)
    yield drawn_table(
        "beta 0.001, three codes, 90 rows", 906, {(0, 1): 45}, [[[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]], 0.001
    )
    yield drawn_table("groups of four, 2900 rows", 907, {(0, 0, 1, 1): 725}, [_binary(0.7)])
    half = {(0, 1): 20, (0, 1, 2): 8, (2, 3): 12, (0, 1, 3, 3): 4}
    yield drawn_table(
        "four values, two alike, 104 rows", 908, half, [[[0.85, 0.15], [0.15, 0.85], [0.6, 0.4], [0.3, 0.7]]]
    )
    alike = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]]
    yield drawn_table("three values, two alike, 32 rows", 909, {(0, 1): 7, (0, 1, 2): 6}, [alike])
    conflict = {(0, 1): 60, (0, 0, 1): 10, (0, 1, 1): 9}
    yield drawn_table("weights of 2900 rows, tilted", 910, {(0, 1): 1417, (0, 0, 1): 22}, [_binary(0.55, 0.45)])
    yield drawn_table("two attributes that disagree, 177 rows", 911, conflict, [_binary(0.8, 0.25), _binary(0.25, 0.8)])


def _two_sides(name: str, seed: int, first: int, second: int, ties: int) -> Hidden:
    """Case and control differ in one attribute in some buckets, in the other in others, in both in few."""
    random = np.random.default_rng(seed)
    groups: list[Group] = []
    for number in range(first + second + ties):
        shown = number % 2
        a, b = ((0, 1) if random.random() < 0.9 else (1, 0)), ((0, 1) if random.random() < 0.9 else (1, 0))
        if number < first:
            b = (shown, shown)
        elif number < first + second:
            a = (shown, shown)
        groups.append((((a[0], b[0]), (a[1], b[1])), (0, 1)))
    return Hidden(name, tuple(groups), (2, 2))


def _sets(name: str, seed: int, codes: int, buckets: int, strength: float) -> Hidden:
    """Case and control in buckets that show codes 0 and 1, or 2 and 3, …: each set of buckets has its own mirror."""
    random = np.random.default_rng(seed)
    groups: list[Group] = []
    for number in range(buckets):
        low = number % (codes // 2) * 2
        case = [low, low + 1] if random.random() < strength else [low + 1, low]
        groups.append((((case[0],), (case[1],)), (0, 1)))
    return Hidden(name, tuple(groups), (codes,))

"""Exact posteriors of hidden links, in three ways that share nothing but the table.

By counts: a matching matters only by how many rows of each value have each code, so that matchings are counted, group
by group, in an array of these numbers. By kinds: groups that look alike are told apart only by how many of them are
matched in each way, and all such numbers are listed. By integration over the parameters: for given parameters groups
are independent, and the posterior is a polynomial times a Dirichlet density, which Gauss's rule integrates exactly.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations
from math import comb, prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, roots_jacobi

from tests.modes import WITHHELD, Cell, Floats, Group, Hidden

CHUNK = 1 << 18  # states or places that are worked on at a time
MOST = 2e8  # of them


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


Matching = tuple[tuple[Cell, int], ...]  # who has which value, in order


def matchings(group: Group, values: int) -> dict[Matching, int]:
    """Who may have which value, and in how many orders of the published values; a withheld one may be any."""
    cells, published = sorted(group[0]), group[1]
    found: dict[tuple[tuple[tuple[Cell, int], ...], tuple[int, ...]], int] = {((), tuple(sorted(published))): 1}
    for cell in cells:
        grown: dict[tuple[tuple[tuple[Cell, int], ...], tuple[int, ...]], int] = {}
        for (rows, left), times in found.items():
            for value, count in Counter(left).items():
                rest = list(left)
                rest.remove(value)
                for one in range(values) if value == WITHHELD else (value,):
                    key = tuple(sorted((*rows, (cell, one)))), tuple(rest)
                    grown[key] = grown.get(key, 0) + times * count
        found = grown
    return {rows: times for (rows, _), times in found.items()}


def listed(table: Hidden) -> float:
    """How many states `by_kinds` lists."""
    return prod(
        float(comb(times + (ways := len(matchings(kind, table.values))) - 1, ways - 1))
        for kind, times in table.kinds().items()
    )


def by_kinds(table: Hidden) -> tuple[Floats, Floats]:
    """(cells, values) what learner and attacker believe: every number of groups of a kind that are matched alike."""
    cells, places = table.cells, [(a, v) for a, n in enumerate(table.codes) for v in range(n)]
    weight, count, own = [], [], []  # of each kind, by how its groups are divided over the matchings
    for kind, times in table.kinds().items():
        ways = matchings(kind, table.values)
        divided = np.array(list(_divisions(times, len(ways))))
        weight.append(gammaln(times + 1) - gammaln(divided + 1).sum(axis=1) + divided @ np.log(list(ways.values())))
        coded = [
            [[sum(w == s and c[a] == v for c, w in m) for a, v in places] for s in range(table.values)] for m in ways
        ]
        count.append(np.tensordot(divided, np.array(coded), axes=1))  # (states, values, places)
        rows = [
            [[sum(w == s and c == cell for c, w in m) for s in range(table.values)] for cell in cells] for m in ways
        ]
        own.append(np.tensordot(divided, np.array(rows), axes=1))  # (states, cells, values)
    log_gamma = gammaln(table.beta + np.arange(table.rows + 1))
    log_sum = {n: gammaln(table.beta * n + np.arange(table.rows + 1)) for n in set(table.codes)}
    log_alpha = gammaln(1.0 + np.arange(table.rows + 1))
    mean = _Mean()
    for which in _chunks([len(one) for one in weight]):
        log_weight = np.sum([one[at] for one, at in zip(weight, which, strict=True)], axis=0)
        counts = np.sum([one[at] for one, at in zip(count, which, strict=True)], axis=0)
        held = counts[:, :, : table.codes[0]].sum(axis=2)
        log_weight = log_weight + log_gamma[counts].sum(axis=(1, 2)) + log_alpha[held].sum(axis=1)
        for n in table.codes:
            log_weight = log_weight - log_sum[n][held].sum(axis=1)
        share = 1.0 + held[:, None, :]  # (states, cells, values)
        for c, cell in enumerate(cells):
            for a, v in enumerate(cell):
                top = table.beta + counts[:, :, places.index((a, v))]
                share = share if c or a else np.repeat(share, len(cells), axis=1)
                share[:, c] *= top / (table.beta * table.codes[a] + held)
        rows_of = np.sum([one[at] for one, at in zip(own, which, strict=True)], axis=0)
        mean.add(log_weight, np.stack([share, rows_of], axis=1))
    learner, attacker = mean.found()
    return learner / learner.sum(axis=1, keepdims=True), attacker / attacker.sum(axis=1, keepdims=True)


def _divisions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _divisions(total - first, parts - 1):
            yield (first, *rest)


def _chunks(sizes: Sequence[int]) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Every combination of one number below each size, a part at a time."""
    total = prod(sizes)
    assert total <= MOST, f"{total:.0e} states are too many"
    for begin in range(0, total, CHUNK):
        yield np.unravel_index(np.arange(begin, min(begin + CHUNK, total)), sizes)


class _Mean:
    """A mean with weights that are known by their logarithms, some at a time."""

    def __init__(self) -> None:
        self.most, self.weight, self.total = -np.inf, 0.0, np.zeros(())

    def add(self, log_weight: Floats, terms: Floats) -> None:
        most = max(self.most, float(log_weight.max()))
        before, share = np.exp(self.most - most), np.exp(log_weight - most)
        self.total = self.total * before + np.tensordot(share, terms, axes=1)
        self.weight, self.most = self.weight * before + float(share.sum()), most

    def found(self) -> Floats:
        return np.asarray(self.total / self.weight)


def places_of(table: Hidden) -> list[tuple[int, int]]:
    """Of each axis of `by_integration`: nodes, and how many axes like it: half the degree, which is exact."""
    held = Counter(value for _, values in table.groups for value in values)
    return [((held[s] + held[WITHHELD]) // 2 + 2, n - 1) for s in range(table.values) for n in table.codes]


def integrated_over(table: Hidden) -> float:
    """How many places `by_integration` looks at."""
    return prod(float(nodes) ** axes for nodes, axes in places_of(table))


def by_integration(table: Hidden) -> tuple[Floats, Floats]:
    """(cells, values) the same, over the parameters: each Dirichlet is broken into sticks, each stick has Gauss's rule.

    A person's shares are a polynomial in the sticks of no higher degree than the value has rows: the rule is exact.
    """
    assert not table.withheld, "the shares of values would be parameters, too"
    cells, values = table.cells, table.values
    axes = [
        _simplex(table.beta, n, nodes) for (nodes, _), n in zip(places_of(table), table.codes * values, strict=True)
    ]
    held = np.bincount([value for _, one in table.groups for value in one], minlength=values)
    kinds = [(times, matchings(kind, values)) for kind, times in table.kinds().items()]
    mean = _Mean()
    for which in _chunks([len(log_volume) for _, log_volume in axes]):
        log_weight = np.sum([log_volume[at] for (_, log_volume), at in zip(axes, which, strict=True)], axis=0)
        chance = {}
        for cell in cells:
            for s in range(values):
                parts = [
                    axes[s * len(table.codes) + a][0][which[s * len(table.codes) + a], v] for a, v in enumerate(cell)
                ]
                chance[cell, s] = np.prod(parts, axis=0)
        terms = np.zeros((len(log_weight), 2, len(cells), values))
        for c, cell in enumerate(cells):
            for s in range(values):
                terms[:, 0, c, s] = chance[cell, s] * (1 + held[s])
        for times, ways in kinds:
            each = [orders * np.prod([chance[row] for row in rows], axis=0) for rows, orders in ways.items()]
            total = np.sum(each, axis=0)
            log_weight = log_weight + times * np.log(total)
            for here, rows in zip(each, ways, strict=True):
                for (cell, s), often in Counter(rows).items():
                    terms[:, 1, cells.index(cell), s] += times * often * here / total
        mean.add(log_weight, terms)
    learner, attacker = mean.found()
    return learner / learner.sum(axis=1, keepdims=True), attacker / attacker.sum(axis=1, keepdims=True)


def _simplex(beta: float, codes: int, nodes: int) -> tuple[Floats, Floats]:
    """(places, codes) shares and the logarithm of their weight under a Dirichlet density."""
    shares, log_weight, left = np.zeros((1, 0)), np.zeros(1), np.ones(1)
    for code in range(codes - 1):
        at, width = roots_jacobi(nodes, beta * (codes - code - 1) - 1, beta - 1)
        at = (at + 1) / 2
        shares = np.hstack([np.repeat(shares, nodes, axis=0), (left[:, None] * at).reshape(-1, 1)])
        log_weight = (log_weight[:, None] + np.log(width)).ravel()
        left = (left[:, None] * (1 - at)).ravel()
    return np.hstack([shares, left[:, None]]), log_weight


def exact_beliefs(table: Hidden) -> tuple[Floats, Floats]:
    """(cells, values) what learner and attacker believe, by counts where that is possible."""
    return by_counts(table) if countable(table) else second_way(table)[1]


def countable(table: Hidden) -> bool:
    """Whether no value is withheld, groups are small and the array of `by_counts` is."""
    held = Counter(value for _, values in table.groups for value in values)
    size = prod(float(held[s] + 1) ** (n - 1) for s in range(1, table.values) for n in table.codes)
    return not table.withheld and max(len(cells) for cells, _ in table.groups) <= 6 and size < 3e6


def second_way(table: Hidden) -> tuple[str, tuple[Floats, Floats]]:
    """What another algorithm than `by_counts` says, and which one: the cheaper of two."""
    if table.withheld or listed(table) < integrated_over(table):
        return "by kinds", by_kinds(table)
    return "by integration", by_integration(table)

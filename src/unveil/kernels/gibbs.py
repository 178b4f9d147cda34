"""The parts of a Gibbs sweep around the matching: weights of cells, counts of codes, draws of parameters."""

import math

import numpy as np
from numba import njit

from unveil.kernels.distributions import dirichlet, gamma, multinomial
from unveil.kernels.random import uniform

__all__ = [
    "add_products",
    "add_runs",
    "collect",
    "collect_tables",
    "draw_all",
    "draw_parameters",
    "fill_tables",
    "mirrored",
    "scaled_cells",
    "scaled_tables",
    "spread",
    "spread_over_centres",
    "warm",
    "weigh_cells",
]

SMALL = 1e-10  # products of ten such numbers are far from the smallest there is
FRESH_BELOW = 4.0  # a Gamma variable of a smaller shape is too skewed to be mirrored


@njit(cache=True, nogil=True)
def weigh_cells(cells, offset, log_share, out):
    """Fill `out` (cells, values) with the sum over attributes of the log share of the cell's region.

    `cells` (cells, attributes) int32 region numbers; the rows of attribute a in `log_share` (regions, values) start
    at `offset[a]`. Cost: cells · attributes · values.
    """
    for c in range(cells.shape[0]):
        out[c] = 0.0
        for a in range(cells.shape[1]):
            row = offset[a] + cells[c, a]
            for s in range(out.shape[1]):
                out[c, s] += log_share[row, s]


@njit(cache=True, nogil=True)
def add_products(cells, offset, share, out):
    """Add to `out` (cells, values) the products of the shares of the cell's regions. Laid out like `weigh_cells`."""
    parts = cells.shape[1]
    for c in range(cells.shape[0]):
        if parts == 2:
            first, second = offset[0] + cells[c, 0], offset[1] + cells[c, 1]
            for s in range(out.shape[1]):
                out[c, s] += share[first, s] * share[second, s]
        elif parts == 3:
            first, second, third = offset[0] + cells[c, 0], offset[1] + cells[c, 1], offset[2] + cells[c, 2]
            for s in range(out.shape[1]):
                out[c, s] += share[first, s] * share[second, s] * share[third, s]
        else:
            for s in range(out.shape[1]):
                product = 1.0
                for a in range(parts):
                    product *= share[offset[a] + cells[c, a], s]
                out[c, s] += product


@njit(cache=True, nogil=True)
def scaled_cells(cells, offset, share, out):
    """Fill `out` with products of the shares of a cell's regions; rows that get small are divided by their maximum.

    Returns the smallest maximum before that, 0 if a row is lost.
    """
    least = 1.0
    for c in range(cells.shape[0]):
        out[c] = 1.0
        for a in range(cells.shape[1]):
            row = offset[a] + cells[c, a]
            for s in range(out.shape[1]):
                out[c, s] *= share[row, s]
        top = 0.0
        for s in range(out.shape[1]):
            top = max(top, out[c, s])
        least = min(least, top)
        if 0.0 < top < SMALL:
            for s in range(out.shape[1]):
                out[c, s] /= top
    return least


@njit(cache=True, nogil=True)
def collect(cells, offset, tally, out):
    """Add the `tally` (cells, values) of matched cells to the counts `out` (regions, values) of their regions."""
    held = np.empty(out.shape[1] + 1, np.int64)
    for c in range(cells.shape[0]):
        kinds = 0
        for s in range(out.shape[1]):  # most cells hold few values; without a branch, for nobody can predict which
            held[kinds] = s
            kinds += np.int64(tally[c, s] != 0)
        for a in range(cells.shape[1]):
            row = offset[a] + cells[c, a]
            for i in range(kinds):
                out[row, held[i]] += tally[c, held[i]]


@njit(cache=True, nogil=True)
def fill_tables(share, region, at, first, out):
    """Fill the rows `first[t]` to `first[t + 1]` of `out` (rows, values) with the products of table t's regions.

    `region[at[t]:at[t + 1]]` int32: the regions of each of its rows, as many for every row of a table.
    """
    for t in range(first.shape[0] - 1):
        width = (at[t + 1] - at[t]) // max(first[t + 1] - first[t], 1)
        for r in range(first[t], first[t + 1]):
            place = at[t] + (r - first[t]) * width
            for s in range(out.shape[1]):
                out[r, s] = share[region[place], s]
            for a in range(1, width):
                for s in range(out.shape[1]):
                    out[r, s] *= share[region[place + a], s]


@njit(cache=True, nogil=True)
def collect_tables(counts, region, at, first, out):
    """Add `counts` (rows, values) of the tables' rows to those of their regions, `out` (regions, values)."""
    for t in range(first.shape[0] - 1):
        width = (at[t + 1] - at[t]) // max(first[t + 1] - first[t], 1)
        for r in range(first[t], first[t + 1]):
            for a in range(width):
                row = region[at[t] + (r - first[t]) * width + a]
                for s in range(out.shape[1]):
                    out[row, s] += counts[r, s]


@njit(cache=True, nogil=True)
def scaled_tables(share, place, row, start, low, high, region, at, first, out):
    """`add_runs`, each region's shares divided by their maximum, then `fill_tables`.

    Without tables `out` gets the shares of all regions. One call: between calls threads wait for each other.
    """
    scaled = np.empty((row[-1], out.shape[1]))
    add_runs(share, place, row, start, low, high, scaled)
    for r in range(scaled.shape[0]):
        top = 0.0
        for s in range(scaled.shape[1]):
            top = max(top, scaled[r, s])
        for s in range(scaled.shape[1]):
            scaled[r, s] /= top
    if first.shape[0] == 1:
        out[:] = scaled
    else:
        fill_tables(scaled, region, at, first, out)


@njit(cache=True, nogil=True)
def spread(count, start, low, high, share, key, counter, out):
    """Draw which codes the rows of each region take, given the shares; returns the counter after the last draw.

    `count` (regions, values) int64; the runs of region r are `low, high[start[r]:start[r + 1]]`; `share` (values,
    codes); adds to `out` (values, codes) int64. Single codes need no draw. Cost: the regions' sizes times values.
    """
    widest = 1
    for r in range(count.shape[0]):
        size = 0
        for run in range(start[r], start[r + 1]):
            size += high[run] - low[run] + 1
        widest = max(widest, size)
    weight, part, code = np.empty(widest), np.empty(widest, np.int64), np.empty(widest, np.int64)
    for r in range(count.shape[0]):
        size = 0
        for run in range(start[r], start[r + 1]):
            for v in range(low[run], high[run] + 1):
                code[size] = v
                size += 1
        for s in range(count.shape[1]):
            n = count[r, s]
            if n == 0:
                continue
            if size == 1:
                out[s, code[0]] += n
                continue
            for i in range(size):
                weight[i] = share[s, code[i]]
                part[i] = 0
            counter = multinomial(n, weight[:size], key, counter, part[:size])
            for i in range(size):
                out[s, code[i]] += part[i]
    return counter


@njit(cache=True, nogil=True)
def spread_over_centres(count, start, centre, weight, share, key, counter, out):
    """Draw which centres the rows of each region have, given the centres' shares; returns the counter reached.

    `count` (regions, values) int64; the centres of region r are `centre[start[r]:start[r + 1]]` (int64), each with the
    probability `weight` of a value in the region; `share` (values, centres); adds to `out` (values, centres) int64.
    Cost: the pairs of a region and a centre times values.
    """
    widest = 1
    for r in range(count.shape[0]):
        widest = max(widest, start[r + 1] - start[r])
    chance, part = np.empty(widest), np.empty(widest, np.int64)
    for r in range(count.shape[0]):
        first, size = start[r], start[r + 1] - start[r]
        for s in range(count.shape[1]):
            if count[r, s] == 0:
                continue
            for i in range(size):
                chance[i] = weight[first + i] * share[s, centre[first + i]]
                part[i] = 0
            counter = multinomial(count[r, s], chance[:size], key, counter, part[:size])
            for i in range(size):
                out[s, centre[first + i]] += part[i]
    return counter


@njit(cache=True, nogil=True)
def draw_parameters(prior, count, before, key, counter, mean, share):
    """For each value: the mean of its shares given the counts, and one draw of them; all (values, codes).

    With `before` (values, codes), the shares so far, a draw lies on the other side of what the counts say
    (overrelaxation, Adler 1981): it has the same law, and a chain of such draws wanders less. Without, (0, codes), it
    is independent of what was before.
    """
    shape = np.empty(prior.shape[1])
    for s in range(prior.shape[0]):
        total = 0.0
        for v in range(prior.shape[1]):
            shape[v] = prior[s, v] + count[s, v]
            total += shape[v]
        for v in range(prior.shape[1]):
            mean[s, v] = shape[v] / total
        if before.shape[0] == 0:
            counter = dirichlet(shape, key, counter, share[s])
        else:
            counter = _reflected(shape, total, before[s], key, counter, share[s])
    return counter


@njit(cache=True, nogil=True)
def draw_all(
    count, place, row, start, low, high, smoothed, near, centre, weight, beta, drawn, power, mirror, key, counter, mean,
    share,
):  # fmt: skip
    """For each attribute `spread` its regions' rows and `draw_parameters`; returns the counter after the last draw.

    Flat arrays hold the (values, codes) of attribute a from `place[a]`; its regions are the rows of `count` (regions,
    values) from `row[a]`. Where `smoothed`, rows are spread over centres (`near`, `centre`, `weight` as in
    `spread_over_centres`). `drawn`: the shares so far, mirrored if `mirror`. `power` (attributes,): what the likelihood
    of an attribute's codes is raised to. One call: for small tables calls are dear.
    """
    values = count.shape[1]
    for a in range(place.shape[0] - 1):
        lo, hi = place[a], place[a + 1]
        codes = (hi - lo) // values
        shares = drawn[lo:hi].reshape(values, codes)
        table = np.zeros((values, codes), np.int64)
        mine, rows = count[row[a] : row[a + 1]], slice(row[a], row[a + 1] + 1)
        likely = shares if power[a] == 1.0 else shares ** power[a]
        if smoothed[a]:
            counter = spread_over_centres(mine, near[rows], centre, weight, likely, key, counter, table)
        else:
            counter = spread(mine, start[rows], low, high, likely, key, counter, table)
        before = shares if mirror else shares[:0]
        prior, middle = beta[lo:hi].reshape(values, codes), mean[lo:hi].reshape(values, codes)
        new = share[lo:hi].reshape(values, codes)
        counter = draw_parameters(prior, table * power[a], before, key, counter, middle, new)
    return counter


@njit(cache=True, nogil=True)
def add_runs(share, place, row, start, low, high, out):
    """Fill `out` (regions, values) with the share of each region: the sum over its codes, never 0.

    Laid out like `draw_all`. Cost: the regions' sizes times values.
    """
    values = out.shape[1]
    for a in range(place.shape[0] - 1):
        codes = (place[a + 1] - place[a]) // values
        for r in range(row[a], row[a + 1]):
            for s in range(values):
                first = place[a] + s * codes
                total = 0.0
                for run in range(start[r], start[r + 1]):
                    for v in range(low[run], high[run] + 1):
                        total += share[first + v]
                out[r, s] = max(total, 1e-300)


@njit(cache=True, nogil=True)
def mirrored(drawn, shape, key, counter):
    """A Gamma(shape) variable's mirror image, or itself; and the counter after it. See `_reflected`."""
    ratio = drawn / shape
    accept = math.exp(min(shape * (ratio - 1.0 / ratio - 2.0 * math.log(ratio)), 0.0))
    if uniform(key, counter) < accept:
        drawn = shape / ratio
    return drawn, counter + np.uint64(1)


@njit(cache=True, nogil=True)
def _reflected(shape, total, before, key, counter, out):
    """A Dirichlet draw that mirrors `before` in the logarithms of Gamma variables; small shapes are drawn afresh.

    Shares times an independent Gamma(total) are independent Gamma(shape). The mirror x -> 2 log(shape) - x is taken
    with the Metropolis probability, so that each keeps its law whatever `before` is.
    """
    size, counter = gamma(total, key, counter)
    added = 0.0
    for v in range(shape.shape[0]):
        if shape[v] < FRESH_BELOW:
            drawn, counter = gamma(shape[v], key, counter)
        else:
            drawn, counter = mirrored(max(before[v] * size, 1e-300), shape[v], key, counter)
        out[v] = max(drawn, 1e-300)
        added += out[v]
    for v in range(shape.shape[0]):
        out[v] /= added
    return counter


def warm():
    """Compile every kernel here."""
    cells, offset = np.zeros((1, 1), np.int32), np.zeros(1, np.int64)
    read_only, prior = cells.copy(), np.ones((2, 2))
    read_only.flags.writeable = prior.flags.writeable = False  # as a release's cells are
    for each in (cells, read_only):
        weigh_cells(each, offset, np.zeros((1, 2)), np.empty((1, 2)))
    add_products(cells, offset, np.ones((1, 2)), np.empty((1, 2)))
    scaled_cells(cells, offset, np.ones((1, 2)), np.empty((1, 2)))
    collect(cells, offset, np.ones((1, 2), np.int64), np.zeros((1, 2), np.int64))
    key, counter = np.uint64(1), np.uint64(0)
    flat, place, row = np.full(4, 0.5), np.array([0, 4]), np.array([0, 1])
    runs = np.array([0, 1]), np.array([0], np.int32), np.array([1], np.int32)
    near = np.zeros(1, np.bool_), np.array([0, 2]), np.array([0, 1]), np.ones(2)
    new = np.empty(4), np.empty(4)
    draw_all(np.ones((1, 2), np.int64), place, row, *runs, *near, flat, flat, np.ones(1), True, key, counter, *new)
    add_runs(flat, place, row, *runs, np.empty((1, 2)))
    tables = np.zeros(1, np.int32), np.array([0, 1]), np.array([0, 1])
    scaled_tables(flat, place, row, *runs, *tables, np.empty((1, 2)))
    collect_tables(np.ones((1, 2), np.int64), *tables, np.zeros((1, 2), np.int64))
    share = np.full((2, 2), 0.5)
    draw_parameters(prior, np.zeros((2, 2), np.int64), share[:0], key, counter, np.empty((2, 2)), share)

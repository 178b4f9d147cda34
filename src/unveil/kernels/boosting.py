"""Gradient boosting with a value for every class in each leaf, and marginals of groups too large to be matched exactly.

A tree is complete: node i has the children 2i + 1 and 2i + 2, and `attribute[i] < 0` makes it a leaf.
"""

import math

import numpy as np
from numba import njit

__all__ = ["add_tree", "grow", "matched_counts", "scaled", "slopes", "softmax", "tally", "warm"]


@njit(cache=True, nogil=True)
def softmax(score, out):
    """Fill `out` (points, classes) with distributions from their logarithms up to a constant."""
    classes = score.shape[1]
    for i in range(score.shape[0]):
        top = score[i, 0]
        for k in range(1, classes):
            top = max(top, score[i, k])
        total = 0.0
        for k in range(classes):
            out[i, k] = math.exp(score[i, k] - top)
            total += out[i, k]
        for k in range(classes):
            out[i, k] /= total


@njit(cache=True, nogil=True)
def slopes(p, weight, count, points, out):
    """Fill the rows `points` of `out` (points, 2 · classes) with gradients, then weights, of the groups' likelihood.

    `p` (points, classes) is believed, `count` expected in the rows of each point, of which there are `weight`.
    """
    classes = p.shape[1]
    for i in points:
        for k in range(classes):
            out[i, k] = p[i, k] * weight[i] - count[i, k]
        for k in range(classes):
            out[i, classes + k] = max(p[i, k] * (1.0 - p[i, k]), 1e-4) * weight[i]


@njit(cache=True, nogil=True)
def _histogram(points, first, last, bins, place, used, slope, out):
    """Sums of `slope` (points, 2 · classes) by the bins of each attribute that is used, over points[first:last]."""
    width = slope.shape[1]
    out[:] = 0.0
    for n in range(first, last):
        i = points[n]
        for a in range(len(used)):
            row = place[used[a]] + bins[i, used[a]]
            for k in range(width):
                out[row, k] += slope[i, k]


@njit(cache=True, nogil=True)
def _best_split(histogram, place, used, ordered, ridge, least, left):
    """The attribute whose cut gains most (-1: none), its bins that go left in `left`, and the gain.

    Bins of an attribute without order are put in the order of the class whose gradient varies most between them.
    """
    classes = histogram.shape[1] // 2
    best, gain_of_best = -1, 1e-9
    gradient, weight = np.empty(classes), np.empty(classes)
    left_gradient, left_weight = np.empty(classes), np.empty(classes)
    for a in used:
        lo, hi = place[a], place[a + 1]
        gradient[:] = 0.0
        weight[:] = 0.0
        for row in range(lo, hi):
            for k in range(classes):
                gradient[k] += histogram[row, k]
                weight[k] += histogram[row, classes + k]
        whole = 0.0
        for k in range(classes):
            whole += gradient[k] * gradient[k] / (weight[k] + ridge)
        order = np.arange(lo, hi)
        if not ordered[a]:
            varies, most = 0, -1.0
            for k in range(classes):
                spread = -gradient[k] * gradient[k] / (weight[k] + ridge)
                for row in range(lo, hi):
                    spread += histogram[row, k] ** 2 / (histogram[row, classes + k] + ridge)
                if spread > most + 1e-12:
                    varies, most = k, spread
            key = np.empty(hi - lo)
            for row in range(lo, hi):
                key[row - lo] = histogram[row, varies] / (histogram[row, classes + varies] + ridge)
            order = lo + np.argsort(key, kind="mergesort")
        left_gradient[:] = 0.0
        left_weight[:] = 0.0
        for n in range(hi - lo - 1):
            row = order[n]
            on_left, on_right, found = 0.0, 0.0, -whole
            for k in range(classes):
                left_gradient[k] += histogram[row, k]
                left_weight[k] += histogram[row, classes + k]
                right_gradient, right_weight = gradient[k] - left_gradient[k], weight[k] - left_weight[k]
                on_left += left_weight[k]
                on_right += right_weight
                found += left_gradient[k] ** 2 / (left_weight[k] + ridge) + right_gradient**2 / (right_weight + ridge)
            if on_left >= least and on_right >= least and found > gain_of_best + 1e-9:
                best, gain_of_best = a, found
                left[:] = False
                for m in range(n + 1):
                    left[order[m] - lo] = True
    return best


@njit(cache=True, nogil=True)
def grow(bins, place, ordered, used, slope, points, depth, ridge, least, rate, attribute, left, leaf):
    """Grow one tree, greedily by what a cut gains in the sum over classes of gradient² / (weight + ridge).

    bins (points, attributes) uint8; attribute a has place[a + 1] - place[a] of them. `slope` (points, 2 · classes): a
    point's gradients, then its weights (second derivatives). `points` are those that count, reordered in place; `used`
    the attributes that may be cut; a side has at least `least` of weight. Fills attribute (nodes,), left (nodes, bins)
    and leaf (nodes, classes), which is 0 but in leaves.
    Cost: points · attributes · classes · depth, the larger of two sisters by subtraction.
    """
    classes = slope.shape[1] // 2
    nodes = attribute.shape[0]
    attribute[:] = -1
    leaf[:] = 0.0
    first, last = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    last[0] = len(points)
    rows = place[-1]
    above = np.zeros((1, rows, 2 * classes))
    _histogram(points, 0, len(points), bins, place, used, slope, above[0])
    moved = np.empty(len(points), points.dtype)
    for level in range(depth):
        start = (1 << level) - 1
        below = np.zeros((2 << level if level + 1 < depth else 1, rows, 2 * classes))
        grown = False
        for node in range(start, 2 * start + 1):
            if last[node] == first[node]:
                continue
            mine = above[node - start]
            a = _best_split(mine, place, used, ordered, ridge, least, left[node])
            if a < 0:
                continue
            grown = True
            attribute[node] = a
            at, other = first[node], 0
            for n in range(first[node], last[node]):
                i = points[n]
                if left[node, bins[i, a]]:
                    points[at] = i
                    at += 1
                else:
                    moved[other] = i
                    other += 1
            points[at : last[node]] = moved[:other]
            one, two = 2 * node + 1, 2 * node + 2
            first[one], last[one], first[two], last[two] = first[node], at, at, last[node]
            if level + 1 < depth:
                small, large = (one, two) if at - first[node] <= last[node] - at else (two, one)
                base = 2 * start + 1
                _histogram(points, first[small], last[small], bins, place, used, slope, below[small - base])
                below[large - base] = mine - below[small - base]
        if not grown:
            break
        above = below
    for node in range(nodes):
        if attribute[node] >= 0 or last[node] == first[node]:
            continue
        total = np.zeros(2 * classes)
        for n in range(first[node], last[node]):
            for k in range(2 * classes):
                total[k] += slope[points[n], k]
        for k in range(classes):
            leaf[node, k] = -rate * total[k] / (total[classes + k] + ridge)


@njit(cache=True, nogil=True)
def add_tree(bins, attribute, left, leaf, score):
    """Add what the tree says of each point to `score` (points, classes)."""
    for i in range(bins.shape[0]):
        node = 0
        while attribute[node] >= 0:
            node = 2 * node + 1 if left[node, bins[i, attribute[node]]] else 2 * node + 2
        for k in range(score.shape[1]):
            score[i, k] += leaf[node, k]


@njit(cache=True, nogil=True)
def matched_counts(start, cell, value_start, value, pair_start, marginal, times, out):
    """Add the expected number of each pair, `times` (groups,) as often, to `out` (cells, values)."""
    for g in range(len(start) - 1):
        pair = pair_start[g]
        for i in range(start[g], start[g + 1]):
            for j in range(value_start[g], value_start[g + 1]):
                out[cell[i], value[j]] += times[g] * marginal[pair]
                pair += 1


@njit(cache=True, nogil=True)
def tally(bins, place, count, out):
    """Add the counts (points, classes) to `out` (all bins, classes) in the bin of each attribute."""
    for i in range(bins.shape[0]):
        for a in range(bins.shape[1]):
            row = place[a] + bins[i, a]
            for k in range(count.shape[1]):
                out[row, k] += count[i, k]


@njit(cache=True, nogil=True)
def scaled(start, cell, count, value_start, value, value_count, pair_start, weight, rounds, marginal, log_sum):
    """Marginals of large groups: w^(n / (n - 1)) scaled to both margins (Sinkhorn). Exact for two rows.

    Fills `marginal` (pairs,) with expected numbers, and `log_sum` (groups,) with an estimate of the log of the sum over
    all matchings: sum of m log(w / m), less the same with all weights alike, so that those give log n!.
    """
    for g in range(len(start) - 1):
        lo, hi, first, last = start[g], start[g + 1], value_start[g], value_start[g + 1]
        entries, values = hi - lo, last - first
        rows = 0
        for i in range(lo, hi):
            rows += count[i]
        power = rows / (rows - 1.0) if rows > 1 else 1.0
        raised = np.empty((entries, values))
        for i in range(entries):
            top = 0.0
            for j in range(values):
                top = max(top, weight[cell[lo + i], value[first + j]])
            for j in range(values):
                share = weight[cell[lo + i], value[first + j]] / top if top > 0 else 1.0
                raised[i, j] = max(share, 1e-12) ** power
        factor, total = np.ones(values), np.empty(values)
        for _ in range(rounds):
            total[:] = 0.0
            for i in range(entries):
                own = 0.0
                for j in range(values):
                    own += raised[i, j] * factor[j]
                for j in range(values):
                    total[j] += count[lo + i] * raised[i, j] * factor[j] / own
            worst = 0.0
            for j in range(values):
                step = value_count[first + j] / total[j]
                factor[j] *= step
                worst = max(worst, abs(step - 1))
            if worst < 1e-4:
                break
        found, even = 0.0, 0.0
        for i in range(entries):
            own = 0.0
            for j in range(values):
                own += raised[i, j] * factor[j]
            for j in range(values):
                share = raised[i, j] * factor[j] / own
                marginal[pair_start[g] + i * values + j] = count[lo + i] * share
                if share > 0:
                    found += (
                        count[lo + i]
                        * share
                        * (math.log(max(weight[cell[lo + i], value[first + j]], 1e-300)) - math.log(share))
                    )
        for j in range(values):
            even -= value_count[first + j] * math.log(value_count[first + j] / rows)
        log_sum[g] = found - even + math.lgamma(rows + 1.0)


def warm():
    """Compile every kernel here."""
    bins = np.array([[0, 1], [1, 0], [1, 1], [0, 0]], np.uint8)
    place, used = np.array([0, 2, 4], np.int64), np.array([0, 1], np.int64)
    score = np.zeros((4, 2))
    softmax(score, np.empty_like(score))
    attribute, left, leaf = np.empty(7, np.int16), np.zeros((7, 2), np.bool_), np.zeros((7, 2))
    slope = np.ones((4, 4), np.float32)
    slope[:2, 0] = -1
    points = np.arange(4, dtype=np.int64)
    slopes(score, np.zeros(4), score, points, slope.copy())
    ordered = np.array([True, False])
    grow(bins, place, ordered, used, slope, points, 2, 1.0, 0.5, 0.1, attribute, left, leaf)
    add_tree(bins, attribute, left, leaf, score)
    start, one = np.array([0, 2], np.int64), np.ones(2, np.int32)
    cell, pairs = np.array([0, 1], np.int32), np.array([0, 4], np.int64)
    marginal = np.empty(4)
    scaled(start, cell, one, start, cell, one, pairs, np.ones((2, 2)), 5, marginal, np.empty(1))
    matched_counts(start, cell, start, cell, pairs, marginal, np.ones(1), np.zeros((2, 2)))
    tally(bins, place, np.ones((4, 2)), np.zeros((4, 2)))

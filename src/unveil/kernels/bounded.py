"""What a reader of a recoded table would believe of people, for every node of a tree of cuts at once.

In a strict partition a person fits one group and the suppressed rows, so that the belief in s is
prod_a theta_a(x_a | s) · (rows of the group with s / prod_a theta_a(region of the group | s) + suppressed rows with s).
Each person is walked up from the leaf to the root: every node on the way is judged as if it were published.

theta (codes of all attributes, values): the shares of each attribute, end to end; code (classes, attributes) counts
from the first. A class is people with equal cells and equal value.

The learner without a person's group differs by a factor of the group and the value alone: below the group's own cells
its rows teach nothing (`leave_out`).
"""

import numpy as np
from numba import njit

from unveil.kernels.random import uniform

__all__ = [
    "CONFIDENT",
    "DISCLOSED",
    "GAIN",
    "GUESSED",
    "MISLED",
    "NEARLY",
    "RAISED",
    "THREAT",
    "THREAT_AMONG",
    "judge_nodes",
    "judge_people",
    "leave_out",
    "replay_cut",
]

THREAT = 0  # the true value is believed x times as much as by the learner, and most of all values
THREAT_AMONG = 1  # the same, less a share of those whose true value is believed most
GAIN = 2  # some value is believed by x more than by the learner
CONFIDENT = 3  # some value is believed at x
GUESSED = 4  # the chance of guessing the true value
DISCLOSED = 5  # the true value is believed at x, and that is news
MISLED = 6  # another value is, and that is news
RAISED = 7  # the true value is x times as likely by odds, one in four at least, and twice the learner's odds

TIE = 1e-12
ROUNDING = 1e-9
NEWS = 4.0
NEARLY = 0.5
LEAST = 1e-12  # as attackers/posterior/left_out has it


@njit(cache=True, nogil=True)
def _normalise(p):
    total = p.sum()
    if total > 0:
        p /= total
    else:
        p[:] = 1.0 / len(p)


@njit(cache=True, nogil=True)
def _is_news(p, share, level):
    return p >= level - ROUNDING and p * (1 - share) >= NEWS * share * (1 - p) - ROUNDING and share < 1


@njit(cache=True, nogil=True)
def _bad(p, most, learner, before, truth, share, harmful, kind, x, near):
    """How much one person counts against a rule, NEARLY if only because the mode is near. `most`: the largest belief;
    `before`: what a learner believes of the true value."""
    own = p[truth]
    if kind in (THREAT, THREAT_AMONG):
        if own < most * near * (1 - TIE) or own < x * before * (1 - TIE):
            return 0.0
        return 1.0 if own >= most * (1 - TIE) else NEARLY
    if kind == GAIN:
        if most <= x:
            return 0.0
        for s in range(len(p)):
            if harmful[s] and p[s] - learner[s] > x + TIE:
                return 1.0
        return 0.0
    if kind == CONFIDENT:
        if most < x * (1 - TIE):
            return 0.0
        for s in range(len(p)):
            if harmful[s] and p[s] >= x * (1 - TIE):
                return 1.0
        return 0.0
    if kind == GUESSED:
        if own < most * (1 - TIE):
            return 0.0
        return 1.0 / (p >= most * (1 - TIE)).sum()
    if kind == DISCLOSED:
        return 1.0 if harmful[truth] and _is_news(own, share[truth], x) else 0.0
    if kind == MISLED:
        for s in range(len(p)):
            if s != truth and harmful[s] and _is_news(p[s], share[s], x):
                return 1.0
        return 0.0
    f, before = share[truth], learner[truth]
    raised = own >= 0.25 - ROUNDING and own * (1 - f) >= x * f * (1 - own) - ROUNDING
    raised = raised and own * (1 - before) >= 2 * before * (1 - own) - ROUNDING
    return 1.0 if raised and harmful[truth] and f < 1 else 0.0


@njit(cache=True, nogil=True)
def _share_left(learner, factor, truth):
    """What a learner believes of the true value without a group."""
    total = 0.0
    for s in range(len(learner)):
        total += learner[s] * factor[s]
    return learner[truth] * factor[truth] / total if total > 0 else 1.0 / len(learner)


@njit(cache=True, nogil=True)
def judge_nodes(
    code,
    truth,
    weight,
    start,
    climb,
    parent,
    histogram,
    size,
    theta,
    whole,
    held,
    alpha,
    star,
    left,
    spread,
    learns,
    share,
    harmful,
    kinds,
    levels,
    among,
    near,
    left_out,
    bad,
    person,
):
    """Add to `bad` (nodes + 1, rules) what each class counts against each rule; the last row: suppressed people.

    `start` (classes,): the node of each class, or -1 if suppressed; `climb`: also every node above it. `whole` (nodes,
    values): the product of a node's totals. `learns`: whether the reader learned `theta`, or counts every value of a
    region alike. `person` (classes, rules): what each of the class counts at its own node.

    `left_out` (rules,): whether the learner is the one without the person's group. `left` (nodes + 1, values) is what
    leaving out a node changes, the last row of suppressed people; `spread` (nodes,): the share of people in its cells.
    """
    classes, attributes = code.shape
    values = histogram.shape[1]
    nodes = len(parent)
    p, learner, fit = np.empty(values), np.empty(values), np.empty(values)
    some, suppressed = left_out.any(), star.sum()
    for i in range(classes):
        for s in range(values):
            fit[s] = 1.0
            for a in range(attributes):
                fit[s] *= theta[code[i, a], s]
            learner[s] = fit[s] * (alpha + held[s])
        _normalise(learner)
        t, node = truth[i], start[i]
        without = _share_left(learner, left[nodes], t) if some else 0.0
        while True:
            here = node if node >= 0 else nodes
            total = 0.0
            for s in range(values):
                rows = star[s]
                if node >= 0 and whole[node, s] > 0:
                    rows += histogram[node, s] / whole[node, s]
                p[s] = rows * fit[s] if learns else rows
                total += p[s]
            most = 0.0
            for s in range(values):
                p[s] = p[s] / total if total > 0 else 1.0 / values
                most = max(most, p[s])
            beside = without
            if some and node >= 0:
                rows = size[node] / max(spread[node], 1e-300)
                beside = (rows * _share_left(learner, left[node], t) + suppressed * without) / (rows + suppressed)
            for r in range(len(kinds)):
                before = beside if left_out[r] else learner[t]
                found = _bad(p, most, learner, before, t, share, harmful, kinds[r], levels[r], near[r])
                counted = found
                if kinds[r] == THREAT_AMONG and p[t] >= most * (1 - TIE):
                    counted -= among[r]
                bad[here, r] += counted * weight[i]
                if node == start[i]:
                    person[i, r] = found
            if not climb or node < 0 or parent[node] < 0:
                break
            node = parent[node]


@njit(cache=True, nogil=True)
def judge_people(belief, learner, truth, share, harmful, kinds, levels, found):
    """Fill `found` (people, rules): the same of beliefs (people, values) that somebody has."""
    for i in range(len(truth)):
        for r in range(len(kinds)):
            most, before = belief[i].max(), learner[i, truth[i]]
            found[i, r] = _bad(belief[i], most, learner[i], before, truth[i], share, harmful, kinds[r], levels[r], 1.0)


@njit(cache=True, nogil=True)
def leave_out(region, gone, above, start, used, root, weight, below, factor):
    """Multiply `factor` (nodes, values) by how the share of a node's cell changes without its rows, `gone`.

    One attribute with nested regions: `region` (nodes,) the cell, -1 if the rows teach nothing of it; `above[start[r] :
    start[r + 1]]` the regions that hold region r, itself among them; `used` (regions,) those that are published; `root`
    the whole domain's. `gone` (nodes, values). `weight` (regions, values): pseudo-counts and rows in a region; `below`:
    less those that show just it. Each branch on the way down to the cell is a share of Dirichlet weights, from which
    the rows are taken off.
    """
    values = gone.shape[1]
    for v in range(len(region)):
        own = region[v]
        if own < 0 or own == root:
            continue
        for place in range(start[own], start[own + 1]):
            q = above[place]
            if q != own and q != root and not used[q]:
                continue
            for s in range(values):
                rows = gone[v, s]
                if rows > 0:
                    if q != root:
                        factor[v, s] *= max(weight[q, s] - rows, LEAST) / weight[q, s]
                    if q != own:
                        factor[v, s] *= below[q, s] / max(below[q, s] - rows, LEAST)


@njit(cache=True, nogil=True)
def _blocked(fit, learner, child, value, whole, share, harmful, kinds, levels, rows, p):
    """Whether somebody would be exposed if the group were cut, for one way to share its values out."""
    values = fit.shape[1]
    rows[:] = 0.0
    for i in range(len(value)):
        rows[child[i], value[i]] += 1.0
    for i in range(len(value)):
        total, most = 0.0, 0.0
        for s in range(values):
            p[s] = fit[i, s] * rows[child[i], s] / whole[child[i], s] if whole[child[i], s] > 0 else 0.0
            total += p[s]
        for s in range(values):
            p[s] /= total
            most = max(most, p[s])
        for r in range(len(kinds)):
            before = learner[i, value[i]]
            if _bad(p, most, learner[i], before, value[i], share, harmful, kinds[r], levels[r], 1.0) > 0:
                return True
    return False


@njit(cache=True, nogil=True)
def replay_cut(fit, learner, child, truth, value, whole, share, harmful, kinds, levels, draws, key, before, after):
    """How often each person of a group has the true value if its values are shared out by `fit` (people, values): among
    all `draws`, added to `before`, and among those in which the cut into `child` (people,) exposes somebody, added to
    `after`. The number of these, and whether the truth is one of them.

    A chain of swaps of two people's values, begun at `value` (people,).
    """
    people, values = fit.shape
    rows, p = np.empty((whole.shape[0], values)), np.empty(values)
    true = _blocked(fit, learner, child, truth, whole, share, harmful, kinds, levels, rows, p)
    found, counter = 0, np.uint64(0)
    for draw in range(-draws // 10, draws):
        for _ in range(people):
            i = int(uniform(key, counter) * people)
            j = int(uniform(key, counter + np.uint64(1)) * people)
            chance = uniform(key, counter + np.uint64(2))
            counter += np.uint64(3)
            now = fit[i, value[i]] * fit[j, value[j]]
            then = fit[i, value[j]] * fit[j, value[i]]
            if now <= 0 or chance * now < then:
                value[i], value[j] = value[j], value[i]
        if draw < 0:
            continue
        blocked = _blocked(fit, learner, child, value, whole, share, harmful, kinds, levels, rows, p)
        found += blocked
        for i in range(people):
            if value[i] == truth[i]:
                before[i] += 1
                after[i] += blocked
    return found, true

"""Several releases of the same people: what a group's matching tells its members, and exact elimination of small parts.

A group of one release ties its members: together they hold the group's values. `tell` turns matching marginals into
what each member hears, `scaled_marginals` stands in for the matching where a group is too large or its members are not
certain, and `eliminate` sums over every way in which the values of a few people fit all releases at once.
"""

import numpy as np
from numba import njit

from unveil.kernels.random import draw, uniform

__all__ = [
    "alternate", "believe", "bring", "eliminate", "exchange", "fill_possible", "hear", "join", "labels",
    "scaled_marginals", "tell", "warm",
]  # fmt: skip

NOTHING = 1e-290  # a sum of weights of which nothing is left


@njit(cache=True, nogil=True)
def tell(start, person, count, value_start, value, pair_start, marginal, weight, share, told):
    """Add to `told` (people, values) what each group says to its members: marginal / weight, times the link's share.

    `marginal` (pairs,) expected rows of each (link, value of the group), `count` (links,) people of a link, `weight`
    (people, values) what they brought, `share` (links,) how much of the person stands there.
    """
    for g in range(start.shape[0] - 1):
        v, values = value_start[g], value_start[g + 1] - value_start[g]
        for link in range(start[g], start[g + 1]):
            at = pair_start[g] + (link - start[g]) * values
            x = person[link]
            for j in range(values):
                s = value[v + j]
                if marginal[at + j] > 0.0:
                    told[x, s] += share[link] * marginal[at + j] / (count[link] * max(weight[x, s], 1e-300))


@njit(cache=True, nogil=True)
def _top(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]  # ways get shorter
        i = parent[i]
    return i


@njit(cache=True, nogil=True)
def join(parent, start, person, corner, offset, people, which):
    """Join everybody, but strangers (`people` and above), with the `corner` (groups,) of their group, from `offset` on.

    `parent`: of each person and corner one that it is connected with, or itself; it changes. `which` (groups,): others
    are left out.
    """
    for g in range(start.shape[0] - 1):
        if not which[g]:
            continue
        for link in range(start[g], start[g + 1]):
            if person[link] < people:
                one, other = _top(parent, np.int64(person[link])), _top(parent, offset + corner[g])
                parent[max(one, other)] = min(one, other)


@njit(cache=True, nogil=True)
def labels(parent):
    """The number of the connected part of each, from 0 on, and how many parts there are."""
    found, parts = np.empty(parent.shape[0], np.int64), 0
    for i in range(parent.shape[0]):  # a part's first member is its own parent
        top = _top(parent, i)
        if top == i:
            found[i] = parts
            parts += 1
        else:
            found[i] = found[top]
    return found, parts


@njit(cache=True, nogil=True)
def fill_possible(start, person, value_start, value, seen):
    """Mark in `seen` (people, values) what the groups hold in which somebody may stand."""
    for g in range(start.shape[0] - 1):
        for link in range(start[g], start[g + 1]):
            for j in range(value_start[g], value_start[g + 1]):
                seen[person[link], value[j]] = True


@njit(cache=True, nogil=True)
def bring(prior, told, but, least, own):
    """What people bring to release `but`: the prior times what the others `told` (releases, people, values), shares.

    Fills `own` (people, values), `least` at least; of whom nothing is left, all values are alike.
    """
    for x in range(prior.shape[0]):
        total = 0.0
        for s in range(prior.shape[1]):
            share = prior[x, s]
            for r in range(told.shape[0]):
                if r != but:
                    share *= told[r, x, s]
            own[x, s] = share
            total += share
        for s in range(prior.shape[1]):
            own[x, s] = max(own[x, s] / total if total > NOTHING else 1.0 / prior.shape[1], least)


@njit(cache=True, nogil=True)
def hear(said, away, keep, hears, told):
    """Mix what a release said (people, values) with the chance of being away, and with the share kept of `told`."""
    for x in range(said.shape[0]):
        if not hears[x]:
            continue
        total = 0.0
        for s in range(said.shape[1]):
            total += said[x, s] + away[x]
        for s in range(said.shape[1]):
            share = (said[x, s] + away[x]) / total if total > NOTHING else 1.0 / said.shape[1]
            told[x, s] = (1 - keep[x]) * share + keep[x] * told[x, s]


@njit(cache=True, nogil=True)
def believe(prior, told, belief, moving, impossible):
    """The prior times what every release told, as shares; by how much that `moving` (people,) changed a belief."""
    share = np.empty(prior.shape[1])
    for x in range(prior.shape[0]):
        total = 0.0
        for s in range(prior.shape[1]):
            share[s] = prior[x, s]
            for r in range(told.shape[0]):
                share[s] *= told[r, x, s]
            total += share[s]
        impossible[x] = not total > NOTHING
        moving[x] = 0.0
        for s in range(prior.shape[1]):
            new = 1.0 / prior.shape[1] if impossible[x] else share[s] / total
            moving[x] = max(moving[x], abs(new - belief[x, s]))
            belief[x, s] = new


@njit(cache=True, nogil=True)
def scaled_marginals(start, person, count, value_start, value, held, pair_start, weight, rounds, tolerance, marginal):
    """Marginals of groups whose members are many or uncertain: weights to the power n/(n-1), scaled to both margins.

    Exact for two people, and its error falls with the size. `count` (links,) and `held` (group values,) are float64.
    """
    scale = np.empty(0)
    for g in range(start.shape[0] - 1):
        lo, hi, v = start[g], start[g + 1], value_start[g]
        values = value_start[g + 1] - v
        total = 0.0
        for link in range(lo, hi):
            total += count[link]
        power = total / (total - 1.0) if total > 1.5 else 1.0
        if scale.shape[0] < values:
            scale = np.empty(values)
        at = pair_start[g]
        for link in range(lo, hi):
            top = 0.0
            for j in range(values):
                top = max(top, weight[person[link], value[v + j]])
            for j in range(values):
                ratio = weight[person[link], value[v + j]] / top if top > 0.0 else 1.0
                marginal[at + (link - lo) * values + j] = max(ratio, 1e-60) ** power
        for _ in range(rounds):
            for j in range(values):
                scale[j] = 0.0
            for link in range(lo, hi):
                row = at + (link - lo) * values
                total = 0.0
                for j in range(values):
                    total += marginal[row + j]
                for j in range(values):
                    marginal[row + j] *= count[link] / total
                    scale[j] += marginal[row + j]
            worst = 0.0
            for j in range(values):
                scale[j] = held[v + j] / max(scale[j], 1e-300)
                worst = max(worst, abs(scale[j] - 1.0))
            for link in range(lo, hi):
                row = at + (link - lo) * values
                for j in range(values):
                    marginal[row + j] *= scale[j]
            if worst < tolerance:
                break


@njit(cache=True, nogil=True)
def eliminate(move_start, move_value, move_weight, move_items, digits, most, marginal):
    """Sum over all joint matchings: people in turn take a value, and with it one of each of their move's items.

    People are in an order that keeps few items half used. `move_start` (people + 1,); of each move its value, its
    weight, and (moves, items) what it uses up, -1 = nothing; `digits` (items,) how often each item is there. Fills
    `marginal` (people, values) with sums, not shares. 1: done; 0: nothing fits; -1: there were more than `most` states.
    """
    people, items = move_start.shape[0] - 1, digits.shape[0]
    multiplier = np.empty(items, np.uint64)  # states are told apart by a random sum: a clash has a chance below 1e-10
    for i in range(items):
        multiplier[i] = draw(np.uint64(0x5EED), np.uint64(i)) | np.uint64(1)
    state = np.empty((1, items), np.int32)
    state[0] = digits
    key = np.zeros(1, np.uint64)
    forward = np.ones(1)
    room = 1024
    parent, child, used = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    layer_start, transition_start = np.zeros(people + 2, np.int64), np.zeros(people + 1, np.int64)
    everywhere = np.empty(1 + (people + 1) * 64)
    everywhere[0] = 1.0
    layer_start[1] = 1
    filled = 0
    for p in range(people):
        states = key.shape[0]
        first, last = move_start[p], move_start[p + 1]
        if states * (last - first) > 64 * most:
            return -1
        fresh = np.empty(states * (last - first), np.uint64)
        if filled + fresh.shape[0] > room:
            room = 2 * (filled + fresh.shape[0])
            parent, child, used = _grown(parent, room), _grown(child, room), _grown(used, room)
        found = 0
        for a in range(states):
            for m in range(first, last):
                fits = move_weight[m] > 0.0
                after = key[a]
                for i in range(move_items.shape[1]):
                    item = move_items[m, i]
                    if item >= 0:
                        fits = fits and state[a, item] > 0
                        after += multiplier[item]
                if fits:
                    fresh[found] = after
                    parent[filled + found] = a
                    used[filled + found] = m
                    found += 1
        if found == 0:
            return 0
        order = np.argsort(fresh[:found])
        distinct = 1
        for i in range(1, found):
            distinct += fresh[order[i]] != fresh[order[i - 1]]
        if distinct > most or filled + found > 128 * most:
            return -1
        new_state, new_key, new_forward = (
            np.empty((distinct, items), np.int32),
            np.empty(distinct, np.uint64),
            np.zeros(distinct),
        )
        at = -1
        for i in range(found):
            o = order[i]
            if i == 0 or fresh[o] != fresh[order[i - 1]]:
                at += 1
                new_key[at] = fresh[o]
                new_state[at] = state[parent[filled + o]]
                for j in range(move_items.shape[1]):
                    item = move_items[used[filled + o], j]
                    if item >= 0:
                        new_state[at, item] -= 1
            child[filled + o] = at
            new_forward[at] += forward[parent[filled + o]] * move_weight[used[filled + o]]
        top = new_forward.max()
        if not top > 0.0:
            return 0
        new_forward /= top  # only shares matter
        state, key, forward = new_state, new_key, new_forward
        end = layer_start[p + 1] + distinct
        if end > everywhere.shape[0]:
            everywhere = _grown_floats(everywhere, 2 * end)
        everywhere[layer_start[p + 1] : end] = forward
        layer_start[p + 2] = end
        filled += found
        transition_start[p + 1] = filled
    backward = np.ones(key.shape[0])
    marginal[:] = 0.0
    for p in range(people - 1, -1, -1):
        before = np.zeros(layer_start[p + 1] - layer_start[p])
        for t in range(transition_start[p], transition_start[p + 1]):
            m = used[t]
            onward = move_weight[m] * backward[child[t]]
            before[parent[t]] += onward
            marginal[p, move_value[m]] += everywhere[layer_start[p] + parent[t]] * onward
        top = before.max()
        if not top > 0.0:
            return 0
        backward = before / top
    return 1


@njit(cache=True, nogil=True)
def _grown(array, room):
    wider = np.empty(room, np.int64)
    wider[: array.shape[0]] = array
    return wider


@njit(cache=True, nogil=True)
def _grown_floats(array, room):
    wider = np.empty(room)
    wider[: array.shape[0]] = array
    return wider


@njit(cache=True, nogil=True)
def alternate(group, start, member, value, weight, steps, most, key, seen, moved):
    """Walk over joint matchings of two releases: people along a loop of groups exchange two values.

    Groups of the two releases are the corners of a graph and people its edges. From a group that holds the values a
    and b the walk leaves by a person with b, the next group by one with a, and so on until it meets a group again; the
    loop is then turned over, or not, by Metropolis. How many of a group hold a value never changes, so that a walk is
    as likely as its reverse (Barkema and Newman 1998, short loops). `group` (2, people), `start` (2, groups + 1) and
    `member` (2, people): who is in a group; `value` (people,) changes; `weight` (people, values); `seen` (people,
    values) counts visits and `moved` (people,) changes. Returns how many loops were turned.
    """
    people = value.shape[0]
    place = np.full((2, start.shape[1]), -1, np.int64)
    path, corner = np.empty(most, np.int64), np.empty(most + 1, np.int64)
    counter, turned = np.uint64(0), 0
    for _ in range(steps):
        for _ in range(people):
            side = np.int64(draw(key, counter) & np.uint64(1))
            g = group[side, np.int64(draw(key, counter + np.uint64(1)) % np.uint64(people))]
            size = np.uint64(start[side, g + 1] - start[side, g])
            a = value[member[side, start[side, g] + np.int64(draw(key, counter + np.uint64(2)) % size)]]
            b = value[member[side, start[side, g] + np.int64(draw(key, counter + np.uint64(3)) % size)]]
            counter += np.uint64(4)
            if a == b:
                continue
            first_side, length, closed = side, 0, -1
            corner[0], place[side, g] = g, 0
            while length < most:
                wanted = b if length % 2 == 0 else a
                partner, found = -1, 0
                for m in range(start[side, g], start[side, g + 1]):
                    if value[member[side, m]] == wanted:
                        found += 1
                        if draw(key, counter) % np.uint64(found) == 0:
                            partner = member[side, m]
                        counter += np.uint64(1)
                if partner < 0:
                    break
                path[length] = partner
                length += 1
                side = 1 - side
                g = group[side, partner]
                corner[length] = g
                if place[side, g] >= 0:
                    closed = place[side, g]
                    break
                place[side, g] = length
            for m in range(length + 1):
                place[(first_side + m) % 2, corner[m]] = -1
            if closed < 0:
                continue
            ratio = 1.0
            for m in range(closed, length):
                one = path[m]
                ratio *= weight[one, a if value[one] == b else b] / weight[one, value[one]]
            accepted = ratio >= 1.0 or uniform(key, counter) < ratio
            counter += np.uint64(1)
            if accepted:
                turned += 1
                for m in range(closed, length):
                    one = path[m]
                    value[one] = a if value[one] == b else b
                    moved[one] += 1
        for i in range(people):
            seen[i, value[i]] += 1
    return turned


@njit(cache=True, nogil=True)
def exchange(start, cell, value, excess, sweeps, key):
    """Exchange values within buckets until there are as many people of each cell and value as wanted.

    `start` (buckets + 1,), `cell` (rows,) and `value` (rows,), which changes; `excess` (cells, values): how many more
    there are than wanted, kept up to date. Moves that make nothing worse are taken, so that plateaus are walked over.
    Returns how many rows are still wrong.
    """
    wrong = 0
    for x in range(excess.shape[0]):
        for s in range(excess.shape[1]):
            wrong += max(excess[x, s], 0)
    counter = np.uint64(0)
    for _ in range(sweeps):
        if wrong == 0:
            break
        for g in range(start.shape[0] - 1):
            size = start[g + 1] - start[g]
            for i in range(start[g], start[g + 1]):
                j = start[g] + np.int64(draw(key, counter) % np.uint64(size))
                counter += np.uint64(1)
                x, y, s, t = cell[i], cell[j], value[i], value[j]
                if x == y or s == t:
                    continue
                before = abs(excess[x, s]) + abs(excess[y, t]) + abs(excess[x, t]) + abs(excess[y, s])
                after = abs(excess[x, s] - 1) + abs(excess[y, t] - 1) + abs(excess[x, t] + 1) + abs(excess[y, s] + 1)
                if after <= before:
                    excess[x, s] -= 1
                    excess[y, t] -= 1
                    excess[x, t] += 1
                    excess[y, s] += 1
                    value[i], value[j] = t, s
                    wrong += (after - before) // 2
    return wrong


def warm():
    """Compile every kernel here."""
    exchange(
        np.array([0, 2], np.int64),
        np.array([0, 1], np.int64),
        np.array([0, 1], np.int64),
        np.array([[1, -1], [-1, 1]], np.int64),
        2,
        np.uint64(1),
    )
    start, one = np.array([0, 2], np.int64), np.ones((3, 2)) / 2
    person, value = np.array([0, 1], np.int32), np.array([0, 1], np.int32)
    marginal, pairs = np.full(4, 0.5), np.array([0, 4], np.int64)
    scaled_marginals(start, person, np.ones(2), start, value, np.ones(2), pairs, one, 5, 1e-6, marginal)
    tell(start, person, np.ones(2), start, value, pairs, marginal, one, np.ones(2), np.zeros((3, 2)))
    told = np.ones((2, 3, 2))
    for some in (told, np.ones((2, 4, 2))[:, :3]):
        bring(one, some, 0, 0.0, one.copy())
    parent = np.arange(4)
    join(parent, start, person, np.zeros(1, np.int64), 3, 3, np.ones(1, np.bool_))
    labels(parent)
    fill_possible(start, person, start, value, np.zeros((3, 2), np.bool_))
    hear(one, np.zeros(3), np.zeros(3), np.ones(3, np.bool_), told[0])
    believe(one, told, one.copy(), np.zeros(3), np.zeros(3, np.bool_))
    items = np.array([[0], [1], [0], [1]], np.int64)
    moves = np.array([0, 2, 4], np.int64), np.array([0, 1, 0, 1], np.int64), np.ones(4)
    eliminate(*moves, items, np.ones(2, np.int32), 100, np.zeros((2, 2)))
    group, starts, member = (
        np.zeros((2, 2), np.int64),
        np.array([[0, 2], [0, 2]], np.int64),
        np.array([[0, 1], [0, 1]], np.int64),
    )
    alternate(
        group,
        starts,
        member,
        np.array([0, 1], np.int64),
        one,
        2,
        10,
        np.uint64(1),
        np.zeros((2, 2), np.int64),
        np.zeros(2, np.int64),
    )

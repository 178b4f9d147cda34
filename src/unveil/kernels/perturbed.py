"""True values behind perturbed categories: collapsed Gibbs sweeps over rows, and what each row says of people.

A row's sensitive value and true codes are drawn given those of all other rows, parameters integrated out. What a person
is believed to have comes from the same conditional law, before it is drawn from (Rao-Blackwell).
"""

import numpy as np
from numba import njit

from unveil.kernels.random import uniform

__all__ = ["sweep", "sweep_codes", "tally", "warm"]


@njit(cache=True, nogil=True)
def tally(value, true, place, codes, chance_place, chance, seen_place, beta, held, count, seen):
    """Fill the counts of a state: `held` (values,), `count` (flat: attribute a from place[a], values times codes).

    `value` (rows,) and `true` (rows, attributes) int32. `seen` (flat from seen_place[a], values times shown codes) gets
    the pseudo-counts and counts of an attribute's codes, by the chance of what they show; not of attributes shown as
    they are (chance_place < 0).
    """
    values = held.shape[0]
    held[:] = 0
    count[:] = 0
    for j in range(value.shape[0]):
        held[value[j]] += 1
        for a in range(codes.shape[0]):
            count[place[a] + value[j] * codes[a] + true[j, a]] += 1
    for a in range(codes.shape[0]):
        if chance_place[a] < 0:
            continue
        width = codes[a] + 1
        for s in range(values):
            for y in range(width):
                total = 0.0
                for x in range(codes[a]):
                    total += (beta + count[place[a] + s * codes[a] + x]) * chance[chance_place[a] + x * width + y]
                seen[seen_place[a] + s * width + y] = total


@njit(cache=True, nogil=True)
def _move(value, true, step, place, codes, chance_place, chance, seen_place, held, count, seen):
    """Take a row out of the counts (step -1) or put it in (1)."""
    held[value] += step
    for a in range(codes.shape[0]):
        count[place[a] + value * codes[a] + true[a]] += step
        if chance_place[a] >= 0:
            width = codes[a] + 1
            first, line = seen_place[a] + value * width, chance_place[a] + true[a] * width
            for y in range(width):
                seen[first + y] += step * chance[line + y]


@njit(cache=True, nogil=True)
def sweep(
    shown, value_chance, alpha, beta, place, codes, chance_place, chance, seen_place,
    key, counter, value, true, held, count, seen, start, person, known, knows, wanted, out,
):  # fmt: skip
    """Draw every row in turn; returns the counter reached.

    `shown` (rows, attributes) int32, a code or `codes[a]` for suppressed; `value_chance` (rows, values) the chance of
    what the row shows of the sensitive attribute. State and counts as in `tally`. If `wanted`, the chance that the row
    has each value and is person p, for p in `person[start[j]:start[j + 1]]`, is added to `out` (people, values): their
    codes are `known` (people, attributes) where `knows` (attributes,). Cost: rows · values · attributes, the codes of
    perturbed attributes, and the pairs of a person and a row.
    """
    rows, attributes = shown.shape
    values = held.shape[0]
    weight = np.empty(values)
    scale = np.empty(values)
    factor = np.empty((attributes, values))  # what is shown given the value
    base = np.empty(values)  # (alpha + held) over the product of the attributes' totals
    asked = np.empty(attributes, np.int64)  # attributes that tell whether a row is a person's
    for s in range(values):
        base[s] = _base(s, alpha, beta, codes, held, rows / values)
    for j in range(rows):
        _move(value[j], true[j], -1, place, codes, chance_place, chance, seen_place, held, count, seen)
        base[value[j]] = _base(value[j], alpha, beta, codes, held, rows / values)
        for s in range(values):
            weight[s] = base[s] * value_chance[j, s]
        for a in range(attributes):
            y = shown[j, a]
            if chance_place[a] >= 0:
                for s in range(values):
                    factor[a, s] = max(seen[seen_place[a] + s * (codes[a] + 1) + y], 0.0)
            elif y < codes[a]:
                for s in range(values):
                    factor[a, s] = beta + count[place[a] + s * codes[a] + y]
            else:
                for s in range(values):
                    factor[a, s] = beta * codes[a] + held[s]
            for s in range(values):
                weight[s] *= factor[a, s]
            if a % 16 == 15:  # many attributes would underflow
                _divide_by_the_largest(weight)
        total = 0.0
        for s in range(values):
            total += weight[s]
        if wanted and start[j + 1] > start[j]:
            telling = 0
            for a in range(attributes):
                if knows[a] and (chance_place[a] >= 0 or shown[j, a] == codes[a]):  # else the two are equal
                    asked[telling] = a
                    telling += 1
            for s in range(values):
                scale[s] = weight[s] / total
                for i in range(telling):
                    if scale[s] > 0.0:
                        scale[s] /= factor[asked[i], s]
            for e in range(start[j], start[j + 1]):
                p = person[e]
                seeing = 1.0
                for i in range(telling):
                    a = asked[i]
                    if chance_place[a] >= 0:
                        seeing *= chance[chance_place[a] + known[p, a] * (codes[a] + 1) + shown[j, a]]
                for s in range(values):
                    fits = scale[s] * seeing
                    for i in range(telling):
                        a = asked[i]
                        fits *= beta + count[place[a] + s * codes[a] + known[p, a]]
                    out[p, s] += fits
        at = uniform(key, counter) * total
        counter += np.uint64(1)
        s = 0
        while s < values - 1 and at >= weight[s]:
            at -= weight[s]
            s += 1
        while weight[s] == 0.0:  # rounding at the end
            s -= 1
        value[j] = s
        for a in range(attributes):
            y = shown[j, a]
            if chance_place[a] < 0 and y < codes[a]:
                continue
            at = uniform(key, counter) * factor[a, s]
            counter += np.uint64(1)
            last = -1
            for x in range(codes[a]):
                seeing = chance[chance_place[a] + x * (codes[a] + 1) + y] if chance_place[a] >= 0 else 1.0
                if seeing == 0.0:
                    continue
                last = x
                at -= (beta + count[place[a] + s * codes[a] + x]) * seeing
                if at < 0.0:
                    break
            true[j, a] = last
        _move(value[j], true[j], 1, place, codes, chance_place, chance, seen_place, held, count, seen)
        base[value[j]] = _base(value[j], alpha, beta, codes, held, rows / values)
    return counter


@njit(cache=True, nogil=True)
def sweep_codes(shown, beta, place, codes, chance_place, by_shown, key, counter, value, true, count, offset, law):
    """`sweep` where every row's value is published: only its hidden codes are drawn; returns the counter reached.

    `by_shown` holds the chances of each attribute with what is shown first, (codes + 1, codes). If `law` is not empty,
    the law of each hidden true code is added to it, from `offset` (rows, attributes) on; -1 there: it is shown.
    Cost: rows · the codes of hidden attributes.
    """
    widest = 1
    for a in range(codes.shape[0]):
        widest = max(widest, codes[a])
    bound = np.empty(widest)
    for j in range(shown.shape[0]):
        for a in range(codes.shape[0]):
            if offset[j, a] < 0:
                continue
            first, many = place[a] + value[j] * codes[a], codes[a]
            count[first + true[j, a]] -= 1
            total = 0.0
            if chance_place[a] >= 0:
                line = chance_place[a] + shown[j, a] * many
                for x in range(many):
                    total += (beta + count[first + x]) * by_shown[line + x]
                    bound[x] = total
            else:
                for x in range(many):
                    total += beta + count[first + x]
                    bound[x] = total
            if law.shape[0] > 0:
                below = 0.0
                for x in range(many):
                    law[offset[j, a] + x] += (bound[x] - below) / total
                    below = bound[x]
            at = (1.0 - uniform(key, counter)) * total  # above 0: what has no chance is never drawn
            counter += np.uint64(1)
            x = 0
            while bound[x] < at:
                x += 1
            true[j, a] = x
            count[first + x] += 1
    return counter


@njit(cache=True, nogil=True)
def _base(s, alpha, beta, codes, held, typical):
    """`typical`: rows of a value; every factor is divided by its typical size, or many attributes would underflow."""
    found = alpha + held[s]
    for a in range(codes.shape[0]):
        found *= (beta * codes[a] + typical) / (beta * codes[a] + held[s])
    return found


@njit(cache=True, nogil=True)
def _divide_by_the_largest(weight):
    top = 0.0
    for s in range(weight.shape[0]):
        top = max(top, weight[s])
    for s in range(weight.shape[0]):
        weight[s] /= top


def warm():
    """Compile every kernel here."""
    shown, one = np.zeros((1, 1), np.int32), np.zeros(1, np.int64)
    value, codes, held, count = np.zeros(1, np.int32), np.full(1, 2), np.zeros(2, np.int64), np.zeros(4, np.int64)
    chance, seen = np.ones(6), np.zeros(6)
    layout = one, codes, one, chance, one
    tally(value, shown, *layout, 1.0, held, count, seen)
    state = value, shown.copy(), held, count, seen
    pairs = np.array([0, 1]), np.zeros(1, np.int64), np.zeros((1, 1), np.int64), np.ones(1, np.bool_)
    numbers = np.uint64(1), np.uint64(0)
    sweep(shown, np.ones((1, 2)), 1.0, 1.0, *layout, *numbers, *state, *pairs, True, np.zeros((1, 2)))
    more = np.ones(6), *numbers, value, shown.copy(), count, np.zeros((1, 1), np.int64), np.zeros(2)
    sweep_codes(shown, 1.0, *layout[:3], *more)

"""Exact beliefs in small connected parts: the sum over every joint matching of people with the rows of all releases."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from unveil.kernels.composition import eliminate
from unveil.kernels.numbering import grouped
from unveil.risk.composition.links import GroupLinks
from unveil.risk.composition.structure import ConnectedParts

__all__ = ["MOST_PEOPLE", "STATES", "exact_beliefs"]

MOST_PEOPLE = 120  # in a part; up to about ten always succeed, larger ones where their groups chain up
STATES = 16_384
MOST_MOVES = 4000  # of one person
SURELY = 1 - 1e-9  # probability of being in a release

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Person = tuple[int, list[list[int]], Floats]


def exact_beliefs(
    links: Sequence[GroupLinks],
    size: Ints,
    p: Floats,
    parts: ConnectedParts,
    *,
    most: int = MOST_PEOPLE,
    states: int = STATES,
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """(classes, values) exact beliefs, (classes,) who has one, and (classes,) whom no joint matching fits.

    Everybody takes a value and a row of each release, in an order that leaves few groups half filled; all that matters
    of what was taken is what is left. Parts with more than `states` such remainders are
    left to belief propagation.
    """
    belief, done = np.zeros_like(p), np.zeros(len(size), dtype=bool)
    against = np.zeros(len(size), dtype=bool)
    small = parts.closed & ~parts.tree & (parts.people <= most)
    if not small[parts.part].any():
        return belief, done, against
    of_class = [_by_class(one, len(size)) for one in links]
    order, start = grouped(parts.part, len(small))
    stranger = p.mean(axis=0)
    for part in np.flatnonzero(small & (np.diff(start) > 0)):
        classes = order[start[part] : start[part + 1]]
        found = _part(links, of_class, classes, size, p, stranger, states)
        if found is not None:
            impossible = found.sum(axis=1) <= 0
            against[classes] = impossible
            done[classes] = ~impossible
            belief[classes] = found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
    return belief, done, against


def _by_class(links: GroupLinks, classes: int) -> tuple[Ints, Ints]:
    """Links ordered by class, and where each class begins."""
    order, start = grouped(links.person, classes + 1)
    return order, start


def _part(
    links: Sequence[GroupLinks],
    of_class: Sequence[tuple[Ints, Ints]],
    classes: Ints,
    size: Ints,
    p: Floats,
    stranger: Floats,
    states: int,
) -> Floats | None:
    """(classes of the part, values) sums over joint matchings; None: too many."""
    items: dict[tuple[int, str, int, int], int] = {}
    digits: list[int] = []

    def item(key: tuple[int, str, int, int], amount: float) -> int:
        if key not in items:
            items[key] = len(digits)
            digits.append(round(amount))
        return items[key]

    held: list[dict[int, dict[int, int]]] = [{} for _ in links]
    capacity: dict[tuple[int, int], float] = {}
    people: list[Person] = []  # class position or -1, links by release, weights
    for position, x in enumerate(classes.tolist()):
        mine = [order[begin[x] : begin[x + 1]].tolist() for order, begin in of_class]
        people += [(position, mine, p[x])] * int(size[x])
    shared: set[tuple[int, int]] = set()  # entries whose rows may be of several classes, or a class's rows elsewhere
    away: list[list[int]] = []  # per release: what somebody who is not in it uses up; none if everybody is
    for number, one in enumerate(links):
        linked, rows, strangers = sum(bool(mine[number]) for _, mine, _ in people), 0.0, 0
        free: list[int] = []  # where strangers may stand
        for link in {i for _, mine, _ in people for i in mine[number]}:
            group = int(np.searchsorted(one.start, link, side="right") - 1)
            if group in held[number]:
                continue
            values = slice(one.value_start[group], one.value_start[group + 1])
            rows += float(one.held[values].sum())
            held[number][group] = {
                int(c): item((number, "value", group, int(c)), float(h))
                for c, h in zip(one.column[values], one.held[values], strict=True)
            }
            for other in range(int(one.start[group]), int(one.start[group + 1])):
                place = (number, int(one.entry[other]))
                capacity[place] = capacity.get(place, 0.0) + float(one.count[other])
                begin = of_class[number][1]
                x = int(one.person[other])
                known = x < len(size)
                if not one.certain[other] or (known and (begin[x + 1] - begin[x] > 1 or one.present[x] < SURELY)):
                    shared.add(place)
                if x == len(size) and one.certain[other]:
                    strangers += round(float(one.count[other]))
                    people += [(-1, _only(number, [other], links), stranger)] * round(float(one.count[other]))
                elif x == len(size):
                    free.append(other)
        # All rows are somebody's: as many are missing, or are strangers', as people and rows differ by.
        absent = linked + strangers - round(rows)
        away.append([])
        if free:
            people += [(-1, _only(number, free, links), stranger)] * max(-absent, 0)
        elif (one.present[classes] < SURELY).any():
            away[number] = [item((number, "away", 0, 0), float(max(absent, 0)))]
    people = _ordered(people, links)
    values_kept = p.shape[1]
    start, value, weight, uses = [0], [], [], []
    width = sum(2 + (0 if one.slices is None else len(one.slices.blocks)) for one in links)

    def places(x: int, number: int, mine: list[int]) -> list[tuple[int, int, float, list[int]]]:
        """Where somebody may stand in a release: its number, a group (-1: nowhere), how well, and what it uses up."""
        one, found = links[number], []
        absent = x >= 0 and one.present[x] < SURELY
        if absent and away[number]:
            found.append((number, -1, 1.0, away[number]))
        for link in mine:
            group = int(np.searchsorted(one.start, link, side="right") - 1)
            entry = int(one.entry[link])
            key = (number, "entry", entry, 0)
            used = [item(key, capacity[number, entry])] if (number, entry) in shared else []
            fit = float(one.weight[link]) if len(mine) > 1 or absent else 1.0
            others = [] if one.slices is None else one.slices.ways(x, group)
            for chosen in product(*others):
                more = [
                    item((number, "block", b, e), float(one.slices.blocks[b].rows[e]))  # type: ignore[union-attr]
                    for b, (e, _) in enumerate(chosen)
                ]
                found.append((number, group, fit * math.prod(f for _, f in chosen), used + more))
        return found

    for position, mine, prior in people:
        x = int(classes[position]) if position >= 0 else -1
        options = [places(x, number, some) for number, some in enumerate(mine) if some]
        if any(len(some) > MOST_MOVES for some in options):
            return None
        for s in range(values_kept):
            if prior[s] <= 0:
                continue
            for chosen in product(*options):
                ways: list[tuple[float, list[int]]] = [(float(prior[s]), [])]
                for number, group, fit, taking in chosen:
                    emission = links[number].emission
                    taken = held[number].get(group, {})
                    if group < 0:
                        ways = [(w * fit, [*used, *taking]) for w, used in ways]
                        continue
                    if emission is None:
                        outcomes = [(taken[s], 1.0)] if s in taken else []
                    else:
                        outcomes = [(i, float(emission[c, s])) for c, i in taken.items() if emission[c, s] > 0]
                    ways = [(w * fit * chance, [*used, i, *taking]) for w, used in ways for i, chance in outcomes]
                for w, used in ways:
                    value.append(s)
                    weight.append(w)
                    uses.append(used + [-1] * (width - len(used)))
                if len(value) - start[-1] > MOST_MOVES:
                    return None
        start.append(len(value))
    if len(set(start)) < len(start):  # somebody has nothing left to be
        return np.zeros((len(classes), values_kept))
    marginal = np.zeros((len(people), values_kept))
    arrays = np.array(start), np.array(value), np.array(weight), np.array(uses, dtype=np.int64).reshape(-1, width)
    state = np.array(digits, dtype=np.int32)
    status = eliminate(*arrays, state, states, marginal)
    if status < 0:
        return None
    found = np.zeros((len(classes), values_kept))
    if status:
        for (position, _, _), row in zip(people, marginal, strict=True):
            if position >= 0:
                found[position] += row / max(row.sum(), 1e-300)
    return found


def _only(number: int, mine: list[int], links: Sequence[GroupLinks]) -> list[list[int]]:
    """Links by release of somebody who is in one of them."""
    return [mine if r == number else [] for r in range(len(links))]


def _ordered(people: list[Person], links: Sequence[GroupLinks]) -> list[Person]:
    """People group by group, so that few groups are half filled at any time."""
    groups = [
        {
            (r, int(np.searchsorted(one.start, link, side="right") - 1))
            for r, one in enumerate(links)
            for link in mine[r]
        }
        for _, mine, _ in people
    ]
    sizes: dict[tuple[int, int], int] = {}
    for own in groups:
        for g in own:
            sizes[g] = sizes.get(g, 0) + 1
    open_groups: set[tuple[int, int]] = set()
    left, order = set(range(len(people))), []
    while left:
        best = min(left, key=lambda i: (len(groups[i] - open_groups), sum(sizes[g] for g in groups[i]), i))
        left.remove(best)
        order.append(people[best])
        for g in groups[best]:
            sizes[g] -= 1
        open_groups = {g for g in open_groups | groups[best] if sizes[g] > 0}
    return order

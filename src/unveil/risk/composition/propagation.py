"""Belief propagation between the groups of several releases: each tells its members what its matching leaves them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unveil.kernels import composition as kernels
from unveil.kernels import matching
from unveil.kernels.numbering import grouped
from unveil.kernels.swaps import SWAPS
from unveil.risk.composition.links import GroupLinks

__all__ = ["Propagated", "propagate"]

ROUNDS, DAMPING, MORE_DAMPING = 120, 0.3, 0.6  # the latter once it has not settled after a third of the rounds
SETTLED, SETTLED_ALL = 1e-3, 0.02  # last change of 99% of people's beliefs, and of all
EXACT, CALM = 1e-10, 1e-4  # changes below these need no further round, on trees and on loops
TOGETHER, MOST_ACTIVE = 10, 0.7  # rounds before settled groups are left out, if no more than this share is active
AT_ONCE = 1 << 14  # rows, or rows of groups: what is worked on stays in the cache, however many people there are
LEAST = 1e-50  # the weight of what is ruled out: four of them multiplied are still above zero

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Propagated:
    """Beliefs about classes of people, and how they were reached."""

    belief: Floats  # (classes, values)
    rounds: int
    change: float  # the last change of a belief, of 99% of people
    worst: float  # ... of anybody
    moving: NDArray[np.float64]  # (classes,) the last change of each
    impossible: NDArray[np.bool_]  # (classes,) no value fits all releases

    @property
    def settled(self) -> bool:
        """Whether another round would change next to nothing."""
        return self.change <= SETTLED and self.worst <= SETTLED_ALL


class _Release:
    """The groups of one release, those that are matched exactly and the others."""

    def __init__(
        self, links: GroupLinks, size: Ints, values: int, rooms: dict[int, Floats], links_of: Ints | None = None
    ) -> None:
        """`links_of` (classes + 1,): how many links each class has in all; who has others here hears nothing.

        `rooms`: by columns what people bring, and what they are told: one release speaks at a time.
        """
        self.links = links
        times = np.bincount(links.person, minlength=len(size) + 1)
        self.hears = times == (times if links_of is None else links_of)
        whole = np.round(links.count)
        of_value = np.repeat(np.arange(links.groups), np.diff(links.value_start))
        rows = np.bincount(of_value, weights=links.held, minlength=links.groups)
        mine = np.bincount(links.group, weights=whole, minlength=links.groups)
        integer = np.bincount(links.group, weights=np.abs(links.count - whole), minlength=links.groups) < 1e-6
        integer &= (np.abs(rows - np.round(rows)) < 1e-6) & (np.round(rows) == mine) & (mine > 0)
        integer &= np.bincount(links.group, weights=whole < 1, minlength=links.groups) == 0
        self.exact = np.zeros(links.groups, dtype=bool)
        self.groups: list[tuple[int, matching.Groups]] = []  # exact ones in parts, each with its first link
        if integer.any():
            groups = matching.lay_out(*self._shape(integer, whole=True))
            fine = groups.method != SWAPS
            self.exact[np.flatnonzero(integer)[fine]] = True
            if fine.any():
                groups = groups if fine.all() else matching.lay_out(*self._shape(self.exact, whole=True))
                ends = np.searchsorted(groups.start[:-1], np.arange(0, groups.start[-1] + AT_ONCE, AT_ONCE))
                ends = np.unique(ends)
                self.groups = [
                    (int(groups.start[lo]), matching.part(groups, lo, hi)) for lo, hi in pairwise(ends.tolist())
                ]
        self.loose = self._shape(~self.exact & (mine + rows > 0)) if not self.exact.all() else None
        columns = values if links.emission is None else len(links.emission)
        self.room = rooms.setdefault(columns, np.empty((2, len(size) + 1, columns)))
        present = links.person < len(size)
        share = np.zeros(len(links.person))
        share[present] = links.count[present] / size[links.person[present]]
        self.share = {True: share[self.exact[links.group]], False: share[~self.exact[links.group]]}

    def _shape(self, keep: NDArray[np.bool_], *, whole: bool = False) -> tuple[NDArray[np.number], ...]:
        """Starts, people, counts, value starts, values and rows of some groups."""
        one = self.links
        links, values = keep[one.group], np.repeat(keep, np.diff(one.value_start))
        start = np.concatenate([[0], np.cumsum(np.diff(one.start)[keep])])
        value_start = np.concatenate([[0], np.cumsum(np.diff(one.value_start)[keep])])
        count, held = one.count[links], one.held[values]
        count, held = (np.round(count), np.round(held)) if whole else (count, held)
        return start, one.person[links], count, value_start, one.column[values], held

    def tell(self, weight: Floats, told: Floats) -> None:
        """Fill `told` (people + 1, columns) with what this release says to each, given what the others say."""
        told[:] = 0.0
        every = np.arange(len(weight), dtype=np.int32)[:, None]
        for first, g in self.groups:
            weights = matching.Weights(
                every,
                g.cell[:, None],
                weight,
                lambda cells: (weight[cells], np.log(weight[cells])),
            )
            marginal = matching.marginals(g, weights, np.uint64(0), np.empty(0, np.int32))
            rows = g.cell_count.astype(np.float64)
            share = self.share[True][first : first + len(rows)]
            kernels.tell(g.start, g.cell, rows, g.value_start, g.value, g.pair_start, marginal, weight, share, told)
        if self.loose is not None:
            start, person, count, value_start, value, held = self.loose
            pairs = np.concatenate([[0], np.cumsum(np.diff(start) * np.diff(value_start))])
            marginal = np.empty(pairs[-1])
            kernels.scaled_marginals(start, person, count, value_start, value, held, pairs, weight, 200, 1e-6, marginal)
            kernels.tell(start, person, count, value_start, value, pairs, marginal, weight, self.share[False], told)


@dataclass(slots=True, eq=False)
class _Messages:
    """What every release has told every class, and what is believed: the state of a run. The last row: strangers."""

    prior: Floats  # (classes + 1, values)
    told: Floats  # (releases, classes + 1, values)
    belief: Floats  # (classes + 1, values)
    moving: Floats  # (classes + 1,) the last change of each belief
    impossible: NDArray[np.bool_]  # (classes + 1,)
    keep: Floats  # (classes + 1,) share of the old message that is kept

    def round(self, releases: Sequence[_Release]) -> None:
        """Every release in turn hears the others and speaks."""
        for number, release in enumerate(releases):
            links, (weight, told) = release.links, release.room
            plain, away = links.emission is None, np.append(1 - links.present, 1.0)
            for rows in _slices(len(weight), whole=plain):
                own = weight[rows] if plain else np.empty(self.prior[rows].shape)
                kernels.bring(self.prior[rows], self.told[:, rows], number, LEAST if plain else 0.0, own)
                if not plain:
                    np.maximum(links.columns_of(own), LEAST, out=weight[rows])
            release.tell(weight, told)
            told[-1] = 0.0
            for rows in _slices(len(weight), whole=plain):
                mine = self.told[number, rows]
                kernels.hear(links.values_of(told[rows]), away[rows], self.keep[rows], release.hears[rows], mine)
        kernels.believe(self.prior, self.told, self.belief, self.moving, self.impossible)
        self.moving[-1] = 0.0

    def some(self, rows: Ints) -> "_Messages":
        """The same of some classes, the strangers last."""
        told, belief, moving = np.take(self.told, rows, axis=1), self.belief[rows], self.moving[rows]
        return _Messages(self.prior[rows], told, belief, moving, self.impossible[rows], self.keep[rows])

    def take(self, rows: Ints, part: "_Messages") -> None:
        """Put back what changed."""
        self.told[:, rows] = part.told
        self.belief[rows], self.moving[rows], self.impossible[rows] = part.belief, part.moving, part.impossible


def propagate(
    links: Sequence[GroupLinks], size: Ints, p: Floats, *, tree: NDArray[np.bool_], rounds: int = ROUNDS
) -> Propagated:
    """Beliefs given `p` (classes, values), the population's p(s | x) or flat; `tree` (classes,): who lies on no loop.

    A group's message to a member is its matching marginal divided by what the member brought; it is damped on loops
    and exact on trees. Equal people share the mean message, and whoever may be absent hears a mixture with nothing.
    Now and then groups of whom nobody changes any more are left out, until somebody does. Cost: rounds × (people ×
    values + matchings), fewer as they settle.
    """
    classes, values = p.shape
    order, rank = _side_by_side(links, classes)
    links = [_renumbered(one, rank, order) for one in links]
    size, tree = size[order], tree[order]
    prior = np.ones((classes + 1, values))
    if classes:
        np.take(p, order, axis=0, out=prior[:-1])
        prior[-1] = p.mean(axis=0)
    told = np.empty((len(links), classes + 1, values))
    for message, one in zip(told, links, strict=True):
        possible = one.possible(classes, values)
        possible[~possible.any(axis=1)] = True
        np.divide(possible, possible.sum(axis=1, keepdims=True), out=message)
    keep = np.where(np.append(tree, True), 0.0, DAMPING)
    impossible = np.zeros(classes + 1, dtype=np.bool_)
    state = _Messages(prior, told, np.zeros_like(prior), np.ones(classes + 1), impossible, keep)
    kernels.believe(prior, told, state.belief, state.moving, impossible)
    state.moving[:] = 1.0
    calm = np.append(np.where(tree, EXACT, CALM), 1.0)
    everyone = np.arange(classes + 1)
    done = 0
    whole: list[_Release] | None = None
    everyones: dict[int, Floats] = {}
    times = [np.bincount(one.person, minlength=classes + 1) for one in links]
    while done < rounds:
        moved = state.moving > calm
        active = [_groups_of(one, moved) for one in links]
        restricted = done > 0 and moved.any() and all(a.sum() < MOST_ACTIVE * max(len(a), 1) for a in active)
        if restricted:
            part = [one.of_groups(a) for one, a in zip(links, active, strict=True)]
            here = np.zeros(classes + 1, dtype=bool)
            for person in (*(one.person for one in part), classes):
                here[person] = True
            rows, number = np.flatnonzero(here), np.cumsum(here) - 1
            part = [_renumbered(one, number, rows[:-1]) for one in part]
            of_class = [n[rows] for n in times]
            rooms: dict[int, Floats] = {}
            releases = [_Release(one, size[rows[:-1]], values, rooms, n) for one, n in zip(part, of_class, strict=True)]
            current = state.some(rows)
        else:
            whole = whole or [_Release(one, size, values, everyones) for one in links]
            rows, releases, current = everyone, whole, state
        for _ in range(min(TOGETHER, rounds - done) if restricted or done == 0 else 1):
            if done == rounds // 3:
                state.keep = np.where(state.keep > 0, MORE_DAMPING, 0.0)
                current.keep = state.keep[rows]
            current.round(releases)
            done += 1
            if not (current.moving > calm[rows]).any():
                break
        if restricted:
            state.take(rows, current)
        if not restricted and not (state.moving > calm).any():
            break
    back, worst = rank[:-1], float(state.moving.max(initial=0.0))
    change = _weighted_quantile(state.moving[:-1], size / max(size.sum(), 1), 0.99)
    return Propagated(state.belief[back], done, change, worst, state.moving[back], state.impossible[back])


def _side_by_side(links: Sequence[GroupLinks], classes: int) -> tuple[Ints, Ints]:
    """(classes,) an order in which members of a group of the first release are neighbours, and (classes + 1,) ranks."""
    groups = links[0].groups if links else 0
    group = np.full(classes + 1, groups)
    for one in links[:1]:
        group[one.person[::-1]] = one.group[::-1]
    order = grouped(group[:-1], groups + 1)[0]
    rank = np.full(classes + 1, classes, dtype=np.int64)
    rank[order] = np.arange(classes)
    return order, rank


def _renumbered(links: GroupLinks, number: Ints, rows: Ints) -> GroupLinks:
    """The same of classes that have other numbers; `rows`: the classes in their new order."""
    return replace(links, person=number[links.person].astype(np.int32), present=links.present[rows])


def _groups_of(links: GroupLinks, moved: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(groups,) those with a member who moved."""
    return np.asarray(np.bincount(links.group, weights=moved[links.person], minlength=links.groups) > 0)


def _slices(rows: int, *, whole: bool) -> Iterator[slice]:
    step = max(rows, 1) if whole else AT_ONCE
    return (slice(begin, begin + step) for begin in range(0, rows, step))


def _weighted_quantile(number: Floats, weight: Floats, share: float) -> float:
    if not len(number):
        return 0.0
    order = np.argsort(number)
    return float(number[order][min(int(np.searchsorted(np.cumsum(weight[order]), share)), len(number) - 1)])

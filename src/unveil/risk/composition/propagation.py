"""Belief propagation between the groups of several releases: each tells its members what its matching leaves them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.kernels import matching
from unveil.kernels.composition import scaled_marginals, tell
from unveil.kernels.swaps import SWAPS
from unveil.risk.composition.links import GroupLinks

__all__ = ["Propagated", "propagate"]

ROUNDS, DAMPING, MORE_DAMPING = 120, 0.3, 0.6  # the latter once it has not settled after a third of the rounds
SETTLED, SETTLED_ALL = 1e-3, 0.02  # last change of 99% of people's beliefs, and of all
EXACT, CALM = 1e-10, 1e-4  # changes below these need no further round, on trees and on loops
TOGETHER, MOST_ACTIVE = 10, 0.7  # rounds before settled groups are left out, if no more than this share is active
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

    def __init__(self, links: GroupLinks, size: Ints, links_of: Ints | None = None) -> None:
        """`links_of` (classes + 1,): how many links each class has in all; who has others here hears nothing."""
        self.links = links
        times = np.bincount(links.person, minlength=len(size) + 1)
        self.hears = (times == (times if links_of is None else links_of))[:, None]
        whole = np.round(links.count)
        of_value = np.repeat(np.arange(links.groups), np.diff(links.value_start))
        rows = np.bincount(of_value, weights=links.held, minlength=links.groups)
        mine = np.bincount(links.group, weights=whole, minlength=links.groups)
        integer = np.bincount(links.group, weights=np.abs(links.count - whole), minlength=links.groups) < 1e-6
        integer &= (np.abs(rows - np.round(rows)) < 1e-6) & (np.round(rows) == mine) & (mine > 0)
        integer &= np.bincount(links.group, weights=whole < 1, minlength=links.groups) == 0
        self.exact = np.zeros(links.groups, dtype=bool)
        self.groups: matching.Groups | None = None
        if integer.any():
            groups = matching.lay_out(*self._shape(integer, whole=True))
            fine = groups.method != SWAPS
            self.exact[np.flatnonzero(integer)[fine]] = True
            self.groups = (
                groups if fine.all() else matching.lay_out(*self._shape(self.exact, whole=True)) if fine.any() else None
            )
        self.loose = self._shape(~self.exact & (mine + rows > 0)) if not self.exact.all() else None
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

    def tell(self, weight: Floats) -> Floats:
        """(people + 1, columns) what this release says to each, given what the others say."""
        told = np.zeros_like(weight)
        if self.groups is not None:
            g = self.groups
            weights = matching.Weights(
                np.arange(len(weight), dtype=np.int32)[:, None],
                g.cell[:, None],
                weight,
                lambda cells: (weight[cells], np.log(weight[cells])),
            )
            marginal = matching.marginals(g, weights, np.uint64(0), np.empty(0, np.int32))
            rows = g.cell_count.astype(np.float64)
            tell(g.start, g.cell, rows, g.value_start, g.value, g.pair_start, marginal, weight, self.share[True], told)
        if self.loose is not None:
            start, person, count, value_start, value, held = self.loose
            pairs = np.concatenate([[0], np.cumsum(np.diff(start) * np.diff(value_start))])
            marginal = np.empty(pairs[-1])
            scaled_marginals(start, person, count, value_start, value, held, pairs, weight, 200, 1e-6, marginal)
            tell(start, person, count, value_start, value, pairs, marginal, weight, self.share[False], told)
        return told


@dataclass(slots=True, eq=False)
class _Messages:
    """What every release has told every class, and what is believed: the state of a run. The last row: strangers."""

    prior: Floats  # (classes + 1, values)
    told: list[Floats]  # per release: (classes + 1, values)
    belief: Floats  # (classes + 1, values)
    moving: Floats  # (classes + 1,) the last change of each belief
    impossible: NDArray[np.bool_]  # (classes + 1,)
    keep: Floats  # (classes + 1,) share of the old message that is kept

    def round(self, releases: Sequence[_Release]) -> None:
        """Every release in turn hears the others and speaks."""
        keep = self.keep[:, None]
        for number, release in enumerate(releases):
            own = _product(self.prior, self.told[:number] + self.told[number + 1 :])
            _normalise(own)
            weight = np.maximum(release.links.columns_of(own), LEAST)
            heard = release.links.values_of(release.tell(weight))
            heard[:-1] += (1 - release.links.present)[:, None]
            heard[-1] = 1.0
            _normalise(heard)
            heard = (1 - keep) * heard + keep * self.told[number]
            self.told[number] = np.where(release.hears, heard, self.told[number])
        new = _product(self.prior, self.told)
        self.impossible = _normalise(new)
        self.moving = np.abs(new - self.belief).max(axis=1)
        self.moving[-1] = 0.0
        self.belief = new

    def some(self, rows: Ints) -> "_Messages":
        """The same of some classes, the strangers last."""
        told = [one[rows] for one in self.told]
        return _Messages(
            self.prior[rows], told, self.belief[rows], self.moving[rows], self.impossible[rows], self.keep[rows]
        )

    def take(self, rows: Ints, part: "_Messages") -> None:
        """Put back what changed."""
        for mine, theirs in zip(self.told, part.told, strict=True):
            mine[rows] = theirs
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
    prior = np.vstack([p, p.mean(axis=0)]) if classes else np.ones((1, values))
    told = [one.possible(classes, values).astype(np.float64) for one in links]
    for message in told:
        _normalise(message)
    belief = _product(prior, told)
    impossible = _normalise(belief)
    keep = np.where(np.append(tree, True), 0.0, DAMPING)
    state = _Messages(prior, told, belief, np.ones(classes + 1), impossible, keep)
    weights = size / max(size.sum(), 1)
    calm = np.append(np.where(tree, EXACT, CALM), 1.0)
    everyone = np.arange(classes + 1)
    change = worst = 0.0
    done = 0
    whole: list[_Release] | None = None
    times = [np.bincount(one.person, minlength=classes + 1) for one in links]
    while done < rounds:
        moved = state.moving > calm
        active = [_groups_of(one, moved) for one in links]
        restricted = done > 0 and moved.any() and all(a.sum() < MOST_ACTIVE * max(len(a), 1) for a in active)
        if restricted:
            part = [one.of_groups(a) for one, a in zip(links, active, strict=True)]
            rows = np.unique(np.concatenate([*(one.person for one in part), [classes]]))
            number = np.searchsorted(rows, everyone)
            part = [replace(o, person=number[o.person].astype(np.int32), present=o.present[rows[:-1]]) for o in part]
            of_class = [n[rows] for n in times]
            releases = [_Release(one, size[rows[:-1]], n) for one, n in zip(part, of_class, strict=True)]
            current = state.some(rows)
        else:
            whole = whole or [_Release(one, size) for one in links]
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
        change = _weighted_quantile(state.moving[:-1], weights, 0.99)
        worst = float(state.moving.max(initial=0.0))
        if not restricted and not (state.moving > calm).any():
            break
    return Propagated(state.belief[:-1], done, change, worst, state.moving[:-1], state.impossible[:-1])


def _groups_of(links: GroupLinks, moved: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(groups,) those with a member who moved."""
    return np.asarray(np.bincount(links.group, weights=moved[links.person], minlength=links.groups) > 0)


def _product(first: Floats, others: Sequence[Floats]) -> Floats:
    found = first.copy()
    for one in others:
        found *= one
    return found


def _normalise(rows: Floats) -> NDArray[np.bool_]:
    """Make every row add up to 1, in place; those of which nothing is left are even, and named."""
    total = rows.sum(axis=1, keepdims=True)
    empty: NDArray[np.bool_] = ~(total[:, 0] > 1e-290)
    rows[empty] = 1.0
    total[empty] = rows.shape[1]
    rows /= total
    return empty


def _weighted_quantile(number: Floats, weight: Floats, share: float) -> float:
    if not len(number):
        return 0.0
    order = np.argsort(number)
    return float(number[order][min(int(np.searchsorted(np.cumsum(weight[order]), share)), len(number) - 1)])

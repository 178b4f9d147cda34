"""Belief propagation between the groups of several releases: each tells its members what its matching leaves them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.kernels import matching
from unveil.kernels.composition import scaled_marginals, tell
from unveil.kernels.swaps import SWAPS
from unveil.risk.composition.links import GroupLinks

__all__ = ["Propagated", "propagate"]

ROUNDS, DAMPING, MORE_DAMPING = 120, 0.3, 0.6  # the latter once it has not settled after a third of the rounds
SETTLED, SETTLED_ALL = 1e-3, 0.02  # last change of 99% of people's beliefs, and of all
EXACT = 1e-10
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

    def __init__(self, links: GroupLinks, size: Ints, columns: int) -> None:
        self.links, self.columns = links, columns
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
            count = g.cell_count.astype(np.float64)
            tell(g.start, g.cell, count, g.value_start, g.value, g.pair_start, marginal, weight, self.share[True], told)
        if self.loose is not None:
            start, person, count, value_start, value, held = self.loose
            pairs = np.concatenate([[0], np.cumsum(np.diff(start) * np.diff(value_start))])
            marginal = np.empty(pairs[-1])
            scaled_marginals(start, person, count, value_start, value, held, pairs, weight, 200, 1e-6, marginal)
            tell(start, person, count, value_start, value, pairs, marginal, weight, self.share[False], told)
        return told


def propagate(
    links: Sequence[GroupLinks], size: Ints, p: Floats, *, tree: NDArray[np.bool_], rounds: int = ROUNDS
) -> Propagated:
    """Beliefs given `p` (classes, values), the population's p(s | x) or flat; `tree` (classes,): who lies on no loop.

    A group's message to a member is its matching marginal divided by what the member brought; it is damped on loops
    and exact on trees. Equal people share the mean message, and whoever may be absent hears a mixture with nothing.
    Cost: rounds × (people × values + matchings).
    """
    classes, values = p.shape
    flat = np.vstack([p, p.mean(axis=0)]) if classes else np.ones((1, values))
    releases = [_Release(one, size, values if one.emission is None else len(one.emission)) for one in links]
    told = [one.possible(classes, values).astype(np.float64) for one in links]
    for message in told:
        _normalise(message)
    belief = _product(flat, told)
    impossible = _normalise(belief)
    keep = np.where(np.append(tree, True), 0.0, DAMPING)[:, None]
    weights = size / max(size.sum(), 1)
    moving = np.zeros(classes)
    change = worst = 0.0
    done = 0
    for done in range(1, rounds + 1):
        if done == rounds // 3:
            keep = np.where(keep > 0, MORE_DAMPING, 0.0)
        for number, release in enumerate(releases):
            own = _product(flat, told[:number] + told[number + 1 :])
            _normalise(own)
            weight = np.maximum(release.links.columns_of(own), LEAST)
            heard = release.links.values_of(release.tell(weight))
            heard[:classes] += (1 - release.links.present)[:, None]
            heard[classes] = 1.0
            _normalise(heard)
            told[number] = (1 - keep) * heard + keep * told[number]
        new = _product(flat, told)
        impossible = _normalise(new)
        moving = np.abs(new - belief).max(axis=1)[:classes]
        belief = new
        change, worst = _weighted_quantile(moving, weights, 0.99), float(moving.max(initial=0.0))
        calm = float(moving[tree].max(initial=0.0)) < EXACT
        if calm and change <= SETTLED / 10 and worst <= SETTLED_ALL / 10:
            break
    return Propagated(belief[:classes], done, change, worst, moving, impossible[:classes])


def _product(first: Floats, others: Sequence[Floats]) -> Floats:
    found = first.copy()
    for one in others:
        found *= one
    return found


def _normalise(rows: Floats) -> NDArray[np.bool_]:
    """Make every row add up to 1, in place; those of which nothing is left are even, and named."""
    total = rows.sum(axis=1, keepdims=True)
    empty = ~(total[:, 0] > 1e-290)
    rows[empty] = 1.0
    total[empty] = rows.shape[1]
    rows /= total
    return empty


def _weighted_quantile(number: Floats, weight: Floats, share: float) -> float:
    if not len(number):
        return 0.0
    order = np.argsort(number)
    return float(number[order][min(int(np.searchsorted(np.cumsum(weight[order]), share)), len(number) - 1)])

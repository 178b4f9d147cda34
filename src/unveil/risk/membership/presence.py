"""δ-presence: for everyone of a population, the probability of being in the table (Nergiz, Atzori and Clifton 2007)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate, Known, Targets
from unveil.data.regions import Regions, rank_sequences
from unveil.data.release import Release, example_rows, row_numbers
from unveil.errors import UsageError
from unveil.risk.membership.matching import MatchingProblem, fitting_cells, fitting_groups

__all__ = ["Presence", "delta_presence"]

ROUNDS = 200
SURE = 1e-9  # a chance that is 1 but for rounding
MOST_STEPS = 50_000_000  # pairs of a kind of people and a cell, over all rounds: about a second


@dataclass(frozen=True, slots=True, eq=False)
class Presence:
    """Of everyone: P(in the table | release), with bounds that hold however the release was made."""

    value: NDArray[np.float64]  # (people,)
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    short: int  # published rows for which the population has nobody: it does not hold everyone
    share: float  # of the population that is in the table: what is believed of anybody beforehand

    @property
    def certain(self) -> float:
        """The share of these people who must be in the table, however the release was made."""
        return float((self.low >= 1 - SURE).mean())

    def odds(self) -> NDArray[np.float64]:
        """(3, people) by how much the release multiplies the odds of being in: value, low, high; inf = certain."""
        if self.share >= 1:  # everybody is in, whatever is published
            return np.ones((3, len(self.value)))
        with np.errstate(divide="ignore"):
            chance = np.stack([self.value, self.low, self.high])
            return np.asarray(chance / np.maximum(1 - chance, 0.0) / (self.share / (1 - self.share)))

    @property
    def smallest(self) -> Estimate:
        """δ_min."""
        return Estimate(*(float(part.min()) for part in (self.value, self.low, self.high)))

    @property
    def largest(self) -> Estimate:
        """δ_max."""
        return Estimate(*(float(part.max()) for part in (self.value, self.low, self.high)))


def delta_presence(release: Release, population: Targets, people: Targets | None = None) -> Presence:
    """Everyone's probability, from how many rows and how many people fit each published cell.

    `people`: the same of these instead, members of the table, who belong to the population whether its file has them or
    not; of both exact values must be known.

    Where nobody fits two cells (a generalised table without overlap, Anatomy) it is rows over people, exactly. Else
    `value` spreads the rows with the largest entropy, and `low` and `high` are what counting alone implies: a cell's
    rows less everybody else who fits it; a person's cells against the people who fit the same. With several blocks
    each block bounds alone, and groups stand for cells.
    """
    everyone = population if people is None else _stacked(population, people)
    asked = slice(0 if people is None else population.count, None)
    distinct, number = everyone.distinct()
    systems = _systems(release, distinct)
    share = min(release.rows / population.count, 1.0)
    if not systems:  # nothing known is published: everybody is alike
        same = np.full(len(number[asked]), share)
        return Presence(same, same, same, 0, share)
    # People who fit the same cells of every block are alike; those who fit the same of one block need not be.
    kind = row_numbers([rank_sequences(fitting.start, fitting.unit) for fitting in systems])
    kinds = int(kind.max()) + 1
    first = example_rows(kind)
    each = kind[number]
    count = np.bincount(each[: population.count], minlength=kinds).astype(np.float64)
    if people is not None:
        count = np.maximum(count, np.bincount(each[asked], minlength=kinds))
    parts = [_spread(fitting.take(first), count) for fitting in systems]
    low = np.maximum.reduce([part.low for part in parts])
    high = np.maximum(np.minimum.reduce([part.high for part in parts]), low)
    value = np.clip(parts[0].value, low, high)
    mine = each[asked]
    return Presence(value[mine], low[mine], high[mine], max(part.short for part in parts), share)


def _stacked(one: Targets, other: Targets) -> Targets:
    """Both, one after the other."""
    known = {}
    for index in one.known:
        codes = [part.known[index].regions.single()[part.known[index].of_target] for part in (one, other)]
        if any((code < 0).any() for code in codes):
            raise UsageError("presence of members needs their exact values, and the population's")
        known[index] = Known(Regions.singles(one.known[index].regions.codes), np.concatenate(codes).astype(np.int64))
    return Targets(one.asked, known, one.count + other.count)


def _systems(release: Release, people: Targets) -> list[MatchingProblem]:
    """What people may fill: groups first if several blocks tell of them, then the cells of each block."""
    blocks = [b for b in release.blocks if any(i in people.known for i in b.attributes)]
    groups = [fitting_groups(release, people)] if len(blocks) > 1 else []
    return [*groups, *(fitting_cells(release, block, people) for block in blocks)]


def _spread(fitting: MatchingProblem, count: NDArray[np.float64]) -> Presence:
    """Of each kind of people, with how many there are of it, from one system of cells."""
    kinds = len(count)
    unit, owner = fitting.unit, np.repeat(np.arange(kinds), np.diff(fitting.start))
    fit = np.bincount(unit, weights=count[owner], minlength=len(fitting.rows))
    rows = np.minimum(fitting.rows, fit)
    at_most = np.minimum(np.bincount(owner, weights=rows[unit], minlength=kinds) / count, 1.0)
    at_least = np.zeros(kinds)
    np.maximum.at(at_least, owner, (rows - fit)[unit] / count[owner] + 1)
    alone = len(unit) == len(np.unique(unit)) and (np.diff(fitting.start) <= 1).all()
    value = at_most if alone else _largest_entropy(owner, unit, count, rows, kinds)
    return Presence(value, at_least, at_most, int(np.maximum(fitting.rows - fit, 0).sum()), np.nan)


def _largest_entropy(
    owner: NDArray[np.int64],
    unit: NDArray[np.int64],
    count: NDArray[np.float64],
    rows: NDArray[np.float64],
    kinds: int,
) -> NDArray[np.float64]:
    """(kinds,) chance to fill a row, each cell drawing people with its own weight so that its rows come out."""
    weight = np.ones(len(rows))
    for _ in range(max(min(ROUNDS, MOST_STEPS // max(len(unit), 1)), 5)):
        total = 1 + np.bincount(owner, weights=weight[unit], minlength=kinds)
        filled = np.bincount(unit, weights=(count / total)[owner] * weight[unit], minlength=len(rows))
        factor = np.divide(rows, filled, out=np.ones(len(rows)), where=filled > 0)
        weight = np.minimum(weight * factor, 1e12)
        if np.abs(factor - 1).max(initial=0.0) < 1e-6:
            break
    total = np.bincount(owner, weights=weight[unit], minlength=kinds)
    return np.asarray(total / (1 + total))

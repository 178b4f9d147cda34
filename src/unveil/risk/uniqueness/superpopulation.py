"""Population uniques from how many cells of the sample hold 1, 2, 3 … people: Zayatz, Pitman, SNB and Dankar's rule.

These are the estimators of ARX. They look at the sizes of cells only, not at what the cells are, and say how many
people of the population are alone; not which.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.uniqueness.counts import KeyCounts

__all__ = [
    "SUPERPOPULATION",
    "CellSizes",
    "PopulationUniques",
    "dankar",
    "pitman",
    "slide_negative_binomial",
    "uniques_of",
    "zayatz",
]

DRAWS = 200  # of the sample's cells, for an interval
FEW = 0.1  # Dankar's rule: up to this sampling fraction Pitman's model is taken
CLOSE = 1e-6  # how far a solution may miss its equations, as a share of the counts in them
TAIL = 2.5  # per cent on each side of an interval


@dataclass(frozen=True, slots=True, eq=False)
class CellSizes:
    """How many cells of a sample hold how many people, and what share of the population the sample is."""

    size: NDArray[np.int64]  # (sizes,) growing
    cells: NDArray[np.int64]  # (sizes,) cells that hold as many
    fraction: float

    @classmethod
    def of(cls, counts: KeyCounts) -> "CellSizes":
        """Those of a sample."""
        size, cells = np.unique(counts.count, return_counts=True)
        return cls(size.astype(np.int64), cells.astype(np.int64), counts.fraction)

    def holding(self, people: int) -> int:
        """Cells that hold exactly so many people."""
        return int(self.cells[self.size == people].sum())

    @property
    def rows(self) -> int:
        """People in the sample."""
        return int(self.size @ self.cells)

    @property
    def population(self) -> float:
        """People in the population."""
        return self.rows / self.fraction

    def share_of_alone(self, uniques: float) -> float | None:
        """P(PU|SU) if so many people are alone in the population, of whom the sample holds its fraction."""
        alone = self.holding(1)
        return min(uniques * self.fraction / alone, 1.0) if alone else None

    def drawn(self, random: np.random.Generator) -> "CellSizes":
        """Another sample like this one: each number of cells is a Poisson count."""
        cells = random.poisson(self.cells)
        return CellSizes(self.size[cells > 0], cells[cells > 0], self.fraction)


@dataclass(frozen=True, slots=True)
class PopulationUniques:
    """What one of these estimators says."""

    number: Estimate  # people who are alone in the population
    share: Estimate | None  # P(PU|SU): of who is alone in the sample; None without sample uniques


def zayatz(sizes: CellSizes) -> float:
    """People alone in the population: the sample's sizes of cells taken for the population's (Zayatz 1991)."""
    alone, rows, population = sizes.holding(1), sizes.rows, round(sizes.population)
    if not alone or sizes.fraction == 1:
        return float(alone)
    chance = sizes.cells @ _drawn_once(sizes.size, rows, population)
    return alone * (alone * rows / population / float(chance)) / sizes.fraction


def pitman(sizes: CellSizes) -> float:
    """Pitman's sampling formula by maximum likelihood: Gamma(t+1) / Gamma(t+a) · N^a are alone (Hoshino 2001)."""
    from scipy.optimize import root
    from scipy.special import gammaln

    alone, pairs = float(sizes.holding(1)), float(max(sizes.holding(2), 1))
    if not alone or sizes.fraction == 1:
        return alone
    rows, cells = float(sizes.rows), float(sizes.cells.sum())
    c = alone * (alone - 1) / pairs
    below = 2 * alone * cells + alone * c - rows * c
    theta = (rows * cells * c - alone * (rows - 1) * (2 * cells + c)) / below if below else 1.0
    alpha = (theta * (alone - rows) + (rows - 1) * alone) / (rows * cells)
    slopes = _pitman_slopes(sizes)
    starts = [(theta, alpha), (max(theta, 1.0), 0.5), (cells, 0.5), (cells, 0.1), (1.0, 0.9)]
    for first, second in starts:
        if not (0 < second < 1 and first > -second):
            continue
        with np.errstate(all="ignore"):
            found = root(slopes, [math.log(first + second), math.log(second / (1 - second))])
            miss = slopes(found.x)
        if np.isfinite(miss).all() and float(np.abs(miss).max()) < CLOSE * rows:
            alpha = 1 / (1 + math.exp(-found.x[1]))
            theta = math.exp(found.x[0]) - alpha
            number = math.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * math.log(sizes.population))
            if number <= sizes.population:
                return number
    raise NotApplicable("Pitman's likelihood has no largest value for this sample")


def slide_negative_binomial(sizes: CellSizes) -> float:
    """SNB: one more than a negative binomial number of people in each cell (Chen, Keller-McNulty 1998).

    The population's cells are Shlosser's estimate; the two parameters give the sample's cells of one and of two people.
    """
    from scipy.optimize import root

    alone, pairs, f = sizes.holding(1), sizes.holding(2), sizes.fraction
    if not alone or f == 1:
        return float(alone)
    cells = _shlosser(sizes)

    def expected(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        a, b = math.exp(min(logs[0], 50.0)), 1 / (1 + math.exp(-logs[1]))
        d = (1 - f) * (1 - b)
        base = cells * math.exp(a * (math.log(b) - math.log1p(-d)))
        one = base * f * (a * d / (1 - d) + 1)
        two = base * f * f * a * (1 - b) * (2 - (1 - a) * d) / (2 * (1 - d) ** 2)
        return np.array([one - alone, two - pairs])

    for start in ((0.0, 0.0), (-1.0, -2.0), (-2.0, -4.0), (1.0, 1.0), (-3.0, 0.0)):
        try:
            found = root(expected, np.array(start))
            miss = float(np.abs(expected(found.x)).max())
        except (OverflowError, ValueError, ZeroDivisionError):
            continue
        if miss < CLOSE * sizes.rows:
            a, b = math.exp(found.x[0]), 1 / (1 + math.exp(-found.x[1]))
            return cells * math.exp(a * math.log(b))
    raise NotApplicable("the equations of the model have no solution for this sample")


def dankar(sizes: CellSizes) -> float:
    """Dankar's rule: Pitman up to a tenth of the population, else the smaller of Zayatz and SNB (Dankar et al. 2012).

    Where a model has no solution Zayatz's estimate is taken.
    """
    try:
        if sizes.fraction <= FEW * (1 + 1e-9):
            return pitman(sizes)
        return min(zayatz(sizes), slide_negative_binomial(sizes))
    except NotApplicable:
        return zayatz(sizes)


SUPERPOPULATION: dict[str, Callable[[CellSizes], float]] = {
    "zayatz": zayatz,
    "pitman": pitman,
    "slide_negative_binomial": slide_negative_binomial,
    "dankar": dankar,
}


def uniques_of(name: str, counts: KeyCounts) -> PopulationUniques:
    """By one of these: people alone in the population, and P(PU|SU), None without sample uniques.

    The 95% interval, if the model holds: the sample's cells drawn again, and of who is alone in it a binomial number.
    """
    sizes, estimator = CellSizes.of(counts), SUPERPOPULATION[name]
    alone = sizes.holding(1)
    if sizes.fraction == 1 or not alone:
        return PopulationUniques(Estimate.exact(float(alone)), Estimate.exact(1.0) if alone else None)
    number = estimator(sizes)
    random = Engine(seed=0).named(f"uniqueness/{name}").generator()
    numbers, shares = [], []
    for _ in range(DRAWS):
        other = sizes.drawn(random)
        own = max(other.holding(1), 1)
        try:
            found = estimator(other)
        except NotApplicable:  # such a sample says nothing: both ends are possible
            numbers += [0.0, sizes.population]
            shares += [0.0, 1.0]
            continue
        numbers.append(found)
        shares.append(random.binomial(own, min(found * other.fraction / own, 1.0)) / own)
    share = sizes.share_of_alone(number)
    assert share is not None
    return PopulationUniques(_between(number, numbers), _between(share, shares))


def _between(value: float, draws: list[float]) -> Estimate:
    low, high = np.percentile(draws, [TAIL, 100 - TAIL])
    return Estimate(value, min(float(low), value), max(float(high), value))


def _drawn_once(size: NDArray[np.int64], rows: int, population: int) -> NDArray[np.float64]:
    """(sizes,) the chance that exactly one of so many people is among `rows` drawn from the population."""
    from scipy.stats import hypergeom

    return np.asarray(hypergeom.pmf(1, population, size, rows), dtype=np.float64)


def _pitman_slopes(sizes: CellSizes) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Slopes of the log likelihood in theta and alpha, of log(theta + alpha) and logit(alpha)."""
    from scipy.special import digamma

    rows, cells = float(sizes.rows), float(sizes.cells.sum())

    def slopes(at: NDArray[np.float64]) -> NDArray[np.float64]:
        alpha = 1 / (1 + np.exp(-at[1]))
        theta = np.exp(at[0]) - alpha
        ratio = theta / alpha
        steps = digamma(cells + ratio) - digamma(ratio + 1)  # the sum over i below cells of alpha / (theta + i alpha)
        by_theta = steps / alpha - (digamma(rows + theta) - digamma(theta + 1))
        within = sizes.cells @ (digamma(sizes.size - alpha) - digamma(1 - alpha))
        by_alpha = (cells - 1 - ratio * steps) / alpha - within
        return np.array([by_theta, by_alpha])

    return slopes


def _shlosser(sizes: CellSizes) -> float:
    """Cells of the population (Shlosser 1981; Haas and Stokes 1998)."""
    f, size = sizes.fraction, sizes.size.astype(np.float64)
    missed = float(sizes.cells @ (1 - f) ** size)
    once = float(sizes.cells @ (size * f * (1 - f) ** (size - 1)))
    return float(sizes.cells.sum()) + sizes.holding(1) * missed / once

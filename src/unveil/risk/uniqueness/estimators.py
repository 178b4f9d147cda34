"""Estimators of 1/F and of population uniques: Benedetti-Franconi, negative binomial, Poisson log-linear, counted.

Each is F - f given f: negative binomial or Poisson. With G its probability generating function, E[1/F] is the integral
of t^(f-1) G(t) over 0 … 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.errors import UsageError
from unveil.risk.uniqueness.counts import KeyCounts
from unveil.risk.uniqueness.loglinear import independence_means, two_way_means

__all__ = [
    "MANY",
    "CellRisk",
    "benedetti_franconi",
    "benedetti_franconi_of",
    "counted",
    "expected_links",
    "negative_binomial",
    "negative_binomial_at",
    "negative_binomial_surprise",
    "nodes",
    "poisson_at",
    "poisson_independence",
    "poisson_two_way",
    "population_unique",
]

NODES = 200
MANY = 300  # from here on t^(f-1) is so steep that the integral is taken over t^f
Logs = NDArray[np.float64]
ENDS = 12.0  # of the logarithm of a shape; beyond it all cells are as good as alike
FAR = 2000.0  # expected others from which the integral is its two-term expansion


@dataclass(frozen=True, slots=True, eq=False)
class CellRisk:
    """What one estimator says of every cell of a sample."""

    risk: NDArray[np.float64]  # (cells,) E[1/F]: a match with anyone of the population is right that often
    unique: NDArray[np.float64]  # (cells,) P(F = 1); 0 where f > 1
    facts: dict[str, float]  # what was fitted
    law: NDArray[np.float64] | None = None  # (cells,) of F - f: its mean (Poisson), or how likely nobody more is drawn


def population_unique(counts: KeyCounts, found: CellRisk) -> float:
    """P(PU | SU): the share of sample uniques that are population uniques; nan without sample uniques (Torra 2024)."""
    alone = counts.alone
    return float(found.unique[alone].mean()) if alone.any() else math.nan


def expected_links(counts: KeyCounts, found: CellRisk) -> float:
    """Sum of E[1/F] over sample uniques: right links of whoever matches each of them with the population (tau_2)."""
    return float(found.risk[counts.alone].sum())


def benedetti_franconi(counts: KeyCounts) -> CellRisk:
    """F given f is negative binomial with f successes of probability f / sum of weights (Benedetti, Franconi 1998)."""
    return benedetti_franconi_of(counts.count, counts.weight)


def benedetti_franconi_of(count: NDArray[Any], weight: NDArray[np.float64]) -> CellRisk:
    """The same of cells of which only f and the sum of weights are known."""
    share = count / weight
    risk = _negative_binomial_inverse(count, share, 0.0)
    return CellRisk(risk, np.where(count == 1, share, 0.0), {}, share)


def negative_binomial(counts: KeyCounts) -> CellRisk:
    """Every cell of the crossing has a gamma mean, F a negative binomial (Bethlehem, Keller, Pannekoek 1990).

    Shape and scale are the maximum likelihood of the sample's counts, empty cells of the crossing included.
    """
    from scipy.optimize import minimize_scalar

    if counts.fraction == 1:
        return _known(counts.count, counts.count)
    mean = counts.rows / max(math.prod(float(c) for c in counts.codes), len(counts.count)) / counts.fraction
    surprise, _ = negative_binomial_surprise(counts)

    def of_shape(log: float) -> float:
        return surprise(np.array([log, math.log(mean) - log]))  # whatever the shape, the best mean is the cells' own

    # Bounded: where everybody is alone, or all cells are alike, the likelihood grows towards an end.
    log = float(minimize_scalar(of_shape, bounds=(-ENDS, ENDS), method="bounded", options={"xatol": 1e-9}).x)
    return negative_binomial_at(counts, math.exp(log), mean * math.exp(-log))


def negative_binomial_surprise(counts: KeyCounts) -> tuple[Callable[[Logs], float], Callable[[Logs], Logs]]:
    """Minus the log likelihood of the logarithms of shape and scale, and its slope."""
    from scipy.special import gammaln, psi

    sizes, times = np.unique(counts.count, return_counts=True)
    empty = max(math.prod(float(c) for c in counts.codes) - len(counts.count), 0.0)

    cells = float(times.sum()) + empty

    def surprise(logs: Logs) -> float:
        shape, scale = np.exp(logs)
        seen = counts.fraction * scale
        each = gammaln(sizes + shape) - gammaln(shape) + sizes * (np.log(seen) - np.log1p(seen))
        return float(-(times @ each) + cells * shape * np.log1p(seen))

    def slope(logs: Logs) -> Logs:
        shape, scale = np.exp(logs)
        seen = counts.fraction * scale
        by_shape = shape * (cells * np.log1p(seen) - times @ (psi(sizes + shape) - psi(shape)))
        by_scale = (cells * shape * seen - times @ sizes) / (1 + seen)
        return np.array([by_shape, by_scale])

    return surprise, slope


def negative_binomial_at(counts: KeyCounts, shape: float, scale: float) -> CellRisk:
    """The risks of given parameters."""
    stays = np.full(len(counts.count), (1 + counts.fraction * scale) / (1 + scale))
    risk = _negative_binomial_inverse(counts.count, stays, shape)
    unique = np.where(counts.alone, stays ** (1 + shape), 0.0)
    return CellRisk(risk, unique, {"shape": shape, "scale": scale}, stays)


def poisson_independence(counts: KeyCounts) -> CellRisk:
    """Poisson log-linear model in which keys are independent (Skinner, Holmes 1998; Elamir, Skinner 2006)."""
    return poisson_at(counts, independence_means(counts), {})


def poisson_two_way(counts: KeyCounts) -> CellRisk:
    """Poisson log-linear model with every two-way term, by iterative proportional fitting (Skinner, Shlomo 2008).

    NotApplicable where the crossing that the two-way margins leave possible is too large.
    """
    fit = two_way_means(counts)
    return poisson_at(counts, fit.mean, {"sweeps": float(fit.sweeps), "cells": float(fit.cells), "miss": fit.miss})


def counted(counts: KeyCounts, population: NDArray[np.integer]) -> CellRisk:
    """The truth: F is known. `population` (cells,): people of the population in each cell of the sample.

    Whoever is in the sample is in the population, on file or not: F is at least f.
    """
    if len(population) != len(counts.count):
        raise UsageError("the population must be counted in the sample's cells")
    return _known(counts.count, np.maximum(population, counts.count))


def _known(count: NDArray[np.integer], population: NDArray[np.integer]) -> CellRisk:
    return CellRisk(1 / population, ((count == 1) & (population == 1)).astype(np.float64), {})


def poisson_at(counts: KeyCounts, mean: NDArray[np.float64], facts: dict[str, float]) -> CellRisk:
    """`mean` (cells,) expected f; the unseen others are Poisson with mean (1 - fraction) / fraction times that."""
    others = mean * (1 - counts.fraction) / counts.fraction
    unique = np.where(counts.alone, np.exp(-others), 0.0)
    return CellRisk(_poisson_inverse(counts.count, others), unique, facts, others)


def _negative_binomial_inverse(
    count: NDArray[np.integer], stays: NDArray[np.float64], shape: float
) -> NDArray[np.float64]:
    """(cells,) E[1/(f + X)], X negative binomial with size shape + f and probability `stays`.

    With s = t·p/(1 - q·t) the integral is that of s^(f-1) · p · (p + q·s)^(shape-1): nothing in it can overflow.
    """
    pairs, number = np.unique(np.stack([count.astype(np.float64), stays]), axis=1, return_inverse=True)
    f, p = pairs[0], pairs[1]
    node, weight = nodes()
    value = np.empty(len(f))
    few = f < MANY
    s = node[None, :]
    for part, at, outer in ((few, s, s ** (f[few, None] - 1)), (~few, s ** (1 / f[~few, None]), 1 / f[~few, None])):
        inner = p[part, None] * (p[part, None] + (1 - p[part, None]) * at) ** (shape - 1)
        value[part] = (outer * inner) @ weight
    once = (f == 1) & (p < 1)  # closed form; the integrand is steepest here
    q = 1 - p[once]
    value[once] = -p[once] / q * (np.log(p[once]) if shape == 0 else np.expm1(shape * np.log(p[once])) / shape)
    return np.asarray(value[number.ravel()])


def _poisson_inverse(count: NDArray[np.integer], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """(cells,) E[1/(f + X)], X Poisson."""
    f = count.astype(np.float64)
    value = np.empty(len(f))
    once, far = f == 1, others > FAR
    mean = np.maximum(others[once], 1e-300)
    value[once] = -np.expm1(-mean) / mean
    whole = f + others
    value[far & ~once] = (1 / whole + others / whole**3)[far & ~once]
    rest = np.flatnonzero(~once & ~far)
    node, weight = nodes()
    for begin in range(0, len(rest), 4096):
        part = rest[begin : begin + 4096]
        few = part[f[part] < MANY]
        many = part[f[part] >= MANY]
        value[few] = (node[None] ** (f[few, None] - 1) * np.exp(-others[few, None] * (1 - node[None]))) @ weight
        root = node[None] ** (1 / f[many, None])
        value[many] = (np.exp(-others[many, None] * (1 - root)) / f[many, None]) @ weight
    return value


@cache
def nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gauss-Legendre nodes and weights on 0 … 1."""
    node, weight = np.polynomial.legendre.leggauss(NODES)
    return (node + 1) / 2, weight / 2

"""How far estimates of uniqueness may be off, if their model holds: 95% intervals.

Two things are uncertain: who of the population shares a cell (F given f, even if the model's parameters were known),
and the parameters, estimated from the sample. The first is the sum of the cells' own variances, for cells are
independent; the second goes through the delta method: by what each sampled person adds (independence), the information
matrix (two-way terms) or the curvature of the likelihood (negative binomial). That the model itself may be wrong is not
in it.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate
from unveil.risk.uniqueness.counts import KeyCounts
from unveil.risk.uniqueness.estimators import (
    MANY,
    CellRisk,
    expected_links,
    negative_binomial_at,
    negative_binomial_surprise,
    nodes,
    poisson_at,
    population_unique,
)
from unveil.risk.uniqueness.loglinear import parameter_variance, two_way_means

__all__ = ["Intervals", "intervals_of"]

NORMAL = 1.959964  # 97.5% of a normal distribution lie below
STEP = 1e-3
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Intervals:
    """The file-level figures of one estimator."""

    population_unique: Estimate | None  # P(PU|SU); None without sample uniques
    expected_links: Estimate
    mean_risk: Estimate


def intervals_of(estimator: str, counts: KeyCounts, found: CellRisk) -> Intervals:
    """`found` as the named estimator has it; of `counted` nothing is uncertain."""
    alone = counts.alone
    uniques = int(alone.sum())
    mean = float(found.risk @ counts.count / counts.rows)
    values = (population_unique(counts, found), expected_links(counts, found), mean)
    weights = _weights(counts)
    if estimator == "counted" or counts.fraction == 1:
        errors = [0.0, 0.0, 0.0]
    else:
        own = np.where(alone, found.unique * (1 - found.unique), 0.0), _inverse_variance(estimator, counts, found)
        between = [float(w**2 @ own[0 if k == 0 else 1]) for k, w in enumerate(weights)]
        errors = [math.sqrt(a + b) for a, b in zip(between, _of_parameters(estimator, counts, found), strict=True)]
    most = (1.0, float(uniques), 1.0)
    ends = [
        Estimate(v, max(v - NORMAL * e, 0.0), min(v + NORMAL * e, top)) if uniques or k == 2 else None
        for k, (v, e, top) in enumerate(zip(values, errors, most, strict=True))
    ]
    assert ends[2] is not None
    return Intervals(ends[0], ends[1] or Estimate.exact(0.0), ends[2])


def _weights(counts: KeyCounts) -> tuple[Floats, Floats, Floats]:
    """What each cell's P(F = 1), and twice its 1/F, is multiplied with in the three figures."""
    alone = counts.alone.astype(np.float64)
    return alone / max(alone.sum(), 1), alone, counts.count / counts.rows


def _figures(counts: KeyCounts, found: CellRisk) -> Floats:
    weights = _weights(counts)
    return np.array([weights[0] @ found.unique, weights[1] @ found.risk, weights[2] @ found.risk])


def _of_parameters(estimator: str, counts: KeyCounts, found: CellRisk) -> list[float]:
    """The variance of each of the three figures that comes from estimated parameters."""
    if estimator == "negative_binomial":
        return _negative_binomial(counts, found)
    if estimator == "benedetti_franconi":
        return [0.0, 0.0, 0.0]  # its parameters are the weights, which are given
    assert found.law is not None
    mean = found.law * counts.fraction / (1 - counts.fraction)
    above, below = (poisson_at(counts, mean * math.exp(s), {}) for s in (STEP, -STEP))
    slopes = [  # (cells,) of each figure by the logarithm of the cell's mean
        w * (getattr(above, what) - getattr(below, what)) / (2 * STEP)
        for w, what in zip(_weights(counts), ("unique", "risk", "risk"), strict=True)
    ]
    if estimator == "poisson_two_way":
        fit = two_way_means(counts)
        return [parameter_variance(fit, slope) for slope in slopes]
    return [_influence(counts, slope) for slope in slopes]


def _influence(counts: KeyCounts, slope: Floats) -> float:
    """Independence: log mean = log n + sum over keys of log share, and a share is a mean over people."""
    people = np.zeros(len(counts.count))
    for value, codes in zip(counts.values, counts.codes, strict=True):
        share = np.bincount(value, weights=counts.count, minlength=codes) / counts.rows
        by_value = np.bincount(value, weights=slope, minlength=codes)
        people += (by_value / np.where(share > 0, share, 1.0))[value] - by_value.sum()
    people += slope.sum()  # of n itself, which is random with each person sampled alone
    return float(counts.count @ people**2) / counts.rows**2


def _negative_binomial(counts: KeyCounts, found: CellRisk) -> list[float]:
    """Curvature of the likelihood in the logarithms of shape and scale, by differences of its slope."""
    _, steep = negative_binomial_surprise(counts)
    at, unit = np.log([found.facts["shape"], found.facts["scale"]]), np.eye(2)
    curvature = np.stack([(steep(at + STEP * unit[i]) - steep(at - STEP * unit[i])) / (2 * STEP) for i in (0, 1)])
    curvature = (curvature + curvature.T) / 2
    values, axes = np.linalg.eigh(curvature)
    if values[0] <= 0:  # flat: the sample says nothing of a parameter
        return [math.inf] * 3
    slope = np.stack(
        [
            (
                _figures(counts, negative_binomial_at(counts, *np.exp(at + STEP * unit[i])))
                - _figures(counts, negative_binomial_at(counts, *np.exp(at - STEP * unit[i])))
            )
            / (2 * STEP)
            for i in (0, 1)
        ]
    )
    return [float(((axes.T @ slope[:, k]) ** 2 / values).sum()) for k in range(3)]


def _inverse_variance(estimator: str, counts: KeyCounts, found: CellRisk) -> Floats:
    """(cells,) the variance of 1/F given f: E[1/F²] is the integral of -ln t · t^(f-1) · G(t), G that of F - f."""
    assert found.law is not None
    pairs, number = np.unique(np.stack([counts.count.astype(np.float64), found.law]), axis=1, return_inverse=True)
    count, law = np.minimum(pairs[0], MANY), pairs[1]
    node, weight = nodes()
    t = node**3  # crowds the nodes where the logarithm is steep
    measure = weight * 3 * node**2 * -np.log(t)
    second = np.empty(len(count))
    for begin in range(0, len(count), 4096):
        f, x = count[begin : begin + 4096, None], law[begin : begin + 4096, None]
        if estimator.startswith("poisson"):
            others = -x * (1 - t)
        else:
            others = (f + found.facts.get("shape", 0.0)) * (np.log(x) - np.log1p(-(1 - x) * t))
        second[begin : begin + 4096] = np.exp((f - 1) * np.log(t) + others) @ measure
    variance = np.maximum(second[number.ravel()] - found.risk**2, 0.0)
    # Of many people in a cell next to nothing of it is left.
    return np.where(counts.count < MANY, variance, 0.0)

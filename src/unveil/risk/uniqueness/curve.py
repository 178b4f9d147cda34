"""Uniqueness by sampling fraction: a file taken as the population, and samples of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.risk.uniqueness.counts import KeyCounts
from unveil.risk.uniqueness.estimators import (
    CellRisk,
    benedetti_franconi,
    counted,
    negative_binomial,
    poisson_independence,
    poisson_two_way,
    population_unique,
)
from unveil.risk.uniqueness.superpopulation import SUPERPOPULATION, CellSizes

__all__ = ["ESTIMATORS", "FRACTIONS", "CurvePoint", "expected_uniqueness", "uniqueness_curve"]

CHARTED = ("benedetti_franconi", "negative_binomial", "poisson_independence", "poisson_two_way", "zayatz", "pitman")
FRACTIONS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75)
ESTIMATORS: dict[str, Callable[[KeyCounts], CellRisk]] = {
    "benedetti_franconi": benedetti_franconi,
    "negative_binomial": negative_binomial,
    "poisson_independence": poisson_independence,
    "poisson_two_way": poisson_two_way,
}


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One sampling fraction: what is to be expected, and what a sample's reader would have estimated."""

    fraction: float
    people: int  # in the drawn sample
    expected: float  # P(PU | SU) over all samples
    drawn: float | None  # P(PU | SU) in the drawn sample; None without sample uniques
    estimates: dict[str, float | None]  # by estimator; None where it does not apply


def expected_uniqueness(population: NDArray[np.integer], fraction: float) -> float:
    """E[population uniques sampled] / E[sample uniques] if each person is sampled alone with that probability.

    `population` (cells,): F. Closed form: fraction · F1 over the sum of F · fraction · (1 - fraction)^(F - 1).
    """
    if not 0 < fraction <= 1:
        raise UsageError(f"the sampling fraction must be above 0 and at most 1, not {fraction:g}")
    sizes, times = np.unique(population, return_counts=True)
    alone = float(times @ (sizes * fraction * (1 - fraction) ** (sizes - 1.0)))
    return fraction * float(times[sizes == 1].sum()) / alone if alone > 0 else 0.0


def uniqueness_curve(
    whole: KeyCounts,
    *,
    fractions: Sequence[float] = FRACTIONS,
    estimators: Sequence[str] = CHARTED,
    engine: Engine | None = None,
) -> list[CurvePoint]:
    """The people of `whole` as a population; for each fraction one random sample: the truth beside every estimator."""
    random = (Engine(seed=0) if engine is None else engine).named("uniqueness").generator()
    draw = random.random(whole.rows)  # one number a person: samples grow by adding people
    found = []
    for fraction in fractions:
        rows = np.flatnonzero(draw < fraction)
        if not len(rows):
            continue
        sample, population = whole.sample(rows, fraction)
        estimates: dict[str, float | None] = {}
        for name in estimators:
            try:
                estimates[name] = _estimated(name, sample)
            except NotApplicable:
                estimates[name] = None
        drawn = _or_none(population_unique(sample, counted(sample, population)))
        expected = expected_uniqueness(whole.count, fraction)
        found.append(CurvePoint(float(fraction), len(rows), expected, drawn, estimates))
    return found


def _estimated(name: str, sample: KeyCounts) -> float | None:
    if name in ESTIMATORS:
        return _or_none(population_unique(sample, ESTIMATORS[name](sample)))
    sizes = CellSizes.of(sample)
    return sizes.share_of_alone(SUPERPOPULATION[name](sizes))


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value

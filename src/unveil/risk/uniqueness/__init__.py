"""Uniqueness: is whoever is alone in a sample also alone in the population? Arrays of counts in, risks by cell out.

A *cell* is a combination of key values; f people of the sample and F of the population share it. Every estimator says
the same two things of a cell: the expected 1/F, and for f = 1 the probability that F = 1.
"""

from unveil.risk.uniqueness.counts import KeyCounts, count_keys, key_counts
from unveil.risk.uniqueness.curve import ESTIMATORS, CurvePoint, expected_uniqueness, uniqueness_curve
from unveil.risk.uniqueness.estimators import (
    CellRisk,
    benedetti_franconi,
    counted,
    expected_links,
    negative_binomial,
    poisson_independence,
    poisson_two_way,
    population_unique,
)
from unveil.risk.uniqueness.intervals import Intervals, intervals_of
from unveil.risk.uniqueness.minimal import MinimalUniques, data_intrusion, dis_suda, minimal_uniques

__all__ = [
    "ESTIMATORS",
    "CellRisk",
    "CurvePoint",
    "Intervals",
    "KeyCounts",
    "MinimalUniques",
    "benedetti_franconi",
    "count_keys",
    "counted",
    "data_intrusion",
    "dis_suda",
    "expected_links",
    "expected_uniqueness",
    "intervals_of",
    "key_counts",
    "minimal_uniques",
    "negative_binomial",
    "poisson_independence",
    "poisson_two_way",
    "population_unique",
    "uniqueness_curve",
]

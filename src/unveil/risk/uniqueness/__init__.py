"""Uniqueness: is whoever is alone in a sample also alone in the population? Arrays of counts in, risks by cell out.

A *cell* is a combination of key values; f people of the sample and F of the population share it. Every estimator says
the same two things of a cell: the expected 1/F, and for f = 1 the probability that F = 1; those of ARX
(`superpopulation`) say only how many people are alone.
"""

# ruff: noqa: F403 - each file names what it offers once, in its own __all__
from unveil.risk.uniqueness import counts, curve, estimators, intervals, minimal, superpopulation, wildcards
from unveil.risk.uniqueness.counts import *
from unveil.risk.uniqueness.curve import *
from unveil.risk.uniqueness.estimators import *
from unveil.risk.uniqueness.intervals import *
from unveil.risk.uniqueness.minimal import *
from unveil.risk.uniqueness.superpopulation import *
from unveil.risk.uniqueness.wildcards import *

__all__ = [
    *counts.__all__,
    *curve.__all__,
    *estimators.__all__,
    *intervals.__all__,
    *minimal.__all__,
    *superpopulation.__all__,
    *wildcards.__all__,
]

"""Differential inference testing: how much does one record change what is inferred about its owner?

Kassem, Acs, Castelluccia, Palamidessi 2019. It needs the original and a sanitizer or an oracle, not one release.
"""

from unveil.differential.laplace import LaplaceCounts
from unveil.differential.oracle import Oracle
from unveil.differential.run import Differential, run_differential
from unveil.differential.sweep import Point, sanitizer_of, sweep

__all__ = ["Differential", "LaplaceCounts", "Oracle", "Point", "run_differential", "sanitizer_of", "sweep"]

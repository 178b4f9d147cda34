"""Differential inference testing: how much does one record change what is inferred about its owner?

Kassem, Acs, Castelluccia, Palamidessi 2019. It needs the original and a sanitizer or an oracle, not one release.
"""

from unveil.risk.differential.laplace import LaplaceCounts
from unveil.risk.differential.oracle import Oracle
from unveil.risk.differential.sanitizers import SanitizerVariant, sanitizer_of, sweep

__all__ = ["LaplaceCounts", "Oracle", "SanitizerVariant", "sanitizer_of", "sweep"]

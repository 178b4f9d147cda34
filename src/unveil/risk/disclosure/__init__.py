"""Attribute disclosure of masked tables (Torra 2022, chapter 3): how near the published values lie to the true ones.

Plain functions that return an Estimate, each beside the baseline that tells disclosure from what anybody could say.
Columns are those of a Masked table: numbers with NaN for missing, or codes; row i of both belongs to one person.
"""

# ruff: noqa: F403 - each file names what it offers once, in its own __all__
from unveil.risk.disclosure import absent, intervals, models
from unveil.risk.disclosure.absent import *
from unveil.risk.disclosure.intervals import *
from unveil.risk.disclosure.models import *

__all__: list[str] = []
__all__ += absent.__all__
__all__ += intervals.__all__
__all__ += models.__all__

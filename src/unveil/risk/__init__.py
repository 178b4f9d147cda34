"""Risk: what a reader's beliefs say about people. Plain functions of beliefs, and of the truth where it is needed.

A function named by a measure alone gives one number a person, where that is what the measure is about; the same name
with `_max`, `_quantile`, `_share`, `_mean` or `_skewness` sums it up in an Estimate. Only NumPy here.
"""

# ruff: noqa: F403 - each file names its measures once, in its own __all__
from unveil.risk import calibration, gain, numeric, similarity, threat
from unveil.risk.calibration import *
from unveil.risk.gain import *
from unveil.risk.numeric import *
from unveil.risk.similarity import *
from unveil.risk.threat import *

__all__ = [*calibration.__all__, *gain.__all__, *numeric.__all__, *similarity.__all__, *threat.__all__]

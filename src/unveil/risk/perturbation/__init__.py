"""Columns that do not show true values although nothing says so: noticed against the original, never believed.

`misfits` is the proof (more rows than people who can have them, or more people without a row than suppressed rows),
`bands` looks for what was done, `reading` gives the release as it has to be read.
"""

from unveil.risk.perturbation.misfits import outside
from unveil.risk.perturbation.reading import PerturbedColumn, ReleaseReading, read_perturbed, read_unpaired

__all__ = ["PerturbedColumn", "ReleaseReading", "outside", "read_perturbed", "read_unpaired"]

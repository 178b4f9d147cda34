"""A case with one release as it has to be read: columns that do not show true values are not believed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unveil.audit.case import Case
from unveil.audit.remarks import count_words
from unveil.risk.perturbation import PerturbedColumn, read_perturbed, read_unpaired

__all__ = ["case_as_read", "perturbed_remarks"]


def case_as_read(case: Case, name: str) -> tuple[Case, tuple[PerturbedColumn, ...]]:
    """The case in which this release, and the original beside it, are read as they have to be; and why."""
    if case.original is None:
        return case, ()
    release = case.releases[name]
    reading = (read_unpaired if release.perturbed else read_perturbed)(release, case.original)
    if not reading.columns:
        return case, ()
    assignments = dict(case.assignments)
    if name in assignments and not reading.release.perturbed and reading.group is not None:
        told = np.asarray(assignments.pop(name))
        if (told >= 0).all():
            assignments[name] = reading.group[told]
    releases = {**case.releases, name: reading.release}
    read = replace(
        case,
        releases=releases,
        original=reading.as_read(case.original),
        control=None if case.control is None else reading.as_read(case.control),
        population=None if case.population is None else reading.as_read(case.population),
        assignments=assignments,
    )
    return read, reading.columns


def perturbed_remarks(case: Case, name: str, columns: Sequence[PerturbedColumn]) -> tuple[str, ...]:
    """What was noticed, for whoever reads the report."""
    return tuple(f"{name}: {column.sentence(count_words(column.rows, case.least))}" for column in columns)

"""A case with one release as it has to be read: columns that do not show true values are not believed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unveil.audit.case import Case
from unveil.audit.remarks import count_words
from unveil.data.attribute import Role
from unveil.errors import NotApplicable
from unveil.risk.perturbation import PerturbedColumn, ReleaseReading, outside, read_perturbed, read_unpaired

__all__ = ["case_as_read", "perturbed_remarks"]


def case_as_read(case: Case, name: str) -> tuple[Case, tuple[PerturbedColumn, ...]]:
    """The case in which this release, and the original beside it, are read as they have to be; and why."""
    if case.original is None:
        return case, ()
    release, group = case.releases[name], case.assignments.get(name)
    if release.perturbed:
        reading = read_unpaired(release, case.original)
        if group is not None and not _fits(reading, case, name):
            reading = read_perturbed(release, case.original)  # the pairs say that these are not the bands
            if not _fits(reading, case, name):
                reading = read_perturbed(release, case.original, bands=False)
    else:
        told = None if group is None else np.asarray(group)
        reading = read_perturbed(release, case.original, told)
        if told is not None and not _fits(reading, case, name):
            reading = read_perturbed(release, case.original, told, bands=False)
    if not reading.columns:
        return case, ()
    assignments = dict(case.assignments)
    if not release.perturbed and reading.release.row_by_row:
        assignments.pop(name, None)
        if reading.assignment is not None:
            assignments[name] = reading.assignment
    elif name in assignments and reading.group is not None:
        told = np.asarray(assignments.pop(name))
        if reading.release.perturbed or (told >= 0).all():
            assignments[name] = np.where(told >= 0, reading.group[told], -1)
    releases = {**case.releases, name: reading.release}
    read = replace(
        case,
        releases=releases,
        original=reading.as_read(case.original),
        control=None if case.control is None else reading.as_read(case.control),
        population=None if case.population is None else reading.as_read(case.population),
        assignments=assignments,
    )
    paired = name in assignments and bool(reading.release.perturbed)
    return read, tuple(replace(column, paired=paired and not column.words) for column in reading.columns)


def _fits(reading: ReleaseReading, case: Case, name: str) -> bool:
    """Whether everybody lies in the bands of their own row, where these are known."""
    told, release, table = np.asarray(case.assignments[name]), reading.release, case.original
    by_row = release.row_by_row and case.releases[name].row_by_row
    if table is None or (not by_row and (reading.group is None or release.perturbed)):
        return True
    table = reading.as_read(table)
    there = np.flatnonzero(told >= 0)
    number = told[there] if reading.group is None else reading.group[told[there]]
    held = {a.name: i for i, a in enumerate(table.attributes)}
    read = {column.attribute for column in reading.columns if column.words}
    asked = [
        (i, table.columns[held[a.name]][there])
        for i, a in enumerate(release.attributes)
        if a.role is Role.QUASI_IDENTIFIER and a.name in held and (a.name in read or not release.perturbed)
    ]
    try:
        return not any(outside(release, i, true, number) for i, true in asked)
    except NotApplicable:
        return True


def perturbed_remarks(case: Case, name: str, columns: Sequence[PerturbedColumn]) -> tuple[str, ...]:
    """What was noticed, for whoever reads the report."""
    return tuple(f"{name}: {column.sentence(count_words(column.rows, case.least))}" for column in columns)

"""What a release is worth to an analyst, and by ARX's quality models: the findings of an audit."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from unveil import utility
from unveil.audit.document import Finding
from unveil.data.belief import Estimate
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError

__all__ = ["OF_COLUMNS", "OF_FILES", "analyst_findings", "quality_findings"]

T = TypeVar("T")
OF_FILES = ("propensity_mse", "propensity_ratio", "correlation_error")
OF_COLUMNS = (
    *("interval_overlap", "coefficient_overlap", "coefficient_error"),
    *("mean_error", "deviation_error", "share_error"),
)


def analyst_findings(release: Release, name: str, table: Table | None) -> Iterator[Finding]:
    """Of the whole file and of every column; nothing where the original is not there or has other domains."""
    if table is None or min(release.rows, table.rows) < 2:
        return
    try:
        found = utility.analyst_utility(release, table)
    except UsageError:
        return
    for id, value in zip(OF_FILES, (*found.propensity(), found.correlations()), strict=True):
        if value is not None and not (release.perturbed and id == "correlation_error"):
            yield Finding.of(id, name, None, value)
    for attribute in release.attributes:
        values = {"interval_overlap": _value(lambda a=attribute.name: found.overlap(a))}  # type: ignore[misc]
        both = _value(lambda a=attribute.name: found.coefficients(a))  # type: ignore[misc]
        if both is not None:
            values |= {"coefficient_overlap": both[0], "coefficient_error": both[1]}
        if not release.perturbed:  # those of perturbed columns are measured beside their other errors
            values |= _value(lambda a=attribute.name: found.moments(a)) or {}  # type: ignore[misc]
        for id, value in values.items():
            if value is not None:
                yield Finding.of(id, name, attribute.name, value)


def quality_findings(
    release: Release, name: str, table: Table | None, group: NDArray[np.integer] | None
) -> Iterator[Finding]:
    """ARX's models; those that ask which row went where only if that is known."""
    models: dict[str, Callable[[], Estimate]] = {
        "granularity": lambda: utility.granularity(release),
        "generalisation_intensity": lambda: utility.generalisation_intensity(release),
        "ambiguity": lambda: utility.ambiguity(release),
    }
    if table is not None:
        models |= {
            "aecs": lambda: utility.aecs(release, table),
            "discernibility_kept": lambda: utility.discernibility_kept(release, table),
        }
    if table is not None and group is not None:
        models |= {
            "non_uniform_entropy": lambda: utility.non_uniform_entropy(release, table, group),
            "record_error_kept": lambda: utility.record_error_kept(release, table, group),
        }
    for id, model in models.items():
        value = _value(model)
        if value is not None:
            yield Finding.of(id, name, None, value)


def _value(measure: Callable[[], T]) -> T | None:
    try:
        return measure()
    except (NotApplicable, UsageError):
        return None

"""People of a table as targets."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import AttributeList, Role
from unveil.data.belief import Known, Targets
from unveil.data.table import Table
from unveil.errors import UsageError

__all__ = ["targets_of_table"]


def targets_of_table(
    table: Table,
    release: AttributeList,
    asked: int,
    *,
    known: Sequence[str] | None = None,
    wrong: float = 0.0,
    group: NDArray[np.integer] | None = None,
) -> Targets:
    """Every row of a table as a target of whom the named attributes (all quasi-identifiers but the asked) are known."""
    every = [release.attributes[i].name for i in release.with_role(Role.QUASI_IDENTIFIER) if i != asked]
    names = every if known is None else list(known)
    found = {}
    for name in names:
        index = release.index(name)
        if index == asked:
            raise UsageError(f"{name} is asked about, so it cannot be known")
        attribute = release.true_attributes[index]
        found[index] = Known.exactly(attribute, table.column_of(attribute), wrong)
    return Targets(asked, found, table.rows, None if group is None else np.asarray(group, dtype=np.int64))

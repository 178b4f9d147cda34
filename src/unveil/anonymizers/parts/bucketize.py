"""From buckets of rows to a release that hides, within each, which sensitive value belongs to whom."""

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.regions import Regions
from unveil.data.release import Anonymized, BlockRows, build_release
from unveil.data.table import Table
from unveil.errors import UsageError

__all__ = ["bucketized", "one_sensitive"]


def one_sensitive(table: Table, who: str) -> int:
    """The one sensitive attribute that is put apart."""
    sensitive = table.with_role(Role.SENSITIVE)
    if len(sensitive) != 1:
        names = ", ".join(table.attributes[i].name for i in sensitive) or "none"
        raise UsageError(f"{who} separates exactly one sensitive attribute; the schema has {len(sensitive)} ({names})")
    return sensitive[0]


def bucketized(table: Table, sensitive: int, group_of_row: NDArray[np.int32]) -> Anonymized:
    """Two blocks: everything but the sensitive attribute, and the sensitive attribute alone."""
    others = tuple(i for i in range(len(table.attributes)) if i != sensitive)
    parts = [BlockRows(others, group_of_row, tuple(table.columns[i] for i in others))] if others else []
    parts.append(BlockRows((sensitive,), group_of_row, (table.columns[sensitive],)))
    release, number = build_release(table.attributes, [Regions.singles(a.codes) for a in table.attributes], parts)
    return Anonymized(release, number[group_of_row].astype(np.int32))

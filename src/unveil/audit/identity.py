"""Being found in a release: risks from the sizes of classes; and what the release is still worth."""

import numpy as np

from unveil.attribute import Role
from unveil.document import Finding
from unveil.release import Release, row_numbers
from unveil.table import Table

__all__ = ["identity_findings", "suppressed_rows", "utility_findings"]


def identity_findings(release: Release, name: str, table: Table | None) -> list[Finding]:
    """Prosecutor, marketer and journalist risk (El Emam and Dankar 2008), and rows that stand alone.

    Suppressed rows have no class; they count in no risk unless all are suppressed. Without a population the
    journalist's risk is not known; the prosecutor's bounds it from above.
    """
    sizes = release.class_sizes().astype(np.float64)
    rows = float(sizes.sum())
    alone = float((sizes == 1).sum() / rows)
    largest = float(1 / sizes.min())
    mean = float(len(sizes) / rows)  # each row's risk is 1 / its class: a class adds up to 1
    return [
        Finding.exact("prosecutor_risk.max", name, None, largest),
        Finding.exact("prosecutor_risk.mean", name, None, mean),
        Finding.exact("marketer_risk", name, None, mean),
        Finding(id="journalist_risk.max", release=name, attribute=None, value=largest, low=0.0, high=largest),
        Finding.exact("singled_out", name, None, alone, baseline=None if table is None else _alone(table)),
    ]


def utility_findings(release: Release, name: str) -> list[Finding]:
    """Beside discernibility and the certainty penalty, which a check measures: suppressed rows, group sizes."""
    return [
        Finding.exact("suppressed_share", name, None, suppressed_rows(release) / release.rows),
        Finding.exact("groups.mean_size", name, None, release.rows / release.groups),
    ]


def suppressed_rows(release: Release) -> int:
    """Rows whose quasi-identifiers are all `*`."""
    return int(release.sizes[release.suppressed()].sum())


def _alone(table: Table) -> float:
    """Share of the original's rows that no other row shares its quasi-identifiers with."""
    known = [table.columns[i] for i in table.with_role(Role.QUASI_IDENTIFIER)]
    if not known:
        return 1.0 if table.rows == 1 else 0.0
    return float((np.bincount(row_numbers(known)) == 1).sum() / table.rows)

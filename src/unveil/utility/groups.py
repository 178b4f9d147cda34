"""How large the groups are, and how far they agree on an attribute."""

import numpy as np

from unveil.data.belief import Estimate
from unveil.data.release import Release
from unveil.errors import UsageError
from unveil.utility._asked import asked_attribute

__all__ = ["average_group_size", "classification_metric", "discernibility"]


def discernibility(release: Release) -> Estimate:
    """Sum of squared group sizes; a suppressed row costs as much as the whole table (Bayardo and Agrawal 2005)."""
    hidden = release.suppressed()
    sizes = release.sizes.astype(np.float64)
    return Estimate.exact(float((sizes[~hidden] ** 2).sum() + sizes[hidden].sum() * release.rows))


def average_group_size(release: Release, *, k: int = 1) -> Estimate:
    """Rows over groups, and over k: 1 is as small as k allows (C_avg; LeFevre et al. 2006). Suppressed: one group."""
    if k < 1:
        raise UsageError(f"average_group_size: k = {k}; choose a number of at least 1")
    return Estimate.exact(release.rows / release.groups / k)


def classification_metric(release: Release, *, label: str | None = None) -> Estimate:
    """Share of rows that are suppressed or whose label is not the commonest of their group (Iyengar 2002).

    The label is the sensitive attribute unless named. Rows that cannot be told apart are a group, as for the privacy
    models; a withheld label counts as suppressed.
    """
    histograms, group = release.histograms(asked_attribute(release, label))
    right = histograms.max(axis=1)[~release.suppressed()[group]].sum()
    return Estimate.exact(1.0 - float(right) / release.rows)

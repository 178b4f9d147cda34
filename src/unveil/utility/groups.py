"""How large the groups are, how far they agree on an attribute, and what they tell about it, by entropy in nats."""

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.belief import Estimate
from unveil.data.release import Release
from unveil.errors import UsageError
from unveil.utility._asked import asked_attribute

__all__ = [
    "average_group_size",
    "classification_metric",
    "discernibility",
    "entropy_utility",
    "entropy_utility_split",
    "information_loss",
    "large_groups",
]


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


def information_loss(release: Release, *, attribute: str | None = None) -> Estimate:
    """Mean entropy of the attribute among rows that cannot be told apart: IL (Li 2010, section 2.2.3)."""
    histograms, _ = release.histograms(asked_attribute(release, attribute))
    return Estimate.exact(conditional_entropy(histograms))


def entropy_utility(release: Release, *, attribute: str | None = None) -> Estimate:
    """Entropy of the whole table less the information loss: U = H(T) - IL (Li 2010, section 2.2.3)."""
    histograms, _ = release.histograms(asked_attribute(release, attribute))
    whole = conditional_entropy(histograms.sum(axis=0, keepdims=True))
    return Estimate.exact(max(whole - conditional_entropy(histograms), 0.0))


def entropy_utility_split(
    release: Release, large: NDArray[np.integer], *, attribute: str | None = None
) -> tuple[Estimate, Estimate]:
    """The utility in two parts: about the large groups, and further about the groups inside them (same section).

    `large` numbers, for each group of the release, the large group it is part of; `large_groups` makes one such cut.
    """
    numbers = np.asarray(large)
    if numbers.shape != (release.groups,) or not np.issubdtype(numbers.dtype, np.integer) or numbers.min() < 0:
        raise UsageError(f"give each of the {release.groups} groups the number of its large group, from 0 on")
    histograms, group = release.histograms(asked_attribute(release, attribute))
    united = np.zeros((int(numbers.max()) + 1, histograms.shape[1]), dtype=np.int64)
    np.add.at(united, numbers[group], histograms)
    whole = conditional_entropy(histograms.sum(axis=0, keepdims=True))
    about_large = conditional_entropy(united)
    rest = about_large - conditional_entropy(histograms)
    return Estimate.exact(max(whole - about_large, 0.0)), Estimate.exact(max(rest, 0.0))


def large_groups(release: Release, n: int) -> NDArray[np.int64]:
    """(groups,) a cut of the groups into large ones of at least n rows, as fine as halving makes it.

    Groups lie where the middles of their quasi-identifier cells lie. A set of groups is cut in two at the median row
    of the attribute they are spread over most, as long as both sides keep n rows; else along the next attribute.
    """
    if n < 1:
        raise UsageError(f"n = {n}: a large group holds at least 1 row")
    place = _middles(release)
    number = np.zeros(release.groups, dtype=np.int64)
    open_sets, made = [np.arange(release.groups)], 0
    while open_sets:
        these = open_sets.pop()
        halves = _halved(place[these], release.sizes[these], n)
        if halves is None:
            number[these] = made
            made += 1
        else:
            open_sets += [these[~halves], these[halves]]
    return number


def conditional_entropy(histograms: NDArray[np.integer]) -> float:
    """Mean over rows of the entropy of their histogram, in nats; 0 without rows."""
    counts = np.asarray(histograms, dtype=np.float64)
    size = counts.sum(axis=1)
    rows = float(size.sum())
    if rows <= 0:
        return 0.0
    logs = np.log(counts, out=np.zeros(counts.shape), where=counts > 0)
    size_logs = np.log(size, out=np.zeros(size.shape), where=size > 0)
    return max(float((size * size_logs).sum() - (counts * logs).sum()) / rows, 0.0)


def _middles(release: Release) -> NDArray[np.float64]:
    """(groups, quasi-identifiers) mean over a group's rows of the middle of the cell, as a share of the domain."""
    columns = []
    for index in release.with_role(Role.QUASI_IDENTIFIER):
        attribute, block = release.attributes[index], release.block_of(index)
        order = np.arange(attribute.codes)
        if attribute.hierarchy is not None and not attribute.kind.ordered:
            order[attribute.hierarchy.order()] = np.arange(attribute.codes)
        middle = release.regions[index].totals(order.astype(np.float64)) / release.regions[index].sizes
        total = np.bincount(block.group, weights=middle[block.region(index)] * block.count, minlength=release.groups)
        columns.append(total / release.sizes / max(attribute.codes - 1, 1))
    return np.stack(columns, axis=1) if columns else np.zeros((release.groups, 0))


def _halved(place: NDArray[np.float64], sizes: NDArray[np.int64], n: int) -> NDArray[np.bool_] | None:
    """(groups,) which of these groups lie above a cut that leaves n rows on both sides; None if there is none."""
    total = int(sizes.sum())
    spread = np.ptp(place, axis=0) if len(place) else np.zeros(place.shape[1])
    for axis in np.argsort(-spread, kind="stable"):
        if spread[axis] <= 0 or total < 2 * n:
            return None
        order = np.argsort(place[:, axis], kind="stable")
        below = np.cumsum(sizes[order])[:-1]
        apart = np.diff(place[order, axis]) > 0
        possible = np.flatnonzero(apart & (below >= n) & (total - below >= n))
        if len(possible):
            cut = possible[np.argmin(np.abs(below[possible] - total / 2))]
            above = np.ones(len(place), dtype=np.bool_)
            above[order[: cut + 1]] = False
            return above
    return None

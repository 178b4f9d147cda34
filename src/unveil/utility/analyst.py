"""What an analyst finds in a release: propensity scores, overlap of intervals, regression coefficients, moments.

Cells that stand for several values are read by drawing: a value of the region, each as likely as the others, and where
links between blocks are hidden, rows linked at random. What is measured is the mean over some such readings. Numbers
are in units of the original's standard deviation.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.data.rows import PublishedRows, as_published, rows_of
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError
from unveil.utility.classification import random_linkings
from unveil.utility.masked import correlation_error, deviation_error, mean_error, share_error
from unveil.utility.queries import mean_of_draws

__all__ = [
    "AnalystUtility",
    "analyst_utility",
    "coefficient_error",
    "coefficient_overlap",
    "interval_overlap",
    "propensity_mse",
    "propensity_ratio",
    "read_cells",
]

DRAWS = 3
MOST_VALUES = 12  # of a category that have a column of their own, the commonest first
MOST_ROWS = 5_000  # of each file that a propensity model learns from
ROUNDS = 25  # of reweighted least squares
RIDGE = 1e-6
NORMAL = 1.959964
Floats = NDArray[np.float64]


def read_cells(release: Release, *, draws: int = DRAWS, seed: int = 0) -> Iterator[PublishedRows]:
    """The release as an analyst's table, `draws` times; once if every cell is one value and no link is hidden."""
    exact = all(bool((regions.sizes == 1).all()) for regions in release.regions)
    random = np.random.default_rng(seed)
    for number in range(1 if exact and len(release.blocks) == 1 else draws):
        linked = next(random_linkings(release, draws=1, seed=seed + number))
        codes = [_drawn(regions, linked[:, i], random) for i, regions in enumerate(release.regions)]
        yield PublishedRows(release.attributes, as_published(release.attributes, codes), ())


@dataclass(frozen=True, eq=False)
class AnalystUtility:
    """One analysis of the original and of some readings of a release."""

    truth: "_File"
    readings: tuple["_File", ...]
    random: int = 0

    def mean(self, measure: Callable[["_File", "_File"], float], least: float = -np.inf) -> Estimate:
        """Over the readings; an interval where there are several, never below what is possible."""
        return _mean([measure(self.truth, reading) for reading in self.readings], least)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(a.name for a in self.truth.table.attributes)

    def propensity(self) -> tuple[Estimate, Estimate]:
        """`propensity_mse`, and the same over what is expected of two samples of one population."""
        errors, ratios = zip(*(_propensity(self.truth, r, self.random) for r in self.readings), strict=True)
        return _mean(errors), _mean(ratios)

    def overlap(self, name: str) -> Estimate:
        """`interval_overlap` of one column."""
        index = self.names.index(name)
        return self.mean(lambda a, b: _means_overlap(a, b, index))

    def coefficients(self, name: str) -> tuple[Estimate, Estimate]:
        """`coefficient_overlap` and `coefficient_error` of the regression of one column on all others."""
        index = self.names.index(name)
        truth = self.truth.fitted(index)
        overlap, change = zip(*(_compared(truth, reading.fitted(index)) for reading in self.readings), strict=True)
        return _mean(overlap), _mean(change, least=0.0)

    def moments(self, name: str) -> dict[str, Estimate]:
        """How far mean and deviation of a number moved, or the shares of categories."""
        index = self.names.index(name)
        measures: dict[str, Callable[[Any, Any], Estimate]] = {"share_error": share_error}
        if self.truth.measured[index]:
            measures = {"mean_error": mean_error, "deviation_error": deviation_error}
        return {
            id: self.mean(lambda a, b, m=m: m(a.table.columns[index], b.table.columns[index]).value, 0.0)  # type: ignore[misc]
            for id, m in measures.items()
        }

    def correlations(self) -> Estimate | None:
        """Mean change of the correlation of two numbers; None without two numbers."""
        numbers = [i for i, own in enumerate(self.truth.measured) if own]
        if len(numbers) < 2:
            return None
        return self.mean(
            lambda a, b: (
                correlation_error([a.table.columns[i] for i in numbers], [b.table.columns[i] for i in numbers]).value
            ),
            least=0.0,
        )


def analyst_utility(published: Release, table: Table, *, draws: int = DRAWS, seed: int = 0) -> AnalystUtility:
    """Both files as an analyst reads them, by the columns that are published."""
    held = {a.name: a.values for a in table.attributes}
    attributes = published.true_attributes
    for attribute in attributes:
        if held.get(attribute.name) != attribute.values:
            raise UsageError(f"{attribute.name} is not in the table, or has another domain there")
    columns = [table.columns[table.index(a.name)] for a in attributes]
    truth = PublishedRows(attributes, as_published(attributes, columns), ())
    scale = _Scale.of(truth)
    tables = [rows_of(published)] if published.perturbed else list(read_cells(published, draws=draws, seed=seed))
    return AnalystUtility(_File(truth, scale), tuple(_File(one, scale) for one in tables), seed)


def propensity_mse(published: Release, table: Table) -> Estimate:
    """How far a model tells the release's rows from the original's: mean (p - c)^2, at most c(1 - c) (Woo et al. 2009).

    A logistic model of all columns; c is the share of the release's rows among both. 0: it cannot tell them apart.
    """
    return analyst_utility(published, table).propensity()[0]


def propensity_ratio(published: Release, table: Table) -> Estimate:
    """The same over its expectation for two samples of one population: 1 is as good as new data (Snoke et al. 2018)."""
    return analyst_utility(published, table).propensity()[1]


def interval_overlap(published: Release, table: Table, *, attribute: str) -> Estimate:
    """Mean overlap of the 95% intervals of a mean, or of the shares of values, before and after (Karr et al. 2006).

    1: the same intervals; 0: apart. Negative overlaps count as 0.
    """
    return analyst_utility(published, table).overlap(attribute)


def coefficient_overlap(published: Release, table: Table, *, attribute: str) -> Estimate:
    """Mean overlap of the 95% intervals of the coefficients of a linear model of the attribute on all others.

    Of a category: of having its commonest value.
    """
    return analyst_utility(published, table).coefficients(attribute)[0]


def coefficient_error(published: Release, table: Table, *, attribute: str) -> Estimate:
    """Mean absolute change of these coefficients, numbers in standard deviations."""
    return analyst_utility(published, table).coefficients(attribute)[1]


# ------------------------------------------------------------------------------------------------------------- parts


@dataclass(frozen=True, slots=True, eq=False)
class _Scale:
    """What both files are brought to: the original's means and deviations, and its commonest categories."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    values: tuple[NDArray[np.int64], ...]  # per attribute: categories with a column of their own, the commonest first

    @classmethod
    def of(cls, truth: PublishedRows) -> "_Scale":
        mean, deviation, values = [], [], []
        for attribute, column in zip(truth.attributes, truth.columns, strict=True):
            numbers = column[~np.isnan(column)] if attribute.kind.measured else np.zeros(1)
            mean.append(float(numbers.mean()) if len(numbers) else 0.0)
            spread = float(numbers.std()) if len(numbers) else 0.0
            deviation.append(spread if spread > 0 else 1.0)
            count = np.zeros(1) if attribute.kind.measured else np.bincount(column, minlength=attribute.codes)
            common = np.argsort(-count, kind="stable")[: min(MOST_VALUES, int((count > 0).sum()))]
            values.append(np.empty(0, np.int64) if attribute.kind.measured else common)
        return cls(tuple(mean), tuple(deviation), tuple(values))


@dataclass(frozen=True, eq=False)
class _File:
    """A table, and what regressions need of it."""

    table: PublishedRows
    scale: _Scale

    @property
    def measured(self) -> tuple[bool, ...]:
        return tuple(a.kind.measured for a in self.table.attributes)

    def features(self, index: int) -> Floats:
        """(rows, features) of one column: a number scaled, missing in the middle; a category but for its commonest."""
        column = self.table.columns[index]
        if self.measured[index]:
            scaled = (column - self.scale.mean[index]) / self.scale.deviation[index]
            return np.nan_to_num(scaled, nan=0.0)[:, None]
        return np.asarray(column[:, None] == self.scale.values[index][None, 1:], dtype=np.float64)

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """(features,) the column of each feature; -1 the constant."""
        widths = [1 if own else max(len(self.scale.values[i]) - 1, 0) for i, own in enumerate(self.measured)]
        return np.concatenate([[-1], np.repeat(np.arange(len(widths)), widths)])

    @cached_property
    def design(self) -> Floats:
        """(rows, features) the constant, and the features of every column."""
        parts = [np.ones((self.table.rows, 1)), *(self.features(i) for i in range(len(self.measured)))]
        return np.concatenate(parts, axis=1)

    @cached_property
    def gram(self) -> Floats:
        return np.asarray(self.design.T @ self.design)

    def fitted(self, index: int) -> tuple[Floats, Floats]:
        """Coefficients of everything else, and their standard errors; errors of 0 where nothing can be said."""
        column = self.table.columns[index]
        if self.measured[index]:
            y = self.features(index)[:, 0]
        else:
            y = (column == self.scale.values[index][0]).astype(np.float64)
        used = np.flatnonzero(self.owner != index)
        gram = self.gram[np.ix_(used, used)] + RIDGE * np.eye(len(used))
        inverse = np.linalg.inv(gram)
        beta = inverse @ (self.design[:, used].T @ y)
        rest = y - self.design[:, used] @ beta
        degrees = max(self.table.rows - len(used), 1)
        errors = np.sqrt(np.maximum(np.diag(inverse), 0.0) * float(rest @ rest) / degrees)
        shown = np.diag(self.gram)[used] > 0.5  # a value that no row shows has no coefficient
        return np.where(shown, beta, 0.0)[1:], np.where(shown, errors, 0.0)[1:]


def _mean(found: Sequence[float], least: float = -np.inf) -> Estimate:
    mean = Estimate.exact(float(found[0])) if len(found) == 1 else mean_of_draws(np.array(found))
    return replace(mean, low=max(mean.low, least))


def _drawn(regions: Regions, region: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """(rows,) a code of each region, each as likely."""
    width = (regions.high - regions.low + 1).astype(np.int64)
    below = np.cumsum(width) - width  # of all regions, run after run
    place = below[regions.start[:-1]][region] + (random.random(len(region)) * regions.sizes[region]).astype(np.int64)
    run = np.searchsorted(below, place, side="right") - 1
    return np.asarray(regions.low[run] + place - below[run], dtype=np.int64)


def _propensity(truth: _File, reading: _File, seed: int) -> tuple[float, float]:
    """pMSE of a logistic model, and its ratio to what is expected of two samples of one population."""
    random = np.random.default_rng(seed)
    parts = [_some(one.design, random) for one in (truth, reading)]
    x = np.concatenate(parts)
    label = np.repeat([0.0, 1.0], [len(part) for part in parts])
    used = np.flatnonzero(np.ptp(x, axis=0) > 0)
    x = np.concatenate([np.ones((len(x), 1)), x[:, used]], axis=1)
    share = float(label.mean())
    beta = np.zeros(x.shape[1])
    beta[0] = math.log(share / (1 - share))
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        weight = np.maximum(p * (1 - p), 1e-9)
        step = np.linalg.solve(
            x.T @ (x * weight[:, None]) + RIDGE * np.eye(len(beta)), x.T @ (label - p) - RIDGE * beta
        )
        beta += step
        if float(np.abs(step).max()) < 1e-6:
            break
    p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
    mse = float(((p - share) ** 2).mean())
    expected = (len(beta) - 1) * (1 - share) ** 2 * share / len(x)
    return mse, mse / expected if expected > 0 else 1.0


def _some(rows: Floats, random: np.random.Generator) -> Floats:
    return rows if len(rows) <= MOST_ROWS else rows[random.choice(len(rows), MOST_ROWS, replace=False)]


def _overlap(mean: Floats, error: Floats, other: Floats, other_error: Floats) -> float:
    """Mean of both shares of the common part of two intervals; equal points overlap wholly."""
    if not len(mean):
        raise NotApplicable("there is nothing to compare")
    low, high = mean - NORMAL * error, mean + NORMAL * error
    below, above = other - NORMAL * other_error, other + NORMAL * other_error
    common = np.maximum(np.minimum(high, above) - np.maximum(low, below), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        both = (common / (high - low) + common / (above - below)) / 2
    same = np.isclose(mean, other, rtol=1e-9, atol=1e-12)
    return float(np.where((error > 0) & (other_error > 0), both, same.astype(np.float64)).mean())


def _means_overlap(truth: _File, reading: _File, index: int) -> float:
    """Of a number's mean, or of the shares of its commonest values."""
    pairs = []
    for one in (truth, reading):
        column = one.table.columns[index]
        if one.measured[index]:
            known = column[~np.isnan(column)][:, None]
        else:
            known = (column[:, None] == one.scale.values[index][None]).astype(np.float64)
        rows = max(len(known), 1)
        mean = known.mean(axis=0) if len(known) else np.zeros(known.shape[1])
        pairs += [mean, (known.std(axis=0) if len(known) else np.zeros(known.shape[1])) / math.sqrt(rows)]
    return _overlap(*pairs)


def _compared(truth: Sequence[Floats], reading: Sequence[Floats]) -> tuple[float, float]:
    """Overlap, and mean absolute change, of the coefficients."""
    if not len(truth[0]):
        raise NotApplicable("a regression needs another column")
    return _overlap(truth[0], truth[1], reading[0], reading[1]), float(np.abs(truth[0] - reading[0]).mean())

"""Aggregate queries: how far their answers from the release lie from those of the original."""

from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Estimate
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError
from unveil.utility._asked import check_pair
from unveil.utility.predicates import (
    Predicates,
    expected_counts,
    expected_values,
    true_counts,
    true_values,
)

__all__ = ["Aggregate", "query_error", "query_errors", "random_queries"]

Aggregate = Literal["count", "sum", "average", "max"]
TRIES = 50  # predicates drawn for each that fits somebody, before giving up
HALF = 0.5 - 1e-9  # of an expected row: rounding must not lose a certain one


def random_queries(
    table: Table, *, dimension: int = 2, selectivity: float = 0.05, queries: int = 1000, seed: int = 0
) -> Predicates:
    """Random predicates over `dimension` quasi-identifiers and the sensitive attribute that fit at least one row.

    Each accepts ceil(|A| · selectivity^(1/(dimension + 1))) values of an attribute A, at random (Xiao and Tao 2006);
    Li 2010, section 1.2.3, rounds down and is left with empty queries. With several sensitive attributes one is drawn.
    """
    known, sensitive = table.with_role(Role.QUASI_IDENTIFIER), table.with_role(Role.SENSITIVE)
    if not 1 <= dimension <= len(known):
        raise UsageError(f"dimension = {dimension}: the table has {len(known)} quasi-identifiers; choose 1 to that")
    if not 0 < selectivity <= 1 or queries < 1:
        raise UsageError("a workload needs a selectivity above 0 and at most 1, and at least 1 query")
    random = np.random.default_rng(seed)
    used = [*known, *sensitive]
    attributes = tuple(table.attributes[i] for i in used)
    share = selectivity ** (1.0 / (dimension + bool(sensitive)))
    found: list[Predicates] = []
    left = queries
    for _ in range(TRIES):
        drawn = _drawn(attributes, len(known), dimension, share, queries, random)
        fits = np.flatnonzero(true_counts(table, drawn) > 0)[:left]
        found.append(drawn.take(fits))
        left -= len(fits)
        if not left:
            return Predicates(attributes, tuple(map(np.concatenate, zip(*(p.accepts for p in found), strict=True))))
    raise NotApplicable(
        f"only {queries - left} of {queries * TRIES} drawn queries fit any row; raise the selectivity or the dimension"
    )


def query_errors(
    release: Release,
    table: Table,
    queries: Predicates,
    *,
    aggregate: Aggregate = "count",
    measured: str | None = None,
) -> NDArray[np.float64]:
    """(queries,) relative error of each answer: |expected - true| / |true|; nan where the true answer is 0 or none.

    `sum`, `average` and `max` are of the numeric attribute `measured`. The largest value is the one at or above which
    half a row is expected (half of all rows that are, if fewer).
    """
    check_pair(release, table)
    if aggregate == "count":
        return _relative(expected_counts(release, queries), true_counts(table, queries))
    if measured is None:
        raise UsageError(f"{aggregate} needs the attribute to aggregate: measured=NAME")
    attribute = release.attributes[release.index(measured)]
    if attribute.kind is not Kind.NUMERIC or not attribute.real:
        raise NotApplicable(
            f"{aggregate} needs numbers, and {measured} is {attribute.kind} with {attribute.real} values"
        )
    expected, true = expected_values(release, queries, measured), true_values(table, queries, measured)
    return _relative(_aggregated(expected, attribute, aggregate), _aggregated(true, attribute, aggregate))


def query_error(
    release: Release,
    table: Table,
    *,
    dimension: int = 2,
    selectivity: float = 0.05,
    queries: int = 1000,
    aggregate: Aggregate = "count",
    measured: str | None = None,
    seed: int = 0,
) -> Estimate:
    """Mean relative error of random aggregate queries (Li 2010, section 1.2.3); the interval is that of the draw."""
    drawn = random_queries(table, dimension=dimension, selectivity=selectivity, queries=queries, seed=seed)
    errors = query_errors(release, table, drawn, aggregate=aggregate, measured=measured)
    errors = errors[~np.isnan(errors)]
    if not len(errors):
        raise NotApplicable("every true answer is 0: a relative error says nothing")
    return mean_of_draws(errors)


def mean_of_draws(values: NDArray[np.float64]) -> Estimate:
    """The mean of independent draws with its 95% interval; one draw says nothing of its error."""
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, -np.inf, np.inf)
    half = 1.959964 * float(values.std(ddof=1)) / len(values) ** 0.5
    return Estimate(mean, mean - half, mean + half)


def _drawn(
    attributes: tuple[Attribute, ...],
    known: int,
    dimension: int,
    share: float,
    queries: int,
    random: np.random.Generator,
) -> Predicates:
    """Predicates by `dimension` of the first `known` attributes and one of the others."""
    chosen = np.zeros((queries, len(attributes)), dtype=np.bool_)
    order = random.random((queries, known)).argsort(axis=1)
    np.put_along_axis(chosen, order[:, :dimension], True, axis=1)
    if known < len(attributes):
        chosen[np.arange(queries), random.integers(known, len(attributes), queries)] = True
    accepts = []
    for place, attribute in enumerate(attributes):
        accepted = np.ones((queries, attribute.codes), dtype=np.bool_)
        wanted = min(max(ceil(attribute.codes * share - 1e-9), 1), attribute.codes)
        asked = np.flatnonzero(chosen[:, place])
        codes = np.broadcast_to(np.arange(attribute.codes), (len(asked), attribute.codes))
        accepted[asked] = False
        accepted[asked[:, None], random.permuted(codes, axis=1)[:, :wanted]] = True
        accepts.append(accepted)
    return Predicates(attributes, tuple(accepts))


def _aggregated(count: NDArray[np.float64], attribute: Attribute, aggregate: Aggregate) -> NDArray[np.float64]:
    """(queries,) an aggregate of (queries, codes) rows by value; missing values are left out, nan is not an answer."""
    place, count = attribute.positions()[: attribute.real], count[:, : attribute.real]
    rows = count.sum(axis=1)
    if aggregate == "sum":
        return np.asarray(count @ place)
    if aggregate == "average":
        return np.asarray(np.divide(count @ place, rows, out=np.full(len(rows), np.nan), where=rows > 0))
    above = np.cumsum(count[:, ::-1], axis=1)[:, ::-1]
    reached = above >= np.minimum(HALF, rows / 2 * (1 - 1e-9))[:, None]
    last = reached.shape[1] - 1 - reached[:, ::-1].argmax(axis=1)
    return np.where(rows > 0, place[last], np.nan)


def _relative(expected: NDArray[np.float64], true: NDArray[np.float64]) -> NDArray[np.float64]:
    # No answer where there is one: wrong by all of it, as if 0 had been said.
    said = np.where(np.isnan(expected), 0.0, expected)
    known = ~np.isnan(true) & (true != 0)
    return np.asarray(np.divide(np.abs(said - true), np.abs(true), out=np.full(len(true), np.nan), where=known))

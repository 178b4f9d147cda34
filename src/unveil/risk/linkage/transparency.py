"""Transparency: linkage by one who knows how the release was masked, with what parameters (Torra 2024).

Knowing microaggregation or rank swapping rules rows out that cannot be a person's own; the nearest of those left is the
link. Since the own row is never ruled out, whoever is linked by distance alone is linked still. Knowing the noise gives
its likelihood L, normal with amount² times the covariance; it links more people on average, not each.

| method | what a person's own row has |
|---|---|
| microaggregation, everybody held | the mean of the group the person falls into when the masking is done again |
| microaggregation of each attribute, some held | one of the two published means that the person's value lies between |
| rank swapping, p % | a value whose rank is at most p % of the rows away, in every attribute |
| noise | any value; the link is the row of which the person has the largest share, L_i(row) / sum over people of L |

Columns that were not masked are the person's own.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.microaggregation import Microaggregation
from unveil.anonymizers.noise import Noise
from unveil.anonymizers.rank_swapping import RankSwapping
from unveil.data.attribute import Attribute, Kind
from unveil.data.release import Release
from unveil.errors import NotApplicable
from unveil.risk.linkage.distance import on_scales
from unveil.risk.linkage.links import CLOSE, Links, joined_links, nearest_links, reid
from unveil.risk.linkage.pairs import MOST_ENTRIES, pairs_in_parts
from unveil.risk.linkage.published import Published, known_numbers, published_of
from unveil.risk.linkage.register import Register

__all__ = ["Method", "link_by_method"]

Method = Microaggregation | RankSwapping | Noise
Floats = NDArray[np.float64]
Fits = Callable[[NDArray[np.int64]], NDArray[np.bool_]]  # people -> (people, rows) rows that may be theirs
Distance = Callable[[NDArray[np.int64]], Floats]  # people -> (people, rows)
ROUNDED = 1e-6  # of a deviation: what writing a number may change


def link_by_method(release: Release, register: Register, method: Method, group: NDArray[np.integer]) -> Links:
    """Link people with the rows of a masked release by all that its masking method tells.

    `group` (original rows,): the published row of each. Whom no row fits is linked by distance alone, on the
    scale that links most people, see `link_by_distance`. Cost: all pairs.
    """
    if not isinstance(method, Method):
        raise NotApplicable(
            f"{type(method).__name__}: what it tells of rows is not worked out; "
            "give microaggregation, rank_swapping or noise"
        )
    published = published_of(release, tuple(register.known), group)
    hidden = [a for a in published.attributes if a.name in published.perturbed]
    if not hidden:
        raise NotApplicable("nothing that is known of the people was masked")
    whole = len(hidden) == len(release.perturbed)
    fits, distance = _rules(published, register, hidden, method, whole)
    tried = on_scales(published, register) if distance is None else [published]
    return max((_linked(one, register, fits, distance) for one in tried), key=lambda links: reid(links).value)


def _linked(published: Published, register: Register, fits: Sequence[Fits], distance: Distance | None) -> Links:
    """By the nearest of the rows that fit."""
    plain = [at for at, a in enumerate(published.attributes) if a.name not in published.perturbed]
    found = []
    for people, pairs in pairs_in_parts(published, register):
        may = np.asarray((pairs.squared[:, :, plain] <= CLOSE).all(axis=2))
        for fit in fits:
            may &= fit(people)
        may |= ~may.any(axis=1, keepdims=True)
        far = pairs.squared.sum(axis=2) if distance is None else distance(people)
        found.append(nearest_links(np.where(may, far, np.inf), pairs.own, published.scale))
    return joined_links(found)


def _rules(
    published: Published, held: Register, hidden: Sequence[Attribute], method: Method, whole: bool
) -> tuple[list[Fits], Distance | None]:
    """What the method says: tests of rows, and a distance if it is not the plain one."""
    values = [known_numbers(a, held.known[a.name]) for a in hidden]
    shown = [_shown(published, a) for a in hidden]
    if isinstance(method, RankSwapping):
        return [_within_ranks(v, s, method.p) for v, s in zip(values, shown, strict=True)], None
    if isinstance(method, Noise):
        return [], _surprise(values, shown, method)
    everybody = held.people == published.rows and (whole or method.method == "univariate")
    if everybody and not any(np.isnan(v).any() for v in values):
        means = method.means(values)
        dates = [a.kind is Kind.DATE for a in hidden]
        return [_equal(m, s, d) for m, s, d in zip(means, shown, dates, strict=True)], None
    if method.method == "univariate":
        return [_between_means(v, s) for v, s in zip(values, shown, strict=True)], None
    return [], None  # a group of some people unknown: the nearest mean is the best guess


def _shown(published: Published, attribute: Attribute) -> Floats:
    """(rows,) the same of what is published; nan = missing or not published."""
    if attribute.name in published.numbers:
        return published.numbers[attribute.name]
    regions, row = published.regions[attribute.name]
    code = regions.single()[row].astype(np.float64)
    return np.where((code < 0) | (code >= attribute.real), np.nan, code)


def _within_ranks(value: Floats, shown: Floats, p: float) -> Fits:
    """Swapping keeps the values of a column, so that ranks are those of the published ones."""
    order = np.sort(shown[~np.isnan(shown)])
    if not len(order):
        return lambda people: np.ones((len(people), len(shown)), dtype=bool)
    window = max(1, int(p * len(order) / 100))
    first = np.searchsorted(order, value, side="left") - window
    last = np.searchsorted(order, value, side="right") - 1 + window
    ends = order[np.clip(first, 0, len(order) - 1)], order[np.clip(last, 0, len(order) - 1)]
    return _inside(np.where(np.isnan(value), -np.inf, ends[0]), np.where(np.isnan(value), np.inf, ends[1]), shown)


def _between_means(value: Floats, shown: Floats) -> Fits:
    """Groups along a line do not overlap, so that the own mean is next to the value, on one side or the other."""
    order = np.unique(shown[~np.isnan(shown)])
    if not len(order):
        return lambda people: np.ones((len(people), len(shown)), dtype=bool)
    slack = ROUNDED * (float(order.std()) or 1.0)
    below = np.searchsorted(order, value + slack, side="right") - 1
    above = np.searchsorted(order, value - slack, side="left")
    low = np.where(below < 0, -np.inf, order[np.maximum(below, 0)] - slack)
    high = np.where(above >= len(order), np.inf, order[np.minimum(above, len(order) - 1)] + slack)
    return _inside(np.where(np.isnan(value), -np.inf, low), np.where(np.isnan(value), np.inf, high), shown)


def _equal(mean: Floats, shown: Floats, date: bool) -> Fits:
    slack = 0.5 if date else ROUNDED * (float(np.nanstd(shown)) or 1.0)  # a date is published as a whole day
    return _inside(mean - slack, mean + slack, shown)


def _inside(low: Floats, high: Floats, shown: Floats) -> Fits:
    def fits(people: NDArray[np.int64]) -> NDArray[np.bool_]:
        between = (low[people, None] <= shown) & (shown <= high[people, None])
        return np.asarray(between | np.isnan(shown))

    return fits


def _surprise(values: Sequence[Floats], shown: Sequence[Floats], method: Noise) -> Distance:
    """(people, rows) -2 log of the share that a person has in the likelihood of a row, among all it could be of.

    Every row is somebody's: one that many people could have caused says little of each. The covariance of the noise is
    taken from the published columns.
    """
    held, rows = np.stack(values, axis=1), np.stack(shown, axis=1)
    lost = bool(np.isnan(held).any() or np.isnan(rows).any())
    if lost and method.kind == "correlated":
        raise NotApplicable("correlated noise with missing or inexact values: its likelihood is not worked out")
    if method.kind == "correlated":
        spread = np.atleast_2d(np.cov(rows, rowvar=False, ddof=0))
    else:
        spread = np.diag(np.nanvar(rows, axis=0))
    # A published column has the variance of the original times 1 + amount².
    share = method.amount**2 / (1 + method.amount**2)
    inverse = np.linalg.pinv(spread * share)

    def distance(people: NDArray[np.int64]) -> Floats:
        apart = np.nan_to_num(held[people][:, None, :] - rows[None, :, :], nan=0.0)
        return np.asarray(np.einsum("ija,ab,ijb->ij", apart, inverse, apart, optimize=True))

    # Rows of people who are not held: normal, with the mean and covariance of what is published.
    nobody = max(len(rows) - len(held), 0)
    middle = np.nan_to_num(rows - np.nanmean(rows, axis=0), nan=0.0)
    usual = share * np.einsum("ja,ab,jb->j", middle, inverse, middle)
    with np.errstate(divide="ignore"):
        log_total = np.log(np.full(len(rows), float(nobody))) + rows.shape[1] / 2 * np.log(share) - usual / 2
    step = max(1, MOST_ENTRIES // held[:1].size // len(rows))
    for begin in range(0, len(held), step):
        part = -distance(np.arange(begin, min(begin + step, len(held)))) / 2
        log_total = np.logaddexp(log_total, np.logaddexp.reduce(part, axis=0))

    return lambda people: np.maximum(distance(people) + 2 * log_total, 0.0)

"""Large populations: what a release still says of everyone who fits a generalised predicate (Li 2010, 5.2.2)."""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role
from unveil.data.belief import Estimate
from unveil.data.release import Release, distinct_rows
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError
from unveil.privacy.distances import distance as distance_named
from unveil.privacy.reference import geometry_of
from unveil.utility._asked import asked_attribute, check_pair
from unveil.utility.predicates import Predicates, expected_values, true_values

__all__ = ["large_populations", "rule_recall", "utility_loss", "utility_losses"]


@dataclass(frozen=True, slots=True)
class _Axis:
    """What predicates may say of one quasi-identifier: a node at any level below the top."""

    attribute: Attribute
    node: NDArray[np.int64]  # (levels, codes) numbered through all levels
    level_start: NDArray[np.int64]  # (levels + 1,) first number of each level


def large_populations(table: Table, *, minimum_support: float = 0.05, most: int | None = None) -> Predicates:
    """Every conjunction of hierarchy nodes of quasi-identifiers, at least one, that fits this share of the rows.

    A node at another level is another predicate, even if it holds the same values. An attribute without a hierarchy
    has its values only. `most`: refuse more populations than this; with many quasi-identifiers they are without
    bound.
    """
    if not 0 < minimum_support <= 1:
        raise UsageError(
            f"minimum_support = {minimum_support}: choose a share above 0 and at most 1; for 5% write 0.05"
        )
    known = table.with_role(Role.QUASI_IDENTIFIER)
    if not known:
        raise NotApplicable("large populations are made of quasi-identifiers, and the table has none")
    least = max(ceil(minimum_support * table.rows * (1 - 1e-12)), 1)
    row, count = distinct_rows([table.columns[i] for i in known])
    columns = [table.columns[i][row].astype(np.int64) for i in known]
    axes = [_axis(table.attributes[i]) for i in known]
    chosen: list[tuple[int, ...]] = []
    if most is not None and 2 ** _together(axes, columns, count, least) - 1 > most:
        raise NotApplicable(f"there are over {most:,} large populations; raise minimum_support")
    _extend(axes, columns, count, np.arange(len(row)), (), least, chosen, most or np.inf)
    if not chosen:
        raise NotApplicable(f"no population holds {minimum_support:.0%} of the rows; lower minimum_support")
    numbers = np.array(chosen, dtype=np.int64)  # (populations, attributes) node numbers, -1 = not in the predicate
    accepts = []
    for place, axis in enumerate(axes):
        used, which = np.unique(numbers[:, place], return_inverse=True)
        level = np.searchsorted(axis.level_start, used, side="right") - 1
        accepts.append(((axis.node[level] == used[:, None]) | (used < 0)[:, None])[which])
    return Predicates(tuple(axis.attribute for axis in axes), tuple(accepts))


def utility_losses(
    release: Release,
    table: Table,
    populations: Predicates,
    *,
    attribute: str | None = None,
    distance: str = "js",
) -> NDArray[np.float64]:
    """(populations,) distance of the sensitive distribution that the release suggests from the true one."""
    check_pair(release, table)
    asked = release.attributes[asked_attribute(release, attribute)]
    expected = expected_values(release, populations, asked.name)
    true = true_values(table, populations, asked.name)
    if not true.any(axis=1).all():
        raise UsageError("a population without rows has no distribution; leave it out")
    # Of a population of which the release expects nobody, it says no more than of everyone.
    nobody = expected.sum(axis=1) <= 0
    expected[nobody] = release_histogram(release, asked.name)
    measure = distance_named(distance)
    shares = expected / expected.sum(axis=1, keepdims=True)
    return measure(true / true.sum(axis=1, keepdims=True), shares, geometry_of(asked))


def utility_loss(
    release: Release,
    table: Table,
    *,
    attribute: str | None = None,
    minimum_support: float = 0.05,
    distance: str = "js",
    populations: Predicates | None = None,
) -> Estimate:
    """Mean over all large populations of the distance of the suggested from the true distribution: U_loss (Li 2010).

    `populations` saves finding them again for every release of one table.
    """
    if populations is None:
        populations = large_populations(table, minimum_support=minimum_support)
    losses = utility_losses(release, table, populations, attribute=attribute, distance=distance)
    return Estimate.exact(float(losses.mean()))


def rule_recall(
    release: Release,
    table: Table,
    *,
    attribute: str | None = None,
    minimum_support: float = 0.05,
    minimum_confidence: float = 0.2,
    populations: Predicates | None = None,
) -> Estimate:
    """Share of the original's association rules that the release leads one to find as well.

    A rule "population → value" holds if at least a share `minimum_support` of all rows lie in the population and have
    the value, and at least a share `minimum_confidence` of the population has it; in the release by expected rows.
    """
    if not 0 < minimum_confidence <= 1:
        raise UsageError(f"minimum_confidence = {minimum_confidence}: choose a share above 0 and at most 1")
    check_pair(release, table)
    asked = release.attributes[asked_attribute(release, attribute)].name
    if populations is None:
        populations = large_populations(table, minimum_support=minimum_support)
    true = _rules(true_values(table, populations, asked), table.rows, minimum_support, minimum_confidence)
    if not true.any():
        raise NotApplicable("the original has no rule of this support and confidence; lower one of them")
    found = _rules(expected_values(release, populations, asked), table.rows, minimum_support, minimum_confidence)
    return Estimate.exact(float((found & true).sum() / true.sum()))


def release_histogram(release: Release, attribute: str) -> NDArray[np.float64]:
    """(codes,) how often each value is published, a wide region counted evenly."""
    index = release.index(attribute)
    regions, block = release.regions[index], release.block_of(index)
    rows = np.bincount(block.region(index), weights=block.count, minlength=len(regions))
    histogram = np.zeros(regions.codes)
    for number in np.flatnonzero(rows):
        histogram[regions.members(int(number))] += rows[number] / regions.sizes[number]
    return histogram


def _rules(count: NDArray[np.float64], rows: int, support: float, confidence: float) -> NDArray[np.bool_]:
    """(populations, values) which rules hold; a hair of tolerance, for expected rows are sums of fractions."""
    inside = count.sum(axis=1, keepdims=True)
    return np.asarray(
        (count >= support * rows * (1 - 1e-9)) & (count >= confidence * inside * (1 - 1e-9)) & (count > 0)
    )


def _axis(attribute: Attribute) -> _Axis:
    levels = np.arange(attribute.codes)[None, :] if attribute.hierarchy is None else attribute.hierarchy.node[:-1]
    widths = [int(level.max()) + 1 for level in levels]
    start = np.cumsum([0, *widths]).astype(np.int64)
    return _Axis(attribute, levels.astype(np.int64) + start[:-1, None], start)


def _together(axes: list[_Axis], columns: list[NDArray[np.int64]], count: NDArray[np.int64], least: int) -> int:
    """Of how many attributes the most frequent value can be asked for together: each subset is a large population."""
    best = []
    for place, axis in enumerate(axes):
        by_code = np.bincount(columns[place], weights=count, minlength=axis.attribute.codes)
        best.append((-float(by_code.max()), place, int(by_code.argmax())))
    inside, found = np.ones(len(count), dtype=bool), 0
    for _, place, code in sorted(best):
        fits = inside & (columns[place] == code)
        if count[fits].sum() >= least:
            inside, found = fits, found + 1
    return found


def _extend(
    axes: list[_Axis],
    columns: list[NDArray[np.int64]],
    count: NDArray[np.int64],
    rows: NDArray[np.int64],
    begun: tuple[int, ...],
    least: int,
    chosen: list[tuple[int, ...]],
    most: float,
) -> None:
    """Depth first over the attributes: a predicate is only made longer where it still fits enough rows."""
    place = len(begun)
    if place == len(axes):
        if any(number >= 0 for number in begun):
            chosen.append(begun)
            if len(chosen) > most:
                raise NotApplicable(f"there are over {most:,} large populations; raise minimum_support")
        return
    _extend(axes, columns, count, rows, (*begun, -1), least, chosen, most)
    axis, codes, weight = axes[place], columns[place][rows], count[rows]
    by_code = np.bincount(codes, weights=weight, minlength=axis.attribute.codes)
    for level, nodes in enumerate(axis.node):
        fits = np.bincount(nodes, weights=by_code, minlength=int(axis.level_start[-1]))
        of_row = nodes[codes]
        for number in range(int(axis.level_start[level]), int(axis.level_start[level + 1])):
            if fits[number] >= least:
                _extend(axes, columns, count, rows[of_row == number], (*begun, number), least, chosen, most)

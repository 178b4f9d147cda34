"""Being found in a masked release, and what it is still worth: measured beside attribute disclosure."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.case import Case
from unveil.audit.document import Finding
from unveil.data.attribute import Role
from unveil.data.belief import Estimate
from unveil.data.release import SYNTHETIC, Release
from unveil.data.rows import PublishedRows, as_published
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.risk.linkage.distance import rows_found
from unveil.risk.linkage.links import Links, claim_precision, mean_chance
from unveil.risk.linkage.published import Published
from unveil.risk.linkage.register import Register
from unveil.risk.linkage.sweep import known_points, link_by_subsets
from unveil.risk.uniqueness import key_counts, uniqueness_curve
from unveil.utility.masked import correlation_error, deviation_error, il1s, mean_error, share_error

__all__ = ["SYNTHETIC", "found_masked", "identity_charts", "masked_utility"]

SUBSETS = 32  # sets of attributes behind the chart
IDS = ("claim_precision", "prosecutor_risk.max", "prosecutor_risk.mean", "marketer_risk", "journalist_risk.max")


def found_masked(
    name: str,
    published: Published | None,
    held: Register | None,
    links: Links | None,
    *,
    table: Table | None,
    population: Table | None,
    engine: Engine,
) -> list[Finding]:
    """Prosecutor, marketer and journalist risk of nearest rows; unknown where nothing says whose row is whose.

    The prosecutor looks for the row of a person known to be in the release: the chance of being right, largest and
    mean. The marketer goes the other way, for every row to the nearest person. The journalist does so for one row,
    among the population; without a population, chances among the original's people bound it, for the more people
    there are, the more are in each other's way.
    """
    if published is None or published.origin is None or held is None or table is None:
        return [Finding.of(id, name, None, None) for id in IDS]
    if links is None or links.chance is None:
        return [Finding.of(id, name, None, None) for id in IDS]
    own = published.true_rows(held)
    there = np.ones(held.people, dtype=bool) if own is None else own >= 0
    chance = links.chance[there]
    largest, mean = float(chance.max(initial=0.0)), mean_chance(chance) if len(chance) else 0.0
    around = rows_found(published, table, population, engine.named("backwards"))
    precision = claim_precision(links)
    found = [
        Finding.of(IDS[0], name, None, precision),
        Finding.exact("prosecutor_risk.max", name, None, largest),
        Finding.exact("prosecutor_risk.mean", name, None, mean),
        Finding.exact("marketer_risk", name, None, mean_chance(around)),
    ]
    if population is None:
        most = float(around.max())
        return [*found, Finding.of(IDS[4], name, None, Estimate(most, 0.0, most))]
    return [
        *found,
        Finding.exact("journalist_risk.max", name, None, float(around.max())),
        Finding.exact("journalist_risk.mean", name, None, mean_chance(around)),
    ]


def masked_utility(
    table: Table | None, masked: PublishedRows, origin: NDArray[np.int64] | None, name: str
) -> list[Finding]:
    """What became of each perturbed column, and of the correlations of all published numbers."""
    found = []
    for index in masked.masked:
        attribute = masked.attributes[index]
        ids = ("il1s", "mean_error", "deviation_error") if attribute.kind.measured else ("share_error",)
        values = dict.fromkeys(ids) if table is None else dict(_column(table, masked, origin, index))
        found += [_finding(id, name, attribute.name, values.get(id)) for id in ids]
    numbers = [i for i, a in enumerate(masked.attributes) if a.kind.measured]
    if len(numbers) > 1 and any(i in masked.masked for i in numbers):
        value = None
        if table is not None:
            before = [_true(table, masked.attributes[i].name) for i in numbers]
            value = correlation_error(before, [masked.columns[i] for i in numbers])
        found.append(_finding("correlation_error", name, None, value))
    return found


def identity_charts(case: Case, name: str, release: Release, published: Published, held: Register) -> dict[str, Any]:
    """Linkage by how many attributes are known, and uniqueness of the original's values by sampling fraction."""
    assert case.original is not None
    engine = case.engine.named(f"charts/{name}")
    sets = link_by_subsets(release, held, group=case.assignments.get(name), most=SUBSETS, engine=engine)
    known = [n for n in held.known if case.original.attributes[case.original.index(n)].role is not Role.IDENTIFIER]
    points = uniqueness_curve(key_counts(case.original, known, fraction=1.0), engine=engine)
    return {
        "known": known_points(*sets),
        "uniqueness": [
            {
                "fraction": p.fraction,
                "people": p.people,
                "expected": p.expected,
                "drawn": p.drawn,
                "estimates": p.estimates,
            }
            for p in points
        ],
    }


def _column(
    table: Table, masked: PublishedRows, origin: NDArray[np.int64] | None, index: int
) -> Iterator[tuple[str, Estimate | None]]:
    attribute, column = masked.attributes[index], masked.columns[index]
    truth = _true(table, attribute.name)
    if not attribute.kind.measured:
        yield "share_error", _or_none(lambda: share_error(truth, column))
        return
    if origin is not None:
        yield "il1s", _or_none(lambda: il1s(truth[origin], column))
    yield "mean_error", _or_none(lambda: mean_error(truth, column))
    yield "deviation_error", _or_none(lambda: deviation_error(truth, column))


def _true(table: Table, name: str) -> NDArray[Any]:
    index = table.index(name)
    return as_published([table.attributes[index]], [table.columns[index]])[0]


def _or_none(measure: Any) -> Estimate | None:
    try:
        return measure()  # type: ignore[no-any-return]
    except (UsageError, NotApplicable):  # nothing is left of a column
        return None


def _finding(id: str, release: str, attribute: str | None, value: Estimate | None) -> Finding:
    return Finding.of(id, release, attribute, None) if value is None else Finding.of(id, release, attribute, value)

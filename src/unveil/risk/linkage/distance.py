"""Linkage by distance: the nearest rows of each person, and the nearest people of each row."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.risk.linkage.attribute_distances import SCALES, AttributeDistance, Scale
from unveil.risk.linkage.links import CLOSE, Links
from unveil.risk.linkage.nearest import find_nearest
from unveil.risk.linkage.published import Published, attribute_distance, known_numbers, published_of
from unveil.risk.linkage.register import Register, register_of_tables

__all__ = ["link_by_distance", "nearest_distances", "on_best_scale", "on_scales", "rows_found"]

FEWEST_EQUAL = 0.01  # share of people whose number is published at all, for equality to say something


def link_by_distance(
    published: Published,
    register: Register,
    *,
    scales: Sequence[Scale] = SCALES,
    margins: bool = False,
    engine: Engine | None = None,
) -> Links:
    """Each person's nearest rows; a link is claimed where one row alone is nearest.

    Perturbed numbers are compared on each of the scales, a column backwards where it falls as the truth rises. The
    scale that links most people correctly is reported, for an attacker may find it; the first where the truth is not
    known.
    """
    return _best(published, register, scales, margins, engine)[0]


def on_scales(published: Published, register: Register, scales: Sequence[Scale] = SCALES) -> list[Published]:
    """The published rows on each scale that may link other people than the rest."""
    return _scaled(published, register, published.true_rows(register), scales)


def on_best_scale(
    published: Published, register: Register, scales: Sequence[Scale] = SCALES, engine: Engine | None = None
) -> Published:
    """The published rows on the scale that `link_by_distance` reports."""
    return _best(published, register, scales, False, engine)[1]


def rows_found(
    published: Published, table: Table, population: Table | None = None, engine: Engine | None = None
) -> NDArray[np.float64]:
    """(rows,) how likely the person nearest to a published row is the one it is of.

    People are those of the population, or else of the original `table`. Whoever is in the original is in the
    population, too, on file or not; a tie counts as one over its people. Scales are those of `link_by_distance`.
    """
    if published.origin is None:
        raise UsageError("whether links are right is unknown: nothing says whose row is whose")
    others = 0 if population is None else population.rows
    both = (table,) if population is None else (population, table)
    people = register_of_tables(both, published.attributes)
    # The original's people stand there to be found; where there is a population they are counted among its own.
    count = np.ones(people.people, dtype=np.int64)
    count[others:] = population is None
    own = np.full(people.people, -1, dtype=np.int64)
    own[others + published.origin] = np.arange(published.rows)
    tried = []
    for scaled in _scaled(published, people, own, SCALES):
        distances = [d.backwards() for d in _distances(scaled, people)]
        found = find_nearest(distances, true_row=others + published.origin, count=count, engine=engine)
        assert found.true_distance is not None
        tried.append(np.where(found.true_distance <= found.distance + CLOSE, 1 / np.maximum(found.rows, 1), 0.0))
    return max(tried, key=lambda chance: float(chance.sum()))


def nearest_distances(
    release: Release, tables: Sequence[Table], known: Sequence[str], *, engine: Engine | None = None
) -> list[NDArray[np.float64]]:
    """(people,) of each table: the distance to the nearest published row, by the named attributes, on one scale."""
    if not known:
        raise UsageError("no published attribute is known of the people; name attributes with --known")
    published = published_of(release, list(known))
    people = register_of_tables(tables, published.attributes)
    found = find_nearest(_distances(published, people), engine=engine)
    distance = np.sqrt(np.maximum(found.distance, 0.0))
    return np.split(distance, np.cumsum([table.rows for table in tables])[:-1])


def _distances(published: Published, register: Register) -> list[AttributeDistance]:
    return [attribute_distance(published, a, register.known[a.name]) for a in published.attributes]


def _best(
    published: Published, register: Register, scales: Sequence[Scale], margins: bool, engine: Engine | None
) -> tuple[Links, Published]:
    own = published.true_rows(register)
    found = []
    for scaled in _scaled(published, register, own, scales):
        near = find_nearest(
            _distances(scaled, register), true_row=own, count=published.count, margins=margins, engine=engine
        )
        chance = None
        if own is not None and near.true_distance is not None:
            right = near.true_distance <= near.distance + CLOSE  # nan, whoever has no row, is never right
            chance = np.where(right, 1 / near.rows, 0.0)
        elif published.truthful:
            chance = np.where(near.distance <= CLOSE, 1 / near.rows, 0.0)
        score = np.sqrt(near.distance)
        found.append((Links(near.row, near.rows, score, near.rows == 1, chance, near.margin, scaled.scale), scaled))
    return max(found, key=lambda pair: 0.0 if pair[0].chance is None else float(pair[0].chance.sum()))


def _scaled(
    published: Published, register: Register, own: NDArray[np.int64] | None, scales: Sequence[Scale]
) -> list[Published]:
    hidden = [a for a in published.attributes if a.name in published.numbers and a.name in published.perturbed]
    if own is None or not hidden:
        return [replace(published, scale=scales[0])]
    reverse, shared = set(), 0.0
    there = np.flatnonzero(own >= 0)
    for attribute in hidden:
        truth, shown = known_numbers(attribute, register.known[attribute.name]), published.numbers[attribute.name]
        shared = max(shared, float(np.isin(truth, shown[~np.isnan(shown)]).mean()))
        pair = np.stack([truth[there], shown[own[there]]])
        rank = [np.unique(line, return_inverse=True)[1] for line in pair[:, ~np.isnan(pair).any(axis=0)]]
        if len(rank[0]) and (rank[0] - rank[0].mean()) @ rank[1] < 0:
            reverse.add(attribute.name)
    return [
        replace(published, scale=scale, reverse=frozenset(reverse if scale in ("moments", "ranks") else ()))
        for scale in scales
        if scale != "equal" or shared >= FEWEST_EQUAL
    ]

"""Linkage by distance: the nearest rows of each person, and the nearest people of each row."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Known
from unveil.data.masked import Masked
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.risk.linkage.links import Links
from unveil.risk.linkage.nearest import CLOSE, find_nearest
from unveil.risk.linkage.published import Published, attribute_distance, published_of
from unveil.risk.linkage.register import Register

__all__ = ["link_by_distance", "nearest_distances", "rows_found"]


def link_by_distance(
    published: Published, held: Register, *, margins: bool = False, engine: Engine | None = None
) -> Links:
    """Each person's nearest rows; a link is claimed where one row alone is nearest."""
    axes = [attribute_distance(published, attribute, held.known[attribute.name]) for attribute in published.attributes]
    own = published.true_rows(held)
    found = find_nearest(axes, true_row=own, count=published.count, margins=margins, engine=engine)
    chance = None
    if own is not None and found.true_distance is not None:
        right = found.true_distance <= found.distance + CLOSE  # nan, whoever has no row, is never right
        chance = np.where(right, 1 / found.rows, 0.0)
    elif published.truthful:
        chance = np.where(found.distance <= CLOSE, 1 / found.rows, 0.0)
    return Links(found.row, found.rows, np.sqrt(found.distance), found.rows == 1, chance, found.margin)


def rows_found(
    published: Published, table: Table, population: Table | None = None, engine: Engine | None = None
) -> NDArray[np.float64]:
    """(rows,) how likely the person nearest to a published row is the one it is of.

    People are those of the population, or else of the original `table`. Whoever is in the original is in the
    population, too, on file or not; a tie counts as one over its people.
    """
    if published.origin is None:
        raise UsageError("whether links are right is unknown: nothing says whose row is whose")
    others = 0 if population is None else population.rows
    known = {}
    for attribute in published.attributes:
        own = table.columns[table.index(attribute.name)]
        more = own[:0] if population is None else population.columns[population.index(attribute.name)]
        known[attribute.name] = Known.exactly(attribute, np.concatenate([more.astype(np.int64), own.astype(np.int64)]))
    held = Register(known, others + table.rows, None)
    # The original's people stand there to be found; where there is a population they are counted among its own.
    count = np.ones(held.people, dtype=np.int64)
    count[others:] = population is None
    found = find_nearest(
        [attribute_distance(published, a, held.known[a.name]).backwards() for a in published.attributes],
        true_row=others + published.origin,
        count=count,
        engine=engine,
    )
    assert found.true_distance is not None
    return np.where(found.true_distance <= found.distance + CLOSE, 1 / np.maximum(found.rows, 1), 0.0)


def nearest_distances(
    masked: Masked, tables: Sequence[Table], known: Sequence[str], *, engine: Engine | None = None
) -> list[NDArray[np.float64]]:
    """(people,) of each table: the distance to the nearest published row, by the named attributes.

    Contributions are those of linkage, but people and rows are measured on one scale, that of all people given: who
    asks whether somebody is in does not expect the release to be spread as the people are.
    """
    if not known:
        raise UsageError("nothing is known of the people that the release publishes; name attributes by --known")
    published = published_of(masked, list(known))
    held = {}
    for attribute in published.attributes:
        codes = []
        for table in tables:
            place = table.index(attribute.name)
            if table.attributes[place].values != attribute.values:
                raise UsageError(
                    f"the original's domain of {attribute.name} is not the release's; declare it in the schema"
                )
            codes.append(table.columns[place])
        held[attribute.name] = Known.exactly(attribute, np.concatenate(codes))
    plain = replace(published, numbers={name: (column, False) for name, (column, _) in published.numbers.items()})
    axes = [attribute_distance(plain, attribute, held[attribute.name]) for attribute in plain.attributes]
    distance = np.sqrt(np.maximum(find_nearest(axes, engine=engine).distance, 0.0))
    return np.split(distance, np.cumsum([table.rows for table in tables])[:-1])

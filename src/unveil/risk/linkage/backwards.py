"""Linkage the other way round: someone takes each published row and looks for its person."""

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Known
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.risk.linkage.held import Held
from unveil.risk.linkage.nearest import CLOSE, find_nearest
from unveil.risk.linkage.readers import Published, axis_of

__all__ = ["rows_found"]


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
    held = Held(known, others + table.rows, None)
    # The original's people stand there to be found; where there is a population they are counted among its own.
    count = np.ones(held.people, dtype=np.int64)
    count[others:] = population is None
    found = find_nearest(
        [axis_of(published, a, held.known[a.name]).backwards() for a in published.attributes],
        true_row=others + published.origin,
        count=count,
        engine=engine,
    )
    assert found.true_distance is not None
    return np.where(found.true_distance <= found.distance + CLOSE, 1 / np.maximum(found.rows, 1), 0.0)

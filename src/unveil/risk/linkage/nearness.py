"""How near the nearest published row is: what there is to see of a person's being in a masked release."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Known
from unveil.data.masked import Masked
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.risk.linkage.nearest import find_nearest
from unveil.risk.linkage.readers import axis_of, published_of

__all__ = ["nearest_distances"]


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
    axes = [axis_of(plain, attribute, held[attribute.name]) for attribute in plain.attributes]
    distance = np.sqrt(np.maximum(find_nearest(axes, engine=engine).distance, 0.0))
    return np.split(distance, np.cumsum([table.rows for table in tables])[:-1])

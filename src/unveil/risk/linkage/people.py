"""The people file of a link: whom each person is linked with, how clearly, and whether rightly. It names people."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import canonical
from unveil.formats.cells import write_cells
from unveil.risk.linkage.links import Links
from unveil.risk.linkage.published import Published
from unveil.risk.linkage.register import Register

if TYPE_CHECKING:
    import polars as pl

__all__ = ["people_frame"]


def people_frame(
    links: Mapping[str, Links],
    held: Register,
    published: Published,
    scores: Mapping[str, NDArray[np.float64]] | None = None,
) -> "pl.DataFrame":
    """One line a person held: `row`, `known:ATTRIBUTE` …; of each reader the best link.

    `READER:row` is the published row (of a masked release, 1 = first), `READER:rows` how many rows are as good,
    `READER:score` the distance or weight, `READER:margin` how much worse the next row is, `READER:claimed`, and
    `READER:right`: the chance that the link is the person's own row, empty where that is not known. `link:ATTRIBUTE`:
    the published cells of the nearest row. `scores`: more columns, a number a person.
    """
    import polars as pl

    people = held.people
    numbers = np.arange(people) if held.row is None else held.row
    data: dict[str, pl.Series] = {"row": pl.Series(numbers + 1, dtype=pl.Int64)}
    for attribute in published.attributes:
        known = held.known[attribute.name]
        texts = np.array(write_cells(known.regions, attribute), dtype=object)
        data[f"known:{attribute.name}"] = pl.Series(texts[known.of_target].tolist(), dtype=pl.String)
    first = links["distance"]
    for attribute in published.attributes:
        data[f"link:{attribute.name}"] = pl.Series(_cells(published, attribute.name, first), dtype=pl.String)
    for reader, one in links.items():
        if published.count is None:
            data[f"{reader}:row"] = pl.Series([None if r < 0 else int(r) + 1 for r in one.row], dtype=pl.Int64)
        data[f"{reader}:rows"] = pl.Series(one.size, dtype=pl.Int64)
        data[f"{reader}:score"] = pl.Series(one.score, dtype=pl.Float64)
        data[f"{reader}:margin"] = pl.Series([None] * people if one.margin is None else one.margin, dtype=pl.Float64)
        data[f"{reader}:claimed"] = pl.Series(one.claim, dtype=pl.Boolean)
        data[f"{reader}:right"] = pl.Series([None] * people if one.chance is None else one.chance, dtype=pl.Float64)
    data |= {name: pl.Series(values, dtype=pl.Float64) for name, values in (scores or {}).items()}
    return pl.DataFrame(data)


def _cells(published: Published, name: str, links: Links) -> list[str]:
    attribute = next(a for a in published.attributes if a.name == name)
    if name in published.numbers:
        values, number = np.unique(published.numbers[name][links.row], return_inverse=True)
        texts = ["*" if np.isnan(v) else canonical(v, attribute.kind) for v in values]
        return np.array(texts, dtype=object)[number].tolist()  # type: ignore[no-any-return]
    regions, row = published.regions[name]
    return np.array(write_cells(regions, attribute), dtype=object)[row[links.row]].tolist()  # type: ignore[no-any-return]

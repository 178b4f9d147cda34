"""Which group each person of the original may be in, where cells overlap or only some people are published.

With `*` in some cells, or a sample, a person fits several groups or none is theirs. Any way of filling the published
rows with people who fit them, secret included, is a table that the release may come from: one such way is found here.
"""

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.release import Release, example_rows, row_numbers
from unveil.data.table import Table

__all__ = ["place_people"]

MOST_PAIRS = 20_000_000  # kinds of people × published cells that are compared


def place_people(release: Release, table: Table, asked: int) -> NDArray[np.int64] | None:
    """(people,) a group that each may be in, -1 for people who are left over; None if the rows cannot be filled so.

    Narrow cells are filled first, with the people who have the fewest other places: where cells nest, as rows withheld
    among classes do, that fills all of them. Cost: kinds of people × cells.
    """
    block = release.block_of(asked)
    names = [i for i in (*release.with_role(Role.QUASI_IDENTIFIER), asked) if i in block.attributes]
    codes = [table.columns[table.index(release.attributes[i].name)].astype(np.int64) for i in names]
    kind = row_numbers(codes)
    first = example_rows(kind)
    entries = len(block.cell)
    if len(first) * entries > MOST_PAIRS:
        return None
    fits = np.ones((len(first), entries), dtype=bool)
    width = np.zeros(entries)
    for index, code in zip(names, codes, strict=True):
        regions, region = release.regions[index], block.region(index).astype(np.int64)
        used, number = np.unique(region, return_inverse=True)
        held = np.stack([regions.holds(np.full(len(first), r), code[first]) for r in used.tolist()], axis=1)
        fits &= held[:, number]
        width += np.log(np.maximum(regions.sizes[region], 1))
    left = np.bincount(kind, minlength=len(first))
    places = fits.sum(axis=1)
    chosen = np.zeros((len(first), release.groups), dtype=np.int64)
    group = block.group
    for entry in np.argsort(width, kind="stable").tolist():
        wanted = int(block.count[entry])
        who = np.flatnonzero(fits[:, entry] & (left > 0))
        who = who[np.argsort(places[who], kind="stable")]
        taken = np.minimum(left[who], np.maximum(wanted - (np.cumsum(left[who]) - left[who]), 0))
        if int(taken.sum()) < wanted:
            return None
        left[who] -= taken
        chosen[who, group[entry]] += taken
        places -= fits[:, entry]
    found = np.full(table.rows, -1, dtype=np.int64)
    order = np.argsort(kind, kind="stable")
    start = np.searchsorted(kind[order], np.arange(len(first)))
    for one in np.flatnonzero(chosen.sum(axis=1)).tolist():
        into = np.repeat(np.arange(release.groups), chosen[one])
        found[order[start[one] : start[one] + len(into)]] = into
    return found

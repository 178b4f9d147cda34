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
MOST_EDGES = 300_000  # of them that fit, for a flow: about a second


def place_people(release: Release, table: Table, asked: int) -> NDArray[np.int64] | None:
    """(people,) a group that each may be in, -1 for people who are left over; None if the rows cannot be filled so.

    Narrow cells are filled first, with the people who have the fewest other places: where cells nest, as rows withheld
    among classes do, that fills all of them. Where it gets stuck, a largest flow decides.

    Cost: kinds of people × cells.
    """
    block = release.block_of(asked)
    known = [i for i in release.with_role(Role.QUASI_IDENTIFIER) if i != asked]
    if known and not set(known) & set(block.attributes):  # buckets: the quasi-identifiers stand apart
        block = release.block_of(known[0])
        if not set(known) <= set(block.attributes):
            return None
    names = [i for i in (*known, asked) if i in block.attributes]
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
    people = np.bincount(kind, minlength=len(first))
    taken = _filled(fits, people, block.count.astype(np.int64), width)
    if taken is None:
        return None
    found = np.full(table.rows, -1, dtype=np.int64)
    order = np.argsort(kind, kind="stable")
    start = np.searchsorted(kind[order], np.arange(len(first)))
    for one in np.flatnonzero(taken.sum(axis=1)).tolist():
        into = np.repeat(block.group, taken[one])
        found[order[start[one] : start[one] + len(into)]] = into
    return found


def _filled(
    fits: NDArray[np.bool_], people: NDArray[np.int64], rows: NDArray[np.int64], width: NDArray[np.float64]
) -> NDArray[np.int64] | None:
    """(kinds, cells) how many people of each kind fill each cell; None if they cannot fill all of them."""
    left, places = people.copy(), fits.sum(axis=1)
    taken = np.zeros(fits.shape, dtype=np.int64)
    for cell in np.argsort(width, kind="stable").tolist():
        who = np.flatnonzero(fits[:, cell] & (left > 0))
        who = who[np.argsort(places[who], kind="stable")]
        part = np.minimum(left[who], np.maximum(rows[cell] - (np.cumsum(left[who]) - left[who]), 0))
        left[who] -= part
        taken[who, cell] += part
        places -= fits[:, cell]
        if int(part.sum()) < rows[cell]:
            return _flow(fits, people, rows)
    return taken


def _flow(fits: NDArray[np.bool_], people: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The same by a largest flow from kinds of people to cells, where filling one after the other gets stuck."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    kinds, cells = fits.shape
    kind, cell = np.nonzero(fits)
    if len(kind) > MOST_EDGES:
        return None
    tail = np.concatenate([np.zeros(kinds, dtype=np.int64), kind + 1, np.arange(cells) + kinds + 1])
    head = np.concatenate([np.arange(kinds) + 1, cell + kinds + 1, np.full(cells, kinds + cells + 1)])
    most = np.concatenate([people, people[kind], rows]).astype(np.int32)
    nodes = kinds + cells + 2
    found = maximum_flow(csr_array((most, (tail, head)), shape=(nodes, nodes)), 0, nodes - 1)
    if int(found.flow_value) < int(rows.sum()):
        return None
    return np.asarray(found.flow[1 : kinds + 1, kinds + 1 : nodes - 1].toarray(), dtype=np.int64)

"""One-to-one linkage: every person gets a row of their own, such that all distances together are smallest.

An attacker who knows that rows are different people's links better than by the nearest row, which may be many people's.
"""

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import row_numbers
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.kernels.auction import auction
from unveil.risk.linkage.aggregates import WeightedMean
from unveil.risk.linkage.candidates import DistinctRows, distinct_rows_of, link_by_parameters
from unveil.risk.linkage.links import Links
from unveil.risk.linkage.published import Published
from unveil.risk.linkage.register import Register

__all__ = ["link_one_to_one"]

MOST_PAIRS = 25_000_000  # of people and rows that are compared all at once: 5,000 of each
MOST_EDGES = 20_000_000  # of people and near rows
MOST_EXACT = 20_000  # people whose best assignment to near rows is found exactly; more bid for them
STEP = 1e-2  # of the mean distance to the nearest row: what a bid of an auction raises
MOST_BIDS = 2_000  # a person, on average
NEAR = 32  # distinct rows a person may get, of large files
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def link_one_to_one(
    published: Published, register: Register, *, engine: Engine | None = None, most: int = MOST_PAIRS
) -> Links:
    """The assignment of people to rows of the smallest sum of distances; of more people than rows some get none (-1).

    Exact up to `most` pairs of people and rows. Beyond, the best assignment among the NEAR distinct rows nearest to
    each person, by an auction if there are more than MOST_EXACT (its sum is at most a hundredth of the mean nearest
    distance a person above the best); whoever gets none of these is assigned to the rows that are left. Equal people,
    and equal rows, stand for each other: `chance` is the mean over all such assignments, and a link is claimed where
    there is but one.
    """
    engine = Engine(seed=0) if engine is None else engine
    rows = distinct_rows_of(published, register)
    if register.people * int(rows.count.sum()) <= most:
        everybody, everything = np.arange(register.people), np.repeat(np.arange(len(rows.count)), rows.count)
        person, found = _all_pairs(rows, everybody, everything)
    else:
        person, found = _near_pairs(rows, engine)
    cell, distance = np.full(register.people, -1, dtype=np.int64), np.full(register.people, np.inf)
    cell[person], distance[person] = found, rows.between(person, found)
    return _links(rows, cell, distance)


def _all_pairs(
    rows: DistinctRows, people: NDArray[np.int64], of_row: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of these people and rows, each a copy of a distinct one: who gets a row, and which distinct one it is."""
    from scipy.optimize import linear_sum_assignment

    if len(people) * len(of_row) > MOST_PAIRS:
        raise NotApplicable("too many rows are alike for one-to-one linkage; name more attributes with --known")
    distance = rows.take(people).squared.sum(axis=2)
    person, row = linear_sum_assignment(distance[:, of_row])
    return people[person], of_row[row]


def _near_pairs(rows: DistinctRows, engine: Engine) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same of everybody: the best assignment to near rows, then that of whoever is left to the rows that are."""
    people, cells = len(rows.own), len(rows.count)
    near = link_by_parameters(rows, WeightedMean(), [WeightedMean().equal(len(rows.distances))], NEAR, engine)[0][1]
    # A row of more copies than people choose it need not be offered whole.
    copies = np.minimum(rows.count, np.bincount(near.ravel(), minlength=cells))
    first = np.concatenate([[0], np.cumsum(copies)])
    times = copies[near.ravel()]
    if times.sum() > MOST_EDGES:
        raise NotApplicable("too many rows are alike for one-to-one linkage; name more attributes with --known")
    chooser = np.repeat(np.arange(people), near.shape[1])
    weight = np.repeat(rows.between(chooser, near.ravel()), times)
    step = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    person = np.repeat(chooser, times)
    row = np.repeat(first[near.ravel()], times) + step
    got = (_matched if people <= MOST_EXACT else _auctioned)(person, row, weight, people, int(first[-1]))
    linked = np.flatnonzero(got >= 0)
    cell = np.searchsorted(first, got[linked], side="right") - 1
    engine.report("one-to-one linkage", len(cell), people)
    left = np.repeat(np.arange(cells), rows.count - np.bincount(cell, minlength=cells))
    if len(linked) == people or not len(left):
        return linked, cell
    others, their = _left_over(rows, np.flatnonzero(got < 0), left)
    return np.concatenate([linked, others]), np.concatenate([cell, their])


def _matched(person: Ints, row: Ints, weight: Floats, people: int, rows: int) -> Ints:
    """(people,) the row that each gets in the best assignment along these edges, as many as can; -1 = none."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    # Whoever goes without a row pays more than all others together could save; an edge of weight 0 would be none.
    without = np.full(people, (weight.max() + 1) * (people + 1))
    ends = np.concatenate([person, np.arange(people)]), np.concatenate([row, rows + np.arange(people)])
    graph = csr_array((np.concatenate([weight + 1, without]), ends), shape=(people, rows + people))
    who, found = min_weight_full_bipartite_matching(graph)
    got = np.full(people, -1, dtype=np.int64)
    got[who] = np.where(found < rows, found, -1)
    return got


def _auctioned(person: Ints, row: Ints, weight: Floats, people: int, rows: int) -> Ints:
    """The same by an auction, in which going without costs twice the largest distance."""
    start = np.searchsorted(person, np.arange(people + 1))
    nearest = np.minimum.reduceat(weight, start[:-1])
    step = STEP * float(nearest.mean()) or STEP * float(weight.max()) or 1.0
    edge, _, ended = auction(start, row, weight, rows, 2 * float(weight.max()) + step, step, MOST_BIDS * people)
    if not ended:
        raise NotApplicable("too many people want the same rows for one-to-one linkage; name more with --known")
    return np.where(edge >= 0, row[edge], -1)


def _left_over(rows: DistinctRows, people: Ints, of_row: Ints) -> tuple[Ints, Ints]:
    """Whoever got no near row, and the rows that are left: the best assignment, or where they are many none."""
    if len(people) * len(of_row) > MOST_PAIRS and len(rows.own) > MOST_EXACT:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return _all_pairs(rows, people, of_row)


def _links(rows: DistinctRows, cell: NDArray[np.int64], distance: Floats) -> Links:
    """Equal people have their rows in any order, and so do equal rows."""
    kind = row_numbers([d.person for d in rows.distances])
    alike = np.bincount(kind)[kind]
    size = np.where(cell >= 0, rows.count[cell], 0)
    key, number = np.unique(kind * (len(rows.count) + 1) + cell + 1, return_inverse=True)
    times = np.append(np.bincount(number), 0)
    mine = kind * (len(rows.count) + 1) + rows.own + 1
    place = np.minimum(np.searchsorted(key, mine), len(key) - 1)
    got = np.where((key[place] == mine) & (rows.own >= 0), times[place], 0)
    chance = got / alike / np.maximum(rows.count[rows.own], 1) if rows.known else None
    row = np.where(cell >= 0, rows.first[cell], -1)
    return Links(row, size, np.sqrt(distance), (size == 1) & (alike == 1), chance)

"""Learned distances of large files: learned from each person's nearest rows, judged against all rows.

Only rows that are nearer than the own one lose a person. So parameters are learned from rows that were near under some
distances; rows that are near under what was learned are added, and it is learned again. What is learned may be less
than the best. What is said of it is exact: every row is compared, through a k-d tree where the distance is one of
points (weighted mean, bilinear form of single numbers), else pair by pair in blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import row_numbers
from unveil.engine import Engine
from unveil.errors import NotApplicable, Stopped
from unveil.risk.linkage.aggregates import Aggregate, aggregate_named
from unveil.risk.linkage.attribute_distances import SCALES, AttributeDistance
from unveil.risk.linkage.distance import on_best_scale
from unveil.risk.linkage.links import CLOSE, Links
from unveil.risk.linkage.nearest import between, pair_contributions
from unveil.risk.linkage.pairs import MOST_ENTRIES, Pairs, all_pairs, check_weighable, signed_pairs
from unveil.risk.linkage.published import Published, attribute_distance
from unveil.risk.linkage.register import Register
from unveil.risk.linkage.supervised import LearnedDistance, compare_own, learn_distance, links_with, worst_case

__all__ = ["DistinctRows", "distinct_rows_of", "link_by_parameters", "worst_links"]

NEAR, SIDE = 10, 3  # rows that are kept of each person: by the plain distance and by each learned one, and by others
ROUNDS = 2  # of learning and adding rows
MOST_LEARNED = 4_000_000  # entries of what is learned from; of more people a sample
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class DistinctRows:
    """People and the distinct published rows, ready to be compared."""

    distances: tuple[AttributeDistance, ...]  # people against distinct rows
    count: NDArray[np.int64]  # (distinct rows,) rows that are alike
    first: NDArray[np.int64]  # (distinct rows,) the first of them
    own: NDArray[np.int64]  # (people,) each one's own, -1 = not published, or not known
    known: bool  # whether it is known whose row is whose

    @property
    def points(self) -> bool:
        """Whether every comparison is one of two numbers."""
        return all(one.points for one in self.distances)

    def between(self, people: NDArray[np.integer], rows: NDArray[np.integer]) -> Floats:
        """(pairs,) the plain distance of each person from the distinct row beside them, squared."""
        return between(self.distances, people, rows)

    def take(self, people: NDArray[np.integer], rows: NDArray[np.integer] | None = None) -> Pairs:
        """Contributions of some people: with all rows, or with their own and `rows` (people, some), the own first."""
        names = tuple(one.name for one in self.distances)
        if rows is None:
            some = [one.take(people) for one in self.distances]
            squared = np.stack([pair_contributions(one) for one in some], axis=2)
            return Pairs(names, squared, signed_pairs(some), self.own[people])
        own = self.own[people][:, None]
        # A second own row would look like a tie: another stands in for it, near or not.
        rows = np.where(rows == own, (own + 1) % len(self.count), rows)
        wanted = np.concatenate([own, rows], axis=1)
        who = np.repeat(people, wanted.shape[1])
        squared = np.stack([between([d], who, wanted.ravel()).reshape(wanted.shape) for d in self.distances], axis=2)
        signed = None
        if self.points:
            parts = [
                (d.known[0][d.person[people]][:, None] - d.published[0][d.row[wanted]])  # type: ignore[index]
                for d in self.distances
            ]
            signed = np.stack(parts, axis=2)
        return Pairs(names, squared, signed, np.zeros(len(people), dtype=np.int64))


def distinct_rows_of(published: Published, register: Register) -> DistinctRows:
    """Compare equal rows once."""
    distances = [attribute_distance(published, a, register.known[a.name]) for a in published.attributes]
    number = row_numbers([one.row for one in distances])
    first = np.unique(number, return_index=True)[1]
    count = np.bincount(number, weights=published.count).astype(np.int64)
    own = published.true_rows(register)
    mine = np.full(register.people, -1) if own is None else np.where(own >= 0, number[np.maximum(own, 0)], -1)
    few = tuple(replace(one, row=one.row[first]) for one in distances)
    return DistinctRows(few, count, first, mine, own is not None)


def worst_links(
    published: Published,
    held: Register,
    aggregate: str = "weighted_mean",
    *,
    certified: bool = False,
    seconds: float | None = None,
    engine: Engine | None = None,
    most: int = MOST_ENTRIES,
) -> tuple[LearnedDistance, Links]:
    """Learn the worst distance, as `worst_case`, and link everybody by it; of files of any size.

    Up to `most` people · rows · attributes all pairs are learned from.
    """
    engine = Engine(seed=0) if engine is None else engine
    check_weighable(published, held)
    # A bilinear form needs numbers.
    published = on_best_scale(published, held, SCALES[:3] if aggregate == "bilinear" else SCALES, engine)
    if held.people * published.rows * len(published.attributes) <= most:
        pairs = all_pairs(published, held)
        found = worst_case(pairs, aggregate, certified=certified, seconds=seconds, engine=engine)
        return found, links_with(pairs, aggregate, found.parameters)
    if certified:
        raise NotApplicable("a bound can only be proven for up to 120 people; link fewer people")
    cells = distinct_rows_of(published, held)
    family = aggregate_named(aggregate)
    attributes = len(cells.distances)
    plain = family.equal(attributes)
    learned, near = _learned(cells, family, np.arange(held.people), None, engine)
    half = engine.named("supervised split").generator().permutation(held.people)[: (held.people + 1) // 2]
    train = np.zeros(held.people, dtype=bool)
    train[half] = True
    by_half, _ = _learned(cells, family, np.flatnonzero(train), near[train], engine)
    judged = link_by_parameters(cells, family, [plain, learned, by_half], 1, engine)
    chance = [links.chance for links, _ in judged]
    better = chance[1].sum() >= chance[0].sum()  # type: ignore[union-attr]
    best, parameters = (judged[1][0], learned) if better else (judged[0][0], plain)
    there = train & (cells.own >= 0), ~train & (cells.own >= 0)
    shares = [float(c[who].mean()) for c, who in ((chance[2], there[0]), (chance[2], there[1]), (chance[0], there[1]))]  # type: ignore[index]
    plain_share, share = (float(one.mean()) for one in (chance[0], best.chance))  # type: ignore[union-attr]
    names = tuple(axis.name for axis in cells.distances)
    return LearnedDistance(aggregate, names, parameters, held.people, plain_share, share, None, *shares), best


def _learned(
    cells: DistinctRows, family: Aggregate, people: NDArray[np.int64], near: NDArray[np.int64] | None, engine: Engine
) -> tuple[Floats, NDArray[np.int64]]:
    """Parameters, and the rows (everybody asked for, some) that were near under any distance tried."""
    attributes = len(cells.distances)
    plain = family.equal(attributes)
    size = len(plain)
    mine = people[cells.own[people] >= 0]
    if not len(mine):
        raise NotApplicable("none of these people is published, so there is nothing to learn from")
    if near is None:
        corners = family.corners(attributes)[: 2 * attributes]
        sides = [plain, *((plain + corner) / 2 for corner in corners)]
        seen = link_by_parameters(cells, family, sides, NEAR, engine)
        near = np.concatenate([seen[0][1], *(one[:, :SIDE] for _, one in seen[1:])], axis=1)
        near = near[people]
    place = np.searchsorted(people, mine)
    width = near.shape[1] + NEAR * ROUNDS
    fits = max(1, MOST_LEARNED // (width * max(size, attributes)))
    chosen = np.arange(len(mine))
    if len(mine) > fits:
        chosen = np.sort(engine.named("learned from").generator().choice(len(mine), fits, replace=False))
    rows = near[place[chosen]]
    alike = cells.count[cells.own[mine[chosen]]]
    parameters = plain
    for number in range(ROUNDS + 1):
        pairs = cells.take(mine[chosen], rows)
        found = compare_own(pairs, family)
        found = replace(found, worth=found.worth / alike)
        parameters = learn_distance(found, family, engine)
        engine.report("learning the worst distance", number + 1, ROUNDS + 1)
        if number < ROUNDS:
            seen = link_by_parameters(cells, family, [parameters], NEAR, engine, people=mine[chosen])
            rows = np.concatenate([rows, seen[0][1]], axis=1)
    return parameters, near


def link_by_parameters(
    cells: DistinctRows,
    family: Aggregate,
    vectors: Sequence[Floats],
    keep: int,
    engine: Engine,
    *,
    people: NDArray[np.int64] | None = None,
) -> list[tuple[Links, NDArray[np.int64]]]:
    """Everybody (or these people) against all rows, by several distances: exact links and `keep` nearest rows."""
    who = np.arange(len(cells.own)) if people is None else people
    keep = min(keep, len(cells.count))
    rooted = [family.root(p, len(cells.distances)) for p in vectors]
    if cells.points and all(root is not None for root in rooted):
        return [_by_tree(cells, root, keep, who) for root in rooted if root is not None]
    step = max(1, MOST_ENTRIES // (len(cells.count) * max(len(cells.distances), len(vectors[0]))))
    parts: list[list[tuple[NDArray[Any], ...]]] = [[] for _ in vectors]
    for begin in range(0, len(who), step):
        if engine.stop.is_set():
            raise Stopped("stopped before all pairs were compared; there is no result")
        pairs = cells.take(who[begin : begin + step])
        features = family.features(pairs)
        for part, vector in zip(parts, vectors, strict=True):
            part.append(_nearest(features @ vector, pairs.own, cells.count, keep))
        engine.report("all pairs", min(begin + step, len(who)), len(who))
    return [_judged(cells, *(np.concatenate(one) for one in zip(*part, strict=True))) for part in parts]


def _nearest(
    distance: Floats, own: NDArray[np.int64], count: NDArray[np.int64], keep: int
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64], NDArray[np.bool_]]:
    """The nearest cells, how near, how many rows are as near, and whether the own is among them."""
    near = np.argpartition(distance, min(keep, distance.shape[1]) - 1, axis=1)[:, :keep]
    order = np.argsort(np.take_along_axis(distance, near, 1), axis=1, kind="stable")
    near = np.take_along_axis(near, order, 1)
    least = distance.min(axis=1)
    tied = distance <= least[:, None] + CLOSE
    right = (own >= 0) & tied[np.arange(len(own)), own]
    return near, least, tied @ count, right


def _by_tree(cells: DistinctRows, root: Floats, keep: int, who: NDArray[np.int64]) -> tuple[Links, NDArray[np.int64]]:
    """Distances s' Q s, Q = root root': Euclidean ones of s' root."""
    from scipy.spatial import KDTree

    axes = cells.distances
    held = np.stack([a.known[0][a.person[who]] for a in axes if a.known is not None], axis=1) @ root
    shown = np.stack([a.published[0][a.row] for a in axes if a.published is not None], axis=1) @ root
    tree = KDTree(shown)
    far, near = tree.query(held, k=max(keep, 2) if len(shown) > 1 else 1)
    far, near = far.reshape(len(who), -1), near.reshape(len(who), -1)
    least = far[:, 0] ** 2
    own = cells.own[who]
    mine = ((held - shown[np.maximum(own, 0)]) ** 2).sum(axis=1)
    right = (own >= 0) & (mine <= least + CLOSE)
    rows = cells.count[near[:, 0]].copy()
    if far.shape[1] > 1:
        tied = np.flatnonzero(far[:, 1] ** 2 <= least + CLOSE)
        around = tree.query_ball_point(held[tied], np.sqrt(least[tied] + CLOSE) * (1 + 1e-12))
        rows[tied] = [int(cells.count[cell].sum()) for cell in around]
    return _judged(cells, near[:, :keep].astype(np.int64), least, rows, right)


def _judged(
    cells: DistinctRows, near: NDArray[np.int64], least: Floats, rows: NDArray[np.int64], right: NDArray[np.bool_]
) -> tuple[Links, NDArray[np.int64]]:
    score = np.sqrt(np.maximum(least, 0.0))
    links = Links(cells.first[near[:, 0]], rows, score, rows == 1, np.where(right, 1 / rows, 0.0))
    return links, near

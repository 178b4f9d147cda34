"""Supervised distances: the parameters with which most people are linked rightly, the worst case (Torra 2024).

An auditor knows the true links and seeks the distance C_p that links most people. What is found is an attack that
exists; `bound`, where it is asked for, is what no parameters of the family exceed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.linkage.aggregates import Aggregate, aggregate_named
from unveil.risk.linkage.certificate import MARGIN, Certificate, certify
from unveil.risk.linkage.links import CLOSE, Links, nearest_links
from unveil.risk.linkage.pairs import Pairs

__all__ = [
    "LearnedDistance",
    "OwnRowGaps",
    "compare_own",
    "learn_distance",
    "links_by",
    "links_with",
    "prove",
    "worst_case",
]

DIRECTIONS = 100  # lines searched from a start
STARTS, SHARPER, SEARCHED = 3, 3, 2  # climbs from anywhere, each three times sharper; starts whose lines are searched
ROUNDS, CONTESTED, NODES, STEPS = 2, 20, 50, 8  # exchanges, people of each sort in one, and its program's limits
BUDGET = 2e9  # entries looked at, about, for more than one start
MOST_CERTIFIED = 120  # people; above that a proof is out of reach
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OwnRowGaps:
    """Every other row against the own one: parameters p link person i where gap[i, j] · p > 0 for all j."""

    pairs: Pairs  # of those who have a row
    features: Floats  # (people, rows, parameters)
    gap: Floats  # (people, rows, parameters) features less those of the own row
    other: NDArray[np.bool_]  # (people, rows) rows that some parameters tell from the own one
    worth: Floats  # (people,) one over the rows that no parameters tell apart


@dataclass(frozen=True, slots=True, eq=False)
class LearnedDistance:
    """What learned parameters do. Shares are Reid: of all people, a tie counting one over its rows."""

    aggregate: str
    attributes: tuple[str, ...]
    parameters: Floats
    people: int
    plain: float  # Reid of the plain distance
    reid: float  # Reid of the parameters learned from everybody: the worst case
    bound: float | None  # Reid that no parameters exceed, links by less than MARGIN left out; None = not asked
    trained: float  # learned from one half of the people: Reid of that half
    tested: float  # … and of the other half
    tested_plain: float  # Reid of the plain distance on the other half


def compare_own(pairs: Pairs, aggregate: Aggregate) -> OwnRowGaps:
    """Leave out who has no row; find rows that are like the own one whatever the parameters."""
    there = np.flatnonzero(pairs.own >= 0)
    if not len(there):
        raise NotApplicable("none of these people is published, so there is nothing to learn from")
    pairs = pairs.some(there)
    features = aggregate.features(pairs)
    gap = features - features[np.arange(len(there)), pairs.own][:, None, :]
    other = np.abs(gap).max(axis=2) > CLOSE
    return OwnRowGaps(pairs, features, gap, other, 1 / (~other).sum(axis=1))


def links_by(found: OwnRowGaps, parameters: Floats) -> Floats:
    """(people,) the chance that each one's link is right: 1 / ties where the own row is among the nearest."""
    gap = found.gap @ parameters
    right = (gap >= -CLOSE).all(axis=1)
    return np.where(right, 1 / np.maximum((gap <= CLOSE).sum(axis=1), 1), 0.0)


def links_with(pairs: Pairs, aggregate: str, parameters: Floats) -> Links:
    """Everybody linked by the distance of these parameters."""
    return nearest_links(aggregate_named(aggregate).features(pairs) @ parameters, pairs.own)


def learn_distance(found: OwnRowGaps, aggregate: Aggregate, engine: Engine | None = None) -> Floats:
    """Conditional logit, then the expected right links of a softmax, sharper and sharper, then lines, each exactly.

    Several starts where that is cheap. Cost: people · rows · parameters, some hundred times. The plain distance is kept
    where nothing is better.
    """
    engine = Engine(seed=0) if engine is None else engine
    return _contested(found, aggregate, _by_search(found, aggregate, engine))


def _by_search(found: OwnRowGaps, aggregate: Aggregate, engine: Engine) -> Floats:
    """The best of climbs and lines."""
    random = engine.named("supervised").generator()
    attributes = found.pairs.squared.shape[2]
    plain = aggregate.equal(attributes)
    starts = [plain, *_climbed(found, aggregate, attributes, random)]
    for inner in aggregate.holds:  # what a smaller family finds is a start for the larger one
        narrow = aggregate_named(inner)
        start = _by_search(_as(found, narrow), narrow, engine)
        starts.append(aggregate.widened(inner, start, attributes))
    ranked = sorted(starts, key=lambda p: (_linked(found, p), links_by(found, p).sum()), reverse=True)
    tried = 1 + int(BUDGET // max(found.gap.size * DIRECTIONS, 1))
    searched = [_searched(found, aggregate, start, random) for start in ranked[: min(tried, SEARCHED)]]
    return max((*searched, *starts), key=lambda p: links_by(found, p).sum())


def _contested(found: OwnRowGaps, aggregate: Aggregate, best: Floats) -> Floats:
    """Give people up for others: of those nearest to being linked, or lost, the best set that keeps all other links.

    A mixed integer program of few people at a time (see `certify`), which ends early; what it finds is only kept if it
    links more. Of small files, as proofs are.
    """
    attributes = found.pairs.squared.shape[2]
    own = found.features[np.arange(len(found.worth)), found.pairs.own]
    for _ in range(ROUNDS if len(found.worth) <= MOST_CERTIFIED else 0):
        spare = np.where(found.other, found.gap @ best, np.inf).min(axis=1) - MARGIN
        order = np.argsort(np.abs(spare), kind="stable")
        free = np.concatenate([order[spare[order] < 0][:CONTESTED], order[spare[order] >= 0][:CONTESTED]])
        kept = np.setdiff1d(np.flatnonzero(spare >= 0), free)
        some = np.concatenate([free, kept])
        worth = np.where(np.arange(len(some)) < len(free), found.worth[some], 1000.0)
        part = _some(found, some)
        reach = aggregate.reach(part.pairs, part.features, own[some])
        try:
            proof = certify(
                part.gap, part.other, worth, reach, aggregate, attributes, start=best, nodes=NODES, steps=STEPS
            )
        except NotApplicable:  # beyond the solver's precision
            break
        if links_by(found, proof.parameters).sum() <= links_by(found, best).sum():
            break
        best = proof.parameters
    return best


def _searched(found: OwnRowGaps, aggregate: Aggregate, best: Floats, random: np.random.Generator) -> Floats:
    """Lines through the best parameters so far: to corners, to any others, to near ones."""
    attributes = found.pairs.squared.shape[2]
    corners = aggregate.corners(attributes)
    for step in range(DIRECTIONS):
        kind = step % 3
        if step < len(corners) or kind == 0:
            goal = corners[step % len(corners) if step < len(corners) else int(random.integers(len(corners)))]
        elif kind == 1:
            goal = aggregate.draw(attributes, random)
        else:  # near by, and farther and farther
            width = best.max() * 4.0 ** -random.integers(0, 4)
            goal = aggregate.nearest(best + random.normal(size=len(best)) * width, attributes)
        moved = _along(found, best, goal)
        if moved is not None:
            best = moved
    return best


def worst_case(
    pairs: Pairs,
    aggregate: str = "weighted_mean",
    *,
    certified: bool = False,
    seconds: float | None = None,
    engine: Engine | None = None,
) -> LearnedDistance:
    """Learn from everybody, and from one half of the people to see on the other what is not overfitting.

    `certified`: prove a bound by mixed integer programming, of small files, for `seconds` at most.
    """
    engine = Engine(seed=0) if engine is None else engine
    family = aggregate_named(aggregate)
    everybody = compare_own(pairs, family)
    people = len(everybody.worth)
    share = people / len(pairs.own)
    attributes = pairs.squared.shape[2]
    plain = family.equal(attributes)
    learned = learn_distance(everybody, family, engine)
    bound = None
    if certified:
        proof = prove(everybody, family, start=learned, seconds=seconds)
        bound = proof.most / len(pairs.own)
        if links_by(everybody, proof.parameters).sum() > links_by(everybody, learned).sum():
            learned = proof.parameters
    order = engine.named("supervised split").generator().permutation(people)
    train, test = (np.sort(part) for part in (order[: (people + 1) // 2], order[(people + 1) // 2 :]))
    half = _some(everybody, train)
    by_half = learn_distance(half, family, engine)
    rest = _some(everybody, test)
    return LearnedDistance(
        aggregate,
        pairs.names,
        learned,
        len(pairs.own),
        float(links_by(everybody, plain).mean()) * share,
        float(links_by(everybody, learned).mean()) * share,
        bound,
        _mean(links_by(half, by_half)),
        _mean(links_by(rest, by_half)),
        _mean(links_by(rest, plain)),
    )


def prove(
    found: OwnRowGaps,
    aggregate: Aggregate,
    *,
    start: Floats | None = None,
    nodes: int = 20_000,
    seconds: float | None = None,
) -> Certificate:
    """The most right links that any parameters give, in units of people; `start`: parameters known to be good."""
    if len(found.worth) > MOST_CERTIFIED:
        raise NotApplicable(
            f"a bound can only be proven for up to {MOST_CERTIFIED} people, not {len(found.worth):,}; link fewer people"
        )
    own = found.features[np.arange(len(found.worth)), found.pairs.own]
    reach = aggregate.reach(found.pairs, found.features, own)
    attributes = found.pairs.squared.shape[2]
    return certify(
        found.gap,
        found.other,
        found.worth,
        reach,
        aggregate,
        attributes,
        start=start,
        nodes=nodes,
        seconds=seconds,
    )


def _as(found: OwnRowGaps, aggregate: Aggregate) -> OwnRowGaps:
    return compare_own(found.pairs, aggregate)


def _some(found: OwnRowGaps, people: NDArray[np.integer]) -> OwnRowGaps:
    parts = (found.features[people], found.gap[people], found.other[people], found.worth[people])
    return OwnRowGaps(found.pairs.some(people), *parts)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _linked(found: OwnRowGaps, parameters: Floats) -> float:
    """Worth of the people whose own row is nearer, by MARGIN, than every row that can be told from it."""
    beaten = ((found.gap @ parameters < MARGIN) & found.other).any(axis=1)
    return float(found.worth[~beaten].sum())


def _climbed(found: OwnRowGaps, aggregate: Aggregate, attributes: int, random: np.random.Generator) -> list[Floats]:
    """Parameters under which softmax(-distance) gives the own rows most chance.

    First the sum of the log chances (McFadden 1974), which is concave; it cares for people who are lost anyway. Then
    the sum of the chances, Reid of that softmax, from there and from anywhere; with growing parameters the chances
    become links.
    """
    from scipy.optimize import minimize

    first, least = aggregate.free(attributes)
    bounds = None if least is None else [(least, None)] * len(first)
    people = len(found.worth)

    def loss(free: Floats, logs: bool) -> tuple[float, Floats]:
        score = -(found.gap @ aggregate.from_free(free, attributes))
        top = np.maximum(score.max(axis=1, keepdims=True), 0.0)
        chance = np.exp(score - top)
        total = chance.sum(axis=1, keepdims=True)
        chance /= total
        own = np.exp(-top) / total
        slope = -np.einsum("ij,ijk->k", chance if logs else chance * own, found.gap) / people
        value = float((np.log(total) + top).sum() if logs else -own.sum()) / people
        return value, aggregate.slope(free, slope, attributes)

    def climb(start: Floats, logs: bool) -> Floats:
        options = {"maxiter": 200 if logs else 60}
        return np.asarray(
            minimize(loss, start, args=(logs,), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        )

    reached = climb(first, True)
    found_here = [reached]
    starts = [reached]
    for _ in range(min(int(BUDGET // max(found.gap.size * 500, 1)), STARTS)):
        drawn = random.normal(size=len(first)) * np.sqrt(np.mean(reached**2) + 1e-12)
        starts.append(drawn if least is None else np.abs(drawn) + least)
    for start in starts:
        here = start
        for _ in range(SHARPER):
            here = climb(here, False)
            found_here.append(here)
            here = here * aggregate.sharper
    return [aggregate.nearest(aggregate.from_free(free, attributes), attributes) for free in found_here]


def _along(found: OwnRowGaps, here: Floats, goal: Floats) -> Floats | None:
    """The best parameters between two, exactly; None if they are no better than `here`.

    Each person is linked on an interval of the line; the best point is where most worth overlaps, and of equally good
    stretches the middle of the longest.
    """
    base, slope = found.gap @ here - MARGIN, found.gap @ (goal - here)
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = -base / slope
    rising, falling, level = slope > CLOSE, slope < -CLOSE, np.abs(slope) <= CLOSE
    low = np.where(rising & found.other, zero, 0.0).max(axis=1)
    high = np.where(falling & found.other, zero, 1.0).min(axis=1)
    never = (level & found.other & (base < 0)).any(axis=1)
    low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    kept = np.flatnonzero(~never & (low < high))
    if not len(kept):
        return None
    place = np.unique(np.concatenate([low[kept], high[kept]]))
    gain = np.zeros(len(place))
    np.add.at(gain, np.searchsorted(place, low[kept]), found.worth[kept])
    np.add.at(gain, np.searchsorted(place, high[kept]), -found.worth[kept])
    linked = np.cumsum(gain)[:-1]
    best = np.flatnonzero(linked >= linked.max() - CLOSE)
    widest = best[np.diff(place)[best].argmax()]
    at = (place[widest] + place[widest + 1]) / 2
    moved = here + at * (goal - here)
    return moved if _linked(found, moved) >= _linked(found, here) else None

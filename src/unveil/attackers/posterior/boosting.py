"""p(s | x) by gradient boosting on the likelihood of groups, cross-fitted: a group's rows are never asked of a model
that has seen the group.

The objective is the sum over groups of the log of the mean over all matchings of prod p(s_j | x_i): for row i the
gradient is p_i - m_i, m the group's matching marginals under the current model. What is chosen (depth, rounds,
temperature, the weight of naive Bayes beside it) is chosen by that likelihood of groups the models have not seen.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.bags import Bag, Matched, ValueColumns
from unveil.engine import Engine
from unveil.errors import Stopped
from unveil.kernels import boosting as kernels

__all__ = ["FEW_ROWS", "BagModel", "Settings", "fit_bag"]

FIT_STATES = 512  # of groups that are matched exactly while models are fitted
LEAST_FOLDS, MOST_FOLDS, FEW_ROWS = 5, 10, 5000
RATE, RIDGE, LEAST_WEIGHT = 0.2, 10.0, 10.0
POINTS_KEPT, ATTRIBUTES_KEPT = 0.8, 0.7  # of each tree
DEPTHS = (3, 2, 5)
TRYING = 0.35  # of the time goes into choosing the depth
EVERY = 10  # rounds between looks at what was held out
PATIENCE = 30  # rounds without a better look
LONGER = 1.4  # the other folds may go on for so much longer than the first did
BAYES_STEPS, BAYES_COUNT = 12, 1.0
MIXED = np.linspace(0.0, 1.0, 11)
TEMPERATURES = np.round(np.geomspace(0.35, 2.5, 15), 3)
WELL_TEMPERED = 0.8, 1.25
FEW_GROUPS, SURE = 10, 2.0  # standard errors by which held-out groups must be predicted better than by chance

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Settings:
    """How models are fitted."""

    folds: int = 0  # 0: 5, or 10 below 5,000 rows
    rounds: int = 300  # at most
    repeats: int = 0  # with groups weighed at random, for intervals
    most_rows: int = 100_000  # of the groups, drawn at random, that models are fitted to

    def folds_of(self, groups: int, rows: int) -> int:
        """As many as asked for, at most one a group."""
        return min(self.folds or (MOST_FOLDS if rows < FEW_ROWS else LEAST_FOLDS), groups)


@dataclass(slots=True, eq=False)
class Forest:
    """Trees of one depth, each complete; see kernels.boosting."""

    depth: int
    attribute: list[NDArray[np.int16]] = field(default_factory=list)  # by tree: (nodes,)
    left: list[NDArray[np.bool_]] = field(default_factory=list)  # (nodes, bins)
    leaf: list[Floats] = field(default_factory=list)  # (nodes, values)

    def add_to(self, score: Floats, points: NDArray[np.uint8], rounds: int) -> None:
        """Add what the first trees say of each point."""
        for tree in range(min(rounds, len(self.attribute))):
            kernels.add_tree(points, self.attribute[tree], self.left[tree], self.leaf[tree], score)


@dataclass(frozen=True, slots=True, eq=False)
class BagModel:
    """What was fitted to one bag, fold by fold, and what the group likelihood of held-out groups chose."""

    bag: Bag
    columns: ValueColumns
    fold: Ints  # (groups,)
    start: Floats  # (folds, values) log shares of the values in the groups that each model has seen
    forests: tuple[Forest, ...]  # by fold
    bayes: tuple[Floats, ...]  # by fold: (all bins, values) log shares of naive Bayes
    rounds: int
    mixed: float  # the weight of naive Bayes
    temperature: float  # estimated
    score: float  # mean over groups: log of the mean over matchings of prod p(s | x) / p(s)
    bayes_score: float  # the same of naive Bayes alone

    @property
    def learned(self) -> bool:
        """Whether anything was learned that tells people apart."""
        return self.rounds > 0 or self.mixed > 0

    @property
    def tempered(self) -> float:
        """The temperature that is applied: 1 unless the estimate lies outside [.8, 1.25]."""
        return 1.0 if WELL_TEMPERED[0] <= self.temperature <= WELL_TEMPERED[1] else self.temperature

    def predict(self, points: NDArray[np.uint8], fold: int) -> Floats:
        """(points, values) p(s | x) by the model that has not seen this fold."""
        found = self.boosted(points, fold)
        if self.mixed > 0:
            found = (1 - self.mixed) * found + self.mixed * self.naive(points, fold)
        return self.heated(found, self.tempered)

    def boosted(self, points: NDArray[np.uint8], fold: int) -> Floats:
        """(points, values) by boosting alone."""
        score = np.tile(self.start[fold], (len(points), 1))
        self.forests[fold].add_to(score, points, self.rounds)
        kernels.softmax(score, score)
        return score

    def naive(self, points: NDArray[np.uint8], fold: int) -> Floats:
        """(points, values) by naive Bayes alone."""
        return _naive(points, self.bag, self.start[fold], self.bayes[fold])

    def heated(self, p: Floats, power: float) -> Floats:
        """share · (p / share) ^ power, as distributions."""
        if power == 1.0:
            return p
        found = self.columns.share * (np.maximum(p, 1e-12) / self.columns.share) ** power
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def held_out(self) -> float:
        """The score of these models as they are, without choosing."""
        bag, groups = self.bag, np.arange(len(self.fold))
        rows = np.arange(len(bag.count))
        matched = None if bag.linked else Matched.of(self.columns, bag.first, bag.count, groups, rows, FIT_STATES)
        return float(_scores(bag, self.columns, matched, self.of_entries(), bag.group, len(groups)).mean())

    def of_entries(self) -> Floats:
        """(entries, values) of each entry by the model that has not seen its group."""
        return _by_fold(self.bag, self.fold, len(self.forests), self.predict)


def fit_bag(
    bag: Bag,
    columns: ValueColumns,
    fold: Ints,
    settings: Settings,
    engine: Engine,
    times: Floats | None = None,
    like: BagModel | None = None,
) -> BagModel:
    """Cross-fit, then choose. `times` (groups,): how often each group counts. `like`: whose choices are taken over."""
    _go_on(engine)
    folds = int(fold.max(initial=0)) + 1
    weight = np.ones(len(fold)) if times is None else times
    start = np.stack([np.log(columns.shares(weight * (fold != f))) for f in range(folds)])
    if folds < 2:
        flat = np.zeros((int(bag.bins.place[-1]), columns.values))
        return BagModel(bag, columns, fold, start, (Forest(1),), (flat,), 0, 0.0, 1.0, 0.0, 0.0)
    fits = [_Fit.of(bag, columns, fold == f, start[f], weight, engine.named(f"fold {f}")) for f in range(folds)]
    if like is not None:
        depth, most = like.forests[0].depth, like.rounds
    else:
        step = TRYING / len(DEPTHS)
        tried = [
            fits[0].boost(depth, settings.rounds, engine.part("", step * place, step * (place + 1)))
            for place, depth in enumerate(DEPTHS)
        ]
        _go_on(engine)
        best = max(tried, key=lambda one: max(one.path))
        depth = best.forest.depth
        most = min(int(LONGER * EVERY * int(np.argmax(best.path))) + EVERY, settings.rounds) if max(best.path) else 0
    with ThreadPoolExecutor(max(min(engine.workers, folds), 1)) as pool:
        own = engine.part("", TRYING if like is None else 0.0).abreast(folds)
        shape = {"patient": True, "judged": like is None}
        paths = list(pool.map(lambda one, engine: one.boost(depth, most, engine, **shape), fits, own))
    _go_on(engine)
    looks = max(len(one.path) for one in paths)
    total = [sum(one.path[min(look, len(one.path) - 1)] for one in paths) for look in range(looks)]
    rounds = int(np.argmax(total)) * EVERY if like is None else like.rounds
    model = BagModel(bag, columns, fold, start, tuple(p.forest for p in paths), (), rounds, 0.0, 1.0, 0.0, 0.0)
    needed = range(folds) if like is None or like.mixed else ()  # naive Bayes that has no say is not fitted
    with ThreadPoolExecutor(max(min(engine.workers, folds), 1)) as pool:
        bayes = list(pool.map(lambda f: fits[f].bayes(model.boosted(bag.points, f)), needed))
    model = replace(model, bayes=tuple(bayes))
    if like is not None:
        return replace(model, mixed=like.mixed, temperature=like.temperature)
    return _chosen(model, columns)


def _go_on(engine: Engine) -> None:
    """Models that were cut short say less than they could: none are better."""
    if engine.stop.is_set():
        raise Stopped("stopped before boosting had finished learning")


def _chosen(model: BagModel, columns: ValueColumns) -> BagModel:
    """The weight of naive Bayes, then the temperature, by held-out groups; nothing if they do not bear it out."""
    bag, folds = model.bag, len(model.forests)
    groups = np.arange(len(model.fold))
    matched = (
        None if bag.linked else Matched.of(columns, bag.first, bag.count, groups, np.arange(len(bag.count)), FIT_STATES)
    )
    boosted, naive = (_by_fold(bag, model.fold, folds, by) for by in (model.boosted, model.naive))

    def score(p: Floats) -> Floats:
        return _scores(bag, columns, matched, p, bag.group, len(groups))

    found = [score((1 - w) * boosted + w * naive) for w in MIXED]
    best = int(np.argmax([each.mean() for each in found]))
    chosen = replace(model, bayes_score=float(found[-1].mean()))
    if not _borne_out(found[best]):
        return replace(chosen, rounds=0)
    pooled = (1 - MIXED[best]) * boosted + MIXED[best] * naive
    heated = [float(score(model.heated(pooled, t)).mean()) for t in TEMPERATURES]
    better = max(heated) > float(found[best].mean())
    temperature = float(TEMPERATURES[int(np.argmax(heated))]) if better else 1.0
    chosen = replace(chosen, mixed=float(MIXED[best]), temperature=temperature)
    return replace(chosen, score=float(score(model.heated(pooled, chosen.tempered)).mean()))


def _borne_out(each: Floats) -> bool:
    """Whether groups that were held out are predicted better than by chance, beyond the error of their mean."""
    return len(each) >= FEW_GROUPS and float(each.mean()) > SURE * float(each.std(ddof=1)) / len(each) ** 0.5


def _by_fold(bag: Bag, fold: Ints, folds: int, predict: Any) -> Floats:
    """(entries, values) each by the model of its group's fold."""
    of_entry = fold[bag.group]
    found: Floats | None = None
    for f in range(folds):
        mine = np.flatnonzero(of_entry == f)
        start, stop = bag.point_start[mine], bag.point_start[mine + 1]
        length = stop - start
        first = np.concatenate([[0], np.cumsum(length)])
        item = np.repeat(start - first[:-1], length) + np.arange(int(first[-1]))
        distinct, place = np.unique(bag.point[item], return_inverse=True)
        p = predict(np.ascontiguousarray(bag.points[distinct]), f)[place]
        if not bag.exact:
            p = np.add.reduceat(p, first[:-1], axis=0) / length[:, None]
        if found is None:
            found = np.empty((len(bag.count), p.shape[1]))
        found[mine] = p
    assert found is not None
    return found


def _scores(
    bag: Bag, columns: ValueColumns, matched: Matched | None, p: Floats, group: Ints, groups: int
) -> Floats:  # fmt: skip
    """By group: log of the mean over matchings of prod p(s | x) / p(s), from (rows, values). In no certain order."""
    weight = columns.weights(p) / columns.weights(columns.share[None])
    if matched is not None:
        return matched.log_means(weight)
    held = bag.held.tocoo()
    each = held.data * np.log(np.maximum(weight[held.coords[0], held.coords[1]], 1e-300))
    return np.bincount(group[held.coords[0]], weights=each, minlength=groups).astype(np.float64)


def _naive(points: NDArray[np.uint8], bag: Bag, start: Floats, log_share: Floats) -> Floats:
    score = np.tile(start, (len(points), 1))
    for a, first in enumerate(bag.bins.place[:-1].tolist()):
        score += log_share[first + points[:, a].astype(np.int64)]
    kernels.softmax(score, score)
    return score


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    forest: Forest
    path: list[float]  # score of held-out groups after 0, EVERY, 2 · EVERY … rounds


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """One fold: the groups that are learned from, and those that are held out."""

    bag: Bag
    columns: ValueColumns
    start: Floats  # (values,) log shares in the groups learned from
    engine: Engine
    times: Floats  # (groups,) how often each counts; 0 for those held out
    train: Matched | None
    held: Matched | None
    held_entries: Ints
    spread: Any  # (points, rows) sparse; None where rows of weights are points

    @classmethod
    def of(
        cls, bag: Bag, columns: ValueColumns, out: NDArray[np.bool_], start: Floats, times: Floats, engine: Engine
    ) -> "_Fit":
        row = bag.point if bag.exact else np.arange(len(bag.count))
        both: list[Matched | None] = [None, None]
        if not bag.linked:
            both = [Matched.of(columns, bag.first, bag.count, np.flatnonzero(m), row, FIT_STATES) for m in (~out, out)]
        spread = None if bag.exact else bag.spread()
        held = np.flatnonzero(out[bag.group])
        return cls(bag, columns, start, engine, np.where(out, 0.0, times), both[0], both[1], held, spread)

    def expected(self, p: Floats) -> Floats:
        """(points, values) rows of the groups learned from by value, as the model p (points, values) expects them."""
        bag, columns = self.bag, self.columns
        if self.train is not None:
            rows = p if bag.exact else bag.mean(p)
            count = columns.in_values(self.train.expected(columns.weights(rows), self.times), rows)
            return count if bag.exact else np.asarray(self.spread @ count)
        rows = bag.mean(p)
        held = bag.held.multiply(self.times[bag.group][:, None]).tocsr()
        count = columns.in_values(held.toarray(), rows)
        return np.asarray((bag.spread() if bag.exact else self.spread) @ count)

    def held_score(self, p: Floats) -> float:
        """Of the groups held out."""
        bag, columns = self.bag, self.columns
        if self.held is not None:
            rows = p if bag.exact else bag.mean(p)
            return float(_scores(bag, columns, self.held, rows, bag.group, 0).sum())
        some = replace(bag, held=bag.held[self.held_entries])
        rows = bag.mean(p)[self.held_entries]
        return float(_scores(some, columns, None, rows, bag.group[self.held_entries], 0).sum())

    def boost(
        self, depth: int, most: int, engine: Engine, *, patient: bool = False, judged: bool = True
    ) -> _Path:  # fmt: skip
        """Trees until held-out groups are predicted no better; `patient`: all rounds. Unless `judged`, nobody looks."""
        bag, columns, bins = self.bag, self.columns, self.bag.bins
        values, attributes = columns.values, len(bag.attributes)
        weight = self._weight()
        counted = np.flatnonzero(weight > 0)
        random = self.engine.generator()
        score = np.tile(self.start, (len(bag.points), 1))
        p = np.empty_like(score)
        kernels.softmax(score, p)
        forest, path = Forest(depth), [self.held_score(p) if judged else 0.0]
        slope = np.empty((len(bag.points), 2 * values), np.float32)
        nodes, widest = (2 << depth) - 1, int(np.diff(bins.place).max())
        fixed = self.expected(p) if bag.linked and not len(columns.allowed) else None
        for tree in range(1, most + 1):
            _go_on(engine)
            count = self.expected(p) if fixed is None else fixed
            kept = counted[random.random(len(counted)) < POINTS_KEPT]
            kernels.slopes(p, weight, count, kept, slope)
            used = np.flatnonzero(random.random(attributes) < ATTRIBUTES_KEPT)
            used = used if len(used) else random.integers(attributes, size=1)
            attribute, left = np.empty(nodes, np.int16), np.zeros((nodes, widest), np.bool_)
            leaf = np.zeros((nodes, values))
            shape = bins.place, bins.ordered, used, slope, kept, depth, RIDGE, LEAST_WEIGHT, RATE
            kernels.grow(bag.points, *shape, attribute, left, leaf)
            kernels.add_tree(bag.points, attribute, left, leaf, score)
            kernels.softmax(score, p)
            forest.attribute.append(attribute)
            forest.left.append(left)
            forest.leaf.append(leaf)
            if tree % EVERY == 0:
                path += [self.held_score(p)] if judged else []
                engine.report("boosting", tree, most)
                late = len(path) - 1 - int(np.argmax(path)) >= PATIENCE // EVERY
                if late and not patient:
                    break
        return _Path(forest, path)

    def _weight(self) -> Floats:
        """(points,) rows that are learned from."""
        bag = self.bag
        rows = bag.count * self.times[bag.group]
        length = np.diff(bag.point_start)
        each = np.repeat(rows / length, length)
        return np.bincount(bag.point, weights=each, minlength=len(bag.points)).astype(np.float64)

    def bayes(self, p: Floats) -> Floats:
        """(all bins, values) log shares by expectation and maximisation, from what boosting expects."""
        bag, columns = self.bag, self.columns
        found = np.zeros((int(bag.bins.place[-1]), columns.values))
        for _ in range(BAYES_STEPS):
            _go_on(self.engine)
            count = np.full(found.shape, BAYES_COUNT)
            kernels.tally(bag.points, bag.bins.place, np.ascontiguousarray(self.expected(p)), count)
            for first, last in zip(bag.bins.place[:-1].tolist(), bag.bins.place[1:].tolist(), strict=True):
                found[first:last] = np.log(count[first:last] / count[first:last].sum(axis=0))
            p = _naive(bag.points, bag, self.start, found)
            if bag.linked and not len(columns.allowed):
                break  # what is expected does not depend on p
        return found

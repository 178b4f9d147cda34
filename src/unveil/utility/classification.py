"""Classifiers trained on a release: how often they are right, on the release and on people who are not in it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.belief import Estimate, t_quantile
from unveil.data.regions import Regions
from unveil.data.release import Block, Release
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError
from unveil.utility._asked import asked_attribute
from unveil.utility.queries import mean_of_draws

__all__ = ["Encoding", "Model", "classification_accuracy", "classification_accuracy_held_out", "random_linkings"]

Encoding = Literal["midpoint", "bounds"]
Model = Literal["naive_bayes", "tree", "pruned_tree", "boosting"]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Released rows as a classifier sees them."""

    features: NDArray[np.float64]  # (rows, columns)
    label: NDArray[np.int64]  # (rows,) code, -1 where it is withheld
    codes: tuple[int, ...]  # (columns,) how many places each feature can take


def classification_accuracy(
    release: Release,
    *,
    target: str | None = None,
    model: Model = "tree",
    encoding: Encoding = "bounds",
    folds: int = 10,
    matchings: int = 5,
    seed: int = 0,
) -> Estimate:
    """Share of the release's own rows whose label a classifier gets right, cross-validated (Li 2010, section 4.5.2).

    Labels are the target's published cells, the sensitive attribute's unless named. Where the link between blocks is
    hidden, it is drawn `matchings` times. The interval is that of the mean over folds.
    """
    from sklearn.model_selection import KFold

    asked = asked_attribute(release, target)
    scores = []
    for rows in _readings(release, asked, encoding, matchings, seed):
        known = np.flatnonzero(rows.label >= 0)
        if not 2 <= folds <= len(known):
            raise UsageError(f"folds = {folds}: choose from 2 to the {len(known)} rows whose label is published")
        split = KFold(folds, shuffle=True, random_state=seed).split(known)
        scores.append([_score(model, rows, known[train], known[test], seed) for train, test in split])
    each = np.mean(scores, axis=0)
    mean, half = float(each.mean()), t_quantile(folds) * float(each.std(ddof=1)) / folds**0.5
    return Estimate(mean, max(mean - half, 0.0), min(mean + half, 1.0))


def classification_accuracy_held_out(
    release: Release,
    held_out: Table,
    *,
    target: str | None = None,
    model: Model = "tree",
    encoding: Encoding = "bounds",
    matchings: int = 5,
    seed: int = 0,
) -> Estimate:
    """Share of people, originals that are not in the release, whose label a classifier trained on it gets right.

    The interval is that of drawing these people.
    """
    asked = asked_attribute(release, target)
    readings = _readings(release, asked, encoding, matchings, seed)
    others = [i for i in range(len(release.attributes)) if i != asked]
    features, _ = _encoded(
        [release.attributes[i] for i in others],
        [Regions.singles(release.attributes[i].codes) for i in others],
        [held_out.column_of(release.attributes[i]).astype(np.int64) for i in others],
        encoding,
    )
    truth = held_out.column_of(release.attributes[asked]).astype(np.int64)
    right = np.zeros(held_out.rows)
    for rows in readings:
        known = np.flatnonzero(rows.label >= 0)
        if not len(known):
            raise NotApplicable(f"the release withholds {release.attributes[asked].name} of every row")
        fitted = _fitted(model, rows.features[known], rows.label[known], rows.codes, seed)
        right += fitted(features) == truth
    found = mean_of_draws(right / len(readings))
    return Estimate(found.value, max(found.low, 0.0), min(found.high, 1.0))


def _readings(release: Release, asked: int, encoding: Encoding, matchings: int, seed: int) -> list[_Rows]:
    """The rows of the release, linked at random where the link is hidden."""
    if matchings < 1:
        raise UsageError(f"matchings = {matchings}: draw the hidden link at least once")
    if len(release.attributes) < 2:
        raise NotApplicable("a classifier needs another attribute beside its target")
    linkings = random_linkings(release, draws=matchings, seed=seed)
    return [_read(release, asked, encoding, region) for region in linkings]


def _read(release: Release, asked: int, encoding: Encoding, region: NDArray[np.int64]) -> _Rows:
    others = [i for i in range(len(release.attributes)) if i != asked]
    features, codes = _encoded(
        [release.attributes[i] for i in others],
        [release.regions[i] for i in others],
        [region[:, i] for i in others],
        encoding,
    )
    return _Rows(features, _labels(release, asked)[region[:, asked]], codes)


def _labels(release: Release, asked: int) -> NDArray[np.int64]:
    """(regions,) the code that stands for a region: the one in its middle; -1 for `*`, which says nothing."""
    attribute, regions = release.attributes[asked], release.regions[asked]
    place = _places(attribute)
    middle = regions.totals(place) / regions.sizes
    label = np.empty(len(regions), dtype=np.int64)
    for number in range(len(regions)):
        members = regions.members(number)
        label[number] = members[np.argmin(np.abs(place[members] - middle[number]))]
    return np.where(regions.whole & (regions.sizes > 1), -1, label)


def _places(attribute: Attribute) -> NDArray[np.float64]:
    """(codes,) where each code lies in the attribute's order; categories as their hierarchy lists them."""
    place = np.arange(attribute.codes, dtype=np.float64)
    if attribute.hierarchy is not None and not attribute.kind.ordered:
        place[attribute.hierarchy.order()] = np.arange(attribute.codes)
    return place


def _encoded(
    attributes: list[Attribute], regions: list[Regions], region: list[NDArray[np.int64]], encoding: Encoding
) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Features of cells: the middle of a region, or its first and its last value (Li 2010, section 4.5.1)."""
    columns, codes = [], []
    for attribute, cells, number in zip(attributes, regions, region, strict=True):
        place = _places(attribute)
        if encoding == "midpoint":
            per_region = [cells.totals(place) / cells.sizes]
        elif encoding == "bounds":
            members = [place[cells.members(r)] for r in range(len(cells))]
            per_region = [np.array([m.min() for m in members]), np.array([m.max() for m in members])]
        else:
            raise UsageError(f"encoding = {encoding!r}: choose midpoint or bounds")
        columns += [values[number] for values in per_region]
        codes += [attribute.codes] * len(per_region)
    return np.stack(columns, axis=1), tuple(codes)


def _score(model: Model, rows: _Rows, train: NDArray[np.int64], test: NDArray[np.int64], seed: int) -> float:
    fitted = _fitted(model, rows.features[train], rows.label[train], rows.codes, seed)
    return float((fitted(rows.features[test]) == rows.label[test]).mean())


def _fitted(
    model: Model, features: NDArray[np.float64], label: NDArray[np.int64], codes: tuple[int, ...], seed: int
) -> Any:
    """A function from features to predicted labels."""
    only = np.unique(label)
    if len(only) == 1:
        return lambda wanted: np.full(len(wanted), only[0])
    if model == "naive_bayes":
        from sklearn.naive_bayes import CategoricalNB

        # A middle between two values counts as the lower one, so that released and original cells share categories.
        bayes = CategoricalNB(min_categories=np.array(codes)).fit(np.floor(features).astype(np.int64), label)
        for count, logs in zip(bayes.category_count_, bayes.feature_log_prob_, strict=True):
            # What no row shows says nothing; smoothed, it would speak for rare labels.
            logs[:, count.sum(axis=0) == 0] = 0.0
        return lambda wanted: bayes.predict(np.floor(wanted).astype(np.int64))
    if model == "tree":
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(min_samples_leaf=10, random_state=seed).fit(features, label).predict
    if model == "pruned_tree":
        return _pruned_tree(features, label, seed).predict
    if model == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        booster = HistGradientBoostingClassifier(max_iter=30, early_stopping=False, random_state=seed)
        return _on_one_thread(_on_one_thread(booster.fit)(features, label).predict)
    raise UsageError(f"model = {model!r}: choose naive_bayes, tree, pruned_tree or boosting")


def _pruned_tree(features: NDArray[np.float64], label: NDArray[np.int64], seed: int) -> Any:
    """A tree by entropy, as C4.5 grows it, cut back as long as its leaves cost more bits than they save.

    A leaf costs half a log2 of the rows for each free share of a label (Rissanen 1978); leaves of so few rows that they
    could hardly save as much are not grown at all.
    """
    from sklearn.tree import DecisionTreeClassifier

    rows, labels = len(label), len(np.unique(label))
    bits = (labels - 1) / 2 * np.log2(rows)
    tree = DecisionTreeClassifier(
        criterion="entropy",
        min_samples_leaf=max(2, int(bits / np.log2(labels))),
        ccp_alpha=bits / rows,
        random_state=seed,
    )
    return tree.fit(features, label)


def _on_one_thread(call: Callable[..., Any]) -> Callable[..., Any]:
    """Threads belong to the engine: those of a library would fight over the cores with its own."""
    from threadpoolctl import threadpool_limits

    def called(*arguments: Any) -> Any:
        with threadpool_limits(limits=1):
            return call(*arguments)

    return called


def random_linkings(release: Release, *, draws: int = 5, seed: int = 0) -> Iterator[NDArray[np.int64]]:
    """(rows, attributes) region numbers, `draws` times: whole rows, each block permuted in its group (Li 2010, 4.5.1).

    Rows stand in the order of their groups. A release of one block hides no link and is given once. Cost: a sort of
    the rows for each block but the first, which stays as it is.
    """
    if draws < 1:
        raise UsageError(f"draws = {draws}: draw the hidden link at least once")
    random = np.random.default_rng(seed)
    for _ in range(draws if len(release.blocks) > 1 else 1):
        yield _linked(release, random)


def _linked(release: Release, random: np.random.Generator) -> NDArray[np.int64]:
    region = np.empty((release.rows, len(release.attributes)), dtype=np.int64)
    for number, block in enumerate(release.blocks):
        entry = _shuffled(block, random) if number else np.repeat(np.arange(len(block.cell)), block.count)
        for index in block.attributes:
            region[:, index] = block.region(index)[entry]
    return region


def _shuffled(block: Block, random: np.random.Generator) -> NDArray[np.int64]:
    """(rows,) entries in the order of their groups, inside a group in any order."""
    entry = np.repeat(np.arange(len(block.cell)), block.count)
    return np.asarray(entry[np.lexsort((random.random(len(entry)), block.group[entry]))])

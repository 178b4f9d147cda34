"""What a model learned from a masked table says of people: with their rows among what it learned from, and without."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role
from unveil.data.belief import Estimate, t_quantile
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError, shown
from unveil.risk.disclosure.intervals import paired

__all__ = [
    "MODELS",
    "DisclosureByInputs",
    "Guesses",
    "disclosure_by_inputs",
    "features",
    "fitted",
    "model_baseline",
    "model_disclosure",
    "model_gain",
    "model_guesses",
    "over_repeats",
]

MODELS = ("tree", "forest", "nearest", "linear")  # of scikit-learn; those that fit closely remember people best
MOST_INDICATORS = 64  # a category with more values is read as one ordered column

Model = str | Callable[[bool, int], Any]  # a name, or (categorical, seed) -> an estimator of scikit-learn


@dataclass(frozen=True, slots=True, eq=False)
class Guesses:
    """What a model says of each person, beside the truth. Each repeat draws its own folds and seed."""

    attribute: Attribute
    truth: NDArray[Any]  # (people,) codes or numbers
    with_person: NDArray[Any]  # (repeats, people) by a model that learned from every published row
    without: NDArray[Any]  # (repeats, people) by one that learned from other people's rows only

    def right(self, guess: NDArray[Any], p: float) -> NDArray[np.float64]:
        """(repeats, people) whether a guess is right: equal, or within p % of the standard deviation of a number."""
        if not self.attribute.kind.measured:
            return np.asarray(guess == self.truth, dtype=np.float64)
        if not 0 <= p < np.inf:
            raise UsageError(f"p={p:g} must be a percentage of a standard deviation of at least 0")
        return np.asarray(np.abs(guess - self.truth) <= p * self.truth.std() / 100, dtype=np.float64)


def model_guesses(
    table: Table,
    made: Anonymized,
    asked: str,
    *,
    known: Sequence[str] | None = None,
    model: Model = "tree",
    folds: int = 5,
    repeats: int = 3,
    engine: Engine | None = None,
) -> Guesses:
    """Learn the asked attribute from the published rows, and guess it from what is truly known of each person.

    `known`: the inputs, all published quasi-identifiers if not given. Algorithms 9 and 10 of Torra 2024: models learn
    from masked values and are scored on the truth. People whose true value is missing are not asked about.
    Cost: repeats · (folds + 1) times that of one model.
    """
    truth, label = paired(table, made, asked)
    attribute = table.attributes[table.index(asked)]
    names = _inputs(table, made, asked) if known is None else list(known)
    if asked in names or not names:
        raise UsageError(f"{shown(asked)} is asked about; name at least one other attribute that is known")
    engine = Engine(seed=0) if engine is None else engine
    pairs = [paired(table, made, name) for name in names]
    attributes = [table.attributes[table.index(name)] for name in names]
    seen = features(attributes, [one for _, one in pairs], [one for _, one in pairs])
    true = features(attributes, [one for one, _ in pairs], [one for _, one in pairs])
    usable = ~np.isnan(label) if attribute.kind.measured else label >= 0
    people = np.flatnonzero(~np.isnan(truth)) if attribute.kind.measured else np.arange(len(truth))
    if not 2 <= folds <= len(truth):
        raise UsageError(
            f"{folds} folds of {len(truth)} people are not possible; choose from 2 to the number of people"
        )
    if not len(people) or not usable.any():
        raise UsageError(f"{asked}: nobody has a value that is known and published")
    inside, outside = [], []
    for repeat in range(repeats):
        random = engine.named(f"folds/{asked}/{repeat}").generator()
        fold = random.permutation(len(truth)) % folds
        seed = int(random.integers(2**31))
        every = fitted(model, attribute, seen[usable], label[usable], seed)
        inside.append(every.predict(true[people]))
        guess = np.empty(len(truth), dtype=truth.dtype)
        for number in range(folds):
            others = usable & (fold != number)
            one = fitted(model, attribute, seen[others], label[others], seed) if others.any() else every
            guess[fold == number] = one.predict(true[fold == number])
        outside.append(guess[people])
    return Guesses(attribute, truth[people], np.array(inside), np.array(outside))


def model_disclosure(guesses: Guesses, p: float = 10.0) -> Estimate:
    """Share of people guessed rightly by a model that learned from the whole release, their own rows among it."""
    return over_repeats(guesses.right(guesses.with_person, p).mean(axis=1), 0.0)


def model_baseline(guesses: Guesses, p: float = 10.0) -> Estimate:
    """The same by models that did not learn from the person's row (adr, algorithm 10 of Torra 2024): generalisation."""
    return over_repeats(guesses.right(guesses.without, p).mean(axis=1), 0.0)


def model_gain(guesses: Guesses, p: float = 10.0) -> Estimate:
    """What a person's own row adds to the share of right guesses: disclosure that is not generalisation."""
    with_person, without = guesses.right(guesses.with_person, p), guesses.right(guesses.without, p)
    return over_repeats((with_person - without).mean(axis=1), -1.0)


@dataclass(frozen=True, slots=True)
class DisclosureByInputs:
    """How well an attribute is guessed from some others."""

    inputs: tuple[str, ...]
    disclosure: Estimate
    baseline: Estimate


def disclosure_by_inputs(
    table: Table,
    made: Anonymized,
    asked: str,
    *,
    known: Sequence[str] | None = None,
    most: int | None = None,
    p: float = 10.0,
    model: Model = "tree",
    folds: int = 5,
    repeats: int = 3,
    engine: Engine | None = None,
) -> tuple[DisclosureByInputs, ...]:
    """From one input, two, …: a good guess from few is the alarm (Torra 2024).

    Inputs are added one by one, each time the one that best guesses people whose rows were not learned from; another
    set of the same size may be better. Cost: about inputs² / 2 times that of one attribute.
    """
    left = _inputs(table, made, asked) if known is None else list(known)
    most = len(left) if most is None else min(most, len(left))
    options: dict[str, Any] = {"model": model, "folds": folds, "engine": engine}
    chosen: list[str] = []
    found = []
    while len(chosen) < most:
        tried = {n: model_guesses(table, made, asked, known=[*chosen, n], repeats=1, **options) for n in left}
        best = max(left, key=lambda name: model_baseline(tried[name], p).value)
        chosen.append(best)
        left.remove(best)
        guesses = model_guesses(table, made, asked, known=chosen, repeats=repeats, **options)
        found.append(DisclosureByInputs(tuple(chosen), model_disclosure(guesses, p), model_baseline(guesses, p)))
    return tuple(found)


def features(
    attributes: Sequence[Attribute], columns: Sequence[NDArray[Any]], published: Sequence[NDArray[Any]]
) -> NDArray[np.float64]:
    """(rows, features) what a model reads: numbers in units of the published ones' deviation, an indicator a category.

    What is missing is the published mean, with an indicator beside it; a suppressed category has no indicator.
    """
    parts = []
    for attribute, column, scale in zip(attributes, columns, published, strict=True):
        if attribute.kind.measured:
            held = scale[~np.isnan(scale)]
            mean, spread = (float(held.mean()), float(held.std())) if len(held) else (0.0, 0.0)
            absent = np.isnan(column)
            parts.append(np.where(absent, 0.0, (column - mean) / (spread or 1.0))[:, None])
            if np.isnan(scale).any() or attribute.missing:
                parts.append(absent.astype(np.float64)[:, None])
        elif attribute.codes > MOST_INDICATORS:
            parts.append(column.astype(np.float64)[:, None] / attribute.codes)
        else:
            parts.append((column[:, None] == np.arange(attribute.codes)).astype(np.float64))
    return np.concatenate(parts, axis=1)


def fitted(model: Model, attribute: Attribute, inputs: NDArray[np.float64], label: NDArray[Any], seed: int) -> Any:
    """A model that has learned the label; one that never varies is said of everybody."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    categorical = not attribute.kind.measured
    if (label == label[0]).all():
        made = DummyClassifier() if categorical else DummyRegressor()
    elif callable(model):
        made = model(categorical, seed)
    else:
        made = _named(model, categorical, seed)
    return made.fit(inputs, label)


def _named(model: str, categorical: bool, seed: int) -> Any:
    if model == "tree":
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        return DecisionTreeClassifier(random_state=seed) if categorical else DecisionTreeRegressor(random_state=seed)
    if model == "forest":
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        family = RandomForestClassifier if categorical else RandomForestRegressor
        return family(n_estimators=50, random_state=seed)
    if model == "nearest":
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

        return KNeighborsClassifier(1) if categorical else KNeighborsRegressor(1)
    if model == "linear":
        from sklearn.linear_model import LogisticRegression, Ridge

        return LogisticRegression(max_iter=2000) if categorical else Ridge()
    raise UsageError(f"unknown model {shown(model)}; choose from {', '.join(MODELS)}")


def over_repeats(values: NDArray[np.float64], least: float) -> Estimate:
    """The mean of several repeats with its 95% interval; of one, the value alone."""
    value = float(values.mean())
    if len(values) < 2:
        return Estimate.exact(value)
    half = t_quantile(len(values)) * float(values.std(ddof=1)) / np.sqrt(len(values))
    return Estimate(value, max(value - half, least), min(value + half, 1.0))


def _inputs(table: Table, made: Anonymized, asked: str) -> list[str]:
    published = {a.name for a in made.release.attributes}
    names = [table.attributes[i].name for i in table.with_role(Role.QUASI_IDENTIFIER)]
    return [name for name in names if name in published and name != asked]

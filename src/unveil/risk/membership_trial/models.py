"""Membership inference against models: a classifier that is trained here, and shadows of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unveil.catalog import parse
from unveil.data.attribute import Attribute, Role
from unveil.data.masked import as_published
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError, shown
from unveil.risk.classifiers import classifier_named
from unveil.risk.disclosure.models import features
from unveil.risk.membership import scores_by_roster
from unveil.risk.membership_trial.scores import Scores, joined

__all__ = ["scores_of_model"]

MOST_LABELS = 100
ROSTER = (
    "The attacker knows the people who may be in it, their labels and how the model was trained, but not who is in."
)


def scores_of_model(
    model: str | Any,
    table: Table,
    *,
    control: Table | None = None,
    asked: str | None = None,
    known: Sequence[str] | None = None,
    shadows: int = 16,
    engine: Engine | None = None,
) -> Scores:
    """A classifier (of scikit-learn, or its NAME:options) learns `asked` from the original's people; who were they?

    The controls stay out; without controls a random half of the people does. `known`: what the model reads, all
    quasi-identifiers if not given. Cost: one model more than `shadows`.
    """
    engine = Engine(seed=0) if engine is None else engine
    label = _asked(table, asked)
    names = [table.attributes[i].name for i in table.with_role(Role.QUASI_IDENTIFIER)] if known is None else list(known)
    names = [n for n in names if n != label.name]
    if not names:
        raise UsageError("the model reads nothing: name attributes by --known")
    people = table if control is None else joined(table, control)
    attributes = [people.attributes[people.index(name)] for name in names]
    columns = as_published(attributes, [people.columns[people.index(name)] for name in names])
    inputs = features(attributes, columns, columns)
    labels = people.columns[people.index(label.name)].astype(np.int64)
    inside = np.arange(people.rows) < table.rows
    if control is None:
        inside = np.zeros(people.rows, dtype=bool)
        order = engine.named("members").generator().permutation(people.rows)
        inside[order[: people.rows // 2]] = True
    seed = int(engine.named("model").generator().integers(2**31))
    made = classifier_named(*parse(model), seed) if isinstance(model, str) else model

    def fit(x: Any, y: Any) -> Any:
        from sklearn.base import clone
        from sklearn.dummy import DummyClassifier

        return (DummyClassifier() if (y == y[0]).all() else clone(made)).fit(x, y)

    by, right = scores_by_roster(fit, inputs, labels, inside, shadows=shadows, engine=engine)
    accuracy = (
        f"It guesses {label.name} rightly of {right[inside].mean():.1%} of the people it learned from and of "
        f"{right[~inside].mean():.1%} of the others: this difference is what there is to see."
    )
    name = model if isinstance(model, str) else type(model).__name__
    return Scores("model", name, inside, by, tuple(names), shadows, (ROSTER, accuracy))


def _asked(table: Table, asked: str | None) -> Attribute:
    sensitive = [table.attributes[i] for i in table.with_role(Role.SENSITIVE)]
    if asked is None and len(sensitive) != 1:
        raise UsageError("say what the model learned to guess: --asked ATTRIBUTE")
    label = sensitive[0] if asked is None else table.attributes[table.index(asked)]
    if label.codes > MOST_LABELS:
        raise NotApplicable(f"{shown(label.name)} has {label.codes:,} values, too many for a classifier; declare bins")
    return label

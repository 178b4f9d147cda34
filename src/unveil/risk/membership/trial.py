"""Membership inference tried on people whose truth is known: scores of releases, schemes, models and predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.catalog import parse
from unveil.data.attribute import Attribute, Role
from unveil.data.release import Release
from unveil.data.rows import as_published
from unveil.data.table import CodedColumn, Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, Stopped, UsageError, shown
from unveil.formats.tables import Columns
from unveil.risk.classifiers import classifier_named
from unveil.risk.disclosure.models import features
from unveil.risk.linkage.distance import nearest_distances
from unveil.risk.linkage.register import known_attributes
from unveil.risk.membership import (
    frequency_score,
    learn_membership,
    likelihood_scores,
    matching_groups,
    scores_by_roster,
)
from unveil.risk.membership.drawing import published_shares
from unveil.risk.membership.matching import expected_rows

__all__ = [
    "SCORES",
    "Scores",
    "joined",
    "scores_of_model",
    "scores_of_predictions",
    "scores_of_release",
    "scores_of_scheme",
]

Floats = NDArray[np.float64]
# By the name in a finding's id: what a score is.
SCORES = {
    "degree": "groups that the person matches",
    "frequency": "rows expected of the person's kind, against the population's",
    "nearest": "how near the nearest published row is",
    "likelihood": "how much likelier it is with the person in than without, as shadows show",
    "confidence": "the chance that the model gives the true label",
    "shadow": "a forest that learned from shadow models what an answer looks like",
    "score": "the score that the file gives",
}
MEMBER, LABEL, SCORE, ROW = "member", "label", "score", "row"  # columns of a predictions file
YES, NO = ("1", "yes", "true"), ("0", "no", "false")


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What is asked, who is in, and how much each score takes a person for a member."""

    subject: Literal["release", "scheme", "model", "predictions"]
    name: str
    inside: NDArray[np.bool_]  # (people,) members first come the original's rows, then the controls'
    by: Mapping[str, Floats]  # score -> (people,)
    known: tuple[str, ...] = ()
    shadows: int = 0
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.inside.any() or self.inside.all():
            raise UsageError("members can be told from others only if there are both")
        if any(part.shape != self.inside.shape or np.isnan(part).any() for part in self.by.values()):
            raise UsageError("every person needs a score that is a number")


def scores_of_predictions(columns: Columns, *, name: str) -> Scores:
    """A model's answers about people of whom it is known whether it learned from them.

    Columns: `member` (1 or 0, yes or no); and either `score`, larger for people taken for members, or `label`, the true
    one, and a column for each label with the chance the model gives it. A column `row` is not looked at.
    """
    member = _column(columns, MEMBER, name)
    text = [t.strip().lower() for t in member.texts]
    wrong = [t for t in text if t not in (*YES, *NO)]
    if wrong:
        raise UsageError(f"{name}, {MEMBER}: {shown(wrong[0])} is neither 1 nor 0")
    inside = np.array([t in YES for t in text])[member.text_of_row]
    if SCORE in columns.columns:
        return Scores("predictions", name, inside, {"score": _numbers(columns, SCORE, name)})
    if LABEL not in columns.columns:
        raise UsageError(
            f"{name}: needs a column {SCORE}, or a column {LABEL} and one column per label with its probability"
        )
    label = columns.columns[LABEL]
    own = np.full(columns.rows, np.nan)
    for place, value in enumerate(label.texts):
        if value not in columns.columns or value in (MEMBER, LABEL, ROW):
            raise UsageError(f"{name}: no column {shown(value)} with the probabilities of this label")
        mine = np.asarray(label.text_of_row) == place
        own[mine] = _numbers(columns, value, name)[mine]
    return Scores("predictions", name, inside, {"confidence": own})


def _column(columns: Columns, name: str, file: str) -> CodedColumn:
    if name not in columns.columns:
        raise UsageError(f"{file}: no column {name}; choose from {', '.join(map(shown, columns.columns))}")
    return columns.columns[name]


def _numbers(columns: Columns, name: str, file: str) -> Floats:
    column = columns.columns[name]
    found = []
    for text in column.texts:
        try:
            found.append(float(text.replace(columns.decimal, ".") if columns.decimal != "." else text))
        except ValueError:
            found.append(float("nan"))
        if np.isnan(found[-1]):
            raise UsageError(f"{file}, {name}: {shown(text)} is not a number")
    return np.asarray(np.array(found)[column.text_of_row])


def joined(table: Table, control: Table) -> Table:
    """Everybody: the original's people, then the controls."""
    names = [a.name for a in control.attributes]
    if [a.name for a in table.attributes] != names or any(
        a.values != b.values for a, b in zip(table.attributes, control.attributes, strict=True)
    ):
        raise UsageError(f"{control.name}: the controls' columns or domains are not the original's")
    columns = tuple(np.concatenate(pair) for pair in zip(table.columns, control.columns, strict=True))
    return Table(table.attributes, columns, name=table.name)


SCHEME_ROSTER = (
    "The attacker knows the people who may be in it, members and others, but not who is; and the scheme, but not what "
    "it drew."
)


def scores_of_release(
    release: Release,
    table: Table,
    control: Table,
    *,
    name: str = "release",
    known: Sequence[str] | None = None,
    engine: Engine | None = None,
) -> Scores:
    """What the release alone says of its people and of controls, who are known not to be in it.

    A grouped release: matching groups (`degree`) and rows expected against the population (`frequency`). A masked one:
    the nearest row (`nearest`).
    """
    people = joined(table, control)
    names = _known(release, known)
    inside = np.arange(people.rows) < table.rows
    by = _plain(release, people, names, engine)
    return Scores("release", name, inside, by, tuple(names))


def scores_of_scheme(
    method: Any,
    table: Table,
    *,
    name: str,
    control: Table | None = None,
    release: Release | None = None,
    known: Sequence[str] | None = None,
    shadows: int = 32,
    engine: Engine | None = None,
) -> Scores:
    """What somebody finds out who knows the scheme: releases of it are made with each person and without.

    The target is `release`, made of all of `table`, with `control` outside; without them a random half of the table is
    released and the other half stays out. Each shadow is made of as many people, drawn from everybody. `likelihood`
    compares what is seen of a person in the target with what was seen in shadows with and without the person; the
    scores of the release alone stand beside it. Cost: one release and one search a shadow.
    """
    if shadows < 4:
        raise UsageError(f"{shadows} shadow releases show nobody often enough in and out; make 4 or more")
    if (release is None) != (control is None):
        raise UsageError("a release needs control people, known not to be in it: give both, or neither")
    engine = Engine(seed=0) if engine is None else engine
    random = engine.named("shadow releases").generator()
    people = table if control is None else joined(table, control)
    if people.rows < 4:
        raise UsageError(f"{people.rows} people are too few to be cut in two; give 4 or more")
    inside = np.arange(people.rows) < table.rows
    if control is None:
        inside = np.zeros(people.rows, dtype=bool)
        inside[random.permutation(people.rows)[: people.rows // 2]] = True
    size = int(inside.sum())
    target = release
    if target is None:
        target = _made(method, people.part(np.flatnonzero(inside)), engine.named("target"))
    names = _known(target, known)
    seen = np.empty((shadows, people.rows))
    member = np.zeros((shadows, people.rows), dtype=bool)
    order = np.arange(people.rows)
    for number in range(shadows):
        if engine.stop.is_set():
            raise Stopped("stopped before all shadow releases were made; there is no result")
        # Every other shadow takes first whom the one before left out, so that all are in about as many.
        order = order[::-1] if number % 2 else random.permutation(people.rows)
        member[number, order[:size]] = True
        shadow = _made(method, people.part(np.flatnonzero(member[number])), engine.named(f"shadow/{number}"))
        seen[number] = _statistic(shadow, people, names, engine)
        engine.report("shadow releases", number + 1, shadows)
    score = likelihood_scores(seen, member, _statistic(target, people, names, engine))
    by = {"likelihood": score, **_plain(target, people, names, engine)}
    return Scores("scheme", name, inside, by, tuple(names), shadows, (SCHEME_ROSTER,))


def _made(method: Any, table: Table, engine: Engine) -> Release:
    made: Release = method.anonymize(table, engine).release
    return made


def _known(release: Release, known: Sequence[str] | None) -> list[str]:
    return [attribute.name for attribute in known_attributes(release.attributes, known)]


def _plain(release: Release, people: Table, names: Sequence[str], engine: Engine | None) -> dict[str, Floats]:
    """Scores that need no shadow."""
    if release.perturbed:
        return {"nearest": -nearest_distances(release, [people], names, engine=engine)[0]}
    positions = [release.index(name) for name in names]
    targets = targets_of_table(people, release, -1, known=names)
    reader = learn_membership(release, positions, engine=engine)
    return {
        "degree": reader.believe(matching_groups(release, targets).degree),
        "frequency": frequency_score(release, targets, published_shares(release, positions)),
    }


def _statistic(release: Release, people: Table, names: Sequence[str], engine: Engine) -> Floats:
    """(people,) log of the rows expected to be each one's, or minus the log of the distance to the nearest.

    -inf: the person fits nowhere; inf: a row is exactly the person's values.
    """
    with np.errstate(divide="ignore"):
        if release.perturbed:
            return -np.log(nearest_distances(release, [people], names, engine=engine)[0])
        shares = published_shares(release, [release.index(name) for name in names])
        return np.asarray(np.log(expected_rows(release, targets_of_table(people, release, -1, known=names), shares)))


MOST_LABELS = 100
MODEL_ROSTER = (
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
        raise UsageError("the model has no inputs; name attributes with --known")
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
    return Scores("model", name, inside, by, tuple(names), shadows, (MODEL_ROSTER, accuracy))


def _asked(table: Table, asked: str | None) -> Attribute:
    sensitive = [table.attributes[i] for i in table.with_role(Role.SENSITIVE)]
    if asked is None and len(sensitive) != 1:
        raise UsageError("say what the model learned to guess: --asked ATTRIBUTE")
    label = sensitive[0] if asked is None else table.attributes[table.index(asked)]
    if label.codes > MOST_LABELS:
        raise NotApplicable(f"{shown(label.name)} has {label.codes:,} values, too many for a classifier; declare bins")
    return label

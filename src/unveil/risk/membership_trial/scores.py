"""Scores of people, some of whom are members: what every way of asking comes down to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.data.table import CodedColumn, Table
from unveil.errors import UsageError, shown
from unveil.formats.tables import Columns

__all__ = ["SCORES", "Scores", "joined", "scores_of_predictions", "some_rows"]

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
        raise UsageError(f"{name}: needs a column {SCORE}, or a column {LABEL} and one a label with its chance")
    label = columns.columns[LABEL]
    own = np.full(columns.rows, np.nan)
    for place, value in enumerate(label.texts):
        if value not in columns.columns or value in (MEMBER, LABEL, ROW):
            raise UsageError(f"{name}: has no column {shown(value)} with the chances of this label")
        mine = np.asarray(label.text_of_row) == place
        own[mine] = _numbers(columns, value, name)[mine]
    return Scores("predictions", name, inside, {"confidence": own})


def _column(columns: Columns, name: str, file: str) -> CodedColumn:
    if name not in columns.columns:
        raise UsageError(f"{file}: has no column {name}; it has {', '.join(map(shown, columns.columns))}")
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
            raise UsageError(f"{file}, {name}: {shown(text)} is no number")
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


def some_rows(table: Table, rows: NDArray[np.integer]) -> Table:
    """Some of the people."""
    return Table(table.attributes, tuple(column[rows] for column in table.columns), name=table.name)

"""What a statistical file says of its columns: codes, labels, missing codes. Cells show the labels.

What a cell shows follows from the dictionary alone, never from the other cells, so that an original and a release of
it show the same text for the same code; and it can be turned back: no two codes of a column show the same text.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

import numpy as np

from unveil.data.attribute import Kind, position
from unveil.data.hierarchy import iso_date, number_text

__all__ = ["Dictionary", "Value", "Variable", "made_distinct"]

Value = float | str  # a number, a text, or the letter of a tagged missing value (Stata's .a, SAS's .A)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d(?:\.\d{1,6})?))?", re.ASCII)
_ABSENT = " (missing)"


@dataclass(frozen=True, slots=True)
class Variable:
    """A column as the file holds it, and what its cells show."""

    name: str
    kind: str = "number"  # number, text, day or moment
    label: str = ""
    labels: Mapping[Value, str] = field(default_factory=dict)  # as the file has them
    shows: Mapping[Value, str] = field(default_factory=dict)  # the labels, made distinct
    missing: tuple[tuple[Value, Value], ...] = ()  # user-missing codes: from, to, both included
    tagged: bool = False  # letters among the numbers are missing values by kind
    single: bool = False  # numbers of four bytes
    epoch: datetime = datetime(1960, 1, 1)  # of days and moments
    unit: float = 86400.0  # seconds that a count of one stands for
    format: str = ""
    measure: str = ""
    width: int = 0  # of its display
    seen: tuple[Value | None, ...] = ()  # kinds of missing values among the cells, None = the system's

    def is_missing(self, value: Value) -> bool:
        """Whether it stands for a missing value of some kind."""
        if self.tagged and self.kind != "text" and isinstance(value, str):
            return True
        return any(
            isinstance(low, str) == isinstance(value, str) and low <= value <= high  # type: ignore[operator]
            for low, high in self.missing
        )

    def text(self, value: Value) -> str:
        """What a cell shows."""
        if value in self.shows:
            return self.shows[value]
        plain = self._plain(value)
        untagged = self.kind == "text" or not isinstance(value, str)
        return plain + _ABSENT if untagged and self.is_missing(value) else plain

    def value(self, text: str) -> Value | None:
        """What the file holds for a cell that shows this text; None if no code of the column shows it."""
        for code, label in self.shows.items():
            if label == text:
                return code
        found = self._parsed(text.removesuffix(_ABSENT))
        bare = text.removesuffix(" 00:00:00") if self.kind == "moment" else text
        return found if found is not None and self.text(found) == bare else None

    def values(self, texts: Sequence[str]) -> dict[str, Value] | None:
        """The codes of all these texts; None if one of them is none."""
        code_of = {label: code for code, label in self.shows.items()}
        found: dict[str, Value] = {}
        for text in texts:
            code = code_of[text] if text in code_of else self.value(text)
            if code is None:
                return None
            found[text] = code
        return found

    def _plain(self, value: Value) -> str:
        if isinstance(value, str):
            return value if self.kind == "text" else f".{value}"
        if self.kind in ("day", "moment"):
            return _moment_text(self.epoch, self.unit, value) or number_text(value)
        if self.single and math.isfinite(value):
            return number_text(float(str(np.float32(value))))
        return number_text(value) if math.isfinite(value) else str(value)

    def _parsed(self, text: str) -> Value | None:
        if self.kind == "text":
            return text
        if self.tagged and re.fullmatch(r"\.[A-Za-z_]", text, re.ASCII):
            return text[1:]
        moment = _moment_read(text) if self.kind in ("day", "moment") else None
        if moment is not None:
            return (moment - self.epoch) / timedelta(seconds=1) / self.unit
        number = position(text, Kind.NUMERIC)
        return float(np.float32(number)) if number is not None and self.single else number


@dataclass(frozen=True, slots=True)
class Dictionary:
    """What a statistical file says of itself and its columns."""

    family: str  # SPSS, Stata, SAS
    variables: Mapping[str, Variable]
    label: str = ""
    notes: tuple[str, ...] = ()


def made_distinct(variables: Sequence[Variable]) -> tuple[dict[str, Variable], str | None]:
    """The variables with what their cells show, and what cannot be told apart, if anything.

    A label shows as it is unless that could be taken for another code: then its code stands behind it, `other (7)`.
    That is so where two codes have one label, where a label reads as a number, a date or `*`, and where it is also the
    text of a missing code of any column, as missing tokens hold for all columns.
    """
    absent = {text for v in variables for code, text in v.labels.items() if v.is_missing(code)}
    found: dict[str, Variable] = {}
    for variable in variables:
        times = Counter(label.strip() for label in variable.labels.values())
        shows: dict[Value, str] = {}
        for code, raw in variable.labels.items():
            label, missing = raw.strip(), variable.is_missing(code)
            own = variable._plain(code)
            if not label or (label == own and not missing):
                continue
            clash = times[label] > 1 or label == "*" or _reads_as_value(label, variable)
            clash = clash or (not missing and (label in absent or raw in absent or label.endswith(_ABSENT)))
            shows[code] = f"{label} ({own})" if clash else label
        twice = [text for text, n in Counter(shows.values()).items() if n > 1]
        if twice:
            return {}, f"{variable.name}: two codes have the label {twice[0]!r}; give them labels that differ"
        found[variable.name] = replace(variable, shows=shows)
    return found, None


def _reads_as_value(label: str, variable: Variable) -> bool:
    """Whether a code without a label could show the same."""
    if variable.kind == "text":
        return False  # any text could: whether one does is seen in the data
    if label.lower() in ("nan", "inf", "-inf", "+inf") or re.fullmatch(r"\.[A-Za-z_]", label, re.ASCII):
        return True
    return position(label.removesuffix(_ABSENT), Kind.NUMERIC) is not None or _moment_read(label) is not None


def _moment_text(epoch: datetime, unit: float, value: float) -> str | None:
    """2024-01-31, or 2024-01-31 10:30:00; None if it lies outside the calendar or between microseconds."""
    try:
        moment = epoch + timedelta(seconds=value * unit)
    except (OverflowError, ValueError):
        return None
    if (moment - epoch) / timedelta(seconds=1) / unit != value:
        return None
    return moment.date().isoformat() if moment.time() == datetime.min.time() else moment.isoformat(" ")


def _moment_read(text: str) -> datetime | None:
    found = _MOMENT.fullmatch(text)
    day: date | None = iso_date(found[1]) if found else None
    if found is None or day is None:
        return None
    try:
        return datetime.fromisoformat(f"{day.isoformat()} {found[2] or '00:00:00'}")
    except ValueError:
        return None

"""Microaggregation as ARX does it: one value a class, in the data type's own notation."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from unveil.data.table import CodedColumn
from unveil.formats.arx.output import occurring
from unveil.formats.columns import Refusal

__all__ = ["aggregated", "is_widening"]

_DATE_SIGNS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "yy": "%y"}
_START = datetime(1970, 1, 1, tzinfo=UTC)


def is_widening(function: str) -> bool:
    """Whether the value of a class holds everybody's in it: an interval or a set, not an average."""
    return function.strip().lower().startswith(("interval", "set", "generalization"))


def aggregated(
    name: str,
    column: CodedColumn,
    of_row: NDArray[np.int64],
    counted: NDArray[np.bool_],
    said: Mapping[str, str],  # by definition.xml
) -> CodedColumn:
    """The column with each class's own value. Rows that are not `counted` belong to no class, and keep nothing."""
    function = said.get("microaggregationFunction", "").strip().lower()
    kind, pattern = said.get("datatype", "").strip(), said.get("format")
    ignored = said.get("microaggregationIgnoreMissingData", "true").strip().lower() == "true"
    texts = list(column.texts)
    codes = np.asarray(column.text_of_row, dtype=np.int64)
    missing = np.array([text == "NULL" for text in texts])
    if missing.any() and not (ignored and "mean" in function):
        raise Refusal(f"{name!r} is microaggregated with missing values")
    places = _places(name, texts, missing, kind, pattern) if kind in ("Integer", "Decimal", "Date/Time") else None
    shown = ["*"]
    number = np.zeros(len(codes), dtype=np.int64)
    order = np.flatnonzero(counted)
    order = order[np.argsort(of_row[order], kind="stable")]
    for rows in np.split(order, np.flatnonzero(np.diff(of_row[order])) + 1) if len(order) else ():
        members = codes[rows]
        members = members[~missing[members]]
        number[rows] = len(shown)
        shown.append(_value(name, function, members, texts, places, kind, pattern) if len(members) else "NULL")
    return occurring(shown, number)


def _value(
    name: str,
    function: str,
    members: NDArray[np.int64],
    texts: list[str],
    places: NDArray[np.float64] | None,
    kind: str,
    pattern: str | None,
) -> str:
    """One class in one text."""
    if function == "mode":
        times = np.bincount(members)
        if (times == times.max()).sum() > 1:
            raise Refusal(f"a class has several most frequent values of {name!r}, and ARX takes any of them")
        return texts[int(times.argmax())]
    if function == "set":
        return "{" + ", ".join(sorted({texts[code] for code in members.tolist()})) + "}"
    if places is None:
        if function == "median":
            ranked = sorted(texts[code] for code in members.tolist())
            low, high = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
            return low if low == high else "NULL"
        raise Refusal(f"{function} of {name!r}, which is of ARX's type {kind!r}, is not known here")
    values = places[members]
    if function == "arithmetic mean":
        return _written(float(values.mean()), kind, pattern, name)
    if function == "geometric mean":
        return _written(float(np.expm1(np.log1p(values).mean())), kind, pattern, name)
    if function == "median":
        return _written(float(np.median(values)), kind, pattern, name)
    if function == "interval":
        ends = [_written(float(end), kind, pattern, name) for end in (values.min(), values.max())]
        return f"[{ends[0]}, {ends[1]}]"
    raise Refusal(f"{name!r} is microaggregated by {function!r}, which is not known here")


def _places(
    name: str, texts: list[str], missing: NDArray[np.bool_], kind: str, pattern: str | None
) -> NDArray[np.float64]:
    """(texts,) numbers, or milliseconds since 1970."""
    found = np.full(len(texts), np.nan)
    for index in np.flatnonzero(~missing).tolist():
        try:
            if kind == "Date/Time":
                moment = datetime.strptime(texts[index], _signs(name, pattern)).replace(tzinfo=UTC)
                found[index] = (moment - _START).total_seconds() * 1000
            else:
                found[index] = float(texts[index])
        except ValueError:
            raise Refusal(f"{texts[index]!r} of {name!r} is not of ARX's type {kind!r} as read here") from None
    return found


def _written(value: float, kind: str, pattern: str | None, name: str) -> str:
    if kind == "Date/Time":
        return (_START + timedelta(milliseconds=int(value))).strftime(_signs(name, pattern))
    if kind == "Integer":
        return str(int(np.floor(value + 0.5)))
    if pattern:
        raise Refusal(f"{name!r} is written by the pattern {pattern!r}")
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    figures, _, power = (
        f"{value!r}".partition("e")
        if "e" in repr(value)
        else np.format_float_scientific(value, unique=True, trim="0").partition("e")
    )
    return f"{figures if '.' in figures else figures + '.0'}E{int(power)}"


def _signs(name: str, pattern: str | None) -> str:
    """Java's date pattern as Python writes it."""
    pattern = pattern or "dd.MM.yyyy"
    for word in re.findall(r"[A-Za-z]+", pattern):
        if word not in _DATE_SIGNS:
            raise Refusal(f"{name!r} is written by the date pattern {pattern!r}")
    return re.sub(r"[A-Za-z]+", lambda word: _DATE_SIGNS[word[0]], pattern)

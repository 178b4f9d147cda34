"""What the cells of Excel's files mean: numbers that are dates by their format, moments, errors, booleans."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import IntEnum

from unveil.data.hierarchy import number_text

__all__ = [
    "BOOLEANS",
    "ERRORS",
    "Shown",
    "clock",
    "day",
    "format_of",
    "letters",
    "number",
    "uncalculated",
    "without_marks",
]

BOOLEANS = ("false", "true")
ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}
_MARK = "\uffff"  # stands between a date's day and its time, so that it is not taken for a text; no sign of any
_MIDNIGHT = "00:00:00"
_MARKED = re.compile(rf"(-?\d{{4,}}-\d\d-\d\d){_MARK}([\d:.]+)", re.ASCII)
LAST_DAY = 2958466  # the first that has no date: year 10,000
_DAY = 86_400_000  # milliseconds
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]")
# What stands in a format without being a part of a date: quoted and escaped signs, fillers, colours, halves of the day.
_QUOTED = re.compile(r'"[^"]*"|\\.|_.|\*.')
_SIGNS = re.compile(r"\[[^\]]*\]|am/pm|a/p|general|e[+-]")


class Shown(IntEnum):
    """What a number is shown as."""

    NUMBER = 0
    DATE = 1  # perhaps with a time of day
    TIME = 2  # of day
    HOURS = 3  # elapsed


def format_of(number: int, codes: Mapping[int, str]) -> Shown:
    """What the format with this number shows; `codes` are those that the file itself declares."""
    if number in codes:
        return _kind(codes[number])
    if (
        14 <= number <= 17
        or number == 22
        or 27 <= number <= 31
        or number == 36
        or 50 <= number <= 58
        or 71 <= number <= 74
    ):
        return Shown.DATE
    if 18 <= number <= 21 or 32 <= number <= 35 or number in (45, 47) or 75 <= number <= 78:
        return Shown.TIME
    return Shown.HOURS if number == 46 else Shown.NUMBER


def _kind(code: str) -> Shown:
    """By the part of a format that is for positive numbers.

    >>> [_kind(code).name for code in ("yyyy-mm-dd", 'h:mm" Uhr"', "[hh]:mm", "0.00E+00", '"day" 0', "[Red]0;[Blue]d")]
    ['DATE', 'TIME', 'HOURS', 'NUMBER', 'NUMBER', 'NUMBER']
    """
    plain = _QUOTED.sub("", code.lower()).split(";")[0]
    if _ELAPSED.search(plain):
        return Shown.HOURS
    plain = _SIGNS.sub("", plain)
    if any(sign in plain for sign in "yde"):
        return Shown.DATE
    if any(sign in plain for sign in "hs"):
        return Shown.TIME
    return Shown.DATE if "m" in plain else Shown.NUMBER


def number(value: float, shown: Shown, from_1904: bool = False) -> str:
    """A number as the text it shows; dates with a mark, which `without_marks` takes away."""
    if shown == Shown.NUMBER or not 0 <= value < LAST_DAY:
        return number_text(value + 0.0)  # no -0
    if shown == Shown.HOURS:
        return clock(round(value * _DAY))
    days, rest = divmod(round(value * _DAY), _DAY)
    if shown == Shown.TIME and value < 1:
        return clock(rest)
    if days == 60 and not from_1904:  # Excel has a day that never was
        return day("1900-02-29", clock(rest))
    if from_1904:
        first = datetime(1904, 1, 1)
    else:
        first = datetime(1899, 12, 30) if days > 60 else datetime(1899, 12, 31)
    if days >= LAST_DAY - 1462 * from_1904:
        return number_text(value)
    return day((first + timedelta(days=days)).date().isoformat(), clock(rest))


def day(date: str, time: str | None) -> str:
    """A date and its time of day, which is shown if another of the column is not midnight."""
    return f"{date}{_MARK}{time or _MIDNIGHT}"


def clock(milliseconds: int) -> str:
    """A time of day or a duration.

    >>> clock(37_800_000), clock(108_900_250)
    ('10:30:00', '30:15:00.25')
    """
    seconds, rest = divmod(milliseconds, 1000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{rest:03}".rstrip("0") if rest else text


def without_marks(texts: list[str]) -> list[str]:
    """Dates as they are shown: with their times of day, unless these are all midnight.

    >>> without_marks([day("2024-02-29", None), "2024-02-29 10:30:00", "a"])
    ['2024-02-29', '2024-02-29 10:30:00', 'a']
    >>> without_marks([day("2024-02-29", None), day("2024-02-29", "10:30:00")])
    ['2024-02-29 00:00:00', '2024-02-29 10:30:00']
    """
    dates = {text: found for text in texts if _MARK in text and (found := _MARKED.fullmatch(text))}
    timed = any(found[2] != _MIDNIGHT for found in dates.values())
    shown = {text: f"{found[1]} {found[2]}" if timed else found[1] for text, found in dates.items()}
    return [shown.get(text, text) for text in texts]


def letters(column: int) -> str:
    """A column as sheets call it.

    >>> letters(0), letters(25), letters(26), letters(16383)
    ('A', 'Z', 'AA', 'XFD')
    """
    text = ""
    while column >= 0:
        column, letter = divmod(column, 26)
        text = chr(65 + letter) + text
        column -= 1
    return text


def uncalculated(column: int, row: int) -> str:
    """What is wrong with a formula without its value."""
    at = f"{letters(column)}{row}"
    return f"cell {at} holds a formula without its value; open it in Excel or LibreOffice and save it anew"

"""What the cells of Excel's files mean: numbers that are dates by their format, moments, errors, booleans."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import IntEnum

from unveil.hierarchy import number_text

__all__ = [
    "BOOLEANS",
    "ERRORS",
    "MIDNIGHT",
    "Shown",
    "clock",
    "format_of",
    "letters",
    "moment",
    "number",
    "without_midnight",
]

BOOLEANS = ("false", "true")
ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}
MIDNIGHT = " 00:00:00"
LAST_DAY = 2958466  # the first that has no date: year 10,000
_DAY = 86_400_000  # milliseconds
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?", re.ASCII)
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
    """A number as the text it shows; dates always with the time of day, which `without_midnight` takes away."""
    if shown == Shown.NUMBER or not 0 <= value < LAST_DAY:
        return number_text(value + 0.0)  # no -0
    if shown == Shown.HOURS:
        return clock(round(value * _DAY))
    days, rest = divmod(round(value * _DAY), _DAY)
    if shown == Shown.TIME and value < 1:
        return clock(rest)
    if days == 60 and not from_1904:  # Excel has a day that never was
        return f"1900-02-29 {clock(rest)}"
    if from_1904:
        first = datetime(1904, 1, 1)
    else:
        first = datetime(1899, 12, 30) if days > 60 else datetime(1899, 12, 31)
    if days >= LAST_DAY - 1462 * from_1904:
        return number_text(value)
    return moment(first + timedelta(days=days, milliseconds=rest))


def moment(value: datetime) -> str:
    """A date with its time of day.

    >>> moment(datetime(2024, 2, 29)), moment(datetime(2024, 2, 29, 10, 30, 0, 250_000))
    ('2024-02-29 00:00:00', '2024-02-29 10:30:00.25')
    """
    text = value.isoformat(sep=" ")
    return text.rstrip("0") if value.microsecond else text


def clock(milliseconds: int) -> str:
    """A time of day or a duration.

    >>> clock(37_800_000), clock(108_900_250)
    ('10:30:00', '30:15:00.25')
    """
    seconds, rest = divmod(milliseconds, 1000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{rest:03}".rstrip("0") if rest else text


def without_midnight(texts: list[str]) -> list[str]:
    """Dates without the midnight that they are given here, unless another time of day stands among them."""
    moments = [bool(_MOMENT.fullmatch(text)) for text in texts]
    if any(is_one and not text.endswith(MIDNIGHT) for is_one, text in zip(moments, texts, strict=True)):
        return texts
    return [text.removesuffix(MIDNIGHT) if is_one else text for is_one, text in zip(moments, texts, strict=True)]


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

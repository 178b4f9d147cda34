"""What stands around a table in a text file: titles and a second row of names above it, units and totals below.

Exports for people to read have them. Only an original is read so: what stands beside a release's table is published.
Nothing is passed over that could be a person: names are followed by rows with digits where they have none, units are
units, and a row of totals calls itself one.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from unveil.data.texts import MISSING_WORDS
from unveil.formats.columns import Refusal, checked_names
from unveil.formats.text.dialect import DELIMITERS, Records

__all__ = ["TableHead", "find_heading", "is_total"]

ABOVE = 20  # rows above the names, at most
LOOKED_AT = 100  # records
MOSTLY = 0.7  # share of a column's cells that hold a digit, so that it is one of numbers or dates
_DIGIT = re.compile(r"[0-9]")
_UNIT = re.compile(
    r"[€$£¥%‰]|eur|usd|gbp|chf|k€|(?:t|m|k|c|µ|u)?[gml](?:[²³23])?|kg|km|ha|kg ?/ ?m[²2]|mg/dl|mmol/l|bpm|mmhg|°c|h|"
    r"min|s|jours?|mois|ans?|années?|heures?|nombre|tage?|monate?|jahre?|stunden?|anzahl|days?|months?|years?|hours?|"
    r"number|d[ií]as|mes(?:es)?|años|horas|número|dagen|maanden|jaar|uren|aantal|giorni|mesi|anni|ore|numero|"
    r"[jdtg]{1,2}[./-][m]{1,2}[./-][jay]{2,4}|[jay]{4}-mm-[jdtg]{2}",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"(?:grand |sub)?total\w*\b|summe\b|(?:ins)?gesamt\w*\b|totaal\b|somme\b|suma\b|ensemble\b|n ?=", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class TableHead:
    """Where a table starts that does not start with its names."""

    delimiter: str
    names: tuple[str, ...]
    end: int  # bytes up to the first row
    line: int  # physical lines up to there
    described: tuple[str, ...]  # what was passed over, for people


def find_heading(text: bytes, delimiter: str | None) -> TableHead | None:
    """The heading of a table; None if its names stand in the first line alone, or nobody can be sure where."""
    best: TableHead | None = None
    for mark in (delimiter,) if delimiter else DELIMITERS:
        found = _heading(text, mark)
        if found is not None and (best is None or len(found.names) > len(best.names)):
            best = found
    return best


def is_total(cells: Sequence[str]) -> bool:
    """Whether a last row holds totals: it says so first, and most of its cells are empty."""
    held = [cell for cell in cells if cell.strip()]
    return len(cells) > 3 and 0 < 2 * len(held) <= len(cells) and _TOTAL.match(held[0].strip()) is not None


def _heading(text: bytes, mark: str) -> TableHead | None:
    rows, ends, lines = _records(text, mark)
    if len(rows) < 3:
        return None
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width < 2 or sum(len(row) == width for row in rows) < min(3, len(rows)):
        return None
    for top, row in enumerate(rows[: min(ABOVE, len(rows) - 1)]):
        if len(row) != width:
            if len(_held(row)) > 2:
                return None  # neither names nor a title
            continue
        names, used = _names(rows, top)
        if names is None:
            if len(_held(row)) > 2 and top and not _may_group(rows[top - 1]):
                return None
            continue
        units = _are_units(rows[top + 1], [r for r in rows[top + 2 :] if len(r) == width])
        below = rows[top + 1 + units :]
        if not top and not units:
            return None
        if top and not _above_numbers(names, below):
            continue
        said = [f"names in line {lines[top - 1] + 1 if top else 1}"] if top else []
        said += ["names of two rows"] if used else []
        said += [f"the units in line {lines[top] + 1} left out"] if units else []
        return TableHead(mark, tuple(names), ends[top + units], lines[top + units], tuple(said))
    return None


def _records(text: bytes, mark: str) -> tuple[list[list[str]], list[int], list[int]]:
    """The first records, where each ends, and how many physical lines there are up to its end."""
    records, rows, ends, lines = Records(text, mark, False, even=False), list[list[str]](), list[int](), list[int]()
    try:
        for record in islice(records, LOOKED_AT):
            rows.append([cell.decode("utf-8", "replace").strip() for cell in record])
            ends.append(records.end)
            lines.append(records.line - 1)
    except Refusal:
        pass
    return rows, ends, lines


def _held(row: Sequence[str]) -> list[str]:
    return [cell for cell in row if cell]


def _may_group(row: Sequence[str]) -> bool:
    """Whether a row may name groups of columns: several cells, and some empty."""
    return 1 < len(_held(row)) < len(row)


def _names(rows: Sequence[list[str]], top: int) -> tuple[list[str] | None, bool]:
    """The names of the columns if row `top` has them, with those of groups above where it needs them."""
    row = rows[top]
    if any(_DIGIT.search(cell) and not re.search(r"[^\W\d_]", cell) for cell in row):
        return None, False  # a number or a date is no name
    above = rows[top - 1] if top and len(rows[top - 1]) == len(row) and _may_group(rows[top - 1]) else None
    names, used = list(row), False
    if above is not None:
        names = [cell or other for cell, other in zip(row, above, strict=True)]
        twice = {name for name, times in Counter(names).items() if times > 1}
        group = ""
        for place, (name, other) in enumerate(zip(row, above, strict=True)):
            group = other or group
            if name and name in twice and group:
                names[place] = f"{group} {name}"
        used = names != row
    return (None, False) if checked_names(names) else (names, used)


def _above_numbers(names: Sequence[str], below: Sequence[list[str]]) -> bool:
    """Whether some column holds digits in every row but not in its name: a row of data would have them, too."""
    return any(
        _of_digits([row[place] for row in below if place < len(row)]) and not _DIGIT.search(name)
        for place, name in enumerate(names)
    )


def _of_digits(cells: Sequence[str]) -> bool:
    held = _held(cells)
    return bool(held) and sum(_DIGIT.search(cell) is not None for cell in held) >= MOSTLY * len(held)


def _are_units(row: Sequence[str], below: Sequence[list[str]]) -> bool:
    """Whether a row below the names holds units: beside numbers and dates alone, and empty wherever texts stand."""
    held = _held(row)
    if not held or not below or len(row) != len(below[0]) or not any(map(_UNIT.fullmatch, held)):
        return False
    if any((_DIGIT.search(cell) and not _UNIT.fullmatch(cell)) or cell.casefold() in MISSING_WORDS for cell in held):
        return False
    columns = [[other[place] for other in below] for place in range(len(row))]
    return all(_of_digits(column) for cell, column in zip(row, columns, strict=True) if cell) and (
        len(held) < len(row) or all(map(_UNIT.fullmatch, held))
    )

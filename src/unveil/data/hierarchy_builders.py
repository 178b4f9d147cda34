"""Hierarchies built from the data itself: round or equally full intervals, frequencies, a taxonomy, or what fits."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from unveil.data.hierarchy import HierarchyTable, iso_date, number_text
from unveil.data.icd10 import icd10_rows, is_icd10
from unveil.data.texts import MISSING_WORDS
from unveil.errors import SchemaError, shown

__all__ = [
    "auto_hierarchy",
    "date_hierarchy",
    "equal_count_hierarchy",
    "frequency_hierarchy",
    "interval_hierarchy",
    "interval_label",
    "neighbour_hierarchy",
    "prefix_hierarchy",
    "round_hierarchy",
    "taxonomy_hierarchy",
]

FIRST_INTERVALS = 20  # at most, on the lowest level of round intervals
MOST_DEPTH = 100  # of a taxonomy


def interval_hierarchy(values: Sequence[float], widths: Sequence[float], origin: float = 0) -> HierarchyTable:
    """Numbers → intervals of growing width, for instance 5, 10, 20 years; each width a multiple of the one before."""
    if not widths or not all(0 < w < np.inf for w in widths):
        raise SchemaError("intervals need one positive width a level, for instance 5+10+20")
    # As written, not as stored: 0.3 lies in [0.3,0.4), though 0.3 // 0.1 is 2 in binary.
    exact = [Fraction(number_text(w)) for w in widths]
    for narrow, wide in pairwise(exact):
        if wide <= narrow or wide % narrow:
            raise SchemaError(
                f"width {number_text(float(wide))} is not a multiple of {number_text(float(narrow))}: "
                "the intervals would not be nested"
            )
    whole = all(float(v).is_integer() for v in [*values, *widths, origin])
    start = Fraction(number_text(origin))
    rows = []
    for value in values:
        row = [number_text(value)]
        for width in exact:
            low = start + (Fraction(row[0]) - start) // width * width
            row.append(interval_label(float(low), float(low + width - whole), whole))
        rows.append((*row, "*"))
    return HierarchyTable(rows=tuple(rows), source="intervals")


def interval_label(low: float, high: float, whole: bool) -> str:
    """An interval as people write it: 30-39; in brackets where a dash could be a minus, or an end is left out."""
    if whole and low >= 0:
        return f"{number_text(low)}-{number_text(high)}" if low != high else number_text(low)
    ends = f"{number_text(low)},{number_text(high)}"
    return f"[{ends}]" if whole else f"[{ends})"


def prefix_hierarchy(values: Iterable[str], keep: Sequence[int] | None = None) -> HierarchyTable:
    """Codes such as postcodes → ever shorter prefixes, the rest replaced by `*`: 45501 → 4550* → 455**."""
    texts = list(values)
    length = max((len(v) for v in texts), default=0)
    if length < 2 and not keep:
        raise SchemaError("prefixes need values of two characters or more")
    steps = list(keep) if keep is not None else _telling(texts, length)
    if any(a <= b for a, b in pairwise(steps)) or any(s < 1 for s in steps):
        raise SchemaError("prefix lengths must shrink from level to level and stay above 0, for instance 4+2")
    if "" in texts:
        raise SchemaError("an empty value has no prefix; list it under missing, or leave it out")
    rows = [(text, *(text[:step] + "*" * (length - step) for step in steps), "*") for text in texts]
    return HierarchyTable(rows=tuple(rows), source="prefixes")


def _telling(texts: Sequence[str], length: int) -> list[int]:
    """Lengths of prefixes, from the longest, but for those that end in a mark: 5614 ** and 5614*** are the same."""
    steps = range(length - 1, 0, -1)
    return [step for step in steps if step == 1 or any(text[step - 1 : step].isalnum() for text in texts)]


DATE_PARTS = {
    "week": lambda d: "{}-W{:02d}".format(*d.isocalendar()[:2]),
    "month": lambda d: f"{d.year:04d}-{d.month:02d}",
    "quarter": lambda d: f"{d.year:04d}-Q{(d.month + 2) // 3}",
    "year": lambda d: f"{d.year:04d}",
    "decade": lambda d: f"{d.year // 10 * 10:04d}s",
}


def date_hierarchy(values: Iterable[str], parts: Sequence[str] = ("month", "quarter", "year")) -> HierarchyTable:
    """ISO dates → month, quarter, year, decade (or week) labels."""
    unknown = [p for p in parts if p not in DATE_PARTS]
    if unknown or not parts:
        raise SchemaError(
            f"date part {shown(unknown[0] if unknown else '')} is unknown; choose from {', '.join(DATE_PARTS)}"
        )
    rows = []
    for text in values:
        day = iso_date(text)
        if day is None:
            raise SchemaError(f"{shown(text)} is not a date such as 2024-01-31")
        rows.append((text, *(DATE_PARTS[part](day) for part in parts), "*"))
    return HierarchyTable(rows=tuple(rows), source="date parts")


def round_hierarchy(values: Sequence[float], first: int = FIRST_INTERVALS) -> HierarchyTable:
    """Numbers → intervals of 1, 5, 10, 50 … times a power of ten; at most `first` intervals on the lowest level."""
    places = sorted(set(values))
    if len(places) < 2:
        raise SchemaError("round intervals need two different numbers or more")
    if first < 2:
        raise SchemaError(f"at most {first} intervals on the lowest level: at least 2 are needed")
    least = min(b - a for a, b in pairwise(places))
    widths: list[Fraction] = []
    ends = [Fraction(number_text(places[i])) for i in (0, -1)]
    reach = places[-1] - places[0]
    if not np.isfinite(reach):
        raise SchemaError("the numbers lie too far apart for intervals")
    width, number = Fraction(10) ** (int(np.floor(np.log10(reach))) - len(str(first)) - 1), 0
    while True:
        count = ends[1] // width - ends[0] // width + 1
        if count <= 1 or (count <= 2 and widths):
            break
        if width > Fraction(least) and count <= first:
            widths.append(width)
        width, number = width * (2 if number % 2 else 5), number + 1
    if not widths:  # two neighbours: nothing lies between them and `*`
        return HierarchyTable(tuple((number_text(p), "*") for p in places), source="intervals")
    return interval_hierarchy(places, [float(w) for w in widths])


def equal_count_hierarchy(values: Sequence[float], counts: ArrayLike, groups: int = 8) -> HierarchyTable:
    """Numbers → intervals with about equally many rows; neighbours are merged two by two up to `*`."""
    if groups < 2:
        raise SchemaError(f"{groups} intervals: at least 2 are needed")
    order = np.argsort(np.asarray(values, dtype=np.float64), kind="stable")
    places, rows = np.asarray(values, dtype=np.float64)[order], np.asarray(counts, dtype=np.float64)[order]
    if len(places) < 2 or (np.diff(places) == 0).any() or not (rows > 0).all():
        raise SchemaError("equally full intervals need two or more different numbers, each with its rows")
    middle = (np.cumsum(rows) - rows / 2) / rows.sum()
    group = np.minimum((middle * groups).astype(np.int64), groups - 1)
    levels = []
    while len(np.unique(group)) > 1:
        if len(np.unique(group)) < len(places):
            levels.append(_spans(places, group))
        group = group // 2
    texts = [number_text(p) for p in places.tolist()]
    distinct = [level for i, level in enumerate(levels) if not i or level != levels[i - 1]]
    return HierarchyTable(
        tuple((t, *labels, "*") for t, *labels in zip(texts, *distinct, strict=True)), source="equal count"
    )


def _spans(places: np.ndarray, group: np.ndarray) -> list[str]:
    labels = []
    for number in group.tolist():
        inside = places[group == number]
        low, high = float(inside[0]), float(inside[-1])
        label = f"[{number_text(low)},{number_text(high)}]" if (places % 1).any() else interval_label(low, high, True)
        labels.append(number_text(low) if low == high else label)
    return labels


def frequency_hierarchy(values: Sequence[str], counts: ArrayLike) -> HierarchyTable:
    """Names without an order → the rarer half together, then the rarer half of those that still stand alone, and so on.

    Common values stay exact longest, as with ARX's priority-based hierarchies. Equal counts: the name decides.
    """
    rows = np.asarray(counts)
    if not len(values) or len(values) != len(rows):
        raise SchemaError("frequencies need one value or more, each with its rows")
    order = sorted(range(len(values)), key=lambda i: (-int(rows[i]), values[i]))
    ranked = [values[i] for i in order]
    kept, levels = len(ranked) // 2, []
    while kept >= 1:
        label = f"rarest {len(ranked) - kept}"
        while label in values:
            label += "'"
        levels.append([*ranked[:kept], *[label] * (len(ranked) - kept)])
        kept //= 2
    levels = [level for level in levels if level != ranked and len(set(level)) < len(ranked)]
    row_of = {t: (t, *labels, "*") for t, *labels in zip(ranked, *levels, strict=True)}
    return HierarchyTable(tuple(row_of[v] for v in values), source="frequency")


def taxonomy_hierarchy(parent_of: Mapping[str, str], source: str = "taxonomy") -> HierarchyTable:
    """A tree given as child → parent (empty or `*`: the top); its leaves are the values.

    Leaves that lie higher than others keep their own name on the levels they lack.
    """
    if not parent_of:
        raise SchemaError(f"{source}: holds no rows; write one row a child, with its parent")
    parents = set(parent_of.values())
    paths = []
    for leaf in (child for child in parent_of if child not in parents):
        path, at = [leaf], parent_of[leaf]
        while at not in ("", "*"):
            if len(path) > MOST_DEPTH or at in path:
                raise SchemaError(
                    f"{source}: {shown(at)} lies within itself, or over {MOST_DEPTH} deep; correct its parent"
                )
            path.append(at)
            at = parent_of.get(at, "")
        paths.append(path)
    if not paths:
        raise SchemaError(f"{source}: has no leaf: every name is the parent of another; correct the parents")
    depth = max(map(len, paths))
    rows = [(*[path[0]] * (depth - len(path)), *path, "*") for path in paths]
    if depth == 1:
        raise SchemaError(f"{source}: no parent but the top: there is nothing between the values and *")
    return HierarchyTable(tuple(rows), source=source)


AGE_WIDTHS = (5, 10, 20, 40)
_PERIOD = re.compile(r"(\d{4})-(?:Q[1-4]|W\d{2}|\d{2})", re.ASCII)
NAMED_TOGETHER = 3  # values whose names make a label


def auto_hierarchy(
    values: Sequence[str],
    counts: ArrayLike,
    place: Callable[[str], float | None] | None = None,
    *,
    ages: bool = False,
    codes: bool = False,
) -> HierarchyTable:
    """What a steward would draw: years of age in 5, 10, 20; round intervals; dates; ICD-10; prefixes; rare ones.

    `place` reads a number; `ages`, `codes`: what the column's name says.
    Words for missing among the values stand apart on every level.
    """
    rows = dict(zip(values, np.asarray(counts).tolist(), strict=True))
    apart = [v for v in values if v.strip().casefold() in MISSING_WORDS and (place is None or place(v) is None)]
    kept = [v for v in values if v not in set(apart)]
    ladder = _fitting(kept, [rows[v] for v in kept], place, ages, codes)
    if not apart:
        return ladder
    height = len(ladder.rows[0])
    return HierarchyTable((*ladder.rows, *((v, *[v] * (height - 2), "*") for v in apart)), source=ladder.source)


def _fitting(
    values: Sequence[str], counts: Sequence[int], place: Callable[[str], float | None] | None, ages: bool, codes: bool
) -> HierarchyTable:
    if place is not None:
        numbers = [n for n in map(place, values) if n is not None]
        if len(numbers) == len(values):
            if ages and min(numbers) >= 0 and 40 <= max(numbers) <= 130:
                return interval_hierarchy(numbers, AGE_WIDTHS)
            return round_hierarchy(numbers)
    if values and all(iso_date(v) for v in values):
        return date_hierarchy(values)
    periods = [_PERIOD.fullmatch(v) for v in values]
    if values and all(periods):
        return HierarchyTable(
            tuple((v, found[1], "*") for v, found in zip(values, periods, strict=True) if found), source="years"
        )
    if values and all(map(is_icd10, values)) and (codes or len(values) >= 10):
        return HierarchyTable(tuple(icd10_rows(list(values))), source="ICD-10")
    lengths = {len(v) for v in values}
    if (
        (codes or len(lengths) == 1)
        and min(lengths, default=0) >= (3 if all(v.isdigit() for v in values) else 2)
        and all(any(c.isdigit() for c in v) for v in values)
    ):
        return prefix_hierarchy(values)
    return _with_names(frequency_hierarchy(values, counts))


def _with_names(ladder: HierarchyTable) -> HierarchyTable:
    """A few values together go by their names: PKV or Selbstzahler."""
    members: dict[str, list[str]] = {}
    for row in ladder.rows:
        for label in {*row[1:-1]}:
            members.setdefault(label, []).append(row[0])
    taken = {row[0] for row in ladder.rows}
    names = {
        label: " or ".join(texts)
        for label, texts in members.items()
        if 1 < len(texts) <= NAMED_TOGETHER and sum(map(len, texts)) <= 60
    }
    names = {label: text for label, text in names.items() if text not in taken}
    rows = tuple((row[0], *(names.get(label, label) for label in row[1:-1]), "*") for row in ladder.rows)
    return HierarchyTable(rows, source=ladder.source)


def neighbour_hierarchy(values: Sequence[str], label: Callable[[int, int], str]) -> HierarchyTable:
    """Values in their order → two neighbours together, four, and so on; `label` names those from one to another."""
    levels: list[list[str]] = []
    width = 2
    while len(values) > width:
        starts = range(0, len(values), width)
        names = [label(start, min(start + width, len(values)) - 1) for start in starts]
        levels.append([names[code // width] for code in range(len(values))])
        width *= 2
    return HierarchyTable(tuple((v, *labels, "*") for v, *labels in zip(values, *levels, strict=True)), "neighbours")

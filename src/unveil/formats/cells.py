"""One published cell: its text, and the region of codes it stands for."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unveil.attribute import Attribute, Kind, canonical, position
from unveil.errors import shown
from unveil.regions import Regions

__all__ = ["CellError", "read_cells", "shown_values", "write_cells"]

_DASHED = re.compile(r"\[\s*(\d+(?:\.\d+)?)\s*-\s*(\d+(?:\.\d+)?)\s*\]", re.ASCII)
_SPECIAL = frozenset(',{}[]"')
_MOST_FILLED = 1_000_000

Codes = NDArray[np.int64]
Runs = tuple[tuple[int, int], ...]


class CellError(ValueError):
    """What is wrong with one cell; the caller knows where it stands. args = (message, position of the text)."""


def read_cells(texts: Sequence[str], attribute: Attribute, decimal: str = ".") -> Regions:
    """The region of each text: domain value, hierarchy label, notation, in this order.

    The first text that is none of them is a CellError.
    """
    reader = _Reader(attribute, decimal, _label_members(attribute))
    members = []
    for index, (text, code) in enumerate(zip(texts, attribute.encode(texts, decimal).tolist(), strict=True)):
        try:
            members.append(reader.members(text, code))
        except CellError as error:
            raise CellError(str(error), index) from None
    return Regions.sets(attribute.codes, members)


def write_cells(regions: Regions, attribute: Attribute) -> list[str]:
    """The text of each region; read_cells gives the same region back."""
    labels = _label_members(attribute)
    label_of = _label_texts(labels, attribute)
    whole, single = regions.whole, regions.single()
    texts, noted = [], []
    for region, runs in enumerate(_runs(regions)):
        if single[region] >= 0:
            texts.append(attribute.values[single[region]])
        elif whole[region]:
            texts.append("*")
        elif runs in label_of:
            texts.append(label_of[runs])
        else:
            noted.append(region)
            texts.append(_notation(runs, attribute))
    while noted:  # a notation that is also a value or a label gets blanks inside until it is neither
        codes = attribute.encode([texts[region] for region in noted]).tolist()
        noted = [r for r, code in zip(noted, codes, strict=True) if code != -1 or texts[r] in labels]
        for region in noted:
            texts[region] = f"{texts[region][0]} {texts[region][1:]}"
    return texts


def shown_values(texts: Iterable[str], kind: Kind, decimal: str = ".") -> list[str]:
    """Every value that cells name, for a domain that nothing else declares: values, set members, ends of intervals.

    Between the whole-numbered ends of intervals every whole number is a value. A text that can be no value is left
    out: read_cells says what is wrong with it.
    """
    found: set[str] = set()
    spans = False
    for index, text in enumerate(texts):
        cell = text.strip()
        try:
            if _enclosed(cell, "{}"):
                found.update(item for item in _items(cell[1:-1]) if item is not None)
            elif _enclosed(cell, "[]") and (kind.measured or "," in cell):
                spans = True
                found.update(end for end in _ends(cell) if end is not None)
            elif cell != "*":
                found.add(_unquoted(text))
        except CellError as error:
            raise CellError(str(error), index) from None
    if not kind.measured:
        return sorted(found)
    place_of = {text: place for text in found if (place := position(text, kind, decimal)) is not None}
    values, places = set(place_of), place_of.values()
    if spans and values and all(p.is_integer() for p in places) and max(places) - min(places) <= _MOST_FILLED:
        values.update(canonical(float(p), kind) for p in range(int(min(places)), int(max(places)) + 1))
    return sorted(values)


@dataclass(frozen=True, slots=True)
class _Reader:
    """What the cells of one attribute may say."""

    attribute: Attribute
    decimal: str
    labels: dict[str, Codes]

    def members(self, text: str, code: int) -> Codes:
        """The codes of one cell; `code` is what the attribute makes of it."""
        cell = text.strip()
        if code >= 0:
            return np.array([code])
        if text in self.labels:
            return self.labels[text]
        if cell == "*":
            return np.arange(self.attribute.codes)
        if _enclosed(cell, "{}"):
            return self._set(cell)
        if _enclosed(cell, "[]"):
            return self._interval(cell)
        if _unquoted(cell) != cell:
            return self._value(_unquoted(cell), cell)
        if code == -2:
            raise CellError(f'a missing value; set missing = "category" for {self.attribute.name} in the schema')
        raise CellError(
            f"{shown(cell)} is no value, interval or set of the domain ({self._domain()}); "
            f"mend the cell or add a hierarchy for {self.attribute.name}"
        )

    def _set(self, cell: str) -> Codes:
        items = [item or "" for item in _items(cell[1:-1])]
        if not items:
            raise CellError(f"{shown(cell)} is an empty set; a cell must name at least one value")
        codes = self.attribute.encode(items, self.decimal).tolist()
        parts = [
            self.labels[item] if code < 0 and item in self.labels else self._value(item, cell, code)
            for item, code in zip(items, codes, strict=True)
        ]
        return np.concatenate(parts)

    def _value(self, item: str, cell: str, code: int | None = None) -> Codes:
        code = int(self.attribute.encode([item], self.decimal)[0]) if code is None else code
        if code < 0:
            raise CellError(f"{shown(item)} in {shown(cell)} is no value of the domain ({self._domain()})")
        return np.array([code])

    def _interval(self, cell: str) -> Codes:
        attribute = self.attribute
        if not attribute.kind.ordered:
            raise CellError(
                f"{shown(cell)} is an interval but {attribute.name} has no order; write a set {{a,b}} or set its kind"
            )
        ends = _ends(cell)
        if len(ends) != 2 or ends == [None, None]:
            raise CellError(f"{shown(cell)} is no interval; write [low,high], [low,] or [,high], both ends included")
        if attribute.low is None or attribute.high is None:
            first = 0 if ends[0] is None else int(self._value(ends[0], cell)[0])
            last = attribute.real - 1 if ends[1] is None else int(self._value(ends[1], cell)[0])
            if max(first, last) >= attribute.real:
                raise CellError(f"{shown(cell)}: a missing value is no end of an interval, it lies outside the order")
            inside = np.arange(first, last + 1)
        else:
            limits = (-np.inf, np.inf)
            places = [
                limit if end is None else position(end, attribute.kind, self.decimal)
                for end, limit in zip(ends, limits, strict=True)
            ]
            if places[0] is None or places[1] is None:
                raise CellError(f"{shown(cell)}: an end is no {attribute.kind} value")
            inside = np.flatnonzero((attribute.low >= places[0]) & (attribute.high <= places[1]))
            touched = np.flatnonzero((attribute.high >= places[0]) & (attribute.low <= places[1]))
            if attribute.binned and len(touched) != len(inside):
                raise CellError(f"{shown(cell)} cuts through a bin of {attribute.name}; change the bins in the schema")
        if not len(inside):
            raise CellError(f"{shown(cell)} holds no value of the domain ({self._domain()})")
        return inside

    def _domain(self) -> str:
        """The domain in a few words, and where it comes from."""
        values, real = self.attribute.values, self.attribute.real
        if self.attribute.kind.measured and not self.attribute.binned and real > 3:
            return f"{self.attribute.source}: {values[0]} to {values[real - 1]}"
        first = ", ".join(shown(v, 20) for v in values[:4])
        return f"{self.attribute.source}: {first}" + (f" … {len(values)} values" if len(values) > 4 else "")


def _label_members(attribute: Attribute) -> dict[str, Codes]:
    members: dict[str, Codes] = {}
    if attribute.hierarchy is not None:
        for nodes, labels in list(zip(attribute.hierarchy.node, attribute.hierarchy.labels, strict=True))[1:-1]:
            for node, label in enumerate(labels):
                members.setdefault(label, np.flatnonzero(nodes == node))
    return members


def _label_texts(labels: dict[str, Codes], attribute: Attribute) -> dict[Runs, str]:
    """The label of each set of codes that has one which cannot be mistaken for a value."""
    plain = [label for label, code in zip(labels, attribute.encode(list(labels)).tolist(), strict=True) if code == -1]
    regions = Regions.sets(attribute.codes, [labels[label] for label in plain])
    texts: dict[Runs, str] = {}
    for label, runs in zip(plain, _runs(regions), strict=True):
        texts.setdefault(runs, label)
    return texts


def _runs(regions: Regions) -> list[Runs]:
    """The runs of each region."""
    pairs = list(zip(regions.low.tolist(), regions.high.tolist(), strict=True))
    return [tuple(pairs[a:b]) for a, b in pairwise(regions.start.tolist())]


def _notation(runs: Runs, attribute: Attribute) -> str:
    """An interval where the order allows one, else a set."""
    low, high = runs[0]
    values, ends = attribute.values, ["", ""]
    if len(runs) == 1 and attribute.kind.ordered and not attribute.open_bins and high < attribute.real:
        ends = [_quoted(values[low]), _quoted(values[high])]
        if attribute.binned and attribute.low is not None and attribute.high is not None:
            places = attribute.low[low], attribute.high[high]
            ends = [canonical(p, attribute.kind) if np.isfinite(p) else "" for p in places]
    if any(ends):
        return f"[{ends[0]},{ends[1]}]"
    return "{" + ",".join(_quoted(values[c]) for low, high in runs for c in range(low, high + 1)) + "}"


def _enclosed(cell: str, pair: str) -> bool:
    return len(cell) >= 2 and cell[0] == pair[0] and cell[-1] == pair[1]


def _ends(cell: str) -> list[str | None]:
    """The ends of an interval as written; None = open."""
    dashed = _DASHED.fullmatch(cell)
    return list(dashed.groups()) if dashed else _items(cell[1:-1])


def _items(inner: str) -> list[str | None]:
    """Items separated by commas, None where nothing is written; one with special characters is a JSON string."""
    items: list[str | None] = []
    rest = inner.strip()
    if not rest:
        return items
    while True:
        rest = rest.lstrip()
        if rest.startswith('"'):
            try:
                item, stop = json.JSONDecoder().raw_decode(rest)
            except json.JSONDecodeError:
                raise CellError(f"{shown(inner)}: a quoted value does not end") from None
            items.append(item)
            rest = rest[stop:].lstrip()
            if rest and not rest.startswith(","):
                raise CellError(f"{shown(inner)}: a comma must follow a quoted value")
        else:
            item = rest.partition(",")[0]
            items.append(item.strip() or None)
            rest = rest[len(item) :]
        if not rest:
            return items
        rest = rest[1:]


def _quoted(value: str) -> str:
    """A value as an item of a set or an end of an interval."""
    special = not value or value != value.strip() or not _SPECIAL.isdisjoint(value) or not value.isprintable()
    return json.dumps(value, ensure_ascii=False) if special else value


def _unquoted(cell: str) -> str:
    """The value that a JSON string names; any other text is itself."""
    if not _enclosed(cell, '""'):
        return cell
    try:
        return str(json.loads(cell))
    except json.JSONDecodeError:
        return cell

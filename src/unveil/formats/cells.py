"""One published cell: its text, and the region of codes it stands for."""

import json
import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.attribute import Attribute, Kind, canonical, position
from unveil.errors import ReleaseError, shown
from unveil.hierarchy import Hierarchy
from unveil.regions import Regions

__all__ = ["read_cells", "shown_values", "write_cells"]

_DASHED = re.compile(r"^\[\s*(\d+(?:\.\d+)?)\s*-\s*(\d+(?:\.\d+)?)\s*\]$")
_SPECIAL = frozenset(',{}[]"')
_MOST_FILLED = 1_000_000


class CellError(ValueError):
    """What is wrong with one cell; the caller knows where it stands."""


def read_cells(texts: Sequence[str], attribute: Attribute) -> Regions:
    """The region of each text: domain value, hierarchy label, notation, in this order.

    An error names the position of the first bad text: CellError.args = (message, index).
    """
    codes = attribute.encode(texts)
    labels = _label_members(attribute.hierarchy) if attribute.hierarchy is not None else {}
    members: list[NDArray[np.int64]] = []
    for index, (text, code) in enumerate(zip(texts, codes.tolist(), strict=True)):
        if code >= 0:
            members.append(np.array([code]))
        elif text in labels:
            members.append(labels[text])
        else:
            try:
                members.append(_read_notation(text.strip(), attribute, labels, refused=code == -2))
            except CellError as error:
                raise CellError(str(error), index) from None
    return Regions.sets(attribute.codes, members)


def write_cells(regions: Regions, attribute: Attribute) -> list[str]:
    """The text of each region; read_cells gives the same region back."""
    label_of = _label_texts(attribute)
    whole, single = regions.whole, regions.single()
    texts = []
    for region in range(len(regions)):
        start, stop = int(regions.start[region]), int(regions.start[region + 1])
        runs = tuple(zip(regions.low[start:stop].tolist(), regions.high[start:stop].tolist(), strict=True))
        if single[region] >= 0 and attribute.codes > 1:
            texts.append(attribute.values[single[region]])
        elif whole[region]:
            texts.append(attribute.values[0] if attribute.codes == 1 else "*")
        elif runs in label_of:
            texts.append(label_of[runs])
        elif len(runs) == 1 and attribute.kind.ordered and not attribute.open_bins and runs[0][1] < attribute.real:
            texts.append(_interval_text(*runs[0], attribute))
        else:
            texts.append(
                "{" + ",".join(_quoted(attribute.values[c]) for low, high in runs for c in range(low, high + 1)) + "}"
            )
    return texts


def shown_values(texts: Iterable[str], kind: Kind) -> list[str]:
    """Every value that cells name, for a domain that nothing else declares: values, set members, ends of intervals.

    Between the whole-numbered ends of intervals every whole number is a value.
    """
    found: set[str] = set()
    places: list[float] = []
    for text in texts:
        cell = text.strip()
        if cell == "*" or not cell:
            continue
        if cell[0] == "{" and cell[-1] == "}":
            found.update(_split(cell[1:-1]))
        elif cell[0] == "[" and cell[-1] == "]" and (kind.measured or "," in cell):
            dashed = _DASHED.match(cell)
            ends = list(dashed.groups()) if dashed else _split(cell[1:-1])
            found.update(e for e in ends if e)
            places.extend(p for e in ends if e and (p := position(e, kind)) is not None)
        else:
            found.add(text)
    if kind.measured and places:
        known = places + [p for v in found if (p := position(v, kind)) is not None]
        if all(p.is_integer() for p in known) and max(known) - min(known) <= _MOST_FILLED:
            found.update(canonical(float(p), kind) for p in range(int(min(known)), int(max(known)) + 1))
    return sorted(found)


def _label_members(hierarchy: Hierarchy) -> dict[str, NDArray[np.int64]]:
    members: dict[str, NDArray[np.int64]] = {}
    for level in range(1, hierarchy.height):
        for node, label in enumerate(hierarchy.labels[level]):
            members.setdefault(label, np.flatnonzero(hierarchy.node[level] == node))
    return members


def _label_texts(attribute: Attribute) -> dict[tuple[tuple[int, int], ...], str]:
    """The label of each set of codes that has one which cannot be mistaken for a value."""
    if attribute.hierarchy is None:
        return {}
    members = _label_members(attribute.hierarchy)
    plain = [label for label, code in zip(members, attribute.encode(list(members)).tolist(), strict=True) if code == -1]
    regions = Regions.sets(attribute.codes, [members[label] for label in plain])
    texts: dict[tuple[tuple[int, int], ...], str] = {}
    for region, label in enumerate(plain):
        start, stop = int(regions.start[region]), int(regions.start[region + 1])
        runs = tuple(zip(regions.low[start:stop].tolist(), regions.high[start:stop].tolist(), strict=True))
        texts.setdefault(runs, label)
    return texts


def _read_notation(
    text: str, attribute: Attribute, labels: dict[str, NDArray[np.int64]], *, refused: bool
) -> NDArray[np.int64]:
    if text == "*":
        return np.arange(attribute.codes)
    if len(text) >= 2 and text[0] == "{" and text[-1] == "}":
        return _read_set(text, attribute, labels)
    if len(text) >= 2 and text[0] == "[" and text[-1] == "]":
        return _read_interval(text, attribute)
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return _value(_split(text)[0], attribute, text)
    if refused:
        raise CellError(f'a missing value; set missing = "category" for {attribute.name} in the schema')
    raise CellError(
        f"{shown(text)} is no value, interval or set of the {attribute.source} domain ({_domain_text(attribute)}); "
        f"mend the cell or add a hierarchy for {attribute.name}"
    )


def _read_set(text: str, attribute: Attribute, labels: dict[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    items = _split(text[1:-1])
    if not items:
        raise CellError(f"{shown(text)} is an empty set; a cell must name at least one value")
    codes = attribute.encode(items)
    parts = [
        np.array([code]) if code >= 0 else labels[item] if item in labels else _value(item, attribute, text)
        for item, code in zip(items, codes.tolist(), strict=True)
    ]
    return np.unique(np.concatenate(parts))


def _value(item: str, attribute: Attribute, text: str) -> NDArray[np.int64]:
    code = int(attribute.encode([item])[0])
    if code < 0:
        raise CellError(
            f"{shown(item)} in {shown(text)} is no value of the {attribute.source} domain ({_domain_text(attribute)})"
        )
    return np.array([code])


def _read_interval(text: str, attribute: Attribute) -> NDArray[np.int64]:
    if not attribute.kind.ordered:
        raise CellError(
            f"{shown(text)} is an interval but {attribute.name} has no order; write a set {{a,b}} or set its kind"
        )
    dashed = _DASHED.match(text)
    ends = list(dashed.groups()) if dashed else _split(text[1:-1])
    if len(ends) != 2 or not any(ends):
        raise CellError(f"{shown(text)} is no interval; write [low,high], [low,] or [,high], both ends included")
    if attribute.low is None or attribute.high is None:
        first = int(_value(ends[0], attribute, text)[0]) if ends[0] else 0
        last = int(_value(ends[1], attribute, text)[0]) if ends[1] else attribute.real - 1
        inside = np.arange(first, last + 1)
    else:
        places = [position(e, attribute.kind) if e else limit for e, limit in zip(ends, (-np.inf, np.inf), strict=True)]
        if places[0] is None or places[1] is None:
            raise CellError(f"{shown(text)}: an end is no {attribute.kind} value")
        inside = np.flatnonzero((attribute.low >= places[0]) & (attribute.high <= places[1]))
        touched = np.flatnonzero((attribute.high >= places[0]) & (attribute.low <= places[1]))
        if attribute.binned and len(touched) != len(inside):
            raise CellError(f"{shown(text)} cuts through a bin of {attribute.name}; change the bins in the schema")
    if not len(inside):
        raise CellError(f"{shown(text)} holds no value of the {attribute.source} domain ({_domain_text(attribute)})")
    return inside


def _split(inner: str) -> list[str]:
    """Items separated by commas; an item with special characters is a JSON string."""
    items, rest = [], inner.strip()
    if not rest:
        return []
    decoder = json.JSONDecoder()
    while True:
        rest = rest.lstrip()
        if rest.startswith('"'):
            try:
                item, stop = decoder.raw_decode(rest)
            except json.JSONDecodeError:
                raise CellError(f"{shown(inner)}: a quoted value does not end") from None
            rest = rest[stop:].lstrip()
            if rest and not rest.startswith(","):
                raise CellError(f"{shown(inner)}: a comma must follow a quoted value")
        else:
            item, comma, _ = rest.partition(",")
            rest = rest[len(item) :]
            item = item.strip()
        items.append(item)
        if not rest:
            return items
        rest = rest[1:]


def _quoted(value: str) -> str:
    special = not value or value != value.strip() or not _SPECIAL.isdisjoint(value) or not value.isprintable()
    return json.dumps(value, ensure_ascii=False) if special else value


def _interval_text(low: int, high: int, attribute: Attribute) -> str:
    if attribute.binned and attribute.low is not None and attribute.high is not None:
        ends = [
            canonical(p, attribute.kind) if np.isfinite(p) else "" for p in (attribute.low[low], attribute.high[high])
        ]
    else:
        ends = [_quoted(attribute.values[low]), _quoted(attribute.values[high])]
    return f"[{ends[0]},{ends[1]}]"


def _domain_text(attribute: Attribute) -> str:
    values = attribute.values
    if attribute.kind.measured and not attribute.binned and len(values) > 3:
        return f"{values[0]} to {values[attribute.real - 1]}"
    return ", ".join(shown(v, 20) for v in values[:4]) + (f" … {len(values)} values" if len(values) > 4 else "")


def cell_error(error: CellError, where: str) -> ReleaseError:
    """The error a user sees: where the cell stands and what is wrong with it."""
    return ReleaseError(f"{where}: {error.args[0]}")

"""One published cell: its text, and the region of codes it stands for."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role, canonical, position
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.errors import UsageError, shown
from unveil.formats.cells.notations import Items, Span, forms, is_token
from unveil.formats.cells.reader import CellError, CellReader, enclosed, own_ends, own_items, quoted, unquoted
from unveil.formats.output import csv_bytes

__all__ = ["CellError", "cell_members", "mapping_bytes", "reaches", "read_cells", "shown_values", "write_cells"]

# ------------------------------------------------------------------------------------------------------------- mapping

MOST_ROWS = 5_000_000


def mapping_bytes(release: Release) -> bytes:
    """A CSV: attribute, value, cell, rows: every published cell that may stand for the value, and in how many rows.

    A value with one cell was recoded the same everywhere; several cells are local recoding, or some were suppressed.
    """
    columns: list[list[str]] = [[], [], [], []]
    total = 0
    for index, attribute in enumerate(release.attributes):
        regions = release.regions[index]
        if attribute.role is not Role.QUASI_IDENTIFIER and (regions.sizes == 1).all():
            continue
        total += int(regions.sizes.sum())
        if total > MOST_ROWS:
            raise UsageError(f"the mapping has over {MOST_ROWS:,} rows; the release holds too many different cells")
        block = release.block_of(index)
        rows = np.bincount(block.region(index), weights=block.count, minlength=len(regions)).astype(np.int64)
        texts = write_cells(regions, attribute)
        pairs = sorted((int(code), region) for region in range(len(regions)) for code in regions.members(region))
        for code, region in pairs:
            for column, text in zip(
                columns, (attribute.name, attribute.values[code], texts[region], str(rows[region])), strict=True
            ):
                column.append(text)
    return csv_bytes(["attribute", "value", "cell", "rows"], columns)


# --------------------------------------------------------------------------------------------------------------- cells

_MOST_FILLED = 1_000_000

Codes = NDArray[np.int64]
Runs = tuple[tuple[int, int], ...]


def read_cells(texts: Sequence[str], attribute: Attribute, decimal: str = ".", named: tuple[str, ...] = ()) -> Regions:
    """The region of each text: domain value, hierarchy label, notation, in this order.

    Our own notation comes before those of other tools, and those `named` before all. The first text that is none of
    them, or that several fit, is a CellError.
    """
    members = []
    for index, found in enumerate(cell_members(texts, attribute, decimal, named)):
        if isinstance(found, CellError):
            raise CellError(str(found), index) from None
        members.append(found)
    return Regions.sets(attribute.codes, members)


def cell_members(
    texts: Sequence[str], attribute: Attribute, decimal: str = ".", named: tuple[str, ...] = ()
) -> Iterator[Codes | CellError]:
    """The codes of each text's region, or what is wrong with the text."""
    reader = CellReader(attribute, decimal, _label_members(attribute), named)
    for text, code in zip(texts, attribute.encode(texts, decimal).tolist(), strict=True):
        try:
            yield reader.members(text, code)
        except CellError as error:
            yield error


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


def shown_values(
    texts: Iterable[str], kind: Kind, decimal: str = ".", named: tuple[str, ...] = (), tokens: Sequence[str] = ()
) -> list[str]:
    """Every value that cells name, for a domain that nothing else declares: values, set members, ends of intervals.

    Between the whole-numbered ends of intervals every whole number is a value. A text that can be no value is left
    out: read_cells says what is wrong with it. `tokens` for missing name none where the user says that they withhold.
    """
    found: set[str] = set()
    plain: dict[str, int] = {}  # categories as they stand, and where
    spans = False
    texts = list(texts)
    for index, text in enumerate(texts):
        if "suppressed" in named and is_token(text.strip(), tokens):
            continue
        try:
            if kind.measured:
                values, span = _shown_places(text.strip(), kind, decimal, named)
                spans |= span
            else:
                values = _shown_categories(text, named)
                if values == [text]:
                    plain[text] = index
        except CellError as error:
            raise CellError(str(error), index) from None
        found.update(values)
    if not kind.measured:
        if "value" not in named:
            _check_categories(plain, found)
        filled = {text for text in plain if text != text.strip() and text.strip() in found}  # up with blanks
        return sorted(found - filled)
    place_of = {text: place for text in found if (place := position(text, kind, decimal)) is not None}
    values, places = list(place_of), place_of.values()
    if spans and values and all(p.is_integer() for p in places) and max(places) - min(places) <= _MOST_FILLED:
        values += [canonical(float(p), kind) for p in range(int(min(places)), int(max(places)) + 1)]
    return sorted(set(values))


def reaches(text: str, kind: Kind, decimal: str = ".") -> bool:
    """Whether a cell goes on beyond the values that are shown: `*`, NA, an interval with an open end, `<50`."""
    cell = text.strip()
    if cell in ("NA", "<NA>") or (cell and not cell.strip("*")):
        return True
    if cell[:1] == "[" and cell[-1:] == "]" and (cell[1:].lstrip()[:1] == "," or cell[:-1].rstrip()[-1:] == ","):
        return True
    return any(isinstance(f, Span) and None in (f.low, f.high) for f in forms(cell, kind, decimal))


def _shown_places(cell: str, kind: Kind, decimal: str, named: tuple[str, ...]) -> tuple[list[str], bool]:
    """Numbers or dates that a cell names, and whether those between them are named too."""
    if not cell.strip("*"):
        return [], False
    if enclosed(cell, "{}") and "'" not in cell and (decimal == "." or '"' in cell):
        return [item for item in own_items(cell[1:-1]) if item is not None], False
    every = forms(cell, kind, decimal)
    found = [f for f in every if not isinstance(f, Items) or _lists_values(f, kind, decimal)] or every
    chosen = [f for f in found if f.notation in named]
    if enclosed(cell, "[]") and not chosen and "'" not in cell:
        ends = own_ends(cell)
        if len(ends) == 2:
            return [end for end in ends if end is not None], True
    if position(cell, kind, decimal) is not None or unquoted(cell) != cell:
        return [unquoted(cell)], False
    meant = chosen or found  # a named notation comes first, as in reading
    spans = [f for f in meant if isinstance(f, Span)]
    lists = [f for f in meant if isinstance(f, Items) and (f.sure or not spans)]  # (20, 30) is an interval
    values = [piece.text.strip() for f in lists for piece in f.pieces]
    nested = [f for text in values for f in forms(text, kind, decimal) if isinstance(f, Span)]
    for span in [*spans, *nested]:
        for end, left_out in ((span.low, span.low_open), (span.high, -span.high_open)):
            place = None if end is None else position(end, kind, decimal)
            if place is not None and end is not None and (not left_out or place.is_integer()):
                values.append(canonical(place + left_out, kind) if left_out else end)
    return values or [cell], bool(nested) or (bool(spans) and not lists)


def _lists_values(items: Items, kind: Kind, decimal: str) -> bool:
    """Whether each piece of a list names a value or an interval: of (20,30] a comma makes no list."""
    texts = [piece.text.strip() for piece in items.pieces]
    return all(
        position(text, kind, decimal) is not None or any(isinstance(f, Span) for f in forms(text, kind, decimal))
        for text in texts
    )


def _shown_categories(text: str, named: tuple[str, ...]) -> list[str]:
    cell = text.strip()
    if "value" not in named:
        if (cell and not cell.strip("*")) or cell in ("NA", "<NA>"):
            return []
        if cell != "" and "*" in cell and {"mask", "prefix"} & set(named):
            return []
        listed = [f for f in forms(cell, Kind.CATEGORICAL, ".") if isinstance(f, Items)]
        sure = [f for f in listed if "list" in named or _python_list(cell, f)]
        if sure:
            return [p.text if p.quoted else p.text.strip() for p in sure[0].pieces]
        if enclosed(cell, "{}"):
            return [item for item in own_items(cell[1:-1]) if item is not None]
        if enclosed(cell, "[]") and "," in cell:
            return [end for end in own_ends(cell) if end is not None]
    return [unquoted(text)]


def _python_list(cell: str, form: Items) -> bool:
    """Whether a cell is a list, a set or a tuple as Python writes it: {'a', 'b'}; our own sets have no such quotes."""
    if enclosed(cell, "[]"):
        return form.sure
    return (enclosed(cell, "()") or enclosed(cell, "{}")) and all(p.quoted for p in form.pieces) and "'" in cell


def _check_categories(plain: dict[str, int], found: set[str]) -> None:
    """A text that others show to be more than a value must not pass for one."""
    owners: dict[str, str] = {}
    for text, index in plain.items():
        parts = [part.strip() for part in text.split(",")] if "," in text else []
        for part in parts:
            if part and (part in found or owners.setdefault(part, text) != text):
                raise CellError(
                    f"{shown(text)} is not clear: it may be a value or a list, as {shown(part)} stands elsewhere too; "
                    "say --cells value or --cells list, or declare the domain",
                    index,
                )
    stems = {text.rstrip("*"): index for text, index in plain.items() if text.endswith("*")}
    shortest = min(map(len, stems), default=0)
    for text, index in plain.items():
        for length in range(shortest, len(text.rstrip("*"))):
            if text[:length] in stems:
                raise CellError(
                    f"{shown(text)} is not clear: {shown(text[:length] + '*')} may hold it; declare the domain, add a "
                    "hierarchy, give the original, or say --cells value",
                    index,
                )


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
        ends = [quoted(values[low]), quoted(values[high])]
        if attribute.binned and attribute.low is not None and attribute.high is not None:
            places = attribute.low[low], attribute.high[high]
            ends = [canonical(p, attribute.kind) if np.isfinite(p) else "" for p in places]
    if any(ends):
        return f"[{ends[0]},{ends[1]}]"
    if len(runs) == 1 and attribute.open_bins and attribute.low is not None and attribute.high is not None:
        places = (attribute.low[low], attribute.high[high]) if high < attribute.real else (np.inf, np.inf)
        if np.isfinite(places).all():
            first, last = (canonical(float(place), attribute.kind) for place in places)
            return f"[{first},{last}{']' if high == attribute.real - 1 else ')'}"
    return "{" + ",".join(quoted(values[c]) for low, high in runs for c in range(low, high + 1)) + "}"

"""The output of an ARX project that does not keep it: a saved transformation applied to the input, as ARX applies it.

project.dat names the transformation that ARX shows, clipboard.xml those that somebody kept. Levels belong to the
attributes that lattice.dat names; config.dat holds the privacy models with their parameters and the research subset.
Classes that break a model are suppressed, and so are rows outside the subset. All of it is read as data.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.release import row_numbers
from unveil.data.table import CodedColumn
from unveil.formats.arx.criteria import Classes, breaking
from unveil.formats.arx.means import aggregated
from unveil.formats.arx.output import JavaObject, occurring, read_objects, starred
from unveil.formats.columns import Columns, Refusal

__all__ = ["Configuration", "attribute_order", "configuration", "levels_of", "recomputed", "shown_node"]


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """What decides about suppression: privacy models, a research subset, and how much may be suppressed."""

    criteria: tuple[JavaObject, ...]
    subset: NDArray[np.bool_] | None  # (rows,)
    most_suppressed: float  # share of the rows that may be suppressed before the output does not meet the models
    suppresses_anyway: bool  # also in an output that does not meet them


def configuration(raw: bytes, rows: int) -> Configuration:
    """config.dat of the output: the models that it was made for."""
    found = read_objects(raw, 1)[0]
    held = found.fields.get("config") if isinstance(found, JavaObject) else None
    if not isinstance(held, JavaObject):
        raise Refusal("its configuration holds no privacy models")
    listed = held.fields.get("criteria")
    criteria = tuple(c for c in (listed.items if isinstance(listed, JavaObject) else ()) if isinstance(c, JavaObject))
    if not criteria:
        raise Refusal("its configuration names no privacy model")
    always = held.fields.get("suppressionAlwaysEnabled")
    anyway = bool(always.fields.get("value", 1)) if isinstance(always, JavaObject) else True
    share = held.fields.get("relMaxOutliers")
    return Configuration(criteria, _subset(criteria, rows), share if isinstance(share, float) else 1.0, anyway)


def _subset(criteria: Sequence[JavaObject], rows: int) -> NDArray[np.bool_] | None:
    """The rows that count, of whichever model holds a research subset."""
    for criterion in criteria:
        held = criterion.fields.get("subset")
        bits = held.fields.get("set") if isinstance(held, JavaObject) else None
        if isinstance(bits, JavaObject):
            words = bits.fields.get("array")
            if not isinstance(words, np.ndarray) or bits.fields.get("length") != rows or 64 * len(words) < rows:
                raise Refusal("its research subset is not one of the input's rows")
            return np.unpackbits(words.astype("<i8").view(np.uint8), bitorder="little")[:rows].astype(bool)
    return None


def shown_node(raw: bytes) -> tuple[str | None, bool]:
    """The transformation that ARX shows, from project.dat; and whether its output was recoded locally afterwards."""
    model = read_objects(raw, 1)[0]
    fields = model.fields if isinstance(model, JavaObject) else {}
    how = fields.get("anonymizationConfiguration")
    local = isinstance(how, JavaObject) and how.fields.get("transformationType") == "LOCAL"
    node = fields.get("outputNodeAsString") or fields.get("optimalNodeAsString")
    return node if isinstance(node, str) else None, local


def attribute_order(raw: bytes) -> tuple[str, ...]:
    """The attributes that a transformation's levels belong to, from lattice.dat."""
    found = read_objects(raw, 2)[1]
    items = found.items if isinstance(found, JavaObject) else []
    places = {}
    for name, place in zip(items[::2], items[1::2], strict=False):
        if not isinstance(name, str) or not isinstance(place, JavaObject):
            raise Refusal("its lattice does not name the attributes")
        places[name] = place.fields.get("value")
    if sorted(places.values(), key=str) != sorted(range(len(places)), key=str):
        raise Refusal("its lattice does not name the attributes")
    return tuple(sorted(places, key=places.__getitem__))  # type: ignore[arg-type]  # whole numbers, as just seen


def levels_of(node: str, names: Sequence[str]) -> dict[str, int]:
    """`[0, 2, 1]` by attribute."""
    numbers = [int(number) for number in re.findall(r"\d+", node)]
    if len(numbers) != len(names):
        raise Refusal(f"the transformation {node} has {len(numbers)} levels, and {len(names)} attributes are recoded")
    return dict(zip(names, numbers, strict=True))


def recomputed(
    original: Columns,
    levels: Mapping[str, int],
    ladders: Mapping[str, Sequence[Sequence[str]]],  # of each attribute the rows of its hierarchy, as ARX keeps them
    means: Mapping[str, Mapping[str, str]],  # of each microaggregated attribute what definition.xml says
    roles: Mapping[str, Role],
    withheld: frozenset[Role],
    given: Configuration,
) -> Columns:
    """The output as ARX shows it. `withheld`: roles that show `*` in a suppressed row."""
    lacking = [n for n in {*levels, *means} if n not in original.columns]
    if lacking:
        raise Refusal(f"the input lacks {lacking[0]!r}, which is recoded")
    generalised = {n: _generalised(n, original.columns[n], ladders.get(n, ()), level) for n, level in levels.items()}
    number = row_numbers([c.text_of_row.astype(np.int64) for c in generalised.values()], original.rows)
    inside = np.ones(original.rows, dtype=bool) if given.subset is None else given.subset
    classes = Classes(number, inside, original.columns)
    bad = breaking(given.criteria, classes)
    outliers = bad[number] & inside
    kept = outliers.sum() <= np.floor(given.most_suppressed * inside.sum())
    suppressed = (outliers if kept or given.suppresses_anyway else np.zeros_like(outliers)) | ~inside
    whole = CodedColumn(("*",), np.zeros(original.rows, dtype=np.uint8))
    columns = {}
    for name, column in original.columns.items():
        role = roles.get(name, Role.IDENTIFIER)
        if name in means:
            shown, role = aggregated(name, column, number, inside & ~suppressed, means[name]), Role.QUASI_IDENTIFIER
        elif name in generalised:
            shown, role = generalised[name], Role.QUASI_IDENTIFIER
        else:
            shown = whole if role is Role.IDENTIFIER else column
        columns[name] = starred(shown, suppressed) if role in withheld else shown
    return replace(original, columns=columns)


def _generalised(name: str, column: CodedColumn, rows: Sequence[Sequence[str]], level: int) -> CodedColumn:
    """Every value's label at this level."""
    if level == 0 and not rows:
        return column
    labels = {row[0]: row[level] for row in rows if level < len(row)}
    if not labels:
        raise Refusal(f"the hierarchy of {name!r} has no level {level}")
    strange = next((text for text in column.texts if text not in labels), None)
    if strange is not None:
        raise Refusal(f"the hierarchy of {name!r} has no row for {strange!r}")
    return occurring([labels[text] for text in column.texts], column.text_of_row)

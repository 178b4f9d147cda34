"""The hierarchy that fits an attribute: by its kind, what its name says, and how many rows each value has."""

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, canonical, position
from unveil.data.draft.words import AGE_WORDS, CODE_WORDS, hinted
from unveil.data.hierarchy import HierarchyTable
from unveil.data.hierarchy_builders import auto_hierarchy, date_hierarchy, neighbour_hierarchy
from unveil.data.schema import Declaration

__all__ = ["hierarchy_of"]


def hierarchy_of(attribute: Attribute, column: NDArray[np.unsignedinteger], declared: Declaration) -> HierarchyTable:
    """What a steward would draw for this attribute of a table."""
    values = list(attribute.values[: attribute.real])
    counts = np.bincount(column, minlength=attribute.codes)[: attribute.real]
    if attribute.binned:
        return neighbour_hierarchy(values, lambda first, last: _bins(attribute, first, last))
    if attribute.kind is Kind.ORDINAL:
        return neighbour_hierarchy(values, lambda first, last: _named(values, first, last))
    if attribute.kind is Kind.DATE:
        return date_hierarchy(values)
    derived = declared.prepare is not None and declared.prepare.age_at is not None
    return auto_hierarchy(
        values,
        counts,
        (lambda text: position(text, Kind.NUMERIC)) if attribute.kind is Kind.NUMERIC else None,
        ages=derived or hinted(attribute.name, AGE_WORDS),
        codes=hinted(attribute.name, CODE_WORDS),
    )


def _named(values: list[str], first: int, last: int) -> str:
    return values[first] if first == last else f"{values[first]} to {values[last]}"


def _bins(attribute: Attribute, first: int, last: int) -> str:
    """Neighbouring bins as one, written as a bin is."""
    assert attribute.low is not None
    assert attribute.high is not None
    if first == last:
        return attribute.values[first]
    low, high = attribute.low[first], attribute.high[last]
    if np.isinf(low):
        return f"<{canonical(float(attribute.low[last + 1]), attribute.kind)}"
    if np.isinf(high):
        return f">={canonical(low, attribute.kind)}"
    closed = not attribute.open_bins or last == attribute.real - 1
    return f"[{canonical(low, attribute.kind)},{canonical(high, attribute.kind)}{']' if closed else ')'}"

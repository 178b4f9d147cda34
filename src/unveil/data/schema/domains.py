"""The domain of an attribute: what is declared of it, else a hierarchy's leaves, else the values that were observed."""

import math
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from unveil.data.attribute import Kind, bin_edges, canonical, position
from unveil.data.hierarchy import HierarchyTable, number_text
from unveil.data.schema.document import Declaration, DomainFile, DomainRange, Place, Scalar
from unveil.errors import SchemaError, shown

__all__ = ["canonical_leaves", "codes_of", "domain_of", "is_whole"]

MOST_CODES = 10_000_000


def _scalar_text(value: Scalar, kind: Kind) -> str:
    """A TOML value as the text a table would hold."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and not kind.measured:
        return str(value)
    if isinstance(value, int | float):
        return canonical(float(value), Kind.NUMERIC)
    place = position(value, kind) if kind.measured else None
    return value if place is None else canonical(place, kind)


def canonical_leaves(tree: HierarchyTable | None, kind: Kind) -> HierarchyTable | None:
    """A hierarchy's numbers and dates written the one way: 17, not 17.0."""
    if tree is None or not kind.measured:
        return tree
    rows = tuple((_scalar_text(row[0], kind), *row[1:]) for row in tree.rows)
    return tree if rows == tree.rows else HierarchyTable(rows=rows, source=tree.source, lines=tree.lines)


def _place(value: Place, kind: Kind, where: str) -> float:
    if kind is Kind.DATE:
        if not isinstance(value, date):
            raise SchemaError(f"{where}: {value!r} is not a date; write it as 2024-01-31 without quotes")
        return float(value.toordinal())
    if isinstance(value, date):
        raise SchemaError(f'{where}: {value} is a date; set kind = "date"')
    return float(value)


def is_whole(declared: Declaration) -> bool:
    """Whole numbers and dates: a bin can name its last value."""
    if declared.kind is Kind.DATE:
        return True
    ends = (
        [declared.domain.start, declared.domain.end, declared.domain.step]
        if isinstance(declared.domain, DomainRange)
        else [0.5]
    )
    return all(float(v).is_integer() for v in [*(declared.bins or ()), *ends] if not isinstance(v, date))


Domain = tuple[
    tuple[str, ...], "np.ndarray[Any, np.dtype[np.float64]] | None", "np.ndarray[Any, np.dtype[np.float64]] | None", str
]


def domain_of(
    declared: Declaration,
    tree: HierarchyTable | None,
    observed: Iterable[str] | None,
    missing: tuple[str, ...],
    decimal: str,
    where: str,
    source: str,
) -> Domain:
    """Values, low and high ends where they are measured, and where they come from."""
    kind = declared.kind
    if isinstance(declared.domain, DomainRange):
        start, end = _place(declared.domain.start, kind, where), _place(declared.domain.end, kind, where)
        step = float(declared.domain.step)
        if not all(map(math.isfinite, (start, end, step))):
            raise SchemaError(f"{where}: the ends and the step of a domain must be finite numbers")
        if kind is Kind.DATE and not step.is_integer():
            raise SchemaError(f"{where}: the step of a date domain is in whole days, not {step:g}")
        if not step > 0 or not end >= start:
            raise SchemaError(
                f"{where}: the domain from {declared.domain.start} to {declared.domain.end} step {step:g} is empty"
            )
        if declared.bins is None:
            return _grid(start, end, step, kind, where)
        cuts = [_place(c, kind, where) for c in declared.bins]
        return (*bin_edges(cuts, kind, start=start, end=end, whole=is_whole(declared)), "declared")
    if declared.bins is not None:
        cuts = [_place(c, kind, where) for c in declared.bins]
        return (*bin_edges(cuts, kind, start=None, end=None, whole=is_whole(declared)), "declared")
    if isinstance(declared.domain, DomainFile):
        raise SchemaError(f"{where}: {declared.domain.file} was not read; use read_schema")
    if declared.domain is not None:
        texts, origin = [_scalar_text(v, kind) for v in declared.domain], "declared"
    elif tree is not None:
        absent = missing if kind.measured else ()
        texts, origin = [leaf for leaf in tree.leaves if leaf not in absent], "hierarchy"
    elif observed is not None:
        if kind is Kind.ORDINAL:
            raise SchemaError(f"{where}: an ordinal attribute needs its order; list its domain from lowest to highest")
        texts, origin = sorted(set(observed) - set(missing)), source
    else:
        raise SchemaError(f"{where}: no domain is declared and there is no data to take it from; add domain = […]")
    if not kind.measured:
        return tuple(texts), None, None, origin
    return _measured(texts, kind, decimal if origin == source else ".", where, origin)


def _grid(start: float, end: float, step: float, kind: Kind, where: str) -> Domain:
    # In whole numbers of the last decimal, so that 0.1 + 0.2 is the 0.3 that a table holds.
    written = [Decimal(number_text(v)) for v in (start, end, step)]
    unit = 10 ** max(0, *(-int(d.as_tuple().exponent) for d in written))
    first, last, stride = (int(d * unit) for d in written)
    count = (last - first) // stride + 1
    if count > MOST_CODES:
        raise SchemaError(f"{where}: the domain has over {MOST_CODES:,} values; declare bins or a larger step")
    places = np.array([n / unit for n in range(first, last + 1, stride)])
    return tuple(canonical(p, kind) for p in places.tolist()), places, places, "declared"


def _measured(texts: list[str], kind: Kind, decimal: str, where: str, origin: str) -> Domain:
    places = set()
    for text in texts:
        place = position(text, kind, decimal)
        if place is None:
            what = "date such as 2024-01-31" if kind is Kind.DATE else "number"
            raise SchemaError(f"{where}: {shown(text)} is not a {what}; change the kind, or list it under missing")
        places.add(place)
    ordered = np.array(sorted(places))
    return tuple(canonical(p, kind) for p in ordered.tolist()), ordered, ordered, origin


def codes_of(members: tuple[Scalar, ...], kind: Kind, code_of: dict[str, int], where: str, origin: str) -> list[int]:
    """The codes of values that a schema names; an observed domain may lack some."""
    codes = []
    for member in members:
        text = _scalar_text(member, kind)
        if text in code_of:
            codes.append(code_of[text])
        elif origin in ("declared", "hierarchy"):  # an observed domain may lack a value that is declared harmless
            raise SchemaError(f"{where}: {shown(text)} is not in the domain; correct it or add it to the domain")
    return codes

"""Small schemas, tables and releases, written down in one line each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unveil.audit.document import Finding
from unveil.audit.measures import parse_id
from unveil.audit.verdict import KINDS
from unveil.data.attribute import Attribute
from unveil.data.hierarchy import HierarchyTable
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.data.rows import PublishedRows, release_of_rows
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.table import Table

__all__ = [
    "IDENTIFIER",
    "INSENSITIVE",
    "QI",
    "SENSITIVE",
    "made_finding",
    "made_release",
    "made_schema",
    "made_table",
    "masked_release",
]

QI, SENSITIVE, INSENSITIVE, IDENTIFIER = "quasi-identifier", "sensitive", "insensitive", "identifier"


def made_schema(
    attributes: Mapping[str, Mapping[str, Any]],
    hierarchies: Mapping[str, Sequence[Sequence[str]]] | None = None,
    **top: Any,
) -> Schema:
    """A confirmed schema; hierarchies as rows of a hierarchy file."""
    content = {"version": 1, "confirmed": True, "attributes": attributes, **top}
    rows = {name: HierarchyTable(tuple(map(tuple, tree))) for name, tree in (hierarchies or {}).items()}
    return Schema(SchemaDocument.model_validate(content), rows)


def made_table(schema: Schema, *rows: Sequence[object]) -> Table:
    """A table from rows in the schema's order."""
    names = [*schema.names, *schema.extra_columns]
    return Table.from_columns(schema, dict(zip(names, zip(*rows, strict=True), strict=True)))


def made_release(attributes: Sequence[Attribute], blocks: Sequence[Sequence[Any]]) -> Release:
    """A release from blocks (attribute positions, rows); a row is its group, then the set of values of each cell."""
    cells: dict[int, list[list[int]]] = {i: [] for i in range(len(attributes))}
    parts = []
    for positions, rows in blocks:
        columns = []
        for place, index in enumerate(positions):
            column = []
            for row in rows:
                values = attributes[index].values if row[place + 1] == "*" else row[place + 1]
                values = [values] if isinstance(values, str) else values
                cells[index].append([attributes[index].values.index(v) for v in values])
                column.append(len(cells[index]) - 1)
            columns.append(np.array(column))
        parts.append(BlockRows(tuple(positions), np.array([row[0] for row in rows]), tuple(columns)))
    regions = [Regions.sets(a.codes, cells[i]) for i, a in enumerate(attributes)]
    return build_release(attributes, regions, parts)[0]


def masked_release(*rows: Any, **more: Any) -> Release:
    """A release with perturbed columns: attributes, columns, and which of them were."""
    return release_of_rows(PublishedRows(*rows, **more))


# For tests of something else than the verdict on every kind of disclosure.
WAIVED = dict.fromkeys(KINDS, "this test is about something else")


def made_finding(
    id: str,
    release: str,
    attribute: str | None,
    value: float | None,
    low: float | None = None,
    high: float | None = None,
) -> Finding:
    """A finding by its id, exact unless its ends are given."""
    part = parse_id(id)
    ends = (value if low is None else low, value if high is None else high)
    fields = {"reader": part.reader, "measure": part.measure, "statistic": part.statistic}
    return Finding(release=release, attribute=attribute, value=value, low=ends[0], high=ends[1], **fields)

"""Tables as they are printed, read by the same reader as anyone's files."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unveil.audit.levels import Check, run_check
from unveil.data.hierarchy import HierarchyTable
from unveil.data.release import Release
from unveil.data.schema import Schema, SchemaDocument
from unveil.formats.releases import read_release

__all__ = ["level", "printed_release", "printed_schema"]


def printed_schema(
    attributes: Mapping[str, Any], hierarchies: Mapping[str, HierarchyTable] | None = None, **top: Any
) -> Schema:
    """A confirmed schema from what schema.toml would hold."""
    content = {"version": 1, "confirmed": True, **top, "attributes": dict(attributes)}
    return Schema(SchemaDocument.model_validate(content), dict(hierarchies or {}), name="printed")


def printed_release(text: str, schema: Schema, *, sidecar: str = "", second: str = "") -> Release:
    """A release from the lines of its files: `;` between cells, blanks around them are nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.csv"
        path.write_text(_lines(text))
        if sidecar:
            path.with_suffix(".toml").write_text(sidecar)
        if second:
            path.with_name("release-sensitive.csv").write_text(_lines(second))
        return read_release(path, schema, delimiter=";")


def level(found: Check | Release, id: str, attribute: str | None = None, **options: Any) -> float:
    """One finding of a check."""
    check = run_check(found, **options) if isinstance(found, Release) else found
    values = [f.value for f in check.findings if f.id == id and attribute in (None, f.attribute)]
    assert len(values) == 1, (id, attribute)
    return float("inf") if values[0] == "inf" else float(values[0])  # type: ignore[arg-type]


def _lines(text: str) -> str:
    rows = [[cell.strip() for cell in line.split(";")] for line in text.strip().splitlines()]
    return "".join(";".join(row) + "\n" for row in rows)

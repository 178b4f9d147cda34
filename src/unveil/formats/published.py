"""The columns of a published table, whether its cells were widened or perturbed: read, and held against the schema."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unveil.data.attribute import Role
from unveil.data.schema import Schema
from unveil.errors import ReleaseError, UsageError, shown
from unveil.formats.sidecar import Sidecar
from unveil.formats.tables import Columns, read_columns

if TYPE_CHECKING:
    from unveil.formats.frames import IntoFrame

__all__ = ["check_cells", "check_columns", "count_column", "published_columns", "without_blanked", "without_key"]


def published_columns(
    source: "str | Path | IntoFrame",
    schema: Schema,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Columns:
    """All columns of a published file or frame; what is missing is the schema's first token."""
    return read_columns(
        source,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        missing=schema.missing_token,
        error=ReleaseError,
        published=True,
    )


def count_column(schema: Schema, sidecar: Sidecar, main: Columns) -> str | None:
    """The column that says how many people a row stands for: anonypy calls it `count`, as Anatomy's second table."""
    if sidecar.count is not None:
        return sidecar.count
    if schema.document.frequency in main.columns:
        return schema.document.frequency
    return None if "count" in schema.names else "count"


def check_cells(named: Mapping[str, tuple[str, ...]], path: Path, published: Collection[str], main: Columns) -> None:
    """Notations may be named of published attributes only."""
    for name in named:
        if name and name not in published:
            raise UsageError(f"--cells {name}=…: {path} publishes no such attribute; it has {', '.join(main.columns)}")


def check_columns(path: Path, schema: Schema, sidecar: Sidecar, main: Columns, second: str | None = None) -> None:
    """Every column must be one of the schema's, and none an identifier; `second`: the attribute of a second table."""
    for key, column in (("group", sidecar.group), ("count", sidecar.count)):
        if column is not None and column not in main.columns:
            raise ReleaseError(f"{path}: the sidecar's {key} column {shown(column)} is not there")
    for name in [*main.columns, *([second] if second is not None else [])]:
        if name in (sidecar.group, *schema.extra_columns) or name == count_column(schema, sidecar, main):
            continue
        if name not in schema.names:
            raise ReleaseError(
                f"{path}: {schema.name} does not name the column {shown(name)}; "
                "remove it, add [attributes.NAME] with its role, or a sidecar that names it as the group"
            )
        if schema.declaration(name).role is Role.IDENTIFIER:
            raise ReleaseError(
                f"{path}: {shown(name)} is an identifier; identifiers are never released: remove the column or its role"
            )
    if second is not None and second in main.columns:
        name = shown(second)
        raise ReleaseError(f"{path}: {name} stands in both tables; the link to it would not be hidden")


def without_blanked(main: Columns, schema: Schema) -> Columns:
    """Without identifiers of which nothing is left: ARX keeps their columns, every cell `*`."""
    blanked = [
        name
        for name, column in main.columns.items()
        if name in schema.names
        and schema.declaration(name).role is Role.IDENTIFIER
        and all(not text.strip().strip("*") for text in column.texts)
    ]
    return replace(main, columns={n: c for n, c in main.columns.items() if n not in blanked}) if blanked else main


def without_key(main: Columns, key: str | None) -> Columns:
    """Without the column that only says whose row is whose; see formats.assignments."""
    return main if key is None else replace(main, columns={n: c for n, c in main.columns.items() if n != key})

"""Tables and releases as frames of pandas, polars or pyarrow."""

from typing import Any

from unveil.data.release import Release
from unveil.data.table import Table
from unveil.errors import UsageError, shown
from unveil.formats.columns import needed
from unveil.formats.output.tables import OutputColumn, typed
from unveil.formats.releases import release_columns, written_cells
from unveil.formats.releases.published import Sidecar

__all__ = ["sidecar_of", "to_frame"]


def to_frame(what: Table | Release, kind: str = "polars") -> Any:
    """A table or a release as a "polars", "pandas" or "pyarrow" table.

    A column of single numbers or dates is typed, any other is text. Where a release is more than its rows, a column
    names the group and the blocks stand beside each other: `sidecar_of` says which they are.
    """
    import polars as pl

    if kind not in ("polars", "pandas", "pyarrow"):
        raise UsageError(f"to_frame: {shown(kind)} is not a kind of frame; choose polars, pandas or pyarrow")
    frame = pl.DataFrame([typed(column) for column in _columns(what)])
    if kind == "polars":
        return frame
    needed("pyarrow", "frames", "to_frame: for frames of pandas and pyarrow", UsageError)
    if kind == "pyarrow":
        return frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    needed("pandas", "frames", "to_frame: for frames of pandas", UsageError)
    return frame.to_pandas()


def sidecar_of(what: Release) -> Sidecar:
    """What must be said of a release beside its rows; read_release takes it with a frame."""
    return release_columns(what, what.blocks)[1]


def _columns(what: Table | Release) -> list[OutputColumn]:
    import polars as pl

    if isinstance(what, Release):
        return release_columns(what, what.blocks)[0]
    if not isinstance(what, Table):
        raise UsageError(f"to_frame: a {type(what).__name__} is neither a table nor a release")
    return [
        written_cells(attribute, pl.Series(attribute.values, dtype=pl.String)[codes])
        for attribute, codes in zip(what.attributes, what.columns, strict=True)
    ]

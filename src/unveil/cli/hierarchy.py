"""unveil hierarchy: build, show and check hierarchies."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli._shared import Out, console, keep_apart, located, say, write
from unveil.errors import UsageError
from unveil.formats.databases import Database

__all__ = ["TableOption", "hierarchy_app", "values_of"]

hierarchy_app = typer.Typer(
    help="Build, show and check hierarchies (ARX's CSV shape).", no_args_is_help=True, rich_markup_mode=None
)
TableOption = Annotated[
    Any, typer.Option(parser=located, metavar="DATA", help="Take the values from this table,", show_default=False)
]


@hierarchy_app.command("intervals")
def hierarchy_intervals(
    column: Annotated[str, typer.Argument(help="The numeric column.")],
    width: Annotated[
        str, typer.Option(metavar="W+W…", help="Widths from narrow to wide, e.g. 5+10+20.", show_default=False)
    ],
    origin: Annotated[float, typer.Option(help="Where intervals start counting.")] = 0,
    data: TableOption = None,
    schema: Annotated[Path | None, typer.Option(help="or from this schema's domain.", show_default=False)] = None,
    output: Out = None,
) -> None:
    """Numbers to intervals of growing width."""
    from unveil.data.attribute import Kind, position
    from unveil.data.hierarchy_builders import interval_hierarchy

    texts, decimal = values_of(column, data, schema)
    values = [position(v, Kind.NUMERIC, decimal) for v in texts]
    if None in values:
        raise UsageError(f"{column} is not numeric; use prefixes or dates")
    widths = [position(w, Kind.NUMERIC) for w in width.split("+")]
    if None in widths:
        raise UsageError("--width takes numbers joined by +, for instance 5+10+20")
    keep_apart(inputs=[p for p in (data, schema) if p is not None], outputs=[output] if output is not None else [])
    write(output, interval_hierarchy(sorted(set(values)), widths, origin).to_csv())  # type: ignore[arg-type]


@hierarchy_app.command("prefixes")
def hierarchy_prefixes(
    column: Annotated[str, typer.Argument(help="The column of codes, e.g. postcodes.")],
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="N+N…", help="Characters kept at each level, e.g. 4+2; else one less each.", show_default=False
        ),
    ] = None,
    data: TableOption = None,
    schema: Annotated[Path | None, typer.Option(help="or from this schema's domain.", show_default=False)] = None,
    output: Out = None,
) -> None:
    """Codes to ever shorter prefixes: 45501, 4550*, 455**."""
    from unveil.data.hierarchy_builders import prefix_hierarchy

    steps = None
    if keep is not None:
        if not all(k.isdigit() for k in keep.split("+")):
            raise UsageError("--keep takes whole numbers joined by +, for instance 4+2")
        steps = [int(k) for k in keep.split("+")]
    keep_apart(inputs=[p for p in (data, schema) if p is not None], outputs=[output] if output is not None else [])
    write(output, prefix_hierarchy(values_of(column, data, schema)[0], steps).to_csv())


@hierarchy_app.command("dates")
def hierarchy_dates(
    column: Annotated[str, typer.Argument(help="The column of ISO dates.")],
    parts: Annotated[
        str, typer.Option(metavar="PART+PART…", help="week, month, quarter, year, decade")
    ] = "month+quarter+year",
    data: TableOption = None,
    schema: Annotated[Path | None, typer.Option(help="or from this schema's domain.", show_default=False)] = None,
    output: Out = None,
) -> None:
    """Dates to months, quarters, years."""
    from unveil.data.hierarchy_builders import date_hierarchy

    keep_apart(inputs=[p for p in (data, schema) if p is not None], outputs=[output] if output is not None else [])
    write(output, date_hierarchy(values_of(column, data, schema)[0], parts.split("+")).to_csv())


@hierarchy_app.command("show")
def hierarchy_show(file: Annotated[Path, typer.Argument(help="A hierarchy file.")]) -> None:
    """Check a hierarchy file and show it as a tree."""
    from rich.markup import escape
    from rich.tree import Tree

    from unveil.data.hierarchy import read_hierarchy

    ladder = read_hierarchy(file)
    root = Tree("*")
    nodes: dict[tuple[str, ...], Any] = {("*",): root}
    row_of = {row[0]: row for row in ladder.rows}
    for leaf in ladder.leaves:
        row = row_of[leaf]
        for depth in range(2, len(row) + 1):
            path = row[len(row) - depth :]
            if path not in nodes:
                nodes[path] = nodes[path[1:]].add(escape(path[0]))
    console().print(root)
    say(f"{file}: {len(ladder.rows)} values, {len(ladder.rows[0]) - 1} levels, nested")


@hierarchy_app.command("check")
def hierarchy_check(
    file: Annotated[Path, typer.Argument(help="A hierarchy file.")],
    column: Annotated[str, typer.Argument(help="The column it must cover.")],
    data: TableOption = None,
    schema: Annotated[Path | None, typer.Option(help="or from this schema's domain.", show_default=False)] = None,
) -> None:
    """Check that a hierarchy is nested and covers every value of a column."""
    from unveil.data.attribute import Kind
    from unveil.data.hierarchy import read_hierarchy
    from unveil.data.schema import read_schema

    values, decimal = values_of(column, data, schema)
    ladder = read_hierarchy(file)
    if schema is None or read_schema(schema).declaration(column).kind is Kind.NUMERIC:
        values = _as_in(ladder.leaves, values, decimal)
    ladder.over(values, missing=None, attribute=column)
    say(f"{file}: nested, and covers all {len(values)} values of {column}")


def _as_in(leaves: Sequence[str], values: Sequence[str], decimal: str) -> list[str]:
    """Values as a hierarchy writes them: the row of 17 is that of `17.0` and `17,0`, not of `017`."""
    from unveil.data.attribute import Kind, position

    known = set(leaves)
    leaf_of = {place: leaf for leaf in leaves if (place := position(leaf, Kind.NUMERIC)) is not None}

    def leaf(text: str) -> str:
        if text in known or re.match(r"\s*0\d", text):
            return text
        place = position(text, Kind.NUMERIC, decimal)
        return text if place is None else leaf_of.get(place, text)

    return list(dict.fromkeys(map(leaf, values)))


def values_of(column: str, data: Path | Database | None, schema: Path | None) -> tuple[list[str], str]:
    """The values of a column, from a table or from a schema's declared domain, and their decimal mark."""
    if (data is None) == (schema is None):
        raise UsageError("say where the values come from, by one of --data TABLE and --schema FILE")
    if schema is not None:
        from unveil.data.schema import read_schema

        known = read_schema(schema)
        if column not in known.names:
            raise UsageError(f"{schema} has no attribute {column!r}; it has {', '.join(known.names)}")
        attribute = known.attribute(column)
        return list(attribute.values[: attribute.real]), "."
    from unveil.data.draft import MISSING_TOKENS
    from unveil.formats.tables import read_columns

    assert data is not None
    found = read_columns(data)
    if column not in found.columns:
        raise UsageError(f"{data} has no column {column!r}; it has {', '.join(found.columns)}")
    texts = set(found.columns[column].texts)
    left_out = sorted(texts.intersection(MISSING_TOKENS))
    if left_out:
        say(f"left out as missing: {', '.join(map(repr, left_out))}")
    return sorted(texts.difference(MISSING_TOKENS)), found.decimal

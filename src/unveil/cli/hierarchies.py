"""unveil hierarchy: builders that look at the data, whole folders, and the mapping of a release."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli._shared import (
    Out,
    PublishedFile,
    ReleaseCells,
    ReleaseDecimal,
    ReleaseDelimiter,
    ReleaseEncoding,
    SchemaFile,
    keep_apart,
    located,
    make_folder,
    release_parts,
    say,
    write,
)
from unveil.cli.hierarchy import TableOption, hierarchy_app, values_of
from unveil.errors import SchemaError, UsageError
from unveil.formats.databases import Database

__all__ = ["hierarchy_app"]

Column = Annotated[str, typer.Argument(help="The column.")]
Data = Annotated[
    Any,
    typer.Option(parser=located, metavar="DATA", help="Take the values, and how many rows each has, from this table."),
]
Folder = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder to write to.", show_default=False)
]


@hierarchy_app.command("round")
def hierarchy_round(
    column: Column,
    data: TableOption = None,
    schema: Annotated[Path | None, typer.Option(help="or from this schema's domain.", show_default=False)] = None,
    first: Annotated[int, typer.Option(help="At most so many intervals on the lowest level.")] = 20,
    output: Out = None,
) -> None:
    """Numbers to round intervals: widths of 5, 10, 50, 100 …"""
    from unveil.data.hierarchy_builders import round_hierarchy

    keep_apart(inputs=[p for p in (data, schema) if p is not None], outputs=[output] if output is not None else [])
    texts, decimal = values_of(column, data, schema)
    write(output, round_hierarchy(_numbers(column, texts, decimal), first).to_csv())


@hierarchy_app.command("equal-count")
def hierarchy_equal_count(
    column: Column,
    data: Data,
    groups: Annotated[int, typer.Option(help="Intervals on the lowest level.")] = 8,
    output: Out = None,
) -> None:
    """Numbers to intervals with about equally many rows."""
    from unveil.data.hierarchy_builders import equal_count_hierarchy

    keep_apart(inputs=[data], outputs=[output] if output is not None else [])
    counts, decimal = _counts(column, data)
    rows: dict[float, int] = {}
    for place, count in zip(_numbers(column, list(counts), decimal), counts.values(), strict=True):
        rows[place] = rows.get(place, 0) + count
    write(output, equal_count_hierarchy(list(rows), list(rows.values()), groups).to_csv())


@hierarchy_app.command("frequency")
def hierarchy_frequency(column: Column, data: Data, output: Out = None) -> None:
    """Names without an order: rare ones are put together first."""
    from unveil.data.hierarchy_builders import frequency_hierarchy

    keep_apart(inputs=[data], outputs=[output] if output is not None else [])
    counts, _ = _counts(column, data)
    write(output, frequency_hierarchy(list(counts), list(counts.values())).to_csv())


@hierarchy_app.command("taxonomy")
def hierarchy_taxonomy(
    file: Annotated[Path, typer.Argument(help="A CSV with the columns child and parent.")], output: Out = None
) -> None:
    """A tree written as child and parent, one row a child."""
    from unveil.data.hierarchy_builders import taxonomy_hierarchy
    from unveil.formats.tables import read_columns

    keep_apart(inputs=[file], outputs=[output] if output is not None else [])
    found = read_columns(file, error=SchemaError)
    if set(found.columns) != {"child", "parent"}:
        raise UsageError(f"{file}: its columns must be child and parent; it has {', '.join(found.columns)}")
    child, parent = (
        [found.columns[n].texts[i].strip() for i in found.columns[n].text_of_row.tolist()] for n in ("child", "parent")
    )
    parent_of: dict[str, str] = {}
    for row, (below, above) in enumerate(zip(child, parent, strict=True)):
        if not below or below == "*" or parent_of.setdefault(below, above) != above:
            what = "has two parents" if below in parent_of else "is no name"
            raise SchemaError(f"{file}, {found.place(row)}: {below!r} {what}; mend the row")
    write(output, taxonomy_hierarchy(parent_of, str(file)).to_csv())


@hierarchy_app.command("auto")
def hierarchy_auto(schema: SchemaFile, data: Data, output: Folder) -> None:
    """A hierarchy for every quasi-identifier that has none: intervals, parts of dates, prefixes or frequencies."""
    import numpy as np

    from unveil.data.attribute import Kind, Role, position
    from unveil.data.hierarchy_builders import auto_hierarchy, date_hierarchy, frequency_hierarchy
    from unveil.data.schema import read_schema
    from unveil.formats.arx_schema import file_names
    from unveil.formats.output import write_whole
    from unveil.formats.tables import read_table

    known = read_schema(schema)
    table = read_table(data, known)
    made: dict[str, Any] = {}
    for attribute, column in zip(table.attributes, table.columns, strict=True):
        if attribute.role is not Role.QUASI_IDENTIFIER or attribute.hierarchy is not None:
            continue
        values = list(attribute.values[: attribute.real])
        counts = np.bincount(column, minlength=attribute.codes)[: attribute.real]
        try:
            if attribute.binned or attribute.kind is Kind.ORDINAL:
                made[attribute.name] = frequency_hierarchy(values, counts)
            elif attribute.kind is Kind.DATE:
                made[attribute.name] = date_hierarchy(values)
            else:
                numeric = attribute.kind is Kind.NUMERIC
                made[attribute.name] = auto_hierarchy(
                    values, counts, (lambda text: position(text, Kind.NUMERIC)) if numeric else None
                )
        except SchemaError as reason:
            say(f"{attribute.name}: no hierarchy: {reason}")
    files = {output / Path(file).name: made[n].to_csv().encode() for n, file in file_names(made, ".").items()}
    keep_apart(inputs=[schema, data], outputs=list(files))
    make_folder(output)
    write_whole(files)
    for name, ladder in made.items():
        say(f"{name}: {ladder.source}, {len(ladder.rows[0]) - 1} levels")
    say(f'wrote {len(files)} hierarchies; use them with hierarchies = "{output.name}" in the schema')


@hierarchy_app.command("import")
def hierarchy_import(
    source: Annotated[Path, typer.Argument(help="A folder of ARX's CSV files, or an ARX project (.deid).")],
    output: Folder,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", "-s", metavar="FILE", help="Only its attributes, checked against its domains."),
    ] = None,
    delimiter: Annotated[str, typer.Option(help="Between the levels.")] = ";",
) -> None:
    """Many hierarchies at once, mended where ARX allows what is not allowed here (***** on top, * below the top)."""
    from unveil.data.hierarchy import hierarchy_files
    from unveil.data.schema import read_schema
    from unveil.formats.arx import mended_ladder, read_project
    from unveil.formats.arx_schema import file_names
    from unveil.formats.output import write_whole

    known = read_schema(schema) if schema is not None else None
    if source.suffix.lower() == ".deid":
        project = read_project(source)
        ladders = dict(project.ladders)
        for reason in project.unusable.values():
            say(f"left out: {reason}")
    else:
        chosen = hierarchy_files(source, known.names if known is not None else None, str(source))
        read = {name: mended_ladder(file.read_bytes(), str(file), delimiter) for name, file in chosen.items()}
        ladders = {name: ladder for name, ladder in read.items() if ladder is not None}
        for name in sorted(read.keys() - ladders.keys()):
            say(f"left out: {chosen[name]}: has no level between its values and *")
    if known is not None:
        ladders = {name: ladder for name, ladder in ladders.items() if name in known.names}
        for name, ladder in ladders.items():
            if known.declaration(name).domain is not None:
                attribute = known.attribute(name)
                ladder.over(attribute.values[: attribute.real], missing=None, attribute=name)
    if not ladders:
        raise UsageError(f"{source}: holds no hierarchy" + ("" if known is None else f" of an attribute of {schema}"))
    made = {output / Path(f).name: ladders[n].to_csv().encode() for n, f in file_names(ladders, ".").items()}
    keep_apart(inputs=[source, *([schema] if schema is not None else [])], outputs=list(made))
    make_folder(output)
    write_whole(made)
    say(f"wrote {len(made)} hierarchies to {output}: {', '.join(ladders)}")


@hierarchy_app.command("export")
def hierarchy_export(schema: SchemaFile, output: Folder) -> None:
    """Every hierarchy of a schema, one file an attribute, as ARX reads them."""
    from unveil.data.schema import read_schema
    from unveil.formats.arx_schema import file_names
    from unveil.formats.output import write_whole

    ladders = read_schema(schema).hierarchies
    if not ladders:
        raise UsageError(f"{schema}: names no hierarchy")
    files = {output / Path(f).name: ladders[n].to_csv().encode() for n, f in file_names(ladders, ".").items()}
    keep_apart(inputs=[schema], outputs=list(files))
    make_folder(output)
    write_whole(files)
    say(f"wrote {len(files)} hierarchies to {output}: {', '.join(ladders)}")


@hierarchy_app.command("mapping")
def hierarchy_mapping(
    release: PublishedFile,
    schema: SchemaFile,
    original: Annotated[
        Any,
        typer.Option(
            parser=located,
            metavar="DATA",
            help="The original, for domains the schema leaves open.",
            show_default=False,
        ),
    ] = None,
    cells: ReleaseCells = None,
    release_delimiter: ReleaseDelimiter = None,
    release_decimal: ReleaseDecimal = None,
    release_encoding: ReleaseEncoding = None,
    output: Out = None,
) -> None:
    """What a release made of each value: a CSV of attribute, value, cell, rows."""
    from unveil.data.schema import read_schema
    from unveil.formats.cells import mapping_bytes
    from unveil.formats.releases import read_release
    from unveil.formats.tables import read_table

    read = [p for p in (release, schema, original) if p is not None]
    keep_apart(inputs=[*read, *release_parts(release)], outputs=[output] if output is not None else [])
    known = read_schema(schema).confirmed()
    domains = read_table(original, known).attributes if original is not None else ()
    published = read_release(
        release,
        known,
        attributes=domains,
        cells=cells or (),
        delimiter=release_delimiter,
        decimal=release_decimal,
        encoding=release_encoding,
    )
    write(output, mapping_bytes(published).decode())


def _numbers(column: str, texts: list[str], decimal: str) -> list[float]:
    from unveil.data.attribute import Kind, position

    places = [position(text, Kind.NUMERIC, decimal) for text in texts]
    if None in places:
        raise UsageError(f"{column} is not numeric; use prefixes, dates or frequency")
    return [place for place in places if place is not None]


def _counts(column: str, data: Path | Database) -> tuple[dict[str, int], str]:
    """How many rows each value has, without missing ones, and the decimal mark."""
    import numpy as np

    from unveil.formats.tables import read_columns

    texts, decimal = values_of(column, data, None)
    found = read_columns(data).columns[column]
    rows = np.bincount(found.text_of_row, minlength=len(found.texts))
    count_of = dict(zip(found.texts, rows.tolist(), strict=True))
    return {text: count_of[text] for text in texts}, decimal

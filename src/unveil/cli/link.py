"""unveil link: whose row is whose, and who is alone in the population?"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli._shared import (
    Decimal,
    Delimiter,
    Encoding,
    JsonFile,
    KeyColumn,
    PublishedFile,
    ReleaseCells,
    ReleaseDecimal,
    ReleaseDelimiter,
    ReleaseEncoding,
    ReportFile,
    SchemaFile,
    check_outputs,
    documents_of,
    give_results,
    keep_apart,
    listed,
    located,
    long_work,
    release_parts,
)
from unveil.errors import UsageError

__all__ = ["link"]


def link(
    release: PublishedFile,
    schema: SchemaFile,
    original: Annotated[
        Any,
        typer.Option(
            parser=located, metavar="DATA", help="The original table: everybody in it is held.", show_default=False
        ),
    ] = None,
    held: Annotated[
        Any,
        typer.Option(
            parser=located,
            metavar="DATA",
            help="The people an attacker holds instead: some people, some columns; empty = unknown.",
            show_default=False,
        ),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What the columns and values of --held are called here.", show_default=False),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="What is known of the people; all quasi-identifiers if not given.", show_default=False
        ),
    ] = None,
    assignment: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Whose row each published row is, or in which group: the file of anonymize --assignment.",
            show_default=False,
        ),
    ] = None,
    aligned: Annotated[
        bool, typer.Option("--aligned", help="Of a masked release: row i of it is row i of the original.")
    ] = False,
    key: KeyColumn = None,
    population: Annotated[
        Any,
        typer.Option(
            parser=located, metavar="DATA", help="A table of the population, for uniqueness.", show_default=False
        ),
    ] = None,
    fraction: Annotated[
        float | None,
        typer.Option(help="The share of the population that is published, for uniqueness.", show_default=False),
    ] = None,
    false_links: Annotated[
        float, typer.Option(help="Share of other pairs that may be called links (probabilistic).")
    ] = 0.001,
    missed_links: Annotated[float, typer.Option(help="Share of links that may be called none (probabilistic).")] = 0.05,
    splink: Annotated[
        bool, typer.Option("--splink", help="Also link by weights that Splink estimates without truth (extra linkage).")
    ] = False,
    worst_case: Annotated[
        str | None,
        typer.Option(
            metavar="DISTANCE",
            help="Learn the distance that links most: weighted_mean, owa, choquet, bilinear. Masked releases.",
            show_default=False,
        ),
    ] = None,
    prove: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="With --worst-case, up to 120 people: prove what no such distance exceeds, for so long at most.",
            show_default=False,
        ),
    ] = None,
    knowing: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:options",
            help="Link as one who knows the masking, for instance rank_swapping:p=5.",
            show_default=False,
        ),
    ] = None,
    largest: Annotated[
        int | None,
        typer.Option(help="Attributes of a minimal sample unique at most; 3 if not given.", show_default=False),
    ] = None,
    subsets: Annotated[
        int, typer.Option(help="Sets of attributes that the chart of what is known is made of; 0 = no charts.")
    ] = 64,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'ID <= NUMBER'", help="For instance 'distance.reid <= 0.05'; repeatable.", show_default=False
        ),
    ] = None,
    report: ReportFile = None,
    json: JsonFile = None,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write whom each person is linked with (.csv, .parquet, .arrow, .xlsx).",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of what is drawn.")] = 0,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    release_delimiter: ReleaseDelimiter = None,
    release_encoding: ReleaseEncoding = None,
    release_decimal: ReleaseDecimal = None,
    cells: ReleaseCells = None,
) -> None:
    """Link the people an attacker holds with published rows: by distance and by probability; and uniqueness."""
    import numpy as np

    from unveil.audit.document import describe_inputs
    from unveil.audit.linking import run_link
    from unveil.data.schema import read_schema
    from unveil.engine import Engine
    from unveil.formats.assignments import read_assignment, read_origin, read_paired
    from unveil.formats.masked import is_masked, read_masked
    from unveil.formats.people import people_content
    from unveil.formats.releases import read_release
    from unveil.formats.tables import read_columns, read_table
    from unveil.risk.linkage.register import read_mapping, register_of_file

    if original is None and held is None:
        raise UsageError("say whom an attacker holds: --original DATA, or --held FILE")
    if mapping is not None and held is None:
        raise UsageError("--mapping goes with --held FILE")
    if (assignment is not None) + aligned + (key is not None) > 1:
        raise UsageError("--aligned, --assignment and --key say the same thing in several ways; keep one")
    if key is not None and original is None:
        raise UsageError("--key pairs rows with those of the original; give --original")
    read = [p for p in (release, schema, original, held, mapping, assignment, population) if p is not None]
    outputs = documents_of(report, json, people)
    keep_apart(inputs=[*read, *release_parts(release)], outputs=outputs)
    check_outputs(outputs, people)
    document = read_schema(schema).confirmed()
    dialect: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    table = None if original is None else read_table(original, document, **dialect)
    everyone = None if population is None else read_table(population, document, **dialect)
    masked = is_masked(release)
    written: dict[str, Any] = {"delimiter": release_delimiter, "decimal": release_decimal, "encoding": release_encoding}
    origin: Any = None
    published: Any
    if key is not None and table is not None:
        published, origin = read_paired(
            release, document, key, original=original, table=table, dialect=dialect, cells=cells or (), **written
        )
    else:
        domains = () if table is None else table.attributes
        reader = read_masked if masked else read_release
        published = reader(release, document, attributes=domains, cells=cells or (), **written)
    names = listed(known)
    if not masked and aligned:
        raise UsageError("--aligned: rows of a grouped release have no order; give --assignment, or nothing")
    if not masked and assignment is not None and table is None:
        raise UsageError("--assignment of a grouped release names rows of the original; give --original")
    if aligned:
        if table is not None and table.rows != published.rows:
            raise UsageError(
                f"--aligned: the original has {table.rows:,} rows and the release {published.rows:,}; give --assignment"
            )
        origin = np.arange(published.rows)
    elif assignment is not None and not masked:
        if table is None:
            raise UsageError("--assignment goes with --original DATA")
        origin = read_assignment(assignment, table, published)
    elif assignment is not None:
        origin = read_origin(assignment, published.rows if table is None else table.rows, published.rows)
    somebody = None
    if held is not None:
        somebody = register_of_file(
            read_columns(held, **dialect, error=UsageError),
            published.attributes,
            name=str(held),
            naming=None if mapping is None else read_mapping(mapping),
            known=names,
            rows=None if table is None else table.rows,
        )
    engine = Engine(seed=seed)
    with long_work() as (progress, stop):
        found = run_link(
            published,
            name=release.name,
            table=table,
            held=somebody,
            known=names,
            origin=origin,
            population=everyone,
            fraction=fraction,
            false_links=false_links,
            missed_links=missed_links,
            splink=splink,
            worst_case=worst_case,
            knowing=knowing,
            prove=prove,
            largest=largest,
            subsets=subsets,
            margins=people is not None,
            limits=limit or [],
            engine=replace(engine, progress=progress, stop=stop),
            inputs=describe_inputs([*read, *(p for p in release_parts(release) if p.is_file())]),
        )
    private = {} if people is None else {people: people_content(people, found.people())}
    give_results(found, report=report, json=json, people=private)

"""unveil disclosure: what does a masked release give away of people's attributes?"""

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
from unveil.errors import UsageError, shown

__all__ = ["disclosure"]


def disclosure(
    release: PublishedFile,
    schema: SchemaFile,
    original: Annotated[
        Any,
        typer.Option(
            parser=located, metavar="DATA", help="The original table: a file, or DATABASE#TABLE.", show_default=False
        ),
    ],
    assignment: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Whose row each published row is, as anonymize --assignment writes it.",
            show_default=False,
        ),
    ] = None,
    aligned: Annotated[bool, typer.Option("--aligned", help="Row i of the release is row i of the original.")] = False,
    key: KeyColumn = None,
    p: Annotated[str, typer.Option(metavar="P,P", help="Percentages that count as near.")] = "1,2,5,10,20,50",
    asked: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="What models guess; all sensitive attributes if not given.", show_default=False
        ),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="What models read; all quasi-identifiers if not given.", show_default=False),
    ] = None,
    model: Annotated[str, typer.Option(help="tree, forest, nearest or linear.")] = "tree",
    inputs: Annotated[int, typer.Option(help="Guesses from one input, two, … up to so many; 0 = none.")] = 3,
    fact: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A fact that no column holds, in a column fact: of rows of the original (row), or of other people.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="'ID <= NUMBER'", help="For instance 'model_gain <= 0.05'.", show_default=False),
    ] = None,
    report: ReportFile = None,
    json: JsonFile = None,
    seed: Annotated[int, typer.Option(help="Seed of folds and models.")] = 0,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    release_delimiter: ReleaseDelimiter = None,
    release_encoding: ReleaseEncoding = None,
    release_decimal: ReleaseDecimal = None,
    cells: ReleaseCells = None,
) -> None:
    """Intervals by p, equal categories, models from all inputs and from few, absent facts; each with its baseline."""
    import numpy as np

    from unveil.audit import code_people
    from unveil.audit.disclosure import Fact, run_disclosure
    from unveil.audit.document import describe_inputs
    from unveil.data.masked import MaskedTable
    from unveil.data.schema import read_schema
    from unveil.engine import Engine
    from unveil.formats.assignments import read_origin, read_paired
    from unveil.formats.masked import is_masked, read_masked
    from unveil.formats.priors import read_fact
    from unveil.formats.tables import read_table

    if (assignment is not None) + aligned + (key is not None) != 1:
        raise UsageError("say whose row is whose, in one way: --assignment FILE, --key COLUMN, or --aligned")
    read = [path for path in (release, schema, original, assignment, fact) if path is not None]
    outputs = documents_of(report, json)
    keep_apart(inputs=[*read, *release_parts(release)], outputs=outputs)
    check_outputs(outputs, None)
    percentages = _percentages(p)
    document = read_schema(schema).confirmed()
    dialect: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    table = read_table(original, document, **dialect)
    if not is_masked(release):
        raise UsageError(
            f"{release}: its sidecar names no perturbed column, so that its cells hold the truth; use unveil audit"
        )
    written: dict[str, Any] = {"delimiter": release_delimiter, "decimal": release_decimal, "encoding": release_encoding}
    origin: Any = None
    published: Any
    if key is not None:
        published, origin = read_paired(
            release, document, key, original=original, table=table, dialect=dialect, cells=cells or (), **written
        )
    else:
        published = read_masked(release, document, attributes=table.attributes, cells=cells or (), **written)
    if aligned and table.rows != published.rows:
        raise UsageError(
            f"--aligned: the original has {table.rows:,} rows and the release {published.rows:,}; give --assignment"
        )
    if aligned:
        origin = np.arange(table.rows)
    elif assignment is not None:
        origin = read_origin(assignment, table.rows, published.rows)
    told = None
    if fact is not None:
        values, labels, others = read_fact(fact, table.rows, **dialect)
        known_of = [a for a in table.attributes if others is not None and a.name in others.columns]
        told = Fact(values, labels, None if others is None else code_people(others, known_of, fact.name))
    with long_work() as (progress, stop):
        found = run_disclosure(
            table,
            MaskedTable(published, np.asarray(origin, dtype=np.int64)),
            name=release.name,
            percentages=percentages,
            asked=listed(asked),
            known=listed(known),
            model=model,
            most_inputs=inputs,
            fact=told,
            limits=limit or [],
            engine=replace(Engine(seed=seed), progress=progress, stop=stop),
            inputs=describe_inputs([*read, *(path for path in release_parts(release) if path.is_file())]),
        )
    give_results(found, report=report, json=json)


def _percentages(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--p {shown(text)}: write percentages with commas, for instance 1,5,10") from None

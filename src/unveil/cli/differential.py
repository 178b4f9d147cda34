"""unveil differential: how much does one record change what is inferred about its owner?"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli._shared import (
    Decimal,
    Delimiter,
    Encoding,
    JsonFile,
    OriginalData,
    ReleaseCells,
    ReportFile,
    SchemaFile,
    check_outputs,
    documents_of,
    engine_of,
    give_results,
    keep_apart,
    long_work,
)
from unveil.cli.audit import _file_part
from unveil.errors import UsageError, shown

__all__ = ["differential"]


def differential(
    data: OriginalData,
    schema: SchemaFile,
    with_: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="NAME:options",
            help="The anonymizer, e.g. mondrian:k=8, or laplace_counts:epsilon=1",
            show_default=False,
        ),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(
            metavar='"TOOL {input} {output}"',
            help="Another tool in its place: given a CSV, gives a release.",
            show_default=False,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL:options", help="A privacy model to keep; repeatable.", show_default=False),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=V+V…",
            help="Vary an option, e.g. k=2+4+8, or {KEY} wherever it stands; repeatable.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="NAME:options", help="bernoulli_nb, conditional, or a scikit-learn classifier.")
    ] = "bernoulli_nb",
    distance: Annotated[str, typer.Option(help="emd, tv, js or max_ratio.")] = "emd",
    reading: Annotated[str, typer.Option(help="coordinates (summed, as in the paper) or vectors.")] = "coordinates",
    prior: Annotated[
        list[str] | None,
        typer.Option(metavar="VALUE=WEIGHT", help="Prior weight of a sensitive value; repeatable.", show_default=False),
    ] = None,
    asked: Annotated[
        str | None,
        typer.Option(metavar="ATTRIBUTE", help="The sensitive attribute, if there are several.", show_default=False),
    ] = None,
    samples: Annotated[int, typer.Option(help="Runs for each record, where the sanitizer draws.")] = 1,
    records: Annotated[
        int | None,
        typer.Option(help="Leave out a random sample of so many records only.", show_default=False),
    ] = None,
    until: Annotated[
        float | None,
        typer.Option(
            help="Remove the worst records from the original until delta is at most that.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="'ID <= NUMBER'", help="For instance 'delta <= 0.1'; repeatable.", show_default=False),
    ] = None,
    report: ReportFile = None,
    json: JsonFile = None,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write each record's distance (.csv, .parquet, .arrow, .xlsx). It names people.",
            show_default=False,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Save what was reached there, and go on from there. Keep it secret; removed when done.",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds an oracle may take for one table.")] = 600.0,
    seed: Annotated[int, typer.Option(help="Seed of what is drawn.")] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Oracles at a time; all cores if not given.", show_default=False)
    ] = None,
    cells: ReleaseCells = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
) -> None:
    """Leave out each record in turn, sanitize, infer, compare: delta is the largest change (Kassem et al. 2019)."""
    from unveil.audit.differential import run_differential
    from unveil.audit.document import describe_inputs
    from unveil.data.schema import read_schema
    from unveil.data.table import code_table
    from unveil.formats.people import people_content
    from unveil.formats.tables import read_columns, read_table
    from unveil.risk.differential import Oracle, sanitizer_of
    from unveil.risk.differential import sweep as points_of

    if (with_ is None) == (oracle is None):
        raise UsageError('say what is tested: --with NAME:options or --oracle "TOOL {input} {output}"')
    if oracle is not None and require:
        raise UsageError("--require is for --with; an oracle keeps what it keeps")
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: at least one is needed")
    outputs = documents_of(report, json, people)
    keep_apart(inputs=[data, schema], outputs=outputs)
    check_outputs(outputs, people)
    weights = _weights(prior or [])
    known = read_schema(schema).confirmed()
    dialect: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}

    def made(texts: Sequence[str]) -> Any:
        if oracle is None:
            return sanitizer_of(texts[0], texts[1:])
        return Oracle(texts[0], known, originals, timeout, cells=tuple(cells or ()))

    read = None
    if oracle is not None:  # read once: a database need not give its rows in the same order again
        token = known.missing_token
        read = read_columns(data, missing=token, **dialect)
    originals = read.columns if read is not None else None
    points = points_of([with_ or oracle or "", *(require or [])], sweep or [], made, command=oracle is not None)
    if read is None:
        table = read_table(data, known, **dialect)
    else:
        table = code_table(known, read.columns, name=str(data), place=read.place, decimal=read.decimal)
    files = {people: points[0].name} if people is not None else {}
    if people is not None and len(points) > 1:
        files = {people.with_name(f"{people.stem}-{_file_part(p.name)}{people.suffix}"): p.name for p in points}
        keep_apart(inputs=[data, schema], outputs=[*(o for o in outputs if o != people), *files])
    engine = engine_of(seed, workers, checkpoint)
    with long_work() as (progress, stop):
        found = run_differential(
            table,
            points,
            model=model,
            distance=distance,
            reading=reading,
            asked=asked,
            prior=weights,
            samples=samples,
            records=records,
            until=until,
            limits=limit or [],
            engine=replace(engine, progress=progress, stop=stop),
            inputs=describe_inputs([data, schema]),
        )
    private = {path: people_content(path, found.people(name)) for path, name in files.items() if name in found.tests}
    give_results(found, report=report, json=json, people=private)


def _weights(texts: Sequence[str]) -> dict[str, float] | None:
    """VALUE=WEIGHT; a value may itself hold =."""
    found: dict[str, float] = {}
    for text in texts:
        value, equals, weight = text.rpartition("=")
        try:
            number = float(weight)
        except ValueError:
            number = float("nan")
        if not equals or not value or not number >= 0:
            raise UsageError(f"--prior {shown(text)}: write VALUE=WEIGHT with a weight of 0 or more")
        if value in found:
            raise UsageError(f"--prior names {shown(value)} twice; keep one")
        found[value] = number
    return found or None

"""unveil attack differential: how much does one record change what is inferred about its owner?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import unveil.cli.options as opt
from unveil.cli.load import input_paths, load_schema
from unveil.cli.output import check_outputs, file_part, give_results, keep_apart, long_work
from unveil.cli.settings import dialect_of, engine_of, one_name
from unveil.errors import UsageError, shown

__all__ = ["DifferentialOptions", "differential"]


@dataclass(frozen=True, kw_only=True)
class DifferentialOptions(
    opt.TableRun, opt.PeopleOptions, opt.ReportAndLimits, opt.AskedOptions, opt.With, opt.SchemaFile, opt.Data
):
    """The options of a differential test."""

    with_: str | None = opt.option(
        "The anonymizer, e.g. mondrian:k=8, or laplace_counts:epsilon=1.", "NAME:options", "--with"
    )
    oracle: str | None = opt.option(
        "Another tool instead: a command that reads a CSV and writes a release.", '"TOOL {input} {output}"'
    )
    sweep: list[str] = opt.option(
        "Vary an option, e.g. k=2+4+8, or {KEY} wherever it stands; repeatable.", "KEY=V+V…", default=list
    )
    model: str = opt.option(
        "bernoulli_nb, conditional, or a scikit-learn classifier.", "NAME:options", default="bernoulli_nb"
    )
    distance: str = opt.option("emd, tv, js or max_ratio.", default="emd")
    reading: str = opt.option("coordinates (summed, as in the paper) or vectors.", default="coordinates")
    weight: list[str] = opt.option("Prior weight of a sensitive value; repeatable.", "VALUE=WEIGHT", default=list)
    runs: int = opt.option("Runs per record, if the anonymizer is randomized.", default=1)
    sample: int | None = opt.option("Leave out a random sample of people only.", "N")
    remove_until: float | None = opt.option(
        "Remove the worst records from the original until delta is at most this.", "DELTA"
    )
    timeout: float = opt.option("Seconds an oracle may take for one table.", default=600.0)
    cells: list[str] = opt.option(
        "How cells of an oracle's release are written; repeatable.", "[ATTRIBUTE=]NOTATION", default=list
    )


def differential(options: DifferentialOptions) -> None:
    """Leave out each record in turn, and see what changes.

    Anonymize without it, infer, compare: delta is the largest change (Kassem et al. 2019).
    """
    from unveil.audit.differential import run_differential
    from unveil.audit.document import describe_inputs
    from unveil.data.table import code_table
    from unveil.formats.people import people_content
    from unveil.formats.tables import read_columns, read_table
    from unveil.risk.differential import Oracle, sanitizer_of
    from unveil.risk.differential import sweep as points_of

    data, oracle, people = options.data, options.oracle, options.people
    if data is None:
        raise UsageError("name the table: unveil attack differential DATA --schema FILE --with NAME:options")
    if (options.with_ is None) == (oracle is None):
        raise UsageError('say what is tested: --with NAME:options or --oracle "TOOL {input} {output}"')
    if oracle is not None and options.require:
        raise UsageError("--require is for --with; an oracle keeps what it keeps")
    check_outputs(options, [data, options.schema])
    engine = engine_of(options)
    weights = _weights(options.weight)
    schema = load_schema(options)
    dialect = dialect_of(options)

    def made(texts: Sequence[str]) -> Any:
        if oracle is None:
            return sanitizer_of(texts[0], texts[1:])
        return Oracle(texts[0], schema, originals, options.timeout, cells=tuple(options.cells))

    read = None
    if oracle is not None:  # read once: a database need not give its rows in the same order again
        read = read_columns(data, missing=schema.missing_token, **dialect)
    originals = read.columns if read is not None else None
    texts = [options.with_ or oracle or "", *options.require]
    points = points_of(texts, options.sweep, made, command=oracle is not None)
    if read is None:
        table = read_table(data, schema, **dialect)
    else:
        table = code_table(schema, read.columns, name=str(data), place=read.place, decimal=read.decimal)
    files = {people: points[0].name} if people is not None else {}
    if people is not None and len(points) > 1:
        files = {people.with_name(f"{people.stem}-{file_part(p.name)}{people.suffix}"): p.name for p in points}
        keep_apart([data, options.schema], [options.report, options.json, *files])
    with long_work() as (progress, stop):
        found = run_differential(
            table,
            points,
            model=options.model,
            distance=options.distance,
            reading=options.reading,
            asked=one_name(options.asked),
            prior=weights,
            samples=options.runs,
            records=options.sample,
            until=options.remove_until,
            limits=options.limit,
            engine=replace(engine, progress=progress, stop=stop),
            inputs=describe_inputs(input_paths(options)),
        )
    private = {path: people_content(path, found.people(name)) for path, name in files.items() if name in found.tests}
    give_results(found, options, people=private)


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
            raise UsageError(f"--weight {shown(text)}: write VALUE=WEIGHT with a weight of 0 or more")
        if value in found:
            raise UsageError(f"--weight names {shown(value)} twice; keep one")
        found[value] = number
    return found or None

"""unveil frontier: which release should be published?"""

import secrets
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
    ReportFile,
    SchemaOption,
    attackers_of,
    documents_of,
    engine_of,
    give_results,
    keep_apart,
    listed,
    long_work,
    release_parts,
    say,
)
from unveil.errors import UsageError
from unveil.formats.databases import Database

__all__ = ["frontier"]

FileOption = Path | None


def _option(text: str, metavar: str | None = None) -> Any:
    return typer.Option(help=text, metavar=metavar, show_default=False)


def frontier(
    context: typer.Context,
    data: OriginalData = None,
    schema: SchemaOption = None,
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="SCHEME",
            help="An anonymizer and the values to try, e.g. mondrian:k=2+5+10; its own requirements behind a blank; "
            "repeatable. Some of each kind if not given.",
            show_default=False,
        ),
    ] = None,
    require: Annotated[
        list[str] | None, _option("A privacy model that every release must keep; repeatable.", "MODEL:options")
    ] = None,
    risk: Annotated[
        list[str] | None,
        _option("A risk by its id; the first is the scale, privacy_loss.max if not given; repeatable.", "ID"),
    ] = None,
    utility: Annotated[
        list[str] | None,
        _option("A measure of utility; the first is the scale, utility_loss if not given; repeatable.", "ID"),
    ] = None,
    limit: Annotated[
        list[str] | None, _option("A limit, e.g. 'relative_threat.max <= 10'; repeatable.", "LIMIT")
    ] = None,
    budget: Annotated[int | None, _option("Releases to make in all: values between the given ones, too.", "N")] = None,
    minutes: Annotated[float | None, _option("Go on between the given values for so long.", "M")] = None,
    output: Annotated[
        FileOption,
        typer.Option(
            "--output", "-o", metavar="RELEASE", help="Write the recommended release, a .csv", show_default=False
        ),
    ] = None,
    report: ReportFile = None,
    json: JsonFile = None,
    distance: Annotated[str, typer.Option(help="Of privacy loss and utility loss.")] = "js",
    minimum_support: Annotated[float, typer.Option(help="Share of the rows that is a large population.")] = 0.05,
    dimension: Annotated[int, typer.Option(help="Quasi-identifiers in a random query.")] = 2,
    selectivity: Annotated[float, typer.Option(help="Of random queries.")] = 0.05,
    queries: Annotated[int, typer.Option(help="How many random queries.")] = 1000,
    attacker: Annotated[
        list[str] | None,
        _option("Asked if a risk or limit is about readers: bayesian and random_worlds if not given.", "NAME:options"),
    ] = None,
    known: Annotated[str | None, _option("What is known of people; all quasi-identifiers if not given.", "A,B")] = None,
    sample: Annotated[int | None, _option("Ask attackers about a random sample of people only.", "N")] = None,
    chains: Annotated[int, typer.Option(help="Chains, where sampling is needed.")] = 4,
    sweeps: Annotated[int, typer.Option(help="Sweeps of the first round; more follow until it is precise.")] = 1000,
    most_sweeps: Annotated[
        int | None, typer.Option(help="The budget: sweeps of each chain, 16,000 if not given.", show_default=False)
    ] = None,
    precision: Annotated[float, typer.Option(help="Standard error of 99% of beliefs at which chains end.")] = 0.003,
    checkpoint: Annotated[
        FileOption,
        _option("Save what was measured there, and go on from there. Keep it secret; removed when done.", "FOLDER"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of chains and queries.")] = 0,
    release_seed: Annotated[
        int | None,
        _option("Seed of the anonymizers' draws: from the operating system with -o, else --seed. Keep it secret."),
    ] = None,
    workers: Annotated[int | None, _option("Threads; all cores if not given.")] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    config: Annotated[FileOption, _option("A TOML file with the same names as these options.", "FILE")] = None,
) -> None:
    """Try schemes and parameters, and recommend a release. Exit code 1: none keeps the limits; 3: inconclusive."""
    from unveil.cli._audit_config import FRONTIER, merged

    _frontier(**merged(context, config, FRONTIER))


def _frontier(
    *,
    data: Path | Database | None,
    schema: Path | None,
    with_: list[str],
    require: list[str],
    risk: list[str],
    utility: list[str],
    limit: list[str],
    budget: int | None,
    minutes: float | None,
    output: Path | None,
    report: Path | None,
    json: str | None,
    distance: str,
    minimum_support: float,
    dimension: int,
    selectivity: float,
    queries: int,
    attacker: list[str],
    known: str | None,
    sample: int | None,
    chains: int,
    sweeps: int,
    most_sweeps: int | None,
    precision: float,
    checkpoint: Path | None,
    seed: int,
    release_seed: int | None,
    workers: int | None,
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None,
    config: Path | None,
) -> None:
    from unveil.attackers.posterior.contract import Chains
    from unveil.audit.document import describe_inputs
    from unveil.data.schema import read_schema
    from unveil.formats.releases import release_files
    from unveil.formats.table_output import check_ending
    from unveil.formats.tables import read_table
    from unveil.frontier import Questions, Reading, run_frontier

    if data is None:
        raise UsageError("name the table: unveil frontier DATA --schema FILE")
    if schema is None:
        raise UsageError("say what the columns are: --schema FILE")
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: at least one thread is needed")
    read = [p for p in (data, schema, config) if p is not None]
    documents = documents_of(report, json)
    chosen_file = None if output is None else output.with_name(f"{output.stem}-chosen.toml")
    outputs = [*documents, *([output, *release_parts(output)] if output is not None else [])]
    keep_apart(inputs=read, outputs=[*outputs, *([chosen_file] if chosen_file is not None else [])])
    for path in outputs:
        if not path.parent.is_dir():
            raise UsageError(f"{path}: there is no folder {path.parent}; make it first")
    reading = Reading(
        known=None if known is None else tuple(listed(known) or ()),
        chains=Chains(chains=chains, sweeps=sweeps, burn_in=sweeps, precision=precision),
        sample=sample,
    )
    if most_sweeps is not None:
        reading = replace(reading, chains=replace(reading.chains, most_sweeps=most_sweeps))
    attackers = attackers_of(attacker)
    document = read_schema(schema).confirmed()
    if output is not None:
        check_ending(output, "a release")
    reading = replace(reading, joined=tuple(map(tuple, document.document.joined)))
    if attackers:
        reading = replace(reading, attackers=attackers)
    table = read_table(data, document, delimiter=delimiter, decimal=decimal, encoding=encoding)
    if release_seed is None and output is not None:
        release_seed = secrets.randbits(128)
        say(f"release seed {release_seed} (keep it secret: with it a reader could replay what was drawn)")
    release_seed = seed if release_seed is None else release_seed  # nothing is written
    engine = engine_of(seed, workers, checkpoint)
    with long_work() as (progress, stop):
        found = run_frontier(
            table,
            with_,
            require=require,
            risks=risk,
            utilities=utility,
            limits=limit,
            budget=budget,
            minutes=minutes,
            questions=Questions(
                distance=distance,
                minimum_support=minimum_support,
                dimension=dimension,
                selectivity=selectivity,
                queries=queries,
            ),
            reading=reading,
            engine=replace(engine, progress=progress, stop=stop),
            release_seed=release_seed,
            inputs=describe_inputs(read),
        )
    files: dict[Path, Any] = {}
    point = found.choice.point
    if output is not None and chosen_file is not None:
        if point is None:
            say(f"{output}: not written, for nothing is recommended")
        else:
            made = found.anonymized(point)
            files = release_files(made.release, output, like=table)
            files[chosen_file] = _chosen(point.candidate, chosen_file.parent, data, schema, limit).encode()
            if made.note:
                say(made.note)
    give_results(found, report=report, json=json, beside=files)


def _chosen(candidate: Any, folder: Path, data: Path | Database, schema: Path, limits: list[str]) -> str:
    """How the chosen release was made, as a file that `unveil frontier --config` reads; without its seed."""
    import json
    import os
    import shlex

    file = data if isinstance(data, Path) else data.file
    place = str(data) if file is None else os.path.relpath(file, folder)
    if isinstance(data, Database) and file is not None:
        place = f"sqlite:///{place}{'' if data.table is None else '#' + data.table}"
    quoted = [json.dumps(text, ensure_ascii=False) for text in (place, os.path.relpath(schema, folder))]
    requires = " ".join(f"--require {shlex.quote(text)}" for text in candidate.require)
    return (
        "# How this release was made. To make one like it:\n"
        f"# unveil anonymize DATA --schema FILE --with {shlex.quote(candidate.with_text)} {requires}".rstrip()
        + f"\ndata = {quoted[0]}\nschema = {quoted[1]}\nwith = [{json.dumps(candidate.name, ensure_ascii=False)}]\n"
        + f"limit = {json.dumps(limits, ensure_ascii=False)}\n"
    )

"""unveil membership: can a reader find out who is in a release, or who a model learned from?"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli._shared import (
    Decimal,
    Delimiter,
    Encoding,
    JsonFile,
    ReleaseCells,
    ReleaseDecimal,
    ReleaseDelimiter,
    ReleaseEncoding,
    ReportFile,
    SchemaOption,
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

__all__ = ["membership"]


def membership(
    data: Annotated[
        Any,
        typer.Argument(
            parser=located,
            metavar="[DATA]",
            help="The original: the people who are in; a file, or DATABASE#TABLE.",
            show_default=False,
        ),
    ] = None,
    schema: SchemaOption = None,
    release: Annotated[
        Path | None, typer.Option(metavar="RELEASE", help="The published CSV, made of DATA.", show_default=False)
    ] = None,
    with_: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="NAME:options",
            help="The anonymizer, for one who knows it: shadow releases are made with and without each person.",
            show_default=False,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL:options", help="What --with keeps; repeatable.", show_default=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:options",
            help="A scikit-learn classifier that is trained on DATA, e.g. RandomForestClassifier:n_estimators=50",
            show_default=False,
        ),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A model's answers: member, and score, or label and a column a label with its chance.",
            show_default=False,
        ),
    ] = None,
    control: Annotated[
        Any,
        typer.Option(
            parser=located, metavar="FILE", help="People who are known not to be in DATA.", show_default=False
        ),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="What is known of people; all quasi-identifiers if not given.", show_default=False
        ),
    ] = None,
    asked: Annotated[
        str | None,
        typer.Option(metavar="ATTRIBUTE", help="What --model guesses, if several are sensitive.", show_default=False),
    ] = None,
    shadows: Annotated[int, typer.Option(help="Shadow releases or models.")] = 32,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'ID <= NUMBER'", help="For instance 'membership_auc <= 0.6'; repeatable.", show_default=False
        ),
    ] = None,
    report: ReportFile = None,
    json: JsonFile = None,
    people: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write each one's scores (.csv, .parquet).", show_default=False),
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
    """Tell people who are in from people who are not: by a release, by its scheme, by a model or its answers."""
    from unveil.audit import code_people
    from unveil.audit.document import describe_inputs
    from unveil.audit.membership_trial import check_limits, run_membership
    from unveil.catalog import anonymizer
    from unveil.data.schema import read_schema
    from unveil.engine import Engine
    from unveil.formats.masked import is_masked, read_masked
    from unveil.formats.people import people_content
    from unveil.formats.releases import read_release
    from unveil.formats.tables import read_columns, read_table
    from unveil.risk.membership.trial import scores_of_model, scores_of_predictions, scores_of_release, scores_of_scheme

    _one_subject(data, schema, release, with_, model, predictions, control, require)
    check_limits(limit or [])
    parts = [] if release is None else release_parts(release)
    read = [p for p in (data, schema, release, predictions, control) if p is not None]
    outputs = documents_of(report, json, people)
    keep_apart(inputs=[*read, *parts], outputs=outputs)
    check_outputs(outputs, people)
    dialect: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    names = listed(known)
    engine = Engine(seed=seed)
    with long_work() as (progress, stop):
        engine = replace(engine, progress=progress, stop=stop)
        if predictions is not None:
            columns = read_columns(predictions, **dialect, error=UsageError)
            scores = scores_of_predictions(columns, name=predictions.name)
        else:
            assert data is not None
            assert schema is not None
            document = read_schema(schema).confirmed()
            table = read_table(data, document, **dialect)
            others = None
            if control is not None:
                columns = read_columns(control, missing=document.missing_token, **dialect)
                others = code_people(columns, table.attributes, control.name)
            published: Any = None
            if release is not None:
                reading: dict[str, Any] = {
                    "attributes": table.attributes,
                    "delimiter": release_delimiter,
                    "decimal": release_decimal,
                    "encoding": release_encoding,
                }
                reader = read_masked if is_masked(release) else read_release
                published = reader(release, document, cells=cells or (), **reading)
            if model is not None:
                scores = scores_of_model(
                    model, table, control=others, asked=asked, known=names, shadows=shadows, engine=engine
                )
            elif with_ is not None:
                scores = scores_of_scheme(
                    anonymizer(with_, require or ()),
                    table,
                    name=with_,
                    control=others,
                    release=published,
                    known=names,
                    shadows=shadows,
                    engine=engine,
                )
            else:
                assert others is not None
                assert release is not None
                scores = scores_of_release(published, table, others, name=release.name, known=names, engine=engine)
        inputs = describe_inputs([*read, *(p for p in parts if p.is_file())])
        found = run_membership(scores, limits=limit or [], seed=seed, inputs=inputs)
    private = {} if people is None else {people: people_content(people, found.people())}
    give_results(found, report=report, json=json, people=private)


def _one_subject(
    data: Path | None,
    schema: Path | None,
    release: Path | None,
    with_: str | None,
    model: str | None,
    predictions: Path | None,
    control: Path | None,
    require: list[str] | None,
) -> None:
    """Refuse, before the work, what does not go together."""
    ways = [model is not None, predictions is not None, release is not None or with_ is not None]
    if sum(ways) != 1:
        raise UsageError(
            "say what is attacked: --release RELEASE, --with NAME:options (or both), --model NAME:options, or "
            "--predictions FILE"
        )
    if predictions is not None:
        if data is not None or control is not None:
            raise UsageError("--predictions says itself who is a member: leave DATA and --control out")
        return
    if data is None or schema is None:
        raise UsageError("name the original and what its columns are: unveil membership DATA --schema FILE")
    if release is not None and control is None:
        raise UsageError("--release needs --control FILE: members are told from people who are not in the table")
    if release is None and with_ is not None and control is not None:
        raise UsageError("--control goes with --release; without one a random half of DATA stays out")
    if require and with_ is None:
        raise UsageError("--require is for --with")

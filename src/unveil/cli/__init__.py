"""The command line: parse, call one function, print. Heavy modules are imported where they are used."""

import os
import secrets
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli._shared import (
    Decimal,
    Delimiter,
    Encoding,
    JsonFile,
    OriginalData,
    Out,
    ReleaseCells,
    ReleaseDecimal,
    ReleaseDelimiter,
    ReleaseEncoding,
    SchemaFile,
    console,
    documents_of,
    keep_apart,
    located,
    release_parts,
    say,
    write,
)
from unveil.cli.attack import attack
from unveil.cli.audit import audit
from unveil.cli.differential import differential
from unveil.cli.disclosure import disclosure
from unveil.cli.frontier import frontier
from unveil.cli.hierarchies import hierarchy_app
from unveil.cli.knowledge import knowledge
from unveil.cli.link import link
from unveil.cli.membership import membership
from unveil.cli.project import write_project_schema
from unveil.errors import UnveilError, UsageError, without_secrets

__all__ = ["app", "main"]

app = typer.Typer(
    name="unveil",
    help="May this table be published? Anonymize microdata, and audit any release.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(hierarchy_app, name="hierarchy")
app.command()(attack)
app.command()(audit)
app.command()(differential)
app.command()(disclosure)
app.command()(knowledge)
app.command()(frontier)
app.command()(link)
app.command()(membership)

Require = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="MODEL:options",
        help="A privacy model to keep, e.g. t_closeness:t=0.2; repeatable.",
        show_default=False,
    ),
]


def main() -> None:
    """Run the command; an error of the user's is one line on standard error and exit code 2."""
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except UnveilError as error:
        say(f"unveil: {error}")
        code = 2
    except typer.Abort:
        say("unveil: stopped")
        code = 130
    except KeyboardInterrupt:
        say("unveil: stopped")
        code = 130
    except BrokenPipeError:  # the reader of our output left, e.g. head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:  # standard output itself cannot be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        say(f"unveil: {error.strerror or error}")
        code = 2
    except Exception as error:
        if not hasattr(error, "show") or not hasattr(error, "exit_code"):
            raise
        if isinstance(text := getattr(error, "message", None), str):
            error.message = without_secrets(text)  # type: ignore[attr-defined]  # click's own
        error.show()  # usage errors of the command line itself
        code = error.exit_code
    sys.exit(code if isinstance(code, int) else 0)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.", is_eager=True)] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"unveil {installed('unveil')}")
        raise typer.Exit


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the files go.")] = Path(
        "unveil-demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of the made-up patients and of the anonymizers.")] = 0,
) -> None:
    """The whole job on made-up hospital data: two releases of one table, audited side by side."""
    from unveil.cli.demo import run_demo

    run_demo(output, seed=seed, console=console())


@app.command()
def schema(
    data: Annotated[
        Any,
        typer.Argument(
            parser=located,
            metavar="DATA",
            help="The table: CSV, Parquet, Excel, SPSS, Stata, SAS, an ARX project (.deid), or DATABASE#TABLE.",
            show_default=False,
        ),
    ] = None,
    output: Out = None,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print the JSON Schema of schema.toml instead.")
    ] = False,
    published: Annotated[
        bool, typer.Option("--published", help="The table is a release: 20-29 is an interval, no value.")
    ] = False,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
) -> None:
    """Draft schema.toml: kinds, frozen domains, and suggested roles with their evidence, all unconfirmed."""
    if json_schema:
        import json

        from unveil.data.schema import Schema

        write(output, json.dumps(Schema.json_schema(), indent=2) + "\n")
        return
    if data is None:
        raise UsageError("name the table to draft a schema for: unveil schema DATA")
    from unveil.data.draft import MISSING_TOKENS, draft_schema
    from unveil.formats.tables import read_columns

    keep_apart(inputs=[data], outputs=[output] if output is not None else [])
    if output is not None and _is_confirmed(output):
        raise UsageError(
            f"{output}: is a confirmed schema, which a draft would replace; name another file, or remove it"
        )
    if data.suffix.lower() == ".deid":
        write_project_schema(data, output)
        return

    found = read_columns(data, delimiter=delimiter, decimal=decimal, encoding=encoding)
    say(f"{data}: {found.rows} rows, {found.described}")
    tokens = (*MISSING_TOKENS, *found.missing)
    draft = draft_schema(
        found.columns,
        name=str(data),
        decimal=found.decimal,
        missing=tokens,
        published=published,
        listed=("",) if found.missing else (),  # the first token stands for all kinds in a release: it names none
    )
    write(output, draft.toml)
    say("The roles are suggestions. Read them, mend them, then set confirmed = true.")


def _is_confirmed(path: Path) -> bool:
    from unveil.data.toml import read_toml

    try:
        return path.is_file() and read_toml(path, UsageError).get("confirmed") is True
    except UsageError:  # no TOML: nothing that anybody confirmed
        return False


@app.command()
def anonymize(
    data: OriginalData,
    schema: SchemaFile,
    with_: Annotated[
        str,
        typer.Option(
            "--with", metavar="NAME:options", help="The anonymizer, e.g. mondrian:k=5,l=3", show_default=False
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="RELEASE",
            help="The release to write: .csv, .parquet, .arrow, .xlsx, .sav, .zsav, .dta or .xpt",
            show_default=False,
        ),
    ],
    require: Require = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed; from the operating system if not given.", show_default=False)
    ] = None,
    assignment: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write which row went where. Keep it secret.", show_default=False),
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
) -> None:
    """Make a release of a table that keeps a privacy requirement."""
    from unveil.catalog import anonymizer
    from unveil.data.masked import MaskedTable, SyntheticTable
    from unveil.data.schema import read_schema
    from unveil.engine import Engine
    from unveil.formats.assignments import assignment_bytes, origin_bytes
    from unveil.formats.masked import masked_files
    from unveil.formats.output import write_whole
    from unveil.formats.releases import release_files
    from unveil.formats.table_output import check_ending
    from unveil.formats.tables import read_table

    keep_apart(inputs=[data, schema], outputs=[output, *([assignment] if assignment is not None else [])])
    method = anonymizer(with_, require or ())
    known = read_schema(schema).confirmed()
    published = [name for name in known.names if known.declaration(name).role != "identifier"]
    check_ending(output, "a release", names=published)  # said before the work, not after it
    table = read_table(data, known, delimiter=delimiter, decimal=decimal, encoding=encoding)
    if seed is None:
        seed = secrets.randbits(128)
    say(f"seed {seed} (keep it secret: with it a reader could replay what was drawn)")
    made = method.anonymize(table, Engine(seed=seed))
    if made.note:
        say(made.note)
    masked = isinstance(made, MaskedTable | SyntheticTable)
    if assignment is not None and isinstance(made, SyntheticTable):
        raise UsageError("--assignment: the rows of this release are nobody's; leave it out")
    files = masked_files(made.masked, output, like=table) if masked else release_files(made.release, output, like=table)
    parts = set(release_parts(output))
    keep_apart(inputs=[data, schema], outputs=list(files))
    if assignment is not None:
        keep_apart(inputs=[data, schema, *files, *(parts - set(files))], outputs=[assignment])
    if assignment is not None:
        files[assignment] = origin_bytes(made.origin) if masked else assignment_bytes(made.group_of_row)
    write_whole(files, private=() if assignment is None else (assignment,))
    if masked:
        what = f"{made.masked.rows} rows, {len(made.masked.masked)} columns perturbed"
    else:
        what = f"{made.release.rows} rows in {made.release.groups} groups"
    say(f"{what}; wrote {', '.join(str(p) for p in files)}")


@app.command()
def check(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The published table.", show_default=False)],
    schema: SchemaFile,
    original: Annotated[
        Any,
        typer.Option(
            parser=located,
            metavar="DATA",
            help="The original, for domains the schema leaves open, and for b_t_privacy.",
            show_default=False,
        ),
    ] = None,
    assignment: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Which row went to which group, for b_t_privacy.", show_default=False),
    ] = None,
    population: Annotated[
        Any,
        typer.Option(
            parser=located, metavar="DATA", help="A table of the population, for delta-presence.", show_default=False
        ),
    ] = None,
    require: Require = None,
    n: Annotated[int, typer.Option(help="How many people are a large population, for (n,t)-closeness.")] = 1000,
    json: JsonFile = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    release_delimiter: ReleaseDelimiter = None,
    release_encoding: ReleaseEncoding = None,
    release_decimal: ReleaseDecimal = None,
    cells: ReleaseCells = None,
) -> None:
    """Levels of every privacy model on a release. Exit code 1 if a requirement is missed."""
    from unveil.audit.document import Document, describe_inputs, describe_run
    from unveil.audit.levels import run_check
    from unveil.catalog import privacy_model
    from unveil.data.schema import read_schema
    from unveil.formats.assignments import read_assignment
    from unveil.formats.releases import read_release
    from unveil.formats.tables import read_table
    from unveil.report import print_document

    if n < 1:
        raise UsageError("--n must be at least 1")
    if assignment is not None and original is None:
        raise UsageError("--assignment goes with --original DATA")
    read = [p for p in (release, schema, original, assignment, population) if p is not None]
    keep_apart(inputs=[*read, *release_parts(release)], outputs=documents_of(None, json))
    models = [privacy_model(item) for item in require or ()]
    known = read_schema(schema).confirmed()
    tables = [
        None if path is None else read_table(path, known, delimiter=delimiter, decimal=decimal, encoding=encoding)
        for path in (original, population)
    ]
    attributes = tables[0].attributes if tables[0] is not None else ()
    published = read_release(
        release,
        known,
        attributes=attributes,
        cells=cells or (),
        delimiter=release_delimiter,
        decimal=release_decimal,
        encoding=release_encoding,
    )
    group = None
    if assignment is not None and tables[0] is not None:
        group = read_assignment(assignment, tables[0], published)
    found = run_check(
        published, name=release.name, require=models, n=n, population=tables[1], original=tables[0], group=group
    )
    document = Document(
        document="check",
        settings={"require": list(require or ()), "n": n, **({"cells": cells} if cells else {})},
        inputs=describe_inputs([*read, *(p for p in release_parts(release) if p.is_file())]),
        run=describe_run(),
        findings=found.findings,
        diagnostics=found.diagnostics,
    )
    if json == "-":
        print(document.model_dump_json(indent=2))
    else:
        if json is not None:
            write(Path(json), document.model_dump_json(indent=2) + "\n")
        print_document(document, console())
    if not found.kept:
        raise typer.Exit(1)

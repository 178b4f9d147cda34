"""The command line: parse, call one function, print. Heavy modules are imported where they are used."""

import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.errors import UnveilError, UsageError

if TYPE_CHECKING:
    from unveil.hierarchy import Ladder

__all__ = ["app", "main"]

app = typer.Typer(
    name="unveil",
    help="May this table be published? Anonymize microdata, and audit any release.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
hierarchy_app = typer.Typer(help="Build, show and check hierarchies (ARX's CSV shape).", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(hierarchy_app, name="hierarchy")

Data = Annotated[Path, typer.Argument(metavar="DATA", help="The original table: CSV or Parquet.", show_default=False)]
SchemaFile = Annotated[Path, typer.Option("--schema", "-s", metavar="FILE", help="schema.toml", show_default=False)]
Delimiter = Annotated[str | None, typer.Option(help="The CSV delimiter; found by itself if not given.", show_default=False)]
Decimal = Annotated[str | None, typer.Option(help="The decimal mark: . or ,", show_default=False)]
Encoding = Annotated[str | None, typer.Option(help="utf-8, utf-16 or cp1252; found by itself if not given.", show_default=False)]
Out = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; else to the terminal.", show_default=False)]
Require = Annotated[
    list[str] | None, typer.Option("--require", metavar="MODEL:options", help="A privacy model to keep, e.g. t_closeness:t=0.2; repeatable.", show_default=False)
]


def main() -> None:
    """Run the command; an error of the user's is one line on standard error and exit code 2."""
    try:
        code = app(standalone_mode=False)
    except UnveilError as error:
        _say(f"unveil: {error}")
        code = 2
    except typer.Abort:
        _say("unveil: stopped")
        code = 130
    except KeyboardInterrupt:
        _say("unveil: stopped")
        code = 130
    except BrokenPipeError:  # the reader of our output left, e.g. head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        if not hasattr(error, "show") or not hasattr(error, "exit_code"):
            raise
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
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the files go.")] = Path("unveil-demo"),
    seed: Annotated[int, typer.Option(help="Seed of the made-up patients and of the anonymizers.")] = 0,
) -> None:
    """The whole job on made-up hospital data: two releases of one table, checked side by side."""
    from unveil.demo import run_demo

    run_demo(output, seed=seed, console=_console())


@app.command()
def schema(
    data: Annotated[Path | None, typer.Argument(metavar="DATA", help="The table: CSV or Parquet.", show_default=False)] = None,
    output: Out = None,
    json_schema: Annotated[bool, typer.Option("--json-schema", help="Print the JSON Schema of schema.toml instead.")] = False,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
) -> None:
    """Draft schema.toml: kinds, frozen domains, and suggested roles with their evidence, all unconfirmed."""
    if json_schema:
        import json

        from unveil.schema import Schema

        _write(output, json.dumps(Schema.json_schema(), indent=2) + "\n")
        return
    if data is None:
        raise UsageError("name the table to draft a schema for: unveil schema DATA")
    from unveil.draft import draft_schema
    from unveil.formats.tables import read_columns

    found = read_columns(data, delimiter=delimiter, decimal=decimal, encoding=encoding)
    _say(f"{data}: {found.rows} rows, {found.described}")
    draft = draft_schema(found.columns, name=str(data), decimal=found.decimal)
    _write(output, draft.toml)
    _say("The roles are suggestions. Read them, mend them, then set confirmed = true.")


@app.command()
def anonymize(
    data: Data,
    schema: SchemaFile,
    with_: Annotated[str, typer.Option("--with", metavar="NAME:options", help="The anonymizer, e.g. mondrian:k=5,l=3", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="RELEASE", help="The release to write, a .csv", show_default=False)],
    require: Require = None,
    seed: Annotated[int | None, typer.Option(help="Seed; from the operating system if not given.", show_default=False)] = None,
    assignment: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write which row went to which group. Keep it secret.", show_default=False)
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
) -> None:
    """Make a release of a table that keeps a privacy requirement."""
    from unveil.catalog import anonymizer
    from unveil.engine import Engine
    from unveil.formats.releases import release_files
    from unveil.formats.tables import read_table
    from unveil.formats.output import csv_bytes, write_whole
    from unveil.schema import read_schema

    method = anonymizer(with_, require or ())
    known = read_schema(schema).confirmed()
    table = read_table(data, known, delimiter=delimiter, decimal=decimal, encoding=encoding)
    if seed is None:
        seed = secrets.randbits(63)
    _say(f"seed {seed} (keep it secret: with it a reader could replay what was drawn)")
    made = method.anonymize(table, Engine(seed=seed))
    files = release_files(made.release, output)
    if assignment is not None:
        rows = [str(i) for i in range(1, table.rows + 1)]
        files[assignment] = csv_bytes(["row", "group"], [rows, (made.group_of_row + 1).astype(str).tolist()])
    write_whole(files, private=() if assignment is None else (assignment,))
    release = made.release
    _say(f"{release.rows} rows in {release.groups} groups; wrote {', '.join(str(p) for p in files)}")


@app.command()
def check(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The published CSV.", show_default=False)],
    schema: SchemaFile,
    original: Annotated[Path | None, typer.Option(metavar="DATA", help="The original, for domains the schema leaves open.", show_default=False)] = None,
    population: Annotated[Path | None, typer.Option(metavar="DATA", help="A table of the population, for delta-presence.", show_default=False)] = None,
    require: Require = None,
    n: Annotated[int, typer.Option(help="How many people are a large population, for (n,t)-closeness.")] = 1000,
    json: Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the document as JSON; - for standard output.", show_default=False)] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Levels of every privacy model on a release. Exit code 1 if a requirement is missed."""
    from unveil.catalog import privacy_model
    from unveil.check import run_check
    from unveil.document import Document, describe_inputs, describe_run
    from unveil.formats.releases import read_release
    from unveil.formats.tables import read_table
    from unveil.report.terminal import print_check
    from unveil.schema import read_schema

    if n < 1:
        raise UsageError("--n must be at least 1")
    models = [privacy_model(item) for item in require or ()]
    known = read_schema(schema).confirmed()
    attributes = read_table(original, known).attributes if original is not None else ()
    published = read_release(release, known, attributes=attributes, delimiter=delimiter, encoding=encoding)
    people = read_table(population, known) if population is not None else None
    found = run_check(published, name=release.name, require=models, n=n, population=people)
    document = Document(
        document="check",
        settings={"require": list(require or ()), "n": n},
        inputs=describe_inputs([p for p in (release, schema, original, population) if p is not None]),
        run=describe_run(),
        findings=found.findings,
        diagnostics=found.diagnostics,
    )
    if json == "-":
        print(document.model_dump_json(indent=2))
    else:
        if json is not None:
            _write(Path(json), document.model_dump_json(indent=2) + "\n")
        print_check(document, _console())
    if not found.kept:
        raise typer.Exit(1)


@hierarchy_app.command("intervals")
def hierarchy_intervals(
    column: Annotated[str, typer.Argument(help="The numeric column.")],
    width: Annotated[str, typer.Option(metavar="W+W…", help="Widths from narrow to wide, e.g. 5+10+20.", show_default=False)],
    origin: Annotated[float, typer.Option(help="Where intervals start counting.")] = 0,
    data: Annotated[Path | None, typer.Option(help="Take the values from this table,", show_default=False)] = None,
    schema: Annotated[Path | None, typer.Option(help="or from this schema's domain.", show_default=False)] = None,
    output: Out = None,
) -> None:
    """Numbers to intervals of growing width."""
    from unveil.attribute import Kind, position
    from unveil.hierarchy import interval_ladder

    values = [position(v, Kind.NUMERIC) for v in _values(column, data, schema)]
    if None in values:
        raise UsageError(f"{column} is not numeric; use prefixes or dates")
    widths = [position(w, Kind.NUMERIC) for w in width.split("+")]
    if None in widths:
        raise UsageError("--width takes numbers joined by +, for instance 5+10+20")
    _write(output, interval_ladder(sorted(set(values)), widths, origin).to_csv())  # type: ignore[type-var,arg-type]


@hierarchy_app.command("prefixes")
def hierarchy_prefixes(
    column: Annotated[str, typer.Argument(help="The column of codes, e.g. postcodes.")],
    keep: Annotated[str | None, typer.Option(metavar="N+N…", help="Characters kept at each level, e.g. 4+2; else one less each.", show_default=False)] = None,
    data: Annotated[Path | None, typer.Option(help="Take the values from this table,", show_default=False)] = None,
    schema: Annotated[Path | None, typer.Option(help="or from this schema's domain.", show_default=False)] = None,
    output: Out = None,
) -> None:
    """Codes to ever shorter prefixes: 45501, 4550*, 455**."""
    from unveil.hierarchy import prefix_ladder

    steps = None
    if keep is not None:
        if not all(k.isdigit() for k in keep.split("+")):
            raise UsageError("--keep takes whole numbers joined by +, for instance 4+2")
        steps = [int(k) for k in keep.split("+")]
    _write(output, prefix_ladder(_values(column, data, schema), steps).to_csv())


@hierarchy_app.command("dates")
def hierarchy_dates(
    column: Annotated[str, typer.Argument(help="The column of ISO dates.")],
    parts: Annotated[str, typer.Option(metavar="PART+PART…", help="week, month, quarter, year, decade")] = "month+quarter+year",
    data: Annotated[Path | None, typer.Option(help="Take the values from this table,", show_default=False)] = None,
    schema: Annotated[Path | None, typer.Option(help="or from this schema's domain.", show_default=False)] = None,
    output: Out = None,
) -> None:
    """Dates to months, quarters, years."""
    from unveil.hierarchy import date_ladder

    _write(output, date_ladder(_values(column, data, schema), parts.split("+")).to_csv())


@hierarchy_app.command("show")
def hierarchy_show(file: Annotated[Path, typer.Argument(help="A hierarchy file.")]) -> None:
    """Check a hierarchy file and show it as a tree."""
    from rich.markup import escape
    from rich.tree import Tree

    from unveil.hierarchy import read_ladder

    ladder = read_ladder(file)
    root = Tree("*")
    nodes: dict[tuple[str, ...], Any] = {("*",): root}
    for row in sorted(ladder.rows, key=lambda r: ladder.leaves.index(r[0])):
        for depth in range(2, len(row) + 1):
            path = row[len(row) - depth :]
            if path not in nodes:
                nodes[path] = nodes[path[1:]].add(escape(path[0]))
    _console().print(root)
    _say(f"{file}: {len(ladder.rows)} values, {len(ladder.rows[0]) - 1} levels, nested")


@hierarchy_app.command("check")
def hierarchy_check(
    file: Annotated[Path, typer.Argument(help="A hierarchy file.")],
    column: Annotated[str, typer.Argument(help="The column it must cover.")],
    data: Annotated[Path | None, typer.Option(help="Take the values from this table,", show_default=False)] = None,
    schema: Annotated[Path | None, typer.Option(help="or from this schema's domain.", show_default=False)] = None,
) -> None:
    """Check that a hierarchy is nested and covers every value of a column."""
    from unveil.hierarchy import read_ladder

    values = _values(column, data, schema)
    read_ladder(file).over(values, missing=None, attribute=column)
    _say(f"{file}: nested, and covers all {len(values)} values of {column}")


def _values(column: str, data: Path | None, schema: Path | None) -> list[str]:
    """The values of a column: from a table, or from a schema's declared domain."""
    if (data is None) == (schema is None):
        raise UsageError("say where the values come from: --data TABLE or --schema FILE")
    if schema is not None:
        from unveil.schema import read_schema

        known = read_schema(schema)
        if column not in known.names:
            raise UsageError(f"{schema} has no attribute {column!r}; it has {', '.join(known.names)}")
        attribute = known.attribute(column)
        return list(attribute.values[: attribute.real])
    from unveil.formats.tables import read_columns

    assert data is not None
    found = read_columns(data)
    if column not in found.columns:
        raise UsageError(f"{data} has no column {column!r}; it has {', '.join(found.columns)}")
    return sorted(found.columns[column].texts)


def _console() -> Any:
    from rich.console import Console

    wide = 120 if not sys.stdout.isatty() else None
    return Console(width=wide, highlight=False)


def _say(text: str) -> None:
    """One line on standard error."""
    print("".join(c if c.isprintable() else " " for c in text), file=sys.stderr)


def _write(output: Path | None, text: str) -> None:
    """To a file, whole or not at all, or to standard output."""
    if output is None:
        print(text, end="")
        return
    from unveil.formats.output import write_whole

    write_whole({output: text.encode()})
    _say(f"wrote {output}")



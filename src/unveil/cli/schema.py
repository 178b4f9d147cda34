"""unveil schema: draft what the columns are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import unveil.cli.options as opt
from unveil.cli.output import keep_apart, make_folder, say, write
from unveil.cli.settings import cluster_of, dialect_of, engine_of
from unveil.errors import UsageError
from unveil.formats.databases import located

__all__ = ["SchemaOptions", "schema"]


@dataclass(frozen=True, kw_only=True)
class SchemaOptions(opt.TableDialect, opt.ClusterOption):
    """The options of schema."""

    data: Any = opt.argument(
        "The table: CSV, Parquet, Excel, SPSS, Stata, SAS, an ARX project (.deid), or DATABASE#TABLE.",
        "DATA",
        parser=located,
    )
    output: Path | None = opt.output_option("Where to write; to the terminal if not given.")
    json: Path | None = opt.option("Also write the evidence for the roles, as JSON.", "FILE")
    published: bool = opt.flag("--published", "The table is a release: 20-29 is an interval, not a value.")
    json_schema: bool = opt.flag("--json-schema", "Print the JSON Schema of schema.toml instead.")


def schema(options: SchemaOptions) -> None:
    """Draft a schema, which says what each column is.

    Kinds, domains, and suggested roles with their evidence, all unconfirmed.
    """
    data, output = options.data, options.output
    if options.json_schema:
        import json

        from unveil.data.schema import Schema

        write(output, json.dumps(Schema.json_schema(), indent=2) + "\n")
        return
    if data is None:
        raise UsageError("name the table to draft a schema for: unveil schema DATA")
    keep_apart([data], [output, options.json])
    if output is not None and _is_confirmed(output):
        raise UsageError(
            f"{output}: is a confirmed schema, which a draft would replace; name another file, or remove it"
        )
    if data.suffix.lower() == ".deid" and options.cluster is None:
        _write_project_schema(data, output)
        return
    with cluster_of(options) as cluster:
        _write_draft(options, cluster)


def _write_draft(options: SchemaOptions, cluster: Any) -> None:
    """Read the table, here or on the cluster, draft its schema and write it."""
    from unveil.data.attribute import Role
    from unveil.data.draft import MISSING_TOKENS, draft_schema
    from unveil.formats.counted import summarized_table
    from unveil.formats.output import write_whole
    from unveil.formats.tables import read_columns

    data, output = options.data, options.output
    more: dict[str, Any] = {"folder": None if output is None else f"{output.stem}-domains"}
    if cluster is None:
        found: Any = read_columns(data, published=options.published, **dialect_of(options))
        # The first token stands for all kinds in a release: it names none.
        more |= {"missing": (*MISSING_TOKENS, *found.missing), "listed": ("",) if found.missing else ()}
    else:
        found, more["rows"] = summarized_table(data, engine_of(options, cluster), **dialect_of(options))
    say(f"{data}: {found.rows} rows, {found.described}")
    draft = draft_schema(found.columns, name=str(data), decimal=found.decimal, published=options.published, **more)
    outputs = {} if options.json is None else {options.json: draft.evidence_json(str(data.name), found.rows).encode()}
    files = {} if output is None else {output.parent / path: text.encode() for path, text in draft.files.items()}
    if output is None:
        write(None, draft.toml)
    else:
        outputs[output] = draft.toml.encode()
    if output is not None and files:
        keep_apart([data], [*outputs, *files])
        make_folder(output.parent / f"{output.stem}-domains")
    if written := write_whole({**outputs, **files})[: len(outputs)]:
        long = "a long domain" if len(files) == 1 else f"{len(files)} long domains"
        also = f", and {long} in {output.stem}-domains" if output is not None and files else ""
        say(f"wrote {', '.join(map(str, written))}{also}")
    for role in Role:
        names = [evidence.name for evidence in draft.evidence if evidence.role is role]
        say(f"{role:17}{', '.join(names) or 'none'}")
    say("The roles are suggestions. Read them, correct them, then set confirmed = true.")


def _is_confirmed(path: Path) -> bool:
    from unveil.data.toml import read_toml

    try:
        return path.is_file() and read_toml(path, UsageError).get("confirmed") is True
    except UsageError:  # not TOML: nothing that anybody confirmed
        return False


def _write_project_schema(project: Path, output: Path | None) -> None:
    """An ARX project's schema, and beside it its hierarchies; to the terminal the schema alone."""
    from unveil.formats.arx.schema import draft_project
    from unveil.formats.output import write_whole

    draft = draft_project(project)
    say(f"{project}: {draft.rows} rows, {len(draft.ladders)} hierarchies")
    for note in draft.notes:
        say(note)
    if output is None:
        write(None, draft.toml)
        if draft.files:
            say("The hierarchies are written with -o FILE, into a folder beside it.")
        return
    files = {output.parent / draft.files[name]: ladder.to_csv().encode() for name, ladder in draft.ladders.items()}
    keep_apart([project], [output, *files])
    for folder in {path.parent for path in files}:
        make_folder(folder)
    write_whole({output: draft.toml.encode(), **files})
    say(f"wrote {output}" + (f" and {len(files)} hierarchies beside it" if files else ""))
    say("The roles are those set in ARX. Read them, correct them, then set confirmed = true.")

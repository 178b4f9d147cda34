"""unveil hierarchy: whole folders of hierarchies, and the mapping of a release."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import unveil.cli.options as opt
from unveil.cli.command import command
from unveil.cli.hierarchy import OutputOption, hierarchy_app
from unveil.cli.load import load_case
from unveil.cli.output import keep_apart, make_folder, say, write
from unveil.errors import SchemaError, UsageError, shown

__all__ = ["hierarchy_app"]


@dataclass(frozen=True, kw_only=True)
class FolderOptions(opt.SchemaFile):
    """Where hierarchies go."""

    output: Path = opt.output_option("The folder to write to.", "FOLDER", default=opt.REQUIRED)


@dataclass(frozen=True, kw_only=True)
class AutoOptions(opt.SchemaFile):
    """A table."""

    data: Any = opt.data_option("Take the values, and how many rows each has, from this table.", default=opt.REQUIRED)
    output: Path | None = opt.output_option("The folder to write to, beside the schema: hierarchies.", "FOLDER")


@command(hierarchy_app)
def auto(options: AutoOptions) -> None:
    """Build a hierarchy for every quasi-identifier that has none.

    Ages, intervals, parts of dates, ICD-10, prefixes, neighbours or frequencies; written, and named in the schema.
    """
    from unveil.data.attribute import Role
    from unveil.data.hierarchy_auto import hierarchy_of
    from unveil.data.schema import read_schema
    from unveil.data.schema.edit import with_hierarchies
    from unveil.data.toml import read_text
    from unveil.formats.arx.schema import file_names
    from unveil.formats.output import write_whole
    from unveil.formats.tables import read_table

    schema = _schema(options)
    folder = options.output or schema.parent / "hierarchies"
    if folder.resolve().parent != schema.parent.resolve():
        raise UsageError(
            f"{folder}: a schema can only name files in its own folder; choose a folder in {schema.parent}"
        )
    known = read_schema(schema)
    table = read_table(options.data, known)
    made: dict[str, Any] = {}
    for attribute, column in zip(table.attributes, table.columns, strict=True):
        if attribute.role is Role.QUASI_IDENTIFIER and attribute.hierarchy is None:
            try:
                made[attribute.name] = hierarchy_of(attribute, column, known.declaration(attribute.name))
            except SchemaError as reason:
                say(f"{attribute.name}: no hierarchy: {reason}")
    if not made:
        raise UsageError(f"{schema}: every quasi-identifier that can have a hierarchy has one")
    names = file_names(made, folder.name)
    text = with_hierarchies(read_text(schema, SchemaError), names, str(schema))
    files = {folder / Path(names[n]).name: ladder.to_csv().encode() for n, ladder in made.items()}
    keep_apart([options.data, schema], files)
    make_folder(folder)
    write_whole({**files, schema: text.encode()})
    for name, ladder in made.items():
        middle = len(ladder.rows) // 2  # or the next that every level widens
        example = max(range(len(ladder.rows)), key=lambda row: (len(set(ladder.rows[row])), -abs(row - middle)))
        labels = " → ".join(shown(cell, 30)[1:-1] for cell in dict.fromkeys(ladder.rows[example]))
        say(f"{name}: {ladder.source}: {labels}")
    say(f"wrote {len(files)} hierarchies to {folder}, and named them in {schema}")


@dataclass(frozen=True, kw_only=True)
class ImportOptions(FolderOptions):
    """Hierarchies of another tool."""

    source: Path = opt.argument("A folder of ARX's CSV files, or an ARX project (.deid).", default=opt.REQUIRED)
    schema: Path | None = opt.option(
        "Import only the attributes of this schema, checked against its domains.", "FILE", "--schema", "-s"
    )
    delimiter: str = opt.option("The delimiter between levels.", default=";")


@command(hierarchy_app, "import")
def import_(options: ImportOptions) -> None:
    """Import many hierarchies at once from ARX.

    Corrected where ARX allows what is not allowed here (***** on top, * below the top).
    """
    from unveil.data.hierarchy import hierarchy_files
    from unveil.data.schema import read_schema
    from unveil.formats.arx import read_project, repaired_ladder

    source, schema = options.source, options.schema
    known = read_schema(schema) if schema is not None else None
    if source.suffix.lower() == ".deid":
        project = read_project(source)
        ladders = dict(project.ladders)
        for reason in project.unusable.values():
            say(f"left out: {reason}")
    else:
        chosen = hierarchy_files(source, known.names if known is not None else None, str(source))
        read = {name: repaired_ladder(file.read_bytes(), str(file), options.delimiter) for name, file in chosen.items()}
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
    _give_folder(options, ladders, [source])


@command(hierarchy_app)
def export(options: FolderOptions) -> None:
    """Write every hierarchy of a schema as ARX reads them."""
    from unveil.data.schema import read_schema

    schema = _schema(options)
    ladders = read_schema(schema).hierarchies
    if not ladders:
        raise UsageError(f"{schema}: names no hierarchy")
    _give_folder(options, ladders, [])


@dataclass(frozen=True, kw_only=True)
class MappingOptions(opt.TableDialect, opt.ReleaseDialect, OutputOption, opt.Original, opt.SchemaFile, opt.OneRelease):
    """A release."""


@command(hierarchy_app)
def mapping(options: MappingOptions) -> None:
    """Write what a release made of each value, as a CSV."""
    from unveil.formats.cells import mapping_bytes

    (release,) = load_case(options, grouped=True).releases.values()
    write(options.output, mapping_bytes(release).decode())


def _schema(options: FolderOptions | AutoOptions) -> Path:
    if options.schema is None:
        raise UsageError("say what the columns are: --schema FILE")
    return options.schema


def _give_folder(options: FolderOptions, ladders: Mapping[str, Any], inputs: list[Any]) -> None:
    """Write hierarchies, one file per attribute, whole or not at all."""
    from unveil.formats.arx.schema import file_names
    from unveil.formats.output import write_whole

    output = options.output
    files = {output / Path(f).name: ladders[n].to_csv().encode() for n, f in file_names(ladders, ".").items()}
    keep_apart([*inputs, options.schema], files)
    make_folder(output)
    write_whole(files)
    say(f"wrote {len(files)} hierarchies to {output}: {', '.join(ladders)}")

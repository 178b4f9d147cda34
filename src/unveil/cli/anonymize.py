"""unveil anonymize: make a release of a table."""

import secrets
from dataclasses import dataclass
from pathlib import Path

import unveil.cli.options as opt
from unveil.cli.load import dialect_of, load_schema
from unveil.cli.output import keep_apart, release_parts, say
from unveil.errors import UsageError

__all__ = ["AnonymizeOptions", "anonymize"]


@dataclass(frozen=True, kw_only=True)
class AnonymizeOptions(opt.TableDialect, opt.With, opt.SchemaFile, opt.Data):
    """The options of anonymize."""

    output: Path | None = opt.output_option(
        "The release to write: .csv, .parquet, .arrow, .xlsx, .sav, .zsav, .dta or .xpt", "RELEASE"
    )
    assignment: Path | None = opt.option("Also write which row went where. Keep it secret.", "FILE")
    seed: int | None = opt.option("Seed of what is drawn; from the operating system if not given. Keep it secret.")


def anonymize(options: AnonymizeOptions) -> None:
    """Make a release of a table that keeps a privacy requirement."""
    from unveil.catalog import anonymizer
    from unveil.data.masked import MaskedTable, SyntheticTable
    from unveil.engine import Engine
    from unveil.formats.assignments import assignment_bytes, origin_bytes
    from unveil.formats.masked import masked_files
    from unveil.formats.output import write_whole
    from unveil.formats.releases import release_files
    from unveil.formats.table_output import check_ending
    from unveil.formats.tables import read_table

    data, output, assignment = options.data, options.output, options.assignment
    if data is None or options.with_ is None or output is None:
        missing = "DATA" if data is None else "--with NAME:options" if options.with_ is None else "--output RELEASE"
        raise UsageError(f"{missing} is missing: unveil anonymize DATA --schema FILE --with NAME:options -o RELEASE")
    read = [data, options.schema]
    keep_apart(read, [output, release_parts(output)[1], assignment])
    method = anonymizer(options.with_, options.require)
    schema = load_schema(options)
    published = [name for name in schema.names if schema.declaration(name).role != "identifier"]
    check_ending(output, "a release", names=published)  # said before the work, not after it
    table = read_table(data, schema, **dialect_of(options))
    seed = secrets.randbits(128) if options.seed is None else options.seed
    say(f"seed {seed} (keep it secret: with it a reader could replay what was drawn)")
    made = method.anonymize(table, Engine(seed=seed))
    if made.note:
        say(made.note)
    masked = isinstance(made, MaskedTable | SyntheticTable)
    if assignment is not None and isinstance(made, SyntheticTable):
        raise UsageError("--assignment: the rows of this release are nobody's; leave it out")
    files = masked_files(made.masked, output, like=table) if masked else release_files(made.release, output, like=table)
    keep_apart(read, files)
    if assignment is not None:
        keep_apart([*read, *files, *release_parts(output)], [assignment])
        files[assignment] = origin_bytes(made.origin) if masked else assignment_bytes(made.group_of_row)
    written = write_whole(files, private=() if assignment is None else (assignment,))
    if masked:
        what = f"{made.masked.rows} rows, {len(made.masked.masked)} columns perturbed"
    else:
        what = f"{made.release.rows} rows in {made.release.groups} groups"
    gone = [str(path) for path in files if path not in written]
    removed = f"; removed {', '.join(gone)}, a part of the release that was there before" if gone else ""
    say(f"{what}; wrote {', '.join(map(str, written))}{removed}")

"""unveil anonymize: make a release of a table."""

import hashlib
import json
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

import unveil.cli.options as opt
from unveil.cli.earlier import LedgerOptions, load_earlier
from unveil.cli.load import load_schema
from unveil.cli.memory import table_bytes, warn_before_reading, warn_of_memory
from unveil.cli.output import keep_apart, long_work, release_parts, say
from unveil.cli.settings import cluster_of, dialect_of
from unveil.errors import LimitError, Stopped, TableError, UsageError, shown

__all__ = ["FIRST", "AnonymizeOptions", "anonymize"]

FIRST = "schema with_ require output until utility suppress leave_out ledger population assignment seed"
ATTEMPTS = 3  # to make a release that keeps everybody safe beside the ledger: what is drawn may be unlucky


@dataclass(frozen=True, kw_only=True)
class AnonymizeOptions(
    opt.TableDialect,
    opt.MemoryBound,
    opt.ClusterOption,
    opt.With,
    opt.Population,
    LedgerOptions,
    opt.SchemaFile,
    opt.Data,
):
    """The options of anonymize."""

    output: Path | None = opt.output_option(
        "The release to write: .csv, .tsv, .txt, .parquet, .arrow, .xlsx, .sav, .zsav, .dta or .xpt", "RELEASE"
    )
    assignment: Path | None = opt.option("Also write which original row went where. Keep it secret.", "FILE")
    leave_out: list[str] = opt.option(
        "A column not to publish, as if it were an identifier; repeatable.", "COLUMN", default=list
    )
    until: list[str] = opt.option(
        "Search for the most useful release within this limit against readers who learn, e.g. "
        "'relative_threat.max <= 5'; repeatable. Writes a certificate beside it.",
        "'ID <= NUMBER'",
        default=list,
    )
    suppress: float = opt.option("With --until: the share of rows that may be suppressed.", "SHARE", default=0.0)
    utility: list[str] = opt.option(
        "With --until: the utility to keep, certainty_penalty (if not given), query_error, utility_loss or "
        "discernibility.",
        "ID",
        default=list,
    )
    anyway: bool = opt.flag(
        "--anyway", "With --until: write the release even if a reader outside the search exceeds twice a limit."
    )
    seed: int | None = opt.option("Random seed; from the operating system if not given. Keep it secret.")


def anonymize(options: AnonymizeOptions) -> None:
    """Make a release that satisfies a privacy requirement."""
    from unveil.catalog import anonymizer
    from unveil.formats.output.tables import check_ending

    data, output, assignment = options.data, options.output, options.assignment
    if data is None or options.with_ is None or output is None:
        missing = "DATA" if data is None else "--with NAME:options" if options.with_ is None else "--output RELEASE"
        raise UsageError(f"{missing} is missing: unveil anonymize DATA --schema FILE --with NAME:options -o RELEASE")
    if not options.until and (options.suppress or options.anyway):
        raise UsageError("--suppress and --anyway go with --until 'ID <= NUMBER'")
    if options.until and (options.ledger is not None or options.population is not None):
        other = "--population" if options.ledger is None else "--ledger"
        raise UsageError(f"--until cannot be used with {other}; leave one of them out")
    rows = {"--until": options.until, "--ledger": options.ledger, "--population": options.population}
    for name, given in {**rows, "--assignment": assignment}.items():
        if options.cluster is not None and given:
            raise UsageError(f"{name} asks for people one by one, and on a cluster they are counted; leave one out")
    read = [data, options.schema]
    certificate = output.with_suffix(".certificate.json") if options.until else None
    keep_apart(read, [output, release_parts(output)[1], assignment, certificate])
    method = anonymizer(options.with_, options.require)
    schema = load_schema(options)
    published = [name for name in schema.names if schema.declaration(name).role != "identifier"]
    for name in options.leave_out:
        if name not in published:
            choose = ", ".join(published)
            raise UsageError(f"--leave-out {shown(name)}: not a column that is published; choose from {choose}")
    parts = part_names(data, output)
    check_ending(output / parts[0] if parts else output, "a release", names=published)  # said before the work
    with cluster_of(options) as cluster:
        _make(options, method, schema, parts, certificate, cluster)


def _make(
    options: AnonymizeOptions, method: Any, schema: Any, parts: tuple[str, ...], certificate: Path | None, cluster: Any
) -> None:
    """Read, make the release and write it."""
    from unveil.engine import Engine
    from unveil.formats.output import content_bytes, write_whole
    from unveil.formats.releases import release_files
    from unveil.formats.releases.assignments import assignment_bytes
    from unveil.formats.tables import read_table

    data, output, assignment = options.data, options.output, options.assignment
    assert output is not None
    read = [data, options.schema]
    counts = cluster is not None and getattr(method, "reads_counts", False)
    instead = "leave columns out of the table, or release it in parts"
    if cluster is not None and not counts:
        name = (options.with_ or "").partition(":")[0]
        say(f"{name} works on people one by one: the table is read here, whole, and takes about 60 bytes a cell")
    if not counts:
        warn_before_reading([data], instead)
    at = Engine(seed=0, cluster=cluster if counts else None)
    table = read_table(data, schema, **dialect_of(options), engine=at).without(options.leave_out)
    warn_of_memory(table_bytes(table), instead)
    if options.population is not None:
        table = _beside(options, schema, table)
    seed = secrets.randbits(128) if options.seed is None else options.seed
    say(f"seed {seed} (keep it secret: with it a reader could replay what was drawn)")
    with long_work("nothing will be written") as (progress, stop):
        engine = Engine(seed=seed, progress=progress, stop=stop).part()
        if options.until:
            bounded = _bounded(options, method, table, engine)
            made = bounded.made
        elif options.ledger is None:
            made = method.anonymize(table, engine)
        else:
            made = _after(options, method, schema, table, engine)
    if stop.is_set():
        raise Stopped("stopped; no release was written")
    if made.note:
        say(made.note)
    if assignment is not None and made.release.synthetic:
        raise UsageError("--assignment: the rows of this release are nobody's; leave it out")
    files = release_files(made.release, output, like=table, parts=parts, engine=at)
    keep_apart(read, files)
    if certificate is not None:
        files[certificate] = _certificate(bounded, {path: content_bytes(c) for path, c in files.items() if c})
    if assignment is not None:
        keep_apart([*read, *files, *release_parts(output)], [assignment])
        files[assignment] = assignment_bytes(made.group_of_row)
    written = write_whole(files, private=() if assignment is None else (assignment,))
    if made.release.perturbed:
        what = f"{made.release.rows} rows, {len(made.release.perturbed)} columns perturbed"
    else:
        what = f"{made.release.rows} rows in {made.release.groups} groups"
    gone = [str(path) for path in files if path not in written]
    removed = f"; removed {', '.join(gone)}, a part of the release that was there before" if gone else ""
    say(f"{what}; wrote {', '.join(map(str, written))}{removed}")


def part_names(data: Any, output: Path) -> tuple[str, ...]:
    """The files of a release that is a folder, as many as the original has and of their kind; none if it is a file."""
    from unveil.formats.output.tables import ENDINGS
    from unveil.formats.parts import part_files
    from unveil.formats.paths import is_many

    if output.suffix:
        return ()
    files = [part.path for part in part_files(data, TableError)] if is_many(data) else [data]
    ending = getattr(files[0], "suffix", "").lower()
    return tuple(f"part-{place:05}{ending if ending in ENDINGS else '.csv'}" for place in range(len(files)))


def _beside(options: AnonymizeOptions, schema: Any, table: Any) -> Any:
    """The table with the population that requirements are about."""
    from unveil.cli.load import load_population
    from unveil.privacy.requirement import OF_POPULATIONS

    name = (options.with_ or "").partition(":")[0]
    if name not in OF_POPULATIONS:
        use = " or ".join(OF_POPULATIONS)
        raise UsageError(f"--population: {name} keeps no requirement about a population; use {use}")
    if options.ledger is not None:
        raise UsageError("--population cannot be used with --ledger; leave one of them out")
    return table.with_population(load_population(options, schema, table.attributes, dialect_of(options)))


def _bounded(options: AnonymizeOptions, method: Any, table: Any, engine: Any) -> Any:
    """The release that --until asks for, and a line for each thing a steward should know of it."""
    from unveil.frontier.bounded import bounded_release

    if len(options.utility) > 1:
        raise UsageError("--utility: anonymize keeps one measure; unveil frontier compares several")
    measure = options.utility[0] if options.utility else "certainty_penalty"
    found = bounded_release(table, method, options.until, engine, suppress=options.suppress, measure=measure)
    added = [text for text in found.stated if text not in map(str.strip, options.until)]
    if added:
        say(f"{added[0]} was added: a release that is fitted to a maximum alone uses it up for many people")
    for name, why in found.certificate.not_asked.items():
        say(f"not asked: {name} ({why})")
    for row in found.certificate.rows:
        if not row.kept:
            where = "a reader of the search" if row.in_loop else "outside the search"
            say(f"{row.reader}, {row.attribute}: {row.limit} is {row.far_end:.3g} ({where})")
    far = found.certificate.far_beyond
    if far and not options.anyway:
        say(
            f"unveil: {len(far)} of the certificate's rows are beyond twice a limit, or beyond it for a reader of the "
            "search; nothing was written. State other limits, allow --suppress, or write it --anyway"
        )
        raise typer.Exit(3)
    inside = all(row.kept for row in found.certificate.rows if row.in_loop)
    who = (
        "every reader asked"
        if found.certificate.kept
        else "every reader of the search"
        if inside
        else "not every reader"
    )
    kept = f"{who} keeps every limit"
    say(f"{kept}; {found.suppressed:,} rows suppressed; {measure} {found.lost:.3g}")
    known = found.mechanism
    if known.replayed:
        say(
            f"a reader who knows how this was made believes the truth up to {known.largest:.2g} times as much (nine "
            f"groups of ten: {known.q90:.2g}; {known.replayed} of {known.groups} groups left whole were replayed)"
        )
    return found


def _certificate(bounded: Any, files: dict[Path, bytes]) -> bytes:
    """What travels with the release: limits, readers and digests; no seed, no person."""
    hashes = {path.name: hashlib.sha256(content).hexdigest() for path, content in files.items()}
    found = {"document": "certificate", "version": 1, "files": hashes, **bounded.to_dict()}
    return (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode()


def _after(options: AnonymizeOptions, method: Any, schema: Any, table: Any, engine: Any) -> Any:
    """A release that keeps everybody as safe together with those in the ledger as the worse of them does alone."""
    from unveil.anonymizers.parts.successive import anonymize_after
    from unveil.audit.together import beyond_limits
    from unveil.risk.composition import kept_together

    found = load_earlier(options, schema, table, {})
    if found["not_combined"]:
        name, why = next(iter(found["not_combined"].items()))
        raise UsageError(f"--ledger: {name} cannot be read ({why}); nothing can be promised beside it")
    for name, one in found["earlier"].items():
        if one.release.perturbed:
            raise UsageError(f"--ledger: {name} was perturbed, and no release can follow its groups")
        if one.changed:
            raise UsageError(f"--ledger: values of {name} may have changed, so that its groups cannot be followed")
    if not found["earlier"]:
        return method.anonymize(table, engine)
    releases = {n: e.release for n, e in found["earlier"].items()}
    for attempt in range(ATTEMPTS):
        made, placed = anonymize_after(method, table, releases, engine.named(f"attempt {attempt}"))
        earlier = {n: replace(e, group=placed[n]) if (placed[n] >= 0).all() else e for n, e in found["earlier"].items()}
        kept = kept_together(table, made, earlier)
        if any(one.lost for one in kept):
            break
        if not all(one.kept for one in kept):
            continue
        beyond = beyond_limits(table, made.release, found["earlier"], engine)
        if not beyond.together:
            break
    for one in kept:
        if one.lost:
            raise LimitError(
                f"a reader of the ledger alone is told the {one.attribute} of {one.told_before:,} people and is 80% "
                f"sure of that of {one.likely_before:.1%}; nothing published after it takes that back"
            )
        if not one.kept:
            more = max(one.worse, one.sure, one.told)
            how = f"{more:,} people" if more else f"{one.likely:.0%} of people, at 80% or more,"
            how = how if one.settled else "an unknown number of people"
            raise LimitError(
                f"together with the ledger {how} would be told more of their {one.attribute} than by either alone; "
                f"{one.values} values are left to everybody, and the surest belief is {one.together:.0%}"
            )
    if beyond.together:
        raise LimitError(f"together with the ledger it is beyond an audit's limits: {beyond.together[0]}")
    if beyond.alone:
        raise LimitError(
            f"it is beyond an audit's limits even without the ledger: {beyond.alone[0]}; nothing was written. Ask for "
            f"a larger k or l, or leave out a column with --leave-out"
        )
    for one in kept:
        say(
            f"together with the ledger a reader is at most {one.together:.0%} sure of anybody's {one.attribute} "
            f"(this release alone {one.alone:.0%}, the ledger alone {one.before:.0%})"
        )
    return made

"""unveil frontier: which release should be published?"""

import secrets
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import unveil.cli.options as opt
from unveil.cli.load import input_paths, load_schema
from unveil.cli.memory import table_bytes, warn_before_reading, warn_of_memory
from unveil.cli.output import check_outputs, give_results, long_work, release_parts, say
from unveil.cli.settings import attackers_of, chains_of, dialect_of, engine_of, one_set
from unveil.errors import UsageError

__all__ = ["FIRST", "FrontierOptions", "frontier"]

FIRST = "schema with_ require risk utility limit budget minutes output report json attacker sample config verbose"


@dataclass(frozen=True, kw_only=True)
class FrontierOptions(
    opt.TableRun,
    opt.ChainLengths,
    opt.KnownOptions,
    opt.Attackers,
    opt.ReportAndLimits,
    opt.Require,
    opt.SchemaFile,
    opt.Data,
):
    """The options of a sweep."""

    with_: list[str] = opt.option(
        "An anonymizer and the values to try, e.g. mondrian:k=2+5+10, its own requirements after a space; or a file: "
        "a release that is there already. Repeatable. A few of each kind if not given.",
        "SCHEME",
        "--with",
        default=list,
    )
    risk: list[str] = opt.option(
        "A risk by its id; the first is the scale, global_threat if not given; repeatable.", "ID", default=list
    )
    utility: list[str] = opt.option(
        "A measure of utility; the first is the scale, utility_loss if not given; repeatable.", "ID", default=list
    )
    budget: int | None = opt.option("How many releases to make in all, also with values between the given ones.", "N")
    minutes: float | None = opt.option("Keep trying values between the given ones for this long.", "M")
    output: Path | None = opt.output_option("Write the recommended release, a .csv", "RELEASE")
    distance: str = opt.option("The distance of privacy loss and utility loss.", default="js")
    minimum_support: float = opt.option("Share of the rows that is a large population.", default=0.05)
    dimension: int = opt.option("Quasi-identifiers in a random query.", default=2)
    selectivity: float = opt.option("Selectivity of random queries.", default=0.05)
    queries: int = opt.option("How many random queries.", default=1000)
    sample: int | None = opt.option("Ask about a random sample of people only.", "N")
    release_seed: int | None = opt.option(
        "Seed of the anonymizers' draws: from the operating system with -o, else --seed. Keep it secret."
    )


def frontier(options: FrontierOptions) -> None:
    """Try schemes and parameters, and recommend a release.

    Exit code 1: none keeps the limits; 3: inconclusive, or no limit was stated.
    """
    from unveil.audit.document import describe_inputs
    from unveil.formats.output.tables import check_ending
    from unveil.formats.releases import release_files
    from unveil.formats.releases.published import earlier_parts
    from unveil.formats.tables import read_table
    from unveil.frontier import Questions, ReaderSettings, run_frontier
    from unveil.frontier.schemes import FinishedRelease

    data, output = options.data, options.output
    if data is None:
        raise UsageError("name the table: unveil frontier DATA --schema FILE")
    chosen_file = None if output is None else output.with_name(f"{output.stem}-chosen.toml")
    written = [] if output is None or chosen_file is None else [output, *release_parts(output), chosen_file]
    check_outputs(options, input_paths(options), *written)
    known = one_set(options.known)
    reading = ReaderSettings(
        known=None if known is None else tuple(known), chains=chains_of(options), sample=options.sample
    )
    if attackers := attackers_of(options.attacker):
        reading = replace(reading, attackers=attackers)
    engine = engine_of(options)
    schema = load_schema(options)
    if output is not None:
        check_ending(output, "a release", names=[n for n in schema.names if schema.declaration(n).role != "identifier"])
        # Whichever kind is recommended hours later: what is in its way is said now.
        earlier_parts(output, [output, output.with_suffix(".toml")])
        earlier_parts(output, [output])
    reading = replace(reading, joined=tuple(map(tuple, schema.document.joined)))
    warn_before_reading([data], "take a sample of its rows", times=2)
    table = read_table(data, schema, **dialect_of(options))
    warn_of_memory(table_bytes(table) * 2, "give fewer --workers, or --sample N")
    release_seed = options.release_seed
    if release_seed is None and output is not None:
        release_seed = secrets.randbits(128)
        say(f"release seed {release_seed} (keep it secret: with it a reader could replay what was drawn)")
    release_seed = options.seed if release_seed is None else release_seed  # nothing is written
    with long_work() as (progress, stop):
        found = run_frontier(
            table,
            [
                _finished(text, schema, table, options.require) if Path(text).is_file() else text
                for text in options.with_
            ],
            require=options.require,
            risks=options.risk,
            utilities=options.utility,
            limits=options.limit,
            budget=options.budget,
            minutes=options.minutes,
            questions=Questions(**{f.name: getattr(options, f.name) for f in fields(Questions)}),
            reading=reading,
            engine=replace(engine, progress=progress, stop=stop),
            release_seed=release_seed,
            inputs=describe_inputs(input_paths(options)),
        )
    files: dict[Path, Any] = {}
    point = found.choice.recommended
    if output is not None and chosen_file is not None:
        if point is None:
            hint = "" if options.limit else "; state a limit, e.g. --limit 'k_anonymity >= 5'"
            say(f"{output}: not written, because nothing is recommended{hint}")
        elif isinstance(getattr(point.candidate, "method", None), FinishedRelease):
            say(f"{point.name} is recommended and there already; {output} is not written")
        else:
            made = found.anonymized(point)
            files = release_files(made.release, output, like=table)
            files[chosen_file] = _chosen(point.candidate, options).encode()
            if made.note:
                say(made.note)
    give_results(found, options, beside=files, private=[chosen_file] if chosen_file is not None else [])


def _finished(text: str, schema: Any, table: Any, require: list[str]) -> Any:
    """A release that is there already, ours or another tool's, as a candidate."""
    from unveil.formats.releases import read_release
    from unveil.frontier.schemes import FinishedRelease

    path = Path(text)
    release = read_release(path, schema, attributes=table.attributes)
    return FinishedRelease(release).candidate(path.name, require)


def _chosen(candidate: Any, options: FrontierOptions) -> str:
    """How the chosen release was made, as a file that `unveil frontier DATA -s FILE --config` reads.

    Without the seed and without the place of any file: it may be handed on.
    """
    import json
    import shlex

    requires = " ".join(f"--require {shlex.quote(text)}" for text in candidate.require)
    return (
        "# How this release was made. To make one like it:\n"
        f"# unveil anonymize DATA --schema FILE --with {shlex.quote(candidate.with_text)} {requires}".rstrip()
        + f"\nwith = [{json.dumps(candidate.name, ensure_ascii=False)}]\n"
        + f"limit = {json.dumps(options.limit, ensure_ascii=False)}\n"
        + (f"risk = {json.dumps(options.risk, ensure_ascii=False)}\n" if options.risk else "")
    )

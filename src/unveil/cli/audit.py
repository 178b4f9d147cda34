"""unveil audit: may these releases be published?"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import unveil.cli.options as opt
from unveil.cli.earlier import EarlierOptions
from unveil.cli.load import input_paths, load_case
from unveil.cli.output import file_part, give_results, keep_apart, long_work, release_parts, say
from unveil.cli.settings import names_of
from unveil.errors import LimitError, UsageError

__all__ = ["FIRST", "AuditOptions", "audit"]

FIRST = (
    "schema original earlier ledger report json people limit preset control population attacker known config verbose"
)


@dataclass(frozen=True, kw_only=True)
class AuditOptions(
    opt.ReleaseCase,
    opt.ClusterOption,
    opt.CheckpointOptions,
    opt.EngineSettings,
    opt.ChainLengths,
    opt.Priors,
    opt.AlignedRows,
    opt.Pairing,
    opt.AskedOptions,
    opt.KnownOptions,
    opt.Attackers,
    opt.Population,
    opt.Control,
    opt.Limits,
    opt.PeopleOptions,
    EarlierOptions,
    opt.Report,
):
    """The options of an audit."""

    releases: list[Path] = opt.argument("One or more published tables.", "RELEASE…", default=list)
    known: list[str] = opt.option(
        "What an attacker knows of a person, or all quasi-identifiers; repeatable to test several.",
        "A,B",
        default=list,
    )
    certificate: Path | None = opt.option(
        "Verify the certificate that anonymize --until wrote: its files, its limits and its readers.", "FILE"
    )
    preset: str | None = opt.option("Published limits by name, e.g. ema_0070 or k_11.", "NAME")
    presets: Path | None = opt.option("A TOML file of more presets.", "FILE")
    sample: int | None = opt.option("Ask about a random sample of people only.", "N")
    minutes: float = opt.option("Stop after this many minutes and report what was measured.", "M", default=10.0)
    joint: bool = opt.flag("--joint", "Also guess all sensitive attributes jointly.")
    panel: bool = opt.option(
        "Also try readers slightly different from these: other pseudo-counts, joined attributes, one fewer attribute.",
        None,
        "--panel/--no-panel",
        default=True,
    )
    membership_prior: float | None = opt.option(
        "Probability, before the release, that a person is in the table; 0.5 if not given.", "P"
    )
    background: str = opt.option(
        "Readers with background knowledge: if cheap, never, or always (yes:bandwidths=0.1+0.3,t=0.2,l=3).",
        "auto|no|yes:options",
        default="auto",
    )
    release_type: str = opt.option("public, controlled or internal.", "TYPE", default="not stated")
    waive: list[str] = opt.option(
        "A kind of disclosure not to judge, and why: singling out, linking, inference, inference:ATTRIBUTE, "
        "membership, background, composition or file; repeatable.",
        "KIND='why'",
        default=list,
    )
    recipient: str | None = opt.option("Who gets the release.", "TEXT")
    variant: str = opt.option(
        "The document: internal, or external, with no count below --least-count.", "VARIANT", default="internal"
    )
    least_count: int = opt.option("The smallest count that an external document shows.", default=10)


def audit(options: AuditOptions) -> None:
    """Attack and measure releases; judge every kind of disclosure.

    Default limits always apply; --preset and --limit add to them. Exit code 1: a limit is exceeded; 3: inconclusive, or
    something was not judged.
    """
    if not options.releases:
        raise UsageError("name at least one release: unveil audit RELEASE… --schema FILE")
    certified = None if options.certificate is None else _certified(options.certificate)
    case = load_case(options)
    from unveil.audit import run_audit  # after it: what they import takes seconds
    from unveil.audit.first_look import first_look
    from unveil.formats.people import people_content

    files = _people_paths(options, case)
    if certified is not None:
        case = replace(case, limits=(*case.limits, *certified.limits))
        _verify(certified, case)
    with long_work() as (progress, stop):
        if options.variant == "internal" and str(options.json) != "-":  # it shows counts, however small
            case.check()
            for line in first_look(case):
                say(line)
        engine = replace(case.engine, progress=progress, stop=stop)
        progress.within(options.minutes)
        with engine.for_minutes(options.minutes, lambda: say(_over(options.minutes))) as timed:
            found = run_audit(replace(case, engine=timed, digits=options.precision is not None))
    people: dict[Path, Any] = {}
    for path, of in files.items():
        if of[0] in found.compared:
            people[path] = people_content(path, found.links(of[0]))
        elif of in found.answers and found.answers[of].attackers:
            people[path] = people_content(path, found.people(*of))
        elif not of[1]:  # perturbed columns that were read as bands of true values: what is believed of people
            mine = [key for key, one in found.answers.items() if key[0] == of[0] and one.attackers]
            for key in mine:
                name = path.stem if len(mine) == 1 else f"{path.stem}-{file_part(key[1])}"
                own = path.with_name(name + path.suffix)
                people[own] = people_content(own, found.people(*key))
    keep_apart(input_paths(options), [*people])
    give_results(found, options, people=people)


def _certified(path: Path) -> Any:
    """What the file says, before anything is worked out."""
    from unveil.audit.verified import read_certificate

    try:
        return read_certificate(path.read_bytes(), path.name)
    except OSError as error:
        raise UsageError(f"--certificate {path}: cannot be read ({error.strerror}); name an existing file") from None


def _verify(certified: Any, case: Any) -> None:
    """Ask the certificate's readers again. LimitError: the release must not be published under it."""
    from unveil.audit.verified import verify_certificate

    with long_work() as (progress, stop):
        found = verify_certificate(certified, replace(case, engine=replace(case.engine, progress=progress, stop=stop)))
    for row in found.rows:
        if not row.kept:
            where = "a reader of the search" if row.in_loop else "outside the search"
            say(f"{row.reader}, {row.attribute}: {row.limit} is {row.far_end:.3g} ({where})")
    if found.far_beyond:
        raise LimitError(
            f"{certified.name} is refuted: {len(found.far_beyond)} of its rows are beyond twice a limit, or beyond it "
            "for a reader of the search; do not publish the release under it"
        )
    readers = len({row.reader for row in found.rows})
    who = "all keep its limits" if found.kept else "those of the search keep its limits, the others twice of them"
    say(f"{certified.name} is confirmed: the files are those certified; {readers} readers were asked again, and {who}")


def _over(minutes: float) -> str:
    return f"unveil: {minutes:g} minutes are over; what was reached is reported. Give it longer with --minutes M"


def _people_paths(options: AuditOptions, case: Any) -> dict[Path, tuple[str, str]]:
    """One file per release and attribute: `-RELEASE` and `-ATTRIBUTE` before the ending where there are several."""
    from unveil.audit.asking import asked_of
    from unveil.data.attribute import Role

    if options.people is None:
        return {}
    keys = []
    for name, release in case.releases.items():
        if release.perturbed:  # whom each person is linked with: one file
            keys.append((name, ""))
            continue
        attributes = [release.attributes[i].name for i in asked_of(release, names_of(options.asked))]
        sensitive = [release.attributes[i].name for i in release.with_role(Role.SENSITIVE)]
        attributes += [" × ".join(sensitive)] if options.joint and len(sensitive) > 1 else []
        keys += [(name, attribute) for attribute in attributes]
    several = len({attribute for _, attribute in keys if attribute}) > 1
    found: dict[Path, tuple[str, str]] = {}
    for name, attribute in keys:
        parts = [options.people.stem]
        parts += [file_part(Path(name).stem)] if len(case.releases) > 1 else []
        parts += [file_part(attribute)] if several and attribute else []
        found[options.people.with_name("-".join(parts) + options.people.suffix)] = (name, attribute)
    if len(found) < len(keys):
        raise UsageError("two people files would have one name; rename the releases")
    inputs = [*input_paths(options), *(part for path in options.releases for part in release_parts(path))]
    keep_apart(inputs, [options.report, options.json, *found])
    return found

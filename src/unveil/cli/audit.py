"""unveil audit: may these releases be published?"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli._shared import (
    Decimal,
    Delimiter,
    Encoding,
    JsonFile,
    KeyColumn,
    ReleaseCells,
    ReleaseDecimal,
    ReleaseDelimiter,
    ReleaseEncoding,
    ReportFile,
    SchemaOption,
    attackers_of,
    check_outputs,
    documents_of,
    engine_of,
    give_results,
    keep_apart,
    listed,
    located,
    long_work,
    release_parts,
)
from unveil.errors import UsageError, shown
from unveil.formats.databases import Database

__all__ = ["audit"]

FileOption = Path | None


def _option(text: str, metavar: str | None = None) -> Any:
    return typer.Option(help=text, metavar=metavar, show_default=False)


def _data(text: str) -> Any:
    return typer.Option(help=text, metavar="DATA", parser=located, show_default=False)


def audit(
    context: typer.Context,
    releases: Annotated[
        list[Path] | None, typer.Argument(metavar="RELEASE…", help="One or more published CSVs.", show_default=False)
    ] = None,
    schema: SchemaOption = None,
    original: Annotated[Any, _data("The original table; without it success is unknown.")] = None,
    report: ReportFile = None,
    json: JsonFile = None,
    people: Annotated[
        FileOption,
        _option("Write what is believed of each person (.csv, .parquet, .arrow, .xlsx). It names people.", "FILE"),
    ] = None,
    limit: Annotated[
        list[str] | None, _option("A limit, e.g. 'relative_threat.max <= 10'; repeatable.", "LIMIT")
    ] = None,
    preset: Annotated[str | None, _option("Published limits by name, e.g. ema_0070.", "NAME")] = None,
    presets: Annotated[FileOption, _option("A TOML file of more presets.", "FILE")] = None,
    control: Annotated[Any, _data("People known not to be in the table.")] = None,
    population: Annotated[Any, _data("Quasi-identifiers of everyone among whom someone may look.")] = None,
    sample: Annotated[int | None, _option("Ask about a random sample of people only.", "N")] = None,
    attacker: Annotated[
        list[str] | None, _option("bayesian and random_worlds if not given; repeatable.", "NAME:options")
    ] = None,
    asked: Annotated[
        str | None, _option("What to ask about; all sensitive attributes, or else all that are known in turn.", "A,B")
    ] = None,
    known: Annotated[
        list[str] | None,
        _option("What is known of people; all quasi-identifiers if not given. Several: each asked besides.", "A,B"),
    ] = None,
    wrong: Annotated[float, typer.Option(help="Probability that a known attribute is wrong.")] = 0.0,
    alpha: Annotated[float, typer.Option(help="Prior pseudo-count of each sensitive value.")] = 1.0,
    beta: Annotated[float, typer.Option(help="Prior pseudo-count of each other value.")] = 1.0,
    chains: Annotated[int, typer.Option(help="Chains, where sampling is needed.")] = 4,
    sweeps: Annotated[int, typer.Option(help="Sweeps of the first round; more follow until it is precise.")] = 1000,
    most_sweeps: Annotated[
        int | None, typer.Option(help="The budget: sweeps of each chain, 16,000 if not given.", show_default=False)
    ] = None,
    smooth: Annotated[
        list[str] | None, _option("Tie neighbouring values of an ordered attribute; repeatable.", "ATTRIBUTE=BANDWIDTH")
    ] = None,
    prior: Annotated[
        FileOption, _option("Pseudo-counts of single values, a CSV: attribute,value,given,count.", "FILE")
    ] = None,
    checkpoint: Annotated[
        FileOption,
        _option("Save the chains there, and go on from there. Keep it secret; removed when done.", "FOLDER"),
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    release_delimiter: ReleaseDelimiter = None,
    release_encoding: ReleaseEncoding = None,
    release_decimal: ReleaseDecimal = None,
    cells: ReleaseCells = None,
    precision: Annotated[
        float, typer.Option(help="Standard error of 99% of beliefs at which chains end; 20/3 of it for all.")
    ] = 0.003,
    seed: Annotated[int, typer.Option(help="Seed of the chains and of a sample.")] = 0,
    workers: Annotated[int | None, _option("Threads; all cores if not given.")] = None,
    release_type: Annotated[str, typer.Option(help="public, controlled or internal.")] = "not stated",
    recipient: Annotated[str | None, _option("Who gets the release.", "TEXT")] = None,
    variant: Annotated[str, typer.Option(help="internal, or external: no count below --least-count.")] = "internal",
    least_count: Annotated[int, typer.Option(help="The least count that an external document shows.")] = 10,
    joint: Annotated[bool, typer.Option("--joint", help="Ask about all sensitive attributes as one, too.")] = False,
    assignment: Annotated[
        list[Path] | None,
        _option("Which row went to which group (one a release, in their order): an attacker knows it.", "FILE"),
    ] = None,
    key: KeyColumn = None,
    membership_prior: Annotated[
        float | None,
        _option("Probability, before the release, that somebody is in the table; a half if not given.", "P"),
    ] = None,
    background: Annotated[
        str,
        typer.Option(
            metavar="auto|no|yes:options",
            help="Readers with background knowledge: if cheap, never, or always (yes:bandwidths=0.1+0.3,t=0.2,l=3).",
        ),
    ] = "auto",
    waive: Annotated[
        list[str] | None,
        _option("A kind of disclosure that need not be judged, and why: KIND='reason'; repeatable.", "KIND=REASON"),
    ] = None,
    config: Annotated[FileOption, _option("A TOML file with the same names as these options.", "FILE")] = None,
) -> None:
    """Attackers, risks, utility and a verdict. Exit code 1: a limit is exceeded; 3: inconclusive."""
    from unveil.cli._audit_config import merged

    chosen = merged(context, config)
    _audit(**chosen)


def _audit(
    *,
    releases: list[Path],
    schema: Path | None,
    original: Path | Database | None,
    report: Path | None,
    json: str | None,
    people: Path | None,
    limit: list[str],
    preset: str | None,
    presets: Path | None,
    control: Path | Database | None,
    population: Path | Database | None,
    sample: int | None,
    attacker: list[str],
    asked: str | None,
    known: list[str],
    wrong: float,
    alpha: float,
    beta: float,
    chains: int,
    sweeps: int,
    most_sweeps: int | None,
    precision: float,
    smooth: list[str],
    prior: Path | None,
    checkpoint: Path | None,
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None,
    release_delimiter: str | None,
    release_encoding: str | None,
    release_decimal: str | None,
    cells: list[str],
    seed: int,
    workers: int | None,
    release_type: str,
    recipient: str | None,
    variant: str,
    least_count: int,
    joint: bool,
    assignment: list[Path],
    key: str | None,
    membership_prior: float | None,
    background: str,
    waive: list[str],
    config: Path | None,
) -> None:
    from unveil.attackers.posterior.contract import Chains
    from unveil.audit import MembershipAsked, code_people, read_presets, run_audit
    from unveil.audit.document import describe_inputs
    from unveil.data.attribute import Role
    from unveil.data.belief import Prior
    from unveil.data.schema import read_schema
    from unveil.data.smoothing import bandwidths
    from unveil.formats.arx_schema import project_schema
    from unveil.formats.assignments import read_assignment, read_origin, read_paired
    from unveil.formats.masked import is_masked, read_masked
    from unveil.formats.people import people_content
    from unveil.formats.priors import read_prior
    from unveil.formats.releases import read_release
    from unveil.formats.tables import read_columns, read_table
    from unveil.risk.published_file import read_published_file

    if not releases:
        raise UsageError("name at least one release: unveil audit RELEASE… --schema FILE")
    projects = [p for p in (original, *releases) if isinstance(p, Path) and p.suffix.lower() == ".deid"]
    if schema is None and not projects:
        raise UsageError("say what the columns are: --schema FILE")
    if original is None and projects:
        original = projects[0]  # a project holds its own original
    names = _names(releases)
    given = (schema, original, control, population, presets, prior, config, *assignment)
    read = list(dict.fromkeys([*releases, *(p for p in given if p is not None)]))
    outputs = documents_of(report, json, people)
    keep_apart(inputs=[*read, *(part for r in releases for part in release_parts(r))], outputs=outputs)
    check_outputs(outputs, people)
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: at least one thread is needed")
    _one_of("--release-type", release_type, ("not stated", "public", "controlled", "internal"))
    _one_of("--variant", variant, ("internal", "external"))
    attackers = attackers_of(attacker)
    held_before = _background(background)
    known_presets = read_presets(presets)
    document = read_schema(schema).confirmed() if schema is not None else project_schema(projects[0])
    dialect: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    table = read_table(original, document, **dialect) if original is not None else None
    if control is not None and table is None:
        raise UsageError("--control needs --original: members are compared with people who are not in the table")
    masked = {name for name, path in zip(names, releases, strict=True) if is_masked(path)}
    written: dict[str, Any] = {"delimiter": release_delimiter, "decimal": release_decimal, "encoding": release_encoding}
    reading: dict[str, Any] = {"attributes": table.attributes if table is not None else (), **written}
    published: dict[str, Any] = {}
    assigned = {}
    for name, path in zip(names, releases, strict=True):
        if key is None:
            published[name] = (read_masked if name in masked else read_release)(path, document, cells=cells, **reading)
            continue
        if table is None or original is None or assignment:
            raise UsageError("--key pairs rows with those of the original: give --original, and no --assignment")
        published[name], assigned[name] = read_paired(
            path, document, key, original=original, table=table, dialect=dialect, cells=cells, **written
        )
    people_files = {} if people is None else _people_paths(people, published, joint, listed(asked))
    outputs = [*(p for p in outputs if p != people), *people_files]
    keep_apart(inputs=[*read, *(part for r in releases for part in release_parts(r))], outputs=outputs)
    if assignment:
        if len(assignment) != len(releases) or table is None:
            raise UsageError("--assignment: give --original, and one file a release, in their order")
        for name, path in zip(names, assignment, strict=True):
            if name in masked:
                assigned[name] = read_origin(path, table.rows, published[name].rows)
            else:
                assigned[name] = read_assignment(path, table, published[name])
    engine = engine_of(seed, workers, checkpoint)
    shown_file: dict[str, Any] = {"key": key, "delimiter": release_delimiter, "decimal": release_decimal}
    shown_file["encoding"] = release_encoding
    tokens = {"missing": document.missing_token, **dialect}
    columns = None if original is None or projects else read_columns(original, **tokens)
    register = None if population is None else read_columns(population, **tokens)
    plain = [(n, p) for n, p in zip(names, releases, strict=True) if p.suffix.lower() != ".deid"]

    def read_file(path: Path, beside: Any, origin: Any = None) -> Any:
        return read_published_file(path, document, original=beside, origin=origin, **shown_file)

    files = {n: read_file(p, columns, assigned.get(n) if n in masked else None) for n, p in plain}
    missing = document.missing_token
    others = None
    if control is not None and table is not None:
        others = code_people(read_columns(control, missing=missing, **dialect), table.attributes, control.name)

    around = None
    if population is not None:
        held = {a.name: a for release in published.values() for a in release.attributes}
        known_of = [a for a in held.values() if a.role is Role.QUASI_IDENTIFIER]
        around = code_people(read_columns(population, missing=missing, **dialect), known_of, population.name)

    def prior_of(release: Any, asked: int) -> Prior:
        tied = bandwidths(smooth, release.attributes)
        held = Prior.uninformative(release, asked, alpha=alpha, beta=beta, smooth=tied)
        if prior is None:
            return held
        return replace(read_prior(prior, release, asked, alpha=alpha, beta=beta), smooth=held.smooth)

    sets = [listed(text) or [] for text in known]
    start = Chains(chains=chains, sweeps=sweeps, burn_in=sweeps, precision=precision)
    with long_work() as (progress, stop):
        found = run_audit(
            published,
            original=table,
            control=others,
            population=around,
            attackers=attackers or None,
            asked=listed(asked),
            known=sets[0] if len(sets) == 1 else None,
            combinations=sets if len(sets) > 1 else (),
            cells=cells,
            key=key,
            wrong=wrong,
            alpha=alpha,
            beta=beta,
            prior=prior_of if smooth or prior is not None else None,
            joined=document.document.joined,
            chains=replace(start, most_sweeps=most_sweeps) if most_sweeps is not None else start,
            engine=replace(engine, progress=progress, stop=stop),
            sample=sample,
            joint=joint,
            assignments=assigned,
            background=held_before,
            waive=_waivers(waive),
            files=files,
            registers={} if register is None else {n: read_file(p, register) for n, p in plain},
            limits=limit,
            preset=preset,
            presets=known_presets,
            release_type=release_type,
            recipient=recipient,
            variant=variant,
            least_count=least_count,
            membership=MembershipAsked(document.document.membership == "sensitive", membership_prior),
            inputs=describe_inputs([*read, *(p for r in releases for p in release_parts(r) if p.is_file())]),
        )
    private: dict[Path, Any] = {}
    for path, of in people_files.items():
        if of[0] in found.compared:
            private[path] = people_content(path, found.links(of[0]))
        elif of in found.answers and found.answers[of].attackers:
            private[path] = people_content(path, found.people(*of))
    give_results(found, report=report, json=json, people=private)


def _waivers(texts: list[str]) -> dict[str, str]:
    """KIND=REASON, by kind."""
    found = {}
    for text in texts:
        kind, sign, reason = text.partition("=")
        if not sign:
            raise UsageError(f"--waive {shown(text)}: write KIND='reason', for instance membership='public register'")
        found[kind.strip()] = reason.strip().strip("'\"")
    return found


def _names(releases: list[Path]) -> list[str]:
    """The file's name, or the whole path where two releases share it."""
    names = [r.name for r in releases]
    return names if len(set(names)) == len(names) else [str(r) for r in releases]


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{option} {shown(value)}: choose one of {', '.join(allowed)}")


def _background(text: str) -> Any:
    """auto, None, or what exactly is asked."""
    from unveil.audit.background import Background
    from unveil.catalog import make, parse

    if text in ("auto", "no"):
        return "auto" if text == "auto" else None
    name, options = parse(text)
    if name != "yes":
        raise UsageError(f"--background {shown(text)}: choose auto, no, yes or yes:bandwidths=0.1+0.3,t=0.2,l=3")
    return make(Background, options, "background")


def _people_paths(people: Path, published: Any, joint: bool, asked: list[str] | None) -> dict[Path, tuple[str, str]]:
    """One file a release and attribute: `-RELEASE` and `-ATTRIBUTE` before the ending where there are several."""
    from unveil.audit.asking import asked_of
    from unveil.data.attribute import Role
    from unveil.data.masked import Masked

    keys = []
    for name, release in published.items():
        if isinstance(release, Masked):  # whom each person is linked with: one file
            keys.append((name, ""))
            continue
        attributes = [release.attributes[i].name for i in asked_of(release, asked)]
        sensitive = [release.attributes[i].name for i in release.with_role(Role.SENSITIVE)]
        attributes += [" × ".join(sensitive)] if joint and len(sensitive) > 1 else []
        keys += [(name, attribute) for attribute in attributes]
    several = len({attribute for _, attribute in keys if attribute}) > 1
    found: dict[Path, tuple[str, str]] = {}
    for name, attribute in keys:
        parts = [people.stem]
        parts += [_file_part(Path(name).stem)] if len(published) > 1 else []
        parts += [_file_part(attribute)] if several and attribute else []
        found[people.with_name("-".join(parts) + people.suffix)] = (name, attribute)
    if len(found) < len(keys):
        raise UsageError("two people files would have one name; rename the releases")
    return found


def _file_part(text: str) -> str:
    return "".join(c if c.isalnum() or c in " ._×-" else "_" for c in text)[:60]

"""From options to a Case: schema, tables, releases, whose row is whose, who knows what. Files are read here only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from unveil.cli.earlier import earlier_paths, load_earlier
from unveil.cli.memory import belief_bytes, warn_of_memory
from unveil.cli.options import OneRelease
from unveil.cli.output import check_outputs, release_parts, say
from unveil.errors import UsageError, shown
from unveil.formats.paths import is_project

if TYPE_CHECKING:
    from unveil.audit.case import Case

__all__ = [
    "attackers_of",
    "chains_of",
    "dialect_of",
    "engine_of",
    "input_paths",
    "load_case",
    "load_schema",
    "names_of",
    "one_name",
    "one_of",
    "one_set",
    "release_paths",
    "with_project",
]

Options = TypeVar("Options")

FILES = ("data", "schema", "original", "control", "population", "presets", "prior", "config", "others", "targets")
PLAIN = ("wrong", "alpha", "beta", "joint", "panel", "sample", "preset", "release_type", "recipient", "variant")
MORE_FILES = ("own_prior", "held", "mapping", "predictions", "fact")


def names_of(texts: Sequence[str]) -> list[str] | None:
    """The names of an option A,B that may be repeated; None if it was not given."""
    return [name.strip() for text in texts for name in text.split(",") if name.strip()] if texts else None


def one_name(texts: Sequence[str]) -> str | None:
    """What is asked about, where it is one attribute."""
    names = names_of(texts) or []
    if len(names) > 1:
        raise UsageError("--asked: an attack is about one attribute; unveil audit asks about several")
    return names[0] if names else None


def one_set(texts: Sequence[str]) -> list[str] | None:
    """What is known, where one set is tested."""
    if len(texts) > 1:
        raise UsageError("--known is given twice; unveil audit tests several sets, an attack one")
    return names_of(texts)


def one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that is not among those allowed."""
    if value not in allowed:
        raise UsageError(f"{option} {shown(value)}: choose one of {', '.join(allowed)}")


def dialect_of(options: Any, of: str = "") -> dict[str, Any]:
    """How tables are written; `of`: `release_`, how releases are."""
    return {name: getattr(options, f"{of}{name}") for name in ("delimiter", "decimal", "encoding")}


def attackers_of(texts: Iterable[str]) -> dict[str, Any]:
    """The attackers NAME:options, each by its text as it is written; options from a file without the file's folder."""
    from unveil.catalog import attacker, parse

    attackers: dict[str, Any] = {}
    for text in texts:
        made, (name, _) = attacker(text), parse(text)
        text = f"{name}:@{Path(text).name}" if text.startswith(f"{name}:@") else text
        if text in attackers:
            raise UsageError(f"--attacker {shown(text)} is given twice; keep one")
        attackers[text] = made
    return attackers


def engine_of(options: Any) -> Any:
    """The engine that options ask for; all cores if they do not say how many."""
    from unveil.engine import Engine

    workers = getattr(options, "workers", None)
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: at least one thread is needed")
    engine = Engine(seed=getattr(options, "seed", 0), checkpoints=getattr(options, "checkpoint", None))
    return engine if workers is None else replace(engine, workers=workers)


def chains_of(options: Any) -> Any:
    """How long chains run."""
    from unveil.attackers.posterior.contract import Chains

    made = Chains(chains=options.chains, sweeps=options.sweeps, burn_in=options.sweeps, precision=options.precision)
    return made if options.most_sweeps is None else replace(made, most_sweeps=options.most_sweeps)


def release_paths(options: Any) -> list[Path]:
    """The releases that are read."""
    one = getattr(options, "release", None)
    return list(getattr(options, "releases", None) or ()) or ([] if one is None else [one])


def input_paths(options: Any) -> list[Any]:
    """Everything that is read, without the other files of a release."""
    named = [getattr(options, name, None) for name in (*FILES, *MORE_FILES)]
    found = [*release_paths(options), *named, *getattr(options, "assignment", ())]
    found += earlier_paths(options)
    return list(dict.fromkeys(path for path in found if path is not None))


def load_schema(options: Any) -> Any:
    """The confirmed schema; an ARX project brings its own."""
    from unveil.data.schema import read_schema
    from unveil.formats.arx_schema import project_schema

    if options.schema is not None:
        return read_schema(options.schema).confirmed()
    project = _project(options)
    if project is None:
        raise UsageError("say what the columns are: --schema FILE")
    return project_schema(project)


def _project(options: Any) -> Path | None:
    """An ARX project among the files, which holds its own original and schema."""
    paths = (getattr(options, "original", None), *release_paths(options))
    return next((p for p in paths if is_project(p)), None)


def with_project(options: Options) -> Options:
    """The same with an ARX project's own input as the original, if nothing else says whom it is about."""
    elsewhere = [getattr(options, name, None) for name in ("original", "targets", "held")]
    project = _project(options)
    if project is None or any(one is not None for one in elsewhere):
        return options
    return replace(options, original=project)  # type: ignore[type-var]


def load_case(options: Any, *, grouped: bool = False, masked: bool = False, shown: bool = False) -> "Case":
    """The case that options describe; what a command has no option for is left at its default.

    `masked`: releases without perturbed columns are refused; `grouped`: those with them, or, if `shown`, they are
    read in groups by what they show.
    """
    from unveil.audit.case import Case
    from unveil.audit.document import describe_inputs
    from unveil.formats.tables import read_table

    paths = release_paths(options)
    names = _short_names(paths)
    parts = [part for path in paths for part in release_parts(path)]
    inputs = input_paths(options)
    check_outputs(options, [*inputs, *parts])
    engine = engine_of(options)
    stated = _stated(options)
    schema = load_schema(options)
    original = getattr(options, "data", None) or getattr(options, "original", None) or _project(options)
    dialect = dialect_of(options)
    table = None if original is None else read_table(original, schema, **dialect)
    releases, assignments = _load_releases(
        options, schema, dict(zip(names, paths, strict=True)), original, table, grouped=grouped, masked=masked
    )
    if shown:
        releases, assignments = _as_shown(releases, assignments)
    control = getattr(options, "control", None)
    if control is not None and table is None:
        raise UsageError("--control needs --original: members are compared with people who are not in the table")
    case = Case(
        releases=releases,
        original=table,
        control=None if control is None or table is None else _load_people(control, schema, table.attributes, dialect),
        population=_load_around(options, schema, releases, dialect),
        assignments=assignments,
        joined=schema.document.joined,
        engine=engine,
        inputs=describe_inputs(
            [*inputs, *(part for part in parts if part.is_file())],
            published=[path for path in (*paths, *parts) if not is_project(path)],  # which holds the original
        ),
        cells=getattr(options, "cells", ()),
        key=getattr(options, "key", None),
        **load_earlier(options, schema, table, dict(zip(names, paths, strict=True))),
        **_published_files(options, schema, dict(zip(names, paths, strict=True)), original, assignments),
        **stated,
        **_answered(options, schema),
    )
    if hasattr(options, "chains"):  # beliefs are what takes memory
        warn_of_memory(belief_bytes(case), "ask about a sample of people (unveil audit --sample N)")
    return case


def _short_names(paths: Sequence[Path]) -> list[str]:
    """What releases are called: their file names, with as many folders before as tell them apart."""
    for depth in range(1, max((len(path.parts) for path in paths), default=0) + 1):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _published_files(
    options: Any, schema: Any, paths: Mapping[str, Path], original: Any, assignments: Mapping[str, Any]
) -> dict[str, Any]:
    """The releases as a stranger reads them, beside the original and beside the population; for a verdict only."""
    from unveil.formats.masked import is_masked
    from unveil.formats.tables import read_prepared
    from unveil.risk.published_file import read_published_file

    if not hasattr(options, "waive"):
        return {}
    reading = dialect_of(options)
    population = getattr(options, "population", None)
    project = is_project(original)
    people = None if original is None or project else read_prepared(original, schema, **reading)
    register = None if population is None else read_prepared(population, schema, **reading)
    written = {"key": getattr(options, "key", None), **dialect_of(options, "release_")}
    files, registers = {}, {}
    for name, path in paths.items():
        if is_project(path):
            continue
        origin = assignments.get(name) if is_masked(path) else None
        files[name] = read_published_file(path, schema, original=people, origin=origin, **written)
        if register is not None:
            registers[name] = read_published_file(path, schema, original=register, **written)
    return {"files": files, "registers": registers, "waive": _waivers(options.waive)}


def _waivers(texts: Sequence[str]) -> dict[str, str]:
    """KIND='why', by kind."""
    found = {}
    for text in texts:
        kind, sign, reason = text.partition("=")
        if not sign:
            raise UsageError(f"--waive {shown(text)}: write KIND='why', for instance membership='public register'")
        found[kind.strip()] = reason.strip().strip("'\"")
    return found


def _stated(options: Any) -> dict[str, Any]:
    """What a command's own options say of the case, without reading a table."""
    from unveil.audit import read_presets

    found: dict[str, Any] = {}
    for name in PLAIN:
        if hasattr(options, name):
            found[name] = getattr(options, name)
    found |= {"least_count": options.least_count} if hasattr(options, "least_count") else {}
    if hasattr(options, "release_type"):
        one_of("--release-type", options.release_type, ("not stated", "public", "controlled", "internal"))
        one_of("--variant", options.variant, ("internal", "external"))
    if hasattr(options, "limit"):
        found["limits"] = options.limit
    if hasattr(options, "attacker"):
        found["attackers"] = attackers_of(options.attacker) or None
    if hasattr(options, "asked"):
        found["asked"] = names_of(options.asked)
    sets = [names_of([text]) or [] for text in getattr(options, "known", ())]
    found |= {"known": sets[0]} if len(sets) == 1 else {"combinations": sets}
    if hasattr(options, "chains"):
        found["chains"] = chains_of(options)
    if hasattr(options, "background"):
        found["background"] = _background(options.background)
    if hasattr(options, "presets"):
        found["presets"] = read_presets(options.presets)
    if getattr(options, "smooth", None) or getattr(options, "prior", None) is not None:
        found["prior"] = _prior(options)
    return found


def _answered(options: Any, schema: Any) -> dict[str, Any]:
    """What only the steward can know, as the schema answers it."""
    from unveil.audit import MembershipQuestion

    said = schema.document
    sensitive = None if said.membership is None else said.membership == "sensitive"
    return {
        "membership": MembershipQuestion(sensitive, getattr(options, "membership_prior", None)),
        "earlier_releases": said.earlier_releases,
        "population_register": said.population_register,
    }


def _prior(options: Any) -> Any:
    """The population's prior for a release and the attribute asked about."""

    def prior_of(release: Any, asked: int) -> Any:
        from unveil.data.belief import Prior
        from unveil.data.smoothing import bandwidths
        from unveil.formats.priors import read_prior

        tied = bandwidths(options.smooth, release.attributes)
        held = Prior.uninformative(release, asked, alpha=options.alpha, beta=options.beta, smooth=tied)
        if options.prior is None:
            return held
        read = read_prior(options.prior, release, asked, alpha=options.alpha, beta=options.beta)
        return replace(read, smooth=held.smooth)

    return prior_of


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


def _load_releases(
    options: Any, schema: Any, paths: Mapping[str, Path], original: Any, table: Any, *, grouped: bool, masked: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The releases by name, and whose row is whose."""
    import numpy as np

    from unveil.formats.assignments import read_paired
    from unveil.formats.masked import is_masked, read_masked
    from unveil.formats.releases import read_release, read_release_rows

    if not paths:
        if isinstance(options, OneRelease):
            raise UsageError("name the release, before or after the options: RELEASE")
        return {}, {}
    assignment = list(getattr(options, "assignment", ()))
    key, aligned = getattr(options, "key", None), getattr(options, "aligned", False)
    if bool(assignment) + aligned + (key is not None) > 1:
        raise UsageError("--aligned, --assignment and --key say the same thing in several ways; keep one")
    if table is None and key is not None:
        raise UsageError("--key pairs rows with those of the original: give --original DATA")
    if assignment and len(assignment) != len(paths):
        raise UsageError("--assignment: give one file per release, in their order")
    written = dialect_of(options, "release_") | {"cells": options.cells}
    domains = () if table is None else table.attributes
    releases: dict[str, Any] = {}
    assignments: dict[str, Any] = {}
    for name, path in paths.items():
        if grouped and is_masked(path):
            read_release(path, schema, **written)  # which says why not
        if masked and not is_masked(path):
            raise UsageError(f"{path}: no column was perturbed, so its cells hold the truth; use unveil audit")
        if key is not None:
            releases[name], assignments[name] = read_paired(
                path, schema, key, original=original, table=table, dialect=dialect_of(options), **written
            )
            continue
        if is_masked(path):
            releases[name] = read_masked(path, schema, attributes=domains, **written)
            group = np.arange(releases[name].rows)
            if is_project(path) and path == original:  # whose rows are those of its input
                assignments[name] = group
        else:
            releases[name], group = read_release_rows(path, schema, attributes=domains, **written)
        if aligned:
            assignments[name] = _aligned(releases[name], table, group)
    for name, path in zip(paths, assignment, strict=False):
        assignments[name] = _load_assignment(path, table, releases[name])
    return releases, assignments


def _as_shown(releases: Mapping[str, Any], assignments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Releases with perturbed columns in groups, by what they show; their levels are counted so."""
    from unveil.data.masked import Masked
    from unveil.data.mixture import mixture_of

    found, groups = dict(releases), dict(assignments)
    for name, release in releases.items():
        if isinstance(release, Masked):
            found[name] = mixture_of(release).release
            groups.pop(name, None)
            perturbed = ", ".join(release.attributes[i].name for i in release.masked)
            say(f"unveil: {name}: {perturbed}: perturbed, so classes are counted by what is shown, not by true values")
    return found, groups


def _aligned(release: Any, table: Any, group: Any) -> Any:
    """Row i is row i: of a masked release its number, of a grouped one the group of each row."""
    if table is not None and not table.rows == release.rows == len(group):
        raise UsageError(
            f"--aligned: the original has {table.rows:,} rows and the release {len(group):,}, which stand for "
            f"{release.rows:,} people; give --assignment"
        )
    return group


def _load_assignment(path: Path, table: Any, release: Any) -> Any:
    """The group of each original row; of a masked release the original row of each published one."""
    from unveil.data.masked import Masked
    from unveil.formats.assignments import read_assignment, read_origin

    if isinstance(release, Masked):
        return read_origin(path, release.rows if table is None else table.rows, release.rows)
    if table is None:
        raise UsageError("--assignment names rows of the original: give --original DATA")
    return read_assignment(path, table, release)


def _load_people(path: Any, schema: Any, attributes: Any, dialect: Mapping[str, Any]) -> Any:
    from unveil.audit import code_people
    from unveil.formats.tables import read_prepared

    return code_people(read_prepared(path, schema, **dialect), attributes, path.name)


def _load_around(options: Any, schema: Any, releases: Mapping[str, Any], dialect: Mapping[str, Any]) -> Any:
    """Everyone among whom an attacker may look; only their quasi-identifiers are read."""
    from unveil.data.attribute import Role

    population = getattr(options, "population", None)
    if population is None:
        return None
    held = {a.name: a for release in releases.values() for a in release.attributes}
    known = [a for a in held.values() if a.role is Role.QUASI_IDENTIFIER]
    return _load_people(population, schema, known, dialect)

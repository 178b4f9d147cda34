"""From options to a Case: schema, tables, releases, whose row is whose, who knows what. Files are read here only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from unveil.cli.earlier import earlier_paths, load_earlier
from unveil.cli.memory import belief_bytes, least_belief_bytes, warn_before_reading, warn_of_memory
from unveil.cli.options import OneRelease
from unveil.cli.output import check_outputs, doing, release_parts, say
from unveil.cli.settings import answered, cluster_of, dialect_of, engine_of, stated, waivers_of
from unveil.errors import NotApplicable, UsageError
from unveil.formats.paths import is_project

if TYPE_CHECKING:
    from unveil.audit.case import Case

__all__ = ["input_paths", "load_case", "load_population", "load_schema", "release_paths", "with_project"]

Options = TypeVar("Options")

FILES = ("data", "schema", "original", "control", "population", "presets", "prior", "config", "others", "targets")
MORE_FILES = ("own_prior", "held", "mapping", "predictions", "fact", "certificate")


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
    from unveil.formats.arx.schema import project_schema

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


def load_case(options: Any, *, grouped: bool = False, masked: bool = False, counted: bool = False) -> "Case":
    """The case that options describe; what a command has no option for is left at its default.

    `counted`: on a cluster the original's rows are counted, too. `masked`: releases without perturbed columns are
    refused; `grouped`: those with them.
    """
    paired = getattr(options, "key", None) is not None or getattr(options, "aligned", False)
    if getattr(options, "cluster", None) is None:
        return _load(options, None, grouped=grouped, masked=masked, counted=counted)
    if paired or (counted and getattr(options, "assignment", ())):
        raise UsageError("--cluster counts equal rows, and whose row is whose is then not known; leave one of them out")
    with cluster_of(options) as cluster:
        return _load(options, cluster, grouped=grouped, masked=masked, counted=counted)


def _load(options: Any, cluster: Any, *, grouped: bool, masked: bool, counted: bool) -> "Case":
    """Files are read here, or on the cluster, which is not needed after that."""
    paths = release_paths(options)
    names = _short_names(paths)
    parts = [part for path in paths for part in release_parts(path)]
    inputs = input_paths(options)
    check_outputs(options, [*inputs, *parts])
    schema = load_schema(options)
    original = getattr(options, "data", None) or getattr(options, "original", None) or _project(options)
    if cluster is None:
        asked = paths[0] if original is None and paths else original
        beliefs = least_belief_bytes(options, schema, asked) if hasattr(options, "chains") and asked is not None else 0
        whole = hasattr(options, "sample") and options.sample is None
        instead = "ask about a sample of people (--sample N), or audit" if whole else "audit"
        files = [*paths, *([] if original is None else [original])]
        warn_before_reading(files, f"{instead} a part of the rows", more=beliefs)
    from unveil.audit.case import Case  # after it: what they import takes seconds
    from unveil.audit.document import describe_inputs
    from unveil.formats.tables import read_table

    engine, said, dialect = engine_of(options, cluster), stated(options), dialect_of(options)
    doing(f"reading {original}")
    table = None if original is None else read_table(original, schema, **dialect, engine=engine, counted=counted)
    doing(f"reading {', '.join(names)}")
    releases, assignments = _load_releases(
        options, schema, dict(zip(names, paths, strict=True)), original, table, engine, grouped=grouped, masked=masked
    )
    control = getattr(options, "control", None)
    if control is not None and table is None:
        raise UsageError("--control needs --original: members are compared with people who are not in the table")
    doing("comparing the files")
    case = Case(
        releases=releases,
        original=table,
        control=None if control is None or table is None else _load_people(control, schema, table.attributes, dialect),
        population=load_population(options, schema, (a for r in releases.values() for a in r.true_attributes), dialect),
        assignments=assignments,
        joined=schema.document.joined,
        engine=replace(engine, cluster=None),
        inputs=describe_inputs(
            [*inputs, *(part for part in parts if part.is_file())],
            published=[path for path in (*paths, *parts) if not is_project(path)],  # which holds the original
        ),
        cells=getattr(options, "cells", ()),
        key=getattr(options, "key", None),
        **load_earlier(options, schema, table, dict(zip(names, paths, strict=True))),
        **_published_files(options, schema, dict(zip(names, paths, strict=True)), original, releases, assignments),
        **said,
        **answered(options, schema),
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
    options: Any, schema: Any, paths: Mapping[str, Path], original: Any, releases: Any, assignments: Any
) -> dict[str, Any]:
    """The releases as a stranger reads them, beside the original and beside the population; for a verdict only."""
    from unveil.data.rows import origin_of
    from unveil.formats.tables import read_prepared
    from unveil.risk.published_file import read_published_file

    if not hasattr(options, "waive"):
        return {}
    if getattr(options, "cluster", None) is not None:
        say("the checks of a file are about its rows: they read it, and the original, here and whole")
        warn_before_reading([*paths.values(), *([] if original is None else [original])], "audit a part of the rows")
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
        release = releases[name]
        told = assignments.get(name) if release.row_by_row else None
        origin = None if told is None else origin_of(release, told)
        files[name] = read_published_file(path, schema, original=people, origin=origin, **written)
        if register is not None:
            registers[name] = read_published_file(path, schema, original=register, **written)
    return {"files": files, "registers": registers, "waive": waivers_of(options.waive)}


def _load_releases(
    options: Any,
    schema: Any,
    paths: Mapping[str, Path],
    original: Any,
    table: Any,
    engine: Any,
    *,
    grouped: bool,
    masked: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The releases by name, and whose row is whose."""

    from unveil.formats.releases import read_release_rows
    from unveil.formats.releases.assignments import read_assignment, read_paired

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
        if key is not None:
            releases[name], assignments[name] = read_paired(
                path, schema, key, original=original, table=table, dialect=dialect_of(options), **written
            )
        else:
            releases[name], group = read_release_rows(path, schema, attributes=domains, engine=engine, **written)
            own = is_project(path) and path == original  # whose rows are those of its input
            if aligned or (own and releases[name].perturbed):
                assignments[name] = _aligned(releases[name], table, group)
        changed = ", ".join(releases[name].attributes[i].name for i in releases[name].perturbed)
        if grouped and changed:
            verb = "was" if len(releases[name].perturbed) == 1 else "were"
            raise NotApplicable(
                f"{path}: {changed} {verb} perturbed, not widened: "
                "there are no groups; unveil audit and unveil attack identity measure masked releases"
            )
        if masked and not changed:
            raise UsageError(f"{path}: no column was perturbed, so its cells hold the truth; use unveil audit")
    for name, path in zip(paths, assignment, strict=False):
        assignments[name] = read_assignment(path, table, releases[name])
    return releases, assignments


def _aligned(release: Any, table: Any, group: Any) -> Any:
    """Row i is row i: (rows,) the group of each."""
    if table is not None and not table.rows == release.rows == len(group):
        raise UsageError(
            f"--aligned: the original has {table.rows:,} rows and the release {len(group):,}, which stand for "
            f"{release.rows:,} people; give --assignment"
        )
    return group


def _load_people(path: Any, schema: Any, attributes: Any, dialect: Mapping[str, Any]) -> Any:
    from unveil.audit import code_people
    from unveil.formats.tables import read_prepared

    return code_people(read_prepared(path, schema, **dialect), attributes, path.name)


def load_population(options: Any, schema: Any, attributes: Iterable[Any], dialect: Mapping[str, Any]) -> Any:
    """Everyone among whom an attacker may look; only their quasi-identifiers are read."""
    from unveil.data.attribute import Role

    population = getattr(options, "population", None)
    if population is None:
        return None
    held = {a.name: a for a in attributes}
    known = [a for a in held.values() if a.role is Role.QUASI_IDENTIFIER]
    return _load_people(population, schema, known, dialect)

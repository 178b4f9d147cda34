"""What is already out: earlier releases from --earlier, and from a ledger."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import unveil.cli.options as opt
from unveil.cli.settings import dialect_of
from unveil.errors import UnveilError, UsageError, shown
from unveil.formats.paths import is_project

if TYPE_CHECKING:
    from unveil.risk.composition import EarlierRelease
    from unveil.risk.published_file import PublishedFile

__all__ = ["EarlierOptions", "LedgerOptions", "distances", "earlier_paths", "load_earlier", "read_earlier"]

_OPTIONS = ("schema", "date", "people", "shared", "changed", "within", "then")
_TEXT = re.compile(rf"(?s)(.+?)(?::((?:{'|'.join(_OPTIONS)})=.*))?")


@dataclass(frozen=True, kw_only=True)
class LedgerOptions:
    """The ledger of what is out."""

    ledger: Path | None = opt.option("The ledger of what was already published about these people.", "FOLDER")


@dataclass(frozen=True, kw_only=True)
class EarlierOptions(LedgerOptions):
    """What is already out."""

    earlier: list[str] = opt.option(
        "An earlier release about these people; repeatable. Options: schema=FILE, date=2025-03-01, "
        "people=same|subset|superset|overlapping, shared=2000, changed=0.1, within=age~5+income~1000, "
        "then=age-1.",
        "RELEASE[:options]",
        default=list,
    )
    within: str | None = opt.option(
        "How far the numbers of a perturbed release may have been moved, for reading it together with earlier ones.",
        "age~5+income~1000",
    )


@dataclass(frozen=True, slots=True)
class _Text:
    """An earlier release as the command line names it."""

    path: Path
    options: Mapping[str, str]


def _parse(text: str) -> _Text:
    form = _TEXT.fullmatch(text.strip())
    if form is None:
        raise UsageError("--earlier: name a release")
    found: dict[str, str] = {}
    for item in (form[2] or "").split(","):
        if not item:
            continue
        key, sign, value = item.partition("=")
        if not sign or key.strip() not in _OPTIONS:
            raise UsageError(f"--earlier {shown(text)}: unknown option {shown(key)}; choose from {', '.join(_OPTIONS)}")
        found[key.strip()] = value.strip()
    return _Text(Path(form[1]), found)


def earlier_paths(options: Any) -> list[Path]:
    """The files that --earlier names, their schemas among them."""
    texts = [_parse(text) for text in getattr(options, "earlier", ())]
    schemas = [Path(one.options["schema"]) for one in texts if "schema" in one.options]
    return [*(one.path for one in texts), *schemas]


def load_earlier(options: Any, schema: Any, table: Any, new: Mapping[str, Path]) -> dict[str, Any]:
    """Earlier releases by name, and those of the ledger that cannot be read, each with why."""
    from unveil.formats.ledger import check_copies, read_ledger, release_hash
    from unveil.risk.composition import Overlap

    texts, ledger = getattr(options, "earlier", ()), getattr(options, "ledger", None)
    found: dict[str, Any] = {}
    files: dict[str, Any] = {}  # as a stranger reads them, for a verdict
    left_out: dict[str, str] = {}
    for text in texts:
        one = _parse(text)
        name = one.path.name if one.path.name not in {*found, *new} else str(one.path)
        if name in found:
            raise UsageError(f"--earlier {shown(text)} is given twice; keep one")
        own = schema if "schema" not in one.options else None
        found[name] = read_earlier(one.path, own or Path(one.options["schema"]), table, options, _said(one, text))
        files |= _as_published(
            name, one.path, own or Path(one.options["schema"]), options, dialect_of(options, "release_")
        )
    if ledger is not None:
        # What --earlier names is said there, not in the ledger.
        given = (*new.values(), *(_parse(text).path for text in texts))
        audited = {release_hash(path) for path in given if not is_project(path)}
        for entry in read_ledger(ledger):
            if entry.sha256 in audited:
                continue
            name, number = entry.name, 2
            while name in {*found, *left_out, *new}:
                name, number = f"{entry.name} of {entry.date}" + (f" ({number})" if number > 2 else ""), number + 1
            path = ledger / entry.file
            check_copies(ledger, entry)
            Overlap(entry.people, entry.shared)  # what cannot be is a mistake in the ledger, not of the release
            said = {"date": str(entry.date), "changed": entry.changed, "within": entry.within}
            said |= {"people": entry.people, "shared": entry.shared}
            try:
                found[name] = read_earlier(path, ledger / entry.schema_file, table, None, said)
                files |= _as_published(name, path, ledger / entry.schema_file, options, {})
            except UnveilError as error:
                left_out[name] = str(error)
    nothing_else = ledger is not None and not (found or left_out)
    return {
        "earlier": found,
        "earlier_files": files,
        "not_combined": left_out,
        "nothing_else": nothing_else,
        "within": distances(getattr(options, "within", None)),
    }


def read_earlier(path: Path, schema: Any, table: Any, options: Any, said: Mapping[str, Any]) -> "EarlierRelease":
    """Read one, by the original's domains if its values are among them, else by its own."""
    from unveil.data.schema import read_schema
    from unveil.errors import ReleaseError
    from unveil.formats.releases import read_release
    from unveil.risk.composition import EarlierRelease, Overlap

    known = read_schema(schema).confirmed() if isinstance(schema, Path) else schema
    written = {} if options is None else {**dialect_of(options, "release_"), "cells": options.cells}
    try:
        release = read_release(path, known, attributes=() if table is None else table.attributes, **written)
        # Codes that nobody has now are its own schema's rather than perturbed ones of ours.
        own = any(not one.said and not release.attributes[i].kind.measured for i, one in release.perturbed.items())
    except ReleaseError:
        own = True
        if table is None:
            raise
    if own and table is not None:
        release = read_release(path, known, **written)
    overlap = Overlap(said.get("people", "same"), said.get("shared"))
    return EarlierRelease(
        release=release,
        overlap=overlap,
        changed=said.get("changed", 0.0),
        date=said.get("date"),
        within=said.get("within", {}),
        then=said.get("then", {}),
    )


def _as_published(
    name: str, path: Path, schema: Any, options: Any, written: Mapping[str, Any]
) -> dict[str, "PublishedFile"]:
    """The file line by line, under its name; nothing where no verdict is asked for."""
    from unveil.data.schema import read_schema
    from unveil.risk.published_file import read_published_file

    if not hasattr(options, "waive") or is_project(path):
        return {}
    known = read_schema(schema).confirmed() if isinstance(schema, Path) else schema
    return {name: read_published_file(path, known, **written)}


def _said(one: _Text, text: str) -> dict[str, Any]:
    """What --earlier says of a release, in the right types."""
    from datetime import date

    found: dict[str, Any] = {k: v for k, v in one.options.items() if k in ("date", "people")}
    try:
        if "date" in found:
            date.fromisoformat(found["date"])
        if "shared" in one.options:
            found["shared"] = int(one.options["shared"])
        if "changed" in one.options:
            found["changed"] = float(one.options["changed"])
        if "within" in one.options:
            found["within"] = distances(one.options["within"])
        if "then" in one.options:
            found["then"] = _differences(one.options["then"])
    except ValueError as error:
        raise UsageError(f"--earlier {shown(text)}: {error}") from None
    return found


def _differences(text: str) -> dict[str, float]:
    """What known numbers were then, as a difference: age-1+tenure-1."""
    found, at = {}, 0
    for item in re.finditer(r"(.+?)([+-]\d+(?:\.\d+)?)(?:\+(?=.)|$)", text):
        found[item[1].strip()] = float(item[2])
        at = item.end()
    if not found or at < len(text):
        raise UsageError(f"then: {shown(text)} does not say by how much a number differed; write age-1+tenure-1")
    return found


def distances(text: str | None) -> dict[str, float]:
    """How far numbers may have been moved: age~5+income~1000."""
    found = {}
    for item in [] if text is None else text.split("+"):
        name, sign, width = item.partition("~")
        try:
            found[name.strip()] = float(width)
        except ValueError:
            sign = ""
        if not (sign and found.get(name.strip(), -1.0) >= 0):
            raise UsageError(f"within: {shown(item)} is not a number and its distance; write age~5+income~1000")
    return found

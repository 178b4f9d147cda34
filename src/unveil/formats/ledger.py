"""The ledger: a folder of what has been published about a population. Copies of releases and schemas, no originals."""

import hashlib
import math
import os
from collections.abc import Iterable, Mapping
from datetime import date as calendar_date
from pathlib import Path
from typing import Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from unveil.data.hierarchy import hierarchy_files
from unveil.data.schema import read_schema
from unveil.data.toml import read_toml
from unveil.errors import OutputError, UnveilError, UsageError, shown
from unveil.formats.output import write_whole
from unveil.formats.output.sets import alone_in
from unveil.formats.paths import is_many, is_project
from unveil.formats.releases import read_release
from unveil.formats.releases.published import read_sidecar
from unveil.formats.tables import read_columns

__all__ = ["INDEX", "LedgerEntry", "add_to_ledger", "check_copies", "read_ledger", "release_hash"]

INDEX = "ledger.toml"
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


class LedgerEntry(BaseModel):
    """One release that is out: where its copy lies in the folder, and what is said of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    file: str  # within the folder
    schema_file: str
    sha256: str  # of the release and what belongs to it
    schema_sha256: str = ""  # of the schema and its hierarchies
    date: calendar_date
    recipient: str = ""
    people: Literal["same", "subset", "superset", "overlapping"] = "same"
    shared: int | None = Field(default=None, ge=1)
    changed: float = Field(default=0.0, ge=0.0, lt=1.0)
    within: dict[str, float] = Field(default_factory=dict)


def read_ledger(folder: Path) -> tuple[LedgerEntry, ...]:
    """The entries of a ledger in the order in which they were added; a folder without one is an error."""
    index = folder / INDEX
    if not index.is_file():
        raise UsageError(f"{folder}: has no {INDEX}; unveil ledger add RELEASE --ledger {folder} begins one")
    if not index.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{index}: leads outside the ledger; keep the file itself there")
    content = read_toml(index, UsageError)
    if set(content) - {"releases"} or not isinstance(content.get("releases", []), list):
        raise UsageError(f"{index}: a ledger is a list of [[releases]], and nothing else")
    found = []
    for number, entry in enumerate(content.get("releases", []), start=1):
        try:
            found.append(LedgerEntry.model_validate(entry))
        except ValidationError as error:
            fault = error.errors()[0]
            key = ".".join(str(part) for part in fault["loc"])
            raise UsageError(f"{index}, release {number}, {key}: {fault['msg'].lower()}") from None
        for part in (found[-1].file, found[-1].schema_file):
            if not (folder / part).resolve().is_relative_to(folder.resolve()):
                raise UsageError(f"{index}, release {number}: {shown(part)} lies outside the ledger")
    return tuple(found)


def release_hash(release: Path) -> str:
    """One hash of a release and the files beside it that belong to it."""
    return _hash(_files(release))


def check_copies(folder: Path, entry: LedgerEntry) -> None:
    """Refuse an entry whose copies were moved or changed since it was added: what it published is then not known."""
    what = f"{folder / INDEX}: the copy of {shown(entry.name)}"
    release, schema = folder / entry.file, folder / entry.schema_file
    if not release.is_file() or not schema.is_file():
        raise UsageError(f"{what} or its schema is gone; put it back at {shown(entry.file)}, or add the release again")
    for path in (*_files(release), *_schema_files(schema).values()):
        if not path.resolve().is_relative_to(folder.resolve()):
            raise UsageError(f"{what} leads outside the ledger; add the release again")
    if release_hash(release) != entry.sha256:
        raise UsageError(f"{what} was changed since it was added; put the published file back, or add it again")
    if entry.schema_sha256 not in ("", _hash(_schema_files(schema).values())):
        raise UsageError(f"{what} has another schema than when it was added; put that back, or add it again")


def _hash(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        try:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        except OSError as error:
            raise UsageError(f"{path}: cannot be read ({(error.strerror or 'unknown reason').lower()})") from None
    return digest.hexdigest()


def add_to_ledger(folder: Path, release: Path, schema: Path, **said: object) -> LedgerEntry:
    """Copy a release and its schema into a ledger, which is begun if there is none. Files are 0600, folders 0700.

    `said`: date, recipient, people, shared, changed and within of a LedgerEntry; the date is today's if not given.
    Refused: what cannot be read back, holds a column that the schema calls an identifier, or is there already.
    """
    declared = read_schema(schema).confirmed()
    identifiers = [n for n in declared.names if declared.declaration(n).role == "identifier"]
    if is_many(release):
        raise UsageError(f"{release}: is a table of many files; a ledger keeps releases of one file")
    held = set(read_columns(release, missing=declared.missing_token).columns)
    if there := [n for n in identifiers if n in held]:
        raise UsageError(f"{release}: holds the identifier {shown(there[0])}; a ledger keeps releases, never originals")
    read_release(release, declared)
    _entry("", release, schema, "", said)  # what is said wrongly is refused before a folder is made
    _make_private(folder, folder)
    with alone_in([folder], patience=math.inf):  # an entry that two runs add at once would be lost
        return _add(folder, release, schema, said)


def _add(folder: Path, release: Path, schema: Path, said: Mapping[str, object]) -> LedgerEntry:
    entries = read_ledger(folder) if os.path.lexists(folder / INDEX) else ()
    digest = release_hash(release)
    if same := next((e for e in entries if e.sha256 == digest), None):
        raise UsageError(f"{release}: is in the ledger already, as {shown(same.name)} of {same.date}")
    place = digest[:16]
    names = {e.name for e in entries}
    name, number = release.name, 2
    while name in names:
        name, number = f"{release.stem}-{number}{release.suffix}", number + 1
    entry = _entry(name, release, schema, digest, said)
    copies = {folder / place / path.name: path for path in _files(release)}
    copies |= {folder / place / "schema" / name: path for name, path in _schema_files(schema).items()}
    files = {target: path.read_bytes() for target, path in copies.items()}
    for target in files:
        _make_private(folder, target.parent)
    listed = [e.model_dump(exclude_none=True, exclude_defaults=False) for e in (*entries, entry)]
    files[folder / INDEX] = tomli_w.dumps({"releases": listed}).encode()
    write_whole(files, mode=PRIVATE_FILE)
    try:
        copied = folder / entry.schema_file
        again = read_schema(copied).confirmed()
        read_release(folder / entry.file, again)
    except UnveilError as error:  # what cannot be read back would be silently missing later
        raise OutputError(f"the copy in the ledger cannot be read: {error}") from None
    return entry


def _entry(name: str, release: Path, schema: Path, digest: str, said: Mapping[str, object]) -> LedgerEntry:
    place = digest[:16]
    try:
        entry = LedgerEntry.model_validate({
            "name": name,
            "file": f"{place}/{release.name}",
            "schema_file": f"{place}/schema/{schema.name}",
            "sha256": digest,
            "schema_sha256": _hash(_schema_files(schema).values()),
            "date": calendar_date.today(), **{k: v for k, v in said.items() if v is not None},
        })  # fmt: skip
    except ValidationError as error:
        fault = error.errors()[0]
        raise UsageError(f"{'.'.join(str(p) for p in fault['loc'])}: {fault['msg'].lower()}") from None
    if entry.shared is not None and entry.people != "overlapping":
        raise UsageError("shared: a number of shared people belongs to an overlapping population")
    return entry


def _files(release: Path) -> list[Path]:
    """The release, its sidecar and its table of sensitive values."""
    sidecar = read_sidecar(release)
    found = [release]
    if sidecar != type(sidecar)() and not is_project(release):
        found.append(release.with_suffix(".toml"))
    if sidecar.sensitive_table is not None:
        found.append(release.parent / sidecar.sensitive_table)
    return found


def _schema_files(schema: Path) -> Mapping[str, Path]:
    """The schema and every hierarchy it names, by their place beside it."""
    found = {schema.name: schema}
    document = read_schema(schema).document
    named = [d.hierarchy for d in document.attributes.values() if d.hierarchy is not None]
    if document.hierarchies is not None:
        where = hierarchy_files(schema.parent / document.hierarchies, document.attributes, str(schema))
        named += [str(Path(document.hierarchies) / path.name) for path in where.values()]
    return found | {text: schema.parent / text for text in named}


def _make_private(folder: Path, inner: Path) -> None:
    """Folders of the ledger that nobody else can look into."""
    missing = [path for path in (*reversed(inner.parents), inner) if not path.exists()]
    try:
        for path in missing:
            path.mkdir(mode=PRIVATE_FOLDER)
            if path == folder or path.is_relative_to(folder):
                os.chmod(path, PRIVATE_FOLDER)
    except OSError as error:
        raise OutputError(f"{inner}: cannot be made ({error.strerror}); choose another folder with --ledger") from None

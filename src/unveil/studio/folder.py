"""The folder: everything that the studio keeps, as plain files which the command line understands.

unveil.toml      the data file, how it is written, limits: `unveil audit RELEASE --config unveil.toml`
schema.toml      roles, with hierarchies/ beside it
releases/        made or brought
documents/       what commands found, as JSON; reports/ the same as pages; people/ who is exposed (keep it secret)
decisions.jsonl  who decided what, when and why; one line each
.unveil/         jobs with their checkpoints, uploads on their way: the studio's own
"""

import json
import os
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import tomli_w

from unveil.data.toml import read_toml
from unveil.errors import OutputError, UsageError, shown
from unveil.formats.glass import BINARY
from unveil.formats.output import write_whole

__all__ = ["NAME", "TABLES", "Folder", "Kept"]

TABLES = (".csv", ".tsv", ".txt", *BINARY)
PARTS = ("releases", "documents", "reports")
PRIVATE = (".unveil", ".unveil/jobs", ".unveil/uploads", "people")
NAME = re.compile(r"[^\W_][\w .+()=,-]{0,120}")  # of a file: no path, no option, nothing hidden
T = TypeVar("T")
_SECOND = re.compile(r"-sensitive$|-chosen$|-domains$")  # files that belong to another


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the steward's."""

    path: Path

    def make(self) -> None:
        """The folders in it, if they are not there."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for part in (*PARTS, *PRIVATE, "hierarchies"):
                if (self.path / part).is_symlink():
                    raise UsageError(f"{part}: is a link; what the studio writes stays in its folder")
            for part in PARTS:
                (self.path / part).mkdir(exist_ok=True)
            for own in PRIVATE:
                (self.path / own).mkdir(mode=0o700, exist_ok=True)
            for left in (self.path / ".unveil" / "uploads").iterdir():
                left.unlink()
        except OSError as error:
            reason = (error.strerror or "unknown reason").lower()
            raise OutputError(f"{self.path}: cannot be used ({reason}); choose another folder") from None

    # ------------------------------------------------------------------------------------------------------- settings

    @property
    def settings(self) -> dict[str, Any]:
        """What unveil.toml says; nothing if there is none."""
        return dict(_settings(self.path / "unveil.toml", *self.stamp("unveil.toml")))

    def save(self, changes: Mapping[str, Any]) -> None:
        """unveil.toml with these changes; None or nothing takes a key out."""
        held = {**self.settings, **changes}
        kept = {key: value for key, value in held.items() if value not in (None, "", [])}
        head = "# Settings of an audit: unveil audit RELEASE --config unveil.toml\n"
        write_whole({self.path / "unveil.toml": (head + tomli_w.dumps(kept)).encode()})

    @property
    def dialect(self) -> dict[str, str]:
        """How the data file is written, as far as somebody said so."""
        held = self.settings
        return {key: str(held[key]) for key in ("delimiter", "decimal", "encoding") if key in held}

    @property
    def data(self) -> str | None:
        """The data file's name in this folder, if one was chosen and is there."""
        name = self.settings.get("original")
        return name if isinstance(name, str) and name in self.tables() else None

    @property
    def schema(self) -> Path:
        return self.path / "schema.toml"

    # ---------------------------------------------------------------------------------------------------------- files

    def tables(self) -> list[str]:
        """Every file here that may be a table, by its name as requests and commands give it."""
        return [*self._found("", TABLES), *self._found("releases", TABLES)]

    def releases(self) -> list[str]:
        """Every table but the data file."""
        data = self.settings.get("original")
        return [name for name in self.tables() if name != data and not _SECOND.search(os.path.splitext(name)[0])]

    def documents(self) -> list[str]:
        """Names of audits that are there, the newest first."""
        names = [n for n in self._found("documents", (".json",)) if Path(n).stem not in ("draft", "frontier")]
        return sorted(names, key=lambda n: (self.path / n).stat().st_mtime, reverse=True)

    def _found(self, part: str, endings: tuple[str, ...]) -> Iterator[str]:
        home = self.path / part
        if not home.is_dir() or (part and home.is_symlink()):
            return
        root = self.path.resolve()
        with os.scandir(home) as found:
            files = sorted((one.name, one.is_symlink()) for one in found if one.is_file())
        for name, link in files:
            named = os.path.splitext(name)[1].lower() in endings and NAME.fullmatch(name)
            if named and not (link and not (home / name).resolve().is_relative_to(root)):
                yield f"{part}/{name}" if part else name

    def reports(self) -> list[str]:
        """Pages to hand on."""
        return list(self._found("reports", (".html",)))

    def hierarchies(self) -> list[str]:
        """Files that the schema may name."""
        return list(self._found("hierarchies", (".csv",)))

    def one(self, name: str, among: list[str]) -> str:
        """A name that a request gave, if it is one of these: nothing else is ever opened for a request."""
        if name not in among:
            raise UsageError(f"{shown(name)}: there is no such file in the folder; choose one of the list")
        return name

    def stamp(self, name: str) -> list[int]:
        """What changes when a file does."""
        try:
            found = (self.path / name).stat()
        except OSError:
            return [0, 0]
        return [found.st_size, found.st_mtime_ns]

    # -------------------------------------------------------------------------------------------------------- uploads

    def place(self, name: str, part: str) -> Path:
        """Where an upload of this name goes: a new file, never one that is there."""
        endings = (*TABLES, ".toml") if part else TABLES
        if not NAME.fullmatch(name) or Path(name).suffix.lower() not in endings:
            raise UsageError(
                f"{shown(name)}: not the name of a table; letters, digits, blanks and -_.+()=, are allowed, "
                f"and an ending such as .csv, .xlsx or .parquet"
            )
        target = self.path / part / name
        if target.exists() or target.is_symlink():
            raise UsageError(f"{name}: there is a file of this name already; rename one of them")
        return target

    async def receive(self, pieces: AsyncIterator[bytes], name: str, part: str) -> str:
        """Keep an upload: it stands under its name once it is whole; what broke off leaves nothing."""
        target = self.place(name, part)
        waiting = self.path / ".unveil" / "uploads" / secrets.token_hex(16)
        try:
            with os.fdopen(os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                async for piece in pieces:
                    file.write(piece)
            os.link(waiting, target)  # which replaces nothing, unlike a rename
        except TimeoutError:
            raise
        except FileExistsError:
            raise UsageError(f"{name}: there is a file of this name already; rename one of them") from None
        except OSError as error:
            raise OutputError(f"{name}: cannot be kept ({(error.strerror or 'unknown reason').lower()})") from None
        finally:
            waiting.unlink(missing_ok=True)
        return f"{part}/{name}" if part else name

    # ------------------------------------------------------------------------------------------------------ decisions

    def decide(self, decision: Mapping[str, Any]) -> None:
        """One line more in decisions.jsonl; no earlier one is ever changed."""
        line = json.dumps(decision, ensure_ascii=False) + "\n"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        try:
            with os.fdopen(os.open(self.path / "decisions.jsonl", flags, 0o644), "w", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            reason = (error.strerror or "unknown reason").lower()
            raise OutputError(f"decisions.jsonl: cannot be written ({reason})") from None

    def decisions(self) -> list[dict[str, Any]]:
        """The decisions so far, the newest first; a line that is none is left out."""
        file = self.path / "decisions.jsonl"
        found = []
        for line in file.read_text("utf-8").splitlines() if file.is_file() else ():
            try:
                one = json.loads(line)
            except ValueError:
                continue
            if isinstance(one, dict):
                found.append(one)
        return found[::-1]


@lru_cache(8)
def _settings(file: Path, *stamp: int) -> dict[str, Any]:
    """What a file of settings says, as long as it stays as it is."""
    return read_toml(file, UsageError) if any(stamp) else {}


class Kept(Generic[T]):
    """What was made of files: once, by one thread at a time, as long as they stay as they are."""

    def __init__(self, folder: Folder, most: int) -> None:
        self._folder, self._most, self._lock = folder, most, threading.Lock()
        self._held: OrderedDict[tuple[object, ...], T] = OrderedDict()

    def of(self, make: Callable[[], T], names: Sequence[str], *about: object) -> T:
        """What `make` makes of these files; `about`: what else it depends on."""
        key = (*about, *((name, *self._folder.stamp(name)) for name in names))
        with self._lock:
            found = self._held.pop(key) if key in self._held else make()
            self._held[key] = found
            while len(self._held) > self._most:
                self._held.popitem(last=False)
            return found

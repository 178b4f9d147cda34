"""Documents: the one envelope in which every command gives its results as JSON."""

import hashlib
import math
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from unveil.errors import UsageError
from unveil.formats.paths import sheet_file

__all__ = ["Document", "Finding", "Input", "Run", "describe_inputs", "describe_run"]

Number = float | Literal["inf"] | None  # JSON has no infinity


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Finding(_Part):
    """One measured number: its id is `[attacker.]measure[.statistic]`."""

    id: str
    release: str
    attribute: str | None
    value: Number
    low: Number
    high: Number
    baseline: Number = None
    limit: str | None = None
    verdict: Literal["within", "exceeded", "inconclusive", "no limit"] = "no limit"

    @classmethod
    def exact(cls, id: str, release: str, attribute: str | None, value: float, **rest: Any) -> "Finding":
        """A finding without error of its own."""
        number: Number = "inf" if math.isinf(value) else value
        return cls(id=id, release=release, attribute=attribute, value=number, low=number, high=number, **rest)


class Input(_Part):
    """A file that was read."""

    name: str
    sha256: str


class Run(_Part):
    """When and with what: left out when documents are compared."""

    date: str
    python: str
    versions: dict[str, str]
    seconds: float | None = None
    peak_memory_mb: float | None = None


class Document(_Part):
    """What a command found."""

    document: Literal["audit", "check", "differential", "disclosure", "frontier", "knowledge", "link", "membership"]
    version: Literal[1] = 1
    settings: dict[str, Any]
    inputs: tuple[Input, ...]
    run: Run
    findings: tuple[Finding, ...]
    diagnostics: dict[str, Any]
    charts: dict[str, Any] = {}


class _Hashed(Protocol):
    """What was read but is no file, e.g. a table in a database: it knows its own hash."""

    @property
    def name(self) -> str: ...
    @property
    def sha256(self) -> str: ...


def describe_inputs(paths: Iterable[Path | _Hashed]) -> tuple[Input, ...]:
    """Name and hash of each file."""
    found = []
    for path in paths:
        if not isinstance(path, Path):
            found.append(Input(name=path.name, sha256=path.sha256))
            continue
        try:
            with sheet_file(path)[0].open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UsageError(f"{path}: cannot be read ({(error.strerror or 'unknown reason').lower()})") from None
        found.append(Input(name=path.name, sha256=digest))
    return tuple(found)


def describe_run(packages: Mapping[str, str] | None = None) -> Run:
    """Date and versions."""
    versions = {name: version(name) for name in ("unveil", "numpy", "polars")}
    return Run(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        python=platform.python_version(),
        versions={**versions, **(packages or {})},
    )

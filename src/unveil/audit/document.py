"""Documents: the one envelope in which every command gives its results as JSON."""

import math
import os
import platform
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, computed_field, model_validator
from pydantic.json_schema import SkipJsonSchema

from unveil.data.belief import Estimate
from unveil.errors import UsageError
from unveil.formats.parts import file_digest

__all__ = [
    "Document",
    "DocumentPart",
    "Finding",
    "FindingId",
    "Input",
    "Number",
    "Run",
    "Verdict",
    "amount",
    "describe_inputs",
    "describe_run",
    "number",
]

Number = float | Literal["inf"] | None  # JSON has no infinity
Verdict = Literal["within", "exceeded", "inconclusive", "no limit"]


def number(value: float | None) -> Number:
    """A number as JSON can hold it; what is not a number, or unbounded below, is unknown."""
    if value is None or math.isnan(value) or value == -math.inf:
        return None
    return "inf" if value == math.inf else float(value)


def amount(value: Number) -> float:
    """The other way round; unknown is nan."""
    return math.nan if value is None else math.inf if isinstance(value, str) else float(value)


class DocumentPart(BaseModel):
    """A part of a document: exactly these fields, and none of them changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FindingId(DocumentPart):
    """Which finding is meant: `[reader.]measure[.statistic]`. `reader`: whose belief it is about, if anybody's."""

    reader: str | None = None
    measure: str
    statistic: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_id(cls, data: Any) -> Any:
        """A document's findings show their ids for people to copy; they are made, not read."""
        return {k: v for k, v in data.items() if k != "id"} if isinstance(data, dict) else data

    @property
    def name(self) -> str:
        """Measure and statistic: `relative_threat.max`."""
        return self.measure if self.statistic is None else f"{self.measure}.{self.statistic}"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def id(self) -> str:
        """What people and `--limit` call it."""
        return self.name if self.reader is None else f"{self.reader}.{self.name}"


class Finding(FindingId):
    """One measured number of a release; of a difference that is limited, `minus` is what was taken off."""

    release: str
    attribute: str | None
    minus: FindingId | None = None
    value: Number
    low: Number
    high: Number
    baseline: Number = None
    against: str | None = None  # of a threat beyond a learner's: which learner's
    limit: str | None = None
    verdict: Verdict = "no limit"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def id(self) -> str:
        """What people and `--limit` call it."""
        own = FindingId.id.fget(self)  # type: ignore[attr-defined]  # pydantic's properties know no super()
        return own if self.minus is None else f"{own} - {self.minus.id}"

    @classmethod
    def of(
        cls,
        name: str,
        release: str,
        attribute: str | None,
        estimate: Estimate | None,
        baseline: float | None = None,
        *,
        reader: str | None = None,
        **rest: Any,
    ) -> "Finding":
        """An estimate of `measure[.statistic]`; None: it needs what is not there, so it is unknown, never 0."""
        measure, _, statistic = name.partition(".")
        value, low, high = (None,) * 3 if estimate is None else (estimate.value, estimate.low, estimate.high)
        return cls(
            release=release,
            attribute=attribute,
            reader=reader,
            measure=measure,
            statistic=statistic or None,
            value=number(value),
            low=number(low),
            high=number(high),
            baseline=number(baseline),
            **rest,
        )

    @classmethod
    def exact(cls, name: str, release: str, attribute: str | None, value: float, *args: Any, **rest: Any) -> "Finding":
        """A finding without error of its own."""
        return cls.of(name, release, attribute, Estimate.exact(value), *args, **rest)


class Input(DocumentPart):
    """A file that was read."""

    name: str
    sha256: str
    # Whoever gets the release has it, so that its name and hash tell nothing new; it is not written down.
    published: SkipJsonSchema[bool] = Field(default=False, exclude=True)


class Run(DocumentPart):
    """When and with what: left out when documents are compared."""

    date: str
    python: str
    versions: dict[str, str]
    seconds: float | None = None
    peak_memory_mb: float | None = None


class Document(DocumentPart):
    """What a command found."""

    document: Literal[
        "attribute", "audit", "check", "differential", "disclosure", "frontier", "knowledge", "link", "membership"
    ]
    version: Literal[2] = 2
    settings: dict[str, Any]
    inputs: tuple[Input, ...]
    run: Run
    findings: tuple[Finding, ...]
    diagnostics: dict[str, Any]
    charts: dict[str, Any] = {}


class _HashedInput(Protocol):
    """What was read but is not a file, e.g. a table in a database: it knows its own hash."""

    @property
    def name(self) -> str: ...
    @property
    def sha256(self) -> str: ...


def describe_inputs(paths: Iterable[Path | _HashedInput], published: Collection[Path] = ()) -> tuple[Input, ...]:
    """Name and hash of each file; those of `published` may be named in an external document."""
    found = []
    for path in paths:
        if not isinstance(path, Path):
            found.append(Input(name=path.name, sha256=path.sha256))
            continue
        digest = file_digest(path, UsageError)
        found.append(Input(name=path.name, sha256=digest, published=path in published))
    return tuple(found)


def describe_run(
    packages: Mapping[str, str] | None = None, *, seconds: float | None = None, peak_memory_mb: float | None = None
) -> Run:
    """Date, versions and cost.

    With SOURCE_DATE_EPOCH set, the date is that one and the cost is left out: equal inputs and seeds then give
    documents that are equal byte by byte (reproducible-builds.org's convention).
    """
    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    if stated and not (stated.isascii() and stated.isdigit() and int(stated) < 2**37):
        raise UsageError("SOURCE_DATE_EPOCH: is not a number of seconds since 1970; unset it, or correct it")
    moment = datetime.fromtimestamp(int(stated), UTC) if stated else datetime.now(UTC)
    versions = {name: version(name) for name in ("unveil", "numpy", "polars")}
    return Run(
        date=moment.isoformat(timespec="seconds"),
        python=platform.python_version(),
        versions={**versions, **(packages or {})},
        seconds=None if stated else seconds,
        peak_memory_mb=None if stated else peak_memory_mb,
    )

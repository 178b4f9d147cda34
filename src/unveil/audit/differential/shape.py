"""The differential document's shape, version 2. docs/schemas/differential-2.json."""

from typing import Literal

from unveil.audit.document import Document, DocumentPart, Number, Verdict

__all__ = ["DifferentialDocument"]


class DifferentialSettings(DocumentPart):
    """What was asked for."""

    original: str
    sanitizers: list[str]
    model: str
    distance: Literal["emd", "tv", "js", "max_ratio"]
    reading: Literal["coordinates", "vectors"]
    attribute: str
    prior: dict[str, float] | None
    samples: int
    records: int | None
    until: float | None
    seed: int | None
    limits: list[str]


class SanitizerFacts(DocumentPart):
    """How one sanitizer was tested."""

    name: str
    parameter: str | None
    value: Number
    rows: int
    records: int
    tested: int
    failed: int
    path: Literal["replay", "closed form", "every record run again"]
    samples: int
    noise_floor: Number
    worst_row: int | None
    sentence: str


class FailedRecord(DocumentPart):
    """A record without which a sanitizer failed."""

    sanitizer: str
    row: int
    message: str


class RemovalRound(DocumentPart):
    """One test on the way, and how many records were taken out after it."""

    delta: Number
    records: int
    removed: int


class RemovalPath(DocumentPart):
    """Outlier removal: the path of delta and who was taken out."""

    sanitizer: str
    until: float
    ended: Literal["reached", "stopped", "failed", "rounds", "requirement", "too many"]
    rounds: list[RemovalRound]
    rows: list[int]


class DifferentialDiagnostics(DocumentPart):
    """How it went."""

    verdict: Verdict
    exit_code: Literal[0, 1, 3]
    tests: list[SanitizerFacts]
    failures: list[FailedRecord]
    removals: list[RemovalPath]
    remarks: list[str]


class DeltaPoint(DocumentPart):
    """One sanitizer in the figure of delta by parameter."""

    name: str
    parameter: str | None
    value: Number
    delta: Number
    median: Number
    mean: Number


class Cumulative(DocumentPart):
    """How many records have a distance of at most each edge."""

    edges: list[float]
    counts: list[int]
    records: int


class DifferentialCharts(DocumentPart):
    """Figures 1, 2 and 5: counts and extremes, never one entry a person."""

    delta: list[DeltaPoint]
    cumulative: dict[str, Cumulative]


class DifferentialDocument(Document):
    """What unveil attack differential --json writes."""

    document: Literal["differential"]
    settings: DifferentialSettings  # type: ignore[assignment]
    diagnostics: DifferentialDiagnostics  # type: ignore[assignment]
    charts: DifferentialCharts  # type: ignore[assignment]

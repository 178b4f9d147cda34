"""The link document's shape, version 2. docs/schemas/link-2.json."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from unveil.audit.document import Document, Number, Verdict

__all__ = ["LinkDocument"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LinkSettings(_Part):
    """What was asked for."""

    release: str
    original: str | None
    population: str | None
    known: list[str]
    fraction: float | None
    false_links: float
    missed_links: float
    splink: bool = False
    worst_case: str | None = None
    knowing: str | None = None
    prove: float | None = None
    subsets: int
    seed: int | None
    limits: list[str]


class LevelShares(_Part):
    """How often links, and other pairs, agree by a cell of one level of size, the widest first."""

    m: float
    u: float


class Parameters(_Part):
    """How often links, and other pairs, agree on an attribute."""

    attribute: str
    m: float
    u: float
    levels: list[LevelShares] = []


class Thresholds(_Part):
    """Weights from which a pair is a link, and up to which it is none; null = no pattern is."""

    upper: float | None
    lower: float | None
    false_links: float
    missed_links: float


class LinkReader(_Part):
    """One way of linking."""

    reader: Literal["distance", "probabilistic", "unsupervised", "splink", "supervised", "transparency"]
    applicable: bool
    reason: str | None
    parameters: list[Parameters]
    thresholds: Thresholds | None
    pairs: dict[str, int]


class Estimator(_Part):
    """What one estimator says of the sample uniques."""

    estimator: str
    population_unique: Number
    expected_links: float
    largest_risk: float
    mean_risk: float
    ranges: dict[str, list[float] | None] = {}
    fitted: dict[str, float]


class MinimalSampleUniques(_Part):
    """Smallest combinations that single a row out."""

    largest: int
    sets: int
    rows: int
    by_size: list[int]
    by_attribute: dict[str, int]
    largest_score: float
    fraction: float = 0.01
    intrusion: float = 0.0
    largest_risk: float = 0.0


class Uniqueness(_Part):
    """The cells whose uniqueness was asked about."""

    of: Literal["release", "original"]
    rows: int
    cells: int
    alone: int
    suppressed: int
    fraction: float
    estimators: list[Estimator]
    minimal_uniques: MinimalSampleUniques | None


class LinkDiagnostics(_Part):
    """How it went."""

    verdict: Verdict
    exit_code: Literal[0, 1, 3]
    people: int
    rows: int
    truth: Literal["given", "own row fits", "unknown"]
    perturbed: list[str]
    readers: list[LinkReader]
    sentences: list[str]
    uniqueness: Uniqueness | None
    remarks: list[str]


class SetSizes(_Part):
    """People by the number of rows that fit them best."""

    edges: list[int]
    people: list[int]


class KnownPoint(_Part):
    """Linkage by sets of so many attributes."""

    known: int
    sets: int
    mean: Number
    most: Number
    claimed: float
    most_by: list[str]


class KnownChart(_Part):
    """Linkage by the number of attributes known; of how many people."""

    people: int
    points: list[KnownPoint]


class FractionPoint(_Part):
    """Uniqueness at one sampling fraction, the file being the population."""

    fraction: float
    people: int
    expected: float
    drawn: Number
    estimates: dict[str, Number]


class LinkCharts(_Part):
    """Binned counts and shares, never one entry a person."""

    set_sizes: dict[str, SetSizes]
    known: KnownChart
    uniqueness: list[FractionPoint]


class LinkDocument(Document):
    """What unveil link --json writes."""

    document: Literal["link"]
    settings: LinkSettings  # type: ignore[assignment]
    diagnostics: LinkDiagnostics  # type: ignore[assignment]
    charts: LinkCharts  # type: ignore[assignment]

"""The link document's shape, version 2. docs/schemas/link-2.json."""

from typing import Literal

from pydantic import Field

from unveil.audit.document import Document, DocumentPart, Number, Verdict

__all__ = ["LinkDocument"]


class LinkSettings(DocumentPart):
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


class LevelShares(DocumentPart):
    """How often links, and other pairs, agree by a cell of one level of size, the widest first."""

    m: float
    u: float


class Parameters(DocumentPart):
    """How often links, and other pairs, agree on an attribute."""

    attribute: str
    m: float
    u: float
    levels: list[LevelShares] = Field([])


class Thresholds(DocumentPart):
    """Weights from which a pair is a link, and up to which it is none; null = no pattern is."""

    upper: float | None
    lower: float | None
    false_links: float
    missed_links: float


class LinkReader(DocumentPart):
    """One way of linking."""

    reader: Literal["distance", "one_to_one", "probabilistic", "unsupervised", "splink", "supervised", "transparency"]
    applicable: bool
    reason: str | None
    parameters: list[Parameters]
    thresholds: Thresholds | None
    pairs: dict[str, int]


class Estimator(DocumentPart):
    """What one estimator says of the sample uniques."""

    estimator: str
    population_unique: Number
    expected_links: Number  # null: it says how many people are alone, not who
    largest_risk: Number
    mean_risk: Number
    ranges: dict[str, list[float] | None] = Field({})
    fitted: dict[str, float]


class MinimalSampleUniques(DocumentPart):
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


class Uniqueness(DocumentPart):
    """The cells whose uniqueness was asked about."""

    of: Literal["release", "original"]
    rows: int
    cells: int
    alone: int
    suppressed: int
    fraction: float
    estimators: list[Estimator]
    minimal_uniques: MinimalSampleUniques | None


class LinkDiagnostics(DocumentPart):
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


class SetSizes(DocumentPart):
    """People by the number of rows that fit them best."""

    edges: list[int]
    people: list[int]


class KnownPoint(DocumentPart):
    """Linkage by sets of so many attributes."""

    known: int
    sets: int
    mean: Number
    most: Number
    claimed: float
    most_by: list[str]


class KnownChart(DocumentPart):
    """Linkage by the number of attributes known; of how many people."""

    people: int
    points: list[KnownPoint]


class FractionPoint(DocumentPart):
    """Uniqueness at one sampling fraction, the file being the population."""

    fraction: float
    people: int
    expected: float
    drawn: Number
    estimates: dict[str, Number]


class LinkCharts(DocumentPart):
    """Binned counts and shares, never one entry a person."""

    set_sizes: dict[str, SetSizes]
    known: KnownChart
    uniqueness: list[FractionPoint]


class LinkDocument(Document):
    """What unveil attack identity --json writes."""

    document: Literal["link"]
    settings: LinkSettings  # type: ignore[assignment]
    diagnostics: LinkDiagnostics  # type: ignore[assignment]
    charts: LinkCharts  # type: ignore[assignment]

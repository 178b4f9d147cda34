"""The audit document's shape, version 2: what its settings, diagnostics and charts hold. docs/schemas/audit-2.json."""

from typing import Any, Literal

from pydantic import Field

from unveil.audit.document import Document, DocumentPart, Number, Verdict
from unveil.audit.verdict import Judgement

__all__ = ["AuditDocument"]

Count = int | None  # None: below the least count that an external document shows


class AuditSettings(DocumentPart):
    """What was asked for."""

    releases: list[str]
    original: str | None
    release_type: Literal["not stated", "public", "controlled", "internal"]
    recipient: str | None
    attackers: list[str]
    asked: list[str] | None = None
    known: list[str] | None
    combinations: list[list[str]] = Field([])
    cells: list[str] = Field([])
    key: str | None = None
    panel: bool = True
    wrong: float
    alpha: float
    beta: float
    prior: str | None
    chains: int
    sweeps: int
    most_sweeps: int
    precision: float
    seed: int | None
    sample: int | None
    control: str | None
    population: str | None
    joint: bool
    background: dict[str, Any] | Literal["auto"] | None = None
    preset: str | None
    limits: list[str]
    waived: dict[str, str] = Field({})
    earlier: list[str] = Field([])
    within: dict[str, float] = Field({})
    variant: Literal["internal", "external"]
    least_count: int
    membership: Literal["sensitive", "harmless", "not said"] | None = None  # None: not measured


class ReleaseFacts(DocumentPart):
    """What a release is made of."""

    rows: int
    groups: int
    blocks: list[list[str]]
    suppressed_rows: Count
    withheld_values: dict[str, Count]
    widened_sensitive: list[str]
    domains: dict[str, str]
    distances: dict[str, str]
    repeated_identifiers: Count
    masked: list[str] = Field([])  # columns that were perturbed; then there are no groups


class ThreatModel(DocumentPart):
    """Who knows what."""

    target: str
    membership: str
    group: str
    others: str
    population: str
    mechanism: str


class ReaderFacts(DocumentPart):
    """One reader of one release, asked about one attribute."""

    release: str
    attribute: str
    reader: str
    applicable: bool
    reason: str | None
    threat: ThreatModel | None
    method: str | None
    converged: bool
    precise: bool
    facts: dict[str, Number | str]
    modes: list[dict[str, float]]


class Wp29Row(DocumentPart):
    """One of the three risks of Opinion 05/2014."""

    value: Number
    low: Number
    high: Number
    baseline: Number
    status: Literal["measured", "not tested"]
    finding: str | None
    words: str


class Wp29(DocumentPart):
    """Singling out, linkability, inference."""

    singling_out: Wp29Row
    linkability: Wp29Row
    inference: Wp29Row


class FakeCount(DocumentPart):
    """How many fake tuples there are, in digits."""

    fake: str
    low: str
    high: str
    exact: bool


class MembershipFacts(DocumentPart):
    """How membership was looked at."""

    sensitive: bool
    prior: float | None
    others: str | None
    known: list[str]
    exact: bool
    fake_tuples: dict[str, FakeCount]
    rows_nobody_fills: Count
    reason: str | None
    words: str


class Pair(DocumentPart):
    """A release that dominates another."""

    better: str
    worse: str


class Definition(DocumentPart):
    """What a measure is."""

    words: str
    source: str
    page: str


class BackgroundFacts(DocumentPart):
    """What readers with background knowledge gain from one release, about one attribute; or why it was not asked."""

    release: str
    attribute: str
    measured: bool
    reason: str | None
    rules: int | None
    estimated_people: Count
    omega_error: Number
    words: str | None


class CombinationRow(DocumentPart):
    """What one set of known attributes exposes; [value, low, high] or a share, None if unknown or of too few people."""

    release: str
    attribute: str
    known: list[str]
    people: int
    alone_in_original: float | None
    fewest_rows: Count
    single_row: float | None
    attacker: str | None
    not_applicable: str | None
    reliable: bool = False
    learner_right: list[Number] | None = None
    right: list[Number] | None = None
    twice_exposed: list[Number] | None = None
    sure: list[Number] | None = None


class PanelMember(DocumentPart):
    """One reader a little unlike the audit's own."""

    reader: str
    kind: Literal["pseudo-counts", "joined attributes", "known attributes"]
    words: str
    attacker: str  # who of its attackers guesses most right
    right: Number  # share of people
    disclosed: Number  # share of people whose own value is 80% sure
    distance: float  # mean total variation from what the audit's own attacker believes


class PanelFacts(DocumentPart):
    """The panel on one release and attribute."""

    release: str
    attribute: str
    members: list[PanelMember]
    worst: dict[str, str]  # by kind: the reader who is sure of most people
    not_asked: dict[str, str]  # each with why
    right: list[float] | None  # of all readers: least and most people guessed right
    disagree: float  # share of people of whom two readers guess different values


class FileCheck(DocumentPart):
    """What one check of the published file found."""

    check: str
    kind: str
    severity: Literal["exceeded", "suspicious", "fine", "not judged"]
    sentence: str
    fix: str
    columns: list[str]
    people: Count


class CarrierRow(DocumentPart):
    """The classes of a release counted again with one column changed; the first rows change none, and leave out all."""

    column: str
    change: Literal["as it is", "without", "one level coarser"]
    smallest: int
    few: int  # rows in classes of fewer than 3
    guessed: dict[str, float]  # by attribute: rows that have the most frequent value of their class, as a share
    found: dict[str, float] = Field(default_factory=dict)  # by attribute: see carrier_findings


class CarrierFinding(DocumentPart):
    """The exceeded finding of an attribute for which readers were asked again with columns changed."""

    finding: str
    title: str
    measure: str
    statistic: str | None
    limit: str
    bound: float
    people: int  # who were asked about again
    everybody: int
    together: tuple[str, ...] = ()  # two columns, where none alone is enough
    without_both: float = 0.0


class CarrierGroup(DocumentPart):
    """A class of rows that carries what was found: its cells, its rows, and how many have its most frequent value."""

    cells: dict[str, str]
    rows: int
    value: str = ""  # the most frequent value of the attribute
    alike: int = 0


class EarlierFacts(DocumentPart):
    """One earlier release, and what was said of it."""

    name: str
    date: str | None
    rows: int
    people: Literal["same", "subset", "superset", "overlapping"]
    shared: int | None
    changed: float


class SampledGap(DocumentPart):
    """Beliefs on loops against a walk over joint matchings."""

    people: Count
    gap: float


class ExposingSet(DocumentPart):
    """The fewest earlier releases that make a reader sure of so many people."""

    releases: list[str]
    people: Count


class CompositionFacts(DocumentPart):
    """One attribute read in all releases together; counts below the least that may be shown are withheld."""

    earlier: list[EarlierFacts]
    left_out: dict[str, str]
    silent: list[str]
    alone: Count = None
    one_value_left: Count = None
    differenced: Count = None
    sure: Count = None
    sure_alone: Count = None
    minimal_sets: list[ExposingSet] = Field([])
    every_subset: bool | None = None
    rounds: int | None = None
    change: float | None = None
    settled: bool | None = None
    exact: Count = None
    people: int | None = None
    agreement: float | None = None
    sampled_check: SampledGap | None = None
    contradictions: int | None = None


class AuditDiagnostics(DocumentPart):
    """Verdict, words, and how sure all of it is."""

    verdict: Verdict
    verdicts: dict[str, Verdict]
    judgement: dict[str, Judgement]
    file: dict[str, list[FileCheck]] = Field({})
    roles: dict[str, list[str]] = Field({})
    exit_code: Literal[0, 1, 3]
    sentence: dict[str, dict[str, str]]
    releases: dict[str, ReleaseFacts]
    readers: list[ReaderFacts]
    people: int
    sampled_people: int | None
    controls: int | None
    worst_attribute: dict[str, dict[str, Count]]
    dominance: list[Pair]
    dominance_text: str
    wp29: dict[str, Wp29]
    not_tested: list[str]
    membership: dict[str, MembershipFacts] = Field({})
    background: list[BackgroundFacts] = Field([])
    remarks: list[str]
    definitions: dict[str, Definition]
    composition: dict[str, dict[str, CompositionFacts]] = Field({})
    combinations: list[CombinationRow] = Field([])
    panel: list[PanelFacts] = Field([])
    carriers: dict[str, list[CarrierRow]] = Field({})
    carrier_findings: dict[str, dict[str, CarrierFinding]] = Field({})  # by release and attribute
    carrier_groups: dict[str, dict[str, list[CarrierGroup]]] = Field({})  # by release and kind; inference by attribute


class AuditDocument(Document):
    """An audit: may these releases be published? Charts by release and attribute; under "" those of the release."""

    document: Literal["audit"]
    settings: AuditSettings  # type: ignore[assignment]  # the envelope leaves it open
    diagnostics: AuditDiagnostics  # type: ignore[assignment]
    charts: dict[str, dict[str, dict[str, Any]]]

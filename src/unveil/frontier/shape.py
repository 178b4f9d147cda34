"""The frontier document's shape, version 2. docs/schemas/frontier-2.json."""

from typing import Literal

from pydantic import Field

from unveil.audit.document import Document, DocumentPart, Number, Verdict
from unveil.audit.shape import Definition
from unveil.frontier.points import Status

__all__ = ["FrontierDocument"]


class FrontierSettings(DocumentPart):
    """What was asked for."""

    original: str
    schemes: list[str]
    require: list[str]
    risks: list[str]
    utilities: list[str]
    limits: list[str]
    budget: int | None
    minutes: float | None
    distance: str
    minimum_support: float
    dimension: int
    selectivity: float
    queries: int
    attackers: list[str]
    known: list[str] | None
    sample: int | None
    chains: int
    sweeps: int
    most_sweeps: int
    precision: float
    seed: int | None


class PointValue(DocumentPart):
    """The worst of a point's attributes and attackers."""

    value: Number
    low: Number
    high: Number


class PointFacts(DocumentPart):
    """One release that was tried; `scheme` is null for the two trivial ones."""

    name: str
    scheme: str | None
    with_: str | None = Field(alias="with")
    require: list[str]
    parameters: dict[str, str]
    status: Status
    reason: str
    refined: bool
    rows: int
    groups: int
    undominated: bool
    recommended: bool
    verdict: Verdict
    bounded_by: dict[str, str]
    values: dict[str, PointValue]


class Recommendation(DocumentPart):
    """What to publish, why, and what stands beside it on the frontier."""

    point: str | None
    rule: Literal["limits", "knee"]
    words: str
    safer: str | None
    more_useful: str | None


class FrontierDiagnostics(DocumentPart):
    """Points and the choice among them."""

    exit_code: Literal[0, 1, 3]
    recommendation: Recommendation
    points: list[PointFacts]
    undominated: list[str]
    people: int
    remarks: list[str]
    definitions: dict[str, Definition]


class FrontierChart(DocumentPart):
    """The two scales of the chart, and every measure that was asked for."""

    risk: str
    utility: str
    risk_higher_is_better: bool
    utility_higher_is_better: bool
    measures: list[str]


class FrontierDocument(Document):
    """A frontier: which release should be published? A finding's release is the name of its point."""

    document: Literal["frontier"]
    settings: FrontierSettings  # type: ignore[assignment]  # the envelope leaves it open
    diagnostics: FrontierDiagnostics  # type: ignore[assignment]
    charts: dict[Literal["frontier"], FrontierChart]  # type: ignore[assignment]

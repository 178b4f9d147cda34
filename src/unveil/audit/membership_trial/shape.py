"""The membership document's shape, version 2. docs/schemas/membership-2.json."""

from typing import Literal

from unveil.audit.document import Document, DocumentPart, Verdict

__all__ = ["MembershipDocument"]


class MembershipSettings(DocumentPart):
    """What was asked for."""

    subject: Literal["release", "scheme", "model", "predictions"]
    name: str
    known: list[str]
    shadows: int
    seed: int
    limits: list[str]


class MembershipDiagnostics(DocumentPart):
    """How it went."""

    verdict: Verdict
    exit_code: Literal[0, 1, 3]
    members: int
    others: int
    scores: dict[str, str]  # score -> what it is
    sentences: list[str]
    remarks: list[str]


class Curves(DocumentPart):
    """The share of members found, at fixed shares of others accused."""

    false_positive: list[float]
    true_positive: dict[str, list[float]]


class MembershipCharts(DocumentPart):
    """Shares, never one entry a person."""

    roc: Curves


class MembershipDocument(Document):
    """What unveil attack membership --json writes."""

    document: Literal["membership"]
    settings: MembershipSettings  # type: ignore[assignment]
    diagnostics: MembershipDiagnostics  # type: ignore[assignment]
    charts: MembershipCharts  # type: ignore[assignment]

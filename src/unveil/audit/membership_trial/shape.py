"""The membership document's shape, version 2. docs/schemas/membership-2.json."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from unveil.audit.document import Document, Verdict

__all__ = ["MembershipDocument"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MembershipSettings(_Part):
    """What was asked for."""

    subject: Literal["release", "scheme", "model", "predictions"]
    name: str
    known: list[str]
    shadows: int
    seed: int
    limits: list[str]


class MembershipDiagnostics(_Part):
    """How it went."""

    verdict: Verdict
    exit_code: Literal[0, 1, 3]
    members: int
    others: int
    scores: dict[str, str]  # score -> what it is
    sentences: list[str]
    remarks: list[str]


class Curves(_Part):
    """The share of members found, at fixed shares of others accused."""

    false_positive: list[float]
    true_positive: dict[str, list[float]]


class MembershipCharts(_Part):
    """Shares, never one entry a person."""

    roc: Curves


class MembershipDocument(Document):
    """What unveil membership --json writes."""

    document: Literal["membership"]
    settings: MembershipSettings  # type: ignore[assignment]
    diagnostics: MembershipDiagnostics  # type: ignore[assignment]
    charts: MembershipCharts  # type: ignore[assignment]

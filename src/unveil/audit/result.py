"""What the results of runs with limits have in common: an audit, a link, a trial, a disclosure."""

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.audit.diagnosis import describe_audit_run
from unveil.audit.document import Document, Finding, Input, Verdict
from unveil.audit.limits import worst

__all__ = ["EXIT_CODES", "RunResult", "judged_document"]

EXIT_CODES: dict[Verdict, int] = {"no limit": 0, "within": 0, "exceeded": 1, "inconclusive": 3}


class RunResult:
    """A result whose document says how it stands to the limits."""

    __slots__ = ()
    document: Document

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all findings."""
        return self.document.diagnostics["verdict"]  # type: ignore[no-any-return]

    @property
    def exit_code(self) -> int:
        """0 within limits or none given, 1 exceeded, 3 inconclusive."""
        return int(self.document.diagnostics["exit_code"])


def judged_document(
    kind: Any,
    findings: Sequence[Finding],
    *,
    settings: Mapping[str, Any],
    seed: int | None,
    limits: Sequence[str],
    diagnostics: Mapping[str, Any],
    charts: dict[str, Any],
    inputs: Sequence[Input],
    started: float,
    verdict: Verdict | None = None,
) -> Document:
    """The document of a run whose findings are judged; `verdict`: the worst of theirs if not given."""
    verdict = worst(f.verdict for f in findings) if verdict is None else verdict
    return Document(
        document=kind,
        settings={**settings, "seed": seed, "limits": list(limits)},
        inputs=tuple(inputs),
        run=describe_audit_run(started),
        findings=tuple(findings),
        diagnostics={"verdict": verdict, "exit_code": EXIT_CODES[verdict], **diagnostics},
        charts=charts,
    )

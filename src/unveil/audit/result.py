"""What the results of runs have in common: a document, its card in a notebook, and how it stands to limits."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from unveil.audit.diagnosis import describe_audit_run
from unveil.audit.document import Document, Finding, Input, Verdict
from unveil.audit.limits import worst

__all__ = ["EXIT_CODES", "Documented", "RunResult", "judged_document"]

EXIT_CODES: dict[Verdict, int] = {"no limit": 0, "within": 0, "exceeded": 1, "inconclusive": 3}


class Documented:
    """A result that shows itself by a card of its document; a dataclass among its subclasses is made without `repr`."""

    __slots__ = ()
    document: Document

    def to_dict(self) -> dict[str, Any]:
        """The document as plain data."""
        return self.document.model_dump(mode="json")

    def _repr_html_(self) -> str:
        # By name: the report stands above and reads the document only.
        return str(importlib.import_module("unveil.report").render_card(self.document))

    def __repr__(self) -> str:
        return str(importlib.import_module("unveil.report").card_text(self.document))


class RunResult(Documented):
    """A result whose document says how it stands to the limits."""

    __slots__ = ()

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

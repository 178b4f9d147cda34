"""What every report of one run begins with: the document it is made from, and its verdict."""

from typing import Any

from pydantic import ValidationError

from unveil.audit.document import Document
from unveil.errors import UsageError
from unveil.report.wording import VERDICTS

__all__ = ["SIGNS", "banner", "read_document", "terminal_verdict"]

SIGNS = {"within": "✓", "exceeded": "✗", "inconclusive": "?", "no limit": "–"}
_TERMINAL = {
    "within": ("green", "WITHIN the stated limits"),
    "exceeded": ("bold red", "A LIMIT IS EXCEEDED"),
    "inconclusive": ("yellow", "INCONCLUSIVE: not a pass"),
    "no limit": ("bold", "no limit was stated, so there is no verdict"),
}


def read_document(document: Document | dict[str, Any], kind: str) -> Document:
    """A document of this kind, or a clear refusal; its kind is the command that makes it."""
    try:
        read = document if isinstance(document, Document) else Document.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"no {kind} document: {place}: {first['msg']}; give what unveil {kind} --json wrote") from None
    if read.document != kind:
        article = "an" if kind[0] in "aeiou" else "a"
        raise UsageError(f"this report is made from {article} {kind} document, not from a document of {read.document}")
    return read


def banner(verdict: str) -> dict[str, str]:
    """The head of a page."""
    return {"key": verdict.replace(" ", "-"), "sign": SIGNS[verdict], "text": VERDICTS[verdict]}


def terminal_verdict(verdict: str) -> str:
    """The first line on the terminal, in Rich's markup."""
    style, words = _TERMINAL[verdict]
    return f"[{style}]{words}[/]"

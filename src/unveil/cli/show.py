"""A document on the terminal and as a page, by what kind it is."""

from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["print_document", "render_page"]

# By kind of document: the module and name of its page, and of its printer.
_FACES = {
    "audit": (("html", "render_html"), ("audit_terminal", "print_audit")),
    "check": (None, ("terminal", "print_check")),
    "differential": (("differential", "render_differential"), ("differential_terminal", "print_differential")),
    "disclosure": (("disclosure", "render_disclosure"), ("disclosure", "print_disclosure")),
    "frontier": (("frontier_html", "render_frontier"), ("frontier_terminal", "print_frontier")),
    "link": (("link", "render_link"), ("link_terminal", "print_link")),
    "membership": (("inference", "render_membership"), ("inference", "print_membership")),
}


def print_document(document: Any, console: Any, *, verbose: bool, report: Path | None) -> None:
    """What was found, on one screen, or all of it."""
    module, name = _FACES[document.document][1]
    getattr(import_module(f"unveil.report.{module}"), name)(document, console)


def render_page(document: Any) -> str:
    """The report, one HTML page."""
    page = _FACES[document.document][0]
    assert page is not None
    return str(getattr(import_module(f"unveil.report.{page[0]}"), page[1])(document))

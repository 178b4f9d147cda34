"""The audit report: one HTML file that needs no network, made from an audit document alone."""

from typing import Any

from unveil.audit.document import Document
from unveil.report.analyst import analyst_part
from unveil.report.combinations import combinations_grid
from unveil.report.masked import identity_figures, masked_figures, masked_grid, worth_grid
from unveil.report.officer import names_of, officer_page
from unveil.report.page import render_page
from unveil.report.verdicts import read_document

__all__ = ["render_html"]


def render_html(document: Document | dict[str, Any]) -> str:
    """The report of an audit document, as one page. The same document gives the same page."""
    read = read_document(document, "audit")
    names = names_of(read)
    return render_page(
        "report.html.j2",
        officer=officer_page(read, names),
        analyst=analyst_part(read, names),
        masked={
            "grid": masked_grid(read, names),
            "figures": masked_figures(read, names),
            "worth": worth_grid(read, names),
            "identity": identity_figures(read, names),
        },
        names=names,
        combinations=combinations_grid(read, names),
    )

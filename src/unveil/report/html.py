"""The audit report: one HTML file that needs no network, made from an audit document alone."""

from typing import Any

from pydantic import ValidationError

from unveil.document import Document
from unveil.errors import UsageError
from unveil.report.analyst import analyst_part
from unveil.report.combinations import combinations_grid
from unveil.report.masked import identity_figures, masked_figures, masked_grid, worth_grid
from unveil.report.officer import names_of, officer_page
from unveil.report.page import render_page

__all__ = ["render_html"]


def render_html(document: Document | dict[str, Any]) -> str:
    """The report of an audit document, as one page. The same document gives the same page."""
    read = _read(document)
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


def _read(document: Document | dict[str, Any]) -> Document:
    try:
        read = document if isinstance(document, Document) else Document.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"no audit document: {place}: {first['msg']}; give what unveil audit --json wrote") from None
    if read.document != "audit":
        raise UsageError(f"a report is made from an audit document, not from a document of {read.document}")
    return read

"""Documents as a page or on a terminal: a document's sections become blocks, which both draw."""

from unveil.report.card import card_text, render_card
from unveil.report.gate import junit, sarif
from unveil.report.page import chart_library, render_page, render_sections, style_sheet
from unveil.report.reading import read_document
from unveil.report.terminal import print_blocks, print_document

__all__ = [
    "card_text", "chart_library", "junit", "print_blocks", "print_document", "read_document", "render_card",
    "render_page", "render_sections", "sarif", "style_sheet",
]  # fmt: skip

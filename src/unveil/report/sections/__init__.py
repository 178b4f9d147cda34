"""One function a kind of section: from a document to blocks, or to none where the document does not hold it."""

from unveil.audit.document import Document
from unveil.report.blocks import Block, Heading
from unveil.report.reading import Names
from unveil.report.sections.attack import attack
from unveil.report.sections.background import background, knowledge
from unveil.report.sections.combinations import combinations
from unveil.report.sections.common import every_finding, head, limits, method, not_tested, provenance, sentences
from unveil.report.sections.composition import composition
from unveil.report.sections.differential import differential
from unveil.report.sections.disclosure import disclosure, masked
from unveil.report.sections.frontier import frontier
from unveil.report.sections.kinds import kinds
from unveil.report.sections.linkage import linkage, uniqueness
from unveil.report.sections.membership import membership, membership_charts, scores
from unveil.report.sections.panel import panel
from unveil.report.sections.readers import calibrated, comparison, overlays, places, three_risks, who
from unveil.report.sections.releases import levels, readings, recognised, sizes, utility

__all__ = ["blocks_of"]

# For the officer: what was found.
FIRST = (
    *(head, kinds, sentences, frontier, limits, three_risks, who, recognised, utility, masked, linkage, uniqueness),
    *(
        composition,
        membership,
        scores,
        attack,
        disclosure,
        differential,
        knowledge,
        calibrated,
        panel,
        comparison,
        not_tested,
        method,
        provenance,
        combinations,
    ),
)
# For the analyst: how it came about.
SECOND = (overlays, places, background, sizes, membership_charts, levels, readings, every_finding)


def blocks_of(document: Document, names: Names) -> list[Block]:
    """The whole report, in its order."""
    second = [block for section in SECOND for block in section(document, names)]
    parted = [Heading("For the analyst", level=1)] if document.document == "audit" and second else []
    return [*(block for section in FIRST for block in section(document, names)), *parted, *second]

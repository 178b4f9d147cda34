"""A differential test on a terminal: the worst case beside the average case, and who failed."""

from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unveil.audit.document import Document, Finding
from unveil.audit.numbers import spoken
from unveil.report.differential import ENDED
from unveil.report.verdicts import terminal_verdict
from unveil.report.wording import clean

__all__ = ["print_differential"]

MOST_FAILURES = 10
HEADINGS = {
    "delta": "delta",
    "distance.mean": "mean",
    "distance.median": "median",
    "distance.q95": "95%",
    "distance.q99": "99%",
    "membership_auc": "AUC",
    "membership_auc.paired": "paired",
    "delta.after_removal": "after removal",
    "removed": "removed",
}


def print_differential(document: Document, console: Console) -> None:
    """The same figures and sentences as the report; of people row numbers alone."""
    facts, settings = document.diagnostics, document.settings
    console.print(terminal_verdict(facts["verdict"]))
    console.print(escape(clean(f"{settings['attribute']} by {settings['model']}, {settings['distance']} distance")))
    for test in facts["tests"]:
        console.print(escape(clean(f"{test['name']} ({test['path']}): {test['sentence']}")))
    console.print(_measures(document))
    for removal in facts["removals"]:
        path = " → ".join(spoken(r["delta"], "distance") for r in removal["rounds"])
        removed = len(removal["rows"])
        console.print(
            escape(
                clean(
                    f"{removal['sanitizer']}, outliers removed until {removal['until']:g}: {ENDED[removal['ended']]}; "
                    f"delta {path}; {removed:,} record{'s' if removed != 1 else ''} removed"
                )
            )
        )
    for failure in facts["failures"][:MOST_FAILURES]:
        console.print(escape(clean(f"{failure['sanitizer']}, without row {failure['row']}: {failure['message']}")))
    if len(facts["failures"]) > MOST_FAILURES:
        console.print(f"and {len(facts['failures']) - MOST_FAILURES:,} more failures; --json has them all")
    for remark in facts["remarks"]:
        console.print(escape(clean(remark)))


def _measures(document: Document) -> Table:
    """One row a sanitizer."""
    tests: list[dict[str, Any]] = document.diagnostics["tests"]
    found = {(f.release, f.id): f for f in document.findings}
    shown = [id for id in HEADINGS if any((test["name"], id) in found for test in tests)]
    noisy = any(test["noise_floor"] is not None for test in tests)
    table = Table(title="Worst case and average case", title_justify="left", box=SIMPLE, pad_edge=False)
    table.add_column("sanitizer", overflow="fold", min_width=min(max(len(clean(t["name"])) for t in tests), 40))
    for heading in [*(HEADINGS[id] for id in shown), *(["noise floor"] if noisy else []), "records", "worst row"]:
        table.add_column(heading, justify="right", overflow="fold")
    for test in tests:
        cells = [_text(found.get((test["name"], id))) for id in shown]
        cells += [spoken(test["noise_floor"], "distance")] if noisy else []
        cells += [f"{test['tested']:,}", "" if test["worst_row"] is None else f"{test['worst_row']:,}"]
        table.add_row(escape(clean(test["name"])), *map(escape, cells))
    return table


def _text(finding: Finding | None) -> str:
    if finding is None:
        return ""
    text = spoken(finding.value, "distance")
    if finding.low != finding.high and finding.high == "inf":
        text = f"≥ {text}"
    elif finding.low != finding.high and not finding.id.startswith("membership"):
        text += f" ({spoken(finding.low, 'distance')} – {spoken(finding.high, 'distance')})"
    return f"✗ {text}" if finding.verdict == "exceeded" else text

"""What is held beforehand, on a terminal."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unveil.audit.document import Document

__all__ = ["print_knowledge"]

_MEANING = {
    "prior_truth": "mean probability of the true value",
    "prior_accuracy": "people whose value would be guessed right",
    "rules": "negative rules",
    "worst_case_risk": "largest change of a belief by the release (Jensen-Shannon)",
    "vulnerable_beyond": "people whose belief changes by more than that",
    "vulnerable_fewer": "people with fewer possible values than that",
}


def print_knowledge(document: Document, console: Console, *, top: int) -> None:
    """Findings, then the rules with their evidence."""
    facts = document.diagnostics
    for name in dict.fromkeys(f.release for f in document.findings):
        table = Table(title=escape(f"{name}: {facts['source']}"), title_justify="left")
        table.add_column("measure")
        table.add_column("")
        table.add_column("found", justify="right")
        table.add_column("overall distribution alone", justify="right")
        for finding in document.findings:
            if finding.release == name:
                kind, of = finding.measure, finding.statistic or ""
                what = _MEANING.get(kind, f"people with {of.replace('_', ' ')} impossible values")
                baseline = "" if finding.baseline is None else f"{finding.baseline:.4g}"
                table.add_row(escape(finding.id), escape(what), f"{finding.value:.4g}", baseline)
        console.print(table)
    curve = document.charts.get("worst_case_over_bandwidths", [])
    if curve:
        table = Table(title="readers who know more (small bandwidth) or less", title_justify="left")
        for name in ("bandwidth", "worst-case risk", "people beyond t"):
            table.add_column(name, justify="right")
        for point in curve:
            table.add_row(f"{point['bandwidth']:g}", f"{point['worst']:.4g}", f"{point['beyond']:,}")
        console.print(table)
    exposing = facts.get("exposing", [])
    if exposing:
        table = Table(title="which rule, if known, would expose most (some value at .5 or more)", title_justify="left")
        table.add_column("rule")
        table.add_column("newly exposed", justify="right")
        for fact in exposing[:top]:
            table.add_row(escape(fact["rule"]), f"{fact['exposed']:,}")
        console.print(table)
    rules = facts.get("rules", [])
    if rules:
        table = Table(title=f"the {min(top, len(rules))} rules of {len(rules)} with most people", title_justify="left")
        table.add_column("rule")
        for name in ("people", "expectation", "confidence"):
            table.add_column(name, justify="right")
        for rule in rules[:top]:
            measured = (rule[key] for key in ("people", "expectation", "confidence"))
            table.add_row(escape(rule["rule"]), *(f"{value:.4g}" for value in measured))
        console.print(table)
    if facts.get("omega"):
        console.print("Some groups are too large for exact beliefs: the Omega-estimate stands for them.")

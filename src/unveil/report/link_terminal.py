"""A link on a terminal: what is linked and how surely, and who is alone."""

from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unveil.audit.document import Document
from unveil.audit.numbers import share, spoken
from unveil.report.link import ESTIMATOR_NAMES, LINK_SHARES, READER_NAMES, range_of
from unveil.report.verdicts import terminal_verdict
from unveil.report.wording import clean

__all__ = ["print_link"]


def print_link(document: Document, console: Console) -> None:
    """The same figures and sentences as the report; nothing of a single person."""
    facts = document.diagnostics
    console.print(terminal_verdict(facts["verdict"]))
    for text in facts["sentences"]:
        console.print(escape(clean(text)))
    console.print(_links(document))
    refused: dict[str, list[str]] = {}
    for reader in facts["readers"]:
        if not reader["applicable"]:
            refused.setdefault(reader["reason"], []).append(READER_NAMES[reader["reader"]])
    for reason, names in refused.items():
        console.print(escape(clean(f"Not run ({'; '.join(names)}): {reason}.")))
    for reader in facts["readers"]:
        if reader["pairs"]:
            console.print(escape(clean(_pairs(reader))))
    if facts["uniqueness"] is not None:
        if facts["uniqueness"]["estimators"]:
            console.print(_alone(facts["uniqueness"]))
        minimal = facts["uniqueness"]["minimal_uniques"]
        if minimal is not None:
            sizes = ", ".join(f"{n:,} of {k}" for k, n in enumerate(minimal["by_size"], start=1))
            console.print(
                f"Minimal sample uniques of up to {minimal['largest']} attributes: {minimal['rows']:,} people have one "
                f"({sizes}). Matched with a population of which {share(minimal.get('fraction', 0.01))} are sampled, "
                f"who is alone here is found in {share(minimal.get('intrusion', 0.0))} of cases (DIS), the riskiest "
                f"person in {share(minimal.get('largest_risk', 0.0))} (DIS-SUDA)."
            )
    if document.charts["known"]["points"]:
        console.print(_known(document.charts["known"]))
    for finding in document.findings:
        if finding.limit is not None:
            console.print(escape(clean(f"{finding.limit}: {finding.verdict}")))
    for remark in facts["remarks"]:
        console.print(escape(clean(remark)))


def _links(document: Document) -> Table:
    found = {f.id: f for f in document.findings}
    table = Table(title="Links", title_justify="left", box=SIMPLE, pad_edge=False)
    for heading in ("", *LINK_SHARES.values()):
        table.add_column(heading, justify="right" if heading else "left", overflow="fold")
    for reader in document.diagnostics["readers"]:
        name = reader["reader"]
        if not reader["applicable"]:
            continue
        cells = []
        for measure in LINK_SHARES:
            finding = found[f"{name}.{measure}"]
            text = "unknown" if finding.value is None else share(float(finding.value))
            cells.append(f"✗ {text}" if finding.verdict == "exceeded" else text)
        table.add_row(READER_NAMES[name], *cells)
    return table


def _pairs(reader: dict[str, Any]) -> str:
    pairs = reader["pairs"]
    words = []
    for key, name in (("link", "links"), ("clerical", "to a clerk"), ("no_link", "no links")):
        true = f", {pairs[f'true_{key}']:,} of them true" if f"true_{key}" in pairs else ""
        words.append(f"{pairs[key]:,} {name}{true}")
    return f"Pairs, {READER_NAMES[reader['reader']]}: {'; '.join(words)}."


def _alone(facts: dict[str, Any]) -> Table:
    table = Table(title="Alone in the population", title_justify="left", box=SIMPLE, pad_edge=False)
    for heading in ("", "of those alone here", "right links expected", "largest 1/F", "mean 1/F"):
        table.add_column(heading, justify="right" if heading else "left")
    for one in facts["estimators"]:
        unique = "unknown" if one["population_unique"] is None else share(one["population_unique"])
        unique += _range(one, "population_unique")
        keys = ("expected_links", "largest_risk", "mean_risk")
        numbers = [spoken(one[key], "") + _range(one, key) for key in keys]
        table.add_row(ESTIMATOR_NAMES[one["estimator"]], unique, *numbers)
    return table


def _range(one: dict[str, Any], key: str) -> str:
    words = range_of(one, key)
    return f" ({words})" if words else ""


def _known(chart: dict[str, Any]) -> Table:
    title = f"Linked rightly by what is known, of {chart['people']:,} people"
    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False)
    for heading in ("attributes", "sets", "mean", "most", "by"):
        table.add_column(heading, justify="left" if heading == "by" else "right", overflow="fold")
    for point in chart["points"]:
        shares = ["unknown" if point[key] is None else share(point[key]) for key in ("mean", "most")]
        table.add_row(str(point["known"]), str(point["sets"]), *shares, escape(clean(", ".join(point["most_by"]))))
    return table

"""The report of attribute disclosure: risk by p, guesses by the number of inputs; on the terminal and as a page."""

from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unveil.audit.document import Document, Finding
from unveil.audit.numbers import share, spoken
from unveil.report.chart_parts import WIDTH, Chart, axis, looks_of, tip
from unveil.report.masked import by_percentage
from unveil.report.officer import Cell, Grid
from unveil.report.page import render_page
from unveil.report.verdicts import SIGNS, banner, read_document, terminal_verdict
from unveil.report.wording import clean, label

__all__ = ["inputs_chart", "print_disclosure", "render_disclosure"]

NAMES = {
    "rank_interval_disclosure": "near by rank, % of the ranks",
    "deviation_interval_disclosure": "near by value, % of a deviation",
    "simple_disclosure": "published as it is",
    "model_disclosure": "guessed right by a model",
    "model_gain": "… because the own row was learned from",
    "absent_disclosure": "a fact told as the true row would",
}


def print_disclosure(document: Document, console: Console) -> None:
    """The same figures and sentences as the report."""
    facts = document.diagnostics
    console.print(terminal_verdict(facts["verdict"]))
    for text in facts["sentences"]:
        console.print(escape(clean(text)))
    title = f"Of {facts['rows']:,} published people"
    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False)
    for heading in ("", "of", "people", "baseline"):
        table.add_column(heading, justify="right" if heading in ("people", "baseline") else "left", overflow="fold")
    for finding in document.findings:
        table.add_row(*(escape(clean(text)) for text in _row(finding)))
    console.print(table)
    for finding in document.findings:
        if finding.limit is not None:
            of = "" if finding.attribute is None else f" ({finding.attribute})"
            console.print(escape(clean(f"{finding.limit}{of}: {finding.verdict}")))
    for attribute, points in document.charts["by_inputs"].items():
        words = "; ".join(f"{len(point['inputs'])}: {', '.join(point['inputs'])}" for point in points)
        console.print(escape(clean(f"Inputs from which {attribute} is guessed best, one added to the other: {words}.")))
    for remark in facts["remarks"]:
        console.print(escape(clean(remark)))


def render_disclosure(document: Document | dict[str, Any]) -> str:
    """One page. The same document gives the same page."""
    read = read_document(document, "disclosure")
    facts, settings = read.diagnostics, read.settings
    limits = [
        (Cell(f.id), Cell(f.attribute or ""), Cell(str(f.limit)), Cell(_row(f)[2], kind="num"), Cell(_verdict(f)))
        for f in read.findings
        if f.limit is not None
    ]
    rows = []
    for finding in read.findings:
        words, of, value, base = _row(finding)
        rows.append((Cell(words), Cell(of), Cell(value, _interval(finding), "num"), Cell(base, kind="num")))
    charts = [
        by_percentage(attribute, measure, {label(settings["release"]): points})
        for attribute, measures in read.charts["by_percentage"].items()
        for measure, points in measures.items()
        if any(point["p"] > 0 for point in points)
    ]
    charts += [inputs_chart(attribute, points) for attribute, points in read.charts["by_inputs"].items()]
    head = (Cell("Measure"), Cell("Of"), Cell("People", kind="num"), Cell("Baseline", kind="num"))
    return render_page(
        "disclosure.html.j2",
        verdict=banner(facts["verdict"]),
        title=label(settings["release"]),
        about=[
            ("Release", label(settings["release"])),
            ("Rows published", f"{facts['rows']:,}"),
            ("Perturbed", label(", ".join(facts["perturbed"])) or "nothing"),
            ("Model", label(settings["model"])),
            ("Absent fact of", settings["fact"] or "none given"),
        ],
        sentences=facts["sentences"],
        limits=Grid((*map(Cell, ("Finding", "Of", "Limit")), Cell("Value", kind="num"), Cell("Verdict")), tuple(limits))
        if limits
        else None,
        found=Grid(head, tuple(rows), fixed=2),
        charts=charts,
        remarks=facts["remarks"],
    )


def inputs_chart(attribute: str, points: list[dict[str, Any]]) -> Chart:
    """Guesses from one input, two, …: a good guess from few is the alarm."""
    lines = ["with the person's row", "without it: the baseline"]
    values = []
    for point in points:
        number = len(point["inputs"])
        values += [
            {"s": lines[0], "x": number, "y": point["share"]},
            {"s": lines[1], "x": number, "y": point["baseline"]},
        ]
    place = {
        "x": {"field": "x", "type": "ordinal", "title": "attributes known", "axis": {"labelAngle": 0}},
        "y": axis("y", "guessed right", domain=[0, 1], form="%"),
        **looks_of(lines, {}),
        "tooltip": [tip("s", ""), tip("x", "attributes"), tip("y", "people", ".1%")],
    }
    title = f"Guesses by what is known: {label(attribute)}"
    return Chart(
        title=title,
        caption="Inputs are added best first. A good guess from few attributes is the alarm.",
        spec={
            "description": title,
            "width": WIDTH,
            "height": 220,
            "data": {"values": values},
            "mark": {"type": "line", "point": True, "strokeWidth": 1.5},
            "encoding": place,
        },
        head=("attributes known", "which", "people", "baseline"),
        rows=tuple(
            (str(len(p["inputs"])), label(", ".join(p["inputs"])), share(p["share"]), share(p["baseline"]))
            for p in points
        ),
    )


def _row(finding: Finding) -> tuple[str, str, str, str]:
    measure, statistic = finding.measure, finding.statistic or ""
    words = NAMES[measure]
    if statistic.startswith("inputs:"):
        words = f"… from {statistic[7:]}"
    elif statistic:
        words += f": {statistic}"
    base = "" if finding.baseline is None else spoken(finding.baseline, measure)
    return words, finding.attribute or "", spoken(finding.value, measure), base


def _interval(finding: Finding) -> str:
    if finding.low == finding.high:
        return ""
    measure = finding.measure
    return f"{spoken(finding.low, measure)} to {spoken(finding.high, measure)}"


def _verdict(finding: Finding) -> str:
    return f"{SIGNS[finding.verdict]} {finding.verdict}"

"""The report of a membership trial: how well each score tells members from others; on the terminal and as a page."""

from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unveil.audit.document import Document, Finding
from unveil.audit.numbers import share
from unveil.report.chart_parts import WIDTH, Chart, axis, line, looks_of, tip
from unveil.report.officer import Cell, Grid
from unveil.report.page import render_page
from unveil.report.verdicts import SIGNS, banner, read_document, terminal_verdict
from unveil.report.wording import clean, label

__all__ = ["print_membership", "render_membership", "roc_chart"]

HEADS = {
    "membership_auc": "AUC",
    "membership_tpr.1_in_100": "found, 1 in 100 others accused",
    "membership_tpr.1_in_1000": "found, 1 in 1,000",
}
SUBJECTS = {
    "release": "a release",
    "scheme": "a release, its scheme known",
    "model": "a model",
    "predictions": "a model",
}


def print_membership(document: Document, console: Console) -> None:
    """The same figures and sentences as the report; nothing of a single person."""
    facts = document.diagnostics
    console.print(terminal_verdict(facts["verdict"]))
    for text in facts["sentences"]:
        console.print(escape(clean(text)))
    found = {f.id: f for f in document.findings}
    title = f"{facts['members']:,} members told from {facts['others']:,} others"
    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False)
    for heading in ("", *HEADS.values()):
        table.add_column(heading, justify="right" if heading else "left", overflow="fold")
    for name in facts["scores"]:
        cells = [_spoken(found[f"{name}.{measure}"]) for measure in HEADS]
        table.add_row(name, *cells)
    console.print(table)
    for name, words in facts["scores"].items():
        console.print(escape(clean(f"{name}: {words}.")))
    for finding in document.findings:
        if finding.limit is not None:
            console.print(escape(clean(f"{finding.id}, {finding.limit}: {finding.verdict}")))
    for remark in facts["remarks"]:
        console.print(escape(clean(remark)))


def render_membership(document: Document | dict[str, Any]) -> str:
    """One page. The same document gives the same page."""
    read = read_document(document, "membership")
    facts, settings = read.diagnostics, read.settings
    found = {f.id: f for f in read.findings}
    rows = [
        (Cell(name, words), *(_cell(found[f"{name}.{measure}"]) for measure in HEADS))
        for name, words in facts["scores"].items()
    ]
    limits = [
        (Cell(f.id), Cell(str(f.limit)), Cell(_spoken(f), kind="num"), Cell(f"{SIGNS[f.verdict]} {f.verdict}"))
        for f in read.findings
        if f.limit is not None
    ]
    return render_page(
        "membership.html.j2",
        verdict=banner(facts["verdict"]),
        title=label(settings["name"]),
        about=[
            ("Attacked", SUBJECTS[settings["subject"]]),
            ("Which is", label(settings["name"])),
            ("Members", f"{facts['members']:,}"),
            ("Others", f"{facts['others']:,}"),
            ("Known of them", label(", ".join(settings["known"])) or "the answers of the model"),
            ("Shadows", f"{settings['shadows']:,}"),
        ],
        sentences=facts["sentences"],
        limits=Grid(tuple(map(Cell, ("Finding", "Limit", "Value", "Verdict"))), tuple(limits)) if limits else None,
        scores=Grid((Cell("Score"), *(Cell(words, kind="num") for words in HEADS.values())), tuple(rows)),
        charts=[roc_chart(read.charts["roc"])],
        remarks=facts["remarks"],
    )


def roc_chart(curves: dict[str, Any]) -> Chart:
    """Members found against others accused, both logarithmic, for the left end is what matters."""
    at, names = curves["false_positive"], list(curves["true_positive"])
    least = min(x for x in at if x > 0)
    values = [
        {"s": name, "x": x, "y": max(y, least)}
        for name in names
        for x, y in zip(at, curves["true_positive"][name], strict=True)
        if x > 0
    ]
    ticks = [0.001, 0.01, 0.1, 1.0]
    scale = {"type": "log", "domain": [least, 1], "nice": False}
    place = {
        "x": {**axis("x", "others accused", domain=[least, 1], form="~%", values=ticks), "scale": scale},
        "y": {**axis("y", "members found", domain=[least, 1], form="~%", values=ticks), "scale": scale},
        **looks_of(names, {"symbolType": "stroke"}),
        "tooltip": [tip("s", "score"), tip("x", "others accused", ".1%"), tip("y", "found", ".1%")],
    }
    coin = line((least, least, 1, 1), [4, 4])
    rows = tuple(
        (share(x), *(share(curves["true_positive"][name][i]) for name in names)) for i, x in enumerate(at) if x in ticks
    )
    return Chart(
        "Members told from others",
        "The dashed line is a coin. Both scales are logarithmic: what counts is who is found while hardly anybody is "
        "accused wrongly.",
        {
            "description": "Members found against others accused, by score.",
            "width": WIDTH,
            "height": 260,
            "layer": [coin, {"data": {"values": values}, "mark": {"type": "line"}, "encoding": place}],
        },
        ("others accused", *names),
        rows,
    )


def _spoken(finding: Finding) -> str:
    if finding.value is None or finding.low is None or finding.high is None:
        return "unknown"
    numbers = [float(v) for v in (finding.value, finding.low, finding.high)]
    if "auc" in finding.id:
        return f"{numbers[0]:.3f} ({numbers[1]:.3f}–{numbers[2]:.3f})"
    return f"{share(numbers[0])} ({share(numbers[1])}–{share(numbers[2])})"


def _cell(finding: Finding) -> Cell:
    value, _, ends = _spoken(finding).partition(" ")
    return Cell(value, ends, "num")

"""The frontier's report: one HTML file that needs no network, made from a frontier document alone."""

from collections.abc import Mapping
from typing import Any

from unveil.audit.document import Document
from unveil.audit.measures import parse_ids
from unveil.audit.numbers import interval
from unveil.report.frontier_chart import frontier_chart, measure_title, value_text
from unveil.report.officer import Cell, Grid
from unveil.report.page import render_page
from unveil.report.verdicts import read_document
from unveil.report.wording import label

__all__ = ["render_frontier"]

_BANNER = {0: ("within", "✓"), 1: ("exceeded", "✕"), 3: ("inconclusive", "?")}
_STATUS = {
    "measured": "",
    "unsure": "not converged",
    "infeasible": "cannot be met",
    "not applicable": "not applicable",
}
_VERDICT = {"within": "within", "exceeded": "exceeded", "inconclusive": "inconclusive", "no limit": ""}


def render_frontier(document: Document | dict[str, Any]) -> str:
    """The report of a frontier document, as one page. The same document gives the same page."""
    read = read_document(document, "frontier")
    facts, settings = read.diagnostics, read.settings
    return render_page(
        "frontier.html.j2",
        banner=_banner(facts),
        about=_about(read),
        chart=frontier_chart(read),
        beside=_beside(facts),
        points=_points(read),
        failed=[(label(p["name"]), p["reason"]) for p in facts["points"] if p["reason"]],
        remarks=facts["remarks"],
        definitions=[(name, d["words"], d["source"], d["page"]) for name, d in facts["definitions"].items()],
        settings=[(name, _setting(value)) for name, value in settings.items()],
        inputs=[(i.name, i.sha256) for i in read.inputs],
    )


def _banner(facts: Mapping[str, Any]) -> dict[str, str]:
    chosen = facts["recommendation"]
    key, sign = _BANNER[facts["exit_code"]]
    if chosen["point"] is not None and chosen["rule"] == "knee":
        key, sign = "no-limit", "–"
    text = "Nothing to recommend" if chosen["point"] is None else f"Publish {label(chosen['point'])}"
    if chosen["point"] is not None and chosen["rule"] == "knee":
        text = f"A fair trade: {label(chosen['point'])}"
    return {"key": key, "sign": sign, "text": text, "words": chosen["words"]}


def _about(document: Document) -> list[tuple[str, str]]:
    points = document.diagnostics["points"]
    tried = [p for p in points if p["scheme"] is not None]
    return [
        ("Original", label(document.settings["original"])),
        ("People", f"{document.diagnostics['people']:,}"),
        ("Releases tried", f"{len(tried):,}"),
        ("of them by refinement", f"{sum(p['refined'] for p in tried):,}"),
        ("Undominated", f"{len(document.diagnostics['undominated']):,}"),
        ("Limits", "; ".join(document.settings["limits"]) or "none stated"),
        ("Date", document.run.date[:10]),
    ]


def _beside(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The chosen point's neighbours on the frontier, in words."""
    chosen = facts["recommendation"]
    words = (("safer", "The next safer one"), ("more_useful", "The next more useful one"))
    return [(text, label(chosen[key])) for key, text in words if chosen[key] is not None]


def _points(document: Document) -> Grid:
    measures = document.charts["frontier"]["measures"]
    chosen = document.diagnostics["recommendation"]
    role = {chosen["safer"]: "next safer", chosen["more_useful"]: "next more useful", chosen["point"]: "recommended"}
    limited = bool(document.settings["limits"])
    head = [
        Cell("Release"),
        Cell(""),
        *map(_head, measures),
        Cell("Groups", "", "num"),
    ]
    rows = []
    for point in sorted(document.diagnostics["points"], key=lambda p: _order(p, document.charts["frontier"])):
        words = [role.get(point["name"], ""), "undominated" if point["undominated"] else "", _STATUS[point["status"]]]
        bounded = ", ".join(measure_title(id).lower() for id in point["bounded_by"])
        cells = [
            Cell(label(point["name"]), f"its requirement bounds: {label(bounded)}" if bounded else "", "code"),
            Cell(", ".join(w for w in words if w)),
        ]
        for id in measures:
            value = point["values"][id]
            part = parse_ids(id)[0]
            if value["value"] is None:
                cells.append(Cell("–", "", "num"))
            else:
                ends = interval(value["low"], value["high"], part.measure, part.statistic)
                cells.append(Cell(value_text(value, id), ends, "num"))
        cells.append(Cell(f"{point['groups']:,}" if point["groups"] else "–", "", "num"))
        if limited:
            key = point["verdict"].replace(" ", "-")
            cells.append(Cell(_VERDICT[point["verdict"]], "", f"verdict {key}"))
        rows.append(tuple(cells))
    return Grid((*head, *([Cell("Limits")] if limited else [])), tuple(rows), kind="tight points")


def _head(id: str) -> Cell:
    title = measure_title(id)
    return Cell(title, "" if title == id else label(id), "num")


def _order(point: Mapping[str, Any], chart: Mapping[str, Any]) -> tuple[int, float]:
    """Recommended first, then by risk; what has no number last."""
    value, sign = point["values"][chart["risk"]]["value"], -1 if chart["risk_higher_is_better"] else 1
    if point["recommended"]:
        return (0, 0.0)
    return (1, sign * float(value)) if isinstance(value, int | float) else (2, 0.0)


def _setting(value: Any) -> str:
    if value is None or value == []:
        return "–"
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)

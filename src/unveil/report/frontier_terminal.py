"""A frontier on a terminal: what is recommended, and every release that was tried, by growing risk."""

import re
from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unveil.audit.document import Document

__all__ = ["print_frontier"]

_LEGEND = (
    "Releases by growing risk. > recommended, * undominated, ? chains did not converge, x could not be made or\n"
    "measured, b its requirement bounds this risk"
)
_STATUS = {"measured": "", "unsure": "?", "infeasible": "x", "not applicable": "x"}
_VERDICT = {"within": "kept", "exceeded": "EXCEEDED", "inconclusive": "unclear", "no limit": ""}


def print_frontier(document: Document, console: Console) -> None:
    """The same recommendation and numbers as the report."""
    facts, chosen = document.diagnostics, document.diagnostics["recommendation"]
    measures = document.charts["frontier"]["measures"]
    limited = bool(document.settings["limits"])
    console.print(_LEGEND)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("")
    table.add_column("release", overflow="fold", min_width=40)
    for id in measures:
        table.add_column(escape(_plain(re.sub(r"[._]", " ", id))), justify="right", max_width=9)
    table.add_column("groups", justify="right")
    if limited:
        table.add_column("limits")
    for point in sorted(facts["points"], key=lambda p: _order(p, document.charts["frontier"])):
        mark = ">" if point["recommended"] else "*" if point["undominated"] else " "
        mark += _STATUS[point["status"]] + ("b" if measures[0] in point["bounded_by"] else "")
        cells = [mark, _plain(point["name"]), *(_number(point["values"][id]["value"]) for id in measures)]
        cells.append(f"{point['groups']:,}" if point["groups"] else "–")
        cells += [_VERDICT[point["verdict"]] if point["groups"] else ""] if limited else []
        table.add_row(*map(escape, cells))
    console.print(table)
    for point in facts["points"]:
        if point["reason"]:
            console.print(escape(_plain(f"{point['name']}: {point['reason']}")))
    for remark in facts["remarks"]:
        console.print(escape(_plain(remark)))
    name = chosen["point"]
    style = "green" if facts["exit_code"] == 0 else "bold red" if facts["exit_code"] == 1 else "yellow"
    said = "Nothing to recommend" if name is None else f"Recommended: {name}"
    console.print(f"[{style}]{escape(_plain(said))}[/]")
    console.print(escape(_plain(chosen["words"])))
    for key, words in (("safer", "the next safer one"), ("more_useful", "the next more useful one")):
        if chosen[key] is not None:
            console.print(escape(_plain(f"{words}: {chosen[key]}")))


def _order(point: Mapping[str, Any], chart: Mapping[str, Any]) -> tuple[int, float]:
    value, sign = point["values"][chart["risk"]]["value"], -1 if chart["risk_higher_is_better"] else 1
    return (0, sign * float(value)) if isinstance(value, int | float) else (1, 0.0)


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return "∞" if value == "inf" else "–"
    if float(value).is_integer() and abs(value) >= 1:
        return f"{value:,.0f}"
    return f"{value:.4f}" if abs(value) >= 5e-5 else "0"


def _plain(text: str) -> str:
    """One line without control or direction marks."""
    return "".join(c if c.isprintable() else " " for c in text)

"""The table of combinations: who is exposed by what little knowledge. For the terminal and for the page."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unveil.document import Document
from unveil.report.officer import Cell, Grid, Names
from unveil.report.wording import clean

__all__ = ["combinations_grid", "print_combinations"]

HEAD = (
    "Known",
    "Asked",
    "Alone in the original",
    "Fewest rows",
    "Left with one row",
    "Learner right",
    "Attacker right",
    "At least twice as exposed",
    "80% sure",
)


def combinations_grid(document: Document, names: Names) -> Grid | None:
    """As a table of the report; None without combinations."""
    rows = document.diagnostics.get("combinations") or ()
    if not rows:
        return None
    several = names.several
    head = (
        *((Cell("Release"),) if several else ()),
        *(Cell(text, kind="num" if i > 1 else "") for i, text in enumerate(HEAD)),
    )
    made = tuple(
        (
            *((Cell(names.shown.get(row["release"], row["release"])),) if several else ()),
            *(Cell(clean(text), small, "num" if i > 1 else "") for i, (text, small) in enumerate(_texts(row))),
        )
        for row in rows
    )
    return Grid(head, made, fixed=2 + several)


def print_combinations(document: Document, console: Console) -> None:
    """On a terminal; nothing without combinations."""
    rows = document.diagnostics.get("combinations") or ()
    if not rows:
        return
    table = Table(title="How little need be known", title_justify="left")
    several = len(document.settings["releases"]) > 1
    for i, text in enumerate((*(("Release",) if several else ()), *HEAD)):
        table.add_column(text, justify="left" if i < 2 + several else "right")
    for row in rows:
        cells = [text for text, _ in _texts(row)]
        table.add_row(*(escape(clean(text)) for text in ([row["release"]] if several else []) + cells))
    console.print(table)


def _texts(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Each cell and its small print."""
    fewest = row["fewest_rows"]
    found = [
        (", ".join(row["known"]) or "nothing", ""),
        (row["attribute"], ""),
        (_share(row["alone_in_original"]), ""),
        ("?" if fewest is None else f"{fewest:,}", ""),
        (_share(row["single_row"]), ""),
    ]
    if row["not_applicable"]:
        return [*found, *[("not applicable", "")] * 4]
    mark = "" if row["reliable"] else "chains disagree or ended early"
    return [*found, *(_estimate(row[key], mark) for key in ("learner_right", "right", "twice_exposed", "sure"))]


def _share(value: float | None) -> str:
    return "?" if value is None else f"{value:.1%}"


def _estimate(value: list[Any] | None, mark: str) -> tuple[str, str]:
    if value is None or not isinstance(value[0], float | int):
        return "?", ""
    low, high = value[1], value[2]
    interval = f"{_share(low)} – {_share(high)}" if low != high else ""
    return _share(value[0]), " ".join(part for part in (interval, mark) if part)

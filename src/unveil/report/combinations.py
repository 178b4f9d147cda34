"""The table of combinations: who is exposed by what little knowledge. For the terminal and for the page."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unveil.audit.document import Document
from unveil.report.officer import Cell, Grid, Names, merged
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
MOST_SHOWN = 30  # combinations on a terminal
# Of one word a line: then the names beside them have room on a terminal.
SHORT = ("alone", "fewest\nrows", "one\nrow", "learner\nright", "attacker\nright", "twice\nexposed", "80%\nsure")


def combinations_grid(document: Document, names: Names) -> Grid | None:
    """As a table of the report; None without combinations."""
    rows = document.diagnostics.get("combinations") or ()
    if not rows:
        return None
    several = names.several
    head = (
        *((Cell("Release"),) if several else ()),
        *(Cell(text, kind="num" if i > 1 else "names") for i, text in enumerate(HEAD)),
    )
    made = (
        (
            *((Cell(names.shown.get(row["release"], row["release"])),) if several else ()),
            *(Cell(clean(text), small, "num" if i > 1 else "names") for i, (text, small) in enumerate(_texts(row))),
        )
        for row in rows
    )
    known = merged(made, [several])
    return Grid(head, merged(known, [0]) if several else known, fixed=2 + several)


def print_combinations(document: Document, console: Console) -> None:
    """On a terminal; nothing without combinations."""
    rows = document.diagnostics.get("combinations") or ()
    if not rows:
        return
    table = Table(title="How little need be known", title_justify="left", pad_edge=False)
    table.add_column("Known, and asked about", overflow="fold")  # not cut: the rest would be said nowhere
    for text in SHORT:
        table.add_column(text, justify="right", no_wrap=True)
    several = len(document.settings["releases"]) > 1
    before = None
    kept, left_out = _most_exposing(rows)
    for row in kept:
        (known, _), (asked, mark), *cells = _texts(row)
        if before != (row["release"], known):
            table.add_section()
            table.add_row(escape(clean(f"{row['release']}: {known}" if several else known)), style="bold")
        before = row["release"], known
        own = f"{asked} ({mark})" if mark else asked
        table.add_row(*(escape(clean(text)) for text in (own, *(text for text, _ in cells))))
    console.print(table)
    if left_out:
        console.print(
            f"{left_out:,} more combinations, which leave fewer people with one row, are in --report and --json."
        )


def _most_exposing(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The rows of those combinations that leave most people with one row or are sure of most, in their order, and how
    many combinations are left out."""
    worst: dict[tuple[str, ...], tuple[float, float]] = {}
    for row in rows:
        sure = row.get("sure")
        found = (_known(row["single_row"]), _known(sure[0] if sure else None))
        known = tuple(row["known"])
        worst[known] = max(worst.get(known, found), found)
    kept = set(sorted(worst, key=lambda known: worst[known], reverse=True)[:MOST_SHOWN])
    return [row for row in rows if tuple(row["known"]) in kept], len(worst) - len(kept)


def _known(value: float | None) -> float:
    """What is unknown or withheld comes first: it may be anything."""
    return value if isinstance(value, float | int) else 1.0


def _texts(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Each cell and its small print."""
    fewest = row["fewest_rows"]
    found = [
        (", ".join(row["known"]) or "nothing", ""),
        (row["attribute"], "" if row.get("reliable", True) else "not reliable"),
        (_share(row["alone_in_original"]), ""),
        ("?" if fewest is None else f"{fewest:,}", ""),
        (_share(row["single_row"]), ""),
    ]
    if row["not_applicable"]:
        return [*found, *[("not applicable", "")] * 4]
    return [*found, *(_estimate(row[key]) for key in ("learner_right", "right", "twice_exposed", "sure"))]


def _share(value: float | None) -> str:
    return "?" if value is None else f"{value:.1%}"


def _estimate(value: list[Any] | None) -> tuple[str, str]:
    if value is None or not isinstance(value[0], float | int):
        return "?", ""
    low, high = value[1], value[2]
    return _share(value[0]), f"{_share(low)} – {_share(high)}" if low != high else ""

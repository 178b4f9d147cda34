"""Combinations of known attributes: who is exposed by what little knowledge."""

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.audit.document import Document
from unveil.audit.numbers import share
from unveil.report.blocks import Block, Cell, Details, Grid, Heading, Paragraph, merged, num
from unveil.report.reading import Names
from unveil.report.wording import clean

__all__ = ["MOST_SHOWN", "combination_words", "combinations"]

MOST_SHOWN = 30  # combinations outside the folded table of all
MOST_NAMES = 8  # attributes of a combination that a sentence names
HEAD = ("Known", "Asked", "Alone in the original", "Fewest rows", "Left with one row")
READ = {
    "learner_right": "Learner right",
    "right": "Attacker right",
    "twice_exposed": "At least twice as exposed",
    "sure": "80% sure",
}


def combinations(document: Document, names: Names) -> list[Block]:
    """The combinations that leave most people with one row or make a reader sure of most, and all of them folded."""
    rows = document.diagnostics.get("combinations") or ()
    if not rows:
        return []
    worst: dict[tuple[str, ...], tuple[float, float]] = {}
    for row in rows:
        found = (_known(row["single_row"]), _known((row.get("sure") or [None])[0]))
        known = tuple(row["known"])
        worst[known] = max(worst.get(known, found), found)
    kept = set(sorted(worst, key=lambda known: worst[known], reverse=True)[:MOST_SHOWN])
    left_out = len(worst) - len(kept)
    words = (
        'Each row: a reader who knows only these attributes of a person. "Alone" is the share of people whom they '
        'single out in the original; "rows" the fewest published rows that may be somebody\'s, and the share of '
        "people left with one row. What is marked as not reliable rests on chains that disagree or stopped early."
    )
    blocks: list[Block] = [
        Heading("How little need be known", id="combinations"),
        Paragraph(words, "quiet"),
        _grid([row for row in rows if tuple(row["known"]) in kept], names),
    ]
    if left_out:
        more = f"{left_out:,} more combinations leave fewer people with one row"
        blocks.append(Details(f"{more}; here are all {len(worst):,}", (_grid(rows, names),)))
    return blocks


def _grid(rows: Sequence[Mapping[str, Any]], names: Names) -> Grid:
    several = names.several
    head = [Cell(text, kind="num" if i > 1 else "names") for i, text in enumerate((*HEAD, *READ.values()))]
    made = [(*((Cell(names.of(row["release"])),) if several else ()), *_cells(row)) for row in rows]
    known = merged(made, [int(several)])
    return Grid(
        "How little need be known",
        (*((Cell("Release"),) if several else ()), *head),
        merged(known, [0]) if several else known,
        fixed=2 + several,
    )


def _cells(row: Mapping[str, Any]) -> list[Cell]:
    fewest = row["fewest_rows"]
    found = [
        Cell(clean(", ".join(row["known"])) or "nothing", kind="names"),
        Cell(clean(row["attribute"]), "" if row.get("reliable", True) else "not reliable", "names"),
        _share([row["alone_in_original"]] * 3),
        num("?" if fewest is None else f"{fewest:,}"),
        _share([row["single_row"]] * 3),
    ]
    if row["not_applicable"]:
        return [*found, *[num("not applicable")] * len(READ)]
    return [*found, *(_share(row[key]) for key in READ)]


def _share(value: Sequence[Any] | None) -> Cell:
    if value is None or not isinstance(value[0], float | int):
        return num("?")
    low, high = value[1:]
    return num(share(value[0]), f"{share(low, sign=False)} – {share(high)}" if low != high else "")


def _known(value: float | None) -> float:
    """What is unknown or withheld comes first: it may be anything."""
    return value if isinstance(value, float | int) else 1.0


def combination_words(rows: Sequence[Mapping[str, Any]], release: str) -> str | None:
    """The same in a sentence on one release; None where it was not asked or nothing can be counted."""
    found = {tuple(row["known"]): row["single_row"] for row in rows if row["release"] == release}
    counted = {known: s for known, s in found.items() if isinstance(s, float | int) and known}
    if not counted:
        return None
    exposing = {known: s for known, s in counted.items() if s > 0}
    if not exposing:
        if len(counted) < len(found):
            return None
        return "None of the combinations asked about leaves anybody with a single published row."
    least = min(exposing, key=lambda known: (len(known), -exposing[known]))
    most = max(exposing, key=lambda known: (exposing[known], -len(known)))
    words = f"By {_named(least)} alone {_percent(exposing[least])} of people are left with a single published row"
    all_of = "the most of those asked about" if len(counted) == len(found) else "the most of those that can be counted"
    if most == least:
        return f"{words}{f', {all_of}' if len(found) > 1 else ''}."
    return f"{words}; by {_named(most)} it is {_percent(exposing[most])}, {all_of}."


def _named(known: Sequence[str]) -> str:
    shown = ", ".join(known[:MOST_NAMES])
    return shown if len(known) <= MOST_NAMES else f"{shown} and {len(known) - MOST_NAMES} more"


def _percent(value: float) -> str:
    return f"{value:.0%}" if value == 1 or 0.1 <= value <= 0.99 else f"{value:.1%}" if value >= 0.001 else "under 0.1%"

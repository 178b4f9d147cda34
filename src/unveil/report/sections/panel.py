"""The panel: the worst reader of each kind, how far readers disagree, and who was not asked."""

from collections.abc import Iterator, Mapping
from typing import Any

from unveil.audit.document import Document
from unveil.audit.numbers import share
from unveil.report.blocks import Block, Cell, Grid, Heading, Listing, Paragraph, num
from unveil.report.reading import Names
from unveil.report.wording import clean, label, reader_name

__all__ = ["panel"]

WORDS = (
    "Readers a little unlike the audit's own, against blind spots; of each kind the one who is 80% sure of most "
    "people. A limit that names no reader holds for all of them."
)


def panel(document: Document, names: Names) -> list[Block]:
    """A table of each release and attribute, and a sentence on how far readers disagree."""
    found = document.diagnostics.get("panel") or ()
    blocks: list[Block] = []
    for facts in found:
        place = [names.only(facts["release"]), label(facts["attribute"])]
        title = " · ".join(filter(None, ("The worst of the panel", *place)))
        rows = tuple(_rows(facts))
        head = (Cell("Differs in"), Cell("Reader"), num("Guesses right"), num("80% sure of"), num("Distance"))
        blocks += [Grid(title, head, rows, fixed=2)] if rows else []
        blocks += [Paragraph(words)] if (words := _words(facts)) else []
        if facts["not_asked"]:
            items = ((reader_name(n), f"not asked: {clean(why, 300)}") for n, why in facts["not_asked"].items())
            blocks.append(Listing(tuple(items), "facts"))
    return [Heading("The panel", id="panel"), Paragraph(WORDS, "quiet"), *blocks] if blocks else []


def _rows(facts: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    of_kind: dict[str, int] = {}
    for member in facts["members"]:
        of_kind[member["kind"]] = of_kind.get(member["kind"], 0) + 1
    for member in facts["members"]:
        if facts["worst"].get(member["kind"]) == member["reader"]:
            many = of_kind[member["kind"]]
            small = f"the worst of {many}" if many > 1 else ""
            who = Cell(clean(member["words"], 200), reader_name(member["attacker"]))
            shares = (num(_share(member["right"])), num(_share(member["disclosed"])), num(f"{member['distance']:.3f}"))
            yield (Cell(label(member["kind"]), small), who, *shares)


def _share(value: Any) -> str:
    return share(value) if isinstance(value, float | int) else "unknown"


def _words(facts: Mapping[str, Any]) -> str:
    if not facts["members"]:
        return ""
    said = f"Of {share(facts['disagree'])} of people two readers guess different values."
    if facts["right"] is not None and len(facts["right"]) == 2:
        least, most = facts["right"]
        said = f"All readers guess between {share(least)} and {share(most)} right. {said}"
    return said

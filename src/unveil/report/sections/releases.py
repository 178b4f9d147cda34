"""What a release is made of, and what it is still good for: being recognised, utility, levels, group sizes."""

from collections.abc import Callable, Mapping
from typing import Any

from unveil.audit.document import Document
from unveil.audit.measures import measure
from unveil.audit.numbers import count
from unveil.report.belief_charts import group_sizes
from unveil.report.blocks import Block, Cell, Grid, Heading, Paragraph
from unveil.report.reading import Names, ids_grid, limit_words, releases_head, value_cell, verdict_cell
from unveil.report.wording import clean, label, listed

__all__ = ["levels", "levels_grid", "readings", "recognised", "sizes", "utility"]

IDENTITY = (
    "prosecutor_risk.max",
    "prosecutor_risk.mean",
    "journalist_risk.max",
    "marketer_risk",
    "singled_out",
    "reid",
)
UTILITY = (
    *("suppressed_share", "certainty_penalty", "faithfulness", "query_error", "utility_loss"),
    *("groups.mean_size", "discernibility"),
    *("granularity", "non_uniform_entropy", "aecs"),
    *("propensity_mse", "propensity_ratio", "correlation_error"),
)
COLUMNS = (
    *("mean_error", "deviation_error", "share_error"),
    *("interval_overlap", "coefficient_overlap", "coefficient_error"),
)


def recognised(document: Document, names: Names) -> list[Block]:
    """The chance that somebody finds a person's row."""
    grids = ids_grid("Being recognised", document, names, IDENTITY) if document.document in ("audit", "link") else []
    return [Heading("Being recognised", id="identity"), *grids] if grids else []


def utility(document: Document, names: Names) -> list[Block]:
    """What is left of the data."""
    title = "What the release is still good for"
    if document.document != "audit":
        return []
    grids = ids_grid(title, document, names, UTILITY)
    columns = ids_grid("What an analyst finds, column by column", document, names, COLUMNS)
    return [Heading(title, id="utility"), *grids, *columns] if grids else []


def levels(document: Document, names: Names) -> list[Block]:
    """Every privacy model's level, releases side by side."""
    grid = levels_grid(document, names)
    if grid is None:
        return []
    facts = document.diagnostics
    notes = []
    if facts.get("suppressed_rows"):
        notes.append(f"{facts['suppressed_rows']:,} rows are suppressed (every quasi-identifier is *) and left out.")
    notes += [
        f"{label(name)} is published in sets of values; no model of sensitive values was measured on it."
        for name in facts.get("widened_sensitive", ())
    ]
    notes += [
        f"{label(name)} is withheld for {many:,} rows, which are in no histogram."
        for name, many in facts.get("withheld_values", {}).items()
        if many
    ]
    words = "The worst group of each: the number the release as a whole can claim."
    return [
        Heading("Levels of the privacy models", id="levels"),
        Paragraph(words, "quiet"),
        grid,
        *(Paragraph(text) for text in notes),
    ]


def levels_grid(document: Document, names: Names, *, words: bool = True) -> Grid | None:
    """One row a model and attribute; what it is, and what was required, beside it."""
    chosen = [f for f in document.findings if document.document == "check" or measure(f.measure).kind == "level"]
    places = {(f.id, f.attribute, f.release): f for f in chosen}
    told = words and document.document == "check"
    judged = document.document == "check" and any(f.limit for f in chosen)
    rows = []
    for id, attribute in dict.fromkeys((f.id, f.attribute) for f in chosen):
        found = [places.get((id, attribute, r)) for r in names.releases]
        first = next(f for f in found if f is not None)
        cells = [Cell(label(id), kind="code"), Cell(label(attribute or "–")), *map(value_cell, found)]
        if told:
            cells.append(Cell(measure(first.measure).words))
        if judged:
            required = verdict_cell(first.verdict)
            cells.append(Cell(required.text, limit_words(first), required.kind) if first.limit else Cell(""))
        rows.append(tuple(cells))
    head = [Cell("Privacy model"), Cell("Of"), *releases_head(names, "Level")]
    head += [Cell("What it is")] if told else []
    head += [Cell("Required")] if judged else []
    return Grid("Levels of the privacy models", tuple(head), tuple(rows), fixed=2) if rows else None


def sizes(document: Document, names: Names) -> list[Block]:
    """How large the groups are."""
    if document.document != "audit":
        return []
    own = {r: document.charts.get(r, {}).get("", {}).get("group_sizes") for r in names.releases}
    charts = [group_sizes(bins, names.least, names.of(r)) for r, bins in own.items() if bins]
    return [Heading("Group sizes", id="sizes"), *charts] if charts else []


def readings(document: Document, names: Names) -> list[Block]:
    """How each release was read: rows, groups, blocks, what is withheld, where domains come from."""
    facts = document.diagnostics.get("releases", {})
    lines: list[tuple[Cell, ...]] = []

    def add(title: str, key: str, tell: Callable[[Any], str]) -> None:
        found = [facts.get(r) or {} for r in names.releases]
        texts = [tell(f[key]) if f.get(key) is not None or (key in COUNTED and key in f) else "" for f in found]
        if any(texts):
            lines.append((Cell(title), *(Cell(text or "–") for text in texts)))

    def counted(value: int | None) -> str:
        return count(value, names.least)

    add("Rows", "rows", counted)
    add("Groups", "groups", lambda n: counted(n) if n else "")
    add("Perturbed", "masked", listed)
    add("Blocks", "blocks", lambda blocks: clean(" | ".join(map(listed, blocks)), 600))
    add("Suppressed rows", "suppressed_rows", counted)
    add("Values withheld", "withheld_values", lambda found: _pairs(found, counted))
    add("Published in sets", "widened_sensitive", listed)
    add("Domains from", "domains", lambda found: _pairs(found, label))
    add("Distances", "distances", lambda found: _pairs(found, label))
    add("Repeated identifiers", "repeated_identifiers", counted)
    title = f"How the release{'s were' if names.several else ' was'} read"
    head = (Cell(""), *(Cell(names.of(r)) for r in names.releases))
    return [Heading(title, id="readings"), Grid(title, head, tuple(lines))] if lines else []


COUNTED = ("rows", "suppressed_rows")  # None: fewer than the least count


def _pairs(found: Mapping[str, Any], tell: Callable[[Any], str]) -> str:
    return clean(", ".join(f"{label(k)}: {tell(v)}" for k, v in found.items()), 600)

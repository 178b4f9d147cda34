"""What readers of one release believe, side by side."""

from typing import Any

from unveil.audit.document import Document, Finding
from unveil.audit.measures import parse_id, title_of
from unveil.report.blocks import Block, Cell, Grid, Heading, Listing, num
from unveil.report.reading import Names, value_cell
from unveil.report.wording import clean, label

__all__ = ["attack", "attack_grid", "known_rows"]

SHOWN = (
    *("global_threat", "relative_global_threat", "relative_threat.share_2x", "relative_threat.max"),
    *("absolute_error", "confident.80", "belief_gain"),
)


def attack(document: Document, names: Names) -> list[Block]:
    """Learner and attackers side by side, and what each knows."""
    if document.document != "attribute":
        return []
    grid = attack_grid(document)
    return [Heading(grid.title, id="attack"), grid, Listing(known_rows(document))]


def attack_grid(document: Document) -> Grid:
    """One column a reader; where chains disagree every mode has its own, and nothing is pooled."""
    facts = document.diagnostics
    columns: list[tuple[str, dict[str, Any], dict[str, Finding]]] = []
    for reader in facts["readers"]:
        own = [mode for mode in facts["modes"] if mode["reader"] == reader["reader"]]
        if not own:
            findings = {f.name: f for f in document.findings if f.reader == reader["reader"]}
            columns.append((label(reader["reader"]), reader, findings))
        for number, mode in enumerate(own, start=1):
            fit = "" if mode["log_fit"] is None else f", log fit {mode['log_fit']:.0f}"
            head = f"{label(reader['reader'])}, mode {number} (chains {' '.join(map(str, mode['chains']))}{fit})"
            columns.append((head, reader, {f.name: f for f in map(Finding.model_validate, mode["findings"])}))
    rows: list[tuple[Cell, ...]] = []
    for id in SHOWN:
        found = [findings.get(id) for _, _, findings in columns]
        if any(f is not None and f.value is not None for f in found):  # without the truth success is unknown
            cells = (Cell("") if f is None else value_cell(f) for f in found)
            rows.append((Cell(title_of(parse_id(id))), *cells))
    for words, texts in (
        ("Knows that the person is in the table", [reader["threat"]["membership"] for _, reader, _ in columns]),
        ("Computed", [reader["method"] for _, reader, _ in columns]),
        ("Largest Monte-Carlo error of a belief", [_error(reader) for _, reader, _ in columns]),
    ):
        rows.append((Cell(words), *(num(clean(text)) for text in texts)))
    title = f"{label(document.settings['asked'])}: what is believed of {facts['people']:,} people"
    return Grid(title, (Cell(""), *(num(head) for head, _, _ in columns)), tuple(rows))


def known_rows(document: Document) -> tuple[tuple[str, str], ...]:
    """What is known of each person and of everybody, and what single attackers know beyond that."""
    if document.document != "attribute":
        return ()
    learner, *attackers = document.diagnostics["readers"]
    told = learner["threat"]
    known = [("Known of each person", told["target"]), ("Known of the population beforehand", told["population"])]
    known += [
        (f"Known to {label(reader['reader'])}", reader["threat"]["target"])
        for reader in attackers
        if reader["threat"] is not None and reader["threat"]["target"] != told["target"]
    ]
    return tuple((name, f"{clean(text)}.") for name, text in known)


def _error(reader: dict[str, Any]) -> str:
    found = reader["facts"].get("error_max")
    if isinstance(found, float):
        return f"{found:.3f}"
    return "not known" if reader["facts"] and reader["method"] != "exact" else "none"

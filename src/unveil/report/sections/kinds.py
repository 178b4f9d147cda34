"""The table of kinds: what a release gives away in each way there is, in one sentence, and what would fix it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unveil.audit.document import Document
from unveil.audit.verdict import KINDS
from unveil.report.blocks import Block, Cell, Grid, Heading, Listing
from unveil.report.reading import Names, verdict_cell
from unveil.report.wording import clean, label

__all__ = ["kinds", "kinds_grid", "to_try", "told_kinds"]


def kinds(document: Document, names: Names) -> list[Block]:
    """Every kind of disclosure with its verdict: the first table of the page."""
    rows: list[tuple[Cell, ...]] = []
    before = None
    for release, row in _rows(document):
        if names.several and release != before:  # a heading of the rows below it
            rows.append((Cell(names.of(release)),))
        before = release
        small = f"waived: {clean(row['waived'], 200)}" if row["waived"] else _small(row)
        found = Cell(clean(row["sentence"], 600), small)
        rows.append((Cell(_called(row), meaning=KINDS.get(row["kind"], "")), verdict_cell(row["verdict"]), found))
    if not rows:
        return []
    head = (Cell("Kind of disclosure"), Cell("Verdict"), Cell("Found"))
    roles = document.diagnostics.get("roles", {})
    said = tuple((label(role), ", ".join(map(label, columns))) for role, columns in roles.items() if columns)
    return [Heading("What was judged"), Grid("", head, tuple(rows)), *([Listing(said, "facts")] if said else [])]


def kinds_grid(document: Document, names: Names) -> list[Grid]:
    """The verdicts alone, a column a release."""
    found: dict[str, dict[str, str]] = {}
    for release, row in _rows(document):
        word = "waived" if row["waived"] and row["verdict"] != "within" else row["verdict"]
        found.setdefault(_called(row), {})[release] = word
    if not found:
        return []
    releases = list(names.releases)[:4]
    head = (Cell("Kind of disclosure"), *(Cell(names.of(r) if names.several else "Verdict") for r in releases))
    rows = tuple((Cell(kind), *(verdict_cell(by.get(r, "not judged")) for r in releases)) for kind, by in found.items())
    return [Grid("", head, rows)]


def told_kinds(document: Document, names: Names, most: int = 3) -> tuple[tuple[str, str], ...]:
    """What a person would remember: a sentence of each kind that is exceeded or open, the exceeded first."""
    rows = [(r, row) for r, row in _rows(document) if row["waived"] is None and row["kind"] != "file"]
    told = {clean(row["sentence"], 200) for _, row in rows}
    rows += [
        (r, row) for r, row in _rows(document) if row["kind"] == "file" and clean(row["sentence"], 200) not in told
    ]
    order = {"exceeded": 0, "inconclusive": 1, "not judged": 2}
    open_ones = sorted((x for x in rows if x[1]["verdict"] in order), key=lambda x: order[x[1]["verdict"]])[:most]
    carried = sum(bool(row.get("where")) for _, row in open_ones)
    return tuple(
        (
            f"{_called(row)} · {names.of(release)}" if names.several else _called(row),
            _told(row, 100 if carried < 2 else 0),
        )
        for release, row in open_ones
    )


def to_try(document: Document) -> str:
    """The command that leaves out what carries the first exceeded kind; inference before the others."""
    rows = [row for _, row in _rows(document) if row.get("command") and row["waived"] is None]
    rows.sort(key=lambda row: row["kind"] != "inference")
    return str(rows[0]["command"]) if rows else ""


def _told(row: Mapping[str, Any], most: int) -> str:
    return " ".join(filter(None, (clean(row["sentence"], 200), _why(row, most))))  # one screen; the page has all of it


def _small(row: Mapping[str, Any]) -> str:
    command = row.get("command") or ""
    said = " ".join(filter(None, (_why(row), clean(row["fix"], 700))))
    return " · ".join(filter(None, (said, clean(f"Or: {command}" if command else "", 400))))


def _why(row: Mapping[str, Any], most: int = 400) -> str:
    """The columns that carry it, and the class that carries most, in this many characters."""
    columns = row.get("asked_again") or row.get("why") or ""
    return " ".join(filter(None, (clean(columns, 500), clean(row.get("where") or "", most) if most else "")))


def _rows(document: Document) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rows by release; quasi-identifiers of which it is open whether they are secrets are one row."""
    known = document.diagnostics.get("roles", {}).get("quasi-identifier", ())
    for release, judgement in document.diagnostics.get("judgement", {}).items():
        rows = [row for row in judgement["kinds"] if "verdict" in row]
        doubted = [r for r in rows if r["attribute"] in known and r["verdict"] == "not judged" and r["waived"] is None]
        for row in rows:
            if len(doubted) < 2 or row not in doubted:
                yield release, row
            elif row is doubted[0]:
                yield release, {**row, "attribute": "quasi-identifiers", **_together([r["attribute"] for r in doubted])}


def _together(names: Sequence[str]) -> dict[str, str]:
    said = f"Who knows the other quasi-identifiers can be 80% sure, for some people, of: {', '.join(names)}."
    return {
        "sentence": f"{said} The schema calls them quasi-identifiers: if one is a secret, no reader is asked about it.",
        "fix": 'Set role = "sensitive" for what is a secret, and make the release once more; waive what anybody knows: '
        f"--waive \"inference:{names[0]}='…'\" and so on.",
    }


def _called(row: Mapping[str, Any]) -> str:
    """`inference of diagnosis`."""
    name = str(row["kind"]).capitalize() if row["kind"] != "file" else "The file itself"
    return name if row["attribute"] is None else f"{name} of {label(row['attribute'])}"

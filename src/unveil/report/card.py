"""A document as a small framed card, for notebooks: the verdict, each kind of disclosure, and one line why."""

from html import escape
from typing import Any

from unveil.audit.document import Document
from unveil.audit.numbers import spoken
from unveil.report.wording import SIGNS, VERDICTS, clean, label

__all__ = ["card_text", "render_card"]

MOST_LINES, LONGEST = 10, 160
_COLOURS = {"within": "#2e7d32", "exceeded": "#b3261e", "inconclusive": "#8a6100"}


def _rows(document: Document) -> list[tuple[str, str, list[tuple[str, str, str]]]]:
    """By release: its name, its verdict, and of each kind its words, its verdict and why."""
    found = []
    judged: dict[str, Any] = document.diagnostics.get("judgement") or {}
    for name, verdict in (document.diagnostics.get("verdicts") or {}).items():
        kinds = judged.get(name, {}).get("kinds", [])
        lines = [
            (
                str(kind["kind"]) + (f" of {label(kind['attribute'])}" if kind.get("attribute") else ""),
                str(kind["verdict"]),
                clean(kind.get("sentence") or "", 200) if kind["verdict"] in ("exceeded", "inconclusive") else "",
            )
            for kind in kinds
        ]
        found.append((label(name), str(verdict), lines))
    return found


def card_text(document: Document) -> str:
    """The card as a few lines of text."""
    lines = []
    for name, verdict, kinds in _rows(document):
        lines.append(f"{name}: {VERDICTS.get(verdict, verdict)}")
        lines += [f"  {SIGNS.get(v, '?')} {kind}: {v}" + (f". {why}" if why else "") for kind, v, why in kinds]
    if len(lines) > MOST_LINES:  # every release's verdict first
        heads = [line for line in lines if not line.startswith("  ")]
        open_kinds = [line for line in lines if line.startswith(("  ✕", "  ?"))]
        lines = (heads + open_kinds)[: MOST_LINES - 1]
        lines.append("… found.document has all of it; unveil.report.render_page draws it")
    if not lines:
        verdict = document.diagnostics.get("verdict", "no verdict")
        lines = [f"{label(document.document)}: {VERDICTS.get(verdict, verdict)}", *_numbers(document)]
    return "\n".join(line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…" for line in lines)


def _numbers(document: Document) -> list[str]:
    """The first findings, where a document has no kinds of disclosure."""
    found = document.findings[: MOST_LINES - 2]
    lines = [f"  {label(f.release)}: {clean(f.id, 80)} {spoken(f.value, f.measure, f.statistic)}" for f in found]
    more = len(document.findings) - len(found)
    return [*lines, f"  … and {more:,} more in found.document"] if more else lines


def render_card(document: Document) -> str:
    """The card as HTML of a few kilobytes: a saved notebook stays small. The page is render_page(document)."""
    parts = []
    for name, verdict, kinds in _rows(document):
        colour = _COLOURS.get(verdict, "#555")
        rows = "".join(
            f"<tr><td>{escape(SIGNS.get(v, '?'))} {escape(kind)}</td><td>{escape(v)}</td><td>{escape(why)}</td></tr>"
            for kind, v, why in kinds
        )
        words = escape(VERDICTS.get(verdict, verdict))
        parts.append(f'<p><b>{escape(name)}</b>: <b style="color:{colour}">{words}</b></p><table>{rows}</table>')
    frame = "border:1px solid #999;border-radius:6px;padding:.5em 1em;max-width:60em"
    return f'<div style="{frame}">{"".join(parts) or escape(card_text(document))}</div>'

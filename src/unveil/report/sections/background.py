"""Background knowledge: what readers who already know something gain, and what could be known beforehand."""

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.audit.document import Document
from unveil.audit.measures import title_of
from unveil.audit.numbers import count
from unveil.report.blocks import Block, Cell, Chart, Details, Grid, Heading, Paragraph, num
from unveil.report.charts import COLOURS, Spec, axis, line_chart, rule, tip
from unveil.report.reading import Names, baseline_text, value_cell
from unveil.report.wording import clean, label, listed

__all__ = ["background", "knowledge", "knowledge_grid", "worst_by_pairs", "worst_over_bandwidths"]

MOST_RISK = 0.7  # ln 2, the largest Jensen-Shannon distance, and some room
MOST_RULES = 20  # more are folded
WORDS = (
    "Readers who know something about everybody before they read the release: how values are spread among people with "
    "similar quasi-identifiers (the smaller the bandwidth, the more is known), or what some people never have. "
    "Measured is what the release changes in their beliefs."
)


def background(document: Document, names: Names) -> list[Block]:
    """Of each release and attribute of an audit: words, charts, facts; or why it was not measured."""
    blocks: list[Block] = []
    for row in document.diagnostics.get("background", ()):
        chart = document.charts.get(row["release"], {}).get(row["attribute"], {}).get("background")
        small = names.only(row["release"])
        words = row["words"] or f"Not measured: {row['reason']}."
        blocks.append(Heading(label(row["attribute"]), level=3, small=small))
        blocks.append(Paragraph(clean(" ".join(filter(None, (words, _method(row, names.least)))))))
        if chart:
            blocks.append(worst_over_bandwidths(chart["line"], chart["t"], names.least))
            blocks += [worst_by_pairs(chart["pairs"])] if chart.get("pairs") else []
            blocks += _facts(chart, names.least)
    return [Heading("Background knowledge", id="background"), Paragraph(WORDS, "quiet"), *blocks] if blocks else []


def _method(row: Mapping[str, Any], least: int) -> str:
    if not row["measured"]:
        return ""
    if row["estimated_people"] == 0:
        return "All beliefs are exact."
    people = count(row["estimated_people"], least)
    said = f"Beliefs are exact in small groups; for {people} people in large ones they are the Omega-estimate"
    if row["omega_error"] is None:
        return f"{said}, whose error could not be measured here."
    return f"{said}, which is off by {row['omega_error']:.2g} on average where both can be computed."


def _facts(chart: Mapping[str, Any], least: int) -> list[Block]:
    """The facts that expose most people, the worst first."""
    rows = tuple(
        (
            Cell(clean(fact["fact"], 200)),
            num(count(fact["people"], least)),
            num(count(fact["exposed"], least)),
        )
        for fact in chart["facts"]
    )
    words = f"Exposed by a fact: once it is known, some value is believed with {chart['at_least']:.0%} or more."
    head = (Cell("Fact, if known"), num("Speaks of"), num("Exposes"))
    return [Paragraph(words, "quiet"), Grid("Facts by the people they expose", head, rows)] if rows else []


def worst_over_bandwidths(points: Mapping[str, Sequence[Any]], t: float, least: int) -> Chart:
    """Worst and mean change of a belief by how much is known beforehand (Li 2010, figure 3.11 a)."""
    kinds = (("worst", "worst-off person"), ("mean", "mean over people"))
    widths = points["bandwidth"]
    values = [
        {"s": name, "x": width, "y": round(value, 5)}
        for key, name in kinds
        for width, value in zip(widths, points[key], strict=True)
    ]
    far = [0, max(widths) * 1.05]
    return line_chart(
        "Worst case over the bandwidth",
        f"If the line jumps, somebody who knows a little more or less fares very differently. Dotted: {t:g}.",
        [name for _, name in kinds],
        values,
        {
            "x": axis("x", "bandwidth (small: much is known)", domain=far, form="~g", values=widths),
            "y": axis("y", "change of the belief", domain=[0, MOST_RISK], form="~g"),
        },
        head=("bandwidth", "worst", "mean", f"people beyond {t:g}"),
        rows=[
            (f"{width:g}", f"{worst:.3f}", f"{mean:.3f}", count(people, least))
            for width, worst, mean, people in zip(
                widths, points["worst"], points["mean"], points["people"], strict=True
            )
        ],
        behind=[rule("y", t)],
        height=220,
        about="Largest and mean change of a belief over the bandwidth of the kernel prior.",
    )


def worst_by_pairs(pairs: Mapping[str, Any]) -> Chart:
    """The worst case for one bandwidth on some attributes and one on the others (Li 2010, figure 3.11 b)."""
    widths = [f"{b:g}" for b in pairs["bandwidth"]]
    values = [
        {"x": there, "y": here, "n": round(z, 5), "t": f"{z:.2f}"}
        for here, row in zip(widths, pairs["worst"], strict=True)
        for there, z in zip(widths, row, strict=True)
    ]
    place: Spec = {
        "x": axis("x", "bandwidth of the others", names=True),
        "y": axis("y", "bandwidth of the first", names=True),
    }
    colour = {
        "field": "n",
        "type": "quantitative",
        "scale": {"domain": [0, MOST_RISK], "range": ["#f2f7fb", COLOURS[0]]},
        "legend": {"title": "change", "gradientLength": 130, "tickCount": 4},
    }
    tips = [tip("y", "first"), tip("x", "others"), tip("n", "change", ".3f")]
    first, second = (clean(listed(pairs[key]), 200) for key in ("first", "second"))
    return Chart(
        title="Worst case over two bandwidths",
        caption=f"First: {first}. Others: {second}. Change of the worst-off person's belief.",
        spec={
            "description": "Largest change of a belief for one bandwidth on some attributes and one on the others.",
            "width": 230,
            "height": 200,
            "data": {"values": values},
            "layer": [
                {"mark": "rect", "encoding": {**place, "color": colour, "tooltip": tips}},
                {"mark": {"type": "text", "color": "#111"}, "encoding": {**place, "text": {"field": "t"}}},
            ],
        },
        head=("first ↓ others →", *widths),
        rows=tuple((here, *(f"{z:.3f}" for z in row)) for here, row in zip(widths, pairs["worst"], strict=True)),
    )


def knowledge(document: Document, names: Names) -> list[Block]:
    """What is known beforehand: findings, then the rules with their evidence."""
    if document.document != "knowledge":
        return []
    facts = document.diagnostics
    blocks: list[Block] = [Heading("What is known", id="known"), knowledge_grid(document, names)]
    most = int(document.settings.get("top", MOST_RULES))
    curve = document.charts.get("worst_case_over_bandwidths", [])
    if curve:
        rows = [(f"{p['bandwidth']:g}", f"{p['worst']:.4g}", f"{p['beyond']:,}") for p in curve]
        heads = ("Bandwidth", "Worst-case risk", "People beyond t")
        blocks.append(_numbers("Readers who know more (small bandwidth) or less", heads, rows, first="num"))
    exposing = [(clean(fact["rule"]), f"{fact['exposed']:,}") for fact in facts.get("exposing", [])]
    blocks += _folded(
        "Which rule, if known, would expose most (some value at .5 or more)", ("Rule", "Newly exposed"), exposing, most
    )
    keys = ("people", "expectation", "confidence")
    rules = [(clean(rule["rule"]), *(f"{rule[key]:.4g}" for key in keys)) for rule in facts.get("rules", [])]
    blocks += _folded("The rules with most people", ("Rule", "People", "Expectation", "Confidence"), rules, most)
    if facts.get("omega"):
        words = "Some groups are too large for exact beliefs: they have the Omega-estimate instead."
        blocks.append(Paragraph(words, "quiet"))
    return blocks


def knowledge_grid(document: Document, names: Names) -> Grid:
    """Every finding, beside what the overall distribution alone would give."""
    rows = tuple(
        (
            Cell(label(title_of(f)), label(f.id)),
            Cell(names.of(f.release)),
            value_cell(f),
            num(baseline_text(f)),
        )
        for f in document.findings
    )
    head = (Cell("Measure"), Cell("Of"), num("Found"), num("Overall distribution alone"))
    return Grid("What is known", head, rows)


def _folded(title: str, heads: Sequence[str], rows: Sequence[tuple[str, ...]], most: int) -> list[Block]:
    """The first rows of many, and all of them folded."""
    if not rows:
        return []
    found: list[Block] = [_numbers(title, heads, rows[:most])]
    if len(rows) > most:
        found.append(Details(f"All {len(rows):,} rules", (_numbers(title, heads, rows),)))
    return found


def _numbers(title: str, heads: Sequence[str], rows: Sequence[tuple[str, ...]], first: str = "") -> Grid:
    """A table of texts; all but the first column are numbers."""
    kinds = [first, *["num"] * (len(heads) - 1)]
    head = tuple(Cell(h, kind=k) for h, k in zip(heads, kinds, strict=True))
    return Grid(title, head, tuple(tuple(Cell(t, kind=k) for t, k in zip(r, kinds, strict=True)) for r in rows))

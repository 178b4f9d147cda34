"""Background knowledge in the report: the worst case over one bandwidth and over two, and facts by whom they expose."""

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.audit.document import Document
from unveil.audit.numbers import count
from unveil.report.chart_parts import COLOURS, WIDTH, Chart, Spec, axis, looks_of, tip
from unveil.report.officer import Cell, Grid, Names
from unveil.report.wording import clean, label

__all__ = ["background_lines", "background_part", "worst_by_pairs", "worst_over_bandwidths"]

MOST_RISK = 0.7  # ln 2, the largest Jensen-Shannon distance, and some room


def background_lines(document: Document) -> list[str]:
    """One line a release and attribute, for the terminal."""
    return [
        f"{row['release']}, {row['attribute']}, background knowledge: {row['words']}"
        for row in document.diagnostics.get("background", ())
        if row["measured"]
    ]


def background_part(document: Document, names: Names) -> list[dict[str, Any]]:
    """One entry a release and attribute: words, charts, facts; or why it was not measured."""
    found = []
    for row in document.diagnostics.get("background", ()):
        chart = document.charts.get(row["release"], {}).get(row["attribute"], {}).get("background")
        entry: dict[str, Any] = {
            "release": names.shown.get(row["release"], label(row["release"])),
            "attribute": label(row["attribute"]),
            "words": clean(row["words"] or f"Not measured: {row['reason']}."),
            "method": _method(row, names.least),
            "figures": [],
            "facts": None,
            "about": "",
        }
        if chart:
            pairs = chart.get("pairs")
            entry["figures"] = [worst_over_bandwidths(chart["line"], chart["t"], names.least)]
            entry["figures"] += [worst_by_pairs(pairs)] if pairs else []
            entry["facts"] = _facts(chart["facts"], names.least)
            entry["about"] = (
                "Exposed by a fact: some value is believed with "
                f"{chart['at_least']:.0%} or more once it is known, and was not before."
            )
        found.append(entry)
    return found


def _method(row: Mapping[str, Any], least: int) -> str:
    if not row["measured"]:
        return ""
    if row["estimated_people"] == 0:
        return "All beliefs are exact."
    said = f"Beliefs are exact in small groups; of {count(row['estimated_people'], least)} people in large ones they "
    said += "are the Omega-estimate"
    if row["omega_error"] is None:
        return f"{said}, whose error could not be measured here."
    return f"{said}, which errs by {row['omega_error']:.2g} of the distance on average where both can be had."


def worst_over_bandwidths(line: Mapping[str, Sequence[Any]], t: float, least: int) -> Chart:
    """Worst and mean change of a belief by how much is known beforehand (Li 2010, figure 3.11 a)."""
    names = ("worst-off person", "mean over people")
    widths = line["bandwidth"]
    values = [
        {"s": name, "x": width, "y": round(value, 5)}
        for name, key in zip(names, ("worst", "mean"), strict=True)
        for width, value in zip(widths, line[key], strict=True)
    ]
    encoding: Spec = {
        "x": axis("x", "bandwidth (small: much is known)", domain=[0, max(widths) * 1.05], form="~g", values=[*widths]),
        "y": axis("y", "change of the belief", domain=[0, MOST_RISK], form="~g"),
        **looks_of(names, {"symbolType": "stroke", "symbolSize": 300, "symbolStrokeWidth": 2}),
    }
    tips = [tip("s", ""), tip("x", "bandwidth", "~g"), tip("y", "change", ".3f")]
    limit: Spec = {
        "data": {"values": [{"y": t}]},
        "mark": {"type": "rule", "strokeDash": [1, 2], "color": "#333"},
        "encoding": {"y": {"field": "y", "type": "quantitative"}},
    }
    points = {"type": "point", "filled": True, "size": 45, "opacity": 1}
    return Chart(
        title="Worst case over the bandwidth",
        caption=f"If the line jumps, somebody who knows a little more or less fares very differently. Dotted: {t:g}.",
        spec={
            "description": "Largest and mean change of a belief over the bandwidth of the kernel prior.",
            "width": WIDTH,
            "height": 220,
            "data": {"values": values},
            "layer": [
                limit,
                {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": encoding},
                {
                    "mark": points,
                    "encoding": {"x": encoding["x"], "y": encoding["y"], "color": encoding["color"], "tooltip": tips},
                },
            ],
        },
        head=("bandwidth", "worst", "mean", f"people beyond {t:g}"),
        rows=tuple(
            (f"{width:g}", f"{worst:.3f}", f"{mean:.3f}", count(people, least))
            for width, worst, mean, people in zip(widths, line["worst"], line["mean"], line["people"], strict=True)
        ),
    )


def worst_by_pairs(pairs: Mapping[str, Any]) -> Chart:
    """The worst case for one bandwidth on some attributes and one on the others (Li 2010, figure 3.11 b)."""
    widths = [f"{b:g}" for b in pairs["bandwidth"]]
    first, second = (", ".join(map(label, pairs[key])) for key in ("first", "second"))
    values = [
        {"x": there, "y": here, "z": round(pairs["worst"][i][j], 5), "t": f"{pairs['worst'][i][j]:.2f}"}
        for i, here in enumerate(widths)
        for j, there in enumerate(widths)
    ]
    place: Spec = {
        "x": {
            "field": "x",
            "type": "ordinal",
            "sort": None,
            "title": "bandwidth of the others",
            "axis": {"labelAngle": 0},
        },
        "y": {"field": "y", "type": "ordinal", "sort": None, "title": "bandwidth of the first"},
    }
    colour = {
        "field": "z",
        "type": "quantitative",
        "scale": {"domain": [0, MOST_RISK], "range": ["#f2f7fb", COLOURS[0]]},
        "legend": {"title": "change", "gradientLength": 130, "tickCount": 4},
    }
    tips = [tip("y", "first"), tip("x", "others"), tip("z", "change", ".3f")]
    return Chart(
        title="Worst case over two bandwidths",
        caption=f"First: {clean(first, 200)}. Others: {clean(second, 200)}. Change of the worst-off person's belief.",
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


def _facts(facts: Sequence[Mapping[str, Any]], least: int) -> Grid | None:
    """The worst first."""
    rows = tuple(
        (
            Cell(clean(fact["fact"], 200)),
            Cell(count(fact["people"], least), kind="num"),
            Cell(count(fact["exposed"], least), kind="num"),
        )
        for fact in facts
    )
    head = (Cell("Fact, if known"), Cell("Speaks of", kind="num"), Cell("Exposes", kind="num"))
    return Grid(head, rows) if rows else None

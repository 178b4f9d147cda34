"""Charts of the groups of a release and of subgroups of its people, as `charts` draws beliefs: binned counts alone."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from unveil.audit.numbers import count
from unveil.report.chart_parts import COLOURS, MOST_LABEL_PIXELS, WIDTH, Chart, Spec, tip
from unveil.report.wording import label, reader_name

__all__ = ["group_sizes", "subgroups"]


def subgroups(
    attacker: str, attribute: str, groups: Sequence[Mapping[str, Any]], labels: Sequence[str], least: int
) -> Chart:
    """Of the people in each subgroup: how many are threatened, and how many at least twice as exposed."""
    kinds = ("people", "threatened", "twice")
    shown = dict(zip(kinds, ("people", "guessed right", "at least twice as exposed"), strict=True))
    values = [
        {"subgroup": name, "which": shown[kind], "n": group[kind]}
        for name, group in zip(labels, groups, strict=True)
        for kind in kinds
        if group[kind] is not None
    ]
    hidden = [
        {"subgroup": name, "t": f"<{least}"}
        for name, group in zip(labels, groups, strict=True)
        if group["people"] is None
    ]
    place: Spec = {
        "y": {
            "field": "subgroup",
            "type": "nominal",
            "sort": None,
            "title": None,
            "axis": {"labelLimit": MOST_LABEL_PIXELS},
            "scale": {"domain": list(labels)},
        },
        "x": {"field": "n", "type": "quantitative", "stack": None, "title": "people", "axis": {"tickMinStep": 1}},
        "color": {
            "field": "which",
            "type": "nominal",
            "legend": {"title": None, "orient": "top", "labelLimit": 300},
            "scale": {"domain": list(shown.values()), "range": ["#d0d0d0", "#6baed6", "#c2410c"]},
        },
        "tooltip": [tip("subgroup", ""), tip("which", "which"), tip("n", "people", ",")],
    }
    layers: list[Spec] = [
        {
            "data": {"values": [v for v in values if v["which"] == shown[kind]]},
            "mark": {"type": "bar", "height": height},
            "encoding": place,
        }
        for kind, height in zip(kinds, (15, 10, 5), strict=True)
    ]
    if hidden:
        layers.append(
            {
                "data": {"values": hidden},
                "mark": {"type": "text", "align": "left", "dx": 3, "color": "#333"},
                "encoding": {
                    "y": {"field": "subgroup", "type": "nominal", "sort": None},
                    "x": {"datum": 0},
                    "text": {"field": "t"},
                },
            }
        )
    title = f"{label(attribute)}: exposed to {reader_name(attacker)}"
    return Chart(
        title=title,
        caption=(
            f"A missing bar is fewer than {least} people." if any(g[k] is None for g in groups for k in kinds) else ""
        ),
        spec={"description": title, "width": 300, "height": {"step": 19}, "layer": layers},
        head=(label(attribute), "people", "guessed right", "twice as exposed"),
        rows=tuple(
            (name, *(count(group[kind], least) for kind in kinds)) for name, group in zip(labels, groups, strict=True)
        ),
    )


def group_sizes(bins: Mapping[str, Any], least: int, name: str) -> Chart:
    """How many groups there are of each size, and how many rows stand in them."""
    edges = bins["edges"]
    sizes = [_sizes(edges[i], edges[i + 1]) for i in range(len(edges) - 1)]
    kinds = {"groups": "groups", "rows": "rows in them"}
    values = [
        {"size": size, "k": kinds[kind], "n": n if n is not None else 0, "t": f"<{least}" if n is None else ""}
        for kind in kinds
        for size, n in zip(sizes, bins[kind], strict=True)
    ]
    panels: list[Spec] = []
    for kind, words in kinds.items():
        place: Spec = {
            "x": {
                "field": "size",
                "type": "ordinal",
                "sort": None,
                "title": "group size (rows)" if kind == "rows" else None,
                "axis": {"labelAngle": -45, "labelLimit": 90, "labels": kind == "rows"},
            },
            "y": {"field": "n", "type": "quantitative", "title": words, "axis": {"tickMinStep": 1}},
        }
        panels.append(
            {
                "data": {"values": [v for v in values if v["k"] == words]},
                "width": WIDTH,
                "height": 105,
                "layer": [
                    {
                        "mark": {"type": "bar", "color": COLOURS[0 if kind == "groups" else 2]},
                        "encoding": {**place, "tooltip": [tip("size", "size"), tip("n", words, ",")]},
                    },
                    {
                        "mark": {"type": "text", "dy": -6, "fontSize": 9, "color": "#333"},
                        "encoding": {**place, "text": {"field": "t"}},
                    },
                ],
            }
        )
    return Chart(
        title=name,
        caption="Rows in the smallest groups are the easiest to recognise.",
        spec={"description": "Groups and rows by group size.", "vconcat": panels, "spacing": 12},
        head=("size", "groups", "rows"),
        rows=tuple(
            (size, count(g, least), count(r, least))
            for size, g, r in zip(sizes, bins["groups"], bins["rows"], strict=True)
            if g != 0
        ),
    )


def _sizes(low: float, high: float) -> str:
    """Sizes are whole: [5, 6) is 5, [5, 10) is 5–9."""
    last = math.ceil(high) - 1
    return f"{low:,.0f}" if last <= low else f"{low:,.0f}–{last:,.0f}"

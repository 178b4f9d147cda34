"""Pieces the charts share: colours, axes, lines, tooltips, and how a withheld count is drawn."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

__all__ = [
    "COLOURS",
    "MOST_LABEL_PIXELS",
    "SHAPES",
    "WIDTH",
    "WITHHELD_COLOUR",
    "Chart",
    "Spec",
    "axis",
    "cycle",
    "histogram",
    "line",
    "looks_of",
    "range_tips",
    "tip",
    "withheld",
]

Spec = dict[str, Any]

# Okabe and Ito's colours, which colour-blind readers tell apart; dashes and shapes say the same once more.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#5B4B9A", "#8C6D1F", "#444444", "#56B4E9")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [10, 4], [4, 4], [1, 3], [12, 3, 3, 3])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
LEARNER_COLOUR = "#595959"
WITHHELD_COLOUR = "#e4e4e4"
WIDTH = 380
MOST_LABEL_PIXELS = 150


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure: what it is called, how to read it, its spec, and its numbers for readers without a script."""

    title: str
    caption: str
    spec: Spec
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: bool = False


def histogram(edges: Sequence[float], counts: Sequence[int | None], words: str, least: int) -> Spec:
    """Bars of one width, for edges may grow; withheld counts are written out."""
    names = [f"{low:.4g}–{high:.4g}" for low, high in pairwise(edges)]
    values = [
        {"x": name, "n": n or 0, "t": f"<{least}" if n is None else ""} for name, n in zip(names, counts, strict=True)
    ]
    place: Spec = {
        "x": {
            "field": "x",
            "type": "ordinal",
            "sort": None,
            "title": words,
            "axis": {"labelAngle": -45, "labelLimit": 90, "labelFontSize": 10, "labelOverlap": "greedy"},
        },
        "y": {
            "field": "n",
            "type": "quantitative",
            "title": "beliefs",
            "axis": {"tickMinStep": 1, "format": "~s", "tickCount": 4},
        },
    }
    return {
        "data": {"values": values},
        "width": 220,
        "height": 130,
        "layer": [
            {
                "mark": {"type": "bar", "color": COLOURS[0]},
                "encoding": {**place, "tooltip": [tip("x", words), tip("n", "beliefs", ",")]},
            },
            {
                "mark": {"type": "text", "dy": -6, "fontSize": 9, "color": "#333"},
                "encoding": {**place, "text": {"field": "t"}},
            },
        ],
    }


def withheld(bins: Mapping[float, float], least: int) -> list[Spec]:
    """Grey up to the least count where a count is withheld, with `<10` once for bins beside each other."""
    if not bins:
        return []
    runs: list[Spec] = []
    for low, high in sorted(bins.items()):
        if runs and math.isclose(runs[-1]["x2"], low):
            runs[-1]["x2"] = high
        else:
            runs.append({"x": low, "x2": high, "y": 0, "y2": least, "t": f"<{least}"})
    place: Spec = {
        "x": {"field": "x", "type": "quantitative"},
        "x2": {"field": "x2"},
        "y": {"field": "y", "type": "quantitative"},
        "y2": {"field": "y2"},
    }
    texts = [{"x": (r["x"] + r["x2"]) / 2, "y": least, "t": r["t"]} for r in runs]
    return [
        {"data": {"values": runs}, "mark": {"type": "rect", "color": WITHHELD_COLOUR}, "encoding": place},
        {
            "data": {"values": texts},
            "mark": {"type": "text", "fontSize": 9, "color": "#333", "dy": -6},
            "encoding": {"x": place["x"], "y": place["y"], "text": {"field": "t"}},
        },
    ]


def axis(field: str, title: str, *, domain: list[float], form: str, values: list[float] | None = None) -> Spec:
    """A quantitative axis over a fixed range."""
    drawn: Spec = {"title": title, "format": form}
    if values is not None:
        drawn["values"] = values
    return {"field": field, "type": "quantitative", "axis": drawn, "scale": {"domain": domain, "nice": False}}


def line(ends: tuple[float, float, float, float], dash: list[int]) -> Spec:
    """A thin straight line for reference."""
    a, b, c, d = ends
    place = {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}}
    return {
        "data": {"values": [{"x": a, "y": b}, {"x": c, "y": d}]},
        "mark": {"type": "line", "strokeDash": dash, "color": "#333", "strokeWidth": 1},
        "encoding": place,
    }


def looks_of(names: Sequence[str], symbol: Spec) -> Spec:
    """One colour and one dash a name; the learner is always grey."""
    others = iter(COLOURS * (1 + len(names) // len(COLOURS)))
    colours = [LEARNER_COLOUR if name == "learner" else next(others) for name in names]
    legend = {"title": None, "orient": "top", "labelLimit": 170, "columns": 2 if len(names) > 3 else 3, **symbol}
    colour = {"field": "s", "type": "nominal", "legend": legend, "scale": {"domain": [*names], "range": colours}}
    dash = {**colour, "scale": {"domain": [*names], "range": cycle(DASHES, len(names))}}
    return {"color": colour, "strokeDash": dash}


def cycle(things: Sequence[Any], most: int) -> list[Any]:
    """As many as needed, from the start again when they run out."""
    return [things[i % len(things)] for i in range(most)]


def tip(field: str, title: str, form: str | None = None) -> Spec:
    """One line of a tooltip."""
    named: Spec = {"field": field, "title": title or " "}
    if form is None:
        return {**named, "type": "nominal"}
    return {**named, "type": "quantitative", "format": form}


def range_tips(field: str, title: str, form: str = ".0%") -> list[Spec]:
    """Both ends of a bin."""
    return [tip(field, f"{title}, from", form), tip(f"{field}2", f"{title}, to", form)]

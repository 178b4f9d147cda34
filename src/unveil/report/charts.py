"""How charts are drawn: Vega-Lite specs of lines and bars with their data inline, in colours everybody tells apart.

Field names are ours: labels of the data occur as values alone, never as names of fields or in expressions.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from unveil.report.blocks import Chart

__all__ = [
    "COLOURS",
    "SHAPES",
    "WIDTH",
    "WITHHELD_COLOUR",
    "Spec",
    "axis",
    "bars",
    "cycle",
    "line",
    "line_chart",
    "looks_of",
    "rule",
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


def axis(
    field: str,
    title: str,
    *,
    domain: Sequence[float] | None = None,
    form: str | None = None,
    values: Sequence[float] | None = None,
    log: bool = False,
    names: bool = False,
    angle: int = 0,
) -> Spec:
    """An axis of numbers, over a fixed range or from 0; or, with `names`, of names in the order of the data."""
    if names:
        shown = {"labelAngle": angle, "labelLimit": 90} if angle else {"labelAngle": 0}
        return {"field": field, "type": "ordinal", "sort": None, "title": title, "axis": shown}
    drawn: Spec = {"title": title, **({"format": form} if form else {})}
    drawn |= {"values": [*values]} if values is not None else {"tickCount": 5}
    scale: Spec = {"zero": True} if domain is None else {"domain": [*domain], "nice": False}
    if log:
        scale |= {"type": "log"}
        scale.pop("zero", None)
    return {"field": field, "type": "quantitative", "axis": drawn, "scale": scale}


def line_chart(
    title: str,
    caption: str,
    names: Sequence[str],
    values: Sequence[Spec],
    place: Spec,
    *,
    head: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    behind: Sequence[Spec] = (),
    before: Sequence[Spec] = (),
    points: bool = True,
    step: bool = False,
    height: int = 240,
    about: str = "",
) -> Chart:
    """One line a name through the values of `s`, `x` and `y`, with a shape at each point; `place`: both axes."""
    looks = looks_of(names, {} if points else {"symbolType": "stroke"})
    how = {"type": "line", "strokeWidth": 1.5, **({"interpolate": "step-after"} if step else {})}
    named = [tip("s", ""), *(_told(place[k]) for k in ("x", "y"))]
    layers = [*behind, {"mark": how, "encoding": {**place, **looks, **({} if points else {"tooltip": named})}}]
    if points:
        shape = {**looks["color"], "scale": {"domain": [*names], "range": cycle(SHAPES, len(names))}}
        mark = {"type": "point", "filled": True, "size": 55, "opacity": 1}
        layers.append({"mark": mark, "encoding": {**place, "color": looks["color"], "shape": shape, "tooltip": named}})
    spec = {
        "description": about or title,
        "width": WIDTH,
        "height": height,
        "data": {"values": [*values]},
        "layer": [*layers, *before],
    }
    return Chart(title, caption, spec, tuple(head), tuple(rows))


def _told(place: Spec) -> Spec:
    """What a tooltip says of one axis."""
    title = place.get("title") or place.get("axis", {}).get("title", "")
    form = None if place["type"] == "ordinal" else ".1%" if "%" in place["axis"].get("format", "") else ".4~r"
    return tip(place["field"], title, form)


def bars(
    values: Sequence[Spec],
    across: str,
    up: str,
    *,
    names: Sequence[str] = (),
    colour: str = COLOURS[0],
    width: int = WIDTH,
    height: int = 200,
    angle: int = 0,
    log: bool = False,
) -> Spec:
    """Bars of `n` over the names `x`, beside each other for each name `s`; `t` is written above them."""
    floor = 0.8 if log else 0  # on a logarithm a single one is still a bar
    drawn = [{**v, "y": max(v["n"], floor)} for v in values]
    y = axis("y", up, form="~s")
    y["axis"] |= {"tickCount": 4, "tickMinStep": 1}
    if log:
        y["scale"] = {"type": "log", "domain": [floor, 3 * max([v["n"] for v in values] + [1])]}
    place: Spec = {"x": axis("x", across, names=True, angle=angle), "y": y}
    place["x"]["axis"] |= {"labelOverlap": "greedy"}
    own: Spec = {"tooltip": [tip("x", across or "size"), tip("n", up, ","), *([tip("s", "of")] if names else [])]}
    if names:
        place["xOffset"] = {"field": "s", "sort": [*names]}
        own["color"] = looks_of(names, {})["color"]
    mark = {"type": "bar", **({} if names else {"color": colour})}
    if log:
        own["y2"] = {"datum": floor}
    written = {"type": "text", "dy": -6, "fontSize": 9, "color": "#333"}
    return {
        "data": {"values": drawn},
        "width": width,
        "height": height,
        "layer": [
            {"mark": mark, "encoding": {**place, **own}},
            {"mark": written, "encoding": {**place, "text": {"field": "t"}}},
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


def line(ends: tuple[float, float, float, float], dash: Sequence[int]) -> Spec:
    """A thin straight line for reference."""
    a, b, c, d = ends
    place = {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}}
    return {
        "data": {"values": [{"x": a, "y": b}, {"x": c, "y": d}]},
        "mark": {"type": "line", "strokeDash": [*dash], "color": "#333", "strokeWidth": 1},
        "encoding": place,
    }


def rule(field: str, at: float, colour: str = "#333") -> Spec:
    """A dotted line right across, at one value of x or y."""
    return {
        "data": {"values": [{field: at}]},
        "mark": {"type": "rule", "strokeDash": [1, 2], "color": colour},
        "encoding": {field: {"field": field, "type": "quantitative"}},
    }


def looks_of(names: Sequence[str], symbol: Spec) -> Spec:
    """One colour and one dash a name; the learner is always grey."""
    others = iter(cycle(COLOURS, len(names)))
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

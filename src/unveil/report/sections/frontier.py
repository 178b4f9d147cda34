"""A frontier: risk against utility, and every release that was tried."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from unveil.audit.document import Document
from unveil.audit.limits import parse_limit
from unveil.audit.measures import parse_ids, title_of
from unveil.audit.numbers import interval, spoken
from unveil.report.blocks import Block, Cell, Chart, Grid, Heading, Listing, num
from unveil.report.charts import COLOURS, SHAPES, Spec, cycle, tip
from unveil.report.reading import Names, verdict_cell
from unveil.report.wording import clean, distinct_labels, label

__all__ = ["beside", "frontier", "points_grid"]

STATUS = {
    "measured": "",
    "unsure": "not converged",
    "infeasible": "cannot be met",
    "not applicable": "not applicable",
}
TRIVIAL = "trivial"
_FROM_ZERO_TO = 200  # times the smallest: above that a linear scale shows nothing but the largest


def frontier(document: Document, names: Names) -> list[Block]:
    """The chart, every release that was tried, and why some could not be."""
    if document.document != "frontier":
        return []
    facts = document.diagnostics
    near = tuple(beside(document))
    failed = tuple((label(p["name"]), clean(p["reason"])) for p in facts["points"] if p["reason"])
    return [
        *([Listing(near)] if near else []),
        Heading("The frontier", id="chart"),
        _chart(document),
        Heading("Every release that was tried", id="points"),
        points_grid(document),
        *([Listing(failed)] if failed else []),
    ]


def beside(document: Document) -> list[tuple[str, str]]:
    """The chosen point's neighbours on the frontier, in words."""
    chosen = document.diagnostics["recommendation"]
    words = (("safer", "The next safer one"), ("more_useful", "The next more useful one"))
    return [(text, label(chosen[key])) for key, text in words if chosen[key] is not None]


def points_grid(document: Document, *, brief: bool = False) -> Grid:
    """One row a release, the recommended first, then by growing risk; what has no number last.

    `brief`: of the measures only the two of the chart.
    """
    chart = document.charts["frontier"]
    measures = [chart["risk"], chart["utility"]] if brief else chart["measures"]
    chosen = document.diagnostics["recommendation"]
    role = {
        chosen["safer"]: "next safer",
        chosen["more_useful"]: "next more useful",
        chosen["point"]: "knee" if chosen["rule"] == "knee" else "recommended",
    }
    limited = bool(document.settings["limits"])
    rows = []
    for point in sorted(document.diagnostics["points"], key=lambda p: _order(p, chart)):
        words = [role.get(point["name"], ""), "undominated" if point["undominated"] else "", STATUS[point["status"]]]
        bounded = ", ".join(_title(id).lower() for id in point["bounded_by"])
        cells = [
            Cell(label(point["name"]), f"its requirement bounds: {bounded}" if bounded else "", "code"),
            Cell(", ".join(filter(None, words))),
        ]
        for id in measures:
            value, part = point["values"][id], parse_ids(id)[0]
            ends = interval(value["low"], value["high"], part.measure, part.statistic)
            known = value["value"] is not None
            cells.append(num(_text(value, id), ends) if known else num("–"))
        cells.append(num(f"{point['groups']:,}" if point["groups"] else "–"))
        cells += [verdict_cell(point["verdict"]) if point["groups"] else Cell("")] if limited else []
        rows.append(tuple(cells))
    heads = (num(_title(id)) for id in measures)
    head = (Cell("Release"), Cell(""), *heads, num("Groups"), *([Cell("Limits")] if limited else []))
    return Grid("Every release that was tried", head, tuple(rows), kind="tight points")


def _order(point: Mapping[str, Any], chart: Mapping[str, Any]) -> tuple[int, float]:
    value, sign = point["values"][chart["risk"]]["value"], -1 if chart["risk_higher_is_better"] else 1
    if point["recommended"]:
        return (0, 0.0)
    return (1, sign * float(value)) if isinstance(value, int | float) else (2, 0.0)


def _title(id: str) -> str:
    """A measure in words; of a difference, what is taken off."""
    first, *minus = parse_ids(id)
    return label(title_of(first) + "".join(f", less the {m.reader or title_of(m)}'s" for m in minus))


def _text(value: Mapping[str, Any], id: str) -> str:
    part = parse_ids(id)[0]
    return spoken(value["value"], part.measure, part.statistic)


def _chart(document: Document) -> Chart:
    """Risk across, utility lost upwards: every release a point, the undominated joined by a line."""
    chart, points = document.charts["frontier"], document.diagnostics["points"]
    risk, utility = chart["risk"], chart["utility"]
    schemes = list(dict.fromkeys(p["scheme"] for p in points if p["scheme"] is not None))
    names = dict(zip(schemes, distinct_labels(schemes), strict=True))
    drawn = [d for d in (_datum(p, risk, utility, names) for p in points) if d is not None]
    edge = max((d["x"] for d in drawn), default=0.0) * 0.7
    drawn = [{**d, "e": d["x"] > edge} for d in drawn]
    missing = sum(p["status"] in ("measured", "unsure") for p in points) - len(drawn)
    x = _axis("x", drawn, f"{_title(risk)} ({_better(chart['risk_higher_is_better'], 'safer')})")
    y = _axis("y", drawn, f"{_title(utility)} ({_better(chart['utility_higher_is_better'], 'more useful')})")
    looks = [*names.values(), TRIVIAL]
    colour = {
        "field": "s",
        "type": "nominal",
        "scale": {"domain": looks, "range": [*cycle(COLOURS, len(names)), "#333333"]},
        "legend": {"title": None, "orient": "top", "columns": 2, "labelLimit": 380, "symbolOpacity": 1},
    }
    shape = {**colour, "scale": {"domain": looks, "range": [*cycle(SHAPES, len(names)), "cross"]}}
    tips = [tip("n", "release"), tip("xt", _title(risk)), tip("yt", _title(utility)), tip("g", "groups", ",")]
    place: Spec = {"x": x, "y": y}
    seen = {"condition": {"param": "pick", "value": 1}, "value": 0.15}
    marks = {**place, "color": colour, "shape": shape, "tooltip": [*tips, tip("w", "note")], "opacity": seen}
    joined = {"type": "line", "color": "#666", "strokeWidth": 1.5, "strokeDash": [4, 3]}
    bounded = {"type": "tick", "orient": "vertical", "color": "#000", "thickness": 1.5, "size": 16}
    ring = {"type": "point", "filled": False, "size": 330, "stroke": "#000", "strokeWidth": 2}
    params = [
        {"name": "view", "select": "interval", "bind": "scales"},
        {"name": "pick", "select": {"type": "point", "fields": ["s"]}, "bind": "legend"},
    ]
    layers: list[Spec] = [
        *_limit_lines(document, risk, utility),
        _layer("datum.u", joined, {**place, "order": {"field": "x", "type": "quantitative"}}),
        {
            "mark": {"type": "rule", "color": "#999"},
            "encoding": {**place, "x": {**x, "field": "xl"}, "x2": {"field": "xh"}},
        },
        {"params": params, **_layer("!datum.h", {"type": "point", "filled": True, "size": 70}, marks)},
        _layer("datum.h", {"type": "point", "filled": False, "size": 70, "strokeWidth": 2}, marks),
        _layer("datum.b", bounded, place),
        _layer("datum.r", ring, place),
        _layer("datum.n == chosen", {**ring, "size": 560, "stroke": "#0b4f8a", "strokeWidth": 3}, place),
        *(_names(place, right) for right in (False, True)),
    ]
    caption = (
        "Each point is a release; dashed: those that no other release dominates. The ring is the recommendation. "
        "Hollow: chains did not converge or were not precise. A bar through a point: its requirement bounds this very "
        "risk. Drag and scroll to look closer, double-click to go back; click a scheme's name to see it alone."
        + (f" {missing} at infinity or unknown are in the table alone." if missing else "")
    )
    return Chart(
        title="Risk against utility",
        caption=caption,
        spec={
            "description": f"{_title(risk)} across, {_title(utility)} upwards, one point a release.",
            "data": {"values": drawn},
            "params": [{"name": "chosen", "value": ""}],  # a page may ring a point
            "width": 860,
            "height": 420,
            "layer": layers,
        },
        head=("release", _title(risk), _title(utility)),
        rows=tuple((label(p["name"]), *(_text(p["values"][id], id) for id in (risk, utility))) for p in points),
        wide=True,
    )


def _layer(kept: str, mark: Spec, encoding: Spec) -> Spec:
    """A layer of some of the points."""
    return {"transform": [{"filter": kept}], "mark": mark, "encoding": encoding}


def _names(place: Spec, right: bool) -> Spec:
    """Names beside the points that have one: to the left of those near the right edge."""
    side: Spec = {"align": "right", "dx": -11} if right else {"align": "left", "dx": 11}
    mark = {"type": "text", **side, "dy": -10, "fontSize": 11, "color": "#222"}
    return _layer(f"datum.t != '' && {'' if right else '!'}datum.e", mark, {**place, "text": {"field": "t"}})


def _datum(point: Mapping[str, Any], risk: str, utility: str, names: Mapping[str, str]) -> Spec | None:
    """One point as the chart needs it; None at infinity or unknown."""
    across, up = point["values"][risk], point["values"][utility]
    if not all(isinstance(v["value"], int | float) and isfinite(v["value"]) for v in (across, up)):
        return None
    ends = [across[end] if isinstance(across[end], int | float) else across["value"] for end in ("low", "high")]
    bounded = point["bounded_by"].get(risk, "")
    notes = [
        "recommended" if point["recommended"] else "",
        point["reason"],
        f"its requirement, {bounded}, bounds this risk" if bounded else "",
        "undominated" if point["undominated"] else "",
    ]
    trivial = point["scheme"] is None
    return {
        "n": label(point["name"]),
        "s": TRIVIAL if trivial else names[point["scheme"]],
        "x": across["value"],
        "xl": ends[0],
        "xh": ends[1],
        "y": up["value"],
        "xt": _text(across, risk),
        "yt": _text(up, utility),
        "g": point["groups"],
        "w": label("; ".join(note for note in notes if note)) or "–",
        "u": point["undominated"],
        "h": point["status"] != "measured",
        "r": point["recommended"],
        "b": bool(bounded),
        "t": label(point["name"]) if trivial or point["recommended"] else "",
    }


def _better(higher: bool, word: str) -> str:
    return f"{'more' if higher else 'less'} is {word}"


def _axis(field: str, drawn: Sequence[Spec], title: str) -> Spec:
    """From the smallest to the largest; over many sizes by logarithm, with 0 still on it."""
    values = [d[field] for d in drawn] or [0.0]
    low, high = min(values), max(values)
    positive = sorted(v for v in values if v > 0)
    scale: Spec = {"domain": [low - 0.04 * (high - low), high + 0.04 * (high - low) or 1.0], "nice": False}
    if low >= 0 and positive and high > _FROM_ZERO_TO * positive[len(positive) // 4]:
        scale = {"type": "symlog", "constant": positive[len(positive) // 4], "domain": [0, 1.1 * high]}
    drawn_axis = {"title": title, "format": ",.4~r", "tickCount": 10}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": drawn_axis}


def _limit_lines(document: Document, risk: str, utility: str) -> list[Spec]:
    """A line for each limit on one of the two scales."""
    found = []
    for limit in map(parse_limit, document.settings["limits"]):
        id = " - ".join(part.id for part in limit.parts)
        if id in (risk, utility):
            where = {"x" if id == risk else "y": {"field": "v", "type": "quantitative"}}
            mark = {"type": "rule", "color": "#a4211b", "strokeDash": [2, 2]}
            found.append({"data": {"values": [{"v": limit.number}]}, "mark": mark, "encoding": where})
    return found

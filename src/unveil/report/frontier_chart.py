"""The chart of a frontier as a Vega-Lite spec with its data inline, and the same numbers as a table."""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from unveil.audit.document import Document
from unveil.audit.measures import parse_ids
from unveil.audit.numbers import spoken
from unveil.report.chart_parts import COLOURS, SHAPES, Chart, Spec, cycle, tip
from unveil.report.wording import distinct_labels, label

__all__ = ["MEASURES", "frontier_chart", "measure_title", "value_text"]

MEASURES = {
    "privacy_loss.max": "Privacy loss, the worst-off person",
    "privacy_loss.mean": "Privacy loss, average",
    "relative_threat.max": "Relative threat, the worst-off person",
    "global_threat - learner.global_threat": "Guessed right beyond the learner",
    "prosecutor_risk.max": "Prosecutor risk, the worst-off person",
    "delta": "One record's largest effect",
    "distance.mean": "One record's mean effect",
    "utility_loss": "Utility lost for large populations",
    "query_error": "Error of random counts",
    "certainty_penalty": "Detail lost in the cells",
    "discernibility": "Discernibility",
    "average_group_size": "Rows a group",
    "kl_divergence": "Divergence from the original",
    "rule_recall": "Association rules still found",
    "information_loss": "Information loss in groups",
    "classification_accuracy": "Right guesses of a classifier",
    "k_anonymity": "Rows that look alike, at least",
}
TRIVIAL = "trivial"
_FROM_ZERO_TO = 200  # times the smallest: above that a linear scale shows nothing but the largest
_PLAIN_LIMIT = re.compile(r"(.*\S)\s*(<=|>=|<|>)\s*(\S+)\s*", re.DOTALL)


def measure_title(id: str) -> str:
    """A measure in words where there are any."""
    return label(MEASURES.get(id, id))


def value_text(value: Mapping[str, Any], id: str) -> str:
    """A value in its unit."""
    part = parse_ids(id)[0]
    return spoken(value["value"], part.measure, part.statistic)


def frontier_chart(document: Document) -> Chart:
    """Risk across, utility lost upwards: every release a point, the undominated joined by a line."""
    chart, points = document.charts["frontier"], document.diagnostics["points"]
    risk, utility = chart["risk"], chart["utility"]
    schemes = list(dict.fromkeys(p["scheme"] for p in points if p["scheme"] is not None))
    names = dict(zip(schemes, distinct_labels(schemes), strict=True))
    drawn = [d for d in (_datum(p, risk, utility, names) for p in points) if d is not None]
    edge = max((d["x"] for d in drawn), default=0.0) * 0.7
    drawn = [{**d, "e": d["x"] > edge} for d in drawn]
    missing = sum(p["status"] in ("measured", "unsure") for p in points) - len(drawn)
    x = _axis("x", drawn, f"{measure_title(risk)} ({_better(chart['risk_higher_is_better'], 'safer')})")
    y = _axis("y", drawn, f"{measure_title(utility)} ({_better(chart['utility_higher_is_better'], 'more useful')})")
    looks = [*names.values(), TRIVIAL]
    colour = {
        "field": "s",
        "type": "nominal",
        "scale": {"domain": looks, "range": [*cycle(COLOURS, len(names)), "#333333"]},
        "legend": {"title": None, "orient": "top", "columns": 2, "labelLimit": 380, "symbolOpacity": 1},
    }
    shape = {**colour, "scale": {"domain": looks, "range": [*cycle(SHAPES, len(names)), "cross"]}}
    tips = [
        tip("n", "release"),
        tip("xt", measure_title(risk)),
        tip("yt", measure_title(utility)),
        tip("g", "groups", ","),
        tip("w", "note"),
    ]
    place: Spec = {"x": x, "y": y}
    seen = {"condition": {"param": "pick", "value": 1}, "value": 0.15}
    marks = {**place, "color": colour, "shape": shape, "tooltip": tips, "opacity": seen}
    layers: list[Spec] = [
        *_limit_lines(document, risk, utility),
        {
            "transform": [{"filter": "datum.u"}],
            "mark": {"type": "line", "color": "#666", "strokeWidth": 1.5, "strokeDash": [4, 3]},
            "encoding": {**place, "order": {"field": "x", "type": "quantitative"}},
        },
        {
            "mark": {"type": "rule", "color": "#999"},
            "encoding": {**place, "x": {**x, "field": "xl"}, "x2": {"field": "xh"}},
        },
        {
            "params": [
                {"name": "view", "select": "interval", "bind": "scales"},
                {"name": "pick", "select": {"type": "point", "fields": ["s"]}, "bind": "legend"},
            ],
            "transform": [{"filter": "!datum.h"}],
            "mark": {"type": "point", "filled": True, "size": 70},
            "encoding": marks,
        },
        {
            "transform": [{"filter": "datum.h"}],
            "mark": {"type": "point", "filled": False, "size": 70, "strokeWidth": 2},
            "encoding": marks,
        },
        {
            "transform": [{"filter": "datum.b"}],
            "mark": {"type": "tick", "orient": "vertical", "color": "#000", "thickness": 1.5, "size": 16},
            "encoding": place,
        },
        {
            "transform": [{"filter": "datum.r"}],
            "mark": {"type": "point", "filled": False, "size": 330, "stroke": "#000", "strokeWidth": 2},
            "encoding": place,
        },
        *(_names(place, right) for right in (False, True)),
    ]
    caption = (
        "Each point is a release; dashed: the ones that no other dominates. The ring is the recommendation. Hollow: "
        "chains did not converge or were not precise. A bar through a point: its requirement bounds this very risk. "
        "Drag and scroll to look closer, double-click to go back; click a scheme's name to see it alone."
        + (f" {missing} at infinity or unknown are in the table alone." if missing else "")
    )
    rows = tuple((label(p["name"]), *(value_text(p["values"][id], id) for id in (risk, utility))) for p in points)
    return Chart(
        title="Risk against utility",
        caption=caption,
        spec={
            "description": f"{measure_title(risk)} across, {measure_title(utility)} upwards, one point a release.",
            "data": {"values": drawn},
            "width": 860,
            "height": 420,
            "layer": layers,
        },
        head=("release", measure_title(risk), measure_title(utility)),
        rows=rows,
        wide=True,
    )


def _names(place: Spec, right: bool) -> Spec:
    """Names beside the points that have one: to the left of those near the right edge."""
    side: Spec = {"align": "right", "dx": -11} if right else {"align": "left", "dx": 11}
    return {
        "transform": [{"filter": f"datum.t != '' && {'' if right else '!'}datum.e"}],
        "mark": {"type": "text", **side, "dy": -10, "fontSize": 11, "color": "#222"},
        "encoding": {**place, "text": {"field": "t"}},
    }


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
        "xt": value_text(across, risk),
        "yt": value_text(up, utility),
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
    positive = [v for v in values if v > 0]
    scale: Spec = {"domain": [low - 0.04 * (high - low), high + 0.04 * (high - low) or 1.0], "nice": False}
    if low >= 0 and positive and high > _FROM_ZERO_TO * sorted(positive)[len(positive) // 4]:
        scale = {"type": "symlog", "constant": sorted(positive)[len(positive) // 4], "domain": [0, 1.1 * high]}
    return {
        "field": field,
        "type": "quantitative",
        "scale": scale,
        "axis": {"title": title, "format": ",.4~r", "tickCount": 10},
    }


def _limit_lines(document: Document, risk: str, utility: str) -> list[Spec]:
    """A line for each limit on one of the two scales."""
    found = []
    for text in document.settings["limits"]:
        form = _PLAIN_LIMIT.fullmatch(text)
        if form is not None and form[1] in (risk, utility):
            across = form[1] == risk
            where = {"field": "v", "type": "quantitative"}
            found.append(
                {
                    "data": {"values": [{"v": float(form[3])}]},
                    "mark": {"type": "rule", "color": "#a4211b", "strokeDash": [2, 2]},
                    "encoding": {"x" if across else "y": where},
                }
            )
    return found

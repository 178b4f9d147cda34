"""Charts of beliefs in an audit as Vega-Lite specs with their data inline, each with the same numbers as a table.

Only binned counts are drawn. Field names are ours: labels of the data occur as values alone, never as names of fields
or in expressions.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unveil.audit.numbers import count, share, total
from unveil.report.chart_parts import (
    COLOURS,
    SHAPES,
    WIDTH,
    WITHHELD_COLOUR,
    Chart,
    Spec,
    axis,
    cycle,
    histogram,
    line,
    looks_of,
    range_tips,
    tip,
    withheld,
)
from unveil.report.wording import label, reader_name

__all__ = [
    "Chart",
    "belief_density",
    "calibration",
    "convergence",
    "relative_threat",
]


def belief_density(name: str, bins: Mapping[str, Any], least: int, *, truth: bool) -> Chart:
    """Learner's belief against an attacker's, as counts of people (figures 2 and 3 of Boreale et al. 2020)."""
    edges, counts = bins["edges"], bins["counts"]
    cells = [
        {"x": edges[i], "x2": edges[i + 1], "y": edges[j], "y2": edges[j + 1], "people": n}
        for i, row in enumerate(counts)
        for j, n in enumerate(row)
        if n
    ]
    most = max((c["people"] for c in cells), default=1)
    hidden = any(n is None for row in counts for n in row)
    fewest = least if hidden else 1
    what = "belief in the true value" if truth else "belief in the attacker's guess"
    place: Spec = {
        "x": axis("x", f"learner's {what}", values=[0, 0.2, 0.4, 0.6, 0.8, 1], domain=[0, 1], form="%"),
        "x2": {"field": "x2"},
        "y": axis("y", f"{reader_name(name)}'s {what}", values=[0, 0.2, 0.4, 0.6, 0.8, 1], domain=[0, 1], form="%"),
        "y2": {"field": "y2"},
    }
    colour = {
        "field": "people",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [fewest, max(fewest + 1, most)], "range": ["#d3e4f3", "#08306b"]},
        "legend": {"title": "people", "format": "~s", "tickCount": 4, "gradientLength": 150},
    }
    tips = [tip("people", "people", ","), *range_tips("x", "learner"), *range_tips("y", reader_name(name))]
    layers: list[Spec] = [
        {"data": {"values": cells}, "mark": "rect", "encoding": {**place, "color": colour, "tooltip": tips}},
        line((0, 0, 1, 1), [4, 3]),
        line((0, 0, 0.5, 1), [1, 2]),
    ]
    step = max(1, math.ceil(len(counts) / 5))
    starts = range(0, len(counts), step)
    rows = tuple(
        (
            _range(edges, i, step),
            *(total([n for row in counts[i : i + step] for n in row[j : j + step]], least) for j in starts),
        )
        for i in starts
    )
    return Chart(
        title=f"Learner against {reader_name(name)}",
        caption=(
            "Each square counts people. On the dashed line the attacker believes as much as somebody who only knows "
            "the population; above the dotted line at least twice as much."
            + (f" Grey: fewer than {least} people, or none." if hidden else "")
        ),
        spec={
            "description": f"Density of {what}: learner across, {reader_name(name)} upwards.",
            "width": 270,
            "height": 270,
            "view": {"fill": WITHHELD_COLOUR if hidden else None},
            "layer": layers,
        },
        head=("learner ↓ attacker →", *(_range(edges, j, step) for j in starts)),
        rows=rows,
    )


def relative_threat(series: Mapping[str, Mapping[str, Any]], least: int, title: str) -> Chart:
    """How many times likelier the right guess becomes: log2 of Ti, one line a reader or release."""
    names = [label(name) for name in series]
    values: list[Spec] = []
    hidden: dict[float, float] = {}
    rows: list[tuple[str, ...]] = []
    for name, bins in zip(names, series.values(), strict=True):
        edges, counts = _cropped(bins["edges"], bins["counts"])
        for i, n in enumerate([*counts, 0]):  # the last step needs its end
            values.append({"s": name, "x": edges[i], "n": n or 0})
            if n is None:
                hidden[edges[i]] = edges[i + 1]
        rows += [
            (name, _multiples(edges[i], edges[i + 1]), count(n, least)) for i, n in enumerate(counts) if n is None or n
        ]
        if bins.get("infinite") != 0:
            rows.append((name, "infinite", count(bins.get("infinite"), least)))
    times = {
        "title": "times likelier than under the learner (Ti, log scale)",
        "labelExpr": "datum.value < 0 ? '1/' + pow(2, -datum.value) : '' + pow(2, datum.value)",
        "tickMinStep": 1,
    }
    looks = looks_of(names, {"symbolType": "stroke", "symbolSize": 300, "symbolStrokeWidth": 2})
    place: Spec = {
        "x": {"field": "x", "type": "quantitative", "axis": times, "scale": {"nice": False}},
        "y": {
            "field": "n",
            "type": "quantitative",
            "stack": None,
            "title": "people threatened",
            "axis": {"tickMinStep": 1},
        },
    }
    layers: list[Spec] = [
        {
            "mark": {"type": "area", "interpolate": "step-after", "fillOpacity": 0.15},
            "encoding": {**place, "color": looks["color"]},
        },
        {
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5},
            "encoding": {**place, **looks},
        },
        {
            "data": {"values": [{"x": 1}]},
            "mark": {"type": "rule", "strokeDash": [1, 2], "color": "#333"},
            "encoding": {"x": {"field": "x", "type": "quantitative"}},
        },
    ]
    layers = withheld(hidden, least) + layers
    notes = [
        f"{name}: skewness {_plain(bins.get('skewness'))}"
        + (f", {count(bins.get('infinite'), least)} infinite" if bins.get("infinite") != 0 else "")
        + (f", {bins['below']:,} left of the first bar and counted in it" if bins.get("below") else "")
        for name, bins in zip(names, series.values(), strict=True)
    ]
    return Chart(
        title=title,
        caption=(
            f"Right of the dotted line people are at least twice as exposed. {'; '.join(notes)}."
            + (f" Grey: fewer than {least} people." if hidden else "")
        ),
        spec={"description": title, "data": {"values": values}, "width": WIDTH, "height": 200, "layer": layers},
        head=("", "times likelier", "people"),
        rows=tuple(rows),
    )


def calibration(series: Mapping[str, Mapping[str, Any]], least: int, title: str) -> Chart | None:
    """Whether those believed at p are right a share p of the time; nothing where the truth is not known."""
    names = [label(name) for name in series]
    values, rows = [], []
    for name, bins in zip(names, series.values(), strict=True):
        parts = zip(*(bins.get(k) or () for k in ("people", "mean_belief", "right")), strict=False)
        for i, (people, belief, right) in enumerate(parts):
            if belief is None or right is None:
                continue
            values.append({"s": name, "x": round(belief, 4), "y": round(right, 4), "n": people or least})
            rows.append((name, _range(bins["edges"], i, 1), count(people, least), share(belief), share(right)))
    if not values:
        return None
    encoding: Spec = {
        "x": axis("x", "how sure the reader is", domain=[0, 1], form="%"),
        "y": axis("y", "share of guesses that are right", domain=[0, 1], form="%"),
        **looks_of(names, {}),
    }
    del encoding["strokeDash"]  # the shapes say it
    points: Spec = {
        **encoding,
        "shape": {**encoding["color"], "scale": {"domain": names, "range": cycle(SHAPES, len(names))}},
        "size": {"field": "n", "type": "quantitative", "legend": None, "scale": {"range": [25, 220]}},
        "tooltip": [
            tip("s", ""),
            tip("x", "sure", ".1%"),
            tip("y", "right", ".1%"),
            tip("n", "people", ","),
        ],
    }
    return Chart(
        title=title,
        caption="On the dashed line a reader who is 70% sure is right 70% of the time. Larger points are more people.",
        spec={
            "description": title,
            "width": WIDTH,
            "height": 260,
            "data": {"values": values},
            "layer": [
                line((0, 0, 1, 1), [4, 3]),
                {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": encoding},
                {"mark": {"type": "point", "filled": True, "opacity": 0.85}, "encoding": points},
            ],
        },
        head=("", "sure", "people", "mean belief", "right"),
        rows=tuple(rows),
    )


def convergence(name: str, panels: Mapping[str, Any], least: int) -> Chart | None:
    """R-hat and Monte-Carlo error over beliefs, and each chain's own answer; nothing for an exact reader."""
    drawn: list[Spec] = []
    rows: list[tuple[str, ...]] = []
    for key, words in (("r_hat", "R-hat"), ("error", "Monte-Carlo error")):
        bins = panels.get(key)
        if not bins:
            continue
        edges, counts = bins["edges"], bins["counts"]
        drawn.append(histogram(edges, counts, words, least))
        rows += [
            (words, f"{edges[i]:.4g} – {edges[i + 1]:.4g}", count(n, least)) for i, n in enumerate(counts) if n != 0
        ]
    chains = [c for c in panels.get("chains") or () if c is not None]
    if chains:
        drawn.append(
            {
                "data": {"values": [{"c": i, "y": c} for i, c in enumerate(chains, 1)]},
                "width": max(90, min(190, 26 * len(chains))),
                "height": 130,
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1, "color": COLOURS[1]},
                "encoding": {
                    "x": {"field": "c", "type": "ordinal", "title": "chain", "axis": {"labelAngle": 0}},
                    "y": {
                        "field": "y",
                        "type": "quantitative",
                        "title": "global threat",
                        "axis": {"format": ".1~%", "tickCount": 4},
                        "scale": {"zero": False, "domain": _around(chains)},
                    },
                    "tooltip": [tip("c", "chain"), tip("y", "global threat", ".2%")],
                },
            }
        )
        rows += [("global threat", f"chain {i}", share(c)) for i, c in enumerate(chains, 1)]
    if not drawn:
        return None
    title = f"Convergence of {reader_name(name)}"
    return Chart(
        title=title,
        caption="Chains that agree have R-hat near 1, below 1.1 at least, and the same global threat within its error.",
        spec={"description": title, "hconcat": drawn, "spacing": 25},
        head=("", "", "beliefs or value"),
        rows=tuple(rows),
        wide=True,
    )


def _cropped(edges: Sequence[float], counts: Sequence[int | None]) -> tuple[Sequence[float], Sequence[int | None]]:
    """Without the empty bins at both ends, but for those from a half to four times."""
    last = len(counts) - 1
    inside = [i for i, n in enumerate(counts) if n != 0 or (edges[i] >= -1 and edges[i + 1] <= 2)] or [0, last]
    return edges[inside[0] : inside[-1] + 2], counts[inside[0] : inside[-1] + 1]


def _multiple(edge: float) -> str:
    return f"{2**edge:.3g}"


def _multiples(low: float, high: float) -> str:
    return f"{_multiple(low)} – {_multiple(high)} times"


def _plain(value: Any) -> str:
    return "unknown" if value is None else "∞" if value == "inf" else f"{value:.2f}"


def _around(values: Iterable[float]) -> list[float]:
    low, high = min(values := list(values)), max(values)
    room = max(0.005, (high - low) * 0.2)
    return [low - room, high + room]


def _range(edges: Sequence[float], i: int, step: int) -> str:
    return f"{100 * edges[i]:.3g}–{100 * edges[min(i + step, len(edges) - 1)]:.3g}%"

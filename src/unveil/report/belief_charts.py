"""Charts of what readers believe in an audit: binned counts alone, each with the same numbers as a table."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from unveil.audit.numbers import count, share, total
from unveil.report.blocks import Chart
from unveil.report.charts import (
    COLOURS,
    SHAPES,
    WIDTH,
    WITHHELD_COLOUR,
    Spec,
    axis,
    bars,
    cycle,
    line,
    looks_of,
    rule,
    tip,
    withheld,
)
from unveil.report.wording import label, reader_name

__all__ = ["belief_density", "calibration", "convergence", "group_sizes", "relative_threat", "subgroups"]

TENTHS = [0, 0.2, 0.4, 0.6, 0.8, 1]
MOST_LABEL_PIXELS = 150


def belief_density(
    name: str, bins: Mapping[str, Any], least: int, *, truth: bool, at: Mapping[str, int] | None = None
) -> Chart:
    """Learner's belief against an attacker's, as counts of people (figures 2 and 3 of Boreale et al. 2020).

    `at`: the place of release and attribute in the document, where a page may be asked who is in a square.
    """
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
    who = reader_name(name)
    what = "belief in the true value" if truth else "belief in the attacker's guess"
    place: Spec = {
        "x": axis("x", f"learner's {what}", values=TENTHS, domain=[0, 1], form="%"),
        "x2": {"field": "x2"},
        "y": axis("y", f"{who}'s {what}", values=TENTHS, domain=[0, 1], form="%"),
        "y2": {"field": "y2"},
    }
    colour = {
        "field": "people",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [fewest, max(fewest + 1, most)], "range": ["#d3e4f3", "#08306b"]},
        "legend": {"title": "people", "format": "~s", "tickCount": 4, "gradientLength": 150},
    }
    ends = [
        tip(f, f"{n}, {w}", ".0%") for a, n in (("x", "learner"), ("y", who)) for f, w in ((a, "from"), (f"{a}2", "to"))
    ]
    layers: list[Spec] = [
        {
            "data": {"values": cells},
            "mark": "rect",
            "encoding": {**place, "color": colour, "tooltip": [tip("people", "people", ","), *ends]},
        },
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
        title=f"Learner against {who}",
        caption=(
            "Each square counts people. On the dashed line knowing that the person is in the file adds nothing to "
            "what it teaches about people in general; above the dotted line it doubles the belief or more."
            + (f" Grey: fewer than {least} people, or none." if hidden else "")
        ),
        spec={
            **({} if at is None else {"usermeta": {"who": {**at, "reader": name}}}),
            "description": f"Density of {what}: learner across, {who} upwards.",
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
    notes = []
    for name, bins in zip(names, series.values(), strict=True):
        edges, counts = _cropped(bins["edges"], bins["counts"])
        for i, n in enumerate([*counts, 0]):  # the last step needs its end
            values.append({"s": name, "x": edges[i], "n": n or 0})
            if n is None:
                hidden[edges[i]] = edges[i + 1]
        rows += [
            (name, f"{2 ** edges[i]:.3g} – {2 ** edges[i + 1]:.3g} times", count(n, least))
            for i, n in enumerate(counts)
            if n is None or n
        ]
        skewness = bins.get("skewness")
        said = "unknown" if skewness is None else "∞" if skewness == "inf" else f"{skewness:.2f}"
        note = f"{name}: skewness {said}"
        if bins.get("infinite") != 0:
            rows.append((name, "infinite", count(bins.get("infinite"), least)))
            note += f", {count(bins.get('infinite'), least)} infinite"
        notes.append(note + (f", {bins['below']:,} in the first bar lie to its left" if bins.get("below") else ""))
    times = {
        "title": "times likelier than under the learner (Ti, log scale)",
        "labelExpr": "datum.value < 0 ? '1/' + pow(2, -datum.value) : '' + pow(2, datum.value)",
        "tickMinStep": 1,
    }
    looks = looks_of(names, {"symbolType": "stroke", "symbolSize": 300, "symbolStrokeWidth": 2})
    place: Spec = {
        "x": {"field": "x", "type": "quantitative", "axis": times, "scale": {"nice": False}},
        "y": {
            **axis("n", "people threatened"),
            "stack": None,
            "axis": {"title": "people threatened", "tickMinStep": 1},
        },
    }
    area = {"type": "area", "interpolate": "step-after", "fillOpacity": 0.15}
    layers: list[Spec] = [
        *withheld(hidden, least),
        {"mark": area, "encoding": {**place, "color": looks["color"]}},
        {"mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5}, "encoding": {**place, **looks}},
        rule("x", 1),
    ]
    return Chart(
        title=title,
        caption=f"Right of the dotted line people are at least twice as exposed. {'; '.join(notes)}."
        + (f" Grey: fewer than {least} people." if hidden else ""),
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
    place: Spec = {
        "x": axis("x", "how sure the reader is", domain=[0, 1], form="%"),
        "y": axis("y", "share of guesses that are right", domain=[0, 1], form="%"),
        "color": looks_of(names, {})["color"],
    }
    points: Spec = {
        **place,
        "shape": {**place["color"], "scale": {"domain": names, "range": cycle(SHAPES, len(names))}},
        "size": {"field": "n", "type": "quantitative", "legend": None, "scale": {"range": [25, 220]}},
        "tooltip": [tip("s", ""), tip("x", "sure", ".1%"), tip("y", "right", ".1%"), tip("n", "people", ",")],
    }
    layers = [
        line((0, 0, 1, 1), [4, 3]),
        {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": place},
        {"mark": {"type": "point", "filled": True, "opacity": 0.85}, "encoding": points},
    ]
    return Chart(
        title=title,
        caption="On the dashed line a reader who is 70% sure is right 70% of the time. Larger points are more people.",
        spec={"description": title, "width": WIDTH, "height": 260, "data": {"values": values}, "layer": layers},
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
        values = [
            {"x": f"{low:.4g}–{high:.4g}", "n": n or 0, "t": f"<{least}" if n is None else ""}
            for (low, high), n in zip(pairwise(bins["edges"]), bins["counts"], strict=True)
        ]
        drawn.append(bars(values, words, "beliefs", width=220, height=130, angle=-45))
        rows += [(words, str(v["x"]), count(n, least)) for v, n in zip(values, bins["counts"], strict=True) if n != 0]
    chains = [c for c in panels.get("chains") or () if c is not None]
    if chains:
        room = max(0.005, (max(chains) - min(chains)) * 0.2)
        up = axis("y", "global threat", domain=[min(chains) - room, max(chains) + room], form=".1~%")
        drawn.append(
            {
                "data": {"values": [{"c": i, "y": c} for i, c in enumerate(chains, 1)]},
                "width": max(90, min(190, 26 * len(chains))),
                "height": 130,
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1, "color": COLOURS[1]},
                "encoding": {
                    "x": axis("c", "chain", names=True),
                    "y": up,
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


def subgroups(
    attacker: str, attribute: str, groups: Sequence[Mapping[str, Any]], labels: Sequence[str], least: int
) -> Chart:
    """Of the people in each subgroup: how many are threatened, and how many at least twice as exposed."""
    shown = {"people": "people", "threatened": "guessed right", "twice": "at least twice as exposed"}
    named = list(zip(labels, groups, strict=True))
    hidden = [{"subgroup": name, "t": f"<{least}"} for name, group in named if group["people"] is None]
    colours = {"domain": list(shown.values()), "range": ["#d0d0d0", "#6baed6", "#c2410c"]}
    legend = {"title": None, "orient": "top", "labelLimit": 300}
    up: Spec = {"field": "subgroup", "type": "nominal", "sort": None}
    place: Spec = {
        "y": {**up, "title": None, "axis": {"labelLimit": MOST_LABEL_PIXELS}, "scale": {"domain": list(labels)}},
        "x": {"field": "n", "type": "quantitative", "stack": None, "title": "people", "axis": {"tickMinStep": 1}},
        "color": {"field": "which", "type": "nominal", "legend": legend, "scale": colours},
        "tooltip": [tip("subgroup", ""), tip("which", "which"), tip("n", "people", ",")],
    }
    layers: list[Spec] = [
        {
            "data": {
                "values": [
                    {"subgroup": name, "which": words, "n": group[kind]}
                    for name, group in named
                    if group[kind] is not None
                ]
            },
            "mark": {"type": "bar", "height": height},
            "encoding": place,
        }
        for (kind, words), height in zip(shown.items(), (15, 10, 5), strict=True)
    ]
    if hidden:
        mark = {"type": "text", "align": "left", "dx": 3, "color": "#333"}
        written = {"y": up, "x": {"datum": 0}, "text": {"field": "t"}}
        layers.append({"data": {"values": hidden}, "mark": mark, "encoding": written})
    title = f"{label(attribute)}: exposed to {reader_name(attacker)}"
    absent = any(group[kind] is None for group in groups for kind in shown)
    return Chart(
        title=title,
        caption=f"A missing bar is fewer than {least} people." if absent else "",
        spec={"description": title, "width": 300, "height": {"step": 19}, "layer": layers},
        head=(label(attribute), "people", "guessed right", "twice as exposed"),
        rows=tuple((name, *(count(group[kind], least) for kind in shown)) for name, group in named),
    )


def group_sizes(bins: Mapping[str, Any], least: int, name: str) -> Chart:
    """How many groups there are of each size, and how many rows stand in them."""
    sizes = [_sizes(low, high) for low, high in pairwise(bins["edges"])]
    panels = []
    for kind, words, colour in (("groups", "groups", COLOURS[0]), ("rows", "rows in them", COLOURS[2])):
        values = [
            {"x": size, "n": n or 0, "t": f"<{least}" if n is None else ""}
            for size, n in zip(sizes, bins[kind], strict=True)
        ]
        panels.append(bars(values, "group size (rows)", words, colour=colour, height=105, angle=-45))
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


def _cropped(edges: Sequence[float], counts: Sequence[int | None]) -> tuple[Sequence[float], Sequence[int | None]]:
    """Without the empty bins at both ends, but for those from a half to four times."""
    last = len(counts) - 1
    inside = [i for i, n in enumerate(counts) if n != 0 or (edges[i] >= -1 and edges[i + 1] <= 2)] or [0, last]
    return edges[inside[0] : inside[-1] + 2], counts[inside[0] : inside[-1] + 1]


def _range(edges: Sequence[float], i: int, step: int) -> str:
    return f"{100 * edges[i]:.3g}–{100 * edges[min(i + step, len(edges) - 1)]:.3g}%"

"""The report of a differential test: figures 1, 2 and 5 of Kassem et al. 2019 from a document alone, offline."""

from collections.abc import Sequence
from typing import Any

from unveil.audit.document import Document, Finding
from unveil.audit.numbers import spoken
from unveil.report.chart_parts import COLOURS, SHAPES, WIDTH, Chart, Spec, cycle, looks_of, tip
from unveil.report.officer import Cell, Grid
from unveil.report.page import render_page
from unveil.report.verdicts import SIGNS, banner, read_document
from unveil.report.wording import distinct_labels, label

__all__ = ["cumulative_chart", "delta_chart", "render_differential"]

READING = {"coordinates": "of each coordinate, summed", "vectors": "between prediction vectors"}
TITLES = {
    "delta": "Worst case: delta",
    "distance.mean": "Average case: mean",
    "distance.median": "Median",
    "distance.q95": "95% of records are below",
    "distance.q99": "99% of records are below",
    "membership_auc": "Membership, one threshold (AUC)",
    "membership_auc.paired": "Membership, both models known",
    "delta.after_removal": "Delta after removal",
    "removed": "Records removed",
}
ENDED = {
    "reached": "reached",
    "stopped": "stopped by the user before it was reached",
    "rounds": "given up after so many rounds",
    "requirement": "not reached: the remaining table can no longer meet the requirement",
    "too many": "not reached: more than half of the table would have to be removed",
    "failed": "nobody tested lies above it, but without some records the sanitizer failed",
}
LOWEST = 1e-5  # what is drawn at the left end of the logarithmic axis


def render_differential(document: Document | dict[str, Any]) -> str:
    """One page. The same document gives the same page."""
    read = read_document(document, "differential")
    facts, settings = read.diagnostics, read.settings
    names = dict(zip(settings["sanitizers"], distinct_labels(settings["sanitizers"]), strict=True))
    noisy = any(p["parameter"] == "epsilon" for p in read.charts["delta"])
    charts = [c for c in (delta_chart(read.charts["delta"], names, noisy=noisy),) if c is not None]
    if read.charts["cumulative"]:
        charts.append(cumulative_chart(read.charts["cumulative"], names, noisy=noisy))
    about = [
        ("Table", label(settings["original"])),
        ("Inferred", label(settings["attribute"])),
        ("Model", label(settings["model"])),
        ("Distance", f"{settings['distance']}, {READING[settings['reading']]}"),
        ("Class priors", "given" if settings["prior"] else "those of the release"),
        ("Seed", str(settings["seed"])),
    ]
    return render_page(
        "differential.html.j2",
        verdict=banner(facts["verdict"]),
        title=", ".join(names.values()),
        about=about,
        sentences=[(names[t["name"]], t["sentence"]) for t in facts["tests"]],
        measures=_measures(read.findings, names),
        tests=_tests(facts["tests"], names),
        failures=_failures(facts["failures"], names),
        removals=[_removal(r, names) for r in facts["removals"]],
        remarks=facts["remarks"],
        charts=charts,
        limits=_limits(read.findings, names),
    )


def delta_chart(points: Sequence[dict[str, Any]], names: dict[str, str], *, noisy: bool) -> Chart | None:
    """Figure 1, and 5a for noise: worst and average case by parameter; nothing without a sweep."""
    swept = [p for p in points if p["parameter"] is not None]
    if not swept:
        return None
    kinds = (("delta", "worst case (delta)"), ("mean", "mean"), ("median", "median"))
    series = [f"{words}, by {label(k)}" for k in dict.fromkeys(p["parameter"] for p in swept) for _, words in kinds]
    values, order = [], {str(p["value"]): p["value"] for p in swept}
    ticks = sorted(order, key=lambda t: float(order[t]))
    for point in swept:
        for key, words in kinds:
            if point[key] not in (None, "inf"):
                name = f"{words}, by {label(point['parameter'])}"
                values.append({"s": name, "x": _tick(point["value"]), "y": point[key]})
    looks = looks_of(series, {})
    shape = {**looks["color"], "scale": {"domain": series, "range": cycle(SHAPES, len(series))}}
    place: Spec = {
        "x": {
            "field": "x",
            "type": "ordinal",
            "sort": [_tick(order[t]) for t in ticks],
            "title": " or ".join(label(p) for p in dict.fromkeys(p["parameter"] for p in swept)),
            "axis": {"labelAngle": 0},
        },
        "y": {"field": "y", "type": "quantitative", "title": "distance", "axis": {"tickCount": 5}},
        "tooltip": [tip("s", ""), tip("x", "parameter"), tip("y", "distance", ".4f")],
    }
    return Chart(
        title="Delta by parameter" + (" (figure 5a)" if noisy else " (figure 1)"),
        caption="The worst case need not fall where the average does: one record decides it.",
        spec={
            "description": "Largest, mean and median distance by parameter.",
            "width": WIDTH,
            "height": 240,
            "data": {"values": values},
            "layer": [
                {"mark": {"type": "line"}, "encoding": {**place, **looks}},
                {
                    "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
                    "encoding": {**place, "color": looks["color"], "shape": shape},
                },
            ],
        },
        head=("sanitizer", "delta", "mean", "median"),
        rows=tuple((names[p["name"]], *(spoken(p[k], "distance") for k in ("delta", "mean", "median"))) for p in swept),
    )


def cumulative_chart(bins: dict[str, dict[str, Any]], names: dict[str, str], *, noisy: bool) -> Chart:
    """Figure 2, and 5b for noise: the share of records with at most a distance, and where the worst lies."""
    values, ends, rows = [], [], []
    for name, chart in bins.items():
        total = max(chart["records"], 1)
        for edge, n in zip(chart["edges"], chart["counts"], strict=True):
            values.append({"s": names[name], "x": max(edge, LOWEST), "y": n / total})
        shares = [n / total for n in chart["counts"]]
        marks = [next((e for e, y in zip(chart["edges"], shares, strict=True) if y >= q), None) for q in (0.5, 0.9, 1)]
        if marks[2] is not None:
            ends.append({"s": names[name], "x": max(marks[2], LOWEST), "y": 1.0})
        rows.append((names[name], *("beyond" if m is None else f"≤ {m:.3g}" for m in marks)))
    looks = looks_of([names[name] for name in bins], {})
    across: Spec = {
        "field": "x",
        "type": "quantitative",
        "title": "distance d (log scale; what is smaller is drawn at the left end)",
        "scale": {"type": "log", "domain": [LOWEST, 2], "nice": False},
        "axis": {"format": "~g", "values": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1]},
    }
    up: Spec = {
        "field": "y",
        "type": "quantitative",
        "title": "share of records",
        "scale": {"domain": [0, 1]},
        "axis": {"format": "%"},
    }
    tips = [tip("s", ""), tip("x", "distance at most", ".3g"), tip("y", "share of records", ".1%")]
    return Chart(
        title="Distances of all records" + (" (figure 5b)" if noisy else " (figure 2)"),
        caption="Higher and further left is safer on average. The point where a line reaches 100% is the worst case.",
        spec={
            "description": "Cumulative distribution of the distance over the records.",
            "width": WIDTH,
            "height": 240,
            "layer": [
                {
                    "data": {"values": values},
                    "mark": {"type": "line", "interpolate": "step-after"},
                    "encoding": {"x": across, "y": up, **looks, "tooltip": tips},
                },
                {
                    "data": {"values": ends},
                    "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1, "color": COLOURS[0]},
                    "encoding": {"x": across, "y": up, "color": looks["color"], "tooltip": tips},
                },
            ],
        },
        head=("sanitizer", "half of the records", "90%", "all"),
        rows=tuple(rows),
    )


def _tick(value: Any) -> str:
    return "∞" if value in ("inf", None) else f"{value:g}"


def _measures(findings: Sequence[Finding], names: dict[str, str]) -> Grid:
    """One column a sanitizer: worst and average case side by side."""
    shown = [name for name in names if any(f.release == name for f in findings)]
    table = {(f.release, f.id): f for f in findings}
    rows = []
    for id, words in TITLES.items():
        cells = [table.get((name, id)) for name in shown]
        if any(cells):
            rows.append((Cell(words, small=id), *(_value(c) for c in cells)))
    return Grid((Cell(""), *(Cell(names[name], kind="num") for name in shown)), tuple(rows))


def _value(finding: Finding | None) -> Cell:
    if finding is None:
        return Cell("", kind="num")
    small = ""
    if finding.low != finding.high:
        low, high = spoken(finding.low, "distance"), spoken(finding.high, "distance")
        small = f"at least {low}" if finding.high == "inf" else f"{low} – {high}"
    return Cell(spoken(finding.value, "distance"), small=small, kind="num")


def _limits(findings: Sequence[Finding], names: dict[str, str]) -> Grid | None:
    judged = [f for f in findings if f.limit is not None]
    if not judged:
        return None
    rows = [
        (
            Cell(f.limit or "", kind="code"),
            Cell(names.get(f.release, label(f.release))),
            Cell(spoken(f.value, "distance"), kind="num"),
            Cell(f"{SIGNS[f.verdict]} {f.verdict}", kind=f"verdict {f.verdict.replace(' ', '-')}"),
        )
        for f in judged
    ]
    return Grid((Cell("limit"), Cell("sanitizer"), Cell("value", kind="num"), Cell("verdict")), tuple(rows))


def _tests(tests: Sequence[dict[str, Any]], names: dict[str, str]) -> Grid:
    rows = []
    for test in tests:
        of = f"{test['tested']:,} of {test['rows']:,}"
        worst = "" if test["worst_row"] is None else f"{test['worst_row']:,}"
        floor = "" if test["noise_floor"] is None else spoken(test["noise_floor"], "distance")
        cells = (of, f"{test['failed']:,}", test["path"], f"{test['samples']:,}", floor, worst)
        rows.append((Cell(names[test["name"]]), *(Cell(c, kind="num" if c[:1].isdigit() else "") for c in cells)))
    heads = ("records left out", "failed", "how", "samples", "noise floor", "row of the worst record")
    return Grid((Cell("sanitizer"), *(Cell(h, kind="" if h == "how" else "num") for h in heads)), tuple(rows))


def _failures(failures: Sequence[dict[str, Any]], names: dict[str, str], most: int = 50) -> Grid | None:
    if not failures:
        return None
    rows = [
        (Cell(names[f["sanitizer"]]), Cell(f"{f['row']:,}", kind="num"), Cell(f["message"])) for f in failures[:most]
    ]
    if len(failures) > most:
        rows.append((Cell(f"and {len(failures) - most:,} more"), Cell(""), Cell("all are in the JSON document")))
    return Grid((Cell("sanitizer"), Cell("row", kind="num"), Cell("what it said")), tuple(rows))


def _removal(removal: dict[str, Any], names: dict[str, str], most: int = 60) -> dict[str, Any]:
    rows = tuple(
        (
            Cell(f"{number}"),
            Cell(f"{r['records']:,}", kind="num"),
            Cell(spoken(r["delta"], "distance"), kind="num"),
            Cell(f"{r['removed']:,}", kind="num"),
        )
        for number, r in enumerate(removal["rounds"], start=1)
    )
    listed = ", ".join(f"{row:,}" for row in removal["rows"][:most])
    more = len(removal["rows"]) - most
    return {
        "name": names[removal["sanitizer"]],
        "until": f"{removal['until']:g}",
        "ended": ENDED[removal["ended"]].capitalize(),
        "grid": Grid((Cell("test"), *(Cell(h, kind="num") for h in ("records", "delta", "removed after it"))), rows),
        "rows": listed + (f" and {more:,} more" if more > 0 else ""),
    }

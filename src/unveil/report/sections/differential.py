"""A differential test: the worst case beside the average case, outliers removed, and how it was tested."""

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.audit.document import Document
from unveil.audit.numbers import spoken
from unveil.report.blocks import Block, Cell, Chart, Details, Grid, Heading, Paragraph, num
from unveil.report.charts import axis, line_chart
from unveil.report.reading import Names, ids_grid
from unveil.report.wording import clean, label

__all__ = ["cases_grid", "cumulative_chart", "delta_chart", "differential"]

CASES = (
    *("delta", "distance.mean", "distance.median", "distance.q95", "distance.q99"),
    *("membership_auc", "membership_auc.paired", "delta.after_removal", "removed"),
)
ENDED = {
    "reached": "reached",
    "stopped": "stopped by the user before it was reached",
    "rounds": "not reached: the limit on rounds came first",
    "requirement": "not reached: the remaining table can no longer meet the requirement",
    "too many": "not reached: more than half of the table would have to be removed",
    "failed": "nobody tested lies above it, but without some records the sanitizer failed",
}
LOWEST = 1e-5  # what is drawn at the left end of the logarithmic axis
MOST_ROWS, MOST_FAILURES = 60, 10


def differential(document: Document, names: Names) -> list[Block]:
    """Figures 1, 2 and 5 of Kassem et al. 2019, and what led to them."""
    if document.document != "differential":
        return []
    facts, charts = document.diagnostics, document.charts
    noisy = any(p["parameter"] == "epsilon" for p in charts["delta"])
    blocks: list[Block] = [Heading("Worst case and average case", id="cases"), *cases_grid(document, names)]
    chart = delta_chart(charts["delta"], names.shown, noisy=noisy)
    blocks += [chart] if chart else []
    blocks += [cumulative_chart(charts["cumulative"], names.shown, noisy=noisy)] if charts["cumulative"] else []
    for removal in facts["removals"]:
        blocks += _removal(removal, names)
    blocks += [Heading("How it was tested", id="tested"), _tests(facts["tests"], names)]
    if facts["failures"]:
        words = "Without some records the sanitizer failed. These records are not in any figure."
        blocks += [Paragraph(words, "warning"), _failures(facts["failures"][:MOST_FAILURES], names)]
    if len(facts["failures"]) > MOST_FAILURES:
        blocks.append(Details(f"All {len(facts['failures']):,} failures", (_failures(facts["failures"], names),)))
    return blocks


def cases_grid(document: Document, names: Names) -> Sequence[Grid]:
    """One column a sanitizer: worst and average case side by side."""
    return ids_grid("Worst case and average case", document, names, CASES, alone=names.of(names.releases[0]))


def _tests(tests: Sequence[Mapping[str, Any]], names: Names) -> Grid:
    rows = []
    for test in tests:
        floor = "–" if test["noise_floor"] is None else spoken(test["noise_floor"], "distance")
        worst = "–" if test["worst_row"] is None else f"{test['worst_row']:,}"
        cells = (f"{test['tested']:,} of {test['rows']:,}", f"{test['failed']:,}", f"{test['samples']:,}", floor, worst)
        rows.append((Cell(names.of(test["name"])), Cell(test["path"]), *(num(c) for c in cells)))
    heads = ("Records left out", "Failed", "Samples", "Noise floor", "Row of the worst record")
    head = (Cell("Sanitizer"), Cell("How"), *(num(h) for h in heads))
    return Grid("How it was tested", head, tuple(rows))


def _failures(failures: Sequence[Mapping[str, Any]], names: Names) -> Grid:
    rows = tuple((Cell(names.of(f["sanitizer"])), num(f"{f['row']:,}"), Cell(clean(f["message"]))) for f in failures)
    return Grid("Failures", (Cell("Sanitizer"), num("Without row"), Cell("What it said")), rows)


def _removal(removal: Mapping[str, Any], names: Names) -> list[Block]:
    rows = tuple(
        (
            Cell(f"{number}"),
            num(f"{r['records']:,}"),
            num(spoken(r["delta"], "distance")),
            num(f"{r['removed']:,}"),
        )
        for number, r in enumerate(removal["rounds"], start=1)
    )
    gone = removal["rows"]
    listed = ", ".join(f"{row:,}" for row in gone[:MOST_ROWS])
    listed += f" and {len(gone) - MOST_ROWS:,} more" if len(gone) > MOST_ROWS else ""
    said = f"{ENDED[removal['ended']].capitalize()}; {len(gone):,} record{'s' if len(gone) != 1 else ''} removed."
    return [
        Heading(f"Outliers removed until delta is at most {removal['until']:g}", small=names.of(removal["sanitizer"])),
        Paragraph(said + (f" Their rows in the original: {listed}." if gone else "")),
        Grid(
            "The path of delta",
            (Cell("Test"), *(num(h) for h in ("Records", "Delta", "Removed after it"))),
            rows,
        ),
    ]


def delta_chart(points: Sequence[Mapping[str, Any]], names: Mapping[str, str], *, noisy: bool) -> Chart | None:
    """Figure 1, and 5a for noise: worst and average case by parameter; nothing without a sweep."""
    swept = [p for p in points if p["parameter"] is not None]
    if not swept:
        return None
    kinds = {"delta": "worst case (delta)", "mean": "mean", "median": "median"}
    parameters = list(dict.fromkeys(label(p["parameter"]) for p in swept))
    values = [
        {"s": f"{words}, by {label(p['parameter'])}", "x": _tick(p["value"]), "y": p[key]}
        for p in swept
        for key, words in kinds.items()
        if p[key] not in (None, "inf")
    ]
    across = axis("x", " or ".join(parameters), names=True)
    across["sort"] = list(dict.fromkeys(_tick(v) for v in sorted((p["value"] for p in swept), key=float)))
    return line_chart(
        f"Delta by parameter (figure {'5a' if noisy else '1'})",
        "The worst case need not fall where the average does: one record decides it.",
        [f"{words}, by {parameter}" for parameter in parameters for words in kinds.values()],
        values,
        {"x": across, "y": axis("y", "distance")},
        head=("sanitizer", "delta", "mean", "median"),
        rows=[(names[p["name"]], *(spoken(p[key], "distance") for key in kinds)) for p in swept],
        about="Largest, mean and median distance by parameter.",
    )


def _tick(value: Any) -> str:
    return "∞" if value in ("inf", None) else f"{value:g}"


def cumulative_chart(bins: Mapping[str, Mapping[str, Any]], names: Mapping[str, str], *, noisy: bool) -> Chart:
    """Figure 2, and 5b for noise: the share of records with at most a distance, and where the worst lies."""
    values, ends, rows = [], [], []
    for name, chart in bins.items():
        shares = [n / max(chart["records"], 1) for n in chart["counts"]]
        steps = list(zip(chart["edges"], shares, strict=True))
        values += [{"s": names[name], "x": max(edge, LOWEST), "y": y} for edge, y in steps]
        marks = [next((edge for edge, y in steps if y >= q), None) for q in (0.5, 0.9, 1)]
        if marks[2] is not None:
            ends.append({"s": names[name], "x": max(marks[2], LOWEST), "y": 1.0})
        rows.append((names[name], *("beyond" if m is None else f"≤ {m:.3g}" for m in marks)))
    title = "distance d (log scale; smaller ones are drawn at the left end)"
    decades = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1]
    place = {
        "x": axis("x", title, domain=[LOWEST, 2], form="~g", values=decades, log=True),
        "y": axis("y", "share of records", domain=[0, 1], form="%"),
    }
    worst = {
        "data": {"values": ends},
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
        "encoding": {**place, "color": {"field": "s", "type": "nominal"}},
    }
    return line_chart(
        f"Distances of all records (figure {'5b' if noisy else '2'})",
        "Higher and further left is safer on average. The point where a line reaches 100% is the worst case.",
        [names[name] for name in bins],
        values,
        place,
        head=("sanitizer", "half of the records", "90%", "all"),
        rows=rows,
        before=[worst],
        points=False,
        step=True,
        about="Cumulative distribution of the distance over the records.",
    )

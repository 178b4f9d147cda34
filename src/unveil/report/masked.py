"""The masked releases of an audit: what their values give away, in a table and by how near counts as near."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from unveil.audit.document import Document, Finding
from unveil.audit.numbers import share, spoken
from unveil.report.chart_parts import WIDTH, Chart, Spec, axis, looks_of, tip
from unveil.report.link import known_chart, uniqueness_chart
from unveil.report.officer import Cell, Grid, Names, merged, value_cell
from unveil.report.wording import label

__all__ = ["MASKED_ROWS", "by_percentage", "identity_figures", "masked_figures", "masked_grid", "worth_grid"]

# id, what it is called, and what it means
MASKED_ROWS = (
    ("model_disclosure", "Guessed right by a model", "it learned from the file, the person's row in it"),
    ("model_disclosure.inputs:1", "… from one attribute", "the best one"),
    ("model_disclosure.inputs:2", "… from two", ""),
    ("model_disclosure.inputs:3", "… from three", "a good guess from few is the alarm"),
    ("simple_disclosure", "Published as it is", "category not changed"),
    ("rank_interval_disclosure.10", "Near by rank", "true number within 10% of the ranks"),
    ("deviation_interval_disclosure.10", "Near by value", "within 10% of a standard deviation"),
)
WORTH_ROWS = (
    ("il1s", "Moved", "mean distance from the true number; about 0.8 if dealt out at random"),
    ("mean_error", "Mean moved", "in standard deviations"),
    ("deviation_error", "Deviation changed", "as a share of it"),
    ("correlation_error", "Correlations changed", "mean over all pairs of numbers"),
    ("share_error", "Shares of categories changed", "total variation distance"),
)
TITLES = {
    "rank_interval_disclosure": ("True values near by rank", "percentage of the ranks"),
    "deviation_interval_disclosure": ("True values near by value", "percentage of a standard deviation"),
}


def masked_grid(document: Document, names: Names) -> Grid | None:
    """What values give away: the baseline under each value."""
    return _grid(document, names, MASKED_ROWS, "Share of people")


def worth_grid(document: Document, names: Names) -> Grid | None:
    """What is left of the values."""
    return _grid(document, names, WORTH_ROWS, "Change")


def _grid(document: Document, names: Names, wanted: Sequence[tuple[str, str, str]], alone: str) -> Grid | None:
    """One row a measure and attribute, one column a release."""
    places = {(f.id, f.attribute, f.release): f for f in document.findings}
    rows = []
    for id, title, words in wanted:
        for attribute in dict.fromkeys(a for known, a, _ in places if known == id):
            found = [places.get((id, attribute, release)) for release in names.releases]
            cells = (_with_baseline(f, names) if f else Cell("–", kind="num") for f in found)
            rows.append((Cell(title, words), Cell(label(attribute or "")), *cells))
    columns = (names.shown[r] for r in names.releases) if names.several else [alone]
    head = (Cell("Measure"), Cell("Of"), *(Cell(c, kind="num") for c in columns))
    return Grid(head, merged(rows, [0]), fixed=2) if rows else None


def _with_baseline(finding: Finding, names: Names) -> Cell:
    cell = value_cell(finding, names)
    if finding.baseline is None:
        return cell
    return Cell(cell.text, f"baseline {spoken(finding.baseline, finding.measure)}", "num")


def masked_figures(document: Document, names: Names) -> list[Chart]:
    """Risk by p: one chart for each perturbed number and measure, one line a release, grey its baseline."""
    found: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    for release in names.releases:
        for attribute, measures in document.charts.get(release, {}).get("", {}).get("masked", {}).items():
            for measure, points in measures.items():
                found.setdefault((attribute, measure), {})[names.shown[release]] = points
    return [by_percentage(attribute, measure, series) for (attribute, measure), series in found.items()]


def identity_figures(document: Document, names: Names) -> list[Chart]:
    """Linkage by what is known of each masked release; uniqueness of the original's values, which is one for all."""
    own = {r: document.charts.get(r, {}).get("", {}) for r in names.releases}
    found = []
    for release, charts in own.items():
        chart = known_chart(charts["known"]) if "known" in charts else None
        if chart is not None:
            title = f"{chart.title}: {names.shown[release]}" if names.several else chart.title
            found.append(replace(chart, title=title))
    curve: list[Any] = next((c["uniqueness"] for c in own.values() if "uniqueness" in c), [])
    alone = uniqueness_chart(curve)
    return found if alone is None else [*found, alone]


def by_percentage(attribute: str, measure: str, series: Mapping[str, Iterable[Mapping[str, Any]]]) -> Chart:
    """Risk by p of one attribute and measure; p = 0 has no place on the scale."""
    title, words = TITLES[measure]
    lines = [*series, *(f"baseline of {name}" if len(series) > 1 else "baseline" for name in series)]
    values, rows = [], []
    for (name, points), base in zip(series.items(), lines[len(series) :], strict=True):
        for point in (one for one in points if one["p"] > 0):
            values.append({"s": name, "x": point["p"], "y": round(point["share"], 4)})
            values.append({"s": base, "x": point["p"], "y": round(point["baseline"], 4)})
            rows.append((name, f"{point['p']:g}%", share(point["share"]), share(point["baseline"])))
    encoding: Spec = {
        "x": {
            "field": "x",
            "type": "quantitative",
            "scale": {"type": "log", "nice": False},
            "axis": {"title": words, "values": sorted({v["x"] for v in values})},
        },
        "y": axis("y", "share of people", domain=[0, 1], form="%"),
        **looks_of(lines, {}),
        "tooltip": [tip("s", ""), tip("x", words, "~g"), tip("y", "people", ".1%")],
    }
    return Chart(
        title=f"{title}: {label(attribute)}",
        caption="How many people's true values lie so near to the published ones. The baseline does not look at the "
        "person's own row.",
        spec={
            "description": f"{title}: {label(attribute)}",
            "width": WIDTH,
            "height": 220,
            "data": {"values": values},
            "mark": {"type": "line", "point": True, "strokeWidth": 1.5},
            "encoding": encoding,
        },
        head=("", words, "people", "baseline"),
        rows=tuple(rows),
    )

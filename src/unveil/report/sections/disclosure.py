"""Masked releases: what their values give away, by how near counts as near and by how much is known; what is left."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unveil.audit.document import Document
from unveil.audit.measures import measure
from unveil.audit.numbers import share
from unveil.report.blocks import Block, Cell, Chart, Grid, Heading, num
from unveil.report.charts import axis, line_chart
from unveil.report.reading import Names, baseline_text, ids_grid, title_cell, value_cell
from unveil.report.wording import label, listed

__all__ = ["by_percentage", "disclosure", "disclosure_grid", "inputs_chart", "masked"]

MASKED = (
    *("model_disclosure", "model_disclosure.inputs:1", "model_disclosure.inputs:2", "model_disclosure.inputs:3"),
    *("model_gain", "simple_disclosure", "rank_interval_disclosure.10", "deviation_interval_disclosure.10"),
)
LEFT = ("il1s", "mean_error", "deviation_error", "correlation_error", "share_error")
NEAR = {
    "rank_interval_disclosure": "percentage of the ranks",
    "deviation_interval_disclosure": "percentage of a standard deviation",
}


def masked(document: Document, names: Names) -> list[Block]:
    """The masked releases of an audit: what values give away, with the baseline under each; what is left of them."""
    if document.document != "audit":
        return []
    title, left = "What the masked values give away", "What is left of the masked values"
    given = ids_grid(title, document, names, MASKED, alone="Share of people", apart=True, baseline=True)
    kept = ids_grid(left, document, names, LEFT, alone="Change", apart=True)
    found: dict[tuple[str, str], dict[str, Sequence[Mapping[str, Any]]]] = {}
    for release in names.releases:
        for attribute, measures in document.charts.get(release, {}).get("", {}).get("masked", {}).items():
            for name, points in measures.items():
                found.setdefault((attribute, name), {})[names.of(release)] = points
    charts = [by_percentage(attribute, name, series) for (attribute, name), series in found.items()]
    blocks: list[Block] = [Heading(title, id="masked"), *given, *charts] if given or charts else []
    return blocks + ([Heading(left, id="worth"), *kept] if kept else [])


def disclosure(document: Document, names: Names) -> list[Block]:
    """Everything that was found of one release."""
    if document.document != "disclosure":
        return []
    charts = [
        by_percentage(attribute, name, {label(document.settings["release"]): points})
        for attribute, measures in document.charts["by_percentage"].items()
        for name, points in measures.items()
        if any(point["p"] > 0 for point in points)
    ]
    charts += [inputs_chart(attribute, points) for attribute, points in document.charts["by_inputs"].items()]
    return [Heading("What is given away", id="found"), disclosure_grid(document), *charts]


def disclosure_grid(document: Document) -> Grid:
    """One row a finding."""
    rows = tuple(
        (title_cell(f), Cell(label(f.attribute or "–")), value_cell(f), num(baseline_text(f)))
        for f in document.findings
    )
    title = f"Of {document.diagnostics['rows']:,} published people"
    head = (Cell("Measure"), Cell("Of"), num("People"), num("Baseline"))
    return Grid(title, head, rows, fixed=2)


def by_percentage(attribute: str, name: str, series: Mapping[str, Iterable[Mapping[str, Any]]]) -> Chart:
    """Risk by p of one attribute and measure, one line a release; p = 0 has no place on the scale."""
    words = NEAR[name]
    lines = [*series, *(f"baseline of {one}" if len(series) > 1 else "baseline" for one in series)]
    values, rows = [], []
    for (one, points), base in zip(series.items(), lines[len(series) :], strict=True):
        for point in (point for point in points if point["p"] > 0):
            values.append({"s": one, "x": point["p"], "y": round(point["share"], 4)})
            values.append({"s": base, "x": point["p"], "y": round(point["baseline"], 4)})
            rows.append((one, f"{point['p']:g}%", share(point["share"]), share(point["baseline"])))
    across = axis("x", words, values=sorted({v["x"] for v in values}), log=True)
    across["scale"]["nice"] = False
    return line_chart(
        f"{measure(name).title}: {label(attribute)}",
        "How many people's true values lie this near to the published ones. The baseline does not look at the "
        "person's own row.",
        lines,
        values,
        {"x": across, "y": axis("y", "share of people", domain=[0, 1], form="%")},
        head=("", words, "people", "baseline"),
        rows=rows,
        height=220,
    )


def inputs_chart(attribute: str, points: Sequence[Mapping[str, Any]]) -> Chart:
    """Guesses from one input, two, …: a good guess from few is the alarm."""
    lines = {"share": "with the person's row", "baseline": "without it: the baseline"}
    values = [{"s": name, "x": len(p["inputs"]), "y": p[key]} for p in points for key, name in lines.items()]
    return line_chart(
        f"Guesses by what is known: {label(attribute)}",
        "Inputs are added best first. A good guess from few attributes is the alarm.",
        list(lines.values()),
        values,
        {
            "x": axis("x", "attributes known", names=True),
            "y": axis("y", "guessed right", domain=[0, 1], form="%"),
        },
        head=("attributes known", "which", "people", "baseline"),
        rows=[(str(len(p["inputs"])), listed(p["inputs"]), share(p["share"]), share(p["baseline"])) for p in points],
        height=220,
    )

"""Being in the table: what counting groups tells, and how well scores tell members from others."""

from collections.abc import Mapping
from typing import Any

from unveil.audit.document import Document
from unveil.audit.measures import parse_id, title_of
from unveil.audit.numbers import count, share
from unveil.report.blocks import Block, Cell, Chart, Grid, Heading, Listing, num
from unveil.report.charts import COLOURS, WIDTH, axis, bars, line, line_chart
from unveil.report.reading import Names, ids_grid, value_cell
from unveil.report.wording import clean, label

__all__ = ["membership", "membership_charts", "scores", "scores_grid"]

MEMBERSHIP = (
    *("membership_posterior.max", "membership_posterior.mean", "membership_odds.max"),
    *("membership_auc.degree", "membership_auc.frequency", "membership_auc.nearest"),
    *("membership_tpr.1_in_100", "membership_tpr.1_in_1000", "delta_presence.min", "delta_presence.max"),
    *("fake_tuples", "fake_tuples.known"),
    *(f"matching_groups.{kind}_{band}" for kind in ("rows", "fake") for band in ("10", "20", "more")),
)
TRIED = ("membership_auc", "membership_tpr.1_in_100", "membership_tpr.1_in_1000")


def membership(document: Document, names: Names) -> list[Block]:
    """What an audit says of being in each release."""
    found = document.diagnostics.get("membership", {})
    items = tuple((names.only(r), clean(found[r]["words"])) for r in names.releases if r in found)
    if not items:
        return []
    sensitive = any(f.get("sensitive", True) and f.get("reason") is None for f in found.values())
    grids = ids_grid("Being in the table", document, names, MEMBERSHIP) if sensitive else []
    return [Heading("Being in the table", id="membership"), Listing(items, "plain"), *grids]


def scores(document: Document, names: Names) -> list[Block]:
    """A membership trial: how well each score tells members from others."""
    if document.document != "membership":
        return []
    curves = document.charts["roc"]
    return [
        Heading("Scores", id="scores"),
        scores_grid(document),
        _roc(
            {name: (curves["false_positive"], ys) for name, ys in curves["true_positive"].items()},
            "Members told from others",
            "others accused",
            log=True,
        ),
    ]


def scores_grid(document: Document) -> Grid:
    """One row a score."""
    found = {f.id: f for f in document.findings}
    rows = [
        (Cell(label(name), words), *(value_cell(found.get(f"{name}.{id}")) for id in TRIED))
        for name, words in document.diagnostics["scores"].items()
    ]
    facts = document.diagnostics
    title = f"{facts['members']:,} members told from {facts['others']:,} others"
    return Grid(title, (Cell("Score"), *(num(title_of(parse_id(id))) for id in TRIED)), tuple(rows))


def membership_charts(document: Document, names: Names) -> list[Block]:
    """Bands, beliefs and curves of every release, each in a chart of its own."""
    found: list[Block] = []
    if document.document != "audit":
        return found
    titles = {"degree": "by matching groups", "frequency": "by frequency", "nearest": "by the nearest row"}
    for release in names.releases:
        charts = document.charts.get(release, {}).get("", {}).get("membership") or {}
        of = f" · {names.of(release)}" if names.several else ""
        if "bands" in charts:
            found.append(_bands(charts["bands"], names.least, of))
        if "degrees" in charts:
            found.append(_degrees(charts["degrees"], names.least, of))
        if curves := charts.get("roc"):
            series = {title: (curves["false_positive"], curves[key]) for key, title in titles.items() if key in curves}
            found.append(_roc(series, f"Members told from controls{of}", "controls taken for members"))
    return [Heading("Being in the table: charts", id="members"), *found] if found else []


def _bands(bins: Mapping[str, Any], least: int, of: str) -> Chart:
    """Figure 4.7 of Li 2010: rows and fake tuples by how many groups they match; the scale is logarithmic."""
    kinds = {"rows": "rows of the original", "fake": "fake tuples"}
    values = [
        {"x": band, "s": words, "n": n or 0, "t": f"<{least}" if n is None else _tuples(n)}
        for kind, words in kinds.items()
        for band, n in zip(bins["labels"], bins[kind], strict=True)
    ]
    spec = bars(values, "matching groups", "rows, tuples", names=list(kinds.values()), log=True)
    rows = tuple(
        (band, count(n, least), "unknown" if fake is None else _tuples(fake))
        for band, n, fake in zip(bins["labels"], bins["rows"], bins["fake"], strict=True)
    )
    return Chart(
        f"Matching groups{of}",
        "Where rows and fake tuples lie in the same bands, counting groups does not tell them apart.",
        {"description": "Rows and fake tuples by matching groups.", **spec},
        ("matching groups", "rows", "fake tuples"),
        rows,
    )


def _tuples(n: float) -> str:
    return f"{n:,.0f}" if n < 1e9 else f"{n:.3g}"


def _degrees(bins: Mapping[str, Any], least: int, of: str) -> Chart:
    """What is believed of a person by the number of groups it matches, where anybody does."""
    used = [i for i, n in enumerate(bins["people"]) if n or (bins["others"][i] or 0) >= 0.001]
    place = {
        "x": axis("x", "matching groups", names=True, angle=-45),
        "y": axis("y", "belief of being in the table", domain=[0, 1], form="%", values=[0, 0.25, 0.5, 0.75, 1]),
    }

    def told(value: float | None) -> str:
        return "unknown" if value is None else share(value)

    return Chart(
        f"Belief by matching groups{of}",
        "How sure a reader is that a person is in the table, by the number of groups the person matches.",
        {
            "description": "Belief of being in the table by matching groups.",
            "data": {"values": [{"x": bins["labels"][i], "y": bins["posterior"][i]} for i in used]},
            "width": WIDTH,
            "height": 200,
            "mark": {"type": "bar", "color": COLOURS[4]},
            "encoding": place,
        },
        ("matching groups", "people in the table", "of people who are not", "belief"),
        tuple(
            (bins["labels"][i], count(bins["people"][i], least), told(bins["others"][i]), told(bins["posterior"][i]))
            for i in used
        ),
    )


def _roc(series: Mapping[str, tuple[list[float], list[float]]], title: str, across: str, *, log: bool = False) -> Chart:
    """Members found against others accused; by logarithms the left end is seen, which is what matters."""
    names = [label(name) for name in series]
    at = next(iter(series.values()), ([], []))[0]
    least = min((x for x in at if x > 0), default=0.001) if log else 0.0
    ticks = [0.001, 0.01, 0.1, 1.0] if log else [0, 0.25, 0.5, 0.75, 1]
    values = [
        {"s": name, "x": x, "y": max(y, least)}
        for name, (xs, ys) in zip(names, series.values(), strict=True)
        for x, y in zip(xs, ys, strict=True)
        if x > 0 or not log
    ]
    place = {
        key: axis(key, words, domain=[least, 1], form="~%" if log else "%", values=ticks, log=log)
        for key, words in (("x", across), ("y", "members found"))
    }
    caption = "The dashed line is a coin; a curve above it finds members more often than others."
    if log:
        caption += " Both scales are logarithmic: what counts is who is found while hardly anybody is accused wrongly."
    kept = [i for i, x in enumerate(at) if (x in ticks if log else i % 4 == 0)]
    rows = [(share(at[i]), *(share(ys[i]) for _, ys in series.values())) for i in kept]
    return line_chart(
        title,
        caption,
        names,
        values,
        place,
        head=(across, *names),
        rows=rows,
        behind=[line((least, least, 1, 1), [4, 4])],
        points=False,
        height=260,
    )

"""Membership in a report: the words, the rows of the tables, and the charts of bands, beliefs and ROC curves."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unveil.audit.document import Document
from unveil.audit.numbers import count, share
from unveil.report.chart_parts import COLOURS, WIDTH, Chart, Spec, axis, line, looks_of, tip
from unveil.report.wording import clean

if TYPE_CHECKING:
    from unveil.report.officer import Names

__all__ = ["MEMBERSHIP", "MEMBERSHIP_ROWS", "membership_charts", "membership_words"]

MEMBERSHIP = (
    *("membership_posterior.max", "membership_posterior.mean", "membership_odds.max"),
    *("membership_auc.degree", "membership_auc.frequency", "membership_auc.nearest"),
    *("membership_tpr.1_in_100", "membership_tpr.1_in_1000", "delta_presence.min", "delta_presence.max"),
    *("fake_tuples", "fake_tuples.known", "matching_groups.rows_more", "matching_groups.fake_more"),
)
# Rows of the terminal's table: finding id, in words, how a number is shown.
MEMBERSHIP_ROWS = (
    ("membership_posterior.max", "most that is believed of a member's being in it", "share"),
    ("membership_posterior.mean", "… on average", "share"),
    ("membership_odds.max", "largest factor on the odds", "plain"),
    ("membership_auc.degree", "members told from controls by matching groups (AUC)", "plain"),
    ("membership_auc.frequency", "… by frequency (AUC)", "plain"),
    ("membership_auc.nearest", "… by the nearest row (AUC)", "plain"),
    ("membership_tpr.1_in_100", "members found, 1 in 100 controls accused", "share"),
    ("membership_tpr.1_in_1000", "… 1 in 1,000", "share"),
    ("delta_presence.min", "share of the matching population in it, smallest", "share"),
    ("delta_presence.max", "… largest", "share"),
    ("fake_tuples", "fake tuples, all published attributes", "plain"),
    ("fake_tuples.known", "… of what is known of a person", "plain"),
    ("matching_groups.rows_10", "rows that match up to 10 groups", "share"),
    ("matching_groups.rows_20", "… 11 to 20", "share"),
    ("matching_groups.rows_more", "… more", "share"),
    ("matching_groups.fake_10", "fake tuples that match up to 10 groups", "share"),
    ("matching_groups.fake_20", "… 11 to 20", "share"),
    ("matching_groups.fake_more", "… more", "share"),
)


def membership_words(document: Document, names: "Names") -> list[tuple[str, str]]:
    """What is said of each release; nothing where membership was not measured."""
    found = document.diagnostics.get("membership", {})
    return [(names.shown[r] if names.several else "", clean(found[r]["words"])) for r in names.releases if r in found]


def membership_charts(document: Document, least: int, releases: Sequence[str], shown: Mapping[str, str]) -> list[Chart]:
    """Bands, beliefs and curves of every release, each in a chart of its own."""
    found: list[Chart] = []
    for release in releases:
        charts = document.charts.get(release, {}).get("", {}).get("membership") or {}
        of = f": {shown[release]}" if len(releases) > 1 else ""
        if "bands" in charts:
            found.append(_bands(charts["bands"], least, of))
        if "degrees" in charts:
            found.append(_degrees(charts["degrees"], least, of))
        if "roc" in charts:
            found.append(_roc(charts["roc"], of))
    return found


def _bands(bins: Mapping[str, Any], least: int, of: str) -> Chart:
    """Figure 4.7 of Li 2010: rows and fake tuples by how many groups they match; the scale is logarithmic."""
    kinds = {"rows": "rows of the original", "fake": "fake tuples"}
    values = [
        {
            "x": label,
            "k": kinds[kind],
            "n": n or 0,
            "y": max(n or 0, 0.8),
            "t": f"<{least}" if n is None else _tuples(n),
        }
        for kind in kinds
        for label, n in zip(bins["labels"], bins[kind], strict=True)
    ]
    most = max([v["n"] for v in values] + [1])
    place: Spec = {
        "x": {
            "field": "x",
            "type": "ordinal",
            "sort": None,
            "title": "matching groups",
            "axis": {"labelAngle": 0},
        },
        "xOffset": {"field": "k", "sort": list(kinds.values())},
        "y": {
            "field": "y",
            "type": "quantitative",
            "title": "rows, tuples",
            "scale": {"type": "log", "domain": [0.8, most * 3]},
            "axis": {"format": "~s", "tickCount": 4},
        },
    }
    colour = {
        "field": "k",
        "type": "nominal",
        "legend": {"title": None, "orient": "top"},
        "scale": {"domain": list(kinds.values()), "range": [COLOURS[0], COLOURS[1]]},
    }
    tips = [tip("x", "matching groups"), tip("k", "of"), tip("t", "how many")]
    spec = {
        "description": "Rows and fake tuples by matching groups.",
        "data": {"values": values},
        "width": WIDTH,
        "height": 200,
        "layer": [
            {"mark": {"type": "bar"}, "encoding": {**place, "y2": {"datum": 0.8}, "color": colour, "tooltip": tips}},
            {
                "mark": {"type": "text", "dy": -6, "fontSize": 9, "color": "#333"},
                "encoding": {**place, "text": {"field": "t"}},
            },
        ],
    }
    rows = tuple(
        (label, count(n, least), "unknown" if fake is None else _tuples(fake))
        for label, n, fake in zip(bins["labels"], bins["rows"], bins["fake"], strict=True)
    )
    return Chart(
        f"Matching groups{of}",
        "Where rows and fake tuples lie in the same bands, counting groups does not tell them apart.",
        spec,
        ("matching groups", "rows", "fake tuples"),
        rows,
    )


def _tuples(n: float) -> str:
    return f"{n:,.0f}" if n < 1e9 else f"{n:.3g}"


def _degrees(bins: Mapping[str, Any], least: int, of: str) -> Chart:
    """What is believed of who matches so many groups, where somebody does."""
    used = [i for i, n in enumerate(bins["people"]) if n or (bins["others"][i] or 0) >= 0.001]
    labels = [bins["labels"][i] for i in used]
    values = [{"x": bins["labels"][i], "y": bins["posterior"][i]} for i in used]
    place: Spec = {
        "x": {
            "field": "x",
            "type": "ordinal",
            "sort": None,
            "title": "matching groups",
            "axis": {"labelAngle": -45, "labelOverlap": False},
        },
        "y": axis("y", "belief of being in the table", domain=[0, 1], form="%", values=[0, 0.25, 0.5, 0.75, 1]),
    }
    spec = {
        "description": "Belief of being in the table by matching groups.",
        "data": {"values": values},
        "width": WIDTH,
        "height": 200,
        "mark": {"type": "bar", "color": COLOURS[4]},
        "encoding": {**place, "tooltip": [tip("x", "matching groups"), tip("y", "belief", ".1%")]},
    }
    rows = tuple(
        (
            label,
            count(bins["people"][i], least),
            "unknown" if bins["others"][i] is None else share(bins["others"][i]),
            "unknown" if bins["posterior"][i] is None else share(bins["posterior"][i]),
        )
        for i, label in zip(used, labels, strict=True)
    )
    return Chart(
        f"Belief by matching groups{of}",
        "How sure a reader is that a person is in the table who matches so many groups.",
        spec,
        ("matching groups", "people in the table", "of people who are not", "belief"),
        rows,
    )


def _roc(curves: Mapping[str, Any], of: str) -> Chart:
    """Members found against controls taken for members."""
    titles = {"degree": "by matching groups", "frequency": "by frequency", "nearest": "by the nearest row"}
    titles = {key: title for key, title in titles.items() if key in curves}
    at = curves["false_positive"]
    values = [
        {"x": x, "y": y, "s": title}
        for key, title in titles.items()
        if key in curves
        for x, y in zip(at, curves[key], strict=True)
    ]
    ticks: list[float] = [0, 0.25, 0.5, 0.75, 1]
    spec = {
        "description": "Members found against controls taken for members.",
        "width": WIDTH,
        "height": 260,
        "layer": [
            line((0, 0, 1, 1), [4, 4]),
            {
                "data": {"values": values},
                "mark": {"type": "line"},
                "encoding": {
                    "x": axis("x", "controls taken for members", domain=[0, 1], form="%", values=ticks),
                    "y": axis("y", "members found", domain=[0, 1], form="%", values=ticks),
                    **looks_of(list(titles.values()), {"symbolType": "stroke"}),
                    "tooltip": [
                        tip("s", "score"),
                        tip("x", "controls taken for members", ".0%"),
                        tip("y", "found", ".0%"),
                    ],
                },
            },
        ],
    }
    rows = tuple(
        (share(x), *(share(curves[key][i]) for key in titles if key in curves)) for i, x in enumerate(at) if i % 4 == 0
    )
    return Chart(
        f"Members told from controls{of}",
        "The dashed line is a coin; a curve above it finds members more often than controls.",
        spec,
        ("controls taken for members", *(title for key, title in titles.items() if key in curves)),
        rows,
    )

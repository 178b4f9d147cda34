"""The report of a link: linkage by what is known, anonymity sets, uniqueness by sampling fraction; offline."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from unveil.audit.document import Document, Finding
from unveil.audit.measures import title_of
from unveil.audit.numbers import interval, share, spoken
from unveil.report.chart_parts import SHAPES, WIDTH, Chart, Spec, cycle, looks_of, tip
from unveil.report.officer import Cell, Grid
from unveil.report.page import render_page
from unveil.report.verdicts import SIGNS, banner, read_document
from unveil.report.wording import label

__all__ = [
    "ESTIMATOR_NAMES",
    "LINK_SHARES",
    "READER_NAMES",
    "known_chart",
    "range_of",
    "render_link",
    "sizes_chart",
    "uniqueness_chart",
]

READER_NAMES = {
    "distance": "nearest row",
    "probabilistic": "probability, true weights",
    "unsupervised": "probability, weights estimated",
    "splink": "probability, weights estimated by Splink",
    "supervised": "learned distance (worst case)",
    "transparency": "masking known",
}
LINK_SHARES = {
    "reid": "linked rightly",
    "claimed": "one row alone is best",
    "claim_precision": "of these right",
}
ESTIMATOR_NAMES = {
    "counted": "counted in the population",
    "benedetti_franconi": "Benedetti-Franconi",
    "negative_binomial": "negative binomial",
    "poisson_independence": "Poisson, independent keys",
    "poisson_two_way": "Poisson, two-way terms",
}
TRUTH = {
    "given": "it is said whose row is whose",
    "own row fits": "published cells hold the truth, so one's own row always fits",
    "unknown": "nothing says whose row is whose: success is unknown",
}


def render_link(document: Document | dict[str, Any]) -> str:
    """One page. The same document gives the same page."""
    read = read_document(document, "link")
    facts, settings = read.diagnostics, read.settings
    known = known_chart(read.charts["known"])
    charts = [c for c in (known, sizes_chart(read.charts["set_sizes"], facts["people"])) if c is not None]
    fractions = uniqueness_chart(read.charts["uniqueness"])
    about = [
        ("Release", label(settings["release"])),
        ("People held", f"{facts['people']:,}"),
        ("Rows published", f"{facts['rows']:,}"),
        ("Known of them", label(", ".join(settings["known"]))),
        ("Perturbed", label(", ".join(facts["perturbed"])) or "nothing"),
        ("Truth", TRUTH[facts["truth"]]),
    ]
    return render_page(
        "link.html.j2",
        verdict=banner(facts["verdict"]),
        title=label(settings["release"]),
        about=about,
        sentences=facts["sentences"],
        limits=_limits(read.findings),
        links=_links(read),
        charts=charts,
        pairs=_pairs(facts["readers"]),
        parameters=_parameters(facts["readers"]),
        found=_found(read.findings),
        alone=_alone(facts["uniqueness"]),
        minimal=_minimal(facts["uniqueness"]),
        fractions=fractions,
        remarks=facts["remarks"],
    )


def known_chart(chart: dict[str, Any]) -> Chart | None:
    """Linkage by the number of attributes known; nothing without the truth."""
    points = [p for p in chart["points"] if p["mean"] is not None]
    if not points:
        return None
    kinds = (("most", "the best set"), ("mean", "mean of all sets"))
    values = [{"s": words, "x": p["known"], "y": p[key]} for key, words in kinds for p in points]
    spec = _lines([words for _, words in kinds], values, "attributes known", "share linked rightly", ordinal=True)
    return Chart(
        title="Linkage by what is known",
        caption=f"Nearest rows of {chart['people']:,} people, by every set of so many attributes, or a choice of them.",
        spec={**spec, "description": "Share of people linked rightly by the number of attributes known."},
        head=("attributes known", "sets", "mean", "best set", "which is"),
        rows=tuple(
            (str(p["known"]), str(p["sets"]), share(p["mean"]), share(p["most"]), label(", ".join(p["most_by"])))
            for p in points
        ),
    )


def sizes_chart(sizes: dict[str, dict[str, Any]], people: int) -> Chart | None:
    """How many rows fit a person equally well, of each reader."""
    values, rows = [], []
    for reader, chart in sizes.items():
        names = [_bin(a, b) for a, b in pairwise(chart["edges"])]
        for name, n in zip(names, chart["people"], strict=True):
            values.append({"s": READER_NAMES[reader], "x": name, "y": n})
            rows.append((f"{READER_NAMES[reader]}: {name}", f"{n:,}", share(n / people)))
    longest: list[int] = max((chart["edges"] for chart in sizes.values()), key=len, default=[])
    if not values:
        return None
    place: Spec = {
        "x": {
            "field": "x",
            "type": "ordinal",
            "sort": [_bin(a, b) for a, b in pairwise(longest)],
            "title": "rows that fit a person equally well",
            "axis": {"labelAngle": -45, "labelOverlap": "greedy"},
        },
        "y": {"field": "y", "type": "quantitative", "title": "people", "axis": {"tickCount": 5, "format": "~s"}},
        "tooltip": [tip("s", ""), tip("x", "rows"), tip("y", "people", ",")],
    }
    looks = looks_of([READER_NAMES[r] for r in sizes], {})
    offset = {"xOffset": {"field": "s", "type": "nominal"}}
    return Chart(
        title="How many rows fit",
        caption="1 is a link that can be claimed. Ties count as one over their number.",
        spec={
            "description": "People by the number of rows that fit them best.",
            "width": WIDTH,
            "height": 240,
            "data": {"values": values},
            "mark": {"type": "bar"},
            "encoding": {**place, **offset, "color": looks["color"]},
        },
        head=("rows", "people", "share"),
        rows=tuple(rows),
    )


def uniqueness_chart(points: Sequence[dict[str, Any]]) -> Chart | None:
    """Uniqueness by sampling fraction: the truth, and what a sample's reader would have estimated."""
    if not points:
        return None
    estimators = list(dict.fromkeys(name for p in points for name in p["estimates"]))
    names = ["truth", *(ESTIMATOR_NAMES[e] for e in estimators)]
    values = [{"s": "truth", "x": p["fraction"], "y": p["expected"]} for p in points]
    values += [
        {"s": ESTIMATOR_NAMES[e], "x": p["fraction"], "y": p["estimates"][e]}
        for e in estimators
        for p in points
        if p["estimates"][e] is not None
    ]
    return Chart(
        title="Uniqueness by sampling fraction",
        caption="If this file were the population: the share of people alone in a random sample who are alone in all "
        "of it, and what each estimator makes of one such sample.",
        spec={
            **_lines(names, values, "sampling fraction", "alone in the population, of those alone in the sample"),
            "description": "Share of sample uniques that are population uniques by sampling fraction.",
        },
        head=("fraction", "people", *names),
        rows=tuple(
            (
                f"{p['fraction']:g}",
                f"{p['people']:,}",
                share(p["expected"]),
                *("" if p["estimates"][e] is None else share(p["estimates"][e]) for e in estimators),
            )
            for p in points
        ),
    )


def _lines(names: Sequence[str], values: list[Spec], across: str, up: str, *, ordinal: bool = False) -> Spec:
    looks = looks_of(names, {})
    shape = {**looks["color"], "scale": {"domain": [*names], "range": cycle(SHAPES, len(names))}}
    place: Spec = {
        "x": {"field": "x", "type": "ordinal" if ordinal else "quantitative", "title": across},
        "y": {
            "field": "y",
            "type": "quantitative",
            "title": up,
            "scale": {"zero": True} if ordinal else {"domain": [0, 1]},  # shares of links are often small
            "axis": {"format": "%", "tickCount": 5},
        },
        "tooltip": [tip("s", ""), tip("x", across), tip("y", "share", ".2%")],
    }
    if ordinal:
        place["x"]["axis"] = {"labelAngle": 0}
    else:
        place["x"] |= {"scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 5}}
    return {
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
    }


def _bin(low: int, high: int) -> str:
    return str(high) if high - low == 1 else f"{low + 1:,}–{high:,}"


def _links(document: Document) -> Grid:
    found = {f.id: f for f in document.findings}
    rows = []
    for reader in document.diagnostics["readers"]:
        name = reader["reader"]
        cells = [_share(found[f"{name}.{measure}"]) for measure in LINK_SHARES]
        if not reader["applicable"]:
            cells = [Cell("not run", small=reader["reason"]), Cell(""), Cell("")]
        rows.append((Cell(READER_NAMES[name], small=name), *cells))
    return Grid((Cell(""), *(Cell(words, kind="num") for words in LINK_SHARES.values())), tuple(rows))


def _share(finding: Finding) -> Cell:
    if finding.value is None:
        return Cell("unknown", kind="num")
    small = "" if finding.baseline is None else f"a guess: {share(float(finding.baseline))}"
    return Cell(share(float(finding.value)), small=small, kind="num")


def _pairs(readers: Sequence[dict[str, Any]]) -> Grid | None:
    """The three classes of pairs."""
    rows = []
    for reader in readers:
        pairs = reader["pairs"]
        if not pairs:
            continue
        for key, words in (("link", "link"), ("clerical", "to a clerk"), ("no_link", "no link")):
            true = pairs.get(f"true_{key}")
            rows.append(
                (
                    Cell(READER_NAMES[reader["reader"]]),
                    Cell(words),
                    Cell(f"{pairs[key]:,}", kind="num"),
                    Cell("unknown" if true is None else f"{true:,}", kind="num"),
                )
            )
    heads = (Cell("weights"), Cell("called"), Cell("pairs", kind="num"), Cell("true links among them", kind="num"))
    return Grid(heads, tuple(rows)) if rows else None


def _parameters(readers: Sequence[dict[str, Any]]) -> Grid | None:
    rows = [
        (
            Cell(READER_NAMES[reader["reader"]]),
            Cell(label(p["attribute"])),
            *(Cell(spoken(p[key], ""), small=_by_level(p.get("levels", []), key), kind="num") for key in ("m", "u")),
        )
        for reader in readers
        for p in reader["parameters"]
    ]
    heads = (Cell("weights"), Cell("attribute"), Cell("links agree (m)", kind="num"), Cell("others (u)", kind="num"))
    return Grid(heads, tuple(rows)) if rows else None


def _by_level(levels: Sequence[dict[str, Any]], key: str) -> str:
    """Shares by the size of the cell, where cells are sets."""
    return f"wide to narrow: {', '.join(spoken(one[key], '') for one in levels)}" if len(levels) > 1 else ""


def _found(findings: Sequence[Finding]) -> Grid | None:
    """Being found, from the sizes of classes, where there are any."""
    rows = [
        (Cell(title_of(f), small=f.id), Cell(spoken(f.value, f.measure), small=_ends(f), kind="num"))
        for f in findings
        if f.measure in ("prosecutor_risk", "journalist_risk", "marketer_risk", "singled_out")
    ]
    return Grid((Cell(""), Cell("risk", kind="num")), tuple(rows)) if rows else None


def _ends(finding: Finding) -> str:
    return interval(finding.low, finding.high, finding.measure)


def _alone(facts: dict[str, Any] | None) -> Grid | None:
    if facts is None or not facts["estimators"]:
        return None
    rows = [
        (
            Cell(ESTIMATOR_NAMES[one["estimator"]], small=one["estimator"]),
            Cell(
                "unknown" if one["population_unique"] is None else share(one["population_unique"]),
                small=range_of(one, "population_unique"),
                kind="num",
            ),
            *(
                Cell(spoken(one[key], ""), small=range_of(one, key), kind="num")
                for key in ("expected_links", "largest_risk", "mean_risk")
            ),
        )
        for one in facts["estimators"]
    ]
    heads = ("alone in the population, of those alone here", "right links expected", "largest 1/F", "mean 1/F")
    return Grid((Cell("estimator"), *(Cell(h, kind="num") for h in heads)), tuple(rows))


def range_of(one: dict[str, Any], key: str) -> str:
    """The 95% interval of an estimate, where it has one."""
    ends = one.get("ranges", {}).get(key)
    if ends is None or ends[0] == ends[1]:
        return ""
    if key == "population_unique":
        return f"{share(ends[0]).removesuffix('%')} – {share(ends[1])}"
    return interval(ends[0], ends[1], "")


def _minimal(facts: dict[str, Any] | None) -> dict[str, Any] | None:
    """Minimal sample uniques: how many of each size, and which attributes take part."""
    if facts is None or facts["minimal_uniques"] is None:
        return None
    found = facts["minimal_uniques"]
    total = max(sum(found["by_size"]), 1)
    sizes = tuple(
        (Cell(f"{size} attribute{'s' if size > 1 else ''}"), Cell(f"{n:,}", kind="num"))
        for size, n in enumerate(found["by_size"], start=1)
    )
    parts = tuple(
        (Cell(label(name)), Cell(f"{n:,}", kind="num"), Cell(share(n / total), kind="num"))
        for name, n in sorted(found["by_attribute"].items(), key=lambda item: -item[1])
    )
    return {
        "rows": f"{found['rows']:,}",
        "largest": found["largest"],
        "intrusion": share(found["intrusion"]) if "intrusion" in found else "",
        "fraction": share(found.get("fraction", 0.01)),
        "risk": share(found.get("largest_risk", 0.0)),
        "sizes": Grid((Cell("size"), Cell("minimal uniques", kind="num")), sizes),
        "parts": Grid((Cell("attribute"), Cell("takes part in", kind="num"), Cell("share", kind="num")), parts),
    }


def _limits(findings: Sequence[Finding]) -> Grid | None:
    rows = [
        (
            Cell(f.limit or "", kind="code"),
            Cell(f.id, kind="code"),
            Cell(spoken(f.value, ""), kind="num"),
            Cell(f"{SIGNS[f.verdict]} {f.verdict}", kind=f"verdict {f.verdict.replace(' ', '-')}"),
        )
        for f in findings
        if f.limit is not None
    ]
    return (
        Grid((Cell("limit"), Cell("finding"), Cell("value", kind="num"), Cell("verdict")), tuple(rows))
        if rows
        else None
    )

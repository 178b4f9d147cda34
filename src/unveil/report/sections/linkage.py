"""Identity disclosure: linkage by what is known, anonymity sets, and who is unique in a population."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from unveil.audit.document import Document
from unveil.audit.measures import measure
from unveil.audit.numbers import interval, share, spoken
from unveil.report.blocks import Block, Cell, Chart, Grid, Heading, Listing, Paragraph, num
from unveil.report.charts import WIDTH, axis, bars, line_chart
from unveil.report.reading import Names, value_cell
from unveil.report.wording import clean, label, listed

__all__ = ["known_chart", "linkage", "links_grid", "sizes_chart", "uniqueness", "uniqueness_chart"]

READER_NAMES = {
    "distance": "nearest row",
    "one_to_one": "a row for each person",
    "probabilistic": "probability, true weights",
    "unsupervised": "probability, weights estimated",
    "splink": "probability, weights estimated by Splink",
    "supervised": "learned distance (worst case)",
    "transparency": "masking known",
}
LINK_MEASURES = ("reid", "claimed", "claim_precision")
ESTIMATOR_NAMES = {
    "counted": "counted in the population",
    "benedetti_franconi": "Benedetti-Franconi",
    "negative_binomial": "negative binomial",
    "poisson_independence": "Poisson, independent keys",
    "poisson_two_way": "Poisson, two-way terms",
    "zayatz": "Zayatz",
    "pitman": "Pitman",
    "slide_negative_binomial": "slide negative binomial",
    "dankar": "Dankar's rule",
}


def linkage(document: Document, names: Names) -> list[Block]:
    """Who can be linked: every reader of a link, or the charts of the masked releases of an audit."""
    if document.document == "audit":
        return _of_audit(document, names)
    if document.document != "link":
        return []
    facts, charts = document.diagnostics, document.charts
    refused: dict[str, list[str]] = {}
    for reader in facts["readers"]:
        if not reader["applicable"]:
            refused.setdefault(reader["reason"], []).append(READER_NAMES[reader["reader"]])
    drawn = (known_chart(charts["known"]), sizes_chart(charts["set_sizes"], facts["people"]))
    blocks: list[Block] = [Heading("Record linkage", id="links"), links_grid(document)]
    blocks += [Listing(tuple((f"Not run ({'; '.join(who)})", clean(why)) for why, who in refused.items()))] * bool(
        refused
    )
    blocks += [chart for chart in drawn if chart is not None]
    pairs = [row for reader in facts["readers"] for row in _pairs(reader)]
    if pairs:
        words = (
            "Fellegi and Sunter's rule with the stated rates of false and missed links, over all pairs of a person "
            "and a row."
        )
        head = (Cell("Weights"), Cell("Called"), num("Pairs"), num("True links among them"))
        blocks += [
            Heading("Three classes of pairs", level=3),
            Paragraph(words, "quiet"),
            Grid("Three classes of pairs", head, tuple(pairs)),
        ]
    agree = [row for reader in facts["readers"] for row in _agreement(reader)]
    if agree:
        numbers = (num("Links agree (m)"), num("Others (u)"))
        grid = Grid("How often pairs agree", (Cell("Weights"), Cell("Attribute"), *numbers), tuple(agree))
        blocks += [Heading("How often pairs agree", level=3), grid]
    return blocks


def _of_audit(document: Document, names: Names) -> list[Block]:
    """Linkage by what is known of each masked release; uniqueness of the original's values, which is one for all."""
    own = {r: document.charts.get(r, {}).get("", {}) for r in names.releases}
    found: list[Block] = []
    for release, charts in own.items():
        chart = known_chart(charts["known"]) if "known" in charts else None
        if chart is not None:
            found.append(replace(chart, title=": ".join(filter(None, (chart.title, names.only(release))))))
    alone = uniqueness_chart(next((c["uniqueness"] for c in own.values() if "uniqueness" in c), ()))
    found += [alone] if alone else []
    return [Heading("Who can be linked, and who stands alone", id="linked"), *found] if found else []


def links_grid(document: Document) -> Grid:
    """What each reader links, and how surely."""
    found = {f.id: f for f in document.findings}
    rows = []
    for reader in document.diagnostics["readers"]:
        name = reader["reader"]
        cells = [value_cell(found.get(f"{name}.{measure}"), baseline=True) for measure in LINK_MEASURES]
        if not reader["applicable"]:
            cells = [num("not run"), Cell(""), Cell("")]
        rows.append((Cell(READER_NAMES[name], name), *cells))
    head = (Cell("Reader"), *(num(measure(name).title) for name in LINK_MEASURES))
    return Grid("Record linkage", head, tuple(rows))


def _pairs(reader: Mapping[str, Any]) -> list[tuple[Cell, ...]]:
    """The three classes of pairs."""
    found = []
    for key, words in (("link", "link"), ("clerical", "for a clerk to decide"), ("no_link", "no link")):
        if reader["pairs"]:
            true = reader["pairs"].get(f"true_{key}")
            numbers = (f"{reader['pairs'][key]:,}", "unknown" if true is None else f"{true:,}")
            own = (Cell(READER_NAMES[reader["reader"]]), Cell(words))
            found.append((*own, *(num(text) for text in numbers)))
    return found


def _agreement(reader: Mapping[str, Any]) -> list[tuple[Cell, ...]]:
    """How often links and other pairs agree, by the size of the cell where cells are sets."""
    found = []
    for p in reader["parameters"]:
        cells = []
        for key in ("m", "u"):
            levels = [spoken(one[key], "") for one in p.get("levels", [])]
            small = f"wide to narrow: {', '.join(levels)}" if len(levels) > 1 else ""
            cells.append(num(spoken(p[key], ""), small))
        found.append((Cell(READER_NAMES[reader["reader"]]), Cell(label(p["attribute"])), *cells))
    return found


def uniqueness(document: Document, names: Names) -> list[Block]:
    """Who is alone in the population, by every estimator, and by which attributes."""
    if document.document != "link":
        return []
    facts = document.diagnostics["uniqueness"] or {}
    blocks: list[Block] = []
    if facts.get("estimators"):
        rows = tuple(
            (
                Cell(ESTIMATOR_NAMES[one["estimator"]], one["estimator"]),
                _estimate(one, "population_unique", "population_unique"),
                *(_estimate(one, key, "") for key in ("expected_links", "largest_risk", "mean_risk")),
            )
            for one in facts["estimators"]
        )
        heads = ("Alone in the population, of those alone here", "Right links expected", "Largest 1/F", "Mean 1/F")
        head = (Cell("Estimator"), *(num(h) for h in heads))
        blocks.append(Grid("Alone in the population", head, rows))
    chart = uniqueness_chart(document.charts["uniqueness"])
    blocks += [chart] if chart else []
    if facts.get("minimal_uniques"):
        blocks += _minimal(facts["minimal_uniques"])
    return [Heading("Uniqueness", id="alone"), *blocks] if blocks else []


def _estimate(one: Mapping[str, Any], key: str, unit: str) -> Cell:
    low, high = one.get("ranges", {}).get(key) or (None, None)
    return num(spoken(one[key], unit), interval(low, high, unit))


def _minimal(found: Mapping[str, Any]) -> list[Block]:
    """Minimal sample uniques: how many of each size, and which attributes take part."""
    total = max(sum(found["by_size"]), 1)
    sizes = tuple(
        (Cell(f"{size} attribute{'s' if size > 1 else ''}"), num(f"{n:,}"))
        for size, n in enumerate(found["by_size"], start=1)
    )
    parts = tuple(
        (Cell(label(name)), num(f"{n:,}"), num(share(n / total)))
        for name, n in sorted(found["by_attribute"].items(), key=lambda item: -item[1])
    )
    words = f"{found['rows']:,} people are singled out by some combination of at most {found['largest']} attributes."
    if "intrusion" in found:
        words += (
            f" Someone who matches a person who is alone here with the population, of which "
            f"{share(found['fraction'])} are sampled, is right in {share(found['intrusion'])} of cases on average "
            f"(DIS) and in {share(found['largest_risk'])} for the riskiest person (DIS-SUDA)."
        )
    head = (Cell("Attribute"), num("Takes part in"), num("Share"))
    return [
        Heading("Minimal sample uniques", level=3),
        Paragraph(words),
        Grid("Minimal sample uniques by size", (Cell("Size"), num("Minimal uniques")), sizes),
        Grid("Minimal sample uniques by attribute", head, parts),
    ]


def _counted(people: int | None) -> str:
    """An external document hides small counts."""
    return "few" if people is None else f"{people:,}"


def known_chart(chart: Mapping[str, Any]) -> Chart | None:
    """Linkage by the number of attributes known; nothing without the truth."""
    points = [p for p in chart["points"] if p["mean"] is not None]
    if not points:
        return None
    kinds = (("most", "the best set"), ("mean", "mean of all sets"))
    return line_chart(
        "Linkage by what is known",
        f"Nearest rows of {_counted(chart['people'])} people, by every set of this many attributes or some of them.",
        [words for _, words in kinds],
        [{"s": words, "x": p["known"], "y": p[key]} for key, words in kinds for p in points],
        {"x": axis("x", "attributes known", names=True), "y": axis("y", "share linked rightly", form="%")},
        head=("attributes known", "sets", "mean", "best set", "which is"),
        rows=[
            (str(p["known"]), str(p["sets"]), share(p["mean"]), share(p["most"]), listed(p["most_by"])) for p in points
        ],
        about="Share of people linked rightly by the number of attributes known.",
    )


def sizes_chart(sizes: Mapping[str, Mapping[str, Any]], people: int) -> Chart | None:
    """How many rows fit a person equally well, of each reader."""
    values, rows = [], []
    for reader, chart in sizes.items():
        for (low, high), n in zip(pairwise(chart["edges"]), chart["people"], strict=True):
            name = str(high) if high - low == 1 else f"{low + 1:,}–{high:,}"
            values.append({"s": READER_NAMES[reader], "x": name, "n": n, "t": "", "at": high})
            rows.append((f"{READER_NAMES[reader]}: {name}", f"{n:,}", share(n / people)))
    if not values:
        return None
    values.sort(key=lambda v: v.pop("at"))  # readers may have bins of their own: names in the order of their sizes
    names = [READER_NAMES[r] for r in sizes]
    spec = bars(values, "rows that fit a person equally well", "people", names=names, height=240, angle=-45)
    return Chart(
        title="How many rows fit",
        caption="1 is a link that can be claimed. Ties count as one over their number.",
        spec={"description": "People by the number of rows that fit them best.", **spec, "width": WIDTH},
        head=("rows", "people", "share"),
        rows=tuple(rows),
    )


def uniqueness_chart(points: Sequence[Mapping[str, Any]]) -> Chart | None:
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
    up = "alone in the population, of those alone in the sample"
    place = {
        "x": axis("x", "sampling fraction", domain=[0, 1], form="%"),
        "y": axis("y", up, domain=[0, 1], form="%"),
    }
    rows = [
        (
            f"{p['fraction']:g}",
            _counted(p["people"]),
            share(p["expected"]),
            *("" if p["estimates"][e] is None else share(p["estimates"][e]) for e in estimators),
        )
        for p in points
    ]
    return line_chart(
        "Uniqueness by sampling fraction",
        "If this file were the population: the share of people alone in a random sample who are alone in all "
        "of it, and what each estimator makes of one such sample.",
        names,
        values,
        place,
        head=("fraction", "people", *names),
        rows=rows,
        about="Share of sample uniques that are population uniques by sampling fraction.",
    )

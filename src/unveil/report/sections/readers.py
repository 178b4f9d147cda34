"""What readers believe: the three risks, who they are, releases side by side, and the charts of each attribute."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from unveil.audit.document import Document, amount
from unveil.audit.measures import parse_id, title_of
from unveil.audit.numbers import count, interval, spoken
from unveil.report.belief_charts import belief_density, calibration, convergence, relative_threat, subgroups
from unveil.report.blocks import Block, Cell, Chart, Grid, Heading, Listing, Paragraph, merged, num
from unveil.report.reading import Names, about, releases_head, title_cell, value_cell, verdict_cell
from unveil.report.wording import clean, distinct_labels, label, reader_name

__all__ = ["calibrated", "comparison", "least_calibrated", "overlays", "places", "three_risks", "who"]

MOST_SUBGROUP_CHARTS = 24  # in the whole report: its size and the time it takes to open
RISKS = {
    "singling_out": ("Singling out", "Can a person's row be isolated?"),
    "linkability": ("Linkability", "Can rows about one person be linked?"),
    "inference": ("Inference", "Can a sensitive value be deduced?"),
}
THREAT = {
    "target": "Knows of the person",
    "membership": "That the person is in the file",
    "group": "The person's group",
    "others": "Of other people",
    "population": "Of the population",
    "mechanism": "How the file was made",
}
CALIBRATED = "calibration_error", "confident.80", "confident_right.80", "confident_wrong.80", "overconfidence.80"
COMPARED = ("global_threat", "relative_threat.share_2x", "relative_threat.max", "belief_gain", "confident.80")


def three_risks(document: Document, names: Names) -> list[Block]:
    """One row a criterion; one column a release, or with a single one value, baseline and words apart."""
    if document.document != "audit":
        return []
    found = document.diagnostics.get("wp29", {})
    rows = []
    for key, (title, question) in RISKS.items():
        cells = [part for r in names.releases for part in _criterion(found.get(r, {}).get(key) or {}, names)]
        rows.append((Cell(title, question), *cells))
    if names.several:
        head = [Cell(names.of(r)) for r in names.releases]
    else:
        head = [num("Measured", "95% interval"), num("Baseline"), Cell("In words")]
    title = "Singling out, linkability, inference"
    return [
        Heading(title, small="Article 29 Working Party, Opinion 05/2014", id="wp29"),
        Grid(title, (Cell("Criterion"), *head), tuple(rows)),
    ]


def _criterion(entry: Mapping[str, Any], names: Names) -> list[Cell]:
    value, error, base = "not tested", "", ""
    measured = entry.get("status") == "measured"
    if measured:
        found = parse_id(entry["finding"])
        unit = found.measure, found.statistic
        value = spoken(entry.get("value"), *unit)
        error = interval(entry.get("low"), entry.get("high"), *unit)
        base = "" if entry.get("baseline") is None else spoken(entry["baseline"], *unit)
    words = clean(entry.get("words") or "", 300)
    kind = "strong" if measured else "quiet"
    if not names.several:
        return [Cell(value, error, f"num {kind}"), num(base or "–"), Cell(words or "–")]
    numbers = "; ".join(filter(None, (error and f"interval {error}", base and f"baseline {base}")))
    return [Cell(value, " · ".join(filter(None, (numbers, words))), kind)]


def who(document: Document, names: Names) -> list[Block]:
    """One row for each reader and what it knows, which is mostly the same for every release."""
    seen: dict[tuple[str, ...], None] = {}
    absent: dict[tuple[str, str], list[str]] = {}
    for reader in document.diagnostics.get("readers", ()):
        if "threat" not in reader:
            continue
        if reader.get("applicable", True):
            threat = reader["threat"] or {}
            seen[(reader["reader"], *(clean(threat.get(key, "not stated"), 160) for key in THREAT))] = None
        else:
            why = clean(reader.get("reason") or "no reason given", 300)
            absent.setdefault((reader["reader"], why), []).append(names.only(reader["release"]))
    if not seen and not absent:
        return []
    roles = {"learner": "the baseline: what this file teaches about people in general"}
    rows = tuple((Cell(reader_name(r[0]), roles.get(r[0], "attacker")), *map(Cell, r[1:])) for r in seen)
    items = [
        (reader_name(name), f"not applicable{' to ' if any(where) else ''}{', '.join(dict.fromkeys(where))}: {why}")
        for (name, why), where in absent.items()
    ]
    title = "Who the attacker is assumed to be"
    return [
        Heading(title, id="who"),
        *([Grid(title, (Cell("Reader"), *map(Cell, THREAT.values())), rows)] if rows else []),
        *([Listing(tuple(items))] if items else []),
    ]


def calibrated(document: Document, names: Names) -> list[Block]:
    """Whether each reader's beliefs come true as often as they say; right and wrong certainty apart."""
    if document.document != "audit":
        return []
    of = {(f.release, f.attribute, f.reader, f.name): f for f in document.findings}
    rows = []
    for release, attribute, reader, name in of:
        if name != "calibration_error" or of[release, attribute, reader, name].value is None or reader is None:
            continue
        cells = [of.get((release, attribute, reader, m)) for m in CALIBRATED]
        gap = cells[-1]
        judged = Cell("–", kind="quiet")
        if gap is not None and gap.value is not None:
            surer, less = amount(gap.low) > 0, amount(gap.high) < 0
            judged = Cell("as sure as right")
            if surer or less:
                words = "✕ surer than right" if surer else "less sure than right"
                judged = Cell(words, spoken(gap.value, gap.measure), "verdict exceeded" if surer else "")
        place = Cell(reader_name(reader), ", ".join(filter(None, (names.only(release), label(attribute or "")))))
        rows.append((place, *map(value_cell, cells[:-1]), judged))
    if not rows:
        return []
    title = "Do beliefs come true as often as they say?"
    head = "Calibration error", "Believed 80% or more", "of these, rightly", "Wrongly, of all people"
    words = (
        "How many values a reader gets right is a lower bound of what somebody may. How sure it is of one person is "
        "not: a wrong certainty harms a person, too, and is counted separately."
    )
    grid = Grid(title, (Cell("Reader"), *map(num, head), Cell("Confident beliefs are")), tuple(rows), kind="tight")
    return [Heading(title, id="calibration"), Paragraph(words, "quiet"), grid]


def least_calibrated(document: Document, names: Names) -> str:
    """Of which attacker beliefs come true least as they say, in a sentence."""
    of = {(f.release, f.attribute, f.reader, f.name): f for f in document.findings}
    attackers = document.settings.get("attackers", ())
    found = [f for f in of.values() if f.name == CALIBRATED[0] and f.reader in attackers and f.value is not None]
    if not found or document.document != "audit":
        return ""
    worst = max(found, key=lambda f: amount(f.value))
    sure, right = (of.get((worst.release, worst.attribute, worst.reader, m)) for m in CALIBRATED[1:3])
    text = f"{about(worst, names)}: beliefs lie {spoken(worst.value, worst.measure)} from how often they come true"
    if sure is None or right is None or not sure.value or right.value is None:
        return f"{text}; it is 80% sure of nobody."
    return f"{text}; of those of 80% or more {spoken(right.value, right.measure)} are right."


def comparison(document: Document, names: Names) -> list[Block]:
    """Releases side by side: one row a reader and measure, one column a release."""
    if document.document != "audit" or not names.several:
        return []
    places = {(f.id, f.attribute, f.release): f for f in document.findings}
    readers = [f"{reader}." for reader in names.readers]
    rows: list[tuple[Cell, ...]] = []
    for attribute in dict.fromkeys(f.attribute for f in document.findings if f.attribute is not None):
        for id in COMPARED:
            for name, reader in zip(names.readers, readers, strict=True):
                found = [places.get((reader + id, attribute, r)) for r in names.releases]
                if any(found):
                    first = Cell(label(title_of(parse_id(id))), label(attribute))
                    rows.append((first, Cell(reader_name(name)), *map(value_cell, found)))
    for id in ("k_anonymity", "suppressed_share"):
        found = [places.get((id, None, r)) for r in names.releases]
        if any(found):
            rows.append((title_cell(parse_id(id)), Cell("–"), *map(value_cell, found)))
    verdicts = document.diagnostics.get("verdicts", {})
    if verdicts:
        cells = (verdict_cell(verdicts.get(r, "no limit")) for r in names.releases)
        rows.append((Cell("Verdict"), Cell("–"), *(replace(c, kind=f"{c.kind} num") for c in cells)))
    if not rows:
        return []
    title = "The releases side by side"
    words = clean(document.diagnostics.get("dominance_text") or "")
    head = (Cell("Measure"), Cell("Reader"), *releases_head(names))
    return [
        Heading(title, id="comparison"),
        *([Paragraph(words)] if words else []),
        Grid(title, head, merged(rows, [0]), fixed=2, kind="tight"),
    ]


def overlays(document: Document, names: Names) -> list[Block]:
    """The same attacker on every release, in one chart."""
    if document.document != "audit" or not names.several:
        return []
    charts, found = document.charts, []
    for attribute in dict.fromkeys(a for r in names.releases for a in charts.get(r, {}) if a):
        for key, draw, title in (
            ("relative_threat", relative_threat, "Relative threat · {} · {}"),
            ("calibration", calibration, "How sure and how right · {} · {}"),
        ):
            for reader in names.readers:
                series = {
                    names.of(r): bins
                    for r in names.releases
                    if (bins := charts.get(r, {}).get(attribute, {}).get(key, {}).get(reader))
                    and (key == "calibration" or bins.get("counts"))
                }
                if len(series) > 1 and not (key == "calibration" and reader == "learner"):
                    found.append(draw(series, names.least, title.format(reader_name(reader), label(attribute))))
    drawn = [chart for chart in found if chart is not None]
    return [Heading("Releases in one chart", id="overlays"), *drawn] if drawn else []


def places(document: Document, names: Names) -> list[Block]:
    """The charts of each release and sensitive attribute."""
    if document.document not in ("attribute", "audit"):
        return []
    found = [(r, a) for r in names.releases for a in document.charts.get(r, {}) if a]
    return [
        block
        for number, (release, attribute) in enumerate(found, 1)
        for block in _place(document, names, release, attribute, number, len(found))
    ]


def _place(document: Document, names: Names, release: str, attribute: str, number: int, of: int) -> list[Block]:
    charts, least = document.charts[release][attribute], names.least
    truth = document.settings.get("original") is not None
    small = names.only(release)
    blocks: list[Block] = [Heading(label(attribute), small=small, id=f"section-{number}")]
    worst = document.diagnostics.get("worst_attribute", {}).get(release, {})
    if len(worst) > 1 and attribute in worst:
        many = count(worst[attribute], least)
        blocks.append(Paragraph(f"For {many} people this is the worst of the sensitive attributes."))
    place = {"release": names.releases.index(release), "attribute": list(document.charts[release]).index(attribute)}
    figures: list[Chart | None] = [
        belief_density(
            a, bins, least, truth=truth, at=None if document.settings.get("variant") == "external" else place
        )
        for a, bins in charts.get("beliefs", {}).items()
    ]
    threats = {reader_name(a): bins for a, bins in charts.get("relative_threat", {}).items() if bins.get("counts")}
    figures.append(relative_threat(threats, least, "Relative threat") if threats else None)
    sure = {reader_name(a): b for a, b in charts.get("calibration", {}).items()}
    figures.append(calibration(sure, least, "How sure and how right"))
    blocks += _titled("What is believed", figures)
    shown, left_out = _subgroup_charts(charts.get("subgroups", {}), least, of)
    blocks += _titled("Who is exposed", shown)
    if left_out:
        words = f"{left_out} further attributes, in which no subgroup is more exposed, are in the JSON document."
        blocks.append(Paragraph(words, "quiet"))
    readers = [
        r
        for r in document.diagnostics.get("readers", ())
        if (r["release"], r.get("attribute")) == (release, attribute) and r.get("applicable", True)
    ]
    panels = [convergence(r, p, least) for r, p in charts.get("convergence", {}).items()]
    return blocks + _computed(readers) + [p for p in panels if p is not None]


def _titled(title: str, charts: Sequence[Chart | None]) -> list[Block]:
    drawn = [chart for chart in charts if chart is not None]
    return [Heading(title, level=3), *drawn] if drawn else []


def _subgroup_charts(
    found: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]], least: int, sections: int
) -> tuple[list[Chart], int]:
    """Those attributes first in which some subgroup is most exposed; how many are left out."""
    exposed: dict[str, float] = {}
    for attributes in found.values():
        for name, groups in attributes.items():
            shares = (g["twice"] / g["people"] for g in groups if g["people"] and g["twice"] is not None)
            exposed[name] = max(exposed.get(name, 0.0), max(shares, default=0.0))
    most = max(1, min(8, MOST_SUBGROUP_CHARTS // max(1, sections * len(found))))
    order = sorted(exposed, key=lambda name: -exposed[name])
    shown = [
        subgroups(attacker, name, groups, distinct_labels(g["label"] for g in groups), least)
        for name in order[:most]
        for attacker, attributes in found.items()
        if (groups := attributes.get(name, ()))
    ]
    return shown, max(0, len(order) - most)


def _computed(readers: Sequence[Mapping[str, Any]]) -> list[Block]:
    """How each reader's beliefs were reached, and the answers of chains that disagree, each by itself."""
    rows, modes = [], []
    for reader in readers:
        facts = ", ".join(f"{label(k)} {_fact(v)}" for k, v in (reader.get("facts") or {}).items())
        agree = Cell("yes") if reader.get("converged", True) else Cell("✕ no", kind="verdict exceeded")
        precise = Cell("yes") if reader.get("precise", True) else Cell("? no", kind="verdict inconclusive")
        method = Cell(clean(reader.get("method") or "", 200))
        rows.append((Cell(reader_name(reader["reader"])), method, agree, precise, Cell(facts)))
        if reader.get("modes"):
            modes += _modes(reader["modes"], reader_name(reader["reader"]))
    title = "How it was computed"
    head = map(Cell, ("Reader", "Computed", "Chains agree", "Precise", "Facts"))
    return [Heading(title, level=3), Grid(title, tuple(head), tuple(rows)), *modes] if rows else []


def _fact(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:,.4g}" if isinstance(value, int | float) else clean(value, 120)


def _modes(modes: Sequence[Mapping[str, Any]], name: str) -> list[Block]:
    keys = list(dict.fromkeys(key for mode in modes for key in mode))
    rows = tuple(
        tuple(Cell(clean(m.get(k), 60)) if k == "chain" else num(spoken(m.get(k), k)) for k in keys) for m in modes
    )
    head = tuple(Cell(label(k.replace("_", " ")), kind="" if k == "chain" else "num") for k in keys)
    words = f"The chains of {name} disagree. Each is listed by itself; nothing is pooled and none is to be relied on."
    return [Paragraph(words, "warning"), Grid("Answers of each chain", head, rows)]

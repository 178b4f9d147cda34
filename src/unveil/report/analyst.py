"""The analyst's part of an audit report: comparison, charts, levels, convergence, every finding with its definition."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from unveil.audit.document import Document, Finding
from unveil.audit.numbers import count, spoken
from unveil.report.background import background_part
from unveil.report.charts import (
    Chart,
    belief_density,
    calibration,
    convergence,
    relative_threat,
)
from unveil.report.group_charts import group_sizes, subgroups
from unveil.report.membership import membership_charts
from unveil.report.officer import Cell, Grid, Names, merged, value_cell, verdict_cell
from unveil.report.wording import clean, distinct_labels, label, reader_name

__all__ = ["analyst_part"]

MOST_SUBGROUP_CHARTS = 24  # in the whole report: its size and the time it takes to open
LEVELS = {
    "k_anonymity",
    "delta_presence",
    "distinct_l",
    "probabilistic_l",
    "entropy_l",
    "recursive_cl",
    "alpha_k",
    "p_sensitive_k",
    "t_closeness",
    "n_t_closeness",
    "strict_n_t_closeness",
    "delta_disclosure",
    "beta_likeness",
    "enhanced_beta_likeness",
    "epsilon_m",
}
# For each number of the comparison: its title, and whether less is better for the people.
COMPARED = (
    ("global_threat", "Guesses right"),
    ("relative_threat.share_2x", "People at least twice as exposed"),
    ("relative_threat.max", "Largest exposure"),
    ("belief_gain", "Largest gain of belief"),
    ("confident.80", "People believed at 80% or more"),
)


def analyst_part(document: Document, names: Names) -> dict[str, Any]:
    """Everything after the first page, in its order."""
    charts = document.charts
    places = [(r, a) for r in names.releases for a in charts.get(r, {}) if a]
    sections = [_section(document, names, release, attribute, len(places)) for release, attribute in places]
    return {
        "comparison": _comparison(document, names),
        "overlays": _overlays(charts, names) if names.several else [],
        "sections": sections,
        "sizes": [
            group_sizes(charts[r][""]["group_sizes"], names.least, names.shown[r])
            for r in names.releases
            if charts.get(r, {}).get("", {}).get("group_sizes")
        ],
        "membership": membership_charts(document, names.least, names.releases, names.shown),
        "background": background_part(document, names),
        "levels": _levels(document.findings, names),
        "readings": _readings(document, names),
        "findings": _findings(document, names),
    }


def _find(findings: Sequence[Finding], id: str, release: str, attribute: str | None) -> Finding | None:
    return next((f for f in findings if (f.id, f.release, f.attribute) == (id, release, attribute)), None)


def _comparison(document: Document, names: Names) -> Grid | None:
    """Releases side by side: one row a reader and measure, one column a release."""
    if not names.several:
        return None
    attributes = list(dict.fromkeys(f.attribute for f in document.findings if f.attribute is not None))
    rows = []
    for attribute in attributes:
        for id, title in COMPARED:
            for reader in names.readers:
                found = [_find(document.findings, f"{reader}.{id}", r, attribute) for r in names.releases]
                if any(found):
                    cells = (value_cell(f, names) if f else Cell("–", kind="num") for f in found)
                    rows.append((Cell(title, label(attribute)), Cell(reader_name(reader)), *cells))
    for id, title in (("k_anonymity", "Smallest class (k)"), ("suppressed_share", "Rows suppressed")):
        found = [_find(document.findings, id, r, None) for r in names.releases]
        if any(found):
            cells = (value_cell(f, names) if f else Cell("–", kind="num") for f in found)
            rows.append((Cell(title), Cell("–"), *cells))
    verdicts = document.diagnostics.get("verdicts", {})
    if verdicts:
        cells = (verdict_cell(verdicts.get(r, "no limit")) for r in names.releases)
        rows.append((Cell("Verdict"), Cell("–"), *(replace(c, kind=f"{c.kind} num") for c in cells)))
    head = (Cell("Measure"), Cell("Reader"), *(Cell(names.shown[r], kind="num") for r in names.releases))
    return Grid(head, merged(rows, [0]), fixed=2, kind="tight") if rows else None


def _overlays(charts: Mapping[str, Any], names: Names) -> list[Chart]:
    """The same attacker on every release, in one chart."""
    found: list[Chart] = []
    for attribute in dict.fromkeys(a for r in names.releases for a in charts.get(r, {}) if a):
        for key, draw, title in (
            ("relative_threat", relative_threat, "Relative threat: {}, {}"),
            ("calibration", calibration, "How sure and how right: {}, {}"),
        ):
            for reader in names.readers:
                series = {
                    names.shown[r]: bins
                    for r in names.releases
                    if (bins := charts.get(r, {}).get(attribute, {}).get(key, {}).get(reader))
                    and (key == "calibration" or bins.get("counts"))
                }
                if len(series) > 1 and not (key == "calibration" and reader == "learner"):
                    chart = draw(series, names.least, title.format(reader_name(reader), label(attribute)))
                    found += [chart] if chart else []
    return found


def _section(document: Document, names: Names, release: str, attribute: str, sections: int) -> dict[str, Any]:
    """The charts of one release and one sensitive attribute."""
    charts, least = document.charts[release][attribute], names.least
    truth = document.settings.get("original") is not None
    figures = [belief_density(a, bins, least, truth=truth) for a, bins in charts.get("beliefs", {}).items()]
    threats = {reader_name(a): bins for a, bins in charts.get("relative_threat", {}).items() if bins.get("counts")}
    figures += [relative_threat(threats, least, "Relative threat")] if threats else []
    sure = calibration(
        {reader_name(a): b for a, b in charts.get("calibration", {}).items()}, least, "How sure and how right"
    )
    figures += [sure] if sure else []
    shown, left_out = _subgroup_charts(charts.get("subgroups", {}), least, sections)
    readers = [
        r
        for r in document.diagnostics.get("readers", ())
        if (r["release"], r.get("attribute")) == (release, attribute) and r.get("applicable", True)
    ]
    panels = [convergence(r, p, least) for r, p in charts.get("convergence", {}).items()]
    worst = document.diagnostics.get("worst_attribute", {}).get(release, {})
    return {
        "release": names.shown[release],
        "attribute": label(attribute),
        "figures": figures,
        "subgroups": shown,
        "left_out": left_out,
        "readers": _readers(readers),
        "panels": [p for p in panels if p],
        "modes": [m for r in readers if (m := _modes(r))],
        "worst": count(worst[attribute], least) if len(worst) > 1 and attribute in worst else "",
    }


def _subgroup_charts(
    found: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]], least: int, sections: int
) -> tuple[list[Chart], int]:
    """Those attributes first in which some subgroup is most exposed; how many are left out."""
    exposed: dict[str, float] = {}
    for attributes in found.values():
        for name, groups in attributes.items():
            exposed[name] = max(exposed.get(name, 0.0), _most_exposed(groups))
    most = max(1, min(8, MOST_SUBGROUP_CHARTS // max(1, sections * len(found))))
    order = sorted(exposed, key=lambda name: -exposed[name])
    shown = [
        subgroups(attacker, name, groups, distinct_labels(g["label"] for g in groups), least)
        for name in order[:most]
        for attacker, attributes in found.items()
        if (groups := attributes.get(name, ()))
    ]
    return shown, max(0, len(order) - most)


def _most_exposed(groups: Sequence[Mapping[str, Any]]) -> float:
    return max((g["twice"] / g["people"] for g in groups if g["people"] and g["twice"] is not None), default=0.0)


def _readers(readers: Sequence[Mapping[str, Any]]) -> Grid | None:
    rows = []
    for reader in readers:
        facts = ", ".join(f"{label(k)} {_fact(v)}" for k, v in (reader.get("facts") or {}).items())
        agree = Cell("yes") if reader.get("converged", True) else Cell("✕ no", kind="verdict exceeded")
        precise = Cell("yes") if reader.get("precise", True) else Cell("? no", kind="verdict inconclusive")
        rows.append(
            (
                Cell(reader_name(reader["reader"])),
                Cell(clean(reader.get("method") or "", 200)),
                agree,
                precise,
                Cell(facts),
            )
        )
    head = (Cell("Reader"), Cell("Computed"), Cell("Chains agree"), Cell("Precise"), Cell("Facts"))
    return Grid(head, tuple(rows)) if rows else None


def _fact(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:,.4g}" if isinstance(value, int | float) else clean(value, 120)


def _modes(reader: Mapping[str, Any]) -> tuple[str, Grid] | None:
    """The answers of chains that disagree, each by itself."""
    modes = reader.get("modes") or ()
    if not modes:
        return None
    keys = list(dict.fromkeys(key for mode in modes for key in mode))
    rows = tuple(
        tuple(Cell(clean(mode.get(k), 60)) if k == "chain" else Cell(_mode(mode.get(k), k), kind="num") for k in keys)
        for mode in modes
    )
    head = tuple(Cell(label(k.replace("_", " ")), kind="" if k == "chain" else "num") for k in keys)
    return reader_name(reader["reader"]), Grid(head, rows)


def _mode(value: Any, key: str) -> str:
    return spoken(value, key) if isinstance(value, (int, float)) or value in (None, "inf") else clean(value, 120)


def _levels(findings: Sequence[Finding], names: Names) -> Grid | None:
    """Every privacy model's level, releases side by side."""
    places = dict.fromkeys((f.id, f.attribute) for f in findings if f.measure in LEVELS)
    rows = []
    for id, attribute in places:
        found = [_find(findings, id, r, attribute) for r in names.releases]
        cells = (value_cell(f, names) if f else Cell("–", kind="num") for f in found)
        rows.append((Cell(label(id), kind="code"), Cell(label(attribute) if attribute else "–"), *cells))
    columns = [names.shown[r] for r in names.releases] if names.several else ["Level"]
    head = (Cell("Privacy model"), Cell("Of"), *(Cell(c, kind="num") for c in columns))
    return Grid(head, tuple(rows), fixed=2) if rows else None


def _readings(document: Document, names: Names) -> Grid | None:
    """How each release was read: rows, groups, blocks, what is withheld, where domains come from."""
    facts = document.diagnostics.get("releases", {})
    lines: list[tuple[str, list[str]]] = []

    def add(title: str, tell: Any) -> None:
        texts = [tell(facts.get(r) or {}) for r in names.releases]
        if any(texts):
            lines.append((title, [t or "–" for t in texts]))

    add("Rows", lambda f: count(f["rows"], names.least) if "rows" in f else "")
    add("Groups", lambda f: count(f["groups"], names.least) if f.get("groups") else "")
    add("Perturbed", lambda f: ", ".join(map(label, f.get("masked", ()))))
    add("Blocks", lambda f: clean(" | ".join(", ".join(map(label, b)) for b in f.get("blocks", ())), 600))
    add("Suppressed rows", lambda f: count(f["suppressed_rows"], names.least) if "suppressed_rows" in f else "")
    add("Values withheld", lambda f: _pairs(f.get("withheld_values"), lambda n: count(n, names.least)))
    add("Published in sets", lambda f: ", ".join(map(label, f.get("widened_sensitive", ()))))
    add("Domains from", lambda f: _pairs(f.get("domains"), label))
    add("Distances", lambda f: _pairs(f.get("distances"), label))
    add(
        "Repeated identifiers",
        lambda f: count(f["repeated_identifiers"], names.least) if f.get("repeated_identifiers") is not None else "",
    )
    if not lines:
        return None
    head = (Cell(""), *(Cell(names.shown[r]) for r in names.releases))
    return Grid(head, tuple((Cell(title), *map(Cell, texts)) for title, texts in lines))


def _pairs(found: Mapping[str, Any] | None, tell: Any) -> str:
    return clean(", ".join(f"{label(k)}: {tell(v)}" for k, v in (found or {}).items()), 600)


def _findings(document: Document, names: Names) -> dict[str, Any]:
    """All findings by measure, each measure with its definition and source."""
    definitions = document.diagnostics.get("definitions", {})
    measures: dict[str, dict[tuple[str, str | None], dict[str, Finding]]] = {}
    for finding in document.findings:
        measure = finding.measure
        place = measures.setdefault(measure, {}).setdefault((finding.id, finding.attribute), {})
        place.setdefault(finding.release, finding)
    columns = [names.shown[r] for r in names.releases] if names.several else ["Value"]
    head = (Cell("Finding"), Cell("Of"), *(Cell(c, kind="num") for c in columns), Cell("Baseline", kind="num"))
    found = []
    for measure, places in measures.items():
        rows = []
        for (id, attribute), by_release in places.items():
            values = (by_release.get(r) for r in names.releases)
            cells = (value_cell(f, names) if f else Cell("–", kind="num") for f in values)
            of = Cell(label(attribute) if attribute else "–")
            rows.append((Cell(label(id), kind="code"), of, *cells, _base(by_release, names)))
        about = definitions.get(measure) or {}
        texts = {key: clean(about.get(key) or "") for key in ("words", "source", "page")}
        found.append({"measure": label(measure), **texts, "rows": rows})
    return {"head": head, "measures": found}


def _base(by_release: Mapping[str, Finding], names: Names) -> Cell:
    """Baselines differ by release: the learner reads the release too."""
    texts = []
    for release in names.releases:
        finding = by_release.get(release)
        if finding is not None:
            measure, statistic = finding.measure, finding.statistic
            texts.append("–" if finding.baseline is None else spoken(finding.baseline, measure, statistic))
    return Cell(texts[0] if len(set(texts)) == 1 else " / ".join(texts), kind="num")

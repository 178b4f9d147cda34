"""Sections that every document has: its verdict, its sentences, its limits, how it was measured, all its findings."""

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.audit.document import Document, Finding
from unveil.audit.measures import measure, title_of
from unveil.report.blocks import Banner, Block, Cell, Details, Grid, Heading, Listing, Paragraph, merged, num
from unveil.report.reading import (
    Names,
    about,
    baseline_text,
    limit_words,
    meaning,
    releases_head,
    value_cell,
    verdict_cell,
    verdict_of,
)
from unveil.report.sections.combinations import combination_words
from unveil.report.wording import VERDICTS, clean, label, listed, reader_name

__all__ = [
    "LITTLE",
    "banner",
    "every_finding",
    "head",
    "limits",
    "method",
    "not_tested",
    "provenance",
    "sentence_rows",
    "sentences",
    "warnings",
]

# What a document is called, and the question it answers.
QUESTIONS = {
    "attribute": ("attribute attack", "What do readers believe of each person?"),
    "audit": ("audit report", "May this table be published?"),
    "check": ("privacy models", "Which levels does this release reach?"),
    "differential": (
        "differential inference test",
        "How much does one record change what is inferred about its owner?",
    ),
    "disclosure": ("attribute disclosure", "What do perturbed values give away?"),
    "frontier": ("privacy-utility frontier", "Which release should be published?"),
    "knowledge": ("background knowledge", "What can be known before the release is read?"),
    "link": ("identity disclosure", "Can people be linked with their rows?"),
    "membership": ("membership inference", "Can it be found out who is in?"),
}
SOURCES = {
    "differential": "Figures 1, 2 and 5 of Kassem, Acs, Castelluccia and Palamidessi 2019. Their figures 3, 4 and 6 "
    "show the Internet Usage data of 1997 (OpenML's data set 981), which no package carries.",
    "disclosure": "Measures as in Torra 2024. docs/disclosure.md has the definitions.",
    "link": "Linkage and uniqueness as in Torra 2024; Fellegi and Sunter 1969. docs/linkage.md has the definitions.",
    "membership": "Shokri et al. 2017; Yeom et al. 2018; Carlini et al. 2022; Torra 2024. docs/membership.md has the "
    "definitions.",
}
SUBJECTS = {
    "release": "a release",
    "scheme": "a release whose scheme is known",
    "model": "a model",
    "predictions": "a model",
}
TRUTH = {
    "given": "whose row is whose was given",
    "own row fits": "published cells contain the true values, so a person's own row always fits",
    "unknown": "whose row is whose is not known, so success is unknown",
}
READING = {"coordinates": "of each coordinate, summed", "vectors": "between prediction vectors"}
LITTLE = "how little need be known"
MOST_FINDINGS = 300  # more are folded
MOST_LIMITS = 40  # comparisons; of more, those of the worst readers


def head(document: Document, names: Names) -> list[Block]:
    """The question, the verdict, and what was looked at."""
    brand, question = QUESTIONS[document.document]
    verdicts = document.diagnostics.get("verdicts", {}) if names.several else {}
    items = tuple((names.of(r), verdicts[r]) for r in names.releases if r in verdicts)
    return [
        Heading(question, level=1, small=f"unveil · {brand}"),
        banner(document),
        *([Listing(items, "verdicts")] if items else []),
        Listing(tuple(_facts(document, names)), "facts"),
        *([Listing(found, "warning")] if (found := tuple(warnings(document, names))) else []),
    ]


def banner(document: Document) -> Banner:
    """The verdict in words; of a frontier what it recommends."""
    facts = document.diagnostics
    if "recommendation" in facts:
        chosen = facts["recommendation"]
        verdict = {0: "within", 1: "exceeded", 3: "inconclusive"}[facts["exit_code"]]
        if chosen["point"] is None:
            return Banner(verdict, "Nothing to recommend", chosen["words"])
        if chosen["rule"] == "knee":  # a fair trade, not a limit kept
            return Banner("no limit", f"Nothing recommended; the knee: {label(chosen['point'])}", chosen["words"])
        return Banner(verdict, f"Recommended: {label(chosen['point'])}", chosen["words"])
    verdict = verdict_of(document)
    limited = [f for f in document.findings if f.limit]
    broken, open_ = (sum(f.verdict == v for f in limited) for v in ("exceeded", "inconclusive"))
    of = f"{len(limited)} comparison{'s' if len(limited) != 1 else ''} with the limits"
    words = {
        "within": f"All {of} passed, against the attackers listed below.",
        "exceeded": f"{broken} of {of} failed.",
        "inconclusive": "The numbers are not sure enough for a verdict"
        + (f": {open_} of {of} could go either way." if open_ else "."),
        "no limit": "The numbers below say what was found; nobody said how much is too much.",
    }
    said = [one.get("words", "") for one in facts.get("judgement", {}).values()]
    if len(said) == 1:  # the word, and what a reader must not overlook beside it
        beside = said[0].partition("; ")[2]
        return Banner(verdict, VERDICTS[verdict], f"{beside[:1].upper()}{beside[1:]}." if beside else words[verdict])
    return Banner(verdict, VERDICTS[verdict], words[verdict])


def _facts(document: Document, names: Names) -> list[tuple[str, str]]:
    """What was asked about, by kind of document: what is not there is left out."""
    settings, facts = document.settings, document.diagnostics
    release = settings.get("release") or settings.get("name") or (names.releases[0] if names.releases else None)
    found: list[tuple[str, Any]] = []
    if document.document in ("attribute", "audit", "check", "link", "disclosure", "membership") and not names.several:
        found.append(("Release" if settings.get("subject", "release") == "release" else "Which is", release))
    if document.document == "audit":
        found += [
            ("Release type", settings.get("release_type") or "not stated"),
            ("Recipient", settings.get("recipient") or "not stated"),
        ]
    if "subject" in settings:
        found.append(("Attacked", SUBJECTS[settings["subject"]]))
    if "original" in settings or document.document == "audit":
        found.append(("Compared with", settings.get("original") or "no original given"))
    counts = {"People": "people", "Control people": "controls", "Members": "members", "Others": "others"}
    counts |= {"Rows published": "rows", "Groups": "groups"}
    found += [(name, f"{facts[key]:,}") for name, key in counts.items() if isinstance(facts.get(key), int)]
    if document.document in ("link", "membership"):
        found.append(("Known of them", listed(settings["known"]) or "the answers of the model"))
    if "perturbed" in facts:
        found.append(("Perturbed", listed(facts["perturbed"]) or "nothing"))
    if "truth" in facts:
        found.append(("Truth", TRUTH[facts["truth"]]))
    if document.document == "disclosure":
        found += [("Model", settings["model"]), ("Absent fact of", settings["fact"] or "none given")]
    if document.document == "differential":
        prior = "given" if settings["prior"] else "those of the release"
        distance = f"{settings['distance']}, {READING[settings['reading']]}"
        found += [("Inferred", settings["attribute"]), ("Model", settings["model"]), ("Distance", distance)]
        found += [("Class priors", prior), ("Seed", settings["seed"])]
    if document.document == "membership":
        found.append(("Shadow models", f"{settings['shadows']:,}"))
    if document.document == "frontier":
        tried = [p for p in facts["points"] if p["scheme"] is not None]
        found += [
            ("Releases tried", f"{len(tried):,}"),
            ("of them by refinement", f"{sum(p['refined'] for p in tried):,}"),
            ("Undominated", f"{len(facts['undominated']):,}"),
            ("Limits", "; ".join(settings["limits"]) or "none stated"),
        ]
    if "source" in facts:
        found.append(("Knowledge", facts["source"]))
    found += [(name, settings[key]) for name, key in (("Preset", "preset"),) if settings.get(key)]
    found.append(("Date", document.run.date[:10]))
    if document.document == "audit":
        outside = settings.get("variant") == "external"
        found.append(("Variant", f"external, no count below {names.least}" if outside else "internal"))
    return [(name, clean(text, 200)) for name, text in found if text is not None]


def warnings(document: Document, names: Names) -> list[tuple[str, str]]:
    """What the reader must not miss."""
    places: dict[tuple[bool, str], list[str]] = {}
    by_place: dict[tuple[bool, str], list[str]] = {}
    of_chains: dict[str, list[str]] = {}  # once, though several readers share the chains; whom it puts in doubt
    for reader in document.diagnostics.get("readers", ()):
        where = names.of(reader["release"]) if "release" in reader else ""
        where += f" ({label(reader['attribute'])})" if reader.get("attribute") else ""
        facts = reader.get("facts") or {}
        if "readings" in facts:
            of_chains[f"{where}: {clean(facts['readings'], 400)}."] = []
        if "alarm" in facts:  # says why, and chains may well agree
            of_chains.setdefault(f"{where}: {clean(facts['alarm'], 400)}.", []).append(reader_name(reader["reader"]))
            continue
        if reader.get("applicable", True) and not (reader.get("converged", True) and reader.get("precise", True)):
            apart = not reader.get("converged", True)
            by_place.setdefault((apart, where), []).append(reader_name(reader["reader"]))
    for (apart, where), who in by_place.items():  # places with the same readers in one line
        places.setdefault((apart, " and ".join(who)), []).append(where)
    found = [f"{text} Not to be relied on: {', '.join(who)}." if who else text for text, who in of_chains.items()]
    found += [
        f"{'; '.join(where)}: the chains of {who} disagree. Their numbers are not pooled, and not to be relied on."
        if apart
        else f"{'; '.join(where)}: {who} stopped short of the stated precision; the intervals are wider than asked for."
        for (apart, who), where in sorted(places.items(), reverse=True)
    ]
    if document.document == "audit" and document.settings.get("original") is None:
        found.append("No original was given: what readers believe is measured; whether they are right is unknown.")
    sampled = document.diagnostics.get("sampled_people")
    if sampled is not None:
        found.append(f"Only a sample of {sampled:,} people was asked about; the intervals allow for that.")
    failures = document.diagnostics.get("failures", ())
    if failures:
        first, more = failures[0], len(failures) - 1
        found.append(
            f"{names.of(first['sanitizer'])}, without row {first['row']:,}: {clean(first['message'], 300)}"
            + (f" ({more:,} more failed)" if more else "")
        )
    if document.document == "frontier":
        found += document.diagnostics["remarks"]
    return [("", text) for text in found]


def sentences(document: Document, names: Names) -> list[Block]:
    """What was found, in plain words."""
    items = tuple((where, clean(text)) for _, where, text in sentence_rows(document, names))
    return [Heading("In plain words", id="plain"), Listing(items, "plain")] if items else []


def sentence_rows(document: Document, names: Names) -> list[tuple[str, str, str]]:
    """Release, what a sentence is about, and the sentence."""
    facts = document.diagnostics
    rows = [
        (r, " · ".join(filter(None, (label(attribute), names.only(r)))), text)
        for r in names.releases
        for attribute, text in (
            *facts.get("sentence", {}).get(r, {}).items(),
            (LITTLE, combination_words(facts.get("combinations", ()), r)),
        )
        if text
    ]
    rows += [("", "", text) for text in facts.get("sentences", ())]
    return rows + [(t["name"], names.of(t["name"]), t["sentence"]) for t in facts.get("tests", ())]


def limits(document: Document, names: Names) -> list[Block]:
    """Every comparison with a limit; where one limit applies to many readers, the worst of them, the others folded."""
    held = [f for f in document.findings if f.limit]
    if not held:
        return []
    worst: dict[tuple[str | None, ...], Finding] = {}
    for f in held:
        place = (f.release, f.attribute, f.measure, f.statistic, None if f.reader != "known" else f.reader)
        worst[place] = max(worst.get(place, f), f, key=_severity)
    if len(held) <= MOST_LIMITS or len(worst) == len(held):
        return [Heading("Limits", id="limits"), _comparisons(held, names)]
    words = f"The worst reader of each; {len(held):,} comparisons in all."
    every = Details("Every comparison with a limit", (_comparisons(held, names),))
    return [Heading("Limits", small=words, id="limits"), _comparisons([*worst.values()], names), every]


def _comparisons(findings: Sequence[Finding], names: Names) -> Grid:
    rows = [
        (
            Cell(clean(f.limit, 200), limit_words(f), "code", meaning=f"{clean(title_of(f))}. {meaning(f.measure)}"),
            Cell(about(f, names)),
            value_cell(f),
            verdict_cell(f.verdict),
        )
        for f in findings
    ]
    top = (Cell("Limit"), Cell("Of"), num("Found", "95% interval"), Cell("Verdict"))
    return Grid("Limits", top, merged(sorted(rows, key=lambda row: row[0].text), [0]), kind="tight")


def _severity(finding: Finding) -> tuple[int, float]:
    """The verdict, then how far the value lies on the wrong side."""
    value = finding.value if isinstance(finding.value, int | float) else 0.0
    order: dict[str, int] = {"inconclusive": 1, "exceeded": 2}
    return order.get(finding.verdict, 0), -value if ">=" in (finding.limit or "") else value


def not_tested(document: Document, names: Names) -> list[Block]:
    """What this document does not speak of."""
    found = tuple(("", clean(text)) for text in document.diagnostics.get("not_tested", ()))
    if document.document != "audit":
        return []
    words = "A stronger attacker may learn more than these numbers say: one who knows more, or models the data better."
    return [
        Heading("What was not tested", id="not-tested"),
        Paragraph(words),
        *([Listing(found)] if found else []),
    ]


def method(document: Document, names: Names) -> list[Block]:
    """Remarks on how it was measured, and where the measures come from."""
    if document.document == "frontier":  # its remarks are warnings
        return []
    remarks = tuple(("", clean(text)) for text in document.diagnostics.get("remarks", ()))
    source = SOURCES.get(document.document)
    if not remarks and not source:
        return []
    return [
        Heading("Remarks" if document.document == "audit" else "How it was measured", id="how"),
        *([Listing(remarks)] if remarks else []),
        *([Paragraph(source, "quiet")] if source else []),
    ]


def provenance(document: Document, names: Names) -> list[Block]:
    """The files that were read, and with what they were."""
    run, settings = document.run, document.settings
    facts: list[tuple[str, Any]] = [
        ("Date", run.date.replace("T", " ").replace("+00:00", " UTC")),
        ("unveil", run.versions.get("unveil", "unknown")),
        ("Python", run.python),
        ("Packages", ", ".join(f"{k} {v}" for k, v in sorted(run.versions.items()) if k != "unveil") or None),
        ("Seed", settings.get("seed")),
    ]
    if settings.get("chains"):
        sweeps = f" of {settings['sweeps']:,} sweeps" if settings.get("sweeps") else ""
        facts.append(("Chains", f"{settings['chains']}{sweeps}"))
    if "alpha" in settings:
        facts.append(("Prior", f"alpha = {settings['alpha']}, beta = {settings.get('beta')}"))
    facts += [
        ("Prior from", settings.get("prior") if isinstance(settings.get("prior"), str) else None),
        ("Known attributes", listed(settings["known"]) if settings.get("known") else None),
        ("Known wrongly with probability", settings.get("wrong") or None),
        ("Time", None if run.seconds is None else f"{run.seconds:,.1f} s"),
        ("Memory", None if run.peak_memory_mb is None else f"{run.peak_memory_mb:,.0f} MB"),
    ]
    if document.document == "frontier":
        facts += [(name, _setting(value)) for name, value in settings.items()]
    files = tuple((Cell(label(i.name)), Cell(label(i.sha256), kind="hash")) for i in document.inputs)
    return [
        Heading("Where these numbers come from", id="provenance"),
        *([Grid("Files", (Cell("File read"), Cell("SHA-256")), files)] if files else []),
        Listing(tuple((name, clean(text)) for name, text in facts if text is not None), "facts"),
    ]


def _setting(value: Any) -> str:
    if value is None or value == []:
        return "–"
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def every_finding(document: Document, names: Names) -> list[Block]:
    """All findings by measure, each measure with its definition and source."""
    found: dict[str, dict[tuple[str, str | None], dict[str, Finding]]] = {}
    for finding in document.findings:
        place = found.setdefault(finding.measure, {}).setdefault((finding.id, finding.attribute), {})
        place.setdefault(finding.release, finding)
    if not found:
        return []
    definitions: Mapping[str, Any] = document.diagnostics.get("definitions", {})
    rows: list[tuple[Cell, ...]] = []
    for name, places in found.items():
        known = measure(name)
        own = definitions.get(name) or {"words": known.words, "source": known.source, "page": known.page}
        source = " · ".join(filter(None, (own.get("source"), own.get("page")))) if own.get("source") else ""
        rows.append((Cell(label(name), clean(" ".join(filter(None, (own.get("words"), source)))), "measure"),))
        for (id, attribute), by_release in places.items():
            cells = (value_cell(by_release.get(r)) for r in names.releases)
            base = dict.fromkeys(baseline_text(by_release[r]) for r in names.releases if r in by_release)
            rows.append(
                (
                    Cell(label(id), kind="code"),
                    Cell(label(attribute or "–")),
                    *cells,
                    num(" / ".join(base)),  # they differ by release: the learner reads the release too
                )
            )
    top = (Cell("Finding"), Cell("Of"), *releases_head(names), num("Baseline"))
    grid = Grid("Every finding", top, tuple(rows), fixed=2, kind="tight findings")
    many = sum(len(row) > 1 for row in rows)
    return [
        Heading("Every finding", id="findings"),
        Paragraph("Small print beside a value is its 95% interval. Without one the value is exact.", "quiet"),
        Details(f"All {many:,} findings", (grid,)) if many > MOST_FINDINGS else grid,
    ]

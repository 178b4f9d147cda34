"""The first page of an audit report, for the data protection officer: the document's findings in plain tables."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unveil.audit.document import Document, Finding
from unveil.audit.measures import measure, parse_id, title_of
from unveil.audit.numbers import interval, spoken
from unveil.report.combination_words import combination_words
from unveil.report.membership import MEMBERSHIP, membership_words
from unveil.report.wording import VERDICTS, clean, distinct_labels, label, reader_name

__all__ = ["Cell", "Grid", "Names", "merged", "names_of", "officer_page", "value_cell", "verdict_cell"]

SIGNS = {"within": "✓", "exceeded": "✕", "inconclusive": "?", "no limit": "–"}
QUESTIONS = {
    "singling_out": ("Singling out", "Can a person's row be isolated?"),
    "linkability": ("Linkability", "Can rows about one person be linked?"),
    "inference": ("Inference", "Can a sensitive value be deduced?"),
}
IDENTITY = (
    "prosecutor_risk.max",
    "prosecutor_risk.mean",
    "journalist_risk.max",
    "marketer_risk",
    "singled_out",
    "reid",
)
UTILITY = (
    *("suppressed_share", "certainty_penalty", "faithfulness", "query_error", "utility_loss"),
    *("groups.mean_size", "discernibility"),
)
_LIMIT = re.compile(r".*?(<=|>=|<|>)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*", re.DOTALL)
_RELATION = {"<=": "at most", "<": "below", ">=": "at least", ">": "above"}
THREAT = {
    "target": "knows of the person",
    "membership": "that the person is in the file",
    "group": "the person's group",
    "others": "of other people",
    "population": "of the population",
    "mechanism": "how the file was made",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table: its text, small print under it, and how it is set (num, code, quiet, a verdict)."""

    text: str
    small: str = ""
    kind: str = ""
    span: int = 1  # rows it reaches over; 0: the cell above reaches over this one


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; the first `fixed` cells of a row are its heading."""

    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    fixed: int = 1
    kind: str = ""  # tight: small print beside the value


def merged(rows: Iterable[tuple[Cell, ...]], columns: Iterable[int]) -> tuple[tuple[Cell, ...], ...]:
    """Equal cells under each other become one, in columns where the first such column is equal too."""
    made = [list(row) for row in rows]
    columns = list(columns)
    start = 0
    for i in range(1, len(made) + 1):
        if i < len(made) and made[i][columns[0]] == made[start][columns[0]]:
            continue
        for c in columns:
            if all(made[j][c] == made[start][c] for j in range(start, i)):
                made[start][c] = replace(made[start][c], span=i - start)
                for j in range(start + 1, i):
                    made[j][c] = replace(made[j][c], span=0)
        start = i
    return tuple(map(tuple, made))


@dataclass(frozen=True, slots=True)
class Names:
    """Releases and readers of a document, with the labels they are shown by."""

    releases: tuple[str, ...]
    readers: tuple[str, ...]
    shown: dict[str, str]  # release → label
    least: int

    @property
    def several(self) -> bool:
        return len(self.releases) > 1


def names_of(document: Document) -> Names:
    """The releases in the order given, the readers in the order they ran."""
    releases = list(document.settings.get("releases") or dict.fromkeys(f.release for f in document.findings))
    readers = dict.fromkeys(r["reader"] for r in document.diagnostics.get("readers", ()))
    return Names(
        releases=tuple(releases),
        readers=tuple(dict.fromkeys([*readers, *document.settings.get("attackers", ())])),
        shown=dict(zip(releases, distinct_labels(releases), strict=True)),
        least=int(document.settings.get("least_count") or 10),
    )


def officer_page(document: Document, names: Names) -> dict[str, Any]:
    """Everything the first page shows, in its order."""
    facts, settings = document.diagnostics, document.settings
    limited = [f for f in document.findings if f.limit]
    return {
        "verdict": _verdict(facts.get("verdict", "no limit"), limited),
        "verdicts": [
            (names.shown[r], v, SIGNS[v], VERDICTS[v])
            for r in names.releases
            if names.several and (v := facts.get("verdicts", {}).get(r))
        ],
        "warnings": _warnings(document, names),
        "about": _about(document, names),
        "sentences": _sentences(facts, names),
        "limits": _limits(limited, names),
        "threats": _threats(facts.get("readers", ()), names),
        "wp29": _wp29(facts.get("wp29", {}), names),
        "identity": _side_by_side(document.findings, IDENTITY, names),
        "utility": _side_by_side(document.findings, UTILITY, names),
        "membership": membership_words(document, names),
        "membership_grid": _side_by_side(document.findings, MEMBERSHIP, names),
        "dominance": clean(facts.get("dominance_text") or ""),
        "not_tested": [clean(text) for text in facts.get("not_tested", ())],
        "remarks": [clean(text) for text in facts.get("remarks", ())],
        "inputs": [(label(i.name), i.sha256) for i in document.inputs],
        "run": _run(document),
        "truth": settings.get("original") is not None,
    }


def verdict_cell(verdict: str) -> Cell:
    """A verdict with its sign: never by colour alone."""
    return Cell(f"{SIGNS[verdict]} {verdict}", kind=f"verdict {verdict.replace(' ', '-')}")


def value_cell(finding: Finding, names: Names) -> Cell:
    """A finding's value with its interval under it."""
    name, statistic = finding.measure, finding.statistic
    return Cell(spoken(finding.value, name, statistic), interval(finding.low, finding.high, name, statistic), "num")


def _verdict(verdict: str, limited: Sequence[Finding]) -> dict[str, str]:
    broken, open_ = (sum(f.verdict == v for f in limited) for v in ("exceeded", "inconclusive"))
    of = f"{len(limited)} comparison" + ("s" if len(limited) != 1 else "")
    words = {
        "within": f"All {of} with the limits are kept, against the attackers listed below.",
        "exceeded": f"{broken} of {of} with the limits fail.",
        "inconclusive": "The numbers are not sure enough for a verdict"
        + (f": {open_} of {of} with the limits are open." if open_ else "."),
        "no limit": "The numbers below say what this release gives away; nobody said how much is too much.",
    }
    return {
        "key": verdict.replace(" ", "-"),
        "sign": SIGNS[verdict],
        "text": VERDICTS[verdict],
        "words": words[verdict],
    }


def _warnings(document: Document, names: Names) -> list[str]:
    apart: dict[str, list[str]] = {}
    vague: dict[str, list[str]] = {}
    for reader in document.diagnostics.get("readers", ()):
        if reader.get("applicable", True):
            where = names.shown.get(reader["release"], label(reader["release"]))
            where += f" ({label(reader['attribute'])})" if reader.get("attribute") else ""
            if not reader.get("converged", True):
                apart.setdefault(where, []).append(reader_name(reader["reader"]))
            elif not reader.get("precise", True):
                vague.setdefault(where, []).append(reader_name(reader["reader"]))
    found = [
        f"{'; '.join(places)}: the chains of {who} disagree. These numbers are not pooled and not to be relied on."
        for who, places in _by_readers(apart)
    ]
    found += [
        f"{'; '.join(places)}: the stated precision was not reached ({who}); intervals are wider than asked for."
        for who, places in _by_readers(vague)
    ]
    if document.settings.get("original") is None:
        found.append("No original was given: what readers believe is measured, whether they are right is unknown.")
    sampled = document.diagnostics.get("sampled_people")
    if sampled is not None:
        found.append(f"A sample of {sampled:,} people was asked about; the intervals say what that costs.")
    return found


def _by_readers(found: dict[str, list[str]]) -> list[tuple[str, list[str]]]:
    """Places with the same readers in one line."""
    places: dict[str, list[str]] = {}
    for where, who in found.items():
        places.setdefault(" and ".join(who), []).append(where)
    return list(places.items())


def _about(document: Document, names: Names) -> list[tuple[str, str]]:
    settings, facts = document.settings, document.diagnostics
    found = [] if names.several else [("Release", ", ".join(names.shown.values()))]
    found += [
        ("Release type", clean(settings.get("release_type") or "not stated")),
        ("Recipient", clean(settings.get("recipient") or "not stated")),
        ("Compared with", label(settings["original"]) if settings.get("original") else "no original given"),
    ]
    if facts.get("people") is not None:
        found.append(("People", f"{facts['people']:,}"))
    if facts.get("controls") is not None:
        found.append(("Control people", f"{facts['controls']:,}"))
    if settings.get("preset"):
        found.append(("Preset", label(settings["preset"])))
    found.append(("Date", clean(document.run.date)[:10]))
    if settings.get("variant") == "external":
        found.append(("Variant", f"external, no count below {names.least}"))
    else:
        found.append(("Variant", "internal"))
    return found


def _sentences(facts: dict[str, Any], names: Names) -> list[tuple[str, str, str]]:
    return [
        (names.shown[release] if names.several else "", label(attribute), clean(text))
        for release in names.releases
        for attribute, text in (
            *facts.get("sentence", {}).get(release, {}).items(),
            ("how little need be known", combination_words(facts.get("combinations", ()), release)),
        )
        if text
    ]


def _limits(limited: Iterable[Finding], names: Names) -> Grid | None:
    rows = []
    for finding in limited:
        about = [names.shown.get(finding.release, label(finding.release))] if names.several else []
        about += [label(finding.attribute)] if finding.attribute else []
        reader, statistic = finding.reader, finding.statistic
        about += [f"{label(statistic)} known" if reader == "known" else reader_name(reader)] if reader else []
        rows.append(
            (
                Cell(label(finding.limit or ""), _limit_in_words(finding, names), "code"),
                Cell(" · ".join(about) or "–"),
                value_cell(finding, names),
                verdict_cell(finding.verdict),
            )
        )
    head = (Cell("Limit"), Cell("Of"), Cell("Found", "95% interval", "num"), Cell("Verdict"))
    return Grid(head, merged(sorted(rows, key=lambda row: row[0].text), [0]), kind="tight") if rows else None


def _limit_in_words(finding: Finding, names: Names) -> str:
    """`at most 9.0%`: the limit in the unit of the value beside it."""
    name, statistic = finding.measure, finding.statistic
    parts = (_LIMIT.fullmatch(text) for text in (finding.limit or "").split("; "))
    return ", ".join(f"{_RELATION[p[1]]} {spoken(float(p[2]), name, statistic)}" for p in parts if p)


def _threats(readers: Iterable[dict[str, Any]], names: Names) -> dict[str, Any]:
    """One row for each reader and what it knows, which is mostly the same for every release."""
    seen: dict[tuple[str, ...], None] = {}
    absent: dict[tuple[str, str], list[str]] = {}
    for reader in readers:
        if reader.get("applicable", True):
            threat = reader.get("threat") or {}
            seen[(reader["reader"], *(clean(threat.get(key, "not stated"), 160) for key in THREAT))] = None
        else:
            where = names.shown.get(reader["release"], label(reader["release"])) if names.several else ""
            place = absent.setdefault((reader["reader"], clean(reader.get("reason") or "no reason given", 300)), [])
            if where and where not in place:
                place.append(where)
    rows = tuple(
        (
            Cell(reader_name(row[0]), "the baseline" if row[0] == "learner" else "attacker"),
            *(Cell(text) for text in row[1:]),
        )
        for row in seen
    )
    head = (Cell("Reader"), *(Cell(words[0].upper() + words[1:]) for words in THREAT.values()))
    return {
        "grid": Grid(head, rows) if rows else None,
        "absent": [(reader_name(who), ", ".join(where), why) for (who, why), where in absent.items()],
    }


def _wp29(found: dict[str, Any], names: Names) -> Grid:
    """One row a criterion; one column a release, or with a single one value, baseline and words apart."""
    rows = []
    for key, (title, question) in QUESTIONS.items():
        cells = [part for r in names.releases for part in _criterion(found.get(r, {}).get(key) or {}, names)]
        rows.append((Cell(title, question), *cells))
    if names.several:
        head = [Cell(names.shown[r]) for r in names.releases]
    else:
        head = [Cell("Measured", "95% interval", "num"), Cell("Baseline", kind="num"), Cell("In words")]
    return Grid((Cell("Criterion"), *head), tuple(rows))


def _criterion(entry: dict[str, Any], names: Names) -> list[Cell]:
    value, error, base = "not tested", "", ""
    if entry.get("status") == "measured":
        found = parse_id(entry["finding"])
        unit = found.measure, found.statistic
        value = spoken(entry.get("value"), *unit)
        error = interval(entry.get("low"), entry.get("high"), *unit)
        base = "" if entry.get("baseline") is None else spoken(entry["baseline"], *unit)
    words = clean(entry.get("words") or "", 300)
    kind = "strong" if entry.get("status") == "measured" else "quiet"
    if not names.several:
        return [Cell(value, error, f"num {kind}"), Cell(base or "–", kind="num"), Cell(words or "–")]
    numbers = "; ".join(filter(None, (error and f"interval {error}", base and f"baseline {base}")))
    return [Cell(value, " ".join(filter(None, (numbers and f"({numbers})", words))), kind)]


def _side_by_side(findings: Sequence[Finding], ids: Iterable[str], names: Names) -> Grid | None:
    """One row a measure (and attribute, if it is of one), one column a release."""
    places = {(f.id, f.attribute, f.release): f for f in findings}
    rows = []
    for id in ids:
        attributes = dict.fromkeys(attribute for known, attribute, _ in places if known == id)
        for attribute in attributes:
            found = [places.get((id, attribute, release)) for release in names.releases]
            shown = (value_cell(f, names) if f else Cell("–", kind="num") for f in found)
            title = title_of(parse_id(id)) + (f", {label(attribute)}" if attribute and len(attributes) > 1 else "")
            rows.append((Cell(title, _hint(id)), *shown))
    columns = (names.shown[r] for r in names.releases) if names.several else ["Value"]
    return Grid((Cell("Measure"), *(Cell(c, kind="num") for c in columns)), tuple(rows)) if rows else None


def _hint(id: str) -> str:
    part = parse_id(id)
    known = measure(part.measure)
    return known.hint if part.statistic is None else known.hints.get(part.statistic, "")


def _run(document: Document) -> list[tuple[str, str]]:
    run, settings = document.run, document.settings
    found = [
        ("Date", clean(run.date).replace("T", " ").replace("+00:00", " UTC")),
        ("unveil", clean(run.versions.get("unveil", "unknown"))),
        ("Python", clean(run.python)),
        ("Packages", clean(", ".join(f"{k} {v}" for k, v in sorted(run.versions.items()) if k != "unveil"))),
        ("Seed", clean(settings.get("seed"))),
    ]
    if settings.get("chains"):
        sweeps = settings.get("sweeps")
        found.append(("Chains", f"{settings['chains']}" + (f" of {sweeps:,} sweeps" if sweeps else "")))
    found.append(("Prior", f"alpha = {settings.get('alpha')}, beta = {settings.get('beta')}"))
    if settings.get("prior"):
        found.append(("Prior from", label(settings["prior"])))
    if settings.get("known") is not None:
        found.append(("Known attributes", ", ".join(label(name) for name in settings["known"])))
    if settings.get("wrong"):
        found.append(("Known wrongly with probability", f"{settings['wrong']}"))
    seconds, memory = getattr(run, "seconds", None), getattr(run, "peak_memory_mb", None)
    if seconds is not None:
        found.append(("Time", f"{seconds:,.1f} s"))
    if memory is not None:
        found.append(("Memory", f"{memory:,.0f} MB"))
    return found

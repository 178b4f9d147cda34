"""The answer in one screen: verdict, a sentence a release, limits, the worst findings, what was not tested."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from unveil.audit.document import Document, Finding, amount
from unveil.audit.limits import parse_limit
from unveil.audit.measures import measure, title_of
from unveil.errors import UsageError
from unveil.report.blocks import Banner, Block, Cell, Grid, Listing, num
from unveil.report.reading import Names, about, baseline_text, limit_words, value_cell, verdict_cell
from unveil.report.sections.attack import attack_grid, known_rows
from unveil.report.sections.background import knowledge
from unveil.report.sections.common import LITTLE, banner, sentence_rows, warnings
from unveil.report.sections.differential import cases_grid
from unveil.report.sections.disclosure import disclosure_grid
from unveil.report.sections.frontier import beside, points_grid
from unveil.report.sections.kinds import kinds_grid, to_try, told_kinds
from unveil.report.sections.linkage import links_grid
from unveil.report.sections.membership import scores_grid
from unveil.report.sections.readers import least_calibrated
from unveil.report.sections.releases import levels_grid
from unveil.report.wording import clean, label

__all__ = ["Summary", "summary_of", "worst_findings"]

MOST_RELEASES, MOST_WARNINGS, MOST_LIMITS, WORST = 4, 2, 8, 3
LONGEST_SENTENCE = 290  # three lines
_ORDER = ("exceeded", "inconclusive", "within", "no limit")
_SUBJECT = re.compile(r"(.{3,80}?) (?:was|were) not (?:tested|tried|run|read|compared|given)\b.*")


@dataclass(frozen=True, slots=True)
class Summary:
    """What one screen says; tables are shortened to what it has room for."""

    top: list[Block]
    spare: list[Block]  # left out where there is no room
    grids: list[Grid]
    not_tested: list[str]  # as a line names it, the shortest first
    more_not_tested: int  # what has no short name


def summary_of(document: Document, names: Names) -> Summary:
    """The answer of a document of any kind."""
    limited = sorted((f for f in document.findings if f.limit), key=lambda f: _ORDER.index(f.verdict))
    judged = document.document in ("check", "frontier")  # their tables say it beside each row
    own = set(document.settings.get("limits") or ())
    if "judgement" in document.diagnostics:  # the default limits are in the table of kinds
        limited = [f for f in limited if own & set((f.limit or "").split("; "))]
    grids = [] if judged else _limits(limited, names)
    grids += map(_bare, _answer(document, names))
    told = (*told_kinds(document, names), *known_rows(document))
    top: list[Block] = [*_verdicts(document, names), *kinds_grid(document, names), *_sentences(document, names)]
    top += [Listing(told, "plain")] if told else []
    calibration = least_calibrated(document, names)
    spare: list[Block] = [Listing((("Least calibrated", clean(calibration, 200)),), "plain")] if calibration else []
    if (command := to_try(document)) and not names.several:
        top.append(Listing((("To try", command),), "plain"))
    return Summary(top, spare, grids, *_untested(document))


def _bare(grid: Grid) -> Grid:
    """Without the small print that explains rather than measures."""
    rows = tuple(
        tuple(cell if cell.kind.startswith(("num", "verdict")) else replace(cell, small="") for cell in row)
        for row in grid.rows
    )
    return replace(grid, rows=rows)


def _verdicts(document: Document, names: Names) -> list[Block]:
    facts = document.diagnostics
    said = banner(document)
    first: list[Block] = [Banner(said.verdict, said.text, said.words if document.document == "frontier" else "")]
    if document.document in ("attribute", "check", "knowledge") and not any(f.limit for f in document.findings):
        first = []
    verdicts = facts.get("verdicts", {})
    if verdicts:
        first = [Listing(tuple((names.of(r), verdicts[r]) for r in _releases(document, names)), "verdicts")]
        left_out = len(names.releases) - MOST_RELEASES
        first += [Listing((("", f"and {left_out:,} more releases"),), "plain")] if left_out > 0 else []
    words = dict.fromkeys(w for one in facts.get("judgement", {}).values() for w in one.get("words", "").split("; "))
    for ending, name in ((" not considered", "Not considered"), (" waived", "Waived")):
        noted = [word.removesuffix(ending) for word in words if word.endswith(ending)]
        first += [Listing(((name, f"{', '.join(noted)}."),), "plain")] if noted else []
    if document.document == "frontier" and (near := tuple(beside(document))):
        first.append(Listing(near, "plain"))
    found = tuple((name, clean(text, 200)) for name, text in warnings(document, names)[:MOST_WARNINGS])
    return [*first, *([Listing(found, "warning")] if found else [])]


def _releases(document: Document, names: Names) -> list[str]:
    """The releases that are spoken of, those of the worst verdict first; in their order if there is room for all."""
    if len(names.releases) <= MOST_RELEASES:
        return list(names.releases)
    verdicts = document.diagnostics.get("verdicts", {})
    order = sorted(names.releases, key=lambda r: _ORDER.index(verdicts.get(r, "no limit")))
    return order[:MOST_RELEASES]


def _sentences(document: Document, names: Names) -> list[Block]:
    """One of each release: of the attribute in which most people are worst off."""
    rows = sentence_rows(document, names)
    worst = document.diagnostics.get("worst_attribute", {})
    found = []
    for release in dict.fromkeys(r for r, _, _ in rows):
        own = [(where, text) for r, where, text in rows if r == release]
        if release not in _releases(document, names) and len(names.releases) > MOST_RELEASES:
            continue
        people = {a: n or 0 for a, n in worst.get(release, {}).items()}
        first = label(max(people, key=lambda a: people[a])) if people else ""
        own.sort(key=lambda row: not row[0].startswith(first))
        found += [
            row for i, row in enumerate(own) if i < (1 if release else MOST_RELEASES) or row[0].startswith(LITTLE)
        ]
    items = tuple((name, clean(text, LONGEST_SENTENCE)) for name, text in found)
    return [Listing(items, "plain")] if items else []


def _limits(limited: Sequence[Finding], names: Names) -> list[Grid]:
    """Limits with their verdicts, those that are exceeded first; of very many, the worst finding of each limit."""
    groups: dict[str, list[Finding]] = {}
    for place, finding in enumerate(limited):
        groups.setdefault(finding.limit or "" if len(limited) > MOST_LIMITS else str(place), []).append(finding)
    rows = tuple(
        (
            Cell(clean(f.limit, 200), kind="code"),
            Cell(about(f, names) + (f" and {len(own) - 1:,} more" if len(own) > 1 else "")),
            _value(f),
            verdict_cell(f.verdict),
        )
        for own in groups.values()
        for f in (max(own, key=lambda f: (-_ORDER.index(f.verdict), _badness(f))),)
    )
    return [Grid("", (Cell("Limit"), Cell("Of"), num("Found"), Cell("Verdict")), rows)] if rows else []


def _value(finding: Finding) -> Cell:
    """The value; its interval where it decides."""
    cell = value_cell(finding)
    return cell if finding.verdict == "inconclusive" else replace(cell, small="")


def _answer(document: Document, names: Names) -> list[Grid]:
    """The table that answers the question of this kind of document."""
    match document.document:
        case "check":
            grid = levels_grid(document, names, words=False)
            return [grid] if grid else []
        case "attribute":
            return [attack_grid(document)]
        case "link":
            return [links_grid(document)]
        case "membership":
            return [scores_grid(document)]
        case "disclosure":
            return [disclosure_grid(document)]
        case "differential":
            return [*cases_grid(document, names)]
        case "frontier":
            return [points_grid(document, brief=True)]
        case "knowledge":
            return [block for block in knowledge(document, names) if isinstance(block, Grid)]
    rows = tuple(
        (
            Cell(clean(title_of(f))),
            Cell(about(f, names)),
            _value(f),
            num(baseline_text(f)),
            Cell(limit_words(f) if f.verdict == "exceeded" else "–"),
        )
        for f in worst_findings(document)
    )
    head = (Cell("Worst findings"), Cell("Of"), num("Found"), num("Baseline"), Cell("Limit"))
    return [Grid("", head, rows)] if rows else []


def worst_findings(document: Document, most: int = WORST) -> list[Finding]:
    """Those over their limit first, by how far; then those furthest from their baseline; one of each measure."""
    hidden = {r for r, f in document.diagnostics.get("membership", {}).items() if not f.get("sensitive", True)}
    shown = [
        f for f in document.findings if f.limit or f.release not in hidden or measure(f.measure).kind != "membership"
    ]
    found: dict[str, Finding] = {}
    for finding in sorted(shown, key=_badness, reverse=True):
        if max(_badness(finding)) > 0:
            found.setdefault(finding.name, finding)
    return list(found.values())[:most]


def _badness(finding: Finding) -> tuple[float, float]:
    """How far over the limit, and how far on the wrong side of the baseline: from 0 to 1."""
    known = measure(finding.measure)
    value, base, better = amount(finding.value), amount(finding.baseline), known.direction(finding.statistic)
    over = 0.0
    if finding.verdict == "exceeded":
        over = max((_apart(value, bound, "") for bound in _bounds(finding.limit or "")), default=0.0) + 1.0
    if finding.reader in ("learner", "ideal") or known.kind in ("utility", "level") or not better:
        return over, 0.0
    return over, max(0.0, math.copysign(_apart(value, base, known.unit_of(finding.statistic)), better * (base - value)))


def _bounds(text: str) -> list[float]:
    found = []
    for one in text.split("; "):
        try:
            found.append(parse_limit(one).number)
        except UsageError:  # a document may hold the limits of another version
            continue
    return found


def _apart(value: float, other: float, unit: str) -> float:
    """How far apart: of shares their difference, of anything else relative to the larger."""
    if math.isnan(value) or math.isnan(other) or value == other:
        return 0.0
    if math.isinf(value) or math.isinf(other):
        return 1.0
    size = 1.0 if unit in ("share", "points") else max(abs(value), abs(other))
    return abs(value - other) / size


def _untested(document: Document) -> tuple[list[str], int]:
    """What was not tested: the subjects of the sentences, and how many sentences have none that a line can hold."""
    texts = document.diagnostics.get("not_tested", ())
    subjects = [match[1] for text in texts if (match := _SUBJECT.fullmatch(clean(text)))]
    return sorted((s[0].lower() + s[1:] for s in subjects), key=len), len(texts) - len(subjects)

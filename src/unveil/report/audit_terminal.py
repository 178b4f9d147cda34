"""An audit on a terminal: the verdict, the sentences, every release side by side; no colour where there is none."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unveil.audit.document import Document, Finding, Number
from unveil.report.background import background_lines
from unveil.report.combination_words import combination_words
from unveil.report.combinations import print_combinations
from unveil.report.membership import MEMBERSHIP_ROWS

__all__ = ["print_audit"]

_VERDICT = {
    "within": "WITHIN the stated limits",
    "exceeded": "A LIMIT IS EXCEEDED",
    "inconclusive": "INCONCLUSIVE: not a pass",
    "no limit": "no limit was stated, so there is no verdict",
}
_WORD = {"within": "kept", "exceeded": "EXCEEDED", "inconclusive": "inconclusive", "no limit": ""}
_STYLE = {"within": "green", "exceeded": "bold red", "inconclusive": "yellow", "no limit": "bold"}

# Rows of the tables: finding id (A: every attacker), in words, how a number is shown.
_IDENTITY = (
    ("prosecutor_risk.max", "chance to find the easiest person (prosecutor)", "share"),
    ("journalist_risk.max", "… without knowing who is in it (journalist)", "share"),
    ("marketer_risk", "share of all people one would find (marketer)", "share"),
    ("singled_out", "rows that stand alone", "share"),
    ("reid", "people linked with their own row", "share"),
    ("k_anonymity", "rows that look alike, at least", "plain"),
)
_UTILITY = (
    ("certainty_penalty", "detail lost in the cells: 0 none, 1 all", "plain"),
    ("suppressed_share", "rows suppressed", "share"),
    ("groups.mean_size", "rows a group", "plain"),
    ("discernibility", "discernibility", "plain"),
    ("query_error", "error of random counts", "share"),
)
# Of masked releases, with the baseline beside the value.
_MASKED = (
    ("model_disclosure", "a model that learned from it: right", "share"),
    ("model_disclosure.inputs:1", "… from the one best attribute", "share"),
    ("model_disclosure.inputs:2", "… from two", "share"),
    ("model_disclosure.inputs:3", "… from three", "share"),
    ("model_gain", "… because the own row was learned from", "share"),
    ("simple_disclosure", "category published as it is", "share"),
    ("rank_interval_disclosure.10", "truth within 10% of the ranks", "share"),
    ("deviation_interval_disclosure.10", "truth within 10% of a deviation", "share"),
    ("il1s", "moved: mean distance (dealt out at random: 0.8)", "plain"),
    ("mean_error", "mean moved, in deviations", "plain"),
    ("deviation_error", "deviation changed by", "share"),
    ("share_error", "shares of categories changed by", "share"),
)
_BELIEF = (
    ("baseline_accuracy", "right by guessing the most frequent value", "share"),
    ("learner.global_threat", "learner: knows only the population, right", "share"),
    ("A.global_threat", "A: right", "share"),
    ("A.relative_threat.share_2x", "A: people at least twice as exposed", "share"),
    ("A.relative_threat.max", "A: largest relative threat", "plain"),
    ("learner.confident.80", "learner: people it is 80% sure of", "share"),
    ("A.confident.80", "A: people it is 80% sure of", "share"),
    ("A.belief_gain", "A: largest gain over the learner", "share"),
    ("A.similar", "A: people with candidates of one kind", "share"),
    ("A.interval_width", "A: width that holds 90% of the belief", "plain"),
    ("A.member_advantage", "A: right on members more than on controls", "share"),
    ("ideal.global_threat", "who learned from the original would be right", "share"),
    ("utility_loss", "utility lost for large populations", "plain"),
    ("faithfulness", "faithfulness: 1 teaches what the original does", "plain"),
)


def print_audit(document: Document, console: Console) -> None:
    """The same verdict and sentences as the report."""
    facts, releases = document.diagnostics, document.settings["releases"]
    _print_verdict(document, console)
    for release in releases:
        for attribute, words in facts["sentence"][release].items():
            console.print(escape(f"{_plain(release)}, {_plain(attribute)}: {_plain(words)}"))
        if little := combination_words(facts.get("combinations", ()), release):
            console.print(escape(f"{_plain(release)}: {_plain(little)}"))
    tables = [_by_release(document, None, [*_IDENTITY, *_UTILITY], "Being found, and what is left")]
    for attribute in dict.fromkeys(f.attribute for f in document.findings if f.attribute is not None):
        rows = list(_for_attackers(_BELIEF, document.settings["attackers"]))
        tables.append(_by_release(document, attribute, rows, f"{attribute}: what readers believe"))
        tables.append(_by_release(document, attribute, _MASKED, f"{attribute}: what masked values give away"))
    for table in tables:
        if table.row_count:
            console.print(table)
    for release, people in facts["worst_attribute"].items():
        if len(people) > 1:
            counts = ", ".join(f"{name} {'few' if n is None else f'{n:,}'}" for name, n in people.items())
            console.print(escape(_plain(f"{release}: people by the attribute they are most exposed in: {counts}")))
    for words in (f"{r}: {found['words']}" for r, found in facts.get("membership", {}).items()):
        console.print(escape(_plain(words)))
    if any(found["sensitive"] and found["reason"] is None for found in facts.get("membership", {}).values()):
        console.print(_by_release(document, None, MEMBERSHIP_ROWS, "Being in the table"))
    for text in background_lines(document):
        console.print(escape(_plain(text)))
    print_combinations(document, console)
    _print_limits(document, console)
    if len(releases) > 1:
        console.print(escape(_plain(facts["dominance_text"])))
    for reader in facts["readers"]:
        where = f"{reader['release']}, {reader['attribute']}, {reader['reader']}"
        if not reader["applicable"]:
            console.print(escape(_plain(f"{where}: not applicable: {reader['reason']}")))
        elif not reader["converged"]:
            console.print(escape(_plain(f"{where}: the chains disagree; nothing it says is to be relied on")))
        elif not reader["precise"]:
            console.print(escape(_plain(f"{where}: the sweeps ended before the stated precision")))
    for remark in facts["remarks"]:
        console.print(escape(_plain(remark)))
    console.print("All numbers are lower bounds. What was not tested is said in full in the document's not_tested.")


def _print_verdict(document: Document, console: Console) -> None:
    facts, settings = document.diagnostics, document.settings
    to = f" to {settings['recipient']}" if settings["recipient"] else ""
    console.print(escape(_plain(f"Release type: {settings['release_type']}{to}")))
    for release, verdict in facts["verdicts"].items():
        console.print(f"{escape(_plain(release))}: [{_STYLE[verdict]}]{_VERDICT[verdict]}[/]")


def _print_limits(document: Document, console: Console) -> None:
    judged = [f for f in document.findings if f.limit is not None]
    if not judged:
        return
    table = Table(title="Limits", title_justify="left")
    for heading in ("limit", "release", "of", "finding", "value", "verdict"):
        table.add_column(heading, justify="right" if heading == "value" else "left", overflow="fold")
    for finding in judged:
        cells = [finding.limit or "", finding.release, finding.attribute or "", finding.id, _estimate(finding, "plain")]
        table.add_row(*(escape(_plain(c)) for c in cells), _WORD[finding.verdict])
    console.print(table)


def _for_attackers(rows: Iterable[tuple[str, str, str]], attackers: Sequence[str]) -> Iterable[tuple[str, str, str]]:
    for id, words, kind in rows:
        if id.startswith("A."):
            for attacker in attackers:
                yield f"{attacker}{id[1:]}", f"{attacker}{words[1:]}", kind
        else:
            yield id, words, kind


def _by_release(document: Document, attribute: str | None, rows: Sequence[tuple[str, str, str]], title: str) -> Table:
    """One column a release; a row that no release has is left out."""
    releases = document.settings["releases"]
    found = {(f.release, f.id): f for f in document.findings if f.attribute == attribute}
    table = Table(title=escape(_plain(title)), title_justify="left")
    table.add_column("")
    for release in releases:
        table.add_column(escape(_plain(release)), justify="right")
    for id, words, kind in rows:
        cells: list[Any] = [found.get((release, id)) for release in releases]
        if any(cell is not None for cell in cells):
            based = rows is _MASKED
            table.add_row(escape(words), *("" if c is None else _estimate(c, kind) + _base(c, based) for c in cells))
    return table


def _estimate(finding: Finding, kind: str) -> str:
    if finding.value is None:
        return "unknown"
    text = _number(finding.value, kind)
    if finding.low == finding.high:
        return text
    if finding.id == "journalist_risk.max":
        return f"at most {text}"
    return f"{text} ({_number(finding.low, kind)} – {_number(finding.high, kind)})"


def _base(finding: Finding, shown: bool) -> str:
    if not shown or finding.value is None or finding.baseline is None:
        return ""
    return f", baseline {_number(finding.baseline, 'share')}"


def _number(value: Number, kind: str) -> str:
    if value is None or isinstance(value, str):
        return "∞" if value == "inf" else "?"
    if kind == "share":
        return f"{value:.1%}"
    # Beyond 1e15 every number is whole, and its last digits mean nothing.
    return f"{value:,.0f}" if float(value).is_integer() and 1 <= abs(value) < 1e15 else f"{value:.3g}"


def _plain(text: str) -> str:
    """One line without control or direction marks: values of cells are anybody's text."""
    return "".join(c if c.isprintable() else " " for c in text)

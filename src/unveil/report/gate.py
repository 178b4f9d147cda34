"""A document for pipelines: JUnit XML, which every CI server shows, and SARIF 2.1.0, which code hosts show.

Both say what was judged and how it came out, and nothing about single people: they are kept where many can read.
"""

import json
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal
from urllib.parse import quote

from unveil.audit.document import Document
from unveil.audit.measures import title_of
from unveil.audit.numbers import interval, spoken
from unveil.audit.verdict import kind_of_finding

__all__ = ["junit", "sarif"]

Outcome = Literal["passed", "failed", "undecided", "skipped"]
_OUTCOMES: dict[str, Outcome] = {
    "within": "passed",
    "exceeded": "failed",
    "inconclusive": "undecided",
    "not judged": "undecided",
    "not considered": "skipped",
}
_TAGS = {"passed": "", "failed": "failure", "undecided": "error", "skipped": "skipped"}  # of JUnit
_LEVELS = {"failed": "error", "undecided": "warning", "skipped": "note"}  # of SARIF
_ADDRESS = "https://json.schemastore.org/sarif-2.1.0.json"  # of the format; nothing is fetched


@dataclass(frozen=True, slots=True)
class _Case:
    """One thing that was judged of one release."""

    release: str
    rule: str  # the same for every release
    title: str
    name: str
    outcome: Outcome
    message: str


def _cases(document: Document) -> Iterator[_Case]:
    """Every kind of disclosure that has a verdict, then every limit; of a kind that is waived none fails."""
    waived: set[tuple[str, str | None, str | None]] = set()
    for release, judged in document.diagnostics.get("judgement", {}).items():
        for row in judged["kinds"]:
            kind, about, why = row["kind"], row["attribute"], row["waived"]
            if why is not None:
                waived.add((release, kind, about))
            yield _Case(
                release,
                rule=f"kind/{kind.replace(' ', '-')}",
                title=f"Disclosure: {kind}",
                name=kind if about is None else f"{kind} of {about}",
                outcome="skipped" if why is not None else _OUTCOMES[row["verdict"]],
                message=row["sentence"] if why is None else f"Waived: {why}",
            )
    for finding in document.findings:
        if finding.limit is None or finding.verdict == "no limit":
            continue
        kind, name = kind_of_finding(finding), (finding.measure, finding.statistic)
        spread = interval(finding.low, finding.high, *name)
        yield _Case(
            finding.release,
            rule=f"measure/{finding.name}",
            title=title_of(finding),
            name=f"{finding.limit}: {finding.id}" + ("" if finding.attribute is None else f" ({finding.attribute})"),
            outcome="skipped"
            if {(finding.release, kind, None), (finding.release, kind, finding.attribute)} & waived
            else _OUTCOMES[finding.verdict],
            message=f"{title_of(finding)}: {spoken(finding.value, *name)}" + (f" ({spread})" if spread else ""),
        )


def junit(document: Document) -> str:
    """JUnit XML: a suite for each release, a case for each kind of disclosure and each limit.

    Exceeded is a failure; inconclusive and not judged are errors, so that no pipeline takes them for a pass.
    """
    cases = list(_cases(document))
    suites = ET.Element("testsuites", name=f"unveil {document.document}")
    for release in dict.fromkeys(case.release for case in cases):
        mine = [case for case in cases if case.release == release]
        counts = Counter(_TAGS[case.outcome] for case in mine)
        suite = ET.SubElement(
            suites,
            "testsuite",
            name=_xml(release),
            tests=str(len(mine)),
            failures=str(counts["failure"]),
            errors=str(counts["error"]),
            skipped=str(counts["skipped"]),
        )
        for case in mine:
            row = ET.SubElement(suite, "testcase", classname=_xml(f"{release}.{case.rule}"), name=_xml(case.name))
            if case.outcome != "passed":
                ET.SubElement(row, _TAGS[case.outcome], message=_xml(case.message))
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Without the characters that XML cannot hold, even escaped."""
    return "".join(c if c in "\t\n" or c.isprintable() else "�" for c in text)


def sarif(document: Document) -> str:
    """SARIF 2.1.0: a result for whatever is not a pass; exceeded is an error, undecided a warning, skipped a note."""
    cases = [case for case in _cases(document) if case.outcome in _LEVELS]
    rules = {case.rule: case.title for case in cases}
    driver = {
        "name": "unveil",
        "semanticVersion": version("unveil"),
        "rules": [{"id": rule, "shortDescription": {"text": title}} for rule, title in rules.items()],
    }
    results = [
        {
            "ruleId": case.rule,
            "ruleIndex": list(rules).index(case.rule),
            "level": _LEVELS[case.outcome],
            "message": {"text": f"{case.name}: {case.message}"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(case.release)}}}],
        }
        for case in cases
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _ADDRESS, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"

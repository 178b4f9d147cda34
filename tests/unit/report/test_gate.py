"""Documents for pipelines: whatever is not a pass fails there too, and nothing a pipeline reads names a person."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from report_documents import document, hostile
from unveil.report import junit, read_document, sarif

GOLDEN = Path(__file__).parents[2] / "golden" / "audit-li_table_2_2.json"  # an exact one, kept whole but for its run

EXACT: dict[str, Any] = json.loads(GOLDEN.read_text()) | {"run": document()["run"]}
DOCUMENTS = {"exact": EXACT, "hostile": hostile(), "two releases": document()}


def changed(found: dict[str, Any], **row: Any) -> dict[str, Any]:
    """The document with every kind of its first release as `row` says."""
    found = json.loads(json.dumps(found))
    judged = next(iter(found["diagnostics"]["judgement"].values()))
    judged["kinds"] = [one | row for one in judged["kinds"]]
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_both_forms_say_the_same_of_every_kind_and_limit(name: str) -> None:
    found = read_document(DOCUMENTS[name])
    suites = ET.fromstring(junit(found))
    cases = suites.findall("testsuite/testcase")
    limited = sum(f.limit is not None and f.verdict != "no limit" for f in found.findings)
    assert len(cases) == limited + sum(len(j["kinds"]) for j in found.diagnostics.get("judgement", {}).values())
    for suite in suites:
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[count]) == len(suite.findall(f"testcase/{tag}"))
    run = json.loads(sarif(found))["runs"][0]
    levels = [result["level"] for result in run["results"]]
    tags = [case[0].tag for case in cases if len(case)]
    assert [{"failure": "error", "error": "warning", "skipped": "note"}[tag] for tag in tags] == levels
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


@pytest.mark.parametrize(
    ("verdict", "tag"),
    [("exceeded", "failure"), ("inconclusive", "error"), ("not judged", "error"), ("not considered", "skipped")],
)
def test_only_within_is_a_pass(verdict: str, tag: str) -> None:
    found = changed(EXACT, verdict=verdict, waived=None)
    release = next(iter(found["diagnostics"]["judgement"]))
    suite = next(s for s in ET.fromstring(junit(read_document(found))) if s.attrib["name"] == release)
    kinds = [case for case in suite if ".kind/" in case.attrib["classname"]]
    assert kinds
    assert {case[0].tag for case in kinds} == {tag}


def test_a_waived_kind_fails_no_pipeline_and_shows_its_reason() -> None:
    found = changed(EXACT, waived="agreed with the officer")
    release = next(iter(found["diagnostics"]["judgement"]))
    assert any(f["release"] == release and f["verdict"] == "exceeded" for f in found["findings"])
    suite = next(s for s in ET.fromstring(junit(read_document(found))) if s.attrib["name"] == release)
    assert suite.attrib["failures"] == "0"
    assert {row.attrib["message"] for row in suite.findall("testcase/skipped")} >= {"Waived: agreed with the officer"}


def test_the_class_that_carries_a_finding_is_not_told_to_a_pipeline() -> None:
    found = changed(EXACT, where="One of them: age 0, postcode 45501.")
    assert "45501" not in junit(read_document(found)) + sarif(read_document(found))

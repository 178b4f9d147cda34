"""The report as text: what it says, what it never says, and that its charts are what Vega-Lite knows."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import altair
import pytest
from rich.console import Console

from report_documents import CANARY, HOSTILE, document, external, hostile, many_subgroups, validated, without_original
from unveil.errors import UsageError
from unveil.report import junit, print_document, read_document, render_page, sarif

ALL = {
    "plain": document(),
    "external": external(document()),
    "without": without_original(document(verdict="no limit")),
    "hostile": hostile(),
    "many": many_subgroups(),
}


class _Text(HTMLParser):
    """The text of a page, and the tags that carry it."""

    def __init__(self) -> None:
        super().__init__()
        self.inside: list[str] = []
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.inside:
            del self.inside[len(self.inside) - 1 - self.inside[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.inside):
            self.words.append(data)


def read(page: str) -> _Text:
    parser = _Text()
    parser.feed(page)
    return parser


def text_of(found: dict[str, Any]) -> str:
    return re.sub(r"\s+", " ", " ".join(read(render_page(found)).words))


def specs_of(found: dict[str, Any]) -> dict[str, Any]:
    (block,) = re.findall(r'<script type="application/json" id="specs">(.*?)</script>', render_page(found), re.DOTALL)
    specs: dict[str, Any] = json.loads(block)
    return specs


def test_the_same_document_gives_the_same_page_as_a_dict_or_not() -> None:
    assert render_page(document()) == render_page(validated(document()))


def test_another_document_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"not a document of unveil: document: .*audit, check"):
        render_page({**document(), "document": "letter"})
    with pytest.raises(UsageError, match=r"not a document of unveil: findings\.0\.measure: .*--json") as caught:
        render_page({**document(), "findings": [{}]})
    assert "\n" not in str(caught.value)


def parts(spec: Any) -> Iterator[dict[str, Any]]:
    """Every object of a spec, but for its data."""
    if isinstance(spec, dict):
        yield spec
        for key, value in spec.items():
            if key != "values":
                yield from parts(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from parts(value)


@pytest.mark.parametrize("name", ALL)
def test_charts_use_fields_of_our_own_and_load_nothing(name: str) -> None:
    specs = specs_of(ALL[name])
    found = [part for spec in specs.values() for part in parts(spec)]
    fields = {part["field"] for part in found if isinstance(part.get("field"), str)}
    assert fields <= {"x", "x2", "y", "y2", "people", "n", "s", "t", "c", "k", "size", "subgroup", "which"}
    assert not any("url" in part for part in found)
    expressions = {part["labelExpr"] for part in found if "labelExpr" in part}
    assert expressions <= {"datum.value < 0 ? '1/' + pow(2, -datum.value) : '' + pow(2, datum.value)"}


def test_charts_are_valid_specs() -> None:
    kinds = {}
    for spec in [spec for name in ("external", "plain") for spec in specs_of(ALL[name]).values()]:
        for part in parts(spec):
            if "values" in part and "field" not in part and "title" not in part:
                part["values"] = part["values"][:1]  # checking each row of data costs seconds
        kinds[spec["description"].partition(":")[0][:20]] = spec
    assert len(kinds) >= 7
    for spec in kinds.values():
        altair.Chart.from_dict({"data": {"values": []}, **spec}, validate=True)


@pytest.mark.parametrize("name", ALL)
def test_it_promises_nothing_and_stays_small(name: str) -> None:
    page = render_page(ALL[name])
    words = " ".join(read(page).words).lower()
    assert "anonymous" not in words
    assert "gdpr" not in words
    assert len(page.encode()) < 1_500_000


def test_nothing_hostile_becomes_markup() -> None:
    page = render_page(hostile())
    parser = read(page)
    assert [tag for tag, _ in parser.tags if tag in ("img", "iframe", "form", "object", "base")] == []
    assert [a for _, attrs in parser.tags for a in attrs if a.startswith("on")] == []
    assert [attrs.get("href") for tag, attrs in parser.tags if tag == "link"] == ["data:,"]
    scripts = [attrs.get("type") for tag, attrs in parser.tags if tag == "script"]
    assert scripts == ["application/json", "module", "module"]
    assert f"<script>window.{CANARY}" not in page
    (block,) = re.findall(r'id="specs">(.*?)</script>', page, re.DOTALL)
    assert not set("<>&\u2028") & set(block)
    assert "\u202e" not in page
    assert page.encode()  # no half of a surrogate pair


def test_labels_cut_to_the_same_text_stay_apart() -> None:
    twins = ("B" * 100 + "1", "B" * 100 + "2")
    chart = next(
        s for s in specs_of(document(labels=twins, releases=("a",))).values() if "exposed to" in s["description"]
    )
    domain = chart["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert len(set(domain)) == 2


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("within", "Within the stated limits"),
        ("exceeded", "A limit is exceeded"),
        ("inconclusive", "Inconclusive: not a pass"),
        ("no limit", "No limit was stated, so there is no verdict"),
    ],
)
def test_the_verdict_is_said_first(verdict: str, words: str) -> None:
    text = text_of(document(verdict=verdict, releases=("a.csv",), disagree=False))
    assert 0 < text.index(words) < 300
    others = {"Within the stated limits", "A limit is exceeded", "No limit was stated"} - {words, words[:19]}
    assert [other for other in others if other in text] == []


def test_an_alarm_names_whom_it_puts_in_doubt() -> None:
    """Chains that agree are not said to disagree."""
    found = document(disagree=False)
    for reader in found["diagnostics"]["readers"]:
        if reader["release"] == "mondrian-k5.csv" and reader["reader"] in ("learner", "bayesian"):
            reader |= {"converged": False, "facts": {"alarm": "a chain from another start fits as well"}}
    text = text_of(found)
    assert re.search(r"a chain from another start fits as well\. Not to be relied on: .*bayesian", text)
    assert "the chains of" not in text


def test_the_officer_finds_what_was_asked_for() -> None:
    text = text_of(document())
    officer = text[: text.index("For the analyst")]
    for words in (
        "controlled",
        "Regional health statistics office",
        "lets somebody who is not told who is in it guess 41% right",
        "Singling out",
        "not tested",
        "interval 57.9 – 58.7%; baseline 41.0% · ",
        "Prosecutor risk, the worst-off person",
        "Journalist risk",
        "Marketer risk",
        "at most 9.0%",
        "naive Bayes",
        "mondrian-k5.csv dominates anatomy-l4.csv",
        "the chains of bayesian disagree",
        "fixed prior : not applicable to mondrian-k5.csv, anatomy-l4.csv",
        f"{0xABCDEF:064x}",
        "2026-11-15 09:30:00 UTC",
        "Seed 0",
    ):
        assert words in officer, words


def test_success_is_unknown_without_an_original_and_never_zero() -> None:
    found = without_original(document(verdict="no limit"))
    text = text_of(found)
    assert "whether they are right is unknown" in text
    row = re.search(r"bayesian\.global_threat disease (\S+) (\S+) ", text)
    assert row is not None
    assert row.groups() == ("unknown", "unknown")


def test_withheld_counts_are_written_as_less_than_the_least() -> None:
    text = text_of(external(document()))
    assert "<10" in text
    assert "external, no count below 10" in text
    assert "None" not in text
    assert "null" not in text


def test_infinity_and_definitions_are_shown() -> None:
    text = text_of(document())
    assert "×∞" in text
    assert "Boreale, Corradi and Viscardi 2020, eq. 17 · docs/risk.md#global_threat" in text


def test_a_document_with_nothing_in_it_is_a_page_all_the_same() -> None:
    found = document()
    bare = {**found, "findings": [], "diagnostics": {}, "charts": {}, "settings": {"releases": ["a.csv"]}}
    text = text_of(bare)
    assert "No limit was stated" in text
    assert text.count("not tested") >= 3


def test_long_strings_are_cut() -> None:
    page = render_page(hostile())
    assert max(map(len, re.findall("A+", page))) < 1_201
    assert HOSTILE[-1] not in page


def test_membership_has_its_section_and_its_charts() -> None:
    text = text_of(ALL["plain"])
    for part in ("Being in the table is sensitive.", "Factor on the odds of membership", "Members told from controls"):
        assert part in text
    assert "13,000,000,000" in text
    assert "Being in the table" not in text_of({**ALL["plain"], "diagnostics": {}, "charts": {}, "findings": []})


def test_of_many_readers_the_worst_is_held_against_a_limit_and_the_others_are_folded() -> None:
    given = document()
    first = {**given["findings"][0], "limit": "confident.80 <= 0.2", "measure": "confident", "statistic": "80"}
    given["findings"] = [
        {**first, "reader": f"panel:count={n}", "value": n / 100, "verdict": "exceeded" if n > 20 else "within"}
        for n in range(60)
    ]
    page = render_page(given)
    above, below = page.split("Every comparison with a limit", 1)
    assert "panel:count=59" in above.split('id="limits"')[1]
    assert "panel:count=58" not in above.split('id="limits"')[1]
    assert all(f"panel:count={n}" in below for n in range(60))


def test_a_document_of_an_earlier_program_is_still_read() -> None:
    """The oldest audit of version 2: what was added since is not in it, and its verdict is told as it was."""
    golden = Path(__file__).parents[2] / "golden" / "earlier-audit-2.json"
    made = json.loads(golden.read_text(encoding="utf-8"))
    assert not {"judgement", "panel", "roles"} & set(made["diagnostics"])
    read = read_document(made)
    for language, verdict in {"en": "A limit is exceeded", "de": "Eine Grenze ist überschritten"}.items():
        assert verdict in render_page(read, language)
    printed = StringIO()
    print_document(read, Console(file=printed, width=100), verbose=True)
    assert "2 of 2 comparisons with the limits failed." in printed.getvalue()
    assert ET.fromstring(junit(read)).findall(".//failure")
    assert json.loads(sarif(read))["runs"][0]["results"]
    with pytest.raises(UsageError, match=r"^not a document of unveil: version: "):
        read_document({**made, "version": 1})

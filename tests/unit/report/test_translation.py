"""Reports in another language: a catalogue beside the English texts, which leaves names and numbers what they are."""

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from report_documents import CANARY, document, hostile
from unveil.audit.document import Finding
from unveil.audit.limits import parse_limit
from unveil.audit.measures import measure, measures
from unveil.audit.remembered import Remake, fix_of_finding, sentence_of
from unveil.audit.verdict import DEFAULT_LIMITS, KINDS
from unveil.report import read_document, render_page, render_sections
from unveil.report.translation import LANGUAGES, translated, words_of

OTHERS = [language for language in LANGUAGES if language != "en"]
NOTHING = dict.fromkeys(("value", "low", "high", "baseline"))


@pytest.mark.parametrize("language", OTHERS)
def test_a_phrase_has_the_same_names_on_both_sides(language: str) -> None:
    content = tomllib.loads(files("unveil.report").joinpath("languages", f"{language}.toml").read_text("utf-8"))
    for text, phrase in content.items():
        names = [set(re.findall(r"\{(\w+)\}", one)) for one in (text, phrase)]
        assert names[0] == names[1], text
        assert phrase.strip(), text
    assert {*KINDS.values()} <= set(content)  # what is judged is never English


def test_sentences_are_found_with_what_stands_in_them() -> None:
    told = (
        "Anyone who knows that a person is in the file can be 80% sure of the illness, old of 1,022 of 30,162 people."
    )
    assert translated(told, "de").endswith(
        "bei 1.022 von 30.162 Personen zu 80% sicher sein, welchen Wert sie bei „illness, old“ haben."
    )
    assert translated(told, "fr").endswith(
        "connaître «\u00a0illness, old\u00a0» avec 80\u00a0% de certitude pour 1\u202f022 des 30\u202f162 personnes."
    )
    both = "Inference of a exceeded; background exceeded; earlier releases not considered."
    assert translated(both, "de") == (
        "Erschließen von „a“ überschritten; Vorwissen überschritten; frühere Veröffentlichungen nicht betrachtet."
    )
    assert translated(told, "en") == told
    assert translated("Nobody has written this. Kept: reid <= 0.2.", "de") == (
        "Nobody has written this. Eingehalten: reid <= 0.2."
    )


@pytest.mark.parametrize(
    ("text", "german", "french"),
    [
        ("1,234.5", "1.234,5", "1\u202f234,5"),
        ("8.8 – 15.6%", "8,8 – 15,6%", "8,8 – 15,6%"),
        ("×28.4", "×28,4", "×28,4"),
        ("10.4 points", "10,4 Punkte", "10,4 points"),
        ("0.1.0", "0.1.0", "0.1.0"),  # a version
        ("bayesian:k=0.5", "bayesian:k=0.5", "bayesian:k=0.5"),
        ("k_anonymity >= 3.5", "k_anonymity >= 3.5", "k_anonymity >= 3.5"),
        ("", "", ""),
    ],
)
def test_numbers_are_written_as_the_language_does_and_nothing_else(text: str, german: str, french: str) -> None:
    assert (translated(text, "de"), translated(text, "fr")) == (german, french)


def test_a_column_that_is_called_like_a_word_stays_as_it_is() -> None:
    made = read_document(document(attributes=("Limits",), releases=("nothing", "Verdict")))
    t = words_of(made, "de")
    assert [t(name) for name in ("Limits", "nothing", "Verdict", "Found")] == [
        "Limits",
        "nothing",
        "Verdict",
        "Gefunden",
    ]
    assert t("Verdict · Limits · Limit") == "Verdict · Limits · Grenze"


@pytest.mark.parametrize(
    ("language", "exceeded"), [("de", "Eine Grenze ist überschritten"), ("fr", "Une limite est dépassée")]
)
def test_a_page_in_another_language_says_what_the_english_one_does(language: str, exceeded: str) -> None:
    made = document()
    english, other = render_page(made), render_page(made, language)
    assert f'<html lang="{language}">' in other
    assert exceeded in other
    assert "A limit is exceeded" not in other
    assert english.count("<tr") == other.count("<tr")
    assert english.count("<figure") == other.count("<figure")
    assert '"decimal":","' in other
    assert '"decimal":","' not in english


def test_every_language_has_the_same_phrases() -> None:
    held = [
        list(tomllib.loads(files("unveil.report").joinpath("languages", f"{language}.toml").read_text("utf-8")))
        for language in OTHERS
    ]
    assert all(one == held[0] for one in held)


def _sentences(text: str) -> list[str]:
    return text.rstrip(".").split(". ")


@pytest.mark.parametrize("language", OTHERS)
def test_every_measure_is_called_and_explained_in_every_language(language: str) -> None:
    for known in measures().values():
        said = [*known.titles.values(), *known.hints.values(), known.hint, *_sentences(known.words)]
        said += [known.title] if known.kind != "level" else []  # a model is called by its name everywhere
        left = [t for t in said if t and translated(t.replace("{}", "20"), language) == t]
        assert set(left) <= {"DIS-SUDA"}, known.name


def _golden(name: str) -> dict[str, Any]:
    """A document of an audit as it is kept, with the draws and charts it is kept without."""
    made = json.loads((Path(__file__).parents[2] / "golden" / name).read_text(encoding="utf-8"))
    made["run"] = document()["run"]
    facts = made["diagnostics"]
    facts.pop("panel", None)
    for row in [*facts.get("background", ()), *facts.get("membership", {}).values()]:
        row.setdefault("words", "")
    return {**made, "charts": {}, "findings": [{**NOTHING, **finding} for finding in made["findings"]]}


# What no catalogue needs to hold: what was computed and with what, and names.
NEVER = re.compile(r".*_\w+ .*|numpy .*|Regional health statistics office|\w+ in group")


COMPOSED = [
    "age narrows illness down to a few values for 82 people: anyone who knows it is 3.1 times as likely to name the "
    "right one. If illness is a secret, nothing else here judges it.",
    "age, sex and the last sign of zip together tell illness: 90% of the people who share them share illness too, "
    "against 40% otherwise; that is about 1,200 people.",
    "job, called insensitive, tells illness: it is guessed right for 300 people (15%), against 4% without it.",
    "The order of zip gives away whether pay is missing, for 1,000 people: class by class the two go together "
    "(correlation 0.71), and nothing else that the rows show explains it.",
    "zip is withheld or coarsened for 40 people, but the rounding of pay gives it back: right for over 99%.",
    "The rows follow the order of pay, which the file does not show so finely: anyone who has everybody's pay finds "
    "or narrows down the rows of 2,000 people.",
    "People beside each other in the original's list stand 3 lines apart in the file (20% of such pairs, beyond "
    "chance): whoever finds one of them finds the other, among 2,000 people.",
    "Anyone who knows a person's quasi-identifiers learns one illness of fewer than 10 people: it becomes likely, and "
    "certain for fewer than 10. At worst flu goes from 2% to 80%.",
    "2,994 rows stand in classes of fewer than 3; without age 1,427 rows, with it one level coarser 2,918; without zip "
    "2,144 rows. age is published exactly.",
    "People whose own value is 80% sure, and that is news (random worlds): 12.5%; without age 4.0%. "
    "One of them: age 0.",
    "Merge these classes with others until each has many values of illness. Or make the release once more: unveil "
    "anonymize a.csv · Or: unveil anonymize b.csv",
    "Drop the column job; shuffle the rows, or sort them by what is published.",
    "Not all releases could be combined: b.csv (named in the schema, not given with --earlier).",
    "Not known well enough: Prosecutor risk, the worst-off person; Confident.",
    "a.csv, illness: 12 of 3,000 people fit no row; of them every attacker believes what the learner does.",
    "pay does not show true values: 50 of its rows cannot be anybody's of the original. Each value is read as an "
    "average of neighbouring values, and so are the people behind it; it may tell a reader a little more than that.",
    "Linked to the nearest row by age, zip, 41.00% of 3,000 people get their own row (a guess: one in 3,000). For "
    "40.0% one row alone is best, rightly so for 90.0% of them.",
    "k_5 (singling out and linking only) kept; the panel not asked; inference of illness not judged",
]


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What is translated in a test and stays as it was, though it holds two lower-case words and is no name."""
    found: set[str] = set()
    whole, sources = translated.__wrapped__, " ".join(known.source for known in measures().values())

    @cache
    def seen(text: str, language: str, kept: frozenset[str] = frozenset()) -> str:
        said = whole(text, language, kept)
        apart = any(sign in text for sign in (". ", "; ", " · "))
        names = set(re.split(r", | \| ", text)) <= kept
        if said == text and not (apart or names) and re.search(r"\b[a-z]{2,} (\S+ )?[a-z]{2,}\b", text):
            found.update([text] if text.rstrip(".") not in sources and not NEVER.fullmatch(text) else [])
        return str(said)

    monkeypatch.setattr("unveil.report.translation.translated", seen)
    return found


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("name", ["", "audit-demo.json", "audit-li_table_2_2.json"])
def test_a_page_holds_no_english_sentence(name: str, language: str, left: set[str]) -> None:
    render_page(_golden(name) if name else document(), language)
    assert not left


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_exceeded_and_what_fixes_it_is_told_in_every_language(language: str, left: set[str]) -> None:
    remake = Remake("unveil anonymize a.csv --schema a.toml -o new.csv", ("job",), ("illness", "pay"))
    t = words_of(read_document(document(attributes=("illness",))), language)
    for kind, limits in DEFAULT_LIMITS.items():
        for part in (parse_limit(limit).left for limit in limits):
            name = ".".join(filter(None, (part.measure, part.statistic)))
            for reader in {part.reader, *(("learner", "panel:count=5") if measure(part.measure).of_readers else ())}:
                finding = Finding.exact(name, "a.csv", "illness", 0.5, reader=reader)
                for text in (sentence_of(finding, 200), fix_of_finding(kind, finding, remake)):
                    assert t(text) != text
    assert not left


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("text", COMPOSED)
def test_what_is_put_together_is_told_in_every_language(text: str, language: str, left: set[str]) -> None:
    said = translated.__wrapped__(text, language)
    assert said != text
    assert not left


def test_hostile_names_are_as_harmless_in_german() -> None:
    html, _, specs = render_sections(hostile(), language="de")
    assert f"<script>window.{CANARY}" not in html
    assert "<img" not in html
    assert "</script" not in specs

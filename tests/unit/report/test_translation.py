"""Reports in another language: a catalogue beside the English texts, which leaves names and numbers what they are."""

import re
import tomllib
from importlib.resources import files

import pytest

from report_documents import CANARY, document, hostile
from unveil.audit.verdict import KINDS
from unveil.report import read_document, render_page, render_sections
from unveil.report.translation import LANGUAGES, translated, words_of

OTHERS = [language for language in LANGUAGES if language != "en"]


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


def test_hostile_names_are_as_harmless_in_german() -> None:
    html, _, specs = render_sections(hostile(), language="de")
    assert f"<script>window.{CANARY}" not in html
    assert "<img" not in html
    assert "</script" not in specs

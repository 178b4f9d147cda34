"""The report in a real browser: charts are drawn, nothing leaves, nothing hostile runs, it fits screen and paper."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from opened import Opened
from playwright.sync_api import Page

from differential_documents import differential_document, hostile_differential
from report_documents import CANARY, document, external, hostile, many_subgroups, without_original

Show = Callable[..., Opened]

DOCUMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "two releases": document,
    "one release": lambda: document(releases=("release.csv",), attributes=("disease", "income"), disagree=False),
    "external": lambda: external(document()),
    "without the original": lambda: without_original(document(verdict="no limit")),
    "200 columns": many_subgroups,
    "hostile": hostile,
}

# Marks of a drawn chart: bars, points, areas, lines and rectangles, not axes and legends.
COUNT_MARKS = """figures => figures.map(f => [
    f.id,
    f.dataset.drawn,
    f.querySelectorAll('.chart svg g.mark-rect.role-mark path, .chart svg g.mark-symbol.role-mark path,'
      + '.chart svg g.mark-line.role-mark path, .chart svg g.mark-area.role-mark path').length,
])"""
# In the page: a handle on each of the thousands of marks would take the driver seconds.
POINT_AT_SOME = """all => all.slice(0, 80).filter((_, i) => i % 5 === 0)
    .map(m => m.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, cancelable: true, composed: true}))).length"""
TABLES = """figures => figures.map(f => f.querySelector('table')).map(t => t !== null
    && t.checkVisibility({visibilityProperty: true}) && t.getBoundingClientRect().height > 0
    && t.querySelectorAll('tbody tr').length > 0)"""
PRINTED = 690  # A4 less the margins, in CSS pixels
OUTSIDE = """(all, width) => all.map(s => s.getBoundingClientRect())
    .filter(r => r.right > width || r.left < 0).map(r => [r.left, r.right])"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_charts_are_drawn_nothing_is_said_or_asked_and_it_fits_screens_and_paper(show: Show, name: str) -> None:
    opened = show(DOCUMENTS[name]())
    charts = opened.page.eval_on_selector_all("figure[id]", COUNT_MARKS)
    assert charts
    assert [chart for chart in charts if chart[1] != "yes" or chart[2] == 0] == []
    assert opened.said == []
    assert opened.asked == []
    _fits(opened.page)


def _fits(page: Page) -> None:
    """A screen, a telephone, and A4."""
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(OVERFLOW) == 0, width
    page.set_viewport_size({"width": PRINTED, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate(OVERFLOW) == 0
    assert page.eval_on_selector_all(".chart svg", OUTSIDE, PRINTED) == []
    assert not page.is_visible("nav")
    assert not page.is_visible("figure[data-drawn=yes] details")
    pdf = page.pdf(prefer_css_page_size=True)
    boxes = {tuple(round(float(n)) for n in box.split()) for box in re.findall(rb"/MediaBox\s*\[([^\]]+)\]", pdf)}
    assert boxes == {(0, 0, 595, 842)}
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 40


def test_hostile_values_stay_text(show: Show) -> None:
    opened = show(hostile())
    page = opened.page
    pointed_at = page.eval_on_selector_all("figure .chart g.mark-rect.role-mark path", POINT_AT_SOME)
    assert pointed_at == 16  # tooltips are written as HTML
    page.eval_on_selector_all("details", "all => all.forEach(d => { d.open = true; })")
    assert page.evaluate(f"typeof window.{CANARY}") == "undefined"
    assert opened.dialogs == []
    assert opened.said == []
    assert opened.asked == []
    assert (
        page.query_selector_all(
            "img, iframe, object, embed, form:not(.vega-bindings), [onerror], [onload], [onmouseover]"
        )
        == []
    )
    assert page.eval_on_selector_all("script", "all => all.map(s => s.type)") == [
        "application/json",
        "module",
        "module",
    ]
    assert set(page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href')[0])")) == {"#"}
    text = page.inner_text("body")
    assert f"<script>window.{CANARY}=1</script>" in text  # shown as it is, not lost
    assert "\u202e" not in text
    assert "\\u202e" in text


def test_the_policy_stops_what_the_page_did_not_bring(show: Show) -> None:
    opened = show(document(releases=("release.csv",)))
    assert opened.said == []
    opened.page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.planted = 1';
            document.body.append(script);
            const image = document.createElement('img');
            image.src = 'https://example.org/planted.png';
            document.body.append(image);
            return fetch('https://example.org/planted').catch(() => null);
        }"""
    )
    assert opened.page.evaluate("typeof window.planted") == "undefined"
    assert {why for url, why in opened.refused if "planted" in url} <= {"csp"}
    assert len([text for text in opened.said if "Content Security Policy" in text]) >= 3
    # In a timer, for what the driver evaluates itself is exempt from the policy.
    tried = "try { done(new Function('return 1')()); } catch { done('refused'); }"
    assert opened.page.evaluate(f"() => new Promise(done => setTimeout(() => {{ {tried} }}))") == "refused"


def test_a_tooltip_tells_the_numbers(show: Show) -> None:
    page = show(document(releases=("release.csv",))).page
    bars = page.query_selector_all("figure:has-text('sex: exposed to bayesian') g.mark-rect.role-mark path")
    bars[-1].hover()  # the last drawn lies on top
    tooltip = page.wait_for_selector("#vg-tooltip-element.visible")
    assert tooltip is not None
    assert re.search(r"people\s+\d+", tooltip.inner_text())


@pytest.mark.parametrize("name", ["two releases", "external"])
def test_without_a_script_the_numbers_are_there(show: Show, name: str) -> None:
    opened = show(DOCUMENTS[name](), script=False)
    tables = opened.page.eval_on_selector_all("figure[id]", TABLES)
    assert len(tables) > 10
    assert all(tables)
    assert opened.asked == []


def test_it_can_be_read_aloud_and_tells_of_chains_that_disagree(show: Show) -> None:
    page = show(document()).page
    assert page.evaluate("document.documentElement.lang") == "en"
    assert len(page.query_selector_all("main")) == 1
    levels = page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert page.query_selector_all("table:not(:has(th[scope=col]))") == []
    assert page.query_selector_all("figure .chart svg:not(:has([aria-label])):not([aria-label])") == []
    assert "nothing is pooled" in page.inner_text("section .warning")
    answers = page.inner_text("[aria-label='Answers of each chain']")
    assert [f"{share}.0%" in answers for share in (24, 28, 32, 36)] == [True] * 4


@pytest.mark.parametrize("made", [differential_document, hostile_differential])
def test_the_differential_report_is_drawn_silent_and_fits(show: Show, made: Callable[[], dict[str, Any]]) -> None:
    opened = show(made())
    charts = opened.page.eval_on_selector_all("figure[id]", COUNT_MARKS)
    assert [chart[1] for chart in charts] == ["yes", "yes"]
    assert all(chart[2] for chart in charts)
    assert (opened.said, opened.asked, opened.dialogs) == ([], [], [])
    for width in (1280, 400):
        opened.page.set_viewport_size({"width": width, "height": 900})
        assert opened.page.evaluate(OVERFLOW) == 0, width

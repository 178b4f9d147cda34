"""The differential report as text and on a terminal: figures 1, 2 and 5, escaped, and charts that Vega-Lite knows."""

import io
import json
import re

import altair
import pytest
from rich.console import Console

from differential_documents import differential_document, hostile_differential
from unveil.audit.document import Document
from unveil.errors import UsageError
from unveil.report import print_document, render_page
from unveil.report.sections.differential import cumulative_chart, delta_chart


def test_the_page_says_what_the_document_does() -> None:
    page = render_page(differential_document())
    for text in (
        "A limit is exceeded",
        "mondrian:k=8",
        "exit code 1",
        "17, 400",
        "figure 1",
        "figure 2",
        "0.4",
        "0.03",
    ):
        assert text in page, text
    assert "Internet Usage data" in page  # figures 3, 4 and 6: written down why they are not there
    assert page == render_page(Document.model_validate(differential_document()))


def test_charts_are_what_vega_lite_knows() -> None:
    document = differential_document()
    names = {n: n for n in document["settings"]["sanitizers"]}
    first = delta_chart(document["charts"]["delta"], names, noisy=False)
    second = cumulative_chart(document["charts"]["cumulative"], names, noisy=True)
    assert first is not None
    assert "figure 1" in first.title
    assert "figure 5b" in second.title
    for chart in (first, second):
        altair.Chart.from_dict({"$schema": altair.SCHEMA_URL, **chart.spec}, validate=True)
    worst = [v for v in first.spec["data"]["values"] if v["s"].startswith("worst")]
    assert [(v["x"], v["y"]) for v in worst] == [("2", 0.4), ("4", 0.2), ("8", 0.25)]
    assert second.rows[0] == ("mondrian:k=2", "≤ 0.01", "≤ 0.1", "≤ 0.5")
    alone = [{**p, "parameter": None, "value": None} for p in document["charts"]["delta"][:1]]
    assert delta_chart(alone, names, noisy=False) is None


def test_nothing_hostile_becomes_a_tag() -> None:
    page = render_page(hostile_differential())
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "{{ 7 * 7 }}" in page
    assert "\u202e" not in page
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src &#39;none&#39;")
    (block,) = re.findall(r'<script type="application/json" id="specs">(.*?)</script>', page, re.DOTALL)
    assert set(json.loads(block)) == {"chart-1", "chart-2"}


def test_another_document_is_refused() -> None:
    with pytest.raises(UsageError, match=r"not a document of unveil: document: .*give what --json wrote"):
        render_page({**differential_document(), "document": "letter"})
    with pytest.raises(UsageError, match="not a document of unveil: settings: Field required"):
        render_page({"document": "differential"})


def test_the_terminal_tells_rows_and_no_markup() -> None:
    out = io.StringIO()
    document = hostile_differential()
    document["diagnostics"]["failures"][0]["message"] = "[bold]x[/]\x1b[31m"
    print_document(Document.model_validate(document), Console(file=out, width=200), verbose=True)
    text = out.getvalue()
    assert "A LIMIT IS EXCEEDED" in text
    assert "[bold]x[/]" in text
    assert "\x1b" not in text
    assert "Reached; 2 records removed. Their rows in the original: 17, 400." in text
    assert "✕ exceeded" in text
    assert "0.25 (0.25 – ∞)" in text

"""The report of a link in headless Chromium: its charts are drawn; nothing is loaded, run or said."""

from pathlib import Path

import numpy as np
from playwright.sync_api import Browser

from small import QI, made_schema, masked_release
from unveil.audit.linking import run_link
from unveil.data.rows import as_published
from unveil.data.table import Table
from unveil.report import render_page


def test_the_charts_are_drawn(browser: Browser, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    schema = made_schema({"age": {"role": QI, "kind": "numeric"}, "<b>sex</b>": {"role": QI, "domain": ["f", "m"]}})
    columns = {"age": random.integers(20, 60, 80).tolist(), "<b>sex</b>": random.choice(["f", "m"], 80).tolist()}
    table = Table.from_columns(schema, columns)
    age, sex = as_published(table.attributes, table.columns)
    masked = masked_release(table.attributes, (age + random.normal(size=80), sex), (0,))
    found = run_link(masked, table=table, group=np.arange(80), fraction=0.2)
    file = tmp_path / "link.html"
    file.write_text(render_page(found.document), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-charts=drawn]", timeout=120_000)
    assert page.locator("figure[data-drawn=yes]").count() == 3
    assert page.locator("main b").count() == 0  # a name stays text
    assert said == []
    assert [url for url in asked if url != file.as_uri() and not url.startswith("data:")] == []
    context.close()

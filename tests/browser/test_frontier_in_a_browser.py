"""The frontier's report in headless Chromium: the chart is drawn and answers; nothing is loaded, run or said."""

from pathlib import Path

import numpy as np
from playwright.sync_api import Browser

from small import QI, SENSITIVE, made_schema, made_table
from unveil.engine import Engine
from unveil.frontier import run_frontier
from unveil.report import render_page


def test_the_chart_is_drawn_and_can_be_zoomed(browser: Browser, tmp_path: Path) -> None:
    schema = made_schema(
        {"age": {"role": QI, "kind": "numeric"}, "s": {"role": SENSITIVE, "domain": ["<b>a</b>", "b", "c"]}}
    )
    random = np.random.default_rng(2)
    ages = random.integers(20, 40, 90)
    rows = [(int(age), ["<b>a</b>", "b", "c"][int(age) // 5 % 3 if random.random() < 0.7 else 1]) for age in ages]
    table = made_table(schema, *rows)
    found = run_frontier(table, ["mondrian:k=5+15", "anatomy:l=2"], engine=Engine(seed=0, workers=1)).to_dict()
    found["diagnostics"]["points"][2]["status"] = "unsure"
    file = tmp_path / "frontier.html"
    file.write_text(render_page(found), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-charts=drawn]", timeout=120_000)
    assert page.locator("figure[data-drawn=yes]").count() == 1
    symbols = page.locator(".mark-symbol.role-mark path")
    drawn = [p for p in found["diagnostics"]["points"] if p["status"] in ("measured", "unsure")]
    recommended = sum(p["recommended"] for p in found["diagnostics"]["points"])
    assert symbols.count() == len(drawn) + recommended  # every point, and the ring
    ticks = page.locator(".mark-text.role-axis-label text").all_text_contents()
    chart = page.locator("figure svg").bounding_box()
    assert chart is not None
    page.mouse.move(chart["x"] + chart["width"] / 2, chart["y"] + chart["height"] / 2)
    page.mouse.wheel(0, -600)
    page.wait_for_timeout(300)
    assert page.locator(".mark-text.role-axis-label text").all_text_contents() != ticks
    assert said == []
    assert [url for url in asked if url != file.as_uri() and not url.startswith("data:")] == []
    context.close()

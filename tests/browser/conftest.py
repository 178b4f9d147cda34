"""One headless Chromium a worker. Debian's package, for Playwright's own browser cannot be had everywhere."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opened import Opened
from playwright.sync_api import Browser, sync_playwright

from unveil.report import render_page

QUIET = (  # Chromium talks to its maker's hosts at every start unless told not to
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        reason = "chromium is not installed: run tests/browser/install-chromium as root on Debian"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=[*QUIET])
        yield running
        running.close()


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Render a document, open it as a file, wait until its charts are drawn."""
    contexts = []

    def open_it(document: dict[str, Any], *, width: int = 1280, script: bool = True) -> Opened:
        file = tmp_path / "report.html"
        file.write_text(render_page(document), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, java_script_enabled=script)
        contexts.append(context)
        opened = Opened(context.new_page())
        page = opened.page
        page.on("console", lambda message: opened.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: opened.said.append(str(error)))
        page.on("dialog", lambda dialog: (opened.dialogs.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: opened.asked.append(request.url))
        page.on("requestfailed", lambda request: opened.refused.append((request.url, request.failure or "")))
        page.route(lambda url: url != file.as_uri(), lambda route: route.abort())
        page.goto(file.as_uri())
        if script:
            page.wait_for_selector("html[data-charts=drawn]", timeout=120_000)
        opened.asked = [url for url in opened.asked if url != file.as_uri() and not url.startswith("data:")]
        return opened

    yield open_it
    for context in contexts:
        context.close()

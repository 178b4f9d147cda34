"""The studio in headless Chromium: from a messy export to a recorded decision, by mouse and by keyboard."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from studios import Visitor, running

from report_documents import CANARY, document, hostile
from unveil.cli.audit import AuditOptions
from unveil.cli.command import read_config
from unveil.data.draft import draft_schema
from unveil.data.hierarchy_builders import interval_hierarchy
from unveil.data.schema import read_schema
from unveil.data.schema.edit import with_hierarchies
from unveil.engine import Engine
from unveil.formats.tables import read_columns, read_table
from unveil.frontier import run_frontier

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
STEPS = ("data", "roles", "release", "audit", "choose")
# Short chains, one reader: whether they agree is not asked here.
QUICK = 'attacker = ["bayesian"]\nsweeps = 60\nmost_sweeps = 60\npanel = false\nbackground = "no"\n'
FIRST = ("Marigold", "Peregrine", "Cosima", "Thaddeus", "Ottilie", "Lysander")


def messy() -> str:
    """Semicolons, decimal commas, dd.mm.yyyy, names, a word for missing."""
    random = np.random.default_rng(5)
    lines = ["Fallnummer;Name;Alter;Geschlecht;PLZ;BMI;Diagnose"]
    for i in range(160):
        age = int(random.integers(20, 60))
        ill = ("Grippe", "Asthma", "Diabetes")[(age // 14 + int(random.integers(0, 2))) % 3]
        name = f"{FIRST[i % 6]} Quimby-{i}"
        bmi = f"{random.normal(25, 3):.1f}".replace(".", ",")
        lines.append(f"F{i:05};{name};{age};{'wm'[i % 2]};{48100 + int(random.integers(0, 9))};{bmi};{ill}")
    return "\n".join(lines) + "\n"


class Screen:
    """A page of the studio, and what went wrong on it."""

    def __init__(self, page: Page, studio: Visitor) -> None:
        self.page, self.base, self.jobs = page, f"http://{studio.host}", studio.made.studio.jobs
        self.said, self.asked = list[str](), list[str]()
        page.on("console", lambda m: self.said.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.said.append(str(e)))
        page.on("dialog", lambda d: (self.said.append(f"dialog {d.message}"), d.dismiss()))
        page.on("request", lambda r: self.asked.append(r.url))

    def open(self, path: str) -> None:
        self.page.goto(self.base + path)

    def click(self, selector: str) -> None:
        """Use a link or a button that leads to a page."""
        with self.page.expect_navigation():
            self.page.click(selector)

    def until(self, done: Callable[[], Any], seconds: float = 180) -> Any:
        """Wait for something in the folder or on the page."""
        end = time.monotonic() + seconds
        while not (found := done()):
            assert time.monotonic() < end, self.page.inner_text("body")[-2000:]
            self.page.wait_for_timeout(100)
        return found

    def jobs_done(self) -> None:
        """No job runs, and the page has noticed by itself."""
        self.until(lambda: all(job.state != "running" for job in self.jobs.all()))
        self.page.wait_for_selector("[data-state=running]", state="detached")


class Keyboard(Screen):
    """The same by keys alone: Tab to what is meant, then Enter or the space bar."""

    def click(self, selector: str) -> None:
        for _ in range(150):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("s => document.activeElement === document.querySelector(s)", selector):
                break
        else:
            raise AssertionError(f"{selector} cannot be reached by the Tab key")
        kind = self.page.evaluate("[document.activeElement.tagName, document.activeElement.type]")
        if kind[0] in ("A", "BUTTON"):
            with self.page.expect_navigation():
                self.page.keyboard.press("Enter")
        elif kind[1] in ("radio", "checkbox"):
            self.page.keyboard.press("Space")


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Visitor]:
    """A folder with nothing in it but settings."""
    folder = tmp_path / "steward"
    folder.mkdir()
    (folder / "unveil.toml").write_text(QUICK)
    with running(folder) as visitor:
        yield visitor


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Visitor]:
    """A folder in the middle of the work: roles, a hierarchy, an audit and a frontier."""
    for name in ("documents", "hierarchies", "releases"):
        (tmp_path / name).mkdir()
    (tmp_path / "export.csv").write_bytes(messy().encode("cp1252"))
    (tmp_path / "unveil.toml").write_text(
        f'original = "export.csv"\nschema = "schema.toml"\nlimit = ["k_anonymity >= 3"]\n{QUICK}'
    )
    found = read_columns(tmp_path / "export.csv")
    draft = draft_schema(found.columns, name="export.csv", decimal=found.decimal)
    ages = interval_hierarchy(range(20, 60), [5, 10, 20])
    (tmp_path / "hierarchies" / "Alter.csv").write_text(ages.to_csv())
    (tmp_path / "schema.toml").write_text(with_hierarchies(draft.toml, {"Alter": "hierarchies/Alter.csv"}, "schema"))
    (tmp_path / "documents" / "draft.json").write_text(draft.evidence_json("export.csv", found.rows))
    (tmp_path / "documents" / "release.json").write_text(json.dumps(document(releases=("release.csv",))))
    (tmp_path / "releases" / "release.csv").write_text("Alter,Geschlecht\n20-29,*\n")
    table = read_table(tmp_path / "export.csv", read_schema(tmp_path / "schema.toml"))
    ids = {"risks": ["prosecutor_risk.max"], "utilities": ["certainty_penalty"]}
    swept = run_frontier(table, ["mondrian:k=3+20"], engine=Engine(seed=0, workers=1), **ids)
    (tmp_path / "documents" / "frontier.json").write_text(json.dumps(swept.to_dict()))
    with running(tmp_path) as visitor:
        yield visitor


@contextmanager
def admitted(browser: Browser, studio: Visitor) -> Iterator[BrowserContext]:
    """A browser that opened the address which is printed."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    page = context.new_page()
    page.goto(studio.made.gate.address)
    assert page.url.endswith("/data")
    page.close()
    yield context
    context.close()


def screen(context: BrowserContext, studio: Visitor, kind: type[Screen] = Screen) -> Screen:
    return kind(context.new_page(), studio)


def test_from_a_messy_export_to_a_decision_by_mouse(browser: Browser, studio: Visitor, tmp_path: Path) -> None:
    with admitted(browser, studio) as context:
        _whole_path(context, studio, tmp_path)


def _whole_path(context: BrowserContext, studio: Visitor, tmp_path: Path) -> None:
    s, folder = screen(context, studio), studio.folder
    page = s.page
    (tmp_path / "export.csv").write_bytes(messy().encode("cp1252"))
    s.open("/data")
    page.set_input_files("#file-data", tmp_path / "export.csv")
    page.wait_for_selector("table.preview")
    assert "160 rows, 7 columns" in page.inner_text("main")
    s.click("text=Draft the roles")
    s.jobs_done()
    s.open("/roles")
    assert page.input_value("#role-1") == "identifier"  # names
    page.select_option("#role-5", "insensitive")
    page.select_option("#role-6", "sensitive")
    s.click("text=I have read the roles")
    assert "confirmed" in page.inner_text(".state.done")
    assert read_schema(folder / "schema.toml").document.confirmed
    s.click("tr:has-text('Alter') a")
    s.click("text=Age bands of 5, 10, 20")
    with page.expect_navigation():
        page.drag_and_drop(".node:has-text('20-24')", ".node:has-text('30-39')")
    s.until(lambda: "20;20-24;30-39" in (folder / "hierarchies" / "Alter.csv").read_text())
    s.open("/release")
    page.fill("#k", "4")
    page.fill("#name", "mine")
    s.click("text=Make the release")
    s.jobs_done()
    s.open("/release?release=releases/mine.csv")
    assert page.locator("table.preview").count() == 2
    assert "Quimby" not in (folder / "releases" / "mine.csv").read_text()

    # An audit: reloaded in the middle, seen from a second tab, killed, and gone on with.
    s.open("/audit")
    page.fill("#limit", "k_anonymity >= 3")
    s.click("button:text-is('Audit')")
    page.reload()
    page.wait_for_selector("[data-job]:first-of-type progress")
    tab = screen(context, studio)
    tab.open("/audit")
    (job,) = [one for one in studio.made.studio.jobs.all() if one.verb == "audit"]
    held = json.loads((folder / ".unveil" / "jobs" / job.id / "process.json").read_text())
    os.kill(held["pid"], signal.SIGKILL)
    tab.page.wait_for_selector(f"[data-job='{job.id}'][data-state=stopped]")
    tab.click(f"[data-job='{job.id}'] button:text-is('Go on')")
    s.until(lambda: (folder / "documents" / "mine.json").is_file())
    s.jobs_done()
    assert len([one for one in studio.made.studio.jobs.all() if one.verb == "audit"]) == 1
    tab.page.close()
    s.open("/audit")
    assert page.locator(".banner").count() >= 1  # the verdict
    page.wait_for_selector("html[data-charts=drawn]", timeout=120_000)
    assert page.locator("figure[data-drawn=no]").count() == 0
    assert read_config(folder / "unveil.toml", AuditOptions)["limit"] == ["k_anonymity >= 3"]
    page.click("#exposed summary")
    page.fill("#least", "0")
    page.click("text=Who?")
    s.until(lambda: "160 people, in rows 1, 2" in page.inner_text("output.who"))
    page.fill("#least", "100")
    bars = page.locator("figure:has-text('Learner against bayesian') g.mark-rect.role-mark path")
    bars.last.click()
    s.until(lambda: "160 people" not in page.inner_text("output.who") and "in rows" in page.inner_text("output.who"))

    assert not page.is_visible(".meaning p")
    page.locator(".meaning summary").first.click()
    assert page.is_visible(".meaning p")

    s.open("/choose")
    page.select_option("#release", "releases/mine.csv")
    page.fill("#decider", "Ada Steward")
    page.fill("#why", "k of 4 is enough here")
    s.click("text=Record the decision")
    (line,) = (folder / "decisions.jsonl").read_text().splitlines()
    decision = json.loads(line)
    assert decision["verdict"] in ("within", "exceeded", "inconclusive")
    assert set(decision["sha256"]) >= {"releases/mine.csv", "schema.toml", "export.csv", "documents/mine.json"}
    with page.expect_download() as got:
        page.click("text=reports/mine.html")
    assert Path(got.value.path()).read_text().startswith("<!doctype html>")
    assert s.said == []
    assert {url.split("/")[2] for url in s.asked if not url.startswith(("data:", "blob:"))} == {studio.host}
    assert "Quimby" not in "".join(p.read_text() for p in (folder / ".unveil" / "jobs").glob("*/log"))
    page.close()


def test_by_keyboard_alone(browser: Browser, kept: Visitor) -> None:
    with admitted(browser, kept) as context:
        _by_keys(screen(context, kept, Keyboard), kept.folder)


def _by_keys(s: Screen, folder: Path) -> None:
    s.open("/data")
    s.click("input[type=radio]")
    s.click("form[action='/data'] button")
    s.click("a[href='/roles']")
    s.click("button[name=confirm]")
    assert read_schema(folder / "schema.toml").document.confirmed
    s.open("/release")
    s.click("#k")
    s.page.keyboard.type("4")
    s.click("#name")
    s.page.keyboard.type("keys")
    s.click("form[action='/anonymize'] button")
    s.jobs_done()
    s.open("/release?release=releases/keys.csv")
    s.click("form[action='/audit'] button")
    s.until(lambda: (folder / "documents" / "keys.json").is_file())
    s.jobs_done()
    s.open("/choose")
    s.click("#release")
    s.page.keyboard.type("releases/keys.csv")
    s.click("#decider")
    s.page.keyboard.type("Ada Steward")
    s.click("#why")
    s.page.keyboard.type("by keys alone")
    s.click("form[action='/decide'] button")
    assert json.loads((folder / "decisions.jsonl").read_text())["release"] == "releases/keys.csv"
    assert (folder / "reports" / "keys.html").is_file()
    s.open("/choose")
    s.click("#point")
    s.page.keyboard.press("Home")
    first = s.page.inner_text("[data-point]:not([hidden])")
    s.page.keyboard.press("ArrowRight")
    second = s.page.inner_text("[data-point]:not([hidden])")
    assert "mondrian:k=20" in first
    assert first != second
    s.page.wait_for_selector("html[data-charts=drawn]", timeout=120_000)
    ring = "g.mark-symbol path[stroke-width='3']"
    before = s.page.get_attribute(ring, "transform")
    s.page.keyboard.press("ArrowLeft")  # the point in the chart goes along
    s.until(lambda: s.page.get_attribute(ring, "transform") not in (before, None))
    s.page.keyboard.press("ArrowRight")
    assert s.page.get_attribute("#point", "aria-valuetext") == second.replace("\n", " ")
    s.click("[data-slide] button")
    s.jobs_done()
    assert (folder / "releases" / "mondrian k=3.csv").is_file()
    s.open("/roles/2")
    s.click("#node")
    s.page.keyboard.type("20-24")
    s.click("#parent")
    s.page.keyboard.type("20-29")
    s.click("[data-move] button")
    assert "20;20-24;20-29" in (folder / "hierarchies" / "Alter.csv").read_text()
    s.open("/data")
    s.page.keyboard.press("Tab")
    s.page.keyboard.press("Enter")
    assert s.page.evaluate("document.activeElement.id") == "main"  # the link that skips the steps
    assert s.said == []
    s.page.close()


def axe() -> str:
    try:
        import axe_playwright_python
    except ModuleNotFoundError:
        reason = "axe-playwright-python is not installed"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()


def test_axe_finds_nothing_every_width_fits_and_nothing_jumps(browser: Browser, kept: Visitor) -> None:
    checker = axe()
    with admitted(browser, kept) as context:
        _looked_at(screen(context, kept), checker)


def _looked_at(s: Screen, checker: str) -> None:
    page, faults = s.page, []
    for step, width, scheme, language in (
        ("data", 400, "light", "de"),
        ("roles", 400, "dark", "en"),
        ("roles/2", 1280, "dark", "de"),
        ("release", 3840, "light", "en"),
        ("audit", 400, "dark", "en"),
        ("choose", 1280, "light", "de"),
    ):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        s.open(f"/{step}?lang={language}")
        if step in ("audit", "choose"):
            page.wait_for_selector("html[data-charts=drawn]", timeout=120_000)
        page.evaluate(checker)
        found = page.evaluate("axe.run(document, {rules: {'region': {enabled: true}}}).then(r => r.violations)")
        faults += [(step, one["id"], n["html"][:150]) for one in found for n in one["nodes"][:4]]
        assert page.evaluate(OVERFLOW) == 0, (step, width)
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(ids) == len(set(ids)), step
        assert page.get_attribute("html", "lang") == language
        shift = """new Promise(done => new PerformanceObserver(list => done(list.getEntries()
            .filter(e => !e.hadRecentInput).reduce((sum, e) => sum + e.value, 0)))
            .observe({type: 'layout-shift', buffered: true}) || setTimeout(() => done(0), 200))"""
        if step not in ("audit", "choose"):  # charts are drawn into the place of their tables
            assert page.evaluate(shift) < 0.1, step
    assert not faults, "\n".join(map(str, faults))
    assert s.said == []
    page.close()


def test_hostile_names_and_values_stay_text(browser: Browser, tmp_path: Path) -> None:
    bad = f'<img src=x onerror="window.{CANARY}=1">'
    name = f"</script><script>window.{CANARY}=1</script>"
    rows = "".join(f'"{bad.replace(chr(34), chr(34) * 2)}",{20 + i % 9},"{{{{7*7}}}}{i % 3}"\n' for i in range(60))
    (tmp_path / "evil.csv").write_text(f'"{name}",age,"a\u202eb\'><b>"\n{rows}')
    (tmp_path / "documents").mkdir()
    found = read_columns(tmp_path / "evil.csv")
    draft = draft_schema(found.columns, name="evil.csv")
    (tmp_path / "schema.toml").write_text(draft.toml.replace("confirmed = false", "confirmed = true"))
    (tmp_path / "documents" / "draft.json").write_text(draft.evidence_json("evil.csv", found.rows))
    (tmp_path / "documents" / "evil.json").write_text(json.dumps(hostile()))
    (tmp_path / "unveil.toml").write_text('original = "evil.csv"\nrecipient = "</textarea><b>"\n')
    (tmp_path / "decisions.jsonl").write_text(json.dumps({"who": bad, "why": name, "release": bad}) + "\nnot json\n")
    with running(tmp_path) as visitor:
        context = browser.new_context()
        s = screen(context, visitor)
        s.page.goto(visitor.made.gate.address)
        for step in (*STEPS, "roles/0", "roles/2", "release?release=evil.csv"):
            s.open(f"/{step}")
            s.page.wait_for_load_state()
            assert s.page.evaluate(f"typeof window.{CANARY}") == "undefined", step
            assert s.page.query_selector_all("main img, main b, main iframe, [onerror]") == [], step
            assert "\u202e" not in s.page.inner_text("body")
        s.open("/data")
        assert f"<script>window.{CANARY}=1</script>" in s.page.inner_text("table")
        s.page.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.planted = 1'}))"
        )
        assert s.page.evaluate("typeof window.planted") == "undefined"  # the policy
        assert [text for text in s.said if "Content Security Policy" not in text and "400" not in text] == []
        context.close()

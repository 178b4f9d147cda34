"""The whole audit of Adult (Anatomy l=4 and Mondrian k=5, default precision), the demo, and how soon a report opens."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema, read_adult
from unveil.catalog import anonymizer
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.formats.output import csv_bytes
from unveil.formats.releases import write_release

RUN = """
import resource, sys
from unveil.cli import main
sys.argv[0], code = "unveil", 0
try:
    main()
except SystemExit as stopped:
    code = stopped.code
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, file=sys.stderr)
sys.exit(code)
"""
FIRST_LOOK = """
import sys, time
from pathlib import Path
from unveil.audit import run_audit  # as the command imports it
from unveil.audit.first_look import first_look
from unveil.cli.audit import AuditOptions
from unveil.cli.load import load_case
release, schema, original = map(Path, sys.argv[1:])
case = load_case(AuditOptions(releases=[release], schema=schema, original=original))
case.check()
list(first_look(case))
print(time.process_time())
"""


def measure() -> Iterator[Row]:
    """One run each, in processes of their own, kernels compiled before."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from _adult(folder)
        first = _timed(["demo", "-o", "demo"], folder)[0]
        yield Row("unveil demo, on the clock", first, unit="s", floor="<= 20", note="its coarser precision is stated")
        opened = _opened([folder / "report.html", folder / "demo" / "report.html"])
        for what, seconds in zip(("the Adult report", "the demo's report"), opened, strict=False):
            yield Row(f"{what} opens, charts in sight drawn", seconds[0], unit="s", floor="<= 3", note="Chromium")
            yield Row(
                f"{what}, all charts drawn", seconds[1], unit="s", note="headless Chromium; it can be read meanwhile"
            )


def _adult(folder: Path) -> Iterator[Row]:
    columns = read_adult()
    kept = {n: columns[n] for n in (*QUASI_IDENTIFIERS, SENSITIVE)}
    table = Table.from_columns(adult_schema(kept, hierarchies="none"), kept)
    (folder / "adult.csv").write_bytes(csv_bytes(list(kept), list(kept.values())))
    (folder / "schema.toml").write_text(_toml(table))
    for name, method in (("mondrian.csv", "mondrian:k=5,recoding=order"), ("anatomy.csv", "anatomy:l=4")):
        write_release(anonymizer(method).anonymize(table, Engine(seed=0)).release, folder / name)
    for name in ("mondrian.csv", "anatomy.csv"):
        words = [sys.executable, "-c", FIRST_LOOK, name, "schema.toml", "adult.csv"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
        seconds = float(done.stdout.splitlines()[-1])
        note = "start, reading, classes, what the file gives away"
        yield Row(f"first look at {name}, 30,162 rows", seconds, unit="s CPU", floor="<= 5", note=note)
    asked = ["audit", "anatomy.csv", "mondrian.csv", "-s", "schema.toml", "--original", "adult.csv"]
    wall, memory = _timed([*asked, "--report", "report.html", "--json", "audit.json"], folder)
    readers = json.loads((folder / "audit.json").read_text())["diagnostics"]["readers"]
    sure = all(r["converged"] and r["precise"] for r in readers)
    yield Row(
        "audit of Adult, 30,162 rows, 2 releases, on the clock",
        wall,
        unit="s",
        floor="<= 60",
        note=f"{os.cpu_count()} cores; precise: {'yes' if sure else 'NO'}",
    )
    yield Row("its peak memory", memory, unit="GB", floor="<= 1.5")
    yield Row("its report", (folder / "report.html").stat().st_size / 1e6, unit="MB", floor="<= 2")


def _toml(table: Table) -> str:
    """A schema file with the domains as they are."""
    lines = ["version = 1", "confirmed = true"]
    for attribute in table.attributes:
        lines += [
            f'[attributes."{attribute.name}"]',
            f'role = "{attribute.role.value}"',
            f'kind = "{attribute.kind.value}"',
        ]
        lines += [f"domain = {json.dumps(list(attribute.values))}"]
    return "\n".join(lines) + "\n"


def _timed(arguments: list[str], folder: Path) -> tuple[float, float]:
    """Seconds on the clock and gigabytes at the most."""
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], cwd=folder, capture_output=True, text=True)
    spent = time.perf_counter() - begin
    if done.returncode not in (0, 1, 3):  # a verdict is none of our business here
        raise RuntimeError(done.stderr[-500:])
    return spent, float(done.stderr.split()[-1])


def _opened(pages: list[Path]) -> list[tuple[float, float]]:
    """Seconds until the charts in sight are drawn, and all of them; nothing where there is no Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    chromium = next((p for p in map(Path, ("/usr/bin/chromium", "/usr/bin/chromium-browser")) if p.is_file()), None)
    if chromium is None:
        return []
    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"])
        for page in pages:
            view = browser.new_page(viewport={"width": 1280, "height": 900})
            begin = time.perf_counter()
            view.goto(page.as_uri())
            view.wait_for_selector("html[data-sight=drawn]", timeout=60_000)
            sight = time.perf_counter() - begin
            view.wait_for_selector("html[data-charts=drawn]", timeout=60_000)
            found.append((sight, time.perf_counter() - begin))
            view.close()
        browser.close()
    return found

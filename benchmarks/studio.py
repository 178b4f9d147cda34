"""The studio on Adult: its first page, every page besides computation, fifty requests at once while an audit runs."""

import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlencode

from benchmarks import Row
from realdata.adult import NAMES, QUASI_IDENTIFIERS, SENSITIVE, adult_csv, read_adult

TIMES = 9
AT_ONCE, ROUNDS = 50, 8
RELEASE = "releases/mondrian k=5.csv"
PAGES = (
    "/data",
    "/roles",
    "/roles/0",
    f"/release?release={quote(RELEASE)}",
    "/audit",
    "/choose",
    "/jobs",
    "/static/studio.css",
)


class _Browser:
    """Requests as our own page sends them."""

    def __init__(self, address: str) -> None:
        self.host, self._token = address.removeprefix("http://").split("/?token=")
        self.cookie = ""

    def admitted(self) -> None:
        line = http.client.HTTPConnection(self.host, timeout=60)
        line.request("GET", f"/?token={self._token}")
        self.cookie = str(line.getresponse().getheader("set-cookie")).split(";")[0]

    def ask(self, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
        line = http.client.HTTPConnection(self.host, timeout=60)
        headers = {"Cookie": self.cookie, "Origin": f"http://{self.host}"}
        if form is None:
            line.request("GET", path, headers=headers)
        else:
            line.request("POST", path, urlencode(form), headers)
        got = line.getresponse()
        return got.status, got.read().decode()

    def until(self, verb: str, state: str, seconds: float = 900) -> None:
        """Wait until the newest job of this verb is in a state."""
        end = time.monotonic() + seconds
        while True:
            jobs = [job for job in json.loads(self.ask("/jobs")[1]) if job["verb"] == verb]
            if jobs and jobs[0]["state"] == state and (state != "running" or jobs[0]["share"] > 0.02):
                return
            if time.monotonic() > end or (jobs and jobs[0]["state"] == "failed"):
                raise RuntimeError(f"{verb}: {jobs}")
            time.sleep(0.2)


def measure() -> Iterator[Row]:
    """A studio in a process of its own, and its visitors in ours."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        adult_csv(folder / "adult.csv", read_adult(), NAMES)
        began = time.perf_counter()
        command = [sys.executable, "-m", "unveil", "studio", str(folder), "--no-browser"]
        studio = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert studio.stdout is not None
        try:
            browser = _Browser(studio.stdout.readline().split()[-1])
            started = time.perf_counter() - began
            browser.admitted()
            first = _spent(lambda: browser.ask("/data"))
            yield Row("From the command to the address", started, unit="s")
            yield Row("The first page, from the address", first, unit="s", floor="<= 1")
            _prepare(browser, folder)
            for path in PAGES:
                fresh = _spent(lambda path=path: browser.ask(path))
                best = sorted(_spent(lambda path=path: browser.ask(path)) for _ in range(TIMES))
                note = f"{fresh * 1000:.0f} ms the first time; least {best[0] * 1000:.0f}, most {best[-1] * 1000:.0f}"
                yield Row(f"{path.split('?')[0]}, median", best[TIMES // 2], unit="s", floor="<= 0.3", note=note)
            browser.ask("/audit", {"release": RELEASE, "minutes": "9", "limit": "k_anonymity >= 6"})
            browser.until("audit", "running")
            yield from _load(browser)
        finally:
            studio.terminate()
            studio.wait(60)


def _prepare(browser: _Browser, folder: Path) -> None:
    """Roles, a hierarchy, a release and its audit, as a steward makes them."""
    browser.ask("/data", {"file": "adult.csv"})
    browser.ask("/draft", {})
    browser.until("schema", "done")
    names = re.findall(r'scope="row"><bdi>([^<]*)', browser.ask("/roles")[1])
    roles = dict.fromkeys(QUASI_IDENTIFIERS, "quasi-identifier") | {SENSITIVE: "sensitive"}
    form = {f"role-{i}": roles.get(name, "insensitive") for i, name in enumerate(names)}
    browser.ask("/roles", {**form, "confirm": "yes"})
    browser.ask(f"/roles/{names.index('age')}/build", {"preset": "ages"})
    browser.ask("/anonymize", {"scheme": "mondrian", "k": "5"})
    browser.until("anonymize", "done")
    browser.ask("/audit", {"release": RELEASE, "minutes": "1"})
    browser.until("audit", "done")
    if not (folder / "documents" / "mondrian k=5.json").is_file():
        raise RuntimeError("the audit wrote no document")


def _load(browser: _Browser) -> Iterator[Row]:
    """Fifty visitors who all ask at the same moment, several times."""
    gate, found = threading.Barrier(AT_ONCE), []

    def visit(number: int) -> None:
        for turn in range(ROUNDS):
            gate.wait()
            began = time.perf_counter()
            status, _ = browser.ask(PAGES[(number + turn) % len(PAGES)])
            found.append((time.perf_counter() - began, status))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(visit, range(AT_ONCE)))
    running = any(job["state"] == "running" for job in json.loads(browser.ask("/jobs")[1]))
    seconds = sorted(spent for spent, _ in found)
    failed = sum(status != 200 for _, status in found)
    note = f"{len(found)} requests, {ROUNDS} times {AT_ONCE} at once; median {seconds[len(seconds) // 2]:.3f} s, "
    note += f"longest {seconds[-1]:.3f} s; the audit {'runs on' if running else 'HAS ENDED'}"
    yield Row(
        f"{AT_ONCE} at once while an audit runs, p95",
        seconds[int(0.95 * len(seconds))],
        unit="s",
        floor="<= 0.3",
        note=note,
    )
    yield Row("of them not answered as they should be", failed, floor="<= 0")


def _spent(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began

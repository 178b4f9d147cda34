"""A studio that runs in a thread, and requests to it that no browser would send."""

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from unveil.studio import Prepared, prepared


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class Visitor:
    """Somebody at a studio; with a cookie once admitted."""

    made: Prepared
    cookie: str = ""

    @property
    def host(self) -> str:
        return str(self.made.gate.hosts[0])

    @property
    def folder(self) -> Path:
        return Path(self.made.studio.folder.path)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """One request; headers given replace what a browser on our own page would send, "" leaves one out."""
        sent = {"Host": self.host, "Origin": f"http://{self.host}" if method not in ("GET", "HEAD") else ""}
        sent |= {"Cookie": self.cookie, **{name.replace("_", "-"): text for name, text in headers.items()}}
        line = http.client.HTTPConnection(*self.made.listening.getsockname(), timeout=30)
        try:
            line.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, text in sent.items():
                if text:
                    line.putheader(name, text)
            if body is not None and "Content-Length" not in sent:
                line.putheader("Content-Length", str(len(body)))
            line.endheaders(body)
            got = line.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read().decode())
        finally:
            line.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, **form: Any) -> Answer:
        fields = {name.replace("__", "-"): value for name, value in form.items()}
        return self.ask("POST", path, urlencode(fields, doseq=True).encode())

    def admitted(self) -> "Visitor":
        answer = self.get(f"/?token={self.made.gate.token}")
        self.cookie = re.split(";", answer.headers["set-cookie"])[0]
        return self

    def finished(self, seconds: float = 120) -> list[dict[str, Any]]:
        """The jobs, once none is running."""
        end = time.monotonic() + seconds
        while True:
            jobs = list(json.loads(self.get("/jobs").text))
            if all(job["state"] != "running" for job in jobs):
                return jobs
            assert time.monotonic() < end, jobs
            time.sleep(0.1)


@contextmanager
def running(folder: Path, **options: Any) -> Iterator[Visitor]:
    made = prepared(folder, **options)
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    while not made.server.started:
        time.sleep(0.01)
    try:
        yield Visitor(made)
    finally:
        made.studio.jobs.stop_all()
        made.server.should_exit = made.server.force_exit = True
        thread.join(10)
        made.listening.close()

"""Jobs: long work is an unveil command in a process of its own, and all that is known of it stands in files.

A job survives whoever started it: the studio looks at its folder, `.unveil/jobs/NUMBER`, and at whether its process is
there. Killed, it goes on from its checkpoints; asked for twice, it is one job.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unveil.engine import duration
from unveil.errors import UsageError
from unveil.studio.folder import Folder

__all__ = ["Job", "Jobs"]

LONG = ("audit", "frontier")  # at most AT_ONCE of these run at the same time
AT_ONCE = 2
KEPT = 50  # jobs that are remembered
JUDGED = (0, 1, 3)  # exit codes of these that come with a document
PATIENCE = 8.0  # seconds between being asked to end and being ended


@dataclass(frozen=True, slots=True)
class Job:
    """One job as its files show it now."""

    id: str
    verb: str  # schema, hierarchy, anonymize, audit, frontier
    about: str  # a file, in the steward's words
    words: tuple[str, ...]  # of the command
    outputs: tuple[str, ...]
    page: str  # where its result is shown
    state: str  # running, done, failed, stopped
    code: int | None = None
    share: float = 0.0
    stage: str = ""
    left: str = ""
    said: str = ""  # the last line it said, if it failed
    stamps: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def command(self) -> str:
        """The same on the command line, without the studio's own folder for checkpoints."""
        return shlex.join(["unveil", *(word for word in self.words if not word.startswith("--checkpoint="))])

    def shown(self) -> dict[str, Any]:
        """What the page's script is told."""
        names = ("id", "verb", "about", "state", "code", "share", "stage", "left", "said", "page")
        return {name: getattr(self, name) for name in names}


class Jobs:
    """The jobs of a folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder, self._home = folder, folder.path / ".unveil" / "jobs"
        self._lock = threading.Lock()
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._ended: dict[str, Job] = {}

    def all(self) -> list[Job]:
        """The newest first."""
        numbers = sorted((p.name for p in self._home.iterdir() if p.name.isdigit()), key=int, reverse=True)
        return [job for number in numbers[:KEPT] if (job := self._read(number)) is not None]

    def one(self, id: str) -> Job:
        found = self._read(id) if id.isascii() and id.isdigit() and len(id) < 10 else None
        if found is None:
            raise UsageError("there is no such job; look at the list of jobs")
        return found

    def start(
        self,
        words: Sequence[str],
        *,
        about: str,
        reads: Sequence[str],
        writes: Sequence[str],
        page: str,
        replace: bool = True,
    ) -> Job:
        """The job that runs this command; one that runs it already, or has with the same files, is that one.

        `replace`: whether what another command wrote may be replaced.
        """
        stamps = {name: self._folder.stamp(name) for name in reads}
        with self._lock:
            jobs = self.all()
            for job in jobs:
                if set(job.outputs) & set(writes):
                    # Words but for the checkpoints, whose folder has the job's number.
                    if (job.words[: len(words)], dict(job.stamps)) == (tuple(words), stamps):
                        there = all((self._folder.path / name).is_file() for name in job.outputs)
                        if job.state == "running" or (job.state == "done" and there):
                            return job
                        if job.state == "stopped":
                            return self._run(job.id)
                    if job.state == "running":
                        raise UsageError(f"{job.about}: a job that writes {writes[0]} is running; stop it first")
                    break
            if not replace and any((self._folder.path / name).exists() for name in writes):
                raise UsageError(f"{writes[0]}: there is a file of this name already; choose another name")
            self._check_room(words[0], jobs)
            number = str(1 + max((int(job.id) for job in jobs), default=0))
            home = self._home / number
            home.mkdir(mode=0o700)
            checkpoint = [f"--checkpoint={home / 'checkpoint'}"] if words[0] in LONG else []
            held = {
                "words": [*words, *checkpoint],
                "verb": words[0],
                "about": about,
                "outputs": list(writes),
                "page": page,
                "stamps": stamps,
            }
            (home / "job.json").write_text(json.dumps(held), "utf-8")
            return self._run(number)

    def resume(self, id: str) -> Job:
        """Go on from the last checkpoint."""
        with self._lock:
            job = self.one(id)
            if job.state == "running":
                return job
            self._check_room(job.verb, self.all())
            return self._run(id)

    def stop(self, id: str, *, keep: bool = False) -> Job:
        """End a job: at its last checkpoint, or, to `keep` what it reached, with a document of that."""
        job = self.one(id)
        pid = self._alive(id)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT if keep else signal.SIGTERM)
            if not keep:
                self._wait(id, pid)
        return self.one(id) if pid is not None else job

    def stop_all(self) -> int:
        """When the studio ends in good order: what runs ends at its last checkpoint. How many that were."""
        running = [job.id for job in self.all() if job.state == "running"]
        for id in running:
            self.stop(id)
        for number in self._children:
            self._reap(number)
        return len(running)

    # ---------------------------------------------------------------------------------------------------------- inside

    def _check_room(self, verb: str, jobs: Sequence[Job]) -> None:
        if verb in LONG and sum(job.state == "running" and job.verb in LONG for job in jobs) >= AT_ONCE:
            raise UsageError(f"{AT_ONCE} long jobs are running; wait for one of them, or stop it")

    def _run(self, number: str) -> Job:
        home = self._home / number
        if not all(_stays(word.removeprefix(f"--checkpoint={self._home}/")) for word in self.one(number).words):
            raise UsageError("this job was not started here: it names files outside the folder")
        for name in ("ended.json", "progress.json"):
            (home / name).unlink(missing_ok=True)
        self._ended.pop(number, None)
        self._reap(number)
        with (home / "log").open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", "unveil.studio.worker", str(home)],
                cwd=self._folder.path,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self._children[number] = child
        (home / "process.json").write_text(json.dumps({"pid": child.pid, "born": _born(child.pid)}), "utf-8")
        return self.one(number)

    def _reap(self, number: str) -> None:
        """Wait for the process of a job that has ended: one that has written its last word may still be leaving."""
        if (child := self._children.get(number)) is not None:
            with suppress(subprocess.TimeoutExpired):
                child.wait(PATIENCE)

    def _alive(self, number: str) -> int | None:
        """The process of a job, if it is there and no other one that got its number."""
        child = self._children.get(number)
        if child is not None:
            return child.pid if child.poll() is None else None
        try:
            held = json.loads((self._home / number / "process.json").read_text("utf-8"))
            os.kill(held["pid"], 0)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return int(held["pid"]) if _born(held["pid"]) == held["born"] else None

    def _wait(self, number: str, pid: int) -> None:
        end = time.monotonic() + PATIENCE
        while self._alive(number) is not None and time.monotonic() < end:
            time.sleep(0.05)
        if self._alive(number) is not None:  # in the middle of a computation that does not listen
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            child = self._children.get(number)
            if child is not None:
                child.wait()

    def _read(self, number: str) -> Job | None:
        if number in self._ended:
            return self._ended[number]
        home = self._home / number
        held = _json(home / "job.json")
        if held is None:
            return None
        alive = self._alive(number)  # asked first: a job that ends now has written how before it is gone
        ended = _json(home / "ended.json")
        job = Job(
            id=number,
            verb=held["verb"],
            about=held["about"],
            words=tuple(held["words"]),
            outputs=tuple(held["outputs"]),
            page=held["page"],
            stamps=held["stamps"],
            **(self._progress(home) if alive is not None and ended is None else self._outcome(home, held, ended)),
        )
        if job.state in ("done", "failed") and alive is None:
            self._ended[number] = job
        return job

    def _progress(self, home: Path) -> dict[str, Any]:
        told = _json(home / "progress.json") or {}
        left = told.get("left")
        return {
            "state": "running",
            "share": float(told.get("share", 0.0)),
            "stage": str(told.get("stage", "")),
            "left": "" if left is None else duration(float(left)),
        }

    def _outcome(self, home: Path, held: Mapping[str, Any], ended: Mapping[str, Any] | None) -> dict[str, Any]:
        if ended is None or ended["code"] in (130, 143, 129):  # killed, or asked to end
            return {"state": "stopped"}
        code = int(ended["code"])
        if code == 0 or (held["verb"] in LONG and code in JUDGED):
            return {"state": "done", "code": code, "share": 1.0}
        lines = (home / "log").read_text("utf-8", "replace").splitlines()
        faults = [line for line in lines if line.startswith("unveil: ")]
        said = faults[-1].removeprefix("unveil: ") if faults else "the command ended without a word"
        return {"state": "failed", "code": code, "said": said}


def _stays(word: str) -> bool:
    """Whether a word of a command names nothing outside the folder, which may come from somebody else, jobs and all."""
    option, _, value = word.partition("=") if word.startswith("-") else ("", "", word)
    if option in ("--known", "--leave-out"):  # columns
        return True
    named = re.fullmatch(r"(--[a-z-]+)?", option) is not None
    return named and not value.startswith(("/", "~", "\\")) and ".." not in re.split(r"[/\\]", value)


def _json(file: Path) -> dict[str, Any] | None:
    try:
        held = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return held if isinstance(held, dict) else None


def _born(pid: int) -> str:
    """When a process was started, as the system counts: with its number, which is given out again, it is unique."""
    with suppress(OSError, IndexError):
        return re.sub(r".*\)", "", Path(f"/proc/{pid}/stat").read_text()).split()[19]
    return ""

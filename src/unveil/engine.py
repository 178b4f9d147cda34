"""Engine: what every long piece of work is handed: a seed by name, threads, progress, a stop flag, checkpoints."""

import glob
import hashlib
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

from unveil.errors import OutputError, UsageError

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "WHOLE", "Engine", "Meter", "Progress", "bound_memory", "duration", "free_bytes", "line_now_and_then",
    "memory_bound", "open_checkpoint", "save_checkpoint",
]  # fmt: skip

SIZE = 32  # bytes of the digest of the rest, with which a file starts
PIECE = 1 << 20
CGROUP = Path("/sys/fs/cgroup")
_bound: int | None = None

WHOLE = 1_000_000  # steps of a whole whose parts are known: what Engine.part reports is out of so many
FORETOLD = 0.05  # the share from which on the time left is told
LATE, LATE_SHARE = 20.0, 0.3  # seconds, and the share of all so far, that are the pace of late
LEAP = 0.05  # of the whole, from one report to the next: there may be work in it that was not needed
MOST_MARKS = 200
EVERY = 10.0  # seconds between two lines where there is no terminal

Progress = Callable[[str, int, int], None]
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Engine:
    """Seed, threads and progress. Draws depend on the seed and the name, not on who ran before or at the same time.

    Without a seed it comes from the operating system: whoever knows an anonymizer's seed can replay its draws and undo
    the release. Attacks and audits, which must be repeatable, are run with an engine of seed 0 unless given another.
    """

    seed: int = field(default=None, repr=False)  # type: ignore[assignment]  # None: drawn, 128 bits
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    name: str = ""
    progress: Progress | None = None
    stop: threading.Event = field(default_factory=threading.Event)  # set: end soon, and keep what was reached
    checkpoints: Path | None = None  # the folder where long work saves its state; it goes on from there
    cluster: Any = field(default=None, repr=False)  # a Dask client: work that is counted part by part is done there
    secret: bool = False  # the seed was drawn: it may have made a release, so no document names it

    def __post_init__(self) -> None:
        if cast("int | None", self.seed) is None:
            object.__setattr__(self, "seed", secrets.randbits(128))
            object.__setattr__(self, "secret", True)

    @property
    def stated_seed(self) -> int | None:
        """The seed as a document names it: None if it was drawn."""
        return None if self.secret else self.seed

    @property
    def small_seed(self) -> int:
        """The seed in 32 bits, for libraries that take no more."""
        return self.seed % 2**32

    def named(self, name: str) -> "Engine":
        """The engine one piece of work gets."""
        return replace(self, name=f"{self.name}/{name}")

    def generator(self) -> "np.random.Generator":
        """A fresh generator for this name: the same one every time it is asked for."""
        import numpy as np  # here: a command that only prints its help has no need of it

        digest = hashlib.blake2b(f"{self.seed}{self.name}".encode(), digest_size=16).digest()
        return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))

    @contextmanager
    def for_minutes(self, minutes: float, told: Callable[[], object] | None = None) -> "Iterator[Engine]":
        """This engine, stopped after so many minutes: what was reached by then is kept. `told` is called then."""
        if not minutes > 0:
            raise UsageError(f"minutes = {minutes:g}: choose more than 0")

        def over() -> None:
            self.stop.set()
            if told is not None:
                told()

        timer = threading.Timer(min(minutes * 60, threading.TIMEOUT_MAX), over)
        timer.daemon = True
        timer.start()
        try:
            yield self
        finally:
            timer.cancel()

    def part(self, stage: str = "", low: float = 0.0, high: float = 1.0) -> "Engine":
        """The engine of one part of the work: what it reports takes the whole from one share to another, never back.

        `stage`: its name, instead of those of the tasks in it.
        """
        if self.progress is None:
            return self
        return replace(self, progress=_Part(self.progress, stage, low, high))

    def in_turn(self) -> "Engine":
        """The engine of tasks of which nobody knows how many will come: each gets half of what is left."""
        listening, tasks = self.progress, dict[str, int]()
        if listening is None:
            return self

        def heard(task: str, done: int, total: int) -> None:
            listening(task, round(_share_in_turn(tasks, task, done, total) * WHOLE), WHOLE)

        return replace(self, progress=heard)

    def abreast(self, count: int) -> "list[Engine]":
        """The engines of parts that are worked on at the same time: the whole is as far as they are on average."""
        listening = self.progress
        if listening is None:
            return [self] * count
        shares, lock = [0.0] * count, threading.Lock()

        def heard(number: int, task: str, done: int, total: int) -> None:
            with lock:
                shares[number] = max(shares[number], _share(done, total))
                listening(task, round(sum(shares) / count * WHOLE), WHOLE)

        return [replace(self, progress=partial(heard, number)) for number in range(count)]

    def each(self, task: str, function: "Callable[[Item], Result]", items: "Sequence[Item]") -> "list[Result]":
        """The function of every part of the work, in order: here, or on the cluster."""
        return self._on_parts(task, function, items, None)

    def merged(
        self,
        task: str,
        function: "Callable[[Item], Result]",
        items: "Sequence[Item]",
        merge: "Callable[[list[Result]], Result]",
    ) -> "Result":
        """The same, merged: `merge` of neighbours, of which it must not matter how many are merged at a time."""
        return merge(self._on_parts(task, function, items, merge))

    def _on_parts(
        self,
        task: str,
        function: "Callable[[Item], Result]",
        items: "Sequence[Item]",
        merge: "Callable[[list[Result]], Result] | None",
    ) -> "list[Result]":
        if self.cluster is not None:
            from unveil.cluster import work_on_parts

            told = partial(self.report, task)
            return work_on_parts(self.cluster, function, items, merge, done=told, stop=self.stop)
        found: list[Result] = []
        for place, item in enumerate(items):
            self.report(task, place, len(items))
            found.append(function(item))
            if merge is not None:
                found = [merge(found)]
        return found

    def report(self, task: str, done: int, total: int) -> None:
        """Say how far a task has come, if anyone listens."""
        if self.progress is not None:
            self.progress(task, done, total)


def _share(done: int, total: int) -> float:
    return min(max(done / total, 0.0), 1.0) if total > 0 else 0.0


def _share_in_turn(tasks: dict[str, int], task: str, done: int, total: int) -> float:
    """Of tasks of which nobody knows how many will come, each gets half of what is left."""
    place = tasks.setdefault(task, len(tasks))
    return 1 - 0.5**place + 0.5 ** (place + 1) * _share(done, total)


class _Part:
    """Progress of one part of the work, told as that of the whole."""

    def __init__(self, listening: Progress, stage: str, low: float, high: float) -> None:
        self._listening, self._stage, self._low, self._high = listening, stage, low, high
        self._reached, self._lock = low, threading.Lock()

    def __call__(self, task: str, done: int, total: int) -> None:
        share = _share(done, total)
        with self._lock:  # two threads must not be heard the wrong way round
            self._reached = max(self._reached, self._low + (self._high - self._low) * share)
            self._listening(self._stage or task, round(self._reached * WHOLE), WHOLE)


class Meter:
    """One share of all the work, which only grows, and the time left; `show` gets the stage, the share and the seconds.

    The time left is foretold by the pace of late, and by that of all where that is slower: rounds that the error asks
    for are slower than the first ones. Work that turned out not to be needed is no pace. Of work
    whose parts are not known beforehand each new task gets half of what is left, and no time is foretold.
    """

    def __init__(self, show: Callable[[str, float, float | None], None] | None = None) -> None:
        self._show, self._started, self._lock = show, time.monotonic(), threading.Lock()
        self._tasks: dict[str, int] = {}
        self._task, self._reached, self._foretold = "starting", 0.0, False
        self._ends: float | None = None
        self._marks, self._heard = [(self._started, 0.0)], self._started  # when how much was reached; the last report

    def __call__(self, task: str, done: int, total: int) -> None:
        with self._lock:
            share = _share(done, total) if total == WHOLE else _share_in_turn(self._tasks, task, done, total)
            now, more = time.monotonic(), max(share - self._reached, 0.0)
            if more > LEAP and self._reached > 0:
                idle = self._idle(more, now)
                self._marks = [(at, reached + idle) for at, reached in self._marks]
            self._task, self._reached, self._foretold, self._heard = task, self._reached + more, total == WHOLE, now
            if now - self._marks[-1][0] >= 1 or len(self._marks) == 1:
                self._marks.append((now, self._reached))
                if len(self._marks) > MOST_MARKS:
                    del self._marks[1::2]
            if self._show is not None:
                self._show(task, self._reached, self._left())

    def _idle(self, more: float, now: float) -> float:
        """How much of it nobody worked on: what the pace of all does not explain. A busy machine's reports are rare."""
        pace = (self._reached - self._marks[0][1]) / max(self._heard - self._started, 1e-9)
        return max(more - pace * (now - self._heard), 0.0)

    def _left(self) -> float | None:
        # Before the first readers are asked, a share says little of how long the rest takes.
        if not self._foretold or self._reached < FORETOLD:
            return None
        now = time.monotonic()
        late = now - max(LATE, LATE_SHARE * (now - self._started))
        whence, reached = next((mark for mark in reversed(self._marks) if mark[0] <= late), self._marks[0])
        worked = self._reached - self._marks[0][1]
        left = whole = (now - self._started) * (1 - self._reached) / (worked or self._reached)
        if reached < self._reached:  # never less than the pace of late says; a faster one may not last
            late_left = (now - whence) * (1 - self._reached) / (self._reached - reached)
            left = max(late_left, (whole * late_left) ** 0.5)
        return left if self._ends is None else min(left, max(self._ends - now, 0.0))

    def within(self, minutes: float) -> None:
        """The work ends after so many minutes, whatever is left of it."""
        self._ends = time.monotonic() + 60 * minutes

    def line(self) -> str:
        """How far the work is, in words."""
        with self._lock:
            left = self._left()
            about = "" if left is None or self._reached == 1 else f", about {duration(left)} left"
            return f"{self._reached:.0%} {self._task}{about}"


@contextmanager
def line_now_and_then(say: Callable[[str], object], line: Callable[[], str]) -> Iterator[None]:
    """Say the line every ten seconds, also while the work has nothing to report: for files, pipes and notebooks."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(EVERY):
            with suppress(OSError, ValueError):  # nobody listens any more: that ends no work
                if text := line():
                    say(text)

    thread = threading.Thread(target=tell, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def duration(seconds: float) -> str:
    """Seconds or minutes, in words."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


@contextmanager
def open_checkpoint(path: Path) -> Iterator[IO[bytes] | None]:
    """The file, at the start of what was saved; None if there is none.

    Only what was written here is read on: a file that was cut, changed or came from elsewhere is an error.
    """
    if not path.is_file():
        yield None
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise OutputError(f"{path}: the checkpoint cannot be read ({error.strerror})") from None
    with file:
        if file.read(SIZE) != _digest(file):
            raise OutputError(f"{path}: not a checkpoint; delete it or choose another folder")
        file.seek(SIZE)
        yield file


def save_checkpoint(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill the file; the earlier one stands until the new one is whole."""
    part = path.with_suffix(f".{os.getpid()}-{secrets.token_hex(4)}.part")  # another run may save to the same folder
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_stale(path)
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            file.write(b"\0" * SIZE)
            write(file)
            file.seek(SIZE)
            digest = _digest(file)
            file.seek(0)
            file.write(digest)
        os.replace(part, path)
    except OSError as error:
        raise OutputError(f"{path.parent}: the checkpoint cannot be written ({error.strerror})") from None
    finally:
        part.unlink(missing_ok=True)


def _remove_stale(path: Path) -> None:
    """Remove what a run that was killed has left of this checkpoint."""
    for part in path.parent.glob(f"{glob.escape(path.stem)}.*.part"):
        owner = part.name.removeprefix(path.stem).split("-")[0].strip(".")
        if owner.isdigit() and not Path(f"/proc/{owner}").exists() and Path("/proc/self").exists():
            part.unlink(missing_ok=True)


def bound_memory(most: int | None) -> None:
    """What this process may use from now on, by its own estimates; None: what is free."""
    global _bound
    _bound = most


def memory_bound() -> int | None:
    """What `bound_memory` was told."""
    return _bound


def free_bytes() -> int | None:
    """The memory that can still be had: the bound, the machine's or a container's, the least; None: nobody says."""
    found = [] if _bound is None else [_bound]
    try:
        text = Path("/proc/meminfo").read_text()
        found += [int(kilobytes) << 10 for kilobytes in re.findall(r"MemAvailable:\s*(\d+) kB", text)]
        most, used = ((CGROUP / f"memory.{name}").read_text().strip() for name in ("max", "current"))
        found += [int(most) - int(used)] if most.isdigit() else []
    except (OSError, ValueError):  # another system, or no container
        pass
    return min(found, default=None)


def _digest(file: IO[bytes]) -> bytes:
    """Of what follows."""
    digest = hashlib.blake2b(digest_size=SIZE)
    while piece := file.read(PIECE):
        digest.update(piece)
    return digest.digest()

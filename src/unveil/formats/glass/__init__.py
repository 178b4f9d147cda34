"""Readers of foreign formats run behind glass: in a process of their own, with bounds on time, memory and output.

Native readers abort, crash, loop and unpack without end on spoilt files. Here that ends a child, and the caller gets
one line that names the file. A server is started once, imports the readers before it has any thread, and forks a child
for each file. Requests are pickled, which is safe in this direction; answers are Arrow and JSON, and checked: nothing
that a child says is executed.
"""

import atexit
import contextlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from unveil.errors import UnveilError
from unveil.formats.glass.answer import unpacked
from unveil.formats.glass.child import LENGTH, NO_MEMORY, STATUS, received

if TYPE_CHECKING:
    from unveil.formats.columns import Columns

__all__ = ["BINARY", "behind_glass", "start_early"]

BINARY = (  # endings of the files that are read so
    *(".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".deid"),
    *(".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"),
)
SECONDS = 30.0  # of processor time that any file may take
SECONDS_PER_MEGABYTE = 10.0
PATIENCE = 3  # times that, by the clock
STARTED = 300.0  # seconds in which a server is there, on a machine with much else to do
BYTES = 2**30  # of memory that any file may take; a table packs to a tenth or a hundredth, not to a thousandth
BYTES_PER_BYTE = 1000  # of the file, as long as so much is free
BYTES_PER_THREAD = 2**24
START = """
import sys, json
sys.path[:] = json.loads(sys.argv[1])
from unveil.formats.glass.child import serve
serve(int(sys.argv[2]))
"""
_SHORT_OF_MEMORY = ("memory allocation", "bad_alloc", "cannot allocate", "out of memory", "failed to spawn thread")


def behind_glass(
    read: "Callable[..., Columns]", source: Any, *, error: type[UnveilError], timed: bool = True, **options: Any
) -> "Columns":
    """`read(source, error=error, **options)` in a child; what goes wrong there is `error`, in one line.

    `timed`: the file's size bounds time and memory. Cost: a fork and a copy of the codes; a server at the first call.
    """
    if not hasattr(os, "fork"):
        return read(source, error=error, **options)
    from unveil.engine import free_bytes

    size = _size(source) if timed else 0
    most = BYTES + BYTES_PER_THREAD * (os.cpu_count() or 1) + BYTES_PER_BYTE * size if timed else sys.maxsize
    most = min(most, max(BYTES, int(0.9 * (free_bytes() or sys.maxsize))))
    seconds = SECONDS + SECONDS_PER_MEGABYTE * size / 2**20 if timed else None
    limits = (seconds, None if most == sys.maxsize else most)
    request = pickle.dumps((_folder(), dict(os.environ), read, source, error, options, limits))
    with _memory_file("answer") as answer, _memory_file("said") as said:
        for fresh in (False, True):
            server = _Server.take(fresh)
            try:
                status = server.ask(request, (answer, said), None if seconds is None else PATIENCE * seconds)
            except TimeoutError:
                server.kill()
                status = -signal.SIGXCPU
            except BaseException:
                server.kill()
                raise
            if status is not None:
                break
        else:
            raise RuntimeError("the process that reads files cannot be started")
        if status not in (0, -signal.SIGXCPU):
            said.seek(0)
            told = said.read(2**16).decode("utf-8", "replace").lower()
            if status == NO_MEMORY or status == -signal.SIGKILL or any(word in told for word in _SHORT_OF_MEMORY):
                raise error(
                    f"{source}: needs more memory to be read than the {most / 1e9:.1f} GB that it may take; is it "
                    "whole? If so, save it as CSV, which is read in pieces"
                )
            name = signal.Signals(-status).name if status < 0 else f"exit code {status}"
            raise error(f"{source}: cannot be read: the reader of such files crashed on it ({name}); is it whole?")
        if status:
            raise error(
                f"{source}: gave no table in {seconds:.0f} s, more than a file of its size takes; is it whole? If so, "
                "save it as CSV"
            )
        return unpacked(answer, source, error)


def start_early(words: list[str]) -> None:
    """Start a server beside the caller's own imports, if one of these words names a file that needs it."""
    if any(word.partition("#")[0].lower().endswith(BINARY) for word in words) and hasattr(os, "fork"):
        _Server.take(fresh=False).rest()


def _size(source: Any) -> int:
    from unveil.formats.paths import sheet_file

    with contextlib.suppress(OSError, ValueError):
        return os.stat(sheet_file(Path(source))[0]).st_size
    return 0


def _folder() -> str | None:
    with contextlib.suppress(OSError):
        return os.getcwd()
    return None


def _memory_file(name: str) -> IO[bytes]:
    """A file without a name, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create(name), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


# -------------------------------------------------------------------------------------------------------------- server


class _Server:
    """The process that forks a child for each file, one at a time. It ends when its owner does."""

    _resting: ClassVar["list[_Server]"] = []
    _lock = threading.Lock()

    def __init__(self) -> None:
        self._owner, self._ready = os.getpid(), False
        self._line, other = socket.socketpair()
        settings = {"OPENBLAS_NUM_THREADS": "1", "_RJEM_MALLOC_CONF": "background_thread:false"}  # no threads to fork
        command = [sys.executable, "-c", START, json.dumps([p for p in sys.path if isinstance(p, str)])]
        with other:
            self._process = subprocess.Popen(
                [*command, str(other.fileno())],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None if os.environ.get("UNVEIL_TRACEBACK") else subprocess.DEVNULL,
                env=os.environ | settings,
                start_new_session=True,  # Ctrl-C is for the owner, who then ends it with its child
            )

    @classmethod
    def take(cls, fresh: bool) -> "_Server":
        """One that has nothing to do, or a new one."""
        with cls._lock:
            while cls._resting:
                found = cls._resting.pop()
                if found._owner != os.getpid():  # of the process that this one was forked from
                    continue
                if not fresh and found._process.poll() is None:
                    return found
                found.kill()
        return cls()

    def ask(self, request: bytes, files: tuple[IO[bytes], ...], patience: float | None) -> int | None:
        """How the child ended: 0, its exit code, or minus the signal; None if the server has ended itself."""
        try:
            if not self._ready:  # its imports are not the file's fault
                self._line.settimeout(STARTED)
                self._ready = bool(received(self._line, 1))
            self._line.settimeout(None)
            socket.send_fds(self._line, [LENGTH.pack(len(request))], [file.fileno() for file in files])
            self._line.sendall(request)
            self._line.settimeout(patience)
            found = received(self._line, STATUS.size)
        except (BrokenPipeError, ConnectionError):
            found = b""
        if len(found) < STATUS.size:
            self.kill()
            return None
        self.rest()
        return os.waitstatus_to_exitcode(STATUS.unpack(found)[0])

    def rest(self) -> None:
        """Free for the next file."""
        with self._lock:
            self._resting.append(self)

    def kill(self) -> None:
        """End it and its child."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._line.close()
        self._process.wait()


@atexit.register
def _close() -> None:
    while _Server._resting:
        server = _Server._resting.pop()
        if server._owner == os.getpid():
            server.kill()

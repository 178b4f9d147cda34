"""Readers of foreign formats run behind glass: in a process of their own, with bounds on time, memory and output.

Native readers abort, crash, loop and unpack without end on spoilt files. Here that ends a child, and the caller gets
one line that names the file. A server is started once, imports the readers before it has any thread, and forks a child
for each file. Requests are pickled, which is safe in this direction; answers are Arrow and JSON, and checked: nothing
that a child says is executed.
"""

import atexit
import contextlib
import io
import json
import mmap
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from unveil.errors import UnveilError

if TYPE_CHECKING:
    from unveil.formats.columns import Columns

__all__ = ["BINARY", "behind_glass", "serve", "start_early"]

BINARY = (  # endings of the files that are read so
    *(".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".deid"),
    *(".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"),
)
SECONDS = 30.0  # of processor time that any file may take
SECONDS_PER_MEGABYTE = 10.0
PATIENCE = 3  # times that, by the clock
STARTED = 300.0  # seconds in which a server is there, on a machine with much else to do
IDLE = 120.0  # seconds after which a server without work ends
BYTES = 2**30  # of memory that any file may take; a table packs to a tenth or a hundredth, not to a thousandth
BYTES_PER_BYTE = 1000  # of the file, as long as so much is free
BYTES_PER_THREAD = 2**24
START = """
import sys, json
sys.path[:] = json.loads(sys.argv[1])
from unveil.formats.glass import serve
serve(int(sys.argv[2]))
"""
NO_MEMORY = 11  # exit code
_LENGTH = struct.Struct("<Q")
_STATUS = struct.Struct("<i")
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
        return _unpacked(answer, source, error)


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
                self._ready = bool(_whole(self._line, 1))
            self._line.settimeout(None)
            socket.send_fds(self._line, [_LENGTH.pack(len(request))], [file.fileno() for file in files])
            self._line.sendall(request)
            self._line.settimeout(patience)
            found = _whole(self._line, _STATUS.size)
        except (BrokenPipeError, ConnectionError):
            found = b""
        if len(found) < _STATUS.size:
            self.kill()
            return None
        self.rest()
        return os.waitstatus_to_exitcode(_STATUS.unpack(found)[0])

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


def _whole(line: socket.socket, size: int) -> bytes:
    """So many bytes, or fewer if the other side has ended."""
    found = bytearray()
    while len(found) < size and (piece := line.recv(min(size - len(found), 2**20))):
        found += piece
    return bytes(found)


def serve(number: int) -> None:
    """Fork a child for each request that comes through this descriptor, until its other end is closed."""
    import polars  # noqa: F401  imported once, not by each child

    import unveil.formats.tables  # noqa: F401

    line = socket.socket(fileno=number)
    line.sendall(b"\1")
    while True:
        line.settimeout(IDLE)
        try:
            head, files, _, _ = socket.recv_fds(line, _LENGTH.size, 2)
        except TimeoutError:
            return
        line.settimeout(None)
        head += _whole(line, _LENGTH.size - len(head)) if head else b""
        if len(head) < _LENGTH.size:
            return
        request = _whole(line, _LENGTH.unpack(head)[0])
        alive, end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(alive)
            line.close()
            _answer(request, *files)
        for each in (*files, end):
            os.close(each)
        if alive not in select.select([alive, line.fileno()], [], [])[0]:  # the owner has ended
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        os.close(alive)
        line.sendall(_STATUS.pack(status))


# --------------------------------------------------------------------------------------------------------------- child


def _answer(request: bytes, answer: int, said: int) -> None:
    """Read one file and end, whatever happens."""
    code = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, stream in ((nothing, 0), (nothing, 1), (said, 2)):
            os.dup2(number, stream)
        folder, environment, read, source, error, options, limits = pickle.loads(request)
        os.environ.update(environment)
        if folder is not None:
            os.chdir(folder)
        _limit(*limits)
        with open(answer, "wb", buffering=2**20, closefd=False) as file:
            try:
                _pack(read(source, error=error, **options), file)
            except UnveilError as reason:
                if isinstance(reason.__context__, MemoryError):
                    raise MemoryError from None
                _finish(file, {"refused": str(reason)})
        code = 0
    except MemoryError:
        code = NO_MEMORY
    except BaseException as reason:  # a panic is not an Exception
        code = 0 if _tell(answer, reason) else 1
    finally:
        os._exit(code)


def _limit(seconds: float | None, most: int | None) -> None:
    import resource

    def bound(name: int, value: int) -> None:
        hard = resource.getrlimit(name)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (value, hard if name == resource.RLIMIT_CPU else value))

    bound(resource.RLIMIT_CORE, 0)  # it would hold what was read
    if seconds is not None:
        bound(resource.RLIMIT_CPU, max(1, round(seconds)))
    if most is not None:
        # What is written to, not what is mapped: a file may be.
        bound(resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS, most)
        bound(resource.RLIMIT_FSIZE, most)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # if the machine runs out of memory, this goes first


def _tell(answer: int, reason: BaseException) -> bool:
    """Say what went wrong in the reader, by its kind and place: its words may hold data."""
    last = reason.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = "" if last is None else f" at {os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}"
    try:
        os.ftruncate(answer, 0)
        os.lseek(answer, 0, os.SEEK_SET)
        with open(answer, "wb") as file:
            _finish(file, {"failed": type(reason).__name__ + place})
    except OSError:
        return False
    return True


# -------------------------------------------------------------------------------------------------------------- answer


def _finish(file: IO[bytes], head: dict[str, Any]) -> None:
    text = json.dumps(head).encode()
    file.write(text + _LENGTH.pack(len(text)))


def _pack(found: "Columns", file: IO[bytes]) -> None:
    """The codes of all columns as one Arrow stream, the texts of each as another; then what else there is as JSON."""
    import polars as pl

    ends = []
    columns = found.columns.values()
    codes = pl.DataFrame({str(place): column.text_of_row for place, column in enumerate(columns)})
    for frame in (codes, *(pl.Series(column.texts, dtype=pl.String).to_frame() for column in columns)):
        frame.write_ipc_stream(file)
        ends.append(file.tell())
    rest = {f.name: _plain(getattr(found, f.name)) for f in fields(found) if f.name != "columns"}
    _finish(file, {"names": list(found.columns), "ends": ends, "rest": rest})


def _plain(value: Any) -> Any:
    """As JSON has it; a mapping as pairs, for its keys may be numbers."""
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return [[key, _plain(each)] for key, each in value.items()]
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _rest(plain: dict[str, Any]) -> dict[str, Any]:
    """What a table says of itself beside its columns."""
    from unveil.data.dictionary import Dictionary, Variable
    from unveil.data.notation import FileNotation
    from unveil.formats.columns import Place

    def variable(said: dict[str, Any]) -> Variable:
        pairs = {
            name: tuple(map(tuple, said[name])) if name == "missing" else dict(said[name])
            for name in ("labels", "shows", "missing")
        }
        return Variable(**said | pairs | {"epoch": datetime.fromisoformat(said["epoch"]), "seen": tuple(said["seen"])})

    found = plain["dictionary"]
    if found is not None:
        variables = {name: variable(said) for name, said in found["variables"]}
        found = Dictionary(found["family"], variables, found["label"], tuple(found["notes"]))
    notation = FileNotation(**plain["notation"] | {"dates": dict(plain["notation"]["dates"])})
    place = Place(**plain["place"])
    return plain | {"dictionary": found, "notation": notation, "place": place, "missing": tuple(plain["missing"])}


def _unpacked(answer: IO[bytes], source: Any, error: type[UnveilError]) -> "Columns":
    """The table that a child has written."""
    size = os.fstat(answer.fileno()).st_size
    with mmap.mmap(answer.fileno(), 0, access=mmap.ACCESS_READ) if size else contextlib.nullcontext(b"") as raw:
        last = size - _LENGTH.size
        text = raw[last - _LENGTH.unpack(raw[last:])[0] : last] if last >= 0 else b'{"failed": "no answer"}'
        head = json.loads(text)
        if "refused" in head:
            raise error(str(head["refused"]))
        if "failed" in head:
            raise error(f"{source}: cannot be read ({head['failed']}); is it whole?")
        return _columns(answer, raw, head)


def _columns(answer: IO[bytes], raw: Any, head: dict[str, Any]) -> "Columns":
    import polars as pl

    from unveil.data.table import CodedColumn
    from unveil.formats.columns import Columns

    answer.seek(0)
    codes = pl.read_ipc_stream(answer)  # from the file itself: copied once
    texts = (pl.read_ipc_stream(io.BytesIO(raw[start:end])) for start, end in pairwise(head["ends"]))
    columns = {}
    for name, code, text in zip(head["names"], codes, texts, strict=True):
        values = code.to_numpy()
        # Kernels index by these without looking.
        if not code.dtype.is_unsigned_integer() or (text.height and int(code.max()) >= text.height):  # type: ignore[arg-type]
            raise RuntimeError("the process that reads files gave codes without texts")
        columns[name] = CodedColumn(text.to_series().to_list(), values)
    found = Columns(columns=columns, **_rest(head["rest"]))
    if codes.height != found.rows:
        raise RuntimeError("the process that reads files gave columns of another length than it says")
    return found

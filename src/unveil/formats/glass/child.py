"""The other side of the glass: a server that forks a child for each file, and what the child does."""

import contextlib
import os
import pickle
import select
import signal
import socket
import struct
import sys

from unveil.errors import UnveilError, failed_at
from unveil.formats.glass.answer import finish, pack

__all__ = ["LENGTH", "NO_MEMORY", "STATUS", "received", "serve"]

IDLE = 120.0  # seconds after which a server without work ends
NO_MEMORY = 11  # exit code
LENGTH = struct.Struct("<Q")
STATUS = struct.Struct("<i")


def received(line: socket.socket, size: int) -> bytes:
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
            head, files, _, _ = socket.recv_fds(line, LENGTH.size, 2)
        except TimeoutError:
            return
        line.settimeout(None)
        head += received(line, LENGTH.size - len(head)) if head else b""
        if len(head) < LENGTH.size:
            return
        request = received(line, LENGTH.unpack(head)[0])
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
        line.sendall(STATUS.pack(status))


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
                pack(read(source, error=error, **options), file)
            except UnveilError as reason:
                if isinstance(reason.__context__, MemoryError):
                    raise MemoryError from None
                finish(file, {"refused": str(reason)})
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
    place = f" at {at}" if (at := failed_at(reason)) else ""
    try:
        os.ftruncate(answer, 0)
        os.lseek(answer, 0, os.SEEK_SET)
        with open(answer, "wb") as file:
            finish(file, {"failed": type(reason).__name__ + place})
    except OSError:
        return False
    return True

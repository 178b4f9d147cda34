"""A process that runs commands and strikes them at a chosen moment.

It imports everything and starts no thread; each command runs in a fork. A moment is the n-th time that a file of the
folder is opened, renamed, linked, removed or changed, or a time. What strikes is a signal, or an error of the disk.
"""

import errno
import io
import json
import os
import resource
import signal
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

FILES = ("open", "os.rename", "os.link", "os.remove", "os.chmod", "os.mkdir", "os.truncate")


def watch(folder: str, strike: Any) -> list[int]:
    """Count what happens to files in the folder; `strike(count)` at each."""
    count = [0]

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event in FILES and isinstance(given[0], str | os.PathLike) and os.fspath(given[0]).startswith(folder):
            if event == "open" and not given[2] & (os.O_WRONLY | os.O_RDWR):
                return  # reading
            count[0] += 1
            strike(count[0])

    sys.addaudithook(hook)
    return count


def strike_with(fault: list[Any]) -> Any:
    kind, moment = fault[:2]

    def strike(count: int) -> None:
        if count == moment and kind == "signal":
            os.kill(os.getpid(), fault[2])
        if count >= moment > 0 and kind == "error":
            raise OSError(fault[2], os.strerror(fault[2]))

    return strike


def run(line: dict[str, Any]) -> None:
    fault, said = line.get("fault", ["none", 0]), io.StringIO()
    os.umask(line.get("umask", 0o022))
    count = watch(line["folder"], strike_with(fault))
    if fault[0] == "bytes":  # a disk that is full: what is written beyond it fails
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault[1], resource.RLIM_INFINITY))
    if fault[0] == "time":
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), fault[2]))
        signal.setitimer(signal.ITIMER_REAL, fault[1])
    sys.argv = ["unveil", *line["command"]]
    code: Any = 0
    start = time.monotonic()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(said):
            main()
    except SystemExit as end:
        code = end.code
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    answer = {"code": code, "moments": count[0], "said": said.getvalue(), "seconds": time.monotonic() - start}
    with open(line["answer"], "w") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    import polars  # noqa: F401

    import unveil.audit.run
    import unveil.frontier
    import unveil.report.page  # noqa: F401
    from unveil.cli import main
    from unveil.formats import output

    output.JUST_NOW = 0.0  # in tests the next run comes at once
    assert errno.ENOSPC
    for text in sys.stdin:
        line = json.loads(text)
        child = os.fork()
        if child == 0:
            try:
                run(line)
            finally:
                os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps({"status": status}), flush=True)

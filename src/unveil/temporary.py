"""Folders for data on its way: for their owner's eyes, and removed at the next start if the process was killed."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["own_folder", "sweep"]

PREFIX = "unveil-data-"
JUST_NOW = 2.0  # seconds


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that only its owner can read, gone afterwards whatever happens."""
    folder, handle = Path(tempfile.mkdtemp(prefix=PREFIX)), None  # mode 0700
    try:
        if fcntl is not None:
            handle = os.open(folder, os.O_RDONLY)
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def sweep() -> None:
    """Remove the folders of processes that were killed."""
    with contextlib.suppress(OSError):  # nowhere to look
        place = tempfile.gettempdir()
        for name in os.listdir(place) if fcntl is not None else ():
            if name.startswith(PREFIX):
                _remove(os.path.join(place, name))


def _remove(folder: str) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            found = os.fstat(handle)
            if found.st_uid == os.geteuid() and time.time() - found.st_ctime > JUST_NOW:  # made, and not yet locked
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)

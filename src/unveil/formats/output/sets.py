"""Files that are put in place together: noted before the first, so that a run that is killed can be undone."""

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Entry", "alone_in", "identity", "note", "remove", "settle"]

ENDING = ".set.tmp"
PATIENCE = 5.0  # seconds; nobody can keep us waiting by a lock of theirs
MOST = 2**20  # bytes of a note


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the set, by its names in the folder; the versions are those of `identity`."""

    name: str
    draft: str | None
    aside: str  # what the earlier file is called meanwhile
    new: list[int] | None
    old: list[int] | None  # None: there was none


def identity(path: Path) -> list[int] | None:
    """What stays the same when a file is renamed, and no other file has."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return [found.st_dev, found.st_ino, found.st_mtime_ns]


def note(handle: int, entries: Iterable[Entry]) -> None:
    """Write down what is about to be put in place, to the disk; whoever holds a lock on the note is at it."""
    with open(handle, "w", encoding="utf-8", closefd=False) as file:
        json.dump([asdict(entry) for entry in entries], file)
        file.flush()
        os.fsync(handle)


# Folders that a process, and in it a thread, is alone in; one that was forked is not.
_held: ContextVar[frozenset[tuple[int, Path]]] = ContextVar("_held", default=frozenset())


@contextlib.contextmanager
def alone_in(folders: Iterable[Path], patience: float = PATIENCE) -> Iterator[None]:
    """While a set is put in place, nobody puts another one there. Who is alone in a folder already does not wait."""
    handles = []
    until = time.monotonic() + patience
    wanted = {(os.getpid(), folder.resolve()) for folder in folders} - _held.get()
    before = _held.set(_held.get() | wanted)
    try:
        for _, folder in sorted(wanted) if fcntl is not None else ():
            with contextlib.suppress(OSError):  # a file system without locks
                handles.append(os.open(folder, os.O_RDONLY))
                while True:
                    try:
                        fcntl.flock(handles[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        if time.monotonic() > until:
                            break
                        time.sleep(0.01)
        yield
    finally:
        _held.reset(before)
        for handle in handles:
            os.close(handle)


def settle(folder: Path) -> None:
    """Undo the sets that killed processes have put in place in part: the earlier files are back, or none."""
    notes = list(folder.glob(f".unveil-*{ENDING}")) if fcntl is not None else []
    if not notes:
        return
    with alone_in([folder]):
        for path in notes:
            with contextlib.suppress(OSError):
                handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # or else its process is at it
                    entries = _entries(handle)
                    if entries:
                        _undo(folder, entries)
                        remove(path)
                finally:
                    os.close(handle)


def _entries(handle: int) -> list[Entry]:
    """What is noted; nothing in a note that is not whole, or not of ours."""
    if os.fstat(handle).st_uid != os.geteuid():
        return []
    try:
        found: Any = [Entry(**each) for each in json.loads(os.read(handle, MOST))]
    except (ValueError, TypeError):
        return []
    names = [name for entry in found for name in (entry.name, entry.draft or "-", entry.aside)]
    return found if all(isinstance(name, str) and Path(name).name == name for name in names) else []


def _undo(folder: Path, entries: list[Entry]) -> None:
    now = [identity(folder / entry.name) for entry in entries]
    whole = all(version == entry.new for version, entry in zip(now, entries, strict=True))
    known = all(version in (entry.new, entry.old, None) for version, entry in zip(now, entries, strict=True))
    for version, entry in zip(now, entries, strict=True):
        if known and not whole and version != entry.old:  # or else somebody has changed them since
            if entry.old is None:
                remove(folder / entry.name)
            elif identity(folder / entry.aside) == entry.old:
                os.replace(folder / entry.aside, folder / entry.name)
    for entry in entries:
        for name in (entry.draft, entry.aside):
            if name is not None:
                remove(folder / name)


def remove(path: Path) -> None:
    """Remove a file or a folder of ours, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

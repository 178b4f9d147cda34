"""Engine: what every long piece of work is handed: a seed by name, threads, progress, a stop flag, checkpoints."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import numpy as np

from unveil.errors import OutputError

__all__ = ["Engine", "open_checkpoint", "save_checkpoint"]

SIZE = 32  # bytes of the digest of the rest, with which a file starts
PIECE = 1 << 20

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Engine:
    """Seed, threads and progress. Draws depend on the seed and the name, not on who ran before or beside."""

    seed: int = 0
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    name: str = ""
    progress: Progress | None = None
    stop: threading.Event = field(default_factory=threading.Event)  # set: end soon, and keep what was reached
    checkpoints: Path | None = None  # the folder where long work saves its state; it goes on from there

    def named(self, name: str) -> "Engine":
        """The engine one piece of work gets."""
        return replace(self, name=f"{self.name}/{name}")

    def generator(self) -> np.random.Generator:
        """A fresh generator for this name: the same one every time it is asked for."""
        digest = hashlib.blake2b(f"{self.seed}{self.name}".encode(), digest_size=16).digest()
        return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))

    def report(self, task: str, done: int, total: int) -> None:
        """Say how far a task has come, if anyone listens."""
        if self.progress is not None:
            self.progress(task, done, total)


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
            raise OutputError(f"{path}: is no checkpoint; delete it, or choose another folder")
        file.seek(SIZE)
        yield file


def save_checkpoint(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill the file; the earlier one stands until the new one is whole."""
    part = path.with_suffix(".part")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            file.write(b"\0" * SIZE)
            write(file)
            file.seek(SIZE)
            digest = _digest(file)
            file.seek(0)
            file.write(digest)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"{path.parent}: no checkpoint can be written ({error.strerror})") from None


def _digest(file: IO[bytes]) -> bytes:
    """Of what follows."""
    digest = hashlib.blake2b(digest_size=SIZE)
    while piece := file.read(PIECE):
        digest.update(piece)
    return digest.digest()

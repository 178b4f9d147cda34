"""Engine: what every long piece of work is handed: a seed by name, threads, progress, a stop flag, checkpoints."""

import hashlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

__all__ = ["Engine"]

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

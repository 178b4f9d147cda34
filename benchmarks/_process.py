"""Each benchmark in a process of its own: no memory of another is counted."""

import importlib
import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection

from benchmarks import Row

__all__ = ["rows_of"]


def rows_of(name: str) -> Iterator[Row | None]:
    """The rows as they come; None at last if it fails."""
    own, other = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("spawn").Process(target=_measure, args=(name, other))
    child.start()
    other.close()
    while True:
        try:
            yield own.recv()
        except EOFError:
            break
    child.join()
    if child.exitcode:
        yield None


def _measure(name: str, rows: Connection) -> None:
    for row in importlib.import_module(f"benchmarks.{name}").measure():
        rows.send(row)

"""Compile and cache kernels ahead of use, several at a time, with a line of progress."""

import contextlib
import importlib
import os
import pkgutil
import sys
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import unveil.kernels as family

if sys.platform != "win32":
    import fcntl

__all__ = ["DEMO", "compile_kernels", "kernel_modules"]

# What `unveil demo` calls, directly or through another kernel; any other kernel is compiled at its first use.
DEMO = (
    "anatomy", "assignment", "boosting", "boxes", "cell_weights", "closed_forms", "composition",
    "expected", "gibbs", "incidence", "linkage", "matching", "matching_groups", "numbering", "partition",
    "random", "repeated_groups", "shares", "shifts", "supersets", "tempering", "used_counts", "wide_cells",
)  # fmt: skip
MOST_PROCESSES = 4  # kernels that several modules call are compiled by each: more would do little else


def kernel_modules() -> list[str]:
    """The family: every module of the folder that is not private."""
    return [m.name for m in pkgutil.iter_modules(family.__path__) if not m.name.startswith("_")]


def compile_kernels(names: Collection[str] | None = None) -> None:
    """Warm these kernel modules (all, unless named), several at a time."""
    wanted = sorted(names or kernel_modules(), key=_length, reverse=True)  # the long ones first: none is left alone
    processes = min(os.cpu_count() or 1, MOST_PROCESSES) if sys.platform != "win32" else 1  # it has no lock
    start = time.monotonic()
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=_take_turns) as pool:
        for done, future in enumerate(as_completed([pool.submit(_warm, name) for name in wanted]), start=1):
            name = future.result()
            if sys.stderr.isatty():
                print(f"\rcompiling kernels {done}/{len(wanted)} {name:<16}", end="", file=sys.stderr, flush=True)
    end = "\r" if sys.stderr.isatty() else ""
    print(f"{end}{len(wanted)} kernel modules ready after {time.monotonic() - start:.1f} s", file=sys.stderr)


def _length(name: str) -> int:
    return (Path(family.__path__[0]) / f"{name}.py").stat().st_size


def _warm(name: str) -> str:
    module = importlib.import_module(f"unveil.kernels.{name}")
    if hasattr(module, "warm"):  # kernels.mondrian is warmed by its one user, kernels.partition
        module.warm()
    return name


def _take_turns() -> None:
    """One process at a time writes to the cache: two that add to a kernel's index would mix up its files."""
    from numba.core.caching import IndexDataCacheFile

    save = IndexDataCacheFile.save

    def alone(self: IndexDataCacheFile, key: object, data: object) -> None:
        with _lock():
            save(self, key, data)

    IndexDataCacheFile.save = alone  # type: ignore[method-assign]


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    file = os.open(family.__path__[0], os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)

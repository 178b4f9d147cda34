"""Work on a Dask cluster: a function of every part, results merged in the parts' order. Dask is imported here only.

Dask decides where a part is worked on, and again where if a worker is lost. Parts that are merged are neighbours, so
that neither workers nor the order in which they end change a result. What Dask logs and shows names tasks by number: a
task never raises, and what it is about has no repr.
"""

import gc
import logging
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from unveil.errors import ClusterError, Stopped, UnveilError, failed_at
from unveil.temporary import own_folder

__all__ = ["connected", "local_cluster", "work_on_parts"]

AT_ONCE = 4  # results that are merged by one task
SECONDS = 10.0  # in which a scheduler answers
PATIENCE = 60.0  # seconds without any worker after which a run ends

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Work:
    """What a task does; nothing of it is shown."""

    function: Callable[..., Any] = field(repr=False)
    arguments: tuple[Any, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a task made, or why it did not: a worker logs what a task raises, with its arguments."""

    value: Any = field(default=None, repr=False)
    refused: UnveilError | None = field(default=None, repr=False)
    failed: str = ""


def _part(work: _Work) -> _Answer:
    """A task: the function of a part."""
    try:
        return _Answer(work.function(*work.arguments))
    except UnveilError as error:
        return _Answer(refused=error)
    except MemoryError:
        return _Answer(failed="a worker ran out of memory; give workers more of it, or the table smaller files")
    except Exception as error:  # its words may hold data
        place = f" at {at}" if (at := failed_at(error)) else ""
        reason = f" ({error.strerror.lower()})" if isinstance(error, OSError) and error.strerror else ""
        return _Answer(failed=f"a worker failed: {type(error).__name__}{place}{reason}")


def _merged(work: _Work, answers: list[_Answer]) -> _Answer:
    """A task: neighbouring answers as one; the first that failed stands for all."""
    wrong = next((a for a in answers if a.refused is not None or a.failed), None)
    return wrong or _part(_Work(work.function, ([answer.value for answer in answers],)))


def work_on_parts(
    client: Any,
    function: Callable[[Item], Result],
    items: Sequence[Item],
    merge: Callable[[list[Result]], Result] | None = None,
    *,
    done: Callable[[int, int], object] = lambda done, total: None,
    stop: threading.Event | None = None,
) -> list[Result]:
    """The function of every item, in their order; with `merge` one result, of neighbours merged again and again."""
    name = f"unveil-{secrets.token_hex(4)}"
    numbers = iter(range(10**9))

    def submit(task: Callable[..., _Answer], *arguments: Any) -> Any:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of a task with much to work on
            return client.submit(task, *arguments, key=f"{name}-{next(numbers)}", pure=False)

    with _explained(client):
        leaves = [submit(_part, _Work(function, (item,))) for item in items]
        futures = leaves
        work = None if merge is None else _Work(merge, ())
        while work is not None and len(futures) > 1:
            rows = [futures[place : place + AT_ONCE] for place in range(0, len(futures), AT_ONCE)]
            futures = [submit(_merged, work, row) for row in rows]
        try:
            _wait(client, leaves, futures, done, stop)
            answers: list[_Answer] = client.gather(futures)
        finally:
            with suppress(Exception):  # nobody is there any more
                client.cancel([*leaves, *futures], force=True)
    for answer in answers:
        if answer.refused is not None:
            raise answer.refused
        if answer.failed:
            raise ClusterError(answer.failed)
    return [answer.value for answer in answers]


def _wait(
    client: Any, leaves: list[Any], last: list[Any], done: Callable[[int, int], object], stop: threading.Event | None
) -> None:
    """Until all is done; a future that is lost raises when it is gathered."""
    seen, pause = time.monotonic(), 0.002
    total = len(leaves) + len(last)
    while True:
        status = [future.status for future in (*leaves, *last)]
        over = sum(one != "pending" for one in status)
        done(over, total)
        if over == total or any(one in ("error", "lost", "cancelled") for one in status):
            return
        if stop is not None and stop.is_set():
            raise Stopped("stopped")
        if client.status != "running":
            raise ClusterError(_GONE)
        if pause > 0.05:
            if client.scheduler_info(n_workers=-1)["workers"]:
                seen = time.monotonic()
            elif time.monotonic() - seen > PATIENCE:
                raise ClusterError(f"the cluster has had no worker for {PATIENCE:.0f} s; start workers and try again")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


_GONE = "the connection to the cluster's scheduler was lost; nothing was written"


@contextmanager
def _explained(client: Any) -> Iterator[None]:
    """What Dask says when workers or the scheduler are gone, in a line of ours."""
    from concurrent.futures import CancelledError

    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except UnveilError:
        raise
    except KilledWorker:
        raise ClusterError(
            "several workers died at the same piece of work: give workers more memory, or the table smaller files"
        ) from None
    except (CommClosedError, OSError, CancelledError):
        raise ClusterError(_GONE) from None
    except Exception as error:
        if client.status != "running" or "Cancelled" in type(error).__name__:
            raise ClusterError(_GONE) from None
        what = type(error).__name__
        raise ClusterError(f"the cluster failed ({what}); does it have this version of unveil?") from None


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of a scheduler that is there; TLS files are those of Dask's configuration."""
    from distributed import Client

    _quiet()
    failed = ""
    try:
        client = Client(address, timeout=SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError) as error:
        failed = type(error).__name__
    if failed:
        gc.collect()  # collected while another client starts, one that failed waits for a lock which that one holds
        how = " (its certificates come from Dask's configuration, distributed.comm.tls)" if "tls" in address else ""
        raise ClusterError(f"{address}: no scheduler answers there ({failed}){how}")
    try:
        _check_versions(client)
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=2)


@contextmanager
def local_cluster(workers: int, memory: int) -> Iterator[Any]:
    """A cluster of processes on this machine, for as long as this lasts; `memory`: bytes of each worker.

    Only who holds its certificates, which are made for it, can speak to it; what workers spill lies in a folder that
    nobody else can enter, and goes with it.
    """
    from distributed import Client, LocalCluster, Security

    _quiet()
    with (
        own_folder() as folder,
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=memory,
            dashboard_address="127.0.0.1:0",  # any free port: without it the usual one is taken, or warned of
            local_directory=str(folder),
            security=Security.temporary(),
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _quiet() -> None:
    for name in ("distributed", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("unveil", "numpy", "polars")}


def _check_versions(client: Any) -> None:
    """Refuse workers that would not give the same numbers."""
    mine = _versions()
    try:
        there = client.run(_versions)
    except Exception as error:
        raise ClusterError(f"unveil cannot be run on the workers ({type(error).__name__}); install it there") from None
    for versions in there.values():
        if wrong := [name for name in mine if versions[name] != mine[name]]:
            name = wrong[0]
            raise ClusterError(f"a worker has {name} {versions[name]}, and here it is {mine[name]}; install the same")

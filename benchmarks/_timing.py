"""Best of several: the other runs measured the rest of the machine."""

import time
from collections.abc import Callable

__all__ = ["best_cpu", "best_wall"]


def best_cpu(call: Callable[[], object], times: int) -> float:
    """The least CPU seconds of all threads."""
    return min(_spent(call, time.process_time) for _ in range(times))


def best_wall(call: Callable[[], object], times: int) -> float:
    """The least seconds on the clock."""
    return min(_spent(call, time.perf_counter) for _ in range(times))


def _spent(call: Callable[[], object], clock: Callable[[], float]) -> float:
    begin = clock()
    call()
    return clock() - begin

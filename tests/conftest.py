"""How hypothesis runs: the same modest examples every time, or with `--hypothesis-profile fuzz` many random ones.

And what saves time without changing what is tested: `make test` has ten minutes in CI.
"""

import gc
import math
import os
import sys
import time
from collections.abc import Iterator
from functools import cache, wraps
from pathlib import Path

import pytest
import typer.main
from hypothesis import HealthCheck, settings
from hypothesis.errors import UnsatisfiedAssumption

gc.disable()  # until everything is collected: what is imported stays
# Before numpy is imported. There is a worker a core: a second thread of one only spins where the other works.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

HERE = Path(__file__).parent
for folder in (HERE, HERE / "properties", *sorted((HERE / "unit").iterdir())):  # what one folder has, others use too
    sys.path.append(str(folder))

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]  # drawing a table costs more than testing it

settings.register_profile("default", derandomize=True, deadline=None, max_examples=60, suppress_health_check=SLOW)
settings.register_profile("fuzz", deadline=None, max_examples=5_000, suppress_health_check=SLOW, print_blob=True)
settings.load_profile("default")

FUZZ_SECONDS = float(os.environ.get("FUZZ_SECONDS", "inf"))  # that each property gets; a fault found is followed beyond

# The commands are built once, not at every call of the program.
typer.main.get_command = cache(typer.main.get_command)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are marked `thorough` are those of `make thorough`."""
    if os.environ.get("UNVEIL_THOROUGH") != "1":
        left_out = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """A property that has had its time is left, as a skipped test that says how many examples it saw."""
    property_ = getattr(pyfuncitem.obj, "hypothesis", None)
    if property_ is None or math.isinf(FUZZ_SECONDS):
        return (yield)
    inner, start, seen, failed = property_.inner_test, time.monotonic(), 0, False

    @wraps(inner)
    def timed(*args: object, **named: object) -> None:
        nonlocal seen, failed
        seen += 1
        try:
            inner(*args, **named)
        except UnsatisfiedAssumption:
            raise
        except Exception:
            failed = True
            raise
        if not failed and time.monotonic() - start > FUZZ_SECONDS:
            pytest.skip(f"no fault in {seen} examples, {FUZZ_SECONDS:.0f} s")

    property_.inner_test = timed
    try:
        return (yield)
    finally:
        property_.inner_test = inner


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and tests stay: they need not be looked through again and again
    gc.enable()

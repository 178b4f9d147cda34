"""How hypothesis runs: the same modest examples every time, or with `--hypothesis-profile fuzz` many random ones.

And what saves time without changing what is tested: `make test` has ten minutes in CI.
"""

import gc
import os
import sys
from functools import cache
from pathlib import Path

import pytest
import typer.main
from hypothesis import HealthCheck, settings

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

# The commands are built once, not at every call of the program.
typer.main.get_command = cache(typer.main.get_command)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are marked `thorough` are those of `make thorough`."""
    if os.environ.get("UNVEIL_THOROUGH") != "1":
        left_out = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and tests stay: they need not be looked through again and again
    gc.enable()

"""On what kind of machine, when and with which versions a result came about."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

__all__ = ["describe_machine", "machine_lines"]

PACKAGES = ("unveil", "numpy", "numba", "polars", "scipy")


def describe_machine() -> dict[str, str]:
    """Date, kind of machine and versions; nothing that names the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{len(os.sched_getaffinity(0))} cores, {memory:.0f} GB, {_processor()}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
    }


def machine_lines(machine: dict[str, str]) -> str:
    """The same for people."""
    return "\n".join(f"- {key}: {value}" for key, value in machine.items())


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown processor"
    )

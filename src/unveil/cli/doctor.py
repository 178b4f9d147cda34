"""unveil doctor: what is installed, what is missing and what that costs, where compiled kernels are kept."""

import os
import platform
import re
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

import typer

from unveil.cli.output import console, to_reader

__all__ = ["DoctorOptions", "doctor", "extras"]

EXTRAS = {
    "": "everything but the following",
    "cluster": "work on a Dask cluster",
    "databases": "tables read from databases",
    "dp": "differentially private statistics",
    "files": "Parquet, Arrow, spreadsheets, SPSS, Stata and SAS files",
    "frames": "pandas and polars frames in Python",
    "linkage": "linkage by splink",
    "studio": "the job in a browser, on this machine",
}
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]*\])?(?:>=([\d.]+))?(?:; extra == '(\w+)')?")


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """Nothing to choose."""


def doctor(options: DoctorOptions) -> None:
    """Say what is installed and what is missing.

    Exit code 1: a package that every command needs is missing or too old.
    """
    from rich.markup import escape
    from rich.table import Table as Grid

    from unveil.engine import free_bytes
    from unveil.kernels import cache_folder

    grid = Grid.grid(padding=(0, 2))
    system = (
        f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}"
    )
    grid.add_row("unveil", version("unveil"))
    grid.add_row("python", system)
    free = free_bytes()
    grid.add_row(
        "machine", f"{os.cpu_count()} cores" + ("" if free is None else f", {free / 1e9:.1f} GB of memory free")
    )
    ready = any(cache_folder().rglob("*.nbi"))
    grid.add_row("kernels", escape(f"compiled {'once' if ready else 'at first use'}, kept in {cache_folder()}"))
    sick = False
    for extra, wrong in extras().items():
        sick |= not extra and bool(wrong)
        name = f"unveil[{extra}]" if extra else "packages"
        line = f"complete: {EXTRAS[extra]}" if not wrong else f"{'; '.join(wrong)}: {EXTRAS[extra]}"
        line += f". pip install '{name if extra else 'unveil'}'" if wrong else ""
        grid.add_row(escape(name), escape(line))
    with to_reader():
        console().print(grid)
    if sick:
        raise typer.Exit(1)


def extras() -> dict[str, list[str]]:
    """What is missing or too old for each extra; "": for every command."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for text in requires("unveil") or ():
        match = _REQUIREMENT.match(text)
        if match is None or (match[3] or "") not in EXTRAS:
            continue
        name, least, extra = match[1], match[2], match[3] or ""
        found[extra]  # one that is complete is named, too
        try:
            there = version(name)
        except PackageNotFoundError:
            found[extra].append(f"{name} is missing")
            continue
        if least and _numbers(there) < _numbers(least):
            found[extra].append(f"{name} is {there}, {least} or newer is needed")
    return {extra: found[extra] for extra in EXTRAS if extra in found}


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:3]))

"""Mondrian from 30 thousand to 30 million rows: CPU seconds and memory besides the input."""

import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks import Row

ROWS = (30_000, 300_000, 3_000_000, 30_000_000)


def measure() -> Iterator[Row]:
    """Coded columns → groups and regions, strict, k = 5; each size in a process of its own."""
    last = None
    for rows in ROWS:
        found = _run(rows)
        largest = rows == ROWS[-1]
        note = f"{found['groups']:,} groups; {1e9 * found['release'] / rows:.0f} ns a row; "
        note += f"without building the release {found['groups_only']:.4f} s"
        yield Row(f"{rows:,} rows", found["release"], unit="s CPU", floor="<= 5" if largest else "", note=note)
        if largest:
            name = f"{rows:,} rows, first run of a process"
            yield Row(name, found["first"], unit="s CPU", floor="<= 5", note="its memory is new: the system clears it")
        yield Row(
            f"{rows:,} rows, memory besides the input",
            found["memory"] / 2**30,
            unit="GB",
            floor="<= 2" if largest else "",
        )
        if last is not None:
            grew = found["release"] / last
            yield Row(f"{rows:,} rows, growth for ten times the rows", grew, unit="times", floor="<= 10")
        last = found["release"]
    last = None
    for rows in ROWS[1:3]:
        found = _run(rows, "--postcode")
        name = f"{rows:,} rows, nearly all different"
        note = f"{found['groups']:,} groups; one more quasi-identifier, a made-up postcode of 10,000 values; "
        note += f"without building the release {found['groups_only']:.3f} s"
        yield Row(name, found["release"], unit="s CPU", note=note)
        yield Row(f"{name}, memory besides the input", found["memory"] / 2**30, unit="GB")
        if last is not None:
            yield Row(f"{name}, growth for ten times the rows", found["release"] / last, unit="times")
        last = found["release"]


def _run(rows: int, *options: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks._growth", str(rows), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-2000:])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found

"""What it costs to read a binary file in a process of its own: CPU seconds there and here, beside those in ours."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import Row
from unveil.errors import TableError
from unveil.formats import glass
from unveil.formats.frames import read_parquet

SIZES = (1_000, 3_000_000)
TIMES = 4
FREE, SHARE = 0.05, 0.1  # seconds, and of the time that it takes in our process


def measure() -> Iterator[Row]:
    """The best of several, taken in turns; the start of the server, which is beside a command's imports, left out."""
    random = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        for rows in SIZES:
            path = Path(folder) / "t.parquet"
            codes = {
                f"c{n}": random.integers(0, values, rows) for n, values in enumerate((74, 8, 16, 7, 6, 5, 2, 41, 14))
            }
            texts = pl.Series([f"value {i}" for i in range(74)])
            pl.DataFrame({name: texts[code] for name, code in codes.items()}).write_parquet(path)
            plain, behind = [], []
            glass.behind_glass(read_parquet, path, error=TableError, missing="")  # starts the server
            for _ in range(TIMES):
                plain.append(_spent(lambda path=path: read_parquet(path, error=TableError, missing="")))
                behind.append(
                    _spent(lambda path=path: glass.behind_glass(read_parquet, path, error=TableError, missing=""))
                )
            more, allowed = min(behind) - min(plain), FREE + SHARE * min(plain)
            note = f"{min(plain):.3f} s in our process; {1000 * more:.0f} ms more, {1000 * allowed:.0f} ms allowed"
            yield Row(f"Parquet, {rows:,} rows and 9 columns, behind glass", min(behind), unit="s CPU", note=note)
            yield Row(f"{rows:,} rows, what glass adds, of 50 ms + 10%", more / allowed, unit="times", floor="<= 1")


def _spent(call: Callable[[], object]) -> float:
    """CPU seconds of this process, and of the server with its children."""
    before = time.process_time() + _servers()
    call()
    return time.process_time() + _servers() - before


def _servers() -> float:
    ticks = 0
    for server in glass._Server._resting:
        fields = Path(f"/proc/{server._process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # its own, and those of children that have ended
    return ticks / os.sysconf("SC_CLK_TCK")

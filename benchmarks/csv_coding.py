"""Three million Adult-like rows of nine columns, from a CSV file to coded columns."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import Row
from benchmarks._growth import memory
from benchmarks._timing import best_cpu, best_wall
from realdata.adult import SENSITIVE, adult_schema, read_adult
from unveil.formats.tables import read_table

ROWS = 3_000_000
NAMES = ("age", "workclass", "education", "marital-status", "relationship", "race", "sex", "native-country")


def measure() -> Iterator[Row]:
    """The table by our reader; polars' own parse of the same file to texts, for scale."""
    columns = read_adult()
    names = (*NAMES, SENSITIVE)
    schema = adult_schema(columns, NAMES)
    drawn = np.random.default_rng(0).integers(len(columns[SENSITIVE]), size=ROWS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.csv"
        pl.DataFrame({name: columns[name] for name in names})[drawn].write_csv(path)
        size = path.stat().st_size / 2**20
        wall = best_wall(lambda: read_table(path, schema), 3)
        cpu = best_cpu(lambda: read_table(path, schema), 2)
        parse = best_wall(lambda: pl.read_csv(path, schema=dict.fromkeys(names, pl.String)), 3)
    note = f"{size:.0f} MB; polars' own read_csv to texts beside it"
    yield Row("3,000,000 rows × 9 columns, CSV → coded", wall, parse, "s", "<= 3", note=note)
    yield Row("the same, CPU of all threads", cpu, unit="s CPU")
    yield Row("peak memory of all of this", memory("VmHWM") / 1e9, unit="GB")

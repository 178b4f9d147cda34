"""Peak memory of reading large CSV files, each in a process of its own, against twice the coded size and 500 MB."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import Row
from benchmarks._growth import memory
from benchmarks.csv_coding import NAMES, ROWS
from realdata.adult import SENSITIVE, read_adult
from unveil.data.schema import Schema, SchemaDocument
from unveil.formats.tables import read_table


def measure() -> Iterator[Row]:
    """Adult's nine columns; the same with an identifier of 36 characters, and with texts of over 100."""
    columns = read_adult()
    random = np.random.default_rng(0)
    drawn = random.integers(len(columns[SENSITIVE]), size=ROWS)
    frame = pl.DataFrame({name: columns[name] for name in (*NAMES, SENSITIVE)})[drawn]
    identifier = pl.Series("id", random.integers(0, 2**62, ROWS)).cast(pl.String).str.pad_end(36, "-")
    words = pl.Series("note", random.integers(0, 200_000, ROWS)).cast(pl.String) + " long text" * 12
    cases = {
        "9 columns": frame,
        "10 columns, one an identifier of 36 characters": frame.with_columns(identifier),
        "10 columns, one of 200,000 different texts of 125 characters": frame.with_columns(words.alias("note")),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        for words_of, table in cases.items():
            table.write_csv(path)
            peak, allowed = map(float, _child(path))
            name = f"3,000,000 rows × {words_of}: peak memory / (2 × coded + 500 MB)"
            note = f"{peak:.0f} MB; the file has {path.stat().st_size / 2**20:.0f} MB"
            yield Row(name, peak / allowed, floor="<= 1", note=note)


def _child(path: Path) -> list[str]:
    run = [sys.executable, "-m", "benchmarks.csv_memory", str(path)]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    return done.stdout.split()


def _read(path: Path) -> None:
    """Read it in this process, and print its peak and what it may be, in MB."""
    with path.open() as file:
        names = file.readline().strip().split(",")
    roles = {"id": "identifier", "note": "insensitive", SENSITIVE: "sensitive"}
    attributes = {name: {"role": roles.get(name, "quasi-identifier"), "missing": "category"} for name in names}
    content = {"version": 1, "confirmed": True, "missing": ["?"], "attributes": attributes}
    table = read_table(path, Schema(SchemaDocument.model_validate(content), {}))
    coded = sum(column.nbytes for column in table.columns)
    coded += sum(sys.getsizeof(value) for attribute in table.attributes for value in attribute.values)
    # ru_maxrss would be the parent's: it outlives exec.
    print(memory("VmHWM") / 2**20, 2 * coded / 2**20 + 500)


if __name__ == "__main__":
    _read(Path(sys.argv[1]))

"""Every check of the published file: UCI Adult, 30,162 rows of all 15 columns, and four times as many."""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row
from benchmarks._timing import best_cpu
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, read_adult
from unveil.data.schema import Schema, read_schema
from unveil.formats.columns import Columns
from unveil.formats.output import csv_bytes
from unveil.formats.tables import read_columns
from unveil.risk.published_file import read_as_a_stranger, read_published_file


def measure() -> Iterator[Row]:
    """All checks of one file, against its original; a file is read again for each run, as nothing may be kept."""
    with tempfile.TemporaryDirectory() as name:
        spent = []
        for times in (1, 4):
            path, schema, original = _written(Path(name), times)
            spent.append(min(_checked(path, schema, original) for _ in range(3)))
    size = "30,162 rows × 15 columns"
    yield Row("all checks of a published file", spent[0], unit="s CPU", floor="<= 2", note=size)
    yield Row("the same, four times as many rows", spent[1], unit="s CPU")
    yield Row("its time a row, over that of the smaller", spent[1] / spent[0] / 4, floor="<= 1.25", note="linear: 1")


def _checked(path: Path, schema: Schema, original: Columns) -> float:
    file = read_published_file(path, schema, original=original)
    return best_cpu(lambda: read_as_a_stranger(file), 1)


def _written(folder: Path, times: int) -> tuple[Path, Schema, Columns]:
    """Ages in bands of ten years, countries and hours withheld, the rest as it is; shuffled."""
    columns = {n: v * times for n, v in read_adult().items()}
    draw = random.Random(31_337)  # not one of the usual seeds: every recipe of an order is tried
    order = list(range(len(next(iter(columns.values())))))
    draw.shuffle(order)
    shown = {n: [v[i] for i in order] for n, v in columns.items()}
    shown["age"] = [f"[{int(a) // 10 * 10},{int(a) // 10 * 10 + 9}]" for a in shown["age"]]
    shown["native-country"] = ["*"] * len(order)
    lines = ["version = 1", "confirmed = true"]
    numeric = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
    for n in columns:
        role = "quasi-identifier" if n in QUASI_IDENTIFIERS else "sensitive" if n == SENSITIVE else "insensitive"
        kind = "numeric" if n in numeric else "categorical"
        lines += [f'[attributes."{n}"]', f'role = "{role}"', f'kind = "{kind}"']
    (folder / "schema.toml").write_text("\n".join(lines) + "\n")
    for file, table in (("original.csv", columns), ("release.csv", shown)):
        (folder / file).write_bytes(csv_bytes(list(table), list(table.values())))
    return folder / "release.csv", read_schema(folder / "schema.toml"), read_columns(folder / "original.csv")

"""One size of the growth benchmark, in a process of its own, so that its memory can be told.

Usage: python -m benchmarks._growth ROWS [--postcode]
"""

import gc
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks._timing import best_cpu
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema, read_adult
from unveil.anonymizers.mondrian import Mondrian, partition_table
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.models import KAnonymity
from unveil.privacy.requirement import Requirement

SEED = 20_240_501
POSTCODES = 10_000


def resampled(table: Table, rows: int, postcode: bool) -> Table:
    """Rows drawn with replacement, each age moved by up to two years; a made-up postcode if asked for."""
    random = np.random.default_rng(SEED)
    columns = [np.empty(rows, dtype=column.dtype) for column in table.columns]
    age = table.index("age")
    for begin in range(0, rows, 1 << 20):
        piece = slice(begin, min(begin + (1 << 20), rows))
        drawn = random.integers(table.rows, size=piece.stop - begin)
        for out, column in zip(columns, table.columns, strict=True):
            out[piece] = column[drawn]
        moved = columns[age][piece].astype(np.int64) + random.integers(-2, 3, size=len(drawn))
        columns[age][piece] = np.clip(moved, 0, table.attributes[age].codes - 1)
    attributes = list(table.attributes)
    if postcode:
        values = tuple(f"{number:05}" for number in range(POSTCODES))
        attributes.insert(0, Attribute("postcode", Role.QUASI_IDENTIFIER, Kind.ORDINAL, values))
        columns.insert(0, random.integers(POSTCODES, size=rows).astype(np.uint16))
    return replace(table, attributes=tuple(attributes), columns=tuple(columns))


def memory(field: str) -> int:
    """Bytes this process has (VmRSS) or at most had (VmHWM) since the mark was set back."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def main(rows: int, postcode: bool) -> None:
    """Print seconds, memory and groups as JSON."""
    columns = {name: texts for name, texts in read_adult().items() if name in (*QUASI_IDENTIFIERS, SENSITIVE)}
    adult = Table.from_columns(adult_schema(columns), columns)
    method = Mondrian(require=(KAnonymity(k=5),), recoding="order")
    for small in (1_000, 250_000):  # compiled and loaded, for few rows and for many
        method.anonymize(resampled(adult, small, postcode), Engine(seed=0))
    table = resampled(adult, rows, postcode)
    del columns, adult
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # sets the high-water mark back to what is in use now
    before = memory("VmRSS")
    begin = time.process_time()
    groups = method.anonymize(table, Engine(seed=0)).release.groups
    first = time.process_time() - begin
    peak = memory("VmHWM") - before
    times = 15 if rows <= 300_000 else 3
    requirement = Requirement.of(method.require, table, "mondrian")
    whole = best_cpu(lambda: method.anonymize(table, Engine(seed=0)), times)
    alone = best_cpu(lambda: partition_table(method, table, requirement, Engine(seed=0)), times)
    print(json.dumps({"release": whole, "groups_only": alone, "first": first, "memory": peak, "groups": groups}))


if __name__ == "__main__":
    main(int(sys.argv[1]), "--postcode" in sys.argv[2:])

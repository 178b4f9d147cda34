"""Slicing of 30,162 rows, and its growth to 300,000; CPU seconds."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks import Row
from benchmarks._growth import resampled
from benchmarks._timing import best_cpu
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema, read_adult
from unveil.anonymizers.slicing import Slicing
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.models import DistinctL, ProbabilisticL

ROWS = (30_000, 300_000)
THREE = (ProbabilisticL(l=3),)
CASES = {
    "strict": Slicing(alpha=2, require=THREE),
    "relaxed": Slicing(alpha=2, require=THREE, grouping="relaxed"),
    "relaxed, five columns": Slicing(
        columns=(("sex", "occupation"), ("age", "marital-status"), ("workclass",), ("education",), ("race",)),
        require=THREE,
        grouping="relaxed",
    ),
    "cut along age and education": Slicing(alpha=2, require=THREE, cut=("age", "education")),
    "columns generalised to 10 rows": Slicing(alpha=2, require=THREE, generalise=10),
}
WIDE = 100  # attributes


def measure() -> Iterator[Row]:
    """Coded columns → release, 3-diverse by definition 4.2.2; many attributes; ten times the rows."""
    names = (*QUASI_IDENTIFIERS, SENSITIVE)
    columns = read_adult()
    table = Table.from_columns(adult_schema(columns), {name: columns[name] for name in names})
    for name, method in CASES.items():
        groups = method.anonymize(table, Engine(seed=1)).release.groups
        spent = best_cpu(lambda method=method: method.anonymize(table, Engine(seed=1)), 3)
        yield Row(f"{table.rows:,} rows, {name}", spent, unit="s CPU", floor="<= 5", note=f"{groups:,} buckets")
    unsplit = Table(tuple(replace(a, role=Role.QUASI_IDENTIFIER) for a in table.attributes), table.columns)
    method = Slicing(c=len(names), require=(DistinctL(l=2),))
    spent = best_cpu(lambda: method.anonymize(unsplit, Engine(seed=1)), 1)
    note = "nothing sensitive: each of 7 attributes asked in turn, distinct l = 2; the issue sets no limit"
    yield Row(f"{table.rows:,} rows, strict, no sensitive attribute", spent, unit="s CPU", note=note)
    wide = _wide(table.rows)
    spent = best_cpu(lambda: Slicing(c=20, alpha=1, require=THREE).anonymize(wide, Engine(seed=0)), 1)
    note = "20 columns sought; made-up attributes of 8 values"
    yield Row(f"{wide.rows:,} rows, {WIDE} attributes", spent, unit="s CPU", floor="<= 60", note=note)
    for name, runs in (("strict", 3), ("relaxed", 1)):
        method, times = CASES[name], []
        for rows in ROWS:
            larger = resampled(table, rows, False)
            times.append(best_cpu(lambda method=method, larger=larger: method.anonymize(larger, Engine(seed=1)), runs))
        power = math.log(times[1] / times[0]) / math.log(ROWS[1] / ROWS[0])
        note = f"exponent of the growth from {ROWS[0]:,} rows; {times[0]:.2f} s and {times[1]:.2f} s"
        yield Row(f"{ROWS[1]:,} rows, {name}", power, floor="<= 1.3", note=note)


def _wide(rows: int) -> Table:
    """Quasi-identifiers in related fives, and one sensitive attribute."""
    random = np.random.default_rng(5)
    values = tuple("abcdefgh")
    columns = []
    for number in range(WIDE - 1):
        new = random.integers(8, size=rows)
        columns.append(new if number % 5 == 0 else np.where(random.random(rows) < 0.3, new, columns[-1]))
    columns.append(random.integers(8, size=rows))
    attributes = [Attribute(f"q{n}", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, values) for n in range(WIDE - 1)]
    attributes.append(Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, values))
    return Table(tuple(attributes), tuple(column.astype(np.uint8) for column in columns))

"""What the audit's panel costs beside the audit itself: s CPU in the panel over those of everything else."""

import time
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np

from benchmarks import Row
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema, read_adult
from realdata.hospital import hospital_table
from unveil import catalog
from unveil.audit import release_part
from unveil.audit.case import Case
from unveil.audit.panel import ask_panel
from unveil.audit.run import run_audit
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.table import Table
from unveil.engine import Engine

WIDE = 24  # known attributes, and so as many readers who do not know one


def measure() -> Iterator[Row]:
    """Default readers and precision; hidden links and wide cells, few people and many, few columns and many."""
    columns = {n: c for n, c in read_adult().items() if n in (*QUASI_IDENTIFIERS, SENSITIVE)}
    tables = {
        "hospital, 300 people": hospital_table(300),
        "hospital, 3,000 people": hospital_table(3000),
        f"{WIDE} columns, 1,000 people": _wide(1000),
        "Adult, 30,162 people": Table.from_columns(adult_schema(columns), columns),
    }
    for name, table in tables.items():
        for scheme in ("anatomy:l=3", "mondrian:k=5,l=3"):
            panel, whole, asked = _spent(table, scheme)
            note = f"{panel:.2f} of {whole:.1f} s CPU, {asked} readers"
            yield Row(f"{name}, {scheme}", panel / (whole - panel), unit="times", floor="<= 1", note=note)


def _spent(table: Table, scheme: str) -> tuple[float, float, int]:
    """CPU seconds in the panel, in all, and how many readers the panel had."""
    release = catalog.anonymizer(scheme).anonymize(table, Engine(seed=1)).release
    spent: list[float] = []
    asked: list[int] = []

    def timed(*given: object) -> object:
        begin = time.process_time()
        found = ask_panel(*given)  # type: ignore[arg-type]
        spent.append(time.process_time() - begin)
        asked.append(len(found.facts.get("members", ())))
        return found

    begin = time.process_time()
    with patch.object(release_part, "ask_panel", timed):
        run_audit(Case(releases={"release": release}, original=table, engine=Engine(seed=0)))
    return sum(spent), time.process_time() - begin, sum(asked)


def _wide(people: int) -> Table:
    random = np.random.default_rng(3)
    names = [f"q{i}" for i in range(WIDE)]
    known = [Attribute(n, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple("abc")) for n in names]
    secret = Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, tuple("vwxyz"))
    value = random.integers(5, size=people)
    columns = [((value + random.integers(6, size=people)) % 3).astype(a.dtype) for a in known]
    return Table((*known, secret), (*columns, value.astype(secret.dtype)))

"""A wide table: 200 attributes, 40 of them quasi-identifiers, five sensitive, as many rows as Adult has."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks import Row
from benchmarks._timing import best_cpu
from realdata.adult import SENSITIVE, read_adult
from unveil.anonymizers.mondrian import Mondrian
from unveil.anonymizers.slicing import Slicing
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import run_audit
from unveil.audit.levels import run_check
from unveil.data.attribute import Role
from unveil.data.draft import draft_schema
from unveil.data.release import Release
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.table import Table, code_table
from unveil.engine import Engine
from unveil.formats.tables import read_columns
from unveil.privacy.models import DistinctL, KAnonymity

ATTRIBUTES, KNOWN, SENSITIVE_ATTRIBUTES = 200, 40, 5
FEW = 3_000  # rows that are audited first
WORLDS = {"random_worlds": RandomWorlds()}
COMBINATIONS = (
    ("age0",),
    ("age0", "sex1"),
    ("age0", "sex1", "race2", "workclass3"),
    ("education4", "age7", "occupation6"),
)


def wide_columns() -> dict[str, list[str]]:
    """Adult's columns over and over; in each repetition a fifth of the cells is drawn anew from its column."""
    random = np.random.default_rng(0)
    adult = read_adult()
    names = ["age", "sex", "race", "workclass", "education", "marital-status", SENSITIVE]
    found = {}
    for number in range(ATTRIBUTES):
        name = names[number % len(names)]
        cells = np.array(adult[name])
        anew = random.random(len(cells)) < 0.2 if number >= len(names) else np.zeros(len(cells), dtype=bool)
        cells[anew] = random.choice(cells, anew.sum())
        found[f"{name}{number}"] = cells.tolist()
    return found


def wide_schema(columns: dict[str, list[str]]) -> Schema:
    """The first 40 are quasi-identifiers, the next five sensitive, the rest insensitive."""
    roles = ["quasi-identifier"] * KNOWN + ["sensitive"] * SENSITIVE_ATTRIBUTES
    attributes = {}
    for place, name in enumerate(columns):
        kind = "numeric" if name.startswith("age") else "categorical"
        role = roles[place] if place < len(roles) else "insensitive"
        attributes[name] = {"role": role, "kind": kind, "missing": "category"}
    content = {"version": 1, "confirmed": True, "missing": ["?"], "attributes": attributes}
    return Schema(SchemaDocument.model_validate(content), {})


def measure() -> Iterator[Row]:
    """Drafting, reading, anonymizing, checking and auditing, one after the other."""
    columns = wide_columns()
    schema = wide_schema(columns)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.csv"
        pl.DataFrame(columns).write_csv(path)
        found = read_columns(path)
        drafted = best_cpu(lambda: draft_schema(found.columns, name="wide"), 1)
        yield Row("200 attributes: a schema drafted", drafted, unit="s CPU", floor="<= 10")
        table: Table = code_table(schema, found.columns, name="wide", place=str)
    method = Mondrian(require=(KAnonymity(k=5),), recoding="order")
    release = method.anonymize(table, Engine(seed=0)).release
    yield Row(
        "40 quasi-identifiers: Mondrian", best_cpu(lambda: method.anonymize(table, Engine(seed=0)), 1), unit="s CPU"
    )
    yield Row("five sensitive: check", best_cpu(lambda: run_check(release), 1), unit="s CPU", floor="<= 15")
    few = {name: texts[:FEW] for name, texts in columns.items()}
    small = Table.from_columns(wide_schema(few), few)
    note = "random worlds beside the learner, 200 sweeps, 500 people asked about; five attributes, four combinations"
    made = method.anonymize(small, Engine(seed=0)).release
    yield Row(f"audit of {FEW:,} rows", _audit(made, small), unit="s CPU", floor="<= 60", note=note)
    yield Row(f"audit of {table.rows:,} rows", _audit(release, table), unit="s CPU", floor="<= 180", note=note)
    alone = tuple((small.attributes[i].name,) for i in small.with_role(Role.SENSITIVE))
    require = KAnonymity(k=4), DistinctL(l=2)
    hidden = Slicing(columns=alone, require=require).anonymize(small, Engine(seed=0)).release
    note = "buckets, each sensitive attribute a column; bayesian and random worlds beside the learner, else the same"
    spent = _audit(hidden, small, {"bayesian": Bayesian(), **WORLDS})
    yield Row(f"audit of {FEW:,} rows, links hidden", spent, unit="s CPU", floor="<= 180", note=note)


def _audit(release: Release, table: Table, attackers: Mapping[str, Any] = WORLDS) -> float:
    """CPU seconds of one audit."""
    sets = [list(names) for names in COMBINATIONS]
    chains = Chains(chains=2, sweeps=100, burn_in=100, most_sweeps=0)

    def audit() -> None:
        run_audit(
            {"wide": release},
            original=table,
            attackers=attackers,
            combinations=sets,
            background=None,
            chains=chains,
            sample=500,
            engine=Engine(seed=0, workers=1),
        )

    return best_cpu(audit, 1)

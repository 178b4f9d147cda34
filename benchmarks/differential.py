"""Differential inference testing on Adult: replayed against compiled re-runs, closed form against sampling, oracles."""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import Row
from benchmarks._timing import best_cpu
from papers.kassem_2019 import adult_table, mondrian
from realdata.adult import read_adult
from unveil.anonymizers.mondrian import partition_table
from unveil.audit.differential import run_differential
from unveil.data.attribute import Role
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.distances import Geometry
from unveil.privacy.models import KAnonymity
from unveil.privacy.requirement import Requirement
from unveil.risk.differential import LaplaceCounts, Oracle
from unveil.risk.differential.laplace import CellCounts, count_cells, exact_distances, noisy_predictions
from unveil.risk.differential.measures import distance_of

RERUNS = 40  # records re-run in full, from which all are reckoned
DRAWN = 6  # records sampled as the paper did, from which all are reckoned
PAPER = "the paper: 60 min"
PAPER_NOISE = "the paper: 5 h 42 min"
TOOL = """
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
for _ in range(60):
    order = sorted(rows, key=lambda r: (r["age"], r["s"]) if _ % 2 else (r["s"], r["age"]))
total = sum(i * i for i in range(2_000_000))
with open(sys.argv[2], "w") as out:
    out.write("age,s\\n" + "".join("*," + r["s"] + "\\n" for r in rows))
"""


def measure() -> Iterator[Row]:
    """Mondrian, Laplace, oracles."""
    columns = read_adult()
    table = adult_table(columns)
    run_differential(table.part(np.arange(500)), mondrian(KAnonymity(k=8)))  # compile
    yield from _mondrian(table)
    whole = adult_table(columns, slice(None))
    for k in (2, 8):
        cost = best_cpu(lambda k=k: run_differential(whole, mondrian(KAnonymity(k=k))), 2)
        yield Row(f"all {whole.rows:,} records, k = {k}", cost, None, "s CPU", "<= 5")
    yield from _laplace(table)
    yield from _oracle()


def _mondrian(table: Table) -> Iterator[Row]:
    for k in (2, 8, 32):
        method = mondrian(KAnonymity(k=k))
        ours = best_cpu(lambda method=method: run_differential(table, method), 3)
        rows = np.linspace(0, table.rows - 1, RERUNS).astype(int)
        rest = [table.part(np.delete(np.arange(table.rows), row)) for row in rows]

        def again(method: object = method, rest: list[Table] = rest) -> None:
            for smaller in rest:  # the compiled partition alone, without a release or a model
                partition_table(method, smaller, Requirement.of(method.require, smaller, "mondrian"), Engine(seed=0))  # type: ignore[attr-defined, arg-type]

        theirs = best_cpu(again, 2) / RERUNS * table.rows
        yield Row(f"all 10,000 records, k = {k}", ours, None, "s CPU", "<= 2", note=PAPER)
        yield Row(f"the same against compiled re-runs, k = {k}", ours, theirs, "s CPU", ">= 50", of_ratio=True)


def _laplace(table: Table) -> Iterator[Row]:
    asked = table.with_role(Role.SENSITIVE)[0]
    mechanism = LaplaceCounts(epsilon=1.0, cut=("age", "hours-per-week"))
    cells = count_cells(mechanism, table, asked)
    pairs = np.unique(np.stack([cells.cell, cells.value], axis=1), axis=0)
    ours = best_cpu(lambda: run_differential(table, mechanism), 3)
    emd = distance_of("emd", "coordinates", Geometry(), ordered=False)
    random = np.random.default_rng(0)
    chosen = pairs[np.linspace(0, len(pairs) - 1, DRAWN).astype(int)]

    def sampled() -> None:
        for cell, value in chosen:
            less = cells.counts[cell].copy()
            less[value] -= 1
            both = [noisy_predictions(c[None], 1.0, 25_000, random) for c in (cells.counts[cell], less)]
            emd(both[0], both[1])

    theirs = best_cpu(sampled, 2) / DRAWN * len(pairs)
    yield Row("all records, Laplace, one epsilon", ours, None, "s CPU", "<= 2", note=PAPER_NOISE)
    yield Row("the same against N = 25,000 samples", ours, theirs, "s CPU", ">= 500", of_ratio=True)
    far = max(
        _standard_errors(cells, cell, value, epsilon, random) for cell, value in chosen[:4] for epsilon in (0.1, 1.0)
    )
    yield Row("closed form against 10^6 draws with common noise", far, None, "standard errors", "<= 5")


def _standard_errors(cells: CellCounts, cell: int, value: int, epsilon: float, random: np.random.Generator) -> float:
    counts = cells.counts[cell]
    exact = exact_distances(CellCounts(counts[None], np.zeros(1, np.int64), np.array([value])), epsilon)[0]
    total, squares, draws = 0.0, 0.0, 0
    for _ in range(10):
        noise = random.laplace(0, 1 / epsilon, (100_000, len(counts)))
        noisy = 1 + np.maximum(0, counts + noise)
        others = noisy.sum(axis=1) - noisy[:, value]
        lower = 1 + np.maximum(0, counts[value] - 1 + noise[:, value])
        gap = 2 * (noisy[:, value] / (noisy[:, value] + others) - lower / (lower + others))
        total, squares, draws = total + gap.sum(), squares + (gap**2).sum(), draws + len(gap)
    mean = total / draws
    return float(abs(mean - exact) / np.sqrt((squares / draws - mean**2) / draws))


def _oracle() -> Iterator[Row]:
    """A tool that works for about a third of a second; by the clock, so on a quiet machine only."""
    schema = Schema(
        SchemaDocument.model_validate(
            {
                "version": 1,
                "confirmed": True,
                "attributes": {
                    "age": {"role": "quasi-identifier", "kind": "numeric", "domain": {"from": 0, "to": 99}},
                    "s": {"role": "sensitive", "domain": ["a", "b"]},
                },
            }
        )
    )
    table = Table.from_columns(schema, {"age": list(range(20)), "s": ["a", "b"] * 10})
    with tempfile.TemporaryDirectory() as folder:
        tool = Path(folder) / "tool.py"
        tool.write_text(TOOL)
        oracle = Oracle(f"{sys.executable} {tool} {{input}} {{output}}", schema)
        seconds = {}
        for workers in (1, 2):
            begun = time.monotonic()
            run_differential(table, oracle, engine=Engine(seed=0, workers=workers))
            seconds[workers] = time.monotonic() - begun
    yield Row("an oracle, 2 workers against 1", seconds[2], seconds[1], "s", ">= 1.6", of_ratio=True)

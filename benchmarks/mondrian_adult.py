"""Mondrian on Adult, 30,162 rows, k = 5, against anonypy on the same rows in the same run."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import Row
from benchmarks._evaluate import evaluate
from benchmarks._peers import run_peer
from benchmarks._timing import best_cpu
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_csv, adult_schema, read_adult
from unveil.anonymizers.mondrian import Mondrian, partition_table
from unveil.engine import Engine
from unveil.formats.tables import read_table
from unveil.privacy.models import DistinctL, KAnonymity, TCloseness
from unveil.privacy.requirement import Requirement

K = 5


def measure() -> Iterator[Row]:
    """Cutting alone, the whole way from the file, and the quality of both."""
    columns = read_adult()
    with tempfile.TemporaryDirectory() as folder:
        path = adult_csv(Path(folder) / "adult.csv", columns, (*QUASI_IDENTIFIERS, SENSITIVE))
        schema = adult_schema(columns)
        table = read_table(path, schema)
        method = Mondrian(require=(KAnonymity(k=K),), recoding="order")
        requirement = Requirement.of(method.require, table, "mondrian")
        made = method.anonymize(table, Engine(seed=0))
        cut = best_cpu(lambda: partition_table(method, table, requirement, Engine(seed=0)), 30)
        release = best_cpu(lambda: method.anonymize(table, Engine(seed=0)), 15)
        whole = best_cpu(lambda: method.anonymize(read_table(path, schema), Engine(seed=0)), 10)
        plain = read_table(path, adult_schema(columns, hierarchies="none"))
        peer = run_peer("anonypy_mondrian.py", str(path), str(K), str(Path(folder) / "groups.npy"))
        their_group = np.load(Path(folder) / "groups.npy")
    who = f"anonypy {peer['version']}"
    yield Row("coded columns → groups", cut, peer["cut"], "s CPU", ">= 1000", True, who)
    yield Row(
        "coded columns → release",
        release,
        peer["whole"],
        "s CPU",
        ">= 1000",
        True,
        f"{who}, from its frame to its rows",
    )
    yield Row("CSV file → release", whole, peer["whole"], "s CPU", ">= 300", True, who)
    ours, theirs = (evaluate(columns, QUASI_IDENTIFIERS, g) for g in (made.group_of_row, their_group))
    yield Row("smallest group", ours.smallest, theirs.smallest, "rows", f">= {K}", note=who)
    yield Row("groups", ours.groups, theirs.groups, note=who)
    yield Row("discernibility", ours.discernibility, theirs.discernibility, floor=">= 1", of_ratio=True, note=who)
    note = f"{who}; ours knows the order of our hierarchies (realdata/adult.py)"
    yield Row("GCP (sets)", ours.certainty_penalty, theirs.certainty_penalty, "", ">= 1", True, note)
    bare = evaluate(columns, QUASI_IDENTIFIERS, method.anonymize(plain, Engine(seed=0)).group_of_row)
    note = f"{who}; a schema that names no hierarchy, so that both know the same"
    yield Row(
        "GCP (sets) without hierarchies", bare.certainty_penalty, theirs.certainty_penalty, "", ">= 1", True, note
    )
    for name, other in {
        "relaxed, k=5": Mondrian(require=(KAnonymity(k=K),), relaxed=True, recoding="order"),
        "hierarchies, k=5": Mondrian(require=(KAnonymity(k=K),), recoding="hierarchy"),
        "k=5, distinct l=3": Mondrian(require=(KAnonymity(k=K), DistinctL(l=3)), recoding="order"),
        "k=5, t=0.2 (equal)": Mondrian(require=(KAnonymity(k=K), TCloseness(t=0.2)), recoding="order"),
    }.items():
        found = evaluate(columns, QUASI_IDENTIFIERS, other.anonymize(table, Engine(seed=0)).group_of_row)
        bound = Requirement.of(other.require, table, "mondrian")
        spent = best_cpu(lambda other=other, bound=bound: partition_table(other, table, bound, Engine(seed=0)), 10)  # type: ignore[misc]
        note = f"{found.groups} groups of {found.smallest} or more, DM {found.discernibility:,.0f}"
        note += f", GCP {found.certainty_penalty:.4f}"
        yield Row(name, spent, unit="s CPU", note=note)

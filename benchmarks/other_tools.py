"""anjana's full-domain recoding and Anonymeter's attacks, beside ours on the same rows in the same run."""

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import Row
from benchmarks._evaluate import evaluate
from benchmarks._peers import run_peer
from benchmarks._timing import best_cpu
from realdata.adult import HIERARCHIES, NUMERIC, QUASI_IDENTIFIERS, SENSITIVE, adult_csv, adult_schema, read_adult
from unveil.anonymizers.full_domain import FullDomain
from unveil.data.hierarchy import HierarchyTable
from unveil.data.schema import Schema
from unveil.engine import Engine
from unveil.formats.tables import read_table
from unveil.privacy.models import KAnonymity
from unveil.risk.synthetic import MixedTable, inference_risk, linkability_risk, singling_out_risk

K, PEOPLE, ATTACKS, REDRAWN = 5, 5_000, 500, 0.3
ASKED = ("age", "workclass", "education", "marital-status", "race", "sex", SENSITIVE)


def measure() -> Iterator[Row]:
    """Full-domain k-anonymity without suppression, and the three risks of synthetic rows."""
    columns = read_adult()
    with tempfile.TemporaryDirectory() as folder:
        yield from _recoded(columns, Path(folder))
        yield from _attacked(columns, Path(folder))


def _recoded(columns: dict[str, list[str]], folder: Path) -> Iterator[Row]:
    path = adult_csv(folder / "adult.csv", columns, (*QUASI_IDENTIFIERS, SENSITIVE))
    schema = _with_ages(adult_schema(columns), columns)
    for name in QUASI_IDENTIFIERS:
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(schema.hierarchies[name].rows)
    table = read_table(path, schema)
    method = FullDomain(require=(KAnonymity(k=K),))
    made = method.anonymize(table, Engine(seed=0))
    spent = best_cpu(lambda: method.anonymize(table, Engine(seed=0)), 5)
    peer = run_peer("anjana_k.py", str(path), str(K), str(folder), str(folder / "groups.npy"))
    who = f"anjana {peer['version']}, the same hierarchies, nothing suppressed"
    ours, theirs = (
        evaluate(columns, QUASI_IDENTIFIERS, g) for g in (made.group_of_row, np.load(folder / "groups.npy"))
    )
    yield Row(f"full-domain k={K}, frame → release", spent, peer["seconds"], "s CPU", ">= 20", True, who)
    yield Row("its smallest group", ours.smallest, theirs.smallest, "rows", f">= {K}", note=who)
    yield Row("its discernibility", ours.discernibility, theirs.discernibility, floor=">= 1", of_ratio=True, note=who)
    yield Row("its GCP (sets)", ours.certainty_penalty, theirs.certainty_penalty, "", ">= 1", True, who)


def _with_ages(schema: Schema, columns: dict[str, list[str]]) -> Schema:
    """Ages in bands of 5, 10, 20 and 40 years: the search of both needs a hierarchy of each attribute."""
    ages = sorted({int(age) for age in columns["age"]})
    bands = [[str(age), *(f"{age // w * w}-{age // w * w + w - 1}" for w in (5, 10, 20, 40)), "*"] for age in ages]
    ladders = {name: ladder for name, ladder in schema.hierarchies.items() if name in (*HIERARCHIES, "age")}
    ladders["age"] = HierarchyTable(tuple(map(tuple, bands)), source="age (bands)")
    return Schema(schema.document, ladders, name="adult")


def _attacked(columns: dict[str, list[str]], folder: Path) -> Iterator[Row]:
    """Copies of people with some values drawn again: what three attacks find, by ours and by Anonymeter."""
    random = np.random.default_rng(7)
    rows = random.permutation(len(columns[SENSITIVE]))
    parts = {"truth": rows[:PEOPLE], "control": rows[PEOPLE : 2 * PEOPLE]}
    texts = {n: {part: np.array(columns[n])[some] for part, some in parts.items()} for n in ASKED}
    for name in ASKED:
        drawn = random.random(PEOPLE) < REDRAWN
        texts[name]["synthetic"] = np.where(drawn, random.permutation(texts[name]["truth"]), texts[name]["truth"])
    tables = []
    for part in ("truth", "control", "synthetic"):
        with (folder / f"{part}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([ASKED, *zip(*(texts[n][part] for n in ASKED), strict=True)])
        made = [texts[n][part].astype(float) if n in NUMERIC else _codes(texts[n], part) for n in ASKED]
        tables.append(MixedTable(tuple(made), tuple(n in NUMERIC for n in ASKED)))
    paths = [str(folder / f"{part}.csv") for part in ("truth", "control", "synthetic")]
    peer = run_peer("anonymeter_risks.py", *paths, SENSITIVE, str(ATTACKS), pins="anonymeter")
    known = range(len(ASKED) - 1)
    half = len(known) // 2
    truth, control, synthetic = tables
    ways = {
        "singling out": lambda: singling_out_risk(truth, control, synthetic, attacks=ATTACKS),
        "linkability": lambda: linkability_risk(
            truth, control, synthetic, (known[:half], known[half:]), attacks=ATTACKS, neighbours=10
        ),
        "inference": lambda: inference_risk(truth, control, synthetic, known, len(ASKED) - 1, attacks=ATTACKS),
    }
    for name, attack in ways.items():
        ours, theirs = attack().risk, peer["risks"][name]
        who = f"Anonymeter {peer['version']}, {ATTACKS} attacks"
        note = f"{who}: {theirs['value']:.3f} ({theirs['low']:.3f} to {theirs['high']:.3f}), "
        note += f"ours {ours.value:.3f} ({ours.low:.3f} to {ours.high:.3f})"
        yield Row(f"{name}, {PEOPLE:,} people", best_cpu(attack, 3), theirs["seconds"], "s CPU", "", True, note)
        apart = max(ours.low, theirs["low"]) - min(ours.high, theirs["high"])
        yield Row(f"{name}, gap between the intervals", max(apart, 0.0), floor="<= 0", note=note)


def _codes(texts: dict[str, np.ndarray], part: str) -> np.ndarray:
    values = np.unique(np.concatenate(list(texts.values())))
    return np.searchsorted(values, texts[part])

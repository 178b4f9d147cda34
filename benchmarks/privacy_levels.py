"""Every privacy level of a release of 30,162 rows, and t-closeness against pycanon's."""

import tempfile
from collections.abc import Iterator
from math import prod
from pathlib import Path

from benchmarks import Row
from benchmarks._peers import run_peer
from benchmarks._timing import best_cpu, best_wall
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema, read_adult
from unveil.anonymizers.mondrian import Mondrian
from unveil.audit.identity import identity_findings
from unveil.audit.levels import run_check
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.formats.releases import read_release, write_release
from unveil.privacy.models import DistinctL, KAnonymity, TCloseness
from unveil.privacy.reference import reference_of

EQUAL = ("k_anonymity", "distinct_l", "alpha_k", "beta_likeness", "prosecutor_risk.max", "prosecutor_risk.mean")
DIFFERENT = {
    "entropy_l": "pycanon gives the whole number below",
    "delta_disclosure": "pycanon leaves values out that a class does not hold; by definition they make it infinite",
}


def measure() -> Iterator[Row]:
    """All levels at once, t alone, and the answer of both."""
    columns = {name: texts for name, texts in read_adult().items() if name in (*QUASI_IDENTIFIERS, SENSITIVE)}
    schema = adult_schema(columns)
    table = Table.from_columns(schema, columns)
    release = Mondrian(require=(KAnonymity(k=5),), recoding="order").anonymize(table, Engine(seed=0)).release
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.csv"
        write_release(release, path)
        peer = run_peer("pycanon_t.py", str(path))
        reading = best_cpu(lambda: read_release(path, schema, attributes=table.attributes), 3)
    run_check(release)
    levels = len(run_check(release).findings)
    widths = [2 if a.hierarchy is None else a.hierarchy.height + 1 for a in table.attributes[: len(QUASI_IDENTIFIERS)]]
    note = f"{levels} findings on {release.groups} groups; (n,t)-closeness looks at {prod(widths)} choices of widths"
    spent = best_cpu(lambda: run_check(release), 40)
    yield Row("all levels of a release", spent, unit="s CPU", floor="<= 0.05", note=note)
    yield Row("the same, on the clock", best_wall(lambda: run_check(release), 40), unit="s")
    who = f"pycanon {peer['version']}"
    spent = best_cpu(lambda: t_closeness(release), 25)
    yield Row("t-closeness alone", spent, peer["seconds"], "s CPU", ">= 200", True, who)
    level = t_closeness(release)
    yield Row("t (equal distance)", level, peer["level"], note=f"{who}; difference {abs(level - peer['level']):.1e}")
    yield Row("reading that release from its CSV", reading, unit="s CPU")
    yield from _equal(table)


def _equal(table: Table) -> Iterator[Row]:
    """Levels and prosecutor risk of one release, ours and pycanon's; where definitions differ it is said."""
    release = (
        Mondrian(require=(KAnonymity(k=50), DistinctL(l=5)), recoding="order").anonymize(table, Engine(seed=0)).release
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.csv"
        write_release(release, path)
        peer = run_peer("pycanon_levels.py", str(path))
    found = [*run_check(release).findings, *identity_findings(release, "release", table)]
    ours = {f.id: float("inf") if f.value == "inf" else float(f.value or 0) for f in found}
    apart = max(abs(ours[id] - peer["levels"][id]) for id in EQUAL)
    note = f"pycanon {peer['version']}, {peer['classes']} classes: {', '.join(EQUAL)}"
    yield Row("largest difference from pycanon's levels and prosecutor risk", apart, floor="<= 1e-9", note=note)
    for id, why in DIFFERENT.items():
        yield Row(id, ours[id], peer["levels"][id], note=why)


def t_closeness(release: Release) -> float:
    """The level of t-closeness, from the release's own arrays."""
    sensitive = release.index(SENSITIVE)
    histograms, _ = release.histograms(sensitive)
    model = TCloseness()
    overall = reference_of(release.attributes[sensitive], histograms.sum(axis=0))
    return model.worst(model.level(histograms, overall))

"""Utility of releases of 30,162 rows: queries, large populations, divergence; and the best full-domain release."""

from collections.abc import Iterator

from benchmarks import Row
from benchmarks._timing import best_cpu
from realdata.adult import NUMERIC, QUASI_IDENTIFIERS, SENSITIVE, SHARED, adult_schema, read_adult
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.mondrian import Mondrian
from unveil.anonymizers.parts.lattice import search
from unveil.data.hierarchy import read_hierarchy
from unveil.data.hierarchy_builders import interval_hierarchy
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.models import KAnonymity
from unveil.utility import kl_divergence, large_populations, query_error, utility_loss

AGES = [5, 10, 20]  # years, as ARX's hierarchy of Adult has them
NINE = (
    *("sex", "age", "race", "marital-status", "education"),
    *("native-country", "workclass", "occupation", "salary-class"),
)


def measure() -> Iterator[Row]:
    """Each measure on a generalised and a bucketized release; the search for three limits of suppression."""
    columns = read_adult()
    names = (*QUASI_IDENTIFIERS, SENSITIVE)
    shared = (SHARED / "hierarchies").is_dir()
    schema = adult_schema(columns, hierarchies="shared" if shared else "ours")
    schema = Schema(
        schema.document, {**schema.hierarchies, "age": interval_hierarchy(range(17, 91), AGES)}, name="adult"
    )
    table = Table.from_columns(schema, {name: columns[name] for name in names})
    releases = {
        "generalised": Mondrian(require=(KAnonymity(k=5),), recoding="order").anonymize(table, Engine(seed=0)).release,
        "bucketized": Anatomy(l=4).anonymize(table, Engine(seed=1)).release,
    }
    populations = len(large_populations(table))
    for kind, release in releases.items():
        error = query_error(release, table)
        spent = best_cpu(lambda release=release: query_error(release, table), 3)
        note = f"2 quasi-identifiers, selectivity 5%: mean error {error.value:.3f}; the drawing is part of the time"
        yield Row(f"1,000 queries, {kind}", spent, unit="s CPU", floor="<= 1", note=note)
        loss = utility_loss(release, table).value
        spent = best_cpu(lambda release=release: utility_loss(release, table), 3)
        floor = "<= 2" if kind == "generalised" else "<= 5"
        note = f"{populations} populations, found anew: U_loss {loss:.5f}"
        yield Row(f"U_loss, {kind}", spent, unit="s CPU", floor=floor, note=note)
        divergence = kl_divergence(release, table).value
        spent = best_cpu(lambda release=release: kl_divergence(release, table), 3)
        yield Row(f"KL divergence, {kind}", spent, unit="s CPU", note=f"{divergence:.3f} nats")
    if shared:
        yield from _searches(columns)


def _searches(columns: dict[str, list[str]]) -> Iterator[Row]:
    """Adult with nine quasi-identifiers and ARX's hierarchies: 12,960 nodes."""
    ladders = {name: read_hierarchy(SHARED / "hierarchies" / f"{name}.csv") for name in NINE if name not in NUMERIC}
    ladders["age"] = interval_hierarchy(range(17, 91), AGES)
    attributes: dict[str, dict[str, object]] = {}
    for name in NINE:
        present = set(columns[name])
        kind: dict[str, object] = {"kind": "numeric"} if name in NUMERIC else {}
        leaves = {} if name in NUMERIC else {"domain": [leaf for leaf in ladders[name].leaves if leaf in present]}
        attributes[name] = {"role": "quasi-identifier", **kind, **leaves}
    document = SchemaDocument.model_validate({"version": 1, "confirmed": True, "attributes": attributes})
    table = Table.from_columns(Schema(document, ladders, name="adult"), {name: columns[name] for name in NINE})
    for suppress in (0.0, 0.02, 0.05):
        found = search(table, (KAnonymity(k=5),), suppress, "certainty_penalty", 10**6, Engine(seed=0))
        spent = best_cpu(
            lambda suppress=suppress: search(
                table, (KAnonymity(k=5),), suppress, "certainty_penalty", 10**6, Engine(seed=0)
            ),
            2,
        )
        note = (
            f"GCP {found.loss:.4f} at levels {'+'.join(map(str, found.levels))}, the optimum; "
            f"{found.looked_at:,} of {found.nodes:,} nodes looked at"
        )
        yield Row(f"full_domain k=5, 9 QIs, suppress {suppress:.0%}", spent, unit="s CPU", floor="<= 10", note=note)

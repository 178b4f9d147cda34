"""A frontier of 30,162 rows: four requirements × eight parameters, without attackers (Li 2010, section 5.3)."""

import os
import time
from collections.abc import Iterator

from benchmarks import Row
from benchmarks._timing import best_cpu
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, SHARED, adult_schema, read_adult
from unveil.data.hierarchy_builders import interval_hierarchy
from unveil.data.schema import Schema
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.frontier import Frontier, run_frontier

AGES = [5, 10, 20]  # years, as ARX's hierarchy of Adult has them
SCHEMES = (
    "mondrian:k=10+50+100+200+500+1000+2000+5000,recoding=order",
    "mondrian:recoding=order probabilistic_l:l=3.0+3.5+4.0+4.25+4.5+4.75+5.0+5.5",
    "mondrian:recoding=order t_closeness:t=0.075+0.1+0.15+0.2+0.25+0.3+0.35+0.4,distance=js",
    "mondrian:recoding=order delta_disclosure:delta=1.0+1.2+1.4+1.5+1.7+1.9+2.0+2.1",
)


def measure() -> Iterator[Row]:
    """The sweep with its three measures of utility, and the same refined to 48 releases; compiled code, one thread."""
    columns = read_adult()
    shared = (SHARED / "hierarchies").is_dir()
    schema = adult_schema(columns, hierarchies="shared" if shared else "ours")
    schema = Schema(
        schema.document, {**schema.hierarchies, "age": interval_hierarchy(range(17, 91), AGES)}, name="adult"
    )
    table = Table.from_columns(schema, {name: columns[name] for name in (*QUASI_IDENTIFIERS, SENSITIVE)})
    run_frontier(
        table,
        ["mondrian:k=1000,recoding=order", "mondrian:recoding=order t_closeness:t=0.1,distance=js"],
        engine=Engine(seed=0, workers=1),
    )
    found: list[Frontier] = []
    spent = best_cpu(lambda: found.append(run_frontier(table, SCHEMES, engine=Engine(seed=0, workers=1))), 1)
    (sweep,) = found
    chosen = sweep.choice.point
    note = f"{len(sweep.line)} undominated; the knee is {'none' if chosen is None else chosen.name}"
    yield Row("8 × 4 sweep on Adult, P_loss, U_loss, queries, GCP", spent, unit="s CPU", floor="<= 60", note=note)
    begin = time.perf_counter()
    run_frontier(table, SCHEMES, engine=Engine(seed=0, workers=2))
    wall = time.perf_counter() - begin
    yield Row(
        "the same sweep on 2 workers, on the clock", wall, unit="s", floor="<= 60", note=f"{os.cpu_count()} cores"
    )
    limits = ["privacy_loss.max <= 0.12"]
    spent = best_cpu(
        lambda: found.append(run_frontier(table, SCHEMES, limits=limits, budget=48, engine=Engine(seed=0, workers=1))),
        1,
    )
    chosen = found[-1].choice.point
    note = f"within {limits[0]}: {'none' if chosen is None else chosen.name}"
    yield Row("the same refined to 48 releases", spent, unit="s CPU", note=note)

"""Requirements about a population: what is published keeps them, by counting the population again."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from small import QI, SENSITIVE, made_schema
from unveil.anonymizers.full_domain import FullDomain
from unveil.anonymizers.local_suppression import LocalSuppression
from unveil.anonymizers.mondrian import Mondrian
from unveil.audit.levels import run_check
from unveil.cli import app
from unveil.data.hierarchy import HierarchyTable
from unveil.data.release import Release
from unveil.data.schema import Schema
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, TableError, UsageError
from unveil.privacy.models import DeltaPresence, DistinctL, KAnonymity, KMap, PopulationUniqueness, PrivacyModel

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 7}},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
    }
)
HALVES = HierarchyTable(
    tuple((str(a), f"{a // 2 * 2}-{a // 2 * 2 + 1}", "0-3" if a < 4 else "4-7", "*") for a in range(8))
)
WITH_HIERARCHY = Schema(SCHEMA.document, {"age": HALVES})


def people(count: int, seed: int) -> tuple[Table, Table]:
    """A population, and some of them as a table."""
    random = np.random.default_rng(seed)
    columns = {
        "age": random.integers(0, 8, count).tolist(),
        "sex": random.choice(["f", "m"], count).tolist(),
        "disease": random.choice(["flu", "hiv", "none"], count).tolist(),
    }
    population = Table.from_columns(WITH_HIERARCHY, columns)
    chosen = np.sort(random.permutation(count)[: count // 3])
    table = Table.from_columns(WITH_HIERARCHY, {n: [v[i] for i in chosen] for n, v in columns.items()})
    return population, table


def levels(release: Release, population: Table) -> dict[str, float]:
    found = run_check(release, population=population).findings
    return {f.id: float(f.value) for f in found if f.value is not None and f.value != "inf"}


MODELS = (
    (KMap(k=4),),
    (KMap(k=6), DistinctL(l=2)),
    (DeltaPresence(high=0.6),),
    (DeltaPresence(high=0.7, low=0.1), KAnonymity(k=2)),
)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(MODELS), st.sampled_from(["tight", "cut"]))
def test_what_is_published_keeps_the_requirement(seed: int, require: tuple[PrivacyModel, ...], regions: str) -> None:
    population, table = people(60, seed)
    beside = table.with_population(population)
    for method in (
        Mondrian(require=require, regions=regions),  # type: ignore[arg-type]
        Mondrian(require=require, recoding="order"),
        FullDomain(require=require, suppress=0.3),
    ):
        try:
            made = method.anonymize(beside, Engine(seed=1))
        except RequirementError:
            continue
        assert made.release.rows == table.rows == len(made.group_of_row)
        for index, attribute in enumerate(table.attributes):  # every row lies in its cells, its secret as it is
            block = made.release.block_of(index)
            if attribute.role == QI:
                region = block.region(index)[block.start[:-1]][made.group_of_row]
                assert made.release.regions[index].holds(region, table.columns[index]).all()
            else:
                value = made.release.regions[index].single()[block.region(index)]
                shown = np.bincount(value, weights=block.count, minlength=attribute.codes)
                assert shown.tolist() == np.bincount(table.columns[index], minlength=attribute.codes).tolist()
        got = levels(made.release, population)
        for model in require:
            if isinstance(model, KMap):
                assert got["k_map"] >= (model.k or 0)
            if isinstance(model, DeltaPresence):
                assert got["delta_presence"] <= (model.high or 0) + 1e-12
            if isinstance(model, KAnonymity):
                assert got["k_anonymity"] >= (model.k or 0)


def test_a_population_allows_what_k_anonymity_does_not() -> None:
    """One row in a cell with many people of the population around it stays as it is."""
    population, table = people(400, 1)
    alone = Table.from_columns(WITH_HIERARCHY, {"age": [3], "sex": ["f"], "disease": ["flu"]})
    made = Mondrian(require=(KMap(k=11),), recoding="order").anonymize(
        alone.with_population(population), Engine(seed=1)
    )
    assert levels(made.release, population)["k_map"] >= 11
    assert made.release.regions[0].sizes.tolist() == [1]
    assert table.rows == 133


def test_population_uniqueness_is_about_all_rows() -> None:
    population, table = people(40, 3)
    beside = table.with_population(population)
    made = FullDomain(require=(PopulationUniqueness(share=0.1),)).anonymize(beside, Engine(seed=1))
    got = levels(made.release, population)["population_uniqueness"]
    free = levels(FullDomain(levels=(0, 0)).anonymize(table, Engine(seed=1)).release, population)
    assert got <= 0.1 < free["population_uniqueness"]
    with pytest.raises(UsageError, match="k_map:k=2, or use full_domain"):
        Mondrian(require=(PopulationUniqueness(share=0.1),)).anonymize(beside, Engine(seed=1))


def test_refusals() -> None:
    population, table = people(40, 3)
    with pytest.raises(UsageError, match="add --population"):
        Mondrian(require=(KMap(k=2),)).anonymize(table, Engine(seed=1))
    with pytest.raises(UsageError, match="local_suppression keeps no requirement about a population"):
        LocalSuppression(require=(KAnonymity(k=2),)).anonymize(table.with_population(population), Engine(seed=1))
    with pytest.raises(UsageError, match="relaxed"):
        Mondrian(require=(KMap(k=2),), relaxed=True).anonymize(table.with_population(population), Engine(seed=1))
    other = Table.from_columns(
        SCHEMA.__class__(made_schema({"age": {"role": QI}, "sex": {"role": QI}}).document), {"age": ["1"], "sex": ["f"]}
    )
    with pytest.raises(TableError, match="domain of age"):
        table.with_population(other)
    with pytest.raises(RequirementError, match="k_map:k=500"):
        Mondrian(require=(KMap(k=500),)).anonymize(table.with_population(population), Engine(seed=1))


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'version = 1\nconfirmed = true\n[attributes.age]\nrole = "quasi-identifier"\nkind = "numeric"\n'
        'domain = { from = 0, to = 9 }\n[attributes.disease]\nrole = "sensitive"\n'
    )
    rows = [(i % 10, "flu" if i % 3 else "hiv") for i in range(60)]
    (tmp_path / "all.csv").write_text("age,disease\n" + "".join(f"{a},{d}\n" for a, d in rows))
    (tmp_path / "some.csv").write_text("age,disease\n" + "".join(f"{a},{d}\n" for a, d in rows[:20]))
    run = CliRunner().invoke
    said = ["-s", str(tmp_path / "s.toml"), "--population", str(tmp_path / "all.csv")]
    out = tmp_path / "r.csv"
    made = ["anonymize", str(tmp_path / "some.csv"), "-o", str(out), *said]
    found = run(app, [*made, "--with", "mondrian", "--require", "k_map:k=11"])
    assert found.exit_code == 0, found.output
    checked = ["check", str(out), *said, "--require", "k_map:k=11"]
    assert run(app, checked).exit_code == 0
    assert run(app, [*checked, "--require", "k_map:k=60"]).exit_code == 1
    assert "anatomy keeps no requirement about a population" in str(
        run(app, [*made, "--with", "anatomy:l=2"]).exception
    )
    bare = run(app, [*made[:-2], "--with", "mondrian", "--require", "k_map:k=11"])
    assert "add --population FILE" in str(bare.exception)

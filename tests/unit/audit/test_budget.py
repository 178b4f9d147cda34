"""A budget that ends while overlapping regions of many values are learned from: nothing cut short is reported."""

import numpy as np
import pytest

from one_round import run_audit
from small import QI, SENSITIVE, made_schema
from unveil.anonymizers.mondrian import Mondrian
from unveil.attackers.posterior.linked_posterior import LinkedPosterior
from unveil.audit import findings, release_part
from unveil.audit.document import Finding
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.models import KAnonymity

ROWS, VALUES = 400, 40


@pytest.fixture(scope="module")
def table() -> Table:
    random = np.random.default_rng(3)
    value = random.integers(0, VALUES, ROWS)
    columns = {
        "age": np.clip(random.normal(30 + value, 15), 0, 99).astype(int).astype(str).tolist(),
        "ward": ((value + random.integers(0, 4, ROWS)) % 12).astype(str).tolist(),
        "diagnosis": [f"D{v}" for v in value],
    }
    roles = {"age": {"role": QI, "kind": "numeric"}, "ward": {"role": QI}, "diagnosis": {"role": SENSITIVE}}
    return Table.from_columns(made_schema(roles), columns)


@pytest.mark.parametrize("grace", [0.0, 600.0])
def test_what_was_reached_is_said_and_models_cut_short_are_not(
    grace: float, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measuring goes on for a short while; what single values tell is left at once, as there may be hundreds."""
    made = Mondrian(require=(KAnonymity(k=5),), recoding="order").anonymize(table, Engine(seed=1))
    engine = Engine(seed=1, workers=1)
    whole = LinkedPosterior.run

    def run(posterior: LinkedPosterior) -> None:
        whole(posterior)
        engine.stop.set()  # as the timer of --minutes does

    monkeypatch.setattr(LinkedPosterior, "run", run)
    monkeypatch.setattr(findings, "GRACE", grace)
    found = run_audit({"order": made.release}, original=table, engine=engine, limits=["k_anonymity >= 5"])
    diagnostics = found.document.diagnostics
    assert diagnostics["verdict"] in ("inconclusive", "exceeded")  # never a pass
    assert any("stopped before its end" in text for text in diagnostics["remarks"])
    readers = {row["reader"]: row for row in diagnostics["readers"]}
    assert readers["learner"]["applicable"]
    assert readers["random_worlds"]["applicable"]
    assert not readers["boosted"]["applicable"]
    assert readers["boosted"]["reason"] == "stopped before boosting had finished learning"
    measured = {f.id: f.value for f in found.document.findings if f.reader == "random_worlds"}
    assert (measured["random_worlds.global_threat"] is not None) == (grace > 0)
    assert all(value is None for id, value in measured.items() if ".value:" in id)
    assert any(".value:" in id for id in measured)


def test_no_further_stage_is_begun_after_a_stop(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever pressed Ctrl-C waits for what was begun alone; a limit on the rest is kept by nobody."""
    engine = Engine(seed=1, workers=1)

    def begun(*_: object) -> list[Finding]:
        engine.stop.set()
        return []

    def never(*_: object) -> list[Finding]:
        raise AssertionError("begun after the stop")

    for name, stage in {"utility_findings": begun, "quality_findings": never, "analyst_findings": never}.items():
        monkeypatch.setattr(release_part, name, stage)
    found = run_audit({"as is": table.as_release()}, original=table, engine=engine, limits=["propensity_mse <= 0.5"])
    assert not [f for f in found.document.findings if f.measure == "propensity_mse"]
    assert found.document.diagnostics["verdict"] in ("inconclusive", "exceeded")

"""A budget that ends while overlapping regions of many values are learned from: nothing cut short is reported."""

import numpy as np
import pytest

from small import QI, SENSITIVE, made_schema
from unveil.anonymizers.mondrian import Mondrian
from unveil.attackers.posterior.linked_posterior import LinkedPosterior
from unveil.audit import run_audit
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


def test_what_was_reached_is_said_and_models_cut_short_are_not(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Mondrian(require=(KAnonymity(k=5),), recoding="order").anonymize(table, Engine(seed=1))
    engine = Engine(seed=1, workers=1)
    whole = LinkedPosterior.run

    def run(posterior: LinkedPosterior) -> None:
        whole(posterior)
        engine.stop.set()  # as the timer of --minutes does

    monkeypatch.setattr(LinkedPosterior, "run", run)
    found = run_audit({"order": made.release}, original=table, engine=engine, limits=["k_anonymity >= 5"])
    diagnostics = found.document.diagnostics
    assert diagnostics["verdict"] in ("inconclusive", "exceeded")  # never a pass
    assert any("stopped before its end" in text for text in diagnostics["remarks"])
    readers = {row["reader"]: row for row in diagnostics["readers"]}
    assert readers["learner"]["applicable"]
    assert readers["random_worlds"]["applicable"]
    assert not readers["boosted"]["applicable"]
    assert readers["boosted"]["reason"] == "stopped before boosting had learned"

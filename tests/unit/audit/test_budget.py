"""A budget that ends while overlapping regions of many values are learned from: what was reached, and nothing cut short."""

import numpy as np
import pytest

from small import QI, SENSITIVE, made_schema
from unveil.anonymizers.mondrian import Mondrian
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


def test_what_was_reached_is_said_and_models_cut_short_are_not(table: Table) -> None:
    made = Mondrian(require=(KAnonymity(k=5),), recoding="order").anonymize(table, Engine(seed=1))
    engine = Engine(seed=1, workers=1)
    heard = []

    def listen(task: str, done: int, total: int) -> None:
        heard.append(task)
        if "overlapping" in task and done >= total / 2:
            engine.stop.set()  # as the timer of --minutes does

    listening = Engine(seed=1, workers=1, progress=listen, stop=engine.stop)
    found = run_audit({"order": made.release}, original=table, engine=listening, limits=["k_anonymity >= 5"])
    assert any("overlapping" in task for task in heard)
    assert found.document.diagnostics["exit_code"] == 3
    assert any("stopped before its end" in text for text in found.document.diagnostics["remarks"])
    readers = {row["reader"]: row for row in found.document.diagnostics["readers"]}
    assert not readers["boosted"]["applicable"] if "boosted" in readers else "learner" not in readers

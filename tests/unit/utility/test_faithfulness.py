"""Faithfulness: by hand, by both estimators, and at its ends."""

import numpy as np
import pytest

from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.mondrian import Mondrian
from unveil.attackers.posterior.contract import Chains
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.models import KAnonymity
from unveil.utility import faithfulness as module
from unveil.utility.faithfulness import faithfulness

SHORT = Chains(chains=4, sweeps=300, burn_in=100, keep=100, most_sweeps=0, every=10)


def made_up(rows: int = 60) -> Table:
    random = np.random.default_rng(4)
    sick = random.choice(["a", "b", "c"], size=rows, p=[0.5, 0.3, 0.2])
    age = np.clip(np.where(sick == "a", 20, 26) + random.integers(0, 6, size=rows), 20, 31)
    sex = np.where(random.random(rows) < np.where(sick == "b", 0.8, 0.3), "f", "m")
    schema = Schema(
        SchemaDocument.model_validate(
            {
                "version": 1,
                "confirmed": True,
                "attributes": {
                    "age": {"role": "quasi-identifier", "kind": "numeric", "domain": {"from": 20, "to": 31}},
                    "sex": {"role": "quasi-identifier", "domain": ["f", "m"]},
                    "sick": {"role": "sensitive", "domain": ["a", "b", "c"]},
                },
            }
        )
    )
    return Table.from_columns(schema, {"age": age.tolist(), "sex": sex.tolist(), "sick": sick.tolist()})


def test_the_original_is_wholly_faithful() -> None:
    table = made_up()
    found = faithfulness(table.as_release(), table, 2)
    assert found.value == pytest.approx(1, abs=1e-12)
    assert found.low == found.value == found.high


def test_one_group_by_hand() -> None:
    """All quasi-identifiers `*`: p_L is the values' shares times the uniform prior means."""
    table = made_up()
    release = Mondrian(require=(KAnonymity(k=60),), regions="cut").anonymize(table, Engine(seed=0)).release
    share = (np.bincount(table.columns[2], minlength=3) + 1) / (table.rows + 3)
    held = [
        np.bincount(table.columns[2] * n + table.columns[i], minlength=3 * n).reshape(3, n)
        for i, n in ((0, 12), (1, 2))
    ]
    given = [(h + 1) / (h.sum(axis=1, keepdims=True) + h.shape[1]) for h in held]
    ideal = share[:, None, None] * given[0][:, :, None] * given[1][:, None, :]
    learned = np.broadcast_to(share[:, None, None] / 24, ideal.shape)
    assert faithfulness(release, table, 2).value == pytest.approx(1 - np.abs(ideal - learned).sum() / 2, abs=1e-12)


@pytest.mark.parametrize("method", [Mondrian(require=(KAnonymity(k=5),)), Anatomy(l=2)])
def test_both_estimators_agree(method: Mondrian | Anatomy, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made_up()
    release = method.anonymize(table, Engine(seed=1)).release
    summed = faithfulness(release, table, 2, chains=SHORT)
    monkeypatch.setattr(module, "MOST_CELLS", 0)
    drawn = faithfulness(release, table, 2, chains=SHORT)
    assert 0 <= drawn.low <= drawn.value <= drawn.high <= 1
    assert abs(drawn.value - summed.value) < 5 * (drawn.high - drawn.low) / 4
    assert 0.3 < summed.value < 1

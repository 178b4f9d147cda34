"""What a reader of an audit must bear in mind: of whom it is said."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unveil.audit.remarks import remarks_of_answers
from unveil.data.belief import Belief, Diagnostics


@pytest.mark.parametrize(("method", "said"), [("exact", 0), ("sampled", 1)])
def test_r_hat_is_missed_of_sampled_beliefs_alone(method: str, said: int) -> None:
    """An exact posterior has as many chains as it was asked for, all alike: there is no R-hat to miss."""
    half = np.full((3, 2), 0.5)
    attacker = Belief(half, chains=np.stack([half, half]), diagnostics=Diagnostics(method))
    found: Any = SimpleNamespace(
        learner=Belief(half.copy()),
        attackers={"bayesian": attacker},
        attribute=SimpleNamespace(name="disease", codes=2, harmless=()),
        controls=None,
        unplaced=0,
    )
    plan: Any = SimpleNamespace(least=0)
    remarks = list(remarks_of_answers(plan, "r.csv", found))
    assert len(remarks) == said
    assert all("R-hat is not known (bayesian)" in text for text in remarks)

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
        truth=None,
    )
    plan: Any = SimpleNamespace(least=0)
    remarks = list(remarks_of_answers(plan, "r.csv", found))
    assert len(remarks) == said
    assert all("R-hat is not known (bayesian)" in text for text in remarks)


def sampled(right: float, people: int, **facts: str) -> Belief:
    """Two chains that guess this share of people right, whose value is the first."""
    first = np.arange(people) < right * people
    p = np.where(first[:, None], [0.9, 0.1], [0.1, 0.9])
    return Belief(p, np.stack([p, p]), Diagnostics("sampled", facts=facts, r_hat=np.ones(1)))


@pytest.mark.parametrize(
    ("people", "attacker", "said"),
    [
        (400, 0.12, "r.csv, status: bayesian guesses right for 12.0%, learner for 50.0%: the chains may be in a wrong"),
        (400, 0.48, ""),  # by chance
        (4, 0.25, ""),
        (400, 0.52, "r.csv, status: bayesian guesses right for 52.0%, random worlds for 72.0%: the chains may be"),
    ],
)
def test_who_knows_more_and_guesses_worse_is_remarked(people: int, attacker: float, said: str) -> None:
    worlds = Belief(sampled(0.72, people).probability.copy())
    found: Any = SimpleNamespace(
        learner=sampled(0.5, people),
        attackers={"bayesian": sampled(attacker, people)} | ({"random_worlds": worlds} if attacker > 0.5 else {}),
        attribute=SimpleNamespace(name="status", codes=2, harmless=()),
        controls=None,
        unplaced=0,
        truth=np.zeros(people, dtype=np.int64),
    )
    plan: Any = SimpleNamespace(least=0)
    remarks = list(remarks_of_answers(plan, "r.csv", found))
    assert len(remarks) == bool(said)
    assert all(text.startswith(said) for text in remarks)


def test_several_readings_and_alarms_are_said_once() -> None:
    facts = {"readings": "two readings of the release fit", "alarm": "a chain from another start fits as well"}
    found: Any = SimpleNamespace(
        learner=sampled(0.5, 10, **facts),
        attackers={"bayesian": sampled(0.5, 10, **facts)},
        attribute=SimpleNamespace(name="status", codes=2, harmless=()),
        controls=None,
        unplaced=0,
        truth=None,
    )
    plan: Any = SimpleNamespace(least=0)
    assert list(remarks_of_answers(plan, "r.csv", found)) == [f"r.csv, status: {text}." for text in facts.values()]

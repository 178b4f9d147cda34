"""What a reader of an audit must bear in mind: of whom it is said."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unveil.attackers.bayesian import Bayesian
from unveil.attackers.boosted import Boosted
from unveil.attackers.fixed_prior import FixedPrior
from unveil.audit.asking import _doubted
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
        (400, 0.12, "r.csv, status: bayesian guesses right for 12.0%, learner for 50.0%: who knows more must not do"),
        (400, 0.48, ""),  # by chance
        (4, 0.25, ""),
        (400, 0.52, "r.csv, status: bayesian guesses right for 52.0%, random worlds for 72.0%: who knows more"),
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


@pytest.mark.parametrize(
    ("attacker", "right", "trusted"),
    [
        (Bayesian(), 0.12, False),
        (Boosted(), 0.12, False),  # it learns, though it asks for no chains: it held a mode of 0.24% of the posterior
        (Boosted(), 0.82, True),  # another model may do a little worse
        (Boosted(), 0.95, True),
        (FixedPrior(), 0.12, True),  # it learns nothing, and may well do worse
    ],
)
def test_who_does_far_worse_than_who_knows_less_is_not_trusted(attacker: Any, right: float, trusted: bool) -> None:
    truth = np.zeros(400, dtype=np.int64)
    (found,) = _doubted(sampled(0.88, 400), {"one": sampled(right, 400)}, {"one": attacker}, truth).values()
    assert found.diagnostics.converged == trusted
    said = "one guesses right for 12.0%, learner for 88.0%: who knows more must not do worse"
    assert trusted or str(found.diagnostics.facts["alarm"]).startswith(said)


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

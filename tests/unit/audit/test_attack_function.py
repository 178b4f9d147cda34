"""unveil.attack: the library's one call from a release and people to beliefs."""

import numpy as np
import pytest

import unveil
from one_round import run_attack
from small import QI, SENSITIVE, made_schema, made_table
from unveil.errors import UsageError

TABLE = made_table(
    made_schema({"sex": {"role": QI}, "job": {"role": QI}, "ill": {"role": SENSITIVE}, "pay": {"role": SENSITIVE}}),
    ("f", "a", "flu", "low"),
    ("f", "b", "none", "high"),
    ("m", "a", "none", "low"),
    ("m", "a", "flu", "high"),
)


def test_a_table_is_asked_about_row_by_row() -> None:
    release = TABLE.as_release()
    half = "bayesian:membership=0.5"
    found = unveil.attack(release, TABLE, ["random_worlds", half], asked="ill", known=["sex"])
    assert list(found.attackers) == ["random_worlds", half]
    assert found.truth is not None
    assert found.truth.tolist() == TABLE.columns[2].tolist()
    targets = unveil.targets_of_table(TABLE, release, 2, known=["sex"])
    engine = unveil.Engine(seed=0)
    wanted = run_attack(release, targets, {half: unveil.attacker(half)}, engine=engine).attackers[half]
    assert np.array_equal(found.attackers[half].probability, wanted.probability)
    # One woman of two and one man of two has flu.
    assert found.attackers["random_worlds"].probability == pytest.approx(np.full((4, 2), 0.5))
    again = unveil.attack(release, targets, {"x": unveil.attacker("random_worlds")})
    assert again.truth is None
    assert np.array_equal(again.attackers["x"].probability, found.attackers["random_worlds"].probability)


def test_what_does_not_go_together() -> None:
    release = TABLE.as_release()
    with pytest.raises(UsageError, match="say which sensitive attribute"):
        unveil.attack(release, TABLE)
    with pytest.raises(UsageError, match="say themselves"):
        unveil.attack(release, unveil.targets_of_table(TABLE, release, 2), asked="ill")

"""Privacy loss on beliefs and releases worked by hand, with every distance."""

from math import log

import numpy as np
import pytest

from small import QI, SENSITIVE, made_release, made_schema
from unveil.data.belief import Belief
from unveil.errors import UsageError
from unveil.privacy.distances import DISTANCES, Geometry
from unveil.privacy.reference import geometry_of
from unveil.risk import group_belief, overall_belief, privacy_loss, privacy_loss_max, privacy_loss_mean

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 30}},
        "s": {"role": SENSITIVE, "domain": ["a", "b", "c"]},
    },
    {"s": [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]},
)
AGE, S = (SCHEMA.attribute(name) for name in SCHEMA.names)
YOUNG = ("20", "21")
WIDE = made_release(
    (AGE, S),
    [((0, 1), [(0, YOUNG, "a"), (0, YOUNG, "b"), (1, "30", "a"), (1, "30", "a"), (1, "30", "c"), (2, "25", "*")])],
)
BUCKETS = made_release(
    (AGE, S), [((0,), [(0, "20"), (0, "21"), (1, "22"), (1, "22")]), ((1,), [(0, "a"), (0, "b"), (1, "c"), (1, "c")])]
)


def test_what_a_group_says() -> None:
    belief, people = group_belief(WIDE, 1)
    shares = {tuple(np.round(p, 6)): n for p, n in zip(belief.probability.tolist(), people, strict=True)}
    assert shares == {(0.5, 0.5, 0.0): 2, (0.666667, 0.0, 0.333333): 3, (0.6, 0.2, 0.2): 1}  # withheld: as everyone
    assert overall_belief(WIDE, 1).probability.tolist() == [[0.6, 0.2, 0.2]]
    belief, people = group_belief(BUCKETS, 1)
    assert sorted(belief.probability.tolist()) == [[0, 0, 1], [0.5, 0.5, 0]]
    assert people.tolist() == [2, 2]
    nothing = made_release((AGE, S), [((0, 1), [(0, "20", "*")])])
    assert overall_belief(nothing, 1).probability.tolist() == [[1 / 3, 1 / 3, 1 / 3]]


def test_loss_against_everyone() -> None:
    belief, people = group_belief(BUCKETS, 1)
    before = overall_belief(BUCKETS, 1)  # 1/4 1/4 1/2
    loss = privacy_loss(belief, before)
    # Both: half of their mass lies where the other has half of its own.
    js = (log(4 / 3) + 0.5 * log(2 / 3) + 0.5 * log(2)) / 2
    assert loss == pytest.approx([js, js])
    assert privacy_loss_max(belief, before).value == pytest.approx(js)
    assert privacy_loss(belief, before, distance="variational").tolist() == [0.5, 0.5]
    assert privacy_loss_mean(belief, before, people=people).value == pytest.approx(js)


def test_the_mean_is_over_people() -> None:
    belief, people = group_belief(WIDE, 1)
    before = overall_belief(WIDE, 1)
    loss = privacy_loss(belief, before, distance="variational")
    # 2 people at .3, 3 at .2 (.067 + .133), 1 at 0
    assert sorted(loss) == pytest.approx([0, 0.2, 0.3])
    mean = privacy_loss_mean(belief, before, distance="variational", people=people)
    assert mean.value == pytest.approx((2 * 0.3 + 3 * 0.2) / 6)
    assert privacy_loss_mean(belief, before, distance="variational").value == pytest.approx(0.5 / 3)
    assert privacy_loss_max(belief, before, distance="variational").value == pytest.approx(0.3)


def test_a_revealed_value() -> None:
    before = Belief(np.array([[0.75, 0.25]]))
    shown = Belief(np.eye(2))
    for row, q in enumerate((0.75, 0.25)):
        middle = np.array([(1 + q) / 2, (1 - q) / 2])
        wanted = (np.log(1 / middle[0]) + q * np.log(q / middle[0]) + (1 - q) * np.log((1 - q) / middle[1])) / 2
        assert privacy_loss(shown, before)[row] == pytest.approx(wanted)
    assert privacy_loss(before, before).tolist() == [0]


@pytest.mark.parametrize("name", DISTANCES)
def test_every_distance_and_the_learner(name: str) -> None:
    belief, _ = group_belief(WIDE, 1)
    ground = geometry_of(S)
    learner = Belief(np.array([[0.5, 0.25, 0.25]] * 3))
    found = privacy_loss(belief, learner, distance=name, ground=ground)
    assert found == pytest.approx(DISTANCES[name](belief.probability, learner.probability, ground))
    assert privacy_loss_max(belief, learner, distance=name, ground=ground).value == pytest.approx(found.max())


def test_intervals_come_from_the_chains() -> None:
    chains = np.array([[[0.5, 0.5]], [[0.7, 0.3]]])
    belief, before = Belief(chains.mean(axis=0), chains), Belief(np.array([[0.5, 0.5]]))
    found = privacy_loss_max(belief, before, distance="variational")
    assert found.value == pytest.approx(0.1)
    assert found.low == 0
    assert found.high > 0.2


def test_what_cannot_be_compared() -> None:
    two = Belief(np.full((2, 2), 0.5))
    with pytest.raises(UsageError, match="cannot be compared"):
        privacy_loss(Belief(np.full((3, 2), 0.5)), two)
    with pytest.raises(UsageError, match="about 2 values"):
        privacy_loss(two, Belief(np.full((1, 4), 0.25)))
    with pytest.raises(UsageError, match="about 3 values, the beliefs about 2"):
        privacy_loss(two, two, ground=Geometry(position=np.arange(3.0)))
    for people in (np.array([1]), np.array([1, -1]), np.array([0, 0])):
        with pytest.raises(UsageError, match="for how many"):
            privacy_loss_mean(two, two, people=people)

"""Membership inference: the curve at few false alarms by hand, and shadow models that see overfitting."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.risk.membership import infer_membership, roc, train_shadows, true_positive_at


class Recall:
    """A model that answers 1 for the label of whomever it has seen, and one half for all else."""

    def __init__(self, features: Any, labels: Any) -> None:
        self.seen = {tuple(row): int(label) for row, label in zip(features, labels, strict=True)}

    def predict_proba(self, features: Any) -> Any:
        found = np.full((len(features), 2), 0.5)
        for i, row in enumerate(features):
            if tuple(row) in self.seen:
                found[i] = np.eye(2)[self.seen[tuple(row)]]
        return found


def people(count: int = 240) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.normal(size=(count, 2)), random.integers(2, size=count)


def test_true_positives_at_a_rate_by_hand() -> None:
    # From the highest score down, alarms and hits are (0, 1), (1, 1), (3, 3), (3, 4), (4, 4).
    curve = roc(np.array([9.0, 7, 7, 5]), np.array([8.0, 7, 7, 3]))
    assert true_positive_at(curve, 0) == 0.25  # 9 is above all others: no alarm is needed to find it
    assert true_positive_at(curve, 0.25) == 0.25
    assert true_positive_at(curve, 0.5) == 0.5  # half of the four who have 7 are accused: one of two, on average
    assert true_positive_at(curve, 0.75) == 1.0  # the highest point above 3/4
    assert true_positive_at(curve, 1) == 1.0
    with pytest.raises(UsageError, match="between 0 and 1"):
        true_positive_at(curve, 1.5)


def test_ties_are_resolved_as_by_drawing_whom_to_accuse() -> None:
    # All have one score: to accuse one of three others, all ways to accuse as many of the seven are alike.
    members, others = np.zeros(4), np.zeros(3)
    accused = [sum(i < 4 for i in chosen) / 4 for size in range(8) for chosen in combinations(range(7), size)]
    wrong = [sum(i >= 4 for i in chosen) / 3 for size in range(8) for chosen in combinations(range(7), size)]
    assert np.mean(accused) == pytest.approx(true_positive_at(roc(members, others), float(np.mean(wrong))))
    assert true_positive_at(roc(members, others), 0.01) == pytest.approx(0.01)


def test_a_model_that_recalls_everybody_gives_all_away() -> None:
    found = infer_membership(Recall, *people(), shadows=2)
    assert found.auc == infer_membership(Recall, *people(), shadows=2).auc
    assert found.auc.value == 1.0
    assert found.true_positive == {0.001: 1.0, 0.01: 1.0, 0.1: 1.0}
    assert found.trained == 1.0
    assert found.tested < 0.7


def test_a_model_that_learns_nothing_gives_nothing_away() -> None:
    def flat(model: Any, features: Any) -> Any:
        return np.full((len(features), 2), 0.5)

    found = infer_membership(Recall, *people(), shadows=2, predict_proba=flat)
    assert found.auc.value == pytest.approx(0.5, abs=0.1)
    assert found.auc.low <= 0.5 <= found.auc.high
    assert found.true_positive[0.01] <= 0.02


def test_a_deep_tree_gives_more_away_than_a_stump() -> None:
    from sklearn.tree import DecisionTreeClassifier

    random = np.random.default_rng(3)
    features = random.normal(size=(800, 4))
    labels = (features[:, 0] + random.normal(size=800) > 0).astype(int)
    area = {}
    for depth in (None, 1):
        fit = DecisionTreeClassifier(max_depth=depth, random_state=0).fit
        found = infer_membership(fit, features, labels, shadows=2, engine=Engine(seed=1))
        area[depth] = found.auc
    assert area[None].low > 0.55
    assert area[1].low <= 0.5 <= area[1].high


def test_the_attacker_of_a_model_that_is_already_there() -> None:
    features, labels = people()
    attack = train_shadows(Recall, features[:120], labels[:120], shadows=2)
    target = Recall(features[120:180], labels[120:180])
    score = attack.score(target.predict_proba(features[120:]), labels[120:])
    assert score[:60].min() > score[60:].max()
    # Of a label that the attacker never met there is nothing to say.
    assert attack.score(np.full((1, 3), 1 / 3)[:, :2], np.array([2])).tolist() == [0.5]


def test_a_label_that_a_half_lacks_is_no_error() -> None:
    from sklearn.tree import DecisionTreeClassifier

    features, labels = people(40)
    labels[0] = 2
    found = infer_membership(DecisionTreeClassifier(random_state=0).fit, features, labels, shadows=2)
    assert 0 <= found.auc.value <= 1


def test_what_is_no_table_of_people_is_refused() -> None:
    features, labels = people(12)
    with pytest.raises(UsageError, match="whole numbers from 0"):
        infer_membership(Recall, features, labels - 1)
    with pytest.raises(UsageError, match="one row per person"):
        infer_membership(Recall, features, labels[:-1])
    with pytest.raises(UsageError, match="8 or more"):
        infer_membership(Recall, features[:5], labels[:5])
    with pytest.raises(UsageError, match="teach nothing"):
        train_shadows(Recall, features, labels, shadows=0)

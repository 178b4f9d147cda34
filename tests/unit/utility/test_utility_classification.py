"""Classifiers on releases: encodings by hand, naive Bayes by counting, and what must come out of simple tables."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from small import QI, SENSITIVE, made_release, made_schema
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.privacy.models import KAnonymity
from unveil.utility import classification_accuracy, classification_accuracy_held_out
from unveil.utility.classification import _encoded, _fitted, _labels, _pruned_tree, _readings

JOBS = [["cook", "food", "*"], ["nurse", "care", "*"], ["waiter", "food", "*"], ["doctor", "care", "*"]]
SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 29}},
        "job": {"role": QI, "domain": [row[0] for row in JOBS]},
        "s": {"role": SENSITIVE, "domain": ["a", "b", "c"]},
    },
    {"job": JOBS},
)
AGE, JOB, S = (SCHEMA.attribute(name) for name in SCHEMA.names)
MODELS = ("naive_bayes", "tree", "pruned_tree", "boosting")


def made_people(rows: int, seed: int, noise: float = 0.1) -> Table:
    """The sensitive value follows the age, but for some noise."""
    random = np.random.default_rng(seed)
    age, job = random.integers(0, 10, rows), random.integers(0, 4, rows)
    s = np.where(random.random(rows) < noise, random.integers(0, 3, rows), (age > 3).astype(int) + (age > 6))
    return Table((AGE, JOB, S), (age.astype(AGE.dtype), job.astype(JOB.dtype), s.astype(S.dtype)))


def test_encodings_by_hand() -> None:
    """Ages 22-25: the middle is 3.5 places up. Categories lie as the hierarchy lists them: cook waiter nurse doctor."""
    release = made_release(
        (AGE, JOB, S),
        [((0, 1, 2), [(0, ("22", "23", "24", "25"), ("waiter", "doctor"), "a"), (1, "29", "nurse", "b")])],
    )
    (middle,) = _readings(release, 2, "midpoint", 1, 0)
    assert middle.features.tolist() == [[3.5, 2.0], [9.0, 2.0]]
    (bounds,) = _readings(release, 2, "bounds", 1, 0)
    assert bounds.features.tolist() == [[2, 5, 1, 3], [9, 9, 2, 2]]
    assert bounds.label.tolist() == [0, 1]
    assert bounds.codes == (10, 10, 4, 4)


def test_a_wide_label_is_its_middle_and_a_star_none() -> None:
    release = made_release((AGE, S), [((0, 1), [(0, ("21", "22", "23"), "a"), (1, "*", "*"), (2, "25", "b")])])
    label = _labels(release, 0)
    shown = {tuple(release.regions[0].members(r).tolist()): int(label[r]) for r in range(len(release.regions[0]))}
    assert shown == {(1, 2, 3): 2, tuple(range(10)): -1, (5,): 5}


def test_hidden_links_are_drawn_within_groups() -> None:
    table = made_people(60, 3)
    release = Anatomy(l=2).anonymize(table, Engine(seed=2)).release
    one, other = _readings(release, 2, "bounds", 2, 5)
    assert (one.features == other.features).all()
    assert (one.label != other.label).any()
    groups = np.repeat(np.arange(release.groups), release.sizes)
    histograms, _ = release.histograms(2)
    for rows in (one, other):
        found = np.zeros_like(histograms)
        np.add.at(found, (groups, rows.label), 1)
        assert (found == histograms).all()


def test_naive_bayes_counts() -> None:
    """P(s) · P(age | s) · P(job | s) with one count added to each of the codes."""
    table = made_people(80, 1, noise=0.4)
    singles = list(table.as_release().regions[:2])
    columns = [column.astype(np.int64) for column in table.columns[:2]]
    features, codes = _encoded([AGE, JOB], singles, columns, "midpoint")
    label = table.columns[2].astype(np.int64)
    predicted = _fitted("naive_bayes", features, label, codes, 0)(features)
    for row in range(table.rows):
        score = []
        for s in (0, 1, 2):
            own = label == s
            chance = own.mean()
            for column, width in enumerate(codes):
                same = (features[own, column] == features[row, column]).sum()
                chance *= (same + 1) / (own.sum() + width)
            score.append(chance)
        assert predicted[row] == int(np.argmax(score))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("encoding", ["midpoint", "bounds"])
def test_what_can_be_learned_is_learned(model: str, encoding: str) -> None:
    table, others = made_people(400, 1, noise=0), made_people(200, 2, noise=0)
    original = table.as_release()
    options = {"model": model, "encoding": encoding}
    assert classification_accuracy(original, folds=5, **options).value > 0.98
    assert classification_accuracy_held_out(original, others, **options).value > 0.98
    nothing = made_release((AGE, JOB, S), [((0, 1, 2), [(0, "*", "*", "a")] * 6 + [(0, "*", "*", "b")] * 4)])
    found = classification_accuracy(nothing, folds=5, **options)
    assert found.value == pytest.approx(0.6)  # always the commoner value
    assert 0 <= found.low <= 0.6 <= found.high <= 1
    held = classification_accuracy_held_out(nothing, others, **options)
    share = float((others.columns[2] == 0).mean())
    assert held.value == pytest.approx(share)
    assert held.high - held.value == pytest.approx(1.96 * (share * (1 - share) / 199) ** 0.5, rel=1e-3)


def test_a_wide_release_tells_less_and_a_bucketized_one_as_well() -> None:
    table, others = made_people(400, 1), made_people(300, 2)
    exact = classification_accuracy_held_out(table.as_release(), others).value
    wide = Mondrian(require=(KAnonymity(k=150),)).anonymize(table, Engine(seed=0)).release
    buckets = Anatomy(l=2).anonymize(table, Engine(seed=1)).release
    assert classification_accuracy_held_out(buckets, others).value < exact
    assert classification_accuracy(buckets, folds=4).value < classification_accuracy(table.as_release(), folds=4).value
    assert classification_accuracy_held_out(wide, others).value <= exact
    again = [classification_accuracy(buckets, folds=4, matchings=2, seed=7) for _ in range(2)]
    assert again[0] == again[1]


def test_a_pruned_tree_keeps_what_pays() -> None:
    """One cut tells which of two labels is likely, the rest is noise: grown to the end, it is learned by heart."""
    random = np.random.default_rng(4)
    features = random.integers(0, 100, (1000, 3)).astype(float)
    label = np.where(random.random(1000) < 0.2, random.integers(0, 2, 1000), features[:, 0] < 50).astype(np.int64)
    tree = _pruned_tree(features, label, 0)
    grown = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=tree.min_samples_leaf, random_state=0)
    assert 2 <= tree.get_n_leaves() <= 6 < 60 < grown.fit(features, label).get_n_leaves()
    assert tree.tree_.feature[0] == 0
    assert tree.tree_.threshold[0] == pytest.approx(49.5, abs=1)
    # A cut into two pure halves saves 1000 bits and costs 5; into halves of 48% and 52% it saves 1.
    codes = np.repeat([0, 1], 500)
    assert _pruned_tree(codes[:, None].astype(float), codes, 0).get_n_leaves() == 2
    alike = np.concatenate([np.arange(500) < 240, np.arange(500) < 260]).astype(np.int64)
    assert _pruned_tree(codes[:, None].astype(float), alike, 0).get_n_leaves() == 1


def test_what_cannot_be_learned() -> None:
    table = made_people(20, 1)
    release = table.as_release()
    for options, message in (
        ({"folds": 1}, "folds = 1: choose from 2 to the 20 rows"),
        ({"model": "oracle"}, "choose naive_bayes, tree, pruned_tree or boosting"),
        ({"encoding": "words"}, "choose midpoint or bounds"),
        ({"matchings": 0}, "at least once"),
    ):
        with pytest.raises(UsageError, match=message):
            classification_accuracy(release, **options)
    alone = made_release((S,), [((0,), [(0, "a"), (0, "b")])])
    with pytest.raises(NotApplicable, match="another attribute"):
        classification_accuracy(alone)
    withheld = made_release((AGE, JOB, S), [((0, 1, 2), [(0, "20", "cook", "*")] * 3)])
    with pytest.raises(NotApplicable, match="withholds s of every row"):
        classification_accuracy_held_out(withheld, table)

"""Attribute disclosure of masked tables, by hand; and more masking never discloses more, on average."""

import numpy as np
import pytest
from numpy.typing import NDArray

from small import QI, SENSITIVE, made_schema, made_table, masked_release
from unveil import catalog
from unveil.data.attribute import Role
from unveil.data.release import Anonymized
from unveil.data.rows import as_published, groups_of_origin
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.risk.disclosure import (
    MODELS,
    absent_disclosure,
    deviation_interval,
    deviation_interval_baseline,
    deviation_interval_disclosure,
    disclosure_by_inputs,
    distance_risk,
    model_baseline,
    model_disclosure,
    model_gain,
    model_guesses,
    paired,
    rank_interval,
    rank_interval_baseline,
    rank_interval_disclosure,
    sampled_disclosure,
    simple_baseline,
    simple_disclosure,
)

NAN = float("nan")


def floats(*values: float) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


def test_rank_intervals_by_hand() -> None:
    published, truth = floats(10, 20, 30, 40), floats(12, 19, 45, 30)
    # Half of four ranks: one rank to each side. [10,20] [10,30] [20,40] [30,40].
    assert rank_interval(truth, published, 50).tolist() == [1, 1, 0, 1]
    assert rank_interval_disclosure(truth, published, 50).value == 0.75
    assert rank_interval_baseline(truth, published, 50).value == 0.75  # [10,30] holds 12, 19 and 30
    assert rank_interval_disclosure(truth, published, 0).value == 0
    assert rank_interval_disclosure(truth, truth, 0).value == 1
    assert rank_interval_disclosure(truth, published, 100).value == 0.75  # 45 lies beyond every published value


def test_equal_published_values_share_their_ranks() -> None:
    published, truth = floats(10, 10, 20, 20), floats(10, 15, 20, 15)
    # The first 10 has [10,10], the second [10,20]: one of two holds 15.
    assert rank_interval(truth, published, 50).tolist() == [1, 0.5, 1, 0.5]


def test_missing_truth_is_left_out_and_a_suppressed_value_discloses_nothing() -> None:
    truth, published = floats(1, NAN, 3, 4), floats(1, 2, NAN, 4)
    assert np.array_equal(rank_interval(truth, published, 0), floats(1, NAN, 0, 1), equal_nan=True)
    assert np.array_equal(deviation_interval(truth, published, 0), floats(1, NAN, 0, 1), equal_nan=True)
    assert rank_interval_disclosure(truth, published, 0).value == pytest.approx(2 / 3)
    nothing = floats(NAN, NAN, NAN, NAN)
    assert rank_interval_disclosure(truth, nothing, 10).value == 0
    assert deviation_interval_disclosure(nothing, truth, 10).value == 0
    assert deviation_interval_baseline(nothing, 10).value == 0
    assert rank_interval_baseline(truth, nothing, 10).value == 0


def test_deviation_intervals_by_hand() -> None:
    truth, published = floats(0, 0, 10, 10), floats(1, 3, 10, 4)  # the deviation is 5
    assert deviation_interval(truth, published, 20).tolist() == [1, 0, 1, 0]
    assert deviation_interval_disclosure(truth, published, 60).value == 0.75
    assert deviation_interval_baseline(truth, 20).value == 0.5
    assert deviation_interval_baseline(truth, 100).value == 1  # 5 lies within 5 of everybody


def test_simple_disclosure_by_hand() -> None:
    truth = np.array([0, 1, 2, 2])
    assert simple_disclosure(truth, np.array([0, 2, 2, -1])).value == 0.5
    assert simple_baseline(truth).value == 0.5


def test_percentages_that_make_no_sense() -> None:
    for p in (-1.0, 101.0, NAN):
        with pytest.raises(UsageError, match="percentage"):
            rank_interval(floats(1), floats(1), p)
    with pytest.raises(UsageError, match="percentage"):
        deviation_interval(floats(1), floats(1), -1)


def small(x: list[float], facts: str, asked: str = "s") -> Table:
    schema = made_schema({"x": {"role": QI, "kind": "numeric"}, "s": {"role": SENSITIVE}})
    return made_table(schema, *zip(x, facts, strict=True))


def changed(table: Table, **columns: NDArray[np.generic]) -> Anonymized:
    """A masked release of a table, its rows turned round, with these columns published instead."""
    published = list(as_published(table.attributes, table.columns))
    names = [a.name for a in table.attributes]
    for name, column in columns.items():
        published[names.index(name)] = column
    origin = np.arange(table.rows)[::-1].copy()
    masked = masked_release(table.attributes, tuple(c[origin] for c in published), (0,))
    return Anonymized(masked, groups_of_origin(origin, table.rows))


def test_a_fact_that_only_the_own_row_tells_is_all_gain() -> None:
    # The nearest row is one's own; without it the nearest is a neighbour with another fact.
    table = small([0, 1, 10, 11], "abab")
    found = model_guesses(table, changed(table), "s", model="nearest", folds=4, repeats=2)
    assert (model_disclosure(found).value, model_baseline(found).value, model_gain(found).value) == (1, 0, 1)
    assert model_gain(found).low == model_gain(found).high == 1


def test_a_fact_that_others_tell_is_no_gain() -> None:
    table = small([0, 1, 10, 11], "aabb")
    found = model_guesses(table, changed(table), "s", model="nearest", folds=4, repeats=1)
    assert (model_disclosure(found).value, model_baseline(found).value, model_gain(found).value) == (1, 1, 0)


def test_models_learn_from_what_is_published_and_are_scored_on_the_truth() -> None:
    table = small([0, 1, 10, 11], "aabb")
    other = np.array([1, 1, 0, 0])  # the published facts are the others
    found = model_guesses(table, changed(table, s=other), "s", model="nearest", folds=4, repeats=1)
    assert model_disclosure(found).value == 0
    # Everybody's number is published as another's: 0 and 1 lie at 9 and 12, 10 and 11 at 3 and 2.
    found = model_guesses(table, changed(table, x=floats(9, 12, 3, 2)), "s", model="nearest", folds=4, repeats=1)
    assert model_disclosure(found).value == 0


def test_numbers_are_guessed_within_an_interval() -> None:
    schema = made_schema({"x": {"role": QI, "kind": "numeric"}, "y": {"role": SENSITIVE, "kind": "numeric"}})
    table = made_table(schema, (0, 0), (1, 4), (10, 100), (11, 104))  # the deviation of y is about 50.04
    found = model_guesses(table, changed(table), "y", model="nearest", folds=4, repeats=1)
    assert model_baseline(found, p=7).value == 0
    assert model_baseline(found, p=8).value == 1  # 4 lies within 8 % of 50.04
    assert model_disclosure(found, p=0).value == 1
    with pytest.raises(UsageError, match="percentage"):
        model_disclosure(found, p=-1)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_learns(model: str) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=60).round(3)
    table = small(x.tolist(), "".join("ab"[int(v > 0)] for v in x))
    found = model_guesses(table, changed(table), "s", model=model, repeats=1, folds=2)
    assert model_baseline(found).value > 0.85
    numeric = made_schema({"x": {"role": QI, "kind": "numeric"}, "y": {"role": SENSITIVE, "kind": "numeric"}})
    line = made_table(numeric, *zip(x.tolist(), (3 * x).round(6).tolist(), strict=True))
    found = model_guesses(line, changed(line), "y", model=model, repeats=1, folds=2)
    assert model_baseline(found, p=40).value > 0.8


def test_one_fact_for_everybody_and_a_model_of_ones_own() -> None:
    table = small([0, 1, 2, 3], "aaaa")
    assert model_baseline(model_guesses(table, changed(table), "s", folds=2)).value == 1
    from sklearn.dummy import DummyClassifier

    table = small([0, 1, 2, 3, 4], "aaabb")
    found = model_guesses(table, changed(table), "s", model=lambda categorical, seed: DummyClassifier(), folds=5)
    assert model_disclosure(found).value == 0.6


def test_inputs_are_added_best_first() -> None:
    random = np.random.default_rng(3)
    schema = made_schema(
        {n: {"role": QI, "domain": ["0", "1"]} for n in ("a", "b", "c")}
        | {"s": {"role": SENSITIVE, "domain": ["0", "1"]}}
    )
    bits = random.integers(0, 2, (3, 60))
    table = made_table(schema, *[(a, b, c, c) for a, b, c in bits.T.tolist()])
    found = disclosure_by_inputs(table, changed(table), "s", most=2, repeats=2)
    assert found[0].inputs == ("c",)
    assert [one.baseline.value for one in found] == [1, 1]
    assert len(found[1].inputs) == 2


def test_absent_facts_by_hand() -> None:
    # Nearest neighbours. With everybody labelled x and x' tell the same; without themselves the last, published as 3,
    # is told 1's fact, and the other three the same as before.
    table = small([0, 1, 10, 11], "aabb")
    made = changed(table, x=floats(0, 1, 10, 3))
    value, baseline = absent_disclosure(table, made, np.array([0, 0, 1, 1]), model="nearest", folds=4, repeats=1)
    assert (value.value, baseline.value) == (1, 0.75)
    # Labelled are 1 and 10: of x 0, 1 | 10, 11; of x' 0, 1, 3 | 10.
    value, _ = absent_disclosure(table, made, np.array([-1, 0, 1, -1]), model="nearest", folds=2, repeats=1)
    assert value.value == 0.75
    with pytest.raises(UsageError, match="are labelled"):
        absent_disclosure(table, made, np.array([-1, -1, 1, -1]), folds=2)
    with pytest.raises(UsageError, match="one a row"):
        absent_disclosure(table, made, np.array([1, 0]))


def test_absent_facts_of_other_people_by_hand() -> None:
    table = small([0, 1, 10, 11], "aabb")
    made = changed(table, x=floats(0, 1, 10, 3))
    sample = Table(table.attributes, tuple(c[[0, 2]] for c in table.columns))  # at 0 and 10
    value, baseline = sampled_disclosure(table, made, sample, np.array([0, 1]), model="nearest")
    assert value.value == 0.75
    assert baseline.value == 0.5 * 0.75 + 0.5 * 0.25
    with pytest.raises(UsageError, match="from 0"):
        sampled_disclosure(table, made, sample, np.array([0, -1]))


def test_questions_that_make_no_sense() -> None:
    table = small([0, 1, 10, 11], "aabb")
    made = changed(table)
    for options, words in [
        ({"known": ["s"]}, "is asked about"),
        ({"known": []}, "at least one other"),
        ({"folds": 9}, "folds"),
        ({"model": "oracle", "folds": 2}, "unknown model"),
    ]:
        with pytest.raises(UsageError, match=words):
            model_guesses(table, made, "s", **options)
    one = Table(table.attributes, tuple(c[:1] for c in table.columns))
    with pytest.raises(UsageError, match="the original has 1"):
        paired(one, made, "x")


def test_more_masking_never_discloses_more_on_average() -> None:
    random = np.random.default_rng(0)
    schema = made_schema(
        {
            "v": {"role": QI, "kind": "numeric"},
            "c": {"role": QI, "domain": list("abcd")},
            "s": {"role": SENSITIVE, "domain": ["0", "1"]},
        }
    )
    v = random.normal(size=150).round(4)
    table = made_table(
        schema,
        *zip(v, random.choice(list("abcd"), 150), ((v > 0) ^ (random.random(150) < 0.2)).astype(int), strict=True),
    )
    assert table.with_role(Role.SENSITIVE) == (2,)

    def risks(text: str) -> NDArray[np.float64]:
        """The mean over seeds of every measure."""
        found = []
        for seed in range(4):
            made = catalog.anonymizer(text).anonymize(table, Engine(seed=seed))
            numbers, codes = paired(table, made, "v"), paired(table, made, "c")
            guesses = model_guesses(table, made, "s", model="nearest", repeats=1, folds=2)
            values = [
                rank_interval_disclosure(*numbers, 10),
                deviation_interval_disclosure(*numbers, 10),
                simple_disclosure(*codes),
                model_disclosure(guesses),
            ]
            assert all(0 <= e.low <= e.value <= e.high <= 1 for e in values)
            found.append([e.value for e in values])
        return np.mean(found, axis=0)

    for texts, which in [
        (["noise:amount=0.05", "noise:amount=0.3", "noise:amount=2"], [0, 1, 3]),
        (["rank_swapping:p=3", "rank_swapping:p=15", "rank_swapping:p=60"], [0, 1, 3]),
        (["microaggregation:k=2", "microaggregation:k=10", "microaggregation:k=70"], [0, 1]),
        (["pram:retain=0.9", "pram:retain=0.6", "pram:retain=0.3"], [2]),
    ]:
        found = np.array([risks(text)[which] for text in texts])
        assert (np.diff(found, axis=0) < 0).all(), (texts, found)


def test_all_numbers_near_by_hand() -> None:
    """Deviations of the published numbers are 10 and 1: 5% of them are .5 and .05."""
    first, second = np.array([0.0, 10.0, 20.0]), np.array([1.0, 2.0, 3.0])
    truth = [first + np.array([0.4, 0.4, 0.6]), second + np.array([0.04, 0.06, 0.0])]
    assert distance_risk(truth, [first, second]).value == pytest.approx(1 / 3)
    assert distance_risk(truth, [first, second], p=6).value == pytest.approx(1)
    assert distance_risk([np.array([np.nan, 1.0, 9.0])], [second]).value == pytest.approx(1 / 3)

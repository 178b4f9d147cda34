"""Risk measures on beliefs worked by hand (Boreale et al. 2020, IV; Kifer 2009, 2 and 6; Li 2010, 2.1)."""

import doctest
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small import SENSITIVE, made_schema
from unveil import risk
from unveil.data.attribute import Attribute
from unveil.data.belief import Belief, Diagnostics, Estimate
from unveil.errors import UsageError
from unveil.privacy.distances import Geometry, total_variation
from unveil.privacy.reference import geometry_of

PAGE = Path(__file__).parents[3] / "docs" / "risk.md"

ATTACKER = Belief(np.array([[0.5, 0.25, 0.25], [0.4, 0.4, 0.2], [0.2, 0.2, 0.6], [0.0, 1.0, 0.0]]))
LEARNER = Belief(np.array([[0.25, 0.5, 0.25], [0.2, 0.4, 0.4], [0.2, 0.2, 0.6], [0.25, 0.25, 0.5]]))
TRUTH = np.array([0, 1, 1, 1], dtype=np.uint8)  # as a table codes them

DISEASES = [["ulcer", "stomach", "*"], ["gastritis", "stomach", "*"], ["flu", "lung", "*"], ["asthma", "lung", "*"]]


def disease(**options: Any) -> Attribute:
    declared = {"role": SENSITIVE, "domain": [row[0] for row in DISEASES], **options}
    return made_schema({"disease": declared}, {"disease": DISEASES}, missing=["?"]).attribute("disease")


def number(**options: Any) -> Attribute:
    declared = {"role": SENSITIVE, "kind": "numeric", **options}
    return made_schema({"income": declared}, missing=["?"]).attribute("income")


def sampled(*chains: Any) -> Belief:
    """A belief with these chains, pooled by their mean."""
    each = np.array(chains, dtype=np.float64)
    return Belief(each.mean(axis=0), each, Diagnostics("gibbs"))


def certain(codes: list[int], values: int) -> Belief:
    return Belief(np.eye(values)[codes])


# The truth


def test_threatened_people_have_their_value_among_the_modes() -> None:
    assert risk.threatened(ATTACKER, TRUTH).tolist() == [True, True, False, True]
    assert risk.threatened(LEARNER, TRUTH).tolist() == [False, True, False, False]


def test_sums_in_another_order_are_still_a_tie() -> None:
    tie = Belief(np.array([[0.1 + 0.2, 0.3, 0.4 - 1e-17], [0.3, 0.3 + 1e-9, 0.4 - 1e-9]]))
    near = Belief(np.array([[0.5 - 1e-14, 0.5 + 1e-14], [0.5 - 1e-6, 0.5 + 1e-6]]))
    assert risk.threatened(tie, np.array([2, 2])).all()
    assert risk.threatened(near, np.array([0, 0])).tolist() == [True, False]


def test_global_threat_guesses_one_of_several_modes_at_random() -> None:
    assert risk.global_threat(ATTACKER, TRUTH) == Estimate.exact((1 + 0.5 + 0 + 1) / 4)
    assert risk.accuracy(ATTACKER, TRUTH) == risk.global_threat(ATTACKER, TRUTH)
    assert risk.threatened(ATTACKER, TRUTH).mean() == 0.75  # definition 1 to the letter


def test_relative_threat_is_told_of_the_threatened_only() -> None:
    found = risk.relative_threat(ATTACKER, LEARNER, TRUTH)
    assert found[[0, 1, 3]].tolist() == [2.0, 1.0, 4.0]
    assert np.isnan(found[2])
    assert risk.relative_threat_max(ATTACKER, LEARNER, TRUTH) == Estimate.exact(4.0)
    assert risk.relative_threat_quantile(ATTACKER, LEARNER, TRUTH, q=0.5).value == 2.0
    assert risk.relative_threat_quantile(ATTACKER, LEARNER, TRUTH, q=0).value == 1.0
    assert risk.relative_threat_share(ATTACKER, LEARNER, TRUTH).value == 2 / 4  # of all, not of the threatened
    assert risk.relative_threat_share(ATTACKER, LEARNER, TRUTH, at_least=4.5).value == 0


def test_remark_5_of_boreale() -> None:
    rare, n, values = 1, 10**6, 1000
    weight = np.array([2 * (1 + rare) / (values + rare), (1 + n - rare) / (values + n - rare)])
    learner = Belief((weight / weight.sum())[None])
    assert learner.probability[0, 0] == pytest.approx(0.003984, abs=5e-6)
    found = risk.relative_threat_max(certain([0], 2), learner, np.array([0]))
    assert found.value == pytest.approx(251.0, abs=0.05)


def test_a_learner_who_excludes_the_truth_makes_the_threat_infinite() -> None:
    attacker, learner = certain([0, 1], 2), Belief(np.array([[0.0, 1.0], [5e-324, 1.0]]))
    found = risk.relative_threat(attacker, learner, np.array([0, 1]))
    assert found.tolist() == [np.inf, 1.0]
    assert risk.relative_threat_max(attacker, learner, np.array([0, 1])).value == np.inf
    assert risk.relative_threat_quantile(attacker, learner, np.array([0, 1]), q=0.5).value == 1.0
    denormal = Belief(np.array([[5e-324, 1.0]]))
    assert risk.relative_threat_max(certain([0], 2), denormal, np.array([0])).value == np.inf


def test_nobody_threatened() -> None:
    wrong = certain([1, 1], 2)
    truth = np.array([0, 0])
    assert np.isnan(risk.relative_threat(wrong, wrong, truth)).all()
    for measure in (risk.relative_threat_max, risk.relative_threat_quantile, risk.relative_threat_share):
        assert measure(wrong, wrong, truth) == Estimate.exact(0.0)
    assert risk.relative_threat_skewness(wrong, wrong, truth) == Estimate.exact(0.0)


def test_skewness_of_the_logarithms() -> None:
    times = [1, 1, 1, 2, 16]  # log2: 0 0 0 1 4, mean 1: m2 = 12/5, m3 = (3·(-1) + 27) / 5
    attacker = certain([0] * 5, 2)
    learner = Belief(np.array([[1 / t, 1 - 1 / t] for t in times]))
    found = risk.relative_threat_skewness(attacker, learner, np.zeros(5, dtype=int)).value
    assert found == pytest.approx((24 / 5) / (12 / 5) ** 1.5)
    assert risk.relative_threat_skewness(attacker, attacker, np.zeros(5, dtype=int)).value == 0  # all alike


def test_relative_global_threat_is_not_negative() -> None:
    assert risk.relative_global_threat(ATTACKER, LEARNER, TRUTH).value == pytest.approx(2.5 / 4 - 0.5 / 4)
    assert risk.relative_global_threat(LEARNER, ATTACKER, TRUTH) == Estimate.exact(0.0)


def test_errors() -> None:
    truth = np.array([0, 1])
    belief = Belief(np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]))
    assert risk.absolute_error(belief, truth).value == pytest.approx((0.5 + 0.3 + 0.2 + 2) / 2)
    assert risk.squared_error(belief, truth).value == pytest.approx((0.25 + 0.09 + 0.04 + 2) / 2)
    right = certain([0, 1], 3)
    assert risk.absolute_error(right, truth) == risk.squared_error(right, truth) == Estimate.exact(0.0)


@pytest.mark.parametrize(
    ("group", "absolute", "squared", "right"),
    [(2, 1000.0, 500.0, 0.5), (3, 1333.33, 666.67, 1 / 3), (4, 1500.0, 750.0, 0.25)],
)
def test_random_worlds_of_kifers_table_7(group: int, absolute: float, squared: float, right: float) -> None:
    belief = np.zeros((1000, 14))
    truth = np.arange(1000) % 14
    for step in range(group):  # Anatomy: l different values a group, each equally likely
        belief[np.arange(1000), (truth + step) % 14] = 1 / group
    assert risk.absolute_error(Belief(belief), truth).value * 1000 == pytest.approx(absolute, abs=0.005)
    assert risk.squared_error(Belief(belief), truth).value * 1000 == pytest.approx(squared, abs=0.005)
    assert risk.accuracy(Belief(belief), truth).value == pytest.approx(right)
    assert risk.threatened(Belief(belief), truth).all()


def test_baseline_accuracy() -> None:
    assert risk.baseline_accuracy(np.array([3, 1, 4])) == Estimate.exact(0.5)
    assert risk.baseline_accuracy(np.array([0.2, 0.8])) == Estimate.exact(0.8)
    for wrong in ([0, 0], [-1, 2], [[1, 2]], [np.nan, 1]):
        with pytest.raises(UsageError, match="one count or share a value"):
            risk.baseline_accuracy(np.array(wrong))


# Regardless of the truth


def test_belief_gain_looks_at_every_value() -> None:
    ratio, difference = risk.belief_gain(ATTACKER, LEARNER)
    assert ratio.tolist() == [2, 2, 1, 4]
    assert difference == pytest.approx([0.25, 0.2, 0, 0.75])
    assert risk.belief_ratio_max(ATTACKER, LEARNER) == Estimate.exact(4)
    assert risk.belief_ratio_quantile(ATTACKER, LEARNER, q=0.75).value == 2
    assert risk.belief_ratio_share(ATTACKER, LEARNER, at_least=2).value == 0.75
    assert risk.belief_difference_max(ATTACKER, LEARNER) == Estimate.exact(0.75)
    assert risk.belief_difference_quantile(ATTACKER, LEARNER, q=0.25).value == 0
    assert risk.belief_difference_share(ATTACKER, LEARNER, at_least=0.2).value == 0.75  # .4 - .2 is a little less


def test_harmless_values_are_left_out() -> None:
    ratio, difference = risk.belief_gain(ATTACKER, LEARNER, harmless=(0,))
    assert ratio.tolist() == [1, 1, 1, 4]
    assert difference == pytest.approx([0, 0, 0, 0.75])
    _, lost = risk.belief_gain(certain([0], 2), certain([1], 2), harmless=(0,))
    assert lost.tolist() == [-1]
    assert risk.confident(ATTACKER).value == 0.25
    assert risk.confident(ATTACKER, harmless=(1,)).value == 0
    assert risk.skewness(ATTACKER, np.ones(3), harmless=(0, 1)) == pytest.approx([0.75, 0.6, 1.8, 0])
    with pytest.raises(UsageError, match="every value is harmless"):
        risk.belief_gain(ATTACKER, LEARNER, harmless=(0, 1, 2))
    with pytest.raises(UsageError, match="harmless code 3"):
        risk.confident(ATTACKER, harmless=(3,))


def test_gain_over_nothing() -> None:
    ratio, difference = risk.belief_gain(certain([0], 3), certain([1], 3))
    assert ratio.tolist() == [np.inf]
    assert difference.tolist() == [1]


def test_confident_and_right() -> None:
    belief = Belief(np.array([[0.8, 0.2], [0.1, 0.9], [0.5, 0.5], [0.7, 0.3]]))
    truth = np.array([0, 0, 0, 0])
    assert risk.confident(belief).value == 0.5
    assert risk.confident_right(belief, truth).value == 0.5
    assert risk.confident(belief, at_least=0.5).value == 1
    assert risk.confident_right(belief, truth, at_least=0.5).value == 0.75
    assert risk.confident_right(belief, truth, at_least=0.95).value == 0  # nobody is believed that much
    assert risk.confident_right(belief, truth, harmless=(0,)).value == 0
    almost = Belief(np.array([[0.1 + 0.7, 0.2]]))  # .7999999999999999
    assert risk.confident(almost).value == 1


def test_definition_1_of_kifer() -> None:
    found = risk.privacy_loss(ATTACKER, LEARNER, distance="variational")
    assert found == pytest.approx([0.25, 0.2, 0, 0.75])
    assert risk.privacy_loss(ATTACKER, LEARNER, distance=total_variation).tolist() == found.tolist()
    assert risk.privacy_loss_max(ATTACKER, LEARNER, distance="variational").value == pytest.approx(0.75)
    assert risk.privacy_loss_share(ATTACKER, LEARNER, at_least=0.2).value == 0.75
    ordered = risk.privacy_loss(certain([0, 0], 3), certain([1, 2], 3), distance="ordered")
    assert ordered.tolist() == [0.5, 1]
    assert risk.privacy_loss_max(certain([0], 2), certain([1], 2), distance="kl").value == np.inf
    tree = risk.privacy_loss(
        certain([0, 0], 4), certain([1, 2], 4), distance="hierarchical", ground=geometry_of(disease())
    )
    assert tree.tolist() == [0.5, 1]
    with pytest.raises(UsageError, match="about 4 values, the beliefs about 3"):
        risk.privacy_loss(ATTACKER, LEARNER, distance="hierarchical", ground=geometry_of(disease()))
    with pytest.raises(UsageError, match="unknown distance"):
        risk.privacy_loss(ATTACKER, LEARNER, distance="far")
    with pytest.raises(UsageError, match="needs a hierarchy"):
        risk.privacy_loss_max(ATTACKER, LEARNER, distance="hierarchical", ground=Geometry())


def test_definition_2_of_kifer() -> None:
    assert risk.value_bound(ATTACKER, 0.5).tolist() == [False, False, True, True]
    assert risk.value_bound(ATTACKER, [1, 1, 0.5]).tolist() == [False, False, True, False]
    assert risk.value_bound(ATTACKER, [0.3, 1, 1]).tolist() == [True, True, False, False]
    assert risk.value_bound_share(ATTACKER, 0.5) == Estimate.exact(0.5)
    assert not risk.value_bound(Belief(np.array([[0.1 + 0.2, 0.7]])), [0.3, 1]).any()  # .30000000000000004
    for wrong in ([0.5, 0.5], 1.5, -0.1, [0.1, np.nan, 0.1]):
        with pytest.raises(UsageError, match="bound"):
            risk.value_bound(ATTACKER, wrong)


# Similarity and skewness


def test_beliefs_in_nodes_and_classes() -> None:
    four = sampled([[0.1, 0.2, 0.3, 0.4]], [[0.3, 0.2, 0.1, 0.4]])
    coarse = risk.coarsen(four, disease(), level=1)
    assert coarse.probability == pytest.approx(np.array([[0.4, 0.6]]))
    assert coarse.chains == pytest.approx(np.array([[[0.3, 0.7]], [[0.5, 0.5]]]))
    assert coarse.diagnostics.method == "gibbs"
    assert risk.coarsen(four, disease(), level=0).probability.tolist() == four.probability.tolist()
    assert risk.coarsen(four, disease(), level=2).probability == pytest.approx(np.ones((1, 1)))
    mixed = disease(classes={"chronic": ["asthma", "gastritis"]})
    node, labels = risk.coarse_codes(mixed)
    assert node.tolist() == [1, 0, 2, 0]
    assert labels == ("chronic", "ulcer", "flu")
    assert risk.by_classes(four, mixed).probability == pytest.approx(np.array([[0.6, 0.2, 0.2]]))
    assert risk.global_threat(risk.by_classes(four, mixed), node[[3]]).value == 1


def test_missing_is_a_node_of_its_own() -> None:
    attribute = disease(missing="category")
    belief = Belief(np.full((1, 5), 0.2))
    assert risk.coarsen(belief, attribute, level=1).probability == pytest.approx(np.array([[0.4, 0.4, 0.2]]))


def test_similar_candidates() -> None:
    belief = Belief(
        np.array([[0.5, 0.5, 0, 0], [0, 0, 0.9, 0.1], [0.5, 0, 0.5, 0], [0, 1, 0, 0], [0.49, 0.49, 0.01, 0.01]])
    )
    attribute = disease(classes={"stomach": ["ulcer", "gastritis"]})
    assert risk.similar(belief, attribute).tolist() == [True, False, False, True, False]
    assert risk.similar(belief, attribute, level=1).tolist() == [True, True, False, True, False]
    assert risk.similar(belief, attribute, level=0).tolist() == [False, False, False, True, False]
    assert risk.similar(belief, attribute, above=0.05).tolist() == [True, False, False, True, True]
    assert not risk.similar(belief, attribute, above=0.9999).all()
    assert risk.similar(belief, attribute, level=1, harmless=(2, 3)).tolist() == [True, False, False, True, False]
    assert risk.similar_share(belief, attribute) == Estimate.exact(0.4)


def test_the_homogeneous_stomach_of_li_2010() -> None:
    """Table 2.2: the first group's diseases are all of the stomach, and 3-diverse."""
    stomach, lung = ("ulcer", "gastritis", "cancer"), ("flu", "bronchitis", "pneumonia")
    ladder = [[v, "stomach", "*"] for v in stomach] + [[v, "lung", "*"] for v in lung]
    schema = made_schema({"d": {"role": SENSITIVE, "domain": [row[0] for row in ladder]}}, {"d": ladder})
    groups = np.array([[1, 1, 1, 0, 0, 0], [0, 1, 0, 1, 1, 0], [0, 0, 1, 0, 1, 1]]) / 3
    assert risk.similar(Belief(groups), schema.attribute("d"), level=1).tolist() == [True, False, False]


def test_skewness_of_a_rare_positive() -> None:
    """Example 2.1.1: half of a group positive, where 1% of all are."""
    belief = Belief(np.array([[0.5, 0.5], [0.01, 0.99], [0.0, 1.0]]))
    found = risk.skewness(belief, np.array([10, 990]))
    assert found == pytest.approx([50, 1, 1 / 0.99])
    assert risk.skewness_max(belief, np.array([0.01, 0.99])).value == pytest.approx(50)
    assert risk.skewness_quantile(belief, np.array([10, 990]), q=0.5).value == pytest.approx(1 / 0.99)
    assert risk.skewness_share(belief, np.array([10, 990]), at_least=2).value == pytest.approx(1 / 3)
    assert risk.skewness(belief, np.array([0, 1]))[0] == np.inf
    for wrong in (np.ones(3), np.zeros(2), np.array([-1, 2])):
        with pytest.raises(UsageError, match="overall distribution"):
            risk.skewness(belief, wrong)


def test_bad_levels_and_classes() -> None:
    belief = Belief(np.full((1, 4), 0.25))
    with pytest.raises(UsageError, match="levels 0 to 2, not 3"):
        risk.coarsen(belief, disease(), level=3)
    with pytest.raises(UsageError, match="has no classes"):
        risk.by_classes(belief, disease())
    with pytest.raises(UsageError, match="'flu' stands in two classes"):
        risk.by_classes(belief, disease(classes={"a": ["flu"], "b": ["flu", "asthma"]}))
    with pytest.raises(UsageError, match="all values are one node"):
        risk.similar(belief, disease(), level=2)
    with pytest.raises(UsageError, match="above = 1"):
        risk.similar(belief, disease(), level=1, above=1)
    with pytest.raises(UsageError, match="about 3 values, disease has 4"):
        risk.coarsen(ATTACKER, disease(), level=1)
    plain = made_schema({"s": {"role": SENSITIVE, "domain": ["a", "b"]}}).attribute("s")
    with pytest.raises(UsageError, match="has no hierarchy"):
        risk.coarsen(Belief(np.full((1, 2), 0.5)), plain, level=1)


def test_a_class_that_the_domain_lacks_is_no_class() -> None:
    schema = made_schema({"s": {"role": SENSITIVE, "classes": {"gone": ["x"], "here": ["a", "b"]}}})
    node, labels = risk.coarse_codes(schema.attribute("s", ["a", "b", "c"]))
    assert (node.tolist(), labels) == ([0, 0, 1], ("here", "c"))


# Numbers

INCOME = number(domain={"from": 10, "to": 50, "step": 10})  # 10 20 30 40 50


def test_near_the_truth() -> None:
    belief = Belief(np.array([[0.1, 0.2, 0.4, 0.2, 0.1], [0.5, 0.5, 0, 0, 0]]))
    truth = np.array([2, 1])
    assert risk.near_truth(belief, truth, INCOME).value == pytest.approx((0.4 + 0.5) / 2)
    assert risk.near_truth(belief, truth, INCOME, within=1 / 3).value == pytest.approx((0.8 + 0.5) / 2)  # 30 ± 10
    assert risk.near_truth_of_range(belief, truth, INCOME, within=0.25).value == pytest.approx((0.8 + 1) / 2)
    assert risk.near_truth(belief, truth, INCOME, within=0).value == pytest.approx((0.4 + 0.5) / 2)
    assert risk.expected_absolute_error(belief, truth, INCOME).value == pytest.approx((0.2 * 20 + 0.4 * 10 + 5) / 2)


def test_missing_numbers() -> None:
    attribute = number(domain={"from": 10, "to": 50, "step": 10}, missing="category")
    belief = Belief(np.array([[0.5, 0, 0, 0, 0, 0.5], [0, 0, 0, 0, 0, 1]]))
    truth = np.array([0, 5])  # the second truth is missing: left out
    assert risk.near_truth(belief, truth, attribute).value == 0.5
    assert risk.near_truth_of_range(belief, truth, attribute, within=1).value == 0.5
    assert risk.expected_absolute_error(belief, truth, attribute).value == 20
    assert risk.interval_width(belief, attribute).tolist() == [40, 40]  # no numbers hold 90%
    assert risk.interval_width(belief, attribute, mass=0.5).tolist() == [0, 40]
    with pytest.raises(UsageError, match="of everyone is missing"):
        risk.near_truth(belief, np.array([5, 5]), attribute)


def test_the_shortest_interval() -> None:
    belief = Belief(
        np.array([[0.05, 0.9, 0.05, 0, 0], [0.3, 0.3, 0.3, 0.05, 0.05], [0.45, 0.1, 0, 0, 0.45], [0.2] * 5])
    )
    assert risk.interval_width(belief, INCOME).tolist() == [0, 20, 40, 40]
    assert risk.interval_width(belief, INCOME, mass=0.5).tolist() == [0, 10, 10, 20]
    assert risk.interval_width(belief, INCOME, mass=1).tolist() == [20, 40, 40, 40]
    assert risk.interval_width_mean(belief, INCOME) == Estimate.exact(25)


def test_bins_have_a_width() -> None:
    bins = number(domain={"from": 0, "to": 100}, bins=[10, 50])  # [0,9] [10,49] [50,100]
    belief = Belief(np.array([[1.0, 0, 0], [0, 0.5, 0.5], [0, 1, 0]]))
    assert risk.interval_width(belief, bins).tolist() == [9, 90, 39]
    # Middles 4.5, 29.5, 75: with the truth in the last bin the second is 45.5 away.
    truth = np.array([0, 2, 1])
    assert risk.expected_absolute_error(belief, truth, bins).value == pytest.approx(45.5 / 2 / 3)
    open_ended = number(bins=[10, 50])  # <10, [10,50), >=50
    assert risk.interval_width(belief, open_ended).tolist() == [0, 40, 40]


def test_the_interval_against_the_learners() -> None:
    attacker = Belief(np.array([[0, 0.5, 0.5, 0, 0], [1, 0, 0, 0, 0], [0.2] * 5, [0.5, 0.5, 0, 0, 0]]))
    learner = Belief(np.array([[0.2] * 5, [0, 1, 0, 0, 0], [0.2] * 5, [1, 0, 0, 0, 0]]))
    assert risk.relative_interval_width(attacker, learner, INCOME).tolist() == [0.25, 1, 1, np.inf]
    assert risk.relative_interval_width_share(attacker, learner, INCOME).value == 0.25
    assert risk.relative_interval_width_share(attacker, learner, INCOME, at_most=1).value == 0.75


def test_dates_are_near_by_their_range_only() -> None:
    declared = {"role": SENSITIVE, "kind": "date", "domain": ["2024-01-01", "2024-01-03", "2024-01-11"]}
    born = made_schema({"born": declared}).attribute("born")
    belief = Belief(np.array([[0.5, 0.25, 0.25]]))
    truth = np.array([0])
    with pytest.raises(UsageError, match="no date is 10%"):
        risk.near_truth(belief, truth, born)
    assert risk.near_truth_of_range(belief, truth, born, within=0.2).value == 0.75
    assert risk.expected_absolute_error(belief, truth, born).value == pytest.approx(0.5 + 2.5)  # days


def test_many_people_and_values_at_once() -> None:
    rng = np.random.default_rng(5)
    weights = rng.gamma(0.1, size=(9000, 30)) + 1e-12
    belief = Belief(weights / weights.sum(axis=1, keepdims=True))
    attribute = number(domain={"from": 1, "to": 30})
    widths = risk.interval_width(belief, attribute)
    for person in (0, 4095, 4096, 8191, 8999):
        p = belief.probability[person]
        spans = [j - i for i in range(30) for j in range(i, 30) if p[i : j + 1].sum() >= 0.9 - 1e-9]
        assert widths[person] == min(spans)


# Intervals


def test_the_interval_comes_from_the_spread_between_chains() -> None:
    belief = sampled([[0.6, 0.4]], [[0.7, 0.3]], [[0.8, 0.2]], [[0.7, 0.3]])
    found = risk.absolute_error(belief, np.array([0]))
    each = np.array([0.8, 0.6, 0.4, 0.6])
    half = 3.182446 * each.std(ddof=1) / 2
    assert (found.value, found.low, found.high) == pytest.approx((0.6, 0.6 - half, 0.6 + half), abs=1e-6)


def test_an_interval_stays_in_the_measures_range() -> None:
    belief = sampled([[0.6, 0.4]], [[0.4, 0.6]])
    assert risk.global_threat(belief, np.array([0])) == Estimate(0.5, 0.0, 1.0)


def test_paired_chains_cancel_what_they_share() -> None:
    truth = np.array([0, 0])
    up, down = [[0.6, 0.4], [0.6, 0.4]], [[0.6, 0.4], [0.4, 0.6]]
    attacker, learner = sampled(up, up, down, up), sampled(up, up, down, up)
    found = risk.relative_global_threat(attacker, learner, truth)
    assert found == Estimate.exact(0.0)
    crossed = risk.relative_global_threat(attacker, sampled(down, up, up, up), truth)
    assert crossed.high > 0


def test_unequal_numbers_of_chains_and_one_exact_side() -> None:
    truth = np.array([0])
    moving = sampled([[0.6, 0.4]], [[0.7, 0.3]], [[0.8, 0.2]])
    other = sampled([[0.3, 0.7]], [[0.5, 0.5]])
    still = Belief(np.array([[0.4, 0.6]]))
    alone = risk.relative_threat_max(moving, still, truth)
    both = risk.relative_threat_max(moving, other, truth)
    assert alone.value == both.value == pytest.approx(1.75)
    assert both.low <= alone.low < 1.75 < alone.high <= both.high


def test_an_infinite_chain_widens_the_interval_to_infinity() -> None:
    attacker = Belief(np.array([[0.9, 0.1]]))
    learner = sampled([[0.0, 1.0]], [[0.5, 0.5]])
    found = risk.relative_threat_max(attacker, learner, np.array([0]))
    assert (found.value, found.high) == (3.6, np.inf)
    assert found.low <= 1.8  # and what one of two chains says need not be the least
    unequal = sampled([[0.9, 0.1]], [[0.9, 0.1]], [[0.9, 0.1]])
    assert risk.belief_ratio_max(unequal, learner).high == np.inf
    never = sampled([[0.0, 1.0]], [[0.0, 1.0]])
    assert risk.belief_ratio_max(attacker, never) == Estimate(np.inf, np.inf, np.inf)


# Bad input


@pytest.mark.parametrize(
    "truth",
    [np.array([0, 1, 1]), np.array([0, 1, 1, 3]), np.array([0, 1, 1, -1]), np.array([0.0, 1, 1, 1]), TRUTH[None]],
)
@pytest.mark.parametrize("measure", [risk.threatened, risk.global_threat, risk.squared_error, risk.confident_right])
def test_a_truth_that_does_not_fit(measure: Callable[..., Any], truth: Any) -> None:
    with pytest.raises(UsageError, match=r"true code|truth must be"):
        measure(ATTACKER, truth)


def test_beliefs_that_do_not_fit() -> None:
    with pytest.raises(UsageError, match="ask both readers about the same people"):
        risk.relative_threat(ATTACKER, LEARNER.of(np.array([0, 1])), TRUTH)
    nobody = Belief(np.zeros((0, 3)))
    for measure in (risk.confident, lambda b: risk.global_threat(b, np.array([], dtype=int))):
        with pytest.raises(UsageError, match="at least one person"):
            measure(nobody)
    lonely = Belief(np.array([[0.5, 0.5]]), np.array([[[0.5, 0.5]]]))
    with pytest.raises(UsageError, match="two or more"):
        risk.confident(lonely)


def test_options_that_make_no_sense() -> None:
    with pytest.raises(UsageError, match="quantile lies in"):
        risk.relative_threat_quantile(ATTACKER, LEARNER, TRUTH, q=95)
    with pytest.raises(UsageError, match="at_least = 80"):
        risk.confident(ATTACKER, at_least=80)
    five = Belief(np.full((1, 5), 0.2))
    with pytest.raises(UsageError, match="mass = 90"):
        risk.interval_width(five, INCOME, mass=90)
    with pytest.raises(UsageError, match="within = -1"):
        risk.near_truth(five, np.array([0]), INCOME, within=-1)
    with pytest.raises(UsageError, match="only numbers and dates"):
        risk.interval_width(Belief(np.full((1, 4), 0.25)), disease())
    with pytest.raises(UsageError, match="about 3 values, income has 5"):
        risk.interval_width_mean(ATTACKER, INCOME)


# The page


def test_every_measure_is_a_function_with_a_heading() -> None:
    headings = " ".join(line for line in PAGE.read_text().splitlines() if line.startswith("## "))
    for name in risk.__all__:
        assert inspect.isfunction(getattr(risk, name))
        assert inspect.getdoc(getattr(risk, name))
        assert f"`{name}`" in headings, name


def test_the_examples_of_the_page() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 10
    assert not failed

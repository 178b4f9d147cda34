"""Privacy models on tables worked by hand, most of them from Li 2010, chapter 2."""

import doctest
import inspect
from dataclasses import FrozenInstanceError, fields
from math import exp, inf, log, nan
from pathlib import Path

import numpy as np
import pytest

from unveil.errors import UsageError
from unveil.privacy.distances import DISTANCES, Geometry
from unveil.privacy.models import (
    MODELS,
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctL,
    EnhancedBetaLikeness,
    EntropyL,
    EpsilonM,
    KAnonymity,
    KMap,
    NTCloseness,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticL,
    PSensitiveK,
    RecursiveCL,
    Reference,
    StrictNTCloseness,
    Supersets,
    TCloseness,
    satisfied,
)
from unveil.privacy.reference import GroupMembers

DOCS = Path(__file__).parents[3] / "docs"

# Example 2.1.1: 10,000 tests for a virus, 1% positive; counts are (positive, negative).
VIRUS = Reference(np.array([100, 9900]))
HALF, MOSTLY, HARDLY, NEGATIVE = [50, 50], [49, 1], [1, 49], [0, 50]

# Table 2.3: cancer and flu in three groups of Table 2.4, 476** 2*, 479** 4*, 476** 3*.
CANCER = np.array([[300, 300], [200, 1800], [200, 200]])
ZIP_476 = [500, 500]


def required(name: str) -> dict[str, float]:
    """Options without which a model cannot be made."""
    return {"n_t_closeness": {"n": 10}, "strict_n_t_closeness": {"n": 10}, "epsilon_m": {"epsilon": 1.0}}.get(name, {})


def everything(values: int, groups: int) -> Reference:
    """An Reference that gives every model what it needs."""
    return Reference(
        np.arange(1, values + 1),
        Geometry(position=np.arange(values, dtype=float), level=np.array([np.arange(values), [0] * values])),
        Supersets(np.arange(groups), np.full((groups, values), 7)),
        np.full(groups, 100),
        GroupMembers(np.arange(groups + 1), np.zeros(groups, dtype=int), {(0.3,): np.full((1, values), 1 / values)}),
    )


def test_skewness_attack() -> None:
    """A half-positive group passes every diversity; closeness and likeness see it (Example 2.1.1)."""
    half = np.array([HALF])
    diverse = [DistinctL(l=2), EntropyL(l=2), ProbabilisticL(l=2), RecursiveCL(c=1.0001), RecursiveCL(c=3)]
    assert satisfied(diverse, half, VIRUS).all()
    assert not RecursiveCL(c=1).holds(RecursiveCL().level(half, VIRUS)).any()  # 50 < 1 x 50 is false
    assert TCloseness().level(half, VIRUS) == pytest.approx([0.49])
    assert BetaLikeness().level(half, VIRUS) == pytest.approx([49])
    assert EnhancedBetaLikeness().level(half, VIRUS) == [inf]  # 49 > -ln .01 = 4.6
    assert DeltaDisclosure().level(half, VIRUS) == pytest.approx([log(50)])


@pytest.mark.parametrize("model", [DistinctL(), EntropyL(), ProbabilisticL(), RecursiveCL(), AlphaK()])
def test_diversity_cannot_tell_mostly_positive_from_mostly_negative(model: PrivacyModel) -> None:
    mostly, hardly = model.level(np.array([MOSTLY, HARDLY]), VIRUS)
    assert mostly == hardly


@pytest.mark.parametrize("model", [TCloseness(), BetaLikeness(), EnhancedBetaLikeness(), DeltaDisclosure()])
def test_closeness_can(model: PrivacyModel) -> None:
    mostly, hardly = model.level(np.array([MOSTLY, HARDLY]), VIRUS)
    assert mostly > 4 * hardly


def test_homogeneity() -> None:
    """An all-negative group is not diverse, though it says next to nothing: 2-diversity is unnecessary there."""
    negative = np.array([NEGATIVE])
    assert DistinctL().level(negative, VIRUS) == [1]
    assert EntropyL().level(negative, VIRUS) == [1]
    assert ProbabilisticL().level(negative, VIRUS) == [1]
    assert RecursiveCL().level(negative, VIRUS) == [inf]
    assert DeltaDisclosure().level(negative, VIRUS) == [inf]
    assert TCloseness().level(negative, VIRUS) == pytest.approx([0.01])
    assert BetaLikeness().level(negative, VIRUS) == pytest.approx([0.01 / 0.99])


def test_similarity_attack() -> None:
    """Table 2.2 is distinct and entropy 3-diverse; its first group's salaries are all low (Example 2.1.2)."""
    salaries = np.zeros((3, 9), dtype=int)
    for group, present in enumerate(([0, 1, 2], [3, 5, 8], [4, 6, 7])):
        salaries[group, present] = 1
    overall = Reference(salaries.sum(axis=0))
    assert satisfied([DistinctL(l=3), EntropyL(l=3), ProbabilisticL(l=3), KAnonymity(k=3)], salaries, overall).all()
    equal, ordered = TCloseness().level(salaries, overall), TCloseness(distance="ordered").level(salaries, overall)
    assert equal == pytest.approx([2 / 3] * 3)
    assert ordered[:2] == pytest.approx([0.375, 1 / 6])


def test_table_2_5_is_167_close() -> None:
    salaries = np.zeros((3, 9), dtype=int)
    for group, present in enumerate(([0, 2, 6], [3, 8, 5], [1, 4, 7])):
        salaries[group, present] = 1
    model = TCloseness(t=1 / 6, distance="ordered")
    levels = model.level(salaries, Reference(salaries.sum(axis=0)))
    assert model.worst(levels) == pytest.approx(0.167, abs=5e-4)
    assert model.holds(levels).all()


def test_table_2_4_is_not_close_but_n_t_close() -> None:
    """Example 2.2.1: .1-closeness fails, (1000, .1)-closeness holds."""
    supersets = Supersets(np.array([0, 2]), np.array([ZIP_476, ZIP_476]))
    overall = Reference(CANCER.sum(axis=0), supersets=supersets)
    assert TCloseness(t=0.1).level(CANCER, overall) == pytest.approx([0.5 - 0.7 / 3, 0.7 / 3 - 0.1, 0.5 - 0.7 / 3])
    assert not satisfied([TCloseness(t=0.1)], CANCER, overall).any()
    assert NTCloseness(n=1000, t=0.1).level(CANCER, overall) == pytest.approx([0, 0, 0])
    assert satisfied([NTCloseness(n=1000, t=0.1)], CANCER, overall).all()
    # With n = 1001 zip 476** is too small: only the whole table is left, and 479** is still large enough itself.
    assert NTCloseness(n=1001).level(CANCER, overall) == pytest.approx([0.5 - 0.7 / 3, 0, 0.5 - 0.7 / 3])
    assert StrictNTCloseness(n=1000).level(CANCER, overall) == pytest.approx(TCloseness().level(CANCER, overall))


def test_n_of_the_whole_table_is_t_closeness() -> None:
    """Observation 2.2.1; larger than the table makes no difference."""
    overall = Reference(CANCER.sum(axis=0), supersets=Supersets(np.array([0]), np.array([ZIP_476])))
    for n in (3000, 10**6):
        assert NTCloseness(n=n).level(CANCER, overall) == pytest.approx(TCloseness().level(CANCER, overall))


def test_strict_takes_the_farthest_superset() -> None:
    overall = Reference(CANCER.sum(axis=0), supersets=Supersets(np.array([0, 0]), np.array([ZIP_476, [0, 1500]])))
    assert StrictNTCloseness(n=1000).level(CANCER, overall)[0] == pytest.approx(0.5)
    assert NTCloseness(n=1000).level(CANCER, overall)[0] == 0


def test_diversities_by_hand() -> None:
    counts, overall = np.array([[4, 2, 1, 1]]), Reference(np.array([4, 2, 1, 1]))
    assert KAnonymity().level(counts, overall) == [8]
    assert KAnonymity().level(np.array([[8]]), overall) == [8]
    assert DistinctL().level(counts, overall) == [4]
    assert ProbabilisticL().level(counts, overall) == [2]
    assert EntropyL().level(counts, overall) == pytest.approx([2**1.75])
    assert [float(RecursiveCL(l=l).level(counts, overall)[0]) for l in (1, 2, 3, 4, 5)] == [0.5, 1, 2, 4, inf]
    assert TCloseness().level(counts, overall) == [0]


def test_a_missed_k_is_the_least_safe_level() -> None:
    counts, overall = np.array([[2, 2], [3, 3]]), Reference(np.array([5, 5]))
    assert AlphaK(k=5).level(counts, overall).tolist() == [inf, 0.5]
    assert PSensitiveK(k=5).level(counts, overall).tolist() == [0, 2]
    assert AlphaK(alpha=0.5, k=5).holds(np.array([inf, 0.5])).tolist() == [False, True]
    assert satisfied([PSensitiveK(p=2, k=5)], counts, overall).tolist() == [False, True]


def test_enhanced_likeness_bounds_common_values_tighter() -> None:
    """q = 1/2 may gain at most ln 2 whatever beta: up to a share of .847."""
    overall, model = Reference(np.array([50, 50])), EnhancedBetaLikeness(beta=1)
    counts = np.array([[84, 16], [85, 15]])
    assert BetaLikeness(beta=1).holds(BetaLikeness().level(counts, overall)).all()
    assert model.level(counts, overall) == pytest.approx([0.68, inf])
    assert model.holds(model.level(counts, overall)).tolist() == [True, False]


def test_neighbourhoods() -> None:
    """Absolute distances by position, ends included; a missing value is near itself only (Li, Tao & Xiao 2008)."""
    ground = Geometry(position=np.array([40.0, 50.0, 60.0, 100.0]))
    overall = Reference(np.ones(4, dtype=int), ground)
    counts = np.array([[1, 0, 1, 0], [1, 1, 1, 0], [0, 1, 0, 1], [2, 0, 0, 2]])
    assert EpsilonM(epsilon=15).level(counts, overall).tolist() == [2, 1, 2, 2]
    assert EpsilonM(epsilon=10).level(counts, overall).tolist() == [2, 1, 2, 2]
    assert EpsilonM(epsilon=9.9).level(counts, overall).tolist() == [2, 3, 2, 2]
    assert EpsilonM(epsilon=100).level(counts, overall).tolist() == [1, 1, 1, 1]
    unknown = Reference(np.ones(4, dtype=int), Geometry(position=np.array([40.0, 50.0, 60.0, nan]), missing=True))
    assert EpsilonM(epsilon=1000).level(np.array([[1, 1, 0, 2], [0, 0, 0, 3]]), unknown).tolist() == [2, 1]


def test_presence() -> None:
    overall = Reference(np.array([9]), population=np.array([10, 10, 5, 0]))
    sizes = np.array([[1], [5], [5], [2]])
    assert DeltaPresence().level(sizes, overall).tolist() == [0.1, 0.5, 1, inf]
    assert satisfied([DeltaPresence(low=0.2, high=0.5)], sizes, overall).tolist() == [False, True, False, False]
    assert satisfied([DeltaPresence(low=0.1, high=0.1)], sizes, overall).tolist() == [True, False, False, False]


def test_people_of_the_population_by_hand() -> None:
    sizes, around = np.array([[1], [5], [2], [2]]), Reference(np.array([10]), population=np.array([10, 5, 1, 0]))
    assert KMap().level(sizes, around).tolist() == [10, 5, 1, 0]
    assert satisfied([KMap(k=5)], sizes, around).tolist() == [True, True, False, False]
    assert KMap(k=5).smallest == 1
    assert PopulationUniqueness().level(sizes, around).tolist() == [0.4] * 4
    assert satisfied([PopulationUniqueness(share=0.4)], sizes, around).all()
    assert not satisfied([PopulationUniqueness(share=0.39)], sizes, around).any()


def test_a_value_unknown_to_the_table() -> None:
    counts, overall = np.array([[1, 1]]), Reference(np.array([5, 0]))
    for model in (DeltaDisclosure(), BetaLikeness(), EnhancedBetaLikeness(), TCloseness(distance="kl")):
        assert model.level(counts, overall) == [inf]


@pytest.mark.parametrize("name", MODELS)
def test_withheld_values_disclose_nothing(name: str) -> None:
    """The safest level, and no warning; but nobody is counted as being there."""
    model = MODELS[name](**required(name))
    level = model.level(np.zeros((2, 3), dtype=int), everything(3, 2))
    counts_people = name in ("k_anonymity", "delta_presence")
    safest = inf if model.higher_is_safer and not counts_people else 0
    around = everything(3, 2).population
    assert around is not None
    assert level.tolist() == (around.tolist() if name == "k_map" else [safest] * 2)  # of the population, whoever is in
    nothing = Reference(np.zeros(3, dtype=int), *[getattr(everything(3, 2), f.name) for f in fields(Reference)[1:]])
    assert model.level(np.zeros((2, 3), dtype=int), nothing).tolist() == level.tolist()
    assert not satisfied([AlphaK(alpha=1, k=2)], np.zeros((1, 3), dtype=int), everything(3, 1)).any()


@pytest.mark.parametrize("distance", DISTANCES)
def test_withheld_values_under_every_distance(distance: str) -> None:
    assert TCloseness(distance=distance).level(np.zeros((1, 3), dtype=int), everything(3, 1)).tolist() == [0]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_keeps_the_contract(name: str) -> None:
    model = MODELS[name](**required(name))
    assert model.name == name
    assert model.needs <= {"values", "supersets", "population", "numeric", "members", "whole"}
    assert model.threshold is None
    assert model.smallest == 1
    assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(MODELS[name]).parameters.values())
    level = model.level(np.array([[1, 2, 3], [5, 0, 0]], dtype=np.uint8), everything(3, 2))
    assert level.shape == (2,)
    assert level.dtype == np.float64
    assert model.worst(level) == (level.min() if model.higher_is_safer else level.max())
    assert model.worst(np.zeros(0)) == (inf if model.higher_is_safer else 0)
    assert model.level(np.zeros((0, 3), dtype=int), everything(3, 0)).shape == (0,)
    with pytest.raises(UsageError, match="only measures"):
        model.holds(level)
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        model.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("name", [name for name in MODELS if "values" in MODELS[name].needs])
def test_counts_of_other_values_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="needs counts in an array"):
        MODELS[name](**required(name)).level(np.ones((2, 4), dtype=int), everything(3, 2))


def test_rounding_neither_breaks_at_most_nor_passes_less_than() -> None:
    assert TCloseness(t=0.3).holds(np.array([0.1 + 0.2, 0.3 + 1e-9])).tolist() == [True, False]
    assert EntropyL(l=3).holds(np.array([exp(log(3)) - 1e-15, 3 - 1e-9])).tolist() == [True, False]
    assert EntropyL(l=5000).holds(np.array([5000 - 2e-12])).tolist() == [True]
    assert RecursiveCL(c=0.3).holds(np.array([0.3, np.nextafter(0.3, 0), 0.3 - 1e-9])).tolist() == [False, False, True]
    assert DeltaDisclosure(delta=1).holds(np.array([1.0, 1 - 1e-16, 0.99])).tolist() == [False, False, True]
    assert not TCloseness(t=0.3).holds(np.array([nan])).any()


@pytest.mark.parametrize(
    ("model", "smallest"),
    [
        (KAnonymity(k=5), 5),
        (DistinctL(l=3), 3),
        (ProbabilisticL(l=2.5), 3),
        (EntropyL(l=3.0), 3),
        (RecursiveCL(c=2, l=4), 4),
        (AlphaK(alpha=0.1), 10),
        (AlphaK(alpha=1 / 3, k=2), 3),
        (AlphaK(alpha=0.5, k=7), 7),
        (PSensitiveK(p=2, k=6), 6),
        (EpsilonM(m=4, epsilon=1), 4),
        (TCloseness(t=0), 1),
    ],
)
def test_smallest(model: PrivacyModel, smallest: int) -> None:
    assert model.smallest == smallest


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("k_anonymity", {"k": 0}, "k_anonymity: k = 0; choose a whole number of at least 1"),
        ("k_anonymity", {"k": 2.5}, "whole number"),
        ("k_anonymity", {"k": True}, "whole number"),
        ("k_anonymity", {"k": "5"}, "whole number"),
        ("distinct_l", {"l": -1}, "at least 1"),
        ("probabilistic_l", {"l": 0}, "a number above 0"),
        ("entropy_l", {"l": nan}, "a number above 0"),
        ("recursive_cl", {"c": 0}, "a number above 0"),
        ("recursive_cl", {"c": 2, "l": 0}, "at least 1"),
        ("recursive_cl", {"c": 2, "l": None}, "at least 1"),
        ("alpha_k", {"alpha": 0}, "above 0 and at most 1"),
        ("alpha_k", {"alpha": 1.1}, "at most 1"),
        ("alpha_k", {"alpha": 0.5, "k": 0}, "alpha_k: k = 0"),
        ("p_sensitive_k", {"p": 0}, "at least 1"),
        ("t_closeness", {"t": -0.1}, "at least 0"),
        ("t_closeness", {"t": inf}, "at least 0"),
        ("t_closeness", {"t": nan}, "at least 0"),
        ("t_closeness", {"distance": "emd"}, "choose from variational"),
        ("n_t_closeness", {"n": 0}, "at least 1"),
        ("strict_n_t_closeness", {"n": 1.5}, "at least 1"),
        ("delta_disclosure", {"delta": 0}, "above 0"),
        ("beta_likeness", {"beta": -1}, "above 0"),
        ("enhanced_beta_likeness", {"beta": nan}, "above 0"),
        ("epsilon_m", {"epsilon": -1}, "at least 0"),
        ("epsilon_m", {"epsilon": 1, "m": 0}, "above 0"),
        ("delta_presence", {"low": -0.1}, "at most 1"),
        ("delta_presence", {"high": 1.1}, "at most 1"),
        ("delta_presence", {"low": 0.5, "high": 0.4}, "swap"),
        ("b_t_privacy", {"t": -1}, "at least 0"),
        ("b_t_privacy", {"bandwidth": (0.0,)}, "above 0"),
        ("b_t_privacy", {"cost": -1}, "at least 0"),
    ],
)
def test_options_are_checked(name: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        MODELS[name](**options)


def test_what_a_model_needs_is_asked_for() -> None:
    counts, bare = np.array([[1, 1]]), Reference(np.array([1, 1]))
    for model, said in (
        (NTCloseness(n=5), "natural supersets"),
        (StrictNTCloseness(n=5), "natural supersets"),
        (EpsilonM(epsilon=1), "numeric"),
        (DeltaPresence(), "population"),
        (TCloseness(distance="hierarchical"), "hierarchy"),
    ):
        with pytest.raises(UsageError, match=said):
            model.level(counts, bare)
    with pytest.raises(UsageError, match="outside the 1 groups"):
        NTCloseness(n=1).level(counts, Reference(np.array([1, 1]), supersets=Supersets(np.array([1]), counts)))


def test_overall_is_checked_at_birth() -> None:
    for histogram in (np.zeros((1, 2)), np.zeros(0), np.array([-1, 2]), np.array([nan])):
        with pytest.raises(UsageError, match="one row of counts"):
            Reference(histogram)
    with pytest.raises(UsageError, match="2 values, its geometry 3"):
        Reference(np.array([1, 1]), Geometry(position=np.arange(3.0)))
    with pytest.raises(UsageError, match="another number"):
        Reference(np.array([1, 1]), supersets=Supersets(np.array([0]), np.array([[1, 2, 3]])))
    with pytest.raises(UsageError, match="pairs"):
        Supersets(np.array([0, 1]), np.array([[1, 2, 3]]))


def test_nothing_required_is_always_satisfied() -> None:
    assert satisfied([], np.array([[1, 1], [0, 1]]), Reference(np.array([1, 2]))).tolist() == [True, True]


@pytest.mark.parametrize("page", ["privacy-models.md", "distances.md"])
def test_examples_of_the_documentation(page: str) -> None:
    failed, tried = doctest.testfile(str(DOCS / page), module_relative=False)
    assert tried > 10
    assert failed == 0


def test_every_model_and_distance_has_a_heading() -> None:
    for page, names in (("privacy-models.md", MODELS), ("distances.md", DISTANCES)):
        headings = [line for line in (DOCS / page).read_text().splitlines() if line.startswith("## ")]
        assert headings == [f"## `{name}`" for name in names]

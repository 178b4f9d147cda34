"""Privacy models against loops written independently, and what must be true of every one of them."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import inf, log, prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

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

# Drawing a table costs more than measuring it: each one is put to all models.
steady = settings(deadline=None, derandomize=True, max_examples=120)

Row = list[int]
MEASURES: list[PrivacyModel] = [
    KAnonymity(),
    DistinctL(),
    ProbabilisticL(),
    EntropyL(),
    RecursiveCL(l=2),
    RecursiveCL(l=3),
    AlphaK(),
    AlphaK(k=3),
    PSensitiveK(k=3),
    TCloseness(),
    NTCloseness(n=9),
    StrictNTCloseness(n=9),
    DeltaDisclosure(),
    BetaLikeness(),
    EnhancedBetaLikeness(),
    EpsilonM(epsilon=1.5),
    DeltaPresence(),
    DeltaPresence(low=0.1),
    KMap(),
]

COUNT, GAP = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 6]), st.sampled_from([0.5, 1.0, 2.0])


@cache  # making a strategy anew for every table would cost more than drawing from it
def histograms(values: int, least: int) -> st.SearchStrategy[list[Row]]:
    """Two to six groups of at least `least` people."""
    row = st.lists(COUNT, min_size=values, max_size=values).filter(lambda counts: sum(counts) >= least)
    return st.lists(row, min_size=2, max_size=6)


@st.composite
def tables(draw: st.DrawFn, least: int = 0) -> tuple[np.ndarray, Reference]:
    """Groups' histograms and an Reference with all a model may need, nested supersets included."""
    values = draw(st.integers(2, 6))
    groups = draw(histograms(values, least))
    counts = np.array(groups)
    assume(counts.sum() > 0)
    missing = draw(st.booleans()) and values > 2
    position = np.cumsum(draw(st.lists(GAP, min_size=values, max_size=values)))
    level = np.array([np.arange(values), np.minimum(np.arange(values) // 2, 9), np.zeros(values, dtype=int)])
    level[1, -1] = values if missing else level[1, -1]
    pairs = [(g, counts[: g + 1 + more].sum(axis=0)) for g in range(len(groups)) for more in (0, 1, 2)]
    overall = Reference(
        counts.sum(axis=0),
        Geometry(position=position, level=level, missing=missing),
        Supersets(np.array([g for g, _ in pairs]), np.array([h for _, h in pairs])),
        counts.sum(axis=1) * draw(st.integers(1, 4)) + draw(st.integers(0, 3)),
    )
    return counts, overall


# -- the loops: exact fractions and plain Python, one group at a time ---------------------------------------------


def share(row: Row) -> list[Fraction]:
    return [Fraction(c, sum(row)) for c in row]


def variational(p: Row, q: Row) -> Fraction:
    return sum((max(a - b, Fraction(0)) for a, b in zip(share(p), share(q), strict=True)), Fraction(0))


def loop_recursive(row: Row, l: int) -> float:
    ranked = sorted(row, reverse=True)
    tail = sum(ranked[l - 1 :])
    return float(Fraction(ranked[0], tail)) if tail else inf


def loop_delta(row: Row, table: Row) -> float:
    worst = 0.0
    for c, total, p, q in zip(row, table, share(row), share(table), strict=True):
        if total:
            worst = max(worst, abs(log(p / q)) if c else inf)
    return worst


def loop_gains(row: Row, table: Row) -> list[tuple[Fraction, Fraction]]:
    return [((p - q) / q, q) for p, q in zip(share(row), share(table), strict=True) if p > q]


def loop_enhanced(row: Row, table: Row) -> float:
    gains = loop_gains(row, table)
    if any(gain > -log(q) + 1e-12 for gain, q in gains):
        return inf
    return float(max((gain for gain, _ in gains), default=Fraction(0)))


def loop_neighbours(row: Row, ground: Geometry, epsilon: float) -> float:
    assert ground.position is not None
    people = [v for v, c in enumerate(row) for _ in range(c)]

    def near(a: int, b: int) -> bool:
        if ground.missing and len(row) - 1 in (a, b):
            return a == b
        return bool(abs(ground.position[a] - ground.position[b]) <= epsilon + 1e-12)

    return len(people) / max(sum(near(a, b) for b in people) for a in people)


def loop_supersets(row: Row, group: int, overall: Reference, n: int, pick: Callable[..., float]) -> float:
    assert overall.supersets is not None
    large = [
        h.tolist()
        for g, h in zip(overall.supersets.group, overall.supersets.histogram, strict=True)
        if g == group and h.sum() >= n
    ]
    return pick(float(variational(row, other)) for other in [*large, overall.histogram.tolist()])


def loop(model: PrivacyModel, row: Row, group: int, overall: Reference) -> float:
    """The level of one group, from the definition in the paper."""
    size, table = sum(row), overall.histogram.tolist()
    least_safe = 0.0 if model.higher_is_safer else inf
    if isinstance(model, AlphaK | PSensitiveK) and size < (model.k or 0):
        return least_safe
    if "values" in model.needs and size == 0:
        return inf if model.higher_is_safer else 0.0
    match model:
        case KAnonymity():
            return size
        case DistinctL() | PSensitiveK():
            return len([c for c in row if c])
        case ProbabilisticL():
            return size / max(row)
        case EntropyL():
            return 1 / prod(float(p) ** float(p) for p in share(row) if p)
        case RecursiveCL():
            return loop_recursive(row, model.l)
        case AlphaK():
            return float(max(share(row)))
        case StrictNTCloseness():
            return loop_supersets(row, group, overall, model.n, max)
        case NTCloseness():
            return 0.0 if size >= model.n else loop_supersets(row, group, overall, model.n, min)
        case TCloseness():
            return float(variational(row, table))
        case DeltaDisclosure():
            return loop_delta(row, table)
        case EnhancedBetaLikeness():
            return loop_enhanced(row, table)
        case BetaLikeness():
            return float(max((gain for gain, _ in loop_gains(row, table)), default=Fraction(0)))
        case EpsilonM():
            return loop_neighbours(row, overall.geometry, model.epsilon)
        case DeltaPresence():
            assert overall.population is not None
            people = int(overall.population[group])
            present = Fraction(size, people) if people else Fraction(0)
            return inf if float(present) < model.low - 1e-12 else float(present)
        case KMap():
            assert overall.population is not None
            return float(overall.population[group])
    raise AssertionError(f"no loop for {model}")


@steady
@given(table=tables())
def test_levels_agree_with_a_loop(table: tuple[np.ndarray, Reference]) -> None:
    counts, overall = table
    for model in MEASURES:
        expected = [loop(model, row, group, overall) for group, row in enumerate(counts.tolist())]
        assert model.level(counts, overall) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-12), model


def test_every_model_has_a_loop() -> None:
    # b_t_privacy is about the members of groups, not about counts alone: tests/unit/test_b_t_privacy.py has its loop.
    # population_uniqueness is about all groups at once: tests/unit/privacy/test_privacy_models.py has it by hand.
    assert {model.name for model in MEASURES} | {"b_t_privacy", "population_uniqueness"} == set(MODELS)


# -- merging ------------------------------------------------------------------------------------------------------

# n_t_closeness and epsilon_m are not here: see the two counterexamples below. Of the strict one it holds only where
# both groups have the same supersets, which the tables here do not promise.
MERGEABLE = [
    *[model for model in MEASURES if model.name not in ("n_t_closeness", "strict_n_t_closeness", "epsilon_m")],
    *[TCloseness(distance=name) for name in DISTANCES],
]


@steady
@given(table=tables(least=1))
def test_merging_two_groups_never_worsens(table: tuple[np.ndarray, Reference]) -> None:
    counts, overall = table
    assert overall.population is not None
    merged = replace(overall, population=overall.population[:2].sum(keepdims=True), supersets=None)
    for model in MERGEABLE:
        apart = model.worst(model.level(counts, overall)[:2])
        together = model.level(counts[:2].sum(axis=0, keepdims=True), merged)[0]
        assert together >= apart - 1e-9 if model.higher_is_safer else together <= apart + 1e-9, model


def test_merging_can_worsen_neighbourhoods() -> None:
    """{40, 60} and {50, 100} are (15, 2)-anonymous; together three of four lie around 50."""
    overall = Reference(np.ones(4, dtype=int), Geometry(position=np.array([40.0, 50.0, 60.0, 100.0])))
    levels = EpsilonM(epsilon=15).level(np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]), overall)
    assert levels.tolist() == [2, 2, 4 / 3]


def test_merging_can_worsen_the_closest_superset() -> None:
    """Each group is like its own superset; together they are like neither, nor like the table."""
    supersets = Supersets(np.array([0, 1, 2, 2]), np.array([[50, 0, 0], [0, 50, 0], [50, 0, 0], [0, 50, 0]]))
    overall = Reference(np.array([50, 50, 900]), supersets=supersets)
    levels = NTCloseness(n=20).level(np.array([[5, 0, 0], [0, 5, 0], [5, 5, 0]]), overall)
    assert levels == pytest.approx([0, 0, 0.5])


@steady
@given(table=tables(least=1))
def test_merging_never_worsens_the_strict_one_under_the_same_supersets(table: tuple[np.ndarray, Reference]) -> None:
    counts, overall = table
    groups = np.vstack([counts[:2], counts[:2].sum(axis=0, keepdims=True)])
    same = Supersets(np.repeat(np.arange(3), len(counts)), np.tile(counts.cumsum(axis=0), (3, 1)))
    levels = StrictNTCloseness(n=9).level(groups, replace(overall, supersets=same))
    assert levels[2] <= levels[:2].max() + 1e-9


# -- thresholds ---------------------------------------------------------------------------------------------------


WHOLE, REAL, UNIT = st.integers(1, 6), st.floats(0.1, 6), st.floats(0.05, 1)
REQUIREMENTS: st.SearchStrategy[PrivacyModel] = st.one_of(  # any model with any threshold
    st.builds(KAnonymity, k=WHOLE),
    st.builds(DistinctL, l=WHOLE),
    st.builds(ProbabilisticL, l=REAL),
    st.builds(EntropyL, l=REAL),
    st.builds(RecursiveCL, c=REAL, l=WHOLE),
    st.builds(AlphaK, alpha=UNIT | st.builds(lambda n: 1 / n, WHOLE), k=st.none() | WHOLE),
    st.builds(PSensitiveK, p=WHOLE, k=st.none() | WHOLE),
    st.builds(TCloseness, t=UNIT, distance=st.sampled_from(sorted(DISTANCES))),
    st.builds(NTCloseness, t=UNIT, n=st.integers(1, 30)),
    st.builds(StrictNTCloseness, t=UNIT, n=st.integers(1, 30)),
    st.builds(DeltaDisclosure, delta=REAL),
    st.builds(BetaLikeness, beta=REAL),
    st.builds(EnhancedBetaLikeness, beta=REAL),
    st.builds(EpsilonM, m=REAL, epsilon=st.floats(0, 5)),
    st.builds(DeltaPresence, high=UNIT),
)


@settings(steady, max_examples=400)
@given(model=REQUIREMENTS, table=tables(least=1))
def test_no_smaller_group_ever_holds(model: PrivacyModel, table: tuple[np.ndarray, Reference]) -> None:
    counts, overall = table
    held = counts.sum(axis=1)[model.holds(model.level(counts, overall))]
    assert (held >= model.smallest).all()


@settings(steady, max_examples=200)
@given(model=REQUIREMENTS, table=tables())
def test_the_worst_group_decides(model: PrivacyModel, table: tuple[np.ndarray, Reference]) -> None:
    levels = model.level(*table)
    assert bool(model.holds(np.array([model.worst(levels)]))[0]) == bool(model.holds(levels).all())


@steady
@given(models=st.lists(REQUIREMENTS, max_size=4), table=tables())
def test_satisfied_is_the_conjunction(models: list[PrivacyModel], table: tuple[np.ndarray, Reference]) -> None:
    expected = np.ones(len(table[0]), dtype=bool)
    for model in models:
        expected &= model.holds(model.level(*table))
    assert (satisfied(models, *table) == expected).all()


# -- invariances --------------------------------------------------------------------------------------------------

COUNTS_PEOPLE = ("k_anonymity", "n_t_closeness", "strict_n_t_closeness", "delta_presence")
SHARES = [m for m in MEASURES if m.name not in COUNTS_PEOPLE and getattr(m, "k", None) is None]


@steady
@given(table=tables(), times=st.integers(2, 1000))
def test_multiplying_every_count_changes_nothing(table: tuple[np.ndarray, Reference], times: int) -> None:
    counts, overall = table
    scaled = replace(overall, histogram=overall.histogram * times)
    for model in [*SHARES, *[TCloseness(distance=name) for name in DISTANCES]]:
        level = model.level(counts, overall)
        assert model.level(counts * times, scaled) == pytest.approx(level, rel=1e-9, abs=1e-12), model


@steady
@given(table=tables(), seed=st.integers(0, 99))
def test_renaming_values_changes_nothing(table: tuple[np.ndarray, Reference], seed: int) -> None:
    """Of a nominal attribute: the ordered, hierarchical and smoothed distances and epsilon_m are not."""
    counts, overall = table
    assert overall.supersets is not None
    order = np.random.default_rng(seed).permutation(counts.shape[1])
    supersets = Supersets(overall.supersets.group, overall.supersets.histogram[:, order])
    renamed = Reference(overall.histogram[order], Geometry(), supersets, overall.population)
    nominal = [model for model in MEASURES if "numeric" not in model.needs]
    for model in [*nominal, *[TCloseness(distance=name) for name in ("variational", "kl", "js", "equal")]]:
        level = model.level(counts, overall)
        assert model.level(counts[:, order], renamed) == pytest.approx(level, rel=1e-9, abs=1e-12), model


@steady
@given(table=tables())
def test_groups_are_measured_alone(table: tuple[np.ndarray, Reference]) -> None:
    counts, overall = table
    assert overall.supersets is not None
    assert overall.population is not None
    own = overall.supersets.group == 1
    alone = replace(
        overall,
        supersets=Supersets(np.zeros(own.sum(), dtype=int), overall.supersets.histogram[own]),
        population=overall.population[1:2],
    )
    for model in MEASURES:
        assert model.level(counts[1:2], alone) == pytest.approx(model.level(counts, overall)[1:2]), model

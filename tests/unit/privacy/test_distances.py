"""Distances against a linear programme, the thesis' worked examples and its five desiderata (Li 2010, 2.3)."""

import numpy as np
import pytest
from scipy.optimize import linprog

from unveil.errors import UsageError
from unveil.privacy.distances import (
    DISTANCES,
    Geometry,
    distance,
    earth_mover_equal,
    earth_mover_hierarchical,
    earth_mover_ordered,
    jensen_shannon,
    kullback_leibler,
    shares,
    smoothed_js,
    total_variation,
)

# Figure 2.2: flu pneumonia bronchitis | edema embolism || ulcer cancer gastritis | colitis colon-cancer
DISEASES = np.array(
    [np.arange(10), [0, 0, 0, 1, 1, 2, 2, 2, 3, 3], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1], np.zeros(10, dtype=int)]
)
FLU, PNEUMONIA, BRONCHITIS, ULCER, STOMACH_CANCER, GASTRITIS = 0, 1, 2, 5, 6, 7


def uniform(values: int, *present: int) -> np.ndarray:
    """Distribution in which each of `present` is equally likely; one named twice is twice as likely."""
    return np.bincount(present, minlength=values) / len(present)


def transported(share: np.ndarray, reference: np.ndarray, apart: np.ndarray) -> float:
    """Earth mover's distance as a transportation problem, solved by linear programming."""
    m = len(share)
    rows = np.vstack([np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))])
    return float(linprog(apart.ravel(), A_eq=rows, b_eq=np.concatenate([share, reference])).fun)


def a_hierarchy(rng: np.random.Generator, values: int, heights: int, missing: bool) -> np.ndarray:
    """Random nested levels; branches may be uneven: a node can go several levels with one child."""
    level = [np.arange(values)]
    for _ in range(heights - 1):
        merged = rng.integers(0, rng.integers(1, values + 1), values + 1)[level[-1]]
        if missing:
            merged[-1] = values
        level.append(merged)
    return np.array([*level, np.zeros(values, dtype=int)])


def distributions(rng: np.random.Generator, values: int) -> tuple[np.ndarray, np.ndarray]:
    """Forty pairs, with zeros here and there."""
    drawn = rng.dirichlet(np.full(values, 0.7), (2, 40)) * (rng.random((2, 40, values)) < 0.8)
    drawn += 1e-3 * (drawn.sum(axis=2, keepdims=True) == 0)
    drawn /= drawn.sum(axis=2, keepdims=True)
    return drawn[0], drawn[1]


def test_salaries_of_the_thesis() -> None:
    """Section 2.3.3: {3k,4k,5k} is .375 and {6k,8k,11k} .167 from all nine."""
    share = np.array([uniform(9, 0, 1, 2), uniform(9, 3, 5, 8)])
    assert earth_mover_ordered(share, uniform(9, *range(9)), Geometry()) == pytest.approx([0.375, 1 / 6])


@pytest.mark.parametrize(
    ("overall", "printed"),
    [
        ((FLU, PNEUMONIA, BRONCHITIS, ULCER, STOMACH_CANCER, GASTRITIS), (0.5, 0.278)),
        # Table 2.1's own frequencies: gastritis, bronchitis and stomach cancer occur twice.
        (
            (ULCER, GASTRITIS, STOMACH_CANCER, GASTRITIS, FLU, BRONCHITIS, BRONCHITIS, PNEUMONIA, STOMACH_CANCER),
            (0.444, 0.259),
        ),
    ],
)
def test_diseases_of_the_thesis(overall: tuple[int, ...], printed: tuple[float, float]) -> None:
    """Section 2.3.3; the printed .5 and .278 take the six diseases as equally likely."""
    share = np.array([uniform(10, ULCER, GASTRITIS, STOMACH_CANCER), uniform(10, ULCER, STOMACH_CANCER, PNEUMONIA)])
    found = earth_mover_hierarchical(share, uniform(10, *overall), Geometry(level=DISEASES))
    assert found == pytest.approx(printed, abs=5e-4)


def test_ground_distances_of_the_thesis() -> None:
    """Flu is 1/3 from bronchitis, 2/3 from pulmonary embolism and 1 from stomach cancer."""
    apart = Geometry(level=DISEASES).between(10)
    assert apart[FLU, [BRONCHITIS, 4, STOMACH_CANCER]] == pytest.approx([1 / 3, 2 / 3, 1])
    assert Geometry(position=np.array([10.0, 20.0, 50.0])).between(3)[0] == pytest.approx([0, 0.25, 1])
    assert Geometry(position=np.array([10.0, 20.0, np.nan]), missing=True).between(3)[2] == pytest.approx([1, 1, 0])


@pytest.mark.parametrize("values", [1, 2, 3, 6])
def test_equal_and_ordered_agree_with_the_linear_programme(values: int) -> None:
    share, reference = distributions(np.random.default_rng(values), values)
    equal, ordered = 1 - np.eye(values), Geometry().between(values)
    assert earth_mover_equal(share, reference, Geometry()) == pytest.approx(
        [transported(p, q, equal) for p, q in zip(share, reference, strict=True)], abs=1e-9
    )
    assert earth_mover_ordered(share, reference, Geometry()) == pytest.approx(
        [transported(p, q, ordered) for p, q in zip(share, reference, strict=True)], abs=1e-9
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("values", "heights"), [(1, 1), (2, 1), (4, 2), (6, 3), (6, 5)])
def test_hierarchical_agrees_with_the_linear_programme(values: int, heights: int, missing: bool) -> None:
    rng = np.random.default_rng(100 * values + heights)
    for _ in range(4):
        ground = Geometry(level=a_hierarchy(rng, values, heights, missing), missing=missing)
        share, reference = (rows[:10] for rows in distributions(rng, values))
        expected = [transported(p, q, ground.between(values)) for p, q in zip(share, reference, strict=True)]
        assert earth_mover_hierarchical(share, reference, ground) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("values", [1, 2, 3, 6])
def test_ordered_with_missing_never_understates(values: int) -> None:
    ground = Geometry(missing=True)
    share, reference = distributions(np.random.default_rng(values), values)
    truth = np.array([transported(p, q, ground.between(values)) for p, q in zip(share, reference, strict=True)])
    found = earth_mover_ordered(share, reference, ground)
    assert (found >= truth - 1e-9).all()
    assert (found <= 1 + 1e-12).all()


def test_ordered_is_exact_when_as_many_are_missing() -> None:
    ground = Geometry(missing=True)
    share, reference = (np.c_[rows * 0.75, np.full(40, 0.25)] for rows in distributions(np.random.default_rng(5), 5))
    truth = [transported(p, q, ground.between(6)) for p, q in zip(share, reference, strict=True)]
    assert earth_mover_ordered(share, reference, ground) == pytest.approx(np.array(truth), abs=1e-9)


def test_a_group_of_missing_only() -> None:
    share, reference = np.array([[0, 0, 1.0], [0.5, 0.5, 0]]), np.array([0.5, 0.25, 0.25])
    assert earth_mover_ordered(share, reference, Geometry(missing=True)) == pytest.approx([0.75, 0.25 + 0.75 / 6])
    assert earth_mover_ordered(share[:1], np.array([0, 0, 1.0]), Geometry(missing=True)) == pytest.approx([0])


def test_entropic_distances_by_hand() -> None:
    share, reference = np.array([[0.5, 0.5, 0.0]]), np.array([0.25, 0.25, 0.5])
    assert kullback_leibler(share, reference, Geometry()) == pytest.approx([np.log(2)])
    by_hand = 0.5 * (np.log(0.5 / 0.375) + 0.5 * np.log(0.25 / 0.375) + 0.5 * np.log(2))
    assert jensen_shannon(share, reference, Geometry()) == pytest.approx([by_hand])
    disjoint = np.array([[1.0, 0.0, 0.0]]), np.array([0.0, 0.0, 1.0])
    assert jensen_shannon(*disjoint, Geometry()) == pytest.approx([np.log(2)])
    assert kullback_leibler(*disjoint, Geometry()) == [np.inf]


def test_smoothing_by_hand() -> None:
    """Three values at 0, 1/2, 1 with B = .6: neighbours weigh 1 - (5/6)^2 = 11/36, the ends do not meet."""
    w = 11 / 36
    smoothed = np.array([1 / (1 + w), w / (1 + 2 * w), 0])
    smoothed /= smoothed.sum()
    share, reference = np.array([[1.0, 0, 0]]), np.array([0, 0, 1.0])
    expected = jensen_shannon(smoothed[None, :], smoothed[::-1], Geometry())
    assert smoothed_js(share, reference, Geometry(), bandwidth=0.6) == pytest.approx(expected)
    assert smoothed_js(share, reference, Geometry(), bandwidth=0.5) == pytest.approx([np.log(2)])  # strict at B


def test_missing_does_not_blend() -> None:
    share, reference = np.array([[0.5, 0.25, 0.25]]), np.array([0.5, 0.25, 0.25])[::-1]
    ground = Geometry(missing=True)
    assert smoothed_js(share, reference, ground, bandwidth=1) == pytest.approx(jensen_shannon(share, reference, ground))


@pytest.mark.parametrize("bandwidth", [0, -1, 1.5, float("nan")])
def test_bandwidth_is_checked(bandwidth: float) -> None:
    with pytest.raises(UsageError, match=r"\(0, 1\]"):
        smoothed_js(np.eye(2), np.ones(2) / 2, Geometry(), bandwidth=bandwidth)


# Section 2.3.1: which distance has which property; the others are shown to lack it.
SALARIES = Geometry(level=np.array([np.arange(7), [0, 0, 0, 0, 1, 1, 1], np.zeros(7, dtype=int)]))  # 30K ... 90K
EVERY = tuple(DISTANCES)
DESIDERATA = {
    "identity": EVERY,
    "non-negativity": EVERY,
    "probability scaling": ("kl", "js", "smoothed_js"),
    "zero-probability definability": tuple(name for name in EVERY if name != "kl"),
    "semantic awareness": ("ordered", "hierarchical", "smoothed_js"),
}


def has_identity(name: str) -> bool:
    share, _ = distributions(np.random.default_rng(1), 7)
    return bool((np.abs(DISTANCES[name](share, share, SALARIES)) < 1e-12).all())


def is_non_negative(name: str) -> bool:
    share, reference = distributions(np.random.default_rng(2), 7)
    return bool((DISTANCES[name](share, reference, SALARIES) >= 0).all())


def scales_probability(name: str) -> bool:
    """From .01 to .11 is a larger change than from .4 to .5 (the thesis' own example)."""
    rare, common = np.zeros((2, 2, 7))
    rare[:, 0], common[:, 0] = (0.11, 0.01), (0.5, 0.4)
    rare[:, -1], common[:, -1] = 1 - rare[:, 0], 1 - common[:, 0]
    change = [DISTANCES[name](after[None, :], before, SALARIES)[0] for after, before in (rare, common)]
    return bool(change[0] > 1.01 * change[1])


def defines_zero_probability(name: str) -> bool:
    return bool(np.isfinite(DISTANCES[name](np.eye(7), uniform(7, 0, 1), SALARIES)).all())


def is_semantically_aware(name: str) -> bool:
    """{30K,40K} is closer to {50K,60K} than to {80K,90K}."""
    low, middle, high = uniform(7, 0, 1), uniform(7, 2, 3), uniform(7, 5, 6)
    return bool(DISTANCES[name](low[None, :], middle, SALARIES) < DISTANCES[name](low[None, :], high, SALARIES))


SHOWN = {
    "identity": has_identity,
    "non-negativity": is_non_negative,
    "probability scaling": scales_probability,
    "zero-probability definability": defines_zero_probability,
    "semantic awareness": is_semantically_aware,
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("wanted", DESIDERATA)
def test_desiderata(name: str, wanted: str) -> None:
    assert SHOWN[wanted](name) == (name in DESIDERATA[wanted])


@pytest.mark.parametrize("name", EVERY)
def test_every_distance_takes_a_reference_a_group(name: str) -> None:
    share, reference = distributions(np.random.default_rng(3), 7)
    together = DISTANCES[name](share, reference, SALARIES)
    alone = [DISTANCES[name](p[None, :], q, SALARIES)[0] for p, q in zip(share, reference, strict=True)]
    assert together.shape == (40,)
    assert together.dtype == np.float64
    assert together == pytest.approx(np.array(alone))
    one = DISTANCES[name](share, reference[0], SALARIES)
    assert one == pytest.approx(DISTANCES[name](share, np.tile(reference[0], (40, 1)), SALARIES))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("missing", [False, True])
def test_one_value_is_no_distance(name: str, missing: bool) -> None:
    ground = Geometry(level=np.zeros((1, 1), dtype=np.uint8), missing=missing)
    assert DISTANCES[name](np.ones((3, 1)), np.ones(1), ground) == pytest.approx(np.zeros(3))


def test_lookup_lists_the_names() -> None:
    assert distance("variational") is total_variation
    with pytest.raises(UsageError, match="'emd'; choose from variational, kl, js, equal, ordered"):
        distance("emd")


def test_hierarchical_needs_a_hierarchy() -> None:
    with pytest.raises(UsageError, match="needs a hierarchy"):
        earth_mover_hierarchical(np.eye(2), np.ones(2) / 2, Geometry())


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"position": np.array([1.0, 0.0])}, "in the order"),
        ({"position": np.array([1.0, np.nan])}, "finite"),
        ({"position": np.ones((2, 2))}, "a row"),
        ({"level": np.arange(3)}, "rows"),
        ({"level": np.zeros((1, 2))}, "whole numbers"),
        ({"level": np.array([[0, 1], [0, 1]])}, "the root"),
        ({"level": np.array([[1, 0], [0, 0]])}, "first level"),
        ({"level": np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]])}, "level 2 .* splits"),
        ({"level": np.array([[0, 1, 2], [-1, -1, 2], [0, 0, 0]])}, "from 0"),
        ({"level": np.array([[0, 1, 2], [0, 1, 1], [0, 0, 0]]), "missing": True}, "alone"),
        ({"level": np.zeros((1, 1), dtype=int), "position": np.array([1.0, 2.0])}, "2 positions"),
    ],
)
def test_ground_is_checked_at_birth(fields: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Geometry(**fields)


def test_two_values_may_share_a_position() -> None:
    """Two open-ended bins around one cut do."""
    ground = Geometry(position=np.array([20.0, 20.0]))
    assert smoothed_js(np.array([[1.0, 0.0]]), np.array([0.5, 0.5]), ground) == pytest.approx([0])
    assert earth_mover_ordered(np.array([[1.0, 0.0]]), np.array([0.5, 0.5]), ground) == pytest.approx([0.5])


def test_ground_is_frozen() -> None:
    given = np.array([1.0, 2.0, np.nan])
    ground = Geometry(position=given, missing=True)
    given[0] = 7
    assert ground.position is not None
    assert ground.position[0] == 1
    assert not ground.position.flags.writeable


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("bandwidth", [0.03, 0.6, 1.0])
def test_smoothing_by_running_sums_is_smoothing_by_the_matrix(
    missing: bool, bandwidth: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(4)
    share = shares(random.gamma(0.1, size=(5, 90)))
    reference = shares(random.gamma(0.1, size=(1, 90)))
    geometry = Geometry(position=np.sort(random.integers(0, 60, 90)).astype(float), missing=missing)
    by_matrix = smoothed_js(share, reference, geometry, bandwidth=bandwidth)
    monkeypatch.setattr("unveil.privacy.distances.MANY_VALUES", 10)
    assert np.allclose(smoothed_js(share, reference, geometry, bandwidth=bandwidth), by_matrix, rtol=0, atol=1e-12)

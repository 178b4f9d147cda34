"""The Laplace mechanism without sampling: against integrals, draws with common noise, and the paper's way."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from tests.small import QI, SENSITIVE, made_schema
from unveil import LaplaceCounts, run_differential
from unveil.data.table import Table
from unveil.errors import UsageError
from unveil.privacy.distances import Geometry
from unveil.risk.differential.laplace import CellCounts, _transforms, count_cells, exact_distances, mean_predictions
from unveil.risk.differential.measures import distance_of

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 99}},
        "sex": {"role": QI, "domain": ["m", "f"]},
        "s": {"role": SENSITIVE, "domain": ["a", "b", "c"]},
    }
)


def table(rows: int = 40) -> Table:
    random = np.random.default_rng(3)
    return Table.from_columns(
        SCHEMA,
        {
            "age": random.integers(0, 100, rows).tolist(),
            "sex": random.choice(["m", "f"], rows).tolist(),
            "s": random.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]).tolist(),
        },
    )


def one_cell(counts: list[int], value: int) -> CellCounts:
    return CellCounts(np.array([counts]), np.array([0]), np.array([value]))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("count", [0, 1, 7, 40])
def test_the_transforms_are_their_integrals(epsilon: float, count: int) -> None:
    for u in (1e-3, 0.3, 1.0, 1.0000001, 4.0, 10.0):
        psi, phi = _transforms(np.array([float(count)]), epsilon, np.array([u]))

        def density(y: float) -> float:
            return float(0.5 * epsilon * np.exp(-epsilon * abs(y - count)))

        at_zero = 0.5 * np.exp(-epsilon * count) * np.exp(-u)
        for found, power in ((psi, 0), (phi, 1)):
            ends = [0.0, float(count), count + 45 / (epsilon + u)]
            whole = at_zero + sum(
                integrate.quad(
                    lambda y, u=u, power=power: (1 + y) ** power * density(y) * np.exp(-u * (1 + y)),
                    a,
                    b,
                    epsabs=1e-15,
                    epsrel=1e-13,
                    limit=200,
                )[0]
                for a, b in pairwise(ends)
                if b > a
            )
            assert found[0, 0] == pytest.approx(whole, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0, np.inf])
def test_mean_predictions_sum_to_one(epsilon: float) -> None:
    counts = np.array([[3, 0, 1, 0, 7], [1, 0, 0, 0, 0], [2, 2, 2, 2, 2], [500, 0, 1, 30, 0]])
    means = mean_predictions(counts, epsilon)
    np.testing.assert_allclose(means.sum(axis=1), 1, atol=1e-13)
    np.testing.assert_allclose(means[2], 0.2, atol=1e-13)


def test_without_noise_it_is_the_slow_way_to_the_last_digit() -> None:
    fast = run_differential(table(), LaplaceCounts(epsilon=np.inf))
    slow = run_differential(table(), LaplaceCounts(epsilon=np.inf), fast=False)
    (one,), (other,) = fast.tests.values(), slow.tests.values()
    assert (one.path, other.path) == ("closed form", "every record run again")
    np.testing.assert_allclose(one.distance, other.distance, atol=1e-12)
    # By hand: (1 + 2) / (3 + 4) - 2 / 6, twice, for counts 2 1 1 with one of the first left out.
    assert exact_distances(one_cell([2, 1, 1], 0), np.inf)[0] == pytest.approx(2 * (3 / 7 - 2 / 6))


def test_two_values_against_a_double_integral() -> None:
    epsilon = 1.5

    def mean(first: int, second: int) -> float:
        def noisy(count: int) -> tuple[np.ndarray, np.ndarray]:
            """Points and weights: the mass at 1, and Gauss-Legendre pieces on both sides of the count."""
            places, weights = [1.0], [0.5 * np.exp(-epsilon * count)]
            x, w = np.polynomial.legendre.leggauss(40)
            edges = [0.0, *([float(count)] if count else []), *(count + np.array([1, 3, 6, 12, 25]))]
            for a, b in pairwise(edges):
                y = (b - a) / 2 * x + (a + b) / 2
                places += (1 + y).tolist()
                weights += ((b - a) / 2 * w * 0.5 * epsilon * np.exp(-epsilon * np.abs(y - count))).tolist()
            return np.array(places), np.array(weights)

        (a, wa), (b, wb) = noisy(first), noisy(second)
        return float((wa[:, None] * wb[None] * a[:, None] / (a[:, None] + b[None])).sum())

    assert exact_distances(one_cell([3, 2], 0), epsilon)[0] == pytest.approx(2 * (mean(3, 2) - mean(2, 2)), abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_with_common_noise_eq_1_is_a_difference_of_means(epsilon: float) -> None:
    counts, draws = np.array([4, 0, 1, 2]), 20_000
    noise = np.random.default_rng(8).laplace(0, 1 / epsilon, (draws, 4))
    less = counts - np.array([1, 0, 0, 0])
    one, other = (1 + np.maximum(0, c + noise) for c in (counts, less))
    one, other = (x / x.sum(axis=1, keepdims=True) for x in (one, other))
    sorted_way = distance_of("emd", "coordinates", Geometry(), ordered=False)(one[None], other[None])[0]
    gap = one[:, 0] - other[:, 0]
    assert sorted_way == pytest.approx(2 * gap.mean(), abs=1e-12)  # monotone, so sorting changes nothing
    exact = exact_distances(one_cell(counts.tolist(), 0), epsilon)[0]
    assert abs(sorted_way - exact) <= 5 * 2 * gap.std() / np.sqrt(draws)
    assert abs(sorted_way - 1.1 * exact) > 5 * 2 * gap.std() / np.sqrt(draws)  # a planted bias would be seen


def test_the_papers_sampling_has_a_floor_and_says_so() -> None:
    found = run_differential(table(), LaplaceCounts(epsilon=0.1), samples=200, fast=False)
    exact = run_differential(table(), LaplaceCounts(epsilon=0.1))
    (drawn,), (closed,) = found.tests.values(), exact.tests.values()
    assert drawn.floor is not None
    assert drawn.floor.mean() > 2 * closed.distance.mean()
    delta = next(f for f in found.document.findings if f.id == "delta")
    assert delta.low <= closed.distance.max() <= delta.value
    with pytest.raises(UsageError, match="no closed form"):
        run_differential(table(), LaplaceCounts(epsilon=0.1), distance="tv")


def test_delta_falls_as_epsilon_falls() -> None:
    deltas = [run_differential(table(), LaplaceCounts(epsilon=e)).delta for e in (0.01, 0.1, 1.0, 10.0, np.inf)]
    assert deltas == sorted(deltas)


def test_quantiles_and_combinations() -> None:
    cells = count_cells(LaplaceCounts(epsilon=1, quantiles=2), table(), 2)
    assert len(cells.counts) == 4  # two halves of age, two sexes
    assert cells.counts.sum() == 40
    assert len(count_cells(LaplaceCounts(epsilon=1, quantiles=0), table(), 2).counts) > 30
    for options, text in (({"cut": ("s",)}, "not a quasi-identifier"), ({"cut": ("sex",)}, "has no order")):
        with pytest.raises(UsageError, match=text):
            count_cells(LaplaceCounts(epsilon=1, **options), table(), 2)
    with pytest.raises(UsageError, match="positive number"):
        LaplaceCounts(epsilon=0)
    with pytest.raises(UsageError, match="2 or more"):
        LaplaceCounts(epsilon=1, quantiles=1)

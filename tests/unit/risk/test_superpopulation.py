"""Population uniques from the sizes of cells: by hand, and on populations that the models make."""

import math

import numpy as np
import pytest

from unveil.errors import NotApplicable
from unveil.risk.uniqueness import (
    CellSizes,
    count_keys,
    dankar,
    pitman,
    slide_negative_binomial,
    uniques_of,
    zayatz,
)


def sizes(fraction: float, **cells: int) -> CellSizes:
    """`of1=3` means three cells of one person."""
    numbers = {int(name[2:]): count for name, count in cells.items()}
    return CellSizes(np.array(list(numbers)), np.array(list(numbers.values())), fraction)


def restaurant(people: int, theta: float, alpha: float, seed: int) -> np.ndarray:
    """(people,) the cell of each, by Pitman's sampling formula."""
    random = np.random.default_rng(seed)
    seats = [1]
    cell = np.zeros(people, dtype=np.int64)
    for n in range(1, people):
        weights = np.array([*(s - alpha for s in seats), theta + alpha * len(seats)]) / (theta + n)
        chosen = int(np.searchsorted(np.cumsum(weights), random.random()))
        cell[n] = min(chosen, len(seats))
        if cell[n] == len(seats):
            seats.append(1)
        else:
            seats[int(cell[n])] += 1
    return cell


def test_zayatz_by_hand() -> None:
    """Two cells of one and one of two in a sample of four of eight people, C(8, 4) = 70 samples.

    One of one person is drawn once in 1/2, of two in 2 · C(6, 3) / 70 = 4/7. The share is 1 / (1 + 4/7) = 7/11.
    """
    assert zayatz(sizes(0.5, of1=2, of2=1)) == pytest.approx(2 * (2 / 2) / (2 / 2 + 4 / 7) / 0.5)


def test_a_whole_population_and_nobody_alone() -> None:
    for estimator in (zayatz, pitman, slide_negative_binomial, dankar):
        assert estimator(sizes(1.0, of1=7, of2=2)) == 7
        assert estimator(sizes(0.1, of2=3, of5=4)) == 0


@pytest.mark.thorough
def test_pitman_finds_the_uniques_of_its_own_populations() -> None:
    held = near = 0
    for seed in range(8):
        cell = restaurant(4000, 60, 0.5, seed)
        counts = count_keys(["x"], [int(cell.max()) + 1], [cell], fraction=1.0)
        rows = np.random.default_rng(seed).permutation(4000)[:400]
        sample, population = counts.sample(rows, 0.1)
        truth = float((population[sample.alone] == 1).mean())
        found = uniques_of("pitman", sample).share
        assert found is not None
        held += found.low <= truth <= found.high
        near += abs(found.value - truth) < 0.15
    assert held >= 6
    assert near >= 6


def test_the_slide_negative_binomial_solves_its_equations() -> None:
    """Cells of the population hold 1 + a negative binomial number of people; half of everybody is in the sample."""
    random = np.random.default_rng(3)
    held = 1 + random.negative_binomial(0.5, 0.3, 20_000)
    drawn = random.binomial(held, 0.5)
    size, cells = np.unique(drawn[drawn > 0], return_counts=True)
    found = slide_negative_binomial(CellSizes(size, cells, 0.5))
    assert found == pytest.approx((held == 1).sum(), rel=0.1)


def test_dankars_rule() -> None:
    few, many = sizes(0.1, of1=300, of2=80, of3=30, of9=12), sizes(0.3, of1=300, of2=80, of3=30, of9=12)
    assert dankar(few) == pitman(few)
    assert dankar(many) == min(zayatz(many), slide_negative_binomial(many))


def test_everybody_alone_has_no_solution_and_falls_back() -> None:
    alone = sizes(0.05, of1=50)
    with pytest.raises(NotApplicable, match="no largest value"):
        pitman(alone)
    assert dankar(alone) == zayatz(alone)
    assert math.isfinite(dankar(alone))

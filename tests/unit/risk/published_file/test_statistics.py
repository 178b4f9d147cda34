"""Guesses and information against plain counting, scipy's G-test and random tables."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from unveil.risk.published_file.statistics import guess, information, narrowed_sets, small_sets, within_runs


def _left_out(known: list[int], secret: list[int]) -> float:
    """Each row guessed by the mode of the other rows that look alike; a tie counts a half, nobody alike nothing."""
    right = 0.0
    for i, (k, s) in enumerate(zip(known, secret, strict=True)):
        others = Counter(t for j, (x, t) in enumerate(zip(known, secret, strict=True)) if x == k and j != i)
        best = max((n for v, n in others.items() if v != s), default=0)
        own = others[s]
        right += 1.0 if own > best else 0.5 if own == best and own > 0 else 0.0
    return right / len(known)


@pytest.mark.parametrize("seed", range(6))
def test_a_guess_leaves_the_row_itself_out(seed: int) -> None:
    draw = np.random.default_rng(seed)
    known, secret = draw.integers(0, 12, 150), draw.integers(0, 5, 150)
    found = guess(known, secret)
    assert found.right == pytest.approx(_left_out(known.tolist(), secret.tolist()))
    assert found.blind == max(Counter(secret.tolist()).values()) / 150


def test_who_does_not_look_names_the_most_frequent_value_also_of_equally_frequent_ones() -> None:
    """Left out of its own guess, a row of a file in halves is always guessed wrong, and any column seems to tell."""
    secret = np.repeat([0, 1], 500)
    found = guess(np.tile([0, 1], 500), secret)
    assert found.blind == 0.5
    assert found.lift <= 0


def test_a_copy_is_always_right_and_chance_gives_no_lift() -> None:
    draw = np.random.default_rng(0)
    secret = draw.integers(0, 8, 4_000)
    copy = guess((secret * 3) % 8, secret)
    assert copy.right == 1.0
    assert copy.pure == 4_000
    assert copy.learned == pytest.approx(1.0, abs=0.01)
    for values in (2, 20, 1_000, 4_000):
        found = guess(draw.integers(0, values, 4_000), secret)
        assert found.lift < 0.05
        assert found.pure == 0
        assert found.learned == 0.0


def test_one_pure_value_is_found_among_many() -> None:
    secret = np.arange(1_000) % 10
    known = np.where(secret == 3, 0, 1 + np.arange(1_000) % 3)
    found = guess(known, secret)
    assert (found.pure, found.pure_value) == (100, 3)


def test_information_is_the_g_test() -> None:
    draw = np.random.default_rng(1)
    known = draw.integers(0, 4, 500)
    secret = np.where(draw.random(500) < 0.4, known, draw.integers(0, 4, 500))
    table = np.zeros((4, 4))
    np.add.at(table, (known, secret), 1)
    statistic, _, freedom, _ = chi2_contingency(table, lambda_="log-likelihood", correction=False)
    learned, unknown, z = information(known, secret)
    assert z == pytest.approx((statistic - freedom) / np.sqrt(2 * freedom))
    assert learned == pytest.approx((statistic - freedom) / 1_000)
    share = np.bincount(secret) / 500
    assert unknown == pytest.approx(-(share * np.log(share)).sum())


def test_information_within_cells_adds_their_g_tests() -> None:
    draw = np.random.default_rng(2)
    given, known, secret = (draw.integers(0, n, 900) for n in (3, 3, 4))
    total = freedom = 0.0
    for cell in range(3):
        table = np.zeros((3, 4))
        np.add.at(table, (known[given == cell], secret[given == cell]), 1)
        statistic, _, degrees, _ = chi2_contingency(table, lambda_="log-likelihood", correction=False)
        total, freedom = total + statistic, freedom + degrees
    assert information(known, secret, given)[2] == pytest.approx((total - freedom) / np.sqrt(2 * freedom))


def test_small_sets_count_people() -> None:
    ids = np.array([0, 0, 0, 1, 1, 2])
    assert small_sets(ids, 3) == 3
    assert small_sets(ids, 3, np.array([1, 1, 1, 2, 2, 1])) == 1


def test_an_order_within_runs_keeps_the_runs() -> None:
    run = np.repeat(np.arange(20), 50)
    order = within_runs(run, np.random.default_rng(0))
    assert np.array_equal(run[order], run)
    assert sorted(order.tolist()) == list(range(1_000))
    assert (order != np.arange(1_000)).mean() > 0.9


def test_sets_that_leave_few_values_by_hand() -> None:
    """Forty rows of one set have one of two values of ten: by the others of the set (19 + 0.1...) / 40 is expected."""
    known = np.repeat([0, 1], [400, 40])
    secret = np.concatenate([np.arange(400) % 10, np.arange(40) % 2])
    usual = np.bincount(secret) / 440
    by_hand = np.exp(np.mean(np.log((19 + usual[:2]) / 40 / usual[:2])))
    found = narrowed_sets(known, secret)
    assert found is not None
    assert found.sets.tolist() == [1]
    assert found.rows == 40
    assert found.times == pytest.approx(by_hand)
    assert narrowed_sets(known, secret, times=float(by_hand) + 0.01) is None
    assert narrowed_sets(known, secret, most=39) is None
    as_expected = np.where(np.arange(10) < 2, 0.5, 1e-9)
    assert narrowed_sets(known, secret, lambda _: as_expected) is None  # as other people have it, too


@pytest.mark.parametrize("seed", range(10))
def test_random_sets_leave_all_values(seed: int) -> None:
    draw = np.random.default_rng(seed)
    assert narrowed_sets(draw.integers(0, 300, 3_000), draw.integers(0, 50, 3_000), times=1.5) is None

"""Random matchings against exact probabilities, within 5 standard errors, with a planted bias that must be caught."""

from itertools import permutations

import numpy as np
import pytest

from unveil.kernels import matching

DRAWS = 40_000
LIMIT = 5.0


def copies(count, value_count, number, **options):
    """The same group `number` times: as many independent draws in one sweep."""
    entries, values = len(count), len(value_count)
    cells = np.tile(np.arange(entries), number), np.tile(count, number)
    sensitive = np.tile(np.arange(values), number), np.tile(value_count, number)
    return matching.lay_out(
        np.arange(number + 1) * entries, *cells, np.arange(number + 1) * values, *sensitive, **options
    )


def weights(seed, entries, values, spread=1.0):
    log_weight = np.random.default_rng(seed).normal(0, spread, (entries, values))
    weight = np.empty_like(log_weight)
    matching.scale(log_weight, weight)
    return weight, log_weight


def outcomes(count, value_count, log_weight):
    """Every table of pairs that a matching can give, and its probability."""
    unit = np.repeat(np.arange(len(count)), count)
    law = {}
    for order in permutations(np.repeat(np.arange(len(value_count)), value_count).tolist()):
        table = np.zeros(log_weight.shape, int)
        np.add.at(table, (unit, order), 1)
        name = tuple(table.ravel().tolist())
        law[name] = law.get(name, 0.0) + np.exp(log_weight[unit, order].sum())
    total = sum(law.values())
    return {name: p / total for name, p in law.items()}


def worst_frequency(drawn, law):
    """Largest distance of a frequency from its probability, in standard deviations; unknown outcomes are infinite."""
    found, times = np.unique(drawn, axis=0, return_counts=True)
    frequency = {tuple(name): t / len(drawn) for name, t in zip(found.tolist(), times, strict=True)}
    if not set(frequency) <= set(law):
        return np.inf
    return max(abs(frequency.get(x, 0.0) - p) / np.sqrt(p * (1 - p) / len(drawn)) for x, p in law.items())


SHAPES = [
    ([1, 1], [1, 1]),
    ([1, 1, 1], [1, 1, 1]),
    ([2, 1], [1, 1, 1]),
    ([1, 1, 1, 1], [1, 1, 1, 1]),
    ([2, 1, 1], [3, 1]),
    ([1, 1, 1, 1, 1], [1, 1, 1, 1, 1]),
    ([2, 2, 1], [1, 1, 1, 1, 1]),
    ([2, 1, 1, 1, 1], [3, 3]),
]


@pytest.mark.parametrize(("count", "value_count"), SHAPES)
def test_exact_draws_have_the_law_of_the_matching(count, value_count):
    weight, log_weight = weights(len(count) + 10 * len(value_count), len(count), len(value_count))
    groups = copies(count, value_count, DRAWS)
    drawn = matching.draw(
        groups, matching.Weights.of(groups, weight, log_weight), np.uint64(11), np.empty(0, np.int32)
    ).reshape(DRAWS, -1)
    law = outcomes(count, value_count, log_weight)
    assert worst_frequency(drawn, law) < LIMIT
    biased = outcomes(count, value_count, 0.9 * log_weight)
    assert worst_frequency(drawn, biased) > LIMIT


@pytest.mark.parametrize("spread", [1.0, 400.0])
def test_draws_on_gauged_weights_have_the_same_law(spread):
    """A factor common to a value's column cancels, but takes the weights out of the range of numbers."""
    count = value_count = [1, 1, 1, 1]
    weight, log_weight = weights(3, 4, 4)
    law = outcomes(count, value_count, log_weight)
    log_weight = log_weight + spread * np.arange(4)
    matching.scale(log_weight, weight)
    groups = copies(count, value_count, DRAWS)
    drawn = matching.draw(
        groups, matching.Weights.of(groups, weight, log_weight), np.uint64(12), np.empty(0, np.int32)
    ).reshape(DRAWS, -1)
    assert worst_frequency(drawn, law) < LIMIT


def swapped(count, value_count, log_weight, number, sweeps, key):
    """Marginals (number, pairs) averaged over sweeps after as many to forget the start, and the last draws."""
    groups = copies(count, value_count, number, states=1)
    assert not matching.exact(groups).any()
    partner = np.empty(groups.row_start[-1], np.int32)
    matching.start_matching(groups, 0, number, np.uint64(key), partner)
    weight = np.exp(log_weight - log_weight.max())
    marginal, drawn = np.empty(groups.pair_start[-1]), np.empty(groups.pair_start[-1], np.int32)
    tally = np.empty((0, weight.shape[1]), np.int64)
    mean = np.zeros(len(marginal))
    found = matching.Weights.of(groups, weight, log_weight)
    for s in range(2 * sweeps):
        own = np.uint64(1_000 * key + s)
        matching.sweep(groups, 0, number, found, own, matching.ROUNDS, partner, marginal, drawn, tally)
        if s >= sweeps:
            mean += marginal / sweeps
    return mean.reshape(number, -1), drawn.reshape(number, -1)


def worst_mean(runs, exact):
    """Largest distance of the mean over independent runs from `exact`, in standard errors from their spread."""
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    return np.max(np.abs(runs.mean(axis=0) - exact) / np.maximum(error, 1e-12))


def test_swap_draws_have_the_law_of_the_matching():
    count, value_count = [2, 1, 1, 1], [1, 2, 2]
    _, log_weight = weights(5, 4, 3)
    _, drawn = swapped(count, value_count, log_weight, DRAWS, 5, 6)
    assert worst_frequency(drawn, outcomes(count, value_count, log_weight)) < LIMIT
    assert worst_frequency(drawn, outcomes(count, value_count, 0.9 * log_weight)) > LIMIT


@pytest.mark.parametrize(
    ("count", "value_count"), [([1] * 9, [1] * 9), ([3, 2, 2, 1, 1, 1], [4, 3, 3]), ([20, 15, 5], [10, 30])]
)
def test_swap_marginals_agree_with_exact_ones(count, value_count):
    weight, log_weight = weights(7, len(count), len(value_count))
    groups, none = copies(count, value_count, 1), np.empty(0, np.int32)
    exact = matching.marginals(groups, matching.Weights.of(groups, weight, log_weight), np.uint64(1), none)
    runs, drawn = swapped(count, value_count, log_weight, 400, 20, 8)
    assert worst_mean(runs, exact) < LIMIT
    tilted = matching.Weights.of(groups, weight**0.9, 0.9 * log_weight)
    biased = matching.marginals(groups, tilted, np.uint64(1), none)
    assert worst_mean(runs, biased) > LIMIT
    # The mean over the states that a sweep could have passed through varies less than one state does.
    one_sweep, _ = swapped(count, value_count, log_weight, 400, 1, 9)
    assert one_sweep.var(axis=0).sum() < drawn.var(axis=0).sum()

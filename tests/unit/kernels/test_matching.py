"""Matching kernels against brute force over permutations, by arithmetic, and cut into parts."""

from itertools import pairwise, permutations
from math import factorial

import numpy as np
import pytest

from unveil.kernels import closed_forms, matching, swaps, used_counts

KEY = np.uint64(20)


def lay_out(shapes, rng, cells=9, values=8, **options):
    """Groups with the given (counts of cells, counts of values), their names drawn without replacement."""
    cell = [rng.permutation(cells)[: len(counts)] for counts, _ in shapes]
    value = [rng.permutation(values)[: len(counts)] for _, counts in shapes]
    start = np.cumsum([0] + [len(c) for c in cell])
    value_start = np.cumsum([0] + [len(v) for v in value])
    count = np.concatenate([counts for counts, _ in shapes])
    value_count = np.concatenate([counts for _, counts in shapes])
    names = np.concatenate(cell), count, value_start, np.concatenate(value), value_count
    return matching.lay_out(start, *names, **options)


def weights(rng, cells=9, values=8, spread=1.5):
    log_weight = rng.normal(0, spread, (cells, values))
    weight = np.empty_like(log_weight)
    matching.scale(log_weight, weight)
    return weight, log_weight


def brute(groups, g, log_weight):
    """Expected pairs (entries, values) and log permanent of one group, over all n! matchings, in logs."""
    entries, values = (slice(s[g], s[g + 1]) for s in (groups.start, groups.value_start))
    unit = np.repeat(np.arange(entries.stop - entries.start), groups.cell_count[entries])
    partner = np.repeat(np.arange(values.stop - values.start), groups.value_count[values])
    own = log_weight[np.ix_(groups.cell[entries], groups.value[values])]
    orders = np.array(list(permutations(partner)))
    logs = own[unit, orders].sum(axis=1)
    share = np.exp(logs - logs.max())
    expected = np.zeros(own.shape)
    for i, e in enumerate(unit):
        np.add.at(expected, (e, orders[:, i]), share)
    return expected / share.sum(), logs.max() + np.log(share.sum())


def compositions(n):
    """All ways to cut n rows into counts of at least 1, largest first."""
    if n == 0:
        return [[]]
    return [[k, *rest] for k in range(1, n + 1) for rest in compositions(n - k) if not rest or rest[0] <= k]


ALL_SHAPES = [(a, b) for n in range(1, 7) for a in compositions(n) for b in compositions(n)]


def pairs(groups, g, flat):
    block = flat[groups.pair_start[g] : groups.pair_start[g + 1]]
    return block.reshape(groups.start[g + 1] - groups.start[g], -1)


def run(groups, weight, log_weight, key=KEY, parts=None, rounds=matching.ROUNDS):
    """Marginals, counts, tally and the swapped rows after one sweep, whole or in parts."""
    partner = np.zeros(groups.row_start[-1], np.int32)
    matching.start_matching(groups, 0, len(groups.method), np.uint64(3), partner)
    marginal = np.empty(groups.pair_start[-1])
    drawn = np.empty(groups.pair_start[-1], np.int32)
    tally = np.zeros(weight.shape, np.int64)
    found = matching.Weights.of(groups, weight, log_weight)
    for lo, hi in parts or [(0, len(groups.method))]:
        matching.sweep(groups, lo, hi, found, key, rounds, partner, marginal, drawn, tally)
    return marginal, drawn, tally, partner


@pytest.mark.parametrize("spread", [1.5, 150.0])
def test_marginals_and_permanents_equal_brute_force(spread):
    rng = np.random.default_rng(1)
    groups = lay_out(ALL_SHAPES, rng)
    weight, log_weight = weights(rng, spread=spread)
    assert matching.exact(groups).all()
    marginal = matching.marginals(groups, matching.Weights.of(groups, weight, log_weight), KEY, np.empty(0, np.int32))
    permanent = np.empty(len(ALL_SHAPES))
    matching.log_permanent(groups, 0, len(ALL_SHAPES), log_weight, permanent)
    for g, (counts, value_counts) in enumerate(ALL_SHAPES):
        expected, log_total = brute(groups, g, log_weight)
        found = pairs(groups, g, marginal)
        # With weights of e^±150 and more, what is below 1e-100 may be rounded away.
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0 if spread < 2 else 1e-100)
        np.testing.assert_allclose(found.sum(axis=1), counts, rtol=1e-12)
        np.testing.assert_allclose(found.sum(axis=0), value_counts, rtol=1e-12)
        np.testing.assert_allclose(permanent[g], log_total, rtol=1e-12, atol=1e-11)


def test_every_exact_method_is_used():
    groups = lay_out(ALL_SHAPES, np.random.default_rng(1))
    methods = {closed_forms.ONE, closed_forms.TWO, closed_forms.THREE, closed_forms.FOUR, closed_forms.REPEATED}
    assert set(groups.method.tolist()) == methods | {used_counts.OVER_CELLS, used_counts.OVER_VALUES}


@pytest.mark.parametrize("states", [matching.STATES, 4])
def test_draws_have_the_rows_and_columns_of_the_group(states):
    rng = np.random.default_rng(2)
    groups = lay_out(ALL_SHAPES, rng, states=states)
    assert matching.exact(groups).all() == (states == matching.STATES)
    marginal, drawn, tally, _ = run(groups, *weights(rng))
    by_pair = np.zeros_like(tally)
    for g, (counts, value_counts) in enumerate(ALL_SHAPES):
        for found in (pairs(groups, g, drawn), pairs(groups, g, marginal)):
            np.testing.assert_allclose(found.sum(axis=1), counts, rtol=1e-12)
            np.testing.assert_allclose(found.sum(axis=0), value_counts, rtol=1e-12)
            assert found.min() >= 0
        cell = groups.cell[groups.start[g] : groups.start[g + 1]]
        value = groups.value[groups.value_start[g] : groups.value_start[g + 1]]
        np.add.at(by_pair, np.ix_(cell, value), pairs(groups, g, drawn))
    assert (tally == by_pair).all()


def test_draws_do_not_need_marginals():
    rng = np.random.default_rng(3)
    groups = lay_out(ALL_SHAPES, rng)
    weight, log_weight = weights(rng)
    _, drawn, _, _ = run(groups, weight, log_weight)
    found = matching.Weights.of(groups, weight, log_weight)
    assert (matching.draw(groups, found, KEY, np.empty(0, np.int32)) == drawn).all()


@pytest.mark.parametrize("states", [matching.STATES, 4])
def test_any_partition_gives_the_same(states):
    rng = np.random.default_rng(4)
    groups = lay_out(ALL_SHAPES, rng, states=states)
    weight, log_weight = weights(rng, spread=20.0)  # some groups underflow
    whole = run(groups, weight, log_weight)
    last = len(ALL_SHAPES)
    for cuts in ([0, 1, 2, 3, 50, 51, last], list(range(last + 1))):
        parts = list(pairwise(cuts))[::-1]
        for a, b in zip(whole, run(groups, weight, log_weight, parts=parts), strict=True):
            assert (a == b).all()
    alone = matching.part(matching.part(groups, 20, last), 40, 90)  # groups 60 to 109
    marginal, drawn, _, partner = run(alone, weight, log_weight)
    own = slice(groups.pair_start[60], groups.pair_start[110])
    assert (marginal == whole[0][own]).all()
    assert (drawn == whole[1][own]).all()
    assert (partner == whole[3][groups.row_start[60] : groups.row_start[110]]).all()


def test_other_keys_give_other_draws():
    rng = np.random.default_rng(5)
    groups = lay_out(ALL_SHAPES, rng)
    weight, log_weight = weights(rng)
    first, second = (run(groups, weight, log_weight, np.uint64(key)) for key in (1, 2))
    assert (first[0] == second[0]).all()
    assert (first[1] != second[1]).any()


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_weights_beyond_floating_point(n):
    """Every cell prefers the first value by e^700 or more: the row maxima alone would leave nothing but zeros."""
    rng = np.random.default_rng(n)
    groups = lay_out([([1] * n, [1] * n)], rng, cells=n, values=n)
    log_weight = np.zeros((n, n))
    log_weight[:, 0] = 700.0 + 100.0 * np.arange(n)
    log_weight += rng.normal(0, 1, (n, n)) - 5_000.0
    weight = np.empty_like(log_weight)
    matching.scale(log_weight, weight)
    expected, log_total = brute(groups, 0, log_weight)
    marginal, drawn, _, _ = run(groups, weight, log_weight)
    np.testing.assert_allclose(marginal.reshape(n, n), expected, rtol=1e-10, atol=1e-100)
    assert drawn.sum() == n
    assert (drawn[expected.ravel() < 1e-30] == 0).all()
    permanent = np.empty(1)
    matching.log_permanent(groups, 0, 1, log_weight, permanent)
    np.testing.assert_allclose(permanent[0], log_total, rtol=1e-13)
    swapped = lay_out([([1] * n, [1] * n)], np.random.default_rng(n), cells=n, values=n, states=0)
    assert np.isfinite(run(swapped, weight, log_weight)[0]).all()


def test_many_repeats_are_exact_and_cheap():
    """Two values, 2,000 rows: the expected pairs of the rare value follow by hand when weights are equal but one."""
    groups = matching.lay_out([0, 3], [0, 1, 2], [1000, 999, 1], [0, 2], [0, 1], [1, 1999])
    log_weight = np.log(np.array([[1.0, 1.0], [1.0, 1.0], [1000.0, 1.0]]))
    weight = np.empty_like(log_weight)
    matching.scale(log_weight, weight)
    marginal, drawn, _, _ = run(groups, weight, log_weight)
    share = np.array([1000, 999, 1000]) / 2999
    np.testing.assert_allclose(marginal.reshape(3, 2)[:, 0], share, rtol=1e-10)
    assert drawn.reshape(3, 2).sum(axis=1).tolist() == [1000, 999, 1]
    permanent = np.empty(1)
    matching.log_permanent(groups, 0, 1, log_weight, permanent)
    logs = np.log(np.arange(1, 2000)).sum() + np.log(2999.0)
    np.testing.assert_allclose(permanent[0], logs, rtol=1e-12)


def test_a_single_row_and_a_large_group():
    rng = np.random.default_rng(6)
    counts = np.full(500, 10)
    groups = lay_out([([1], [1]), (counts, np.full(10, 500)), ([1], [1])], rng, cells=500, values=10)
    assert matching.exact(groups).tolist() == [True, False, True]
    marginal, drawn, tally, partner = run(groups, *weights(rng, 500, 10))
    assert marginal[0] == marginal[-1] == drawn[0] == drawn[-1] == 1
    assert partner.shape == (5_000,)
    assert tally.sum() == 5_002
    for found in (pairs(groups, 1, marginal), pairs(groups, 1, drawn)):
        np.testing.assert_allclose(found.sum(axis=1), counts, rtol=1e-11)
        np.testing.assert_allclose(found.sum(axis=0), 500, rtol=1e-11)
    permanent = np.empty(3)
    matching.log_permanent(groups, 0, 3, weights(rng, 500, 10)[1], permanent)
    assert np.isnan(permanent).tolist() == [False, True, False]


def test_equal_weights_have_factorial_permanents():
    groups = lay_out(ALL_SHAPES, np.random.default_rng(7))
    permanent = np.empty(len(ALL_SHAPES))
    matching.log_permanent(groups, 0, len(ALL_SHAPES), np.zeros((9, 8)), permanent)
    np.testing.assert_allclose(np.exp(permanent), [factorial(sum(a)) for a, _ in ALL_SHAPES], rtol=1e-12)


def test_groups_that_do_not_add_up_are_refused():
    for count, value_count in (([1, 1], [1]), ([], []), ([2, 0], [1, 1])):
        ends = [0, len(count)], np.arange(len(count)), count, [0, len(value_count)], np.arange(len(value_count))
        with pytest.raises(ValueError, match="group 0"):
            matching.lay_out(*ends, value_count)


def test_read_only_arrays_compile_nothing_new():
    two = np.array([0, 1], np.int32)
    ends, ones = np.array([0, 2]), np.ones(2, np.int32)
    for array in (two, ends, ones):
        array.flags.writeable = False
    groups = matching.lay_out(ends, two, ones, ends, two, ones)
    run(groups, *weights(np.random.default_rng(9)))
    run(matching.part(groups, 0, 1), *weights(np.random.default_rng(9)))
    assert len(closed_forms.match_closed.signatures) == 1


def transition_matrix(log_weight, chance):
    """One proposed swap on all matchings of a group whose cells and values are all different, and their law."""
    n = len(log_weight)
    states = list(permutations(range(n)))
    index = {state: i for i, state in enumerate(states)}
    logs = np.array([log_weight[np.arange(n), state].sum() for state in states])
    law = np.exp(logs - logs.max())
    move = np.zeros((len(states), len(states)))
    offers = [(i, j) for i in range(n) for j in range(i)]
    for state in states:
        for i, j in offers:
            after = list(state)
            after[i], after[j] = state[j], state[i]
            accept = chance(swaps.log_ratio(log_weight, i, j, state[i], state[j]))
            move[index[state], index[tuple(after)]] += accept / len(offers)
            move[index[state], index[state]] += (1 - accept) / len(offers)
    return law / law.sum(), move


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_swap_keeps_the_law(n):
    log_weight = np.random.default_rng(n).normal(0, 1.5, (n, n))
    law, move = transition_matrix(log_weight, lambda d: min(1.0, np.exp(d)))
    flow = law[:, None] * move
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)
    np.testing.assert_allclose(law @ move, law, rtol=1e-13)
    law, biased = transition_matrix(log_weight, lambda d: min(1.0, np.exp(0.9 * d)))
    assert np.abs(law @ biased - law).max() > 1e-4


def interpret(monkeypatch):
    """Let every kernel run as Python."""
    for module in (closed_forms, used_counts, swaps, matching):
        for name, kernel in list(vars(module).items()):
            if hasattr(kernel, "py_func"):
                monkeypatch.setattr(module, name, kernel.py_func)


@pytest.mark.parametrize("states", [matching.STATES, 4])
@pytest.mark.parametrize("spread", [1.5, 200.0])
def test_compiled_equals_python(monkeypatch, states, spread):
    rng = np.random.default_rng(8)
    shapes = ALL_SHAPES[:60]
    groups = lay_out(shapes, rng, states=states)
    weight, log_weight = weights(rng, spread=spread)
    permanent, again = np.empty(60), np.empty(60)
    matching.log_permanent(groups, 0, 60, log_weight, permanent)
    compiled = run(groups, weight, log_weight)
    interpret(monkeypatch)
    with np.errstate(over="ignore", under="ignore"):
        python = run(groups, weight, log_weight)
        matching.log_permanent(groups, 0, 60, log_weight, again)
    np.testing.assert_allclose(compiled[0], python[0], rtol=1e-13, atol=1e-200)  # exp and fused sums may differ
    np.testing.assert_allclose(permanent, again, rtol=1e-13, atol=1e-13)
    for a, b in zip(compiled[1:], python[1:], strict=True):
        assert (a == b).all()


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("spread", [0.5, 60.0])
def test_weights_read_as_products_of_rows_are_the_same(parts, spread):
    """The same matching from tables of parts as from their product written out; a cell counts in each of its rows."""
    rng = np.random.default_rng(parts)
    groups = lay_out(ALL_SHAPES, rng)
    of_cell = np.stack([rng.integers(0, 4, 9) + 4 * part for part in range(parts)], axis=1).astype(np.int32)
    log_table = -np.abs(rng.normal(0, spread, (4 * parts, 8)))
    log_weight = log_table[of_cell].sum(axis=1)
    weight = np.exp(log_weight)
    found = matching.Weights(
        of_cell,
        np.ascontiguousarray(of_cell[groups.cell]),
        np.exp(log_table),
        lambda cells: (weight[cells], log_weight[cells]),
    )
    marginal, drawn = np.empty(groups.pair_start[-1]), np.empty(groups.pair_start[-1], np.int32)
    in_rows = np.zeros((4 * parts, 8), np.int64)
    none = np.empty(0, np.int32)
    matching.sweep(groups, 0, len(groups.method), found, KEY, matching.ROUNDS, none, marginal, drawn, in_rows)
    expected, expected_drawn, tally, _ = run(groups, weight, log_weight)
    np.testing.assert_allclose(marginal, expected, rtol=1e-9, atol=1e-100)
    assert (drawn == expected_drawn).all()
    by_hand = np.zeros_like(in_rows)
    for part in of_cell.T:
        np.add.at(by_hand, part, tally)
    assert (in_rows == by_hand).all()

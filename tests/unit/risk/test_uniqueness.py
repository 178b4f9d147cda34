"""Uniqueness: hand tables, closed forms, and populations whose truth is known."""

import math
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from small import QI, made_schema, made_table
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError
from unveil.risk.uniqueness import (
    KeyCounts,
    benedetti_franconi,
    counted,
    expected_links,
    expected_uniqueness,
    key_counts,
    loglinear,
    minimal_uniques,
    negative_binomial,
    poisson_independence,
    poisson_two_way,
    population_unique,
    uniqueness_curve,
)

SIZES = np.array([1, 2, 3, 7, 49, 299, 300, 2000])


def cells(count: NDArray[np.integer], *, fraction: float = 0.1, weight: NDArray[np.float64] | None = None) -> KeyCounts:
    """Counts without a table: one key, a value a cell."""
    number = np.arange(len(count))
    total = count / fraction if weight is None else weight
    return KeyCounts(("a",), (len(count),), (number,), np.repeat(number, count), count, total, fraction)


def sampled(values: NDArray[np.integer], fraction: float, seed: int) -> tuple[KeyCounts, NDArray[np.integer]]:
    """A random sample of a population (people, keys), and F of the sample's cells."""
    rows = np.flatnonzero(np.random.default_rng(seed).random(len(values)) < fraction)
    names = [f"k{i}" for i in range(values.shape[1])]
    domains = [[str(v) for v in range(int(column.max()) + 1)] for column in values.T]
    schema = made_schema({n: {"role": QI, "domain": d} for n, d in zip(names, domains, strict=True)})
    table = Table.from_columns(schema, dict(zip(names, values.T.tolist(), strict=True)))
    return key_counts(table).sample(rows, fraction)


def test_by_hand_with_the_population() -> None:
    # Sample: a once, b once, c twice. Population: a 1, b 4, c 3.
    found = counted(cells(np.array([1, 1, 2])), np.array([1, 4, 3]))
    sample = cells(np.array([1, 1, 2]))
    assert found.risk.tolist() == [1, 0.25, 1 / 3]
    assert population_unique(sample, found) == 0.5
    assert expected_links(sample, found) == 1.25
    # Whoever is in the sample is in the population even if the population's file lacks them.
    assert counted(sample, np.array([0, 4, 1])).risk.tolist() == [1, 0.25, 0.5]


@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_benedetti_franconi_is_the_mean_of_one_over_a_negative_binomial(share: float) -> None:
    found = benedetti_franconi(cells(SIZES, fraction=share))
    for f, risk in zip(SIZES.tolist(), found.risk, strict=True):
        others = np.arange(0, int(stats.nbinom.ppf(1 - 1e-13, f, share)) + 2 if share < 1 else 1)
        assert risk == pytest.approx((stats.nbinom.pmf(others, f, share) / (f + others)).sum(), rel=1e-6)
    assert found.unique[0] == pytest.approx(share)
    assert (found.unique[1:] == 0).all()


def test_benedetti_franconi_closed_form_and_weights() -> None:
    # One person who stands for 4, one for 10: -p/(1-p)·ln p each, and P(F = 1) = p.
    found = benedetti_franconi(cells(np.array([1, 1]), weight=np.array([4.0, 10.0])))
    assert found.risk == pytest.approx([math.log(4) / 3, math.log(10) / 9])
    assert found.unique.tolist() == [0.25, 0.1]


def test_weights_come_from_the_table() -> None:
    schema = made_schema({"a": {"role": QI}}, weight="w")
    table = made_table(schema, ("x", 3), ("x", 5), ("y", 2))
    found = key_counts(table)
    assert found.weight.tolist() == [8, 2]
    assert found.fraction == pytest.approx(3 / 10)


def test_poisson_is_the_mean_of_one_over_a_poisson() -> None:
    # Independence with one key: the fitted mean is f itself, the others' mean f(1-p)/p.
    for share in (0.02, 0.5):
        found = poisson_independence(cells(SIZES, fraction=share))
        for f, risk in zip(SIZES.tolist(), found.risk, strict=True):
            mean = f * (1 - share) / share
            others = np.arange(int(mean + 12 * mean**0.5 + 50))
            assert risk == pytest.approx((stats.poisson.pmf(others, mean) / (f + others)).sum(), rel=1e-6)
        assert found.unique[0] == pytest.approx(math.exp(-(1 - share) / share))


def test_independent_keys_by_hand() -> None:
    # 4 people: (x,1) (x,2) (y,1) (x,1). Fitted means n·p(a)·p(b): (x,1) 4·3/4·3/4.
    schema = made_schema({"a": {"role": QI}, "b": {"role": QI}})
    sample = key_counts(made_table(schema, ("x", "1"), ("x", "2"), ("y", "1"), ("x", "1")), fraction=0.5)
    assert loglinear.independence_means(sample).tolist() == [2.25, 0.75, 0.75]
    assert population_unique(sample, poisson_independence(sample)) == pytest.approx(math.exp(-0.75))


def test_two_way_fit_keeps_every_margin() -> None:
    random = np.random.default_rng(4)
    first = random.integers(4, size=600)
    values = np.stack([first, (first + random.integers(3, size=600)) % 5, (first + random.integers(2, size=600)) % 4])
    sample, _ = sampled(values.T, 1.0, 1)
    fit = loglinear.two_way_means(sample)
    dense = np.zeros((4, 5, 4))
    dense[sample.values] = sample.count
    ours = np.ones((4, 5, 4))  # the same fit over the whole crossing
    for _ in range(3000):
        for axis in range(3):
            wanted, have = dense.sum(axis=axis, keepdims=True), ours.sum(axis=axis, keepdims=True)
            ours *= np.divide(wanted, have, out=np.zeros_like(wanted), where=have > 0)
    assert fit.mean == pytest.approx(ours[sample.values], rel=0.01, abs=0.02)
    assert fit.cells < ours.size  # empty margins were left out


def test_two_keys_are_fitted_exactly() -> None:
    sample, _ = sampled(np.random.default_rng(3).integers(5, size=(80, 2)), 1.0, 1)
    assert loglinear.two_way_means(sample).mean == pytest.approx(sample.count)


def test_too_many_combinations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loglinear, "MOST_CELLS", 20)
    with pytest.raises(NotApplicable, match="--known"):
        poisson_two_way(sampled(np.random.default_rng(3).integers(5, size=(80, 3)), 1.0, 1)[0])


def close(sample: KeyCounts, truth: NDArray[np.integer], found: object, deviations: float) -> bool:
    """Given a right model the uniques among the sample's are independent draws: so many deviations of their sum."""
    p = found.unique[sample.alone]  # type: ignore[attr-defined]
    real = ((truth == 1) & sample.alone).sum()
    return bool(abs(p.sum() - real) <= deviations * math.sqrt((p * (1 - p)).sum()))


@pytest.mark.parametrize("fraction", [0.1, 0.4])
def test_independence_is_right_about_an_independent_population(fraction: float) -> None:
    random = np.random.default_rng(11)
    skewed = [(1 / np.arange(1, size + 1)) / (1 / np.arange(1, size + 1)).sum() for size in (40, 25, 12)]
    values = np.stack([random.choice(len(p), 20_000, p=p) for p in skewed], axis=1)
    sample, truth = sampled(values, fraction, 5)
    # Five deviations; estimating 74 margins from thousands of people adds less than half of one.
    assert close(sample, truth, poisson_independence(sample), 5)
    assert not close(sample, truth, benedetti_franconi(sample), 5)


def test_two_way_is_right_where_independence_is_not() -> None:
    random = np.random.default_rng(12)
    chain = [random.integers(8, size=30_000)]
    for _ in range(4):  # the next key is near the last: only neighbours depend on each other
        chain.append((chain[-1] + random.geometric(0.5, 30_000) - 1) % 8)
    sample, truth = sampled(np.stack(chain, axis=1), 0.3, 6)
    # 640 pairs of values from 9,000 people: found 1.6 deviations off, independence 5.4.
    assert close(sample, truth, poisson_two_way(sample), 4)
    assert not close(sample, truth, poisson_independence(sample), 4)


def test_negative_binomial_recovers_its_population() -> None:
    random = np.random.default_rng(13)
    population = random.poisson(random.gamma(0.3, 8.0, 20_000))
    f = random.binomial(population, 0.2)
    seen = np.flatnonzero(f)
    number = np.arange(len(seen))
    sample = KeyCounts(("a",), (20_000,), (number,), np.repeat(number, f[seen]), f[seen], f[seen] / 0.2, 0.2)
    found = negative_binomial(sample)
    assert found.facts["shape"] == pytest.approx(0.3, rel=0.1)
    assert found.facts["scale"] == pytest.approx(8, rel=0.1)
    assert close(sample, population[seen], found, 5)
    # Record level: 1/F of sample pairs, by its own law: size shape + 2, probability (1 + p·scale)/(1 + scale).
    shape, scale = found.facts["shape"], found.facts["scale"]
    others = np.arange(2000)
    law = stats.nbinom.pmf(others, shape + 2, (1 + 0.2 * scale) / (1 + scale))
    assert found.risk[sample.count == 2][0] == pytest.approx((law / (2 + others)).sum(), rel=1e-9)


def test_the_whole_population_sampled_leaves_nothing_to_estimate() -> None:
    sample, truth = sampled(np.random.default_rng(3).integers(9, size=(60, 3)), 1.0, 1)
    right = population_unique(sample, counted(sample, truth))
    for estimator in (benedetti_franconi, negative_binomial, poisson_independence, poisson_two_way):
        assert population_unique(sample, estimator(sample)) == pytest.approx(right)


def test_minimal_uniques_by_hand() -> None:
    # Row 1 is the only x; row 4 the only (y, 2) but neither the only y nor the only 2; rows 2 and 3 are twins.
    schema = made_schema({n: {"role": QI} for n in "abc"})
    table = made_table(schema, ("x", "2", "p"), ("y", "1", "p"), ("y", "1", "p"), ("y", "2", "q"))
    found = minimal_uniques(key_counts(table))
    assert found.sizes.tolist() == [[1, 1], [0, 0], [0, 0], [1, 1]]
    # Row 1: {a}, then {b, c} = (2, p), once. Row 4: {c}, then {a, b}. Scores: (3-1)(3-2) for one, (3-2) for a pair.
    assert found.score.tolist() == [3, 0, 0, 3]
    assert found.takes_part.tolist() == [2, 2, 2]
    assert (found.risky, found.found.tolist(), found.subsets) == (2, [2, 2], 6)


def test_minimal_uniques_equal_a_search_of_every_subset() -> None:
    values = np.random.default_rng(8).integers(4, size=(60, 5))
    sample, _ = sampled(values, 1.0, 1)
    found = minimal_uniques(sample, 4)

    def unique(row: int, chosen: tuple[int, ...]) -> bool:
        return int((values[:, chosen] == values[row, chosen]).all(axis=1).sum()) == 1

    for row in range(60):
        sizes = [0] * 4
        for size in range(1, 5):
            for chosen in combinations(range(5), size):
                if unique(row, chosen) and not any(unique(row, c) for c in combinations(chosen, size - 1) if c):
                    sizes[size - 1] += 1
        assert found.sizes[row].tolist() == sizes
        assert found.score[row] == sum(n * math.factorial(5 - k) for k, n in enumerate(sizes, start=1))


def test_expected_uniqueness_by_hand_and_by_samples() -> None:
    # One alone, one pair: half sampled, 1/2 over 1/2 + 2·1/4.
    assert expected_uniqueness(np.array([1, 2]), 0.5) == 0.5
    assert expected_uniqueness(np.array([1, 2]), 1.0) == 1
    assert expected_uniqueness(np.array([2]), 1.0) == 0
    schema = made_schema({"a": {"role": QI}})
    table = made_table(schema, *[(str(v),) for v in np.random.default_rng(2).geometric(0.004, 3000)])
    for point in uniqueness_curve(key_counts(table), fractions=(0.2, 0.6), estimators=("benedetti_franconi",)):
        assert point.drawn == pytest.approx(point.expected, abs=0.06)  # about 400 uniques: 2.4 deviations of a share
        assert point.estimates == {"benedetti_franconi": pytest.approx(point.fraction)}
        assert abs(point.people - 3000 * point.fraction) < 150


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: key_counts(t, fraction=0.0), "sampling fraction"),
        (lambda t: key_counts(t, []), "at least one quasi-identifier"),
        (lambda t: minimal_uniques(key_counts(t), 2), "choose fewer"),
        (lambda t: expected_uniqueness(np.array([1]), 2.0), "sampling fraction"),
    ],
)
def test_refusals(call: object, words: str) -> None:
    table = made_table(made_schema({"a": {"role": QI}, "b": {"role": QI}}), ("x", "1"), ("y", "2"))
    with pytest.raises(UsageError, match=words):
        call(table)  # type: ignore[operator]

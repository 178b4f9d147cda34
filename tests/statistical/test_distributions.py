"""Gamma and binomial draws against SciPy's distributions; seeds are constants, margins wide."""

import numpy as np
import pytest
from scipy import stats

from unveil.kernels import distributions, random

DRAWS = 20_000


def _many(draw: object, *parameters: float, key: int) -> np.ndarray:
    counter, found = np.uint64(0), []
    for _ in range(DRAWS):
        value, counter = draw(*parameters, np.uint64(key), np.uint64(counter))  # type: ignore[operator]
        found.append(value)
    return np.array(found)


def test_uniform_draws_are_uniform() -> None:
    found = np.array([random.uniform(np.uint64(5), np.uint64(i)) for i in range(DRAWS)])
    assert stats.kstest(found, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 3.7, 250.0])
def test_gamma(shape: float) -> None:
    assert stats.kstest(_many(distributions.gamma, shape, key=11), stats.gamma(shape).cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("n", "p"), [(1, 0.3), (7, 0.9), (30, 0.2), (40, 0.5), (1000, 0.003), (1000, 0.4), (10**6, 0.7), (10**9, 1e-9)]
)
def test_binomial(n: int, p: float) -> None:
    found = _many(distributions.binomial, n, p, key=3)
    law = stats.binom(n, p)
    assert found.min() >= 0
    assert found.max() <= n
    edges = np.unique(law.ppf(np.linspace(0.02, 0.98, 25)))
    expected = np.diff(np.concatenate([[0], law.cdf(edges), [1]])) * DRAWS
    counts = np.bincount(np.searchsorted(edges, found), minlength=len(edges) + 1)
    keep = expected > 5
    chi = ((counts - expected)[keep] ** 2 / expected[keep]).sum()
    assert chi < stats.chi2.ppf(1 - 1e-4, keep.sum())


def test_a_planted_bias_is_caught() -> None:
    found = _many(distributions.binomial, 1000, 0.4, key=3)
    assert abs(found.mean() - 400) < 5 * np.sqrt(240 / DRAWS)
    assert abs((found + 1).mean() - 400) > 5 * np.sqrt(240 / DRAWS)


def test_multinomial_keeps_its_total_and_its_means() -> None:
    weight = np.array([5.0, 3.0, 1.0, 1.0])
    total = np.zeros(4)
    counter = np.uint64(0)
    for _ in range(4000):
        out = np.zeros(4, np.int64)
        counter = np.uint64(distributions.multinomial(50, weight, np.uint64(9), counter, out))
        assert out.sum() == 50
        total += out
    share = weight / weight.sum()
    assert np.abs(total / 4000 - 50 * share).max() < 5 * np.sqrt(50 * 0.25 / 4000)


def test_dirichlet_means() -> None:
    shape = np.array([0.5, 1.0, 4.5])
    total, counter, out = np.zeros(3), np.uint64(0), np.empty(3)
    for _ in range(4000):
        counter = np.uint64(distributions.dirichlet(shape, np.uint64(2), counter, out))
        assert out.sum() == pytest.approx(1)
        total += out
    assert np.abs(total / 4000 - shape / 6).max() < 5 * np.sqrt(0.25 / 7 / 4000)


def test_log_factorial() -> None:
    from scipy.special import gammaln

    for k in [0, 1, 5, 9, 10, 11, 50, 10**6]:
        assert distributions.log_factorial(k) == pytest.approx(gammaln(k + 1), rel=1e-12, abs=1e-12)


def test_compiled_equals_plain() -> None:
    key = np.uint64(77)
    with np.errstate(over="ignore"):
        for n, p in [(5, 0.3), (1000, 0.4)]:
            plain = distributions.binomial.py_func(n, p, key, np.uint64(4))
            assert plain == distributions.binomial(n, p, key, np.uint64(4))
        plain = distributions.gamma.py_func(0.4, key, np.uint64(4))
        compiled = distributions.gamma(0.4, key, np.uint64(4))
    assert plain[0] == pytest.approx(compiled[0], rel=1e-14)
    assert plain[1] == compiled[1]

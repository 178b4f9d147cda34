"""Gamma and binomial draws by counter. Each takes a key and a counter and gives the draw and the counter after it."""

import math

import numpy as np
from numba import njit

from unveil.kernels.random import uniform

__all__ = ["binomial", "dirichlet", "gamma", "log_factorial", "multinomial", "warm"]

_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def gamma(shape, key, counter):
    """A Gamma(shape, 1) draw by squeeze and rejection (Marsaglia and Tsang 2000); shapes below 1 by their boost."""
    boost = 1.0
    if shape < 1.0:
        u = 1.0 - uniform(key, counter)
        counter += _ONE
        boost = u ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        # A normal draw by Box and Muller; the second of the pair is not kept, so that draws stay counted.
        u = 1.0 - uniform(key, counter)
        x = np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * np.pi * uniform(key, counter + _ONE))
        w = 1.0 - uniform(key, counter + _ONE + _ONE)
        counter += _ONE + _ONE + _ONE
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        if np.log(w) < 0.5 * x * x + d - d * v + d * np.log(v):
            return boost * d * v, counter


@njit(cache=True, nogil=True)
def dirichlet(shape, key, counter, out):
    """A Dirichlet draw into `out`; a component that underflows becomes the smallest normal number."""
    total = 0.0
    for i in range(shape.shape[0]):
        out[i], counter = gamma(shape[i], key, counter)
        if out[i] < 1e-300:
            out[i] = 1e-300
        total += out[i]
    for i in range(shape.shape[0]):
        out[i] /= total
    return counter


@njit(cache=True, nogil=True)
def log_factorial(k):
    """log k!"""
    return math.lgamma(k + 1.0)


@njit(cache=True, nogil=True)
def binomial(n, p, key, counter):
    """A Binomial(n, p) draw: inversion where n·p is small, else transformed rejection (Hörmann 1993, BTRS). Exact."""
    if n <= 0 or p <= 0.0:
        return 0, counter
    if p >= 1.0:
        return n, counter
    flipped = p > 0.5
    if flipped:
        p = 1.0 - p
    if n * p < 10.0:
        k, counter = _inversion(n, p, key, counter)
    else:
        k, counter = _rejection(n, p, key, counter)
    return (n - k if flipped else k), counter


@njit(cache=True, nogil=True)
def _inversion(n, p, key, counter):
    """Sum of geometric gaps until n is passed: exact, and free of underflow (Devroye 1986, X.4.3)."""
    k = 0
    at = 0.0
    scale = np.log1p(-p)
    while True:
        u = 1.0 - uniform(key, counter)
        counter += _ONE
        at += np.floor(np.log(u) / scale) + 1.0
        if at > n:
            return k, counter
        k += 1


@njit(cache=True, nogil=True)
def _rejection(n, p, key, counter):
    spread = np.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    alpha = (2.83 + 5.1 / b) * spread
    odds = np.log(p / (1.0 - p))
    mode = np.int64(np.floor((n + 1) * p))
    height = log_factorial(mode) + log_factorial(n - mode)
    while True:
        u = uniform(key, counter) - 0.5
        v = 1.0 - uniform(key, counter + _ONE)
        counter += _ONE + _ONE
        us = 0.5 - abs(u)
        k = np.int64(np.floor((2.0 * a / us + b) * u + c)) if us > 0 else np.int64(-1)
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k, counter
        v = np.log(v * alpha / (a / (us * us) + b))
        if v <= height - log_factorial(k) - log_factorial(n - k) + (k - mode) * odds:
            return k, counter


@njit(cache=True, nogil=True)
def multinomial(n, weight, key, counter, out):
    """Add a Multinomial(n, weight / sum of weight) draw to `out` (int64); a chain of binomials."""
    left = 0.0
    for i in range(weight.shape[0]):
        left += weight[i]
    for i in range(weight.shape[0]):
        if n == 0:
            return counter
        if i == weight.shape[0] - 1:
            out[i] += n
            return counter
        share = weight[i] / left if left > 0 else 1.0
        k, counter = binomial(n, min(share, 1.0), key, counter)
        out[i] += k
        n -= k
        left -= weight[i]
    return counter


def warm():
    """Compile every kernel here."""
    key, counter = np.uint64(1), np.uint64(0)
    dirichlet(np.array([0.5, 2.0]), key, counter, np.empty(2))
    multinomial(100, np.array([0.5, 0.3, 0.2]), key, counter, np.zeros(3, np.int64))
    gamma(1.0, key, counter)
    binomial(100, 0.3, key, counter)
    log_factorial(12)

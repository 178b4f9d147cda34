"""Beliefs as they might have come out: moved as far as their chains differ."""

import math

import numpy as np
from numba import njit

__all__ = ["shift_beliefs", "warm"]

FARTHEST = 20.0  # a logarithm moves no further


@njit(cache=True, nogil=True)
def shift_beliefs(chains, pooled, weight, whole, out):
    """Fill `out` (people, values) with `pooled` times the exponential of what `weight` (chains,) makes of `chains`.

    `chains` (chains, people, values) are taken over their mean. What is believed to be impossible stays so, and costs
    nothing. `whole`: the rows of `out` sum up to 1.
    """
    count, people, values = chains.shape
    for i in range(people):
        total = 0.0
        for v in range(values):
            p = pooled[i, v]
            if p == 0.0:
                out[i, v] = 0.0
                continue
            mean = 0.0
            step = 0.0
            for c in range(count):
                mean += chains[c, i, v]
                step += weight[c] * chains[c, i, v]
            far = step / max(mean / count, 1e-300)
            out[i, v] = p * math.exp(min(max(far, -FARTHEST), FARTHEST))
            total += out[i, v]
        if whole and total > 0.0:
            for v in range(values):
                out[i, v] /= total


def warm():
    """Compile every kernel here."""
    one = np.full((1, 2), 0.5)
    shift_beliefs(np.full((2, 1, 2), 0.5), one, np.zeros(2), True, np.empty((1, 2)))

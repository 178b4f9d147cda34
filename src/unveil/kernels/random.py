"""Random numbers by counter: a draw is a function of a key and a number, so work can be cut up in any way."""

import numpy as np
from numba import njit

__all__ = ["draw", "uniform", "warm"]


@njit(cache=True, nogil=True)
def draw(key, counter):
    """64 random bits of draw number `counter` under `key` (SplitMix64, Steele et al. 2014); both uint64."""
    z = key + (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def uniform(key, counter):
    """A number in [0, 1) with 53 random bits."""
    return np.float64(draw(key, counter) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


def warm():
    """Compile every kernel here."""
    uniform(np.uint64(1), np.uint64(2))
    draw(np.uint64(1), np.uint64(2))

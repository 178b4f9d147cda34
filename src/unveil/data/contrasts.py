"""How far the mean of chains may err, from how they differ: contrasts err as their mean does, and do not know it."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["contrast_weights", "shift_size"]

Floats = NDArray[np.float64]


def contrast_weights(chains: int) -> Floats:
    """(chains - 1, chains) weights of sums of chains that err as their mean does, each independently of the others.

    Weights sum to 0, and their squares to 1 / chains.
    """
    number, place = np.arange(1, chains)[:, None], np.arange(chains)[None, :]
    return np.asarray(np.sqrt(2) / chains * np.cos(np.pi * (place + 0.5) * number / chains))


@lru_cache(maxsize=64)
def shift_size(contrasts: int, level: float) -> float:
    """How many times the largest of so many independent errors another error of that size exceeds with this chance.

    Of one contrast (two chains) this is Student's t; contrasts of chains are normal where chains are long.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    at, width = np.polynomial.legendre.leggauss(400)
    x = 6 * (at + 1)  # half of a normal
    density = 6 * width * np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2)
    beyond = lambda size: float(density @ (2 * ndtr(x / size) - 1) ** contrasts) - level  # noqa: E731
    return float(brentq(beyond, 1e-3, 1e5))

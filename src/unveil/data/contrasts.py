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
    """How many times the largest of this many independent errors another error of that size exceeds with this chance.

    Of one contrast (two chains) this is Student's t; contrasts of chains are normal where chains are long.
    """
    from scipy.special import ndtr

    x = np.linspace(0, 12, 4001)  # half of a normal
    density = np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2) * (x[1] - x[0])
    density[0] /= 2
    low, high = 1e-3, 1e5
    while high / low > 1 + 1e-9:  # the chance falls with the size
        size = (low * high) ** 0.5
        low, high = (size, high) if float(density @ (2 * ndtr(x / size) - 1) ** contrasts) > level else (low, size)
    return high

"""Control variates: functions of a chain's states whose means are 0 take their share out of the noise.

The slope of a density has mean 0 over it, and so has (x - c) · slope + 1. What of the shares goes with them is noise
and is subtracted (zero-variance Monte Carlo: Mira, Solgi and Imparato 2013): far fewer draws for the same error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import BatchMeans

__all__ = ["ControlVariates", "coefficients"]

Floats = NDArray[np.float64]

RIDGE = 1e-6  # beside products of 1: functions may depend on each other
DRAWS_OF_EACH, FEWEST_DRAWS = 20, 750  # of other chains, for each function and in all: fitted to fewer, it is noise


@dataclass(slots=True, eq=False)
class ControlVariates:
    """Of one chain: the functions' batch means, and their products with each other and with the shares."""

    centre: Floats  # (atoms,)
    zero: BatchMeans  # of (functions,)
    gram: Floats  # (functions, functions) sums of products over all draws, below the diagonal
    cross: Floats  # (functions, atoms) the same with the shares
    shares: Floats  # (atoms,) sums of the shares
    total: Floats  # (functions,) sums
    draws: int = 0

    @classmethod
    def of(cls, centre: Floats) -> "ControlVariates":
        """Before any draw."""
        atoms = len(centre)
        gram, cross = np.zeros((2 * atoms, 2 * atoms)), np.zeros((2 * atoms, atoms))
        return cls(centre, BatchMeans(), gram, cross, np.zeros(atoms), np.zeros(2 * atoms))

    def extend(self, shares: Floats, zero: Floats, size: int) -> None:
        """Note the sums of batches of this many draws."""
        self.zero.extend(zero / size)
        self.shares += shares.sum(axis=0)
        self.total += zero.sum(axis=0)
        self.draws += len(zero) * size


def coefficients(others: Sequence[ControlVariates]) -> Floats | None:
    """(functions, atoms) by which a chain's functions are to be subtracted, fitted to the draws of the *other* chains.

    Fitted to its own it would be surer than it is. None where these are too few.
    """
    draws = sum(one.draws for one in others)
    functions = len(others[0].total) if others else 0
    if not others or draws < max(DRAWS_OF_EACH * functions, FEWEST_DRAWS):
        return None
    gram = sum((one.gram for one in others), np.zeros((functions, functions)))
    gram = np.tril(gram) + np.tril(gram, -1).T
    mean = sum((one.shares for one in others), np.zeros(len(others[0].shares))) / draws
    cross = sum((one.cross - np.outer(one.total, mean) for one in others), np.zeros((functions, len(mean))))
    scale = 1 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    gram = gram * scale[:, None] * scale + RIDGE * np.eye(functions)
    return np.asarray(np.linalg.solve(gram, cross * scale[:, None]) * scale[:, None])

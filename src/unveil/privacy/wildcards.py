"""Sums over cells that agree if a withheld cell agrees with everything."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import row_numbers
from unveil.errors import NotApplicable

__all__ = ["wildcard_sums"]

MOST_MASKS = 256  # sets of withheld attributes


def wildcard_sums(
    columns: Sequence[NDArray[np.integer]], blank: Sequence[NDArray[np.bool_]], *weights: NDArray[np.floating]
) -> list[NDArray[np.float64]]:
    """(cells,) of each weight: its sum over all cells that agree, a blank cell with everything.

    Cost: cells for every pair of sets of withheld attributes, not pairs of cells.
    """
    keys = len(columns)
    mask = np.zeros(len(columns[0]), dtype=np.int64)
    for key, hidden in enumerate(blank):
        mask |= hidden.astype(np.int64) << key
    masks = np.unique(mask)
    if len(masks) > MOST_MASKS:
        raise NotApplicable(f"cells are withheld in over {MOST_MASKS} combinations of attributes")
    members = {m: np.flatnonzero(mask == m) for m in masks.tolist()}
    totals = [np.zeros(len(mask)) for _ in weights]
    for own, here in members.items():
        for other, there in members.items():
            both = [columns[k] for k in range(keys) if not (own | other) >> k & 1]
            pooled = np.concatenate([here, there])
            number = row_numbers([column[pooled] for column in both], len(pooled))
            for total, weight in zip(totals, weights, strict=True):
                found = np.bincount(number[len(here) :], weights=weight[there], minlength=int(number.max()) + 1)
                total[here] += found[number[: len(here)]]
    return totals

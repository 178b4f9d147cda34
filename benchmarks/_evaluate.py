"""One evaluator for every tool's groups: from the rows and the group of each row, whatever the tool calls its cells."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realdata.adult import NUMERIC

__all__ = ["Quality", "evaluate"]


@dataclass(frozen=True, slots=True)
class Quality:
    """Groups and what they cost."""

    groups: int
    smallest: int
    discernibility: float  # sum of squared group sizes
    certainty_penalty: float  # GCP, sets: 0 = exact, 1 = everything hidden


def evaluate(columns: dict[str, list[str]], names: Sequence[str], group: NDArray[np.integer]) -> Quality:
    """Cells as tight as the group's rows allow: a number's span over the data's, a set's values over the data's."""
    group = np.unique(group, return_inverse=True)[1]
    size = np.bincount(group)
    widths = np.zeros(len(size))
    for name in names:
        if name in NUMERIC:
            value = np.array(columns[name], dtype=np.float64)
            low, high = np.full(len(size), np.inf), np.full(len(size), -np.inf)
            np.minimum.at(low, group, value)
            np.maximum.at(high, group, value)
            widths += (high - low) / np.ptp(value)
        else:
            code = np.unique(columns[name], return_inverse=True)[1]
            seen = np.zeros((len(size), code.max() + 1), dtype=bool)
            seen[group, code] = True
            held = seen.sum(axis=1)
            widths += np.where(held > 1, held / seen.shape[1], 0.0)
    penalty = float((widths * size).sum() / (len(names) * len(group)))
    return Quality(len(size), int(size.min()), float((size.astype(np.float64) ** 2).sum()), penalty)

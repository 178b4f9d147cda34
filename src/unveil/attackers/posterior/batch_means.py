"""Means of batches of draws, many numbers each, in half the space that they would take as they are."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["BatchMeans"]

Floats = NDArray[np.float64]


@dataclass(slots=True, eq=False)
class BatchMeans:
    """The means of a chain's batches so far: the first as it is, and by how much each one differs from it.

    Differences are kept with 7 digits. They are small beside what they differ from, and rounding a difference leaves it
    a difference: numbers that stand still stay equal to the last digit.
    """

    first: Floats | None = None  # (numbers,)
    beyond: list[NDArray[np.float32]] = field(default_factory=list)  # by batch: (numbers,)
    whole: Floats | None = None  # the mean of all, once it was asked for

    def __len__(self) -> int:
        return len(self.beyond)

    def __getitem__(self, batch: int) -> Floats:
        """(numbers,) the mean of one batch."""
        found = self.beyond[batch]
        assert self.first is not None
        return self.first + found

    def extend(self, batches: Iterable[Floats]) -> None:
        """Note the means of more batches."""
        for batch in batches:
            if self.first is None:
                self.first = batch.copy()
            self.beyond.append((batch - self.first).astype(np.float32))
        self.whole = None

    def mean(self) -> Floats:
        """(numbers,) of all batches."""
        if self.whole is None:
            assert self.first is not None
            self.whole = self.first + np.mean(self.beyond, axis=0, dtype=np.float64)
        return self.whole

    def stacked(self, batches: int) -> Floats:
        """(batches, numbers) the means of the first so many."""
        return np.stack([self[batch] for batch in range(batches)])

    def halve(self) -> None:
        """Two batches into one; there must be an even number of them."""
        self.beyond = [(a + b) / np.float32(2) for a, b in zip(self.beyond[::2], self.beyond[1::2], strict=True)]

"""Weights averaged over a posterior: running means of states as they come, and the beliefs they make."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.convergence import BATCHES, PRECISION, diagnostics
from unveil.data.belief import Belief, Targets, Threat

__all__ = ["Averages", "BatchMeans", "DistinctTargets", "Running", "belief_of", "shares", "watched"]

MOST_WATCHED = 1000  # targets whose beliefs are kept batch by batch, to see whether chains agree
MOST_WATCHED_BELIEFS = 30_000  # over all values


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """Weights averaged over the posterior; of some targets also batch by batch, to judge the chains by.

    Targets of whom the same is known share a row: `number` says which row is whose (None: a row each, in order).
    """

    mean: NDArray[np.float64]  # (chains, distinct targets, values); one chain if it is exact
    batches: NDArray[np.float64]  # (batches, chains, watched targets, values); nobody is watched if it is exact
    precision: float = PRECISION  # the Monte-Carlo error that is asked for
    number: NDArray[np.int64] | None = None  # (targets,) the row of each

    def mixed(self, other: "Averages", share: NDArray[np.float64]) -> "Averages":
        """`share` (targets,) of these beliefs, the rest of the other's."""
        mine, theirs = shares(self.mean), shares(other.mean)
        batches = self.batches
        if batches.size:
            few = share[watched(len(share), self.mean.shape[2])][:, None]
            batches = few * shares(batches) + (1 - few) * shares(other.batches)
        return replace(self, mean=share[:, None] * mine + (1 - share[:, None]) * theirs, batches=batches)

    def times(self, factor: NDArray[np.float64]) -> "Averages":
        """Every weight multiplied by its target's and value's `factor` (distinct targets, values)."""
        batches = self.batches
        if batches.size:
            batches = batches * factor[watched(*factor.shape)]
        return replace(self, mean=self.mean * factor, batches=batches)


@dataclass(frozen=True, slots=True, eq=False)
class DistinctTargets:
    """Targets of whom different things are known, worked out once for each set of targets that is asked about."""

    most: int | None = None  # sets that are remembered; None: all
    found: dict[int, tuple[Targets, Targets, NDArray[np.int64]]] = field(default_factory=dict)

    def of(self, targets: Targets) -> tuple[Targets, NDArray[np.int64]]:
        """The distinct ones, the same object every time, and which of them each target is."""
        if id(targets) not in self.found:
            if len(self.found) == self.most:
                del self.found[next(iter(self.found))]
            self.found[id(targets)] = targets, *targets.distinct()  # the first keeps the id from being used again
        return self.found[id(targets)][1:]


@dataclass(slots=True, eq=False)
class Running:
    """The mean of terms as they come from one chain, and means of consecutive batches of them."""

    states: int = 0
    total: NDArray[np.float64] | None = None  # the sum of the terms of all full batches
    size: int = 1  # terms in a batch
    part: NDArray[np.float64] | None = None  # the sum of the batch that is not full yet
    in_part: int = 0
    batches: list[NDArray[np.float64]] = field(default_factory=list)  # means

    def room(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Where the next term is to be added: arrays are large, and writing a term down first would cost as much."""
        if self.part is None:
            self.part = np.zeros(shape)
        return self.part

    def added(self) -> NDArray[np.float64] | None:
        """A term was added. The batch's mean if it is full now, to be handed to `close` (as it is, or a part of it)."""
        self.states += 1
        self.in_part += 1
        return self.part / self.size if self.part is not None and self.in_part == self.size else None

    def add(self, term: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """One more term that was written down."""
        self.room(term.shape)[...] += term
        return self.added()

    def close(self, batch: NDArray[np.float64]) -> None:
        """Note a full batch. Twice as many as are needed are merged, two by two."""
        self.batches.append(batch)
        if self.part is not None:
            self.total = self.part.copy() if self.total is None else np.add(self.total, self.part, out=self.total)
            self.part[...] = 0
        self.in_part = 0
        if len(self.batches) == 2 * BATCHES:
            self.batches = [(a + b) / 2 for a, b in zip(self.batches[::2], self.batches[1::2], strict=True)]
            self.size *= 2

    def mean(self) -> NDArray[np.float64] | None:
        """Of all terms; None if there are none."""
        if self.part is None:
            return None
        return (self.part if self.total is None else self.total + self.part) / self.states


def watched(targets: int, values: int) -> NDArray[np.int64]:
    """The targets that are watched: all, or a fixed random choice."""
    most = max(min(MOST_WATCHED, MOST_WATCHED_BELIEFS // max(values, 1)), 50)
    if targets <= most:
        return np.arange(targets)
    return np.sort(np.random.Generator(np.random.PCG64(targets)).choice(targets, most, replace=False))


def shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights (..., values) as distributions; without any weight, uniform."""
    total = weights.sum(axis=-1, keepdims=True)
    if (total > 0).all():
        return np.asarray(weights / total)
    even = np.full_like(weights, 1 / weights.shape[-1])
    return np.asarray(np.divide(weights, total, out=even, where=total > 0))


def belief_of(averages: Averages, method: str, threat: Threat) -> Belief:
    """Weights are averaged first and normalised last: normalising each draw is wrong (7/12 comes out as .562).

    Chains that disagree are not pooled: the belief is that of the mode most chains found.
    """
    everyone = np.arange(averages.mean.shape[1]) if averages.number is None else averages.number
    if len(averages.mean) == 1:
        found = Belief(shares(averages.mean[0]), diagnostics=diagnostics(method, None, None), threat=threat)
        return found.of(everyone)
    chains = shares(averages.mean)
    judged = diagnostics(method, shares(averages.batches), chains, averages.precision)
    together = list(judged.modes[0]) if judged.modes else slice(None)
    pooled = shares(averages.mean[together].mean(axis=0))
    return Belief(pooled, chains=chains, diagnostics=judged, threat=threat).of(everyone)


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
        """(batches, numbers) the means of the first `batches`."""
        return np.stack([self[batch] for batch in range(batches)])

    def halve(self) -> None:
        """Two batches into one; there must be an even number of them."""
        self.beyond = [(a + b) / np.float32(2) for a, b in zip(self.beyond[::2], self.beyond[1::2], strict=True)]

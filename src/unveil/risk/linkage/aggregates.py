"""Aggregates: one distance of a pair from its contributions, linear in the aggregate's parameters (Torra 2024).

| aggregate | distance | parameters |
|---|---|---|
| weighted mean | sum of p_a d_a | p_a ≥ 0, adding up to 1 |
| OWA | sum of p_i d_(i), the largest first | p_i ≥ 0, adding up to 1 |
| Choquet integral | sum of (d_(i) - d_(i-1)) mu(attributes at least as far) | mu grows with its set, up to 1 |
| bilinear | s' Q s, s the signed differences | Q positive semidefinite, of trace 1 |

The parameters of each are a convex set, so that any mixture of two of them is one, too.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unveil.errors import NotApplicable, UsageError, shown
from unveil.risk.linkage.pairs import Pairs

__all__ = ["AGGREGATES", "Aggregate", "aggregate_named"]

MOST_ATTRIBUTES = 6  # of a Choquet integral: 2^n - 1 parameters
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WeightedMean:
    """Weights of attributes; and what learning asks of every family, the others differing where they must."""

    name: ClassVar[str] = "weighted_mean"
    holds: ClassVar[tuple[str, ...]] = ()  # families that are part of this one
    sharper: ClassVar[float] = 4.0  # free numbers multiplied by this make distances four times as large

    def widened(self, inner: str, parameters: Floats, attributes: int) -> Floats:
        """The parameters of a family inside, as this one writes them."""
        return parameters

    def features(self, pairs: Pairs) -> Floats:
        """(people, rows, parameters) what the parameters are multiplied with."""
        return pairs.squared

    def equal(self, attributes: int) -> Floats:
        """The parameters of the plain distance, over the number of attributes."""
        return np.full(attributes, 1 / attributes)

    def corners(self, attributes: int) -> list[Floats]:
        """Some parameters at the edge: one attribute alone, and the like."""
        return list(np.eye(attributes))

    def draw(self, attributes: int, random: np.random.Generator) -> Floats:
        """Any parameters."""
        return random.dirichlet(np.full(attributes, 0.5))

    def from_free(self, free: Floats, attributes: int) -> Floats:
        """Parameters, of any scale, of free numbers."""
        return free

    def slope(self, free: Floats, slope: Floats, attributes: int) -> Floats:
        """The slope by the free numbers, from that by the parameters."""
        return slope

    def free(self, attributes: int) -> tuple[Floats, float | None]:
        """Free numbers to start from, and the least they may be."""
        return np.ones(attributes), 0.0

    def nearest(self, parameters: Floats, attributes: int) -> Floats:
        """Parameters that are allowed, near some that need not be."""
        kept = np.maximum(parameters, 0.0)
        return kept / kept.sum() if kept.sum() > 0 else self.equal(attributes)

    def rules(self, attributes: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """What is linear of the set: matrix, its least and greatest values, and those of each parameter."""
        one = np.ones(1)
        return np.ones((1, attributes)), one, one, np.zeros(attributes), np.ones(attributes)

    def cut(self, parameters: Floats, attributes: int) -> Floats | None:
        """Rows whose products with allowed parameters are ≥ 0, but not with these; None = they are allowed."""
        return None

    def reach(self, pairs: Pairs, features: Floats, own: Floats) -> Floats:
        """(people, rows) how much nearer than the own row a row can be, at most."""
        return np.asarray(np.maximum(own[:, None, :] - features, 0.0).max(axis=2))

    def root(self, parameters: Floats, attributes: int) -> Floats | None:
        """R (attributes, attributes) for which the distance is the squared length of s' R; None = there is none."""
        return np.diag(np.sqrt(np.maximum(parameters, 0.0)))


@dataclass(frozen=True, slots=True)
class Owa(WeightedMean):
    """Weights of the largest contribution, the next, …: attributes are alike."""

    name: ClassVar[str] = "owa"

    def features(self, pairs: Pairs) -> Floats:
        return -np.sort(-pairs.squared, axis=2)

    def root(self, parameters: Floats, attributes: int) -> Floats | None:
        return None


@dataclass(frozen=True, slots=True)
class Choquet(WeightedMean):
    """A weight of every set of attributes."""

    name: ClassVar[str] = "choquet"
    holds: ClassVar[tuple[str, ...]] = ("weighted_mean", "owa")

    def widened(self, inner: str, parameters: Floats, attributes: int) -> Floats:
        if inner == "owa":  # a set weighs what its number of members does
            return np.cumsum(parameters)[_sizes(attributes) - 1]
        sets = np.arange(1, 1 << attributes)
        return np.asarray((sets[:, None] >> np.arange(attributes) & 1) @ parameters)

    def features(self, pairs: Pairs) -> Floats:
        attributes = pairs.squared.shape[2]
        if attributes > MOST_ATTRIBUTES:
            raise NotApplicable(
                f"a Choquet integral of {attributes} attributes has {2**attributes - 2:,} parameters; "
                f"name at most {MOST_ATTRIBUTES} attributes with --known"
            )
        order = np.argsort(pairs.squared, axis=2)
        growth = np.diff(np.take_along_axis(pairs.squared, order, 2), axis=2, prepend=0)
        at_least = np.cumsum((1 << order)[..., ::-1], axis=2)[..., ::-1]  # the set, a bit an attribute
        found = np.zeros((*order.shape[:2], 1 << attributes))
        np.put_along_axis(found, at_least, growth, 2)
        return found[..., 1:]

    def equal(self, attributes: int) -> Floats:
        return _sizes(attributes) / attributes

    def corners(self, attributes: int) -> list[Floats]:
        return list(_thresholds(attributes))

    def draw(self, attributes: int, random: np.random.Generator) -> Floats:
        return self.nearest(random.random((1 << attributes) - 1) ** 2 * _sizes(attributes), attributes)

    def from_free(self, free: Floats, attributes: int) -> Floats:
        # Mixtures of thresholds: not every measure, but all of them are allowed.
        return np.asarray(free @ _thresholds(attributes))

    def slope(self, free: Floats, slope: Floats, attributes: int) -> Floats:
        return np.asarray(_thresholds(attributes) @ slope)

    def free(self, attributes: int) -> tuple[Floats, float | None]:
        members = np.array([chosen.bit_count() for chosen in range(1, 1 << attributes)])
        return np.repeat(members == 1, members).astype(np.float64), 0.0  # single attributes, as they are

    def nearest(self, parameters: Floats, attributes: int) -> Floats:
        grown = np.concatenate([[0.0], np.maximum(parameters, 0.0)])
        for members in range(1, len(grown)):
            for a in range(attributes):
                if members >> a & 1:
                    grown[members] = max(grown[members], grown[members ^ (1 << a)])
        return grown[1:] / grown[-1] if grown[-1] > 0 else self.equal(attributes)

    def rules(self, attributes: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        sets = (1 << attributes) - 1
        rows = []
        for members in range(1, sets):
            for a in range(attributes):
                if not members >> a & 1:
                    row = np.zeros(sets)
                    row[members - 1], row[(members | 1 << a) - 1] = -1, 1
                    rows.append(row)
        low = np.zeros(sets)
        low[-1] = 1
        matrix = np.array(rows).reshape(len(rows), sets)
        return matrix, np.zeros(len(rows)), np.full(len(rows), np.inf), low, np.ones(sets)

    def reach(self, pairs: Pairs, features: Floats, own: Floats) -> Floats:
        # The integral lies between the least and the greatest contribution.
        greatest = pairs.squared[np.arange(len(own)), pairs.own].max(axis=1)
        return np.asarray(np.maximum(greatest[:, None] - pairs.squared.min(axis=2), 0.0))

    def root(self, parameters: Floats, attributes: int) -> Floats | None:
        return None


@dataclass(frozen=True, slots=True)
class Bilinear(WeightedMean):
    """A matrix: Mahalanobis' distance and its like. For single numbers."""

    name: ClassVar[str] = "bilinear"
    holds: ClassVar[tuple[str, ...]] = ("weighted_mean",)
    sharper: ClassVar[float] = 2.0

    def widened(self, inner: str, parameters: Floats, attributes: int) -> Floats:
        return _flat(np.diag(parameters))

    def features(self, pairs: Pairs) -> Floats:
        if pairs.signed is None:
            raise NotApplicable("a bilinear form needs single numbers on both sides; name numeric attributes")
        a, b = np.triu_indices(pairs.signed.shape[2])
        return np.asarray(pairs.signed[..., a] * pairs.signed[..., b] * np.where(a == b, 1.0, 2.0))

    def equal(self, attributes: int) -> Floats:
        return _flat(np.eye(attributes) / attributes)

    def corners(self, attributes: int) -> list[Floats]:
        return [_flat(np.diag(row)) for row in np.eye(attributes)]

    def draw(self, attributes: int, random: np.random.Generator) -> Floats:
        root = random.normal(size=(attributes, int(random.integers(1, attributes + 1))))
        return _flat(root @ root.T / (root**2).sum())

    def from_free(self, free: Floats, attributes: int) -> Floats:
        root = free.reshape(attributes, attributes)
        return _flat(root @ root.T)

    def slope(self, free: Floats, slope: Floats, attributes: int) -> Floats:
        # A parameter off the diagonal stands for two cells of the matrix, and its feature is doubled.
        root = free.reshape(attributes, attributes)
        halved = _square(np.where(np.equal(*np.triu_indices(attributes)), slope, slope / 2), attributes)
        return np.asarray(2 * halved @ root).ravel()

    def free(self, attributes: int) -> tuple[Floats, float | None]:
        return np.eye(attributes).ravel(), None

    def nearest(self, parameters: Floats, attributes: int) -> Floats:
        value, vector = np.linalg.eigh(_square(parameters, attributes))
        kept = np.maximum(value, 0.0)
        return _flat(vector * kept @ vector.T / kept.sum()) if kept.sum() > 0 else self.equal(attributes)

    def rules(self, attributes: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        a, b = np.triu_indices(attributes)
        # |q_ab| ≤ sqrt(q_aa q_bb) ≤ 1/2 where the trace is 1, and ≤ (q_aa + q_bb) / 2.
        low, high = np.where(a == b, 0.0, -0.5), np.where(a == b, 1.0, 0.5)
        rows = [(a == b).astype(np.float64)]
        for pair in np.flatnonzero(a != b):
            for sign in (2.0, -2.0):
                rows.append(np.where((a == b) & ((a == a[pair]) | (a == b[pair])), 1.0, 0.0))
                rows[-1][pair] = sign
        least = np.zeros(len(rows))
        greatest = np.full(len(rows), np.inf)
        least[0] = greatest[0] = 1.0
        return np.array(rows), least, greatest, low, high

    def cut(self, parameters: Floats, attributes: int) -> Floats | None:
        value, vector = np.linalg.eigh(_square(parameters, attributes))
        if value[0] >= -1e-6:
            return None
        a, b = np.triu_indices(attributes)
        v = vector[:, value < -1e-6]
        return np.asarray((v[a] * v[b] * np.where(a == b, 1.0, 2.0)[:, None]).T)

    def reach(self, pairs: Pairs, features: Floats, own: Floats) -> Floats:
        # No eigenvalue is above 1, none below 0.
        assert pairs.signed is not None
        length = (pairs.signed[np.arange(len(own)), pairs.own] ** 2).sum(axis=1)
        return np.repeat(length[:, None], features.shape[1], axis=1)

    def root(self, parameters: Floats, attributes: int) -> Floats | None:
        value, vector = np.linalg.eigh(_square(parameters, attributes))
        return np.asarray(vector * np.sqrt(np.maximum(value, 0.0)))


Aggregate = WeightedMean
AGGREGATES: dict[str, Aggregate] = {one.name: one for one in (WeightedMean(), Owa(), Choquet(), Bilinear())}


def aggregate_named(name: str) -> Aggregate:
    """The family of this name."""
    if name not in AGGREGATES:
        raise UsageError(f"unknown distance {shown(name)}; choose from {', '.join(AGGREGATES)}")
    return AGGREGATES[name]


def _sizes(attributes: int) -> NDArray[np.int64]:
    return np.array([members.bit_count() for members in range(1, 1 << attributes)])


@cache
def _thresholds(attributes: int) -> Floats:
    """(measures, sets) for each set T of attributes and number k: 1 for sets that hold k of T or more, else 0."""
    sets = np.arange(1, 1 << attributes)
    found = [np.bitwise_count(sets & chosen) >= k for chosen in sets for k in range(1, int(chosen).bit_count() + 1)]
    made = np.array(found, dtype=np.float64)
    made.flags.writeable = False
    return made


def _flat(matrix: NDArray[Any]) -> Floats:
    return np.asarray(matrix[np.triu_indices(len(matrix))])


def _square(parameters: Floats, attributes: int) -> Floats:
    matrix = np.zeros((attributes, attributes))
    matrix[np.triu_indices(attributes)] = parameters
    return np.asarray(matrix + matrix.T - np.diag(np.diag(matrix)))

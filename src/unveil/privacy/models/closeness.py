"""Models of how a group's values are spread: near the table's, or near each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from unveil.data.options import Options, number, whole
from unveil.errors import UsageError
from unveil.privacy.distances import distance, log, ratio, shares
from unveil.privacy.models.contract import TOLERANCE, Counts, Levels, PrivacyModel
from unveil.privacy.reference import Reference

__all__ = [
    "BetaLikeness",
    "DeltaDisclosure",
    "EnhancedBetaLikeness",
    "EpsilonM",
    "NTCloseness",
    "StrictNTCloseness",
    "TCloseness",
]

CELLS_AT_ONCE = 1 << 16  # groups and supersets are compared in pieces that stay in the cache


@dataclass(frozen=True, slots=True, kw_only=True)
class TCloseness(PrivacyModel):
    """Distance of the group's distribution to the table's, at most t (Li 2010, def. 2.2.1)."""

    t: float | None = number(0, default=None)
    distance: str = "equal"
    name = "t_closeness"
    unites = True

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        distance(self.distance)

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        return distance(self.distance)(shares(counts), reference.share, reference.geometry)


@dataclass(frozen=True, slots=True, kw_only=True)
class NTCloseness(TCloseness):
    """Distance to the closest superset of n people or more, at most t; 0 for such a group (Li 2010, def. 2.2.2)."""

    n: int = whole(1)
    name = "n_t_closeness"
    unites = False  # the supersets of a united group are others
    needs = frozenset({"values", "supersets"})

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        level = TCloseness._measure(self, counts, reference)
        for group, apart in _to_supersets(self, counts, reference):
            np.minimum.at(level, group, apart)
        return np.where(counts.sum(axis=1) >= self.n, 0.0, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictNTCloseness(NTCloseness):
    """Distance to the farthest superset of n people or more, at most t (Li 2010, end of section 2.2.2)."""

    name = "strict_n_t_closeness"

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        level = TCloseness._measure(self, counts, reference)
        for group, apart in _to_supersets(self, counts, reference):
            np.maximum.at(level, group, apart)
        return level


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaDisclosure(PrivacyModel):
    """Largest |ln(p/q)| of a value, less than delta; infinite if one is absent (Brickell & Shmatikov 2008)."""

    delta: float | None = number(0, above=True, default=None)
    name = "delta_disclosure"
    unites = True
    strictly = True

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        share, table = shares(counts), reference.share
        apart = np.abs(log(share) - log(table))
        return np.asarray(np.where((share > 0) == (table > 0), apart, inf).max(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class BetaLikeness(PrivacyModel):
    """Largest relative gain (p - q) / q of a value, at most beta (Cao & Karras 2012, basic)."""

    beta: float | None = number(0, above=True, default=None)
    name = "beta_likeness"
    unites = True

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        return np.asarray(_gains(counts, reference).max(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class EnhancedBetaLikeness(BetaLikeness):
    """Largest relative gain, at most beta; infinite if a value gains more than -ln q (Cao & Karras 2012)."""

    name = "enhanced_beta_likeness"

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        gain = _gains(counts, reference)
        return np.asarray(np.where(gain > TOLERANCE - log(reference.share), inf, gain).max(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonM(PrivacyModel):
    """One over the largest share of people within epsilon of a present value, at least m (Li, Tao & Xiao 2008)."""

    m: float | None = number(0, above=True, default=None)
    epsilon: float = number(0)
    name = "epsilon_m"
    higher_is_safer = True
    needs = frozenset({"values", "numeric"})

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        if reference.geometry.position is None:
            raise UsageError("epsilon_m needs numeric sensitive values; for others use probabilistic_l")
        known = reference.geometry.position[: counts.shape[1] - reference.geometry.missing]
        reach = self.epsilon + TOLERANCE * np.abs(known).max(initial=1.0)
        below = np.concatenate([np.zeros((len(counts), 1)), counts[:, : len(known)].cumsum(axis=1)], axis=1)
        near = counts.copy()  # a missing value is near itself only
        near[:, : len(known)] = below[:, np.searchsorted(known, known + reach, "right")]
        near[:, : len(known)] -= below[:, np.searchsorted(known, known - reach, "left")]
        return ratio(counts.sum(axis=1), np.where(counts > 0, near, 0.0).max(axis=1))


def _gains(counts: Counts, reference: Reference) -> NDArray[np.float64]:
    """(groups, values) by how much, relatively, a value's share grew; 0 if it did not."""
    table = reference.share[None, :]
    return ratio(np.maximum(shares(counts) - table, 0.0), np.broadcast_to(table, counts.shape))


def _to_supersets(
    model: NTCloseness, counts: Counts, reference: Reference
) -> Iterator[tuple[NDArray[np.integer], Levels]]:
    """Groups and their distances to each superset of at least n people, in pieces."""
    pairs = reference.supersets
    if pairs is None:
        raise UsageError(f"{model.name} needs the natural supersets of the groups; without them use t_closeness")
    if len(pairs.group) and not 0 <= pairs.group.min() <= pairs.group.max() < len(counts):
        raise UsageError(f"supersets name a group outside the {len(counts)} groups")
    large = np.flatnonzero(pairs.histogram.sum(axis=1) >= model.n)
    share, piece = shares(counts), max(CELLS_AT_ONCE // counts.shape[1], 1)
    for start in range(0, len(large), piece):
        chosen = large[start : start + piece]
        group = pairs.group[chosen]
        superset = shares(pairs.histogram[chosen].astype(np.float64))
        yield group, distance(model.distance)(share[group], superset, reference.geometry)

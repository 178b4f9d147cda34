"""Models of how many people and how many values there are: k-anonymity, l-diversity and their kin."""

from dataclasses import dataclass

import numpy as np

from unveil.data.options import number, whole
from unveil.privacy.distances import log, ratio, shares
from unveil.privacy.models.contract import TOLERANCE, Counts, Levels, PrivacyModel, ceiling
from unveil.privacy.reference import Reference

__all__ = ["AlphaK", "DistinctL", "EntropyL", "KAnonymity", "PSensitiveK", "ProbabilisticL", "RecursiveCL"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KAnonymity(PrivacyModel):
    """Size of the group, at least k (Samarati & Sweeney 1998)."""

    k: int | None = whole(1, default=None)
    name = "k_anonymity"
    grows = unites = True
    higher_is_safer = True
    needs = frozenset()

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        return np.asarray(counts.sum(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctL(PrivacyModel):
    """Number of different values, at least l (Machanavajjhala et al. 2006)."""

    l: int | None = whole(1, default=None)
    name = "distinct_l"
    grows = unites = True
    higher_is_safer = True

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        return np.asarray(np.count_nonzero(counts, axis=1), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilisticL(PrivacyModel):
    """One over the largest share of a value, at least l (Xiao & Tao 2006)."""

    l: float | None = number(0, above=True, default=None)
    name = "probabilistic_l"
    unites = True
    higher_is_safer = True

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        return ratio(counts.sum(axis=1), counts.max(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyL(PrivacyModel):
    """Exponential of the entropy of the values, at least l (Machanavajjhala et al. 2006)."""

    l: float | None = number(0, above=True, default=None)
    name = "entropy_l"
    unites = True
    higher_is_safer = True

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        share = shares(counts)
        return np.asarray(np.exp(-(share * log(share)).sum(axis=1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveCL(PrivacyModel):
    """Count of the commonest value over the counts from the l-th commonest on, less than c (same paper)."""

    c: float | None = number(0, above=True, default=None)
    l: int = whole(1, default=2)
    name = "recursive_cl"
    unites = True
    strictly = True

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        rank = np.sort(counts, axis=1)[:, ::-1]
        return ratio(rank[:, 0], rank[:, self.l - 1 :].sum(axis=1))

    @property
    def smallest(self) -> int:
        return 1 if self.c is None else self.l


@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaK(PrivacyModel):
    """Largest share of a value, at most alpha; infinite below k people (Wong et al. 2006)."""

    alpha: float | None = number(0, 1, above=True, default=None)
    k: int | None = whole(1, default=None)
    name = "alpha_k"
    unites = True

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        return np.asarray(shares(counts).max(axis=1))

    @property
    def smallest(self) -> int:
        return max(1 if self.alpha is None else ceiling(1 / (self.alpha + TOLERANCE)), self._least_size, 1)

    @property
    def _least_size(self) -> int:
        return self.k or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PSensitiveK(PrivacyModel):
    """Number of different values, at least p; 0 below k people (Truta & Vinay 2006)."""

    p: int | None = whole(1, default=None)
    k: int | None = whole(1, default=None)
    name = "p_sensitive_k"
    grows = unites = True
    higher_is_safer = True

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        return np.asarray(np.count_nonzero(counts, axis=1), dtype=np.float64)

    @property
    def _least_size(self) -> int:
        return self.k or 0

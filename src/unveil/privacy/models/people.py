"""Models that need to know people beside the group's values: the population, or what is held of each member."""

from dataclasses import dataclass
from math import inf

import numpy as np

from unveil.data.options import Options, number
from unveil.errors import UsageError
from unveil.privacy.distances import ratio
from unveil.privacy.models.contract import TOLERANCE, Counts, Levels, PrivacyModel
from unveil.privacy.reference import Reference

__all__ = ["BTPrivacy", "DeltaPresence", "KMap", "PopulationUniqueness"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaPresence(PrivacyModel):
    """Share of the population's people who are in the group, at most high; infinite below low (Nergiz et al. 2007)."""

    high: float | None = number(0, 1, default=None)
    low: float = number(0, 1, default=0.0)
    name = "delta_presence"
    needs = frozenset({"population"})

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.high is not None and self.low > self.high:
            raise UsageError(f"{self.name}: low = {self.low} is above high = {self.high}; swap them")

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        level = ratio(counts.sum(axis=1), _people(self, counts, reference))
        return np.where(level < self.low - TOLERANCE, inf, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class KMap(PrivacyModel):
    """Fewest people of the population who fit a group's cells, at least k (Sweeney 2001; El Emam and Dankar 2008)."""

    k: float | None = number(1, default=None)
    name = "k_map"
    higher_is_safer = True
    needs = frozenset({"population"})
    grows = True
    unites = True

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        return _people(self, counts, reference)

    @property
    def smallest(self) -> int:
        """One row among many people holds."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationUniqueness(PrivacyModel):
    """Share of all rows whose cells fit one person of the population at most, at most share (Dankar et al. 2012)."""

    share: float | None = number(0, 1, default=None)
    name = "population_uniqueness"
    needs = frozenset({"population", "whole"})

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        rows = counts.sum(axis=1)
        alone = float(rows[_people(self, counts, reference) <= 1].sum())
        return np.full(len(counts), alone / max(float(rows.sum()), 1.0))


def _people(model: PrivacyModel, counts: Counts, reference: Reference) -> Levels:
    if reference.population is None or reference.population.shape != (len(counts),):
        raise UsageError(f"{model.name} needs the population's number of people for each group")
    return reference.population.astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class BTPrivacy(PrivacyModel):
    """Largest change of what is believed of a member, from a kernel prior on, at most t (Li 2010, def. 3.6.1).

    The distance is Jensen-Shannon's with the natural logarithm. Beliefs are exact in groups where people ·
    prod(n_i + 1) · values is at most `cost`, else the Omega-estimate; cost=0 is the thesis. Several are a skyline
    (def. 3.6.2).
    """

    t: float | None = number(0, default=None)
    bandwidth: tuple[float, ...] = (0.3,)
    cost: float = number(0, default=2e6)
    name = "b_t_privacy"
    needs = frozenset({"values", "members"})

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not self.bandwidth or not all(np.isfinite(b) and b > 0 for b in self.bandwidth):
            raise UsageError(f"{self.name}: a bandwidth is a number above 0, on distances from 0 to 1")

    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        from unveil.kernels.belief_change import largest_changes

        members = reference.members
        if members is None or self.bandwidth not in members.priors or len(members.start) != len(counts) + 1:
            raise UsageError(
                "b_t_privacy needs the groups' members and what is held of them beforehand; mondrian can require it"
            )
        prior, level = members.priors[self.bandwidth], np.zeros(len(counts))
        if prior.shape[1] != counts.shape[1]:
            raise UsageError("b_t_privacy: what is held of the members is about other values")
        start, cell = np.asarray(members.start, dtype=np.int64), np.asarray(members.cell, dtype=np.int64)
        largest_changes(start, cell, prior, counts, self.cost, level)
        return level

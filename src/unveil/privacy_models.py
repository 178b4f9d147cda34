"""Privacy models: what each measures on a group, and from which threshold on a group holds.

`level(histograms, overall)` is the one definition of a model, for checking a release and for every anonymizer. A
model compares its level with ONE threshold; every other option is part of the level: a group that misses it gets the
least safe level there is. So the worst group decides: `holds(worst)` is whether all groups hold.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from math import ceil, inf
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unveil.distances import distance
from unveil.errors import UsageError
from unveil.overall import Overall, Supersets, ratio, shares

__all__ = [
    "MODELS",
    "AlphaK",
    "BTPrivacy",
    "BetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctL",
    "EnhancedBetaLikeness",
    "EntropyL",
    "EpsilonM",
    "KAnonymity",
    "NTCloseness",
    "Overall",
    "PSensitiveK",
    "PrivacyModel",
    "ProbabilisticL",
    "RecursiveCL",
    "StrictNTCloseness",
    "Supersets",
    "TCloseness",
    "satisfied",
]

Counts = NDArray[np.float64]  # (groups, values) people of each group with each sensitive value
Levels = NDArray[np.float64]  # (groups,)

TOLERANCE = 1e-12  # of rounding, relative to thresholds above 1
CELLS_AT_ONCE = 1 << 16  # groups and supersets are compared in pieces that stay in the cache


def _whole(low: int, *, default: Any = None) -> Any:
    """An option: a whole number of at least `low`."""
    return field(default=default, metadata={"whole": True, "low": low, "high": inf, "above": False})


def _number(low: float, high: float = inf, *, above: bool = False, default: Any = None) -> Any:
    """An option: a number from `low` (or above it) to `high`."""
    return field(default=default, metadata={"whole": False, "low": low, "high": high, "above": above})


MODELS: dict[str, type["PrivacyModel"]] = {}  # by name; a model enters when its class is made


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyModel(ABC):
    """One model: its options are its fields, the first is the threshold; None means that it only measures."""

    name: ClassVar[str]  # in the CLI and in findings
    higher_is_safer: ClassVar[bool] = False  # if so, no level exceeds the group's size
    needs: ClassVar[frozenset[str]] = frozenset({"values"})  # of values, supersets, population, numeric, members
    strictly: ClassVar[bool] = False  # a level equal to the threshold does not hold
    grows: ClassVar[bool] = False  # a group that holds still holds with any people added: safe to prune by
    unites: ClassVar[bool] = False  # two groups that hold, hold as one group: safe to prune by without suppression

    def __init_subclass__(cls) -> None:
        MODELS[cls.name] = cls  # a dataclass with slots is made twice; the second one stays

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if option.metadata and not (value is None and option.default is None):
                _check_option(f"{self.name}: {option.name}", value, **option.metadata)

    @abstractmethod
    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        """The level of groups with at least one count."""

    def level(self, histograms: NDArray[np.integer] | NDArray[np.floating], overall: Overall) -> Levels:
        """(groups,) what the model measures, from (groups, values) counts of people by sensitive value.

        Withheld values are in no count. A group that withholds all has the safest level, but people who are in no
        count do not make a group larger: k_anonymity is then 0, and the k of alpha_k and p_sensitive_k is missed.
        """
        counts = np.asarray(histograms, dtype=np.float64)
        if counts.ndim != 2 or ("values" in self.needs and counts.shape[1] != len(overall.histogram)):
            wanted = f"(groups, {len(overall.histogram)})"
            raise UsageError(f"{self.name} needs counts in an array {wanted}, not {counts.shape}")
        level, size = self._measure(counts, overall), counts.sum(axis=1)
        if "values" in self.needs:
            level = np.where(size > 0, level, self._safest)
        return np.where(size < self._least_size, 0.0 if self.higher_is_safer else inf, level)

    def holds(self, levels: Levels) -> NDArray[np.bool_]:
        """(groups,) whether the threshold is met; rounding neither breaks "at most t" nor passes "less than c"."""
        if self.threshold is None:
            raise UsageError(f"{self.name} only measures; give it {fields(self)[0].name}=NUMBER to require something")
        slack = TOLERANCE * max(1.0, abs(self.threshold)) * (-1 if self.strictly else 1)
        if self.higher_is_safer:
            return np.asarray(levels >= self.threshold - slack)
        return np.asarray(levels <= self.threshold + slack)

    def worst(self, levels: Levels) -> float:
        """The least safe level; if there are no groups, the safest there is."""
        if len(levels) == 0:
            return self._safest
        return float(levels.min() if self.higher_is_safer else levels.max())

    @property
    def threshold(self) -> float | None:
        """What the level is compared with."""
        value: float | None = getattr(self, fields(self)[0].name)
        return value

    @property
    def smallest(self) -> int:
        """A group with fewer counts than this, but some, can never hold."""
        size = self.threshold if self.higher_is_safer and self.threshold is not None else 1
        return max(_ceiling(size), self._least_size, 1)

    @property
    def _safest(self) -> float:
        return inf if self.higher_is_safer else 0.0

    @property
    def _least_size(self) -> int:
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KAnonymity(PrivacyModel):
    """Size of the group, at least k (Samarati & Sweeney 1998)."""

    k: int | None = _whole(1)
    name = "k_anonymity"
    grows = unites = True
    higher_is_safer = True
    needs = frozenset()

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        return np.asarray(counts.sum(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctL(PrivacyModel):
    """Number of different values, at least l (Machanavajjhala et al. 2006)."""

    l: int | None = _whole(1)
    name = "distinct_l"
    grows = unites = True
    higher_is_safer = True

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        return np.asarray(np.count_nonzero(counts, axis=1), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilisticL(PrivacyModel):
    """One over the largest share of a value, at least l (Xiao & Tao 2006)."""

    l: float | None = _number(0, above=True)
    name = "probabilistic_l"
    unites = True
    higher_is_safer = True

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        return ratio(counts.sum(axis=1), counts.max(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyL(PrivacyModel):
    """Exponential of the entropy of the values, at least l (Machanavajjhala et al. 2006)."""

    l: float | None = _number(0, above=True)
    name = "entropy_l"
    unites = True
    higher_is_safer = True

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        share = shares(counts)
        return np.asarray(np.exp(-(share * _log(share)).sum(axis=1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveCL(PrivacyModel):
    """Count of the commonest value over the counts from the l-th commonest on, less than c (same paper)."""

    c: float | None = _number(0, above=True)
    l: int = _whole(1, default=2)
    name = "recursive_cl"
    unites = True
    strictly = True

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        rank = np.sort(counts, axis=1)[:, ::-1]
        return ratio(rank[:, 0], rank[:, self.l - 1 :].sum(axis=1))

    @property
    def smallest(self) -> int:
        return 1 if self.c is None else self.l


@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaK(PrivacyModel):
    """Largest share of a value, at most alpha; infinite below k people (Wong et al. 2006)."""

    alpha: float | None = _number(0, 1, above=True)
    k: int | None = _whole(1)
    name = "alpha_k"
    unites = True

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        return np.asarray(shares(counts).max(axis=1))

    @property
    def smallest(self) -> int:
        return max(1 if self.alpha is None else _ceiling(1 / (self.alpha + TOLERANCE)), self._least_size, 1)

    @property
    def _least_size(self) -> int:
        return self.k or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PSensitiveK(PrivacyModel):
    """Number of different values, at least p; 0 below k people (Truta & Vinay 2006)."""

    p: int | None = _whole(1)
    k: int | None = _whole(1)
    name = "p_sensitive_k"
    grows = unites = True
    higher_is_safer = True

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        return np.asarray(np.count_nonzero(counts, axis=1), dtype=np.float64)

    @property
    def _least_size(self) -> int:
        return self.k or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TCloseness(PrivacyModel):
    """Distance of the group's distribution to the table's, at most t (Li 2010, def. 2.2.1)."""

    t: float | None = _number(0)
    distance: str = "equal"
    name = "t_closeness"
    unites = True

    def __post_init__(self) -> None:
        PrivacyModel.__post_init__(self)
        distance(self.distance)

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        return distance(self.distance)(shares(counts), overall.share, overall.ground)


@dataclass(frozen=True, slots=True, kw_only=True)
class NTCloseness(TCloseness):
    """Distance to the closest superset of n people or more, at most t; 0 for such a group (Li 2010, def. 2.2.2)."""

    n: int = _whole(1, default=MISSING)
    name = "n_t_closeness"
    unites = False  # the supersets of a united group are others
    needs = frozenset({"values", "supersets"})

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        level = TCloseness._measure(self, counts, overall)
        for group, apart in _to_supersets(self, counts, overall):
            np.minimum.at(level, group, apart)
        return np.where(counts.sum(axis=1) >= self.n, 0.0, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictNTCloseness(NTCloseness):
    """Distance to the farthest superset of n people or more, at most t (Li 2010, end of section 2.2.2)."""

    name = "strict_n_t_closeness"

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        level = TCloseness._measure(self, counts, overall)
        for group, apart in _to_supersets(self, counts, overall):
            np.maximum.at(level, group, apart)
        return level


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaDisclosure(PrivacyModel):
    """Largest |ln(p/q)| of a value, less than delta; infinite if one is absent (Brickell & Shmatikov 2008)."""

    delta: float | None = _number(0, above=True)
    name = "delta_disclosure"
    unites = True
    strictly = True

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        share, reference = shares(counts), overall.share
        apart = np.abs(_log(share) - _log(reference))
        return np.asarray(np.where((share > 0) == (reference > 0), apart, inf).max(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class BetaLikeness(PrivacyModel):
    """Largest relative gain (p - q) / q of a value, at most beta (Cao & Karras 2012, basic)."""

    beta: float | None = _number(0, above=True)
    name = "beta_likeness"
    unites = True

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        return np.asarray(_gains(counts, overall).max(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class EnhancedBetaLikeness(BetaLikeness):
    """Largest relative gain, at most beta; infinite if a value gains more than -ln q (Cao & Karras 2012)."""

    name = "enhanced_beta_likeness"

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        gain = _gains(counts, overall)
        return np.asarray(np.where(gain > TOLERANCE - _log(overall.share), inf, gain).max(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonM(PrivacyModel):
    """One over the largest share of people within epsilon of a present value, at least m (Li, Tao & Xiao 2008)."""

    m: float | None = _number(0, above=True)
    epsilon: float = _number(0, default=MISSING)
    name = "epsilon_m"
    higher_is_safer = True
    needs = frozenset({"values", "numeric"})

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        if overall.ground.position is None:
            raise UsageError("epsilon_m needs numeric sensitive values; for others use probabilistic_l")
        known = overall.ground.position[: counts.shape[1] - overall.ground.missing]
        reach = self.epsilon + TOLERANCE * np.abs(known).max(initial=1.0)
        below = np.concatenate([np.zeros((len(counts), 1)), counts[:, : len(known)].cumsum(axis=1)], axis=1)
        near = counts.copy()  # a missing value is near itself only
        near[:, : len(known)] = below[:, np.searchsorted(known, known + reach, "right")]
        near[:, : len(known)] -= below[:, np.searchsorted(known, known - reach, "left")]
        return ratio(counts.sum(axis=1), np.where(counts > 0, near, 0.0).max(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaPresence(PrivacyModel):
    """Share of the population's people who are in the group, at most high; infinite below low (Nergiz et al. 2007)."""

    high: float | None = _number(0, 1)
    low: float = _number(0, 1, default=0.0)
    name = "delta_presence"
    needs = frozenset({"population"})

    def __post_init__(self) -> None:
        PrivacyModel.__post_init__(self)
        if self.high is not None and self.low > self.high:
            raise UsageError(f"{self.name}: low = {self.low} is above high = {self.high}; swap them")

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        if overall.population is None or overall.population.shape != (len(counts),):
            raise UsageError("delta_presence needs the population's number of people for each group")
        level = ratio(counts.sum(axis=1), overall.population.astype(np.float64))
        return np.where(level < self.low - TOLERANCE, inf, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class BTPrivacy(PrivacyModel):
    """Largest change of what is believed of a member, from a kernel prior on, at most t (Li 2010, def. 3.6.1).

    The distance is Jensen-Shannon's with the natural logarithm. Beliefs are exact in groups where people ·
    prod(n_i + 1) · values is at most `cost`, else the Omega-estimate; cost=0 is the thesis. Several are a skyline
    (def. 3.6.2).
    """

    t: float | None = _number(0)
    bandwidth: tuple[float, ...] = (0.3,)
    cost: float = _number(0, default=2e6)
    name = "b_t_privacy"
    needs = frozenset({"values", "members"})

    def __post_init__(self) -> None:
        PrivacyModel.__post_init__(self)
        if not self.bandwidth or not all(np.isfinite(b) and b > 0 for b in self.bandwidth):
            raise UsageError(f"{self.name}: a bandwidth is a number above 0, on distances from 0 to 1")

    def _measure(self, counts: Counts, overall: Overall) -> Levels:
        from unveil.kernels.belief_change import largest_changes

        members = overall.members
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


def satisfied(models: Iterable[PrivacyModel], histograms: NDArray[np.integer], overall: Overall) -> NDArray[np.bool_]:
    """(groups,) whether every model holds; true for no models."""
    held = np.ones(len(histograms), dtype=np.bool_)
    for model in models:
        held &= model.holds(model.level(histograms, overall))
    return held


def _check_option(what: str, value: Any, *, whole: bool, low: float, high: float, above: bool) -> None:
    number = not isinstance(value, bool) and isinstance(value, Integral if whole else Real)
    if not number or not (low < value if above else low <= value) or not value <= high or value == inf:
        wanted = f"a {'whole ' if whole else ''}number {'above' if above else 'of at least'} {low:g}"
        raise UsageError(f"{what} = {value!r}; choose {wanted}" + (f" and at most {high:g}" if high < inf else ""))


def _ceiling(size: float) -> int:
    return ceil(size - 1e-9 * max(1.0, size))  # wider than TOLERANCE: a bound must not be missed by rounding


def _log(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Natural logarithm, 0 at 0: what is absent is dealt with by its user."""
    return np.asarray(np.log(share, out=np.zeros(share.shape), where=share > 0))


def _gains(counts: Counts, overall: Overall) -> NDArray[np.float64]:
    """(groups, values) by how much, relatively, a value's share grew; 0 if it did not."""
    reference = overall.share[None, :]
    return ratio(np.maximum(shares(counts) - reference, 0.0), np.broadcast_to(reference, counts.shape))


def _to_supersets(model: NTCloseness, counts: Counts, overall: Overall) -> Iterator[tuple[NDArray[np.integer], Levels]]:
    """Groups and their distances to each superset of at least n people, in pieces."""
    pairs = overall.supersets
    if pairs is None:
        raise UsageError(f"{model.name} needs the natural supersets of the groups; without them use t_closeness")
    if len(pairs.group) and not 0 <= pairs.group.min() <= pairs.group.max() < len(counts):
        raise UsageError(f"supersets name a group that is none of the {len(counts)} groups")
    large = np.flatnonzero(pairs.histogram.sum(axis=1) >= model.n)
    share, piece = shares(counts), max(CELLS_AT_ONCE // counts.shape[1], 1)
    for start in range(0, len(large), piece):
        chosen = large[start : start + piece]
        group = pairs.group[chosen]
        reference = shares(pairs.histogram[chosen].astype(np.float64))
        yield group, distance(model.distance)(share[group], reference, overall.ground)

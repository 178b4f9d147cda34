"""Privacy models: what each measures on a group, and from which threshold on a group holds.

`level(histograms, reference)` is the one definition of a model, for checking a release and for every anonymizer. A
model compares its level with ONE threshold; every other option is part of the level: a group that misses it gets the
least safe level there is. So the worst group decides: `holds(worst)` is whether all groups hold.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from math import ceil, inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unveil.data.options import Options
from unveil.errors import UsageError
from unveil.privacy.reference import Reference

__all__ = ["MODELS", "TOLERANCE", "Counts", "Levels", "PrivacyModel", "ceiling", "satisfied"]

Counts = NDArray[np.float64]  # (groups, values) people of each group with each sensitive value
Levels = NDArray[np.float64]  # (groups,)

TOLERANCE = 1e-12  # of rounding, relative to thresholds above 1


MODELS: dict[str, type["PrivacyModel"]] = {}  # by name; a model enters when its class is made


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyModel(Options, ABC):
    """One model: its options are its fields, the first is the threshold; None means that it only measures."""

    name: ClassVar[str]  # in the CLI and in findings
    higher_is_safer: ClassVar[bool] = False  # if so, no level exceeds the group's size
    needs: ClassVar[frozenset[str]] = frozenset({"values"})  # of values, supersets, population, numeric, members, whole
    strictly: ClassVar[bool] = False  # a level equal to the threshold does not hold
    grows: ClassVar[bool] = False  # a group that holds still holds with any people added: safe to prune by
    unites: ClassVar[bool] = False  # two groups that hold, hold as one group: safe to prune by without suppression

    def __init_subclass__(cls) -> None:
        MODELS[cls.name] = cls  # a dataclass with slots is made twice; the second one stays

    @abstractmethod
    def _measure(self, counts: Counts, reference: Reference) -> Levels:
        """The level of groups with at least one count."""

    def level(self, histograms: NDArray[np.integer] | NDArray[np.floating], reference: Reference) -> Levels:
        """(groups,) what the model measures, from (groups, values) counts of people by sensitive value.

        Withheld values are in no count. A group that withholds all has the safest level, but people who are in no
        count do not make a group larger: k_anonymity is then 0, and the k of alpha_k and p_sensitive_k is missed.
        """
        counts = np.asarray(histograms, dtype=np.float64)
        if counts.ndim != 2 or ("values" in self.needs and counts.shape[1] != len(reference.histogram)):
            wanted = f"(groups, {len(reference.histogram)})"
            raise UsageError(f"{self.name} needs counts in an array {wanted}, not {counts.shape}")
        level, size = self._measure(counts, reference), counts.sum(axis=1)
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
        return max(ceiling(size), self._least_size, 1)

    @property
    def _safest(self) -> float:
        return inf if self.higher_is_safer else 0.0

    @property
    def _least_size(self) -> int:
        return 0


def satisfied(
    models: Iterable[PrivacyModel], histograms: NDArray[np.integer], reference: Reference
) -> NDArray[np.bool_]:
    """(groups,) whether every model holds; true for no models."""
    held = np.ones(len(histograms), dtype=np.bool_)
    for model in models:
        held &= model.holds(model.level(histograms, reference))
    return held


def ceiling(size: float) -> int:
    return ceil(size - 1e-9 * max(1.0, size))  # wider than TOLERANCE: a bound must not be missed by rounding

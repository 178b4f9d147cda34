"""Whether a release keeps everybody as safe together with the earlier ones as the worse of them does alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.risk.composition.earlier import EarlierRelease, KnownPeople, view_of
from unveil.risk.composition.exposure import SURE, exposure_of
from unveil.risk.composition.inference import ReleaseView, weave
from unveil.risk.news import disclosed_people

__all__ = ["Keeping", "kept_together"]

SLACK = 0.01  # of a belief
MOST_LIKELY = 0.05  # share of people believed at 80% or more: an audit's default limit


@dataclass(frozen=True, slots=True)
class Keeping:
    """How a release and the earlier ones stand together, about one attribute."""

    attribute: str
    worse: int  # people of whom the releases together tell more than each side alone
    sure: int  # people of whom only all of them make a reader sure, and right, who does not know the groups
    alone: float  # the surest belief from the new release
    before: float  # ... from the earlier ones
    together: float  # ... from all
    told: int  # people whose value all releases together tell: at 95%, by elimination or by subtraction
    told_before: int  # ... the earlier ones alone
    likely: float  # share of people whose value is believed at 80% or more, by a reader of all
    likely_before: float  # ... of the earlier ones
    values: int  # the fewest values that are left to anybody
    settled: bool

    @property
    def kept(self) -> bool:
        """Nobody is told more, and what is told together is within the default limits of an audit."""
        return self.settled and not (self.worse or self.sure or self.told) and self.likely <= MOST_LIKELY

    @property
    def lost(self) -> bool:
        """Whether the earlier releases alone are beyond those limits: nothing published after them takes that back."""
        return self.told_before > 0 or self.likely_before > MOST_LIKELY


class _Told(NamedTuple):
    """(people,) of whom a reader who does not know the groups is sure and right, whose value is told, or likely."""

    sure: NDArray[np.bool_]
    told: NDArray[np.bool_]
    likely: NDArray[np.bool_]


def _told(views: Sequence[ReleaseView], attribute: Attribute, truth: NDArray[np.integer]) -> _Told:
    web = weave(views, attribute.codes)
    p = web.beliefs().probability
    share = np.bincount(truth, minlength=attribute.codes) / len(truth)
    counted = exposure_of(web, harmless=attribute.harmless)
    at = [disclosed_people(p, truth, share, at_least=least, harmless=attribute.harmless) for least in (SURE, 0.8)]
    told = at[0] | counted.one_left | (counted.differenced if len(views) > 1 else False)
    return _Told(p[np.arange(len(truth)), truth] >= SURE, told, at[1])


def kept_together(table: Table, made: Anonymized, earlier: Mapping[str, EarlierRelease]) -> list[Keeping]:
    """One for each sensitive attribute that an earlier release publishes, too, for a reader who knows all groups.

    Whoever knows less of where people stand learns no more for certain, but may take a way of standing for likely that
    the maker ruled out: of whom that makes a reader sure is counted, too.
    """
    found, release = [], made.release
    names = [a.name for a in table.attributes if a.role is Role.QUASI_IDENTIFIER]
    people = KnownPeople.of_table(table, names)
    for index in release.with_role(Role.SENSITIVE):
        attribute = release.attributes[index]
        views = [view_of("new", EarlierRelease(release=release, group=made.group_of_row), people, attribute)]
        for name, one in earlier.items():
            if attribute.name in {a.name for a in one.release.attributes}:
                views.append(view_of(name, one, people, attribute))
        if len(views) == 1:
            continue
        web = weave(views, attribute.codes)
        tops = [weave(some, attribute.codes).beliefs() for some in (views[:1], views[1:])]
        joint = web.beliefs()
        alone, before, together = (b.probability.max(axis=1) for b in (*tops, joint))
        worse = together > np.maximum(alone, before) + SLACK
        unplaced = [replace(view, targets=replace(view.targets, group=None)) for view in views]
        truth = table.columns[table.index(attribute.name)]
        all_told, new_told, old_told = (
            _told(some, attribute, truth) for some in (unplaced, unplaced[:1], unplaced[1:])
        )
        found.append(
            Keeping(
                attribute.name,
                int(worse.sum()),
                int((all_told.sure & ~new_told.sure & ~old_told.sure).sum()),
                float(alone.max()),
                float(before.max()),
                float(together.max()),
                int(all_told.told.sum()),
                int(old_told.told.sum()),
                float(all_told.likely.mean()),
                float(old_told.likely.mean()),
                int(web.left().sum(axis=1).min()),
                joint.converged,
            )
        )
    return found

"""Whether a release keeps everybody as safe together with the earlier ones as the worse of them does alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from unveil.data.attribute import Role
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.risk.composition.earlier import EarlierRelease, KnownPeople, view_of
from unveil.risk.composition.exposure import SURE
from unveil.risk.composition.inference import weave

__all__ = ["Keeping", "kept_together"]

SLACK = 0.01  # of a belief


@dataclass(frozen=True, slots=True)
class Keeping:
    """How a release and the earlier ones stand together, about one attribute."""

    attribute: str
    worse: int  # people of whom the releases together tell more than each side alone
    sure: int  # people of whom only all of them make a reader sure, and right, who does not know the groups
    alone: float  # the surest belief from the new release
    before: float  # ... from the earlier ones
    together: float  # ... from all
    values: int  # the fewest values that are left to anybody
    settled: bool

    @property
    def kept(self) -> bool:
        """Nobody is told more."""
        return self.settled and not self.worse and not self.sure


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
        sure = [
            weave(some, attribute.codes).beliefs().probability[np.arange(len(truth)), truth] >= SURE
            for some in (unplaced, unplaced[:1], unplaced[1:])
        ]
        found.append(
            Keeping(
                attribute.name,
                int(worse.sum()),
                int((sure[0] & ~sure[1] & ~sure[2]).sum()),
                float(alone.max()),
                float(before.max()),
                float(together.max()),
                int(web.left().sum(axis=1).min()),
                joint.converged,
            )
        )
    return found

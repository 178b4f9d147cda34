"""The default limits held against a release and those before it while it is being made: nothing is learned."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from unveil.audit.belief_measures import People, measures_of
from unveil.audit.binning import too_many_values
from unveil.audit.document import Finding
from unveil.audit.limits import judge, parse_limit
from unveil.audit.measures import COMPOSED
from unveil.audit.remembered import sentence_of
from unveil.audit.verdict import DEFAULT_LIMITS
from unveil.data.attribute import Attribute, Role
from unveil.data.belief import Belief, Estimate
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.errors import UsageError
from unveil.risk.composition import EarlierRelease, KnownPeople, ReleaseView, exposure_of, view_of, weave

__all__ = ["BeyondLimits", "beyond_limits"]

LIMITS = (*DEFAULT_LIMITS["inference"], *DEFAULT_LIMITS["composition"])


class BeyondLimits(NamedTuple):
    """What is beyond an audit's default limits about one attribute, as sentences by measure."""

    together: Mapping[str, str]
    alone: Mapping[str, str]  # the new release
    before: Mapping[str, str]  # the earlier ones

    @property
    def of_both(self) -> list[str]:
        """What neither side exceeds alone."""
        return [words for name, words in self.together.items() if name not in self.alone and name not in self.before]


def beyond_limits(table: Table, release: Release, earlier: Mapping[str, EarlierRelease]) -> list[BeyondLimits]:
    """One for each sensitive attribute that an earlier release publishes, too.

    The reader knows everybody's quasi-identifiers and no groups, and stands beside one who knows how frequent values
    are. What a learned reader makes of it only the audit itself can say.
    """
    found = []
    names = [a.name for a in table.attributes if a.role is Role.QUASI_IDENTIFIER]
    people = KnownPeople.of_table(table, names)
    for index in release.with_role(Role.SENSITIVE):
        attribute = release.attributes[index]
        if too_many_values(attribute):
            continue
        views = [view_of("new", EarlierRelease(release=release), people, attribute)]
        views += [
            view_of(name, one, people, attribute)
            for name, one in earlier.items()
            if attribute.name in {a.name for a in one.release.attributes}
        ]
        if len(views) > 1:
            sides = (views, views[:1], views[1:])
            found.append(BeyondLimits(*(_exceeded(table, attribute, some) for some in sides)))
    return found


def _exceeded(table: Table, attribute: Attribute, views: Sequence[ReleaseView]) -> dict[str, str]:
    truth = table.columns[table.index(attribute.name)]
    counts = np.bincount(truth, minlength=attribute.codes)
    web = weave(views, attribute.codes)
    reader = Belief(web.beliefs().probability)
    learner = Belief(np.repeat(counts[None] / counts.sum(), len(truth), axis=0))
    findings = []
    for measure in measures_of(attribute, [text.split()[0] for text in LIMITS], counts):
        try:
            value = measure.of(People(reader, learner, truth))
        except UsageError:  # a numeric truth that is missing for everyone
            continue
        findings.append(Finding.of(measure.name, "new", attribute.name, value, reader=COMPOSED))
    counted = exposure_of(web, harmless=attribute.harmless)
    told = {"one_value_left": counted.one_left, "differenced": counted.differenced}
    for name, which in told.items() if len(views) > 1 else ():
        findings.append(Finding.of(name, "new", attribute.name, Estimate.exact(float(which.mean()))))
    measured = {f.id.removeprefix(f"{COMPOSED}.") for f in findings}
    limits = [limit.text for limit in map(parse_limit, LIMITS) if limit.left.reader in (None, COMPOSED)]
    limits = [text for text in limits if text.split()[0].removeprefix(f"{COMPOSED}.") in measured]
    judged = judge(findings, limits, (COMPOSED,))
    return {f.id: sentence_of(f, len(truth)) for f in judged if f.verdict == "exceeded"}

"""Readers who know more than quasi-identifiers: every published column but the secrets, or the person's other secrets.

Roles say what somebody thinks others know. These readers do not believe them.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unveil.audit.asking import Answers
from unveil.audit.attack import Attack
from unveil.audit.belief_measures import measures_of
from unveil.audit.case import Case
from unveil.audit.combinations import attacks_on
from unveil.audit.document import Finding
from unveil.audit.findings import measure_of
from unveil.audit.people import People, Sample
from unveil.data.attribute import Role
from unveil.data.belief import Belief, Estimate, Targets
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.errors import NotApplicable, Stopped, UsageError
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.links import reid
from unveil.risk.linkage.published import published_of
from unveil.risk.linkage.register import register_of_table

__all__ = ["ALL_COLUMNS", "OTHER_SECRETS", "wider_counts", "wider_findings", "wider_targets"]

ALL_COLUMNS, OTHER_SECRETS = "all_columns", "other_secrets"
MEASURES = ("disclosed.80", "disclosed.95", "disclosed_kind.80", "narrowed.80")


def wider_targets(
    case: Case, release: Release, asked: int, original: Table | None, rows: NDArray[np.int64] | None
) -> dict[str, Targets]:
    """Everybody in the original, or a sample, by what each of these readers knows of them; by reader.

    None where there is nothing more to know, or where the question was narrowed to what is known.
    """
    if original is None or case.known is not None:
        return {}
    names: dict[Role, list[str]] = {role: [] for role in Role}
    for index, attribute in enumerate(release.attributes):
        if index != asked:
            names[attribute.role].append(attribute.name)
    keys = names[Role.QUASI_IDENTIFIER]
    more = {ALL_COLUMNS: names[Role.INSENSITIVE], OTHER_SECRETS: names[Role.SENSITIVE]}
    found = {}
    for reader, others in more.items():
        if others:
            people = targets_of_table(original, release, asked, known=[*keys, *others], wrong=case.wrong)
            found[reader] = people if rows is None else people.take(rows)
    return found


def wider_findings(
    case: Case,
    name: str,
    wider: Mapping[str, Targets],
    answered: Answers,
    original: Table | None,
    sample: Sample | None,
) -> Iterator[Finding]:
    """What each of these readers can tell, by whichever attacker tells most; unknown where nobody could be asked.

    `wider`: whom they ask about; `answered`: what the audit's own readers were told, and learned.
    """
    if not wider or original is None or answered.truth is None:
        return
    attribute = answered.attribute
    counts = np.bincount(original.columns[original.index(attribute.name)], minlength=attribute.codes)
    measures = [m for m in measures_of(attribute, (), counts) if m.name in MEASURES]
    attacks: list[Attack | None] = [None] * len(wider)
    with suppress(NotApplicable, Stopped):
        attacks = [
            *attacks_on(
                case, answered.release, list(wider.values()), answered.learned, answered.also_asked[: len(wider)]
            )
        ]
    for reader, attack in zip(wider, attacks, strict=True):
        for measure in measures:
            tried = []
            for belief in () if attack is None else attack.attackers.values():
                estimate = measure_of(measure, People(belief, answered.learner, answered.truth), sample)
                tried += [] if estimate is None else [_as_sure(belief, estimate)]
            most = max(tried, key=lambda e: (e.value, e.high), default=None)
            yield Finding.of(measure.name, name, attribute.name, most, reader=reader)


def _as_sure(belief: Belief, estimate: Estimate) -> Estimate:
    """Chains that were too short or disagree keep a share from counting as small; those that disagree, as large too."""
    if not belief.diagnostics.converged:
        return Estimate(estimate.value, 0.0, 1.0)
    return estimate if belief.diagnostics.precise else replace(estimate, high=1.0)


def wider_counts(case: Case, name: str, release: Release) -> list[Finding]:
    """Rows that stand alone, and people who are linked, with every published column known but the secrets."""
    more = release.with_role(Role.INSENSITIVE)
    if not more or case.known is not None:
        return []
    roles = [replace(a, role=Role.QUASI_IDENTIFIER) if i in more else a for i, a in enumerate(release.attributes)]
    sizes = replace(release, attributes=tuple(roles)).class_sizes()
    found = [Finding.exact("singled_out", name, None, float((sizes == 1).sum() / sizes.sum()), reader=ALL_COLUMNS)]
    if case.original is None:
        return found
    known = [a.name for a in roles if a.role is Role.QUASI_IDENTIFIER]
    links = None
    try:
        held = register_of_table(case.original, release.attributes, known)
        links = link_by_distance(published_of(release, known), held, engine=case.engine.named("all columns"))
    except (NotApplicable, Stopped, UsageError):  # links hidden, domains too large to compare, or time was up
        pass
    right = None if links is None or links.chance is None else reid(links)
    return [*found, Finding.of("reid", name, None, right, reader=ALL_COLUMNS)]

"""What is measured of one release: levels, utility, membership, what every reader believes, background knowledge."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unveil.audit.asking import Answers, answers, asked_of, check_unnamed
from unveil.audit.background import background_sections
from unveil.audit.belief_measures import Sample, labels_of
from unveil.audit.combinations import asked_at_once, asked_together, combination_rows
from unveil.audit.document import Finding
from unveil.audit.findings import belief_findings
from unveil.audit.identity import identity_findings, utility_findings
from unveil.audit.joint import join_release, join_table, joint_attribute
from unveil.audit.levels import run_check
from unveil.audit.linkability import with_linkability
from unveil.audit.masked import masked_part
from unveil.audit.measures import measure
from unveil.audit.membership import known_of, membership_of
from unveil.audit.membership_masked import masked_membership
from unveil.audit.plan import Part, Plan
from unveil.audit.populations import population_findings
from unveil.audit.remarks import remarks_of_answers, remarks_of_release
from unveil.data.attribute import Attribute, Role
from unveil.data.masked import Masked
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.errors import NotApplicable

__all__ = ["part_of"]


def part_of(plan: Plan, name: str) -> Part:
    """All that is measured of one release."""
    return with_linkability(plan, _release_part(plan, name))


def _release_part(plan: Plan, name: str) -> Part:
    release = plan.releases[name]
    if isinstance(release, Masked):
        part = masked_part(plan, name, release)
        unknown: list[Finding] = []
        for asked in release.with_role(Role.SENSITIVE):
            known = part.beliefs.get(release.attributes[asked].name, {})
            without = [r for r in ("learner", *plan.attackers) if r not in known]
            unknown += _unmeasured(plan, name, release.attributes[asked], without)
        if plan.membership is not None:
            told = masked_membership(
                release,
                name,
                plan.membership,
                known=known_of(release, plan.readers.known),
                table=plan.table,
                control=plan.control,
                engine=plan.readers.engine,
            )
            part = replace(part, findings=(*part.findings, *told.findings), membership=told)
        rows_of_none = tuple(combination_rows(plan, name, release, {}))
        return replace(part, findings=(*part.findings, *unknown), combinations=rows_of_none)
    checked = run_check(release, name=name)
    people = release.rows if plan.table is None else plan.table.rows
    rows = None
    if plan.sample is not None and plan.sample < people:
        random = plan.readers.engine.named("people").generator()
        rows = np.sort(random.choice(people, plan.sample, replace=False)).astype(np.int64)
    findings = [
        *identity_findings(release, name, plan.table, plan.population),
        *checked.findings,
        *utility_findings(release, name, plan.table),
    ]
    membership = None
    if plan.membership is not None:
        membership = membership_of(
            release,
            name,
            plan.membership,
            known=known_of(release, plan.readers.known),
            table=plan.table,
            control=plan.control,
            population=plan.population,
            engine=plan.readers.engine,
        )
        findings += membership.findings
    losses, unmeasured = population_findings(release, name, plan.table)
    findings += losses
    remarks = [*remarks_of_release(plan, name), *unmeasured]
    found: dict[str, Answers] = {}
    exposed: dict[int, list[dict[str, Any]]] = {}  # by attribute: what combinations expose
    refused: dict[str, str] = {}
    for version, asked, original, control in _asked(plan, release, refused, remarks):
        attribute = version.attributes[asked].name
        combined = bool(plan.combinations) and version is release and asked in release.with_role(Role.SENSITIVE)
        plan.readers.engine.report(f"{name}, {attribute}", 0, 1)
        try:
            if plan.asked is None:
                check_unnamed(version, asked)
            answered = answers(
                version,
                asked,
                plan.readers,
                table=original,
                rows=rows,
                control=control,
                group=plan.assignments.get(name),
                besides=asked_at_once(plan, release, asked) if combined else (),
            )
            found[attribute] = replace(answered, learned=None, besides=())
        except NotApplicable as reason:
            refused[attribute] = str(reason)
            findings += _unmeasured(plan, name, version.attributes[asked], ("learner", *plan.attackers))
            continue
        sample = None if rows is None else Sample(people, plan.readers.engine)
        findings += belief_findings(found[attribute], name, wanted=plan.wanted(), sample=sample, least=plan.least)
        findings += _unmeasured(plan, name, version.attributes[asked], tuple(found[attribute].refused))
        remarks += remarks_of_answers(plan, name, found[attribute])
        if combined:
            exposed[asked] = asked_together(plan, name, release, asked, answered.learned, answered.besides)
        del answered  # what was learned takes much memory
        plan.readers.engine.report(f"{name}, {attribute}", 1, 1)
    background = background_sections(
        release,
        name,
        plan.table,
        plan.background,
        group=plan.assignments.get(name),
        limited=plan.limited(),
        least=plan.least,
    )
    findings += [f for section in background.values() for f in section.findings]
    return Part(
        name,
        tuple(findings),
        found,
        refused,
        checked.diagnostics,
        tuple(remarks),
        None if rows is None else len(rows),
        membership=membership,
        background=background,
        combinations=tuple(combination_rows(plan, name, release, exposed)),
    )


def _unmeasured(plan: Plan, release: str, attribute: Attribute, readers: Sequence[str]) -> Iterator[Finding]:
    """What limits ask of a reader that does not apply: unknown, so that the limit is inconclusive and not kept."""
    labels = labels_of(attribute)
    for name in dict.fromkeys(plan.wanted()):
        named, _, statistic = name.partition(".")
        of_another = statistic.startswith("value:") and statistic[6:] not in labels
        if measure(named).of_readers and not of_another:
            yield from (Finding.of(name, release, attribute.name, None, reader=reader) for reader in readers)


def _asked(
    plan: Plan, release: Release, refused: dict[str, str], remarks: list[str]
) -> Iterator[tuple[Release, int, Table | None, Table | None]]:
    """Every sensitive attribute alone, then all of them as one if that was asked for."""
    for asked in asked_of(release, plan.asked):
        yield release, asked, plan.table, plan.control
    sensitive = release.with_role(Role.SENSITIVE)
    if not plan.joint or len(sensitive) < 2:
        return
    names = " × ".join(release.attributes[i].name for i in sensitive)
    try:
        tables = [t for t in (plan.table, plan.control) if t is not None]
        attribute, codes = joint_attribute(release, tables)
        version = join_release(release, attribute, codes)
    except NotApplicable as reason:
        refused[names] = str(reason)
        return
    possible = int(np.prod([release.attributes[i].codes for i in sensitive], dtype=float))
    histogram = version.histograms(len(version.attributes) - 1)[0].sum(axis=0)
    remarks.append(
        f"{names}: {attribute.codes:,} of {possible:,} combinations are seen, {int((histogram == 1).sum()):,} of them "
        "once; beliefs in rare combinations rest on few people."
        if not plan.least
        else f"{names}: {attribute.codes:,} of {possible:,} combinations are seen; beliefs in rare ones rest on few."
    )
    joined = [None if t is None else join_table(t, release, attribute, codes) for t in (plan.table, plan.control)]
    yield version, len(version.attributes) - 1, joined[0], joined[1]

"""What is measured of one release: levels, utility, membership, what every reader believes, background knowledge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.analyst import analyst_findings, quality_findings
from unveil.audit.asking import Answers, answers, asked_of, check_unnamed
from unveil.audit.background import background_sections
from unveil.audit.belief_measures import labels_of
from unveil.audit.binning import COARSE, FINE, AttributeBins, bins_of, too_many_values
from unveil.audit.case import Case
from unveil.audit.combinations import asked_at_once, asked_together, combination_rows, combination_targets
from unveil.audit.composition import compose
from unveil.audit.decided import surely_exceeded
from unveil.audit.document import Finding
from unveil.audit.findings import belief_findings
from unveil.audit.identity import identity_findings, population_findings, utility_findings
from unveil.audit.in_turn import in_turn_findings
from unveil.audit.joint import join_release, join_table, joint_attribute
from unveil.audit.levels import run_check
from unveil.audit.linkability import with_linkability
from unveil.audit.masked import masked_part
from unveil.audit.measures import measure
from unveil.audit.membership import known_of, masked_membership, membership_of
from unveil.audit.panel import ask_panel
from unveil.audit.part import Part
from unveil.audit.people import Sample
from unveil.audit.perturbed import case_as_read, perturbed_remarks
from unveil.audit.remarks import remarks_of_answers, remarks_of_baselines, remarks_of_panel, remarks_of_release
from unveil.audit.wider_knowledge import wider_counts, wider_findings, wider_targets
from unveil.data.attribute import Attribute, Role
from unveil.data.release import Release, merged_rows
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, Stopped

__all__ = ["part_of"]


def part_of(case: Case, name: str) -> Part:
    """All that is measured of one release, read as it has to be."""
    case, perturbed = case_as_read(case, name)
    part = with_linkability(case.at(case.engine.part("linkage", 0.97).in_turn()), _release_part(case, name))
    if not perturbed:
        return part
    remarks = (*perturbed_remarks(case, name, perturbed), *part.remarks)
    facts = {**part.facts, "perturbed": [column.attribute for column in perturbed]}
    return replace(part, perturbed=perturbed, remarks=remarks, facts=facts)


def _members(case: Case, release: Release) -> dict[str, Any]:
    """Who is in, who is not, and what is known of them."""
    known = known_of(release, case.readers.known)
    return {"known": known, "table": case.original, "control": case.control, "engine": case.engine}


def _release_part(case: Case, name: str) -> Part:
    release = case.releases[name]
    if release.perturbed:
        case = case.at(case.engine.part("", 0.0, 0.97).in_turn())
        case.engine.report("masked values", 0, 1)
        part = masked_part(case, name, release)
        unknown: list[Finding] = []
        for asked in release.with_role(Role.SENSITIVE):
            known = part.beliefs.get(release.attributes[asked].name, {})
            without = [r for r in ("learner", *case.attacker_names) if r not in known]
            unknown += _unmeasured(case, name, release.attributes[asked], without)
        if case.membership is not None:
            told = masked_membership(release, name, case.membership, **_members(case, release))
            part = replace(part, findings=(*part.findings, *told.findings), membership=told)
        rows_of_none = tuple(combination_rows(case, name, release, {}))
        return replace(part, findings=(*part.findings, *unknown), combinations=rows_of_none)
    case.engine.report("levels", 0, 100)
    checked = run_check(release, name=name)
    seen, number = merged_rows(release)  # of an untouched table: rows that look alike are not told apart
    if seen is not release:
        levels = {
            (f.id, f.attribute): f for f in run_check(seen, name=name).findings if measure(f.measure).kind == "level"
        }
        checked = replace(checked, findings=tuple(levels.get((f.id, f.attribute), f) for f in checked.findings))
    people = release.rows if case.original is None else case.original.rows
    rows = None
    if case.sample is not None and case.sample < people:
        random = case.engine.named("people").generator()
        rows = np.sort(random.choice(people, case.sample, replace=False)).astype(np.int64)
    findings = [*identity_findings(release, name, case.original, case.population), *checked.findings]
    case.engine.report("utility", 1, 100)
    findings += utility_findings(release, name, case.original)
    findings += quality_findings(release, name, case.original, case.assignments.get(name))
    findings += analyst_findings(release, name, case.original)
    case.engine.report("counts", 2, 100)
    findings += [*wider_counts(case, name, release), *in_turn_findings(case, name, release)]
    membership = None
    case.engine.report("membership", 3, 100)
    if case.membership is not None:
        membership = membership_of(
            release, name, case.membership, population=case.population, **_members(case, release)
        )
        findings += membership.findings
    losses, unmeasured = population_findings(release, name, case.original)
    findings += losses
    remarks = [*remarks_of_release(case, name), *unmeasured]
    found: dict[str, Answers] = {}
    exposed: dict[int, list[dict[str, Any]]] = {}  # by attribute: what combinations expose
    composition: dict[str, Any] = {}
    refused: dict[str, str] = {}
    panels: list[Mapping[str, Any]] = []
    stages = _stages(case, release)
    for version, asked, original, control, bins in _asked(case, release, refused, remarks):
        attribute = version.attributes[asked].name
        combined = bool(case.combinations) and version is release and asked in release.with_role(Role.SENSITIVE)
        alone = len(version.attributes) == len(release.attributes)  # not several secrets as one
        wider = wider_targets(case, version, asked, original, rows) if alone else {}
        several = [*wider.values(), *(combination_targets(case, release, asked) if combined else ())]
        readers = replace(case.readers, engine=next(stages).part(f"readers of {attribute}"))
        readers.engine.report("", 0, 1)
        try:
            if case.asked is None:
                check_unnamed(version, asked)
            answered = answers(
                version,
                asked,
                readers,
                table=original,
                rows=rows,
                control=control,
                group=case.assignments.get(name),
                also_asked=asked_at_once(case, version, asked, several) if several else (),
                enough=surely_exceeded(case, version.attributes[asked], _truth(original, version, asked, rows)),
            )
            if case.earlier and alone:
                composed = compose(case, name, version, asked, answered, original, bins)
                answered = composed.added_to(answered)
                findings += composed.findings
                remarks += composed.remarks
                composition[attribute] = composed.facts
            found[attribute] = replace(answered, learned=None, also_asked=())
        except (NotApplicable, Stopped) as reason:
            refused[attribute] = str(reason)
            findings += _unmeasured(case, name, version.attributes[asked], ("learner", *case.attacker_names))
            continue
        sample = None if rows is None else Sample(people)
        measured = list(
            belief_findings(
                found[attribute],
                name,
                wanted=case.wanted(),
                sample=sample,
                least=case.least,
                stop=case.engine.stop,
            )
        )
        findings += measured
        remarks += remarks_of_baselines(f"{name}, {attribute}", measured)
        findings += _unmeasured(case, name, version.attributes[asked], tuple(found[attribute].refused))
        remarks += remarks_of_answers(case, name, found[attribute])
        findings += wider_findings(case, name, wider, answered, original, sample)
        panel = ask_panel(case.at(readers.engine), name, found[attribute], sample)
        findings += panel.findings
        remarks += remarks_of_panel(f"{name}, {attribute}", panel.facts.get("members", ()))
        panels += [panel.facts] if panel.facts else []
        if combined:
            also = answered.also_asked[len(wider) :]
            exposed[asked] = asked_together(case, name, release, asked, answered.learned, also)
        del answered  # what was learned takes much memory
        readers.engine.report("", 1, 1)
    case.engine.report("background knowledge", 90, 100)
    coarse, coarse_original = _coarse(seen, case.original)
    group = case.assignments.get(name)
    background = background_sections(
        coarse,
        name,
        coarse_original,
        case.background,
        group=None if group is None else number[np.asarray(group)],
        limited=case.limited(),
        least=case.least,
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
        composition=composition,
        combinations=tuple(combination_rows(case, name, release, exposed)),
        panel=tuple(panels),
    )


def _truth(
    original: Table | None, release: Release, asked: int, rows: NDArray[np.int64] | None
) -> NDArray[np.integer] | None:
    if original is None:
        return None
    found = original.columns[original.index(release.attributes[asked].name)]
    return found if rows is None else found[rows]


def _coarse(release: Release, original: Table | None) -> tuple[Release, Table | None]:
    """Both with every sensitive attribute of too many values in coarse bins, for readers with background knowledge."""
    for index in release.with_role(Role.SENSITIVE):
        if too_many_values(release.attributes[index]):
            bins = bins_of(release.attributes[index], release, original, COARSE)
            release, original = bins.release(release), None if original is None else bins.table(original)
    return release, original


def _stages(case: Case, release: Release) -> Iterator[Engine]:
    """An engine for each attribute that is asked about, the work shared out among them."""
    expected = max(len(asked_of(release, case.asked)) + case.joint, 1)
    for number in range(expected):
        step = 0.82 / expected
        yield case.engine.part("", 0.08 + number * step, 0.08 + (number + 1) * step)
    while True:
        yield case.engine.part("", 0.9, 0.9)


def _unmeasured(case: Case, release: str, attribute: Attribute, readers: Sequence[str]) -> Iterator[Finding]:
    """What limits ask of a reader that does not apply: unknown, so that the limit is inconclusive and not kept."""
    labels = labels_of(attribute)
    for name in dict.fromkeys(case.wanted()):
        named, _, statistic = name.partition(".")
        of_another = statistic.startswith("value:") and statistic[6:] not in labels
        if measure(named).of_readers and not of_another:
            yield from (Finding.of(name, release, attribute.name, None, reader=reader) for reader in readers)


def _asked(
    case: Case, release: Release, refused: dict[str, str], remarks: list[str]
) -> Iterator[tuple[Release, int, Table | None, Table | None, AttributeBins | None]]:
    """Every sensitive attribute alone, then all of them as one if that was asked for."""
    for asked in asked_of(release, case.asked):
        attribute = release.attributes[asked]
        if not (too_many_values(attribute) and attribute.kind.measured):
            yield release, asked, case.original, case.control, None
            continue
        for most in (COARSE, FINE) if attribute.role is Role.SENSITIVE else (COARSE,):
            bins = bins_of(attribute, release, case.original, most)
            original, control = (None if t is None else bins.table(t) for t in (case.original, case.control))
            yield bins.release(release), asked, original, control, bins
    sensitive = release.with_role(Role.SENSITIVE)
    if not case.joint or len(sensitive) < 2:
        return
    names = " × ".join(release.attributes[i].name for i in sensitive)
    try:
        tables = [t for t in (case.original, case.control) if t is not None]
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
        if not case.least
        else f"{names}: {attribute.codes:,} of {possible:,} combinations are seen; beliefs in rare ones rest on few."
    )
    joined = [None if t is None else join_table(t, release, attribute, codes) for t in (case.original, case.control)]
    yield version, len(version.attributes) - 1, joined[0], joined[1], None

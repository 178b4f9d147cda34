"""What is measured of one release: levels, utility, membership, what every reader believes, background knowledge."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.analyst import analyst_findings, quality_findings
from unveil.audit.asking import Answers, answers, asked_of, check_unnamed, stated_chances
from unveil.audit.background import Section, background_sections
from unveil.audit.belief_measures import labels_of
from unveil.audit.binning import COARSE, FINE, AttributeBins, bins_of, too_many_values
from unveil.audit.case import Case
from unveil.audit.combinations import asked_at_once, asked_together, combination_rows, combination_targets
from unveil.audit.composition import compose, compose_masked
from unveil.audit.decided import surely_exceeded
from unveil.audit.document import Finding
from unveil.audit.findings import belief_findings
from unveil.audit.identity import identity_findings, population_findings, utility_findings
from unveil.audit.in_turn import in_turn_findings
from unveil.audit.joint import join_release, join_table, joint_attribute
from unveil.audit.levels import Check, run_check
from unveil.audit.linkability import with_linkability
from unveil.audit.masked import masked_findings, synthetic_part
from unveil.audit.measures import measure
from unveil.audit.membership import Membership, known_of, masked_membership, membership_of
from unveil.audit.panel import ask_panel
from unveil.audit.part import Part
from unveil.audit.people import Sample
from unveil.audit.perturbed import case_as_read, perturbed_remarks
from unveil.audit.remarks import remarks_of_answers, remarks_of_baselines, remarks_of_panel, remarks_of_release
from unveil.audit.wider_knowledge import wider_counts, wider_findings, wider_targets
from unveil.data.attribute import Attribute, Role
from unveil.data.release import Release, merged_rows
from unveil.data.rows import rows_of
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, Stopped
from unveil.risk.perturbation.channels import with_channels

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


def _membership(case: Case, name: str, release: Release) -> Membership:
    """Who is told to be in the table."""
    assert case.membership is not None
    known = known_of(release, case.readers.known)
    told: dict[str, Any] = {"known": known, "table": case.original, "control": case.control, "engine": case.engine}
    if release.perturbed:
        return masked_membership(release, name, case.membership, **told)
    return membership_of(release, name, case.membership, population=case.population, **told)


def _levels_of_rows(given: Release, checked: Check) -> Iterator[Finding]:
    """Levels of a release with perturbed columns where its cells hide people among each other, not where noise does."""
    if given.row_by_row and not rows_of(given).wide:
        return
    perturbed = {one.true.name for one in given.perturbed.values()}
    for found in checked.findings:
        told = found.attribute is None or not (given.row_by_row or found.attribute in perturbed)
        if told and measure(found.measure).kind == "level":
            yield found


def _unless_stopped(case: Case, *parts: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Stages one after the other; after a stop none is begun, and limits on what it measures are inconclusive."""
    for measured in parts:
        if case.engine.stop.is_set():
            return
        yield from measured()


def _release_part(case: Case, name: str) -> Part:
    given = release = case.releases[name]
    if given.synthetic:
        part = synthetic_part(case, name, given)
        told = () if case.membership is None else (_membership(case, name, given),)
        findings = [*part.findings, *(f for one in told for f in one.findings)]
        for asked in given.with_role(Role.SENSITIVE):
            findings += _unmeasured(case, name, given.attributes[asked], ("learner", *case.attacker_names))
        return replace(part, findings=tuple(findings), membership=next(iter(told), None))
    group = case.assignments.get(name)
    if given.perturbed:
        release, _ = with_channels(given, case.original, group)
        group = None  # a reader does not know which perturbed row is whose
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
    facts, sentences, unmeasured = checked.diagnostics, {}, []
    if given.perturbed:
        case.engine.report("masked values", 1, 100)
        masked = masked_findings(case, name, given)
        findings = [*masked.findings, *_levels_of_rows(given, checked)]
        facts, sentences, unmeasured = {**facts, **masked.facts}, dict(masked.sentences), list(masked.remarks)
    else:
        findings = [*identity_findings(release, name, case.original, case.population), *checked.findings]
        case.engine.report("utility", 1, 100)
        findings += _unless_stopped(
            case,
            lambda: utility_findings(release, name, case.original),
            lambda: quality_findings(release, name, case.original, group),
            lambda: analyst_findings(release, name, case.original),
        )
        case.engine.report("counts", 2, 100)
        findings += [*wider_counts(case, name, release), *in_turn_findings(case, name, release)]
        if not case.engine.stop.is_set():
            losses, unmeasured = population_findings(release, name, case.original)
            findings += losses
    membership = None
    case.engine.report("membership", 3, 100)
    if case.membership is not None:
        membership = _membership(case, name, given)
        findings += membership.findings
    remarks = [*(() if given.perturbed else remarks_of_release(case, name)), *unmeasured]
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
        if given.perturbed and version.attributes[asked].role is not Role.SENSITIVE and case.asked is None:
            continue
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
                group=group,
                stated=given if stated_chances(given) else None,
                also_asked=asked_at_once(case, version, asked, several) if several else (),
                enough=surely_exceeded(case, version.true_attributes[asked], _truth(original, version, asked, rows)),
            )
            if case.earlier and alone:
                if given.perturbed:
                    composed = compose_masked(case, name, given, asked, answered.learner)
                else:
                    composed = compose(case, name, version, asked, answered, original, bins)
                answered = composed.added_to(answered)
                findings += composed.findings
                remarks += composed.remarks
                composition[attribute] = composed.facts
            found[attribute] = replace(answered, learned=None, also_asked=())
        except (NotApplicable, Stopped) as reason:
            refused[attribute] = str(reason)
            findings += _unmeasured(case, name, version.true_attributes[asked], ("learner", *case.attacker_names))
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
        findings += _unmeasured(case, name, version.true_attributes[asked], tuple(found[attribute].refused))
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
    background: Mapping[str, Section] = {}
    if not given.perturbed:
        coarse, coarse_original = _coarse(seen, case.original)
        background = background_sections(
            coarse,
            name,
            coarse_original,
            case.background,
            group=None if group is None else number[np.asarray(group)],
            limited=case.limited(),
            least=case.least,
            stop=case.engine.stop,
        )
    findings += [f for section in background.values() for f in section.findings]
    return Part(
        name,
        tuple(findings),
        found,
        refused,
        facts,
        tuple(remarks),
        None if rows is None else len(rows),
        sentences,
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

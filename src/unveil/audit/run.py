"""run_audit: releases in, one Audit out."""

import importlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.audit.asking import Answers
from unveil.audit.background import add_background
from unveil.audit.case import Case
from unveil.audit.charts import attribute_charts, group_sizes, hidden
from unveil.audit.combination_limits import combination_findings
from unveil.audit.combinations import withheld
from unveil.audit.compare import dominance
from unveil.audit.diagnosis import (
    describe_audit_run,
    reader_rows,
    release_facts,
    unreliable_readers,
    worst_attributes,
)
from unveil.audit.document import Document, Finding, Verdict
from unveil.audit.limits import judge, limits_that_cannot_fail, parse_limit, worst
from unveil.audit.linkability import linked
from unveil.audit.masked import masked_charts
from unveil.audit.measures import definitions_of, kind_of, stands_for
from unveil.audit.part import Part
from unveil.audit.release_part import part_of
from unveil.audit.remarks import count_words
from unveil.audit.result import EXIT_CODES, RunResult
from unveil.audit.side_by_side import side_by_side
from unveil.audit.verdict import DEFAULT_LIMITS, Judgement, Kind, judgement_of
from unveil.audit.words import main_attacker, not_tested, sentence, wp29
from unveil.data.attribute import Role
from unveil.data.masked import Masked
from unveil.data.release import Release
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.people import people_frame as link_frame
from unveil.risk.linkage.published import Published
from unveil.risk.linkage.register import Register
from unveil.risk.published_file import Leak, across_releases, harmful_classes, likely_members, read_as_a_stranger

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Audit", "run_audit"]

SHARED = 0.95  # of the people: a value that so many share is told by being in the table


@dataclass(frozen=True, slots=True, eq=False)
class Audit(RunResult):
    """What an audit found. `document` is all that a report needs; the beliefs behind it stay here."""

    document: Document
    answers: Mapping[tuple[str, str], Answers] = field(repr=False)  # by release and attribute
    compared: Mapping[str, tuple[Published, Register]] = field(repr=False, default_factory=dict)  # masked releases

    def to_dict(self) -> dict[str, Any]:
        """The document as plain data."""
        return self.document.model_dump(mode="json")

    def people(self, release: str, attribute: str) -> "pl.DataFrame":
        """What is believed of each person: it names people."""
        import polars as pl

        from unveil.formats.people import people_frame

        found = self.answers[release, attribute]
        first = main_attacker(found.attackers)
        order = sorted(found.attackers, key=lambda name: name != first)
        frame = people_frame(
            found.attribute,
            found.known_texts(),
            found.learner,
            {name: found.attackers[name] for name in order},
            found.truth,
        )
        return frame.with_columns(pl.Series("row", found.row + 1, dtype=pl.Int64))

    def links(self, release: str) -> "pl.DataFrame":
        """Of a masked release: each person's nearest row, its margin, and whether it is theirs. It names people."""
        published, held = self.compared[release]
        found = link_by_distance(published, held, margins=True)
        return link_frame({"distance": found}, held, published)

    def _repr_html_(self) -> str:
        # By name: the report stands above the audit and reads its document only.
        report = importlib.import_module("unveil.report")
        return str(report.render_page(self.document))


def run_audit(case: Case | Mapping[str, Release | Masked], **options: Any) -> Audit:
    """Ask every reader about every sensitive attribute of every release, and hold what is found against limits.

    A case, or its releases by name and the fields of a Case as options.
    """
    started = time.monotonic()
    case = case if isinstance(case, Case) else Case(releases=case, **options)
    case.check()
    parts = side_by_side(list(case.releases), case.engine, lambda name, own: part_of(case.at(own), name))
    rows = [row for part in parts for row in part.combinations]
    people = 0 if case.original is None else case.original.rows
    shown_rows = [withheld(row, case.least, people) for row in rows]
    published = {name: {a.name for a in release.attributes} for name, release in case.releases.items()}
    more = combination_findings(rows, shown_rows, case.combination_limits(), case.combinations, published)
    return _put_together(case, parts, started, more, {"combinations": shown_rows} if rows else {})


def default_limits(case: Case, findings: Sequence[Finding]) -> list[str]:
    """The limits that hold whatever is asked for, as far as these releases have what they are about.

    Being in the table is judged where the schema calls it sensitive, and by what is known of others.
    """
    found = []
    for kind, limits in DEFAULT_LIMITS.items():
        if kind == "membership" and not (case.membership is not None and case.membership.sensitive):
            continue
        for text in limits:
            left = parse_limit(text).left
            meant = [f for f in findings if f.minus is None and stands_for(left, f, case.attacker_names)]
            unknown = all(f.value is None for f in meant)
            if meant and not (
                unknown and (kind == "membership" or (left.reader is None and left.measure == "claim_precision"))
            ):
                found.append(text)
    return found


def _judge_by_default(case: Case, findings: Sequence[Finding], unreliable: Any) -> tuple[Finding, ...]:
    """Findings held against the default limits, but for those that could not be otherwise: of an attribute with two
    values everybody has fewer than three, whatever is known.
    """
    vacuous = [f.measure == "fewer_values" and f.baseline == 1.0 for f in findings]
    held = [f for f, left_out in zip(findings, vacuous, strict=True) if not left_out]
    judged = iter(judge(held, default_limits(case, held), case.attacker_names, unreliable))
    return (*(f if out else next(judged) for f, out in zip(findings, vacuous, strict=True)), *judged)


def read_files(case: Case, parts: Sequence[Part]) -> dict[str, list[Leak]]:
    """What the published files give away, each by itself and all together; by release.

    What classes alone tell of a sensitive attribute is counted where no reader could be asked about it.
    """
    found = {name: [*read_as_a_stranger(file)] for name, file in case.files.items()}
    for part in parts:
        if part.name in case.files and part.not_applicable:
            counted = harmful_classes(case.files[part.name])
            found[part.name] += [leak for leak in counted if set(leak.columns) & set(part.not_applicable)]
    if case.membership is not None and case.membership.sensitive:
        for name, file in case.registers.items():
            found[name] += likely_members(file)
    together = across_releases(list(case.files.values())) if len(case.files) > 1 else []
    return {name: [*leaks, *together] for name, leaks in found.items()}


def judge_release(
    case: Case,
    part: Part,
    findings: Sequence[Finding],
    leaks: Sequence[Leak] | None,
    stated: Verdict,
    *,
    unsure: bool,
) -> Judgement:
    """Every kind of disclosure of one release."""
    release = case.releases[part.name]
    sensitive = [release.attributes[i].name for i in release.with_role(Role.SENSITIVE)]
    reasons: dict[tuple[Kind, str | None], str] = {
        ("file", None): "The published file itself was not given, only what was read of it.",
        ("composition", None): "Not considered: what else was published about these people.",
    }
    if len(case.releases) > 1:
        reasons["composition", None] = (
            "Not considered beyond simple crossings of these releases: what else was published about these people."
        )
    if case.membership is None or not case.membership.sensitive:
        reasons["membership", None] = "Not considered: the schema does not say that being in the table is sensitive."
    elif case.population is None and case.control is None:
        reasons["membership", None] = (
            "Being in the table is sensitive, and there is no --population or --control to judge it by."
        )
    if not sensitive:
        reasons["inference", None] = "The schema names no sensitive attribute."
    if case.original is None:
        for name in sensitive:
            reasons["inference", name] = "Without the original nobody can say whether readers would be right."
        reasons["linking", None] = "Without the original nobody can be linked."
    for name in sensitive:
        if case.asked is not None and name not in case.asked:
            reasons["inference", name] = "It was not asked about."
        elif name in part.not_applicable:
            reasons["inference", name] = f"No reader could be asked: {part.not_applicable[name]}."
        elif (answers := part.answers.get(name)) is not None and answers.truth is not None:
            share = np.bincount(answers.truth, minlength=answers.attribute.codes) / max(len(answers.truth), 1)
            share[list(answers.attribute.harmless)] = 0.0
            if share.max(initial=0.0) >= SHARED and reasons.get(("membership", None)):
                reasons["inference", name] = (
                    "Nearly everybody in the table has the same value: who is in it, has it. Say in the schema whether "
                    "membership is sensitive."
                )
    if not any(f.reader == "background" and f.value is not None for f in findings if f.release == part.name):
        reasons["background", None] = next(
            (str(s.row.get("reason")) for s in part.background.values() if s.row.get("reason")),
            "readers with background knowledge were not asked",
        )
        reasons["background", None] = f"Background knowledge was not tried: {reasons['background', None]}."
    narrowed = ""
    if case.known is not None:
        narrowed = f"for a reader who knows no more than {', '.join(case.known)}"
    elif case.attackers is not None and not {"bayesian", "random_worlds"} <= {kind_of(n) for n in case.attackers}:
        narrowed = f"against {', '.join(case.attackers)}"
    elif case.wrong:
        narrowed = "for a reader who knows some attributes wrongly"
    return judgement_of(
        part.name,
        findings,
        sensitive=sensitive,
        leaks=leaks,
        reasons=reasons,
        waivers=case.waive,
        stated=stated,
        people=0 if case.least else (release.rows if case.original is None else case.original.rows),
        narrowed=narrowed,
        unsure=unsure,
    )


def _file_check(leak: Leak, least: int) -> dict[str, Any]:
    people = None if leak.people is not None and 0 < leak.people < least else leak.people
    return {
        "check": leak.check,
        "kind": leak.kind,
        "severity": leak.severity,
        "sentence": leak.sentence,
        "fix": leak.fix,
        "columns": list(leak.columns),
        "people": people,
    }


def _put_together(
    case: Case,
    parts: Sequence[Part],
    started: float,
    of_combinations: Sequence[Finding],
    more: Mapping[str, Any],
) -> Audit:
    readers = [row for part in parts for row in reader_rows(part)]
    unreliable = unreliable_readers(parts)
    findings = judge([f for p in parts for f in p.findings], case.stated_limits()[0], case.attacker_names, unreliable)
    findings += tuple(of_combinations)
    stated = {p.name: worst(f.verdict for f in findings if f.release == p.name) for p in parts}
    findings = _judge_by_default(case, findings, unreliable)
    leaks = read_files(case, parts)
    judgements = {
        p.name: judge_release(
            case, p, findings, leaks.get(p.name), stated[p.name], unsure=any(r == p.name for r, _, _ in unreliable)
        )
        for p in parts
    }
    verdicts = {name: one.verdict for name, one in judgements.items()}
    stopped = case.engine.stop.is_set()
    if stopped:  # what was not reached can be no pass
        verdicts = {name: found if found == "exceeded" else "inconclusive" for name, found in verdicts.items()}
    verdict = worst(verdicts.values())
    pairs, pairs_words = dominance(findings, [p.name for p in parts])
    sampled = next((p.sampled for p in parts if p.sampled is not None), None)
    people = case.original.rows if case.original is not None else sum(r.rows for r in case.releases.values())
    refused = [(r["release"], r["attribute"], r["reader"], r["reason"]) for r in readers if not r["applicable"]]
    remarks = list(dict.fromkeys(text for p in parts for text in p.remarks))
    remarks[:0] = limits_that_cannot_fail(case.stated_limits()[0])
    if stopped:
        remarks.insert(0, "The audit was stopped before its end: what it did not reach is unknown.")
    if sampled is not None:
        remarks.insert(
            0,
            f"Only a random sample of {sampled:,} people was asked about. Intervals hold what "
            "such a sample may miss of the rest; beyond the sample the largest values are unknown.",
        )
    repeated = None if case.original is None else sum(case.original.repeated.values())
    if repeated:
        remarks.append(
            f"{count_words(repeated, case.least)} rows share an identifier with another; each counts as one person."
        )
    if (key := case.key) is not None:
        remarks.insert(
            0, f"The column {key} paired rows with the original's and was left out: take it off before publishing."
        )
    background = [section.row for p in parts for section in p.background.values()]
    diagnostics = {
        "verdict": verdict,
        "verdicts": verdicts,
        "exit_code": EXIT_CODES[verdict],
        "judgement": {name: one.model_dump(mode="json") for name, one in judgements.items()},
        "file": {name: [_file_check(leak, case.least) for leak in found] for name, found in leaks.items()},
        "sentence": {
            p.name: {n: sentence(a, least=case.least, sampled=p.sampled is not None) for n, a in p.answers.items()}
            | dict(p.sentences)
            for p in parts
        },
        "releases": {p.name: release_facts(p, repeated, case.least) for p in parts},
        "readers": readers,
        "people": people,
        "sampled_people": sampled,
        "controls": None if case.control is None else case.control.rows,
        "worst_attribute": {p.name: worst_attributes(p, case.least) for p in parts},
        "dominance": pairs,
        "dominance_text": pairs_words,
        "wp29": {p.name: wp29(findings, p.name, case.attacker_names) for p in parts},
        "not_tested": not_tested(
            has_sensitive=any(p.answers or p.not_applicable or p.beliefs for p in parts),
            original=case.original is not None,
            control=case.control is not None,
            assignment=bool(case.assignments),
            linked=any(linked(p.findings) for p in parts),
            refused=refused,
            membership=any(p.membership is not None and p.membership.facts["reason"] is None for p in parts),
            background=background,
        ),
        "membership": {p.name: p.membership.facts for p in parts if p.membership is not None},
        "background": background,
        "remarks": remarks,
        "definitions": definitions_of(findings),
        **more,
    }
    charts: dict[str, dict[str, Any]] = {
        p.name: {
            **{name: attribute_charts(found) for name, found in p.answers.items()},
            "": {
                **(
                    {"group_sizes": group_sizes(release)} if isinstance(release, Release) else masked_charts(p.findings)
                ),
                **p.charts,
                **({} if p.membership is None else {"membership": p.membership.charts}),
            },
        }
        for p, release in ((p, case.releases[p.name]) for p in parts)
    }
    add_background(charts, {p.name: p.background for p in parts})
    document = Document(
        document="audit",
        settings=case.settings(),
        inputs=tuple(case.inputs),
        run=describe_audit_run(started),
        findings=findings,
        diagnostics=diagnostics,
        charts=hidden(charts, case.least) if case.least else charts,
    )
    return Audit(
        document,
        {(p.name, name): found for p in parts for name, found in p.answers.items()},
        {p.name: p.links for p in parts if p.links is not None},
    )

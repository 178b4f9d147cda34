"""run_audit: releases in, one Audit out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unveil.audit.asked_again import asked_again
from unveil.audit.asking import Answers
from unveil.audit.background import add_background
from unveil.audit.carriers import CarrierFinding, CarrierGroup, CarrierRow, carrier_groups, carrier_rows, told_carriers
from unveil.audit.case import Case
from unveil.audit.charts import attribute_charts, group_sizes, hidden
from unveil.audit.combination_limits import combination_findings
from unveil.audit.combinations import withheld
from unveil.audit.compare import dominance
from unveil.audit.diagnosis import (
    describe_audit_run,
    reader_rows,
    release_facts,
    roles_of,
    unreliable_readers,
    worst_attributes,
)
from unveil.audit.document import Document, Finding
from unveil.audit.judging import anonymize_command, file_check, judge_by_default, judge_release, read_files
from unveil.audit.limits import judge, limits_that_say_nothing, limits_without_findings, worst
from unveil.audit.linkability import linked
from unveil.audit.masked import masked_charts
from unveil.audit.measures import definitions_of
from unveil.audit.part import Part
from unveil.audit.release_part import part_of
from unveil.audit.remarks import count_words
from unveil.audit.result import EXIT_CODES, RunResult
from unveil.audit.side_by_side import side_by_side
from unveil.audit.verdict import Judgement
from unveil.audit.words import main_attacker, not_tested, sentence, wp29
from unveil.data.attribute import Role
from unveil.data.release import Release
from unveil.engine import WHOLE
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.people import people_frame as link_frame
from unveil.risk.linkage.published import Published
from unveil.risk.linkage.register import Register
from unveil.risk.published_file import Leak

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Audit", "Measured", "judge_measured", "measure_releases", "run_audit"]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What an audit measured, before any limit."""

    parts: tuple[Part, ...]  # one a release
    leaks: Mapping[str, Sequence[Leak]]  # what the published files give away, by release
    started: float  # on the clock that only goes forward


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Audit(RunResult):
    """What an audit found. `document` is all that a report needs; the beliefs behind it stay here."""

    document: Document
    answers: Mapping[tuple[str, str], Answers]  # by release and attribute
    compared: Mapping[str, tuple[Published, Register]] = field(default_factory=dict)  # masked releases

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


def run_audit(case: Case | Mapping[str, Release], **options: Any) -> Audit:
    """Ask every reader about every sensitive attribute of every release, and hold what is found against limits.

    A case, or its releases by name and the fields of a Case as options.
    """
    case = case if isinstance(case, Case) else Case(releases=case, **options)
    found = judge_measured(case, measure_releases(case))
    case.engine.report("verdict", WHOLE, WHOLE)
    return found


def measure_releases(case: Case) -> Measured:
    """The long part of an audit: what is measured, whatever the limits are. Judge it as often as you like."""
    started = time.monotonic()
    case.check()
    whole = case.engine.part()  # one share of all the work, which only grows
    own_part = whole.part("", 0.0, 0.96)
    parts = side_by_side(list(case.releases), own_part, lambda name, own: part_of(case.at(own), name))
    whole.report("the published file", 96, 100)
    leaks = read_files(case, parts)
    whole.report("verdict", 99, 100)
    return Measured(tuple(parts), leaks, started)


def judge_measured(case: Case, measured: Measured) -> Audit:
    """What was measured, compared with this case's limits: its other fields are those of the case that was measured."""
    case.check()
    parts = measured.parts
    rows = [row for part in parts for row in part.combinations]
    people = 0 if case.original is None else case.original.rows
    shown_rows = [withheld(row, case.least, people) for row in rows]
    published = {name: {a.name for a in release.attributes} for name, release in case.releases.items()}
    more = combination_findings(rows, shown_rows, case.combination_limits(), case.combinations, published)
    return _put_together(case, measured, more, {"combinations": shown_rows} if rows else {})


def _put_together(case: Case, measured: Measured, of_combinations: Sequence[Finding], more: Mapping[str, Any]) -> Audit:
    parts, leaks = measured.parts, measured.leaks
    readers = [row for part in parts for row in reader_rows(part)]
    unreliable = unreliable_readers(parts)
    found = [f for p in parts for f in p.findings]
    limits, attackers = case.stated_limits()[0], case.attacker_names
    without = limits_without_findings(found, limits, attackers, [p.name for p in parts])
    nowhere = {text for text in limits if all(text in without.get(p.name, ()) for p in parts)}
    findings = judge(found, [text for text in limits if text not in nowhere], attackers, unreliable)
    findings += tuple(of_combinations)
    stated = {p.name: worst(f.verdict for f in findings if f.release == p.name) for p in parts}
    findings = judge_by_default(case, findings, unreliable)
    judgements = {
        p.name: judge_release(
            case,
            p,
            findings,
            leaks.get(p.name),
            stated[p.name],
            without=without.get(p.name, ()),
            unsure=any(r == p.name for r, _, _ in unreliable),
        )
        for p in parts
    }
    carriers = _carriers(case, judgements, parts, findings)
    judgements = {
        name: told_carriers(
            one, of.rows, of.groups, of.findings, anonymize_command(case, case.releases[name]), of.exact
        )
        if (of := carriers.get(name)) is not None
        else one
        for name, one in judgements.items()
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
    remarks[:0] = limits_that_say_nothing(case.stated_limits()[0])
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
        "file": {name: [file_check(leak, case.least) for leak in found] for name, found in leaks.items()},
        "roles": roles_of(case),
        "sentence": {
            p.name: {
                n: " ".join(text for text in (p.sentences.get(n), _sentence(case, p, n)) if text)
                for n in {**p.answers, **p.sentences}
            }
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
            composed=any(p.composition for p in parts),
        ),
        "membership": {p.name: p.membership.facts for p in parts if p.membership is not None},
        "background": background,
        **({"panel": panel} if (panel := [dict(row) for p in parts for row in p.panel]) else {}),
        **({"composition": {p.name: p.composition for p in parts}} if case.earlier or case.not_combined else {}),
        "remarks": remarks,
        "definitions": definitions_of(findings),
        **(_carrier_facts(carriers) if carriers else {}),
        **more,
    }
    charts: dict[str, dict[str, Any]] = {
        p.name: {
            **{name: attribute_charts(found) for name, found in p.answers.items()},
            "": {
                **(masked_charts(p.findings) if release.perturbed else {"group_sizes": group_sizes(release)}),
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
        inputs=case.shown_inputs,
        run=describe_audit_run(measured.started),
        findings=findings,
        diagnostics=diagnostics,
        charts=hidden(charts, case.least) if case.least else charts,
    )
    return Audit(
        document,
        {(p.name, name): found for p in parts for name, found in p.answers.items()},
        {p.name: p.links for p in parts if p.links is not None},
    )


def _sentence(case: Case, part: Part, attribute: str) -> str | None:
    found = part.answers.get(attribute)
    return None if found is None else sentence(found, least=case.least, sampled=part.sampled is not None)


def _carrier_facts(carriers: "Mapping[str, _Carriers]") -> dict[str, Any]:
    return {
        "carriers": {n: [row.model_dump() for row in c.rows] for n, c in carriers.items()},
        "carrier_findings": {n: {a: f.model_dump() for a, f in c.findings.items()} for n, c in carriers.items()},
        "carrier_groups": {
            n: {k: [g.model_dump() for g in some] for k, some in c.groups.items()} for n, c in carriers.items()
        },
    }


@dataclass(frozen=True, slots=True)
class _Carriers:
    """Of one release: its columns, its classes, and what readers say of it changed."""

    rows: list[CarrierRow] = field(default_factory=list)
    groups: dict[str, list[CarrierGroup]] = field(default_factory=dict)
    findings: dict[str, CarrierFinding] = field(default_factory=dict)
    exact: tuple[str, ...] = ()  # columns that are published as they are


def _carriers(
    case: Case, judgements: Mapping[str, Judgement], parts: Sequence[Part], findings: Sequence[Finding]
) -> dict[str, _Carriers]:
    """Of releases that exceed a limit: what each column has to do with it. An external document names no counts."""
    found: dict[str, _Carriers] = {}
    for part in parts:
        release = case.releases[part.name]
        exceeded = {
            (k.kind, k.attribute)
            for k in judgements[part.name].kinds
            if k.verdict == "exceeded" and k.kind in ("singling out", "linking", "inference")
        }
        if release.perturbed or not exceeded or case.least:
            continue
        rows = carrier_rows(release)
        if not rows:
            continue
        names = {i: release.attributes[i].name for i in release.with_role(Role.QUASI_IDENTIFIER)}
        exact = tuple(name for i, name in names.items() if (release.regions[i].sizes == 1).all())
        one = found[part.name] = _Carriers(rows, exact=exact)
        if any(kind != "inference" for kind, _ in exceeded):
            one.groups["singling out"] = carrier_groups(release)
        for attribute in sorted(str(a) for kind, a in exceeded if kind == "inference" and a in part.answers):
            if attribute in {a.name for a in release.attributes}:  # not several of them as one
                one.groups[attribute] = carrier_groups(release, attribute)
            again = asked_again(case, part.name, part.answers[attribute], findings)
            if again is not None:
                one.findings[attribute] = again.described(len(part.answers[attribute].row))
                one.rows[:] = [again.beside(row) for row in one.rows]
    return found

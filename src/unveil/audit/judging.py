"""From what was found to a judgement: default limits, the files as a stranger reads them, and why a kind is open."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unveil.attackers.bayesian import Bayesian
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.binning import too_many_values
from unveil.audit.case import Case
from unveil.audit.decided import ended_readers
from unveil.audit.document import Finding, Verdict
from unveil.audit.limits import judge, parse_limit, worst
from unveil.audit.measures import stands_for
from unveil.audit.part import Part
from unveil.audit.remembered import Remake
from unveil.audit.verdict import DEFAULT_LIMITS, Judgement, Kind, judgement_of, preset_covers
from unveil.data.attribute import Role
from unveil.data.release import Release
from unveil.risk.published_file import (
    Leak,
    across_releases,
    beside_earlier,
    harmful_classes,
    likely_members,
    read_as_a_stranger,
)

__all__ = ["file_check", "judge_by_default", "judge_release", "read_files"]

SHARED = 0.95  # of the people: a value that this many share is told by being in the table


def _default_limits(case: Case, findings: Sequence[Finding]) -> list[str]:
    """The limits that hold whatever is asked for, as far as these releases have what they are about.

    Being in the table is judged where the schema calls it sensitive, and by what is known of others.
    """
    found, attackers = [], case.attacker_names
    for kind, limits in DEFAULT_LIMITS.items():
        if kind == "membership" and not (case.membership is not None and case.membership.sensitive):
            continue
        for text in limits:
            left = parse_limit(text).left
            meant = [f for f in findings if f.minus is None and stands_for(left, f, attackers)]
            unknown = all(f.value is None for f in meant)
            if meant and not (
                unknown and (kind == "membership" or (left.reader is None and left.measure == "claim_precision"))
            ):
                found.append(text)
    return found


def judge_by_default(case: Case, findings: Sequence[Finding], unreliable: Any) -> tuple[Finding, ...]:
    """Findings compared with the default limits, but for those that could not be otherwise: of an attribute with two
    values everybody has fewer than three, whatever is known.
    """
    vacuous = [f.measure == "fewer_values" and f.baseline == 1.0 for f in findings]
    held = [f for f, left_out in zip(findings, vacuous, strict=True) if not left_out]
    judged = iter(judge(held, _default_limits(case, held), case.attacker_names, unreliable))
    return (*(f if out else next(judged) for f, out in zip(findings, vacuous, strict=True)), *judged)


def read_files(case: Case, parts: Sequence[Part]) -> dict[str, list[Leak]]:
    """What the published files give away, each by itself and all together; by release.

    What classes alone tell of a sensitive attribute is counted where no reader could be asked about it.
    """
    files = {name: replace(file, least=case.least) for name, file in case.files.items()}
    found = {name: [*read_as_a_stranger(file)] for name, file in files.items()}
    for part in parts:
        unasked = {*part.not_applicable}  # or asked in bins only
        unasked |= {a.name for a in case.releases[part.name].attributes if too_many_values(a)}
        if part.name in files and unasked:
            counted = harmful_classes(files[part.name])
            found[part.name] += [leak for leak in counted if set(leak.columns) & unasked]
    if case.membership is not None and case.membership.sensitive:
        for name, file in case.registers.items():
            found[name] += likely_members(replace(file, least=case.least))
    for name, file in files.items():
        for earlier, other in case.earlier_files.items():
            found[name] += beside_earlier(file, other, earlier)
    together = across_releases(list(files.values())) if len(files) > 1 else []
    return {name: [*leaks, *together] for name, leaks in found.items()}


def judge_release(
    case: Case,
    part: Part,
    findings: Sequence[Finding],
    leaks: Sequence[Leak] | None,
    stated: Verdict,
    *,
    without: Sequence[str],
    unsure: bool,
) -> Judgement:
    """Every kind of disclosure of one release. `without`: limits that nothing in it can be compared with."""
    release = case.releases[part.name]
    sensitive = [release.attributes[i].name for i in release.with_role(Role.SENSITIVE)]
    return judgement_of(
        part.name,
        findings,
        sensitive=sensitive,
        leaks=leaks,
        reasons=_reasons(case, part, findings, sensitive),
        answered=_answered(case),
        notes=_notes(case),
        preset=_preset(case, part.name, findings, without),
        waivers=case.waive,
        stated=stated,
        without=without,
        people=0 if case.least else (release.rows if case.original is None else case.original.rows),
        remake=_remake(case, release),
        narrowed=narrowed_by(case),
        unsure=unsure,
        ended=ended_readers(part),
    )


def _remake(case: Case, release: Release) -> Remake:
    named = [
        tuple(release.attributes[i].name for i in release.with_role(r)) for r in (Role.INSENSITIVE, Role.SENSITIVE)
    ]
    return Remake(anonymize_command(case, release), *named)


def anonymize_command(case: Case, release: Release) -> str:
    """The beginning of the command that makes the release once more; an external document does not name the original.

    What the release does not publish is left out again.
    """
    if case.original is None:
        return ""
    if case.variant == "external":
        return "unveil anonymize DATA --schema SCHEMA -o new.csv"
    schema = next((one.name for one in case.inputs if one.name.endswith(".toml")), "schema.toml")
    published = {a.name for a in release.attributes}
    out = [a.name for a in case.original.attributes if a.name not in published and a.role is not Role.IDENTIFIER]
    left_out = "".join(f" --leave-out {shlex.quote(name)}" for name in out)
    return f"unveil anonymize {Path(case.original.name).name} --schema {schema} -o new.csv{left_out}"


def _answered(case: Case) -> dict[Kind, str]:
    """Kinds that the steward settles by what only they can know."""
    found: dict[Kind, str] = {}
    if case.membership is not None and case.membership.sensitive is False:
        found["membership"] = "The schema says that being in the table is harmless."
    if case.earlier_releases is not None and not (case.earlier_releases or case.earlier or case.not_combined):
        found["composition"] = "The schema says that nothing was published earlier about these people."
    elif case.nothing_else and not case.earlier_releases:
        found["composition"] = "The ledger holds no other release about these people."
    return found


def _preset(case: Case, release: str, findings: Sequence[Finding], without: Sequence[str]) -> str:
    """Whether the preset's own limits are kept, and what they are about: no more than that is meant by it."""
    limits = case.preset_limits()
    if not limits:
        return ""
    mine = [f for f in findings if f.release == release and set((f.limit or "").split("; ")) & set(limits)]
    verdict = worst(f.verdict for f in mine)
    word = "not judged" if not mine or set(limits) & set(without) else "kept" if verdict == "within" else verdict
    return f"{preset_covers(str(case.preset), limits)} {word}"


def _notes(case: Case) -> list[str]:
    """What nobody answered, and no kind of its own speaks of."""
    unknown = case.population_register is None and case.population is None
    found = ["a population register not considered"] if unknown else []
    return found if case.panel else [*found, "the panel not asked"]


def _reasons(
    case: Case, part: Part, findings: Sequence[Finding], sensitive: Sequence[str]
) -> dict[tuple[Kind, str | None], str]:
    """Why a kind was not judged or not considered."""
    reasons: dict[tuple[Kind, str | None], str] = {
        ("file", None): "The published file itself was not given, only what was read of it.",
    }
    if case.earlier or case.not_combined:
        reasons |= _not_composed(case, part)
    elif case.earlier_releases is None and not case.nothing_else:
        beyond = " beyond simple crossings of these releases" if len(case.releases) > 1 else ""
        reasons["composition", None] = f"Not considered{beyond}: what else was published about these people."
    elif case.earlier_releases:
        reasons["composition", None] = (
            f"Published earlier, and not read together with this: {', '.join(case.earlier_releases)}."
        )
    if case.membership is None or case.membership.sensitive is None:
        reasons["membership", None] = "Not considered: the schema does not say whether being in the table is sensitive."
    elif case.membership.sensitive and case.population is None:
        if case.population_register == "available":
            reasons["membership", None] = (
                "Being in the table is sensitive, and a recipient may hold a population register: give one, or a list "
                "like it, with --population."
            )
        elif case.control is None:
            reasons["membership", None] = (
                "Being in the table is sensitive, and there is no --population or --control to judge it by."
            )
    unread = [column for column in part.perturbed if not (column.words or column.paired)]
    if unread:
        verb = "does" if len(unread) == 1 else "do"
        names = ", ".join(column.attribute for column in unread)
        why = f"{names} {verb} not show true values, and what was done could not be told; say so: masked = [...]."
        kinds: list[tuple[Kind, str | None]] = [("singling out", None), ("linking", None), ("membership", None)]
        known = any(column.attribute not in sensitive for column in unread)
        hidden = [n for n in sensitive if known or any(column.attribute == n for column in unread)]
        reasons |= dict.fromkeys([*(kinds if known else ()), *(("inference", name) for name in hidden)], why)
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
        elif _nearly_all_share(part, name) and not (case.membership is not None and case.membership.sensitive):
            reasons["inference", name] = "Nearly everybody in the table has the same value: who is in it, has it. " + (
                "The schema calls the value sensitive and being in the table harmless: correct one of them."
                if case.membership is not None and case.membership.sensitive is False
                else "Say in the schema whether membership is sensitive."
            )
    if not any(f.reader == "background" and f.value is not None for f in findings if f.release == part.name):
        why = next(
            (str(s.row.get("reason")) for s in part.background.values() if s.row.get("reason")),
            "readers with background knowledge were not asked",
        )
        reasons["background", None] = f"Background knowledge was not tried: {why}."
    return reasons


def _not_composed(case: Case, part: Part) -> dict[tuple[Kind, str | None], str]:
    """Why not all that was published earlier was read together with this release."""
    given = {Path(name).stem for name in (*case.earlier, *case.not_combined)}
    unread = [name for name in case.earlier_releases or () if Path(name).stem not in given]
    left_out = {n: why for facts in part.composition.values() for n, why in facts["left_out"].items()}
    left_out |= dict(case.not_combined) | dict.fromkeys(unread, "named in the schema, not given with --earlier")
    if left_out:
        said = "; ".join(f"{n} ({why})" for n, why in left_out.items())
        return {("composition", None): f"Not all releases could be combined: {said}."}
    if not part.composition:
        return {("composition", None): "No reader could be asked about all releases together."}
    return {}


def _nearly_all_share(part: Part, name: str) -> bool:
    """Whether nearly everybody has one value of the attribute that is not harmless."""
    answers = part.answers.get(name)
    if answers is None or answers.truth is None:
        return False
    share = np.bincount(answers.truth, minlength=answers.attribute.codes) / max(len(answers.truth), 1)
    share[list(answers.attribute.harmless)] = 0.0
    return bool(share.max(initial=0.0) >= SHARED)


def narrowed_by(case: Case) -> str:
    """How the question was narrowed: "within" then says less than it seems to."""
    if case.known is not None:
        return f"for a reader who knows no more than {', '.join(case.known)}"
    if case.attackers is not None and not all(one in case.attackers.values() for one in (Bayesian(), RandomWorlds())):
        return f"against {', '.join(case.attackers)}"
    if case.wrong:
        return "for a reader who knows some attributes wrongly"
    if (case.alpha, case.beta) != (1.0, 1.0):
        return f"for a reader whose prior weighs alpha = {case.alpha:g}, beta = {case.beta:g}"
    return ""


def file_check(leak: Leak, least: int) -> dict[str, Any]:
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

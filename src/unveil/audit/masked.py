"""An audit of a masked release: how near its values lie to the truth, and what models learn from it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.analyst import analyst_findings
from unveil.audit.attack import run_channel_attack
from unveil.audit.belief_measures import measures_of
from unveil.audit.case import Case
from unveil.audit.composition import compose_masked
from unveil.audit.document import Finding
from unveil.audit.levels import run_check
from unveil.audit.masked_identity import SYNTHETIC, masked_utility
from unveil.audit.measures import COMPOSED, COMPOSED_LEARNED, measure
from unveil.audit.mixture import run_mixture_attack
from unveil.audit.part import Part
from unveil.audit.people import Measure, People
from unveil.audit.synthetic import synthetic_findings
from unveil.data.attribute import Attribute, Role
from unveil.data.belief import Belief, Estimate
from unveil.data.release import Anonymized, Release
from unveil.data.rows import PublishedRows, origin_of, rows_of
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, Stopped, UsageError
from unveil.risk import global_threat
from unveil.risk.disclosure import (
    deviation_interval_baseline,
    deviation_interval_disclosure,
    disclosure_by_inputs,
    distance_risk,
    model_baseline,
    model_disclosure,
    model_gain,
    model_guesses,
    paired,
    rank_interval_baseline,
    rank_interval_disclosure,
    simple_baseline,
    simple_disclosure,
)

__all__ = ["BY_PERCENTAGE", "PERCENTAGES", "distance_findings", "masked_charts", "masked_part", "near_findings"]

PERCENTAGES = (1, 2, 5, 10, 20, 50)  # of ranks, and of a standard deviation
BY_PERCENTAGE = ("rank_interval_disclosure", "deviation_interval_disclosure")
MOST_INPUTS = 3  # a good guess from so few is the alarm
FOLDS, REPEATS = 5, 3
NOBODYS = "its rows are nobody's: what it gives away of people is tried by attacks with control people"
REASON = "the values were perturbed, not widened: there are no groups that hide whose row is whose"


def masked_part(case: Case, name: str, release: Release) -> Part:
    """What is found of a masked release. Without the original and the assignment it is unknown, never 0."""
    masked, group = rows_of(release), case.assignments.get(name)
    made = None
    remarks = list(_remarks(case, name, masked))
    if case.original is not None and group is not None:
        _check_domains(case.original, masked, name)
        made = Anonymized(release, np.array(group, dtype=np.int32))
    elif not release.synthetic:  # of which no row is anybody's
        remarks.append(
            f"{name}: its rows are in no telling order; how near they lie to the truth is measured only with the "
            "original and --assignment or --key, which say whose row is whose."
        )
    findings: list[Finding] = []
    if release.synthetic:
        found_here, said = synthetic_findings(case, name, masked)
        findings += found_here
        remarks += said
        findings += analyst_findings(release, name, case.original)
        findings += masked_utility(case.original if _comparable(case.original, masked) else None, masked, None, name)
        sentences = {masked.attributes[i].name: said[-1] for i in masked.with_role(Role.SENSITIVE)}
        part = Part(name, (), {}, {}, _facts(masked), tuple(remarks), None, sentences)
        for index in masked.with_role(Role.SENSITIVE):
            part = replace(part, not_applicable={**part.not_applicable, masked.attributes[index].name: NOBODYS})
        return replace(part, findings=tuple(findings))
    for index in masked.masked:
        findings += near_findings(case.original, made, name, masked.attributes[index])
    findings += distance_findings(case.original, made, name, masked)
    if masked.wide:  # rows that look alike are not told apart, whatever was done to their values
        levels = run_check(release, name=name).findings
        findings += [f for f in levels if f.attribute is None and measure(f.measure).kind == "level"]
    rows = None if made is None else origin_of(release, made.group_of_row)
    findings += analyst_findings(release, name, case.original)
    findings += masked_utility(case.original if _comparable(case.original, masked) else None, masked, rows, name)
    sentences = {}
    for index in masked.with_role(Role.SENSITIVE):
        attribute = masked.attributes[index]
        found = list(_learned(case, made, name, attribute, remarks))
        findings += found
        sentences[attribute.name] = _sentence(attribute, found)
    part = Part(name, (), {}, {}, _facts(masked), tuple(remarks), None, sentences)
    for index in masked.with_role(Role.SENSITIVE):
        part = _read_channel(case, part, release, masked, index)
        if case.earlier:
            part = _composed(case, part, release, index)
    return replace(part, findings=(*findings, *part.findings))


def _read_channel(case: Case, part: Part, release: Release, masked: PublishedRows, asked: int) -> Part:
    """What attackers believe: by the chances that are published, or else by a channel that was estimated."""
    attribute = masked.attributes[asked]
    readers = case.readers
    if masked.wide or not masked.known_channel:
        return _read_mixture(case, part, release, asked)
    others = {name: REASON for name in case.attacker_names if name not in ("bayesian", COMPOSED, COMPOSED_LEARNED)}
    bayesian = readers.attackers.get("bayesian")
    if case.original is None or bayesian is None:
        return replace(part, not_applicable={**part.not_applicable, attribute.name: REASON})
    if readers.wrong or readers.prior is not None or readers.joined or bayesian.membership != 1:
        reason = (
            "with perturbed values it knows no wrong attributes, no prior of single values and no joined attributes"
        )
        return replace(part, refused={**part.refused, attribute.name: {**others, "bayesian": reason}})
    try:
        found = run_channel_attack(release, case.original, asked, **_handed(case, attribute))
    except (NotApplicable, Stopped, UsageError) as reason:
        return replace(part, refused={**part.refused, attribute.name: {**others, "bayesian": str(reason)}})
    truth = case.original.columns[case.original.index(attribute.name)]
    beliefs = {"learner": found.learner, **found.attackers}
    findings = _belief_findings(case, part.name, attribute, beliefs, found.learner, truth)
    return replace(
        part,
        findings=(*part.findings, *findings),
        sentences={**part.sentences, attribute.name: _known_chances(part.sentences[attribute.name], beliefs, truth)},
        beliefs={**part.beliefs, attribute.name: beliefs},
        refused={**part.refused, attribute.name: others},
    )


def _handed(case: Case, attribute: Attribute) -> dict[str, Any]:
    """What every attack on perturbed values is given."""
    readers = case.readers
    known = None if readers.known is None else [n for n in readers.known if n != attribute.name]
    given = ("alpha", "beta", "engine", "chains")
    return {"known": known} | {name: getattr(readers, name) for name in given}


def _read_mixture(case: Case, part: Part, release: Release, asked: int) -> Part:
    """What every attacker believes of a release with perturbed columns, beside exact and widened ones."""
    attribute, readers = release.true_attributes[asked], case.readers
    if case.original is None or release.synthetic:
        return replace(part, not_applicable={**part.not_applicable, attribute.name: REASON})
    refused = {name: REASON for name in case.attacker_names if name not in readers.attackers}
    try:
        if readers.wrong or readers.prior is not None or readers.joined:
            raise NotApplicable(
                "with perturbed values, wrong attributes, priors and joined attributes are not supported"
            )
        found = run_mixture_attack(
            release,
            case.original,
            asked,
            readers.attackers,
            group=case.assignments.get(part.name),
            **_handed(case, attribute),
        )
    except (NotApplicable, Stopped, UsageError) as reason:
        return replace(part, not_applicable={**part.not_applicable, attribute.name: str(reason)})
    truth = case.original.columns[case.original.index(attribute.name)]
    beliefs = {"learner": found.learner, **found.attackers}
    findings = _belief_findings(case, part.name, attribute, beliefs, found.learner, truth)
    words = part.sentences[attribute.name]
    right = {name: global_threat(belief, truth).value for name, belief in beliefs.items()}
    best = max(right, key=lambda name: right[name])
    words += (
        f" What the file teaches about people in general lets a reader guess {right['learner']:.0%} right; knowing "
        f"that a person is in it, and how values were perturbed, {right[best]:.0%}."
    )
    return replace(
        part,
        findings=(*part.findings, *findings),
        sentences={**part.sentences, attribute.name: words},
        beliefs={**part.beliefs, attribute.name: beliefs},
        refused={**part.refused, attribute.name: {**refused, **found.refused}},
    )


def _belief_findings(
    case: Case,
    release: str,
    attribute: Attribute,
    beliefs: Mapping[str, Belief],
    learner: Belief,
    truth: NDArray[np.integer],
) -> list[Finding]:
    """What is measured of each reader, beside the learner."""
    counts = np.bincount(truth, minlength=attribute.codes)
    measures = [
        m for m in measures_of(attribute, case.wanted(), counts) if m.code is None or counts[m.code] >= case.least
    ]
    findings = []
    for reader, belief in beliefs.items():
        for one in measures:
            if reader != "learner" or one.of_learner:
                value = _measured(one, People(belief, learner, truth))
                under = _measured(one, People(learner, learner, truth))
                based = value is not None and reader != "learner" and (one.of_learner or one.has_baseline)
                base = under.value if under is not None and based else None
                findings.append(Finding.of(one.name, release, attribute.name, value, base, reader=reader))
    return findings


def _composed(case: Case, part: Part, release: Release, asked: int) -> Part:
    """What this release and the earlier ones tell together."""
    attribute = release.true_attributes[asked]
    beliefs = part.beliefs.get(attribute.name, {})
    found = compose_masked(case, part.name, release, asked, beliefs.get("learner"))
    findings = list(found.findings)
    if found.readers and found.baseline is not None and case.original is not None:
        learner = found.baseline
        truth = case.original.columns[case.original.index(attribute.name)]
        findings += _belief_findings(case, part.name, attribute, found.readers, learner, truth)
    refused = {**part.refused.get(attribute.name, {}), **found.refused}
    refused = {reader: why for reader, why in refused.items() if reader not in found.readers}
    return replace(
        part,
        findings=(*part.findings, *findings),
        remarks=(*part.remarks, *found.remarks),
        beliefs={**part.beliefs, attribute.name: {**beliefs, **found.readers}},
        refused={**part.refused, attribute.name: refused},
        composition={**part.composition, attribute.name: found.facts},
    )


def _known_chances(words: str, beliefs: Mapping[str, Belief], truth: NDArray[np.integer]) -> str:
    learner, attacker = (global_threat(beliefs[name], truth).value for name in ("learner", "bayesian"))
    return (
        f"{words} What the file teaches about people in general lets a reader guess {learner:.0%} right; knowing that "
        f"a person is in it, and with what chances values were changed, {attacker:.0%}."
    )


def _measured(measure: Measure, people: People) -> Estimate | None:
    try:
        return measure.of(people)
    except UsageError:  # a numeric truth that is missing for everyone
        return None


def masked_charts(findings: Iterable[Finding]) -> dict[str, Any]:
    """Risk by p: for each perturbed number and measure the shares of people and their baselines."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for finding in findings:
        measure, p = finding.measure, finding.statistic or ""
        if p.isdigit() and measure in BY_PERCENTAGE and finding.attribute is not None and finding.value is not None:
            points = found.setdefault(finding.attribute, {}).setdefault(measure, [])
            points.append({"p": int(p), "share": finding.value, "baseline": finding.baseline})
    return {"masked": found}


def near_findings(
    table: Table | None,
    made: Anonymized | None,
    release: str,
    attribute: Attribute,
    percentages: Sequence[float] = PERCENTAGES,
) -> Iterator[Finding]:
    """Interval and equality disclosure of one perturbed attribute; unknown unless it is known whose row is whose."""
    name = attribute.name
    if table is None or made is None:
        ids = [f"{measure}.{p:g}" for p in percentages for measure in BY_PERCENTAGE]
        for id in ids if attribute.kind.measured else ["simple_disclosure"]:
            yield Finding.of(id, release, name, None)
        return
    truth, published = paired(table, made, name)
    if not attribute.kind.measured:
        value, base = simple_disclosure(truth, published), simple_baseline(truth)
        yield Finding.of("simple_disclosure", release, name, value, base.value)
        return
    for p in percentages:
        value, base = rank_interval_disclosure(truth, published, p), rank_interval_baseline(truth, published, p)
        yield Finding.of(f"rank_interval_disclosure.{p:g}", release, name, value, base.value)
        value, base = deviation_interval_disclosure(truth, published, p), deviation_interval_baseline(truth, p)
        yield Finding.of(f"deviation_interval_disclosure.{p:g}", release, name, value, base.value)


def distance_findings(
    table: Table | None, made: Anonymized | None, release: str, masked: PublishedRows
) -> Iterator[Finding]:
    """How many people have all their perturbed numbers near the published ones, if any number was perturbed."""
    numbers = [masked.attributes[i].name for i in masked.masked if masked.attributes[i].kind.measured]
    if numbers and table is not None and made is not None:
        pairs = [paired(table, made, name) for name in numbers]
        risk = distance_risk([truth for truth, _ in pairs], [shown for _, shown in pairs])
        yield Finding.of("distance_risk", release, None, risk)
    elif numbers:
        yield Finding.of("distance_risk", release, None, None)


def _learned(
    case: Case, made: Anonymized | None, release: str, attribute: Attribute, remarks: list[str]
) -> Iterator[Finding]:
    """What a model says of one sensitive attribute, from everything known of a person, and from little."""
    name = attribute.name
    known = case.readers.known
    if case.original is None or made is None:
        for id in ("model_disclosure", "model_gain"):
            yield Finding.of(id, release, name, None)
        return
    published = {a.name for a in made.release.attributes}
    inputs = None if known is None else [n for n in known if n in published and n != name]
    engine: Engine = case.engine.named(f"disclosure/{release}")
    options: dict[str, Any] = {"known": inputs, "repeats": REPEATS, "engine": engine}
    options["folds"] = min(FOLDS, made.release.rows)
    try:
        guesses = model_guesses(case.original, made, name, **options)
        few = disclosure_by_inputs(case.original, made, name, most=MOST_INPUTS, **options)
    except UsageError as reason:
        remarks.append(f"{release}, {name}: no model could learn: {reason}.")
        for id in ("model_disclosure", "model_gain"):
            yield Finding.of(id, release, name, None)
        return
    yield Finding.of("model_disclosure", release, name, model_disclosure(guesses), model_baseline(guesses).value)
    yield Finding.of("model_gain", release, name, model_gain(guesses), 0.0)
    for one in few:
        id = f"model_disclosure.inputs:{len(one.inputs)}"
        yield Finding.of(id, release, name, one.disclosure, one.baseline.value)
    best = "; ".join(f"{len(one.inputs)}: {', '.join(one.inputs)}" for one in few)
    remarks.append(f"{release}, {name}: the inputs from which it is guessed best, one added to the other: {best}.")


def _sentence(attribute: Attribute, found: list[Finding]) -> str:
    value = next((f for f in found if f.id == "model_disclosure"), None)
    if value is None or not isinstance(value.value, float) or not isinstance(value.baseline, float):
        return f"What this file gives away of {attribute.name} is not known without the original and the assignment."
    return (
        f"A model that learned from this file guesses {value.value:.0%} of {attribute.name} right; one that learned "
        f"from everybody's rows but the person's own {value.baseline:.0%}."
    )


def _remarks(case: Case, name: str, masked: PublishedRows) -> Iterator[str]:
    perturbed = ", ".join(masked.attributes[i].name for i in masked.masked)
    yield f"{name}: {perturbed} {'was' if len(masked.masked) == 1 else 'were'} perturbed; other columns were not."
    if case.sample is not None:
        yield f"{name}: a sample of people was asked for; of a masked release everybody is asked about."
    if masked.method.startswith(SYNTHETIC):
        yield from _private(name, masked.method)
    elif masked.method:
        yield f"{name} says how it was made ({masked.method}); a reader who inverts that may come nearer to the truth."
    if case.original is not None and case.original.rows != masked.rows and not masked.method.startswith(SYNTHETIC):
        yield f"{name} has {masked.rows:,} rows, the original {case.original.rows:,}; who is not published is left out."
    exact = [
        a.name for i, a in enumerate(masked.attributes) if a.role is Role.QUASI_IDENTIFIER and i not in masked.masked
    ]
    if exact:
        verb = "is" if len(exact) == 1 else "are"
        yield f"{name}: {', '.join(exact)} {verb} known of people and published unchanged."


def _private(name: str, method: str) -> Iterator[str]:
    """What differential privacy promises; the promise is the publisher's, the file cannot prove it."""
    how = "made up from noisy counts and" if method.startswith("dp_") else "made up and"
    yield f"{name} is said to be made by {method}: its rows are {how} nobody's."
    options = dict(part.partition("=")[::2] for part in method.partition(":")[2].split(","))
    try:
        factor = math.exp(float(options["epsilon"]))
    except (KeyError, ValueError, OverflowError):
        return
    yield (
        f"{name}: if so, the odds of whatever is believed of somebody change by a factor of {factor:.3g} at most "
        "because that one person was in the table, whatever else is known. What is learned of people in general is not "
        "limited by it."
    )


def _comparable(table: Table | None, masked: PublishedRows) -> bool:
    """Whether the original has every column in the same domain."""
    held = {} if table is None else {a.name: a.values for a in table.attributes}
    return all(held.get(a.name) == a.values for a in masked.attributes)


def _check_domains(table: Table, masked: PublishedRows, release: str) -> None:
    held = {a.name: a for a in table.attributes}
    for attribute in masked.attributes:
        if attribute.name not in held or held[attribute.name].values != attribute.values:
            raise NotApplicable(
                f"{release}: the domain of {attribute.name} is not the original's; declare it in the schema"
            )


def _facts(masked: PublishedRows) -> dict[str, Any]:
    names = [a.name for a in masked.attributes]
    return {
        "rows": masked.rows,
        "groups": 0,
        "blocks": [names],
        "suppressed_rows": 0,
        "withheld_values": {},
        "widened_sensitive": [],
        "domains": {a.name: a.source for a in masked.attributes},
        "distances": {},
        "masked": [names[i] for i in masked.masked],
    }

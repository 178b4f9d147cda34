"""An audit of a masked release: how near its values lie to the truth, and what models learn from it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unveil.audit.analyst import analyst_findings
from unveil.audit.case import Case
from unveil.audit.document import Finding
from unveil.audit.masked_identity import masked_utility
from unveil.audit.part import Part
from unveil.audit.synthetic import synthetic_findings
from unveil.data.attribute import Attribute, Role
from unveil.data.release import Anonymized, Release
from unveil.data.rows import PublishedRows, origin_of, rows_of
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
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

__all__ = [
    "BY_PERCENTAGE",
    "PERCENTAGES",
    "MaskedFindings",
    "distance_findings",
    "masked_charts",
    "masked_findings",
    "near_findings",
    "synthetic_part",
]

PERCENTAGES = (1, 2, 5, 10, 20, 50)  # of ranks, and of a standard deviation
BY_PERCENTAGE = ("rank_interval_disclosure", "deviation_interval_disclosure")
MOST_INPUTS = 3  # a good guess from so few is the alarm
FOLDS, REPEATS = 5, 3
NOBODYS = "its rows are nobody's: what it gives away of people is tried by attacks with control people"


def synthetic_part(case: Case, name: str, release: Release) -> Part:
    """What is found of rows that are nobody's."""
    masked = rows_of(release)
    found, said = synthetic_findings(case, name, masked)
    findings = [*found, *analyst_findings(release, name, case.original)]
    findings += masked_utility(case.original if _comparable(case.original, masked) else None, masked, None, name)
    secrets = [masked.attributes[i].name for i in masked.with_role(Role.SENSITIVE)]
    remarks = (*_remarks(case, name, release), *said)
    sentences = dict.fromkeys(secrets, said[-1])
    refused = dict.fromkeys(secrets, NOBODYS)
    return Part(name, tuple(findings), {}, refused, _facts(masked), remarks, None, sentences)


@dataclass(frozen=True, slots=True)
class MaskedFindings:
    """What is measured of perturbed values row by row, beside what readers believe."""

    findings: tuple[Finding, ...]
    remarks: tuple[str, ...]
    facts: Mapping[str, Any]
    sentences: Mapping[str, str]  # by sensitive attribute: what models learn


def masked_findings(case: Case, name: str, release: Release) -> MaskedFindings:
    """How near values lie to the truth, and what models learn; unknown without the original and the assignment."""
    group, remarks = case.assignments.get(name), list(_remarks(case, name, release))
    if not release.row_by_row:
        return MaskedFindings((), tuple(remarks), {"masked": _perturbed(release)}, {})
    masked, made = rows_of(release), None
    if case.original is not None and group is not None:
        _check_domains(case.original, masked, name)
        made = Anonymized(release, np.array(group, dtype=np.int32))
    else:
        remarks.append(
            f"{name}: its rows are in no telling order; how near they lie to the truth is measured only with the "
            "original and --assignment or --key, which say whose row is whose."
        )
    findings: list[Finding] = []
    for index in masked.masked:
        findings += near_findings(case.original, made, name, masked.attributes[index])
    findings += distance_findings(case.original, made, name, masked)
    rows = None if made is None else origin_of(release, made.group_of_row)
    findings += analyst_findings(release, name, case.original)
    findings += masked_utility(case.original if _comparable(case.original, masked) else None, masked, rows, name)
    sentences = {}
    for index in masked.with_role(Role.SENSITIVE):
        attribute = masked.attributes[index]
        found = list(_learned(case, made, name, attribute, remarks))
        findings += found
        sentences[attribute.name] = _sentence(attribute, found)
    return MaskedFindings(tuple(findings), tuple(remarks), _facts(masked), sentences)


def _perturbed(release: Release) -> list[str]:
    return [release.attributes[i].name for i in sorted(release.perturbed)]


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


def _remarks(case: Case, name: str, release: Release) -> Iterator[str]:
    names = _perturbed(release)
    yield f"{name}: {', '.join(names)} {'was' if len(names) == 1 else 'were'} perturbed; other columns were not."
    if release.synthetic:
        yield from _private(name, release.method)
    elif release.method:
        yield f"{name} says how it was made ({release.method}); a reader who inverts that may come nearer to the truth."
    people = release.rows if case.original is None else case.original.rows
    if people != release.rows and not release.synthetic:
        yield f"{name} has {release.rows:,} rows, the original {people:,}; who is not published is left out."
    exact = [
        release.attributes[i].name
        for i in release.with_role(Role.QUASI_IDENTIFIER)
        if i not in release.perturbed and (release.regions[i].sizes == 1).all()
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

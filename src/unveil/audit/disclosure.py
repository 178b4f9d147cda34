"""run_disclosure: what a masked release gives away of attributes, of those it holds and of a fact that it does not."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.document import Document, Finding, Input
from unveil.audit.limits import check_limits, judge
from unveil.audit.masked import BY_PERCENTAGE, PERCENTAGES, distance_findings, near_findings
from unveil.audit.result import RunResult, judged_document
from unveil.data.attribute import Role
from unveil.data.belief import Estimate
from unveil.data.release import Anonymized
from unveil.data.rows import paired_rows
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError, shown
from unveil.risk.disclosure import (
    MODELS,
    DisclosureByInputs,
    absent_disclosure,
    disclosure_by_inputs,
    model_baseline,
    model_disclosure,
    model_gain,
    model_guesses,
    sampled_disclosure,
)

__all__ = ["Disclosure", "Fact", "run_disclosure"]

MEASURES = (
    *BY_PERCENTAGE,
    *("simple_disclosure", "model_disclosure", "model_gain", "absent_disclosure"),
)
FOLDS, REPEATS = 5, 3


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """A fact that no column holds, known of some people: of the original's, or of a sample of others."""

    values: tuple[str, ...]
    labels: NDArray[np.int64]  # (people,) place of each one's value; of the original's people -1 = not known
    sample: Table | None = None  # the others; None: the labels are of the original's people


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Disclosure(RunResult):
    """What was found; `document` is all that a report needs."""

    document: Document


def run_disclosure(
    table: Table,
    made: Anonymized,
    *,
    name: str = "release",
    percentages: Sequence[float] = PERCENTAGES,
    asked: Sequence[str] | None = None,
    known: Sequence[str] | None = None,
    model: str = "tree",
    most_inputs: int = 3,
    fact: Fact | None = None,
    limits: Sequence[str] = (),
    engine: Engine | None = None,
    inputs: Sequence[Input] = (),
) -> Disclosure:
    """Intervals for several p, equal categories, a model from all inputs and from few, and an absent fact.

    `asked`: what models guess, all sensitive attributes if not given; `known`: their inputs, all quasi-identifiers that
    are published if not given. `most_inputs`: up to how many inputs chosen best first; 0 = none.
    """
    started = time.monotonic()
    engine = Engine(seed=0) if engine is None else engine
    _check(table, made, model, percentages, limits)
    rows = paired_rows(made)[0]
    sensitive = [rows.attributes[i].name for i in rows.with_role(Role.SENSITIVE)]
    wanted = sensitive if asked is None else list(asked)
    findings: list[Finding] = []
    for index in rows.masked:
        findings += near_findings(table, made, name, rows.attributes[index], percentages)
    findings += distance_findings(table, made, name, rows)
    by_inputs: dict[str, list[dict[str, Any]]] = {}
    sentences = []
    folds = min(FOLDS, rows.rows)
    options: dict[str, Any] = {"known": known, "model": model, "repeats": REPEATS, "engine": engine, "folds": folds}
    for attribute in wanted:
        engine.report(f"models of {attribute}", 0, 1)
        guesses = model_guesses(table, made, attribute, **options)
        right, base = model_disclosure(guesses), model_baseline(guesses)
        findings.append(Finding.of("model_disclosure", name, attribute, right, base.value))
        findings.append(Finding.of("model_gain", name, attribute, model_gain(guesses), 0.0))
        sentences.append(
            f"A model that learned from this file guesses {right.value:.1%} of {attribute} right; one that learned "
            f"from everybody's rows but the person's own {base.value:.1%}."
        )
        if most_inputs > 0:
            few = disclosure_by_inputs(table, made, attribute, most=most_inputs, **options)
            by_inputs[attribute] = [_point(one) for one in few]
            for one in few:
                id = f"model_disclosure.inputs:{len(one.inputs)}"
                findings.append(Finding.of(id, name, attribute, one.disclosure, one.baseline.value))
        engine.report(f"models of {attribute}", 1, 1)
    remarks = []
    if fact is not None:
        agree, base = _absent(table, made, fact, known, model, engine)
        findings.append(Finding.of("absent_disclosure", name, None, agree, base.value))
        sentences.append(_of_fact(fact, agree, base))
        if fact.sample is None:
            remarks.append(
                f"The fact is known of {int((fact.labels >= 0).sum()):,} people of the original; the baseline is that "
                "of models that did not learn from the person."
            )
        else:
            remarks.append(
                f"The fact is known of {len(fact.labels):,} other people, so that no model learned from the person; "
                "the baseline is what would agree if masked rows were exchanged at random."
            )
    if not findings:
        raise UsageError("nothing is asked: no column was perturbed, none is sensitive, and no fact is given")
    marked = judge(findings, limits, (), {})
    document = judged_document(
        "disclosure",
        marked,
        settings={
            "release": name,
            "percentages": [float(p) for p in percentages],
            "asked": wanted,
            "known": None if known is None else list(known),
            "model": model,
            "most_inputs": most_inputs,
            "fact": None if fact is None else "people of the original" if fact.sample is None else "other people",
        },
        seed=engine.stated_seed,
        limits=limits,
        inputs=inputs,
        started=started,
        diagnostics={
            "rows": rows.rows,
            "people": table.rows,
            "perturbed": [rows.attributes[i].name for i in rows.masked],
            "sentences": sentences,
            "remarks": remarks,
        },
        charts={"by_percentage": _by_percentage(marked), "by_inputs": by_inputs},
    )
    return Disclosure(document)


def _check(table: Table, made: Anonymized, model: str, percentages: Sequence[float], limits: Sequence[str]) -> None:
    """Refuse, before the work, what cannot be asked."""
    if model not in MODELS:
        raise UsageError(f"{shown(model)} is not a model; choose from {', '.join(MODELS)}")
    for p in percentages:
        if not 0 <= p <= 100:
            raise UsageError(f"p={p:g} is not a percentage; choose one from 0 to 100")
    check_limits(limits, (), measured=MEASURES)
    held = {a.name: a for a in table.attributes}
    for attribute in made.release.true_attributes:
        if attribute.name not in held or held[attribute.name].values != attribute.values:
            raise UsageError(f"the domain of {attribute.name} is not the original's; declare it in the schema")


def _absent(
    table: Table, made: Anonymized, fact: Fact, known: Sequence[str] | None, model: str, engine: Engine
) -> tuple[Estimate, Estimate]:
    options: dict[str, Any] = {"known": known, "model": model, "engine": engine}
    if fact.sample is not None:
        return sampled_disclosure(table, made, fact.sample, fact.labels, **options)
    labelled = int((fact.labels[paired_rows(made)[1]] >= 0).sum())
    folds = max(2, min(FOLDS, labelled))
    return absent_disclosure(table, made, fact.labels, folds=folds, repeats=REPEATS, **options)


def _of_fact(fact: Fact, agree: Estimate, base: Estimate) -> str:
    who = "models that did not learn from the person" if fact.sample is None else "rows exchanged at random"
    return (
        f"Of {agree.value:.1%} of the people the masked row tells the same of the fact as the true one would (DDMBAR); "
        f"of {base.value:.1%} with {who}."
    )


def _point(one: DisclosureByInputs) -> dict[str, Any]:
    return {
        "inputs": list(one.inputs),
        "share": one.disclosure.value,
        "low": one.disclosure.low,
        "high": one.disclosure.high,
        "baseline": one.baseline.value,
    }


def _by_percentage(findings: Sequence[Finding]) -> dict[str, Any]:
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for finding in findings:
        if finding.measure in BY_PERCENTAGE and finding.attribute is not None:
            points = found.setdefault(finding.attribute, {}).setdefault(finding.measure, [])
            points.append({"p": float(finding.statistic or 0), "share": finding.value, "baseline": finding.baseline})
    return found

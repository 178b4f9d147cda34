"""What attackers believe of each person beside the learner, as a document: `unveil attack attribute`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.asking import Answers
from unveil.audit.attack import Attack
from unveil.audit.belief_measures import labels_of
from unveil.audit.charts import attribute_charts
from unveil.audit.diagnosis import reader_rows, unreliable_readers
from unveil.audit.document import Document, Finding, Input
from unveil.audit.findings import belief_findings
from unveil.audit.limits import check_limits, judge, worst
from unveil.audit.part import Part
from unveil.audit.result import EXIT_CODES, RunResult, judged_document
from unveil.audit.words import sentence
from unveil.data.belief import Belief
from unveil.data.release import Release

__all__ = ["AttributeAttack", "describe_attack"]

NOT_MEASURED = ("faithfulness", "ideal")  # an audit's alone


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttributeAttack(RunResult):
    """What was found; `document` is all that a report needs."""

    document: Document


def describe_attack(
    found: Attack,
    release: Release,
    truth: NDArray[np.integer] | None,
    *,
    name: str,
    settings: Mapping[str, Any],
    limits: Sequence[str] = (),
    inputs: Sequence[Input] = (),
    started: float,
) -> AttributeAttack:
    """The measures that an audit takes of the same beliefs, under the same ids, judged by the same limits.

    Exit code 3 if chains disagree or precision was not reached, whatever the limits are, unless one is exceeded.
    """
    attribute = release.true_attributes[found.targets.asked]
    wanted = check_limits(limits, tuple(found.attackers), labels_of(attribute))
    answers = _answers(found, release, found.learner, found.attackers, truth)
    findings = [*_findings(answers, name, [part.name for part in wanted])]
    part = Part(name, tuple(findings), {attribute.name: answers}, {}, {}, (), None)
    unsure = unreliable_readers([part])
    marked = judge(findings, limits, tuple(found.attackers), unsure)
    verdict = worst(f.verdict for f in marked)
    states = {state for (_, _, reader), state in unsure.items() if reader not in NOT_MEASURED}
    return AttributeAttack(
        judged_document(
            "attribute",
            marked,
            settings={**settings, "release": name, "asked": attribute.name},
            seed=settings.get("seed"),
            limits=limits,
            inputs=inputs,
            started=started,
            verdict=verdict,
            diagnostics={
                "exit_code": EXIT_CODES[verdict] or (3 if states else 0),
                "people": found.targets.count,
                "sentence": {} if "disagree" in states else {name: {attribute.name: sentence(answers)}},
                "readers": [*reader_rows(part)],
                "modes": [*_modes(found, release, truth, name)],
            },
            charts={name: {attribute.name: attribute_charts(answers)}},
        )
    )


def _answers(
    found: Attack,
    release: Release,
    learner: Belief,
    attackers: Mapping[str, Belief],
    truth: NDArray[np.integer] | None,
) -> Answers:
    attribute = release.true_attributes[found.targets.asked]
    return Answers(
        release=release,
        attribute=attribute,
        learner=learner,
        attackers=attackers,
        refused=found.refused,
        truth=truth,
        held=None if truth is None else np.bincount(truth, minlength=attribute.codes),
        targets=found.targets,
        row=np.arange(found.targets.count),
        controls=None,
        unplaced=0,
        ideal=None,
        faithful=None,
    )


def _findings(answers: Answers, name: str, wanted: Sequence[str]) -> Iterator[Finding]:
    for finding in belief_findings(answers, name, wanted=wanted):
        if finding.reader not in NOT_MEASURED and finding.measure not in NOT_MEASURED:
            yield finding


def _modes(found: Attack, release: Release, truth: NDArray[np.integer] | None, name: str) -> Iterator[dict[str, Any]]:
    """Where chains disagree: each mode by itself, with the learner of the same chains; nothing is pooled."""
    for reader, belief in {"learner": found.learner, **found.attackers}.items():
        for mode in belief.diagnostics.modes:
            fit = belief.diagnostics.facts.get(f"log_fit_{mode[0] + 1}")
            attackers = {} if reader == "learner" else {reader: belief.of_chains(mode)}
            answers = _answers(found, release, found.learner.of_chains(mode), attackers, truth)
            yield {
                "reader": reader,
                "chains": [chain + 1 for chain in mode],
                "log_fit": fit if isinstance(fit, float) else None,
                "findings": [f.model_dump() for f in _findings(answers, name, ()) if f.reader == reader],
            }

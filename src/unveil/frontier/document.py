"""The frontier document: settings, points, findings, what is recommended, and one chart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Any

from unveil.audit.document import Document, Input, Number, Run, Verdict
from unveil.audit.measures import definitions_of
from unveil.data.table import Table
from unveil.frontier.choose import Choice, marked
from unveil.frontier.points import Axes, Point, Value, bounded_by, value_of
from unveil.frontier.sources import Questions, ReaderSettings, higher_is_better

__all__ = ["Sweep", "document_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What was asked for."""

    table: Table
    schemes: tuple[str, ...]
    require: tuple[str, ...]
    risks: tuple[str, ...]
    utilities: tuple[str, ...]
    limits: tuple[str, ...]
    budget: int | None
    minutes: float | None
    questions: Questions
    reading: ReaderSettings
    seed: int | None
    axes: Axes
    asks_readers: bool  # whether any measure is about what attackers believe


def document_of(
    sweep: Sweep,
    points: Sequence[Point],
    line: Sequence[Point],
    choice: Choice,
    verdicts: Mapping[str, Verdict],
    inputs: tuple[Input, ...],
    run: Run,
) -> Document:
    """Everything a report needs, and no seed of the releases."""
    attackers = sweep.axes.attackers
    findings = tuple(f for p in points for f in marked(p, sweep.limits, attackers))
    efficient = {p.name for p in line}
    asked = (*sweep.risks, *sweep.utilities)
    rows = [_row(p, sweep, p.name in efficient, verdicts[p.name], choice) for p in points]
    bounded = [row["name"] for row in rows if row["bounded_by"]]
    remarks = list(choice.remarks)
    if bounded:
        remarks.append(
            f"{sweep.axes.risk} of {_some(bounded)} is what the requirement itself bounds: there a small value is the "
            "requirement kept, not a finding."
        )
    unsure = [p.name for p in points if p.status == "unsure"]
    if unsure:
        remarks.append(
            f"Chains of {_some(unsure)} did not converge or were not precise: drawn hollow, never recommended."
        )
    digests = [p.digest for p in points if p.digest]
    same = len(digests) - len(set(digests))
    if same > 0:
        remarks.append(f"{same} of the releases are the same as another one.")
    return Document(
        document="frontier",
        settings=_settings(sweep),
        inputs=inputs,
        run=run,
        findings=findings,
        diagnostics={
            "exit_code": choice.exit_code,
            "recommendation": {
                "point": None if choice.point is None else choice.point.name,
                "rule": choice.rule,
                "words": choice.words,
                "safer": None if choice.safer is None else choice.safer.name,
                "more_useful": None if choice.more_useful is None else choice.more_useful.name,
            },
            "points": rows,
            "undominated": [p.name for p in line],
            "people": sweep.table.rows,
            "remarks": remarks,
            "definitions": definitions_of(findings),
        },
        charts={
            "frontier": {
                "risk": sweep.axes.risk,
                "utility": sweep.axes.utility,
                "risk_higher_is_better": higher_is_better(sweep.axes.risk),
                "utility_higher_is_better": higher_is_better(sweep.axes.utility),
                "measures": list(dict.fromkeys(asked)),
            }
        },
    )


def _settings(sweep: Sweep) -> dict[str, Any]:
    reading, questions = sweep.reading, sweep.questions
    return {
        "original": Path(sweep.table.name).name,
        "schemes": list(sweep.schemes),
        "require": list(sweep.require),
        "risks": list(sweep.risks),
        "utilities": list(sweep.utilities),
        "limits": list(sweep.limits),
        "budget": sweep.budget,
        "minutes": sweep.minutes,
        "distance": questions.distance,
        "minimum_support": questions.minimum_support,
        "dimension": questions.dimension,
        "selectivity": questions.selectivity,
        "queries": questions.queries,
        "attackers": list(reading.attackers) if sweep.asks_readers else [],
        "known": None if reading.known is None else list(reading.known),
        "sample": reading.sample,
        "chains": reading.chains.chains,
        "sweeps": reading.chains.sweeps,
        "most_sweeps": reading.chains.most_sweeps,
        "precision": reading.chains.precision,
        "seed": sweep.seed,
    }


def _row(point: Point, sweep: Sweep, efficient: bool, verdict: Verdict, choice: Choice) -> dict[str, Any]:
    candidate = point.candidate
    models = () if candidate is None else candidate.models
    bounded = {risk: bounded_by(models, risk, sweep.questions.distance) for risk in sweep.risks}
    return {
        "name": point.name,
        "scheme": None if candidate is None else candidate.scheme,
        "with": None if candidate is None else candidate.with_text,
        "require": [] if candidate is None else list(candidate.require),
        "parameters": {} if candidate is None else candidate.parameters,
        "status": point.status,
        "reason": point.reason,
        "refined": point.refined,
        "rows": point.rows,
        "groups": point.groups,
        "undominated": efficient,
        "recommended": point is choice.recommended,
        "verdict": verdict,
        "bounded_by": {risk: words for risk, words in bounded.items() if words is not None},
        "values": {
            id: _value(value_of(point.findings, id, sweep.axes.attackers))
            for id in dict.fromkeys((*sweep.risks, *sweep.utilities))
        },
    }


def _value(value: Value | None) -> dict[str, Number]:
    if value is None:
        return {"value": None, "low": None, "high": None}
    return {"value": _number(value.value), "low": _number(value.low), "high": _number(value.high)}


def _number(value: float) -> Number:
    return "inf" if value == inf else None if isnan(value) or not isfinite(value) else value


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")

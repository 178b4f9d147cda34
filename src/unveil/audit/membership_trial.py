"""run_membership: scores in, one document out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.audit.document import Document, Finding, Input
from unveil.audit.limits import check_limits as refuse_unknown
from unveil.audit.limits import judge
from unveil.audit.result import RunResult, judged_document
from unveil.risk.membership import FALSE_ALARMS, ScoreQuality, score_quality, true_positive_at
from unveil.risk.membership.trial import SCORES, Scores

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Trial", "check_limits", "run_membership"]

POINTS = (0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, *np.round(np.linspace(0.1, 1, 19), 2).tolist())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trial(RunResult):
    """How well members are told from others. `document` is all that a report needs; each one's scores stay here."""

    document: Document
    scores: Scores
    told: Mapping[str, ScoreQuality]  # by score

    def people(self) -> "pl.DataFrame":
        """Each one's scores, and whether the person is in: it names people."""
        import polars as pl

        rows = pl.Series(np.arange(len(self.scores.inside)) + 1, dtype=pl.Int64)
        found = {"row": rows, "member": pl.Series(self.scores.inside)}
        return pl.DataFrame(found | {name: pl.Series(part) for name, part in self.scores.by.items()})


def check_limits(limits: Sequence[str]) -> None:
    """Refuse, before the work, a limit on what no trial has."""
    measures = ["membership_auc", *(f"membership_tpr.{alarms}" for alarms in FALSE_ALARMS)]
    refuse_unknown(limits, tuple(SCORES), measured=measures, readers=())


def run_membership(scores: Scores, *, limits: Sequence[str] = (), seed: int = 0, inputs: Sequence[Input] = ()) -> Trial:
    """Tell members from others by every score: area under the curve, and who is found at few false alarms."""
    started = time.monotonic()
    check_limits(limits)
    told = {name: score_quality(part[scores.inside], part[~scores.inside]) for name, part in scores.by.items()}
    findings = []
    for name, one in told.items():
        findings.append(Finding.of("membership_auc", scores.name, None, one.auc, 0.5, reader=name))
        for alarms, found in one.found.items():
            id = f"membership_tpr.{alarms}"
            findings.append(Finding.of(id, scores.name, None, found, FALSE_ALARMS[alarms], reader=name))
    marked = judge(findings, limits, tuple(SCORES), {})
    members = int(scores.inside.sum())
    document = judged_document(
        "membership",
        marked,
        settings={
            "subject": scores.subject,
            "name": scores.name,
            "known": list(scores.known),
            "shadows": scores.shadows,
        },
        seed=seed,
        limits=limits,
        inputs=inputs,
        started=started,
        diagnostics={
            "members": members,
            "others": len(scores.inside) - members,
            "scores": {name: SCORES[name] for name in told},
            "sentences": [_sentence(told)],
            "remarks": [*scores.remarks, *_remarks(len(scores.inside) - members)],
        },
        charts={"roc": {"false_positive": list(POINTS), "true_positive": {n: _curve(t) for n, t in told.items()}}},
    )
    return Trial(document, scores, told)


def _curve(told: ScoreQuality) -> list[float]:
    return [true_positive_at(told.roc, point) for point in POINTS]


def _sentence(told: Mapping[str, ScoreQuality]) -> str:
    name = max(told, key=lambda n: told[n].auc.value)
    best = told[name]
    few = best.found["1_in_100"]
    return (
        f"Of a member and somebody else, the member is picked out with a chance of {best.auc.value:.1%} "
        f"(95%: {best.auc.low:.1%} to {best.auc.high:.1%}) by the best score here, {name}; a coin does it with 50%. "
        f"Where one in 100 others is accused wrongly, it finds {few.value:.1%} of the members "
        f"({few.low:.1%} to {few.high:.1%}); a coin finds 1%."
    )


def _remarks(others: int) -> list[str]:
    found = ["The score named as best was chosen among those shown, by the same people: read its interval with that."]
    short = [(words, need) for words, need in (("100", 437), ("1,000", 4380)) if others < need]
    for words, need in short:
        found.append(
            f"With {others:,} people who are not members, one false alarm in {words} cannot be measured well: below "
            f"{need:,} of them the lower end of what is found is 0."
        )
    return found

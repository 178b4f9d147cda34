"""The delta of differential inference testing as a measure of a point: it needs the anonymizer, not one release."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unveil.anonymizers.mondrian import Mondrian
from unveil.audit.document import Finding, FindingId
from unveil.data.attribute import Role
from unveil.data.release import Anonymized
from unveil.errors import NotApplicable, UsageError
from unveil.frontier.schemes import Candidate
from unveil.frontier.source import Source, State, Yardstick
from unveil.privacy.models import KAnonymity
from unveil.privacy.reference import geometry_of
from unveil.risk.differential.leave_one_out import replayable
from unveil.risk.differential.measures import delta, distance_of, mean_distance
from unveil.risk.differential.models import inference_model
from unveil.risk.differential.procedure import Experiment, run_experiment

__all__ = ["LeaveOneOut"]

MOST_ANEW = 100  # records left out one by one, where the anonymizer must run again for each
_ESTIMATES = {"delta": delta, "distance.mean": mean_distance}


class LeaveOneOut(Source):
    """`delta` and `distance.mean`: the table is anonymized without each record (Kassem et al. 2019)."""

    of_release = False

    def claims(self, id: FindingId) -> bool:
        return id.id in _ESTIMATES

    def findings(
        self, ids: Sequence[str], candidate: Candidate | None, made: Anonymized, shared: Yardstick
    ) -> tuple[list[Finding], State]:
        table = shared.table
        sanitizer = _trivial(made, table.rows) if candidate is None else candidate.method
        everybody = np.arange(table.rows, dtype=np.int64)
        engine = replace(shared.engine, workers=1, checkpoints=None, progress=None).named("differential")
        most = shared.reading.sample
        if not replayable(sanitizer):
            most = min(MOST_ANEW, most or MOST_ANEW)
        some = everybody
        if most is not None and most < table.rows:
            some = np.sort(engine.generator().choice(table.rows, most, replace=False)).astype(np.int64)
        found = []
        for asked in table.with_role(Role.SENSITIVE):
            attribute = table.attributes[asked]
            apart = distance_of("emd", "coordinates", geometry_of(attribute), ordered=attribute.kind.ordered)
            question = Experiment(table, asked, inference_model("bernoulli_nb"), apart, "emd coordinates")
            try:
                tested = run_experiment(question, sanitizer, everybody, some, engine)
            except UsageError as reason:  # it draws: one run says nothing
                raise NotApplicable(f"delta: {str(reason).replace('; give --samples N, N of 2 or more', '')}") from None
            tested = replace(tested, sampled_records=len(some) < table.rows)
            found += [Finding.of(id, "", attribute.name, _ESTIMATES[id](tested)) for id in ids]
        return found, {}


def _trivial(made: Anonymized, rows: int) -> Any:
    """An anonymizer that publishes the original, or every quasi-identifier as `*`, with any record or without it."""
    k = max(rows - 1, 1) if bool(made.release.suppressed().all()) else 1
    return Mondrian(require=(KAnonymity(k=k),), regions="cut" if k > 1 else "tight")

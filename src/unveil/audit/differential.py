"""run_differential: a table and sanitizers in, one Differential out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.audit.document import Document, Finding, Input, Verdict
from unveil.audit.limits import check_limits, judge, worst
from unveil.audit.result import Documented, judged_document
from unveil.data.attribute import Role
from unveil.data.belief import Estimate
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import Stopped, UsageError, shown
from unveil.privacy.reference import geometry_of
from unveil.risk.differential import measures
from unveil.risk.differential.laplace import LaplaceCounts
from unveil.risk.differential.measures import distance_of
from unveil.risk.differential.models import inference_model
from unveil.risk.differential.outliers import Removal, remove_outliers
from unveil.risk.differential.procedure import Experiment, Outcome, run_experiment
from unveil.risk.differential.sanitizers import SanitizerVariant

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Differential", "run_differential"]

IDS = (
    "delta",
    "distance.mean",
    "distance.median",
    "distance.q95",
    "distance.q99",
    "membership_auc",
    "membership_auc.paired",
    "delta.after_removal",
    "removed",
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Differential(Documented):
    """What a test found. `document` is all that a report needs; what was predicted of people stays here."""

    document: Document
    tests: Mapping[str, Outcome]  # by sanitizer
    removals: Mapping[str, Removal]
    table: Table
    asked: int = 0

    @property
    def delta(self) -> float:
        """The largest distance of all sanitizers and records."""
        return max((float(t.distance.max(initial=0.0)) for t in self.tests.values()), default=0.0)

    @property
    def exit_code(self) -> int:
        """0 within limits or none given, 1 exceeded or `until` not reached, 3 inconclusive: failures, or stopped."""
        return int(self.document.diagnostics["exit_code"])

    def people(self, name: str | None = None) -> "pl.DataFrame":
        """What is inferred of each record with and without it: it names people."""
        import polars as pl

        name = next(iter(self.tests)) if name is None else name
        tested, attribute = self.tests[name], self.table.attributes[self.asked]
        values = np.array(attribute.values, dtype=object)
        truth = self.table.columns[self.asked][tested.row].astype(np.int64)
        people = np.arange(len(truth))
        data: dict[str, Any] = {"row": tested.row + 1, "attribute": [attribute.name] * len(people)}
        for index in self.table.with_role(Role.QUASI_IDENTIFIER):
            known = self.table.attributes[index]
            data[f"known:{known.name}"] = np.array(known.values, dtype=object)[
                self.table.columns[index][tested.row]
            ].tolist()
        data |= {
            "truth": values[truth].tolist(),
            "distance": tested.distance,
            "noise_floor": [None] * len(people) if tested.floor is None else tested.floor,
            "within_belief": tested.within[people, truth],
            "without_belief": tested.without[people, truth],
            "within_guess": values[tested.within.argmax(axis=1)].tolist(),
            "without_guess": values[tested.without.argmax(axis=1)].tolist(),
        }
        if name in self.removals:
            data["removed"] = np.isin(tested.row, self.removals[name].removed)
        if attribute.codes <= 100:
            for side, belief in (("within", tested.within), ("without", tested.without)):
                data |= {f"{side}:{value}": belief[:, code] for code, value in enumerate(attribute.values)}
        return pl.DataFrame(data, schema_overrides={"noise_floor": pl.Float64})


def run_differential(
    table: Table,
    sanitizers: Any,
    *,
    model: Any = "bernoulli_nb",
    distance: str = "emd",
    reading: str = "coordinates",
    asked: str | None = None,
    prior: Mapping[str, float] | None = None,
    samples: int = 1,
    records: int | None = None,
    until: float | None = None,
    limits: Sequence[str] = (),
    engine: Engine | None = None,
    fast: bool = True,
    inputs: Sequence[Input] = (),
) -> Differential:
    """How much each record changes what a model infers about its owner (Kassem et al. 2019).

    `sanitizers`: an anonymizer, a function of a Table that returns a Release, an Oracle, a LaplaceCounts; several by
    name in a dict; or the Points of a sweep. `records`: test a random sample of this many only; delta is then a lower
    bound. `until`: remove the worst records until delta is at most that. `prior`: class priors by sensitive value.
    `fast=False` re-sanitizes for every record even where the answer could be had without.
    """
    started = time.monotonic()
    engine = Engine(seed=0) if engine is None else engine
    points = _points(sanitizers)
    index = _sensitive(table, asked)
    attribute = table.attributes[index]
    _check(table, samples, records, until, limits)
    apart = distance_of(distance, reading, geometry_of(attribute), ordered=attribute.kind.ordered)
    chosen = inference_model(model, prior=prior, values=attribute.values, seed=engine.small_seed)
    question = Experiment(table, index, chosen, apart, f"{distance} {reading}", samples, fast)
    everybody = np.arange(table.rows, dtype=np.int64)
    some = everybody
    if records is not None and records < table.rows:
        random = engine.named("people").generator()
        some = np.sort(random.choice(table.rows, records, replace=False)).astype(np.int64)
    tests: dict[str, Outcome] = {}
    removals: dict[str, Removal] = {}
    for done, point in enumerate(points, start=1):
        if engine.stop.is_set():
            break
        own = engine.named(point.name)
        try:
            found = run_experiment(question, point.sanitizer, everybody, some, own)
        except Stopped:
            break
        tests[point.name] = replace(found, sampled_records=len(some) < table.rows)
        if until is not None:
            removals[point.name] = remove_outliers(question, point.sanitizer, found, until, own)
        if len(points) > 1:
            engine.report("sanitizers", done, len(points))
    if not tests:
        raise Stopped("stopped before anything was tested")
    if not engine.stop.is_set():  # done: nothing personal stays behind
        for path in question.saved:
            path.unlink(missing_ok=True)
    settings = {
        "original": Path(table.name).name,
        "sanitizers": [p.name for p in points],
        "model": "eq. 2" if all(isinstance(p.sanitizer, LaplaceCounts) for p in points) else chosen.name,
        "distance": distance,
        "reading": reading,
        "attribute": attribute.name,
        "prior": None if prior is None else dict(prior),
        "samples": samples,
        "records": records,
        "until": until,
    }
    findings = [
        f for name, tested in tests.items() for f in _findings(name, attribute.name, tested, removals.get(name))
    ]
    marked = judge(findings, limits, (), {})
    verdict = _verdict(marked, tests, removals, stopped=len(tests) < len(points))
    document = judged_document(
        "differential",
        marked,
        settings=settings,
        seed=engine.stated_seed,
        limits=limits,
        inputs=inputs,
        started=started,
        verdict=verdict,
        diagnostics={
            "tests": [_test_row(p, tests[p.name], table.rows) for p in points if p.name in tests],
            "failures": [
                {"sanitizer": name, "row": f.row + 1, "message": f.message}
                for name, tested in tests.items()
                for f in tested.failures
            ],
            "removals": [_removal_row(name, removal) for name, removal in removals.items()],
            "remarks": _remarks(points, tests, removals, table),
        },
        charts=_charts(points, tests),
    )
    return Differential(document, tests, removals, table, index)


def _points(sanitizers: Any) -> list[SanitizerVariant]:
    if isinstance(sanitizers, Mapping):
        return [SanitizerVariant(str(name), sanitizer) for name, sanitizer in sanitizers.items()]
    if isinstance(sanitizers, list | tuple) and all(isinstance(p, SanitizerVariant) for p in sanitizers):
        return list(sanitizers)
    return [SanitizerVariant(type(sanitizers).__name__.lower() if not callable(sanitizers) else "function", sanitizers)]


def _sensitive(table: Table, name: str | None) -> int:
    sensitive = table.with_role(Role.SENSITIVE)
    names = [table.attributes[i].name for i in sensitive]
    if name is not None and name not in names:
        raise UsageError(f"{shown(name)} is not a sensitive attribute; choose from {', '.join(names) or 'none'}")
    if name is None and len(sensitive) != 1:
        raise UsageError(f"say which sensitive attribute is inferred: {', '.join(names) or 'the schema has none'}")
    return sensitive[0] if name is None else sensitive[names.index(name)]


def _check(table: Table, samples: int, records: int | None, until: float | None, limits: Sequence[str]) -> None:
    """Said before the work, not after it."""
    if table.rows < 2:
        raise UsageError("a table of one record has none to leave out")
    if not table.with_role(Role.QUASI_IDENTIFIER):
        raise UsageError("nothing is known of anybody: the schema has no quasi-identifier")
    if samples < 1:
        raise UsageError(f"samples = {samples}: at least one is needed")
    if records is not None and records < 1:
        raise UsageError(f"records = {records}: at least one must be tested")
    if until is not None and not until >= 0:
        raise UsageError(f"until = {until}: choose 0 or more")
    if until is not None and records is not None and records < table.rows:
        raise UsageError("outliers can only be removed where every record is tested; leave the sample of records out")
    for part in check_limits(limits, (), measured=IDS):
        if until is None and part.name in ("removed", "delta.after_removal"):
            raise UsageError(f"a limit on {part.name} needs --remove-until")


def _findings(name: str, attribute: str, tested: Outcome, removal: Removal | None) -> list[Finding]:
    found = {
        "delta": measures.delta(tested),
        "distance.mean": measures.mean_distance(tested),
        "distance.median": measures.quantile_distance(tested, 0.5),
        "distance.q95": measures.quantile_distance(tested, 0.95),
        "distance.q99": measures.quantile_distance(tested, 0.99),
        "membership_auc": measures.membership_auc(tested),
        "membership_auc.paired": measures.paired_membership(tested),
    }
    if removal is not None:
        found["delta.after_removal"] = measures.delta(removal.last)
        found["removed"] = Estimate.exact(float(len(removal.removed)))
    return [Finding.of(id, name, attribute, estimate) for id, estimate in found.items()]


def _number(value: float) -> Any:
    return "inf" if np.isinf(value) else value


def _verdict(
    findings: Sequence[Finding], tests: Mapping[str, Outcome], removals: Mapping[str, Removal], *, stopped: bool
) -> Verdict:
    found = worst(f.verdict for f in findings)
    missed = any(r.ended in ("rounds", "requirement", "too many") for r in removals.values())
    if found == "exceeded" or missed:
        return "exceeded"
    unsure = (
        stopped or any(not t.complete for t in tests.values()) or any(r.ended == "stopped" for r in removals.values())
    )
    return "inconclusive" if unsure else found


def _test_row(point: SanitizerVariant, tested: Outcome, rows: int) -> dict[str, Any]:
    place = int(tested.distance.argmax()) if len(tested.distance) else None
    return {
        "name": point.name,
        "parameter": point.parameter,
        "value": None if point.value is None else _number(point.value),
        "rows": rows,
        "records": tested.asked_records,
        "tested": len(tested.row),
        "failed": len(tested.failures),
        "path": tested.path,
        "samples": tested.samples,
        "noise_floor": None if tested.floor is None else float(tested.floor.max(initial=0.0)),
        "worst_row": None if place is None else int(tested.row[place]) + 1,
        "sentence": _sentence(tested, place),
    }


def _sentence(tested: Outcome, place: int | None) -> str:
    if place is None:
        return "No record could be tested."
    value, row = tested.distance[place], int(tested.row[place]) + 1
    half = measures.quantile_distance(tested, 0.5).value
    bound = "" if tested.complete and not tested.sampled_records else "at least "
    return (
        f"Leaving one record out changes what is inferred about its owner by {bound}{value:.4g} at most (row {row}); "
        f"for half of the records by no more than {half:.2g}."
    )


def _removal_row(name: str, removal: Removal) -> dict[str, Any]:
    return {
        "sanitizer": name,
        "until": removal.until,
        "ended": removal.ended,
        "rounds": [
            {"delta": _number(r.delta), "records": r.records, "removed": len(r.removed)} for r in removal.rounds
        ],
        "rows": (removal.removed + 1).tolist(),
    }


def _remarks(
    points: Sequence[SanitizerVariant], tests: Mapping[str, Outcome], removals: Mapping[str, Removal], table: Table
) -> list[str]:
    found = [
        "A distance says how much one record moves this model's prediction, not whether the prediction is right; "
        "another model may see more."
    ]
    if any(t.floor is not None for t in tests.values()):
        found.append(
            "Predictions were sampled. A distance between two samples comes out too large: two samples of the same "
            "release lie as far apart as the noise floor says, and nothing below it is seen. Intervals allow for it."
        )
    if any(t.sampled_records for t in tests.values()):
        found.append("Only a random sample of the records was left out; delta may be larger among the others.")
    failed = {name: len(t.failures) for name, t in tests.items() if t.failures}
    found += [
        f"{name} failed without {n:,} of the records; these are not in its figures." for name, n in failed.items()
    ]
    missing = [p.name for p in points if p.name not in tests]
    if missing or any(not t.complete and not t.failures for t in tests.values()):
        found.append("The run was stopped before every record was left out; delta may be larger among the others.")
    if any(len(r.removed) for r in removals.values()):
        found.append(
            "Records were removed from the original before it was sanitized again; a release without them must be "
            "made from a table without them."
        )
    repeated = sum(table.repeated.values())
    if repeated:
        found.append(f"{repeated:,} rows share an identifier with another; each counts as one person.")
    return found


def _charts(points: Sequence[SanitizerVariant], tests: Mapping[str, Outcome]) -> dict[str, Any]:
    here = [p for p in points if p.name in tests]
    return {
        "delta": [
            {
                "name": p.name,
                "parameter": p.parameter,
                "value": None if p.value is None else _number(p.value),
                "delta": _number(measures.delta(tests[p.name]).value),
                "median": _number(measures.quantile_distance(tests[p.name], 0.5).value),
                "mean": _number(measures.mean_distance(tests[p.name]).value),
            }
            for p in here
        ],
        "cumulative": {
            p.name: {
                "edges": measures.EDGES.tolist(),
                "counts": measures.cumulative(tests[p.name].distance).tolist(),
                "records": len(tests[p.name].distance),
            }
            for p in here
        },
    }

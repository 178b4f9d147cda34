"""From candidates to points: anonymize, release, measure; in threads, each distinct release once, saved as it goes."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unveil.anonymizers.full_domain import FullDomain
from unveil.anonymizers.parts.roll_up import height_of
from unveil.audit.document import Finding
from unveil.audit.levels import run_check
from unveil.audit.measures import measure, parse_ids
from unveil.data.attribute import Role
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, RequirementError, Stopped, UsageError, shown
from unveil.frontier._saved import SavedCandidates, release_digest
from unveil.frontier.points import ORIGINAL, SUPPRESSED, Point
from unveil.frontier.schemes import Candidate
from unveil.frontier.sources import Beliefs, Source, Yardstick, names, source_of

__all__ = ["Measurer", "make"]

UNSURE = {
    "disagree": "the chains disagree",
    "imprecise": "the sweeps ended before the stated precision",
}


@dataclass(frozen=True, slots=True, eq=False)
class _ReleaseMeasures:
    """What is known of one distinct release, whoever made it."""

    findings: tuple[Finding, ...]
    unreliable: dict[tuple[str, str | None, str], str]


@dataclass(eq=False)
class Measurer:
    """Measures candidates of one table by the same ids, in `workers` threads."""

    table: Table
    ids: tuple[str, ...]
    shared: Yardstick
    release_seed: int
    workers: int
    saved: SavedCandidates
    ends: float = float("inf")  # of time.monotonic()
    _known: dict[str, "Future[_ReleaseMeasures]"] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    def trivial(self) -> list[Point]:
        """The original, and the table without its quasi-identifiers. An id that nothing answers to is refused here."""
        original = Anonymized(self.table.as_release(), np.zeros(self.table.rows, dtype=np.int32))
        first = self._point(None, lambda: original, ORIGINAL)
        attackers = self.shared.reading.attackers
        unknown = [id for id in self.ids if not any(names(id, f, attackers) for f in first.findings)]
        if first.status != "measured" and first.status != "unsure":
            raise NotApplicable(f"the original itself cannot be measured: {first.reason}")
        if unknown:
            named = parse_ids(unknown[0])[0].measure
            near = [f"{named}.{statistic}" for statistic in measure(named).titles if statistic != "*"]
            instead = f"choose from {', '.join(near)}" if near else "docs/frontier.md lists what is"
            raise UsageError(f"{shown(unknown[0])}: it is not measured here; {instead}")
        return [first, self._point(None, lambda: suppressed(self.table), SUPPRESSED)]

    def points(self, candidates: Sequence[Candidate], done: Callable[[int], None]) -> list[Point]:
        """In the candidates' order; those that a stop or the end of the time cut off are missing."""
        found: list[Point | None] = []
        with ThreadPoolExecutor(max_workers=max(self.workers, 1)) as pool:
            waiting = [pool.submit(self._started, candidate) for candidate in candidates]
            try:
                for number, future in enumerate(waiting, start=1):
                    found.append(future.result())
                    done(number)
            except BaseException:
                for future in waiting:
                    future.cancel()
                raise
        return [point for point in found if point is not None]

    def _started(self, candidate: Candidate) -> Point | None:
        if self.shared.engine.stop.is_set() or time.monotonic() > self.ends:
            return None
        try:
            return self._point(candidate, lambda: make(candidate, self.table, self.release_seed), candidate.name)
        except Stopped:
            return None

    def _point(self, candidate: Candidate | None, made: Callable[[], Anonymized], name: str) -> Point:
        before = self.saved.load(name)
        if before is not None:
            return _read(before, candidate, name)
        try:
            anonymized = made()
            if candidate is not None and candidate.checked:
                _check(candidate, anonymized)
            found = self._measure(candidate, anonymized)
        except RequirementError as reason:
            point = Point(name, candidate, "infeasible", str(reason))
        except NotApplicable as reason:
            point = Point(name, candidate, "not applicable", str(reason))
        else:
            states = set(found.unreliable.values())
            worst = "disagree" if "disagree" in states else "imprecise" if states else None
            point = Point(
                name,
                candidate,
                "measured" if worst is None else "unsure",
                "" if worst is None else UNSURE[worst],
                tuple(f.model_copy(update={"release": name}) for f in found.findings),
                {(name, attribute, reader): state for (_, attribute, reader), state in found.unreliable.items()},
                anonymized.release.rows,
                anonymized.release.groups,
                anonymized.note,
                release_digest(anonymized.release),
            )
        if not self.shared.engine.stop.is_set():  # chains that were stopped are not what a full run would find
            self.saved.save(name, _written(point))
        return point

    def _measure(self, candidate: Candidate | None, made: Anonymized) -> _ReleaseMeasures:
        """Every id of one release; a release that another candidate made as well is not measured again."""
        key = release_digest(made.release)
        if candidate is not None and not all(source.of_release for source in self._asked()):
            key += candidate.name
        with self._lock:
            known = self._known.get(key)
            if known is None:
                mine: Future[_ReleaseMeasures] = Future()
                self._known[key] = mine
        if known is not None:
            return known.result()
        try:
            mine.set_result(self._ask(candidate, made))
        except BaseException as error:
            mine.set_exception(error)
            raise
        return mine.result()

    def _asked(self) -> dict[Source, list[str]]:
        """The ids by their source."""
        asked: dict[Source, list[str]] = {}
        for id in self.ids:
            asked.setdefault(source_of(parse_ids(id)[0]), []).append(id)
        return asked

    def _ask(self, candidate: Candidate | None, made: Anonymized) -> _ReleaseMeasures:
        findings: list[Finding] = []
        unreliable: dict[tuple[str, str | None, str], str] = {}
        for source, ids in self._asked().items():
            one_by_one = made.release.perturbed and not isinstance(source, Beliefs)
            for some in [[id] for id in ids] if one_by_one else [ids]:
                try:
                    found, states = source.findings(some, candidate, made, self.shared)
                except NotApplicable:
                    if not made.release.perturbed or self.ids[0] in some:
                        raise
                    found, states = [Finding.of(id, "", None, None) for id in some], {}
                findings += found
                unreliable |= states
        return _ReleaseMeasures(tuple(findings), unreliable)


def make(candidate: Candidate, table: Table, seed: int) -> Anonymized:
    """The release of a candidate: the same that `unveil anonymize` makes with this seed."""
    made: Anonymized = candidate.method.anonymize(table, Engine(seed=seed, workers=1))
    return made


def suppressed(table: Table) -> Anonymized:
    """Every quasi-identifier `*`: one group."""
    known = table.with_role(Role.QUASI_IDENTIFIER)
    return FullDomain(levels=tuple(height_of(table.attributes[i]) for i in known)).anonymize(
        table, Engine(seed=0, workers=1)
    )


def _check(candidate: Candidate, made: Anonymized) -> None:
    """Hold a release against requirements that its anonymizer could not be given."""
    found = run_check(made.release, name=candidate.name, require=candidate.checked)
    missed = [f for f in found.findings if f.verdict == "exceeded"]
    if missed:
        raise RequirementError(f"{candidate.with_text} misses {missed[0].limit}: {missed[0].id} is {missed[0].value}")


def _written(point: Point) -> dict[str, Any]:
    return {
        "status": point.status,
        "reason": point.reason,
        "findings": [f.model_dump(mode="json") for f in point.findings],
        "unreliable": [[*key, state] for key, state in (point.unreliable or {}).items()],
        "rows": point.rows,
        "groups": point.groups,
        "note": point.note,
        "digest": point.digest,
    }


def _read(saved: dict[str, Any], candidate: Candidate | None, name: str) -> Point:
    return Point(
        name,
        candidate,
        saved["status"],
        saved["reason"],
        tuple(Finding.model_validate(f) for f in saved["findings"]),
        {(release, attribute, reader): state for release, attribute, reader, state in saved["unreliable"]},
        saved["rows"],
        saved["groups"],
        saved["note"],
        saved["digest"],
    )

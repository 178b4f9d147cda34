"""Readers asked again with a column changed: what an exceeded finding would be without it, or with it coarser."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unveil.audit.asking import Answers
from unveil.audit.attack import run_attack
from unveil.audit.belief_measures import measures_of
from unveil.audit.carriers import CarrierFinding, CarrierRow, wider
from unveil.audit.case import Case
from unveil.audit.document import Finding
from unveil.audit.findings import measure_of
from unveil.audit.limits import parse_limit
from unveil.audit.measures import title_of
from unveil.audit.people import People
from unveil.data.attribute import Role
from unveil.data.belief import Belief
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.errors import NotApplicable, Stopped, UsageError

__all__ = ["Changed", "asked_again"]

MOST_PEOPLE = 2_000  # asked about, at random
MOST_ROWS = 100_000  # of a release that is read some twenty times more
MOST_COLUMNS = 16  # known ones that are changed: of more those that show most


@dataclass(frozen=True, slots=True)
class Changed:
    """One finding, of the release as it is and with columns changed."""

    finding: Finding
    limit: str
    bound: float
    people: int
    value: float
    without: Mapping[str, float]  # by column
    coarser: Mapping[str, float]
    together: tuple[tuple[str, ...], float] | None  # the two columns that take most away, if none alone is enough

    def described(self, everybody: int) -> CarrierFinding:
        """As the document has it."""
        columns, value = self.together or ((), 0.0)
        return CarrierFinding(
            finding=self.finding.id,
            title=f"{title_of(self.finding)} ({str(self.finding.reader).replace('_', ' ')})",
            measure=self.finding.measure,
            statistic=self.finding.statistic,
            limit=self.limit,
            bound=self.bound,
            people=self.people,
            everybody=everybody,
            together=columns,
            without_both=value,
        )

    def beside(self, row: CarrierRow) -> CarrierRow:
        """The row, with the finding of the release changed so."""
        value = {
            "as it is": self.value if not row.column else None,
            "without": self.without.get(row.column),
            "one level coarser": self.coarser.get(row.column),
        }[row.change]
        if value is None:
            return row
        return row.model_copy(update={"found": {**row.found, str(self.finding.attribute): value}})


def asked_again(case: Case, name: str, found: Answers, findings: Sequence[Finding]) -> Changed | None:
    """The worst exceeded finding about an attribute, of releases with one column changed; None where that takes long.

    Only readers who believe something exact are asked: a difference between chains is not a finding.
    """
    release, index = found.release, found.targets.asked
    if (
        release.perturbed
        or found.truth is None
        or not found.learner.exact
        or case.readers.joined
        or release.rows > MOST_ROWS
    ):
        return None
    known = [i for i in release.with_role(Role.QUASI_IDENTIFIER) if i != index]
    if len(release.blocks) != 1 or not known:
        return None
    if len(known) > MOST_COLUMNS:
        shown = {i: len(np.unique(release.blocks[0].region(i))) for i in known}
        known = sorted(sorted(known, key=lambda i: -shown[i])[:MOST_COLUMNS])
    # Those with a model of their own are not: a minute each, thirty times.
    quick = [n for n, one in case.readers.attackers.items() if n in found.attackers and not hasattr(one, "left_out")]
    exact = {"learner": found.learner, **{n: found.attackers[n] for n in quick}}
    chosen = _worst(name, found, exact, findings)
    if chosen is None:
        return None
    finding, limit, bound = chosen
    measure = next(
        (m for m in measures_of(found.attribute, [finding.name], found.held) if m.name == finding.name), None
    )
    if measure is None:
        return None
    people, truth = found.targets, np.asarray(found.truth)
    if people.count > MOST_PEOPLE:
        draw = case.engine.named("asked again").generator()
        some = np.sort(draw.choice(people.count, MOST_PEOPLE, replace=False))
        people, truth = people.take(some), truth[some]
    engine = replace(case.readers.engine, progress=None, checkpoints=None)
    reader = str(finding.reader)
    attackers = {} if reader == "learner" else {reader: case.readers.attackers[reader]}
    attackers = {n: one.plain() if hasattr(one, "plain") else one for n, one in attackers.items()}  # no intervals

    def value(version: Release) -> float:
        if case.engine.stop.is_set():
            raise Stopped("stopped")
        prior = case.readers.prior_of(version, index)
        told = run_attack(
            version, people, attackers, prior=prior, engine=engine, chains=case.readers.chains, lenient=True
        )
        belief = told.attackers[reader] if attackers else told.learner
        estimate = measure_of(measure, People(belief, told.learner, truth), None)
        if estimate is None:
            raise NotApplicable("not known")
        return float(estimate.value)

    try:
        return _changed(release, known, value, Changed(finding, limit, bound, people.count, 0.0, {}, {}, None))
    except (NotApplicable, Stopped, UsageError, KeyError):
        return None


def _changed(release: Release, known: Sequence[int], value: Callable[[Release], float], blank: Changed) -> Changed:
    names = {i: release.attributes[i].name for i in known}
    without = {names[i]: value(_without(release, [i])) for i in known}
    coarser = {names[i]: value(made) for i in known if (made := _coarser(release, i)) is not None}
    together = None
    if min(without.values()) > blank.bound and len(known) > 2:
        first = min(known, key=lambda i: without[names[i]])
        rest = {i: value(_without(release, [first, i])) for i in known if i != first}
        second = min(rest, key=lambda i: rest[i])
        together = ((names[first], names[second]), rest[second])
    return replace(blank, value=value(release), without=without, coarser=coarser, together=together)


def _worst(
    name: str, found: Answers, exact: Mapping[str, Belief], findings: Sequence[Finding]
) -> tuple[Finding, str, float] | None:
    """The exceeded finding furthest beyond an upper limit of its own, of a reader who believes something exact."""
    best: tuple[float, Finding, str, float] | None = None
    for f in findings:
        mine = f.release == name and f.attribute == found.attribute.name and f.verdict == "exceeded"
        belief = exact.get(f.reader or "")
        if not mine or f.minus is not None or belief is None or not (belief.exact or belief.diagnostics.refits):
            continue
        for text in (f.limit or "").split("; "):
            limit = parse_limit(text)
            if isinstance(f.value, float) and f.value > limit.number and "<=" in text:
                excess = (f.value - limit.number) / (limit.number + 0.01)
                surer = (
                    best is not None
                    and excess == best[0]
                    and (f.reader, f.measure) == (best[1].reader, best[1].measure)
                )
                if best is None or excess > best[0] or surer:
                    best = excess, f, text, limit.number
    return None if best is None else best[1:]


def _without(release: Release, columns: Sequence[int]) -> Release:
    regions = list(release.regions)
    for index in columns:
        regions[index] = Regions.sets(release.attributes[index].codes, [np.arange(release.attributes[index].codes)])
    return _rebuilt(release, regions, {i: np.zeros(len(release.regions[i]), dtype=np.int64) for i in columns})


def _coarser(release: Release, index: int) -> Release | None:
    found = wider(release.attributes[index], release.regions[index])
    if found is None:
        return None
    members, number = found
    regions = list(release.regions)
    regions[index] = Regions.sets(release.attributes[index].codes, members)
    return _rebuilt(release, regions, {index: number})


def _rebuilt(release: Release, regions: Sequence[Regions], number: Mapping[int, np.ndarray]) -> Release:
    parts = []
    for block in release.blocks:
        cells = tuple(
            number[i][block.region(i)] if i in number else block.region(i).astype(np.int64) for i in block.attributes
        )
        parts.append(BlockRows(block.attributes, block.group, cells, block.count))
    return build_release(release.attributes, regions, parts)[0]

"""Readers asked again with a column changed: what an exceeded finding would be without it, or with it coarser.

Where the learner is exact they read the changed release. Where links are hidden or cells overlap they read the release
itself, once and without chains, and are asked about people of whom they do not know the column, or know it coarser.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unveil.attackers.posterior.contract import Posterior
from unveil.attackers.posterior.settled import settled_posterior
from unveil.audit.asking import Answers
from unveil.audit.attack import run_attacks
from unveil.audit.belief_measures import measures_of
from unveil.audit.carriers import CarrierFinding, CarrierRow, wider
from unveil.audit.case import Case
from unveil.audit.document import Finding
from unveil.audit.findings import measure_of
from unveil.audit.limits import parse_limit
from unveil.audit.measures import title_of
from unveil.audit.people import People
from unveil.data.attribute import Role
from unveil.data.belief import Belief, Known, Targets
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
    unknown: bool = False  # the release stays as it is, and the readers do not know the column
    scheme: str = ""  # what made it, where that can be said

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
            unknown=self.unknown,
            scheme=self.scheme,
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

    Only readers whose beliefs have no Monte-Carlo error are asked: a difference between chains is not a finding.
    """
    release, index = found.release, found.targets.asked
    if release.perturbed or found.truth is None or case.readers.joined or release.rows > MOST_ROWS:
        return None
    known = [i for i in release.with_role(Role.QUASI_IDENTIFIER) if i != index]
    if not known:
        return None
    unknown = len(release.blocks) != 1 or not found.learner.exact
    if len(known) > MOST_COLUMNS:
        shown = {i: len(np.unique(release.block_of(i).region(i))) for i in known}
        known = sorted(sorted(known, key=lambda i: -shown[i])[:MOST_COLUMNS])
    # Those with a model of their own are not: a minute each, thirty times.
    quick = [n for n, one in case.readers.attackers.items() if n in found.attackers and not hasattr(one, "left_out")]
    exact = {"learner": found.learner, **{n: found.attackers[n] for n in quick}}
    chosen = _worst(name, found, exact, findings, settled=unknown)
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

    prior = case.readers.prior_of(release, index)
    settled = settled_posterior if unknown else None
    learned: Posterior | None = None

    def believed(version: Release, targets: Targets) -> float:
        nonlocal learned
        if settled is not None and learned is None:
            learned = settled(version, index, prior, engine)
        if case.engine.stop.is_set():  # what is learned may not be all of it
            raise Stopped("stopped")
        told = run_attacks(
            version,
            [targets],
            attackers,
            learned=learned,
            prior=case.readers.prior_of(version, index),
            engine=engine,
            chains=case.readers.chains,
            lenient=True,
        )[0]
        estimate = measure_of(
            measure, People(told.attackers[reader] if attackers else told.learner, told.learner, truth), None
        )
        if estimate is None:
            raise NotApplicable("not known")
        return float(estimate.value)

    def without(columns: Sequence[int]) -> float:
        if not unknown:
            return believed(_without(release, columns), people)
        return believed(release, replace(people, known={i: k for i, k in people.known.items() if i not in columns}))

    def coarser(column: int) -> float | None:
        if not unknown:
            made = _coarser(release, column)
            return None if made is None else believed(made, people)
        above = None if column not in people.known else _known_coarser(release, column, people.known[column])
        return None if above is None else believed(release, replace(people, known={**people.known, column: above}))

    try:
        value = believed(release, people)
        if unknown and value <= bound:  # without chains it is not what was found
            return None
        blank = Changed(finding, limit, bound, people.count, value, {}, {}, None, unknown, _scheme(release, index))
        return _changed(release, known, without, coarser, blank)
    except (NotApplicable, Stopped, UsageError, KeyError):
        return None


def _changed(
    release: Release,
    known: Sequence[int],
    value_without: Callable[[Sequence[int]], float],
    value_coarser: Callable[[int], float | None],
    blank: Changed,
) -> Changed:
    names = {i: release.attributes[i].name for i in known}
    without = {names[i]: value_without([i]) for i in known}
    coarser = {names[i]: value for i in known if (value := value_coarser(i)) is not None}
    together = None
    if min(without.values()) > blank.bound and len(known) > 2:
        first = min(known, key=lambda i: without[names[i]])
        rest = {i: value_without([first, i]) for i in known if i != first}
        second = min(rest, key=lambda i: rest[i])
        together = ((names[first], names[second]), rest[second])
    return replace(blank, without=without, coarser=coarser, together=together)


def _scheme(release: Release, asked: int) -> str:
    """Anatomy, where every other column is published exactly beside groups of values."""
    apart = [b for b in release.blocks if asked in b.attributes]
    exact = all((release.regions[i].sizes == 1).all() for i in range(len(release.attributes)))
    anatomy = len(release.blocks) == 2 and apart[0].attributes == (asked,) and exact
    return f"anatomy:l={int(release.sizes.min())}" if anatomy else ""


def _worst(
    name: str, found: Answers, exact: Mapping[str, Belief], findings: Sequence[Finding], *, settled: bool
) -> tuple[Finding, str, float] | None:
    """The exceeded finding furthest beyond an upper limit of its own, of a reader who believes something exact.

    `settled`: or can be asked without chains, as all of these can.
    """
    best: tuple[float, Finding, str, float] | None = None
    for f in findings:
        mine = f.release == name and f.attribute == found.attribute.name and f.verdict == "exceeded"
        belief = exact.get(f.reader or "")
        if not mine or f.minus is not None or belief is None:
            continue
        if not (settled or belief.exact or belief.diagnostics.refits):
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


def _known_coarser(release: Release, index: int, known: Known) -> Known | None:
    found = None if known.likelihood is not None else wider(release.attributes[index], known.regions)
    if found is None:
        return None
    members, number = found
    return Known(Regions.sets(release.attributes[index].codes, members), number[known.of_target], known.wrong)


def _rebuilt(release: Release, regions: Sequence[Regions], number: Mapping[int, np.ndarray]) -> Release:
    parts = []
    for block in release.blocks:
        cells = tuple(
            number[i][block.region(i)] if i in number else block.region(i).astype(np.int64) for i in block.attributes
        )
        parts.append(BlockRows(block.attributes, block.group, cells, block.count))
    return build_release(release.attributes, regions, parts)[0]

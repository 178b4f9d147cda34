"""run_frontier: a table and schemes in, one Frontier out."""

import math
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import hypot
from pathlib import Path

from unveil.attackers.posterior.convergence import Chains
from unveil.audit.diagnosis import describe_audit_run
from unveil.audit.document import Document, Input, Verdict
from unveil.audit.limits import parse_limit
from unveil.audit.measures import parse_ids
from unveil.audit.result import Documented
from unveil.data.attribute import Role
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.engine import Engine, open_checkpoint, save_checkpoint
from unveil.errors import UsageError, shown
from unveil.frontier._saved import SavedCandidates
from unveil.frontier.choose import Choice, choose, judge, scaled, undominated
from unveil.frontier.document import Sweep, document_of
from unveil.frontier.measure import Measurer, make
from unveil.frontier.points import Axes, Point
from unveil.frontier.schemes import Candidate, Scheme, between, default_schemes, distinct, moved, parse_scheme
from unveil.frontier.sources import Beliefs, Questions, ReaderSettings, Yardstick, source_of

__all__ = ["Frontier", "gaps", "run_frontier"]

AT_ONCE = 4  # candidates of one round of refinement: the same for any number of workers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frontier(Documented):
    """What a sweep found. `document` is all that a report needs."""

    document: Document
    points: tuple[Point, ...]  # the trivial ones, the grid, what refinement added
    line: tuple[Point, ...]  # the undominated, by growing risk
    choice: Choice
    table: Table
    release_seed: int

    @property
    def exit_code(self) -> int:
        """0: a release is recommended; 1: none keeps the limits; 3: inconclusive, stopped, or no limit was stated."""
        return self.choice.exit_code

    def anonymized(self, point: Point) -> Anonymized:
        """The release of a point, made again: the very one that was measured."""
        if point.candidate is None:
            raise UsageError(f"{point.name} is not a release to publish; choose a point of a scheme")
        return make(point.candidate, self.table, self.release_seed)


def run_frontier(
    table: Table,
    schemes: Sequence[str | Scheme | Candidate] = (),
    *,
    require: Sequence[str] = (),
    risks: Sequence[str] = (),
    utilities: Sequence[str] = (),
    limits: Sequence[str] = (),
    budget: int | None = None,
    minutes: float | None = None,
    questions: Questions | None = None,
    reading: ReaderSettings | None = None,
    engine: Engine | None = None,
    release_seed: int | None = None,
    inputs: Sequence[Input] = (),
) -> Frontier:
    """Make and measure every candidate of the schemes, refine where it pays, and recommend.

    The first of `risks` and of `utilities` are the two scales by which points dominate each other. `budget`: releases
    to make in all, `minutes`: for how long; with one of them parameters between the given ones are tried, too.
    `release_seed`: of the anonymizers' draws, never written down; from the operating system if not given.
    """
    started = time.monotonic()
    engine = Engine(seed=0) if engine is None else engine
    reading = ReaderSettings() if reading is None else reading
    questions = Questions() if questions is None else questions
    attackers = tuple(reading.attackers)
    risks = tuple(risks) or _default_risks(table)
    utilities = tuple(utilities) or _default_utilities(table)
    ids = _checked_ids(risks, utilities, limits, attackers)
    if minutes is not None and not minutes > 0:
        raise UsageError(f"{minutes:g} minutes leave no time; give more than 0")
    grid, refinable = _candidates(table, schemes, require)
    if budget is not None and budget < len(grid):
        raise UsageError(
            f"the schemes alone stand for {len(grid)} releases, more than the budget of {budget}; raise it"
        )
    axes = Axes(risks[0], utilities[0], attackers)
    seed = _drawn_seed(engine) if release_seed is None else release_seed
    inner = max(1, engine.workers // max(min(engine.workers, len(grid)), 1))
    precise = bool(limits) or reading.chains.precision != Chains().precision
    shared = Yardstick(table, questions, reading, replace(engine, workers=inner, progress=None), precise)
    shared.prepare(ids)
    what = (ids, questions, sorted((n, repr(a)) for n, a in reading.attackers.items()), reading.known, reading.joined)
    saved = SavedCandidates.of(engine, table, what, reading.chains, reading.sample, engine.seed, seed)
    measurer = Measurer(table, ids, shared, seed, engine.workers, saved)
    if minutes is not None:
        measurer.ends = started + 60 * minutes
    total = max(len(grid), budget or 0)
    engine = engine.part()
    engine.report("frontier", 0, total)
    points = [*measurer.trivial(), *measurer.points(grid, lambda done: engine.report("frontier", done, total))]
    complete = len(points) == len(grid) + 2
    verdicts: dict[str, Verdict] = {p.name: judge(p, limits, attackers) for p in points}
    while complete and not engine.stop.is_set() and (budget is not None or minutes is not None):
        left = math.inf if budget is None else budget - (len(points) - 2)
        found = gaps(points, undominated(points, axes), axes, verdicts, refinable)
        batch = [gap.middle for gap in found[: int(min(left, AT_ONCE))]]
        made = measurer.points(batch, lambda done: None) if batch else []
        if not made:
            break
        points += [replace(p, refined=True) for p in made]
        verdicts |= {p.name: judge(p, limits, attackers) for p in made}
        engine.report("frontier", min(len(points) - 2, total), total)
    line = undominated(points, axes)
    choice = choose(points, line, axes, verdicts, limits=limits, complete=complete and not engine.stop.is_set())
    if not engine.stop.is_set():
        for point in points:
            saved.remove(point.name)
        _seed_file(engine).unlink(missing_ok=True)
    sweep = Sweep(
        table=table,
        schemes=tuple(s if isinstance(s, str) else s.text if isinstance(s, Scheme) else s.name for s in schemes)
        or tuple(default_schemes(table)),
        require=tuple(require),
        risks=risks,
        utilities=utilities,
        limits=tuple(limits),
        budget=budget,
        minutes=minutes,
        questions=questions,
        reading=reading,
        seed=None if engine.seed == seed else engine.stated_seed,  # never that of a release
        axes=axes,
        asks_readers=any(isinstance(source_of(parse_ids(id)[0]), Beliefs) for id in ids),
    )
    document = document_of(sweep, points, line, choice, verdicts, tuple(inputs), describe_audit_run(started))
    return Frontier(document, tuple(points), tuple(line), choice, table, seed)


def _candidates(
    table: Table, schemes: Sequence[str | Scheme | Candidate], require: Sequence[str]
) -> tuple[list[Candidate], dict[str, Scheme]]:
    """Every candidate once, and the schemes that can be refined, by name."""
    found: list[Candidate] = []
    refinable: dict[str, Scheme] = {}
    for item in schemes or default_schemes(table):
        if isinstance(item, Candidate):
            found.append(item)
            continue
        scheme = parse_scheme(item, require) if isinstance(item, str) else item
        refinable[scheme.text] = scheme
        found += scheme.candidates()
    return distinct(found), refinable


def _default_risks(table: Table) -> tuple[str, ...]:
    if table.with_role(Role.SENSITIVE):
        return ("global_threat", "relative_threat.max")  # what attackers who learn guess, not what groups count
    return ("prosecutor_risk.max",)


def _default_utilities(table: Table) -> tuple[str, ...]:
    if table.with_role(Role.SENSITIVE) and table.with_role(Role.QUASI_IDENTIFIER):
        return ("utility_loss", "query_error", "certainty_penalty")
    return ("certainty_penalty", "discernibility")


def _checked_ids(
    risks: Sequence[str], utilities: Sequence[str], limits: Sequence[str], attackers: Sequence[str]
) -> tuple[str, ...]:
    """Every id to measure, once; refused before the work if nothing measures it."""
    asked: list[str] = []
    for id in (*risks, *utilities):
        parts = parse_ids(id)
        sources = [source_of(part) for part in parts]
        if len(parts) > 1 and not all(isinstance(source, Beliefs) for source in sources):
            raise UsageError(
                f"{shown(id)}: a difference is of two things that readers believe, such as "
                "global_threat - learner.global_threat"
            )
        asked.append(" - ".join(part.id for part in parts))
    for text in limits:
        for part in parse_limit(text).parts:
            source_of(part)
            asked.append(part.id)
    return tuple(dict.fromkeys(asked))


def _drawn_seed(engine: Engine) -> int:
    """From the operating system; a run with checkpoints keeps it among them until it is done."""
    seed = secrets.randbits(128)
    if engine.checkpoints is None:
        return seed
    with open_checkpoint(_seed_file(engine)) as file:
        if file is not None:
            return int(file.read())
    save_checkpoint(_seed_file(engine), lambda file: file.write(str(seed).encode()))
    return seed


def _seed_file(engine: Engine) -> Path:
    return (engine.checkpoints or Path()) / "release.seed"


SMALL = 0.01  # of the frontier's extent: two points this near have nothing between them worth making
UNKNOWN = 0.5  # the size of a gap with one end that could not be made


@dataclass(frozen=True, slots=True)
class Gap:
    """Two neighbours along one parameter, and the candidate between them."""

    low: str
    high: str
    middle: Candidate
    size: float  # in the plane of the two scales, each 0-1
    crosses: bool  # a limit is kept on one side only


def gaps(
    points: Sequence[Point],
    line: Sequence[Point],
    axes: Axes,
    verdicts: Mapping[str, Verdict],
    schemes: Mapping[str, Scheme],
) -> list[Gap]:
    """Neighbours of which one at least is undominated, or of which one only keeps the limits: largest gap first."""
    places = scaled([p for p in points if p.reliable], axes)
    efficient = {p.name for p in line}
    tried = {p.name for p in points}
    found: dict[str, Gap] = {}
    for row, axis in _lines(points, schemes):
        for one, other in pairwise(row):
            kept = [verdicts.get(p.name) == "within" for p in (one, other)]
            crosses = kept[0] != kept[1]
            feasible = [p for p in (one, other) if p.status in ("measured", "unsure")]
            if not feasible or not (crosses or {one.name, other.name} & efficient):
                continue
            assert one.candidate is not None
            assert other.candidate is not None
            value = between(one.candidate.values[axis], other.candidate.values[axis])
            if value is None:
                continue
            middle = moved(one.candidate, axis, value, schemes)
            size = _size(one, other, places)
            if middle.name in tried or (size < SMALL and not crosses):
                continue
            gap = Gap(one.name, other.name, middle, size, crosses)
            if middle.name not in found or found[middle.name].size < size:
                found[middle.name] = gap
    return sorted(found.values(), key=lambda gap: (not gap.crosses, -gap.size, gap.middle.name))


def _size(one: Point, other: Point, places: Mapping[str, tuple[float, float]]) -> float:
    if one.name not in places or other.name not in places:
        return UNKNOWN
    (a, b), (c, d) = places[one.name], places[other.name]
    return hypot(a - c, b - d)


def _lines(points: Sequence[Point], schemes: Mapping[str, Scheme]) -> list[tuple[list[Point], int]]:
    """Points that differ in one numeric parameter, in its order; and which parameter that is."""
    rows: dict[tuple[str, int, tuple[str, ...]], list[Point]] = {}
    for point in points:
        candidate = point.candidate
        if candidate is None or candidate.scheme not in schemes:
            continue
        for axis in range(len(candidate.axes)):
            if _is_number(candidate.values[axis]):
                rest = candidate.values[:axis] + candidate.values[axis + 1 :]
                rows.setdefault((candidate.scheme, axis, rest), []).append(point)
    found = []
    for (_, axis, _), row in rows.items():
        found.append((sorted(row, key=lambda p: _position(p, axis)), axis))
    return found


def _position(point: Point, axis: int) -> float:
    assert point.candidate is not None
    return float(point.candidate.values[axis])


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False

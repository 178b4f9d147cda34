"""The most useful recoding of a table that keeps limits against its readers, and its certificate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unveil import utility
from unveil.anonymizers.mondrian import Mondrian
from unveil.audit.bounds import Rule, rules_of
from unveil.audit.certificate import ReleaseCertificate, certify
from unveil.data.attribute import Role
from unveil.data.display import Display, Summary
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import LimitError, NotApplicable, RequirementError, Stopped, UsageError, shown
from unveil.frontier.bounded.mechanism import MechanismReplay, replay_mechanism
from unveil.frontier.bounded.readers import SearchReaders, Verdicts
from unveil.frontier.bounded.search import Search
from unveil.frontier.bounded.tree import Antichain, CutTree
from unveil.privacy.models import (
    BetaLikeness,
    DeltaDisclosure,
    DistinctL,
    EnhancedBetaLikeness,
    EntropyL,
    KAnonymity,
    PrivacyModel,
    TCloseness,
)

__all__ = ["UTILITIES", "Bounded", "bounded_release"]

UTILITIES = ("certainty_penalty", "query_error", "utility_loss", "discernibility")
SIZES = (2, 3, 5, 8, 12, 20, 30, 50, 75, 100, 150, 200, 300, 500, 700, 1000, 1500, 2500)
MANY = 200_000  # rows: of larger tables fewer releases are tried
BEST, NEAR = 2, 6  # starts within the limits, and beyond, that are searched from
REPAIRS = 6  # rounds in which readers outside the loop are heard
SMALLEST = 2  # rows of a group
REACHABLE = 1.25  # random worlds is heard if that costs the best start at most so much


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bounded(Display):
    """A release, what it keeps, and how it was found."""

    made: Anonymized
    certificate: ReleaseCertificate
    stated: tuple[str, ...]  # limits, with one that was added if only maxima were given
    limits: tuple[str, ...]  # the same as an audit takes them: of the readers that keep them
    suppressed: int  # rows
    lost: float  # the utility that was asked for
    searched: int  # releases that were looked at
    mechanism: MechanismReplay  # what a reader gains who knows all this

    def summary(self) -> Summary:
        lines = [(r.limit, r.reader, f"{r.far_end:.3g}", r.kept) for r in self.certificate.rows]
        title = f"Bounded: {self.made.release.rows:,} rows, {self.suppressed:,} suppressed"
        return title, ("limit", "reader", "at most", "kept"), lines

    def to_dict(self) -> dict[str, Any]:
        """The certificate as a document: nothing in it lets a reader replay what was drawn."""
        found = {
            "stated": list(self.stated),
            "limits": list(self.limits),
            "suppressed_rows": self.suppressed,
            **self.certificate.to_dict(),
        }
        return {**found, "mechanism": self.mechanism.to_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    search: Search
    state: Antichain
    lost: float


@dataclass(frozen=True, slots=True, eq=False)
class _Start(_Attempt):
    judged: Verdicts

    def distance(self) -> float:
        """How far it is from keeping the limits: the share of people who are counted beyond them."""
        return float(np.maximum(self.judged.counted - self.judged.most, 0.0).sum())


def bounded_release(
    table: Table,
    method: Any,
    until: Sequence[str],
    engine: Engine,
    *,
    suppress: float = 0.0,
    measure: str = "certainty_penalty",
) -> Bounded:
    """Search from several releases of Mondrian, certify, and go on as long as readers outside the loop object.

    LimitError: nothing but one group of everybody keeps the limits. Cost: some hundred checks, each a pass over the
    kinds of people and the levels of the tree.
    """
    if not isinstance(method, Mondrian) or method.relaxed or method.regions != "tight":
        raise NotApplicable("--until searches among the cuts of mondrian, strict and with tight regions; use that")
    if measure not in UTILITIES:
        raise UsageError(f"--utility {shown(measure)}: choose from {', '.join(UTILITIES)}")
    if not 0 <= suppress < 1:
        raise UsageError(f"--suppress {suppress:g}: give a share of the rows from 0 to below 1")
    for model in method.require:
        if {"supersets", "members", "population"} & set(model.needs):
            raise NotApplicable(f"{model.name} cannot be required beside --until: it asks for more than a group's rows")
    asked, known = table.with_role(Role.SENSITIVE), table.with_role(Role.QUASI_IDENTIFIER)
    if not asked or not known:
        raise UsageError("--until needs a sensitive attribute and a quasi-identifier; give columns these roles")
    table.check_texts()
    rules = rules_of(until)
    job = _Job(table, method, tuple(asked), rules, engine.part(), suppress, measure)
    engine.report("searching", 0, 1)
    found = job.search()
    if engine.stop.is_set():
        raise Stopped("stopped; no release was written")
    best = job.certified(found)
    engine.report("searching", 1, 1)
    return best


@dataclass(slots=True, eq=False)
class _Job:
    table: Table
    method: Mondrian
    asked: tuple[int, ...]
    rules: list[Rule]
    engine: Engine
    suppress: float
    measure: str
    worlds: bool = False
    searched: int = 0

    def search(self) -> list[_Attempt]:
        """The best releases of the most promising trees, and every start within the limits; the most useful first."""
        starts = list(self._starts())
        free, heard = (self._judged(starts, worlds=worlds) for worlds in (False, True))
        kept, kept_by_all = ([c for c in some if c.judged.kept] for some in (free, heard))
        named = any(rule.reader == "random_worlds" for rule in self.rules)
        self.worlds = named or _least(kept_by_all) <= REACHABLE * _least(kept) < np.inf
        some, kept = (heard, kept_by_all) if self.worlds else (free, kept)
        bound = _least(kept)
        # Nearly within the limits, and more useful than what is: worth repairing.
        near = sorted((c for c in some if not c.judged.kept and c.lost < bound), key=_Start.distance)
        found: list[_Attempt] = [*kept]
        for start in (*sorted(kept, key=_lost)[:BEST], *near[:NEAR]):
            if self.engine.stop.is_set():
                break
            found += [self._candidate(one, state) for one, state in self._searched(start)]
        if not found:
            raise LimitError(self._nearest(min(some, key=_Start.distance, default=None)))
        return sorted(found, key=_lost)

    def _searched(self, start: "_Start") -> Iterator[tuple[Search, Antichain]]:
        """From one start: without suppression, and where some is allowed with it, from what was found before."""
        tree, panel, state = start.search.tree, start.search.panel, start.state
        for share in dict.fromkeys((0.0, self.suppress)):
            one = Search(tree, panel, share, self.engine)
            found = one.run([state])
            self.searched += one.checks
            if found is not None and len(found.kept) > 1:
                state = found
                yield one, found

    def _starts(self) -> Iterator[tuple[CutTree, Antichain]]:
        """Mondrian's own releases under the models that a sweep would try, each with its tree."""
        smallest = max(SMALLEST, *(m.smallest for m in self.method.require)) if self.method.require else SMALLEST
        smallest = min(smallest, self.table.rows)
        models = _first_models(self.table, self.asked)
        for model in models[:: 1 + self.table.rows // MANY]:
            try:
                tree = CutTree.grow(
                    self.method, self.table, self.engine, smallest=smallest, first=(*self.method.require, model)
                )
            except RequirementError:
                continue
            if len(tree.own) > 1:
                yield tree, Antichain.of(tree.own)

    def _judged(self, starts: Sequence[tuple[CutTree, Antichain]], *, worlds: bool) -> list["_Start"]:
        """What the readers of the loop say of each start as it is."""
        found = []
        for tree, state in starts:
            one = Search(tree, SearchReaders(tree, self.asked, self.rules, worlds=worlds), 0.0, self.engine)
            tried = self._candidate(one, state)
            found.append(_Start(one, state, tried.lost, one.check(state, state)))
            self.searched += 1
        return found

    def _candidate(self, search: Search, state: Antichain) -> _Attempt:
        if self.measure == "certainty_penalty":
            return _Attempt(search, state, search.loss(state))
        return _Attempt(search, state, self._lost(search.tree.release(state)))

    def _lost(self, made: Anonymized) -> float:
        release = made.release
        if self.measure == "certainty_penalty":
            return float(utility.certainty_penalty(release).value)
        if self.measure == "discernibility":
            return float(utility.discernibility(release).value)
        if self.measure == "query_error":
            return float(utility.query_error(release, self.table).value)
        names = [self.table.attributes[i].name for i in self.asked]
        return max(float(utility.utility_loss(release, self.table, attribute=name).value) for name in names)

    def certified(self, found: Sequence[_Attempt]) -> Bounded:
        """The first that readers outside the loop do not object to; else the one they object to least."""
        best: Bounded | None = None
        for candidate in found[:3]:
            one = self._repaired(candidate)
            if best is None or _objections(one) < _objections(best):
                best = one
            if one.certificate.kept:
                break
        assert best is not None
        return best

    def _repaired(self, candidate: _Attempt) -> Bounded:
        """Certify; ban whoever is exposed to a reader, search on from there, certify again."""
        search, state = candidate.search, candidate.state
        best = self._bounded(search, state)
        for _ in range(REPAIRS):
            if best.certificate.kept or self.engine.stop.is_set():
                break
            leaf = np.unique(search.tree.partition.group[best.certificate.exposed]).astype(np.int64)
            search.ban(state, leaf)
            for number in best.certificate.crowded:
                rule = search.panel.rules[number]
                search.panel.rules[number] = replace(rule, most=rule.most * 0.7)
            again = search.down(state)
            if again is None or len(again.kept) < 2:
                break
            state = again
            tried = self._bounded(search, state)
            if _objections(tried) <= _objections(best):
                best = tried
        return best

    def _bounded(self, search: Search, state: Antichain) -> Bounded:
        made = search.tree.release(state)
        certificate = certify(self.table, made.release, self.asked, self.rules, self.engine, worlds=self.worlds)
        gone = int(search.tree.size[state.gone].sum())
        limits = tuple(text for rule in self.rules for text in rule.stated(worlds=self.worlds))
        stated = tuple(rule.limit.text for rule in self.rules)
        mechanism = replay_mechanism(search.tree, search.panel, state, self.engine)
        return Bounded(made, certificate, stated, limits, gone, self._lost(made), self.searched, mechanism)

    def _nearest(self, start: "_Start | None") -> str:
        """What could be kept instead, by the start that comes closest."""
        hint = ""
        if start is not None:
            made = start.search.tree.release(start.state)
            found = certify(self.table, made.release, self.asked, self.rules, self.engine, worlds=False, held_out=False)
            reached: dict[str, float] = {}
            for row in found.rows:
                reached[row.limit] = max(reached.get(row.limit, 0.0), row.far_end)
            said = ", ".join(f"{text.partition(' ')[0]} <= {value:.3g}" for text, value in reached.items())
            hint = f"; nearest to it is {said}"
        return f"only one group of everybody keeps these limits{hint}; nothing was written"


def _lost(candidate: _Attempt) -> float:
    return candidate.lost


def _least(candidates: Sequence[_Attempt]) -> float:
    return min((c.lost for c in candidates), default=float("inf"))


def _objections(one: Bounded) -> tuple[int, float, float]:
    """How many rows are far beyond, by how much one is beyond at worst, and what is lost: a release that every reader
    keeps within the limits comes before a more useful one that some do not."""
    beyond = [row.far_end / max(row.bound, 1e-9) for row in one.certificate.rows if not row.kept]
    return len(one.certificate.far_beyond), max(beyond, default=0.0), one.lost


def _first_models(table: Table, asked: Sequence[int]) -> list[PrivacyModel]:
    """What the upper cuts of each tree keep: a sweep of the schemes that people publish by."""
    values = min(len(np.unique(table.columns[i])) for i in asked)
    found: list[PrivacyModel] = [KAnonymity(k=k) for k in SIZES if k <= table.rows / 4]
    found += [DistinctL(l=l) for l in (3, 4, 5, 6, 8, 10, 12) if l < values]
    found += [EntropyL(l=l) for l in (3.0, 4.0, 6.0, 8.0) if l < values]
    found += [TCloseness(t=t) for t in (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)]
    found += [TCloseness(t=t, distance="js") for t in (0.05, 0.1, 0.15, 0.2, 0.3)]
    found += [like(beta=b) for like in (BetaLikeness, EnhancedBetaLikeness) for b in (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)]
    return found + [DeltaDisclosure(delta=d) for d in (0.7, 1.0, 1.4, 2.0)]

"""The most useful recoding of a table that keeps limits against its readers, and its certificate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unveil import utility
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.attribute import Role
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import LimitError, NotApplicable, Stopped, UsageError, shown
from unveil.audit.certificate import ReleaseCertificate, certify
from unveil.frontier.bounded.readers import SearchReaders
from unveil.audit.bounds import Rule, rules_of
from unveil.frontier.bounded.search import Search
from unveil.frontier.bounded.tree import Antichain, CutTree
from unveil.privacy.models import DistinctL, PrivacyModel, TCloseness

__all__ = ["UTILITIES", "Bounded", "bounded_release"]

UTILITIES = ("certainty_penalty", "query_error", "utility_loss", "discernibility")
SIZES = (2, 5, 10, 20, 40, 80, 160, 320, 640)  # Mondrian's own releases that the search starts from
REPAIRS = 6  # rounds in which readers outside the loop are heard
SMALLEST = 2  # rows of a group
REACHABLE = 1.25  # random worlds is heard if that costs the best start at most so much


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A release, what it keeps, and how it was found."""

    made: Anonymized
    certificate: ReleaseCertificate
    limits: tuple[str, ...]  # with one that was added, if only maxima were stated
    suppressed: int  # rows
    lost: float  # the utility that was asked for
    searched: int  # releases that were looked at

    def to_dict(self) -> dict[str, Any]:
        """The certificate as a document: nothing in it lets a reader replay what was drawn."""
        found = {"limits": list(self.limits), "suppressed_rows": self.suppressed, **self.certificate.to_dict()}
        found["mechanism"] = (
            "Cuts were undone because of what readers would have learned; a reader who knows this can learn a little "
            "more than those above. That reader was not asked."
        )
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    search: Search
    state: Antichain
    lost: float


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
        """The best release of each tree, the most useful first."""
        smallest = max(SMALLEST, *(m.smallest for m in self.method.require)) if self.method.require else SMALLEST
        smallest = min(smallest, self.table.rows)
        plain = CutTree.grow(self.method, self.table, self.engine, smallest=smallest)
        starts = [(plain, [plain.at_least(k) for k in SIZES if k < plain.table.rows / 4])]
        for model in _first_models(self.table, self.asked):
            tree = CutTree.grow(self.method, self.table, self.engine, smallest=smallest, first=[model])
            starts.append((tree, [Antichain.of(tree.own)]))
        plain_starts = self._kept(starts, worlds=False)
        with_worlds = self._kept(starts, worlds=True)
        named = any(rule.reader == "random_worlds" for rule in self.rules)
        self.worlds = named or _least(with_worlds) <= REACHABLE * _least(plain_starts) < np.inf
        kept = with_worlds if self.worlds else plain_starts
        panels = [
            (tree, SearchReaders(tree, self.asked, self.rules, worlds=self.worlds), some) for tree, some in starts
        ]
        # Trees whose own release keeps the limits at the least cost are worth searching, and the plain one always is.
        order = sorted(range(1, len(panels)), key=lambda n: self._own_loss(*panels[n]))
        found = list(kept)
        for tree, panel, some in (panels[0], *(panels[n] for n in order[:2])):
            for share in {0.0, self.suppress}:
                one = Search(tree, panel, share, self.engine)
                state = one.run([*some, tree.root()])
                self.searched += one.checks
                if state is not None and len(state.kept) > 1:
                    found.append(self._candidate(one, state))
        if not found:
            raise LimitError(self._nearest(plain))
        return sorted(found, key=lambda c: c.lost)

    def _own_loss(self, tree: CutTree, panel: SearchReaders, some: Sequence[Antichain]) -> tuple[bool, float]:
        one = Search(tree, panel, 0.0, self.engine)
        return not one.check(some[0], some[0]).kept, one.loss(some[0])

    def _kept(self, starts: Sequence[tuple[CutTree, Sequence[Antichain]]], *, worlds: bool) -> list[_Attempt]:
        """The starts that keep the limits as they are, those of one group left out."""
        found = []
        for tree, some in starts:
            one = Search(tree, SearchReaders(tree, self.asked, self.rules, worlds=worlds), 0.0, self.engine)
            found += [self._candidate(one, s) for s in some if len(s.kept) > 1 and one.check(s, s).kept]
            self.searched += one.checks
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
        certificate = certify(self.table, made, self.asked, self.rules, self.engine, worlds=self.worlds)
        gone = int(search.tree.size[state.gone].sum())
        limits = tuple(rule.limit.text for rule in self.rules)
        return Bounded(made, certificate, limits, gone, self._lost(made), self.searched)

    def _nearest(self, tree: CutTree) -> str:
        """What could be kept instead, by the release of Mondrian that comes closest."""
        reached: dict[str, float] = {}
        for k in SIZES:
            state = tree.at_least(k)
            if len(state.kept) < 2:
                continue
            found = certify(self.table, tree.release(state), self.asked, self.rules, self.engine, worlds=False)
            worst: dict[str, float] = {}
            for row in found.rows:
                if row.in_loop:
                    worst[row.limit] = max(worst.get(row.limit, 0.0), row.far_end)
            if not reached or sum(worst[r.limit.text] / max(r.limit.number, 1e-9) for r in self.rules) < sum(
                reached[r.limit.text] / max(r.limit.number, 1e-9) for r in self.rules
            ):
                reached = worst
        said = ", ".join(f"{text.partition(' ')[0]} <= {value:.3g}" for text, value in reached.items())
        hint = f"; nearest to it is {said}" if said else ""
        return f"only one group of everybody keeps these limits{hint}; nothing was written"


def _least(candidates: Sequence[_Attempt]) -> float:
    return min((c.lost for c in candidates), default=float("inf"))


def _objections(one: Bounded) -> tuple[int, float, float]:
    """How many rows are far beyond, by how much at worst, and what is lost."""
    far = one.certificate.far_beyond
    worst = max((row.far_end / max(row.bound, 1e-9) for row in one.certificate.rows if not row.kept), default=0.0)
    return len(far), worst if far else 0.0, one.lost


def _first_models(table: Table, asked: Sequence[int]) -> list[PrivacyModel]:
    """What the upper cuts of other trees keep, as the frontier's schemes do."""
    values = min(len(np.unique(table.columns[i])) for i in asked)
    found: list[PrivacyModel] = [DistinctL(l=l) for l in (3, 5, 8, 12) if l < values]
    return found + [TCloseness(t=t, distance="js") for t in (0.05, 0.1, 0.2, 0.3)]

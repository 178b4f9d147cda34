"""The certificate: every limit held against the readers of the loop, and against others who were kept out of it.

A release that is fitted to some readers is on the blind side of these. So it is asked about by readers whom the search
never heard of: other pseudo-counts, attributes taken together, each quasi-identifier unknown in turn, and trees.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.bayesian import Bayesian
from unveil.attackers.boosted import Boosted
from unveil.attackers.posterior.joined import join
from unveil.attackers.posterior.settled import settled_posterior
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.attack import Attack, run_attack, run_attacks
from unveil.audit.belief_measures import measures_of
from unveil.audit.bounds import COUNTS, Rule
from unveil.audit.findings import largest
from unveil.audit.panel import dependent_pairs
from unveil.data.belief import Prior, Targets
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.kernels.bounded import judge_people

__all__ = ["CertificateRow", "ReleaseCertificate", "certify"]

HELD_OUT_COUNT = 0.3
TWICE = 2.0  # a reader who was kept out may be beyond a limit by this, and no more

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CertificateRow:
    """One limit against one reader, of one sensitive attribute."""

    limit: str
    attribute: str
    reader: str
    in_loop: bool
    value: float
    far_end: float  # of its interval
    bound: float

    @property
    def kept(self) -> bool:
        """With its whole interval."""
        return self.far_end <= self.bound

    @property
    def far_beyond(self) -> bool:
        """A reader of the loop beyond the limit, or another beyond twice of it."""
        return self.far_end > (self.bound if self.in_loop else TWICE * self.bound)


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseCertificate:
    """Who was asked, and how far each is from every limit."""

    rows: tuple[CertificateRow, ...]
    not_asked: dict[str, str]  # by reader: why
    exposed: NDArray[np.bool_]  # (rows of the table,) beyond a limit that nobody may be beyond, to some reader
    crowded: frozenset[int]  # rules about shares that some reader finds beyond

    @property
    def kept(self) -> bool:
        """No reader is beyond any limit."""
        return all(row.kept for row in self.rows)

    @property
    def far_beyond(self) -> list[CertificateRow]:
        """What must not be published."""
        return [row for row in self.rows if row.far_beyond]

    def to_dict(self) -> dict[str, Any]:
        """As a document holds it: no seeds, no people."""
        return {
            "readers": [{**asdict(row), "kept": row.kept} for row in self.rows],
            "not_asked": self.not_asked,
            "kept": self.kept,
        }


def certify(
    table: Table, release: Release, asked: Sequence[int], rules: Sequence[Rule], engine: Engine,
    *, worlds: bool, held_out: bool = True,
) -> ReleaseCertificate:  # fmt: skip
    """Ask every reader about everybody. Cost: an attack for each quasi-identifier and half a dozen more.

    `worlds`: ask random_worlds. `held_out`: ask those whom the search did not, too.
    """
    rows: list[CertificateRow] = []
    not_asked: dict[str, str] = {}
    exposed = np.zeros(table.rows, dtype=bool)
    crowded: set[int] = set()
    for index in asked:
        attribute, truth = table.attributes[index], table.columns[index].astype(np.int64)
        counts = np.bincount(truth, minlength=attribute.codes)
        measures = {m.name: m for m in measures_of(attribute, [r.limit.left.name for r in rules], counts)}
        for name, in_loop, attack in _attacks(table, release, release.index(attribute.name), engine, worlds, not_asked):
            if not (in_loop or held_out):
                break
            (belief,) = attack.attackers.values()
            learners = {"learner": attack.learner}
            if (without := attack.without.get(name, attack.without.get(""))) is not None:
                learners["learner_without"] = without
            mine = [n for n, r in enumerate(rules) if r.reader is None or name.startswith(r.reader)]
            bad = np.zeros((table.rows, len(mine)))
            for learner, other in learners.items():
                asked_of = [rules[n] for n in mine]
                found = _bad(belief.probability, other.probability, truth, attribute, asked_of)
                threat = np.array([r.of_threat for r in asked_of]) | (learner == "learner")
                bad = np.maximum(bad, np.where(threat, found, 0.0))
            for place, number in enumerate(mine):
                rule = rules[number]
                estimate, _ = largest(measures[rule.limit.left.name], belief, learners, truth, None)
                assert estimate is not None
                row = CertificateRow(
                    rule.limit.text, attribute.name, name, in_loop, estimate.value, estimate.high, rule.limit.number
                )
                rows.append(row)
                if rule.of_nobody:
                    exposed |= bad[:, place] > 0
                elif not row.kept:
                    crowded.add(number)
    return ReleaseCertificate(tuple(rows), not_asked, exposed, frozenset(crowded))


def _bad(belief: Floats, learner: Floats, truth: NDArray[np.int64], attribute: Any, rules: Sequence[Rule]) -> Floats:
    """(people, rules) who counts against which."""
    harmful = np.ones(attribute.codes, dtype=bool)
    harmful[list(attribute.harmless)] = False
    share = np.bincount(truth, minlength=attribute.codes) / len(truth)
    found = np.zeros((len(truth), len(rules)))
    kinds, levels = np.array([r.kind for r in rules], dtype=np.int64), np.array([r.level for r in rules])
    given = np.ascontiguousarray(belief), np.ascontiguousarray(learner)
    judge_people(*given, truth, share, harmful, kinds, levels, found)
    return found


def _attacks(
    table: Table, release: Release, asked: int, engine: Engine, worlds: bool, not_asked: dict[str, str]
) -> Iterator[tuple[str, bool, Attack]]:
    """Each reader's name, whether the search heard of it, and what it believes of every row."""
    targets = targets_of_table(table, release, asked)

    def settled(release: Release, targets: Targets, prior: Prior) -> Attack:
        learned = settled_posterior(release, targets.asked, prior, engine)
        reader = {"bayesian": Bayesian()}
        return run_attacks(release, [targets], reader, prior=prior, engine=engine, learned=learned, lenient=True)[0]

    def prior(count: float) -> Prior:
        return Prior.uninformative(release, asked, alpha=count, beta=count)

    both: dict[str, Any] = {"engine": engine, "lenient": True, "left_out": True}  # as an audit asks its own readers
    yield "bayesian", True, run_attack(release, targets, {"bayesian": Bayesian()}, **both)
    for count in COUNTS[1:]:
        yield f"bayesian, pseudo-counts of {count:g}", True, settled(release, targets, prior(count))
    own: dict[str, Any] = {"bayesian": Bayesian()}
    if worlds:
        own["random_worlds"] = RandomWorlds()
        yield "random_worlds", True, run_attack(release, targets, {"random_worlds": RandomWorlds()}, **both)
    else:
        not_asked["random_worlds"] = "no release that was tried keeps these limits against it"
    yield f"bayesian, pseudo-counts of {HELD_OUT_COUNT:g}", False, settled(release, targets, prior(HELD_OUT_COUNT))
    names = [a.name for a in release.attributes]
    pairs = dependent_pairs(release, targets)
    if pairs:
        one = join(release, [[names[i] for i in pair] for pair in pairs], asked)
        found = settled(one.release, one.targets(targets), one.prior(prior(1.0), asked))
        yield "bayesian, " + ", ".join("+".join(names[i] for i in pair) for pair in pairs), False, found
    for index in sorted(targets.known) if len(targets.known) > 1 else ():
        fewer = replace(targets, known={i: k for i, k in targets.known.items() if i != index})
        learned = settled_posterior(release, asked, prior(1.0), engine)
        (found,) = run_attacks(release, [fewer], own, prior=prior(1.0), engine=engine, learned=learned, lenient=True)
        for name, belief in found.attackers.items():
            yield f"{name} without {names[index]}", False, replace(found, attackers={name: belief})
    try:
        both["engine"] = engine.named("certificate")
        yield "boosted", False, run_attack(release, targets, {"boosted": Boosted(repeats=0)}, **both)
    except NotApplicable as reason:
        not_asked["boosted"] = str(reason)

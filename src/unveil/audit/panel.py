"""The panel: readers a little unlike the audit's own, against blind spots. What the worst of them can tell counts.

Other pseudo-counts; the attributes joined that depend most on each other; each known attribute unknown in turn. They
learn without chains (`settled`), so that all of them together cost less than the audit itself: how much they would cost
is counted in numbers worked on, never timed, and who does not fit is said not to have been asked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.joined import join
from unveil.attackers.posterior.settled import STEPS, settled_posterior
from unveil.audit.asking import Answers, doubts
from unveil.audit.attack import Attack, run_attacks
from unveil.audit.belief_measures import measures_of
from unveil.audit.case import Case
from unveil.audit.decided import surely_exceeded
from unveil.audit.document import Finding, number
from unveil.audit.findings import measure_of
from unveil.audit.measures import PANEL
from unveil.audit.measures import measure as record
from unveil.audit.people import Measure, People, Sample
from unveil.audit.verdict import DEFAULT_LIMITS
from unveil.data.belief import Belief, Estimate, Prior, Targets
from unveil.data.release import Release
from unveil.errors import NotApplicable, Stopped

__all__ = ["Panel", "ask_panel"]

COUNTS = (0.1, 1.0, 5.0)  # pseudo-counts
MOST_PAIRS = 3  # of attributes that are joined
MOST_CODES = 20_000  # of a pair
MOST_ASKED = 6_000  # known attributes by attackers, in all: each is a match of its own, however few the rows are
CHARTS = 20  # passes over beliefs for their charts
LEAST_TREES = 30  # of a fold, tried before boosting gives up
ASKING = 5  # passes over beliefs that cost as much as asking for them
LEAST_HELD = 10  # people of a value: see raised_of_value
CHANCE = 0.025  # that luck alone puts any of the panel above a limit, on either side

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Member:
    """One reader of the panel: `panel:count=0.1`, `panel:joined`, `panel:without=age`."""

    name: str
    kind: str  # "pseudo-counts", "joined attributes", "known attributes"
    words: str  # how it differs from the audit's own
    count: float | None = None
    joined: tuple[tuple[str, ...], ...] = ()
    unknown: int | None = None  # position of the attribute


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """What the panel found of one release and attribute."""

    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # as the document holds them; empty: nobody was to be asked


def ask_panel(case: Case, name: str, answered: Answers, sample: Sample | None) -> Panel:
    """Ask as many of the panel as cost at most what the audit's own readers did, about the same people."""
    if not case.panel or not answered.attackers:
        return Panel()
    measures = _measures(case, answered)
    members = [*_members(case, answered)]
    if not members or not measures:
        return Panel()
    asking = _Asking(case, answered, measures, sample, len(members))
    left, columns_left, refused = asking.own_cost(), MOST_ASKED, {}
    rows, findings = [], []
    places = [_modes(belief) for belief in asking.own.values()]
    enough = surely_exceeded(case, answered.attribute, answered.truth)
    decided = enough is not None and enough({"": answered.learner, **answered.attackers})
    for done, member in enumerate(members):
        cost = asking.cost(member)
        if case.engine.stop.is_set():
            refused[member.name] = "the time was over"
            continue
        if decided:
            refused[member.name] = "the audit's own readers surely exceed a limit; --precision 0.003 asks all of them"
            continue
        if cost > left:
            refused[member.name] = "the panel may cost no more than the audit's own readers"
            continue
        if (columns := asking.columns(member)) > columns_left:
            refused[member.name] = "there are too many columns to ask all of the panel"
            continue
        left, columns_left = left - cost, columns_left - columns
        case.engine.report("panel", done, len(members))
        try:
            attack = asking.attack(member)
        except (NotApplicable, Stopped) as reason:
            refused[member.name] = str(reason)
            continue
        if not attack.attackers:
            refused[member.name] = next(iter(attack.refused.values()), "no attacker applies")
            continue
        found, worst = asking.measured(attack, member)
        findings += [Finding.of(m, name, answered.attribute.name, e, reader=member.name) for m, e in found.items()]
        right = found.get("global_threat")
        places += [_modes(belief) for belief in attack.attackers.values()]
        rows.append(
            {
                "reader": member.name,
                "kind": member.kind,
                "words": member.words,
                "attacker": worst,
                "right": None if right is None else number(right.value),
                "disclosed": None if (sure := found.get("disclosed.80")) is None else number(sure.value),
                "distance": asking.distance(attack),
                "alarm": asking.alarm(attack, member),
            }
        )
    return Panel(tuple(findings), asking.facts(name, rows, refused, places))


def _measures(case: Case, answered: Answers) -> list[Measure]:
    """Those that limits name of attackers in general, and how many are guessed right."""
    attribute, truth = answered.attribute, answered.truth
    general = [part.name for part in case.limited() if part.reader is None or part.reader.partition(":")[0] == PANEL]
    default = [text.split()[0] for text in DEFAULT_LIMITS["inference"]]
    wanted = {"global_threat", *general, *default}
    return [
        m
        for m in measures_of(attribute, general, answered.held)
        if m.name in wanted and not (m.needs_truth and truth is None)
    ]


def _members(case: Case, answered: Answers) -> Iterator[Member]:
    release, readers, names = answered.release, case.readers, [a.name for a in answered.release.attributes]
    learning = any(one.asks() for n, one in readers.attackers.items() if n in answered.attackers)
    if learning and readers.prior is None:
        for count in COUNTS:
            if (count, count) != (readers.alpha, readers.beta):
                yield Member(f"{PANEL}:count={count:g}", "pseudo-counts", f"pseudo-counts of {count:g}", count=count)
    if learning and readers.prior is None and not readers.joined and not release.perturbed:
        pairs = dependent_pairs(release, answered.targets)
        if pairs:
            sets = tuple(tuple(names[i] for i in pair) for pair in pairs)
            words = "takes " + ", ".join(" and ".join(one) for one in sets) + " as one each"
            yield Member(f"{PANEL}:joined", "joined attributes", words, joined=sets)
    if len(answered.targets.known) > 1:
        for index in sorted(answered.targets.known):
            words = f"does not know {names[index]}"
            yield Member(f"{PANEL}:without={names[index]}", "known attributes", words, unknown=index)


def dependent_pairs(release: Release, targets: Targets) -> list[tuple[int, int]]:
    """The pairs of known attributes that depend most on each other, by what their published cells tell of each other.

    Mutual information beyond what as many rows show by chance; the largest first, and no attribute in two.
    """
    found = []
    for one, other in combinations(sorted(targets.known), 2):
        block = release.block_of(one)
        codes = release.attributes[one].codes * release.attributes[other].codes
        if other not in block.attributes or codes > MOST_CODES:
            continue
        a, b = (block.region(i).astype(np.int64) for i in (one, other))
        table = np.zeros((int(a.max(initial=0)) + 1, int(b.max(initial=0)) + 1))
        np.add.at(table, (a, b), block.count)
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        rows = table.sum()
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / rows
        there = table > 0
        told = float((table[there] * np.log(table[there] / expected[there])).sum() / rows)
        told -= (table.shape[0] - 1) * (table.shape[1] - 1) / (2 * rows)
        if told > 0:
            found.append((-told, one, other))
    chosen: list[tuple[int, int]] = []
    for _, one, other in sorted(found):
        if len(chosen) < MOST_PAIRS and not any({one, other} & set(pair) for pair in chosen):
            chosen.append((one, other))
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class _Asking:
    """Who is asked about whom, and what is measured of each."""

    case: Case
    answered: Answers
    measures: list[Measure]
    sample: Sample | None
    members: int

    @property
    def own(self) -> dict[str, Belief]:
        """The audit's own readers who know no group."""
        return {n: self.answered.attackers[n] for n in self.case.readers.attackers if n in self.answered.attackers}

    def own_cost(self) -> float:
        """Numbers that the audit's own readers worked on: beliefs measured and drawn as charts, of the attackers, of
        the learner with and without the group and of the original's; rows by attributes in each sweep and each tree.
        """
        people, values = self.answered.learner.probability.shape
        passes = len(measures_of(self.answered.attribute)) + CHARTS + ASKING
        facts = [self.answered.learner.diagnostics.facts, *(b.diagnostics.facts for b in self.own.values())]
        swept = max((_number(f, "chains") * (_number(f, "sweeps") + _number(f, "burn_in")) for f in facts), default=0.0)
        grown = max((_number(f, "folds") * max(_number(f, "rounds"), LEAST_TREES) for f in facts), default=0.0)
        return float(people * values * passes * (3 + len(self.own)) + (swept + grown) * self._rows())

    def cost(self, member: Member) -> float:
        """The same of one of the panel: it takes steps instead of sweeps, and lists the values of joined cells."""
        people, values = self.answered.learner.probability.shape
        asked = len(self.own) if member.unknown is not None else len(self._learning())
        release, listed = self.answered.release, 0.0
        for names in member.joined:
            pair = [release.index(n) for n in names]
            block = release.block_of(pair[0])
            listed += float(np.prod([release.regions[i].sizes[block.region(i)] for i in pair], axis=0).sum())
        steps = 1 if self.answered.learner.exact and not listed else STEPS
        return float(people * values * (len(self.measures) + ASKING) * asked + steps * (self._rows() + listed))

    def columns(self, member: Member) -> int:
        """Known attributes that are matched with the release, once for each attacker."""
        asked = len(self.own) if member.unknown is not None else len(self._learning())
        return asked * len(self.answered.targets.known)

    def _rows(self) -> float:
        return float(self.answered.release.rows * len(self.answered.release.attributes))

    def _learning(self) -> list[Any]:
        return [one for n, one in self.case.readers.attackers.items() if n in self.own and one.asks()]

    def attack(self, member: Member) -> Attack:
        """What it believes, beside its own learner."""
        readers, release, targets = self.case.readers, self.answered.release, self.answered.targets
        if member.unknown is not None:
            everyone = {n: readers.attackers[n] for n in self.own}
            # From the same fits, but without intervals: those of the panel are for luck.
            attackers = {n: one.plain() if hasattr(one, "plain") else one for n, one in everyone.items()}
            known = {i: k for i, k in targets.known.items() if i != member.unknown}
            targets = replace(targets, known=known)
        else:
            attackers = {n: readers.attackers[n] for n in self.own if readers.attackers[n].asks()}
        asked = targets.asked
        if member.count is not None:
            prior = Prior.uninformative(release, asked, alpha=member.count, beta=member.count)
        else:
            prior = readers.prior_of(release, asked)
        joined = member.joined or readers.joined
        if joined:
            one = join(release, joined, asked)
            release, prior, targets = one.release, one.prior(prior, asked), one.targets(targets)
        engine = readers.engine
        learned = settled_posterior(release, targets.asked, prior, engine)
        return run_attacks(release, [targets], attackers, prior=prior, engine=engine, lenient=True, learned=learned)[0]

    def measured(self, attack: Attack, member: Member) -> tuple[dict[str, Estimate], str]:
        """By measure the largest of its attackers, less what luck may add; and who guesses most right."""
        found: dict[str, Estimate] = {}
        for measure in self.measures:
            safer = _safer(measure)
            tried = []
            for belief in attack.attackers.values():
                people = People(belief, attack.learner, self.answered.truth)
                estimate = measure_of(measure, people, self.sample)
                tried += [] if estimate is None else [self._less_luck(measure, estimate, safer)]
            if tried:
                found[measure.name] = max(tried, key=lambda e: (-safer * e.value, -safer * e.high))
        worst = max(attack.attackers, key=lambda n: self._right(attack.attackers[n]))
        return found, worst

    def _right(self, belief: Belief) -> float:
        truth = self.answered.truth
        return 0.0 if truth is None else float((_modes(belief) == truth).mean())

    def _less_luck(self, measure: Measure, estimate: Estimate, safer: int) -> Estimate:
        """A share of people may be high by luck, and the highest of many readers all the more: the near end counts."""
        truth = self.answered.truth
        if truth is None or measure.most is not None or measure.q is not None or measure.span[1] > 2:
            return estimate
        from scipy.special import ndtri

        people = float(len(truth))
        if measure.name == "raised.of_a_value":  # of the people of one value, of whom there are ten or more
            held = np.bincount(truth)
            people = float(held[held >= LEAST_HELD].min(initial=len(truth)))
        variance = 0.25 if measure.span[0] < 0 else max(estimate.value * (1 - estimate.value), 1 / people)
        luck = float(-ndtri(CHANCE / self.members)) * sqrt(variance / people)
        if safer > 0:
            return replace(estimate, high=max(estimate.high, estimate.value + luck))
        return replace(estimate, low=min(estimate.low, max(estimate.value - luck, measure.span[0])))

    def distance(self, attack: Attack) -> float:
        """The mean distance (total variation) between what its attackers believe and what the audit's own do."""
        found = [
            np.abs(belief.probability - self.own[name].probability).sum(axis=1).mean() / 2
            for name, belief in attack.attackers.items()
        ]
        return float(max(found, default=0.0))

    def alarm(self, attack: Attack, member: Member) -> str:
        """Why some of its attackers are not trusted, as in the audit itself; empty: all are."""
        if self.answered.truth is None:
            return ""
        asked = self.own if member.unknown is None else attack.attackers  # who knows the same
        less = {"learner": attack.learner, **{n: b for n, b in asked.items() if n == "random_worlds"}}
        hidden = (
            len(self.answered.release.blocks) > 1
        )  # else what is exact of the audit is so here: nothing to get wrong
        told = {n: b for n, b in attack.attackers.items() if hidden or not self.own[n].exact}
        return "; ".join(doubts(less, told, self.case.readers.attackers, self.answered.truth).values())

    def facts(
        self, name: str, rows: list[dict[str, Any]], refused: Mapping[str, str], places: list[NDArray[np.int64]]
    ) -> dict[str, Any]:
        """The document's row: members, the worst of them, who was not asked, and how far readers disagree."""
        kinds = {row["kind"] for row in rows}
        worst = {kind: max((r for r in rows if r["kind"] == kind), key=_exposure)["reader"] for kind in sorted(kinds)}
        truth = self.answered.truth
        own = [] if truth is None else [self._right(b) for b in self.own.values()]
        right = own + [float(row["right"]) for row in rows if row["right"] is not None]
        apart = np.zeros(len(places[0]), dtype=bool) if places else np.zeros(0, dtype=bool)
        for one in places[1:]:
            apart |= one != places[0]
        return {
            "release": name,
            "attribute": self.answered.attribute.name,
            "members": rows,
            "worst": worst,
            "not_asked": dict(refused),
            "right": [min(right), max(right)] if right else None,
            "disagree": float(apart.mean()) if len(apart) else 0.0,
        }


def _safer(measure: Measure) -> int:
    """1 if more is safer, else -1."""
    name, _, statistic = measure.name.partition(".")
    return 1 if record(name).direction(statistic or None) > 0 else -1


def _modes(belief: Belief) -> NDArray[np.int64]:
    return np.asarray(belief.probability.argmax(axis=1), dtype=np.int64)


def _number(facts: Mapping[str, Any], name: str) -> float:
    found = facts.get(name, 0.0)
    return found if isinstance(found, float) else 0.0


def _exposure(row: Mapping[str, Any]) -> tuple[float, float]:
    return float(row["disclosed"] or 0.0), float(row["right"] or 0.0)

"""How often the 95% interval of every statistic of beliefs that an audit prints holds the exact value.

Beliefs are known exactly, four chains err around them: cell by cell or four cells at a time, many of them with a tie
(equal modes, a ratio of exactly 2, a belief of exactly 80%); person by person without any; or all together, as when two
readings of a release have the same weight. A second part takes real chains on tables whose posterior is known.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tests.acceptance.modes import run, without_grid
from tests.mode_oracles import by_counts
from tests.modes import Hidden, tables
from unveil.attackers import Chains
from unveil.audit.belief_measures import measures_of
from unveil.audit.people import Measure, People
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Belief
from unveil.risk import member_advantage

Floats = NDArray[np.float64]
CHAINS = 4
VALUES = 4
LEAST, ALLOWED = 0.95, 0.03
REAL = ("case-control, 100 rows, 0.8", "tilted by 0.3, 240 rows", "tilted of two, 60 rows", "three values, 60 rows")
SHORT = Chains(burn_in=200, sweeps=200, most_sweeps=200)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one statistic in one world: how often its interval held the exact value, and how wide it was."""

    world: str
    statistic: str
    reader: str
    trials: int
    held: float
    width: float  # on average, of those that are finite
    best: float = np.nan  # how often the narrowest interval of one width for all trials holds that holds 95%
    best_width: float = np.nan  # its width, which nobody knows who has four chains
    needed: float = np.nan  # how much of its width it would take to hold in 95%

    @property
    def met(self) -> bool:
        """Not below 95% - 3%; of what counts people in steps an interval may hold more often."""
        return self.held >= LEAST - ALLOWED


@dataclass(frozen=True, slots=True)
class World:
    """Exact beliefs of learner and attacker, and how chains err around them."""

    learner: Floats  # (people, values)
    attacker: Floats
    truth: NDArray[np.int64]
    noise: Callable[[np.random.Generator], tuple[Floats, Floats]]  # of one chain: of learner, of attacker

    def drawn(self, random: np.random.Generator) -> tuple[Belief, Belief]:
        """What four chains say of everyone."""
        each = [self.noise(random) for _ in range(CHAINS)]
        pairs = zip((self.learner, self.attacker), zip(*each, strict=True), strict=True)
        found = []
        for exact, errors in pairs:
            chains = np.maximum(exact + np.stack(errors), 1e-9 * (exact > 0))
            chains /= chains.sum(axis=2, keepdims=True)
            found.append(Belief(chains.mean(axis=0), chains=chains))
        return found[0], found[1]


def attribute() -> Attribute:
    """Four numbers of two classes: every statistic applies."""
    return Attribute(
        "s",
        Role.SENSITIVE,
        Kind.NUMERIC,
        ("1", "2", "4", "8"),
        low=np.array([1.0, 2.0, 4.0, 8.0]),
        high=np.array([1.0, 2.0, 4.0, 8.0]),
        classes=(("low", (0, 1)), ("high", (2, 3))),
    )


def worlds() -> dict[str, World]:
    """Five ways to err, with and without ties."""
    random = np.random.default_rng(4)
    cells, people = 24, 240
    of = np.repeat(np.arange(cells), people // cells)
    tied, tied_low = random.dirichlet(np.ones(VALUES), cells), random.dirichlet(3 * np.ones(VALUES), cells)
    tied[0:4], tied[4:8], tied[8:12] = (0.4, 0.4, 0.15, 0.05), (0.6, 0.2, 0.15, 0.05), (0.8, 0.2, 0.0, 0.0)
    tied_low[4:8], tied_low[12:16] = (0.3, 0.3, 0.2, 0.2), (0.4, 0.1, 0.1, 0.4)  # a ratio of 2; the learner's own tie
    truth = np.array([random.choice(VALUES, p=tied[c]) for c in of])

    def by_cell(size: float, source: np.random.Generator) -> tuple[Floats, Floats]:
        one, other = (source.normal(0, size, (cells, VALUES)) for _ in range(2))
        return _possible(one, tied_low)[of], _possible(other, tied)[of]

    wide = random.dirichlet(np.ones(VALUES), people)
    narrow = 0.5 * wide + 0.5 * random.dirichlet(4 * np.ones(VALUES), people)
    true = np.array([random.choice(VALUES, p=p) for p in wide])

    def by_person(size: float, source: np.random.Generator) -> tuple[Floats, Floats]:
        common = source.normal(0, size, (people, VALUES))
        own = source.normal(0, size, (people, VALUES))
        return _centred(common) * np.sqrt(narrow), _centred((common + own) / 2**0.5) * np.sqrt(wide)

    many = 200  # cells of two people: forty ties of each kind
    alone, alone_low = random.dirichlet(np.ones(VALUES), many), random.dirichlet(3 * np.ones(VALUES), many)
    alone[:40], alone_low[:40], alone[40:80] = (0.6, 0.2, 0.15, 0.05), (0.3, 0.3, 0.2, 0.2), (0.8, 0.2, 0.0, 0.0)
    pair = np.repeat(np.arange(many), 2)
    of_pairs = np.array([random.choice(VALUES, p=alone[c]) for c in pair])

    def by_pair(size: float, source: np.random.Generator) -> tuple[Floats, Floats]:
        one, other = (source.normal(0, size, (many, VALUES)) for _ in range(2))
        return _possible(one, alone_low)[pair], _possible(other, alone)[pair]

    both, both_low = alone.copy(), alone_low.copy()
    both[:20], both_low[:20] = (0.4, 0.4, 0.15, 0.05), (0.2, 0.2, 0.3, 0.3)  # a tied mode at a ratio of 2

    def in_fours(size: float, source: np.random.Generator) -> tuple[Floats, Floats]:
        one, other = (np.repeat(source.normal(0, size, (many // 4, VALUES)), 4, axis=0) for _ in range(2))
        return _possible(one, both_low)[pair], _possible(other, both)[pair]

    mirror = (wide + wide[:, ::-1]) / 2
    half = (narrow + narrow[:, ::-1]) / 2

    def together(size: float, source: np.random.Generator) -> tuple[Floats, Floats]:
        weight = source.normal(0, size)
        return weight * (narrow - narrow[:, ::-1]), weight * (wide - wide[:, ::-1])

    return {
        "cells with ties": World(tied_low[of], tied[of], truth, partial(by_cell, 0.006)),
        "many cells with ties": World(alone_low[pair], alone[pair], of_pairs, partial(by_pair, 0.01)),
        "ties that err in fours": World(both_low[pair], both[pair], of_pairs, partial(in_fours, 0.01)),
        "people without ties": World(narrow, wide, true, partial(by_person, 0.006)),
        "two readings": World(half, mirror, true, partial(together, 0.02)),
    }


def _possible(errors: Floats, exact: Floats) -> Floats:
    """Errors of what is believed at all, with sum 0."""
    some = exact > 0
    return np.where(some, errors - (errors * some).sum(axis=1, keepdims=True) / some.sum(axis=1, keepdims=True), 0.0)


def _centred(errors: Floats) -> Floats:
    return np.asarray(errors - errors.mean(axis=1, keepdims=True))


def statistics(counts: NDArray[np.int64]) -> list[tuple[str, str, Callable[[People], object]]]:
    """Name, reader and measure of everything that is printed."""
    found: list[tuple[str, str, Callable[[People], object]]] = []
    of_sensitive: list[Measure] = measures_of(attribute(), (), counts)
    for measure in of_sensitive:
        found.append((measure.name, "attacker", measure.of))
        if measure.of_learner or measure.has_baseline:
            found.append((measure.name, "learner", partial(_of_learner, measure)))
    return found


def _of_learner(measure: Measure, people: People) -> object:
    return measure.of(People(people.learner, people.learner, people.truth))


def coverages(trials: int) -> Iterator[Coverage]:
    """Of every statistic in every world."""
    for name, world in worlds().items():
        counts = np.bincount(world.truth, minlength=VALUES)
        exact = People(Belief(world.attacker), Belief(world.learner), world.truth)
        random = np.random.default_rng(7)
        drawn = [world.drawn(random) for _ in range(trials)]
        for statistic, reader, of in statistics(counts):
            right = of(exact).value  # type: ignore[attr-defined]
            found = [of(People(attacker, learner, world.truth)) for learner, attacker in drawn]
            yield _coverage(name, statistic, reader, right, found)


def real_coverages(seeds: int) -> Iterator[Coverage]:
    """The same of short chains on tables with a known posterior."""
    everyone = {table.name: table for table in tables()}
    found: dict[tuple[str, str], list[tuple[float, object]]] = {}
    for name in REAL:
        table = everyone[name]
        which, truth = _people(table)
        learner, attacker = (Belief(exact[which]) for exact in by_counts(table))
        sensitive = table.release().attributes[-1]
        counts = np.bincount(truth, minlength=table.values)
        for seed in range(seeds):
            with without_grid():
                beliefs = run(table, seed, SHORT)
            drawn = People(beliefs["bayesian"].of(which), beliefs["learner"].of(which), truth)
            for measure in measures_of(sensitive, (), counts):
                if ".value:" in measure.name:
                    continue
                pairs = [("attacker", People(attacker, learner, truth), drawn)]
                if measure.of_learner:
                    pairs.append(("learner", People(learner, learner, truth), People(*[drawn.learner] * 2, truth)))
                for reader, right, those in pairs:
                    both = measure.of(right).value, measure.of(those)
                    found.setdefault((measure.name, reader), []).append(both)
    for (statistic, reader), both in found.items():
        held = [e.low - 1e-9 <= value <= e.high + 1e-9 for value, e in both]  # type: ignore[attr-defined]
        width = [w for _, e in both if np.isfinite(w := e.high - e.low)]  # type: ignore[attr-defined]
        yield Coverage("chains", statistic, reader, len(held), float(np.mean(held)), float(np.mean(width or [np.inf])))


def advantage_coverage(trials: int) -> Coverage:
    """Members and controls are samples of people: all of them right must not look like certainty."""
    random = np.random.default_rng(11)
    held, width = [], []
    for trial in range(trials):
        inside, outside, people = ((0.97, 0.9, 40), (0.6, 0.5, 60), (1.0, 0.98, 30))[trial % 3]
        one, other = (_guesses(random.random(people) < share) for share in (inside, outside))
        found = member_advantage(one, np.zeros(people, int), other, np.zeros(people, int))
        held.append(found.low <= inside - outside <= found.high)
        width.append(found.high - found.low)
    return Coverage("samples of people", "member_advantage", "attacker", trials, np.mean(held), float(np.mean(width)))


def _guesses(right: NDArray[np.bool_]) -> Belief:
    return Belief(np.stack([np.where(right, 0.9, 0.1), np.where(right, 0.1, 0.9)], axis=1))


def _people(table: Hidden) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each row the cell's number and a value that its group holds."""
    cells = {cell: number for number, cell in enumerate(table.cells)}
    pairs = [(cells[c], v) for group, values in table.groups for c, v in zip(group, values, strict=True)]
    which, truth = np.array(pairs).T
    return which, truth


def _coverage(world: str, statistic: str, reader: str, right: float, found: list) -> Coverage:  # type: ignore[type-arg]
    held = [e.low - 1e-9 <= right <= e.high + 1e-9 for e in found]
    width = [w for e in found if np.isfinite(w := e.high - e.low)]
    off = np.abs([e.value - right for e in found])
    reach = float(np.quantile(off, LEAST, method="higher"))
    side = np.array([e.high - e.value if e.value < right else e.value - e.low for e in found])
    part = np.divide(off, side, out=np.where(off > 1e-9, np.inf, 0.0), where=side > 1e-9)
    own = float(np.mean(held)), float(np.mean(width or [np.inf]))
    best = float(np.mean(off <= reach + 1e-12)), 2 * reach
    return Coverage(world, statistic, reader, len(found), *own, *best, float(np.quantile(part, LEAST, method="higher")))

"""The Bayesian attacker on perturbed categories whose chances of change are published (PRAM).

The model is that of the other attackers, s ~ pi and each attribute given s ~ theta; a row shows what its true values
became. pi and theta are integrated out: a Gibbs sampler draws the true values of one row given those of all others, and
before it does, the chance that the row holds s and is the target's counts for the attacker. The learner's joint is a
product of means given all rows. Weights are averaged over sweeps first and normalised last. Where s is published as it
is, attributes are independent given s: then each is averaged alone, and the averages are multiplied, which takes far
fewer sweeps.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import Averages, Running, belief_of, watched
from unveil.attackers.posterior.convergence import Chains
from unveil.data.belief import Belief, Threat
from unveil.data.release import example_rows, row_numbers
from unveil.data.rows import SUPPRESSED, PublishedRows
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.kernels import perturbed

__all__ = ["channel_beliefs", "codes_of"]

MOST_PAIRS = 20_000_000  # of a target and a row that may be theirs: 160 MB
COUNTED_EVERY = 50  # sweeps: rounding of sums that rows join and leave would add up
NAMES = "learner", "bayesian"
METHOD = "Gibbs sampling of true values"

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def codes_of(masked: PublishedRows, index: int) -> Codes:
    """(rows,) the codes that an attribute's cells show; -1 = suppressed."""
    attribute, column = masked.attributes[index], masked.columns[index]
    if index in masked.wide:
        raise NotApplicable(f"{attribute.name} is published in wider cells")
    if not attribute.kind.measured:
        return np.asarray(column, dtype=np.int64)
    places = attribute.positions()[: attribute.real]
    order = np.argsort(places, kind="stable")
    at = order[np.clip(np.searchsorted(places[order], column), 0, len(places) - 1)]
    absent = np.isnan(column)
    if (places[at] != column)[~absent].any():
        raise NotApplicable(f"{attribute.name} shows numbers that are not in its domain")
    return np.where(absent, attribute.codes - 1 if attribute.missing else SUPPRESSED, at)


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """Published rows, and for each attribute the chance of what it shows given each true value."""

    others: tuple[int, ...]  # attributes but the asked, in the order of columns below
    shown: NDArray[np.int32]  # (rows, others) a code, or the number of codes where it is suppressed
    value_chance: Floats  # (rows, values) the chance of what the row shows of the asked attribute
    chances: tuple[Floats | None, ...]  # by other: (true codes, shown codes and one for suppressed); None: as it is
    codes: Codes  # (others,)
    alpha: float
    beta: float

    @classmethod
    def of(cls, masked: PublishedRows, asked: int, alpha: float, beta: float) -> "_Model":
        if not masked.known_channel:
            which = next(i for i in masked.masked if i not in masked.channel)
            raise NotApplicable(
                f"{masked.attributes[which].name}: the values were perturbed, not widened, and the chances of that are "
                "not published"
            )
        shown, chances = {}, {}
        for index, attribute in enumerate(masked.attributes):
            cells = codes_of(masked, index)
            shown[index] = np.where(cells < 0, attribute.codes, cells)
            known = masked.channel.get(index, np.eye(attribute.codes))
            chances[index] = np.concatenate([known, np.ones((attribute.codes, 1))], axis=1)
            if not chances[index].sum(axis=0)[shown[index]].all():
                raise NotApplicable(f"{attribute.name} shows a value that its published chances rule out")
        others = tuple(i for i in range(len(masked.attributes)) if i != asked)
        columns = [shown[i].astype(np.int32) for i in others]
        return cls(
            others,
            np.stack(columns, axis=1) if columns else np.zeros((masked.rows, 0), np.int32),
            np.ascontiguousarray(chances[asked][:, shown[asked]].T),
            tuple(None if (chances[i][:, :-1] == np.eye(len(chances[i]))).all() else chances[i] for i in others),
            np.array([masked.attributes[i].codes for i in others], dtype=np.int64),
            alpha,
            beta,
        )

    @property
    def values(self) -> int:
        """Sensitive values."""
        return int(self.value_chance.shape[1])

    def published(self) -> Codes | None:
        """(rows,) the sensitive values, if all are published as they are."""
        single = (self.value_chance > 0).sum(axis=1) == 1
        return self.value_chance.argmax(axis=1) if single.all() else None

    def by_shown(self) -> Floats:
        """The chances, for each attribute with what is shown first."""
        return np.concatenate([np.empty(0), *(c.T.ravel() for c in self.chances if c is not None)])

    def layout(self) -> tuple[Codes, Codes, Codes, Floats, Codes]:
        """Where each attribute's tables begin in flat arrays, for the kernels."""
        noisy = np.array([c is not None for c in self.chances], dtype=bool)
        place = np.concatenate([[0], np.cumsum(self.values * self.codes)]).astype(np.int64)
        size = np.where(noisy, self.codes * (self.codes + 1), 0)
        first = np.where(noisy, np.cumsum(size) - size, -1).astype(np.int64)
        seen = np.concatenate([[0], np.cumsum(np.where(noisy, self.values * (self.codes + 1), 0))]).astype(np.int64)
        flat = np.concatenate([np.empty(0), *(c.ravel() for c in self.chances if c is not None)])
        return place, self.codes, first, flat, seen


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """People, of whom some true codes are known, and the rows that may be theirs."""

    model: _Model
    people: Codes  # (people, others)
    knows: NDArray[np.bool_]  # (others,)
    start: Codes  # (rows + 1,) pairs of each row
    person: Codes  # (pairs,)
    offset: Codes  # (rows, others) where the law of a hidden true code begins; -1 if it is shown
    times: Floats  # (laws,) rows that share it; empty where the sensitive values are not all published

    @classmethod
    def of(cls, model: _Model, people: Codes, knows: NDArray[np.bool_]) -> "_Question":
        offset = np.full(model.shown.shape, -1, dtype=np.int64)
        times = [np.empty(0)]
        value = model.published()
        for a, codes in enumerate(model.codes.tolist() if value is not None else ()):
            hidden = (model.shown[:, a] == codes) | (model.chances[a] is not None)
            assert value is not None
            _, law, rows = np.unique(value * (codes + 1) + model.shown[:, a], return_inverse=True, return_counts=True)
            offset[hidden, a] = sum(map(len, times)) + law[hidden] * codes
            times.append(np.repeat(rows.astype(np.float64), codes))
        return cls(model, people, knows, *_pairs(model, people, knows), offset, np.concatenate(times))

    def joint(self, held: Codes, count: NDArray[np.number[Any]]) -> Floats:
        """(people, values) E[pi_s prod theta(x) | true values]: means of independent Dirichlet variables."""
        model, place = self.model, self.model.layout()[0]
        share = (model.alpha + held) / (model.alpha * model.values + held.sum())
        found = np.repeat(share[None], len(self.people), axis=0)
        for a in np.flatnonzero(self.knows).tolist():
            table = count[place[a] : place[a + 1]].reshape(model.values, -1)
            found *= ((model.beta + table) / (model.beta * table.shape[1] + held)[:, None]).T[self.people[:, a]]
        return found

    def support(self, law: Floats) -> Floats:
        """(people, values) expected rows that are theirs, from the mean law of every hidden code."""
        row = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        fits = np.ones(len(row))
        for a in np.flatnonzero(self.knows).tolist():
            offset = self.offset[row, a]
            at = np.where(offset >= 0, offset + self.people[self.person, a], 0)
            fits *= np.where(offset >= 0, law[at], 1.0) if len(law) else 1.0
        value = self.model.published()
        assert value is not None
        place = self.person * self.model.values + value[row]
        total = np.bincount(place, weights=fits, minlength=len(self.people) * self.model.values)
        return np.asarray(total, dtype=np.float64).reshape(len(self.people), self.model.values)

    def weights(self, name: str, mean: Floats, held: Codes) -> Floats:
        """(people, values) from a mean over states of what a chain notes."""
        if not self.alone:
            return np.asarray(mean[NAMES.index(name)])
        counts = len(mean) - len(self.times)
        return self.joint(held, mean[:counts]) if name == "learner" else self.support(mean[counts:] / self.times)

    @property
    def alone(self) -> bool:
        """Whether each attribute is averaged alone."""
        return self.model.published() is not None


@dataclass(slots=True, eq=False)
class _Chain:
    """True values of every row as they stand, and means so far.

    Noted of a state: the learner's and the attacker's weights, (2, people, values); where each attribute is averaged
    alone, the counts of true codes and the laws of hidden ones, side by side.
    """

    key: np.uint64
    value: NDArray[np.int32]  # (rows,)
    true: NDArray[np.int32]  # (rows, others)
    held: Codes  # (values,) rows of each
    counter: int = 0
    running: Running = field(default_factory=Running)

    @classmethod
    def start(cls, model: _Model, engine: Engine) -> "_Chain":
        """True values that can have become what is shown, the likelier the more often."""
        random = engine.generator()
        key = random.integers(0, 2**64, dtype=np.uint64)
        value = _pick(model.value_chance * random.dirichlet(np.ones(model.values)), random)
        true = model.shown.copy()
        for a, chances in enumerate(model.chances):
            suppressed = model.shown[:, a] == model.codes[a]
            if chances is not None:
                true[:, a] = _pick(chances[:, model.shown[:, a]].T, random)
            elif suppressed.any():
                true[suppressed, a] = random.integers(0, model.codes[a], int(suppressed.sum()))
        held = np.bincount(value, minlength=model.values)
        return cls(key, value.astype(np.int32), true, held)


def _pick(weight: Floats, random: np.random.Generator) -> Codes:
    """(rows,) a column of each row of `weight`, by these weights."""
    bounds = np.cumsum(weight, axis=1)
    at = (1 - random.random(len(weight))) * bounds[:, -1]  # above 0: a weight of 0 is never picked
    return np.asarray((bounds < at[:, None]).sum(axis=1), dtype=np.int64)


def channel_beliefs(
    masked: PublishedRows,
    asked: int,
    known: Mapping[int, NDArray[np.integer]],
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    engine: Engine | None = None,
    chains: Chains | None = None,
) -> dict[str, Belief]:
    """What the learner and the Bayesian attacker believe of people, of whom these true codes are known, by attribute.

    Cost of a sweep: rows · values · attributes, and the pairs of a person and a row that may be theirs.
    """
    if not known or len({len(codes) for codes in known.values()}) != 1:
        raise UsageError("give the same number of true values for at least one known attribute")
    engine = (Engine(seed=0) if engine is None else engine).named("channel")
    chains = Chains() if chains is None else chains
    model = _Model.of(masked, asked, alpha, beta)
    number = row_numbers([np.asarray(codes, dtype=np.int64) for codes in known.values()])
    first = example_rows(number)
    people = np.zeros((len(first), len(model.others)), dtype=np.int64)
    knows = np.array([i in known for i in model.others], dtype=bool)
    for a in np.flatnonzero(knows).tolist():
        people[:, a] = np.asarray(known[model.others[a]], dtype=np.int64)[first]
    question = _Question.of(model, people, knows)
    unfit = np.setdiff1d(np.arange(len(first)), question.person)
    if len(unfit):
        person = int(np.flatnonzero(np.isin(number, unfit))[0])
        raise UsageError(f"target {person + 1} fits no row of the release; is the person in it?")
    running = [_Chain.start(model, engine.named(f"chain {c}")) for c in range(chains.chains)]
    done, goal, burn_in = 0, chains.sweeps, chains.burn_in
    while True:
        rounds = [(question, chain, goal - done, burn_in, engine, chains.every) for chain in running]
        with ThreadPoolExecutor(engine.workers) as pool:
            list(pool.map(_run, rounds))
        done, burn_in = goal, 0
        engine.report("true values", done, chains.most_sweeps)
        found = {name: _belief(name, question, running, masked, known, chains, number) for name in NAMES}
        good = all(b.diagnostics.converged and b.diagnostics.precise for b in found.values())
        wanted = max(b.diagnostics.wanted for b in found.values())
        goal = min(int(np.ceil(done * np.clip(1.05 * wanted, 1.2, 8.0))), chains.most_sweeps)
        if good or goal <= done or engine.stop.is_set():
            return found


def _run(task: tuple[_Question, _Chain, int, int, Engine, int]) -> None:
    """One round of a chain; a stop ends it once something was seen."""
    question, chain, sweeps, burn_in, engine, every = task
    model, layout = question.model, question.model.layout()
    held, alone = chain.held, question.alone
    count, seen = np.zeros(int(layout[0][-1]), dtype=np.int64), np.zeros(int(layout[4][-1]))
    watch, people = watched(len(question.people), model.values), question.people
    shape = (len(count) + len(question.times),) if alone else (2, len(people), model.values)
    none, support = np.empty(0), np.empty((0, model.values))
    rows = model.shown, model.value_chance, model.alpha, model.beta, *layout
    codes = model.shown, model.beta, *layout[:3], model.by_shown()
    for sweep in range(1 - burn_in, sweeps + 1):
        look = sweep > 0 and sweep % every == 0
        if sweep % COUNTED_EVERY == 0 or sweep == 1 - burn_in:
            perturbed.tally(chain.value, chain.true, *layout, model.beta, held, count, seen)
        room = chain.running.room(shape) if look else none
        if alone:
            law = room[len(count) :] if look else none
            state = chain.value, chain.true, count, question.offset, law
            chain.counter = int(perturbed.sweep_codes(*codes, chain.key, np.uint64(chain.counter), *state))
        else:
            weights = room[1] if look else support
            numbers = chain.key, np.uint64(chain.counter), chain.value, chain.true, held, count, seen
            who = question.start, question.person, people, question.knows
            chain.counter = int(perturbed.sweep(*rows, *numbers, *who, look, weights))
        if look:
            if alone:
                room[: len(count)] += count
            else:
                room[0] += question.joint(held, count)
            batch = chain.running.added()
            if batch is not None:
                chain.running.close(batch if alone else batch[:, watch])
        if engine.stop.is_set() and chain.running.batches:
            return


def _pairs(model: _Model, people: Codes, knows: NDArray[np.bool_]) -> tuple[Codes, Codes]:
    """By row: start, and the people whose row it may be, as far as attributes that are shown as they are tell."""
    rows = len(model.shown)
    exact = [
        a
        for a in np.flatnonzero(knows).tolist()
        if model.chances[a] is None and (model.shown[:, a] < model.codes[a]).all()
    ]
    if exact:
        key = row_numbers([np.concatenate([people[:, a], model.shown[:, a]]) for a in exact])
    else:
        key = np.zeros(len(people) + rows, dtype=np.int64)
    mine, theirs = key[: len(people)], key[len(people) :]
    order = np.argsort(mine, kind="stable")
    low, high = (np.searchsorted(mine[order], theirs, side=side) for side in ("left", "right"))
    if (high - low).sum() > MOST_PAIRS:
        raise NotApplicable(
            f"{int((high - low).sum()):,} pairs of a person and a row that may be theirs, over {MOST_PAIRS:,}; ask "
            "about fewer people"
        )
    start = np.concatenate([[0], np.cumsum(high - low)]).astype(np.int64)
    row = np.repeat(np.arange(rows), high - low)
    person = order[np.repeat(low - start[:-1], high - low) + np.arange(start[-1])]
    possible = np.ones(len(person), dtype=bool)
    for a in np.flatnonzero(knows).tolist():
        chances, shown = model.chances[a], model.shown[row, a]
        if chances is not None:
            possible &= chances[people[person, a], shown] > 0
        elif a not in exact:
            possible &= (shown == people[person, a]) | (shown == model.codes[a])
    start = np.concatenate([[0], np.cumsum(np.bincount(row[possible], minlength=rows))]).astype(np.int64)
    return start, np.ascontiguousarray(person[possible])


def _belief(
    name: str,
    question: _Question,
    running: list[_Chain],
    masked: PublishedRows,
    known: Mapping[int, NDArray[np.integer]],
    chains: Chains,
    number: Codes,
) -> Belief:
    watch = watched(len(question.people), question.model.values)
    most = min(len(chain.running.batches) for chain in running)
    mean, batches = [], []
    for chain in running:
        found = chain.running.mean()
        assert found is not None
        mean.append(question.weights(name, found, chain.held))
        some = (question.weights(name, batch, chain.held) for batch in chain.running.batches[-most:])
        batches.append(np.stack([one[watch] if question.alone else one for one in some]))
    threat = Threat(
        target=", ".join(masked.attributes[i].name for i in known),
        membership="known" if name == "bayesian" else "not known",
        mechanism="known: the chances of each change",
    )
    return belief_of(Averages(np.stack(mean), np.stack(batches, axis=1), chains.precision, number), METHOD, threat)

"""The Bayesian attacker on perturbed categories whose chances of change are published (PRAM).

The model is that of the other attackers, s ~ pi and each attribute given s ~ theta; a row shows what its true values
became. A Gibbs sampler draws the true values of rows given pi and theta, as counts of equal rows, then pi and theta.
Given both, a row's true values are independent of other rows, so that what is believed needs no drawn values: the
chance that a row is of value s and has the target's true values x is that of s, times for each attribute
theta(x) P(shown | x) / (theta P)(shown). Weights are averaged over draws first and normalised last.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import Averages, Running, belief_of, watched
from unveil.attackers.posterior.chains import Chains
from unveil.data.belief import Belief, Threat
from unveil.data.masked import SUPPRESSED, Masked
from unveil.data.release import distinct_rows, row_numbers
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError

__all__ = ["channel_beliefs", "codes_of"]

MOST_PAIRS = 20_000_000  # of a target and a distinct row: 250 MB
METHOD = "Gibbs sampling of true values"

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def codes_of(masked: Masked, index: int) -> Codes:
    """(rows,) the codes that an attribute's cells show; -1 = suppressed."""
    attribute, column = masked.attributes[index], masked.columns[index]
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
    """Distinct published rows, and for each attribute the chance of what it shows given each true value."""

    asked: int
    count: Codes  # (cells,)
    shown: Mapping[int, Codes]  # by attribute: (cells,) the column of its chances
    chances: Mapping[int, Floats]  # by attribute: (true codes, shown codes and one for suppressed)
    alpha: Floats  # (values,)
    beta: Mapping[int, Floats]  # by attribute but the asked: (values, codes)

    @classmethod
    def of(cls, masked: Masked, asked: int, alpha: float, beta: float) -> "_Model":
        if not masked.known_channel:
            which = next(i for i in masked.masked if i not in masked.channel)
            raise NotApplicable(
                f"{masked.attributes[which].name}: the values were perturbed, not widened, and the chances of that are "
                "not published"
            )
        codes = [codes_of(masked, i) for i in range(len(masked.attributes))]
        row, count = distinct_rows([c + 1 for c in codes])
        chances, shown = {}, {}
        for index, attribute in enumerate(masked.attributes):
            known = masked.channel.get(index, np.eye(attribute.codes))
            chances[index] = np.concatenate([known, np.ones((attribute.codes, 1))], axis=1)
            shown[index] = np.where(codes[index][row] < 0, attribute.codes, codes[index][row])
            if not chances[index].sum(axis=0)[shown[index]].all():
                raise NotApplicable(f"{attribute.name} shows a value that its published chances rule out")
        values = masked.attributes[asked].codes
        others = [i for i in range(len(codes)) if i != asked]
        pseudo = {i: np.full((values, masked.attributes[i].codes), float(beta)) for i in others}
        return cls(asked, count, shown, chances, np.full(values, float(alpha)), pseudo)

    def weights(self, pi: Floats, theta: Mapping[int, Floats]) -> tuple[Floats, dict[int, Floats]]:
        """(cells, values) the chance of each cell with each value; and by attribute what is shown given each value."""
        weight = pi * self.chances[self.asked][:, self.shown[self.asked]].T
        seen = {}
        for index, share in theta.items():
            seen[index] = share @ self.chances[index]  # (values, shown)
            weight = weight * seen[index][:, self.shown[index]].T
            weight /= weight.max(axis=1, keepdims=True)  # only their ratios are used; many attributes would underflow
        return weight, seen

    def sweep(
        self, pi: Floats, theta: dict[int, Floats], random: np.random.Generator
    ) -> tuple[Floats, dict[int, Floats]]:
        """New parameters, given true values drawn given the old ones."""
        weight, seen = self.weights(pi, theta)
        rows = random.multinomial(self.count, weight / weight.sum(axis=1, keepdims=True))  # (cells, values)
        new = {}
        for index, share in theta.items():
            chances = self.chances[index]
            table = np.stack([np.bincount(self.shown[index], rows[:, s], chances.shape[1]) for s in range(len(pi))])
            likely = share[:, None, :] * chances.T[None]  # (values, shown, true)
            total = seen[index][:, :, None]
            likely = np.divide(likely, total, out=np.full_like(likely, 1 / likely.shape[2]), where=total > 0)
            true = random.multinomial(table.astype(np.int64), likely).sum(axis=1)
            drawn = random.standard_gamma(self.beta[index] + true)
            new[index] = np.maximum(drawn, 1e-300) / np.maximum(drawn, 1e-300).sum(axis=1, keepdims=True)
        return random.dirichlet(self.alpha + rows.sum(axis=0)), new


def channel_beliefs(
    masked: Masked,
    asked: int,
    known: Mapping[int, NDArray[np.integer]],
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    engine: Engine | None = None,
    chains: Chains | None = None,
) -> dict[str, Belief]:
    """What the learner and the Bayesian attacker believe of people, of whom these true codes are known, by attribute.

    Cost of a sweep: distinct rows · values · attributes, and the pairs of a person and a row that may be theirs.
    """
    if not known or len({len(codes) for codes in known.values()}) != 1:
        raise UsageError("give the same number of true values for at least one known attribute")
    engine = (Engine(seed=0) if engine is None else engine).named("channel")
    chains = Chains() if chains is None else chains
    model = _Model.of(masked, asked, alpha, beta)
    number = row_numbers([np.asarray(codes, dtype=np.int64) for codes in known.values()])
    first = np.zeros(int(number.max(initial=-1)) + 1, dtype=np.int64)
    first[number] = np.arange(len(number))
    people = {i: np.asarray(codes, dtype=np.int64)[first] for i, codes in known.items()}
    pairs = _pairs(model, people)
    unfit = np.flatnonzero(np.asarray(pairs.sum(axis=1)).ravel() == 0)
    if len(unfit):
        person = int(np.flatnonzero(number == unfit[0])[0])
        raise UsageError(f"target {person + 1} fits no row of the release; is the person in it?")
    running = [{name: Running() for name in ("learner", "bayesian")} for _ in range(chains.chains)]
    watch = watched(len(first), len(model.alpha))
    state = [_start(model, engine.named(f"chain {c}").generator()) for c in range(chains.chains)]
    done, burn_in = 0, chains.burn_in
    while True:
        for c, (pi, theta, random) in enumerate(state):
            for sweep in range(-burn_in, chains.sweeps):
                pi, theta = model.sweep(pi, theta, random)
                if sweep >= 0 and sweep % chains.every == 0:
                    for name, term in _terms(model, people, pairs, pi, theta).items():
                        batch = running[c][name].add(term)
                        if batch is not None:
                            running[c][name].close(batch[watch])
                if engine.stop.is_set() and sweep >= 0 and done:
                    break
            state[c] = pi, theta, random
            engine.report("true values", (done + chains.sweeps) * (c + 1), chains.most_sweeps * chains.chains)
        done, burn_in = done + chains.sweeps, 0
        found = {name: _belief(name, [r[name] for r in running], masked, known, chains) for name in running[0]}
        agree = all(b.diagnostics.converged for b in found.values())
        if (agree and all(b.diagnostics.precise for b in found.values())) or done + chains.sweeps > chains.most_sweeps:
            break
        if engine.stop.is_set():
            break
        if not agree:  # what was drawn is taken for the way there
            running = [{name: Running() for name in one} for one in running]
    return {name: belief.of(number) for name, belief in found.items()}


def _start(model: _Model, random: np.random.Generator) -> tuple[Floats, dict[int, Floats], np.random.Generator]:
    theta = {i: random.dirichlet(np.ones(b.shape[1]), size=len(b)) for i, b in model.beta.items()}
    return random.dirichlet(np.ones(len(model.alpha))), theta, random


def _pairs(model: _Model, people: Mapping[int, Codes]) -> Any:  # a sparse matrix of scipy
    """(people, cells) the chance of what a row shows of the known attributes, given the person's true values."""
    from scipy.sparse import csr_array

    exact = [i for i in people if (model.chances[i][:, :-1] == np.eye(len(model.chances[i]))).all()]
    exact = [i for i in exact if (model.shown[i] < len(model.chances[i])).all()]
    mine = [people[i] for i in exact]
    if exact:
        key = row_numbers([np.concatenate([a, model.shown[i]]) for a, i in zip(mine, exact, strict=True)])
    else:
        key = np.zeros(len(next(iter(people.values()))) + len(model.count), dtype=np.int64)
    persons = len(next(iter(people.values())))
    theirs = key[persons:]
    order = np.argsort(theirs, kind="stable")
    low, high = (np.searchsorted(theirs[order], key[:persons], side=side) for side in ("left", "right"))
    if (high - low).sum() > MOST_PAIRS:
        raise NotApplicable(
            f"{int((high - low).sum()):,} pairs of a person and a row that may be theirs, over {MOST_PAIRS:,}; ask "
            "about fewer people"
        )
    start = np.zeros(persons + 1, dtype=np.int64)
    np.cumsum(high - low, out=start[1:])
    person = np.repeat(np.arange(persons), high - low)
    cell = order[np.repeat(low - start[:-1], high - low) + np.arange(start[-1])]
    chance = np.ones(len(cell))
    for index, codes in people.items():
        if index not in exact:
            chance *= model.chances[index][codes[person], model.shown[index][cell]]
    return csr_array((chance, cell, start), shape=(persons, len(model.count)))


def _terms(
    model: _Model, people: Mapping[int, Codes], pairs: Any, pi: Floats, theta: Mapping[int, Floats]
) -> dict[str, Floats]:
    """(people, values) of one draw: p(s, x | pi, theta), and the rows that hold s and are expected to be x."""
    weight, seen = model.weights(pi, theta)
    own = np.ones((len(next(iter(people.values()))), len(pi)))
    for index, codes in people.items():
        own *= theta[index].T[codes]
    held = weight * (model.count / weight.sum(axis=1))[:, None]
    for index in people:
        held /= np.maximum(seen[index][:, model.shown[index]].T, 1e-300)
    return {"learner": own * pi, "bayesian": own * (pairs @ held)}


def _belief(
    name: str, running: list[Running], masked: Masked, known: Mapping[int, NDArray[np.integer]], chains: Chains
) -> Belief:
    mean = np.stack([mean for one in running if (mean := one.mean()) is not None])
    most = min(len(one.batches) for one in running)
    batches = np.stack([np.stack(one.batches[:most]) for one in running], axis=1)
    threat = Threat(
        target=", ".join(masked.attributes[i].name for i in known),
        membership="known" if name == "bayesian" else "not known",
        mechanism="known: the chances of each change",
    )
    return belief_of(Averages(mean, batches, chains.precision), METHOD, threat)

"""A chain through the worlds that fit a release: matchings, withheld values and parameters, drawn in turn."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.hidden import HiddenBlock, HiddenModel
from unveil.attackers.posterior.parameters import Shares
from unveil.engine import Engine
from unveil.kernels import gibbs, matching
from unveil.kernels.distributions import multinomial
from unveil.kernels.random import draw
from unveil.kernels.repeated_groups import match_repeated

__all__ = ["Chain", "Draw", "each_alone", "start_values", "sweep_on"]

FRESH_EVERY = 8  # sweeps: parameters drawn without a look at where they were
WHOLE_EVERY = 50  # sweeps: codes that no row of a value can have drawn one by one; before values trade shares
ANNEAL_FROM = 0.1  # the exponent of the matching weights at the start of burn-in
ANNEAL_SHARE = 0.7  # of burn-in
SAVED = "keys", "drawn", "pi", "current", "counter", "sweep"

Ready = tuple[matching.Weights, NDArray[np.int64] | None]
"""Of a block: the weights at the parameters just reached, and what was matched by them, if that is done already."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One kept state of a chain."""

    theta: Shares
    mean: Shares  # the same averaged given the matched rows (Rao-Blackwell)
    pi: NDArray[np.float64]  # (values,)
    pi_mean: NDArray[np.float64]
    partner: tuple[NDArray[np.int32], ...]  # by hidden block: the state of groups too large to match exactly
    key: np.uint64
    current: NDArray[np.int64]  # (withheld rows,) the values they hold, if each holds one
    # By hidden block, at these parameters; only of the state just reached:
    weights: tuple[matching.Weights, ...] | None = None
    expected: tuple[NDArray[np.float64], ...] | None = None  # (pairs,) how many of each; written over by the next state
    reckoned: dict[int, NDArray[np.float64]] = field(default_factory=dict)  # the same, by block, once asked for


@dataclass(slots=True, eq=False)
class Chain:
    """A chain where it stands. It can be saved as it is and goes on with the same draws."""

    keys: NDArray[np.uint64]  # of the matchings, of the parameters
    drawn: NDArray[np.float64]  # of each attribute the shares of its codes, or of its centres if it is smoothed; flat
    theta: Shares  # of codes
    pi: NDArray[np.float64]
    partners: list[NDArray[np.int32]]
    counter: np.uint64  # draws of the parameters so far
    current: NDArray[np.int64]  # (withheld rows,) the values they hold, if each holds one
    sweep: int = 0

    @classmethod
    def start(cls, model: HiddenModel, engine: Engine) -> "Chain":
        """Anywhere: chains that start apart and end together agree."""
        random = engine.generator()
        keys = random.integers(0, 2**64, size=2, dtype=np.uint64)
        pieces = [random.dirichlet(np.ones(codes), size=values).ravel() for values, codes in model.layout.shape]
        drawn = np.maximum(np.concatenate([np.empty(0), *pieces]), 1e-12)
        theta = model.layout.shares(drawn)
        pi = np.maximum(random.dirichlet(model.prior.alpha + model.value_counts), 1e-300)
        partners = []
        for block in model.hidden:
            partner = np.zeros(int(block.groups.row_start[-1]), dtype=np.int32)
            key = keys[0] ^ np.uint64(block.number)
            matching.start_matching(block.groups, 0, len(block.groups.method), key, partner)
            partners.append(partner)
        return cls(keys, drawn, theta, pi, partners, np.uint64(0), start_values(model, random))

    def put(self, model: HiddenModel, drawn: NDArray[np.float64]) -> "Chain":
        """The chain at other parameters."""
        self.drawn = np.maximum(drawn, 1e-12)
        self.theta = model.layout.shares(self.drawn)
        return self

    def arrays(self, at: str) -> dict[str, NDArray[Any]]:
        """All there is to save, by name."""
        found = {f"{at}/{name}": np.asarray(getattr(self, name)) for name in SAVED}
        return found | {f"{at}/partner/{b}": partner for b, partner in enumerate(self.partners)}

    def restore(self, model: HiddenModel, arrays: Mapping[str, NDArray[Any]], at: str) -> None:
        """Go on where `arrays` was taken."""
        self.keys, self.drawn, self.pi, self.current = (arrays[f"{at}/{name}"] for name in SAVED[:4])
        self.counter, self.sweep = np.uint64(arrays[f"{at}/counter"]), int(arrays[f"{at}/sweep"])
        self.theta = model.layout.shares(self.drawn)
        self.partners = [arrays[f"{at}/partner/{b}"] for b in range(len(model.hidden))]

    def copied(self, key: int) -> "Chain":
        """The same state, with draws of its own."""
        keys = np.array([draw(np.uint64(key), np.uint64(i)) for i in range(2)], dtype=np.uint64)
        partners = [partner.copy() for partner in self.partners]
        return replace(self, keys=keys, drawn=self.drawn.copy(), partners=partners, counter=np.uint64(0))

    def advance(
        self,
        model: HiddenModel,
        exponent: float,
        *,
        fresh: bool = False,
        ready: tuple[Ready, ...] | None = None,
        wanted: bool = True,
    ) -> tuple[Shares, NDArray[np.float64]]:
        """One sweep; the means of the parameters given what was matched, if `wanted`. `fresh`: without a look at what
        was before."""
        keys = self.key(), self.keys[1]
        mirror = not fresh and self.sweep % FRESH_EVERY > 0
        state = self.theta, self.drawn, self.pi, self.partners, self.current
        whole = (self.sweep + 1) % WHOLE_EVERY == 0
        found = sweep_on(model, *state, keys, self.counter, exponent, mirror, whole, ready, wanted)
        self.theta, self.drawn, mean, self.pi, pi_mean, self.current, self.counter = found
        self.sweep += 1
        return mean, pi_mean

    def key(self) -> np.uint64:
        """Of the next sweep's matchings. A hash: keys a step apart would share draws between groups and sweeps."""
        return np.uint64(draw(self.keys[0], np.uint64(self.sweep)))

    def run_to(
        self,
        model: HiddenModel,
        sweep: int,
        *,
        burn_in: int,
        anneal: bool,
        every: int,
        move: Callable[["Chain"], bool] | None = None,
    ) -> Iterator[Draw | None]:
        """Sweep on up to this sweep; after each the state, if it is one to look at (every few after burn-in).

        With `anneal` the weights of the matching rise to their full force during burn-in. `move`, after each sweep, may
        put another state in place of this one, and says if it did.
        """
        ready: tuple[Ready, ...] | None = None
        expected = tuple(np.empty(len(block.entry) if model.closed else 0) for block in model.hidden)
        while self.sweep < sweep:
            exponent = 1.0
            if anneal and self.sweep < burn_in:
                exponent = min(1.0, ANNEAL_FROM + (1 - ANNEAL_FROM) * self.sweep / (ANNEAL_SHARE * burn_in))
            key, after = self.key(), self.sweep + 1 - burn_in
            looked_at = after > 0 and after % every == 0
            mean, pi_mean = self.advance(model, exponent, fresh=exponent < 1, ready=ready, wanted=looked_at)
            ready = None
            if move is not None:
                move(self)
            if looked_at:
                partner = tuple(p.copy() for p in self.partners)
                # For whoever looks, and for the next sweep.
                weights = tuple(model.weights(b, self.theta, self.pi, self.current) for b in model.hidden)
                if model.closed:  # whoever looks asks for what the next sweep computes anyway
                    matched = zip(model.hidden, weights, self.partners, expected, strict=True)
                    ready = tuple((w, _match(b, w, self.key(), p, out)) for b, w, p, out in matched)
                else:
                    ready = tuple((w, None) for w in weights)
                more = weights, expected if model.closed else None
                yield Draw(self.theta, mean, self.pi, pi_mean, partner, key, self.current, *more)
            else:
                yield None


State = tuple[
    Shares, NDArray[np.float64], Shares, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], np.uint64
]


def each_alone(model: HiddenModel) -> NDArray[np.float64]:
    """Shares of each matched attribute by least squares from what its groups hold and show; of others the prior's.

    What a group shows of a code is on average the sum over its values of their shares of the code.
    """
    layout, release = model.layout, model.release
    found = layout.split(layout.join({i: b / b.sum(axis=1, keepdims=True) for i, b in model.prior.beta.items()}))
    own = release.block_of(model.asked)
    region = release.regions[model.asked]
    weight = np.zeros((len(region), model.values))
    for number in range(len(region)):
        members = region.members(number)
        weight[number, members] = 1 / len(members)
    held = np.zeros((release.groups, model.values))
    np.add.at(held, own.group, weight[own.region(model.asked)] * own.count[:, None])
    for block in (release.blocks[b.number] for b in model.hidden):
        for index in block.attributes:
            if index in layout.kernels:
                continue
            regions, codes = release.regions[index], release.attributes[index].codes
            shown = np.zeros((release.groups, codes))
            spread = regions.totals(np.eye(codes)) / regions.sizes[:, None]
            np.add.at(shown, block.group, spread[block.region(index)] * block.count[:, None])
            beta = model.prior.beta[index]
            shares = np.linalg.solve(held.T @ held + np.eye(model.values), held.T @ shown + found[index])
            shares = np.maximum(shares, 0.0) * held.sum(axis=0)[:, None] + beta
            found[index][:] = shares / shares.sum(axis=1, keepdims=True)
    return found.flat


def start_values(model: HiddenModel, random: np.random.Generator) -> NDArray[np.int64]:
    """Any values that the withheld rows may have, where each holds one."""
    if not model.withheld.by_row:
        return np.empty(0, dtype=np.int64)
    chance = model.withheld.allowed * (1 - random.random(model.withheld.allowed.shape))
    return np.asarray(chance.argmax(axis=1), dtype=np.int64)


def sweep_on(
    model: HiddenModel,
    theta: Shares,
    drawn: NDArray[np.float64],
    pi: NDArray[np.float64],
    partners: list[NDArray[np.int32]],
    current: NDArray[np.int64],
    keys: tuple[np.uint64, np.uint64],
    counter: np.uint64,
    exponent: float,
    mirror: bool,
    whole: bool = True,
    ready: tuple[Ready, ...] | None = None,
    wanted: bool = True,
) -> State:
    """Matchings, withheld values and parameters drawn again, in this order; `keys`: of the matchings, of the rest.

    `drawn` is what `theta` came from. `partners` change in place. `mirror`: parameters are drawn on the other side of
    where they were. `whole`: see Layout.draw. `exponent`: below 1 the likelihood of matched cells is tempered. `ready`:
    what of the hidden blocks is known at these parameters already. `wanted`: the means are.
    """
    key, parameter_key = keys
    values, power = model.values, model.power(exponent)
    if exponent != 1.0:
        theta = model.layout.heated(drawn, power)
    large = model.layout.possible is not None
    counts = model.own_counts if large else model.own_counts.copy()
    value_counts = model.value_counts.copy()
    kinds = len(model.withheld.rows)
    log_share = model.log_shares(theta) if kinds else np.empty(0)
    tallies = []
    beside = model.log_own(slice(None), log_share, pi) if model.withheld.by_row else np.empty(0)
    for place, block in enumerate(model.hidden):
        if ready is None:
            weights, done = model.weights(block, theta, pi, current), None
        else:
            weights, done = ready[place]
        tally = _match(block, weights, key, partners[place], np.empty(0)) if done is None else done
        every = np.arange(len(block.cells) if kinds else 0, dtype=np.int32)
        if model.withheld.by_row:
            beside += weights.some(every)[1][tally[:, values:].argmax(axis=0), :values]
        elif kinds:
            log_weight = weights.some(every)[1]
            counter = _reveal(model, log_weight, log_share, pi, tally, counts, value_counts, parameter_key, counter)
        tallies.append(tally)
    if model.withheld.by_row:
        current, counter = _redraw(model, beside, tallies, counts, value_counts, parameter_key, counter)
    if large:  # the rows of tallies are regions
        own = model.release.block_of(model.asked)
        counts = tallies[0] if len(tallies) == len(own.attributes) == 1 else sum(tallies, counts)
    for block, tally in zip(model.hidden, [] if large else tallies, strict=not large):
        if block.parts is None:
            block.products.collect(np.ascontiguousarray(tally[:, :values]), counts)
        else:
            block.products.collect_rows(tally, counts)
    if kinds and not model.hidden:
        tally = np.zeros((1, values + kinds), dtype=np.int64)
        tally[0, values:] = model.withheld.rows
        counter = _reveal(
            model, np.zeros((1, values + kinds)), log_share, pi, tally, counts, value_counts, parameter_key, counter
        )
    new, mean, counter = model.layout.draw(counts, drawn, power, mirror, whole, wanted, parameter_key, counter)
    pi_mean, new_pi = np.empty((1, values)), np.empty((1, values))
    counts_and_key = model.prior.alpha[None], value_counts[None], new_pi[:0], parameter_key, counter
    counter = np.uint64(gibbs.draw_parameters(*counts_and_key, pi_mean, new_pi))
    shares = model.layout.shares
    return shares(new), new, shares(mean), new_pi[0], pi_mean[0], current, counter


def _match(
    block: HiddenBlock,
    weights: matching.Weights,
    key: np.uint64,
    partner: NDArray[np.int32],
    expected: NDArray[np.float64],
) -> NDArray[np.int64]:
    """(rows of the table, columns) the cells that a sweep matched; `expected` (pairs,) is filled if not empty."""
    tally = np.zeros(weights.table.shape, dtype=np.int64)
    block_key = np.uint64(int(key) ^ (block.number + 1))
    groups, none = block.groups, np.empty(0, np.int32)
    if block.repeated is not None:
        kinds = block.repeated.groups
        shape = kinds.cell_count, kinds.value_start, kinds.value, kinds.value_count, block.repeated.times
        match_repeated(kinds.start, block.repeated.part, *shape, weights.table, ~block_key, tally)
        weights = replace(weights, part=block.repeated.rest_part)
        if not len(groups.method):
            return tally
    matching.sweep(groups, 0, len(groups.method), weights, block_key, matching.ROUNDS, partner, expected, none, tally)
    return tally


def _redraw(
    model: HiddenModel,
    beside: NDArray[np.float64],
    tallies: list[NDArray[np.int64]],
    counts: NDArray[np.int64],
    value_counts: NDArray[np.int64],
    key: np.uint64,
    counter: np.uint64,
) -> tuple[NDArray[np.int64], np.uint64]:
    """Draw the value of every withheld row given its own and its matched cells, `beside` (rows, values) in logarithms;
    move its cells to that value's column."""
    values, own = model.values, model.release.block_of(model.asked)
    chance = np.exp(beside - beside.max(axis=1, keepdims=True))
    current = np.empty(len(beside), dtype=np.int64)
    for row in range(len(beside)):
        drawn = np.zeros(values, dtype=np.int64)
        counter = np.uint64(multinomial(1, chance[row], key, counter, drawn))
        current[row] = drawn.argmax()
    np.add.at(value_counts, current, 1)
    for index in own.attributes:
        if index != model.asked:
            np.add.at(counts, (model.first[index] + own.region(index)[model.withheld.entry], current), 1)
    for tally in tallies:
        np.add.at(tally, (tally[:, values:].argmax(axis=0), current), 1)
    return current, counter


def _reveal(
    model: HiddenModel,
    log_weight: NDArray[np.float64],
    log_share: NDArray[np.float64],
    pi: NDArray[np.float64],
    tally: NDArray[np.int64],
    counts: NDArray[np.int64],
    value_counts: NDArray[np.int64],
    key: np.uint64,
    counter: np.uint64,
) -> np.uint64:
    """Draw the value of every withheld row, given the cell it was matched with; move it to that value's column."""
    values = model.values
    own = model.release.block_of(model.asked)
    for kind in range(len(model.withheld.rows)):
        log_own = model.log_own(kind, log_share, pi)
        entry = model.withheld.entry[kind]
        for cell in np.flatnonzero(tally[:, values + kind]).tolist():
            chance = np.exp(log_own + log_weight[cell, :values] - (log_own + log_weight[cell, :values]).max())
            drawn = np.zeros(values, dtype=np.int64)
            counter = np.uint64(multinomial(int(tally[cell, values + kind]), chance, key, counter, drawn))
            tally[cell, :values] += drawn
            value_counts += drawn
            for index in own.attributes:
                if index != model.asked:
                    counts[model.first[index] + own.region(index)[entry]] += drawn
    return counter

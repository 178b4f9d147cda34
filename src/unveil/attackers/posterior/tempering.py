"""Parallel tempering: moves between the modes of a posterior, with the right weights.

Beside each chain run others at lower powers of the likelihood of matched cells, down to 0, where it is the prior. Their
law is prior(theta) · sum over matchings of prod theta^power: matchings are summed out, so that states of neighbours can
be exchanged often (non-reversible swaps, Okabe 2001, Syed et al. 2022). At each level two sensitive values also trade
their shares, in all matched attributes, in one, or in codes whose groups are linked with few others (see flips.py): a
release often fits a world and its mirror image, and parts of it may have mirrors of their own. Pairs of values take
turns instead of being drawn: of two mirror images each is then visited as often as the other.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.chain import FRESH_EVERY, WHOLE_EVERY, Chain, Draw
from unveil.attackers.posterior.flips import Flip, linked_flips, plain_flips
from unveil.attackers.posterior.hidden import HiddenBlock, HiddenModel, Repeated
from unveil.engine import Engine
from unveil.kernels import matching, tempering
from unveil.kernels.random import uniform
from unveil.kernels.repeated_groups import MOST_WAYS, ways_of

__all__ = ["Likelihood", "Tempering"]

LEVELS = 10  # at first, the chain's own among them
MOST_LEVELS = 24
LOWEST = 0.01  # the power above 0
MOVE_EVERY = 2  # sweeps
ALONE_EVERY = WHOLE_EVERY  # sweeps between trades of values, where the table is too large for a ladder
SPACED_AT = (0.15, 0.3, 0.5, 0.75)  # of burn-in
REJECTED = 0.5  # of exchanges between neighbours, at most, on average: else there are more levels
MOST_MIRRORED = 6  # states that one is looked at with
MOST_PARAMETERS = 60  # of matched attributes: levels must lie the closer the more there are
MOST_NUMBERS = 3_000  # pairs and shares that a sweep works on

SAVED = "exponents", "rejected", "heading", "trades", "counter", "tried", "trips"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """log of the sum over all matchings of the weights of matched cells, groups of the same kind worked out once."""

    model: HiddenModel
    kinds: tuple[tuple[HiddenBlock, matching.Groups, Floats], ...]  # groups of each kind, and how many there are
    calls: tuple[tuple[Any, ...], ...]  # by block what the kernel is told, where one kernel does it all

    @classmethod
    def of(cls, model: HiddenModel) -> "Likelihood":
        """Of a model whose groups are all matched exactly."""
        layout, kinds = model.layout, tuple((block, *_kinds(block.groups)) for block in model.hidden)
        runs = layout.place, layout.row, layout.start, layout.low, layout.high
        calls = tuple((*runs, block.cells, block.offset, model.values, *some) for block, *some in kinds)
        return cls(model, kinds, () if layout.kernels or len(model.withheld.rows) else calls)

    def __call__(self, drawn: Floats, pi: Floats, exponent: float = 1.0) -> float:
        """At these parameters, the likelihood of each matching raised to `exponent`."""
        model, power = self.model, self.model.power(exponent)
        if self.calls:
            return float(sum(tempering.log_likelihood(drawn, power, *call) for call in self.calls))
        log_share = model.log_shares(model.layout.heated(drawn, power))
        total, none = 0.0, np.empty(0, dtype=np.int64)
        for block, groups, times in self.kinds:
            each = np.empty(len(times))
            matching.log_permanent(groups, 0, len(times), model.log_weights(block, log_share, pi, none), each)
            total += float(each @ times)
        return total

    def log_posterior(self, drawn: Floats, pi: Floats) -> float:
        """Up to a constant, as a density of logarithms of shares: that of shares is infinite where beta is below 1."""
        return self(drawn, pi) + float((self.model.layout.beta * np.log(drawn))[self._matched()].sum())

    def _matched(self) -> NDArray[np.bool_]:
        return np.repeat(self.model.matched, np.diff(self.model.layout.place))


def repeated(model: HiddenModel) -> HiddenModel:
    """The same for sweeps alone: groups of one kind are matched all at once, where there are few ways to do it."""
    blocks = []
    for block in model.hidden:
        kinds, times = _kinds(block.groups)
        few = np.array([ways_of(kinds.value_count[a:b]) <= MOST_WAYS for a, b in pairwise(kinds.value_start.tolist())])
        many = np.repeat(np.flatnonzero(~few), times[~few].astype(np.int64))  # each group for itself
        some = _selected(kinds, np.flatnonzero(few))
        rest = _selected(kinds, many)
        of_cell = block.parts[0] if block.parts is not None else np.arange(len(block.cells), dtype=np.int32)[:, None]
        part, rest_part = (np.ascontiguousarray(of_cell[groups.cell]) for groups in (some, rest))
        parts = None if block.parts is None else (block.parts[0], rest_part)
        one = Repeated(some, times[few].astype(np.int64), part, rest_part)
        blocks.append(replace(block, groups=rest, parts=parts, repeated=one))
    return replace(model, hidden=tuple(blocks))


def _kinds(groups: matching.Groups) -> tuple[matching.Groups, Floats]:
    """One group of each kind, and how many of it there are."""
    seen: dict[tuple[bytes, ...], int] = {}
    which: list[int] = []
    for g in range(len(groups.method)):
        entries = slice(groups.start[g], groups.start[g + 1])
        order = np.lexsort((groups.cell_count[entries], groups.cell[entries]))
        cells, counts = groups.cell[entries][order], groups.cell_count[entries][order]
        values = slice(groups.value_start[g], groups.value_start[g + 1])
        parts = cells, counts, groups.value[values], groups.value_count[values]
        which.append(seen.setdefault(tuple(part.tobytes() for part in parts), len(seen)))
    times = np.bincount(which).astype(np.float64)
    return _selected(groups, np.unique(which, return_index=True)[1]), times


def _selected(groups: matching.Groups, which: NDArray[np.int64]) -> matching.Groups:
    """Some groups, laid out."""
    entry, start = _gathered(groups.start, which)
    value, value_start = _gathered(groups.value_start, which)
    laid = start, groups.cell[entry], groups.cell_count[entry]
    return matching.lay_out(*laid, value_start, groups.value[value], groups.value_count[value])


def _gathered(start: NDArray[np.int64], which: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The items of some groups, and where each group's start among them."""
    length = start[which + 1] - start[which]
    stop = np.cumsum(length)
    item = np.repeat(start[which] - stop + length, length) + np.arange(int(stop[-1]) if len(stop) else 0)
    return item, np.concatenate([[0], stop]).astype(np.int64)


@dataclass(slots=True, eq=False)
class Tempering:
    """The chains beside one, and what has become of their exchanges."""

    likelihood: Likelihood
    fast: HiddenModel  # for sweeps of the other chains
    told: tuple[Any, ...]  # to the kernel that does all of a sweep; () where several do
    key: np.uint64
    exponents: Floats  # (levels,) from 1 down to 0; 1 alone where the table is too large
    hot: list[Chain]  # (levels - 1,)
    counter: int = 0
    rejected: Floats = field(default_factory=lambda: np.zeros(0))  # (levels - 1,) chances of it, summed
    tried: int = 0  # exchanges of each pair
    heading: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))  # (levels,) 1: comes from the prior
    trips: int = 0  # states that came from the prior to the posterior
    trades: Floats = field(default_factory=lambda: np.zeros((2, 2)))  # at the chain's own level, of whole attributes
    # and of linked codes: tried, made
    pairs: tuple[tuple[int, int], ...] = ()  # of values that may trade
    flips: tuple[tuple[Flip, ...], tuple[Flip, ...]] = ((), ())  # all attributes, each attribute; linked codes

    @classmethod
    def of(cls, model: HiddenModel, likelihood: Likelihood, engine: Engine) -> "Tempering":
        """Chains that start anywhere."""
        key = engine.named("ladder").generator().integers(0, 2**64, dtype=np.uint64)
        fast = repeated(model)
        free = sum(
            (codes - 1) * values for (values, codes), m in zip(model.layout.shape, model.matched, strict=True) if m
        )
        held = np.flatnonzero(model.value_counts + (model.values if len(model.withheld.rows) else 0)).tolist()
        pairs = tuple(combinations(held, 2))
        plain = plain_flips(model)
        if free > MOST_PARAMETERS or _numbers(fast) > MOST_NUMBERS:
            return cls(likelihood, fast, (), key, np.ones(1), [], pairs=pairs, flips=(plain, ()))
        exponents = np.append(np.geomspace(1.0, LOWEST, LEVELS - 1), 0.0)
        hot = [Chain.start(model, engine.named(f"level {k}")) for k in range(1, LEVELS)]
        linked = linked_flips(model, likelihood.kinds)
        found = cls(likelihood, fast, _told(fast), key, exponents, hot, pairs=pairs, flips=(plain, linked))
        found._reset()
        return found

    @staticmethod
    def suits(model: HiddenModel) -> bool:
        """Whether matchings can be summed out."""
        return bool(model.hidden) and not model.withheld.by_row and all(_exact(block) for block in model.hidden)

    def step(self, model: HiddenModel, chain: Chain, burn_in: int) -> bool:
        """One sweep of every level but the chain's own, and moves; whether the chain's own state has changed."""
        for replica, exponent in zip(self.hot, self.exponents[1:].tolist(), strict=True):
            if self.told:
                self._sweep(replica, exponent)
            else:
                replica.advance(self.fast, exponent)
        if chain.sweep % (MOVE_EVERY if self.hot else ALONE_EVERY):
            return False
        everyone, x = [chain, *self.hot], self.exponents.tolist()
        fits = [self.likelihood(one.drawn, one.pi, exponent) for one, exponent in zip(everyone, x, strict=True)]
        before, turn = chain.drawn, chain.sweep // (MOVE_EVERY if self.hot else ALONE_EVERY)
        for k, one in enumerate(everyone):
            fits[k] = self._trade(one, x[k], fits[k], turn)
        if self.hot:
            self._exchange(everyone, fits)
            if chain.sweep in [int(share * burn_in) // MOVE_EVERY * MOVE_EVERY for share in SPACED_AT]:
                self._space()
        return chain.drawn is not before

    def _sweep(self, replica: Chain, exponent: float) -> None:
        """`Chain.advance` where one kernel does it all; pi is not drawn: the likelihood does not know it."""
        mirror, drawn = replica.sweep % FRESH_EVERY > 0, replica.drawn.copy()
        numbers = replica.keys[0], replica.sweep, replica.counter
        reached = tempering.sweep(drawn, self.fast.power(exponent), mirror, *numbers, *self.told)
        replica.drawn, replica.counter = drawn, np.uint64(reached)
        replica.sweep += 1

    def arrays(self, at: str) -> dict[str, NDArray[Any]]:
        """All there is to save, by name."""
        found = {f"{at}/{name}": np.asarray(getattr(self, name)) for name in SAVED}
        for number, replica in enumerate(self.hot):
            found |= replica.arrays(f"{at}/{number}")
        return found

    def restore(self, model: HiddenModel, arrays: Mapping[str, NDArray[Any]], at: str) -> None:
        """Go on where `arrays` was taken."""
        self.exponents, self.rejected, self.heading, self.trades = (arrays[f"{at}/{name}"] for name in SAVED[:4])
        self.counter, self.tried, self.trips = (int(arrays[f"{at}/{name}"]) for name in SAVED[4:])
        levels = len(self.exponents) - 1
        self.hot = [self.hot[min(number, len(self.hot) - 1)].copied(number) for number in range(levels)]
        for number, replica in enumerate(self.hot):
            replica.restore(model, arrays, f"{at}/{number}")

    def facts(self) -> dict[str, float]:
        """How often neighbours exchange, how often a state came all the way, and how often values traded places."""
        found = {"levels": float(len(self.exponents)), "round_trips": float(self.trips)}
        if self.tried:
            found["exchange_rate_least"] = float(1 - (self.rejected / self.tried).max())
        for name, (tried, made) in zip(("trade_rate", "set_trade_rate"), self.trades.tolist(), strict=True):
            if tried:
                found[name] = float(made / tried)
        return found

    def _uniform(self) -> float:
        self.counter += 1
        return float(uniform(self.key, np.uint64(self.counter)))

    def _trade(self, chain: Chain, exponent: float, fit: float, turn: int) -> float:
        """Two values trade shares, every second time in all matched attributes; the log likelihood after it."""
        plain, linked = self.flips
        if not self.pairs or not plain:
            return fit
        first, other = self._pair(turn // 2)
        some = (*plain[1:], *linked)
        number = int(self._uniform() * len(some)) if turn % 2 and some else -1
        flip = some[number] if number >= 0 else plain[0]
        layout = self.likelihood.model.layout
        drawn, prior = flip.made(layout, chain.drawn, first, other)
        new = self.likelihood(drawn, chain.pi, exponent)
        taken = self._uniform() < math.exp(min(new - fit + prior, 0.0))
        if exponent == 1.0:
            self.trades[int(number >= len(plain) - 1)] += 1, taken
        if taken:
            chain.drawn, chain.theta = drawn, layout.shares(drawn)
        return new if taken else fit

    def mirrored(self, chain: Chain, draw: Draw) -> list[Draw]:
        """This state and what a few trades of values in all matched attributes, one after another, would make of it.

        The chain does not move. The average over a state and what moves would make of it is right as well (Frenkel
        2004), and mirror images of the same weight cancel at once instead of after thousands of visits.
        """
        model, plain, found = self.likelihood.model, self.flips[0], [draw]
        if not self.hot or not self.pairs or not plain:
            return found
        drawn, fit = chain.drawn, self.likelihood(chain.drawn, chain.pi)
        # Whether a trade is made depends on the parameters: their mean given what was matched must not stand for them.
        now = _at(model, draw, drawn)
        for turn in range(MOST_MIRRORED - 1 if len(self.pairs) > 1 else 1):
            # Of three values these visit every order; of more, some.
            first, other = self.pairs[(-1 - turn) % 2] if len(self.pairs) == 3 else self._pair(chain.sweep + turn)
            traded, prior = plain[0].made(model.layout, drawn, first, other)
            new = self.likelihood(traded, chain.pi)
            if self._uniform() < math.exp(min(new - fit + prior, 0.0)):
                drawn, fit, now = traded, new, _at(model, draw, traded)
            found.append(now)
        return found

    def _pair(self, turn: int) -> tuple[int, int]:
        return self.pairs[turn % len(self.pairs)]

    def _exchange(self, chains: list[Chain], fits: list[float]) -> None:
        """Neighbours exchange their states, every second pair in turn."""
        x, at = self.exponents.tolist(), self.likelihood
        for k in range(self.tried % 2, len(chains) - 1, 2):
            upper, lower = chains[k], chains[k + 1]
            gain = at(lower.drawn, lower.pi, x[k]) + at(upper.drawn, upper.pi, x[k + 1])
            chance = math.exp(min(gain - fits[k] - fits[k + 1], 0.0))
            self.rejected[k] += 2 * (1 - chance)  # a pair is tried every second time
            if self._uniform() < chance:
                upper.drawn, lower.drawn = lower.drawn, upper.drawn
                upper.pi, lower.pi = lower.pi, upper.pi
                for one in (upper, lower):
                    one.theta = self.likelihood.model.layout.shares(one.drawn)
                self.heading[[k, k + 1]] = self.heading[[k + 1, k]]
        self.tried += 1
        self.heading[-1] = 1
        self.trips += int(self.heading[0])
        self.heading[0] = 0

    def _space(self) -> None:
        """Levels at equal distances of rejection; more of them where exchanges are rare."""
        barrier = np.maximum(self.rejected / max(self.tried, 1), 1e-3)
        levels = int(np.clip(math.ceil(float(barrier.sum()) / REJECTED) + 1, 4, MOST_LEVELS))
        far = np.concatenate([[0], np.cumsum(barrier)])
        new = np.interp(np.linspace(0, far[-1], levels), far, self.exponents)
        new[0], new[-1] = 1.0, 0.0
        nearest = np.abs(self.exponents[1:, None] - new[None, 1:]).argmin(axis=0)
        keys = [int(self.key) ^ (self.counter + 1 + k) for k in range(levels)]
        self.hot = [self.hot[n].copied(keys[k]) for k, n in enumerate(nearest.tolist())]
        self.exponents = new
        self._reset()

    def _reset(self) -> None:
        self.rejected, self.tried, self.trips = np.zeros(len(self.hot)), 0, 0
        self.heading = np.zeros(len(self.exponents), dtype=np.int8)


def _at(model: HiddenModel, draw: Draw, drawn: Floats) -> Draw:
    """The state at other parameters."""
    theta = model.layout.shares(drawn)
    return Draw(theta, theta, draw.pi, draw.pi_mean, draw.partner, draw.key, draw.current)


def _told(model: HiddenModel) -> tuple[Any, ...]:
    """What the kernel of a whole sweep is told of a model with one block to match, few ways to match a group and
    nothing withheld; () of others."""
    if len(model.hidden) != 1 or len(model.withheld.rows) or len(model.hidden[0].groups.method):
        return ()
    layout, block = model.layout, model.hidden[0]
    assert block.repeated is not None
    kinds = block.repeated.groups
    runs = layout.place, layout.row, layout.start, layout.low, layout.high
    near = layout.smoothed, layout.near.start, layout.near.centre, layout.near.weight, layout.beta
    shape = kinds.start, kinds.cell, kinds.cell_count, kinds.value_start, kinds.value, kinds.value_count
    return model.own_counts, *runs, *near, block.cells, block.offset, *shape, block.repeated.times


def _exact(block: HiddenBlock) -> bool:
    return bool(matching.exact(block.groups).all())


def _numbers(model: HiddenModel) -> int:
    """That a sweep of a repeated model works on."""
    pairs = 0
    for block in model.hidden:
        assert block.repeated is not None
        pairs += int(block.groups.pair_start[-1] + block.repeated.groups.pair_start[-1])
    return pairs + len(model.layout.beta)

"""What a release teaches about the population: the one object that learner and attacker share."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._fits import Overlaps, check_targets
from unveil.attackers._hidden import Draw, HiddenBlock, HiddenModel, region_shares, run_chain
from unveil.attackers._linked import AttributePosterior, attribute_posteriors, linked_counts
from unveil.attackers._weigh import Fitted, held_values
from unveil.belief import Belief, Diagnostics, Known, Prior, Targets, Threat
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.kernels import matching
from unveil.release import Release

__all__ = [
    "Averages",
    "Chains",
    "HiddenPosterior",
    "LinkedPosterior",
    "Posterior",
    "belief_of",
    "check_prior",
    "posterior",
]

BATCHES = 50
MOST_WATCHED = 2000  # targets whose beliefs are kept by batch, to see whether chains agree
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """How long to sample, where sampling is needed."""

    chains: int = 4
    sweeps: int = 2000
    burn_in: int = 1000
    keep: int = 400  # states kept of each chain
    anneal: bool = True

    def __post_init__(self) -> None:
        if self.chains < 2 or self.sweeps < 50 or self.burn_in < 0 or self.keep < BATCHES:
            raise UsageError(f"a sampler needs 2 chains or more, 50 sweeps or more, and {BATCHES} kept states")


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """Weights averaged over the posterior; of some targets also batch by batch, to judge the chains by."""

    mean: NDArray[np.float64]  # (chains, targets, values); one chain if it is exact
    batches: NDArray[np.float64]  # (batches, chains, watched targets, values)

    def mixed(self, other: "Averages", share: NDArray[np.float64]) -> "Averages":
        """`share` (targets,) of these beliefs, the rest of the other's."""
        few = share[watched(len(share))][:, None]
        mine, theirs = shares(self.mean), shares(other.mean)
        return Averages(
            share[:, None] * mine + (1 - share[:, None]) * theirs,
            few * shares(self.batches) + (1 - few) * shares(other.batches),
        )


def watched(targets: int) -> NDArray[np.int64]:
    """The targets that are watched: all, or a fixed random choice."""
    if targets <= MOST_WATCHED:
        return np.arange(targets)
    return np.sort(np.random.Generator(np.random.PCG64(targets)).choice(targets, MOST_WATCHED, replace=False))


class Posterior(Protocol):
    """The posterior of the population's parameters given a release, for one sensitive attribute."""

    @property
    def release(self) -> Release:
        """The release it was learned from."""

    def joint(self, targets: Targets) -> Averages:
        """p_L(s, what is known | t*)."""

    def support(self, fitted: Fitted) -> Averages:
        """Expected rows that hold s and fit what is known."""

    def method(self) -> str:
        """How it was reached."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkedPosterior:
    """Values stand beside their cells: each attribute on its own, exactly or by chains."""

    release: Release
    asked: int
    value_share: NDArray[np.float64]  # (values,)
    attributes: dict[int, AttributePosterior]

    @property
    def chains(self) -> int:
        """How many chains there are; 1 if all is exact."""
        return max((a.chains for a in self.attributes.values()), default=1)

    def shares(self, index: int) -> NDArray[np.float64]:
        """(chains, values, codes) mean shares of an attribute's codes given each value."""
        return np.broadcast_to(self.attributes[index].shares(), (self.chains, *self.attributes[index].tree.shape))

    def joint(self, targets: Targets) -> Averages:
        """See Posterior."""
        check_targets(self.release, targets)
        weights = np.broadcast_to(self.value_share, (self.chains, targets.count, len(self.value_share)))
        for index, known in targets.known.items():
            factor = np.stack([knowledge_likelihood(chain, known) for chain in self.shares(index)])
            weights = weights * factor[:, known.of_target]
        return Averages(np.asarray(weights), weights[None][:, :, watched(targets.count)])

    def support(self, fitted: Fitted) -> Averages:
        """See Posterior."""
        held = held_values(self.release, self.asked)
        matched = {}
        for place, _ in fitted.others:  # a group has one cell, or one value
            block = self.release.blocks[place]
            matched[place] = (block.count / self.release.sizes[block.group])[:, None]
        tables = {i: self.attributes[i].likelihood(o) for i, o in fitted.overlaps().items()}
        found = []
        for chain in range(self.chains):
            likelihood = {i: table[min(chain, len(table) - 1)] for i, table in tables.items()}
            found.append(fitted.weights(likelihood, matched, held))
        mean = np.stack(found)
        return Averages(mean, mean[None][:, :, watched(fitted.targets.count)])

    def method(self) -> str:
        """See Posterior."""
        sampled = [self.release.attributes[i].name for i, a in self.attributes.items() if a.sampled is not None]
        return f"sampled on counts: {', '.join(sampled)}" if sampled else "exact"


@dataclass(frozen=True, slots=True, eq=False)
class HiddenPosterior:
    """The link is hidden: kept states of chains, each asked in turn."""

    model: HiddenModel
    draws: tuple[list[Draw], ...]  # per chain
    workers: int

    @property
    def release(self) -> Release:
        """The release it was learned from."""
        return self.model.release

    def joint(self, targets: Targets) -> Averages:
        """See Posterior: given the matched rows all parameters are independent, so their means multiply."""
        check_targets(self.release, targets)

        def one(draw: Draw) -> NDArray[np.float64]:
            weights = np.broadcast_to(draw.pi_mean, (targets.count, self.model.values))
            for index, known in targets.known.items():
                weights = weights * knowledge_likelihood(draw.mean[index], known)[known.of_target]
            return weights

        return self._batches(one, lambda terms: np.mean(terms, axis=0))

    def support(self, fitted: Fitted) -> Averages:
        """See Posterior."""
        overlaps = fitted.overlaps()
        certain = {i: table for i, o in overlaps.items() if (table := _certain(self.release, i, o)) is not None}
        column_value, held = _columns(self.model)
        blocks = {b.number: b for b in self.model.hidden}
        asked = [blocks[place] for place, _ in fitted.others]

        def weigh(
            likelihood: dict[int, NDArray[np.float64]],
            matched: dict[int, NDArray[np.float64]],
            held: NDArray[np.float64],
        ) -> NDArray[np.float64]:
            full = {i: t if t.shape[1] == 1 else t[:, column_value] for i, t in likelihood.items()}
            return _fold(fitted.weights(full, matched, held), column_value, self.model.values)

        if len(certain) == len(overlaps) and len(asked) <= 1 and not len(self.model.withheld.rows):
            # What is known fits a cell or not, whatever the parameters: the support is linear in the matching.
            few = Fitted.of(self.release, fitted.targets.take(watched(fitted.targets.count)))
            return self._linear(fitted, few, asked, held, column_value)

        def one(draw: Draw) -> NDArray[np.float64]:
            likelihood = {
                i: certain.get(i, _likelihood(self.release, i, o, draw.theta[i])) for i, o in overlaps.items()
            }
            matched = {b.number: _matched(self.model, b, draw, column_value) for b in asked}
            now = held
            if len(self.model.withheld.rows) and not asked:
                now = held * _revealed(self.model, draw, column_value)
            return weigh(likelihood, matched, now)

        return self._batches(one, lambda terms: np.mean(terms, axis=0))

    def _linear(
        self,
        fitted: Fitted,
        few: Fitted,
        asked: list[HiddenBlock],
        held: NDArray[np.float64],
        column_value: NDArray[np.int64],
    ) -> Averages:
        """Support from averaged matchings: of all targets once a chain, of the watched ones once a batch."""

        def weigh(who: Fitted, chance: list[NDArray[np.float64]]) -> NDArray[np.float64]:
            likelihood = {i: _certain(self.release, i, o) for i, o in who.overlaps().items()}
            matched = {
                b.number: _spread_out(self.model, b, c, column_value) for b, c in zip(asked, chance, strict=True)
            }
            return who.weights({i: t for i, t in likelihood.items() if t is not None}, matched, held)

        def chain(draws: list[Draw]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            total = [np.zeros(len(b.entry)) for b in asked]
            batches = []
            for piece in np.array_split(np.arange(len(draws)), min(BATCHES, len(draws))):
                part = [np.zeros(len(b.entry)) for b in asked]
                for i in piece:
                    for place, block in enumerate(asked):
                        part[place] += _chances(self.model, block, draws[i])
                batches.append(weigh(few, [p / len(piece) for p in part]))
                total = [t + p for t, p in zip(total, part, strict=True)]
            return weigh(fitted, [t / len(draws) for t in total]), np.stack(batches)

        return self._side_by_side(chain)

    def _side_by_side(self, chain: Callable[[list[Draw]], tuple[NDArray[np.float64], NDArray[np.float64]]]) -> Averages:
        with ThreadPoolExecutor(self.workers) as pool:
            found = list(pool.map(chain, self.draws))
        return Averages(np.stack([f[0] for f in found]), np.stack([f[1] for f in found], axis=1))

    def _batches(self, one: Callable[[Draw], T], mean: Callable[[list[T]], NDArray[np.float64]]) -> Averages:
        """Means over all kept states of each chain, and over consecutive pieces of them; chains side by side."""

        def chain(draws: list[Draw]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            total: NDArray[np.float64] | None = None
            few = []
            for piece in np.array_split(np.arange(len(draws)), min(BATCHES, len(draws))):
                part = mean([one(draws[i]) for i in piece])
                few.append(part[watched(len(part))])
                total = part * len(piece) if total is None else total + part * len(piece)
            assert total is not None
            return total / len(draws), np.stack(few)

        return self._side_by_side(chain)

    def method(self) -> str:
        """See Posterior."""
        exact = all(matching.exact(block.groups).all() for block in self.model.hidden)
        return "sampled" if exact else "sampled; the largest groups by swaps"


def check_prior(release: Release, asked: int, prior: Prior) -> None:
    """A prior must speak of this release's domains."""
    if not 0 <= asked < len(release.attributes):
        raise UsageError("the attribute asked about is not in the release")
    others = [i for i in range(len(release.attributes)) if i != asked]
    if len(prior.alpha) != release.attributes[asked].codes or any(
        i not in prior.beta or prior.beta[i].shape[1] != release.attributes[i].codes for i in others
    ):
        raise UsageError("the prior does not fit the release's domains")


def posterior(
    release: Release, asked: int, prior: Prior, engine: Engine, chains: Chains, *, tree: bool = True
) -> Posterior:
    """Learn from a release: exactly where the Dirichlet tree applies, else by chains."""
    check_prior(release, asked, prior)
    values = release.attributes[asked].codes
    engine = engine.named("posterior")
    counts = linked_counts(release, asked)
    if counts is not None:
        found = attribute_posteriors(
            release, counts, prior, engine, chains=chains.chains, sweeps=chains.sweeps, tree=tree
        )
        block = release.block_of(asked)
        value = release.regions[asked].single()[block.region(asked)]
        held = np.bincount(value, weights=block.count, minlength=values)
        return LinkedPosterior(release, asked, (prior.alpha + held) / (prior.alpha.sum() + held.sum()), found)
    model = HiddenModel.of(release, asked, prior)

    def run(chain: int) -> list[Draw]:
        own = engine.named(f"chain {chain}")
        return run_chain(
            model, own, burn_in=chains.burn_in, sweeps=chains.sweeps, keep=chains.keep, anneal=chains.anneal
        )

    with ThreadPoolExecutor(engine.workers) as pool:
        return HiddenPosterior(model, tuple(pool.map(run, range(chains.chains))), engine.workers)


def knowledge_likelihood(shares: NDArray[np.float64], known: Known) -> NDArray[np.float64]:
    """(knowledge, values) likelihood of each piece of knowledge, from (values, codes) shares."""
    inside = known.regions.totals(np.ascontiguousarray(shares.T))
    mistaken = known.mistaken()[:, None]
    return np.asarray(mistaken + (1 - known.wrong - mistaken) * inside)


def _certain(release: Release, index: int, overlaps: Overlaps) -> NDArray[np.float64] | None:
    """(overlaps, 1) the likelihood, if every region lies wholly inside or outside what is known; else None."""
    sizes = release.regions[index].sizes[overlaps.region]
    inside = overlaps.shared(np.ones(release.attributes[index].codes))
    if not ((inside == 0) | (inside == sizes)).all():
        return None
    return overlaps.likelihood((inside == sizes).astype(np.float64))[:, None]


def _likelihood(release: Release, index: int, overlaps: Overlaps, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """(overlaps, values) likelihood of what is known for a row that shows a region, given the parameters."""
    whole = region_shares(release.regions[index], theta)[overlaps.region]
    return overlaps.likelihood(np.minimum(overlaps.shared(np.ascontiguousarray(theta.T)) / whole, 1.0))


def _columns(model: HiddenModel) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The value of each column (values, then for each kind of withheld row all values), and (entries, columns) rows."""
    values, kinds = model.values, len(model.withheld.rows)
    column_value = np.concatenate([np.arange(values)] + [np.arange(values)] * kinds)
    block = model.release.block_of(model.asked)
    value = model.release.regions[model.asked].single()[block.region(model.asked)]
    held = np.zeros((len(block.cell), len(column_value)))
    plain = np.flatnonzero(value >= 0)
    held[plain, value[plain]] = block.count[plain]
    for kind in range(kinds):
        these = np.flatnonzero(model.withheld.column == kind)
        held[these, values * (kind + 1) : values * (kind + 2)] = block.count[these, None]
    return column_value, held


def _fold(weights: NDArray[np.float64], column_value: NDArray[np.int64], values: int) -> NDArray[np.float64]:
    """(targets, columns) to (targets, values)."""
    if weights.shape[1] == values:
        return weights
    return np.asarray(weights.reshape(len(weights), -1, values).sum(axis=1))


def _chances(model: HiddenModel, block: HiddenBlock, draw: Draw) -> NDArray[np.float64]:
    """(pairs,) the probability that a row of the pair's column shows the pair's cell, given the parameters."""
    log_weight, weight = model.weights(block, model.log_shares(draw.theta), draw.pi)
    partner = draw.partner[[b.number for b in model.hidden].index(block.number)].copy()
    key = np.uint64(int(draw.key) ^ 0x5DEECE66D)
    return matching.marginals(block.groups, weight, log_weight, key, partner) / block.rows


def _spread_out(
    model: HiddenModel, block: HiddenBlock, chance: NDArray[np.float64], column_value: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(entries, columns) the chances of the plain columns as a table."""
    found = np.zeros((int(block.groups.start[-1]), len(column_value)))
    plain = block.column < model.values
    found[block.entry[plain], block.column[plain]] = chance[plain]
    return found


def _matched(
    model: HiddenModel, block: HiddenBlock, draw: Draw, column_value: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(entries, columns) the probability that a row of the column shows the entry's cell, given the parameters.

    For a withheld row the column also holds the probability of its value given the cell.
    """
    chance, values = _chances(model, block, draw), model.values
    found = _spread_out(model, block, chance, column_value)
    if len(model.withheld.rows):
        log_share = model.log_shares(draw.theta)
        log_weight, _ = model.weights(block, log_share, draw.pi)
    for kind in range(len(model.withheld.rows)):
        these = np.flatnonzero(block.column == values + kind)
        logs = model.log_own(kind, log_share, draw.pi) + log_weight[block.groups.cell[block.entry[these]], :values]
        share = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf)) if len(these) else logs
        share = share / share.sum(axis=1, keepdims=True) if len(these) else share
        found[block.entry[these], values * (kind + 1) : values * (kind + 2)] = chance[these, None] * share
    return found


def _revealed(model: HiddenModel, draw: Draw, column_value: NDArray[np.int64]) -> NDArray[np.float64]:
    """(entries of the sensitive block, columns) probability of a withheld row's value; 1 for plain columns.

    For targets of whom nothing in a matched block is known: what its cells say of the value still counts.
    """
    values = model.values
    own = model.release.block_of(model.asked)
    shares = np.ones((len(own.cell), len(column_value)))
    if model.hidden:
        block = model.hidden[0]
        matched = _matched(model, block, draw, column_value)
        of_group = np.add.reduceat(matched, block.groups.start[:-1], axis=0)
        shares[:, values:] = of_group[own.group][:, values:]
        return shares
    log_share = model.log_shares(draw.theta)
    for kind in range(len(model.withheld.rows)):
        logs = model.log_own(kind, log_share, draw.pi)
        share = np.exp(logs - logs.max())
        shares[:, values * (kind + 1) : values * (kind + 2)] = share / share.sum()
    return shares


def shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights (..., values) as distributions; without any weight, uniform."""
    total = weights.sum(axis=-1, keepdims=True)
    even = np.full_like(weights, 1 / weights.shape[-1])
    return np.asarray(np.divide(weights, total, out=even, where=total > 0))


def belief_of(averages: Averages, method: str, threat: Threat) -> Belief:
    """Weights are averaged first and normalised last: normalising each draw is wrong (7/12 comes out as .562)."""
    chains = shares(averages.mean) if len(averages.mean) > 1 else None
    found = diagnostics(method, shares(averages.batches), chains)
    return Belief(shares(averages.mean.mean(axis=0)), chains=chains, diagnostics=found, threat=threat)


def diagnostics(method: str, batches: NDArray[np.float64], chains: NDArray[np.float64] | None) -> Diagnostics:
    """Agreement of chains, from batch means (batches, chains, watched targets, values) and chain means of all."""
    if chains is None:
        return Diagnostics(method)
    error = chains.std(axis=0, ddof=1).max(axis=1, initial=0.0) / np.sqrt(len(chains))
    spread = (chains.max(axis=0) - chains.min(axis=0)).max(axis=1, initial=0.0)
    facts: dict[str, float | str] = {
        "chains": float(len(chains)),
        "error_q99": float(np.quantile(error, 0.99)) if len(error) else 0.0,
        "error_max": float(error.max(initial=0.0)),
        "disagreement_q99": float(np.quantile(spread, 0.99)) if len(spread) else 0.0,
    }
    if len(batches) < 4:  # only the chains' means are there: far apart is far apart
        return Diagnostics(method, converged=float(facts["disagreement_q99"]) <= 0.1, facts=facts)
    half = len(batches) // 2
    parts = np.concatenate([batches[:half], batches[half : 2 * half]], axis=1)  # (half, 2 chains, watched, values)
    within = parts.var(axis=0, ddof=1).mean(axis=0)
    between = parts.mean(axis=0).var(axis=0, ddof=1)
    # A chain that never moves has no spread of its own: where chains stand still apart, the ratio must be large.
    ratio = np.sqrt((half - 1) / half + between / np.maximum(within, 1e-10))
    worst = ratio.max(axis=1, initial=0.0)
    apart = float((worst > 1.1).mean())
    facts |= {"r_hat_share_above_1.1": apart, "r_hat_max": float(worst.max(initial=0.0)), "watched": float(len(worst))}
    return Diagnostics(method, converged=not (apart > 0.05 and float(facts["disagreement_q99"]) > 0.1), facts=facts)
